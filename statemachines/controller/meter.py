"""Meter: how often something has happened, and how long it took, as a metric of Kafka shows it.

Kafka's meters and timers are those of the library Metrics 2.2. The rate of the last minute is a moving average of the
rates in intervals of 5 seconds; an interval that is a minute older counts a third as much:

>>> times = iter((0, 1_000, 61_000, 61_000, 61_000))
>>> meter = Meter(lambda: next(times))
>>> meter.mark(took=400)
>>> meter.count, round(meter.one_minute_rate, 3), round(meter.mean_rate, 3), meter.mean, meter.max
(1, 0.08, 0.016, 400.0, 400)

[MeterMetric, EWMA, TimerMetric; KafkaMetricsGroup.scala, 0.10.1 to 3.9]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import exp
from typing import Final

TICK: Final = 5_000
"""How often rates are updated, in milliseconds."""
ALPHA: Final = 1 - exp(-5 / 60)
"""How much the last interval counts for the rate of the last minute."""


class Meter:
    """A meter or a timer. Rates are numbers in a second, times are in milliseconds.

    Args:
        now: returns the time, in milliseconds.
    """

    def __init__(self, now: Callable[[], int] = lambda: 0) -> None:
        self._now, self._start = now, now()
        self._moments: list[int] = []
        self.max = 0
        """The longest time that one of them took."""
        self._total = 0

    def mark(self, took: int = 0) -> None:
        """It has happened, and took so long."""
        self._moments.append(self._now())
        self.max, self._total = max(self.max, took), self._total + took

    @property
    def count(self) -> int:
        """How often it has happened."""
        return len(self._moments)

    @property
    def mean(self) -> float:
        """How long it took on average; 0 if it has not happened."""
        return self._total / self.count if self._moments else 0.0

    @property
    def mean_rate(self) -> float:
        """The rate since the start of the process; 0 if no time has passed."""
        passed = self._now() - self._start
        return 1000 * self.count / passed if passed else 0.0

    @property
    def one_minute_rate(self) -> float:
        """The rate of the last minute; 0 in the first 5 seconds."""
        ticks = (self._now() - self._start) // TICK
        marks = Counter((moment - self._start) // TICK for moment in self._moments)
        rate = 1000 * marks[0] / TICK if ticks else 0.0
        for tick in range(1, ticks):
            rate += ALPHA * (1000 * marks[tick] / TICK - rate)
        return rate
