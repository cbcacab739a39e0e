"""Rows: states of any number of bytes are kept and found again, next to their neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.checking.local.arrays import PARTITIONS, Outbox, Scratch
from spec.checking.local.rows import Rows, size_of
from spec.checking.local.storing import post
from spec.checking.local.visited import Visited
from spec.checking.states.packed import Words, in_code_order
from spec.language.domains import integers
from spec.language.state import Layout


def one_bit_apart(size: int) -> Words:
    """A state of ones, and others in which one of the bits of so many bytes is 0."""
    words, bits = -(-size // 8), 8 * size
    ones = [(1 << bits) - 1]
    ones += [ones[0] ^ 1 << bit for bit in range(bits)]
    whole = b"".join((one << 64 * words - bits).to_bytes(8 * words, "big") for one in ones)
    return np.frombuffer(whole, ">u8").astype(np.uint64).reshape(-1, words)


@pytest.mark.parametrize(
    ("widths", "size"),
    [
        ([], 1),
        ([1], 1),
        ([8], 1),
        ([8, 1], 2),
        ([64], 8),
        ([63, 2], 9),
        ([60, 8], 9),
        ([60, 9], 10),
        ([40, 40, 40], 21),
    ],
)
def test_a_row_ends_with_the_last_byte_that_a_slot_reaches(widths: list[int], size: int) -> None:
    """Slots have so many bits each; one that does not fit into a word begins the next."""
    assert size_of(Layout({f"v{at}": ("", integers(0, (1 << width) - 1)) for at, width in enumerate(widths)})) == size


@pytest.mark.parametrize("size", range(1, 25))
def test_states_that_differ_in_any_bit_are_kept_apart(size: int) -> None:
    """Sent twice, each is in the visited set once."""
    states = one_bit_apart(size)
    visited, outbox = Visited(size, 1 << 24), Outbox.of(states.shape[1], 512)
    for _ in range(2):
        post(visited.shape, states.reshape(-1), np.zeros(len(states), np.uint16), 0, outbox)
        visited.insert(0, PARTITIONS, outbox, Scratch.of(states.shape[1], 0))
    assert visited.complete(np.zeros(1, np.int64)) == visited.size == len(states)
    assert np.array_equal(in_code_order(visited.level(1)), in_code_order(states))


@given(st.integers(1, 24), st.integers(0, 2**32), st.integers(0, 50))
def test_some_states_of_many_become_words(size: int, seed: int, number: int) -> None:
    """As with an array of words, a slice, a mask or an array of numbers selects them."""
    chance = np.random.default_rng(seed)
    states = one_bit_apart(size)[chance.integers(0, 8 * size + 1, number)]
    last, missing = size // 8 * 8, -size % 8
    kept = states.view(np.uint8).reshape(number, 8 * states.shape[1])
    kept = np.concatenate([kept[:, :last], kept[:, last + missing :]], axis=1)
    rows = Rows.within(np.concatenate([kept.reshape(-1), np.zeros(8, np.uint8)]), size)
    first, behind = sorted(chance.integers(0, number + 1, 2).tolist())
    its, chosen = rows.states(first, behind), states[first:behind]
    assert len(its) == len(chosen)
    mask, numbers = chance.random(len(chosen)) < 0.5, np.flatnonzero(chance.random(len(chosen)) < 0.5)
    for which in (slice(None), slice(None, None, 3), mask, numbers):
        assert np.array_equal(its[which], chosen[which])
