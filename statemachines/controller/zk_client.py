"""ControllerZkClient: what a controller's handlers ask of ZooKeeper, by the methods of KafkaZkClient.

Each method returns calls, of which the last takes what was read: here a batch of requests to wait for. Another client
over the same methods may have the answer, and return the call with it. A node that is not there is nothing read; any
other answer than OK is thrown on [maybeThrow]. What is deleted may be gone already. Writes are fenced.

A read arms the watch of a handler that a controller has registered for its node. Which those are does not change here
while a controller is active: that a handler is unregistered, for a topic that is gone or a partition that has moved,
is left out, and an event that it would not have put finds nothing to do.

[KafkaZkClient.scala, 3.9]
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from election.ids import BrokerId
from statemachines.controller.calls import (
    Await,
    Call,
    Calls,
    EventFailed,
    EventFailure,
    ZkRequests,
    call,
    then,
)
from statemachines.controller.context import ControllerContext
from statemachines.controller.design import BROKER_IDS, registration
from statemachines.controller.kafka_zk_client import (
    Exists,
    GetChildren,
    GetData,
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

__all__ = ["Assignments", "ControllerZkClient", "Targets", "found", "maybe_throw"]

Assignments: TypeAlias = tuple[tuple[TopicPartition, ReplicaAssignment], ...]
"""What was read of partitions, as a value."""
Targets: TypeAlias = tuple[tuple[TopicPartition, tuple[BrokerId, ...] | None], ...]
"""Where partitions are to move to; None: back to where they came from."""


def found(response: ZkResponse) -> ZkResponse | None:
    """An answer to a read; None: there is no such node.

    Raises:
        EventFailed: it is another failure.
    """
    if response.code is Code.NONODE:
        return None
    maybe_throw(response)
    return response


def maybe_throw(response: ZkResponse) -> None:
    """The answer to a request that has to have been carried out [maybeThrow].

    Raises:
        EventFailed: it has not.
    """
    if response.code is not Code.OK:
        raise EventFailed(response.code)


class ControllerZkClient:
    """A client whose requests are waited for.

    Args:
        context: what the controller knows, its epoch among it. Nothing of it changes here.
    """

    def __init__(self, context: ControllerContext) -> None:
        self.context = context

    # Nodes.

    def path_exists(self, path: ZkPath, following: Call, watch: bool = False) -> Calls:
        """Whether there is a node [pathExists, registerZNodeChangeHandlerAndCheckExistence]."""
        return (Await(ZkRequests((Exists(path, watch),)), then(self._path_exists, following)),)

    def _path_exists(self, responses: Sequence[ZkResponse], following: Call) -> Calls:
        return (following.with_answer(found(responses[0]) is not None),)

    def get_children(self, path: ZkPath, following: Call, watch: bool = False) -> Calls:
        """The names of a node's children, sorted; none if it is not there [getChildren]."""
        return (Await(ZkRequests((GetChildren(path, watch),)), then(self._get_children, following)),)

    def _get_children(self, responses: Sequence[ZkResponse], following: Call) -> Calls:
        response = found(responses[0])
        return (following.with_answer(() if response is None else tuple(sorted(response.data))),)

    def get_data(self, paths: Iterable[ZkPath], following: Call, watch: bool = False) -> Calls:
        """What nodes hold, in one batch: the call takes their answers, None for one that is not there."""
        return (Await(ZkRequests(tuple(GetData(path, watch) for path in paths)), then(self._get_data, following)),)

    def _get_data(self, responses: Sequence[ZkResponse], following: Call) -> Calls:
        return (following.with_answer(tuple(found(response) for response in responses)),)

    def delete(self, paths: Iterable[ZkPath]) -> Calls:
        """Delete nodes, in one batch, those that are there."""
        return (Await(ZkRequests(tuple(Delete(path) for path in paths))),)

    def delete_recursive(self, path: ZkPath) -> Calls:
        """Delete a node with all below it, child by child, each by a request of its own [deleteRecursive]."""
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

    def get_all_broker_and_epochs_in_cluster(self, following: Call) -> Calls:
        """The brokers that are registered, with their epochs, in order; the watch for others is armed."""
        return self.get_children(BROKER_IDS, then(self._get_brokers, following), watch=True)

    def _get_brokers(self, names: Sequence[str], following: Call) -> Calls:
        brokers = tuple(sorted(map(int, names)))
        return self.get_data(map(registration, brokers), then(self._got_brokers, brokers, following))

    def _got_brokers(
        self, answers: Sequence[ZkResponse | None], brokers: Sequence[BrokerId], following: Call
    ) -> Calls:
        epochs = tuple(
            (broker, answer.czxid) for broker, answer in zip(brokers, answers, strict=True) if answer is not None
        )
        return (following.with_answer(epochs),)

    def get_all_topics_in_cluster(self, following: Call) -> Calls:
        """The topics; the watch for others is armed."""
        return self.get_children(TOPICS, following, watch=True)

    def get_full_replica_assignment_for_topics(self, topics: Sequence[TopicName], following: Call) -> Calls:
        """Which brokers keep the partitions of these topics; the watches for more partitions are armed.

        What is read is looked at before any of it counts: ValueError (InvalidBrokers) for a replica that stands there
        twice, or is no broker's id.
        """
        topics = tuple(topics)
        return self.get_data(map(topic_path, topics), then(self._got_assignments, topics, following), watch=True)

    def _got_assignments(
        self, answers: Sequence[ZkResponse | None], topics: Sequence[TopicName], following: Call
    ) -> Calls:
        assignments: Assignments = tuple(
            (partition, assignment.checked(partition))
            for topic, answer in zip(topics, answers, strict=True)
            if answer is not None and answer.data is not None
            for partition, assignment in answer.data.decode(topic).items()
        )
        return (following.with_answer(assignments),)

    def set_topic_assignment(
        self, topic: TopicName, assignments: Mapping[TopicPartition, ReplicaAssignment], following: Call
    ) -> Calls:
        """Write which brokers keep the partitions of a topic, whatever stands there [setTopicAssignmentRaw].

        The call takes the answers.
        """
        data = TopicAssignment.encode(assignments)
        return (Await(ZkRequests((SetData(topic_path(topic), data, ANY_VERSION),)), following),)

    def set_or_create_partition_reassignment(self, targets: Targets) -> Calls:
        """/admin/reassign_partitions has these; if it was deleted in between, it is there again."""
        write = SetData(REASSIGN_PARTITIONS, targets, ANY_VERSION)
        return (Await(ZkRequests((write,)), then(self._rewritten, targets)),)

    def _rewritten(self, responses: Sequence[ZkResponse], targets: Targets) -> Calls:
        if found(responses[0]) is not None:
            return ()
        return (Await(ZkRequests((Create(REASSIGN_PARTITIONS, targets),)), then(self._created)),)

    def _created(self, responses: Sequence[ZkResponse]) -> None:
        maybe_throw(responses[0])

    # The states of partitions.

    def get_topic_partition_states(self, partitions: Sequence[TopicPartition], following: Call) -> Calls:
        """The leaders and ISRs of these partitions: pairs, of those that have a state."""
        partitions = tuple(partitions)
        return (
            Await(
                ZkRequests(tuple(get_topic_partition_states(partitions))),
                then(self._got_states, partitions, following),
            ),
        )

    def _got_states(
        self, responses: Sequence[ZkResponse], partitions: Sequence[TopicPartition], following: Call
    ) -> Calls:
        states = tuple(
            (partition, response.data.decode(response.version))
            for partition, response in zip(partitions, map(found, responses), strict=True)
            if response is not None and response.data is not None
        )
        return (following.with_answer(states),)

    def update_leader_epoch(self, partition: TopicPartition, following: Call) -> Calls:
        """Write the same leader and ISR in the next leader epoch, however often that takes; the call takes them."""
        return self.get_topic_partition_states((partition,), then(self._new_epoch, partition, following))

    def _new_epoch(
        self,
        states: Sequence[tuple[TopicPartition, LeaderIsrAndControllerEpoch]],
        partition: TopicPartition,
        following: Call,
    ) -> Calls:
        if not states:
            raise EventFailed(EventFailure.NoLeaderAndIsr)
        leader_and_isr, controller_epoch = states[0][1]
        epoch = self.context.state.epoch
        if controller_epoch > epoch:
            raise EventFailed(EventFailure.NewerController)
        new = leader_and_isr.new_leader_and_isr(leader_and_isr.leader, leader_and_isr.isr)
        writes = set_topic_partition_states(((partition, new),), epoch)
        return (Await(ZkRequests(writes), then(self._set_epoch, partition, new, following)),)

    def _set_epoch(
        self, responses: Sequence[ZkResponse], partition: TopicPartition, new: LeaderAndIsr, following: Call
    ) -> Calls:
        (response,) = responses
        if response.code is Code.BADVERSION:
            return self.update_leader_epoch(partition, following)
        maybe_throw(response)
        written = new._replace(partition_epoch=response.version)
        return (following.with_answer(LeaderIsrAndControllerEpoch(written, self.context.state.epoch)),)

    # Deletions.

    def delete_topic_deletions(self, topics: Sequence[TopicName]) -> Calls:
        """Forget that topics are to be deleted."""
        return self.delete(map(delete_topics_topic_path, topics))

    def delete_topic_znode(self, topic: TopicName) -> Calls:
        """Delete a topic's node with all below it."""
        return self.delete_recursive(topic_path(topic))

    def delete_topic_configs(self, topics: Sequence[TopicName]) -> Calls:
        """Delete what is configured for topics."""
        return self.delete(map(topic_config_path, topics))
