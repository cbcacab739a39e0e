"""Walks at compiled speed, through the tables that the local engine learns.

They take exactly the steps of `spec.checking.random.walks`. A walk that reaches something unknown is set aside, and
others continue. When enough walks wait, the unknown is learned for all of them; then each continues from its place.
So no run depends on what was learned before, or for which run.

The module is long because it keeps the compiled loop beside the arrays on which it works.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from spec.checking.exploration import is_violation
from spec.checking.local.arrays import Program
from spec.checking.local.compiling import Kernels, Wide
from spec.checking.local.intrinsics import trailing_zeros
from spec.checking.local.jit import Array, compiled, inlined, mixed, part
from spec.checking.local.outcomes import CLOSED, LEFT, UNKNOWN, USUAL
from spec.checking.local.outcomes import FAILED as RAISED
from spec.checking.local.shape import shape_of
from spec.checking.local.tables import DecisionTables
from spec.checking.local.traversing import apply, ask, clear, follow, listed, mask
from spec.checking.machine.interrupts import DeferredSignals
from spec.checking.model import DEADLOCK, TYPE_OK, EvaluationFailed, Model, Path
from spec.checking.random import chance
from spec.checking.random.sketch import REGISTERS, ZEROS, Sketch
from spec.checking.random.walks import FAILED, OnWalkProgress, PlainWalker, Tally, WalkDiscovery, Walks
from spec.checking.states import splitmix
from spec.checking.states.packed_state import PackedState
from spec.language.state import Values

WAITING = 64
"""Walks that are set aside before missing paths are learned; the more wait, the more of them miss the same path."""
QUOTA = 1 << 19
"""Steps after which a worker returns, so that progress is reported and Ctrl-C is handled."""


class Plan(NamedTuple):
    """The task of the walks; the same for all workers."""

    initial: Array
    """The initial states, one after the other."""
    live: Array
    """The tables that are walked."""
    of_steps: Array
    """The walked tables that belong to properties of steps."""
    property_of: Array
    """By table, its property; not for actions."""
    witness_of: Array
    """By table, the number of a witness; -1 for anything else."""
    seed: Array
    """One number: the seed, mixed."""
    steps: int
    """The most steps of a run."""
    levels: int
    bits: int
    by_instance: int
    """The policy, see `chance.Policy`."""
    deadlock: int
    """The property's number, or NOTHING if it is not checked."""


class WalkStatistics(IntEnum):
    """The places of `WalkerOutput.statistics`."""

    RUNS = 0
    STEPS = 1
    EARLY = 2
    """Runs that ended early."""
    LONGEST = 3
    """States of the longest run."""


class BadEnd(IntEnum):
    """The places of `WalkerOutput.end`: the run that ended badly, the lowest of several."""

    RUN = 0
    STEPS = 1
    PROPERTY = 2
    """The broken property, or FAILED."""


class Waiting(IntEnum):
    """The columns of `WalkerOutput.waiting`. After them are the state, and the witnesses that were seen."""

    RUN = 0
    STEP = 1
    FOUND = 2
    """The property decided by the last step, minus FAILED."""
    CHANCE = 3


class WalkCursor(IntEnum):
    """The places of `WalkerOutput.cursor`."""

    NEXT = 0
    BEHIND = 1
    """The next run, and one past the last."""
    WAITING = 2
    MISSING = 3
    """How many walks were set aside, and how many paths are missing."""
    RESUMED = 4
    TO_RESUME = 5
    """Of the walks that were set aside before: how many have resumed, and how many there are."""


class WalkerOutput(NamedTuple):
    """The results of a worker's runs, and its progress."""

    enabled: Array
    taken: Array
    """By action."""
    witnessed: Array
    earliest: Array
    """By witness."""
    sketch: Array
    statistics: Array
    """See `WalkStatistics`."""
    end: Array
    """See `BadEnd`."""
    waiting: Array
    """Walks that were set aside, with the columns of `Waiting`."""
    missing: Array
    """Paths that are not learned yet: the table, and the registers."""
    cursor: Array
    """See `WalkCursor`."""


