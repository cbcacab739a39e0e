"""The modules of the Spark engine one by one: visited buckets, exchanged states, models too large to learn."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.checking.code.source import pickled
from spec.checking.exploration import Engine, Exploration, Options
from spec.checking.local.arrays import MarkedRanges
from spec.checking.local.plain_expander import PlainExpander
from spec.checking.local.rows import Rows
from spec.checking.machine.memory import MB, Budget, OutOfMemory, private, written
from spec.checking.model import Model
from spec.checking.reference import ReferenceEngine
from spec.checking.runs.interned_values import InternedValues, as_json
from spec.checking.runs.rundir import RunDirectory
from spec.checking.spark import SparkEngine, stages
from spec.checking.spark.allotment import HEAP, HEAP_FOR_A_WORKER, WORK, MemoryQuota, allotted, minimum
from spec.checking.spark.engine import _Search
from spec.checking.spark.exchange import by_bucket
from spec.checking.spark.stages import shares
from spec.checking.spark.visited_buckets import VisitedBuckets
from spec.checking.spark.work import PlainWork, Report
from spec.checking.spark.worker_state import WorkerState, work_on
from spec.checking.states.packed import Words, buckets_of, bytes_of, words_of
from spec.language import Specification, State, Total, action, integers, invariant, mapping, require, variable
from spec.language.errors import UsageError
from tests.spec.checking.runs.test_rundir import IDENTITY, committed
from tests.spec.checking.spark.test_engine import explored
from tests.spec.toys import BOUNDED, TOYS, Announcing, Errand, Errands, RaisingAction, RaisingProperty, Retrying, Town
from tests.tiers import long_unless

SIZE = 5
"""Bytes of a state in memory."""


def packed(number: int) -> bytes:
    """A state with this number in its first bytes."""
    return (number << 8 * (8 - SIZE)).to_bytes(8, "big")


LEVELS = [[packed(0)], [packed(1), packed(7), packed(256)], [packed(2), packed(2**40 - 1)]]
STRANGERS = [packed(9), packed(11), packed(12)]
EVERY = [0, 1]
"""All buckets of the runs here."""


def a_quota() -> MemoryQuota:
    """More memory than needed here, beside what this process already uses."""
    return MemoryQuota(1 << 30, private())


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A run with three levels."""
    made = RunDirectory.create(tmp_path, IDENTITY, 8, buckets=len(EVERY))
    distinct = 0
    for level, states in enumerate(LEVELS, 1):
        distinct += len(states)
        committed(made, level, states, distinct)
    return made


def in_bucket(bucket: int, states: list[bytes]) -> list[bytes]:
    return [state for state in states if buckets_of(words_of([state], 8), len(EVERY))[0] == bucket]


def new_to(visited_buckets: VisitedBuckets, states: list[bytes], action: int = 0) -> list[bytes]:
    """The states that are new to it. It takes them as states of the next level."""
    block = words_of(states, 8), np.full(len(states), action, np.uint16)
    visited_buckets.settle([block], np.zeros(2, np.int64))
    return sorted(bytes_of(visited_buckets.visited.level(1)))


ALL = [state for states in LEVELS for state in states]


# Visited buckets.


@pytest.mark.parametrize("level", [1, 2, 3])
def test_only_committed_states_are_visited(level: int, run: RunDirectory) -> None:
    """The buckets catch up from any level, and never read uncommitted attempts."""
    run.write(4, STRANGERS)
    for begin in range(level + 1):
        visited_buckets = VisitedBuckets(run, a_quota(), SIZE)
        visited_buckets.up_to(begin, EVERY)
        visited_buckets.up_to(level, EVERY)
        visited = [state for states in LEVELS[:level] for state in states]
        assert new_to(visited_buckets, ALL + STRANGERS) == sorted({*ALL, *STRANGERS} - {*visited})


def test_a_repeated_task_reads_an_earlier_level(run: RunDirectory) -> None:
    """A task of an earlier level may be repeated."""
    visited_buckets = VisitedBuckets(run, a_quota(), SIZE)
    visited_buckets.up_to(3, EVERY)
    visited_buckets.up_to(1, EVERY)
    assert new_to(visited_buckets, ALL) == sorted(LEVELS[1] + LEVELS[2])


