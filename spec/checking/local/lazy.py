"""Values that are read only when they are used: an action receives them while its reads are recorded.

A record is read only when its fields are, and a set when it is asked for a member. A sequence first reads its length.
An integer is read when it is compared or counted with. A value that is only carried along is never read: by
`record._replace`, by appending to a queue, by copying an element from one log to another. The reads are in
`ReadSlots`, slot by slot, in order: in symbolic execution, the path condition. `lenses` defines how values lie in
slots, and the writes.

Lazy values stand for immutable ones and behave like them. Where they cannot, they raise, and the evaluation is
repeated on plain values (`recording`): C code that accepts only tuples, `super()` in a NamedTuple's method. Python
does not let a class imitate three more things, and a specification must not use them: the exact `type(value)`
(`isinstance` and `value.__class__` are fine), whether two values are one object, and `"%s" % value`.

The module is long because each kind of value has a method for each of Python's operations.
"""

from __future__ import annotations

import operator
from collections import abc
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property, reduce
from operator import and_, or_, sub, xor
from sys import maxsize
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from spec.language.domains import FrozenMapping, Subset

if TYPE_CHECKING:
    from spec.checking.local.lenses import IntegerLens, Lens, PartsLens, RecordLens, SubsetLens


class Unknown(BaseException):
    """Code that is only tried reads a slot that is not known."""

    def __init__(self, slot: int | None):
        super().__init__()
        self.slot = slot
        """The slot; None if it is an aggregate."""


class ReadSlots(dict[int, int]):
    """The slots that were read, in order, with their codes. Looking up a slot reads it.

    Aggregates (`folds.aggregates`) are among them, numbered after all slots.
    """

    __slots__ = ("assumed", "held", "iterated", "left_out", "places", "registers", "trying", "within")

    def __init__(self, places: abc.Sequence[tuple[int, int, int]], registers: abc.Sequence[int]):
        self.places, self.registers = places, registers
        """The register, shift and mask of each slot; and the words in the registers."""
        self.held: list[Lens] = []
        """The places whose values were handed out unread."""
        self.left_out: set[int] = set()
        """Memberships that were not read because they do not matter (`folds`), unless they were read later."""
        self.within: dict[int, int] = {}
        """Slots on which the aggregates depend, with their codes."""
        self.iterated = False
        """Whether code iterated over a set, or counted its members."""
        self.trying = 0
        """While code is only tried, and may read nothing that is not known (`folds`): how many elements and codes it
        is tried for, multiplied where such code tries other code. Otherwise 0."""
        self.assumed: dict[int, int] = {}
        """Codes that code which is only tried finds in slots that are not known. Meanwhile lazy values remember
        nothing."""

    def __missing__(self, slot: int) -> int:
        if self.trying:
            if slot in self.assumed:
                return self.assumed[slot]
            raise Unknown(slot)
        register, shift, mask = self.places[slot]
        code = self[slot] = self.registers[register] >> shift & mask
        return code

    def code(self, slot: int) -> int:
        """The code of a slot, which does not count as read."""
        register, shift, mask = self.places[slot]
        return self.registers[register] >> shift & mask

    def whole(self, slots: Iterable[int]) -> None:
        """Read all of these."""
        for slot in slots:
            self[slot]


class Copy(NamedTuple):
    """Copy the content of this slot."""

    slot: int


Writes = dict[int, int | Copy]
"""The content to write, by slot."""


class Unread:
    """Stands for a part that was not used yet."""


UNREAD = Unread()


class Lazy:
    """Stands for an immutable value."""

    __slots__ = ()

    def _plain(self) -> Any:
        """The value, completely read."""
        raise NotImplementedError

    def __hash__(self) -> int:
        return hash(self._plain())

    def __repr__(self) -> str:
        return repr(self._plain())

    def __str__(self) -> str:
        return str(self._plain())

    def __format__(self, form: str) -> str:
        return format(self._plain(), form)

    def __reduce__(self) -> Any:
        return plain, (self._plain(),)

    def __lt__(self, other: Any) -> Any:
        return self._plain() < plain(other)

    def __le__(self, other: Any) -> Any:
        return self._plain() <= plain(other)

    def __gt__(self, other: Any) -> Any:
        return self._plain() > plain(other)

    def __ge__(self, other: Any) -> Any:
        return self._plain() >= plain(other)


