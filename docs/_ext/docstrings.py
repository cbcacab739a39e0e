"""Docstrings as autodoc shows them: plain text with backticks becomes reStructuredText.

What is laid out by hand, such as a table or a program, is shown as it stands. A constant or a type that a package
takes from a module of its own has its docstring there.
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
"""What Google's style makes lists of."""
ITEM: Final = re.compile(r" *(- |>>> )")
NAME: Final = re.compile(r"(`[^`]+`)(?=\w)")


def docstring_of(package: str, word: str) -> str:
    """What is said of a constant or a type of a package: by itself, or below its definition; empty if nothing is."""
    value = getattr(sys.modules[package], word)
    if isinstance(value, KafkaChange):
        return str(value)
    own = getattr(value, "__dict__", {}).get("__doc__")
    if isinstance(own, str):
        return cleandoc(own)
    within = sorted(name for name in sys.modules if f"{name}.".startswith(f"{package}."))
    defining = (name for name in within if getattr(sys.modules[name], word, None) is value)
    return next(filter(None, (_below_definition(name, word) for name in defining)), "")


def _below_definition(module: str, word: str) -> str:
    try:
        return "\n".join(ModuleAnalyzer.for_module(module).find_attr_docs().get(("", word), ())).strip()
    except PycodeError:  # it is no Python source
        return ""


def restructured(docstring: str) -> str:
    r"""A docstring as reStructuredText.

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
    """Whether lines have columns, or are indented and no item of a list."""
    return not ITEM.match(block[0]) and any(line.startswith(" ") or COLUMNS.search(line) for line in block)


def show(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Replace a docstring by what is shown of it."""
    text = docstring_of(*name.rpartition(".")[::2]) if what == "data" else "\n".join(lines)
    if text.startswith("Alias for field number"):  # as Python says of a field of which nobody says anything
        text = ""
    lines[:] = str(GoogleDocstring(restructured(text))).split("\n")


def setup(app: Sphinx) -> None:
    """Connect it."""
    app.connect("autodoc-process-docstring", show)
