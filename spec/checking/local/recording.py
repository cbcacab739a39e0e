"""One evaluation, recorded: the slots that an action or property read, in order, and the outcome.

In the literature this is dynamic symbolic (concolic) execution: the evaluation runs on one concrete state, and its
result holds for every state with the same *path condition*, here the codes of the slots that were read. The use is
that of a tracing JIT: a path is recorded once in Python, and compiled code follows it from then on.

An action is a function of the state, so its next read depends only on its earlier reads: two states that agree in
the slots of a recorded path share its outcome. The tables of `tables` rest on this alone.

Evaluations see lazy values (`lazy`). Where these cannot stand for plain ones, which shows in an exception, the
evaluation is repeated on plain values, and every cell it uses is read whole. So a recorded exception is one that
plain values raise. Code that could distinguish lazy values from plain ones (`transparency`) gets plain ones from the
start. And each path is compared with the result on plain values (`plain_comparison`). A rule with many paths is
recorded by its twin if that reads less of sets and mappings (`folds`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from math import prod
from typing import Any, NamedTuple

from spec.checking.local.evaluating import (
    Act,
    BlindRow,
    Evaluated,
    EvaluationView,
    Judge,
    NoStep,
    outcome_on_plain_values,
)
from spec.checking.local.folds.aggregates import Aggregates
from spec.checking.local.folds.twins import Twins
from spec.checking.local.lazy import Copy, ReadSlots, Writes
from spec.checking.local.lenses import Lens, Lenses, NotRepresentable, RecordLens
from spec.checking.local.outcomes import ENABLED, LEFT
from spec.checking.local.plain_comparison import Claim, PlainComparison, Refuted, Surroundings
from spec.checking.local.transparency import opaque
from spec.checking.model import EvaluationFailed, Model, OpaqueRuleFound
from spec.checking.states.limits import INSTANCES
from spec.checking.states.packed_state import PackedState, number_of
from spec.language.cells import Cell, CellRow
from spec.language.errors import TOO_DEEP, OutOfDomain
from spec.language.instances import Instance, Instances
from spec.language.rules import Action, Property
from spec.language.state import Values
from spec.language.words import Step

TRIED = 100
"""At each so many paths of a rule that iterate over a set, its twin is tried (`folds`). Fewer take less time than
making twins."""
OTHERS = 10
"""At paths that iterate over no set it is tried so many times less often, because there it seldom reads less."""
SHORTER = 0.8
"""The twin is recorded from then on if its path is shorter than this share of the rule's own."""
RARE = 100
"""It is not tried if fewer than one state in so many needed such a path: few more are expected, and all paths so far
would be recorded anew."""


class Recorded(NamedTuple):
    """A path through the slots of a state, and its outcome."""

    reads: tuple[tuple[int, int], ...]
    """Slot and code, in order. An aggregate (`folds.aggregates`) counts as a slot."""
    outcome: int
    """USUAL, FOUND or CLOSED, LEFT, FAILED; ENABLED."""
    writes: Writes
    anew: bool = False
    """Whether from now on this rule is recorded otherwise, so that its earlier paths must be forgotten."""


@dataclass(frozen=True)
class Slots:
    """The places of slots in the registers: the words of the state, those of the state before, and the step.

    Slots are numbered from 0 in the present state, and on through the state before; the last two are the action of
    the step, and its instance.
    """

    registers: tuple[int, ...]
    shifts: tuple[int, ...]
    masks: tuple[int, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, model: Model) -> Slots:
        """The slots of a model's states and steps."""
        places, words = model.layout.slots, model.layout.words
        here = [(place.word, place.shift, (1 << place.width) - 1, place.slot.size) for place in places]
        before = [(word + words, shift, mask, size) for word, shift, mask, size in here]
        actions = len(model.actions)
        instances = _most_instances(model)
        step = [(2 * words, 0, 0xFFFF, actions + 1), (2 * words, 16, 0xFFFF, instances + 1)]
        return cls(*map(tuple, zip(*here, *before, *step, strict=True)))


def _most_instances(model: Model) -> int:
    """The instances of the action that has most, as far as a step can number them; a larger model has no tables."""
    return min(max(action.instances.size for action in model.actions), INSTANCES)


