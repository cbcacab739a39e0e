"""The results of a change of states, the reasons for failures, and the driver of its steps.

A state machine changes the states of many partitions, or replicas, at once. It returns `ChangeDone`, or a value that
waits for ZooKeeper: `machine.requests(change)` is a batch of requests, and `machine.answered(change, responses)`
processes the responses; it returns `ChangeDone` or waits again. Such a value can be stored, compared, and continued
later by another machine over the same context (docs/decisions/0023).

Kafka's log entries are kept: each is a `FailedStateChange`, passed to a `log`, which by default is Python's
`logging`.
"""

import logging
from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, overload

from statemachines.controller.kafka_zk_client import ZkRequest, ZkResponse, retry_requests_until_connected
from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.tables.table import TableState
from statemachines.zookeeper.server import ZooKeeper
from statemachines.zookeeper.tree import Code, SessionId


class StateChangeFailure(Enum):
    """Why a state did not change, with Kafka's exception."""

    InvalidTransition = "the table has no such row [IllegalStateException]"
    NoLiveReplica = "no assigned replica is online, for a new partition [StateChangeFailedException]"
    NoLeaderAndIsr = "ZooKeeper has no leader and ISR of the partition [StateChangeFailedException]"
    NewerController = "a newer controller has written the state [StateChangeFailedException]"
    NoLeaderElected = "the strategy finds no leader [StateChangeFailedException]"
    ReplicaLeads = "the replica that should become new is the leader [StateChangeFailedException]"
    BatchNotEmpty = "an earlier change left requests in the batch [IllegalStateException]"
    RequestsNotSent = "the requests to brokers could not be sent [IllegalStateException]"

    def __str__(self) -> str:
        return self.name


StateChangeCause: TypeAlias = StateChangeFailure | Code
"""Why a state did not change; ZooKeeper's code if there is no other reason [KeeperException]."""

ElectionOutcome: TypeAlias = LeaderAndIsr | StateChangeCause
"""The outcome of an election: the written leader and ISR, or the reason for none."""


class FailedStateChange(NamedTuple):
    """An error in Kafka's state-change log, after which Kafka continues."""

    subject: TopicPartition | PartitionAndReplica | None
    """The partition or replica; None if the change as a whole failed."""
    state: TableState | None
    """Its present state."""
    target: TableState
    cause: StateChangeCause

    def __str__(self) -> str:
        cause = self.cause.name
        if self.subject is None:
            return f"no state changed to {self.target}: {cause}"
        state = "no state" if self.state is None else self.state
        return f"{self.subject} did not change from {state} to {self.target}: {cause}"


def log_failed_state_change(failed: FailedStateChange) -> None:
    """Log a failed change as an error of the logger `state_change`. [logFailedStateChange]

    >>> from statemachines.tables.partition import OfflinePartition, OnlinePartition
    >>> partition, cause = TopicPartition("t", 0), StateChangeFailure.NoLeaderElected
    >>> print(FailedStateChange(partition, OfflinePartition, OnlinePartition, cause))
    t-0 did not change from OfflinePartition to OnlinePartition: NoLeaderElected
    """
    logging.getLogger(__name__).error("%s", failed)


class ChangeDone(NamedTuple):
    """A completed change of states."""

    results: tuple[tuple[TopicPartition, ElectionOutcome], ...] = ()
    """The outcome of each election. New partitions with a first leader are not among them, as in Kafka."""
    controller_moved: bool = False
    """Another controller has been elected: the change was cut short, and nothing has been sent [ControllerMoved]."""


class EventDone(NamedTuple):
    """A completed event of a controller (see `calls`)."""

    answer: Any = None
    """The reply to the caller of the event, if any."""
    failure: Any = None
    """Why it was cut short: an `EventFailure`, or ZooKeeper's code. ControllerMoved: the controller resigns."""
    must_reelect: bool = False
    """Another controller must be elected [triggerControllerMove]."""


C = TypeVar("C")
E = TypeVar("E", covariant=True)


class StateMachine(Protocol[C, E]):
    """A machine that changes states in steps, or processes events in steps."""

    def requests(self, change: C, /) -> tuple[ZkRequest, ...]:
        """The pending batch of requests."""

    def answered(self, change: C, responses: Sequence[ZkResponse], /) -> C | E:
        """The next step after the responses to this batch."""


@overload
def carry_out(
    machine: StateMachine[C, ChangeDone], change: C | ChangeDone, zookeeper: ZooKeeper, session: SessionId
) -> ChangeDone: ...
@overload
def carry_out(
    machine: StateMachine[C, EventDone], change: C | EventDone, zookeeper: ZooKeeper, session: SessionId
) -> EventDone: ...
def carry_out(machine: StateMachine[Any, Any], change: Any, zookeeper: ZooKeeper, session: SessionId) -> Any:
    """Take all steps of a change, against these servers.

    >>> from statemachines.controller.request_batch import ControllerBrokerRequestBatch
    >>> from statemachines.controller.context import ControllerContext
    >>> from statemachines.tables.partition import NewPartition, OnlinePartition
    >>> from statemachines.controller.partition_state_machine import OFFLINE, PartitionStateMachine
    >>> from statemachines.messages.replica_assignment import ReplicaAssignment
    >>> zookeeper = ZooKeeper()
    >>> for path in ("/brokers", "/brokers/topics", "/brokers/topics/t", "/controller_epoch"):
    ...     _ = zookeeper.create(None, path)
    >>> context, sent = ControllerContext(), []
    >>> context.add_live_brokers({1: 11, 2: 12})
    >>> context.update_partition_full_replica_assignment(TopicPartition("t", 0), ReplicaAssignment((2, 1)))
    >>> batch = ControllerBrokerRequestBatch(1, context, lambda broker, request: sent.append((broker, request)))
    >>> machine = PartitionStateMachine(context, batch)

    A new partition gets its leader:

    >>> for target in (NewPartition, OnlinePartition):
    ...     change = machine.handle_state_changes([TopicPartition("t", 0)], target, OFFLINE)
    ...     assert carry_out(machine, change, zookeeper, None) == ChangeDone()
    >>> zookeeper.get(None, "/brokers/topics/t/partitions/0/state")[0].leader_and_isr[:3]
    (2, 0, (2, 1))
    >>> [(broker, type(request).__name__) for broker, request in sent]  # doctest: +NORMALIZE_WHITESPACE
    [(1, 'LeaderAndIsrRequest'), (2, 'LeaderAndIsrRequest'),
     (1, 'UpdateMetadataRequest'), (2, 'UpdateMetadataRequest')]
    """
    while not isinstance(change, ChangeDone | EventDone):
        responses = retry_requests_until_connected(zookeeper, session, machine.requests(change))
        change = machine.answered(change, responses)
    return change
