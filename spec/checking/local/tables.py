"""Decision tables: everything learned about a specification, in flat arrays that compiled code walks.

Each instance of an action and of a property has its own table, a tree: a node names a slot and has an edge for each
of its codes, and a path ends in the recorded outcome. Where a path reads an aggregate (`folds.aggregates`), the
graph of the aggregate stands in the tree, and paths go on from its results. An edge is an offset into `code`:
positive for the next node, negative for an outcome, 0 for a path that is not learned yet. The writes of an action
are kept in the form in which they are applied, `word & ~clear | put` for each word of the state, with copies of
slots to slots beside them. In the literature such trees are multi-valued decision diagrams. Kernels walk the copy of
them in `compact`, which shares equal subtrees.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from spec.checking.exploration import LearnedRule
from spec.checking.local.arrays import CopiedSlot, LookupPiece, Program, Scratch
from spec.checking.local.compact import Compact, CompactCopy
from spec.checking.local.folds.aggregates import NOTHING, Graph
from spec.checking.local.lazy import Copy, Writes
from spec.checking.local.learning_budget import MOSTLY_PLAIN, advice
from spec.checking.local.masks import Masks
from spec.checking.local.orbits import orbits
from spec.checking.local.outcomes import EFFECTS, USUAL
from spec.checking.local.plain_expander import PlainExpander
from spec.checking.local.recording import Recorded, Recorder
from spec.checking.local.traversing import survey
from spec.checking.model import DEADLOCK, EvaluationFailed, Model
from spec.checking.states.limits import too_large
from spec.checking.states.packed_state import PackedState, number_of
from spec.checking.symmetry.reduction import Symmetry
from spec.checking.symmetry.renamings import OF_STEP, Evaluation
from spec.language.cells import WORD
from spec.language.instances import Instance

WORD_MASK: Final = (1 << WORD) - 1
"""All bits of a word."""


@dataclass(frozen=True)
class DecisionTable:
    """The subject of a table: an instance of an action or of a property."""

    kind: str
    """action, state (a property of states) or step."""
    number: int
    """The number of the action or property, in order of declaration."""
    index: int
    """The number of the instance."""
    instance: Instance
    sought: bool = False
    """The property's answer that is a discovery."""


