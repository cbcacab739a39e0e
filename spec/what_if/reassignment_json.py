"""The JSON of `kafka-reassign-partitions.sh`, which says who is to keep partitions, or who keeps them.

    {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["any", "any"]}]}

What the tool prints as the current assignment is of that form as well, and so is a plan. It says nothing of leaders
and ISRs.

[ReassignPartitionsCommand.scala, 3.5]
"""

from __future__ import annotations

import json
from sys import get_int_max_str_digits
from typing import Any

from election.ids import BrokerId
from spec.language.errors import UsageError
from spec.what_if.cluster import DescribedPartition, Description
from statemachines.replica_assignment import ReplicaAssignment
from statemachines.topic_partition import TopicPartition

__all__ = ["read_assignment", "read_reassignment"]


def read_reassignment(text: str, name: str) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    """The brokers that are to keep each partition, the one that is to be preferred first.

    >>> read_reassignment('{"partitions": [{"topic": "t", "partition": 0, "replicas": [3, 2]}]}', "plan.json")
    {TopicPartition(topic='t', partition=0): (3, 2)}

    Args:
        text: the JSON.
        name: of the file, for messages.

    Raises:
        UsageError: it is something else, or says what cannot be; with the line or path.
    """
    try:
        said = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{name}:{error.lineno}: this is no JSON: {error.msg}") from None
    except RecursionError:
        raise UsageError(f"{name}: this JSON is nested too deep") from None
    except ValueError:
        raise UsageError(f"{name}: this JSON has a number of more than {get_int_max_str_digits():,} digits") from None
    rows = said.get("partitions") if isinstance(said, dict) else None
    if not isinstance(rows, list):
        raise UsageError(f'{name}: no {{"partitions": [...]}}, as kafka-reassign-partitions.sh has it')
    if said.get("version", 1) != 1:
        raise UsageError(f"{name}: version is 1, not {said['version']!r}")
    if not rows:
        raise UsageError(f"{name}: partitions is empty")
    targets: dict[TopicPartition, tuple[BrokerId, ...]] = {}
    for place, row in enumerate(rows):
        at = f"{name}: partitions[{place}]"
        if not isinstance(row, dict):
            raise UsageError(f"{at} is no object")
        for key in ("topic", "partition", "replicas"):
            if key not in row:
                raise UsageError(f"{at} has no {key}")
        if not isinstance(row["topic"], str) or not row["topic"]:
            raise UsageError(f"{at}.topic is a name, not {row['topic']!r}")
        partition = TopicPartition(row["topic"], _number(f"{at}.partition", row["partition"]))
        if partition in targets:
            raise UsageError(f"{at}: {partition} stands there twice")
        targets[partition] = _brokers(f"{at}.replicas", row["replicas"])
    return targets


def read_assignment(text: str, name: str) -> Description:
    """The same as what is, of which leaders and ISRs are not known.

    Raises:
        UsageError: as `read_reassignment`.
    """
    return Description(
        {
            partition: DescribedPartition(ReplicaAssignment(replicas), at=name)
            for partition, replicas in read_reassignment(text, name).items()
        }
    )


def _number(at: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31:
        raise UsageError(f"{at} is a whole number from 0 on, not {value!r}")
    return value


def _brokers(at: str, value: Any) -> tuple[BrokerId, ...]:
    if not isinstance(value, list) or not value:
        raise UsageError(f"{at} is a list of brokers, not {value!r}")
    brokers = tuple(_number(f"{at}[{place}]", each) for place, each in enumerate(value))
    if len(set(brokers)) != len(brokers):
        raise UsageError(f"{at} names a broker twice: {value}")
    return brokers
