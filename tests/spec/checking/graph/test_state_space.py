"""State spaces as graphs: their attributes, and their queries, each beside a slow and obvious answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from spec.checking import Replay, check, state_space
from spec.checking.model import EvaluationFailed
from spec.language import (
    Specification,
    SpecificationError,
    State,
    UsageError,
    action,
    bound,
    initial,
    require,
    variable,
)
from spec.reports.state_graph import state_graph
from spec.systems.controller_election import ControllerElection
from tests.rows import rows
from tests.spec.toys import Arm, Jugs, OffTheLine, OneWay, RaisingProperty, Turnstile, Walkers


class Lamp(State):
    """A lamp."""

    lit: bool = variable("Whether it is on.")
    pressed: int = variable("How often the switch was pressed.", of=lambda self: range(5))


class Lamps(Specification[Lamp]):
    """A lamp that begins on or off, and can go out in two ways."""

    @initial(lit=[True, False])
    def somehow(self, s: Lamp, lit: bool) -> None:
        """On or off."""
        s.lit = lit

    @action(by=[1, 2])
    def press(self, s: Lamp, by: int) -> None:
        """It is pressed."""
        require(s.pressed + by < 5)
        s.lit = not s.lit
        s.pressed += by

    @action
    def burn_out(self, s: Lamp) -> None:
        """It goes out by itself."""
        require(s.lit)
        s.lit = False

    @action
    def cut(self, s: Lamp) -> None:
        """Its current is cut."""
        require(s.lit)
        s.lit = False


SMALL: list[Specification[Any]] = [
    Lamps(),
    Jugs(),
    Walkers(),
    OneWay(),
    Turnstile(),
    Arm(),
    ControllerElection(brokers=1),
]


def reached(edges: Iterable[tuple[Any, Any]], sources: Iterable[Any], without: Any = None) -> set[Any]:
    """The nodes reachable from some nodes without passing one."""
    following: dict[Any, set[Any]] = {}
    for source, target in edges:
        following.setdefault(source, set()).add(target)
    met, waiting = set[Any](), [each for each in sources if each != without]
    while waiting:
        node = waiting.pop()
        if node not in met:
            met.add(node)
            waiting += following.get(node, set()) - {without}
    return met


def simple_paths(
    edges: set[tuple[int, int]], path: list[int], goals: set[int], *, beyond: bool
) -> Iterator[list[int]]:
    """All paths to a goal that visit no node twice. They pass other goals only if allowed."""
    if path[-1] in goals:
        yield path
        if not beyond:
            return
    for source, target in edges:
        if source == path[-1] and target not in path:
            yield from simple_paths(edges, [*path, target], goals, beyond=beyond)


def text_of(variables: dict[str, Any]) -> str:
    return str(sorted((name, str(value)) for name, value in variables.items()))


@pytest.mark.parametrize("system", SMALL, ids=lambda each: type(each).__name__)
def test_a_node_is_a_state_and_an_edge_is_a_step(system: Specification[Any]) -> None:
    """The graph has the states and depth of a check, and the numbering of `kafkaspec graph`."""
    graph, found = state_space(system).to_networkx(), check(system, engine="reference", keep_going=True)
    assert graph.number_of_nodes() == found.distinct_states
    assert max(depth for _, depth in graph.nodes(data="depth")) == found.depth
    assert graph.number_of_edges() == sum(each.taken for each in found.actions)
    drawn = state_graph(system, most=1_000)
    assert {(s, t, a) for s, t, a in graph.edges(data="action")} == {
        (*ends, each) for ends, actions in drawn.actions.items() for each in actions
    }
    assert [node for node, begins in graph.nodes(data="initial") if begins] == list(range(drawn.initial))


class Forks(State):
    at: int = variable("Where it stands.", of=lambda self: range(4))


class Forking(Specification[Forks]):
    """A step leads from the fork to each of two ends, or back."""

    @action(to=(0, 2, 3))
    def leave(self, s: Forks, to: int) -> None:
        """From the fork to one of the ends."""
        require(s.at == 1)
        s.at = to

    @action
    def come(self, s: Forks) -> None:
        """Back to the fork."""
        require(s.at == 0)
        s.at = 1


def test_each_step_that_reaches_a_goal_is_a_run_of_its_own() -> None:
    """Even if several start in one state or one of them leads back."""
    runs = state_space(Forking()).shortest_runs("leave", 9)
    assert sorted([str(step.step) for step in run.steps] for run in runs) == [
        ["come()", f"leave(to={to})"] for to in (0, 2, 3)
    ]


@pytest.mark.parametrize("system", SMALL, ids=lambda each: type(each).__name__)
def test_properties_are_attributes_where_they_are_decided(system: Specification[Any]) -> None:
    """The nearest node or edge with a property has the depth of the check's trace."""
    graph, found = state_space(system).to_networkx(), check(system, engine="reference", keep_going=True)
    lengths: dict[str, int] = {}
    places = [(depth, graph.nodes[node]) for node, depth in graph.nodes(data="depth")]
    places += [(graph.nodes[source]["depth"] + 1, edge) for source, _, edge in graph.edges(data=True)]
    for length, place in places:
        for name in (*place["broken"], *place["witnessed"]):
            lengths[name] = min(length, lengths.get(name, length))
    expected = {each.name: each.length for each in found.properties if each.length is not None}
    assert {name: at for name, at in lengths.items() if name in expected} == expected
    assert lengths.keys() - expected.keys() <= {"deadlock"}


