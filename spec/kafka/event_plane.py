"""A whole controller beside Kafka's own: the same happens to both, and what is to be seen then.

    commands = [{"do": "register", "brokers": [1, 2], "handle": 8}, {"do": "create_topic", ..., "handle": 8}, ...]
    with KafkaControlPlane("3.9.1") as kafka:
        for sequence, told in kafka.of("Events", [commands]):
            ours = EventPlane()
            for command, seen in zip(sequence, told, strict=True):
                assert ours.disagreements(command, seen) == []

A command is JSON, `{"do": ...}` with its arguments: something that others do in ZooKeeper (`World`), or ask of the
controller by a request (`EventPlane`). Watches make events of it. Then as many events as `handle` says are processed,
as far as there are any; others wait. `meanwhile` is as in `spec.kafka.control_plane`, its batches counted through all
events of the command.

On the other side is Kafka's KafkaController, with all that is its own; only its thread is not started, its channels
to brokers go nowhere, and its client asks a real server of ZooKeeper within the call. Here it is
`ControllerEventProcessor`, and beside it what a broker does that is not controller, or no longer: `EventPlane` has
that of KafkaController's `process`, `elect`, `maybeResign` and `triggerControllerMove`.

The controller is broker 9. What others' registrations have for epochs is told apart by order, not by zxid.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

from election.ids import BrokerId, ControllerEpoch
from spec.kafka.control_plane import CONTROLLER as BROKER
from spec.kafka.control_values import WHOLE, decoded_event, decoded_requests, of_context, parsed, stops_by_partition
from spec.kafka.world import SESSION, ControlCommand, Disagreement, OtherRequests, World, different, in_order, path_of
from statemachines.alter_partition import AlterPartitionData, AlterPartitionRequest, AlterPartitionResponse
from statemachines.changes.control import Stops
from statemachines.control_design import control_design_of
from statemachines.control_responses import (
    ControlResponse,
    LeaderAndIsrResponse,
    StopReplicaResponse,
    is_awaited,
    response_received,
)
from statemachines.controller import BROKER_IDS, CONTROLLER, CONTROLLER_EPOCH, registration
from statemachines.controller_broker_request_batch import ControllerBrokerRequestBatch, InMemoryBatch
from statemachines.controller_calls import Call, EventFailure, Processing, ReleaseChannels, call
from statemachines.controller_context import ControllerContext, InMemoryContext
from statemachines.controller_election import FIRST_EPOCH, FIRST_EPOCH_ZK_VERSION, INITIAL_EPOCH
from statemachines.controller_event_processor import ControllerEventProcessor, event_of
from statemachines.kafka_zk_client import Exists, GetChildren, GetData, RequestFailed, ZkRequest, ZkResponse
from statemachines.messages.control_requests import (
    UNKNOWN_BROKER_EPOCH,
    ControlRequest,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderRecoveryState
from statemachines.messages.topic_partition import TopicName, TopicPartition
from statemachines.partition_state_machine import PartitionStateMachine
from statemachines.replica_leader_election import ElectionTrigger, ElectionType
from statemachines.replica_state_machine import ReplicaStateMachine
from statemachines.state_change import Processed
from statemachines.zk_data import (
    DELETE_TOPICS,
    ISR_CHANGE_NOTIFICATION,
    LOG_DIR_EVENT_NOTIFICATION,
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    TOPICS,
    topic_partition_state_path,
)
from statemachines.zookeeper.server import Event, Multi
from statemachines.zookeeper.tree import Check, Code, Create, Delete, EventType, SetData, ZkPath, ZkVersion

__all__ = ["RELEASES", "EventPlane"]

RELEASES: Final = ("1.1.1", "2.2.2", "2.4.1", "2.8.2", "3.9.1")
"""The releases whose whole controllers are run."""
NO_CONTROLLER: Final = -1

STARTUP: Final = Call("startup")
CONTROLLER_CHANGE: Final = Call("maybe_resign")
REELECT: Final = Call("reelect")
"""The events that are no event of an active controller's."""

