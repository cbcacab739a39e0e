"""How a leader changes its ISR: since 2.7 it asks the controller, until 2.6 it writes to ZooKeeper.

*AlterPartitionManager, since 2.7.* A leader proposes a change, and is in a pending state until the reply arrives
(`hosted_partition`). Proposals gather, one for each partition, and travel together; only one request is in flight at
a time. If the reply is lost, or the receiver is no controller, the same request is sent again, to the current
controller. Effects of a reply:

    success                      the leader commits the state in the reply, if the leader epoch is still the same and
                                 it knows no later version
    INELIGIBLE_REPLICA,          nothing was written, nor will be: the leader returns to the committed state
    OPERATION_NOT_ATTEMPTED
    UNKNOWN_TOPIC_OR_PARTITION,  the leader may be behind: the change stays pending until LeaderAndIsr brings a new
    FENCED_LEADER_EPOCH,         leader epoch
    INVALID_UPDATE_VERSION,
    INVALID_REQUEST
    any other                    the leader proposes the same again

A leader ignores the reply to a proposal that LeaderAndIsr has overtaken. But until that reply arrives the proposal
occupies its partition's place: any other proposal in the meantime fails with OPERATION_NOT_ATTEMPTED.

Not modelled, in older releases:

    until 2.7.1, and 2.8.0   a leader ignores a state of the version that it knows, and its change stays pending
                             [KAFKA-12751, 2.7.2 and 2.8.1]
    until 2.8                LeaderAndIsr discards the proposal, and the reply then meets a state that it does not
                             match [KAFKA-12686, 3.0]
    until 3.2.0              after *any other* error nothing is proposed again, because the old proposal occupies the
                             place. The change stays pending; in 3.2.0 the leader returns to the committed state
                             [KAFKA-14010, 3.2.1]

*ZkAlterPartitionManager, until 2.6.* A leader sets the state of the partition if the node still has the version that
the leader knows. The write is not fenced: any leader with the right version succeeds. The data contains the epoch of
the controller that appointed the leader.

    OK          the leader has the new ISR, and its version
    BADVERSION  it reads the state back. If the data equals its own write, the reply to that write was lost, and the
                change has succeeded [KAFKA-1382; before, it did not check]. Else another has written: the leader
                keeps its known ISR and version, and can no longer write until LeaderAndIsr brings a new leader epoch
    NONODE      the same

A leader holds its lock meanwhile: LeaderAndIsr waits. No state is pending, and the old ISR counts until the write is
confirmed. The controller learns of it through a node below /isr_change_notification, which names the changed
partitions. It reads their states, and sends them to all brokers in UpdateMetadata.

If the session ends, the leader gives up as after NONODE; in Kafka the thread fails, with the same effect. Not
modelled: newer releases whose brokers are configured for an older protocol. There, since 2.7, a failed change stays
pending until LeaderAndIsr.

The caller has the logs, says which replicas are in sync, and says when a notification is written: Kafka checks every
2.5 s, and waits until there was no change for 5 s, for 60 s at most. Left out: the pause of 50 ms after an
AlterPartition that was refused as a whole.

[AlterPartitionManager.scala, NodeToControllerRequestThread, Partition.submitAlterPartition, 3.9; Partition.scala,
ReplicationUtils.scala, ReplicaManager.maybePropagateIsrChanges, KafkaZkClient.scala, 1.1 to 2.6]
"""

from collections.abc import Callable, Collection, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from election.brokers import in_order
from election.ids import BrokerEpoch, BrokerId
from statemachines.broker.hosted_partition import CommittedPartitionState, HostedPartition, PendingPartitionChange
from statemachines.broker.replica_manager import ReplicaManager
from statemachines.controller.alter_partition import (
    AlterPartitionData,
    AlterPartitionOutcome,
    AlterPartitionRequest,
    AlterPartitionResponse,
)
from statemachines.controller.zk_requests import (
    ZkBatch,
    ZkRequest,
    ZkResponse,
    get_topic_partition_states,
    set_topic_partition_states,
)
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import TopicPartitionState, isr_change_notification_path
from statemachines.zookeeper.tree import Code, Create

# Since 2.7.

