"""Pinned instances: systems under given constants, with their expected figures. Ours are in `instances.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from spec.atlas.loading import system_named, under
from spec.checking import Engine, Result, check
from spec.language.errors import UsageError
from spec.language.specification import Specification


@dataclass(frozen=True)
class PinnedInstance:
    """One entry of the file: a named instance and its pinned figures."""

    name: str
    system: str
    verdict: str
    distinct_states: int
    generated_states: int
    depth: int
    size: str = "small"
    constants: Mapping[str, Any] = field(default_factory=dict)
    release: str | None = None
    keep_going: bool = False
    properties: tuple[str, ...] = ()
    orbits: int | None = None
    """Distinct states under symmetry; None if its brokers are not interchangeable."""
    broken: Mapping[str, int] = field(default_factory=dict)
    interned: Mapping[str, int] = field(default_factory=dict)
    """By variable, how many values of an `interned` one occur."""

    def specification(self) -> Specification:
        """The system under its constants."""
        return under(system_named(self.system), self.release, self.constants)

    def check(
        self, engine: Engine | str = "reference", *, symmetry: bool = False, of: Specification | None = None
    ) -> Result:
        """Explore it under the conditions of its figures; with symmetry, one state of each orbit. `of` is the system
        under its constants, if it is not found by its name.
        """
        return check(
            of or self.specification(),
            engine=engine,
            keep_going=self.keep_going,
            properties=self.properties,
            symmetry=symmetry,
        )

    def figures(self) -> dict[str, Any]:
        """The expected figures."""
        return {
            "verdict": self.verdict,
            "distinct_states": self.distinct_states,
            "generated_states": self.generated_states,
            "depth": self.depth,
            "broken": dict(self.broken),
            "interned": dict(self.interned),
        }


def figures_of(result: Result) -> dict[str, Any]:
    """The figures of a result, in the form of `PinnedInstance.figures`."""
    return {
        "verdict": result.verdict,
        "distinct_states": result.distinct_states,
        "generated_states": result.generated_states,
        "depth": result.depth,
        "broken": {each.name: each.length for each in result.properties if each.verdict == "violated"},
        "interned": dict(result.interned),
    }


@cache
def instances() -> tuple[PinnedInstance, ...]:
    """Every pinned instance of ours, in the order of the file."""
    return _instances(files("spec.atlas").joinpath("instances.toml").read_text(encoding="utf-8"))


def instances_in(path: Path) -> tuple[PinnedInstance, ...]:
    """The instances that a file pins, in its order; UsageError if it cannot be read, is not TOML, or has an instance
    with missing or unknown fields.
    """
    try:
        return _instances(path.read_text(encoding="utf-8"))
    except OSError as failure:
        raise UsageError(f"{path} cannot be read: {failure.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as failure:
        raise UsageError(f"{path} is not TOML: {failure}") from None
    except UsageError as wrong:
        raise UsageError(f"{path}: {wrong}") from None


def _instances(text: str) -> tuple[PinnedInstance, ...]:
    entries = tomllib.loads(text).get("instance", [])
    if not isinstance(entries, list):
        raise UsageError("write [[instance]], with two brackets, above each")
    return tuple(_instance(entry, number) for number, entry in enumerate(entries, start=1))


def _instance(entry: Mapping[str, Any], number: int) -> PinnedInstance:
    which = f"instance {entry.get('name', number)}"
    known = {each.name for each in fields(PinnedInstance)}
    needed = [each.name for each in fields(PinnedInstance) if each.default is each.default_factory is MISSING]
    for name in entry:
        if name not in known:
            raise UsageError(f"{which}: {name} is unknown; there are {', '.join(sorted(known))}")
    for name in needed:
        if name not in entry:
            raise UsageError(f"{which}: {name} is missing")
    return PinnedInstance(**{**entry, "properties": tuple(entry.get("properties", ()))})
