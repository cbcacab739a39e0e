"""Compare a real system with its specification at every step of a random walk.

The specification chooses the steps, so the system receives only steps that are enabled; a refusal that should be
tested is an action whose effect is the refusal. The author supplies the whole mapping in three functions: one that
performs a step on the system, one that observes the system, and one that says what the specification expects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from spec.checking.arguments import SpecificationOrClass
from spec.language.cells import key_in_brackets
from spec.language.domains import ABSENT
from spec.language.state import State, Values
from spec.language.words import Step
from spec.testing.machine import SpecificationMachine, machine_class
from spec.testing.recipe import Recipe
from spec.testing.walk import WalkedGraph

S = TypeVar("S")


class Mismatch(AssertionError):
    """The system and its specification differ. The message shows both, field by field."""


def method_of_that_name(system: Any, step: Step) -> object:
    """Perform a step by calling the system's method with the action's name."""
    return getattr(system, step.action)(**step.parameters)


class ComparedSystem(NamedTuple, Generic[S]):
    """The author's part: a system, and its mapping to the specification."""

    make: Callable[..., S]
    do: Callable[[S, Step], object]
    see: Callable[[S, Any], object]
    expected: Callable[[State], object]
    close: Callable[[S], object]


def against(
    specification: SpecificationOrClass,
    make: Callable[..., S],
    *,
    see: Callable[[S, Any], object],
    expected: Callable[[State], object],
    do: Callable[[S, Step], object] = method_of_that_name,
    close: Callable[[S], object] = lambda system: None,
    bounds: bool = True,
) -> type[SpecificationMachine]:
    """A Hypothesis state machine that walks through a specification with a system beside it.

    It is the machine of `as_state_machine`; in addition, `see` must equal `expected` at the start and after each
    step.

        >>> from spec.language import Specification, State, action, require, variable
        >>> class Boxes(State):
        ...     boxes: int = variable("Boxes in stock.", of=lambda self: range(4))
        >>> class Stock(Specification[Boxes]):
        ...     @action(boxes=(1, 2))
        ...     def put(self, s, boxes):
        ...         require(s.boxes + boxes <= 3)
        ...         s.boxes += boxes
        >>> class Shelf:
        ...     def __init__(self):
        ...         self.boxes = 0
        ...     def put(self, boxes):
        ...         self.boxes += 1
        >>> StockBesideShelf = against(
        ...     Stock(),
        ...     Shelf,
        ...     see=lambda shelf, answer: {"boxes": shelf.boxes, "full": shelf.boxes == 3},
        ...     expected=lambda s: {"boxes": s.boxes, "full": s.boxes == 3},
        ... )
        >>> (put,) = StockBesideShelf.actions
        >>> state = StockBesideShelf()
        >>> state.take(put(boxes=1))
        >>> state.take(put(boxes=2))
        Traceback (most recent call last):
        ...
        spec.testing.comparison.Mismatch: after put(boxes=2) the system differs from its specification
            boxes: the system has 2, the specification 3
            full: the system has False, the specification True

    Args:
        specification: the specification to test against.
        make: makes a new system for each walk; it receives the parameters of `initial` if there are any.
        see: observes the system, and its answer to the last step (None at the start).
        expected: returns the expected observation for a state of the specification. Mappings, NamedTuples and
            dataclasses are compared field by field, other values as a whole.
        do: performs a step on the system and returns its answer; an exception fails the test. By default the
            system has a method for each action.
        close: is called with each system at the end of its walk, even after a failure.
        bounds: as in `as_state_machine`.

    Raises:
        SpecificationError: the specification has a mistake.
    """
    graph = WalkedGraph(specification, bounds=bounds)
    named: dict[str, object] = {"see": see, "expected": expected}
    named |= {} if do is method_of_that_name else {"do": do}
    recipe = Recipe(against, graph, make, **named)
    mapped = ComparedSystem(make, do, see, expected, close)
    return machine_class(ComparingMachine, graph, recipe, {"_mapped": mapped})


class ComparingMachine(SpecificationMachine):
    """A machine that runs a system beside the walk."""

    _mapped: ClassVar[ComparedSystem[Any]]

    def __init__(self) -> None:
        self._systems: list[Any] = []
        self._window = self._graph.model.window()
        try:
            super().__init__()
        except BaseException:
            self.teardown()  # Hypothesis tears down only finished objects
            raise

    def _arrived(self, step: Step, state: Values) -> None:
        __tracebackhide__ = True
        mapped, answer = self._mapped, None
        if not self._systems:
            self._systems.append(mapped.make(**step.parameters))
            when = "at the start"
        else:
            answer = mapped.do(self._systems[0], step)
            when = f"after {step}"
        wanted = dict(flat("", mapped.expected(self._window.load(state))))
        seen = dict(flat("", mapped.see(self._systems[0], answer)))
        names = list(dict.fromkeys([*wanted, *seen]))
        differing = [name for name in names if wanted.get(name, ABSENT) != seen.get(name, ABSENT)]
        if differing:
            lines = [f"{when} the system differs from its specification"]
            for name in differing:
                both = f"the system has {seen.get(name, ABSENT)!r}, the specification {wanted.get(name, ABSENT)!r}"
                lines.append(f"    {name}: {both}" if name else f"    {both}")
            same = [f"{name} = {seen[name]!r}" for name in names if name not in differing]
            raise Mismatch("\n".join([*lines, *(["    equal: " + ", ".join(same)] if same else [])]))

    def teardown(self) -> None:
        """Close the system."""
        while self._systems:
            self._mapped.close(self._systems.pop())
        super().teardown()


def flat(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The fields of an observation: `nodes[/a].version` for a field within a mapping or record.

    >>> dict(flat("", {"up": True, "nodes": {"/a": 1}}))
    {'up': True, 'nodes[/a]': 1}
    """
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from flat(f"{place}[{key_in_brackets(key)}]" if place else str(key), part)
    elif hasattr(type(value), "_fields"):
        for name, part in zip(value._fields, value, strict=True):
            yield from flat(f"{place}.{name}" if place else name, part)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from flat(f"{place}.{field.name}" if place else field.name, getattr(value, field.name))
    else:
        yield place, value
