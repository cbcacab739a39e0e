"""The compiled loops that replace a state by its orbit's representative.

For a small group all images of a state are made side by side, word after word. For a large one the canonical form is
found as in `spec.checking.symmetry.canonical`. These are the same steps, one for one: the result must be the same
state.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from spec.checking.local.jit import Array, inlined, mixed, part

SIDE_BY_SIDE = 8
"""Permutations whose images are made together."""


class MovedSlot(IntEnum):
    """The columns of `Relations.slots`."""

    WORD = 0
    SHIFT = 1
    MASK = 2
    FIRST = 3
    """The fact for its code 0."""
    GUARD_WORD = 4
    GUARD_SHIFT = 5
    GUARD_MASK = 6
    """For the slot that shows whether this one is in use; the mask is 0 if there is none."""
    ABOVE = 7
    """It is in use if the guard's code is greater."""


class Fact(IntEnum):
    """The columns of `Relations.facts`."""

    KIND = 0
    """-1 for a fact without content."""
    WORD = 1
    ARGUMENTS = 2
    """The first argument; the others follow."""


class FactKind(IntEnum):
    """The columns of `Relations.kinds`."""

    OFFSET = 0
    """The beginning of its part of the table."""
    ARITY = 1
    """The number of arguments."""
    DISTINGUISHED = 2
    """The same number, or 0 if arguments cannot be distinguished from other values."""
    STRIDES = 3
    """The table's stride for the first argument; those of the others follow."""


class ImageWindow(IntEnum):
    """The columns of `Images.windows`."""

    WORD = 0
    SHIFT = 1
    MASK = 2
    GUARD_WORD = 3
    GUARD_SHIFT = 4
    GUARD_MASK = 5
    """For the slot that shows whether slots of the window are in use; the mask is 0 if there is none."""
    GUARD_AT = 6
    """How many bits the guard is shifted above the window's content."""
    IMAGES = 7
    """The beginning of its images."""


class RelationTables(NamedTuple):
    """The relations of interchangeable values: `spec.checking.symmetry.relations` in arrays."""

    begins: Array
    """By value, the first value of its sort."""
    slots: Array
    """The slots that permutations move, with the columns of `MovedSlot`."""
    facts: Array
    """With the columns of `Fact`."""
    bits: Array
    """The bits of a fact, in its word."""
    kinds: Array
    """With the columns of `FactKind`."""
    salts: Array
    """The salt of a kind, then those of its arguments."""
    table: Array
    """Facts by kind and arguments."""
    stays: Array
    """The bits of each word that no permutation moves."""


class Images(NamedTuple):
    """The images of states under each permutation of a listed group; see `orbits`."""

    windows: Array
    """Parts of a state, with the columns of `ImageWindow`."""
    spans: Array
    """For each word, the first window that contributes to it."""
    images: Array
    """For each value of a window, its contribution under each permutation, side by side."""
    permutations: int
    """Their number; the first changes nothing."""


NO_IMAGES = Images(
    windows=np.zeros((0, len(ImageWindow)), np.int64),
    spans=np.zeros(0, np.int64),
    images=np.zeros(0, np.uint64),
    permutations=0,
)
NO_RELATIONS = RelationTables(
    begins=np.zeros(0, np.int64),
    slots=np.zeros((0, len(MovedSlot)), np.int64),
    facts=np.zeros((0, Fact.ARGUMENTS), np.int64),
    bits=np.zeros(0, np.uint64),
    kinds=np.zeros((0, FactKind.STRIDES), np.int64),
    salts=np.zeros((0, 1), np.uint64),
    table=np.zeros(0, np.int32),
    stays=np.zeros(0, np.uint64),
)
"""For kernels that are loaded before there is a state."""


class SearchNode(IntEnum):
    """The numbers of a search node after the three for each value."""

    CELLS = 0
    """The number of cells."""
    BEGIN = 1
    END = 2
    """The cell whose values are tried in turn."""
    NEXT = 3
    """The place of the value to try next."""
    CHOSEN = 4
    """The value that was tried last."""


