"""Invariants of a controller after each of a sequence of events, in any order, and at the end.

A sequence is a list of commands, each of which means something in any state; leaders may write between any two
batches of an event. At the end everything is repaired, and no work may be left undone. The tests use four brokers,
where any two interact, and ten brokers with fifty partitions.

Sequences leave out events that go wrong in Kafka too: deleting a topic during its reassignment, a leader's write
while its partition's reassignment ends, and a reassignment that replaces another when only leaving replicas are in
sync (`topic_deletion.txt` and `reassignments.txt` of `tests/transcripts`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from statemachines.controller.control_design import ControlDesign
from statemachines.controller.design import registration
from statemachines.controller.partition_state_machine import PartitionStateMachine
from statemachines.controller.replica_state_machine import ReplicaStateMachine, ReplicaStep
from statemachines.controller.zk_state_machine import StateChange
from statemachines.messages.leader_and_isr import NO_LEADER
from statemachines.messages.topic_partition import PartitionAndReplica, TopicName, TopicPartition
from statemachines.messages.zk_data import topic_partition_state_path, topic_path
from statemachines.tables.partition import OfflinePartition, OnlinePartition
from statemachines.tables.replica import (
    NonExistentReplica,
    OfflineReplica,
    OnlineReplica,
    ReplicaDeletionIneligible,
    ReplicaState,
)
from statemachines.zookeeper.tree import Code
from tests.statemachines.test_control_mutants import ElectsInTheSameEpoch, RemovesInTheSameEpoch
from tests.statemachines.turbulence import COMMANDS, LARGE, SMALL, Command, Extent, Turbulence

Rule = Callable[[Turbulence], None]

# Invariants after each event, whatever leaders have written meanwhile.


def leader_in_isr(cluster: Turbulence) -> None:
    """P1: the leader is in the ISR, if there is one."""
    for life in cluster.each_life():
        for state in (each.state for each in life):
            assert state.leader in (NO_LEADER, *state.isr)


def isr_not_empty(cluster: Turbulence) -> None:
    """P2: no ISR is empty."""
    for life in cluster.each_life():
        assert all(each.state.isr for each in life)


def leader_epoch_monotone(cluster: Turbulence) -> None:
    """P4: a controller's write increments the leader epoch; a leader's write keeps the epoch and the leader."""
    for life in cluster.each_life():
        assert (life[0].state.leader_epoch, life[0].by_leader) == (0, False)
        for (old, _, _), (new, _, by_leader) in pairwise(life):
            assert new.leader_epoch - old.leader_epoch == (0 if by_leader else 1)
            assert new.leader == old.leader or not by_leader


def one_leader_per_epoch(cluster: Turbulence) -> None:
    """P5: in a leader epoch at most one broker leads."""
    for life in cluster.each_life():
        leaders: dict[int, int] = {}
        for state in (each.state for each in life if each.state.leader != NO_LEADER):
            assert leaders.setdefault(state.leader_epoch, state.leader) == state.leader


def clean_election(cluster: Turbulence) -> None:
    """P11: a new leader was in the ISR, as unclean elections are not permitted."""
    for life in cluster.each_life():
        for (old, _, _), (new, _, _) in pairwise(life):
            assert new.leader in (NO_LEADER, old.leader, *old.isr)


def live_brokers_known(cluster: Turbulence) -> None:
    """C10: the controller knows the registered brokers and their epochs."""
    registered = {broker: cluster.zookeeper.get(None, registration(broker))[1].czxid for broker in cluster.sessions}
    assert cluster.context.state.live_broker_epochs == registered


def cache_not_ahead(cluster: Turbulence) -> None:
    """C9: the controller's cache has no leader epoch that is not in ZooKeeper."""
    for partition, known in cluster.context.state.partition_leadership_info.items():
        if cluster.exists(topic_partition_state_path(partition)):
            assert known.leader_and_isr.leader_epoch <= cluster.state(partition).leader_epoch


