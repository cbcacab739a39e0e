"""AlterPartition: a leader asks the controller to change its ISR, and the controller decides.

A request names the registration of the leader's broker. For each partition it has the desired ISR, in the leader
epoch and at the partition epoch that the leader knows. The controller checks it against its own knowledge, in this
order:

    NOT_CONTROLLER              the receiver is none; or the leader knows a later epoch, that of another controller
    STALE_BROKER_EPOCH          that registration is not the present one
    UNKNOWN_TOPIC_OR_PARTITION  the partition never had a leader
    FENCED_LEADER_EPOCH         another leader has been elected since
    success                     the ISR is already as desired: a reply was lost, and the leader repeats the request
    INVALID_UPDATE_VERSION      the state has been written since
    INVALID_REQUEST             a leader that must still recover has others in its ISR, or one that has recovered
                                claims to recover again
    INELIGIBLE_REPLICA          a member of the ISR is not live: down, or shutting down

Other changes are written, fenced, if the node still has the leader's version; otherwise INVALID_UPDATE_VERSION. The
leader epoch does not change. Then the controller reads back what it wrote, sends UpdateMetadata for all partitions of
the request to all brokers, and replies. It sends no LeaderAndIsr: the leader knows, and a follower has no ISR.

At another version the state may still be the desired one: it was written, the reply was lost, and ZooKeeper refuses
the repetition. Then the leader gets an error, and can no longer change its ISR in its leader epoch. The controller
does not know what it wrote [K10, open; `read_back_alteration` is a proposal].

If the fence fails the leader receives UNKNOWN_SERVER_ERROR, and the controller continues as if it were one: it does
not learn here that the controller has moved [open; processAlterPartition catches all]. The controller never checks
that the sender leads, only that its leader epoch is the present one.

Left out: topic ids, epochs of brokers in the ISR (KRaft), and version 1 of the request, which leaders send until 3.2:
its response has OPERATION_NOT_ATTEMPTED for INELIGIBLE_REPLICA.

[AlterPartitionRequest.json, AlterPartitionResponse.json, KafkaController.tryProcessAlterPartition, 3.9]
"""

# ruff: noqa: N815

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from election.brokers import in_order
from election.ids import BrokerEpoch, BrokerId, LeaderEpoch
from statemachines.controller.kafka_zk_client import ControllerMoved, RequestFailed, ZkBatch, ZkResponse
from statemachines.controller.request_batch import BatchNotEmpty, RequestsNotSent
from statemachines.controller.zk_state_machine import PartitionUpdate, ZkStateMachine
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderRecoveryState
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import TopicPartitionState
from statemachines.zookeeper.tree import Code, ZkVersion

RECOVERED, RECOVERING = LeaderRecoveryState.RECOVERED, LeaderRecoveryState.RECOVERING


class AlterPartitionData(NamedTuple):
    """The ISR that a leader requests for one partition."""

    partition: TopicPartition
    leaderEpoch: LeaderEpoch
    newIsr: tuple[BrokerId, ...]
    leaderRecoveryState: LeaderRecoveryState
    partitionEpoch: ZkVersion


class AlterPartitionRequest(NamedTuple):
    """The ISRs that the leaders on one broker request."""

    brokerId: BrokerId
    brokerEpoch: BrokerEpoch
    partitions: tuple[AlterPartitionData, ...]


AlterPartitionOutcome: TypeAlias = LeaderAndIsr | Errors
"""The outcome of one partition: ZooKeeper's state, or the error."""


class AlterPartitionResponse(NamedTuple):
    """The response. If the request was refused as a whole, it names no partition."""

    errorCode: Errors
    partitions: tuple[tuple[TopicPartition, AlterPartitionOutcome], ...] = ()


class AlteringPartitions(NamedTuple):
    """A request that waits for ZooKeeper: first to set states, then to read them."""

    due: ZkBatch
    asking: tuple[TopicPartition, ...]
    """The partitions of the batch."""
    updates: tuple[PartitionUpdate, ...]
    """The states to set; during the read, the refused ones, which may be in ZooKeeper."""
    outcomes: tuple[tuple[TopicPartition, AlterPartitionOutcome], ...]
    """All partitions of the request; for waiting ones, the desired state."""


