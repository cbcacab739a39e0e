"""Odd specifications: mistakes of authors, and the exit code that each must have.

A row is a description, the exit code, a word that the output must contain, and the body of a class `Odd`. Its states
are `Things`, with a variable `x`; the code before the class may also be given. `ACTION` and `BROKEN` stand for a
correct action and a correct invariant that does not hold.
"""

from __future__ import annotations

import textwrap
from typing import NamedTuple


class Odd(NamedTuple):
    """A specification with a mistake."""

    what: str
    exit: int
    says: str
    body: str
    before: str = ""

    @property
    def source(self) -> str:
        """Return the author's file."""
        body = textwrap.dedent(self.body).replace("ACTION", ACTION).replace("BROKEN", BROKEN)
        head = "class Odd(Specification[Things]):\n"
        return f"{BEFORE}\n{textwrap.dedent(self.before)}\n{head}{textwrap.indent(body or 'pass', '    ')}\n"


BEFORE = """
import asyncio, collections, dataclasses, enum, functools, itertools, math, os, random, sys, time
from typing import Annotated, Any, ClassVar, Literal, NamedTuple
from spec.language import *

class Pair(NamedTuple):
    left: int
    right: int

class Colour(enum.Enum):
    RED = 1
    BLUE = 2

Id = Annotated[int, "an id"]
Count = Annotated[int, "a count"]

class Things(State):
    x: int = variable("The number.", of=lambda self: integers(0, 3))
"""

ACTION = """
@action
def tick(self, s):
    require(s.x < 3)
    s.x += 1
"""

BROKEN = """
@invariant
def ok(self, s):
    return s.x < 2
"""


def _things(written: str) -> str:
    """Return a class of states with a variable of this domain."""
    return f"class Things(State):\n    x: Any = variable('The number.', of=lambda self: {written})\n"


def domain(what: str, written: str, says: str = "variable x", exit: int = 2, before: str = "") -> Odd:
    """Return a row with an odd domain of a variable."""
    return Odd(
        f"domain: {what}",
        exit,
        says,
        "@action\ndef tick(self, s):\n    s.x = s.x\n",
        f"{before}\n{_things(written)}",
    )


def parameter(what: str, written: str, says: str = "tick", exit: int = 2, before: str = "") -> Odd:
    """Return a row with an odd range of a parameter."""
    return Odd(
        f"parameter: {what}",
        exit,
        says,
        f"@action(n={written})\ndef tick(self, s, n):\n    require(s.x < 3)\n    s.x += 1\n",
        before,
    )


def effect(what: str, exit: int, says: str, *lines: str, variable: str = "integers(0, 3)") -> Odd:
    """Return a row with an odd body of an action."""
    body = textwrap.indent("\n".join(lines), "    ")
    return Odd(
        f"action: {what}",
        exit,
        says,
        f"@action\ndef tick(self, s):\n{body}\n",
        _things(variable),
    )


def judged(what: str, exit: int, says: str, *lines: str, word: str = "invariant", given: str = "self, s") -> Odd:
    """Return a row with an odd property."""
    body = textwrap.indent("\n".join(lines), "    ")
    return Odd(f"{word}: {what}", exit, says, f"ACTION\n@{word}\ndef judged({given}):\n{body}\n")


def constants(what: str, written: str, says: str = "", exit: int = 2) -> Odd:
    """Return a row with an odd declaration of a constant."""
    return Odd(f"constant: {what}", exit, says, f"c = {written}\nACTION")


def stated(what: str, exit: int, says: str, *lines: str, sizes: str = "{Id: range(3)}") -> Odd:
    """Return a row with odd lines in a class of states, or odd sizes of types."""
    body = "\n".join(["x: Id = variable('It.')", *lines])
    return Odd(
        f"states: {what}",
        exit,
        says,
        f"def sizes(self):\n    return {sizes}\n@action(n=range(2))\ndef tick(self, s, n):\n    s.x = n",
        f"class Things(State):\n{textwrap.indent(body, '    ')}\n",
    )


def ranging(what: str, exit: int, says: str, over: str, given: str = "m") -> Odd:
    """Return a row with an action whose parameter ranges over values of the state."""
    return Odd(
        f"it ranges over {what}",
        exit,
        says,
        "def sizes(self):\n    return {Id: range(2), tuple[Id, ...]: at_most(1)}\n"
        "@initial\ndef start(self, s):\n    s.ids = s.seen[0] = s.ids | {1}\n    s.queue, s.owner[1] = (1,), 1\n"
        f"@action(m={over})\ndef tick(self, s, {given}):\n    s.x = m",
        "class Things(State):\n    x: Id = variable('X.')\n    ids: frozenset[Id] = variable('Ids.')\n"
        "    queue: tuple[Id, ...] = variable('Queue.')\n    owner: Partial[Id, Id] = variable('Owner.')\n"
        "    seen: Total[Id, frozenset[Id]] = variable('Seen.')\n",
    )


MAKES = "@part\ndef left(self):\n    return Lines()\n"


def parted(what: str, exit: int, says: str, body: str, states: str = "left: Line") -> Odd:
    """Return a row with a system that makes an odd part."""
    return Odd(
        f"part: {what}",
        exit,
        says,
        f"{body}\n@action\ndef go(self, s):\n    s.left.bit = 1",
        """
class Line(State):
    bit: Count = variable('A bit.')
    bits: frozenset[Count] = variable('Bits.')

class Other(State):
    pair: Count = variable('A pair.')

class Bare(Part[Line]):
    pass

class Lines(Part[Line]):
    def sizes(self):
        return {Count: range(2)}

class Pairs(Part[Other]):
    pass

@dataclasses.dataclass(frozen=True)
class Held(Part[Line]):
    holds: int
    def sizes(self):
        return {Count: range(self.holds)}

class Kept(Part[Line]):
    def __init__(self, holds):
        self.holds = holds

class Things(State):
"""
        + textwrap.indent(states, "    "),
    )


