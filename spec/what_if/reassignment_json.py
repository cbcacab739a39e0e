"""The JSON of `kafka-reassign-partitions.sh`, which says who is to keep partitions, or who keeps them.

    {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["any", "any"]}]}

What the tool prints as the current assignment is of that form as well, and so is a plan. It says nothing of leaders
and ISRs. Behind headings both stand in what the tool prints:

    --generate    the current assignment, then the proposed one, which is the plan
    --execute     the current assignment, as it was before the move
    --verify      which moves are complete: neither

[ReassignPartitionsCommand.scala, 1.0, 2.4, 3.5]
"""

from __future__ import annotations

import json
from sys import get_int_max_str_digits
from typing import Any, Final

from election.ids import BrokerId
from spec.language.errors import UsageError
from spec.what_if.known_cluster import DescribedPartition, Description
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition

__all__ = ["is_reassignment", "read_assignment", "read_reassignment"]

CURRENT: Final = "Current partition replica assignment"
PROPOSED: Final = "Proposed partition reassignment configuration"
STATUS: Final = ("Status of partition reassignment", "Current partition reassignments:")
"""What --verify and --list begin with."""
DESCRIBE: Final = "what kafka-topics.sh --describe prints"


def is_reassignment(text: str) -> bool:
    """Whether a text is such JSON, or what the tool prints: a line in brackets of another program is none."""
    if any(heading in text for heading in (CURRENT, PROPOSED, *STATUS)):
        return True
    first = text.lstrip()[:1]
    if first == "[":
        try:
            json.loads(text)
        except json.JSONDecodeError:
            return False
        except (RecursionError, ValueError):
            return True
    return first in ("{", "[")


def read_reassignment(text: str, name: str) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    """The brokers that are to keep each partition, the one that is to be preferred first.

    >>> read_reassignment('{"partitions": [{"topic": "t", "partition": 0, "replicas": [3, 2]}]}', "plan.json")
    {TopicPartition(topic='t', partition=0): (3, 2)}

    Of what `--generate` prints, these are the proposed ones.

    Args:
        text: the JSON.
        name: of the file, for messages.

    Raises:
        UsageError: it is something else, or says what cannot be; with the line or path.
    """
    _refuse_status(text, name)
    if CURRENT in text and PROPOSED not in text:
        how = "give the plan, or, to move back, a file with this JSON alone"
        raise UsageError(f"{name}: kafka-reassign-partitions.sh --execute prints this, with how it was before: {how}")
    return _targets(_json(text, name, PROPOSED), name)


def read_assignment(text: str, name: str) -> Description:
    """The same as what is, of which leaders and ISRs are not known.

    Of what the tool prints, this is the current assignment.

    Raises:
        UsageError: as `read_reassignment`.
    """
    _refuse_status(text, name)
    if PROPOSED in text and CURRENT not in text:
        raise UsageError(f"{name}: this is a proposed assignment, not a cluster; give {DESCRIBE}")
    targets = _targets(_json(text, name, CURRENT), name)
    taken = f"{name}: of what kafka-reassign-partitions.sh prints, the current assignment is read"
    return Description(
        {
            partition: DescribedPartition(ReplicaAssignment(replicas), at=name)
            for partition, replicas in targets.items()
        },
        notes=(taken,) if CURRENT in text else (),
    )


def _refuse_status(text: str, name: str) -> None:
    for option, heading in zip(("--verify", "--list"), STATUS, strict=True):
        if heading in text and CURRENT not in text:
            lacks = f"which names no leaders and no ISRs; give {DESCRIBE}, or the JSON of a plan"
            raise UsageError(f"{name}: kafka-reassign-partitions.sh {option} prints this, {lacks}")


def _json(text: str, name: str, heading: str) -> Any:
    """What a text says in JSON: behind a heading, if it is there."""
    begin = text.find("{", text.find(heading)) if heading in text else 0
    if begin < 0:
        raise UsageError(f"{name}: no JSON stands below {heading!r}")
    try:
        # Lines before count in messages, and what stands behind the object is another part.
        return json.JSONDecoder().raw_decode(text, begin)[0] if heading in text else json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{name}:{error.lineno}: this is no JSON: {error.msg}") from None
    except RecursionError:
        raise UsageError(f"{name}: this JSON is nested too deep") from None
    except ValueError:
        raise UsageError(f"{name}: this JSON has a number of more than {get_int_max_str_digits():,} digits") from None


def _targets(said: Any, name: str) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    """The partitions of such an object, each with its brokers."""
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
