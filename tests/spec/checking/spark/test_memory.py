"""Spark within a budget: driver, Java and workers together, with more states than a worker may hold."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.memory_budgets import measured
from spec.checking.check import check
from spec.checking.machine.memory import MB
from spec.checking.spark.allotment import minimum
from spec.systems.controller_election import ControllerElection


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("workers", [1, 2])
def test_all_processes_keep_to_their_budget(workers: int) -> None:
    """The visited states exceed a worker's part, and the statistics are those of the local engine."""
    budget, bound = minimum(workers) + workers * 32 * MB, 3_000_000
    program = str(Path(sys.executable).with_name("kafkaspec"))
    asked = [program, "check", "controller-election", "--max-states", str(bound), "--engine", "spark"]
    found = measured([*asked, "--workers", str(workers), "--memory", str(budget)])
    assert found.code == 20
    assert 0.6 * budget < found.peak <= 1.1 * budget
    alone = check(ControllerElection(), engine="local", max_states=bound)
    assert found.said == f"{alone.distinct_states:,} states, engine spark"
