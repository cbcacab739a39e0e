"""Seeking: finds the place of a sweep's discovery in a level, the lowest of all such places.

A sweep only flags the table that has made a discovery. That is rare, so going through the level once more costs
little. Predecessors of a state are found in the same way.

A search uses only the states of a level and the tables, not what a sweep knew about these states. Missing paths are
learned on the way. So it does not matter whether the level was expanded here, before an interruption, or by another
engine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from spec.checking.local.arrays import MET, RAISED, Cursor, Program, Scratch, StateRange, StateRanges
from spec.checking.local.jit import Array, compiled, inlined, part
from spec.checking.local.learning_budget import LearningBudget
from spec.checking.local.outcomes import EFFECTS, FAILED, FOUND, LEFT, UNKNOWN, USUAL
from spec.checking.local.representing import Orbits, represent_in
from spec.checking.local.rows import Rows, word_of
from spec.checking.local.storing import hash_of
from spec.checking.local.tables import DecisionTables
from spec.checking.local.traversing import apply, ask, listed, mask, outcome_at
from spec.checking.model import DEADLOCK, TYPE_OK, EvaluationFailed
from spec.checking.runs.discoveries import PathEnd, Predecessor, keep_lowest
from spec.checking.runs.level_discoveries import STEP, LevelDiscoveries, LocatedFailure
from spec.checking.states.packed import bytes_of, words_of
from spec.checking.states.packed_state import BYTES, PackedState
from spec.language.instances import Instance
from spec.language.state import Values

PATIENCE = 64
"""Unknown paths that are learned together; the more there are, the more of them are the same."""
TO_STATE, BY_STEP, OUTSIDE, DEAD, IN_STATE, FAILS = range(6)
"""The kinds of search: steps to a state, steps and states for which one of the tables has the outcome, steps that
leave a domain, states without steps, states that cannot be expanded because an action raises."""
AT_A_TIME = 1 << 19
"""States after which a search returns, at least to handle Ctrl-C."""
PARALLEL_FROM = 1 << 14
"""The fewest states that several workers search together."""
BEYOND = 1 << 10
"""States to search beyond the first with a missing path, so that missing paths are learned together."""


class Match(NamedTuple):
    """The lowest match of a search: a step's successor or a state; the state before, and the table of the step."""

    end: bytes
    before: bytes
    table: int


class _Question(NamedTuple):
    """The matches that a search looks for."""

    what: int
    """The kind of search."""
    tables: Array
    """The tables that must have the outcome."""
    outcome: int
    targets: Array
    """The states to which a step is sought, word by word."""


class _Piece(NamedTuple):
    """A worker's share of the states, and its matches so far."""

    ranges: Array
    cursor: Array
    """How far it was searched, see `Cursor`."""
    found: Array
    """The table of each match, -1 as long as there is none."""
    best: Array
    """The state at the end of each match, and the state before."""
    missing: Array
    """Room for missing paths."""
    scratch: Scratch
    orbits: Orbits | None
    """With working memory of its own, like the scratch."""

    @classmethod
    def of(cls, ranges: Array, scratch: Scratch, orbits: Orbits | None, words: int, matches: int) -> _Piece:
        """A piece that was not searched yet, with room for so many matches."""
        return cls(
            ranges=ranges,
            cursor=np.zeros(len(Cursor), np.int64),
            found=np.full(matches, -1, np.int64),
            best=np.zeros((matches, 2 * words), np.uint64),
            missing=np.zeros(PATIENCE * (2 * words + 2), np.uint64),
            scratch=scratch,
            orbits=orbits,
        )

    @property
    def is_done(self) -> bool:
        """Whether all of it was searched."""
        return bool(self.cursor[Cursor.RANGE] == len(self.ranges))

    def skip(self) -> int:
        """Skip the state at the cursor; its place."""
        at = int(max(self.cursor[Cursor.STATE], self.ranges[self.cursor[Cursor.RANGE], StateRange.FIRST]))
        self.cursor[Cursor.STATE] = at + 1
        return at

    def matches(self) -> Iterator[tuple[int, Match]]:
        """The matches, each with its number."""
        words = self.best.shape[1] // 2
        ends, befores = bytes_of(self.best[:, :words]), bytes_of(self.best[:, words:])
        for number, match in enumerate(map(Match, ends, befores, self.found.tolist())):
            if match.table >= 0:
                yield number, match


