"""The first tier of tiered execution: the reference engine explores in plain Python until compiled code is worth it.

The size of a search is unknown when it begins. A small one ends here, before compiled code is even loaded. Otherwise
the kernels are loaded and the local engine, the second tier, begins anew. If the kernels are not yet compiled, other
processes compile them while the reference engine continues: it may reach the verdict first.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Final

from spec.checking.exploration import Exploration, OnProgress, Options, Statistics
from spec.checking.machine.memory import COMPILING, MB, Budget
from spec.checking.model import Model
from spec.checking.reference import ReferenceEngine

if TYPE_CHECKING:
    from spec.checking.local.compiling import Compilation

ALONE: Final = 0.2
"""Seconds of work before the kernels are loaded, which takes more than half a second: some thousand states."""
COLD: Final = 0.5
"""Seconds of work before they are compiled, if necessary: nothing is compiled for a small system."""
MOST: Final = 50_000
"""The most states kept here during a compilation: beyond that, exploring would take a core from the compiler."""
COMPILED: Final = 224 * MB
"""Bytes of memory; compiled code can hardly explore with less."""
TICK: Final = 0.1
"""Once `MOST` states are reached: seconds between two checks of the compiling process."""


class FirstTier:
    """Explores with the reference engine for as long as that is worth it.

    Args:
        on_progress: called with statistics.
        budget: of memory. If it is too small for compiled code, no other engine takes over.
    """

    def __init__(self, on_progress: OnProgress, budget: Budget):
        self.on_progress, self.budget = on_progress, budget
        self.over = False
        """Whether the second tier must begin anew, now that the kernels are there. If not, the result stands."""
        self.compile_seconds = 0.0
        """Seconds of compiling; 0 unless the search waited for it."""
        self._loaded = False
        self._loading = 0.0
        """Seconds spent loading, not exploring."""
        self._loaded_after = inf
        """Seconds of exploring before the kernels were loaded."""
        self._began = 0.0
        """The thread's clock when exploring began, without the time for loading. The thresholds use this clock: on
        a busy machine other engines are no faster."""
        self._compilation: Compilation | None = None
        self._alone = 0.0
        """Seconds of exploring before compiling began."""
        self._until_done = ExitStack()

    def explore(self, model: Model, options: Options) -> Exploration:
        """The findings of the reference engine. If it was stopped, statistics are those of the last whole level,
        except for the seconds: those of exploring until it was stopped, or began to wait for a compilation.
        """
        self._model, self._symmetry, self._began = model, options.symmetry, time.thread_time()
        with self._until_done:
            found = ReferenceEngine(self.budget.size).explore(model, options, self._look)
            seconds = self._alone if self.over else found.statistics.seconds - self._loading
            levels = (each._replace(seconds=self._exploring(each.seconds)) for each in found.levels)
            return replace(found, statistics=found.statistics._replace(seconds=seconds), levels=tuple(levels))

    def _exploring(self, seconds: float) -> float:
        """The share of these seconds that was spent exploring."""
        return seconds - self._loading if seconds > self._loaded_after else seconds

    def _look(self, statistics: Statistics) -> None:
        """Report progress, and decide whether to load, to compile or to stop."""
        statistics = statistics._replace(seconds=statistics.seconds - self._loading)
        compilation = self._compilation
        if compilation is not None:
            statistics = statistics._replace(doing=f"{compilation.doing}; exploring meanwhile")
            while statistics.distinct >= MOST and not compilation.done(within=TICK):
                self.on_progress(statistics)
            if compilation.done():
                self.compile_seconds = compilation.seconds
                self._stop()
        elif not self._loaded and self._worked >= ALONE and self.budget.size >= COMPILED:
            self._load(statistics.seconds)
        elif self._loaded and self._worked >= COLD and self.budget.size >= COMPILED + COMPILING:
            self._compile(statistics.seconds)
        self.on_progress(statistics)

    @property
    def _worked(self) -> float:
        return time.thread_time() - self._began

    def _load(self, seconds: float) -> None:
        began, worked = time.perf_counter(), self._worked
        with _nothing_collected():
            from spec.checking.local.compiling import EXPLORING, is_compiled, kernels_for

            self._loaded = True
            self._kernels = kernels_for(self._model, symmetry=self._symmetry)
            if is_compiled(EXPLORING, self._kernels):
                self._alone = seconds
                self._stop()
        self._began += self._worked - worked
        self._loading = time.perf_counter() - began
        self._loaded_after = seconds

    def _compile(self, seconds: float) -> None:
        from spec.checking.local.compiling import EXPLORING, LATER, Compilation

        self._compilation = self._until_done.enter_context(Compilation(EXPLORING, self._kernels, LATER))
        self._alone = seconds

    def _stop(self) -> None:
        self.over = True
        raise _Enough


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Disable garbage collection: what is loaded stays, and scanning it repeatedly costs a quarter of the time."""
    if gc.isenabled():
        gc.disable()
        try:
            yield
        finally:
            if not gc.get_freeze_count():  # objects that a program has frozen must stay frozen
                gc.freeze()  # freeze and unfreeze make all objects old without scanning them
                gc.unfreeze()
            gc.enable()
    else:
        yield


class _Enough(KeyboardInterrupt):
    """Stops the reference engine, as an interrupt does."""
