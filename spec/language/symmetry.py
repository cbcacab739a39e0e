"""Interchangeable values: which domains have them, and where a permutation of them takes values and codes.

A *sort* of interchangeable values is what Murphi calls a scalarset and TLC a symmetry set. A system whose servers
all do the same goes on doing it when they exchange their names. What exchanges them is a *permutation*; it acts on a
value through the domain, part by part. Of the leaves it moves those that are of the sort, or made from it: a session
of server 0 becomes the session of server 1 with the same number, and a path with its name in it the path with the
other's. All other leaves stay, so integers drawn from a plain range never move.

In the flattened form a permutation takes the code of each slot, through a table, to a slot; so a state is
permuted without being unpacked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from spec.language.anonymous import Anonymous, values_are_anonymous
from spec.language.domains import (
    Domain,
    EnumerationDomain,
    IntegerDomain,
    OptionalDomain,
    PossiblyDomain,
    RecordDomain,
    SequenceDomain,
    SubsetDomain,
    TupleDomain,
    as_domain,
    choices_of,
)
from spec.language.errors import OutOfDomain, SpecificationError
from spec.language.listing import within

Permutation = Mapping[str, Mapping[Any, Any]]
"""For each sort, which value takes whose place; a sort that is not named stays."""

Sorts = Mapping[str, tuple[Any, ...]]
"""The interchangeable values, by the name of their sort."""


@dataclass(frozen=True)
class Moving:
    """How permutations move the values of a leaf."""

    sorts: Sorts
    moved: Callable[[Any, Permutation], Any]


# The words. Each makes a domain.


def interchangeable(sort: str, values: Domain[Any] | Iterable[Any]) -> Domain[Any]:
    """These values, none of which is special; `sort` says what one of them is called: "server".

    What looks at them must give the same if they exchange their names; `--symmetry` finds out whether it does.
    """
    domain = as_domain(values)
    if values_are_anonymous():
        everyone = tuple(domain)
        domain = EnumerationDomain(Anonymous(sort, value, everyone) for value in domain)
    else:
        domain = copy(domain) if isinstance(domain, IntegerDomain) else EnumerationDomain(domain)
    domain.moving = Moving(
        {sort: tuple(domain)}, lambda value, permutation: permutation.get(sort, {}).get(value, value)
    )
    return domain


def every(make: Callable[..., Any], /, **parts: Domain[Any] | Iterable[Any]) -> Domain[Any]:
    """What is made from each choice of the parts, in their order: a record of them, a path, a name.

    A permutation moves what is made by moving what it is made from.
    """
    domains = {name: as_domain(part) for name, part in parts.items()}
    choices = choices_of(domains)
    made = EnumerationDomain([make(**choice) for choice in choices])
    made_from = dict(zip(made.values, choices, strict=True))

    def move(value: Any, permutation: Permutation) -> Any:
        return make(**{name: moved(domains[name], part, permutation) for name, part in made_from[value].items()})

    made.moving = Moving(_united(domains.values()), move)
    return made


def either(*choices: Domain[Any] | Iterable[Any]) -> Domain[Any]:
    """The values of the first domain, then those of the next; none may stand in two."""
    domains = [as_domain(choice) for choice in choices]
    both = EnumerationDomain(chain.from_iterable(domains))
    home = {value: domain for domain in domains for value in domain}
    if sorts := _united(domains):
        both.moving = Moving(sorts, lambda value, permutation: moved(home[value], value, permutation))
    return both


def part_of(domain: Domain[Any], *values: Any) -> Domain[Any]:
    """Some values of a domain. A permutation moves them as it does there, and may move them to others."""
    for value in values:
        domain.rank(value)
    part = EnumerationDomain(values)
    part.moving = Moving(sorts_of(domain), lambda value, permutation: moved(domain, value, permutation))
    return part


# What a permutation does.


def sorts_of(domain: Domain[Any]) -> Sorts:
    """The sorts that a domain's values are of, or made from."""
    return domain.moving.sorts if domain.moving else _united(_inner(domain))


def moved(domain: Domain[Any], value: Any, permutation: Permutation) -> Any:
    """Where a permutation takes a value of this domain; that need not be in the domain."""
    if domain.moving:
        return domain.moving.moved(value, permutation)
    match domain:
        case OptionalDomain() | PossiblyDomain():
            return value if value is domain.nothing else moved(domain.domain, value, permutation)
        case SubsetDomain():
            return frozenset(moved(domain.elements, element, permutation) for element in value)
        case SequenceDomain():
            return tuple(moved(domain.elements, element, permutation) for element in value)
        case RecordDomain() | TupleDomain():
            return domain._of(moved(*each, permutation) for each in zip(domain.parts, value, strict=True))
    return value


