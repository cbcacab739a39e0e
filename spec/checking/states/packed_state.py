"""A packed state: one number, in any of its forms.

A layout packs the values of a state, slot by slot, into 64-bit words. Joined, the words are a number, or bytes, the
most significant first. All these forms sort alike, in code order. Loops that need only one form get it from the
layout itself. Many states at once are arrays, see `packed`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from spec.language.cells import WORD
from spec.language.state import Layout, Values

BYTES = WORD // 8
"""Bytes in a word."""


@dataclass(frozen=True, slots=True)
class PackedState:
    """A state of this layout.

    >>> from spec.language.domains import integers
    >>> layout = Layout({"left": ("", integers(0, 3)), "right": ("", integers(0, 2**64 - 1))})
    >>> state = PackedState.of_values(layout, (2, 5))
    >>> state.words == (2 << 62, 5), PackedState.of_words(layout, state.words) == state
    (True, True)
    >>> PackedState.of_bytes(layout, state.bytes).values
    (2, 5)
    """

    layout: Layout
    number: int

    @classmethod
    def of_values(cls, layout: Layout, values: Values) -> PackedState:
        """The state with a value in each cell.

        Raises:
            OutOfCell: a value is not in its cell's domain.
        """
        return cls(layout, layout.pack(values))

    @classmethod
    def of_words(cls, layout: Layout, words: Iterable[int]) -> PackedState:
        """The state in these words, which may be numbers of Python or of numpy."""
        return cls(layout, number_of(words))

    @classmethod
    def of_bytes(cls, layout: Layout, packed: bytes) -> PackedState:
        """The state in these bytes."""
        return cls(layout, int.from_bytes(packed, "big"))

    @property
    def values(self) -> Values:
        """The values, by cell."""
        return self.layout.unpack(self.number)

    @property
    def words(self) -> tuple[int, ...]:
        """The words, as many as the layout has."""
        last, mask = self.layout.words - 1, (1 << WORD) - 1
        return tuple(self.number >> WORD * (last - at) & mask for at in range(last + 1))

    @property
    def bytes(self) -> bytes:
        """The bytes of all words."""
        return self.number.to_bytes(BYTES * self.layout.words, "big")


def number_of(words: Iterable[int]) -> int:
    """Words joined into a number."""
    number = 0
    for word in words:
        number = number << WORD | int(word)
    return number
