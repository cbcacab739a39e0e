"""Controllers whose handlers have one mistake each, and the scenario that detects each of them.

As in `test_control_mutants`: a battery of short scenarios passes on the class as it is, and the scenario beside a
mutant must fail on it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from election.ids import BrokerEpoch, BrokerId
from statemachines.controller.calls import Call, Callback, Calls, EventFailure, call
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.state_change import EventDone
from statemachines.messages.errors import Errors
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicName, TopicPartition
from statemachines.messages.zk_data import (
    PREFERRED_REPLICA_ELECTION,
    isr_change_notification_path,
    topic_partition_state_path,
    topic_path,
)
from statemachines.tables.replica import OfflineReplica, ReplicaDeletionIneligible, ReplicaState
from statemachines.zookeeper.tree import Code
from tests.mutants import mutant_tests
from tests.statemachines.control import T0, T1
from tests.statemachines.processing import EventCluster

Processor = type[ControllerEventProcessor]


def started(processor: Processor, live: tuple[int, ...] = (1, 2, 3)) -> EventCluster:
    """Brokers and two partitions: one led by 1 and followed by 2 and 3, the other on 2 and 1."""
    cluster = EventCluster(live, processor=processor)
    cluster.create_topic("t", (1, 2, 3), (2, 1))
    cluster.take_over()
    cluster.forget()
    return cluster


# The battery


def tells_of_brokers_before_leaders(processor: Processor) -> None:
    """A broker refuses to follow a leader that it does not know. [B12]"""
    cluster = EventCluster(processor=processor)
    cluster.create_topic("t", (1, 2))
    cluster.take_over()
    assert cluster.story()[0] == "1+2+3 UpdateMetadata of 1+2+3"


def elects_no_one_who_leaves(processor: Processor) -> None:
    """A broker that is shutting down does not get another's leaderships."""
    cluster = started(processor)
    cluster.process("process_controlled_shutdown", 2)
    cluster.leader_writes(T0, (1, 2, 3))
    cluster.process("process_controlled_shutdown", 1)
    assert cluster.state(T0).leader == 3


def answers_what_is_still_led(processor: Processor) -> None:
    """A broker with a leadership that no other can take must not stop."""
    cluster = started(processor)
    cluster.leader_writes(T0, (1,))
    assert cluster.process("process_controlled_shutdown", 1) == EventDone((T0,))


def takes_the_dead_out_of_isrs(processor: Processor) -> None:
    """A dead follower is in no ISR any more."""
    cluster = started(processor)
    cluster.die(3)
    cluster.process("process_broker_change")
    assert 3 not in cluster.state(T0).isr


def elects_before_replicas_are_offline(processor: Processor) -> None:
    """So a leader's death costs one leader epoch."""
    cluster = started(processor)
    cluster.die(1)
    cluster.process("process_broker_change")
    assert cluster.state(T0)[:3] == (2, 1, (2, 3))


def elects_for_partitions_without_leader(processor: Processor) -> None:
    """When the last member of an ISR returns, it leads again."""
    cluster = started(processor)
    cluster.die(1, 2)
    cluster.process("process_broker_change")
    cluster.register(1)
    cluster.register(2)
    cluster.process("process_broker_change")
    assert cluster.state(T1).leader in (1, 2)


def notices_the_bounced(processor: Processor) -> None:
    """A broker that restarted between two reads is dead and then new. [B5]"""
    cluster = started(processor)
    cluster.die(1)
    cluster.register(1)
    cluster.process("process_broker_change")
    assert cluster.channels.said == [("remove", 1), ("add", 1)]
    assert cluster.state(T0).leader == 2


def tells_a_new_broker_of_all_partitions(processor: Processor) -> None:
    """Including partitions without a replica on it."""
    cluster = started(processor)
    cluster.register(4)
    cluster.process("process_broker_change")
    assert "4 UpdateMetadata of 1+2+3+4; t-0 led by 1 in 0; t-1 led by 2 in 0" in cluster.story()


def says_that_a_broker_is_gone(processor: Processor) -> None:
    """Even if nothing else has changed."""
    cluster = started(processor, (1, 2, 3, 4))
    cluster.die(4)
    cluster.process("process_broker_change")
    assert cluster.story() == ["1+2+3 UpdateMetadata of 1+2+3"]


