"""Every pinned instance has the figures that are claimed, on every engine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from spec.checking import Result
from spec.checking.local import LocalEngine
from spec.checking.spark import SparkEngine
from spec.checking.spark.session import require_java, start
from spec.instances import Instance, figures_of, instances
from spec.language import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZES = {"small": (), "medium": (pytest.mark.long,), "large": (pytest.mark.long,), "huge": (pytest.mark.long,)}
ALL = [pytest.param(each, id=each.name, marks=SIZES[each.size]) for each in instances()]
EVERY = [pytest.param(each, id=each.name, marks=SIZES[each.size]) for each in instances() if each.size != "huge"]
"""But those that only the local engine can explore."""
AT_SPEED = [
    pytest.param(each, id=each.name, marks=SIZES["huge"] if each.size == "huge" else ()) for each in instances()
]
"""The large ones too: what is minutes elsewhere is seconds at compiled speed."""

SOME = {
    "controller-election, 1.1",
    "replication, kip-320, 2-2-2-2",
    "replication, truncate-to-high-watermark with a history, 2-2-2-2",
}
SAMPLED = [
    each if each.id in SOME else pytest.param(*each.values, id=each.id, marks=pytest.mark.long) for each in EVERY
]
"""Those that every run of the tests asks engines about that need seconds for each; `make long` asks about all."""


@cache
def by_reference(name: str) -> Result:
    """What the reference engine finds; both tests of an instance look at it."""
    return next(each for each in instances() if each.name == name).check("reference")


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("instance", AT_SPEED)
def test_the_local_engine_finds_what_is_claimed(instance: Instance, workers: int) -> None:
    """However many workers there are."""
    assert figures_of(instance.check(LocalEngine(workers))) == instance.figures()


@pytest.mark.parametrize("instance", EVERY)
def test_the_local_engine_tells_the_same_story(instance: Instance) -> None:
    """The counterexample is the reference engine's, step by step."""
    assert instance.check(LocalEngine()).counterexample == by_reference(instance.name).counterexample


def under_symmetry(result: Result) -> dict[str, Any]:
    """What is claimed of a run that goes through orbits: the successors of representatives are not pinned."""
    return {name: figure for name, figure in figures_of(result).items() if name != "generated_states"}


def claimed_under_symmetry(instance: Instance) -> dict[str, Any]:
    """The same as of the full run, but for how many states are distinct."""
    figures = {name: figure for name, figure in instance.figures().items() if name != "generated_states"}
    return {**figures, "distinct_states": instance.orbits}


@pytest.mark.parametrize("instance", [pytest.param(each, id=each.name) for each in instances()])
def test_nearly_every_orbit_has_as_many_states_as_it_may(instance: Instance) -> None:
    """No orbit has more states than there are permutations; those with fewer are rare."""
    assert instance.orbits is not None
    permutations = {1: 1, 2: 2, 3: 6}[instance.specification().valuation["brokers"]]
    assert instance.distinct_states / permutations <= instance.orbits < instance.distinct_states / permutations * 1.1


@pytest.mark.parametrize("instance", ALL)
def test_orbits_have_the_verdict_of_the_full_run(instance: Instance) -> None:
    """And its depth and lengths; how many there are is pinned apart."""
    assert under_symmetry(instance.check(LocalEngine(), symmetry=True)) == claimed_under_symmetry(instance)


@pytest.mark.parametrize("instance", SAMPLED)
def test_the_reference_engine_finds_the_same_orbits(instance: Instance) -> None:
    """And the same way through them."""
    result = instance.check("reference", symmetry=True)
    assert under_symmetry(result) == claimed_under_symmetry(instance)
    assert instance.check(LocalEngine(), symmetry=True).counterexample == result.counterexample


@pytest.mark.parametrize("instance", EVERY)
def test_the_reference_engine_finds_what_is_claimed(instance: Instance) -> None:
    """Verdict, distinct and generated states, depth, and the length of each shortest counterexample."""
    assert figures_of(by_reference(instance.name)) == instance.figures()


def test_names_are_unique() -> None:
    """A name means one instance."""
    names = [each.name for each in instances()]
    assert sorted(set(names)) == sorted(names)


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    """A Spark session for all instances."""
    try:
        require_java()
    except UsageError as missing:
        pytest.skip(str(missing))
    session = start(2, Path(os.devnull))
    yield session
    session.stop()


@pytest.mark.spark
@pytest.mark.parametrize("instance", SAMPLED)
def test_spark_finds_what_is_claimed(instance: Instance, session: SparkSession) -> None:
    """The same figures, and the same counterexample step by step; levels of more than 400 states are jobs."""
    result = instance.check(SparkEngine(session=session, driver_level=400))
    assert figures_of(result) == instance.figures()
    assert result.counterexample == by_reference(instance.name).counterexample


@pytest.mark.spark
@pytest.mark.parametrize("instance", SAMPLED)
def test_spark_finds_the_same_orbits(instance: Instance, session: SparkSession) -> None:
    """And the same way through them."""
    result = instance.check(SparkEngine(session=session, driver_level=400), symmetry=True)
    assert under_symmetry(result) == claimed_under_symmetry(instance)
    assert result.counterexample == instance.check(LocalEngine(), symmetry=True).counterexample
