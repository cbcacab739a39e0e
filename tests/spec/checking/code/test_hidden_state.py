"""Hidden state is refused: by inspecting actions and properties before anything is evaluated, or when it changes."""

from __future__ import annotations

import datetime as dt
import functools
import io
import itertools
import logging
import os
import random
import secrets
import sys
import time
import uuid
from collections import defaultdict, deque
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from datetime import datetime
from random import random as drawn
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

from spec.checking import check, simulate
from spec.checking.code.hidden_state import HiddenState
from spec.checking.graph.state_space import state_space
from spec.checking.local.engine import LocalEngine
from spec.checking.reference import ReferenceEngine
from spec.language import (
    Size,
    Specification,
    SpecificationError,
    State,
    action,
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


def remembering(seen: list[int] = []) -> int:  # noqa: B006
    """It changes its default value."""
    seen.append(0)
    return 0


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


def summed() -> int:
    """Its closure ends with the call."""
    total = 0

    def add(number: int) -> None:
        nonlocal total
        total += number

    add(1)
    return total


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


def printing(self: Any, s: Any) -> int:
    """It prints to `sys.stdout`, and so changes it."""
    with redirect_stdout(io.StringIO()) if s.x < 5 else nullcontext():
        print("x", file=sys.stdout)
    return 0


# Hidden state and the words of the refusal. Chance is rare everywhere here: it only matters where x is 4.

BY_INSPECTION: dict[str, tuple[dict[str, Any], str]] = {
    "a counter in the class": (
        {"it": itertools.count(), "decided": lambda self, s: 0 if s.x < 4 else next(self.it) * 0},
        r"looks at Hidden\.it, an iterator \(count\)",
    ),
    "a generator in the module": (
        {"decided": lambda self, s: 0 if s.x < 4 else next(GENERATED) * 0},
        r"looks at GENERATED, an iterator \(generator\)",
    ),
    "an open file": (
        {"it": open(__file__), "decided": lambda self, s: s.x == 4 and self.it.read() == ""},  # noqa: SIM115
        r"looks at Hidden\.it, an open file",
    ),
    "a generator of random numbers": (
        {"decided": lambda self, s: s.x == 4 and RANDOM.random() < 0.5},
        "looks at RANDOM, a generator of random numbers",
    ),
    "chance": ({"decided": lambda self, s: s.x == 4 and random.random() < 0.5}, r"calls random\.random"),
    "chance by another name": ({"decided": lambda self, s: s.x == 4 and drawn() < 0.5}, r"calls random\.random"),
    "chance in another module": (
        {"decided": lambda self, s: dice.thrown() % 2},
        r"rolled, which calls random\.randint",
    ),
    "chance in a container": ({"decided": lambda self, s: CHOICES["a"]() < 0.5}, r"calls random\.random"),
    "chance as a member": ({"die": random.random, "decided": lambda self, s: self.die() < 0.5}, r"random\.random"),
    "chance as a default": ({"decided": with_default}, r"calls random\.random"),
    "chance with its arguments": (
        {"die": functools.partial(random.randint, 0, 1), "decided": lambda self, s: self.die()},
        r"random\.randint",
    ),
    "chance in a property": (
        {"die": property(lambda self: random.random()), "decided": lambda self, s: self.die < 0.5},
        r"random\.random",
    ),
    "chance inside a function inside": (
        {"decided": lambda self, s: max(range(2), key=lambda number: random.random())},
        r"random\.random",
    ),
    "chance that is imported there": ({"decided": importing}, r"random\.random"),
    "chance under a local name": ({"decided": renaming}, r"random\.random"),
    "a generator without a seed": ({"decided": lambda self, s: random.Random().random() < 0.5}, r"random\.Random"),
    "chance of numpy": ({"decided": lambda self, s: np.random.rand() < 0.5}, r"numpy\.random\.rand"),
    "secrets": ({"decided": lambda self, s: secrets.randbelow(2)}, r"secrets\.randbelow"),
    "secret choices": ({"decided": lambda self, s: secrets.choice([0, 1])}, r"random\.choice"),
    "noise": ({"decided": lambda self, s: os.urandom(1)[0] % 2}, r"os\.urandom"),
    "a new name": ({"decided": lambda self, s: uuid.uuid4().int % 2}, r"uuid\.uuid4"),
    "a clock": ({"decided": lambda self, s: s.x == 4 and int(time.time()) % 2}, r"time\.time"),
    "a clock, written": ({"decided": lambda self, s: time.strftime("%S") == "00"}, r"time\.strftime"),
    "the date": ({"decided": lambda self, s: datetime.now().second % 2}, r"datetime\.datetime\.now"),
    "the date, by module": ({"decided": lambda self, s: dt.date.today().day % 2}, r"datetime\.date\.today"),
    "where an object lies": ({"decided": lambda self, s: id(s) % 2}, "calls id"),
    "an order by that": ({"decided": lambda self, s: sorted(["a", "b"], key=id)[0] == "a"}, "calls id"),
    "the hash of a new object": ({"decided": lambda self, s: hash(object()) % 2}, "calls hash of a new object"),
    "a record that looks at a clock": ({"decided": lambda self, s: s.pair.late()}, r"late, which calls time\.time"),
    "a global": ({"decided": assigning}, "assigns the global CALLS"),
    "a closure": ({"decided": lambda self, s: TICK()}, "tick, which assigns the nonlocal calls"),
}
WHEN_CHANGED: dict[str, tuple[dict[str, Any], str]] = {
    "a queue": ({"decided": lambda self, s: 0 if s.x < 4 else QUEUE.pop() * 0}, "looks at QUEUE"),
    "a default": ({"decided": lambda self, s: remembering()}, "remembering, which looks at a default"),
    "an object": ({"decided": lambda self, s: TALLY.tick()}, "looks at TALLY"),
    "a list in a dict": ({"decided": lambda self, s: len(TABLE[2].__iadd__([1])) * 0}, "looks at TABLE"),
    "a memory": ({"decided": lambda self, s: MEMORY.setdefault(len(MEMORY), 0)}, "looks at MEMORY"),
    "a class": ({"decided": leveling}, r"looks at Settings\.level"),
}
FINE: dict[str, Any] = {
    "a cache": lambda self, s: parity(s.x),
    "a generator with a seed": lambda self, s: random.Random(s.x).randint(0, 5),
    "printing": lambda self, s: print("x", file=sys.stderr) or LOGGER.info("x") or 0,  # type: ignore[func-returns-value]
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
}


def hidden(members: dict[str, Any]) -> Specification[Numbers]:
    """A specification with these members."""
    made: Specification[Numbers] = type("Hidden", (Counting,), members)()
    return made


@rows("members, does", BY_INSPECTION)
def test_inspected_hidden_state_is_always_refused(members: dict[str, Any], does: str) -> None:
    """On one line with the rule, the name and the place, without evaluating anything."""
    with pytest.raises(SpecificationError, match=rf"^action decide of Hidden .*{does}.*, line \d+\): ") as caught:
        HiddenState(hidden(members))
    assert "\n" not in str(caught.value)


def ranging(self: Any, s: Any, number: Number) -> None:
    """An action with a parameter."""


RULES: dict[str, tuple[dict[str, Any], str]] = {
    "an invariant": (
        {"judge": invariant(lambda self, s: random.random() < 2)},
        r"^invariant judge of Hidden calls random\.random",
    ),
    "a property of steps": (
        {"judge": transition_invariant(lambda self, before, step, after: time.monotonic() > 0)},
        r"^transition invariant judge of Hidden calls time\.monotonic",
    ),
    "a way to begin": (
        {"begin": initial(lambda self, s: setattr(s, "x", random.choice([0, 1])))},
        r"^initial of Hidden calls random\.choice",
    ),
    "what a parameter ranges over": (
        {"range": action(number=lambda self, s: {random.randint(0, 1)})(ranging)},
        r"^action range of Hidden runs <lambda>, which calls random\.randint",
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


@pytest.mark.parametrize("explored", ENGINES.values(), ids=ENGINES)
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
def test_pure_rules_are_accepted(decided: Any) -> None:
    """On any engine."""
    for explored in (ENGINES["reference"], ENGINES["local"]):
        explored(hidden({"decided": decided}))
