"""Compiling: load the kernels for states of so many words, or else compile them, reporting progress and time.

numba keeps compiled code on disk, so each number of words is compiled once per machine. It takes several seconds, in
separate processes: Ctrl-C works meanwhile, and exploration in plain Python (`spec.checking.first_tier`) has the
interpreter for itself. A process goes on when nothing waits for it any more.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import get_ident
from typing import Final, Literal, NamedTuple

import numpy as np
from numba.core import event

from spec.checking.exploration import OnProgress, Statistics
from spec.checking.local.arrays import PARTITIONS, Outbox, Scratch
from spec.checking.local.kernel_cache import alone
from spec.checking.local.learning_budget import LearningBudget
from spec.checking.local.representing import NO_IMAGES, NO_RELATIONS, Orbits
from spec.checking.local.seeking import Seeker
from spec.checking.local.storing import post
from spec.checking.local.tables import DecisionTables
from spec.checking.local.traversing import clear
from spec.checking.local.visited import Visited
from spec.checking.local.worker_pool import WorkerPool
from spec.checking.model import TYPE_OK, Model
from spec.checking.states.packed_state import BYTES
from spec.checking.symmetry.group import sorts_in
from spec.checking.symmetry.reduction import is_listed
from spec.language import Specification, State, Total, action, constant, integers, mapping, variable

Process = subprocess.Popen[bytes]


class Kernels(NamedTuple):
    """What the kernels of a search are compiled for."""

    words: int
    """The words of a state."""
    orbits: Literal["none", "listed", "related"] = "none"
    """Whether there is symmetry, and whether its permutations are listed: see `representing.Orbits`."""


Load = Callable[[Kernels], None]
"""Loads kernels by calling each of them on nothing; missing ones are then compiled. It must be a function of a
module, since another process imports it."""
USUAL: Final = "about 5 seconds"
"""How long it takes on two cores where nothing else runs, for the first number of words; others take less."""
NICENESS: Final = 5
"""Of a compilation in the background: it gets a third of a core that others want. A search may yet wait for it."""
LONGEST: Final = 600
"""Seconds after which a compiling process ends whatever happens."""
AT_ONCE: Final = 2
"""Processes at once: the first kernel takes as long as all others together."""
TICK: Final = 0.1
"""Seconds between two checks of the compiling processes."""


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
        """Only one step changes something."""
        if s.digit[0] > 0:
            s.digit[0] = 0


def kernels_for(model: Model, *, symmetry: bool) -> Kernels:
    """The kernels of a search through a model."""
    words = model.layout.words
    if not symmetry:
        return Kernels(words)
    return Kernels(words, "listed" if is_listed(sorts_in(model)) else "related")


def load_expanding(kernels: Kernels) -> None:
    """Compile or load the kernel that expands states."""
    with ThreadPoolExecutor(1) as threads:
        WorkerPool(_tables(kernels), Visited(BYTES * kernels.words, memory=0), 1, threads).load()


def load_storing(kernels: Kernels) -> None:
    """Compile or load the kernels that put states into the visited set, and those that prepare tables."""
    visited = Visited(BYTES * kernels.words, memory=0)
    no_words = np.zeros(0, np.uint64)
    nothing = Outbox.of(kernels.words, 0)
    post(visited.shape, no_words, np.zeros(0, np.uint16), 0, nothing)
    visited.insert(0, PARTITIONS, nothing, Scratch.of(kernels.words, 0))
    visited.complete(np.zeros(1, np.int64))
    clear(np.zeros((1, 1), np.uint64), 0, 0, 0)
    tables = _tables(kernels)
    if not tables.too_large:
        tables.learn(0, [0] * (2 * kernels.words + 1))
        tables.survey(np.zeros((0, kernels.words), np.uint64))


def load_seeking(kernels: Kernels) -> None:
    """Compile or load the kernel that finds discoveries, and the paths to them."""
    Seeker(_tables(kernels), LearningBudget(), [Scratch.of(kernels.words, 1)]).load()


EXPLORING: Final[tuple[Load, ...]] = (load_expanding, load_storing)
"""The local engine cannot begin without these. Both take about as long to compile, one on each of two cores."""
LATER: Final[tuple[Load, ...]] = (load_seeking,)
"""It needs these at its first discovery."""


def _tables(kernels: Kernels) -> DecisionTables:
    """Tables for a trivial model."""
    model = Model(Wide(words=kernels.words))
    tables = DecisionTables(model, model.numbers([TYPE_OK]))
    if kernels.orbits == "listed":
        tables.orbits = Orbits.listed(kernels.words, NO_IMAGES)
    elif kernels.orbits == "related":
        tables.orbits = Orbits.related(kernels.words, NO_RELATIONS)
    return tables


def load(loads: Sequence[Load], kernels: Kernels) -> None:
    """Compile or load kernels, in this process."""
    for each in loads:
        each(kernels)


def compile_alone(loads: Sequence[Load], kernels: Kernels) -> None:
    """Compile kernels for all processes; another process that is compiling the same is awaited."""
    for each in loads:
        with alone(f"{each.__module__}.{each.__name__}-{kernels.words}-{kernels.orbits}"):
            each(kernels)


_LOADED: Final[set[tuple[Load, Kernels]]] = set()
"""The kernels that this process has loaded."""


def is_compiled(loads: Sequence[Load], kernels: Kernels) -> bool:
    """Whether kernels are compiled; if so they are loaded, once in this process."""
    wanted = [each for each in loads if (each, kernels) not in _LOADED]
    try:
        with event.install_listener("numba:compile", _Refusing()):
            load(wanted, kernels)
    except _NotCompiled:
        return False
    _LOADED.update((each, kernels) for each in wanted)
    return True


def compiled(
    loads: Sequence[Load], kernels: Kernels, tell: Callable[[str], None], later: Sequence[Load] = ()
) -> float:
    """Load kernels, compiling them if necessary; returns the seconds of compiling, 0 if there was nothing to compile.
    Meanwhile `tell` is called repeatedly with the current work. If anything must be compiled, `later` is compiled in
    the background.
    """
    if is_compiled(loads, kernels):
        return 0.0
    with Compilation(loads, kernels, later) as compilation:
        while not compilation.done(within=TICK):
            tell(compilation.doing)
        load(loads, kernels)  # compiles what is still missing: some systems cannot start a process
        return compilation.seconds


class Compilation:
    """A compilation of kernels in other processes, two at once where there are two cores, those first that take
    longest. `later` is compiled after these, and not awaited.

    If the `with` statement ends first, they go on in the background: the next search will need the same kernels.
    """

    def __init__(self, loads: Sequence[Load], kernels: Kernels, later: Sequence[Load] = ()):
        states = f"states of {kernels.words} word{'s' if kernels.words > 1 else ''}"
        self.doing = f"compiling for {states}, {USUAL}, once on this machine"
        self.kernels = kernels
        self._began = time.perf_counter()
        self._waiting, self._awaited, self._later = list(loads), list[Process](), list(later)
        self._background = list[Process]()
        self._start()

    def __enter__(self) -> Compilation:
        return self

    def __exit__(self, *_: object) -> None:
        if left := self._waiting + self._later:
            self._background.append(_process(left, self.kernels))
        for process in self._awaited + self._background:
            if process.poll() is None:  # it goes on, with less of the processor than others
                with suppress(OSError):  # it has just ended
                    os.setpriority(os.PRIO_PROCESS, process.pid, NICENESS)
                _BACKGROUND[:] = [process, *(each for each in _BACKGROUND if each.poll() is None)]

    @property
    def seconds(self) -> float:
        """Seconds since it began."""
        return time.perf_counter() - self._began

    def done(self, within: float = 0.0) -> bool:
        """Whether it has ended, successfully or not, or does so within these seconds."""
        _have_ended(self._awaited, within)
        self._start()
        return not self._waiting and _have_ended(self._awaited, within=0)

    def _start(self) -> None:
        """Start the next processes."""
        free = min(AT_ONCE, len(os.sched_getaffinity(0))) - sum(
            each.poll() is None for each in self._awaited + self._background
        )
        for _ in range(free):
            if self._waiting:
                self._awaited.append(_process([self._waiting.pop(0)], self.kernels))
            elif self._later:
                self._background.append(_process([self._later.pop(0)], self.kernels))


_BACKGROUND: Final[list[Process]] = []
"""The processes for which nothing waits."""


def background_ended(within: float) -> bool:
    """Whether all compilations in the background have ended, or do so within these seconds."""
    return _have_ended(_BACKGROUND, within)


def _have_ended(processes: Sequence[Process], within: float) -> bool:
    until = time.monotonic() + within
    try:
        for process in processes:
            process.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


def _process(loads: Sequence[Load], kernels: Kernels) -> Process:
    """Compile kernels in another process, which holds nothing of this one: no terminal, no pipe, no signal.

    It is not stopped by Ctrl-C, nor by the end of this process; in the worst case by its own alarm.
    """
    wanted = (
        f"import gc, pickle, signal, sys; signal.alarm({LONGEST}); "
        f"gc.disable(); sys.path[:] = {sys.path!r}; "  # nearly all that a compiler makes stays
        f"from {__name__} import compile_alone; "
        f"compile_alone(*pickle.loads({pickle.dumps((loads, kernels))!r}))"
    )
    nothing = subprocess.DEVNULL
    return subprocess.Popen(
        [sys.executable, "-c", wanted], stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
    )


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
