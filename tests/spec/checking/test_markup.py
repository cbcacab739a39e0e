"""Results and traces in a notebook are tables that are legible on light and dark backgrounds."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from spec.checking import check
from spec.checking.markup import STYLE
from spec.checking.traces.trace import html_of
from spec.language import Specification, State, action, variable, view
from tests.spec.checking.traces.test_brief import IN_TURN, TalkingLetters, run
from tests.spec.checking.traces.test_trace import Post

VOID = {"br"}


class Reader(HTMLParser):
    """Collects the text, and checks that every opened element is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.words += data.split()


def text(html: str) -> str:
    """The text that a reader sees."""
    reader = Reader(html)
    assert reader.open == []
    return " ".join(reader.words)


def test_a_trace_in_a_notebook() -> None:
    """A row has the number, actor, step and sentences. The changes unfold."""
    html = html_of(run(TalkingLetters(), IN_TURN))
    words = text(html)
    assert words.startswith("few_letters : There are never two letters in the tray. 1 initially there are 0 letters ")
    assert "3 clerk bob open(clerk=bob) 1 value done[bob]: 0 -> 1 4 clerk ann" in words
    assert "put(clerk=ann) into the tray there are 1 letters 2 values done[ann]: 2 -> 3 tray: 0 -> 1" in words
    assert '<span class="bad">few_letters breaks here</span>' in html
    assert words.endswith("few_letters does not hold; it looked at tray: 2")


def test_a_result_in_a_notebook() -> None:
    """The verdict, its settings, each property, and the trace."""
    found = check(Post(), properties=["nothing_is_taken", "both_full"], engine="reference")
    html = found._repr_mimebundle_()["text/html"]
    words = text(html)
    assert words.startswith("post : nothing_is_taken is violated, in 4 states")
    assert "constants boxes = 2" in words
    assert "nothing_is_taken transition invariant violated 4" in words
    assert words.count("nothing_is_taken breaks here") == 1
    assert '<span class="good">holds</span>' in html_of(check(Post(), properties=["type_ok"], engine="reference"))


class Words(State):
    """The state of `Markup`."""

    word: str = variable("What was said.", of=lambda self: ("", "<b>&"))


class Markup(Specification[Words]):
    """<i>It</i> speaks text that looks like markup."""

    name = "<mark>"

    @action(word=("<script>",), actor="<who>")
    def speak(self, s: Words, word: str) -> None:
        s.word = "<b>&"

    @view
    def said(self, s: Words) -> str:
        """What was said."""
        return f"<u>{s.word}</u>"


def test_content_is_escaped() -> None:
    """Names, values, and sentences of views."""
    shown = check(Markup(), show="s.word != ''", engine="reference")
    html = html_of(shown)
    page = text(html)
    for words in ("<mark>", "<who>", "speak(word=<script>)", "<u><b>&</u>", 'word: "" -> <b>&', "s.word != ''"):
        assert words in page, words
    assert not re.search(r"<(mark|who|script|u)\b", html)


def test_notebook_colours_are_inherited() -> None:
    """It sets no background and neither black nor white text. Its colours are legible on both backgrounds."""
    assert re.findall(r"background: (\w+)", STYLE) == ["none", "none"]
    for colour in re.findall(r" color: #(\w{6})", STYLE):
        light = luminance(colour)
        assert (light + 0.05) / (luminance("111111") + 0.05) >= 4
        assert 1.05 / (light + 0.05) >= 3


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
