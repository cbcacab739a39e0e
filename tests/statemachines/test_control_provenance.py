"""What each rule of a controller's design rests on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, get_origin, get_type_hints

from spec.kafka import control_plane, event_plane
from statemachines.control_design import CONTROL_DESIGNS, ControlDesign, control_design_of
from statemachines.control_provenance import PROVENANCE, Compared, Line, Provenance
from statemachines.releases import RELEASES

ROOT = Path(__file__).parents[2]
RUN = {
    Compared.StateMachines: control_plane.RELEASES,
    Compared.WholeController: event_plane.RELEASES,
    Compared.Receiver: ("3.9.1",),
}
"""The releases whose classes run beside ours."""


def rules() -> set[str]:
    """The fields of the design that turn something, and the table."""
    hints = get_type_hints(ControlDesign, include_extras=True)
    assert {name for name, hint in hints.items() if get_origin(hint) is not Annotated} == {"replica_table"}
    return set(hints) - {"replica_table"}


def changes(rule: str) -> Iterator[str]:
    """The releases that changed a rule, but for the oldest."""
    for release, changed in CONTROL_DESIGNS.items():
        if rule in changed and release != RELEASES[0]:
            yield release


def numbers(release: str) -> tuple[int, ...]:
    """A release in order, those that are older than all that are followed here, too."""
    return tuple(map(int, release.split(".")))


def test_each_rule_is_compared_or_says_that_it_is_by_source() -> None:
    """Or that it is a proposal: then no release has it."""
    assert PROVENANCE.keys() == rules()
    for rule, provenance in PROVENANCE.items():
        proposed = provenance.proposed_by is not None
        assert proposed is not bool(provenance.compared or provenance.by_source), rule
        assert not (proposed and any(getattr(control_design_of(each), rule) for each in RELEASES)), rule


def test_how_no_class_that_is_run_has_it_is_by_source() -> None:
    """What is only compared has classes of both kinds: with the rule, and without it."""
    for rule, provenance in PROVENANCE.items():
        run = {release for classes in provenance.compared for release in RUN[classes]}
        ways = {getattr(control_design_of(release), rule) for release in run}
        assert ways == {False, True} or provenance.by_source or provenance.proposed_by, rule


def test_what_classes_are_compared_by_is_there() -> None:
    """The files that run them."""
    assert all((ROOT / classes.value).exists() for classes in Compared)


def test_a_rule_by_source_has_a_line_of_before_and_one_of_since() -> None:
    """Of each release that changed it; one that changed before all releases here has two lines all the same."""
    for rule, provenance in PROVENANCE.items():
        tags = [line.tag for line in provenance.by_source]
        assert tags == sorted(tags, key=numbers), rule
        for release in changes(rule) if tags else ():
            assert any(f"{tag}.".startswith(f"{release}.") for tag in tags), (rule, release)
            assert numbers(tags[0]) < numbers(release) or len(list(changes(rule))) > 1, (rule, release)
        assert len(tags) != 1, rule


def test_a_line_can_be_looked_up() -> None:
    """It has a file of Kafka's, a method and a number."""
    for provenance in PROVENANCE.values():
        for line in provenance.by_source:
            assert re.fullmatch(r"\d+(\.\d+){2,3}", line.tag), line
            assert re.fullmatch(r"[A-Z]\w+\.(scala|java)", line.file), line
            assert re.fullmatch(r"[a-z]\w+", line.method), line
            assert line.number > 0


def test_it_says_itself_in_words() -> None:
    """By source is what it calls itself."""
    line = Line("3.5.0", "ReplicaManager.scala", "stopReplicas", 410)
    assert str(Provenance(by_source=(line,))) == "by source: stopReplicas, ReplicaManager.scala 410, 3.5.0"
    assert (
        str(Provenance((Compared.WholeController,))) == "compared with Kafka's classes by spec/kafka/event_plane.py"
    )
    assert str(Provenance(proposed_by="KAFKA-14808")) == "proposed by KAFKA-14808"
