"""Parameters that range over part of a state: which of their values are there.

A parameter has a domain, whose values number the instances of its rule. Its range is a function of the state; in a
state only the instances act whose values are in the ranges. An engine either runs any instance, which then tests
whether its values are there (`Ranges.only_there`), or asks for the instances whose values are (`Ranges.present`).
Both give the same steps and the same errors.

To find the domain, the function is run on a stand-in for a state, in which a set, tuple or mapping knows only the
domain of its members.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache, wraps
from typing import Any, Final, NamedTuple

from spec.language.domains import Domain, MappingDomain, PossiblyDomain, SequenceDomain, SubsetDomain
from spec.language.errors import (
    Bounded,
    Disabled,
    DoesNotExist,
    NotApplicable,
    OutOfDomain,
    SpecificationError,
    safe_repr,
)
from spec.language.state import State, no_variable
from spec.language.words import OfState

# Ranges.


SILENT: Final = {"invariant": True, "transition_invariant": True, "sometimes": False, "view": "", "picture": None}
"""The result of each kind for a state or step that it does not apply to."""


class Present(NamedTuple):
    """The instances whose parameters are there in a state."""

    numbers: Sequence[int]
    """Their numbers, in order."""
    closed: bool
    """Whether a bound forbids some, because a range calls `bound`."""


class Ranges:
    """The parameters of a rule, some of which range over part of a state.

    `whole` is the specification or part, the `self` of the functions. The order of the domains is that of the
    instances. A function in `there` returns the collection of a parameter's values; it is called only for values of
    earlier parameters that are there. The functions of `certain` parameters return only values of the domain.
    """

    def __init__(
        self,
        whole: object,
        domains: Mapping[str, Domain[Any]],
        there: Mapping[str, OfState],
        certain: Collection[str],
    ):
        self._whole, self._domains = whole, domains
        self._there = {name: (there[name].given, there[name].needs) for name in domains if name in there}
        self._uncertain = {name: domains[name] for name in self._there if name not in certain}
        self._value_of = {
            each: cache(domains[each].unrank) for its in there.values() for each in its.needs if each in domains
        }
        """By parameter that some range takes, its values by their numbers."""
        self._fixed: Mapping[str, Any] = {}

    @property
    def in_state(self) -> Collection[str]:
        """The names of the parameters that range over part of the state."""
        return self._there.keys()

    def with_values(self, fixed: Mapping[str, Any]) -> Ranges:
        """The same, where parameters that number no instances have these values."""
        other = copy(self)
        other._fixed = fixed
        return other

    def only_there(self, kind: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """The method, limited to parameter values that are there in the state.

        With the first value of every other parameter it also checks that a range is within its domain.
        """
        whole, there, uncertain = self._whole, self._there, self._uncertain
        others = {name: self._others(name) for name in uncertain}

        @wraps(method)
        def of_those(s: State, **parameters: Any) -> Any:
            for name, (given, needs) in there.items():
                held = collection(name, given(whole, s, **{each: parameters[each] for each in needs}))
                if name in uncertain and all(parameters[other] == first for other, first in others[name].items()):
                    for value in held:
                        if value not in uncertain[name]:
                            raise exceeded(name, OutOfDomain(value, str(uncertain[name])))
                if parameters[name] not in held:
                    if kind == "action":
                        raise DoesNotExist(name, given)
                    return SILENT[kind]
            return method(s, **parameters)

        return of_those

    def _others(self, name: str) -> dict[str, Any]:
        """The parameters whose first value stands for all when the range of this one is checked, with that value."""
        read = {name}
        for each, (_, needs) in self._there.items():
            read |= {each, *needs}
            if each == name:
                break
        return {each: domain.unrank(0) for each, domain in self._domains.items() if each == name or each not in read}

    def present(self, s: State) -> Present:
        """The instances whose parameters are there in this state; SpecificationError if a range is no collection, or
        exceeds its domain.
        """
        refused: list[BaseException] = []
        numbers = [*self._each(s, Disabled, refused.append)]
        return Present(numbers, any(isinstance(each, Bounded) for each in refused))

    def each_present(self, s: State) -> Iterator[int]:
        """The numbers of the same instances, for a rule that is no action: in order, and found one after the other;
        SpecificationError if a range is no collection, or exceeds its domain.
        """
        return self._each(s, NotApplicable, lambda _: None)

    def _each(
        self, s: State, refusal: type[BaseException], on_refusal: Callable[[BaseException], None]
    ) -> Iterator[int]:
        """The numbers of the instances that are there. A range that raises this refusal has no values."""
        parameters = [(name, domain, self._value_of.get(name)) for name, domain in self._domains.items()]
        known: dict[str, Sequence[int]] = {}
        """The values that depend on no earlier parameter, by name."""

        def following(at: int, number: int, earlier: Mapping[str, Any]) -> Iterator[int]:
            name, domain, value_of = parameters[at]
            codes = known.get(name)
            if codes is None:
                try:
                    codes = self._codes(name, s, earlier)
                except refusal as refused:
                    on_refusal(refused)
                    codes = ()
                if not (self._there[name][1] if name in self._there else ()):
                    known[name] = codes
            first, is_last = number * domain.size, at + 1 == len(parameters)
            if is_last:
                yield from map(first.__add__, codes)
                return
            for code in codes:
                values = earlier if value_of is None else {**earlier, name: value_of(code)}
                yield from following(at + 1, first + code, values)

        return following(0, 0, self._fixed)

    def _codes(self, name: str, s: State, earlier: Mapping[str, Any]) -> Sequence[int]:
        """The values of this parameter that are there, by their numbers in its domain, in order."""
        domain = self._domains[name]
        if name not in self._there:
            return range(domain.size)
        given, needs = self._there[name]
        held = collection(name, given(self._whole, s, **{each: earlier[each] for each in needs}))
        try:
            return sorted(set(map(domain.rank, held)))
        except OutOfDomain as wrong:
            raise exceeded(name, wrong) from None


def collection(name: str, held: Any) -> Any:
    """The values that a range returned, to be read more than once; SpecificationError if it is no collection."""
    if isinstance(held, Iterator):
        return tuple(held)
    if not isinstance(held, Iterable) or isinstance(held, str):
        raise SpecificationError(f"{name}= returns {safe_repr(held)}, which is no collection")
    return held


def exceeded(name: str, wrong: OutOfDomain) -> SpecificationError:
    """The error for a range with a value outside the parameter's domain."""
    return SpecificationError(f"parameter {name}: its range in this state exceeds its type: {wrong}")


