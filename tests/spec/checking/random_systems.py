"""Random systems, written as Python modules that a person can read, save and run.

The writer tries each expression, action and property on some states and mostly keeps those that mean something there.
Elsewhere they may do anything.
"""

from __future__ import annotations

import ast
import copy
import linecache
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import Enum, Flag
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from random import Random
from textwrap import indent
from types import ModuleType, SimpleNamespace
from typing import Any, Final, NamedTuple

from spec.atlas.loading import system_named
from spec.language import Bounded, Disabled, Domain, Specification, SpecificationError, Step
from spec.language.errors import NotApplicable
from tests.spec.checking.features import (
    JUDGEMENTS,
    KEYS,
    LEAVES,
    PRELUDE,
    QUESTIONS,
    STATEMENTS,
    STRUCTURES,
    TYPES,
    VALUES,
    Forms,
)

MOST: Final = 12
"""The most values in a domain."""
SAMPLES: Final = 6
"""The number of states on which everything is tried."""

RANGES: Final = ("range(1 + bool(s.a == s.b))", "[1, 0, 1][bool(s.a == s.b) :]", "{1} if s.a == s.b else ()")
"""Ranges over part of a state, of the numbers 0 and 1."""


OPAQUE: Final = ("types", "swallowing", "text", "copies", "elsewhere")
"""Features most of whose lines make a rule opaque; every other system is without them."""


class Kind(NamedTuple):
    """A domain, and its text."""

    text: str
    domain: Domain[Any]
    values: list[Any]

    def fits(self, value: Any) -> bool:
        """Whether a value is in the domain."""
        with suppress(Exception):
            return value in self.domain
        return False


class Scene(NamedTuple):
    """What an expression can refer to where it is written."""

    reads: tuple[str, ...]
    """Expressions."""
    places: dict[str, Kind]
    """Places to assign to."""
    samples: list[dict[str, Any]]
    """Names with their values, in some states."""


class Nothing:
    """The outcome of an expression that raises."""


