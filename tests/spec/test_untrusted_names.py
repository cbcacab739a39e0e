"""Names and values from others: a terminal, a page and a picture display them, and obey nothing in them."""

from __future__ import annotations

import json
import re
import sys
import warnings
from ast import literal_eval
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pygraphviz import AGraph

from spec.checking import Result, Trace, check
from spec.checking.traces.brief import brief
from spec.checking.traces.itf import RecordedTrace
from spec.checking.traces.program import program
from spec.checking.traces.trace import html_of
from spec.checking.values.text import jsonable, show
from spec.cli import streams
from spec.cli.command import kafkaspec
from spec.cli.failures import failure_of
from spec.cli.streams import for_stream
from spec.explorer import of_system
from spec.language import (
    Cells,
    Grid,
    Look,
    Queue,
    Specification,
    State,
    Tag,
    Total,
    UsageError,
    action,
    constant,
    integers,
    invariant,
    mapping,
    one_of,
    picture,
    require,
    say,
    variable,
    view,
)
from spec.language.errors import EnvironmentFailed, escaped
from spec.reports import to_html, to_junit, to_markdown
from spec.reports.sequence_diagram import mermaid, svg
from spec.reports.state_graph import FORMATS, state_graph
from spec.what_if.events import Reassign
from spec.what_if.known_cluster import DescribedPartition, Description, KnownCluster, PartitionStatus, complete
from spec.what_if.prediction import what_if
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import LEGAL_NAME, TopicPartition

WORDS = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e\u2066\u061c\u2028\ud800\x7f\r\nforged: line"
"""They clear a terminal, reverse text, and begin another line."""
TEXTS = st.text(st.characters(exclude_categories=()) | st.sampled_from(WORDS), min_size=1, max_size=9)
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class Slip(NamedTuple):
    """A record with its own `__str__`."""

    words: str

    def __str__(self) -> str:
        return f"slip of {self.words}"


class Letters(State):
    """Letters and their words."""

    written: str = variable("The words.", of=lambda self: one_of("", self.word))
    slip: Slip | None = variable("The same on paper.", of=lambda self: one_of(None, Slip(self.word)))
    counts: Total[str, int] = variable("Number of letters.", of=lambda self: mapping((self.word,), integers(0, 1)))


class Post(Specification[Letters]):
    """A letter is written, with actor and receiver in the same words."""

    word: str = constant("x", "the text of the letter")

    @action(actor="{word}", receiver="{word}", word=lambda self: (self.word,))
    def write(self, s: Letters, word: str) -> None:
        """It is written."""
        require(s.written != word)
        say(word)
        s.written, s.slip, s.counts[word] = word, Slip(word), 1

    @view
    def heard(self, s: Letters) -> str:
        """One hears it."""
        return f"one hears {self.word}"

    @picture
    def grid(self, s: Letters) -> Grid:
        """All in one."""
        word = self.word
        return Grid((word, "x"), [(word, Queue((word,))), (word, Cells([Tag(word, Look.strong, word)], {word: 0}))])

    @invariant
    def silence(self, s: Letters) -> bool:
        """Nothing is written."""
        return not s.written


@cache
def found(word: str) -> tuple[Result, Trace]:
    """The violation of `silence`."""
    result = check(Post(word=word), engine="reference")
    assert result.counterexample is not None
    return result, result.counterexample


def assert_seen(text: str, but: str = "") -> None:
    """Assert that every character is printable, except line ends and our own escapes."""
    hidden = {each for each in text if not each.isprintable()} - {"\n", *but}
    assert not hidden, sorted(map(ascii, hidden))


@settings(max_examples=20, deadline=None)
@given(TEXTS)
def test_text_of_any_characters_is_visible_in_every_format(word: str) -> None:
    """And an XML parser and Graphviz read the output."""
    result, trace = found(word)
    assert_seen(program(Post(word=word), trace))
    for report in (result, trace, brief(Post(word=word), trace)):
        assert_seen(str(report))
        assert_seen(COLOURS.sub("", for_stream(report.lines(), sys.stdout, "always")))
    assert str(trace).count("\n") == str(found("x")[1]).count("\n"), "no line is forged"
    assert_seen(mermaid(trace))
    assert mermaid(trace).count("\n") == mermaid(found("x")[1]).count("\n")
    for text in (svg(trace), to_junit(result)):
        ElementTree.fromstring(text)
        assert_seen(text, but="\xa0")
    for text in (to_markdown(result), to_html(result), html_of(result), html_of(trace)):
        assert_seen(text, but="\xa0")
    graph = state_graph(Post(word=word))
    drawn = {form: write(graph) for form, write in FORMATS.items()}
    assert len(AGraph(string=drawn["dot"]).nodes()) == 2
    assert len(ElementTree.fromstring(drawn["graphml"]).findall("{*}graph/{*}node")) == 2
    for text in drawn.values():
        assert_seen(text)


