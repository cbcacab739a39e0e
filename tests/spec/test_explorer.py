"""The page for stepping through states: its contents, and its behaviour in a real browser."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from signal import SIGINT
from subprocess import PIPE, Popen
from threading import Thread
from time import process_time
from typing import TYPE_CHECKING, Any

import pytest

from spec.atlas.loading import system_named, under
from spec.checking import check
from spec.checking.traces.itf import RecordedTrace
from spec.checking.traces.replay import Replay
from spec.checking.traces.validate import validate
from spec.explorer import Explorer, ExplorerModel, ExplorerServer, model_of_system, of_system, of_trace
from spec.language import (
    Cells,
    Grid,
    Look,
    Queue,
    Specification,
    State,
    Step,
    Tag,
    Tags,
    Tree,
    action,
    at_most,
    bound,
    initial,
    invariant,
    picture,
    require,
    say,
    variable,
    view,
)
from spec.language.errors import UsageError
from spec.systems import SYSTEMS
from tests.spec.browsing import in_a_browser, opened

if TYPE_CHECKING:
    from playwright.sync_api import Page

DOCS = Path(__file__).parents[2] / "docs"


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
        """It stops at its floor, below the top."""
        require(not s.stops and s.floor == 0)
        s.stops = (0,)

    @invariant
    def never_on_two(self, s: Lift) -> bool:
        """It is never < 2."""
        return s.floor != 2 or not s.stops

    @view
    def place(self, s: Lift) -> str:
        """Its floor."""
        return f"it is on floor {s.floor}"

    def sizes(self) -> dict[object, Any]:
        """Three floors, and at most one stop."""
        return {int: range(3), tuple[int, ...]: at_most(1)}


def page_of_a_trace(most: int = 100) -> Explorer:
    """The trace to a lift on floor two, and the states around it."""
    found = check(Lifts, engine="reference").counterexample
    assert found is not None
    return of_trace(validate(RecordedTrace.of(Lifts(), found, "lifts.py:Lifts"), Lifts()), most)


def test_the_page_of_a_system_has_its_states_and_their_enabled_steps() -> None:
    """Six: three floors, stopped or not; steps beyond a bound are not enabled."""
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


def test_a_step_beyond_the_states_in_the_file_has_no_target() -> None:
    """The file has the requested number of states, the nearest ones."""
    found = of_system(Lifts(), most=3)
    assert len(found.states) == 3
    assert [each.to for each in found.exits[0]] == [2, 1, None]


def test_a_trace_is_complete_however_few_states_are_requested() -> None:
    """The data mark its step in each state."""
    found = page_of_a_trace(most=1)
    here, way = 0, []
    for taken in found.trace:
        step = found.exits[here][taken]
        way.append(step.action)
        assert step.to is not None
        here = step.to
    assert way == ["stop", "up"]
    assert found.head["ending"] == "never_on_two breaks here"


def data_in(page: str) -> str:
    """Return the page's data."""
    [data] = re.findall(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    return str(data)


def test_data_cannot_end_the_script() -> None:
    """A user's text stays text; and the page loads nothing."""
    page = page_of_a_trace().to_html()
    assert "<b>now" not in page
    assert json.loads(data_in(page))["documentation"]["floor"] == "Where it is, <b>now</b>."
    assert re.findall(r"""(?:src|href)=|url\(|https?://""", page) == []


class Drawn(Lifts):
    """A lift drawn in every available shape, which goes down as well as up."""

    @picture
    def shaft(self, s: Lift) -> Cells:
        """The floors."""
        return Cells(["lift" if floor == s.floor else "" for floor in range(3)], {"lift": s.floor}, room=4)

    @picture
    def house(self, s: Lift) -> Grid:
        """The other pictures."""
        stops = Queue(f"floor {floor}" for floor in s.stops)
        people = Tags([Tag("ann", Look.gone if s.floor else Look.strong, "who waits below"), "bob"])
        return Grid(("what", "how"), [("stops", stops), ("people", people), ("longest", "w" * 90)])

    @picture
    def rooms(self, s: Lift) -> Tree:
        """The lift's floor; the attic is drawn only while the lift is there."""
        return Tree({"/": "", "/cellar": s.floor, **({"/cellar/attic": "open"} if s.floor else {})})


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Iterator[Page]:
    """The page of a trace."""
    (tmp_path / "lift.html").write_text(page_of_a_trace().to_html(), encoding="utf-8")
    with opened(browser, (tmp_path / "lift.html").as_uri()) as page:
        yield page


@contextmanager
def serving(territory: ExplorerModel) -> Iterator[ExplorerServer]:
    """A server for the duration of a test."""
    with ExplorerServer(territory) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def where_and_views(page: Page) -> tuple[str, list[str]]:
    """Return the position in the trace, and the views."""
    return page.inner_text("#where"), page.locator("#views li").all_inner_texts()


@in_a_browser
def test_stepping_forward_and_back(page: Page) -> None:
    """By buttons and by keys; changed values are marked, and the last step names the violation."""
    assert where_and_views(page) == ("state 1 of 3", ["it is on floor 0"])
    page.click("#forward")
    page.keyboard.press("ArrowRight")
    assert where_and_views(page) == ("state 3 of 3", ["it is on floor 2"])
    assert page.locator(".changed").all_inner_texts() == ["0 \N{RIGHTWARDS ARROW} 2"]
    assert page.locator("#steps .broken").all_inner_texts() == ["never_on_two breaks here"]
    assert page.is_disabled("#forward")
    page.keyboard.press("Home")
    assert where_and_views(page)[0] == "state 1 of 3"


@in_a_browser
def test_leaving_and_rejoining_the_trace(page: Page) -> None:
    """A link leads to the same step, of the trace or of another path."""
    up = page.locator("#choices button:has-text('by=1')")
    assert up.inner_text().splitlines() == [
        "up(by=1)",
        "the lift",
        "whirr",
        "it is on floor 1",
        "floor: 0 \N{RIGHTWARDS ARROW} 1",
    ]
    up.click()
    assert where_and_views(page) == ("state 2 of 2", ["it is on floor 1"])
    assert page.locator("#steps .broken").count() == 0
    other = page.url
    page.click("#return")
    assert where_and_views(page) == ("state 1 of 3", ["it is on floor 0"])
    page.goto(other)
    assert where_and_views(page) == ("state 2 of 2", ["it is on floor 1"])
    page.goto(other.partition("#")[0] + "#3")
    assert where_and_views(page) == ("state 3 of 3", ["it is on floor 2"])


@in_a_browser
def test_searching_in_the_state(page: Page) -> None:
    """Places without the words are hidden."""
    page.keyboard.press("/")
    page.keyboard.type("stops")
    assert page.locator(".variable:visible h3").all_inner_texts() == ["stops Where it has stopped."]
    page.keyboard.press("Escape")
    assert page.locator(".variable:visible").count() == 2


@in_a_browser
def test_the_trace_is_shown_in_lanes(page: Page) -> None:
    """The lanes are those of a sequence diagram; a click on a step goes there. They follow the current path."""
    assert page.locator("#lanes span").all_inner_texts() == ["the lift", "system"]
    assert [each.get_attribute("title") for each in page.locator("#steps .arrow").all()] == ["", "the lift"]
    page.click("#steps li:nth-child(2) button")
    assert where_and_views(page)[0] == "state 2 of 3"


BROKEN = """() => [...document.querySelectorAll("#lanes span")].flatMap(lane => {
    const words = [...lane.textContent.matchAll(/\\S+/g)];
    return words.filter(word => {
        const range = document.createRange();
        range.setStart(lane.firstChild, word.index);
        range.setEnd(lane.firstChild, word.index + word[0].length);
        return range.getClientRects().length > 1;
    }).map(word => word[0]);
})"""
"""Words in lane names that are split over two lines."""


@in_a_browser
@pytest.mark.parametrize("brokers", [pytest.param(2, marks=pytest.mark.long), 5])
def test_no_word_in_the_name_of_a_lane_is_broken(browser: Any, tmp_path: Path, brokers: int) -> None:
    """On a desktop and a phone; with many lanes, their names are vertical."""

    class Brokers(Specification[Lift]):
        """Each does something."""

        @initial
        def begin(self, s: Lift) -> None:
            """Below."""

        @action(broker=range(brokers), actor="controller of broker {broker}", receiver="ZooKeeper")
        def step(self, s: Lift, broker: int) -> None:
            """One after the other."""
            require(s.floor == broker)
            s.floor += 1

        def sizes(self) -> dict[object, Any]:
            """How far it moves."""
            return {int: range(brokers + 1), tuple[int, ...]: at_most(1)}

    (tmp_path / "page.html").write_text(of_system(Brokers()).to_html(), encoding="utf-8")
    with opened(browser, (tmp_path / "page.html").as_uri()) as page:
        for _ in range(brokers):
            page.click("#choices button")
        assert page.locator("#lanes span").count() == brokers + 1
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate(BROKEN) == []


@in_a_browser
def test_searching_other_states(page: Page) -> None:
    """A state off the path is shown with the shortest path to it."""
    page.fill("#search", "floor 1")
    assert [each.split("another")[0] for each in page.locator("#hits button").all_inner_texts()] == [
        "it is on floor 1",
        "floor: 1",
    ]
    page.keyboard.press("Enter")
    assert where_and_views(page) == ("state 2 of 2", ["it is on floor 1"])
    page.fill("#search", "stop whirr")
    assert page.inner_text("#found") == "0 found in the 6 states of this file"
    page.keyboard.press("Escape")
    assert not page.is_visible("#results")


@in_a_browser
def test_a_state_is_drawn(browser: Any, tmp_path: Path) -> None:
    """New parts of a picture are marked; nothing is wider than the window of a desktop or a phone."""
    (tmp_path / "drawn.html").write_text(of_system(Drawn()).to_html(), encoding="utf-8")
    with opened(browser, (tmp_path / "drawn.html").as_uri()) as page:
        assert page.locator(".changed").count() == 0
        page.keyboard.press("2")
        assert page.locator(".cells .cell").all_inner_texts() == ["", "", "lift", ""]
        assert page.locator(".cells .mark").all_inner_texts() == ["lift"]
        assert page.locator(".picture .changed:visible").all_inner_texts() == [
            "",
            "lift",
            "lift",
            "ann",
            "2",
            "attic",
            "open",
        ]
        assert page.locator("#changes li").all_inner_texts() == ["floor: 0 \N{RIGHTWARDS ARROW} 2"]
        assert not page.is_visible(".variable"), "with pictures, variables are folded"
        page.emulate_media(color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(23, 25, 28)"
        assert [each for width in WIDTHS for each in unusable(page, width)] == []
        for _ in range(2):
            page.click("#choices button:has-text('down')")
        assert [each.strip() for each in page.locator(".tree del").all_inner_texts()] == ["attic", "open"]


WIDTHS = (1280, 390)
"""Of a desktop and of a phone."""
OUT_OF_REACH = """() => {
    const seen = each => each.checkVisibility() && !each.disabled;
    const controls = [...document.querySelectorAll("button, input, select, summary")].filter(seen);
    return controls.filter(each => {
        each.scrollIntoView({block: "center", inline: "center"});
        const box = each.getBoundingClientRect(), x = box.left + box.width / 2, y = box.top + box.height / 2;
        const there = document.elementFromPoint(x, y);
        return box.left < 0 || box.right > innerWidth + 1 || !(there && each.contains(there));
    }).map(each => each.id || each.innerText);
}"""
"""Controls that no scrolling brings into the window, or that another element covers."""


def unusable(page: Page, width: int) -> list[str]:
    """Return the faults of a page at this width: it is wider than the window, or a control cannot be reached."""
    page.set_viewport_size({"width": width, "height": 800})
    wide = page.evaluate("document.documentElement.scrollWidth")
    hidden: list[str] = page.evaluate(OUT_OF_REACH)
    return [f"the page is {wide} wide"] * (wide > width) + hidden


@pytest.mark.long
@in_a_browser
@pytest.mark.parametrize("system", ["replication", "partitions", "controller"])
def test_the_page_of_a_system_is_usable_on_desktop_and_phone(browser: Any, system: str) -> None:
    """In eight states, each reached by the last enabled step of the one before."""
    with serving(model_of_system(under(system_named(system)))) as server, opened(browser, server.url) as page:
        for number in range(1, 9):
            page.locator("#where", has_text=f"state {number} of {number}").wait_for()
            page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
            for width in WIDTHS:
                assert (number, width, unusable(page, width)) == (number, width, [])
            page.locator("#choices button:enabled").last.click()


@in_a_browser
def test_a_page_is_served(browser: Any) -> None:
    """It knows all states visited so far, and a link leads to the same state."""
    with serving(model_of_system(Drawn())) as server, opened(browser, server.url) as page:
        page.select_option("#begins", label="initial state 2 of 2")
        page.click("#choices button:has-text('down')")
        page.locator("#where", has_text="state 2 of 2").wait_for()
        page.click("#choices button:has-text('down')")
        page.locator("#where", has_text="state 3 of 3").wait_for()
        here = where_and_views(page)
        assert here[1] == ["it is on floor 0"]
        assert page.locator(".cells .cell").all_inner_texts() == ["lift", "", "", ""]
        page.reload()
        page.wait_for_selector("#steps li:nth-child(3)")
        assert where_and_views(page) == here
        page.fill("#search", "stop(")
        page.click("#hits button")
        page.locator("#where", has_text="state 2 of 2").wait_for()
        assert page.locator("#steps li:nth-child(2)").inner_text().splitlines()[0] == "2stop()"


def asked_for(server: ExplorerServer, path: str, host: str = "") -> tuple[int, str]:
    """Return the server's response: a status, and a text."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", path, headers={"Host": host or f"127.0.0.1:{server.port}"})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def test_a_server_serves_only_valid_states() -> None:
    """It refuses files, states outside the domains, and requests under another host name."""
    with serving(model_of_system(Lifts())) as server:
        status, text = asked_for(server, "/")
        data = json.loads(data_in(text))
        begin = data["begins"][0]
        assert (status, data["served"], "states" in data) == (200, True, False)
        status, text = asked_for(server, f"/state/{begin}")
        state_data = json.loads(text)
        assert (status, state_data["values"]["floor"], state_data["views"]) == (200, "0", ["it is on floor 0"])
        assert [(each["action"], each["values"]) for each in state_data["exits"]] == [
            ("up", {"floor": "1"}),
            ("up", {"floor": "2"}),
            ("stop", {"stops": ["0"]}),
        ]
        assert asked_for(server, "/favicon.ico") == (204, "")
        for path in ("/../../etc/passwd", "/page.html", "/state/", "/state/..%2f..", f"/state/{begin}0", f"/{begin}"):
            assert asked_for(server, path)[0] == 404, path
        for state in ("f" * 16, "c" + "0" * 15, begin * 2, begin.upper().replace("0", "G", 1)):
            assert asked_for(server, f"/state/{state}") == (404, '{"error": "this system has no state of that name"}')
        assert asked_for(server, f"/state/{begin}", "kafka.example")[0] == 421
        assert asked_for(server, f"/state/{begin}", f"localhost:{server.port}")[0] == 200


def test_another_site_cannot_frame_the_served_page() -> None:
    """It could place it under the user's clicks; each browser obeys one of two headers."""
    with serving(model_of_system(Lifts())) as server:
        connection = HTTPConnection("127.0.0.1", server.port, timeout=10)
        connection.request("GET", "/")
        answer = connection.getresponse()
        connection.close()
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"].split("; ")
    assert answer.headers["X-Frame-Options"] == "DENY"


def test_a_server_reports_an_actions_exception() -> None:
    """And continues with other states."""

    class Failing(Lifts):
        """A lift that is stuck on one."""

        @action
        def stuck(self, s: Lift) -> None:
            """It is stuck."""
            require(s.floor == 1)
            raise RuntimeError("help")

    with serving(model_of_system(Failing())) as server:
        begin = server.first_page.decode().partition('"begins":["')[2].partition('"')[0]
        one = json.loads(asked_for(server, f"/state/{begin}")[1])["exits"][0]["to"]
        status, text = asked_for(server, f"/state/{one}")
        assert (status, "RuntimeError: help" in json.loads(text)["error"]) == (500, True)
        assert asked_for(server, f"/state/{begin}")[0] == 200


def test_an_internal_error_is_reported() -> None:
    """In one line; the page receives it too, and the server continues."""

    class Faulty(ExplorerModel):
        """A model with an internal fault."""

        def drawings_of(self, state: Any) -> list[Any]:
            """Drawing always fails."""
            raise LookupError("lost")

    lifts = model_of_system(Lifts())
    with serving(Faulty(lifts.model, lifts.title, lifts.sentence, lifts.begins)) as server:
        begin = json.loads(data_in(server.first_page.decode()))["begins"][0]
        status, text = asked_for(server, f"/state/{begin}")
        assert (status, json.loads(text)) == (500, {"error": "a fault of kafkaspec: LookupError: lost"})
        assert asked_for(server, "/")[0] == 200


def test_a_port_in_use_is_reported() -> None:
    """In one line, which suggests another port."""
    territory = model_of_system(Lifts())
    refused = pytest.raises(UsageError, match=r"port \d+ of 127.0.0.1 is not available: Address already in use")
    with ExplorerServer(territory) as server, refused:
        ExplorerServer(territory, server.port)


@in_a_browser
def test_any_initial_state_can_be_chosen(browser: Any, tmp_path: Path) -> None:
    """A system has several initial states."""
    (tmp_path / "lifts.html").write_text(of_system(Lifts()).to_html(), encoding="utf-8")
    with opened(browser, (tmp_path / "lifts.html").as_uri()) as page:
        page.select_option("#begins", label="initial state 2 of 2")
        assert where_and_views(page) == ("state 1 of 1", ["it is on floor 2"])
        page.click("#choices button:has-text('down')")
        assert where_and_views(page) == ("state 2 of 2", ["it is on floor 1"])


def test_the_documentation_of_pictures_is_true(tmp_path: Path) -> None:
    """Its example specification has the documented pictures."""
    [code] = re.findall(r"^```python\n(.*?)^```", (DOCS / "explorer.md").read_text(), re.DOTALL | re.MULTILINE)
    (tmp_path / "tape.py").write_text(code)
    tapes = system_named(str(tmp_path / "tape.py"))
    drawn = {json.dumps(each[0]["cells"]): each[1]["grid"][1] for each in of_system(tapes()).drawings}
    assert drawn['["a", "b"]'] == ["ann", {"queue": ["a", "b"]}]
    assert drawn['[{"tag": "a", "look": "strong", "note": ""}, "b"]'] == ["ann", {"queue": ["b"]}]


class Broken(Lifts):
    """A lift that goes through the roof."""

    @action
    def shoot_up(self, s: Lift) -> None:
        """It goes beyond the top floor."""
        require(s.floor == 1)
        s.floor = 7


def test_a_trace_that_leaves_the_domains_ends_in_a_step_that_says_so() -> None:
    """Its last state is invalid, so the page does not show it."""
    found = check(Broken, engine="reference", properties=["type_ok"]).counterexample
    assert found is not None
    page = of_trace(validate(RecordedTrace.of(Broken(), found, "lifts.py:Broken"), Broken()))
    here = 0
    for taken in page.trace[:-1]:
        to = page.exits[here][taken].to
        assert to is not None
        here = to
    last = page.exits[here][page.trace[-1]]
    assert (last.action, last.to) == ("shoot_up", None)
    assert "7" in last.wrong


class Bounded(Lifts):
    """A lift whose way down has a bound."""

    @action
    def down(self, s: Lift) -> None:
        """It goes down."""
        require(s.floor > 0)
        bound(s.floor == 0)
        s.floor -= 1


def test_a_trace_may_cross_a_bound() -> None:
    """Its own step is shown, and no other beyond the bound."""
    replay = Replay(Lifts, {"floor": 2, "stops": ()})
    replay.do(Step("down", {}))
    recorded = RecordedTrace.of(Bounded(), replay.run, "lifts.py:Bounded")
    page = of_trace(validate(recorded, Bounded()))
    assert [each.action for each in page.exits[0]] == ["down"]
    assert [each.action for each in page.exits[1]] == ["up"]


# Slow tests: the systems themselves, and the installed command.


@pytest.mark.long
@pytest.mark.parametrize("name", SYSTEMS)
def test_every_state_of_a_system_is_drawn_quickly(name: str) -> None:
    """On walks through the newest and the oldest release, a step takes less than a tenth of a second."""
    system = system_named(name)
    for release in (None, *list(system.releases)[:1]):
        territory = model_of_system(under(system, release))
        with ExplorerServer(territory) as server:
            state, chance, took = json.loads(data_in(server.first_page.decode()))["begins"][0], Random(7), []
            for _ in range(60):
                began = process_time()
                served = json.loads(server.state(state) or "")
                took.append(process_time() - began)
                assert [each for each in served["pictures"] if each and "fails" in each] == []
                assert any(served["pictures"]) or not territory.head["captions"]
                ways = [each["to"] for each in served["exits"] if each["to"] is not None]
                state = chance.choice(ways) if ways else state
            assert sorted(took)[len(took) // 2] < 0.1, took


@pytest.mark.long
@in_a_browser
def test_the_command_serves_until_it_is_interrupted(browser: Any) -> None:
    """Ctrl-C ends it like any command; the page says that the server is gone, and no process is left."""
    command = [sys.executable, "-m", "spec", "explore", "replication", "--serve"]
    process = Popen(command, stdout=PIPE, stderr=PIPE, text=True)
    assert process.stdout is not None
    url = re.findall(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())[0]
    page = browser.new_page()
    page.goto(url)
    page.click("#choices button:has-text('controller_elect_leader(broker=1)')")
    page.locator("#where", has_text="state 2 of 2").wait_for()
    process.send_signal(SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "Error: interrupted; the page is no longer served\n")
    page.click("#choices button:has-text('become_leader')")
    page.locator("#trouble", has_text="The process that served this page has ended.").wait_for()
    page.close()
