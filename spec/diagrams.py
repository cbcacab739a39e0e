"""All diagrams: the tables, a controller's life in each generation of releases, and the course of anomalies.

`python -m spec.diagrams DIRECTORY` writes each as a Mermaid and an SVG file.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from spec.atlas.anomalies import Anomaly, anomalies_meant, anomaly_named
from spec.by_release import RELEASES, release_named
from spec.checking.check import check, silent
from spec.checking.exploration import OnProgress
from spec.controller_life import transitions
from spec.language.errors import UsageError
from spec.language.naming import one_meant
from spec.reports import sequence_diagram
from statemachines.drawing import controller_diagram, table_diagrams

NAMES: Final = (*table_diagrams.DIAGRAMS, "controller")
"""The subjects of diagrams, apart from anomalies."""
FORMATS: Final = tuple(table_diagrams.FORMATS)
"""The formats of diagrams."""
GENERATIONS: Final = ("0.10.2", "1.0", "2.0", "3.9")
"""The releases whose controllers are drawn in `diagrams/`: the last one of each generation."""
ENDINGS: Final = {"mermaid": "mmd", "svg": "svg"}
"""The formats in `diagrams/`, with the suffixes of their files."""
ANOMALIES: Final = ("B1", "B4", "B6", "B7", "B20", "K1")
"""The anomalies drawn in `diagrams/`."""
_PICTURES: Final = (
    *(("controller", release) for release in GENERATIONS),
    *((each, None) for each in table_diagrams.DIAGRAMS),
    *((each, None) for each in ANOMALIES),
)
FILES: Final[Mapping[str, tuple[str, str, str | None]]] = {
    f"{what}-{release}.{ending}" if release else f"{what}.{ending}": (what, form, release)
    for what, release in _PICTURES
    for form, ending in ENDINGS.items()
}
"""The subject, format and release of each file in `diagrams/`."""


def draw(what: str, form: str, release: str | None = None, on_progress: OnProgress = silent) -> str:
    """A diagram of a release; without one a table shows the rows of all releases, and a life is the newest release's.

    An anomaly is the sequence diagram of its counterexample, in the release of its row.

    Raises:
        UsageError: there is no such diagram, release or format.
    """
    table_or_life = one_meant(what, NAMES)
    if table_or_life is None and anomalies_meant(what):
        return _anomaly(anomaly_named(what), form, release, on_progress)
    if table_or_life is None:
        raise UsageError(f"there is no diagram {what}; there are {', '.join(NAMES)}, and the anomalies: B1, K1, ...")
    named = release and release_named(release, dict.fromkeys(RELEASES))
    if table_or_life == "controller":
        named = named or RELEASES[-1]
        life = controller_diagram.picture_of(named, transitions(named, on_progress))
        return controller_diagram.FORMATS[form](life)
    table = table_diagrams.DIAGRAMS[table_or_life]
    return table_diagrams.FORMATS[form](table.at(named) if named else table)


def _anomaly(row: Anomaly, form: str, release: str | None, on_progress: OnProgress) -> str:
    """The sequence diagram of an anomaly."""
    if release is not None:
        raise UsageError(f"{row.id} is always drawn in the release of its row; --release is for tables and lives")
    if form not in sequence_diagram.FORMATS:
        raise UsageError(
            f"{row.id} --format {form}: a sequence diagram can be {' or '.join(sequence_diagram.FORMATS)}"
        )
    found = check(row.specification("off"), properties=[row.property], on_progress=on_progress).counterexample
    assert found is not None, "each row of the atlas has a counterexample without its switch"
    return sequence_diagram.FORMATS[form](found)


def files() -> dict[str, str]:
    """The contents of `diagrams/`, by file name."""
    return {name: draw(*picture) for name, picture in FILES.items()}


def _main(arguments: list[str]) -> None:
    if len(arguments) != 1:
        sys.exit("usage: python -m spec.diagrams DIRECTORY")
    directory = Path(arguments[0])
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files().items():
        (directory / name).write_text(content, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    _main(sys.argv[1:])