def test_values_keep_their_types() -> None:
    """In a state, in a class, and in the parameters of a step."""
    graph = state_space(Lamps()).to_networkx()
    assert [graph.nodes[0][name] for name in ("s.lit", "s.pressed", "initial", "depth")] == [True, 0, True, 1]
    assert graph.edges[0, next(iter(graph[0])), "press(by=1)"]["parameters"] == {"by": 1}
    folded = state_space(Lamps()).to_networkx(by=["s.lit", "s.pressed // 2"])
    assert [folded.nodes[0][name] for name in ("s.lit", "s.pressed // 2")] == [True, 0]


def test_steps_between_the_same_states_are_several_edges() -> None:
    """The key of each is its text."""
    graph = state_space(Lamps()).to_networkx()
    assert sorted(key for _, target, key in graph.edges(0, keys=True) if target == 1) == ["burn_out()", "cut()"]


def test_a_class_has_the_properties_of_any_of_its_states() -> None:
    """Its depth is that of its nearest state."""
    graph = state_space(Turnstile(kind="rope")).to_networkx(by="s.inside > s.home")
    assert dict(graph.nodes(data="depth")) == {0: 1, 1: 2}
    assert graph.nodes[1]["broken"] == ("never_crowded",)
    assert not graph.nodes[0]["broken"]


GOALS: list[tuple[Specification[Any], str]] = [
    (Lamps(), "s.pressed == 3"),
    (Lamps(), "cut"),
    (Lamps(), "s.pressed == 0"),
    (Jugs(), "never_four"),
    (Jugs(), "both_full"),
    (Turnstile(), "squeezed"),
    (OneWay(), "deadlock"),
    (ControllerElection(brokers=1), "elected_twice"),
]


@rows("system, goal", GOALS)
def test_without_a_dominator_no_run_reaches_the_goal(system: Specification[Any], goal: str) -> None:
    """If any other state is removed, some run still reaches it."""
    space = state_space(system)
    graph, passed = space.to_networkx(), [text_of(dict(each)) for each in space.dominators(goal)]
    ends = ends_of(space, goal)
    edges = {*graph.edges(), *((end, "goal") for end in ends)}
    first = [node for node, begins in graph.nodes(data="initial") if begins]
    needed = [node for node in graph if "goal" not in reached(edges, first, without=node)]
    variables = [name for name in graph.nodes[0] if name.startswith("s.")]
    in_order = sorted(needed, key=lambda node: graph.nodes[node]["depth"])
    assert passed == [text_of({name: graph.nodes[node][name] for name in variables}) for node in in_order]


