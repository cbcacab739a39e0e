"""CI on a machine without Java and without a browser."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CI = Path(__file__).parents[1] / ".ci" / "run"


@pytest.mark.parametrize("exit_code", [0, 100])
def test_missing_tools_are_installed_or_skipped(exit_code: int, tmp_path: Path) -> None:
    """After a failed installation, the other packages are still installed and the tests run."""
    for name, ending in (("apt-get", f'test "$1" = update || exit {exit_code}'), ("make", "")):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@" >> "$0-asked"\n{ending}\n')
        (tmp_path / name).chmod(0o755)
    for name in ("bash", "dirname"):
        (tmp_path / name).symlink_to(shutil.which(name) or "")
    run = subprocess.run(["bash", CI], env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    installed = [
        line.split()[-1] for line in (tmp_path / "apt-get-asked").read_text().splitlines() if "install" in line
    ]
    assert installed == ["default-jdk-headless", "chromium"]
    assert (tmp_path / "make-asked").read_text().split() == ["make", "lint", "make", "test"]
    assert ("cannot be installed" in run.stderr) is (exit_code != 0)
