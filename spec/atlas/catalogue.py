"""What there is to check: systems with their constants, switches, properties and releases, and anomalies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from spec.atlas.anomalies import Anomaly
from spec.atlas.loading import specification, system_named
from spec.by_release import distinct
from spec.checking.values.text import jsonable, show
from spec.language.escapes import escaped
from spec.language.specification import Specification, title_of
from spec.language.words import Constant
from spec.systems import SYSTEMS


def catalogue(names: Iterable[str] = SYSTEMS) -> str:
    """Systems, one after the other: all of ours, or those with these names."""
    return "\n\n".join("\n".join(map(escaped, describe(system_named(name)))) for name in names)


def describe(system: type[Specification]) -> Iterator[str]:
    """One system."""
    example = specification(system)
    yield system.name
    yield f"  {_sentence(system)}"
    for variant in system.variants():
        own = _own_constants(variant, system)
        belonging = "" if variant is system else f" of {title_of(variant)}"
        for title, switch in (("constants", False), ("switches", True)):
            chosen = {name: each for name, each in own.items() if each.switch is switch}
            yield from _constants(f"{title}{belonging}", chosen)
    yield "  properties"
    for judged in example.properties:
        yield f"    {judged.name}{' [witness]' if judged.kind == 'sometimes' else ''}"
        yield f"      {judged.doc}"
    if system.releases:
        yield "  releases"
        yield from _releases(system.releases)


def _sentence(system: type[Specification]) -> str:
    """What a system is about; empty if it does not say."""
    return (system.__doc__ or "").strip().partition("\n")[0]


def described(system: type[Specification]) -> dict[str, Any]:
    """One system as a JSON object: all that `describe` says of it, and its actions, views and pictures."""
    example = specification(system)
    declared = [
        (name, each, "" if variant is system else title_of(variant))
        for variant in system.variants()
        for name, each in _own_constants(variant, system).items()
    ]
    return {
        "name": system.name,
        "sentence": _sentence(system),
        "leaves_out": example.leaves_out,
        "constants": [
            {
                "name": name,
                "switch": each.switch,
                "default": jsonable(each.default),
                "allowed": each.allowed,
                "at_least": each.at_least,
                "at_most": each.at_most,
                "sentence": each.doc,
                "of": variant,
            }
            for name, each, variant in declared
        ],
        "actions": [
            {
                "name": each.name,
                "sentence": each.doc,
                "parameters": {name: str(domain) for name, domain in each.domains.items()},
            }
            for each in example.actions
        ],
        "properties": [{"name": each.name, "kind": each.kind, "sentence": each.doc} for each in example.properties],
        "views": [{"name": each.name, "sentence": each.doc} for each in example.views],
        "pictures": [{"name": each.name, "sentence": each.doc} for each in example.pictures],
        "releases": {release: jsonable(system.releases[release]) for release in distinct(system.releases)},
    }


def _own_constants(variant: type[Specification], system: type[Specification]) -> dict[str, Constant]:
    """Those that a variant of a system does not have from another that it varies."""
    inherited: dict[str, Constant] = {}
    others = system.variants()
    for base in reversed(variant.__mro__[1:]):
        inherited |= base.constants() if base in others else {}
    return {name: each for name, each in variant.constants().items() if inherited.get(name) != each}


def _constants(title: str, constants: Mapping[str, Constant]) -> Iterator[str]:
    if constants:
        yield f"  {title}"
    for name, each in constants.items():
        forms = f" [{each.allowed}]" if each.allowed_values else ""
        yield f"    {name} = {show(each.default)}{forms}"
        yield f"      {each.doc}"


def _releases(releases: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Releases in a row that have the same switches, on one line."""
    runs: list[tuple[list[str], Mapping[str, Any]]] = []
    for release in distinct(releases):
        valuation = releases[release]
        if runs and runs[-1][1] == valuation:
            runs[-1][0].append(release)
        else:
            runs.append(([release], valuation))
    spans = [names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}" for names, _ in runs]
    width = max(map(len, spans))
    for span, (_, valuation) in zip(spans, runs, strict=True):
        yield f"    {span:{width}}  {', '.join(f'{name} = {show(value)}' for name, value in valuation.items())}"


def atlas(rows: Iterable[Anomaly]) -> str:
    """Anomalies, one below the other: what happens, and what makes the difference."""
    rows = tuple(rows)
    names = max((len(row.id) for row in rows), default=0)
    tickets = max((len(row.ticket) for row in rows), default=0)
    return "\n\n".join("\n".join(_anomaly(row, names, tickets)) for row in rows) or "none is recorded"


def _anomaly(row: Anomaly, names: int, tickets: int) -> Iterator[str]:
    yield f"{row.id:{names}}  {row.ticket:{tickets}}  {row.releases()}"
    yield f"  {row.sentence}"
    fix = "the proposed fix, " if row.fixed_in is None else ""
    yield f"  {row.system}: {row.property} breaks with {row.setting('off')}, holds with {fix}{row.setting('on')}"
    if row.seen_on_controllers:
        yield f"  seen on the real KafkaController of {', '.join(row.seen_on_controllers)}"
    if row.seen_on_brokers:
        yield f"  seen on real brokers of {', '.join(row.seen_on_brokers)}"
