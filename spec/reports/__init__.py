"""Reports: the result of a check as a file for people who did not run it. This package knows nothing of Kafka.

    from spec.reports import write
    write(check(Lease), Path("lease.html"))

`to_html` makes one self-contained file, `to_markdown` the Markdown that GitHub and similar sites render, `to_junit`
the XML of CI servers. All of them present a `Result`, and nothing else. For a check without a result,
`write_unfinished` reports what is known.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from spec.checking.result import Result
from spec.language.errors import UsageError
from spec.reports.content import Unfinished
from spec.reports.junit import to_junit, unfinished_to_junit
from spec.reports.markdown import to_markdown, unfinished_to_markdown
from spec.reports.page import to_html, unfinished_to_html

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
"""The formats of reports, by the suffix of the file."""
_UNFINISHED: Final[Mapping[str, Callable[[Unfinished], str]]] = {
    ".html": unfinished_to_html,
    ".md": unfinished_to_markdown,
}


def write(result: Result, path: Path) -> None:
    """Write a report in the format of the file's suffix.

    Raises:
        UsageError: the suffix stands for no format.
        OSError: the file cannot be written; then no partial file is left.
    """
    require_format(path)
    write_whole(path, FORMATS[path.suffix](result))


def write_unfinished(unfinished: Unfinished, path: Path) -> None:
    """Write a report on a check without a result, because an earlier run's report would claim success.

    Raises:
        UsageError: the suffix stands for no format.
        OSError: the file cannot be written; then no partial file is left.
    """
    require_format(path)
    write_whole(path, _UNFINISHED[path.suffix](unfinished))


def require_format(path: Path) -> None:
    """Require that a file's suffix stands for a format; UsageError if it does not."""
    if path.suffix not in FORMATS:
        raise UsageError(f"{path}: a report must be FILE{' or FILE'.join(FORMATS)}; for JUnit use --junit-xml FILE")


def require_writable(path: Path) -> None:
    """Require that a file can be written, before hours are spent on its content. The file stays as it is. UsageError
    if it cannot be written.
    """
    there = os.path.lexists(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        return  # opening a pipe might wait for its reader
    try:
        path.open("ab").close()
        if not there:
            path.unlink()
    except OSError as failure:
        raise UsageError(f"{path} cannot be written: {failure.strerror}") from None


def write_whole(path: Path, text: str) -> None:
    """Write a text to a file completely or not at all: half a report would be taken for a whole one; OSError if the
    file cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError:
        if path.is_file():
            with suppress(OSError):
                path.unlink()
        raise
