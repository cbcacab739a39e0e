"""An interrupt takes effect even where Python drops the exception."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import pytest

from spec.cli.command import reraising_dropped_interrupts

ENOUGH = 30
"""Seconds in which an interrupt has surely arrived."""


@pytest.fixture(autouse=True)
def handled() -> Iterator[None]:
    handler = signal.signal(signal.SIGUSR1, signal.default_int_handler)
    yield
    signal.signal(signal.SIGUSR1, handler)


def interrupt(*_: Any) -> None:
    signal.raise_signal(signal.SIGUSR1)


class Finalized:
    __del__ = interrupt


def in_a_finalizer() -> None:
    Finalized()


def in_the_callback_of_a_weak_reference() -> None:
    class Referred: ...

    referred = Referred()
    reference = weakref.ref(referred, interrupt)
    del referred
    assert reference() is None


def in_a_callback_of_the_garbage_collector() -> None:
    gc.callbacks.append(interrupt)
    try:
        gc.collect()
    finally:
        gc.callbacks.remove(interrupt)


@pytest.mark.parametrize(
    "dropped", [in_a_finalizer, in_the_callback_of_a_weak_reference, in_a_callback_of_the_garbage_collector]
)
def test_an_interrupt_dropped_by_python_is_raised_again(dropped: Callable[[], None]) -> None:
    """First the exception is lost; then it is raised in the code that runs next."""
    with reraising_dropped_interrupts(signal.SIGUSR1):
        dropped()
        with pytest.raises(KeyboardInterrupt):
            Event().wait(ENOUGH)


def test_other_unraisable_exceptions_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the earlier hook, which is restored afterwards."""

    class Failing:
        def __del__(self) -> None:
            raise LookupError

    printed: list[type[BaseException]] = []

    def hook(dropped: Any) -> None:
        printed.append(dropped.exc_type)

    monkeypatch.setattr(sys, "unraisablehook", hook)
    with reraising_dropped_interrupts(signal.SIGUSR1):
        Failing()
    assert printed == [LookupError]
    assert sys.unraisablehook is hook


def test_the_command_is_interrupted_in_a_finalizer() -> None:
    """It says so, and exits 130; without the hook it would wait to the end."""
    program = f"""
import signal
from threading import Event
import spec.cli.command
import spec.cli.main

class Finalized:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)

def wait():
    Finalized()
    Event().wait({ENOUGH})

spec.cli.command._invoke = wait
spec.cli.main.main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Error: interrupted; nothing was kept\n")