Processor = ControllerEventProcessor
EVENTS: Final[Mapping[str, str]] = {
    STARTUP.method: "Startup",
    CONTROLLER_CHANGE.method: "ControllerChange",
    REELECT.method: "Reelect",
    Processor.process_topic_change.__name__: "TopicChange",
    Processor.process_partition_modifications.__name__: "PartitionModifications",
    Processor.process_topic_deletion.__name__: "TopicDeletion",
    Processor.process_topic_deletion_stop_replica_response_received.__name__: (
        "TopicDeletionStopReplicaResponseReceived"
    ),
    Processor.process_broker_change.__name__: "BrokerChange",
    Processor.process_log_dir_event_notification.__name__: "LogDirEventNotification",
    Processor.process_leader_and_isr_response_received.__name__: "LeaderAndIsrResponseReceived",
    Processor.process_controlled_shutdown.__name__: "ControlledShutdown",
    Processor.process_replica_leader_election.__name__: "ReplicaLeaderElection",
    Processor.process_auto_preferred_replica_leader_election.__name__: "AutoPreferredReplicaLeaderElection",
    Processor.process_unclean_leader_election_enable.__name__: "UncleanLeaderElectionEnable",
    Processor.process_zk_partition_reassignment.__name__: "ZkPartitionReassignment",
    Processor.process_api_partition_reassignment.__name__: "ApiPartitionReassignment",
    Processor.process_partition_reassignment_isr_change.__name__: "PartitionReassignmentIsrChange",
    Processor.process_isr_change_notification.__name__: "IsrChangeNotification",
    Processor.process_alter_partition.__name__: "AlterPartitionReceived",
}
"""The handlers of events, with Kafka's names for these."""

ELECTION: Final = Processor.process_replica_leader_election.__name__

CHILDREN: Final[Mapping[ZkPath, Callable[[Processor], Callable[[], Any]]]] = {
    BROKER_IDS: lambda its: its.process_broker_change,
    TOPICS: lambda its: its.process_topic_change,
    DELETE_TOPICS: lambda its: its.process_topic_deletion,
    LOG_DIR_EVENT_NOTIFICATION: lambda its: its.process_log_dir_event_notification,
    ISR_CHANGE_NOTIFICATION: lambda its: its.process_isr_change_notification,
}
"""What is to be handled when a node's children change."""
NODES: Final[Mapping[ZkPath, Callable[[Processor], Callable[[], Any]]]] = {
    REASSIGN_PARTITIONS: lambda its: its.process_zk_partition_reassignment,
    PREFERRED_REPLICA_ELECTION: lambda its: its.process_replica_leader_election,
}
"""What is to be handled when a node is created."""
REGISTER_HANDLERS: Final = frozenset(
    handler.__name__
    for handler in (
        Processor.on_controller_failover,
        Processor.process_zk_partition_reassignment,
        Processor.process_replica_leader_election,
    )
)
"""What registers a handler of such a node when it asks for the node; other events only ask."""
FAILURES: Final[Mapping[Any, str]] = {
    EventFailure.ControllerMoved: "ControllerMovedException",
    EventFailure.IllegalState: "IllegalStateException",
    EventFailure.UnknownBroker: "NoSuchElementException",
    EventFailure.StaleBrokerEpoch: "StaleBrokerEpochException",
    EventFailure.BrokerNotAvailable: "BrokerNotAvailableException",
}
"""What a broker is answered that asked to be let go."""


class Downwards(UserDict[TopicPartition, Any]):
    """A map that is gone through from its last partition to its first.

    So are Scala's until 2.4, if partitions have the names that `tests.kafka.event_sequences` gives them.
    """

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(sorted(self.data, reverse=True))


class Unanswered(NamedTuple):
    """A request that a broker has been sent."""

    request: ControlRequest
    awaited: bool
    """Until 2.2: whether it is a StopReplica with which a topic's deletion goes on."""


