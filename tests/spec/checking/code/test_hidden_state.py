"""Hidden state is refused: by inspecting actions and properties before anything is evaluated, or when it changes."""

from __future__ import annotations

import abc
import array
import contextvars
import datetime as dt
import decimal
import enum
import functools
import io
import itertools
import logging
import os
import random
import secrets
import subprocess
import sys
import threading
import time
import traceback
import types
import uuid
import warnings
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from random import random as drawn
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

from spec.checking import check, simulate
from spec.checking.code.hidden_state import HiddenState
from spec.checking.graph.state_space import state_space
from spec.checking.local.engine import LocalEngine
from spec.checking.model import EvaluationFailed, Model
from spec.checking.reference import ReferenceEngine
from spec.language import (
    Size,
    Specification,
    SpecificationError,
    State,
    action,
    frozen,
    initial,
    invariant,
    require,
    transition_invariant,
    variable,
)
from spec.testing import as_state_machine
from tests.rows import rows
from tests.spec.checking import dice

Number = Annotated[int, "a number"]


class Pair(NamedTuple):
    """A record whose methods are called."""

    one: Number

    def late(self) -> bool:
        """It reads a clock."""
        return time.time() < 0

    def odd(self) -> bool:
        """It reads no clock."""
        return self.one % 2 == 1


class Numbers(State):
    """Two numbers and a record."""

    x: Number = variable("A counter.")
    y: Number = variable("The last decision.")
    pair: Pair = variable("A record.")


class Counting(Specification[Numbers]):
    """It counts, and makes decisions."""

    def sizes(self) -> dict[Any, Size]:
        """Six numbers."""
        return {Number: range(6)}

    @action
    def count(self, s: Numbers) -> None:
        """It counts."""
        require(s.x < 5)
        s.x += 1

    @action
    def decide(self, s: Numbers) -> None:
        """It decides."""
        s.y = int(self.decided(s))

    def decided(self, s: Numbers) -> Any:
        """Overridden in the tests."""
        return 0


class Tally:
    """An object that changes when it is called."""

    def __init__(self) -> None:
        self.calls = 0

    def tick(self) -> int:
        """Count the calls."""
        self.calls += 1
        return 0


class Settings:
    """A namespace."""

    limit = 2
    level = 0


class Implementation:
    """The implementation under specification. No rule refers to it."""

    def decided(self) -> float:
        """A method with the name of one of the specification's."""
        return time.time()


GENERATED = (each for each in range(1000))
QUEUE = deque(range(10_000))
TABLE = {1: [2], 2: [3]}
MEMORY = dict[int, int]()
COUNTED = defaultdict[int, int](int)
TALLY = Tally()
RANDOM = random.Random(3)
CHOICES = {"a": random.random}
LOGGER = logging.getLogger("hidden")
CALLS = 0
FAILURE = ValueError("a constant")
HERE = Path(__file__)
LOCK = threading.Lock()
NUMBERS = np.arange(4)
VARIABLE = contextvars.ContextVar("VARIABLE", default=1)


def reading(seen: list[int] = [1]) -> int:  # noqa: B006
    """It only reads its default value."""
    return len(seen)


def ticking() -> Callable[[], int]:
    """A function that counts its calls in a closure."""
    calls = 0

    def tick() -> int:
        nonlocal calls
        calls += 1
        return 0

    return tick


TICK = ticking()


def after(function: Callable[[], Any]) -> Callable[[], Any]:
    """A function around a function."""
    return lambda: function


CHOSEN: Callable[[], Any] = ticking
FROZEN = frozen({1: 1})


def choosing(s: Any) -> int:
    """It assigns another function to a global variable."""
    global CHOSEN
    CHOSEN = after(CHOSEN) if s.x == 4 else CHOSEN
    return 0


def freezing(s: Any) -> int:
    """It assigns another mapping to a global variable."""
    global FROZEN
    FROZEN = frozen({1: FROZEN[1] + 1})
    return 0


def switching() -> Callable[[], int]:
    """A function that keeps another function in a closure."""
    chosen: Callable[[], Any] = summed

    def switch() -> int:
        nonlocal chosen
        chosen = after(chosen)
        return 0

    return switch


