"""The words of the language: constants, variables, actions, properties, views, and what is called within them.

A word only marks what it stands before; `Specification` collects the marks. An overriding method needs no
second mark, so a variant overrides an action as it would any method, and `name = None` removes one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from operator import index
from typing import Any, NamedTuple, TypeVar, cast, overload

from spec.language.allowed_values import listed
from spec.language.domains import Domain, MappingDomain
from spec.language.errors import Bounded, Disabled, NotApplicable, SpecificationError, represented, safe_repr
from spec.language.identity import is_same_value

F = TypeVar("F", bound=Callable[..., Any])
Range = Domain[Any] | Iterable[Any] | Callable[..., Any]
"""Where a parameter ranges: a domain, what can be made one, or a function of the specification that gives it; or of
the specification and a state, `lambda self, s: s.messages`: then it ranges over what is there just now."""

# What is said inside a rule.


def require(condition: object) -> None:
    """The guard: where the condition does not hold, the action is not enabled and nothing has happened."""
    if not condition:
        raise Disabled


def bound(condition: object) -> None:
    """A guard that only keeps the search finite (a state constraint). It disables like `require`, but a state that it
    closes is no deadlock, and a replay runs without it.
    """
    if not condition and bounds_are_on():
        raise Bounded


def where(condition: object) -> None:
    """What a property or a view is about: only the states, or the steps, of which the condition holds.

    Any other is no violation and no witness, and a view says nothing of it.
    """
    if not condition:
        raise NotApplicable("`where` belongs into properties and views")


_narrators: list[Callable[[str], None]] = []


def say(sentence: str) -> None:
    """A sentence for the reader of a trace, about what this step turned out to be. It changes nothing.

    Sentences are heard only while a counterexample is printed, so they must not be built from the state.
    """
    if _narrators:
        _narrators[-1](sentence)


class narrated_to:  # noqa: N801 - reads as the word it is: `with listening(to.append):`
    """While it is open, what actions `say` goes to the given function."""

    def __init__(self, narrator: Callable[[str], None]):
        self.narrator = narrator

    def __enter__(self) -> None:
        _narrators.append(self.narrator)

    def __exit__(self, *_: object) -> None:
        _narrators.pop()


_unbounded = 0


def bounds_are_on() -> bool:
    """Whether `bound` disables actions just now."""
    return not _unbounded


class without_bounds:  # noqa: N801 - reads as the word it is
    """While it is open, `bound` forbids nothing."""

    def __enter__(self) -> None:
        global _unbounded
        _unbounded += 1

    def __exit__(self, *_: object) -> None:
        global _unbounded
        _unbounded -= 1


# What stands before a method.


class Step(NamedTuple):
    """A step by name: an action and its parameters."""

    action: str
    parameters: Mapping[str, Any]

    def __str__(self) -> str:
        return (
            f"{self.action}({', '.join(f'{name}={represented(value)}' for name, value in self.parameters.items())})"
        )


@dataclass(frozen=True)
class Mark:
    """What a word says of the method behind it."""

    kind: str
    parameters: Mapping[str, Range | OfState | Each] = field(default_factory=dict)
    when: Callable[[Any], object] | None = None
    of: tuple[str, ...] = ()
    """Of a property of steps: the actions whose steps it is about; none: of every step."""
    where: Callable[[Any, Any], object] | None = None
    """Of a property of states: which of them it is about."""
    actor: str = ""
    """Of an action: the lane of a sequence diagram that does it, or a parameter whose values have lanes."""
    receiver: str = ""
    """The lane that it is done to."""

    @property
    def family(self) -> str | None:
        """The parameter for each of whose values there is an action."""
        return next((name for name, given in self.parameters.items() if isinstance(given, Each)), None)


MARK = "__specification_mark__"


@dataclass(frozen=True)
class OfState:
    """What a parameter ranges over in a state."""

    given: Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Each:
    """See `each`."""

    values: Callable[[Any], Iterable[Any]]
    like: Callable[[Any], Callable[..., Any]]
    actor: Callable[[Any, Any], str] | None = None


def each(
    values: Callable[[Any], Iterable[Any]],
    like: Callable[[Any], Callable[..., Any]],
    actor: Callable[[Any, Any], str] | None = None,
) -> Any:
    """What a parameter ranges over that makes several actions of one rule: `@action(do=each(DOES, like=STEPS.get))`.

    Args:
        values: of the specification, those for each of which there is an action.
        like: of a value, the function whose name and sentence its action has.
        actor: of the specification and a value, who does it, as `actor=` of an action says it; without it all are
            done by the one whom the rule names.
    """
    return Each(values, like, actor)


class _Word:
    """What stands before a method, bare or with the ranges of the method's parameters."""

    def __init__(self, kind: str, doc: str):
        self.kind = kind
        self.__doc__ = doc

    def _mark(self, when: Callable[[Any], object] | None, parameters: Mapping[str, Range]) -> Mark:
        ranges = {name: self._range(name, given) for name, given in parameters.items()}
        if when is not None and not _takes(when, 1):
            raise SpecificationError(f"@{self.kind}: when= is a function of the specification, lambda self: ...")
        return Mark(self.kind, ranges, when)

    def _put(self, mark: Mark, function: Callable[..., Any] | None) -> Any:
        """The method with its mark, or what gives it to the one behind."""

        def put(function: Callable[..., Any]) -> Callable[..., Any]:
            if not callable(function):
                raise SpecificationError(f"@{self.kind}: it stands before a method, not {safe_repr(function)}")
            setattr(function, MARK, mark)
            return function

        return put if function is None else put(function)

    def _range(self, name: str, given: Any) -> Range | OfState | Each:
        """As it is given; what can be gone through only once is listed, for it is asked for more often."""
        if isinstance(given, Each):
            if self.kind != "action":
                raise SpecificationError(f"@{self.kind}: {name}=each(...) makes several actions of a rule")
            return given
        if callable(given) and not isinstance(given, type):
            if _takes(given, 1):
                if _is_named(given, "s"):
                    raise SpecificationError(
                        f"@{self.kind}: {name}= is given the specification; of a state it is lambda self, s: ..."
                    )
                return cast("Range", given)
            if _takes(given, 2):
                return OfState(given)
            if _takes(given, 0):
                return lambda self: given()
            raise SpecificationError(
                f"@{self.kind}: {name}= is a domain, or a function, lambda self: ... or lambda self, s: ..."
            )
        try:
            return listed(given) if isinstance(given, Iterator) else cast("Range", given)
        except SpecificationError as wrong:
            raise SpecificationError(f"@{self.kind}: parameter {name}: {wrong}") from None

    def __repr__(self) -> str:
        return self.kind


