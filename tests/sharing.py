"""How pytest-xdist distributes the tests: file by file, longest first, and one worker for each server.

A file stays whole, because its fixtures are made once, and later tests reuse what earlier ones compiled or explored.
Files that need the same server form one scope: a Spark session, a ZooKeeper or a Java with Kafka's classes takes
seconds to start in each worker.
Pinned instances are distributed one by one: there are many, and some take minutes in `make long`. There Kafka's files
are also distributed one by one: together they are by far the longest chain, and another Java soon pays for itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdist.scheduler import LoadScopeScheduling

TOGETHER: Mapping[str, tuple[str, ...]] = {
    "Spark": (
        "tests/spec/checking/spark/test_engine.py",
        "tests/spec/checking/spark/test_instances.py",
        "tests/spec/checking/spark/test_symmetry.py",
        "tests/spec/checking/runs/test_dataframes.py",
        "tests/reliability/test_reliability.py::test_a_run_stopped_at_many_moments_can_be_resumed",
        "tests/reliability/test_reliability.py::test_each_way_stopped_runs_often_enough",
        "tests/reliability/test_reliability.py::test_processes_to_kill_are_found",
    ),
    "ZooKeeper": ("tests/zookeeper/",),
    "Kafka": ("tests/kafka/",),
    "controller's moves": (
        "tests/spec/test_diagrams.py",
        "tests/spec/test_controller_life.py",
        "tests/statemachines/drawing/test_controller_diagram.py",
    ),
}
"""Tests that share a server, or an expensive result, by the beginning of their names."""

ONE_BY_ONE = ("tests/spec/atlas/test_instances.py", "tests/spec/checking/test_random_systems.py")
"""Files whose tests share nothing."""

LONGEST = (
    *TOGETHER["Spark"],
    *TOGETHER["ZooKeeper"],
    *TOGETHER["Kafka"],
    "tests/spec/atlas/test_instances.py",
    "tests/reliability/",
    "tests/spec/test_environment_failures.py",
    "tests/spec/systems/test_controller.py",
    "tests/spec/cli/test_commands.py",
    "tests/spec/checking/local/test_resume.py",
    "tests/test_packaging.py",
    "tests/test_tutorial.py",
    "tests/spec/checking/local/",
)
"""The tests that begin first, so that no worker runs one of them at the end while the other idles."""


def scope(nodeid: str, is_long: bool = False) -> str:
    """Return the scope of a test, which runs in one worker: a server, a file, or the test alone.

    >>> scope("tests/zookeeper/test_kazoo.py::test_it"), scope("tests/test_imports.py::test_it[a::b]")
    ('ZooKeeper', 'tests/test_imports.py')
    >>> scope("tests/kafka/test_wire.py::test_it"), scope("tests/kafka/test_wire.py::test_it", is_long=True)
    ('Kafka', 'tests/kafka/test_wire.py')
    """
    file = nodeid.partition("::")[0]
    if file in ONE_BY_ONE:
        return nodeid
    together = next((server for server, files in TOGETHER.items() if nodeid.startswith(files)), file)
    return file if is_long and together == "Kafka" else together


def turn(nodeid: str) -> int:
    """Return a test's place in the order: the lower, the earlier."""
    return next((place for place, begins in enumerate(LONGEST) if nodeid.startswith(begins)), len(LONGEST))


class ByServer(LoadScopeScheduling):  # type: ignore[misc]
    """Gives scopes to the next free worker, in the order of the tests."""

    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid, is_long=self.config.option.markexpr == "long")
