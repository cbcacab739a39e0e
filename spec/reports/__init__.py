"""Reports: the result of a check as a file for those who did not run it. Nothing here knows of Kafka.

    from spec.reports import write
    write(check(Lease), Path("lease.html"))

`to_html` makes one file that needs nothing else, `to_markdown` what GitHub and its like render, `to_junit` what CI
servers read. All of them tell a `Result`, and nothing that is not in it; of a check that came to no result,
`write_unfinished` tells what is known.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from spec.checking.result import Result
from spec.language.errors import UsageError
from spec.reports.junit import to_junit, unfinished_to_junit
from spec.reports.markdown import to_markdown, unfinished_to_markdown
from spec.reports.page import to_html, unfinished_to_html
from spec.reports.unfinished import Unfinished

__all__ = [
    "FORMATS",
    "Unfinished",
    "write_whole",
    "require_format",
    "require_writable",
    "to_html",
    "to_junit",
    "to_markdown",
    "unfinished_to_junit",
    "write",
    "write_unfinished",
]

FORMATS: Final[Mapping[str, Callable[[Result], str]]] = {".html": to_html, ".md": to_markdown}
"""What a report can be, by the end of its file's name."""
_UNFINISHED: Final[Mapping[str, Callable[[Unfinished], str]]] = {
    ".html": unfinished_to_html,
    ".md": unfinished_to_markdown,
}


def write(result: Result, path: Path) -> None:
    """Write a report in the format that the file's name says.

    Raises:
        UsageError: it says none.
        OSError: the file cannot be written; then there is no half of it.
    """
    require_format(path)
    write_whole(path, FORMATS[path.suffix](result))


def write_unfinished(unfinished: Unfinished, path: Path) -> None:
    """Write what came of a check that came to no result: a report of an earlier run would say that all went well.

    Raises:
        UsageError: the name of the file says no format.
        OSError: it cannot be written; then there is no half of it.
    """
    require_format(path)
    write_whole(path, _UNFINISHED[path.suffix](unfinished))


def require_format(path: Path) -> None:
    """Require that a file's name says which report is meant.

    Raises:
        UsageError: it says none.
    """
    if path.suffix not in FORMATS:
        raise UsageError(f"{path}: a report is FILE{' or FILE'.join(FORMATS)}; for JUnit there is --junit-xml FILE")


def require_writable(path: Path) -> None:
    """Require that a file can be written, before hours are spent on what is to stand in it. It stays as it is.

    Raises:
        UsageError: it cannot.
    """
    there = os.path.lexists(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        return  # to open a pipe might wait for its reader
    try:
        path.open("ab").close()
        if not there:
            path.unlink()
    except OSError as failure:
        raise UsageError(f"{path} cannot be written: {failure.strerror}") from None


def write_whole(path: Path, text: str) -> None:
    """Write a text to a file, all of it or nothing: half a report would be taken for a whole one.

    Raises:
        OSError: it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError:
        if path.is_file():
            with suppress(OSError):
                path.unlink()
        raise
