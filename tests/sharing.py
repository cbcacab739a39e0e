"""How pytest-xdist shares the tests out: file by file, what takes longest first, and one worker for each server.

A file stays whole, as its fixtures are made once and what one test has compiled or explored serves the next. Files
that need the same server are one scope: a Spark session, a ZooKeeper or a Java with Kafka's classes takes seconds to
start, in each worker anew.
Pinned instances go one by one: there are many, and some take minutes in `make long`. There Kafka's files are shared
out as others are: together they are the longest chain by far, and a Java more is soon made up for.
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
        "tests/reliability/test_reliability.py::test_a_stopped_spark_run_can_be_resumed",
        "tests/reliability/test_reliability.py::test_a_run_stopped_at_many_moments_can_be_resumed",
        "tests/reliability/test_reliability.py::test_the_processes_to_kill_are_found",
        "tests/reliability/test_reliability.py::test_each_way_stopped_runs_often_enough",
    ),
    "ZooKeeper": ("tests/zookeeper/",),
    "Kafka": ("tests/kafka/",),
    "controller's moves": (
        "tests/spec/test_diagrams.py",
        "tests/spec/test_controller_life.py",
        "tests/statemachines/drawing/test_controller_diagram.py",
    ),
}
"""What needs the same server, or what takes as long to be found, by the beginning of its name."""

ONE_BY_ONE = ("tests/spec/atlas/test_instances.py", "tests/spec/checking/test_random_systems.py")
"""Files whose tests have nothing in common."""

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
"""What begins first, so that no worker is left with one of them at the end while the other has nothing to do."""


def scope(nodeid: str, is_long: bool = False) -> str:
    """What a test goes with to one worker: a server or a file, or nothing but itself.

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
    """When a test comes: the lower, the earlier."""
    return next((place for place, begins in enumerate(LONGEST) if nodeid.startswith(begins)), len(LONGEST))


class ByServer(LoadScopeScheduling):  # type: ignore[misc]
    """Scopes go to whichever worker is free, in the order of the tests."""

    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid, is_long=self.config.option.markexpr == "long")
