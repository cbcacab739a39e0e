"""`examples/two_phase_commit.py` is TwoPhase, and implements TCommit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import NamedTuple

import pytest

from spec.checking import Model
from tests.gallery.exploring import ENGINES, Explored, Figures, checked, explored, figures, system


class Plain(NamedTuple):
    """A state, without the language."""

    stages: tuple[str, ...]
    heard: frozenset[int]
    said: frozenset[int]
    decision: str


def following(state: Plain) -> Iterator[Plain]:
    """Return the possible next states."""
    stages, heard, said, decision = state

    def with_stage(manager: int, stage: str) -> Plain:
        return state._replace(stages=(*stages[:manager], stage, *stages[manager + 1 :]))

    if not decision:
        yield state._replace(decision="aborted")
        if len(heard) == len(stages):
            yield state._replace(decision="committed")
    for manager, stage in enumerate(stages):
        if stage == "working":
            yield with_stage(manager, "prepared")._replace(said=said | {manager})
            yield with_stage(manager, "aborted")
        if not decision and manager in said:
            yield state._replace(heard=heard | {manager})
        if decision:
            yield with_stage(manager, decision)


def plain(managers: int) -> Explored:
    """Explore all states."""
    return explored([Plain(("working",) * managers, frozenset(), frozenset(), "")], following)


def images(state: Plain, managers: int) -> Iterator[Plain]:
    """Return all forms of a state under renaming of renaming managers."""
    for names in permutations(range(managers)):
        yield Plain(
            stages=tuple(state.stages[names.index(manager)] for manager in range(managers)),
            heard=frozenset(names[manager] for manager in state.heard),
            said=frozenset(names[manager] for manager in state.said),
            decision=state.decision,
        )


@pytest.mark.parametrize("engine", ENGINES)
def test_it_has_the_published_states(engine: str) -> None:
    """TLC's figures for three resource managers, as recorded with the TLA+ examples."""
    result = checked("two_phase_commit", engine)
    assert (result.verdict, figures(result)) == ("holds", Figures(distinct=288, generated=1_146, depth=11))


def test_it_has_the_authors_figure_for_six_managers() -> None:
    """A comment at the end of their module gives the figure."""
    assert checked("two_phase_commit", "local", managers=6).distinct_states == 50_816


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("managers", [1, 2, 3, 4])
def test_states_equal_a_search_in_plain_python(engine: str, managers: int) -> None:
    """For any number of managers."""
    assert figures(checked("two_phase_commit", engine, managers=managers)) == plain(managers).figures


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("managers", "orbits"), [(3, 80), (4, 166)])
def test_orbits_equal_brute_force(engine: str, managers: int, orbits: int) -> None:
    """The expected number comes from every permutation of every state."""
    apart = {frozenset(images(state, managers)) for state in plain(managers).states}
    result = checked("two_phase_commit", engine, symmetry=True, managers=managers)
    assert result.distinct_states == len(apart) == orbits


def test_two_phase_commit_implements_transaction_commit() -> None:
    """Each of its steps is one of TCommit, or invisible to TCommit. [TPSpec => TC!TCSpec]"""
    one, two = (Model(system(name)()) for name in ("transaction_commit", "two_phase_commit"))
    stages = [at for at, cell in enumerate(two.layout.cells) if cell.name.startswith("stage[")]
    pending = list(two.first_states())
    reached = set(pending)
    while pending:
        state = pending.pop()
        before = tuple(state[at] for at in stages)
        allowed = {before, *(step.after for step in one.expand(before).steps)}
        for step in two.expand(state).steps:
            assert step.after is not None
            assert tuple(step.after[at] for at in stages) in allowed, step
            if step.after not in reached:
                reached.add(step.after)
                pending.append(step.after)
    assert len(reached) == 288
