"""Characters that hide or reorder text are escaped, and all others are unchanged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.checking.values.text import show
from spec.language.errors import error_text, escaped, escaped_lines, represented, safe_repr

ALL = st.text(st.characters(exclude_categories=()))
"""Surrogates, too."""


class Named:
    """An object with an arbitrary `repr`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


@pytest.mark.parametrize("code", [0x00, 0x0A, 0x0D, 0x1B, 0x7F, 0x9B, 0x061C, 0x200E, 0x2028, 0x202E, 0x2069, 0xD800])
def test_invisible_characters_are_escaped(code: int) -> None:
    assert escaped(f"a{chr(code)}b") == f"a{chr(code)!r}b".replace("'", "")


@given(ALL)
def test_lines_are_printable_and_a_line_stays_one(text: str) -> None:
    assert escaped(text).isprintable()
    assert list(map(escaped, text.split("\n"))) == escaped_lines(text).split("\n")
    assert safe_repr(text).isprintable()
    assert error_text(ValueError(text)).isprintable()
    assert represented(Named(text)).isprintable()
    assert show(Named(text)).isprintable()


@given(ALL.filter(str.isprintable))
def test_visible_characters_are_unchanged(text: str) -> None:
    assert escaped(text) == text
