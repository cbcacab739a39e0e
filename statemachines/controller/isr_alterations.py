"""ISR alterations: how a controller changes ISRs on behalf of leaders, since 2.7.

`alter_partition` defines the writes and the response. The controller replies first, then checks whether the new ISR
completes a reassignment; after a failed request it does not check.

[processAlterPartition in KafkaController.scala, 3.9]
"""

from statemachines.controller.alter_partition import AlteredPartitions, AlterPartitionRequest, AlterPartitionResponse
from statemachines.controller.calls import Callback, Calls, EventFailure, call, either, then
from statemachines.controller.isr_change_notifications import IsrChangeNotifications
from statemachines.messages.errors import Errors
from statemachines.zookeeper.tree import Code


class IsrAlterations(IsrChangeNotifications):
    """The part of a controller that changes ISRs for leaders."""

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
