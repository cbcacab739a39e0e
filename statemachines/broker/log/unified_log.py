"""UnifiedLog: the log of one replica, which is its records, their leader epochs, and the high watermark.

A log is an immutable value; changes return a new one. Offsets count from 0. The log end offset (LEO) is one past the
last record. As far as this replica knows, all records below the high watermark (HW) are committed. A log prints as
its records, its LEO and its HW:

>>> log = UnifiedLog().append((Record("m0", 0), Record("m1", 0))).with_high_watermark(1)
>>> print(log)
[m0@0 m1@0] 2/1
>>> print(log.truncate_to(1))
[m0@0] 1/1

Left out: segments and indexes, batches (a record is a batch of its own), retention (every log starts at offset 0),
transactions.

[Log.scala, 0.10.1 to 3.0; UnifiedLog.scala, 3.1 to 3.9]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from election.ids import LeaderEpoch
from statemachines.broker.log.leader_epochs import LeaderEpochs
from statemachines.changes.replicating import ReplicationDesign
from statemachines.messages.records import UNDEFINED_EPOCH, Offset, Record

NEWEST: Final = ReplicationDesign()


class UnifiedLog(NamedTuple):
    """A log. Its high watermark is at most its end; until 2.3 it may lie beyond, after the log was cut."""

    records: tuple[Record, ...] = ()
    high_watermark: Offset = 0
    epochs: LeaderEpochs = LeaderEpochs()
    """The leader-epoch cache; empty until 0.10."""

    @property
    def end_offset(self) -> Offset:
        """The LEO: the offset of the next record."""
        return len(self.records)

    def append(self, records: Sequence[Record], design: ReplicationDesign = NEWEST) -> UnifiedLog:
        """The log with these records at its end, and their epochs noted [append]."""
        if not records:
            return self
        epochs = self.epochs
        for offset, each in enumerate(records, self.end_offset):
            if each.leader_epoch != UNDEFINED_EPOCH:
                epochs = _assigned(epochs, each.leader_epoch, offset, design)
        return UnifiedLog((*self.records, *records), self.high_watermark, epochs)

    def note_epoch(self, epoch: LeaderEpoch, design: ReplicationDesign = NEWEST) -> UnifiedLog:
        """A leader begins this epoch at the log's end [maybeAssignEpochStartOffset]."""
        return self._replace(epochs=_assigned(self.epochs, epoch, self.end_offset, design))

    def truncate_to(self, offset: Offset, design: ReplicationDesign = NEWEST) -> UnifiedLog:
        """The log without the records from an offset on [truncateTo].

        Its HW is at most its new end; until 2.3 it stays as it is.
        """
        if offset >= self.end_offset:
            epochs = self.epochs.truncate_from_end(self.end_offset) if design.truncate_epochs_always else self.epochs
            return self if epochs is self.epochs else self._replace(epochs=epochs)
        high_watermark = min(self.high_watermark, offset) if design.truncate_high_watermark else self.high_watermark
        return UnifiedLog(self.records[:offset], high_watermark, self.epochs.truncate_from_end(offset))

    def with_high_watermark(self, offset: Offset) -> UnifiedLog:
        """The log with its HW at this offset, or at its end if that is lower [maybeUpdateHighWatermark]."""
        within = max(0, min(offset, self.end_offset))
        return self if within == self.high_watermark else self._replace(high_watermark=within)

    def __str__(self) -> str:
        return f"[{' '.join(map(str, self.records))}] {self.end_offset}/{self.high_watermark}"


def _assigned(epochs: LeaderEpochs, epoch: LeaderEpoch, offset: Offset, design: ReplicationDesign) -> LeaderEpochs:
    return (epochs.assign if design.newest_epoch_wins else epochs.assign_kip_101)(epoch, offset)
