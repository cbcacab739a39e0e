"""A new kind of domain is one class. Layout, permutation, printing and exploration use only its methods."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import pytest

from spec.checking import check
from spec.language import Domain, Specification, State, action, interchangeable, invariant, require, variable
from spec.language.domains import Slot
from spec.language.errors import OutOfDomain
from spec.language.permutations import Permutation, Route
from tests.spec.checking.local.comparing import agreed

BROKERS = interchangeable("broker", range(3))


class CountsDomain(Domain[tuple[int, ...]]):
    """How often each element occurs, up to a limit, in the order of the elements."""

    def __init__(self, elements: Domain[Any], most: int):
        self.elements, self.most, self.inner = elements, most, (elements,)
        self.size = (most + 1) ** elements.size

    def rank(self, value: Any) -> int:
        number = 0
        for code in self.codes(value):
            number = number * (self.most + 1) + code
        return number

    def unrank(self, code: int) -> tuple[int, ...]:
        return tuple(code // (self.most + 1) ** at % (self.most + 1) for at in reversed(range(self.elements.size)))

    def _slots(self) -> Iterator[Slot]:
        return (Slot(f"[{element}]", self.most + 1) for element in self.elements)

    def codes(self, value: Any) -> tuple[int, ...]:
        if type(value) is not tuple or len(value) != self.elements.size:
            raise OutOfDomain(value, str(self))
        if not all(type(count) is int and 0 <= count <= self.most for count in value):
            raise OutOfDomain(value, str(self))
        return value

    def value(self, codes: Sequence[int]) -> tuple[int, ...]:
        return tuple(codes)

    def likeness(self, of: Callable[[Domain[Any]], Hashable]) -> tuple[Hashable, ...]:
        return of(self.elements), self.most

    def _moved(self, value: Any, permutation: Permutation) -> Any:
        moved = dict(zip(self._to(permutation), value, strict=True))
        return tuple(moved[at] for at in range(len(value)))

    def _routes(self, other: Any, permutation: Permutation) -> Iterator[Route]:
        return (Route(to, tuple(range(self.most + 1))) for to in self._to(permutation))

    def _to(self, permutation: Permutation) -> list[int]:
        return [self.elements.rank(self.elements.moved(element, permutation)) for element in self.elements]

    def __str__(self) -> str:
        return f"a tuple of {self.elements.size} integers of 0..{self.most}"


class LettersState(State):
    """The state of `Letters`."""

    sent: tuple[int, ...] = variable("Letters of each broker.", of=lambda self: CountsDomain(BROKERS, 2))


class Letters(Specification[LettersState]):
    """Brokers send up to two letters each."""

    @action(broker=BROKERS)
    def send(self, s: LettersState, broker: int) -> None:
        """One more."""
        at = BROKERS.rank(broker)
        require(s.sent[at] < 2)
        s.sent = (*s.sent[:at], s.sent[at] + 1, *s.sent[at + 1 :])

    @invariant
    def few(self, s: LettersState) -> bool:
        """At most three letters are sent."""
        return bool(sum(s.sent) < 4)


def test_engines_agree_on_a_new_domain() -> None:
    """Each of three brokers has sent none, one or two."""
    assert agreed(Letters(), keep_going=True)["statistics"][2] == 27


def test_permutations_move_a_new_domain() -> None:
    """Moving slots equals moving values. There is an orbit for each multiset of three counts."""
    assert check(Letters(), engine="reference", keep_going=True, symmetry=True).distinct_states == 10
    assert check(Letters(), engine="local", keep_going=True, symmetry=True).distinct_states == 10
    domain, turn = CountsDomain(BROKERS, 2), {"broker": {0: 1, 1: 2, 2: 0}}
    routes = domain.routes(domain, turn)
    for value in domain:
        moved = dict(zip([route.slot for route in routes], domain.codes(value), strict=True))
        assert tuple(moved[slot] for slot in range(3)) == domain.codes(domain.moved(value, turn))


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_a_new_domain_is_printed(engine: str) -> None:
    """As tuples in a trace; its slots by element in paths."""
    found = check(Letters(), engine=engine)
    assert found.counterexample is not None
    assert "sent: (0, 1, 2) -> (0, 2, 2)" in str(found.counterexample)
    assert found.to_json()["counterexample"]["steps"][-1]["changes"] == {"sent": [[0, 1, 2], [0, 2, 2]]}
    assert [slot.name for slot in CountsDomain(BROKERS, 2).slots] == ["[0]", "[1]", "[2]"]