DOMAINS = [
    domain("a range without end", "subset_of(range(10**12))", "1,000,000,000,000 values"),
    domain("an endless iterator", "itertools.count()", "more than 100,000"),
    domain("an endless cycle", "itertools.cycle([1, 2])", "more than 100,000"),
    domain("an endless generator", "(n for n in itertools.count())", "more than 100,000"),
    domain("integers without end", "integers(0, math.inf)", "ends must be integers"),
    domain("integers from minus infinity", "integers(-math.inf, 0)", "ends must be integers"),
    domain("integers to nan", "integers(0, math.nan)", "ends must be integers"),
    domain("integers to a float", "integers(0, 3.0)", "ends must be integers"),
    domain("integers to None", "integers(0, None)", "ends must be integers"),
    domain("integers to a string", "integers(0, '3')", "ends must be integers"),
    domain("integers the wrong way round", "integers(3, 0)", "it is empty"),
    domain("integers of one end", "integers(3)", "integers()"),
    domain("integers wider than a word", "integers(0, 2**70)", "64 bits"),
    domain("integers too long to print", "integers(0, 10**5000)", "64 bits"),
    domain("a range that is empty", "range(0)", "its domain is empty"),
    domain("an empty list", "[]", "its domain is empty"),
    domain("an empty enumeration", "one_of()", "its domain is empty"),
    domain("an empty Enum class", "Empty", "its domain is empty", before="class Empty(enum.Enum):\n    pass"),
    domain("None", "None", "None is not a domain"),
    domain("a number", "7", "7 is not a domain"),
    domain("a float", "0.5", "0.5 is not a domain"),
    domain("infinity", "math.inf", "inf is not a domain"),
    domain("a boolean", "True", "True is not a domain"),
    domain("a string", "'abc'", "a string is one value"),
    domain("bytes", "b'abc'", "a string is one value"),
    domain("a set", "{1, 2}", "no order"),
    domain("a frozenset", "frozenset({1, 2})", "no order"),
    domain("a dictionary", "{'a': 1}", "keys"),
    domain("a class", "int", "is not a domain"),
    domain("a NamedTuple class", "Pair", "is not a domain"),
    domain("a function", "lambda: range(3)", "is not a domain"),
    domain("a word", "integers", "is not a domain"),
    domain("the module", "math", "is not a domain"),
    domain("a list of lists", "[[1], [2]]", "immutable"),
    domain("a list of dictionaries", "[{}]", "immutable"),
    domain("a value twice", "[1, 1]", "twice"),
    domain("a value twice in disguise", "[1, True]", "twice"),
    domain("a value twice as a float", "[1, 1.0]", "twice"),
    domain("nan", "[math.nan, 1]", "nan"),
    domain("a generator that raises", "(1 // n for n in (1, 0))", "ZeroDivisionError"),
    domain("it raises", "1 // 0", "ZeroDivisionError"),
    domain("an unknown name", "integer(0, 3)", "NameError"),
    domain("an unknown constant", "integers(0, self.top)", "AttributeError"),
    domain("optional of None", "optional(None)", "None is not a domain"),
    domain("optional twice", "optional(optional(range(3)))", "already holds None"),
    domain("optional of a mapping", "optional(mapping((1, 2), range(3)))", "a mapping is a variable of its own"),
    domain("a set of a mapping", "subset_of(mapping((1, 2), range(3)))", "a mapping is a variable of its own"),
    domain("a set of sets of sets", "subset_of(subset_of(subset_of(range(5))))", "values"),
    domain("a set of a number", "subset_of(5)", "5 is not a domain"),
    domain("a sequence without a length", "sequence_of(range(3))", "longest"),
    domain("a sequence of infinite length", "sequence_of(range(3), math.inf)", "the length must be an integer"),
    domain("a sequence of negative length", "sequence_of(range(3), -1)", "it is empty"),
    domain("a sequence of very many", "sequence_of(range(3), 10**9)", "bits"),
    domain("a sequence of a string's length", "sequence_of(range(3), '3')", "the length must be an integer"),
    domain("a record of a class that is none", "record(dict, a=range(3))", "NamedTuple"),
    domain(
        "a record of a dataclass",
        "record(D, a=range(3))",
        "NamedTuple",
        before="@dataclasses.dataclass\nclass D:\n    a: int",
    ),
    domain("a record without fields", "record(Pair)", "left, right"),
    domain("a record in another order", "record(Pair, right=range(2), left=range(2))", "left, right"),
    domain(
        "a record with one field too many", "record(Pair, left=range(2), right=range(2), top=range(2))", "left, right"
    ),
    domain("a record with a wrong field", "record(Pair, left=range(2), right=None)", "None is not a domain"),
    domain("a mapping without values", "mapping((1, 2))", "domain"),
    domain("a mapping of a number", "mapping(3, range(2))", "3 is not a domain"),
    domain("a mapping with a set of keys", "mapping({1, 2}, range(2))", "no order"),
    domain("a mapping with a key twice", "mapping((1, 1), range(2))", "twice"),
    domain("a mapping with a mutable key", "mapping(([],), range(2))", "immutable"),
    domain("a mapping with endless keys", "mapping(itertools.count(), range(2))", "more than 100,000"),
    domain("a mapping with very many keys", "mapping(range(10**9), range(2))", "more than 100,000"),
    domain(
        "a mapping of a mapping", "mapping((1, 2), mapping((1, 2), range(2)))", "a mapping is a variable of its own"
    ),
    domain("a mapping with a function without parameters", "mapping((1, 2), lambda: range(2))", "TypeError"),
    domain(
        "a mapping with a function that returns None", "mapping((1, 2), lambda key: None)", "None is not a domain"
    ),
    domain("a mapping with values of a set", "mapping((1, 2), {1})", "no order"),
    domain("too many parts", "mapping(range(1000), subset_of(range(1000)))", "100,000"),
    domain("itself", "self.variables", "RecursionError"),
    domain("a domain of itself", "subset_of(self.variables)", "RecursionError"),
    domain("interchangeable of a number", "interchangeable('broker', 3)", "3 is not a domain"),
    domain("interchangeable without values", "interchangeable('broker')", "values"),
    domain("interchangeable of very many", "interchangeable('broker', itertools.count())", "more than 100,000"),
    domain("each of very many", "every_combination(Pair, left=range(1000), right=range(1000))", "1,000,000 choices"),
    domain("each of an unknown field", "every_combination(Pair, middle=range(3))", "TypeError"),
    domain("either of the same", "either(range(2), range(2))", "twice"),
    domain("a part of something else", "part_of(integers(0, 3), 7)", "7 is not an integer"),
    domain("LEFT_OUT, twice", "[LEFT_OUT, LEFT_OUT]", ""),
    domain("a generator that ends", "(n for n in range(3))", "", exit=0),
    domain("an Enum class", "Colour", "", exit=0),
    domain("floats", "[0.5, 1.5]", "", exit=0),
    domain("a range that goes down", "range(3, 0, -1)", "", exit=0),
    domain(
        "nested 600 deep",
        "functools.reduce(lambda inner, _: tuple_of(inner), range(600), integers(0, 1))",
        "variable x: its type is nested more than 100 deep",
    ),
    domain("one value", "['only']", "", exit=0),
    domain("a large range", "range(10**12)", "", exit=0),
    domain("surrogates", "['\\ud800', 'b']", "", exit=0),
    domain("names with line breaks", "['a\\nb', '\\x1b[31m']", "", exit=0),
    domain("very long names", "['a' * 10**6, 'b']", "", exit=0),
]