class WalkerScratch(NamedTuple):
    """Working memory of one worker."""

    registers: Array
    live: Array
    active: Array
    """The tables whose outcome here is not the usual one."""
    outcome_of: Array
    """By table, if it is active."""
    tables: Array
    bases: Array
    outcomes: Array
    state: Array
    after: Array
    seen: Array
    """The witnesses that were seen in this run, one bit for each."""
    weights: Array
    enabled: Array
    """By action: instances that are enabled here."""


NOTHING = 1 << 30
"""No property."""
_WAITING = len(Waiting)
_NO_HISTORY = np.zeros(0, np.int32)
_STRIDE, _WEIGHTS = splitmix.STRIDE, chance.WEIGHTS
_mask, _listed, _follow = inlined(mask), inlined(listed), inlined(follow)
"""A walk calls these for each single state: as parts they would take a fifth of its time."""


@inlined
def _goes_on(cursor: Array) -> Any:
    """Whether there is a walk to continue, or a run to begin."""
    return (
        cursor[WalkCursor.RESUMED] < cursor[WalkCursor.TO_RESUME]
        or cursor[WalkCursor.NEXT] < cursor[WalkCursor.BEHIND]
    )


@part
def _draw_weights(plan: Plan, key: Any, weights: Array) -> None:
    """See `chance.Chance.weight`."""
    levels, bits = uint64(plan.levels), uint64(plan.bits)
    for action in range(weights.shape[0]):
        level = mixed((key ^ uint64(_WEIGHTS)) + uint64(action + 1) * uint64(_STRIDE)) % levels
        weights[action] = uint64(1) << (bits * level)


@part
def _sketched(output: WalkerOutput, state: Array, words: int) -> None:
    """See `sketch.note`."""
    hashed = uint64(_STRIDE)
    for k in range(words):
        hashed = mixed(hashed ^ state[k])
    zeros = np.uint8(trailing_zeros(hashed | (uint64(1) << uint64(ZEROS))) + uint64(1))
    at = hashed >> uint64(ZEROS)
    if zeros > output.sketch[at]:
        output.sketch[at] = zeros


@part
def _judged(plan: Plan, output: WalkerOutput, seen: Array, table: Any, outcome: int, length: Any, found: Any) -> Any:
    """The broken property so far, if any, after a property's unusual outcome. Witnesses are recorded."""
    if outcome == RAISED:
        return FAILED
    witness = plan.witness_of[table]
    if witness < 0:
        return min(found, plan.property_of[table])
    bit = uint64(1) << uint64(witness & 63)
    if seen[witness >> 6] & bit == uint64(0):
        seen[witness >> 6] |= bit
        output.witnessed[witness] += 1
        output.earliest[witness] = min(output.earliest[witness], length)
    return found


@part
def _chosen(plan: Plan, program: Program, scratch: WalkerScratch, total: Any, one: Any, other: Any) -> int:
    """The table of the step that two random numbers select."""
    enabled, step_of = scratch.enabled, program.step_of
    left, action = one % total, 0
    while True:
        weight = scratch.weights[action] if enabled[action] > 0 else uint64(0)
        if plan.by_instance != 0:
            weight *= uint64(enabled[action])
        if left < weight:
            break
        left -= weight
        action += 1
    rank = np.int64(other % uint64(enabled[action]))
    for m in range(scratch.active.shape[0]):
        word = scratch.active[m]
        while word != uint64(0):
            table = np.int64(trailing_zeros(word)) + (m << 6)
            word &= word - uint64(1)
            if np.int64(step_of[table] & uint64(0xFFFF)) == action and scratch.outcome_of[table] >= LEFT:
                if rank == 0:
                    return int(table)
                rank -= 1
    return -1


