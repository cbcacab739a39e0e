"""Specifications as Hypothesis state machines: one rule, which takes a step that is drawn from what is enabled.

How a step is drawn: first an action among those that have an enabled instance, then one of these, each as likely
as the next. So an action with one instance is taken as often as one with twenty, and no run is lost to a draw
that cannot be used. A run mutes some of the actions (swarm testing), which leads where a mixture of all hardly
ever goes; where only muted ones are enabled, they are heard after all, and no run gets stuck. And every other run
first goes straight to one of the specification's `sometimes`, which is where its author expects things to happen.
A step that breaks a property is taken wherever there is one: no walk passes by what it is looking for. Where there
are many examples, Hypothesis is asked for runs that take many distinct actions (`target`).

Programs are to be short. Hypothesis deletes draws that stand side by side, but steps of a larger system often can
go only together with others far away. So one number of a million sends a run straight along the shortest path to
what is broken, if a look ahead finds one (`WalkedGraph.straight`). Chance hardly ever draws this number, so a fault
is found by a walk. When Hypothesis shrinks, it tries 0 and then 1: a run with 0 keeps away from what is broken, and
1 is the straight one.

Where no look ahead comes, Hypothesis alone shrinks. So a step is drawn by its place among all steps, with those
passed over that are not enabled, and not by its place among the enabled: it stays the same step when another is
deleted before it. And a walk that has come to its end stays there and does not begin again: the walks before the
last one could not be deleted step by step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from textwrap import indent
from typing import Any, ClassVar, TypeVar

from hypothesis import currently_in_test_context, event, note, settings, target
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from spec.checking.arguments import SpecificationOrClass
from spec.checking.model import Path
from spec.language.errors import UsageError
from spec.language.state import Values
from spec.language.words import Step
from spec.testing.recipe import Recipe, unpacked
from spec.testing.steps import ActionFunction, CalledStep, action_function
from spec.testing.walk import Walk, WalkedGraph

T = TypeVar("T")

WAYS = 2**20
"""Of so many numbers one says which way a run goes: those that are odd follow a route, all but these two."""

AWAY = 0
"""The way that keeps away from what is broken."""

STRAIGHT = 1
"""The way that goes straight to what is broken."""

TARGETED = 1_000
"""Examples from which on targets are set. By Hypothesis' documentation they show no effect below; the climb towards
them takes a thousand runs, however few examples were asked for."""

# To make a strategy takes longer than to draw from it, so these are made once.
_RUNNER = st.runner()
_WAY = st.shared(st.integers(0, WAYS - 1), key="way")


@lru_cache
def _muted(names: tuple[str, ...]) -> st.SearchStrategy[set[str]]:
    return st.shared(st.sets(st.sampled_from(names)), key="muted")


@lru_cache(4096)
def _one_of(values: Sequence[T], enabled: tuple[T, ...]) -> st.SearchStrategy[T]:
    return st.sampled_from(values).filter(frozenset(enabled).__contains__)


@st.composite
def enabled_steps(draw: st.DrawFn) -> CalledStep | None:
    """A step that is enabled where the running machine stands, or a way to begin; None if nothing is enabled."""
    machine: SpecificationMachine = draw(_RUNNER)
    step = _enabled_step(draw, machine._walk)
    return None if step is None else CalledStep(machine._names[step.action], step, machine._recipe.class_name)


def _enabled_step(draw: st.DrawFn, walk: Walk) -> Step | None:
    """A step that is enabled where a walk stands; None if there is none."""
    way = draw(_WAY)
    offers = (walk.harmless() if way == AWAY else walk.violating_steps()) or walk.offers()
    if not offers:
        return None
    route = _route(walk.graph, way)
    name, number = (walk.next_on(route) if route else None) or ("", 0)
    if number not in offers.get(name, {}):
        every = tuple(walk.graph.choices)
        muted = draw(_muted(every))
        name = draw(_one_of(every, tuple(name for name in offers if name not in muted) or tuple(offers)))
        instances = walk.graph.choices[name]
        number = draw(_one_of(range(instances), tuple(offers[name]))) if instances > 1 else 0
    return offers[name][number]


def _running() -> settings:
    """The settings of the test that runs."""
    running = settings.default
    assert running is not None, "there is always a default"
    return running


def _route(graph: WalkedGraph, way: int) -> Path | None:
    """What a walk follows as long as it can: one of the routes where the way is an odd number, else none."""
    if way == STRAIGHT:
        return graph.straight
    return graph.routes[way // 2 % len(graph.routes)] if way % 2 and graph.routes else None


_ENABLED_STEPS = enabled_steps()


class SpecificationMachine(RuleBasedStateMachine):
    """What every generated machine is. `as_state_machine` gives it a specification."""

    recipe: ClassVar[str] = ""
    """The lines that make this class and name its `actions`, with which each printed program begins."""
    actions: ClassVar[tuple[ActionFunction, ...]] = ()
    """The functions that make steps: one for each `initial`, if the first step chooses one, and for each action."""
    _graph: ClassVar[WalkedGraph]
    _names: ClassVar[Mapping[str, str]]
    """The name of the function for an action or an `initial`."""
    _recipe: ClassVar[Recipe]

    def __init__(self) -> None:
        super().__init__()
        self._walk = Walk(self._graph)
        self._distinct: set[str] = set()
        self._print(self._makes_it())
        if currently_in_test_context():
            _ = self._graph.routes  # worked out before anything is drawn: Hypothesis looks how long that takes
        only = self._graph.sole_initial_step
        if only is not None:
            try:
                self._go(only.step)
            except Exception:
                self._print(f"state = {type(self).__name__}()")  # Hypothesis prints this of a machine that it has got
                raise

    def begin(self, step: CalledStep) -> None:
        """Begin in one of several initial states, or in the only one if that is broken. Any other is begun in before.

        Raises:
            UsageError, Violation: as `take` does.
        """
        __tracebackhide__ = True
        self._go(step.step)

    @rule(step=_ENABLED_STEPS)
    def take(self, step: CalledStep | None) -> None:
        """Take a step. None: nothing is enabled any more, and the walk stays where it is.

        Raises:
            UsageError: it is not enabled.
            Violation: it breaks a property, or a property is broken where it leads.
        """
        __tracebackhide__ = True
        if step is not None:
            self._go(step.step)
        elif self._walk.offers():
            raise UsageError(f"step = None: a step is enabled; enabled: {', '.join(self._walk.offers())}")
        elif currently_in_test_context():
            event("nothing is enabled any more")

    def _go(self, step: Step) -> None:
        __tracebackhide__ = True  # what failed is the specification; pytest need not show this code
        begun = self._walk.here is not None
        taken = self._walk.go(step)
        if currently_in_test_context():
            if begun:
                self._distinct.add(taken.action)
                event(f"action {taken.action}")
            for witness in self._walk.witnessed:
                event(f"sometimes {witness}")
        assert self._walk.here is not None
        self._arrived(taken, self._walk.here.state)

    def _arrived(self, step: Step, state: Values) -> None:
        """What else is to be done when the specification has taken a step, or has begun."""

    def teardown(self) -> None:
        """The walk is over: Hypothesis is told how many distinct actions it took.

        Raises:
            SpecificationError: something that actions and properties look at besides the state has changed.
        """
        self._graph.model.hidden_state.require_unchanged()
        if currently_in_test_context() and _running().max_examples >= TARGETED:
            target(len(self._distinct), label="distinct actions taken")

    @classmethod
    def _makes_it(cls) -> str:
        """The lines that a program has before it makes a machine of this class, which may be a person's subclass."""
        if "recipe" in vars(cls):
            return cls.recipe
        names = tuple(function.__name__ for function in cls.actions)
        return "\n".join([*cls._recipe.imports_with(cls), "", *unpacked(names, f"{cls.__name__}.actions")])

    @staticmethod
    def _print(lines: str) -> None:
        """Print them where Hypothesis prints the steps, if it does so of this run."""
        if currently_in_test_context():
            note(lines)


