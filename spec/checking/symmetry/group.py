"""The group under which a model is symmetric: permutations, their effect on states, and the least states of orbits.

A group has every combination of permutations of its sorts of values. Its order is a product of factorials, so it can
be counted without being listed. Two permutations of each sort generate it: one exchanges the first two values, the
other rotates all of them. The *image* of a slot says what a permutation does to it.

If a group is small enough to be listed, its permutations are still not tried one by one. They form a tree:
permutations with the same effect on the first slots share a branch, and slot by slot only the branches with the least
code are followed. So a slot that names no broker, such as a broker's own log, is compared once per broker, not once
per permutation; and almost always only one branch soon remains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, permutations, product
from math import factorial, prod
from typing import Any, NamedTuple

from spec.checking.model import Model
from spec.language.cells import WORD
from spec.language.domains import Domain, MappingDomain
from spec.language.errors import OutOfDomain, SpecificationError, UsageError
from spec.language.permutations import Permutation, Sorts, disjoint_union
from spec.language.state import Layout

# The group.


def sorts_in(model: Model) -> Sorts:
    """Every sort of interchangeable values of a model; UsageError if it has none, or one that differs somewhere."""
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


# Images.


class Image(NamedTuple):
    """The effect of a permutation on one slot."""

    source: int
    """The slot whose code is taken."""
    codes: tuple[int, ...]
    """By code, the new code."""
    guard: int
    """The slot that shows whether the source is in use, -1 if it always is; a source not in use keeps its 0."""
    above: int
    """It is in use if the guard's code is greater."""

    def of(self, codes: UsedCodes) -> int:
        """The code for its slot, in a state with these codes by slot."""
        code = codes[self.source]
        return self.codes[code] if self.guard < 0 or codes[self.guard] > self.above else code


class NotSymmetric(Exception):
    """The domain of a variable has a value without its image."""

    def __init__(self, variable: str, cause: str):
        super().__init__(variable, cause)
        self.variable, self.cause = variable, cause


class UsedCodes(dict[int, int]):
    """The codes of a packed state by slot, without the zeros; any other slot has the code 0."""

    def __missing__(self, _: int) -> int:
        return 0


class Codes:
    """Packed states slot by slot."""

    def __init__(self, layout: Layout):
        self.shifts = [(layout.words - 1 - place.word) * WORD + place.shift for place in layout.slots]
        """How far each slot's code is shifted."""
        self._slot_at = [-1] * (WORD * layout.words)
        """By bit, the slot that it belongs to."""
        for slot, (shift, place) in enumerate(zip(self.shifts, layout.slots, strict=True)):
            self._slot_at[shift : shift + place.width] = [slot] * place.width

    def unpack(self, packed: int) -> UsedCodes:
        """The codes. Most slots of a large state, such as those of messages that were not sent, have the code 0."""
        found, shifts, slot_at = UsedCodes(), self.shifts, self._slot_at
        while packed:
            slot = slot_at[packed.bit_length() - 1]
            shift = shifts[slot]
            code = found[slot] = packed >> shift
            packed ^= code << shift
        return found


class Permuted:
    """The effect of a permutation on packed states, given the image of each slot."""

    def __init__(self, layout: Layout, images: Sequence[Image]):
        self._codes = Codes(layout)
        by_source = sorted(
            (image.source, shift, image) for shift, image in zip(self._codes.shifts, images, strict=True)
        )
        self._to = [(shift, image.codes) for _, shift, image in by_source]
        """By slot, where its new code is, and the new codes."""
        self._of_zeros = [each for each in by_source if each[2].codes[0]]
        """The slots whose code 0 becomes another, with the same."""

    def of(self, packed: int) -> int:
        """The image of a packed state."""
        return self.of_codes(self._codes.unpack(packed))

    def of_codes(self, codes: UsedCodes) -> int:
        """The image, packed, of a state with these codes."""
        found, to = 0, self._to
        for slot, code in codes.items():
            shift, new = to[slot]
            found |= new[code] << shift
        for slot, shift, image in self._of_zeros:
            if slot not in codes:
                found |= image.of(codes) << shift
        return found


