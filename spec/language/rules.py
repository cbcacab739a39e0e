"""The rules of a system with all their instances: actions, properties, views.

A rule may belong to a part: then its instances see the part's own state.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from string import Formatter
from typing import Any, NamedTuple

from spec.language.domains import Domain, choices_of
from spec.language.errors import SpecificationError
from spec.language.instances import Instances, within
from spec.language.ranges import Present, Ranges
from spec.language.state import State
from spec.language.words import Step


class Lanes(NamedTuple):
    """The actor and the receiver of a step: lanes of a sequence diagram."""

    actor: str = ""
    """The lane of the actor; empty: the system itself."""
    receiver: str = ""
    """The lane of the receiver; empty: there is none."""
    parameters: tuple[str, ...] = ()
    """The parameters that these lanes stand for."""
    unnamed: tuple[str, str] = ("", "")
    """Each of the two, if neither the action's name nor a parameter shows it; otherwise empty."""


@dataclass(frozen=True)
class Action:
    """An action with all its instances, in the order of its parameters' domains."""

    name: str
    doc: str
    domains: Mapping[str, Domain[Any]]
    instances: Instances
    rule: str
    """The name of the method that describes it; one method may describe several actions."""
    actor: str = ""
    """The actor's lane in a sequence diagram: a parameter, or words with parameters in braces; empty: the system
    itself."""
    receiver: str = ""
    """The receiver's lane; empty: there is none."""
    is_of_its_part: bool = False
    """Whether the actor is its own part, whose name precedes the action's."""
    ranges: Ranges | None = None
    """The parameters, if some range over part of the state."""

    def present(self, s: State) -> Present:
        """Its instances whose parameters are there in this state; SpecificationError if a range is no collection, or
        exceeds its parameter's domain.
        """
        if self.ranges is None:
            return self._every
        return self.ranges.present(within(self.instances.part, (s,))[0])

    @cached_property
    def _every(self) -> Present:
        return Present(range(self.instances.size), False)

    def step(self, number: int) -> Step:
        """The step of its instance with this number."""
        return Step(self.name, self.instances[number].parameters)

    def lanes(self, number: int) -> Lanes:
        """The lanes of its instance with this number."""
        return self._lanes(self.instances[number].parameters)

    def _lanes(self, values: Mapping[str, Any]) -> Lanes:
        actor, receiver = (
            (lane_of(lane, self.domains[lane], values[lane]) if lane in values else lane.format_map(values))
            for lane in (self.actor, self.receiver)
        )
        return Lanes(actor, receiver, *self._lane_parameters)

    @property
    def every_lanes(self) -> Iterator[Lanes]:
        """The lanes of all its instances, each once; SpecificationError if there are too many."""
        if not self.instances:
            return
        values = dict(self.instances[0].parameters)
        named = {name: domain for name, domain in self.domains.items() if name in self._lane_parameters[0]}
        for choice in choices_of(named):
            yield self._lanes({**values, **choice})

    @cached_property
    def _lane_parameters(self) -> tuple[tuple[str, ...], tuple[str, str]]:
        """The parameters that its lanes stand for; and the lanes that nothing else shows."""
        named = dict.fromkeys(name for lane in (self.actor, self.receiver) for name in self.parameters_in(lane))
        return tuple(named), ("" if self.is_of_its_part else self._unnamed(self.actor), self._unnamed(self.receiver))

    def parameters_in(self, lane: str) -> list[str]:
        """The parameters that a lane stands for; SpecificationError if the lane has something other than a parameter
        in braces.
        """
        if lane in self.domains:
            return [lane]
        try:
            named = [name for _, name, _, _ in Formatter().parse(lane) if name is not None]
        except ValueError as wrong:
            raise SpecificationError(f"action {self.name}: lane {lane!r}: {wrong}") from None
        for name in named:
            if name not in self.domains:
                known = ", ".join(self.domains) or "none"
                raise SpecificationError(
                    f"action {self.name}: lane {lane!r}: {name!r} is no parameter; its parameters: {known}"
                )
        return named

    def _unnamed(self, lane: str) -> str:
        """A lane in words that neither a parameter nor the action's name shows; otherwise empty."""
        said = {*lane.lower().split()} <= {*re.split(r"[._]", self.name.lower())}
        return "" if said or self.parameters_in(lane) else lane


@dataclass(frozen=True)
class Property:
    """An invariant, transition invariant or witness, with all its instances."""

    name: str
    kind: str
    doc: str
    over_steps: bool
    instances: Instances
    domains: Mapping[str, Domain[Any]] = field(default_factory=dict)
    """The domains of its parameters."""
    ranges: Ranges | None = None
    """The parameters, if some range over part of the state."""

    @cached_property
    def part(self) -> tuple[str, ...]:
        """The part that all its instances belong to."""
        return self.instances.part

    def present(self, s: State) -> Iterable[int]:
        """The numbers of its instances whose parameters are there in this state, found one after the other;
        SpecificationError if a range is no collection, or exceeds its parameter's domain.
        """
        return _present(self, s)


@dataclass(frozen=True)
class View:
    """A description of a state in words, or a drawing of it, with all its instances."""

    name: str
    doc: str
    instances: Instances
    ranges: Ranges | None = None
    """The parameters, if some range over part of the state."""

    def present(self, s: State) -> Iterable[int]:
        """As for a property."""
        return _present(self, s)


def _present(rule: Property | View, s: State) -> Iterable[int]:
    if rule.ranges is None:
        return range(rule.instances.size)
    return rule.ranges.each_present(within(rule.instances.part, (s,))[0])


def sort_of(domain: Domain[Any]) -> str:
    """The name of the sort if the domain is one of interchangeable values; otherwise empty."""
    sorts = domain.moving.sorts if domain.moving is not None else {}
    return next((sort for sort, values in sorts.items() if values == tuple(domain)), "")


def lane_of(parameter: str, domain: Domain[Any], value: Any) -> str:
    """The name of a value's lane: broker 2."""
    return f"{sort_of(domain) or parameter} {value}"
