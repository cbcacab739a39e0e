"""Every pinned instance has the recorded figures.

Every test run explores the instances that take an instant on the local engine, and a few on the other engines.
`make long-instances` runs every engine on all instances that its speed allows; the reference engine and Spark run one
or two large ones of each system. `make long-large` runs all. `test_spark_instances` has the Spark jobs.
"""

from __future__ import annotations

import os
from collections.abc import Set
from functools import cache
from typing import Any

import pytest

from spec.atlas.instances import PinnedInstance, figures_of, instances
from spec.checking import Result
from spec.checking.exploration import Jobs
from spec.checking.local import LocalEngine
from spec.checking.model import Model
from spec.checking.spark import SparkEngine
from tests.compiling import NARROW
from tests.compiling import WIDE as WIDE_STATES
from tests.rows import rows
from tests.spec.checking.local.folds.crowds import fold_from

EVERY = {"small", "medium", "large", "huge"}
SECONDS = {"small", "medium", "large"}
"""Instances of seconds at compiled speed, and minutes on the reference engine and on Spark."""
MEDIUM = {"small", "medium"}
"""Instances that take no longer under symmetry, though every state is permuted, and a second at compiled speed."""
MINUTES = {
    *MEDIUM,
    *("controller-election, two sessions", "controller, replies are lost"),
    *("partitions, three brokers", "partitions, two partitions"),
    *("control-requests, a shutdown and another controller", "reassignment, as proposed"),
    *("topic-deletion, a partition is added", "replication, kip-320 without fence_truncation, 3-1-1-2"),
    *(("large",) if os.environ.get("LARGE_INSTANCES") else ()),
}
"""Instances for the reference engine and Spark: of the large ones, one or two of each system."""
SMALL = {"small"}
OF_WIDE_STATES = {"reassignment", "control-requests", "topic-deletion"}
WIDE = {"controller, 1.0", *(each.name for each in instances() if each.system in OF_WIDE_STATES)}
"""Only in `make long`: states of five to eight words; a fresh clone compiles for 20 seconds for each width."""
ON_THE_DRIVER = {"controller-election, 1.1"}
"""The instance that Spark's driver explores in every test run."""
BY_ORBITS = {"controller, 0.10.1"}
"""The instance that is explored by orbits in every test run."""
LATER = {"controller, 2.1", "controller, 2.8", "controller, 1.1", "controller, 3.9, one broker to the end"} | {
    f"replication, {version} with Kafka's answers, 2-2-2-2" for version in ("kip-101", "kip-279")
}
"""Small instances only in `make long`: another one of the same release or version is explored in every run."""
FEW = {each.name for each in instances() if each.distinct_states <= 500}
"""Instances that the reference engine explores in every run. `make check` runs all engines on the controller
election, the reference engine on a smaller instance."""


def asked(soon: Set[str], at_all: Set[str], orbits: bool = False) -> pytest.MarkDecorator:
    """Return instances of these sizes or names for every test run, and more for `make long`; or those with orbits."""
    return pytest.mark.parametrize(
        "instance",
        [
            pytest.param(
                each,
                id=each.name,
                marks=() if each.name not in WIDE | LATER and {each.size, each.name} & soon else pytest.mark.long,
            )
            for each in instances()
            if {each.size, each.name} & at_all and (each.orbits is not None or not orbits)
        ],
    )


@cache
def found_by(engine: str, name: str) -> Result:
    """Run an engine once; several tests of an instance read the result."""
    (instance,) = [each for each in instances() if each.name == name]
    return instance.check(LocalEngine() if engine == "local" else engine)


def under_symmetry(result: Result) -> dict[str, Any]:
    """Return the recorded figures that apply to a run by orbits: successors of representatives are not pinned."""
    return {name: figure for name, figure in figures_of(result).items() if name != "generated_states"}


def claimed_under_symmetry(instance: PinnedInstance) -> dict[str, Any]:
    """Return the figures of the full run, except the number of distinct states."""
    figures = {name: figure for name, figure in instance.figures().items() if name != "generated_states"}
    return {**figures, "distinct_states": instance.orbits}


@asked(SMALL, EVERY)
def test_the_local_engine_finds_the_pinned_figures(instance: PinnedInstance) -> None:
    """Verdict, distinct and generated states, depth, and the length of each shortest counterexample."""
    assert figures_of(found_by("local", instance.name)) == instance.figures()


@asked(set(), SECONDS)
def test_one_worker_finds_the_pinned_figures(instance: PinnedInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    """With folds from the first path on. Other tests use several workers, and folds where there are many paths."""
    fold_from(1, monkeypatch)
    result = instance.check(LocalEngine(1))
    assert figures_of(result) == instance.figures()
    assert result.opaque_rules == ()


@asked(FEW, MINUTES)
def test_the_reference_engine_finds_the_pinned_figures(instance: PinnedInstance) -> None:
    """And the local engine's trace agrees with it, step by step."""
    result = found_by("reference", instance.name)
    assert figures_of(result) == instance.figures()
    assert found_by("local", instance.name).counterexample == result.counterexample


@asked(ON_THE_DRIVER, SMALL)
def test_sparks_driver_finds_the_pinned_figures(instance: PinnedInstance) -> None:
    """With levels too small for a job."""
    result = instance.check(SparkEngine(driver_level=instance.distinct_states))
    assert figures_of(result) == instance.figures()
    assert result.counterexample == found_by("local", instance.name).counterexample
    assert result.jobs == Jobs(0, 0)


@asked(BY_ORBITS, EVERY, orbits=True)
def test_orbits_have_the_verdict_of_the_full_run(instance: PinnedInstance) -> None:
    """And its depth and trace lengths; the number of orbits is pinned separately."""
    assert under_symmetry(instance.check(LocalEngine(), symmetry=True)) == claimed_under_symmetry(instance)


@asked(set(), MEDIUM, orbits=True)
def test_the_reference_engine_finds_the_same_orbits(instance: PinnedInstance) -> None:
    """And the same path through them."""
    result = instance.check("reference", symmetry=True)
    assert under_symmetry(result) == claimed_under_symmetry(instance)
    assert instance.check(LocalEngine(), symmetry=True).counterexample == result.counterexample


@rows("instance", {each.name: each for each in instances() if each.orbits is not None})
def test_nearly_every_orbit_has_the_full_size(instance: PinnedInstance) -> None:
    """No orbit has more states than there are permutations; those with fewer are rare."""
    assert instance.orbits is not None
    permutations = {1: 1, 2: 2, 3: 6}[instance.specification().valuation["brokers"]]
    assert instance.distinct_states / permutations <= instance.orbits < instance.distinct_states / permutations * 1.1


@pytest.mark.long
def test_kernels_for_their_states_are_compiled_before() -> None:
    """Otherwise each worker of `make long` compiles them."""
    assert {Model(each.specification()).layout.words for each in instances()} <= {*NARROW, *WIDE_STATES}


def test_names_are_unique() -> None:
    """A name means one instance."""
    names = [each.name for each in instances()]
    assert sorted(set(names)) == sorted(names)
