"""The Spark session of an exploration: given by the caller, or started when the first job needs it."""

from __future__ import annotations

import atexit
import hashlib
import logging
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Any, Final, TypeVar

from spec.checking.code.source import HOME, PACKAGES
from spec.checking.machine.interrupts import DeferredSignals
from spec.checking.machine.memory import MB, OutOfMemory
from spec.checking.spark.allotment import Allotment
from spec.language.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

JAVA = 17
"""The oldest Java that Spark runs on."""
SLENDER = "-Xss512k -XX:ReservedCodeCacheSize=64m -XX:CompressedClassSpaceSize=64m -XX:-UsePerfData"
"""Java's default memory besides the heap suits a server; here it only passes rows on."""
FRUGAL = {
    "MALLOC_ARENA_MAX": "2",  # otherwise each of Java's threads has a heap of its own
    "MALLOC_MMAP_THRESHOLD_": str(MB),  # otherwise freed arrays leave holes in it
    "MALLOC_TRIM_THRESHOLD_": str(MB),
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
"""Settings that make Java and the workers return memory that they no longer need."""
RESERVED = 32 * MB
"""Heap reserved for Spark itself: by default it reserves 300 MB, and rejects any heap below 450."""
BATCH = 8 * MB
"""Bytes that Java passes to a worker at once. They are outside the heap, on both sides."""
TRIES = 4
"""How often a task may lose its worker before the run is given up."""


class SparkFailed(Exception):
    """Java, a worker or a disk of theirs has failed; one line says which."""


class _OwnSession:
    """The session that is started here. Concurrent checks share it; the last one to end stops it."""

    def __init__(self) -> None:
        self._lock, self._users = Lock(), 0
        self._session: SparkSession | None = None
        self._until_unused = ExitStack()

    def found_or_joined(self, allotment: Allotment, log: Path) -> tuple[SparkSession, bool]:
        """A running session of the caller's, and False; or this one, started if necessary, and True."""
        with self._lock:
            if self._session is None:
                if (found := _at_work()) is not None:
                    return found, False
                with ExitStack() as until_unused:
                    self._session = until_unused.enter_context(_started(allotment, log))
                    self._until_unused = until_unused.pop_all()
            self._users += 1
            return self._session, True

    def leave(self) -> None:
        """One of the checks that share the session no longer needs it."""
        with self._lock:
            self._users -= 1
            if not self._users:
                self._session = None
                self._until_unused.close()


_OWN: Final = _OwnSession()


class SparkCluster:
    """The Spark on which jobs run. A session from the caller is never stopped; one that was started here is."""

    def __init__(self, given: SparkSession | None, workers: int | None, log: Path, allotment: Allotment):
        self._given, self._workers, self._log = given, workers, log
        self._allotment = allotment
        self._session: SparkSession | None = None
        self._mark = f"kafkaspec-{uuid.uuid4().hex}"
        self._ours = False

    @property
    def session(self) -> SparkSession:
        """The session; this may start it, which takes some seconds."""
        if self._session is None:
            if self._given is None:
                self._session, self._ours = _OWN.found_or_joined(self._allotment, self._log)
            else:
                self._session = self._given
            if not self._ours:
                # The workers may lack our packages, or have another version.
                self._session.addArtifacts(str(archive()), pyfile=True)
        return self._session

    @property
    def parallelism(self) -> int:
        """The number of tasks at once, as far as it is known. Finding out requires the session."""
        session = self.session
        if self._ours:
            return self._allotment.workers
        if self._workers:
            return self._workers
        with suppress(Exception):  # Spark Connect has no context, and raises various errors
            return session.sparkContext.defaultParallelism
        return cores()

    @property
    def work(self) -> int | None:
        """The quota of each worker in bytes; None in a session of the caller's. Finding out requires the session."""
        assert self.session is not None
        return self._allotment.work if self._ours else None

    def run(self, job: Callable[[SparkSession], T], tick: Callable[[], None]) -> T:
        """The result of a job. Meanwhile `tick` is called now and then. It runs in a thread of its own: Ctrl-C must
        not interrupt a conversation with Java, which would not recover.

        KeyboardInterrupt if Ctrl-C was pressed, and the job is cancelled; OutOfMemory if Java's heap was too small;
        SparkFailed if Java, a worker or a disk of theirs has failed; RuntimeError, with its first line, if Spark has
        given up for another reason.
        """
        session, outcome, ended = self.session, Future[T](), SimpleQueue[None]()
        mark, cancel = _marking(session)

        def run() -> None:
            try:
                with suppress(Exception):  # without a mark the job merely cannot be cancelled
                    mark(self._mark)
                outcome.set_result(job(session))
            except BaseException as failure:
                outcome.set_exception(failure)
            ended.put(None)

        try:
            with DeferredSignals(partial(ended.put, None)) as held:
                Thread(target=run, name="a Spark job", daemon=True).start()
                while not outcome.done():
                    with suppress(Empty):
                        ended.get(timeout=TICK)
                    held.deliver()
                    tick()
        except KeyboardInterrupt:
            with suppress(Exception):  # tasks still running only write files that are never read
                cancel(self._mark)
                while not outcome.done():
                    ended.get(timeout=PATIENCE)
            raise
        try:
            return outcome.result()
        except Exception as failure:
            if "java.lang.OutOfMemoryError" in str(failure):
                raise OutOfMemory from failure
            if wrong := _gave_way(failure):
                raise SparkFailed(wrong) from failure
            raise RuntimeError(f"Spark has given up: {_first_line(failure)}") from failure

    def stop(self) -> None:
        """Stop the session if it was started here, and no other check needs it."""
        if self._ours and self._session is not None:
            self._session, self._ours = None, False
            _OWN.leave()


def _marking(session: SparkSession) -> tuple[Callable[[str], None], Callable[[str], Any]]:
    """Functions to mark the jobs of a thread, and to cancel jobs with a mark from any thread."""
    # The session's own tags would do both, but can only be cancelled by the thread that set them, except on Connect.
    context = getattr(session, "sparkContext", None)
    if context is None:
        return session.addTag, session.interruptTag
    return context.addJobTag, context.cancelJobsWithTag


TICK = 1.0
"""Seconds between two calls of `tick` while a job runs."""
PATIENCE = 10.0
"""Seconds in which a cancelled job should end."""


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _at_work() -> SparkSession | None:
    """A running session of the caller's in this process, in any thread; None if there is none."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if (active := SparkSession.getActiveSession()) is not None:
        return active
    # Without a context this would start one; with one, it starts nothing.
    return SparkSession.builder.getOrCreate() if SparkContext._active_spark_context else None


@contextmanager
def _started(allotment: Allotment, log: Path) -> Iterator[SparkSession]:
    """A session, see `start`, which is stopped in the end, and leaves nothing in this process."""
    from pyspark import SparkContext, SparkFiles

    with ExitStack() as until_stopped:
        if SparkContext._gateway is None:  # otherwise it is the caller's
            until_stopped.callback(_end_java)
        until_stopped.callback(logging.getLogger().removeFilter, _not_of_py4j)
        session = start(allotment, log)
        until_stopped.callback(_forget, SparkFiles.getRootDirectory())
        until_stopped.enter_context(suppress(Exception))  # a Java that has died cannot be stopped
        until_stopped.callback(session.stop)
        yield session


def _end_java() -> None:
    """End Java: PySpark would keep it, and its 200 MB of memory, for as long as this process lives."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    if gateway is None or gateway.proc is None:  # it was not started, or not from here
        return
    with suppress(Exception):  # it has died
        gateway.shutdown()
    gateway.proc.stdin.close()  # Java waits for this
    try:
        gateway.proc.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()


def _forget(place: str) -> None:
    """Remove a session's folder from the module search path."""
    with suppress(ValueError):
        sys.path.remove(place)


def start(allotment: Allotment, log: Path) -> SparkSession:
    """A quiet session on this machine, reachable only from this process. Java's output goes to the log."""
    with _environment_as_it_was(), _interrupts_as_they_are(), _errors_to(log):
        try:
            return _silent_at_death(_builder(allotment).getOrCreate())
        except Exception as failure:
            wrong = _gave_way(failure) or f"{_first_line(failure)} ({log} may say more)"
            raise SparkFailed(f"Spark did not start: {wrong}") from failure


def _builder(allotment: Allotment) -> SparkSession.Builder:
    """The settings of a session; some of them are environment variables."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # the workers must run our interpreter; a setting is too late
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    for name, value in FRUGAL.items():
        os.environ.setdefault(name, value)
    builder = SparkSession.builder.master(f"local[{allotment.workers},{TRIES}]").appName("kafkaspec")
    for name, value in {
        "spark.local.dir": tempfile.gettempdir(),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.authenticate": "true",  # with a secret that Spark generates; its ports for Python have their own
        # Java only passes rows on: optimizing its code further, or many threads for cleanup, would double the time.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC " + SLENDER,
        "spark.driver.memory": f"{allotment.heap // MB}m",
        "spark.testing.reservedMemory": str(RESERVED),
        "spark.sql.execution.arrow.maxBytesPerBatch": str(BATCH),
        "spark.python.daemon.module": "spec.checking.spark.daemon",
        "spark.sql.adaptive.enabled": "false",  # a level is two stages; nothing needs replanning between them
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.executorEnv.PYTHONPATH": str(HOME),
        "spark.executorEnv.PYTHONSAFEPATH": "1",  # otherwise workers import from the working directory
    }.items():
        builder = builder.config(name, value)
    return builder


def _silent_at_death(session: SparkSession) -> SparkSession:
    """The same session, without a traceback for each of its connections when Java dies; one line is enough."""
    logging.getLogger().addFilter(_not_of_py4j)
    with suppress(AttributeError):  # PySpark has no public access to its server
        server: Any = session.sparkContext._accumulatorServer
        server.handle_error = lambda request, client: None
    return session


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


@cache
def archive() -> Path:
    """Our packages in a zip, which exists as long as this process: workers fetch it when they need it.

    Its name includes a digest of the content, because a session accepts no other content under a known name. Compiled
    code goes along: compiling takes each worker longer than most levels.
    """
    paths = [path for package in PACKAGES for path in sorted((HOME / package).rglob("*"))]
    sources = {
        path.relative_to(HOME).as_posix(): path.read_bytes() for path in paths if path.suffix in {".py", ".toml"}
    }
    compiled = {
        kept.relative_to(HOME).as_posix(): kept.read_bytes()
        for path in paths
        if path.suffix == ".py"
        for kept in _compiled_of(path)
    }
    digest = hashlib.sha256(repr(sources).encode()).hexdigest()[:16]
    folder = Path(tempfile.mkdtemp(prefix="kafkaspec-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made = folder / f"kafkaspec-{digest}.zip"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in {**sources, **compiled}.items():
            packed.writestr(zipfile.ZipInfo(name), content)
    return made


def _compiled_of(source: Path) -> Iterator[Path]:
    """Numba's cache files for the present functions of a module: files are named by function and line."""
    kept = sorted(source.parent.glob(f"__pycache__/{source.stem}.*.nb[ic]"))
    lines = source.read_text(encoding="utf-8").splitlines() if kept else []
    for path in kept:
        function = re.match(r"\w+\.(\w+)-(\d+)\.", path.name)
        if function is not None:
            line = int(function[2])
            if any(each.startswith(f"def {function[1]}(") for each in lines[line - 1 : line + 1]):
                yield path


def in_workers(session: SparkSession, stage: str, *given: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A stage and its arguments, as a function that can be sent to workers.

    Compiled code is kept on disk beside its source, for later processes. So workers on this machine import our
    packages from here. Others unpack the shipped packages, once on each machine, because nothing can be kept in a
    zip. The function does this before it imports anything of ours, so it refers to nothing of ours.

    Spark makes each worker collect garbage after each task. The collector scans all objects that the worker keeps,
    including its decision tables. So each task begins by freezing the objects that earlier tasks left.
    """
    content = pickle.dumps(given)
    home = str(HOME) if _is_here(session) else ""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import gc
        import os
        import pickle
        import shutil
        import sys
        import tempfile
        import zipfile
        from contextlib import suppress
        from importlib import import_module

        def unpacked(shipped: str) -> str:
            caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
            folder, name = os.path.join(caches, "kafkaspec"), os.path.basename(shipped)[: -len(".zip")]
            place = os.path.join(folder, name)
            if not os.path.isdir(place):
                os.makedirs(folder, exist_ok=True)
                unfinished = tempfile.mkdtemp(dir=folder)
                with zipfile.ZipFile(shipped) as packed:
                    packed.extractall(unfinished)
                try:
                    os.rename(unfinished, place)
                except OSError:  # another worker was first
                    shutil.rmtree(unfinished)
            return place

        gc.freeze()
        if "spec" not in sys.modules:
            found = [path for path in sys.path if "kafkaspec-" in path and path.endswith(".zip")]
            if home:
                sys.path.insert(0, home)
            elif found:
                with suppress(OSError):  # without a writable place each worker compiles for itself
                    sys.path.insert(0, unpacked(found[0]))
        do = getattr(import_module("spec.checking.spark.stages"), stage)
        found_in_stage: Iterator[Any] = do(*pickle.loads(content), batches)
        return found_in_stage

    return run


def _is_here(session: SparkSession) -> bool:
    """Whether the workers are on this machine, and part of this process's session."""
    with suppress(Exception):  # Spark Connect has no context, and raises various errors
        return str(session.sparkContext.master).startswith("local[")
    return False


def require_java() -> None:
    """Require a Java on which Spark runs, before Spark itself fails without one; UsageError if there is none, or it
    is too old.
    """
    _require_java(os.environ.get("JAVA_HOME"), shutil.which("java"))


@cache
def _require_java(home: str | None, on_path: str | None) -> None:
    java = str(Path(home, "bin", "java")) if home else on_path
    if java is None:
        raise UsageError(f"the Spark engine needs Java {JAVA} or later, and there is none; try --engine local")
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError:
        raise UsageError(
            f"the Spark engine needs Java {JAVA} or later, and JAVA_HOME has none: {home}; try --engine local"
        ) from None
    version = java_version(said)
    if version is not None and version < JAVA:
        raise UsageError(
            f"the Spark engine needs Java {JAVA} or later, and {java} is Java {version}; try --engine local"
        )


def java_version(said: str) -> int | None:
    """The version in the output of `java -version`; None if it cannot be found.

    >>> java_version('openjdk version "17.0.15" 2025-04-15'), java_version('java version "1.8.0_392"')
    (17, 8)
    """
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else None


@contextmanager
def _environment_as_it_was() -> Iterator[None]:
    """Restore environment variables at the end: changes are only for processes that are started meanwhile."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in [*os.environ]:
            if name not in before:
                del os.environ[name]
        os.environ.update(before)


@contextmanager
def _interrupts_as_they_are() -> Iterator[None]:
    """Restore the handler of Ctrl-C, which PySpark replaces when it starts, and never restores."""
    if current_thread() is not main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


@contextmanager
def _errors_to(log: Path) -> Iterator[None]:
    """Processes that are started meanwhile write their errors to the log, as long as they live."""
    sys.stderr.flush()
    mine = os.dup(2)
    try:
        with log.open("ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(mine, 2)
        os.close(mine)


def _gave_way(failure: Exception) -> str:
    """The part that has failed, in words; empty if the job failed for another reason."""
    said = str(failure)
    if any(map(_is_unanswered, _with_what_led_to_it(failure))):
        return "Java, on which Spark runs, has died"
    if full := re.search("No space left on device|Read-only file system|Disk quota exceeded|File too large", said):
        return f"Spark's workers can no longer write: {full[0]}"
    if "crashed" in said or "OutOfMemoryError" in said:
        return f"a worker of Spark died {TRIES} times in a row, as happens when it takes more memory than there is"
    return ""


def _with_what_led_to_it(failure: BaseException) -> Iterator[BaseException]:
    """An exception and its causes: PySpark wraps some in exceptions of its own."""
    cause: BaseException | None = failure
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _is_unanswered(failure: BaseException) -> bool:
    """Whether the exception means that Java does not answer."""
    from py4j.protocol import Py4JError, Py4JJavaError

    if isinstance(failure, ConnectionError | EOFError):
        return True
    # An exception in Java brings its trace. Py4J reports a missing answer as "... does not exist in the JVM".
    return isinstance(failure, Py4JError) and not isinstance(failure, Py4JJavaError) and "Trace:" not in str(failure)


def _first_line(failure: Exception) -> str:
    return str(failure).strip().partition("\n")[0]