Each = Callable[[Callable[[_Piece], int], Sequence[_Piece]], list[int]]
"""Calls a function with each of these."""


class Seeker:
    """Finds the discoveries that tables have flagged.

    Args:
        budget: decides whether missing paths are learned. If not, a state that needs one is skipped, because its
            discoveries were found when it was expanded in plain Python.
        scratches: working memory for each piece of a search; nobody else may use it meanwhile.
        each: searches all pieces, at the same time if possible.
        prepare: called before each search; it may wait until the kernel is compiled.
    """

    def __init__(
        self,
        tables: DecisionTables,
        budget: LearningBudget,
        scratches: Sequence[Scratch],
        each: Each = lambda work, pieces: [*map(work, pieces)],
        prepare: Callable[[], None] = lambda: None,
    ):
        self.tables, self.model, self.budget, self.scratches = tables, tables.model, budget, scratches
        self.each, self.prepare = each, prepare
        self.orbits = [tables.orbits and tables.orbits.for_another() for _ in scratches]
        """For each scratch, the orbits with working memory of their own."""
        self.words = tables.words
        self._reach = 2 * tables.words + 2
        self.type_ok, self.deadlock = (self.model.numbers([name])[0] for name in (TYPE_OK, DEADLOCK))

    def load(self) -> None:
        """Load the compiled code before time is measured."""
        self.predecessors(StateRanges.of(np.zeros((0, self.words), np.uint64)), [])

    def in_states(self, where: StateRanges, flags: Array, discoveries: LevelDiscoveries) -> None:
        """Find discoveries of properties of states, in states that were judged."""
        for number, tables in self._flagged("state", flags):
            found = self._lowest(where, IN_STATE, tables, FOUND) if _any(flags[tables], MET) else None
            failed = self._lowest(where, IN_STATE, tables, FAILED) if _any(flags[tables], RAISED) else None
            if found is not None:
                discoveries.discover(number, PathEnd(found.end))
            if failed is not None and (found is None or failed.end < found.end):
                discoveries.failures.append(
                    LocatedFailure(failed.end, number, self._failure_in_state(failed.end, number))
                )

    def in_steps(
        self, where: StateRanges, flags: Array, decided: Collection[int], discoveries: LevelDiscoveries
    ) -> None:
        """Find discoveries of properties of steps and of actions themselves, in states that were expanded."""
        actions = self.tables.actions
        steps = dict(self._flagged("step", flags))
        raising = [tables for tables in steps.values() if _any(flags[tables], RAISED)]
        if _any(flags[:actions], RAISED):
            raising.append([])
        failures = [failed for tables in raising if (failed := self._lowest(where, FAILS, tables, FAILED))]
        if failures:
            failed = min(failures, key=lambda each: (each.before, each.table))
            discoveries.failures.append(LocatedFailure(failed.before, STEP, self._failure_in_steps(failed, decided)))
            return
        sought = {number: (BY_STEP, tables) for number, tables in steps.items()}
        if _any(flags[:actions], MET):
            sought[self.type_ok] = OUTSIDE, []
        for number, (what, tables) in sought.items():
            if number not in decided and (found := self._lowest(where, what, tables, FOUND)):
                step = self.tables.all[found.table]
                after = b"" if what == OUTSIDE else found.end
                discoveries.discover(number, PathEnd(after, found.before, step.number, step.index))
        if flags[-1] and self.tables.seeks_deadlocks and self.deadlock not in decided:
            discoveries.discover(self.deadlock, PathEnd(self._known(where, DEAD).end))

    def predecessors(self, where: StateRanges, targets: Collection[bytes]) -> dict[bytes, Predecessor]:
        """The lowest predecessor of each of these states among those of a level, if it has one there."""
        skipped: list[bytes] = []
        found = self._sought(where, TO_STATE, targets=sorted(targets), skipped=skipped)
        steps = ((match, self.tables.all[match.table]) for match in found)
        lowest = {match.end: Predecessor(match.before, step.number, step.index) for match, step in steps}
        if skipped:
            with self.budget.expanding(len(skipped)):
                keep_lowest(lowest, self.tables.expander.predecessors(sorted(skipped), targets))
        return lowest

    def _flagged(self, kind: str, flags: Array) -> Iterable[tuple[int, list[int]]]:
        """The properties with flagged tables, each with all its tables."""
        return [(number, tables) for number, tables in self.tables.of_kind(kind).items() if flags[tables].any()]

    def _known(self, where: StateRanges, what: int, tables: Sequence[int] = (), outcome: int = 0) -> Match:
        found = self._lowest(where, what, tables, outcome)
        assert found is not None, "a flagged discovery exists"
        return found

    def _lowest(self, where: StateRanges, what: int, tables: Sequence[int] = (), outcome: int = 0) -> Match | None:
        return next(iter(self._sought(where, what, tables, outcome)), None)

    def _sought(
        self,
        where: StateRanges,
        what: int,
        tables: Sequence[int] = (),
        outcome: int = 0,
        targets: Sequence[bytes] = (),
        skipped: list[bytes] | None = None,
    ) -> list[Match]:
        """The lowest match; of steps to targets, one for each target that is reached.

        Args:
            where: the states to search.
            what: the kind of search.
            tables: those that must have the outcome.
            outcome: the outcome.
            targets: the states to which a step is sought.
            skipped: receives the states that were skipped.
        """
        if self.tables.too_large:
            if skipped is not None:
                for first, last in where.ranges.tolist():
                    skipped += bytes_of(where.rows.states(first, last)[:])
            return []
        self.prepare()
        question = _Question(
            what, np.array(tables, np.int64), outcome, words_of(targets, BYTES * self.words).reshape(-1)
        )
        workers = len(self.scratches) if where.size >= PARALLEL_FROM else 1
        pieces = [
            _Piece.of(ranges, scratch, orbits, self.words, matches=max(1, len(targets)))
            for ranges, scratch, orbits in zip(where.split(workers), self.scratches, self.orbits, strict=False)
        ]
        while left := [piece for piece in pieces if not piece.is_done]:
            learning = self.budget.allows
            search = partial(self._search, where.rows, question, self.tables.program(), learning)
            found = self.each(search, left) if len(left) > 1 else [*map(search, left)]
            for piece, missing in zip(left, found, strict=True):
                if learning:
                    self._learn(piece.missing, missing)
                elif missing:
                    at = piece.skip()
                    if skipped is not None:
                        skipped += bytes_of(where.rows.states(at, at + 1)[:])
        lowest: dict[int, Match] = {}
        for piece in pieces:
            for number, match in piece.matches():
                lowest[number] = min(match, lowest.get(number, match))
        return [lowest[number] for number in sorted(lowest)]

    def _search(self, rows: Rows, question: _Question, program: Program, learning: bool, piece: _Piece) -> int:
        """Search on, until paths are missing or `AT_A_TIME` states are done; the number of missing paths."""
        missing = piece.missing if learning else piece.missing[: self._reach]
        number: int = seek(
            self.words,
            rows,
            piece.ranges,
            piece.cursor,
            program,
            piece.orbits,
            *question,
            piece.found,
            piece.best.reshape(-1),
            missing,
            piece.scratch,
        )
        return number

    def _learn(self, missing: Array, number: int) -> None:
        with self.budget.learning():
            for row in missing.reshape(-1, self._reach)[:number].tolist():
                self.tables.learn(row[0], row[1:])

    # Failures.

    def _failure_in_state(self, packed: bytes, number: int) -> EvaluationFailed:
        state = self._unpacked(packed)
        try:
            self.model.found_in(state, [number])
        except EvaluationFailed as failure:
            return failure
        judged = self.model.properties[number]
        return self._not_repeated(judged.name, state, judged.instances)

    def _failure_in_steps(self, failed: Match, decided: Collection[int]) -> EvaluationFailed:
        state, step = self._unpacked(failed.before), self.tables.all[failed.table]
        try:
            self.model.expand(state, [number for number in self.tables.of_kind("step") if number not in decided])
        except EvaluationFailed as failure:
            return failure
        return self._not_repeated(str(self.model.actions[step.number].step(step.index)), state, [step.instance])

    def _not_repeated(self, what: str, state: Values, instances: Iterable[Instance]) -> EvaluationFailed:
        """The error for an evaluation that raised while it was recorded, but not when repeated."""
        again = "it is not deterministic: done twice in one state, it raised once and once it did not"
        cause = self.tables.recorder.why_not_repeated(instances, again)
        return EvaluationFailed(what, cause, self.model.show(state))

    def _unpacked(self, packed: bytes) -> Values:
        return PackedState.of_bytes(self.model.layout, packed).values


