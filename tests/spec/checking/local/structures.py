"""Domains with a structure (records, sets, sequences), each with the list of its members."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from spec.language import (
    booleans,
    integers,
    one_of,
    optional,
    possibly_empty,
    record,
    sequence_of,
    subset_of,
    tuple_of,
)
from tests.spec.language.trees import Pair, Tree, subsets

Structure = Callable[[Tree, Tree], Tree]
"""Makes a domain from two others."""


def pair(left: Tree, right: Tree) -> Tree:
    """A record of two fields."""
    members = [Pair(*each) for each in product(left.members, right.members)]
    return Tree(record(Pair, left=left.domain, right=right.domain), members)


def several(elements: Tree, longest: int) -> Tree:
    """A sequence."""
    members = [each for n in range(longest + 1) for each in product(elements.members, repeat=n)]
    return Tree(sequence_of(elements.domain, longest), members)


def perhaps(tree: Tree) -> Tree:
    """None, or one of these."""
    return tree if None in tree.members else Tree(optional(tree.domain), [None, *tree.members])


def perhaps_empty(tuples: list[tuple[object, ...]]) -> Tree:
    """The empty tuple, or one of these."""
    return Tree(possibly_empty(tuples), [(), *tuples])


def members_of(elements: Tree) -> Tree:
    """A set."""
    return Tree(subset_of(elements.domain), subsets(elements.members))


STRUCTURES: dict[str, Structure] = {
    "one of them": lambda a, b: a,
    "a record": pair,
    "a tuple": lambda a, b: Tree(tuple_of(a.domain, b.domain), list(product(a.members, b.members))),
    "a tuple, or an empty one": lambda a, b: perhaps_empty(several(a, 2).members[1:]),
    "a record in a record": lambda a, b: pair(a, pair(b, a)),
    "a record or nothing": lambda a, b: perhaps(pair(a, b)),
    "a record with a set": lambda a, b: pair(members_of(a), b),
    "a record with something or nothing": lambda a, b: pair(b, perhaps(pair(a, b))),
    "a record with a sequence": lambda a, b: pair(several(a, 2), b),
    "a sequence": lambda a, b: several(a, 3),
    "a sequence of records": lambda a, b: several(pair(a, b), 2),
    "a sequence of sets": lambda a, b: several(members_of(a), 2),
    "a sequence of sequences": lambda a, b: several(several(a, 1), 2),
    "a set": lambda a, b: members_of(a),
    "a set of records": lambda a, b: members_of(pair(a, b)),
    "a set or nothing": lambda a, b: perhaps(members_of(a)),
}
SMALL = [
    Tree(booleans(), [False, True]),
    Tree(integers(0, 1), [0, 1]),
    Tree(integers(1, 2), [1, 2]),
    Tree(integers(0, 2), [0, 1, 2]),
    Tree(one_of(0, 1), [0, 1]),
    Tree(one_of(2, 0, 1), [2, 0, 1]),
    Tree(one_of("a", "b"), ["a", "b"]),
    Tree(one_of("only"), ["only"]),
    Tree(optional(integers(0, 1)), [None, 0, 1]),
    Tree(one_of((), (0,), (1, 0)), [(), (0,), (1, 0)]),
]

FEW = Tree(integers(0, 1), [0, 1])
OTHERS = Tree(optional(integers(4, 4)), [None, 4])
FEW_OF: dict[str, Tree] = {
    "records": pair(FEW, OTHERS),
    "records or nothing": perhaps(pair(FEW, OTHERS)),
    "records with a set": pair(members_of(FEW), SMALL[7]),
    "records with a sequence": pair(several(FEW, 1), OTHERS),
    "tuples": STRUCTURES["a tuple"](FEW, OTHERS),
    "sets": members_of(FEW),
    "sets or nothing": perhaps(members_of(FEW)),
    "sequences": several(FEW, 2),
}
"""Domains of each kind, small enough to try all pairs of values."""
