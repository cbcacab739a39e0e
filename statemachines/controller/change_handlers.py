"""A controller's handlers of ZooKeeper changes: the handled nodes, and the event for a change of each.

    children of /brokers/ids, /brokers/topics, ...      BrokerChange, TopicChange, ...      while it is controller
    the node of a topic                                 PartitionModifications              of a topic that it knows
    /admin/reassign_partitions, created                 ZkPartitionReassignment             once it has asked for it
    /admin/preferred_replica_election, created          ReplicaLeaderElection               once it has asked for it
    the state of a partition                            PartitionReassignmentIsrChange      while it moves, until 2.6

A handler is not a watch. Since 1.1 a read sets a watch if its node has a handler, and a watch event of a node without
handler is dropped. Until 1.0 a listener takes the handler's place: ZkClient sets the watch again whenever it has
fired, and does not distinguish a created node from a changed one. It reads the node before it calls the listener. In
0.11 and 1.0 the event has what was read, but for topics' nodes and, since 0.11.0.2, reassignments.

[ZooKeeperClient.shouldWatch, processEvent, 1.1; the ...Handler classes in KafkaController.scala; ZkClient.fireEvents]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from statemachines.controller.calls import Call
from statemachines.controller.context import ControllerContext
from statemachines.controller.design import BROKER_IDS
from statemachines.controller.event_driver import ChangeHandlers
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.kafka_zk_client import Exists, GetChildren, GetData, ZkRequest
from statemachines.controller.threads import Threads
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
