"""A row of a lookup keeps a table's bit until a learned path makes the outcome certain there."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import numpy as np
import pytest

from spec.checking.local import masks
from spec.checking.local.arrays import LookupPiece
from spec.checking.local.masks import Lookup, Masks
from spec.language import integers, mapping
from spec.language.state import Layout

TABLES = 70
"""More tables than a word has bits."""

Path = tuple[int, dict[int, int]]
"""A table, and the codes of the slots that the path read."""


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Masks:
    """Masks without learned paths, in groups of two or three slots."""
    monkeypatch.setattr(masks, "GROUP", 4)
    monkeypatch.setattr(masks, "LOOKUP", 8)
    layout = Layout({"x": ("", mapping(range(4), integers(0, 3))), "y": ("", mapping(range(5), integers(0, 1)))})
    return Masks(layout.slots, TABLES)


def paths(masks: Masks, seed: int, number: int) -> list[Path]:
    """Paths of all lengths, from none to more than a lookup holds."""
    chance, slots = random.Random(seed), range(len(masks.group_of))
    return [
        (
            chance.randrange(TABLES),
            {slot: chance.randrange(2) for slot in chance.sample(slots, chance.choice(range(5)))},
        )
        for _ in range(number)
    ]


def rows(masks: Masks, lookup: Lookup, learned: list[Path]) -> list[list[bool]]:
    """For each value of the lookup's groups, first group lowest: the tables whose outcome is uncertain."""
    width_of = [mask.bit_length() for _, mask in masks._within]
    slots = [slot for group in reversed(lookup.groups) for slot, its in enumerate(masks.group_of) if its == group]
    expected = []
    for codes in product(*(range(1 << width_of[slot]) for slot in slots)):
        held = dict(zip(slots, codes, strict=True))
        sure = {table for table, reads in learned if reads.items() <= held.items()}
        expected.append([table not in sure for table in range(TABLES)])
    return expected


def is_right(masks: Masks, learned: list[Path]) -> None:
    """Each lookup follows from the learned paths."""
    for lookup in masks.lookups:
        width = sum(masks.groups[group].width for group in lookup.groups)
        bits = masks.off[lookup.first : lookup.first + (1 << width)].view(np.uint8)
        found = np.unpackbits(bits, axis=1, bitorder="little")[:, :TABLES].astype(bool)
        assert found.tolist() == rows(masks, lookup, learned), lookup
    firsts = {lookup.first for lookup in masks.lookups}
    assert set(masks.pieces[masks.pieces[:, LookupPiece.LAST] == 1, LookupPiece.FIRST].tolist()) <= firsts


@pytest.mark.parametrize("seed", range(3))
def test_lookups_agree_with_the_learned_paths(seed: int, found: Masks) -> None:
    """Whether a lookup was joined with nothing, something or everything known."""
    known = paths(found, seed, 90)
    vain = np.array([0b11, 0b101, 0b11, 0b110], np.uint64)
    for at in range(0, 90, 30):
        for table, reads in known[at : at + 30]:
            found.learn(table, reads)
        is_right(found, known[: at + 30])
        found.tune(np.append(vain, np.uint64(1 << at // 30 | 8)), 4, random_states(10))
        is_right(found, known[: at + 30])
    assert any(len(lookup.groups) > 1 for lookup in found.lookups)


def test_an_unlearned_mask_rules_nothing_out(found: Masks) -> None:
    """A step that changes a slot it read has no mask."""
    found.learn(0, None)
    is_right(found, [])


def in_use(masks: Masks) -> set[tuple[int, int]]:
    """The word and shift of each group that is looked up."""
    return {(piece[LookupPiece.WORD], piece[LookupPiece.SHIFT]) for piece in masks.pieces.tolist()}


def of_groups(masks: Masks, *numbers: int) -> set[tuple[int, int]]:
    return {(masks.groups[number].word, masks.groups[number].shift) for number in numbers}


def random_states(number: int = 1000) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).integers(0, 2**64, (number, 1), np.uint64)


def test_lookups_that_save_no_walk_are_left_out(found: Masks) -> None:
    """Until a sample is seen, all groups are looked up; then those of which something is known there."""
    slot = found.group_of.index(1)
    found.learn(0, {slot: 0})
    every = range(len(found.groups))
    assert in_use(found) == of_groups(found, *every)
    found.tune(np.zeros(0, np.uint64), 1, random_states())
    assert in_use(found) == of_groups(found, 1)
    found.learn(1, {found.group_of.index(2): 0})
    found.tune(np.zeros(0, np.uint64), 1, random_states())
    assert in_use(found) == of_groups(found, 1, 2)


def test_results_are_remembered_where_states_repeat_them(found: Masks, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result of groups that are the same in most states; not that of others."""
    monkeypatch.setattr(masks, "FEWEST", 2)
    for group in range(len(found.groups)):
        found.learn(group, {found.group_of.index(group): 0})
        found.learn(group, {found.group_of.index(group): 1})
    states = random_states()
    found.tune(np.zeros(0, np.uint64), 1, states[:8])
    assert not found.remembered, "of eight states each has its own result"
    alike = found.groups[0]
    bits = np.uint64((1 << alike.width) - 1 << alike.shift)
    found.tune(np.zeros(0, np.uint64), 1, states & bits)
    assert found.remembered >= 2
    assert found.relevant[0] & bits == bits