PARAMETERS = [
    parameter("a range without end", "range(10**12)", "1,000,000,000,000 choices"),
    parameter("an endless iterator", "itertools.count()", "more than 100,000"),
    parameter("a function that gives an endless iterator", "lambda self: itertools.count()", "more than 100,000"),
    parameter("a set", "{1, 2}", "no order"),
    parameter("a string", "'abc'", "a string is one value"),
    parameter("a number", "3", "3 is not a domain"),
    parameter("None", "None", "None is not a domain"),
    parameter("a float", "1.5", "1.5 is not a domain"),
    parameter("a dictionary", "{1: 2}", "keys"),
    parameter("a mapping", "mapping((1,), (2,))", "a mapping is a variable of its own"),
    parameter("a function of nothing", "lambda: range(3)", "", exit=0),
    parameter("a function of the state", "lambda self, s: range(3)", "annotate it with its type"),
    parameter("a function of three", "lambda self, s, n: range(3)", "no earlier parameter"),
    parameter("a function that returns None", "lambda self: None", "None is not a domain"),
    parameter("a function that raises", "lambda self: 1 // 0", "ZeroDivisionError"),
    parameter("a function of an unknown constant", "lambda self: range(self.top)", "AttributeError"),
    parameter("a list of lists", "[[1]]", "immutable"),
    parameter("a value twice", "(1, 1)", "twice"),
    parameter("every set of very many", "subset_of(range(40))", "choices"),
    parameter("nothing", "()", "never taken", exit=21),
    parameter("an iterator", "iter((1, 2))", "", exit=0),
    Odd(
        "parameter: a product without end",
        2,
        "1,000,000 choices",
        "@action(a=range(100), b=range(100), c=range(100))\ndef tick(self, s, a, b, c):\n    pass",
    ),
    Odd(
        "parameter: of an endless initial state",
        2,
        "initial start",
        "ACTION\n@initial(n=range(10**9))\ndef start(self, s, n):\n    pass",
    ),
    Odd(
        "parameter: of an endless invariant",
        2,
        "invariant ok",
        "ACTION\n@invariant(n=range(10**9))\ndef ok(self, s, n):\n    return True",
    ),
    Odd(
        "parameter: of an endless view",
        2,
        "view look",
        "ACTION\n@view(n=range(10**9))\ndef look(self, s, n):\n    return ''",
    ),
    Odd("parameter: without a domain", 2, "neither a range nor a type", "@action\ndef tick(self, s, n):\n    pass"),
    Odd(
        "parameter: without a domain, with a default",
        2,
        "neither a range nor a type",
        "@action\ndef tick(self, s, n=1):\n    pass",
    ),
    Odd(
        "parameter: a domain without a parameter",
        2,
        "is given a range",
        "@action(n=range(3))\ndef tick(self, s):\n    pass",
    ),
    Odd(
        "parameter: any number of them", 2, "neither a range nor a type", "@action\ndef tick(self, s, *ns):\n    pass"
    ),
    Odd("parameter: any names", 2, "neither a range nor a type", "@action\ndef tick(self, s, **ns):\n    pass"),
]