# Stand-ins for a state.


class Members:
    """A state in which each set, tuple or mapping is represented by the domain of its members."""

    def __init__(
        self, states: type[State], variables: Mapping[str, tuple[str, Domain[Any] | MappingDomain]], part: str = ""
    ):
        self._states, self._variables, self._part = states, variables, part

    def __getattr__(self, name: str) -> Any:
        if f"{self._part}{name}" in self._variables:
            return _members_of(self._variables[f"{self._part}{name}"][1])
        member = self._states.members().get(name)
        if isinstance(member, type):
            return Members(member, self._variables, f"{self._part}{name}.")
        if member is None and hasattr(self._states, name):
            raise AttributeError(name)
        own = [it.removeprefix(self._part) for it in self._variables if it.startswith(self._part)]
        raise SpecificationError(no_variable(name, own))


class _Unavailable:
    """A value that code may pass on but not inspect: code that inspects it computes its range from the state."""

    def _refuse(self, *_: object) -> bool:
        raise TypeError

    __bool__ = __contains__ = __iter__ = __len__ = _refuse


class MembersOfDomain(_Unavailable):
    """A set or tuple of a state, known only by the domain of its members."""

    def __init__(self, domain: Domain[Any]):
        self.domain = domain


class MembersOfMapping(_Unavailable):
    """A mapping of a state, known only by the domains of its keys and values."""

    def __init__(self, mapping: MappingDomain):
        self._mapping = mapping

    def keys(self) -> MembersOfDomain:
        """Its keys."""
        return MembersOfDomain(self._mapping.keys)

    def values(self) -> MembersOfDomain:
        """Its values, if all keys have the same domain."""
        first, *others = map(existing, self._mapping.cells.values())
        if any(other is not first for other in others):
            raise AttributeError("values")
        return MembersOfDomain(first)

    def __getitem__(self, key: Any) -> Any:
        return _members_of(existing(self._mapping.cells[key]))


def _members_of(domain: Domain[Any] | MappingDomain) -> Any:
    match domain:
        case MappingDomain():
            return MembersOfMapping(domain)
        case SubsetDomain(elements=elements) | SequenceDomain(elements=elements):
            return MembersOfDomain(elements)
    raise AttributeError(str(domain))


def existing(cell: Domain[Any]) -> Domain[Any]:
    """The domain of a mapping's cell when its key is present."""
    return cell.domain if isinstance(cell, PossiblyDomain) else cell
