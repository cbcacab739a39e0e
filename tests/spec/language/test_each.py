"""One rule may define several actions, one for each value of a parameter, as a table lists them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from spec.checking import check
from spec.language import (
    Size,
    Specification,
    SpecificationError,
    State,
    action,
    constant,
    each,
    invariant,
    require,
    variable,
)


def up(dial: int) -> int:
    """Once more. It has an end."""
    return dial + 1


def down(dial: int) -> int:
    """Once less."""
    return dial - 1


class Dial(State):
    """The position of the dial."""

    turned: int = variable("How far.")


class Dials(Specification[Dial]):
    """A table lists its turns."""

    ways: int = constant(2, "number of ways to turn it", at_least=0, at_most=2)

    def sizes(self) -> Mapping[Any, Size]:
        """A few."""
        return {int: range(4)}

    @action(turn=each(lambda self: ["up", "down"][: self.ways], like={"up": up, "down": down}.__getitem__))
    def turns(self, s: Dial, turn: str, twice: bool) -> None:
        """By one, or two."""
        by = up(0) if turn == "up" else down(0)
        require(0 <= s.turned + by * (1 + twice) <= 3)
        s.turned += by * (1 + twice)


def test_a_rule_may_be_several_actions() -> None:
    """Each has its own name and description, and lacks the parameter."""
    up_, down_ = Dials().actions
    assert (up_.name, down_.name) == ("up", "down")
    assert (up_.doc, down_.doc) == ("Once more. It has an end.", "Once less.")
    assert [one.parameters for one in up_.instances] == [{"twice": False}, {"twice": True}]
    assert [one.name for one in Dials(ways=1).actions] == ["up"]


def test_each_action_is_taken_by_itself() -> None:
    """Each step names its action."""
    result = check(Dials(), engine="reference", keep_going=True)
    assert {one.name: one.taken for one in result.actions} == {"up": 5, "down": 5}
    assert result.distinct_states == 4


def test_two_actions_of_one_name_are_refused() -> None:
    class Twice(Dials):
        @action
        def up(self, s: Dial) -> None:
            """Another one."""

    with pytest.raises(SpecificationError, match="action up: two actions have that name"):
        check(Twice())


def test_only_actions_can_be_made_with_each() -> None:
    with pytest.raises(SpecificationError, match=r"@invariant: turn=each\(...\) is only for actions"):
        invariant(turn=each(lambda self: [], like=lambda turn: up))