def online_has_live_leader(cluster: Turbulence) -> None:
    """P9: the leader of an online partition is alive, perhaps shutting down.

    Exception: until 2.6 a leader that shrinks its ISR while a reassignment ends loses the partition (K3).
    """
    if cluster.meddled and not cluster.batch.design.alter_partition:
        return
    for partition in cluster.context.partitions_in_states({OnlinePartition}):
        if not cluster.context.is_topic_queued_up_for_deletion(partition.topic):
            leader = cluster.known(partition).leader
            assert cluster.context.is_replica_online(leader, partition, include_shutting_down_brokers=True)


def written_before_sent(cluster: Turbulence) -> None:
    """H6: brokers receive only states that are or were in ZooKeeper."""
    assert not cluster.unwritten


def batch_empty(cluster: Turbulence) -> None:
    """H3: the batch is empty, so that the next change can begin."""
    for batch in (cluster.batch, cluster.partitions.batch, cluster.replicas.batch):
        batch.new_batch()


def replicas_in(cluster: Turbulence, *states: ReplicaState) -> Iterable[PartitionAndReplica]:
    """The replicas in these states, except those of topics in deletion."""
    for replica, state in cluster.context.state.replica_states.items():
        if state in states and not cluster.context.is_topic_queued_up_for_deletion(replica.topic_partition.topic):
            yield replica


def online_replica_is_live(cluster: Turbulence) -> None:
    """P14: the broker of an online replica is alive, unless it was down when the partition was created."""
    for replica in replicas_in(cluster, OnlineReplica):
        assert replica.replica in cluster.sessions or replica in cluster.online_on_dead, replica


def offline_replica_is_dead(cluster: Turbulence) -> None:
    """P14: the broker of an offline replica is dead, is shutting down, or has lost its disk."""
    for partition, broker in replicas_in(cluster, OfflineReplica, ReplicaDeletionIneligible):
        assert not cluster.context.is_replica_online(broker, partition)


def rsm_domain(cluster: Turbulence) -> None:
    """P15: exactly the assigned replicas have states.

    Exception: a late reply about a replica that has moved away leaves it there, as non-existent
    [ReplicaStateMachine.doHandleStateChanges, 3.9.1 162].
    """
    assigned = {*cluster.context.replicas_for_partition(cluster.context.all_partitions())}
    states = cluster.context.state.replica_states
    assert assigned <= {*states}
    assert all(states[each] is NonExistentReplica for each in {*states} - assigned)


ALWAYS: Sequence[Rule] = (
    written_before_sent,
    leader_in_isr,
    isr_not_empty,
    leader_epoch_monotone,
    one_leader_per_epoch,
    clean_election,
    live_brokers_known,
    cache_not_ahead,
    online_has_live_leader,
    batch_empty,
    online_replica_is_live,
    offline_replica_is_dead,
    rsm_domain,
)

# Invariants as long as the controller has been notified of all writes.


def known_partitions(cluster: Turbulence) -> Iterable[TopicPartition]:
    """Partitions whose states the controller has read, and whose topic is not in deletion."""
    for partition in cluster.context.state.partition_leadership_info:
        deleting = cluster.context.is_topic_deletion_in_progress(partition.topic)
        if not deleting and cluster.exists(topic_partition_state_path(partition)):
            yield partition


def cache_fresh(cluster: Turbulence) -> None:
    """C8: the cached states equal ZooKeeper's, leader epochs included if the design remembers them (B30)."""
    for partition in known_partitions(cluster):
        state, known = cluster.state(partition), cluster.known(partition)
        assert (known.leader, known.isr) == (state.leader, state.isr)
        assert known.leader_epoch == state.leader_epoch or not cluster.batch.design.remember_epoch


def isr_within_assigned(cluster: Turbulence) -> None:
    """P3: the members of the ISR are assigned replicas."""
    for partition in known_partitions(cluster):
        assert {*cluster.state(partition).isr} <= {*cluster.context.partition_replica_assignment(partition)}


