"""A sample of each level, in which rules that fold are evaluated in plain Python too.

Tables of folds have paths that nobody recorded: those of states with other members or values and the same result.
Each recorded path is compared with plain evaluation (`plain_comparison`); this compares what tables say of a few
actual states.
"""

from __future__ import annotations

from collections.abc import Sequence

from spec.checking.local.outcomes import EFFECTS
from spec.checking.local.recording import Recorded
from spec.checking.local.tables import DecisionTables
from spec.checking.model import OpaqueRuleFound

OF_A_LEVEL = 8
"""States of each level that are compared, if the number of all states affords it."""
FIRST = 20_000
"""Plain evaluations that are always afforded; they take less than a second."""
LATER = 40
"""The number of explored states for which one more is afforded: exploring so many takes several times as long."""


class FoldSamples:
    """Compares tables with plain evaluation."""

    def __init__(self, tables: DecisionTables):
        self._tables = tables
        self.states = 0
        """The number of states compared so far."""
        self._evaluations = 0

    @property
    def needed(self) -> bool:
        """Whether any rule folds."""
        return bool(self._tables.recorder.folding)

    @property
    def summary(self) -> str:
        """The rules and the number of states, as a sentence for the result; empty if no state was compared."""
        if not self.states:
            return ""
        rules = ", ".join(sorted(self._tables.recorder.folding))
        return f"{rules}: compared with plain evaluation in {self.states:,} states, up to {OF_A_LEVEL} of each level"

    def are_afforded(self, distinct: int) -> bool:
        """Whether another state may be compared, of so many."""
        return self._evaluations < FIRST + distinct // LATER

    def compare(self, state: Sequence[int]) -> None:
        """Compare the rules that fold in a state, given by its words, and properties in the steps from it;
        OpaqueRuleFound if a table says something else.
        """
        tables = self._tables
        folding = [
            number for number, table in enumerate(tables.all) if tables.name_of(table) in tables.recorder.folding
        ]
        registers = [*state, *state, tables.recorder.no_step]
        for number in folding:
            if number < tables.judging:
                self._compare(number, registers)
        of_steps = [number for number in folding if number >= tables.judging]
        if of_steps:
            for number in range(tables.actions):
                outcome = tables.outcome(number, registers)
                if outcome >= EFFECTS:
                    step = [*tables.after(outcome, state), *state, int(tables.step_of[number])]
                    for each in of_steps:
                        self._compare(each, step)
        self.states += 1

    def _compare(self, number: int, registers: Sequence[int]) -> None:
        self._evaluations += 1
        outcome = self._tables.outcome(number, registers)
        if outcome < 0:  # not learned, or expanded plainly
            return
        table = self._tables.all[number]
        if not self._agree(outcome, self._tables.plainly(table, registers), registers):
            rule = self._tables.name_of(table)
            self._tables.model.opaque_rules.add(rule)
            raise OpaqueRuleFound(rule)

    def _agree(self, outcome: int, plain: Recorded, registers: Sequence[int]) -> bool:
        if outcome < EFFECTS or plain.outcome >= 0:
            return outcome == plain.outcome
        state = registers[: self._tables.words]
        return self._tables.after(outcome, state) == self._tables.after(self._tables.effect(plain.writes), state)
