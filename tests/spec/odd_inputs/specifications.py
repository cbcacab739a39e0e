"""Odd specifications: mistakes that an author may make, and the exit code that each must have.

A row is what is odd, the exit code, a word that the answer must have, and the body of a class `Odd`; what stands
before the class may be given too. `VARIABLE`, `ACTION` and `BROKEN` stand for a variable, an action
and an invariant that are well made.
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
        """The file that the author wrote."""
        body = (
            textwrap.dedent(self.body)
            .replace("VARIABLE", VARIABLE)
            .replace("ACTION", ACTION)
            .replace("BROKEN", BROKEN)
        )
        head = "class Odd(Specification):\n"
        return f"{BEFORE}\n{textwrap.dedent(self.before)}\n{head}{textwrap.indent(body or 'pass', '    ')}\n"


BEFORE = """
import asyncio, collections, dataclasses, enum, functools, itertools, math, os, random, sys, time
from typing import NamedTuple
from spec.language import *

class Pair(NamedTuple):
    left: int
    right: int

class Colour(enum.Enum):
    RED = 1
    BLUE = 2
"""

VARIABLE = """
@variable
def x(self):
    return integers(0, 3)
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


def domain(what: str, written: str, says: str = "variable x", exit: int = 2, before: str = "") -> Odd:
    """An odd domain of a variable."""
    return Odd(
        f"domain: {what}",
        exit,
        says,
        f"@variable\ndef x(self):\n    return {written}\n\n@action\ndef tick(self, s):\n    s.x = s.x\n",
        before,
    )


def parameter(what: str, written: str, says: str = "tick", exit: int = 2, before: str = "") -> Odd:
    """An odd range of a parameter."""
    return Odd(
        f"parameter: {what}",
        exit,
        says,
        f"VARIABLE\n@action(n={written})\ndef tick(self, s, n):\n    require(s.x < 3)\n    s.x += 1\n",
        before,
    )


def effect(what: str, exit: int, says: str, *lines: str, variable: str = "integers(0, 3)") -> Odd:
    """An odd body of an action."""
    body = textwrap.indent("\n".join(lines), "    ")
    return Odd(
        f"action: {what}",
        exit,
        says,
        f"@variable\ndef x(self):\n    return {variable}\n\n@action\ndef tick(self, s):\n{body}\n",
    )


def judged(what: str, exit: int, says: str, *lines: str, word: str = "invariant", given: str = "self, s") -> Odd:
    """An odd property."""
    body = textwrap.indent("\n".join(lines), "    ")
    return Odd(f"{word}: {what}", exit, says, f"VARIABLE\nACTION\n@{word}\ndef judged({given}):\n{body}\n")


def constants(what: str, written: str, says: str = "", exit: int = 2) -> Odd:
    """An odd declaration of a constant."""
    return Odd(f"constant: {what}", exit, says, f"c = {written}\nVARIABLE\nACTION")


