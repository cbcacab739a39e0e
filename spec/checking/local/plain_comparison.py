"""Recorded paths beside plain values: what a path says of a state must be what plain Python does there.

A path says something of all states that agree with it in the slots that were read. It is compared in the one in which
it was recorded, and now and then in one that is otherwise put together from another state. An evaluation that held an
unread value, and neither read it nor wrote it anywhere, may have seen through it: it is compared with other values
there. One that held no unread value has seen plain values only: there is nothing to compare.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from copy import copy
from typing import Any, NamedTuple

from spec.checking.local.evaluating import Evaluated, EvaluationView, NoStep, outcome_on_plain_values
from spec.checking.local.lazy import Copy, Writes
from spec.checking.local.lenses import Lens
from spec.checking.local.outcomes import ENABLED, FAILED
from spec.checking.model import Model
from spec.language.cells import WORD, Cell, CellRow
from spec.language.words import Step

OTHERS, OF_MANY_PARTS = 8, 3
"""Other values that are tried of a value that was held and neither read nor written, at most; and of a record or the
like, which is mostly held to ask whether there is one."""


class Surroundings(NamedTuple):
    """What an evaluation may depend on: two packed states, and the step between them."""

    here: int
    before: int
    step: int
    """The number of the action, and the instance << 16."""


class Claim(NamedTuple):
    """What a recorded path says."""

    reads: Mapping[int, int]
    """Slots and codes: it says something of all surroundings in which these are so."""
    outcome: int
    """See `outcomes`."""
    writes: Writes
    unused: Collection[Lens]
    """Where there are values that it held unread, and neither read nor wrote."""


class Refuted(Exception):
    """Plain values give something else."""

    def __init__(self, twice: bool):
        super().__init__()
        self.twice = twice
        """Whether they give the same when they are evaluated twice."""


class PlainComparison:
    """Evaluates on plain values what was recorded.

    Args:
        step_slot: the number of the slot that tells the action of a step; the slots of the state at hand come first,
            then those of the state before.
    """

    def __init__(self, model: Model, step_slot: int):
        layout = model.layout
        self.cells, self.n_slots, self.step_slot = layout.cells, len(layout.slots), step_slot
        self.no_action = len(model.actions)
        self._shifts = [((layout.words - 1 - place.word) * WORD + place.shift) for place in layout.slots]
        self._masks = [
            ((1 << place.width) - 1) << shift for place, shift in zip(layout.slots, self._shifts, strict=True)
        ]
        self._cell_of = [place.cell for place in layout.slots]
        self._others: dict[Lens, list[tuple[int, int]]] = {}
        self._tried = set[Any]()
        """What was evaluated with other values, and of which."""
        self._view = _ComparedView(model)
        self._elsewhere = Surroundings(0, 0, self.no_action)

    def compare(self, evaluate: Evaluated, at: Surroundings, claim: Claim, mixed: bool) -> None:
        """Look whether a claim is true; if `mixed`, in a state that is put together from another one, too.

        Raises:
            Refuted: it is not.
        """
        elsewhere, self._elsewhere = self._elsewhere, at
        if claim.outcome == FAILED or claim.reads.get(self.step_slot) == self.no_action:
            return
        at = at._replace(step=self._a_step(at.step))
        self._require(evaluate, at, claim)
        if mixed:
            self._require(evaluate, self._mixed(at, elsewhere, claim.reads), claim)
        if claim.unused and (tried := (evaluate, *claim.unused)) not in self._tried:
            self._tried.add(tried)
            for other in self._with_other_values(at, claim.unused):
                self._require(evaluate, other, claim)

    def _with_other_values(self, at: Surroundings, unused: Collection[Lens]) -> Iterator[Surroundings]:
        """The same surroundings, with other values in these places."""
        values = [self._values_of(lens) for lens in unused]
        for number in range(max(map(len, values))):
            here, before = at.here, at.before
            for lens, some in zip(unused, values, strict=True):
                mask, bits = some[number % len(some)]
                if lens.at < self.n_slots:
                    here = here & ~mask | bits
                else:
                    before = before & ~mask | bits
            yield at._replace(here=here, before=before)

    def _values_of(self, lens: Lens) -> list[tuple[int, int]]:
        """Some values that there may be in a place: which bits of a packed state it is, and what these are then."""
        found = self._others.get(lens)
        if found is None:
            assert lens.shape is not None
            domain, slots = lens.shape.domain, range(lens.at, lens.at + lens.slots)
            size = domain.size
            most = OTHERS if lens.slots == 1 else OF_MANY_PARTS
            some = range(size) if size <= most else (size * number // most for number in range(most))
            places = [slot % self.n_slots for slot in slots]
            mask = sum(self._masks[place] for place in places)
            each = (domain.codes(domain.unrank(rank)) for rank in some)
            found = self._others[lens] = [
                (mask, sum(code << self._shifts[place] for code, place in zip(codes, places, strict=True)))
                for codes in each
            ]
        return found

    def _a_step(self, step: int) -> int:
        """A step; the first one if it is none, for what does not look at it."""
        return 0 if step & 0xFFFF == self.no_action else step

    def _mixed(self, at: Surroundings, elsewhere: Surroundings, reads: Mapping[int, int]) -> Surroundings:
        """What was read, and everything else from elsewhere, cell by cell.

        A cell that was read in part cannot be put together from two others. It is the other one, if that agrees in
        what was read; else what was not read has its first value.
        """
        here, before = self._mixed_state(at.here, elsewhere.here, reads, 0), elsewhere.before
        if any(slot >= self.n_slots for slot in reads):
            before = self._mixed_state(at.before, elsewhere.before, reads, self.n_slots)
        step = self._a_step(elsewhere.step)
        if self.step_slot in reads:
            step = at.step if self.step_slot + 1 in reads else at.step & 0xFFFF
        return Surroundings(here, before, step)

    def _mixed_state(self, mine: int, other: int, reads: Mapping[int, int], first: int) -> int:
        read: dict[int, int] = {}
        for slot in reads:
            if first <= slot < first + self.n_slots:
                cell = self._cell_of[slot - first]
                read[cell] = read.get(cell, 0) | self._masks[slot - first]
        for cell, mask in read.items():
            if (mine ^ other) & mask:
                other = other & ~self.cells[cell].mask | mine & mask
        return other

    def _require(self, evaluate: Evaluated, there: Surroundings, claim: Claim) -> None:
        found = self._outcome(evaluate, there)
        if found != self._claimed(there, claim):
            raise Refuted(twice=found == self._outcome(evaluate, there))

    def _outcome(self, evaluate: Evaluated, there: Surroundings) -> tuple[int, int]:
        """What comes of plain values: the outcome, and the state that an action makes."""
        view = self._view
        view.load(there)
        outcome = outcome_on_plain_values(evaluate, view)
        return outcome, view.after if outcome == ENABLED else 0

    def _claimed(self, there: Surroundings, claim: Claim) -> tuple[int, int]:
        after = there.here if claim.outcome == ENABLED else 0
        for slot, what in claim.writes.items():
            if isinstance(what, Copy):
                code = (there.here & self._masks[what.slot]) >> self._shifts[what.slot]
            else:
                code = what
            after = after & ~self._masks[slot] | code << self._shifts[slot]
        return claim.outcome, after


class _ComparedView(EvaluationView):
    """Surroundings in plain values. What is read of them is not recorded."""

    def __init__(self, model: Model):
        here, before = CellRow(), CellRow()
        here.values, before.values = _Cells(model.layout.cells), _Cells(model.layout.cells)
        super().__init__(model, here, before)
        self.there = Surroundings(0, 0, 0)
        self.asked_for_step = False
        self.after = 0

    def load(self, there: Surroundings) -> None:
        """Look at these."""
        self.there, self.asked_for_step = there, False
        self.here.values.load(there.here)
        self.before.values.load(there.before)
        self.here.dirty.clear()
        self.here.writer = None

    def step(self) -> Step:
        self.asked_for_step = True
        action, index = self.there.step & 0xFFFF, self.there.step >> 16
        if action == len(self.model.actions):
            raise NoStep
        return self.model.actions[action].step(index)

    def has_no_step(self) -> bool:
        return self.asked_for_step and self.there.step & 0xFFFF == len(self.model.actions)

    def put(self) -> None:
        values, cells, after = self.here.values, self.model.layout.cells, self.there.here
        for at in self.here.dirty:
            after = after & ~cells[at].mask | cells[at].pack(values[at])
        self.after = after


class _Cells(dict[int, Any]):
    """The values of the cells that were looked at or assigned to."""

    __slots__ = ("cells", "packed")

    def __init__(self, cells: list[Cell]):
        super().__init__()
        self.cells, self.packed = cells, 0

    def load(self, packed: int) -> None:
        self.clear()
        self.packed = packed

    def copy(self) -> _Cells:
        """What is not in it yet is looked at when it is asked for, as here."""
        return copy(self)

    def __missing__(self, at: int) -> Any:
        value = self[at] = self.cells[at].unpack(self.packed)
        return value
