"""A plugin of pytest: kept traces and pinned instances are tests, and tests of clients have a ZooKeeper in memory.

    pytest_plugins = ["spec.pytest_plugin"]

in the `conftest.py` at the root of the tests, and each `*.itf.json` that `kafkaspec check --trace` wrote is a test
that the specification still has this trace, and that it ends as it says. Each entry of an `instances.toml`, or a
`*.instances.toml`, is a test that its check comes to the figures that are pinned. A file that another tool wrote is
left alone.

A file runs no code: what traces and instances name is followed to the systems of kafkaspec, and to those files and
modules of your own that pytest's configuration lists:

    [tool.pytest.ini_options]
    kafkaspec_specs = ["specs/lease.py", "designs.locks"]

The fixtures `zookeeper_in_memory` and `zookeeper_client` are for tests of whatever talks with ZooKeeper.

It is not loaded by itself: pytest would rewrite every assertion of a package that announces a plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # most of what pytest is asked to collect is no file of ours
    from spec.atlas.instances import PinnedInstance
    from spec.language import Specification
    from statemachines.zookeeper.serving import ServedZooKeeper

__all__ = ["pytest_addoption", "pytest_collect_file", "zookeeper_client", "zookeeper_in_memory"]

INSTANCES = "instances.toml"
OWN = "kafkaspec_specs"
"""The key of pytest's configuration that lists a person's own specifications."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """What a person can configure."""
    parser.addini(OWN, "Files and modules with specifications that kept traces and instances may name.", "linelist")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Take what is ours."""
    if file_path.name.endswith(".itf.json") and _is_ours(file_path):
        return TraceFile.from_parent(parent, path=file_path)
    if file_path.name == INSTANCES or file_path.name.endswith(f".{INSTANCES}"):
        return InstancesFile.from_parent(parent, path=file_path)
    return None


def _is_ours(path: Path) -> bool:
    """Whether it was written here, be it laid out anew by another tool; then what is wrong with it is to be told."""
    from spec.checking.traces.itf import OURS

    try:
        return f'"{OURS}"' in path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True


@pytest.fixture
def zookeeper_in_memory() -> Iterator[ServedZooKeeper]:
    """A ZooKeeper for a test, on a port of 127.0.0.1: sessions expire and replies are lost when the test says so."""
    from statemachines.zookeeper.serving import ServedZooKeeper

    with ServedZooKeeper() as served:
        yield served


@pytest.fixture
def zookeeper_client(zookeeper_in_memory: ServedZooKeeper) -> Iterator[Callable[..., Any]]:
    """Starts clients of `zookeeper_in_memory`, with whatever options a KazooClient takes. They stop with the test."""
    from spec.language.errors import UsageError
    from spec.language.extras import require

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
    """What came out is not what was kept."""


class _Test(pytest.Item):
    """A test that fails with a line or a trace, not with a traceback of ours."""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from spec.checking import EvaluationFailed
        from spec.language.errors import AssumptionViolated, SpecificationError, UsageError
        from spec.language.escapes import escaped, escaped_lines

        if isinstance(excinfo.value, AssumptionViolated | SpecificationError | UsageError):
            return escaped(str(excinfo.value))
        if isinstance(excinfo.value, Contradicted | EvaluationFailed):
            return escaped_lines(str(excinfo.value))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


class TraceFile(pytest.File):
    """A kept trace."""

    def collect(self) -> Iterable[pytest.Item]:
        """One test."""
        yield FollowedTrace.from_parent(self, name="follows")


class FollowedTrace(_Test):
    """That the specification has the trace."""

    def runtest(self) -> None:
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
        """A test for each."""
        from spec.atlas.instances import instances_in
        from spec.language.errors import UsageError
        from spec.language.escapes import escaped

        try:
            pinned = instances_in(self.path)
        except UsageError as wrong:
            raise self.CollectError(escaped(str(wrong))) from None
        for each in pinned:
            yield CheckedInstance.from_parent(self, name=escaped(each.name), pinned=each)


class CheckedInstance(_Test):
    """That a check comes to what is pinned."""

    def __init__(self, *, pinned: PinnedInstance, **given: Any) -> None:
        super().__init__(**given)
        self.pinned = pinned

    def runtest(self) -> None:
        from spec.atlas.instances import figures_of
        from spec.atlas.loading import under

        pinned = self.pinned
        subject = under(_system(pinned.system, self), pinned.release, pinned.constants)
        result = pinned.check("auto", of=subject)
        claimed, found = pinned.figures(), figures_of(result)
        wrong = [
            f"  {name} is {found[name]}, and {figure} is pinned"
            for name, figure in claimed.items()
            if found[name] != figure
        ]
        if wrong:
            raise Contradicted("\n".join([f"{self.name}:", *wrong, "", str(result)]))


def _system(name: str, item: pytest.Item) -> type[Specification]:
    """The system that a file names, if it is one of kafkaspec or one that the person's configuration lists.

    A path is looked for where pytest was begun, at its root, and beside the file.
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
        f"{item.path.name} names {safe_repr(name)}, which is no system of kafkaspec, and a file runs no code: "
        f"list it in pytest's configuration, as {OWN}"
    )


def _parted(name: str) -> tuple[str, str]:
    """A file or module, and `:Class` behind it, which a file needs not have."""
    place, colon, cls = (name, "", "") if name.endswith(".py") else name.rpartition(":")
    return (place, colon + cls) if place else (name, "")
