"""One evaluation, recorded: which slots an action or property read, in order, and what came of it.

Elsewhere this is dynamic symbolic (concolic) execution: the evaluation runs on one concrete state, and what is kept
of it holds for every state with the same *path condition*, here the codes of the slots that were read. What is done
with it is what a tracing JIT does: a path is recorded once in Python, and compiled code takes it from then on.

An action is a function of the state, so what it reads next depends on what it has read: two states that agree in
the slots of a recorded path share its outcome. That is all that the tables of `tables` are made of.

Evaluations see lazy values (`lazy`). Where these cannot stand for the plain ones, which shows in an exception, the
evaluation is done again on plain values, with every cell that is looked at read whole; so an exception that is
recorded is one that plain values raise. And now and then an evaluation is done again in another state, one that
agrees in what was read and in nothing else, on plain values: it must come out the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from spec.checking.local.lazy import Copy, ReadSlots, UnrecordedReads, Writes
from spec.checking.local.lenses import Lens, Lenses, RecordLens, Unlike
from spec.checking.local.outcomes import CLOSED, ENABLED, FAILED, FOUND, LEFT, USUAL
from spec.checking.model import EvaluationFailed, Model
from spec.checking.packed_state import PackedState, number_of
from spec.language.errors import Bounded, Disabled, NothingToSay, OutOfDomain, SpecificationError
from spec.language.part import Action, Instance
from spec.language.state import Cell, CellRow, Misplaced, Values
from spec.language.words import Step

OFTEN = 5
"""Fewer evaluations than that are done again one by one; then the 8th, the 16th and so on."""


class Recorded(NamedTuple):
    """A path through the slots of a state, and what is at its end."""

    reads: tuple[tuple[int, int], ...]
    """Slot and code, in order."""
    outcome: int
    """USUAL, FOUND or CLOSED, LEFT, FAILED; ENABLED."""
    writes: Writes


@dataclass(frozen=True)
class Slots:
    """Where a slot lies in the registers: the words of the state, those of the state before, and the step.

    Slots are numbered from 0 in the state at hand, and go on in the state before; the last two are the action of
    the step, and its instance.
    """

    registers: tuple[int, ...]
    shifts: tuple[int, ...]
    masks: tuple[int, ...]
    sizes: tuple[int, ...]
    nodes: tuple[int, ...]
    """As a node of a table names it: register, shift << 8, width << 16."""

    @classmethod
    def of(cls, model: Model) -> Slots:
        """Those of a model's states and steps."""
        places, words = model.layout.slots, model.layout.words
        here = [(place.word, place.shift, (1 << place.width) - 1, place.slot.size) for place in places]
        before = [(word + words, shift, mask, size) for word, shift, mask, size in here]
        actions = len(model.actions)
        instances = max(len(action.instances) for action in model.actions)
        step = [(2 * words, 0, 0xFFFF, actions + 1), (2 * words, 16, 0xFFFF, instances + 1)]
        every = [
            (register, shift, mask, size, register | shift << 8 | mask.bit_length() << 16)
            for register, shift, mask, size in (*here, *before, *step)
        ]
        return cls(*map(tuple, zip(*every, strict=True)))


