"""Renamings: an evaluation is compared with itself under other names of interchangeable values.

An evaluation is an instance of an action or property, in a state. Engines that learn compare each path once, in the
state in which it was recorded: a path is a whole computation, and all states that agree in what it read share its
outcome. Other engines compare state by state.

The evaluation is repeated in two ways, and must have the same outcome:

- With *anonymous* values (`spec.language.anonymous`), which support only equality. An evaluation with the same
  outcome there has it whatever the names are. It is repeated once for each value as which they may hash, so that no
  name can be looked up in a set or mapping. Each repetition uses another image of the state, if there are enough.
- With the names themselves, in images of the state under *permutations*: all of a small group, otherwise its
  generators. This finds code that depends on the order in which sets and mappings are iterated, or on text and
  numbers made of names. For a large group it is no proof, and the verdict says so.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterable, Sequence
from functools import reduce
from inspect import unwrap
from operator import or_
from pathlib import Path
from typing import Any, Final, NamedTuple

from spec import language
from spec.checking.model import Model
from spec.checking.symmetry.group import described, sorts_in
from spec.checking.symmetry.images import Permuted
from spec.language.anonymous import Anonymous, ValuesDistinguished, anonymity, with_article
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

REMEDY: Final = "compare values of the state only with each other, not with constants, or leave out --symmetry"
"""Advice to the author."""
SPOT_CHECKS: Final = 8
"""States of each level that are compared under permutations, besides learned paths. In an image of its state a path
may read more, if it iterates a set in another order: then one state does not represent all states of the path."""
REMEMBERED: Final = 200_000
"""The most evaluations whose reads are remembered after the comparison."""
LIBRARY_PACKAGES: Final = (Path(language.__file__).parent, Path(__file__).parent)
"""Folders of code that calls an author's code or is called by it. The top folder of Python's library counts too."""
ACTION, OF_STATE, OF_STEP = "action", "state", "step"
USUAL, FOUND, ENABLED, CLOSED, LEFT, FAILED, ASKS = "usual", "found", "enabled", "closed", "left", "failed", "asks"


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


class ComparisonCounts(NamedTuple):
    """The comparisons so far, as far as they are counted."""

    states: int = 0
    """States compared one by one."""
    by_permutations: frozenset[str] = frozenset()
    """Actions and properties that made text or numbers from names, and sorts whose values have names throughout: only
    permutations can test these."""

    def besides(self, other: ComparisonCounts) -> ComparisonCounts:
        """The sum of both."""
        return ComparisonCounts(self.states + other.states, self.by_permutations | other.by_permutations)


class _AsksForStep(BaseException):
    """A property reads the step, and there was none."""


class _NoStep:
    """Stands for the step where there is none."""

    def __getattr__(self, _: str) -> Any:
        raise _AsksForStep


class _RenamedEvaluation:
    """One way of naming values: evaluates on a model with windows of its own.

    Args:
        hashed_as: the number of the value as which the model's anonymous values hash; None if they have their names.
        probe: permutes an evaluation before it is done; None for no permutation.
    """

    def __init__(self, model: Model, hashed_as: int | None, probe: Probe | None):
        self.model, self.hashed_as, self.probe = model, hashed_as, probe
        self._here, self._before = model.window(), model.window()
        self._at = self._at_before = -1
        self._read: tuple[set[int], set[int]] = set(), set()
        self.failure: BaseException | None = None
        """The exception of the latest evaluation."""
        self.converted = False
        """Whether the latest evaluation made text or numbers from anonymous values."""

    def outcome(self, evaluation: Evaluation) -> EvaluationOutcome:
        """The outcome of an evaluation, after permuting it."""
        if self.probe is not None:
            evaluation = self.probe.of(evaluation)
        if self.hashed_as is None:
            return self._outcome(evaluation)
        with anonymity(self.hashed_as) as noticed:
            found = self._outcome(evaluation)
            self.converted = noticed.converted
            if noticed.distinguished is not None:
                self.failure = noticed.distinguished
                return FAILED, 0
        return found

    def watch(self) -> None:
        """Start recording reads."""
        self._read = self._here.watch(), self._before.watch()

    def read(self) -> tuple[int, int]:
        """The bits of all cells read since `watch`, in the state and in the one before; before the permutation."""
        cells, probe = self.model.layout.cells, self.probe
        here, before = (
            reduce(or_, (cells[at].mask if probe is None else probe.states.sources[at] for at in read), 0)
            for read in self._read
        )
        return here, before

    def _outcome(self, evaluation: Evaluation) -> EvaluationOutcome:
        self.failure = None
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
    """Compares evaluations of a model.

    Args:
        probes: the permutations to try.
        whole: whether these are the whole group without the identity.
    """

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
        self._known: dict[tuple[Any, ...], dict[tuple[int, int], dict[tuple[int, int], EvaluationOutcome]]] = {}
        """The outcomes of each instance, by the bits of the states that all evaluations read, and their values."""
        self._remembered = 0
        images = [None, *self.probes]
        self._with_names = _RenamedEvaluation(model, None, None)
        self._anonymously = [
            _RenamedEvaluation(each, number, images[number] if number < len(images) else None)
            for number, each in enumerate(self.anonymous)
        ]
        self._permuted = [_RenamedEvaluation(model, None, probe) for probe in self.probes]

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

    def compare_once(self, evaluation: Evaluation, anonymously: bool = True) -> EvaluationOutcome:
        """See `compare`. It is skipped if all evaluations would read what they have read before."""
        its = anonymously, evaluation.kind, evaluation.number, evaluation.instance, evaluation.step
        here, before, known = evaluation.here, evaluation.before, self._known.setdefault(its, {})
        for masks, met in known.items():
            outcome = met.get((here & masks[0], before & masks[1]))
            if outcome is not None:
                return outcome if outcome[0] != ENABLED else self._with_names.outcome(evaluation)
        every = [self._with_names, *(self._anonymously if anonymously else ()), *self._permuted]
        for names in every:
            names.watch()
        outcome = self.compare(evaluation, anonymously)
        read = [names.read() for names in every]
        masks = reduce(or_, (one for one, _ in read)), reduce(or_, (other for _, other in read))
        if self._remembered < REMEMBERED:
            self._remembered += 1
            known.setdefault(masks, {})[here & masks[0], before & masks[1]] = outcome
        return outcome

    def compare(self, evaluation: Evaluation, anonymously: bool = True) -> EvaluationOutcome:
        """The outcome of an evaluation, if it is the same under other names.

        It is compared with anonymous values, if `anonymously`, and under permutations. An evaluation that fails is
        not compared: the run ends with the failure.

        Raises:
            UsageError: it distinguishes values.
        """
        outcome = self._with_names.outcome(evaluation)
        if outcome[0] == FAILED:
            return outcome
        for names in self._anonymously if anonymously else ():
            if names.outcome(evaluation) != self._renamed(names, outcome):
                raise self._refused(evaluation, names)
            if names.converted:
                self._note([self._name_of(evaluation)])
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
        beyond = distinct is not None and compared.states < distinct
        if beyond:
            what = f"the first {compared.states:,} of {distinct:,} states"
        images = ""
        if self.probes:
            many = f"all {len(self.probes) + 1}" if self.whole else f"{len(self.probes)}"
            images = f" and under {many} permutation{'' if many == '1' else 's'}"
            images += "" if self.whole else f" that generate{'s' if many == '1' else ''} all"
        if images and distinct is None:
            images += f", and {SPOT_CHECKS} states of each level under these"
        text = f"{what} compared with anonymous values{images}"
        if compared.by_permutations:
            text += f"; under permutations alone, as names are read: {', '.join(sorted(compared.by_permutations))}"
        return text

    def _name_of(self, evaluation: Evaluation) -> str:
        named = self.model.actions if evaluation.kind == ACTION else self.model.properties
        return named[evaluation.number].name

    # Messages.

    def _refused(self, evaluation: Evaluation, names: _RenamedEvaluation) -> UsageError:
        """The error for an evaluation that has another outcome under these names."""
        rule = f"{'action' if evaluation.kind == ACTION else 'property'} {self._name_of(evaluation)}"
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
