"""Real KafkaControllers of one release, in a Java of our own, to which steps are told as lines of JSON.

    with Harness("3.9.1") as harness:
        answer = harness.run(Task(brokers=1, steps=[{"action": "start", "broker": 0}]))
        answer.seen[0]["brokers"][0]["doing"]     # "Connect"

The Java ends with this process, whatever happens (`java_process.py`). Its sources are in `java/`, a folder for what
is common and one for each family of releases; they are compiled when they are first needed, and kept in the user's
cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from spec.kafka.jars import releases
from spec.kafka.java_process import JavaProcess
from spec.kafka.java_sources import SOURCES, sources_for
from spec.kafka.mapping import Observation, Response, release_among
from spec.language.errors import UsageError
from statemachines.releases import line_of

__all__ = ["FAMILIES", "Harness", "Observation", "Response", "Task", "harness_releases", "release_run"]

FAMILIES: Final[Mapping[str, Sequence[str]]] = {
    "until-1.0": ("0.11", "1.0"),
    "until-2.2": ("1.1", "2.0", "2.1", "2.2"),
    "since-2.4": ("2.8", "3.0", "3.5", "3.9"),
}
"""The lines of releases that are run, by the folder of `java/` that has what a family of them needs.

`sources_for` says which files of that folder a release has. A line stands here once its controllers have been seen to
follow the specification; that the sources of an older line may do for another one makes none.
"""


@dataclass(frozen=True)
class Task:
    """What is to be done, from a cluster without any broker.

    Args:
        brokers: how many there are.
        steps: what happens, each by its name in the specification (`action`) with its parameters.
        outliving: ZooKeeper's servers have a fault: what an ended session owned stays until
            `delete_outliving_ephemerals`.
    """

    brokers: int
    steps: Sequence[Mapping[str, Any]]
    outliving: bool = False


T = TypeVar("T", bound=Task)


def harness_releases() -> tuple[str, ...]:
    """The releases that are run, oldest first: of each line the newest whose jars are written down."""
    return tuple({line_of(release): release for release in releases() if _family(release)}.values())


def release_run(name: str) -> str:
    """The release that is run for a name: for `3.9` the one of that line whose jars are written down.

    Raises:
        UsageError: there is none, for its line is in none of `FAMILIES`.
    """
    return release_among(name, harness_releases())


class Harness(JavaProcess):
    """KafkaControllers of a release, from `__enter__` to `__exit__`, whatever happens in between.

    Args:
        release: one that is run, such as 3.9.1 (`release_run`).

    Raises (when it is entered; the first also when it is made):
        UsageError: the release is not run; there is no Java, no compiler, or a jar cannot be had.
        EnvironmentFailed: Java died, or what is compiled cannot be kept.
    """

    def __init__(self, release: str) -> None:
        super().__init__(release, "harness", _sources(release), "kafkaspec.Main")

    def run(self, task: Task) -> Response:
        """What comes of a task.

        Raises:
            EnvironmentFailed: Java died, or does not answer.
        """
        return next(answer for _, answer in self.runs([task]))

    def runs(self, tasks: Iterable[T]) -> Iterator[tuple[T, Response]]:
        """What comes of each task, in their order. Java is kept busy while the next one is made.

        Raises:
            EnvironmentFailed: Java died, or does not answer.
        """
        for task, told in self.answers(tasks, _written):
            yield task, Response(told["seen"], told["error"] or "")


def _written(task: Task) -> dict[str, Any]:
    return {"brokers": task.brokers, "outliving": task.outliving, "steps": list(task.steps)}


def _family(release: str) -> str | None:
    """The folder of its family, or None if it is not run."""
    line = line_of(release)
    return next((folder for folder, lines in FAMILIES.items() if line in lines), None)


def _sources(release: str) -> list[Path]:
    """The files of a release: those of its family that are meant for it, and beside these those of all."""
    family = _family(release)
    if family is None:
        raise UsageError(f"Kafka {release} is not run here")
    return sources_for(release, SOURCES / family, common=SOURCES / "common")
