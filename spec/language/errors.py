"""What can go wrong between a specification, its author and whoever checks it."""

from __future__ import annotations


class SpecificationError(Exception):
    """A mistake in how a specification is written; one line says which word, where, and what is allowed."""


class UsageError(Exception):
    """A request that cannot be met as asked: an unknown name, a value of the wrong type, a missing engine."""


class AssumptionViolated(Exception):
    """Well-typed constants that the specification does not admit."""


class OutOfDomain(Exception):
    """A value that its domain does not hold.

    >>> str(OutOfDomain(3, "an integer of 0..2"))
    '3 is not an integer of 0..2'
    """

    def __init__(self, value: object, allowed: str):
        super().__init__(value, allowed)
        self.value, self.allowed = value, allowed

    def __str__(self) -> str:
        return f"{self.value!r} is not {self.allowed}"


class Disabled(BaseException):
    """The action cannot happen in this state."""


class Bounded(Disabled):
    """The action could happen, but a bound that keeps the search finite forbids it."""