def summed() -> int:
    """Its closure ends with the call."""
    total = 0

    def add(number: int) -> None:
        nonlocal total
        total += number

    add(1)
    return total


SWITCH = switching()


@functools.cache
def parity(number: int) -> int:
    """A function with a cache."""
    return number % 2


def assigning(self: Any, s: Any) -> int:
    """It counts its calls in a global variable."""
    global CALLS
    CALLS += 1
    return 0


def importing(self: Any, s: Any) -> float:
    """It imports what it calls."""
    from random import random as rolled

    return rolled()


def renaming(self: Any, s: Any) -> float:
    """It passes the module on."""
    chance = random
    return chance.random()


def leveling(self: Any, s: Any) -> int:
    """It counts its calls in a class attribute."""
    Settings.level += 1
    return 0


def with_default(self: Any, s: Any, die: Callable[[], float] = random.random) -> float:
    """A random function is its default value."""
    return die()


def searching(self: Any, s: Any) -> bool:
    """It makes an object that equals no other."""
    missing = object()
    return TABLE.get(s.x, missing) is missing


def by_its_text() -> Any:
    """A rule that assigns to a global variable whose name no code has; in a module of its own."""
    known: dict[str, Any] = {"__name__": __name__}
    exec("def decided(self, s):\n    globals().setdefault('BY_' + 'TEXT', []).append(1)\n    return 0", known)
    return known["decided"]


@functools.cache
def listed(number: int) -> list[int]:
    """A function that keeps lists."""
    return [number]


@functools.lru_cache(typed=True)
def of_types(number: int, *, more: int) -> list[int]:
    """A function that keeps lists by the types of its arguments."""
    return [number]


@functools.lru_cache(maxsize=2)
def bounded(number: int, most: int) -> list[int]:
    """A function that keeps few lists."""
    return [number]


class Computing:
    """An object with an attribute that is computed when it is needed."""

    @functools.cached_property
    def listed(self) -> list[int]:
        """A new list."""
        return [1]


COMPUTING = Computing()


class Flags(enum.Flag):
    """Flags; Python makes a member for each combination that is used."""

    A, B, C = enum.auto(), enum.auto(), enum.auto()


class Abstract(abc.ABC):
    """A class that remembers which classes are its subclasses."""

    @abc.abstractmethod
    def tick(self) -> int:
        """As in `Tally`."""


@functools.singledispatch
def by_type(value: object) -> int:
    """A function that remembers which types it has met."""
    return 0


@by_type.register
def _(value: str) -> int:
    return 1


def raised() -> bool:
    """It raises an exception that is a constant."""
    try:
        raise FAILURE
    except ValueError:
        return True


def explained() -> str:
    """It has Python look at this source."""
    try:
        raise FAILURE
    except ValueError:
        return traceback.format_exc()


def locked() -> bool:
    """It holds a lock for a moment."""
    with LOCK:
        return True


def importing_late() -> int:
    """It imports a module that was not there."""
    sys.modules.pop("colorsys", None)
    import colorsys

    return int(colorsys.ONE_THIRD)


def printing(self: Any, s: Any) -> int:
    """It prints to `sys.stdout`, and so changes it."""
    with redirect_stdout(io.StringIO()) if s.x < 5 else nullcontext():
        print("x", file=sys.stdout)
    return 0


# What is refused before anything is evaluated. Chance is rare everywhere here: it only matters where x is 4.