def _codes_by_slot(model: Model) -> list[int]:
    """By slot, how many codes it may have whatever other slots have; 0 if that depends on them."""
    found = list[int]()
    for cell in model.layout.cells:
        sizes = [place.slot.size for place in cell.places]
        found += sizes if prod(sizes) == cell.domain.size else [0] * len(sizes)
    return [*found, *found, 0, 0]  # the present state, the one before, and the step


class Recorder:
    """Evaluates actions and properties on packed states."""

    def __init__(self, model: Model):
        self.model = model
        self.slots = Slots.of(model)
        self.n_slots = len(model.layout.slots)
        self.no_step = len(model.actions) | _most_instances(model) << 16
        """Stands for the step: a property of steps that reads it may have any outcome."""
        slots = self.slots
        self._places = tuple(zip(slots.registers, slots.shifts, slots.masks, strict=True))
        self.aggregates = Aggregates(len(self._places), _codes_by_slot(model))
        self._lazily = _LazyStepView(model, self.n_slots, self.aggregates)
        self._plainly = _PlainStepView(model, self.n_slots)
        self._acts: dict[tuple[int, int], Act] = {}
        self._judges: dict[int, Judge] = {}
        self._comparison = PlainComparison(model, 2 * self.n_slots)
        self._cell_of = [place.cell for place in model.layout.slots]
        self._done: dict[int, int] = {}
        self._paths = Counter[tuple[str, bool]]()
        """The number of paths by rule; those that iterate over a set are counted apart."""
        self.tried = TRIED if model.folds else 0
        """At each so many paths of a rule that iterate over a set its twin is tried, see `TRIED`; 0 if never."""
        self.states = 0
        """The states expanded so far, if that is known."""
        self.folding: set[str] = set()
        """The rules whose twins are recorded, by name."""
        self.opaque = {**dict.fromkeys(model.opaque_rules, FOUND_OPAQUE), **opaque(model)}
        """The actions and properties that get plain values, by name, with the reason."""

    def of_one_state(self, reads: Iterable[tuple[int, int]]) -> dict[int, int] | None:
        """The reads, if the state before may be the same as the present one; None if not, or if the step was read."""
        found: dict[int, int] = {}
        for slot, code in reads:
            if slot >= 2 * self.n_slots or found.setdefault(slot % self.n_slots, code) != code:
                return None
        return found

    def code(self, slot: int, registers: Sequence[int]) -> int:
        """The code of a slot, or of an aggregate, for these registers."""
        if slot >= self.aggregates.first:
            return self.aggregates[slot].result(partial(self.code, registers=registers))
        register, shift, mask = self._places[slot]
        return registers[register] >> shift & mask

    def action(self, number: int, index: int, registers: Sequence[int]) -> Recorded:
        """Record an instance of an action, in the state in the registers. EvaluationFailed if, repeated, it gave
        another result, OpaqueRuleFound if lazy values gave another result than plain ones.
        """
        return self._recorded(self._act(number, index), registers)

    def of_state(self, instance: Instance, sought: bool, registers: Sequence[int]) -> Recorded:
        """Record an instance of a property of states, in the state in the registers."""
        return self._recorded(self._judge(instance, sought, over_steps=False), registers)

    def of_step(self, instance: Instance, sought: bool, registers: Sequence[int]) -> Recorded:
        """Record an instance of a property of steps, for the step and the two states in the registers."""
        return self._recorded(self._judge(instance, sought, over_steps=True), registers)

    def plainly(
        self, kind: str, number: int, index: int, instance: Instance, sought: bool, registers: Sequence[int]
    ) -> Recorded:
        """The outcome on plain values of an instance of an action, or of a property of states or steps; no reads."""
        action = self._act(number, index) if kind == "action" else None
        evaluate = action or self._judge(instance, sought, over_steps=kind == "step")
        return Recorded((), *self._on_plain_values(evaluate, ReadSlots(self._places, registers)))

    def _act(self, number: int, index: int) -> Act:
        act = self._acts.get((number, index))
        if act is None:
            act = self._acts[number, index] = Act(self.model.actions[number], index)
        return act

    @cached_property
    def _names(self) -> dict[int, str]:
        """The name of each property, by the identities of its instances."""
        return {id(one): each.name for each in self.model.properties for one in each.instances}

    def _judge(self, instance: Instance, sought: bool, over_steps: bool) -> Judge:
        judge = self._judges.get(id(instance))
        if judge is None:
            judge = self._judges[id(instance)] = Judge(self._names[id(instance)], instance, sought, over_steps)
        return judge

    def _recorded(self, evaluate: Evaluated, registers: Sequence[int]) -> Recorded:
        seen = ReadSlots(self._places, registers)
        self.model.under_way.now = self._error_in, evaluate, registers
        outcome, writes, lazily = self._outcome(evaluate, seen)
        obtained = None if evaluate.rule in self.folding else self._lazily.obtained()
        done = self._done[id(evaluate)] = self._done.get(id(evaluate), 0) + 1
        if self._begins_to_fold(evaluate, seen):
            return self._recorded(evaluate, registers)._replace(anew=True)
        now_and_then = not done & (done - 1)  # the 1st, 2nd, 4th, 8th and so on
        if not lazily:  # to find chance, as `Model.expand` does
            now_and_then = done <= 8 or not done % 64
        if now_and_then or (lazily and (seen.held or seen.within or seen.left_out)):
            claim = self._claim(seen, outcome, writes, lazily)
            self._compare(evaluate, registers, claim._replace(obtained=obtained) if lazily else claim, now_and_then)
        self.model.under_way.now = None
        return Recorded(tuple(seen.items()), outcome, writes)

    def _claim(self, seen: ReadSlots, outcome: int, writes: Writes, lazily: bool) -> Claim:
        """What a recorded path claims; `lazily` if it comes from lazy values."""
        if not lazily:
            return Claim(seen, outcome, writes, ())
        left_out = seen.left_out - seen.keys() - seen.within.keys() if seen.left_out else ()
        aggregates = [(its, seen[number]) for number, its in self.aggregates.among(seen)] if seen.within else []
        return Claim(seen, outcome, writes, self._unused(seen, writes), left_out, aggregates, seen.within)

    def _begins_to_fold(self, evaluate: Evaluated, seen: ReadSlots) -> bool:
        """Count a path. Now and then try the rule's twin; whether it is recorded from now on."""
        self._paths[evaluate.rule, seen.iterated] += 1
        paths = self._paths[evaluate.rule, seen.iterated]
        every = self.tried if seen.iterated else OTHERS * self.tried
        if not every or paths % every or paths * RARE < self.states:
            return False
        if evaluate.rule in self.folding or evaluate.rule in self.opaque or not self._is_longer(evaluate, seen):
            return False
        self.folding.add(evaluate.rule)
        self._lazily.fold(self._all_of(evaluate.instance))
        return True

    def _is_longer(self, evaluate: Evaluated, seen: ReadSlots) -> bool:
        """Whether a path is clearly longer than that of the twin in the same state."""
        view, of_twin = self._lazily, ReadSlots(self._places, seen.registers)
        dirty = [*view.here.dirty]
        view.fold([evaluate.instance])
        try:
            self._outcome(evaluate, of_twin)
        finally:
            view.unfold(evaluate.instance)
            view.here.dirty[:] = dirty  # of the evaluation that was recorded
        return len(of_twin) < SHORTER * len(seen)

    def _all_of(self, instance: Instance) -> Instances:
        """All instances of the rule of an instance."""
        rules: tuple[Action | Property, ...] = (*self.model.actions, *self.model.properties)
        every = [each.instances for each in rules]
        return next(its for its in every if any(one is instance for one in its))

    def _outcome(self, evaluate: Evaluated, seen: ReadSlots) -> tuple[int, Writes, bool]:
        """The outcome, and the writes; and whether they come from lazy values."""
        if evaluate.rule not in self.opaque:
            view = self._lazily
            view.load(seen)
            try:
                outcome = evaluate(view)
                return outcome, self._changing(view, outcome), True
            except NotRepresentable:
                outcome, _ = self._on_plain_values(evaluate, ReadSlots(self._places, seen.registers))
                if outcome == LEFT:
                    return LEFT, {}, False
            except KeyboardInterrupt:
                raise
            except BaseException:  # including sys.exit: its caller is at fault
                pass
        return (*self._on_plain_values(evaluate, seen), False)

    def _unused(self, seen: ReadSlots, writes: Writes) -> list[Lens]:
        """The places of values that an evaluation held unread, and that were neither read nor copied."""
        written = set(self._lazily.here.dirty)
        copied = {what.slot for what in writes.values() if isinstance(what, Copy)}
        unused = []
        for lens in seen.held:
            if lens.at in seen or lens.shape is None:  # nearly always
                continue
            slots = range(lens.at, lens.at + lens.slots)
            if not (seen.keys().isdisjoint(slots) and copied.isdisjoint(slots)):
                continue
            if seen.within and not seen.within.keys().isdisjoint(slots):
                continue
            if lens.at >= self.n_slots or self._cell_of[lens.at] not in written:
                unused.append(lens)
        return unused

    def _on_plain_values(self, evaluate: Evaluated, seen: ReadSlots) -> tuple[int, Writes]:
        """The outcome, and the writes. Every cell that is read or assigned to is read whole."""
        view = self._plainly
        view.load(seen)
        outcome = outcome_on_plain_values(evaluate, view)
        return outcome, self._changing(view, outcome)

    def _changing(self, view: _SeenView, outcome: int) -> Writes:
        """The writes, except those known to change nothing."""
        writes = view.writes if outcome == ENABLED else {}
        return {slot: code for slot, code in writes.items() if view.seen.get(slot) != code}

    def _compare(self, evaluate: Evaluated, registers: Sequence[int], claim: Claim, mixed: bool) -> None:
        words = self.model.layout.words
        here, before = number_of(registers[:words]), number_of(registers[words : 2 * words])
        executed = self._comparison.executed
        try:
            executed.begin(None if evaluate.rule in self.opaque else evaluate.rule, evaluate.instance.run)
            self._comparison.compare(evaluate, Surroundings(here, before, registers[2 * words]), claim, mixed)
            if executed.why_not():
                self.model.opaque_rules.add(evaluate.rule)
                raise OpaqueRuleFound(evaluate.rule)
        except Refuted as refuted:
            seen = ReadSlots(self._places, registers)
            outcome, writes, lazily = self._outcome(evaluate, seen)
            claimed_again = self._claim(seen, outcome, writes, lazily)[:3] == claim[:3]
            if lazily and claimed_again and refuted.twice:
                self.model.opaque_rules.add(evaluate.rule)
                raise OpaqueRuleFound(evaluate.rule) from None
            cause = self.why_not_repeated([evaluate.instance], DIFFERS)
            raise EvaluationFailed(str(evaluate), cause, self.model.show(self._state_in(registers))) from None

    def why_not_repeated(self, instances: Iterable[Instance], otherwise: str) -> str:
        """Why an evaluation of one of these, when repeated, gave another result.

        The depth of the call stack varies, so recursion may exceed its limit only once.
        """
        asked = set(map(id, instances))
        every: Iterable[Evaluated] = chain(self._acts.values(), self._judges.values())
        return TOO_DEEP if any(each.too_deep and id(each.instance) in asked for each in every) else otherwise

    def _error_in(self, evaluate: Evaluated, registers: Sequence[int]) -> str:
        return self.model.describe(evaluate, self._state_in(registers))

    def _state_in(self, registers: Sequence[int]) -> Values:
        layout = self.model.layout
        return PackedState.of_words(layout, registers[: layout.words]).values


