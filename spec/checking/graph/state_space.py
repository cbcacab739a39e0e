"""The state space of a small system, held in memory: its reachable states, its steps, and questions about the graph.

The graph is one of `networkx`, so all algorithms of that library apply to `StateSpace.to_networkx`. Three questions
depend on the specification, and have a method each: which states lie on every run to a goal, where a run can stay for
ever, and which runs to a goal are the shortest. A goal is a property by its name, an action, a predicate in Python as
the command takes it (`"s.count > 2"`), or a function of the state.

>>> from spec.language import Specification, State, action, require, variable
>>> class Lamp(State):
...     lit: bool = variable("Whether it is on.")
...     burnt: int = variable("How many bulbs have burnt out.", of=lambda self: range(3))
>>> class Lamps(Specification[Lamp]):
...     "A lamp, and two bulbs."
...     @action
...     def press(self, s: Lamp) -> None:
...         "The switch is pressed."
...         require(s.burnt < 2)
...         s.lit = not s.lit
...     @action
...     def burn_out(self, s: Lamp) -> None:
...         "The bulb burns out, and is replaced if there is another."
...         require(s.lit)
...         s.lit, s.burnt = False, s.burnt + 1
>>> space = state_space(Lamps())
>>> space
<StateSpace of lamps, 5 states>
>>> space.dominators("s.burnt == 2", by="s.burnt")
({'s.burnt': 0}, {'s.burnt': 1}, {'s.burnt': 2})
>>> space.recurrent_components()[0]
Component(states=(0, 1), actions=('press',), exits=('burn_out',))
>>> [len(run.steps) for run in space.shortest_runs("s.burnt == 2", 3)]
[4]
>>> space.to_networkx().edges[1, 2, "burn_out()"]
{'action': 'burn_out', 'parameters': {}, 'broken': (), 'witnessed': ()}

States have the numbers of `kafkaspec graph`: the order in which breadth-first search meets them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spec.checking import arguments
from spec.checking.arguments import SpecificationOrClass
from spec.checking.exploration import is_violation, split_properties
from spec.checking.goal import Goal
from spec.checking.model import DEADLOCK, Choice, Model, Transition
from spec.checking.traces.paths import as_variables, trace, traced_failures
from spec.checking.traces.trace import Trace
from spec.checking.values.expression import function_of
from spec.language.errors import SpecificationError, UsageError, error_text
from spec.language.identity import identity
from spec.language.state import State, Values

if TYPE_CHECKING:
    import networkx


MOST_STATES: Final = 20_000
"""The default bound on the states of a space: some ten seconds of plain Python."""

ROOT, GOAL = "the root", "the goal"
"""Nodes before all initial states and after all goal states."""

Wanted = str | Callable[[Any], bool]
"""A goal: a name, a predicate in Python, or a function of the state."""


class Component(NamedTuple):
    """States that can all be reached from each other, with at least one step among them."""

    states: tuple[int, ...]
    """Their numbers, ascending."""
    actions: tuple[str, ...]
    """The actions that are taken inside, in order of declaration."""
    exits: tuple[str, ...]
    """The actions that lead out. If there are none, a run stays here for ever, unless a bound forbids the way out."""


class _Steps(NamedTuple):
    """The steps from a state."""

    taken: tuple[Transition, ...]
    closed: bool
    """Whether a bound forbids some step."""


class _Ends(NamedTuple):
    """The ends of runs to a goal."""

    model: Model
    number: int
    """The property that stands for the goal in that model."""
    states: frozenset[int]
    """The states in which it is reached."""
    steps: Mapping[int, frozenset[Choice]]
    """By state, the steps from there that reach it."""


def state_space(specification: SpecificationOrClass, *, max_states: int = MOST_STATES) -> StateSpace:
    """Explore a small system in plain Python, and keep every state and every step.

    Args:
        specification: the system, under its constants, or its class, as in `check`.
        max_states: the most states it may have.

    Raises:
        UsageError: it has more states.
        EvaluationFailed: an action or property raised, or broke the rules for such functions.
        SpecificationError: the specification is malformed, or a step leads outside its domains.
    """
    most = arguments.as_integer("max_states", max_states)
    model = Model(specification)
    _, of_steps = split_properties(model, range(len(model.properties)))
    initial = model.first_states()
    depths = dict.fromkeys(initial, 1)
    steps: dict[Values, _Steps] = {}
    level = initial
    with model.hidden_state.unchanged(), traced_failures(model):
        while level:
            found: list[Values] = []
            for state in sorted(level, key=model.layout.pack):
                taken, bounded = model.expand(state, of_steps)
                for each in taken:
                    if each.after is None:
                        raise SpecificationError(
                            f"{model.specification.name}: a step leaves its domain: {each.out_of_domain}"
                        )
                    if each.after not in depths:
                        depths[each.after] = depths[state] + 1
                        found.append(each.after)
                steps[state] = _Steps(tuple(taken), bool(bounded))
                if len(depths) > most:
                    raise UsageError(
                        f"{model.specification.name} has more than {most:,} states; "
                        "set smaller constants, or a larger max_states"
                    )
            level = found
    return StateSpace(model, depths, len(initial), steps)


@dataclass(frozen=True, repr=False)
class StateSpace:
    """Every reachable state of a system, and every step between two of them; made by `state_space`."""

    model: Model
    depths: Mapping[Values, int]
    """The number of states on a shortest run to each state. The order is that of the states' numbers."""
    initial: int
    """The number of initial states, which have the lowest numbers."""
    steps: Mapping[Values, _Steps]

    def __len__(self) -> int:
        return len(self.depths)

    def __repr__(self) -> str:
        return f"<StateSpace of {self.model.specification.name}, {len(self):,} states>"

    def to_networkx(self, by: Iterable[str] | str = ()) -> networkx.MultiDiGraph:
        """The graph of its states, or of classes of states with equal values of some expressions.

        A node has `initial`; `depth`, the number of states of a shortest run to it; `broken` and `witnessed`, names
        of properties; and the value of each expression, such as `s.count`. An edge is a step. Its key is the text of
        the step, since several steps may lead from one state to the same other. It has `action`, `parameters` by
        name, `broken` and `witnessed`.

        Args:
            by: expressions over the state `s`, as `kafkaspec graph --by` takes them. States for which all have equal
                values are one node. Without any, each state is a node, and has all variables.

        Raises:
            UsageError: an expression is not valid.
            EvaluationFailed: a property raised.
        """
        import networkx

        graph = networkx.MultiDiGraph(name=self.model.specification.name)
        classes = self._classes(arguments.as_names("by", by))
        of_states, _ = split_properties(self.model, range(len(self.model.properties)))
        deadlock = self.model.numbers([DEADLOCK] if self.model.specification.deadlock else [])
        for (state, depth), (node, seen) in zip(self.depths.items(), classes, strict=True):
            found = self.model.found_in(state, of_states)
            judged = self._judged((*found, *deadlock) if self._is_deadlock(state) else found)
            known = graph.nodes.get(node)
            if known is None:
                graph.add_node(node, initial=depth == 1, depth=depth, **judged, **seen)
            else:
                known.update(_both(known, judged))
        for source, taken, target in self._edges():
            ends = classes[source].node, classes[target].node
            step = self.model.actions[taken.action].step(taken.instance)
            judged = self._judged(taken.found)
            if graph.has_edge(*ends, key=str(step)):
                known = graph.edges[*ends, str(step)]
                known.update(_both(known, judged))
            else:
                parameters = dict(step.parameters)
                graph.add_edge(*ends, key=str(step), action=step.action, parameters=parameters, **judged)
        return graph

    def dominators(self, goal: Wanted, by: Iterable[str] | str = ()) -> tuple[Mapping[str, Any], ...]:
        """The states or classes through which every run to a goal passes, in the order of the run.

        These are the immediate dominators, from one to the next, of the states in which runs to the goal end. Where
        actors interleave, single states rarely dominate. Classes of states do: those with equal values of some
        expressions.

        Args:
            goal: see the module.
            by: expressions over the state `s`, as in `to_networkx`. Every class in the result lies on every run. One
                may be missing, since a graph of classes has paths that no run takes.

        Returns:
            The expressions with their values; all variables where `by` is empty. Empty if no run reaches the goal.

        Raises:
            UsageError: the goal or an expression is not valid.
            EvaluationFailed: the goal raised.
        """
        import networkx

        ends, classes = self._ends(goal), self._classes(arguments.as_names("by", by))
        # A class is split into states that end a run and the others: this leaves fewer paths that no run takes.
        nodes = [(each.node, number in ends.states) for number, each in enumerate(classes)]
        seen: dict[Hashable, Mapping[str, Any]] = {node: each.seen for node, each in zip(nodes, classes, strict=True)}
        graph = networkx.DiGraph()
        graph.add_edges_from((nodes[source], nodes[target]) for source, _, target in self._edges())
        graph.add_edges_from((ROOT, nodes[number]) for number in range(self.initial))
        graph.add_edges_from((nodes[number], GOAL) for number in {*ends.states, *ends.steps})
        above = networkx.immediate_dominators(graph, ROOT)
        passed: list[Mapping[str, Any]] = []
        node: Hashable = above.get(GOAL, ROOT)
        while node != ROOT:
            if not passed or passed[-1] != seen[node]:
                passed.append(seen[node])
            node = above[node]
        return tuple(reversed(passed))

    def recurrent_components(self) -> tuple[Component, ...]:
        """Where a run can stay for ever: the strongly connected components that have a step, by their lowest state.

        A state with a step back to itself is such a component.
        """
        import networkx

        graph = networkx.DiGraph()
        graph.add_nodes_from(range(len(self)))
        graph.add_edges_from((source, target) for source, _, target in self._edges())
        components = list(networkx.strongly_connected_components(graph))
        component = {number: at for at, states in enumerate(components) for number in states}
        inside: list[set[int]] = [set() for _ in components]
        outside: list[set[int]] = [set() for _ in components]
        for source, taken, target in self._edges():
            at = component[source]
            (inside if component[target] == at else outside)[at].add(taken.action)
        found = (
            Component(tuple(sorted(states)), self._actions(inside[at]), self._actions(outside[at]))
            for at, states in enumerate(components)
            if inside[at]
        )
        return tuple(sorted(found))

    def shortest_runs(self, goal: Wanted, count: int = 1) -> tuple[Trace, ...]:
        """The shortest runs to a goal, the shortest first; each ends where it first reaches the goal.

        No state occurs twice before a run reaches the goal. No two runs have the same states, unless the goal is a
        step and they end with different ones. The same steps in another order are another run if they pass through
        other states.

        Args:
            goal: see the module.
            count: the most runs to return.

        Returns:
            As many as there are. Empty if no run reaches the goal.

        Raises:
            UsageError: the goal or the count is not valid.
            EvaluationFailed: the goal raised.
        """
        import networkx

        count, ends, states = arguments.as_integer("count", count), self._ends(goal), tuple(self.depths)
        graph = networkx.DiGraph()
        graph.add_edges_from((ROOT, number) for number in range(self.initial))
        graph.add_edges_from((number, GOAL) for number in ends.states)
        for number, choices in ends.steps.items():  # a node between a state and the goal is the step
            for choice in choices:
                graph.add_edge(number, (number, choice), choice=choice)
                graph.add_edge((number, choice), GOAL)
        for source, taken, target in self._edges():
            choice = taken.action, taken.instance
            if source in ends.states or choice in ends.steps.get(source, ()) or graph.has_edge(source, target):
                continue
            graph.add_edge(source, target, choice=choice)
        if GOAL not in graph or not networkx.has_path(graph, ROOT, GOAL):
            return ()
        runs = []
        for _, *passed, _ in islice(networkx.shortest_simple_paths(graph, ROOT, GOAL), count):
            steps = [graph.edges[ends_of]["choice"] for ends_of in pairwise(passed)]
            runs.append(trace(ends.model, ends.number, (states[passed[0]], steps)))
        return tuple(runs)

    @cached_property
    def _numbers(self) -> Mapping[Values, int]:
        return {state: number for number, state in enumerate(self.depths)}

    def _edges(self) -> Iterator[tuple[int, Transition, int]]:
        """Each step with the numbers of the states before and after it, in the order of these."""
        for source, state in enumerate(self.depths):
            for taken in self.steps[state].taken:
                assert taken.after is not None  # `state_space` rejects such steps
                yield source, taken, self._numbers[taken.after]

    def _actions(self, numbers: Iterable[int]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.model.actions[number].name for number in sorted(numbers)))

    def _judged(self, found: Iterable[int]) -> dict[str, tuple[str, ...]]:
        """The names of the properties with these numbers, broken and witnessed."""
        broken = [self.model.properties[number].name for number in found if is_violation(self.model, number)]
        witnessed = [self.model.properties[number].name for number in found if not is_violation(self.model, number)]
        return {"broken": tuple(broken), "witnessed": tuple(witnessed)}

    def _is_deadlock(self, state: Values) -> bool:
        """Whether no action is enabled, and no bound forbids one."""
        return not self.steps[state].taken and not self.steps[state].closed

    def _ends(self, goal: Wanted) -> _Ends:
        """The ends of runs to a goal. UsageError if the goal is not valid, EvaluationFailed if it raised."""
        model, number = self._model_with(goal)
        if model.properties[number].name == DEADLOCK:
            states = (at for state, at in self._numbers.items() if self._is_deadlock(state))
            return _Ends(model, number, frozenset(states), {})
        if not model.properties[number].over_steps:
            states = (at for state, at in self._numbers.items() if model.found_in(state, [number]))
            return _Ends(model, number, frozenset(states), {})
        steps: dict[int, frozenset[Choice]] = {}
        for state, at in self._numbers.items():
            found = (each for each in model.expand(state, [number]).steps if each.found)
            if choices := frozenset((each.action, each.instance) for each in found):
                steps[at] = choices
        return _Ends(model, number, frozenset(), steps)

    def _model_with(self, goal: Wanted) -> tuple[Model, int]:
        """A model with a property for the goal, and the number of that property."""
        specification = self.model.specification
        if isinstance(goal, str):
            for number, each in enumerate(self.model.properties):
                if each.name == goal.strip():
                    return self.model, number
            meant = Goal.of(specification, goal)
        elif callable(goal):
            meant = Goal(getattr(goal, "__name__", "the goal"), _OfState(goal))
        else:
            raise UsageError(f"goal = {goal!r}: it must be a name, a predicate in Python, or a function of the state")
        model = Model(specification, meant)
        assert model.sought is not None  # a model has its goal
        return model, model.sought

    def _classes(self, by: Sequence[str]) -> list[_Class]:
        """The node of each state, and the values seen there; UsageError if an expression is not valid."""
        if not by:
            each_state = (as_variables(self.model, state) for state in self.depths)
            return [
                _Class(number, {f"s.{name}": value for name, value in variables.items()})
                for number, variables in enumerate(each_state)
            ]
        specification, window = self.model.specification, self.model.window()
        functions = {written: _function(specification, written) for written in by}
        numbers: dict[Hashable, int] = {}
        classes: list[_Class] = []
        for state in self.depths:
            s = window.load(state)
            seen = {
                written: _value(written, partial(function, specification, s))
                for written, function in functions.items()
            }
            classes.append(_Class(numbers.setdefault(tuple(map(identity, seen.values())), len(numbers)), seen))
        return classes


