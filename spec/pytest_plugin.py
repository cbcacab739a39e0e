"""A pytest plugin: saved traces and pinned instances become tests; tests of clients get a ZooKeeper in memory.

    pytest_plugins = ["spec.pytest_plugin"]

Put this line into the `conftest.py` at the root of the tests. Then each `*.itf.json` that `kafkaspec check --trace`
wrote is a test that the specification still has this trace, with the same ending. Each entry of an `instances.toml`
or a `*.instances.toml` is a test that its check gives the pinned figures. Files of other tools are ignored.

Files run no code: the systems that traces and instances name must be those of kafkaspec, or be in the files and
modules of your own that pytest's configuration lists:

    [tool.pytest.ini_options]
    kafkaspec_specs = ["specs/lease.py", "designs.locks"]

The fixtures `zookeeper_in_memory` and `zookeeper_client` serve tests of any ZooKeeper client.

The plugin is not loaded automatically: pytest would rewrite every assertion of a package that announces a plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # most files that pytest collects are not ours
    from spec.atlas.instances import PinnedInstance
    from spec.language import Specification
    from statemachines.zookeeper.serving import ServedZooKeeper


INSTANCES = "instances.toml"
OWN = "kafkaspec_specs"
"""The key in pytest's configuration that lists a person's own specifications."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the configuration key."""
    parser.addini(OWN, "Files and modules with specifications that saved traces and instances may name.", "linelist")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect saved traces and pinned instances."""
    if file_path.name.endswith(".itf.json") and _is_ours(file_path):
        return TraceFile.from_parent(parent, path=file_path)
    if file_path.name == INSTANCES or file_path.name.endswith(f".{INSTANCES}"):
        return InstancesFile.from_parent(parent, path=file_path)
    return None


def _is_ours(path: Path) -> bool:
    """Whether kafkaspec wrote the file, even if a tool reformatted it; only then are its mistakes reported."""
    from spec.checking.traces.itf import OURS

    try:
        return f'"{OURS}"' in path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True


@pytest.fixture
def zookeeper_in_memory() -> Iterator[ServedZooKeeper]:
    """A ZooKeeper for a test, on a port of 127.0.0.1; the test decides when sessions expire and replies are lost."""
    from statemachines.zookeeper.serving import ServedZooKeeper

    with ServedZooKeeper() as served:
        yield served


@pytest.fixture
def zookeeper_client(zookeeper_in_memory: ServedZooKeeper) -> Iterator[Callable[..., Any]]:
    """Starts clients of `zookeeper_in_memory`, with any options of a KazooClient. They stop with the test."""
    from spec.language.errors import UsageError, require

    try:
        require("kazoo")
    except UsageError as missing:
        pytest.fail(str(missing), pytrace=False)
    from kazoo.client import KazooClient

    with ExitStack() as stack:

        def client(**options: Any) -> Any:
            started = KazooClient(zookeeper_in_memory.hosts, **options)
            stack.callback(started.close)
            stack.callback(started.stop)
            started.start()
            return started

        yield client


class Contradicted(Exception):
    """The outcome differs from the kept one."""


class _Test(pytest.Item):
    """A test that fails with a line or a trace instead of our traceback."""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from spec.checking import EvaluationFailed
        from spec.language.errors import AssumptionViolated, SpecificationError, UsageError, escaped, escaped_lines

        if isinstance(excinfo.value, AssumptionViolated | SpecificationError | UsageError):
            return escaped(str(excinfo.value))
        if isinstance(excinfo.value, Contradicted | EvaluationFailed):
            return escaped_lines(str(excinfo.value))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


class TraceFile(pytest.File):
    """A saved trace."""

    def collect(self) -> Iterable[pytest.Item]:
        """One test."""
        yield FollowedTrace.from_parent(self, name="follows")


class FollowedTrace(_Test):
    """Test that the specification has the trace."""

    def runtest(self) -> None:
        """Walk along the trace."""
        from spec.atlas.loading import specification
        from spec.checking.traces.itf import RecordedTrace
        from spec.checking.traces.validate import validate

        recorded = RecordedTrace.read(self.path)
        settings = [f"{name}={value}" for name, value in recorded.settings.items()]
        followed = validate(recorded, specification(_system(recorded.system, self), settings=settings))
        if followed.left:
            raise Contradicted(str(followed))


class InstancesFile(pytest.File):
    """Pinned instances."""

    def collect(self) -> Iterator[pytest.Item]:
        """One test for each instance."""
        from spec.atlas.instances import instances_in
        from spec.language.errors import UsageError, escaped

        try:
            pinned = instances_in(self.path)
        except UsageError as wrong:
            raise self.CollectError(escaped(str(wrong))) from None
        for each in pinned:
            yield CheckedInstance.from_parent(self, name=escaped(each.name), pinned=each)


class CheckedInstance(_Test):
    """Test that a check gives the pinned figures."""

    def __init__(self, *, pinned: PinnedInstance, **given: Any) -> None:
        super().__init__(**given)
        self.pinned = pinned

    def runtest(self) -> None:
        """Explore the instance."""
        from spec.atlas.instances import figures_of
        from spec.atlas.loading import under

        pinned = self.pinned
        subject = under(_system(pinned.system, self), pinned.release, pinned.constants)
        result = pinned.check("auto", of=subject)
        claimed, found = pinned.figures(), figures_of(result)
        wrong = [
            f"  {name} is {found[name]}, but {figure} is pinned"
            for name, figure in claimed.items()
            if found[name] != figure
        ]
        if wrong:
            raise Contradicted("\n".join([f"{self.name}:", *wrong, "", str(result)]))


def _system(name: str, item: pytest.Item) -> type[Specification]:
    """The system that a file names, if it is one of kafkaspec's or one that the configuration lists.

    A path is relative to the directory in which pytest was started, to its root, or to the file.
    """
    from spec.atlas.loading import system_named
    from spec.language.errors import UsageError, safe_repr
    from spec.systems import SYSTEMS

    place, cls = _parted(name)
    listed, root = [_parted(each)[0] for each in item.config.getini(OWN)], item.config.rootpath
    if name in SYSTEMS or (place in listed and not place.endswith(".py")):
        return system_named(name)
    files = {(root / each).resolve() for each in listed if each.endswith(".py")}
    for folder in (Path.cwd(), root, item.path.parent):
        if (folder / place).resolve() in files:
            return system_named(f"{folder / place}{cls}")
    raise UsageError(
        f"{item.path.name} names {safe_repr(name)}, which is no system of kafkaspec. Files run no code: "
        f"list it in pytest's configuration under {OWN}"
    )


def _parted(name: str) -> tuple[str, str]:
    """A file or module, and the `:Class` after it, which is optional for a file."""
    place, colon, cls = (name, "", "") if name.endswith(".py") else name.rpartition(":")
    return (place, colon + cls) if place else (name, "")
