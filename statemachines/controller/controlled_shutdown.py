"""Controlled shutdown, the controller's side: before a broker stops, it asks that others lead in its place.

From then on the broker counts as *shutting down*: it still receives everything, but no replica of it is elected. This
lasts until its registration disappears, or another controller takes over, which does not know of it. Its partitions
that have other replicas change:

    partitions that it leads     -> OnlinePartition, another replica is elected, and the broker leaves the ISR
    partitions that it follows   StopReplica to the broker; then its replicas -> OfflineReplica, out of the ISRs

The reply lists the partitions that the broker still leads, because no other replica was in sync; it asks again while
there are any, though not forever (`kafka_server`). It is refused if it has registered again in the meantime. For an
unknown broker with an epoch, the error is not BrokerNotAvailable: the search for its epoch fails
[NoSuchElementException]. The reply contains an error code of the protocol (`controlled_shutdown_response`).

Until 2.0, partitions of topics queued for deletion were included. Until 1.0 partitions were handled one by one, in no
order (`change_together`).

[doControlledShutdown in KafkaController.scala, 3.9; ControlledShutdownRequest.json, ControlledShutdownResponse.json]
"""

# ruff: noqa: N815

from typing import NamedTuple

from election.ids import BrokerEpoch, BrokerId
from statemachines.controller.calls import (
    Callback,
    Calls,
    EventFailed,
    EventFailure,
    call,
    on_failure,
    then,
)
from statemachines.controller.event_driver import EventDriver
from statemachines.controller.partition_state_machine import CONTROLLED_SHUTDOWN
from statemachines.messages.control_requests import UNKNOWN_BROKER_EPOCH
from statemachines.messages.errors import Errors
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.tables.partition import OnlinePartition
from statemachines.tables.replica import OfflineReplica
from statemachines.zookeeper.tree import Code


class ControlledShutdownRequest(NamedTuple):
    """A broker asks for permission to stop."""

    brokerId: BrokerId
    brokerEpoch: BrokerEpoch = UNKNOWN_BROKER_EPOCH
    """The epoch of its registration; -1 until 2.1."""


class ControlledShutdownResponse(NamedTuple):
    """The reply."""

    errorCode: Errors
    remainingPartitions: tuple[TopicPartition, ...] = ()
    """The partitions that it still leads, among those with other replicas."""


CODES = {
    EventFailure.ControllerMoved: Errors.STALE_CONTROLLER_EPOCH,
    EventFailure.StaleBrokerEpoch: Errors.STALE_BROKER_EPOCH,
    EventFailure.BrokerNotAvailable: Errors.BROKER_NOT_AVAILABLE,
}
"""The protocol's codes of failures."""


def controlled_shutdown_response(
    answer: tuple[TopicPartition, ...] | EventFailure | Code,
) -> ControlledShutdownResponse:
    """The response for the result of `process_controlled_shutdown`.

    >>> controlled_shutdown_response(EventFailure.ControllerMoved).errorCode
    <Errors.STALE_CONTROLLER_EPOCH: 11>

    [KafkaApis.handleControlledShutdownRequest, Errors.forException, 3.9]
    """
    if isinstance(answer, tuple):
        return ControlledShutdownResponse(Errors.NONE, answer)
    known = CODES.get(answer) if isinstance(answer, EventFailure) else None
    return ControlledShutdownResponse(Errors.UNKNOWN_SERVER_ERROR if known is None else known)


class ControlledShutdown(EventDriver):
    """The part of a controller that handles controlled shutdowns."""

    def process_controlled_shutdown(self, broker: BrokerId, epoch: BrokerEpoch = UNKNOWN_BROKER_EPOCH) -> Calls:
        """A broker asks for permission to stop; the reply is the partitions that it still leads, or the failure.

        If another controller has been elected, that is the reply, too, and has no other effect here.
        [ControlledShutdown]

        Args:
            broker: its id.
            epoch: the epoch of its registration; -1 if unspecified.
        """
        return (
            call(self._do_controlled_shutdown, broker, epoch),
            on_failure(then(self._controlled_shutdown_failed)),
        )

    def _do_controlled_shutdown(self, broker: BrokerId, epoch: BrokerEpoch) -> Calls:
        known = self.context.state.live_broker_epochs
        if self.design.broker_epoch and epoch != UNKNOWN_BROKER_EPOCH:
            if broker not in known:
                raise EventFailed(EventFailure.UnknownBroker)
            if epoch < known[broker]:
                raise EventFailed(EventFailure.StaleBrokerEpoch)
        if broker not in known:
            raise EventFailed(EventFailure.BrokerNotAvailable)
        self.context.state.shutting_down_broker_ids |= {broker}
        led: list[TopicPartition] = []
        followed: list[TopicPartition] = []
        kept = tuple(self.context.partitions_on_broker(broker))
        for partition in kept:
            leadership = self.context.leadership_of(partition)
            alone = len(self.context.partition_replica_assignment(partition)) == 1
            if alone or leadership is None or self._is_passed_over(partition):
                continue
            (led if leadership.leader_and_isr.leader == broker else followed).append(partition)
        together = [(tuple(led), tuple(followed))]
        one_by_one = [((each,), ()) if each in led else ((), (each,)) for each in kept if each in (*led, *followed)]
        moves = together if self.design.change_together else one_by_one
        moved = (each for parts in moves for each in self._moved_away(broker, *parts))
        return (*moved, call(self._answer_controlled_shutdown, broker))

    def _moved_away(
        self, broker: BrokerId, led: tuple[TopicPartition, ...], followed: tuple[TopicPartition, ...]
    ) -> Calls:
        return (
            call(self.partitions_become, led, OnlinePartition, CONTROLLED_SHUTDOWN),
            call(self._stop_replicas, broker, followed),
            call(self.replicas_become, tuple(PartitionAndReplica(each, broker) for each in followed), OfflineReplica),
        )

    def _stop_replicas(self, broker: BrokerId, partitions: tuple[TopicPartition, ...]) -> None:
        """Stop replicas before they leave the ISRs; they receive StopReplica again when they leave."""

        def add() -> None:
            for partition in partitions:
                self.batch.add_stop_replica_request_for_brokers((broker,), partition, delete_partition=False)

        self.in_a_batch(add)

    def _is_passed_over(self, partition: TopicPartition) -> bool:
        """Whether a partition is skipped because its topic is to be deleted."""
        return self.design.shutdown_skips_deleted and self.context.is_topic_queued_up_for_deletion(partition.topic)

    def _answer_controlled_shutdown(self, broker: BrokerId) -> Calls:
        """Reply with the partitions that it still leads, among those with other replicas."""
        return (Callback(self.context.partition_leaders_on_broker(broker, not self.design.shutdown_skips_deleted)),)

    def _controlled_shutdown_failed(self, failure: EventFailure | Code | None) -> Calls:
        return () if failure is None else (Callback(failure),)