class _RuleWord(_Word):
    """A word that stands before anything but a property."""

    @overload
    def __call__(self, function: F, /) -> F: ...

    @overload
    def __call__(
        self, /, *, when: Callable[[Any], object] | None = None, **parameters: Range
    ) -> Callable[[F], F]: ...

    def __call__(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        when: Callable[[Any], object] | None = None,
        **parameters: Range,
    ) -> Any:
        return self._put(self._mark(when, parameters), function)


class _ActionWord(_Word):
    """The word that stands before an action, which may name who does it, and to whom."""

    @overload
    def __call__(self, function: F, /) -> F: ...

    @overload
    def __call__(
        self,
        /,
        *,
        when: Callable[[Any], object] | None = None,
        actor: str | Range = "",
        receiver: str | Range = "",
        **parameters: Range,
    ) -> Callable[[F], F]: ...

    def __call__(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        when: Callable[[Any], object] | None = None,
        actor: str | Range = "",
        receiver: str | Range = "",
        **parameters: Range,
    ) -> Any:
        lanes = {"actor": actor, "receiver": receiver}
        ranges = {name: given for name, given in lanes.items() if not isinstance(given, str)}  # parameters named so
        mark = replace(
            self._mark(when, {**parameters, **ranges}),
            actor=actor if isinstance(actor, str) else "",
            receiver=receiver if isinstance(receiver, str) else "",
        )
        return self._put(mark, function)


class _PropertyWord(_Word):
    """A word that stands before a property, which may be about some states, or some steps, only."""

    @overload
    def __call__(self, function: F, /) -> F: ...

    @overload
    def __call__(
        self,
        /,
        *,
        when: Callable[[Any], object] | None = None,
        where: Callable[[Any, Any], object] | None = None,
        of: str | Iterable[str] = (),
        **parameters: Range,
    ) -> Callable[[F], F]: ...

    def __call__(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        when: Callable[[Any], object] | None = None,
        where: Callable[[Any, Any], object] | None = None,
        of: str | Iterable[str] = (),
        **parameters: Range,
    ) -> Any:
        actions = (of,) if isinstance(of, str) else tuple(of) if isinstance(of, Iterable) else ()
        if of != () and not (actions and all(isinstance(action, str) for action in actions)):
            raise SpecificationError(f"@{self.kind}: of= is the name of an action, or several, not {safe_repr(of)}")
        if where is not None and not _takes(where, 2):
            raise SpecificationError(f"@{self.kind}: where= is a method, or a function, lambda self, s: ...")
        if where is not None and (of or self.kind == "transition_invariant"):
            raise SpecificationError(f"@{self.kind}: where= is for properties of states, and this is one of steps")
        if of and self.kind == "invariant":
            raise SpecificationError(f"@{self.kind}: of= is for properties of steps, and this is one of states")
        return self._put(replace(self._mark(when, parameters), of=actions, where=where), function)


