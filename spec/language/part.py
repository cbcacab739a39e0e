"""`Part`: a class of rules over variables of its own, of which a system may hold several.

A part says what its states are, how large types are in it, and what may happen and must hold there; it sees nothing
else than what it was given when it was made. A system names it in its class of states and makes it:

    class Yard(State):
        left: Tank
        right: Tank

    class Yards(Specification[Yard]):
        @part
        def left(self) -> Tanks:
            return Tanks(holds=self.most)

Then its variables are `s.left.level`, its actions and properties `left.drip`; `self.left` is the part itself. That is
an `INSTANCE ... WITH` of TLA+. A specification is the part that is the whole system.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial, wraps
from itertools import product
from typing import Any, ClassVar, Final, Generic, NoReturn, Self, get_args, get_origin, overload

from typing_extensions import TypeVar

from spec.language.domains import (
    TOO_DEEP,
    Domain,
    MappingDomain,
    as_domain,
    choices_of,
    not_too_deep,
)
from spec.language.errors import DoesNotExist, OutOfDomain, SpecificationError, safe_repr
from spec.language.members import Members, MembersOfDomain, MembersOfMapping
from spec.language.rules import Action, Instance, Property, View, sort_of
from spec.language.signatures import check_parameters, parameters_of, type_of
from spec.language.sizes import AtMost, Size, Sizes, name_of, types_of_fields
from spec.language.state import State
from spec.language.words import MARK, Body, Declaration, Declared, Each, Mark, OfState, Step, kind_of

S = TypeVar("S", bound=State, covariant=True, default=State)
P = TypeVar("P")


class part(Declaration, Generic[P]):  # noqa: N801 - it is a word
    """A part that a system holds: a method without parameters that makes it, with the name that its states have.

    (A `cached_property` holds a lock until Python 3.12, and so could not be sent to Spark's workers.)
    """

    kind = "part"

    def __init__(self, make: Callable[[Any], P]):
        if not inspect.isfunction(make) or len(inspect.signature(make).parameters) != 1:
            raise SpecificationError(
                f"@part: it stands before a method that makes the part, def left(self), not {safe_repr(make)}"
            )
        self.make, self.name, self.__doc__ = make, make.__name__, make.__doc__

    @overload
    def __get__(self, whole: None, owner: type) -> Self: ...

    @overload
    def __get__(self, whole: object, owner: type) -> P: ...

    def __get__(self, whole: Any, owner: type) -> Self | P:
        if whole is None:
            return self
        kept = vars(whole)
        if self.name not in kept:
            kept[self.name] = self.make(whole)
        made: P = kept[self.name]
        return made


class Part(Generic[S], metaclass=Body):
    """Rules over some variables, to be subclassed; as a frozen dataclass if it is given something when it is made."""

    states: ClassVar[type[State]] = State
    """The class of its states: what is given to actions and properties as `s`."""
    lane: ClassVar[str] = ""
    """How it is called in a sequence diagram; else by the name that its system gives it."""

    _is_whole: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, value in vars(cls).items():
            kind = kind_of(value)
            if kind and hasattr(Part, name):
                raise SpecificationError(f"{cls.__name__}.{name}: the name is taken by the language")
            if isinstance(value, Declared):
                raise SpecificationError(
                    f"variable {cls.__name__}.{name}: it is declared in a class of states, "
                    f"class {cls.__name__}s(State), which a specification names, Specification[{cls.__name__}s]"
                )
            if kind in OF_THE_WHOLE and not cls._is_whole:
                raise SpecificationError(
                    f"{kind} {cls.__name__}.{name}: it belongs into the specification; a part "
                    "is given what it needs, as a frozen dataclass"
                )
            if name == "sizes" and (not inspect.isfunction(value) or len(inspect.signature(value).parameters) != 1):
                raise SpecificationError(f"{cls.__name__}.sizes: a method that gives the size of each type")
        cls.states = _states_of(cls)
        for name, (function, mark) in cls._marked().items():
            check_parameters(cls.__name__, name, function, mark, cls._where_marked(name).__annotations__)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise SpecificationError(
            f"{type(self).__name__} assigns self.{name}: a part keeps nothing between steps; use a frozen dataclass"
        )

    # Sizes.

    def sizes(self) -> Mapping[Any, Size]:
        """How large each type is here that is not made of others, and each place that is narrower than its type.

        To be overridden: `return {ClientId: range(self.clients), Ticket.number: integers(0, 3)}`.
        """
        return {}

    @cached_property
    def _sizes(self) -> Sizes:
        try:
            return Sizes(self.sizes())
        except SpecificationError as wrong:
            raise SpecificationError(f"sizes(): {wrong}") from None

    def domain_of(self, type_: Any, **narrowed: Size) -> Domain[Any]:
        """The values of a type, by `sizes`; if it is a record, with these of its fields narrowed.

        Raises:
            SpecificationError: something that it is made of has no size, or is narrowed beyond its type.
        """
        return self._sizes.domain(type_, **narrowed)

    # What the marks say.

    @classmethod
    def _marked(cls) -> dict[str, tuple[Callable[..., Any], Mark]]:
        """Each marked method by name, in the order in which the names were first declared."""
        marks: dict[str, Mark] = {}
        for base in reversed(cls.__mro__):
            for name, value in vars(base).items():
                if hasattr(value, MARK):
                    marks[name] = getattr(value, MARK)
        methods = {name: getattr(cls, name) for name in marks}
        return {name: (method, marks[name]) for name, method in methods.items() if method is not None}

    def _of_kind(self, *kinds: str) -> Iterator[tuple[str, Callable[..., Any], Mark]]:
        for name, (function, mark) in self._marked().items():
            if mark.kind in kinds and (mark.when is None or mark.when(self)):
                yield name, function, mark

    @classmethod
    def _where_marked(cls, name: str) -> Callable[..., Any]:
        """The method that has the mark; one that overrides it needs neither mark nor types."""
        found: Callable[..., Any] = next(vars(it)[name] for it in cls.__mro__ if hasattr(vars(it).get(name), MARK))
        return found

    def _domains(self, name: str, mark: Mark) -> dict[str, Domain[Any]]:
        """Of each parameter: what it ranges over, or else its type."""
        method = self._where_marked(name)
        parameters = () if mark.of else parameters_of(method, mark)
        domains = {}
        for parameter in mark.parameters if {*parameters} <= {*mark.parameters} else parameters:
            if parameter == mark.family:
                continue
            try:
                domains[parameter] = not_too_deep(self._domain_of_parameter(method, parameter, mark))
            except SpecificationError as wrong:
                raise SpecificationError(f"{mark.kind} {name}: parameter {parameter}: {wrong}") from None
        return domains

    def _domain_of_parameter(self, method: Callable[..., Any], parameter: str, mark: Mark) -> Domain[Any]:
        if parameter not in mark.parameters:
            return self.domain_of(type_of(method, parameter))
        given = mark.parameters[parameter]
        if isinstance(given, OfState):
            return self._members(given) or self.domain_of(type_of(method, parameter))
        ranged: Any = given(self) if callable(given) and not isinstance(given, type) else given
        return as_domain(ranged)

    def _members(self, given: OfState) -> Domain[Any] | None:
        """What may be in a set or a tuple of the state, or a key of a mapping, if a parameter ranges over such.

        Raises:
            SpecificationError: there is no such variable.
        """
        try:
            found = given.given(self, Members(self.states, self.variables))
        except SpecificationError:
            raise
        except Exception:
            return None
        found = found.keys() if isinstance(found, MembersOfMapping) else found
        return found.domain if isinstance(found, MembersOfDomain) else None

    def _instances(self, name: str, mark: Mark, domains: Mapping[str, Domain[Any]]) -> tuple[Instance, ...]:
        method = getattr(self, name)
        there = {each: given.given for each, given in mark.parameters.items() if isinstance(given, OfState)}
        if mark.of:
            method = self._of_their_steps(name, mark, method)
        if mark.where is not None:
            method = self._only_where(mark, method)
        first = method
        if there:
            method = self._only_there(mark.kind, method, there)
            first = self._only_of_their_types(method, {each: (given, domains[each]) for each, given in there.items()})
        try:
            found = tuple(Instance(choice, method) for choice in choices_of(domains))
            return (replace(found[0], run=first), *found[1:]) if there and found else found
        except SpecificationError as wrong:
            raise SpecificationError(f"{mark.kind} {name}: parameters {wrong}") from None

    def _only_there(
        self, kind: str, method: Callable[..., Any], there: Mapping[str, Callable[[Any, Any], Any]]
    ) -> Callable[..., Any]:
        """A method that has something to say only of values that are there in the state."""

        @wraps(method)
        def of_those(s: State, **parameters: Any) -> Any:
            for each, given in there.items():
                if not _is_in(parameters[each], given(self, s), each):
                    if kind == "action":
                        raise DoesNotExist(each, given)
                    return SILENT[kind]
            return method(s, **parameters)

        return of_those

    def _only_of_their_types(
        self, method: Callable[..., Any], there: Mapping[str, tuple[Callable[[Any, Any], Any], Domain[Any]]]
    ) -> Callable[..., Any]:
        """The same for the first instance, which looks in each state whether parameters range over what they can be.

        Where a parameter ranges over a set, a tuple or a mapping of the state as it is, it cannot be anything else.
        """
        computed = {each: its for each, its in there.items() if self._members(OfState(its[0])) is None}

        @wraps(method)
        def of_their_types(s: State, **parameters: Any) -> Any:
            for each, (given, domain) in computed.items():
                held = given(self, s)
                for value in held if isinstance(held, Iterable) else ():
                    if value not in domain:
                        wrong = OutOfDomain(value, str(domain))
                        raise SpecificationError(f"parameter {each} ranges over what it cannot be here: {wrong}")
            return method(s, **parameters)

        return of_their_types if computed else method

    def _only_where(self, mark: Mark, method: Callable[..., Any]) -> Callable[..., Any]:
        """A property that has something to say only of states of which another says yes."""
        where = mark.where
        assert where is not None
        name = getattr(where, "__name__", "")
        if any(vars(base).get(name) is where for base in type(self).__mro__):
            where = getattr(type(self), name)  # as a variant has it

        @wraps(method)
        def of_those(s: State, **parameters: Any) -> Any:
            return method(s, **parameters) if where(self, s) else SILENT[mark.kind]

        return of_those

    def _of_their_steps(self, name: str, mark: Mark, method: Callable[..., Any]) -> Callable[..., Any]:
        """A property that has something to say only of the steps of some actions."""
        asked, actions = parameters_of(self._where_marked(name), mark), self._actions_of(name, mark)
        for action in actions:
            for each in asked:
                if each not in action.domains:
                    has = ", ".join(action.domains) or "none"
                    raise SpecificationError(
                        f"{mark.kind} {name}: action {action.name} has no parameter {each}; it has {has}"
                    )
        names = frozenset(action.name for action in actions)

        @wraps(method)
        def of_those(before: State, step: Step, after: State) -> Any:
            if step.action not in names:
                return SILENT[mark.kind]
            return method(before, after, **{each: step.parameters[each] for each in asked})

        return of_those

    def _actions_of(self, name: str, mark: Mark) -> list[Action]:
        """Those of the actions that a property is about that exist under these constants.

        Raises:
            SpecificationError: one of them exists under none.
        """
        exist, declared = {each.name: each for each in self.actions}, self._rules()
        for each in mark.of:
            if each not in exist and each not in declared:
                known = ", ".join(dict.fromkeys([*exist, *declared]))
                raise SpecificationError(
                    f"{mark.kind} {name}: of= {each}: there is no such action; there are {known}"
                )
        return [each for each in exist.values() if {each.name, each.rule} & {*mark.of}]

    def _rules(self) -> list[str]:
        """The names of the methods that describe actions, its own and those of parts, under whatever constants."""
        own = [name for name, (_, mark) in self._marked().items() if mark.kind == "action"]
        return own + [f"{name}.{each}" for name, one in self.parts.items() for each in one._rules()]

    @cached_property
    def parts(self) -> dict[str, Part[Any]]:
        """The parts by name, in the order in which the class of states names them."""
        named = {name: each for name, each in self.states.members().items() if not isinstance(each, Declared)}
        made = {name for base in type(self).__mro__ for name, value in vars(base).items() if isinstance(value, part)}
        cls, states = type(self).__name__, self.states.__name__
        for name in made - {*named}:
            raise SpecificationError(f"part {cls}.{name}: {states} names none so")
        found = {}
        for name, its_states in named.items():
            if name not in made:
                raise SpecificationError(f"part {states}.{name}: nothing makes it, @part def {name}(self) in {cls}")
            try:
                one = getattr(self, name)
            except SpecificationError as wrong:
                raise SpecificationError(f"part {cls}.{name}: {wrong}") from None
            if not isinstance(one, Part) or not issubclass(its_states, one.states):
                has = f", whose states are {one.states.__name__}" if isinstance(one, Part) else ""
                raise SpecificationError(
                    f"part {cls}.{name}: it gives {safe_repr(one)}{has}; {states} has {name}: {its_states.__name__}"
                )
            found[name] = one
        return found

    @cached_property
    def variables(self) -> dict[str, tuple[str, Domain[Any] | MappingDomain]]:
        """Each variable's sentence and domain, those of parts as `left.level`."""
        found: dict[str, tuple[str, Domain[Any] | MappingDomain]] = {}
        for name, member in self.states.members().items():
            if not isinstance(member, Declared):
                found |= {f"{name}.{each}": of for each, of in self._variables_of(name).items()}
            elif member.when is None or member.when(self):
                found[name] = member.doc, self._laid_out(name, member)
        return found

    def _variables_of(self, name: str) -> dict[str, tuple[str, Domain[Any] | MappingDomain]]:
        one = self.parts[name]
        try:
            return one.variables
        except SpecificationError as wrong:
            raise SpecificationError(f"part {name}: {wrong}") from None

    def _laid_out(self, name: str, declared: Declared) -> Domain[Any] | MappingDomain:
        """As its type has it, or what is said there of the whole or, key by key, of a mapping's values."""
        try:
            return not_too_deep(self._domain_of_variable(name, declared))
        except SpecificationError as wrong:
            raise SpecificationError(f"variable {name}: {wrong}") from None

    def _domain_of_variable(self, name: str, declared: Declared) -> Domain[Any] | MappingDomain:
        try:
            type_, of = types_of_fields(self.states)[name], declared.of
        except RecursionError:
            raise SpecificationError(f"it, or a variable beside it: {TOO_DEEP}") from None
        if isinstance(type_, type) and issubclass(type_, State):
            raise SpecificationError(f"{type_.__name__} is a class of states, of a part: {name}: {type_.__name__}")
        if of is None:
            return self._sizes.layout(type_)
        asked = len(inspect.signature(of).parameters)
        if asked < 2:
            given = of(self) if asked else of()
            if isinstance(given, MappingDomain):
                return given
            return self._sizes.narrowed(type_, given if isinstance(given, AtMost) else as_domain(given))
        return self._sizes.layout(type_, lambda key: of(self, key))

    @cached_property
    def initials(self) -> tuple[Instance, ...]:
        """Each way to begin, of each part and then of the whole; where nothing is said, nothing is assigned."""
        own: list[Instance] = []
        for name, _, mark in self._of_kind("initial"):
            own += self._instances(name, mark, self._domains(name, mark))
        whole = own or [Instance({}, initialize)]
        if not self.parts:
            return tuple(whole)
        ways = product(*(one.initials for one in self.parts.values()), whole)
        return tuple(_sequentially(dict(zip(self.parts, way[:-1], strict=True)), way[-1]) for way in ways)

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """The actions that exist under these constants, in the order of their declaration; then those of parts."""
        found: list[Action] = []
        for name, function, mark in self._of_kind("action"):
            domains = self._domains(name, mark)
            instances = self._instances(name, mark, domains)
            if mark.family is None:
                actor, receiver = (self._in_words(name, lane) for lane in (_actor_of(mark, domains), mark.receiver))
                found.append(Action(name, sentence_of(function), domains, instances, name, actor, receiver))
            else:
                found += self._family(name, mark, domains, instances)
        for name, one in self.parts.items():
            lane = one.lane or name
            found += [
                replace(
                    each,
                    **_named(name, each),
                    rule=f"{name}.{each.rule}",
                    actor=each.actor or lane,
                    is_of_its_part=each.is_of_its_part or not each.actor,
                )
                for each in one.actions
            ]
        names = [each.name for each in found]
        for name in names:
            if names.count(name) > 1:
                raise SpecificationError(f"action {name}: another action has that name")
        for each in found:
            for lane in (each.actor, each.receiver):
                each.parameters_in(lane)
        return tuple(found)

    def _family(
        self, rule: str, mark: Mark, domains: Mapping[str, Domain[Any]], instances: tuple[Instance, ...]
    ) -> Iterator[Action]:
        """The actions that one rule describes, for each value of a parameter one."""
        parameter = mark.family
        assert parameter is not None
        members = mark.parameters[parameter]
        assert isinstance(members, Each)
        for value in members.values(self):
            like = members.like(value)
            its = tuple(Instance(each.parameters, partial(each.run, **{parameter: value})) for each in instances)
            actor = members.actor(self, value) if members.actor else _actor_of(mark, domains)
            actor, receiver = (self._in_words(rule, lane) for lane in (actor, mark.receiver))
            yield Action(like.__name__, sentence_of(like), domains, its, rule, actor, receiver)

    def _in_words(self, name: str, lane: str) -> str:
        """A lane, with what the specification itself says in its braces."""
        for attribute in re.findall(r"\{self\.(\w+)\}", lane):
            if not hasattr(self, attribute):
                raise SpecificationError(f"action {name}: lane {lane!r}: a {type(self).__name__} has no {attribute}")
            lane = lane.replace(f"{{self.{attribute}}}", str(getattr(self, attribute)))
        return lane

    @cached_property
    def properties(self) -> tuple[Property, ...]:
        """The properties that exist under these constants, in the order of their declaration; then those of parts."""
        found = [
            Property(
                name,
                mark.kind,
                sentence_of(function),
                tuple(inspect.signature(function).parameters)[1] == "before",
                self._instances(name, mark, domains := self._domains(name, mark)),
                domains,
            )
            for name, function, mark in self._of_kind(*PROPERTIES)
            if not mark.of or self._actions_of(name, mark)
        ]
        for name, one in self.parts.items():
            found += [replace(each, **_named(name, each)) for each in one.properties]
        return tuple(found)

    @cached_property
    def views(self) -> tuple[View, ...]:
        """The views that exist under these constants, in the order of their declaration; then those of parts."""
        return tuple(self._views("view"))

    @cached_property
    def pictures(self) -> tuple[View, ...]:
        """The pictures that exist under these constants, in the order of their declaration; then those of parts."""
        return tuple(self._views("picture"))

    def _views(self, kind: str) -> Iterator[View]:
        for name, function, mark in self._of_kind(kind):
            yield View(name, sentence_of(function), self._instances(name, mark, self._domains(name, mark)))
        for name, one in self.parts.items():
            for each in one._views(kind):
                yield replace(each, **_named(name, each))


# What is of a part, in the whole.


def initialize(s: State) -> None:
    """How a part begins that says nothing of it: nothing is assigned."""


def _actor_of(mark: Mark, domains: Mapping[str, Domain[Any]]) -> str:
    """As an action says; else the first parameter whose values are interchangeable."""
    return mark.actor or next((name for name, domain in domains.items() if sort_of(domain)), "")


def _named(part: str, one: Action | Property | View) -> dict[str, Any]:
    """How something of a part is called in the whole, and whose state it sees."""
    return {"name": f"{part}.{one.name}", "instances": tuple(its.named(part) for its in one.instances)}


def _sequentially(of_parts: Mapping[str, Instance], whole: Instance) -> Instance:
    """A way to begin that is made of one for each part, and then one for the whole."""
    parameters = {f"{part}.{name}": each for part, one in of_parts.items() for name, each in one.parameters.items()}

    @wraps(whole.run)
    def all_begin(s: State, **_: Any) -> None:
        for part, one in of_parts.items():
            one(getattr(s, part))
        whole(s)

    return Instance({**parameters, **whole.parameters}, all_begin)


def sentence_of(function: Callable[..., Any]) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())


PROPERTIES: Final = ("invariant", "transition_invariant", "sometimes")
"""The kinds of properties."""
SILENT: Final = {"invariant": True, "transition_invariant": True, "sometimes": False, "view": "", "picture": None}
"""What each says of a state or a step that it is not about."""
OF_THE_WHOLE: Final = ("constant", "switch", "switches", "assumption")
"""What a specification has, and no part of one."""


def _is_in(value: Any, held: Any, parameter: str) -> bool:
    try:
        return value in held
    except TypeError:
        raise SpecificationError(f"{parameter}= gives {safe_repr(held)}, in which nothing can be") from None


def _states_of(cls: type[Part[Any]]) -> type[State]:
    """The class of states that a class names, `Specification[Leases]`, or its bases do."""
    for base in vars(cls).get("__orig_bases__", ()):
        of = get_origin(base)
        for given in get_args(base) if isinstance(of, type) and issubclass(of, Part) else ():
            named = getattr(given, "__bound__", None) if hasattr(given, "__bound__") else given
            if isinstance(named, type) and issubclass(named, State):
                return named
            if named is not None and named is not Any:
                raise SpecificationError(
                    f"class {cls.__name__}({of.__name__}[{name_of(named)}]): it is no class of states"
                )
    return cls.states
