"""Every release and its line are known; any other name is refused by every entry point."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from statemachines.controller.design import Design
from statemachines.controller.failover_stages import failover, resignation
from statemachines.drawing.controller_diagram import picture_of
from statemachines.releases import EXACT, RELEASES, Release, UnknownRelease, line_of
from statemachines.tables.partition import PARTITION
from statemachines.tables.replica import REPLICA
from tests.rows import rows

MEANT = {
    "0.10": "0.10.2",
    "0.10.1": "0.10.1",
    "0.10.1.1": "0.10.1",
    "0.10.2.0": "0.10.2",
    "0.11": "0.11",
    "0.11.0": "0.11",
    "0.11.0.3": "0.11",
    "1.0": "1.0",
    "1.0.0": "1.0",
    "2.1.0": "2.1",
    "2.8.1": "2.8",
    "3.9.1": "3.9",
}

REFUSED = [
    *("2", "3", "0", "2.", "2.9", "2.10", "2.10.1", "9.9", "4.0.0"),
    *("0.8.2", "0.9.0.1", "0.10.0", "0.10.0.1", "0.11.1", "0.1", "0.10.2.1.0"),
    *("", "trunk", "2.3-rc1", "2..3", " 2.3", "2.3\n", "v2.3", "-1.0", "02.3", "2.03", "2.x", "٢.٣"),
]


@rows("name", [*MEANT])
def test_a_release_is_of_a_line(name: str) -> None:
    """Two numbers or three, one more before 1.0; half a line (only 0.10 is one) means its last release."""
    assert line_of(name) == Release(name).line == MEANT[name]


@rows("name", REFUSED)
def test_an_invalid_release_is_refused(name: str) -> None:
    """With the existing lines."""
    with pytest.raises(UnknownRelease) as refused:
        line_of(name)
    assert str(refused.value).startswith(f"no release is called {name}; there are {', '.join(RELEASES)}")


@rows("name, nearest", [("0.10.0", True), ("0.10.0.1", True), ("0.8.2.0", True), ("0.11.1", False), ("4.0", False)])
def test_the_refusal_of_an_old_release_names_the_nearest(name: str, nearest: bool) -> None:
    with pytest.raises(UnknownRelease) as refused:
        Release(name)
    assert str(refused.value).endswith("the nearest is 0.10.1") is nearest


@pytest.mark.parametrize("name", ["9.9", "2", "0.10.0", "2.8.7", "trunk"])
def test_every_entry_point_refuses_an_invalid_release(name: str) -> None:
    """Tables, lists of steps and pictures share one list of releases."""
    asks: list[Callable[[str], object]] = [
        *(Release, PARTITION.at, REPLICA.at),
        *(failover, resignation, Design, lambda name: picture_of(name, ())),
    ]
    for ask in asks:
        with pytest.raises(UnknownRelease):
            ask(name)


def test_a_release_beyond_its_line_is_refused() -> None:
    """With the existing releases of the line."""
    with pytest.raises(UnknownRelease) as refused:
        Release("2.8.7")
    assert str(refused.value) == "no release is called 2.8.7; of 2.8 there are 2.8.0, 2.8.1, 2.8.2"


def test_releases_are_ordered_by_number() -> None:
    """The lines, and the releases in each."""
    every = [Release(name) for line in RELEASES for name in EXACT[line]]
    assert all(earlier < later for earlier, later in pairwise(every))
    assert [each.line for each in every] == [line for line in RELEASES for _ in EXACT[line]]


@rows("line", RELEASES)
def test_a_line_is_its_last_release(line: str) -> None:
    """The last release prints as the line; earlier ones print with all their numbers."""
    *earlier, last = EXACT[line]
    assert Release(line) == Release(last)
    assert str(Release(last)) == line
    assert [str(Release(each)) for each in earlier] == earlier
