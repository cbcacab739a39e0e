"""A letter and a number name one thing: a property, an anomaly or a divergence (docs/properties.md)."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from spec.atlas.anomalies import anomalies
from spec.kafka.divergences import DIVERGENCES

ROOT = Path(__file__).parent.parent
LEGEND = (ROOT / "docs/properties.md").read_text(encoding="utf-8")
NAMES = re.compile(r"((?:[A-Z]\d+)(?:, [A-Z]\d+)*): ")
"""The beginning of a numbered property's docstring."""
DECLARES = {"invariant", "transition_invariant", "sometimes"}


def rows(heading: str) -> list[list[str]]:
    """Return the rows of the table below a heading, cell by cell."""
    below = LEGEND.split(f"{heading}\n", 1)[1].split("\n## ")[0]
    table = [line.strip("| ").split(" | ") for line in below.splitlines() if line.startswith("| ")]
    return table[1:]  # without its head


LETTERS = {letter: where for letter, _, where in rows("# Letters and numbers")}
LISTED = [(name, set(re.findall(r"`(\w+)`", properties))) for name, _, properties in rows("## Properties")]


def declared() -> Iterator[tuple[str, str]]:
    """Return each letter and number in the docstrings of properties, with the property."""
    for file in sorted((ROOT / "spec").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and DECLARES & {word(each) for each in node.decorator_list}:
                found = NAMES.match(ast.get_docstring(node) or "")
                for name in found[1].split(", ") if found else ():
                    yield name, node.name


def word(decorator: ast.expr) -> str:
    """Return the name of a decorator, with or without arguments."""
    decorator = decorator.func if isinstance(decorator, ast.Call) else decorator
    return decorator.id if isinstance(decorator, ast.Name) else ""


def test_the_legend_has_every_property_with_a_letter() -> None:
    """Each number occurs there once, with the property's names in the systems."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, function in declared():
        found[name].add(function)
    assert [name for name, _ in LISTED] == sorted({*found}, key=lambda name: (places(name[0]), int(name[1:])))
    assert dict(LISTED) == found


def places(letter: str) -> int:
    """Return the place of a letter in the legend."""
    return list(LETTERS).index(letter)


def test_a_name_means_one_thing() -> None:
    """Properties, anomalies and divergences have distinct names."""
    properties = [name for name, _ in LISTED]
    names = [*properties, *(each.id for each in anomalies()), *(each.id for each in DIVERGENCES)]
    assert sorted({*names}) == sorted(names)


def test_a_letter_means_one_kind_of_thing() -> None:
    """The legend says which kind."""
    kinds = {
        "below": {name[0] for name, _ in LISTED},
        "anomalies": {each.id[0] for each in anomalies()},
        "divergences": {each.id[0] for each in DIVERGENCES},
    }
    for kind, letters in kinds.items():
        assert letters == {letter for letter, where in LETTERS.items() if kind in where}