BY_INSPECTION: dict[str, tuple[dict[str, Any], str]] = {
    "a generator in the module": (
        {"decided": lambda self, s: 0 if s.x < 4 else next(GENERATED) * 0},
        "looks at GENERATED, a generator",
    ),
    "an open file": (
        {"it": open(__file__), "decided": lambda self, s: s.x == 4 and self.it.read() == ""},  # noqa: SIM115
        r"looks at Hidden\.it, an open file",
    ),
    "chance": ({"decided": lambda self, s: s.x == 4 and random.random() < 0.5}, r"uses random\."),
    "chance by another name": ({"decided": lambda self, s: s.x == 4 and drawn() < 0.5}, r"uses random\."),
    "chance in another module": (
        {"decided": lambda self, s: dice.thrown() % 2},
        r"rolled, which uses random\.",
    ),
    "chance in a container": ({"decided": lambda self, s: CHOICES["a"]() < 0.5}, r"uses random\."),
    "chance as a member": ({"die": random.random, "decided": lambda self, s: self.die() < 0.5}, r"uses random\."),
    "chance as a default": ({"decided": with_default}, r"uses random\."),
    "chance with its arguments": (
        {"die": functools.partial(random.randint, 0, 1), "decided": lambda self, s: self.die()},
        r"uses random\.",
    ),
    "chance in a property": (
        {"die": property(lambda self: random.random()), "decided": lambda self, s: self.die < 0.5},
        r"uses random\.",
    ),
    "chance inside a function inside": (
        {"decided": lambda self, s: max(range(2), key=lambda number: random.random())},
        r"uses random\.",
    ),
    "chance that is imported there": ({"decided": importing}, r"uses random\."),
    "chance under a local name": ({"decided": renaming}, "uses random"),
    "a generator without a seed": ({"decided": lambda self, s: random.Random().random() < 0.5}, r"random\.Random"),
    "chance of numpy": ({"decided": lambda self, s: np.random.rand() < 0.5}, r"numpy\.random"),
    "a generator of numpy without a seed": (
        {"decided": lambda self, s: np.random.default_rng().random() < 0.5},
        r"numpy\.random\.default_rng",
    ),
    "secrets": ({"decided": lambda self, s: secrets.randbelow(2)}, r"secrets\.randbelow"),
    "secret choices": ({"decided": lambda self, s: secrets.choice([0, 1])}, r"random\."),
    "noise": ({"decided": lambda self, s: os.urandom(1)[0] % 2}, r"os\.urandom"),
    "a new name": ({"decided": lambda self, s: uuid.uuid4().int % 2}, r"uuid\.uuid4"),
    "a clock": ({"decided": lambda self, s: s.x == 4 and int(time.time()) % 2}, r"time\.time"),
    "a clock, written": ({"decided": lambda self, s: time.strftime("%S") == "00"}, r"time\.strftime"),
    "the date": ({"decided": lambda self, s: datetime.now().second % 2}, r"datetime\.datetime\.now"),
    "the date, by module": ({"decided": lambda self, s: dt.date.today().day % 2}, r"datetime\.date\.today"),
    "where an object lies": ({"decided": lambda self, s: id(s) % 2}, "uses id"),
    "an order by that": ({"decided": lambda self, s: sorted(["a", "b"], key=id)[0] == "a"}, "uses id"),
    "a record that looks at a clock": ({"decided": lambda self, s: s.pair.late()}, r"late, which uses time\.time"),
    "whether a file exists": ({"decided": lambda self, s: HERE.exists()}, "uses a Path"),
    "whether it exists, by another way": ({"decided": lambda self, s: os.path.exists("x")}, r"os\.path\.exists"),
    "the directory": ({"decided": lambda self, s: os.listdir(".") == []}, r"os\.listdir"),
    "another process": ({"decided": lambda self, s: subprocess.call(["true"])}, r"subprocess\.call"),
    "the size of a cache": ({"decided": lambda self, s: parity.cache_info().currsize}, "cache_info"),
}
WHEN_CHANGED: dict[str, tuple[dict[str, Any], str]] = {
    "a queue": ({"decided": lambda self, s: 0 if s.x < 4 else QUEUE.pop() * 0}, "looks at QUEUE"),
    "an object": ({"decided": lambda self, s: TALLY.tick()}, "looks at TALLY"),
    "a generator of random numbers": (
        {"decided": lambda self, s: s.x == 4 and RANDOM.random() < -1},
        "looks at RANDOM",
    ),
    "a counter in the class": (
        {"it": itertools.count(), "decided": lambda self, s: 0 if s.x < 4 else next(self.it) * 0},
        r"looks at Hidden\.it",
    ),
    "a global": ({"decided": assigning}, "looks at CALLS"),
    "a closure": ({"decided": lambda self, s: TICK()}, "tick, which looks at calls"),
    "a function in a global": ({"decided": lambda self, s: choosing(s)}, "choosing, which looks at CHOSEN"),
    "a function in a closure": ({"decided": lambda self, s: SWITCH()}, "switch"),
    "a frozen mapping": ({"decided": lambda self, s: freezing(s)}, "looks at FROZEN"),
    "a class": ({"decided": leveling}, "looks at Settings"),
    "a global by its text": ({"decided": by_its_text()}, "looks at globals"),
    "the result in a cache": ({"decided": lambda self, s: len(listed(s.x).__iadd__([1])) * 0}, "listed, which .*"),
    "a computed attribute": ({"decided": lambda self, s: len(COMPUTING.listed.__iadd__([1])) * 0}, "looks at [Cc].*"),
}
FINE: dict[str, Any] = {
    "a cache": lambda self, s: parity(s.x),
    "a cache of lists": lambda self, s: len(listed(s.x)) + len(of_types(s.x, more=2)) + len(bounded(s.x, most=1)) - 3,
    "a computed attribute": lambda self, s: len(COMPUTING.listed),
    "a generator with a seed": lambda self, s: random.Random(s.x).randint(0, 5),
    "printing": lambda self, s: print("x", file=sys.stderr) or LOGGER.info("x") or 0,  # type: ignore[func-returns-value]
    "a warning": lambda self, s: warnings.warn("x", UserWarning, stacklevel=1) or 0,
    "a traceback": lambda self, s: int(explained() == ""),
    "a stream that is another one meanwhile": printing,
    "a table": lambda self, s: TABLE[1][0] + reading(),
    "a closure that is over": lambda self, s: summed(),
    "the environment": lambda self, s: len(os.environ.get("NOTHING", "1")),
    "iterators that are new": lambda self, s: next(itertools.count()) + next(iter([1])),
    "a default that is looked up": lambda self, s: COUNTED[s.x],
    "a constant of a class": lambda self, s: time.sleep(0) or Settings.limit,  # type: ignore[func-returns-value]
    "a hash of values": lambda self, s: hash((s.x, 3)) % 2,
    "a date that is given": lambda self, s: datetime(2020, 1, s.x + 1).day % 6,
    "a method of a record": lambda self, s: s.pair.odd(),
    "an object that is new": searching,
    "an object that is changed inside": lambda self, s: Tally().tick(),
    "flags that are put together": lambda self, s: int(Flags.A | Flags.B in Flags),
    "an abstract class": lambda self, s: int(isinstance(TALLY, Abstract)),
    "a function by type": lambda self, s: by_type(s.x) + by_type("a"),
    "numbers of numpy": lambda self, s: int(NUMBERS.sum()),
    "decimal numbers": lambda self, s: int(decimal.Decimal(1) / 3),
    "an exception that is raised again": lambda self, s: int(raised()),
    "a lock": lambda self, s: int(locked()),
    "a context variable": lambda self, s: VARIABLE.get(),
    "an import": lambda self, s: importing_late(),
}