class EventPlane(World):
    """Our side: a broker that may be controller, with its queue of events.

    Args:
        release: by whose rules.
        processor: the class that processes events; a test puts a mutant there.
    """

    def __init__(
        self, release: str = "3.9", processor: type[ControllerEventProcessor] = ControllerEventProcessor
    ) -> None:
        super().__init__()
        self.design = control_design_of(release)
        self.context = ControllerContext(InMemoryContext(partition_assignments=self._of_partitions()))
        self.batches = [
            ControllerBrokerRequestBatch(BROKER, self.context, self._send, InMemoryBatch(), self.design)
            for _ in range(3)
        ]
        self.channels = ReleaseChannels(self, self.design)
        self.processor = processor(
            PartitionStateMachine(self.context, self.batches[0], self.design, log=None),
            ReplicaStateMachine(self.context, self.batches[1], self.design, log=None),
            self.batches[2],
            self.channels,
            lambda event: self.queue.append(event),
            reassignment_targets=self._of_partitions(),
        )
        vars(self.processor).update(
            mute_partition_modifications=self._mute, watch_isr=self._watch_isr, unwatch_isr=self._unwatch_isr
        )
        self._muted: set[TopicName] = set()
        """Topics whose nodes are about to be deleted."""
        self._isrs: dict[ZkPath, TopicPartition] = {}
        """The states of partitions of which a change is an event."""
        self.active_controller = NO_CONTROLLER
        self.queue: list[Call] = [STARTUP]
        self.sent: dict[BrokerId, list[ControlRequest]] = {}
        self.unanswered: dict[BrokerId, list[Unanswered]] = {}
        self.answers_given: list[dict[str, Any]] = []
        self.handled: list[Call] = []
        self.kafkas: dict[str, Any] = {}
        """What was to be seen of Kafka last."""
        self._epochs: dict[int, int] = {}
        """The epochs under which brokers have been registered: Kafka's, and ours."""
        self._listens = False
        """Whether what comes of children is handled."""
        self._handled_nodes: set[ZkPath] = set()
        self._registers_handlers = False
        """The nodes whose creation is handled: all that it has asked for since it resigned."""
        self._watches: dict[str, dict[ZkPath, None]] = {"data": {}, "exist": {}, "child": {}}
        """What the client watches, in order."""
        self._seen_zxid = 0
        self._command: ControlCommand = {}
        self._asked: list[list[ZkPath]] = []
        self._number = 0
        own = self.zookeeper.create(SESSION, registration(BROKER), ephemeral=True)
        self.registered.append(own.stat.czxid)

    def _of_partitions(self) -> MutableMapping[TopicPartition, Any]:
        """A map that is gone through as Kafka's is: until 2.3 what is done one by one is done in its order."""
        return {} if self.design.kip_455 else Downwards()

    @property
    def is_active(self) -> bool:
        """Whether it takes itself for the controller."""
        return self.active_controller == BROKER

    # Both sides.

    def disagreements(self, command: ControlCommand, seen: Mapping[str, Any]) -> list[Disagreement]:
        """Carry out a command as Kafka has done: what is not the same then.

        Args:
            command: what both do.
            seen: what is to be seen of Kafka, as far as it is new.
        """
        self._command, self._asked, self._number = command, seen["asked"], 0
        for of_this_command in (self.sent, self.answers_given, self.handled):
            of_this_command.clear()
        try:
            self.perform(command)
            self.hear()
            for _ in range(command.get("handle", 0)):
                if not self.queue:
                    break
                self._handle(self.queue.pop(0))
            if self._number != len(self._asked):
                raise OtherRequests([], self._asked[self._number :])
        except OtherRequests as other:
            return [Disagreement("requests to ZooKeeper", other.ours, other.kafkas)]
        self._epochs = dict(zip(seen.get("registered", self._epochs), self.registered, strict=True))
        self.kafkas |= {name: WHOLE[name](value) for name, value in seen.items() if name in WHOLE}
        self.kafkas["live_broker_epochs"] = {
            broker: self._epochs.get(epoch, epoch) if "live_broker_epochs" in seen else epoch
            for broker, epoch in self.kafkas["live_broker_epochs"].items()
        }
        sent = self._requests(seen["sent"])
        if self.design.group_stop is not Stops.together:
            self._order_unanswered(sent)
        return [
            *different("events", list(map(event_name, self.handled)), list(map(decoded_event, seen["handled"]))),
            *(
                disagreement
                for name, value in self._seen().items()
                for disagreement in different(name, value, self.kafkas[name])
            ),
            *different("requests to brokers", stops_by_partition(self.sent), stops_by_partition(sent)),
            *different("answers", self.answers_given, list(map(unordered, seen["answers"]))),
        ]

    def _requests(self, sent: Mapping[str, Sequence[Any]]) -> dict[BrokerId, list[ControlRequest]]:
        return {
            broker: [each._replace(brokerEpoch=self._epochs.get(each.brokerEpoch, -1)) for each in requests]
            for broker, requests in decoded_requests(sent).items()
        }

    def _order_unanswered(self, sent: Mapping[BrokerId, Sequence[ControlRequest]]) -> None:
        """What has been sent now is answered in the order in which Kafka sent it.

        Until 2.2 replicas stop one by one, on each broker in the order of a hash map.
        """
        for broker, requests in sent.items():
            waiting = self.unanswered.get(broker, [])
            count = min(len(waiting), len(requests))
            new = [waiting.pop() for _ in range(count)][::-1]
            for request in requests[len(requests) - count :]:
                match = next((each for each in new if each.request == request), None)
                if match is not None:
                    new.remove(match)
                    waiting.append(match)
            waiting += new

    def _seen(self) -> dict[str, Any]:
        state = self.context.state
        live_brokers = dict(state.live_broker_epochs)
        if not self.design.broker_epoch:
            live_brokers = dict.fromkeys(live_brokers, UNKNOWN_BROKER_EPOCH)
        return {
            **of_context(state),
            "live_broker_epochs": live_brokers,
            "active": (self.is_active, self.active_controller),
            "being_reassigned": state.partitions_being_reassigned,
            "znodes": {
                path: (node.version, node_data(path, node.data))
                for path, node in self.zookeeper.state.nodes.items()
                if path.startswith(SEEN)
            },
            "queue": list(map(event_name, self.queue)),
            "left_in_batches": [
                (
                    batch.state.leader_and_isr,
                    batch.state.stop_replica,
                    batch.state.update_metadata,
                    batch.state.update_metadata_brokers,
                )
                for batch in self.batches
            ],
        }

    # Its channels to brokers.

    def _send(self, broker: BrokerId, request: ControlRequest) -> None:
        self.channels.require()
        self.sent.setdefault(broker, []).append(request)
        awaited = isinstance(request, StopReplicaRequest) and is_awaited(broker, request, self.context)
        self.unanswered.setdefault(broker, []).append(Unanswered(request, awaited))

    def startup(self, brokers: Sequence[BrokerId]) -> None:
        """There are channels to these."""

    def shutdown(self) -> None:
        """There are none any more."""
        self.unanswered.clear()

    def add_broker(self, broker: BrokerId) -> None:
        """There is one more."""

    def remove_broker(self, broker: BrokerId) -> None:
        """There is one less."""
        self.unanswered.pop(broker, None)

    # Commands: what brokers and administrators ask of it, and answer.

    def answer(self, broker: BrokerId, errors: Mapping[str, int]) -> None:
        """A broker answers all that it has been sent.

        Args:
            broker: its id.
            errors: the codes of partitions that fail, by their names; of all together under "all".
        """
        for request, awaited in self.unanswered.pop(broker, ()):
            response = response_to(request, errors)
            if response is not None:
                received = response_received(broker, request, response, self.context, self.design, awaited)
                event = None if received is None else event_of(received)
                if event is not None:
                    self.queue.append(event)

    def shut_down(self, broker: BrokerId, epoch: str) -> None:
        """A broker asks to be let go, under its present epoch, an old one, or none."""
        there = self.zookeeper.exists(None, registration(broker))
        known = UNKNOWN_BROKER_EPOCH if there is None else there.czxid
        epochs = {"unknown": UNKNOWN_BROKER_EPOCH, "old": 0}
        self.queue.append(call(self.processor.process_controlled_shutdown, broker, epochs.get(epoch, known)))

    def elect(self, partitions: Sequence[str], type: str) -> None:
        """An administrator asks for leaders."""
        self.queue.append(
            call(
                self.processor.process_replica_leader_election,
                tuple(map(parsed, partitions)),
                ElectionType[type],
                ElectionTrigger.AdminClientTriggered,
            )
        )

    def reassign(self, targets: Mapping[str, Sequence[BrokerId] | None]) -> None:
        """An administrator asks for partitions to move, or not to move any more."""
        asked = tuple(
            (parsed(partition), None if target is None else tuple(target)) for partition, target in targets.items()
        )
        self.queue.append(call(self.processor.process_api_partition_reassignment, asked))

    def rebalance(self) -> None:
        """It is time to rebalance."""
        self.queue.append(call(self.processor.process_auto_preferred_replica_leader_election))

    def permit_unclean(self, topic: TopicName | None) -> None:
        """Unclean elections are permitted, of a topic or by default."""
        arguments = () if topic is None else (topic,)
        self.queue.append(Call(Processor.process_unclean_leader_election_enable.__name__, arguments))

    def alter_partition(
        self,
        broker: BrokerId,
        isrs: Mapping[str, Sequence[BrokerId]],
        epoch_off: int,
        leader_epoch_off: int,
        partition_epoch_off: int,
        recovery: int,
    ) -> None:
        """A broker asks for ISRs, as one that knows what stands in ZooKeeper, or is so far off; since 2.7."""
        if not self.design.alter_partition:
            return
        there = self.zookeeper.exists(None, registration(broker))
        epoch = UNKNOWN_BROKER_EPOCH if there is None else there.czxid + epoch_off
        asked = tuple(
            self._asked_isr(parsed(name), tuple(isr), leader_epoch_off, partition_epoch_off, recovery)
            for name, isr in isrs.items()
        )
        self.queue.append(call(self.processor.process_alter_partition, AlterPartitionRequest(broker, epoch, asked)))

    def _asked_isr(
        self,
        partition: TopicPartition,
        isr: tuple[BrokerId, ...],
        leader_epoch_off: int,
        partition_epoch_off: int,
        recovery: int,
    ) -> AlterPartitionData:
        path = topic_partition_state_path(partition)
        leader_epoch, version = 0, 0
        if path in self.zookeeper.state.nodes:
            state, stat = self.zookeeper.get(None, path)
            leader_epoch, version = state.leader_and_isr.leader_epoch, stat.version
        return AlterPartitionData(
            partition.topic,
            partition.partition,
            leader_epoch + leader_epoch_off,
            isr,
            LeaderRecoveryState(recovery if self.design.leader_recovery else 0),
            version + partition_epoch_off,
        )

    # What it hears.

    def hear(self) -> None:
        """Watches have told something."""
        self._muted &= self.context.state.all_topics
        while (event := self.zookeeper.take(SESSION)) is not None:
            for watched in self._watches.values() if event.type is EventType.NodeDeleted else self._told_by(event):
                watched.pop(event.path, None)
            made = self._event_of(event)
            if made is not None:
                self.queue.append(made)

    def _mute(self, topic: TopicName) -> None:
        self._muted.add(topic)

    def _watch_isr(self, partition: TopicPartition) -> None:
        if not self.design.alter_partition:
            self._isrs[topic_partition_state_path(partition)] = partition

    def _unwatch_isr(self, partition: TopicPartition) -> None:
        self._isrs.pop(topic_partition_state_path(partition), None)

    def _told_by(self, event: Event) -> Sequence[dict[ZkPath, None]]:
        if event.type is EventType.NodeChildrenChanged:
            return (self._watches["child"],)
        return self._watches["data"], self._watches["exist"]

    def learn(self, request: ZkRequest, response: ZkResponse) -> None:
        """The client has a watch, if it asked for one, and has seen all up to now."""
        self._seen_zxid = self.zookeeper.state.zxid
        match request:
            case Exists(path, True):
                self._watches["data" if response.code is Code.OK else "exist"][path] = None
            case GetData(path, True) if response.code is Code.OK:
                self._watches["data"][path] = None
            case GetChildren(path, True) if response.code is Code.OK:
                self._watches["child"][path] = None

    def lose_connection(self) -> None:
        """With it the server forgets the watches."""
        self.zookeeper.disconnect(SESSION)

    def reconnect(self) -> None:
        """The client tells which it has."""
        data, exist, child = (tuple(self._watches[kind]) for kind in ("data", "exist", "child"))
        self.zookeeper.set_watches(SESSION, self._seen_zxid, data, exist, child)

    def _event_of(self, told: Event) -> Call | None:
        if told.path == CONTROLLER:
            return REELECT if told.type is EventType.NodeDeleted else CONTROLLER_CHANGE
        handler: Callable[[], Any] | None = None
        if told.type is EventType.NodeChildrenChanged and told.path in CHILDREN and self._listens:
            handler = CHILDREN[told.path](self.processor)
        elif told.type is EventType.NodeCreated and told.path in self._handled_nodes:
            handler = NODES[told.path](self.processor)
        elif told.type is EventType.NodeDataChanged and told.path in self._isrs:
            return call(self.processor.process_partition_reassignment_isr_change, self._isrs[told.path])
        elif told.type is EventType.NodeDataChanged and told.path.startswith(f"{TOPICS}/"):
            topic = told.path.removeprefix(f"{TOPICS}/")
            if topic in self.context.state.all_topics - self._muted:  # for each of which there is a handler
                return call(self.processor.process_partition_modifications, topic)
        return None if handler is None else Call(handler.__name__)

    # What it does.

    def _handle(self, event: Call) -> None:
        self.handled.append(event)
        if event == STARTUP:
            self._expect_controller()
            self._elect()
        elif event == CONTROLLER_CHANGE:
            self._maybe_resign()
        elif event == REELECT:
            self._maybe_resign()
            self._elect()
        elif self.is_active:
            self._finish(self._drive(event))
        else:
            self._refuse(event)
        self.hear()

    def _finish(self, processed: Processed) -> None:
        if processed.moves:
            self._trigger_controller_move()
        if processed.failure is EventFailure.ControllerMoved:
            self._maybe_resign()

    def _refuse(self, event: Call) -> None:
        """Who asks one that is not controller is told so."""
        match EVENTS[event.method]:
            case "ControlledShutdown":
                self._answer(event, EventFailure.ControllerMoved)
            case "ReplicaLeaderElection" if event.arguments:
                asked: Sequence[TopicPartition] = event.arguments[0]
                self._answer(event, tuple((partition, Errors.NOT_CONTROLLER) for partition in asked))
            case "ApiPartitionReassignment":
                self._answer(event, ())
            case "AlterPartitionReceived":
                self._answer(event, AlterPartitionResponse(Errors.NOT_CONTROLLER))

    def _drive(self, event: Call) -> Processed:
        """An event is processed, batch by batch."""
        self._registers_handlers = event.method in REGISTER_HANDLERS
        processing = self.processor.process(event)
        while isinstance(processing, Processing):
            requests = self.processor.requests(processing)
            if not requests:
                processing = self.processor.answered(processing, ())
                continue
            machine = self.processor.machine_of(processing.awaits.what)
            if machine is not None:
                what = in_order(machine, processing.awaits.what, self._next_asked())
                processing = processing._replace(awaits=processing.awaits._replace(what=what))
                requests = self.processor.requests(processing)
            processing = self.processor.answered(processing, self._ask(*requests))
        if processing.answer is not None:
            self._answer(event, processing.answer)
        return processing

    def _answer(self, event: Call, answer: Any) -> None:
        if event.method == ELECTION and not event.arguments:
            return  # the node that asked for it
        self.answers_given.append(answer_told(event, answer))

    def _next_asked(self) -> list[ZkPath]:
        return self._asked[self._number] if self._number < len(self._asked) else []

    def _watched(self, request: ZkRequest) -> ZkRequest:
        """The request with a watch if there is a handler for its path, as Kafka's client asks it [shouldWatch].

        Until 2.6 the state of a partition that moves has one. A controller that leads without a failover, since it
        believed what an operator wrote, has none for reassignments by node until it processes one.
        """
        if isinstance(request, GetData) and request.path in self._isrs:
            return request._replace(watch=True)
        if isinstance(request, Exists) and request.path in NODES:
            if self._registers_handlers:  # [registerZNodeChangeHandlerAndCheckExistence]
                self._handled_nodes.add(request.path)
            return request._replace(watch=request.path in self._handled_nodes)
        return request

    def _ask(self, *asked_for: ZkRequest) -> tuple[ZkResponse, ...]:
        """Make a batch of requests, in the order in which Kafka made them."""
        requests = tuple(map(self._watched, asked_for))
        asked = self._asked[self._number] if self._number < len(self._asked) else []
        places: dict[ZkPath, list[int]] = {}
        for at, request in enumerate(requests):
            places.setdefault(path_of(request), []).append(at)
        if sorted(asked) != sorted(map(path_of, requests)):
            raise OtherRequests(sorted(map(path_of, requests)), sorted(asked))
        order = [places[path].pop(0) for path in asked]
        responses = self.answers([requests[at] for at in order], self._command, self._number)
        self._number += 1
        return tuple(response for _, response in sorted(zip(order, responses, strict=True), key=itemgetter(0)))

    # Who is controller.

    def _expect_controller(self) -> None:
        self._ask(Exists(CONTROLLER, watch=True))

    def _controller_id(self) -> BrokerId:
        (response,) = self._ask(GetData(CONTROLLER, watch=True))
        return NO_CONTROLLER if response.data is None else response.data

    def _maybe_resign(self) -> None:
        was_active = self.is_active
        self._expect_controller()
        self.active_controller = self._controller_id()
        if was_active and not self.is_active:
            self._resign()

    def _resign(self) -> None:
        self._listens = False
        self._handled_nodes.clear()
        self._muted.clear()
        self._isrs.clear()
        self.processor.on_controller_resignation()

    def _elect(self) -> None:
        self.active_controller = self._controller_id()
        if self.active_controller != NO_CONTROLLER:
            return
        try:
            if not (self._register_controller() if self.design.fence_zk else self._create_controller()):
                return
        except RequestFailed:
            self._trigger_controller_move()
            return
        self._listens = True
        processed = self._drive(call(self.processor.on_controller_failover))
        if processed.moves or processed.failure not in (None, EventFailure.ControllerMoved):
            self._trigger_controller_move()
        elif processed.failure is EventFailure.ControllerMoved:
            self._maybe_resign()

    def _register_controller(self) -> bool:
        """/controller is created as the epoch is incremented [registerControllerAndIncrementControllerEpoch, 2.1]."""
        (known,) = self._ask(GetData(CONTROLLER_EPOCH))
        if known.code is Code.NONODE:  # [maybeCreateControllerEpochZNode]
            (created,) = self._ask(Create(CONTROLLER_EPOCH, INITIAL_EPOCH))
            known = known._replace(data=INITIAL_EPOCH, version=0)
            if created.code is not Code.OK:
                known = self._there(GetData(CONTROLLER_EPOCH))
        epoch = known.data + 1
        creation = Create(CONTROLLER, BROKER, ephemeral=True)
        (elected,) = self._ask(Multi((creation, SetData(CONTROLLER_EPOCH, epoch, known.version))))
        if elected.code is Code.NONODE:
            raise RequestFailed(elected.code)
        if elected.code is not Code.OK and not self._was_elected(epoch):
            self._maybe_resign()
            return False
        self._takes_over(epoch, known.version + 1)
        return True

    def _create_controller(self) -> bool:
        """Before, /controller was created, and then the epoch incremented [checkedEphemeralCreate, until 2.0]."""
        (created,) = self._ask(Create(CONTROLLER, BROKER, ephemeral=True))
        while created.code is Code.NODEEXISTS:
            (there,) = self._ask(GetData(CONTROLLER))
            if there.code is Code.OK and self.zookeeper.get(None, CONTROLLER)[1].ephemeralOwner == SESSION:
                break
            if there.code is Code.OK:
                self.active_controller = self._controller_id()
                return False
            (created,) = self._ask(Create(CONTROLLER, BROKER, ephemeral=True))
        self.active_controller = BROKER
        (known,) = self._ask(GetData(CONTROLLER_EPOCH))
        if known.code is Code.NONODE:
            known = known._replace(data=self.context.state.epoch, version=self.context.state.epoch_zk_version)
        (incremented,) = self._ask(SetData(CONTROLLER_EPOCH, known.data + 1, known.version))
        if incremented.code is Code.NONODE:
            (incremented,) = self._ask(Create(CONTROLLER_EPOCH, FIRST_EPOCH))
            known = known._replace(data=FIRST_EPOCH - 1)
            incremented = incremented._replace(version=FIRST_EPOCH_ZK_VERSION)
        if incremented.code is not Code.OK:
            self._trigger_controller_move()
            return False
        self._takes_over(known.data + 1, incremented.version)
        return True

    def _there(self, read: GetData) -> ZkResponse:
        """What a node holds that has to be there.

        Raises:
            RequestFailed: it is not [IllegalStateException].
        """
        (response,) = self._ask(read)
        if response.code is not Code.OK:
            raise RequestFailed(response.code)
        return response

    def _takes_over(self, epoch: ControllerEpoch, version: ZkVersion) -> None:
        self.active_controller = BROKER
        self.context.state.epoch, self.context.state.epoch_zk_version = epoch, version

    def _was_elected(self, epoch: int) -> bool:
        """Whether it was its own request that created /controller, whose reply was lost [checkControllerAndEpoch]."""
        if self._controller_id() != BROKER:
            return False
        return bool(self._there(GetData(CONTROLLER_EPOCH)).data == epoch)

    def _trigger_controller_move(self) -> None:
        if not self.design.fence_zk:
            self.active_controller = NO_CONTROLLER
            self._resign()
            self._ask(Delete(CONTROLLER))
            return
        version = self.context.state.epoch_zk_version
        self.active_controller = self._controller_id()
        if self.is_active:
            self.active_controller = NO_CONTROLLER
            self._resign()
            self._ask(Multi((Check(CONTROLLER_EPOCH, version), Delete(CONTROLLER))))


