"""Real KafkaControllers of one release, in a JVM that we start and drive with steps as lines of JSON.

    with Harness("3.9.1") as harness:
        answer = harness.run(Task(brokers=1, steps=[{"action": "start", "broker": 0}]))
        answer.seen[0]["brokers"][0]["doing"]     # "Connect"

The JVM ends with this process, however it ends (`java_process.py`). Its sources are in `java/`: one folder of common
files, and one for each family of releases. They are compiled on first use and kept in the user's cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from spec.kafka.jars import releases
from spec.kafka.java import SOURCES, sources_for
from spec.kafka.java_process import JavaProcess
from spec.kafka.mapping import Observation, Response, release_among
from spec.language.errors import UsageError
from statemachines.releases import line_of

__all__ = ["FAMILIES", "Harness", "Observation", "Response", "Task", "harness_releases", "release_run"]

FAMILIES: Final[Mapping[str, Sequence[str]]] = {
    "until-1.0": ("0.11", "1.0"),
    "until-2.2": ("1.1", "2.0", "2.1", "2.2"),
    "since-2.4": ("2.8", "3.0", "3.5", "3.9"),
}
"""The lines of releases that can run, by the folder of `java/` that has their family's files.

`sources_for` selects a release's files from that folder. A line is added only after its controllers were seen to
follow the specification; sources that happen to compile are not enough.
"""


@dataclass(frozen=True)
class Task:
    """A task for Kafka's classes, from a cluster without any broker.

    Args:
        brokers: the number of brokers.
        steps: each by its name in the specification (`action`) with its parameters.
        outliving: a fault of ZooKeeper's servers: nodes of an ended session stay until
            `delete_outliving_ephemerals`.
    """

    brokers: int
    steps: Sequence[Mapping[str, Any]]
    outliving: bool = False


T = TypeVar("T", bound=Task)


def harness_releases() -> tuple[str, ...]:
    """The releases that can run, oldest first: the newest release of each line that has a lock file."""
    return tuple({line_of(release): release for release in releases() if _family(release)}.values())


def release_run(name: str) -> str:
    """The release that a name stands for: for `3.9` the one of that line that has a lock file.

    Raises:
        UsageError: there is none, since its line is not in `FAMILIES`.
    """
    return release_among(name, harness_releases())


class Harness(JavaProcess):
    """KafkaControllers of a release, from `__enter__` to `__exit__`, even if the body fails.

    Args:
        release: one that can run, such as 3.9.1 (`release_run`).
        patch: the name of a patch of Kafka's source (`spec.kafka.patches`); none by default.

    Raises (when it is entered; the first also when it is made):
        UsageError: the release cannot run; no Java, no compiler, or a jar cannot be downloaded.
        EnvironmentFailed: Java died, or compiled classes cannot be stored.
    """

    def __init__(self, release: str, patch: str = "") -> None:
        super().__init__(release, "harness", _sources(release), "kafkaspec.Main", patch)

    def run(self, task: Task) -> Response:
        """The response to a task.

        Raises:
            EnvironmentFailed: Java died, or does not answer.
        """
        return next(answer for _, answer in self.runs([task]))

    def runs(self, tasks: Iterable[T]) -> Iterator[tuple[T, Response]]:
        """The response to each task, in order. Java works on one while the next is prepared.

        Raises:
            EnvironmentFailed: Java died, or does not answer.
        """
        for task, answer in self.answers(
            tasks, lambda task: {"brokers": task.brokers, "outliving": task.outliving, "steps": list(task.steps)}
        ):
            yield task, Response(answer["seen"], answer["error"] or "")


def _family(release: str) -> str | None:
    """The folder of its family; None if the release cannot run."""
    line = line_of(release)
    return next((folder for folder, lines in FAMILIES.items() if line in lines), None)


def _sources(release: str) -> list[Path]:
    """The files of a release: those of its family that apply to it, and the common ones."""
    family = _family(release)
    if family is None:
        raise UsageError(f"Kafka {release} cannot run here")
    return sources_for(release, SOURCES / family, common=SOURCES / "common")
