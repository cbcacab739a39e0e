"""What twins call for `sum`, `max`, `min`, `len`, `set` and loops: of a state's set, only the result is read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any, Final, TypeVar

from spec.checking.local.folds.aggregates import Aggregates, Kind, Part, aggregate
from spec.checking.local.folds.purity import Purity
from spec.checking.local.folds.rewriting import SIZE_OF_SET
from spec.checking.local.folds.speculation import BREADTH, PATIENCE, variables_stay
from spec.checking.local.lazy import LazySet, Unknown, plain

T = TypeVar("T")
Body = Callable[[Any], Iterable[Any]]
"""What an element contributes."""
Step = Callable[..., tuple[Any, ...] | list[Any]]
"""The variables after a turn of a loop, as a tuple; or what the turn returns, as the item of a list."""
WANTED: Final = 2
"""The most slots that are read first, each because all bodies want it that want any."""

LARGEST_LOOP: Final = 512
"""The most nodes of a loop's graph, which is made again for each path."""


def _greatest(partial: Any, value: Any) -> Any:
    return value if partial is None or value > partial else partial


def _least(partial: Any, value: Any) -> Any:
    return value if partial is None or value < partial else partial


def _distinct(partial: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    """The distinct values, in order: the order in which a set is made may show when it is iterated over."""
    return partial if value in partial else (*partial, value)


KINDS: Final = {
    "sum": Kind(0, lambda partial, value: partial + value),
    "max": Kind(None, _greatest),
    "min": Kind(None, _least),
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
    """Aggregates what bodies make of a set's members.

    Args:
        purity: tells which bodies may be tried.
        aggregates: numbers the aggregates.
    """

    def __init__(self, purity: Purity, aggregates: Aggregates):
        self._purity, self._aggregates = purity, aggregates
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
        """The result of a builtin.

        Args:
            kind: the kind of aggregate.
            builtin: what the author calls; it may be something else by the name of a builtin.
            of: the iterable; unless it is a set of the state, `plainly` handles it.
            plainly: computes the same from the iterable, without aggregates.
            body: says what an element contributes; without it, the element does.
            calls: the members that the body calls.
        """
        if type(of) is not LazySet or builtin is not BUILTINS[kind]:
            return plainly(of)
        if of.seen.trying and not of.seen.within:  # no aggregate is known
            return plainly(of)
        if body is not None:
            assert isinstance(body, FunctionType)
            if not (self._purity.of(body, calls) and variables_stay(body)):
                return plainly(of)
        taken = body or _itself
        number = self._number(of, taken, lambda: self._of_builtin(kind, of, taken))
        if number is None:
            return plainly(of)
        result = self._read(of, number)
        if result is None:  # nothing: the author's call says what that means
            return plainly(())
        return builtin(result) if isinstance(result, tuple) else result

    def accumulate(
        self, of: Any, step: Step, variables: tuple[Any, ...], calls: Collection[str]
    ) -> tuple[bool | None, Any]:
        """How a loop over a set ends.

        Args:
            of: the iterable.
            step: a turn of the loop, given the element and the variables before.
            variables: their values before the loop.
            calls: the members that the step calls.

        Returns:
            True and the variables after it; or False and what it returns; or None twice if the loop must run.
        """
        if type(of) is not LazySet or of.seen.trying:
            return None, None
        assert isinstance(step, FunctionType)
        if not (self._purity.of(step, calls) and variables_stay(step)):
            return None, None
        number = self._number(of, step, lambda: self._of_loop(of, step, variables))
        if number is None:
            return None, None
        kind, *values = self._read(of, number)
        after = tuple(map(_untyped, values))
        return (False, after[0]) if kind is list else (True, after)

    def _read(self, of: LazySet, number: int) -> Any:
        """The result of an aggregate."""
        result = self._aggregates.read(of.seen, number)
        of.seen.left_out.update(member for member in of.members if type(member) is not bool)
        return result

    def _number(self, of: LazySet, tried: Callable[..., Any], make: Callable[[], int | None]) -> int | None:
        """The number of an aggregate; None if memberships are read one by one.

        A path must read the same whenever it is recorded. So code is given up only if trying it has never had any
        effect on what was read.
        """
        assert isinstance(tried, FunctionType)
        in_vain = self._in_vain.get(tried.__code__, 0)
        if in_vain >= PATIENCE:
            return None
        known = len(of.seen)
        number = make()
        if in_vain >= 0:
            self._in_vain[tried.__code__] = in_vain + 1 if number is None and len(of.seen) == known else -1
        return number

    def _of_builtin(self, kind: str, of: LazySet, body: Body) -> int | None:
        parts = self._parts(of, lambda element: _values(kind, body(element)))
        if parts is None:
            return None
        types = {type(value) for part in parts for value in part.values}
        if len(types) > 1 and kind not in _MIXED:
            return None
        return self._aggregates.number_of((kind, parts), lambda: aggregate(KINDS[kind], parts))

    def _of_loop(self, of: LazySet, step: Step, variables: tuple[Any, ...]) -> int | None:
        def turn(partial: tuple[Any, ...], element: Any) -> tuple[Any, ...]:
            kind, *values = partial
            if kind is list:
                return partial
            after = step(element, *map(_untyped, values))
            return type(after), *map(_typed, map(plain, after))

        def first_turn(element: Any) -> tuple[Hashable, ...]:
            turn(start, element)
            return (element,)

        try:
            start = (tuple, *map(_typed, variables))
        except TypeError:
            return None
        parts = self._parts(of, first_turn)
        if parts is None:
            return None
        made = self._tried(of, lambda: aggregate(Kind(start, turn), parts, LARGEST_LOOP))
        return None if made is None else self._aggregates.number_of((made.nodes, made.results), lambda: made)

    def _parts(self, of: LazySet, values: Callable[[Any], tuple[Hashable, ...]]) -> tuple[Part, ...] | None:
        """What the elements contribute; None if nobody can say without reading more, or it cannot be aggregated.

        A path must read the same whenever it is recorded. So this depends on nothing but what was read already.
        """

        def tried() -> tuple[Part, ...] | None:
            parts: list[Part] = []
            for element, slot in _possible(of):
                try:
                    parts.append(Part(slot, values(element)))
                except Unknown as unknown:
                    wanted.add(unknown.slot)
            return tuple([part for part in parts if part.values])

        seen = of.seen
        for _ in range(WANTED + 1):
            wanted: set[int | None] = set()
            parts = self._tried(of, tried)
            if not wanted:
                return parts
            slot = wanted.pop()
            if parts is None or wanted or seen.trying or slot is None or slot in of.members:
                return None
            seen[slot]
        return None

    def _tried(self, of: LazySet, ask: Callable[[], T | None]) -> T | None:
        """What code says that may read nothing new; None if it raises, perhaps for an element that is not there."""
        seen, trying = of.seen, of.seen.trying
        if trying * len(of.members) > BREADTH:
            return None
        seen.trying = max(trying, 1) * len(of.members)
        try:
            return ask()
        except KeyboardInterrupt:
            raise
        except BaseException:
            return None
        finally:
            seen.trying = trying


_MIXED: Final = {"set", "frozenset", SIZE_OF_SET}
"""The kinds whose values may have several types."""


def _itself(element: Any) -> Iterator[Any]:
    yield element


def _possible(of: LazySet) -> Iterator[tuple[Any, int | None]]:
    """The elements that a set may have, each with the slot of its membership, or None if it is known to be there."""
    for element, member in zip(of.lens.order, of.members, strict=True):
        there = member if type(member) is bool else of.seen.get(member)
        if there is None:
            yield element, member
        elif there:
            yield element, None


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
    """A simple value, told from equal values of other types.

    Raises:
        TypeError: it is not simple.
    """
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
