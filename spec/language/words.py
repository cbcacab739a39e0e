"""The words of the language: constants, variables, actions, properties, views, and functions called within them.

A word only marks the method after it; `Specification` collects the marks. An overriding method needs no mark of its
own, so a variant overrides an action like any method, and `name = None` removes one.
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
"""The range of a parameter: a domain, values that `as_domain` accepts, or a function of the specification that
returns either. A function of the specification and a state, `lambda self, s: s.messages`, ranges over what is present
in that state; it may also take earlier parameters by name, `lambda self, s, m: m.receivers`."""

# Functions called inside a rule.


def require(condition: object) -> None:
    """The guard: if the condition is false, the action is not enabled and nothing happens."""
    if not condition:
        raise Disabled


def bound(condition: object) -> None:
    """A guard that only keeps the search finite (a state constraint). It disables like `require`, but a state left
    without steps by a bound is no deadlock, and a replay ignores bounds.
    """
    if not condition and bounds_are_on():
        raise Bounded


def where(condition: object) -> None:
    """Limits a property or view to the states, or the steps, in which the condition holds.

    Any other is neither a violation nor a witness, and a view says nothing about it.
    """
    if not condition:
        raise NotApplicable("`where` is for properties and views")


_narrators: list[Callable[[str], None]] = []


def say(sentence: str) -> None:
    """Adds a sentence to a trace on what this step turned out to be. It changes nothing.

    Sentences are collected only while a counterexample is printed, so they must not be built from the state.
    """
    if _narrators:
        _narrators[-1](sentence)


class narrated_to:  # noqa: N801 - reads as the word it is: `with narrated_to(sentences.append):`
    """Within this context the sentences that actions `say` go to the given function."""

    def __init__(self, narrator: Callable[[str], None]):
        self.narrator = narrator

    def __enter__(self) -> None:
        _narrators.append(self.narrator)

    def __exit__(self, *_: object) -> None:
        _narrators.pop()


_unbounded = 0


def bounds_are_on() -> bool:
    """Whether `bound` disables actions at present."""
    return not _unbounded


class without_bounds:  # noqa: N801 - reads as the word it is
    """Within this context `bound` forbids nothing."""

    def __enter__(self) -> None:
        global _unbounded
        _unbounded += 1

    def __exit__(self, *_: object) -> None:
        global _unbounded
        _unbounded -= 1


# Decorators.


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
    """What a word says of the method after it."""

    kind: str
    parameters: Mapping[str, Range | OfState | Each] = field(default_factory=dict)
    when: Callable[[Any], object] | None = None
    of: tuple[str, ...] = ()
    """For a property of steps: the actions whose steps it is about; empty: every step."""
    where: Callable[[Any, Any], object] | None = None
    """For a property of states: the states it is about."""
    actor: str = ""
    """For an action: the actor's lane in a sequence diagram, or a parameter whose values have lanes."""
    receiver: str = ""
    """For an action: the receiver's lane."""

    @property
    def family(self) -> str | None:
        """The parameter whose every value makes an action of its own."""
        return next((name for name, given in self.parameters.items() if isinstance(given, Each)), None)


MARK = "__specification_mark__"


@dataclass(frozen=True)
class OfState:
    """The range of a parameter as a function of the state, and of earlier parameters."""

    given: Callable[..., Any]
    needs: tuple[str, ...] = ()
    """The earlier parameters that it takes, by name."""


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
    """The range of a parameter that makes several actions of one rule: `@action(do=each(DOES, like=STEPS.get))`.

    Args:
        values: a function of the specification that returns the values, one for each action.
        like: a function of a value that returns the function with the action's name and description.
        actor: a function of the specification and a value that returns the actor, in the form of an action's
            `actor=`. Without it all actions have the rule's actor.
    """
    return Each(values, like, actor)


