"""A Java of our own that runs a release's classes, is asked in lines of JSON, and ends with us."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final, Self, TypeVar

from spec.kafka.classes import compiled
from spec.kafka.jars import class_path
from spec.kafka.java import BRIEFLY, java
from spec.language.errors import EnvironmentFailed

__all__ = ["JavaProcess"]

OPTIONS: Final = (
    *BRIEFLY,
    "-Xmx700m",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
)
AHEAD: Final = 8
"""How many questions Java is given before it has answered the first of them."""
PATIENCE: Final = 60.0
"""Seconds to wait for a line."""

Question = TypeVar("Question")


class JavaProcess:
    """The Java in which a main class answers each line with a line, from `__enter__` to `__exit__`.

    It reads a pipe of which this process holds the other end, and ends with it: nothing stays behind, even if this
    process is killed. The first line that it prints says what runs there, `about`. One that has not answered in time
    is not asked again: its next line might be the answer to an earlier question.

    Args:
        release: of Kafka, one whose jars are written down.
        what: the name of what is compiled, in a word.
        sources: the files of Java that it consists of.
        main: its main class.

    Raises (when it is entered):
        UsageError: there is no Java, no compiler, or a jar cannot be had.
        EnvironmentFailed: Java died, or what is compiled cannot be kept.
    """

    def __init__(self, release: str, what: str, sources: Sequence[Path], main: str) -> None:
        self.release = release
        self._what, self._sources, self._main = what, sources, main
        self._lines: SimpleQueue[str] = SimpleQueue()
        self._is_late = False

    def __enter__(self) -> Self:
        java_found = java()
        jars = class_path(self.release)
        classes = compiled(self._what, self._sources, self.release, jars, java_found)
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafkaspec-")))
            self._said = stack.enter_context((folder / "stderr").open("w+"))
            path = os.pathsep.join(map(str, [classes, *jars]))
            self._process = stack.enter_context(
                subprocess.Popen(
                    [java_found.command, *OPTIONS, f"-Djava.io.tmpdir={folder}", "-cp", path, self._main],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._said,
                    text=True,
                    encoding="utf-8",
                    start_new_session=True,  # Ctrl-C is for us
                )
            )
            stack.callback(self._hang_up)
            stack.callback(self._process.kill)
            Thread(target=self._listen, name=self._what, daemon=True).start()
            self.about: Mapping[str, str] = json.loads(self._line())
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def pid(self) -> int:
        """The process of this Java."""
        return self._process.pid

    def answers(
        self, questions: Iterable[Question], written: Callable[[Question], Any]
    ) -> Iterator[tuple[Question, Any]]:
        """What is answered to each question, in their order. Java is kept busy while the next one is made.

        Args:
            questions: what is asked.
            written: a question as JSON.

        Raises:
            EnvironmentFailed: Java died, does not answer, or has once not answered in time.
        """
        waiting: deque[Question] = deque()
        try:
            for question in questions:
                self._send(written(question))
                waiting.append(question)
                if len(waiting) > AHEAD:
                    yield waiting.popleft(), self._answer()
            while waiting:
                yield waiting.popleft(), self._answer()
        finally:
            with suppress(EnvironmentFailed):  # what has been asked is answered, though it is not waited for any more
                for _ in waiting:
                    self._answer()

    def _send(self, question: Any) -> None:
        assert self._process.stdin is not None
        self._require_in_time()
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise self._gone() from None

    def _hang_up(self) -> None:
        """Close its input, be it that what could not be written is still to be written."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def _answer(self) -> Any:
        return json.loads(self._line())

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def _line(self) -> str:
        self._require_in_time()
        try:
            line = self._lines.get(timeout=PATIENCE)
        except Empty:
            self._is_late = True
            raise self._failed(f"has not answered for {PATIENCE:.0f} s") from None
        if not line:
            self._lines.put(line)  # the end is the end for all that asks later
            raise self._gone()
        return line

    def _require_in_time(self) -> None:
        if self._is_late:
            raise self._failed("has not answered in time, and is not asked again")

    def _gone(self) -> EnvironmentFailed:
        """What to say of a Java that has ended."""
        code = self._process.wait()
        self._said.seek(0)
        last = [line.strip() for line in self._said.read().splitlines() if line.strip()][-1:]
        return self._failed(f"has ended with {code}" + "".join(f" ({each})" for each in last))

    def _failed(self, how: str) -> EnvironmentFailed:
        return EnvironmentFailed(f"the Java of Kafka {self.release} {how}", "nothing was kept")
