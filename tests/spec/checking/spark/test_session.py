"""Where the Spark engine gets its session, and its errors if there is none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkValueError, PythonException

from spec.checking.code.source import digests, modules_of
from spec.checking.machine.memory import Budget, OutOfMemory
from spec.checking.spark import SparkEngine, engine
from spec.checking.spark.allotment import allotted
from spec.checking.spark.session import SparkCluster, SparkFailed, java_version, require_java
from spec.language import UsageError
from tests.spec.checking.spark.test_engine import explored
from tests.spec.decoys import decoys
from tests.spec.toys import Jugs, Walkers

ROOT = Path(__file__).parents[4]


def java(folder: Path, said: str) -> Path:
    """A fake Java that only prints its version."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No Java is found, and the engine's own check stays on, although other tests skip in that case."""
    monkeypatch.setattr(engine, "require_java", require_java)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)


def refusal(path: Path) -> str:
    """The message with which the engine refuses, leaving no files."""
    with pytest.raises(UsageError) as refused:
        explored(SparkEngine(path / "run"), Jugs())
    assert not (path / "run").exists()
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.usefixtures("no_java")
def test_a_missing_java_is_a_one_line_error(tmp_path: Path) -> None:
    """The requirement, and another engine."""
    assert refusal(tmp_path) == ("the Spark engine needs Java 17 or later, and there is none; try --engine local")


@pytest.mark.usefixtures("no_java")
def test_a_java_home_without_java_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark would use it first, so the message names it."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert f"JAVA_HOME has none: {tmp_path}; try --engine local" in refusal(tmp_path)


@pytest.mark.usefixtures("no_java")
def test_an_old_java_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has its version."""
    program = java(tmp_path, 'openjdk version "11.0.2" 2019-01-15')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/bin")
    assert f"{program} is Java 11; try --engine local" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "24-ea" 2025-03-18', 24),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "21" 2023-09-19 LTS', 21),
        ("Segmentation fault", None),
    ],
)
def test_versions_of_java(said: str, version: int | None) -> None:
    """In the formats of the vendors. An unknown format is left to Spark."""
    assert java_version(said) == version


def test_only_the_authors_own_source_is_sent() -> None:
    """Neither the language nor installed packages."""
    assert [module.__name__ for module in modules_of(Jugs())] == ["tests.spec.toys"]
    assert digests(Jugs()) == digests(Walkers())


ALONE = """
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from spec.checking.reference import ReferenceEngine
from spec.checking.spark import SparkEngine, engine
from tests.spec.checking.spark.test_engine import comparable, expanded_by_jobs, exploration, explored
from tests.spec.toys import Walkers

found = exploration(SparkEngine(Path(sys.argv[1]), driver_level=4, workers=2), Walkers())
assert comparable(found) == explored(ReferenceEngine(), Walkers())
assert expanded_by_jobs(found)
assert SparkSession.getActiveSession() is None
assert sys.stderr.writable()
"""


@pytest.mark.spark
@pytest.mark.long
def test_the_engines_own_session_is_quiet_and_stopped(tmp_path: Path) -> None:
    """It prints nothing and leaves no files in the working directory; the run keeps Java's log.

    In a separate process, because an engine uses an active session if there is one.
    """
    (tmp_path / "here").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", ALONE, str(tmp_path / "run")]
    done = subprocess.run(command, cwd=tmp_path / "here", env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list((tmp_path / "here").iterdir()) == []
    assert (tmp_path / "run" / "_spark.log").exists()


@pytest.mark.spark
@pytest.mark.long
def test_the_command_makes_every_level_a_job(tmp_path: Path) -> None:
    """On request: each found state was expanded by a job. Files in the working directory do not run."""
    ran = decoys(tmp_path)
    command = [sys.executable, "-m", "spec", "check", "tests.spec.toys:Countdown", "--set", "top=3"]
    asked = [*command, "--engine", "spark", "--workers", "2", "--driver-level", "0", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(asked, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["jobs"]["levels"] == found["depth"]
    assert 1 <= found["jobs"]["workers"] <= 2
    assert ran.read_text() == ""


CALLED = "An error occurred while calling o1.collectToPython"
DIED = "Java, on which Spark runs, has died"
FULL = "Spark's workers can no longer write: "


def of_a_worker(said: str) -> Exception:
    """An exception that Spark raises after a worker failed with this message."""
    return PythonException(
        f"Job aborted due to stage failure: Task 0 failed 4 times\nTraceback (most recent):\n{said}\n"
    )


def put_into_words() -> Exception:
    """The exception of PySpark if Java dies just before it reads the type of a column."""
    failure = PySparkValueError("[CANNOT_PARSE_DATATYPE] Unable to parse datatype.")
    failure.__context__ = ConnectionRefusedError(111, "Connection refused")
    return failure


@pytest.mark.parametrize(
    ("failure", "means", "message"),
    [
        (Py4JError(f"{CALLED}. Trace:\njava.lang.OutOfMemoryError: Java heap space\n"), OutOfMemory, ""),
        (Py4JError(f"{CALLED}. Trace:\nsomething else\n"), RuntimeError, f"Spark has given up: {CALLED}. Trace:"),
        (Py4JError(CALLED), SparkFailed, DIED),
        (Py4JError("PythonUtils does not exist in the JVM"), SparkFailed, DIED),
        (ConnectionRefusedError(111, "Connection refused"), SparkFailed, DIED),
        (put_into_words(), SparkFailed, DIED),
        (
            of_a_worker("OSError: [Errno 28] No space left on device: '/run/level=0004/bucket=0000/_3f.parquet'"),
            SparkFailed,
            f"{FULL}No space left on device",
        ),
        (
            of_a_worker("OSError: [Errno 30] Read-only file system: '/run/level=0004'"),
            SparkFailed,
            f"{FULL}Read-only file system",
        ),
        (of_a_worker("OSError: [Errno 122] Disk quota exceeded"), SparkFailed, f"{FULL}Disk quota exceeded"),
        (of_a_worker("OSError: [Errno 27] File too large"), SparkFailed, f"{FULL}File too large"),
        (
            Py4JError(f"{CALLED}. Trace:\njava.io.IOException: No space left on device\n"),
            SparkFailed,
            f"{FULL}No space left on device",
        ),
        (of_a_worker("Python worker exited unexpectedly (crashed)"), SparkFailed, "a worker of Spark died 4 times"),
        (of_a_worker("ZeroDivisionError: by zero"), RuntimeError, "Spark has given up: Job aborted"),
    ],
)
def test_failures_of_spark_jobs_are_classified(
    failure: Exception, means: type[Exception], message: str, tmp_path: Path
) -> None:
    """A full heap is a bound on memory. An error without any word from Java means that Java has died.

    A disk on which Java or a worker cannot write is reported as such, not as a fault of Spark.
    """
    session = Mock(spec=["addArtifacts", "addTag", "interruptTag"])
    cluster = SparkCluster(session, 1, tmp_path / "log", allotted(Budget(), 1, 1))

    def job(_: object) -> None:
        raise failure

    with pytest.raises(means) as ended:
        cluster.run(job, lambda: None)
    assert ended.type is means
    assert str(ended.value).startswith(message)