class _Word:
    """A decorator, bare or with the ranges of the method's parameters."""

    def __init__(self, kind: str, doc: str):
        self.kind = kind
        self.__doc__ = doc

    def _mark(self, when: Callable[[Any], object] | None, parameters: Mapping[str, Range]) -> Mark:
        ranges = {name: self._range(name, given) for name, given in parameters.items()}
        if when is not None and not _takes(when, 1):
            raise SpecificationError(
                f"@{self.kind}: when= must be a function of the specification, lambda self: ...; "
                "no parameter can be called when"
            )
        return Mark(self.kind, ranges, when)

    def _put(self, mark: Mark, function: Callable[..., Any] | None) -> Any:
        """The method with its mark, or a decorator that marks it."""

        def put(function: Callable[..., Any]) -> Callable[..., Any]:
            if not callable(function):
                raise SpecificationError(f"@{self.kind} decorates a method, not {safe_repr(function)}")
            setattr(function, MARK, mark)
            return function

        return put if function is None else put(function)

    def _range(self, name: str, given: Any) -> Range | OfState | Each:
        """The range as given, except that an iterator is listed, because a range is read more than once."""
        if isinstance(given, Each):
            if self.kind != "action":
                raise SpecificationError(f"@{self.kind}: {name}=each(...) is only for actions")
            return given
        if callable(given) and not isinstance(given, type):
            if _takes(given, 1):
                if _is_named(given, "s"):
                    raise SpecificationError(
                        f"@{self.kind}: {name}= receives the specification; for a state write lambda self, s: ..."
                    )
                return cast("Range", given)
            if _takes(given, 2):
                return OfState(given)
            if _takes(given, 0):
                return lambda self: given()
            if earlier := _earlier_parameters(given):
                return OfState(given, earlier)
            raise SpecificationError(
                f"@{self.kind}: {name}= must be a domain, or a function, lambda self: ... or lambda self, s: ..., "
                "which may also take earlier parameters by name"
            )
        try:
            return listed(given) if isinstance(given, Iterator) else cast("Range", given)
        except SpecificationError as wrong:
            raise SpecificationError(f"@{self.kind}: parameter {name}: {wrong}") from None

    def __repr__(self) -> str:
        return self.kind


class _RuleWord(_Word):
    """A word for any method but an action or a property."""

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
    """The word for an action, which may name its actor and its receiver."""

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
        ranges = {name: given for name, given in lanes.items() if not isinstance(given, str)}
        mark = replace(
            self._mark(when, {**parameters, **ranges}),
            actor=actor if isinstance(actor, str) else "",
            receiver=receiver if isinstance(receiver, str) else "",
        )
        return self._put(mark, function)


class _PropertyWord(_Word):
    """A word for a property, which may be limited to some states or some steps."""

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
            raise SpecificationError(
                f"@{self.kind}: of= must be the name of an action, or several, not {safe_repr(of)}"
            )
        if where is not None and not _takes(where, 2):
            raise SpecificationError(f"@{self.kind}: where= must be a method, or a function, lambda self, s: ...")
        if where is not None and (of or self.kind == "transition_invariant"):
            raise SpecificationError(f"@{self.kind}: where= is for properties of states, and this is one of steps")
        if of and self.kind == "invariant":
            raise SpecificationError(f"@{self.kind}: of= is for properties of steps, and this is one of states")
        return self._put(replace(self._mark(when, parameters), of=actions, where=where), function)


def _takes(given: Any, arguments: int) -> bool:
    """Whether it can be called with this many arguments: the specification, and a state."""
    try:
        inspect.signature(given).bind(*[None] * arguments)
    except TypeError:
        return False
    except ValueError:  # its signature is unknown
        return arguments == 1
    return True


def _earlier_parameters(given: Any) -> tuple[str, ...]:
    """The names that a function takes after the specification and a state; empty if it takes others, too."""
    try:
        asked = [each for each in inspect.signature(given).parameters.values() if each.default is each.empty]
    except ValueError:  # its signature is unknown
        return ()
    by_name = all(each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY) for each in asked[2:])
    return tuple(each.name for each in asked[2:]) if by_name else ()


def _is_named(given: Any, name: str) -> bool:
    """Whether it has one parameter, of this name."""
    try:
        return list(inspect.signature(given).parameters) == [name]
    except ValueError:  # its signature is unknown
        return False