def deletes_notifications_that_led_to_an_error(processor: Processor) -> None:
    """A reassignment that it completed found the state of a newer controller."""
    cluster = started(processor)
    cluster.process("process_api_partition_reassignment", ((T1, (2, 3)),))
    cluster.leader_writes(T1, (2, 1, 3))
    state = topic_partition_state_path(T1)
    cluster.zookeeper.set(None, state, cluster.data(state)._replace(controller_epoch=99))
    path = cluster.zookeeper.create(None, isr_change_notification_path(), (T1,), sequential=True).path
    assert cluster.process("process_isr_change_notification").failure is EventFailure.NewerController
    assert not cluster.exists(path)


def stops_when_it_has_moved(processor: Processor) -> None:
    """The steps after a refused write are not done."""
    cluster = started(processor)
    cluster.create_topic("u", (1,))
    processed = cluster.process("process_topic_change", before={2: cluster.elect_another_controller})
    assert processed.failure is EventFailure.ControllerMoved


def stop_all_replicas_of_a_topic(processor: Processor) -> EventCluster:
    """A topic in deletion, whose replicas have all received StopReplica."""
    cluster = started(processor)
    cluster.ask_to_delete("t")
    cluster.process("process_topic_deletion")
    return cluster


def deletes_when_all_have(processor: Processor) -> None:
    """Not after some of the replies."""
    cluster = stop_all_replicas_of_a_topic(processor)
    for broker, partitions in {1: (T0, T1), 2: (T0, T1), 3: (T0,)}.items():
        assert cluster.exists(topic_path("t"))
        cluster.deleted(broker, *partitions)
    assert not cluster.exists(topic_path("t"))


def does_not_take_an_error_for_a_deletion(processor: Processor) -> None:
    """A replica whose deletion failed still exists."""
    cluster = stop_all_replicas_of_a_topic(processor)
    cluster.deleted(1, T0, error=Errors.KAFKA_STORAGE_ERROR)
    assert cluster.replica_state(T0, 1) is ReplicaDeletionIneligible


def retries_a_deletion(processor: Processor) -> None:
    """After the broker's return."""
    cluster = stop_all_replicas_of_a_topic(processor)
    cluster.deleted(1, T0, T1)
    cluster.deleted(3, T0)
    cluster.die(2)
    cluster.process("process_broker_change")
    cluster.register(2)
    cluster.process("process_broker_change")
    cluster.deleted(2, T0, T1)
    assert not cluster.exists(topic_path("t"))


def does_not_ask_the_dead(processor: Processor) -> None:
    """A topic with a dead replica waits for its return."""
    cluster = started(processor)
    cluster.die(3)
    cluster.process("process_broker_change")
    cluster.ask_to_delete("t")
    cluster.process("process_topic_deletion")
    assert cluster.replica_state(T0, 3) is ReplicaDeletionIneligible
    assert cluster.context.state.topics_ineligible_for_deletion == {"t"}


def finishes_what_another_has_begun(processor: Processor) -> None:
    """At any stage: a reassignment reaches its end, without the removed replicas."""
    for batch in range(14):
        cluster = started(processor)
        cluster.process("process_api_partition_reassignment", ((T1, (3,)),))
        cluster.leader_writes(T1, (1, 2, 3))
        for number, step in enumerate(cluster.steps("maybe_complete_reassignment", T1)):
            if number == batch:
                break
            step()
        cluster.controller = cluster.made()
        cluster.take_over()
        assert cluster.context.partition_full_replica_assignment(T1) == ReplicaAssignment((3,))
        assert cluster.state(T1)[0] == 3
        assert cluster.state(T1).isr == (3,)


def tells_a_leader_that_stays_who_is_left(processor: Processor) -> None:
    """Before the others leave, so that they do not join again."""
    cluster = started(processor)
    cluster.process("process_api_partition_reassignment", ((T0, (1, 2)),))
    replica_lists = [state.replicas for (broker, partition), state in cluster.leader_and_isr().items() if broker == 1]
    assert replica_lists == [(1, 2)]
    assert cluster.state(T0).leader_epoch == 2


def waits_until_all_are_in_sync(processor: Processor) -> None:
    """All targets of the reassignment."""
    cluster = started(processor)
    cluster.process("process_api_partition_reassignment", ((T1, (3,)),))
    cluster.process("maybe_complete_reassignment", T1)
    assert cluster.context.partition_full_replica_assignment(T1).is_being_reassigned


