"""Traces as sequence diagrams: their lanes, arrows and notes."""

from __future__ import annotations

import re
from textwrap import dedent
from xml.etree import ElementTree

import pytest

from spec.atlas.loading import system_named
from spec.checking import Trace, check
from spec.checking.traces.replay import Replay
from spec.language import (
    Part,
    Size,
    Specification,
    SpecificationError,
    State,
    Step,
    action,
    constant,
    interchangeable,
    invariant,
    part,
    require,
    say,
    variable,
    view,
)
from spec.reports.sequence_diagram import lanes_of, mermaid, messages_of, svg
from spec.systems import SYSTEMS
from tests.rows import rows


class Bell(State):
    """A bell at the door."""

    rung: bool = variable("Whether it rings.")


class Bells(Part[Bell]):
    """It stops by itself."""

    lane = "the bell"

    @action
    def fade(self, s: Bell) -> None:
        """It stops."""
        require(s.rung)
        s.rung = False


class House(State):
    """A house, a guest and its tenants."""

    bell: Bell
    heard: frozenset[int] = variable("The tenants who have heard it.")
    shut: bool = variable("Whether it is shut up.")


class Visit(Specification[House]):
    """A guest rings at a house."""

    def sizes(self) -> dict[object, Size]:
        """Two tenants; the second is called 10."""
        return {int: interchangeable("tenant", [2, 10])}

    @part
    def bell(self) -> Bells:
        """At the door."""
        return Bells()

    @action(actor="a guest", receiver="the bell")
    def ring(self, s: House) -> None:
        """A guest rings."""
        require(not s.bell.rung and not s.shut)
        say("ding; dong")
        s.bell.rung = True

    @action
    def hear(self, s: House, loud: bool, who: int) -> None:
        """A tenant hears it."""
        require(s.bell.rung and loud and who not in s.heard)
        s.heard |= {who}

    @action(actor="who", receiver="receiver")
    def tell(self, s: House, who: int, receiver: int) -> None:
        """A tenant tells another."""
        require(who in s.heard and receiver not in s.heard)
        s.heard |= {receiver}

    @action
    def shut_up(self, s: House) -> None:
        """The house is shut up."""
        require(len(s.heard) > 1 and not s.bell.rung)
        s.shut = True

    @invariant
    def stays_open(self, s: House) -> bool:
        """It is < never > shut."""
        return not s.shut

    @view
    def knowing(self, s: House, who: int) -> str:
        """The tenants who know."""
        return f"tenant {who} knows" if who in s.heard else ""


def trace_of_a_visit() -> Trace:
    """The shortest trace to a house that is shut up."""
    found = check(Visit, engine="reference").counterexample
    assert found is not None
    return found


def test_a_step_has_an_actor_and_a_receiver() -> None:
    """Explicit ones come from the action; the default is its interchangeable parameter, the part, or the system."""
    messages = {each.label: (each.actor, each.receiver, each.sentences) for each in messages_of(trace_of_a_visit())}
    assert messages == {
        "ring": ("a guest", "the bell", "ding; dong"),
        "hear loud=true": ("tenant 2", "tenant 2", ""),
        "tell": ("tenant 2", "tenant 10", ""),
        "bell.fade": ("the bell", "the bell", ""),
        "shut_up": ("system", "system", ""),
    }


def test_a_text_trace_names_actor_and_receiver_if_the_action_does_not() -> None:
    """Neither its name, nor a parameter, nor its part names them."""
    lines = [each.line for each in trace_of_a_visit().steps]
    assert lines == [
        "a guest: ring() -> the bell   ding; dong",
        "hear(loud=true, who=2)",
        "bell.fade()",
        "tell(who=2, receiver=10)",
        "shut_up()",
    ]

    class Named(Visit):
        @action(actor="guest", receiver="the bell")
        def a_guest_rings(self, s: House) -> None:
            """The action's name has the guest."""
            s.bell.rung = True

    replay = Replay(Named)
    assert replay.do(Step("a_guest_rings", {})).line == "a_guest_rings() -> the bell"


def test_numbered_lanes_follow_the_others_in_order() -> None:
    """10 comes after 2."""
    assert lanes_of(trace_of_a_visit()) == ("the bell", "a guest", "system", "tenant 2", "tenant 10")


