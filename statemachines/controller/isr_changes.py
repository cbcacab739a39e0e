"""ISR changes: how a controller learns of ISRs that leaders have changed, and changes them on behalf of leaders.

*Notifications, until 2.6.* A leader that has changed an ISR in ZooKeeper creates a child of /isr_change_notification
that names its partitions. The controller reads their states, informs all brokers, and deletes the notifications,
whatever the outcome. Since 2.7 this serves brokers that do not ask yet [KAFKA-8836]. Since then the controller checks
whether the new ISR completes a reassignment; before, it watched the state of each partition that moves [KAFKA-10521].

*AlterPartition, since 2.7.* `alter_partition` defines the writes and the response. The controller replies first, then
checks whether the new ISR completes a reassignment; after a failed request it does not check.

[processIsrChangeNotification, processAlterPartition in KafkaController.scala, 3.9]
"""

from collections.abc import Sequence

from statemachines.controller.alter_partition import AlteredPartitions, AlterPartitionRequest, AlterPartitionResponse
from statemachines.controller.calls import Callback, Calls, EventFailure, always, call, either, then
from statemachines.controller.partition_reassignment import PartitionReassignment
from statemachines.controller.zk_requests import ZkResponse
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import LeaderIsrAndControllerEpoch
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import ISR_CHANGE_NOTIFICATION
from statemachines.zookeeper.tree import Code


class IsrChanges(PartitionReassignment):
    """The part of a controller that follows ISRs."""

    # Notifications.

    def process_isr_change_notification(self, notifications: Sequence[str] | None = None) -> Calls:
        """The children of /isr_change_notification have changed, to these if they were read already.

        [IsrChangeNotification]
        """
        if notifications is not None:
            return self._isrs_changed(notifications)
        return (*self.zk_client.get_children(ISR_CHANGE_NOTIFICATION, watch=True), then(self._isrs_changed))

    def update_leader_and_isr_cache(self, partitions: Sequence[TopicPartition]) -> Calls:
        """Read the states of these partitions into the context [updateLeaderAndIsrCache]."""
        return (*self.zk_client.get_topic_partition_states(partitions), then(self._put_partition_leadership_info))

    def _put_partition_leadership_info(
        self, states: Sequence[tuple[TopicPartition, LeaderIsrAndControllerEpoch]]
    ) -> None:
        for partition, known in states:
            self.context.put_partition_leadership_info(partition, known)

    def _isrs_changed(self, notifications: Sequence[str]) -> Calls:
        paths = tuple(f"{ISR_CHANGE_NOTIFICATION}/{each}" for each in notifications)
        return (
            *self.zk_client.get_data(paths),
            then(self._read_isrs),
            always(call(self.zk_client.delete, paths)),
        )

    def _read_isrs(self, answers: Sequence[ZkResponse | None]) -> Calls:
        partitions = tuple(partition for answer in answers if answer is not None for partition in answer.data)
        if not partitions:
            return ()
        return (
            call(self.update_leader_and_isr_cache, partitions),
            call(self._tell_of_isrs, partitions),
            *self.complete_notified(partitions),
        )

    def complete_notified(self, partitions: tuple[TopicPartition, ...]) -> Calls:
        """The reassignments of some of these partitions may be complete."""
        if not self.design.alter_partition:
            return ()
        return tuple(call(self.maybe_complete_reassignment, partition) for partition in partitions)

    def _tell_of_isrs(self, partitions: tuple[TopicPartition, ...]) -> None:
        self.send_update_metadata_request(self.all_brokers(), partitions)

    # AlterPartition.

    def process_alter_partition(self, request: AlterPartitionRequest) -> Calls:
        """A leader requests other ISRs. It gets a reply whatever fails. [AlterPartitionReceived]"""
        return (
            call(self.alter_partition_processor.try_process_alter_partition, request),
            either(then(self._altered)),
        )

    def _altered(self, altered: AlteredPartitions | EventFailure | Code) -> Calls:
        if not isinstance(altered, AlteredPartitions):
            return (Callback(AlterPartitionResponse(Errors.UNKNOWN_SERVER_ERROR)),)
        return (
            Callback(altered.response),
            *(call(self.maybe_complete_reassignment, partition) for partition in altered.may_complete),
        )
