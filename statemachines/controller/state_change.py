"""The results of a change of states, and the reasons for failures.

Kafka's log entries are kept: each is a `FailedStateChange`, passed to a `log`, which by default is Python's
`logging`.
"""

import logging
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.tables.table import TableState
from statemachines.zookeeper.tree import Code


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


class EventDone(NamedTuple):
    """A completed event of a controller (see `calls`)."""

    answer: Any = None
    """The reply to the caller of the event, if any."""
    failure: Any = None
    """Why it was cut short: an `EventFailure`, or ZooKeeper's code. ControllerMoved: the controller resigns."""
    must_reelect: bool = False
    """Another controller must be elected [triggerControllerMove]."""
