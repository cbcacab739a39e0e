"""The order of a set of strings is the same in every process of the command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = str(Path(sys.executable).with_name("kafkaspec"))
TO_STDERR = "import sys; print(next(iter({'a', 'b', 'c', 'd', 'e', 'f'})), sys.argv[1:], file=sys.stderr)\n"
FIRST = f"""
{TO_STDERR}
from spec.language import State, Specification, action, integers, variable

class Counts(State):
    x: int = variable("It.", of=lambda self: integers(0, 25))

class First(Specification[Counts]):
    @action
    def take(self, s):
        s.x = ord(next(iter({{"a", "b", "c", "d", "e", "f"}}))) - ord("a")
"""
SEEDS = ("random", "1", "2")


def run(*words: str, seed: str, place: Path, typed: str = "") -> subprocess.CompletedProcess[str]:
    """Run a process with this hash seed in its environment."""
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.run(words, cwd=place, env=environment, input=typed, capture_output=True, text=True, check=False)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a specification that depends on the order of a set of strings."""
    (tmp_path / "first.py").write_text(FIRST, encoding="utf-8")
    return tmp_path


def test_set_order_is_equal_in_every_process(place: Path) -> None:
    """One process replays the trace of another, and neither uses the environment's seed."""
    show = [PROGRAM, "check", "first.py", "--show", "take", "--trace", "first.itf.json"]
    assert run(*show, seed=SEEDS[0], place=place).returncode == 0
    replay = [PROGRAM, "replay", "first.itf.json", "--spec", "first.py"]
    followed = [run(*replay, seed=seed, place=place) for seed in SEEDS[1:]]
    assert {(each.returncode, each.stdout) for each in followed} == {(0, followed[0].stdout)}
    assert len({each.stderr.split()[0] for each in followed}) == 1


@pytest.mark.long
@pytest.mark.parametrize("form", [["-m", "spec"], ["-c", "from spec.cli.main import main; main()"]])
def test_each_form_of_the_command_has_the_same_seed(form: list[str], place: Path) -> None:
    """The new process receives all arguments, and its exit code is returned."""
    words = [sys.executable, *form, "check", "first.py", "--show", "x"]
    done = [run(*words, seed=seed, place=place) for seed in SEEDS[1:]]
    assert {each.returncode for each in done} == {2}
    assert len({each.stderr for each in done}) == 1
    assert "['check', 'first.py', '--show', 'x']" in done[0].stderr


def test_a_program_from_stdin_is_read_once(place: Path) -> None:
    """A program from stdin cannot be started again, so it continues without the fixed seed."""
    program = f"{TO_STDERR}import sys; sys.argv += ['list']\nfrom spec.cli.main import main; main()"
    done = run(sys.executable, "-", seed="1", place=place, typed=program)
    assert done.returncode == 0
    assert "\ncontroller " in done.stdout
    assert len(done.stderr.splitlines()) == 1


def test_isolated_python_is_not_restarted(place: Path) -> None:
    """It ignores the environment, so it would restart endlessly."""
    done = run(sys.executable, "-E", PROGRAM, "list", seed="1", place=place)
    assert done.returncode == 0
    assert "\ncontroller " in done.stdout