class AlteredPartitions(NamedTuple):
    """A completed request."""

    response: AlterPartitionResponse
    may_complete: tuple[TopicPartition, ...] = ()
    """Partitions under reassignment that have the requested ISR: their reassignments may be complete."""
    illegal_state: bool = False
    """UpdateMetadata could not be sent: the batch has been cleared, the controller resigns [handleIllegalState]."""


AlterPartitionStep: TypeAlias = AlteringPartitions | AlteredPartitions


class AlterPartitionProcessor(ZkStateMachine):
    """The controller's side. `ZkStateMachine` explains its arguments; the batch is the controller's own.

    `requests` are those of the next batch, as with the other machines over ZooKeeper (docs/decisions/0023).
    """

    def process_alter_partition(self, request: AlterPartitionRequest) -> AlterPartitionStep:
        """Handle a leader's request.

        Raises:
            ValueError: the request contains a partition twice.
            InvalidBrokers: an ISR contains a broker twice, or a value that is no broker id. Nothing has changed.
        """
        wanted = _wanted(request)
        if self.context.state.live_broker_epochs.get(request.brokerId) != request.brokerEpoch:
            return AlteredPartitions(AlterPartitionResponse(Errors.STALE_BROKER_EPOCH))
        outcomes: dict[TopicPartition, AlterPartitionOutcome] = {}
        updates = []
        for partition, new in wanted.items():
            refused_or_done = self._judged(partition, new)
            outcomes[partition] = new if refused_or_done is None else refused_or_done
            if refused_or_done is None:
                updates.append(PartitionUpdate(partition, new))
        asking = tuple(update.partition for update in updates)
        change = AlteringPartitions(ZkBatch.SetTopicPartitionStates, asking, tuple(updates), tuple(outcomes.items()))
        return change if updates else self._answer(change)

    def answered(self, change: AlteringPartitions, responses: Sequence[ZkResponse]) -> AlterPartitionStep:
        """Process ZooKeeper's responses, one for each request and in their order.

        Raises:
            ValueError: the number of responses differs from that of the requests.
        """
        try:
            answers = self.responses_of(change, responses)
        except ControllerMoved:
            return _failed()
        except RequestFailed as failed:
            answers = (ZkResponse(failed.code),) * len(change.asking)
        if change.due is ZkBatch.SetTopicPartitionStates:
            return self._written(change, answers)
        return self._read(change, answers)

    # Checks of a request.

    def _judged(self, partition: TopicPartition, new: LeaderAndIsr) -> AlterPartitionOutcome | None:
        """The immediate outcome; None if the state must be written."""
        known = self.context.leadership_of(partition)
        if known is None:
            return Errors.UNKNOWN_TOPIC_OR_PARTITION
        current = known.leader_and_isr
        recovery = self._recovery_error(current, new)
        if not self.design.check_alter_epochs:
            if recovery is not None:
                return recovery
            if new.leader_epoch < current.leader_epoch:
                return Errors.FENCED_LEADER_EPOCH
            return current if _like(current, new) else None
        if new.partition_epoch > current.partition_epoch or new.leader_epoch > current.leader_epoch:
            return Errors.NOT_CONTROLLER
        if new.leader_epoch < current.leader_epoch:
            return Errors.FENCED_LEADER_EPOCH
        if _like(current, new):
            return current
        if new.partition_epoch < current.partition_epoch:
            return Errors.INVALID_UPDATE_VERSION
        return recovery or self._eligibility_error(new)

    def _recovery_error(self, current: LeaderAndIsr, new: LeaderAndIsr) -> Errors | None:
        """The error of its recovery state; None until 3.1."""
        if not self.design.leader_recovery or new.leader_recovery_state is RECOVERED:
            return None
        again = current.leader_recovery_state is RECOVERED
        return Errors.INVALID_REQUEST if again or len(new.isr) > 1 else None

    def _eligibility_error(self, new: LeaderAndIsr) -> Errors | None:
        """The error of its members."""
        dead = self.design.live_isr_check and not all(map(self.context.is_live_broker, new.isr))
        return Errors.INELIGIBLE_REPLICA if dead else None

    # Writes and responses.

    def _written(self, change: AlteringPartitions, responses: Sequence[ZkResponse]) -> AlterPartitionStep:
        outcomes = dict(change.outcomes)
        refused = []
        for update, response in zip(change.updates, responses, strict=True):
            match response.code:
                case Code.OK:
                    written = update.leader_and_isr._replace(partition_epoch=response.version)
                    outcomes[update.partition] = written
                case Code.BADVERSION if self.design.read_back_alteration:
                    refused.append(update)
                case Code.BADVERSION:
                    outcomes[update.partition] = Errors.INVALID_UPDATE_VERSION
                case _:
                    outcomes[update.partition] = Errors.UNKNOWN_SERVER_ERROR
        to_read = tuple(each for each in change.asking if isinstance(outcomes[each], LeaderAndIsr))
        change = AlteringPartitions(ZkBatch.GetTopicPartitionStates, to_read, tuple(refused), tuple(outcomes.items()))
        return change if to_read else self._answer(change)

    def _read(self, change: AlteringPartitions, responses: Sequence[ZkResponse]) -> AlterPartitionStep:
        """Update the context with ZooKeeper's states. [updateLeaderAndIsrCache]"""
        if any(response.code not in (Code.OK, Code.NONODE) for response in responses):
            return _failed()
        there: dict[TopicPartition, LeaderAndIsr] = {}
        for partition, response in zip(change.asking, responses, strict=True):
            if response.code is Code.OK and response.data is not None:
                state: TopicPartitionState = response.data
                known = state.decode(response.version)
                there[partition] = known.leader_and_isr
                self.context.put_partition_leadership_info(partition, known)
        outcomes = dict(change.outcomes)
        for partition, wanted, _ in change.updates:
            found = there.get(partition)
            outcomes[partition] = Errors.INVALID_UPDATE_VERSION
            if found is not None and _like(found, wanted):
                outcomes[partition] = found
        return self._answer(change._replace(outcomes=tuple(outcomes.items())))

    def _answer(self, change: AlteringPartitions) -> AlteredPartitions:
        partitions = tuple(partition for partition, _ in change.outcomes)
        try:
            self.batch.new_batch()
            self.batch.add_update_metadata_request_for_brokers(self.context.state.live_broker_epochs, partitions)
            self.batch.send_requests_to_brokers(self.context.state.epoch)
        except (BatchNotEmpty, RequestsNotSent):
            self.batch.clear()
            return _failed()._replace(illegal_state=True)
        moving = self.context.state.partitions_being_reassigned
        may_complete = tuple(
            partition
            for partition, outcome in change.outcomes
            if isinstance(outcome, LeaderAndIsr) and partition in moving
        )
        return AlteredPartitions(AlterPartitionResponse(Errors.NONE, change.outcomes), may_complete)


def _wanted(request: AlterPartitionRequest) -> Mapping[TopicPartition, LeaderAndIsr]:
    """The states that a request asks for, by partition."""
    wanted: dict[TopicPartition, LeaderAndIsr] = {}
    for data in request.partitions:
        if data.partition in wanted:
            raise ValueError(f"{data.partition} occurs twice in a request")
        isr = in_order(f"ISR of {data.partition}", data.newIsr)
        wanted[data.partition] = LeaderAndIsr(
            request.brokerId, data.leaderEpoch, isr, data.leaderRecoveryState, data.partitionEpoch
        )
    return wanted


def _like(current: LeaderAndIsr, new: LeaderAndIsr) -> bool:
    """Whether they are equal except for the version [equalsAllowStalePartitionEpoch; until 3.2 equalsIgnoreZk]."""
    return new._replace(partition_epoch=current.partition_epoch) == current


def _failed() -> AlteredPartitions:
    """The outcome of a failure that Kafka does not expect."""
    return AlteredPartitions(AlterPartitionResponse(Errors.UNKNOWN_SERVER_ERROR))