class Recorder:
    """Evaluates actions and properties on packed states."""

    def __init__(self, model: Model):
        self.model = model
        self.slots = Slots.of(model)
        self.n_slots = len(model.layout.slots)
        self.no_step = len(model.actions) | max(len(action.instances) for action in model.actions) << 16
        """In place of a step: a property of steps that looks at it may find anything."""
        slots = self.slots
        self._places = tuple(zip(slots.registers, slots.shifts, slots.masks, strict=True))
        self._lazily, self._plainly = _Lazily(self), _Plainly(self)
        self._acts = [[_Act(action, index) for index in range(len(action.instances))] for action in model.actions]
        self._cells = self._masks_of_cells()
        self._done: dict[tuple[int, int], int] = {}
        self._elsewhere: Sequence[int] = [0] * (2 * model.layout.words + 1)

    def _masks_of_cells(self) -> list[list[tuple[int, int]]]:
        """Of each slot the registers in which its cell lies, and the bits that it takes of them; the step is one."""
        masks: list[list[tuple[int, int]]] = []
        words = self.model.layout.words
        for first in (0, words):
            for cell in self.model.layout.cells:
                taken: dict[int, int] = {}
                for place in cell.places:
                    its = ((1 << place.width) - 1) << place.shift
                    taken[first + place.word] = taken.get(first + place.word, 0) | its
                masks += [list(taken.items())] * len(cell.places)
        return [*masks, [(2 * words, -1)], [(2 * words, -1)]]

    def of_one_state(self, reads: Iterable[tuple[int, int]]) -> dict[int, int] | None:
        """What was read, if the state before is the same one; None if it cannot be, or the step was looked at."""
        found: dict[int, int] = {}
        for slot, code in reads:
            if slot >= 2 * self.n_slots or found.setdefault(slot % self.n_slots, code) != code:
                return None
        return found

    def action(self, number: int, index: int, registers: Sequence[int]) -> Recorded:
        """An instance of an action, in the state in the registers.

        Raises:
            EvaluationFailed: done again it did not do the same.
        """
        return self._recorded(self._acts[number][index], registers)

    def of_state(self, instance: Instance, sought: bool, registers: Sequence[int]) -> Recorded:
        """An instance of a property of states, in the state in the registers."""
        return self._recorded(_Judge(instance, sought, over_steps=False), registers)

    def of_step(self, instance: Instance, sought: bool, registers: Sequence[int]) -> Recorded:
        """An instance of a property of steps: of the step, and the states before and after it, in the registers."""
        return self._recorded(_Judge(instance, sought, over_steps=True), registers)

    def _recorded(self, evaluate: _Act | _Judge, registers: Sequence[int]) -> Recorded:
        seen = ReadSlots(self._places, registers)
        view = self._lazily
        view.load(seen)
        writes: Writes = {}
        self.model.under_way.now = self._told_in, evaluate, registers
        try:
            outcome = evaluate(view)
            writes = view.writes
        except Unlike:
            outcome, _ = self._on_plain_values(evaluate, ReadSlots(self._places, registers))
            if outcome != LEFT:
                outcome, writes = self._on_plain_values(evaluate, seen)
        except KeyboardInterrupt:
            raise
        except BaseException:  # sys.exit, too, is a failure of what calls it
            outcome, writes = self._on_plain_values(evaluate, seen)
        reads = tuple(seen.items())
        if outcome == ENABLED:
            writes = {slot: code for slot, code in writes.items() if seen.get(slot) != code}
        kind = id(evaluate.instance), outcome
        done = self._done[kind] = self._done.get(kind, 0) + 1
        if done < OFTEN or not done & (done - 1):
            self._do_again(evaluate, seen, outcome, writes, often=done == 1 and outcome == ENABLED)
        self.model.under_way.now = None
        return Recorded(reads, outcome, writes)

    def _on_plain_values(self, evaluate: _Act | _Judge, seen: ReadSlots) -> tuple[int, Writes]:
        """The outcome, and what is written. Every cell that is looked at or assigned to is read whole."""
        view = self._plainly
        view.load(seen)
        try:
            return evaluate(view), view.writes
        except Misplaced:
            return evaluate.misplaced, {}
        except KeyboardInterrupt:
            raise
        except BaseException:
            return FAILED, {}

    def _do_again(self, evaluate: _Act | _Judge, seen: ReadSlots, outcome: int, writes: Writes, often: bool) -> None:
        """Compare with what comes of plain values in a state that agrees in what was read.

        Raises:
            EvaluationFailed: it was not the same.
        """
        if outcome == FAILED or self._lazily.no_step(seen):
            return
        others: list[Sequence[int]] = [self._elsewhere]
        if often:
            others += [[0] * len(seen.registers), seen.registers]
        self._elsewhere = seen.registers
        for other in others:
            there = UnrecordedReads(self._places, self._mixed(seen, other))
            its_outcome, its_writes = self._on_plain_values(evaluate, there)
            same = its_outcome == outcome
            if same and outcome == ENABLED:
                same = all(
                    _written(writes, slot, there) == _written(its_writes, slot, there)
                    for slot in writes.keys() | its_writes.keys()
                )
            if not same:
                raise EvaluationFailed(self._told(evaluate), DIFFERS, self._shown(seen.registers))

    def _mixed(self, seen: ReadSlots, other: Sequence[int]) -> list[int]:
        """Registers that agree with what was seen, and are otherwise those of another state, cell by cell."""
        mixed, step = list(other), 2 * self.n_slots
        if step not in seen:
            mixed[-1] = 0 if other[-1] == self.no_step else other[-1]
        for slot in seen:
            for register, mask in self._cells[slot]:
                mixed[register] &= ~mask
        for slot, code in seen.items():
            register, shift, _ = self._places[slot]
            mixed[register] |= code << shift
        return mixed

    def _told(self, evaluate: _Act | _Judge) -> str:
        if isinstance(evaluate, _Act):
            return str(evaluate.action.step(evaluate.index))
        its = evaluate.instance
        return next(each.name for each in self.model.properties for one in each.instances if one is its)

    def _told_in(self, evaluate: _Act | _Judge, registers: Sequence[int]) -> str:
        return self.model.describe(self._told(evaluate), self._state_in(registers))

    def _shown(self, registers: Sequence[int]) -> str:
        return self.model.show(self._state_in(registers))

    def _state_in(self, registers: Sequence[int]) -> Values:
        layout = self.model.layout
        return PackedState.of_words(layout, registers[: layout.words]).values


