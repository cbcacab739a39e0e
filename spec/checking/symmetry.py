"""Symmetry reduction: states that differ only in how values are named are one orbit, and one of each is enough.

A sort of interchangeable values is what Murphi calls a scalarset and TLC a symmetry set.

The group is every permutation of the interchangeable values, of each sort by itself. Of a small group the
representative of an orbit is its least packed state (`spec.checking.least`); of a large one, which cannot be listed,
it is a canonical form (`spec.checking.canonical`).

That the orbits may be merged is not assumed but tested, in a sample of states (`Symmetry.examine`): what follows a
state and what holds in it must be the same for brokers without a name (`spec.language.anonymous`), and with the
brokers exchanged it must be the same with the brokers exchanged. The first test names what is to blame; the second
finds what depends on the order in which sets are walked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spec.checking.exploration import OnProgress, Statistics, split
from spec.checking.group import described, every_permutation, generators, order, sorts_in
from spec.checking.images import Image, NotSymmetric, Permuted, images
from spec.checking.least import Least
from spec.checking.model import TYPE_OK, EvaluationFailed, Model, Transition
from spec.checking.packed_state import PackedState
from spec.checking.paths import Path
from spec.language.anonymous import ToldApart, anonymity
from spec.language.domains import Domain
from spec.language.errors import OutOfDomain, UsageError
from spec.language.permutations import Permutation
from spec.language.state import Values

if TYPE_CHECKING:
    from spec.checking.canonical import Canonical

SAMPLE: Final = 32
"""States of each level whose symmetry the reference engine examines; of a level with fewer, all."""
SPOT_CHECKS: Final = 8
"""States of each level that a fast engine examines, which goes through a level in less time than a sample takes."""
LISTED: Final = 24
"""A group with more permutations is not listed. With 24 of them a canonical form takes up to 2.6 times as long as the
least image; with 120 a quarter of it and less, for states of two words or more."""
WHOLE_GROUP: Final = 6
"""With so many permutations all are tried on a state of the sample; of a larger group only what generates it."""

PATIENCE: Final = 1.0
"""Seconds of preparations about which nothing is told."""


class Probe(NamedTuple):
    """A permutation that is tried on states."""

    permutation: Permutation
    states: Permuted
    """Where it takes them."""
    instances: tuple[tuple[int, ...], ...]
    """By action and instance: the instance with the parameters permuted."""


class _Behaviour(NamedTuple):
    """What follows a state, and what holds in it."""

    steps: dict[tuple[int, int], int | None]
    """The state to which each action and instance leads, packed; None outside the domains."""
    judged: set[tuple[int, int, int]]
    """Action, instance, and the property of steps that it decides."""
    holding: set[int]
    """The properties of states that it decides."""
    closed: bool


class Symmetry:
    """How the states of a model fall into orbits, as far as these properties are concerned.

    Args:
        on_progress: told what is done, if preparations take long.

    Raises:
        UsageError: it has no interchangeable values, or too many, or its domains or its initial states tell them
            apart.
    """

    def __init__(self, model: Model, properties: Sequence[int], on_progress: OnProgress | None = None):
        self.model = model
        self.in_states, self.in_steps = split(model, properties)
        self.sorts = sorts_in(model)
        self.order = order(self.sorts)
        """How many permutations there are."""
        self._told = self._telling(on_progress)
        self._examined = set[int]()
        """The packed states that were, and that told no values apart."""
        try:
            self._prepare()
        except NotSymmetric as wrong:
            raise self._refused(f"variable {wrong.variable}", f"its domain is not symmetric: {wrong.cause}") from None
        self._examine_initial_states()

    def _telling(self, on_progress: OnProgress | None) -> Callable[[], None]:
        """Tell what is done, if it takes a while."""
        began = time.monotonic()
        sorts = ", ".join(f"{len(values)} of sort {sort}" for sort, values in self.sorts.items())
        statistics = Statistics(0, 0, 0, 0, 0.0, doing=f"preparing orbits of interchangeable values, {sorts}")

        def tell() -> None:
            if on_progress is not None and time.monotonic() - began > PATIENCE:
                on_progress(statistics)

        return tell

    def _prepare(self) -> None:
        """Find what stands for an orbit, and which permutations are tried on states of the sample.

        Raises:
            NotSymmetric: a permutation takes a value out of its domain.
        """
        self.orbits: Least | Canonical
        """Which state of an orbit stands for it."""
        tried, their_images = [*generators(self.sorts)], list[tuple[Image, ...]]()
        if self.order > LISTED:
            from spec.checking.canonical import Canonical
            from spec.checking.facts import Facts

            their_images = [self._images(each) for each in tried]
            facts = Facts(self.model, [*map(len, self.sorts.values())], their_images, self._told)
            self.orbits = Canonical(self.model.layout, facts)
        else:
            every = [*every_permutation(self.sorts)]
            self.orbits = Least(self.model.layout, map(self._images, every))
            if self.order <= WHOLE_GROUP:
                tried, their_images = every[1:], [*self.orbits.images[1:]]
            else:
                their_images = [self._images(each) for each in tried]
        self._probes = [
            Probe(
                permutation,
                Permuted(self.model.layout, its),
                tuple(tuple(_instances([*action.domains.values()], permutation)) for action in self.model.actions),
            )
            for permutation, its in zip(tried, their_images, strict=True)
        ]

    def _images(self, permutation: Permutation) -> tuple[Image, ...]:
        self._told()
        return images(self.model, permutation)

    # Orbits.

    def representative(self, state: Values) -> Values:
        """The state that stands for the orbit of this one."""
        packed = self.model.layout.pack(state)
        found = self.orbits.representative(packed)
        return state if found == packed else self.model.layout.unpack(found)

    def represent(self, packed: int) -> int:
        """The packed state that stands for the orbit of a packed state."""
        return self.orbits.representative(packed)

    # Traces.

    def concrete(self, orbits: Sequence[Values], number: int | None = None, end: int = 0) -> Path:
        """A path of the model itself through the orbits with these representatives, the first of an initial state.

        At each step the action declared first is taken that leads on, in the first of its instances. With the number
        of a property a last step decides it, and leads into the orbit of `end`, packed, or out of the domains. Each
        state of the path joins the sample, so that no verdict rests on one that was not looked at.
        """
        for orbit in orbits:
            self.examine_state(orbit)
        return self.path_through(orbits, number, end)

    def path_through(self, orbits: Sequence[Values], number: int | None = None, end: int = 0) -> Path:
        """The path of `concrete`, its states not tested: where an evaluation fails, the test would fail, too."""
        state, choices = orbits[0], list[tuple[int, int]]()
        for following in map(self.model.layout.pack, orbits[1:]):
            taken = self._first(each for each in self.model.expand(state).steps if self._leads(each, following))
            choices.append((taken.action, taken.instance))
            assert taken.after is not None
            state = taken.after
        if number is not None and self.model.properties[number].name == TYPE_OK:
            taken = self._first(each for each in self.model.expand(state).steps if each.after is None)
            choices.append((taken.action, taken.instance))
        elif number is not None:
            steps = self.model.expand(state, [number]).steps
            taken = self._first(each for each in steps if number in each.found and self._leads(each, end))
            choices.append((taken.action, taken.instance))
        return orbits[0], choices

    def _leads(self, taken: Transition, orbit: int) -> bool:
        """Whether a step leads into the orbit with this representative."""
        return taken.after is not None and self.represent(self.model.layout.pack(taken.after)) == orbit

    def _first(self, steps: Iterator[Transition]) -> Transition:
        for taken in steps:
            return taken
        raise self._refused("an action", "a step that one state has is missing in another of its orbit")

    # Spot checks of the symmetry.

    def examine(self, level: Sequence[Values]) -> None:
        """Test whether what follows the states of a level, or what holds in them, tells the values apart.

        A sample is tested, at even distances in code order; of narrow levels every state.

        Raises:
            UsageError: it does, with the name of the action or property.
        """
        wanted = min(len(level), SAMPLE)
        for at in range(wanted):
            self.examine_state(level[at * len(level) // wanted])

    def spot_check(self, states: Iterable[bytes]) -> None:
        """Examine a few states of a level, packed: see `packed.sample`."""
        for packed in sorted(states):
            self.examine_state(PackedState.of_bytes(self.model.layout, packed).values)

    def examine_state(self, state: Values) -> None:
        """Examine one state, unless it was already.

        Raises:
            UsageError: what follows it, or what holds in it, tells the values apart.
        """
        packed = self.model.layout.pack(state)
        if packed in self._examined:
            return
        here = self._behaviour(self.model, packed)
        with anonymity():
            try:
                unnamed = self._behaviour(self.anonymous, packed)
            except EvaluationFailed as failed:
                raise self._refused(self._kind_of(failed.what), failed.cause) from failed
        self._compare(here, unnamed, f"it singles out a {self._names}")
        images = {packed: here}  # several permutations may lead to the same
        for probe in self._probes:
            image = probe.states.of(packed)
            if image not in images:
                images[image] = self._behaviour(self.model, image)
            why = f"it does otherwise with {described(probe.permutation)}"
            self._compare(self._renamed(probe, here), images[image], why)
        self._examined.add(packed)

    def _behaviour(self, model: Model, packed: int) -> _Behaviour:
        state, pack = model.layout.unpack(packed), model.layout.pack
        steps, closed = model.expand(state, self.in_steps)
        return _Behaviour(
            {(each.action, each.instance): None if each.after is None else pack(each.after) for each in steps},
            {(each.action, each.instance, number) for each in steps for number in each.found},
            set(model.found_in(state, self.in_states)),
            closed,
        )

    def _renamed(self, probe: Probe, seen: _Behaviour) -> _Behaviour:
        """What is to be seen in the image of a state under a permutation."""
        return _Behaviour(
            {
                (action, probe.instances[action][at]): None if after is None else probe.states.of(after)
                for (action, at), after in seen.steps.items()
            },
            {(action, probe.instances[action][at], judged) for action, at, judged in seen.judged},
            seen.holding,
            seen.closed,
        )

    def _compare(self, expected: _Behaviour, seen: _Behaviour, why: str) -> None:
        if expected == seen:
            return
        steps = {action for (action, _), _ in expected.steps.items() ^ seen.steps.items()}
        judged = {number for _, _, number in expected.judged ^ seen.judged} | expected.holding ^ seen.holding
        if steps:
            raise self._refused(f"action {self.model.actions[min(steps)].name}", why)
        if judged:
            raise self._refused(f"property {self.model.properties[min(judged)].name}", why)
        raise self._refused("a bound", why)

    def _examine_initial_states(self) -> None:
        pack = self.model.layout.pack
        first = {None if state is None else pack(state) for state, _ in self.model.initial_states()}
        with anonymity():
            try:
                anonymous = self.anonymous
                named = {
                    None if state is None else anonymous.layout.pack(state) for state, _ in anonymous.initial_states()
                }
            except EvaluationFailed as failed:
                raise self._refused("initial", failed.cause) from failed
            except (ToldApart, OutOfDomain, TypeError) as failed:
                raise self._refused("a domain", str(failed)) from failed
        closed = all(
            probe.states.of(state) in first for state in first if state is not None for probe in self._probes
        )
        if first != named or not closed:
            raise self._refused("initial", f"it singles out a {self._names}")

    @cached_property
    def anonymous(self) -> Model:
        """The same model with anonymous values for interchangeable ones; to be made and used under `anonymity`."""
        specification = self.model.specification
        return Model(type(specification)(**specification.valuation), self.model.goal)

    @property
    def _names(self) -> str:
        return " or ".join(self.sorts)

    def _kind_of(self, what: str) -> str:
        if any(each.name == what for each in self.model.properties):
            return f"property {what}"
        name = what.split("(")[0].split(" ")[0]
        kind = "action" if any(action.name == name for action in self.model.actions) else "property"
        return f"{kind} {name}"

    def _refused(self, who: str, why: str) -> UsageError:
        return UsageError(f"--symmetry: {who} of {self.model.specification.name} tells {self._names}s apart: {why}")


def _instances(domains: Sequence[Domain[Any]], permutation: Permutation) -> Iterator[int]:
    """For each instance of an action whose parameters range over these domains, the one with them permuted."""
    for values in product(*domains):
        number = 0
        for domain, value in zip(domains, values, strict=True):
            number = number * domain.size + domain.rank(domain.moved(value, permutation))
        yield number
