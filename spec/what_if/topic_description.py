"""What `kafka-topics.sh --describe` prints, read back.

A topic has a line of its own, and one for each partition below it. Labels and values are separated by tabs, or by
spaces where the text was copied from a page; the releases have added labels:

    0.10    Topic:t  PartitionCount:2  ReplicationFactor:3  Configs:min.insync.replicas=2   [MarkedForDeletion:true]
            Topic: t  Partition: 0  Leader: 1  Replicas: 1,2,3  Isr: 1,2                    [MarkedForDeletion: true]
    2.4     Topic: t  PartitionCount: 2  ...
            ... Adding Replicas: 4  Removing Replicas: 1, while a partition is reassigned
    2.8     Topic: t  TopicId: 8xW...  PartitionCount: 2  ReplicationFactor: 3  Configs: ...
    3.7     ... Elr: N/A  LastKnownElr: N/A; brokers, or nothing, in a cluster with KRaft
    Confluent's  ... Offline: 2  Observers: 3  LiveObservers: 3

People paste that from terminals, logs and mail. Anything may stand in front of `Topic:` on a line. A line that a
terminal has wrapped goes on in the next one. Lines of anything else are left out, and named in the notes.

Without the line of a topic (`--under-replicated-partitions`) the listing is a part of what there is; a note says so.

A partition without a leader:

    tool                      leader -1    no state yet
    --zookeeper, until 2.3    -1           none, and an empty ISR
    --zookeeper, 2.4 to 2.8   none         none, and an empty ISR
    --bootstrap-server, 2.2   none         not in the listing: brokers do not know it

Brokers until 2.3 leave out the ISR of a partition without a leader, whatever it is.
[TopicCommand.scala, 0.10.2, 1.0, 2.2 to 2.4, 2.8, 3.5; TopicCommand.java, 3.9; MetadataCache.scala, 1.0.2 to 2.4]
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from election.ids import BrokerId
from spec.language.errors import UsageError, safe_repr
from spec.what_if.known_cluster import DescribedPartition, Description, listed
from statemachines.messages.leader_and_isr import NO_EPOCH
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicName, TopicPartition
from statemachines.releases import RELEASES, Release

__all__ = ["is_description", "partition_of", "read_description", "require_count", "whole_number"]

OF_TOPIC: Final = ("TopicId", "PartitionCount", "ReplicationFactor", "Configs")
OF_PARTITION: Final = (
    *("Partition", "Leader", "Replicas", "Isr", "Adding Replicas", "Removing Replicas", "Elr", "LastKnownElr"),
    *("Offline", "Observers", "LiveObservers"),
)
LABELS: Final = ("Topic", *OF_TOPIC, *OF_PARTITION, "MarkedForDeletion")
_LABEL = re.compile(rf"(?<!\S)({'|'.join(LABELS)}):")
_TOPIC = re.compile(r"(?<![a-zA-Z])Topic:")
_CONFIG = re.compile(r"(?:^|,)\s*(min\.insync\.replicas|unclean\.leader\.election\.enable)=([^,\s]*)")
_MORE_CONFIGS = re.compile(r"[a-z][a-z0-9._]*=.*")
_MORE_BROKERS = re.compile(r"[0-9, ]+")
_COLOUR = re.compile(r"\x1b\[[0-9;]*[mK]")
_NEW_TOOL = re.compile(r"Topic: .*PartitionCount: ")
"""The tool since 2.4; before, there is no space in the line of a topic."""
KEEPS_LAST: Final = Release("1.1.0")
"""Since then a controller keeps the last replica of an ISR, also where unclean elections are permitted."""
ASKS_BROKERS: Final = Release("3.0.0")
"""Since then the tool only asks brokers, which know a partition once it has a state."""
TELLS_ISR: Final = Release("2.4.0")
"""Since then brokers tell the ISR of a partition without a leader, too."""
FEW: Final = 5
"""How many topics, or stretches of lines, a note names."""


class _Record(NamedTuple):
    """What a listing says of a topic, or of a partition."""

    line: int
    """Where it begins."""
    text: str
    """From `Topic:` on, with what a terminal has wrapped."""


def is_description(text: str) -> bool:
    """Whether a text is such an output: there is a line with the partition of a topic, or with a topic."""
    return any(_begins(line) is not None for _, line in _lines(text))


def read_description(text: str, name: str, release: str = RELEASES[-1]) -> Description:
    """What the tool has said.

    >>> described = read_description("Topic: t  Partition: 0  Leader: 2  Replicas: 1,2  Isr: 2", "topics.txt")
    >>> described.partitions[TopicPartition("t", 0)][:3]
    (ReplicaAssignment(replicas=(1, 2), adding_replicas=(), removing_replicas=()), 2, (2,))

    Args:
        text: what was printed.
        name: of the file, for messages.
        release: of the cluster, on which it depends what a partition without leader is.

    Raises:
        UsageError: a line is not as the tool prints it, or says what cannot be; with its number.
    """
    partitions: dict[TopicPartition, DescribedPartition] = {}
    counts: dict[TopicName, tuple[int, str]] = {}
    min_isr: dict[TopicName, int] = {}
    unclean: dict[TopicName, bool] = {}
    deleted: set[TopicName] = set()
    columns: dict[str, dict[TopicPartition, str]] = {label: {} for label in OF_PARTITION}
    records, left_out = _records(text, name)
    for line, said in records:
        at = f"{name}:{line}"
        fields = _fields(at, said)
        topic = fields["Topic"]
        if not topic:
            raise UsageError(f"{at}: a topic without name")
        if fields.get("MarkedForDeletion", "").lower() == "true":
            deleted.add(topic)
        if "Partition" in fields:
            partition = TopicPartition(topic, whole_number(at, "Partition", fields["Partition"]))
            if partition in partitions:
                raise UsageError(f"{at}: {partition} is described twice, also at {partitions[partition].at}")
            partitions[partition] = partition_of(at, partition, fields)
            for label in fields.keys() & columns.keys():
                columns[label][partition] = fields[label]
            continue
        if "PartitionCount" not in fields:
            raise UsageError(f"{at}: topic {topic} has no PartitionCount: is the line cut?")
        if topic in counts:
            raise UsageError(f"{at}: topic {topic} is described twice, also at {counts[topic][1]}")
        counts[topic] = whole_number(at, "PartitionCount", fields["PartitionCount"]), at
        for config, value in _CONFIG.findall(fields.get("Configs", "")):
            if config == "min.insync.replicas":
                min_isr[topic] = whole_number(at, config, value)
            elif value in ("true", "false"):
                unclean[topic] = value == "true"
            else:
                raise UsageError(f"{at}: {config} is true or false, not {value!r}")
    require_count(partitions, counts)
    if not partitions:
        raise UsageError(f"{name}: it has no partition; it should be what kafka-topics.sh --describe prints")
    stateless = _without_state(columns["Leader"], partitions, text, release)
    for partition in stateless:
        partitions[partition] = partitions[partition]._replace(leader_epoch=NO_EPOCH)
    return Description(
        partitions,
        live=_live(partitions, columns["Offline"]),
        min_isr=min_isr,
        unclean=unclean,
        deletion_queued=frozenset(deleted),
        notes=(
            *_of_left_out(left_out, name),
            *_of_parts(partitions, counts, name),
            *_of_columns(columns, partitions),
            *_of_leaderless(columns["Leader"], partitions, release),
        ),
    )


def require_count(
    partitions: Mapping[TopicPartition, DescribedPartition], counts: Mapping[TopicName, tuple[int, str]]
) -> None:
    """Refuse a listing that has other numbers of partitions than its topics say.

    Args:
        partitions: those that are described.
        counts: how many partitions a topic says it has, and where it says so.

    Raises:
        UsageError: a topic has more of them, or fewer.
    """
    described = Counter(partition.topic for partition in partitions)
    for topic, (count, at) in counts.items():
        if (there := described[topic]) != count:
            has = f"topic {topic} has {count} partition{'' if count == 1 else 's'}, and {there}"
            is_cut = "paste all of it, or leave this line out, and the answer is of a part"
            raise UsageError(f"{at}: {has} {'is' if there == 1 else 'are'} described: {is_cut}")


# Its lines.


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that are not empty, with their numbers, and without the colours of a terminal."""
    for number, line in enumerate(text.splitlines(), 1):
        if line := _COLOUR.sub("", line).strip():
            yield number, line


