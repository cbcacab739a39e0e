"""Records, as a log has them and a fetch response carries them.

>>> print(Record("m0", 3), Record("m0"))
m0@3 m0
"""

from typing import Annotated, Any, Final, NamedTuple

from election.ids import LeaderEpoch

Offset = Annotated[int, "an offset"]
"""A position in a log; an integer from 0 on."""

UNDEFINED_EPOCH: Final = -1
"""Kafka's number for no epoch."""

UNDEFINED_EPOCH_OFFSET: Final = -1
"""Kafka's number for no offset, as the end of an epoch."""


class Record(NamedTuple):
    """A record, which is a batch of its own."""

    value: Any
    leader_epoch: LeaderEpoch = UNDEFINED_EPOCH
    """The epoch of the leader that appended it; undefined in the formats before 0.11."""

    def __str__(self) -> str:
        return str(self.value) if self.leader_epoch == UNDEFINED_EPOCH else f"{self.value}@{self.leader_epoch}"


class EpochEndOffset(NamedTuple):
    """A leader epoch, and the offset after the last record written in it: the answer to a question about its end."""

    epoch: LeaderEpoch
    end_offset: Offset
