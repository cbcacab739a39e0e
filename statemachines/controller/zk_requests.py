"""A controller's requests to ZooKeeper: batches, whose writes are fenced by the controller's epoch.

A fenced write is a multi of two operations: a check that /controller_epoch still has the version that the controller
knows, and the write itself. If the check fails, another controller has been elected, and the other results of the
batch are ignored: ControllerMoved [KafkaZkClient.scala, 2.1, KAFKA-6082].

Callers never see a lost connection: the client repeats unanswered requests. A repeated write that had been carried
out finds its own effect: NODEEXISTS, or BADVERSION [retryRequestsUntilConnected, 1.1].
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple, TypeAlias

from election.ids import BrokerId, ControllerEpoch
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.messages.topic_partition import TopicName, TopicPartition
from statemachines.messages.zk_data import (
    TopicPartitionState,
    topic_config_path,
    topic_partition_path,
    topic_partition_state_path,
    topic_partitions_path,
)
from statemachines.zookeeper.server import Multi, Write, ZooKeeper
from statemachines.zookeeper.tree import (
    Check,
    Code,
    Create,
    Delete,
    OpResult,
    SessionId,
    SetData,
    Stat,
    ZkPath,
    ZkVersion,
    ZooKeeperError,
    Zxid,
)


class ControllerMoved(Exception):
    """A write found that another controller has been elected [ControllerMovedException]."""


class RequestFailed(Exception):
    """A fenced write got no response as a multi: the session has ended, or /controller_epoch does not exist."""

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self.code = code


class GetData(NamedTuple):
    """Read a node's data. `RegisteredHandlers` adds a watch if there is a handler."""

    path: ZkPath
    watch: bool = False


class GetChildren(NamedTuple):
    """Read the names of a node's children."""

    path: ZkPath
    watch: bool = False


class Exists(NamedTuple):
    """Check whether a node exists. The watch is set in either case."""

    path: ZkPath
    watch: bool = False


ZkRequest: TypeAlias = GetData | GetChildren | Exists | Write
"""A request of a batch."""

READS: Final = (GetData, GetChildren, Exists)
"""The requests that write nothing, and are not fenced."""


class ZkResponse(NamedTuple):
    """The response to a request [AsyncResponse in ZooKeeperClient.scala, 3.9]."""

    code: Code
    """OK, or the error; of a multi, the error of the first failed operation."""
    data: Any = None
    """The node's data, or the names of its children, in no order."""
    version: ZkVersion = 0
    results: tuple[OpResult | Code, ...] = ()
    """The results of a multi's operations; empty if the session has ended. Of a fence that failed, that failure."""
    czxid: Zxid = 0
    """The transaction that created the node whose data were read; for a broker's registration, its epoch."""
    owner: SessionId | None = None
    """The session that owns the ephemeral node."""


class ZkBatch(Enum):
    """The batches of requests that change the states of partitions and replicas, by Kafka's names."""

    CreateTopicPartitions = "create the nodes above those of partitions"
    CreateTopicPartition = "create the nodes above the states of partitions"
    CreateTopicPartitionStates = "create the states of partitions"
    GetTopicPartitionStates = "read the states of partitions"
    GetTopicConfigs = "read the configurations of topics"
    GetWrittenStates = "read back states that had other versions: the write may have succeeded"
    SetTopicPartitionStates = "set the states of partitions, if they still have the versions that were read"

    def __str__(self) -> str:
        return self.name


UNFENCED: Final = frozenset({ZkBatch.GetTopicPartitionStates, ZkBatch.GetTopicConfigs, ZkBatch.GetWrittenStates})
"""The batches that write nothing."""


class ZkRequests(NamedTuple):
    """A batch of requests: reads, or writes, which are fenced when they are sent."""

    requests: tuple[ZkRequest, ...]

    @property
    def writes(self) -> bool:
        """Whether these are writes."""
        return len(self.requests) > 0 and not isinstance(self.requests[0], READS)

    def requests_of(self, epoch: ControllerEpoch) -> tuple[ZkRequest, ...]:
        """The requests of a controller with this epoch, without fences."""
        return self.requests