EFFECTS = [
    effect("returns a number", 75, "returns 3", "return 3"),
    effect("returns True", 75, "returns True", "s.x = 1", "return True"),
    effect("returns the state", 75, "returns", "return s"),
    effect("is a generator", 75, "generator", "yield 1"),
    effect("returns very much", 75, "returns", "return 'x' * 10**6"),
    effect("raises", 75, "ZeroDivisionError", "s.x = 1 // 0"),
    effect("raises EOFError", 75, "EOFError", "raise EOFError"),
    effect("raises in silence", 75, "AssertionError", "assert False"),
    effect("raises at length", 75, "ValueError", "raise ValueError('x' * 10**6)"),
    effect("raises several lines", 75, "ValueError", "raise ValueError('one\\ntwo\\nthree\\nfour\\nfive\\nsix')"),
    effect(
        "raises an exception that cannot be printed",
        75,
        "Mute",
        "class Mute(Exception):",
        "    def __str__(self):",
        "        raise TypeError",
        "raise Mute",
    ),
    effect("raises a group", 75, "ExceptionGroup", "raise ExceptionGroup('some', [ValueError(1)])"),
    effect("raises a usage error of the language", 75, "", "raise UsageError('mine')"),
    effect("raises OutOfDomain", 75, "", "raise OutOfDomain(1, 'two')"),
    effect("calls itself", 75, "RecursionError", "self.tick(s)"),
    effect("stops an iteration", 75, "StopIteration", "raise StopIteration"),
    effect("reads an unknown variable", 75, "no variable y", "s.x = s.y"),
    effect("assigns an unknown variable", 75, "no variable y", "s.y = 1"),
    effect("deletes a variable", 75, "", "del s.x"),
    effect("assigns to itself", 75, "keeps nothing", "self.x = 1"),
    effect("deletes of itself", 75, "keeps nothing", "del self.x"),
    effect("leaves the domain", 12, "type_ok", "s.x = 4"),
    effect("assigns a float", 12, "type_ok", "s.x = 1.0"),
    effect("assigns None", 12, "type_ok", "s.x = None"),
    effect("assigns True", 12, "type_ok", "s.x = True"),
    effect("assigns a string", 12, "type_ok", "s.x = '1'"),
    effect("assigns a very long string", 12, "type_ok", "s.x = 'x' * 10**6"),
    effect("assigns a very long number", 12, "type_ok", "s.x = 10**10000"),
    effect("assigns a list", 75, "changed in place", "s.x = [1]"),
    effect("assigns a function", 12, "type_ok", "s.x = print"),
    effect("assigns the state", 75, "changed in place", "s.x = s"),
    effect(
        "assigns a value without repr",
        12,
        "type_ok",
        "class Odd:",
        "    def __repr__(self):",
        "        raise TypeError",
        "s.x = Odd()",
    ),
    effect(
        "assigns a value without hash",
        75,
        "",
        "class Odd:",
        "    def __hash__(self):",
        "        raise ValueError('no')",
        "s.x = Odd()",
    ),
    effect("compares with a string", 75, "TypeError", "require(s.x < 'a')"),
    effect(
        "counts its calls",
        2,
        "looks at calls",
        "calls.append(1)",
        "s.x = len(calls) % 4",
        variable="globals().setdefault('calls', []) or integers(0, 3)",
    ),
    effect("draws a random number", 2, "action tick of Odd uses random.random", "s.x = int(random.random())"),
    effect("reads a clock where x is 2", 2, "time.time", "require(s.x == 2 and time.time() > 0)"),
    effect(
        "recurses too deep",
        75,
        "RecursionError",
        "s.x = functools.reduce(lambda f, _: lambda: f(), range(2000), lambda: 0)()",
    ),
    effect("does nothing", 0, "", "pass"),
    effect("is never enabled", 21, "never taken", "require(False)"),
    effect("is always bounded", 21, "never taken", "bound(False)"),
    effect("opens a file", 2, "open('nothing')", "open('nothing')"),
    effect("imports nothing", 75, "ModuleNotFoundError", "import nosuchmodule"),
    effect("adds to a set in place", 75, "AttributeError", "s.x.add(1)", variable="subset_of(range(3))"),
    effect("appends in place", 75, "AttributeError", "s.x.append(1)", variable="sequence_of(range(3), 2)"),
    effect("assigns into a tuple", 75, "TypeError", "s.x[0] = 1", variable="tuple_of(range(3))"),
    effect(
        "assigns to a record's field",
        75,
        "_replace",
        "s.x.left = 1",
        variable="record(Pair, left=range(3), right=range(3))",
    ),
    effect(
        "assigns a plain tuple to a record",
        12,
        "type_ok",
        "s.x = (1, 1)",
        variable="record(Pair, left=range(3), right=range(3))",
    ),
    effect("assigns a mutable set", 75, "changed in place", "s.x = {1}", variable="subset_of(range(3))"),
    effect("assigns too long a sequence", 12, "type_ok", "s.x = (1, 1, 1)", variable="sequence_of(range(3), 2)"),
    effect("reads an unknown key", 12, "type_ok", "s.x[3] = 1 + s.x[7]", variable="mapping((1, 2), range(3))"),
    effect("assigns an unknown key", 12, "type_ok", "s.x[3] = 1", variable="mapping((1, 2), range(3))"),
    effect("assigns a mutable key", 12, "type_ok", "s.x[[]] = 1", variable="mapping((1, 2), range(3))"),
    effect("deletes a key", 75, "always present", "del s.x[1]", variable="mapping((1, 2), range(3))"),
    effect(
        "assigns a number to a mapping",
        75,
        "the variable is a mapping",
        "s.x = 3",
        variable="mapping((1, 2), range(3))",
    ),
    effect("assigns part of a mapping", 75, "key 2", "s.x = {1: 1}", variable="mapping((1, 2), range(3))"),
    effect(
        "assigns more than a mapping", 12, "type_ok", "s.x = {1: 1, 2: 1, 3: 1}", variable="mapping((1, 2), range(3))"
    ),
    effect("pops from a mapping", 75, "", "s.x.pop(1)", variable="mapping((1, 2), range(3))"),
    effect("clears a mapping", 75, "", "s.x.clear()", variable="mapping((1, 2), range(3))"),
    effect("reads an absent key", 75, "KeyError", "s.x[1]", variable="partial_mapping((1, 2), range(3))"),
    effect("deletes an absent key", 75, "KeyError", "del s.x[1]", variable="partial_mapping((1, 2), range(3))"),
    effect("reads a left out value", 75, "leaves out", "require(s.x == 1)", variable="left_out()"),
    effect("reads an internal attribute of the state", 75, "no variable", "s._layout_of"),
    effect("prints a left out value", 75, "leaves out", "require(f'{s.x}')", variable="left_out()"),
]

