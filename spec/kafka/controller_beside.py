"""Our whole controller beside Kafka's own: both meet the same events, and are compared after each command.

    commands = [{"do": "register", "brokers": [1, 2], "handle": 8}, {"do": "create_topic", ..., "handle": 8}, ...]
    with RealController("3.9.1") as kafka:
        for sequence, answers in kafka.of("Events", [commands]):
            ours = ControllerBeside()
            for command, seen in zip(sequence, answers, strict=True):
                assert ours.disagreements(command, seen) == []

A command is JSON, `{"do": ...}` with its arguments: something that others do in ZooKeeper (`ScriptedCluster`), or a
request to the controller (`ControllerBeside`). Watches turn it into events. The controller then processes up to
`handle` events; the rest wait. `meanwhile` is as in `spec.kafka.state_machines_beside`, with batches counted across
all events of the command.

The other side is Kafka's KafkaController with all its parts, except that its thread is not started, its channels to
brokers lead nowhere, and its client asks a real ZooKeeper server in the same call. Ours is
`statemachines.controller.kafka_controller`, over our own ZooKeeper.

The controller is broker 9. The epochs of other brokers' registrations are compared by their order, not by zxid.
"""

from __future__ import annotations

from collections import UserDict, deque
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

from election.ids import BrokerId
from spec.kafka.control_values import WHOLE, decoded_event, decoded_requests, of_context, parsed, stops_by_partition
from spec.kafka.scripted_cluster import (
    SESSION,
    ControlCommand,
    Disagreement,
    OtherRequests,
    ScriptedCluster,
    different,
    in_order,
    path_of,
)
from spec.kafka.state_machines_beside import CONTROLLER as BROKER
from statemachines.changes.control import Stops
from statemachines.controller.alter_partition import AlterPartitionData, AlterPartitionRequest, AlterPartitionResponse
from statemachines.controller.calls import Call, EventFailed, EventFailure, call
from statemachines.controller.context import InMemoryContext
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.control_responses import (
    ControlResponse,
    LeaderAndIsrResponse,
    StopReplicaResponse,
    is_awaited,
    response_received,
)
from statemachines.controller.controller_process import ControllerProcess
from statemachines.controller.design import CONTROLLER, CONTROLLER_EPOCH, Design, registration
from statemachines.controller.event_driver import ReleaseChannels
from statemachines.controller.event_processor import ControllerEventProcessor, event_of
from statemachines.controller.kafka_controller import KafkaController, QueuedEvent
from statemachines.controller.metrics import context_of, gauges_of, update_metrics
from statemachines.controller.partition_state_machine import PartitionStateMachine
from statemachines.controller.replica_leader_election import ElectionTrigger, ElectionType
from statemachines.controller.replica_state_machine import ReplicaStateMachine
from statemachines.controller.request_batch import ControllerBrokerRequestBatch, InMemoryBatch, RequestsNotSent
from statemachines.controller.threads import IDLE, ControllerEvent, Queued
from statemachines.controller.zk_requests import (
    Exists,
    GetChildren,
    GetData,
    StateRequests,
    ZkRequest,
    ZkResponse,
)
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
from statemachines.messages.zk_data import (
    ISR_CHANGE_NOTIFICATION,
    LOG_DIR_EVENT_NOTIFICATION,
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    TOPICS,
    topic_partition_state_path,
)
from statemachines.zookeeper.server import Event, Multi, ZooKeeper
from statemachines.zookeeper.tree import (
    BadVersion,
    Check,
    Code,
    Create,
    Created,
    EventType,
    NodeExists,
    NoNode,
    Operation,
    OpResult,
    SessionExpired,
    SessionId,
    Stat,
    ZkPath,
)

RELEASES: Final = ("1.1.1", "2.2.2", "2.4.1", "2.8.2", "3.9.1")
"""The releases whose whole controllers can run."""

