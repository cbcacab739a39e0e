"""Recorded paths compared with plain values: a path's claim about a state must hold in plain Python.

A path makes a claim about all states that agree with it in the slots that were read. It is compared in the state in
which it was recorded, and now and then in one whose other parts come from another state. An evaluation that held an
unread value, and neither read it nor wrote it anywhere, may have detected that it is lazy: it is compared with other
values there. One that left out memberships of sets (`folds`) is compared with all of these reversed. An evaluation
that held no unread value has seen only plain values: there is nothing to compare. One that read aggregates
(`folds.aggregates`) is compared in states with other values that have the same aggregates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple

from spec.checking.local.evaluating import BlindRow, Evaluated, EvaluationView, NoStep, outcome_on_plain_values
from spec.checking.local.folds.aggregates import Aggregate
from spec.checking.local.lazy import Copy, Writes
from spec.checking.local.lenses import Lens
from spec.checking.local.outcomes import ENABLED, FAILED
from spec.checking.local.transparency import Executed
from spec.checking.model import Model
from spec.language.cells import WORD, Cell, CellRow
from spec.language.words import Step

OTHERS, OF_MANY_PARTS = 64, 16
"""The most other values tried for a value that was held but neither read nor written; and for a record or the like,
which is mostly held to test whether there is one."""


OF_SAME_AGGREGATES = 3
"""States with other values and the same aggregates, in which a path is compared."""


class Surroundings(NamedTuple):
    """Everything on which an evaluation may depend: two packed states, and the step between them."""

    here: int
    before: int
    step: int
    """The number of the action, and the instance << 16."""


Obtained = tuple[tuple[int, ...], tuple[int, ...]]
"""The cells that an evaluation looked at or assigned to, in order, of the present state and of the one before."""


class Claim(NamedTuple):
    """The claim of a recorded path."""

    reads: Mapping[int, int]
    """Slots and codes: the claim is about all surroundings that have these."""
    outcome: int
    """See `outcomes`."""
    writes: Writes
    unused: Collection[Lens]
    """The places of values that it held unread, and neither read nor wrote."""
    left_out: Collection[int] = ()
    """The slots of memberships that do not matter, it claims (`folds`)."""
    aggregates: Sequence[tuple[Aggregate, int]] = ()
    """The aggregates that it read, each with the number of its result."""
    within: Mapping[int, int] = MappingProxyType({})
    """The slots on which they depend, with their codes."""
    obtained: Obtained | None = None
    """None if an evaluation on plain values may obtain others."""


class Refuted(Exception):
    """Plain values give another result."""

    def __init__(self, twice: bool):
        super().__init__()
        self.twice = twice
        """Whether two evaluations on plain values agree with each other."""


class PlainComparison:
    """Repeats recorded evaluations on plain values. The slots of the present state come first, then those of the
    state before, then that with the action of a step.
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
        """The evaluations repeated with other values, and the places of these values."""
        self._view = _ComparedView(model)
        self.executed = Executed(model)
        """Watches the code that runs."""
        self._elsewhere = Surroundings(0, 0, self.no_action)
        self._random = Random(0)

    def compare(self, evaluate: Evaluated, at: Surroundings, claim: Claim, mixed: bool) -> None:
        """Check a claim; if `mixed`, also in a state whose other parts come from another one. Refuted if it does not
        hold.
        """
        elsewhere, self._elsewhere = self._elsewhere, at
        if claim.outcome == FAILED or claim.reads.get(self.step_slot) == self.no_action:
            return
        at = at._replace(step=self._a_step(at.step))
        self._require(evaluate, at, claim)
        if mixed:
            self._require(evaluate, self._mixed(at, elsewhere, {**claim.within, **claim.reads}), claim)
        if claim.left_out:
            self._require(evaluate, self._reversed(at, claim.left_out), claim)
        if claim.aggregates:
            for other in self._with_same_aggregates(at, claim):
                self._require(evaluate, other, claim)
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

    def _reversed(self, at: Surroundings, memberships: Iterable[int]) -> Surroundings:
        """The same surroundings, with each of these memberships reversed."""
        here, before = at.here, at.before
        for slot in memberships:
            if slot < self.n_slots:
                here ^= self._masks[slot]
            else:
                before ^= self._masks[slot - self.n_slots]
        return at._replace(here=here, before=before)

    def _with_codes(self, at: Surroundings, codes: Mapping[int, int]) -> Surroundings:
        """The same surroundings, with these codes in these slots."""
        here, before = at.here, at.before
        for slot, code in codes.items():
            place = slot % self.n_slots
            mask, bits = self._masks[place], code << self._shifts[place]
            if slot < self.n_slots:
                here = here & ~mask | bits
            else:
                before = before & ~mask | bits
        return at._replace(here=here, before=before)

    def _with_same_aggregates(self, at: Surroundings, claim: Claim) -> Iterator[Surroundings]:
        """The same surroundings, with other values that have the same aggregates."""
        for _ in range(OF_SAME_AGGREGATES):
            known = dict(claim.reads)
            for aggregate, result in claim.aggregates:
                codes = aggregate.other_codes(result, known, self._random)
                if codes is None:  # several aggregates, or slots read besides, are hard to have together
                    break
                known |= codes
            else:
                yield self._with_codes(at, {slot: known[slot] for slot in claim.within})

    def _values_of(self, lens: Lens) -> list[tuple[int, int]]:
        """Some possible values of a place: the mask of its bits in a packed state, and the bits of each value."""
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
        """The given step; the first one if it is none, for evaluations that do not read it."""
        return 0 if step & 0xFFFF == self.no_action else step

    def _mixed(self, at: Surroundings, elsewhere: Surroundings, reads: Mapping[int, int]) -> Surroundings:
        """The parts that were read, and all others from elsewhere, cell by cell.

        A cell that was partly read cannot be combined from two states. It comes from elsewhere if it agrees there in
        the parts that were read; otherwise its unread parts have their first value.
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
        found = self._found(evaluate, there)
        if found[:2] != self._claimed(there, claim) or claim.obtained not in (None, found[2]):
            raise Refuted(twice=found == self._found(evaluate, there))

    def _found(self, evaluate: Evaluated, there: Surroundings) -> tuple[int, int, Obtained]:
        """The outcome on plain values, the state that an action makes, and the way there."""
        view = self._view
        view.load(there)
        with self.executed:
            outcome = outcome_on_plain_values(evaluate, view)
        return outcome, view.after if outcome == ENABLED else 0, view.obtained()

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
    """Surroundings in plain values. Reads are not recorded."""

    def __init__(self, model: Model):
        here, before = BlindRow(), CellRow()
        here.values, before.values = _Cells(model.layout.cells), _Cells(model.layout.cells)
        super().__init__(model, here, before)
        self.there = Surroundings(0, 0, 0)
        self.asked_for_step = False
        self.after = 0

    def load(self, there: Surroundings) -> None:
        """Show these surroundings."""
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
    """The values of the cells that were read or assigned to."""

    __slots__ = ("cells", "packed")

    def __init__(self, cells: list[Cell]):
        super().__init__()
        self.cells, self.packed = cells, 0

    def load(self, packed: int) -> None:
        self.clear()
        self.packed = packed

    def original(self, at: int) -> Any:
        """The value of a cell before any assignment."""
        return self.cells[at].unpack(self.packed)

    def __missing__(self, at: int) -> Any:
        value = self[at] = self.original(at)
        return value
