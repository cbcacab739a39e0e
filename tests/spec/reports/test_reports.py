"""Reports as files: their formats, and that none is half written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spec.language import UsageError
from spec.reports import FORMATS, require_writable, write, write_whole
from tests.spec.reports.odd import broken


@pytest.mark.parametrize("ending", FORMATS)
def test_the_file_suffix_selects_the_format(ending: str, tmp_path: Path) -> None:
    """Each format is rendered from the result."""
    result = broken()
    write(result, tmp_path / f"report{ending}")
    assert (tmp_path / f"report{ending}").read_text(encoding="utf-8") == FORMATS[ending](result)


@pytest.mark.parametrize("name", ["report", "report.txt", "report.xml", ".html"])
def test_another_name_is_refused(name: str, tmp_path: Path) -> None:
    """The error lists the formats; nothing is written."""
    with pytest.raises(UsageError, match=r"a report must be FILE.html or FILE.md; for JUnit use --junit-xml FILE$"):
        write(broken(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_the_test_for_writing_changes_nothing(tmp_path: Path) -> None:
    """Neither an existing file nor a missing one."""
    there = tmp_path / "there"
    there.write_text("of another run")
    require_writable(there)
    require_writable(tmp_path / "new")
    assert [each.name for each in tmp_path.iterdir()] == ["there"]
    assert there.read_text() == "of another run"


def test_an_unwritable_path_is_refused(tmp_path: Path) -> None:
    """A directory, and a file in a missing directory."""
    with pytest.raises(UsageError, match=f"^{tmp_path} cannot be written: Is a directory$"):
        require_writable(tmp_path)
    with pytest.raises(UsageError, match=r"cannot be written: No such file or directory$"):
        require_writable(tmp_path / "no" / "where")


def test_a_pipe_is_opened_only_for_writing(tmp_path: Path) -> None:
    """Opening it earlier would wait for its reader."""
    os.mkfifo(tmp_path / "pipe")
    require_writable(tmp_path / "pipe")


def test_a_failed_write_leaves_no_partial_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader would take it for a complete one."""

    def written_in_part(path: Path, text: str, **how: str) -> None:
        path.write_bytes(text[:3].encode())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", written_in_part)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "report.md", "all of it")
    assert list(tmp_path.iterdir()) == []
