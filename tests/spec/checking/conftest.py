"""Fixtures for the tests of several engines."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """The processes started from now on; they are killed at the end."""
    started = list[subprocess.Popen[bytes]]()

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any):
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr("subprocess.Popen", Noted)
    yield started
    for process in started:
        process.kill()
        process.wait()