def _any(flags: Array, flag: int) -> bool:
    """Whether a table has this flag."""
    return bool((flags & flag).any())


# The compiled loop.


@part
def _before(one: Array, at: int, other: Array, its: int, words: int) -> int:
    """-1 if the one state is lower, 1 if it is higher, 0 if they are the same."""
    for k in range(words):
        if one[at + k] != other[its + k]:
            return -1 if one[at + k] < other[its + k] else 1
    return 0


@part
def _lowest(
    found: Array, best: Array, number: int, after: Array, before: Array, at: int, table: Any, words: int
) -> None:
    """Keep a match if it is lower than the one with this number: by its end, the state before it, the table."""
    row = 2 * words * number
    order = -1
    if found[number] >= 0:
        order = _before(after, 0, best, row, words)
        if order == 0:
            order = _before(before, at, best, row + words, words)
    if order < 0 or (order == 0 and table < found[number]):
        found[number] = table
        for k in range(words):
            best[row + k] = after[k]
            best[row + words + k] = before[at + k]


@part
def _has(
    code: Array, root: Array, tables: Array, wanted: int, registers: Array, missing: Array, number: int, reach: int
) -> Any:
    """Whether a property has the wanted outcome; and the number of missing paths so far.

    These are the tables of its instances. Python evaluates them in this order, up to one with an unusual outcome.
    """
    first = USUAL
    for t in range(tables.shape[0]):
        outcome = outcome_at(code, root[tables[t]], registers)
        if outcome == UNKNOWN:
            number = ask(missing, number, tables[t], registers, 0, reach)
        elif first == USUAL:
            first = outcome
    return first == wanted, number


