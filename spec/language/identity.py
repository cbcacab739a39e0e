"""Identity of values, part by part. In Python `1`, `True` and `1.0` are equal; here they are three values.

Dictionaries and sets look values up by `==`, so a value they find must still be checked for identity.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any


def is_same_value(one: Any, other: Any) -> bool:
    """Whether two values are equal and of the same classes, part by part. All classes of frozensets count as one.

    >>> is_same_value((1, 2), (True, 2)), is_same_value(1, 1.0)
    (False, False)
    >>> is_same_value((1, frozenset({2})), (1, frozenset({2})))
    True
    """
    if one is other:
        return True
    cls: Any = one.__class__  # type(one) would be wrong for a lazy value
    if isinstance(one, tuple):
        if cls is not other.__class__ or len(one) != len(other):
            return False
        for mine, its in zip(one, other, strict=True):
            if mine is not its and not is_same_value(mine, its):
                return False
        return True
    if isinstance(one, frozenset) and isinstance(other, frozenset):
        if len(one) != len(other):
            return False
        try:
            mine, its = ({id(each): each for each in frozenset.__iter__(some)} for some in (one, other))
        except TypeError:  # a lazy one
            return identity(one) == identity(other)
        # Sets that actions make from each other have nearly all members in common.
        return _identities(mine, its) == _identities(its, mine)
    if cls is not other.__class__:
        return False
    if cls is int or cls is str or type(one) is not cls:  # a stand-in knows what it equals
        return bool(one == other)
    if isinstance(one, Mapping):
        return identity(one) == identity(other)
    # 0.0 equals -0.0, and an author's class may define equality as it likes.
    return bool(one == other) and (_prints_as_any_object(cls) or repr(one) == repr(other))


def _prints_as_any_object(cls: Any) -> bool:
    return cls.__repr__ is object.__repr__


def identity(value: Any) -> Hashable:
    """A key that is equal for two values if and only if they are the same; lists, dicts and sets have one, too.

    >>> identity((1, "a")) == identity((True, "a")), identity([1]) == identity([1])
    (False, True)
    """
    cls = value.__class__
    if isinstance(value, tuple | list):
        return cls, tuple(map(identity, value))
    if isinstance(value, AbstractSet):
        return AbstractSet, frozenset(map(identity, _members(value)))
    if isinstance(value, Mapping):
        return Mapping, frozenset((identity(key), identity(part)) for key, part in value.items())
    if cls is int or cls is str or _prints_as_any_object(cls) or type(value) is not cls:
        return cls, value
    return cls, value, repr(value)


def _identities(members: Mapping[int, Any], others: Mapping[int, Any]) -> frozenset[Hashable]:
    """The identities of the members, by address, that are not among the others."""
    return frozenset(identity(members[address]) for address in members.keys() - others.keys())


def _members(value: Any) -> Iterable[Any]:
    """The members of a set; those of a frozenset in no order, which is faster."""
    return frozenset.__iter__(value) if issubclass(type(value), frozenset) else value