class GrowingArray:
    """A flat array that grows as it is written to."""

    def __init__(self, dtype: Any, columns: int = 1, used: int = 0):
        self.columns, self.used = columns, used
        self.array: Any = np.zeros(max(1, 2 * used) * columns * 64, dtype)
        self.view: Any = self.array.data
        """A view of it; Python reads and writes single items faster here."""

    def take(self, rows: int) -> int:
        """Make room for so many more rows; the number of the first."""
        first = self.used
        self.used += rows
        needed = self.used * self.columns
        if needed > len(self.array):
            more: Any = np.zeros(2 * needed, self.array.dtype)
            more[: len(self.array)] = self.array
            self.array, self.view = more, more.data
        return first

    def append(self, *items: int) -> int:
        """Add rows, item by item; the number of the first."""
        at = self.take(len(items) // self.columns)
        for place, item in enumerate(items, at * self.columns):
            self.view[place] = item
        return at


class DecisionTables:
    """Everything learned about a model so far. Symmetry replaces successors by their orbits, and compares learned
    paths.
    """

    def __init__(self, model: Model, properties: Sequence[int], symmetry: Symmetry | None = None):
        self.model, self.symmetry = model, symmetry
        self.words = model.layout.words
        self.recorder = Recorder(model)
        slots = self.recorder.slots
        self.seeks_deadlocks = model.numbers([DEADLOCK])[0] in properties
        self.expander = PlainExpander(model, properties, symmetry)
        """Does the same without tables."""
        self.too_large = too_large(model)
        """Why the model is too large for tables; then there is none, and every state is expanded without."""
        self.all: list[DecisionTable] = []
        if not self.too_large:
            self.all += [
                DecisionTable("action", number, index, instance)
                for number, action in enumerate(self.model.actions)
                for index, instance in enumerate(action.instances)
            ]
        self.actions = len(self.all)
        if not self.too_large:
            self.all += self._of_properties("state", self.expander.in_states)
        self.judging = len(self.all)
        if not self.too_large:
            self.all += self._of_properties("step", self.expander.in_steps)

        self._nodes = [
            register | shift << 8 | (size - 1).bit_length() << 16
            for register, shift, size in zip(slots.registers, slots.shifts, slots.sizes, strict=True)
        ]
        """The form of each slot in a node: register, shift << 8, width << 16."""
        self._places = dict(
            zip(self._nodes, zip(slots.registers, slots.shifts, slots.masks, strict=True), strict=True)
        )
        self._places[NOTHING] = 0, 0, 0
        places = model.layout.slots
        self._shifts = [WORD * (self.words - 1 - place.word) + place.shift for place in places]
        """By slot of the present state, its shift in the packed state as one number."""
        self._fields = [((1 << place.width) - 1) << shift for place, shift in zip(places, self._shifts, strict=True)]
        """By slot, its bits in that number."""
        self.code = GrowingArray(np.int32, used=1)  # offset 0 means unknown
        self._graphs: dict[int, Graph] = {}
        """The graphs of aggregates, by number of the aggregate."""
        self._aggregate_at: dict[int, int] = {}
        """The aggregate whose graph begins at an offset. A path that reads the graph's slots one by one instead
        would end at a result, which is a node only of this graph."""
        self.root = GrowingArray(np.int32, used=len(self.all))
        self.effects = GrowingArray(np.uint64, 2 * self.words, used=EFFECTS)
        self.spans = GrowingArray(np.int32, 2, used=EFFECTS)
        self.copies = GrowingArray(np.int32, len(CopiedSlot))
        self._effects: dict[Set[Any], int] = {}
        self._codes: list[Set[Any]] = [frozenset()] * EFFECTS
        """By effect, the slots that it writes, with the codes written."""
        self._looked_at = [0] * len(self.all)
        """By table, the slots that it reads, one bit for each."""
        self._readers, self._writers = [0] * len(places), [list[int]() for _ in places]
        """By slot, the tables that read it, one bit for each; and the effects that write it."""
        self._settling: list[dict[Any, list[Set[Any]]]] = [{} for _ in self.all]
        """By table of a property of steps, the slots and codes of paths to the usual outcome that read only the state
        after the step; grouped by the last slot and code of the path; None if it reads nothing."""
        self._settled: dict[int, None] = {}
        """The tables that have any of these."""
        self._here = (1 << self.recorder.n_slots) - 1
        """The slots of the present state, one bit for each."""

        self.masks = Masks([] if self.too_large else model.layout.slots, len(self.all))
        self.affects = GrowingArray(np.uint64, self.masks.words, used=EFFECTS)
        """By effect, the tables that read a slot it writes, one bit for each; without properties of steps that its
        writes settle."""
        self.step_of = np.array(
            [table.number | table.index << 16 for table in self.all[: self.actions]] + [self.recorder.no_step],
            np.uint64,
        )
        self.orbits = orbits(symmetry) if symmetry and not self.too_large else None
        self.learned = 0
        """The number of paths so far."""
        self.paths, self.seconds = [0] * len(self.all), [0.0] * len(self.all)
        self.misses = np.zeros(len(self.all), np.int64)
        """By table, the paths so far, how often one was missing, and the seconds that learning took."""
        self._changed: set[int] = set()
        """The nodes on paths that are not in the copy yet."""
        self._copy = CompactCopy()
        self._compact = self._copied()

    def _of_properties(self, kind: str, numbers: Sequence[int]) -> list[DecisionTable]:
        return [
            DecisionTable(kind, number, index, instance, self.model.properties[number].kind == "sometimes")
            for number in numbers
            for index, instance in enumerate(self.model.properties[number].instances)
        ]

    def of_kind(self, kind: str) -> dict[int, list[int]]:
        """The tables of each property of a kind."""
        found: dict[int, list[int]] = {}
        for at, table in enumerate(self.all):
            if table.kind == kind:
                found.setdefault(table.number, []).append(at)
        return found

    def live(self, decided: Collection[int] = (), actions: bool = True) -> np.ndarray[Any, Any]:
        """The tables to walk, one bit for each; not those of properties that are decided."""
        bits = np.zeros(64 * self.masks.words, np.uint8)
        for number, table in enumerate(self.all):
            bits[number] = actions if table.kind == "action" else table.number not in decided
        return np.packbits(bits, bitorder="little").view(np.uint64)

    def program(self) -> Program:
        """The tables in the form for compiled code."""
        if self.learned > self._compacted:
            self._compact = self._copied()
        return Program(
            code=self.code.array,
            root=self.root.array,
            compact=self._compact.code,
            compact_root=self._compact.root,
            inner=self._compact.inner,
            fields=self._compact.fields,
            effects=self.effects.array,
            spans=self.spans.array,
            copies=self.copies.array,
            affects=self.affects.array.reshape(-1, self.masks.words),
            off=self.masks.off,
            pieces=self.masks.pieces,
            lookups=int(self.masks.pieces[:, LookupPiece.LAST].sum()),
            remembered=self.masks.remembered,
            remembered_pieces=self.masks.remembered_pieces,
            relevant=self.masks.relevant,
            step_of=self.step_of,
            actions=self.actions,
            judging=self.judging,
            tables=len(self.all),
        )

    def _copied(self) -> Compact:
        """The tables in the form that is walked."""
        roots, changed = self.root.array[: len(self.all)], self._changed
        self._compacted, self._changed = self.learned, set()
        return self._copy.of(self.code.array, self.code.used, roots, changed, len(self._codes))

    # Learning.

    def learn(self, number: int, registers: Sequence[int]) -> None:
        """Evaluate a missing path of a table, with these words in the registers: the state, and the one before.
        EvaluationFailed if the path contradicts an earlier one, UsageError if it distinguishes interchangeable
        values.
        """
        self.misses[number] += 1
        if self.outcome(number, registers) >= 0:
            return
        began, table = time.perf_counter(), self.all[number]
        recorded = self._recorded(table, registers)
        if recorded.anew:
            self._forget(table)
        if self.symmetry is not None:
            self._compare(table, registers)
        self._insert(number, recorded, registers)
        self.learned += 1
        self.paths[number] += 1
        self.seconds[number] += time.perf_counter() - began

    def missed(self, numbers: Any) -> None:
        """Count paths of these tables as missing, though they are not learned."""
        self.misses += np.bincount(numbers.astype(np.int64), minlength=len(self.all))

    def plainly(self, table: DecisionTable, registers: Sequence[int]) -> Recorded:
        """The outcome that a table should have for these registers, evaluated on plain values; no reads."""
        return self.recorder.plainly(table.kind, table.number, table.index, table.instance, table.sought, registers)

    def _recorded(self, table: DecisionTable, registers: Sequence[int]) -> Recorded:
        if table.kind == "action":
            return self.recorder.action(table.number, table.index, registers)
        if table.kind == "state":
            return self.recorder.of_state(table.instance, table.sought, registers)
        return self.recorder.of_step(table.instance, table.sought, registers)

    def by_rule(self) -> dict[str, LearnedRule]:
        """The learning of each action and property, by name."""
        found: dict[str, LearnedRule] = {}
        for number, table in enumerate(self.all):
            name = self.name_of(table)
            paths, misses, seconds = found.get(name, LearnedRule())
            found[name] = LearnedRule(
                paths + self.paths[number], misses + int(self.misses[number]), seconds + self.seconds[number]
            )
        return found

    def advice(self, states: int, state: Sequence[int]) -> str:
        """The rule that took the most paths in so many states, and what it reads, for example in this one."""
        if self.too_large:
            return f"{MOSTLY_PLAIN}: {self.too_large}"
        worst = max(range(len(self.all)), key=lambda number: self.paths[number] + self.misses[number])
        registers = [*state, *state, self.recorder.no_step]
        recorded = self._recorded(self.all[worst], registers)
        if recorded.anew:
            self._forget(self.all[worst])
        reads = self.recorder.aggregates.slots_of(slot for slot, _ in recorded.reads)
        name = self.name_of(self.all[worst])
        opaque = self.recorder.opaque.get(name, "")
        return advice(self.model, name, self.by_rule()[name].paths, states, reads, opaque)

    def name_of(self, table: DecisionTable) -> str:
        """The name of its action or property."""
        rules = self.model.actions if table.kind == "action" else self.model.properties
        return rules[table.number].name

    def _forget(self, table: DecisionTable) -> None:
        """Forget the paths of a rule. What masks and effects say of it stays true."""
        for number, other in enumerate(self.all):
            if (other.kind, other.number) == (table.kind, table.number):
                self.root.view[number] = 0

    def _compare(self, table: DecisionTable, registers: Sequence[int]) -> None:
        """Compare an evaluation with itself under other names, see `spec.checking.symmetry.renamings`."""
        assert self.symmetry is not None
        here, before, step = number_of(registers[: self.words]), number_of(registers[self.words : -1]), registers[-1]
        taken = (step & 0xFFFF, step >> 16) if step & 0xFFFF < len(self.model.actions) else None
        if table.kind != OF_STEP:
            before, taken = here, None
        self.symmetry.renamings.compare(Evaluation(table.kind, table.number, table.index, here, before, taken))

    def outcome(self, number: int, registers: Sequence[int]) -> int:
        """The outcome for these registers; -1 if it is not learned yet."""
        code, places, at = self.code.view, self._places, self.root.view[number]
        while at > 0:
            register, shift, mask = places[code[at]]
            at = code[at + 1 + (registers[register] >> shift & mask)]
        return -1 - at if at < 0 else -1

    def _insert(self, number: int, recorded: Recorded, registers: Sequence[int]) -> None:
        nodes, code, root = self._nodes, self.code, self.root.view
        first, aggregate_at = self.recorder.aggregates.first, self._aggregate_at
        view, edge, new, plain = root, number, 0, True
        for slot, value in recorded.reads:
            at = view[edge]
            if slot >= first:
                graph, plain = self._graph(slot), False
                if at == 0:
                    at = code.take(len(graph.code))
                    if view is not root:
                        view = code.view
                    code.array[at : at + len(graph.code)] = graph.code + at * graph.edges
                    view[edge] = at
                    new |= graph.slots
                    aggregate_at[at] = slot
                elif aggregate_at.get(at) != slot:
                    raise self._contradiction(number, registers)
                if at not in self._changed:
                    self._changed.update((graph.begins + at).tolist())
                view, edge = code.view, graph.result(at, value)
                continue
            node = nodes[slot]
            if at == 0:
                at = code.take(1 + (1 << (node >> 16)))
                if view is not root:
                    view = code.view
                code.view[at] = node
                view[edge] = at
                new |= 1 << slot
            elif at < 0 or code.view[at] != node:
                raise self._contradiction(number, registers)
            self._changed.add(at)
            view, edge = code.view, at + 1 + value
        if new:
            self._look(number, new & self._here)
        outcome = recorded.outcome if recorded.outcome >= 0 else self.effect(recorded.writes)
        if view[edge] not in (0, -1 - outcome):
            raise self._contradiction(number, registers)
        view[edge] = -1 - outcome
        if outcome == USUAL:
            steps = self.all[number].kind == "step"
            if plain:
                reads = self.recorder.of_one_state(recorded.reads) if steps else dict(recorded.reads)
                self.masks.learn(number, reads)
            if steps and all(slot < self.recorder.n_slots for slot, _ in recorded.reads):
                self._settle(number, recorded.reads)

    def _graph(self, number: int) -> Graph:
        """The graph of an aggregate."""
        graph = self._graphs.get(number)
        if graph is None:
            graph = self._graphs[number] = Graph.of(self.recorder.aggregates[number], self._nodes)
        return graph

    def after(self, effect: int, state: Sequence[int]) -> list[int]:
        """The words of the state after an effect; see `traversing.apply`."""
        words, row = self.words, self.effects.array[2 * self.words * effect : 2 * self.words * (effect + 1)].tolist()
        after = [word & ~clear | put for word, clear, put in zip(state, row[:words], row[words:], strict=True)]
        first, last = self.spans.array[2 * effect : 2 * effect + 2].tolist()
        copies = self.copies.array.reshape(-1, len(CopiedSlot))[first:last].tolist()
        for source, source_shift, target, shift, mask in copies:
            after[target] |= (state[source] >> source_shift & mask) << shift
        return after

    def effect(self, writes: Writes) -> int:
        """The number of the effect with these writes."""
        key = frozenset(writes.items())
        number = self._effects.get(key)
        if number is None:
            slots, shifts, fields = self.recorder.slots, self._shifts, self._fields
            clear = put = readers = 0
            copies = list[int]()
            number = len(self._codes)
            for slot, what in key:
                clear |= fields[slot]
                readers |= self._readers[slot]
                self._writers[slot].append(number)
                if isinstance(what, Copy):
                    copies += slots.registers[what.slot], slots.shifts[what.slot]
                    copies += slots.registers[slot], slots.shifts[slot], slots.masks[slot]
                else:
                    put |= what << shifts[slot]
            layout = self.model.layout
            self._effects[key] = number
            self.effects.append(*PackedState(layout, clear).words, *PackedState(layout, put).words)
            first = self.copies.append(*copies)
            self.spans.append(first, self.copies.used)
            self.affects.take(1)
            self._codes.append(key)
            self._affect([number], readers)
        return number

    def _look(self, number: int, slots: int) -> None:
        """Record that a table reads these slots, one bit for each."""
        new = slots & ~self._looked_at[number]
        if new:
            self._looked_at[number] |= new
            every = [slot for slot in range(self.recorder.n_slots) if new >> slot & 1]
            for slot in every:
                self._readers[slot] |= 1 << number
            self._affect({effect for slot in every for effect in self._writers[slot]}, 1 << number)

    def _settle(self, number: int, path: Sequence[tuple[int, int]]) -> None:
        """Record that a property of steps has the usual outcome wherever these slots have these codes afterwards."""
        its = frozenset(path)
        self._settled.setdefault(number)
        self._settling[number].setdefault(path[-1] if path else None, []).append(its)
        writers = [self._writers[slot] for slot, _ in path]
        for effect in min(writers, key=len) if writers else range(len(self._codes)):
            if its <= self._codes[effect]:
                self.affects.view[effect * self.masks.words + (number >> 6)] &= ~(1 << (number & 63))

    def _settles(self, number: int, codes: Set[Any]) -> bool:
        """Whether a property of steps has the usual outcome wherever slots have these codes afterwards."""
        settling = self._settling[number]
        return any(path <= codes for last in (None, *codes) for path in settling.get(last, ()))

    def _affect(self, effects: Iterable[int], tables: int) -> None:
        """Record that these tables, one bit for each, read a slot that these effects write."""
        view, words = self.affects.view, self.masks.words
        of_steps = [table for table in self._settled if tables >> table & 1]
        for effect in effects:
            affected = tables
            for table in of_steps:
                if self._settles(table, self._codes[effect]):
                    affected &= ~(1 << table)
            for word in range(words):
                view[effect * words + word] |= affected >> WORD * word & WORD_MASK

    def _contradiction(self, number: int, registers: Sequence[int]) -> EvaluationFailed:
        table, layout = self.all[number], self.model.layout
        named = table.kind == "action"
        what = str(self.model.actions[table.number].step(table.index)) if named else self.name_of(table)
        state = PackedState.of_words(layout, registers[: self.words])
        cause = "it is not deterministic: done twice with the same values, it gave two results"
        return EvaluationFailed(what, cause, self.model.show(state.values))

    # Masks.

    def tune(self, states: Any) -> None:
        """Let masks save useless walks in these states, an array of (states, words)."""
        if 0 < len(self.masks.groups) <= 64:
            some = states[::10]
            self.masks.tune(self.survey(some), len(some), states)

    def survey(self, states: Any) -> Any:
        """The groups, 64 at most, that each useless walk in these states reads."""
        program = self.program()
        groups_of = self._groups_of_fields()
        useless = np.zeros(len(states) * self.judging, np.uint64)
        scratch = Scratch.of(self.words, len(self.all))
        number = survey(self.words, states.ravel(), program, groups_of, useless, scratch)
        return useless[:number]

    def _groups_of_fields(self) -> Any:
        """The groups of the bits of each field, as sets."""
        group_of = np.array(self.masks.group_of, np.uint64)
        slots, here = self.recorder.slots, slice(self.recorder.n_slots)
        bits = np.array(slots.masks[here], np.uint64) << np.array(slots.shifts[here], np.uint64)
        looks = (self._compact.fields[:, None] & bits) != 0
        looks &= self._compact.registers[:, None] == np.array(slots.registers[here], np.int32)
        return np.bitwise_or.reduce(np.where(looks, np.uint64(1) << group_of, np.uint64(0)), axis=1)
