"""`Specification`: the class whose methods, marked by the words, are a system.

In the order of a TLA+ module: constants and assumptions, variables, the initial state, actions, properties; and
views, which say what a state means.
An instance is the system under given constants. It holds nothing but them, and so refuses to be assigned to.

Variants by difference: a subclass overrides what changed. It may fix constants in its head,
`class Unfenced(Lease, fencing=False)`, and then `Lease.of(fencing=False)` finds it. Constants in its body are its
own: `Lease.of` takes them where it finds this variant.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, wraps
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Self, get_args

from spec.language.domains import Domain, MappingDomain, SubsetDomain, as_domain, choices_of
from spec.language.errors import AssumptionViolated, SpecificationError, UsageError
from spec.language.sizes import Size, Sizes, types_in
from spec.language.state import State
from spec.language.words import MARK, Constant, Declared, Mark, OfState, Step, kind_of, plain, require

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    S = TypeVar("S", bound=State, covariant=True, default=State)
else:
    from typing import TypeVar

    S = TypeVar("S", bound=State, covariant=True)


@dataclass(frozen=True)
class Instance:
    """A marked method with values for its parameters."""

    parameters: Mapping[str, Any]
    run: Callable[..., Any]


@dataclass(frozen=True)
class Action:
    """An action with all its instances, in the order of its parameters' domains."""

    name: str
    doc: str
    domains: Mapping[str, Domain[Any]]
    instances: tuple[Instance, ...]

    def step(self, number: int) -> Step:
        """The step that its instance of this number takes."""
        return Step(self.name, self.instances[number].parameters)


@dataclass(frozen=True)
class Property:
    """An invariant, transition invariant or witness, with all its instances."""

    name: str
    kind: str
    doc: str
    over_steps: bool
    instances: tuple[Instance, ...]


@dataclass(frozen=True)
class View:
    """What is said of a state in words, with all its instances."""

    name: str
    doc: str
    instances: tuple[Instance, ...]


class _Names(dict[str, Any]):
    """The names of a class body, none of which stands for two things in it."""

    def __setitem__(self, name: str, value: Any) -> None:
        kind, before = (kind_of(each) for each in (value, self.get(name)))
        if kind and before:
            raise SpecificationError(f"{kind} {name}: {'an' if before[0] in 'aio' else 'a'} {before} has that name")
        super().__setitem__(name, value)


class _Body(type):
    """The class of specifications, which sees a name that stands twice."""

    @classmethod
    def __prepare__(cls, name: str, bases: tuple[type, ...], /, **_: Any) -> _Names:
        return _Names()


