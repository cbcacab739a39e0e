"""Under symmetry the Spark engine explores the orbits of the reference engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spec.checking import check
from spec.checking.local import LocalEngine
from spec.checking.reference import ReferenceEngine
from spec.checking.spark import SparkEngine, worker_state
from spec.language import Specification, UsageError
from spec.systems.replication import Replication
from tests.spec.checking.spark.test_engine import comparable, expanded_by_jobs, exploration, explored
from tests.spec.checking.symmetry.test_reduction import REFUSED, Society, societies
from tests.spec.checking.symmetry.test_renamings import InAProperty

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FEW = Replication.of(brokers=3, log_size=1, max_records=1, max_leader_epoch=0)
BROKEN = Replication.of(brokers=2, max_leader_epoch=1, truncation="truncate-to-high-watermark")


@pytest.fixture(params=["learned", pytest.param("as it is written", marks=pytest.mark.long)])
def in_either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the driver: with decision tables, and as a model too large for them."""
    if request.param == "as it is written":
        monkeypatch.setattr(worker_state, "too_large", lambda model: "too large")


@pytest.mark.parametrize("keep_going", [pytest.param(False, marks=pytest.mark.long), True])
@pytest.mark.parametrize(
    "specification", [FEW, pytest.param(BROKEN, marks=pytest.mark.long)], ids=["holds", "violated"]
)
def test_the_driver_finds_the_same_orbits(
    specification: Specification, keep_going: bool, in_either_way: None
) -> None:
    """Representatives, successors, coverage and paths are those of the reference engine."""
    asked: dict[str, Any] = {"symmetry": True, "keep_going": keep_going}
    assert explored(SparkEngine(), specification, **asked) == explored(ReferenceEngine(), specification, **asked)


@settings(max_examples=8)
@given(society=societies(), learned=st.booleans())
def test_spark_orbits_equal_reference(society: Society, learned: bool) -> None:
    """Including steps that leave a domain, and deadlocks."""
    asked: dict[str, Any] = {"symmetry": True, "keep_going": True}
    with pytest.MonkeyPatch.context() as patch:
        if not learned:
            patch.setattr(worker_state, "too_large", lambda model: "too large")
        assert explored(SparkEngine(), society, **asked) == explored(ReferenceEngine(), society, **asked)


@pytest.mark.parametrize("spoilt", REFUSED, ids=lambda each: each.__name__)
def test_a_rule_that_distinguishes_brokers_is_refused_by_name(spoilt: type[Specification]) -> None:
    """As on any engine."""
    with pytest.raises(UsageError) as refused:
        check(spoilt(), engine=SparkEngine(), symmetry=True)
    assert str(refused.value).startswith("--symmetry: " + REFUSED[spoilt].format(spoilt.name))


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("specification", [FEW, BROKEN], ids=["holds", "violated"])
def test_jobs_find_the_same_orbits(specification: Specification, session: SparkSession) -> None:
    """With every level as a job. Large systems are in `test_instances.py`."""
    asked: dict[str, Any] = {"symmetry": True, "keep_going": True}
    found = exploration(SparkEngine(session=session, driver_level=0, buckets=3), specification, **asked)
    assert comparable(found) == explored(ReferenceEngine(), specification, **asked)
    assert expanded_by_jobs(found) == found.statistics.depth


@pytest.mark.long
@pytest.mark.spark
def test_driver_and_job_refuse_the_same_asymmetry(session: SparkSession) -> None:
    """With the same line."""
    messages = set()
    for engine in (SparkEngine(session=session, driver_level=0, buckets=3), LocalEngine(1)):
        with pytest.raises(UsageError) as refused:
            check(InAProperty(), engine=engine, symmetry=True)
        messages.add(str(refused.value))
    assert len(messages) == 1


@pytest.mark.long
def test_a_run_by_orbits_is_resumed_by_the_other_engine(tmp_path: Path) -> None:
    """But not as a run of all states."""
    path = tmp_path / "run"
    check(FEW, engine=LocalEngine(run_dir=path), symmetry=True, max_depth=5)
    found = check(FEW, engine=SparkEngine(path, resume=True), symmetry=True)
    expected = check(FEW, engine="reference", symmetry=True)
    assert (found.distinct_states, found.depth, found.verdict) == (
        expected.distinct_states,
        expected.depth,
        expected.verdict,
    )
    with pytest.raises(UsageError, match="of each orbit"):
        check(FEW, engine=SparkEngine(path, resume=True))