def plain(value: Any) -> Any:
    """A value without lazy parts."""
    if isinstance(value, Lazy):
        return value._plain()
    if isinstance(value, tuple):
        parts = [plain(part) for part in value]
        return value if _same(parts, value) else tuple.__new__(type(value), parts)
    if isinstance(value, frozenset):
        parts = [plain(part) for part in frozenset.__iter__(value)]
        if _same(parts, frozenset.__iter__(value)):
            return value
        return Subset(parts, value._order) if isinstance(value, Subset) else frozenset(parts)
    if type(value) is FrozenMapping:
        items = {plain(key): plain(part) for key, part in value.items()}
        return value if _same(items, value) and _same(items.values(), value.values()) else FrozenMapping(items)
    return value


def _same(ones: Iterable[Any], others: Iterable[Any]) -> bool:
    return all(one is other for one, other in zip(ones, others, strict=True))


def hash_what_is_known(value: Any) -> None:
    """Raise TypeError if a part of a value is mutable. Lazy values are immutable, and are not read for this."""
    if isinstance(value, LazyRecord):
        parts: Iterable[Any] = [part for name, part in value.__dict__.items() if name in value._fields]
    elif isinstance(value, LazySequence):
        parts = [part for part in value._values or () if part is not UNREAD]
    elif isinstance(value, LazySet) or type(value) is LazyInteger:
        parts = ()
    else:
        parts = ()
        hash(value)
    for part in parts:
        hash_what_is_known(part)


class LazyInteger(Lazy):
    """An integer, in one slot. Every use reads it, except carrying it along."""

    __slots__ = ("_lens", "_seen")

    def __init__(self, seen: ReadSlots, lens: IntegerLens):
        self._seen, self._lens = seen, lens

    def _plain(self) -> Any:
        lens = self._lens
        return lens.value_of[self._seen[lens.at]]

    def __eq__(self, other: object) -> Any:
        lens = self._lens
        if type(other) is LazyInteger and other._lens is lens and other._seen is self._seen:
            return True
        mine = lens.value_of[self._seen[lens.at]]
        return mine == (other._plain() if type(other) is LazyInteger else other)

    def __ne__(self, other: object) -> Any:
        return self._plain() != (other._plain() if type(other) is LazyInteger else other)

    __hash__ = Lazy.__hash__

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return int


def _alone(name: str) -> Callable[[LazyInteger], Any]:
    """A method of integers without further arguments; it reads the integer."""
    ask = getattr(int, name)

    def answer(self: LazyInteger) -> Any:
        lens = self._lens
        return ask(lens.value_of[self._seen[lens.at]])

    return answer


def _with_another(name: str) -> Callable[[LazyInteger, Any], Any]:
    """A method of integers with another value; `_between` answers where an integer does not."""
    ask, between = getattr(int, name), _between(name)

    def answer(self: LazyInteger, other: Any) -> Any:
        lens = self._lens
        mine, its = lens.value_of[self._seen[lens.at]], other._plain() if type(other) is LazyInteger else other
        found = ask(mine, its)
        return between(mine, its) if found is NotImplemented else found

    return answer


def _in_order(name: str) -> Callable[[LazyInteger, Any], Any]:
    """An order comparison. If its result is the same for the whole domain, this integer is not read."""
    ask, between = getattr(int, name), _between(name)

    def answer(self: LazyInteger, other: Any) -> Any:
        lens = self._lens
        its = other._plain() if type(other) is LazyInteger else other
        always = ask(lens.least, its)
        if always is NotImplemented:
            return between(self._plain(), its)
        return always if always is ask(lens.greatest, its) else ask(lens.value_of[self._seen[lens.at]], its)

    return answer


def _power(self: LazyInteger, *others: Any) -> Any:
    return pow(self._plain(), *map(plain, others))


def _rounded(self: LazyInteger, *others: Any) -> Any:
    return round(self._plain(), *map(plain, others))