class Declaration:
    """A declaration in the body of a class that is no method: a variable, constant, switch or part."""

    kind: str
    """The word that made it."""


@dataclass(frozen=True)
class Declared(Declaration):
    """A variable in a class of states: its meaning, and its domain if that is narrower than its type."""

    kind = "variable"
    doc: str
    of: Callable[..., Any] | None
    when: Callable[[Any], object] | None


def variable(doc: str, *, of: Callable[..., Any] | None = None, when: Callable[[Any], object] | None = None) -> Any:
    """Declares a variable, in one line of a class of states.

        holder: ClientId | None = variable("Who has it.")

    Args:
        doc: its meaning.
        of: its domain, if not that of its type: a function of the specification, `lambda self: range(3)`. For the
            values of a mapping it may also take the key, `lambda self, key: ...`.
        when: a function of the specification that says whether the variable exists under its constants.
    """
    if isinstance(doc, Domain | MappingDomain):
        raise SpecificationError(
            f"variable({doc}): the argument is its meaning, name: Type = variable('What it means.'); "
            "its domain comes from its type, or from of="
        )
    what = f"variable({safe_repr(doc)})"
    if not isinstance(doc, str):
        raise SpecificationError(
            f"{what}: the argument is its meaning, name: Type = variable('What it means.', of=lambda self: ...)"
        )
    if of is not None and not (callable(of) and any(_takes(of, arguments) for arguments in range(3))):
        raise SpecificationError(
            f"{what}: of= must be a function of the specification, lambda self: ..., or of it and a key, "
            "lambda self, key: ..."
        )
    if when is not None and not _takes(when, 1):
        raise SpecificationError(f"{what}: when= must be a function of the specification, lambda self: ...")
    return Declared(inspect.cleandoc(doc), of, when)


initial = _RuleWord(
    "initial",
    """The initial state, `(self, s)`. It assigns the variables that do not start with the first value of their
    domain. With parameters there is one initial state for each choice of their values.""",
)
action = _ActionWord(
    "action",
    """A step that may happen, `(self, s, **parameters)`: guard, then effect. It must be deterministic: with the same
    parameters in the same state it does the same. All choice is in the parameters. Each takes every value of its
    type, of a range, `@action(broker=BROKERS)`, or of a part of the state, `@action(m=lambda self, s: s.messages)`,
    which may depend on earlier parameters, `@action(m=..., to=lambda self, s, m: m.receivers)`.
    `when=` is a function of the specification that says whether the action exists under its constants.
    `actor=` and `receiver=` name the lanes in traces and sequence diagrams. Each is a parameter (`actor="follower"`)
    or words (`receiver="ZooKeeper"`), which may contain a parameter (`actor="controller of broker {broker}"`) or an
    attribute of the specification (`receiver="{self.leader}"`). By default the actor is the first parameter whose
    values are interchangeable, or else the action's part.
    An action with a guard and no effect marks states where the system may end, so that they are no deadlock (TLA+'s
    `Terminating`).""",
)
invariant = _PropertyWord(
    "invariant",
    """A condition that holds in every state, `(self, s, **parameters) -> bool`; with parameters, for all their
    values. `where=`, a method or a function of the specification and a state, limits it to the states for which it is
    true.""",
)
transition_invariant = _PropertyWord(
    "transition_invariant",
    """A condition that holds for every step, `(self, before, step, after, **parameters) -> bool`, including steps
    that change nothing. `step` has `action` and `parameters`. `of=`, one or several actions or a rule that makes
    several, limits it to their steps, `(self, before, after, **parameters) -> bool`; its parameters are then the
    step's.""",
)
sometimes = _PropertyWord(
    "sometimes",
    """A witness that must exist: a state, `(self, s) -> bool`, or a step, `(self, before, step, after) -> bool`. A
    model in which it never occurs must not pass. `where=` and `of=` work as for the other properties. If none of the
    actions in `of=` exists, neither does the witness.""",
)
view = _RuleWord(
    "view",
    """A sentence about a state, `(self, s, **parameters) -> str`, for the reader of a trace. It is printed when it
    changes; it is empty if there is nothing to say. It is evaluated only when a trace is printed, and affects neither
    statistics nor verdicts.""",
)
picture = _RuleWord(
    "picture",
    """A drawing of a state, `(self, s, **parameters) -> Drawing | None`, for a person who steps through states: a log
    as cells, a queue, a tree, see `spec.language.pictures`. Like a view it affects neither statistics nor
    verdicts.""",
)
assumption = _RuleWord(
    "assumption",
    """A condition on the constants, `(self) -> bool`. Its docstring is the message if the condition is false.""",
)


