"""A real system compared with its specification."""

import doctest
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from spec.language import (
    Specification,
    State,
    Step,
    action,
    booleans,
    initial,
    integers,
    invariant,
    require,
    variable,
)
from spec.testing import Mismatch, Violation, against, comparison, machine
from tests.rows import rows
from tests.spec.testing.running import failure_of, run


class TillState(State):
    """The states of `Till`."""

    money: int = variable("The money.", of=lambda self: integers(0, 5))
    refused: bool = variable("The refused.", of=lambda self: booleans())


class Till(Specification[TillState]):
    """Money is put in and taken out; taking too much is refused."""

    @initial(money=range(3))
    def opened(self, s: TillState, money: int) -> None:
        s.money = money

    @action(amount=(1, 2))
    def put(self, s: TillState, amount: int) -> None:
        require(s.money + amount <= 5)
        s.money, s.refused = s.money + amount, False

    @action(amount=(1, 2, 3))
    def take(self, s: TillState, amount: int) -> None:
        s.refused = s.money < amount
        if not s.refused:
            s.money -= amount


class Drawer:
    """The real system."""

    def __init__(self, money: int):
        self.money, self.open = money, True

    def put(self, amount: int) -> bool:
        self.money += amount
        return True

    def take(self, amount: int) -> bool:
        if amount <= self.money:
            self.money -= amount
            return True
        return False


class Generous(Drawer):
    """It takes out one more when it is full."""

    def take(self, amount: int) -> bool:
        return super().take(amount + (self.money == 5))


class Silent(Drawer):
    """It does not report a refusal."""

    def take(self, amount: int) -> bool:
        super().take(amount)
        return True


class Shy(Drawer):
    """It breaks when it is empty."""

    def take(self, amount: int) -> bool:
        if not self.money:
            raise RuntimeError("the drawer is empty")
        return super().take(amount)


class Wrong(Drawer):
    """It always opens without its money."""

    def __init__(self, money: int):
        super().__init__(0)


def look(drawer: Drawer, answer: Any) -> Mapping[str, object]:
    """Return the observable state of a drawer."""
    return {"money": drawer.money, "refused": answer is False}


def expectation(s: Any) -> Mapping[str, object]:
    """Return the expected observation."""
    return {"money": s.money, "refused": s.refused}


def test_a_faithful_system_passes() -> None:
    """No difference is reported; the system is made with the initial parameters."""
    run(against(Till(), Drawer, see=look, expected=expectation), max_examples=50)


def test_a_difference_is_reported_field_by_field() -> None:
    """The failure names the step, and both values."""
    failure = failure_of(against(Till(), Generous, see=look, expected=expectation))
    assert isinstance(failure.error, Mismatch)
    assert str(failure.error).startswith("after take(amount=1) the system differs from its specification")
    assert "    money: the system has 3, the specification 4\n    equal: refused = False" in str(failure.error)
    assert failure.steps[-1] == "take(amount=1)"


def test_a_wrong_answer_is_a_difference() -> None:
    """A step's answer is compared along with its effect."""
    failure = failure_of(against(Till(), Silent, see=look, expected=expectation))
    assert "refused: the system has False, the specification True" in str(failure.error)
    assert failure.steps == ["opened(money=0)", "take(amount=1)"]


def test_a_system_that_breaks_fails() -> None:
    """The system's exception comes through unchanged, with the program."""
    failure = failure_of(against(Till(), Shy, see=look, expected=expectation))
    assert isinstance(failure.error, RuntimeError)
    assert failure.steps == ["opened(money=0)", "take(amount=1)"]


def test_a_system_that_begins_wrong_fails() -> None:
    """The two are compared before the first step."""
    failure = failure_of(against(Till(), Wrong, see=look, expected=expectation))
    assert str(failure.error).startswith("at the start the system differs from its specification")
    assert failure.steps == ["opened(money=1)"]


@pytest.mark.parametrize("drawer", [Generous, Silent, Shy, Wrong])
def test_a_printed_program_runs(drawer: type[Drawer]) -> None:
    """Its first lines name the author's functions, and it fails again below them."""
    failure = failure_of(against(Till(), drawer, see=look, expected=expectation))
    with pytest.raises(type(failure.error)) as again:
        exec(failure.program, {})
    assert str(again.value) == str(failure.error)


