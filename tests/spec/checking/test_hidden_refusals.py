"""Rules that hide how a value refuses: every engine gives plain Python's verdict, whatever hides it, and where.

A compiled engine runs rules on stand-ins for values, which refuse a few things with one of Python's exceptions. Each
module written here does one of these, hides the exception, and is violated on plain values in one state.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from textwrap import dedent, indent

import pytest

from spec.checking import check
from tests.rows import rows
from tests.seeds import seed_of_this_run
from tests.spec.checking.everywhere import agreed
from tests.spec.checking.random_systems import loaded

SEED = seed_of_this_run("REFUSALS_SEED")

RIGHT = "fine is violated, in 150 states"

PRELUDE = """\
import contextlib
import functools
import json
from contextlib import ContextDecorator, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

from spec.language import Specification, State, action, invariant, require, variable

Number = Annotated[int, "a number"]
WRONG = (LookupError, TypeError)
METHODS = {"by": "hidden"}


class Unfit(Exception):
    pass


class Quiet:
    def __enter__(self):
        return self

    def __exit__(self, *failure):
        return True


class QuietCall(ContextDecorator, Quiet):
    pass


@contextmanager
def quiet():
    try:
        yield
    except TypeError:
        pass


def translated(ask):
    try:
        return ask()
    except TypeError as error:
        raise Unfit from error


def as_key(ask):
    try:
        return ask()
    except TypeError as error:
        raise KeyError from error
"""

REFUSED = (
    'json.dumps(s.number) == "149"',
    "timedelta(s.number) == timedelta(149)",
    "Decimal(s.number) == 149",
    "tuple.count(s.one, 149) == 1",
    "json.dumps(s.one) == '[149]'",
    "json.dumps(s.pair) == '[149, 149]'",
    "tuple.count(s.pair, 149) == 2",
)
"""True in the last of 150 states on plain values; a stand-in refuses. Few other values are compared for a path, and
149 is not among them."""

HIDERS = {
    "its kind": "try:\n    return not ask()\nexcept TypeError:\n    return True",
    "every exception": "try:\n    return not ask()\nexcept Exception:\n    return True",
    "everything": "try:\n    return not ask()\nexcept:\n    return True",
    "several": "try:\n    return not ask()\nexcept (KeyError, TypeError):\n    return True",
    "a name for several": "try:\n    return not ask()\nexcept WRONG:\n    return True",
    "a local name": "Unfit = TypeError\ntry:\n    return not ask()\nexcept Unfit:\n    return True",
    "the second handler": """
        try:
            return not ask()
        except KeyError:
            raise
        except TypeError:
            return True
    """,
    "a group": "found = True\ntry:\n    found = not ask()\nexcept* TypeError:\n    pass\nreturn found",
    "a translation": "try:\n    return not translated(ask)\nexcept Unfit:\n    return True",
    "a translation to a key": "try:\n    return not as_key(ask)\nexcept KeyError:\n    return True",
    "an outer handler": """
        try:
            try:
                return not ask()
            except KeyError:
                return False
        except TypeError:
            return True
    """,
    "in most cases": """
        try:
            return not ask()
        except TypeError:
            if s.number >= 0:
                return True
            raise
    """,
    "by its class": """
        try:
            return not ask()
        except BaseException as error:
            if isinstance(error, TypeError):
                return True
            raise
    """,
    "suppress": "with suppress(TypeError):\n    return not ask()\nreturn True",
    "a context of its author": "with Quiet():\n    return not ask()\nreturn True",
    "a generator's context": "with quiet():\n    return not ask()\nreturn True",
    "a stack of contexts": """
        with ExitStack() as stack:
            stack.enter_context(Quiet())
            return not ask()
        return True
    """,
    "a decorator": "return QuietCall()(lambda: not ask())() is not False",
    "a decorated function": "@quiet()\ndef answer():\n    return not ask()\nreturn answer() is not False",
    "finally": "right = True\ntry:\n    right = not ask()\nfinally:\n    return right",
    "a loop that is left": """
        right = True
        while True:
            try:
                right = not ask()
            finally:
                break
        return right
    """,
    "a module imported inside": """
        import contextlib as imported
        with imported.suppress(TypeError):
            return not ask()
        return True
    """,
}

PLACES = {
    "the rule": "{body}",
    "a function": "return hidden(s, ask)",
    "a function inside": "def inner():\n{indented}\nreturn inner()",
    "a method": "return Box().hidden(s, ask)",
    "a method of a record": "return s.pair.hidden(s, ask)",
    "a partial function": "return functools.partial(hidden, s)(ask)",
    "a table of functions": 'return {{"by": hidden}}["by"](s, ask)',
    "a method by its name": 'return getattr(Box(), "hidden")(s, ask)',
    "a method whose name is in a table": 'return getattr(Box(), METHODS["by"])(s, ask)',
    "a method whose name is put together": 'return getattr(Box(), "".join(["hid", "den"]))(s, ask)',
    "an object with slots": "return SLOTTED.way(s, ask)",
    "a proxy": 'return WAYS["by"][0](s, ask)',
    "the value of a member": "return Way.BY.value[0](s, ask)",
    "an attribute of a function": "return module_of.way(s, ask)",
    "a metaclass": "return (s, ask) in Metal",
    "a text's format": 'return "{{0.hidden}}".format(Later(s, ask)) == "True"',
    "a pattern": "match Later(s, ask):\n    case Later(hidden=True):\n        return True\nreturn False",
    "a default that is made": "return Factory().way(s, ask)",
    "a registered function": "return dispatched(s.number, s, ask)",
    "a cached function": "return remembered(ask)(s)",
    "a property": "return Later(s, ask).hidden",
    "a default": "return (lambda by=hidden: by(s, ask))()",
}


def module(refused: str, hider: str, place: str) -> str:
    """A module with a rule that hides a refusal."""
    body = dedent(HIDERS[hider]).strip()
    inside, deep = indent(body, "    "), indent(body, "        ")
    rule = PLACES[place].format(body=body, indented=inside)
    return f"""{PRELUDE}

