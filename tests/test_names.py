"""A public name means one thing: no two modules define a class or a type alias of the same name."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("election", "statemachines", "spec")

TWICE = {
    "Box": "a node of a picture: statemachines.controller_diagram and statemachines.drawing",
    "Layout": "where cells of a state lie: spec.language.state; where nodes of a picture lie: statemachines.drawing",
}
"""Names that two modules still define, until the machines and systems have names of their own for them."""


def defined_in(text: str) -> Iterator[str]:
    """The public classes and type aliases of a module: what stands at its top level in capitalised words.

    A constant is in capitals only, and so is the variable of a type.
    """
    for node in ast.parse(text).body:
        names: list[ast.expr] = []
        if isinstance(node, ast.ClassDef):
            yield from () if node.name.startswith("_") else (node.name,)
        elif isinstance(node, ast.Assign):
            names = node.targets
        elif isinstance(node, ast.AnnAssign):
            names = [node.target]
        for name in names:
            if isinstance(name, ast.Name) and name.id[0].isupper() and not name.id.isupper():
                yield name.id


def defined_twice(modules: Mapping[str, str]) -> dict[str, list[str]]:
    """The names that more than one of these modules defines, with these modules; given are their texts by name."""
    found = defaultdict(list)
    for module, text in modules.items():
        for name in defined_in(text):
            found[name].append(module)
    return {name: places for name, places in found.items() if len(places) > 1}


def test_no_public_name_means_two_things() -> None:
    """In all packages; what is still allowed to is really there twice."""
    files = [path.relative_to(ROOT) for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    twice = defined_twice({str(path): (ROOT / path).read_text(encoding="utf-8") for path in files})
    assert {name: places for name, places in twice.items() if name not in TWICE} == {}
    assert TWICE.keys() - twice.keys() == set(), "a name that one module defines is allowed to be defined by two"


def test_classes_and_type_aliases_are_compared() -> None:
    """However they are written; constants, private names and what stands within others are not."""
    one = "class Step:\n  class Inner: ...\nPath = list\nPlace: TypeAlias = str\nT = TypeVar('T')\nclass _Own: ..."
    other = "Step = tuple[str, int]\nclass Path: ...\nclass Place: ...\nclass Inner: ...\nT = 3\nclass _Own: ..."
    assert defined_twice({"one": one, "other": other, "third": "MOST: Final = 3"}) == {
        "Step": ["one", "other"],
        "Path": ["one", "other"],
        "Place": ["one", "other"],
    }
