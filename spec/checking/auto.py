"""The default engine: tiered execution. Each of the other engines takes over when it is worth its startup time.

The reference engine begins (`first_tier`). The local engine continues until memory runs out, then Spark continues
within the same memory. Each begins after the last complete level of the engine before. All find the same.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, SupportsIndex

from spec.checking import arguments
from spec.checking.arguments import Directory
from spec.checking.exploration import Exploration, OnProgress, Options
from spec.checking.first_tier import FirstTier
from spec.checking.machine.memory import Budget, written
from spec.checking.model import Model
from spec.language.errors import EnvironmentFailed, UsageError, how_to_install, is_installed

if TYPE_CHECKING:
    from spec.checking.local.begun import Begun


class AutoEngine:
    """Explores in this process. When memory is used up, Spark continues, if Java is available and Spark fits.

    Plain Python answers small systems, unless the run must be kept: the reference engine keeps none.

    Args:
        workers: cores to use; by default all.
        memory: bytes, or a size like '512M', for all processes together; see `spec.checking.machine.memory` for the
            default.
        run_dir: directory that keeps the run; empty or not yet there. Without it nothing is kept, and Spark's files
            go to a temporary directory.
        resume: continue the run in `run_dir`.
    """

    name = "local"
    """The name of the engine that explored last."""

    def __init__(
        self,
        workers: SupportsIndex | None = None,
        memory: int | str | None = None,
        run_dir: Directory | None = None,
        *,
        resume: bool = False,
    ):
        self.workers, self.run_dir = arguments.as_workers(workers), arguments.as_path("run_dir", run_dir)
        if resume:
            from spec.checking.runs.checkpoint import require_run

            require_run(self.run_dir, resume)
        self.memory, self.resume = arguments.as_memory(memory), resume

    def explore(self, model: Model, options: Options, on_progress: OnProgress) -> Exploration:
        """Explore the states, level by level."""
        if self.run_dir is not None:
            return self._compiled(model, options, on_progress)
        first_tier = FirstTier(on_progress, Budget(self.memory))
        self.name = "reference"
        first = first_tier.explore(model, options)
        if first_tier.begun is None:
            return first
        found = self._compiled(model, options, on_progress, first_tier.begun)
        if found.ended == "interrupted" and not found.statistics.distinct:
            self.name = "reference"
            return first
        return replace(found, compile_seconds=first_tier.compile_seconds + found.compile_seconds)

    def _compiled(
        self, model: Model, options: Options, on_progress: OnProgress, begun: Begun | None = None
    ) -> Exploration:
        """Explore on this machine until memory runs out, then on Spark; from these levels on, if there are any."""
        from spec.checking.local import LocalEngine

        self.name = "local"
        with ExitStack() as until_done:
            path, too_little = self._place_for_spark(until_done)
            overflow = path if self.run_dir is None else None
            local = LocalEngine(self.workers, self.memory, self.run_dir, resume=self.resume, overflow=overflow)
            found = local.explore(model, options, on_progress, begun)
            no_room = self.run_dir is None and found.kept
            if found.ended != "memory" or no_room or not (path or too_little) or not _can_hand_over():
                return found
            if path is None:
                resuming = "" if self.run_dir is None else f", with --resume {self.run_dir}"
                return replace(found, kept=too_little + resuming)
            from spec.checking.spark.engine import MORE, SparkEngine

            gc.collect()  # frees the local engine's memory
            self.name = "spark"
            compile_seconds = found.compile_seconds
            spark = SparkEngine(path, resume=True, workers=self.workers, memory=self.memory)
            try:
                found = spark.explore(model, options, on_progress)
            except EnvironmentFailed as failure:
                from spec.checking.runs.checkpoint import NOT_KEPT

                raise EnvironmentFailed(failure.wrong, failure.kept if self.run_dir else NOT_KEPT) from failure
            found = replace(found, compile_seconds=compile_seconds + found.compile_seconds)
            return found if self.run_dir else replace(found, kept=MORE if found.ended == "memory" else "")

    def _place_for_spark(self, until_done: ExitStack) -> tuple[Path | None, str]:
        """The directory in which Spark may resume the run; if there is none, Spark's requirement, where known."""
        if not _may_have_java():
            return None, ""
        if not is_installed("pyspark"):
            return None, f"Spark could continue; {how_to_install('pyspark')}"
        from spec.checking.spark.allotment import minimum

        smallest = minimum(self.workers or 1)
        if smallest > Budget(self.memory).size:
            return None, f"Spark needs at least --memory {written(smallest)} to continue"
        if self.run_dir is not None:
            return self.run_dir, ""
        try:
            folder = tempfile.TemporaryDirectory(prefix="kafkaspec-", ignore_cleanup_errors=True)
        except OSError:  # no temporary directory can be made, so the run ends with its memory
            return None, ""
        return Path(until_done.enter_context(folder)) / "run", ""


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
