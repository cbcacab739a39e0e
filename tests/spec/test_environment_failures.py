"""Failures of the environment: full disks, closed streams, a dying Java, specifications that print, exit or hang.

The user then sees one line and the documented exit code, and earlier results are not lost.
"""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from numba.core.registry import CPUDispatcher

from spec.atlas.loading import answering_for
from spec.checking import EvaluationFailed, Result, check
from spec.checking.auto import AutoEngine
from spec.checking.engines import engine_named
from spec.checking.exploration import Engine
from spec.checking.local import LocalEngine, jit
from spec.checking.local.visited import Visited
from spec.checking.machine.memory import OutOfMemory
from spec.checking.model import ExitAttempted
from spec.checking.spark import SparkEngine
from spec.cli import command
from spec.language import Specification, action, constant, invariant, require, variable
from spec.language.errors import EnvironmentFailed, EnvironmentWarning
from tests.spec.cli.test_commands import COMMAND, Answer, heed_interrupts
from tests.spec.toys import RaisingAction, RaisingProperty, Walkers, WalkersState, misbehaving
from tests.tiers import long_unless

OWN = '''
"""Specifications that disturb the checker."""

import os
import sys
import time

from spec.language import *


class Numbers(State):
    x: int = variable("One.", of=lambda self: integers(0, 120))
    y: int = variable("The other.", of=lambda self: integers(0, 120))


class Grid(Specification[Numbers]):
    """Two numbers that grow."""

    @action
    def right(self, s):
        require(s.x < 3)
        s.x += 1

    @action
    def up(self, s):
        require(s.y < 3)
        s.y += 1


class Broken(Grid):
    @invariant
    def low(self, s):
        """It stays low."""
        return s.y < 3


class Printing(Broken):
    @action
    def speak(self, s):
        """It prints, and lets others print; it is not enabled."""
        print("printed by an action")
        os.write(1, b"written to descriptor 1\\n")
        require(False)


class Raising(Grid):
    @action
    def divide(self, s):
        require(s.x == 2 and s.y == 1)
        1 // 0


class Exiting(Grid):
    @action
    def leave(self, s):
        require(s.x == 2 and s.y == 1)
        sys.exit(7)


class Digits(State):
    digit: Total = variable("The digits.", of=lambda self: mapping(range(self.digits), integers(0, 9)))


class Large(Specification[Digits]):
    """With six digits, levels are so large that several workers share them."""

    digits = constant(5, "number of digits")

    @action(at=lambda self: range(self.digits))
    def turn(self, s, at):
        require(s.digit[at] < 9)
        s.digit[at] += 1


class Endless(Large):
    @action
    def think(self, s):
        require(all(digit == 4 for digit in s.digit.values()))
        print("thinking", flush=True)
        while True:
            pass


class Asleep(Large):
    @action
    def sleep(self, s):
        require(all(digit == 4 for digit in s.digit.values()))
        print("thinking", flush=True)
        time.sleep(3600)
'''


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A working directory with a file; modules imported from there are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "own.py").write_text(OWN)
    handler = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, handler)
    sys.modules.pop("own", None)


