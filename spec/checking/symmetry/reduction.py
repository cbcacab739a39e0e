"""Symmetry reduction: states that differ only in the names of values form one orbit; one state of each suffices.

A sort of interchangeable values is called a scalarset by Murphi and a symmetry set by TLC.

The group consists of all permutations of the interchangeable values, each sort separately. For a small group the
representative of an orbit is its least packed state (`spec.checking.symmetry.group`). A large group cannot be
listed; its representative is a canonical form (`spec.checking.symmetry.canonical`).

That orbits may be merged is not assumed but verified by comparison (`spec.checking.symmetry.renamings`): for each
learned path, or state by state for its successors and properties.

Comparing a state takes several expansions of it, so states that are expanded one by one are not all compared: the
first `ALWAYS` are, and then as many as keep comparing under a fifth of the run. The choice depends on the states, not
on the clock; the result counts them. Learned paths are all compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from spec.checking.exploration import OnProgress, Statistics, split_properties
from spec.checking.model import TYPE_OK, EvaluationFailed, Model, Path, Transition
from spec.checking.states.packed_state import PackedState
from spec.checking.states.splitmix import MASK, mixed
from spec.checking.symmetry.group import (
    Image,
    MinimumImage,
    NotSymmetric,
    Permuted,
    every_permutation,
    generators,
    images,
    order,
    sorts_in,
)
from spec.checking.symmetry.renamings import Probe, Renamings, place_of, refused
from spec.language.allowed_values import within
from spec.language.domains import Domain, InternedDomain
from spec.language.errors import OutOfDomain, SpecificationError, UsageError
from spec.language.permutations import Permutation, Sorts
from spec.language.rules import Action, Property
from spec.language.state import Values
from spec.language.symmetry import ValuesDistinguished, anonymity

if TYPE_CHECKING:
    from spec.checking.symmetry.canonical import Canonical

ALWAYS: Final = 20_000
"""The states that are compared in any case, for engines that learn no paths: the first ones."""
AFFORDED: Final = 200_000
"""The evaluations that these comparisons may take: a second or two. In a state of a large system there are many."""
RARELY: Final = 8
"""Later, one of so many states is compared, for each repetition that this takes: one of 80 if there are six
permutations of three values. A repetition takes up to twice the time of exploring the state."""
FIRST_CHECKED: Final = 256
"""The states that are compared in any case besides learned paths: a few of each level."""
CHECKS_AFFORDED: Final = 100_000
"""More of them are compared as long as they take no more evaluations: all of a small system, however deep it is."""
CHECKED: Final = 1_000
"""Later, one of so many: compiled code explores a thousand states in the time of comparing a few."""
LISTED: Final = 24
"""A group with more permutations is not listed. With 24 of them a canonical form takes up to 2.6 times as long as the
least image; with 120, a quarter of its time or less, for states of two words or more."""
WHOLE_GROUP: Final = 6
"""Up to this order all permutations are tried on an evaluation; of a larger group only the generators."""

PATIENCE: Final = 1.0
"""Seconds of preparation before any progress is reported."""


def is_listed(sorts: Sorts) -> bool:
    """Whether the permutations of these values are few enough to be listed."""
    return order(sorts) <= LISTED


class Symmetry:
    """The orbits of a model's states, for these properties. UsageError if the model has no interchangeable values, or
    too many, or its domains or initial states distinguish them.
    """

    def __init__(self, model: Model, properties: Sequence[int], on_progress: OnProgress | None = None):
        self.model = model
        self.in_states, self.in_steps = split_properties(model, properties)
        self.sorts = sorts_in(model)
        for cell in model.layout.cells:
            if isinstance(cell.domain, InternedDomain):
                raise UsageError(
                    f"--symmetry: variable {cell.name} of {model.specification.name} is interned, and values in it "
                    "are not exchanged; give it a domain"
                )
        self.order = order(self.sorts)
        """The number of permutations."""
        self._report = self._telling(on_progress)
        self._window = model.window()
        self._examined = set[int]()
        """The packed states that were compared because they are expanded one by one."""
        self._evaluations = self._checked = 0
        """How many evaluations that took; and the number of states that were compared besides learned paths."""
        rules: tuple[Action | Property, ...] = (*self.model.actions, *self.model.properties)
        for rule in rules:
            try:
                within(rule.instances.size, rule.name, "instances")
            except SpecificationError as wrong:
                raise UsageError(f"--symmetry compares all instances: {wrong}") from None
        try:
            probes = self._prepare()
        except NotSymmetric as wrong:
            raise refused(
                model, self.sorts, f"variable {wrong.variable}", f"its domain is not symmetric: {wrong.cause}"
            ) from None
        self.renamings = Renamings(model, self.sorts, probes, whole=self.order <= WHOLE_GROUP)
        self._examine_initial_states()

    def _telling(self, on_progress: OnProgress | None) -> Callable[[], None]:
        """A function that reports the current work, once it has taken a while."""
        began = time.monotonic()
        sorts = ", ".join(f"{len(values)} of sort {sort}" for sort, values in self.sorts.items())
        statistics = Statistics(0, 0, 0, 0, 0.0, doing=f"preparing orbits of interchangeable values, {sorts}")

        def tell() -> None:
            if on_progress is not None and time.monotonic() - began > PATIENCE:
                on_progress(statistics)

        return tell

    def _prepare(self) -> list[Probe]:
        """Prepare the representatives of orbits, and the permutations to try on evaluations; NotSymmetric if a
        permutation takes a value out of its domain.
        """
        self.orbits: MinimumImage | Canonical
        """Selects the representative of each orbit."""
        tried, their_images = [*generators(self.sorts)], list[tuple[Image, ...]]()
        if not is_listed(self.sorts):
            from spec.checking.symmetry.canonical import Canonical
            from spec.checking.symmetry.relations import Relations

            their_images = [self._images(each) for each in tried]
            facts = Relations(self.model, [*map(len, self.sorts.values())], their_images, self._report)
            self.orbits = Canonical(self.model.layout, facts)
        else:
            every = [*every_permutation(self.sorts)]
            self.orbits = MinimumImage(self.model.layout, map(self._images, every))
            if self.order <= WHOLE_GROUP:
                tried, their_images = every[1:], [*self.orbits.images[1:]]
            else:
                their_images = [self._images(each) for each in tried]
        return [
            Probe(
                permutation,
                Permuted(self.model.layout, its),
                *(
                    tuple(tuple(_instances([*each.domains.values()], permutation)) for each in named)
                    for named in (self.model.actions, self.model.properties)
                ),
            )
            for permutation, its in zip(tried, their_images, strict=True)
        ]

    def _images(self, permutation: Permutation) -> tuple[Image, ...]:
        self._report()
        return images(self.model, permutation)

    # Orbits.

    def representative(self, state: Values) -> Values:
        """The representative of this state's orbit."""
        packed = self.model.layout.pack(state)
        found = self.orbits.representative(packed)
        return state if found == packed else self.model.layout.unpack(found)

    def represent(self, packed: int) -> int:
        """The packed representative of a packed state's orbit."""
        return self.orbits.representative(packed)

    # Traces.

    def concrete(self, orbits: Sequence[Values], number: int, end: int = 0) -> Path:
        """A path of the model itself through the orbits with these representatives, from an initial state; UsageError
        if there is none, so something distinguishes the values.

        Each step takes the first action, in order of declaration, that leads to the next orbit, and its first
        instance. If `number` is a property of steps, one more step decides it and leads into the orbit of `end`,
        packed, or out of the domains. If it is a property of states, the last state decides it.
        """
        state, choices = self._through(orbits)
        properties = self.model.properties
        if properties[number].name == TYPE_OK:
            taken = self._first(each for each in self.model.expand(state).steps if each.after is None)
            choices.append((taken.action, taken.instance))
        elif number in self.in_steps:
            steps = self.model.expand(state, [number]).steps
            taken = self._first(each for each in steps if number in each.found and self._leads(each, end))
            choices.append((taken.action, taken.instance))
        elif number in self.in_states and not self.model.found_in(state, [number]):
            judged = f"property {properties[number].name}"
            raise self.renamings.refused(judged, "it differs between states of one orbit")
        return orbits[0], choices

    def path_through(self, orbits: Sequence[Values]) -> Path:
        """The path of `concrete`, without a property at its end."""
        return orbits[0], self._through(orbits)[1]

    def _through(self, orbits: Sequence[Values]) -> tuple[Values, list[tuple[int, int]]]:
        state, choices = orbits[0], list[tuple[int, int]]()
        for following in map(self.model.layout.pack, orbits[1:]):
            taken = self._first(each for each in self.model.expand(state).steps if self._leads(each, following))
            choices.append((taken.action, taken.instance))
            assert taken.after is not None
            state = taken.after
        return state, choices

    def _leads(self, taken: Transition, orbit: int) -> bool:
        """Whether a step leads into the orbit with this representative."""
        return taken.after is not None and self.represent(self.model.layout.pack(taken.after)) == orbit

    def _first(self, steps: Iterator[Transition]) -> Transition:
        for taken in steps:
            return taken
        raise self.renamings.refused("an action", "a step of one state is missing in another of its orbit")

    # State by state.

    def examine(self, states: Sequence[int], always: int | None = None, *, counted: bool = True) -> None:
        """Compare some of the states of a level that are expanded one by one: those that `ALWAYS` and `RARELY` say.
        If `AFFORDED` allows it, `always` of them, by default the rest of `ALWAYS`; the others count as left out, if
        `counted`. UsageError if steps or properties of a state distinguish the values.
        """
        room = max(0, ALWAYS - len(self._examined)) if always is None else always
        left_out = 0
        for number, state in enumerate(states):
            if state in self._examined:
                continue
            if (number < room and self._evaluations < AFFORDED) or self._is_chosen(state):
                self._examined.add(state)
                self.renamings.compare_state(state, self.in_states, self.in_steps)
                self._evaluations += self.renamings.repetitions * self._present(state)
            else:
                left_out += counted
        self.renamings.leave_out(left_out)

    def _present(self, state: int) -> int:
        """How many instances of actions and properties there are in a packed state."""
        s = self._window.load(self.model.layout.unpack(state))
        number = sum(self.model.properties[each].instances.size for each in self.in_states)
        for action in self.model.actions:
            try:
                number += len(action.present(s).numbers)
            except (Exception, SystemExit):  # a range failed, which ends the run in this state
                continue
        return number

    def _is_chosen(self, state: int) -> bool:
        """Whether this state is one of the few that are compared, however many there are."""
        return mixed(state % MASK) < MASK // (RARELY * self.renamings.repetitions)

    def spot_check(self, states: Iterable[bytes], distinct: int) -> None:
        """Compare a few states of a level, a `packed.sample`, under permutations, besides learned paths. UsageError
        if the steps or properties of a state distinguish the values.
        """
        for packed in sorted(states):
            if self._checked >= FIRST_CHECKED + distinct // CHECKED and self._evaluations >= CHECKS_AFFORDED:
                break
            state = PackedState.of_bytes(self.model.layout, packed).number
            self.renamings.compare_state(state, self.in_states, self.in_steps, anonymously=False)
            self._evaluations += self.renamings.repetitions * self._present(state)
            self._checked += 1

    def _examine_initial_states(self) -> None:
        pack, renamings = self.model.layout.pack, self.renamings
        first = {None if state is None else pack(state) for state, _ in self.model.initial_states()}
        anonymous = renamings.anonymous[0]
        with anonymity() as noticed:
            try:
                named = {
                    None if state is None else anonymous.layout.pack(state) for state, _ in anonymous.initial_states()
                }
            except EvaluationFailed as failed:
                place = "" if failed.__cause__ is None else place_of(failed.__cause__)
                raise renamings.refused("initial", failed.cause, place) from failed
            except (ValuesDistinguished, OutOfDomain, TypeError) as failed:
                raise renamings.refused("initial", str(failed), place_of(failed)) from failed
            distinguished = noticed.distinguished
        closed = all(
            probe.states.of(state) in first for state in first if state is not None for probe in renamings.probes
        )
        if distinguished is not None:
            raise renamings.refused("initial", str(distinguished), place_of(distinguished))
        if first != named or not closed:
            raise renamings.refused("initial", renamings.singles_out)


def _instances(domains: Sequence[Domain[Any]], permutation: Permutation) -> Iterator[int]:
    """For each instance of an action with parameters of these domains, the instance with permuted parameters."""
    for values in product(*domains):
        number = 0
        for domain, value in zip(domains, values, strict=True):
            number = number * domain.size + domain.rank(domain.moved(value, permutation))
        yield number
