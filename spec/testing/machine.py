"""Specifications as Hypothesis state machines with one rule, which takes a step drawn from the enabled ones.

A draw first chooses an action among those with an enabled instance, then one of its instances, each with equal
probability. So an action with one instance is taken as often as one with twenty, and no run is lost to a draw that
cannot be used. Each run mutes some of the actions (swarm testing), which reaches states that a mixture of all actions
hardly ever reaches. If only muted actions are enabled, they are used after all, so no run gets stuck. Every other run
first follows a path to one of the specification's `sometimes`, where its author expects interesting behaviour. A step
that breaks a property is taken wherever one is enabled, so no walk passes by a violation. With many examples,
Hypothesis is also asked to maximise the number of distinct actions (`target`).

Programs should be short. Hypothesis deletes adjacent draws, but in a larger system a step can often be deleted only
together with distant ones. So one number of a million sends a run straight along the shortest path to a violation, if
a look ahead finds one (`WalkedGraph.straight`). This number is hardly ever drawn by chance, so it is a walk that
finds the fault. While shrinking, Hypothesis tries 0 and then 1: a run with 0 avoids violations, and a run with 1 goes
straight to one.

Beyond the reach of the look ahead, Hypothesis alone shrinks. So a step is drawn by its place among all steps, with
those not enabled skipped, rather than by its place among the enabled ones: it stays the same step when an earlier one
is deleted. And a finished walk stays at its end instead of starting again, because the steps of earlier walks could
not be deleted one by one.
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
from spec.testing.recipe import ActionFunction, CalledStep, Recipe, action_function, unpacked
from spec.testing.walk import Walk, WalkedGraph

T = TypeVar("T")

WAYS = 2**20
"""The range of the number that chooses a run's way: odd numbers follow a route, except for these two."""

AWAY = 0
"""The way that avoids violations."""

STRAIGHT = 1
"""The way straight to a violation."""

TARGETED = 1_000
"""The number of examples from which targets are set. Hypothesis documents that they have no effect below it; the
climb towards them takes a thousand runs, however few examples were requested."""

# Making a strategy takes longer than drawing from it, so these are made once.
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
    """An enabled step of the running machine, or an initial step; None if nothing is enabled."""
    machine: SpecificationMachine = draw(_RUNNER)
    step = _enabled_step(draw, machine._walk)
    return None if step is None else CalledStep(machine._names[step.action], step, machine._recipe.class_name)


def _enabled_step(draw: st.DrawFn, walk: Walk) -> Step | None:
    """An enabled step of a walk; None if there is none."""
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
    """The settings of the running test."""
    running = settings.default
    assert running is not None, "there is always a default"
    return running


def _route(graph: WalkedGraph, way: int) -> Path | None:
    """The path that a walk follows as long as it can: one of the routes for an odd way, otherwise none."""
    if way == STRAIGHT:
        return graph.straight
    return graph.routes[way // 2 % len(graph.routes)] if way % 2 and graph.routes else None


_ENABLED_STEPS = enabled_steps()


class SpecificationMachine(RuleBasedStateMachine):
    """The base of every generated machine. `as_state_machine` adds a specification."""

    recipe: ClassVar[str] = ""
    """The first lines of each printed program: they make this class and name its `actions`."""
    actions: ClassVar[tuple[ActionFunction, ...]] = ()
    """The functions that make steps: one for each action, and for each `initial` if the first step chooses one."""
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
            _ = self._graph.routes  # before the first draw: Hypothesis times the draws
        only = self._graph.sole_initial_step
        if only is not None:
            try:
                self._go(only.step)
            except Exception:
                self._print(f"state = {type(self).__name__}()")  # Hypothesis prints it only for a finished machine
                raise

    def begin(self, step: CalledStep) -> None:
        """Begin in one of several initial states, or in the only one if it breaks a property; otherwise a walk has
        begun.

        Raises:
            UsageError, Violation: as in `take`.
        """
        __tracebackhide__ = True
        self._go(step.step)

    @rule(step=_ENABLED_STEPS)
    def take(self, step: CalledStep | None) -> None:
        """Take a step. None: nothing is enabled, and the walk stays where it is.

        Raises:
            UsageError: the step is not enabled.
            Violation: the step or the state after it breaks a property.
        """
        __tracebackhide__ = True
        if step is not None:
            self._go(step.step)
        elif self._walk.offers():
            raise UsageError(f"step = None, although steps are enabled: {', '.join(self._walk.offers())}")
        elif currently_in_test_context():
            event("nothing is enabled")

    def _go(self, step: Step) -> None:
        __tracebackhide__ = True  # the specification failed; pytest need not show this code
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
        """Called after the specification has begun or has taken a step."""

    def teardown(self) -> None:
        """End the walk, and report to Hypothesis how many distinct actions it took.

        Raises:
            SpecificationError: data outside the state that actions or properties read has changed.
        """
        self._graph.model.hidden_state.require_unchanged()
        if currently_in_test_context() and _running().max_examples >= TARGETED:
            target(len(self._distinct), label="distinct actions taken")

    @classmethod
    def _makes_it(cls) -> str:
        """The lines of a program before it makes a machine of this class, which may be a person's subclass."""
        if "recipe" in vars(cls):
            return cls.recipe
        names = tuple(function.__name__ for function in cls.actions)
        return "\n".join([*cls._recipe.imports_with(cls), "", *unpacked(names, f"{cls.__name__}.actions")])

    @staticmethod
    def _print(lines: str) -> None:
        """Print lines together with Hypothesis's steps, if it prints this run."""
        if currently_in_test_context():
            note(lines)


def as_state_machine(specification: SpecificationOrClass, *, bounds: bool = True) -> type[SpecificationMachine]:
    """A Hypothesis state machine that takes random walks through a specification.

    Its rule `take` takes a step; `actions` are the functions that make steps. Every state must hold values of its
    domains and keep all invariants, and every step must keep the transition invariants. A `sometimes` is not
    required, but `--hypothesis-show-statistics` shows which were seen and which actions were taken. If nothing is
    enabled, the walk stays where it is.
    If there are several initial states, or the only one breaks a property, a program begins with `begin`, which takes
    an `initial`.

    Under pytest, `TestCounter = as_state_machine(Counter(top=3)).TestCase`. A failure prints a complete program: it
    imports the specification, makes the machine, and takes the steps. The same by hand:

        >>> from spec.language import Specification, State, action, invariant, variable
        >>> class Counts(State):
        ...     count: int = variable("The number of presses.", of=lambda self: range(10))
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
        bounds: whether `bound` forbids steps. Without bounds a walk may well leave a domain.

    Returns:
        A class whose name differs for each system, variant and constants, so that Hypothesis keeps their examples
        apart. The functions of `actions` take plain values as keywords. A subclass may add `@invariant()`s and a
        `teardown` that calls the machine's, but no rules.

    Raises:
        SpecificationError: the specification has a mistake.
    """
    graph = WalkedGraph(specification, bounds=bounds)
    return machine_class(SpecificationMachine, graph, Recipe(as_state_machine, graph), {})


def machine_class(
    base: type[SpecificationMachine], graph: WalkedGraph, recipe: Recipe, namespace: Mapping[str, Any]
) -> type[SpecificationMachine]:
    """The class of machines on a graph, derived from a base, with the recipe that makes it again."""
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