JUDGED = [
    judged("gives nothing", 75, "None", "pass"),
    judged("returns a number", 75, "1, not True or False", "return 1"),
    judged("returns a string", 75, "not True or False", "return 'yes'"),
    judged("returns a very long string", 75, "not True or False", "return 'x' * 10**6"),
    judged("gives a generator", 75, "generator", "yield True"),
    judged("raises", 75, "ZeroDivisionError", "return 1 // 0"),
    judged("assigns", 75, "only actions", "s.x = 1", "return True"),
    judged("requires", 75, "belong in actions", "require(False)", "return True"),
    judged("reads an unknown variable", 75, "no variable y", "return s.y"),
    judged("is broken at once", 12, "judged", "return False"),
    judged("says something", 0, "", "say('hello')", "return True"),
    judged("takes nothing", 2, "must begin", "return True", given=""),
    judged("takes no state", 2, "must begin", "return True", given="self"),
    judged("renames the state", 2, "must begin", "return True", given="self, state"),
    judged("takes steps", 2, "must begin", "return True", given="self, before, step, after"),
    judged("takes a parameter", 2, "neither a range nor a type", "return True", given="self, s, n"),
    judged("returns None", 75, "None", "pass", word="transition_invariant", given="self, before, step, after"),
    judged("takes a state", 2, "must begin", "return True", word="transition_invariant"),
    judged(
        "raises",
        75,
        "KeyError",
        "return step.parameters['nope']",
        word="transition_invariant",
        given="self, before, step, after",
    ),
    judged(
        "assigns",
        75,
        "only actions",
        "after.x = 1",
        "return True",
        word="transition_invariant",
        given="self, before, step, after",
    ),
    judged(
        "is broken",
        12,
        "judged",
        "return before.x >= after.x",
        word="transition_invariant",
        given="self, before, step, after",
    ),
    judged("never happens", 21, "never witnessed", "return s.x > 3", word="sometimes"),
    judged("reads an unknown name", 75, "NameError", "return nope(s)", word="sometimes"),
    judged("gives nothing", 75, "None", "pass", word="sometimes"),
    judged("takes half a step", 2, "must begin", "return True", word="sometimes", given="self, before, after"),
    judged("takes a state", 2, "neither a range nor a type", "return True", word="assumption", given="self, s"),
    judged("does not hold", 10, "judged", "return False", word="assumption", given="self"),
    judged("raises", 2, "ZeroDivisionError", "return 1 // 0", word="assumption", given="self"),
    judged("gives nothing", 10, "judged", "pass", word="assumption", given="self"),
    judged("takes a step", 2, "must begin", "return ''", word="view", given="self, before, step, after"),
]

STATES = [
    stated("a variable without a type", 2, "Things.y: it has no type", "y = variable('Y.')"),
    stated("a variable without `variable`", 2, "y: Type = variable('What it means.')", "y: Colour"),
    stated("a variable with a value", 2, "y: Type = variable('What it means.')", "y: Colour = Colour.RED"),
    stated("a variable without arguments", 2, "doc", "y: Colour = variable()"),
    stated("a domain for the docstring", 2, "or from of=", "pc: str = variable(one_of('a', 'b'))"),
    stated("a domain without a type", 2, "or from of=", "pc = variable(one_of('a', 'b'))"),
    stated("a domain without `variable`", 2, "pc: Type = variable('What it means.')", "pc = one_of('a', 'b')"),
    stated("a domain for a type", 2, "is a domain, not a type", "pc: one_of('a', 'b') = variable('Where.')"),
    stated("a literal type", 0, "", "pc: Literal['a', 'b'] = variable('Where.')"),
    stated(
        "a variable twice",
        2,
        "variable y: a variable already has",
        "y: bool = variable('Y.')\ny: Colour = variable('Y.')",
    ),
    stated(
        "a method with the name of a variable",
        2,
        "y: a variable already has",
        "y: bool = variable('Y.')\ndef y(self): ...",
    ),
    stated("a class variable", 0, "", "MOST: ClassVar[int] = 3"),
    stated("an unknown type", 2, "'Nope' is not defined", "y: 'Nope' = variable('Y.')"),
    stated("a type without a size", 2, "variable y: a count: int has no size", "y: Count = variable('Y.')"),
    stated(
        "a dataclass", 2, "class Kept(NamedTuple)", "y: dataclasses.make_dataclass('Kept', ['id']) = variable('Y.')"
    ),
    stated("a plain type", 2, "variable y: str has no size", "y: str = variable('Y.')"),
    stated(
        "a tuple without a length",
        2,
        "give its length in sizes(), at_most(...)",
        "y: tuple[Id, ...] = variable('Y.')",
    ),
    stated("a list", 2, "list[an id] can be changed in place", "y: list[Id] = variable('Y.')"),
    stated("a set", 2, "frozenset[X]", "y: set[Id] = variable('Y.')"),
    stated("a dictionary", 2, "Total[K, V]", "y: dict[Id, Colour] = variable('Y.')"),
    stated("a mapping of mappings", 0, "", "y: Total[Id, Total[Id, bool]] = variable('Y.')"),
    stated("a mapping of pairs", 0, "", "y: Total[tuple[Id, Id], bool] = variable('Y.')"),
    stated("a mapping to an Enum class", 0, "", "y: Total[Id, Colour] = variable('Y.')"),
    stated("a domain of an Enum class", 0, "", "y: Total[Id, Any] = variable('Y.', of=lambda self, key: Colour)"),
    stated("of= without parameters", 0, "", "y: Id = variable('Y.', of=lambda: range(2))"),
    stated("of= that is no function", 2, "of= must be a function", "y: Id = variable('Y.', of=range(2))"),
    stated(
        "of= of three parameters", 2, "of= must be a function", "y: Id = variable('Y.', of=lambda a, b, c: range(2))"
    ),
    stated("of= of a key, without keys", 2, "of= takes", "y: Id = variable('Y.', of=lambda self, k: [1])"),
    stated("of= that raises", 2, "AttributeError", "y: Id = variable('Y.', of=lambda self: range(self.top))"),
    stated(
        "wider than its type", 2, "3 is not an integer of 0..2", "y: Id = variable('Y.', of=lambda self: range(9))"
    ),
    stated("wider for a key", 2, "3 is not", "y: Total[bool, Id] = variable('Y.', of=lambda self, key: range(9))"),
    stated("sizes that are None", 2, "sizes(): None is not a mapping", sizes="None"),
    stated("sizes in a list", 2, "sizes(): [3] is not a mapping", sizes="[3]"),
    stated("a size of a string", 2, "'Id' is the name of a type", sizes="{'Id': range(3)}"),
    stated("a size of a variable", 2, "the variable 'It.' is not a type", sizes="{Things.x: range(3)}"),
    stated("a size that is a number", 2, "the size of int, an id: 3 is not a domain", sizes="{Id: 3}"),
    stated(
        "a size that is a function", 2, "<function Odd.sizes.<locals>.<lambda>> is not", sizes="{Id: lambda: [1]}"
    ),
    stated("a length of an integer", 2, "at_most(3) is the size of a tuple", sizes="{Id: at_most(3)}"),
    stated("an empty size", 2, "variable x: its domain is empty", sizes="{Id: range(0)}"),
    stated("a size that raises", 2, "ZeroDivisionError", sizes="{Id: range(1 // 0)}"),
    Odd("sizes that are no method", 2, "Odd.sizes is a method", "sizes = {Id: range(3)}\nACTION"),
    Odd("sizes with a parameter", 2, "Odd.sizes is a method", "def sizes(self, type): ...\nACTION"),
    Odd("an integer as states", 2, "is no class of states", "ACTION", "class Base(Specification[int]): ..."),
    Odd("states in quotes", 2, "is no class of states", "ACTION", "class Base(Specification['Things']): ..."),
    Odd(
        "states without a class",
        75,
        "Specification[States]",
        "@action\ndef tick(self, s):\n    s.x = 1",
        "class Things(State): ...",
    ),
]