def expects_another_election(processor: Processor) -> None:
    """The node is deleted, and a queued event sets the watch."""
    cluster = started(processor)
    cluster.queue.clear()
    cluster.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, (T0,))
    cluster.process("process_replica_leader_election")
    assert not cluster.exists(PREFERRED_REPLICA_ELECTION)
    assert cluster.queue == [Call("process_replica_leader_election")]


def leaves_small_imbalances(processor: Processor) -> None:
    """Up to the percentage, which must be exceeded."""
    cluster = started(processor)
    cluster.process("process_controlled_shutdown", 1)
    cluster.die(1)
    cluster.process("process_broker_change")
    cluster.register(1)
    cluster.process("process_broker_change")
    cluster.leader_writes(T0, (2, 3, 1))
    cluster.context.state.partition_leadership_info[T0] = cluster.written(T0).decode(cluster.version(T0))
    cluster.controller.leader_imbalance_per_broker_percentage = 100
    cluster.process("process_auto_preferred_replica_leader_election")
    assert cluster.state(T0).leader == 2


# The mutants


class StartsStateMachinesBeforeTheFirstMetadata(ControllerEventProcessor):
    """As until 0.10.1."""

    def on_controller_failover(self) -> Calls:
        calls = super().on_controller_failover()
        tell = call(self._tell_all)
        return (*(each for each in calls if each != tell), tell)


class ElectsWhoIsShuttingDown(ControllerEventProcessor):
    """It forgets a controlled shutdown as soon as the request is done."""

    def process_controlled_shutdown(self, broker: BrokerId, epoch: BrokerEpoch = -1) -> Calls:
        return (*super().process_controlled_shutdown(broker, epoch), call(self.forget, broker))

    def forget(self, broker: BrokerId) -> None:
        self.context.state.shutting_down_broker_ids -= {broker}


class LetsEverybodyGo(ControllerEventProcessor):
    """Whatever a broker still leads, the reply lists nothing."""

    def _answer_controlled_shutdown(self, broker: BrokerId) -> Calls:
        return (Callback(()),)


class KeepsTheDeadInTheIsr(ControllerEventProcessor):
    """Replicas do not go offline."""

    def replicas_become(self, replicas: Sequence[PartitionAndReplica], target: ReplicaState) -> Calls:
        return () if target is OfflineReplica else super().replicas_become(replicas, target)


class TakesReplicasOfflineFirst(ControllerEventProcessor):
    """And elects afterwards."""

    def on_replicas_become_offline(
        self, new_offline_replicas: Sequence[PartitionAndReplica], gone: Collection[int] = ()
    ) -> Calls:
        first = call(self.replicas_become, tuple(new_offline_replicas), OfflineReplica)
        return (first, *super().on_replicas_become_offline(new_offline_replicas, gone))


class ElectsForNobody(ControllerEventProcessor):
    """Partitions without leader stay so when brokers start."""

    def on_broker_startup(self, new_brokers: Sequence[BrokerId]) -> Calls:
        calls = super().on_broker_startup(new_brokers)
        return tuple(each for each in calls if each != call(self.trigger_online_partition_state_change))


class TakesTheBouncedForTheSame(ControllerEventProcessor):
    """It knows a broker by its id alone."""

    def _brokers_changed(self, registered: Sequence[tuple[BrokerId, BrokerEpoch]]) -> Calls:
        known = self.context.state.live_broker_epochs
        return super()._brokers_changed([(broker, known.get(broker, epoch)) for broker, epoch in registered])


class TellsANewBrokerOfNothing(ControllerEventProcessor):
    """A new broker gets only the metadata that go to all."""

    def send_update_metadata_request(
        self, brokers: Sequence[BrokerId], partitions: Sequence[TopicPartition] = ()
    ) -> None:
        super().send_update_metadata_request(brokers)


class SaysNothingOfBrokers(ControllerEventProcessor):
    """Brokers only learn of changes to partitions."""

    def _tell_all_of_brokers(self) -> None:
        pass


class HasNoFinally(ControllerEventProcessor):
    """A failure drops everything."""

    def _unwound(self, calls: Calls, cause: EventFailure | Code) -> Calls:
        return ()


class GoesOnAfterAFailure(ControllerEventProcessor):
    """It continues an event after a failure."""

    def _unwound(self, calls: Calls, cause: EventFailure | Code) -> Calls:
        return calls


class DeletesWhenOneHas(ControllerEventProcessor):
    """A topic is gone with its first replica."""

    def complete_replica_deletion(self, replicas: Sequence[PartitionAndReplica]) -> Calls:
        topics = dict.fromkeys(replica.topic_partition.topic for replica in replicas)
        return tuple(call(self._complete_delete_topic, topic) for topic in topics)