FOUND_OPAQUE = "lazy ones were found not to be safe"
DIFFERS = "repeated with the same values, it gives another result: it is not deterministic"


class _SeenView(EvaluationView):
    """A view that records reads of slots."""

    def __init__(self, model: Model, n_slots: int, here: CellRow, before: CellRow):
        super().__init__(model, here, before)
        self.first_step_slot = 2 * n_slots
        self.writes: Writes = {}
        self.seen: ReadSlots

    def load(self, seen: ReadSlots) -> None:
        """Show other registers; assignments are forgotten."""
        self.seen, self.writes = seen, {}
        self.here.values.load(seen)
        self.before.values.load(seen)
        self.here.dirty.clear()
        self.here.writer = None

    def has_no_step(self) -> bool:
        """Whether an attempt to read a missing step was noticed."""
        return self.seen.get(self.first_step_slot) == len(self.model.actions)

    def action(self) -> Action:
        """The action of the step; NoStep if there is none."""
        number = self.seen[self.first_step_slot]
        if number == len(self.model.actions):
            raise NoStep
        return self.model.actions[number]


class _Cells(dict[int, Any]):
    """The values of the cells that were read or assigned to."""

    __slots__ = ("seen",)
    seen: ReadSlots

    def load(self, seen: ReadSlots) -> None:
        self.clear()
        self.seen = seen


