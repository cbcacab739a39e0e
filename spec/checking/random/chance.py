"""Chance: pseudorandom numbers that depend on a seed, the number of a run, and how many were drawn before.

They do not depend on the machine, the process, or other runs. The generator is SplitMix64, so compiled code draws the
same numbers.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from spec.checking.states.splitmix import MASK, STRIDE, mixed

WEIGHTS: Final = 0xD1B54A32D192ED03
"""Weights are drawn from a separate sequence of numbers."""
SEEDS: Final = 1 << 64
"""The number of seeds."""


class Policy(NamedTuple):
    """How a step is chosen: an action by its weight, then one of its enabled instances.

    Each run draws the weights of all actions anew, before its first step.
    """

    levels: int
    """The number of different weights."""
    bits: int
    """Each weight is this many bits longer than the previous one."""
    by_instance: bool = False
    """An action counts once for each enabled instance."""


SWARM: Final = Policy(levels=4, bits=4)
"""In most runs some actions are rare, different ones in each run: see docs/decisions/0008."""
EVEN: Final = Policy(levels=1, bits=0)
"""Every enabled action is as likely as any other."""
BY_INSTANCE: Final = Policy(levels=1, bits=0, by_instance=True)
"""Every enabled instance of an action is as likely as any other."""


class Chance:
    """The numbers drawn in one run."""

    def __init__(self, seed: int, run: int):
        self._key = self._at = mixed((mixed(seed & MASK) + run * STRIDE) & MASK)

    def below(self, limit: int) -> int:
        """The next number, from 0 up to the limit."""
        self._at = (self._at + STRIDE) & MASK
        return mixed(self._at) % limit

    def weight(self, policy: Policy, action: int) -> int:
        """The weight of an action in this run."""
        level = mixed(((self._key ^ WEIGHTS) + (action + 1) * STRIDE) & MASK) % policy.levels
        return 1 << policy.bits * level
