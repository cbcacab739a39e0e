"""Finding a specification by what a person calls it, and giving it the constants that a person asked for."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from spec.language.errors import SpecificationError, UsageError
from spec.language.specification import Specification
from spec.language.words import Constant
from spec.releases import valuation
from spec.systems import SYSTEMS


def system_named(name: str) -> type[Specification]:
    """The specification that a name means: a system's, `path/to/file.py:Class` or `package.module:Class`.

    Raises:
        UsageError: there is none.
        SpecificationError: there is one, and it is not well made.
    """
    where = SYSTEMS.get(name, name)
    place, colon, cls = where.rpartition(":")
    if not colon:
        raise UsageError(
            f"no system is called {name}; there are {', '.join(SYSTEMS)}, or a specification of your own as "
            "path/to/file.py:Class or package.module:Class"
        )
    module = _module_in_file(Path(place)) if place.endswith(".py") else _module(place)
    found = getattr(module, cls, None)
    if not (isinstance(found, type) and issubclass(found, Specification)):
        raise UsageError(f"{place} has no specification {cls}; it has {', '.join(_specifications(module)) or 'none'}")
    return found


def _specifications(module: Any) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Specification) and value.__module__ == module.__name__
    ]


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        raise UsageError(f"no module {missing.name} can be imported") from None
    except SpecificationError:
        raise
    except Exception as failure:
        raise UsageError(_one_line(name, failure)) from failure


def _module_in_file(path: Path) -> Any:
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    name = path.stem
    taken = sys.modules.get(name)
    if taken is not None:
        if getattr(taken, "__file__", None) == str(path.resolve()):
            return taken
        name = f"{name}_of_{abs(hash(path.resolve())):x}"
    made = importlib.util.spec_from_file_location(name, path.resolve())
    assert made is not None
    assert made.loader is not None
    module = importlib.util.module_from_spec(made)
    sys.modules[name] = module
    try:
        made.loader.exec_module(module)
    except SpecificationError:
        del sys.modules[name]
        raise
    except Exception as failure:
        del sys.modules[name]
        raise UsageError(_one_line(str(path), failure)) from failure
    return module


def _one_line(where: str, failure: Exception) -> str:
    line = getattr(failure, "lineno", None)
    if isinstance(failure, SyntaxError):
        return f"{where}, line {line}: {failure.msg}"
    return f"{where} cannot be imported: {type(failure).__name__}: {failure}"


def specification(
    system: type[Specification],
    release: str | None = None,
    settings: Iterable[str] = (),
    switched_on: Iterable[str] = (),
    switched_off: Iterable[str] = (),
) -> Specification:
    """A system under the constants of a release, changed by `name=value` settings and by switches.

    Raises:
        UsageError: an unknown name, or a value of the wrong type.
        AssumptionViolated: constants that the specification does not admit.
    """
    known = system.constants()
    constants = dict(valuation(system.releases, release))
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(f"--set {setting}: write NAME=VALUE")
        constants[name] = value_of(name, _known(system, name, known), text)
    for option, names, value in (("--with", switched_on, True), ("--without", switched_off, False)):
        for name in names:
            constant = known.get(name)
            if constant is None or not constant.switch or constant.type is not bool:
                switches = [each for each, it in known.items() if it.switch and it.type is bool]
                hint = f"; set it with --set {name}=..." if constant is not None else ""
                raise UsageError(
                    f"{option} {name}: {system.name} has the boolean switches {', '.join(switches) or 'none'}{hint}"
                )
            constants[name] = value
    return system.of(**constants)


def _known(system: type[Specification], name: str, known: Mapping[str, Constant]) -> Constant:
    if name not in known:
        raise UsageError(f"{system.name} has no constant {name}; it has {', '.join(known) or 'none'}")
    return known[name]


def value_of(name: str, constant: Constant, text: str) -> Any:
    """The value that a person wrote for a constant.

    Raises:
        UsageError: it is not of the constant's type.
    """
    value: Any = text
    if constant.type is bool:
        value = {"true": True, "false": False}.get(text.lower(), text)
    elif constant.type is not str:
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            value = text
        if constant.type is frozenset and isinstance(value, set | list | tuple):
            value = frozenset(value)
    if not constant.admits(value):
        raise UsageError(f"{name} = {text}: it must be {constant.allowed}")
    return value
