"""The first tier of tiered execution: the reference engine explores in plain Python until compiled code is worth it.

The size of a search is unknown when it begins. A small one ends here, before compiled code is even loaded. Otherwise
the kernels are loaded, and the local engine, the second tier, continues after the last complete level. If the kernels
are not yet compiled, other processes compile them while the reference engine goes on: it may reach the verdict first.

Compiled code is not worth it for every large search: where levels are tiny the work of starting a level dominates,
and where nearly every state takes paths of its own (`local.probe`) learning costs more than plain evaluation. The
reference engine goes on with such a search, until memory matters, and asks again whenever the search has lasted twice
as long.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from spec.checking.exploration import Exploration, OnProgress, Options, Statistics
from spec.checking.machine.memory import COMPILING, MB, Budget
from spec.checking.model import Model
from spec.checking.reference import ReferenceEngine
from spec.checking.states.limits import too_large

if TYPE_CHECKING:
    from spec.checking.local.begun import Begun
    from spec.checking.local.compiling import Compilation
    from spec.checking.local.probe import Probe

ALONE: Final = 0.2
"""Seconds of work before the kernels are loaded, which takes more than half a second: some thousand states."""
COLD: Final = 0.5
"""Seconds of work before they are compiled, if necessary: nothing is compiled for a small system."""
MOST: Final = 50_000
"""The most states kept here during a compilation: beyond that, exploring would take a core from the compiler."""
COMPILED: Final = 224 * MB
"""Bytes of memory; compiled code can hardly explore with less."""
LEVEL: Final = 0.001
"""Seconds that a level must take on average; the local engine begins and ends a level in about that time."""
PROBED: Final = 0.15
"""Seconds for such a trial; later, a tenth of the seconds of work."""
LONG: Final = 2.0
"""Seconds of work; to an author whose search took longer it matters why compiled code would not have been faster."""
NEWEST: Final = 4096
"""The newest states, some of which are learned by way of trial."""
KEPT: Final = 500_000
"""States after which the local engine continues in any case: it stores a state in a tenth of the memory or less."""
WEIGHED: Final = 1_000
"""States between two looks at the memory."""
TICK: Final = 0.1
"""Once `MOST` states are reached: seconds between two checks of the compiling process."""


class Progress(NamedTuple):
    """How far an exploration had come."""

    worked: float
    """Seconds of work."""
    depth: int


class FirstTier:
    """Explores with the reference engine for as long as that is worth it. If the budget of memory is too small for
    compiled code, no other engine takes over.
    """

    def __init__(self, on_progress: OnProgress, budget: Budget):
        self.on_progress, self.budget = on_progress, budget
        self.begun: Begun | None = None
        """What the second tier continues, now that the kernels are there. Without it the result stands."""
        self.compile_seconds = 0.0
        """Seconds of compiling; 0 unless the search waited for it."""
        self._loaded = self._over = False
        self._look_again, self._before = ALONE, Progress(0.0, 0)
        """Seconds of work until it is next decided whether to load the kernels, and the progress at the last time."""
        self._weigh_at = 0
        """The number of states at which the memory is looked at again."""
        self._probe: Probe | None = None
        self._loading = 0.0
        """Seconds spent loading, not exploring."""
        self._loaded_after = inf
        """Seconds of exploring before the kernels were loaded."""
        self._explored = 0.0
        """Seconds of exploring so far, without those of loading the kernels and waiting for them."""
        self._began = 0.0
        """The thread's clock when exploring began, without the time for loading. The thresholds use this clock: on
        a busy machine other engines are no faster."""
        self._compilation: Compilation | None = None
        self._until_done = ExitStack()

    def explore(self, model: Model, options: Options) -> Exploration:
        """The findings of the reference engine. If it was stopped, statistics are those of the last whole level,
        except for the seconds, which are all that it explored.
        """
        self._model, self._options, self._began = model, options, time.thread_time()
        with self._until_done:
            engine = ReferenceEngine(self.budget.size)
            found = engine.explore(model, options, partial(self._look, engine))
            seconds = self._explored if self._over else found.statistics.seconds - self._loading
            levels = tuple(each._replace(seconds=self._exploring(each.seconds)) for each in found.levels)
            found = replace(found, statistics=found.statistics._replace(seconds=seconds), levels=levels)
            if self._over:
                from spec.checking.local.begun import Begun

                self.begun = Begun.of(model, engine.so_far._replace(found=found))
            return replace(found, advice=self._advice(engine))

    def _advice(self, engine: ReferenceEngine) -> str:
        """Why compiled code would not have been faster, for a search that took long and ended here."""
        if self._probe is None or self._loaded or self._worked < LONG:
            return ""
        return self._probe.advice(next(reversed(engine.so_far.reached)))

    def _exploring(self, seconds: float) -> float:
        """The share of these seconds that was spent exploring."""
        return seconds - self._loading if seconds > self._loaded_after else seconds

    def _look(self, engine: ReferenceEngine, statistics: Statistics) -> None:
        """Report progress, and decide whether to load, to compile or to stop."""
        if not statistics.depth:  # initial states are being made, and no level is there to continue from
            self.on_progress(statistics)
            return
        statistics = statistics._replace(seconds=statistics.seconds - self._loading)
        compilation, self._explored = self._compilation, statistics.seconds
        if compilation is not None:
            statistics = statistics._replace(doing=f"{compilation.doing}; exploring meanwhile")
            while statistics.distinct >= MOST and not compilation.done(within=TICK):
                self.on_progress(statistics)
            if compilation.done():
                self.compile_seconds = compilation.seconds
                self._stop()
        elif self._loaded and self._worked >= COLD and self.budget.size >= COMPILED + COMPILING:
            from spec.checking.local.compiling import EXPLORING, LATER, Compilation

            self._compilation = self._until_done.enter_context(Compilation(EXPLORING, self._kernels, LATER))
        elif not self._loaded and self.budget.size >= COMPILED and self._is_over(engine, statistics):
            self._load()
        self.on_progress(statistics)

    def _is_over(self, engine: ReferenceEngine, statistics: Statistics) -> bool:
        """Whether compiled code is needed, or expected to be faster."""
        if statistics.distinct >= KEPT:
            return True
        if statistics.distinct >= self._weigh_at:  # not in each of many small levels: it takes microseconds
            self._weigh_at = statistics.distinct + WEIGHED
            if self.budget.left < self.budget.size // 2:
                return True
        worked, before = self._worked, self._before
        if worked < self._look_again or too_large(self._model):
            return False
        self._before, self._look_again = Progress(worked, statistics.depth), 2 * worked
        if worked - before.worked < LEVEL * (statistics.depth - before.depth):
            return False
        if self._probe is None:
            from spec.checking.local.probe import Probe

            self._probe = Probe(self._model, self._options.properties)
        newest = [*islice(reversed(engine.so_far.reached), NEWEST)]
        return self._probe.pays(newest, max(PROBED, worked / 10), worked)

    @property
    def _worked(self) -> float:
        return time.thread_time() - self._began

    def _load(self) -> None:
        began, worked = time.perf_counter(), self._worked
        with _nothing_collected():
            from spec.checking.local.compiling import EXPLORING, is_compiled, kernels_for

            self._loaded = True
            self._kernels = kernels_for(self._model, symmetry=self._options.symmetry)
            if is_compiled(EXPLORING, self._kernels):
                self._stop()
        self._began += self._worked - worked
        self._loading = time.perf_counter() - began
        self._loaded_after = self._explored

    def _stop(self) -> None:
        self._over = True
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
