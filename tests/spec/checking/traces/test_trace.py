"""The printed form of a trace, for people to read."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from spec.by_release import since
from spec.checking import Replay, Result, check, simulate
from spec.language import (
    Partial,
    Specification,
    State,
    Step,
    Total,
    action,
    constant,
    integers,
    invariant,
    left_out,
    mapping,
    partial_mapping,
    record,
    require,
    say,
    sequence_of,
    sometimes,
    subset_of,
    switch,
    transition_invariant,
    variable,
    view,
)
from tests.spec.toys import TOYS


class Letter(NamedTuple):
    """A record that leaves out its field with a fixed value."""

    to: int = 0
    text: str = ""


class PostState(State):
    """The state of `Post`."""

    box: Partial[int, Letter] = variable(
        "What lies in each of them.",
        of=lambda self: partial_mapping(range(self.boxes), record(Letter, to=integers(0, 3), text=("", "hello"))),
    )
    seen: Total[int, frozenset[str]] = variable(
        "Who looked into which.", of=lambda self: mapping(range(self.boxes), subset_of(("ann", "bob")))
    )
    log: tuple[int, ...] = variable("To whom was written.", of=lambda self: sequence_of((1, 2, 3), longest=2))
    time: Any = variable("When.", of=lambda self: left_out())


class Post(Specification[PostState]):
    """Letters go through boxes.

    Reports show only the first line of this text.
    """

    leaves_out = "stamps"
    releases = since({"0.10.1": {"careful": False}, "2.0": {"careful": True}})

    boxes: int = constant(2, "Where letters lie.", at_least=1)
    careful: bool = switch(True, "Nobody writes twice.")
    form: str = switch("post", "How it is sent.", among=["post", "pigeon"])

    @action(at=lambda self: range(self.boxes), to=(1, 2))
    def write(self, s: PostState, at: int, to: int) -> None:
        """Somebody writes."""
        require(len(s.log) < 2 and (to not in s.log or not self.careful))
        say("first" if not s.log else "again")
        s.box[at] = Letter(to, "hello")
        s.log += (to,)
        s.time = 3

    @action(at=lambda self: range(self.boxes), who=("ann", "bob"))
    def look(self, s: PostState, at: int, who: str) -> None:
        """Somebody looks; twice is once."""
        require(at in s.box)
        s.seen[at] = s.seen[at] | {who}

    @action(at=lambda self: range(self.boxes))
    def take(self, s: PostState, at: int) -> None:
        """The letter is taken."""
        require(at in s.box and s.seen[at])
        del s.box[at]

    @invariant(at=lambda self: range(self.boxes))
    def not_both_looked(self, s: PostState, at: int) -> bool:
        """Ann and Bob never look into the same box."""
        return len(s.seen[at]) < 2

    @transition_invariant
    def nothing_is_taken(self, before: PostState, step: Step, after: PostState) -> bool:
        """No letter goes away."""
        return len(after.box) >= len(before.box)

    @sometimes
    def both_full(self, s: PostState) -> bool:
        """Both are full."""
        return len(s.box) == self.boxes


def report_text(result: Result) -> str:
    """The report without times."""
    return re.sub(r"in [\d.]+ s \([\d,]+ states/s\)", "in TIME", str(result))


def test_a_counterexample_is_shown_step_by_step() -> None:
    """Each step shows what changed, where, and what was said. The first state also shows what is empty."""
    found = check(Post(), properties=["not_both_looked"], release="2.0")
    assert report_text(found) == (
        """\
post: not_both_looked is violated, in 4 states
  57 distinct states, 85 generated, depth 4, in TIME, engine reference
  release 2.0
  constants   boxes = 2
  switches    careful = true, form = post
  left out    stamps
  violated    not_both_looked (4)
  undecided   type_ok

