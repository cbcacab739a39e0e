"""What each release changed in the changes of states."""

from __future__ import annotations

import pytest

from statemachines.controller.control_design import ControlDesign
from statemachines.releases import UnknownRelease
from statemachines.tables.replica import OfflineReplica, ReplicaDeletionIneligible


def test_the_table_is_that_of_the_release() -> None:
    """2.3 brought a row."""
    allowed = [
        ControlDesign(release).replica_table.allows(OfflineReplica, ReplicaDeletionIneligible)
        for release in ("2.2", "2.3")
    ]
    assert allowed == [False, True]


def test_releases_of_a_line_are_equal_unless_something_changed_in_it() -> None:
    """2.5.1 brought the fix of a broker's check of its epoch."""
    assert ControlDesign("2.8.0") == ControlDesign("2.8.1") == ControlDesign("2.8")
    assert ControlDesign("2.5.0") != ControlDesign("2.5.1") == ControlDesign("2.5")


def test_an_unknown_release_is_refused() -> None:
    """With its name."""
    with pytest.raises(UnknownRelease, match=r"4\.7"):
        ControlDesign("4.7")
