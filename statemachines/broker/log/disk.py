"""Disk: what a broker finds of a replica's log when it starts.

A broker appends to files, and the operating system writes them to the disk some time later. So if only the process
dies, all records stay; if the machine does, any number of the last ones may be lost. Two files are written beside
the log, each as a whole:

    replication-offset-checkpoint  the high watermarks of all partitions, every 5 s and when a broker stops cleanly
    leader-epoch-checkpoint        the leader epochs of this log, at each change, since 0.11

Left out: recovery points, which say how much of a log a broker examines when it starts.

[LogManager.scala, ReplicaManager.checkpointHighWatermarks, 0.10.1 to 3.9]
"""

from __future__ import annotations

from typing import NamedTuple

from statemachines.broker.log.leader_epochs import LeaderEpochs
from statemachines.broker.log.unified_log import UnifiedLog
from statemachines.messages.records import Offset, Record


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

    def stopped(self, log: UnifiedLog) -> Disk:
        """The files after the broker has stopped cleanly: all is flushed, and the high watermark is written."""
        return Disk(log.records, log.high_watermark, log.epochs)

    def loaded(self) -> UnifiedLog:
        """The log that a starting broker makes of it. The high watermark is read when it begins to lead or follow.

        An epoch that begins at the log's end, or after it, is dropped.
        """
        return UnifiedLog(self.records, 0, self.epochs.truncate_from_end(len(self.records)))
