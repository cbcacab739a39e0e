"""Values that are equal in Python and yet different: no engine confuses them."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from enum import IntEnum, StrEnum
from typing import Annotated, Any, ClassVar, NamedTuple

import pytest

from spec.checking import check, simulate
from spec.language import (
    Domain,
    Partial,
    Specification,
    SpecificationError,
    State,
    Total,
    action,
    constant,
    initial,
    integers,
    invariant,
    one_of,
    optional,
    possibly_empty,
    record,
    require,
    sequence_of,
    subset_of,
    tuple_of,
    variable,
)
from spec.language.errors import OutOfDomain, UsageError
from spec.testing import Violation, as_state_machine
from tests.tiers import in_turn

ENGINES = ["reference", "local"]


class Level(IntEnum):
    """Numbers with names."""

    LOW = 1
    HIGH = 2


class Word(StrEnum):
    """Strings with names."""

    OPEN = "open"


class Pair(NamedTuple):
    """A record."""

    left: Any
    right: Any


Value = Annotated[Any, "a value"]


class Held(State):
    """One value."""

    v: Value = variable("What is held.", of=lambda self: type(self).domain)


class GoodFirst(Specification[Held]):
    """It assigns a value of the domain, or an equal value outside it."""

    domain: ClassVar[Domain[Any]]
    values: ClassVar[tuple[Any, Any]]

    @action
    def good(self, s: Held) -> None:
        """A value of the domain."""
        s.v = type(self).values[0]

    @action
    def bad(self, s: Held) -> None:
        """A value outside it."""
        s.v = type(self).values[1]


class BadFirst(Specification[Held]):
    """The same with the actions in reverse order."""

    domain: ClassVar[Domain[Any]]
    values: ClassVar[tuple[Any, Any]]

    @action
    def bad(self, s: Held) -> None:
        """A value outside the domain."""
        s.v = type(self).values[1]

    @action
    def good(self, s: Held) -> None:
        """It is."""
        s.v = type(self).values[0]


NUMBERS = integers(0, 2)
EQUAL: dict[str, tuple[Domain[Any], Any, Any]] = {
    "a truth in a tuple": (tuple_of(NUMBERS, NUMBERS), (1, 2), (True, 2)),
    "a float in a tuple": (tuple_of(NUMBERS, NUMBERS), (1, 2), (1, 2.0)),
    "a truth in a tuple of several": (one_of((0,), (1,)), (1,), (True,)),
    "a truth in a record": (record(Pair, left=NUMBERS, right=NUMBERS), Pair(1, 2), Pair(True, 2)),
    "a tuple for a record in a tuple": (
        tuple_of(record(Pair, left=NUMBERS, right=NUMBERS)), (Pair(1, 2),), ((1, 2),)
    ),
    "a truth in a set": (subset_of(NUMBERS), frozenset({1, 2}), frozenset({True, 2})),
    "a truth in a set in a tuple": (tuple_of(subset_of(NUMBERS)), (frozenset({1}),), (frozenset({True}),)),
    "a member for a string in a sequence": (sequence_of(one_of("x", "open"), 2), ("open",), (Word.OPEN,)),
    "a number for a member in a sequence": (sequence_of(one_of(*Level), 2), (Level.LOW,), (1,)),
    "a truth within something optional": (optional(tuple_of(NUMBERS)), (1,), (True,)),
    "a truth in a possibly empty tuple": (possibly_empty(tuple_of(NUMBERS)), (1,), (True,)),
    "a zero with another sign": (one_of(1.0, 0.0), 0.0, -0.0),
}  # fmt: skip


@pytest.mark.parametrize(("case", "order"), in_turn(EQUAL, [GoodFirst, BadFirst]))
def test_a_value_that_only_equals_one_of_the_domain_is_outside(case: str, order: type[Any]) -> None:
    """Whichever is met first, on every engine."""
    domain, *values = EQUAL[case]
    specification = type(order.__name__, (order,), {"domain": domain, "values": tuple(values)})()
    for engine in ENGINES:
        result = check(specification, engine=engine)
        assert result.counterexample is not None, engine
        assert (result.counterexample.broken, result.counterexample.length) == ("type_ok", 2), engine
        assert result.counterexample.steps[-1].changes, engine
    assert simulate(specification, runs=20, steps=5, seed=1).verdict == "violated"
    machine = as_state_machine(specification)
    state, steps = machine(), {each.__name__: each for each in machine.actions}
    state.take(steps["good"]())
    with pytest.raises(Violation, match="type_ok is broken"):
        state.take(steps["bad"]())


class ById(NamedTuple):
    """Equal to any record with its number."""

    number: int
    body: int

    def __eq__(self, other: Any) -> bool:
        return bool(self.number == other.number)

    def __hash__(self) -> int:
        return self.number


class Alike(NamedTuple):
    """It defines its own hash."""

    number: int
    body: int

    def __hash__(self) -> int:
        return 0


class Span(NamedTuple):
    """Iterating gives all between."""

    number: int
    body: int

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.number, self.body))


class Guessing(NamedTuple):
    """Every attribute exists."""

    number: int
    body: int

    def __getattr__(self, name: str) -> str:
        return name


OWN = [(ById, "__eq__"), (Alike, "__hash__"), (Span, "__iter__"), (Guessing, "__getattr__")]


@pytest.mark.parametrize(("cls", "its"), OWN)
def test_a_record_that_is_read_in_its_own_way_is_refused(cls: Callable[..., Any], its: str) -> None:
    """In one line that says what is allowed, even within a value that is listed."""
    with pytest.raises(SpecificationError, match=rf"^record\({cls.__name__}\): it has its own {its}, [^\n]*fields"):
        record(cls, number=NUMBERS, body=NUMBERS)
    with pytest.raises(SpecificationError, match=rf"^record\({cls.__name__}\): it has its own {its}, [^\n]*fields"):
        one_of(0, (frozenset([cls(1, 3)]),))


Key = Annotated[int, "a key"]
Number = Annotated[int, "a number"]


class Two(State):
    """Two mappings."""

    a: Total[Key, Number] = variable("One.")
    b: Total[Key, Number] = variable("Another.")
    p: Partial[Key, Number] = variable("One with optional keys.")
    q: Partial[Key, Number] = variable("Another.")
    done: bool = variable("Whether the action was taken.")


class Mappings(Specification[Two]):
    """Mappings that are assigned to each other, once."""

    def sizes(self) -> Any:
        """Two keys."""
        return {Key: range(2), Number: range(4)}

    @initial
    def begin(self, s: Any) -> None:
        """They differ."""
        s.a, s.b = {0: 1, 1: 2}, {0: 0, 1: 3}
        s.p, s.q = {0: 1}, {1: 3}


class Swap(Mappings):
    """They are exchanged."""

    @action
    def swap(self, s: Any) -> None:
        """In one line."""
        require(not s.done)
        s.a, s.b = s.b, s.a
        s.p, s.q = s.q, s.p
        s.done = True

    @invariant
    def kept(self, s: Two) -> bool:
        """No value is lost."""
        one, other = ({0: 1, 1: 2}, {0: 0, 1: 3}), ({0: 1}, {1: 3})
        now = (dict(s.a), dict(s.b)), (dict(s.p), dict(s.q))
        return now == ((one[::-1], other[::-1]) if s.done else (one, other))


class Rotate(Mappings):
    """A mapping that was read keeps its values after another is assigned, including earlier changes in place."""

    @action
    def turn(self, s: Any) -> None:
        """Use the old mappings after others are assigned."""
        require(not s.done)
        a, p = s.a, s.p
        a[0] = 3
        s.a = {key: value - a[key] + 3 for key, value in s.b.items()}
        s.p = {}
        s.b = {key: a[key] for key in a}
        s.q = {key: p.get(key, 2) for key in (0, 1)}
        s.done = a.get(7, True) is True and 1 not in p

    @invariant
    def as_python_has_it(self, s: Two) -> bool:
        """The values are those of Python's dicts."""
        return not s.done or (dict(s.a), dict(s.b), dict(s.p), dict(s.q)) == (
            {0: 0, 1: 4}, {0: 3, 1: 2}, {}, {0: 1, 1: 2}
        )  # fmt: skip

    def sizes(self) -> Any:
        """One more number."""
        return {Key: range(2), Number: range(5)}


