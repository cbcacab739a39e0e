"""Renamings: every engine refuses or reports a rule that distinguishes interchangeable values in a rare state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from spec.checking import check
from spec.checking.local import LocalEngine
from spec.checking.local.learning_budget import LearningBudget
from spec.checking.model import EvaluationFailed, Model
from spec.checking.spark import SparkEngine, worker_state
from spec.checking.symmetry import reduction as symmetry
from spec.checking.symmetry.reduction import Symmetry
from spec.checking.symmetry.renamings import OF_STATE, Evaluation, Renamings
from spec.language import (
    Domain,
    Specification,
    State,
    Step,
    Total,
    UsageError,
    action,
    bound,
    constant,
    initial,
    integers,
    interchangeable,
    invariant,
    mapping,
    require,
    transition_invariant,
    variable,
)
from spec.language.symmetry import ValuesDistinguished
from tests.tiers import in_turn

ENGINES: dict[str, Any] = {"reference": "reference", "local": "local", "auto": "auto", "spark": SparkEngine}


def each_courier(self: Any) -> Domain[str]:
    """The interchangeable couriers."""
    return interchangeable("courier", [f"p{number}" for number in range(1, self.couriers + 1)])


class RouteState(State):
    """The state of `Route`."""

    gone: Total[Any, int] = variable(
        "How far each has gone.", of=lambda self: mapping(each_courier(self), integers(0, self.far))
    )


class Route(Specification[RouteState]):
    """Couriers travel independently; in a rare state they have gone 2, 5 and 7."""

    couriers: int = constant(3, "Couriers.")
    far: int = constant(16, "The length of the route.")

    @action(courier=each_courier)
    def go(self, s: RouteState, courier: str) -> None:
        """One courier goes a step."""
        require(s.gone[courier] < self.far)
        s.gone[courier] += 1

    def rare(self, s: RouteState) -> bool:
        """Whether it is the rare state."""
        return sorted(s.gone.values())[:3] == [2, 5, 7]


class InAProperty(Route):
    @invariant
    def spoilt(self, s: RouteState) -> bool:
        """The first courier is not the farthest."""
        return not (self.rare(s) and s.gone["p1"] == 7)


class InAnAction(Route):
    @action(courier=each_courier)
    def spoilt(self, s: RouteState, courier: str) -> None:
        """One courier goes back."""
        require(self.rare(s) and courier == "p1")
        s.gone[courier] = 0


class InAStep(Route):
    @transition_invariant
    def spoilt(self, before: RouteState, step: Step, after: RouteState) -> bool:
        """The step into the rare state is not by the second courier."""
        return not (self.rare(after) and step.parameters["courier"] == "p2")


class ByIteration(Route):
    @invariant
    def spoilt(self, s: RouteState) -> bool:
        """The first courier in the order of iteration is not the farthest."""
        return not self.rare(s) or s.gone[next(iter(s.gone))] != 7


class ByOrder(Route):
    @invariant
    def spoilt(self, s: RouteState) -> bool:
        """The least courier is not the farthest."""
        return not self.rare(s) or s.gone[min(s.gone)] != 7


class BySorting(Route):
    @invariant
    def spoilt(self, s: RouteState) -> bool:
        """Sorted by name, the couriers have not gone 7, 5 and 2."""
        return not self.rare(s) or [s.gone[each] for each in sorted(s.gone)] != [7, 5, 2]


class ByText(Route):
    @invariant(one=each_courier, other=each_courier)
    def spoilt(self, s: RouteState, one: str, other: str) -> bool:
        """A courier with an earlier name has not gone farther."""
        return not (self.rare(s) and str(one) < str(other) and s.gone[one] < s.gone[other])


class ByHash(Route):
    @invariant(courier=each_courier)
    def spoilt(self, s: RouteState, courier: str) -> bool:
        """The farthest courier has the hash of the first one."""
        return not self.rare(s) or s.gone[courier] != 7 or hash(courier) == hash("p1")


class ByLookup(Route):
    @invariant(courier=each_courier)
    def spoilt(self, s: RouteState, courier: str) -> bool:
        """The second courier must not be the farthest."""
        return not self.rare(s) or s.gone[courier] < {"p2": 7}.get(courier, 8)


class Swallowed(Route):
    @invariant(courier=each_courier)
    def spoilt(self, s: RouteState, courier: str) -> bool:
        """It catches the refusal."""
        if not self.rare(s):
            return True
        try:
            return s.gone[courier] != 7 or courier != "p3"
        except Exception:
            return True


class InTheBeginning(Route):
    @initial
    def begin(self, s: RouteState) -> None:
        """The first courier has gone a step."""
        s.gone["p1"] = 1


class NumberedState(State):
    """The state of `ByNumber`."""

    gone: Total[Any, int] = variable(
        "How far each has gone.",
        of=lambda self: mapping(interchangeable("courier", range(self.couriers)), integers(0, self.far)),
    )


class ByNumber(Specification[NumberedState]):
    """Couriers are numbers."""

    couriers: int = constant(3, "Couriers.")
    far: int = constant(16, "The length of the route.")

    @action(courier=lambda self: interchangeable("courier", range(self.couriers)))
    def go(self, s: NumberedState, courier: int) -> None:
        """One courier goes a step."""
        require(s.gone[courier] < self.far)
        s.gone[courier] += 1

    @invariant(courier=lambda self: interchangeable("courier", range(self.couriers)))
    def spoilt(self, s: NumberedState, courier: int) -> bool:
        """The farthest courier has an even number."""
        return sorted(s.gone.values()) != [2, 5, 7] or s.gone[courier] != 7 or int(courier) % 2 == 0


SPOILT: dict[type[Specification], str] = {
    InAProperty: "property spoilt",
    InAnAction: "action spoilt",
    InAStep: "property spoilt",
    ByIteration: "property spoilt",
    ByOrder: "property spoilt",
    BySorting: "property spoilt",
    ByText: "property spoilt",
    ByHash: "property spoilt",
    ByLookup: "property spoilt",
    Swallowed: "property spoilt",
    InTheBeginning: "initial",
    ByNumber: "property spoilt",
}


@pytest.mark.parametrize(
    ("spoilt", "engine"),
    in_turn(SPOILT, ENGINES),
    ids=lambda each: getattr(each, "__name__", each),
)
def test_distinguishing_values_in_a_rare_state_is_refused(spoilt: type[Specification], engine: str) -> None:
    """On all engines, and the error has the place in the source."""
    with pytest.raises(UsageError) as refused:
        check(spoilt(), engine=ENGINES[engine], symmetry=True)
    message = str(refused.value)
    assert message.startswith(f"--symmetry: {SPOILT[spoilt]} of {spoilt.name} tells couriers apart: ")
    assert spoilt is InTheBeginning or f"({Path(__file__).name}:" in message


def test_a_refusal_names_value_and_line() -> None:
    """It also says what to do instead."""
    with pytest.raises(UsageError) as refused:
        check(Swallowed(), engine="local", symmetry=True)
    lines = Path(__file__).read_text().splitlines()
    line = next(at for at, text in enumerate(lines, 1) if 'courier != "p3"' in text and "return" in text)
    assert f"it distinguishes courier 'p3' ({Path(__file__).name}:{line}); compare values" in str(refused.value)


@pytest.mark.parametrize("couriers", [4, 5])
def test_names_beyond_the_tried_permutations_are_found(couriers: int) -> None:
    """Few permutations of a large group are tried, and a lookup by name is still found."""

    class Looks(Route):
        @invariant(courier=each_courier)
        def spoilt(self, s: RouteState, courier: str) -> bool:
            return courier not in {f"p{couriers}"} or s.gone[courier] < 1

    with pytest.raises(UsageError, match=f"it distinguishes courier 'p{couriers}'"):
        check(Looks(couriers=couriers, far=1), engine="local", symmetry=True)


@pytest.fixture(params=["reference", "local", "spark", "spark, as it is written"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Each engine, and Spark with a model too large to learn."""
    if "," in request.param:
        monkeypatch.setattr(worker_state, "too_large", lambda model: "too large")
    return ENGINES[request.param.split(",")[0]]


