"""`examples/bounded_queue.py` is BlockingQueue, with published figures on when and how soon it deadlocks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spec.checking import check
from tests.gallery.exploring import ENGINES, Explored, Figures, checked, explored, figures, system
from tests.tiers import in_turn

State = tuple[tuple[str, ...], frozenset[str]]
"""The number of elements, and the waiting threads."""
SMALL = [
    (producers, consumers, places)
    for producers in (1, 2, 3)
    for consumers in (1, 2, 3)
    for places in (1, 2)
    if producers + consumers <= 5
]


def plain(producers: int, consumers: int, places: int, notify: str) -> Explored:
    """Explore all states, without the language."""
    producing = frozenset(f"p{number}" for number in range(producers))
    consuming = frozenset(f"c{number}" for number in range(consumers))

    def woken(waiting: frozenset[str], others: frozenset[str]) -> Iterator[frozenset[str]]:
        """Return the sets of threads that may still wait after a notification."""
        asleep = waiting & others if notify == "other" else waiting
        if notify == "all" or not asleep:
            yield waiting - asleep
        else:
            yield from (waiting - {thread} for thread in asleep)

    def following(state: State) -> Iterator[State]:
        elements, waiting = state
        for thread in (producing | consuming) - waiting:
            if thread in producing and len(elements) < places:
                yield from (((*elements, thread), rest) for rest in woken(waiting, consuming))
            elif thread in consuming and elements:
                yield from ((elements[1:], rest) for rest in woken(waiting, producing))
            else:
                yield elements, waiting | {thread}

    first: State = ((), frozenset())
    return explored([first], following, is_wrong=lambda state: state[1] == producing | consuming)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("producers", "consumers", "places", "states"),
    [(1, 2, 1, 8), (2, 1, 1, 9), (2, 2, 1, 9), pytest.param(4, 3, 3, 47, marks=pytest.mark.long)],
)
def test_the_lost_wakeup_is_as_far_as_published(
    engine: str, producers: int, consumers: int, places: int, states: int
) -> None:
    """The traces of the tutorial's steps v05 and v10; one of these is an animation of 46 steps."""
    result = checked("bounded_queue", engine, producers=producers, consumers=consumers, places=places, notify="one")
    assert (result.verdict, result.counterexample and result.counterexample.length) == ("violated", states)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("producers", "consumers", "states"), [(1, 1, 4), (1, 2, 14)])
def test_the_state_graphs_are_as_large_as_published(engine: str, producers: int, consumers: int, states: int) -> None:
    """The graphs drawn in the steps v02 and v03, deadlocks included."""
    queue = system("bounded_queue")(producers=producers, consumers=consumers, notify="one")
    assert check(queue, engine=engine, keep_going=True).distinct_states == states


@pytest.mark.parametrize("engine", ENGINES)
def test_with_two_conditions_it_has_the_published_states(engine: str) -> None:
    """TLC's figures in the step v28."""
    result = checked("bounded_queue", engine, producers=4, consumers=3, places=3)
    assert (result.verdict, *figures(result)[:2]) == ("holds", 1_600, 12_313)


@pytest.mark.parametrize(("size", "notify"), in_turn(SMALL, ["one", "all", "other"]), ids=str)
def test_states_equal_a_search_in_plain_python(size: tuple[int, int, int], notify: str) -> None:
    """With one notified, there is a deadlock if there are more than twice as many threads as places, as in v08."""
    producers, consumers, places = size
    expected = plain(producers, consumers, places, notify)
    assert expected.broken == (notify == "one" and producers + consumers > 2 * places)
    for engine in ("reference", "local"):
        result = checked(
            "bounded_queue", engine, producers=producers, consumers=consumers, places=places, notify=notify
        )
        assert (result.verdict, figures(result)) == ("violated" if expected.broken else "holds", expected.figures)


def test_if_all_threads_wait_none_can_continue() -> None:
    """A state where all wait is a deadlock, so the invariant is about deadlocks."""
    queue = system("bounded_queue")(notify="one")
    found = check(queue, properties=["type_ok"], deadlock=True)
    assert (found.verdict, figures(found)) == ("deadlock", Figures(22, 40, 9))


@pytest.mark.parametrize("engine", ENGINES)
def test_producers_are_alike_and_so_are_consumers(engine: str) -> None:
    """Producers and consumers are two sorts."""
    result = checked("bounded_queue", engine, symmetry=True, producers=2, consumers=2, notify="one")
    assert (result.verdict, result.depth) == ("violated", 9)
