"""Events in a cluster, as values that print as lines: the entries of `Cluster.history`.

>>> print(Elected(2, 7))
broker 2 is controller, epoch 7
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from election.ids import BrokerId, ControllerEpoch, LeaderEpoch
from statemachines.broker.data_plane import Appended, Halted, Truncated
from statemachines.controller.design import BROKER_IDS, CONTROLLER
from statemachines.controller.state_change import FailedStateChange
from statemachines.messages.control_requests import ControlRequest, StopReplicaRequest
from statemachines.messages.leader_and_isr import NO_EPOCH, NO_LEADER
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition, named
from statemachines.messages.zk_data import TopicAssignment, TopicPartitionState
from statemachines.zookeeper.server import ZooKeeper
from statemachines.zookeeper.tree import SessionId, Transaction, ZkPath


class PartitionStatus(NamedTuple):
    """The status of a partition, by ZooKeeper."""

    assignment: ReplicaAssignment
    leader: BrokerId | None
    """None if it has none, or one that is not alive."""
    isr: tuple[BrokerId, ...]
    leader_epoch: LeaderEpoch
    """`NO_EPOCH` if it has no state yet."""

    @property
    def has_state(self) -> bool:
        """Whether it has a state in ZooKeeper: since its first leader, even when its ISR becomes empty."""
        return bool(self.isr) or self.leader_epoch != NO_EPOCH

    def __str__(self) -> str:
        leader = "none" if self.leader is None else self.leader
        return (
            f"leader {leader}, epoch {self.leader_epoch}, ISR {_ids(self.isr)}, on {_ids(self.assignment.replicas)}"
        )


class Elected(NamedTuple):
    """A broker has become controller."""

    controller: BrokerId
    epoch: ControllerEpoch

    def __str__(self) -> str:
        return f"broker {self.controller} is controller, epoch {self.epoch}"


class Written(NamedTuple):
    """A broker wrote or deleted a node of ZooKeeper."""

    path: ZkPath
    data: Any
    """None if it is deleted."""
    before: Any = None
    """Its previous data; None if it did not exist, or had none."""

    def __str__(self) -> str:
        match self.data:
            case TopicPartitionState(state, _):
                leader = "none" if state.leader == NO_LEADER else state.leader
                what = f"leader {leader}, epoch {state.leader_epoch}, ISR {_ids(state.isr)}"
            case TopicAssignment(partitions):
                what = f"{len(partitions)} partitions assigned"
            case None:
                what = "deleted"
            case _:
                what = "written"
        return f"ZooKeeper: {self.path}: {what}"


class Sent(NamedTuple):
    """A controller put a request for a broker into its channel."""

    broker: BrokerId
    request: ControlRequest

    def __str__(self) -> str:
        request, name = self.request, type(self.request).__name__.removesuffix("Request")
        if isinstance(request, StopReplicaRequest) and (
            request.deletePartitions or any(each.deletePartition for each in request.partitionStates)
        ):
            name += ", with the log,"
        of = [each.partition for each in request.partitionStates]
        return f"to broker {self.broker}: {name}" + (f" of {named(of)}" if of else "")


class Failed(NamedTuple):
    """Something was refused, or not completed."""

    what: str

    def __str__(self) -> str:
        return f"! {self.what}"


Effect: TypeAlias = Elected | Written | Sent | Failed | FailedStateChange | Appended | Truncated | Halted
"""An action of a controller, an error that it logged, or an action of a leader or a follower."""


class RecordingZooKeeper(ZooKeeper):
    """A ZooKeeper that reports writes in sessions: those of brokers, not of administrators.

    Args:
        record: called with each node that is written or deleted, except /controller and its related nodes, and
            except for nodes created without data.
    """

    def __init__(self, record: Callable[[Written], object]) -> None:
        super().__init__()
        self._record = record
        self._session: SessionId | None = None

    def _begin(self, request: str, session: SessionId | None, ephemeral: bool = False) -> Transaction:
        self._session = session
        return super()._begin(request, session, ephemeral)

    def _commit(self, transaction: Transaction) -> None:
        nodes = self.state.nodes
        before = {path: nodes[path].data for _, path in transaction.changes if path in nodes}
        super()._commit(transaction)
        if self._session is None:
            return
        for _, path in transaction.changes:
            data = nodes[path].data if path in nodes else None
            if (path in before or data is not None) and not path.startswith((CONTROLLER, BROKER_IDS)):
                self._record(Written(path, data, before.get(path)))


def unclean_elections(history: Sequence[Effect]) -> set[TopicPartition]:
    """The partitions that elected a leader outside the ISR: records may be lost.

    >>> from statemachines.messages.leader_and_isr import LeaderAndIsr
    >>> before, after = (TopicPartitionState(LeaderAndIsr(each, each, (each,)), 1) for each in (1, 2))
    >>> unclean_elections([Written("/brokers/topics/t/partitions/0/state", after, before)])
    {TopicPartition(topic='t', partition=0)}
    """
    return {
        _partition_of(each.path)
        for each in history
        if isinstance(each, Written)
        and isinstance(each.data, TopicPartitionState)
        and isinstance(each.before, TopicPartitionState)
        and each.data.leader_and_isr.leader not in (NO_LEADER, *each.before.leader_and_isr.isr)
    }


def _ids(brokers: Sequence[BrokerId]) -> str:
    return ",".join(map(str, brokers)) or "none"


def _partition_of(path: ZkPath) -> TopicPartition:
    """The partition of a state's path."""
    _, _, _, topic, _, partition, _ = path.split("/")
    return TopicPartition(topic, int(partition))
