"""What twins call for `sum`, `max`, `min`, `len`, `set` and loops: of all that they go through, the result is read.

They may go through a set of the state, a mapping of it, or anything that is known. What an element contributes may
depend on slots of its own: whether it is a member, the value that a mapping has for it. Which values it contributes
is found by trying: the code is evaluated for each code that such a slot may have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Sequence,
    ValuesView,
)
from functools import partial
from itertools import chain
from types import CodeType, FunctionType
from typing import Any, Final, NamedTuple, TypeVar

from spec.checking.local.folds.aggregates import Aggregates, Branch, Contribution, Kind, aggregate, leaves, slots_of
from spec.checking.local.folds.purity import BREADTH, PATIENCE, Purity, variables_stay
from spec.checking.local.folds.rewriting import SIZE_OF_SET
from spec.checking.local.lazy import LazySet, ReadSlots, Unknown, plain
from spec.language.cells import TotalMapping
from spec.language.domains import Subset

T = TypeVar("T")
Body = Callable[[Any], Iterable[Any]]
"""What an element contributes."""
Step = Callable[..., tuple[Any, ...] | list[Any]]
"""The variables after a turn of a loop, as a tuple; or what the turn returns, as the item of a list."""
WANTED: Final = 2
"""The most slots that are read first, each because all bodies want it that want any."""

LARGEST_LOOP: Final = 1_024
"""The most edges of a loop's graph, which is made again for each path."""
MOST_KNOWN: Final = 1_024
"""The most elements of a tuple or the like for which a body is tried."""