def hidden(s, ask):
{inside}


@functools.cache
def remembered(ask):
    return lambda s: hidden(s, ask)


class Box:
    def hidden(self, s, ask):
{deep}


class Later:
    def __init__(self, s, ask):
        self.s, self.ask = s, ask

    @property
    def hidden(self):
        s, ask = self.s, self.ask
{deep}


class Slotted:
    __slots__ = ("way",)


SLOTTED = Slotted()
SLOTTED.way = hidden
WAYS = MappingProxyType({{"by": [hidden]}})


class Way(Enum):
    BY = (hidden, 1)


def module_of():
    pass


module_of.way = hidden


class Metallic(type):
    def __contains__(cls, asked):
        s, ask = asked
{deep}


class Metal(metaclass=Metallic):
    pass


@dataclass
class Factory:
    way: Any = field(default_factory=lambda: hidden)


@functools.singledispatch
def dispatched(number, s, ask):
    return hidden(s, ask)


class Pair(NamedTuple):
    left: Number
    right: Number

    def hidden(self, s, ask):
{deep}


class Here(State):
    number: Number = variable("A number.")
    one: tuple[Number] = variable("A tuple.")
    pair: Pair = variable("A record.")


class Made(Specification[Here]):
    def sizes(self):
        return {{Number: range(200)}}

    @action
    def up(self, s):
        require(s.number < 199)
        s.number += 1
        s.one, s.pair = (s.number,), Pair(s.number, s.number)

    @invariant
    def fine(self, s):
        ask = lambda: {refused}
{indent(rule, "        ")}
"""


def verdicts(hider: str, chosen: Random, directory: Path) -> list[str]:
    """The verdicts of plain Python and of the local engine."""
    text = module(chosen.choice(REFUSED), hider, chosen.choice([*PLACES]))
    with loaded(text, directory) as system:
        return [check(system, engine=engine).headline for engine in ("reference", "local")]


@pytest.mark.long
@rows("place", [*PLACES])
def test_no_place_changes_the_verdict(place: str, tmp_path: Path) -> None:
    """Code that reading does not find is found when it runs."""
    text = module("tuple.count(s.one, 149) == 1", "its kind", place)
    with loaded(text, tmp_path) as system:
        found = [check(system, engine=engine).headline for engine in ("reference", "local")]
    assert found == [RIGHT, RIGHT]


SHARED = (
    PRELUDE
    + """
class Here(State):
    number: Number = variable("A number.")
    one: tuple[Number] = variable("A tuple.")


def hidden(ask):
    try:
        return not ask()
    except TypeError:
        return True


class Slotted:
    __slots__ = ("way",)


BY = Slotted()
BY.way = hidden


class Made(Specification[Here]):
    def sizes(self):
        return {Number: range(200)}

    @action
    def up(self, s):
        require(s.number < 199)
        s.number += 1
        s.one = (s.number,)

    @invariant
    def by_name(self, s):
        return hidden(lambda: tuple.count(s.one, 1000) == 1)

    @invariant
    def by_another_name(self, s):
        return BY.way(lambda: tuple.count(s.one, 149) == 1)

    @invariant
    def even_or_odd(self, s):
        return s.number % 2 in (0, 1) and s.one != (1000,)
"""
)
"""Two properties run the same function, but reading finds it in one only. The others need no plain values."""


def test_code_found_in_one_rule_is_noticed_in_another(tmp_path: Path) -> None:
    """And a rule that does not run it stays as it is."""
    with loaded(SHARED, tmp_path) as system:
        found = [check(system, engine=engine) for engine in ("reference", "local")]
    assert [each.headline for each in found] == ["by_another_name is violated, in 150 states"] * 2
    assert found[1].opaque_rules == ("by_another_name",)


def test_some_hiders_change_no_verdict(tmp_path: Path) -> None:
    chosen = Random(SEED)
    for hider in chosen.sample([*HIDERS], 5):
        assert verdicts(hider, chosen, tmp_path) == [RIGHT, RIGHT], f"{hider}, REFUSALS_SEED={SEED}"


@pytest.mark.long
@pytest.mark.parametrize("number", [pytest.param(n, id=f"{n}, REFUSALS_SEED={SEED}") for n in range(8)])
@pytest.mark.parametrize("hider", [*HIDERS])
def test_no_hider_changes_a_verdict(hider: str, number: int, tmp_path: Path) -> None:
    assert verdicts(hider, Random(f"{SEED}, {hider}, {number}"), tmp_path) == [RIGHT, RIGHT]


@pytest.mark.long
@pytest.mark.parametrize("number", [pytest.param(n, id=f"{n}, REFUSALS_SEED={SEED}") for n in range(40)])
def test_all_engines_agree_on_hidden_refusals(number: int, tmp_path: Path) -> None:
    chosen = Random(f"{SEED}, {number}")
    text = module(chosen.choice(REFUSED), chosen.choice([*HIDERS]), chosen.choice([*PLACES]))
    with loaded(text, tmp_path) as system:
        agreed(system, tmp_path, number)
