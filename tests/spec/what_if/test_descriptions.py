"""Descriptions of clusters, as Kafka's tools print them, are read correctly, or refused with the line."""

from dataclasses import replace
from pathlib import Path

import pytest

from spec.language.errors import UsageError
from spec.what_if.known_cluster import Description, complete
from spec.what_if.reading import read_cluster, read_plan
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def of(tmp_path: Path, text: str | bytes, name: str = "cluster.txt") -> Description:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_cluster(str(path))


TWO = {
    "0.10": (
        "Topic:t\tPartitionCount:2\tReplicationFactor:3\tConfigs:min.insync.replicas=2\n"
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2\n"
        "\tTopic: t\tPartition: 1\tLeader: -1\tReplicas: 2,3,1\tIsr: 3\n"
    ),
    "2.2": (
        "Topic:t\tPartitionCount:2\tReplicationFactor:3\tConfigs:min.insync.replicas=2,cleanup.policy=compact,delete\n"
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2\n"
        "\tTopic: t\tPartition: 1\tLeader: none\tReplicas: 2,3,1\tIsr: 3\n"
    ),
    "2.8": (
        "Topic: t\tTopicId: WVpYoyNfSzuGAGeB6V0jUQ\tPartitionCount: 2\tReplicationFactor: 3\t"
        "Configs: cleanup.policy=compact,delete,min.insync.replicas=2\n"
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2\n"
        "\tTopic: t\tPartition: 1\tLeader: none\tReplicas: 2,3,1\tIsr: 3\n"
    ),
    "3.9": (
        "Topic: t\tTopicId: WVpYoyNfSzuGAGeB6V0jUQ\tPartitionCount: 2\tReplicationFactor: 3\t"
        "Configs: min.insync.replicas=2\n"
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2\tElr: N/A\tLastKnownElr: N/A\n"
        "\tTopic: t\tPartition: 1\tLeader: none\tReplicas: 2,3,1\tIsr: 3\tElr: \tLastKnownElr: \n"
    ),
    "with a tool's warnings, copied from a page": (
        "OpenJDK 64-Bit Server VM warning: sharing is only supported for boot loader classes\n\n"
        "Topic: t   PartitionCount: 2   ReplicationFactor: 3   Configs: min.insync.replicas=2\n"
        "    Topic: t  Partition: 0    Leader: 1  Replicas: 1,2,3  Isr: 1,2\n"
        "    Topic: t  Partition: 1    Leader: none  Replicas: 2, 3, 1  Isr: 3\n"
    ),
}


@pytest.mark.parametrize("form", TWO)
@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["Unix", "Windows"])
def test_topics_tool_output_is_read(tmp_path: Path, form: str, ends: str) -> None:
    described = of(tmp_path, TWO[form].replace("\n", ends))
    assert described.partitions[T0][:3] == (ReplicaAssignment((1, 2, 3)), 1, (1, 2))
    assert described.partitions[T1][:3] == (ReplicaAssignment((2, 3, 1)), None, (3,))
    assert described.min_isr == {"t": 2}
    assert described.live is None


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_windows_files_are_read(tmp_path: Path, encoding: str) -> None:
    described = of(tmp_path, TWO["3.9"].replace("\n", "\r\n").encode(encoding))
    assert described.partitions[T0].isr == (1, 2)


def test_a_partition_that_moves(tmp_path: Path) -> None:
    line = "Topic: t\tPartition: 0\tLeader: 1\tReplicas: 3,1,2\tIsr: 1,2\tAdding Replicas: 3\tRemoving Replicas: 1,2"
    assert of(tmp_path, line).partitions[T0].assignment == ReplicaAssignment((3, 1, 2), (3,), (1, 2))


def test_topic_configuration_of_unclean_elections_is_read(tmp_path: Path) -> None:
    header = "Topic: t\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: unclean.leader.election.enable=true\n"
    assert of(tmp_path, header + line(0)).unclean == {"t": True}


def test_the_json_of_the_reassignment_tool(tmp_path: Path) -> None:
    text = '{"version":1,"partitions":[{"topic":"t","partition":1,"replicas":[3,1],"log_dirs":["any","any"]}]}'
    assert of(tmp_path, text).partitions[T1][:3] == (ReplicaAssignment((3, 1)), None, None)
    (tmp_path / "plan.json").write_text(text)
    assert read_plan(str(tmp_path / "plan.json")) == {T1: (3, 1)}


def line(number: int = 0, leader: str = "1", replicas: str = "1,2", isr: str = "1,2", topic: str = "t") -> str:
    return f"\tTopic: {topic}\tPartition: {number}\tLeader: {leader}\tReplicas: {replicas}\tIsr: {isr}\n"


