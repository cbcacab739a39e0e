"""A sketch estimates the number of different states, within its error."""

from __future__ import annotations

import pytest

from spec.checking.random.sketch import ERROR, REGISTERS, Sketch, note


def sketch_of(*numbers: range, words: int = 1) -> Sketch:
    """A sketch that has seen these numbers."""
    registers = bytearray(REGISTERS)
    for numbers_ in numbers:
        for number in numbers_:
            note(registers, [number] * words)
    return Sketch(bytes(registers))


@pytest.mark.parametrize("many", [1, 2, 10, 1_000, 20_000, 70_000])
@pytest.mark.parametrize("words", [1, 3])
def test_estimate_within_error(many: int, words: int) -> None:
    """For small and large counts, at any width of state."""
    assert abs(sketch_of(range(many), words=words).estimate - many) <= max(1, many * ERROR)


def test_an_empty_sketch_estimates_zero() -> None:
    """Before any value is added."""
    assert Sketch().estimate == 0


def test_repeated_values_do_not_count() -> None:
    """Neither in the same sketch nor after a merge."""
    once = sketch_of(range(500))
    assert sketch_of(range(500), range(500)) == once
    assert once | once == once
    assert hash(once | once) == hash(once)


def test_merged_sketches_equal_one_sketch() -> None:
    """In either order."""
    one, other = sketch_of(range(300)), sketch_of(range(200, 500))
    assert one | other == other | one == sketch_of(range(500))
    assert one != other
