"""Interchangeable values: the words that make domains of them and of values made from them.

A *sort* of interchangeable values is Murphi's scalarset and TLC's symmetry set. A system whose servers all behave
alike stays the same when they exchange their names. A permutation exchanges them, see `permutations`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from itertools import chain, repeat
from typing import Any

from spec.language.anonymous import Anonymous, values_are_anonymous
from spec.language.domains import Domain, EnumerationDomain, IntegerDomain, as_domain, choices_of
from spec.language.permutations import Moving, Permutation, disjoint_union

# The words. Each makes a domain.


def interchangeable(sort: str, values: Domain[Any] | Iterable[Any]) -> Domain[Any]:
    """These values, none of which is special; `sort` names one of them: "server".

    Code that uses them must give the same result if they exchange their names; `--symmetry` checks that it does.
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


def every_combination(make: Callable[..., Any], /, **parts: Domain[Any] | Iterable[Any]) -> Domain[Any]:
    """A value made from each choice of the parts, in their order: a record of them, a path, a name.

    A permutation moves the parts and makes the value again.
    """
    domains = {name: as_domain(part) for name, part in parts.items()}
    choices = choices_of(domains)
    made = EnumerationDomain([make(**choice) for choice in choices])
    made_from = dict(zip(made.values, choices, strict=True))

    def move(value: Any, permutation: Permutation) -> Any:
        return make(**{name: domains[name].moved(part, permutation) for name, part in made_from[value].items()})

    made.moving = Moving(disjoint_union(domain.sorts for domain in domains.values()), move)
    return made


def either(*choices: Domain[Any] | Iterable[Any]) -> Domain[Any]:
    """The values of the first domain, then those of the next; no value may be in two."""
    domains = [as_domain(choice) for choice in choices]
    both = EnumerationDomain(chain.from_iterable(domains))
    if sorts := disjoint_union(domain.sorts for domain in domains):
        homes = chain.from_iterable(repeat(domain, domain.size) for domain in domains)
        home = dict(zip(both.values, homes, strict=True))
        both.moving = Moving(sorts, lambda value, permutation: home[value].moved(value, permutation))
    return both


def part_of(domain: Domain[Any], *values: Any) -> Domain[Any]:
    """Some values of a domain. A permutation moves them as in that domain, perhaps to values outside these."""
    for value in values:
        domain.rank(value)
    part = EnumerationDomain(values)
    part.moving = Moving(domain.sorts, lambda value, permutation: domain.moved(value, permutation))
    return part
