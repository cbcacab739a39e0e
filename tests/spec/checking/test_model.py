"""An author's mistakes are reported in one line with the action or property, the variable and the value."""

from __future__ import annotations

import pickle
import random
import sys
from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

import pytest

from spec.checking import EvaluationFailed, Model, check
from spec.checking.model import Expansion, Transition
from spec.language import (
    Partial,
    Specification,
    SpecificationError,
    State,
    Step,
    Total,
    action,
    bound,
    initial,
    integers,
    invariant,
    left_out,
    mapping,
    partial_mapping,
    record,
    require,
    sequence_of,
    sometimes,
    subset_of,
    transition_invariant,
    variable,
)
from tests.rows import rows


class Stock(NamedTuple):
    """A record."""

    kind: str
    amount: int


class Lookalike(NamedTuple):
    """Another record with the same fields."""

    kind: str
    amount: int


class ShopState(State):
    """The state of `Shop`."""

    day: int = variable("The day.", of=lambda self: integers(0, 3))
    price: Total[str, int] = variable("The price.", of=lambda self: mapping(("pear", "fig"), integers(0, 3)))
    stock: Partial[str, Stock] = variable(
        "The stock.",
        of=lambda self: partial_mapping(("pear", "fig"), record(Stock, kind=("?", "a", "b"), amount=range(3))),
    )
    queue: tuple[int, ...] = variable("The queue.", of=lambda self: sequence_of(range(2), 2))
    known: frozenset[str] = variable("The known.", of=lambda self: subset_of(("pear", "fig")))
    stamp: Any = variable("The stamp.", of=lambda self: left_out())


class Shop(Specification[ShopState]):
    """It goes from day to day, and on day 2 an action makes a mistake."""

    @initial
    def begin(self, s: ShopState) -> None:
        s.stock["fig"] = Stock("a", 1)

    @action(by=(1, 2))
    def go(self, s: ShopState, by: int) -> None:
        require(s.day < 2)
        require(by == 1)
        s.day += by

    @action(n=(7, 8))
    def err(self, s: ShopState, n: int) -> None:
        require(s.day == 2 and n == 8)
        self.mistake(s)

    def mistake(self, s: ShopState) -> None:
        """Overridden with a mistake."""


WHERE = "day = 2, stock[fig] = Stock(kind='a', amount=1)"


def failed(specification: Specification, **asked: Any) -> tuple[str, str]:
    """The message of the failure, and the state that it names."""
    with pytest.raises(EvaluationFailed) as failure:
        check(specification, engine="reference", **asked)
    return str(failure.value), failure.value.state


# Mistakes in an action.

vars(sys.modules["string"]).update(CALLS=count(), LATE=count())


def _called(counter: str = "CALLS") -> int:
    """The number of calls so far, kept where nobody looks: in an installed module."""
    called: int = next(vars(sys.modules["string"])[counter])
    return called


def chance() -> random.Random:
    """A random module, hidden in the same way."""
    hidden: random.Random = vars(sys.modules["random"])["_inst"]
    return hidden