NOT_APPLIED: Final = frozenset({Errors.INELIGIBLE_REPLICA, Errors.OPERATION_NOT_ATTEMPTED})
"""Errors after which nothing was written, nor will be."""
WAIT_FOR_LEADER_AND_ISR: Final = frozenset(
    {
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.FENCED_LEADER_EPOCH,
        Errors.INVALID_UPDATE_VERSION,
        Errors.INVALID_REQUEST,
    }
)
"""Errors after which the leader does not know whether the change was written."""


class InFlight(NamedTuple):
    """A request whose reply has not arrived."""

    request: AlterPartitionRequest
    proposed: tuple[tuple[TopicPartition, PendingPartitionChange], ...]
    """The proposals in the request."""


class AlterPartitionState(Protocol):
    """The proposals of a broker's leaders, as variables. Values are immutable and replaced as a whole."""

    in_flight: InFlight | None

    @property
    def unsent_isr_updates(self) -> MutableMapping[TopicPartition, PendingPartitionChange]:
        """The proposals without a reply, in flight or not."""


@dataclass
class InMemoryAlterPartition:
    """The proposals of a broker's leaders, over a dict; initially empty."""

    in_flight: InFlight | None = None
    unsent_isr_updates: MutableMapping[TopicPartition, PendingPartitionChange] = field(default_factory=dict)


class AlterPartitionManager:
    """The leaders on one broker, as they ask for ISRs; `broker_epoch` returns the epoch of its registration."""

    def __init__(
        self,
        replica_manager: ReplicaManager,
        broker_epoch: Callable[[], BrokerEpoch],
        state: AlterPartitionState | None = None,
    ) -> None:
        self.replica_manager, self.broker_epoch = replica_manager, broker_epoch
        self.state: AlterPartitionState = InMemoryAlterPartition() if state is None else state

    # A leader's proposals.

    def maybe_expand_isr(self, partition: TopicPartition, replica: BrokerId) -> bool:
        """A follower has caught up: propose that it joins the ISR.

        Returns whether it is proposed: not if a change is under way, if the follower is in the ISR, or, since 3.3, if
        its broker is not alive.

        Raises:
            ValueError: this broker does not lead; nothing has changed.
        """
        in_order("replica", (replica,))
        if not self.may_expand_isr(partition, replica):
            return False
        manager = self.replica_manager
        self._propose(partition, manager.led(partition).prepare_isr_expand(manager.broker, replica))
        return True

    def may_expand_isr(self, partition: TopicPartition, replica: BrokerId) -> bool:
        """Whether a follower that has caught up would be proposed (see `maybe_expand_isr`).

        Raises:
            ValueError: this broker does not lead.
        """
        manager = self.replica_manager
        state = manager.led(partition).state
        if not isinstance(state, CommittedPartitionState) or replica in state.isr:
            return False
        return not manager.design.live_isr_check or manager.metadata_cache.has_alive_broker(replica)

    def maybe_shrink_isr(self, partition: TopicPartition, out_of_sync: Collection[BrokerId]) -> bool:
        """Followers have fallen behind: propose that they leave the ISR.

        Returns whether it is proposed: not if a change is under way, or if none of them is in the ISR.

        Raises:
            ValueError: this broker does not lead, or is one of them; nothing has changed.
        """
        hosted, broker = self.replica_manager.led(partition), self.replica_manager.broker
        if broker in out_of_sync:
            raise ValueError(f"broker {broker} leads {partition}, and does not leave its ISR")
        state = hosted.state
        leaving = [each for each in out_of_sync if each in state.isr]
        if not isinstance(state, CommittedPartitionState) or not leaving:
            return False
        self._propose(partition, hosted.prepare_isr_shrink(broker, leaving))
        return True

    # The request to the controller, and its reply.

    def maybe_propagate_isr_changes(self) -> AlterPartitionRequest | None:
        """The request to send now, with all proposals; None if one is in flight, or there are no proposals."""
        unsent = self.state.unsent_isr_updates
        if self.state.in_flight is not None or not unsent:
            return None
        proposed = tuple((partition, unsent[partition]) for partition in sorted(unsent))
        data = (
            AlterPartitionData(
                partition, sent.leader_epoch, sent.isr, sent.leader_recovery_state, sent.partition_epoch
            )
            for partition, sent in ((each, change.sent_leader_and_isr) for each, change in proposed)
        )
        request = AlterPartitionRequest(self.replica_manager.broker, self.broker_epoch(), tuple(data))
        self.state.in_flight = InFlight(request, proposed)
        return request

    def answered(self, response: AlterPartitionResponse) -> bool:
        """Process a reply.

        Returns whether the request is done. It is not after NOT_CONTROLLER, even for one partition: then the same
        request must be sent again, to another controller.

        Raises:
            ValueError: no request is in flight; nothing has changed.
        """
        in_flight = self.state.in_flight
        if in_flight is None:
            raise ValueError(f"no AlterPartition is in flight that {response} could answer")
        outcomes = dict(response.partitions)
        if Errors.NOT_CONTROLLER in (response.errorCode, *outcomes.values()):
            return False
        self.state.in_flight = None
        if response.errorCode is Errors.NONE:
            for partition, proposed in in_flight.proposed:
                if partition in outcomes:
                    self.state.unsent_isr_updates.pop(partition, None)
                    self._complete(partition, proposed, outcomes[partition])
        return True

    def clear_pending(self, partition: TopicPartition) -> None:
        """LeaderAndIsr has overtaken a proposal, which is forgotten, sent or not [2.7 and 2.8].

        If the leader proposes another one, and the reply to the first arrives then, the second is forgotten unsent.
        The partition stays pending until the next LeaderAndIsr [KAFKA-12686].
        """
        self.state.unsent_isr_updates.pop(partition, None)

    # The end of a proposal.

    def _propose(self, partition: TopicPartition, hosted: HostedPartition) -> None:
        assert not isinstance(hosted.state, CommittedPartitionState)
        self.replica_manager.state.all_partitions[partition] = hosted
        self._submit(partition, hosted.state)

    def _submit(self, partition: TopicPartition, proposed: PendingPartitionChange) -> None:
        """Queue a proposal, unless an older one of its partition still waits for a reply."""
        if partition in self.state.unsent_isr_updates:
            self._complete(partition, proposed, Errors.OPERATION_NOT_ATTEMPTED)
        else:
            self.state.unsent_isr_updates[partition] = proposed

    def _complete(
        self, partition: TopicPartition, proposed: PendingPartitionChange, outcome: AlterPartitionOutcome
    ) -> None:
        """Apply the outcome of a proposal, unless LeaderAndIsr has overtaken the partition's state."""
        partitions = self.replica_manager.state.all_partitions
        hosted = partitions.get(partition)
        if hosted is None or hosted.state != proposed:
            return
        if isinstance(outcome, LeaderAndIsr):
            partitions[partition] = hosted.with_committed(outcome)
        elif outcome in NOT_APPLIED:
            partitions[partition] = hosted._replace(state=proposed.last_committed_state)
        elif outcome not in WAIT_FOR_LEADER_AND_ISR:
            self._submit(partition, proposed)