def ends_of(space: Any, goal: str) -> set[int]:
    """The states in which, or from which by a step, a goal is reached, from the attributes of the graph."""
    graph = space.to_networkx()
    if goal.startswith("s."):
        return {node for node in graph if graph.nodes[node]["s.pressed"] == int(goal[-1])}
    ends = {node for node in graph if goal in graph.nodes[node]["broken"] + graph.nodes[node]["witnessed"]}
    return ends | {source for source, _, taken in graph.edges(data="action") if taken == goal}


@rows("system, goal", GOALS[:-1])
def test_the_shortest_runs_are_the_shortest_of_all_paths(system: Specification[Any], goal: str) -> None:
    """Their lengths are the same, and each is a run of the specification that reaches the goal at its end only."""
    space = state_space(system)
    graph, ends = space.to_networkx(), ends_of(space, goal)
    edges = {(source, target) for source, target, taken in graph.edges(data="action") if taken != goal}
    first = [node for node, begins in graph.nodes(data="initial") if begins]
    last = any(taken == goal for _, _, taken in graph.edges(data="action"))  # the step itself follows
    paths = (path for begin in first for path in simple_paths(edges, [begin], ends, beyond=last))
    lengths = sorted(map(len, paths))[:5]
    runs = space.shortest_runs(goal, 5)
    assert [run.length - last for run in runs] == lengths
    assert len({str(run) for run in runs}) == len(runs)
    for run in runs:
        replay = Replay(system, run.initial)
        for each in run.steps:
            replay.do(each.step)


def test_a_run_to_a_step_ends_with_its_first() -> None:
    """It has no earlier step of that action."""
    runs = state_space(Lamps()).shortest_runs("burn_out", 20)
    assert {[each.step.action for each in run.steps].count("burn_out") for run in runs} == {1}
    assert {run.steps[-1].step.action for run in runs} == {"burn_out"}


def test_the_shortest_run_is_as_long_as_the_check_shows() -> None:
    """For a witness and for a step."""
    system = ControllerElection(brokers=1)
    for goal in ("elected_twice", "zk.expire"):
        shown = check(system, show=goal).shown
        assert shown is not None
        assert state_space(system).shortest_runs(goal)[0].length == shown.length


def test_a_class_that_dominates_is_on_every_run() -> None:
    """Without its states no run reaches the goal."""
    space = state_space(ControllerElection(brokers=1))
    graph, by = space.to_networkx(by=["s.epoch", "s.named_controller"]), ["s.epoch", "s.named_controller"]
    passed = [tuple(each.values()) for each in space.dominators("s.epoch == 2", by)]
    assert passed == [(0, None), (1, 0), (1, None), (2, 0)]
    places = {node: tuple(graph.nodes[node][name] for name in by) for node in graph}
    for place in passed:
        [without] = [node for node, each in places.items() if each == place]
        assert not {places[each] for each in reached(graph.edges(), [0], without)} & {(2, 0)}


@pytest.mark.parametrize("system", SMALL, ids=lambda each: type(each).__name__)
def test_states_of_a_component_reach_each_other_and_themselves(system: Specification[Any]) -> None:
    """By at least one step. The component lists the actions of its inner edges and of those that leave it."""
    space = state_space(system)
    graph = space.to_networkx()
    after = {node: reached(graph.edges(), graph.successors(node)) for node in graph}
    found = {
        tuple(sorted(each for each in after[node] if node in after[each])) for node in graph if node in after[node]
    }
    components = space.recurrent_components()
    assert [each.states for each in components] == sorted(found)
    for each in components:
        leaving = {(target in each.states, taken) for _, target, taken in graph.edges(each.states, data="action")}
        assert {*each.actions} == {taken for inside, taken in leaving if inside}
        assert {*each.exits} == {taken for inside, taken in leaving if not inside}


@pytest.mark.parametrize("goal", ["s.pressed == 3", lambda s: s.pressed == 3], ids=["text", "function"])
def test_a_goal_may_be_a_function(goal: str | Callable[[Lamp], bool]) -> None:
    """It is equivalent to the predicate."""
    space = state_space(Lamps)
    assert [run.length for run in space.shortest_runs(goal, 4)] == [3, 3, 3, 3]
    assert len(space.dominators(goal, by="s.pressed > 1")) == 2


