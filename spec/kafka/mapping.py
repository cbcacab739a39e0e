"""The mapping from a system to Kafka's own classes: what its steps and states are there.

`conform` and `PathFollower` know no system. They take paths of a specification, ask its mapping for the task and the
expected observations of each, and compare these with the actual ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeAlias

from typing_extensions import TypeVar

from spec.checking.model import Model, Path
from spec.language import Specification, Step
from spec.language.errors import UsageError
from spec.language.state import Values
from statemachines.releases import UnknownRelease, line_of

Observation: TypeAlias = Mapping[str, Any]
"""Observable values between two steps, by name."""


@dataclass(frozen=True, kw_only=True)
class PathTask:
    """A path of a specification, and the expected observation after each of its steps."""

    path: Path
    """The path, in states of the mapping's own model."""
    specified: Sequence[Observation]
    of: Hashable = None
    """The edge class for which the path was chosen."""


@dataclass(frozen=True)
class Response:
    """The response to a task.

    Args:
        seen: the observation after each step, including a failed one.
        error: why the last step failed; empty if none did.
    """

    seen: Sequence[Observation]
    error: str


T = TypeVar("T", bound=PathTask, default=Any)


class KafkaRun(Protocol[T]):
    """Kafka's own classes of one release, running in a JVM."""

    release: str
    about: Mapping[str, str]
    """The versions of Kafka, ZooKeeper and Java."""

    def runs(self, tasks: Iterable[T]) -> Iterator[tuple[T, Response]]:
        """The response to each task, in order.

        Raises:
            EnvironmentFailed: Java died, or does not answer.
        """


class SystemMapping(ABC, Generic[T]):
    """A mapping from a system, under its constants, to Kafka's own classes.

    Args:
        model: of that system.
        release: of Kafka; selects the known divergences.
    """

    system: ClassVar[type[Specification]]
    """The system whose steps and states it maps."""
    driven: ClassVar[Mapping[str, Any]] = {}
    """Default constants that differ from the system's own defaults."""
    states: ClassVar[int]
    """How many states are explored by default."""

    def __init__(self, model: Model, release: str = "3.9.1") -> None:
        assert isinstance(model.specification, self.system)
        self.model = model
        """The model whose paths are run: the system's, or a more detailed one."""
        self.release = release

    @classmethod
    @abstractmethod
    def releases(cls) -> Sequence[str]:
        """The releases of Kafka that can run, oldest first."""

    @classmethod
    @abstractmethod
    def kafka(cls, release: str) -> AbstractContextManager[KafkaRun[T]]:
        """Kafka's classes of one of these releases."""

    @classmethod
    def corrected(cls, release: str) -> Mapping[str, Any]:
        """Constants to set differently for a release that lacks the requests in question."""
        return {}

    @abstractmethod
    def edge_class(self, before: Any, step: Step, after: Any) -> Hashable:
        """The class of an edge; for a known divergence, the divergence. Conformance runs some edges of each class."""

    @abstractmethod
    def task(self, states: Sequence[Values], choices: Sequence[tuple[int, int]], of: Hashable = None) -> T:
        """The task for a path of the system, given with all of its states."""

    def differences(self, specified: Observation, seen: Observation) -> Iterable[Difference]:
        """The differences between the expected and the actual observation."""
        return differences(specified, seen)


def release_among(name: str, run: Sequence[str]) -> str:
    """The release that a name stands for: for `3.9` the one of that line.

    Raises:
        UsageError: there is none.
    """
    try:
        return {line_of(release): release for release in run}[line_of(name)]
    except (KeyError, UnknownRelease):
        raise UsageError(f"Kafka {name} cannot run here; choose from {', '.join(run)}") from None


class Difference(NamedTuple):
    """A difference between specification and observation."""

    where: str
    """Its place in an observation: `controller.owner`, `brokers.0.doing`."""
    specified: Any
    seen: Any

    def __str__(self) -> str:
        return f"{self.where} is {self.seen}; the specification says {self.specified}"


def differences(
    specified: Any, seen: Any, where: str = "", is_whole: Callable[[str], bool] = lambda where: True
) -> Iterator[Difference]:
    """The differences, key by key in mappings and in lists of mappings.

    Args:
        specified: the expected observation. At the top level only the keys that it names are compared.
        seen: the actual observation.
        where: their place in the whole.
        is_whole: whether the specified mapping is complete, so that a missing key means that nothing is there.
    """
    if isinstance(specified, Mapping) and isinstance(seen, Mapping):
        keys = [*specified, *(key for key in seen if key not in specified and where and is_whole(where))]
        for key in keys:
            place = f"{where}.{key}" if where else str(key)
            yield from differences(specified.get(key), seen.get(key), place, is_whole)
    elif _are_lists_of_mappings(specified, seen):
        for number, (ours, its) in enumerate(zip(specified, seen, strict=True)):
            yield from differences(ours, its, f"{where}.{number}", is_whole)
    elif specified != seen:
        yield Difference(where, specified, seen)


def _are_lists_of_mappings(*values: Any) -> bool:
    lists = all(isinstance(each, list) for each in values) and len(set(map(len, values))) == 1
    return lists and bool(values[0]) and all(isinstance(each, Mapping) for value in values for each in value)
