"""What each release changed of how states are changed."""

from __future__ import annotations

import doctest
from itertools import pairwise

import pytest

from statemachines import control_design
from statemachines.control_design import CONTROL_DESIGNS, ControlDesign, control_design_of
from statemachines.releases import RELEASES, UnknownRelease
from statemachines.replica import OfflineReplica, ReplicaDeletionIneligible


def test_the_example_in_the_docstring() -> None:
    """It is as it says."""
    assert doctest.testmod(control_design).failed == 0


def test_the_newest_release_is_what_is_taken_without_one() -> None:
    """But for the table, which is that of a release."""
    assert control_design_of("3.9")._replace(replica_table=ControlDesign().replica_table) == ControlDesign()


def test_every_release_differs_by_what_it_changed() -> None:
    """And by nothing else, line after line."""
    for older, newer in pairwise(RELEASES):
        before, after = (control_design_of(each)._asdict() for each in (older, newer))
        changed = {name for name in before if name != "replica_table" and before[name] != after[name]}
        assert changed == set(CONTROL_DESIGNS.get(newer, ()))


def test_the_table_is_that_of_the_release() -> None:
    """A row came with 2.3."""
    allowed = [
        control_design_of(release).replica_table.allows(OfflineReplica, ReplicaDeletionIneligible)
        for release in ("2.2", "2.3")
    ]
    assert allowed == [False, True]


def test_what_is_no_release_is_refused() -> None:
    """By its name."""
    with pytest.raises(UnknownRelease, match=r"4\.7"):
        control_design_of("4.7")
