"""Compiling: load the kernels for states of so many words, or else compile them, reporting progress and time.

numba keeps compiled code on disk, so each number of words is compiled once per machine. It takes several seconds, in
a separate process: Ctrl-C works meanwhile, and exploration in plain Python (`spec.checking.first_tier`) has the
interpreter for itself. The process is stopped when nothing waits for it any more.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import get_ident
from typing import Final, Literal, NamedTuple

from numba.core import event

from spec.checking.exploration import OnProgress, Statistics
from spec.checking.local.representing import NO_IMAGES, NO_RELATIONS, Orbits
from spec.checking.local.seeking import Seeker
from spec.checking.local.tables import DecisionTables
from spec.checking.local.visited import Visited
from spec.checking.local.worker_pool import WorkerPool
from spec.checking.model import TYPE_OK, Model
from spec.checking.symmetry.group import sorts_in
from spec.checking.symmetry.reduction import is_listed
from spec.language import Specification, State, Total, action, constant, integers, mapping, variable


class Kernels(NamedTuple):
    """What the kernels of a search are compiled for."""

    words: int
    """The words of a state."""
    orbits: Literal["none", "listed", "related"] = "none"
    """Whether there is symmetry, and whether its permutations are listed: see `representing.Orbits`."""


Load = Callable[[Kernels], None]
"""Loads kernels by calling each of them on nothing; missing ones are then compiled. It must be a function of a
module, since another process imports it."""

USUAL: Final = "about 10 seconds"
"""How long it takes: 9 seconds for the first number of words, 4 for each further one, where nothing else runs."""

TICK: Final = 0.1
"""Seconds between two checks of the compiling process."""


class WideState(State):
    """The state of `Wide`."""

    digit: Total[int, int] = variable(
        "All bits of all words.", of=lambda self: mapping(range(8 * self.words), integers(0, 255))
    )


class Wide(Specification[WideState]):
    """States of so many words, with a trivial action."""

    words = constant(1, "The number of words of a state.", at_least=1)

    @action
    def clear(self, s: WideState) -> None:
        """Nothing changes."""
        s.digit[0] = 0


def kernels_for(model: Model, *, symmetry: bool) -> Kernels:
    """The kernels of a search through a model."""
    words = model.layout.words
    if not symmetry:
        return Kernels(words)
    return Kernels(words, "listed" if is_listed(sorts_in(model)) else "related")


def load(kernels: Kernels) -> None:
    """Compile or load the code of the local engine."""
    words = kernels.words
    model = Model(Wide(words=words))
    tables = DecisionTables(model, model.numbers([TYPE_OK]))
    if kernels.orbits == "listed":
        tables.orbits = Orbits.listed(words, NO_IMAGES)
    elif kernels.orbits == "related":
        tables.orbits = Orbits.related(words, NO_RELATIONS)
    with ThreadPoolExecutor(1) as threads:
        pool = WorkerPool(tables, Visited(words, memory=0), 1, threads)
        pool.load()
        Seeker(tables, pool.workers[0].scratch).load()


def compiled(load: Load, kernels: Kernels, tell: Callable[[str], None]) -> float:
    """Load kernels, compiling them if necessary; returns the seconds of compiling, 0 if there was nothing to compile.

    Args:
        load: selects the kernels.
        kernels: what they are compiled for.
        tell: called repeatedly meanwhile with the current work.
    """
    if is_compiled(load, kernels):
        return 0.0
    with Compilation(load, kernels) as compilation:
        while not compilation.done(within=TICK):
            tell(compilation.doing)
        load(kernels)  # compiles what is still missing: some systems cannot start a process
        return compilation.seconds


def is_compiled(load: Load, kernels: Kernels) -> bool:
    """Whether kernels are compiled; if so they are loaded."""
    try:
        with _nothing_compiled():
            load(kernels)
    except _NotCompiled:
        return False
    return True


class Compilation:
    """A compilation of kernels in a separate process, which ends with the `with` statement."""

    def __init__(self, load: Load, kernels: Kernels):
        states = f"states of {kernels.words} word{'s' if kernels.words > 1 else ''}"
        self.doing = f"compiling for {states}, {USUAL}, once on this machine"
        self._began = time.perf_counter()
        wanted = (
            f"import gc; gc.disable(); import sys; sys.path[:] = {sys.path!r}; "  # most of what is made here stays
            f"from {load.__module__} import {load.__name__} as load; "
            f"from {__name__} import Kernels; load({kernels!r})"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", wanted],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C reaches only this process, which then ends the other
        )

    def __enter__(self) -> Compilation:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def seconds(self) -> float:
        """Seconds since it began."""
        return time.perf_counter() - self._began

    def done(self, within: float = 0.0) -> bool:
        """Whether it has ended, successfully or not, or does so within these seconds."""
        try:
            self._process.wait(within)
        except subprocess.TimeoutExpired:
            return False
        return True


def compile_progress(on_progress: OnProgress) -> Callable[[str], None]:
    """A function that reports work before the first state to `on_progress`."""
    return lambda doing: on_progress(Statistics(0, 0, 0, 0, 0.0, doing=doing))


class _NotCompiled(Exception):
    """Something would have to be compiled."""


class _Refusing(event.Listener):  # type: ignore[misc]
    """Rejects compilations that this thread is about to begin."""

    def __init__(self) -> None:
        self.thread = get_ident()

    def on_start(self, event: event.Event) -> None:
        """Raise instead of compiling."""
        if get_ident() == self.thread:
            raise _NotCompiled

    def on_end(self, event: event.Event) -> None:
        """Nothing to do."""


@contextmanager
def _nothing_compiled() -> Iterator[None]:
    """While this is open, code that would have to be compiled raises instead."""
    with event.install_listener("numba:compile", _Refusing()):
        yield