def _takes(given: Any, arguments: int) -> bool:
    """Whether it can be called with so many: the specification, and a state."""
    try:
        inspect.signature(given).bind(*[None] * arguments)
    except TypeError:
        return False
    except ValueError:  # it does not say what it takes
        return arguments == 1
    return True


def _is_named(given: Any, name: str) -> bool:
    """Whether its one parameter has this name."""
    try:
        return list(inspect.signature(given).parameters) == [name]
    except ValueError:  # it does not say what it takes
        return False


class Declaration:
    """What has a name in the body of a class because a word gave it, and is no method."""

    kind: str
    """What it is."""


@dataclass(frozen=True)
class Declared(Declaration):
    """A variable as it stands in a class of states: what it means, and where it is narrower than its type."""

    kind = "variable"
    doc: str
    of: Callable[..., Any] | None
    when: Callable[[Any], object] | None


def variable(doc: str, *, of: Callable[..., Any] | None = None, when: Callable[[Any], object] | None = None) -> Any:
    """What a class of states says of a variable, in a line.

        holder: ClientId | None = variable("Who has it.")

    Args:
        doc: what it stands for.
        of: its domain, if that is not the one of its type: a function of the specification, `lambda self: range(3)`,
            or of the specification and a key, `lambda self, key: ...`, of what a mapping holds there.
        when: a function of the specification, whether the variable exists under its constants at all.
    """
    if isinstance(doc, Domain | MappingDomain):
        raise SpecificationError(
            f"variable({doc}): in its brackets stands what it means, name: Type = variable('What it means.'); "
            "its domain is that of its type, or given by of="
        )
    what = f"variable({safe_repr(doc)})"
    if not isinstance(doc, str):
        raise SpecificationError(
            f"{what}: it is a line in a class of states, name: Type = variable('What it means.', of=lambda self: ...)"
        )
    if of is not None and not (callable(of) and any(_takes(of, arguments) for arguments in range(3))):
        raise SpecificationError(
            f"{what}: of= is a function of the specification, lambda self: ..., or also of a key, "
            "lambda self, key: ..."
        )
    if when is not None and not _takes(when, 1):
        raise SpecificationError(f"{what}: when= is a function of the specification, lambda self: ...")
    return Declared(inspect.cleandoc(doc), of, when)


initial = _RuleWord(
    "initial",
    """The initial state, `(self, s)`: it assigns the variables that do not start with the first value of their
    domain. With parameters there is one initial state for each of their values.""",
)
action = _ActionWord(
    "action",
    """What may happen, `(self, s, **parameters)`: guard, then effect. For given parameters it must do the same
    in the same state; all choice is in the parameters, each of which takes every value of its type, or of a range,
    `@action(broker=BROKERS)`, or of what there is in the state, `@action(m=lambda self, s: s.messages)`. With `when=`
    a function of the specification says whether it exists under these constants at all. `actor=` and `receiver=` are
    for traces: who does it, and to whom, each a parameter (`actor="follower"`) or in words (`receiver="ZooKeeper"`,
    `actor="controller of broker {broker}"`, or with what the specification has, `receiver="{self.leader}"`); else it
    is done by the first parameter whose values are interchangeable, or by its part.
    Where the system may end, and that is no deadlock, is said by an action that has a guard and no effect (TLA+'s
    `Terminating`).""",
)
invariant = _PropertyWord(
    "invariant",
    """What holds in every state, `(self, s, **parameters) -> bool`; with parameters, for all of their values. With
    `where=`, a method or a function of the specification and a state, it holds wherever that does.""",
)
transition_invariant = _PropertyWord(
    "transition_invariant",
    """What holds of every step, `(self, before, step, after, **parameters) -> bool`, those that change nothing
    included. `step` has `action` and `parameters`. With `of=`, an action, several, or a rule that makes several, it
    is about their steps alone, `(self, before, after, **parameters) -> bool`; its parameters are the step's.""",
)
sometimes = _PropertyWord(
    "sometimes",
    """A witness that must exist: a state, `(self, s) -> bool`, or a step, `(self, before, step, after) -> bool`.
    A model in which what it is about never happens must not pass. `where=` and `of=` as for the properties; there is
    no such witness where none of the actions exists.""",
)
view = _RuleWord(
    "view",
    """A sentence about a state, `(self, s, **parameters) -> str`, for the reader of a trace: it is printed where it
    becomes another than it was; it is empty where there is nothing to say. It is evaluated only when a trace is
    printed, and changes no statistics and no verdict.""",
)
picture = _RuleWord(
    "picture",
    """A drawing of a state, `(self, s, **parameters) -> Drawing | None`, for a person who steps through states: a log
    as cells, a queue, a tree, see `spec.language.pictures`. Like a view it changes no statistics and no verdict.""",
)
assumption = _RuleWord(
    "assumption",
    """What must hold of the constants, `(self) -> bool`. Its docstring is the message when it does not.""",
)


