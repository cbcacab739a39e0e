"""Constants stored with a trace read back exactly; one that cannot be stored is refused by name."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from spec.atlas.loading import specification
from spec.checking import Replay
from spec.checking.traces.itf import RecordedTrace
from spec.checking.values.literals import literal
from spec.checking.values.settings import read, settings_of, written
from spec.language import Specification, State, Step, UsageError, action, constant, switch, variable
from tests.rows import rows


class Suit(Enum):
    """Of cards."""

    HEARTS = "h"
    SPADES = "s"


class Pair(NamedTuple):
    """A record, which a setting cannot store."""

    one: int
    other: int


class Count(State):
    """A counter."""

    count: int = variable("How far.", of=lambda self: range(9))


class Kept(Specification[Count]):
    """Constants of all kinds."""

    names: tuple[Any, ...] = constant(("ann",), "Who there is.")
    known: frozenset[Any] = constant(frozenset({"ann"}), "Who is known.")
    brave: bool = constant(True, "Whether they are.")
    nothing: None = constant(None, "No value at all.")
    word: str = constant("a", "What they say.")
    raw: bytes = constant(b"", "What is sent.")
    part: float = constant(0.5, "How much of it.")
    trump: Suit = constant(Suit.HEARTS, "Which suit.")
    form: Any = switch("off", "One of several.", among=("off", 1, True, Suit.SPADES))
    cards: tuple[Any, ...] = constant((Suit.HEARTS,), "A value that cannot be stored.")

    @action
    def go(self, s: Count) -> None:
        """The counter goes up."""
        s.count = min(s.count + len(self.names), 8)


CASES: dict[str, list[Any]] = {
    "names": [
        ("x",),
        (),
        ("x", 1, True, None),
        (("a", (b"\xff",)), frozenset({"b"})),
        (frozenset(),),
        (-1.5, "'\"\n"),
    ],
    "known": [frozenset(), frozenset({"b", "a"}), frozenset({frozenset({1}), (2, None)})],
    "brave": [False],
    "nothing": [None],
    "word": ["", " x ", "a=b", "true", "('x',)", "line\nline", "\N{SNOWMAN}"],
    "raw": [b"\x00\xff", b"'"],
    "part": [-0.0, 1e300],
    "trump": [Suit.SPADES],
    "form": [1, True, Suit.SPADES],
}


@rows("name", CASES.keys())
def test_a_constant_reads_back_with_its_type(tmp_path: Path, name: str) -> None:
    """Through a file; so the trace fits the specification made from the stored settings."""
    for value in CASES[name]:
        kept = Kept.of(**{name: value})
        replay = Replay(kept)
        replay.do(Step("go", {}))
        RecordedTrace.along(replay).write(tmp_path / "kept.itf.json")
        recorded = RecordedTrace.read(tmp_path / "kept.itf.json")
        again = specification(Kept, settings=[f"{name}={text}" for name, text in recorded.settings.items()])
        assert literal(again.valuation[name]) == literal(value)
        assert again.valuation == kept.valuation


def test_defaults_are_stored_if_they_can_be() -> None:
    """The trace keeps its constants even if a default changes later. Only unstorable defaults are left out."""
    assert settings_of(Kept()).keys() == Kept.constants().keys() - {"cards"}


@pytest.mark.parametrize("value", [(Suit.SPADES,), (Pair(1, 2),), (float("inf"),)], ids=["enum", "record", "inf"])
def test_an_unwritable_constant_is_refused(value: Any) -> None:
    """The error names it."""
    with pytest.raises(
        UsageError, match=r"^cards = .*: no trace can be kept, because it cannot be written as [^\n]+$"
    ):
        RecordedTrace.along(Replay(Kept(cards=(value,))))


def test_replay_defaults_to_the_newest_release() -> None:
    """A constant then has the default of the newest release."""

    class Released(Kept):
        """It has."""

        releases = {"1.0": {}, "2.0": {"cards": (Suit.SPADES,)}}

    assert "cards" not in settings_of(Released.of_release("2.0"))
    with pytest.raises(UsageError, match="cards"):
        settings_of(Released.of_release("1.0"))


def test_sets_are_written_in_one_order() -> None:
    """Regardless of their hashes."""
    known = Kept.constants()["known"]
    assert written(known, frozenset({"b", "a", "c"})) == 'frozenset({"a", "b", "c"})'
    assert json.loads(json.dumps(written(known, frozenset({1})))) == "frozenset({1})"


def test_reading_settings_runs_no_code() -> None:
    """Text that is not a literal stays text."""
    names = Kept.constants()["names"]
    for text in ("__import__('os').getcwd()", "frozenset(map(len, ['a']))", "set(*[1])", "[" * 10_000, "Suit.SPADES"):
        assert read(names, text) == text