class Writer:
    """Writes one system.

    Args:
        seed: selects the system.
    """

    def __init__(self, seed: str):
        self.random = Random(seed)
        self.without = OPAQUE if self.chance(0.5) else ()
        self.kinds = [self.kind(), self.kind()]
        self.of = {name: self.one_of(self.kinds) for name in "abtp"}
        self.key_texts = {name: self.one_of(KEYS) for name in "tp"}
        self.keys = {name: [*eval(text, NAMES)] for name, text in self.key_texts.items()}

    def one_of(self, found: Sequence[Any]) -> Any:
        """One of these."""
        return self.random.choice(found)

    def form(self, forms: Forms) -> str:
        """A line for a feature, both chosen at random."""
        return str(self.one_of(forms[self.one_of([each for each in forms if each not in self.without])]))

    def chance(self, share: float) -> bool:
        """True with this probability."""
        return self.random.random() < share

    def module(self) -> str:
        """The text of the module."""
        a, b, t, p = (self.of[name].text for name in "abtp")
        keys, some = self.key_texts["t"], self.key_texts["p"]
        variables = [
            f'a: Any = variable("A.", of=lambda self: {a})',
            f'b: Any = variable("B.", of=lambda self: {b})',
            f't: Total[Any, Any] = variable("T.", of=lambda self: mapping({keys}, {t}))',
            f'p: Partial[Any, Any] = variable("P.", of=lambda self: partial_mapping({some}, {p}))',
        ]
        rules = ["def sizes(self):\n    return {Number: range(2)}"]
        rules += [self.rule("initial", "begin")] * self.chance(0.6)
        rules += [self.rule("action", f"act{n}") for n in range(self.random.randint(2, 5))]
        for word in ("invariant", "sometimes"):
            rules += [self.property(word, f"{word}{n}", False) for n in range(self.random.randint(0, 2))]
        for word in ("transition_invariant", "sometimes"):
            rules += [self.property(word, f"{word}_step{n}", True) for n in range(self.random.randint(0, 2))]
        classes = ["class Here(State):", indent("\n".join(variables), "    "), "", ""]
        classes += ["class Made(Specification[Here]):", indent("\n\n".join(rules), "    ")]
        return "\n".join([PRELUDE, "", *classes, ""])

    # What the state is made of.

    def kind(self) -> Kind:
        """A domain of a few values, perhaps made of others."""
        while True:
            text = self.form(LEAVES)
            for _ in range(self.random.randrange(3)):
                text = self.form(STRUCTURES).replace("<a>", text).replace("<b>", self.form(LEAVES))
            with suppress(SpecificationError):  # None twice
                domain = eval(text, NAMES)
                if 1 < domain.size <= MOST:
                    return Kind(text, domain, list(domain))

    def state(self, first: bool = False) -> SimpleNamespace:
        """Any state, or the one in which every variable has its first value."""
        any_of = {name: kind.values[:1] if first else kind.values for name, kind in self.of.items()}
        total = {key: self.one_of(any_of["t"]) for key in self.keys["t"]}
        partial = {key: self.one_of(any_of["p"]) for key in self.keys["p"] if not first and self.chance(0.5)}
        return SimpleNamespace(a=self.one_of(any_of["a"]), b=self.one_of(any_of["b"]), t=total, p=partial)

    def reads(self, s: str) -> Iterator[str]:
        """The expressions that read a state."""
        yield from (f"{s}.a", f"{s}.b") * 3
        for key in map(written, self.keys["t"]):
            yield from (f"{s}.t[{key}]",) * 2
        for key in map(written, self.keys["p"]):
            yield from (f"{s}.p.get({key})", f"{s}.p.get({key})", f"{s}.p[{key}]", f"{key} in {s}.p")
        yield from (f"{s}.t", f"{s}.p", f"copy.deepcopy({s}.t)", f"copy.deepcopy({s}.p)")
        yield from (f"len({s}.p)", f"tuple({s}.p)", f"tuple({s}.t.values())", f"tuple({s}.p.items())", f"dict({s}.t)")

    # Rules and properties.

    def parameter(self) -> tuple[str, str, list[Any]]:
        """The arguments of the decorator, the parameter in the signature, and its values."""
        of, kind = self.one_of("tp"), self.one_of(self.kinds)
        some: list[tuple[str, str, list[Any]]] = [
            ("", "", []),
            ("", "", []),
            ("", ", n: Number", [0, 1]),
            (f"(n=lambda self: {kind.text})", ", n", kind.values),
            (f"(n={kind.text})", ", n", kind.values),
            (f"(n={self.key_texts[of]})", ", n", self.keys[of]),
            (f"(n=lambda self: {self.key_texts[of]})", ", n", self.keys[of]),
        ]
        return some[self.random.randrange(len(some))]

    def rule(self, word: str, name: str) -> str:
        """An initial rule or an action."""
        ranges, signature, values = self.parameter()
        if word == "action" and signature.endswith("Number") and self.chance(0.5):
            ranges = f"(n=lambda self, s: {self.one_of(RANGES)})"
        samples = [self.sample(values, first=not at) for at in range(SAMPLES)]
        places = {"s.a": self.of["a"], "s.b": self.of["b"]}
        for variable in "tp":
            keys = [written(key) for key in self.keys[variable]]
            keys += ["n"] * (bool(values) and all(value in self.keys[variable] for value in values))
            places |= {f"s.{variable}[{key}]": self.of[variable] for key in keys}
        scene = Scene((*self.reads("s"), *["n"] * (4 if values else 0)), places, samples)

        def draft() -> str:
            forms = [STATEMENTS["guards"]] * (word == "action" and self.chance(0.6)) + [STATEMENTS["assigning"]]
            body = [self.filled(self.one_of(lines), scene) for lines in forms]
            body += [self.filled(self.form(STATEMENTS), scene) for _ in range(self.one_of((0, 0, 1, 2)))]
            return f"def {name}(self, s{signature}):\n{indent(chr(10).join(body), '    ')}"

        return f"@{word}{ranges}\n{self.best(draft, lambda text: self.can_be_done(text, name, samples))}"

    def property(self, word: str, name: str, over_steps: bool) -> str:
        """A property of states or of steps."""
        ranges, signature, values = self.parameter() if not over_steps else ("", "", [])
        if signature.endswith("Number") and self.chance(0.5):
            ranges = f"(n=lambda self, s: {self.one_of(RANGES)})"
        seen = "before, step, after" if over_steps else "s"
        samples = [self.sample(values, over_steps, first=not at) for at in range(SAMPLES)]
        reads = ["n"] * (4 if values else 0)
        for state in ("before", "after") if over_steps else ("s",):
            reads += self.reads(state)
        reads += ("step.action", 'step.parameters.get("n")') * over_steps
        scene = Scene(tuple(reads), {}, samples)

        def draft() -> str:
            body = self.filled(self.form(JUDGEMENTS), scene)
            return f"def {name}(self, {seen}{signature}):\n{indent(body, '    ')}"

        def decides_little(text: str) -> bool:
            found = [outcome_of(text, name, names) for names in samples]
            plain = all(answer is True or answer is False or answer is NotApplicable for answer in found)
            return plain and found[0] is not (word == "sometimes")

        return f"@{word}{ranges}\n{self.best(draft, decides_little)}"

    def sample(self, values: list[Any], over_steps: bool = False, first: bool = False) -> dict[str, Any]:
        """Values for the names in some state or step."""
        step = Step(f"act{self.random.randrange(2)}", self.one_of([{}, {"n": 0}, {"n": self.keys["t"][0]}]))
        names = {"before": self.state(first), "step": step, "after": self.state(False)}
        return (names if over_steps else {"s": self.state(first)}) | ({"n": self.one_of(values)} if values else {})

    def can_be_done(self, text: str, name: str, samples: list[dict[str, Any]]) -> bool:
        """Whether it never raises or leaves a domain in these states, and is enabled in one of them."""
        done = 0
        for names in samples:
            s = copy.deepcopy(names["s"])
            answer = outcome_of(text, name, names | {"s": s})
            if answer in (Disabled, Bounded):
                continue
            standing = [
                ("a", s.a),
                ("b", s.b),
                *(("t", each) for each in s.t.values()),
                *(("p", each) for each in s.p.values()),
            ]
            if answer is not None or not all(self.of[place].fits(value) for place, value in standing):
                return False
            done += 1
        return done > 0

    def best(self, draft: Callable[[], str], good: Callable[[str], bool]) -> str:
        """A good draft; occasionally the first one, good or not."""
        text, drafts = "", 0
        while not text or (drafts < 8 and not good(text)):
            with suppress(SyntaxError, ValueError):  # quotation marks inside a string
                text = ast.unparse(ast.parse(draft()))
            drafts += 8 if self.chance(0.05) else 1
        return text

    # Expressions.

    def filled(self, form: str, scene: Scene, depth: int = 2) -> str:
        """A line with its places filled."""
        chosen: dict[str, str] = {}

        def fill(found: re.Match[str]) -> str:
            if (mark := found[1]) not in chosen:
                chosen[mark] = self.part(mark, chosen, scene, depth)
            return chosen[mark] if mark in "po" else f"({chosen[mark]})"

        return re.sub("<(.)>", fill, form)

    def question(self, scene: Scene, depth: int) -> str:
        """A condition that can be evaluated in some states."""
        for _ in range(5):
            text = self.filled(self.form(QUESTIONS), scene, depth)
            if Nothing not in [outcome(text, names) for names in scene.samples[: SAMPLES if depth > 0 else 3]]:
                break
        return text

    def part(self, mark: str, chosen: Mapping[str, str], scene: Scene, depth: int) -> str:
        """The text for one place of a line."""
        fitting = {"V": "p", "W": "p", "O": "o"}
        if mark in fitting:
            return self.value(scene, depth, scene.places[chosen[fitting[mark]]])
        if mark == "P":
            return self.value(scene, depth, self.of["p"])
        if mark in "po":
            return str(self.one_of([*scene.places]))
        if mark == "q":
            return self.question(scene, depth - 1)
        if mark == "k":
            return self.constant(outcome(chosen["v"], self.one_of(scene.samples)))
        if mark == "n":
            return "n" if "n" in scene.reads and self.chance(0.5) else written(self.one_of(self.keys["p"]))
        states = [name for name in ("s", "before", "after") if name in scene.samples[0]]
        simple = {"r": scene.reads, "T": TYPES, "B": ("True", "False"), "S": states, "Z": states}
        return str(self.one_of(simple[mark])) if mark in simple else self.value(scene, depth)

    def constant(self, value: Any) -> str:
        """A value as text, or another value if this one cannot be written."""
        with suppress(Exception):
            if eval(written(value), NAMES) == value:
                return written(value)
        return written(self.one_of(self.one_of(self.kinds).values))

    def value(self, scene: Scene, depth: int, kind: Kind | None = None) -> str:
        """An expression that has a value in some states, and fits the domain."""
        for _ in range(5):
            if depth <= 0 or self.chance(0.3):
                text = self.constant(Nothing) if self.chance(0.2) else str(self.one_of(scene.reads))
            else:
                text = self.filled(self.form(VALUES), scene, depth - 1)
            found = [outcome(text, names) for names in scene.samples[: SAMPLES if depth > 1 else 3]]
            if all(value is not Nothing and (kind is None or kind.fits(value)) for value in found) or self.chance(
                0.03
            ):
                return text
        if kind is None:
            return str(self.one_of(scene.reads))
        alike = [read for read in scene.reads if all(kind.fits(outcome(read, names)) for names in scene.samples)]
        return str(self.one_of(alike)) if alike and self.chance(0.7) else written(self.one_of(kind.values))


