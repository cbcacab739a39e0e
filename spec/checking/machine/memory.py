"""Memory: how much of the machine this process and its descendants have taken, and how much they may take.

It is counted as the sum of PSS, the proportional set size, in which a page shared by several processes is divided
among them: the memory that would be free if all of them ended. A budget is a promise about that sum.
"""

from __future__ import annotations

import os
import re
import resource
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import psutil

from spec.language.errors import UsageError

MB: Final = 1 << 20
LIBRARIES: Final = 640 * MB
"""Address space, mostly unused: for numpy, LLVM and Arrow, and the first states."""
COMPILING: Final = 320 * MB
"""Bytes taken by two processes that compile the local engine's kernels, once on a machine."""
PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class OutOfMemory(Exception):
    """More memory would be taken than the budget allows."""


class Budget:
    """The memory that this process may take, in bytes, including processes that it starts, if they keep to their
    quotas; by default the memory taken already, and half of the machine's remaining memory. UsageError if the machine
    does not have as much.
    """

    def __init__(self, size: int | None = None):
        there_is = total()
        if size is not None and size > there_is:
            raise UsageError(
                f"--memory {written(size)}: the machine has only {written(there_is)}; leave some for others"
            )
        self.asked = size is not None
        """Whether this size was given; if not, it is the default."""
        self.size = size if size is not None else own() + _half(there_is - own())

    @property
    def left(self) -> int:
        """Bytes that may still be taken; negative if too many are taken."""
        return self.size - own()

    def require(self, needed: int, engine: str) -> None:
        """Require that so many more bytes may be taken; UsageError if they may not; the message names a sufficient
        budget.
        """
        if self.left < needed:
            raise self.too_little(rounded_up(self.size - self.left + needed), engine)

    def too_little(self, least: int, engine: str) -> UsageError:
        """The error for a budget below the engine's minimum."""
        name = "--memory" if self.asked else "memory:"
        return UsageError(
            f"{name} {written(self.size)}: {engine} cannot explore this with less than {written(least)}"
        )


def rounded_up(size: int) -> int:
    """Rounded up to a number that a person might write, with a margin: a process never takes quite the same twice."""
    step = 32 * MB
    return -(-size * 17 // (16 * step)) * step


def _half(left: int) -> int:
    """The default share of so many bytes; smaller for address space, which is reserved in advance."""
    addressable = address_space()
    return max(0, left // 2 if addressable is None else min(left // 2, addressable // 3))


def room_to_grow(table: dict[Any, Any], keys: int) -> int:
    """Extra bytes that a dictionary takes while it grows by this many keys.

    Either none, or another table of twice the size: CPython fills a table up to two thirds of a power of two, then
    copies it. With twenty million keys that is more than a gigabyte at once. [Objects/dictobject.c]
    """
    slots = 8
    while slots * 2 // 3 < len(table):
        slots *= 2
    return 2 * sys.getsizeof(table) if slots * 2 // 3 < len(table) + keys else 0


# Memory in use.


def own() -> int:
    """Bytes of this process in memory: its PSS, but with shared pages counted in full. Takes microseconds."""
    rss: int = _process(os.getpid()).memory_info().rss
    return rss


def private() -> int:
    """Bytes of this process that are not backed by a file: a forked process shares fewer and fewer of these."""
    taken = _process(os.getpid()).memory_info()
    found: int = taken.rss - getattr(taken, "shared", 0)
    return found


@cache
def _process(number: int) -> psutil.Process:
    """The process with this number, which differs in a forked process."""
    return psutil.Process(number)


def of_tree(root: int | None = None) -> int:
    """Bytes that a process, by default this one, and its descendants have taken: the sum of PSS.

    Adding up the pages of a process takes the machine some 15 ms per gigabyte.
    """
    try:
        first = psutil.Process(root)
        return sum(map(of_process, (first, *first.children(recursive=True))))
    except psutil.NoSuchProcess:
        return 0


class MemoryGauge:
    """Measures the memory taken by this process and its descendants, as often as that is cheap."""

    SHARE: Final = 50
    """The reciprocal of the share of time that may be spent on measuring."""

    def __init__(self) -> None:
        self._last, self._again = 0, 0.0

    def now(self) -> int:
        """Bytes, see `of_tree`."""
        began = time.monotonic()
        if began >= self._again:
            self._last = of_tree()
            ended = time.monotonic()
            self._again = ended + self.SHARE * (ended - began)
        return self._last


def of_process(process: psutil.Process) -> int:
    """The PSS of a process, or its private memory where there is no PSS; 0 if the process no longer exists."""
    try:
        taken = process.memory_full_info()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0
    found: int = getattr(taken, "pss", taken.uss)
    return found


# Available memory.


def total() -> int:
    """Bytes that this process and its descendants can have: those of the machine, or of its control group."""
    machine = PAGE * os.sysconf("SC_PHYS_PAGES")
    return min([machine, *confined(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))])


def confined(membership: Path, mounted: Path) -> Iterator[int]:
    """The limits of the control groups that a process is in, of either version, including enclosing groups."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if not controllers:
            home, name = mounted, "memory.max"
        elif "memory" in controllers.split(","):
            home, name = mounted / "memory", "memory.limit_in_bytes"
        else:
            continue
        # Inside a container the path may be the host's, and the limit is then at the top.
        inner = home / group.lstrip("/")
        for place in (inner, *inner.parents):
            limit = _number(place / name)
            if limit is not None:
                yield limit
            if place == home:
                break


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # not there; or `max`
        return None


def address_space() -> int | None:
    """Bytes that this process may still reserve, where that is limited (`ulimit -v`, `ulimit -d`)."""
    left = []
    try:
        with open("/proc/self/statm", "rb") as file:
            pages = file.read().split()
    except OSError:
        return None
    for limit, taken in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
        most, _ = resource.getrlimit(limit)
        if most != resource.RLIM_INFINITY:
            left.append(most - int(taken) * PAGE)
    return min(left, default=None)


def require_address_space() -> None:
    """Require the address space that compiled code needs: without it, its libraries fail without a message;
    UsageError if there is too little address space.
    """
    left = address_space()
    if left is not None and left < LIBRARIES:
        raise UsageError(
            f"`ulimit -v` leaves {written(max(0, left))} of address space, and compiled code needs"
            f" {written(LIBRARIES)} at least; try --engine reference"
        )


# Sizes in a person's notation.


def size_of(text: str) -> int | None:
    """Bytes, in a person's notation; None if the text is not a size.

    >>> size_of("512M"), size_of("8g"), size_of("4096"), size_of("much")
    (536870912, 8589934592, 4096, None)
    """
    parts = re.fullmatch(r"([0-9]+)([KMGT]?)", text, re.IGNORECASE | re.ASCII)
    return int(parts[1]) << 10 * " KMGT".index(parts[2].upper() or " ") if parts else None


def written(size: int) -> str:
    """A number of bytes in a person's notation, rounded down where that would be long.

    >>> written(536870912), written(1 << 40), written(1500 << 20), written(25_276_235_776), written(1)
    ('512M', '1T', '1500M', '24105M', '1')
    """
    for power, unit in ((40, "T"), (30, "G"), (20, "M"), (10, "K")):
        if size >> power and (not size % (1 << power) or (power < 30 and size >= 10 << power)):
            return f"{size >> power}{unit}"
    return str(size)
