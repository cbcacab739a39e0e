"""A change of many partitions at once, against the slow way: one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from statemachines.controller.partition_state_machine import (
    CONTROLLED_SHUTDOWN,
    OFFLINE,
    PREFERRED,
    REASSIGN,
    UNCLEAN_OFFLINE,
    PartitionLeaderElectionStrategy,
)
from statemachines.controller.state_change import ChangeDone
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.tables.partition import NewPartition, OnlinePartition
from statemachines.tables.replica import OfflineReplica, OnlineReplica, ReplicaState
from tests.statemachines.control import EPOCH, Cluster

PARTITIONS = tuple(TopicPartition(topic, number) for topic in "tu" for number in range(3))
BROKERS = range(1, 6)


class Led(NamedTuple):
    """A partition's replicas, leader and ISR; without broker if it is new."""

    replicas: tuple[int, ...]
    leader: int
    isr: tuple[int, ...]
    controller_epoch: int


class ClusterSetup(NamedTuple):
    """The state before a change."""

    live: tuple[int, ...]
    leaving: tuple[int, ...]
    failed: Mapping[int, frozenset[TopicPartition]]
    partitions: tuple[Led, ...]
    unclean: Mapping[str, bool]
    to_be_deleted: frozenset[str]

    def cluster(self) -> Cluster:
        """A cluster in this state."""
        cluster = Cluster(self.live)
        for partition, led in zip(PARTITIONS, self.partitions, strict=True):
            if led.isr:
                cluster.lead(partition, led.leader, led.isr, 3, led.controller_epoch, led.replicas)
            else:
                cluster.assign(partition, *led.replicas)
                cluster.context.put_partition_state(partition, NewPartition)
        for broker, failed in self.failed.items():
            cluster.context.state.replicas_on_offline_dirs[broker] = failed
        for topic, unclean in self.unclean.items():
            cluster.configure(topic, unclean)
        cluster.shut_down(*self.leaving)
        cluster.context.queue_topic_deletion(self.to_be_deleted)
        return cluster


@st.composite
def partitions(draw: st.DrawFn) -> Led:
    """A partition in any state."""
    replicas = tuple(draw(st.lists(st.sampled_from(BROKERS), unique=True, min_size=1, max_size=4)))
    isr = tuple(draw(st.lists(st.sampled_from(replicas), unique=True)))
    leader = draw(st.sampled_from((*isr, -1)))
    return Led(replicas, leader, isr, draw(st.sampled_from((EPOCH - 1, EPOCH, EPOCH, EPOCH + 1))))


BROKER_SETS = st.lists(st.sampled_from(BROKERS), unique=True).map(tuple)
SETUPS = st.builds(
    ClusterSetup,
    live=BROKER_SETS,
    leaving=BROKER_SETS,
    failed=st.dictionaries(st.sampled_from(BROKERS), st.frozensets(st.sampled_from(PARTITIONS)), max_size=2),
    partitions=st.tuples(*[partitions()] * len(PARTITIONS)),
    unclean=st.dictionaries(st.sampled_from("tu"), st.booleans()),
    to_be_deleted=st.frozensets(st.sampled_from("tu"), max_size=1),
)


def seen(cluster: Cluster) -> dict[str, Any]:
    """The results of a change, without the order of requests and log entries."""
    metadata = {
        (broker, state.partition): state
        for broker, request in cluster.sent
        if hasattr(request, "liveBrokers")
        for state in request.partitionStates
    }
    return {
        "context": cluster.context.state,
        "znodes": {path: (node.data, node.version) for path, node in cluster.zookeeper.state.nodes.items()},
        "leader and isr": cluster.leader_and_isr(),
        "metadata": metadata,
        "stopped": cluster.stopped(),
        "log": sorted(map(str, cluster.log)),
    }


@settings(max_examples=150, deadline=None)
@given(
    setup=SETUPS,
    strategy=st.sampled_from([OFFLINE, UNCLEAN_OFFLINE, REASSIGN, PREFERRED, CONTROLLED_SHUTDOWN]),
    order=st.permutations(PARTITIONS),
)
def test_elections_do_not_depend_on_each_other(
    setup: ClusterSetup, strategy: PartitionLeaderElectionStrategy, order: list[TopicPartition]
) -> None:
    """All at once or one by one, in any order."""
    at_once, one_by_one = setup.cluster(), setup.cluster()
    results = at_once.become(OnlinePartition, *PARTITIONS, strategy=strategy).results
    single = [one_by_one.become(OnlinePartition, partition, strategy=strategy).results for partition in order]
    assert dict(results) == dict(result for each in single for result in each)
    assert seen(at_once) == seen(one_by_one)
    for partition, led in zip(PARTITIONS, setup.partitions, strict=True):
        written = at_once.context.leadership_of(partition)
        if led.isr and written is not None:
            assert written.leader_and_isr.leader_epoch in (3, 4)


@settings(max_examples=150, deadline=None)
@given(setup=SETUPS, broker=st.sampled_from(BROKERS), target=st.sampled_from([OfflineReplica, OnlineReplica]))
def test_the_replicas_of_a_broker_do_not_depend_on_each_other(
    setup: ClusterSetup, broker: int, target: ReplicaState
) -> None:
    """All at once or one by one; and an ISR always has a member, and none that has left it."""
    at_once, one_by_one = setup.cluster(), setup.cluster()
    replicas = at_once.context.replicas_on_brokers([broker])
    assert at_once.replicas_become(target, *replicas) == ChangeDone()
    for replica in replicas:
        one_by_one.replicas_become(target, replica)
    assert seen(at_once) == seen(one_by_one)
    for partition, led in zip(PARTITIONS, setup.partitions, strict=True):
        if led.isr:
            state = at_once.state(partition)
            assert state.isr
            offline = at_once.replica_state(*PartitionAndReplica(partition, broker)) is OfflineReplica
            assert not offline or broker not in state.isr or state.isr == (broker,)
