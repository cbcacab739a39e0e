"""Results and traces as HTML for a notebook: small tables in the notebook's own fonts and colours, light or dark.

Colours of our own are legible on both grounds. Where styles are removed, as on GitHub, plain tables remain.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from spec.checking.result import BaseResult
from spec.checking.traces.trace import Trace, TraceStep, html_of, variable_lines
from spec.language.errors import in_markup

STYLE: Final = """\
<style>
.kafkaspec table { border-collapse: collapse; margin: .5em 0; }
.kafkaspec td, .kafkaspec th { text-align: left; vertical-align: top; padding: .15em .8em .15em 0; border: 0; }
.kafkaspec tr { background: none; border-top: 1px solid #8884; }
.kafkaspec .quiet { opacity: .7; }
.kafkaspec .bad { color: #d9453d; font-weight: bold; }
.kafkaspec .good { color: #2f9e58; font-weight: bold; }
.kafkaspec code { background: none; color: inherit; }
</style>"""
GOOD: Final = {"holds", "witnessed"}
BAD: Final = {"violated", "deadlock", "unwitnessed", "vacuous"}


@html_of.register
def _of_result(result: BaseResult) -> str:
    """The verdict, its basis, each property, and the traces."""
    headline = f"<b>{in_markup(result.system)}</b>: {_verdict(result.verdict, result.headline)}"
    rows = "".join(
        f"<tr><td><code>{in_markup(each.name)}</code></td><td>{in_markup(each.kind.replace('_', ' '))}</td>"
        f"<td>{_verdict(each.verdict, each.verdict)}</td><td>{'' if each.length is None else each.length}</td></tr>"
        for each in result.properties
    )
    columns = "<tr><th>property</th><th></th><th></th><th>states</th></tr>"
    parts = [headline, *(f'<div class="quiet">{in_markup(str(line).strip())}</div>' for line in result.basis())]
    return _framed(*parts, f"<table>{columns}{rows}</table>" if rows else "", *map(_trace, result.traces))


@html_of.register
def _of_trace(trace: Trace) -> str:
    """A row for each state: its number, who did what, its meaning, and, folded, the values it changed."""
    return _framed(_trace(trace))


def _framed(*parts: str) -> str:
    return "\n".join(['<div class="kafkaspec">', STYLE, *filter(None, parts), "</div>"])


def _verdict(verdict: str, words: str) -> str:
    mark = "good" if verdict in GOOD else "bad" if verdict in BAD else "quiet"
    return f'<span class="{mark}">{in_markup(words)}</span>'


def _trace(trace: Trace) -> str:
    named = f"<b>{in_markup(trace.broken)}</b>" + (f": {in_markup(trace.sentence)}" if trace.sentence else "")
    marks = [""] * len(trace.steps) + [trace.ending]
    initially = _row(
        1, "", "initially", trace.initial_views, marks[0], [*variable_lines(trace.initial, trace.spelling)]
    )
    steps = (
        _row(number, _lanes(each), each.text, each.views, marks[number - 1], each.lines)
        for number, each in enumerate(trace.steps, start=2)
    )
    why = (f"<div>{in_markup(line.words)}</div>" for line in trace.why() if line.words)
    return "\n".join([f"<div>{named}</div>" if trace.broken else "", "<table>", initially, *steps, "</table>", *why])


def _row(number: int, lanes: str, step: str, views: Iterable[str], mark: str, details: list[str]) -> str:
    lines = [in_markup(each) for each in views]
    lines += [f'<span class="bad">{in_markup(mark)}</span>'] if mark else []
    if details:
        count = f"{len(details)} value{'' if len(details) == 1 else 's'}"
        inner = "<br>".join(f"<code>{in_markup(each)}</code>" for each in details)
        lines.append(f'<details class="quiet"><summary>{count}</summary>{inner}</details>')
    cells = [str(number), in_markup(lanes), f"<code>{in_markup(step)}</code>", "<br>".join(lines)]
    return f"<tr>{''.join(f'<td>{each}</td>' for each in cells)}</tr>"


def _lanes(step: TraceStep) -> str:
    """The actor and the receiver of the step."""
    return " \N{RIGHTWARDS ARROW} ".join(filter(None, step.lanes[:2]))
