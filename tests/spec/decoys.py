"""Files that are named like modules which the command, its libraries or Spark's workers import, or try to."""

from __future__ import annotations

from pathlib import Path

NAMES = ("click", "coverage", "networkx", "numba", "numpy", "org", "pandas", "pyarrow", "py4j", "scipy", "yaml")


def decoys(place: Path) -> Path:
    """Put them there. What is returned is a file that has the names of those that ran."""
    ran = place / "ran"
    ran.touch()
    for name in NAMES:
        (place / f"{name}.py").write_text(f"open({str(ran)!r}, 'a').write(__name__ + ' ')\n")
    return ran
