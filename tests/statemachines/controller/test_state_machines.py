"""The state machines of partitions and replicas by themselves: transitions, values, and refused changes.

The transcripts show what they read, write and send.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import pytest

from spec.kafka.state_machines_beside import MachineDriver
from statemachines.controller.calls import Await, Calls, EventWaiting, then
from statemachines.controller.context import ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.controller.partition_state_machine import (
    OFFLINE,
    UNCLEAN_OFFLINE,
    PartitionLeaderElectionStrategy,
    PartitionStateMachine,
)
from statemachines.controller.replica_state_machine import ReplicaStateMachine
from statemachines.controller.request_batch import ControllerBrokerRequestBatch, RequestsNotSent
from statemachines.controller.state_change import ChangeDone, EventDone, FailedStateChange, StateChangeFailure
from statemachines.controller.zk_requests import StateRequests, retry_requests_until_connected
from statemachines.messages.control_requests import LeaderAndIsrRequest
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.messages.zk_data import TopicPartitionState, topic_partition_state_path
from statemachines.tables.partition import (
    PARTITION,
    NewPartition,
    NonExistentPartition,
    OfflinePartition,
    OnlinePartition,
    PartitionState,
)
from statemachines.tables.replica import REPLICA, OfflineReplica, OnlineReplica, ReplicaState
from statemachines.zookeeper.server import ZooKeeper
from tests.rows import rows

T0, T1 = (TopicPartition("t", number) for number in range(2))


def on(partition: TopicPartition, broker: int) -> PartitionAndReplica:
    return PartitionAndReplica(partition, broker)


class Machines:
    """Broker 1 leads two partitions with replicas on brokers 1 and 2."""

    def __init__(
        self, release: str = "3.9", send: Callable[[int, Any], object] = lambda broker, request: None
    ) -> None:
        self.zookeeper = ZooKeeper()
        self.zookeeper.create(None, CONTROLLER_EPOCH)
        self.context = ControllerContext()
        self.context.add_live_brokers({1: 101, 2: 102})
        self.log: list[FailedStateChange] = []
        self.results: Any = None
        design = ControlDesign(release)
        self.batch = ControllerBrokerRequestBatch(9, self.context, send, design=design)
        self.partitions = PartitionStateMachine(self.context, self.batch, design, self.log.append)
        self.replicas = ReplicaStateMachine(self.context, self.batch, design, self.log.append)
        self.driver = MachineDriver(self.partitions, self.replicas, self.batch)
        led = LeaderAndIsr(1, 0, (1, 2))
        for partition in (T0, T1):
            path = ""
            for part in topic_partition_state_path(partition).split("/")[1:]:
                path = f"{path}/{part}"
                if path not in self.zookeeper.state.nodes:
                    self.zookeeper.create(None, path)
            self.zookeeper.set(None, path, TopicPartitionState(led, 0))
            self.context.update_partition_full_replica_assignment(partition, ReplicaAssignment((1, 2)))
            known = LeaderIsrAndControllerEpoch(led._replace(partition_epoch=1), 0)
            self.context.put_partition_leadership_info(partition, known)
            self.context.put_partition_state(partition, OnlinePartition)
            for broker in (1, 2):
                self.context.put_replica_state(on(partition, broker), OnlineReplica)

    def begin(self, calls: Calls) -> EventWaiting | EventDone:
        """Begin a change."""
        step = self.driver.go_on(EventWaiting(calls=(*calls, then(self.driver.reply))))
        self.results = step.answer
        return step

    def finish(self, calls: Calls, before: Mapping[int, Callable[[], object]] | None = None) -> int:
        """Carry out a change, stored before each batch; how many batches it had."""
        batches, step = 0, self.begin(calls)
        while isinstance(step, EventWaiting):
            (before or {}).get(batches, lambda: None)()
            stored = pickle.loads(pickle.dumps(step))
            assert (stored, hash(stored)) == (step, hash(step))
            other = MachineDriver(
                PartitionStateMachine(self.context, self.batch, self.batch.design, self.log.append),
                ReplicaStateMachine(self.context, self.batch, self.batch.design, self.log.append),
                self.batch,
            )
            responses = retry_requests_until_connected(self.zookeeper, None, other.requests(stored.awaits))
            step = other.answered(stored, responses)
            batches += 1
        self.results = step.answer
        return batches


@rows("state, target", product(PartitionState, PartitionState))
def test_every_change_of_a_partition_is_that_of_the_table(state: PartitionState, target: PartitionState) -> None:
    """A row takes effect; another pair is logged and changes nothing, and other partitions continue."""
    machines = Machines()
    machines.context.put_partition_state(T0, state)
    change = machines.begin(machines.partitions.handle_state_changes([T0, T1], target, OFFLINE))
    failed = FailedStateChange(T0, state, target, StateChangeFailure.InvalidTransition)
    assert (failed not in machines.log) is PARTITION.allows(state, target)
    if isinstance(change, EventDone):
        assert machines.context.partition_state(T0) is (target if PARTITION.allows(state, target) else state)


@rows("release, state, target", product(["2.2", "3.9"], ReplicaState, ReplicaState))
def test_every_change_of_a_replica_is_that_of_the_table(
    release: str, state: ReplicaState, target: ReplicaState
) -> None:
    """A row of the release takes effect."""
    machines = Machines(release)
    machines.context.put_replica_state(on(T0, 2), state)
    change = machines.begin(machines.replicas.handle_state_changes([on(T0, 2), on(T1, 2)], target))
    allowed = REPLICA.at(release).allows(state, target)
    failed = FailedStateChange(on(T0, 2), state, target, StateChangeFailure.InvalidTransition)
    assert (failed not in machines.log) is allowed
    if isinstance(change, EventDone):
        assert machines.context.replica_state(on(T0, 2)) is (target if allowed else state)


def test_a_change_is_a_value() -> None:
    """It can be hashed, compared, stored, and continued by another machine over the same context."""
    machines = Machines()
    machines.context.remove_live_brokers([1])
    machines.context.put_partition_state(T0, OfflinePartition)
    election = machines.partitions.handle_state_changes([T0], OnlinePartition, OFFLINE)
    assert machines.finish(election) == 2
    assert machines.context.partition_state(T0) is OnlinePartition
    removal = machines.replicas.handle_state_changes([on(T0, 1), on(T1, 2)], OfflineReplica)
    assert machines.finish(removal) == 3
    assert machines.context.replica_state(on(T1, 2)) is OfflineReplica


@rows("release, version, sent", [("1.0", -1, [1]), ("1.1", 1, [])])
def test_until_1_0_an_isr_is_sent_that_was_not_written(release: str, version: int, sent: list[int]) -> None:
    """The state's node is gone before the ISR is set, and at the next read: the others receive that ISR anyway."""
    to: list[int] = []
    machines = Machines(
        release, lambda broker, request: to.append(broker) if isinstance(request, LeaderAndIsrRequest) else None
    )
    machines.context.remove_live_brokers([2])
    change = machines.replicas.handle_state_changes([on(T0, 2)], OfflineReplica)
    gone = {1: lambda: machines.zookeeper.delete(None, topic_partition_state_path(T0))}
    machines.finish(change, gone)
    known = machines.context.leadership_of(T0)
    assert known is not None
    assert (known.leader_and_isr.partition_epoch, to) == (version, sent)