def test_the_verdict_says_what_was_compared(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Learned paths or states; if only some were compared, how many."""
    few_are_compared(monkeypatch, always=10)
    result = check(Route(far=3), engine=engine, symmetry=True)
    assert result.distinct_states == 20
    learned = result.compared.startswith("every learned path compared with anonymous values and under all 6 permu")
    assert learned or result.compared.startswith("10 of 20 states compared with anonymous values and under ")
    assert f"  symmetry    {result.compared}\n" in str(result)
    assert result.to_json()["compared"] == result.compared
    assert check(Route(far=3), engine=engine).compared == ""


def few_are_compared(patch: pytest.MonkeyPatch, always: int, rarely: int = 1 << 60) -> None:
    """Compare so many states in any case, and later hardly any."""
    from spec.checking.spark import work

    patch.setattr(symmetry, "ALWAYS", always)
    patch.setattr(work, "ALWAYS", always)
    patch.setattr(symmetry, "RARELY", rarely)


def test_states_that_no_path_explores_are_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where learning does not pay, states are compared one by one; the verdict says how many were not."""
    monkeypatch.setattr(LearningBudget, "allows", False)
    compared = check(Route(far=3), engine="local", symmetry=True).compared
    assert "not compared" not in compared
    few_are_compared(monkeypatch, always=10)
    compared = check(Route(far=3), engine="local", symmetry=True).compared
    assert compared.endswith("; 10 states, expanded in plain Python, not compared")


def test_which_states_are_compared_does_not_depend_on_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor on the time: the same rare state is refused by each, beyond those that are always compared."""
    monkeypatch.setattr(worker_state, "too_large", lambda model: "too large")
    few_are_compared(monkeypatch, always=20, rarely=1)
    counts = {check(Route(far=6), engine=ENGINES[name], symmetry=True).compared.split(" of ")[0] for name in STATED}
    assert len(counts) == 1
    assert 20 < int(*counts) < check(Route(far=6), symmetry=True).distinct_states // 2


STATED = ("reference", "spark")
"""Engines that say how many states they compared."""


def test_the_price_is_counted_in_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a state has many instances, fewer states are compared in any case."""
    monkeypatch.setattr(symmetry, "RARELY", 1 << 60)
    monkeypatch.setattr(symmetry, "AFFORDED", 100)
    compared = check(Route(far=6), engine="reference", symmetry=True).compared
    assert 1 < int(compared.split(" of ")[0]) < 10


class EveryState(Route):
    """The first courier may go back, from anywhere."""

    @action(courier=each_courier)
    def spoilt(self, s: RouteState, courier: str) -> None:
        """One courier goes back."""
        require(courier == "p1" and s.gone[courier])
        s.gone[courier] = 0


def nothing_is_compared(patch: pytest.MonkeyPatch) -> None:
    """A mutant: evaluations are not compared one by one."""
    patch.setattr(Renamings, "compare", lambda self, evaluation, anonymously=True: ("usual", 0))


def test_images_that_differ_are_refused_without_a_reason(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps of a state and of its images differ, though no single evaluation shows it: also on learned paths."""
    nothing_is_compared(monkeypatch)
    with pytest.raises(UsageError, match="action spoilt of every-state tells couriers apart"):
        check(EveryState(far=2), engine=engine, symmetry=True)


def test_without_images_nothing_else_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant of the test above: each outcome of a rule is taken to be alike."""
    nothing_is_compared(monkeypatch)
    monkeypatch.setattr(Renamings, "compare_state", lambda *_, **__: None)
    assert check(EveryState(far=2), engine="local", symmetry=True).distinct_states


class Failing(Route):
    """A property fails in some state."""

    @invariant(courier=each_courier)
    def spoilt(self, s: RouteState, courier: str) -> bool:
        """Everyone has room."""
        return 10 // (2 - s.gone[courier]) > 0


def test_an_evaluation_that_fails_is_reported_as_such(engine: Any) -> None:
    """Not as one that tells values apart."""
    with pytest.raises(EvaluationFailed, match="ZeroDivisionError"):
        check(Failing(far=3), engine=engine, symmetry=True)


class Bounding(Route):
    """The first courier is bounded where the others are not allowed."""

    @action(courier=each_courier)
    def spoilt(self, s: RouteState, courier: str) -> None:
        """Nobody goes beyond the end."""
        require(s.gone[courier] == self.far and sorted(s.gone.values()) == [0, 0, self.far])
        bound(courier != "p1")
        require(False)


def test_bounds_that_distinguish_values_are_refused(engine: Any) -> None:
    """They decide whether a state without steps is a deadlock."""
    with pytest.raises(UsageError, match="action spoilt of bounding tells couriers apart"):
        check(Bounding(far=2), engine=engine, symmetry=True)


class Leaving(Route):
    """Only the first courier leaves the domain."""

    @action(courier=each_courier)
    def spoilt(self, s: RouteState, courier: str) -> None:
        """Beyond the end."""
        require(s.gone[courier] == self.far)
        require(str(courier) == "p1" or not self.rare(s))
        s.gone[courier] += 1

    def rare(self, s: RouteState) -> bool:
        """Whether one is at the end and the others are not."""
        return sorted(s.gone.values())[:2] == [0, 0]


def test_steps_out_of_the_domains_are_compared(engine: Any) -> None:
    """Such a step has no successor, but it is a step."""
    with pytest.raises(UsageError, match="action spoilt of leaving tells couriers apart"):
        check(Leaving(far=2), engine=engine, symmetry=True, keep_going=True)


class Labelled(Route):
    """A harmless use of text."""

    @invariant(courier=each_courier)
    def labelled(self, s: RouteState, courier: str) -> bool:
        """The label of a courier is readable."""
        return f"/couriers/{courier}".endswith(str(courier))


def test_text_made_of_names_is_reported(engine: Any) -> None:
    """It is compared under permutations only."""
    compared = check(Labelled(far=2), engine=engine, symmetry=True).compared
    assert compared.endswith("; under permutations alone, as names are read: labelled")


def test_a_resumed_run_says_what_was_compared_before(tmp_path: Path) -> None:
    """As after an uninterrupted run."""
    whole = check(Labelled(far=2), engine="local", symmetry=True)
    check(Labelled(far=2), engine=LocalEngine(run_dir=tmp_path / "run"), symmetry=True, max_depth=3)
    again = check(Labelled(far=2), engine=SparkEngine(tmp_path / "run", resume=True), symmetry=True)
    assert again.compared == whole.compared
    for engine in (LocalEngine, SparkEngine):  # a complete run evaluates nothing more
        over = check(Labelled(far=2), engine=engine(run_dir=tmp_path / "run", resume=True), symmetry=True)
        assert over.compared == whole.compared


@contextmanager
def names_that_are_not_anonymous(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """A mutant: anonymous values keep their names."""
    with patch.context() as here:
        here.setattr("spec.language.symmetry.values_are_anonymous", lambda: False)
        yield


def test_a_value_that_is_not_anonymous_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict says so, and does not for a proper domain."""
    assert "read" not in check(Route(far=1), engine="local", symmetry=True).compared
    with names_that_are_not_anonymous(monkeypatch):
        assert check(Route(far=1), engine="local", symmetry=True).compared.endswith("as names are read: courier")


@pytest.mark.parametrize(
    "fault",
    [
        nothing_is_compared,
        lambda patch: patch.setattr(ValuesDistinguished, "__init__", lambda self, why: None),
    ],
    ids=["nothing is compared", "swallowed refusals are forgotten"],
)
def test_mutants_are_detected(fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that only one of many permutations exposes is refused; the mutant accepts it."""
    model = Model(Swallowed(couriers=4))
    renamings = Symmetry(model, range(len(model.properties))).renamings
    (number,) = model.numbers(["spoilt"])
    at = model.layout.pack((2, 5, 7, 7))
    it = Evaluation(OF_STATE, number, 3, at, at)
    with pytest.raises(UsageError):
        renamings.compare(it)
    fault(monkeypatch)
    renamings.compare(it)
