"""Specifications as Hypothesis state machines: a rule for each action, which draws only what is enabled.

How a step is drawn: first an action among those that have an enabled instance, then one of these, each as likely
as the next. So an action with one instance is taken as often as one with twenty, and no run is lost to a draw
that cannot be used. A run mutes some of the actions (swarm testing), which leads where a mixture of all hardly
ever goes; where only muted ones are enabled, they are heard after all, and no run gets stuck. And every other run
first goes straight to one of the specification's `sometimes`, which is where its author expects things to happen.
A step that breaks a property is taken wherever there is one: no walk passes by what it is looking for.

Hypothesis's own choice of a rule would not do: it draws parameters one by one, in the order of the alphabet, and
gives a run up where the rules that could go on are switched off. That choice is replaced, and nothing else.

Programs are to shrink well. So a step is drawn by its place among all steps, of which those that are not enabled
are passed over, and not by its place among the enabled: it stays the same step when another is deleted before
it. And a walk that has come to its end stays there and does not begin again: the walks before the last one could
not be deleted step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from textwrap import indent
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from hypothesis import currently_in_test_context, event, note
from hypothesis import strategies as st
from hypothesis.stateful import Rule, RuleBasedStateMachine, rule

from spec.checking.arguments import Given
from spec.language.errors import UsageError
from spec.language.state import Values
from spec.language.words import Step
from spec.testing.recipe import Recipe
from spec.testing.walk import Walk, WalkedGraph

T = TypeVar("T")


class SpecificationMachine(RuleBasedStateMachine):
    """What every generated machine is. `as_state_machine` gives it a specification, and its rules."""

    recipe: ClassVar[str] = ""
    """The lines that make this class, with which each program begins that Hypothesis prints."""
    _graph: ClassVar[WalkedGraph]
    _rule_for: ClassVar[Mapping[str, str]]
    """The name of the rule for an action or an `initial`."""

    def __init__(self) -> None:
        super().__init__()
        self._walk = Walk(self._graph)
        rules = {each.function.__name__: each for each in self.rules}
        self._rules = {name: rules[method] for name, method in self._rule_for.items()}
        self._end = rules["nothing_is_enabled"]
        # Not public, but nothing public can choose a rule and its parameters at once. A test would notice.
        self._rules_strategy = _ENABLED_RULES  # type: ignore[assignment]
        self._print(self._makes_it())
        only = self._graph.sole_initial_step
        if only is not None:
            try:
                self._go(only.name, only.parameters)
            except Exception:
                self._print(f"state = {type(self).__name__}()")  # Hypothesis prints this of a machine that it has got
                raise

    def _go(self, name: str, parameters: Mapping[str, Any]) -> None:
        __tracebackhide__ = True  # what failed is the specification; pytest need not show this code
        step = self._walk.go(name, parameters)
        if currently_in_test_context():
            for witness in self._walk.witnessed:
                event(f"sometimes {witness}")
        assert self._walk.here is not None
        self._arrived(step, self._walk.here.state)

    @rule()
    def nothing_is_enabled(self) -> None:
        """The walk has come to its end, and stays there."""
        if self._walk.offers():
            raise UsageError(f"nothing_is_enabled() is not enabled; enabled: {', '.join(self._walk.offers())}")
        if currently_in_test_context():
            event("nothing is enabled any more")

    if TYPE_CHECKING:  # the rules, which each generated class has of its own

        def __getattr__(self, name: str) -> Callable[..., None]: ...

    def _arrived(self, step: Step, state: Values) -> None:
        """What else is to be done when the specification has taken a step, or has begun."""

    @classmethod
    def _makes_it(cls) -> str:
        """The lines that a program has before it makes a machine of this class, which may be a person's subclass."""
        if "recipe" in vars(cls):
            return cls.recipe
        return f"from {cls.__module__} import {cls.__name__}"

    @staticmethod
    def _print(lines: str) -> None:
        """Print them where Hypothesis prints the steps, if it does so of this run."""
        if currently_in_test_context():
            note(lines)


@st.composite
def enabled_rules(draw: st.DrawFn) -> tuple[Rule, dict[str, Any]]:
    """A rule of the machine that is running, with parameters that are enabled where it stands."""
    machine: SpecificationMachine = draw(_RUNNER)
    offers = machine._walk.breaking() or machine._walk.offers()
    if not offers:
        return machine._end, {}
    routes = machine._graph.routes
    route = draw(_one_of_routes(len(routes)))
    name, number = (machine._walk.next_on(routes[route - 1]) if route else None) or ("", 0)
    if number not in offers.get(name, {}):
        every = machine._graph.choices
        muted = draw(_muted(tuple(every)))
        names = [name for name in offers if name not in muted] or list(offers)
        name = draw(_one_of(tuple(every)).filter(names.__contains__))
        number = draw(_one_of(range(every[name])).filter(offers[name].__contains__))
    return machine._rules[name], {key: plain(value) for key, value in offers[name][number].items()}


