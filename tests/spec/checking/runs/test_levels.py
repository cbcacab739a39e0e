"""Figures for each level: in a result, and as the tables of a kept run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spec.checking import Result, check
from spec.checking.local import LocalEngine
from spec.checking.reference import ReferenceEngine
from spec.checking.result import LevelResult
from spec.checking.runs.dataframes import actions_of_run, levels_of_run
from spec.checking.spark import SparkEngine
from tests.spec.toys import TOYS

Keeping = type[LocalEngine | SparkEngine]
KEEPING: list[Keeping] = [LocalEngine, SparkEngine]
"""The engines that keep runs. Spark's has no job to do here, so no Java is started."""
TOY = TOYS["several broken"]


def untimed(levels: list[dict[str, Any]] | tuple[LevelResult, ...]) -> list[dict[str, Any]]:
    """Levels without their seconds, which only grow and differ in every run."""
    rows = [each if isinstance(each, dict) else vars(each) for each in levels]
    seconds = [each["seconds"] for each in rows]
    assert seconds == sorted(seconds)
    return [{name: figure for name, figure in each.items() if name != "seconds"} for each in rows]


def tables(run_dir: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The levels and the actions of the run in this directory."""
    return untimed(levels_of_run(run_dir).to_dict("records")), actions_of_run(run_dir).to_dict("records")


@pytest.mark.parametrize("name", ["reference", "local"])
def test_a_level_has_the_figures_of_a_check_to_its_depth(name: str) -> None:
    """On every engine. No level is missing, and none is empty."""
    result = check(TOY, engine=name, keep_going=True)
    assert len(result.levels) == result.depth > 5
    for level in result.levels:
        until = check(TOY, engine="reference", keep_going=True, max_depth=level.level)
        assert level.level == until.depth
        assert (level.distinct_states, level.generated_states) == (until.distinct_states, until.generated_states)
        before = sum(each.states for each in result.levels[: level.level - 1])
        assert level.distinct_states == before + level.states
    assert 0 <= result.levels[0].seconds <= result.levels[-1].seconds <= result.seconds


@pytest.mark.parametrize("bound", [{"max_depth": 3}, {}])
def test_a_stopped_search_has_its_levels(bound: dict[str, Any]) -> None:
    """Stopped by a bound or by a violation."""
    results = [check(TOY, engine=engine, **bound) for engine in (ReferenceEngine(), LocalEngine(2), SparkEngine())]
    assert [untimed(each.levels) for each in results] == [untimed(results[0].levels)] * 3
    assert [each.level for each in results[0].levels] == list(range(1, results[0].depth + 1))


def by_action(result: Result) -> dict[str, tuple[int, int]]:
    return {each.name: (each.enabled, each.taken) for each in result.actions}


@pytest.mark.parametrize("engine", KEEPING)
def test_a_kept_run_has_its_figures_as_tables(engine: Keeping, tmp_path: Path) -> None:
    """The levels are those of the result, and the actions add up to its coverage."""
    result = check(TOY, engine=engine(run_dir=tmp_path), keep_going=True)
    levels, actions = tables(tmp_path)
    assert levels == untimed(result.levels) == untimed(check(TOY, engine="reference", keep_going=True).levels)
    assert [(each["level"], each["action"]) for each in actions] == [
        (level, action.name) for level in range(1, result.depth + 1) for action in result.actions
    ]
    summed = {name: [each for each in actions if each["action"] == name] for name in by_action(result)}
    assert by_action(result) == {
        name: (sum(each["enabled"] for each in rows), sum(each["taken"] for each in rows))
        for name, rows in summed.items()
    }
    for row in result.levels[1:]:
        reached = sum(each["new_states"] for each in actions if each["level"] == row.level - 1)
        assert row.states == reached


@pytest.mark.parametrize(("begins", "resumes"), [(LocalEngine, LocalEngine), (LocalEngine, SparkEngine)])
def test_a_resumed_run_has_the_rows_of_an_unbroken_one(begins: Keeping, resumes: Keeping, tmp_path: Path) -> None:
    """After a stop it has the rows of the first part; after the resume, those of both."""
    check(TOY, engine=LocalEngine(run_dir=tmp_path / "unbroken"), keep_going=True)
    there = tmp_path / "broken off"
    check(TOY, engine=begins(run_dir=there), keep_going=True, max_depth=4)
    until, expected = tables(there), tables(tmp_path / "unbroken")
    assert until == ([each for each in expected[0] if each["level"] <= 4], expected[1][: len(until[1])])
    assert [each["level"] for each in until[1][-1:]] == [3]
    check(TOY, engine=resumes(run_dir=there, resume=True), keep_going=True)
    assert tables(there) == expected