class TakesErrorsForDeletions(ControllerEventProcessor):
    """It takes a replica for deleted, whatever the reply."""

    def fail_replica_deletion(self, replicas: Sequence[PartitionAndReplica]) -> Calls:
        return self.complete_replica_deletion(replicas)


class DoesNotRetryDeletions(ControllerEventProcessor):
    """A failed deletion waits for ever."""

    def resume_deletion_for_topics(self, topics: Any) -> Calls:
        return ()


class AsksTheDeadToDelete(ControllerEventProcessor):
    """It takes all replicas for live, and no topic waits."""

    def _on_partition_deletion(self, topics: Sequence[TopicName]) -> Calls:
        replicas = self.context.replicas_for_partition(self._partitions_of(topics))
        return (call(self.replicas_become, replicas, OfflineReplica),)


class WritesTheTargetFirst(ControllerEventProcessor):
    """The original replicas are lost when the node has only the target, before the others are deleted."""

    def _go_on_with(self, complete: bool, partition: TopicPartition, reassignment: ReplicaAssignment) -> Calls:
        calls = super()._go_on_with(complete, partition, reassignment)
        names = [each.method for each in calls if isinstance(each, Call)]
        if self.update_replica_assignment_for_partition.__name__ not in names:
            return calls
        at = names.index(self.update_replica_assignment_for_partition.__name__)
        return (calls[at], *calls[:at], *calls[at + 1 :])


class LeavesTheLeaderInTheDark(ControllerEventProcessor):
    """A remaining leader does not receive the new replicas."""

    def move_reassigned_partition_leader_if_required(
        self, partition: TopicPartition, completed: ReplicaAssignment, to: tuple[BrokerId, ...]
    ) -> Calls:
        if self.leadership_of(partition).leader_and_isr.leader in completed.replicas:
            return ()
        return super().move_reassigned_partition_leader_if_required(partition, completed, to)


class DoesNotWaitForTheIsr(ControllerEventProcessor):
    """A reassignment ends as soon as it has begun."""

    def _are_in_isr(self, states: Any, replicas: tuple[BrokerId, ...], following: Call) -> Calls:
        return (following.with_answer(True),)


class ExpectsNoOtherElection(ControllerEventProcessor):
    """The watch is not set again."""

    def _expect_election(self) -> None:
        pass


class RebalancesAlways(ControllerEventProcessor):
    """However small the imbalance."""

    def _rebalance(self, broker: BrokerId, preferring: tuple[TopicPartition, ...]) -> Calls:
        self.leader_imbalance_per_broker_percentage = 0
        return super()._rebalance(broker, preferring)


MUTANTS: list[tuple[Processor, Callable[[Processor], None]]] = [
    (StartsStateMachinesBeforeTheFirstMetadata, tells_of_brokers_before_leaders),
    (ElectsWhoIsShuttingDown, elects_no_one_who_leaves),
    (LetsEverybodyGo, answers_what_is_still_led),
    (KeepsTheDeadInTheIsr, takes_the_dead_out_of_isrs),
    (TakesReplicasOfflineFirst, elects_before_replicas_are_offline),
    (ElectsForNobody, elects_for_partitions_without_leader),
    (TakesTheBouncedForTheSame, notices_the_bounced),
    (TellsANewBrokerOfNothing, tells_a_new_broker_of_all_partitions),
    (SaysNothingOfBrokers, says_that_a_broker_is_gone),
    (HasNoFinally, deletes_notifications_that_led_to_an_error),
    (GoesOnAfterAFailure, stops_when_it_has_moved),
    (DeletesWhenOneHas, deletes_when_all_have),
    (TakesErrorsForDeletions, does_not_take_an_error_for_a_deletion),
    (DoesNotRetryDeletions, retries_a_deletion),
    (AsksTheDeadToDelete, does_not_ask_the_dead),
    (WritesTheTargetFirst, finishes_what_another_has_begun),
    (LeavesTheLeaderInTheDark, tells_a_leader_that_stays_who_is_left),
    (DoesNotWaitForTheIsr, waits_until_all_are_in_sync),
    (ExpectsNoOtherElection, expects_another_election),
    (RebalancesAlways, leaves_small_imbalances),
]


test_the_class_passes, test_each_mutant_is_caught = mutant_tests(ControllerEventProcessor, MUTANTS)
