"""Pasted listings are read correctly, or refused in one line that says what to paste instead."""

from pathlib import Path
from typing import Final

import pytest

from spec.language.errors import UsageError
from spec.what_if.known_cluster import Description, complete
from spec.what_if.reading import read_cluster, read_plan
from statemachines.messages.leader_and_isr import NO_EPOCH
from statemachines.messages.topic_partition import TopicPartition
from tests.rows import rows

LISTINGS: Final = Path(__file__).parent / "listings"
T0 = TopicPartition("t", 0)


def listing(name: str) -> str:
    return str(LISTINGS / name)


def of(tmp_path: Path, text: str, release: str = "3.9") -> Description:
    path = tmp_path / "topics.txt"
    path.write_bytes(text.encode())
    return read_cluster(str(path), release)


def shown(described: Description, topic: str, number: int) -> str:
    """Return a partition as `leader: replicas: ISR`."""
    each = described.partitions[TopicPartition(topic, number)]
    replicas, isr = (",".join(map(str, brokers or ())) for brokers in (each.assignment.replicas, each.isr))
    return f"{each.leader}: {replicas}: {isr}"


@rows(
    "name, partitions, topic, number, says",
    [
        ("03-log-line-first.txt", 1, "t", 0, "1: 1,2: 1,2"),
        ("05-cluster.txt", 1, "t", 0, "1: 1,2: 1,2"),
        ("05-generate.out", 1, "t", 0, "None: 1,2: "),
        ("07-prefixed-line.txt", 2, "t", 0, "1: 1,2: 1"),
        ("08-marked.txt", 2, "t", 0, "None: 1,2: 1"),
        ("11-wrapped.txt", 1, "t", 0, "1: 1,2: 1,2"),
        ("14-kcat.txt", 1, "t", 0, "1: 1,2,3: 1,2"),
        ("15-partial.txt", 2, "u", 3, "3: 3,2,1: 3,1"),
        ("in-04-decommission-before.txt", 8, "ttt", 7, "30: 30,32: 32,30"),
        ("in-04-execute.out", 8, "ttt", 3, "None: 132,32: "),
        ("in-04-generate.out", 8, "ttt", 3, "None: 132,32: "),
        ("in-04-plan.json", 8, "ttt", 3, "None: 30,132: "),
        ("in-05-confluent-west-down.txt", 3, "multi-region-async", 0, "None: 2,1,3,4: 1"),
        ("in-06-confluent-liveobservers.txt", 3, "multi-region-sync", 0, "4: 2,1,4,3: 4,3"),
        ("in-07-scale-in.txt", 5, "test.topic", 2, "3: 1,2,3: 1,2,3"),
        ("in-09-unavailable.txt", 2, "tc", 3, "None: 2,1: 1"),
        ("in-13-kcat.json", 1, "oef", 0, "2: 2,3,1: 2,3,1"),
        ("in-13-kcat.txt", 5, "oef", 4, "1: 1,2,3: 1,2,3"),
        ("in-17-strimzi-4.txt", 3, "my-topic", 1, "5: 5,3,4: 5,3,4"),
        ("in-19-cc-rf2-min2.txt", 33, "strimzi.cruisecontrol.partitionmetricsamples", 31, "1: 1,2: 1,2"),
        ("in-23-win-crlf.txt", 2, "tt", 1, "3: 3: 3"),
        ("in-25-compose-prefix.txt", 3, "my-topic", 2, "2: 2,3,1: 2,3,1"),
        ("in-25-grep-prefix.txt", 3, "my-topic", 2, "2: 2,3,1: 2,3,1"),
        ("in-25-quote-prefix.txt", 3, "my-topic", 2, "2: 2,3,1: 2,3,1"),
        ("in-25-urp-one-prefixed.txt", 2, "my-topic", 0, "1: 1,0,2: 1,2"),
        ("in-26-rf1-0.10-after.txt", 2, "ts", 1, "None: 2: "),
        ("in-31-warn-first.txt", 2, "tt1", 0, "2: 1,2: 2"),
        ("in-32-cp-offline.txt", 3, "pc", 2, "3: 3,1,2: 3,1,2"),
    ],
)
def test_a_listing_is_read(name: str, partitions: int, topic: str, number: int, says: str) -> None:
    described = read_cluster(listing(name))
    assert len(described.partitions) == partitions
    assert shown(described, topic, number) == says


