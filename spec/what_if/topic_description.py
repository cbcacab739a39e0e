"""What `kafka-topics.sh --describe` prints, read back.

A topic has a line of its own, and one for each partition below it. Labels and values are separated by tabs, or by
spaces where the text was copied from a page; what labels there are has grown with the releases:

    0.10    Topic:t  PartitionCount:2  ReplicationFactor:3  Configs:min.insync.replicas=2   [MarkedForDeletion:true]
            Topic: t  Partition: 0  Leader: 1  Replicas: 1,2,3  Isr: 1,2                    [MarkedForDeletion: true]
    2.4     ... Adding Replicas: 4  Removing Replicas: 1, while a partition is reassigned
    2.8     Topic: t  TopicId: 8xW...  PartitionCount: 2  ReplicationFactor: 3  Configs: ...
    3.7     ... Elr:  LastKnownElr:

A partition without leader has `none`, or -1. Other lines that a tool prints, like warnings, are passed over if they
have none of these labels.

[TopicCommand.scala, 0.11 to 3.5; TopicCommand.java, 3.9]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from election.ids import BrokerId
from spec.language.errors import UsageError
from spec.what_if.cluster import DescribedPartition, Description
from statemachines.replica_assignment import ReplicaAssignment
from statemachines.topic_partition import TopicName, TopicPartition

__all__ = ["is_description", "read_description"]

LABELS: Final = (
    *("Topic", "TopicId", "PartitionCount", "ReplicationFactor", "Configs", "MarkedForDeletion"),
    *("Partition", "Leader", "Replicas", "Isr", "Adding Replicas", "Removing Replicas", "Elr", "LastKnownElr"),
)
_LABEL = re.compile(rf"(?:^|(?<=\s))({'|'.join(sorted(LABELS, key=len, reverse=True))}):(?=\s|\S|$)")
_CONFIG = re.compile(r"(?:^|,)\s*(min\.insync\.replicas|unclean\.leader\.election\.enable)=([^,\s]*)")


def is_description(text: str) -> bool:
    """Whether a text is such an output: there is a line with the partition of a topic, or with a topic."""
    return any("Topic" in fields for _, fields in _lines(text))


def read_description(text: str, name: str) -> Description:
    """What the tool has said.

    >>> described = read_description("Topic: t  Partition: 0  Leader: 2  Replicas: 1,2  Isr: 2", "topics.txt")
    >>> described.partitions[TopicPartition("t", 0)][:3]
    (ReplicaAssignment(replicas=(1, 2), adding_replicas=(), removing_replicas=()), 2, (2,))

    Args:
        text: what was printed.
        name: of the file, for messages.

    Raises:
        UsageError: a line is not as the tool prints it, or says what cannot be; with its number.
    """
    partitions: dict[TopicPartition, DescribedPartition] = {}
    counts: dict[TopicName, tuple[int, str]] = {}
    min_isr: dict[TopicName, int] = {}
    unclean: dict[TopicName, bool] = {}
    for number, fields in _lines(text):
        at = f"{name}:{number}"
        if "Topic" not in fields:
            raise UsageError(f"{at}: a line with {', '.join(fields)}, and not which topic that is of")
        topic = fields["Topic"]
        if not topic:
            raise UsageError(f"{at}: a topic without name")
        if "Partition" in fields:
            partition = TopicPartition(topic, _number(at, "Partition", fields["Partition"]))
            if partition in partitions:
                raise UsageError(f"{at}: {partition} is described twice, also at {partitions[partition].at}")
            partitions[partition] = _partition(at, partition, fields)
            continue
        if topic in counts:
            raise UsageError(f"{at}: topic {topic} is described twice, also at {counts[topic][1]}")
        counts[topic] = _number(at, "PartitionCount", fields.get("PartitionCount", "")), at
        for config, value in _CONFIG.findall(fields.get("Configs", "")):
            if config == "min.insync.replicas":
                min_isr[topic] = _number(at, config, value)
            elif value in ("true", "false"):
                unclean[topic] = value == "true"
            else:
                raise UsageError(f"{at}: {config} is true or false, not {value!r}")
    for topic, (count, at) in counts.items():
        there = sum(partition.topic == topic for partition in partitions)
        if there != count:
            raise UsageError(
                f"{at}: topic {topic} has {count} partitions, and {there} are described: is it all there?"
            )
    if not partitions:
        raise UsageError(f"{name}: it has no partition; it should be what kafka-topics.sh --describe prints")
    return Description(partitions, min_isr=min_isr, unclean=unclean)


def _lines(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """The number of each line that has labels, and their values."""
    for number, line in enumerate(text.splitlines(), 1):
        found = list(_LABEL.finditer(line))
        if found and not line[: found[0].start()].strip():
            ends = [*(each.start() for each in found[1:]), len(line)]
            yield number, {each[1]: line[each.end() : end].strip() for each, end in zip(found, ends, strict=True)}


def _partition(at: str, partition: TopicPartition, fields: dict[str, str]) -> DescribedPartition:
    for label in ("Leader", "Replicas", "Isr"):
        if label not in fields:
            raise UsageError(f"{at}: {partition} has no {label}: is the line cut?")
    replicas = _brokers(at, "Replicas", fields["Replicas"])
    isr = _brokers(at, "Isr", fields["Isr"])
    adding, removing = (
        _brokers(at, label, fields.get(label, "")) for label in ("Adding Replicas", "Removing Replicas")
    )
    leader = None
    if fields["Leader"] not in ("none", "-1"):
        leader = _number(at, "Leader", fields["Leader"])
    if not replicas:
        raise UsageError(f"{at}: {partition} has no replicas")
    described = DescribedPartition(ReplicaAssignment(replicas, adding, removing), leader, isr, at=at)
    if contradiction := described.contradiction():
        raise UsageError(f"{at}: {partition}: {contradiction}")
    return described


def _number(at: str, label: str, written: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", written):
        raise UsageError(f"{at}: {label} is a whole number from 0 on, not {written!r}")
    return int(written)


def _brokers(at: str, label: str, written: str) -> tuple[BrokerId, ...]:
    brokers = tuple(_number(at, label, each.strip()) for each in written.split(",")) if written else ()
    if len(set(brokers)) != len(brokers):
        raise UsageError(f"{at}: {label} names a broker twice: {written}")
    return brokers
