"""What there is to check, as text: systems, constants, switches, properties, actions and releases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from spec.language.specification import Specification
from spec.language.words import Constant
from spec.loading import specification, system_named
from spec.report import show
from spec.systems import SYSTEMS


def catalogue() -> str:
    """Every system, one after the other."""
    return "\n\n".join("\n".join(describe(system_named(name))) for name in SYSTEMS)


def describe(system: type[Specification]) -> Iterator[str]:
    """One system."""
    example = specification(system)
    yield system.name
    yield f"  {(system.__doc__ or '').strip().splitlines()[0]}"
    known = system.constants()
    yield from _constants("constants", {name: each for name, each in known.items() if not each.switch})
    yield from _constants("switches", {name: each for name, each in known.items() if each.switch})
    yield "  properties"
    for judged in example.properties:
        yield f"    {judged.name}{' [witness]' if judged.kind == 'sometimes' else ''}"
        yield f"      {judged.doc}"
    if system.releases:
        yield "  releases"
        yield from _releases(system.releases)


def _constants(title: str, constants: Mapping[str, Constant]) -> Iterator[str]:
    if constants:
        yield f"  {title}"
    for name, each in constants.items():
        forms = f" [{each.allowed}]" if each.among else ""
        yield f"    {name} = {show(each.default)}{forms}"
        yield f"      {each.doc}"


def _releases(releases: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Releases in a row that have the same switches, on one line."""
    runs: list[tuple[list[str], Mapping[str, Any]]] = []
    for release, valuation in releases.items():
        if runs and runs[-1][1] == valuation:
            runs[-1][0].append(release)
        else:
            runs.append(([release], valuation))
    for names, valuation in runs:
        span = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        yield f"    {span:14} {', '.join(f'{name} = {show(value)}' for name, value in valuation.items())}"