def test_a_failure_that_repeats_is_recorded_once() -> None:
    """So the results cannot outgrow the partitions. Until 2.3 a conflict repeats all elections."""
    machines = Machines("2.3")
    machines.context.remove_live_brokers([1])
    for partition in (T0, T1):
        machines.context.put_partition_state(partition, OfflinePartition)

    def leader_writes(partition: TopicPartition, isr: tuple[int, ...]) -> None:
        state = TopicPartitionState(LeaderAndIsr(1, 0, isr), 0)
        machines.zookeeper.set(None, topic_partition_state_path(partition), state)

    leader_writes(T0, (1,))
    change = machines.partitions.handle_state_changes([T0, T1], OnlinePartition, OFFLINE)
    conflicts = {batch: lambda: leader_writes(T1, (1, 2)) for batch in (2, 5)}
    assert machines.finish(change, conflicts) == 9
    assert [failed.cause for failed in machines.log] == [StateChangeFailure.NoLeaderElected] * 3
    assert machines.results[0] == (T0, StateChangeFailure.NoLeaderElected)
    assert [partition for partition, _ in machines.results] == [T0, T1]


def test_an_unclean_election_need_not_be_counted() -> None:
    """A machine by itself has no meter for it."""
    machines = Machines()
    machines.context.set_live_brokers({3: 103})
    machines.context.update_partition_full_replica_assignment(T0, ReplicaAssignment((1, 2, 3)))
    machines.context.put_partition_state(T0, OfflinePartition)
    election = machines.partitions.handle_state_changes([T0], OnlinePartition, UNCLEAN_OFFLINE)
    machines.finish(election)
    assert machines.context.partition_state(T0) is OnlinePartition


