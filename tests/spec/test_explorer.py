"""The page in which one steps through states: what is in it, and, in a real browser, what it does."""

from __future__ import annotations

import doctest
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from spec import explorer
from spec.checking import check
from spec.checking.followed import follow
from spec.checking.itf import RecordedTrace
from spec.checking.replay import Replay
from spec.explorer import Explorer, of_system, of_trace
from spec.language import (
    Specification,
    State,
    Step,
    action,
    at_most,
    bound,
    initial,
    invariant,
    require,
    say,
    variable,
    view,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
in_a_browser = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here")


class Lift(State):
    """A lift."""

    floor: int = variable("Where it is, <b>now</b>.")
    stops: tuple[int, ...] = variable("Where it has stopped.")


class Lifts(Specification[Lift]):
    """A lift goes up and down.

    And stops.
    """

    @initial(floor=[0, 2])
    def begin(self, s: Lift, floor: int) -> None:
        """Below, or in between."""
        s.floor = floor

    @action(actor="the lift")
    def up(self, s: Lift, by: int) -> None:
        """It goes up."""
        require(by > 0)
        bound(s.floor + by <= 2)
        say("whirr")
        s.floor += by

    @action
    def down(self, s: Lift) -> None:
        """It goes down."""
        require(s.floor > 0)
        s.floor -= 1

    @action
    def stop(self, s: Lift) -> None:
        """It stops where it is, below."""
        require(not s.stops and s.floor == 0)
        s.stops = (0,)

    @invariant
    def never_on_two(self, s: Lift) -> bool:
        """It is never < 2."""
        return s.floor != 2 or not s.stops

    @view
    def place(self, s: Lift) -> str:
        """Where it is."""
        return f"it is on floor {s.floor}"

    def sizes(self) -> dict[object, Any]:
        """How far it goes at once."""
        return {int: range(3), tuple[int, ...]: at_most(1)}


def page_of_a_trace(most: int = 100) -> Explorer:
    """The way to a lift that is on two, and what is around."""
    found = check(Lifts, engine="reference").counterexample
    assert found is not None
    return of_trace(follow(RecordedTrace.of(Lifts(), found, "lifts.py:Lifts"), Lifts()), most)


def test_a_page_of_a_system_has_its_states_and_all_that_can_be_done() -> None:
    """Six: three floors, stopped or not; what a bound closes is not done."""
    found = of_system(Lifts())
    assert [list(each.values()) for each in found.states] == [
        ["0", []],
        ["2", []],
        ["1", []],
        ["0", ["0"]],
        ["1", ["0"]],
        ["2", ["0"]],
    ]
    assert list(found.begins) == [0, 1]
    assert [(each.action, each.parameters, each.to) for each in found.exits[0]] == [
        ("up", {"by": "1"}, 2),
        ("up", {"by": "2"}, 1),
        ("stop", {}, 3),
    ]
    assert (found.exits[0][0].actor, found.exits[0][0].said) == ("the lift", "whirr")
    assert found.views[2] == ["it is on floor 1"]


def test_a_step_beyond_the_states_in_the_file_leads_nowhere() -> None:
    """As many states as one asks for, the nearest."""
    found = of_system(Lifts(), most=3)
    assert len(found.states) == 3
    assert [each.to for each in found.exits[0]] == [2, 1, None]


def test_a_trace_is_there_however_few_states_are_asked_for() -> None:
    """And one knows which step it takes in each."""
    found = page_of_a_trace(most=1)
    here, way = 0, []
    for taken in found.trace:
        step = found.exits[here][taken]
        way.append(step.action)
        assert step.to is not None
        here = step.to
    assert way == ["stop", "up"]
    assert found.ending == "never_on_two breaks here"


def test_nothing_in_the_data_ends_the_script() -> None:
    """What a person writes into a sentence stays a sentence; and nothing is fetched."""
    page = page_of_a_trace().to_html()
    assert "<b>now" not in page
    data = re.findall(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert json.loads(data[0])["documentation"]["floor"] == "Where it is, <b>now</b>."
    assert re.findall(r"""(?:src|href)=|url\(|https?://""", page) == []


def test_examples() -> None:
    """Values as they are drawn."""
    assert doctest.testmod(explorer).attempted > 0
    assert doctest.testmod(explorer).failed == 0


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real one, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Iterator[Page]:
    """The page of a trace, which writes no error to the console."""
    (tmp_path / "lift.html").write_text(page_of_a_trace().to_html(), encoding="utf-8")
    errors: list[str] = []
    opened = browser.new_page(viewport={"width": 1280, "height": 800})
    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.goto((tmp_path / "lift.html").as_uri())
    yield opened
    opened.close()
    assert errors == []


def told(page: Page) -> tuple[str, list[str]]:
    """Where one is, and what holds there."""
    return page.inner_text("#where"), page.locator("#views li").all_inner_texts()


@in_a_browser
def test_one_steps_forward_and_back(page: Page) -> None:
    """By buttons and by keys; what has changed is marked, and the end says what breaks."""
    assert told(page) == ("state 1 of 3", ["it is on floor 0"])
    page.click("#forward")
    page.keyboard.press("ArrowRight")
    assert told(page) == ("state 3 of 3", ["it is on floor 2"])
    assert page.locator(".changed").all_inner_texts() == ["0 \N{RIGHTWARDS ARROW} 2"]
    assert page.locator("#steps .broken").all_inner_texts() == ["never_on_two breaks here"]
    assert page.is_disabled("#forward")
    page.keyboard.press("Home")
    assert told(page)[0] == "state 1 of 3"


@in_a_browser
def test_one_goes_another_way_and_back_to_the_trace(page: Page) -> None:
    """A link leads to the same step, of the trace or of another way."""
    up = page.locator("#choices button:has-text('by=1')")
    assert up.inner_text().splitlines() == [
        "up(by=1)",
        "the lift",
        "whirr",
        "it is on floor 1",
        "floor: 0 \N{RIGHTWARDS ARROW} 1",
    ]
    up.click()
    assert told(page) == ("state 2 of 2", ["it is on floor 1"])
    assert page.locator("#steps .broken").count() == 0
    other = page.url
    page.click("#return")
    assert told(page) == ("state 1 of 3", ["it is on floor 0"])
    page.goto(other)
    assert told(page) == ("state 2 of 2", ["it is on floor 1"])
    page.goto(other.partition("#")[0] + "#3")
    assert told(page) == ("state 3 of 3", ["it is on floor 2"])


@in_a_browser
def test_one_searches_in_the_state(page: Page) -> None:
    """What does not have the words is hidden."""
    page.keyboard.press("/")
    page.keyboard.type("stops")
    assert page.locator(".variable:visible h3").all_inner_texts() == ["stops Where it has stopped."]
    page.keyboard.press("Escape")
    assert page.locator(".variable:visible").count() == 2


@in_a_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_window(page: Page, width: int) -> None:
    """Of a desk and of a hand."""
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@in_a_browser
def test_one_begins_where_one_likes(browser: Any, tmp_path: Path) -> None:
    """A system has several initial states."""
    (tmp_path / "lifts.html").write_text(of_system(Lifts()).to_html(), encoding="utf-8")
    opened = browser.new_page()
    opened.goto((tmp_path / "lifts.html").as_uri())
    opened.select_option("#begins", label="begin 2 of 2")
    assert told(opened) == ("state 1 of 1", ["it is on floor 2"])
    opened.click("#choices button:has-text('down')")
    assert told(opened) == ("state 2 of 2", ["it is on floor 1"])
    opened.close()


class Broken(Lifts):
    """A lift that goes through the roof."""

    @action
    def shoot_up(self, s: Lift) -> None:
        """It goes farther than there are floors."""
        require(s.floor == 1)
        s.floor = 7


def test_a_trace_that_leaves_the_domains_ends_in_a_step_that_says_so() -> None:
    """The last state is none, so there is no page of it."""
    found = check(Broken, engine="reference", properties=["type_ok"]).counterexample
    assert found is not None
    page = of_trace(follow(RecordedTrace.of(Broken(), found, "lifts.py:Broken"), Broken()))
    here = 0
    for taken in page.trace[:-1]:
        to = page.exits[here][taken].to
        assert to is not None
        here = to
    last = page.exits[here][page.trace[-1]]
    assert (last.action, last.to) == ("shoot_up", None)
    assert "7" in last.wrong


class Bounded(Lifts):
    """A lift that is not watched when it goes down."""

    @action
    def down(self, s: Lift) -> None:
        """It goes down."""
        require(s.floor > 0)
        bound(s.floor == 0)
        s.floor -= 1


def test_a_trace_goes_where_a_bound_closes() -> None:
    """Its own step is there, and no other that the bound closes."""
    replay = Replay(Lifts, {"floor": 2, "stops": ()})
    replay.do(Step("down", {}))
    recorded = RecordedTrace.of(Bounded(), replay.run, "lifts.py:Bounded")
    page = of_trace(follow(recorded, Bounded()))
    assert [each.action for each in page.exits[0]] == ["down"]
    assert [each.action for each in page.exits[1]] == ["up"]