DOMAINS = [
    domain("a range without end", "subset_of(range(10**12))", "1,000,000,000,000 values"),
    domain("an endless iterator", "itertools.count()", "more than 100,000"),
    domain("an endless cycle", "itertools.cycle([1, 2])", "more than 100,000"),
    domain("an endless generator", "(n for n in itertools.count())", "more than 100,000"),
    domain("integers without end", "integers(0, math.inf)", "ends are integers"),
    domain("integers from minus infinity", "integers(-math.inf, 0)", "ends are integers"),
    domain("integers to nan", "integers(0, math.nan)", "ends are integers"),
    domain("integers to a float", "integers(0, 3.0)", "ends are integers"),
    domain("integers to None", "integers(0, None)", "ends are integers"),
    domain("integers to a string", "integers(0, '3')", "ends are integers"),
    domain("integers the wrong way round", "integers(3, 0)", "holds nothing"),
    domain("integers of one end", "integers(3)", "integers()"),
    domain("integers wider than a word", "integers(0, 2**70)", "64 bits"),
    domain("integers that cannot be written", "integers(0, 10**5000)", "64 bits"),
    domain("a range that is empty", "range(0)", "holds nothing"),
    domain("an empty list", "[]", "holds nothing"),
    domain("an empty enumeration", "one_of()", "holds nothing"),
    domain("an empty Enum class", "Empty", "holds nothing", before="class Empty(enum.Enum):\n    pass"),
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
    domain("optional of nothing", "optional(None)", "None is not a domain"),
    domain("optional twice", "optional(optional(range(3)))", "None already"),
    domain("optional of a mapping", "optional(mapping((1, 2), range(3)))", "a mapping is a variable by itself"),
    domain("a set of a mapping", "subset_of(mapping((1, 2), range(3)))", "a mapping is a variable by itself"),
    domain("a set of sets of sets", "subset_of(subset_of(subset_of(range(5))))", "values"),
    domain("a set of a number", "subset_of(5)", "5 is not a domain"),
    domain("a sequence without a length", "sequence_of(range(3))", "longest"),
    domain("a sequence of infinite length", "sequence_of(range(3), math.inf)", "the length is"),
    domain("a sequence of negative length", "sequence_of(range(3), -1)", "holds nothing"),
    domain("a sequence of very many", "sequence_of(range(3), 10**9)", "bits"),
    domain("a sequence of a string's length", "sequence_of(range(3), '3')", "the length is"),
    domain("a record of no record", "record(dict, a=range(3))", "NamedTuple"),
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
    domain("a record with a field that is none", "record(Pair, left=range(2), right=None)", "None is not a domain"),
    domain("a mapping without values", "mapping((1, 2))", "domain"),
    domain("a mapping of a number", "mapping(3, range(2))", "3 is not a domain"),
    domain("a mapping with a set of keys", "mapping({1, 2}, range(2))", "no order"),
    domain("a mapping with a key twice", "mapping((1, 1), range(2))", "twice"),
    domain("a mapping with a key that changes", "mapping(([],), range(2))", "immutable"),
    domain("a mapping with keys without end", "mapping(itertools.count(), range(2))", "more than 100,000"),
    domain("a mapping with very many keys", "mapping(range(10**9), range(2))", "more than 100,000"),
    domain(
        "a mapping of a mapping", "mapping((1, 2), mapping((1, 2), range(2)))", "a mapping is a variable by itself"
    ),
    domain("a mapping with a function of nothing", "mapping((1, 2), lambda: range(2))", "TypeError"),
    domain(
        "a mapping with a function that gives nothing", "mapping((1, 2), lambda key: None)", "None is not a domain"
    ),
    domain("a mapping with values of a set", "mapping((1, 2), {1})", "no order"),
    domain("too many parts", "mapping(range(1000), subset_of(range(1000)))", "100,000"),
    domain("itself", "self.x()", "RecursionError"),
    domain("a domain of itself", "subset_of(self.x())", "RecursionError"),
    domain("interchangeable of a number", "interchangeable('broker', 3)", "3 is not a domain"),
    domain("interchangeable without values", "interchangeable('broker')", "values"),
    domain("interchangeable of very many", "interchangeable('broker', itertools.count())", "more than 100,000"),
    domain("each of very many", "every(Pair, left=range(1000), right=range(1000))", "1,000,000 choices"),
    domain("each of no field", "every(Pair, middle=range(3))", "TypeError"),
    domain("either of the same", "either(range(2), range(2))", "twice"),
    domain("a part of something else", "part_of(integers(0, 3), 7)", "7 is not an integer"),
    domain("what is left out, twice", "[LEFT_OUT, LEFT_OUT]", ""),
    domain("a generator that ends", "(n for n in range(3))", "", exit=0),
    domain("an Enum class", "Colour", "", exit=0),
    domain("floats", "[0.5, 1.5]", "", exit=0),
    domain("a range that goes down", "range(3, 0, -1)", "", exit=0),
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
    parameter("a mapping", "mapping((1,), (2,))", "a mapping is a variable by itself"),
    parameter("a function of nothing", "lambda: range(3)", "", exit=0),
    parameter("a function of the state", "lambda self, s: range(3)", "annotate it with its type"),
    parameter("a function of three", "lambda self, s, n: range(3)", "lambda self, s: ..."),
    parameter("a function that gives nothing", "lambda self: None", "None is not a domain"),
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
        "VARIABLE\n@action(a=range(100), b=range(100), c=range(100))\ndef tick(self, s, a, b, c):\n    pass",
    ),
    Odd(
        "parameter: of an initial state without end",
        2,
        "initial start",
        "VARIABLE\nACTION\n@initial(n=range(10**9))\ndef start(self, s, n):\n    pass",
    ),
    Odd(
        "parameter: of an invariant without end",
        2,
        "invariant ok",
        "VARIABLE\nACTION\n@invariant(n=range(10**9))\ndef ok(self, s, n):\n    return True",
    ),
    Odd(
        "parameter: of a view without end",
        2,
        "view look",
        "VARIABLE\nACTION\n@view(n=range(10**9))\ndef look(self, s, n):\n    return ''",
    ),
    Odd("parameter: without a domain", 2, "no domain", "VARIABLE\n@action\ndef tick(self, s, n):\n    pass"),
    Odd(
        "parameter: without a domain, with a default",
        2,
        "no domain",
        "VARIABLE\n@action\ndef tick(self, s, n=1):\n    pass",
    ),
    Odd(
        "parameter: a domain without one",
        2,
        "does not take",
        "VARIABLE\n@action(n=range(3))\ndef tick(self, s):\n    pass",
    ),
    Odd("parameter: any number of them", 2, "no domain", "VARIABLE\n@action\ndef tick(self, s, *ns):\n    pass"),
    Odd("parameter: any names", 2, "no domain", "VARIABLE\n@action\ndef tick(self, s, **ns):\n    pass"),
]

