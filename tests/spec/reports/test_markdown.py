"""A report in Markdown, read as GitHub's renderer reads it."""

from __future__ import annotations

from dataclasses import replace

from markdown_it import MarkdownIt
from markdown_it.token import Token

from spec.checking import Result, check
from spec.checking.exploration import Jobs
from spec.checking.values.text import show
from spec.reports import markdown, to_markdown
from spec.reports.sequence_diagram import mermaid
from tests.spec.checking.toys import Clock
from tests.spec.reports.odd import WORDS, broken, vacuous


def parsed(result: Result) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(to_markdown(result))


def words(tokens: list[Token], kind: str) -> list[str]:
    """Return the text of all elements of a kind, without markup."""
    return [
        "".join(part.content for part in tokens[at + 1].children or [] if part.type in {"text", "text_special"})
        for at, token in enumerate(tokens)
        if token.type == f"{kind}_open"
    ]


def rows(result: Result) -> list[list[str]]:
    """Return the cells of all tables."""
    found: list[list[str]] = []
    tokens = parsed(result)
    for at, token in enumerate(tokens):
        if token.type == "tr_open":
            found.append([])
        elif token.type in {"td_open", "th_open"}:
            inside = tokens[at + 1].children or []
            assert {part.type for part in inside} <= {"text", "text_special"}, "no word is parsed as markup"
            found[-1].append("".join(part.content for part in inside))
    return found


def test_the_report_has_settings_verdict_and_coverage() -> None:
    """In this order, the counterexample first."""
    assert words(parsed(broken()), "heading") == [
        "odd: silence is violated, in 2 states",
        "How silence breaks, in 2 states",
        "What was checked",
        "Figures",
        "Properties",
        "Witnesses",
        "Actions",
        "Growth",
    ]


def test_user_text_is_escaped() -> None:
    """In tables and in sentences."""
    found = rows(broken())
    assert ["left out of the model", "<i>manners</i>"] in found
    assert ["silence", "violated, in 2 states", "Nothing is <said> | done."] in found
    assert ["understood", "undecided", "It means something to *someone*."] in found
    (value,) = [row[1] for row in found if row[0] == "words"]
    assert value == show(WORDS)


def test_the_trace_has_its_diagram() -> None:
    """No line of it ends its fence."""
    trace = broken().counterexample
    assert trace is not None
    fences = [(token.info, token.content) for token in parsed(broken()) if token.type == "fence"]
    assert fences[:2] == [("mermaid", mermaid(trace)), ("text", f"{trace}\n")]


def test_no_line_of_a_trace_ends_its_fence() -> None:
    """The fence is longer than any in the trace."""
    trace = broken().counterexample
    assert trace is not None
    fenced = replace(trace, broken="```", sentence="")
    assert str(fenced).startswith("```\n")
    tokens = parsed(replace(broken(), counterexamples=(fenced,)))
    assert f"{fenced}\n" in [token.content for token in tokens if token.type == "fence"]


def test_without_actors_there_is_no_diagram() -> None:
    """It would add nothing to the text."""
    trace = check(Clock(), show="s.hand == 2").shown
    assert trace is not None
    infos = [token.info for token in parsed(check(Clock(), show="s.hand == 2")) if token.type == "fence"]
    assert infos == ["text", "mermaid"], "the latter is how it grew"


def test_a_diagram_that_mermaid_does_not_draw_is_left_out() -> None:
    """Mermaid would draw an error."""
    result = broken()
    trace = result.counterexample
    assert trace is not None
    long = replace(trace, steps=trace.steps * (markdown.LARGEST // 20))
    text = to_markdown(replace(result, counterexamples=(long,)))
    assert "sequenceDiagram" not in text
    assert "`kafkaspec sequence` draws a saved trace as SVG" in text


def test_dead_actions_are_named() -> None:
    """A cut-short run says that this covers only the explored part."""
    assert "\nNever taken: think.\n" in to_markdown(vacuous())
    assert "\nNot taken so far: think.\n" in to_markdown(broken())
    assert "\nEach action is taken.\n" in to_markdown(check(Clock()))


def test_bounds_and_figures_are_there() -> None:
    """In readable form."""
    found = rows(check(Clock(hours=2000), engine="reference", max_states=1500))
    assert ["bounds", "1,500 states"] in found
    assert ["distinct states", "1,500"] in found
    assert ["bounds", "none but those of the model"] in rows(check(Clock()))
    by_jobs = rows(replace(check(Clock()), jobs=Jobs(12, 2)))
    assert ["levels by Spark jobs", "12"] in by_jobs
    assert ["Spark workers", "2"] in by_jobs
    holds = to_markdown(check(Clock()))
    assert "Every property holds in all states" in holds