def _begins(line: str) -> int | None:
    """Where the record of a line begins, if there is one: what stands before `Topic:` may be anything.

    Behind other words it has to be whole, as logs speak of topics too.

    >>> _begins("kafka-1  | Topic: t  PartitionCount: 1"), _begins("[12:01] ERROR Topic: t is unknown")
    (11, None)
    """
    found = _TOPIC.search(line)
    if found is None:
        return None
    labels = set(_LABEL.findall(line, found.end()))
    whole = "PartitionCount" in labels or labels >= {"Partition", "Leader", "Replicas"}
    return found.start() if whole or (labels and not line[: found.start()].strip()) else None


def _records(text: str, name: str) -> tuple[list[_Record], list[int]]:
    """The records of a listing, and the numbers of the lines that are left out."""
    records: list[_Record] = []
    left_out: list[int] = []
    wraps = False  # whether the next line may belong to the last record
    for number, line in _lines(text):
        begin = _begins(line)
        if begin is not None:
            records.append(_Record(number, line[begin:]))
            wraps = True
        elif wraps and (glue := _goes_on(records[-1].text, line)) is not None:
            records[-1] = records[-1]._replace(text=f"{records[-1].text}{glue}{line}")
        elif _LABEL.match(line):
            labels = ", ".join(_LABEL.findall(line))
            raise UsageError(f"{name}:{number}: a line with {labels}, and not which topic that is of")
        else:
            left_out.append(number)
            wraps = False
    return records, left_out


