"""Pages of every public word, made by pdoc of the docstrings: `python -m tests.api DIRECTORY`, or `make api`.

What a package gives away it often takes from a module of its own, and pdoc finds no docstring of a constant or a type
there: these are looked up where they are defined. Nothing inherited from Python is shown.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import cleandoc
from pathlib import Path
from types import ModuleType
from typing import Final

from pdoc import doc, doc_ast, render

PACKAGES: Final = ("election", "spec.language", "spec.checking", "spec.testing", "spec.reports", "spec.scenarios")
"""What is imported from as a whole."""
MODULE_BY_MODULE: Final = ("statemachines", "spec.what_if")
"""What is imported from module by module."""


def names() -> Iterator[str]:
    """The names of all modules that have a page."""
    yield from PACKAGES
    for package in MODULE_BY_MODULE:
        yield package
        for each in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            yield each.name


def documented(name: str) -> doc.Module:
    """A module with its public words, each with its docstring."""
    imported = importlib.import_module(name)
    for word in getattr(imported, "__all__", ()):
        getattr(imported, word)  # what comes only when it is asked for
    module = doc.Module(imported)
    with _unresolved_as_written():
        for member in module.members.values():
            if isinstance(member, doc.Variable) and not member.docstring:
                member.docstring = _described(name, member.name, member.default_value)
    return module


@contextmanager
def _unresolved_as_written() -> Iterator[None]:
    """What pdoc cannot resolve of an annotation it shows as it is written, and need not warn of."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Error parsing type annotation", UserWarning)
        yield


def _described(package: str, name: str, value: object) -> str:
    """What is said of a value that a package gives away: by itself, or below the line that defines it."""
    own = getattr(value, "__dict__", {}).get("__doc__")
    if isinstance(own, str):
        return cleandoc(own)
    for module in _within(package):
        if getattr(module, name, None) is value and name in (found := doc_ast.walk_tree(module).var_docstrings):
            return found[name]
    return ""


def _within(package: str) -> Iterator[ModuleType]:
    """The modules of a package, as far as they are loaded."""
    for name in sorted(sys.modules):
        if name == package or name.startswith(f"{package}."):
            yield sys.modules[name]


def write(directory: Path) -> None:
    """Write all pages, an index and what the search needs."""
    render.configure(docformat="google", show_source=False, footer_text="kafkaspec")
    modules = {name: documented(name) for name in names()}
    with _unresolved_as_written():
        pages = {f"{name.replace('.', '/')}.html": render.html_module(modules[name], modules) for name in modules}
        pages |= {"index.html": render.html_index(modules), "search.js": render.search_index(modules)}
    for name, page in pages.items():
        place = directory / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.api DIRECTORY")
    write(Path(sys.argv[1]))