def test_lanes_that_exchange_messages_are_adjacent() -> None:
    """So few arrows cross a lane: the sender to the last lane before the numbers stands next to it."""

    class Post(Specification[House]):
        """Letters go through an office."""

        def sizes(self) -> dict[object, Size]:
            """Two tenants."""
            return {int: interchangeable("tenant", [1, 2])}

        @part
        def bell(self) -> Bells:
            """At the door."""
            return Bells()

        @action(receiver="office")
        def fetch(self, s: House, who: int) -> None:
            """A tenant asks for letters."""
            require(s.shut and who not in s.heard)
            s.heard |= {who}

        @action(actor="sender", receiver="office")
        def bring(self, s: House) -> None:
            """A sender brings a letter."""
            require(not s.shut)
            s.shut = True

        @invariant
        def never_all(self, s: House) -> bool:
            """Not all have letters."""
            return len(s.heard) < 2

    found = check(Post, engine="reference").counterexample
    assert found is not None
    assert lanes_of(found) == ("sender", "office", "tenant 1", "tenant 2")


def test_mermaid_sees_no_markup_in_the_words() -> None:
    """The words include statement ends and line breaks."""
    lines = mermaid(trace_of_a_visit()).splitlines()
    assert lines[:8] == dedent(
        """\
        sequenceDiagram
            participant lane0 as the bell
            participant lane1 as a guest
            participant lane2 as system
            participant lane3 as tenant 2
            participant lane4 as tenant 10
            lane1->>lane0: 2  ring<br/>ding#59; dong
            lane3->>lane3: 3  hear loud=true"""
    ).split("\n")
    assert "    Note over lane0,lane4: tenant 2 knows" in lines
    assert lines[-1] == "    Note over lane0,lane4: ! stays_open breaks here"


def words_of(picture: str) -> dict[str, tuple[int, int]]:
    """Return the words in an SVG with their positions."""
    tree = ElementTree.fromstring(picture)
    texts = tree.findall("{http://www.w3.org/2000/svg}text")
    return {
        (each.text or "").replace("\N{NO-BREAK SPACE}", " "): (int(each.attrib["x"]), int(each.attrib["y"]))
        for each in texts
    }


def test_an_svg_has_every_word_and_nothing_lies_on_anything_else() -> None:
    """Steps are in rows, with their notes to the right of all lanes."""
    trace = trace_of_a_visit()
    words = words_of(svg(trace))
    assert "stays_open: It is < never > shut." in words
    rows_of_steps = [words[each.label][1] for each in messages_of(trace)]
    assert rows_of_steps == sorted(set(rows_of_steps))
    assert words["ding; dong"][1] > words["ring"][1]
    note, last = words["\N{MIDDLE DOT} tenant 2 knows"], words["tenant 10"]
    assert note[0] > last[0]
    assert note[1] == words["hear loud=true"][1]
    assert words["\N{MIDDLE DOT} stays_open breaks here"][1] == words["shut_up"][1]


def test_long_words_are_wrapped_within_the_picture() -> None:
    """Even for a view with very long words."""

    class Talkative(Visit):
        @view
        def much(self, s: House) -> str:
            """A long sentence."""
            return "what there is to say of a house that is shut up takes more than a line " * 3

    found = check(Talkative, engine="reference").counterexample
    assert found is not None
    picture = svg(found)
    width = int(re.findall(r'width="(\d+)"', picture)[0])
    assert all(x + 6 * len(text) < width for text, (x, _) in words_of(picture).items())


def test_a_run_without_a_decided_property_is_drawn() -> None:
    """With a title of its own."""
    replay = Replay(Visit)
    replay.do(Step("ring", {}))
    picture = svg(replay.run)
    assert {"a run of 2 states", "ring"} <= words_of(picture).keys()