SEEN: Final = (
    *(CONTROLLER_EPOCH, CONTROLLER, TOPICS, "/config/topics", "/admin"),
    *(ISR_CHANGE_NOTIFICATION, LOG_DIR_EVENT_NOTIFICATION),
)
"""Where the nodes are that are compared."""


def event_name(event: Call) -> tuple[Any, ...]:
    """An event as Kafka calls it, with what it says of topics, partitions and brokers."""
    name, arguments = EVENTS[event.method], event.arguments
    match name:
        case "UncleanLeaderElectionEnable" if arguments:
            return "TopicUncleanLeaderElectionEnable", *arguments
        case "ReplicaLeaderElection" | "ApiPartitionReassignment" | "AlterPartitionReceived":
            return (name,)
        case "LeaderAndIsrResponseReceived":
            return name, arguments[1]
        case "ControlledShutdown" | "TopicDeletionStopReplicaResponseReceived":
            return name, arguments[0]
    return name, *map(str, arguments)


def node_data(path: ZkPath, data: Any) -> Any:
    """What a node holds; what has no order as a set."""
    unordered = path in (REASSIGN_PARTITIONS, PREFERRED_REPLICA_ELECTION) or path.startswith(ISR_CHANGE_NOTIFICATION)
    return frozenset(data) if unordered and data is not None else data