not_both_looked: Ann and Bob never look into the same box.

  1  initially
       box: {}
       seen[0; 1]: {}
       log: ()
  2  write(at=1, to=1)   first
       box[1]: absent -> Letter(to=1, text=hello)
       log: () -> (1,)
  3  look(at=1, who=ann)
       seen[1]: +{ann}
  4  look(at=1, who=bob)
     ! not_both_looked breaks here
       seen[1]: +{bob}

  not_both_looked does not hold for at = 1; it looked at
    seen[1]: {ann, bob}"""
    )


def test_a_broken_step_is_shown_with_both_states() -> None:
    """A transition invariant shows what it read before the step and after it."""
    text = report_text(check(Post(), properties=["nothing_is_taken"]))
    assert (
        "  4  take(at=1)\n     ! nothing_is_taken breaks here\n       box[1]: Letter(to=1, text=hello) -> absent\n"
        in text
    )
    assert "    before, box[1]: Letter(to=1, text=hello)\n    box[1]: absent" in text


class Curious(Post):
    """A second look is a step, and breaks the property."""

    @transition_invariant
    def a_look_is_new(self, before: PostState, step: Step, after: PostState) -> bool:
        """A visitor that looks has not looked before."""
        return step.action != "look" or step.parameters["who"] not in before.seen[step.parameters["at"]]


def test_a_step_that_changes_nothing_says_so() -> None:
    """The step is printed like any other."""
    text = report_text(check(Curious(), properties=["a_look_is_new"]))
    assert re.search(
        r"\n  4  look\(at=\d, who=\w+\)\n     ! a_look_is_new breaks here\n       nothing changes\n\n", text
    )


def test_a_value_outside_its_domain_is_shown_with_the_allowed_ones() -> None:
    """The value is shown where it was assigned."""
    text = report_text(check(TOYS["a domain left"]))
    assert re.search(r"\n  type_ok does not hold for \S+: \S+ is not an integer of \d+\.\.\d+$", text)


def test_a_deadlock_is_shown() -> None:
    """It has its name and lists no values read."""
    text = report_text(check(TOYS["a deadlock"], deadlock=True))
    assert re.match(r"[\w-]+: deadlock, in \d+ states\n", text)
    assert "\n  here no action is enabled; if it may end here" in text
    assert "breaks here" not in text


class Viewed(Post):
    """The contents of the boxes as sentences."""

    @view(at=lambda self: range(self.boxes))
    def inside(self, s: PostState, at: int) -> str:
        """Who has looked at a letter."""
        return f"{' and '.join(s.seen[at]) or 'nobody'} knows box {at}" if at in s.box else ""

    @view
    def post(self, s: PostState) -> str:
        """Whether there is any post."""
        return "there is post" if s.box else "there is no post"


def test_views_are_printed_below_the_step_that_changes_them() -> None:
    """They come before the changes and before the mark of the violation, also in the initial state."""
    text = report_text(check(Viewed(), properties=["not_both_looked"]))
    assert text.partition("\n\n")[2] == (
        """\
not_both_looked: Ann and Bob never look into the same box.

  1  initially
     * there is no post
       box: {}
       seen[0; 1]: {}
       log: ()
  2  write(at=1, to=1)   first
     * nobody knows box 1
     * there is post
       box[1]: absent -> Letter(to=1, text=hello)
       log: () -> (1,)
  3  look(at=1, who=ann)
     * ann knows box 1
       seen[1]: +{ann}
  4  look(at=1, who=bob)
     * ann and bob knows box 1
     ! not_both_looked breaks here
       seen[1]: +{bob}

  not_both_looked does not hold for at = 1; it looked at
    seen[1]: {ann, bob}"""
    )


class Full(Viewed):
    """A property broken from the start."""

    @invariant
    def no_post(self, s: PostState) -> bool:
        """There is some."""
        return bool(s.box)


def test_an_initial_state_can_break_the_property() -> None:
    """Without a step, the mark is on the initial state."""
    text = report_text(check(Full(), properties=["no_post"]))
    assert "\n  1  initially\n     * there is no post\n     ! no_post breaks here\n       box: {}\n" in text


class BoardState(State):
    """The state of `Board`."""

    stones: Total[tuple[int, int], int] = variable(
        "How many lie on each field.", of=lambda self: mapping(((0, 1), (1, 0)), integers(1, 2))
    )


class Board(Specification[BoardState]):
    """Stones are laid on fields."""

    @action
    def lay(self, s: BoardState) -> None:
        """Lay a second one."""
        require(s.stones[0, 1] == 1)
        s.stones[0, 1] = 2

    @invariant
    def one_each(self, s: BoardState) -> bool:
        """There is one everywhere."""
        return max(s.stones.values()) == 1


def test_a_key_that_is_a_pair_is_printed_as_a_pair() -> None:
    """In the initial state, in a step, and in what the property read."""
    text = report_text(check(Board(), properties=["one_each"]))
    assert re.findall(r"stones\[.*", text) == [
        *("stones[0, 1]: 1", "stones[1, 0]: 1"),
        "stones[0, 1]: 1 -> 2",
        *("stones[0, 1]: 2", "stones[1, 0]: 1"),
    ]


def test_a_run_in_which_nothing_breaks_has_no_mark() -> None:
    """The run is printed with its views."""
    found = simulate(Viewed(), runs=1, steps=3, seed=1, run=1, properties=["type_ok"])
    text = str(found)
    assert "\n     * there is no post\n" in text
    assert "\n     * there is post\n" in text
    assert "!" not in text


def test_step_numbers_are_aligned() -> None:
    """From ten steps on, the numbers take two columns."""
    text = report_text(check(TOYS["several broken"]))
    numbers = re.findall(r"^  ( ?\d+)  ", text, re.MULTILINE)
    assert len(set(map(len, numbers))) == 1
    assert [int(number) for number in numbers] == list(range(1, len(numbers) + 1))


def test_a_witness_is_not_shown_as_a_failure() -> None:
    """Its mark says that it is witnessed, and nothing "does not hold"."""
    replay = Replay(Post())
    for at in (0, 1):
        replay.do(Step("write", {"at": at, "to": at + 1}))
    text = str(replay.trace("both_full"))
    assert text.startswith("both_full: Both are full.\n\n  1  initially\n       box: {}\n")
    assert "\n  2  write(at=0, to=1)   first\n" in text
    assert "\n     ! both_full is witnessed here\n" in text
    assert "break" not in text
    assert "hold" not in text
