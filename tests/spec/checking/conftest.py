"""Fixtures for the tests of several engines."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes started from now on."""
    started = list[subprocess.Popen[bytes]]()

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any):
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr("subprocess.Popen", Noted)
    return started