class _LazyStepView(_SeenView):
    """Everything is read on demand."""

    def __init__(self, model: Model, n_slots: int, aggregates: Aggregates):
        layout, lenses = model.layout, Lenses()
        self.lenses, lenses_before = (
            [
                lenses.at(cell.domain, first + start)
                for start, cell in zip(layout.first_slot, layout.cells, strict=True)
            ]
            for first in (0, n_slots)
        )
        here, before = BlindRow(), CellRow()
        here.values, before.values = _LazyCells(self.lenses), _LazyCells(lenses_before)
        super().__init__(model, n_slots, here, before)
        at = self.first_step_slot
        self._twins = Twins(model.hidden_state.reachable, aggregates, lambda: self.seen)
        self._twin_of: dict[int, Instance] = {}
        self._step = RecordLens(
            at, None, Step, {"action": _ActionName(at, self), "parameters": _Parameters(at, self)}
        )

    def runnable(self, instance: Instance) -> Instance:
        return self._twin_of.get(id(instance), instance)

    def fold(self, instances: Iterable[Instance]) -> None:
        """From now on run the twins of these instances, which read of sets and mappings what matters (`folds`)."""
        for instance in instances:
            self._twin_of[id(instance)] = replace(instance, run=self._twins.of(instance.run))
            self._bound.pop(id(instance), None)

    def unfold(self, instance: Instance) -> None:
        """Run the instance itself again."""
        del self._twin_of[id(instance)]
        self._bound.pop(id(instance), None)

    def step(self) -> Any:
        return self._step.look(self.seen)

    def put(self) -> None:
        """Collect the writes; NotRepresentable if a value lies outside its domain, or is not one that a state may
        have.
        """
        values = self.here.values
        try:
            for at in dict.fromkeys(self.here.dirty):
                self.lenses[at].put(self.seen, values[at], self.writes)
        except OutOfDomain:
            raise NotRepresentable from None


