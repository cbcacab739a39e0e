"""What a system brings to be run beside Kafka's own classes: what its steps and its states are there.

`conform` and `PathFollower` know no system. They take paths of a specification, have its mapping say what is to be
told of each and what is then to be seen, and compare that with what was seen.
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

__all__ = [
    "Difference",
    "KafkaRun",
    "Observation",
    "PathTask",
    "Response",
    "SystemMapping",
    "differences",
    "release_among",
]

Observation: TypeAlias = Mapping[str, Any]
"""What is to be seen between two steps, by name."""


@dataclass(frozen=True, kw_only=True)
class PathTask:
    """A path of a specification, and what is to be seen after each of its steps."""

    path: Path
    """In the states of the mapping's own model."""
    specified: Sequence[Observation]
    of: Hashable = None
    """What it is told for."""


@dataclass(frozen=True)
class Response:
    """What came of a task.

    Args:
        seen: what was to be seen after each step, and after one that failed.
        error: why the last of them failed; empty if none did.
    """

    seen: Sequence[Observation]
    error: str


T = TypeVar("T", bound=PathTask, default=Any)


class KafkaRun(Protocol[T]):
    """Kafka's own classes of one release, in a Java of ours."""

    release: str
    about: Mapping[str, str]
    """The versions of Kafka, ZooKeeper and Java."""

    def runs(self, tasks: Iterable[T]) -> Iterator[tuple[T, Response]]:
        """What comes of each task, in their order.

        Raises:
            EnvironmentFailed: Java died, or does not answer.
        """


class SystemMapping(ABC, Generic[T]):
    """From a system, under its constants, to Kafka's own classes.

    Args:
        model: of that system.
        release: of Kafka, for what is known of it.
    """

    system: ClassVar[type[Specification]]
    """Whose steps and states it knows."""
    driven: ClassVar[Mapping[str, Any]] = {}
    """The constants that are others than those of the system, unless it is said otherwise."""
    states: ClassVar[int]
    """As many are explored, unless it is said otherwise."""

    def __init__(self, model: Model, release: str = "3.9.1") -> None:
        assert isinstance(model.specification, self.system)
        self.model = model
        """Whose paths are told: that of the system, or one that says more."""
        self.release = release

    @classmethod
    @abstractmethod
    def releases(cls) -> Sequence[str]:
        """The releases of Kafka that are run, oldest first."""

    @classmethod
    @abstractmethod
    def kafka(cls, release: str) -> AbstractContextManager[KafkaRun[T]]:
        """Kafka's classes of one of these."""

    @classmethod
    def corrected(cls, release: str) -> Mapping[str, Any]:
        """Constants of what a release is not asked."""
        return {}

    @abstractmethod
    def edge_class(self, before: Any, step: Step, after: Any) -> Hashable:
        """What is alike in edges of which one is told; of one where Kafka is known to go another way, that."""

    @abstractmethod
    def task(self, states: Sequence[Values], choices: Sequence[tuple[int, int]], of: Hashable = None) -> T:
        """What is told of a path of the system, given with all of its states."""

    def differences(self, specified: Observation, seen: Observation) -> Iterable[Difference]:
        """What was seen, and is not as the specification says."""
        return differences(specified, seen)


def release_among(name: str, run: Sequence[str]) -> str:
    """The release that is run for a name: for `3.9` the one of that line.

    Raises:
        UsageError: there is none.
    """
    try:
        return {line_of(release): release for release in run}[line_of(name)]
    except (KeyError, UnknownRelease):
        raise UsageError(f"Kafka {name} is not run here; {', '.join(run)} are") from None


class Difference(NamedTuple):
    """Something that is not as the specification says."""

    where: str
    """In an observation: `controller.owner`, `brokers.0.doing`."""
    specified: Any
    seen: Any

    def __str__(self) -> str:
        return f"{self.where} is {self.seen}, and by the specification {self.specified}"


def differences(
    specified: Any, seen: Any, where: str = "", is_whole: Callable[[str], bool] = lambda where: True
) -> Iterator[Difference]:
    """What differs, key by key in mappings and in lists of mappings.

    Args:
        specified: what is to be seen. Of an observation as a whole only what it names is compared.
        seen: what was seen.
        where: they stand.
        is_whole: whether what is specified there is all that there may be, so that what has no key is not there.
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