@compiled
def walk(
    shape: Any, plan: Plan, program: Program, output: WalkerOutput, scratch: WalkerScratch, history: Array, quota: int
) -> int:
    """Continue the walks that were set aside, then begin runs, until none is left or enough wait; the steps done.

    `history` receives the table of each step, as far as there is room.
    """
    words = len(shape)
    initial, step_of, affects = plan.initial, program.step_of, program.affects
    steps, by_instance = plan.steps, plan.by_instance != 0
    n_actions, n_judging, n_tables = program.actions, program.judging, program.tables
    registers, live, active, outcome_of = scratch.registers, scratch.live, scratch.active, scratch.outcome_of
    tables, outcomes, state, after = scratch.tables, scratch.outcomes, scratch.state, scratch.after
    seen, enabled, weights = scratch.seen, scratch.enabled, scratch.weights
    masks, n_seen, all_actions = live.shape[0], seen.shape[0], weights.shape[0]
    cursor, waiting, missing = output.cursor, output.waiting, output.missing
    end, statistics = output.end, output.statistics
    row = _WAITING + words + n_seen
    done = 0
    while done < quota and _goes_on(cursor):
        if (cursor[WalkCursor.WAITING] + 1) * row > waiting.shape[0]:
            break
        step: Any = np.int64(0)
        found: Any = np.int64(NOTHING)
        if cursor[WalkCursor.RESUMED] < cursor[WalkCursor.TO_RESUME]:
            at = cursor[WalkCursor.RESUMED] * row
            cursor[WalkCursor.RESUMED] += 1
            run, step = np.int64(waiting[at + Waiting.RUN]), np.int64(waiting[at + Waiting.STEP])
            found = np.int64(waiting[at + Waiting.FOUND]) + FAILED
            key = mixed(plan.seed[0] + uint64(run) * uint64(_STRIDE))
            drawn = waiting[at + Waiting.CHANCE]
            for k in range(words):
                state[k] = waiting[at + _WAITING + k]
            for k in range(n_seen):
                seen[k] = waiting[at + _WAITING + words + k]
        else:
            run = cursor[WalkCursor.NEXT]
            cursor[WalkCursor.NEXT] += 1
            key = mixed(plan.seed[0] + uint64(run) * uint64(_STRIDE))
            drawn = key + uint64(_STRIDE)
            at = np.int64(mixed(drawn) % uint64(initial.shape[0] // words)) * words
            for k in range(words):
                state[k] = initial[at + k]
            for k in range(n_seen):
                seen[k] = uint64(0)
        if run > end[BadEnd.RUN]:
            continue
        _draw_weights(plan, key, weights)
        for m in range(masks):
            live[m] = plan.live[m]
            active[m] = uint64(0)
        put_aside = False
        while True:
            # Evaluate the state. Only tables that read a changed slot are walked again.
            for k in range(words):
                registers[k] = state[k]
                registers[words + k] = state[k]
            registers[2 * words] = step_of[n_actions]
            _mask(program, registers, live)
            number = _listed(live, 0, 0, n_tables, tables, 0)
            _follow(program, registers, number, tables, scratch.bases, outcomes)
            for i in range(number):
                outcome, table = outcomes[i], tables[i]
                if outcome == USUAL:
                    continue
                if outcome == UNKNOWN:
                    put_aside = True
                    cursor[WalkCursor.MISSING] = ask(
                        missing, cursor[WalkCursor.MISSING], table, registers, 0, 2 * words + 1
                    )
                active[table >> 6] |= uint64(1) << uint64(table & 63)
                outcome_of[table] = outcome
            if put_aside:
                break
            _sketched(output, state, words)
            for a in range(all_actions):
                enabled[a] = 0
            raises = closed = False
            judged = -1  # the property decided last: its other instances are skipped
            for m in range(masks):
                word = active[m]
                while word != uint64(0):
                    table = np.int64(trailing_zeros(word)) + (m << 6)
                    word &= word - uint64(1)
                    outcome = outcome_of[table]
                    if table >= n_judging:
                        break
                    if table >= n_actions:
                        if plan.property_of[table] != judged:
                            found = _judged(plan, output, seen, table, outcome, step + 1, found)
                        judged = plan.property_of[table]
                    elif outcome == RAISED:
                        raises = True
                    elif outcome == CLOSED:
                        closed = True
                    else:
                        enabled[np.int64(step_of[table] & uint64(0xFFFF))] += 1
            if found != NOTHING or step == steps:
                break
            if raises:
                found = FAILED
                break
            total = uint64(0)
            for a in range(all_actions):
                if enabled[a] > 0:
                    total += weights[a] * uint64(enabled[a]) if by_instance else weights[a]
            if total == uint64(0):
                statistics[WalkStatistics.EARLY] += 1
                if not closed:
                    found = np.int64(plan.deadlock)
                break

            # Choose a step, and evaluate properties of steps.
            one, other = drawn + uint64(_STRIDE), drawn + uint64(2) * uint64(_STRIDE)
            table = _chosen(plan, program, scratch, total, mixed(one), mixed(other))
            outcome = outcome_of[table]
            if outcome == LEFT:
                found = 0
            else:
                apply(program, outcome, registers, 0, after, 0, words)
                for m in range(masks):
                    live[m] = plan.live[m] & (active[m] | affects[outcome, m])
                number = _listed(live, 0, n_judging, n_tables, tables, 0)
                if number > 0:
                    for k in range(words):
                        registers[k] = after[k]
                    registers[2 * words] = step_of[table]
                    _follow(program, registers, number, tables, scratch.bases, outcomes)
                    for i in range(number):
                        if outcomes[i] == UNKNOWN:
                            put_aside = True
                            cursor[WalkCursor.MISSING] = ask(
                                missing, cursor[WalkCursor.MISSING], tables[i], registers, 0, 2 * words + 1
                            )
                    if put_aside:
                        break
                    judged = -1
                    for i in range(number):
                        if outcomes[i] != USUAL and plan.property_of[tables[i]] != judged:
                            found = _judged(plan, output, seen, tables[i], outcomes[i], step + 2, found)
                            judged = plan.property_of[tables[i]]
            for a in range(all_actions):
                output.enabled[a] += enabled[a] > 0
            output.taken[np.int64(step_of[table] & uint64(0xFFFF))] += 1
            statistics[WalkStatistics.STEPS] += 1
            if step < history.shape[0]:
                history[step] = table
            step += 1
            done += 1
            if outcome == LEFT:
                break
            drawn = other
            for k in range(words):
                state[k] = after[k]
            for m in range(masks):
                # A property of steps also reads the state before, which effects do not account for.
                touched = affects[outcome, m] | plan.of_steps[m]
                live[m] = plan.live[m] & touched
                active[m] &= ~touched
            if done >= quota:
                put_aside = True
                break
        if put_aside:
            at = cursor[WalkCursor.WAITING] * row
            cursor[WalkCursor.WAITING] += 1
            waiting[at + Waiting.RUN], waiting[at + Waiting.STEP] = uint64(run), uint64(step)
            waiting[at + Waiting.FOUND], waiting[at + Waiting.CHANCE] = uint64(found - FAILED), drawn
            for k in range(words):
                waiting[at + _WAITING + k] = state[k]
            for k in range(n_seen):
                waiting[at + _WAITING + words + k] = seen[k]
            continue
        statistics[WalkStatistics.RUNS] += 1
        statistics[WalkStatistics.LONGEST] = max(statistics[WalkStatistics.LONGEST], step + 1)
        if found != NOTHING:
            end[BadEnd.RUN], end[BadEnd.STEPS], end[BadEnd.PROPERTY] = run, step, found
    return done


def load(kernels: Kernels) -> None:
    """Compile or load the code of walks, see `compiling`."""
    model = Model(Wide(words=kernels.words))
    with ThreadPoolExecutor(1) as threads:
        CompiledWalker(Walks(model, model.numbers([TYPE_OK]), steps=1, seed=0), threads, 1)
    clear(np.zeros((1, 1), np.uint64), 0, 0, 0)


class CompiledWalker:
    """Walks on tables.

    Args:
        asked: the request; its model must fit the local engine.
        threads: run the workers.
        workers: the number of workers.
    """

    def __init__(self, asked: Walks, threads: ThreadPoolExecutor, workers: int):
        self.asked, self.model, self.threads = asked, asked.model, threads
        self.tables = DecisionTables(asked.model, asked.properties)
        self.shape = shape_of(asked.model.layout.words)
        self.seconds_in_python = 0.0
        tables, properties = self.tables, asked.model.properties
        judging = [table.number if table.kind != "action" else -1 for table in tables.all]
        self.witnesses = sorted({n for n in judging if n >= 0 and not is_violation(asked.model, n)})
        dead = asked.model.numbers([DEADLOCK])[0]
        live = tables.live()
        first = [PackedState.of_values(asked.model.layout, state) for state in asked.model.first_states()]
        self.plan = Plan(
            initial=np.array([state.words for state in first], np.uint64).reshape(-1),
            live=live,
            of_steps=live & ~tables.live([n for n in range(len(properties)) if properties[n].over_steps]),
            property_of=np.array(judging, np.int64),
            witness_of=np.array([self.witnesses.index(n) if n in self.witnesses else -1 for n in judging], np.int64),
            seed=np.array([splitmix.mixed(asked.seed & splitmix.MASK)], np.uint64),
            steps=asked.steps,
            levels=asked.policy.levels,
            bits=asked.policy.bits,
            by_instance=int(asked.policy.by_instance),
            deadlock=dead if dead in asked.properties else NOTHING,
        )
        self.workers = [self._scratch() for _ in range(workers)]
        self._together([(0, 0)], _silent)  # load the compiled code before time is measured

    def _scratch(self) -> WalkerScratch:
        words, tables, actions = len(self.shape), len(self.tables.all), len(self.model.actions)
        masks = len(self.plan.live)
        return WalkerScratch(
            registers=np.zeros(2 * words + 1, np.uint64),
            live=np.zeros(masks, np.uint64),
            active=np.zeros(masks, np.uint64),
            outcome_of=np.zeros(tables, np.int64),
            tables=np.zeros(tables + 8, np.int64),
            bases=np.zeros(tables + 8, np.int64),
            outcomes=np.zeros(tables + 8, np.int64),
            state=np.zeros(words, np.uint64),
            after=np.zeros(words, np.uint64),
            seen=np.zeros(self._words_of_witnesses, np.uint64),
            weights=np.zeros(actions, np.uint64),
            enabled=np.zeros(actions, np.int64),
        )

    @property
    def _words_of_witnesses(self) -> int:
        return (len(self.witnesses) + 63) // 64

    def _output(self, first: int, last: int) -> WalkerOutput:
        words, actions, witnesses = len(self.shape), len(self.model.actions), len(self.witnesses)
        cursor = np.zeros(len(WalkCursor), np.int64)
        cursor[WalkCursor.NEXT], cursor[WalkCursor.BEHIND] = first, last
        return WalkerOutput(
            enabled=np.zeros(actions, np.int64),
            taken=np.zeros(actions, np.int64),
            witnessed=np.zeros(witnesses, np.int64),
            earliest=np.full(witnesses, np.iinfo(np.int64).max, np.int64),
            sketch=np.zeros(REGISTERS, np.uint8),
            statistics=np.zeros(len(WalkStatistics), np.int64),
            end=np.array([np.iinfo(np.int64).max, 0, NOTHING], np.int64),
            waiting=np.zeros(WAITING * (_WAITING + words + self._words_of_witnesses), np.uint64),
            missing=np.zeros((WAITING + len(self.tables.all)) * (2 * words + 2), np.uint64),
            cursor=cursor,
        )

    def walk(self, first: int, last: int, on_progress: OnWalkProgress) -> Tally:
        """Do the runs from the first up to the last, in order, stopping after one that ends badly.

        Raises:
            EvaluationFailed: an action or property raised, or broke the rules for such functions.
        """
        parts = max(1, min(len(self.workers), last - first))
        bounds = [first + (last - first) * part // parts for part in range(parts + 1)]
        outputs = self._together(list(pairwise(bounds)), on_progress)
        end = min((WalkDiscovery(*each.end.tolist()) for each in outputs), key=lambda end: end.run)
        if end.property == NOTHING:
            return self._tally(outputs, None)
        if end.property == FAILED:
            PlainWalker(self.asked).walk(end.run, end.run + 1, on_progress)
            raise self._not_repeated(end)
        # Some workers have gone beyond it: only the runs up to this one count.
        return self._tally(self._together([(first, end.run + 1)], _silent), end)

    def path(self, run: int, steps: int | None = None) -> Path:
        """The path of a run, for so many steps, or to its end."""
        history = np.zeros(self.asked.steps if steps is None else steps, np.int32)
        output = self._together([(run, run + 1)], _silent, history)[0]
        done = min(len(history), int(output.statistics[WalkStatistics.STEPS]))
        choices = [self.tables.all[table] for table in history[:done].tolist()]
        return self._first_of(run), [(table.number, table.index) for table in choices]

    def _first_of(self, run: int) -> Values:
        initial = self.plan.initial.reshape(-1, len(self.shape))
        chosen = initial[chance.Chance(self.asked.seed, run).below(len(initial))]
        return PackedState.of_words(self.model.layout, chosen).values

    def _together(
        self, ranges: Sequence[tuple[int, int]], on_progress: OnWalkProgress, history: Array = _NO_HISTORY
    ) -> list[WalkerOutput]:
        """Let each worker do a range of runs. Tables are learned only while no worker walks."""
        every = [self._output(*each) for each in ranges]
        busy = list(zip(every, self.workers, strict=False))
        program = self.tables.program()
        while True:
            go_on = partial(self._go_on, program, history)
            if len(busy) == 1:
                go_on(busy[0])
            else:
                with DeferredSignals():  # a quota takes only moments
                    list(self.threads.map(go_on, busy))
            so_far = sum(output.statistics for output in every)
            on_progress(int(so_far[WalkStatistics.RUNS]), int(so_far[WalkStatistics.STEPS]))
            busy = [part for part in busy if _unfinished(part[0])]
            if not busy:
                return every
            if sum([self._learn(output) for output, _ in busy]):
                program = self.tables.program()

    def _go_on(self, program: Program, history: Array, part: tuple[WalkerOutput, WalkerScratch]) -> None:
        walk(self.shape, self.plan, program, *part, history, QUOTA)

    def _learn(self, output: WalkerOutput) -> int:
        """Learn the paths that a worker missed, and let it resume the walks set aside; the number of those paths."""
        began = time.perf_counter()
        cursor, reach = output.cursor, 2 * len(self.shape) + 2
        missing = int(cursor[WalkCursor.MISSING])
        for row in output.missing[: missing * reach].reshape(-1, reach).tolist():
            self.tables.learn(row[0], row[1:])
        waiting = output.waiting.reshape(WAITING, -1)
        not_resumed = waiting[cursor[WalkCursor.RESUMED] : cursor[WalkCursor.TO_RESUME]]
        left = np.concatenate([waiting[: cursor[WalkCursor.WAITING]], not_resumed])
        waiting[: len(left)] = left
        cursor[WalkCursor.WAITING :] = 0
        cursor[WalkCursor.TO_RESUME] = len(left)
        self.seconds_in_python += time.perf_counter() - began
        return missing

    def _tally(self, every: Sequence[WalkerOutput], end: WalkDiscovery | None) -> Tally:
        def total(name: str) -> list[int]:
            counts: list[int] = sum(getattr(output, name) for output in every).tolist()
            return counts

        runs, steps, early, _ = total("statistics")
        witnessed = dict(zip(self.witnesses, total("witnessed"), strict=True))
        earliest = np.min([output.earliest for output in every], axis=0).tolist()
        return Tally(
            runs,
            steps,
            early,
            max(int(output.statistics[WalkStatistics.LONGEST]) for output in every),
            total("enabled"),
            total("taken"),
            {number: runs for number, runs in witnessed.items() if runs},
            {number: at for number, at in zip(self.witnesses, earliest, strict=True) if witnessed[number]},
            Sketch(np.max([output.sketch for output in every], axis=0).tobytes()),
            end,
        )

    def _not_repeated(self, end: WalkDiscovery) -> EvaluationFailed:
        state = self.model.show(self.path(end.run, end.steps)[0])
        cause = self.tables.recorder.why_not_repeated(
            (table.instance for table in self.tables.all), "it raises now and then: it is not deterministic"
        )
        return EvaluationFailed(f"run {end.run}", cause, state)


def _silent(runs: int, steps: int) -> None:
    """Report nothing."""


def _unfinished(output: WalkerOutput) -> bool:
    cursor = output.cursor
    return bool(
        cursor[WalkCursor.NEXT] < cursor[WalkCursor.BEHIND]
        or cursor[WalkCursor.WAITING]
        or cursor[WalkCursor.RESUMED] < cursor[WalkCursor.TO_RESUME]
    )
