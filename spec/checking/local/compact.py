"""Tables once more, small: what is walked a hundred million times should lie in the nearest cache.

The trees of `tables` grow path by path and share nothing. When something was learned they are copied into an array
in which equal subtrees are one. Outcomes are nodes there too, which look at nothing and lead back to themselves, so
that walks side by side need not ask which of them has ended. A copy is never changed: one worker may learn while
another still walks through the copy that was made before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spec.checking.local.kernels import Array, compiled


def compact(code: Array, used: int, roots: Array, outcomes: int) -> tuple[Any, Any]:
    """The trees with these roots, as an array, and where in it each begins.

    Behind the roots stands where the outcomes begin, two numbers each: unknown, 0, 1, ...
    """
    made, new = np.zeros(used + 2 * (outcomes + 1), np.int32), np.zeros(len(roots) + 1, np.int32)
    nodes, done = np.zeros(used, np.int32), np.zeros(used, np.int32)
    equal = np.zeros(1 << max(4, used.bit_length()), np.int32)
    length = _compact(code, used, roots, outcomes + 1, made, new, nodes, done, equal)
    return made[:length].copy(), new


@compiled
def _compact(
    code: Array,
    used: int,
    roots: Array,
    leaves: int,
    made: Array,
    new: Array,
    nodes: Array,
    done: Array,
    equal: Array,
) -> int:
    number = 0
    at = 1
    while at < used:
        nodes[number] = at
        number += 1
        at += 1 + (1 << (code[at] >> 16))
    top = 1
    for i in range(number - 1, -1, -1):  # a node comes before those to which it leads
        at = nodes[i]
        size = 1 + (1 << (code[at] >> 16))
        made[top] = code[at]
        mixed = np.uint64(code[at])
        for k in range(1, size):
            edge = code[at + k]
            made[top + k] = done[edge] if edge > 0 else edge
            mixed = (mixed ^ np.uint64(made[top + k])) * np.uint64(0xBF58476D1CE4E5B9)
            mixed ^= mixed >> np.uint64(29)
        place = np.int64(mixed & np.uint64(equal.shape[0] - 1))
        while equal[place] != 0:
            same = True
            for k in range(size):
                same &= made[equal[place] + k] == made[top + k]
            if same:
                break
            place = (place + 1) & (equal.shape[0] - 1)
        if equal[place] == 0:
            equal[place] = top
            top += size
        done[at] = equal[place]
    at = 1
    while at < top:
        size = 1 + (1 << (made[at] >> 16))
        for k in range(1, size):
            if made[at + k] <= 0:
                made[at + k] = top - 2 * made[at + k]
        at += size
    for i in range(roots.shape[0]):
        new[i] = done[roots[i]] if roots[i] > 0 else top - 2 * roots[i]
    new[roots.shape[0]] = top
    for i in range(leaves):
        made[top + 2 * i] = 0
        made[top + 2 * i + 1] = top + 2 * i
    return top + 2 * leaves
