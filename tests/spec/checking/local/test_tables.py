"""What is walked says what was learned, as it grows."""

from __future__ import annotations

import random

import pytest

from spec.checking.local import compact
from spec.checking.local.arrays import Program
from spec.checking.local.tables import DecisionTables
from spec.checking.model import Model
from spec.language import Specification, State, Step, Total, action, integers, mapping, transition_invariant, variable

DIALS = 6
HIGHEST = 3


class Panel(State):
    """Dials that point at numbers."""

    at: Total[int, int] = variable("Where a dial points.", of=lambda: mapping(range(DIALS), integers(0, HIGHEST)))
    lamp: bool = variable("Whether it is lit.")


class Dials(Specification[Panel]):
    """Each reads other dials, as far as what it has read sends it on."""

    @action(dial=range(DIALS))
    def turn(self, s: Panel, dial: int) -> None:
        """The dial that a dial points at is pointed at by the next one, and so on, a few times."""
        at = dial
        for _ in range(4):
            at = (at + s.at[at] + 1) % DIALS
        s.at[dial] = (s.at[at] + at) % (HIGHEST + 1)

    @action
    def light(self, s: Panel) -> None:
        """The lamp is lit, whatever else."""
        s.lamp = True

    @action
    def put_out(self, s: Panel) -> None:
        """It is lit no more, whatever else."""
        s.lamp = False

    @transition_invariant
    def lit_where_it_is_low(self, before: Panel, step: Step, after: Panel) -> bool:
        """As long as the lamp is not lit, it does not matter where dials point."""
        return not after.lamp or after.at[0] < HIGHEST


def at_random(tables: DecisionTables, chance: random.Random) -> list[int]:
    """Registers with a state, and as the one before the same, outside any step."""
    layout = tables.model.layout
    packed = layout.pack(tuple(cell.domain.unrank(chance.randrange(cell.domain.size)) for cell in layout.cells))
    words = [packed >> 64 * word & (1 << 64) - 1 for word in reversed(range(layout.words))]
    return [*words, *words, tables.recorder.no_step]


def walked(program: Program, number: int, registers: list[int]) -> int:
    """The outcome of a table by the copy."""
    at = int(program.compact_root[number])
    while at >= program.inner:
        node = int(program.compact[at])
        field, word = int(program.fields[node >> 8]), registers[node & 0xFF]
        bits = [bit for bit in range(64) if field >> bit & 1]
        at = int(program.compact[at + 1 + sum((word >> bit & 1) << place for place, bit in enumerate(bits))])
    return at // 2 - 1


@pytest.mark.parametrize("few", [1, 10, 1_000])
def test_the_copy_says_what_the_trees_say(monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    """However often all is copied anew, after each path and for what is not learned as well."""
    monkeypatch.setattr(compact, "FEW", few)
    tables, chance = DecisionTables(Model(Dials()), range(3)), random.Random(3)
    states = [at_random(tables, chance) for _ in range(200)]
    numbers = range(len(tables.all))
    for state in states:
        number = chance.choice(numbers)
        tables.learn(number, state)
        program = tables.program()
        asked = [(number, state), *((each, other) for each in numbers for other in chance.sample(states, 5))]
        assert [walked(program, *each) for each in asked] == [tables.outcome(*each) for each in asked]


def test_a_program_stays_what_it_was() -> None:
    """Another worker may still walk through it when more is known."""
    tables, chance = DecisionTables(Model(Dials()), range(3)), random.Random(5)
    programs, states = [], [at_random(tables, chance) for _ in range(60)]
    asked = [(number, state) for number in range(len(tables.all)) for state in states]
    for state in states:
        tables.learn(chance.randrange(len(tables.all)), state)
        program = tables.program()
        programs.append((program, [walked(program, *each) for each in asked]))
    for program, known in programs:
        assert [walked(program, *each) for each in asked] == known
