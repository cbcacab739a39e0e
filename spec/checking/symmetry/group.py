"""The group under which a model is symmetric: every combination of permutations of its sorts of values.

Its order is a product of factorials, so it can be counted without being listed. Two permutations of each sort
generate it: one exchanges the first two values, the other rotates all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, permutations, product
from math import factorial, prod
from typing import Any

from spec.checking.model import Model
from spec.language.errors import SpecificationError, UsageError
from spec.language.permutations import Permutation, Sorts, disjoint_union


def sorts_in(model: Model) -> Sorts:
    """Every sort of interchangeable values of a model.

    Raises:
        UsageError: it has none, or one that differs between places.
    """
    parameters = chain.from_iterable(action.domains.values() for action in model.actions)
    variables = (domain for _, domain in model.specification.variables.values())
    try:
        found = disjoint_union(domain.sorts for domain in chain(variables, parameters))
    except SpecificationError as wrong:
        raise UsageError(f"--symmetry: {wrong}") from None
    if not found:
        raise UsageError(
            f"--symmetry: {model.specification.name} has no interchangeable values; a domain of them is"
            ' interchangeable("server", ...)'
        )
    return found


def order(sorts: Sorts) -> int:
    """The number of permutations."""
    return prod(factorial(len(values)) for values in sorts.values())


def every_permutation(sorts: Sorts) -> Iterator[Permutation]:
    """All permutations; the first changes nothing."""
    for chosen in product(*(permutations(values) for values in sorts.values())):
        yield {sort: _onto(values, images) for (sort, values), images in zip(sorts.items(), chosen, strict=True)}


def generators(sorts: Sorts) -> Iterator[Permutation]:
    """The generators of the group; each lists only the values of one sort."""
    for sort, values in sorts.items():
        if len(values) > 1:
            yield {sort: _onto(values, (values[1], values[0], *values[2:]))}
        if len(values) > 2:
            yield {sort: _onto(values, (*values[1:], values[0]))}


def described(permutation: Permutation) -> str:
    """The values that a permutation moves, in words."""
    return ", ".join(
        f"{sort} {value} for {image}"
        for sort, images in permutation.items()
        for value, image in images.items()
        if value != image
    )


def _onto(values: Sequence[Any], images: Sequence[Any]) -> Mapping[Any, Any]:
    return dict(zip(values, images, strict=True))
