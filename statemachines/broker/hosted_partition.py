"""HostedPartition: a broker's view of a partition whose replica it keeps, and how it begins to lead or to follow.

LeaderAndIsr sets the leader, the leader epoch and the partition epoch. Only a leader has an ISR: a follower forgets
it. A leader that changes its ISR asks first (`alter_partition`), and is in a *pending* state until the reply arrives.
In the meantime two ISRs count:

    committed  the ISR that ZooKeeper is known to have
    maximal    the committed one and the replica that is about to join: the high watermark waits for all of these

To lead or to follow, a replica opens its log, or creates it. For that it reads the topic's configuration from
ZooKeeper, and the read may fail halfway through. A leader adopts its epochs after opening the log, so that the
request can be repeated. A follower did so until 3.5, but since 3.6 it adopts them before [#14138]. Then the repeated
request is refused as a whole (`replica_manager`), and the replica fetches from no leader until the next leader epoch.
This brings back, for followers, the anomaly of KAFKA-9769, fixed in 2.7.

`ReplicaManagerState` has all partitions of a broker, as variables. In a `Cluster` they are in dicts that note their
`Changes`: a follower fetches all the time, and most of its fetches change nothing. The cluster looks for the others
only where something has changed that they depend on.

Left out: the log itself, what a leader knows of its followers, topic ids, and directories that replicas move to.

[Partition.scala, 3.9]
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from election.ids import BrokerId, ControllerEpoch, LeaderEpoch
from statemachines.messages.control_requests import LeaderAndIsrPartitionState
from statemachines.messages.leader_and_isr import NO_EPOCH, LeaderAndIsr, LeaderRecoveryState
from statemachines.messages.replica_assignment import UNASSIGNED, ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.zookeeper.tree import ZkVersion


def is_newer_leader_epoch(known: LeaderEpoch, leader_epoch: LeaderEpoch) -> bool:
    """Whether a replica accepts the leader epoch of LeaderAndIsr: it must be newer than its own.

    >>> is_newer_leader_epoch(3, 4), is_newer_leader_epoch(3, 3), is_newer_leader_epoch(3, 2)
    (True, False, False)

    [ReplicaManager.becomeLeaderOrFollower, 0.10.2 to 3.9]
    """
    return leader_epoch > known


class CommittedPartitionState(NamedTuple):
    """No change of the ISR is under way."""

    isr: tuple[BrokerId, ...] = ()
    leader_recovery_state: LeaderRecoveryState = LeaderRecoveryState.RECOVERED

    @property
    def maximal_isr(self) -> tuple[BrokerId, ...]:
        """The replicas that the high watermark waits for."""
        return self.isr


class PendingExpandIsr(NamedTuple):
    """A replica is about to join the ISR."""

    new_in_sync_replica_id: BrokerId
    sent_leader_and_isr: LeaderAndIsr
    last_committed_state: CommittedPartitionState

    @property
    def isr(self) -> tuple[BrokerId, ...]:
        """The ISR known to be in ZooKeeper."""
        return self.last_committed_state.isr

    @property
    def maximal_isr(self) -> tuple[BrokerId, ...]:
        """The replicas that the high watermark waits for: the new one may be in the ISR already."""
        return (*self.isr, self.new_in_sync_replica_id)


class PendingShrinkIsr(NamedTuple):
    """Replicas are about to leave the ISR."""

    out_of_sync_replica_ids: frozenset[BrokerId]
    sent_leader_and_isr: LeaderAndIsr
    last_committed_state: CommittedPartitionState

    @property
    def isr(self) -> tuple[BrokerId, ...]:
        """The ISR known to be in ZooKeeper."""
        return self.last_committed_state.isr

    @property
    def maximal_isr(self) -> tuple[BrokerId, ...]:
        """The replicas that the high watermark waits for: all of them, until the removal is confirmed."""
        return self.isr


PendingPartitionChange: TypeAlias = PendingExpandIsr | PendingShrinkIsr
"""A change of the ISR without a reply yet."""

IsrState: TypeAlias = CommittedPartitionState | PendingPartitionChange
"""The ISR as its leader knows it [PartitionState in Partition.scala]."""


class HostedPartition(NamedTuple):
    """A partition on a broker that keeps a replica of it."""

    online: bool = True
    """False: the log directory has failed, and the other fields are unknown [HostedPartition.Offline]."""
    leader: Literal[-1] | BrokerId | None = None
    """None: no request has named a leader yet; -1: the last one said that there is none."""
    leader_epoch: LeaderEpoch = NO_EPOCH
    partition_epoch: ZkVersion = 0
    controller_epoch: ControllerEpoch = 0
    """That of the controller that wrote the last received state; the leader's own writes carry it."""
    assignment: ReplicaAssignment = UNASSIGNED
    state: IsrState = CommittedPartitionState()
    has_log: bool = False
    """Its log is open. After a restart it stays closed until the broker leads or follows [Partition.log]."""

    def is_led_by(self, broker: BrokerId) -> bool:
        """Whether this broker, which holds the partition, leads it [isLeader]."""
        return self.online and self.leader == broker

    def make_leader(self, state: LeaderAndIsrPartitionState, has_log: bool = True) -> HostedPartition:
        """The broker begins to lead, or leads on in a new epoch.

        Args:
            state: from LeaderAndIsr, in a newer leader epoch.
            has_log: False if the log could not be created; the change stops where it needs the log.
        """
        return self._with(state, CommittedPartitionState(state.isr), has_log, adopts_epochs=has_log)

    def make_follower(
        self, state: LeaderAndIsrPartitionState, has_log: bool = True, epoch_after_log: bool = False
    ) -> HostedPartition:
        """The broker begins to follow, or follows on in a new epoch.

        Args:
            state: from LeaderAndIsr, in a newer leader epoch.
            has_log: False if the log could not be created; the change stops where it needs the log.
            epoch_after_log: it adopts the epochs only once its log is open.
        """
        committed = CommittedPartitionState((), state.leaderRecoveryState)
        return self._with(state, committed, has_log, adopts_epochs=has_log or not epoch_after_log)

    def with_log(self) -> HostedPartition:
        """Its log is open [createLogIfNotExists]."""
        return self._replace(has_log=True)

    def prepare_isr_expand(self, broker: BrokerId, replica: BrokerId) -> HostedPartition:
        """The leader is about to add a replica to an ISR without pending changes [prepareIsrExpand]."""
        committed = self._committed(broker)
        sent = self._sent(broker, committed, (*committed.isr, replica))
        return self._replace(state=PendingExpandIsr(replica, sent, committed))

    def prepare_isr_shrink(self, broker: BrokerId, out_of_sync: Iterable[BrokerId]) -> HostedPartition:
        """The leader is about to remove replicas from the ISR [prepareIsrShrink]."""
        committed, leaving = self._committed(broker), frozenset(out_of_sync)
        sent = self._sent(broker, committed, (each for each in committed.isr if each not in leaving))
        return self._replace(state=PendingShrinkIsr(leaving, sent, committed))

    def with_committed(self, leader_and_isr: LeaderAndIsr) -> HostedPartition:
        """The leader learns ZooKeeper's state; ignored in another leader epoch, or if it knows a later version.

        [handleAlterPartitionUpdate]
        """
        if leader_and_isr.leader_epoch != self.leader_epoch or leader_and_isr.partition_epoch < self.partition_epoch:
            return self
        committed = CommittedPartitionState(leader_and_isr.isr, leader_and_isr.leader_recovery_state)
        return self._replace(state=committed, partition_epoch=leader_and_isr.partition_epoch)

    def _committed(self, broker: BrokerId) -> CommittedPartitionState:
        """The committed ISR, ready for a change.

        Raises:
            ValueError: the broker does not lead, or a change is under way.
        """
        if not self.is_led_by(broker):
            raise ValueError(
                f"broker {broker} does not lead the partition, and has no ISR to change; the leader is {self.leader}"
            )
        if not isinstance(self.state, CommittedPartitionState):
            raise ValueError(f"a change of the ISR is under way: {self.state}")
        return self.state

    def _sent(self, broker: BrokerId, committed: CommittedPartitionState, isr: Iterable[BrokerId]) -> LeaderAndIsr:
        """The state to write."""
        recovery = committed.leader_recovery_state
        return LeaderAndIsr(broker, self.leader_epoch, tuple(isr), recovery, self.partition_epoch)

    def _with(
        self,
        state: LeaderAndIsrPartitionState,
        committed: CommittedPartitionState,
        has_log: bool,
        adopts_epochs: bool,
    ) -> HostedPartition:
        """Take the assignment, the ISR and, unless the change has stopped before, the epochs."""
        epochs_from_request = (state.leader, state.leaderEpoch, state.partitionEpoch)
        return HostedPartition(
            self.online,
            *(epochs_from_request if adopts_epochs else (self.leader, self.leader_epoch, self.partition_epoch)),
            controller_epoch=state.controllerEpoch,
            assignment=ReplicaAssignment(state.replicas, state.addingReplicas, state.removingReplicas),
            state=committed,
            has_log=has_log or self.has_log,
        )


