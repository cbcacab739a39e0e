"""UnifiedLog: the log of one replica, which is its records, their leader epochs, and the high watermark.

A log is an immutable value; changes return a new one. Offsets count from 0. The log end offset (LEO) is one past the
last record. As far as this replica knows, all records below the high watermark (HW) are committed. A log prints as
its records, its LEO and its HW:

>>> log = UnifiedLog().append((Record("m0", 0), Record("m1", 3))).with_high_watermark(1)
>>> print(log)
[m0@0 m1@3] 2/1
>>> print(log.truncate_to(1))
[m0@0] 1/1

`Disk` is what a starting broker finds of a log. The broker appends to files, and the operating system writes them to
the disk some time later. So if only the process dies, all records stay; if the machine does, any number of the last
ones may be lost. Two files are written beside the log, each as a whole:

    replication-offset-checkpoint  the high watermarks of all partitions, every 5 s and when a broker stops cleanly
    leader-epoch-checkpoint        the leader epochs of this log, at each change, since 0.11

`PartitionLogs` has all logs of a partition, and prints as rows of cells. A row is a broker and a cell is a record.
The bar is the HW of that broker:

>>> print(PartitionLogs({1: log, 2: log.truncate_to(1), 3: UnifiedLog()}, leader=1, live={1, 2}))
broker 1 leads   m0@0 | m1@3    LEO 2, HW 1
broker 2         m0@0 |         LEO 1, HW 1
broker 3 down  |                LEO 0, HW 0

Left out: segments and indexes, batches (a record is a batch of its own), retention (every log starts at offset 0),
transactions, and recovery points, which say how much of a log a broker examines when it starts.

[Log.scala, 0.10.1 to 3.0; UnifiedLog.scala, 3.1 to 3.9; LogManager.scala, ReplicaManager.checkpointHighWatermarks,
0.10.1 to 3.9]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import zip_longest
from typing import Final, NamedTuple

from election.ids import BrokerId, LeaderEpoch
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
            return self if epochs == self.epochs else self._replace(epochs=epochs)
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


# What is left when a process dies.


class Disk(NamedTuple):
    """The files of a replica."""

    records: tuple[Record, ...] = ()
    high_watermark: Offset = 0
    """In replication-offset-checkpoint; 0 if it is not there."""
    epochs: LeaderEpochs = LeaderEpochs()
    """In leader-epoch-checkpoint."""

    def left_by(self, log: UnifiedLog, keep: int | None = None) -> Disk:
        """The files after the process has died.

        Args:
            log: what the process had.
            keep: how many records are left; None for all of them.
        """
        return self._replace(records=log.records[:keep], epochs=log.epochs)

    def loaded(self) -> UnifiedLog:
        """The log that a starting broker makes of it. The high watermark is read when it begins to lead or follow.

        An epoch that begins at the log's end, or after it, is dropped.
        """
        return UnifiedLog(self.records, 0, self.epochs.truncate_from_end(len(self.records)))


# The logs of a partition in print.


class PartitionLogs(dict[BrokerId, UnifiedLog]):
    """The logs of a partition, by broker.

    Args:
        logs: the log of each broker that has one.
        leader: the leader in ZooKeeper, if it runs.
        live: the running brokers.
    """

    def __init__(self, logs: Mapping[BrokerId, UnifiedLog], leader: BrokerId | None, live: Set[BrokerId]) -> None:
        super().__init__(logs)
        self.leader, self.live = leader, frozenset(live)

    def name(self, broker: BrokerId) -> str:
        """A broker, with its part in the partition."""
        part = " leads" if broker == self.leader else "" if broker in self.live else " down"
        return f"broker {broker}{part}"

    def __str__(self) -> str:
        columns = zip_longest(*(each.records for each in self.values()))
        widths = [max(len(_cell(each)) for each in column) for column in columns]
        names = max((len(self.name(each)) for each in self), default=0)
        rows = []
        for broker, log in self.items():
            row = f"{self.name(broker):{names}} {_bar(log, 0)}"
            for offset, (record, width) in enumerate(zip_longest(log.records, widths), start=1):
                row += f" {_cell(record):{width}} {_bar(log, offset)}"
            rows.append(f"{row}  LEO {log.end_offset}, HW {log.high_watermark}")
        return "\n".join(rows)


def _cell(record: Record | None) -> str:
    return "" if record is None else str(record)


def _bar(log: UnifiedLog, offset: int) -> str:
    return "|" if offset == log.high_watermark else " "
