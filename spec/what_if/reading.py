"""Read the description of a cluster: from a file of one of Kafka's tools, or from a running ZooKeeper.

    topics.txt                       the output of `kafka-topics.sh --describe`
    assignment.json                  the JSON of `kafka-reassign-partitions.sh`, or its output
    metadata.txt, metadata.json      the output of `kcat -L`
    -                                one of these, from standard input
    zookeeper://zk1:2181,zk2/kafka   a ZooKeeper, by kazoo

The format of a file is recognised from its contents, not from its name.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from election.ids import BrokerId
from spec.language.errors import UsageError
from spec.what_if.kcat_metadata import is_metadata, read_metadata
from spec.what_if.known_cluster import Description
from spec.what_if.live_zookeeper import read_zookeeper
from spec.what_if.reassignment_json import is_reassignment, read_assignment, read_reassignment
from spec.what_if.topic_description import is_description, read_description
from statemachines.messages.topic_partition import TopicPartition
from statemachines.releases import RELEASES

__all__ = ["read_cluster", "read_plan"]

ZOOKEEPER: Final = "zookeeper://"


def read_cluster(source: str, release: str = RELEASES[-1]) -> Description:
    """Read the description of a cluster from a source.

    Args:
        source: a path, `-`, or zookeeper://HOSTS.
        release: the cluster's release.

    Raises:
        UsageError: the source cannot be read, or has an unknown format; the message is one line with the place.
        EnvironmentFailed: no ZooKeeper answers.
    """
    if source.startswith(ZOOKEEPER):
        return read_zookeeper(source.removeprefix(ZOOKEEPER))
    text = _text(source)
    if is_description(text):
        return read_description(text, source, release)
    if is_metadata(text):
        return read_metadata(text, source)
    if is_reassignment(text):
        return read_assignment(text, source)
    if not text.strip():
        raise UsageError(f"{source} is empty")
    forms = (
        "the output of kafka-topics.sh --describe, nor kafka-reassign-partitions.sh's JSON, nor the output of kcat -L"
    )
    raise UsageError(f"{source}: this is neither {forms}")


def read_plan(source: str) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    """The target brokers of each partition in a plan for `kafka-reassign-partitions.sh --execute`.

    Raises:
        UsageError: the plan cannot be read, or is not such JSON.
    """
    return read_reassignment(_text(source), source)


def _text(source: str) -> str:
    try:
        read = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}") from None
    try:
        # Windows writes a byte order mark, or two bytes for each character.
        return read.decode("utf-16" if read[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{source}: this is not text") from None
