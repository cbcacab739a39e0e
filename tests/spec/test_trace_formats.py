"""Six anomalies in every format of a trace, each opened by its usual tool."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import itf_py  # type: ignore[import-untyped]
import pytest
from pygraphviz import AGraph

from spec.atlas.anomalies import anomaly_named
from spec.checking import Trace, check, to_pandas
from spec.checking.traces.brief import brief
from spec.checking.traces.itf import RecordedTrace
from spec.checking.traces.program import program
from spec.checking.traces.trace import html_of
from spec.checking.traces.validate import validate
from spec.diagrams import ANOMALIES
from spec.explorer import of_trace
from spec.language import Specification
from spec.reports.sequence_diagram import lanes_of, mermaid, messages_of, svg
from spec.reports.state_graph import StateGraph, dot, graphml, state_graph
from tests.spec.browsing import in_a_browser, opened

pytestmark = [pytest.mark.long, pytest.mark.parametrize("anomaly", ANOMALIES)]

BY = {
    "replication": ["s.next_record_id", "s.partition_state.leader"],
    "controller-election": ["s.epoch", "s.named_controller"],
    "controller": ["s.epoch", "s.named_controller"],
}
"""The expressions that distinguish nodes of a state graph."""


@cache
def subject_of(anomaly: str) -> Specification:
    """Return the system without the fix."""
    return anomaly_named(anomaly).specification("off")


@cache
def trace_of(anomaly: str) -> Trace:
    """The shortest trace to its violation."""
    row = anomaly_named(anomaly)
    found = check(subject_of(anomaly), properties=[row.property]).counterexample
    assert found is not None
    assert (found.broken, found.length) == (row.property, row.length)
    return found


def recorded(anomaly: str) -> RecordedTrace:
    """Return a saved trace. The command finds the system by its name, under the newest release."""
    return RecordedTrace.of(subject_of(anomaly), trace_of(anomaly), anomaly_named(anomaly).system)


def actions_of(trace: Trace) -> list[str]:
    """Return the actions of its steps."""
    return [each.step.action for each in trace.steps]


def ran(*command: str, directory: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program of this installation."""
    return subprocess.run([sys.executable, *command], cwd=directory, capture_output=True, text=True, check=False)


def test_text(anomaly: str) -> None:
    """All steps in order, each once; the brief form ends with the violation, too."""
    trace = trace_of(anomaly)
    lines = str(trace).splitlines()
    assert [line for line in lines if line[:4].strip().isdigit()][1:] == [
        f"  {number:{len(str(trace.length))}}  {step.line}" for number, step in enumerate(trace.steps, start=2)
    ]
    for text in (str(trace), str(brief(subject_of(anomaly), trace))):
        assert text.count(f"! {trace.broken} breaks here") == 1


def test_itf(anomaly: str, tmp_path: Path) -> None:
    """itf-py reads it, and the command replays it to its end."""
    trace, path = trace_of(anomaly), tmp_path / "kept.itf.json"
    recorded(anomaly).write(path)
    opened = itf_py.trace_from_json(json.loads(path.read_text(encoding="utf-8")))
    assert [state.values["mbt::actionTaken"] for state in opened.states] == ["init", *actions_of(trace)]
    assert set(opened.states[-1].values) == {*trace.initial, "mbt::actionTaken", "mbt::nondetPicks"}
    replayed = ran("-m", "spec", "replay", str(path))
    assert (replayed.returncode, replayed.stderr) == (0, "")
    assert f"in {trace.length} states, and {trace.broken} breaks in the last, as recorded" in replayed.stdout


def test_a_program(anomaly: str, tmp_path: Path) -> None:
    """It runs unchanged; without one of its steps it does not."""
    trace = trace_of(anomaly)
    text = program(subject_of(anomaly), trace)
    lines = text.splitlines()
    assert sum(line.startswith("replay.do(") for line in lines) == len(trace.steps)
    for name, written, code in (("whole.py", lines, 0), ("shorter.py", [*lines[:-2], lines[-1]], 1)):
        (tmp_path / name).write_text("\n".join(written))
        done = ran(str(tmp_path / name), directory=Path(__file__).parents[2])
        assert (done.returncode, done.stdout) == (code, ""), done.stderr


def test_tables(anomaly: str, tmp_path: Path) -> None:
    """A row for each state, in pandas and in Parquet."""
    import pandas  # here, since it takes half a second, and each worker collects all files

    trace = trace_of(anomaly)
    frame = to_pandas(trace)
    frame.to_parquet(tmp_path / "trace.parquet")
    again = pandas.read_parquet(tmp_path / "trace.parquet", dtype_backend="pyarrow")
    assert len(frame) == trace.length
    assert list(frame["action"])[1:] == list(again["action"])[1:] == actions_of(trace)
    assert list(frame["actor"])[1:] == [each.lanes.actor for each in trace.steps]
    assert list(again.columns) == list(frame.columns)


