"""What an import draws in, and who may import whom."""

from __future__ import annotations

import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import election
import statemachines

HEAVY = {"hypothesis", "networkx", "numba", "numpy", "pandas", "pyarrow", "pygraphviz", "pyspark"}
"""What takes long to load; whoever needs one of them imports it when it is needed."""

ROOT = Path(__file__).parents[1]
PROGRAMS = Path(sys.executable).parent
PACKAGES = ("election", "statemachines", "spec")


def imported(arguments: Sequence[str | Path], exit_code: int = 0) -> set[str]:
    """The packages, by their top names, that a Python process imports, whatever it forgets of them again."""
    run = subprocess.run([sys.executable, "-X", "importtime", *arguments], capture_output=True, text=True)
    assert run.returncode == exit_code, run.stderr
    lines = [line for line in run.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


def modules_of(package: str, path: Sequence[str]) -> list[str]:
    """A package and all that is in it."""
    return [package, *(module.name for module in pkgutil.walk_packages(path, f"{package}."))]


def test_a_heavy_import_would_be_seen() -> None:
    """The way in which imports are found finds one in a function, too."""
    assert HEAVY & imported(["-c", "def late():\n    import pyarrow\nlate()"])


@pytest.mark.parametrize(
    "modules",
    [
        ["election", "statemachines"],
        modules_of("election", election.__path__),
        modules_of("statemachines", statemachines.__path__),
        ["spec.language", "spec.checking", "spec.systems.controller_election"],
    ],
    ids=["both packages", "all of election", "all of statemachines", "a specification and the checkers"],
)
def test_imports_are_light(modules: list[str]) -> None:
    """Who imports the parts does not wait for what only some of them need."""
    found = imported(["-c", f"import {', '.join(modules)}"])
    assert modules[0].partition(".")[0] in found
    assert not HEAVY & found


@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "check --help",
        "list",
        "elect offline --replicas 1,2 --isr 1,2 --live 2",
        "diagram partition",
        "check controller-election --engine reference --max-depth 2",
        "check controller-election --max-depth 2",
    ],
)
def test_commands_are_light(command: str) -> None:
    """A command loads what it does, and no engine that it does not use."""
    found = imported([PROGRAMS / "kafkaspec", *command.split()], exit_code=20 if "--max-depth" in command else 0)
    assert "click" in found
    assert not HEAVY & found


# Layers. That they are kept is for `make lint` to say; here, that it would.


def lint_imports(directory: Path) -> subprocess.CompletedProcess[str]:
    """What import-linter says of the packages in a directory."""
    command = [str(PROGRAMS / "lint-imports"), "--no-cache", "--no-logo"]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the packages, to plant something in."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


PLANTED = (
    ("election/result.py", "import statemachines"),
    ("election/result.py", "from spec.language import Specification"),
    ("statemachines/table.py", "from spec.language import Specification"),
    ("spec/language/words.py", "from spec.checking.result import Result"),
    ("spec/language/words.py", "import election"),
    ("spec/language/errors.py", "import spec.releases"),
    ("spec/releases.py", "import spec.systems"),
    ("spec/checking/model.py", "import spec.systems"),
    ("spec/checking/model.py", "import spec.loading"),
    ("spec/checking/spark/work.py", "from spec import cli"),
    ("spec/checking/result.py", "import statemachines.table"),
    ("spec/checking/result.py", "from election.result import NO_ELIGIBLE_LEADER"),
    ("spec/testing/walk.py", "import spec.systems.controller_election"),
    ("spec/systems/controller_election.py", "from spec.checking import check"),
    ("spec/progress.py", "import statemachines.znode"),
    ("spec/loading.py", "from spec.catalogue import catalogue"),
)
"""An import that must not be, in each module."""


def test_an_upward_import_is_refused(copied: Path) -> None:
    """Each that must not be breaks a contract, also where it stands in a function."""
    for module, planted in PLANTED:
        with (copied / module).open("a") as file:
            file.write(f"\n\ndef planted() -> None:\n    {planted}\n")
    run = lint_imports(copied)
    assert run.returncode == 1
    told = {
        (source, target)
        for source, target in re.findall(r"^\s*-?\s*([\w.]+) -> ([\w.]+) \(l\.\d+\)", run.stdout, re.MULTILINE)
    }
    for module, planted in PLANTED:
        source = module.removesuffix(".py").replace("/", ".")
        target = planted.removeprefix("from ").removeprefix("import ").partition(" import ")
        wanted = {target[0], f"{target[0]}.{target[2]}"}
        assert any(source == each and at in wanted for each, at in told), f"{source}: {planted}\n{run.stdout}"


def test_a_module_without_a_place_is_refused(copied: Path) -> None:
    """Every module of `spec` is in a layer."""
    (copied / "spec/placeless.py").touch()
    run = lint_imports(copied)
    assert run.returncode == 1
    assert "placeless" in run.stdout, run.stdout + run.stderr
