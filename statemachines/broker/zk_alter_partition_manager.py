"""ZkAlterPartitionManager: how a leader changes its ISR in ZooKeeper, until 2.6.

It sets the state of the partition if the node still has the version that the leader knows. The write is not fenced:
any leader with the right version succeeds. The data contains the epoch of the controller that appointed the leader.

    OK          the leader has the new ISR, and its version
    BADVERSION  it reads the state back. If the data equals its own write, the reply to that write was lost, and the
                change has succeeded [KAFKA-1382; before, it did not check]. Else another has written: the leader
                keeps its known ISR and version, and can no longer write until LeaderAndIsr brings a new leader epoch
    NONODE      the same

A leader holds its lock meanwhile: LeaderAndIsr waits. No state is pending, and the old ISR counts until the write is
confirmed. The controller learns of it through a node below /isr_change_notification, which names the changed
partitions. It reads their states, and sends them to all brokers in UpdateMetadata.

Left out: when a notification is written. Kafka checks every 2.5 s, and waits until there was no change for 5 s, for
60 s at most. If the session ends, the leader gives up as after NONODE; in Kafka the thread fails, with the same
effect.

Not modelled: newer releases whose brokers are configured for an older protocol. There, since 2.7, a failed change
stays pending until LeaderAndIsr.

[Partition.scala, ReplicationUtils.scala, ReplicaManager.maybePropagateIsrChanges, KafkaZkClient.scala, 1.1 to 2.6]
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from election.brokers import in_order
from election.ids import BrokerId
from statemachines.broker.hosted_partition import HostedPartition
from statemachines.broker.in_sync_replicas import may_expire
from statemachines.broker.replica_manager import ReplicaManager
from statemachines.controller.kafka_zk_client import (
    ZkBatch,
    ZkRequest,
    ZkResponse,
    get_topic_partition_states,
    set_topic_partition_states,
)
from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import TopicPartitionState, isr_change_notification_path
from statemachines.zookeeper.tree import Code, Create


class IsrUpdate(NamedTuple):
    """A change that waits for ZooKeeper: its next request sets the state, or reads it back."""

    due: ZkBatch
    partition: TopicPartition
    leader_and_isr: LeaderAndIsr
    """The state to write, at the version that the leader knows."""


class IsrChangeState(Protocol):
    """The changes of a broker's leaders, as a variable."""

    isr_change_set: frozenset[TopicPartition]
    """The partitions whose ISR has changed without a notification yet."""


@dataclass
class InMemoryIsrChanges:
    """The changes of a broker's leaders; initially none."""

    isr_change_set: frozenset[TopicPartition] = frozenset()


class ZkAlterPartitionManager:
    """The changes of ISRs by the leaders on one broker.

    Args:
        replica_manager: its replicas.
        state: the changes; by default a fresh state in memory.
    """

    def __init__(self, replica_manager: ReplicaManager, state: IsrChangeState | None = None) -> None:
        self.replica_manager = replica_manager
        self.state: IsrChangeState = InMemoryIsrChanges() if state is None else state

    # A leader's changes.

    def maybe_expand_isr(self, partition: TopicPartition, replica: BrokerId) -> IsrUpdate | None:
        """A follower has caught up, and should join the ISR; None if it is in it already.

        Raises:
            ValueError: this broker does not lead; nothing has changed.
        """
        in_order("replica", (replica,))
        if not self.may_expand_isr(partition, replica):
            return None
        return self._update(partition, (*self.replica_manager.led(partition).state.isr, replica))

    def may_expand_isr(self, partition: TopicPartition, replica: BrokerId) -> bool:
        """Whether a follower that has caught up would join (see `maybe_expand_isr`).

        Raises:
            ValueError: this broker does not lead.
        """
        return replica not in self.replica_manager.led(partition).state.isr

    def maybe_shrink_isr(self, partition: TopicPartition, out_of_sync: Collection[BrokerId]) -> IsrUpdate | None:
        """Followers have fallen behind, and should leave the ISR.

        None if none of them is in it, or the leader cannot check for lagging replicas
        (`in_sync_replicas.may_expire`).

        Raises:
            ValueError: this broker does not lead, or is one of them; nothing has changed.
        """
        hosted, broker = self.replica_manager.led(partition), self.replica_manager.broker
        if broker in out_of_sync:
            raise ValueError(f"broker {broker} leads {partition}, and does not leave its ISR")
        isr, shrink_with_unassigned = hosted.state.isr, self.replica_manager.design.shrink_with_unassigned
        if not may_expire(isr, broker, hosted.assignment.replicas, shrink_with_unassigned):
            return None
        left = tuple(each for each in isr if each not in out_of_sync)
        return None if left == isr else self._update(partition, left)

    def requests(self, update: IsrUpdate) -> tuple[ZkRequest, ...]:
        """The next request."""
        if update.due is ZkBatch.GetTopicPartitionStates:
            return get_topic_partition_states((update.partition,))
        epoch = self.replica_manager.led(update.partition).controller_epoch
        return set_topic_partition_states(((update.partition, update.leader_and_isr),), epoch)

    def answered(self, update: IsrUpdate, responses: Sequence[ZkResponse]) -> IsrUpdate | None:
        """Process the reply: the next step of the change; None if it is over.

        Raises:
            ValueError: there is not exactly one response, or the broker no longer leads. Nothing has changed.
        """
        hosted = self.replica_manager.led(update.partition)
        if len(responses) != 1:
            raise ValueError(f"one request has {len(responses)} answers")
        response = responses[0]
        reading = update.due is ZkBatch.GetTopicPartitionStates
        if response.code is Code.BADVERSION and self.replica_manager.design.read_back_isr:
            return update._replace(due=ZkBatch.GetTopicPartitionStates)
        wanted = TopicPartitionState.encode(update.leader_and_isr, hosted.controller_epoch)
        if response.code is Code.OK and (not reading or response.data == wanted):
            self._commit(update.partition, hosted, update.leader_and_isr._replace(partition_epoch=response.version))
        return None

    # Notifications to the controller.

    def isr_change_notification(self) -> Create | None:
        """The request that creates a notification of the changes; None if there are none."""
        changed = tuple(sorted(self.state.isr_change_set))
        return Create(isr_change_notification_path(), changed, sequential=True) if changed else None

    def notified(self) -> None:
        """The node has been created."""
        self.state.isr_change_set = frozenset()

    # Changes of state.

    def _update(self, partition: TopicPartition, isr: tuple[BrokerId, ...]) -> IsrUpdate:
        hosted = self.replica_manager.led(partition)
        wanted = LeaderAndIsr(
            self.replica_manager.broker, hosted.leader_epoch, isr, partition_epoch=hosted.partition_epoch
        )
        return IsrUpdate(ZkBatch.SetTopicPartitionStates, partition, wanted)

    def _commit(self, partition: TopicPartition, hosted: HostedPartition, written: LeaderAndIsr) -> None:
        self.replica_manager.state.all_partitions[partition] = hosted.with_committed(written)
        self.state.isr_change_set |= {partition}