OFFLINE_PARTITION = HostedPartition(online=False)
"""Its log directory has failed. It stays offline while the broker runs, whatever requests say."""


# All partitions of a broker.


class Fetching(NamedTuple):
    """The leader that a follower fetches from, and the leader epoch."""

    leader: BrokerId
    leader_epoch: LeaderEpoch


class ReplicaManagerState(Protocol):
    """A broker's view of its replicas, as variables. Values are immutable and replaced as a whole."""

    controller_epoch: ControllerEpoch
    """The newest in any request."""
    logs: frozenset[TopicPartition]
    """The partitions that have a log, in a directory that has not failed. Logs outlive the broker's process."""
    has_offline_log_dir: bool
    """One of its log directories has failed."""

    @property
    def all_partitions(self) -> MutableMapping[TopicPartition, HostedPartition]:
        """The partitions whose replicas it keeps, as named by requests since its start."""

    @property
    def fetchers(self) -> MutableMapping[TopicPartition, Fetching]:
        """The fetchers of its followers [replicaFetcherManager]."""


@dataclass
class InMemoryReplicas:
    """A broker's view of its replicas, over dicts; initially empty."""

    controller_epoch: ControllerEpoch = 0
    logs: frozenset[TopicPartition] = frozenset()
    has_offline_log_dir: bool = False
    all_partitions: MutableMapping[TopicPartition, HostedPartition] = field(default_factory=dict)
    fetchers: MutableMapping[TopicPartition, Fetching] = field(default_factory=dict)


