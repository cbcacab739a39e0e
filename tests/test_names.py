"""A public name means one thing: a class wherever it is, a function or constant where users import it."""

from __future__ import annotations

import ast
import importlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tests import api

ROOT = Path(__file__).parents[1]
PACKAGES = ("election", "statemachines", "spec")

OF_EACH_MODULE: Final = {
    "FORMATS": "the formats that a module writes, with the function for each",
    "dot": "a module's picture in DOT",
    "mermaid": "in Mermaid",
    "svg": "as an SVG",
    "write": "what a module is about is written to a file",
}
"""Words that mean in each module the same of what it is about, and are called with its name: `diagrams.svg(...)`."""


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


def public_words() -> dict[str, dict[str, Any]]:
    """What users import, by name and module; a package has the same object as its module that defines it."""
    words: dict[str, dict[str, Any]] = defaultdict(dict)
    for name in api.names():
        module = importlib.import_module(name)
        for word in getattr(module, "__all__", ()):
            words[word][name] = getattr(module, word)
    return words


def test_no_class_or_alias_has_the_name_of_another() -> None:
    """In all packages, whether users import it or not."""
    files = [path.relative_to(ROOT) for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    assert defined_twice({str(path): (ROOT / path).read_text(encoding="utf-8") for path in files}) == {}


def test_no_public_word_means_two_things() -> None:
    """Functions and constants too, of all that has a page; what is said of each module is really said of several."""
    words = public_words()
    assert len(words) > 300, "few have been looked at"
    twice = {word: [*values] for word, values in words.items() if len({id(each) for each in values.values()}) > 1}
    assert {word: modules for word, modules in twice.items() if word not in OF_EACH_MODULE} == {}
    assert OF_EACH_MODULE.keys() - twice.keys() == set(), "a word that one module has"


def test_classes_and_type_aliases_are_compared() -> None:
    """However they are written; constants, private names and what stands within others are not."""
    one = "class Step:\n  class Inner: ...\nPath = list\nPlace: TypeAlias = str\nT = TypeVar('T')\nclass _Own: ..."
    other = "Step = tuple[str, int]\nclass Path: ...\nclass Place: ...\nclass Inner: ...\nT = 3\nclass _Own: ..."
    assert defined_twice({"one": one, "other": other, "third": "MOST: Final = 3"}) == {
        "Step": ["one", "other"],
        "Path": ["one", "other"],
        "Place": ["one", "other"],
    }
