"""Decision tables: the compact copy follows the growing trees, and effects settle properties."""

from __future__ import annotations

import random

import pytest

from spec.checking.local import compact
from spec.checking.local.arrays import Program
from spec.checking.local.outcomes import EFFECTS, USUAL
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
    """Each dial reads further dials, depending on the values it has read."""

    @action(dial=range(DIALS))
    def turn(self, s: Panel, dial: int) -> None:
        """Follow the dials for a few steps, each from where the last one points, then turn this one."""
        at = dial
        for _ in range(4):
            at = (at + s.at[at] + 1) % DIALS
        s.at[dial] = (s.at[at] + at) % (HIGHEST + 1)

    @action
    def light(self, s: Panel) -> None:
        """The lamp is lit, in any state."""
        s.lamp = True

    @action
    def put_out(self, s: Panel) -> None:
        """The lamp is put out, in any state."""
        s.lamp = False

    @transition_invariant
    def lit_where_it_is_low(self, before: Panel, step: Step, after: Panel) -> bool:
        """Unless the lamp is lit, the dials do not matter."""
        return not after.lamp or after.at[0] < HIGHEST


def at_random(tables: DecisionTables, chance: random.Random) -> list[int]:
    """Registers with a random state, also as the state before, without a step."""
    layout = tables.model.layout
    packed = layout.pack(tuple(cell.domain.unrank(chance.randrange(cell.domain.size)) for cell in layout.cells))
    words = [packed >> 64 * word & (1 << 64) - 1 for word in reversed(range(layout.words))]
    return [*words, *words, tables.recorder.no_step]


def walked(program: Program, number: int, registers: list[int]) -> int:
    """The outcome of a table, walked in the compact copy."""
    at = int(program.compact_root[number])
    while at >= program.inner:
        node = int(program.compact[at])
        field, word = int(program.fields[node >> 8]), registers[node & 0xFF]
        bits = [bit for bit in range(64) if field >> bit & 1]
        at = int(program.compact[at + 1 + sum((word >> bit & 1) << place for place, bit in enumerate(bits))])
    return at // 2 - 1


@pytest.mark.parametrize("few", [1, 10, 1_000])
def test_the_compact_copy_equals_the_trees(monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    """Even if the copy is made again often, after each path, and for unlearned paths too."""
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


def test_a_program_does_not_change() -> None:
    """Another worker may still walk through it when more paths are learned."""
    tables, chance = DecisionTables(Model(Dials()), range(3)), random.Random(5)
    programs, states = [], [at_random(tables, chance) for _ in range(60)]
    asked = [(number, state) for number in range(len(tables.all)) for state in states]
    for state in states:
        tables.learn(chance.randrange(len(tables.all)), state)
        program = tables.program()
        programs.append((program, [walked(program, *each) for each in asked]))
    for program, known in programs:
        assert [walked(program, *each) for each in asked] == known


@pytest.mark.parametrize("first", ["the property", "the effect"])
def test_settled_slots_are_not_read_again(first: str) -> None:
    """An effect that puts the lamp out settles the property. One that lights it, or turns a dial, does not."""
    tables = DecisionTables(Model(Dials()), range(3))
    names = {
        str(tables.model.actions[table.number].name): at for at, table in enumerate(tables.all[: tables.actions])
    }
    dark = [0] * 2 * tables.words + [tables.recorder.no_step]
    lit = [word | other for word, other in zip(dark, lamp_of(tables), strict=True)]
    lamp = tables.judging

    def effect(name: str, state: list[int]) -> int:
        tables.learn(names[name], state)
        return tables.outcome(names[name], state)

    def judge() -> None:
        for state in (dark, lit):
            tables.learn(lamp, state)
            assert tables.outcome(lamp, state) == USUAL

    if first == "the property":
        judge()
    effects = {name: effect(name, lit if name == "put_out" else dark) for name in ("put_out", "light")}
    judge()
    asked = {name for name, made in effects.items() if affects(tables, made, lamp)}
    assert min(effects.values()) >= EFFECTS
    assert asked == {"light"}


def lamp_of(tables: DecisionTables) -> list[int]:
    """Registers with only the bit of the lamp set, before and after."""
    place = next(place for place in tables.model.layout.slots if place.name == "lamp")
    words = [(1 << place.shift) * (word == place.word) for word in range(tables.words)]
    return [*words, *words, 0]


def affects(tables: DecisionTables, effect: int, number: int) -> bool:
    """Whether a table is evaluated again after an effect."""
    return bool(int(tables.program().affects[effect, number >> 6]) >> (number & 63) & 1)
