"""Pictures of the transition tables: Mermaid, DOT and SVG, drawn by the `GraphMachine` of the library `transitions`.

The machine is made of the table's rows. An arrow shows the cause of the transition and, in a picture of all releases,
the releases that have it; `table.at("2.2")` draws one release. Text is always in the same order: states as declared,
starting with the initial one; transitions by source and then dest.

Graphviz draws the SVG, with identical bytes on every machine (`statemachines.drawing.graphviz`).
"""

from collections.abc import Callable, Mapping
from html import escape
from textwrap import wrap
from types import MappingProxyType
from typing import Any, Literal, Protocol

from transitions.extensions import GraphMachine

from statemachines.drawing.graphviz import (
    BEGIN_SIZE,
    FONT_SIZE,
    FONTS,
    INITIAL,
    LINE,
    NODE_HEIGHT,
    POINTS_PER_INCH,
    cell,
    label,
    svg_of,
    width_of,
)
from statemachines.tables.partition import PARTITION
from statemachines.tables.replica import REPLICA
from statemachines.tables.table import Row, Table

Direction = Literal["LR", "TB"]
"""The direction of time: from left to right, or from top to bottom."""
GraphEngine = Literal["pygraphviz", "mermaid"]
"""The library's drawing backend."""

DIAGRAMS: Mapping[str, Table[Any]] = MappingProxyType({"partition": PARTITION, "replica": REPLICA})
"""The tables with pictures, by name."""

LONGEST_LINE = 24
"""The number of letters in a line on an arrow."""
_BEGIN = "begin"  # no state of Kafka's starts with a small letter


def mermaid(table: Table[Any], direction: Direction = "TB") -> str:
    """The table as a Mermaid state diagram, for Markdown and for https://mermaid.live."""
    machine = _Drawn(table, direction, "mermaid", lambda row: ", ".join(_label(table, row)))
    return f"{machine.get_graph().draw(None)}\n"


def dot(table: Table[Any], direction: Direction = "TB") -> str:
    """The table as a Graphviz graph: the initial state is filled, terminal ones have a double border."""
    return f"{_graph(table, direction).string()}\n"


def svg(table: Table[Any], direction: Direction = "TB") -> str:
    """The table as an SVG image, with identical bytes for the same version of Graphviz."""
    graph = _graph(table, direction)
    widest = max(width_of(str(state)) for state in table.states)
    size = {"width": widest / POINTS_PER_INCH, "height": NODE_HEIGHT / POINTS_PER_INCH}
    for state in table.states:
        graph.get_node(state).attr.update(label=label([cell(str(state))]), fixedsize="true", **size)
    for row in _rows(table):
        graph.get_edge(row.source, row.dest).attr["label"] = label(cell(escape(line)) for line in _lines(table, row))
    return svg_of(graph.string(), f"The states of a {table}", "dot", "middle")


class Format(Protocol):
    """A function that draws a table."""

    def __call__(self, table: Table[Any], direction: Direction = "TB") -> str:
        """The table, as text."""


FORMATS: Mapping[str, Format] = MappingProxyType({"mermaid": mermaid, "dot": dot, "svg": svg})
"""The formats of a table, by name."""


_TEXT = {"fontname": FONTS, "fontsize": str(FONT_SIZE)}
_LOOKS: Mapping[GraphEngine, Any] = MappingProxyType(
    {
        "pygraphviz": {
            "node": {
                "default": {"style": "rounded,filled", "shape": "box", "fillcolor": "white", **_TEXT},
                "active": {"fillcolor": INITIAL},
            },
            "edge": {"default": {"color": LINE, **_TEXT}},
            "graph": {"default": {}},
        },
        "mermaid": {"node": {"default": {"fillcolor": "white"}, "active": {"fillcolor": INITIAL}}},
    }
)
"""The library's `style_attributes`. The active state is the initial one: the machine is never triggered."""


class _Drawn(GraphMachine):
    """The machine of a table, for its graph; `words` gives the text on the arrow of a row."""

    def __init__(
        self, table: Table[Any], direction: Direction, engine: GraphEngine, words: Callable[[Row[Any]], str]
    ) -> None:
        self.machine_attributes = {"directed": "true", "strict": "false", "rankdir": direction}
        self.style_attributes = _LOOKS[engine]
        super().__init__(
            # Graphviz puts the first state at the top.
            states=sorted(table.states, key=lambda state: (state is not table.initial, table.states.index(state))),
            transitions=[
                {"trigger": row.trigger, "source": row.source, "dest": row.dest, "label": words(row)}
                for row in _rows(table)
            ],
            initial=table.initial,
            auto_transitions=False,
            title=f"title: the states of a {table}",  # Mermaid's front matter is YAML
            graph_engine=engine,
        )


def _graph(table: Table[Any], direction: Direction) -> Any:
    """The library's graph of a table, with a beginning and ends."""
    import pygraphviz  # noqa: F401 - without it the library's graph is a mock

    graph: Any = _Drawn(table, direction, "pygraphviz", lambda row: r"\n".join(_lines(table, row))).get_graph()
    graph.graph_attr["label"] = ""
    graph.add_node(_BEGIN, shape="point", label="", width=BEGIN_SIZE / POINTS_PER_INCH, fillcolor=LINE)
    graph.add_edge(_BEGIN, table.initial)
    left = {row.source for row in _rows(table)}
    for state in table.states:
        if state not in left:
            graph.get_node(state).attr["peripheries"] = 2
    return graph


def _rows(table: Table[Any]) -> list[Row[Any]]:
    """The rows to draw, in order."""
    return sorted(table.in_force if table.release else table.rows, key=lambda row: (row.source, row.dest))


def _label(table: Table[Any], row: Row[Any]) -> list[str]:
    """Its cause, else its trigger; and the releases that have it, unless one release is drawn."""
    return [row.cause or row.trigger, *([row.releases] if row.releases and not table.release else [])]


def _lines(table: Table[Any], row: Row[Any]) -> list[str]:
    """The label in lines."""
    return [line for each in _label(table, row) for line in wrap(each, LONGEST_LINE)]