def _between(name: str) -> Callable[[Any, Any], Any]:
    """The operator whose method has this name, for an integer and a value that is none, as Python applies it.

    The other value may be a float or of a class with operators of its own. It gets the plain integer.
    """
    if name == "__divmod__":
        return divmod
    if name == "__rdivmod__":
        return lambda mine, its: divmod(its, mine)
    if hasattr(operator, name):
        apply: Callable[[Any, Any], Any] = getattr(operator, name)
        return apply
    reflected = getattr(operator, name.replace("__r", "__", 1))
    return lambda mine, its: reflected(its, mine)


_ORDER = {"__ge__", "__gt__", "__le__", "__lt__"}
_ALONE = {
    *("__abs__", "__bool__", "__ceil__", "__float__", "__floor__", "__getnewargs__", "__index__", "__int__"),
    *("__invert__", "__neg__", "__pos__", "__trunc__"),
}


def _member(name: str) -> Any:
    """The lazy version of the member of integers with this name."""
    if not name.startswith("__"):
        return property(lambda self: getattr(self._plain(), name))
    if name in _ALONE:
        return _alone(name)
    if name in _ORDER:
        return _in_order(name)
    return {"__pow__": _power, "__round__": _rounded}.get(name) or _with_another(name)


for _name in {*vars(int)} - {*vars(object)} | _ORDER:
    setattr(LazyInteger, _name, _member(_name))


class LazySequence(Lazy):
    """A tuple. It knows the value of each part, or the lens to read it with."""

    __slots__ = ("_lenses", "_seen", "_values", "_whole")

    def __init__(
        self,
        seen: ReadSlots,
        whole: PartsLens | None,
        values: list[Any] | None = None,
        lenses: tuple[Lens | None, ...] = (),
    ):
        self._seen, self._whole, self._values, self._lenses = seen, whole, values, lenses
        """`whole` is the lens of the unchanged tuple, None if it was changed; without `values` not even its length
        was read."""

    def _parts(self) -> list[Any]:
        """Its parts, which may be unread."""
        values = self._values
        if values is None:
            assert self._whole is not None
            values, lenses = self._whole.parts_in(self._seen)
            self._lenses = lenses
            if not self._seen.assumed:
                self._values = values
        return values

    def _plain(self) -> tuple[Any, ...]:
        return tuple([plain(part) for part in self])

    def __len__(self) -> int:
        return len(self._parts())

    def __bool__(self) -> bool:
        return (self._values is None and self._whole is not None and self._whole.shortest > 0) or bool(self._parts())

    def __iter__(self) -> Iterator[Any]:
        return map(self._part, range(len(self._parts())))

    def __reversed__(self) -> Iterator[Any]:
        return map(self._part, range(len(self._parts()) - 1, -1, -1))

    def __getitem__(self, key: Any) -> Any:
        if type(key) is slice:
            return LazySequence(self._seen, None, self._parts()[key], self._lenses[key])
        try:
            return self._part(key)
        except IndexError:
            raise IndexError("tuple index out of range") from None

    def _part(self, number: int) -> Any:
        values = self._parts()
        value = values[number]
        if value is UNREAD:
            lens: Any = self._lenses[number]
            value = lens.look(self._seen)
            if not self._seen.assumed:
                values[number] = value
        return value

    def _beside(self, other: Any) -> tuple[list[Any], tuple[Lens | None, ...]] | None:
        """The parts and lenses of another tuple, to be joined with its own."""
        if type(other) is LazySequence and other._seen is self._seen:
            return other._parts(), other._lenses
        if not isinstance(other, tuple):
            return None
        values = list(other)
        return values, (None,) * len(values)

    def __add__(self, other: Any) -> Any:
        beside = self._beside(other)
        if beside is None:
            return NotImplemented
        return LazySequence(self._seen, None, self._parts() + beside[0], self._lenses + beside[1])

    def __radd__(self, other: Any) -> Any:
        beside = self._beside(other)
        if beside is None:
            return NotImplemented
        return LazySequence(self._seen, None, beside[0] + self._parts(), beside[1] + self._lenses)

    def __mul__(self, times: Any) -> Any:
        return LazySequence(self._seen, None, self._parts() * times, self._lenses * times)

    __rmul__ = __mul__

    def __contains__(self, value: object) -> bool:
        return any(part is value or part == value for part in self)

    def __eq__(self, other: object) -> Any:
        if type(other) is LazySequence and other._seen is self._seen:
            if other is self or (other._whole is self._whole and self._whole is not None):
                return True
            mine, its = self._parts(), other._parts()
            return len(mine) == len(its) and all(
                (one is UNREAD and two is UNREAD and self._lenses[number] is other._lenses[number])
                or _alike(self._part(number), other._part(number))
                for number, (one, two) in enumerate(zip(mine, its, strict=True))
            )
        if not isinstance(other, tuple):
            return NotImplemented
        return len(self._parts()) == len(other) and all(map(_alike, self, other))

    __hash__ = Lazy.__hash__

    def index(self, value: Any, start: Any = 0, stop: Any = maxsize, /) -> int:
        """As for a tuple."""
        for number in range(len(self))[start:stop]:
            if _alike(self._part(number), value):
                return number
        raise ValueError("tuple.index(x): x not in tuple")

    def count(self, value: Any) -> int:
        """As for a tuple."""
        return sum(_alike(part, value) for part in self)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return tuple


