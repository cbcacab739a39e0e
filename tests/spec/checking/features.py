"""The building blocks of random systems, by feature: one more line here adds a feature to every test.

A place in angle brackets is filled at random; a place that occurs twice in a line is filled with the same text:

    <v> <w>  a value        <r>  something to read         <k>  a value that <v> may have    <q>  a question
    <p> <o>  a place        <V> <W> <O>  what fits there   <n>  a key of s.p                 <P>  what fits in s.p
    <T>      a type         <B>  True or False             <a> <b>  domains
    <S> <Z>  states
"""

from __future__ import annotations

from typing import Final

PRELUDE: Final = '''\
import copy
import json
import math
import pickle
from contextlib import suppress
from enum import Enum, Flag, IntEnum, StrEnum
from typing import Annotated, Any, NamedTuple

from spec.language import (
    Partial, Specification, State, Step, Total, action, booleans, bound, initial, integers, invariant, mapping,
    one_of, optional, partial_mapping, possibly_empty, record, require, say, sequence_of, sometimes, subset_of,
    transition_invariant, tuple_of, variable, where,
)
from tests.spec.checking.elsewhere import Quiet, Unfit, fitting, found, hashed, kept, translated

Number = Annotated[int, "a number"]


class Hue(Enum):
    NOTHING = None
    RED = "red"
    TRUE = True


class Rank(IntEnum):
    LOW = 0
    HIGH = 1


class Word(StrEnum):
    NONE = "none"
    ONE = "1"
    EMPTY = ""


class Right(Flag):
    READ = 1
    WRITE = 2


class Pair(NamedTuple):
    left: Any
    right: Any


class Twin(NamedTuple):
    left: Any
    right: Any


def deep(value):
    """The depth of nesting."""
    if isinstance(value, (tuple, frozenset)):
        return 1 + max(map(deep, value), default=0)
    return 0


def leaves(value):
    """The parts of a value that have no parts themselves."""
    return [leaf for part in value for leaf in leaves(part)] if type(value) in (tuple, Pair, Twin) else [value]


def flat(value):
    """The same, without looking into sets."""
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, tuple) else [value]


def matched(value):
    """The shape of a value."""
    match value:
        case Pair(left, right=None):
            return "pair", left
        case Twin():
            return "twin"
        case (one, two):
            return "two", one, two
        case (first, *rest):
            return "more", first, len(rest)
        case None | True | False:
            return "one of three"
        case Hue() | Right():
            return "member"
        case 1 | "1":
            return "one"
        case int(number):
            return "number", number
        case str():
            return "text"
    return "something else"


def tried(do, otherwise=None):
    """The result of a call, or another value if it fails."""
    try:
        return do()
    except Exception:
        return otherwise
'''
"""The beginning of each module."""

Forms = dict[str, tuple[str, ...]]
"""Sets of constant values, by feature."""

LEAVES: Final[Forms] = {
    "numbers": ("booleans()", "integers(0, 2)", "optional(integers(0, 1))"),
    "large numbers": ("integers(2**63 - 1, 2**63 + 1)", "one_of(-(2**63), 0, 2**64)"),
    "members": ("one_of(*Hue)", "one_of(*Rank)", "one_of(*Word)"),
    "zero flags": ("one_of(Right(0), Right.READ, Right.READ | Right.WRITE)",),
    "texts": ('one_of("none", "1", "", "a b")', 'one_of("True", True, None, 2)', 'one_of(1, "1", (1,))'),
    "tuples": ("one_of((), (0,), ((),), ((0,), 1))",),
    "sets of sets": ("one_of(frozenset(), frozenset({()}), frozenset({frozenset()}))",),
}
"""Domains of few values."""