# What has changed, for fetches to look at.

V = TypeVar("V")


class Changes:
    """What a broker has changed since somebody last looked for fetches that have something to do."""

    def __init__(self) -> None:
        self.partitions: set[TopicPartition] = set()
        """Its own fetches of these, and those of all followers."""
        self.isrs: set[TopicPartition] = set()
        """The fetches of followers outside the ISR."""
        self.followers: set[tuple[BrokerId, TopicPartition]] = set()
        """The fetches of these followers."""


class ChangedKeys(dict[TopicPartition, V]):
    """A dict by partition that notes which of its values have changed."""

    def __init__(self, changes: Changes) -> None:
        super().__init__()
        self._changes = changes

    def __setitem__(self, partition: TopicPartition, value: V) -> None:
        self._changes.partitions.add(partition)
        super().__setitem__(partition, value)

    def pop(self, partition: TopicPartition, *default: Any) -> Any:
        """Remove a partition, and note it."""
        self._changes.partitions.add(partition)
        return super().pop(partition, *default)


class HostedPartitions(ChangedKeys[HostedPartition]):
    """A dict of hosted partitions that notes whether more than the ISR has changed."""

    def __setitem__(self, partition: TopicPartition, value: HostedPartition) -> None:
        before = self.get(partition)
        if before is not None and (before.leader, before.leader_epoch) == (value.leader, value.leader_epoch):
            self._changes.isrs.add(partition)
            dict.__setitem__(self, partition, value)
        else:
            super().__setitem__(partition, value)
