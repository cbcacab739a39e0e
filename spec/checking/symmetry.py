"""Symmetry: states that differ only in who is called what are one orbit, and one of each orbit is enough.

The group is every permutation of the interchangeable values, of each sort by itself. The representative of an orbit
is its least packed state. To find it the permutations are not tried out one by one: they stand in a tree, in which
those that put the same into the first slots share a branch, and slot by slot only the branches with the least code
are followed. What names no broker, such as a broker's own log, is so compared once for each broker and not once for
each permutation; and almost always one branch is soon left.

That the orbits may be merged is not believed but looked at, in a sample of states (`Symmetry.examine`): what
follows a state and what holds in it must be the same for brokers without a face (`spec.language.anonymous`), and
with the brokers exchanged it must be the same with the brokers exchanged. The first tells most about who is to
blame; the second finds what goes by an order in which sets are walked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import permutations, product
from typing import Any, Final, NamedTuple

from spec.checking.exploration import split
from spec.checking.model import TYPE_OK, EvaluationFailed, Model, Taken
from spec.checking.trace import Path
from spec.language.anonymous import ToldApart, anonymity
from spec.language.domains import Domain, MappingDomain
from spec.language.errors import OutOfDomain, SpecificationError, UsageError
from spec.language.state import WORD, Values
from spec.language.symmetry import Permutation, Sorts, moved, routes, sorts_of, unite

SAMPLE: Final = 32
"""So many states of each level are looked at whether they are symmetric; of a level with fewer, all."""
GLANCED: Final = 8
"""So many, by who goes through a level in less time than that takes."""
WHOLE_GROUP: Final = 6
"""With so many permutations all are tried on a state of the sample; of a larger group only what generates it."""


class Image(NamedTuple):
    """What a permutation puts into one slot."""

    source: int
    """The slot whose code is taken."""
    codes: tuple[int, ...]
    """What becomes of it, by code."""
    guard: int
    """The slot that tells whether the source is in use, -1 if it always is; one not in use keeps its 0."""
    above: int
    """It is in use if the guard's code is greater."""

    def of(self, codes: Sequence[int]) -> int:
        """The code, of a state with these codes."""
        code = codes[self.source]
        return self.codes[code] if self.guard < 0 or codes[self.guard] > self.above else code


class Node(NamedTuple):
    """Permutations that put the same into all slots before this one."""

    permutations: tuple[int, ...]
    branches: tuple[tuple[Image, Node], ...]
    """What they put into this slot, and who does. None behind the last slot."""


class _Seen(NamedTuple):
    """What was seen in a state."""

    steps: dict[tuple[int, int], int | None]
    """Where each action and instance leads, packed; None outside the domains."""
    judged: set[tuple[int, int, int]]
    """Action, instance, and the property of steps that it decides."""
    holding: set[int]
    """The properties of states that it decides."""
    closed: bool


