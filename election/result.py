"""The result of an election."""

from typing import Any, Final, Generic, NamedTuple

from election.ids import Id


class ElectionResult(NamedTuple, Generic[Id]):
    """The outcome of an election [Election.scala, 3.9].

    Compare `leader` with None; do not test its truth, since 0 is a broker.
    """

    leader: Id | None
    """The replica that leads afterwards, or None if none qualified."""

    isr: tuple[Id, ...] | None
    """The in-sync replicas afterwards, in their previous order; None without a leader."""

    recipients: tuple[Id, ...]
    """The brokers to send LeaderAndIsr to, in the order of the AR; Kafka then drops those that are not up."""

    unclean: bool
    """Whether the leader comes from outside the ISR, so that committed records may be lost."""


NO_ELIGIBLE_LEADER: Final[ElectionResult[Any]] = ElectionResult(leader=None, isr=None, recipients=(), unclean=False)
"""The result when no replica qualifies: the partition does not change and no broker receives anything."""