DIFFERS = (
    "done again with the same values it does not do the same: it is not deterministic, or it asks what only the "
    "reference engine can tell, like type(value)"
)


def _written(writes: Writes, slot: int, there: ReadSlots) -> int:
    """What a slot holds afterwards."""
    code = writes.get(slot, there[slot])
    return there[code.slot] if isinstance(code, Copy) else code


# What is evaluated.


class _NoStep(BaseException):
    """A property wants to know which step it was, and there was none."""


class _Act:
    """An instance of an action."""

    misplaced = LEFT

    def __init__(self, action: Action, index: int):
        self.action, self.index, self.instance = action, index, action.instances[index]

    def __call__(self, view: _Lazily | _Plainly) -> int:
        view.here.writer = self.action.name
        try:
            returned = self.instance(view.s)
        except Bounded:
            return CLOSED
        except Disabled:
            return USUAL
        view.put()
        if returned is not None:
            raise SpecificationError("an action returns nothing")
        return ENABLED


class _Judge:
    """An instance of a property."""

    misplaced = FAILED

    def __init__(self, instance: Instance, sought: bool, over_steps: bool):
        self.instance, self.sought, self.over_steps = instance, sought, over_steps

    def __call__(self, view: _Lazily | _Plainly) -> int:
        try:
            given = (view.then, view.step(), view.s) if self.over_steps else (view.s,)
            answer = self.instance(*given)
        except _NoStep:
            return FOUND
        except NothingToSay:
            answer = not self.sought
        except Disabled:
            raise SpecificationError("`require` and `bound` belong into actions") from None
        if self.over_steps and view.no_step(view.seen):  # the property caught what was to end it
            return FOUND
        if answer is self.sought:
            return FOUND
        if answer is not (not self.sought):
            raise SpecificationError("a property answers True or False")
        return USUAL


# What it is given.


