"""Read the description of a cluster: from a file of one of Kafka's tools, or from a running ZooKeeper.

    topics.txt                       the output of `kafka-topics.sh --describe`
    assignment.json                  the JSON of `kafka-reassign-partitions.sh`, or its output
    metadata.txt, metadata.json      the output of `kcat -L`
    -                                one of these, from standard input
    zookeeper://zk1:2181,zk2/kafka   a ZooKeeper, by kazoo

The format of a file is recognised from its contents, not from its name.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from election.ids import BrokerId
from spec.language.errors import UsageError
from spec.what_if.kcat_metadata import is_metadata, read_metadata
from spec.what_if.known_cluster import Description
from spec.what_if.live_zookeeper import read_zookeeper
from spec.what_if.reassignment_json import JsonPart, is_reassignment, json_parts, read_assignment, read_reassignment
from spec.what_if.topic_description import is_description, read_description
from statemachines.messages.topic_partition import TopicPartition
from statemachines.releases import RELEASES

ZOOKEEPER: Final = "zookeeper://"
_HOSTS = re.compile(r"[^\s/]+:[0-9]{1,5}(,[^\s/]+:[0-9]{1,5})*(/\S*)?")
"""Addresses of servers, as in zookeeper.connect."""


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
    _require_no_address(source)
    text = _text(source)
    if is_metadata(text) and text.lstrip().startswith("{"):
        return read_metadata(text, source)
    if is_description(text) or is_metadata(text):
        return _read_listing(text, source, release)
    if is_reassignment(text):
        parts = [*json_parts(text)]
        used = next((part for part in parts if part.is_current), None)
        return _with_notes(
            read_assignment(text, source), [part for part in parts if used and part is not used], source
        )
    if not text.strip():
        raise UsageError(f"{source} is empty")
    forms = (
        "the output of kafka-topics.sh --describe, nor kafka-reassign-partitions.sh's JSON, nor the output of kcat -L"
    )
    raise UsageError(f"{source}: this is neither {forms}")


def _read_listing(text: str, source: str, release: str) -> Description:
    """Read a listing in a text that may have plans and assignments beside it, as a terminal's session has.

    Raises:
        UsageError: the listing cannot be read, or the text describes a partition twice, in different words.
    """
    parts = [*json_parts(text)]
    lines = text.splitlines()
    for part in parts:
        lines[part.first - 1 : part.last] = [""] * (1 + part.last - part.first)
    listing = "\n".join(lines)
    if is_description(listing) + is_metadata(listing) + any("brokers" in part.said for part in parts) > 1:
        raise UsageError(
            f"{source} describes the cluster twice, also by the output of kcat -L: leave one of them out"
        )
    if is_description(listing):
        described = read_description(listing, source, release)
    else:
        described = read_metadata(listing, source)
    return _with_notes(described, parts, source)


def _with_notes(described: Description, beside: Sequence[JsonPart], source: str) -> Description:
    """A description with notes on the plans and assignments beside it.

    Raises:
        UsageError: a current assignment differs from the description.
    """
    return replace(described, notes=(*described.notes, *(_note_on(part, described, source) for part in beside)))


def _note_on(part: JsonPart, described: Description, source: str) -> str:
    place = f"{source}:{part.first}" + (f"-{part.last}" if part.last > part.first else "")
    if not part.is_current:
        return f"{place}: a plan, not used; to use it, give it to --reassign, in a file of its own"
    for partition, replicas in part.targets(source).items():
        listed = described.partitions.get(partition)
        if listed is not None and listed.assignment.replicas != replicas:
            raise UsageError(
                f"{place}: {partition} is on {_ids(replicas)}, and at {listed.at} it is on "
                f"{_ids(listed.assignment.replicas)}: leave one of them out"
            )
    return f"{place}: another current assignment, not used"


def _ids(brokers: Sequence[BrokerId]) -> str:
    return ",".join(map(str, brokers))


def read_plan(source: str) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    """The target brokers of each partition in a plan for `kafka-reassign-partitions.sh --execute`.

    Raises:
        UsageError: the plan cannot be read, or is not such JSON.
    """
    return read_reassignment(_text(source), source)


def _require_no_address(source: str) -> None:
    """Refuse a server's address in another form than that of a ZooKeeper."""
    scheme, _, address = source.rpartition("://")
    if scheme or (_HOSTS.fullmatch(source) and not Path(source).exists()):
        example = f"{ZOOKEEPER}{address or 'zk1:2181'}"
        raise UsageError(f"{source} is no file; a ZooKeeper is written {example}, and a broker cannot be asked")


def _text(source: str) -> str:
    try:
        read = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}") from None
    try:
        # Windows writes a byte order mark, or two bytes for each character.
        return read.decode("utf-16" if read[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{source}:{line}: this is not {error.encoding.upper()}; convert the file to UTF-8"
        ) from None
