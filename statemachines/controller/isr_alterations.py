"""ISR alterations: how a controller changes ISRs on behalf of leaders, since 2.7.

`alter_partition` defines the writes and the response. The controller replies first, then checks whether the new ISR
completes a reassignment; after a failed request it does not check.

[processAlterPartition in KafkaController.scala, 3.9]
"""

from functools import cached_property
from typing import Any

from statemachines.controller.alter_partition import (
    AlteredPartitions,
    AlteringPartitions,
    AlterPartitionProcessor,
    AlterPartitionRequest,
    AlterPartitionResponse,
)
from statemachines.controller.calls import Await, Callback, Calls, EventFailure, call, on_failure, then
from statemachines.controller.isr_change_notifications import IsrChangeNotifications
from statemachines.controller.state_change import StateMachine


class IsrAlterations(IsrChangeNotifications):
    """The part of a controller that changes ISRs for leaders."""

    @cached_property
    def alter_partition_processor(self) -> AlterPartitionProcessor:
        """The processor of requests, over the controller's own batch."""
        return AlterPartitionProcessor(self.context, self.batch, self.design)

    def machine_of(self, what: Any) -> StateMachine[Any, Any] | None:
        """The machine of a pending change, including AlterPartition requests."""
        return self.alter_partition_processor if isinstance(what, AlteringPartitions) else super().machine_of(what)

    def process_alter_partition(self, request: AlterPartitionRequest) -> Calls:
        """A leader requests other ISRs. [AlterPartitionReceived]"""
        return (Await(self.alter_partition_processor.process_alter_partition(request), then(self._altered)),)

    def _altered(self, altered: AlteredPartitions) -> Calls:
        if altered.illegal_state:
            return (call(self.fail, EventFailure.IllegalState), on_failure(then(self._not_altered, altered.response)))
        return (
            Callback(altered.response),
            *(call(self.maybe_complete_reassignment, partition) for partition in altered.may_complete),
        )

    def _not_altered(self, cause: object, response: AlterPartitionResponse) -> Calls:
        """The failure ends here, as in Kafka: another controller must be elected, and the leader gets a reply."""
        return (Callback(response),)