def as_state_machine(specification: SpecificationOrClass, *, bounds: bool = True) -> type[SpecificationMachine]:
    """A Hypothesis state machine that takes random walks through a specification.

    Its rule `take` takes a step; `actions` are the functions that make steps. The initial state and each later one
    must hold values of their domains and keep all invariants, every step must keep the transition invariants; what
    `sometimes` says is not demanded, but shown by `--hypothesis-show-statistics`, as is each action that was taken.
    Where nothing is enabled, the walk stays.
    If there are several initial states, or the only one is broken, a program begins with `begin`, which takes an
    `initial`.

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
        >>> CounterMachine = as_state_machine(Counter())
        >>> (press,) = CounterMachine.actions
        >>> state = CounterMachine()
        >>> state.take(press(by=2))
        >>> state.take(press(by=1))
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
        examples apart. The functions of `actions` take plain values as keywords. A subclass may add `@invariant()`s
        and a `teardown`, which calls that of the machine, but no rules.

    Raises:
        SpecificationError: the specification is not well made.
    """
    graph = WalkedGraph(specification, bounds=bounds)
    return machine_class(SpecificationMachine, graph, Recipe(as_state_machine, graph), {})


def machine_class(
    base: type[SpecificationMachine], graph: WalkedGraph, recipe: Recipe, namespace: Mapping[str, Any]
) -> type[SpecificationMachine]:
    """The class of the machines on a graph, over a base, with the recipe that makes it again."""
    docs = {action.name: action.doc for action in graph.model.actions}
    mine = {
        "__doc__": f"Walks through {graph.specification!r}.\n\n{indent(recipe.text, '    ')}\n",
        "__module__": type(graph.specification).__module__,
        "recipe": recipe.text,
        "actions": tuple(
            action_function(name, said, docs.get(said, "Begin."), recipe.class_name)
            for said, name in recipe.names.items()
        ),
        "_graph": graph,
        "_names": recipe.names,
        "_recipe": recipe,
    }
    if graph.sole_initial_step is None:
        mine["begin"] = initialize(step=_ENABLED_STEPS)(base.begin)
    return type(recipe.name, (base,), {**namespace, **mine})
