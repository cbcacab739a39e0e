"""The ports that the engines are measured against go through the very states of the specification."""

from __future__ import annotations

import pytest

from benchmarks import kip320, spin
from spec.instances import PinnedInstance, instances

BOUNDS = ("brokers", "log_size", "max_records", "max_leader_epoch")
PINNED = {each.name: each for each in instances()}


def pinned(short: str) -> tuple[PinnedInstance, dict[str, int]]:
    """The pinned instance of the model that was ported, and its bounds."""
    instance = PINNED[f"replication, kip-320, {short}"]
    specification = instance.specification()
    return instance, {name: getattr(specification, name) for name in BOUNDS}


@pytest.mark.parametrize("short", ["2-2-2-2", "3-2-2-1", pytest.param("3-2-2-2", marks=pytest.mark.long)])
def test_the_port_to_plain_python_has_the_pinned_figures(short: str) -> None:
    """As many states and steps, and as deep."""
    instance, bounds = pinned(short)
    found = kip320.explore(**bounds)
    assert found == (instance.distinct_states, instance.depth, instance.generated_states)


@pytest.mark.skipif(bool(spin.missing()), reason=spin.missing())
@pytest.mark.parametrize("search", ["bfs", "dfs"])
def test_the_port_to_promela_has_the_pinned_figures(search: str) -> None:
    """Not one state more, as a process counter or a forgotten helper variable would make."""
    instance, bounds = pinned("2-2-2-2")
    found = spin.explore(**bounds, search=search)
    assert (found.distinct, found.generated) == (instance.distinct_states, instance.generated_states)
    assert found.depth in (None, instance.depth)