def test_a_parameter_may_be_called_receiver() -> None:
    """An iterable value is its range, not a lane."""

    class Post(Specification[House]):
        """One letter."""

        def sizes(self) -> dict[object, Size]:
            """Two of them."""
            return {int: range(2)}

        @part
        def bell(self) -> Bells:
            """At the door."""
            return Bells()

        @action(actor=[0, 1], receiver=[1])
        def send(self, s: House, actor: int, receiver: int) -> None:
            """A letter."""
            s.heard |= {actor, receiver}

    sent = next(each for each in Post().actions if each.name == "send")
    assert [sent.step(number).parameters for number in range(2)] == [
        {"actor": 0, "receiver": 1},
        {"actor": 1, "receiver": 1},
    ]
    assert sent.lanes(0) == ("", "", (), ("", ""))


class Desk(State):
    """The states of `Desks`."""

    open: bool = variable("Whether it is open.")


class Desks(Specification[Desk]):
    """Officers, and clerks of theirs."""

    @action(actor="clerk of officer {officer}", receiver="officer", officer=(2, 10))
    def open_it(self, s: Desk, officer: int) -> None:
        """A clerk opens it."""
        require(not s.open)
        s.open = True

    @action(officer=(2, 10), actor="officer", receiver="clerk of officer {officer}")
    def close_it(self, s: Desk, officer: int) -> None:
        """An officer has it closed."""
        require(s.open)
        s.open = False


def test_numbered_owners_have_adjacent_lanes() -> None:
    """Each under its own name; a parameter in the lane's name is not repeated."""
    replay = Replay(Desks)
    for officer in (10, 2):
        replay.do(Step("open_it", {"officer": officer}))
        replay.do(Step("close_it", {"officer": officer}))
    assert lanes_of(replay.run) == ("officer 2", "clerk of officer 2", "officer 10", "clerk of officer 10")
    assert [each.label for each in messages_of(replay.run)] == ["open_it", "close_it"] * 2
    assert "    participant lane1 as clerk<br/>of officer 2" in mermaid(replay.run).splitlines()
    words = words_of(svg(replay.run))
    assert words["of officer 10"][0] == words["clerk"][0] > words["officer 10"][0]
    assert words["of officer 10"][1] > words["officer 10"][1] > words["clerk"][1]


@rows("on", [True, False])
def test_a_specification_may_name_a_lane(on: bool) -> None:
    """The name may depend on its constants; the text uses it, too."""

    class Sent(Desks):
        by_post: bool = constant(on, "Whether it is sent by post.")

        @property
        def way(self) -> str:
            """The way of the message."""
            return "the post" if self.by_post else "a visitor"

        @action(officer=(2,), actor="{self.way}", receiver="officer {officer}")
        def open_it(self, s: Desk, officer: int) -> None:
            """It is opened for this lane."""

    replay = Replay(Sent)
    replay.do(Step("open_it", {"officer": 2}))
    [step] = replay.run.steps
    way = "the post" if on else "a visitor"
    assert step.lanes[:2] == (way, "officer 2")
    assert step.line == f"{way}: open_it(officer=2)"


@rows("lane", ["clerk of officer {number}", "officer {}", "officer {officer.name}", "officer {", "{self.boss}"])
def test_a_lane_name_uses_only_parameters_of_its_action(lane: str) -> None:
    """Other names are refused before exploration."""

    class Wrong(Desks):
        @action(officer=(2, 10), receiver=lane)
        def open_it(self, s: Desk, officer: int) -> None:
            """A step with a wrong lane."""

    with pytest.raises(SpecificationError, match=r"^action open_it: lane '"):
        check(Wrong, engine="reference")


LANES = {
    *("ZooKeeper", "controller", "another controller", "former controller", "leader", "a broker"),
    *("operator", "administrator", "connection of the controller", "connection of the former controller"),
    *("broker", "controller of broker", "ZkEventThread of broker"),
}
"""The actors of our systems; brokers have numbers."""


@rows("system", {name: name for name in SYSTEMS})
def test_each_action_of_our_systems_has_an_actor(system: str) -> None:
    """So their traces have no unnamed lane, and no second spelling of one."""
    for each in system_named(system).of().actions:
        lanes = {lane for number in range(len(each.instances)) for lane in each.lanes(number)[:2]}
        assert each.actor, each.name
        assert {re.sub(r"broker \d$", "broker", lane) for lane in lanes} <= LANES | {""}, each.name
