"""The generations of controllers, as tests ask about them: the newest always, the others in the long run.

It takes seconds to find what a controller can do. What changed in an older one shows in its pinned figures at once.
"""

from __future__ import annotations

import pytest

from spec.diagrams import GENERATIONS

OLDER = GENERATIONS[:-1]
NEWEST = GENERATIONS[-1]

each_generation = pytest.mark.parametrize(
    "release", [*(pytest.param(release, marks=pytest.mark.long) for release in OLDER), NEWEST]
)
"""A test of each; those of the older ones are long."""
