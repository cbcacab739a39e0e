"""Every public word has a docstring, which is its entry on the site."""

from __future__ import annotations

import importlib
from types import FunctionType

import pytest

from docs._ext.docstrings import docstring_of
from docs._ext.reference_pages import PACKAGES
from tests.rows import rows


def undocumented(package: str) -> list[str]:
    """Return a package's public words without a docstring; a constant's docstring follows its definition."""
    module = importlib.import_module(package)

    def docstring(word: str) -> str | None:
        value = getattr(module, word)
        return value.__doc__ if isinstance(value, type | FunctionType) else docstring_of(package, word)

    return [word for word in module.__all__ if not docstring(word)]


@rows("package", PACKAGES)
def test_every_public_word_has_a_docstring(package: str) -> None:
    """Constants and types, too."""
    assert undocumented(package) == []


def test_a_missing_docstring_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    import election

    monkeypatch.setattr(election, "NO_ELIGIBLE_LEADER", object())
    assert undocumented("election") == ["NO_ELIGIBLE_LEADER"]
