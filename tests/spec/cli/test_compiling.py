"""Code is compiled in advance, and kept for later commands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from spec.checking.local import compiled_walks, compiling, jit
from spec.checking.local.compiling import Kernels, is_compiled
from spec.cli.compiling import compile_kernels
from spec.language.errors import EnvironmentFailed
from tests.spec.checking.local.kernels import KERNEL, kernels

KAFKASPEC = Path(sys.executable).with_name("kafkaspec")


@pytest.mark.long
def test_code_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For each width; a second command says that it is kept."""
    load = kernels(tmp_path, KERNEL, monkeypatch)
    monkeypatch.setattr(compiling, "EXPLORING", (load,))
    monkeypatch.setattr(compiling, "LATER", ())
    monkeypatch.setattr(compiled_walks, "load", load)
    first, second = (CliRunner().invoke(compile_kernels, ["--words", "2, 1"]) for _ in range(2))
    assert first.stdout.splitlines()[0].startswith("states of 1 word: ")
    assert second.stdout.splitlines() == ["states of 1 word: kept", "states of 2 words: kept"]
    assert is_compiled([load], Kernels(2))


@pytest.mark.parametrize("words", ["0", "1,", "1;2", "128", "-1", "two"])
def test_widths_that_no_state_has_are_a_usage_error(words: str) -> None:
    """One line names what is allowed."""
    run = subprocess.run([KAFKASPEC, "compile", "--words", words], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)
    assert f"--words {words}: write numbers from 1 to 127" in run.stderr


def test_code_that_cannot_be_kept_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be compiled in vain."""
    monkeypatch.setattr(compiling, "EXPLORING", (lambda kernels: jit._not_kept(),))
    found = CliRunner().invoke(compile_kernels)
    assert isinstance(found.exception, EnvironmentFailed)
    assert "NUMBA_CACHE_DIR" in str(found.exception)


@pytest.mark.long
def test_a_check_finds_everything_compiled(tmp_path: Path) -> None:
    """In an image, for instance."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([KAFKASPEC, "compile", "--words", "1", "--symmetry"], env=environment, check=True)
    before = sorted(tmp_path.rglob("*.nbc"))
    system = ["replication", "--set", "brokers=2"]
    local = [*system, "--engine", "local"]
    for asked in (["check", *local], ["check", *local, "--symmetry"], ["simulate", *system, "--runs", "9"]):
        subprocess.run([KAFKASPEC, *asked], env=environment, stdout=subprocess.DEVNULL)
    assert sorted(tmp_path.rglob("*.nbc")) == before
