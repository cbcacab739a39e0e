"""SplitMix64: words of 64 bits in which each bit depends on each bit of another [Steele, Lea and Flood 2014].

Plain integers, arrays and compiled code produce the same words, in every process and run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    import numpy as np

Words = TypeVar("Words", int, "np.ndarray[Any, Any]")
"""A word, or an array of words."""

MASK: Final = (1 << 64) - 1
STRIDE: Final = 0x9E3779B97F4A7C15
"""The distance between successive numbers before they are mixed."""
FIRST: Final = 0xBF58476D1CE4E5B9
SECOND: Final = 0x94D049BB133111EB


def mixed(word: Words) -> Words:
    """64 bits, each depending on every bit of the word."""
    word = ((word ^ (word >> 30)) * FIRST) & MASK
    word = ((word ^ (word >> 27)) * SECOND) & MASK
    last: Words = word ^ (word >> 31)
    return last
