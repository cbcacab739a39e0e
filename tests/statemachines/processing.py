"""A cluster whose controller processes events: setup for the tests of its handlers.

Brokers register in sessions of their own, topics are created as an administrator does it, and the controller
takes over and learns of everything by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from statemachines.controller.calls import Call, EventWaiting
from statemachines.controller.context import ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.design import BROKER_IDS, registration
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.partition_state_machine import PartitionStateMachine
from statemachines.controller.replica_state_machine import ReplicaStateMachine
from statemachines.controller.request_batch import ControllerBrokerRequestBatch, InMemoryBatch
from statemachines.controller.state_change import EventDone
from statemachines.controller.zk_requests import ZkRequest, ZkResponse, retry_requests_until_connected
from statemachines.messages.control_requests import (
    ControlRequest,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from statemachines.messages.errors import Errors
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.messages.zk_data import (
    DELETE_TOPICS,
    ISR_CHANGE_NOTIFICATION,
    LOG_DIR_EVENT_NOTIFICATION,
    TopicAssignment,
    delete_topics_topic_path,
    topic_path,
)
from tests.statemachines.control import CONTROLLER, Cluster

PATHS = (BROKER_IDS, "/admin", DELETE_TOPICS, ISR_CHANGE_NOTIFICATION, LOG_DIR_EVENT_NOTIFICATION)


class Channels:
    """A record of the controller's calls to its channels, in order."""

    def __init__(self) -> None:
        self.said: list[tuple[str, Any]] = []

    def startup(self, brokers: Sequence[int]) -> None:
        self.said.append(("startup", tuple(brokers)))

    def shutdown(self) -> None:
        self.said.append(("shutdown", None))

    def add_broker(self, broker: int) -> None:
        self.said.append(("add", broker))

    def remove_broker(self, broker: int) -> None:
        self.said.append(("remove", broker))