def test_only_the_requested_buckets_are_loaded(run: RunDirectory) -> None:
    """Others may be added later, at another level."""
    visited_buckets = VisitedBuckets(run, a_quota(), SIZE)
    visited_buckets.up_to(2, [0])
    visited_buckets.up_to(3, EVERY)
    assert new_to(visited_buckets, ALL + STRANGERS) == sorted(STRANGERS)


def test_a_workers_own_committed_part_is_not_reread(run: RunDirectory) -> None:
    """If they are the ones that were committed."""
    visited_buckets = VisitedBuckets(run, a_quota(), SIZE)
    visited_buckets.up_to(3, EVERY)
    assert new_to(visited_buckets, ALL + STRANGERS) == sorted(STRANGERS)
    files = committed(run, 4, STRANGERS, len(ALL) + len(STRANGERS)).files
    visited_buckets.settled(4, EVERY, files)
    for file in files:
        run.file(4, file.bucket).unlink()
    visited_buckets.up_to(4, EVERY)
    assert new_to(visited_buckets, [*STRANGERS, packed(13)]) == [packed(13)]


def test_a_workers_own_part_is_dropped_if_another_was_committed(run: RunDirectory) -> None:
    """Another worker did the same task, and found other states to be new."""
    visited_buckets = VisitedBuckets(run, a_quota(), SIZE)
    visited_buckets.up_to(3, EVERY)
    new_to(visited_buckets, STRANGERS)
    visited_buckets.settled(4, EVERY, run.write(4, STRANGERS))
    committed(run, 4, STRANGERS[:1], len(ALL) + 1)
    visited_buckets.up_to(4, EVERY)
    assert new_to(visited_buckets, STRANGERS) == sorted(STRANGERS[1:])


def test_an_unfinished_part_is_ignored(run: RunDirectory) -> None:
    """A worker that died or was stopped in between has not written it."""
    visited_buckets = VisitedBuckets(run, a_quota(), SIZE)
    visited_buckets.up_to(3, EVERY)
    new_to(visited_buckets, STRANGERS)
    visited_buckets.up_to(3, EVERY)
    assert new_to(visited_buckets, STRANGERS) == sorted(STRANGERS)


def test_buckets_may_be_settled_one_after_the_other(run: RunDirectory) -> None:
    """By one worker, if the other is late. A bucket that is ahead stays there while others catch up."""
    visited_buckets = VisitedBuckets(run, a_quota(), SIZE)
    for bucket in EVERY:
        visited_buckets.up_to(3, [bucket])
        mine = in_bucket(bucket, STRANGERS)
        assert new_to(visited_buckets, mine + in_bucket(bucket, ALL)) == sorted(mine)
        visited_buckets.settled(4, [bucket], run.write(4, mine))
    committed(run, 4, STRANGERS, len(ALL) + len(STRANGERS))
    visited_buckets.up_to(4, EVERY)
    assert new_to(visited_buckets, ALL + STRANGERS) == []


def test_a_missing_file_is_an_error(run: RunDirectory) -> None:
    """If it counted as an empty bucket, states would be counted twice."""
    run.file(2, run.committed(2)[0].bucket).unlink()
    with pytest.raises(FileNotFoundError):
        VisitedBuckets(run, a_quota(), SIZE).up_to(2, EVERY)


def test_a_new_state_is_credited_to_the_lowest_action(run: RunDirectory) -> None:
    """In any order of arrival."""
    visited_buckets, new_states = VisitedBuckets(run, a_quota(), SIZE), np.zeros(4, np.int64)
    visited_buckets.up_to(3, EVERY)
    states = words_of(STRANGERS, 8)
    visited_buckets.settle(
        [(states, np.array(actions, np.uint16)) for actions in ([3, 1, 2], [2, 3, 2], [3, 2, 3])], new_states
    )
    assert new_states.tolist() == [0, 1, 2, 0]


def test_more_states_than_one_lookup_handles_are_all_stored(run: RunDirectory) -> None:
    """Even if they come in one block."""
    visited_buckets = VisitedBuckets(run, a_quota(), SIZE)
    visited_buckets.up_to(3, EVERY)
    states = np.arange(1000, 400_000, dtype=np.uint64).reshape(-1, 1) << np.uint64(8 * (8 - SIZE))
    actions = np.zeros(len(states), np.uint16)
    visited_buckets.settle([(states, actions), (states[::3], actions[::3])], np.zeros(1, np.int64))
    assert len(visited_buckets.visited.level(1)) == len(states)


