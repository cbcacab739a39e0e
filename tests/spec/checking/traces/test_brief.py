"""A trace in brief: steps that a reader need not follow are folded, and each actor acts as long as it can."""

from __future__ import annotations

from typing import Any

import pytest

from spec.checking import Replay, Trace, check
from spec.checking.traces.brief import brief
from spec.language import (
    Specification,
    State,
    Step,
    Total,
    action,
    integers,
    invariant,
    mapping,
    require,
    say,
    sometimes,
    transition_invariant,
    variable,
    view,
)

CLERKS = ("ann", "bob", "cy")


class Office(State):
    """The state of `Letters`."""

    done: Total[str, int] = variable("How far each clerk is.", of=lambda self: mapping(CLERKS, integers(0, 3)))
    tray: int = variable("Letters in the tray.", of=lambda self: integers(0, 3))
    coffee: int = variable("Cups that were drunk.", of=lambda self: integers(0, 9))


class Letters(Specification[Office]):
    """Each clerk opens the desk, writes a letter, and puts it into the one tray."""

    @action(clerk=CLERKS, actor="clerk")
    def open(self, s: Office, clerk: str) -> None:
        self.go_on(s, clerk, 0)

    @action(clerk=CLERKS, actor="clerk")
    def write(self, s: Office, clerk: str) -> None:
        self.go_on(s, clerk, 1)

    @action(clerk=CLERKS, actor="clerk")
    def put(self, s: Office, clerk: str) -> None:
        say("into the tray")
        self.go_on(s, clerk, 2)
        s.tray += 1

    @action(clerk=CLERKS, actor="clerk")
    def drink(self, s: Office, clerk: str) -> None:
        require(s.coffee < 9)
        s.coffee += 1

    def go_on(self, s: Office, clerk: str, done: int) -> None:
        """The clerk does one more step."""
        require(s.done[clerk] == done)
        s.done[clerk] = done + 1

    @invariant
    def few_letters(self, s: Office) -> bool:
        """There are never two letters in the tray."""
        return s.tray < 2

    @transition_invariant
    def ann_comes_first(self, before: Office, step: Step, after: Office) -> bool:
        """Ann puts her letter there before others do."""
        return not (before.tray and step == Step("put", {"clerk": "ann"}))

    @sometimes
    def all_are_ready(self, s: Office) -> bool:
        """Each of them has put a letter there."""
        return all(s.done[each] == 3 for each in CLERKS)


class TalkingLetters(Letters):
    """The same, with a view."""

    @view
    def letters(self, s: Office) -> str:
        """The number of letters."""
        return f"there are {s.tray} letters"


def by(clerk: str, *actions: str) -> list[Step]:
    """Steps of a clerk."""
    return [Step(each, {"clerk": clerk}) for each in actions]


ANN, BOB = by("ann", "open", "write", "put"), by("bob", "open", "write", "put")
IN_TURN = [step for both in zip(ANN, BOB, strict=True) for step in both]


def run(specification: Any, steps: list[Step], decided: str = "few_letters") -> Trace:
    """The trace of a property at the end of these steps, or the run if no property is named."""
    replay = Replay(specification)
    for step in steps:
        replay.do(step)
    return replay.trace(decided) if decided else replay.run


def steps_of(trace: Trace) -> list[Step]:
    """The steps of a trace."""
    return [each.step for each in trace.steps]


def test_each_actor_goes_on_as_long_as_it_can() -> None:
    """Five changes of actor become one; the result is a run of the specification to the same state."""
    found = brief(Letters(), run(Letters(), IN_TURN))
    assert found.changes_of_actor == (1, 5)
    assert steps_of(found.trace) == [*ANN, *BOB]
    assert run(Letters(), steps_of(found.trace)).looked_at == found.trace.looked_at == {"tray": 2}


def test_the_found_trace_is_unchanged() -> None:
    """Only the brief form is reordered."""
    trace = run(Letters(), IN_TURN)
    before = (str(trace), trace.to_json())
    brief(Letters(), trace)
    assert (str(trace), trace.to_json()) == before


def test_steps_that_depend_on_each_other_stay_in_their_order() -> None:
    """Bob's letter stays before Ann's, because the property reads the later step."""
    steps = [*by("bob", "open"), *by("ann", "open"), *by("bob", "write", "put"), *by("ann", "write", "put")]
    found = brief(Letters(), run(Letters(), steps, "ann_comes_first"))
    assert steps_of(found.trace) == [*BOB, *ANN]


def test_a_step_that_breaks_a_property_stays_the_last() -> None:
    """Even if another order of the same steps has fewer changes of actor."""
    steps = [*BOB, *ANN[:2], *by("cy", "open"), ANN[2]]
    found = brief(Letters(), run(Letters(), steps, "ann_comes_first"))
    assert steps_of(found.trace)[-1] == ANN[2]
    assert found.changes_of_actor == (2, 3)


class Hasty(Letters):
    """A second letter must not lie there before both have written, and Bob must not be the first."""

    @invariant
    def few_letters(self, s: Office) -> bool:
        """It breaks as soon as Ann is done before Bob begins."""
        return not (s.done["ann"] == 3 and s.done["bob"] in (0, 3))


def test_reordering_never_breaks_the_property_early() -> None:
    """A trace that breaks it earlier would be another counterexample."""
    found = brief(Hasty(), run(Hasty(), IN_TURN))
    assert steps_of(found.trace) == IN_TURN
    assert found.trace.length == 7


