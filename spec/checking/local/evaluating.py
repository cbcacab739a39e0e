"""The subjects of evaluation, actions and properties, and their views of the state, its predecessor, and the step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spec.checking.local.lazy import UNREAD
from spec.checking.local.outcomes import CLOSED, ENABLED, FAILED, FOUND, LEFT, USUAL
from spec.checking.model import Model
from spec.language.cells import CellRow, OutOfCell
from spec.language.errors import Bounded, Disabled, NotApplicable, SpecificationError
from spec.language.instances import Instance
from spec.language.rules import Action


class NoStep(BaseException):
    """A property reads the step, and there was none."""


class EvaluationView:
    """The state, the state before and the step, in the part that an evaluation has read."""

    def __init__(self, model: Model, here: CellRow, before: CellRow):
        self.model, self.here, self.before = model, here, before
        self.s, self.then = (model.layout.states(model.layout, row) for row in (here, before))
        self._bound: dict[int, Callable[[], Any]] = {}

    def bound(self, instance: Instance) -> Callable[[], Any]:
        """An instance as a function without arguments, on the state seen here."""
        found = self._bound.get(id(instance))
        if found is None:
            found = self._bound[id(instance)] = self.runnable(instance).on(self.s)
        return found

    def runnable(self, instance: Instance) -> Instance:
        """The instance in the form that runs here."""
        return instance

    def step(self) -> Any:
        """The step from the state before to this one; NoStep if there is none, if that is noticed at once."""
        raise NotImplementedError

    def has_no_step(self) -> bool:
        """Whether an attempt to read a missing step was noticed."""
        raise NotImplementedError

    def obtained(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The cells looked at or assigned to so far, in order, of the present state and of the one before."""
        return tuple(self.here.values), tuple(self.before.values)

    def put(self) -> None:
        """Accept the assignments. OutOfCell if a value lies outside its domain, SpecificationError if it is not a
        value that a state may have.
        """
        raise NotImplementedError


class BlindRow(CellRow):
    """A row that can be assigned to without being read. Its `values` know the `original` of a cell."""

    __slots__ = ()

    def write(self, at: int, value: Any, name: str, by: int = 0, again: bool = False) -> None:  # noqa: D102
        if self.writer is None:
            super().write(at, value, name)  # raises the right error
        before = self.values.get(at, UNREAD)
        if before is not value or again:
            self.values[at] = value
            self.record(at, before, by)

    def before(self, at: int, value: Any) -> Any:  # noqa: D102
        return self.values.original(at) if value is UNREAD else value


class Act:
    """An instance of an action."""

    misplaced = LEFT

    def __init__(self, action: Action, index: int):
        self.action, self.index, self.instance = action, index, action.instances[index]
        self.rule = action.name
        self.too_deep = False
        """Whether it exceeded the recursion limit in some evaluation."""

    def __call__(self, view: EvaluationView) -> int:
        """The outcome."""
        view.here.writer = self.rule
        try:
            returned = view.bound(self.instance)()
        except Bounded:
            return CLOSED
        except Disabled:
            return USUAL
        view.put()
        if returned is not None:
            raise SpecificationError("an action returns nothing")
        return ENABLED

    def __str__(self) -> str:
        return str(self.action.step(self.index))


class Judge:
    """An instance of a property."""

    misplaced = FAILED

    def __init__(self, rule: str, instance: Instance, sought: bool, over_steps: bool):
        self.rule, self.instance, self.sought, self.over_steps = rule, instance, sought, over_steps
        self.too_deep = False
        """Whether it exceeded the recursion limit in some evaluation."""

    def __call__(self, view: EvaluationView) -> int:
        """The outcome."""
        try:
            answer = (
                view.runnable(self.instance)(view.then, view.step(), view.s)
                if self.over_steps
                else view.bound(self.instance)()
            )
        except NoStep:
            return FOUND
        except NotApplicable:
            answer = not self.sought
        except Disabled:
            raise SpecificationError("`require` and `bound` belong in actions") from None
        if self.over_steps and view.has_no_step():  # the property caught the exception
            return FOUND
        if answer is self.sought:
            return FOUND
        if answer is not (not self.sought):
            raise SpecificationError("a property answers True or False")
        return USUAL

    def __str__(self) -> str:
        return self.rule


Evaluated = Act | Judge
"""The subject of an evaluation. Its `rule` is the name of the action or property."""


def outcome_on_plain_values(evaluate: Evaluated, view: EvaluationView) -> int:
    """The outcome on a view with plain values: any exception is a failure of the subject."""
    try:
        return evaluate(view)
    except OutOfCell:
        return evaluate.misplaced
    except KeyboardInterrupt:
        raise
    except BaseException as failure:  # including sys.exit: its caller is at fault
        evaluate.too_deep |= isinstance(failure, RecursionError)
        return FAILED
