"""Finding a specification by its name, and giving it the requested constants."""

from __future__ import annotations

import importlib
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from zlib import crc32

from spec.by_release import release_named, valuation
from spec.checking.values.settings import read
from spec.language.errors import (
    AssumptionViolated,
    SpecificationError,
    UsageError,
    error_text,
    one_meant,
    safe_repr,
    shortened,
)
from spec.language.identity import is_same_value
from spec.language.specification import Specification, title_of, unknown_constant
from spec.language.words import Constant
from spec.systems import SYSTEMS

_TICKET = re.compile(r"\b(?:KAFKA|KIP)-[0-9]+\b")


def system_named(name: str) -> type[Specification]:
    """The specification of a name: the name of a system, `path/to/file.py:Class` or `package.module:Class`. A file
    with a single specification needs no `:Class`. UsageError if there is none, SpecificationError if it is malformed.
    """
    place, _, cls = SYSTEMS.get(one_meant(name, SYSTEMS) or name, name).rpartition(":")
    if name.endswith(".py"):
        place, cls = name, ""
    if place.endswith(".py"):
        module = _module_in_file(Path(place))
    elif all(part.isidentifier() for part in [*place.split("."), cls]):
        module = _module(place)
    else:
        file = f"{name}.py"
        raise UsageError(
            f"no system is called {name}; "
            + (
                f"write {file} for the file here"
                if _is_file(Path(file))
                else f"there are {', '.join(SYSTEMS)}, or a "
                "specification of your own as path/to/file.py:Class or package.module:Class"
            )
        )
    own = [
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Specification) and value.__module__ == module.__name__
    ]
    if name.endswith(".py") and len(own) == 1:
        cls = own[0]
    found = getattr(module, one_meant(cls, own) or cls, None)
    if not (isinstance(found, type) and issubclass(found, Specification) and found is not Specification):
        wrong = f"{place} has no specification {cls}" if cls else f"{place} is a file: write {place}:Class"
        raise UsageError(f"{wrong}; it has {', '.join(own) or 'none'}")
    return found


def system_to_follow(named: str, own: str | None) -> str:
    """The name of the system on which to follow a trace or a transcript. Such a file may come from another person:
    only a system of kafkaspec is imported for the name in it. UsageError if it names another, and the user names none
    of their own.
    """
    if own is None and named not in SYSTEMS:
        raise UsageError(
            f"it names {safe_repr(named)}, which is no system of kafkaspec, and a file runs no code: "
            "name the specification yourself, --spec FILE:Class"
        )
    return named if own is None else own


def _module(name: str) -> Any:
    try:
        if find_spec(name.partition(".")[0]) is None:
            _importable(Path.cwd())
        return importlib.import_module(name)
    except SpecificationError:
        raise
    except (Exception, SystemExit) as failure:
        missing = getattr(failure, "name", None) if isinstance(failure, ModuleNotFoundError) else None
        if missing and f"{name}.".startswith(f"{missing}."):
            raise UsageError(f"no module {missing} is here or installed") from None
        raise UsageError(f"{name} cannot be imported: {_named(failure)}") from failure


def _importable(directory: Path) -> None:
    """Make the user's own modules importable from their specification's folder, after all installed modules."""
    if str(directory) not in sys.path:
        sys.path.append(str(directory))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # the name is too long
        return False


def _module_in_file(path: Path) -> Any:
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    name = path.stem
    taken = sys.modules.get(name)
    if taken is not None and getattr(taken, "__file__", None) == str(path.resolve()):
        return taken
    if taken is not None or _is_of_another(name, path.resolve()):
        name = f"{name}_of_{crc32(bytes(path.resolve())):x}"
    made = spec_from_file_location(name, path.resolve())
    assert made is not None
    assert made.loader is not None
    module = module_from_spec(made)
    sys.modules[name] = module
    _importable(path.resolve().parent)
    try:
        made.loader.exec_module(module)
    except (Exception, SystemExit) as failure:
        del sys.modules[name]
        place = _place_of(failure, {path.resolve()})
        if isinstance(failure, SpecificationError):
            raise SpecificationError(f"{place}: {failure}") from failure
        raise UsageError(f"{place or f'{path} cannot be imported'}: {_named(failure)}") from failure
    return module


def _is_of_another(name: str, path: Path) -> bool:
    """Whether another file is a module of this name, here or installed. Another module may still import it."""
    found = find_spec(name) if name.isidentifier() else None
    return found is not None and found.origin != str(path)


def _place_of(failure: BaseException | None, files: Iterable[Path]) -> str:
    """The place in these files where an exception was raised; empty if it was raised elsewhere."""
    if isinstance(failure, SyntaxError) and failure.filename:
        return f"{Path(failure.filename).name}, line {failure.lineno}"
    frames = traceback.extract_tb(failure.__traceback__) if failure else ()
    lines = [f"{Path(frame.filename).name}, line {frame.lineno}" for frame in frames if Path(frame.filename) in files]
    return lines[-1] if lines else ""


def _named(failure: BaseException) -> str:
    return failure.msg if isinstance(failure, SyntaxError) else error_text(failure)


