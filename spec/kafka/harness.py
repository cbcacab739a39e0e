"""Real KafkaControllers of one release, in a Java of our own, to which steps are told as lines of JSON.

    with Harness("3.9.1") as harness:
        answer = harness.run(Task(brokers=1, steps=[{"action": "start", "broker": 0}]))
        answer.seen[0]["brokers"][0]["doing"]     # "Connect"

The Java reads a pipe of which this process holds the other end, and ends with it: nothing stays behind, even if this
process is killed. Its sources are in `java/`, a folder for what is common and one for each line of releases; they are
compiled when they are first needed, and kept in the user's cache.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final, Self, TypeAlias, TypeVar

from spec.kafka.classes import compiled
from spec.kafka.jars import class_path, releases
from spec.kafka.java import Java, java
from spec.language.errors import EnvironmentFailed, UsageError
from statemachines.releases import Release, line_of

__all__ = ["Response", "Harness", "Observation", "Task", "release_run"]

SOURCES: Final = Path(__file__).parent / "java"
OPTIONS: Final = ("-Xmx700m", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off")
AHEAD: Final = 8
"""How many tasks Java is given before it has answered the first of them."""
PATIENCE: Final = 60.0
"""Seconds to wait for a line; Java itself gives up a step after 20."""

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


class Harness:
    """KafkaControllers of a release, from `__enter__` to `__exit__`, whatever happens in between.

    Args:
        release: one whose jars are written down, such as 3.9.1.

    Raises (when it is entered):
        UsageError: there is no Java, no compiler, or a jar cannot be had.
        EnvironmentFailed: Java died, or what is compiled cannot be kept.
    """

    def __init__(self, release: str) -> None:
        self.release = release
        self._lines: SimpleQueue[str] = SimpleQueue()

    def __enter__(self) -> Self:
        java_found = java()
        jars = class_path(self.release)
        classes = _compiled(self.release, jars, java_found)
        with ExitStack() as stack:
            self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafkaspec-")))
            self._said = stack.enter_context((self._folder / "stderr").open("w+"))
            path = os.pathsep.join(map(str, [classes, *jars]))
            self._process = stack.enter_context(
                subprocess.Popen(
                    [java_found.command, *OPTIONS, "-cp", path, "kafkaspec.Main"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._said,
                    text=True,
                    encoding="utf-8",
                    start_new_session=True,  # Ctrl-C is for us
                )
            )
            stack.callback(self._process.kill)
            Thread(target=self._listen, name="harness", daemon=True).start()
            self.about: Mapping[str, str] = json.loads(self._line())
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def pid(self) -> int:
        """The process of this Java."""
        return self._process.pid

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
        waiting: deque[T] = deque()
        try:
            for task in tasks:
                self._send(task)
                waiting.append(task)
                if len(waiting) > AHEAD:
                    yield waiting.popleft(), self._answer()
            while waiting:
                yield waiting.popleft(), self._answer()
        finally:
            with suppress(EnvironmentFailed):  # what has been asked is answered, though it is not waited for any more
                for _ in waiting:
                    self._answer()

    def _send(self, task: Task) -> None:
        assert self._process.stdin is not None
        try:
            told = {"brokers": task.brokers, "outliving": task.outliving, "steps": list(task.steps)}
            self._process.stdin.write(json.dumps(told) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise self._gone() from None

    def _answer(self) -> Response:
        told = json.loads(self._line())
        return Response(told["seen"], told["error"] or "")

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def _line(self) -> str:
        try:
            line = self._lines.get(timeout=PATIENCE)
        except Empty:
            raise self._failed(f"has not answered for {PATIENCE:.0f} s") from None
        if not line:
            self._lines.put(line)  # the end is the end for all that asks later
            raise self._gone()
        return line

    def _gone(self) -> EnvironmentFailed:
        """What to say of a Java that has ended."""
        code = self._process.wait()
        self._said.seek(0)
        last = [line.strip() for line in self._said.read().splitlines() if line.strip()][-1:]
        return self._failed(f"has ended with {code}" + "".join(f" ({each})" for each in last))

    def _failed(self, how: str) -> EnvironmentFailed:
        return EnvironmentFailed(f"the Java of Kafka {self.release} {how}", "nothing was kept")


def _compiled(release: str, jars: Sequence[Path], with_java: Java) -> Path:
    """The directory of the harness's classes for a release, compiled if they are not there."""
    sources = sorted(source for root in _source_roots(release) for source in root.rglob("*.java"))
    return compiled("harness", sources, release, jars, with_java)


def _source_roots(release: str) -> list[Path]:
    """The folders of a release: what is common to all, to its line and those near it, and what is its own."""
    line = Release(release)
    near = [root for root in SOURCES.glob("from-*") if Release(root.name.removeprefix("from-")) <= line]
    newest = max(near, key=lambda root: Release(root.name.removeprefix("from-")))
    return [SOURCES / "common", newest, SOURCES / str(line)]
