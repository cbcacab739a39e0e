"""Two-phase commit under Stateright: the model of its own example, built by cargo and run.

The example `2pc.rs` is part of Stateright's package, which cargo fetches. Its model is compiled with
`two_phase_commit.rs` in place of its `main`, which searches depth-first and rounds seconds.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks import process

SOURCE: Final = Path(__file__).with_name("two_phase_commit.rs")
BUILD: Final = Path(__file__).parents[1] / "build" / "stateright"
"""The cargo package. It is kept, since building takes up to a minute."""
MANIFEST: Final = """\
[package]
name = "two-phase-commit"
version = "0.0.0"
edition = "2021"

[[bin]]
name = "two-phase-commit"
path = "main.rs"

[dependencies]
stateright = "=0.31.0"
"""


class Found(NamedTuple):
    """The counts and the cost of a search, without building."""

    distinct: int
    generated: int
    depth: int | None
    """States on the longest of the shortest paths; several threads do not visit the states in this order."""
    peak_memory: int | None
    """Bytes of the whole process; only Linux tells."""
    seconds: float
    processor_seconds: float


def missing() -> str:
    """Fetch Stateright's package. Returns a line that says which tool is missing, or an empty text."""
    if shutil.which("cargo") is None:
        return "no cargo here: install Rust"
    _write("Cargo.toml", MANIFEST)
    try:
        process.run(BUILD, "cargo", "fetch", "--quiet")
    except RuntimeError as failed:
        return f"cargo cannot fetch it: {str(failed).splitlines()[1]}"
    return ""


def explore(managers: int, threads: int) -> Found:
    """Explore all states of two-phase commit breadth-first; `missing` must have been called.

    Raises:
        RuntimeError: a tool fails, or a property does not hold.
    """
    _write("main.rs", _model() + SOURCE.read_text())
    process.run(BUILD, "cargo", "build", "--release", "--offline")
    done = process.run(BUILD, "target/release/two-phase-commit", str(managers), str(threads))
    distinct, generated, depth = map(int, done.output.splitlines()[0].split())
    peak = re.search(r"^VmHWM:\s*(\d+) kB", done.output, re.MULTILINE)
    return Found(
        distinct,
        generated,
        depth if threads == 1 else None,
        int(peak[1]) << 10 if peak else None,
        done.seconds,
        done.processor_seconds,
    )


def _model() -> str:
    """Return the example without its `main`, which is at its end."""
    described = process.run(BUILD, "cargo", "metadata", "--format-version=1", "--offline", "--quiet").output
    manifest = next(
        each["manifest_path"] for each in json.loads(described)["packages"] if each["name"] == "stateright"
    )
    return Path(manifest).with_name("examples").joinpath("2pc.rs").read_text().partition("fn main()")[0]


def _write(name: str, text: str) -> None:
    """Write a file of the package. An unchanged file is left, so that cargo does not build again."""
    file = BUILD / name
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_text() != text:
        file.write_text(text)