class Symmetry:
    """How the states of a model fall into orbits, as far as these properties are concerned.

    Raises:
        UsageError: it has no interchangeable values, or its domains or its initial states tell them apart.
    """

    def __init__(self, model: Model, properties: Sequence[int]):
        self.model = model
        self.in_states, self.in_steps = split(model, properties)
        self.sorts = _sorts(model)
        self.group: tuple[Permutation, ...] = tuple(_group(self.sorts))
        """The permutations. The first one changes nothing."""
        self.images: tuple[tuple[Image, ...], ...] = tuple(map(self._images, self.group))
        """By permutation and slot: what it puts there."""
        self.tree = _tree(self.images, tuple(range(len(self.group))), 0)
        """The permutations by what they put into the first slot, the second, and so on."""
        self._shifts = [
            ((model.layout.words - 1 - place.word) * WORD + place.shift, (1 << place.width) - 1)
            for place in model.layout.slots
        ]
        self._examine_initial_states()

    # Orbits.

    def least(self, state: Values) -> Values:
        """The representative of the orbit of a state."""
        packed = self.model.layout.pack(state)
        least = self.least_packed(packed)
        return state if least == packed else self.model.layout.unpack(least)

    def least_packed(self, packed: int) -> int:
        """The same, packed."""
        codes = self._codes(packed)
        return self._packed(image.of(codes) for image in self.images[self.best(codes)])

    def best(self, codes: Sequence[int]) -> int:
        """A permutation that takes a state to the representative of its orbit."""
        left = [self.tree]
        while len(left) > 1 or len(left[0].permutations) > 1:
            if len(left) == 1 and len(left[0].branches) == 1:  # nothing to compare
                left = [left[0].branches[0][1]]
                continue
            lowest, following = None, list[Node]()
            for node in left:
                for image, behind in node.branches:
                    code = image.of(codes)
                    if lowest is None or code < lowest:
                        lowest, following = code, [behind]
                    elif code == lowest:
                        following.append(behind)
            if not following:  # behind the last slot: they all lead to the same state
                break
            left = following
        return left[0].permutations[0]

    def image(self, number: int, packed: int) -> int:
        """Where the permutation with this number takes a state."""
        codes = self._codes(packed)
        return self._packed(image.of(codes) for image in self.images[number])

    def _codes(self, packed: int) -> list[int]:
        return [packed >> shift & mask for shift, mask in self._shifts]

    def _packed(self, codes: Iterator[int]) -> int:
        return sum(code << shift for code, (shift, _) in zip(codes, self._shifts, strict=True))

    # Traces.

    def concrete(self, orbits: Sequence[Values], number: int | None = None, end: int = 0) -> Path:
        """A path of the model itself through the orbits with these representatives, the first of an initial state.

        At each step the action declared first is taken that leads on, in the first of its instances. With the number
        of a property a last step decides it, and leads into the orbit of `end`, packed, or out of the domains. Each
        state of the path joins the sample, so that no verdict rests on one that was not looked at.
        """
        state, choices = orbits[0], list[tuple[int, int]]()
        for orbit in orbits:
            self.examine_state(orbit)
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

    def _leads(self, taken: Taken, orbit: int) -> bool:
        """Whether a step leads into the orbit with this representative."""
        return taken.after is not None and self.least_packed(self.model.layout.pack(taken.after)) == orbit

    def _first(self, steps: Iterator[Taken]) -> Taken:
        for taken in steps:
            return taken
        raise self._refused("an action", "a step that one state has is missing in another of its orbit")

    # Whether it is so.

    def examine(self, level: Sequence[Values]) -> None:
        """Look whether what follows the states of a level, and what holds in them, tells the values apart.

        Looked at is a sample, at even distances in code order; of narrow levels every state.

        Raises:
            UsageError: it does, with the name of the action or property.
        """
        wanted = min(len(level), SAMPLE)
        for at in range(wanted):
            self.examine_state(level[at * len(level) // wanted])

    def glance(self, states: Iterable[bytes]) -> None:
        """The same of a few states, packed: see `packed.sample`."""
        for packed in sorted(states):
            self.examine_state(self.model.layout.unpack(int.from_bytes(packed, "big")))

    def examine_state(self, state: Values) -> None:
        """The same of one state."""
        packed = self.model.layout.pack(state)
        here = self._looked_at(self.model, packed)
        with anonymity():
            try:
                unnamed = self._looked_at(self.anonymous, packed)
            except EvaluationFailed as failed:
                raise self._refused(self._kind_of(failed.what), failed.cause) from failed
        self._compare(here, unnamed, f"it singles out a {self._names}")
        for number in self._probes:
            there = self._looked_at(self.model, self.image(number, packed))
            self._compare(self._renamed(number, here), there, f"it does otherwise {self._renaming(number)}")

    def _looked_at(self, model: Model, packed: int) -> _Seen:
        state, pack = model.layout.unpack(packed), model.layout.pack
        steps, closed = model.expand(state, self.in_steps)
        return _Seen(
            {(each.action, each.instance): None if each.after is None else pack(each.after) for each in steps},
            {(each.action, each.instance, number) for each in steps for number in each.found},
            set(model.found_in(state, self.in_states)),
            closed,
        )

    def _renamed(self, number: int, seen: _Seen) -> _Seen:
        """What is to be seen in the image of a state under a permutation."""
        instances = self._instances[number]
        return _Seen(
            {
                (action, instances[action][at]): None if after is None else self.image(number, after)
                for (action, at), after in seen.steps.items()
            },
            {(action, instances[action][at], judged) for action, at, judged in seen.judged},
            seen.holding,
            seen.closed,
        )

    def _compare(self, expected: _Seen, seen: _Seen, why: str) -> None:
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
            self.image(number, state) in first for state in first if state is not None for number in self._probes
        )
        if first != named or not closed:
            raise self._refused("initial", f"it singles out a {self._names}")

    @cached_property
    def anonymous(self) -> Model:
        """The same model with interchangeable values that have no face; to be made and used under `anonymity`."""
        specification = self.model.specification
        return Model(type(specification)(**specification.valuation))

    @cached_property
    def _probes(self) -> Sequence[int]:
        """The permutations that are tried on a state of the sample."""
        if len(self.group) <= WHOLE_GROUP:
            return range(1, len(self.group))
        return [number for number, permutation in enumerate(self.group) if _generates(permutation)]

    @cached_property
    def _instances(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """By permutation, action and instance: the instance with the parameters permuted."""
        return tuple(
            tuple(tuple(_instances(list(action.domains.values()), permutation)) for action in self.model.actions)
            for permutation in self.group
        )

    def _images(self, permutation: Permutation) -> tuple[Image, ...]:
        """What a permutation puts into each slot."""
        layout, found = self.model.layout, dict[int, Image]()
        for name, (_, domain) in self.model.specification.variables.items():
            at = layout.variables[name].at
            for cell, target in _targets(at, domain, permutation):
                first, to = layout.first_slot[cell], layout.first_slot[target]
                try:
                    taken = routes(layout.cells[cell].domain, layout.cells[target].domain, permutation)
                except OutOfDomain as wrong:
                    raise self._refused(f"variable {name}", f"its domain is not symmetric: {wrong}") from None
                for number, route in enumerate(taken):
                    guard = -1 if route.guard is None else first + route.guard
                    found[to + route.slot] = Image(first + number, route.codes, guard, route.above)
        return tuple(found[slot] for slot in range(len(layout.slots)))

    def _renaming(self, number: int) -> str:
        renamed = (
            f"{sort} {value} for {image}"
            for sort, images in self.group[number].items()
            for value, image in images.items()
            if value != image
        )
        return "with " + ", ".join(renamed)

    @property
    def _names(self) -> str:
        return " or ".join(self.sorts)

    def _kind_of(self, what: str) -> str:
        name = what.split("(")[0].split(" ")[0]
        kind = "action" if any(action.name == name for action in self.model.actions) else "property"
        return f"{kind} {name}"

    def _refused(self, who: str, why: str) -> UsageError:
        return UsageError(f"--symmetry: {who} of {self.model.specification.name} tells {self._names}s apart: {why}")


def _sorts(model: Model) -> Sorts:
    """Every sort of interchangeable values of a model."""
    found: dict[str, tuple[Any, ...]] = {}
    try:
        for _, domain in model.specification.variables.values():
            if isinstance(domain, MappingDomain):
                unite(found, sorts_of(domain.keys))
                for cell in domain.cells.values():
                    unite(found, sorts_of(cell))
            else:
                unite(found, sorts_of(domain))
        for action in model.actions:
            for domain in action.domains.values():
                unite(found, sorts_of(domain))
    except SpecificationError as wrong:
        raise UsageError(f"--symmetry: {wrong}") from None
    if not found:
        raise UsageError(f"--symmetry: {model.specification.name} has no interchangeable values")
    return found


def _group(sorts: Sorts) -> Iterator[Permutation]:
    """Every permutation of each sort with every one of the others; first the one that changes nothing."""
    for chosen in product(*(permutations(values) for values in sorts.values())):
        yield {
            sort: dict(zip(values, images, strict=True))
            for (sort, values), images in zip(sorts.items(), chosen, strict=True)
        }


def _generates(permutation: Permutation) -> bool:
    """Whether it exchanges two neighbours and nothing else."""
    changed = [
        (at, [*images].index(image))
        for images in permutation.values()
        for at, (value, image) in enumerate(images.items())
        if value != image
    ]
    return len(changed) == 2 and changed[0][1] == changed[0][0] + 1


def _targets(
    at: int | Mapping[Any, int], domain: Domain[Any] | MappingDomain, permutation: Permutation
) -> Iterator[tuple[int, int]]:
    """Each cell of a variable with the cell to which a permutation takes it."""
    if isinstance(at, int) or not isinstance(domain, MappingDomain):
        assert isinstance(at, int)
        yield at, at
        return
    for key, cell in at.items():
        target = moved(domain.keys, key, permutation)
        if target not in at:
            raise UsageError(f"--symmetry: the keys of a mapping have {key} and not {target}")
        yield cell, at[target]


def _instances(domains: Sequence[Domain[Any]], permutation: Permutation) -> Iterator[int]:
    """For each instance of an action whose parameters range over these domains, the one with them permuted."""
    for values in product(*domains):
        number = 0
        for domain, value in zip(domains, values, strict=True):
            number = number * domain.size + domain.rank(moved(domain, value, permutation))
        yield number


def _tree(images: Sequence[Sequence[Image]], group: tuple[int, ...], slot: int) -> Node:
    """These permutations, by what they put into this slot and the following ones."""
    if slot == len(images[0]):
        return Node(group, ())
    branches: dict[Image, list[int]] = {}
    for number in group:
        branches.setdefault(images[number][slot], []).append(number)
    return Node(group, tuple((image, _tree(images, tuple(numbers), slot + 1)) for image, numbers in branches.items()))
