"""Chance depends on what it says it depends on, and is spread as it should be."""

from __future__ import annotations

from collections import Counter

import pytest

from spec.checking.random.chance import BY_INSTANCE, EVEN, SEEDS, SWARM, Chance
from spec.checking.states.splitmix import STRIDE, mixed


def test_draws_are_splitmix64() -> None:
    """Mixing is the published function: these are the first numbers that it gives for the seed 0."""
    assert [mixed(n * STRIDE % 2**64) for n in (1, 2, 3)] == [
        0xE220A8397B1DCDAF,
        0x6E789E6AA1B965F4,
        0x06C45D188009454F,
    ]


def test_a_run_is_reproducible() -> None:
    """Of one seed, and whatever else was drawn before."""
    Chance(7, 2).below(100)
    one, other = Chance(7, 3), Chance(7, 3)
    assert [one.below(1000) for _ in range(20)] == [other.below(1000) for _ in range(20)]


@pytest.mark.parametrize(("seed", "run"), [(8, 3), (7, 4), (7 + 2**63, 3), (SEEDS - 1, 3)])
def test_runs_draw_differently(seed: int, run: int) -> None:
    """Of another seed, too."""
    one, other = Chance(7, 3), Chance(seed, run)
    assert [one.below(1000) for _ in range(20)] != [other.below(1000) for _ in range(20)]


def test_numbers_are_spread_evenly() -> None:
    """In each of 10 places there is a tenth of 20,000; three standard deviations are 127."""
    drawn = Counter(Chance(1, run).below(10) for run in range(20_000))
    assert all(abs(drawn[place] - 2000) < 130 for place in range(10))


def test_weights_are_drawn_for_each_run() -> None:
    """Each of four is as likely as the others, for each action; and they have nothing to do with what is drawn."""
    drawn = Counter((Chance(1, run).weight(SWARM, 0), Chance(1, run).weight(SWARM, 5)) for run in range(16_000))
    assert set(drawn) == {(one, other) for one in (1, 16, 256, 4096) for other in (1, 16, 256, 4096)}
    assert all(abs(times - 1000) < 100 for times in drawn.values())
    chance = Chance(1, 1)
    chance.below(5)
    assert chance.weight(SWARM, 0) == Chance(1, 1).weight(SWARM, 0)


def test_even_weights() -> None:
    """Other policies have only one weight."""
    for policy in (EVEN, BY_INSTANCE):
        assert {Chance(1, run).weight(policy, run) for run in range(20)} == {1}
