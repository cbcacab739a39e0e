"""The local engine's memory budget: needs are predicted, and the whole process stays within it."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.memory_budgets import measured
from spec.checking.check import selected_numbers, silent
from spec.checking.exploration import Options
from spec.checking.local import LocalEngine
from spec.checking.local.arrays import PARTITIONS, Outbox, Scratch
from spec.checking.local.storing import post
from spec.checking.local.visited import OTHERS, Visited
from spec.checking.machine.memory import MB, PAGE, OutOfMemory, private
from spec.checking.model import Model
from spec.language.errors import UsageError
from spec.systems.controller_election import ControllerElection
from tests.spec.checking.local.comparing import comparable
from tests.tiers import long_unless

ROOM = 4096


def sent(words: int) -> Outbox:
    return Outbox.of(words, ROOM)


@pytest.mark.parametrize("size", long_unless((8).__eq__, [8, 17, 24]))
def test_memory_of_states_is_known_in_advance(size: int) -> None:
    """The prediction is never too low, and only a little too high."""
    words = -(-size // 8)
    gc.collect()  # garbage of other tests must not be freed meanwhile
    outbox, scratch = sent(words), Scratch.of(words, 0)
    warm = Visited(size, 1 << 30)  # loads the compiled code
    post(warm.shape, np.zeros(words, np.uint64), np.zeros(1, np.uint16), 0, outbox)
    warm.insert(0, PARTITIONS, outbox, scratch)
    visited = Visited(size, 1 << 30)
    rounds = np.random.default_rng(5).integers(0, 2**64, (10, 400_000 * words), np.uint64)
    rounds[:, words - 1 :: words] <<= np.uint64(8 * (-size % 8))
    marks, predicted = np.zeros(400_000, np.uint16), 0
    outbox.records[:] = 1  # touches their memory
    before = private()
    for number, states in enumerate(rounds):
        post(visited.shape, states, marks, 0, outbox)
        predicted += visited.needed(outbox)
        visited.insert(0, PARTITIONS, outbox, scratch)
        if number % 2:
            visited.complete(np.zeros(1, np.int64))
        taken = private() - before
        assert taken <= predicted + 4 * MB, f"after round {number}"
    assert predicted < 1.1 * taken + 16 * MB
    visited.empty()
    assert private() - before < 8 * MB


def test_storing_is_refused_before_memory_ends() -> None:
    """None of the sent states is stored then."""
    visited, outbox = Visited(16, 1 << 30, lambda _: 3 * MB), sent(2)
    post(visited.shape, np.arange(1000, dtype=np.uint64), np.zeros(500, np.uint16), 0, outbox)
    visited.require_room(outbox)
    post(visited.shape, np.arange(400_000, dtype=np.uint64), np.zeros(200_000, np.uint16), 0, outbox)
    with pytest.raises(OutOfMemory):
        visited.require_room(outbox)
    assert visited.size == 0


@pytest.mark.parametrize("left", [300 * MB, 600 * MB, 2000 * MB])
@pytest.mark.parametrize("words", [1, 3, 100])
def test_limited_address_space_is_not_exceeded(left: int, words: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Less is reserved, with room for others. Too little is refused."""
    monkeypatch.setattr("spec.checking.local.visited.address_space", lambda: left)
    before = reserved()
    if left == 300 * MB and words == 100:
        with pytest.raises(UsageError, match="`ulimit -v` leaves "):
            Visited(8 * words, 1 << 40)
        return
    visited = Visited(8 * words, 1 << 40)
    assert reserved() - before < left - OTHERS
    assert int(visited.storage.room) >= 1024


def reserved() -> int:
    """The address space of this process, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * PAGE


@pytest.mark.long
def test_a_run_bounded_by_its_budget_resumes_with_more(tmp_path: Path) -> None:
    """Slightly above the least budget, it ends as bounded after complete levels."""
    budget, run = 304 * MB, tmp_path / "run"
    program = str(Path(sys.executable).with_name("kafkaspec"))
    command = [program, "check", "controller-election", "--engine", "local", "--workers", "2"]
    found = measured([*command, "--memory", str(budget), "--run-dir", str(run)])
    assert found.code == 20, found.said
    assert 0.6 * budget < found.peak <= 1.1 * budget
    depth = len(list((run / "_commits").iterdir()))
    model = Model(ControllerElection())
    options = Options(selected_numbers(model, (), False), max_depth=depth + 1)
    resumed = LocalEngine(memory=1 << 30, run_dir=run, resume=True).explore(model, options, silent)
    assert comparable(resumed) == comparable(LocalEngine(memory=1 << 30).explore(model, options, silent))
