"""Files named like modules that the command, its libraries or Spark's workers import, or try to import."""

from __future__ import annotations

from pathlib import Path

NAMES = ("click", "coverage", "networkx", "numba", "numpy", "org", "pandas", "pyarrow", "py4j", "scipy", "yaml")


def decoys(place: Path) -> Path:
    """Write them. Return the path of a file where each decoy that runs adds its name."""
    ran = place / "ran"
    ran.touch()
    for name in NAMES:
        (place / f"{name}.py").write_text(f"open({str(ran)!r}, 'a').write(__name__ + ' ')\n")
    return ran