def hidden(members: dict[str, Any]) -> Specification[Numbers]:
    """A specification with these members."""
    made: Specification[Numbers] = type("Hidden", (Counting,), members)()
    return made


@rows("members, does", BY_INSPECTION)
def test_what_depends_on_more_is_always_refused(members: dict[str, Any], does: str) -> None:
    """On one line with the rule, the name and the place, without evaluating anything."""
    with pytest.raises(SpecificationError, match=rf"^action decide of Hidden .*{does}.*, line \d+\): ") as caught:
        HiddenState(hidden(members))
    assert "\n" not in str(caught.value)


def ranging(self: Any, s: Any, number: Number) -> None:
    """An action with a parameter."""


RULES: dict[str, tuple[dict[str, Any], str]] = {
    "an invariant": (
        {"judge": invariant(lambda self, s: random.random() < 2)},
        r"^invariant judge of Hidden uses random\.",
    ),
    "a property of steps": (
        {"judge": transition_invariant(lambda self, before, step, after: time.monotonic() > 0)},
        r"^transition invariant judge of Hidden uses time\.monotonic",
    ),
    "a way to begin": (
        {"begin": initial(lambda self, s: setattr(s, "x", random.choice([0, 1])))},
        r"^initial of Hidden uses random\.",
    ),
    "what a parameter ranges over": (
        {"range": action(number=lambda self, s: {random.randint(0, 1)})(ranging)},
        r"^action range of Hidden runs <lambda>, which uses random\.",
    ),
}