def _distinct(partial: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    """The distinct values, in order: the order in which a set is made may show when it is iterated over."""
    return partial if value in partial else (*partial, value)


KINDS: Final = {
    "sum": Kind(0, lambda partial, value: partial + value),
    "max": Kind(None, lambda partial, value: value if partial is None or value > partial else partial),
    "min": Kind(None, lambda partial, value: value if partial is None or value < partial else partial),
    "len": Kind(0, lambda partial, _: partial + 1),
    SIZE_OF_SET: Kind((), _distinct, len),
    "set": Kind((), _distinct),
    "frozenset": Kind((), _distinct),
}
"""The kinds of aggregates, by name."""
BUILTINS: Final[dict[str, Any]] = {
    **{each.__name__: each for each in (sum, max, min, len, set, frozenset)},
    SIZE_OF_SET: len,
}


class Aggregation:
    """Aggregates what bodies make of elements. `purity` tells which bodies may be tried, `reads` what the present
    evaluation has read.
    """

    def __init__(self, purity: Purity, aggregates: Aggregates, reads: Callable[[], ReadSlots]):
        self._purity, self._aggregates, self._reads = purity, aggregates, reads
        self._in_vain: dict[CodeType, int] = {}
        """By body, the number of trials that had no effect; -1 once a trial had one."""

    def aggregate(
        self,
        kind: str,
        builtin: Any,
        of: Any,
        plainly: Callable[[Any], Any],
        body: Body | None = None,
        calls: Collection[str] = (),
    ) -> Any:
        """The result of a builtin; `plainly` computes the same from the iterable, without aggregates. The body says
        what an element contributes; without it, the element does. What the author calls may be something else by the
        name of a builtin.
        """
        seen = self._reads()
        if builtin is not BUILTINS[kind] or (seen.trying and not seen.within):  # no aggregate is known
            return plainly(of)
        if body is not None:
            assert isinstance(body, FunctionType)
            if not (self._purity.of(body, calls) and variables_stay(body)):
                return plainly(of)
        elements = _elements_of(of, all_known=body is not None)
        if elements is None:
            return plainly(of)
        number = self._number(seen, body or plainly, lambda: self._of_builtin(kind, seen, elements, body or _itself))
        if number is None:
            return plainly(of)
        result = self._read(seen, of, number)
        if result is None:  # nothing: the author's call says what that means
            return plainly(())
        return builtin(result) if isinstance(result, tuple) else result

    def accumulate(
        self, of: Any, step: Step, variables: tuple[Any, ...], calls: Collection[str]
    ) -> tuple[bool | None, Any]:
        """How a loop ends, if a step makes the variables from an element and the variables before: True and the
        variables after it; or False and what it returns; or None twice if the loop must run.
        """
        seen = self._reads()
        assert isinstance(step, FunctionType)
        if seen.trying or not (self._purity.of(step, calls) and variables_stay(step)):
            return None, None
        elements = _elements_of(of)
        if elements is None:
            return None, None
        number = self._number(seen, step, lambda: self._of_loop(seen, elements, step, variables))
        if number is None:
            return None, None
        kind, *values = self._read(seen, of, number)
        after = tuple(map(_untyped, values))
        return (False, after[0]) if kind is list else (True, after)

    def _read(self, seen: ReadSlots, of: Any, number: int) -> Any:
        """The result of an aggregate."""
        result = self._aggregates.read(seen, number)
        if type(of) is LazySet:
            seen.left_out.update(member for member in of._members if type(member) is not bool)
        return result

    def _number(self, seen: ReadSlots, tried: Callable[..., Any], make: Callable[[], int | None]) -> int | None:
        """The number of an aggregate; None if slots are read one by one.

        A path must read the same whenever it is recorded. So code is given up only if trying it has never had any
        effect on what was read.
        """
        assert isinstance(tried, FunctionType)
        in_vain = self._in_vain.get(tried.__code__, 0)
        if in_vain >= PATIENCE:
            return None
        known = len(seen)
        number = make()
        if in_vain >= 0:
            self._in_vain[tried.__code__] = in_vain + 1 if number is None and len(seen) == known else -1
        return number

    def _of_builtin(self, kind: str, seen: ReadSlots, elements: Sequence[_Element], body: Body) -> int | None:
        def values(element: _Element) -> tuple[Hashable, ...]:
            return _values(kind, chain.from_iterable(map(body, element.here())))

        contributions = self._contributions(seen, elements, values)
        if contributions is None:
            return None
        types = {type(value) for each in contributions for values in leaves(each) for value in values}
        if len(types) > 1 and kind not in _MIXED:
            return None
        return self._aggregates.number_of((kind, contributions), lambda: aggregate(KINDS[kind], contributions))

    def _of_loop(
        self, seen: ReadSlots, elements: Sequence[_Element], step: Step, variables: tuple[Any, ...]
    ) -> int | None:
        def after(partial: tuple[Any, ...], element: _Element) -> tuple[Any, ...]:
            for it in element.here():
                kind, *values = partial
                if kind is list:
                    return partial
                result = step(it, *map(_untyped, values))
                partial = type(result), *map(_typed, map(plain, result))
            return partial

        def turn(partial: tuple[Any, ...], taken: _Turn) -> tuple[Any, ...]:
            seen.assumed |= taken.assumed
            try:
                return after(partial, taken.element)
            finally:
                seen.assumed.clear()

        def first_turn(element: _Element) -> tuple[Hashable, ...]:
            after(start, element)
            return (_Turn(element, tuple(seen.assumed.items())),)

        try:
            start = (tuple, *map(_typed, variables))
        except TypeError:
            return None
        contributions = self._contributions(seen, elements, first_turn)
        if contributions is None:
            return None
        made = self._tried(seen, len(elements), lambda: aggregate(Kind(start, turn), contributions, LARGEST_LOOP))
        return None if made is None else self._aggregates.number_of((made.nodes, made.results), lambda: made)

    def _contributions(
        self, seen: ReadSlots, elements: Sequence[_Element], values: Callable[[_Element], tuple[Hashable, ...]]
    ) -> tuple[Contribution, ...] | None:
        """What the elements contribute; None if nobody can say without reading more, or it cannot be aggregated.

        A path must read the same whenever it is recorded. So this depends on nothing but what was read already.
        """
        members = {element.member for element in elements if element.member is not None}
        for left in reversed(range(WANTED + 1)):
            contributions, shared = self._tried(
                seen, len(elements), lambda: self._of_each(seen, elements, values)
            ) or (None, ())
            if not shared:
                return contributions
            slot, *others = shared
            if not left or others or seen.trying or slot in members:
                return None
            seen[slot]
        return None

    def _of_each(
        self, seen: ReadSlots, elements: Sequence[_Element], values: Callable[[_Element], tuple[Hashable, ...]]
    ) -> tuple[tuple[Contribution, ...] | None, Collection[int]]:
        """What each element contributes; or the slots for which more than one asks. Unknown if an element asks for an
        aggregate, or for a slot whose code depends on others.
        """
        found: list[Contribution] = []
        wanted = list[int]()
        each_of = [partial(_if_there, seen, element, values) for element in elements]
        for contributed in each_of:
            try:
                found.append(contributed())
            except Unknown as unknown:
                if unknown.slot is None:
                    raise
                wanted.append(unknown.slot)
        members = [element.member for element in elements]
        if not wanted and not any(member is not None for member in members):  # there is nothing to be saved
            return None, ()
        if shared := _several_times(wanted):
            return None, shared
        if wanted:
            found = [self._for_each_code(seen, contributed) for contributed in each_of]
        found = [
            each if member is None or not each else Branch(member, ((), each))
            for member, each in zip(members, found, strict=True)
        ]
        shared = _several_times(slot for each in found for slot in {*slots_of(each)})
        return (None, shared) if shared else (tuple(filter(None, found)), ())

    def _for_each_code(self, seen: ReadSlots, contributed: Callable[[], tuple[Hashable, ...]]) -> Contribution:
        """What an element contributes, whichever codes the slots have for which it asks."""
        try:
            return contributed()
        except Unknown as unknown:
            slot = unknown.slot
        codes = 0 if slot is None else self._aggregates.codes[slot]
        if slot is None or not codes or seen.trying * codes > BREADTH:
            raise Unknown(slot)
        answers = list[Contribution]()
        seen.trying *= codes
        for code in range(codes):
            seen.assumed[slot] = code
            answers.append(self._for_each_code(seen, contributed))
        del seen.assumed[slot]
        seen.trying //= codes
        return answers[0] if all(each == answers[0] for each in answers) else Branch(slot, tuple(answers))

    def _tried(self, seen: ReadSlots, elements: int, ask: Callable[[], T | None]) -> T | None:
        """What code says that may read nothing new; None if it raises, perhaps for an element that is not there."""
        trying, assumed, held = seen.trying, dict(seen.assumed), len(seen.held)
        if trying * elements > BREADTH:
            return None
        seen.trying = max(trying, 1) * elements
        try:
            return ask()
        except KeyboardInterrupt:
            raise
        except BaseException:
            return None
        finally:
            seen.trying = trying
            seen.assumed.clear()
            seen.assumed |= assumed
            seen.held[held:] = dict.fromkeys(seen.held[held:])


_MIXED: Final = {"set", "frozenset", SIZE_OF_SET}
"""The kinds whose values may have several types."""


def _itself(element: Any) -> Iterator[Any]:
    yield element


_KNOWN: Final = {tuple, list, range, frozenset, Subset}
"""Types whose elements are all known."""
_VIEWS: Final[dict[type, Callable[[TotalMapping, Any], Iterable[Any]]]] = {
    KeysView: lambda mapping, key: [key] if key in mapping else [],
    ValuesView: lambda mapping, key: [mapping[key]] if key in mapping else [],
    ItemsView: lambda mapping, key: [(key, mapping[key])] if key in mapping else [],
}
"""Views of a mapping, and what they have for a key."""


class _Element(NamedTuple):
    """A possible element of what a fold goes through."""

    here: Callable[[], Iterable[Any]]
    """Looks it up: there is one, or none."""
    member: int | None = None
    """The slot that says whether a set has it; None if that is known, or if `here` asks."""


class _Turn(NamedTuple):
    """A turn of a loop."""

    element: _Element
    assumed: tuple[tuple[int, int], ...]
    """The slots on which it depends, with their codes."""


def _elements_of(of: Any, *, all_known: bool = True) -> list[_Element] | None:
    """The possible elements of an iterable; None if these cannot be said without changing it, or if all are known,
    unless `all_known`.
    """
    kind = type(of)
    if kind is LazySet:
        return [*_possible_members(of)]
    if kind in _KNOWN:
        return [_Element((each,).__iter__) for each in of] if all_known and len(of) <= MOST_KNOWN else None
    if kind in _VIEWS and isinstance(of._mapping, TotalMapping):
        mapping, look = of._mapping, _VIEWS[kind]
    elif isinstance(of, TotalMapping):
        mapping, look = of, _VIEWS[KeysView]
    else:
        return None
    keys = TotalMapping.__iter__(mapping)  # also those that are absent
    return [_Element(partial(look, mapping, key)) for key in keys]


def _possible_members(of: LazySet) -> Iterator[_Element]:
    """The elements that a set may have."""
    for element, member in zip(of._lens.order, of._members, strict=True):
        there = member if type(member) is bool else of._seen.get(member)
        if there is None or there:
            yield _Element((element,).__iter__, member if there is None else None)


def _if_there(
    seen: ReadSlots, element: _Element, values: Callable[[_Element], tuple[Hashable, ...]]
) -> tuple[Hashable, ...]:
    """What an element contributes if the set has it. Few bodies ask whether it does."""
    try:
        return values(element)
    except Unknown as unknown:
        if element.member is None or unknown.slot != element.member:
            raise
    seen.assumed[element.member] = 1
    try:
        return values(element)
    finally:
        del seen.assumed[element.member]


def _several_times(slots: Iterable[int]) -> list[int]:
    """Those of these that occur more than once."""
    return [slot for slot, times in Counter(slots).items() if times > 1]


def _values(kind: str, contributed: Iterable[Any]) -> tuple[Hashable, ...]:
    """The values that are aggregated.

    Raises:
        TypeError: a value that could be equal to one of another type.
    """
    if kind == "len":
        return tuple([None for _ in contributed])
    values = tuple([plain(value) for value in contributed])
    if kind == "sum":
        values = tuple([int(value) if type(value) is bool else value for value in values])
    simple = (int,) if kind == "sum" else (int, str)
    if not all(type(value) in simple or (kind in _MIXED and _is_distinct(value)) for value in values):
        raise TypeError
    return values


def _typed(value: Any) -> tuple[Any, ...]:
    """A simple value, told from equal values of other types; TypeError if it is not simple."""
    if type(value) is tuple:
        return (tuple, *map(_typed, value))
    if value is None or type(value) in (int, str, bool):
        return type(value), value
    raise TypeError


def _untyped(value: tuple[Any, ...]) -> Any:
    return tuple(map(_untyped, value[1:])) if value[0] is tuple else value[1]


def _is_distinct(value: Any) -> bool:
    """Whether a value is equal only to values of its type."""
    return value is None or type(value) in (int, str) or (type(value) is tuple and all(map(_is_distinct, value)))
