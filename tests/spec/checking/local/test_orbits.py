"""Orbits in compiled code: the findings of the reference engine among representatives, to the last step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spec.atlas.instances import figures_of
from spec.checking import Result, check
from spec.checking.local import LocalEngine
from spec.checking.local.arrays import Scratch
from spec.checking.local.jit import Array, compiled
from spec.checking.local.learning_budget import LearningBudget
from spec.checking.local.orbits import listed, relations
from spec.checking.local.representing import Orbits, represent_in
from spec.checking.local.seeking import Seeker
from spec.checking.local.tables import DecisionTables
from spec.checking.model import Model
from spec.checking.symmetry import reduction as symmetry
from spec.checking.symmetry.reduction import Symmetry
from spec.language import Specification, UsageError
from spec.language.state import Values
from spec.systems.controller_election import ControllerElection
from spec.systems.replication import Replication
from tests.spec.checking.graphs import HARD, graph
from tests.spec.checking.local.comparing import agreed
from tests.spec.checking.symmetry.test_canonical import FIVE, SIXTEEN, canonical
from tests.spec.checking.symmetry.test_reduction import (
    REFUSED,
    OrdersInAnInvariant,
    Society,
    Votes,
    least_of,
    societies,
    states_of,
    symmetric_states,
)
from tests.tiers import long_unless


def graphs() -> st.SearchStrategy[tuple[Model, Values]]:
    """Graphs with five vertices, and hard ones with sixteen."""
    hard = st.sampled_from([*HARD]).map(lambda name: (SIXTEEN, graph(16, HARD[name])))
    return hard | states_of(FIVE).map(lambda state: (FIVE, state))


@settings(max_examples=80)
@given(symmetric_states())
def test_compiled_code_finds_the_minimum_of_an_orbit(drawn: tuple[Model, Values]) -> None:
    """Wherever brokers occur in a state, and however many permutations give the same image."""
    model, state = drawn
    packed, least = model.layout.pack(state), least_of(model)
    changed, found = represented(Orbits.listed(model.layout.words, listed(model.layout, least)), model, packed)
    assert found == least.representative(packed)
    assert changed or found == packed


@compiled
def represent(orbits: Orbits, state: Array) -> bool:
    """Python can only call whole kernels."""
    return represent_in(orbits, state, 0)


def represented(its: Orbits, model: Model, packed: int) -> tuple[bool, int]:
    """Whether compiled code reports changing a state, and the result."""
    words = model.layout.words
    registers = np.frombuffer(packed.to_bytes(8 * words, "big"), ">u8").astype(np.uint64)
    changed = represent(its, registers)
    return changed, int.from_bytes(registers.astype(">u8").tobytes(), "big")


@settings(max_examples=80)
@given(symmetric_states() | graphs())
def test_compiled_code_finds_the_canonical_form(drawn: tuple[Model, Values]) -> None:
    """It is the same state that plain Python finds."""
    model, state = drawn
    packed, form = model.layout.pack(state), canonical(model)
    changed, found = represented(
        Orbits.related(model.layout.words, relations(model.layout, form.facts)), model, packed
    )
    assert found == form.representative(packed)
    assert changed == (found != packed)


@settings(max_examples=8)
@given(societies())
def test_random_systems_by_canonical_form_equal_reference(society: Society) -> None:
    """As if the group were large."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(symmetry, "LISTED", 0)
        agreed(society, keep_going=True, symmetry=True)


@settings(max_examples=8)
@given(societies())
def test_random_systems_equal_reference(society: Society) -> None:
    """Statistics, coverage, discoveries and their paths, for violations of invariants, steps and domains."""
    agreed(society, keep_going=True, symmetry=True)


@pytest.mark.parametrize(
    "specification",
    [
        Votes(brokers=4),
        *long_unless(
            lambda _: False,
            [
                Replication.of(brokers=4, log_size=1, max_records=1, max_leader_epoch=0),
                Replication.of(brokers=2, max_leader_epoch=1, truncation="truncate-to-high-watermark", history=True),
                Replication.of(brokers=3, max_leader_epoch=1, log_size=1, max_records=1),
                ControllerElection.of(brokers=2, elections=1, crashes=False, operator_deletes=False, fence_zk=False),
            ],
        ),
    ],
    ids=["votes", "four brokers", "two brokers", "three brokers", "election"],
)
def test_systems_equal_reference(specification: Specification) -> None:
    """Witnesses and counterexamples are the same paths, and their brokers keep their names."""
    agreed(specification, keep_going=True, symmetry=True)


@pytest.mark.parametrize("spoilt", REFUSED, ids=lambda each: each.__name__)
def test_a_rule_that_distinguishes_brokers_is_refused_by_name(spoilt: type[Specification]) -> None:
    """And why."""
    with pytest.raises(UsageError) as refused:
        check(spoilt(), engine="local", symmetry=True)
    assert str(refused.value).startswith("--symmetry: " + REFUSED[spoilt].format(spoilt.name))


def test_workers_that_search_together_share_no_memory() -> None:
    """Each finds representatives in memory of its own."""
    model = Model(ControllerElection(brokers=3))
    tables = DecisionTables(model, model.numbers(["type_ok"]), Symmetry(model, model.numbers(["type_ok"])))
    seeker = Seeker(tables, LearningBudget(), [Scratch.of(tables.words, 1), Scratch.of(tables.words, 1)])
    one, other = seeker.orbits
    assert one is not None
    assert other is not None
    assert not any(map(np.shares_memory, one.scratch, other.scratch))


@pytest.mark.parametrize("workers", [1, 2])
def test_refusals_do_not_depend_on_workers(workers: int) -> None:
    """Neither does the reason."""
    with pytest.raises(UsageError, match="property upwards"):
        check(OrdersInAnInvariant(), engine=LocalEngine(workers), symmetry=True)


# Kept runs.


def reduced(directory: Path, resume: bool = False, **bounds: Any) -> Result:
    """A run by orbits, kept in this directory."""
    engine = LocalEngine(1, run_dir=directory, resume=resume)
    return check(ControllerElection.of(brokers=2, elections=1), engine=engine, symmetry=True, **bounds)


@pytest.mark.long
def test_a_run_under_symmetry_is_resumed(tmp_path: Path) -> None:
    """It ends as if it had never stopped."""
    stopped = reduced(tmp_path / "stopped", max_depth=12)
    assert stopped.verdict == "bounded"
    resumed, whole = reduced(tmp_path / "stopped", resume=True), reduced(tmp_path / "whole")
    assert (whole.verdict, whole.distinct_states) == ("holds", 6660)
    assert figures_of(resumed) == figures_of(whole)
    assert (resumed.properties, resumed.actions) == (whole.properties, whole.actions)


@pytest.mark.parametrize("symmetry", [True, False])
def test_symmetry_is_part_of_the_run_identity(tmp_path: Path, symmetry: bool) -> None:
    """A run by orbits lacks states, so it cannot be resumed as a run of all states, or the reverse."""
    first = LocalEngine(1, run_dir=tmp_path / "run")
    check(Votes(), engine=first, symmetry=symmetry, max_depth=2)
    again = LocalEngine(1, run_dir=tmp_path / "run", resume=True)
    with pytest.raises(UsageError, match="holds another run: states of each orbit"):
        check(Votes(), engine=again, symmetry=not symmetry)