@rows("members, message", RULES)
def test_rules_of_each_kind_are_inspected(members: dict[str, Any], message: str) -> None:
    """The error names the rule."""
    with pytest.raises(SpecificationError, match=message):
        HiddenState(hidden(members))


ENGINES: dict[str, Callable[[Specification], object]] = {
    "reference": lambda subject: check(subject, engine=ReferenceEngine()),
    "local": lambda subject: check(subject, engine=LocalEngine()),
    "auto": check,
    "simulate": lambda subject: simulate(subject, runs=50, plain=True),
    "graph": state_space,
}


@pytest.mark.parametrize(
    "explored",
    [pytest.param(its, id=name, marks=[pytest.mark.long] * (name != "reference")) for name, its in ENGINES.items()],
)
@rows("members, does", WHEN_CHANGED)
def test_changed_values_are_refused(
    members: dict[str, Any], does: str, explored: Callable[[Specification], object]
) -> None:
    """On every engine, with the value and the rule that reads it."""
    with pytest.raises(SpecificationError, match=rf"^action decide of Hidden .*{does} \(.*meanwhile"):
        explored(hidden(members))


def test_a_state_machine_refuses_changed_values() -> None:
    """At the end of a walk."""
    machine = as_state_machine(hidden(WHEN_CHANGED["an object"][0]))()
    with pytest.raises(SpecificationError, match="TALLY"):
        machine.teardown()


@pytest.mark.parametrize("decided", FINE.values(), ids=FINE)
@pytest.mark.filterwarnings("ignore")
def test_pure_rules_are_accepted(decided: Any) -> None:
    """On any engine."""
    for explored in (ENGINES["reference"], ENGINES["local"]):
        explored(hidden({"decided": decided}))


# Kinds of values, and how each is changed.


@dataclass(slots=True)
class Slotted:
    """An object without a dictionary."""

    seen: int = 0


@dataclass(frozen=True)
class Frozen:
    """A record around a list."""

    seen: list[int] = field(default_factory=list)


class Bare:
    """An object whose slots may be empty."""

    __slots__ = ("seen",)


class OwnDict(dict[str, int]):
    """A dictionary of the author's."""


class OwnRandom(random.Random):
    """An object of the author's with an interior in C."""


class Name(NamedTuple):
    """A tuple around a dictionary."""

    seen: dict[str, int]


