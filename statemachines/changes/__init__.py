"""What Kafka changed, one record for each: its sentence, the releases that made it, its tickets, what that rests on.

change      what a record is
elections   how a controller is elected, told and fenced
control     what a controller does with partitions, topics, brokers and reassignments
receiving   what brokers do with requests, with ISRs, and when they stop
truncating  how followers truncate and fetch
"""

from collections.abc import Mapping
from typing import Any, Final

from statemachines.changes import control, elections, receiving, truncating
from statemachines.changes.change import KafkaChange

__all__ = ["CHANGES"]

CHANGES: Final[Mapping[str, KafkaChange[Any]]] = {
    name.lower(): each
    for module in (elections, control, receiving, truncating)
    for name, each in vars(module).items()
    if isinstance(each, KafkaChange)
}
"""All of them by name: that of the field, or of the switch, that says whether it is in force."""