def dead_not_in_isr(cluster: Turbulence) -> None:
    """P13: the members of an ISR with several members are alive."""
    for partition in known_partitions(cluster):
        isr = {*cluster.state(partition).isr}
        if len(isr) > 1 and not cluster.context.is_topic_queued_up_for_deletion(partition.topic):
            assert isr <= cluster.sessions.keys()


def offline_only_if_stuck(cluster: Turbulence) -> None:
    """P10: no live broker could lead an offline partition."""
    for partition in cluster.context.partitions_in_states({OfflinePartition}):
        if not cluster.context.is_topic_queued_up_for_deletion(partition.topic):
            members = cluster.state(partition).isr
            assert not any(cluster.context.is_replica_online(each, partition) for each in members)


UNMEDDLED: Sequence[Rule] = (cache_fresh, isr_within_assigned, dead_not_in_isr, offline_only_if_stuck)

# Invariants after the repair.


def no_work_is_left(cluster: Turbulence) -> None:
    """Every partition has a leader and all replicas in sync; reassignments have ended; deleted topics are gone."""
    state = cluster.context.state
    assert state.topics_to_be_deleted == frozenset()
    assert state.partitions_being_reassigned == frozenset()
    for partition in cluster.context.all_partitions():
        assert cluster.context.partition_state(partition) is OnlinePartition, partition
        assert cluster.state(partition).leader in cluster.sessions
        assert {*cluster.state(partition).isr} == {*cluster.context.partition_replica_assignment(partition)}
    assert {f"{topic}" for topic in cluster.topics()} == set(state.all_topics)
    for topic in cluster.topics():
        written = cluster.data(topic_path(topic)).decode(topic)
        assert written == {each: state.partition_assignments[each] for each in written}


def run(cluster: Turbulence, sequence: Iterable[Command]) -> None:
    """Run the commands with the invariants after each; then repair, and check the end."""
    for command in sequence:
        command.happen(cluster)
        for rule in ALWAYS if cluster.meddled else (*ALWAYS, *UNMEDDLED):
            rule(cluster)
    cluster.mend()
    for rule in (*ALWAYS, no_work_is_left):
        rule(cluster)


def commands(extent: Extent = SMALL) -> st.SearchStrategy[Command]:
    """The possible commands."""
    partitions = sum(map(len, extent.topics.values()))
    meddling = st.tuples(st.integers(0, 8), st.integers(0, partitions))
    return st.builds(
        Command,
        st.sampled_from(sorted(COMMANDS)),
        st.integers(0, extent.numbers - 1),
        st.lists(meddling, max_size=1).map(tuple),
    )


@settings(max_examples=150, deadline=None)
@given(st.lists(commands(), min_size=1, max_size=20))
@example([Command("create", 1), Command("move", 8), Command("succeed", 0), Command("bounce", 0)])
def test_invariants_hold_in_random_sequences(sequence: list[Command]) -> None:
    """After each event; and at the end no work is left."""
    run(Turbulence(), sequence)


@settings(max_examples=4, deadline=None)
@given(st.lists(commands(LARGE), min_size=8, max_size=16))
def test_invariants_hold_with_ten_brokers_and_fifty_partitions(sequence: list[Command]) -> None:
    """There one event changes more than a small cluster has."""
    run(Turbulence(extent=LARGE), sequence)


@pytest.mark.long
@pytest.mark.parametrize("release", ["2.3", "2.6", "3.9"])
def test_invariants_hold_in_long_sequences(release: str) -> None:
    """Sequences of up to sixty events."""

    @settings(max_examples=30, deadline=None)
    @given(st.lists(commands(LARGE), min_size=20, max_size=60))
    def test(sequence: list[Command]) -> None:
        run(Turbulence(ControlDesign(release), LARGE), sequence)

    test()


@pytest.mark.parametrize("release", ["2.3", "2.6", "3.0"])
def test_invariants_hold_in_older_releases(release: str) -> None:
    """Those that notice a restarted broker."""

    @example([Command("move", 107), Command("expand", 32, ((5, 2),))])
    @settings(max_examples=30, deadline=None)
    @given(st.lists(commands(), max_size=15))
    def test(sequence: list[Command]) -> None:
        run(Turbulence(ControlDesign(release)), sequence)

    test()