KINDS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "list": (list, lambda held: held.append(1)),
    "dict": (dict, lambda held: held.update(a=1)),
    "order of a dict": (lambda: {"a": 1, "b": 2}, lambda held: held.update(a=held.pop("a"))),
    "type of an item": (lambda: [1, 0.0], lambda held: held.__setitem__(0, True)),
    "small change": (lambda: [-1], lambda held: held.__setitem__(0, -2)),
    "where a list ends": (lambda: [[1], 2], lambda held: (held[0].append(2), held.pop())),
    "sharing": (lambda: [[], []], lambda held: held.__setitem__(1, held[0])),
    "set": (set, lambda held: held.add(1)),
    "deque": (deque, lambda held: held.append(1)),
    "bytearray": (lambda: bytearray(2), lambda held: held.__setitem__(0, 1)),
    "array": (lambda: array.array("i", [1]), lambda held: held.__setitem__(0, 2)),
    "numpy": (lambda: np.zeros(3), lambda held: held.__setitem__(0, 2)),
    "memory": (lambda: memoryview(bytearray(2))[:1].obj, lambda held: held.__setitem__(0, 1)),
    "defaultdict": (lambda: defaultdict(int), lambda held: held.update(a=1)),
    "OrderedDict": (lambda: OrderedDict(a=1, b=2), lambda held: held.move_to_end("a")),
    "Counter": (Counter, lambda held: held.update("a")),
    "UserDict": (UserDict, lambda held: held.update(a=1)),
    "UserList": (UserList, lambda held: held.append(1)),
    "ChainMap": (lambda: ChainMap({}, {"a": 1}), lambda held: held.update(a=2)),
    "namespace": (types.SimpleNamespace, lambda held: setattr(held, "seen", 1)),
    "tuple around a list": (lambda: (1, []), lambda held: held[1].append(1)),
    "named tuple": (lambda: Name({}), lambda held: held.seen.update(a=1)),
    "frozen dataclass": (Frozen, lambda held: held.seen.append(1)),
    "object": (Tally, lambda held: held.tick()),
    "object with slots": (Slotted, lambda held: setattr(held, "seen", 1)),
    "object with an empty slot": (Bare, lambda held: setattr(held, "seen", 1)),
    "dictionary of the author's": (OwnDict, lambda held: held.update(a=1)),
    "attribute of such a dictionary": (OwnDict, lambda held: setattr(held, "seen", 1)),
    "counter": (itertools.count, next),
    "iterator": (lambda: iter([1, 2, 3]), next),
    "random numbers": (lambda: random.Random(1), lambda held: held.random()),
    "random numbers of the author's": (lambda: OwnRandom(1), lambda held: held.random()),
    "random numbers of numpy": (lambda: np.random.default_rng(1), lambda held: held.random()),
    "context variable": (lambda: contextvars.ContextVar("a"), lambda held: held.set(1)),
    "bound method": (lambda: [].append, lambda held: held(1)),
    "partial": (lambda: functools.partial(list.append, []), lambda held: held(1)),
    "class": (lambda: type("Kept", (), {"seen": 0, "__module__": __name__}), lambda held: setattr(held, "seen", 1)),
    "exception": (ValueError, lambda held: held.add_note("seen")),
}


def in_a_closure(held: Any, change: Any) -> dict[str, Any]:
    """A rule with a value of a function outside."""
    return {"decided": lambda self, s: int(change(held) is NotImplemented)}


def in_a_default(held: Any, change: Any) -> dict[str, Any]:
    """A rule with a default."""

    def decided(self: Any, s: Any, held: Any = held) -> int:
        change(held)
        return 0

    return {"decided": decided}


def in_the_class(held: Any, change: Any) -> dict[str, Any]:
    """A rule that reads an attribute of its class."""

    def decided(self: Any, s: Any) -> int:
        change(type(self).held.seen)
        return 0

    return {"decided": decided, "held": Frozen(held)}


def in_another_class(held: Any, change: Any) -> dict[str, Any]:
    """A rule that reads an attribute of another class, by a text."""
    kept = type("Kept", (), {"held": held, "__module__": __name__})
    return {"decided": lambda self, s: int(change(getattr(kept, "he" + "ld")) is kept)}


def in_an_object(held: Any, change: Any) -> dict[str, Any]:
    """A rule that reads an attribute of an object."""
    return in_a_closure(Frozen(held), lambda one: change(one.seen))


def in_slots(held: Any, change: Any) -> dict[str, Any]:
    """A rule that reads a slot of an object."""
    return in_a_closure(Slotted(held), lambda one: change(one.seen))


def in_a_global(held: Any, change: Any) -> dict[str, Any]:
    """A rule that reads a global variable."""
    known = {"HELD": held, "change": change, "__name__": __name__}
    exec("def decided(self, s):\n    change(HELD)\n    return 0", known)
    return {"decided": known["decided"]}


def in_another_module(held: Any, change: Any) -> dict[str, Any]:
    """A rule that reads a global variable of another of the author's modules."""
    dice.HELD = held  # type: ignore[attr-defined]

    def decided(self: Any, s: Any) -> int:
        change(dice.HELD)  # type: ignore[attr-defined]
        return 0

    return {"decided": decided}