ACTIONS: list[tuple[str, Any, str]] = [
    ("division by zero", lambda self, s: 1 // (s.day - 2), "ZeroDivisionError: integer division or modulo by zero"),
    ("a key that is not there", lambda self, s: s.stock["pear"], "KeyError: 'pear'"),
    (
        "an unknown variable read",
        lambda self, s: s.dey,
        "there is no variable dey; there are day, price, stock, queue, known, stamp",
    ),
    (
        "an unknown variable assigned",
        lambda self, s: setattr(s, "dey", 1),
        "there is no variable dey; there are day, price, stock, queue, known, stamp",
    ),
    ("a key deleted that is always there", lambda self, s: s.price.pop("fig"), "del price[fig]: its keys are always"),
    ("a number for a mapping", lambda self, s: setattr(s, "price", 3), "price = 3: the variable is a mapping"),
    (
        "a list kept",
        lambda self, s: setattr(s, "queue", [1]),
        "queue = [1]: it can be changed in place, and the state holds immutable values",
    ),
    (
        "a list kept deep inside",
        lambda self, s: s.stock.update(fig=Stock("a", [1])),  # type: ignore[arg-type]
        "stock[fig] = Stock(kind='a', amount=[1]): it can be changed in place, and the state holds immutable values",
    ),
    (
        "a record changed in place",
        lambda self, s: setattr(s.stock["fig"], "amount", 2),
        "can't set attribute: values of the state are replaced whole, `record._replace(...)`",
    ),
    (
        "a tuple changed in place",
        lambda self, s: s.queue.append(1),
        "AttributeError: 'tuple' object has no attribute",
    ),
    (
        "something kept in the specification",
        lambda self, s: setattr(self, "memory", 1),
        "self.memory is assigned: a specification keeps nothing between steps",
    ),
    ("a left-out value read", lambda self, s: s.stamp > 3, "a value that the specification leaves out was read"),
    (
        "a random choice",
        lambda self, s: setattr(s, "stock", {"fig": Stock("ab"[chance().random() < 0.5], chance().randrange(3))}),
        "it is not deterministic: done twice in one state, stock[fig] became",
    ),
    (
        "a counter",
        lambda self, s: setattr(s, "day", _called() % 2),
        "it is not deterministic: done twice in one state, day became ",
    ),
    (
        "a counter of which another variable tells",
        lambda self, s: s.price.update(pear=_called() % 3),
        "it is not deterministic: done twice in one state, price[pear] became ",
    ),
    (
        "a counter that leaves its domain",
        lambda self, s: setattr(s, "day", 4 + _called()),
        "it is not deterministic: done twice in one state, a value was outside its domain (day: ",
    ),
    (
        "a counter that leaves its domain now and then",
        lambda self, s: setattr(s, "day", 4 * (_called() % 2)),
        "it is not deterministic: done twice in one state, a value was outside its domain (day: 4 is not",
    ),
    (
        "a guard that keeps count",
        lambda self, s: require(_called() % 2),
        "it is not deterministic: done twice in one state, it was enabled once, and once it was not",
    ),
]


@rows("mistake, cause", {name: row for name, *row in ACTIONS})
def test_a_mistake_in_an_action_names_the_step_and_the_state(mistake: Any, cause: str) -> None:
    """The line has the action with its parameters and the error; the state comes with it."""
    random.seed(5)
    message, state = failed(type("Mistaken", (Shop,), {"mistake": mistake})())
    assert message.startswith(f"err(n=8): {cause}")
    assert "\n" not in message
    assert state == WHERE


@pytest.mark.parametrize(
    ("effect", "shown"), [(lambda s: s.day + 1, "3"), (lambda s: (n for n in ""), "a generator")]
)
def test_an_action_that_returns_a_value_is_refused(effect: Any, shown: str) -> None:
    """It may be an expression in place of an assignment, or contain a `yield`."""

    def returning(self: Any, s: Any) -> Any:
        require(s.day == 2)
        return effect(s)

    message, state = failed(
        type("Returning", (Shop,), {"returning": action(returning), "mistake": lambda *_: None})()
    )
    assert message == f"returning(): it returns {shown}: an action assigns to s, and returns nothing"
    assert state == WHERE


class LateWhimState(State):
    """The state of `LateWhim`."""

    x: int = variable("The x.", of=lambda self: integers(0, 199))


class LateWhim(Specification[LateWhimState]):
    """A counter outside the state that changes nothing at first."""

    @action
    def up(self, s: LateWhimState) -> None:
        calls = _called("LATE")
        s.x = (s.x + 1 + (calls % 2 if calls > 20 else 0)) % 200


def test_actions_are_sometimes_repeated_to_detect_nondeterminism() -> None:
    """An action that becomes random later is found, if it runs often."""
    message, _ = failed(LateWhim())
    assert message.startswith("up(): it is not deterministic: done twice in one state, x became")


class Careful(Shop):
    """It catches every exception that it can."""

    def mistake(self, s: ShopState) -> None:
        try:
            require(s.day == 1)
            bound(s.day == 1)
        except Exception:
            s.day = 3


def test_catching_exceptions_does_not_catch_a_guard() -> None:
    """`except Exception` around `require` does not enable the action."""
    result = check(Careful())
    assert (result.distinct_states, result.actions[1].taken) == (3, 0)


def test_a_specification_without_actions_is_refused() -> None:
    """There is nothing to explore."""

    class IdleState(State):
        x: int = variable("The x.", of=lambda self: integers(0, 1))

    class Idle(Specification[IdleState]):
        pass

    with pytest.raises(SpecificationError, match=r"^idle: it has no action$"):
        Model(Idle())


# Mistakes in an initial rule.

BEGINNINGS: list[tuple[str, Any, str]] = [
    ("an exception", lambda self, s: s.stock["fig"], "initial: KeyError: 'fig'"),
    ("an unknown variable", lambda self, s: setattr(s, "dey", 1), "initial: there is no variable dey"),
    ("a list", lambda self, s: setattr(s, "day", []), "initial: day = []: it can be changed in place"),
]


@pytest.mark.parametrize(("begin", "cause"), [row[1:] for row in BEGINNINGS], ids=[row[0] for row in BEGINNINGS])
def test_an_exception_in_the_initial_state_is_reported(begin: Any, cause: str) -> None:
    """It has no state."""
    message, state = failed(type("Mistaken", (Shop,), {"begin": begin})())
    assert message.startswith(cause)
    assert state == ""


# Mistakes in a property.


def _and_holds(do: Callable[..., object], *arguments: object) -> bool:
    """Call a function that properties must not call, and hold."""
    do(*arguments)
    return True


PROPERTIES: list[tuple[str, Any, str]] = [
    ("division by zero", lambda s: 1 // (s.day - 2) != 5, "ZeroDivisionError: integer division or modulo by zero"),
    ("an unknown variable", lambda s: s.day < 2 or s.dey, "there is no variable dey"),
    ("a guard", lambda s: _and_holds(require, s.day < 2), "`require` and `bound` belong in actions"),
    ("a bound", lambda s: _and_holds(bound, s.day < 2), "`require` and `bound` belong in actions"),
    ("no answer", lambda s: None if s.day == 2 else True, "it answers None, not True or False"),
    ("a left-out value as an answer", lambda s: s.stamp if s.day == 2 else True, "it answers LEFT_OUT, not True"),
    ("a number", lambda s: 1 if s.day == 2 else True, "it answers 1, not True or False"),
    (
        "what all() was forgotten for",
        lambda s: (n for n in "") if s.day == 2 else True,
        "it answers a generator, not",
    ),
    (
        "an assignment",
        lambda s: s.day < 2 or _and_holds(setattr, s, "day", 0),
        "day is assigned: only actions and `initial` may change the state",
    ),
    (
        "an assignment to a key",
        lambda s: s.day < 2 or _and_holds(s.price.update, {"fig": 1}),
        "price is assigned: only actions and `initial` may change the state",
    ),
    (
        "a deletion",
        lambda s: s.day < 2 or _and_holds(s.stock.pop, "fig"),
        "stock is assigned: only actions and `initial` may change the state",
    ),
]


def watching(word: Any, judge: Any, over: str) -> type[Specification]:
    """A shop whose property `odd`, of this kind, judges a state or one of the two states of a step."""

    def of_state(self: Any, s: State, n: int) -> Any:
        return judge(s)

    def of_step(self: Any, before: State, step: Step, after: State, n: int) -> Any:
        return judge(before if over == "before" else after)

    return type("Watched", (Shop,), {"odd": word(n=(1,))(of_state if over == "state" else of_step)})


@rows("judge, cause", {name: row for name, *row in PROPERTIES})
def test_a_mistake_in_an_invariant_names_it_and_the_state(judge: Any, cause: str) -> None:
    """On one line, with the state that it judged."""
    message, state = failed(watching(invariant, judge, "state")(), properties=["odd"])
    assert message.startswith(f"odd: {cause}")
    assert "\n" not in message
    assert state == WHERE


@pytest.mark.parametrize("over", ["before", "after"])
@pytest.mark.parametrize(("judge", "cause"), [row[1:] for row in PROPERTIES], ids=[row[0] for row in PROPERTIES])
def test_a_mistake_in_a_property_of_steps_names_the_step_too(judge: Any, cause: str, over: str) -> None:
    """The step, and the state before it. A property must assign to neither state."""
    message, state = failed(watching(transition_invariant, judge, over)())
    step, where = ("err(n=8)", WHERE) if over == "before" else ("go(by=1)", WHERE.replace("2", "1", 1))
    assert message.startswith(f"odd of {step}: {cause}")
    assert state == where


@pytest.mark.parametrize("over", ["state", "before", "after"])
def test_an_exception_in_a_witness_is_reported(over: str) -> None:
    """For witnesses of states and of steps."""
    message, _ = failed(watching(sometimes, lambda s: None if s.day == 2 else False, over)())
    assert message.startswith("odd")
    assert message.endswith(": it answers None, not True or False")


def test_a_failure_can_be_sent_to_another_process() -> None:
    """Its message stays the same."""
    failure = EvaluationFailed("go(by=1)", "KeyError: 3", "day = 2")
    back = pickle.loads(pickle.dumps(failure))
    assert (str(back), back.what, back.cause, back.state) == (
        "go(by=1): KeyError: 3",
        "go(by=1)",
        "KeyError: 3",
        "day = 2",
    )


# Values outside their domain.

MISPLACED: list[tuple[str, Any, str, dict[str, tuple[Any, Any]]]] = [
    ("too great", lambda self, s: setattr(s, "day", 4), "day: 4 is not an integer of 0..3", {"day": (2, 4)}),
    ("a boolean", lambda self, s: setattr(s, "day", True), "day: True is not an integer of 0..3", {"day": (2, True)}),
    (
        "a record of another class",
        lambda self, s: s.stock.update(fig=Lookalike("a", 1)),
        "stock[fig]: Lookalike(kind='a', amount=1) is not a Stock of its domain",
        {"stock[fig]": (Stock("a", 1), Lookalike("a", 1))},
    ),
    (
        "a field of a record",
        lambda self, s: s.stock.update(fig=Stock("b", 3)),
        "stock[fig]: Stock(kind='b', amount=3) is not a Stock of its domain: "
        "its amount is 3 is not an integer of 0..2",
        {"stock[fig].kind": ("a", "b"), "stock[fig].amount": (1, 3)},
    ),
    (
        "a queue that overflows",
        lambda self, s: setattr(s, "queue", (0, 0, 1)),
        "queue: (0, 0, 1) is not a tuple of at most 2, each an integer of 0..1",
        {"queue": ((), (0, 0, 1))},
    ),
    (
        "a stranger in a set",
        lambda self, s: setattr(s, "known", s.known | {"plum", "kiwi"}),
        "known: {'kiwi', 'plum'} is not a frozenset of pear, fig",
        {"known": (frozenset(), frozenset({"plum", "kiwi"}))},
    ),
    ("an unknown key", lambda self, s: s.price.update(plum=1), "price: 'plum' is not a key of it", {}),
]


@rows("mistake, failing, changes", {name: row for name, *row in MISPLACED})
def test_a_value_outside_its_domain_violates_the_types(
    mistake: Any, failing: str, changes: dict[str, tuple[Any, Any]]
) -> None:
    """The violation has a trace. Its last step shows the variable, the value, and the allowed values."""
    result = check(type("Mistaken", (Shop,), {"mistake": mistake})())
    assert (result.verdict, result.exit_code) == ("violated", 12)
    assert result.counterexample is not None
    assert (result.counterexample.broken, result.counterexample.length) == ("type_ok", 4)
    assert result.counterexample.failing == failing
    assert str(result.counterexample.steps[-1].step) == "err(n=8)"
    assert result.counterexample.steps[-1].changes == changes
    assert result.properties[0].length == 4


def test_a_step_out_of_the_domains_adds_no_state() -> None:
    """The step counts as taken and generated. The rest of the search goes on with `keep_going`."""
    overflowing = type("Overflowing", (Shop,), {"mistake": lambda self, s: setattr(s, "day", 4)})()
    result = check(overflowing, keep_going=True)
    assert (result.verdict, result.distinct_states, result.generated_states, result.depth) == ("violated", 3, 4, 3)
    assert [(each.enabled, each.taken, each.new_states) for each in result.actions] == [(2, 2, 2), (1, 1, 0)]


# The successors of a state.


class ForkState(State):
    """The state of `Fork`."""

    x: int = variable("The x.", of=lambda self: integers(0, 9))
    y: int = variable("The y.", of=lambda self: integers(0, 9))


class Fork(Specification[ForkState]):
    """A state with every kind of successor."""

    @action(to=(3, 2, 11, 0))
    def jump(self, s: ForkState, to: int) -> None:
        s.x = to

    @action(to=range(3))
    def other(self, s: ForkState, to: int) -> None:
        s.y = 9
        require(to)
        bound(to < 2)
        s.x = 5

    @transition_invariant
    def not_to_two(self, before: ForkState, step: Step, after: ForkState) -> bool:
        return bool(before.x == 0 and after.x != 2)

    @sometimes
    def by_the_other(self, before: ForkState, step: Step, after: ForkState) -> bool:
        return step.action == "other" and step.parameters == {"to": 1}


def test_successors_are_listed_in_order() -> None:
    """Actions as declared, parameters in domain order. A step refused by guard or bound has no effect."""
    model = Model(Fork())
    invariant_number, witness_number = model.numbers(["not_to_two", "by_the_other"])
    assert model.expand((0, 0), [invariant_number, witness_number]) == Expansion(
        [
            Transition(0, 0, (3, 0), "", ()),
            Transition(0, 1, (2, 0), "", (invariant_number,)),
            Transition(0, 2, None, "x: 11 is not an integer of 0..9", ()),
            Transition(0, 3, (0, 0), "", ()),
            Transition(1, 1, (5, 9), "", (witness_number,)),
        ],
        bounded=(1,),
    )
    assert model.expand((0, 0)).steps[1].found == ()


def test_a_state_is_shown_by_its_differences_from_the_first() -> None:
    """On one line, cell by cell."""
    model = Model(Shop())
    ((state, wrong),) = list(model.initial_states())
    assert state is not None
    assert (wrong, model.show(state), model.show(model.layout.first())) == (
        "",
        "stock[fig] = Stock(kind='a', amount=1)",
        "",
    )


def test_every_system_has_type_ok_and_deadlock() -> None:
    """`type_ok` is the first property, `deadlock` the last."""
    assert [each.name for each in Model(Fork()).properties] == ["type_ok", "not_to_two", "by_the_other", "deadlock"]
    assert Model(Fork()).numbers(["deadlock", "type_ok", "unknown"]) == (0, 3)
