"""A sketch (HyperLogLog): how many different states were visited, without keeping any.

A state is hashed. Each register keeps only the longest run of trailing zeros among the hashes that fall into it: the
more states, the more zeros. The estimate is Otmar Ertl's, which is as good for few states as for
many [New cardinality estimation algorithms for HyperLogLog sketches, 2017, algorithm 6].
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from spec.checking.states.splitmix import STRIDE, mixed

BITS: Final = 14
REGISTERS: Final = 1 << BITS
ZEROS: Final = 64 - BITS
"""Bits of a hash in which zeros are counted."""
ERROR: Final = 2 * 1.04 / math.sqrt(REGISTERS)
"""The error of an estimate as a share of it, not exceeded in 19 cases of 20."""


class Sketch:
    """The registers of the visited states."""

    def __init__(self, registers: bytes = bytes(REGISTERS)):
        self.registers = registers

    def __or__(self, other: Sketch) -> Sketch:
        return Sketch(bytes(map(max, self.registers, other.registers)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sketch) and self.registers == other.registers

    def __hash__(self) -> int:
        return hash(self.registers)

    @property
    def estimate(self) -> int:
        """The approximate number of different states."""
        many = [0] * (ZEROS + 2)
        for register in self.registers:
            many[register] += 1
        if many[0] == REGISTERS:
            return 0
        sum_ = REGISTERS * _tau(1 - many[ZEROS + 1] / REGISTERS)
        for zeros in range(ZEROS, 0, -1):
            sum_ = 0.5 * (sum_ + many[zeros])
        sum_ += REGISTERS * _sigma(many[0] / REGISTERS)
        return round(REGISTERS * REGISTERS / (2 * math.log(2) * sum_))


def note(registers: bytearray, words: Iterable[int]) -> None:
    """Put a state into the registers of a sketch."""
    hashed = STRIDE
    for word in words:
        hashed = mixed(hashed ^ word)
    lowest = hashed | 1 << ZEROS
    zeros = (lowest & -lowest).bit_length()
    at = hashed >> ZEROS
    registers[at] = max(registers[at], zeros)


def _sigma(x: float) -> float:
    y, z, before = 1.0, x, -1.0
    while z != before:
        x *= x
        before = z
        z += x * y
        y += y
    return z


def _tau(x: float) -> float:
    if x in (0.0, 1.0):
        return 0.0
    y, z, before = 1.0, 1 - x, -1.0
    while z != before:
        x = math.sqrt(x)
        before = z
        y *= 0.5
        z -= (1 - x) ** 2 * y
    return z / 3
