"""A controller's JMX gauges, in a cluster in memory."""

from __future__ import annotations

import pytest

from statemachines import Cluster
from statemachines.cluster_steps import TakeRequest
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.metrics import context_of
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.releases import RELEASES
from tests.rows import rows

GAUGE = "kafka.controller:type=KafkaController,name="
CHANNELS = "kafka.controller:type=ControllerChannelManager,name="
STATS = "kafka.controller:type=ControllerStats,name="


def with_topic(release: str = "3.9") -> Cluster:
    """Two brokers at rest, broker 1 controller, and a topic that prefers broker 2."""
    cluster = Cluster((1, 2), release)
    cluster.create_topic("t", {0: (2, 1)})
    cluster.settle()
    return cluster


@rows("release", RELEASES)
def test_a_broker_failure_changes_the_gauges(release: str) -> None:
    """The partition lacks its preferred leader, and brokers have changed once, in every release."""
    cluster = with_topic(release)
    before = cluster.metrics(1)
    cluster.crash(2)
    cluster.settle()
    after = cluster.metrics(1)
    for name, (then, now) in {
        GAUGE + "ActiveControllerCount": (1, 1),
        GAUGE + "OfflinePartitionsCount": (0, 0),
        GAUGE + "PreferredReplicaImbalanceCount": (0, 1),
        STATS + "UncleanLeaderElectionsPerSec": (0, 0),
    }.items():
        assert (before[name], after[name]) == (then, now), name
    timer = STATS + "LeaderElectionRateAndTimeMs"
    assert after[timer] == before[timer] + 1


def test_a_partition_without_leader_is_offline() -> None:
    cluster = with_topic()
    cluster.create_topic("u", {0: (2,)})
    cluster.settle()
    cluster.crash(2)
    cluster.settle()
    assert cluster.metrics(1)[GAUGE + "OfflinePartitionsCount"] == 1


def test_only_a_live_controller_has_gauges() -> None:
    cluster = with_topic()
    assert not any(cluster.metrics(2).values())
    cluster.crash(2)
    with pytest.raises(ValueError, match="broker 2 does not run"):
        cluster.metrics(2)


UNCLEAN = STATS + "UncleanLeaderElectionsPerSec"


def elected_uncleanly(release: str) -> Cluster:
    """Broker 1 is controller, and broker 3 leads, which was not in sync."""
    cluster = Cluster((1, 2, 3), release, unclean=True)
    cluster.create_topic("t", {0: (2, 3)})
    cluster.settle()
    for broker in (3, 2):
        cluster.crash(broker)
        cluster.settle()
    cluster.restart(3)
    cluster.settle()
    assert cluster.partition("t", 0).leader == 3
    return cluster


def test_an_unclean_election_counts_until_the_process_ends() -> None:
    cluster = elected_uncleanly("3.9")
    assert cluster.metrics(1)[UNCLEAN] == 1
    cluster.crash(1)
    cluster.restart(1)
    assert cluster.metrics(1)[UNCLEAN] == 0


@rows("release, counted", [("1.0.2", 1), ("1.1.0", 0), ("1.1.1", 1), ("2.0.0", 1)])
def test_an_unclean_election_is_not_counted_in_1_1_0(release: str, counted: int) -> None:
    """KAFKA-6752."""
    assert elected_uncleanly(release).metrics(1)[UNCLEAN] == counted


OFFLINE, IMBALANCE = GAUGE + "OfflinePartitionsCount", GAUGE + "PreferredReplicaImbalanceCount"