def plain(value: Any) -> Any:
    """A parameter as it can be printed and read again: a set that knows its order is one that does not."""
    return frozenset(value) if isinstance(value, frozenset) else value


# To make a strategy takes longer than to draw from it, so these are made once.
_RUNNER = st.runner()


@lru_cache
def _muted(names: tuple[str, ...]) -> st.SearchStrategy[set[str]]:
    return st.shared(st.sets(st.sampled_from(names)), key="muted")


@lru_cache
def _one_of(values: Sequence[T]) -> st.SearchStrategy[T]:
    return st.sampled_from(values)


@lru_cache
def _one_of_routes(routes: int) -> st.SearchStrategy[int]:
    """Which route a run takes, counted from 1; 0 for none."""
    some = st.integers(1, routes) if routes else st.nothing()
    return st.shared(st.one_of(st.just(0), some), key="route")


_ENABLED_RULES = enabled_rules()


def as_state_machine(specification: Given, *, bounds: bool = True) -> type[SpecificationMachine]:
    """A Hypothesis state machine that takes random walks through a specification.

    Every action is a rule under its name. The initial state and each later one must hold values of their
    domains and keep all invariants, every step must keep the transition invariants; what `sometimes` says is
    not demanded, but shown by `--hypothesis-show-statistics`. Where nothing is enabled, the walk stays.
    If there are several initial states, or the only one is broken, the first step is the `initial` by its name.

    Under pytest, `TestCounter = as_state_machine(Counter(top=3)).TestCase`. A failure prints a program that runs as
    it stands: it imports the specification, makes the machine, and takes the steps. The same by hand:

        >>> from spec.language import Specification, State, action, invariant, variable
        >>> class Counts(State):
        ...     count: int = variable("How often.", of=lambda self: range(10))
        >>> class Counter(Specification[Counts]):
        ...     @action(by=(1, 2))
        ...     def press(self, s, by):
        ...         s.count += by
        ...     @invariant
        ...     def never_three(self, s):
        ...         "It goes from two to four."
        ...         return s.count != 3
        >>> state = as_state_machine(Counter())()
        >>> state.press(by=2)
        >>> state.press(by=1)
        Traceback (most recent call last):
        ...
        spec.testing.walk.Violation: never_three is broken by press(by=1)
            It goes from two to four.
            It looked at
                count = 3
            press(by=1) changed
                count from 2 to 3

    Args:
        specification: the system, under its constants.
        bounds: whether what `bound` forbids is not done. Without bounds a walk may well leave a domain.

    Returns:
        A class with a name of its own for each system, variant and constants, so that Hypothesis keeps their
        examples apart. Its rules take plain values as keywords. A subclass may add `@invariant()`s and a
        `teardown`, but no rules.

    Raises:
        SpecificationError: the specification is not well made.
    """
    graph = WalkedGraph(specification, bounds=bounds)
    return machine_class(SpecificationMachine, graph, Recipe(as_state_machine, graph), {})


def machine_class(
    base: type[SpecificationMachine], graph: WalkedGraph, recipe: Recipe, namespace: Mapping[str, Any]
) -> type[SpecificationMachine]:
    """The class of the machines on a graph, over a base, with the recipe that makes it again."""
    taken = {*dir(base), *RuleBasedStateMachine.__annotations__}
    rule_for: dict[str, str] = {}
    rules: dict[str, Any] = {}
    docs = {action.name: action.doc for action in graph.model.actions}
    docs |= {initial_step.name: "Begin." for initial_step in graph.initial_steps}
    for said, doc in docs.items():
        method = free_name(said.replace(".", "_"), taken)
        taken.add(method)
        rule_for[said] = method
        rules[method] = rule()(_step_taker(said, method, f"{recipe.name}.{method}", doc))
    mine = {
        "__doc__": f"Walks through {graph.specification!r}.\n\n{indent(recipe.text, '    ')}\n",
        "__module__": type(graph.specification).__module__,
        "recipe": recipe.text,
        "_graph": graph,
        "_rule_for": rule_for,
    }
    return type(recipe.name, (base,), {**namespace, **rules, **mine})


def _step_taker(said: str, method: str, qualname: str, doc: str) -> Callable[..., None]:
    def take(self: SpecificationMachine, **parameters: Any) -> None:
        __tracebackhide__ = True
        self._go(said, parameters)

    # Hypothesis prints rules, and counts them in its statistics, by the names of their functions.
    take.__name__, take.__qualname__, take.__doc__ = method, qualname, doc
    return take


def free_name(name: str, taken: set[str]) -> str:
    """A name for a method that has none of the taken ones: itself, if need be with underscores behind."""
    while name in taken:
        name += "_"
    return name