@pytest.mark.parametrize("inside", [False, True])
@given(TEXTS)
def test_no_text_looks_like_its_own_escapes(inside: bool, word: str) -> None:
    """An invisible one prints as a literal, which evaluates to the text again."""
    written = show(word, inside=inside)
    if not word.isprintable():
        assert literal_eval(written) == word
        assert written != show(escaped(word), inside=inside)
        assert show(Slip(word)) != show(Slip(escaped(word)))
        assert json.loads(json.dumps({word: jsonable(word)})) == {word: word}


@settings(max_examples=20, deadline=None)
@given(TEXTS)
def test_the_explorers_page_shows_only_visible_text(word: str) -> None:
    """The page's script receives only escaped text."""
    page = of_system(Post(word=word)).to_html()
    assert_seen(page)
    data = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert data is not None

    def texts(value: Any) -> list[str]:
        if isinstance(value, dict):
            return [*value, *texts([*value.values()])]
        return [text for each in value for text in texts(each)] if isinstance(value, list) else [str(value)]

    for text in texts(json.loads(data[1])):
        assert text.isprintable(), ascii(text)


@given(TEXTS.map("t{}-".format))
def test_impossible_topic_names_are_one_line_errors(topic: str) -> None:
    """In a description with its place, and in a plan."""
    assume(not LEGAL_NAME.fullmatch(topic))
    partition, assignment = TopicPartition(topic, 0), ReplicaAssignment((1, 2))
    described = DescribedPartition(assignment, 1, (1, 2), at="topics.txt:1")
    known = KnownCluster(
        {TopicPartition("t", 0): PartitionStatus(assignment, 1, (1, 2), 0)}, frozenset({1, 2}), 1, {"t": 1}, {}
    )
    with pytest.raises(UsageError, match=r"\Atopics.txt:1: no topic is called ") as in_description:
        complete(Description({partition: described}))
    with pytest.raises(UsageError, match="there is no such partition") as in_plan:
        what_if(known, Reassign({partition: (1, 2)}))
    for refused in (in_description, in_plan):
        assert str(failure_of(refused.value)).isprintable()


@pytest.mark.parametrize("error", [UsageError(WORDS), EnvironmentFailed(WORDS, WORDS)])
def test_an_error_stays_on_its_line(error: Exception) -> None:
    assert str(failure_of(error)).isprintable()


def test_terminal_escapes_are_neutralized(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a result, a note, a warning, and the traceback of a fault."""
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    streams.take_over()
    streams.print_result(WORDS)
    streams.print_note(WORDS)
    warnings.showwarning(UserWarning(WORDS), UserWarning, "f.py", 1)
    sys.excepthook(ValueError, ValueError(WORDS), None)
    out, err = capsys.readouterr()
    for text, times in ((out, 1), (err, 3)):
        assert_seen(text)
        assert text.count("\\x1b[2J") == times


def kept(tmp_path: Path) -> dict[str, Any]:
    """A trace of one of our systems, as in a file."""
    system = Post(word="x")
    path = tmp_path / "kept.itf.json"
    RecordedTrace.of(system, found("x")[1], f"{__file__}:Post").write(path)
    document: dict[str, Any] = json.loads(path.read_text())
    return document


@pytest.mark.parametrize("place", ["action", "property", "setting", "system", "variable", "value"])
def test_names_in_a_foreign_trace_are_visible(tmp_path: Path, place: str) -> None:
    document = kept(tmp_path)
    ours, state = document["#meta"]["kafkaspec"], document["states"][1]
    if place == "action":
        state["mbt::actionTaken"] = WORDS
    elif place == "setting":
        ours["settings"][WORDS] = "1"
    elif place == "variable":
        state[WORDS] = ""
    elif place == "value":
        state["written"] = WORDS
    else:
        ours[place] = WORDS
    file = tmp_path / "other.itf.json"
    file.write_text(json.dumps(document))
    own = [] if place == "system" else ["--spec", f"{__file__}:Post"]
    ran = CliRunner().invoke(kafkaspec, ["replay", str(file), *own])
    assert ran.exception is not None
    said = ran.output.removesuffix("\n") or str(failure_of(ran.exception))
    assert said.isprintable()
    assert "\\x1b[2J" in said