@pytest.mark.parametrize("specification", [Swap(), Rotate()], ids=["swap", "rotate"])
@pytest.mark.parametrize("engine", ENGINES)
def test_mappings_are_assigned_as_python_reads_them(specification: Specification[Any], engine: str) -> None:
    """A mapping that was read stays as it is when another is assigned in its place."""
    result = check(specification, engine=engine)
    assert (result.verdict, result.distinct_states) == ("holds", 2)


class Read(Mappings):
    """It looks up a value that is no key, and one that only equals a key."""

    @action
    def look(self, s: Any) -> None:
        """With a default."""
        s.done = s.a.get(9, 7) == 7 and s.a.get(9) is None and s.p.get(9, 7) == 7 and s.a.get(True) == 2

    @invariant
    def never(self, s: Two) -> bool:
        """The lookups do not all answer like a dict."""
        return not s.done


class Put(Mappings):
    """It assigns to a value that only equals a key."""

    @action
    def put(self, s: Any) -> None:
        """Python would take it for the key."""
        s.p[True] = 2


@pytest.mark.parametrize("engine", ENGINES)
def test_keys(engine: str) -> None:
    """A total mapping answers for an unknown key as a partial one does. A key must have the type of the keys."""
    assert check(Read(), engine=engine).verdict == "violated"
    found = check(Put(), engine=engine).counterexample
    assert found is not None
    assert found.broken == "type_ok"


def test_errors_about_a_module_loaded_twice_name_both_copies() -> None:
    """For a value, a record and a constant. A member with another name has the usual error."""
    found = importlib.util.spec_from_file_location("again", __file__)
    assert found is not None
    assert found.loader is not None
    again = importlib.util.module_from_spec(found)
    found.loader.exec_module(again)
    both = f"it is a again.{{0}}, and a {__name__}.{{0}} is expected"
    with pytest.raises(OutOfDomain, match=both.format("Level")):
        one_of(*Level).rank(again.Level.HIGH)
    with pytest.raises(OutOfDomain, match=both.format("Pair")):
        record(Pair, left=NUMBERS, right=NUMBERS).rank(again.Pair(1, 2))
    with pytest.raises(UsageError, match=both.format("Level")):
        Leveled(level=again.Level.HIGH)
    with pytest.raises(OutOfDomain, match=r"is not one of <?Level[^;]*$|is not one of 1, 2$"):
        one_of(*Level).rank(Word.OPEN)


class Leveled(Specification[Held]):
    """With a constant."""

    level: Level = constant(Level.LOW, "How high.")
