"""Real KafkaControllers of one release, in a Java of our own, to which steps are told as lines of JSON.

    with Harness("3.9.1") as harness:
        answer = harness.run(Task(brokers=1, steps=[{"action": "start", "broker": 0}]))
        answer.seen[0]["brokers"][0]["doing"]     # "Connect"

The Java ends with this process, whatever happens (`process.py`). Its sources are in `java/`, a folder for what is
common and one for each line of releases; they are compiled when they are first needed, and kept in the user's cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from spec.kafka.jars import releases
from spec.kafka.process import AskedJava
from spec.language.errors import UsageError
from statemachines.releases import Release, line_of

__all__ = ["Response", "Harness", "Observation", "Task", "release_run"]

SOURCES: Final = Path(__file__).parent / "java"

Observation: TypeAlias = Mapping[str, Any]
"""What is to be seen between two steps: of ZooKeeper, and of each broker."""


@dataclass(frozen=True)
class Task:
    """What is to be done, from a cluster without any broker.

    Args:
        brokers: how many there are.
        steps: what happens, each by its name in the specification (`action`) with its parameters.
        outliving: ZooKeeper's servers have a fault: what an ended session owned stays until `delete_at_last`.
    """

    brokers: int
    steps: Sequence[Mapping[str, Any]]
    outliving: bool = False


T = TypeVar("T", bound=Task)


@dataclass(frozen=True)
class Response:
    """What came of a task.

    Args:
        seen: what was to be seen after each step, and after one that failed.
        error: why the last of them failed; empty if none did.
    """

    seen: Sequence[Observation]
    error: str


def release_run(name: str) -> str:
    """The release that is run for a name: for `3.9` the one of that line that has an adapter in `java/`.

    Raises:
        UsageError: there is none.
    """
    lines = {line_of(release): release for release in releases()}
    driven = {line: release for line, release in lines.items() if (SOURCES / line).exists()}
    try:
        return driven[line_of(name)]
    except (KeyError, ValueError):
        raise UsageError(f"Kafka {name} is not run here; {', '.join(driven.values())} are") from None


class Harness(AskedJava):
    """KafkaControllers of a release, from `__enter__` to `__exit__`, whatever happens in between.

    Args:
        release: one whose jars are written down, such as 3.9.1.

    Raises (when it is entered):
        UsageError: there is no Java, no compiler, or a jar cannot be had.
        EnvironmentFailed: Java died, or what is compiled cannot be kept.
    """

    def __init__(self, release: str) -> None:
        sources = sorted(source for root in _source_roots(release) for source in root.rglob("*.java"))
        super().__init__(release, "harness", sources, "kafkaspec.Main")

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


def _source_roots(release: str) -> list[Path]:
    """The folders of a release: what is common to all, to its line and those near it, and what is its own."""
    line = Release(release)
    near = [root for root in SOURCES.glob("from-*") if Release(root.name.removeprefix("from-")) <= line]
    newest = max(near, key=lambda root: Release(root.name.removeprefix("from-")))
    return [SOURCES / "common", newest, SOURCES / str(line)]
