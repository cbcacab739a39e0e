"""The local engine: explores on this machine at compiled speed, on all of its cores."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from spec.checking.exploration import Coverage, Exploration, Figures, Finding, Question, Watch, is_violation
from spec.checking.local import kernels
from spec.checking.local.kernels import PARTITIONS, Notes, Outbox, Program, Scratch
from spec.checking.local.recording import FAILED, FOUND
from spec.checking.local.tables import Tables
from spec.checking.local.visited import OutOfMemory, Visited
from spec.checking.model import DEADLOCK, TYPE_OK, EvaluationFailed, Model
from spec.checking.trace import Path
from spec.language.errors import SpecificationError, UsageError
from spec.language.state import Values

ROOM = 2048
"""Successors that a worker gathers for one partition before it delivers."""
PATIENCE = 64
"""Unknown paths that a worker gathers before they are learned; the more, the more of them are the same."""
BLOCK = 4_000
"""States that are handed to a worker at once, at least."""
TUNINGS = [1_000, 10_000, 100_000]
"""How many states there are when the tables are tuned: what is walked in vain changes while a search is young."""
SAMPLE = 400
"""States that are looked at for that."""
WORDS = 16
"""Of a state, at most."""
SLOT = 16
"""Bits of a slot, at most."""
INSTANCES = (1 << 16) - 1
"""Of an action, fewer than that."""


class LocalEngine:
    """Explores in this process, with compiled tables and several threads.

    Args:
        workers: threads; by default as many as there are cores.
        memory: bytes that the visited set may take; by default half of what the machine has.
    """

    name = "local"

    def __init__(self, workers: int | None = None, memory: int | None = None):
        self.workers = workers or len(os.sched_getaffinity(0))
        self.memory = memory or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2

    def explore(self, model: Model, question: Question, watch: Watch) -> Exploration:
        """Go through the states, level by level."""
        if wrong := too_large(model):
            raise UsageError(f"{wrong}. Ask for smaller bounds, or for --engine reference")
        with ThreadPoolExecutor(self.workers) as pool:
            search = _Search(model, question, watch, pool, self.workers, self.memory)
            try:
                return search.run()
            except KeyboardInterrupt:
                search.stop()
                return search.whole


def too_large(model: Model) -> str:
    """What of a model the engine cannot hold, in words; empty if it can."""
    name, layout = model.specification.name, model.layout
    if layout.words > WORDS:
        return f"a state of {name} takes {layout.width} bits here, and the local engine packs up to {WORDS * 64}"
    for place in layout.slots:
        if place.width > SLOT:
            return (
                f"{place.name} of {name} has {place.slot.size} values, and the local engine takes up to {1 << SLOT}"
            )
    for action in model.actions:
        if len(action.instances) >= INSTANCES:
            return (
                f"action {action.name} of {name} has {len(action.instances)} instances, the local engine takes fewer"
            )
    return ""


@dataclass
class _Worker:
    outbox: Outbox
    notes: Notes
    scratch: Scratch
    ranges: Any = None
    status: int = kernels.DONE


class _Search:
    def __init__(
        self, model: Model, question: Question, watch: Watch, pool: ThreadPoolExecutor, workers: int, memory: int
    ):
        self.model, self.question, self.watch, self.pool = model, question, watch, pool
        self.tables = Tables(model, question.properties)
        self.visited = Visited(model.layout.words, memory)
        self.shape = self.visited.shape
        self.type_ok, self.deadlock = (model.numbers([name])[0] for name in (TYPE_OK, DEADLOCK))
        self.findings: dict[int, Finding] = {}
        self.depth = self.generated = 0
        self.new_states = np.zeros(len(model.actions), np.int64)
        self.python = 0.0
        self.tunings = list(TUNINGS)
        self._prepare(workers)
        self.load_kernels()
        self.started = time.perf_counter()
        self.whole = self.report("interrupted", 0)

    def _prepare(self, workers: int) -> None:
        tables, words = self.tables, self.model.layout.words
        room = max(ROOM, 4 * tables.actions)
        each = PARTITIONS * room
        self.sent = Outbox(
            np.zeros(workers * each * words, np.uint64),
            np.zeros(workers * each, np.uint64),
            np.zeros(workers * PARTITIONS, np.int64),
        )
        reach = 2 * words + 2
        self.workers = [
            _Worker(
                Outbox(
                    self.sent.states[number * each * words : (number + 1) * each * words],
                    self.sent.marks[number * each : (number + 1) * each],
                    self.sent.count[number * PARTITIONS : (number + 1) * PARTITIONS],
                ),
                Notes(
                    tables.live(),
                    np.zeros(len(tables.all) + 1, np.uint8),
                    np.zeros(len(self.model.actions), np.int64),
                    np.zeros(len(self.model.actions), np.int64),
                    np.zeros((PATIENCE + len(tables.all)) * reach, np.uint64),
                    np.zeros(2 * PATIENCE, np.int64),
                    np.zeros(5, np.int64),
                ),
                Scratch.of(words, len(tables.all)),
            )
            for number in range(workers)
        ]

    def load_kernels(self) -> None:
        """Have the compiled code there, before the clock runs."""
        visited, worker, nothing = self.visited, self.workers[0], np.zeros((0, 3), np.int64)
        program = self.tables.program()
        kernels.expand(
            self.shape,
            visited.states,
            visited.marks,
            nothing,
            program,
            worker.outbox,
            worker.notes,
            worker.scratch,
            1,
        )
        kernels.post(self.shape, np.zeros(0, np.uint64), 0, worker.outbox)
        visited.insert(0, PARTITIONS, self.sent, worker.scratch)
        visited.complete(self.new_states)
        visited.levels.clear()

    # Levels.

    def run(self) -> Exploration:
        level = self.first_level()
        while True:
            self.depth += 1
            self.whole = before = self.report("interrupted", level)
            self.watch(before.figures)
            bounded = self.bounded(level)
            try:
                flags = self.sweep(actions=not bounded)
            except OutOfMemory:
                return self.as_of(before, "memory")
            self.judged(flags)
            if self.stops_here() or bounded:
                ended = "found" if self.stops_here() else bounded
                return self.as_of(before, ended)
            self.expanded(flags)
            level = self.complete()
            self.tune()
            if not level:
                return self.report("found" if self.stops_here() else "complete", 0)
            if self.stops_here():
                self.depth += 1
                self.judged(self.sweep(actions=False))
                return self.report("found", level)

    def bounded(self, level: int) -> str:
        question = self.question
        if question.max_states is not None and self.visited.size >= question.max_states:
            return "states"
        if question.max_depth is not None and self.depth >= question.max_depth:
            return "depth"
        return ""

    def stops_here(self) -> bool:
        bad = any(is_violation(self.model, number) for number in self.findings)
        return bad and not self.question.keep_going

    def first_level(self) -> int:
        initial = []
        for state, wrong in self.model.initial_states():
            if state is None:
                raise SpecificationError(f"the initial state is outside its domain: {wrong}")
            initial.append(self.packed(state))
        self.generated = len(initial)
        self.take_in(np.concatenate(initial))
        return self.complete(credit=False)

    def take_in(self, states: np.ndarray[Any, Any]) -> None:
        """Let the newest level have these states."""
        done, outbox = 0, self.workers[0].outbox
        while done < len(states) // len(self.shape):
            done = kernels.post(self.shape, states, done, outbox)
            self.deliver()

    def complete(self, credit: bool = True) -> int:
        return self.visited.complete(self.new_states if credit else np.zeros_like(self.new_states))

    def sweep(self, actions: bool) -> np.ndarray[Any, Any]:
        """Judge the states of the newest level that is complete, and send their successors into the next.

        By table, what was met: see `Notes.flags`.
        """
        ranges = self.visited.levels[-1]
        live = self.tables.live(list(self.findings), actions)
        for worker in self.workers:
            worker.notes.live[:] = live
            worker.notes.flags[:] = 0
        blocks = deque(_blocks(ranges))
        program = self.tables.program()

        def left() -> int:
            under_way = [worker.ranges for worker in self.workers if worker.ranges is not None]
            return sum(_states_in(some) for some in (*blocks, *under_way))

        while blocks or any(worker.ranges is not None for worker in self.workers):
            self.together(partial(self.expand, blocks, program), len(blocks))
            if (put_off := self.learn()) is not None:
                blocks.append(put_off)
                program = self.tables.program()
            if any(worker.status == kernels.FULL for worker in self.workers) or not blocks:
                self.deliver()
            self.watch(self.figures(left() + self.arriving()))
        self.deliver()
        flags: np.ndarray[Any, Any] = np.max([worker.notes.flags for worker in self.workers], axis=0)
        return flags

    def expand(self, blocks: deque[Any], program: Program, worker: _Worker) -> None:
        """Expand block after block, until the outbox is full or there is something to be learned."""
        cursor = worker.notes.cursor
        while True:
            if worker.ranges is None:
                try:
                    worker.ranges = blocks.popleft()
                except IndexError:
                    worker.status = kernels.DONE
                    return
                cursor[0] = cursor[1] = 0
            worker.status = kernels.expand(
                self.shape,
                self.visited.states,
                self.visited.marks,
                worker.ranges,
                program,
                worker.outbox,
                worker.notes,
                worker.scratch,
                PATIENCE,
            )
            if worker.status != kernels.DONE:
                return
            worker.ranges = None

    def together(self, work: Callable[[_Worker], None], pieces: int) -> None:
        """Let all workers work; or one, if there is not enough to do."""
        busy = [worker for worker in self.workers if worker.ranges is not None]
        idle = [worker for worker in self.workers if worker.ranges is None]
        busy += idle[: max(0, pieces)]
        if len(busy) == 1:
            work(busy[0])
        else:
            for _ in self.pool.map(work, busy):
                pass

    def deliver(self) -> None:
        """Let every partition take in what is on its way to it."""
        total = int(self.sent.count.sum())
        if not total:
            return
        parts = len(self.workers) if total > BLOCK else 1
        bounds = [PARTITIONS * part // parts for part in range(parts + 1)]

        def deliver(part: int) -> None:
            self.visited.insert(bounds[part], bounds[part + 1], self.sent, self.workers[part].scratch)

        if parts == 1:
            deliver(0)
        else:
            for _ in self.pool.map(deliver, range(parts)):
                pass

    def learn(self) -> Any:
        """Learn what workers did not know; the states that have to be expanded once more."""
        put_off = []
        began = time.perf_counter()
        reach = 2 * len(self.shape) + 2
        for worker in self.workers:
            notes = worker.notes
            missing, waiting = int(notes.cursor[2]), int(notes.cursor[3])
            for row in notes.missing[: missing * reach].reshape(-1, reach).tolist():
                self.tables.learn(row[0], row[1:])
            put_off += notes.put_off[: 2 * waiting].reshape(-1, 2).tolist()
            notes.cursor[2:4] = 0
        self.python += time.perf_counter() - began
        if not put_off:
            return None
        return np.array([(state, state + 1, marks) for state, marks in sorted(put_off)], np.int64)

    def tune(self) -> None:
        """Now and then, let the tables see how they are used."""
        if self.tunings and self.visited.size >= self.tunings[0]:
            began = time.perf_counter()
            del self.tunings[0]
            level = self.visited.level(len(self.visited.levels))
            self.tables.tune(level[:: max(1, len(level) // SAMPLE)].tolist())
            self.python += time.perf_counter() - began

    def stop(self) -> None:
        """Let the workers come to an end."""
        for worker in self.workers:
            worker.notes.cursor[4] = 1

    # What was met.

    def judged(self, flags: np.ndarray[Any, Any]) -> None:
        """Properties of the states of the level that was swept."""
        failures = []
        for number, tables in self.of_properties("state", flags):
            found = self.lowest_state(tables, FOUND)
            failed = self.lowest_state(tables, FAILED) if 2 in flags[tables] else None
            if failed is not None and (found is None or failed < found):
                failures.append((failed, number))
            if found is not None:
                self.findings.setdefault(number, Finding(self.depth, self.path_to(found, self.depth)))
        for state, number in sorted(failures):
            self.model.found_in(self.model.layout.unpack(state), [number])
            raise self.not_repeated(self.model.properties[number].name, state)

    def expanded(self, flags: np.ndarray[Any, Any]) -> None:
        """Properties of the steps from the level that was swept."""
        n_actions = self.tables.actions
        steps = dict(self.of_properties("step", flags))
        every = [table for tables in steps.values() for table in tables]
        if 2 in flags[:n_actions] or 2 in flags[every]:
            (number, index), state, _ = self.lowest_step(kernels.FAILS, every, FAILED)
            wanted = [number for number in self.tables.of_kind("step") if number not in self.findings]
            self.model.expand(self.model.layout.unpack(state), wanted)
            raise self.not_repeated(str(self.model.actions[number].step(index)), state)
        found = {number: (kernels.BY_STEP, tables) for number, tables in steps.items()}
        if 1 in flags[:n_actions]:
            found[self.type_ok] = kernels.OUTSIDE, []
        for number, (what, tables) in found.items():
            if number not in self.findings:
                choice, before, _ = self.lowest_step(what, tables, FOUND)
                initial, choices = self.path_to(before, self.depth)
                self.findings[number] = Finding(self.depth + 1, (initial, [*choices, choice]))
        if flags[-1] and self.deadlock in self.question.properties and self.deadlock not in self.findings:
            dead = self.sought(kernels.DEAD, [], 0)
            assert dead is not None
            self.findings[self.deadlock] = Finding(self.depth, self.path_to(dead[0], self.depth))

    def not_repeated(self, what: str, state: int) -> EvaluationFailed:
        """It raised while it was recorded, and does not when it is done again."""
        again = "it is not deterministic: done twice in one state, it raised once and once it did not"
        return EvaluationFailed(what, again, self.model.show(self.model.layout.unpack(state)))

    def of_properties(self, kind: str, flags: np.ndarray[Any, Any]) -> Iterable[tuple[int, list[int]]]:
        """The tables of properties of which some table was flagged."""
        return [(number, tables) for number, tables in self.tables.of_kind(kind).items() if flags[tables].any()]

    def lowest_state(self, tables: list[int], outcome: int) -> int | None:
        found = self.sought(kernels.IN_STATE, tables, outcome)
        return None if found is None else found[0]

    def lowest_step(self, what: int, tables: list[int], outcome: int) -> tuple[tuple[int, int], int, int]:
        found = self.sought(what, tables, outcome)
        assert found is not None
        end, before, number = found
        table = self.tables.all[number]
        return (table.number, table.index), before, end

    def sought(
        self, what: int, tables: list[int], outcome: int, level: int = 0, target: int = 0
    ) -> tuple[int, int, int] | None:
        """The lowest of what is sought in a level, by default the one that was swept last: end state, state before,
        table.
        """
        words = len(self.shape)
        best = np.zeros(2 * words, np.uint64)
        number = kernels.seek(
            self.shape,
            self.visited.states,
            self.visited.levels[(level or self.depth) - 1],
            self.tables.program(),
            what,
            np.array(tables, np.int64),
            outcome,
            self.words_of(target),
            best,
            self.workers[0].scratch,
        )
        if number < 0:
            return None
        return _integer(best[:words]), _integer(best[words:]), int(number)

    def path_to(self, state: int, level: int) -> Path:
        """The lowest way to a state of a level."""
        choices: list[tuple[int, int]] = []
        for before in range(level - 1, 0, -1):
            found = self.sought(kernels.TO_STATE, [], 0, before, state)
            assert found is not None, "a state of a level has a predecessor in the one before"
            _, state, number = found
            table = self.tables.all[number]
            choices.append((table.number, table.index))
        return self.model.layout.unpack(state), choices[::-1]

    # Figures.

    def packed(self, state: Values) -> np.ndarray[Any, Any]:
        return self.words_of(self.model.layout.pack(state))

    def words_of(self, packed: int) -> np.ndarray[Any, Any]:
        content = packed.to_bytes(8 * len(self.shape), "big")
        return np.frombuffer(content, ">u8").astype(np.uint64)

    def arriving(self) -> int:
        """States of the level that is being made."""
        return int((self.visited.storage.size - self.visited.storage.level).sum())

    def figures(self, queue: int) -> Figures:
        taken = sum(int(worker.notes.taken.sum()) for worker in self.workers)
        seconds, distinct = time.perf_counter() - self.started, self.visited.size
        each = self.visited.allocated / distinct if distinct else None
        python = self.python / seconds if seconds else None
        return Figures(self.depth, self.generated + taken, distinct, queue, seconds, each, python)

    def report(self, ended: str, queue: int) -> Exploration:
        enabled, taken = (
            np.sum([getattr(worker.notes, name) for worker in self.workers], axis=0) for name in ("enabled", "taken")
        )
        coverage = tuple(
            Coverage(int(one), int(two), int(three))
            for one, two, three in zip(enabled, taken, self.new_states, strict=True)
        )
        figures = self.figures(queue)
        return Exploration(ended, figures, coverage, dict(self.findings), figures.bytes_per_state)

    def as_of(self, before: Exploration, ended: str) -> Exploration:
        """What was known before the level was swept, and what was found in its states."""
        seconds = time.perf_counter() - self.started
        figures = before.figures._replace(seconds=seconds)
        return Exploration(ended, figures, before.coverage, dict(self.findings), before.bytes_per_state)


def _states_in(ranges: np.ndarray[Any, Any]) -> int:
    return int((ranges[:, 1] - ranges[:, 0]).sum())


def _blocks(ranges: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """A level in pieces that are worth a call."""
    total = _states_in(ranges)
    return [part for part in np.array_split(ranges, max(1, min(len(ranges), total // BLOCK))) if len(part)]


def _integer(words: np.ndarray[Any, Any]) -> int:
    return int.from_bytes(words.astype(">u8").tobytes(), "big")
