"""Random draws depend only on the stated inputs, and are spread evenly."""

from __future__ import annotations

from collections import Counter

import pytest

from spec.checking.random.chance import BY_INSTANCE, EVEN, SEEDS, SWARM, Chance
from spec.checking.states.splitmix import STRIDE, mixed


def test_draws_are_splitmix64() -> None:
    """The mixing function is the published one: these are its first numbers for seed 0."""
    assert [mixed(n * STRIDE % 2**64) for n in (1, 2, 3)] == [
        0xE220A8397B1DCDAF,
        0x6E789E6AA1B965F4,
        0x06C45D188009454F,
    ]


def test_a_run_is_reproducible() -> None:
    """From its seed, regardless of earlier draws."""
    Chance(7, 2).below(100)
    one, other = Chance(7, 3), Chance(7, 3)
    assert [one.below(1000) for _ in range(20)] == [other.below(1000) for _ in range(20)]


@pytest.mark.parametrize(("seed", "run"), [(8, 3), (7, 4), (7 + 2**63, 3), (SEEDS - 1, 3)])
def test_runs_draw_differently(seed: int, run: int) -> None:
    """Runs with another seed do, too."""
    one, other = Chance(7, 3), Chance(seed, run)
    assert [one.below(1000) for _ in range(20)] != [other.below(1000) for _ in range(20)]


def test_numbers_are_spread_evenly() -> None:
    """Each of 10 buckets gets a tenth of 20,000 draws; three standard deviations are 127."""
    drawn = Counter(Chance(1, run).below(10) for run in range(20_000))
    assert all(abs(drawn[place] - 2000) < 130 for place in range(10))


def test_weights_are_drawn_for_each_run() -> None:
    """Four weights are equally likely for each action, and independent of the draws."""
    drawn = Counter((Chance(1, run).weight(SWARM, 0), Chance(1, run).weight(SWARM, 5)) for run in range(16_000))
    assert set(drawn) == {(one, other) for one in (1, 16, 256, 4096) for other in (1, 16, 256, 4096)}
    assert all(abs(times - 1000) < 100 for times in drawn.values())
    chance = Chance(1, 1)
    chance.below(5)
    assert chance.weight(SWARM, 0) == Chance(1, 1).weight(SWARM, 0)


def test_even_weights() -> None:
    """Other policies give every action the same weight."""
    for policy in (EVEN, BY_INSTANCE):
        assert {Chance(1, run).weight(policy, run) for run in range(20)} == {1}
