"""Pinned instances, those of `instances.toml`: systems under given constants, and the figures they must have."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from spec.checking import Engine, Result, check
from spec.language.specification import Specification
from spec.loading import system_named, under


@dataclass(frozen=True)
class PinnedInstance:
    """One entry of the file: a named instance and its pinned figures."""

    name: str
    system: str
    size: str
    verdict: str
    distinct_states: int
    generated_states: int
    depth: int
    constants: Mapping[str, Any] = field(default_factory=dict)
    release: str | None = None
    keep_going: bool = False
    properties: tuple[str, ...] = ()
    orbits: int | None = None
    """Distinct states under symmetry; None: its brokers cannot be exchanged."""
    broken: Mapping[str, int] = field(default_factory=dict)

    def specification(self) -> Specification:
        """The system under its constants."""
        return under(system_named(self.system), self.release, self.constants)

    def check(self, engine: Engine | str = "reference", *, symmetry: bool = False) -> Result:
        """Explore it as its figures were found; with symmetry, one state of each orbit."""
        return check(
            self.specification(),
            engine=engine,
            keep_going=self.keep_going,
            properties=self.properties,
            symmetry=symmetry,
        )

    def figures(self) -> dict[str, Any]:
        """The figures that are claimed."""
        return {
            "verdict": self.verdict,
            "distinct_states": self.distinct_states,
            "generated_states": self.generated_states,
            "depth": self.depth,
            "broken": dict(self.broken),
        }


def figures_of(result: Result) -> dict[str, Any]:
    """The figures of a result, in the form of `PinnedInstance.figures`."""
    return {
        "verdict": result.verdict,
        "distinct_states": result.distinct_states,
        "generated_states": result.generated_states,
        "depth": result.depth,
        "broken": {each.name: each.length for each in result.properties if each.verdict == "violated"},
    }


def instances() -> tuple[PinnedInstance, ...]:
    """Every pinned instance, in the order of the file."""
    text = files("spec").joinpath("instances.toml").read_text(encoding="utf-8")
    entries = tomllib.loads(text)["instance"]
    return tuple(PinnedInstance(**{**entry, "properties": tuple(entry.get("properties", ()))}) for entry in entries)