class PartitionUpdate(NamedTuple):
    """The state of a partition, to be written or as read."""

    partition: TopicPartition
    leader_and_isr: LeaderAndIsr
    recipients: tuple[BrokerId, ...] = ()
    """The replicas that receive it after it has been written."""


class StateRequests(NamedTuple):
    """A batch of requests about the states of partitions. Each response is paired with what its request is about.

    If a fence fails for any reason but another controller, each request gets that error.
    """

    due: ZkBatch
    topics: tuple[TopicName, ...] = ()
    """The topics whose nodes are created, or whose configurations are read; a request for each."""
    partitions: tuple[TopicPartition, ...] = ()
    """The partitions whose nodes are created, or whose states are read."""
    updates: tuple[PartitionUpdate, ...] = ()
    """The states to create, to set or to read back."""

    @property
    def about(self) -> tuple[TopicName | TopicPartition | PartitionUpdate, ...]:
        """What each request is about."""
        return self.topics or self.partitions or self.updates

    @property
    def writes(self) -> bool:
        """Whether these are writes."""
        return self.due not in UNFENCED

    def requests_of(self, epoch: ControllerEpoch) -> tuple[ZkRequest, ...]:
        """The requests of a controller with this epoch, without fences."""
        match self.due:
            case ZkBatch.GetTopicPartitionStates:
                return get_topic_partition_states(self.partitions)
            case ZkBatch.GetWrittenStates:
                return get_topic_partition_states(update.partition for update in self.updates)
            case ZkBatch.GetTopicConfigs:
                return get_topic_configs(self.topics)
            case ZkBatch.CreateTopicPartitions:
                return create_topic_partitions(self.topics)
            case ZkBatch.CreateTopicPartition:
                return create_topic_partition(self.partitions)
            case ZkBatch.CreateTopicPartitionStates:
                return create_topic_partition_states(self._states, epoch)
            case ZkBatch.SetTopicPartitionStates:
                return set_topic_partition_states(self._states, epoch)

    @property
    def _states(self) -> Iterator[tuple[TopicPartition, LeaderAndIsr]]:
        return ((update.partition, update.leader_and_isr) for update in self.updates)


# The batches.


def create_topic_partitions(topics: Iterable[TopicName]) -> tuple[Write, ...]:
    """Create the parents of these topics' partition nodes."""
    return tuple(Create(topic_partitions_path(topic)) for topic in topics)


def create_topic_partition(partitions: Iterable[TopicPartition]) -> tuple[Write, ...]:
    """Create the parents of these partitions' state nodes."""
    return tuple(Create(topic_partition_path(partition)) for partition in partitions)


def create_topic_partition_states(
    states: Iterable[tuple[TopicPartition, LeaderAndIsr]], controller_epoch: ControllerEpoch
) -> tuple[Write, ...]:
    """Create the states of partitions."""
    return tuple(
        Create(topic_partition_state_path(partition), TopicPartitionState.encode(state, controller_epoch))
        for partition, state in states
    )


def get_topic_partition_states(partitions: Iterable[TopicPartition]) -> tuple[GetData, ...]:
    """Read the states of partitions."""
    return tuple(GetData(topic_partition_state_path(partition)) for partition in partitions)


def get_topic_configs(topics: Iterable[TopicName]) -> tuple[GetData, ...]:
    """Read the configurations of topics."""
    return tuple(GetData(topic_config_path(topic)) for topic in topics)


def set_topic_partition_states(
    states: Iterable[tuple[TopicPartition, LeaderAndIsr]], controller_epoch: ControllerEpoch
) -> tuple[Write, ...]:
    """Set the states of partitions, if they still have the versions of these states."""
    return tuple(
        SetData(
            topic_partition_state_path(partition),
            TopicPartitionState.encode(state, controller_epoch),
            state.partition_epoch,
        )
        for partition, state in states
    )


