"""The model of a specification: its initial states, the successors of a state, and the properties a state decides.

Engines know nothing more of a specification. States go in and out as tuples (`spec.language.state`); actions and
properties are identified by number, in order of declaration. Mistakes of the author that show when actions and
properties run are caught here, once for all engines.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Coroutine, Generator, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar

from spec.checking import arguments
from spec.checking.arguments import SpecificationOrClass
from spec.checking.code.hidden_state import HiddenState
from spec.checking.code.unread import UnreadParameters
from spec.checking.goal import Goal
from spec.checking.values.text import Spelling, encoded, jsonable, show, spelling_of
from spec.language.cells import OutOfCell
from spec.language.errors import (
    Bounded,
    Disabled,
    NotApplicable,
    SpecificationError,
    error_text,
    represented,
    safe_repr,
)
from spec.language.instances import NO_INSTANCES, Instance, within
from spec.language.ranges import Present
from spec.language.rules import Action, Property
from spec.language.specification import without_word
from spec.language.state import Layout, State, Values, Window
from spec.language.words import Step

T = TypeVar("T")

Choice = tuple[int, int]
"""A step by the numbers of its action and of its instance."""
Path = tuple[Values, Sequence[Choice]]
"""An initial state, and the action and instance of each step."""

TYPE_OK = "type_ok"
DEADLOCK = "deadlock"


class EvaluationFailed(Exception):
    """An action or property raised, or broke the rules for such functions; with the state in which it happened."""

    path: Path | None = None
    """A path to that state, if the engine knows one."""
    trace: Any = None
    """The `Trace` along that path, if it could be made."""

    def __init__(self, what: str, cause: str, state: str):
        super().__init__(f"{what}: {cause}")
        self.what, self.cause, self.state = what, cause, state

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.what, self.cause, self.state))


class OpaqueRuleFound(Exception):
    """Lazy values were found not to be safe in an action or property, so the exploration is void.

    It gave another result on them than on plain ones; or it ran code that could tell them apart.

    When this is raised in the model's process, the rule is already in `Model.opaque_rules`; everything begins again.
    """

    def __init__(self, rule: str):
        super().__init__(rule)
        self.rule = rule


def retry_on_opaque_rule(attempt: Callable[[bool], T]) -> T:
    """The result of an attempt, repeated as often as necessary. Its argument says whether it is a repetition."""
    again = False
    while True:
        try:
            return attempt(again)
        except OpaqueRuleFound:
            again = True


class ExitAttempted(EvaluationFailed):
    """An action or property would have ended the whole program: its author's mistake."""


class Transition(NamedTuple):
    """One step from a state, with the successor."""

    action: int
    instance: int
    after: Values | None
    """The successor; None where a value lies outside its domain."""
    out_of_domain: str
    """The value, its place, and what is allowed; empty if there is a successor."""
    found: tuple[int, ...]
    """The properties of steps that it decides: transition invariants broken, witnesses seen."""


class Expansion(NamedTuple):
    """All transitions from a state."""

    steps: list[Transition]
    bounded: tuple[int, ...]
    """The actions of which a bound forbids some step; if there are any, a state without steps is no deadlock."""


class _Judge(NamedTuple):
    """A property ready to be evaluated, on windows that stay the same objects for all states."""

    property: Property
    sought: bool
    """The answer that decides it: False for an invariant, True for a witness."""
    calls: Iterable[Callable[..., Any]]
    """Its instances: functions without arguments, or of a step and the state after it."""
    after: State | None
    """Its view of the state after a step."""


class _PresentJudges:
    """The instances of a property whose parameters are there in the state of a window, as functions."""

    def __init__(self, judged: Property, s: State):
        self._judged, self._s = judged, s
        self._ready: dict[int, Callable[[], Any]] = {}

    def __iter__(self) -> Iterator[Callable[[], Any]]:
        for number in self._judged.present(self._s):
            call = self._ready.get(number)
            if call is None:
                call = self._ready[number] = self._judged.instances[number].present_on(self._s)
            yield call


def _judging(judged: Property, s: State) -> Iterable[Callable[[], Any]]:
    """The instances of a property of states that may decide it in the state of a window."""
    if judged.ranges is None:
        return tuple(instance.on(s) for instance in judged.instances)
    return _PresentJudges(judged, s)


class _Measured:
    """Functions whose calls are measured, as is the time of finding them."""

    def __init__(self, calls: Iterable[Callable[..., Any]], measured: Callable[[Callable[..., Any]], Any]):
        self._calls, self._measured = calls, measured

    def __iter__(self) -> Iterator[Callable[..., Any]]:
        return map(self._measured, self._calls)


