"""ISR change notifications: how a controller learns of ISRs that leaders have changed, until 2.6.

A leader that has changed an ISR in ZooKeeper creates a child of /isr_change_notification that names its partitions.
The controller reads their states, informs all brokers, and deletes the notifications, whatever the outcome. Since 2.7
leaders ask the controller, by AlterIsr, and this serves brokers that do not yet [KAFKA-8836]. Since then the
controller checks whether the new ISR completes a reassignment; before, it watched the state of each partition that
moves [KAFKA-10521].

[processIsrChangeNotification in KafkaController.scala, 3.9]
"""

from collections.abc import Sequence

from statemachines.controller.calls import Calls, always, call, then
from statemachines.controller.kafka_zk_client import ZkResponse
from statemachines.controller.partition_reassignment import PartitionReassignment
from statemachines.messages.leader_and_isr import LeaderIsrAndControllerEpoch
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import ISR_CHANGE_NOTIFICATION


class IsrChangeNotifications(PartitionReassignment):
    """The part of a controller that learns of changed ISRs."""

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