Processor = ControllerEventProcessor
EVENTS: Final[Mapping[str, str]] = {
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
"""The handlers of events, with Kafka's names for the events."""

ELECTION: Final = Processor.process_replica_leader_election.__name__

FAILURES: Final[Mapping[Any, str]] = {
    EventFailure.ControllerMoved: "ControllerMovedException",
    EventFailure.IllegalState: "IllegalStateException",
    EventFailure.UnknownBroker: "NoSuchElementException",
    EventFailure.StaleBrokerEpoch: "StaleBrokerEpochException",
    EventFailure.BrokerNotAvailable: "BrokerNotAvailableException",
}
"""The exceptions with which a controlled shutdown is refused."""


class DescendingDict(UserDict[TopicPartition, Any]):
    """A map that iterates from its last partition to its first.

    Scala's maps do so until 2.4, if partitions have the names that `tests.kafka.event_sequences` gives them.
    """

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(sorted(self.data, reverse=True))


class PendingRequest(NamedTuple):
    """A request that was sent to a broker and not yet answered."""

    request: ControlRequest
    awaited: bool
    """Until 2.2: whether it is a StopReplica whose reply continues a topic's deletion."""


class ControllerBeside(ScriptedCluster):
    """Our side: a broker that may become controller, with its queue of events.

    Args:
        release: whose rules apply.
        processor: the class that processes events; a test can substitute a mutant.
        controller: the class that is elected and owns the processor.
        changes: values of the release's design that differ, such as proposals.
    """

    def __init__(
        self,
        release: str = "3.9",
        processor: type[ControllerEventProcessor] = ControllerEventProcessor,
        controller: type[KafkaController] = KafkaController,
        **changes: Any,
    ) -> None:
        super().__init__()
        self.release, self.design = release, ControlDesign(release).but(**changes)
        self.context = context_of(self.design, release, InMemoryContext(partition_assignments=self._of_partitions()))
        self.batches = [
            ControllerBrokerRequestBatch(BROKER, self.context, self._send, InMemoryBatch(), self.design)
            for _ in range(3)
        ]
        self.channels = ReleaseChannels(self, self.design)
        self.controller = controller(
            Design(release),
            self._servers(),
            BROKER,
            processor(
                PartitionStateMachine(self.context, self.batches[0], self.design, log=None),
                ReplicaStateMachine(self.context, self.batches[1], self.design, log=None),
                self.batches[2],
                self.channels,
                reassignment_targets=self._of_partitions(),
            ),
            lambda requests: self._ask(*requests),
            self._answer,
        )
        self.controller.me = ControllerProcess(IDLE, SESSION, registration=SESSION)
        self.controller.put(Queued(ControllerEvent.Startup))
        self.processor = self.controller.events
        self.sent: dict[BrokerId, list[ControlRequest]] = {}
        self.unanswered: dict[BrokerId, list[PendingRequest]] = {}
        self.answers_given: list[dict[str, Any]] = []
        self.handled: list[QueuedEvent] = []
        self.asked: list[list[ZkPath]] = []
        """The paths of its requests to ZooKeeper, batch by batch."""
        self.shown: dict[str, int] = {}
        """Its gauges, by their full names."""
        self.kafkas: dict[str, Any] = {}
        """Kafka's latest observed state."""
        self._epochs: dict[int, int] = {}
        """The epochs under which brokers have registered: Kafka's to ours."""
        self._watches: dict[str, dict[ZkPath, None]] = {"data": {}, "exist": {}, "child": {}}
        """The watches of the client, in order."""
        self._seen_zxid = 0
        self._command: ControlCommand = {}
        self._kafkas_asked: list[list[ZkPath]] | None = None
        """Those of Kafka, whose order within a batch ours follows; None: it follows nobody."""
        self.update_metrics()
        own = self.zookeeper.create(SESSION, registration(BROKER), ephemeral=True)
        self.registered.append(own.stat.czxid)

    def _servers(self) -> ZooKeeper:
        """The ZooKeeper that the controller asks."""
        return ScriptedZooKeeper(self)

    def _of_partitions(self) -> MutableMapping[TopicPartition, Any]:
        """A map that iterates as Kafka's does. Until 2.3 its order decides the order of steps per partition."""
        return {} if self.design.kip_455 else DescendingDict()

    @property
    def is_active(self) -> bool:
        """Whether it considers itself the controller."""
        return self.controller.active

    @property
    def queue(self) -> deque[QueuedEvent]:
        """The waiting events."""
        return self.controller.queue

    # Both sides.

    def disagreements(self, command: ControlCommand, seen: Mapping[str, Any]) -> list[Disagreement]:
        """Carry out a command that Kafka has carried out, and report the differences.

        `seen` has the parts of Kafka's observed state that have changed.
        """
        asked = self._kafkas_asked = seen["asked"]
        try:
            self.carry_out(command)
            if len(self.asked) != len(asked):
                raise OtherRequests([], asked[len(self.asked) :])
        except OtherRequests as other:
            return [Disagreement("requests to ZooKeeper", other.ours, other.kafkas)]
        self._epochs = dict(zip(seen.get("registered", self._epochs), self.registered, strict=True))
        self.kafkas |= {name: WHOLE[name](value) for name, value in seen.items() if name in WHOLE}
        self.kafkas["live_broker_epochs"] = {
            broker: self._epochs.get(epoch, epoch) if "live_broker_epochs" in seen else epoch
            for broker, epoch in self.kafkas["live_broker_epochs"].items()
        }
        sent = self._requests(seen["sent"])
        if self.design.stop_replica_grouping is not Stops.together:
            self._order_unanswered(sent)
        return [
            *different("events", list(map(event_name, self.handled)), list(map(decoded_event, seen["handled"]))),
            *(
                disagreement
                for name, value in self.seen().items()
                for disagreement in different(name, value, self.kafkas[name])
            ),
            *different("requests to brokers", stops_by_partition(self.sent), stops_by_partition(sent)),
            *different("answers", self.answers_given, list(map(unordered, seen["answers"]))),
        ]

    def carry_out(self, command: ControlCommand) -> None:
        """Carry out a command, and process so many events."""
        self._command = command
        for of_this_command in (self.sent, self.answers_given, self.handled, self.asked):
            of_this_command.clear()
        self.perform(command)
        self.hear()
        for _ in range(command.get("handle", 0)):
            if not self.queue or not self.controller.is_running:
                break
            self._handle()

    def _requests(self, sent: Mapping[str, Sequence[Any]]) -> dict[BrokerId, list[ControlRequest]]:
        return {
            broker: [each._replace(brokerEpoch=self._epochs.get(each.brokerEpoch, -1)) for each in requests]
            for broker, requests in decoded_requests(sent).items()
        }

    def _order_unanswered(self, sent: Mapping[BrokerId, Sequence[ControlRequest]]) -> None:
        """Brokers answer the requests of this command in the order in which Kafka sent them.

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

    def seen(self) -> dict[str, Any]:
        """Its state, by the names of Kafka's observed state."""
        state = self.context.state
        live_brokers = dict(state.live_broker_epochs)
        if not self.design.broker_epoch:
            live_brokers = dict.fromkeys(live_brokers, UNKNOWN_BROKER_EPOCH)
        return {
            **of_context(state),
            "live_broker_epochs": live_brokers,
            "active": (self.is_active, self.controller.active_controller_id),
            **({"gauges": self._gauges()} if self.controller.is_running else {}),
            "stats": tuple(meter.count for meter in self.controller.stats.metrics().values()),
            "being_reassigned": state.partitions_being_reassigned,
            "znodes": {
                path: (node.version, node_data(path, node.data))
                for path, node in self.zookeeper.state.nodes.items()
                if path.startswith(SEEN)
            },
            "queue": list(map(event_name, self.queue)),
            "checks": sorted(self.controller.rebalance_timer.due_in),
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

    def _gauges(self) -> dict[str, int]:
        """By Kafka's field names; without a gauge that cannot be read. After a shutdown a controller shows none."""
        names = {each.object_name: each.field for each in gauges_of(self.release) if each.field}
        return {names[name]: value for name, value in self.shown.items() if name in names}

    # Its channels to brokers.

    def _send(self, broker: BrokerId, request: ControlRequest) -> None:
        try:
            self.channels.require()
        except EventFailed as there_are_none:
            raise RequestsNotSent(f"no channel to broker {broker}") from there_are_none
        self.sent.setdefault(broker, []).append(request)
        awaited = isinstance(request, StopReplicaRequest) and is_awaited(broker, request, self.context)
        self.unanswered.setdefault(broker, []).append(PendingRequest(request, awaited))

    def startup(self, brokers: Sequence[BrokerId]) -> None:
        """Open channels to these brokers."""

    def shutdown(self) -> None:
        """Close all channels."""
        self.unanswered.clear()

    def add_broker(self, broker: BrokerId) -> None:
        """Open a channel to another broker."""

    def remove_broker(self, broker: BrokerId) -> None:
        """Close the channel to a broker."""
        self.unanswered.pop(broker, None)

    # Commands: what brokers and administrators request of it, and brokers' replies.

    def answer(self, broker: BrokerId, errors: Mapping[str, int]) -> None:
        """A broker answers every request that it has received.

        Args:
            broker: its id.
            errors: error codes by partition name; the code of the whole response under "all".
        """
        for request, awaited in self.unanswered.pop(broker, ()):
            response = response_to(request, errors)
            if response is not None:
                received = response_received(broker, request, response, self.context, self.design, awaited)
                event = None if received is None else event_of(received)
                if event is not None:
                    self.controller.put(event)

    def shut_down(self, broker: BrokerId, epoch: str) -> None:
        """A broker requests a controlled shutdown, under its present epoch, an old one, or none."""
        there = self.zookeeper.exists(None, registration(broker))
        known = UNKNOWN_BROKER_EPOCH if there is None else there.czxid
        epochs = {"unknown": UNKNOWN_BROKER_EPOCH, "old": 0}
        self.controller.put(call(self.processor.process_controlled_shutdown, broker, epochs.get(epoch, known)))

    def stop(self) -> None:
        """Its own broker shuts down in order."""
        self.controller.shutdown()

    def elect(self, partitions: Sequence[str], type: str) -> None:
        """An administrator requests elections."""
        self.controller.put(
            call(
                self.processor.process_replica_leader_election,
                tuple(map(parsed, partitions)),
                ElectionType[type],
                ElectionTrigger.AdminClientTriggered,
            )
        )

    def reassign(self, targets: Mapping[str, Sequence[BrokerId] | None]) -> None:
        """An administrator requests reassignments, or cancels them."""
        asked = tuple(
            (parsed(partition), None if target is None else tuple(target)) for partition, target in targets.items()
        )
        self.controller.put(call(self.processor.process_api_partition_reassignment, asked))

    def rebalance(self) -> None:
        """The timer of the preferred-leader check fires."""
        self.controller.put(call(self.processor.process_auto_preferred_replica_leader_election))

    def check_is_due(self) -> None:
        """The automatic check of preferred leaders is due, if one is scheduled."""
        if self.controller.rebalance_timer.due_in:
            self.controller.rebalance()

    def permit_unclean(self, topic: TopicName | None) -> None:
        """Unclean elections are enabled, for a topic or by default."""
        arguments = () if topic is None else (topic,)
        self.controller.put(Call(Processor.process_unclean_leader_election_enable.__name__, arguments))

    def alter_partition(
        self,
        broker: BrokerId,
        isrs: Mapping[str, Sequence[BrokerId]],
        epoch_off: int,
        leader_epoch_off: int,
        partition_epoch_off: int,
        recovery: int,
    ) -> None:
        """A broker requests ISRs, with the version that it read in ZooKeeper, or one off by so much; since 2.7."""
        if not self.design.alter_partition:
            return
        there = self.zookeeper.exists(None, registration(broker))
        epoch = UNKNOWN_BROKER_EPOCH if there is None else there.czxid + epoch_off
        asked = tuple(
            self._asked_isr(parsed(name), tuple(isr), leader_epoch_off, partition_epoch_off, recovery)
            for name, isr in isrs.items()
        )
        self.controller.put(call(self.processor.process_alter_partition, AlterPartitionRequest(broker, epoch, asked)))

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
            partition,
            leader_epoch + leader_epoch_off,
            isr,
            LeaderRecoveryState(recovery if self.design.leader_recovery else 0),
            version + partition_epoch_off,
        )

    # The events that it receives.

    def hear(self) -> None:
        """Watches have fired."""
        self.controller.deliver_watch_events()

    def take(self) -> Event | None:
        """The next watch event; its watch is disarmed."""
        event = self.zookeeper.take(SESSION)
        if event is not None:
            fired = {EventType.NodeDeleted: ("data", "exist", "child"), EventType.NodeChildrenChanged: ("child",)}
            for kind in fired.get(event.type, ("data", "exist")):
                self._watches[kind].pop(event.path, None)
        return event

    def learn(self, request: ZkRequest, response: ZkResponse) -> None:
        """Record the client's watch, if the request set one. The client has now seen everything so far."""
        self._seen_zxid = self.zookeeper.state.zxid
        match request:
            case Exists(path, True):
                self._watches["data" if response.code is Code.OK else "exist"][path] = None
            case GetData(path, True) if response.code is Code.OK:
                self._watches["data"][path] = None
            case GetChildren(path, True) if response.code is Code.OK:
                self._watches["child"][path] = None

    def lose_connection(self) -> None:
        """The server forgets the watches of the connection."""
        self.zookeeper.disconnect(SESSION)

    def reconnect(self) -> None:
        """The client sends its watches to the server again."""
        data, exist, child = (tuple(self._watches[kind]) for kind in ("data", "exist", "child"))
        self.zookeeper.set_watches(SESSION, self._seen_zxid, data, exist, child)

    # The steps of the controller.

    def _handle(self) -> None:
        """Process the oldest event, batch by batch."""
        self.handled.append(self.queue[0])
        self.controller.advance()
        while self.controller.is_busy:
            self._order_change()
            self.controller.advance()
        self.update_metrics()
        self.hear()

    def update_metrics(self) -> None:
        """An event has been processed."""
        update_metrics(self.shown, self.context, self.is_active, self.design, self.release)

    def _order_change(self) -> None:
        """Put the next requests of a state change into Kafka's order."""
        processing = self.controller.processing
        awaits = None if processing is None else processing.awaits
        if processing is None or awaits is None or self._kafkas_asked is None:
            return
        if isinstance(awaits.what, StateRequests):
            ordered = in_order(awaits, self.processor.requests(awaits), self._next_of(self._kafkas_asked))
            self.controller.processing = processing._replace(awaits=ordered)

    def _answer(self, event: Call, answer: Any) -> None:
        if answer is None or (event.method == ELECTION and not event.arguments):  # a node requested it
            return
        self.answers_given.append(comparable_answer(event, answer))

    def _next_of(self, asked: Sequence[list[ZkPath]]) -> list[ZkPath]:
        return asked[len(self.asked)] if len(self.asked) < len(asked) else []

    def ask(self, request: ZkRequest) -> ZkResponse:
        """Send a request that is a batch of its own."""
        (response,) = self._ask(request)
        return response

    def _ask(self, *requests: ZkRequest) -> tuple[ZkResponse, ...]:
        """Send a batch of requests, in the order in which Kafka sent them, if that is known."""
        paths = list(map(path_of, requests))
        asked = paths if self._kafkas_asked is None else self._next_of(self._kafkas_asked)
        places: dict[ZkPath, list[int]] = {}
        for at, path in enumerate(paths):
            places.setdefault(path, []).append(at)
        if sorted(asked) != sorted(paths):
            raise OtherRequests(sorted(paths), sorted(asked))
        order = [places[path].pop(0) for path in asked]
        self.asked.append(asked)
        responses = self.answers([requests[at] for at in order], self._command, len(self.asked) - 1)
        return tuple(response for _, response in sorted(zip(order, responses, strict=True), key=itemgetter(0)))


class ScriptedZooKeeper(ZooKeeper):
    """The servers as seen by a controller that sends one request after another.

    Each request is a batch of its own of a `ControllerBeside`, which inserts what happens meanwhile.
    """

    def __init__(self, plane: ControllerBeside) -> None:
        super().__init__(plane.zookeeper.state)
        self._plane = plane

    def take(self, session: SessionId) -> Event | None:
        """The next watch event."""
        return self._plane.take()

    def exists(self, session: SessionId | None, path: ZkPath, watch: bool = False) -> Stat | None:
        """The stat of a node; None if it does not exist."""
        response = self._plane.ask(Exists(path, watch))
        return None if response.code is Code.NONODE else _stat(response)

    def get(self, session: SessionId | None, path: ZkPath, watch: bool = False) -> tuple[Any, Stat]:
        """The content of a node."""
        response = self._plane.ask(GetData(path, watch))
        if response.code is not Code.OK:
            raise ERRORS[response.code](path)
        return response.data, _stat(response)

    def create(
        self,
        session: SessionId | None,
        path: ZkPath,
        data: Any = None,
        *,
        ephemeral: bool = False,
        sequential: bool = False,
    ) -> Created:
        """Create a node."""
        response = self._plane.ask(Create(path, data, ephemeral, sequential))
        if response.code is not Code.OK:
            raise ERRORS[response.code](path)
        return Created(path, _stat(response))

    def multi(self, session: SessionId | None, operations: Iterable[Operation]) -> tuple[OpResult | Code, ...]:
        """Carry out all of these operations, or none; a single one is an ordinary request."""
        asked = tuple(operations)
        if len(asked) > 1:
            return self._plane.ask(Multi(asked)).results
        (operation,) = asked
        assert not isinstance(operation, Check)
        return (self._plane.ask(operation).code,)


ERRORS: Final = {error.code: error for error in (NoNode, NodeExists, BadVersion, SessionExpired)}


def _stat(response: ZkResponse) -> Stat:
    """The stat that a response implies."""
    return Stat(response.czxid, 0, 0, response.version, 0, 0, response.owner, 0, 0)


SEEN: Final = (
    *(CONTROLLER_EPOCH, CONTROLLER, TOPICS, "/config/topics", "/admin"),
    *(ISR_CHANGE_NOTIFICATION, LOG_DIR_EVENT_NOTIFICATION),
)
"""The parents of the nodes that are compared."""


def event_name(event: QueuedEvent) -> tuple[Any, ...]:
    """An event by Kafka's name, with its topics, partitions and brokers."""
    if isinstance(event, Queued):
        return (event.event.name,)
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
    """The content of a node; data without an order becomes a set."""
    unordered = path in (REASSIGN_PARTITIONS, PREFERRED_REPLICA_ELECTION) or path.startswith(ISR_CHANGE_NOTIFICATION)
    return frozenset(data) if unordered and data is not None else data


def response_to(request: ControlRequest, errors: Mapping[str, int]) -> ControlResponse | None:
    """A broker's response; None if the controller would only log it."""
    if isinstance(request, UpdateMetadataRequest):
        return None
    partitions = tuple(
        (each.partition, Errors(errors.get(str(each.partition), 0))) for each in request.partitionStates
    )
    kind = LeaderAndIsrResponse if isinstance(request, LeaderAndIsrRequest) else StopReplicaResponse
    assert isinstance(request, LeaderAndIsrRequest | StopReplicaRequest)
    return kind(Errors(errors.get("all", 0)), partitions)


def unordered(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer with its partitions sorted, if they have no order."""
    return {"leads": sorted(answer["leads"])} if "leads" in answer else answer


def comparable_answer(event: Call, answer: Any) -> dict[str, Any]:
    """An answer as JSON."""
    if isinstance(answer, EventFailure):
        return {"failed": FAILURES[answer]}
    if EVENTS[event.method] == "ControlledShutdown":
        return {"leads": sorted(map(str, answer))}
    if isinstance(answer, AlterPartitionResponse):
        partitions = {str(partition): comparable_outcome(outcome) for partition, outcome in answer.partitions}
        return {"error": answer.errorCode.name, "partitions": partitions}
    return {str(partition): comparable_outcome(outcome) for partition, outcome in answer}


def comparable_outcome(outcome: Any) -> Any:
    """The outcome for one partition, as JSON."""
    match outcome:
        case Errors():
            return outcome.name
        case LeaderAndIsr():
            leader, epoch, isr, recovery, version = outcome
            return [leader, epoch, list(isr), recovery.value, version]
    return outcome
