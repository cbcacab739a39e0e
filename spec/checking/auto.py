"""The engine that is chosen for whoever names none: local as long as memory lasts, then Spark with what is there."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from spec.checking.exploration import Exploration, Question, Watch
from spec.checking.keeping import require_run
from spec.checking.local import LocalEngine
from spec.checking.model import Model
from spec.language.errors import UsageError


class AutoEngine:
    """Explores in this process, and hands over to Spark when the memory is reached and there is a Java.

    Args:
        workers: cores to use; by default all.
        memory: bytes that the visited set of the local engine may take.
        run_dir: where the run is kept, empty or not there. Without it nothing is kept, and what Spark has to have is
            put into a temporary directory.
        resume: go on with the run in `run_dir`.
    """

    name = "local"
    """Of the engine that came to the end."""

    def __init__(
        self,
        workers: int | None = None,
        memory: int | None = None,
        run_dir: Path | None = None,
        *,
        resume: bool = False,
    ):
        require_run(run_dir, resume)
        self.workers, self.memory, self.run_dir, self.resume = workers, memory, run_dir, resume

    def explore(self, model: Model, question: Question, watch: Watch) -> Exploration:
        """Go through the states, level by level."""
        self.name = "local"
        with ExitStack() as until_done:
            overflow = None
            if self.run_dir is None and _may_have_java():
                folder = tempfile.TemporaryDirectory(prefix="kafkaspec-", ignore_cleanup_errors=True)
                overflow = Path(until_done.enter_context(folder)) / "run"
            local = LocalEngine(self.workers, self.memory, self.run_dir, resume=self.resume, overflow=overflow)
            found = local.explore(model, question, watch)
            path = self.run_dir or overflow
            if found.ended != "memory" or path is None or not _can_hand_over():
                return found
            from spec.checking.spark import SparkEngine

            self.name = "spark"
            found = SparkEngine(path, resume=True, workers=self.workers).explore(model, question, watch)
            return found if self.run_dir else replace(found, kept="")


def _may_have_java() -> bool:
    return "JAVA_HOME" in os.environ or shutil.which("java") is not None


def _can_hand_over() -> bool:
    """Whether Spark can run here."""
    from spec.checking.spark.session import require_java

    try:
        require_java()
    except UsageError:
        return False
    return True
