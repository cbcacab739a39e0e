"""Renamings: an evaluation is compared with itself under other names of interchangeable values.

An evaluation is an instance of an action or property, in a state. Engines that learn compare each path once, in the
state in which it was recorded: a path is a whole computation, and all states that agree in what it read share its
outcome. Other engines compare state by state, a rule with all its instances at a time: its steps in an image of the
state must be the images of its steps.

It is repeated in two ways, and must have the same outcome:

- With *anonymous* values (`spec.language.symmetry`), which support only equality. An evaluation with the same
  outcome there has it whatever the names are. It is repeated once for each value as which they may hash, so that no
  name can be looked up in a set or mapping. Each repetition uses another image of the state, if there are enough.
- With the names themselves, in images of the state under *permutations*: all of a small group, otherwise its
  generators. This finds code that depends on the order in which sets and mappings are iterated, or on text and
  numbers made of names. For a large group it is no proof, and the verdict says so.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from inspect import unwrap
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from spec import language
from spec.checking.model import EvaluationFailed, Model
from spec.checking.symmetry.group import Permuted, described, sorts_in
from spec.language.cells import OutOfCell
from spec.language.errors import (
    Bounded,
    Disabled,
    NotApplicable,
    OutOfDomain,
    SpecificationError,
    UsageError,
    error_text,
)
from spec.language.permutations import Permutation, Sorts
from spec.language.state import Values
from spec.language.symmetry import Anonymous, ValuesDistinguished, anonymity, with_article

T = TypeVar("T")

REMEDY: Final = "compare values of the state only with each other, not with constants, or leave out --symmetry"
"""Advice to the author."""
SPOT_CHECKS: Final = 8
"""States of a level that are compared under permutations, besides learned paths. In an image of its state a path
may read more, if it iterates a set in another order: then one state does not represent all states of the path."""
LIBRARY_PACKAGES: Final = (Path(language.__file__).parent, Path(__file__).parent)
"""Folders of code that calls an author's code or is called by it. The top folder of Python's library counts too."""
ACTION, OF_STATE, OF_STEP = "action", "state", "step"
USUAL, FOUND, ENABLED, CLOSED, LEFT, FAILED, ASKS = "usual", "found", "enabled", "closed", "left", "failed", "asks"
OUTSIDE: Final = -1
"""In place of the packed state after a step that leaves the domains."""


class Probe(NamedTuple):
    """A permutation that is tried on evaluations."""

    permutation: Permutation
    states: Permuted
    """Its effect on states."""
    actions: tuple[tuple[int, ...], ...]
    """By action and instance: the instance with the parameters permuted."""
    properties: tuple[tuple[int, ...], ...]
    """The same for properties."""

    def of(self, evaluation: Evaluation) -> Evaluation:
        """An evaluation with everything permuted."""
        kind, number, instance, here, before, step = evaluation
        instances = self.actions if kind == ACTION else self.properties
        if step is not None:
            step = step[0], self.actions[step[0]][step[1]]
        return Evaluation(
            kind, number, instances[number][instance], self.states.of(here), self.states.of(before), step
        )


class Evaluation(NamedTuple):
    """An instance of an action or property, and where it is evaluated, in packed states."""

    kind: str
    """ACTION, OF_STATE or OF_STEP."""
    number: int
    """The number of the action or property."""
    instance: int
    """The number of the instance."""
    here: int
    """The state; for a property of steps the one after the step."""
    before: int
    """The state before the step; otherwise the same state."""
    step: tuple[int, int] | None = None
    """Action and instance of the step; None if the property must not see one."""


EvaluationOutcome = tuple[str, int]
"""The outcome of an evaluation; and for an enabled action the packed state after it, otherwise 0."""


class RuleOutcome(NamedTuple):
    """What an action or property does in a state, with all its instances."""

    decided: bool
    """Whether the property is decided; or whether a bound forbids the action."""
    steps: Mapping[int, tuple[int, tuple[int, ...]]]
    """By instance, each step of the action: the packed state after it, OUTSIDE if a value leaves its domain; and the
    properties of steps that it decides."""


class ComparisonCounts(NamedTuple):
    """The comparisons so far, as far as they are counted."""

    states: int = 0
    """States compared one by one."""
    by_permutations: frozenset[str] = frozenset()
    """Actions and properties that made text or numbers from names, and sorts whose values have names throughout: only
    permutations can test these."""
    left_out: int = 0
    """States that were expanded in plain Python, by no learned path, and not compared."""

    def besides(self, other: ComparisonCounts) -> ComparisonCounts:
        """The sum of both."""
        return ComparisonCounts(
            self.states + other.states, self.by_permutations | other.by_permutations, self.left_out + other.left_out
        )


class _AsksForStep(BaseException):
    """A property reads the step, and there was none."""


class _NoStep:
    """Stands for the step where there is none."""

    def __getattr__(self, _: str) -> Any:
        raise _AsksForStep


class _RenamedEvaluation:
    """One way of naming values: evaluates on a model with windows of its own, and on the model with each of its
    actions alone. Anonymous values hash as the value of this number, unless it is None. The probe permutes an
    evaluation before it is done.
    """

    def __init__(self, model: Model, hashed_as: int | None, probe: Probe | None, alone: Sequence[Model] = ()):
        self.model, self.hashed_as, self.probe, self._alone = model, hashed_as, probe, alone
        self._here, self._before = model.window(), model.window()
        self._at = self._at_before = -1
        self._image: tuple[int, Values] = -1, ()
        """The latest state, packed, and the values of its image."""
        self.failure: BaseException | None = None
        """The exception of the latest evaluation."""
        self.converted = False
        """Whether the latest evaluation made text or numbers from anonymous values."""

    def outcome(self, evaluation: Evaluation) -> EvaluationOutcome:
        """The outcome of an evaluation, after permuting it."""
        if self.probe is not None:
            evaluation = self.probe.of(evaluation)
        return self._named(partial(self._outcome, evaluation)) or (FAILED, 0)

    def of_rule(self, kind: str, number: int, state: int, in_steps: Sequence[int]) -> RuleOutcome | None:
        """What an action or a property of states does in the image of a packed state; None if it fails.

        The steps of an action may decide properties of steps, `in_steps`.
        """
        return self._named(partial(self._of_rule, kind, number, state, in_steps))

    def image_of(self, kind: str, number: int, outcome: RuleOutcome) -> RuleOutcome:
        """The outcome that a rule without preferences has here, if it has this one in the state itself."""
        if self.probe is None or kind != ACTION:
            return outcome
        instances, states = self.probe.actions[number], self.probe.states
        return outcome._replace(
            steps={
                instances[its]: (after if after == OUTSIDE else states.of(after), found)
                for its, (after, found) in outcome.steps.items()
            }
        )

    def _named(self, evaluate: Callable[[], T | None]) -> T | None:
        """An outcome under these names; None if anonymous values are distinguished, even if that error is caught."""
        self.failure, self.converted = None, False
        if self.hashed_as is None:
            return evaluate()
        with anonymity(self.hashed_as) as noticed:
            found = evaluate()
            self.converted = noticed.converted
            if noticed.distinguished is not None:
                self.failure = noticed.distinguished
                return None
        return found

    def _of_rule(self, kind: str, number: int, state: int, in_steps: Sequence[int]) -> RuleOutcome | None:
        if self._image[0] != state:  # a state is asked for once for each rule
            image = state if self.probe is None else self.probe.states.of(state)
            self._image = state, self.model.layout.unpack(image)
        values, pack = self._image[1], self.model.layout.pack
        try:
            if kind == OF_STATE:
                return RuleOutcome(bool(self.model.found_in(values, [number])), {})
            steps, bounded = self._alone[number].expand(values, in_steps)
        except EvaluationFailed as failed:
            self.failure = failed.__cause__ or failed
            self.model.under_way.now = None
            return None
        its = {each.instance: (OUTSIDE if each.after is None else pack(each.after), each.found) for each in steps}
        return RuleOutcome(bool(bounded), its)

    def _outcome(self, evaluation: Evaluation) -> EvaluationOutcome:
        if self._at != evaluation.here:
            self._here.load(self.model.layout.unpack(evaluation.here))
            self._at = evaluation.here
        try:
            if evaluation.kind == ACTION:
                return self._act(evaluation)
            return self._judge(evaluation)
        except _AsksForStep:
            return ASKS, 0
        except KeyboardInterrupt:
            raise
        except BaseException as failure:  # including sys.exit: its caller is at fault
            self.failure = failure
            return FAILED, 0
        finally:
            self._here.writable(None)
            self._here.reset()

    def _act(self, evaluation: Evaluation) -> EvaluationOutcome:
        action = self.model.actions[evaluation.number]
        self._here.writable(action.name)
        try:
            returned = action.instances[evaluation.instance](self._here.s)
            after = self._here.packed(evaluation.here)
        except Bounded:
            return CLOSED, 0
        except Disabled:
            return USUAL, 0
        except OutOfCell as misplaced:
            self.failure = misplaced
            return LEFT, 0
        return (ENABLED, after) if returned is None else (FAILED, 0)

    def _judge(self, evaluation: Evaluation) -> EvaluationOutcome:
        judged = self.model.properties[evaluation.number]
        given: tuple[Any, ...] = (self._here.s,)
        if evaluation.kind == OF_STEP:
            if self._at_before != evaluation.before:
                self._before.load(self.model.layout.unpack(evaluation.before))
                self._at_before = evaluation.before
            step = evaluation.step
            it: Any = _NoStep() if step is None else self.model.actions[step[0]].step(step[1])
            given = (self._before.s, it, self._here.s)
        sought = judged.kind == "sometimes"
        try:
            answer = judged.instances[evaluation.instance](*given)
        except NotApplicable:
            return USUAL, 0
        except Disabled:
            return FAILED, 0
        if answer is not True and answer is not False:
            return FAILED, 0
        return (FOUND if answer is sought else USUAL), 0


class Renamings:
    """Compares evaluations of a model under these permutations, which may be the whole group without the identity."""

    def __init__(self, model: Model, sorts: Sorts, probes: Sequence[Probe], *, whole: bool):
        self.model, self.sorts, self.probes, self.whole = model, sorts, tuple(probes), whole
        self.compared = ComparisonCounts()
        self.anonymous = [self._anonymous(number) for number in range(max(map(len, sorts.values())))]
        """The model with anonymous values, by the value as which they hash; each must be used under the `anonymity`
        of its number."""
        self._note(
            sort
            for sort, its in sorts_in(self.anonymous[0]).items()
            if any(type(one) is not Anonymous for one in its)
        )
        images = [None, *self.probes]
        alone = _one_by_one(model)
        self._with_names = _RenamedEvaluation(model, None, None, alone)
        self._anonymously = [
            _RenamedEvaluation(each, number, images[number] if number < len(images) else None, _one_by_one(each))
            for number, each in enumerate(self.anonymous)
        ]
        self._permuted = [_RenamedEvaluation(model, None, probe, alone) for probe in self.probes]

    def leave_out(self, states: int) -> None:
        """Count so many states as explored and not compared."""
        self.compared = self.compared.besides(ComparisonCounts(left_out=states))

    def news(self) -> ComparisonCounts:
        """The comparisons since this was last asked, for a report to which others are added."""
        found, self.compared = self.compared, ComparisonCounts(by_permutations=self.compared.by_permutations)
        return found

    @property
    def repetitions(self) -> int:
        """How often an evaluation is done for a comparison."""
        return 1 + len(self._anonymously) + len(self._permuted)

    def _anonymous(self, number: int) -> Model:
        specification = self.model.specification
        with anonymity(number):
            try:
                return Model(type(specification)(**specification.valuation), self.model.goal)
            except (ValuesDistinguished, OutOfDomain, TypeError) as failed:
                raise self.refused("a domain", str(failed), place_of(failed)) from failed

    def compare_state(
        self, state: int, in_states: Sequence[int], in_steps: Sequence[int], anonymously: bool = True
    ) -> None:
        """Compare what actions and these properties do in a packed state; UsageError if they distinguish values."""
        for number in in_states:
            self._compare_rule(OF_STATE, number, state, in_steps, anonymously)
        for number in range(len(self.model.actions)):
            self._compare_rule(ACTION, number, state, in_steps, anonymously)
        self.compared = self.compared.besides(ComparisonCounts(1))

    def _compare_rule(self, kind: str, number: int, state: int, in_steps: Sequence[int], anonymously: bool) -> None:
        """Compare an action or a property of states in a packed state.

        Merging orbits is right if the steps of each image of a state are the images of its steps, and decide the same
        properties. That is what is compared: one expansion under each renaming, which passes over instances that have
        no step, instead of one evaluation of each instance under each renaming. An instance that does nothing here
        and something in an image shows in the image's steps, so nothing is lost by not asking for it. Bounds are
        compared as far as they matter: whether any forbids a step, which tells deadlocks apart. A range that
        distinguishes values gives other steps; a value outside its domain is a step.

        What an expansion does not tell is who is to blame: that is found instance by instance. A rule that fails is
        also compared so, because the run may go on without the instances that fail.
        """
        expected = self._with_names.of_rule(kind, number, state, in_steps)
        blamed = Evaluation(kind, number, 0, state, state)
        if expected is None:
            self._compare_instances(blamed, in_steps, anonymously)
            return
        for names in (*(self._anonymously if anonymously else ()), *self._permuted):
            same = names.of_rule(kind, number, state, in_steps) == names.image_of(kind, number, expected)
            if names.converted:
                self._note([self._name_of(kind, number)])
            if not same:
                failure = names.failure
                self._compare_instances(blamed, in_steps, anonymously)
                names.failure = failure
                raise self._refused(blamed, names)  # though no single instance gives a reason

    def _compare_instances(self, it: Evaluation, in_steps: Sequence[int], anonymously: bool) -> None:
        """Compare the action or property of this evaluation instance by instance; UsageError if one distinguishes
        values.
        """
        kind, number, _, state, _, _ = it
        named = self.model.actions if kind == ACTION else self.model.properties
        for instance in range(named[number].instances.size):
            came_of_it, after = self.compare(it._replace(instance=instance), anonymously)
            for judged in in_steps if kind == ACTION and came_of_it == ENABLED else ():
                for index in range(self.model.properties[judged].instances.size):
                    self.compare(Evaluation(OF_STEP, judged, index, after, state, (number, instance)), anonymously)

    def compare(self, evaluation: Evaluation, anonymously: bool = True) -> EvaluationOutcome:
        """The outcome of an evaluation, if it is the same under other names; UsageError if it distinguishes values.

        It is compared with anonymous values, if `anonymously`, and under permutations. An evaluation that fails is
        not compared: the run ends with the failure.
        """
        outcome = self._with_names.outcome(evaluation)
        if outcome[0] == FAILED:
            return outcome
        for names in self._anonymously if anonymously else ():
            if names.outcome(evaluation) != self._renamed(names, outcome):
                raise self._refused(evaluation, names)
            if names.converted:
                self._note([self._name_of(evaluation.kind, evaluation.number)])
        for names in self._permuted:
            if names.outcome(evaluation) != self._renamed(names, outcome):
                raise self._refused(evaluation, names)
        return outcome

    def _renamed(self, names: _RenamedEvaluation, outcome: EvaluationOutcome) -> EvaluationOutcome:
        if names.probe is None or outcome[0] != ENABLED:
            return outcome
        return ENABLED, names.probe.states.of(outcome[1])

    def _note(self, names: Iterable[str]) -> None:
        self.compared = self.compared.besides(ComparisonCounts(0, frozenset(names)))

    def summary(self, compared: ComparisonCounts, distinct: int | None = None) -> str:
        """The comparisons, in words: so many of the `distinct` states one by one, or else every learned path."""
        what = "every learned path" if distinct is None else "every state"
        if distinct is not None and compared.states < distinct:
            what = f"{compared.states:,} of {distinct:,} states"
        images = ""
        if self.probes:
            many = f"all {len(self.probes) + 1}" if self.whole else f"{len(self.probes)}"
            images = f" and under {many} permutation{'' if many == '1' else 's'}"
            images += "" if self.whole else f" that generate{'s' if many == '1' else ''} all"
        if distinct is None and compared.states:
            images += f", and {compared.states:,} state{'s' if compared.states > 1 else ''} one by one"
        text = f"{what} compared with anonymous values{images}"
        if distinct is None and compared.left_out:
            text += f"; {compared.left_out:,} states, expanded in plain Python, not compared"
        if compared.by_permutations:
            text += f"; under permutations alone, as names are read: {', '.join(sorted(compared.by_permutations))}"
        return text

    def _name_of(self, kind: str, number: int) -> str:
        return (self.model.actions if kind == ACTION else self.model.properties)[number].name

    # Messages.

    def _refused(self, evaluation: Evaluation, names: _RenamedEvaluation) -> UsageError:
        """The error for an evaluation that has another outcome under these names."""
        kind, number = evaluation.kind, evaluation.number
        rule = f"{'action' if kind == ACTION else 'property'} {self._name_of(kind, number)}"
        failure = names.failure
        for number, model in enumerate(self.anonymous):  # a name that is looked up is found by its hash
            here = _RenamedEvaluation(model, number, None)
            here.outcome(evaluation)
            if isinstance(here.failure, ValuesDistinguished):
                failure = here.failure
                break
        place = "" if failure is None else place_of(failure)
        if isinstance(failure, ValuesDistinguished):
            why = str(failure)
        elif names.probe is not None:
            why = f"its result differs with {described(names.probe.permutation)}"
        elif failure is not None:
            why = str(failure) if isinstance(failure, SpecificationError | OutOfDomain) else error_text(failure)
        else:
            why = self.singles_out
        return self.refused(rule, why, place or self._place_of_method(evaluation))

    def refused(self, who: str, why: str, place: str = "") -> UsageError:
        """See `refused`."""
        return refused(self.model, self.sorts, who, why, place)

    @property
    def singles_out(self) -> str:
        """The message that some value, it is unknown which, is singled out."""
        return f"it singles out {' or '.join(map(with_article, self.sorts))}"

    def _place_of_method(self, evaluation: Evaluation) -> str:
        named = self.model.actions if evaluation.kind == ACTION else self.model.properties
        code = getattr(unwrap(named[evaluation.number].instances[evaluation.instance].run), "__code__", None)
        return "" if code is None else f"{Path(code.co_filename).name}:{code.co_firstlineno}"


def _one_by_one(model: Model) -> list[Model]:
    """The model with each of its actions alone."""
    return [model.with_actions([action]) for action in model.actions]


def refused(model: Model, sorts: Sorts, who: str, why: str, place: str = "") -> UsageError:
    """The error that part of a model distinguishes values: the reason, the place in the source, and a remedy."""
    apart = " or ".join(f"{sort}s" for sort in sorts)
    where = f" ({place})" if place else ""
    return UsageError(f"--symmetry: {who} of {model.specification.name} tells {apart} apart: {why}{where}; {REMEDY}")


def place_of(failure: BaseException) -> str:
    """File and line of the author's code that raised an exception; empty if none did."""
    for frame in reversed(traceback.extract_tb(failure.__traceback__)):
        path = Path(frame.filename)
        if path.parent != Path(os.__file__).parent and not any(map(path.is_relative_to, LIBRARY_PACKAGES)):
            return f"{path.name}:{frame.lineno}"
    return ""
