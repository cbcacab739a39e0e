"""What is installed is what is tested: the wheel holds the three packages whole, and works far from the checkout."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.tutorial import TUTORIAL, Reader

ROOT = Path(__file__).parents[1]
PACKAGES = ("election", "statemachines", "spec")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy, so that the checkout stays as it is and nothing left over gets in."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", PROJECT["readme"], *PROJECT["license-files"]):
        shutil.copy(ROOT / name, source)
    for name in (*PACKAGES, "tests", "docs"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    dist = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(dist), str(source)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    (built,) = dist.iterdir()
    return built


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands of a fresh environment are, in which the wheel is installed.

    Its dependencies are those installed here: a line in a `.pth` file adds a directory to the path, but runs none
    of the `.pth` files in it, so an editable installation of this checkout is not among them.
    """
    home = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    binaries = home / "bin"
    command = [sys.executable, "-m", "pip", "--python", str(binaries / "python"), "--disable-pip-version-check"]
    subprocess.run([*command, "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    (site,) = home.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return binaries


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, in an environment that points to no checkout."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path


def test_a_version_and_its_day_are_the_same_wherever_they_stand() -> None:
    """In the package, the newest released part of the changelog, and the citation."""
    cited, changes = ((ROOT / name).read_text() for name in ("CITATION.cff", "CHANGELOG.md"))
    citation = dict(re.findall(r'^(version|date-released): "?([^"\n]+)"?$', cited, re.M))
    released = re.findall(r"^## ([\d.]+) - ([\d-]+)$", changes, re.M)
    assert released[0] == (PROJECT["version"], citation["date-released"])
    assert citation["version"] == PROJECT["version"]


def test_the_wheel_holds_the_packages(wheel: Path) -> None:
    """Every module and every data file, with the marker that they are typed; no tests, no documents."""
    files = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.suffix in {".py", ".toml", ".html", ".css", ".js", ".java", ".txt"} or path.name == "py.typed"
        if "__pycache__" not in path.parts
    }
    assert {f"{package}/py.typed" for package in PACKAGES} <= files
    assert {"spec/atlas/instances.toml", "spec/kafka/locks/3.9.1.txt"} <= files
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
        (metadata,) = {name for name in held if name.endswith(".dist-info/METADATA")}
        information = metadata.removesuffix("METADATA")
        entry_points = archive.read(f"{information}entry_points.txt").decode()
    assert {name for name in held if not name.startswith(information)} == files
    assert "kafkaspec = spec.cli.main:main" in entry_points
    assert f"{information}licenses/LICENSE" in held


def test_the_installed_packages_are_the_wheels(programs: Path, elsewhere: Path) -> None:
    """The fresh environment does not see this checkout."""
    program = f"import sys, {', '.join(PACKAGES)}; print(*sys.path, *({', '.join(PACKAGES)}), sep='\\n')"
    python = str(programs / "python")
    run = subprocess.run([python, "-c", program], cwd=elsewhere, capture_output=True, text=True, check=True)
    *path, first, second, third = run.stdout.splitlines()
    assert str(ROOT) not in path
    assert all(str(programs.parent) in found for found in (first, second, third))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--version"], PROJECT["version"]),
        (["list"], "controller-election"),
        (["elect", "offline", "--replicas", "1,2", "--isr", "2", "--live", "2"], "leader 2"),
        (["diagram", "replica", "--format", "svg"], "<svg"),
        (
            ["check", "controller-election", "--set", "brokers=1", "--set", "elections=1", "--engine", "reference"],
            "controller-election: holds",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_the_installed_command_works(programs: Path, elsewhere: Path, arguments: list[str], said: str) -> None:
    """Everything that it needs came along."""
    command = [str(programs / "kafkaspec"), *arguments]
    run = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True)
    progress = all(line.startswith("depth ") for line in run.stderr.splitlines())  # on a slow machine
    assert (run.returncode, progress) == (0, True), run.stderr
    assert said in run.stdout


@pytest.mark.long
def test_the_tutorial_can_be_followed_anywhere(programs: Path, elsewhere: Path) -> None:
    """A reader who installed the wheel sees what the tutorial prints, once the kernels are compiled there, too."""
    Reader(elsewhere, programs).follow(TUTORIAL)