class _LazyCells(_Cells):
    __slots__ = ("lenses",)

    def __init__(self, lenses: Sequence[Lens]):
        super().__init__()
        self.lenses = lenses

    def original(self, at: int) -> Any:
        """The value of a cell before any assignment."""
        return self.lenses[at].look(self.seen)

    def __missing__(self, at: int) -> Any:
        value = self.original(at)
        if not self.seen.assumed:
            self[at] = value
        return value


class _ActionName(Lens):
    def __init__(self, at: int, view: _LazyStepView):
        super().__init__(at, 1, None)
        self.view = view

    def look(self, seen: ReadSlots) -> str:
        return self.view.action().name


class _Parameters(Lens):
    def __init__(self, at: int, view: _LazyStepView):
        super().__init__(at, 2, None)
        self.view = view

    def look(self, seen: ReadSlots) -> Any:
        return self.view.action().instances[seen[self.at + 1]].parameters


class _PlainStepView(_SeenView):
    """Every cell is read whole, and so is the step."""

    def __init__(self, model: Model, n_slots: int):
        layout = model.layout
        here, before = CellRow(), CellRow()
        starts, words = layout.first_slot, layout.words
        here.values = _PlainCells(layout.cells, starts, slice(0, words))
        starts_before = [n_slots + start for start in starts]
        before.values = _PlainCells(layout.cells, starts_before, slice(words, 2 * words))
        super().__init__(model, n_slots, here, before)

    def step(self) -> Step:
        return self.action().step(self.seen[self.first_step_slot + 1])

    def put(self) -> None:
        """Collect the writes.

        Raises:
            OutOfCell: a value lies outside its domain.
            SpecificationError: it is not a value that a state may have.
        """
        values, layout = self.here.values, self.model.layout
        for at in self.here.dirty:
            values[at] = layout.cells[at].admit(values[at])
        for at in self.here.dirty:
            self.writes.update(enumerate(layout.cells[at].domain.codes(values[at]), layout.first_slot[at]))


class _PlainCells(_Cells):
    __slots__ = ("cells", "starts", "words")

    def __init__(self, cells: Sequence[Cell], starts: Sequence[int], words: slice):
        super().__init__()
        self.cells, self.starts, self.words = cells, starts, words

    def __missing__(self, at: int) -> Any:
        cell, start = self.cells[at], self.starts[at]
        self.seen.whole(range(start, start + len(cell.places)))
        value = self[at] = cell.unpack(number_of(self.seen.registers[self.words]))
        return value
