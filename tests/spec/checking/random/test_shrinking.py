"""Shrinking a path: it gets shorter and still breaks the same property."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from spec.checking.exploration import Engine, Exploration, OnProgress, Options
from spec.checking.model import DEADLOCK, TYPE_OK, Model, Path
from spec.checking.random.shrinking import Shrinking
from spec.checking.random.walks import PlainWalker, Walks
from spec.checking.reference import ReferenceEngine
from spec.checking.traces.paths import trace
from spec.language import Specification
from spec.language.state import Values
from tests.spec.checking.toys import Bank, Counters, Jugs, Philosophers, Row, Table
from tests.tiers import in_turn


class Blind:
    """An engine that finds nothing, or whose user interrupts it."""

    name = "blind"

    def __init__(self, impatient: bool = False):
        self.impatient = impatient

    def explore(self, model: Model, options: Options, on_progress: OnProgress) -> Exploration:
        """Find nothing."""
        if self.impatient:
            raise KeyboardInterrupt
        found = ReferenceEngine().explore(model, options, on_progress)
        found.discoveries.clear()
        return found


def walked(specification: Specification, name: str, seed: int = 3) -> tuple[Model, int, Path]:
    """A random walk that breaks this property."""
    model = Model(specification)
    number = model.numbers([name])[0]
    walker = PlainWalker(Walks(model, model.numbers([TYPE_OK, name]), 200, seed))
    found = walker.walk(1, 2000, lambda runs, steps: None).discovery
    assert found is not None
    assert found.property == number
    return model, number, walker.path(found.run, found.steps)


def shrunk(model: Model, number: int, path: Path, engine: Engine | None = None) -> Path:
    """The shrunk path, with unlimited patience."""
    return Shrinking(model, number, engine or ReferenceEngine(), 10_000).shrunk(path)


def breaks(model: Model, number: int, path: Path) -> bool:
    """Whether the path is a run whose end, and no earlier state or step, breaks the property."""
    state, choices = path
    assert state in [first for first, _ in model.initial_states()]
    looked_at = [number] if model.properties[number].name not in {TYPE_OK, DEADLOCK} else []
    over_steps = looked_at if model.properties[number].over_steps else []
    in_states = [] if over_steps else looked_at
    for at, choice in enumerate(choices):
        assert not model.found_in(state, in_states), "it was broken before"
        steps = {(each.action, each.instance): each for each in model.expand(state, over_steps).steps}
        taken = steps[choice]
        last = at == len(choices) - 1
        if taken.after is None:
            return last and model.properties[number].name == TYPE_OK
        if taken.found:
            return last
        state = taken.after
    if model.properties[number].name == DEADLOCK:
        expansion = model.expand(state)
        return not expansion.steps and not expansion.bounded
    return bool(model.found_in(state, in_states))


LONG_WAY = tuple(Row(at, "a", 0, at + 1) for at in range(20))

TOYS: dict[str, tuple[Specification, str, int]] = {
    "a state": (Jugs(), "not_four", 7),
    "a sum": (Counters(counters=5, at_most=4), "not_too_many", 6),
    "a deadlock": (Philosophers(philosophers=4), DEADLOCK, 5),
    "a step": (Bank(), "nobody_closes_with_money", 4),
    "a step out of the domain": (Table(size=21, rows=(*LONG_WAY, Row(3, "b", 0, -1), Row(9, "b", 1, 0))), TYPE_OK, 5),
    "a short cut that it did not take": (
        Table(size=21, rows=(*LONG_WAY, Row(0, "b", 1, 19), Row(19, "b", 1, 0)), bad=(20,)),
        "good",
        3,
    ),
    "the beginning": (Table(size=3, starts=(0, 2), rows=(Row(0, "a", 0, 2), Row(2, "a", 0, 1)), bad=(1,)), "good", 2),
    "nothing to be done for it": (Table(size=2, starts=(1,), rows=(Row(0, "a", 0, 0),), bad=(1,)), "good", 1),
}


@pytest.mark.parametrize(("toy", "seed"), in_turn(TOYS, [1, 2, 3]))
def test_small_failures_shrink_to_the_shortest(toy: str, seed: int) -> None:
    """Every failing path to each of these shrinks to one of its least length."""
    specification, name, length = TOYS[toy]
    model, number, path = walked(specification, name, seed)
    shorter = shrunk(model, number, path)
    assert breaks(model, number, path)
    assert breaks(model, number, shorter)
    assert len(shorter[1]) + 1 == length
    assert trace(model, number, shorter).length == length


@pytest.mark.parametrize(("toy", "seed"), in_turn(TOYS, [1, 2, 3]))
def test_unneeded_steps_are_removed(toy: str, seed: int) -> None:
    """Even where exploring everything is impossible, no single step of the result can be left out."""
    specification, name, _ = TOYS[toy]
    model, number, path = walked(specification, name, seed)
    first, choices = shrunk(model, number, path, Blind())
    assert breaks(model, number, (first, choices))
    for at in range(len(choices)):
        assert not broken_by(model, number, first, [*choices[:at], *choices[at + 1 :]])


def broken_by(model: Model, number: int, first: Values, choices: Sequence[tuple[int, int]]) -> bool:
    """Whether these steps, without those that are not enabled, break it on the way; for a deadlock, at the end."""
    done: list[tuple[int, int]] = []
    broken = breaks(model, number, (first, done))
    for choice in choices:
        if broken and model.properties[number].name != DEADLOCK:
            break
        try:
            broken = breaks(model, number, (first, [*done, choice]))
        except KeyError:
            continue
        done.append(choice)
    return broken


def test_shrinking_is_deterministic() -> None:
    """Shrinking uses no randomness."""
    model, number, path = walked(Bank(), "nobody_closes_with_money")
    again = walked(Bank(), "nobody_closes_with_money")
    assert shrunk(model, number, path) == shrunk(*again)


def test_loops_are_cut_first() -> None:
    """If a state occurs twice, the steps between can go; no step is tried for that."""
    rows = (Row(0, "a", 0, 1), Row(1, "a", 0, 0), Row(1, "b", 0, 2))
    model = Model(Table(size=3, rows=rows, bad=(2,)))
    number = model.numbers(["good"])[0]
    first = next(iter(model.initial_states()))[0]
    assert first is not None
    shrinking = Shrinking(model, number, Blind(), 1)
    shrinking.left = 0
    assert shrinking.shrunk((first, [(0, 0)] * 41 + [(1, 0)])) == (first, [(0, 0), (1, 0)])


def test_interrupted_shrinking_keeps_the_best_so_far() -> None:
    """Ctrl-C during the search for a shorter path keeps the best path found."""
    model, number, path = walked(Counters(counters=5, at_most=4), "not_too_many")
    assert shrunk(model, number, path, Blind(impatient=True)) == shrunk(model, number, path, Blind())
