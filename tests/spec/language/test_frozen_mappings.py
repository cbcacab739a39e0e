"""Mappings as parameters and as fields of records: values like any other."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pytest

from spec.checking import EvaluationFailed, check
from spec.checking.check import silent
from spec.checking.exploration import Options
from spec.checking.model import Model
from spec.checking.reference import ReferenceEngine
from spec.checking.symmetry.group import every_permutation, sorts_in
from spec.language import (
    Partial,
    Size,
    Specification,
    State,
    Total,
    action,
    frozen,
    initial,
    integers,
    interchangeable,
    invariant,
    one_of,
    require,
    sometimes,
    variable,
    view,
)
from spec.language.domains import ABSENT, FrozenMappingDomain, PossiblyDomain
from spec.language.errors import OutOfDomain
from spec.language.state import Values
from tests.spec.checking.everywhere import agreed

Node = Annotated[int, "a node"]
Colour = Annotated[str, "a colour"]


class Plan(NamedTuple):
    """A plan: the colour of each node, and the next node of some."""

    colours: Total[Node, Colour]
    following: Partial[Node, Node]


class Ring(State):
    """Nodes with colours."""

    colours: Total[Node, Colour] = variable("The colour of each node.")
    plan: Plan = variable("What they should be.")


class Painting(Specification[Ring]):
    """Nodes are painted by plan."""

    def sizes(self) -> Mapping[Any, Size]:
        return {Node: range(2), Colour: ("red", "blue")}

    @initial
    def begin(self, s: Ring, colours: Total[Node, Colour]) -> None:
        """Any colours."""
        s.colours = colours
        s.plan = Plan(s.colours | {}, s.plan.following)

    @action
    def plan_all(self, s: Ring, colours: Total[Node, Colour], following: Partial[Node, Node]) -> None:
        """Other colours."""
        require(colours != s.plan.colours and all(node != to for node, to in following.items()))
        s.plan = Plan(colours, following)

    @action(colours=lambda self, s: (s.plan.colours, s.colours))
    def paint(self, s: Ring, colours: Total[Node, Colour]) -> None:
        """All of them."""
        require(dict(s.colours) != dict(colours))
        s.colours = colours

    @action(node=lambda self, s: s.plan.following)
    def follow(self, s: Ring, node: Node) -> None:
        """Another one, and be done with it."""
        s.colours[node] = s.colours[s.plan.following[node]]
        rest = {each: to for each, to in s.plan.following.items() if each != node}
        s.plan = Plan(s.plan.colours | {node: s.colours[node]}, frozen(rest))

    @invariant
    def is_planned(self, s: Ring) -> bool:
        """Colours are those of the plan, while it says who follows whom."""
        return len(s.plan.following) < 2 or s.colours[0] == s.plan.colours[0]

    @sometimes(colours=lambda self, s: [s.plan.colours])
    def all_blue(self, s: Ring, colours: Total[Node, Colour]) -> bool:
        """A plan in one colour."""
        return {*colours.values()} == {"blue"}

    @view
    def told(self, s: Ring) -> str:
        """The plan."""
        return f"{s.plan.colours}"


def test_every_engine_has_mappings_as_values(tmp_path: Path) -> None:
    """The same figures, traces, files and replays."""
    agreed(Painting(), tmp_path, seed=5)


def test_a_trace_shows_them_like_mappings() -> None:
    """As parameters and as parts of records."""
    result = check(Painting(), engine="reference")
    assert result.counterexample is not None
    assert "plan_all(colours={0: blue, 1: red}, following={0: 1, 1: 0})" in str(result.counterexample)


def test_a_goal_names_one() -> None:
    """As a trace shows it."""
    found = check(Painting(), show="plan_all(colours={0: blue, 1: red}, following={1: 0})")
    assert found.verdict == "witnessed"


COLOURS = FrozenMappingDomain(integers(0, 1), dict.fromkeys(range(2), one_of("red", "blue")))
SOME = FrozenMappingDomain(integers(0, 1), dict.fromkeys(range(2), PossiblyDomain(one_of(True, 1.5))))


@pytest.mark.parametrize("domain", [COLOURS, SOME])
def test_values_are_numbered(domain: FrozenMappingDomain) -> None:
    """By rank and by codes, in the same order."""
    values = [*domain]
    assert len({*values}) == domain.size
    assert [*map(domain.rank, values)] == [*range(domain.size)]
    assert [domain.value(domain.codes(value)) for value in values] == values
    assert sorted(values, key=domain.codes) == values
    assert pickle.loads(pickle.dumps(values)) == values


@pytest.mark.parametrize(
    "value", [{0: "red"}, {0: "red", 1: "green"}, {0: "red", 1: "red", 2: "red"}, {0: "red", True: "red"}, 7, (0, 1)]
)
def test_other_values_are_outside(value: object) -> None:
    """A missing key, another value, another key, a key that only equals one, and no mapping."""
    with pytest.raises(OutOfDomain):
        COLOURS.rank(value)


def test_keys_may_be_missing_from_a_partial_one() -> None:
    """Then they are absent."""
    assert next(iter(SOME)) == {} == SOME.unrank(0)
    assert SOME.rank({1: True}) == 1
    assert ABSENT not in SOME.unrank(1).values()


def test_a_mapping_in_a_record_is_never_changed_in_place() -> None:
    """`|` makes another one, `frozen` too; a message names the one that is meant."""

    class InPlace(Painting):
        @action
        def plan_all(self, s: Ring, colours: Total[Node, Colour], following: Partial[Node, Node]) -> None:
            """In place."""
            s.plan.colours[0] = "blue"

    class Deleted(Painting):
        @action
        def plan_all(self, s: Ring, colours: Total[Node, Colour], following: Partial[Node, Node]) -> None:
            """In place."""
            del s.plan.colours[0]

    class ByDict(Painting):
        @action
        def plan_all(self, s: Ring, colours: Total[Node, Colour], following: Partial[Node, Node]) -> None:
            """By a dict."""
            s.plan = Plan({**s.plan.colours}, following)  # type: ignore[arg-type]

    for wrong, said in (
        (InPlace, r"TypeError: .*\|= \{0: 'blue'\}"),
        (Deleted, "TypeError: .*frozen"),
        (ByDict, r"plan = .*frozen"),
    ):
        for engine in ("reference", "local"):
            with pytest.raises(EvaluationFailed, match=said):
                check(wrong(), engine=engine)


class Symmetric(Painting):
    """Nodes and colours are interchangeable."""

    def sizes(self) -> Mapping[Any, Size]:
        return {Node: interchangeable("node", range(2)), Colour: interchangeable("colour", ("red", "blue"))}

    is_planned = all_blue = told = None  # type: ignore[assignment]


def test_orbits_of_mappings_are_those_of_brute_force() -> None:
    """A permutation moves keys and values."""
    model, reference = Model(Symmetric()), ReferenceEngine()
    reference.explore(model, Options(()), silent)
    reached = reference.so_far.reached
    orbits = {min(model.layout.pack(image) for image in images_of(model, state)) for state in reached}
    for engine in ("reference", "local"):
        assert check(Symmetric(), engine=engine, symmetry=True).distinct_states == len(orbits)
    assert 4 * len(orbits) > len(reached) > 2 * len(orbits)


def images_of(model: Model, state: Values) -> Iterator[Values]:
    """The state under each permutation of nodes and colours."""
    plans = model.layout.cells[2].domain
    for permutation in every_permutation(sorts_in(model)):
        node, colour = permutation["node"], permutation["colour"]
        painted = {node.get(at, at): colour.get(its, its) for at, its in enumerate(state[:2])}
        plan = Plan(
            {node.get(at, at): colour.get(its, its) for at, its in state[2].colours.items()},  # type: ignore[arg-type]
            {node.get(at, at): node.get(to, to) for at, to in state[2].following.items()},  # type: ignore[arg-type]
        )
        yield painted[0], painted[1], plans.unrank(plans.rank(plan))