class _Class(NamedTuple):
    """States that look the same: their node, and the values seen."""

    node: int
    seen: Mapping[str, Any]


@dataclass(frozen=True)
class _OfState:
    """A predicate of a state alone, in the form that a goal needs."""

    function: Callable[[Any], bool]

    def __call__(self, specification: Any, s: State) -> bool:
        return self.function(s)


def _function(specification: Any, written: str) -> Callable[[Any, State], Any]:
    try:
        return function_of(specification, written)
    except UsageError as wrong:
        raise UsageError(f"by {written}: {str(wrong).removeprefix(f'{written}: ')}") from None


def _value(written: str, evaluate: Callable[[], Any]) -> Any:
    """The value of an expression in a state, copied so that it stays when the window moves on; UsageError if it
    raised, or it is a part of the state, which does not stay.
    """
    try:
        value = evaluate()
    except Exception as failure:
        raise UsageError(f"by {written}: {error_text(failure)}") from None
    if isinstance(value, State):
        raise UsageError(f"by {written}: it is a part of the state; name a variable of it")
    return dict(value) if isinstance(value, Mapping) else value


def _both(known: Mapping[str, Any], judged: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The properties decided in some state or step of a class: those known, and those of one more."""
    return {name: tuple(dict.fromkeys((*known[name], *names))) for name, names in judged.items()}
