"""AlterPartitionManager: how a leader has its ISR changed by the controller, since 2.7.

A leader proposes a change, and is in a pending state until it is answered (`hosted_partition`). Proposals gather, one
for each partition, and go together: while one request is on its way no other is sent. A request whose answer is lost,
or that finds no controller, is sent again as it is, to the broker that is controller then. What an answer does:

    success                      the state that the controller gives is committed, if the leader epoch is still the
                                 same and no later version is known
    INELIGIBLE_REPLICA,          nothing was written, and never will be: back to what was committed
    OPERATION_NOT_ATTEMPTED
    UNKNOWN_TOPIC_OR_PARTITION,  the leader may be behind: the change stays pending until LeaderAndIsr brings a new
    FENCED_LEADER_EPOCH,         leader epoch
    INVALID_UPDATE_VERSION,
    INVALID_REQUEST
    any other                    the same proposal once more

An answer to a proposal that LeaderAndIsr has overtaken is not looked at. But until it arrives the place of its
partition is taken: what is proposed meanwhile is OPERATION_NOT_ATTEMPTED.

That a replica is in sync, or is not, is for the caller to say, who has the logs. Left out: the pause of 50 ms after a
request that was refused as a whole.

What older releases did otherwise, and this does not follow: until 2.8 a proposal was forgotten with LeaderAndIsr, and
an answer found a state that it was not about [KAFKA-12686, 3.0].

[AlterPartitionManager.scala, NodeToControllerRequestThread, Partition.submitAlterPartition, 3.9]
"""

from collections.abc import Callable, Collection, MutableMapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from election.brokers import in_order
from election.ids import BrokerEpoch, BrokerId
from statemachines.broker.hosted_partition import CommittedPartitionState, HostedPartition, PendingPartitionChange
from statemachines.broker.in_sync_replicas import may_expire
from statemachines.broker.replica_manager import ReplicaManager
from statemachines.controller.alter_partition import (
    AlterPartitionData,
    AlterPartitionOutcome,
    AlterPartitionRequest,
    AlterPartitionResponse,
)
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.messages.topic_partition import TopicPartition

__all__ = ["AlterPartitionManager", "AlterPartitionState", "InFlight", "InMemoryAlterPartition"]

NOT_APPLIED: Final = frozenset({Errors.INELIGIBLE_REPLICA, Errors.OPERATION_NOT_ATTEMPTED})
"""Nothing was written, and never will be."""
WAIT_FOR_LEADER_AND_ISR: Final = frozenset(
    {
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.FENCED_LEADER_EPOCH,
        Errors.INVALID_UPDATE_VERSION,
        Errors.INVALID_REQUEST,
    }
)
"""The leader does not know whether something was written."""


class InFlight(NamedTuple):
    """A request that has not been answered."""

    request: AlterPartitionRequest
    proposed: tuple[tuple[TopicPartition, PendingPartitionChange], ...]
    """What it is about."""


class AlterPartitionState(Protocol):
    """What a broker's leaders have proposed, as variables. Values are immutable and replaced as a whole."""

    in_flight: InFlight | None

    @property
    def unsent_isr_updates(self) -> MutableMapping[TopicPartition, PendingPartitionChange]:
        """What has not been answered, whether it is on its way or not."""


@dataclass
class InMemoryAlterPartition:
    """What a broker's leaders have proposed, over a dict: at first nothing."""

    in_flight: InFlight | None = None
    unsent_isr_updates: MutableMapping[TopicPartition, PendingPartitionChange] = field(default_factory=dict)


class AlterPartitionManager:
    """The changes of ISRs by the leaders on one broker, over whatever holds them.

    Args:
        replica_manager: its replicas.
        broker_epoch: asked for the epoch of its registration.
        state: what has been proposed; else a fresh one in memory.
    """

    def __init__(
        self,
        replica_manager: ReplicaManager,
        broker_epoch: Callable[[], BrokerEpoch],
        state: AlterPartitionState | None = None,
    ) -> None:
        self.replica_manager, self.broker_epoch = replica_manager, broker_epoch
        self.state: AlterPartitionState = InMemoryAlterPartition() if state is None else state

    # What a leader does.

    def maybe_expand_isr(self, partition: TopicPartition, replica: BrokerId) -> bool:
        """A follower has caught up: propose that it joins the ISR.

        Returns whether that is proposed. It is not if a change is under way, if it is in the ISR, or, since 3.3, if
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
        """Whether a follower that has caught up would be proposed; see `maybe_expand_isr`.

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

        Returns whether that is proposed: not if a change is under way, nor if none of them is in the ISR, nor if the
        leader cannot look for them (`in_sync_replicas.may_expire`).

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
        shrink_with_unassigned = self.replica_manager.design.shrink_with_unassigned
        if not may_expire(state.isr, broker, hosted.assignment.replicas, shrink_with_unassigned):
            return False
        self._propose(partition, hosted.prepare_isr_shrink(broker, leaving))
        return True

    # What goes to the controller, and what comes back.

    def maybe_propagate_isr_changes(self) -> AlterPartitionRequest | None:
        """The request that is due, with all that has been proposed; None: one is on its way, or there is nothing."""
        unsent = self.state.unsent_isr_updates
        if self.state.in_flight is not None or not unsent:
            return None
        proposed = tuple((partition, unsent[partition]) for partition in sorted(unsent))
        data = (
            AlterPartitionData(
                *partition, sent.leader_epoch, sent.isr, sent.leader_recovery_state, sent.partition_epoch
            )
            for partition, sent in ((each, change.sent_leader_and_isr) for each, change in proposed)
        )
        request = AlterPartitionRequest(self.replica_manager.broker, self.broker_epoch(), tuple(data))
        self.state.in_flight = InFlight(request, proposed)
        return request

    def answered(self, response: AlterPartitionResponse) -> bool:
        """The answer arrives.

        Returns whether it counts. It does not if it is NOT_CONTROLLER, be it for one partition: then the request that
        is on its way is to be sent again, to another controller.

        Raises:
            ValueError: no request is on its way; nothing has changed.
        """
        in_flight = self.state.in_flight
        if in_flight is None:
            raise ValueError(f"no AlterPartition is on its way, to which {response} is an answer")
        outcomes = dict(response.partitions)
        if Errors.NOT_CONTROLLER in (response.errorCode, *outcomes.values()):
            return False
        self.state.in_flight = None
        if response.errorCode is Errors.NONE:
            for partition, proposed in in_flight.proposed:
                if partition in outcomes:
                    self.state.unsent_isr_updates.pop(partition)
                    self._complete(partition, proposed, outcomes[partition])
        return True

    # What becomes of a proposal.

    def _propose(self, partition: TopicPartition, hosted: HostedPartition) -> None:
        assert not isinstance(hosted.state, CommittedPartitionState)
        self.replica_manager.state.all_partitions[partition] = hosted
        self._submit(partition, hosted.state)

    def _submit(self, partition: TopicPartition, proposed: PendingPartitionChange) -> None:
        """A proposal waits to be sent; but not if an older one of its partition has not been answered."""
        if partition in self.state.unsent_isr_updates:
            self._complete(partition, proposed, Errors.OPERATION_NOT_ATTEMPTED)
        else:
            self.state.unsent_isr_updates[partition] = proposed

    def _complete(
        self, partition: TopicPartition, proposed: PendingPartitionChange, outcome: AlterPartitionOutcome
    ) -> None:
        """What came of a proposal, unless the partition's state has been overtaken by LeaderAndIsr."""
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
