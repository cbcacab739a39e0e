"""The source of a specification: the modules that its author answers for.

They are the modules of its classes, and the modules these import that are neither installed nor part of the language
and the checkers. A run directory records their digests. Modules that other processes would not find by name, such as
a person's own file, are sent along with the specification.
"""

from __future__ import annotations

import ast
import hashlib
import pickle
import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum
from functools import cache
from importlib.util import resolve_name
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Generic

import spec
from spec.language.errors import UsageError
from spec.language.part import Part
from spec.language.specification import Specification

HOME = Path(spec.__file__).resolve().parents[1]
"""The directory from which our own packages are imported."""

PACKAGES = ("election", "statemachines", "spec")
"""Our packages; every process has them, or is sent them."""

_INSTALLED = tuple(
    Path(path).resolve() for name, path in sysconfig.get_paths().items() if name.endswith(("lib", "stdlib"))
)
_LIBRARY_PACKAGES = ("spec.language", "spec.checking", "spec.cli")


def modules_of(specification: Specification, more: Iterable[str] = ()) -> list[ModuleType]:
    """The modules that a specification is written in, sorted by name, and of its author's those named in addition.

    Only imports at the top of a module count; imports inside functions are not seen.
    """
    waiting = [sys.modules[cls.__module__] for cls in classes_of(specification)]
    own = {module.__name__.partition(".")[0] for module in waiting} | set(PACKAGES)
    found: dict[str, ModuleType] = {}
    waiting += [sys.modules[name] for name in more if name in sys.modules]
    while waiting:
        module = waiting.pop()
        name = module.__name__
        if name in found or name.startswith(_LIBRARY_PACKAGES):
            continue
        if name.partition(".")[0] in own or not _is_installed(module):
            found[name] = module
            waiting += _imported(module)
    return [found[name] for name in sorted(found)]


def is_user_code(module: str, own: Collection[str]) -> bool:
    """Whether the author of a specification answers for a module, where `own` are the packages of its classes."""
    root = module.partition(".")[0]
    if not module or module.startswith(_LIBRARY_PACKAGES):
        return False
    return root in own or root in PACKAGES or (module in sys.modules and not _is_installed(sys.modules[module]))


def classes_of(part: Part[Any]) -> list[type]:
    """The classes of a specification and of its parts, without Python's own."""
    own = [cls for cls in type(part).__mro__ if cls not in (object, Generic)]
    return list(dict.fromkeys(chain(own, *map(classes_of, part.parts.values()))))


def digests(specification: Specification, more: Iterable[str] = ()) -> dict[str, str]:
    """The SHA-256 of each module of a specification, and of modules that it imports inside functions, by the module's
    name; a person's file goes under its file name. UsageError if the source of one of its classes cannot be read.
    """
    found: dict[str, list[str]] = {}
    for module in modules_of(specification, more):
        file = _file(module)
        if file is not None and file.is_file():
            found.setdefault(name_of(module), []).append(hashlib.sha256(file.read_bytes()).hexdigest())
        elif module.__name__ in {cls.__module__ for cls in classes_of(specification)}:
            raise UsageError(
                f"{specification.name} is written in {module.__name__}, which has no file: a run directory "
                "could not tell whether it changed"
            )
    return {name: " ".join(sorted(digests)) for name, digests in sorted(found.items())}


def name_of(module: ModuleType) -> str:
    """The name to report for a module: its own, or for a person's script the file's."""
    file = _file(module)
    return module.__name__ if file is None or _found_by_name(module) else file.name


def pickled(specification: Specification, asked: object = None) -> bytes:
    """A specification, and the request to it, as bytes for another process; modules it would not find go along.

    A class that goes along arrives with its names sorted. But the order of declaration has a meaning: it numbers
    actions and lays out states. So that order goes along too.
    """
    import pyspark.cloudpickle

    cloudpickle: Any = pyspark.cloudpickle  # it has no types
    along = [module for module in modules_of(specification) if not _found_by_name(module) or _is_here_only(module)]
    apart = {"__main__", *(module.__name__ for module in along)}
    # Evaluated here, where names in annotations are known; after that they are types.
    _ = specification.variables, next(specification.initials, None)
    _ = specification.actions, specification.properties
    declared = [(cls, list(vars(cls))) for cls in classes_of(specification) if cls.__module__ in apart]
    of_values = {
        module.__name__: dict(_classes_of_values(vars(module), module.__name__))
        for module in modules_of(specification)
        if module.__name__ in apart
    }
    for module in along:
        cloudpickle.register_pickle_by_value(module)
    try:
        content: bytes = cloudpickle.dumps((specification, asked, declared, of_values))
        return content
    finally:
        for module in along:
            cloudpickle.unregister_pickle_by_value(module)


