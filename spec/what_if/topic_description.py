"""Read the output of `kafka-topics.sh --describe`.

A topic has a line of its own, followed by one for each partition. Tabs separate labels and values, or spaces if the
text was copied from a page. Releases have added labels:

    0.10    Topic:t  PartitionCount:2  ReplicationFactor:3  Configs:min.insync.replicas=2   [MarkedForDeletion:true]
            Topic: t  Partition: 0  Leader: 1  Replicas: 1,2,3  Isr: 1,2                    [MarkedForDeletion: true]
    2.4     Topic: t  PartitionCount: 2  ...
    2.6     ... Adding Replicas: 4  Removing Replicas: 1, while a partition is reassigned
    2.8     Topic: t  TopicId: 8xW...  PartitionCount: 2  ReplicationFactor: 3  Configs: ...
    3.7     ... Elr: N/A  LastKnownElr: N/A; brokers, or nothing, in a cluster with KRaft
    Confluent's  ... Offline: 2  Observers: 3  LiveObservers: 3

People paste such output from terminals, logs and mail. Any text may precede `Topic:` on a line. A line that a
terminal wrapped continues on the next one. Other lines are left out, and listed in the notes.

Without the line of a topic (`--under-replicated-partitions`) the listing is only a part; a note says so.

A partition without a leader:

    tool                      leader -1    no state yet
    --zookeeper, until 2.3    -1           none, and an empty ISR
    --zookeeper, 2.4 to 2.8   none         none, and an empty ISR
    --bootstrap-server, 2.2   none         not in the listing: brokers do not know it

Brokers until 2.3 leave out the ISR of every partition without a leader.
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
"""The label in the tool since 2.4; until then the line of a topic has no spaces."""
KEEPS_LAST: Final = Release("1.1.0")
"""The first release whose controller keeps the last replica of an ISR even with unclean elections permitted."""
ASKS_BROKERS: Final = Release("3.0.0")
"""The first release whose tool asks only brokers, which know a partition once it has a state."""
TELLS_ISR: Final = Release("2.4.0")
"""The first release whose brokers report the ISR of a partition without a leader."""
FEW: Final = 5
"""The most topics, or ranges of lines, that a note names."""


class _Record(NamedTuple):
    """The entry of a topic or a partition in a listing."""

    line: int
    """The place where it begins."""
    text: str
    """The text from `Topic:` on, including lines that a terminal wrapped."""


def is_description(text: str) -> bool:
    """Whether a text is such output: it has a line of a topic or a partition."""
    return any(_begins(line) is not None for _, line in _lines(text))


def read_description(text: str, name: str, release: str = RELEASES[-1]) -> Description:
    """Read the output of the tool.

    >>> described = read_description("Topic: t  Partition: 0  Leader: 2  Replicas: 1,2  Isr: 2", "topics.txt")
    >>> described.partitions[TopicPartition("t", 0)][:3]
    (ReplicaAssignment(replicas=(1, 2), adding_replicas=(), removing_replicas=()), 2, (2,))

    Args:
        text: the output.
        name: the name of the file, for messages.
        release: the cluster's release, which decides what a partition without a leader means.

    Raises:
            UsageError: a line differs from the tool's format, or contradicts another; the message has its number.
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
            raise UsageError(f"{at}: a topic without a name")
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
                raise UsageError(f"{at}: {config} must be true or false, not {value!r}")
    require_count(partitions, counts)
    if not partitions:
        raise UsageError(f"{name}: no partition found; expected the output of kafka-topics.sh --describe")
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
    """Refuse a listing whose numbers of partitions differ from those its topics state.

    Args:
        partitions: the described partitions.
        counts: the number of partitions that each topic states, and the place of the statement.

    Raises:
        UsageError: a topic has more or fewer partitions.
    """
    described = Counter(partition.topic for partition in partitions)
    for topic, (count, at) in counts.items():
        if (there := described[topic]) != count:
            has = f"topic {topic} has {count} partition{'' if count == 1 else 's'}, and {there}"
            is_cut = "paste all of it, or remove this line to get an answer about a part"
            raise UsageError(f"{at}: {has} {'is' if there == 1 else 'are'} described: {is_cut}")


# Lines.


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The nonempty lines with their numbers, without a terminal's colours."""
    for number, line in enumerate(text.splitlines(), 1):
        if line := _COLOUR.sub("", line).strip():
            yield number, line


