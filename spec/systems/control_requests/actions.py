"""The actions on control requests, their senders and their receivers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Concatenate, Final, ParamSpec

from election.ids import BrokerId
from spec.language import action, bound, require, say
from spec.parts.requests import Channels, ChannelsPart
from spec.parts.zk_client import ZkClientReadingVariables
from spec.systems.cluster import CONTROLLER
from spec.systems.control_requests.state import (
    FIRST,
    KINDS,
    C,
    Connection,
    ControlRequestsVariables,
    controller_writes_isr,
    leader_writes_isr,
    may_reassign,
    registrations_change,
)
from statemachines.broker.replica_manager import NO_FAILURES, LogFailure
from statemachines.controller.calls import Calls, EventWaiting, call_of
from statemachines.controller.channel_manager import Delivery
from statemachines.controller.control_responses import ControlResponse
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.request_batch import InMemoryBatch
from statemachines.controller.state_change import EventDone
from statemachines.controller.zk_requests import StateRequests, ZkBatch, retry_requests_until_connected
from statemachines.messages.control_requests import ControlRequest, LeaderAndIsrRequest
from statemachines.messages.errors import Errors
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition

EPOCHS_OF_REASSIGNMENT: Final = 2
"""Leader epochs that begin in a reassignment's event: at the request, and at the removal of a replica."""


P = ParamSpec("P")