def fenced(requests: Iterable[Write], epoch_zk_version: ZkVersion) -> tuple[Write, ...]:
    """The writes, each with the check of the controller's epoch [wrapRequestWithControllerEpochCheck]."""
    check = Check(CONTROLLER_EPOCH, epoch_zk_version)
    return tuple(
        Multi((check, *(request.operations if isinstance(request, Multi) else (request,)))) for request in requests
    )


def unwrapped(responses: Iterable[ZkResponse]) -> tuple[ZkResponse, ...]:
    """The responses to fenced writes [unwrapResponseWithControllerEpochCheck].

    Raises, for the first such response:
        ControllerMoved: the check found another version.
        RequestFailed: the check failed for another reason, or did not run.
    """
    return tuple(_unwrapped(response) for response in responses)


def _unwrapped(response: ZkResponse) -> ZkResponse:
    if not response.results:
        raise RequestFailed(response.code)
    check, written = response.results
    if check is Code.BADVERSION:
        raise ControllerMoved
    if isinstance(check, Code) and check is not Code.OK:
        raise RequestFailed(check)
    return ZkResponse(response.code, version=written.version if isinstance(written, Stat) else 0)


# The client.


def retry_requests_until_connected(
    zookeeper: ZooKeeper,
    session: SessionId,
    requests: Sequence[ZkRequest],
    answered: int | None = None,
    carried_out: int | None = None,
) -> tuple[ZkResponse, ...]:
    """Send the requests of a batch, in order.

    Args:
        zookeeper: the servers.
        session: the controller's; None for a client that sets no watch.
        requests: the batch.
        answered: the connection is lost after so many responses, and the other requests are repeated.
        carried_out: the number of requests carried out by then; those beyond `answered` lost their responses.

    The caller handles the effect of a lost connection on watches [ZooKeeper.disconnect].

    >>> zookeeper = ZooKeeper()
    >>> zookeeper.connect("a")
    >>> retry_requests_until_connected(zookeeper, "a", [Create("/x")])[0].code
    <Code.OK: 0>
    >>> retry_requests_until_connected(zookeeper, "a", [Create("/y")], answered=0, carried_out=1)[0].code
    <Code.NODEEXISTS: -110>
    """
    answered = len(requests) if answered is None else answered
    carried_out = answered if carried_out is None else carried_out
    if not 0 <= answered <= carried_out <= len(requests):
        raise ValueError(
            f"of {len(requests)} requests, {answered} answered and {carried_out} carried out: impossible"
        )
    responses = [_served(zookeeper, session, request) for request in requests[:answered]]
    for request in requests[answered:carried_out]:
        _served(zookeeper, session, request)
    responses += [_served(zookeeper, session, request) for request in requests[answered:]]
    return tuple(responses)


def _served(zookeeper: ZooKeeper, session: SessionId, request: ZkRequest) -> ZkResponse:
    version: ZkVersion = 0
    try:
        match request:
            case GetData(path, watch):
                data, stat = zookeeper.get(session, path, watch and session is not None)
                return ZkResponse(Code.OK, data, stat.version, czxid=stat.czxid, owner=stat.ephemeralOwner)
            case GetChildren(path, watch):
                children, _ = zookeeper.children(session, path, watch and session is not None)
                return ZkResponse(Code.OK, children)
            case Exists(path, watch):
                there = zookeeper.exists(session, path, watch and session is not None)
                return ZkResponse(Code.NONODE if there is None else Code.OK)
            case Multi(operations):
                results = zookeeper.multi(session, operations)
                failed = (result for result in results if isinstance(result, Code) and result is not Code.OK)
                return ZkResponse(next(failed, Code.OK), results=results)
            case Create(path, data, ephemeral, sequential):
                zookeeper.create(session, path, data, ephemeral=ephemeral, sequential=sequential)
            case SetData(path, data, expected):
                version = zookeeper.set(session, path, data, expected).version
            case Delete(path, expected):
                zookeeper.delete(session, path, expected)
    except ZooKeeperError as error:
        return ZkResponse(error.code)
    return ZkResponse(Code.OK, version=version)
