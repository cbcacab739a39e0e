"""Functions of a release's classes without side effects: elections, transition tables, leader-epoch caches.

    with PureCalls("3.9.1") as kafka:
        case = {"strategy": "offline", "replicas": [1, 2], "isr": [2], "live": [2], "shutting_down": [], "failed": [],
                "unclean": False}
        kafka.of("Elections", [case])      # yields the case with {"leader": 2, "isr": [2], "recipients": [2], ...}

Each call is a class of `java/pure/`, which documents its cases and its answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

from spec.kafka.java import SOURCES, sources_for
from spec.kafka.java_process import JavaProcess

SHARED: Final = tuple(
    SOURCES / "common" / "kafkaspec" / f"{name}.java" for name in ("Configuration", "Fields", "Json")
)
"""The files that this JVM shares with the one that runs controllers."""
Case = TypeVar("Case")


def protocol(release: str) -> list[Path]:
    """The files of the protocol that every such JVM speaks: cases in, answers out."""
    return [each for each in sources_for(release, SOURCES / "pure") if each.stem in {"Main", "Call"}]


class PureCalls(JavaProcess):
    """Functions of a release of Kafka, from `__enter__` to `__exit__`.

    Args:
        release: one with a lock file, such as 3.9.1.
        what: a word for the package of its main class.
        sources: the Java files, if not those of `java/pure`.
        patch: the name of a patch of Kafka's source (`spec.kafka.patches`); none by default.

    Raises (when it is entered):
        UsageError: no Java, no compiler, or a jar cannot be downloaded.
        EnvironmentFailed: Java died, or compiled classes cannot be stored.
    """

    A_LINE = 500
    """The number of cases in a line, unless they take long."""

    def __init__(self, release: str, what: str = "pure", sources: Sequence[Path] = (), patch: str = "") -> None:
        own = sources or [*SHARED, *sources_for(release, SOURCES / "pure")]
        super().__init__(release, what, own, f"kafkaspec.{what}.Main", patch)

    def of(
        self,
        call: str,
        cases: Iterable[Case],
        written: Callable[[Case], Any] = lambda case: case,
        a_line: int = A_LINE,
    ) -> Iterator[tuple[Case, Any]]:
        """Kafka's answer to each case, in order.

        Args:
            call: the name of its class.
            cases: its inputs.
            written: converts a case to JSON.
            a_line: the number of cases in a line.

        Raises:
            EnvironmentFailed: Java died, does not answer, or this release has no such call.
        """

        def asked(line: Sequence[Case]) -> Any:
            return {"call": call, "cases": list(map(written, line))}

        for line, seen in self.answers(_lines(cases, a_line), asked):
            yield from zip(line, seen["answers"], strict=True)


def _lines(cases: Iterable[Case], of: int) -> Iterator[list[Case]]:
    remaining = iter(cases)
    while line := list(islice(remaining, of)):
        yield line