STRUCTURES: Final[Forms] = {
    "tuples": ("tuple_of(<a>)", "tuple_of(<a>, <b>)", "tuple_of(<a>, tuple_of(<b>), tuple_of())"),
    "records": (
        "record(Pair, left=<a>, right=<b>)",
        "record(Pair, left=<a>, right=record(Twin, left=<b>, right=booleans()))",
        "record(Twin, left=optional(<a>), right=tuple_of())",
    ),
    "nothing": (
        "optional(<a>)",
        "optional(record(Pair, left=<a>, right=optional(<b>)))",
        "possibly_empty(tuple_of(<a>, <b>))",
    ),
    "sequences": ("sequence_of(<a>, 2)", "sequence_of(record(Pair, left=<a>, right=one_of(None)), 1)"),
    "sets": ("subset_of(<a>)", "subset_of(tuple_of(<a>))", "tuple_of(subset_of(<a>), <b>)"),
    "sets of sets": ("subset_of(subset_of(integers(0, 1)))",),
}
"""Domains built from other domains."""

KEYS: Final = (
    '("x", "y")',
    "range(2)",
    "booleans()",
    '(1, "1", (1,))',
    '(None, "none")',
    "one_of(*Hue)",
    "one_of(*Word)",
    "one_of((0, ()), (1, (0,)))",
)
"""Domains for the keys of mappings and the parameters of actions."""

TYPES: Final = (
    "int",
    "bool",
    "str",
    "tuple",
    "frozenset",
    "Pair",
    "Hue",
    "Rank",
    "Word",
    "Right",
    "type(None)",
    "set",
)

VALUES: Final[Forms] = {
    "parts": ("<v>[0]", "<v>[-1]", "<v>[1:]", "<v>.left", "<v>.right", "<v>[0][0]", "<v>.right.left"),
    "tuples": (
        "(<v>,)",
        "(<v>, <w>)",
        "(*<v>, <w>)",
        "<v> + (<w>,)",
        "<v>[::-1]",
        "tuple(reversed(<v>))",
        "<v> * 2",
        "(lambda a, *b: b)(*<v>)",
        "dict(zip(<v>, <w>))",
    ),
    "records": (
        "Pair(<v>, <w>)",
        "Twin(left=<v>, right=<w>)",
        "<v>._replace(left=<w>)",
        '<v>._replace(**{"right": <w>})',
        "<v>._replace(left=<v>.right, right=<v>.left)",
        "Pair._make(<v>)",
        "Twin(*<v>)",
        "<v>._asdict()",
        "getattr(<v>, <v>._fields[0])",
    ),
    "sets": (
        "frozenset({<v>})",
        "frozenset(<v>)",
        "<v> | {<w>}",
        "<v> - {<w>}",
        "<v> ^ frozenset({<w>})",
        "<v> & <w>",
        "{<v>, <w>}",
        "<v>.union([<w>])",
    ),
    "comprehensions": (
        "frozenset(each for each in <v> if each != <w>)",
        "tuple(each for each in <v> if each)",
        "[(each, <w>) for each in <v>]",
        "{each: <w> for each in <v>}",
        "sum(1 for each in <v> if each == <w>)",
        "tuple(sorted(<v>, key=repr))",
        "next((each for each in <r> if each), <w>)",
        "any(each == <w> for each in <v>)",
        "{len(each) for each in <v>}",
    ),
    "numbers": (
        "<v> + 1",
        "<v> - <w>",
        "-<v>",
        "<v> % 2",
        "<v> // <w>",
        "<v> ^ 1",
        "1 << <v> % 8",
        "int(<v>)",
        "bool(<v>)",
        "abs(<v>)",
        "max(<v>, <w>)",
        "divmod(<v>, 2)",
        "float(<v>)",
        "round(<v> / 3)",
        "math.gcd(<v>, 4)",
        "range(5)[<v>]",
        "sum(<v>)",
        "len(<v>)",
        "True + <v>",
    ),
    "members": (
        "<v>.value",
        "<v>.name",
        "Hue(<v>)",
        "Rank(<v>)",
        "Word(<v>)",
        "<v> | Right.WRITE",
        "~<v>",
        "list(<v>)",
        "Hue[<v>.name]",
    ),
    "choices": ("<v> if <q> else <w>", "<v> or <w>", "<v> and <w>", "not <v>", "{True: <v>, False: <w>}[<q>]"),
    "recursion": ("deep(<v>)", "flat(<v>)", "tuple(flat(<v>))"),
    "matching": ("matched(<v>)",),
    "types": (
        "type(<v>)",
        "type(<v>).__name__",
        "<v>.__class__",
        "type(<v>)(<w>)",
        "type(<v>)()",
        "{int: 0, tuple: 1, str: 2}.get(type(<v>))",
        "leaves(<v>)",
        "tuple(leaves(<v>))",
    ),
    "text": (
        "str(<v>)",
        "repr(<v>)",
        'f"{<v>}"',
        'f"{<v>!r:>5}"',
        '"%s" % <v>',
        '"%s" % (<v>,)',
        '"%d" % <v>',
        '"%s-%s" % <v>',
        '"{}".format(<v>)',
        "json.dumps(<v>)",
        "json.dumps([<v>, 1])",
        '"-".join(<v>)',
        '"".join(map(str, <v>))',
        "str(<v>).upper()",
        "<v>.upper()",
        "<v>[:1]",
        '<v> + "x"',
        "hex(<v>)",
        '"abc"[<v>]',
    ),
    "swallowing": (
        "tried(lambda: <v>, <w>)",
        "tried(lambda: <v>.left, <w>)",
        "tried(lambda: json.dumps(<v>), <w>)",
        "tried(lambda: <v> + <w>, 0)",
        "tried(lambda: {<v>: 1}[<w>])",
    ),
    "elsewhere": (
        "fitting(lambda: <v>, <w>)",
        "fitting(lambda: json.dumps(<v>), <w>)",
        "found(lambda: {<v>: 1}[<w>], <w>)",
        "found(lambda: <v>[1], <w>)",
        "translated(lambda: <v>)",
    ),
    "caches": ("kept(<v>)", "hashed(<v>)", "hashed(<v>)[1]"),
    "copies": (
        "copy.copy(<v>)",
        "copy.deepcopy(<v>)",
        "pickle.loads(pickle.dumps(<v>))",
        "{<v>: <w>}",
        "[<v>][0]",
    ),
    "look-alikes": ("bool(<v>)", "int(<v>)", "str(<v>)", "float(<v>)", "tuple(<v>)", "Pair(*<v>)", "(True, *<v>)"),
}
"""Expressions for values."""