def test_an_unreachable_goal_has_no_runs_or_dominators() -> None:
    """The answers are empty."""
    space = state_space(Lamps())
    assert space.shortest_runs("s.pressed > 4", 3) == ()
    assert space.dominators("s.pressed > 4") == ()


def test_a_system_with_more_states_is_refused() -> None:
    """The error says how many states are allowed."""
    assert len(state_space(Jugs(), max_states=16)) == 16
    with pytest.raises(
        UsageError, match=r"^jugs has more than 15 states; set smaller constants, or a larger max_states$"
    ):
        state_space(Jugs(), max_states=15)


@rows(
    "ask, says",
    [
        (lambda space: space.to_networkx("s.("), r"by s.\(: it is not a Python expression"),
        (lambda space: space.to_networkx(["dark"]), "by dark: dark is not known"),
        (lambda space: space.to_networkx(by=["s.dark"]), "by s.dark: SpecificationError: there is no variable dark"),
        (
            lambda space: space.dominators("dark"),
            "dark cannot be shown: lamps has the witnesses none, and the actions",
        ),
        (lambda space: space.dominators(7), "goal = 7: it must be a name, a predicate in Python, or a function"),
        (lambda space: space.shortest_runs("cut", 0), "count = 0: it must be 1 or more"),
    ],
)
def test_a_meaningless_expression_is_a_one_line_error(ask: Callable[[Any], Any], says: str) -> None:
    """The error says what is wrong."""
    with pytest.raises(UsageError, match=f"^{says}"):
        ask(state_space(Lamps()))


def test_a_part_of_the_state_is_not_a_value() -> None:
    """It would change when the next state is read."""
    with pytest.raises(UsageError, match=r"^by s\.zk: it is a part of the state; name a variable of it"):
        state_space(ControllerElection(brokers=1)).to_networkx("s.zk")


def test_an_exception_in_an_expression_is_reported() -> None:
    """For a step out of its domain and for a property that raises."""
    with pytest.raises(SpecificationError, match="a step leaves its domain: at"):
        state_space(OffTheLine())
    with pytest.raises(EvaluationFailed):
        state_space(RaisingProperty()).to_networkx()


def test_edges_follow_each_other_in_a_run() -> None:
    """The steps of a run are consecutive edges of the graph."""
    space = state_space(Jugs())
    graph = space.to_networkx()
    [run] = space.shortest_runs("never_four")
    places = [next(n for n in graph if graph.nodes[n]["s.jug"] == dict(state["jug"])) for state in run.states]
    keys = [str(each.step) for each in run.steps]
    assert all(graph.has_edge(*ends, key=key) for ends, key in zip(pairwise(places), keys, strict=True))


def test_a_run_may_pass_the_class_in_which_it_ends() -> None:
    """The states that end it are kept apart from the others of the class."""
    space = state_space(ControllerElection(brokers=1))
    assert [
        each["s.named_controller"]
        for each in space.dominators("s.epoch == 1 and s.named_controller is None", "s.named_controller")
    ] == [
        None,
        0,
        None,
    ]


def test_a_mapping_keeps_the_values_of_its_state() -> None:
    """It does not change when the window moves to the next state."""
    graph = state_space(Jugs()).to_networkx("s.jug")
    assert graph.nodes[0]["s.jug"] == {"small": 0, "large": 0}
    assert {tuple(jug.values()) for _, jug in graph.nodes(data="s.jug")} > {(0, 0), (3, 0), (3, 5)}


def test_a_state_closed_by_a_bound_is_not_a_deadlock() -> None:
    """It has steps beyond the bound."""

    class Bounded(Lamps):
        deadlock = True
        cut = burn_out = None  # type: ignore[assignment]

        @action(by=[1])
        def press(self, s: Lamp, by: int) -> None:
            """It is pressed."""
            bound(s.pressed < 3)
            s.pressed += by

    space = state_space(Bounded())
    assert space.shortest_runs("deadlock") == ()
    assert not any(broken for _, broken in space.to_networkx().nodes(data="broken"))
    [stuck] = check(OneWay()).counterexamples
    assert state_space(OneWay()).shortest_runs("deadlock")[0].length == stuck.length
