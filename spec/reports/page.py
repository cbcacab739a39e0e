"""A report as a web page: one self-contained HTML file without scripts.

Diagrams are images within the file. They are drawn for paper, so a dark page inverts them.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from typing import Final

from spec.checking.result import PropertyResult, Result
from spec.checking.traces.trace import Trace
from spec.language.errors import in_markup
from spec.reports import content, growth
from spec.reports.content import HEADLINE, Unfinished
from spec.reports.sequence_diagram import svg
from spec.reports.webpage import fill_template

NO_BREAK: Final = "\N{NO-BREAK SPACE}"
LOOKS: Final = {"violated": "bad", "unwitnessed": "bad", "undecided": "open", "holds": "good", "witnessed": "good"}
"""The style of each verdict on a property."""


def to_html(result: Result) -> str:
    """The result as HTML."""
    return _page(f"{result.system}: {result.headline}", _result_sections(result))


def unfinished_to_html(unfinished: Unfinished) -> str:
    """A check without a result as HTML."""
    return _page(f"{unfinished.system}: {HEADLINE}", _unfinished_sections(unfinished))


def _page(title: str, lines: Iterable[str]) -> str:
    frame = files("spec.reports").joinpath("page.html")
    return fill_template(frame, {"title": in_markup(title), "report": "\n".join(lines)})


def _unfinished_sections(unfinished: Unfinished) -> Iterator[str]:
    yield "<header>"
    yield '<p class="verdict bad">no result</p>'
    yield f"<h1>{in_markup(unfinished.system)}</h1>"
    for line in unfinished.message.split("\n"):
        yield f"<p>{in_markup(line.strip())}</p>"
    yield "</header>"
    yield "<main>"
    if unfinished.trace is not None:
        yield f'<section id="trace-1"><h2>{in_markup(unfinished.heading)}</h2>'
        yield from _trace(unfinished.trace)
        yield "</section>"
    if unfinished.values:
        yield '<section id="checked"><h2>What was checked</h2>'
        yield from _pairs([(in_markup(name), in_markup(value)) for name, value in unfinished.settings])
        yield "</section>"
    yield "</main>"


def _result_sections(result: Result) -> Iterator[str]:
    sections = [
        *((f"trace-{number}", content.heading(each)) for number, each in enumerate(result.traces, 1)),
        ("checked", "What was checked"),
        ("figures", "Figures"),
        ("properties", "Properties"),
        ("actions", "Actions"),
        ("growth", "Growth"),
    ]
    yield "<header>"
    yield f'<p class="verdict {content.VERDICTS[result.verdict]}">{in_markup(result.verdict)}</p>'
    yield f"<h1>{in_markup(result.system)}</h1>"
    for line in (content.summary(result), *content.known(result)):
        yield f"<p>{in_markup(line)}</p>"
    links = " ".join(f'<a href="#{place}">{in_markup(title)}</a>' for place, title in sections)
    yield f'<nav aria-label="sections">{links}</nav>'
    yield "</header>"
    yield "<main>"
    contents = [
        *(_trace(each) for each in result.traces),
        _checked(result),
        _figures(result),
        _properties(result),
        _actions(result),
        _growth(result),
    ]
    for (place, title), lines in zip(sections, contents, strict=True):
        yield f'<section id="{place}"><h2>{in_markup(title)}</h2>'
        yield from lines
        yield "</section>"
    yield "</main>"
    yield f"<footer>Checked with {in_markup(content.made_by(result))}.</footer>"


def _checked(result: Result) -> Iterator[str]:
    yield from _pairs([(in_markup(name), in_markup(value)) for name, value in content.checked(result)])
    for title, values in (("Constants", result.constants), ("Switches", result.switches)):
        if values:
            yield f"<h3>{title}</h3>"
            rows = content.settings(result, values)
            yield from _pairs([(_named(each.name, each.sentence), in_markup(each.value)) for each in rows])


def _figures(result: Result) -> Iterator[str]:
    yield '<dl class="figures">'
    for name, figure in content.figures(result):
        yield f"<div><dt>{in_markup(name)}</dt><dd>{in_markup(figure)}</dd></div>"
    yield "</dl>"


def _properties(result: Result) -> Iterator[str]:
    for title, judged in (("", content.properties(result)), ("Witnesses", content.witnesses(result))):
        if judged:
            yield f"<h3>{title}</h3>" if title else ""
            yield from _pairs([_decided(each, result) for each in judged])


def _decided(judged: PropertyResult, result: Result) -> tuple[str, str]:
    sentence = result.documentation.get(judged.name, "")
    words = f'<span class="{LOOKS[judged.verdict]}">{in_markup(content.decided(judged))}</span>'
    return _named(judged.name, sentence), words


def _actions(result: Result) -> Iterator[str]:
    looks = ' class="open"' if result.never_taken else ""
    yield f"<p{looks}>{in_markup(content.coverage(result))}</p>"
    most = max((each.taken for each in result.actions), default=0) or 1
    yield '<table class="counts">'
    yield _head(("action", "enabled in states", "taken", "new states"), numbers=3)
    for each in result.actions:
        new = "" if each.new_states is None else f"{each.new_states:,}"
        taken = f'<td class="number share" style="--taken: {each.taken / most:.1%}">{each.taken:,}</td>'
        numbers = f'<td class="number">{each.enabled:,}</td>{taken}<td class="number">{new}</td>'
        yield f"<tr><td>{_named(each.name, result.documentation.get(each.name, ''))}</td>{numbers}</tr>"
    yield "</table>"


def _growth(result: Result) -> Iterator[str]:
    levels = result.levels
    yield f"<p>{in_markup(growth.sentence(levels))}</p>"
    if not levels:
        return
    yield '<figure class="growth">'
    yield f'<div class="scale"><span>{max(each.states for each in levels):,}</span><span>0</span></div>'
    yield growth.svg(levels)
    first, last = levels[0].level, levels[-1].level
    yield f'<figcaption class="axis"><span>level {first:,}</span><span>{last:,}</span></figcaption>'
    yield "</figure>"
    yield "<details><summary>Level by level</summary><table>"
    yield _head(("level", "states", "total", "generated"), numbers=4)
    for each in growth.bucket_levels(levels):
        figures = (each.level, each.states, each.distinct_states, each.generated_states)
        cells = (f'<td class="number">{figure:,}</td>' for figure in figures)
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</table></details>"


def _trace(trace: Trace) -> Iterator[str]:
    if content.has_lanes(trace):
        picture = b64encode(svg(trace).encode()).decode("ascii")
        yield '<figure class="scrolls" tabindex="0">'
        yield f'<img alt="its sequence diagram" src="data:image/svg+xml;base64,{picture}">'
        yield "</figure>"
    yield '<div class="trace">'
    for line in str(trace).split("\n"):
        yield _line(line)
    yield "</div>"


def _line(line: str) -> str:
    """A line of a trace. A line longer than the page wraps, indented to where its words begin.

    No-break spaces keep the first part of a long word on the line.
    """
    words = line.lstrip()
    looks = {"*": ' class="note"', "!": ' class="broken"'}.get(words[:1], "")
    if re.match(r"\s+\d+  \S", line):
        looks = ' class="step"'
    indented = len(line) - len(words)
    return f'<div{looks} style="--hangs: {indented + 2}ch">{NO_BREAK * indented}{in_markup(words)}</div>'


def _pairs(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Rows of names and values, both already HTML."""
    yield '<table class="pairs">'
    for each in rows:
        yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in each)}</tr>"
    yield "</table>"


def _head(titles: Sequence[str], numbers: int) -> str:
    """The header of a table whose last columns are numeric."""
    plain = len(titles) - numbers
    looks = ["" if place < plain else ' class="number"' for place in range(len(titles))]
    cells = (f'<th scope="col"{look}>{title}</th>' for look, title in zip(looks, titles, strict=True))
    return f"<tr>{''.join(cells)}</tr>"


def _named(name: str, sentence: str) -> str:
    """A name with its description below it."""
    return in_markup(name) + (f"<small>{in_markup(sentence)}</small>" if sentence else "")