def test_sequence_diagrams(anomaly: str) -> None:
    """A lane for each actor, a line for each step, in XML and in Mermaid."""
    trace = trace_of(anomaly)
    words = [each.text or "" for each in ElementTree.fromstring(svg(trace)).iter("{http://www.w3.org/2000/svg}text")]
    assert [str(number) for number in range(2, trace.length + 1)] == [each for each in words if each.isdigit()][1:]
    arrows = [line for line in mermaid(trace).splitlines() if "->>" in line]
    assert [line.split()[1] for line in arrows] == [str(each.number) for each in messages_of(trace)]
    assert mermaid(trace).count("participant ") == len(lanes_of(trace))


@in_a_browser
def test_a_drawing_in_a_browser(browser: Any, tmp_path: Path, anomaly: str) -> None:
    """No word lies outside the picture, or on another word."""
    (tmp_path / "drawn.svg").write_text(svg(trace_of(anomaly)), encoding="utf-8")
    with opened(browser, (tmp_path / "drawn.svg").as_uri()) as page:
        boxes: list[list[float]] = page.evaluate(
            "[...document.querySelectorAll('text')].map(e => (b => [b.x, b.y, b.width, b.height])(e.getBBox()))"
        )
        width, height = page.evaluate("(b => [b.width, b.height])(document.rootElement.viewBox.baseVal)")
        assert [box for box in boxes if box[0] < 0 or box[0] + box[2] > width or box[1] + box[3] > height] == []
        assert [(one, other) for at, one in enumerate(boxes) for other in boxes[:at] if overlap(one, other)] == []
        page.screenshot(path=tmp_path / "drawn.png")


def overlap(one: Sequence[float], other: Sequence[float]) -> bool:
    """Return whether two boxes (left, top, width, height) overlap by more than the space between two lines."""
    wide = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    high = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    return wide > 2 and high > 4


@in_a_browser
def test_a_notebook(browser: Any, tmp_path: Path, anomaly: str) -> None:
    """A row for each state, and the violation in the last."""
    trace = trace_of(anomaly)
    (tmp_path / "cell.html").write_text(f"<!doctype html><body>{html_of(trace)}</body>", encoding="utf-8")
    with opened(browser, (tmp_path / "cell.html").as_uri()) as page:
        rows = page.locator("table tr").all_inner_texts()
        assert len(rows) == trace.length
        assert f"{trace.broken} breaks here" in rows[-1]


@in_a_browser
def test_a_page_to_step_through(browser: Any, tmp_path: Path, anomaly: str) -> None:
    """From its first state to the violation, without an error on the console."""
    trace = trace_of(anomaly)
    explorer = of_trace(validate(recorded(anomaly), subject_of(anomaly)), most=trace.length)
    (tmp_path / "page.html").write_text(explorer.to_html(), encoding="utf-8")
    with opened(browser, (tmp_path / "page.html").as_uri()) as page:
        for number in range(1, trace.length):
            assert page.inner_text("#where") == f"state {number} of {trace.length}"
            page.click("#forward")
        assert page.is_disabled("#forward")
        assert page.locator("#steps .broken").all_inner_texts() == [f"{trace.broken} breaks here"]


def test_state_graphs(anomaly: str) -> None:
    """Graphviz draws the DOT, and networkx reads the GraphML: both have the same nodes and edges."""
    import networkx  # here, for the same reason as pandas

    graph = quotient_of(anomaly)
    drawn = AGraph(string=dot(graph))
    read = networkx.read_graphml(BytesIO(graphml(graph).encode()), force_multigraph=True)
    assert {*drawn.nodes()} == {*read.nodes} == {str(number) for number in range(len(graph.nodes))}
    assert {*drawn.edges()} == {*read.edges()} == {(str(source), str(target)) for source, target in graph.actions}
    assert read.number_of_edges() == sum(map(len, graph.actions.values())) > 0
    if shutil.which("dot"):
        done = subprocess.run(["dot", "-Tsvg"], input=dot(graph), capture_output=True, text=True, check=True)
        assert (done.stderr, done.stdout.count('class="edge"')) == ("", len(graph.actions))


def quotient_of(anomaly: str) -> StateGraph:
    """The nearest states of its system, as a quotient."""
    return state_graph(subject_of(anomaly), BY[anomaly_named(anomaly).system], max_states=2_000)
