"""ControllerEventProcessor: all handlers of an active controller's events.

An event is the call of its handler, so queued events are values as well:

    TopicChange                        process_topic_change                    TopicChanges
    PartitionModifications(t)          process_partition_modifications(t)
    TopicDeletion                      process_topic_deletion
    TopicDeletionStopReplicaResponse.. process_topic_deletion_stop_replica_response_received(broker, error, errors)
    BrokerChange                       process_broker_change                   BrokerChanges
    LogDirEventNotification            process_log_dir_event_notification
    LeaderAndIsrResponseReceived       process_leader_and_isr_response_received(response, broker)
    ControlledShutdown(b, epoch)       process_controlled_shutdown(b, epoch)   ControlledShutdown
    ReplicaLeaderElection(..)          process_replica_leader_election(..)     ReplicaLeaderElection
    AutoPreferredReplicaLeaderElection process_auto_preferred_replica_leader_election
    UncleanLeaderElectionEnable        process_unclean_leader_election_enable
    ZkPartitionReassignment            process_zk_partition_reassignment       PartitionReassignment
    ApiPartitionReassignment(..)       process_api_partition_reassignment(..)
    PartitionReassignmentIsrChange(p)  process_partition_reassignment_isr_change(p)
    IsrChangeNotification              process_isr_change_notification         IsrChanges
    AlterPartitionReceived(request)    process_alter_partition(request)        IsrChanges
    (elected)                          on_controller_failover                  ControllerFailover

*Handlers of changes in ZooKeeper* (`RegisteredHandlers`) say which changes become events:

    children of /brokers/ids, /brokers/topics, ...      BrokerChange, TopicChange, ...      while it is controller
    the node of a topic                                 PartitionModifications              of a topic that it knows
    /admin/reassign_partitions, created                 ZkPartitionReassignment             once it has asked for it
    /admin/preferred_replica_election, created          ReplicaLeaderElection               once it has asked for it
    the state of a partition                            PartitionReassignmentIsrChange      while it moves, until 2.6

A handler is not a watch. Since 1.1 a read sets a watch if its node has a handler, and a watch event of a node without
handler is dropped. Until 1.0 a listener takes the handler's place: ZkClient sets the watch again whenever it has
fired, and does not distinguish a created node from a changed one. It reads the node before it calls the listener. In
0.11 and 1.0 the event has what was read, but for topics' nodes and, since 0.11.0.2, reassignments.

Events are for an active controller; `kafka_controller` handles inactivity, elections and sessions. `EventDone` says
what a failed event means to it.

Left out: UpdateMetadataResponseReceived, which only logs; listings, features, producer ids.

[process in KafkaController.scala, 3.9; ZooKeeperClient.shouldWatch, processEvent, 1.1; ZkClient.fireEvents]
"""

from collections.abc import Callable, Mapping
from typing import Final

from election.ids import BrokerId
from statemachines.changes.elections import Threads
from statemachines.controller.broker_changes import BrokerChanges
from statemachines.controller.calls import Call
from statemachines.controller.context import ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.control_responses import (
    ControlResponseReceived,
    LeaderAndIsrResponseReceived,
    TopicDeletionStopReplicaResponseReceived,
    UpdateMetadataResponseReceived,
)
from statemachines.controller.controlled_shutdown import ControlledShutdown
from statemachines.controller.design import BROKER_IDS
from statemachines.controller.event_driver import BrokerChannels, ChangeHandlers
from statemachines.controller.failover import ControllerFailover
from statemachines.controller.partition_state_machine import PartitionStateMachine
from statemachines.controller.replica_state_machine import ReplicaStateMachine
from statemachines.controller.request_batch import ControllerBrokerRequestBatch
from statemachines.controller.state_change import FailedStateChange, log_failed_state_change
from statemachines.controller.topic_changes import TopicChanges
from statemachines.controller.zk_requests import Exists, GetChildren, GetData, ZkRequest
from statemachines.messages.control_requests import ControlRequest
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import (
    DELETE_TOPICS,
    ISR_CHANGE_NOTIFICATION,
    LOG_DIR_EVENT_NOTIFICATION,
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    TOPICS,
    topic_partition_state_path,
    topic_path,
)
from statemachines.zookeeper.server import Event
from statemachines.zookeeper.tree import EventType, ZkPath


class ControllerEventProcessor(ControllerFailover, BrokerChanges, TopicChanges, ControlledShutdown):
    """A controller's event thread; `EventDriver` explains its arguments."""


def event_processor(
    controller: BrokerId,
    send: Callable[[BrokerId, ControlRequest], object],
    context: ControllerContext | None = None,
    design: ControlDesign | None = None,
    channels: BrokerChannels | None = None,
    put: Callable[[Call], object] = lambda event: None,
    log: Callable[[FailedStateChange], object] | None = log_failed_state_change,
) -> ControllerEventProcessor:
    """A controller's event thread over dicts, with three batches, like Kafka's.

    >>> from statemachines.controller.calls import call
    >>> from statemachines.controller.event_driver import carry_out
    >>> from statemachines.messages.zk_data import TopicAssignment
    >>> from statemachines.messages.replica_assignment import ReplicaAssignment
    >>> from statemachines.zookeeper.server import ZooKeeper
    >>> zookeeper, sent = ZooKeeper(), []
    >>> for path in ("/controller_epoch", "/brokers", "/brokers/ids", "/brokers/ids/1", "/brokers/topics"):
    ...     _ = zookeeper.create(None, path)
    >>> _ = zookeeper.create(None, "/brokers/topics/t", TopicAssignment(((0, ReplicaAssignment((1,))),)))
    >>> controller = event_processor(1, lambda broker, request: sent.append((broker, type(request).__name__)))
    >>> carry_out(controller, call(controller.on_controller_failover), zookeeper, None)
    EventDone(answer=None, failure=None, must_reelect=False)
    >>> sent
    [(1, 'UpdateMetadataRequest'), (1, 'LeaderAndIsrRequest'), (1, 'UpdateMetadataRequest')]

    Args:
        controller: the controller's id.
        send: sends a request to a broker.
        context: its context; by default empty.
        design: the design of its release.
        channels: the channels to brokers.
        put: puts an event into the queue.
        log: called with each failed change of a state, which Kafka logs as an error. The default logs an error with
            Python's `logging`, by the logger `statemachines.controller.state_change`; None does nothing. The failure
            of a whole event is not logged: it is the `failure` of the result of `carry_out`.
    """
    context = ControllerContext() if context is None else context
    batches = [ControllerBrokerRequestBatch(controller, context, send, design=design) for _ in range(3)]
    partitions = PartitionStateMachine(context, batches[0], design, log)
    replicas = ReplicaStateMachine(context, batches[1], design, log)
    return ControllerEventProcessor(partitions, replicas, batches[2], channels, put)


