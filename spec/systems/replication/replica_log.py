"""The log of one replica: records with the epochs of the leaders that wrote them, and the high watermark.

A log is an immutable value; changes return a new one. It is what the published models have: records with ids, and no
leader-epoch cache of its own. `statemachines.broker.log.unified_log` is the log that brokers have.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from election.ids import LeaderEpoch
from statemachines.broker.log.leader_epochs import LeaderEpochs, Offset

RecordId = Annotated[int, "the id of a record"]
"""A record's identity; Kafka's records have none."""


class Record(NamedTuple):
    """A record with the leader epoch that appended it, as in message format 2 (0.11, KIP-101)."""

    id: RecordId
    leader_epoch: LeaderEpoch

    def __str__(self) -> str:
        return f"m{self.id}@{self.leader_epoch}"


class ReplicaLog(NamedTuple):
    """A log with its high watermark, which is at most its end."""

    records: tuple[Record, ...] = ()
    high_watermark: Offset = 0

    @property
    def end_offset(self) -> Offset:
        """The LEO: the offset of the next record."""
        return len(self.records)

    @property
    def latest_epoch(self) -> LeaderEpoch | None:
        """The epoch of the last record; None if there is no record."""
        return self.records[-1].leader_epoch if self.records else None

    @property
    def epochs(self) -> LeaderEpochs:
        """The leader-epoch cache of its records."""
        return LeaderEpochs.of(record.leader_epoch for record in self.records)

    def at(self, offset: Offset) -> Record | None:
        """The record at an offset, or None beyond the log's end.

        >>> ReplicaLog((Record(7, 0),)).at(0), ReplicaLog().at(0)
        (Record(id=7, leader_epoch=0), None)
        """
        return self.records[offset] if 0 <= offset < len(self.records) else None

    def append(self, record: Record) -> ReplicaLog:
        """The log with one more record at its end."""
        return self._replace(records=(*self.records, record))

    def truncate_to(self, offset: Offset) -> ReplicaLog:
        """The log without the records from an offset on; its high watermark is lowered to its end if necessary.

        Truncating beyond the end changes nothing. [UnifiedLog.truncateTo, 3.9]

        Raises:
            ValueError: the offset is negative.
        """
        if offset < 0:
            raise ValueError(f"cannot truncate to offset {offset}: it must not be negative")
        if offset >= len(self.records):
            return self
        return ReplicaLog(self.records[:offset], min(self.high_watermark, offset))

    def with_high_watermark(self, offset: Offset) -> ReplicaLog:
        """The log with its high watermark at this offset, or at its end if lower. [maybeUpdateHighWatermark, 3.9]"""
        return self._replace(high_watermark=max(0, min(offset, len(self.records))))

    def __str__(self) -> str:
        return f"[{' '.join(map(str, self.records))}] {self.end_offset}/{self.high_watermark}"
