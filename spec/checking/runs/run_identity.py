"""The identity of a run: everything its verdict depends on, such as code, constants, and values that code looks up.

A run directory keeps it, and a run is resumed only if nothing in it changed. It is the same in every process.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cached_property, partial
from inspect import getattr_static, isdatadescriptor, isroutine
from types import MethodType, ModuleType
from typing import Any
from warnings import warn

from spec.checking.code.reachable import A_DEFAULT, Named
from spec.checking.code.source import classes_of, digests, is_ours, is_own_package, name_of
from spec.checking.exploration import Options
from spec.checking.model import Model
from spec.checking.runs.rundir import Identity
from spec.checking.values.fingerprint import Fingerprints, NoFingerprint, fingerprint
from spec.language.errors import EnvironmentWarning
from spec.language.rules import Action, Property
from spec.language.words import Declaration


def identity_of(model: Model, options: Options) -> Identity:
    """The identity of a run, part by part. Values that cannot be fingerprinted are listed in a one-line warning."""
    specification = model.specification
    looked_at = set(options.properties)
    unknown: list[str] = []
    identity = {
        "system": {"name": specification.name},
        "constants": _written(specification.values_of(switches=False).items(), unknown),
        "switches": _written(specification.values_of(switches=True).items(), unknown),
        "source": digests(specification, model.hidden_state.modules),
        "values": _written(_looked_up(model), unknown),
        "domains": {cell.name: fingerprint(cell.domain.size) for cell in model.layout.cells},
        "ranges": _written(_ranges(model), unknown),
        "properties": {
            each.name: "looked at" if number in looked_at else "not looked at"
            for number, each in enumerate(model.properties)
        },
        "states": {"of each orbit": "one, compared" if options.symmetry else "all"},
    }
    if unknown:
        listed = "; ".join(dict.fromkeys(unknown))
        warn(f"a resumed run would not notice if this changed: {listed}", EnvironmentWarning, stacklevel=1)
    return identity


def _written(values: Iterable[tuple[str, Any]], unknown: list[str]) -> dict[str, str]:
    """The fingerprints of values by name. Several values may share a name."""
    found: dict[str, dict[str, None]] = {}
    fingerprints = Fingerprints()
    for name, value in values:
        try:
            found.setdefault(name, {})[fingerprints.of(value)] = None
        except NoFingerprint as part:
            unknown.append(f"{name} ({part})")
    return {name: " and ".join(sorted(texts)) for name, texts in found.items()}


def _ranges(model: Model) -> Iterator[tuple[str, Any]]:
    """The ranges of variables, and of the parameters of actions and properties.

    For a specification that is all ours, the source covers them.
    """
    if is_ours(model.specification):
        return
    for cell in model.layout.cells:
        yield cell.name, cell.domain
    for action in model.actions:
        family = [each.run.keywords for each in action.instances[:1] if isinstance(each.run, partial)]
        if action.domains or family:
            yield action.name, (action.domains, family)
    for judged in model.properties:
        if judged.domains:
            yield judged.name, judged.domains


def _looked_up(model: Model) -> Iterator[tuple[str, Any]]:
    """The values that the author's code looks up, without code and without constants.

    For our own packages, the source covers them.
    """
    reachable, specification = model.hidden_state.reachable, model.specification
    marked: list[Action | Property] = [*specification.actions, *specification.properties]
    runs = [*specification.initial_methods, *(each.run for one in marked for each in one.instances[:1])]
    own = [cls for cls in classes_of(specification) if cls.__module__ in reachable.modules]
    methods = [each for cls in own for each in vars(cls).values()]
    for named in reachable.reached(*runs, *methods).named:
        by: Any = named.by  # a function; mypy takes it for a method
        within = by.__globals__.get("__name__", "")
        if within not in reachable.modules or is_own_package(within) or _is_code(named):
            continue
        inner = named.name == A_DEFAULT or named.name in by.__code__.co_freevars
        place = f" of {by.__qualname__}" if inner else ""
        module = sys.modules[named.of.__module__ if isinstance(named.of, type) else within]
        yield f"{named.name}{place} in {name_of(module)}", named.value


def _is_code(named: Named) -> bool:
    """Whether it is code, a computed attribute, or a constant or another declaration of the language."""
    value, attribute = named.value, named.name.rpartition(".")[2]
    if isinstance(named.of, type):
        there = getattr_static(named.of, attribute, None)
        if isinstance(there, cached_property | Declaration):
            return True
    if isinstance(value, MethodType):  # bound to an object, which holds values
        return isinstance(value.__self__, type | ModuleType)
    return (
        isroutine(value)
        or isdatadescriptor(value)
        or (isinstance(value, type) and not issubclass(value, Enum) and not getattr(value, "_field_defaults", None))
        or isinstance(value, Declaration)
    )