def in_a_module_imported_late(held: Any, change: Any) -> dict[str, Any]:
    """A rule that reads a global variable of a module that it imports itself."""
    dice.HELD = held  # type: ignore[attr-defined]

    def decided(self: Any, s: Any) -> int:
        from tests.spec.checking.dice import HELD  # type: ignore[attr-defined]

        change(HELD)
        return 0

    return {"decided": decided}


def in_a_function(held: Any, change: Any) -> dict[str, Any]:
    """A rule that reads an attribute of a function."""

    def kept() -> None:
        change(kept.held)  # type: ignore[attr-defined]

    kept.held = held  # type: ignore[attr-defined]
    return {"decided": lambda self, s: kept() or 0}  # type: ignore[func-returns-value]


PLACES = (in_a_closure, in_a_default, in_the_class, in_another_class, in_an_object, in_slots, in_a_global)
MORE_PLACES = (in_another_module, in_a_module_imported_late, in_a_function)


@pytest.mark.parametrize("place", [*PLACES, *MORE_PLACES])
@rows("made, change", KINDS)
def test_a_change_of_any_kind_in_any_place_is_noticed(
    place: Callable[[Any, Any], dict[str, Any]], made: Callable[[], Any], change: Callable[[Any], Any]
) -> None:
    """One evaluation is enough, and nothing is said before."""
    model = Model(hidden(place(made(), change)))
    assert not model.hidden_state.changed()
    model.expand(model.first_states()[0])
    assert "changed meanwhile" in model.hidden_state.changed()


# What lies outside.


def swallowing(self: Any, s: Any) -> int:
    """It opens a file, and hides that it may not."""
    try:
        with open(__file__) as file:
            return len(file.read()) * 0
    except Exception:
        return 0


OUTSIDE: dict[str, Any] = {
    "a file": lambda self, s: len(open(__file__).read()) * 0,  # noqa: SIM115
    "a file, and the refusal is swallowed": swallowing,
    "a file that an installed package reads": lambda self, s: len(np.fromfile(__file__, "u1")) * 0,
    "a listing": lambda self, s: len(getattr(sys.modules["os"], "listdir")(".")) * 0,  # noqa: B009
    "the environment, changed": lambda self, s: os.environ.update(NOTHING="1") or 0,
    "another process": lambda self, s: getattr(sys.modules["os"], "system")("true"),  # noqa: B009
}


@pytest.mark.parametrize(
    "engine", ["reference", *(pytest.param(each, marks=pytest.mark.long) for each in ("local", "simulate"))]
)
@rows("decided", OUTSIDE)
def test_what_lies_outside_is_refused(decided: Any, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the rule and what it turns to, even if the rule hides the refusal; after a whole search."""
    monkeypatch.delenv("NOTHING", raising=False)
    with pytest.raises(SpecificationError, match=r"^action decide of Hidden .*causes \S+\(.*line \d+\)"):
        ENGINES[engine](hidden({"decided": decided}))


def test_other_code_may_open_files_while_a_rule_is_known() -> None:
    """Also the functions that a rule calls, when it does not call them."""
    HiddenState(hidden({"decided": OUTSIDE["a file"], "unused": swallowing}))
    assert swallowing(None, None) == 0
    assert Path(__file__).read_text()


def test_a_cache_by_states_is_refused() -> None:
    """A state is a window that shows one state after the other."""
    with pytest.raises(EvaluationFailed, match="a state has no hash"):
        check(hidden({"decided": functools.cache(lambda self, s: s.x)}), engine=ReferenceEngine())


def test_a_long_search_ends_early_when_something_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """It need not come to its end."""
    monkeypatch.setattr("spec.checking.code.hidden_state.LONG", 0)
    seen = list[int]()
    with pytest.raises(SpecificationError, match="TALLY"):
        check(
            hidden(WHEN_CHANGED["an object"][0]),
            engine=ReferenceEngine(),
            on_progress=lambda statistics: seen.append(statistics.depth),
        )
    assert max(seen) < 6