def response_to(request: ControlRequest, errors: Mapping[str, int]) -> ControlResponse | None:
    """What a broker answers; None: that would only be logged."""
    if isinstance(request, UpdateMetadataRequest):
        return None
    partitions = tuple(
        (partition, Errors(errors.get(str(partition), 0)))
        for partition in (TopicPartition(each.topicName, each.partitionIndex) for each in request.partitionStates)
    )
    kind = LeaderAndIsrResponse if isinstance(request, LeaderAndIsrRequest) else StopReplicaResponse
    assert isinstance(request, LeaderAndIsrRequest | StopReplicaRequest)
    return kind(Errors(errors.get("all", 0)), partitions)


def unordered(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer whose partitions have no order, with these in order."""
    return {"leads": sorted(answer["leads"])} if "leads" in answer else answer


def answer_told(event: Call, answer: Any) -> dict[str, Any]:
    """An answer in JSON."""
    if isinstance(answer, EventFailure):
        return {"failed": FAILURES[answer]}
    if EVENTS[event.method] == "ControlledShutdown":
        return {"leads": sorted(map(str, answer))}
    if isinstance(answer, AlterPartitionResponse):
        partitions = {str(partition): outcome_told(outcome) for partition, outcome in answer.partitions}
        return {"error": answer.errorCode.name, "partitions": partitions}
    return {str(partition): outcome_told(outcome) for partition, outcome in answer}


def outcome_told(outcome: Any) -> Any:
    """What came of a partition, in JSON."""
    match outcome:
        case Errors():
            return outcome.name
        case LeaderAndIsr():
            leader, epoch, isr, recovery, version = outcome
            return [leader, epoch, list(isr), recovery.value, version]
    return outcome
