"""Changes of Kafka, one record for each: a sentence, the releases that made the change, its tickets, its evidence.

change      the record's type
elections   how a controller is elected, notified and fenced
control     what a controller does with partitions, topics, brokers and reassignments
receiving   how brokers handle requests, ISRs and their own shutdown
truncating  how followers truncate and fetch
replicating  the same in full: appends, fetches, high watermarks, logs
administration  requests of administrators, and their refusals
"""

from collections.abc import Mapping
from typing import Any, Final

from statemachines.changes import truncating
from statemachines.changes.administration import AdminDesign
from statemachines.changes.change import KafkaChange
from statemachines.changes.control import ControlChanges
from statemachines.changes.elections import ElectionChanges
from statemachines.changes.receiving import ReceivingChanges
from statemachines.changes.replicating import ReplicationDesign

__all__ = ["CHANGES"]

CHANGES: Final[Mapping[str, KafkaChange[Any]]] = {
    **ReplicationDesign.changes,
    **ElectionChanges.changes,
    **ControlChanges.changes,
    **ReceivingChanges.changes,
    **{name.lower(): each for name, each in vars(truncating).items() if isinstance(each, KafkaChange)},
    **AdminDesign.changes,
}
"""All changes, by the name of the field or switch that turns each on."""