@rows(
    "name, says",
    [
        ("12-no-count.txt", ":1: topic t has no PartitionCount: is the line cut?"),
        ("in-03-wrapped-header-none.txt", ":3: topic __consumer_offsets has 50 partitions, and 11 are"),
        (
            "in-10-msk-elided.txt",
            ":6: topic __consumer_offsets has 50 partitions, and 1 is described: paste",
        ),
        (
            "in-04-verify.out",
            ": this is the output of kafka-reassign-partitions.sh --verify, which has no leaders and",
        ),
    ],
)
def test_a_listing_is_refused(name: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_cluster(listing(name))
    assert str(refused.value).startswith(f"{listing(name)}{says}")
    assert "\n" not in str(refused.value)


@rows(
    "name, notes",
    [
        ("in-32-cp-offline.txt", ()),
        ("11-wrapped.txt", ()),
        ("03-log-line-first.txt", ("03-log-line-first.txt:1: not part of a listing, ignored",)),
        ("in-23-win-crlf.txt", ("in-23-win-crlf.txt:1: not part of a listing, ignored",)),
        ("in-31-warn-first.txt", ("in-31-warn-first.txt:1: not part of a listing, ignored",)),
        ("15-partial.txt", ("15-partial.txt is a part of a listing, without the line of topic t, u; not known: ",)),
        ("in-09-unavailable.txt", ("in-09-unavailable.txt:1: not part of a listing", "is a part of a listing")),
        ("in-25-urp-one-prefixed.txt", ("is a part of a listing",)),
        (
            "in-05-confluent-west-down.txt",
            (".txt:1, 6, 11: not part of a listing", "observers of multi-region-async-0 are"),
        ),
        (
            "in-06-confluent-liveobservers.txt",
            (".txt:1, 6, 11: not part of a listing", "observers of multi-region-async-0 are"),
        ),
        ("in-17-strimzi-4.txt", ("Elr is printed for clusters with KRaft",)),
        ("05-generate.out", ("the current assignment was read from", "05-generate.out:5: a plan, not used")),
        (
            "01-session.txt",
            (
                "01-session.txt:1, 16-18, 22-25: not part of a listing, ignored",
                "01-session.txt:7-14: a plan, not used",
                "01-session.txt:20: another current assignment, not used",
            ),
        ),
    ],
)
def test_omissions_and_assumptions_are_reported(name: str, notes: tuple[str, ...]) -> None:
    described = read_cluster(listing(name))
    assert len(described.notes) == len(notes)
    for expected, note in zip(described.notes, notes, strict=True):
        assert note in expected
    assert complete(described).assumed[: len(notes)] == described.notes


@rows(
    "name, live, controller",
    [
        ("14-kcat.txt", {1, 2}, 2),
        ("in-13-kcat.json", {1, 2, 3}, 3),
        ("in-05-confluent-west-down.txt", {3, 4}, None),
        ("in-32-cp-offline.txt", {1, 2, 3}, None),
        ("in-07-scale-in.txt", None, None),
    ],
)
def test_live_brokers_are_read_from_the_listing(name: str, live: set[int] | None, controller: int | None) -> None:
    described = read_cluster(listing(name))
    assert described.live == live
    assert described.controller == controller


def test_a_topic_that_is_marked_for_deletion() -> None:
    assert read_cluster(listing("08-marked.txt")).deletion_queued == {"t"}
    assert read_cluster(listing("in-31-warn-first.txt")).deletion_queued == set()


def test_configurations_of_a_wrapped_line(tmp_path: Path) -> None:
    header = (
        "Topic: t\tPartitionCount: 1\tReplicationFactor: 1\nConfigs: cleanup.policy=delete,min.insync.repl\nicas=2\n"
    )
    assert of(tmp_path, header + "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n").min_isr == {"t": 2}


@rows(
    "text",
    [
        "Topic: t  Partition: 0  Leader: 1\n  Replicas: 1,2,3  Isr: 1,2,3",
        "Topic: t  Partition: 0  Leader: 1  Repli\ncas: 1,2,3  Isr: 1,2,3",
        "Topic: t  Partition: 0  Leader: 1  Replicas: 1,2,3  Isr: 1,2\n,3\n",
        "Topic: t  Partition: 0  Leader: 1  Replicas: 1,2,3  Isr:\n1,2,3\n$ exit",
        "\x1b[36mkafka-1  | \x1b[0mTopic: t  Partition: 0  Leader: 1  Replicas: 1,2,3  Isr: 1,2,3",
        "./urp.txt:Topic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3",
    ],
)
def test_a_line_that_was_wrapped_or_has_a_prefix(tmp_path: Path, text: str) -> None:
    assert shown(of(tmp_path, text), "t", 0) == "1: 1,2,3: 1,2,3"


def test_two_lines_that_were_joined_are_refused(tmp_path: Path) -> None:
    line = "Topic: t  Partition: 0  Leader: 1  Replicas: 1  Isr: 1  "
    with pytest.raises(UsageError, match=":1: Topic occurs twice: are two lines joined"):
        of(tmp_path, line + line.replace("0", "1"))


def test_thousands_of_other_lines_are_one_note(tmp_path: Path) -> None:
    line = "Topic: t\tPartition: {}\tLeader: 1\tReplicas: 1\tIsr: 1\n[12:00] WARN Topic: t is slow\n\n"
    (left_out, _) = of(tmp_path, "".join(map(line.format, range(2_000)))).notes
    assert left_out.endswith("topics.txt:2, 5, 8, 11, 14, ... (2,000 lines): not part of a listing, ignored")


@rows(
    "leader, release, header, has_state",
    [
        ("-1", "0.10", "", True),
        ("-1", "2.8", "", True),
        ("none", "0.10", "", False),
        ("none", "1.0", "Topic:t\tPartitionCount:1\tReplicationFactor:2\tConfigs:\n", False),
        ("none", "1.0", "Topic: t\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: \n", True),
        ("none", "2.8", "Topic: t\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: \n", False),
        ("none", "3.5", "", True),
    ],
)
def test_a_partition_without_leader_and_isr_may_lack_a_state(
    tmp_path: Path, leader: str, release: str, header: str, has_state: bool
) -> None:
    described = of(tmp_path, f"{header}\tTopic: t\tPartition: 0\tLeader: {leader}\tReplicas: 1,2\tIsr: \n", release)
    assert (described.partitions[T0].leader_epoch != NO_EPOCH) is has_state
    assert any(note.startswith("leader none and an empty ISR") for note in described.notes) is (leader == "none")


def test_a_current_assignment_that_contradicts_the_listing_is_refused(tmp_path: Path) -> None:
    session = Path(listing("01-session.txt")).read_text()
    other = session.replace('"replicas":[2,1,0]', '"replicas":[2,1,3]')
    with pytest.raises(UsageError, match=r":20: my-topic-1 is on 2,1,3, and at .*:4 it is on 2,1,0: leave one"):
        of(tmp_path, other)


@rows("other", ["14-kcat.txt", "in-13-kcat.json"])
def test_two_listings_of_different_tools_are_refused(tmp_path: Path, other: str) -> None:
    both = (Path(listing(name)).read_text() for name in ("01-before.txt", other))
    with pytest.raises(UsageError, match="describes the cluster twice"):
        of(tmp_path, "\n".join(both))


def test_a_plan_beside_the_metadata_of_a_broker_is_named(tmp_path: Path) -> None:
    both = (Path(listing(name)).read_text() for name in ("14-kcat.txt", "01-plan-same.json"))
    [note] = of(tmp_path, "".join(both)).notes
    assert "a plan, not used" in note


def test_a_file_in_another_encoding_is_refused_with_its_line() -> None:
    with pytest.raises(UsageError, match=r"32-latin1.txt:1: this is not UTF-8"):
        read_cluster(listing("32-latin1.txt"))


@rows("source", ["zk://zk1:2181/kafka", "zk1:2181/kafka", "zk1:2181,zk2:2181", "https://zk1"])
def test_an_address_in_another_form_is_refused_with_the_right_one(source: str) -> None:
    with pytest.raises(UsageError, match=r"is no file; a ZooKeeper is written zookeeper://zk1"):
        read_cluster(source)


def test_a_file_with_the_name_of_an_address_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("zk1:2181").write_text(Path(listing("01-before.txt")).read_text())
    assert len(read_cluster("zk1:2181").partitions) == 3


@rows("name, target", [("05-generate.out", (1, 3)), ("01-plan-same.json", (1, 2))])
def test_a_plan_is_read(name: str, target: tuple[int, ...]) -> None:
    assert read_plan(listing(name)) == {T0: target}


@rows(
    "name, says",
    [
        ("in-04-execute.out", "--execute, with the old assignment"),
        ("in-04-verify.out", "--verify, which has no leaders"),
        ("05-cluster.txt", ":1: this is not JSON"),
        ("17-election.json", "asks for an election, and names no replicas: --prefer"),
    ],
)
def test_an_invalid_plan_is_refused(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_plan(listing(name))


@rows(
    "text, says",
    [
        (
            '  topic "t" with 2 partitions:\n    partition 0, leader 1, replicas: 1, isrs: 1\n',
            ":1: topic t has 2",
        ),
        (
            '  topic "t" with 1 partitions:\n    partition 0, leader 2, replicas: 1, isrs: 1\n',
            ":2: t-0: broker 2",
        ),
        ('  topic "t" with 0 partitions: Broker: Unknown topic or partition\n', "no partition found"),
        ('{"brokers": [{"id": 1}], "topics": [{"topic": "t"}]}', "this is not the metadata that kcat -L -J prints"),
        ('{"brokers": [{"id": "x"}], "topics": []}', "brokers: id must be a whole number"),
    ],
)
def test_impossible_metadata_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        of(tmp_path, text)