OF_STATES = [
    ranging("a set", 0, "", "lambda self, s: s.ids"),
    ranging("a sequence", 0, "", "lambda self, s: s.queue"),
    ranging("a mapping", 0, "", "lambda self, s: s.owner"),
    ranging("the keys of a mapping", 0, "", "lambda self, s: s.owner.keys()"),
    ranging("the values of a mapping", 0, "", "lambda self, s: s.owner.values()"),
    ranging("a set in a mapping", 0, "", "lambda self, s: s.seen[0]"),
    ranging("some of a set", 2, "annotate it with its type", "lambda self, s: [m for m in s.ids if m]"),
    ranging("some of a set, with a type", 0, "", "lambda self, s: [m for m in s.ids if m]", "m: Id"),
    ranging("an unknown variable", 2, "no variable isd; there are x, ids", "lambda self, s: s.isd"),
    ranging("a number", 2, "annotate it with its type", "lambda self, s: s.x"),
    ranging("a number, with a type", 75, "m= returns 0, which is no collection", "lambda self, s: s.x", "m: Id"),
    ranging("a state alone", 2, "lambda self, s: ...", "lambda s: s.ids"),
]

PARTS = [
    parted("never made", 2, "part Things.left: Odd must make it: @part def left(self)", ""),
    parted("a plain method makes it", 2, "must make it", "def left(self): return Lines()"),
    parted("made twice", 2, "part left: a part already has that name", "@part\ndef left(self): ...\n" * 2),
    parted("an action of its name", 2, "action left: a part already has", f"{MAKES}@action\ndef left(self, s): ..."),
    parted(
        "one that the states do not name",
        2,
        "Odd.right: Things has no part of that name",
        f"{MAKES}@part\ndef right(self): ...",
    ),
    parted("a method with a parameter", 2, "@part decorates", "@part\ndef left(self, n): ..."),
    parted("a part that is no method", 2, "@part decorates", "left = part(Lines)"),
    parted("None", 2, "Odd.left: it returns None; Things has left: Line", "@part\ndef left(self): ..."),
    parted("a class", 2, "it returns <class 'odd.Lines'>", "@part\ndef left(self): return Lines"),
    parted(
        "a part of other states",
        2,
        "it returns Pairs(), whose states are Other",
        "@part\ndef left(self): return Pairs()",
    ),
    parted("an argument too many", 2, "takes no arguments", "@part\ndef left(self): return Lines(holds=3)"),
    parted("an argument too few", 2, "'holds'", "@part\ndef left(self): return Held()"),
    parted("a wrong argument", 2, "TypeError", "@part\ndef left(self): return Held('three')"),
    parted(
        "one that keeps something",
        2,
        "part Odd.left: Kept assigns self.holds",
        "@part\ndef left(self): return Kept(3)",
    ),
    parted(
        "one without sizes", 2, "part left: variable bit: a count: int has no", "@part\ndef left(self): return Bare()"
    ),
    parted("a part is assigned", 75, "left is a part", f"{MAKES}@action\ndef tick(self, s): s.left = 1"),
    parted(
        "its states in a variable",
        2,
        "Line is the class of states of a part: write",
        MAKES,
        "left: Line = variable('It.')",
    ),
    parted("the part for its states", 2, "Lines must be the class of states", MAKES, "left: Lines"),
    parted(
        "it ranges over its set",
        0,
        "",
        f"{MAKES}@initial\ndef start(self, s): s.left.bits |= {{1}}\n"
        "@action(m=lambda self, s: s.left.bits)\ndef tick(self, s, m): ...",
    ),
    Odd(
        "part: a constant",
        2,
        "constant P.c: only a specification declares it",
        "ACTION",
        "class P(Part[Things]):\n    c = constant(3, 'c')",
    ),
    Odd(
        "part: a switch",
        2,
        "switch P.c: only a specification declares it",
        "ACTION",
        "class P(Part[Things]):\n    c = switch(True, 'c')",
    ),
    Odd(
        "part: an assumption",
        2,
        "assumption P.c: only a specification declares it",
        "ACTION",
        "class P(Part[Things]):\n    @assumption\n    def c(self): ...",
    ),
]

