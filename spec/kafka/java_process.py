"""A JVM that runs a release's classes, answers questions in lines of JSON, and ends with us.

What it runs of our own, Java or Groovy, is compiled against the release's jars on first use, and kept in the user's
cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final, Self, TypeVar

from spec.kafka.jars import cache_directory, class_path, exclusively
from spec.kafka.java import BRIEFLY, Java, java
from spec.kafka.patches import class_path_with
from spec.language.errors import EnvironmentFailed

JAVAC: Final = ("-nowarn", "-proc:none", "-encoding", "UTF-8")
GROOVY: Final = ("-Dgroovy.target.indy=false", "org.codehaus.groovy.tools.FileSystemCompiler")
"""Calls by invokedynamic begin to be fast after ten thousand times only."""
AN_ERROR: Final = re.compile(r": error: |\.groovy: \d+: ")


def compiled(what: str, sources: Sequence[Path], release: str, jars: Sequence[Path], with_java: Java) -> Path:
    """The directory of the compiled classes of these sources; compiles them if they are not there.

    Args:
        what: a word for them, used in messages.
        sources: Java files, or Groovy files.
        release: the Kafka release that they are compiled against.
        jars: of that release; Groovy's too, if it compiles them.
        with_java: the JDK that compiles them.

    Raises:
        UsageError: this Java has no compiler.
        EnvironmentFailed: they do not compile, or cannot be stored.
    """
    key = hashlib.sha256("\n".join([with_java.version, *map(str, jars)]).encode())
    for source in sources:
        key.update(source.read_bytes())
    place = cache_directory() / release
    classes = place / f"{what}-{key.hexdigest()[:16]}"
    with exclusively(place):
        if not classes.exists():
            _compile(what, sources, jars, with_java, classes)
    return classes


def _compile(what: str, sources: Sequence[Path], jars: Sequence[Path], with_java: Java, classes: Path) -> None:
    with tempfile.TemporaryDirectory(dir=classes.parent) as place:
        unfinished = Path(place) / classes.name
        path, to = os.pathsep.join(map(str, jars)), ("-d", str(unfinished))
        if all(source.suffix == ".groovy" for source in sources):
            command = [with_java.command, *BRIEFLY, "-cp", path, *GROOVY, *to]
        else:
            command = [with_java.compiler, *(f"-J{option}" for option in BRIEFLY), *JAVAC, *to, "-cp", path]
        run = subprocess.run([*command, *map(str, sources)], capture_output=True, text=True, check=False)
        if run.returncode:
            said = run.stderr.strip().splitlines()
            wrong = next((line for line in said if AN_ERROR.search(line)), said[0])  # warnings come before it
            raise EnvironmentFailed(f"the sources of {what} do not compile: {wrong}", "nothing was kept")
        unfinished.rename(classes)  # the directory appears complete or not at all


OPTIONS: Final = (
    *BRIEFLY,
    "-Xmx700m",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
)
AHEAD: Final = 8
"""How many questions Java receives before it has answered the first of them."""
PATIENCE: Final = 60.0
"""Seconds to wait for a line."""

Question = TypeVar("Question")


class JavaProcess:
    """A JVM whose main class answers each line with a line, from `__enter__` to `__exit__`.

    It reads a pipe whose other end this process holds, and ends with it: no JVM survives, even if this process is
    killed. Its first line says what runs in it, `about`. After a timeout it receives no further question: its next
    line might be the answer to an earlier one.

    Args:
        release: of Kafka, one with a lock file.
        what: a word that names the Java program.
        sources: its Java files, or its Groovy files.
        main: its main class.
        patch: the name of a patch of Kafka's source (`spec.kafka.patches`); none by default.

    Raises (when it is entered):
        UsageError: no Java, no compiler, or a jar cannot be downloaded.
        EnvironmentFailed: Java died, or compiled classes cannot be stored.
    """

    TOOLS: str | None = None
    """A lock whose jars the program needs besides Kafka's."""
    PLACE: str | None = None
    """Where its temporary directory is, if not where Python's are."""

    def __init__(self, release: str, what: str, sources: Sequence[Path], main: str, patch: str = "") -> None:
        self.release, self.patch = release, patch
        self._what, self._sources, self._main = what, sources, main
        self._lines: SimpleQueue[str] = SimpleQueue()
        self._is_late = False

    def __enter__(self) -> Self:
        java_found = java()
        tools = class_path(self.TOOLS) if self.TOOLS else []
        classes = compiled(self._what, self._sources, self.release, [*tools, *class_path(self.release)], java_found)
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafkaspec-", dir=self.PLACE)))
            self._said = stack.enter_context((folder / "stderr").open("w+"))
            path = os.pathsep.join(map(str, [classes, *tools, *class_path_with(self.patch, self.release)]))
            self._process = stack.enter_context(
                subprocess.Popen(
                    [java_found.command, *OPTIONS, f"-Djava.io.tmpdir={folder}", "-cp", path, self._main],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._said,
                    text=True,
                    encoding="utf-8",
                    start_new_session=True,  # Ctrl-C is for us alone
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
        """The process id of this JVM."""
        return self._process.pid

    def answers(
        self, questions: Iterable[Question], written: Callable[[Question], Any]
    ) -> Iterator[tuple[Question, Any]]:
        """The answer to each question, in order. Java works on one while the next is prepared.

        Args:
            questions: one at a time.
            written: converts a question to JSON.

        Raises:
            EnvironmentFailed: Java died, does not answer, or exceeded the time limit before.
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
            with suppress(EnvironmentFailed):  # answers to pending questions are discarded
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
        """Close its input, even if some of it could not be written."""
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
            self._lines.put(line)  # every later question gets the same end
            raise self._gone()
        return line

    def _require_in_time(self) -> None:
        if self._is_late:
            raise self._failed("has not answered in time, and receives no further question")

    def _gone(self) -> EnvironmentFailed:
        """The error for a JVM that has ended."""
        code = self._process.wait()
        self._said.seek(0)
        last = [line.strip() for line in self._said.read().splitlines() if line.strip()][-1:]
        return self._failed(f"has ended with {code}" + "".join(f" ({each})" for each in last))

    def _failed(self, how: str) -> EnvironmentFailed:
        return EnvironmentFailed(f"the JVM of Kafka {self.release} {how}", "nothing was kept")
