"""Your own specification under pytest: correct variants stay correct, and the known failure stays known."""

import pytest

from examples.bounded_queue import BoundedQueue
from spec.checking import check


@pytest.mark.parametrize("notify", ["all", "other"])
@pytest.mark.parametrize("producers", [1, 2, 3])
def test_no_thread_waits_for_ever(producers: int, notify: str) -> None:
    """For any number of producers."""
    assert check(BoundedQueue(producers=producers, notify=notify)).verdict == "holds"


def test_one_notification_is_not_enough() -> None:
    """The lost wakeup, in the fewest steps."""
    assert [trace.length for trace in check(BoundedQueue(notify="one")).traces] == [9]
