"""Read the output of `kcat -L`, as text or JSON (`kcat -L -J`): a broker's metadata of its cluster.

     3 brokers:
      broker 1 at localhost:9092 (controller)
     1 topics:
      topic "t" with 1 partitions:
        partition 0, leader 1, replicas: 1,2,3, isrs: 1,2

It names the live brokers and the controller, but no configuration.

[kcat.c, json.c, 1.7]
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from election.ids import BrokerId
from spec.language.errors import UsageError
from spec.what_if.known_cluster import DescribedPartition, Description
from spec.what_if.topic_description import partition_of, require_count, whole_number
from statemachines.messages.topic_partition import TopicName, TopicPartition

_BROKER = re.compile(r"\bbroker ([0-9]+) at \S+( \(controller\))?")
_TOPIC = re.compile(r'\btopic "([^"]*)" with ([0-9]+) partitions:')
_PARTITION = re.compile(r"\bpartition ([0-9]+), leader (-?[0-9]+), replicas: ([0-9,]*), isrs: ([0-9,]*)")


class _Row(NamedTuple):
    """The entry of a partition, as printed."""

    at: str
    topic: TopicName
    number: str
    fields: dict[str, str]


class _Metadata(NamedTuple):
    brokers: list[BrokerId]
    controller: BrokerId | None
    counts: dict[TopicName, tuple[int, str]]
    """The number of partitions of each topic, and the line that says so."""
    rows: list[_Row]


def is_metadata(text: str) -> bool:
    """Whether a text is such output."""
    return _TOPIC.search(text) is not None or _json_of(text) is not None


def read_metadata(text: str, name: str) -> Description:
    """Read the output of the tool.

    Args:
        text: the output.
        name: the name of the file, for messages.

    Raises:
        UsageError: the text differs from the tool's format, or contradicts itself; the message has the place.
    """
    said = _json_of(text)
    try:
        metadata = _of_lines(text, name) if said is None else _of_json(said, name)
    except (KeyError, TypeError):
        raise UsageError(f"{name}: this is not the metadata that kcat -L -J prints") from None
    partitions: dict[TopicPartition, DescribedPartition] = {}
    for at, topic, number, fields in metadata.rows:
        partition = TopicPartition(topic, whole_number(at, "partition", number))
        if partition in partitions:
            raise UsageError(f"{at}: {partition} is described twice, also at {partitions[partition].at}")
        partitions[partition] = partition_of(at, partition, fields)
    require_count(partitions, metadata.counts)
    if not partitions:
        raise UsageError(f"{name}: no partition found; expected the output of kcat -L")
    return Description(partitions, live=frozenset(metadata.brokers), controller=metadata.controller)


def _of_lines(text: str, name: str) -> _Metadata:
    said = _Metadata([], None, {}, [])
    topic = None
    for number, line in enumerate(text.splitlines(), 1):
        at = f"{name}:{number}"
        if found := _PARTITION.search(line):
            if topic is None:
                raise UsageError(f"{at}: a partition without a topic before it")
            partition, leader, replicas, isr = found.groups()
            said.rows.append(_Row(at, topic, partition, {"Leader": leader, "Replicas": replicas, "Isr": isr}))
        elif found := _TOPIC.search(line):
            topic = found[1]
            if topic in said.counts:
                raise UsageError(f"{at}: topic {topic} is described twice, also at {said.counts[topic][1]}")
            said.counts[topic] = whole_number(at, "partitions", found[2]), at
        elif found := _BROKER.search(line):
            said.brokers.append(whole_number(at, "broker", found[1]))
            if found[2]:
                said = said._replace(controller=said.brokers[-1])
    return said


def _of_json(metadata: dict[str, Any], name: str) -> _Metadata:
    brokers = [whole_number(f"{name}: brokers", "id", str(each["id"])) for each in metadata["brokers"]]
    controller = metadata.get("controllerid")
    said = _Metadata(brokers, controller if controller in brokers else None, {}, [])
    for topic in metadata["topics"]:
        for place, each in enumerate(topic["partitions"]):
            replicas, isr = (",".join(str(replica["id"]) for replica in each[key]) for key in ("replicas", "isrs"))
            fields = {"Leader": str(each["leader"]), "Replicas": replicas, "Isr": isr}
            named = str(topic["topic"])
            said.rows.append(_Row(f"{name}: {named}[{place}]", named, str(each["partition"]), fields))
    return said


def _json_of(text: str) -> dict[str, Any] | None:
    """The JSON object in a text, if it is such metadata."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) and {"brokers", "topics"} <= said.keys() else None
