"""State graphs for other tools: complete small graphs, and quotients; a reader of each format reads them."""

from __future__ import annotations

import re
from io import BytesIO
from typing import Literal, NamedTuple

import pytest
from pygraphviz import AGraph

from examples.transaction_commit import TransactionCommit
from spec.checking import check
from spec.checking.model import EvaluationFailed
from spec.language import Specification, State, UsageError, action, initial, left_out, record, require, variable
from spec.reports.state_graph import StateGraph, aut, dot, graphml, state_graph
from tests.rows import rows


class Lamp(State):
    """A lamp."""

    lit: bool = variable("Whether it is on.")
    pressed: int = variable("How often the switch was pressed.", of=lambda self: range(5))


class Lamps(Specification[Lamp]):
    """A lamp is lit "by hand"."""

    @action
    def press(self, s: Lamp) -> None:
        """It is pressed."""
        require(s.pressed < 4)
        s.lit = not s.lit
        s.pressed += 1

    @action
    def burn_out(self, s: Lamp) -> None:
        """It goes out by itself."""
        require(s.lit)
        s.lit = False


class Letter(NamedTuple):
    """A record."""

    number: int = 0
    weight: int = 9
    """No rule reads it."""
    read: bool = False


class Desk(State):
    """A desk with letters."""

    letter: Letter = variable(
        "The last.", of=lambda self: record(Letter, number=range(4), weight=left_out(), read=[False, True])
    )


class Post(Specification[Desk]):
    """Letters come, and are read."""

    @action
    def come(self, s: Desk, weight: Literal[5, 9]) -> None:
        """Another one comes."""
        require(s.letter.read or not s.letter.number)
        require(s.letter.number < 3)
        s.letter = Letter(s.letter.number + 1, weight)

    @action
    def read(self, s: Desk) -> None:
        """It is read."""
        require(s.letter.number and not s.letter.read)
        s.letter = s.letter._replace(read=True)


def quotient() -> StateGraph:
    """On and off."""
    return state_graph(Lamps(), ["s.lit"])


def test_without_an_expression_each_state_is_a_node() -> None:
    """As many nodes as in a check, with all steps."""
    graph, found = state_graph(TransactionCommit()), check(TransactionCommit)
    assert len(graph.nodes) == found.distinct_states == 34
    assert graph.initial == 1
    assert graph.by == ("s.stage",)
    assert graph.nodes[0] == ("0: working, 1: working, 2: working",)


def test_states_with_equal_expressions_are_one_node() -> None:
    """An edge has each action between two nodes."""
    assert quotient().nodes == (("false",), ("true",))
    assert quotient().actions == {(0, 1): ["press"], (1, 0): ["press", "burn_out"]}


def test_any_expression_is_allowed() -> None:
    """It may use the state and the specification."""
    assert state_graph(Lamps(), ["s.pressed // 3", "self.name"]).nodes == (("0", "lamps"), ("1", "lamps"))


@pytest.mark.parametrize("by", [[], ["s.letter"]])
def test_equal_records_are_one_node(by: list[str]) -> None:
    """A left out field does not count, whether an action assigned it or it has its default."""
    graph = state_graph(Post(), by)
    assert len(graph.nodes) == check(Post).distinct_states == 7
    assert graph.nodes[:3] == (("Letter()",), ("Letter(number=1)",), ("Letter(number=1, read=true)",))
    assert graph.actions[0, 1] == ["come"]
    assert graph.actions[1, 2] == ["read"]


def test_graphviz_reads_dot() -> None:
    """With quotes in the words."""
    read = AGraph(string=dot(state_graph(Lamps(), ["s.lit", "'\"' + str(s.lit)"])))
    assert sorted(each.attr["peripheries"] or "" for each in read.nodes()) == ["", "2"]
    assert read.get_edge("1", "0").attr["label"] == r"press\nburn_out"
    assert read.get_node("0").attr["label"].startswith("s.lit = false")


def test_networkx_reads_graphml() -> None:
    """It is a multigraph, whose nodes carry the expressions' values."""
    import networkx  # here, since it takes a fifth of a second, and each worker collects all files

    read = networkx.read_graphml(BytesIO(graphml(quotient()).encode()), force_multigraph=True)
    assert dict(read.nodes(data="s.lit")) == {"0": "false", "1": "true"}
    assert dict(read.nodes(data="initial")) == {"0": True, "1": False}
    assert sorted(read.edges(data="action")) == [("0", "1", "press"), ("1", "0", "burn_out"), ("1", "0", "press")]


def test_aldebaran_has_a_header_and_a_line_for_each_transition() -> None:
    """It follows the format's grammar: numbers within bounds, labels in quotes."""
    head, *lines = aut(quotient()).splitlines()
    assert re.fullmatch(r"des \(0,3,2\)", head)
    assert lines == ['(0,"press",1)', '(1,"press",0)', '(1,"burn_out",0)']


def test_aldebaran_has_one_initial_state() -> None:
    """So a graph with several is refused."""

    class Begun(Lamps):
        @initial(lit=[True, False])
        def somehow(self, s: Lamp, lit: bool) -> None:
            """On or off."""
            s.lit = lit

    graph = state_graph(Begun(), ["s.lit"])
    assert graph.initial == 2
    with pytest.raises(UsageError, match="--format aut permits one initial state, but this graph has 2"):
        aut(graph)


@rows(
    "by, most, says",
    [
        ([], 4, "the graph has more than 4 nodes: use --by, such as --by s.lit, or allow more with --nodes N"),
        (
            ["s.pressed"],
            4,
            "the graph has more than 4 nodes: use fewer or coarser --by, or allow more with --nodes N",
        ),
        (["s.("], 9, r"--by s.\(: it is not a Python expression"),
        (["s.dark"], 9, "--by s.dark: in the first state: SpecificationError: there is no variable dark"),
        (["1 // s.lit"], 9, "--by 1 // s.lit: in the first state: ZeroDivisionError"),
        (["dark"], 9, "--by dark: dark is not known"),
    ],
)
def test_an_invalid_request_is_a_one_line_error(by: list[str], most: int, says: str) -> None:
    """The line suggests a remedy."""
    with pytest.raises(UsageError, match=f"^{says}"):
        state_graph(Lamps(), by, most)


def test_a_graph_that_is_too_large_is_refused_at_any_point() -> None:
    """Before a step or after it, on any engine."""
    for most in range(1, 7):
        for by in ([], ["s.letter"]):
            with pytest.raises(UsageError, match=f"^the graph has more than {most} nodes"):
                state_graph(Post(), by, most)


def test_an_expression_that_raises_later_is_reported_with_its_state() -> None:
    """As for an action."""
    with pytest.raises(EvaluationFailed, match="ZeroDivisionError"):
        state_graph(Lamps(), ["1 // (s.pressed - 2)"])