def shell(line: str, **environment: str) -> Answer:
    """Run the installed command, as `kafkaspec` in a line of shell."""
    script = line.replace("kafkaspec", COMMAND)
    done = subprocess.run(
        ["/bin/bash", "-o", "pipefail", "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Answer(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[str], Answer]:
    """Call the command's entry point in this process."""

    def asked(arguments: str) -> Answer:
        monkeypatch.setattr(sys, "argv", ["kafkaspec", *arguments.split()])
        with pytest.raises(SystemExit) as left:
            command.run()
        assert isinstance(left.value.code, int)
        return Answer(left.value.code, *capsys.readouterr())

    return asked


BROKEN = "kafkaspec check own.py:Broken --engine reference"

# Streams.


@pytest.mark.parametrize("lost", [">/dev/full", ">&-"])
def test_an_unprintable_result_goes_to_stderr(lost: str) -> None:
    """It exits 74 for any verdict, and says why; the result is not lost."""
    answer = shell(f"{BROKEN} {lost}")
    assert answer.code == 74
    assert answer.err.startswith("broken: low is violated, in 4 states\n")
    assert "\nError: stdout cannot be written: " in answer.err


@pytest.mark.parametrize(
    "deaf", ["2>/dev/full", *(pytest.param(each, marks=pytest.mark.long) for each in ("2>&-", "2>&- <&-"))]
)
def test_a_closed_stderr_changes_nothing(deaf: str) -> None:
    """The verdict is on stdout, with its exit code."""
    answer = shell(f"{BROKEN} --json {deaf}")
    assert (answer.code, answer.json()["verdict"]) == (12, "violated")
    assert shell(f"kafkaspec check own.py:Nothing --engine reference {deaf}").code == 2


def test_a_closed_pipe_changes_no_exit_code() -> None:
    """`| head -1` receives its line, and the command exits as if all output had been read."""
    assert shell(f"{BROKEN} | head -1") == Answer(12, "broken: low is violated, in 4 states\n", "")


@pytest.mark.parametrize("engine", ["reference", pytest.param("local", marks=pytest.mark.long)])
def test_output_of_actions_goes_to_stderr(engine: str) -> None:
    """However it prints; stdout has only the one object."""
    answer = shell(f"kafkaspec check own.py:Printing --engine {engine} --json")
    assert (answer.code, answer.json()["verdict"]) == (12, "violated")
    assert "printed by an action" in answer.err
    assert "written to descriptor 1" in answer.err


@pytest.mark.long
@pytest.mark.parametrize(
    "environment",
    long_unless({"LC_ALL": "C"}.__eq__, [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C"}, {"LC_ALL": "POSIX"}]),
)
def test_a_character_that_cannot_be_encoded_is_no_error(environment: dict[str, str]) -> None:
    """A result with such a character is printed with an escape."""
    answer = shell("kafkaspec diagram partition | head -1; kafkaspec check own.py:Ähm", **environment)
    assert answer.code == 2
    assert "hm" in answer.err


def test_an_empty_environment_suffices(tmp_path: Path) -> None:
    """Neither HOME nor PATH."""
    assert shell(f"env -i {BROKEN}").code == 12


# Errors as objects.


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        ("check own.py:Broken --nosuch --json", 2, "--nosuch"),
        ("check --json", 2, "SYSTEM"),
        ("check own.py:Broken --max-depth deep --json", 2, "deep"),
        ("check own.py:Nothing --json", 2, "Nothing"),
        ("check tests.spec.toys:Walkers --set walkers=1 --json", 10, "walkers"),
        ("simulate nosuch --json", 2, "nosuch"),
        ("anomalies NOSUCH --json", 2, "NOSUCH"),
        ("elect fair --json", 2, "fair"),
        ("elect offline --replicas 1,1 --isr 1 --live 1 --json", 2, "replicas"),
        ("diagram partition --json", 2, "--json"),
        ("check own.py:Exiting --engine reference --json", 2, "leave(): it calls sys.exit(7), which would end"),
        ("check own.py:Raising --engine reference --json", 75, "divide(): ZeroDivisionError"),
        ("simulate own.py:Raising --seed 1 --json", 75, "divide(): ZeroDivisionError"),
    ],
)
def test_an_error_is_json_too(ask: Callable[[str], Answer], arguments: str, code: int, part: str) -> None:
    """Stdout has the text of stderr as an object, with the exit code."""
    answer = ask(arguments)
    printed = answer.json()
    assert (answer.code, printed["exit"]) == (code, code)
    assert part in printed["error"]
    assert part in answer.err


def test_an_internal_error_is_json_too(
    ask: Callable[[str], Answer], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The traceback is printed, too."""
    monkeypatch.setattr("election.STRATEGIES", {})
    with pytest.raises(KeyError):
        ask("elect offline --replicas 1 --isr 1 --live 1 --json")
    assert json.loads(capsys.readouterr().out)["exit"] == 1


# Evaluations that fail.

ENGINES: dict[str, Callable[[], Engine]] = {
    "reference": lambda: engine_named("reference"),
    "local": LocalEngine,
    "spark": SparkEngine,
}


class Exits(Walkers):
    """An invariant ends the program, in some states of the fourth level."""

    @invariant
    def stays(self, s: WalkersState) -> bool:
        """It exits."""
        if sum(s.at.values()) == 3:
            sys.exit("enough")
        return True


@pytest.mark.parametrize("toy", [RaisingAction(), RaisingProperty(), Exits(starts=2)], ids=repr)
def test_a_failure_shows_the_shortest_trace(toy: Specification) -> None:
    """Every engine reports the same state, reached by the same path."""
    failures = {}
    for name, engine in ENGINES.items():
        with pytest.raises(EvaluationFailed) as failed:
            check(toy, engine=engine())
        assert failed.value.trace is not None
        failures[name] = (str(failed.value), failed.value.state, failed.value.trace.to_json())
        assert isinstance(failed.value, ExitAttempted) == isinstance(toy, Exits)
    assert failures["local"] == failures["spark"] == failures["reference"]
    trace = failures["reference"][2]
    assert trace["length"] == len(trace["steps"]) + 1 > 2
    assert "property" not in trace


def test_the_trace_has_view_sentences(ask: Callable[[str], Answer]) -> None:
    """Step by step, below the error; the last step is the failing one."""
    answer = ask("check own.py:Raising --engine reference")
    assert (answer.code, answer.out) == (75, "")
    error, _, way = answer.err.partition("\n\n")
    assert "(own.py, line " in error
    assert way.startswith("The way there, in 4 states:\n")
    assert "! divide() fails here" in way.splitlines()[-2]


def test_a_constant_that_exits_is_a_mistake() -> None:
    """As anywhere in a specification."""
    with (
        pytest.raises(Exception, match=r"test_environment_failures\.py, line .*SystemExit: 3"),
        answering_for(Leaving),
    ):
        check(Leaving(), engine="reference")


class LeavingState(WalkersState):
    """The states of `Leaving`."""

    reached: int = variable("Its domain is never made.", of=lambda self: sys.exit(3))


class Leaving(Walkers, Specification[LeavingState]):
    """Its domain ends the program."""


# Evaluations that do not end.


@pytest.mark.parametrize(
    ("cls", "engine", "digits", "number"),
    long_unless(
        lambda case: case[:2] == ("Asleep", "local"),
        [
            ("Endless", "local", 6, signal.SIGINT),
            ("Asleep", "local", 6, signal.SIGTERM),
            ("Endless", "reference", 2, signal.SIGTERM),
            ("Asleep", "reference", 2, signal.SIGINT),
        ],
    ),
)
def test_an_evaluation_without_end_can_be_interrupted(cls: str, engine: str, digits: int, number: int) -> None:
    """In any worker: it exits 130, with the figures of the complete levels."""
    options = ["--engine", engine, "--set", f"digits={digits}", "--json"]
    with subprocess.Popen(
        [COMMAND, "check", f"own.py:{cls}", *options, *["--workers", "2"] * (engine == "local")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line == "thinking\n":
                break
        process.send_signal(number)
        try:
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert (json.loads(out)["verdict"], json.loads(out)["depth"]) == ("interrupted", 4 * digits + 1)


CALLED = Event()
vars(sys.modules["string"]).update(CALLED_BACK=CALLED)  # where a rule may wait for it unseen


class Waiting(Walkers):
    """An action waits until its report arrives."""

    @action
    def wait(self, s: WalkersState) -> None:
        """It waits in one state."""
        require(s.at[0] == 2)
        assert vars(sys.modules["string"])["CALLED_BACK"].wait(60)
        require(False)


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_a_long_evaluation_is_reported(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its name, the state and the seconds, while it runs."""
    monkeypatch.setattr("spec.checking.watchdog.LOOK", 0.01)
    monkeypatch.setattr("spec.checking.watchdog.LONG", 0.02)
    reports = []
    CALLED.clear()

    def on_progress(statistics: Any) -> None:
        if statistics.evaluating and "wait()" in statistics.evaluating:
            reports.append(statistics.evaluating)
            CALLED.set()

    check(Waiting(), engine=engine, on_progress=on_progress)
    assert reports
    assert "s: wait() in the state at[0] = 2" in reports[0]


# Disks, directories.


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Limit file sizes meanwhile, as if the disk were full. Modules are not cached, as Python keeps what it could
    write of one.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    caches, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = caches
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


MANY = Walkers(walkers=5, length=6)
"""With 16 buckets, a level's commit is its largest file."""
MORE = Walkers(walkers=6, length=7)
"""With one bucket, a level's states are."""
ONE = {"buckets": 1}


@pytest.mark.parametrize(
    ("made", "subject", "options", "size"),
    [
        pytest.param(LocalEngine, MORE, ONE, 8_000, id="local, its states", marks=pytest.mark.long),
        pytest.param(SparkEngine, MORE, ONE, 8_000, id="spark, its states", marks=pytest.mark.long),
        pytest.param(LocalEngine, MANY, {}, 2_500, id="local, its commits", marks=pytest.mark.long),
        pytest.param(AutoEngine, MANY, {}, 2_500, id="auto", marks=pytest.mark.long),
    ],
)
def test_a_full_disk_loses_nothing(
    made: Callable[..., Engine], subject: Walkers, options: dict[str, Any], size: int, tmp_path: Path
) -> None:
    """The error says what is kept; with more space, the run continues from its last complete level as usual."""
    unbroken, run = check(subject, engine="reference"), tmp_path / "run"
    with files_up_to(size), pytest.raises(EnvironmentFailed, match="File too large") as full:
        check(subject, engine=made(run_dir=run, **options))
    levels = len(list((run / "_commits").glob("*.json")))
    assert 1 < levels < unbroken.depth
    assert f"{levels} levels are kept, and --resume {run} continues" in str(full.value)
    assert figures(check(subject, engine=made(run_dir=run, resume=True, **options))) == figures(unbroken)


def figures(result: Result) -> tuple[Any, ...]:
    """The figures of an uninterrupted run."""
    return result.verdict, result.distinct_states, result.depth, result.generated_states


REFUSED = {
    errno.ENOSPC: ("write_bytes", "write_text"),
    errno.EROFS: ("mkdir", "write_bytes", "write_text", "replace", "unlink"),
}
"""Calls that fail on a full disk, and on a read-only one."""


def gives_way(run: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make these calls on a run's disk fail from now on, with this errno."""
    for name in REFUSED[number]:
        monkeypatch.setattr(Path, name, refusing(getattr(Path, name), run, number))


def refusing(do: Callable[..., Any], run: Path, number: int) -> Callable[..., Any]:
    """Return a call that fails below a directory."""

    def refused(path: Path, *arguments: Any, **options: Any) -> Any:
        if not path.is_relative_to(run):
            return do(path, *arguments, **options)
        if number == errno.ENOSPC:
            path.touch()  # a full disk has room for an empty file
        raise OSError(number, os.strerror(number), str(path))

    return refused


@pytest.mark.parametrize(
    ("made", "point", "number"),
    long_unless(
        lambda case: case[1] == "before commit",
        [
            (LocalEngine, "before files", errno.ENOSPC),
            (LocalEngine, "before commit", errno.ENOSPC),
            (LocalEngine, "after files", errno.EROFS),
            (SparkEngine, "before commit", errno.ENOSPC),
            (SparkEngine, "before files", errno.EROFS),
        ],
    ),
)
def test_a_disk_failure_during_a_run_loses_nothing(
    made: Callable[..., Engine], point: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Full or read-only, between any two writes of a level: it reports the error, the kept levels, and `--resume`."""
    run, times = tmp_path / "run", count(1)

    def reached(where: str) -> None:
        if where == point and next(times) == 5:
            gives_way(run, number, meanwhile)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr("spec.checking.runs.rundir.reached", reached)
        with pytest.raises(EnvironmentFailed) as given_way:
            check(Walkers(), engine=made(run_dir=run))
    wrong = f"the run directory {run} can no longer be used: {os.strerror(number)}"
    assert str(given_way.value) == f"{wrong}; 4 levels are kept, and --resume {run} continues from there"
    resumed = check(Walkers(), engine=made(run_dir=run, resume=True))
    assert figures(resumed) == figures(check(Walkers(), engine="reference"))


SMALL_DISK = """
import subprocess, sys
from pathlib import Path
from spec.checking import check
from spec.checking.local import LocalEngine
from spec.checking.spark import SparkEngine
from spec.language.errors import EnvironmentFailed
from tests.spec.toys import Walkers

ENGINES = {
    "local": LocalEngine,
    "spark": SparkEngine,
    "jobs": lambda run_dir, resume=False: SparkEngine(run_dir, resume=resume, driver_level=10**6 if resume else 100),
}
made, run, size = ENGINES[sys.argv[1]], Path("disk/run"), sys.argv[2]

def mount(*how):
    subprocess.run(["mount", *how, "disk"], check=True)

def on_progress(statistics):
    if size == "ro" and statistics.depth == 5:
        mount("-o", "remount,ro")

mount("-t", "tmpfs", "-o", "size=64m" if size == "ro" else f"size={size}", "none")
try:
    check(Walkers(walkers=5, length=6), engine=made(run_dir=run), on_progress=on_progress)
except EnvironmentFailed as failure:
    print(failure)
mount("-o", "remount,rw,size=64m")
print(check(Walkers(walkers=5, length=6), engine=made(run_dir=run, resume=True)).distinct_states)
"""
"""In a namespace of its own, where any user may mount a disk."""


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize(
    ("engine", "size", "wrong"),
    [
        ("local", "160k", "the run directory disk/run can no longer be used: No space left on device"),
        ("local", "ro", "the run directory disk/run can no longer be used: Read-only file system"),
        ("spark", "160k", "the run directory disk/run can no longer be used: No space left on device"),
        ("spark", "ro", "the run directory disk/run can no longer be used: Read-only file system"),
        ("jobs", "600k", "Spark's workers can no longer write: No space left on device"),
    ],
    ids=["local, full", "local, read-only", "spark, full", "spark, read-only", "spark, full under its workers"],
)
def test_a_real_full_disk_loses_nothing(engine: str, size: str, wrong: str, tmp_path: Path) -> None:
    """A small disk, or one remounted read-only; Spark's workers write to it, too."""
    alone = ["unshare", "--user", "--map-root-user", "--mount"]
    (tmp_path / "disk").mkdir()
    if subprocess.run([*alone, "mount", "-t", "tmpfs", "none", "disk"], check=False, capture_output=True).returncode:
        pytest.skip("on this machine no user may mount a disk, not even in a namespace")
    done = subprocess.run(
        [*alone, sys.executable, "-c", SMALL_DISK, engine, size],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.stderr == ""
    said, states = done.stdout.splitlines()
    assert re.fullmatch(rf"{re.escape(wrong)}; \d+ levels are kept, and --resume disk/run continues from there", said)
    assert int(states) == 6**5


def test_a_full_disk_has_its_exit_code(ask: Callable[[str], Answer], tmp_path: Path) -> None:
    """And is an object, as every error is; a temporary run directory is not kept."""
    with files_up_to(1_600):
        kept = ask("check own.py:Large --engine local --run-dir run --json")
        answer = ask("check own.py:Large --engine spark --json")
    assert (kept.code, kept.json()["exit"]) == (74, 74)
    assert "--resume run" in kept.json()["error"]
    assert answer.code == 74
    assert "nothing is kept" in answer.json()["error"]


class Removing(Walkers):
    """An action removes the run directory."""

    run: str = constant("", "where it is")

    @action
    def remove(self, s: WalkersState) -> None:
        """It is not enabled."""
        if sum(s.at.values()) == 4:
            misbehaving(sys.modules["shutil"].rmtree, self.run, True)
        require(False)


@pytest.mark.long
@pytest.mark.parametrize("made", [LocalEngine, SparkEngine])
def test_a_removed_run_directory_is_not_created_again(made: Callable[..., Engine], tmp_path: Path) -> None:
    """An empty one would look like a run."""
    run = tmp_path / "run"
    with pytest.raises(EnvironmentFailed, match="nothing is kept"):
        check(Removing(run=str(run)), engine=made(run_dir=run))
    assert not run.exists()


@pytest.mark.long
def test_the_memory_limit_without_room_for_spark_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The result has the figures so far, and a hint that Spark could have continued."""
    monkeypatch.setattr("spec.checking.auto._may_have_java", lambda: True)
    insert = Visited.insert

    def insert_some(visited: Visited, *where: Any) -> None:
        if visited.size > 500:
            raise OutOfMemory
        insert(visited, *where)

    monkeypatch.setattr(Visited, "insert", insert_some)
    monkeypatch.setattr("spec.checking.first_tier.KEPT", 0)
    with files_up_to(1_000):
        found = check(MANY, engine=AutoEngine())
    assert (found.verdict, found.engine) == ("bounded", "local")
    assert "no room" in found.why


@pytest.mark.parametrize("place", ["rr/deeper", "own.py", "own.py/rr"])
def test_a_place_that_cannot_be_a_run_directory_is_a_mistake(
    ask: Callable[[str], Answer], place: str, tmp_path: Path
) -> None:
    """The error comes before exploration."""
    (tmp_path / "rr").symlink_to(tmp_path / "rr")
    assert ask(f"check own.py:Large --run-dir {place}").code == 2


# Compilers and Java.


@pytest.mark.parametrize("engine", long_unless("auto".__eq__, ["auto", "local", "spark"]))
def test_without_a_compiler_the_reference_engine_explores(engine: str) -> None:
    """One line says so, whether or not another engine would be needed."""
    answer = shell(f"kafkaspec check own.py:Broken --engine {engine}", NUMBA_DISABLE_JIT="1")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "NUMBA_DISABLE_JIT" in answer.err
    assert shell(BROKEN, NUMBA_DISABLE_JIT="1").code == 12


def test_an_uncacheable_function_is_compiled_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A warning says that it costs time, and how to avoid it."""

    def enable_caching(function: Any) -> None:
        raise RuntimeError("cannot cache function: no locator available")

    def successor(number: int) -> int:
        return number + 1

    monkeypatch.setattr(CPUDispatcher, "enable_caching", enable_caching)
    with pytest.warns(EnvironmentWarning, match="NUMBA_CACHE_DIR"):
        assert jit.compiled(successor)(1) == 2


def test_a_warning_of_the_environment_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other warnings keep Python's form."""
    from spec.cli.streams import take_over

    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        take_over()
        warnings.warn("it is cold", EnvironmentWarning, stacklevel=1)
    assert capsys.readouterr().err == "Warning: it is cold\n"


JAVA_DIES = """
import os, signal, subprocess, sys
from pathlib import Path
from spec.checking import check
from spec.checking.local import LocalEngine
from spec.checking.spark import SparkEngine
from spec.language.errors import EnvironmentFailed
from tests.spec.toys import Walkers

def on_progress(statistics):
    if statistics.depth == 3:  # the next level is the first job, which starts Spark
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        for child in children:
            os.kill(int(child), signal.SIGKILL)

try:
    check(Walkers(), engine=SparkEngine(Path("run"), driver_level=4, workers=1), on_progress=on_progress)
except EnvironmentFailed as failure:
    print(failure)
then = {"local": LocalEngine, "spark": SparkEngine}[sys.argv[1]]
print(check(Walkers(), engine=then(run_dir=Path("run"), resume=True)).distinct_states)
"""


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("then", ["local", "spark"])
def test_a_dead_java_is_a_one_line_error(then: str, tmp_path: Path) -> None:
    """The complete levels are kept, and the same process continues from them."""
    here = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", JAVA_DIES, then],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(here)},
    )
    assert (done.stdout.splitlines(), done.stderr) == (
        [
            "Java, on which Spark runs, has died; 3 levels are kept, and --resume run continues from there",
            str(check(Walkers(), engine="reference").distinct_states),
        ],
        "",
    )


# Unreadable files.

BAD_FILES = {
    "is not UTF-8": b'x = "\xff"\n',
    "has null bytes": b"x = 1\0\n",
    "is a circular import": b"import other\n",
}


@pytest.mark.parametrize("bad", BAD_FILES)
def test_a_file_that_cannot_be_read_is_one_line(ask: Callable[[str], Answer], tmp_path: Path, bad: str) -> None:
    """A file that ... is reported as a mistake of the user."""
    (tmp_path / "other.py").write_text("from bad import Nothing\n")
    (tmp_path / "bad.py").write_bytes(BAD_FILES[bad])
    answer = ask("check bad.py:A")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "bad.py" in answer.err


def test_a_directory_is_no_file(ask: Callable[[str], Answer], tmp_path: Path) -> None:
    """Even with the suffix .py."""
    (tmp_path / "folder.py").mkdir()
    assert ask("check folder.py:A").err == "Error: there is no file folder.py\n"