def event_of(received: ControlResponseReceived) -> Call | None:
    """The controller's event for a broker's response; None for UpdateMetadata, which Kafka would only log.

    >>> from statemachines.controller.control_responses import LeaderAndIsrResponse
    >>> from statemachines.messages.errors import Errors
    >>> event_of(LeaderAndIsrResponseReceived(LeaderAndIsrResponse(Errors.NONE), 3)).method
    'process_leader_and_isr_response_received'
    """
    match received:
        case LeaderAndIsrResponseReceived():
            handler = ControllerEventProcessor.process_leader_and_isr_response_received.__name__
        case TopicDeletionStopReplicaResponseReceived():
            handler = ControllerEventProcessor.process_topic_deletion_stop_replica_response_received.__name__
        case UpdateMetadataResponseReceived():
            return None
    return Call(handler, tuple(received))


# Changes in ZooKeeper.

_Its = ControllerEventProcessor
OF_CHILDREN: Final[Mapping[ZkPath, str]] = {
    BROKER_IDS: _Its.process_broker_change.__name__,
    TOPICS: _Its.process_topic_change.__name__,
    DELETE_TOPICS: _Its.process_topic_deletion.__name__,
    LOG_DIR_EVENT_NOTIFICATION: _Its.process_log_dir_event_notification.__name__,
    ISR_CHANGE_NOTIFICATION: _Its.process_isr_change_notification.__name__,
}
"""The handlers of changes of a node's children."""
OF_NODES: Final[Mapping[ZkPath, str]] = {
    REASSIGN_PARTITIONS: _Its.process_zk_partition_reassignment.__name__,
    PREFERRED_REPLICA_ELECTION: _Its.process_replica_leader_election.__name__,
}
"""The handlers of the creation of a node."""
_WATCHED_NODES: Final = {event: path for path, event in (*OF_CHILDREN.items(), *OF_NODES.items())}
"""By event, its node."""
REGISTERING: Final = frozenset(
    {_Its.on_controller_failover.__name__, *OF_NODES.values()},
)
"""The events that register the handler of such a node when they read it; others only read."""


class RegisteredHandlers(ChangeHandlers):
    """The handlers that a controller has registered, and their events.

    Args:
        context: the controller's context; each of its topics has a handler.
        threads: the release's generation of event delivery.
    """

    def __init__(self, context: ControllerContext, threads: Threads) -> None:
        super().__init__(are_listeners=threads is not Threads.barrier)
        self._context = context

    def watched(self, request: ZkRequest, event: str) -> ZkRequest:
        """A request as it is sent: with a watch if its node has a handler.

        Args:
            request: a request of an event's handler.
            event: the name of that handler, which may register others.
        """
        if isinstance(request, GetData) and request.path in self.isrs:
            return request._replace(watch=True)
        if isinstance(request, Exists) and request.path in OF_NODES:
            if event in REGISTERING:
                self.registered.add(request.path)
            return request._replace(watch=request.path in self.registered)
        return request

    def watched_paths(self) -> tuple[ZkPath, ...]:
        """The nodes whose watch ZkClient sets again for a listener, whether they exist or not."""
        return (*self.isrs, *(path for path in OF_NODES if path in self.registered))

    @staticmethod
    def read_for(event: Call) -> ZkRequest:
        """The request by which ZkClient reads the node of a listener, before it calls the listener for this event."""
        if event.method in _WATCHED_NODES:
            path = _WATCHED_NODES[event.method]
            return (GetChildren if path in OF_CHILDREN else GetData)(path, watch=True)
        of = event.arguments[0]
        return GetData(
            topic_partition_state_path(of) if isinstance(of, TopicPartition) else topic_path(of), watch=True
        )

    def event_of(self, watch_event: Event) -> Call | None:
        """The controller's event for a watch event; None if there is no handler."""
        self.muted &= self._context.state.all_topics
        path, created = watch_event.path, watch_event.type is EventType.NodeCreated
        changed = watch_event.type is EventType.NodeDataChanged
        if self.are_listeners:
            created = changed = created or changed
        if watch_event.type is EventType.NodeChildrenChanged and path in self.registered:
            return Call(OF_CHILDREN[path])
        if created and path in self.registered and path in OF_NODES:
            return Call(OF_NODES[path])
        if changed and path in self.isrs:
            partition, target = self.isrs[path]
            holds = (partition, target) if self.are_listeners else (partition,)
            return Call(_Its.process_partition_reassignment_isr_change.__name__, holds)
        topic = path.removeprefix(f"{TOPICS}/")
        if changed and path.startswith(f"{TOPICS}/") and topic in self._context.state.all_topics - self.muted:
            return Call(_Its.process_partition_modifications.__name__, (topic,))
        return None
