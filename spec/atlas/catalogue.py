"""What there is to check: systems with their constants, switches, properties and releases, and anomalies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from spec.atlas.anomalies import Anomaly, anomalies
from spec.atlas.instances import PinnedInstance, instances
from spec.atlas.loading import specification, system_named, under
from spec.by_release import distinct
from spec.checking.traces.trace import Line
from spec.checking.values.text import jsonable, show
from spec.language.errors import escaped
from spec.language.identity import is_same_value
from spec.language.rules import Property
from spec.language.specification import Specification, title_of
from spec.language.words import Constant
from spec.systems import SYSTEMS


def overview() -> Iterator[Line]:
    """Our systems, one on a line: name, number of anomalies, states of the smallest check, and its sentence."""
    rows = [("system", "anomalies", "smallest check", "what it is about")]
    for name in SYSTEMS:
        smallest = _smallest_check(name)
        states = f"{smallest.distinct_states:,} states" if smallest else ""
        rows.append((name, str(len(_anomalies_of(name))), states, _sentence(system_named(name))))
    names, counts, sizes = (max(len(row[column]) for row in rows) for column in range(3))
    for name, count, size, sentence in rows:
        yield Line(f"{name:{names}}  {count:>{counts}}  {size:>{sizes}}  ", sentence)
    yield Line()
    yield Line(words="kafkaspec list SYSTEM    its constants, properties, switches and releases")
    yield Line(words="kafkaspec check SYSTEM   explore it; or a specification of your own, path/to/file.py:Class")
    yield Line(words="kafkaspec anomalies      what went wrong in Kafka, and the switch that prevents each")


def describe(system: type[Specification]) -> Iterator[Line]:
    """One system: the command for its smallest check, its constants, properties, switches and releases."""
    yield Line(words=system.name)
    yield Line("  ", _sentence(system))
    if smallest := _smallest_check(system.name):
        settings = "".join(f" --set {name}={show(value)}" for name, value in smallest.constants.items())
        yield Line(
            "  smallest check: ", f"kafkaspec check {system.name}{settings} ({smallest.distinct_states:,} states)"
        )
    if known := _anomalies_of(system.name):
        yield Line("  anomalies: ", f"{', '.join(row.id for row in known)} (kafkaspec anomalies ID)")
    hidden = [(row.id, more) for row in known if (more := _beyond_defaults(system, row))]
    if hidden:
        needs = [
            f"{name} needs {', '.join(f'{constant}={show(value)}' for constant, value in more.items())}"
            for name, more in hidden
        ]
        yield Line("  anomalies that the defaults hide: ", "; ".join(needs))
    declared = [
        ("" if variant is system else f" of {title_of(variant)}", _own_constants(variant, system))
        for variant in system.variants()
    ]
    for belonging, constants in declared:
        yield from _constants(f"constants{belonging}", constants, switches=False)
    yield from _section("properties", _properties(system))
    for belonging, constants in declared:
        yield from _constants(f"switches{belonging}", constants, switches=True)
    yield from _section("releases, each by what differs from the one before", _releases(system.releases))


def _smallest_check(system: str) -> PinnedInstance | None:
    """The instance with the fewest states among those that `kafkaspec check` finds to hold by `--set` alone."""
    plain = [
        each
        for each in instances()
        if (each.system, each.verdict, each.release, each.properties) == (system, "holds", None, ())
    ]
    return min(plain, key=lambda each: each.distinct_states, default=None)


def _anomalies_of(system: str) -> list[Anomaly]:
    return [row for row in anomalies() if row.system == system]


def _beyond_defaults(system: type[Specification], row: Anomaly) -> dict[str, Any]:
    """The constants of an anomaly that permit more than the defaults: higher bounds, and faults that are off."""
    known = system.variant_for(**row.constants).constants()
    return {
        name: value
        for name, value in row.constants.items()
        if not known[name].switch and isinstance(value, int) and value > known[name].default
    }


def _sentence(system: type[Specification]) -> str:
    """The first sentence of a system; empty if it has none."""
    return (system.__doc__ or "").strip().partition("\n")[0]


def described(system: type[Specification]) -> dict[str, Any]:
    """One system as a JSON object: its constants, properties and releases, its actions, views and pictures."""
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
        "properties_off": [
            {"name": each.name, "kind": each.kind, "sentence": each.doc, "on_with": {name: jsonable(value)}}
            for each, name, value in _properties_that_are_off(system)
        ],
        "views": [{"name": each.name, "sentence": each.doc} for each in example.views],
        "pictures": [{"name": each.name, "sentence": each.doc} for each in example.pictures],
        "releases": {release: jsonable(system.releases[release]) for release in distinct(system.releases)},
    }


def _own_constants(variant: type[Specification], system: type[Specification]) -> dict[str, Constant]:
    """The constants that a variant adds to those of the variants it extends."""
    inherited: dict[str, Constant] = {}
    others = system.variants()
    for base in reversed(variant.__mro__[1:]):
        inherited |= base.constants() if base in others else {}
    return {name: each for name, each in variant.constants().items() if inherited.get(name) != each}


def _properties_that_are_off(system: type[Specification]) -> Iterator[tuple[Property, str, Any]]:
    """Properties that one changed constant adds to a system, with the constant and its value.

    Each is named once. A property that needs two changed constants is not found.
    """
    example = specification(system)
    known = {each.name for each in example.properties}
    for name, constant in example.constants().items():
        for value in _other_values(constant, example.valuation[name]):
            try:
                found = under(system, constants={name: value}).properties
            except (Exception, SystemExit):  # the constants may be impossible together
                continue
            for each in found:
                if each.name not in known:
                    known.add(each.name)
                    yield each, name, value


def _other_values(constant: Constant, value: Any) -> list[Any]:
    """Values close to one: the other truth, the other forms, the next integer."""
    if constant.type is bool:
        return [not value]
    if constant.type is int and constant.allowed_values is None:
        return [value + 1]
    return [each for each in constant.forms or () if not is_same_value(each, value)]


Row = tuple[str, str]
"""A name and its description."""


def _section(title: str, rows: Iterable[Row]) -> Iterator[Line]:
    """Rows below a title, the names in a column; nothing if there are none."""
    rows = tuple(rows)
    if not rows:
        return
    yield Line()
    yield Line("  ", title)
    width = max(len(escaped(name)) for name, _ in rows)
    for name, words in rows:
        yield Line(f"    {escaped(name):{width}}  ", words)


def _constants(title: str, constants: Mapping[str, Constant], *, switches: bool) -> Iterator[Line]:
    chosen = {name: each for name, each in constants.items() if each.switch is switches}
    yield from _section(
        title,
        (
            (f"{name} = {show(each.default)}", f"[{each.allowed}] {each.doc}" if each.allowed_values else each.doc)
            for name, each in chosen.items()
        ),
    )


def _properties(system: type[Specification]) -> Iterator[Row]:
    """The properties of a system, then those that are off."""
    for each in specification(system).properties:
        yield each.name, f"[witness] {each.doc}" if each.kind == "sometimes" else each.doc
    for each, name, value in _properties_that_are_off(system):
        witness = "witness, " if each.kind == "sometimes" else ""
        yield each.name, f"[{witness}off: --set {name}={show(value)}] {each.doc}"


def by_valuation(releases: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Consecutive releases with the same switches: their range, as text, and these switches."""
    for valuation, same in groupby(distinct(releases), key=releases.__getitem__):
        names = [*same]
        yield names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}", valuation


def _releases(releases: Mapping[str, Mapping[str, Any]]) -> Iterator[Row]:
    """Ranges of releases, each with the switches that differ from the range before."""
    before: Mapping[str, Any] = {}
    for span, valuation in by_valuation(releases):
        changed = {name: value for name, value in valuation.items() if name not in before or before[name] != value}
        yield span, ", ".join(f"{name} = {show(value)}" for name, value in changed.items())
        before = valuation


def atlas(rows: Iterable[Anomaly]) -> str:
    """Anomalies, one below the other: the effect, and the switch that decides."""
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