def test_requests_that_cannot_be_sent_fail_the_whole_change() -> None:
    """Though the states are written, and have changed; and the next change finds that the batch is not empty."""

    def send(broker: int, request: object) -> None:
        raise RequestsNotSent("no channel")

    machines = Machines(send=send)
    machines.context.remove_live_brokers([1])
    machines.context.put_partition_state(T0, OfflinePartition)
    machines.finish(machines.partitions.handle_state_changes([T0], OnlinePartition, OFFLINE))
    assert machines.results == ((T0, StateChangeFailure.RequestsNotSent),)
    assert machines.context.partition_state(T0) is OnlinePartition
    refused = machines.partitions.handle_state_changes([T0, T1], NewPartition)
    assert refused == (ChangeDone(((T0, StateChangeFailure.BatchNotEmpty), (T1, StateChangeFailure.BatchNotEmpty))),)
    assert machines.replicas.handle_state_changes([on(T0, 2)], OnlineReplica) == (ChangeDone(),)
    assert machines.log == [
        FailedStateChange(None, None, OnlinePartition, StateChangeFailure.RequestsNotSent),
        FailedStateChange(None, None, NewPartition, StateChangeFailure.BatchNotEmpty),
        FailedStateChange(None, None, OnlineReplica, StateChangeFailure.BatchNotEmpty),
    ]
    assert machines.partitions.handle_state_changes([], NonExistentPartition) == (ChangeDone(),)


@rows("release, triggered", [("2.2", [T0, T1]), ("2.3", [])])
def test_until_2_2_a_trigger_of_a_topic_covers_all_partitions_with_a_state(
    release: str, triggered: list[TopicPartition]
) -> None:
    """Even those of an earlier, removed topic with the same name. [triggerOnlinePartitionStateChange]"""
    machines = Machines(release)
    for partition in (T0, T1):
        machines.context.put_partition_state(partition, OfflinePartition)
    machines.context.remove_topic("t")
    for topic, expected in (("t", triggered), (None, [T0, T1])):
        (first,) = machines.partitions.trigger_online_partition_state_change(topic)
        asking = first.what.partitions if isinstance(first, Await) and isinstance(first.what, StateRequests) else ()
        assert list(asking) == expected


PARTITIONS: list[tuple[Any, Any, Any, str]] = [
    ([TopicPartition("x", 7)], NewPartition, None, "no partition x-7"),
    ([T0, T0], OfflinePartition, None, "t-0 occurs twice"),
    ([T0], "OnlinePartition", OFFLINE, "'OnlinePartition' is no state of partitions"),
    ([T0], OnlinePartition, None, "needs an election strategy"),
    ([T0], OnlinePartition, PartitionLeaderElectionStrategy("nearest"), "nearest"),  # type: ignore[arg-type]
]
REPLICAS: list[tuple[Any, Any, str]] = [
    ([on(TopicPartition("x", 7), 1)], OnlineReplica, "no partition x-7"),
    ([on(T0, 1), on(T0, 1)], OnlineReplica, "t-0 on 1 occurs twice"),
    ([on(T0, -1)], OnlineReplica, "-1 is no broker id"),
    ([on(T0, 1)], 2, "2 is no state of replicas"),
]


def test_impossible_changes_are_refused() -> None:
    """One error with the value; nothing changes."""
    machines = Machines()
    before = pickle.dumps((machines.context.state, machines.batch.state))
    for partitions, target, strategy, said in PARTITIONS:
        with pytest.raises(ValueError, match=said):
            machines.partitions.handle_state_changes(partitions, target, strategy)
    for replicas, target, said in REPLICAS:
        with pytest.raises(ValueError, match=said):
            machines.replicas.handle_state_changes(replicas, target)
    assert pickle.dumps((machines.context.state, machines.batch.state)) == before
