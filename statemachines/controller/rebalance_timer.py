"""The timer of the automatic rebalance: when a controller looks next whether preferred replicas lead.

    a failover ends             the first check, 5 seconds later
    a check is processed        the next one, `leader.imbalance.check.interval.seconds` later, whatever came of it
    the controller resigns      no check is scheduled any more

No clock runs here. The timer says in how many seconds a check is due, and whoever drives the controller says when
that time has come. A check that is due becomes an event of the queue, like any other.

An event that waits for a controller which resigns and is elected again is processed by the new one, and schedules the
next check, beside that of the failover: then two are scheduled, for as long as this controller lasts.

[scheduleAutoLeaderRebalanceTask in KafkaController.scala, 0.11 to 3.9; `autoRebalanceScheduler` in 0.10, which
repeats by itself]
"""

from __future__ import annotations

from typing import Final

__all__ = ["FIRST_CHECK_SECONDS", "LEADER_IMBALANCE_CHECK_INTERVAL_SECONDS", "RebalanceTimer"]

FIRST_CHECK_SECONDS: Final = 5
"""From the end of a failover to the first check."""
LEADER_IMBALANCE_CHECK_INTERVAL_SECONDS: Final = 300
"""Kafka's default for leader.imbalance.check.interval.seconds."""


class RebalanceTimer:
    """When checks are due.

    >>> timer = RebalanceTimer()
    >>> timer.start(); timer.due_in
    (5,)
    >>> timer.fire(); timer.schedule(); timer.due_in
    (300,)
    >>> timer.stop(); timer.due_in
    ()

    Args:
        enabled: whether the controller looks by itself [auto.leader.rebalance.enable].
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
        """Whether a failover has been gone through, and no resignation since."""
        self.due_in: tuple[int, ...] = ()
        """The seconds to each check that is scheduled, as they were when it was."""

    def start(self) -> None:
        """A failover is over."""
        self.is_running = True
        if self.enabled:
            self.due_in += (FIRST_CHECK_SECONDS,)

    def schedule(self) -> None:
        """A check has been processed; whose failover was cut short schedules none."""
        if self.is_running and not self.repeats:
            self.due_in += (self.interval,)

    def fire(self) -> None:
        """The time of the check that is due first has come.

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