@dataclass(frozen=True)
class Constant(Declaration):
    """A constant of a specification: its default, its meaning, and the values it may have."""

    default: Any
    doc: str
    switch: bool
    allowed_values: tuple[Any, ...] | None
    at_least: int | None
    at_most: int | None

    @property
    def kind(self) -> str:  # type: ignore[override]
        """The word that declared it."""
        return "switch" if self.switch else "constant"

    @property
    def type(self) -> type:
        """The type of its values: that of the default."""
        return type(self.default)

    @property
    def forms(self) -> tuple[Any, ...] | None:
        """All values that it may have, where they can be counted up: those of `among`, or of an enumeration."""
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
        """Whether the value has the right type, and is in the enumeration if there is one."""
        if self.allowed_values is not None:
            return any(is_same_value(value, form) for form in self.allowed_values)
        return type(value) is self.type and _is_immutable(value)


def kind_of(value: object) -> str:
    """The word that marked or declared a value in the body of a class; empty for anything else."""
    mark = getattr(value, MARK, None)
    return mark.kind if mark else value.kind if isinstance(value, Declaration) else ""


class _Names(dict[str, Any]):
    """The names of a class body; a name cannot be declared twice."""

    def __setitem__(self, name: str, value: Any) -> None:
        kind, before = kind_of(value), kind_of(self.get(name))
        if before:
            article = "an" if before[0] in "aio" else "a"
            raise SpecificationError(f"{kind} {name}: {article} {before} already has that name".lstrip())
        super().__setitem__(name, value)


class Body(type):
    """The metaclass of classes with declarations; it refuses a name that is declared twice."""

    @classmethod
    def __prepare__(cls, name: str, bases: tuple[type, ...], /, **_: Any) -> _Names:
        return _Names()


def plain(value: Any) -> Any:
    """A value as a constant holds it: any integer, such as numpy's, becomes an int, also within a tuple or set.

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
    """Declares a constant with its default, which must be immutable."""
    return _constant(default, doc, False, None, at_least, at_most)


def switch(default: Any, doc: str, *, among: Iterable[Any] | None = None) -> Any:
    """Declares a constant that turns a fix on or off, or picks one of its historical forms."""
    forms = None if among is None else tuple(map(plain, listed(among)))
    if forms is None and type(default) is not bool:
        raise SpecificationError(f"switch({safe_repr(default)}): without among= the default must be True or False")
    return _constant(default, doc, True, forms, None, None)


def _constant(
    default: Any, doc: str, switch: bool, among: tuple[Any, ...] | None, at_least: Any, at_most: Any
) -> Constant:
    what = f"{'switch' if switch else 'constant'}({safe_repr(default)})"
    if not _is_immutable(default):
        raise SpecificationError(f"{what}: its default must be immutable")
    if not isinstance(doc, str):
        raise SpecificationError(f"{what}: its second argument is its meaning, a string")
    made = Constant(plain(default), inspect.cleandoc(doc), switch, among, at_least, at_most)
    if not made.admits(made.default):
        raise SpecificationError(f"{what}: the default must be {made.allowed}")
    if not all(bound is None or type(bound) is type(made.default) for bound in (at_least, at_most)):
        raise SpecificationError(f"{what}: at_least= and at_most= must have the type of its default")
    return made


def _is_immutable(value: object) -> bool:
    """Whether it is hashable, is no iterator, and equals itself."""
    try:
        hash(value)
    except TypeError:
        return False
    return not isinstance(value, Iterator) and value == value
