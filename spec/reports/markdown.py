"""A report in Markdown for GitHub and similar sites: diagrams are Mermaid's, figures are tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from spec.checking.result import PropertyResult, Result
from spec.checking.traces.trace import Trace
from spec.language.errors import escaped
from spec.reports import content, growth
from spec.reports.content import HEADLINE, Unfinished
from spec.reports.sequence_diagram import mermaid

LARGEST: Final = 50_000
"""The most characters of a diagram that Mermaid draws by default."""


def to_markdown(result: Result) -> str:
    """The result as Markdown."""
    return "\n".join(_result_sections(result)) + "\n"


def unfinished_to_markdown(unfinished: Unfinished) -> str:
    """A check without a result as Markdown."""
    return "\n".join(_unfinished_sections(unfinished)) + "\n"


def _unfinished_sections(unfinished: Unfinished) -> Iterator[str]:
    yield f"# {plain(unfinished.system)}: {HEADLINE}"
    for line in unfinished.message.split("\n"):
        yield from ("", plain(line.strip()))
    if unfinished.trace is not None:
        yield from _trace(unfinished.trace, unfinished.heading)
    if unfinished.values:
        yield from ("", "## What was checked", "")
        yield from _table(("constant", "value"), unfinished.settings)


def _result_sections(result: Result) -> Iterator[str]:
    yield f"# {plain(result.system)}: {plain(result.headline)}"
    if result.verdict == "holds":
        yield from ("", plain(content.summary(result)))
    for line in content.known(result):
        yield from ("", plain(line))
    for trace in result.traces:
        yield from _trace(trace, content.heading(trace))
    yield from ("", "## What was checked", "")
    yield from _table(("", ""), content.checked(result))
    for title, values in (("constant", result.constants), ("switch", result.switches)):
        if values:
            yield ""
            yield from _table((title, "value", "meaning"), content.settings(result, values))
    yield from ("", "## Figures", "")
    yield from _table(("", ""), content.figures(result))
    yield from _judged("Properties", content.properties(result), result)
    yield from _judged("Witnesses", content.witnesses(result), result)
    yield from ("", "## Actions", "", plain(content.coverage(result)), "")
    actions = [
        (each.name, f"{each.enabled:,}", f"{each.taken:,}", "" if each.new_states is None else f"{each.new_states:,}")
        for each in result.actions
    ]
    yield from _table(("action", "states in which it is enabled", "taken", "new states"), actions, "lrrr")
    yield from _growth(result)
    yield from ("", f"Checked with {content.made_by(result)}.")


def _judged(title: str, judged: Sequence[PropertyResult], result: Result) -> Iterator[str]:
    if judged:
        yield from ("", f"## {title}", "")
        rows = [(each.name, content.decided(each), result.documentation.get(each.name, "")) for each in judged]
        yield from _table(("", "", "meaning"), rows)


def _growth(result: Result) -> Iterator[str]:
    yield from ("", "## Growth", "", growth.sentence(result.levels))
    if not result.levels:
        return
    yield ""
    yield from _fenced("mermaid", growth.mermaid(result.levels))
    yield from ("", "<details><summary>Level by level</summary>", "")
    rows = [
        (f"{each.level:,}", f"{each.states:,}", f"{each.distinct_states:,}", f"{each.generated_states:,}")
        for each in growth.bucket_levels(result.levels)
    ]
    yield from _table(("level", "states", "total", "generated"), rows, "rrrr")
    yield from ("", "</details>")


def _trace(trace: Trace, heading: str) -> Iterator[str]:
    yield from ("", f"## {plain(heading)}")
    if trace.sentence:
        yield from ("", plain(trace.sentence))
    if content.has_lanes(trace):
        diagram = mermaid(trace)
        yield ""
        if len(diagram) <= LARGEST:
            yield from _fenced("mermaid", diagram)
        else:
            yield "Its sequence diagram is too large for Mermaid; `kafkaspec sequence` draws a saved trace as SVG."
    yield ""
    yield from _fenced("text", str(trace))


def _fenced(kind: str, text: str) -> Iterator[str]:
    """A block with a longer fence than any in the text."""
    fence = "`" * max(3, *(len(each) + 1 for each in re.findall("`+", text)), 3)
    yield f"{fence}{kind}"
    yield text.rstrip("\n")
    yield fence


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], aligned: str = "") -> Iterator[str]:
    yield _row(head)
    yield _row(["---:" if place == "r" else "---" for place in (aligned or "l" * len(head))])
    for each in rows:
        yield _row(map(plain, each))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def plain(words: str) -> str:
    """Text escaped for Markdown; an underscore within a name is not markup."""
    return re.sub(r"[\\`*\[\]<>&#~$|]|(?<!\w)_|_(?!\w)", r"\\\g<0>", escaped(words))
