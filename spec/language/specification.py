"""`Specification`: a system as a class, whose rules are methods marked with the words of the language.

The order is that of a TLA+ module: constants and assumptions, variables, initial state, actions, properties; and last
the views, which explain a state.
An instance is the system under given constants. It holds only those, and refuses assignments.

A variant is a subclass that overrides what differs. It may fix constants in its head,
`class Unfenced(Lease, fencing=False)`; then `Lease.of(fencing=False)` chooses it. A variant may declare further
constants in its body, which `Lease.of` accepts when it chooses that variant.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from types import FunctionType
from typing import Any, ClassVar, NoReturn, Self

from spec.language.errors import AssumptionViolated, SpecificationError, UsageError, equal_looking, safe_repr
from spec.language.identity import is_same_value
from spec.language.part import Part, S, sentence_of
from spec.language.switches import OfAllRecords, Switches
from spec.language.words import MARK, Constant, kind_of, plain


class Specification(Part[S]):
    """A system, to be subclassed. Its docstring says what is modelled, what is left out, and why that is safe.

    `class Lease(Specification[Leases])` has the variables of the class of states `Leases`. Rules that are shared by
    variants with more variables are generic in their states.
    """

    name: ClassVar[str] = ""
    """The name of the system and of its variants; by default the class's name in lower case."""
    leaves_out: ClassVar[str] = ""
    """One line on what the model leaves out, printed with every verdict."""
    deadlock: ClassVar[bool] = False
    """Whether every check reports a state without an enabled action as a deadlock, even without being asked."""
    releases: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Each release, oldest first, with its constants. The last one is the default."""

    _is_whole = True
    _head: ClassVar[Mapping[str, Any]] = {}
    _fixed: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, **fixed: Any) -> None:
        _check_names(cls)
        super().__init_subclass__()
        if not (cls.__dict__.get("name") or (fixed and cls.name)):
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()
        of_design = [value.releases for value in vars(cls).values() if isinstance(value, Switches)]
        if of_design and "releases" not in vars(cls):
            cls.releases = OfAllRecords(of_design)
        cls._head = fixed
        cls._fixed = {name: value for base in reversed(cls.__mro__) for name, value in _head_of(base).items()}
        known = cls.constants()
        for name, value in fixed.items():
            if name not in known:
                raise SpecificationError(f"class {cls.__name__} fixes {name}, which is not one of its constants")
            if not known[name].admits(value):
                raise SpecificationError(
                    f"class {cls.__name__} fixes {name} = {value!r}: it must be {known[name].allowed}"
                )

    def __init__(self, **constants: Any) -> None:
        known = self.constants()
        constants = {name: plain(value) for name, value in constants.items()}
        for name, value in constants.items():
            if name not in known:
                raise unknown_constant(type(self), name)
            if not known[name].admits(value):
                other = equal_looking(value, [known[name].type, *map(type, known[name].allowed_values or ())])
                raise UsageError(f"{name} = {value!r}: it must be {known[name].allowed}{other}")
            if not is_same_value(self._fixed.get(name, value), value):
                raise UsageError(f"{type(self).__name__} is the variant with {name} = {self._fixed[name]!r}")
        self.__dict__.update(self._default() | constants)
        self._check_assumptions()

    @classmethod
    def of(cls, **constants: Any) -> Self:
        """The variant of this system with these constants.

        Raises:
            UsageError: the variant has no such constant, or the value has the wrong type.
            AssumptionViolated: the specification's assumptions exclude these constants.
            SpecificationError: two variants match, and neither is a variant of the other.
        """
        return cls.variant_for(**constants)(**constants)

    @classmethod
    def of_release(cls, release: str, /, **constants: Any) -> Self:
        """The variant of this system under the constants of one of its `releases`, overridden by others.

        A constant of the release that only other variants have is ignored.

        Raises:
            KeyError: there is no such release.
            UsageError, AssumptionViolated, SpecificationError: as in `of`.
        """
        wanted = {**cls.releases[release], **constants}
        known = cls.variant_for(**wanted).constants()
        of_others = {name for variant in cls.variants() for name in variant.constants()} - {*known, *constants}
        return cls.of(**{name: value for name, value in wanted.items() if name not in of_others})

    @classmethod
    def variant_for(cls, **constants: Any) -> type[Self]:
        """The class that `of` makes an instance of. Unknown names do not affect the choice.

        Raises:
            SpecificationError: two variants match, and neither is a variant of the other.
        """
        asked = [variant for variant in cls.variants() if variant._fits(cls._default() | constants)]
        found = [one for one in asked if not any(one is not other and issubclass(other, one) for other in asked)]
        if len(found) > 1:
            names = " and ".join(variant.__name__ for variant in found)
            raise SpecificationError(
                f"{cls.name}: these constants match {names}, and neither is a variant of the other"
            )
        return found[0] if found else cls

    @classmethod
    def variants(cls) -> tuple[type[Self], ...]:
        """The classes that `of` chooses from: this one and its variants, the subclasses that fix a constant."""
        varied = (subclass for subclass in cls.__subclasses__() if subclass._fixed != cls._fixed)
        return tuple(dict.fromkeys((cls, *(each for subclass in varied for each in subclass.variants()))))

    @classmethod
    def _default(cls) -> dict[str, Any]:
        """The default of each constant in this class."""
        return {name: cls._fixed.get(name, constant.default) for name, constant in cls.constants().items()}

    @classmethod
    def _fits(cls, wanted: Mapping[str, Any]) -> bool:
        """Whether this class fixes constants only to wanted values; by default the declared value is wanted."""
        known = cls.constants()
        return all(wanted.get(name, known[name].default) == value for name, value in cls._fixed.items())

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.valuation))

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise SpecificationError(f"self.{name} is assigned: a specification keeps nothing between steps")

    def __delattr__(self, name: str) -> NoReturn:
        raise SpecificationError(f"self.{name} is deleted: a specification keeps nothing between steps")

    # Constants.

    @classmethod
    def constants(cls) -> dict[str, Constant]:
        """The constants and switches, in order of declaration."""
        found: dict[str, Constant] = {}
        for base in reversed(cls.__mro__):
            for name, value in vars(base).items():
                if isinstance(value, Constant):
                    found[name] = value
                elif isinstance(value, Switches):
                    found |= value.constants
        return found

    @property
    def valuation(self) -> dict[str, Any]:
        """The value of each constant."""
        return {name: self.__dict__[name] for name in self.constants()}

    def values_of(self, *, switches: bool) -> dict[str, Any]:
        """The values of its switches, or else of its other constants."""
        constants = self.constants()
        return {name: value for name, value in self.valuation.items() if constants[name].switch is switches}

    def _check_assumptions(self) -> None:
        for name, constant in self.constants().items():
            value = self.__dict__[name]
            if constant.at_least is not None and value < constant.at_least:
                raise AssumptionViolated(f"{name} = {safe_repr(value)}: it must be at least {constant.at_least}")
            if constant.at_most is not None and value > constant.at_most:
                raise AssumptionViolated(f"{name} = {safe_repr(value)}: it must be at most {constant.at_most}")
        for name, function, _ in self._of_kind("assumption"):
            if not getattr(self, name)():
                raise AssumptionViolated(f"{name}: {sentence_of(function) or 'these constants violate it'}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in self.valuation.items())})"


def _rebuild(cls: type[Specification], constants: dict[str, Any]) -> Specification:
    return cls(**constants)


def title_of(cls: type[Specification]) -> str:
    """The name of a class, with the constants that it fixes: `lease with fencing = False`."""
    fixed = ", ".join(f"{name} = {value}" for name, value in cls._fixed.items())
    return f"{cls.name} with {fixed}" if fixed else cls.name


def without_word(cls: type[Specification]) -> str:
    """A hint at methods on a state `s` whose name occurs only once in their file: each may have lost its `@action`.

    Empty if there are none, or if the source is unknown.
    """
    found: list[str] = []
    for base in cls.__mro__:
        if base.__module__.startswith(("spec.", "builtins")):  # our own parts are used by files of others
            continue
        with suppress(OSError, TypeError):
            file = inspect.getsource(sys.modules[base.__module__])
            inherited = {name for other in base.__mro__[1:] for name in vars(other)}
            own = [name for name, value in vars(base).items() if _takes_state(value) and name not in inherited]
            found += [name for name in own if len(re.findall(rf"\b{name}\b", file)) == 1]
    return f"nothing uses {', '.join(found)}: is its @action missing?" if found else ""


def _takes_state(value: object) -> bool:
    """Whether this is a method without a word of the language that takes a state, `s`."""
    if not isinstance(value, FunctionType) or hasattr(value, MARK):
        return False
    return value.__code__.co_varnames[1:2] == ("s",) and value.__code__.co_argcount > 1


def unknown_constant(cls: type[Specification], name: str) -> UsageError:
    """The error for a constant that a class does not have."""
    return UsageError(f"{title_of(cls)} has no constant {name}; it has {', '.join(cls.constants()) or 'none'}")


def _head_of(base: type) -> Mapping[str, Any]:
    """The constants that a class fixes in its head."""
    head: Mapping[str, Any] = vars(base).get("_head", {})
    return head


_TO_SAY = {"name", "leaves_out", "deadlock", "releases", "sizes"}
_TAKEN = {name for cls in (Part, Specification) for name in vars(cls) if not name.startswith("__")} | {"type_ok"}
_PYTHONS_OWN = {"__annotations__", "__annotations_cache__"}


def _check_names(cls: type[Specification]) -> None:
    """Check that no name in a class is the language's own, and that no value can be changed in place."""
    for name, value in vars(cls).items():
        kind = kind_of(value)
        if name in _TAKEN and (kind or name not in _TO_SAY):
            raise SpecificationError(f"{kind} {cls.__name__}.{name}: the language uses that name itself".lstrip())
        if name == "releases" and not _is_by_release(value):
            raise SpecificationError(
                f"{cls.__name__}.releases must give each release a mapping of constants to values"
            )
        if name == "__init__":
            raise SpecificationError(f"{cls.__name__}.__init__: a specification is made from its constants alone")
        if isinstance(value, list | dict | set) and name not in _TO_SAY | _PYTHONS_OWN:
            raise SpecificationError(
                f"{cls.__name__}.{name} can be changed in place; a specification keeps nothing between steps"
            )


def _is_by_release(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(constants, Mapping) for constants in value.values())