def place_in(system: type[Specification], failure: BaseException | None) -> str:
    """The place in a specification's source where an exception was raised, as `lease.py, line 12`; or empty."""
    modules = [
        sys.modules[cls.__module__] for cls in system.__mro__ if not cls.__module__.startswith("spec.language")
    ]
    return _place_of(failure, {Path(file) for module in modules if (file := getattr(module, "__file__", None))})


@contextmanager
def answering_for(system: type[Specification]) -> Iterator[None]:
    """Turn exceptions of a specification's code in this context into a `SpecificationError` of one line."""
    try:
        yield
    except (UsageError, SpecificationError, AssumptionViolated):
        raise
    except (Exception, SystemExit) as failure:
        place = place_in(system, failure)
        if not place:
            raise
        raise SpecificationError(f"{place}: {_named(failure)}") from failure


def under(
    system: type[Specification], release: str | None = None, constants: Mapping[str, Any] = MappingProxyType({})
) -> Specification:
    """A system under the constants of a release, by default the newest, with these constants changed. UsageError if
    there is no such release, a constant is unknown, or a value has the wrong type; AssumptionViolated if the
    specification does not admit them.
    """
    if release is not None:
        return system.of_release(release_named(release, system.releases), **constants)
    newest = list(system.releases)[-1:]
    return system.of_release(*newest, **constants) if newest else system.of(**constants)


def specification(
    system: type[Specification],
    release: str | None = None,
    settings: Iterable[str] = (),
    switched_on: Iterable[str] = (),
    switched_off: Iterable[str] = (),
) -> Specification:
    """A system under the constants of a release, changed by `name=value` settings and by switches. A constant may
    belong to a variant that other constants select. It may be named twice, with the same value.

    UsageError if a name is unknown, a value has the wrong type, or a constant has two values; AssumptionViolated if
    the specification does not admit the constants.
    """
    wishes = [_Setting.written(setting) for setting in settings]
    wishes += [_Setting("--with", name, "true") for name in switched_on]
    wishes += [_Setting("--without", name, "false") for name in switched_off]
    begun = valuation(system.releases, release)
    asked: dict[str, Any] = {}
    variant, before = system, None
    while variant is not before:
        before, known = variant, variant.constants()
        tickets = [(ticket, name) for name, it in known.items() for ticket in _TICKET.findall(it.doc) if it.switch]
        wishes = [wish._replace(name=one_meant(wish.name, known, tickets) or wish.name) for wish in wishes]
        asked = _agreed([wish for wish in wishes if wish.name in known], known)
        variant = before.variant_for(**{**begun, **asked})
    for wish in wishes:
        if wish.name not in known:
            raise wish.refused_by(variant)
    return under(system, release, asked)


class _Setting(NamedTuple):
    """A constant's requested value, and its option."""

    option: str
    name: str
    text: str

    def __str__(self) -> str:
        return f"{self.option} {self.name}" + (f"={self.text}" if self.option == "--set" else "")

    @classmethod
    def written(cls, setting: str) -> _Setting:
        name, equals, text = setting.partition("=")
        if not (name and equals):
            raise UsageError(f"--set {setting}: write NAME=VALUE")
        return cls("--set", name, text)

    def value(self, constant: Constant) -> Any:
        if self.option != "--set" and not constant.switch:
            wrong = f"{self.name} is a constant, not a switch; write --set {self.name}=VALUE"
            raise UsageError(f"{self.option} {self.name}: {wrong}")
        if self.option != "--set" and constant.type is not bool:
            wrong = f"it has several forms; write --set {self.name}=VALUE, with {constant.allowed}"
            raise UsageError(f"{self.option} {self.name}: {wrong}")
        return value_of(self.name, constant, self.text)

    def refused_by(self, variant: type[Specification]) -> UsageError:
        if self.option == "--set":
            return unknown_constant(variant, self.name)
        switches = [name for name, it in variant.constants().items() if it.switch and it.type is bool]
        wrong = f"{title_of(variant)} has no switch {self.name}; it has {', '.join(switches) or 'none'}"
        return UsageError(f"{self.option} {self.name}: {wrong}")


def _agreed(wishes: Iterable[_Setting], known: Mapping[str, Constant]) -> dict[str, Any]:
    """The requested values."""
    values: dict[str, tuple[Any, _Setting]] = {}
    for wish in wishes:
        value = wish.value(known[wish.name])
        wished, earlier = values.setdefault(wish.name, (value, wish))
        if not is_same_value(value, wished):
            raise UsageError(f"{earlier} and {wish}: {wish.name} has one value")
    return {name: value for name, (value, _) in values.items()}


def value_of(name: str, constant: Constant, text: str) -> Any:
    """The value of a constant, from its text; UsageError if it is not of the constant's type."""
    value = read(constant, text)
    if not constant.admits(value):
        plain = constant.type in {bool, int, str} or issubclass(constant.type, Enum)
        form = "" if plain else ", written as in Python"
        raise UsageError(f"{name} = {shortened(text)}: it must be {constant.allowed}{form}")
    return value
