"""What a release's classes compute by themselves: elections, transition tables, leader-epoch caches.

    with PureCalls("3.9.1") as kafka:
        case = {"strategy": "offline", "replicas": [1, 2], "isr": [2], "live": [2], "shutting_down": [], "failed": [],
                "unclean": False}
        kafka.of("Elections", [case])      # yields the case with {"leader": 2, "isr": [2], "recipients": [2], ...}

Each call is a class of `java/pure/`, which says what a case of it is and what an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

from spec.kafka.java_process import JavaProcess
from spec.kafka.java_sources import SOURCES, sources_for

__all__ = ["SHARED", "PureCalls", "protocol"]

SHARED: Final = tuple(
    SOURCES / "common" / "kafkaspec" / f"{name}.java" for name in ("Configuration", "Fields", "Json")
)
"""What this Java has in common with the one that runs controllers."""
Case = TypeVar("Case")


def protocol(release: str) -> list[Path]:
    """The files by which other Java of ours is asked as this is: cases in, answers out."""
    return [each for each in sources_for(release, SOURCES / "pure") if each.stem in {"Main", "Call"}]


class PureCalls(JavaProcess):
    """Functions of a release of Kafka, from `__enter__` to `__exit__`.

    Args:
        release: one whose jars are written down, such as 3.9.1.
        what: the package of its main class, in a word.
        sources: the files of Java, if they are others than those of `java/pure`.

    Raises (when it is entered):
        UsageError: there is no Java, no compiler, or a jar cannot be had.
        EnvironmentFailed: Java died, or what is compiled cannot be kept.
    """

    A_LINE = 500
    """How many cases a line has, unless they take long."""

    def __init__(self, release: str, what: str = "pure", sources: Sequence[Path] = ()) -> None:
        own = sources or [*SHARED, *sources_for(release, SOURCES / "pure")]
        super().__init__(release, what, own, f"kafkaspec.{what}.Main")

    def of(
        self,
        call: str,
        cases: Iterable[Case],
        written: Callable[[Case], Any] = lambda case: case,
        a_line: int = A_LINE,
    ) -> Iterator[tuple[Case, Any]]:
        """What Kafka makes of each case, in their order.

        Args:
            call: the name of its class.
            cases: what it is asked.
            written: a case as JSON.
            a_line: how many of them a line has.

        Raises:
            EnvironmentFailed: Java died, does not answer, or this release has no such call.
        """

        def asked(line: Sequence[Case]) -> Any:
            return {"call": call, "cases": list(map(written, line))}

        for line, told in self.answers(_lines(cases, a_line), asked):
            yield from zip(line, told["answers"], strict=True)


def _lines(cases: Iterable[Case], of: int) -> Iterator[list[Case]]:
    remaining = iter(cases)
    while line := list(islice(remaining, of)):
        yield line
