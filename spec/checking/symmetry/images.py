"""Images: the effect of a permutation of interchangeable values on each slot of a packed state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    """The effect of a permutation on packed states.

    Args:
        images: by slot.
    """

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