class _View:
    """The state, the state before and the step of an evaluation, as far as it has looked at them."""

    here: CellRow
    before: CellRow

    def __init__(self, recorder: Recorder, here: _Cells, before: _Cells):
        self.model, self.first_step_slot = recorder.model, 2 * recorder.n_slots
        self.here.values, self.before.values = here, before
        layout = self.model.layout
        self.s, self.then = layout.states(layout, self.here), layout.states(layout, self.before)
        self.writes: Writes = {}
        self.seen: ReadSlots

    def load(self, seen: ReadSlots) -> None:
        """Look at what is in other registers; what was assigned is forgotten."""
        self.seen, self.writes = seen, {}
        self.here.values.load(seen)
        self.before.values.load(seen)
        self.here.dirty.clear()
        self.here.writer = None

    def no_step(self, seen: ReadSlots) -> bool:
        """Whether it was found out that there is no step."""
        return seen.get(self.first_step_slot) == len(self.model.actions)

    def action_of(self, seen: ReadSlots) -> Action:
        """That of the step.

        Raises:
            _NoStep: there is none.
        """
        number = seen[self.first_step_slot]
        if number == len(self.model.actions):
            raise _NoStep
        return self.model.actions[number]


class _Cells(dict[int, Any]):
    """The values of the cells that were looked at or assigned to."""

    __slots__ = ("seen",)
    seen: ReadSlots

    def load(self, seen: ReadSlots) -> None:
        self.clear()
        self.seen = seen


class _Lazily(_View):
    """Everything is read as it is looked at."""

    def __init__(self, recorder: Recorder):
        layout, lenses = recorder.model.layout, Lenses()
        self.lenses, before = (
            [
                lenses.at(cell.domain, first + start)
                for start, cell in zip(layout.first_slot, layout.cells, strict=True)
            ]
            for first in (0, recorder.n_slots)
        )
        self.here, self.before = _BlindRow(), CellRow()
        super().__init__(recorder, _LazyCells(self.lenses), _LazyCells(before))
        at = self.first_step_slot
        self._step = RecordLens(
            at, None, Step, {"action": _ActionName(at, self), "parameters": _Parameters(at, self)}
        )

    def step(self) -> Any:
        return self._step.look(self.seen)

    def put(self) -> None:
        """Say what is written.

        Raises:
            Unlike: a value lies outside its domain, or it is none that a state may have.
        """
        values = self.here.values
        try:
            for at in dict.fromkeys(self.here.dirty):
                self.lenses[at].put(self.seen, values[at], self.writes)
        except OutOfDomain:
            raise Unlike from None


class _LazyCells(_Cells):
    __slots__ = ("lenses",)

    def __init__(self, lenses: Sequence[Lens]):
        super().__init__()
        self.lenses = lenses

    def __missing__(self, at: int) -> Any:
        value = self[at] = self.lenses[at].look(self.seen)
        return value


class _BlindRow(CellRow):
    """It can be assigned to without being looked at."""

    __slots__ = ()

    def write(self, at: int, value: Any, name: str) -> None:
        if self.writer is None:
            super().write(at, value, name)  # which says what is wrong
        if self.values.get(at, self) is not value:
            self.values[at] = value
            self.dirty.append(at)


class _ActionName(Lens):
    def __init__(self, at: int, view: _Lazily):
        super().__init__(at, 1, None)
        self.view = view

    def look(self, seen: ReadSlots) -> str:
        return self.view.action_of(seen).name


class _Parameters(Lens):
    def __init__(self, at: int, view: _Lazily):
        super().__init__(at, 2, None)
        self.view = view

    def look(self, seen: ReadSlots) -> Any:
        return self.view.action_of(seen).instances[seen[self.at + 1]].parameters


class _Plainly(_View):
    """Every cell is read whole, and so is the step."""

    def __init__(self, recorder: Recorder):
        layout = recorder.model.layout
        self.here, self.before = CellRow(), CellRow()
        starts, words = layout.first_slot, layout.words
        here = _PlainCells(layout.cells, starts, slice(0, words))
        before = _PlainCells(layout.cells, [recorder.n_slots + start for start in starts], slice(words, 2 * words))
        super().__init__(recorder, here, before)

    def step(self) -> Step:
        return self.action_of(self.seen).step(self.seen[self.first_step_slot + 1])

    def put(self) -> None:
        """Say what is written.

        Raises:
            Misplaced: a value lies outside its domain.
            SpecificationError: it is none that a state may have.
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