def _goes_on(record: str, line: str) -> str | None:
    """What a terminal has left out between a record and a line that goes on with it; None: the line does not.

    >>> _goes_on("Topic: t  PartitionCount: 1", "Configs: a=b,"), _goes_on("Topic: t  Partition: 0  Lead", "er: 1")
    (' ', '')
    """
    labels = _LABEL.findall(record)
    of_partition = "Partition" in labels
    if label := _LABEL.match(line):
        is_next = label[1] in (OF_PARTITION if of_partition else OF_TOPIC) and label[1] not in (*labels, "Partition")
        return " " if is_next or label[1] == "MarkedForDeletion" else None
    if of_partition:
        return "" if "Isr" not in labels or _MORE_BROKERS.fullmatch(line) else None
    return "" if "Configs" in labels and (record.endswith(",") or _MORE_CONFIGS.fullmatch(line)) else None


def _fields(at: str, record: str) -> dict[str, str]:
    """The labels of a record, and their values."""
    _, *parts = _LABEL.split(record)
    fields = dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))
    if len(fields) * 2 != len(parts):
        twice = next(label for label, times in Counter(parts[::2]).items() if times > 1)
        raise UsageError(f"{at}: {twice} stands there twice: are two lines joined?")
    return fields


def partition_of(at: str, partition: TopicPartition, fields: Mapping[str, str]) -> DescribedPartition:
    """What is said of a partition.

    Args:
        at: where, for messages.
        partition: which.
        fields: `Leader`, `Replicas` and `Isr`, and maybe `Adding Replicas` and `Removing Replicas`, as printed.

    Raises:
        UsageError: one of these is not there, is none of these, or contradicts another.
    """
    for label in ("Leader", "Replicas", "Isr"):
        if label not in fields:
            raise UsageError(f"{at}: {partition} has no {label}: is the line cut?")
    replicas, isr, adding, removing = (
        _brokers(at, label, fields.get(label, ""))
        for label in ("Replicas", "Isr", "Adding Replicas", "Removing Replicas")
    )
    leader = None if fields["Leader"] in ("none", "-1") else whole_number(at, "Leader", fields["Leader"])
    if not replicas:
        raise UsageError(f"{at}: {partition} has no replicas")
    described = DescribedPartition(ReplicaAssignment(replicas, adding, removing), leader, isr, at=at)
    if contradiction := described.contradiction():
        raise UsageError(f"{at}: {partition}: {contradiction}")
    return described


def whole_number(at: str, label: str, written: str) -> int:
    """A number that is printed with a label.

    Raises:
        UsageError: it is something else.
    """
    if not re.fullmatch(r"[0-9]{1,9}", written):
        raise UsageError(f"{at}: {label} is a whole number from 0 on, not {safe_repr(written)}")
    return int(written)


@lru_cache(maxsize=10_000)  # a large topic has few lists of brokers, and each thousands of times
def _numbers(written: str) -> tuple[BrokerId, ...] | None:
    """Brokers, separated by commas; None: it is something else."""
    if not written:
        return ()
    if not re.fullmatch(r"[0-9]{1,9}(?:\s*,\s*[0-9]{1,9})*", written):
        return None
    return tuple(map(int, written.split(",")))


def _brokers(at: str, label: str, written: str) -> tuple[BrokerId, ...]:
    brokers = _numbers(written)
    if brokers is None:
        for each in written.split(","):
            whole_number(at, label, each.strip())
        raise AssertionError(written)
    if len(set(brokers)) != len(brokers):
        raise UsageError(f"{at}: {label} names a broker twice: {written}")
    return brokers


