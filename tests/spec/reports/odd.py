"""A system whose words are special in each format: markup, block ends, characters that XML excludes."""

from __future__ import annotations

from spec.checking import Result, check
from spec.language import (
    Specification,
    State,
    action,
    constant,
    invariant,
    one_of,
    require,
    say,
    sometimes,
    variable,
    view,
)

WORDS = "<b>|`*_ ]]> & \x00 ```"


class Said(State):
    """The words of a conversation."""

    words: str = variable("The words.", of=lambda self: one_of("", self.words))


class Odd(Specification[Said]):
    """A person says something odd."""

    leaves_out = "<i>manners</i>"

    words: str = constant(WORDS, "words that are <said>")
    decent: bool = constant(False, "whether that is all right")

    @action(actor="a <person>", receiver="the | other")
    def speak(self, s: Said) -> None:
        """It is <said>."""
        require(not s.words)
        say(self.words)
        s.words = self.words

    @action
    def think(self, s: Said) -> None:
        """A person never thinks."""
        require(False)

    @invariant
    def silence(self, s: Said) -> bool:
        """Nothing is <said> | done."""
        return self.decent or not s.words

    @sometimes
    def understood(self, s: Said) -> bool:
        """It means something to *someone*."""
        return s.words == "hello"

    @view
    def heard(self, s: Said) -> str:
        """The words as heard."""
        return f"one hears {s.words}" if s.words else ""


def broken() -> Result:
    """Return the result of a property that breaks in two states."""
    return check(Odd(), engine="reference")


def vacuous() -> Result:
    """Return the result of a system that holds, with an action never taken."""
    return check(Odd(decent=True), engine="reference")
