"""Every pinned instance has the figures that are claimed, on every engine."""

from __future__ import annotations

import pytest

from spec.instances import Instance, figures_of, instances

SIZES = {"small": (), "medium": (pytest.mark.long,), "large": (pytest.mark.long,)}
EVERY = [pytest.param(each, id=each.name, marks=SIZES[each.size]) for each in instances()]


@pytest.mark.parametrize("instance", EVERY)
def test_the_reference_engine_finds_what_is_claimed(instance: Instance) -> None:
    """Verdict, distinct and generated states, depth, and the length of each shortest counterexample."""
    assert figures_of(instance.check("reference")) == instance.figures()


def test_names_are_unique() -> None:
    """A name means one instance."""
    names = [each.name for each in instances()]
    assert sorted(set(names)) == sorted(names)