QUESTIONS: Final[Forms] = {
    "equality": (
        "<v> == <k>",
        "<v> != <k>",
        "<v> == <w>",
        "<v> in (<w>, <k>)",
        "<v>",
        "not <v>",
        "<q> and <v> == <k>",
    ),
    "order": ("<v> < <w>", "<v> <= <k>", "sorted([<v>, <w>])[0] == <k>", "<w> >= <v>", "min(<v>) == <w>"),
    "membership": (
        "<v> in <w>",
        "<v> not in <w>",
        "<v> in {<w>, None}",
        "{<v>: 1}.get(<w>)",
        "len({<v>, <w>}) == 1",
        "<v>.index(<w>) == 0",
        "<v>.count(<w>) == 1",
        "set(<v>) == <w>",
        "<v>.isdisjoint(<w>)",
        "<v> <= <w>",
        "hash(<v>) == hash(<w>)",
        "all(<v>)",
        "Right.READ in <v>",
    ),
    "types": (
        "type(<v>) is <T>",
        "isinstance(<v>, <T>)",
        "type(<v>) is type(<w>)",
        "type(<v>) in (int, str)",
        "isinstance(<v>, int) and not isinstance(<v>, bool)",
        "issubclass(type(<v>), tuple)",
        'hasattr(<v>, "_fields")',
        "callable(<v>)",
    ),
    "identity": ("<v> is None", "<v> is True", "<v> is not None", "<v> is Hue.RED", "None is <v>", "<S> is <Z>"),
    "states": ("<S> == <Z>", "<S> != <Z>"),
    "elsewhere": (
        "fitting(lambda: json.dumps(<v>) == json.dumps(<k>), True)",
        "found(lambda: (<w>, <v>)[<v>] == <k>)",
    ),
    "text": ('"%s" % (<v>,) == str(<k>)', 'str(<v>).startswith("(")', "len(repr(<v>)) > 4", "<v>.startswith(<w>)"),
    "swallowing": (
        "tried(lambda: json.dumps(<v>) == json.dumps(<k>), True)",
        "tried(lambda: <v> < <w>, False)",
        "tried(lambda: len(<v>) > 1)",
    ),
}
"""Conditions on values."""

