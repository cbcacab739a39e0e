"""Memory: how much is used, how much there is, and which budgets are allowed."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from benchmarks.memory_budgets import measured
from spec.checking import Engine, check
from spec.checking.local import LocalEngine
from spec.checking.machine.memory import MB, Budget, confined, of_process, of_tree, own, room_to_grow, total
from spec.checking.spark import SparkEngine
from spec.language.errors import UsageError
from tests.spec.toys import TOYS
from tests.tiers import long_unless

HUNGRY = "import sys; taken = b'1' * (int(sys.argv[1]) << 20); print('here', flush=True); sys.stdin.read()"
GRANDPARENT = (
    "import subprocess, sys;"
    "child = subprocess.Popen([sys.executable, '-c', sys.argv[1], '64'], stdin=sys.stdin, stdout=sys.stdout);"
    "child.wait()"
)
TAKING = """
import mmap
from spec.checking.machine.memory import MB, own, private
before, before_private = own(), private()
taken = mmap.mmap(-1, 128 * MB, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for page in range(0, 64 * MB, mmap.PAGESIZE):
    taken[page] = 1
print(own() - before, private() - before_private)
taken.close()
print(own() - before)
"""


def test_memory_of_a_process_tree_is_the_sum() -> None:
    """It includes grandchildren, for as long as they run."""
    before = of_tree()
    command = [sys.executable, "-c", GRANDPARENT, HUNGRY]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert 64 * MB < of_tree(child.pid) < 128 * MB
        assert of_tree() - before > 64 * MB
        parent = psutil.Process(child.pid)
        assert of_process(parent) < 32 * MB
        assert child.stdin is not None
        child.stdin.close()
    assert of_process(parent) == of_tree(child.pid) == 0


def test_used_memory_is_measured_and_reserved_is_not() -> None:
    """Measured in a separate process, because a share of memory mapped by others grows when they end."""
    command = [sys.executable, "-c", TAKING]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    taken, taken_private, left = (int(figure) / MB for figure in done.stdout.split())
    assert 60 < taken < 80
    assert 60 < taken_private < 80
    assert left < 16


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
@pytest.mark.parametrize(
    "engine",
    long_unless(lambda each: isinstance(each, LocalEngine), [LocalEngine(2), SparkEngine(driver_level=1000)]),
    ids=["local", "Spark's driver"],
)
def test_reserved_memory_is_released(engine: Engine) -> None:
    """At once, before any garbage collection: address space is limited, on Linux also to 65,530 mappings."""
    check(TOYS["jugs"], engine=engine)
    gc.collect()
    gc.disable()
    try:
        before = address_space()
        check(TOYS["jugs"], engine=engine)
        assert address_space() - before < 64 * MB
    finally:
        gc.enable()


def address_space() -> int:
    """The number of bytes that this process has mapped."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmSize"].split()[0]) << 10


# Available memory.


@pytest.mark.parametrize(
    ("membership", "limits", "least"),
    [
        ("0::/one/two", {"memory.max": "max", "one/memory.max": "4096", "one/two/memory.max": "8192"}, 4096),
        ("0::/one/two", {"memory.max": "8192"}, 8192),  # # a container sees the path of its host
        ("4:cpu,memory:/one\n2:cpu:/", {"memory/one/memory.limit_in_bytes": "4096"}, 4096),
        ("0::/one", {"one/memory.max": "max"}, None),
        ("3:cpu:/one", {"cpu/one/memory.limit_in_bytes": "4096"}, None),
    ],
)
def test_control_groups_limit_memory(
    membership: str, limits: dict[str, str], least: int | None, tmp_path: Path
) -> None:
    """In both versions, and with the limits of parent groups."""
    mine = tmp_path / "cgroup"
    mine.write_text(membership + "\n")
    for name, limit in limits.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(limit + "\n")
    assert min(confined(mine, tmp_path), default=None) == least


def test_without_control_groups_memory_is_unlimited(tmp_path: Path) -> None:
    """It is not an error."""
    assert list(confined(tmp_path / "nothing", tmp_path)) == []


# Budgets.


def test_the_default_budget_is_half_the_memory() -> None:
    """Half of what was not yet used."""
    before = own()
    budget = Budget()
    assert budget.size == pytest.approx(before + (total() - before) / 2, rel=0.01)
    assert not budget.asked


def test_a_budget_beyond_the_memory_is_refused() -> None:
    """The error says how much there is."""
    with pytest.raises(UsageError, match=r"the machine has only \d+[MG]"):
        Budget(total() + 1)


def test_a_too_small_budget_names_the_least() -> None:
    """The named budget is enough."""
    with pytest.raises(UsageError, match=r"--memory 1: this cannot explore this with less than (\d+)M") as refused:
        Budget(1).require(8 * MB, "this")
    named = int(str(refused.value).rpartition(" ")[2].rstrip("M"))
    Budget(named * MB).require(8 * MB, "this")
    assert named * MB < (own() + 8 * MB) * 1.1 + 32 * MB


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
@pytest.mark.parametrize(
    ("engine", "megabytes", "explored_by"), [("reference", 96, "reference"), ("auto", 304, "local")]
)
def test_all_child_processes_keep_to_the_budget(engine: str, megabytes: int, explored_by: str) -> None:
    """A run ends as bounded when it reaches the budget. `auto` applies it to the engine that it picks."""
    budget, program = megabytes * MB, str(Path(sys.executable).with_name("kafkaspec"))
    found = measured([program, "check", "controller-election", "--engine", engine, "--memory", str(budget)])
    assert found.code == 20, found.said
    assert 0.6 * budget < found.peak <= 1.1 * budget
    assert found.said.endswith(f" states, engine {explored_by}")


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]) << 20,) * 2)
from spec.cli.main import main
sys.argv = ["kafkaspec", "check", "tests.spec.toys:Jugs", "--engine", "local"]
main()
"""


@pytest.mark.parametrize(
    ("megabytes", "code"), long_unless(lambda case: case[0] == 300, [(300, 2), (600, 2), (1200, 12)])
)
def test_too_little_address_space_is_a_one_line_error(megabytes: int, code: int) -> None:
    """With enough address space, less is reserved."""
    command = [sys.executable, "-c", LIMITED, str(megabytes)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    if code == 2:
        assert done.stderr.startswith("Error: `ulimit -v` leaves ")
        assert len(done.stderr.splitlines()) == 1


def test_a_growing_dictionary_needs_another_of_twice_its_size() -> None:
    """The estimate matches each growth, up to 100,000 keys, and is zero between them."""
    table: dict[int, None] = {0: None}
    grown, size = 0, sys.getsizeof(table)
    for key in range(1, 100_000):
        said, last = room_to_grow(table, 1), size
        table[key] = None
        size = sys.getsizeof(table)
        assert (said > 0) == (size > last), key
        if size > last and key > 1_000:
            grown += 1
            assert size * 0.85 < said < size * 1.2  # indices get wider at 2**16
    assert grown == 7