def test_the_specification_is_judged_too() -> None:
    """A broken invariant of the specification is not reported as the system's fault."""

    class Rich(Till):
        @invariant
        def never_five(self, s: TillState) -> bool:
            return bool(s.money != 5)

    with pytest.raises(Violation, match="never_five"):
        run(against(Rich(), Drawer, see=look, expected=expectation))


def test_the_author_defines_how_to_take_steps() -> None:
    """If the system has no methods of those names, a function takes the steps."""

    def do(ledger: list[int], step: Step) -> bool:
        amount = step.parameters["amount"]
        if step.action == "take" and sum(ledger) < amount:
            return False
        ledger.append(amount if step.action == "put" else -amount)
        return True

    def balance(ledger: list[int], answer: object) -> object:
        return {"money": sum(ledger), "refused": answer is False}

    run(
        against(Till(), lambda money: [money], do=do, see=balance, expected=expectation),
        max_examples=50,
    )


def test_every_system_is_closed() -> None:
    """Each walk makes one system, and closes it, whether the walk failed or not."""
    made: list[Drawer] = []

    def make(money: int) -> Drawer:
        made.append(Generous(money))
        return made[-1]

    def close(drawer: Drawer) -> None:
        assert drawer.open
        drawer.open = False

    failure_of(against(Till(), make, see=look, expected=expectation, close=close))
    assert len(made) > 10
    assert not any(drawer.open for drawer in made)


def test_a_system_is_closed_when_it_begins_wrong() -> None:
    """Even with a single initial state, which the machine's constructor takes."""

    class Shut(Till):
        opened = None  # type: ignore[assignment]

    made = Drawer(1)
    closed: list[Drawer] = []
    machine_ = against(Shut(), lambda: made, see=look, expected=expectation, close=closed.append)
    with pytest.raises(Mismatch, match="money: the system has 1, the specification 0"):
        machine_()
    assert closed == [made]


class Pair(NamedTuple):
    """An observation."""

    left: object
    right: object


@dataclass
class Both:
    """Another observation."""

    left: object
    right: object


@rows(
    "expected, seen, differences",
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, ["b: the system has 3, the specification 2"]),
        ({"a": {"x": 1}}, {"a": {"x": 2}}, ["a[x]: the system has 2, the specification 1"]),
        ({"a": 1}, {}, ["a: the system has absent, the specification 1"]),
        ({}, {"a": 1}, ["a: the system has 1, the specification absent"]),
        (Pair(1, Pair(2, 3)), Pair(1, Pair(2, 4)), ["right.right: the system has 4, the specification 3"]),
        (Both(1, {"k": 2}), Both(1, {"k": 0}), ["right[k]: the system has 0, the specification 2"]),
        ("up", "down", ["the system has 'down', the specification 'up'"]),
        ((1, 2), (1, 3), ["the system has (1, 3), the specification (1, 2)"]),
        (
            {"a": 1, "b": 2},
            {"a": 2, "b": 1},
            ["a: the system has 2, the specification 1", "b: the system has 1, the specification 2"],
        ),
    ],
)
def test_observations_are_compared_in_depth(expected: object, seen: object, differences: list[str]) -> None:
    """Mappings and records are compared by field, at any depth; a field of only one of them is a difference."""

    class Still(Specification):
        @action
        def wait(self, s: State) -> None: ...

    with pytest.raises(Mismatch) as mismatch:
        against(Still(), object, see=lambda system, answer: seen, expected=lambda s: expected)()
    lines = str(mismatch.value).splitlines()[1:]
    assert [line.strip() for line in lines if "equal:" not in line] == differences


@pytest.mark.parametrize("module", [machine, comparison], ids=lambda module: str(module.__name__))
def test_the_examples_in_the_docstrings_run(module: ModuleType) -> None:
    """The doctests pass."""
    results = doctest.testmod(module)
    assert results.attempted > 0
    assert results.failed == 0