def test_brief_form_of_a_run_without_a_property() -> None:
    """It ends in the same state."""
    found = brief(Letters(), run(Letters(), [ANN[0], BOB[0], ANN[1]], ""))
    assert steps_of(found.trace) == [ANN[0], ANN[1], BOB[0]]
    assert str(found).splitlines()[0].startswith("  Shown in another order than in JSON and files: 1 change of")


def test_steps_without_view_are_folded() -> None:
    """A folded line gives the number of steps, their actor and actions. The breaking step is shown in full."""
    assert str(brief(TalkingLetters(), run(TalkingLetters(), IN_TURN))) == (
        """\
few_letters: There are never two letters in the tray.

  Shown in another order than in JSON and files: 1 change of actor, not 5.

    1  initially
       * there are 0 letters
  2-3  clerk ann, 2 steps: open, write
    4  put(clerk=ann)   into the tray
       * there are 1 letters
  5-6  clerk bob, 2 steps: open, write
    7  put(clerk=bob)   into the tray
       * there are 2 letters
       ! few_letters breaks here"""
    )


def test_without_views_private_steps_are_folded() -> None:
    """The cells decide. The brief form then shows what a step changed, and what the property read."""
    assert str(brief(Letters(), run(Letters(), [*ANN, *BOB]))) == (
        """\
few_letters: There are never two letters in the tray.

    1  initially
         done[ann]: 0
         done[bob]: 0
         done[cy]: 0
         tray: 0
         coffee: 0
  2-3  clerk ann, 2 steps: open, write
    4  put(clerk=ann)   into the tray
         done[ann]: 2 -> 3
         tray: 0 -> 1
  5-6  clerk bob, 2 steps: open, write
    7  put(clerk=bob)   into the tray
       ! few_letters breaks here
         done[bob]: 2 -> 3
         tray: 1 -> 2

  few_letters does not hold; it looked at
    tray: 2"""
    )


@pytest.mark.parametrize("specification", [Letters(), TalkingLetters()], ids=["without views", "with views"])
def test_steps_that_nothing_depends_on_are_folded(specification: Any) -> None:
    """Coffee changes nothing, whoever drinks it. Neither do steps that produce no letter."""
    steps = [*by("cy", "open", "drink", "drink", "write"), *ANN, *by("bob", "drink"), *BOB]
    lines = str(brief(specification, run(specification, steps))).splitlines()
    assert "    2-5  clerk cy, 4 steps on which nothing depends: open, drink (2 times), write" in lines
    assert "      9  clerk bob, 1 step on which nothing depends: drink" in lines


def test_one_step_of_an_actor_is_not_folded_alone() -> None:
    """Its parameters and changes take no more room."""
    lines = str(brief(TalkingLetters(), run(TalkingLetters(), [*ANN, *by("bob", "open")], ""))).splitlines()
    assert lines[-2:] == ["    5  open(clerk=bob)", "         done[bob]: 0 -> 1"]
    lines = str(brief(TalkingLetters(), run(TalkingLetters(), [*by("bob", "open"), *ANN], ""))).splitlines()
    assert lines[2:4] == ["    2  open(clerk=bob)", "         done[bob]: 0 -> 1"]


class Alone(TalkingLetters):
    """The views ignore what the steps change, and the steps change a lot."""

    @action(clerk=CLERKS, actor="clerk")
    def drink(self, s: Office, clerk: str) -> None:
        require(s.coffee < 9)
        s.coffee += 1
        for each in CLERKS:
            s.done[each] = 1

    @invariant
    def sober(self, s: Office) -> bool:
        """Nobody drinks after a letter is there."""
        return not (s.coffee and s.tray)


def test_a_step_with_many_changes_lists_only_places() -> None:
    """If no view mentions them."""
    lines = str(brief(Alone(), run(Alone(), [*ANN, *by("bob", "drink")], "sober"))).splitlines()
    assert lines[-1] == "         changes done[ann], done[bob], done[cy], coffee"


def test_steps_of_a_sole_actor_are_not_folded() -> None:
    """No other actor could notice a step."""
    assert "steps" not in str(brief(Letters(), run(Letters(), ANN, "")))


def test_a_witness_in_brief() -> None:
    """Any trace of a check has a brief form."""
    shown = check(Letters(), show="all_are_ready", engine="reference").shown
    assert shown is not None
    short = brief(Letters(), shown)
    assert short.changes_of_actor[0] == 2
    assert "       ! all_are_ready is witnessed here" in str(short).splitlines()
    assert repr(short) == "<Brief form of <Trace of all_are_ready, 10 states>>"


def test_a_trace_that_leaves_the_domains_in_brief() -> None:
    """The step that leaves them is the last."""
    steps = [*by("ann", "open"), *by("bob", "open"), *by("ann", "write", "put")]
    found = brief(Narrow(), run(Narrow(), steps, "type_ok"))
    assert steps_of(found.trace) == [*by("bob", "open"), *ANN]
    assert "  type_ok does not hold for tray: 9 is not an integer of 0..3" in str(found)


class Narrow(TalkingLetters):
    """A letter counts nine times."""

    @action(clerk=CLERKS, actor="clerk")
    def put(self, s: Office, clerk: str) -> None:
        self.go_on(s, clerk, 2)
        s.tray += 9