# Until 2.6.


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
    """The leaders on one broker, as they write ISRs."""

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
        """Followers have fallen behind, and should leave the ISR; None if none of them is in it.

        Raises:
            ValueError: this broker does not lead, or is one of them; nothing has changed.
        """
        hosted, broker = self.replica_manager.led(partition), self.replica_manager.broker
        if broker in out_of_sync:
            raise ValueError(f"broker {broker} leads {partition}, and does not leave its ISR")
        isr = hosted.state.isr
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
            written = update.leader_and_isr._replace(partition_epoch=response.version)
            self.replica_manager.state.all_partitions[update.partition] = hosted.with_committed(written)
            self.state.isr_change_set |= {update.partition}
        return None

    # Notifications to the controller.

    def isr_change_notification(self) -> Create | None:
        """The request that creates a notification of the changes; None if there are none."""
        changed = tuple(sorted(self.state.isr_change_set))
        return Create(isr_change_notification_path(), changed, sequential=True) if changed else None

    def notified(self) -> None:
        """The node has been created."""
        self.state.isr_change_set = frozenset()

    def _update(self, partition: TopicPartition, isr: tuple[BrokerId, ...]) -> IsrUpdate:
        hosted = self.replica_manager.led(partition)
        wanted = LeaderAndIsr(
            self.replica_manager.broker, hosted.leader_epoch, isr, partition_epoch=hosted.partition_epoch
        )
        return IsrUpdate(ZkBatch.SetTopicPartitionStates, partition, wanted)