class EventCluster(Cluster):
    """A ZooKeeper with brokers, and a controller of epoch 5 that processes events.

    Args:
        live: the registered brokers.
        design: that of the release.
        unclean: unclean leader election in the controller's configuration.
        processor, partitions, replicas: the classes, which may be mutants.
        delete_topic_enable: the configured value.
    """

    def __init__(
        self,
        live: Iterable[int] = (1, 2, 3),
        design: ControlDesign | None = None,
        unclean: bool = False,
        processor: type[ControllerEventProcessor] = ControllerEventProcessor,
        partitions: type[PartitionStateMachine] = PartitionStateMachine,
        replicas: type[ReplicaStateMachine] = ReplicaStateMachine,
        delete_topic_enable: bool = True,
    ) -> None:
        super().__init__((), design, unclean, partitions, replicas)
        for path in PATHS:
            self.zookeeper.create(None, path)
        self.sessions: dict[int, Any] = {}
        self.channels = Channels()
        self.queue: list[Call] = []
        self.kinds = (partitions, replicas, processor)
        self.unclean, self.delete_topic_enable = unclean, delete_topic_enable
        self.controller = self.made()
        for broker in live:
            self.register(broker)

    def made(self) -> ControllerEventProcessor:
        """A controller that knows only its epoch."""
        partitions, replicas, processor = self.kinds
        state = self.context.state
        epoch, version = state.epoch, state.epoch_zk_version
        self.context = ControllerContext()
        self.context.state.epoch, self.context.state.epoch_zk_version = epoch, version
        design = self.batch.design
        batches = [
            ControllerBrokerRequestBatch(CONTROLLER, self.context, self.send, InMemoryBatch(), design)
            for _ in range(3)
        ]
        self.partitions = partitions(self.context, batches[0], design, self.log.append, self.unclean)
        self.replicas = replicas(self.context, batches[1], design, self.log.append, self.unclean)
        self.batch = batches[2]
        return processor(
            self.partitions,
            self.replicas,
            self.batch,
            self.channels,
            self.queue.append,
            self.delete_topic_enable,
        )

    def send(self, broker: int, request: ControlRequest) -> None:
        """Record a request."""
        self.sent.append((broker, request))

    # Events elsewhere.

    def register(self, broker: int) -> None:
        """A broker starts."""
        self.sessions[broker] = (broker, self.zookeeper.state.zxid)
        self.zookeeper.connect(self.sessions[broker])
        self.zookeeper.create(self.sessions[broker], registration(broker), ephemeral=True)

    def die(self, *brokers: int) -> None:
        """Brokers end."""
        for broker in brokers:
            self.zookeeper.close(self.sessions.pop(broker))

    def create_topic(self, topic: str, *assignments: Sequence[int]) -> None:
        """An administrator creates a topic, with these brokers for each partition."""
        self.zookeeper.create(None, topic_path(topic), self.assignment(*assignments))

    def assignment(self, *assignments: Sequence[int]) -> TopicAssignment:
        """The data of a topic's node."""
        return TopicAssignment(
            tuple((number, ReplicaAssignment(tuple(brokers))) for number, brokers in enumerate(assignments))
        )

    def ask_to_delete(self, topic: str) -> None:
        """An administrator requests a topic's deletion."""
        self.zookeeper.create(None, delete_topics_topic_path(topic))

    def exists(self, path: str) -> bool:
        """Whether a node exists."""
        return self.zookeeper.exists(None, path) is not None

    def data(self, path: str) -> Any:
        """A node's data."""
        return self.zookeeper.get(None, path)[0]

    # The controller's events.

    def take_over(self, **interference: Any) -> EventDone:
        """The controller was elected; run its failover."""
        return self.process("on_controller_failover", **interference)

    def process(
        self,
        method: str,
        *arguments: Any,
        before: Mapping[int, Callable[[], object]] | None = None,
        lose: Mapping[int, tuple[int, int]] | None = None,
    ) -> EventDone:
        """Process an event to its end; see `Cluster.drive`."""
        processing: EventWaiting | EventDone = self.controller.process(Call(method, arguments))
        return self.drive(self.controller, processing, before, lose)

    def steps(self, method: str, *arguments: Any) -> Iterator[Callable[[], object]]:
        """Process an event batch by batch; the caller runs each yielded step, or does not."""
        processing = self.controller.process(Call(method, arguments))
        while isinstance(processing, EventWaiting):
            requests = self.controller.requests(processing.awaits)
            responses: list[ZkResponse] = []
            yield partial(self._serve, requests, responses)
            processing = self.controller.answered(processing, responses)

    def _serve(self, requests: Sequence[ZkRequest], responses: list[ZkResponse]) -> None:
        responses.extend(retry_requests_until_connected(self.zookeeper, None, requests))

    def quietly(self, method: str, *arguments: Any) -> None:
        """Process an event, and forget its requests."""
        assert self.process(method, *arguments).failure is None
        self.forget()

    def forget(self) -> None:
        """Forget all recorded requests and channel calls."""
        self.sent.clear()
        self.log.clear()
        self.channels.said.clear()

    def deleted(self, broker: int, *partitions: TopicPartition, error: Errors = Errors.NONE) -> EventDone:
        """A broker replies to StopReplica."""
        errors = tuple((partition, error) for partition in partitions)
        return self.process("process_topic_deletion_stop_replica_response_received", broker, Errors.NONE, errors)

    # Reading the result.

    def story(self) -> list[str]:
        """The requests, in order and in short form; equal requests to several brokers are one line."""
        lines: list[tuple[str, list[int]]] = []
        for broker, request in self.sent:
            line = summary(request)
            if lines and lines[-1][0] == line and broker not in lines[-1][1]:
                lines[-1][1].append(broker)
            else:
                lines.append((line, [broker]))
        return [f"{'+'.join(map(str, brokers))} {line}" for line, brokers in lines]

    def replica_states(self, topic: str) -> dict[tuple[int, int], str]:
        """The states of a topic's replicas, by partition and broker."""
        return {
            (replica.topic_partition.partition, replica.replica): str(state)
            for replica, state in self.context.state.replica_states.items()
            if replica.topic_partition.topic == topic
        }

    def on(self, partition: TopicPartition, broker: int) -> PartitionAndReplica:
        """A replica."""
        return PartitionAndReplica(partition, broker)


def summary(request: ControlRequest) -> str:
    """A request in short form."""
    match request:
        case LeaderAndIsrRequest():
            parts = [
                f"{each.partition} led by {each.leader} in {each.leaderEpoch}, "
                f"ISR {'+'.join(map(str, each.isr))}{', new' if each.isNew else ''}"
                for each in request.partitionStates
            ]
            return f"LeaderAndIsr {'; '.join(parts)}"
        case StopReplicaRequest():
            stops = [
                f"{each.partition}{', delete' if each.deletePartition else ''}" for each in request.partitionStates
            ]
            return f"StopReplica {'; '.join(stops)}"
        case UpdateMetadataRequest():
            metadata = [
                f"{each.partition} led by {each.leader} in {each.leaderEpoch}" for each in request.partitionStates
            ]
            return f"UpdateMetadata of {'+'.join(map(str, request.liveBrokers))}{''.join(f'; {m}' for m in metadata)}"