def _alike(one: Any, other: Any) -> bool:
    """Whether parts of tuples are equal, as tuples compare them."""
    return one is other or bool(one == other)


class LazySet(Lazy):
    """A frozenset. For each element it knows whether it is a member, or the slot that says so."""

    __slots__ = ("_lens", "_members", "_seen")

    def __init__(self, seen: ReadSlots, lens: SubsetLens, members: abc.Sequence[bool | int]):
        self._seen, self._lens, self._members = seen, lens, members

    def _is(self, member: bool | int) -> bool:
        return member if type(member) is bool else self._seen[member] == 1

    def _plain(self) -> Any:
        return Subset(self, self._lens.order)

    def __contains__(self, element: object) -> bool:
        number = self._lens.order.get(element)
        return number is not None and self._is(self._members[number])

    def __iter__(self) -> Iterator[Any]:
        self._seen.iterated = True
        return (element for element, member in zip(self._lens.order, self._members, strict=True) if self._is(member))

    def __len__(self) -> int:
        self._seen.iterated = True
        return sum(map(self._is, self._members))

    def __bool__(self) -> bool:
        return any(map(self._is, self._members))

    def _its(self, other: Any) -> abc.Sequence[bool | int] | None:
        """The other's members, if it is a set of the same elements."""
        if type(other) is LazySet:
            if other._lens.shape is not self._lens.shape:
                other = other._plain()
            elif other._seen is self._seen:
                return other._members
            else:
                return [other._is(member) for member in other._members]
        return self._lens.members_of(other)

    def _joined(self, other: Any, join: Callable[..., bool | int], plainly: Callable[[Any, Any], Any]) -> Any:
        """Join with another set, element by element; the reflected operation if `plainly` takes the other first."""
        if not isinstance(other, frozenset | set):
            return plainly(self._plain(), other)
        its = self._its(other)
        if its is None:
            return plainly(self._plain(), plain(other))
        return LazySet(self._seen, self._lens, [join(*pair) for pair in zip(self._members, its, strict=True)])

    def _and(self, mine: bool | int, its: bool | int) -> bool | int:
        if type(its) is bool:
            mine, its = its, mine
        return its if self._is(mine) else False

    def _or(self, mine: bool | int, its: bool | int) -> bool | int:
        if type(its) is bool:
            mine, its = its, mine
        return True if self._is(mine) else its

    def _minus(self, mine: bool | int, its: bool | int) -> bool | int:
        if mine is False or its is False:
            return mine
        return False if self._is(its) else mine

    def _xor(self, mine: bool | int, its: bool | int) -> bool | int:
        if type(its) is bool and not its:
            return mine
        if type(mine) is bool and not mine:
            return its
        return self._is(mine) != self._is(its)

    def __and__(self, other: Any) -> Any:
        return self._joined(other, self._and, and_)

    def __or__(self, other: Any) -> Any:
        return self._joined(other, self._or, or_)

    def __sub__(self, other: Any) -> Any:
        return self._joined(other, self._minus, sub)

    def __xor__(self, other: Any) -> Any:
        return self._joined(other, self._xor, xor)

    def _reflected(self, other: Any, join: Callable[..., bool | int], apply: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, set):  # the result is then a set, not a frozenset
            return apply(other, self._plain())
        return self._joined(other, join, lambda mine, its: apply(its, mine))

    def __rand__(self, other: Any) -> Any:
        return self._reflected(other, self._and, and_)

    def __ror__(self, other: Any) -> Any:
        return self._reflected(other, self._or, or_)

    def __rsub__(self, other: Any) -> Any:
        return self._reflected(other, lambda mine, its: self._minus(its, mine), sub)

    def __rxor__(self, other: Any) -> Any:
        return self._reflected(other, self._xor, xor)

    def _compared(
        self, other: Any, holds: Callable[[bool | int, bool | int], bool], plainly: Callable[[Any, Any], Any]
    ) -> Any:
        """Whether a relation holds for every element; it reads no more than necessary."""
        if not isinstance(other, abc.Set):
            return NotImplemented
        its = self._its(other)
        if its is None:
            return plainly(self._plain(), plain(other))
        return all(map(holds, self._members, its))

    def __eq__(self, other: object) -> Any:
        return self._compared(other, self._equal, lambda mine, its: mine == its)

    def __le__(self, other: Any) -> Any:
        return self._compared(other, self._within, lambda mine, its: mine <= its)

    def __ge__(self, other: Any) -> Any:
        return self._compared(other, lambda mine, its: self._within(its, mine), lambda mine, its: mine >= its)

    def __lt__(self, other: Any) -> Any:
        within = self <= other
        return within if within is NotImplemented else within and not self >= other

    def __gt__(self, other: Any) -> Any:
        around = self >= other
        return around if around is NotImplemented else around and not self <= other

    def _equal(self, mine: bool | int, its: bool | int) -> bool:
        return mine is its or self._is(mine) == self._is(its)

    def _within(self, mine: bool | int, its: bool | int) -> bool:
        if mine is False or its is True:
            return True
        return self._is(its) if mine is True else not self._is(mine) or self._is(its)

    __hash__ = Lazy.__hash__

    def copy(self) -> Any:
        """As for a frozenset."""
        return self

    def isdisjoint(self, other: Iterable[Any]) -> bool:
        """As for a frozenset."""
        return not any(element in self for element in other)

    def issubset(self, other: Iterable[Any]) -> bool:
        """As for a frozenset."""
        return bool(self <= _as_set(other))

    def issuperset(self, other: Iterable[Any]) -> bool:
        """As for a frozenset."""
        return all(element in self for element in other)

    def union(self, *others: Iterable[Any]) -> Any:
        """As for a frozenset."""
        return reduce(or_, map(_as_set, others), self)

    def intersection(self, *others: Iterable[Any]) -> Any:
        """As for a frozenset."""
        return reduce(and_, map(_as_set, others), self)

    def difference(self, *others: Iterable[Any]) -> Any:
        """As for a frozenset."""
        return reduce(sub, map(_as_set, others), self)

    def symmetric_difference(self, other: Iterable[Any]) -> Any:
        """As for a frozenset."""
        return self ^ _as_set(other)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return Subset