def images(model: Model, permutation: Permutation) -> tuple[Image, ...]:
    """The effect of a permutation on each slot of a model's states; NotSymmetric if it takes a value out of the
    domain of a variable.
    """
    layout, found = model.layout, dict[int, Image]()
    for name, (_, domain) in model.specification.variables.items():
        at = layout.variables[name].at
        for cell, target in _targets(at, domain, permutation):
            first, to = layout.first_slot[cell], layout.first_slot[target]
            try:
                taken = layout.cells[cell].domain.routes(layout.cells[target].domain, permutation)
            except OutOfDomain as wrong:
                raise NotSymmetric(name, str(wrong)) from None
            for number, route in enumerate(taken):
                guard = -1 if route.guard is None else first + route.guard
                found[to + route.slot] = Image(first + number, route.codes, guard, route.above)
    return tuple(found[slot] for slot in range(len(layout.slots)))


def _targets(
    at: int | Mapping[Any, int], domain: Domain[Any] | MappingDomain, permutation: Permutation
) -> Iterator[tuple[int, int]]:
    """Each cell of a variable, with its image under a permutation."""
    if isinstance(at, int) or not isinstance(domain, MappingDomain):
        assert isinstance(at, int)
        yield at, at
        return
    for key, cell in at.items():
        target = domain.keys.moved(key, permutation)
        if target not in at:
            raise UsageError(f"--symmetry: the keys of a mapping include {key} but not {target}")
        yield cell, at[target]


# The least state of an orbit.


class PermutationNode:
    """Permutations with the same effect on all slots before this one. Branches are made on demand: a tree is as deep
    as a state has slots, and most branches are never needed.
    """

    def __init__(self, images: Sequence[Sequence[Image]], permutations: tuple[int, ...], slot: int = 0):
        self.permutations = permutations
        self._images, self._slot = images, slot

    @cached_property
    def branches(self) -> tuple[tuple[Image, PermutationNode], ...]:
        """The different effects on this slot, each with its permutations. None after the last slot."""
        if self._slot == len(self._images[0]):
            return ()
        found: dict[Image, list[int]] = {}
        for number in self.permutations:
            found.setdefault(self._images[number][self._slot], []).append(number)
        return tuple(
            (image, PermutationNode(self._images, tuple(its), self._slot + 1)) for image, its in found.items()
        )


class MinimumImage:
    """The least packed state of each orbit under the permutations with these images."""

    def __init__(self, layout: Layout, images: Iterable[tuple[Image, ...]]):
        self.images = tuple(images)
        """The images by permutation and slot. The first permutation changes nothing."""
        self.tree = PermutationNode(self.images, tuple(range(len(self.images))))
        """The permutations by their effect on the first slot, the second, and so on."""
        self._codes = Codes(layout)
        self._permuted = [Permuted(layout, each) for each in self.images]

    def representative(self, packed: int) -> int:
        """The least state in the orbit of a packed state."""
        codes = self._codes.unpack(packed)
        best = self._best(codes)
        return self._permuted[best].of_codes(codes) if best else packed

    def _best(self, codes: UsedCodes) -> int:
        """A permutation that maps a state to the least of its orbit."""
        left = [self.tree]
        while len(left) > 1 or len(left[0].permutations) > 1:
            if len(left) == 1 and len(left[0].branches) == 1:  # nothing to compare
                left = [left[0].branches[0][1]]
                continue
            lowest, following = None, list[PermutationNode]()
            for node in left:
                for image, child in node.branches:
                    code = image.of(codes)
                    if lowest is None or code < lowest:
                        lowest, following = code, [child]
                    elif code == lowest:
                        following.append(child)
            if not following:  # after the last slot: they all lead to the same state
                break
            left = following
        return left[0].permutations[0]
