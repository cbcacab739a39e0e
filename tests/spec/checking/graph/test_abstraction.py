"""An abstraction has one edge for each kind of step seen, and no others, on every engine."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import pytest

from spec.checking import Model
from spec.checking.check import silent
from spec.checking.exploration import Engine, Exploration, OnProgress, Options
from spec.checking.graph.abstraction import Abstraction, Edge, edges
from spec.checking.local import LocalEngine
from spec.checking.reference import ReferenceEngine
from spec.language import (
    Specification,
    SpecificationError,
    State,
    Step,
    action,
    booleans,
    constant,
    integers,
    require,
    say,
    variable,
)
from spec.language.errors import EnvironmentFailed
from tests.spec.toys import Walkers

ENGINES = [ReferenceEngine(), LocalEngine(1)]
each_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)


class TankState(State):
    """The state of `Tank`."""

    level: int = variable("How many drops are in it.", of=lambda self: integers(0, self.drops))
    locked: bool = variable("Whether it is.", of=lambda self: booleans())


class Tank(Specification[TankState]):
    """A tank that is filled drop by drop and emptied at once. It may be locked."""

    drops: int = constant(3, "how many it holds", at_least=1)

    @action(quickly=(False, True))
    def fill(self, s: TankState, quickly: bool) -> None:
        """A drop falls in, or two."""
        require(not s.locked)
        s.level += 2 if quickly else 1
        say("it is full" if s.level == self.drops else f"there is room for {self.drops - s.level}")

    @action
    def empty(self, s: TankState) -> None:
        """All of it flows out."""
        require(not s.locked and s.level)
        s.level = 0

    @action
    def lock(self, s: TankState) -> None:
        """The tank no longer changes."""
        s.locked = True


class Bucket(Tank):
    """A tank that refuses drops for which it has no room."""

    @action(quickly=(False, True))
    def fill(self, s: TankState, quickly: bool) -> None:
        """A drop falls in, or two."""
        require(s.level + 1 + quickly <= self.drops)
        super().fill(s, quickly)


def wet(s: Any, step: Step) -> Hashable:
    """Whether it holds any water. Lock steps are ignored."""
    return None if step.action == "lock" else ("wet" if s.level else "dry")


@each_engine
def test_states_with_equal_view_are_one_node(engine: Engine) -> None:
    """The level is not seen. What was said, the parameters, and both ends distinguish edges."""
    slowly, quickly = (("quickly", False),), (("quickly", True),)
    assert edges(Bucket(), wet, engine=engine) == {
        Edge("dry", "fill", slowly, ("there is room for 2",), "wet"),
        Edge("wet", "fill", slowly, ("there is room for 1",), "wet"),
        Edge("wet", "fill", slowly, ("it is full",), "wet"),
        Edge("dry", "fill", quickly, ("there is room for 1",), "wet"),
        Edge("wet", "fill", quickly, ("it is full",), "wet"),
        Edge("wet", "empty", (), (), "dry"),
    }


def counted(model: Model, abstraction: Abstraction) -> set[tuple[Any, ...]]:
    """The expected edges: all steps from all reachable states, as seen."""
    window, todo = model.window(), model.first_states()
    reached, found = set(todo), set()

    def seen(state: Any, step: Step) -> Hashable:
        window.load(state)
        return abstraction(window.s, step)

    for state in todo:  # the loop appends to it
        for taken in model.expand(state).steps:
            assert taken.after is not None
            step = model.actions[taken.action].step(taken.instance)
            found.add((seen(state, step), step.action, tuple(step.parameters.items()), seen(taken.after, step)))
            if taken.after not in reached:
                reached.add(taken.after)
                todo.append(taken.after)
    return found


@each_engine
def test_every_step_is_an_edge_and_no_other(engine: Engine) -> None:
    """If many states look the same, an engine that remembers what it has read still misses no edge."""

    def the_first(s: Any, step: Step) -> int:
        return int(s.at[0])

    found = edges(Walkers(walkers=3, starts=2), the_first, engine=engine)
    by_hand = counted(Model(Walkers(walkers=3, starts=2)), the_first)
    assert {(each.source, each.action, each.parameters, each.target) for each in found} == by_hand


def test_max_states_bounds_the_quotient() -> None:
    """Whole levels at a time."""

    def both(s: Any, step: Step) -> Hashable:
        return s.level, s.locked

    assert {edge.source for edge in edges(Bucket(drops=9), both, max_states=1)} == set()
    near = {edge.source for edge in edges(Bucket(drops=9), both, max_states=2)}
    assert near == {(0, False)}


def test_by_default_the_local_engine_explores() -> None:
    assert edges(Bucket(), wet) == edges(Bucket(), wet, engine=LocalEngine(1))


def test_a_step_outside_the_domains_is_an_error() -> None:
    """A view cannot be computed outside the domains."""
    with pytest.raises(SpecificationError, match="leads outside"):
        edges(Tank(), wet)


class Ending:
    """An engine that reports being stopped."""

    name = "ending"

    def __init__(self, ended: str):
        self.ended = ended

    def explore(self, model: Model, options: Options, on_progress: OnProgress) -> Exploration:
        """Explore, and report this reason for stopping."""
        return replace(ReferenceEngine().explore(model, options, on_progress), ended=self.ended)


def test_an_engine_that_is_stopped_gives_no_answer() -> None:
    """A partial abstraction would look like a complete one."""
    with pytest.raises(KeyboardInterrupt):
        edges(Bucket(), wet, engine=Ending("interrupted"))
    with pytest.raises(EnvironmentFailed, match="memory"):
        edges(Bucket(), wet, engine=Ending("memory"))
    assert edges(Bucket(), wet, engine=Ending("complete"), on_progress=silent)