class Specification(Generic[S], metaclass=_Body):
    """A system, to be subclassed. Its docstring says what is modelled, what is left out, and why that is safe.

    `class Lease(Specification[Leases])` is one whose variables are those of the class of states `Leases`; rules that
    variants with more variables share are generic in their states.
    """

    name: ClassVar[str] = ""
    """What the system is called, and its variants; without one, the class's name in small letters."""
    leaves_out: ClassVar[str] = ""
    """In one line, what the model leaves out. It is printed beside every verdict."""
    deadlock: ClassVar[bool] = False
    """Whether a state without an enabled action is an error here even if nobody asks."""
    releases: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Each release in order, oldest first, with the constants that it had. The last one is the default."""

    states: ClassVar[type[State]] = State
    """The class of its states: what is given to actions and properties as `s`."""

    _head: ClassVar[Mapping[str, Any]] = {}
    _fixed: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, **fixed: Any) -> None:
        super().__init_subclass__()
        _check_names(cls)
        cls.states = _states_of(cls)
        if not (cls.__dict__.get("name") or (fixed and cls.name)):
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()
        cls._head = fixed
        cls._fixed = {name: value for base in reversed(cls.__mro__) for name, value in _head_of(base).items()}
        known = cls.constants()
        for name, value in fixed.items():
            if name not in known:
                raise SpecificationError(f"class {cls.__name__} fixes {name}, which is none of its constants")
            if not known[name].admits(value):
                raise SpecificationError(
                    f"class {cls.__name__} fixes {name} = {value!r}: it must be {known[name].allowed}"
                )
        for name, (function, mark) in cls._marked().items():
            _check_parameters(cls.__name__, name, function, mark, cls._where_marked(name).__annotations__)

    def __init__(self, **constants: Any) -> None:
        known = self.constants()
        constants = {name: plain(value) for name, value in constants.items()}
        for name, value in constants.items():
            if name not in known:
                raise unknown_constant(type(self), name)
            if not known[name].admits(value):
                raise UsageError(f"{name} = {value!r}: it must be {known[name].allowed}")
            if self._fixed.get(name, value) != value:
                raise UsageError(f"{type(self).__name__} is the variant with {name} = {self._fixed[name]!r}")
        self.__dict__.update(self._default() | constants)
        self._check_assumptions()

    @classmethod
    def of(cls, **constants: Any) -> Self:
        """The variant of this system that these constants ask for.

        Raises:
            UsageError: a constant that the variant does not have, or a value of the wrong type.
            AssumptionViolated: constants that the specification does not admit.
            SpecificationError: two variants are asked for, neither of which varies the other.
        """
        return cls.variant_for(**constants)(**constants)

    @classmethod
    def of_release(cls, release: str, /, **constants: Any) -> Self:
        """The variant of this system under the constants of one of its `releases`, changed by others.

        What the release says of a constant that only other variants have is passed over.

        Raises:
            KeyError: no such release.
            UsageError, AssumptionViolated, SpecificationError: as `of` does.
        """
        wanted = {**cls.releases[release], **constants}
        known = cls.variant_for(**wanted).constants()
        of_others = {name for variant in cls.variants() for name in variant.constants()} - {*known, *constants}
        return cls.of(**{name: value for name, value in wanted.items() if name not in of_others})

    @classmethod
    def variant_for(cls, **constants: Any) -> type[Self]:
        """The class that `of` makes an instance of. A name that it does not know has no say in that.

        Raises:
            SpecificationError: two variants are asked for, neither of which varies the other.
        """
        asked = [variant for variant in cls.variants() if variant._fits(cls._default() | constants)]
        found = [one for one in asked if not any(one is not other and issubclass(other, one) for other in asked)]
        if len(found) > 1:
            names = " and ".join(variant.__name__ for variant in found)
            raise SpecificationError(f"{cls.name}: these constants ask for {names}, and neither varies the other")
        return found[0] if found else cls

    @classmethod
    def variants(cls) -> tuple[type[Self], ...]:
        """Among whom `of` chooses: this class and all that vary it. Who fixes nothing else is nobody's variant."""
        varied = (subclass for subclass in cls.__subclasses__() if subclass._fixed != cls._fixed)
        return tuple(dict.fromkeys((cls, *(each for subclass in varied for each in subclass.variants()))))

    @classmethod
    def _default(cls) -> dict[str, Any]:
        """The value of each constant where nobody says otherwise."""
        return {name: cls._fixed.get(name, constant.default) for name, constant in cls.constants().items()}

    @classmethod
    def _fits(cls, wanted: Mapping[str, Any]) -> bool:
        """Whether it fixes only what is wanted; a constant that nobody speaks of is wanted as it is declared."""
        known = cls.constants()
        return all(wanted.get(name, known[name].default) == value for name, value in cls._fixed.items())

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.valuation))

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise SpecificationError(f"it assigns self.{name}: a specification keeps nothing between steps")

    def __delattr__(self, name: str) -> NoReturn:
        raise SpecificationError(f"it deletes self.{name}: a specification keeps nothing between steps")

    # Constants.

    @classmethod
    def constants(cls) -> dict[str, Constant]:
        """The constants and switches, in the order of their declaration."""
        found: dict[str, Constant] = {}
        for base in reversed(cls.__mro__):
            found |= {name: value for name, value in vars(base).items() if isinstance(value, Constant)}
        return found

    @property
    def valuation(self) -> dict[str, Any]:
        """The value of each constant."""
        return {name: self.__dict__[name] for name in self.constants()}

    def values_of(self, *, switches: bool) -> dict[str, Any]:
        """The values of its switches, or of its other constants."""
        constants = self.constants()
        return {name: value for name, value in self.valuation.items() if constants[name].switch is switches}

    def _check_assumptions(self) -> None:
        for name, constant in self.constants().items():
            value = self.__dict__[name]
            if constant.at_least is not None and value < constant.at_least:
                raise AssumptionViolated(f"{name} = {value}: it must be at least {constant.at_least}")
            if constant.at_most is not None and value > constant.at_most:
                raise AssumptionViolated(f"{name} = {value}: it must be at most {constant.at_most}")
        for name, function, _ in self._of_kind("assumption"):
            if not getattr(self, name)():
                raise AssumptionViolated(f"{name}: {sentence_of(function) or 'it does not hold of these constants'}")

    # Sizes.

    def sizes(self) -> Mapping[Any, Size]:
        """How large each type is here that is not made of others, and each place that is narrower than its type.

        To be overridden: `return {BrokerId: range(self.brokers), Node.version: integers(0, 3)}`.
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
        parameters = _parameters_of(method, mark.kind)
        domains = {}
        for parameter in mark.parameters if {*parameters} <= {*mark.parameters} else parameters:
            try:
                if parameter not in mark.parameters:
                    domains[parameter] = self.domain_of(_type_of(method, parameter))
                    continue
                given = mark.parameters[parameter]
                if isinstance(given, OfState):
                    domains[parameter] = self._members(given) or self.domain_of(_type_of(method, parameter))
                else:
                    ranged: Any = given(self) if callable(given) and not isinstance(given, type) else given
                    domains[parameter] = as_domain(ranged)
            except SpecificationError as wrong:
                raise SpecificationError(f"{mark.kind} {name}: parameter {parameter}: {wrong}") from None
        return domains

    def _members(self, given: OfState) -> Domain[Any] | None:
        """What may be in a set of the state, or a key of a mapping, if that is what a parameter ranges over."""
        try:
            found = given.given(self, _Members(self.variables))
        except Exception:
            return None
        return found if isinstance(found, Domain) else None

    def _instances(self, name: str, mark: Mark, domains: Mapping[str, Domain[Any]]) -> tuple[Instance, ...]:
        method = getattr(self, name)
        there = {each: given.given for each, given in mark.parameters.items() if isinstance(given, OfState)}
        if there:
            method = self._only_there(mark.kind, method, there)
        try:
            return tuple(Instance(choice, method) for choice in choices_of(domains))
        except SpecificationError as wrong:
            raise SpecificationError(f"{mark.kind} {name}: parameters {wrong}") from None

    def _only_there(
        self, kind: str, method: Callable[..., Any], there: Mapping[str, Callable[[Any, Any], Any]]
    ) -> Callable[..., Any]:
        """A method that has something to say only of values that are there in the state."""

        @wraps(method)
        def of_those(s: State, **parameters: Any) -> Any:
            if all(parameters[each] in given(self, s) for each, given in there.items()):
                return method(s, **parameters)
            require(kind != "action")
            return {"invariant": True, "sometimes": False, "view": ""}[kind]

        return of_those

    @cached_property
    def variables(self) -> dict[str, tuple[str, Domain[Any] | MappingDomain]]:
        """Each variable's sentence and domain."""
        declared = {
            name: (each.doc, self._laid_out(name, each))
            for name, each in self.states.declared().items()
            if each.when is None or each.when(self)
        }
        return declared | {
            name: (inspect.getdoc(function) or "", self._domain_of(name))
            for name, function, _ in self._of_kind("variable")
        }

    def _laid_out(self, name: str, declared: Declared) -> Domain[Any] | MappingDomain:
        """As its type has it, or what is said there of the whole or, key by key, of a mapping's values."""
        try:
            type_, of = types_in(self.states)[name], declared.of
            if of is None:
                return self._sizes.layout(type_)
            if len(inspect.signature(of).parameters) == 1:
                domain = of(self)
                return domain if isinstance(domain, MappingDomain) else as_domain(domain)
            return self._sizes.layout(type_, lambda key: of(self, key))
        except SpecificationError as wrong:
            raise SpecificationError(f"variable {name}: {wrong}") from None

    def _domain_of(self, name: str) -> Domain[Any] | MappingDomain:
        try:
            domain = getattr(self, name)()
            return domain if isinstance(domain, MappingDomain) else as_domain(domain)
        except SpecificationError as wrong:
            raise SpecificationError(f"variable {name}: {wrong}") from None

    @cached_property
    def initials(self) -> tuple[Instance, ...]:
        """Each way to begin; without an `initial` there is one, which assigns nothing."""
        instances: list[Instance] = []
        for name, _, mark in self._of_kind("initial"):
            instances += self._instances(name, mark, self._domains(name, mark))
        return tuple(instances) or (Instance({}, lambda s: None),)

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """The actions that exist under these constants, in the order of their declaration."""
        found = []
        for name, function, mark in self._of_kind("action"):
            domains = self._domains(name, mark)
            found.append(Action(name, sentence_of(function), domains, self._instances(name, mark, domains)))
        return tuple(found)

    @cached_property
    def properties(self) -> tuple[Property, ...]:
        """The properties that exist under these constants, in the order of their declaration."""
        return tuple(
            Property(
                name,
                mark.kind,
                sentence_of(function),
                tuple(inspect.signature(function).parameters)[1] == "before",
                self._instances(name, mark, self._domains(name, mark)),
            )
            for name, function, mark in self._of_kind("invariant", "transition_invariant", "sometimes")
        )

    @cached_property
    def views(self) -> tuple[View, ...]:
        """The views that exist under these constants, in the order of their declaration."""
        return tuple(
            View(name, sentence_of(function), self._instances(name, mark, self._domains(name, mark)))
            for name, function, mark in self._of_kind("view")
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in self.valuation.items())})"


