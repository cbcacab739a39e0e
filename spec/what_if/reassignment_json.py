"""Read the JSON of `kafka-reassign-partitions.sh`: the target replicas of partitions, or their present ones.

    {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["any", "any"]}]}

A plan has this form, and so has the current assignment that the tool prints. It has no leaders and no ISRs. The tool
prints both after headings:

    --generate    the current assignment, then the proposed one, which is the plan
    --execute     the current assignment, as it was before the move
    --verify      which moves are complete: neither

[ReassignPartitionsCommand.scala, 1.0, 2.4, 3.5]
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from sys import get_int_max_str_digits
from typing import Any, Final, NamedTuple

from election.ids import BrokerId
from spec.language.errors import UsageError
from spec.what_if.known_cluster import DescribedPartition, Description
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition

CURRENT: Final = "Current partition replica assignment"
PROPOSED: Final = "Proposed partition reassignment configuration"
STATUS: Final = ("Status of partition reassignment", "Current partition reassignments:")
"""The first lines of the output of --verify and --list."""
DESCRIBE: Final = "the output of kafka-topics.sh --describe"
_OBJECT = re.compile(r'\{\s*"')


class JsonPart(NamedTuple):
    """A JSON object within a longer text."""

    said: dict[str, Any]
    first: int
    """Its first line; lines count from 1."""
    last: int
    is_current: bool
    """Whether the tool calls it the current assignment."""

    def targets(self, name: str) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        """The brokers of each partition, if it is an assignment.

        Raises:
            UsageError: it is none.
        """
        return _targets(self.said, f"{name}:{self.first}")


def json_parts(text: str) -> Iterator[JsonPart]:
    r"""The assignments and plans, and metadata of kcat, that stand as JSON in a text, as in a terminal's session.

    >>> session = '$ {ls;}\n$ echo {"partitions":\n[{"replicas": []}]} {"other": {}}'
    >>> [(part.first, part.last) for part in json_parts(session)]
    [(2, 3)]
    """
    line, seen = 1, 0
    while found := _OBJECT.search(text, seen):
        begin = found.start()
        line += _line_breaks(text[seen:begin])
        try:
            said, end = json.JSONDecoder().raw_decode(text, begin)
        except (ValueError, RecursionError):
            seen = begin + 1
            continue
        last = line + _line_breaks(text[begin:end])
        rows = said.get("partitions")
        is_assignment = isinstance(rows, list) and any(isinstance(row, dict) and "replicas" in row for row in rows)
        if is_assignment or {"brokers", "topics"} <= said.keys():
            yield JsonPart(said, line, last, text[:begin].rstrip().endswith(CURRENT))
        line, seen = last, end


def _line_breaks(text: str) -> int:
    return len(f"{text}.".splitlines()) - 1


def is_reassignment(text: str) -> bool:
    """Whether a text is such JSON or the tool's output; a line in brackets from another program is not."""
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
    """The target brokers of each partition, the preferred one first.

    >>> read_reassignment('{"partitions": [{"topic": "t", "partition": 0, "replicas": [3, 2]}]}', "plan.json")
    {TopicPartition(topic='t', partition=0): (3, 2)}

    In the output of `--generate` the proposed assignment is read.

    Args:
        text: the JSON.
        name: the name of the file, for messages.

    Raises:
        UsageError: the text has another format, or contradicts itself; the message has the line or path.
    """
    _refuse_status(text, name)
    if CURRENT in text and PROPOSED not in text:
        how = "give the plan itself, or, to move back, a file with only this JSON"
        raise UsageError(
            f"{name}: this is the output of kafka-reassign-partitions.sh --execute, with the old assignment: {how}"
        )
    return _targets(_json(text, name, PROPOSED), name)


def read_assignment(text: str, name: str) -> Description:
    """The same as the present assignment, with unknown leaders and ISRs.

    In the tool's output the current assignment is read.

    Raises:
        UsageError: as in `read_reassignment`.
    """
    _refuse_status(text, name)
    if PROPOSED in text and CURRENT not in text:
        raise UsageError(f"{name}: this is a proposed assignment, not that of a cluster; give {DESCRIBE}")
    targets = _targets(_json(text, name, CURRENT), name)
    taken = f"{name}: the current assignment was read from the output of kafka-reassign-partitions.sh"
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
            lacks = f"which has no leaders and no ISRs; give {DESCRIBE}, or the JSON of a plan"
            raise UsageError(f"{name}: this is the output of kafka-reassign-partitions.sh {option}, {lacks}")


def _json(text: str, name: str, heading: str) -> Any:
    """The JSON in a text: after a heading, if the text has that."""
    begin = text.find("{", text.find(heading)) if heading in text else 0
    if begin < 0:
        raise UsageError(f"{name}: there is no JSON after {heading!r}")
    try:
        # Earlier lines count in messages, and text after the object is another part.
        return json.JSONDecoder().raw_decode(text, begin)[0] if heading in text else json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{name}:{error.lineno}: this is not JSON: {error.msg}") from None
    except RecursionError:
        raise UsageError(f"{name}: this JSON is nested too deep") from None
    except ValueError:
        raise UsageError(f"{name}: this JSON has a number of more than {get_int_max_str_digits():,} digits") from None


def _targets(said: Any, name: str) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    """The partitions in such an object, each with its brokers."""
    rows = said.get("partitions") if isinstance(said, dict) else None
    if not isinstance(rows, list):
        raise UsageError(f'{name}: no {{"partitions": [...]}}, as in the files of kafka-reassign-partitions.sh')
    if said.get("version", 1) != 1:
        raise UsageError(f"{name}: version must be 1, not {said['version']!r}")
    if not rows:
        raise UsageError(f"{name}: partitions is empty")
    if all(isinstance(row, dict) and {"topic", "partition"} <= row.keys() and "replicas" not in row for row in rows):
        raise UsageError(
            f"{name}: this asks for an election, and names no replicas: --prefer elects preferred leaders"
        )
    targets: dict[TopicPartition, tuple[BrokerId, ...]] = {}
    for place, row in enumerate(rows):
        at = f"{name}: partitions[{place}]"
        if not isinstance(row, dict):
            raise UsageError(f"{at} must be an object")
        for key in ("topic", "partition", "replicas"):
            if key not in row:
                raise UsageError(f"{at} has no {key}")
        if not isinstance(row["topic"], str) or not row["topic"]:
            raise UsageError(f"{at}.topic must be a name, not {row['topic']!r}")
        partition = TopicPartition(row["topic"], _number(f"{at}.partition", row["partition"]))
        if partition in targets:
            raise UsageError(f"{at}: {partition} occurs twice")
        targets[partition] = _brokers(f"{at}.replicas", row["replicas"])
        directories = row.get("log_dirs", row["replicas"])
        if not isinstance(directories, list) or len(directories) != len(targets[partition]):
            raise UsageError(f"{at}.log_dirs must be a list with an entry for each of its replicas")
    return targets


def _number(at: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31:
        raise UsageError(f"{at} must be a whole number of at least 0, not {value!r}")
    return value


def _brokers(at: str, value: Any) -> tuple[BrokerId, ...]:
    if not isinstance(value, list) or not value:
        raise UsageError(f"{at} must be a list of brokers, not {value!r}")
    brokers = tuple(_number(f"{at}[{place}]", each) for place, each in enumerate(value))
    if len(set(brokers)) != len(brokers):
        raise UsageError(f"{at} names a broker twice: {value}")
    return brokers
