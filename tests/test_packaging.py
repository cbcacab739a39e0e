"""The installed packages are the tested ones: the wheel holds the three packages, and works without the checkout.

`make dist` sets DIST, the folder of its wheel and sdist. Then both are installed, with all dependencies, into an
empty environment of each Python that the project supports; a missing Python is skipped by name. Without DIST both are
built here, and the wheel is installed for this Python, with the libraries of this environment.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.tiers import long_unless
from tests.tutorial import TUTORIAL, Reader

ROOT = Path(__file__).parents[1]
PACKAGES = ("election", "statemachines", "spec")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DIST: Final = os.environ.get("DIST")
THIS: Final = f"{sys.version_info.major}.{sys.version_info.minor}"
CLAIMED: Final = [each for line in PROJECT["classifiers"] for each in re.findall(r":: Python :: (3\.\d+)$", line)]
INSTALLED: Final = [(version, kind) for version in CLAIMED for kind in ("whl", "tar.gz")] if DIST else [(THIS, "whl")]
"""The Pythons, and the kinds of distribution."""

TOPICS = """\
Topic: audit   Partition: 0  Leader: 3  Replicas: 3,1    Isr: 3,1
Topic: orders  Partition: 0  Leader: 1  Replicas: 1,2,3  Isr: 1,2,3
Topic: orders  Partition: 1  Leader: 2  Replicas: 2,3,4  Isr: 2,3,4
Topic: orders  Partition: 2  Leader: 3  Replicas: 3,4,1  Isr: 3,4,1
Topic: orders  Partition: 3  Leader: 4  Replicas: 4,1,2  Isr: 4,1,2
"""
LAMP = """\
from spec.language import Specification, State, action, invariant, variable


class Lamps(State):
    lit: bool = variable("Whether it is.")


class Lamp(Specification[Lamps]):
    name = "lamp"

    @action
    def light(self, s):
        s.lit = True

    @invariant
    def dark(self, s):
        return not s.lit
"""


def sources() -> list[str]:
    """Return the project's files: those that git tracks, and new ones in folders; in an unpacked sdist, all.

    A reader of the README leaves files beside the folders.
    """
    if (ROOT / ".git").exists():
        new = (name for name in _listed_by_git("--others", "--exclude-standard") if "/" in name)
        return [name for name in (*_listed_by_git("--cached"), *new) if (ROOT / name).exists()]
    files = (each.relative_to(ROOT) for each in ROOT.rglob("*") if each.is_file() and "__pycache__" not in each.parts)
    return [str(each) for each in files if not each.parts[0].startswith(".")]


def _listed_by_git(*options: str) -> list[str]:
    command = ["git", "ls-files", "-z", *options]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return [name for name in names if name]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy, so that the checkout stays unchanged and leftovers stay out."""
    copy = tmp_path_factory.mktemp("source")
    for name in sources():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    return copy


