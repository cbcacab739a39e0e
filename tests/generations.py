"""The generations of controllers as parameters of long tests, since exploring one takes eight seconds.

A change in one shows in its pinned figures at once.
"""

from __future__ import annotations

import pytest

from spec.diagrams import GENERATIONS

each_generation = pytest.mark.parametrize(
    "release", [pytest.param(release, marks=pytest.mark.long) for release in GENERATIONS]
)
"""One long test each."""