# Beyond memory.


@pytest.mark.parametrize("level", [1, 2, 3])
def test_a_visited_set_that_exceeds_memory_is_streamed(level: int, run: RunDirectory) -> None:
    """The new states are the same as if all fitted. Nothing stays in memory, at any level."""
    visited_buckets = VisitedBuckets(run, a_quota(), SIZE)
    visited_buckets.beyond = True
    visited = [state for states in LEVELS[:level] for state in states]
    for buckets in (EVERY, [1], EVERY):
        visited_buckets.up_to(level, buckets)
        asked = [state for bucket in buckets for state in in_bucket(bucket, ALL + STRANGERS)]
        assert new_to(visited_buckets, asked + asked[::2]) == sorted(set(asked) - set(visited))
        visited_buckets.settled(level + 1, buckets, [])
        assert visited_buckets.visited.size == 0


def test_a_streamed_state_is_credited_to_the_lowest_action(run: RunDirectory) -> None:
    """As a state that is looked up."""
    visited_buckets, new_states = VisitedBuckets(run, a_quota(), SIZE), np.zeros(4, np.int64)
    visited_buckets.beyond = True
    visited_buckets.up_to(3, EVERY)
    states = words_of([*STRANGERS, *LEVELS[0]], 8)
    others = [0] * len(LEVELS[0])
    visited_buckets.settle(
        [(states, np.array([*actions, *others], np.uint16)) for actions in ([3, 1, 2], [2, 3, 2], [3, 2, 3])],
        new_states,
    )
    assert new_states.tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize("deliveries", long_unless(lambda each: each in (1, 5, 8), range(1, 9)))