def build(source: Path, into: Path, *options: str) -> None:
    """Build a folder: the sdist, and the wheel from it; or what the options select."""
    command = [sys.executable, "-m", "build", "--no-isolation", *options, "--outdir", str(into), str(source)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.fixture(scope="module")
def dist(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the wheel and the sdist, without other files."""
    if DIST:
        return Path(DIST)
    made = tmp_path_factory.mktemp("dist")
    build(request.getfixturevalue("source"), made)
    return made


def only(dist: Path, kind: str) -> Path:
    """Return the one file of a kind."""
    (found,) = dist.glob(f"*.{kind}")
    return found


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    """The wheel."""
    return only(dist, "whl")


@cache
def interpreter(version: str) -> str | None:
    """Return the program of this Python, if it exists and runs: a shim in the path may be inactive."""
    if version == THIS:
        return sys.executable
    found = shutil.which(f"python{version}")
    works = found and subprocess.run([found, "-c", "import venv"], capture_output=True).returncode == 0
    return found if works else None


@pytest.fixture(scope="module", params=INSTALLED, ids=lambda it: f"{it[1]} on {it[0]}")
def programs(request: pytest.FixtureRequest, dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the directory of the commands in a fresh environment with the distribution.

    Without DIST, dependencies come from this environment: a line in a `.pth` file adds its directory to the path, but
    does not run the `.pth` files there, so an editable installation of this checkout is excluded.
    """
    version, kind = request.param
    python = interpreter(version)
    if python is None:
        pytest.skip(f"there is no python{version} here")
    home = tmp_path_factory.mktemp("installed")
    subprocess.run([python, "-m", "venv", "--without-pip", home], check=True)
    command = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "--disable-pip-version-check"]
    alone = [] if DIST else ["--no-deps", "--no-index"]
    subprocess.run([*command, "install", "--quiet", *alone, str(only(dist, kind))], check=True)
    if not DIST:
        (site,) = home.glob("lib/python*/site-packages")
        (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    yield home / "bin"
    shutil.rmtree(home)  # with its dependencies it is large


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's own directory, in an environment without the checkout."""
    (tmp_path / "topics.txt").write_text(TOPICS)
    (tmp_path / "lamp.py").write_text(LAMP)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path


def test_version_and_date_agree_everywhere() -> None:
    """In the package, the newest released part of the changelog, and the citation."""
    cited, changes = ((ROOT / name).read_text() for name in ("CITATION.cff", "CHANGELOG.md"))
    citation = dict(re.findall(r'^(version|date-released): "?([^"\n]+)"?$', cited, re.M))
    released = re.findall(r"^## ([\d.]+) - ([\d-]+)$", changes, re.M)
    assert released[0] == (PROJECT["version"], citation["date-released"])
    assert citation["version"] == PROJECT["version"]


def test_the_wheel_holds_the_packages(wheel: Path) -> None:
    """Every module and data file, and the marker of typed packages; no tests, no documents."""
    files = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.suffix in {".py", ".toml", ".html", ".css", ".js", ".java", ".groovy", ".txt", ".diff"}
        or path.name == "py.typed"
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


def test_the_sdist_holds_the_project(dist: Path) -> None:
    """All files that tests, documents and make need, and no others except setuptools' own."""
    with tarfile.open(only(dist, "tar.gz")) as archive:
        held = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    added = {name for name in held if name in {"PKG-INFO", "setup.cfg"} or name.startswith("kafkaspec.egg-info/")}
    assert held - added == {name for name in sources() if not name.startswith(".")} - added


@pytest.mark.long
def test_the_sdist_builds_the_wheel_of_the_checkout(source: Path, wheel: Path, tmp_path: Path) -> None:
    """Byte by byte the same files."""
    build(source, tmp_path, "--wheel")
    with zipfile.ZipFile(wheel) as of_sdist, zipfile.ZipFile(only(tmp_path, "whl")) as direct:
        assert {name: of_sdist.read(name) for name in of_sdist.namelist()} == {
            name: direct.read(name) for name in direct.namelist()
        }


def test_the_installed_packages_are_the_wheels(programs: Path, elsewhere: Path) -> None:
    """The fresh environment does not see this checkout."""
    program = f"import sys, {', '.join(PACKAGES)}; print(*sys.path, *({', '.join(PACKAGES)}), sep='\\n')"
    python = str(programs / "python")
    run = subprocess.run([python, "-c", program], cwd=elsewhere, capture_output=True, text=True, check=True)
    *path, first, second, third = run.stdout.splitlines()
    assert str(ROOT) not in path
    assert all(str(programs.parent) in found for found in (first, second, third))


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    long_unless(
        lambda case: case[0][0] in {"list", "check"},
        [
            (["--version"], 0, PROJECT["version"]),
            (["list"], 0, "controller-election"),
            (["elect", "offline", "--replicas", "1,2", "--isr", "2", "--live", "2"], 0, "leader 2"),
            (["diagram", "replica", "--format", "mermaid"], 0, "stateDiagram"),
            (["what-if", "topics.txt", "--crash", "1,3"], 12, "online -> offline"),
            (["check", "lamp.py"], 12, "lamp: dark is violated, in 2 states"),
            (
                [
                    "check",
                    "controller-election",
                    "--set",
                    "brokers=1",
                    "--set",
                    "elections=1",
                    "--engine",
                    "reference",
                ],
                0,
                "controller-election: holds",
            ),
        ],
    ),
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_the_installed_command_works(
    programs: Path, elsewhere: Path, arguments: list[str], code: int, said: str
) -> None:
    """The wheel has everything it needs."""
    command = [str(programs / "kafkaspec"), *arguments]
    run = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True)
    progress = all(line.startswith("depth ") for line in run.stderr.splitlines())  # on a slow machine
    assert (run.returncode, progress) == (code, True), run.stderr
    assert said in run.stdout


@pytest.mark.long
def test_the_tutorial_can_be_followed_anywhere(programs: Path, elsewhere: Path) -> None:
    """A user of the wheel sees the tutorial's output, once the kernels are compiled there, too."""
    Reader(elsewhere, programs).follow(TUTORIAL)
