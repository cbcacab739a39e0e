"""Converts docstrings for autodoc: plain text with backticks becomes reStructuredText.

Hand-made layout, such as a table or a program, is shown verbatim. A constant or a type that a package re-exports from
one of its modules keeps the docstring of that module.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from inspect import cleandoc
from itertools import groupby
from typing import Any, Final

from sphinx.application import Sphinx
from sphinx.errors import PycodeError
from sphinx.ext.napoleon.docstring import GoogleDocstring
from sphinx.pycode import ModuleAnalyzer

from statemachines.changes.change import KafkaChange

COLUMNS: Final = re.compile(r"\S {3,}\S")
SECTION: Final = re.compile(r"(Args|Raises|Returns|Yields):")
"""The sections that Google's style turns into lists."""
ITEM: Final = re.compile(r" *(- |>>> )")
NAME: Final = re.compile(r"(`[^`]+`)(?=\w)")


def docstring_of(package: str, word: str) -> str:
    """Return the docstring of a package's constant or type: its own, or the one below its definition, or ''."""
    value = getattr(sys.modules[package], word)
    own = getattr(value, "__dict__", {}).get("__doc__")
    if isinstance(own, str):
        return cleandoc(own)
    within = sorted(name for name in sys.modules if f"{name}.".startswith(f"{package}."))
    defining = (name for name in within if getattr(sys.modules[name], word, None) is value)
    return next(filter(None, (_below_definition(name, word) for name in defining)), "")


def _below_definition(module: str, word: str) -> str:
    try:
        return "\n".join(ModuleAnalyzer.for_module(module).find_attr_docs().get(("", word), ())).strip()
    except PycodeError:  # the module has no Python source
        return ""


def restructured(docstring: str) -> str:
    r"""Return a docstring as reStructuredText.

    >>> print(restructured("Both:\n\n    a   the first\n    b   the second\n\nare `X`s."))
    Both:
    <BLANKLINE>
    ::
    <BLANKLINE>
        a   the first
        b   the second
    <BLANKLINE>
    are `X`\ s.
    """
    return "\n\n".join(_restructured(docstring))


def _restructured(docstring: str) -> Iterator[str]:
    in_section = is_literal = False
    for is_blank, lines in groupby(docstring.split("\n"), key=lambda line: not line.strip()):
        if is_blank:
            continue
        block = [*lines]
        is_indented = block[0].startswith(" ")
        in_section = bool(SECTION.fullmatch(block[0])) or (in_section and is_indented)
        goes_on = is_literal and is_indented
        is_literal = not in_section and _is_laid_out(block)
        if not is_literal:
            yield NAME.sub(r"\1\\ ", "\n".join(block))
        elif goes_on:
            yield "\n".join(block)
        else:
            yield "::\n\n" + "\n".join(block if is_indented else [f"    {line}" for line in block])


def _is_laid_out(block: list[str]) -> bool:
    """Return whether the lines have columns, or are indented without being a list item."""
    return not ITEM.match(block[0]) and any(line.startswith(" ") or COLUMNS.search(line) for line in block)


def show(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Replace the lines of a docstring with their reStructuredText."""
    if isinstance(obj, KafkaChange):
        text = str(obj)
    else:
        text = docstring_of(*name.rpartition(".")[::2]) if what == "data" else "\n".join(lines)
    if text.startswith("Alias for field number"):  # Python's default for a field without a docstring
        text = ""
    lines[:] = str(GoogleDocstring(restructured(text))).split("\n")


def setup(app: Sphinx) -> None:
    """Register the conversion with Sphinx."""
    app.connect("autodoc-process-docstring", show)
