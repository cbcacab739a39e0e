"""What a producer knows of the records that it has sent: the response to Produce, and its absence.

Left out: sizes, timestamps, retries, idempotence and transactions. [ProduceRequest.json, ProduceResponse.json, 3.9]
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from statemachines.messages.errors import Errors
from statemachines.messages.records import Offset

Acks: TypeAlias = Literal[0, 1, -1, "all"]
"""When a leader answers: never, when it has the record, or (-1 and "all") when all replicas in sync have it."""
ACKS: Final = (0, 1, -1, "all")


@dataclass
class Produced:
    """A record that a producer has sent. It changes when the producer learns more.

    A producer that never hears of its record does not know whether it is in a log. With acks=0 that is always so.
    """

    value: object
    acks: Acks
    offset: Offset | None = None
    """Where the leader has appended it, once the producer knows."""
    error: Errors | None = None
    """Why it failed, as far as the producer knows; NETWORK_EXCEPTION if the leader died without an answer."""

    @property
    def acknowledged(self) -> bool:
        """Whether the producer knows that it has succeeded."""
        return self.offset is not None

    def __str__(self) -> str:
        if self.offset is not None:
            return f"{self.value} is acknowledged at offset {self.offset}"
        return f"{self.value} is not acknowledged" + (f": {self.error}" if self.error else "")