CONSTANTS = [
    constants("a list", "constant([], 'c')", "immutable"),
    constants("a dictionary", "constant({}, 'c')", "immutable"),
    constants("a set", "constant({1}, 'c')", "immutable"),
    constants("an iterator", "constant(itertools.count(), 'c')", "immutable"),
    constants("nan", "constant(math.nan, 'c')", "immutable"),
    constants("without a doc", "constant(3)", "doc"),
    constants("a number for a doc", "constant(3, 4)", "its meaning"),
    constants("None for a doc", "constant(3, None)", "its meaning"),
    constants("nothing at all", "constant()", "default"),
    constants("a bound that is none", "constant(3, 'c', at_least='1')", "at_least"),
    constants("a bound of a string", "constant('a', 'c', at_most=1)", "at_most"),
    constants("a default below its bound", "constant(3, 'c', at_least=4)", "at least 4", exit=10),
    constants("a default above its bound", "constant(3, 'c', at_most=2)", "at most 2", exit=10),
    constants("an unknown option", "constant(3, 'c', least=2)", "least"),
    constants("a switch of a number", "switch(3, 'c')", "among="),
    constants("a switch of a string", "switch('on', 'c')", "among="),
    constants("a switch outside its forms", "switch('c', 'c', among=('a', 'b'))", "one of a, b"),
    constants("a switch of no forms", "switch('c', 'c', among=())", "one of"),
    constants("forms in a string", "switch('a', 'c', among='ab')", "a string is one value"),
    constants("forms in a set", "switch('a', 'c', among={'a'})", "no order"),
    constants("forms without end", "switch(1, 'c', among=itertools.count())", "more than 100,000"),
    constants("forms of a number", "switch(1, 'c', among=1)", "1 is not a domain"),
    constants("a function", "constant(print, 'c')", "", exit=0),
    constants("None", "constant(None, 'c')", "", exit=0),
    constants("infinity", "constant(math.inf, 'c')", "", exit=0),
    constants("an Enum member", "constant(Colour.RED, 'c')", "", exit=0),
    constants("a very long string", "constant('x' * 10**5, 'c')", "", exit=0),
    constants("a list", "[1, 2]", "changed in place"),
    constants("a dictionary", "{}", "changed in place"),
]