@pytest.mark.parametrize("release", ["1.1", "2.1"])
def test_isrs_have_members_in_older_releases_too(release: str) -> None:
    """These releases guarantee little else."""

    @settings(max_examples=30, deadline=None)
    @given(st.lists(commands().filter(lambda command: command.name != "bounce"), max_size=12))
    def test(sequence: list[Command]) -> None:
        cluster = Turbulence(ControlDesign(release))
        for command in sequence:
            command.happen(cluster)
            isr_not_empty(cluster)

    test()


# Each mutant is detected by its rule.


class PermitsUnclean(PartitionStateMachine):
    """It elects from outside the ISR, whatever is configured."""

    def unclean_of(self, change: StateChange, responses: Any) -> dict[TopicName, bool | Code]:
        return dict.fromkeys(super().unclean_of(change, responses), True)


class LeavesReplicasOnline(ReplicaStateMachine):
    """A replica whose broker is gone stays online."""

    def _has_become(self, replica: PartitionAndReplica, target: ReplicaState) -> None:
        """It leaves the ISR, and nothing else changes."""


class LeavesOffline(ReplicaStateMachine):
    """A replica whose broker is back stays offline."""

    def _may_become(self, replica: PartitionAndReplica, target: ReplicaState) -> bool:
        back = target is OnlineReplica and self.context.replica_state(replica) is OfflineReplica
        return not back and super()._may_become(replica, target)


class ForgetsTheOffline(ReplicaStateMachine):
    """The context has no state for an offline replica."""

    def _has_become(self, replica: PartitionAndReplica, target: ReplicaState) -> None:
        self.context.remove_replica_state(replica)


class TakesTwelveOffline(ReplicaStateMachine):
    """It takes at most twelve replicas offline at once, which is enough for a small cluster."""

    def handle_state_changes(self, replicas: Iterable[PartitionAndReplica], target: ReplicaState) -> ReplicaStep:
        replicas = tuple(replicas)
        return super().handle_state_changes(replicas[:12] if target is OfflineReplica else replicas, target)


KILL, REVIVE = Command("kill"), Command("revive")
MUTANTS: list[tuple[type[Any], Extent, list[Command], Rule]] = [
    (ElectsInTheSameEpoch, SMALL, [KILL], leader_epoch_monotone),
    (RemovesInTheSameEpoch, SMALL, [Command("kill", 1)], leader_epoch_monotone),
    (PermitsUnclean, SMALL, [Command("kill", 3), Command("kill", 2), Command("revive", 3)], clean_election),
    (LeavesReplicasOnline, SMALL, [KILL], online_replica_is_live),
    (LeavesOffline, SMALL, [KILL, REVIVE], offline_replica_is_dead),
    (ForgetsTheOffline, SMALL, [KILL], rsm_domain),
    (TakesTwelveOffline, LARGE, [KILL], online_replica_is_live),
]


@pytest.mark.parametrize(
    ("kind", "extent", "sequence", "rule"),
    MUTANTS,
    ids=[f"{kind.__name__}-{rule.__name__}" for kind, _, _, rule in MUTANTS],
)
def test_a_mutant_breaks_its_rule(kind: type[Any], extent: Extent, sequence: list[Command], rule: Rule) -> None:
    """Other rules may break on the way. The original class keeps the rule."""
    kinds: dict[str, Any] = {"partitions" if issubclass(kind, PartitionStateMachine) else "replicas": kind}
    sound, broken = Turbulence(extent=extent), Turbulence(extent=extent, **kinds)
    for cluster in (sound, broken):
        for command in sequence:
            command.happen(cluster)
    rule(sound)
    with pytest.raises(AssertionError):
        rule(broken)


def test_some_mutants_need_a_large_cluster() -> None:
    """A small one has at most twelve replicas on a broker."""
    run(Turbulence(replicas=TakesTwelveOffline), [KILL, Command("kill", 1), Command("succeed"), REVIVE])
