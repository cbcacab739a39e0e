"""Patterns for steps: an action with some of its parameters."""

from __future__ import annotations

import pytest

from spec.checking.model import Model
from spec.checking.values.step_patterns import matching_steps, parameters_in, step_list
from spec.language import Step, UsageError
from tests.rows import rows
from tests.spec.checking.traces.test_trace import Post

ACTIONS = Model(Post()).actions


def steps_of(name: str | None, parameters: dict[str, str]) -> list[Step]:
    """The steps that match."""
    return [step for each in matching_steps(ACTIONS, name, parameters) for step in each.steps()]


@rows(
    "written, found",
    [
        ("elect(broker=1)", ("elect", {"broker": "1"})),
        ("zk.expire( of = S(a=0, b=1), seen=0 )", ("zk.expire", {"of": "S(a=0, b=1)", "seen": "0"})),
        ("reassign(target=(1, 2), to={3, 4})", ("reassign", {"target": "(1, 2)", "to": "{3, 4}"})),
        ("tick()", ("tick", {})),
        ("tick", None),
        ("elect(1)", None),
        ("elect(broker=1) and s.leader", None),
        ("s.leader == (1)", None),
    ],
)
def test_a_step_is_parsed(written: str, found: object) -> None:
    """Commas inside brackets separate nothing. Other text is not a step."""
    assert parameters_in(written) == found


def test_steps_that_have_the_parameters() -> None:
    """A parameter that is not given matches any value. Values may be written as in a trace or as in Python."""
    assert len(steps_of(None, {})) == 4 + 4 + 2
    both = steps_of("look", {"who": "ann"})
    assert [*map(str, both)] == ["look(at=0, who='ann')", "look(at=1, who='ann')"]
    assert steps_of("look", {"who": "'ann'", "at": "1"}) == [Step("look", {"at": 1, "who": "ann"})]
    assert {each.action for each in steps_of(None, {"at": "0"})} == {"write", "look", "take"}


def test_a_pattern_has_the_steps_that_it_lists() -> None:
    """It counts them without listing them."""
    every = steps_of(None, {})
    for pattern in matching_steps(ACTIONS, None, {"at": "0"}):
        assert [*filter(pattern.has, every)] == [*pattern.steps()]
        assert pattern.size == len([*pattern.steps()])


@pytest.mark.parametrize(
    ("name", "parameters", "said"),
    [
        ("go", {}, "there is no action go; there are write, look, take"),
        ("take", {"who": "ann"}, "take has no parameter who"),
        (None, {"when": "now"}, "no action has a parameter when"),
        ("look", {"who": "zoe"}, "who=zoe: who is one of ann, bob"),
    ],
)
def test_an_unknown_step_is_refused(name: str | None, parameters: dict[str, str], said: str) -> None:
    """The error lists the known names."""
    with pytest.raises(UsageError) as refused:
        steps_of(name, parameters)
    assert str(refused.value) == said


def test_several_steps_are_named_together() -> None:
    """They are merged only if they cover all combinations of their parameters."""
    four = steps_of("look", {})
    assert step_list(four) == "look(at=0 or 1, who='ann' or 'bob')"
    assert step_list(four[:3]) == "look(at=0, who='ann'), look(at=0, who='bob'), look(at=1, who='ann')"
    assert step_list(four[:1]) == "look(at=0, who='ann')"
    assert step_list([Step("tick", {})]) == "tick()"
    assert step_list([Step("go", {"to": number}) for number in range(3)]) == "go(to=0 or 1 or 2)"
