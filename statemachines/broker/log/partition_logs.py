"""PartitionLogs: all logs of one partition, by broker. It prints as rows of cells.

A row is a broker and a cell is a record with its leader epoch. The bar is the high watermark of that broker: it
knows the records before the bar to be committed.

>>> long = UnifiedLog().append((Record("m0", 0), Record("m1", 3))).with_high_watermark(1)
>>> print(PartitionLogs({1: long, 2: long.truncate_to(1), 3: UnifiedLog()}, leader=1, live={1, 2}))
broker 1 leads   m0@0 | m1@3    LEO 2, HW 1
broker 2         m0@0 |         LEO 1, HW 1
broker 3 down  |                LEO 0, HW 0
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from itertools import zip_longest

from election.ids import BrokerId
from statemachines.broker.log.unified_log import UnifiedLog
from statemachines.messages.records import Record


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