class OrbitScratch(NamedTuple):
    """Working memory of one worker."""

    left: Array
    word_of: Array
    """By permutation: whether it gives the least image so far, and a word of its image."""
    image: Array
    facts: Array
    """The facts of a state; then those with several arguments."""
    marks: Array
    """By fact, the number of the state that last had it. At the end, the number of the present state."""
    numbers: Array
    """For each level of the search a node: the values in order, their colours, which of them lead to the same; and
    the numbers of `SearchNode`. After all nodes: the best order and path, and the places of values."""
    words: Array
    """By value, the word that distinguishes it; the trace, the traces of the best path, the best image."""

    @classmethod
    def of(cls, words: int, permutations: int = 0, values: int = 0, slots: int = 0, facts: int = 0) -> OrbitScratch:
        """Working memory for states of so many words: permutations of a listed group, or the sizes of relations."""
        return cls(
            left=np.zeros(permutations, np.bool_),
            word_of=np.zeros(-(-permutations // SIDE_BY_SIDE) * SIDE_BY_SIDE, np.uint64),
            image=np.zeros(words, np.uint64),
            facts=np.zeros(2 * slots, np.int64),
            marks=np.zeros(facts + 1, np.int64),
            numbers=np.zeros((values + 1) * (3 * values + _NODE) + 3 * values, np.int64),
            words=np.zeros(2 * values + 1 + words, np.uint64),
        )


class Orbits(NamedTuple):
    """The effect of permutations on states, by their images or by relations; and memory to work with.

    A search without symmetry has None in place of it. Like a missing part this is a type of its own: the kernels of
    a search contain no code for other kinds of groups.
    """

    images: Images | None
    relations: RelationTables | None
    scratch: OrbitScratch

    @classmethod
    def listed(cls, words: int, images: Images) -> Orbits:
        """The orbits under a group whose permutations are listed."""
        return cls(images, None, OrbitScratch.of(words, permutations=images.permutations))

    @classmethod
    def related(cls, words: int, relations: RelationTables) -> Orbits:
        """The orbits under a group that is too large for that."""
        values, slots, facts = len(relations.begins), len(relations.slots), len(relations.facts)
        return cls(None, relations, OrbitScratch.of(words, values=values, slots=slots, facts=facts))

    def for_another(self) -> Orbits:
        """The same with memory of its own, for another worker."""
        return self._replace(scratch=OrbitScratch(*map(np.zeros_like, self.scratch)))


_NODE = len(SearchNode)


@part
def represent_in(orbits: Orbits | None, states: Array, at: int) -> bool:
    """Replace the state that begins here by its orbit's representative; whether it may have changed."""
    if orbits is None:
        return False
    return _representative(orbits.images, orbits.relations, states, at, orbits.scratch)


@part
def _representative(
    images: Images | None, relations: RelationTables | None, states: Array, at: int, scratch: OrbitScratch
) -> bool:
    """The same; numba leaves out the code for an argument that is None, but not for a member."""
    if images is not None:
        return _least_image(images, states, at, scratch)
    if relations is not None:
        return _canonical(relations, states, at, scratch)
    return False


# A small group.


@inlined
def _looked_at(windows: Array, window: int, states: Array, at: int, permutations: int) -> Any:
    """The place of the images of a window's content."""
    found = states[at + windows[window, ImageWindow.WORD]] >> uint64(windows[window, ImageWindow.SHIFT])
    found &= uint64(windows[window, ImageWindow.MASK])
    guard = states[at + windows[window, ImageWindow.GUARD_WORD]] >> uint64(windows[window, ImageWindow.GUARD_SHIFT])
    guard &= uint64(windows[window, ImageWindow.GUARD_MASK])
    row = found | guard << uint64(windows[window, ImageWindow.GUARD_AT])
    return uint64(windows[window, ImageWindow.IMAGES]) + row * uint64(permutations)


@part
def _least_image(group: Images, states: Array, at: int, scratch: OrbitScratch) -> bool:
    """The same for a group that is listed: the representative is the least image."""
    windows, images, words = group.windows, group.images, scratch.image.shape[0]
    every, image, word_of, left = uint64(0xFFFFFFFFFFFFFFFF), scratch.image, scratch.word_of, scratch.left
    side = word_of.shape[0]
    for g in range(group.permutations):
        left[g] = True
    only, lowest = -1, uint64(0)
    for word in range(words):
        if only >= 0:
            lowest = uint64(0)
            for w in range(group.spans[word], group.spans[word + 1]):
                lowest |= images[_looked_at(windows, w, states, at, side) + uint64(only)]
            image[word] = lowest
            continue
        for block in range(0, side, SIDE_BY_SIDE):
            a = b = c = d = e = f = g = h = uint64(0)
            for w in range(group.spans[word], group.spans[word + 1]):
                i = _looked_at(windows, w, states, at, side) + uint64(block)
                a, b = a | images[i], b | images[i + uint64(1)]
                c, d = c | images[i + uint64(2)], d | images[i + uint64(3)]
                e, f = e | images[i + uint64(4)], f | images[i + uint64(5)]
                g, h = g | images[i + uint64(6)], h | images[i + uint64(7)]
            word_of[block], word_of[block + 1], word_of[block + 2], word_of[block + 3] = a, b, c, d
            word_of[block + 4], word_of[block + 5], word_of[block + 6], word_of[block + 7] = e, f, g, h
        lowest = every
        for p in range(group.permutations):
            if left[p]:
                lowest = min(lowest, word_of[p])
        first, number = -1, 0
        for p in range(group.permutations):
            left[p] &= word_of[p] == lowest
            number += left[p]
            if left[p] and first < 0:
                first = p
        image[word] = lowest
        if number == 1:
            if first == 0:
                return False
            only = first
    if only < 0 and left[0]:
        return False
    for word in range(words):
        states[at + word] = image[word]
    return True


# A large group.


@part
def _split(numbers: Array, node: int, values: int, words: Array) -> int:
    """Split cells by the words of their values, the lowest first; the number of cells."""
    order, colour = node, node + values
    cells, place, trace = 0, 0, words[values]
    while place < values:
        its, end = numbers[colour + numbers[order + place]], place + 1
        while end < values and numbers[colour + numbers[order + end]] == its:
            end += 1
        for i in range(place + 1, end):
            value, to = numbers[order + i], i
            while to > place and words[numbers[order + to - 1]] > words[value]:
                numbers[order + to] = numbers[order + to - 1]
                to -= 1
            numbers[order + to] = value
        begin = place
        for i in range(place, end):
            value = numbers[order + i]
            if i == place or words[value] != words[numbers[order + i - 1]]:
                begin = i
                cells += 1
                trace = mixed(trace ^ words[value]) + uint64(i)
            numbers[colour + value] = begin
        place = end
    words[values] = trace
    return cells


@part
def _refined(
    relations: RelationTables, facts: Array, first: int, last: int, numbers: Array, node: int, words: Array
) -> int:
    """Start a new trace and refine colours until nothing changes; the number of cells."""
    values = relations.begins.shape[0]
    colour, cells = node + values, numbers[node + 3 * values + SearchNode.CELLS]
    words[values] = uint64(0)
    while last > first and cells < values:
        for value in range(values):
            words[value] = uint64(0)
        for i in range(first, last):
            fact = facts[i]
            kind = relations.facts[fact, Fact.KIND]
            arity, key = relations.kinds[kind, FactKind.DISTINGUISHED], relations.salts[kind, 0]
            for j in range(arity):
                key += mixed(
                    relations.salts[kind, j + 1] ^ uint64(numbers[colour + relations.facts[fact, Fact.ARGUMENTS + j]])
                )
            for j in range(arity):
                words[relations.facts[fact, Fact.ARGUMENTS + j]] += mixed(key ^ relations.salts[kind, j + 1])
        before = cells
        cells = _split(numbers, node, values, words)
        if cells == before:
            break
    return cells


@part
def _are_twins(relations: RelationTables, facts: Array, number: int, marks: Array, one: int, other: int) -> bool:
    """Whether exchanging these two values leaves the state unchanged."""
    here = marks[marks.shape[0] - 1]
    for i in range(number):
        fact = facts[i]
        kind, moves = relations.facts[fact, Fact.KIND], False
        place = relations.kinds[kind, FactKind.OFFSET]
        for j in range(relations.kinds[kind, FactKind.ARITY]):
            value = relations.facts[fact, Fact.ARGUMENTS + j]
            if value == one:
                value, moves = other, True
            elif value == other:
                value, moves = one, True
            place += (value - relations.begins[value]) * relations.kinds[kind, FactKind.STRIDES + j]
        if moves and marks[relations.table[place]] != here:
            return False
    return True


@part
def _aim(relations: RelationTables, facts: Array, number: int, marks: Array, numbers: Array, node: int) -> bool:
    """Find the first cell whose values are not all twins, and the twins in it; whether there is one."""
    values = relations.begins.shape[0]
    order, colour, alike, about = node, node + values, node + 2 * values, node + 3 * values
    place = 0
    while place < values:
        first, end, twins = numbers[order + place], place + 1, True
        while end < values and numbers[colour + numbers[order + end]] == place:
            if twins:
                twins = _are_twins(relations, facts, number, marks, first, numbers[order + end])
            end += 1
        if not twins:
            numbers[about + SearchNode.BEGIN], numbers[about + SearchNode.END], numbers[about + SearchNode.NEXT] = (
                place,
                end,
                place,
            )
            for value in range(values):
                numbers[alike + value] = value
            for i in range(place, end):
                for j in range(place, i):
                    one, other = numbers[order + j], numbers[order + i]
                    if numbers[alike + one] != numbers[alike + other] and _are_twins(
                        relations, facts, number, marks, one, other
                    ):
                        _join(numbers, alike, values, one, other)
            return True
        place = end
    return False


@inlined
def _join(numbers: Array, alike: int, values: int, one: int, other: int) -> None:
    """Record that two values lead to the same result; so do all values that lead to the same as either."""
    kept, gone = numbers[alike + one], numbers[alike + other]
    if kept != gone:
        for value in range(values):
            if numbers[alike + value] == gone:
                numbers[alike + value] = kept


@part
def _rename(
    relations: RelationTables, facts: Array, number: int, numbers: Array, order: int, name: int, image: Array
) -> None:
    """The image of a state after renaming values in this order, without the bits that no permutation moves."""
    for place in range(relations.begins.shape[0]):
        numbers[name + numbers[order + place]] = place
    for word in range(image.shape[0]):
        image[word] = uint64(0)
    for i in range(number):
        fact = facts[i]
        kind = relations.facts[fact, Fact.KIND]
        place = relations.kinds[kind, FactKind.OFFSET]
        for j in range(relations.kinds[kind, FactKind.ARITY]):
            value = relations.facts[fact, Fact.ARGUMENTS + j]
            place += (numbers[name + value] - relations.begins[value]) * relations.kinds[kind, FactKind.STRIDES + j]
        renamed = relations.table[place]
        image[relations.facts[renamed, Fact.WORD]] |= relations.bits[renamed]


@part
def _search(relations: RelationTables, number: int, last: int, scratch: OrbitScratch) -> None:
    """Search the tree of orders below the node of level 0; the best image is left in the scratch."""
    facts, marks, numbers, words, image = scratch.facts, scratch.marks, scratch.numbers, scratch.words, scratch.image
    values, first, width = relations.begins.shape[0], facts.shape[0] // 2, image.shape[0]
    size = 3 * values + _NODE
    best_order = (values + 1) * size
    best_path, name = best_order + values, best_order + 2 * values
    traces, best_image = values + 1, 2 * values + 1
    level = n_traces = 0
    best = False
    while level >= 0:
        node, child = level * size, (level + 1) * size
        about = node + 3 * values
        begin, end, place = (
            numbers[about + SearchNode.BEGIN],
            numbers[about + SearchNode.END],
            numbers[about + SearchNode.NEXT],
        )
        chosen = -1
        while place < end and chosen < 0:
            chosen = numbers[node + place]
            for earlier in range(begin, place):
                if numbers[node + 2 * values + numbers[node + earlier]] == numbers[node + 2 * values + chosen]:
                    chosen = -1
                    break
            place += 1
        numbers[about + SearchNode.NEXT] = place
        if chosen < 0:
            level -= 1
            continue
        numbers[about + SearchNode.CHOSEN] = chosen

        for i in range(2 * values):
            numbers[child + i] = numbers[node + i]
        to = begin + 1
        for i in range(begin, end):
            value = numbers[node + i]
            if value != chosen:
                numbers[child + to] = value
                numbers[child + values + value] = begin + 1
                to += 1
        numbers[child + begin] = chosen
        numbers[child + 3 * values + SearchNode.CELLS] = numbers[about + SearchNode.CELLS] + 1
        numbers[child + 3 * values + SearchNode.CELLS] = _refined(
            relations, facts, first, last, numbers, child, words
        )
        goes_on = _aim(relations, facts, number, marks, numbers, child)

        trace = words[values] << uint64(1) | uint64(goes_on)
        if level == n_traces:
            words[traces + level] = trace
            n_traces += 1
        elif trace < words[traces + level]:
            words[traces + level] = trace
            n_traces = level + 1
            best = False
        elif trace > words[traces + level]:
            continue
        if goes_on:
            level += 1
            continue

        _rename(relations, facts, number, numbers, child, name, image)
        order = -1
        if best:
            order = 0
            for word in range(width):
                if image[word] != words[best_image + word]:
                    order = -1 if image[word] < words[best_image + word] else 1
                    break
        if order < 0:
            best = True
            for word in range(width):
                words[best_image + word] = image[word]
            for i in range(values):
                numbers[best_order + i] = numbers[child + i]
            for each in range(level + 1):
                numbers[best_path + each] = numbers[each * size + 3 * values + SearchNode.CHOSEN]
        elif order == 0:
            common = 0
            while numbers[common * size + 3 * values + SearchNode.CHOSEN] == numbers[best_path + common]:
                common += 1
            for each in range(common + 1):
                for i in range(values):
                    alike = each * size + 2 * values
                    _join(numbers, alike, values, numbers[best_order + i], numbers[child + i])
            level = common
    for word in range(width):
        image[word] = words[best_image + word]


@part
def _canonical(relations: RelationTables, states: Array, at: int, scratch: OrbitScratch) -> bool:
    """The same for a group that is not listed."""
    facts, marks, numbers, words, image = scratch.facts, scratch.marks, scratch.numbers, scratch.words, scratch.image
    values, slots = relations.begins.shape[0], relations.slots
    here = marks[marks.shape[0] - 1] + 1
    marks[marks.shape[0] - 1] = here
    for value in range(values):
        numbers[value] = value
        numbers[values + value] = relations.begins[value]
        words[value] = uint64(0)
    root, number, last = 0, 0, slots.shape[0]
    for slot in range(slots.shape[0]):
        word, shift = states[at + slots[slot, MovedSlot.WORD]], uint64(slots[slot, MovedSlot.SHIFT])
        fact = slots[slot, MovedSlot.FIRST] + np.int64((word >> shift) & uint64(slots[slot, MovedSlot.MASK]))
        kind = relations.facts[fact, Fact.KIND]
        if kind < 0:
            continue
        if slots[slot, MovedSlot.GUARD_MASK] != 0:
            word, shift = states[at + slots[slot, MovedSlot.GUARD_WORD]], uint64(slots[slot, MovedSlot.GUARD_SHIFT])
            guard = (word >> shift) & uint64(slots[slot, MovedSlot.GUARD_MASK])
            if np.int64(guard) <= slots[slot, MovedSlot.ABOVE]:
                continue
        facts[number], marks[fact] = fact, here
        number += 1
        telling = relations.kinds[kind, FactKind.DISTINGUISHED]
        if telling == 1:
            words[relations.facts[fact, Fact.ARGUMENTS]] += relations.salts[kind, 1]
        elif telling > 1:
            facts[last] = fact
            last += 1
    numbers[3 * values + SearchNode.CELLS] = _split(numbers, root, values, words)
    numbers[3 * values + SearchNode.CELLS] = _refined(relations, facts, slots.shape[0], last, numbers, root, words)
    if _aim(relations, facts, number, marks, numbers, root):
        _search(relations, number, last, scratch)
    else:
        name = (values + 1) * (3 * values + _NODE) + 2 * values
        _rename(relations, facts, number, numbers, root, name, image)
    changed = False
    for word in range(image.shape[0]):
        image[word] |= states[at + word] & relations.stays[word]
        changed |= image[word] != states[at + word]
    for word in range(image.shape[0]):
        states[at + word] = image[word]
    return changed
