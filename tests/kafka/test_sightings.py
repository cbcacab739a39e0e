"""Real KafkaControllers follow the path into each anomaly that the atlas records for them, and into no other.

The atlas records each sighting (`seen_on_controllers` in `anomalies.toml`); these tests repeat them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest

from spec.atlas.anomalies import Anomaly, anomalies, anomaly_named
from spec.atlas.loading import system_named, under
from spec.checking.check import silent
from spec.checking.exploration import Options
from spec.checking.local import LocalEngine
from spec.checking.model import Model, Path
from spec.kafka.harness import FAMILIES, Harness, release_run
from spec.kafka.path_follower import PathFollower
from spec.kafka.script import REPLAYED
from spec.language.errors import UsageError
from spec.systems.controller import ControllerLife
from statemachines.releases import Release
from tests.kafka import test_findings
from tests.kafka.conftest import RELEASE, running

ROWS = [row for row in anomalies() if row.system == "controller"]
SEEN = [row for row in ROWS if RELEASE in row.seen_on_controllers]
RUN = [release_run(line) for family, lines in FAMILIES.items() if family != "until-1.0" for line in lines]
UNTIL_1_0 = [release_run(line) for line in FAMILIES["until-1.0"]]
"""Anomalies whose exploration takes many minutes where the property holds."""

SMALLER_UNTIL_1_0: Final[Mapping[str, Any]] = {"brokers": 1}
"""With events in ZkEventThread two brokers have too many states; one broker suffices for these anomalies."""


def replay_of(anomaly: Anomaly, release: str) -> tuple[Model, Path] | None:
    """The shortest path that breaks an anomaly's property in a release; None if it holds, or the release has the fix.

    Args:
        anomaly: its row in the atlas. Constants that differ from the system's apply on both sides; for releases until
            1.0 there is one broker.
        release: one that can run, such as 3.9.1.

    Raises:
        UsageError: the anomaly's system does not run beside Kafka's classes.
    """
    system = system_named(anomaly.system)
    if not issubclass(system, ControllerLife):
        raise UsageError(f"{anomaly.id} is of {anomaly.system}; only controller runs beside Kafka's classes")
    smaller = SMALLER_UNTIL_1_0 if Release(release) <= Release("1.0") else {}
    specification = under(system, release, {**anomaly.constants, **smaller})
    if specification.valuation[anomaly.switch] != anomaly.specification("off").valuation[anomaly.switch]:
        return None
    model = Model(specification)
    [number] = model.numbers([anomaly.property])
    options = Options((*model.numbers(["type_ok"]), number))
    discovery = LocalEngine().explore(model, options, silent).discoveries.get(number)
    return None if discovery is None else (model, discovery.path)


def is_taken(kafka: Harness, row: Anomaly) -> bool:
    """Whether there is a path into it, and Kafka follows it to the end."""
    way = replay_of(row, kafka.release)
    if way is None:
        return False
    model, path = way
    deviation = PathFollower(model).follow(kafka, path)
    assert deviation is None, f"{row.id}, step {deviation.length}: {deviation}"
    return True


@pytest.mark.parametrize("row", SEEN, ids=[row.id for row in SEEN])
def test_sightings_of_the_newest_release(kafka: Harness, row: Anomaly) -> None:
    """Each recorded sighting is repeated."""
    assert is_taken(kafka, row)


@pytest.mark.long
@pytest.mark.parametrize("release", RUN)
def test_sightings_are_complete(release: str) -> None:
    """In each release, Kafka follows the path if the property breaks; if it holds, no sighting is recorded."""
    with running(release) as kafka:
        assert {row.id for row in ROWS if is_taken(kafka, row)} == {
            row.id for row in ROWS if release in row.seen_on_controllers
        }


@pytest.mark.long
@pytest.mark.parametrize("release", UNTIL_1_0)
def test_sightings_until_1_0(release: str) -> None:
    """Each recorded sighting is repeated."""
    seen = [row for row in ROWS if release in row.seen_on_controllers]
    assert seen
    with running(release) as kafka:
        assert all(is_taken(kafka, row) for row in seen)


def test_replayed_sightings_can_be_replayed() -> None:
    """Each anomaly seen on real brokers has a mapping to frames, or a test in which an administrator causes it."""
    seen = {row.id: tuple(row.seen_on_brokers) for row in anomalies() if row.seen_on_brokers}
    assert seen.keys() - test_findings.SEEN.keys() <= set(REPLAYED)
    assert {name: seen[name] for name in test_findings.SEEN} == test_findings.SEEN


def test_another_system() -> None:
    """It has no path on real controllers."""
    with pytest.raises(UsageError, match="B4 is of controller-election; only controller runs"):
        replay_of(anomaly_named("B4"), RELEASE)