class Route(NamedTuple):
    """Where the code of one slot goes."""

    slot: int
    """The slot that it goes to."""
    codes: tuple[int, ...]
    """What becomes of it, by code."""
    guard: int | None = None
    """The slot that tells whether this one is in use: only then is the code changed. It is itself never changed."""
    above: int = 0
    """It is in use if the guard's code is greater."""


def routes(domain: Domain[Any], other: Domain[Any], permutation: Permutation) -> list[Route]:
    """How a permutation takes the codes of a value, slot by slot, to those that the other domain has for it.

    Raises:
        OutOfDomain: it takes a value to one that the other domain does not hold.
    """
    if len(domain.slots) != len(other.slots):
        raise OutOfDomain(str(domain), str(other))
    if len(domain.slots) <= 1:
        found = []
        within(domain.size, domain, "values")
        for code in range(domain.slots[0].size if domain.slots else 1):
            value = domain.value((code,) if domain.slots else ())
            found.append(other.codes(moved(domain, value, permutation)))
        return [Route(0, tuple(code for (code,) in found))] if domain.slots else []
    return list(_routes(domain, other, permutation))


def _routes(domain: Domain[Any], other: Domain[Any], permutation: Permutation) -> Iterator[Route]:
    """The same of what lies in several slots."""
    if type(domain) is not type(other):
        raise OutOfDomain(str(domain), str(other))
    match domain, other:
        case (OptionalDomain() | PossiblyDomain(), OptionalDomain() | PossiblyDomain()):
            yield Route(0, (0, 1))
            yield from _behind(1, routes(domain.domain, other.domain, permutation), guard=0)
        case SequenceDomain(), SequenceDomain():
            if domain.longest != other.longest:
                raise OutOfDomain(str(domain), str(other))
            yield Route(0, tuple(range(domain.longest + 1)))
            elements = routes(domain.elements, other.elements, permutation)
            for at in range(domain.longest):
                yield from _behind(1 + at * len(elements), elements, guard=0, above=at)
        case SubsetDomain(), SubsetDomain():
            last = domain.elements.size - 1
            for element in reversed(domain.order):
                yield Route(last - other.elements.rank(moved(domain.elements, element, permutation)), (0, 1))
        case (RecordDomain() | TupleDomain(), RecordDomain() | TupleDomain()):
            first = 0
            for part, its in zip(domain.parts, other.parts, strict=True):
                inner = routes(part, its, permutation)
                yield from _behind(first, inner)
                first += len(inner)
        case _:
            raise SpecificationError(f"how permutations move {domain} is not known")


def _behind(first: int, inner: Iterable[Route], guard: int | None = None, above: int = 0) -> Iterator[Route]:
    """The routes of a part whose slots begin there; a part has the innermost of the guards around it.

    One that is not in use holds 0 all through, the inner guard too.
    """
    for route in inner:
        if route.guard is not None:
            yield Route(first + route.slot, route.codes, first + route.guard, route.above)
        elif route.codes[0] == 0:  # 0 stays 0, in use or not
            yield Route(first + route.slot, route.codes)
        else:
            yield Route(first + route.slot, route.codes, guard, above)


def _inner(domain: Domain[Any]) -> tuple[Domain[Any], ...]:
    match domain:
        case OptionalDomain() | PossiblyDomain():
            return (domain.domain,)
        case SubsetDomain() | SequenceDomain():
            return (domain.elements,)
        case RecordDomain() | TupleDomain():
            return domain.parts
    return ()


def _united(domains: Iterable[Domain[Any]]) -> Sorts:
    found: dict[str, tuple[Any, ...]] = {}
    for domain in domains:
        unite(found, sorts_of(domain))
    return found


def unite(found: dict[str, tuple[Any, ...]], more: Sorts) -> None:
    """Add sorts to those that were found; a sort has the same values wherever it stands."""
    for sort, values in more.items():
        if found.setdefault(sort, values) != values:
            raise SpecificationError(
                f"interchangeable {sort!r}: it is {found[sort]} in one place, {values} in another"
            )
