"""The state graph of a system for other tools: all of a small graph, or a quotient of any.

States on which the chosen expressions agree become one node; an edge stands for every step from a state of one node
to a state of another. So each edge is a real step, but a path along several edges need not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, NoReturn

from spec.checking.check import silent
from spec.checking.engines import engine_class
from spec.checking.exploration import OnProgress
from spec.checking.graph.abstraction import quotient
from spec.checking.local.lazy import plain
from spec.checking.model import EvaluationFailed, Model
from spec.checking.values.expression import function_of
from spec.checking.values.text import Spelling, show
from spec.language.errors import UsageError, error_text, escaped
from spec.language.identity import identity
from spec.language.specification import Specification
from spec.language.state import State

if TYPE_CHECKING:
    import networkx


MOST: Final = 200
"""The default limit of nodes: with more a picture becomes unreadable."""


@dataclass(frozen=True)
class StateGraph:
    """Nodes are identified by numbers; the first ones are initial."""

    name: str
    by: Sequence[str]
    """The expressions that distinguish nodes."""
    nodes: Sequence[tuple[str, ...]]
    """The value of each expression at each node."""
    initial: int
    """The number of nodes with initial states, which come first."""
    actions: Mapping[tuple[int, int], Sequence[str]]
    """The actions that lead from node to node, in order."""

    def to_networkx(self) -> networkx.MultiDiGraph:
        """The graph in networkx form: nodes have `initial` and the text of each expression, edges have `action`.

        `spec.checking.graph.state_space` makes a graph whose attributes are values, with the parameters of each step.
        """
        import networkx

        made = networkx.MultiDiGraph(name=self.name)
        for number, node in enumerate(self.nodes):
            made.add_node(number, initial=number < self.initial, **dict(zip(self.by, node, strict=True)))
        for (source, target), actions in self.actions.items():
            for action in actions:
                made.add_edge(source, target, action=action)
        return made


def state_graph(
    specification: Specification,
    by: Sequence[str] = (),
    most: int = MOST,
    max_states: int | None = None,
    on_progress: OnProgress = silent,
) -> StateGraph:
    """Explore a system, and merge its states into nodes.

    Args:
        specification: the system, under its constants.
        by: Python expressions over the state `s`; by default all variables, so that each state is a node.
        most: the most nodes allowed.
        max_states: stop after the level that reaches this many states.
        on_progress: called now and then with the progress.

    Raises:
        UsageError: an expression is invalid, or there are too many nodes.
        EvaluationFailed: an action or an expression raised.
    """
    model = Model(specification)
    first_states = model.first_states()
    chosen = tuple(by) or tuple(f"s.{name}" for name in specification.variables)
    functions = [_function(specification, each, model.window().load(first_states[0])) for each in chosen]
    numbers: dict[Hashable, int] = {}
    nodes: list[tuple[str, ...]] = []

    def seen(s: State) -> int:
        values = [function(specification, s) for function in functions]
        texts = tuple(_shown(written, value, model.spelling) for written, value in zip(chosen, values, strict=True))
        # Different values may be written alike, so nodes are identified by values.
        number = numbers.setdefault(tuple(identity(plain(value)) for value in values), len(numbers))
        if number >= most:
            raise _TooManyNodes
        if number == len(nodes):
            nodes.append(texts)
        return number

    try:
        for state in first_states:
            seen(model.window().load(state))
        initial = len(numbers)
        # If each state is a node, nothing learned from one state applies to another.
        engine = engine_class("local")(workers=1) if by else engine_class("reference")()
        found = quotient(specification, seen, max_states=max_states, engine=engine, on_progress=on_progress)
    except _TooManyNodes:
        _refuse(specification, by, most)
    except EvaluationFailed as failure:
        if isinstance(failure.__cause__, _TooManyNodes):
            _refuse(specification, by, most)
        raise
    order = {action.name: number for number, action in enumerate(model.actions)}
    actions: dict[tuple[int, int], set[str]] = {}
    for source, action, target in found:
        actions.setdefault((source, target), set()).add(action)
    return StateGraph(
        name=escaped(specification.name),
        by=tuple(map(escaped, chosen)),
        nodes=tuple(nodes),
        initial=initial,
        actions={ends: sorted(actions[ends], key=order.__getitem__) for ends in sorted(actions)},
    )


def _shown(written: str, value: Any, spelling: Spelling) -> str:
    """The value of an expression, on one line."""
    if isinstance(value, Mapping):
        variable = written.removeprefix("s.")
        parts = (f"{spelling.key(variable, key)}: {show(each, spelling, inside=True)}" for key, each in value.items())
        return ", ".join(parts) or "{}"
    return show(value, spelling)


class _TooManyNodes(Exception):
    """The graph has more nodes than allowed."""


def _refuse(specification: Specification, by: Sequence[str], most: int) -> NoReturn:
    fewer = "fewer or coarser --by" if by else f"--by, such as --by s.{next(iter(specification.variables))}"
    raise UsageError(f"the graph has more than {most:,} nodes: use {fewer}, or allow more with --nodes N")


def _function(specification: Specification, written: str, first: State) -> Callable[[Specification, State], Any]:
    """The function of an expression, after a trial in an initial state."""
    try:
        function = function_of(specification, written)
        function(specification, first)
    except UsageError as wrong:
        raise UsageError(f"--by {written}: {str(wrong).removeprefix(f'{written}: ')}") from None
    except Exception as failure:
        raise UsageError(f"--by {written}: in the first state: {error_text(failure)}") from None
    return function


def dot(graph: StateGraph) -> str:
    """The graph for Graphviz; initial nodes have two borders."""
    lines = [f"digraph {_quoted(graph.name)} {{", "  node [shape=box];"]
    for number, node in enumerate(graph.nodes):
        words = "\n".join(f"{written} = {value}" for written, value in zip(graph.by, node, strict=True))
        border = ", peripheries=2" if number < graph.initial else ""
        lines.append(f"  {number} [label={_quoted(words)}{border}];")
    for (source, target), actions in graph.actions.items():
        lines.append(f"  {source} -> {target} [label={_quoted(chr(10).join(actions))}];")
    return "\n".join([*lines, "}\n"])


def _quoted(words: str) -> str:
    return '"' + words.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def graphml(graph: StateGraph) -> str:
    """The graph for networkx, yEd and Gephi: a multigraph, as `StateGraph.to_networkx` makes it."""
    import networkx

    written = BytesIO()
    networkx.write_graphml(graph.to_networkx(), written)
    return written.getvalue().decode() + "\n"


def aut(graph: StateGraph) -> str:
    """The graph in Aldebaran's format, for CADP, mCRL2 and LTSmin: a labelled transition system with one initial
    state. UsageError if there are several initial nodes.
    """
    if graph.initial != 1:
        raise UsageError(
            f"--format aut permits one initial state, but this graph has {graph.initial}: choose another --by"
        )
    steps = [(source, action, target) for (source, target), actions in graph.actions.items() for action in actions]
    lines = [f'({source},"{action}",{target})' for source, action, target in steps]
    return "\n".join([f"des (0,{len(lines)},{len(graph.nodes)})", *lines]) + "\n"


FORMATS: Final[Mapping[str, Callable[[StateGraph], str]]] = {"dot": dot, "graphml": graphml, "aut": aut}
"""The formats of a state graph."""
