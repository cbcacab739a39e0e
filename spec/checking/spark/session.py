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
"""What Java takes beside its heap is for a server otherwise; here it passes rows on."""
FRUGAL = {
    "MALLOC_ARENA_MAX": "2",  # else each of Java's threads has a heap of its own
    "MALLOC_MMAP_THRESHOLD_": str(MB),  # else arrays that are gone leave holes in it
    "MALLOC_TRIM_THRESHOLD_": str(MB),
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
"""What has Java and the workers give back memory that they do not need any more."""
RESERVED = 32 * MB
"""Of the heap, for Spark itself: it would want 300 MB, and refuse any heap below 450."""
BATCH = 8 * MB
"""What Java hands to a worker at once. It lies beside the heap, on both sides."""
TRIES = 4
"""How often a task may lose its worker before the run is given up."""


class SparkFailed(Exception):
    """Java, a worker or a disk of theirs is gone; one line says which."""


class _OwnSession:
    """The session that is started here. Checks that go on at the same time share it; the last one to end stops it."""

    def __init__(self) -> None:
        self._lock, self._users = Lock(), 0
        self._session: SparkSession | None = None
        self._until_unused = ExitStack()

    def found_or_joined(self, allotment: Allotment, log: Path) -> tuple[SparkSession, bool]:
        """A session that the caller has at work, and that it is not this one; or this one, started if need be."""
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
        """One of those who joined it needs it no more."""
        with self._lock:
            self._users -= 1
            if not self._users:
                self._session = None
                self._until_unused.close()


_OWN: Final = _OwnSession()


class SparkCluster:
    """The Spark on which jobs run. A session that the caller gave is never stopped, one that was started here is."""

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
                ship(self._session)
        return self._session

    @property
    def parallelism(self) -> int:
        """How many tasks run at once, as far as one can know. It takes a session to know it."""
        session = self.session
        if self._ours:
            return self._allotment.workers
        if self._workers:
            return self._workers
        with suppress(Exception):  # Spark Connect has no context, and says so in more than one way
            return session.sparkContext.defaultParallelism
        return cores()

    @property
    def work(self) -> int | None:
        """The quota of each worker in bytes; None in a session of the caller's. It takes a session to know it."""
        assert self.session is not None
        return self._allotment.work if self._ours else None

    def run(self, job: Callable[[SparkSession], T], tick: Callable[[], None]) -> T:
        """What a job gives. Meanwhile `tick` is called now and then.

        It runs in a thread of its own: Ctrl-C must not fall into a talk with Java, which would not recover.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed, and the job is cancelled.
            OutOfMemory: Java's heap was too small.
            SparkFailed: Java, a worker or a disk of theirs is gone.
            RuntimeError: Spark has given it up for another reason; the first line of it.
        """
        session, outcome, ended = self.session, Future[T](), SimpleQueue[None]()
        mark, cancel = _marking(session)

        def run() -> None:
            try:
                with suppress(Exception):  # without it the job can only not be cancelled
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
            with suppress(Exception):  # what goes on running only writes files that are never read
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
        """Stop the session if it was started here, and nobody else needs it."""
        if self._ours and self._session is not None:
            self._session, self._ours = None, False
            _OWN.leave()


def _marking(session: SparkSession) -> tuple[Callable[[str], None], Callable[[str], Any]]:
    """How the jobs of a thread are marked, and how those with a mark are cancelled from any thread."""
    # The session's own tags would do both, but can only be cancelled by the thread that set them, except on Connect.
    context = getattr(session, "sparkContext", None)
    if context is None:
        return session.addTag, session.interruptTag
    return context.addJobTag, context.cancelJobsWithTag


TICK = 1.0
"""Seconds between two calls of `tick` while a job runs."""
PATIENCE = 10.0
"""Seconds in which a job that is cancelled should have ended."""


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _at_work() -> SparkSession | None:
    """The session that the caller has at work in this process, in whichever thread; None if there is none."""
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
        if SparkContext._gateway is None:  # else it is the caller's
            until_stopped.callback(_end_java)
        until_stopped.callback(logging.getLogger().removeFilter, _not_of_py4j)
        session = start(allotment, log)
        until_stopped.callback(_forget, SparkFiles.getRootDirectory())
        until_stopped.enter_context(suppress(Exception))  # a Java that has died cannot be stopped
        until_stopped.callback(session.stop)
        yield session


def _end_java() -> None:
    """PySpark keeps its Java, and 200 MB of memory, for as long as this process lives."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    if gateway is None or gateway.proc is None:  # it has not started, or not from here
        return
    with suppress(Exception):  # it has died
        gateway.shutdown()
    gateway.proc.stdin.close()  # which Java waits for
    try:
        gateway.proc.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()


def _forget(place: str) -> None:
    """Modules are not looked for any more in a folder of a session."""
    with suppress(ValueError):
        sys.path.remove(place)


def start(allotment: Allotment, log: Path) -> SparkSession:
    """A quiet session on this machine, reached from this process alone. What Java prints goes to the log."""
    with _environment_as_it_was(), _interrupts_as_they_are(), _errors_to(log):
        try:
            return _silent_at_death(_builder(allotment).getOrCreate())
        except Exception as failure:
            wrong = _gave_way(failure) or f"{_first_line(failure)} ({log} may say more)"
            raise SparkFailed(f"Spark did not start: {wrong}") from failure


def _builder(allotment: Allotment) -> SparkSession.Builder:
    """What a session is to be like; some of it is said in the environment."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # the workers must run our interpreter; a setting comes too late
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    for name, value in FRUGAL.items():
        os.environ.setdefault(name, value)
    builder = SparkSession.builder.master(f"local[{allotment.workers},{TRIES}]").appName("kafkaspec")
    for name, value in {
        "spark.local.dir": tempfile.gettempdir(),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.authenticate": "true",  # by a secret that Spark makes up; its ports for Python have their own
        # Java only passes rows on: compiling them further, or many threads to tidy up, costs twice the time.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC " + SLENDER,
        "spark.driver.memory": f"{allotment.heap // MB}m",
        "spark.testing.reservedMemory": str(RESERVED),
        "spark.sql.execution.arrow.maxBytesPerBatch": str(BATCH),
        "spark.python.daemon.module": "spec.checking.spark.daemon",
        "spark.sql.adaptive.enabled": "false",  # a level is two stages, with nothing to be planned anew between them
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.executorEnv.PYTHONPATH": str(HOME),
        "spark.executorEnv.PYTHONSAFEPATH": "1",  # else workers import what lies in the working directory
    }.items():
        builder = builder.config(name, value)
    return builder


def _silent_at_death(session: SparkSession) -> SparkSession:
    """The same, which does not print a traceback for each of its connections when Java dies; one line is enough."""
    logging.getLogger().addFilter(_not_of_py4j)
    with suppress(AttributeError):  # there is no other way to its server
        server: Any = session.sparkContext._accumulatorServer
        server.handle_error = lambda request, client: None
    return session


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


def ship(session: SparkSession) -> None:
    """Send our packages to the workers of a session, which may have none, or another version."""
    session.addArtifacts(str(archive()), pyfile=True)


@cache
def archive() -> Path:
    """Our packages in a zip, as long as this process lives: workers fetch it when they need it.

    Its name says what is in it, since a session takes nothing else under a name that it knows. What is compiled of it
    goes along: to compile takes each worker longer than most levels.
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
    """What numba keeps of the functions of a module as it is now: files are named by function and line."""
    kept = sorted(source.parent.glob(f"__pycache__/{source.stem}.*.nb[ic]"))
    lines = source.read_text(encoding="utf-8").splitlines() if kept else []
    for path in kept:
        function = re.match(r"\w+\.(\w+)-(\d+)\.", path.name)
        if function is not None:
            line = int(function[2])
            if any(each.startswith(f"def {function[1]}(") for each in lines[line - 1 : line + 1]):
                yield path


def in_workers(session: SparkSession, stage: str, *given: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A stage, and what it is given, as a function that can be sent to workers.

    Compiled code is kept on disk beside its source, for later processes. So workers that are on this machine take
    our packages from here, and others unpack what was shipped, once on each machine: in a zip nothing can be kept.
    That is done before anything of ours is imported, by a function that names nothing of ours.

    Spark has each worker collect garbage after each task. That goes through all objects that the worker keeps, its
    decision tables among them. So each task begins by freezing the objects that earlier tasks left.
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
                with suppress(OSError):  # there may be no place: then each worker compiles for itself
                    sys.path.insert(0, unpacked(found[0]))
        do = getattr(import_module("spec.checking.spark.stages"), stage)
        found_in_stage: Iterator[Any] = do(*pickle.loads(content), batches)
        return found_in_stage

    return run


def _is_here(session: SparkSession) -> bool:
    """Whether the workers are on this machine, and part of this process's session."""
    with suppress(Exception):  # Spark Connect has no context, and says so in more than one way
        return str(session.sparkContext.master).startswith("local[")
    return False


def require_java() -> None:
    """See that there is a Java that Spark runs on, before Spark finds that there is none.

    Raises:
        UsageError: there is none, or it is too old.
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
    """The version in what `java -version` says; None if it is not understood.

    >>> java_version('openjdk version "17.0.15" 2025-04-15'), java_version('java version "1.8.0_392"')
    (17, 8)
    """
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else None


@contextmanager
def _environment_as_it_was() -> Iterator[None]:
    """Variables of the environment that are set meanwhile are for what is started meanwhile."""
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
    """PySpark takes Ctrl-C for itself when it starts, and does not give it back when it stops."""
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
    """The processes that are started meanwhile write their errors to the log, as long as they live."""
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
    """What is no more, in words; empty if it is something else why a job failed."""
    said = str(failure)
    if any(map(_is_unanswered, _with_what_led_to_it(failure))):
        return "Java, on which Spark runs, has died"
    if full := re.search("No space left on device|Read-only file system|Disk quota exceeded|File too large", said):
        return f"Spark's workers cannot write any more: {full[0]}"
    if "crashed" in said or "OutOfMemoryError" in said:
        return f"a worker of Spark died {TRIES} times in a row, as one does that takes more memory than there is"
    return ""


def _with_what_led_to_it(failure: BaseException) -> Iterator[BaseException]:
    """A failure, and those that it was raised from: PySpark puts some into words of its own."""
    cause: BaseException | None = failure
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _is_unanswered(failure: BaseException) -> bool:
    """Whether it says that Java does not answer."""
    from py4j.protocol import Py4JError, Py4JJavaError

    if isinstance(failure, ConnectionError | EOFError):
        return True
    # What Java refuses comes with its trace. Py4J takes no answer for a refusal: "... does not exist in the JVM".
    return isinstance(failure, Py4JError) and not isinstance(failure, Py4JJavaError) and "Trace:" not in str(failure)


def _first_line(failure: Exception) -> str:
    return str(failure).strip().partition("\n")[0]
