"""The instances of a rule: its method with each choice of values for its parameters.

They are numbered by the values: mixed radix, where the first parameter weighs most. A parameter that ranges over part
of a state may have a type of any size, so an instance is made when it is first asked for, and nothing lists them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import prod
from typing import Any, Final, overload

from spec.language.domains import Domain
from spec.language.state import State
from spec.language.words import Step


@dataclass(frozen=True)
class Instance:
    """A marked method with values for its parameters."""

    parameters: Mapping[str, Any]
    run: Callable[..., Any]
    part: tuple[str, ...] = ()
    """The part it belongs to: names from the whole inwards."""
    untested: Callable[..., Any] | None = None
    """`run` without its test whether the parameters are there in the state; None if it has no such test."""

    def __call__(self, *given: Any) -> Any:
        """Run it on a state of the whole, or on a step and the states around it."""
        seen = within(self.part, given) if self.part else given
        return self.run(*seen, **self.parameters)

    def on(self, *given: Any) -> Callable[[], Any]:
        """A function without parameters that runs it, for a state that stays the same object, as a window's does."""
        return partial(self.run, *within(self.part, given), **self.parameters)

    def present_on(self, s: State) -> Callable[[], Any]:
        """The same where its parameters are known to be there."""
        return partial(self.untested or self.run, *within(self.part, (s,)), **self.parameters)

    def named(self, part: str) -> Instance:
        """The same instance in a system that holds its part by this name."""
        return replace(self, part=(part, *self.part))


class Instances(Sequence[Instance]):
    """The instances of a rule, in order; each is made once, when it is first asked for. Each parameter has a domain;
    for `untested` see `Instance`.
    """

    def __init__(
        self, domains: Mapping[str, Domain[Any]], run: Callable[..., Any], untested: Callable[..., Any] | None = None
    ):
        self._domains, self._run, self._untested = domains, run, untested
        self._numbers: Sequence[int] = range(prod(domain.size for domain in domains.values()))
        """The number of each among all choices of values; some may be left out."""
        self._changes: tuple[Callable[[Instance], Instance], ...] = ()
        self._made: dict[int, Instance] = {}

    @property
    def size(self) -> int:
        """How many there are; unlike `len` it has no limit."""
        return self._numbers.stop if isinstance(self._numbers, range) else len(self._numbers)

    @property
    def are_all(self) -> bool:
        """Whether none is left out."""
        return isinstance(self._numbers, range)

    def __len__(self) -> int:
        return self.size

    def __bool__(self) -> bool:
        return self.size > 0

    @overload
    def __getitem__(self, number: int) -> Instance: ...

    @overload
    def __getitem__(self, number: slice) -> Instances: ...

    def __getitem__(self, number: int | slice) -> Instance | Instances:
        if isinstance(number, slice):
            return self.only(range(self.size)[number])
        made = self._made.get(number)
        if made is None:
            made = Instance(self._values(self._numbers[number]), self._run, untested=self._untested)
            for change in self._changes:
                made = change(made)
            self._made[number] = made
        return made

    def _values(self, number: int) -> dict[str, Any]:
        """The values of the parameters in the choice with this number."""
        codes = []
        for domain in reversed([*self._domains.values()]):
            number, code = divmod(number, domain.size)
            codes.append(code)
        named = zip(self._domains.items(), reversed(codes), strict=True)
        return {name: domain.unrank(code) for (name, domain), code in named}

    def number_of(self, values: Mapping[str, Any]) -> int:
        """The number of the instance with these values of its parameters. OutOfDomain if a value is outside the
        domain of its parameter, ValueError if the instance is left out.
        """
        number = 0
        for name, domain in self._domains.items():
            number = number * domain.size + domain.rank(values[name])
        return self._numbers.index(number)

    def only(self, numbers: Iterable[int]) -> Instances:
        """Those with these numbers, numbered anew from 0."""
        return self._other(_numbers=tuple(map(self._numbers.__getitem__, numbers)))

    def changed(self, change: Callable[[Instance], Instance]) -> Instances:
        """The same, each of them changed when it is made."""
        return self._other(_changes=(*self._changes, change))

    @cached_property
    def part(self) -> tuple[str, ...]:
        """The part that all of them belong to."""
        return self[0].part if self else ()

    def _other(self, **changed: Any) -> Instances:
        other = copy(self)
        vars(other).update(changed, _made={})
        vars(other).pop("part", None)
        return other


NO_INSTANCES: Final = Instances({}, lambda: None).only(())
"""For a property that an engine evaluates by itself."""


def within(part: tuple[str, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The part's view of a state of the whole, or of a step and the states around it."""
    for name in part:
        given = tuple([getattr(each, name) if isinstance(each, State) else _OwnStep(name, each) for each in given])
    return given


class _OwnStep:
    """A step as a part sees it: a step of another part has an empty name. It is read only if the part reads it."""

    __slots__ = ("_part", "_step")

    def __init__(self, part: str, step: Step):
        self._part, self._step = part, step

    @property
    def action(self) -> str:
        name, own = self._step.action, f"{self._part}."
        return name.removeprefix(own) if name.startswith(own) else ""

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self._step.parameters
