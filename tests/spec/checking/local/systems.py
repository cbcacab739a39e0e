"""Random systems: places for values of some kind, and actions and properties that make and ask whatever there is.

An action looks at two places, asks something of what it makes of them, and puts what it makes into a place. Some
leave the domains, some raise, most do neither.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from hypothesis import strategies as st

from spec.language import (
    Domain,
    Partial,
    Specification,
    State,
    Step,
    Total,
    action,
    bound,
    initial,
    invariant,
    mapping,
    partial_mapping,
    require,
    sometimes,
    transition_invariant,
    variable,
)
from tests.spec.checking.local.programs import QUESTIONS, Program, programs
from tests.spec.checking.local.structures import FEW_OF
from tests.spec.language.trees import Tree

COMPLAINTS = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What a question raises that does not fit."""


class Ask(NamedTuple):
    """A question about what is made of two places, and which answer is hoped for."""

    places: tuple[str, str]
    name: str
    left: Program
    right: Program
    answer: bool
    forgiving: bool
    """What raises is no answer."""

    def of(self, s: State) -> bool:
        """Whether the answer is the one."""
        x, y = (looked_at(s, place) for place in self.places)
        try:
            return bool(QUESTIONS[self.name](self.left.run(x, y), self.right.run(x, y))) is self.answer
        except COMPLAINTS:
            if self.forgiving:
                return False
            raise

    def __str__(self) -> str:
        x, y = self.places
        return f"{self.name} is {self.answer}, v = {self.left.text}, w = {self.right.text}, x = {x}, y = {y}"


class Act(NamedTuple):
    """What an action asks, and what it puts where."""

    ask: Ask | None
    bounded: bool
    places: tuple[str, str]
    make: Program
    into: str
    within: bool
    """Only if the domain holds it."""

    def do(self, system: Random, s: State) -> None:
        """Do it."""
        if self.ask is not None:
            (bound if self.bounded else require)(self.ask.of(s))
        x, y = (looked_at(s, place) for place in self.places)
        try:
            made = self.make.run(x, y)
        except COMPLAINTS:
            require(False)
        require(not self.within or made in system.domain)
        put(s, self.into, made)

    def __str__(self) -> str:
        x, y = self.places
        within = " if it fits" if self.within else ""
        return f"{self.into} = {self.make.text}{within}, x = {x}, y = {y}; asks {self.ask}"


PLACES = ("one", "many a", "many b", "some p")


def looked_at(s: Any, place: str) -> Any:
    """What is there."""
    variable, _, key = place.partition(" ")
    if variable == "one":
        return s.one
    return s.many[key] if variable == "many" else s.some.get(key)


def put(s: Any, place: str, value: Any) -> None:
    """Put something there."""
    variable, _, key = place.partition(" ")
    if variable == "one":
        s.one = value
    elif variable == "many":
        s.many[key] = value
    elif value is None and key in s.some:
        del s.some[key]
    else:
        s.some[key] = value


class RandomState(State):
    """Of `Random`."""

    one: Any = variable("The one.", of=lambda self: self.domain)
    many: Total[str, Any] = variable("The many.", of=lambda self: mapping("ab", self.domain))
    some: Partial[str, Any] = variable("The some.", of=lambda self: partial_mapping("p", self.domain))


class Random(Specification[RandomState]):
    """Made up by `systems`."""

    kind: ClassVar[str]
    acts: ClassVar[tuple[Act, ...]]
    asks: ClassVar[tuple[Ask, ...]]
    starts: ClassVar[tuple[Any, ...]]

    @property
    def domain(self) -> Domain[Any]:
        """That of all places."""
        return FEW_OF[self.kind].domain

    @initial(n=lambda self: range(len(self.starts)))
    def begin(self, s: RandomState, n: int) -> None:
        s.one = self.starts[n]

    @action(n=lambda self: range(len(self.acts)))
    def act(self, s: RandomState, n: int) -> None:
        self.acts[n].do(self, s)

    @action(n=lambda self: range(len(self.acts)))
    def act_twice(self, s: RandomState, n: int) -> None:
        self.acts[n].do(self, s)
        self.acts[0].do(self, s)

    @invariant
    def never(self, s: RandomState) -> bool:
        return not self.asks[0].of(s)

    @transition_invariant
    def never_before(self, before: RandomState, step: Step, after: RandomState) -> bool:
        return not (self.asks[1].of(before) and self.asks[0].of(after))

    @transition_invariant
    def never_by_the_first(self, before: RandomState, step: Step, after: RandomState) -> bool:
        return self.asks[1].of(after) or not self.asks[2].of(before) or step.parameters["n"] != 0

    @sometimes
    def once(self, s: RandomState) -> bool:
        return self.asks[2].of(s)

    def __str__(self) -> str:
        told = [f"{self.kind}, starts {self.starts}", *map(str, self.acts), *map(str, self.asks)]
        return "\n".join(told)


@st.composite
def questions(draw: st.DrawFn, tree: Tree) -> Ask:
    """One that has an answer somewhere."""
    x, y = (draw(st.sampled_from(tree.members)) for _ in range(2))
    left, right = draw(programs(x, y)), draw(programs(x, y))
    fitting = []
    for name, question in QUESTIONS.items():
        try:
            question(left.value, right.value)
        except Exception:
            continue
        fitting.append(name)
    places = draw(st.sampled_from(PLACES)), draw(st.sampled_from(PLACES))
    name = draw(st.sampled_from(fitting))
    return Ask(places, name, left, right, draw(st.booleans()), draw(st.integers(0, 9)) > 0)


@st.composite
def acts(draw: st.DrawFn, tree: Tree) -> Act:
    """One that puts something where it fits, most of the time."""
    x, y = (draw(st.sampled_from(tree.members)) for _ in range(2))
    made = draw(programs(x, y))
    for _ in range(4):
        if made.value in tree.domain:
            break
        made = draw(programs(x, y))
    return Act(
        draw(st.none() | questions(tree)),
        draw(st.booleans()),
        (draw(st.sampled_from(PLACES)), draw(st.sampled_from(PLACES))),
        made,
        draw(st.sampled_from(PLACES)),
        draw(st.integers(0, 9)) > 0,
    )


@st.composite
def systems(draw: st.DrawFn) -> Random:
    """With up to five actions, and one or two initial states."""
    kind = draw(st.sampled_from(sorted(FEW_OF)))
    tree = FEW_OF[kind]
    made = {
        "kind": kind,
        "acts": tuple(draw(st.lists(acts(tree), min_size=1, max_size=5))),
        "asks": tuple(draw(questions(tree)) for _ in range(3)),
        "starts": tuple(draw(st.lists(st.sampled_from(tree.members), min_size=1, max_size=2, unique=True))),
    }
    cls: Any = type("Made", (Random,), made)
    system: Random = cls()
    return system
