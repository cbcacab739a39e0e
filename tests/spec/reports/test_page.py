"""A report as a page: its contents, and its readability in a real browser."""

from __future__ import annotations

import re
import shutil
from base64 import b64decode
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from spec.checking import Result, check
from spec.checking.values.text import show
from spec.reports import to_html, write
from spec.reports.sequence_diagram import svg
from tests.spec.checking.toys import Clock
from tests.spec.reports.odd import WORDS, broken, vacuous

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
in_a_browser = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here")


class _Reader(HTMLParser):
    """Reads the words of a page and its elements; each opened element must be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in {"meta", "img"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)


def words(result: Result) -> str:
    """Read a page."""
    return " ".join(" ".join(_Reader(to_html(result)).words).split())


def test_the_page_has_settings_verdict_and_coverage() -> None:
    """In this order, the counterexample first; each has a link."""
    read = _Reader(to_html(broken()))
    places = [of["id"] for tag, of in read.elements if tag == "section"]
    assert places == ["trace-1", "checked", "figures", "properties", "actions", "growth"]
    assert [of["href"] for tag, of in read.elements if tag == "a"] == [f"#{place}" for place in places]
    text = words(broken())
    for part in (
        "violated odd silence is violated, in 2 states",
        "left out of the model <i>manners</i>",
        "bounds none but those of the model",
        "Witnesses understood It means something to *someone*. undecided",
        "Not taken so far: think.",
        "2 levels; the largest is level 1, with 1 state.",
        "Checked with python 3.",
    ):
        assert part in text


def test_user_text_is_escaped() -> None:
    """And the page loads and runs nothing."""
    text = to_html(broken())
    read = _Reader(text)
    assert show(WORDS) in read.words
    tags = {tag for tag, _ in read.elements}
    assert tags.isdisjoint({"script", "link", "iframe", "object", "b", "i", "said", "person"})
    assert re.findall(r"""src="(?!data:)|url\(|@import|https?://""", text.replace('href="#', "")) == []


def test_the_trace_has_its_diagram() -> None:
    """Line by line; the important lines are marked."""
    result = broken()
    trace = result.counterexample
    assert trace is not None
    text = to_html(result)
    lines = re.findall(r'<div(?: class="(\w+)")? style="--hangs: (\d+)ch">(.*?)</div>', text)
    assert [unescape(line).replace("\xa0", " ") for _, _, line in lines] == str(trace).split("\n")
    looks = {unescape(line).strip()[:14]: look for look, _, line in lines}
    assert {looks[begin] for begin in looks if begin.startswith(("1  initially", "2  speak()"))} == {"step"}
    assert looks["! silence brea"] == "broken"
    assert looks["* one hears <b"] == "note"
    (picture,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', text)
    assert b64decode(picture).decode() == svg(trace)
    ElementTree.fromstring(b64decode(picture))


def test_without_actors_there_is_no_diagram() -> None:
    """It would add nothing to the text."""
    assert "<img" not in to_html(check(Clock(), show="s.hand == 2"))


def test_the_verdict_has_its_colour() -> None:
    """A good, bad or open one."""
    for result, look in ((check(Clock()), "good"), (broken(), "bad"), (vacuous(), "open")):
        assert f'<p class="verdict {look}">{result.verdict}</p>' in to_html(result)


def test_growth_has_a_bar_for_each_level() -> None:
    """Each with its figures, which are also rows of a table."""
    text = to_html(check(Clock(hours=5)))
    (picture,) = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(ElementTree.fromstring(picture)) == 5
    rows = re.findall(r'<tr>(?:<td class="number">[\d,]+</td>){4}</tr>', text)
    assert len(rows) == 5


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real browser, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield started
        started.close()


@in_a_browser
def test_a_page_is_as_wide_as_its_window(browser: Any, tmp_path: Path) -> None:
    """On a telephone and a desktop, light and dark, for any content; the console shows no error."""
    errors: list[str] = []
    opened = browser.new_page()
    opened.on("console", lambda message: errors.append(message.text))
    for name, result in (("broken", broken()), ("holds", check(Clock(hours=300)))):
        write(result, tmp_path / f"{name}.html")
        opened.goto((tmp_path / f"{name}.html").as_uri())
        for width, scheme, ground in ((390, "light", "rgb(255, 255, 255)"), (1280, "dark", "rgb(23, 25, 28)")):
            opened.set_viewport_size({"width": width, "height": 800})
            opened.emulate_media(color_scheme=scheme)
            assert opened.evaluate("document.documentElement.scrollWidth") == width
            assert opened.evaluate("getComputedStyle(document.body).backgroundColor") == ground
    assert errors == []
