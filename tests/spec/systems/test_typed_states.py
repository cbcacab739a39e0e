"""The states of systems and parts are typed: comparisons need no `bool`, and no type error is ignored."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

SPEC: Final = Path(__file__).parents[3] / "spec"


def help_with_types(source: str) -> Iterator[int]:
    """Return the lines that convert a comparison to bool, or ignore a type error."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id="bool"), args=[ast.Compare() | ast.BoolOp()]):
                yield node.lineno
    yield from (number for number, line in enumerate(source.splitlines(), start=1) if "# type: ignore" in line)


def test_no_system_or_part_overrides_the_type_checker() -> None:
    """A value of type `Any`, such as a znode's data, gets its type where it is read."""
    paths = [*(SPEC / "systems").glob("*.py"), *(SPEC / "parts").glob("*.py")]
    found = {path.name: list(help_with_types(path.read_text(encoding="utf-8"))) for path in paths}
    assert len(found) > 10
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_type_ignores_are_detected() -> None:
    """A test for emptiness is no comparison."""
    source = "a = bool(b == c)\nd = bool(e)\nf = bool(g and h)\ni = 1  # type: ignore\n"
    assert sorted(help_with_types(source)) == [1, 3, 4]