def _as_set(elements: Iterable[Any]) -> Any:
    return elements if isinstance(elements, frozenset | set) else frozenset(elements)


class LazyRecord(Lazy):
    """A NamedTuple. Its `__dict__` holds the fields that are known; a subclass has the NamedTuple's methods."""

    _cls: Any
    _fields: tuple[str, ...]
    _lens: RecordLens
    _seen: ReadSlots

    def __new__(cls, *parts: Any, **named: Any) -> Any:
        """A method that calls `type(self)` to make another record gets a plain one."""
        return cls._cls(*parts, **named)

    def _plain(self) -> Any:
        return tuple.__new__(self._cls, [plain(part) for part in self])

    def _replace(self, /, **changes: Any) -> Any:
        for name in changes:
            if name not in self._fields:
                return self._plain()._replace(**changes)  # raises the right error
        record: Any = object.__new__(type(self))
        record.__dict__.update(self.__dict__, **changes)
        return record

    __replace__ = _replace

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def __iter__(self) -> Iterator[Any]:
        return map(self._part, range(len(self._fields)))

    def _part(self, number: int) -> Any:
        return getattr(self, self._fields[number])

    def __len__(self) -> int:
        return len(self._fields)

    def __getitem__(self, key: Any) -> Any:
        if type(key) is not slice:
            return self._part(key)
        known, lenses = self.__dict__, tuple(self._lens.fields.values())
        values = [known.get(name, UNREAD) for name in self._fields[key]]
        return LazySequence(self._seen, None, values, lenses[key])

    def __add__(self, other: Any) -> Any:
        return self[:] + other

    def __radd__(self, other: Any) -> Any:
        return other + self[:]

    def __mul__(self, times: Any) -> Any:
        return self[:] * times

    __rmul__ = __mul__

    def __contains__(self, value: object) -> bool:
        return any(part is value or part == value for part in self)

    def __eq__(self, other: object) -> Any:
        if isinstance(other, LazyRecord) and other._lens is self._lens and other._seen is self._seen:
            mine, its = self.__dict__, other.__dict__
            return all(
                (name not in mine and name not in its) or _alike(getattr(self, name), getattr(other, name))
                for name in self._fields
            )
        if not isinstance(other, tuple):
            return NotImplemented
        return len(self._fields) == len(other) and all(map(_alike, self, other))

    __hash__ = Lazy.__hash__

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("can't set attribute")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("can't delete attribute")

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        cls: type = self._cls
        return cls