def _rebuild(cls: type[Specification], constants: dict[str, Any]) -> Specification:
    return cls(**constants)


def title_of(cls: type[Specification]) -> str:
    """What a class is called, and which variant it is: `lease with fencing = False`."""
    fixed = ", ".join(f"{name} = {value}" for name, value in cls._fixed.items())
    return f"{cls.name} with {fixed}" if fixed else cls.name


def unknown_constant(cls: type[Specification], name: str) -> UsageError:
    """What is wrong with a constant that a class does not have."""
    return UsageError(f"{title_of(cls)} has no constant {name}; it has {', '.join(cls.constants()) or 'none'}")


def sentence_of(function: Callable[..., Any]) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())


def _head_of(base: type) -> Mapping[str, Any]:
    """What a class fixes in its own head."""
    head: Mapping[str, Any] = vars(base).get("_head", {})
    return head


_TO_SAY = {"name", "leaves_out", "deadlock", "releases", "sizes"}
_TAKEN = {name for name in vars(Specification) if not name.startswith("__")} | {"type_ok"}
_TAKEN_BY_THE_STATE = {"_layout", "_row"}
_PYTHONS_OWN = {"__annotations__", "__annotations_cache__"}


def _check_names(cls: type[Specification]) -> None:
    """What stands in a class has a name of its own, and cannot be changed in place."""
    for name, value in vars(cls).items():
        kind = kind_of(value)
        if (name in _TAKEN and (kind or name not in _TO_SAY)) or (kind == "variable" and name in _TAKEN_BY_THE_STATE):
            raise SpecificationError(f"{kind} {cls.__name__}.{name}: the name is taken by the language".lstrip())
        if name == "releases" and not _is_by_release(value):
            raise SpecificationError(f"{cls.__name__}.releases: for each release a mapping of constants to values")
        if name == "sizes" and not inspect.isfunction(value):
            raise SpecificationError(f"{cls.__name__}.sizes: a method that gives the size of each type")
        if name == "__init__":
            raise SpecificationError(f"{cls.__name__}.__init__: a specification is made of its constants alone")
        if isinstance(value, list | dict | set) and name not in _TO_SAY | _PYTHONS_OWN:
            raise SpecificationError(
                f"{cls.__name__}.{name} can be changed in place; a specification keeps nothing between steps"
            )