def _classes_of_values(
    names: Mapping[str, Any], module: str, within: str = ""
) -> Iterator[tuple[str, type[tuple[Any, ...] | Enum]]]:
    """The records and enumerations that a module defines, or a class in it, by their names."""
    for name, each in names.items():
        if isinstance(each, type) and (each.__module__, each.__qualname__) == (module, within + name):
            if issubclass(each, tuple | Enum):
                yield each.__qualname__, each
            else:
                yield from _classes_of_values(vars(each), module, f"{within}{name}.")


_SENT: Final[dict[str, Mapping[str, type]]] = {}
"""By module and name, the classes that another process has sent. A module of that name may be here, too, with classes
of its own.
"""


def class_named(module: str, name: str) -> Any:
    """The class of this name, which is loaded already.

    Raises:
        LookupError: there is none.
    """
    if module in _SENT:
        return _SENT[module][name]
    found: Any = sys.modules[module]
    for each in name.split("."):
        found = vars(found)[each]
    return found


def unpickled(content: bytes) -> tuple[Specification, Any]:
    """The pickled specification, and the request to it."""
    specification: Specification
    specification, asked, declared, of_values = pickle.loads(content)
    _SENT.update(of_values)
    for cls, names in declared:
        for name in names:
            if name in vars(cls) and not name.startswith("__"):
                value = vars(cls)[name]
                delattr(cls, name)
                setattr(cls, name, value)
    return specification, asked


def _imported(module: ModuleType) -> Iterator[ModuleType]:
    for value in vars(module).values():
        if isinstance(value, ModuleType):
            yield value
        elif (name := getattr(value, "__module__", None)) and isinstance(name, str) and name in sys.modules:
            yield sys.modules[name]
    if not is_own_package(module.__name__):  # an integer does not say from which module it was imported
        yield from (sys.modules[name] for name in _names_imported(module) if name in sys.modules)


def _names_imported(module: ModuleType) -> Iterator[str]:
    """The modules named by the top-level import statements of a module, and names that may be submodules."""
    file, package = _file(module), getattr(module, "__package__", None)
    try:
        waiting: list[ast.AST] = [] if file is None else [ast.parse(file.read_bytes())]
    except (OSError, SyntaxError, ValueError):
        return
    while waiting:
        match waiting.pop():
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=name, names=names, level=level) if not level or package:
                whole = resolve_name("." * level + (name or ""), package)
                yield from (whole, *(f"{whole}.{each.name}" for each in names))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ImportFrom():
                pass
            case other:
                waiting += ast.iter_child_nodes(other)


def _file(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if file else None


def _is_installed(module: ModuleType) -> bool:
    """Whether a module came with Python or from an installer; one without a file did."""
    file = getattr(module, "__file__", None)
    return not file or is_installed_file(file)


@cache
def is_installed_file(file: str) -> bool:
    """Whether a file came with Python or from an installer."""
    path = Path(file).resolve()
    return any(path.is_relative_to(home) for home in _INSTALLED)


def _is_here_only(module: ModuleType) -> bool:
    """Whether a module lies beside our packages: only this process finds it, not one that was sent our packages."""
    return module.__name__ != "__main__" and not _is_installed(module) and not is_own_package(module.__name__)


def is_own_package(module: str) -> bool:
    """Whether the module of this name is in one of our packages."""
    return module.partition(".")[0] in PACKAGES


def is_ours(specification: Specification) -> bool:
    """Whether a specification is written in our packages alone.

    A test inspects the code of these, so a check need not.
    """
    return all(is_own_package(cls.__module__) for cls in classes_of(specification))


def _found_by_name(module: ModuleType) -> bool:
    """Whether a process with our packages and the installed ones finds a module by its name."""
    if module.__name__ == "__main__":
        return True  # no process finds it by name, but pickle sends it along anyway
    file = _file(module)
    if file is None or _is_installed(module):
        return file is not None
    place = HOME.joinpath(*module.__name__.split("."))
    return file in (place.with_name(place.name + ".py"), place / "__init__.py")
