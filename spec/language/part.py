"""`Part`: rules over a set of variables; a system may hold several parts.

A part declares its states, the sizes of its types, its actions and its properties. It sees only its own variables
and the arguments it was made with. A system names the part in its class of states and makes it:

    class Yard(State):
        left: Tank
        right: Tank

    class Yards(Specification[Yard]):
        @part
        def left(self) -> Tanks:
            return Tanks(holds=self.most)

Then its variables are `s.left.level`, its actions and properties `left.drip`, and `self.left` is the part itself.
TLA+ writes this as `INSTANCE ... WITH`. A specification is the part that is the whole system.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial, wraps
from typing import Any, ClassVar, Final, Generic, NoReturn, Self, get_args, get_origin, overload

from typing_extensions import TypeVar

from spec.language.domains import TOO_DEEP, Domain, MappingDomain, as_domain, can_be_listed, each_choice, not_too_deep
from spec.language.errors import SpecificationError, safe_repr
from spec.language.instances import Instance, Instances
from spec.language.ranges import SILENT, Members, MembersOfDomain, MembersOfMapping, Ranges
from spec.language.rules import Action, Property, View, sort_of
from spec.language.signatures import check_parameters, in_order, parameters_of, type_of
from spec.language.sizes import AtMost, Size, Sizes, name_of, types_of_fields
from spec.language.state import State
from spec.language.words import MARK, Body, Declaration, Declared, Each, Mark, OfState, Step, kind_of

S = TypeVar("S", bound=State, covariant=True, default=State)
P = TypeVar("P")


class part(Declaration, Generic[P]):  # noqa: N801 - it is a word
    """Declares a part: the decorated method has no parameters, makes the part, and has its name in the states.

    (Until Python 3.12 a `cached_property` holds a lock, so it could not be sent to Spark's workers.)
    """

    kind = "part"

    def __init__(self, make: Callable[[Any], P]):
        if not inspect.isfunction(make) or len(inspect.signature(make).parameters) != 1:
            raise SpecificationError(
                f"@part decorates a method that makes the part, def left(self), not {safe_repr(make)}"
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
    """Rules over some variables, to be subclassed; a part that takes arguments is a frozen dataclass."""

    states: ClassVar[type[State]] = State
    """The class of its states: the `s` of its actions and properties."""
    lane: ClassVar[str] = ""
    """Its name in a sequence diagram; by default the name that its system gives it."""

    _is_whole: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, value in vars(cls).items():
            kind = kind_of(value)
            if kind and hasattr(Part, name):
                raise SpecificationError(f"{cls.__name__}.{name}: the language uses that name itself")
            if isinstance(value, Declared):
                raise SpecificationError(
                    f"variable {cls.__name__}.{name}: variables are declared in a class of states, "
                    f"class {cls.__name__}s(State), which the specification names: Specification[{cls.__name__}s]"
                )
            if kind in OF_THE_WHOLE and not cls._is_whole:
                raise SpecificationError(
                    f"{kind} {cls.__name__}.{name}: only a specification declares it; a part "
                    "takes arguments, as a frozen dataclass"
                )
            if name == "sizes" and (not inspect.isfunction(value) or len(inspect.signature(value).parameters) != 1):
                raise SpecificationError(f"{cls.__name__}.sizes is a method that returns the size of each type")
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
        """The size of each type that is not made of other types, and of each place that is narrower than its type.

        Override it: `return {ClientId: range(self.clients), Ticket.number: integers(0, 3)}`.
        """
        return {}

    @cached_property
    def _sizes(self) -> Sizes:
        try:
            return Sizes(self.sizes())
        except SpecificationError as wrong:
            raise SpecificationError(f"sizes(): {wrong}") from None

    def domain_of(self, type_: Any, **narrowed: Size) -> Domain[Any]:
        """The values of a type, by `sizes`; for a record, with these of its fields narrowed.

        Raises:
            SpecificationError: a type in it has no size, or a field has values that its type lacks.
        """
        return self._sizes.domain(type_, **narrowed)

    # Marked methods.

    @classmethod
    def _marked(cls) -> dict[str, tuple[Callable[..., Any], Mark]]:
        """Each marked method by name, in the order of first declaration."""
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
        """The method with the mark; methods that override it need neither mark nor types."""
        found: Callable[..., Any] = next(vars(it)[name] for it in cls.__mro__ if hasattr(vars(it).get(name), MARK))
        return found

    def _domains(self, name: str, mark: Mark) -> dict[str, Domain[Any]]:
        """The domain of each parameter: its range if one is given, or its type."""
        method = self._where_marked(name)
        parameters = () if mark.of else parameters_of(method, mark)
        domains = {}
        for parameter in in_order(parameters, mark):
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
        """The domain of the set, tuple or mapping's keys in the state that a parameter ranges over, if it is one;
        SpecificationError if there is no such variable.
        """
        if given.needs:
            return None
        try:
            found = given.given(self, Members(self.states, self.variables))
        except SpecificationError:
            raise
        except Exception:
            return None
        found = found.keys() if isinstance(found, MembersOfMapping) else found
        return found.domain if isinstance(found, MembersOfDomain) else None

    def _ranges(self, mark: Mark, domains: Mapping[str, Domain[Any]]) -> Ranges | None:
        """The parameters of a rule, if some range over part of the state."""
        there = {name: given for name, given in mark.parameters.items() if isinstance(given, OfState)}
        certain = [name for name, given in there.items() if self._members(given) is not None]
        return Ranges(self, domains, there, certain) if there else None

    def _instances(
        self, name: str, mark: Mark, domains: Mapping[str, Domain[Any]], ranges: Ranges | None = None
    ) -> Instances:
        method = getattr(self, name)
        if mark.of:
            method = self._of_their_steps(name, mark, method)
        if mark.where is not None:
            method = self._only_where(mark, method)
        run, untested = (ranges.only_there(mark.kind, method), method) if ranges else (method, None)
        in_state = ranges.in_state if ranges and mark.kind != "picture" else ()
        try:
            can_be_listed({each: domain for each, domain in domains.items() if each not in in_state})
        except SpecificationError as wrong:
            raise SpecificationError(f"{mark.kind} {name}: parameters {wrong}") from None
        return Instances(domains, run, untested)

    def _only_where(self, mark: Mark, method: Callable[..., Any]) -> Callable[..., Any]:
        """The property, limited to states in which its `where=` holds."""
        where = mark.where
        assert where is not None
        name = getattr(where, "__name__", "")
        if any(vars(base).get(name) is where for base in type(self).__mro__):
            where = getattr(type(self), name)  # a variant may override it

        @wraps(method)
        def of_those(s: State, **parameters: Any) -> Any:
            return method(s, **parameters) if where(self, s) else SILENT[mark.kind]

        return of_those

    def _of_their_steps(self, name: str, mark: Mark, method: Callable[..., Any]) -> Callable[..., Any]:
        """The property, limited to the steps of some actions."""
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
        """The actions that a property names and that exist under these constants; SpecificationError if a named
        action exists under no constants.
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
        """The names of all methods that describe actions, its own and those of its parts, under any constants."""
        own = [name for name, (_, mark) in self._marked().items() if mark.kind == "action"]
        return own + [f"{name}.{each}" for name, one in self.parts.items() for each in one._rules()]

    @cached_property
    def parts(self) -> dict[str, Part[Any]]:
        """The parts by name, in the order of the class of states."""
        named = {name: each for name, each in self.states.members().items() if not isinstance(each, Declared)}
        made = {name for base in type(self).__mro__ for name, value in vars(base).items() if isinstance(value, part)}
        cls, states = type(self).__name__, self.states.__name__
        for name in made - {*named}:
            raise SpecificationError(f"part {cls}.{name}: {states} has no part of that name")
        found = {}
        for name, its_states in named.items():
            if name not in made:
                raise SpecificationError(f"part {states}.{name}: {cls} must make it: @part def {name}(self)")
            try:
                one = getattr(self, name)
            except SpecificationError as wrong:
                raise SpecificationError(f"part {cls}.{name}: {wrong}") from None
            if not isinstance(one, Part) or not issubclass(its_states, one.states):
                has = f", whose states are {one.states.__name__}" if isinstance(one, Part) else ""
                raise SpecificationError(
                    f"part {cls}.{name}: it returns {safe_repr(one)}{has}; {states} has {name}: {its_states.__name__}"
                )
            found[name] = one
        return found

    @cached_property
    def variables(self) -> dict[str, tuple[str, Domain[Any] | MappingDomain]]:
        """Each variable's description and domain, with those of parts as `left.level`."""
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
        """The variable's domain: by its type, or by `of=`, which may depend on the key of a mapping."""
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
            raise SpecificationError(
                f"{type_.__name__} is the class of states of a part: write {name}: {type_.__name__}"
            )
        if of is None:
            return self._sizes.layout(type_)
        asked = len(inspect.signature(of).parameters)
        if asked < 2:
            given = of(self) if asked else of()
            if isinstance(given, MappingDomain):
                return given
            return self._sizes.narrowed(type_, given if isinstance(given, AtMost) else as_domain(given))
        return self._sizes.layout(type_, lambda key: of(self, key))

    @property
    def initials(self) -> Iterator[Instance]:
        """Each initial state, one after the other: the parts' first, then the whole's. Without `initial`, nothing is
        assigned.
        """
        own = []
        for name, _, mark in self._of_kind("initial"):
            domains = self._domains(name, mark)
            try:
                each_choice(domains)  # are there too many?
            except SpecificationError as wrong:
                raise SpecificationError(f"initial {name}: parameters {wrong}") from None
            if all(domain.size for domain in domains.values()):
                own.append((getattr(self, name), domains))

        def whole() -> Iterator[Instance]:
            for method, domains in own or [(initialize, {})]:
                yield from (Instance(choice, method) for choice in each_choice(domains))

        if not self.parts:
            return whole()
        ways = _every_way(*(partial(getattr, one, "initials") for one in self.parts.values()), whole)
        return (_sequentially(dict(zip(self.parts, way[:-1], strict=True)), way[-1]) for way in ways)

    @property
    def initial_methods(self) -> list[Callable[..., Any]]:
        """The methods that make initial states, its own and those of its parts."""
        own = [getattr(self, name) for name, _, _ in self._of_kind("initial")]
        return own + [method for one in self.parts.values() for method in one.initial_methods]

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """The actions that exist under these constants, in order of declaration; then those of parts."""
        found: list[Action] = []
        for name, function, mark in self._of_kind("action"):
            domains = self._domains(name, mark)
            ranges = self._ranges(mark, domains)
            instances = self._instances(name, mark, domains, ranges)
            if mark.family is None:
                actor, receiver = (self._in_words(name, lane) for lane in (_actor_of(mark, domains), mark.receiver))
                found.append(
                    Action(name, sentence_of(function), domains, instances, name, actor, receiver, ranges=ranges)
                )
            else:
                found += self._family(name, mark, domains, instances, ranges)
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
                raise SpecificationError(f"action {name}: two actions have that name")
        for each in found:
            for lane in (each.actor, each.receiver):
                each.parameters_in(lane)
        return tuple(found)

    def _family(
        self, rule: str, mark: Mark, domains: Mapping[str, Domain[Any]], instances: Instances, ranges: Ranges | None
    ) -> Iterator[Action]:
        """The actions of one rule, one for each value of a parameter."""
        parameter = mark.family
        assert parameter is not None
        members = mark.parameters[parameter]
        assert isinstance(members, Each)
        for value in members.values(self):
            like = members.like(value)
            fixed = {parameter: value}
            its = instances.changed(partial(_with_values, values=fixed))
            actor = members.actor(self, value) if members.actor else _actor_of(mark, domains)
            actor, receiver = (self._in_words(rule, lane) for lane in (actor, mark.receiver))
            its_ranges = ranges and ranges.with_values(fixed)
            yield Action(like.__name__, sentence_of(like), domains, its, rule, actor, receiver, ranges=its_ranges)

    def _in_words(self, name: str, lane: str) -> str:
        """A lane, with each `{self.name}` replaced by the specification's value."""
        for attribute in re.findall(r"\{self\.(\w+)\}", lane):
            if not hasattr(self, attribute):
                raise SpecificationError(
                    f"action {name}: lane {lane!r}: {type(self).__name__} has no attribute {attribute}"
                )
            lane = lane.replace(f"{{self.{attribute}}}", str(getattr(self, attribute)))
        return lane

    @cached_property
    def properties(self) -> tuple[Property, ...]:
        """The properties that exist under these constants, in order of declaration; then those of parts."""
        found = [
            Property(
                name,
                mark.kind,
                sentence_of(function),
                tuple(inspect.signature(function).parameters)[1] == "before",
                self._instances(
                    name, mark, domains := self._domains(name, mark), ranges := self._ranges(mark, domains)
                ),
                domains,
                ranges,
            )
            for name, function, mark in self._of_kind(*PROPERTIES)
            if not mark.of or self._actions_of(name, mark)
        ]
        for name, one in self.parts.items():
            found += [replace(each, **_named(name, each)) for each in one.properties]
        return tuple(found)

    @cached_property
    def views(self) -> tuple[View, ...]:
        """The views that exist under these constants, in order of declaration; then those of parts."""
        return tuple(self._views("view"))

    @cached_property
    def pictures(self) -> tuple[View, ...]:
        """The pictures that exist under these constants, in order of declaration; then those of parts."""
        return tuple(self._views("picture"))

    def _views(self, kind: str) -> Iterator[View]:
        for name, function, mark in self._of_kind(kind):
            domains = self._domains(name, mark)
            ranges = self._ranges(mark, domains)
            yield View(name, sentence_of(function), self._instances(name, mark, domains, ranges), ranges)
        for name, one in self.parts.items():
            for each in one._views(kind):
                yield replace(each, **_named(name, each))


# Rules of a part, within the whole.


def initialize(s: State) -> None:
    """The initial step of a part without `initial`: it assigns nothing."""


def _actor_of(mark: Mark, domains: Mapping[str, Domain[Any]]) -> str:
    """The action's own `actor=`, or else the first parameter whose values are interchangeable."""
    return mark.actor or next((name for name, domain in domains.items() if sort_of(domain)), "")


def _with_values(instance: Instance, values: Mapping[str, Any]) -> Instance:
    """The instance with values for parameters that number no instances."""
    untested = instance.untested and partial(instance.untested, **values)
    return replace(instance, run=partial(instance.run, **values), untested=untested)


def _named(part: str, one: Action | Property | View) -> dict[str, Any]:
    """The name of a part's rule in the whole, and the instances that see the part's own state."""
    return {"name": f"{part}.{one.name}", "instances": one.instances.changed(lambda its: its.named(part))}


def _every_way(
    first: Callable[[], Iterable[Instance]], *others: Callable[[], Iterable[Instance]]
) -> Iterator[tuple[Instance, ...]]:
    """The product of these instances, of which `itertools.product` would first list all."""
    for one in first():
        yield from ((one, *rest) for rest in _every_way(*others)) if others else [(one,)]


def _sequentially(of_parts: Mapping[str, Instance], whole: Instance) -> Instance:
    """An initial step that runs one for each part and then one for the whole."""
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
OF_THE_WHOLE: Final = ("constant", "switch", "switches", "assumption")
"""The words that only a specification may use, not a part."""


def _states_of(cls: type[Part[Any]]) -> type[State]:
    """The class of states that a class or its bases name, `Specification[Leases]`."""
    for base in vars(cls).get("__orig_bases__", ()):
        of = get_origin(base)
        for given in get_args(base) if isinstance(of, type) and issubclass(of, Part) else ():
            named = getattr(given, "__bound__", None) if hasattr(given, "__bound__") else given
            if isinstance(named, type) and issubclass(named, State):
                return named
            if named is not None and named is not Any:
                raise SpecificationError(
                    f"class {cls.__name__}({of.__name__}[{name_of(named)}]): {name_of(named)} is no class of states"
                )
    return cls.states