def _is_by_release(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(constants, Mapping) for constants in value.values())


_GIVEN = {
    "variable": (("self",),),
    "assumption": (("self",),),
    "initial": (("self", "s"),),
    "action": (("self", "s"),),
    "invariant": (("self", "s"),),
    "transition_invariant": (("self", "before", "step", "after"),),
    "sometimes": (("self", "s"), ("self", "before", "step", "after")),
    "view": (("self", "s"),),
}


class _Members:
    """A state in which a set or a mapping is the domain of what may be in it."""

    def __init__(self, variables: Mapping[str, tuple[str, Domain[Any] | MappingDomain]]):
        self._variables = variables

    def __getattr__(self, name: str) -> Domain[Any]:
        match self._variables[name][1]:
            case MappingDomain(keys=keys):
                return keys
            case SubsetDomain(elements=elements):
                return elements
        raise AttributeError(name)


def _parameters_of(function: Callable[..., Any], kind: str) -> tuple[str, ...]:
    """The parameters behind those that the word gives."""
    asked = tuple(inspect.signature(function).parameters)
    return next(asked[len(given) :] for given in _GIVEN[kind] if asked[: len(given)] == given)


def _type_of(function: Callable[..., Any], parameter: str) -> Any:
    """What a parameter is annotated with."""
    names = getattr(inspect.unwrap(function), "__globals__", {})
    if parameter not in function.__annotations__:
        raise SpecificationError("it ranges over part of the state: annotate it with its type, which has a size")
    alone = SimpleNamespace(
        __annotations__={parameter: function.__annotations__[parameter]}, __qualname__=function.__qualname__
    )
    return types_in(alone, names)[parameter]


