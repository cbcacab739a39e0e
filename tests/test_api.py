"""Every public word has an entry with a docstring, and a page that shows it."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from tests.api import PACKAGES, documented, names, write
from tests.rows import rows


@rows("package", PACKAGES)
def test_every_public_word_has_an_entry_with_a_docstring(package: str) -> None:
    """Constants and types, too, which have theirs where they are defined."""
    entries = documented(package).members
    without = [word for word in importlib.import_module(package).__all__ if not entries[word].docstring]
    assert without == []


def test_a_missing_docstring_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    import election

    monkeypatch.setattr(election, "NO_ELIGIBLE_LEADER", object())
    assert documented("election").members["NO_ELIGIBLE_LEADER"].docstring == ""


def test_every_module_that_is_imported_from_has_a_page() -> None:
    assert {"statemachines.zookeeper.server", "statemachines.tables.partition", "spec.what_if.prediction"} <= set(
        names()
    )


@pytest.mark.long
def test_pages_show_the_words_and_nothing_of_pythons_own(tmp_path: Path) -> None:
    """A constructor is shown as the call of its class; no other name with underscores is."""
    write(tmp_path)
    for name in names():
        page = (tmp_path / f"{name.replace('.', '/')}.html").read_text(encoding="utf-8")
        entries = set(re.findall(r'id="([\w.]+)"', page))
        assert {*getattr(importlib.import_module(name), "__all__", ())} <= entries, name
        assert [each for each in entries if "__" in each and not each.endswith(".__init__")] == [], name
    assert "guard" in re.sub(r"<[^>]+>", "", (tmp_path / "spec/language.html").read_text(encoding="utf-8"))
    assert 'href="election.html"' in (tmp_path / "index.html").read_text(encoding="utf-8")