JUDGEMENTS: Final[Forms] = {
    "plain": ("return bool(<q>)", "return not <q>", "return bool(<q>)", "return not <q>"),
    "odd answers": ("return <q>", "return <v>"),
    "conditions": (
        "where(<q>)\nreturn <v> == <w>",
        "if <q>:\n    return True\nreturn <v> != <k>",
        "for each in <v>:\n    if each == <w>:\n        return False\nreturn True",
    ),
    "swallowing": (
        "try:\n    return bool(<q>)\nexcept Exception:\n    return <B>",
        "try:\n    return bool(<q>)\nexcept (TypeError, KeyError):\n    return <B>",
        "try:\n    found = <v>\nexcept:\n    found = None\nreturn found != <k>",
        "with suppress(Exception):\n    return bool(<q>)\nreturn <B>",
        "try:\n    return <v> != <k>\nfinally:\n    <q>",
        "with Quiet():\n    return bool(<q>)\nreturn <B>",
        "try:\n    return bool(<q>)\nexcept KeyError:\n    return <B>",
        "try:\n    return bool(translated(lambda: <q>))\nexcept Unfit:\n    return <B>",
        "try:\n    return bool(<q>)\nexcept TypeError:\n    if <v> == <w>:\n        raise\n    return <B>",
    ),
    "raising": (
        'if <q>:\n    raise ValueError(f"odd: {<v>}")\nreturn True',
        "assert <q>\nreturn True",
        "return {True: False}[bool(<q>)]",
    ),
    "matching": (
        "match <v>:\n    case (one, *_):\n        return one != <w>\n    case int():\n        return <B>\nreturn <q>",
    ),
}
"""The last lines of a property."""

STATEMENTS: Final[Forms] = {
    "assigning": ("<p> = <V>", "<p> = <V>", "<p> = <V>", "made = <v>\n<p> = made if <q> else <V>"),
    "many": ("<p>, <o> = <V>, <O>", "<p> = <o>", "<p>, <o> = <o>, <p>"),
    "guards": ("require(<q>)", "require(<q>)", "bound(<q>)", "if <q>:\n    return"),
    "choices": (
        "if <q>:\n    <p> = <V>\nelse:\n    <p> = <W>",
        "for each in <v>:\n    if each == <w>:\n        <p> = <V>",
        "match <v>:\n    case (one, *_):\n        <p> = <V>\n    case int() | None:\n        <p> = <W>",
    ),
    "swallowing": (
        "try:\n    <p> = <v>\nexcept Exception:\n    <p> = <V>",
        "try:\n    made = <v>\nexcept:\n    made = <w>\n<p> = made",
        "with suppress(Exception):\n    <p> = <V> if <q> else <W>",
        "try:\n    require(<q>)\nexcept BaseException:\n    <p> = <V>",
        "try:\n    <p> = <v>\nfinally:\n    <o> = <O>",
        "with Quiet():\n    <p> = <v>",
        "try:\n    <p> = translated(lambda: <v>)\nexcept Unfit:\n    <p> = <V>",
        "try:\n    <p> = <v>\nexcept (LookupError, ArithmeticError):\n    <p> = <V>",
    ),
    "raising": ('if <q>:\n    raise LookupError(f"odd: {<v>}")', "assert <q>, <v>", "<v>"),
    "strangers": ("<p> = <v>", "if <q>:\n    <p> = <v>"),
    "saying": ('say(f"it is {<v>}")',),
    "partial": (
        "del s.p[<n>]",
        "s.p.pop(<n>, None)",
        "if <q>:\n    s.p.clear()",
        "s.p.update({<n>: <P>})",
        "s.p.setdefault(<n>, <P>)",
        "for key in tuple(s.p):\n    s.p[key] = <P>",
        "<p> = s.p.pop(<n>)",
    ),
    "states": ("{s: 1}", "kept(s)", "if s == s:\n    <p> = <V>", "old = s.t\n<p> = <V>\nrequire(old == s.t)"),
    "mappings": ("s.p = {<n>: <P>}", "s.t, s.p = s.p, s.t", "s.p = s.t", "s.t = {key: <P> for key in s.t}"),
}
"""Lines of an action."""