@rows(
    "release, waiting, taken_over",
    [
        ("0.10.1.0", (1, 1), (1, 1)),
        ("0.10.1.1", (1, 1), (1, 1)),
        ("0.10.2.0", (0, 0), (0, 0)),
        ("0.11.0.0", (0, 0), (0, 0)),
        ("2.0", (0, 0), (0, 0)),
        ("2.1.0", (0, 0), (1, 0)),
        ("2.6", (0, 0), (1, 0)),
        ("2.7.0", (0, 0), (1, 0)),
        ("3.2.0", (0, 0), (1, 0)),
        ("3.9", (0, 0), (1, 0)),
    ],
)
def test_a_deletion_that_waits_for_a_dead_leader(
    release: str, waiting: tuple[int, int], taken_over: tuple[int, int]
) -> None:
    """The gauges of offline and imbalanced partitions, before and after a failover. KAFKA-4441."""
    cluster = Cluster((1, 2, 3), release, delete_topic_enable=True)
    cluster.create_topic("t", {0: (3,)})
    cluster.settle()
    cluster.crash(3)
    cluster.settle()
    assert (cluster.metrics(1)[OFFLINE], cluster.metrics(1)[IMBALANCE]) == (1, 1)
    cluster.delete_topic("t")
    cluster.settle()
    assert (cluster.metrics(1)[OFFLINE], cluster.metrics(1)[IMBALANCE]) == waiting
    cluster.crash(1)
    cluster.settle()
    assert (cluster.metrics(2)[OFFLINE], cluster.metrics(2)[IMBALANCE]) == taken_over


@rows("release, is_read", [("0.10.1", False), ("0.10.2", False), ("0.11.0.0", True), ("3.9", True)])
def test_the_imbalance_cannot_be_read_in_0_10_while_a_partition_has_never_led(release: str, is_read: bool) -> None:
    """The other gauges can."""
    cluster = Cluster((1, 2), release)
    cluster.crash(2)
    cluster.settle()
    cluster.create_topic("t", {0: (2,)})
    cluster.settle()
    assert (IMBALANCE in cluster.metrics(1)) is is_read
    assert OFFLINE in cluster.metrics(1)
    cluster.restart(2)
    cluster.settle()
    assert cluster.metrics(1)[IMBALANCE] == 0


def test_queue_gauges_count_waiting_and_taken_requests() -> None:
    """The counts of a broker end with its channel."""
    cluster = with_topic()
    size, taken = (CHANNELS + name + ",broker-id=2" for name in ("QueueSize", "RequestRateAndQueueTimeMs"))
    before = cluster.metrics(1)
    cluster.create_topic("u", {0: (2, 1)})
    while not (waiting := [step for step in cluster.steps() if isinstance(step, TakeRequest) and step.broker == 2]):
        cluster.step(cluster.steps()[0])
    now = cluster.metrics(1)
    assert now[size] > before[size] == 0
    assert now[CHANNELS + "TotalQueueSize"] >= now[size]
    cluster.step(waiting[0])
    after = cluster.metrics(1)
    assert (after[size], after[taken]) == (now[size] - 1, before[taken] + 1)
    cluster.crash(2)
    cluster.settle()
    assert not {size, taken} & cluster.metrics(1).keys()


@rows(
    "release, first",
    [
        ("1.0", "GlobalPartitionCount"),
        ("2.4", "TopicsIneligibleToDeleteCount"),
        ("3.1", "FencedBrokerCount"),
    ],
)
def test_a_gauge_is_there_since_its_release(release: str, first: str) -> None:
    before = RELEASES[RELEASES.index(release) - 1]
    assert GAUGE + first in Cluster((1,), release).metrics(1)
    assert GAUGE + first not in Cluster((1,), before).metrics(1)


def test_a_partition_without_replicas_does_not_fail() -> None:
    """Kafka would throw here; a context that counts imbalanced partitions continues."""
    context = context_of(ControlDesign("3.9"), "3.9")
    partition = TopicPartition("t", 0)
    led = LeaderIsrAndControllerEpoch(LeaderAndIsr(2, 0, (2,)), 1)
    context.update_partition_full_replica_assignment(partition, ReplicaAssignment((1, 2)))
    context.put_partition_leadership_info(partition, led)
    assert context.preferred_replica_imbalance_count() == 1
    context.update_partition_full_replica_assignment(partition, ReplicaAssignment(()))
    assert context.preferred_replica_imbalance_count() == 0
    context.queue_topic_deletion({"t"})
    context.remove_topic("t")
    assert context.preferred_replica_imbalance_count() == 0
