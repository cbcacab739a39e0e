"""The actions of a cluster under a controller: brokers die and return, leaders change ISRs, ZooKeeper answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec

from election.ids import BrokerId
from spec.language import action, bound, require, say
from spec.parts.event_thread import Waits
from spec.systems.cluster.state import (
    CONTROLLER,
    C,
    ClusterVariables,
    Role,
    isr_may_change,
    leaders_await_controller,
    leaders_write,
)
from statemachines.broker.hosted_partition import is_newer_leader_epoch
from statemachines.controller.alter_partition import (
    AlterPartitionData,
    AlterPartitionProcessor,
    AlterPartitionRequest,
)
from statemachines.controller.calls import Await, Calls, EventFailure, EventWaiting, call_of
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.request_batch import InMemoryBatch
from statemachines.controller.state_change import EventDone
from statemachines.controller.zk_requests import ZkBatch, ZkRequests, retry_requests_until_connected
from statemachines.messages.control_requests import ControlRequest, LeaderAndIsrRequest, StopReplicaRequest
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderRecoveryState
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.messages.zk_data import topic_partition_state_path
from statemachines.zookeeper.tree import Code

P = ParamSpec("P")


class ClusterActions(ClusterVariables[C]):
    """A controller, each step an action, and the actions of brokers and leaders."""

    # The controller, over a state.

    def receive(self, s: C, broker: BrokerId, request: ControlRequest) -> None:
        """A broker obeys a request from now on. A broker that does not run has lost the request when it starts."""
        match request:
            case LeaderAndIsrRequest(partitionStates=states):
                for partition_state in states:
                    replica = PartitionAndReplica(partition_state.partition, broker)
                    role = s.roles[replica]
                    if role is None or is_newer_leader_epoch(role.leader_epoch, partition_state.leaderEpoch):
                        s.roles[replica] = Role(partition_state.leader, partition_state.leaderEpoch)
            case StopReplicaRequest(partitionStates=stopped):
                for each in stopped:
                    replica = PartitionAndReplica(each.partition, broker)
                    s.roles[replica] = None

    def controller(self, s: C) -> ControllerEventProcessor:
        """The controller that processes events, change by change.

        It goes on after a finished change in a step of its own. Such a step touches only the controller's own
        variables, so its time makes no difference; and no step reads the variables of two changes. Requests outside
        a change of states leave nothing in a batch.
        """
        context = self.context.of(s.context)
        kept = (s.partition_requests, s.replica_requests, InMemoryBatch())
        of_partitions, of_replicas, of_others = (
            self.request_batch(
                CONTROLLER, context, lambda broker, request: self.receive(s, broker, request), requests, self.design
            )
            for requests in kept
        )
        partitions = self.partition_state_machine(context, of_partitions, self.design, None, self.unclean)
        replicas = self.replica_state_machine(context, of_replicas, self.design, None, self.unclean)
        client = self.zk_client(context, self.design, s, self.assignments)
        return self.event_processor(partitions, replicas, of_others, zk_client=client, change_by_change=True)

    def begin(self, s: C, handler: Callable[Concatenate[Any, P], Calls], *given: P.args, **named: P.kwargs) -> None:
        """The controller begins to process an event."""
        self.advance(s, self.controller(s).process(call_of(handler, *given, **named)))

    def advance(self, s: C, step: EventWaiting | EventDone) -> None:
        """An event waits for ZooKeeper, has completed a change of states, or is finished."""
        step = self.answered_at_once(s, step)
        if isinstance(step, EventWaiting):
            self.thread.keep(s.thread, step)
            self.within_bounds(s)
            return
        self.thread.keep(s.thread, None)
        assert not step.must_reelect
        assert step.failure in (None, EventFailure.ControllerMoved)
        if step.failure is not None:
            self.resign(s)

    def answered_at_once(self, s: C, step: EventWaiting | EventDone) -> EventWaiting | EventDone:
        """Continue an event as long as its wait needs no step of its own."""
        while isinstance(step, EventWaiting) and step.awaits is not None and self.is_answered_at_once(step.awaits):
            controller = self.controller(s)
            requests = controller.requests(step.awaits)
            step = controller.answered(step, retry_requests_until_connected(self.zk.servers(s.zk), None, requests))
        return step

    def is_answered_at_once(self, awaits: Await) -> bool:
        """Whether a wait needs no step of its own."""
        if isinstance(awaits.what, ZkRequests):
            return True
        return self.alters_at_once and awaits.then is not None and awaits.then.method in AlterPartitionProcessor.WAITS

    def within_bounds(self, s: C) -> None:
        """Require that a change's next write has no leader epoch above the bound."""
        requests = s.thread.requests
        if requests is not None and requests.due is ZkBatch.SetTopicPartitionStates:
            bound(all(each.leader_and_isr.leader_epoch <= self.max_leader_epoch for each in requests.updates))

    def resign(self, s: C) -> None:
        """The controller forgets its context. Whether it forgets unsent requests depends on its design."""
        say("it resigns")
        s.active = False
        self.controller(s).on_controller_resignation()

    # Controllers.

    @action(actor="controller", receiver="ZooKeeper")
    def become_controller(self, s: C) -> None:
        """The controller is elected, reads ZooKeeper, and starts its state machines. [onControllerFailover]"""
        require(not s.active)
        bound(s.epoch < 1 + 2 * self.controller_changes)
        stat = self.zk.servers(s.zk).set(None, CONTROLLER_EPOCH, s.epoch + 1)
        s.active = True
        s.context.epoch, s.context.epoch_zk_version = s.epoch, stat.version
        self.begin(s, ControllerEventProcessor.on_controller_failover)

    @action(when=lambda self: self.controller_changes > 0, actor="another controller", receiver="ZooKeeper")
    def elect_another_controller(self, s: C) -> None:
        """Another controller is elected, and this one does not know of it yet."""
        require(s.active and s.context.epoch == s.epoch)
        bound(s.epoch < 2 * self.controller_changes)
        self.zk.servers(s.zk).set(None, CONTROLLER_EPOCH, s.epoch + 1)

    @action(when=lambda self: self.controller_changes > 0, actor="controller")
    def controller_change(self, s: C) -> None:
        """The idle controller hears that another one has been elected. [ControllerChange]"""
        require(s.active and s.idle and s.context.epoch < s.epoch)
        self.resign(s)

    # Brokers.

    @action(when=lambda self: self.max_crashes > 0, actor="broker")
    def crash(self, s: C, broker: BrokerId) -> None:
        """A broker dies, and its registration disappears."""
        require(broker in s.registered)
        bound(s.crashes < self.max_crashes)
        s.crashes += 1
        s.registered -= {broker}
        self.forget_roles(s, broker)

    @action(when=lambda self: self.max_crashes > 0, actor="broker")
    def restart(self, s: C, broker: BrokerId) -> None:
        """A broker is started again, after the controller has heard of its death."""
        require(broker not in s.registered and broker not in s.context.live_broker_epochs)
        s.registered |= {broker}
        self.forget_roles(s, broker)

    def forget_roles(self, s: C, broker: BrokerId) -> None:
        """A broker that starts waits until the controller names the leaders."""
        for partition in self.assignments:
            s.roles[PartitionAndReplica(partition, broker)] = None

    @action(when=lambda self: self.max_crashes > 0, actor="controller", receiver="ZooKeeper")
    def broker_change(self, s: C) -> None:
        """The controller reads which brokers are registered. [BrokerChange, onBrokerStartup]"""
        require(s.active and s.idle)
        require(s.registered != frozenset(s.context.live_broker_epochs))
        self.begin(s, ControllerEventProcessor.process_broker_change)

    # Leaders.

    def leader_role(self, s: C, partition: TopicPartition) -> Role:
        """The role of a partition's leader. Requires that the leader runs and knows that it leads."""
        state = s.state(partition)
        require(state is not None and state.leader in s.registered)
        assert state is not None
        role = Role(state.leader, state.leader_epoch)
        require(s.roles[PartitionAndReplica(partition, state.leader)] == role)
        return role

    def led_partition_state(self, s: C, partition: TopicPartition) -> LeaderAndIsr:
        """The partition's state. Requires a running leader and, since 2.7, an idle controller."""
        require(not self.asks_for_isr or (s.active and s.idle))
        state = s.state(partition)
        require(state is not None and state.leader in s.registered)
        assert state is not None
        return state

    def change_isr(self, s: C, partition: TopicPartition, isr: tuple[BrokerId, ...]) -> None:
        """Since 2.7 the leader asks the controller for an ISR. Until 2.6 it writes it and notifies the controller."""
        node = s.written(partition)
        assert node is not None
        state = node.data.leader_and_isr
        self.leader_role(s, partition)
        require(not self.asks_for_isr or self.may_change_isr(s, partition))
        bound(node.version - state.leader_epoch < self.isr_changes)
        if self.asks_for_isr:
            recovered = LeaderRecoveryState.RECOVERED  # once it knows that it leads [makeLeader]
            wanted = AlterPartitionData(partition, state.leader_epoch, isr, recovered, node.version)
            request = AlterPartitionRequest(state.leader, 0, (wanted,))
            self.begin(s, ControllerEventProcessor.process_alter_partition, request)
            return
        data = node.data._replace(leader_and_isr=state._replace(isr=isr))
        self.zk.servers(s.zk).set(None, topic_partition_state_path(partition), data, node.version)
        s.isr_change_notification |= {partition}

    def may_change_isr(self, s: C, partition: TopicPartition) -> bool:
        """Whether the leader has heard of all its written requests.

        One that has not is refused, and waits for another leader epoch.
        [INVALID_UPDATE_VERSION in Partition.handleAlterPartitionError, 3.9]
        """
        known, node = self.context.of(s.context).leadership_of(partition), s.written(partition)
        return known is not None and node is not None and known.leader_and_isr.partition_epoch == node.version

    @action(when=isr_may_change, actor="leader", receiver="{self.isr_receiver}")
    def shrink_isr(self, s: C, partition: TopicPartition, broker: BrokerId) -> None:
        """The leader removes a broker, running or not, from the ISR. [Partition.maybeShrinkIsr]"""
        state = self.led_partition_state(s, partition)
        require(broker != state.leader and broker in state.isr)
        self.change_isr(s, partition, tuple(member for member in state.isr if member != broker))

    @action(when=isr_may_change, actor="leader", receiver="{self.isr_receiver}")
    def expand_isr(self, s: C, partition: TopicPartition, broker: BrokerId) -> None:
        """The leader adds a broker that follows it to the ISR. [Partition.maybeExpandIsr]"""
        state = self.led_partition_state(s, partition)
        require(broker not in state.isr and broker in s.registered)
        require(s.roles[PartitionAndReplica(partition, broker)] == Role(state.leader, state.leader_epoch))
        self.change_isr(s, partition, (*state.isr, broker))

    @action(when=leaders_write, actor="controller", receiver="ZooKeeper")
    def process_isr_changes(self, s: C) -> None:
        """The controller reads the partition states that leaders have changed. [IsrChangeNotification]"""
        require(s.active and s.idle and s.isr_change_notification)
        self.begin(s, ControllerEventProcessor.process_isr_change_notification)

    # ZooKeeper answers.

    def answer(self, s: C) -> None:
        """ZooKeeper answers a waiting change. The rest of the event matters only once the change is over."""
        awaits = s.thread.awaits
        assert awaits is not None
        controller = self.controller(s)
        responses = retry_requests_until_connected(self.zk.servers(s.zk), None, controller.requests(awaits))
        self.say_due(s)
        for refused in dict.fromkeys(each.code for each in responses if each.code is not Code.OK):
            say(refused.name)
        following = controller.follow(awaits, responses)
        if len(following) == 1 and isinstance(following[0], Await):
            self.thread.wait(s.thread, following[0])
            self.within_bounds(s)
        else:
            self.advance(s, controller.go_on(EventWaiting(calls=(*following, *s.thread.calls))))

    @action(actor="controller", receiver="ZooKeeper")
    def answer_partition_state_machine(self, s: C) -> None:
        """ZooKeeper answers the requests of the partition state machine."""
        require(s.thread.waits is Waits.PartitionStateMachine)
        self.answer(s)

    @action(actor="controller", receiver="ZooKeeper")
    def answer_replica_state_machine(self, s: C) -> None:
        """ZooKeeper answers the requests of the replica state machine."""
        require(s.thread.waits is Waits.ReplicaStateMachine)
        self.answer(s)

    @action(when=leaders_await_controller, actor="controller", receiver="ZooKeeper")
    def answer_alter_partition(self, s: C) -> None:
        """ZooKeeper answers the requests that the controller makes for a leader. [AlterPartition]"""
        require(s.thread.waits is Waits.AlterPartition)
        self.answer(s)

    def say_due(self, s: C) -> None:
        """Say what the controller has asked ZooKeeper to do."""
        assert s.thread.requests is not None
        say(s.thread.requests.due.value)

    @action(when=lambda self: self.loses_answers, actor="ZooKeeper", receiver="controller")
    def lose_replies_of_change(self, s: C) -> None:
        """ZooKeeper carries out all requests of a change. Its answers are lost, so the change asks again."""
        awaits = s.thread.awaits
        require(awaits is not None and awaits.what.writes)
        retry_requests_until_connected(self.zk.servers(s.zk), None, self.controller(s).requests(awaits))
        self.say_due(s)
        say("the connection is lost with the answers")

    @action(actor="controller")
    def next_change(self, s: C) -> None:
        """A change is over, and the controller goes on with the event's next one."""
        require(s.thread.waits is Waits.NextChange)
        self.advance(s, self.controller(s).go_on(EventWaiting(calls=s.thread.calls)))