def _begins(line: str) -> int | None:
    """Where the record of a line begins, if it has one: any text may precede `Topic:`.

    After other words the record must be complete, because logs mention topics too.

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
    """The records of a listing, and the numbers of ignored lines."""
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
            raise UsageError(f"{name}:{number}: a line with {labels}, but without its topic")
        else:
            left_out.append(number)
            wraps = False
    return records, left_out


def _goes_on(record: str, line: str) -> str | None:
    """The text that a terminal dropped between a record and its continuation line; None: the line is no continuation.

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
        raise UsageError(f"{at}: {twice} occurs twice: are two lines joined?")
    return fields


def partition_of(at: str, partition: TopicPartition, fields: Mapping[str, str]) -> DescribedPartition:
    """The description of a partition.

    Args:
        at: the place, for messages.
        partition: the partition.
        fields: `Leader`, `Replicas` and `Isr`, and maybe `Adding Replicas` and `Removing Replicas`, as printed.

    Raises:
        UsageError: a field is missing, invalid, or contradicts another.
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
    """The number printed with a label.

    Raises:
        UsageError: the text is not such a number.
    """
    if not re.fullmatch(r"[0-9]{1,9}", written):
        raise UsageError(f"{at}: {label} must be a whole number of at least 0, not {safe_repr(written)}")
    return int(written)


@lru_cache(maxsize=10_000)  # a large topic repeats few lists of brokers thousands of times
def _numbers(written: str) -> tuple[BrokerId, ...] | None:
    """Brokers separated by commas; None: the text is something else."""
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


# Open points.


def _without_state(
    leaders: Mapping[TopicPartition, str],
    partitions: Mapping[TopicPartition, DescribedPartition],
    text: str,
    release: str,
) -> list[TopicPartition]:
    """The partitions that have no state in ZooKeeper.

    For these a tool that reads ZooKeeper prints `none` and an empty ISR. Controllers until 1.0 may also empty an ISR,
    and tools since 2.4 print that the same way. Since 3.0 the tool does not read ZooKeeper.
    """
    if Release(release) >= ASKS_BROKERS or (Release(release) < KEEPS_LAST and _NEW_TOOL.search(text)):
        return []
    return [each for each in _leaderless(leaders, partitions) if leaders[each] == "none"]


def _leaderless(
    leaders: Mapping[TopicPartition, str], partitions: Mapping[TopicPartition, DescribedPartition]
) -> list[TopicPartition]:
    """The partitions with neither leader nor ISR."""
    return [partition for partition in leaders if not partitions[partition].isr]


def _live(
    partitions: Mapping[TopicPartition, DescribedPartition], offline: Mapping[TopicPartition, str]
) -> frozenset[BrokerId] | None:
    """The brokers with a replica that is not offline, if the listing says which are."""
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
        ranges = ", ".join("-".join(map(str, each)) for each in stretches[:FEW])
        more = f", ... ({len(lines):,} lines)" if len(stretches) > FEW else ""
        yield f"{name}:{ranges}{more}: not part of a listing, ignored"


def _of_parts(
    partitions: Mapping[TopicPartition, DescribedPartition], counts: Mapping[TopicName, object], name: str
) -> Iterator[str]:
    partial = sorted({partition.topic for partition in partitions} - counts.keys())
    if partial:
        unknown = "configuration, other partitions, and brokers without a replica of these"
        yield f"{name} is a part of a listing, without the line of topic {_some(partial)}; not known: {unknown}"


def _of_columns(
    columns: Mapping[str, Mapping[TopicPartition, str]], partitions: Mapping[TopicPartition, DescribedPartition]
) -> Iterator[str]:
    if any(said != "N/A" for label in ("Elr", "LastKnownElr") for said in columns[label].values()):
        yield "Elr is printed for clusters with KRaft; the prediction is for a controller with ZooKeeper"
    observed = sorted(
        partition
        for partition in partitions
        if columns["Observers"].get(partition) or columns["LiveObservers"].get(partition)
    )
    if observed:
        yield (
            f"observers of {_some(observed)} are treated as replicas out of sync; "
            "Confluent keeps them out of the ISR even after they return"
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
    unless = (
        ""
        if Release(release) >= TELLS_ISR
        else "; if the tool asked brokers, they left the ISR out: give it with --isr"
    )
    for is_new, reason in ((True, "never had a leader"), (False, "lost its leader, and all of its ISR")):
        if some := [
            partition
            for partition in _leaderless(leaders, partitions)
            if leaders[partition] == "none" and (partitions[partition].leader_epoch == NO_EPOCH) is is_new
        ]:
            meant = f"the partition {reason} (--release): {_some(some)}"
            yield f"leader none and an empty ISR is taken to mean: {meant}{unless}"


def _some(things: Sequence[object]) -> str:
    more = f" and {len(things) - FEW:,} more" if len(things) > FEW else ""
    return ", ".join(map(str, things[:FEW])) + more
