"""Orbits for compiled code: the permutations of `spec.checking.symmetry.reduction`, in flat arrays.

For a group that is not listed these are the facts and relations of `spec.checking.symmetry.relations`. For a listed
group, a state is cut into *windows* of a few slots. For each value of a window a table holds its images under all
permutations, side by side. So one look at each window that contributes to a word gives this word of all images, and
the next word is needed only if several images are the least so far. Six permutations cost hardly more than one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from spec.checking.local.representing import (
    SIDE_BY_SIDE,
    FactKind,
    Images,
    ImageWindow,
    MovedSlot,
    Orbits,
    RelationTables,
)
from spec.checking.symmetry.group import Image, MinimumImage
from spec.checking.symmetry.reduction import Symmetry
from spec.checking.symmetry.relations import Relations
from spec.language.cells import SlotPlace
from spec.language.state import Layout

WIDEST = ((6, 8), (24, 6))
"""Pairs: up to so many permutations, windows have at most so many bits, unless a single slot is wider."""
NARROW = 4
"""The bits for more permutations."""


class SlotMove(NamedTuple):
    """The effect of a permutation on a slot."""

    target: int
    image: Image


def orbits(symmetry: Symmetry) -> Orbits:
    """The permutations in the form for compiled code."""
    layout = symmetry.model.layout
    if isinstance(symmetry.orbits, MinimumImage):
        return Orbits.listed(layout.words, listed(layout, symmetry.orbits))
    return Orbits.related(layout.words, relations(layout, symmetry.orbits.facts))


def relations(layout: Layout, facts: Relations) -> RelationTables:
    """The relations of interchangeable values, for a group that is not listed."""
    places, most = layout.slots, facts.arguments.shape[1]
    words = np.array([place.word for place in places], np.int64)
    shifts = np.array([place.shift for place in places], np.uint64)
    slots, stays = [], np.full(layout.words, 0xFFFFFFFFFFFFFFFF, np.uint64)
    for slot, first, guard, above in facts.slots:
        slots.append((*_where(places[slot]), first, *(_where(places[guard]) if guard >= 0 else (0, 0, 0)), above))
        stays[places[slot].word] &= ~np.uint64(slots[-1][MovedSlot.MASK] << slots[-1][MovedSlot.SHIFT])
    kinds = np.column_stack([facts.offset, facts.arity, np.where(facts.tells, facts.arity, 0), facts.stride])
    return RelationTables(
        begins=np.array(facts.sort_begins, np.int64),
        slots=np.array(slots, np.int64).reshape(-1, len(MovedSlot)),
        facts=np.column_stack([facts.kind_of, words[facts.slot_of], facts.arguments]).astype(np.int64),
        bits=facts.code_of.astype(np.uint64) << shifts[facts.slot_of],
        kinds=kinds.astype(np.int64).reshape(-1, FactKind.STRIDES + most),
        salts=np.column_stack([facts.salt, facts.role_salt]),
        table=facts.table,
        stays=stays,
    )


def _where(place: SlotPlace) -> tuple[int, int, int]:
    """Word, shift and mask."""
    return place.word, place.shift, (1 << place.width) - 1


def listed(layout: Layout, least: MinimumImage) -> Images:
    """All images of all windows, for a group that is listed."""
    moves = [
        {image.source: SlotMove(target, image) for target, image in enumerate(images)} for images in least.images
    ]
    rows: list[list[tuple[int, ...]]] = [[] for _ in range(layout.words)]
    tables, used = [], 0
    for window in _windows(layout.slots, moves):
        every = _images(layout.slots, layout.words, moves, window)
        for word, table in enumerate(every):
            if table.any():
                rows[word].append((*_place(layout.slots, moves, window), used))
                tables.append(table.ravel())
                used += table.size
    return Images(
        windows=np.array([row for its in rows for row in its], np.int64).reshape(-1, len(ImageWindow)),
        spans=np.cumsum([0, *map(len, rows)], dtype=np.int64),
        images=np.concatenate(tables),
        permutations=len(moves),
    )


def _windows(places: Sequence[SlotPlace], moves: Sequence[dict[int, SlotMove]]) -> Iterator[range]:
    """Neighbouring slots that depend on at most one slot outside the window to show whether they are in use."""
    widest = next((bits for most, bits in WIDEST if len(moves) <= most), NARROW)
    first = 0
    for slot, place in enumerate(places):
        start, window = places[first], range(first, slot + 1)
        close = place.word == start.word and start.shift + start.width - place.shift <= widest
        if slot > first and not (close and len(_guards(moves, window)) <= 1):
            yield range(first, slot)
            first = slot
    yield range(first, len(places))


def _guards(moves: Sequence[dict[int, SlotMove]], window: range) -> set[int]:
    """The slots outside a window that show whether its slots are in use."""
    return {its[slot].image.guard for its in moves for slot in window} - set(window) - {-1}


def _place(places: Sequence[SlotPlace], moves: Sequence[dict[int, SlotMove]], window: range) -> tuple[int, ...]:
    """A window's word, shift and mask, those of its guard, and the bits by which the guard is shifted above it."""
    last, width = places[window[-1]], sum(places[slot].width for slot in window)
    guard = (0, 0, 0)
    for slot in _guards(moves, window):
        guard = places[slot].word, places[slot].shift, (1 << places[slot].width) - 1
    return last.word, last.shift, (1 << width) - 1, *guard, width


def _images(places: Sequence[SlotPlace], words: int, moves: Sequence[dict[int, SlotMove]], window: range) -> Any:
    """By word, value of the window and its guard, and permutation: the window's contribution to the word."""
    _, low, _, _, _, guard_mask, width = _place(places, moves, window)
    values = np.arange((guard_mask + 1) << width, dtype=np.int64)
    found = {slot: values >> (places[slot].shift - low) & ((1 << places[slot].width) - 1) for slot in window}
    found |= dict.fromkeys(_guards(moves, window), values >> width)
    side = -(-len(moves) // SIDE_BY_SIDE) * SIDE_BY_SIDE
    images = np.zeros((words, len(values), side), np.uint64)
    for number, its in enumerate(moves):
        for slot in window:
            target, image = its[slot]
            codes = np.arange(1 << places[slot].width, dtype=np.int64)
            codes[: len(image.codes)] = image.codes
            becomes = codes[found[slot]]
            if image.guard >= 0:
                becomes = np.where(found[image.guard] > image.above, becomes, found[slot])
            share = becomes.astype(np.uint64) << np.uint64(places[target].shift)
            images[places[target].word, :, number] |= share
    return images
