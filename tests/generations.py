"""The generations of controllers as parameters: tests always run the newest, and the others in the long run.

Exploring one controller takes seconds. A change in an older one shows in its pinned figures at once.
"""

from __future__ import annotations

import pytest

from spec.diagrams import GENERATIONS

OLDER = GENERATIONS[:-1]
NEWEST = GENERATIONS[-1]

each_generation = pytest.mark.parametrize(
    "release", [*(pytest.param(release, marks=pytest.mark.long) for release in OLDER), NEWEST]
)
"""One test each; the tests of older generations are long."""