@dataclass(frozen=True)
class Constant(Declaration):
    """A constant of a specification: its default, what it means, and which values it takes."""

    default: Any
    doc: str
    switch: bool
    allowed_values: tuple[Any, ...] | None
    at_least: int | None
    at_most: int | None

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Which of the two words declared it."""
        return "switch" if self.switch else "constant"

    @property
    def type(self) -> type:
        """The type of its values: that of the default."""
        return type(self.default)

    @property
    def forms(self) -> tuple[Any, ...] | None:
        """All values that it takes, where they can be counted up: those of `among`, or of an enumeration."""
        if self.allowed_values is not None:
            return self.allowed_values
        return tuple(self.type) if issubclass(self.type, Enum) else None

    @property
    def allowed(self) -> str:
        """Which values it takes, in words."""
        if self.forms is not None:
            return "one of " + ", ".join(each.name if isinstance(each, Enum) else str(each) for each in self.forms)
        if self.type is bool:
            return "true or false"
        return {int: "an integer", str: "a string"}.get(self.type, f"a {self.type.__name__}")

    def admits(self, value: object) -> bool:
        """Whether the value is of the right type, and within the enumeration if there is one."""
        if self.allowed_values is not None:
            return any(is_same_value(value, form) for form in self.allowed_values)
        return type(value) is self.type and _is_immutable(value)


def kind_of(value: object) -> str:
    """What a value in the body of a class is: by its mark, or as what is declared; empty for anything else."""
    mark = getattr(value, MARK, None)
    return mark.kind if mark else value.kind if isinstance(value, Declaration) else ""


class _Names(dict[str, Any]):
    """The names of a class body, none of which stands for two things in it."""

    def __setitem__(self, name: str, value: Any) -> None:
        kind, before = kind_of(value), kind_of(self.get(name))
        if before:
            article = "an" if before[0] in "aio" else "a"
            raise SpecificationError(f"{kind} {name}: {article} {before} has that name".lstrip())
        super().__setitem__(name, value)


class Body(type):
    """The class of classes in whose bodies words stand: a name that stands twice is refused."""

    @classmethod
    def __prepare__(cls, name: str, bases: tuple[type, ...], /, **_: Any) -> _Names:
        return _Names()


def plain(value: Any) -> Any:
    """A value as a constant holds it: what counts as an integer is one, such as numpy's, also within a tuple or set.

    >>> plain(3), plain(True), plain("3")
    (3, True, '3')
    """
    if type(value) in (tuple, frozenset):
        return type(value)(map(plain, value))
    try:
        return value if isinstance(value, int) else index(value)
    except TypeError:
        return value


def constant(default: Any, doc: str, *, at_least: int | None = None, at_most: int | None = None) -> Any:
    """A constant, with its default. Immutable."""
    return _constant(default, doc, False, None, at_least, at_most)


def switch(default: Any, doc: str, *, among: Iterable[Any] | None = None) -> Any:
    """A constant that turns a fix on or off, or picks one of its historical forms."""
    forms = None if among is None else tuple(map(plain, listed(among)))
    if forms is None and type(default) is not bool:
        raise SpecificationError(f"switch({safe_repr(default)}): without among= it is True or False")
    return _constant(default, doc, True, forms, None, None)


def _constant(
    default: Any, doc: str, switch: bool, among: tuple[Any, ...] | None, at_least: Any, at_most: Any
) -> Constant:
    what = f"{'switch' if switch else 'constant'}({safe_repr(default)})"
    if not _is_immutable(default):
        raise SpecificationError(f"{what}: its default must be immutable")
    if not isinstance(doc, str):
        raise SpecificationError(f"{what}: behind its default stands what it means, in a string")
    made = Constant(plain(default), inspect.cleandoc(doc), switch, among, at_least, at_most)
    if not made.admits(made.default):
        raise SpecificationError(f"{what}: it must be {made.allowed}")
    if not all(bound is None or type(bound) is type(made.default) for bound in (at_least, at_most)):
        raise SpecificationError(f"{what}: at_least= and at_most= are of the type of its default")
    return made


def _is_immutable(value: object) -> bool:
    """Whether it stays what it is, and equals itself."""
    try:
        hash(value)
    except TypeError:
        return False
    return not isinstance(value, Iterator) and value == value