# Trying the drafts.


def _prelude() -> dict[str, Any]:
    module = ModuleType("prelude_of_random_systems")
    sys.modules[module.__name__] = module  # so that its classes can be pickled
    exec(PRELUDE, vars(module))
    return vars(module)


NAMES: Final = _prelude()


@contextmanager
def unsurprised() -> Iterator[None]:
    """Silence Python's warnings about odd code, such as `() is None`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        yield


@lru_cache(4096)
def code(text: str, mode: str) -> Any:
    """The compiled text, cached because it is tried on several states."""
    with unsurprised():
        return compile(text, "a random system", mode)


def outcome(text: str, names: dict[str, Any]) -> Any:
    """The value of an expression."""
    try:
        return eval(code(text, "eval"), NAMES, names)
    except Exception:
        return Nothing


def outcome_of(text: str, name: str, names: dict[str, Any]) -> Any:
    """The return value of a function; a marker type if it is not enabled; or its exception."""
    defined = dict(NAMES)
    exec(code(text, "exec"), defined)
    try:
        return defined[name](None, **names)
    except (Disabled, NotApplicable) as nothing:
        return type(nothing)
    except Exception as failure:
        return failure


def written(value: Any) -> str:
    """A value as Python source."""
    if isinstance(value, Flag) and value.name not in type(value).__members__:
        return f"{type(value).__name__}({value.value})"
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, frozenset):
        return f"frozenset({{{', '.join(sorted(map(written, value)))}}})" if value else "frozenset()"
    if isinstance(value, tuple):
        parts = ", ".join(map(written, value))
        return (
            f"{type(value).__name__}({parts})" if hasattr(value, "_fields") else f"({parts}{',' * (len(value) == 1)})"
        )
    return repr(value)


@contextmanager
def loaded(text: str, directory: Path) -> Iterator[Specification]:
    """The system of a module, loaded as the command loads it, and removed afterwards."""
    path = directory / f"made_{sha256(text.encode()).hexdigest()[:12]}.py"
    path.write_text(text, encoding="utf-8")
    try:
        with unsurprised():
            system = system_named(f"{path}:Made")()
        yield system
    finally:
        sys.modules.pop(path.stem, None)
        linecache.cache.pop(str(path), None)
        path.unlink()


def shrunk(text: str, goes_on: Callable[[str], bool]) -> str:
    """The text with rules and lines removed as long as the failure persists."""
    head, _, rest = text.partition("class Made(")
    smaller = True
    while smaller:
        smaller = False
        for separator in ("\n\n", "\n"):
            pieces = rest.split(separator)
            for at in reversed(range(1, len(pieces))):
                other = separator.join(pieces[:at] + pieces[at + 1 :])
                if goes_on(f"{head}class Made({other}"):
                    rest, pieces, smaller = other, other.split(separator), True
    return f"{head}class Made({rest}"
