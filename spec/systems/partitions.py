"""Brokers die and return, leaders change their ISRs: what does the controller write, and which brokers lead?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec

from election.ids import BrokerId
from spec.by_release import ByRelease
from spec.language import (
    Step,
    action,
    constant,
    initial,
    invariant,
    require,
    sometimes,
    switches,
    transition_invariant,
)
from spec.systems.cluster import ANSWERS, TOPIC, TOPIC_PATH, C, ClusterSpec, isr_may_change, leaders_await_controller
from statemachines.controller.calls import Calls
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.partition_state_machine import (
    CONTROLLED_SHUTDOWN,
    OFFLINE,
    PREFERRED,
    UNCLEAN_OFFLINE,
    PartitionLeaderElectionStrategy,
)
from statemachines.controller.replica_leader_election import ElectionTrigger, ElectionType
from statemachines.controller.zk_requests import ZkBatch
from statemachines.messages.leader_and_isr import NO_LEADER
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.tables.partition import NewPartition, OfflinePartition, OnlinePartition
from statemachines.tables.replica import NewReplica, OfflineReplica, OnlineReplica, ReplicaDeletionIneligible
from statemachines.zookeeper.tree import Node

P = ParamSpec("P")


def may_be_offline_though_led(self: Partitions[Any]) -> bool:
    """Whether a follower of a leader that shuts down may die, come back, and join the ISR."""
    refused = self.asks_for_isr and self.design.live_isr_check  # as the leader itself is not eligible
    return isr_may_change(self) and self.shutdowns and self.max_crashes > 0 and not self.unclean and not refused


def may_be_ineligible(self: Partitions[Any]) -> bool:
    """Whether a leader may ask for an ISR with a broker that shuts down."""
    return leaders_await_controller(self) and self.design.live_isr_check and self.shutdowns


class Partitions(ClusterSpec[C]):
    """A controller, batch by batch, and a topic's partitions, on brokers that die and return.

    The controller is `ControllerEventProcessor`, over the variables here: its context, the pending requests of its
    two state machines, and the rest of the event (decision 0024). A step is one batch of requests to ZooKeeper and
    the handling of its answers (decision 0023), or the next change of states in an event. Between two steps brokers
    die and return, another controller is elected, and until 2.6 leaders write their ISRs to ZooKeeper.

    Since 2.7 a leader asks the controller for an ISR (AlterPartition), which is an event like others. The controller
    checks it against its context, writes it if the node still has the leader's version, and reads it back. The
    leader asks only when the controller is idle, since the epochs of an overtaken request make it fail anyway.

    The controller's own broker keeps no replica. If another controller is elected, this one hears of it, or finds
    its writes fenced. It resigns and is elected again in the same process, so it meets the leftovers of a change
    that was cut short. The other controller does nothing meanwhile. Reads outside a change of states are answered
    in the step that makes them, so a failover reads everything in one step. Replicas of several dead brokers go
    offline in the order of broker ids; in Kafka, in the order of a hash map. Partitions change together, as in Kafka
    since 1.1. Until then they changed one by one, and a state that could not be set was read back
    (`change_together`, `read_back_state`).

    Left out: queues of requests, the leader epochs of StopReplica, sessions and watches (an idle controller hears of
    changes, and reads when it handles them: in 0.11 and 1.0 an event may be out of date by then), a broker that
    returns before the controller knows that it was gone, a leader's actions while it waits for an answer, metadata,
    nodes of notifications, reassignment, deletion, log directories. So these rows of the tables are never taken: for
    partitions New -> Offline and Offline -> NonExistent; for replicas New -> Offline, and all rows from and to the
    states of a deletion but those at the start of a controller.

    Some steps of a failover and of a resignation therefore make no difference: they register or remove handlers,
    start or stop channels, or inform brokers of each other (this comes first in `control-requests`). The order in
    which replicas and partitions start changes only leader epochs, and no property counts these.
    """

    name = "partitions"
    leaves_out = "queues of requests, bounced brokers, reassignment, deletion, log directories"

    partitions: int = constant(1, "Partitions of the topic; each prefers another broker.", at_least=1, at_most=3)
    topic_creation: bool = constant(True, "The topic is created at some time; else it exists from the start.")
    shutdowns: bool = constant(True, "Brokers ask for a controlled shutdown.")
    preferred_elections: bool = constant(True, "An administrator asks for preferred leaders.")
    unclean_elections: bool = constant(False, "An administrator asks for unclean elections, which exist since 2.4.")
    rebalances: bool = constant(
        False, "The controller checks by itself whether preferred replicas lead [auto.leader.rebalance.enable]."
    )
    imbalance_percentage: int = constant(
        10,
        "If others lead a greater percentage of the partitions that prefer a broker, the controller elects it "
        "[leader.imbalance.per.broker.percentage].",
        at_least=0,
        at_most=100,
    )
    lost_replies: bool = constant(
        False, "The connection may be lost, any number of times, after ZooKeeper carries out a change's requests."
    )

    design: ControlDesign = switches(
        ControlDesign,
        ByRelease(ControlDesign),
        only=[
            *(ControlDesign.fence_zk, ControlDesign.keep_last_isr, ControlDesign.offline_on_failover),
            *(ControlDesign.leader_recovery, ControlDesign.broker_epoch),
            *(ControlDesign.alter_partition, ControlDesign.check_alter_epochs, ControlDesign.live_isr_check),
            ControlDesign.retry_conflicts_only,
            *(ControlDesign.leaderless_offline, ControlDesign.notify_shutting_down),
            *(ControlDesign.rebalance_together, ControlDesign.rebalance_electable),
            *(ControlDesign.elect_if_created, ControlDesign.read_back_alteration, ControlDesign.clear_batch),
        ],
    )

    @property
    def strategies(self) -> tuple[PartitionLeaderElectionStrategy, ...]:
        """Three strategies, and a fourth if an administrator asks for unclean elections."""
        unclean = (UNCLEAN_OFFLINE,) if self.unclean_elections else ()
        return (OFFLINE, PREFERRED, CONTROLLED_SHUTDOWN, *unclean)

    @property
    def asks_for_isr(self) -> bool:
        """Whether leaders ask the controller for ISRs: since 2.7."""
        return self.design.alter_partition

    @property
    def loses_answers(self) -> bool:
        """Whether a connection may be lost after ZooKeeper acts and before it answers."""
        return self.lost_replies

    # Sizes.

    @property
    def assignments(self) -> Mapping[TopicPartition, ReplicaAssignment]:
        """Every broker keeps every partition; each partition prefers another broker."""
        ids = tuple(self.broker_ids)
        return {
            TopicPartition(TOPIC, number): ReplicaAssignment((*ids[number:], *ids[:number]))
            for number in range(self.partitions)
        }

    @property
    def partitions_preferring(self) -> Mapping[BrokerId, Sequence[TopicPartition]]:
        """For each broker, the partitions whose preferred replica it keeps."""
        found: dict[BrokerId, list[TopicPartition]] = {}
        for partition, assignment in self.assignments.items():
            found.setdefault(assignment.replicas[0], []).append(partition)
        return found

    @initial
    def a_cluster_set_up(self, s: C) -> None:
        """All brokers run; there is no controller yet."""
        for path in ("/brokers", "/brokers/topics", *(() if self.topic_creation else (TOPIC_PATH,))):
            s.zk.nodes[path] = Node()
        s.zk.nodes[CONTROLLER_EPOCH] = Node(data=0)
        s.registered = frozenset(self.broker_ids)

    # Topics.

    @action(when=lambda self: self.topic_creation, actor="administrator", receiver="ZooKeeper")
    def create_topic(self, s: C) -> None:
        """An administrator creates the topic."""
        require(TOPIC_PATH not in s.zk.nodes)
        self.zk.servers(s.zk).create(None, TOPIC_PATH)

    @action(when=lambda self: self.topic_creation, actor="controller", receiver="ZooKeeper")
    def topic_change(self, s: C) -> None:
        """The controller hears of the new topic. [TopicChange, onNewPartitionCreation]"""
        require(s.active and s.idle and TOPIC_PATH in s.zk.nodes and not s.context.all_topics)
        self.begin(s, ControllerEventProcessor.process_topic_change)

    @action(when=lambda self: self.shutdowns and self.brokers > 1, actor="broker", receiver="controller")
    def shut_down(self, s: C, broker: BrokerId) -> None:
        """A broker asks to shut down: it hands over its leaderships and leaves the ISRs. [doControlledShutdown]"""
        context = self.context.of(s.context)
        require(s.active and s.idle and broker in s.registered and context.is_live_broker(broker))
        self.begin(s, ControllerEventProcessor.process_controlled_shutdown, broker)

    @action(
        when=lambda self: self.preferred_elections and self.brokers > 1, actor="administrator", receiver="controller"
    )
    def elect_preferred(self, s: C, partition: TopicPartition) -> None:
        """An administrator asks for the preferred leader, where another leads. [ReplicaLeaderElection]"""
        require(s.active and s.idle)
        known = self.context.of(s.context).leadership_of(partition)
        require(known is not None and known.leader_and_isr.leader != self.assignments[partition].replicas[0])
        by_admin = (ElectionType.PREFERRED, ElectionTrigger.AdminClientTriggered)
        self.begin(s, ControllerEventProcessor.process_replica_leader_election, (partition,), *by_admin)

    @action(
        when=lambda self: self.unclean_elections and self.brokers > 1, actor="administrator", receiver="controller"
    )
    def elect_uncleanly(self, s: C, partition: TopicPartition) -> None:
        """An administrator asks for any possible leader, where no broker leads. [ReplicaLeaderElection]"""
        require(s.active and s.idle)
        context = self.context.of(s.context)
        known = context.leadership_of(partition)
        require(known is not None and not context.is_live_broker(known.leader_and_isr.leader))
        by_admin = (ElectionType.UNCLEAN, ElectionTrigger.AdminClientTriggered)
        self.begin(s, ControllerEventProcessor.process_replica_leader_election, (partition,), *by_admin)

    @action(when=lambda self: self.rebalances and self.brokers > 1, actor="controller")
    def check_imbalance(self, s: C) -> None:
        """The controller checks whether preferred replicas lead. [AutoPreferredReplicaLeaderElection]"""
        require(s.active and s.idle)
        self.begin(s, ControllerEventProcessor.process_auto_preferred_replica_leader_election)

    def controller(self, s: C) -> ControllerEventProcessor:
        """The controller, with its configuration."""
        controller = super().controller(s)
        controller.leader_imbalance_per_broker_percentage = self.imbalance_percentage
        return controller

    def begin(self, s: C, handler: Callable[Concatenate[Any, P], Calls], *given: P.args, **named: P.kwargs) -> None:
        """The controller begins to process an event. `rebalanced` says whether it is a check of preferred leaders."""
        if self.rebalances:
            s.rebalanced = handler is ControllerEventProcessor.process_auto_preferred_replica_leader_election
        super().begin(s, handler, *given, **named)

    def not_led_by_preferred(self, s: C, broker: BrokerId) -> Sequence[TopicPartition]:
        """The partitions that prefer a broker, and that other brokers or none lead."""
        found = []
        for partition in self.partitions_preferring.get(broker, ()):
            state = s.state(partition)
            if state is not None and state.leader != broker:
                found.append(partition)
        return found

    def is_imbalanced_broker(self, s: C, broker: BrokerId) -> bool:
        """Whether others lead too many of the partitions that prefer a broker."""
        preferring = self.partitions_preferring.get(broker, ())
        return 100 * len(self.not_led_by_preferred(s, broker)) > self.imbalance_percentage * len(preferring)

    @invariant(where=ClusterSpec.quiet, when=lambda self: self.rebalances)
    def balanced(self, s: C, broker: BrokerId) -> bool:
        """P18: when all is quiet after a check, each broker leads enough partitions that prefer it, or all it can."""
        if not s.rebalanced or not self.is_imbalanced_broker(s, broker):
            return True
        if broker not in s.registered or broker in s.context.shutting_down_broker_ids:
            return True
        states = map(s.state, self.not_led_by_preferred(s, broker))
        return all(state is None or broker not in state.isr for state in states)

    @transition_invariant(when=lambda self: self.rebalances, of="check_imbalance")
    def tolerates_small_imbalance(self, before: C, after: C) -> bool:
        """P18: a check elects nobody if, as far as the controller knows, every broker leads enough."""
        knows = all(self.knows_leader(before, partition) for partition in self.assignments)
        return not knows or after.idle or any(self.is_imbalanced_broker(before, broker) for broker in self.broker_ids)

    def knows_leader(self, s: C, partition: TopicPartition) -> bool:
        """Whether the controller knows a partition's leader."""
        known, state = s.context.partition_leadership_info.get(partition), s.state(partition)
        return state is None or (known is not None and known.leader_and_isr.leader == state.leader)

    @sometimes(when=lambda self: self.rebalances and self.brokers > 1, of="answer_partition_state_machine")
    def leads_again(self, before: C, after: C) -> bool:
        """A check of preferred leaders makes a partition's preferred replica lead in place of another."""
        if not after.rebalanced:
            return False
        for partition, assignment in self.assignments.items():
            old, new = before.state(partition), after.state(partition)
            if old is not None and new is not None and old.leader != new.leader == assignment.replicas[0]:
                return True
        return False

    @invariant(where=ClusterSpec.quiet, when=lambda self: not self.topic_creation)
    def online_replica_is_live(self, s: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """P14: when all is quiet, the broker of an online replica runs; but see online_on_dead_broker."""
        state = s.context.replica_states.get(PartitionAndReplica(partition, broker))
        return state is not OnlineReplica or broker in s.registered

    @invariant(where=ClusterSpec.quiet, when=lambda self: self.lost_replies)
    def new_is_not_led(self, s: C, partition: TopicPartition) -> bool:
        """P10: when all is quiet, a new partition has no running leader, since brokers do not know of it."""
        state = s.state(partition)
        new = s.context.partition_states.get(partition) is NewPartition
        return not new or state is None or state.leader not in s.registered

    @sometimes(when=lambda self: self.lost_replies, of="lose_replies_of_change")
    def write_reply_lost(self, before: C, after: C) -> bool:
        """A controller has written a partition's state and does not hear of it."""
        return any(before.written(each) != after.written(each) for each in self.assignments)

    @sometimes(when=leaders_await_controller, of="answer_alter_partition")
    def alter_partition_written(self, before: C, after: C) -> bool:
        """AlterPartition: the controller writes an ISR for its leader."""
        return any(before.written(each) != after.written(each) for each in self.assignments)

    @sometimes(when=may_be_ineligible, of="expand_isr")
    def isr_member_ineligible(self, before: C, after: C) -> bool:
        """INELIGIBLE_REPLICA: a member of the requested ISR shuts down. [3.3]"""
        return before.context.epoch == before.epoch and after.idle

    @sometimes(
        when=lambda self: may_be_ineligible(self) and (self.isr_changes > 1 or self.max_crashes > 0), of="expand_isr"
    )
    def leader_ineligible(self, before: C, after: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """No follower can join the ISR of a leader that shuts down: the leader itself is ineligible. [3.3]"""
        state, context = before.state(partition), self.context.of(before.context)
        leaves = state is not None and state.leader in before.context.shutting_down_broker_ids
        return leaves and context.is_live_broker(broker) and before.context.epoch == before.epoch and after.idle

    @sometimes(
        when=lambda self: leaders_await_controller(self) and self.controller_changes > 0 and self.design.fence_zk,
        of="answer_alter_partition",
    )
    def controller_moved_unnoticed(self, before: C, after: C) -> bool:
        """Another controller has been elected. A write for a leader is refused, and the old controller goes on."""
        requests = before.thread.requests
        is_write = requests is not None and requests.due is ZkBatch.SetTopicPartitionStates
        return is_write and after.active and after.idle and after.context.epoch < after.epoch

    @sometimes(when=lambda self: self.topic_creation, of="next_change")
    def a_new_partition(self, before: C, after: C) -> bool:
        """NonExistentPartition -> NewPartition, NonExistentReplica -> NewReplica."""
        new = NewPartition in after.context.partition_states.values()
        return new and NewReplica in after.context.replica_states.values()

    @sometimes
    def a_first_leader(self, before: C, step: Step, after: C, partition: TopicPartition) -> bool:
        """NewPartition -> OnlinePartition."""
        return self.partition_changes(before, after, partition, NewPartition, OnlinePartition)

    @sometimes(when=lambda self: self.brokers > 1 and (self.shutdowns or self.preferred_elections), of=ANSWERS)
    def another_leader(self, before: C, after: C) -> bool:
        """OnlinePartition -> OnlinePartition: another broker leads, though the old leader is well."""
        for partition in self.assignments:
            old, new = before.state(partition), after.state(partition)
            if old is not None and new is not None and new.leader not in (NO_LEADER, old.leader):
                return self.partition_changes(before, after, partition, OnlinePartition, OnlinePartition)
        return False

    @sometimes(when=lambda self: self.brokers > 1 and self.max_crashes > 1, of="broker_change")
    def offline_again(self, before: C, after: C) -> bool:
        """OfflinePartition -> OfflinePartition: another broker has died."""
        if not before.registered < frozenset(before.context.live_broker_epochs):
            return False
        return any(
            self.partition_changes(before, after, partition, OfflinePartition, OfflinePartition)
            for partition in self.assignments
        )

    @sometimes(when=lambda self: self.topic_creation)
    def a_replica_comes_online(
        self,
        before: C,
        step: Step,
        after: C,
        partition: TopicPartition,
        broker: BrokerId,
    ) -> bool:
        """NewReplica -> OnlineReplica."""
        return self.replica_changes(before, after, PartitionAndReplica(partition, broker), NewReplica, OnlineReplica)

    @sometimes(when=lambda self: self.controller_changes > 0, of="become_controller")
    def leaders_sent_again(self, before: C, after: C) -> bool:
        """OnlineReplica -> OnlineReplica: a new controller informs all replicas of their leaders."""
        online = (at for at, state in after.context.replica_states.items() if state is OnlineReplica)
        return any(after.roles[replica] is not None for replica in online)

    @sometimes(when=lambda self: self.brokers > 1 and (self.max_crashes > 0 or self.shutdowns))
    def a_replica_goes_offline(
        self,
        before: C,
        step: Step,
        after: C,
        partition: TopicPartition,
        broker: BrokerId,
    ) -> bool:
        """OnlineReplica -> OfflineReplica."""
        return self.replica_changes(
            before, after, PartitionAndReplica(partition, broker), OnlineReplica, OfflineReplica
        )

    @sometimes(
        when=lambda self: self.brokers > 1 and self.shutdowns and self.max_crashes > 0,
        of="answer_replica_state_machine",
    )
    def a_replica_that_shut_down_dies(self, before: C, after: C) -> bool:
        """OfflineReplica -> OfflineReplica."""
        removal, requests = before.thread.removal, before.thread.requests
        if removal is None or requests is None or after.thread.removal is not None:
            return False
        asking = (*requests.partitions, *(update.partition for update in requests.updates))
        replicas = (PartitionAndReplica(partition, removal.broker) for partition in asking)
        return any(self.replica_changes(before, after, each, OfflineReplica, OfflineReplica) for each in replicas)

    @sometimes(
        when=lambda self: self.controller_changes > 0 and self.max_crashes > 0 and self.design.offline_on_failover
    )
    def dead_at_a_failover(
        self,
        before: C,
        step: Step,
        after: C,
        partition: TopicPartition,
        broker: BrokerId,
    ) -> bool:
        """ReplicaDeletionIneligible -> OfflineReplica."""
        replica = PartitionAndReplica(partition, broker)
        return self.replica_changes(before, after, replica, ReplicaDeletionIneligible, OfflineReplica)

    @sometimes(
        when=lambda self: self.controller_changes > 0 and self.max_crashes > 0 and not self.design.offline_on_failover
    )
    def back_after_a_failover(
        self,
        before: C,
        step: Step,
        after: C,
        partition: TopicPartition,
        broker: BrokerId,
    ) -> bool:
        """ReplicaDeletionIneligible -> OnlineReplica."""
        replica = PartitionAndReplica(partition, broker)
        return self.replica_changes(before, after, replica, ReplicaDeletionIneligible, OnlineReplica)

    @sometimes(where=ClusterSpec.quiet, when=lambda self: self.controller_changes > 0 and self.max_crashes > 0)
    def quiet_after_everything(self, s: C) -> bool:
        """Brokers and controllers have failed as often as they may, all brokers run, and all is quiet."""
        return (
            s.crashes == self.max_crashes
            and s.epoch == 1 + 2 * self.controller_changes
            and len(s.registered) == self.brokers
        )

    @sometimes(where=ClusterSpec.quiet, when=lambda self: self.max_crashes >= self.brokers)
    def quiet_and_offline(self, s: C) -> bool:
        """All is quiet, and a partition is offline."""
        return OfflinePartition in s.context.partition_states.values()

    @sometimes(
        when=lambda self: (
            self.controller_changes > 0 and self.brokers > 1 and self.shutdowns and self.design.fence_zk
        ),
        of=ANSWERS,
    )
    def controller_moved_and_goes_on(self, before: C, after: C) -> bool:
        """It finds in a controlled shutdown that it was replaced, and answers without resigning. [Try in 3.9]"""
        left = after.partition_requests.stop_replica or after.replica_requests.stop_replica
        return bool(left) and after.active and after.idle

    @sometimes(
        when=lambda self: (self.unclean or self.unclean_elections) and self.brokers > 1 and self.max_crashes > 1
    )
    def an_unclean_leader(self, before: C, step: Step, after: C, partition: TopicPartition) -> bool:
        """A broker from outside the ISR is elected."""
        old, new = before.state(partition), after.state(partition)
        return old is not None and new is not None and new.leader not in (NO_LEADER, *old.isr)

    @sometimes(where=ClusterSpec.quiet, when=lambda self: self.topic_creation and self.max_crashes > 0)
    def online_on_dead_broker(self, s: C) -> bool:
        """A topic is created while a broker is down, and its replica there counts as online: P14 is no rule there."""
        online = (at.replica for at, state in s.context.replica_states.items() if state is OnlineReplica)
        return any(broker not in s.registered for broker in online)

    @sometimes(where=ClusterSpec.quiet, when=may_be_offline_though_led)
    def offline_though_led(self, s: C, partition: TopicPartition) -> bool:
        """The controller has a partition offline; a broker that shuts down leads it, and another is in sync: P10."""
        state = s.state(partition)
        if s.context.partition_states.get(partition) is not OfflinePartition or state is None:
            return False
        return state.leader in s.registered and any(map(self.context.of(s.context).is_live_broker, state.isr))