class _Acts(dict[int, Callable[[], Any]]):
    """The instances of an action as functions without arguments, on a state that stays the same object.

    An instance is made ready when it is first met: its view of the state is made once, not for each step. One without
    a test whether its parameters are there takes only those that are `present`.
    """

    def __init__(self, action: Action, s: State, measured: Callable[[Callable[..., Any]], Any] = lambda call: call):
        super().__init__()
        self._action, self._s, self._measured = action, s, measured
        self.present: Callable[[], Present] = measured(partial(action.present, s))
        """The instances that may be enabled; it raises the errors of `Action.present`."""
        self.evaluated: dict[int, int] = defaultdict(int)
        """How often each was evaluated."""
        instances = action.instances
        first = instances[0] if instances and instances.are_all else None
        self.unread = UnreadParameters(
            None if first is None else first.untested or first.run,
            {name: domain.size for name, domain in action.domains.items()},
        )

    def __missing__(self, index: int) -> Callable[[], Any]:
        instance = self._action.instances[index]
        tested = self._action.ranges is None
        act: Callable[[], Any]
        act = self[index] = self._measured(instance.on(self._s) if tested else instance.present_on(self._s))
        return act


class CurrentEvaluation:
    """The evaluation that a model is busy with, for another thread to watch."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now: tuple[Callable[..., str], Any, Any] | None = None
        """A function that describes the evaluation, and its arguments; a new tuple for each evaluation, else None."""


class Model:
    """A specification under its constants, ready to be explored; with a goal, if there is one."""

    def __init__(self, specification: SpecificationOrClass, goal: Goal | None = None, folds: bool = True):
        self.specification = specification = arguments.as_specification(specification)
        self.layout = Layout(specification.variables, specification.states)
        self.actions = specification.actions
        if not self.actions:
            hint = without_word(type(specification))
            raise SpecificationError(f"{specification.name}: it has no action{hint and f'; {hint}'}")
        self.hidden_state = HiddenState(specification)
        type_ok = Property(TYPE_OK, "invariant", "Every variable holds a value of its domain.", False, NO_INSTANCES)
        deadlock = Property(DEADLOCK, "invariant", "In every state some action is enabled.", False, NO_INSTANCES)
        self.goal = goal
        """The goal to show, if any. A property stands for it."""
        shows = () if goal is None else (goal.property_of(specification),)
        more = tuple(each for each in shows if each not in specification.properties)
        self.properties: tuple[Property, ...] = (type_ok, *specification.properties, *more, deadlock)
        """Every property, `type_ok` first and `deadlock` last; these two have no instances of their own."""
        self.sought = self.properties.index(shows[0]) if shows else None
        """The number of the property that stands for the goal."""
        self.views = specification.views
        """Sentences for traces; no engine evaluates them."""
        self._here, self._again = Window(self.layout), Window(self.layout)
        self._there, self._before, self._after = (Window(self.layout, only_read=True) for _ in range(3))
        self.under_way = CurrentEvaluation()
        self.folds = folds
        """Whether engines that learn leave out what does not matter to a loop (`spec.checking.local.folds`)."""
        self.opaque_rules = set[str]()
        """Names of actions and properties that were found to give other results on lazy values than on plain ones.
        Engines that learn evaluate them on plain values."""
        self._acts = [_Acts(action, self._here.s) for action in self.actions]
        self._judges = tuple(self._judge(number) for number in range(len(self.properties)))

    @cached_property
    def spelling(self) -> Spelling:
        """How its values are written."""
        parameters = (domain for action in self.actions for domain in action.domains.values())
        return spelling_of(self.layout, parameters, show, (jsonable, encoded))

    def numbers(self, names: Iterable[str]) -> tuple[int, ...]:
        """The numbers of the properties with these names, in order of declaration."""
        wanted = set(names)
        return tuple(n for n, each in enumerate(self.properties) if each.name in wanted)

    def initial_states(self) -> Iterator[tuple[Values | None, str]]:
        """Each initial state, once; None for one with a value outside its domain, with the error."""
        met: set[Values | None] = set()
        for _, state, wrong in self.begun():
            if state is None or state not in met:
                met.add(state)
                yield state, wrong
        if not met:
            raise SpecificationError(f"{self.specification.name}: it has no initial state")

    def begun(self) -> Iterator[tuple[Instance, Values | None, str]]:
        """Each enabled instance of `initial`, with the state that it makes, as in `initial_states`."""
        window, under_way, first = self._here, self.under_way, self.layout.first()
        for instance in self.specification.initials:
            under_way.now = self.describe, "initial", first
            window.load(first)
            window.writable("initial")
            state: Values | None
            try:
                instance(window.s)
                state, wrong = window.changed(), ""
            except OutOfCell as misplaced:
                state, wrong = None, str(misplaced)
            except Disabled:
                continue
            except BaseException as failure:
                raise self._failed("initial", failure, first) from failure
            finally:
                window.writable(None)
                under_way.now = None
            yield instance, state, wrong

    def first_states(self) -> list[Values]:
        """The initial states, see `each_first_state`."""
        return list(self.each_first_state())

    def each_first_state(self) -> Iterator[Values]:
        """Each initial state, once, as it is made; all are within their domains.

        Raises:
            SpecificationError: one of them is outside its domain.
        """
        for state, wrong in self.initial_states():
            if state is None:
                raise SpecificationError(f"the initial state is outside its domain: {wrong}")
            yield state

    def expand(self, state: Values, looking_for: Sequence[int] = ()) -> Expansion:
        """Every step from a state, each with those of the given properties of steps that it decides."""
        here, bounded, steps, under_way, describe = self._here, [], [], self.under_way, self._step_text
        here.load(state)
        dirty = here.dirty
        if looking_for:
            self._before.load(state)
        for number, action in enumerate(self.actions):
            acts = self._acts[number]
            evaluated = acts.evaluated
            here.writable(action.name)
            under_way.now = self.describe, action.name, state
            try:
                present, closed = acts.present()
            except BaseException as failure:
                raise self._failed(action.name, failure, state) from failure
            fails_until = 0
            for index in present:
                if index < fails_until:
                    continue
                wrong = ""
                after: Values | None
                under_way.now = describe, (action, index), state
                try:
                    returned = acts[index]()
                    after = here.changed()
                except Disabled as refused:
                    closed |= isinstance(refused, Bounded)
                    after = None
                    if acts.unread.blocks:
                        fails_until = acts.unread.fails_until(index, refused.__traceback__)
                except OutOfCell as misplaced:
                    after, wrong = None, str(misplaced)
                except BaseException as failure:
                    raise self._failed(action.step(index), failure, state) from failure
                else:
                    if returned is not None:
                        cause = f"it returns {_shown(returned)}: an action assigns to s, and returns nothing"
                        raise self._failed(action.step(index), cause, state)
                evaluated[index] += 1
                if evaluated[index] < 8 or not evaluated[index] % 64:
                    self._must_repeat(action, index, state, after, wrong)
                if after is not None:
                    found: tuple[int, ...] = ()
                    if looking_for:
                        self._after.load(after)
                        found = self._decided(looking_for, state, action.step(index))
                    steps.append(Transition(number, index, after, "", found))
                elif wrong:
                    steps.append(Transition(number, index, None, wrong, ()))
                if dirty:
                    here.reset()
            if closed:
                bounded.append(number)
        under_way.now = None
        return Expansion(steps, tuple(bounded))

    def found_in(self, state: Values, looking_for: Sequence[int]) -> tuple[int, ...]:
        """The given properties of states that this state decides: invariants broken, witnesses seen."""
        self._there.load(state)
        return self._decided(looking_for, state)

    def found_on(
        self, before: Values, choice: tuple[int, int], after: Values, looking_for: Sequence[int]
    ) -> tuple[int, ...]:
        """The given properties of steps that this step decides."""
        if not looking_for:
            return ()
        self._before.load(before)
        self._after.load(after)
        return self._decided(looking_for, before, self.actions[choice[0]].step(choice[1]))

    def replay_choices(self, choices: Collection[tuple[int, int]]) -> Model:
        """The same model with only these instances of actions. Instances are numbered anew, actions are not."""
        return self.with_actions(
            replace(
                action,
                instances=action.instances.only(sorted({at for its, at in choices if its == number})),
                ranges=None,
            )
            for number, action in enumerate(self.actions)
        )

    def with_actions(self, actions: Iterable[Action]) -> Model:
        """The same model with other actions."""
        other = copy(self)
        other.actions = tuple(actions)
        other._acts = [_Acts(action, other._here.s) for action in other.actions]
        return other

    def timed(self) -> Mapping[str, float]:
        """From now on measure plain evaluations; the seconds spent in each action and property so far, by name."""
        seconds = dict.fromkeys(
            [*(each.name for each in self.actions), *(each.name for each in self.properties)], 0.0
        )

        def measured(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
            def run(*given: Any) -> Any:
                began = time.perf_counter()
                try:
                    return call(*given)
                finally:
                    seconds[name] += time.perf_counter() - began

            return run

        self._acts = [_Acts(each, self._here.s, partial(measured, each.name)) for each in self.actions]
        self._judges = tuple(
            each._replace(calls=_Measured(each.calls, partial(measured, each.property.name))) for each in self._judges
        )
        return seconds

    def window(self) -> Window:
        """A new window on this model's states."""
        return Window(self.layout)

    def _judge(self, number: int) -> _Judge:
        asked = self.properties[number]
        sought = asked.kind == "sometimes"
        if not asked.over_steps:
            return _Judge(asked, sought, _judging(asked, self._there.s), None)
        before, after = (within(asked.part, (window.s,))[0] for window in (self._before, self._after))
        calls = tuple(partial(instance.run, before, **instance.parameters) for instance in asked.instances)
        return _Judge(asked, sought, calls, after)

    def _decided(self, looking_for: Sequence[int], where: Values, step: Step | None = None) -> tuple[int, ...]:
        """The invariants that are broken here, and the witnesses that are seen.

        Instances are evaluated in order, up to one that decides.
        """
        found, under_way, describe = [], self.under_way, self.describe
        for number in looking_for:
            judged, sought, calls, after = self._judges[number]
            under_way.now = describe, judged.name, where
            seen: tuple[Any, ...] = ()
            if step is not None:
                seen = (within(judged.part, (step,))[0] if judged.part else step), after
            try:
                for call in calls:
                    try:
                        answer = call(*seen)
                    except NotApplicable:
                        continue
                    if answer is not (not sought):
                        break
                else:
                    continue
            except Disabled:
                raise self._misjudged(judged, step, "`require` and `bound` belong in actions", where) from None
            except BaseException as failure:
                raise self._misjudged(judged, step, failure, where) from failure
            if answer is not sought:
                raise self._misjudged(judged, step, f"it answers {_shown(answer)}, not True or False", where)
            found.append(number)
        under_way.now = None
        return tuple(found)

    def _misjudged(
        self, judged: Property, step: Step | None, failure: BaseException | str, where: Values
    ) -> EvaluationFailed:
        return self._failed(judged.name if step is None else f"{judged.name} of {step}", failure, where)

    def _must_repeat(self, action: Action, index: int, state: Values, first: Values | None, wrong: str) -> None:
        """Check that an action is a function of the state: repeated, it must give the same."""
        step, instance, window = action.step(index), action.instances[index], self._again
        window.load(state)
        window.writable(step.action)
        second: Values | None = None
        again = ""
        try:
            instance(window.s)
            second = window.changed()
        except Disabled:
            pass
        except OutOfCell as misplaced:
            again = str(misplaced)
        except BaseException as failure:
            raise self._failed(step, failure, state) from failure
        finally:
            window.writable(None)
        if first != second or wrong != again:
            differing = self._difference(first, second)
            if wrong or again:
                differing = f"a value was outside its domain ({wrong or again}), and the second time it was not"
            raise self._failed(step, f"it is not deterministic: done twice in one state, {differing}", state)

    def _difference(self, first: Values | None, second: Values | None) -> str:
        if first is None or second is None:
            return "it was enabled once, and once it was not"
        cell, one, other = next(
            (cell, one, other)
            for cell, one, other in zip(self.layout.cells, first, second, strict=True)
            if one != other
        )
        return f"{cell.name} became {represented(one)} and {represented(other)}"

    def _failed(self, what: object, failure: BaseException | str, state: Values) -> EvaluationFailed:
        """The error for an evaluation that raised; KeyboardInterrupt if it was interrupted, and has not failed."""
        if isinstance(failure, KeyboardInterrupt):
            raise failure
        if isinstance(failure, SystemExit):
            cause = f"it calls sys.exit({'' if failure.code is None else safe_repr(failure.code)})"
            return ExitAttempted(str(what), f"{cause}, which would end the whole program", self.show(state))
        if isinstance(failure, SpecificationError | str):
            cause = str(failure)
        elif isinstance(failure, AttributeError) and "can't set attribute" in str(failure):
            cause = f"{failure}: values of the state are replaced whole, `record._replace(...)`"
        else:
            cause = error_text(failure)
        return EvaluationFailed(str(what), cause, self.show(state))

    def describe(self, what: object, state: Values) -> str:
        """An evaluation, in one line."""
        return f"{what} in the state {self.show(state) or 'in which every variable has its first value'}"

    def _step_text(self, step: tuple[Action, int], state: Values) -> str:
        return self.describe(step[0].step(step[1]), state)

    def show(self, state: Values) -> str:
        """A state in one line: the variables that differ from the first value of their domain."""
        return ", ".join(
            f"{cell.name} = {represented(value)}"
            for cell, value, plain in zip(self.layout.cells, state, self.layout.first(), strict=True)
            if value is not plain
        )


def _shown(answer: object) -> str:
    """The value that an evaluation returned, in words that are the same in every run."""
    if isinstance(answer, Coroutine):
        answer.close()  # otherwise Python warns that it was never awaited
        return "a coroutine"
    return "a generator" if isinstance(answer, Generator) else safe_repr(answer)
