"""Controllers with one mistake each, and the scenario that detects each of them.

A battery of short scenarios passes on the classes as they are. Each mutant breaks one rule on purpose, and the
scenario beside it must fail: a rule that no scenario depends on is not tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from election.ids import BrokerId
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.controller.kafka_zk_client import ZkBatch, ZkRequest, ZkResponse
from statemachines.controller.partition_state_machine import (
    CONTROLLED_SHUTDOWN,
    OFFLINE,
    PartitionStateChange,
    PartitionStateMachine,
    PartitionStep,
)
from statemachines.controller.replica_state_machine import ReplicaStateChange, ReplicaStateMachine
from statemachines.controller.request_batch import ControllerBrokerRequestBatch, InMemoryBatch
from statemachines.controller.state_change import ChangeDone
from statemachines.controller.zk_state_machine import PartitionUpdate, StateChange
from statemachines.messages.control_requests import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.tables.partition import OnlinePartition
from statemachines.tables.replica import (
    NewReplica,
    OfflineReplica,
    OnlineReplica,
    ReplicaDeletionStarted,
    ReplicaState,
)
from statemachines.zookeeper.server import Multi
from statemachines.zookeeper.tree import Check, Code
from tests.mutants import mutant_tests
from tests.statemachines.control import EPOCH, T0, T1, Cluster


class Kinds(NamedTuple):
    """The classes of a cluster, one of which may be a mutant."""

    partitions: type[PartitionStateMachine] = PartitionStateMachine
    replicas: type[ReplicaStateMachine] = ReplicaStateMachine
    batch: type[ControllerBrokerRequestBatch] = ControllerBrokerRequestBatch

    def cluster(self, live: Iterable[int] = (1, 2, 3)) -> Cluster:
        """A cluster of these classes."""
        return Cluster(live, partitions=self.partitions, replicas=self.replicas, batch=self.batch)


# The battery


def keeps_the_last_member(kinds: Kinds) -> None:
    """The only member of an ISR stays in it when its broker dies."""
    cluster = kinds.cluster()
    cluster.lead(T0, 1, (1,), replicas=(1, 2))
    cluster.replicas_become(OfflineReplica, (T0, 1))
    assert cluster.state(T0)[:3] == (-1, 1, (1,))


def takes_the_dead_follower_out(kinds: Kinds) -> None:
    """A follower that died leaves the ISR, in the next leader epoch."""
    cluster = kinds.cluster()
    cluster.lead(T0, 1, (1, 2))
    cluster.replicas_become(OfflineReplica, (T0, 2))
    assert cluster.state(T0)[:3] == (1, 1, (1,))


def elects_without_the_dead(kinds: Kinds) -> None:
    """An offline election leaves an ISR of the living, in the next leader epoch."""
    cluster = kinds.cluster()
    cluster.lead(T0, 4, (4, 1, 5, 2), replicas=(4, 1, 2, 5))
    cluster.become(OnlinePartition, T0, strategy=OFFLINE)
    assert cluster.state(T0)[:3] == (1, 1, (1, 2))


def elects_no_one_who_leaves(kinds: Kinds) -> None:
    """A broker that is shutting down is not elected, whatever caused the election."""
    for strategy in (OFFLINE, CONTROLLED_SHUTDOWN):
        cluster = kinds.cluster()
        cluster.shut_down(1)
        cluster.lead(T0, 1, (1, 2))
        cluster.become(OnlinePartition, T0, strategy=strategy)
        assert cluster.state(T0).leader == 2


def begins_each_change_with_an_empty_batch(kinds: Kinds) -> None:
    """A second change is possible, and sends only its own requests."""
    cluster = kinds.cluster()
    cluster.lead(T0, 1, (1, 2))
    cluster.lead(T1, 1, (1, 2))
    cluster.replicas_become(OnlineReplica, (T0, 2))
    cluster.sent.clear()
    cluster.replicas_become(OnlineReplica, (T1, 2))
    assert cluster.leader_and_isr().keys() == {(2, T1)}


def stays_new(kinds: Kinds) -> None:
    """A replica with two entries in a batch is new if either says so."""
    cluster = kinds.cluster()
    cluster.lead(T0, 1, (1, 2))
    known = cluster.context.leadership_of(T0)
    assert known is not None
    for is_new in (True, False):
        assignment = cluster.context.partition_full_replica_assignment(T0)
        cluster.batch.add_leader_and_isr_request_for_brokers([2], T0, known, assignment, is_new)
    cluster.batch.send_requests_to_brokers(EPOCH)
    assert cluster.leader_and_isr()[2, T0].isNew


def stays_deleted(kinds: Kinds) -> None:
    """A replica with a deletion and then a stop is deleted."""
    cluster = kinds.cluster()
    for delete in (True, False):
        cluster.batch.add_stop_replica_request_for_brokers([2], T0, delete)
    cluster.batch.send_requests_to_brokers(EPOCH)
    assert cluster.stopped()[2, T0].deletePartition


def tells_replicas_before_metadata(kinds: Kinds) -> None:
    """LeaderAndIsr goes before UpdateMetadata."""
    cluster = kinds.cluster()
    cluster.lead(T0, 1, (1, 2))
    cluster.replicas_become(OnlineReplica, (T0, 2))
    assert [type(request) for broker, request in cluster.sent if broker == 2] == [
        LeaderAndIsrRequest,
        UpdateMetadataRequest,
    ]


def stops_replicas_last(kinds: Kinds) -> None:
    """StopReplica goes to a broker after all other requests of the batch."""
    cluster = kinds.cluster()
    cluster.lead(T0, 1, (1, 2))
    cluster.replicas_become(OfflineReplica, (T0, 2))
    assert [type(request) for broker, request in cluster.sent if broker == 2] == [
        UpdateMetadataRequest,
        StopReplicaRequest,
    ]


def tells_who_is_leaving(kinds: Kinds) -> None:
    """A broker that is shutting down receives its new leaders."""
    cluster = kinds.cluster()
    cluster.shut_down(1)
    cluster.lead(T0, 1, (1, 2))
    cluster.become(OnlinePartition, T0, strategy=CONTROLLED_SHUTDOWN)
    assert {(broker, state.leader) for (broker, _), state in cluster.leader_and_isr().items()} == {(1, 2), (2, 2)}
    assert 1 in cluster.metadata()


def says_which_broker_is_meant(kinds: Kinds) -> None:
    """Each request has the epoch of its receiver."""
    cluster = kinds.cluster()
    cluster.lead(T0, 1, (1, 2))
    cluster.replicas_become(OfflineReplica, (T0, 2))
    assert {(broker, request.brokerEpoch) for broker, request in cluster.sent} == {(1, 101), (2, 102), (3, 103)}


def is_fenced(kinds: Kinds) -> None:
    """A replaced controller writes nothing."""
    cluster = kinds.cluster()
    cluster.lead(T0, 4, (4, 1), replicas=(4, 1))
    handled = cluster.become(OnlinePartition, T0, strategy=OFFLINE, before={1: cluster.elect_another_controller})
    assert handled.controller_moved
    assert cluster.state(T0).leader == 4


def leaves_what_it_had_added(kinds: Kinds) -> None:
    """A change that fails leaves the batch dirty, and the next one is refused."""
    cluster = kinds.cluster()
    cluster.lead(T0, 1, (1, 2))
    cluster.replicas_become(OfflineReplica, (T0, 2), before={1: cluster.elect_another_controller})
    cluster.replicas_become(OnlineReplica, (T0, 1))
    assert list(cluster.batch.state.stop_replica) == [PartitionAndReplica(T0, 2)]
    assert cluster.sent == []


def looks_again_after_a_conflict(kinds: Kinds) -> None:
    """The other write is read, not overwritten; partitions without conflict are not written twice."""
    cluster = kinds.cluster()
    for partition in (T0, T1):
        cluster.lead(partition, 4, (4, 1, 2), replicas=(4, 1, 2))
    cluster.become(OnlinePartition, T0, T1, strategy=OFFLINE, before={1: lambda: cluster.leader_writes(T0, (4, 2))})
    assert cluster.state(T0)[:3] == (2, 1, (2,))
    assert cluster.version(T1) == 2
    assert cluster.context.partition_state(T0) is OnlinePartition


def does_not_touch_a_newer_one(kinds: Kinds) -> None:
    """The write of a newer controller stays."""
    cluster = kinds.cluster()
    cluster.lead(T0, 4, (4, 1), replicas=(4, 1), controller_epoch=EPOCH + 1)
    cluster.become(OnlinePartition, T0, strategy=OFFLINE)
    assert cluster.state(T0).leader == 4


def goes_offline_only_out_of_the_isr(kinds: Kinds) -> None:
    """A replica that could not be removed from the ISR keeps its state."""
    cluster = kinds.cluster()
    cluster.lead(T0, 1, (1, 2))
    cluster.zookeeper.delete(None, "/brokers/topics/t/partitions/0/state")
    cluster.replicas_become(OfflineReplica, (T0, 2))
    assert cluster.replica_state(T0, 2) is OnlineReplica


def goes_by_the_table(kinds: Kinds) -> None:
    """A transition that is not in the table is refused."""
    cluster = kinds.cluster()
    cluster.lead(T0, 1, (1, 2))
    cluster.replicas_become(ReplicaDeletionStarted, (T0, 2))
    assert cluster.replica_state(T0, 2) is OnlineReplica
    assert len(cluster.log) == 1


def does_not_make_a_leader_new(kinds: Kinds) -> None:
    """A replica that leads is not marked new."""
    cluster = kinds.cluster()
    cluster.lead(T0, 1, (1, 2))
    cluster.context.remove_replica_state(PartitionAndReplica(T0, 1))
    cluster.replicas_become(NewReplica, (T0, 1))
    assert cluster.leader_and_isr() == {}


# The mutants: batches


class DoesNotClearTheBatch(ControllerBrokerRequestBatch):
    """Sent requests stay in the batch."""

    def send_requests_to_brokers(self, controller_epoch: int) -> None:
        state = self.state
        kept = InMemoryBatch(
            state.update_metadata_brokers,
            dict(state.leader_and_isr),
            dict(state.stop_replica),
            dict(state.update_metadata),
        )
        super().send_requests_to_brokers(controller_epoch)
        self.state = kept


class ClearsTheBatchFirst(ControllerBrokerRequestBatch):
    """A change forgets the leftovers of an earlier one, so no batch is dirty. [proposed: KAFKA-12315]"""

    def new_batch(self) -> None:
        self.clear()


class OverwritesIsNew(ControllerBrokerRequestBatch):
    """The last entry for a replica says whether it is new."""

    def add_leader_and_isr_request_for_brokers(
        self, brokers: Iterable[int], partition: TopicPartition, known: Any, assignment: Any, is_new: bool
    ) -> None:
        brokers = tuple(brokers)
        super().add_leader_and_isr_request_for_brokers(brokers, partition, known, assignment, is_new)
        for replica in (PartitionAndReplica(partition, broker) for broker in brokers if broker >= 0):
            self.state.leader_and_isr[replica] = self.state.leader_and_isr[replica]._replace(isNew=is_new)


class OverwritesDelete(ControllerBrokerRequestBatch):
    """The last entry for a replica says whether it is deleted."""

    def add_stop_replica_request_for_brokers(
        self, brokers: Iterable[int], partition: TopicPartition, delete_partition: bool
    ) -> None:
        self.state.stop_replica.clear()
        super().add_stop_replica_request_for_brokers(brokers, partition, delete_partition)


class SendsMetadataFirst(ControllerBrokerRequestBatch):
    """UpdateMetadata goes before LeaderAndIsr."""

    def send_requests_to_brokers(self, controller_epoch: int) -> None:
        self._send_update_metadata_requests(controller_epoch)
        super().send_requests_to_brokers(controller_epoch)


class SendsStopsFirst(ControllerBrokerRequestBatch):
    """StopReplica goes before LeaderAndIsr and UpdateMetadata."""

    def send_requests_to_brokers(self, controller_epoch: int) -> None:
        self._send_stop_replica_requests(controller_epoch)
        super().send_requests_to_brokers(controller_epoch)


class TellsTheLiveAlone(ControllerBrokerRequestBatch):
    """A broker that is shutting down receives no more requests. [KAFKA-7482]"""

    def send_requests_to_brokers(self, controller_epoch: int) -> None:
        for broker in self.context.state.shutting_down_broker_ids:
            self.context.remove_live_brokers([broker])
        super().send_requests_to_brokers(controller_epoch)


class ForgetsBrokerEpochs(ControllerBrokerRequestBatch):
    """Requests are for any broker with the id. [until 2.1, KAFKA-7235]"""

    def send_requests_to_brokers(self, controller_epoch: int) -> None:
        send = self.send
        self.send = lambda broker, request: send(broker, request._replace(brokerEpoch=-1))
        super().send_requests_to_brokers(controller_epoch)


# Replicas


class LastMemberLeaves(ReplicaStateMachine):
    """The last member of an ISR leaves it, too."""

    def _isr_without(self, replica: BrokerId, isr: tuple[BrokerId, ...], unclean: bool) -> tuple[BrokerId, ...]:
        return super()._isr_without(replica, isr, True)


class KeepsTheDeadFollower(ReplicaStateMachine):
    """A dead replica stays in the ISR."""

    def _isr_without(self, replica: BrokerId, isr: tuple[BrokerId, ...], unclean: bool) -> tuple[BrokerId, ...]:
        return isr


class RemovesInTheSameEpoch(ReplicaStateMachine):
    """The leader epoch is not incremented when a replica leaves the ISR."""

    def requests(self, change: StateChange) -> tuple[ZkRequest, ...]:
        return super().requests(same_epoch(change))


class GoesOfflineAnyhow(ReplicaStateMachine):
    """A replica that could not be removed from the ISR is offline."""

    def _not_removed(self, change: ReplicaStateChange, partition: TopicPartition, cause: Any) -> None:
        super()._not_removed(change, partition, cause)
        self._become(PartitionAndReplica(partition, change.replica), OfflineReplica)


class AsksNoTable(ReplicaStateMachine):
    """Any state may follow any other."""

    def _may_become(self, replica: PartitionAndReplica, target: ReplicaState) -> bool:
        return True

    def _become(self, replica: PartitionAndReplica, target: ReplicaState) -> None:
        self.context.put_replica_state(replica, target)


class MakesLeadersNew(ReplicaStateMachine):
    """A replica that leads is marked new."""

    def _enter(
        self, replica: PartitionAndReplica, target: ReplicaState, known: LeaderIsrAndControllerEpoch | None
    ) -> None:
        if target is NewReplica and known is not None:
            self._tell(replica.replica, replica.topic_partition, known, is_new=True)
        super()._enter(replica, target, known)


# Partitions


def same_epoch(change: Any) -> Any:
    """The change, with its leader epochs unchanged."""
    if change.due is not ZkBatch.SetTopicPartitionStates:
        return change
    updates = (
        update._replace(
            leader_and_isr=update.leader_and_isr._replace(leader_epoch=update.leader_and_isr.leader_epoch - 1)
        )
        for update in change.updates
    )
    return change._replace(updates=tuple(updates))


class ElectsInTheSameEpoch(PartitionStateMachine):
    """An election does not increment the leader epoch."""

    def requests(self, change: StateChange) -> tuple[ZkRequest, ...]:
        return super().requests(same_epoch(change))


class ElectsWhoIsLeaving(PartitionStateMachine):
    """A broker that is shutting down is a candidate like any other."""

    def _up_and_leaving(
        self, partition: TopicPartition, brokers: Iterable[int]
    ) -> tuple[frozenset[int], frozenset[int]]:
        return super()._up_and_leaving(partition, brokers)[0], frozenset()


class KeepsTheDeadInTheIsr(PartitionStateMachine):
    """An election does not change the ISR."""

    def _elected(self, partition: TopicPartition, leader_and_isr: LeaderAndIsr, *how: Any) -> PartitionUpdate | None:
        update = super()._elected(partition, leader_and_isr, *how)
        if update is None:
            return None
        return update._replace(leader_and_isr=update.leader_and_isr._replace(isr=leader_and_isr.isr))


class IsNotFenced(PartitionStateMachine):
    """Writes are not fenced, and the responses are padded as if they were."""

    def requests(self, change: StateChange) -> tuple[ZkRequest, ...]:
        return tuple(
            Multi((Check(CONTROLLER_EPOCH), *request.operations[1:])) if isinstance(request, Multi) else request
            for request in super().requests(change)
        )


class OverwritesConflicts(PartitionStateMachine):
    """It overwrites a state that another has written in between."""

    def _written(self, change: PartitionStateChange, responses: Sequence[ZkResponse]) -> PartitionStep:
        taken = [
            response._replace(code=Code.OK) if response.code is Code.BADVERSION else response
            for response in responses
        ]
        return super()._written(change, taken)


class RetriesEverything(PartitionStateMachine):
    """One conflict repeats the election of all partitions."""

    def _written(self, change: PartitionStateChange, responses: Sequence[ZkResponse]) -> PartitionStep:
        step = super()._written(change, responses)
        return step if isinstance(step, ChangeDone) else step._replace(asking=change.asking, results=())


class GivesUpAfterAConflict(PartitionStateMachine):
    """It leaves a state alone that another has written in between."""

    def _written(self, change: PartitionStateChange, responses: Sequence[ZkResponse]) -> PartitionStep:
        step = super()._written(change, responses)
        return step if isinstance(step, ChangeDone) else self._hold_elections(step, ())


class TrustsNewerControllers(PartitionStateMachine):
    """It does not check which controller wrote a state."""

    def decoded(self, response: ZkResponse) -> Any:
        if response.data is not None:
            response = response._replace(data=response.data._replace(controller_epoch=0))
        return super().decoded(response)


MUTANTS: list[tuple[Kinds, Callable[[Kinds], None]]] = [
    (Kinds(replicas=LastMemberLeaves), keeps_the_last_member),
    (Kinds(batch=DoesNotClearTheBatch), begins_each_change_with_an_empty_batch),
    (Kinds(batch=OverwritesIsNew), stays_new),
    (Kinds(partitions=ElectsInTheSameEpoch), elects_without_the_dead),
    (Kinds(replicas=RemovesInTheSameEpoch), takes_the_dead_follower_out),
    (Kinds(batch=SendsMetadataFirst), tells_replicas_before_metadata),
    (Kinds(batch=SendsStopsFirst), stops_replicas_last),
    (Kinds(partitions=ElectsWhoIsLeaving), elects_no_one_who_leaves),
    (Kinds(partitions=KeepsTheDeadInTheIsr), elects_without_the_dead),
    (Kinds(replicas=KeepsTheDeadFollower), takes_the_dead_follower_out),
    (Kinds(batch=OverwritesDelete), stays_deleted),
    (Kinds(batch=ClearsTheBatchFirst), leaves_what_it_had_added),
    (Kinds(batch=TellsTheLiveAlone), tells_who_is_leaving),
    (Kinds(batch=ForgetsBrokerEpochs), says_which_broker_is_meant),
    (Kinds(partitions=IsNotFenced), is_fenced),
    (Kinds(partitions=OverwritesConflicts), looks_again_after_a_conflict),
    (Kinds(partitions=RetriesEverything), looks_again_after_a_conflict),
    (Kinds(partitions=GivesUpAfterAConflict), looks_again_after_a_conflict),
    (Kinds(partitions=TrustsNewerControllers), does_not_touch_a_newer_one),
    (Kinds(replicas=GoesOfflineAnyhow), goes_offline_only_out_of_the_isr),
    (Kinds(replicas=AsksNoTable), goes_by_the_table),
    (Kinds(replicas=MakesLeadersNew), does_not_make_a_leader_new),
]


test_the_classes_pass, test_each_mutant_is_caught = mutant_tests(Kinds(), MUTANTS)