MADE = [
    Odd("nothing in it", 2, "no action", ""),
    Odd("no variable", 0, "", "@action\ndef tick(self, s):\n    pass", "class Things(State):\n    pass"),
    Odd("no action", 2, "no action", "pass"),
    Odd("only a property", 2, "no action", "@invariant\ndef ok(self, s):\n    return True"),
    Odd("an action without a decorator", 2, "no action", "def tick(self, s):\n    s.x = 1"),
    Odd(
        "a word with a value",
        2,
        "decorates a method",
        "@action(range(3))\ndef tick(self, s, n):\n    pass",
    ),
    Odd(
        "a decorator with empty brackets",
        0,
        "",
        "@action()\ndef tick(self, s):\n    require(s.x < 3)\n    s.x += 1",
    ),
    Odd(
        "a decorator with an invalid condition",
        2,
        "when=",
        "@action(when=True)\ndef tick(self, s):\n    pass",
    ),
    Odd(
        "a decorator with a condition without parameters",
        2,
        "when=",
        "@action(when=lambda: True)\ndef tick(self, s):\n    pass",
    ),
    Odd(
        "a parameter called when, with a function for its range",
        2,
        "when=",
        "@action(when=lambda self: (1, 2))\ndef tick(self, s, when: Annotated[int, 'a time']):\n    pass",
    ),
    Odd(
        "a decorator with a condition that raises",
        2,
        "ZeroDivisionError",
        "@action(when=lambda self: 1 // 0)\ndef tick(self, s):\n    pass",
    ),
    Odd("an unknown decorator", 2, "NameError", "@actoin\ndef tick(self, s):\n    pass"),
    Odd("a word on a constant", 2, "", "c = action(3)\nACTION"),
    Odd("a decorator on a class", 2, "", "ACTION\n@invariant\nclass Ok:\n    pass"),
    Odd("a decorator on a static method", 2, "must begin", "@action\n@staticmethod\ndef tick(s):\n    pass"),
    Odd("a decorator on a class method", 2, "", "@action\n@classmethod\ndef tick(cls, s):\n    pass"),
    Odd("a decorator on a property", 2, "", "@action\n@property\ndef tick(self):\n    pass"),
    Odd("an action of self alone", 2, "must begin", "@action\ndef tick(self):\n    pass"),
    Odd("an action without parameters", 2, "must begin", "@action\ndef tick():\n    pass"),
    Odd("an action of the state alone", 2, "must begin", "@action\ndef tick(s):\n    pass"),
    Odd("an action in a coroutine", 75, "coroutine", "@action\nasync def tick(self, s):\n    s.x = 1"),
    Odd(
        "a variable as a method",
        2,
        "variable(<function Odd.x>): the argument is its meaning",
        "@variable\ndef x(self):\n    return range(3)\nACTION",
    ),
    Odd("a variable as a method, with a condition", 2, "doc", "@variable(when=lambda self: True)\ndef x(self): ..."),
    Odd(
        "a variable as a value",
        2,
        "variable(range(0, 3)): the argument is its meaning",
        "x = variable(range(3))\nACTION",
    ),
    Odd("a variable in the specification", 2, "in a class of states", "x: int = variable('The number.')\nACTION"),
    Odd("an action and a variable of one name", 0, "", "@action\ndef x(self, s):\n    s.x = 1"),
    Odd("two actions of one name", 2, "action tick: an action already has that name", "ACTION\nACTION"),
    Odd(
        "a name of the language: actions",
        2,
        "the language uses that name",
        "@action\ndef actions(self, s):\n    pass",
    ),
    Odd("a name of the language: variables", 2, "the language uses that name", "variables = 3\nACTION"),
    Odd(
        "a name of the language: type_ok",
        2,
        "the language uses that name",
        "ACTION\n@invariant\ndef type_ok(self, s):\n    return True",
    ),
    Odd(
        "a name of the state: _row",
        2,
        "the language uses that name",
        "ACTION",
        "class Things(State):\n    _row: bool = variable('The number.')",
    ),
    Odd(
        "a variable called s",
        0,
        "",
        "@action\ndef tick(self, s):\n    s.s = True",
        "class Things(State):\n    s: bool = variable('The number.')",
    ),
    Odd(
        "a variable called self",
        0,
        "",
        "@action\ndef tick(self, s):\n    s.self = True",
        "class Things(State):\n    self: bool = variable('The number.')",
    ),
    Odd(
        "a variable in non-ASCII letters",
        0,
        "",
        "@action\ndef wächst(self, s):\n    s.größe = True",
        "class Things(State):\n    größe: bool = variable('The number.')",
    ),
    Odd(
        "two initial states",
        0,
        "",
        "ACTION\n@initial\ndef a(self, s):\n    s.x = 1\n@initial\ndef b(self, s):\n    s.x = 2",
    ),
    Odd(
        "no initial state",
        2,
        "no initial state",
        "ACTION\n@initial\ndef start(self, s):\n    require(False)",
    ),
    Odd(
        "no value for an initial state",
        0,
        "",
        "ACTION\n@initial(n=())\ndef start(self, s, n):\n    s.x = n",
    ),
    Odd(
        "an initial state outside its domain",
        2,
        "outside its domain",
        "ACTION\n@initial\ndef start(self, s):\n    s.x = 9",
    ),
    Odd(
        "an initial state that raises",
        75,
        "ZeroDivisionError",
        "ACTION\n@initial\ndef start(self, s):\n    s.x = 1 // 0",
    ),
    Odd(
        "an initial state with an unknown variable",
        75,
        "no variable",
        "ACTION\n@initial\ndef start(self, s):\n    s.y = 1",
    ),
    Odd("an initial state without s", 2, "must begin", "ACTION\n@initial\ndef start(self):\n    pass"),
    Odd("a mutable attribute", 2, "changed in place", "seen = []\nACTION"),
    Odd("an unknown base", 2, "NameError", "ACTION", "class Base(Nope):\n    pass"),
    Odd("releases with an unknown constant", 2, "nope", "releases = {'1.0': {'nope': 3}}\nACTION"),
    Odd("releases of a wrong type", 2, "", "releases = 3\nACTION"),
    Odd("releases of a list", 2, "", "releases = ['1.0']\nACTION"),
    Odd("a name of a wrong type", 0, "", "name = 'ä name'\nACTION"),
    Odd("it asks for deadlocks", 11, "deadlock", "deadlock = True\nACTION"),
    Odd("it is made with arguments", 2, "__init__", "def __init__(self, top):\n    pass\nACTION"),
    Odd("it has slots", 0, "", "__slots__ = ()\nACTION"),
    Odd(
        "it keeps something",
        2,
        "constants alone",
        "def __init__(self):\n    super().__init__()\n    self.seen = []\nACTION",
    ),
    Odd(
        "a view that raises",
        12,
        "ok",
        "ACTION\nBROKEN\n@view\ndef look(self, s):\n    return 1 // 0",
    ),
    Odd(
        "a view that returns None",
        12,
        "ok",
        "ACTION\nBROKEN\n@view\ndef look(self, s):\n    pass",
    ),
    Odd(
        "a view of lines",
        12,
        "ok",
        "ACTION\nBROKEN\n@view\ndef look(self, s):\n    return 'a\\nb'",
    ),
]

FIXED = [
    Odd(
        "an unknown constant in the head",
        2,
        "not one of its constants",
        "pass",
        "class Head(Specification, nope=3):\n    pass",
    ),
    Odd(
        "a wrong value in the head",
        2,
        "must be",
        "pass",
        "class A(Specification):\n    c = switch(True, 'c')\nclass B(A, c=3):\n    pass",
    ),
    Odd("a file that exits when imported", 2, "SystemExit", "pass", "sys.exit(3)"),
    Odd("a file that raises when imported", 2, "ZeroDivisionError", "pass", "1 // 0"),
    Odd("a file that imports an unknown module", 2, "nosuchmodule", "pass", "import nosuchmodule"),
    Odd("a base that is a module", 2, "TypeError", "pass", "import json as Specification"),
    Odd("a file that raises a very long message", 2, "ValueError", "pass", "raise ValueError('x' * 10**6)"),
    Odd("a file that raises several lines", 2, "ValueError", "pass", "raise ValueError('a\\nb\\nc\\nd\\ne\\nf\\ng')"),
    Odd("a file that recurses when imported", 2, "RecursionError", "pass", "def f(): f()\nf()"),
    Odd("a file that raises an integer", 2, "TypeError", "pass", "raise 3"),
]

SPECIFICATIONS: list[Odd] = [
    *DOMAINS,
    *PARAMETERS,
    *EFFECTS,
    *JUDGED,
    *STATES,
    *OF_STATES,
    *PARTS,
    *CONSTANTS,
    *MADE,
    *FIXED,
]
