"""The doctests pass."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

from tests.rows import rows

ROOT = Path(__file__).parents[1]
SHOWN = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in ("election", "statemachines", "spec", "benchmarks", "docs")
    for path in (ROOT / package).rglob("*.py")
    if ">>> " in path.read_text()
)
"""The modules with examples."""


@rows("name", SHOWN)
def test_the_examples_of_a_module(name: str) -> None:
    tried = doctest.testmod(importlib.import_module(name))
    assert tried.failed == 0
    assert tried.attempted > 0, "its examples are not where doctest finds them"