def test_memory_may_end_at_any_moment(deliveries: int, run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """During loading or while new states arrive; the states gathered so far are kept."""
    monkeypatch.setattr("spec.checking.spark.visited_buckets.ROOM", 16)
    asked = 0

    def left(visited_buckets: VisitedBuckets) -> int:
        nonlocal asked
        asked += 1
        return -1 if asked == deliveries else 1 << 30

    monkeypatch.setattr(VisitedBuckets, "_left", left)
    visited_buckets, many = VisitedBuckets(run, a_quota(), SIZE), [packed(number) for number in range(20_000, 30_000)]
    visited_buckets.up_to(3, EVERY)
    assert new_to(visited_buckets, ALL + STRANGERS + many) == sorted(STRANGERS + many)
    assert visited_buckets.beyond


def test_a_level_whose_new_states_do_not_fit_ends_with_memory(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It raises nothing but `OutOfMemory`."""
    monkeypatch.setattr(VisitedBuckets, "_left", lambda _: -1)
    visited_buckets = VisitedBuckets(run, a_quota(), SIZE)
    visited_buckets.up_to(3, EVERY)
    with pytest.raises(OutOfMemory):
        new_to(visited_buckets, STRANGERS)


def test_paths_that_do_not_fit_are_left_out_after_memory_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statistics are reported, and the run is kept."""

    def too_much(*_: Any) -> Any:
        raise OutOfMemory

    model = Model(TOYS["several broken"])
    options = Options(tuple(range(len(model.properties))), keep_going=True, max_depth=6)
    engine = SparkEngine(tmp_path / "run")
    assert engine.explore(model, options, lambda _: None).discoveries
    monkeypatch.setattr("spec.checking.spark.engine._Search.next_level", too_much)
    monkeypatch.setattr("spec.checking.spark.engine._Search.predecessors", too_much)
    resumed = SparkEngine(tmp_path / "run", resume=True)
    found = resumed.explore(model, replace(options, max_depth=None), lambda _: None)
    assert (found.ended, found.statistics.depth, found.discoveries) == ("memory", 6, {})


def too_few(search: _Search, monkeypatch: pytest.MonkeyPatch) -> None:
    """A level lacks a state."""
    states = search.states
    monkeypatch.setattr(search, "states", lambda level: states(level)[1:])


def others(search: _Search, monkeypatch: pytest.MonkeyPatch) -> None:
    """A level has the right number of states, but wrong ones."""
    states = search.states
    monkeypatch.setattr(search, "states", lambda level: np.zeros_like(states(level)))


def lost_by_a_job(search: _Search, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers find no predecessor."""
    monkeypatch.setattr(search, "driver_level", 0)
    monkeypatch.setattr(search, "job", lambda *_: None)
    monkeypatch.setattr(search, "run_job", lambda _: ({}, set()))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (too_few, "a level has as many states as it had"),
        (others, "a state of a level has a predecessor in the one before"),
        (lost_by_a_job, "a state of a level has a predecessor in the one before"),
    ],
)
def test_inconsistent_predecessors_are_reported(
    spoil: Callable[[_Search, pytest.MonkeyPatch], None], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No path is made from them."""
    report = _Search.report

    def spoilt(search: _Search, why: str) -> Exploration:
        spoil(search, monkeypatch)
        return report(search, why)

    monkeypatch.setattr(_Search, "report", spoilt)
    with pytest.raises(AssertionError, match=said):
        explored(SparkEngine(), TOYS["an invariant broken"])


class Narrow(PlainWork):
    """It expands only a few states at once."""

    def expand(self, states: Words, decided: Any, report: Report) -> MarkedRanges:
        if len(states) > self.most:
            raise OutOfMemory
        return super().expand(states, decided, report)

    most = 600


@pytest.mark.long
def test_states_that_do_not_fit_are_expanded_in_parts(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the parts are too small to help."""
    model = Model(Wide())
    narrow = Narrow(model, (), None, a_quota())
    states = words_of([narrow.pack((*[0] * 1100, at << 8)) for at in range(1000)], narrow.width)
    report = Report.on_nothing(model)
    parts = list(WorkerState(run, narrow, a_quota()).expand(states, (), report, 2))
    assert len(parts) == 2
    whole = Report.on_nothing(model)
    PlainWork(model, (), None, a_quota()).expand(states, (), whole)
    assert report.coverage == whole.coverage
    monkeypatch.setattr(Narrow, "most", 100)
    with pytest.raises(OutOfMemory):
        list(WorkerState(run, narrow, a_quota()).expand(states, (), report, 2))


@pytest.mark.parametrize("size", [1, 511, 927, 928, 1024, 1500, 4096, 100_000])
@pytest.mark.parametrize("workers", [None, 1, 2, 8])
def test_a_budget_is_divided_or_refused(size: int, workers: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts and the fixed needs of each process add up to the budget. By default, as many workers as fit."""
    monkeypatch.setattr("spec.checking.machine.memory.total", lambda: 1 << 50)
    budget = Budget(size * MB)
    if budget.size < minimum(workers or 1):
        with pytest.raises(
            UsageError, match=f"--memory {written(budget.size)}: the Spark engine cannot explore this with less"
        ):
            allotted(budget, workers, 4)
        return
    found = allotted(budget, workers, 4)
    assert found.workers == workers or (workers is None and 1 <= found.workers <= 4)
    assert found.work >= WORK
    fixed = minimum(found.workers) - (found.workers + 1) * WORK - (HEAP + found.workers * HEAP_FOR_A_WORKER)
    assert budget.size - 20 < fixed + found.heap + (found.workers + 1) * found.work <= budget.size
    if workers is None and found.workers < 4:
        assert minimum(found.workers + 1) > budget.size


# Exchanged states.


@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 40), st.integers(0, 300))
def test_states_find_their_buckets(seed: int, words: int, buckets: int, number: int) -> None:
    """Rows go to the buckets of the run directory with their actions, and come out unchanged."""
    chance = np.random.default_rng(seed)
    states = chance.integers(0, 2**64, (number, words), np.uint64)
    marks = chance.integers(0, 2**64, number, np.uint64)
    ranges = [[0, number // 3, 0], [number // 3, number // 3, 0], [number // 2, number, 0]]
    there = [*range(number // 3), *range(number // 2, number)]
    found = by_bucket(MarkedRanges(Rows.of(states), marks, np.array(ranges, np.int64)), words, buckets)
    expected = [
        (int(bucket), bytes_of(states[at : at + 1])[0], int(marks[at]) & 0xFFFF)
        for at, bucket in ((at, buckets_of(states[at : at + 1], buckets)[0]) for at in there)
    ]
    report = Report()
    with pytest.MonkeyPatch.context() as few:
        few.setattr(stages, "BLOCK", 7)
        few.setattr(stages, "ROWS", 3)
        rows = list(stages._rows(found, b'{"v": [3]}'))
    told = list[InternedValues]()
    blocks = list(stages._blocks(rows, words, report, told.append))
    assert all(each == {"v": [3]} for each in told)
    assert bool(told) == bool(blocks)
    assert all(len(block.states) <= 7 for block in blocks)
    sent = [
        (block.bucket, state, act)
        for block in blocks
        for state, act in zip(bytes_of(block.states), block.actions.tolist(), strict=True)
    ]
    assert sorted(sent) == sorted(expected)
    assert isinstance(rows, list)
    assert all(isinstance(row, pa.RecordBatch) for row in rows)


# Models too large to learn.


class WideState(State):
    """The state of `Wide`."""

    bits: Total[int, int] = variable("Most stay as they are.", of=lambda self: mapping(range(1100), integers(0, 1)))
    fine: int = variable("A number with very many values.", of=lambda self: integers(0, 2**40))


class Wide(Specification[WideState]):
    """More cells than there is room for; the walk covers a few of them."""

    @action(bit=(0, 1, 500, 1099))
    def flip(self, s: WideState, bit: int) -> None:
        """Flip one bit."""
        s.bits[bit] = 1 - s.bits[bit]

    @action
    def count(self, s: WideState) -> None:
        """Count in large steps."""
        require(s.fine < 2**40)
        s.fine += 2**38

    @invariant
    def not_all(self, s: WideState) -> bool:
        """Not all bits are on at the end. This breaks."""
        return not (s.fine == 2**40 and all(s.bits[bit] for bit in (0, 1, 500, 1099)))


@pytest.mark.parametrize("bounds", [{"keep_going": True}, {}], ids=str)
def test_a_model_that_is_too_large_for_tables_is_explored_in_plain_python(bounds: dict[str, Any]) -> None:
    """With the same result."""
    engine = SparkEngine()
    assert isinstance(work_on(Model(Wide()), (), a_quota()), PlainWork)
    assert explored(engine, Wide(), **bounds) == explored(ReferenceEngine(), Wide(), **bounds)


@pytest.fixture
def plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every model as too large."""
    monkeypatch.setattr("spec.checking.spark.worker_state.too_large", lambda model: "it is too large")


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(
    ("toy", "bounds"), long_unless(lambda case: case[0] in {"a bound", "a domain left"}, BOUNDED)
)
def test_plain_python_agrees_with_the_reference(toy: str, bounds: dict[str, Any]) -> None:
    """On every toy."""
    assert explored(SparkEngine(), TOYS[toy], **bounds) == explored(ReferenceEngine(), TOYS[toy], **bounds)


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("toy", [RaisingAction(), RaisingProperty()], ids=repr)
def test_plain_python_fails_as_the_reference_does(toy: Specification) -> None:
    """With the same message."""

    def failure(engine: Engine) -> str:
        with pytest.raises(Exception, match="division") as failed:
            explored(engine, toy)
        return str(failed.value)

    assert failure(SparkEngine()) == failure(ReferenceEngine())


def test_plain_python_drops_successors_equal_to_their_state() -> None:
    """They only count as taken."""
    model = Model(Retrying())
    work, report = PlainWork(model, (), None, a_quota()), Report.on_nothing(model)
    first = work.initial_states()
    unpack = PlainExpander(model, ()).unpack
    (asked,) = {after for after in bytes_of(successors(work, first, report)) if unpack(after)[0] == 1}
    found = bytes_of(successors(work, [asked], report))
    assert (asked in found, len(found)) == (False, 2)
    assert [each.taken for each in report.coverage] == [2 + 2, 1, 1, 0]


def successors(work: PlainWork, states: list[bytes], report: Report) -> Words:
    """The successors of some states."""
    return by_bucket(work.expand(words_of(states, work.width), (), report), work.words, 1).states


# Parts of a level.


@pytest.mark.parametrize("toy", long_unless({"several broken", "a bound"}.__contains__, TOYS))
def test_a_report_on_a_level_does_not_depend_on_its_parts(toy: str) -> None:
    """Whichever worker expands which states: statistics add up, and the lowest discoveries are kept."""
    model = Model(TOYS[toy])
    work = work_on(model, range(len(model.properties)), a_quota())
    level = words_of(work.initial_states(), work.width)
    for _ in range(4):
        whole, reached = expanded(model, [level])
        in_parts, reached_by_parts = expanded(model, np.array_split(level, 7))
        assert (in_parts.coverage, in_parts.ends) == (whole.coverage, whole.ends)
        assert reached_by_parts == reached
        if reached:
            level = words_of([state for state, _ in reached], work.width)


def expanded(model: Model, parts: list[Words]) -> tuple[Report, list[tuple[bytes, int]]]:
    """The combined report on separately expanded parts of a level, and the states they lead to outside it."""
    report, lowest = Report.on_nothing(model), dict[bytes, int]()
    for part in parts:
        work, its = work_on(model, range(len(model.properties)), a_quota()), Report.on_nothing(model)
        states, actions, _ = by_bucket(work.expand(part, (), its), work.words, 1)
        report.add(its)
        for state, act in zip(bytes_of(states), actions.tolist(), strict=True):
            lowest[state] = min(act, lowest.get(state, act))
    there = {state for part in parts for state in bytes_of(part)}
    return report, sorted((state, act) for state, act in lowest.items() if state not in there)


@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_every_state_is_in_one_share(parallelism: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For any size of share; and states that are close in code order are in one share."""
    monkeypatch.setattr("spec.checking.spark.stages.LARGEST_SHARE", 300)
    monkeypatch.setattr("spec.checking.runs.rundir.GROUP", 64)
    made = RunDirectory.create(tmp_path, IDENTITY, 8, buckets=3, durable=False)
    states = [packed(number * number) for number in range(2000)]
    committed(made, 1, states, len(states))
    work = work_on(Model(TOYS["jugs"]), (), a_quota())
    parts = [WorkerState(made, work, a_quota()).states(1, share) for share in shares(made, 1, parallelism)]
    assert len(parts) >= max(parallelism, len(states) // 300)
    assert sorted(state for part in parts for state in bytes_of(part)) == states
    for earlier, later in pairwise(parts):
        assert np.median(earlier) < np.median(later)
        assert len(earlier) == pytest.approx(len(states) / len(parts), abs=3)


def test_a_level_of_one_state_is_one_share(run: RunDirectory) -> None:
    """The other workers have nothing to do."""
    assert [[(each.stop - each.start) for each in share] for share in shares(run, 1, 4)] == [[1]]


def test_a_value_read_by_a_worker_is_of_the_classes_sent_to_it() -> None:
    """Also if a module of that name is there, with classes of its own, and for a class within a class."""
    value = Errand(Town.Place.SHOP, frozenset({"ann"}))
    look = (
        "import sys, tests.spec.toys; from spec.checking.code.source import unpickled;"
        "from spec.checking.model import Model; from spec.checking.runs.interned_values import from_json;"
        "model = Model(*unpickled(sys.stdin.buffer.read()));"
        f"value = from_json({as_json(value)!r});"
        "sent, other = [*model.actions[0].domains['place']][1], tests.spec.toys.Town.Place.SHOP;"
        "print(value.place is sent, value.place is other)"
    )
    said = subprocess.run([sys.executable, "-c", look], input=pickled(Errands()), capture_output=True, check=True)
    assert said.stdout.decode().split() == ["True", "False"]


def test_a_specification_sent_to_workers_keeps_its_order() -> None:
    """Actions and state variables keep the order of declaration, not that of their names."""
    look = (
        "import sys; from spec.checking.code.source import unpickled; from spec.checking.model import Model;"
        "model = Model(*unpickled(sys.stdin.buffer.read()));"
        "print([action.name for action in model.actions], [cell.name for cell in model.layout.cells])"
    )
    for toy in (Announcing(), RaisingAction()):
        said = subprocess.run(
            [sys.executable, "-c", look], input=pickled(toy), capture_output=True, check=True
        ).stdout
        model = Model(toy)
        names = [action.name for action in model.actions]
        assert names != sorted(names)
        assert said.decode().strip() == f"{names} {[cell.name for cell in model.layout.cells]}"
