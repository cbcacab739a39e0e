"""Compiled walks take the same steps as plain ones, whatever they learn on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from typing import Any

import pytest

from spec.checking.local import compiled_walks
from spec.checking.local.compiled_walks import CompiledWalker
from spec.checking.model import DEADLOCK, EvaluationFailed, Model
from spec.checking.random.chance import BY_INSTANCE, EVEN, SWARM, Policy
from spec.checking.random.walks import PlainWalker, Walker, Walks
from spec.language import Specification, State, action, integers, require, sometimes, variable
from spec.systems.controller_election import ControllerElection
from spec.systems.replication import Replication
from tests.spec.checking.toys import Bank, Clock, Counters, Philosophers, Ring, Row, Table
from tests.tiers import in_turn


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    """Some threads."""
    with ThreadPoolExecutor(3) as pool:
        yield pool


def nobody(runs: int, steps: int) -> None:
    """Progress that nobody watches."""


def come_to(walker: Walker, runs: int) -> dict[str, Any]:
    """The tally of the runs, or how they fail."""
    try:
        tally = walker.walk(1, runs + 1, nobody)
    except EvaluationFailed as failure:
        return {"failed": str(failure), "state": failure.state, "notes": failure.__notes__}
    figures = {each.name: getattr(tally, each.name) for each in fields(tally)}
    if tally.discovery is not None:
        figures["path"] = walker.path(tally.discovery.run, tally.discovery.steps)
    return figures


def agreed(
    pool: ThreadPoolExecutor, specification: Specification, runs: int, steps: int, *without: str, **how: Any
) -> dict[str, Any]:
    """The result of plain walks, which compiled ones must equal with one worker and with three."""
    model = Model(specification)
    looked_at = tuple(n for n, each in enumerate(model.properties) if each.name not in without)
    asked = Walks(model, looked_at, steps, **{"seed": 5, **how})
    expected = come_to(PlainWalker(asked), runs)
    for workers in (1, 3):
        assert come_to(CompiledWalker(asked, pool, workers), runs) == expected, f"{workers} workers"
    return expected


TOYS: dict[str, tuple[Specification, tuple[str, ...]]] = {
    "never ends": (Clock(), ()),
    "comes to a deadlock": (Counters(), ()),
    "comes to a deadlock that nobody asks for": (Counters(), (DEADLOCK,)),
    "is closed by a bound": (Counters(closed_at=4), ()),
    "breaks an invariant": (Counters(at_most=4), ()),
    "has parameters": (Philosophers(), (DEADLOCK,)),
    "has many initial states": (Ring(), ()),
    "breaks a property of steps": (Bank(), ()),
    "leaves its domain": (Table(size=3, rows=(Row(0, "a", 0, 1), Row(1, "b", 1, -1), Row(1, "a", 1, 0))), ()),
    "begins badly": (Table(size=2, starts=(0, 1), rows=(Row(0, "a", 0, 0),), bad=(1,)), ()),
    "has a witness": (Table(size=2, rows=(Row(0, "a", 0, 1), Row(1, "a", 0, 0)), seen=(1,)), ()),
    "breaks two at once": (Table(size=2, rows=(Row(0, "a", 0, 1),), bad=(1,), bad_rows=(Row(0, "a", 0, 1),)), ()),
}


@pytest.mark.parametrize(("toy", "policy"), in_turn(TOYS, [SWARM, EVEN, BY_INSTANCE]))
def test_compiled_walks_of_toys_equal_plain_walks(pool: ThreadPoolExecutor, toy: str, policy: Policy) -> None:
    """One that ..."""
    specification, without = TOYS[toy]
    agreed(pool, specification, 30, 25, *without, policy=policy)


@pytest.mark.parametrize(
    "specification",
    [
        ControllerElection(brokers=2, fence_zk=False),
        Replication.of(truncation="kip-101", max_leader_epoch=2),
    ],
    ids=["controller-election", "replication"],
)
def test_compiled_walks_of_systems_equal_plain_walks(pool: ThreadPoolExecutor, specification: Specification) -> None:
    """With all properties, including those of steps and witnesses of both kinds."""
    agreed(pool, specification, 40, 40, DEADLOCK)


def test_a_paused_walk_goes_on(pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers return after some steps, and go on in the middle of a run."""
    expected = agreed(pool, Philosophers(), 20, 100, DEADLOCK)
    broken = agreed(pool, Counters(counters=6, at_most=8), 20, 100)
    monkeypatch.setattr(compiled_walks, "QUOTA", 7)
    assert agreed(pool, Philosophers(), 20, 100, DEADLOCK) == expected
    assert agreed(pool, Counters(counters=6, at_most=8), 20, 100) == broken
    assert broken["discovery"] is not None


def test_learned_tables_do_not_change_walks(pool: ThreadPoolExecutor) -> None:
    """A run is the same from fresh tables and from those that have seen many runs."""
    model = Model(ControllerElection(brokers=2))
    asked = Walks(model, tuple(range(len(model.properties) - 1)), 60, seed=2)
    used, fresh = CompiledWalker(asked, pool, 1), CompiledWalker(asked, pool, 1)
    used.walk(1, 200, nobody)
    assert used.path(77) == fresh.path(77)
    assert used.walk(150, 160, nobody) == fresh.walk(150, 160, nobody)


def beyond(at: int) -> Callable[..., Any]:
    """A witness for reaching this place."""

    def witness(self: Specification, s: Any) -> bool:
        return bool(s.place > at)

    return sometimes(witness)


class CrowdState(State):
    """The state of `Crowd`."""

    place: int = variable("The place.", of=lambda self: integers(0, 70))


class Crowd(Specification[CrowdState]):
    """Places that are taken one by one."""

    @action
    def take(self, s: CrowdState) -> None:
        require(s.place < 70)
        s.place += 1


def test_many_witnesses_are_counted(pool: ThreadPoolExecutor) -> None:
    """Even if there are more of them than bits in a word."""
    crowd: Any = type("Crowded", (Crowd,), {f"beyond_{at}": beyond(at) for at in range(70)})
    found = agreed(pool, crowd(), 3, 70, DEADLOCK)
    assert list(found["earliest"].values()) == list(range(2, 72))