# What it leaves open.


def _without_state(
    leaders: Mapping[TopicPartition, str],
    partitions: Mapping[TopicPartition, DescribedPartition],
    text: str,
    release: str,
) -> list[TopicPartition]:
    """The partitions that have no state in ZooKeeper.

    A tool that reads ZooKeeper prints `none` and an empty ISR then. Controllers until 1.0 leave ISRs empty, too, and
    tools since 2.4 print that alike. Since 3.0 the tool reads no ZooKeeper.
    """
    if Release(release) >= ASKS_BROKERS or (Release(release) < KEEPS_LAST and _NEW_TOOL.search(text)):
        return []
    return [each for each in _leaderless(leaders, partitions) if leaders[each] == "none"]


def _leaderless(
    leaders: Mapping[TopicPartition, str], partitions: Mapping[TopicPartition, DescribedPartition]
) -> list[TopicPartition]:
    """The partitions without leader and ISR."""
    return [partition for partition in leaders if not partitions[partition].isr]


def _live(
    partitions: Mapping[TopicPartition, DescribedPartition], offline: Mapping[TopicPartition, str]
) -> frozenset[BrokerId] | None:
    """The brokers with a replica that is not offline, where the listing says which are."""
    if offline.keys() != partitions.keys():
        return None
    return frozenset(
        broker
        for partition, each in partitions.items()
        for broker in set(each.assignment.replicas) - set(_brokers(each.at, "Offline", offline[partition]))
    )


def _of_left_out(lines: Sequence[int], name: str) -> Iterator[str]:
    if lines:
        stretches: list[list[int]] = []
        for line in lines:
            if stretches and line == stretches[-1][-1] + 1:
                stretches[-1][1:] = [line]
            else:
                stretches.append([line])
        told = ", ".join("-".join(map(str, each)) for each in stretches[:FEW])
        more = f", ... ({len(lines):,} lines)" if len(stretches) > FEW else ""
        yield f"{name}:{told}{more}: no line of a listing, left out"


def _of_parts(
    partitions: Mapping[TopicPartition, DescribedPartition], counts: Mapping[TopicName, object], name: str
) -> Iterator[str]:
    partial = sorted({partition.topic for partition in partitions} - counts.keys())
    if partial:
        unknown = "what is configured, other partitions, and brokers that keep none of these"
        yield f"{name} is a part of a listing, without a line of topic {_some(partial)}; not known: {unknown}"


def _of_columns(
    columns: Mapping[str, Mapping[TopicPartition, str]], partitions: Mapping[TopicPartition, DescribedPartition]
) -> Iterator[str]:
    if any(said != "N/A" for label in ("Elr", "LastKnownElr") for said in columns[label].values()):
        yield "Elr is printed of clusters with KRaft; this is what a controller with ZooKeeper would do"
    observed = sorted(
        partition
        for partition in partitions
        if columns["Observers"].get(partition) or columns["LiveObservers"].get(partition)
    )
    if observed:
        yield (
            f"observers of {_some(observed)} are replicas like others, and not in sync; "
            "Confluent keeps them out of the ISR when they return as well"
        )
    live = _live(partitions, columns["Offline"]) or frozenset()
    lost = {
        broker
        for partition, said in columns["Offline"].items()
        for broker in _brokers(partitions[partition].at, "Offline", said)
    }
    if failed := lost & live:
        yield f"some replicas of broker {listed(failed)} are offline, as with a failed disk; here they are alive"


def _of_leaderless(
    leaders: Mapping[TopicPartition, str], partitions: Mapping[TopicPartition, DescribedPartition], release: str
) -> Iterator[str]:
    unless = "" if Release(release) >= TELLS_ISR else "; if brokers printed it, they left the ISR out: --isr says it"
    for is_new, told in ((True, "never had a leader"), (False, "lost its leader, and all of its ISR")):
        if some := [
            partition
            for partition in _leaderless(leaders, partitions)
            if leaders[partition] == "none" and (partitions[partition].leader_epoch == NO_EPOCH) is is_new
        ]:
            meant = f"the partition {told} (--release): {_some(some)}"
            yield f"leader none and an empty ISR is taken to mean: {meant}{unless}"


def _some(things: Sequence[object]) -> str:
    more = f" and {len(things) - FEW:,} more" if len(things) > FEW else ""
    return ", ".join(map(str, things[:FEW])) + more
