"""`make check` fails if a result is not what it is known to be."""

from __future__ import annotations

import pytest

from spec.atlas.instances import instances
from spec.checking.spark import SparkEngine
from spec.cli.demonstration import shown

SMALL = next(each for each in instances() if each.name == "controller, 0.10.2")


def test_pinned_results_pass() -> None:
    """On an engine that has no jobs."""
    assert not shown(SMALL, "reference")


def test_spark_without_a_job_fails(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever it found: nothing of Spark was demonstrated."""
    assert shown(SMALL, SparkEngine())
    assert "as pinned" in capsys.readouterr().out