HEADER = "Topic: t\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: \n"
BAD: dict[str, tuple[str | bytes, str]] = {
    "an empty file": ("", "is empty"),
    "no text": (b"\xff\x00\x81\x93", "cluster.txt:1: this is not UTF-8"),
    "another tool's output": ("GROUP TOPIC PARTITION CURRENT-OFFSET\nmine t 0 12\n", "kafka-topics.sh --describe"),
    "a list of topics": ("orders\npayments\n", "kafka-topics.sh --describe"),
    "headers alone": (HEADER.replace("2\tR", "0\tR"), "no partition"),
    "a topic that is cut": (HEADER + line(0), ":1: topic t has 2 partitions, and 1 is described"),
    "a line that is cut": (HEADER + line(0) + line(1)[:30], ":3: t-1 has no Replicas: is the line cut?"),
    "a cut ISR": (line(0).rsplit("\tIsr", 1)[0], ":1: t-0 has no Isr"),
    "a partition twice": (line(0) + line(0, leader="2"), ":2: t-0 is described twice, also at"),
    "a topic twice": (HEADER + line(0) + line(1) + HEADER, ":4: topic t is described twice"),
    "a leader out of sync": (line(0, leader="2", isr="1"), ":1: t-0: broker 2 leads it, but is not in its ISR: 1"),
    "a stranger in the ISR": (line(0, isr="1,7"), ":1: t-0: broker 7 is in its ISR, but its replicas are 1, 2"),
    "a replica twice": (line(0, replicas="1,1", isr="1"), ":1: Replicas names a broker twice"),
    "a broker that is no number": (
        line(0, leader="one"),
        ":1: Leader must be a whole number of at least 0, not 'one'",
    ),
    "a broker below zero": (
        line(0, replicas="1,-2", isr="1"),
        ":1: Replicas must be a whole number of at least 0, not '-2'",
    ),
    "no replicas": (line(0, replicas="", isr="", leader="none"), ":1: t-0 has no replicas"),
    "a line of no topic": ("\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n" + line(0), ":1: a line with"),
    "a topic without a name": (line(0, topic=""), ":1: a topic without a name"),
    "a strange configuration": (HEADER.replace("Configs: ", "Configs: min.insync.replicas=two"), "not 'two'"),
    "JSON that is cut": ('{"version":1,"partitions":[{"topic":"t",', ":1: this is not JSON"),
    "JSON of another tool": ('{"topics":[{"topic":"t"}],"version":1}', '{"partitions": [...]}'),
    "JSON that is nested too deep": ("[" * 100_000, "this JSON is nested too deep"),
    "JSON with too long a number": ('{"partitions":%s}' % ("1" * 5_000), "a number of more than 4,300 digits"),
    "a list": ("[1, 2]", '{"partitions": [...]}'),
    "another version": ('{"version":2,"partitions":[]}', "version must be 1, not 2"),
    "no partition": ('{"version":1,"partitions":[]}', "partitions is empty"),
    "a row without replicas beside others": (
        '{"partitions":[{"topic":"t","partition":1,"replicas":[1]},{"topic":"t","partition":0}]}',
        "partitions[1] has no replicas",
    ),
    "an election": ('{"partitions":[{"topic":"t","partition":0}]}', "names no replicas: --prefer"),
    "a row that is none": ('{"partitions":[7]}', "partitions[0] must be an object"),
    "a negative broker": (
        '{"partitions":[{"topic":"t","partition":0,"replicas":[1,-1]}]}',
        "partitions[0].replicas[1] must be a whole number of at least 0, not -1",
    ),
    "directories of other replicas": (
        '{"partitions":[{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["any"]}]}',
        "partitions[0].log_dirs must be a list with an entry for each",
    ),
    "a broker twice": ('{"partitions":[{"topic":"t","partition":0,"replicas":[1,1]}]}', "names a broker twice"),
    "a partition that is a word": ('{"partitions":[{"topic":"t","partition":"0","replicas":[1]}]}', "not '0'"),
}


@pytest.mark.parametrize("case", BAD)
def test_an_impossible_description_is_a_one_line_error(tmp_path: Path, case: str) -> None:
    text, says = BAD[case]
    with pytest.raises(UsageError) as refused:
        of(tmp_path, text)
    assert says in str(refused.value)
    assert str(refused.value).startswith(str(tmp_path / "cluster.txt"))
    assert "\n" not in str(refused.value)


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_cluster(str(tmp_path / "none.txt"))


def test_assumptions_are_reported_and_can_be_given(tmp_path: Path) -> None:
    described = of(tmp_path, line(0, replicas="1,2,3", isr="1,2") + line(1, leader="2", replicas="2,3", isr="2"))
    assumed = complete(described)
    assert assumed.live == {1, 2}
    assert assumed.min_isr == {"t": 1}
    assert len(assumed.assumed) == 6
    assert "the controller's epoch is 1, leader epochs are 0: steps and JSON count from there" in assumed.assumed
    given = complete(described, live={1, 2, 3, 4}, isr={T1: (3,)}, min_isr=2)
    assert given.live == {1, 2, 3, 4}
    assert (given.partitions[T1].leader, given.partitions[T1].isr) == (3, (3,))
    assert given.min_isr == {"t": 2}
    assert [each.split(" is ")[0] for each in given.assumed] == [
        f"{tmp_path}/cluster.txt",
        "the controller",
        "the controller's epoch",
    ]
    known = replace(described, controller=1, controller_epoch=6)
    assert complete(known).controller_epoch == 6
    assert "leader epochs are 0: steps and JSON count from there" in complete(known).assumed
    assert complete(known, live={2}).controller_epoch == 7, "broker 2 is yet to be elected"


def test_live_assigned_replicas_are_assumed_in_sync(tmp_path: Path) -> None:
    described = of(tmp_path, '{"partitions":[{"topic":"t","partition":0,"replicas":[3,1,2]}]}')
    status = complete(described, live={1, 2}).partitions[T0]
    assert (status.leader, status.isr) == (1, (1, 2))


@pytest.mark.parametrize(
    ("isr", "says"),
    [
        ({TopicPartition("u", 0): (1,)}, "--isr u-0: there is no such partition"),
        ({T0: (1, 9)}, "--isr t-0: 9 has no replica of it; 1, 2 have"),
    ],
)
def test_an_impossible_isr_is_refused(tmp_path: Path, isr: dict[TopicPartition, tuple[int, ...]], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        complete(of(tmp_path, line(0)), isr=isr)