class ControlRequestsActions(ControlRequestsVariables):
    """The actions of controllers, connections and brokers."""

    # The controller, over a state.

    def controller(self, s: C) -> ControllerEventProcessor:
        """The controller that processes events. Its requests name a broker's life, see `ReceivingBrokersPart`."""
        context = self.context.of(s.context)
        naming = self.design.but(broker_epoch=True)
        of_partitions, of_replicas, of_others = (
            self.request_batch(
                CONTROLLER,
                context,
                lambda broker, request: self.channels.send(s.channels, broker, self.requests.reduced(request)),
                InMemoryBatch(),
                naming,
            )
            for _ in range(3)
        )
        return ControllerEventProcessor(
            self.partition_state_machine(context, of_partitions, self.design, log=None),
            self.replica_state_machine(context, of_replicas, self.design, log=None),
            of_others,
            self.channels.of(s.channels, context),
            zk_client=ZkClientReadingVariables(context, self.design, s, self.assignments),
        )

    def process(
        self, s: C, handler: Callable[Concatenate[Any, P], Calls], *given: P.args, **named: P.kwargs
    ) -> EventDone:
        """The controller processes an event to its end, with all of ZooKeeper's answers."""
        controller = self.controller(s)
        step = controller.process(call_of(handler, *given, **named))
        while isinstance(step, EventWaiting):
            assert step.awaits is not None
            what = step.awaits.what
            if isinstance(what, StateRequests) and what.due is ZkBatch.SetTopicPartitionStates:
                bound(all(each.leader_and_isr.leader_epoch <= self.max_leader_epoch for each in what.updates))
            requests = controller.requests(step.awaits)
            step = controller.answered(step, retry_requests_until_connected(self.zk.servers(s.zk), None, requests))
        assert step.failure is None
        return step

    @action(actor="controller", receiver="ZooKeeper")
    def elect_controller(self, s: C) -> None:
        """A controller is elected and reads ZooKeeper; the former one goes on sending. [onControllerFailover]"""
        bound(s.epoch < 1 + self.controller_changes)
        if s.epoch:
            self.channels.hand_over(s.channels, to=s.former_channels)
            self.context.of(s.context).reset_context()
        stat = self.zk.servers(s.zk).set(None, CONTROLLER_EPOCH, s.epoch + 1)
        s.context.epoch, s.context.epoch_zk_version = s.epoch, stat.version
        s.brokers_changed = False
        self.process(s, ControllerEventProcessor.on_controller_failover)

    @action(when=lambda self: self.controller_changes > 0, actor="former controller")
    def resign(self, s: C) -> None:
        """The former controller hears of the new one, and stops sending. [onControllerResignation]"""
        require(not self.former_channels.are_closed(s.former_channels))
        self.former_channels.of(s.former_channels).shutdown()

    @action(when=registrations_change, actor="controller", receiver="ZooKeeper")
    def broker_change(self, s: C) -> None:
        """The controller reads which brokers are registered. [BrokerChange]"""
        require(s.epoch and s.brokers_changed)
        s.brokers_changed = False
        self.process(s, ControllerEventProcessor.process_broker_change)

    @action(when=lambda self: self.shutdowns and self.brokers > 1, actor="broker", receiver="controller")
    def shut_down(self, s: C, broker: BrokerId) -> None:
        """A broker asks to shut down: it hands over its leaderships and leaves the ISRs. [doControlledShutdown]"""
        require(s.epoch and broker in s.registered and self.context.of(s.context).is_live_broker(broker))
        epoch = self.receivers.own_epoch(s.receivers, broker)
        require(s.context.live_broker_epochs[broker] == epoch)
        self.process(s, ControllerEventProcessor.process_controlled_shutdown, broker, epoch)
        s.shutting_down |= {broker}

    # Brokers.

    @action(when=lambda self: self.max_crashes > 0, actor="broker")
    def crash(self, s: C, broker: BrokerId) -> None:
        """A broker dies, and its registration disappears. To the controller it resembles a slow one."""
        require(broker in s.registered)
        bound(s.crashes < self.max_crashes)
        s.crashes += 1
        s.registered -= {broker}
        if broker in s.shutting_down:
            s.shutting_down -= {broker}
        self.receivers.stop(s.receivers, broker)
        if s.late_requests[broker] is not None:
            s.late_requests[broker] = None
        self.note_broker_change(s)

    @action(when=lambda self: self.max_crashes > 0, actor="broker", receiver="ZooKeeper")
    def restart(self, s: C, broker: BrokerId) -> None:
        """A broker is started again, perhaps before the controller hears of its death."""
        require(broker not in s.running)
        s.registered |= {broker}
        self.note_broker_change(s)

    @action(when=lambda self: self.expiries > 0, actor="ZooKeeper", receiver="broker")
    def expire(self, s: C, broker: BrokerId) -> None:
        """A running broker's session ends, and its registration disappears."""
        require(broker in s.registered and broker not in s.receivers.unaware_of_registration)
        bound(s.expiries < self.expiries)
        s.expiries += 1
        s.registered -= {broker}
        self.receivers.expire(s.receivers, broker)
        self.note_broker_change(s)

    @action(when=lambda self: self.expiries > 0, actor="broker", receiver="ZooKeeper")
    def register_again(self, s: C, broker: BrokerId) -> None:
        """A broker registers in its next session; ZooKeeper's answer is on its way. [RegisterBrokerAndReelect]"""
        require(broker in s.receivers.unaware_of_registration and broker not in s.registered)
        s.registered |= {broker}
        self.note_broker_change(s)

    @action(when=lambda self: self.expiries > 0, actor="ZooKeeper", receiver="broker")
    def learn_broker_epoch(self, s: C, broker: BrokerId) -> None:
        """The answer arrives, and the broker knows its epoch. Earlier requests may have named it. [KAFKA-9839]"""
        require(broker in s.receivers.unaware_of_registration & s.registered)
        self.receivers.learn_broker_epoch(s.receivers, broker)

    def note_broker_change(self, s: C) -> None:
        """The children of /brokers/ids have changed, and a controller will hear of it."""
        if s.epoch and not s.brokers_changed:
            s.brokers_changed = True

    # A partition is reassigned.

    @action(when=may_reassign, actor="administrator", receiver="controller")
    def reassign(self, s: C) -> None:
        """An administrator removes the last replica, or adds it again. [AlterPartitionReassignments]"""
        require(s.epoch)
        bound(s.reassignments < self.reassignments)
        state = s.state(FIRST)
        bound(state is not None and state.leader_epoch + EPOCHS_OF_REASSIGNMENT <= self.max_leader_epoch)
        s.reassignments += 1
        whole, less = self.targets
        known = self.context.of(s.context).partition_full_replica_assignment(FIRST)
        target = less if {*known.target_replicas} == {*whole} else whole
        self.process(s, ControllerEventProcessor.process_api_partition_reassignment, ((FIRST, target),))

    # Followers join the ISR.

    def catch_up(self, s: C, leader: BrokerId, follower: BrokerId) -> None:
        """Require that a follower can have all records of its leader."""
        require({leader, follower} <= s.running)
        (partition,) = self.assignments
        epoch = self.receivers.leads(s.receivers, leader, partition)
        fetching = s.receivers.fetchers.get(PartitionAndReplica(partition, follower))
        require(epoch is not None and fetching == (leader, epoch))
        node = s.written(partition)
        assert node is not None
        bound(node.version - node.data.leader_and_isr.leader_epoch < self.isr_changes)

    @action(when=controller_writes_isr, actor="broker")
    def propose(self, s: C, broker: BrokerId, follower: BrokerId) -> None:
        """A follower has caught up, and its leader asks the controller to add it to the ISR. [maybeExpandIsr]"""
        self.catch_up(s, broker, follower)
        manager = self.receivers.alter_partition_manager(s.receivers, broker)
        require(manager.maybe_expand_isr(FIRST, follower))
        manager.maybe_propagate_isr_changes()

    @action(when=leader_writes_isr, actor="broker", receiver="ZooKeeper")
    def write_isr(self, s: C, broker: BrokerId, follower: BrokerId) -> None:
        """A follower has caught up, and its leader adds it to the ISR in ZooKeeper. [maybeExpandIsr, 2.6]"""
        self.expand_isr(s, broker, follower)

    @action(when=lambda self: leader_writes_isr(self) and self.lost_replies, actor="broker", receiver="ZooKeeper")
    def write_isr_lose_reply(self, s: C, broker: BrokerId, follower: BrokerId) -> None:
        """The leader writes the ISR. The answer is lost, and the leader writes again."""
        self.expand_isr(s, broker, follower, answered=0, carried_out=1)

    def expand_isr(self, s: C, broker: BrokerId, follower: BrokerId, **lost: int) -> None:
        """A leader adds a follower to the ISR, if ZooKeeper has the version that the leader knows."""
        self.catch_up(s, broker, follower)
        servers, manager = self.zk.servers(s.zk), self.receivers.zk_alter_partition_manager(s.receivers, broker)
        update = manager.maybe_expand_isr(FIRST, follower)
        require(update)
        while update is not None:
            update = manager.answered(
                update, retry_requests_until_connected(servers, None, manager.requests(update), **lost)
            )
            lost = {}
        say("written" if manager.state.isr_change_set else "refused: it keeps its ISR and its version")
        s.isr_change_notification |= manager.state.isr_change_set

    @action(when=leader_writes_isr, actor="controller", receiver="ZooKeeper")
    def process_isr_changes(self, s: C) -> None:
        """The controller reads the partition states that leaders have changed. [IsrChangeNotification]"""
        require(s.epoch and s.isr_change_notification)
        self.process(s, ControllerEventProcessor.process_isr_change_notification)

    @action(when=controller_writes_isr, actor="broker", receiver="controller")
    def change_isr(self, s: C, broker: BrokerId) -> None:
        """The controller changes the ISR, if it may, and answers. [AlterPartitionReceived]"""
        in_flight = s.receivers.in_flight[broker]
        require(s.epoch and in_flight is not None)
        assert in_flight is not None
        answer = self.process(s, ControllerEventProcessor.process_alter_partition, in_flight.request).answer
        say(", ".join(str(outcome) for _, outcome in answer.partitions if isinstance(outcome, Errors)) or "done")
        manager = self.receivers.alter_partition_manager(s.receivers, broker)
        manager.answered(answer)
        manager.maybe_propagate_isr_changes()

    # Requests are sent.

    def channel(self, s: C, connection: Connection) -> tuple[ChannelsPart, Channels]:
        """The channels of one of the two controllers."""
        return (
            (self.former_channels, s.former_channels)
            if connection is Connection.FormerController
            else (self.channels, s.channels)
        )

    def line(self, s: C, connection: Connection, broker: BrokerId) -> tuple[ControlRequest, ...]:
        """A connection's requests that a broker has yet to receive, in order."""
        if connection is Connection.Broken:
            copy = s.late_requests[broker]
            return () if copy is None else (copy,)
        part_, channels = self.channel(s, connection)
        return part_.queued_requests(channels, broker)

    def exchange(
        self,
        s: C,
        connection: Connection,
        broker: BrokerId,
        delivery: Delivery,
        failures: Mapping[TopicPartition, LogFailure] = NO_FAILURES,
    ) -> None:
        """A broker handles the next request of a connection."""
        require(broker in s.running)
        line = self.line(s, connection, broker)
        require(line)
        if connection is Connection.Broken:
            s.late_requests[broker] = None
            self.handle(s, broker, line[0], failures)
            return
        part_, channels = self.channel(s, connection)
        part_.of(channels).exchange(broker, lambda request: self.handle(s, broker, request, failures), delivery)

    def handle(
        self, s: C, broker: BrokerId, request: ControlRequest, failures: Mapping[TopicPartition, LogFailure]
    ) -> ControlResponse:
        """A broker handles a request."""
        say(KINDS[request.__class__])
        response = self.receivers.handle(s.receivers, broker, request, failures)
        if response.errorCode is not Errors.NONE:
            say(str(response.errorCode))
        return response

    @action(actor="connection", receiver="broker")
    def deliver(self, s: C, connection: Connection, broker: BrokerId) -> None:
        """A broker handles the next request, and its reply arrives."""
        self.exchange(s, connection, broker, Delivery.Answered)

    @action(when=lambda self: self.lost_replies, actor="connection", receiver="broker")
    def lose_reply(self, s: C, connection: Connection, broker: BrokerId) -> None:
        """A broker handles the next request, and the reply is lost, so the request is sent again."""
        require(connection is not Connection.Broken)
        self.exchange(s, connection, broker, Delivery.ReplyLost)

    @action(when=lambda self: self.new_topic, actor="connection", receiver="broker")
    def deliver_config_unread(
        self, s: C, connection: Connection, broker: BrokerId, partition: TopicPartition
    ) -> None:
        """A broker handles LeaderAndIsr, and cannot read the topic's configuration to create a log."""
        require(isinstance(next(iter(self.line(s, connection, broker)), None), LeaderAndIsrRequest))
        require(PartitionAndReplica(partition, broker) not in s.receivers.logs)
        self.exchange(s, connection, broker, Delivery.Answered, {partition: LogFailure.ConfigNotRead})

    @action(when=lambda self: self.late_copies, actor="connection", receiver="broker")
    def break_connection(self, s: C, connection: Connection, broker: BrokerId) -> None:
        """A broker receives a request, and the connection breaks, so the request is sent again and handled twice."""
        require(connection is not Connection.Broken)
        require(broker in s.running and s.late_requests[broker] is None and self.line(s, connection, broker))
        part_, channels = self.channel(s, connection)
        s.late_requests[broker] = channels.request_send_threads[broker].request or part_.of(channels).take(broker)
