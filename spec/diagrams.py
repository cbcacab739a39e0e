"""All diagrams: the tables, a controller's life in each generation of releases, anomalies, and a record's loss.

`python -m spec.diagrams DIRECTORY` writes each as a Mermaid and an SVG file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from spec.atlas.anomalies import Anomaly, anomalies_meant, anomaly_named
from spec.by_release import RELEASES, release_named
from spec.checking.check import check, silent
from spec.checking.exploration import OnProgress
from spec.controller_life import transitions
from spec.language.errors import UsageError, one_meant
from spec.reports import sequence_diagram
from statemachines.broker.log.unified_log import PartitionLogs
from statemachines.cluster import Cluster
from statemachines.drawing import controller_diagram, log_cells, table_diagrams

NAMES: Final = (*table_diagrams.DIAGRAMS, "controller")
"""The subjects of diagrams in all formats."""
LOST_RECORD: Final = "lost-record"
"""The subject of the picture of logs."""
FORMATS: Final = tuple(table_diagrams.FORMATS)
"""The formats of diagrams."""
GENERATIONS: Final = ("0.10.2", "1.0", "2.0", "3.9")
"""The releases whose controllers are drawn in `diagrams/`: the last one of each generation."""
ENDINGS: Final = {"mermaid": "mmd", "svg": "svg"}
"""The formats in `diagrams/`, with the suffixes of their files."""
ANOMALIES: Final = ("B4", "B6", "B7", "B20", "K1")
"""The anomalies drawn in `diagrams/`."""
LOSSES: Final = ("0.10.2", "0.11")
"""The releases in which `diagrams/` shows what becomes of a record: before leader epochs, and with them."""
_PICTURES: Final = (
    *(("controller", release) for release in GENERATIONS),
    *((each, None) for each in table_diagrams.DIAGRAMS),
    *((each, None) for each in ANOMALIES),
)
FILES: Final[Mapping[str, tuple[str, str, str | None]]] = {
    f"{what}-{release}.{ending}" if release else f"{what}.{ending}": (what, form, release)
    for what, release in _PICTURES
    for form, ending in ENDINGS.items()
} | {f"{LOST_RECORD}-{release}.svg": (LOST_RECORD, "svg", release) for release in LOSSES}
"""The subject, format and release of each file in `diagrams/`."""


def draw(what: str, form: str, release: str | None = None, on_progress: OnProgress = silent) -> str:
    """A diagram of a release; without one a table shows the rows of all releases, and a life is the newest release's.

    An anomaly is the sequence diagram of its counterexample, in the release of its row.

    Raises:
        UsageError: there is no such diagram, release or format.
    """
    names = (*NAMES, LOST_RECORD)
    meant = one_meant(what, names)
    if meant is None and anomalies_meant(what):
        return _anomaly(anomaly_named(what), form, release, on_progress)
    if meant is None:
        raise UsageError(f"there is no diagram {what}; there are {', '.join(names)}, and the anomalies: B1, K1, ...")
    named = release and release_named(release, dict.fromkeys(RELEASES))
    if meant == LOST_RECORD:
        if form != "svg":
            raise UsageError(f"{LOST_RECORD} --format {form}: logs can be svg")
        return log_cells.svg([*_lost_record(named or RELEASES[-1])])
    if meant == "controller":
        named = named or RELEASES[-1]
        life = controller_diagram.picture_of(named, transitions(named, on_progress))
        return controller_diagram.FORMATS[form](life)
    table = table_diagrams.DIAGRAMS[meant]
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


def _lost_record(release: str) -> Iterator[tuple[str, PartitionLogs]]:
    """A follower restarts before it knows that a record is committed; then its leader dies (KIP-101)."""
    cluster = Cluster((0, 1), release)
    cluster.settle()  # until 0.10.1 brokers follow nobody before they know who lives
    cluster.create_topic("t", {0: (0, 1)})
    cluster.settle()
    cluster.produce("t", 0, "m0")
    cluster.settle()
    cluster.checkpoint()
    m1 = cluster.produce("t", 0, "m1")
    cluster.settle(until=lambda _: m1.acknowledged)
    cluster.checkpoint(0)
    yield f"Kafka {release}: m1 is acknowledged.", cluster.logs("t", 0)
    cluster.bounce(1)
    if release == "0.10.1":  # broker 1 hears of its leader before it hears that this is alive (KAFKA-4443)
        cluster.fail_over()
        cluster.settle()
    cluster.fail_over()

    def has_decided(_: Cluster) -> bool:
        log = cluster.logs("t", 0)[1]
        return log.end_offset == 1 or log.high_watermark == 2

    cluster.settle(until=has_decided)
    cut = cluster.logs("t", 0)[1].end_offset == 1
    why = "cuts its log at its high watermark" if cut else "asks broker 0 where epoch 0 ends, and keeps m1"
    yield f"Broker 1 restarts, and {why}.", cluster.logs("t", 0)
    cluster.crash(0)
    cluster.settle()
    yield "Broker 0 dies, and broker 1 is elected.", cluster.logs("t", 0)
    cluster.restart(0)
    cluster.settle()
    cluster.produce("t", 0, "m2")
    cluster.settle()
    yield "Broker 0 is back, and a producer sends m2.", cluster.logs("t", 0)


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
