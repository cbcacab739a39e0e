"""ISR alterations: how a controller changes ISRs when leaders ask it to, since 2.7.

What is written and what is answered is `alter_partition`'s. The answer goes out first; then a partition that is being
reassigned may have arrived, which is looked at behind it. Where the request came to nothing, nothing has arrived.

[processAlterPartition in KafkaController.scala, 3.9]
"""

from functools import cached_property
from typing import Any, ClassVar

from statemachines.controller.alter_partition import (
    AlteredPartitions,
    AlteringPartitions,
    AlterPartitionProcessor,
    AlterPartitionRequest,
    AlterPartitionResponse,
)
from statemachines.controller.calls import Await, Callback, Calls, EventFailure, Frame, call, on_failure, then
from statemachines.controller.isr_change_notifications import IsrChangeNotifications
from statemachines.controller.state_change import StateMachine

__all__ = ["IsrAlterations"]


class IsrAlterations(IsrChangeNotifications):
    """The part of a controller that changes ISRs for leaders."""

    @cached_property
    def alter_partition_processor(self) -> AlterPartitionProcessor:
        """What it makes of a request, over the controller's own batch."""
        return AlterPartitionProcessor(self.context, self.batch, self.design)

    def machine_of(self, what: Any) -> StateMachine[Any, Any] | None:
        """That of a request that waits, too."""
        return self.alter_partition_processor if isinstance(what, AlteringPartitions) else super().machine_of(what)

    def process_alter_partition(self, request: AlterPartitionRequest) -> Calls:
        """A leader asks for other ISRs. [AlterPartitionReceived]"""
        return (Await(self.alter_partition_processor.process_alter_partition(request), then(self._altered)),)

    def _altered(self, altered: AlteredPartitions) -> Calls:
        if altered.illegal_state:
            return (call(self.fail, EventFailure.IllegalState), on_failure(then(self._not_altered, altered.response)))
        return (
            Callback(altered.response),
            *(call(self.maybe_complete_reassignment, partition) for partition in altered.may_complete),
        )

    def _not_altered(self, cause: object, response: AlterPartitionResponse) -> Calls:
        """The failure ends here, as in Kafka: another controller is to be elected, and the leader is answered."""
        return (Callback(response),)

    RESUME_FRAMES: ClassVar[tuple[Frame, ...]] = (Frame(_altered, takes_answer=True),)