@part
def _seek_targets(
    after: Array, targets: Array, hashes: Any, found: Array, best: Array, registers: Array, table: Any, words: int
) -> None:
    """Keep the step to a state if that is a target; `hashes` is a set of six bits of each target's hash."""
    if (hashes >> (hash_of(after, 0, words) & uint64(63))) & uint64(1) != uint64(0):
        for t in range(targets.shape[0] // words):
            if _before(after, 0, targets, t * words, words) == 0:
                _lowest(found, best, t, after, registers, words, table, words)


@inlined
def _seek_steps(
    words: int,
    program: Program,
    orbits: Orbits | None,
    what: int,
    tables: Array,
    wanted: int,
    targets: Array,
    hashes: Any,
    found: Array,
    best: Array,
    missing: Array,
    number: int,
    scratch: Scratch,
) -> Any:
    """Search the steps from the state in the registers; whether it has any, and the number of missing paths."""
    registers, live, after, actions = scratch.registers, scratch.live, scratch.after, scratch.tables
    reach, any_step = 2 * words + 1, False
    for m in range(program.off.shape[1]):
        live[m] = uint64(0xFFFFFFFFFFFFFFFF)
    mask(program, registers, live)
    for i in range(listed(live, 0, 0, program.actions, actions, 0)):
        table = actions[i]
        outcome = outcome_at(program.code, program.root[table], registers)
        if outcome == USUAL:
            continue
        any_step = True
        if outcome == UNKNOWN:
            number = ask(missing, number, table, registers, 0, reach)
        elif outcome in (FAILED, LEFT):
            if what == (FAILS if outcome == FAILED else OUTSIDE):
                for k in range(words):
                    after[k] = uint64(0)
                _lowest(found, best, 0, after, registers, words, table, words)
        elif outcome >= EFFECTS:
            apply(program, outcome, registers, 0, after, 0, words)
            if what == TO_STATE:
                represent_in(orbits, after, 0)
                _seek_targets(after, targets, hashes, found, best, registers, table, words)
            elif what in (BY_STEP, FAILS):
                for k in range(words):
                    registers[k] = after[k]
                registers[2 * words] = program.step_of[table]
                match, number = _has(program.code, program.root, tables, wanted, registers, missing, number, reach)
                for k in range(words):
                    registers[k] = registers[words + k]
                registers[2 * words] = program.step_of[program.actions]
                if match:
                    if what == FAILS:
                        for k in range(words):
                            after[k] = uint64(0)
                    else:
                        represent_in(orbits, after, 0)
                    _lowest(found, best, 0, after, registers, words, table, words)
    return any_step, number


@compiled
def seek(
    words: int,
    rows: Rows,
    ranges: Array,
    cursor: Array,
    program: Program,
    orbits: Orbits | None,
    what: int,
    tables: Array,
    wanted: int,
    targets: Array,
    found: Array,
    best: Array,
    missing: Array,
    scratch: Scratch,
) -> int:
    """Find the lowest match: by its end state, then the state before it, then the instance.

    The search begins at the cursor: range and state. `found` has the instance, -1 as long as there is none, and
    `best` the end state and the one before it; for `TO_STATE` they have a row for each of the targets.

    Missing paths soon stop the search: the paths are in `missing`, as in `WorkerOutput`, their number is returned,
    and the cursor is at the first state that needs one of them.
    """
    registers, after, reach = scratch.registers, scratch.after, 2 * words + 1
    room = missing.shape[0] // (reach + 1)
    hashes = uint64(0)
    for t in range(targets.shape[0] // words):
        hashes |= uint64(1) << (hash_of(targets, t * words, words) & uint64(63))
    n_missing = done = 0
    first_range = first_at = np.int64(-1)
    r, at = cursor[Cursor.RANGE], cursor[Cursor.STATE]
    while r < ranges.shape[0]:
        at = max(at, ranges[r, StateRange.FIRST])
        while at < ranges[r, StateRange.BEHIND]:
            if done == AT_A_TIME or (n_missing > 0 and (n_missing == room or done >= BEYOND)):
                cursor[Cursor.RANGE], cursor[Cursor.STATE] = r, at
                if n_missing > 0:
                    cursor[Cursor.RANGE], cursor[Cursor.STATE] = first_range, first_at
                return n_missing
            asked = n_missing
            for k in range(words):
                registers[k] = registers[words + k] = word_of(rows, at, k, words)
            registers[2 * words] = program.step_of[program.actions]
            if what == IN_STATE:
                match, n_missing = _has(
                    program.code, program.root, tables, wanted, registers, missing, n_missing, reach
                )
            else:
                any_step, n_missing = _seek_steps(
                    words,
                    program,
                    orbits,
                    what,
                    tables,
                    wanted,
                    targets,
                    hashes,
                    found,
                    best,
                    missing,
                    n_missing,
                    scratch,
                )
                match = what == DEAD and not any_step
            if match:
                for k in range(words):
                    after[k] = registers[k]
                _lowest(found, best, 0, after, registers, words, 0, words)
            if asked == 0 and n_missing > 0:
                first_range, first_at, done = r, at, 0
            at += 1
            done += 1
        r += 1
        at = 0
    cursor[Cursor.RANGE], cursor[Cursor.STATE] = r, 0
    if n_missing > 0:
        cursor[Cursor.RANGE], cursor[Cursor.STATE] = first_range, first_at
    return n_missing
