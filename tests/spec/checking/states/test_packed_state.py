"""A packed state is one state in three forms, which all have the same order."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from spec.checking.states.packed import bytes_of, words_of
from spec.checking.states.packed_state import BYTES, PackedState
from spec.language.domains import Domain, integers, optional, sequence_of
from spec.language.state import Layout

DOMAINS: dict[str, Domain[Any]] = {
    "far": integers(0, 2**60),
    "queue": sequence_of(range(3), 9),
    "last": optional(integers(0, 2**45)),
}
LAYOUT = Layout({name: ("", domain) for name, domain in DOMAINS.items()})
STATES = st.tuples(*(domain.strategy() for domain in DOMAINS.values())).map(
    lambda values: PackedState.of_values(LAYOUT, values)
)


@given(STATES)
def test_each_form_leads_to_the_same_state(state: PackedState) -> None:
    """From values, words, bytes, or the number."""
    assert LAYOUT.words == 3
    assert PackedState.of_values(LAYOUT, state.values) == state
    assert PackedState.of_words(LAYOUT, state.words) == state
    assert PackedState.of_bytes(LAYOUT, state.bytes) == state


@given(STATES, STATES)
def test_all_forms_have_the_same_order(one: PackedState, other: PackedState) -> None:
    """The order of their codes."""
    assert (one.number < other.number) == (one.words < other.words) == (one.bytes < other.bytes)


@given(st.lists(STATES))
def test_arrays_have_the_same_words(states: list[PackedState]) -> None:
    """They give the same bytes back."""
    packed = [state.bytes for state in states]
    array = words_of(packed, BYTES * LAYOUT.words)
    assert [tuple(row) for row in array.tolist()] == [state.words for state in states]
    assert bytes_of(array) == packed
