"""Pinned instances have their claimed figures when Spark's workers explore them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spec.atlas.instances import PinnedInstance, figures_of, instances
from spec.checking.local import LocalEngine
from spec.checking.spark import SparkEngine
from tests.spec.atlas.test_instances import MINUTES, claimed_under_symmetry, found_by, under_symmetry
from tests.spec.checking.spark.test_engine import expanded_by_jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRIVER_LEVEL = 400
"""Larger levels are jobs."""
FEW = 25_000
"""Instances up to this size may have no such level."""
LARGEST = "replication, kip-320, 3-3-3-2"
"""One of the huge instances, to see that the size of levels does not matter."""


def asked(orbits: bool = False) -> pytest.MarkDecorator:
    """The instances that take minutes, and one huge one; with `orbits`, only those with claims about orbits."""
    return pytest.mark.parametrize(
        "instance",
        [
            pytest.param(each, id=each.name, marks=pytest.mark.long)
            for each in instances()
            if {each.size, each.name} & {*MINUTES, LARGEST} and (each.orbits is not None or not orbits)
        ],
    )


@pytest.mark.spark
@asked()
def test_jobs_find_the_claimed_figures(instance: PinnedInstance, session: SparkSession) -> None:
    """The figures, and the counterexample step by step."""
    result = instance.check(SparkEngine(session=session, driver_level=DRIVER_LEVEL))
    assert figures_of(result) == instance.figures()
    assert result.counterexample == found_by("local", instance.name).counterexample
    assert expanded_by_jobs(result) or instance.distinct_states <= FEW


@pytest.mark.spark
@asked(orbits=True)
def test_jobs_find_the_same_orbits(instance: PinnedInstance, session: SparkSession) -> None:
    """With the same counterexample."""
    result = instance.check(SparkEngine(session=session, driver_level=DRIVER_LEVEL), symmetry=True)
    assert under_symmetry(result) == claimed_under_symmetry(instance)
    assert result.counterexample == instance.check(LocalEngine(), symmetry=True).counterexample
