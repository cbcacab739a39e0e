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

from collections.abc import Mapping
from typing import ClassVar, NamedTuple, TypeAlias

from election.brokers import in_order
from election.ids import BrokerEpoch, BrokerId, LeaderEpoch
from statemachines.controller.calls import Calls, EventFailed, EventFailure, Result, then
from statemachines.controller.request_batch import BatchNotEmpty, RequestsNotSent
from statemachines.controller.zk_requests import PartitionUpdate
from statemachines.controller.zk_state_machine import Answers, ZkStateMachine
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


class AlteredPartitions(NamedTuple):
    """A completed request."""

    response: AlterPartitionResponse
    may_complete: tuple[TopicPartition, ...] = ()
    """Partitions under reassignment that have the requested ISR: their reassignments may be complete."""


Outcomes: TypeAlias = tuple[tuple[TopicPartition, AlterPartitionOutcome], ...]
"""The outcomes of all partitions of a request; of one whose state is being written, the desired state."""


class AlterPartitionProcessor(ZkStateMachine):
    """The controller's side. `ZkStateMachine` explains its arguments; the batch is the controller's own."""

    def try_process_alter_partition(self, request: AlterPartitionRequest) -> Calls:
        """Handle a leader's request. The result is `AlteredPartitions`.

        Raises:
            ValueError: the request contains a partition twice.
            InvalidBrokers: an ISR contains a broker twice, or a value that is no broker id. Nothing has changed.
        """
        wanted = _wanted(request)
        if self.context.state.live_broker_epochs.get(request.brokerId) != request.brokerEpoch:
            return (Result(AlteredPartitions(AlterPartitionResponse(Errors.STALE_BROKER_EPOCH))),)
        outcomes: dict[TopicPartition, AlterPartitionOutcome] = {}
        updates = []
        for partition, new in wanted.items():
            refused_or_done = self._judged(partition, new)
            outcomes[partition] = new if refused_or_done is None else refused_or_done
            if refused_or_done is None:
                updates.append(PartitionUpdate(partition, new))
        if not updates:
            return self._answer(tuple(outcomes.items()))
        following = then(self._alterations_set, tuple(outcomes.items()))
        return self.set_topic_partition_states_raw(updates, following)

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

    def _alterations_set(self, answers: Answers[PartitionUpdate], outcomes: Outcomes) -> Calls:
        by_partition = dict(outcomes)
        refused: tuple[PartitionUpdate, ...] = ()
        for update, response in answers:
            match response.code:
                case Code.OK:
                    written = update.leader_and_isr._replace(partition_epoch=response.version)
                    by_partition[update.partition] = written
                case Code.BADVERSION if self.design.read_back_alteration:
                    refused += (update,)
                case Code.BADVERSION:
                    by_partition[update.partition] = Errors.INVALID_UPDATE_VERSION
                case _:
                    by_partition[update.partition] = Errors.UNKNOWN_SERVER_ERROR
        outcomes = tuple(by_partition.items())
        set_or_refused = (update.partition for update, _ in answers)
        to_read = [each for each in set_or_refused if isinstance(by_partition[each], LeaderAndIsr)]
        if not to_read:
            return self._answer(outcomes)
        return self.get_topic_partition_states_raw(to_read, then(self._alterations_read, refused, outcomes))

    def _alterations_read(
        self, answers: Answers[TopicPartition], refused: tuple[PartitionUpdate, ...], outcomes: Outcomes
    ) -> Calls:
        """Update the context with ZooKeeper's states; refused ones may be there. [updateLeaderAndIsrCache]"""
        for _, response in answers:
            if response.code not in (Code.OK, Code.NONODE):
                raise EventFailed(response.code)
        there: dict[TopicPartition, LeaderAndIsr] = {}
        for partition, response in answers:
            if response.code is Code.OK and response.data is not None:
                state: TopicPartitionState = response.data
                known = state.decode(response.version)
                there[partition] = known.leader_and_isr
                self.context.put_partition_leadership_info(partition, known)
        by_partition = dict(outcomes)
        for partition, wanted, _ in refused:
            found = there.get(partition)
            by_partition[partition] = Errors.INVALID_UPDATE_VERSION
            if found is not None and _like(found, wanted):
                by_partition[partition] = found
        return self._answer(tuple(by_partition.items()))

    def _answer(self, outcomes: Outcomes) -> Calls:
        """Inform all brokers.

        Raises:
            EventFailed: the requests could not be sent; the batch has been cleared [handleIllegalState].
        """
        try:
            self.batch.new_batch()
            partitions = tuple(partition for partition, _ in outcomes)
            self.batch.add_update_metadata_request_for_brokers(self.context.state.live_broker_epochs, partitions)
            self.batch.send_requests_to_brokers(self.context.state.epoch)
        except (BatchNotEmpty, RequestsNotSent) as error:
            self.batch.clear()
            raise EventFailed(EventFailure.IllegalState) from error
        moving = self.context.state.partitions_being_reassigned
        may_complete = tuple(
            each for each, outcome in outcomes if isinstance(outcome, LeaderAndIsr) and each in moving
        )
        return (Result(AlteredPartitions(AlterPartitionResponse(Errors.NONE, outcomes), may_complete)),)

    WAITS: ClassVar[frozenset[str]] = frozenset({_alterations_set.__name__, _alterations_read.__name__})
    """The calls that take ZooKeeper's answers."""


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
