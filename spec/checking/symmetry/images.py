"""Images: the effect of a permutation of interchangeable values on each slot of a packed state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from spec.checking.model import Model
from spec.language.cells import WORD
from spec.language.domains import Domain, MappingDomain
from spec.language.errors import OutOfDomain, UsageError
from spec.language.permutations import Permutation
from spec.language.state import Layout


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

    def of(self, codes: Sequence[int] | Mapping[int, int]) -> int:
        """The code for its slot, in a state with these codes by slot."""
        code = codes[self.source]
        return self.codes[code] if self.guard < 0 or codes[self.guard] > self.above else code


class NotSymmetric(Exception):
    """The domain of a variable has a value without its image."""

    def __init__(self, variable: str, cause: str):
        super().__init__(variable, cause)
        self.variable, self.cause = variable, cause


class Codes:
    """Packed states slot by slot."""

    def __init__(self, layout: Layout):
        self.shifts = [
            ((layout.words - 1 - place.word) * WORD + place.shift, (1 << place.width) - 1) for place in layout.slots
        ]
        """The place of each slot's code: how far it is shifted, and its mask."""

    def unpack(self, packed: int) -> list[int]:
        """The code in each slot."""
        return [packed >> shift & mask for shift, mask in self.shifts]

    def pack(self, codes: Iterable[int]) -> int:
        """The state with these codes."""
        return sum(code << shift for code, (shift, _) in zip(codes, self.shifts, strict=True))


class Permuted:
    """The effect of a permutation on packed states; its effect on the bits of a cell is computed once.

    Args:
        images: by slot. A slot and its guard are in one cell.
    """

    def __init__(self, layout: Layout, images: Sequence[Image]):
        shifts = Codes(layout).shifts
        self.sources = [0] * len(layout.cells)
        """By cell, the bits of the cells from which its content comes."""
        self._codes_of = [[(slot, *shifts[slot]) for slot in slots] for slots in _slots_by_cell(layout)]
        """By cell, its slots: the number, and where the code is."""
        self._from: list[list[tuple[int, Image]]] = [[] for _ in layout.cells]
        """By cell, the images of its slots, and where the new codes are."""
        for slot, image in enumerate(images):
            source = layout.slots[image.source].cell
            self._from[source].append((shifts[slot][0], image))
            self.sources[layout.slots[slot].cell] |= layout.cells[source].mask
        self._known: list[tuple[int, dict[int, int]]] = [(cell.mask, {}) for cell in layout.cells]
        self._last = 0, self._sum_of_parts(0)
        """The latest state and its image: a state is asked for once for each action and property."""

    def of(self, packed: int) -> int:
        """The image of a packed state."""
        if packed != self._last[0]:
            self._last = packed, self._sum_of_parts(packed)
        return self._last[1]

    def _sum_of_parts(self, packed: int) -> int:
        taken = 0
        for cell, (mask, known) in enumerate(self._known):
            bits = packed & mask
            found = known.get(bits)
            if found is None:
                found = known[bits] = self._found(cell, bits)
            taken |= found
        return taken

    def _found(self, cell: int, bits: int) -> int:
        codes = {slot: bits >> shift & mask for slot, shift, mask in self._codes_of[cell]}
        return sum(image.of(codes) << shift for shift, image in self._from[cell])


def _slots_by_cell(layout: Layout) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in layout.cells]
    for slot, place in enumerate(layout.slots):
        found[place.cell].append(slot)
    return found


def images(model: Model, permutation: Permutation) -> tuple[Image, ...]:
    """The effect of a permutation on each slot of a model's states.

    Raises:
        NotSymmetric: it takes a value out of the domain of a variable.
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
