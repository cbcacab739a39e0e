"""The timer of the automatic rebalance: when a controller next checks whether preferred replicas lead.

    a failover ends             the first check, 5 seconds later
    a check is processed        the next one, `leader.imbalance.check.interval.seconds` later, whatever the outcome
    the controller resigns      no check is scheduled

No clock runs here. The timer says in how many seconds a check is due. Whoever has a clock says how many have passed
(`advance`), and the driver of the controller begins the check. It becomes an event of the queue, like any other.

A check may wait in the queue while its controller resigns and is elected again. It then schedules the next check in
addition to that of the new failover: two checks stay scheduled as long as this controller lasts.

[scheduleAutoLeaderRebalanceTask in KafkaController.scala, 0.11 to 3.9; `autoRebalanceScheduler` in 0.10, which
repeats by itself]
"""

from __future__ import annotations

from typing import Final

FIRST_CHECK_SECONDS: Final = 5
"""The time from the end of a failover to the first check."""
LEADER_IMBALANCE_CHECK_INTERVAL_SECONDS: Final = 300
"""Kafka's default for leader.imbalance.check.interval.seconds."""


class RebalanceTimer:
    """The schedule of checks.

    >>> timer = RebalanceTimer()
    >>> timer.start(); timer.due_in
    (5,)
    >>> timer.advance(4); timer.due_in
    (1,)
    >>> timer.fire(); timer.schedule(); timer.due_in
    (300,)
    >>> timer.stop(); timer.due_in
    ()

    Args:
        enabled: whether the controller checks by itself [auto.leader.rebalance.enable].
        interval: the seconds from one check to the next [leader.imbalance.check.interval.seconds].
        repeats: whether the timer schedules the next check by itself, as until 0.10.2.
    """

    def __init__(
        self,
        enabled: bool = True,
        interval: int = LEADER_IMBALANCE_CHECK_INTERVAL_SECONDS,
        repeats: bool = False,
    ) -> None:
        self.enabled, self.interval, self.repeats = enabled, interval, repeats
        self.is_running = False
        """Whether a failover has completed since the last resignation."""
        self.due_in: tuple[float, ...] = ()
        """The seconds to each scheduled check."""

    def start(self) -> None:
        """A failover is complete."""
        self.is_running = True
        if self.enabled:
            self.due_in += (FIRST_CHECK_SECONDS,)

    def schedule(self) -> None:
        """A check has been processed; if the failover was cut short, no other is scheduled."""
        if self.is_running and not self.repeats:
            self.due_in += (self.interval,)

    def advance(self, seconds: float) -> None:
        """Time passes; a check that is overdue stays due."""
        self.due_in = tuple(max(0, due - seconds) for due in self.due_in)

    def fire(self) -> None:
        """The next check is due now.

        Raises:
            ValueError: none is scheduled.
        """
        if not self.due_in:
            raise ValueError("no check of preferred leaders is scheduled")
        first = min(self.due_in)
        place = self.due_in.index(first)
        self.due_in = (*self.due_in[:place], *self.due_in[place + 1 :], *((self.interval,) if self.repeats else ()))

    def stop(self) -> None:
        """The controller resigns."""
        self.is_running, self.due_in = False, ()