class Field:
    """An unknown field of a record: a known one is in `__dict__`, which takes precedence."""

    def __init__(self, name: str):
        self.name = name

    def __get__(self, record: LazyRecord, _: type) -> Any:
        known, name = record.__dict__, self.name
        seen = known["_seen"]
        value = known["_lens"].fields[name].look(seen)
        if not seen.assumed:
            known[name] = value
        return value


# The `case` statement needs this: tuples are sequences.
for _lazy in (LazySequence, LazyRecord):
    abc.Sequence.register(_lazy)


_CARRIED = {"__bool__", "__format__", "__str__"}
"""Methods that a NamedTuple may define differently from tuples, and stay lazy."""
_UNASKED = {
    *(
        "__annotate__",
        "__annotate_func__",
        "__annotations__",
        "__annotations_cache__",
        "__class_getitem__",
        "__dict__",
    ),
    *("__doc__", "__firstlineno__", "__getnewargs__", "__init_subclass__", "__match_args__", "__module__", "__new__"),
    *("__orig_bases__", "__parameters__", "__qualname__", "__replace__", "__repr__", "__slots__"),
    *("__static_attributes__", "__type_params__", "__weakref__"),
}
"""Attributes that are never looked up on a value, or that lazy values define themselves."""
_REPLACED = {"_asdict", "_fields", "_replace"}
_OURS = {"_cls", "_lens", "_part", "_plain", "_seen"}


@cache
def lazy_record(cls: Any) -> type[LazyRecord] | None:
    """The lazy class of a NamedTuple; None if the NamedTuple defines methods that a lazy class cannot have."""
    bases = [base for base in cls.__mro__ if base not in (tuple, Generic, object)]
    own = {name: value for base in reversed(bases) for name, value in vars(base).items()}
    made = vars(next(base for base in bases if "_fields" in vars(base)))
    dunders = {name for name in own if name.startswith("__") and name.endswith("__")} - _UNASKED
    if not dunders <= _CARRIED or own.keys() & _OURS:
        return None
    if any(own[name] is not made[name] for name in (*cls._fields, *_REPLACED)):
        return None
    members = {
        name: _carried(cls, name, value)
        for name, value in own.items()
        if name not in _UNASKED | _REPLACED | {*cls._fields}
    }
    for name in {"count", "index"} - own.keys():  # common names of fields
        members[name] = lambda self, *asked, name=name: getattr(self[:], name)(*asked)
    fields = {name: Field(name) for name in cls._fields}
    return type(cls.__name__, (LazyRecord,), {**members, **fields, "_cls": cls, "_fields": cls._fields})


def _carried(cls: Any, name: str, member: Any) -> Any:
    """A member of a NamedTuple, adapted to its lazy class."""
    if isinstance(member, classmethod):
        return staticmethod(getattr(cls, name))
    if isinstance(member, cached_property):  # its cached value would be among the fields
        return property(member.func)
    return member