def _states_of(cls: type[Specification[Any]]) -> type[State]:
    """The class of states that a class names, `Specification[Leases]`, or its bases do."""
    for base in vars(cls).get("__orig_bases__", ()):
        for given in get_args(base):
            named = getattr(given, "__bound__", None) or given
            if isinstance(named, type) and issubclass(named, State):
                return named
    return cls.states


def _check_parameters(
    cls: str, name: str, function: Callable[..., Any], mark: Mark, types: Mapping[str, Any]
) -> None:
    """A method's parameters are what its word gives it, and then those that have a range or a type."""
    asked = tuple(inspect.signature(function).parameters)
    for given in _GIVEN[mark.kind]:
        if asked[: len(given)] == given:
            rest = asked[len(given) :]
            break
    else:
        forms = " or ".join(f"({', '.join(given)}, ...)" for given in _GIVEN[mark.kind])
        raise SpecificationError(f"{mark.kind} {cls}.{name}: it must begin {forms}")
    for parameter in rest:
        if parameter not in mark.parameters and parameter not in types:
            raise SpecificationError(f"{mark.kind} {cls}.{name}: parameter {parameter} has no domain")
    for parameter, ranged in mark.parameters.items():
        if parameter not in rest:
            raise SpecificationError(f"{mark.kind} {cls}.{name}: it does not take {parameter}, which has a domain")
        if isinstance(ranged, OfState) and (mark.kind == "initial" or "before" in asked):
            raise SpecificationError(
                f"{mark.kind} {cls}.{name}: {parameter} ranges over a state, and there is not one state"
            )