EFFECTS = [
    effect("returns a number", 75, "returns 3", "return 3"),
    effect("returns True", 75, "returns True", "s.x = 1", "return True"),
    effect("returns the state", 75, "returns", "return s"),
    effect("is a generator", 75, "generator", "yield 1"),
    effect("returns very much", 75, "returns", "return 'x' * 10**6"),
    effect("raises", 75, "ZeroDivisionError", "s.x = 1 // 0"),
    effect("raises in silence", 75, "AssertionError", "assert False"),
    effect("raises at length", 75, "ValueError", "raise ValueError('x' * 10**6)"),
    effect("raises in lines", 75, "ValueError", "raise ValueError('one\\ntwo\\nthree\\nfour\\nfive\\nsix')"),
    effect(
        "raises what cannot be told",
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
    effect("assigns the state", 75, "outside its domain", "s.x = s"),
    effect(
        "assigns what has no repr",
        12,
        "type_ok",
        "class Odd:",
        "    def __repr__(self):",
        "        raise TypeError",
        "s.x = Odd()",
    ),
    effect(
        "assigns what has no hash",
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
        75,
        "not deterministic",
        "calls.append(1)",
        "s.x = len(calls) % 4",
        variable="globals().setdefault('calls', []) or integers(0, 3)",
    ),
    effect("does nothing", 0, "", "pass"),
    effect("is never enabled", 21, "never taken", "require(False)"),
    effect("is always bounded", 21, "never taken", "bound(False)"),
    effect("opens no file", 75, "FileNotFoundError", "open('nothing')"),
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
    effect("assigns a set that changes", 75, "changed in place", "s.x = {1}", variable="subset_of(range(3))"),
    effect("assigns too long a sequence", 12, "type_ok", "s.x = (1, 1, 1)", variable="sequence_of(range(3), 2)"),
    effect("reads an unknown key", 12, "type_ok", "s.x[3] = 1 + s.x[7]", variable="mapping((1, 2), range(3))"),
    effect("assigns an unknown key", 12, "type_ok", "s.x[3] = 1", variable="mapping((1, 2), range(3))"),
    effect("assigns a key that changes", 12, "type_ok", "s.x[[]] = 1", variable="mapping((1, 2), range(3))"),
    effect("deletes a key", 75, "always there", "del s.x[1]", variable="mapping((1, 2), range(3))"),
    effect(
        "assigns a number to a mapping", 75, "is assigned a mapping", "s.x = 3", variable="mapping((1, 2), range(3))"
    ),
    effect("assigns part of a mapping", 75, "always there", "s.x = {1: 1}", variable="mapping((1, 2), range(3))"),
    effect(
        "assigns more than a mapping", 12, "type_ok", "s.x = {1: 1, 2: 1, 3: 1}", variable="mapping((1, 2), range(3))"
    ),
    effect("pops from a mapping", 75, "", "s.x.pop(1)", variable="mapping((1, 2), range(3))"),
    effect("clears a mapping", 75, "", "s.x.clear()", variable="mapping((1, 2), range(3))"),
    effect("reads a key that is absent", 75, "KeyError", "s.x[1]", variable="partial_mapping((1, 2), range(3))"),
    effect(
        "deletes a key that is absent", 75, "KeyError", "del s.x[1]", variable="partial_mapping((1, 2), range(3))"
    ),
    effect("reads what is left out", 75, "leaves out", "require(s.x == 1)", variable="left_out()"),
    effect("asks for more of the state", 75, "no variable", "s._layout_of"),
    effect("prints what is left out", 75, "leaves out", "require(f'{s.x}')", variable="left_out()"),
]

JUDGED = [
    judged("gives nothing", 75, "None", "pass"),
    judged("gives a number", 75, "1, not True or False", "return 1"),
    judged("gives a string", 75, "not True or False", "return 'yes'"),
    judged("gives very much", 75, "not True or False", "return 'x' * 10**6"),
    judged("gives a generator", 75, "generator", "yield True"),
    judged("raises", 75, "ZeroDivisionError", "return 1 // 0"),
    judged("assigns", 75, "only actions", "s.x = 1", "return True"),
    judged("requires", 75, "belong into actions", "require(False)", "return True"),
    judged("reads an unknown variable", 75, "no variable y", "return s.y"),
    judged("is broken at once", 12, "judged", "return False"),
    judged("says something", 0, "", "say('hello')", "return True"),
    judged("takes nothing", 2, "must begin", "return True", given=""),
    judged("takes no state", 2, "must begin", "return True", given="self"),
    judged("calls the state otherwise", 2, "must begin", "return True", given="self, state"),
    judged("takes steps", 2, "must begin", "return True", given="self, before, step, after"),
    judged("takes a parameter", 2, "no domain", "return True", given="self, s, n"),
    judged("gives nothing", 75, "None", "pass", word="transition_invariant", given="self, before, step, after"),
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
    judged("asks for an unknown name", 75, "NameError", "return nope(s)", word="sometimes"),
    judged("gives nothing", 75, "None", "pass", word="sometimes"),
    judged("takes half a step", 2, "must begin", "return True", word="sometimes", given="self, before, after"),
    judged("takes a state", 2, "no domain", "return True", word="assumption", given="self, s"),
    judged("does not hold", 10, "judged", "return False", word="assumption", given="self"),
    judged("raises", 2, "ZeroDivisionError", "return 1 // 0", word="assumption", given="self"),
    judged("gives nothing", 10, "judged", "pass", word="assumption", given="self"),
    judged("takes a step", 2, "must begin", "return ''", word="view", given="self, before, step, after"),
]

CONSTANTS = [
    constants("a list", "constant([], 'c')", "immutable"),
    constants("a dictionary", "constant({}, 'c')", "immutable"),
    constants("a set", "constant({1}, 'c')", "immutable"),
    constants("an iterator", "constant(itertools.count(), 'c')", "immutable"),
    constants("nan", "constant(math.nan, 'c')", "immutable"),
    constants("without a doc", "constant(3)", "doc"),
    constants("a number for a doc", "constant(3, 4)", "what it means"),
    constants("None for a doc", "constant(3, None)", "what it means"),
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
    constants("no constant at all", "[1, 2]", "changed in place"),
    constants("a dictionary of one's own", "{}", "changed in place"),
]

MADE = [
    Odd("nothing in it", 2, "no action", ""),
    Odd("no variable", 0, "", "@action\ndef tick(self, s):\n    pass"),
    Odd("no action", 2, "no action", "VARIABLE"),
    Odd("only a property", 2, "no action", "VARIABLE\n@invariant\ndef ok(self, s):\n    return True"),
    Odd("an action without a word", 2, "no action", "VARIABLE\ndef tick(self, s):\n    s.x = 1"),
    Odd(
        "a word with a value",
        2,
        "stands before a method",
        "VARIABLE\n@action(range(3))\ndef tick(self, s, n):\n    pass",
    ),
    Odd(
        "a word with empty brackets",
        0,
        "",
        "VARIABLE\n@action()\ndef tick(self, s):\n    require(s.x < 3)\n    s.x += 1",
    ),
    Odd(
        "a word with a condition that is none",
        2,
        "when=",
        "VARIABLE\n@action(when=True)\ndef tick(self, s):\n    pass",
    ),
    Odd(
        "a word with a condition of nothing",
        2,
        "when=",
        "VARIABLE\n@action(when=lambda: True)\ndef tick(self, s):\n    pass",
    ),
    Odd(
        "a word with a condition that raises",
        2,
        "ZeroDivisionError",
        "VARIABLE\n@action(when=lambda self: 1 // 0)\ndef tick(self, s):\n    pass",
    ),
    Odd("a word that there is not", 2, "NameError", "VARIABLE\n@actoin\ndef tick(self, s):\n    pass"),
    Odd("a word on a constant", 2, "", "VARIABLE\nc = action(3)\nACTION"),
    Odd("a word on a class", 2, "", "VARIABLE\nACTION\n@invariant\nclass Ok:\n    pass"),
    Odd("a word on a static method", 2, "must begin", "VARIABLE\n@action\n@staticmethod\ndef tick(s):\n    pass"),
    Odd("a word on a class method", 2, "", "VARIABLE\n@action\n@classmethod\ndef tick(cls, s):\n    pass"),
    Odd("a word on a property", 2, "", "VARIABLE\n@action\n@property\ndef tick(self):\n    pass"),
    Odd("an action of self alone", 2, "must begin", "VARIABLE\n@action\ndef tick(self):\n    pass"),
    Odd("an action of nothing", 2, "must begin", "VARIABLE\n@action\ndef tick():\n    pass"),
    Odd("an action of the state alone", 2, "must begin", "VARIABLE\n@action\ndef tick(s):\n    pass"),
    Odd("an action in a coroutine", 75, "coroutine", "VARIABLE\n@action\nasync def tick(self, s):\n    s.x = 1"),
    Odd("a variable of a state", 2, "no domain", "@variable\ndef x(self, s):\n    return range(3)\nACTION"),
    Odd("a variable without a return", 2, "None is not a domain", "@variable\ndef x(self):\n    range(3)\nACTION"),
    Odd("a variable as a value", 2, "", "x = variable(range(3))\nACTION"),
    Odd(
        "a variable and an action of one name",
        2,
        "variable x: an action has that name",
        "@action\ndef x(self, s):\n    pass\n@variable\ndef x(self):\n    return range(3)",
    ),
    Odd("two actions of one name", 2, "action tick: an action has that name", "VARIABLE\nACTION\nACTION"),
    Odd("a name of the language: actions", 2, "taken", "VARIABLE\n@action\ndef actions(self, s):\n    pass"),
    Odd("a name of the language: variables", 2, "taken", "variables = 3\nVARIABLE\nACTION"),
    Odd(
        "a name of the language: type_ok",
        2,
        "taken",
        "VARIABLE\nACTION\n@invariant\ndef type_ok(self, s):\n    return True",
    ),
    Odd("a name of the state: _row", 2, "taken", "@variable\ndef _row(self):\n    return range(3)\nACTION"),
    Odd(
        "a variable called s",
        0,
        "",
        "@variable\ndef s(self):\n    return range(3)\n@action\ndef tick(self, s):\n    s.s = 1",
    ),
    Odd(
        "a variable called self",
        0,
        "",
        "@variable\ndef self(self):\n    return range(3)\n@action\ndef tick(self, s):\n    s.self = 1",
    ),
    Odd(
        "a variable in other letters",
        0,
        "",
        "@variable\ndef größe(self):\n    return range(3)\n@action\ndef wächst(self, s):\n    s.größe = 1",
    ),
    Odd(
        "two initial states",
        0,
        "",
        "VARIABLE\nACTION\n@initial\ndef a(self, s):\n    s.x = 1\n@initial\ndef b(self, s):\n    s.x = 2",
    ),
    Odd(
        "no initial state",
        2,
        "no initial state",
        "VARIABLE\nACTION\n@initial\ndef start(self, s):\n    require(False)",
    ),
    Odd(
        "no value for an initial state",
        0,
        "",
        "VARIABLE\nACTION\n@initial(n=())\ndef start(self, s, n):\n    s.x = n",
    ),
    Odd(
        "an initial state outside its domain",
        2,
        "outside its domain",
        "VARIABLE\nACTION\n@initial\ndef start(self, s):\n    s.x = 9",
    ),
    Odd(
        "an initial state that raises",
        75,
        "ZeroDivisionError",
        "VARIABLE\nACTION\n@initial\ndef start(self, s):\n    s.x = 1 // 0",
    ),
    Odd(
        "an initial state of an unknown variable",
        75,
        "no variable",
        "VARIABLE\nACTION\n@initial\ndef start(self, s):\n    s.y = 1",
    ),
    Odd("an initial state of nothing", 2, "must begin", "VARIABLE\nACTION\n@initial\ndef start(self):\n    pass"),
    Odd("an attribute that can be changed", 2, "changed in place", "seen = []\nVARIABLE\nACTION"),
    Odd("an unknown base", 2, "NameError", "VARIABLE\nACTION", "class Base(Nope):\n    pass"),
    Odd("releases of no constant", 2, "nope", "releases = {'1.0': {'nope': 3}}\nVARIABLE\nACTION"),
    Odd("releases of a wrong type", 2, "", "releases = 3\nVARIABLE\nACTION"),
    Odd("releases of a list", 2, "", "releases = ['1.0']\nVARIABLE\nACTION"),
    Odd("a name of a wrong type", 0, "", "name = 'ä name'\nVARIABLE\nACTION"),
    Odd("it asks for deadlocks", 11, "deadlock", "deadlock = True\nVARIABLE\nACTION"),
    Odd("it is made with arguments", 2, "__init__", "def __init__(self, top):\n    pass\nVARIABLE\nACTION"),
    Odd("it has slots", 0, "", "__slots__ = ()\nVARIABLE\nACTION"),
    Odd(
        "it keeps something",
        2,
        "constants alone",
        "def __init__(self):\n    super().__init__()\n    self.seen = []\nVARIABLE\nACTION",
    ),
    Odd(
        "a view that raises",
        12,
        "ok",
        "VARIABLE\nACTION\nBROKEN\n@view\ndef look(self, s):\n    return 1 // 0",
    ),
    Odd(
        "a view that gives nothing",
        12,
        "ok",
        "VARIABLE\nACTION\nBROKEN\n@view\ndef look(self, s):\n    pass",
    ),
    Odd(
        "a view of lines",
        12,
        "ok",
        "VARIABLE\nACTION\nBROKEN\n@view\ndef look(self, s):\n    return 'a\\nb'",
    ),
]

FIXED = [
    Odd(
        "an unknown constant in the head",
        2,
        "none of its constants",
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
    Odd("what exits when it is imported", 2, "SystemExit", "pass", "sys.exit(3)"),
    Odd("what raises when it is imported", 2, "ZeroDivisionError", "pass", "1 // 0"),
    Odd("what imports what is not there", 2, "nosuchmodule", "pass", "import nosuchmodule"),
    Odd("a base that is a module", 2, "TypeError", "pass", "import json as Specification"),
    Odd("what raises at length", 2, "ValueError", "pass", "raise ValueError('x' * 10**6)"),
    Odd("what raises in lines", 2, "ValueError", "pass", "raise ValueError('a\\nb\\nc\\nd\\ne\\nf\\ng')"),
    Odd("what recurses when it is imported", 2, "RecursionError", "pass", "def f(): f()\nf()"),
    Odd("what raises no exception", 2, "TypeError", "pass", "raise 3"),
]

SPECIFICATIONS: list[Odd] = [*DOMAINS, *PARAMETERS, *EFFECTS, *JUDGED, *CONSTANTS, *MADE, *FIXED]
