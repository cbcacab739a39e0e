"""ControllerZkClient: the requests of a controller's handlers to ZooKeeper, with the methods of KafkaZkClient.

Each method returns calls, whose result is the data read. Here that is a batch of requests to wait for. Another client
with the same methods may have the result at once. A missing node yields no data; any
other code than OK is thrown on [maybeThrow]. Deleted nodes may be missing already. Writes are fenced.

A read sets the watch for a handler that a controller has registered for its node (see `RegisteredHandlers`).

[KafkaZkClient.scala, 3.9]
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from election.ids import BrokerId
from statemachines.controller.calls import Await, Calls, EventFailed, EventFailure, Result, call, then
from statemachines.controller.context import ControllerContext
from statemachines.controller.design import BROKER_IDS, registration
from statemachines.controller.zk_requests import (
    Exists,
    GetChildren,
    GetData,
    ZkRequests,
    ZkResponse,
    get_topic_partition_states,
    set_topic_partition_states,
)
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicName, TopicPartition
from statemachines.messages.zk_data import (
    REASSIGN_PARTITIONS,
    TOPICS,
    TopicAssignment,
    delete_topics_topic_path,
    topic_config_path,
    topic_path,
)
from statemachines.zookeeper.tree import ANY_VERSION, Code, Create, Delete, SetData, ZkPath

Assignments: TypeAlias = tuple[tuple[TopicPartition, ReplicaAssignment], ...]
"""Assignments read, as a value."""
Targets: TypeAlias = tuple[tuple[TopicPartition, tuple[BrokerId, ...] | None], ...]
"""The targets of reassignments; None: back to the original replicas."""


def found(response: ZkResponse) -> ZkResponse | None:
    """The response to a read; None if there is no such node.

    Raises:
        EventFailed: another failure.
    """
    if response.code is Code.NONODE:
        return None
    maybe_throw(response)
    return response


def maybe_throw(response: ZkResponse) -> None:
    """Require that a request has been carried out [maybeThrow].

    Raises:
        EventFailed: it has not.
    """
    if response.code is not Code.OK:
        raise EventFailed(response.code)


class ControllerZkClient:
    """A client whose requests the driver waits for.

    Args:
        context: the controller's context, with its epoch. The client does not change it.
    """

    def __init__(self, context: ControllerContext) -> None:
        self.context = context

    # Nodes.

    def path_exists(self, path: ZkPath, watch: bool = False) -> Calls:
        """Check whether a node exists [pathExists, registerZNodeChangeHandlerAndCheckExistence]."""
        return (Await(ZkRequests((Exists(path, watch),)), then(self._path_exists)),)

    def _path_exists(self, responses: Sequence[ZkResponse]) -> Calls:
        return (Result(found(responses[0]) is not None),)

    def get_children(self, path: ZkPath, watch: bool = False) -> Calls:
        """Read the names of a node's children, sorted; none if it does not exist [getChildren]."""
        return (Await(ZkRequests((GetChildren(path, watch),)), then(self._get_children)),)

    def _get_children(self, responses: Sequence[ZkResponse]) -> Calls:
        response = found(responses[0])
        return (Result(() if response is None else tuple(sorted(response.data))),)

    def get_data(self, paths: Iterable[ZkPath], watch: bool = False) -> Calls:
        """Read nodes, in one batch. The result is their responses, None for a missing node."""
        return (Await(ZkRequests(tuple(GetData(path, watch) for path in paths)), then(self._get_data)),)

    def _get_data(self, responses: Sequence[ZkResponse]) -> Calls:
        return (Result(tuple(found(response) for response in responses)),)

    def delete(self, paths: Iterable[ZkPath]) -> Calls:
        """Delete nodes, in one batch; missing ones are ignored."""
        return (Await(ZkRequests(tuple(Delete(path) for path in paths))),)

    def delete_recursive(self, path: ZkPath) -> Calls:
        """Delete a node with its descendants, child by child, with a request each [deleteRecursive]."""
        return (Await(ZkRequests((GetChildren(path),)), then(self._delete_below, path)),)

    def _delete_below(self, responses: Sequence[ZkResponse], path: ZkPath) -> Calls:
        response = found(responses[0])
        if response is None:
            return ()
        return (
            *(call(self.delete_recursive, f"{path}/{child}") for child in sorted(response.data)),
            Await(ZkRequests((Delete(path),)), then(self._deleted)),
        )

    def _deleted(self, responses: Sequence[ZkResponse]) -> None:
        found(responses[0])

    # Brokers and topics.

    def get_all_broker_and_epochs_in_cluster(self) -> Calls:
        """Read the registered brokers, with their epochs, in order, and set the watch for others."""
        return (*self.get_children(BROKER_IDS, watch=True), then(self._get_brokers))

    def _get_brokers(self, names: Sequence[str]) -> Calls:
        brokers = tuple(sorted(map(int, names)))
        return (*self.get_data(map(registration, brokers)), then(self._got_brokers, brokers))

    def _got_brokers(self, answers: Sequence[ZkResponse | None], brokers: Sequence[BrokerId]) -> Calls:
        of_brokers = zip(brokers, answers, strict=True)
        return (Result(tuple((broker, answer.czxid) for broker, answer in of_brokers if answer is not None)),)

    def get_all_topics_in_cluster(self) -> Calls:
        """Read the topics, and set the watch for others."""
        return self.get_children(TOPICS, watch=True)

    def get_full_replica_assignment_for_topics(self, topics: Sequence[TopicName]) -> Calls:
        """Read the assignments of these topics, and set the watches for more partitions.

        All data is checked first: ValueError (InvalidBrokers) for a replica that occurs twice, or is no broker id.
        """
        topics = tuple(topics)
        return (*self.get_data(map(topic_path, topics), watch=True), then(self._got_assignments, topics))

    def _got_assignments(self, answers: Sequence[ZkResponse | None], topics: Sequence[TopicName]) -> Calls:
        assignments: Assignments = tuple(
            (partition, assignment.checked(partition))
            for topic, answer in zip(topics, answers, strict=True)
            if answer is not None and answer.data is not None
            for partition, assignment in answer.data.decode(topic).items()
        )
        return (Result(assignments),)

    def set_topic_assignment(
        self, topic: TopicName, assignments: Mapping[TopicPartition, ReplicaAssignment]
    ) -> Calls:
        """Write the assignment of a topic, whatever its node has. The result is the responses.

        [setTopicAssignmentRaw]
        """
        data = TopicAssignment.encode(assignments)
        return (Await(ZkRequests((SetData(topic_path(topic), data, ANY_VERSION),))),)

    def set_or_create_partition_reassignment(self, targets: Targets) -> Calls:
        """Write /admin/reassign_partitions; if it was deleted in between, create it again."""
        write = SetData(REASSIGN_PARTITIONS, targets, ANY_VERSION)
        return (Await(ZkRequests((write,)), then(self._rewritten, targets)),)

    def _rewritten(self, responses: Sequence[ZkResponse], targets: Targets) -> Calls:
        if found(responses[0]) is not None:
            return ()
        return (Await(ZkRequests((Create(REASSIGN_PARTITIONS, targets),)), then(self._recreated)),)

    def _recreated(self, responses: Sequence[ZkResponse]) -> None:
        maybe_throw(responses[0])

    # The states of partitions.

    def get_topic_partition_states(self, partitions: Sequence[TopicPartition]) -> Calls:
        """Read the leaders and ISRs of these partitions. The result is pairs, for those that have a state."""
        partitions = tuple(partitions)
        return (Await(ZkRequests(get_topic_partition_states(partitions)), then(self._got_states, partitions)),)

    def _got_states(self, responses: Sequence[ZkResponse], partitions: Sequence[TopicPartition]) -> Calls:
        states = tuple(
            (partition, response.data.decode(response.version))
            for partition, response in zip(partitions, map(found, responses), strict=True)
            if response is not None and response.data is not None
        )
        return (Result(states),)

    def update_leader_epoch(self, partition: TopicPartition) -> Calls:
        """Write the same leader and ISR in the next leader epoch, which is the result; after a conflict, again."""
        return (*self.get_topic_partition_states((partition,)), then(self._new_epoch, partition))

    def _new_epoch(
        self, states: Sequence[tuple[TopicPartition, LeaderIsrAndControllerEpoch]], partition: TopicPartition
    ) -> Calls:
        if not states:
            raise EventFailed(EventFailure.NoLeaderAndIsr)
        leader_and_isr, controller_epoch = states[0][1]
        epoch = self.context.state.epoch
        if controller_epoch > epoch:
            raise EventFailed(EventFailure.NewerController)
        new = leader_and_isr.new_leader_and_isr(leader_and_isr.leader, leader_and_isr.isr)
        writes = set_topic_partition_states(((partition, new),), epoch)
        return (Await(ZkRequests(writes), then(self._set_epoch, partition, new)),)

    def _set_epoch(self, responses: Sequence[ZkResponse], partition: TopicPartition, new: LeaderAndIsr) -> Calls:
        (response,) = responses
        if response.code is Code.BADVERSION:
            return self.update_leader_epoch(partition)
        maybe_throw(response)
        written = new._replace(partition_epoch=response.version)
        return (Result(LeaderIsrAndControllerEpoch(written, self.context.state.epoch)),)

    # Deletions.

    def delete_topic_deletions(self, topics: Sequence[TopicName]) -> Calls:
        """Remove the requests to delete topics."""
        return self.delete(map(delete_topics_topic_path, topics))

    def delete_topic_znode(self, topic: TopicName) -> Calls:
        """Delete a topic's node with its descendants."""
        return self.delete_recursive(topic_path(topic))

    def delete_topic_configs(self, topics: Sequence[TopicName]) -> Calls:
        """Delete the configurations of topics."""
        return self.delete(map(topic_config_path, topics))
