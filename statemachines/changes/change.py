"""A change of Kafka: one sentence, the exact releases that made it, its tickets, and the evidence.

A change is a value that Kafka had until some release, and another one since: for most changes, false and then true.
A fix that was backported needs no extra field: since 2.0.1 means since the last release of line 2.0, so in all of
2.1.

Evidence:

    compared   Kafka's own classes run beside ours, and contradict the inverted rule (docs/kafka.md)
    by source  Kafka's source says so, in the named lines
    by ticket  the change lies between two releases that were run; the ticket's fix version names the exact one
    proposed   no release of Kafka has it

Kafka's classes that were compared: whole controllers of 1.1.1, 2.2.2, 2.4.1, 2.8.2 and 3.9.1, and of 0.10.2.2,
0.11.0.3 and 1.0.2 whenever they are idle; brokers that receive their requests, of 1.0.2, 1.1.1, 2.0.1, 2.2.2, 2.4.1,
2.6.3, 2.8.2 and 3.9.1; brokers that append, fetch and truncate, of 0.10.2.2, 0.11.0.3, 1.1.1, 2.0.1, 2.6.3, 2.8.2 and
3.9.1. Only the source shows the steps of a controller until 1.0, the handling of requests before 1.0, the shutdown of
a broker, and whether a controller processes responses to UpdateMetadata.
"""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Final, Generic, NamedTuple, NoReturn, Self, TypeVar, overload

from statemachines.releases import EXACT, RELEASES, Release, numbers, since_when

T = TypeVar("T")


class Compared(Enum):
    """The classes of Kafka that a change was compared with. The value is the file that runs them."""

    StateMachines = "spec/kafka/state_machines_beside.py"
    """PartitionStateMachine, ReplicaStateMachine and ControllerBrokerRequestBatch."""
    WholeController = "spec/kafka/controller_beside.py"
    """KafkaController, with everything that belongs to it."""
    SettledController = "spec/kafka/idle_controller_beside.py"
    """KafkaController of 0.10.2.2, 0.11.0.3 and 1.0.2, when it is idle and, since 0.11, between two events."""
    Receiver = "tests/kafka/receiver_comparison.py"
    """KafkaApis, ReplicaManager and MetadataCache, of eight releases since 1.0.2."""
    Leader = "tests/kafka/test_leaders.py"
    """ReplicaManager and Partition of a leader, over real logs, of 2.8.0, 2.8.2 and 3.9.1."""
    DataPlane = "spec/kafka/stepped_brokers.py"
    """ReplicaManager, Partition, logs and ReplicaFetcherThread of two or three brokers, of seven releases."""
    Tools = "spec/kafka/admin_tools_beside.py"
    """An administrator's tools, and the AdminManager that serves requests on a broker."""


class Line(NamedTuple):
    """A place in Kafka's source."""

    tag: str
    """The release, as tagged in Kafka's repository."""
    file: str
    """The file's name, without folders."""
    method: str
    number: int


STATE_MACHINES: Final = (Compared.StateMachines,)
CONTROLLER: Final = (Compared.WholeController,)
SETTLED: Final = (Compared.SettledController,)
BOTH: Final = (*STATE_MACHINES, *CONTROLLER)
RECEIVER: Final = (Compared.Receiver,)
LEADER: Final = (Compared.Leader,)
DATA_PLANE: Final = (Compared.DataPlane,)
TOOLS: Final = (Compared.Tools,)


@dataclass(frozen=True, eq=False, kw_only=True)
class KafkaChange(Generic[T]):
    """One change. It prints as its sentence, with its releases and tickets. `Releases` have changes as fields."""

    sentence: str
    before: T
    """The value before any release changed it."""
    since: dict[str, T] = field(default_factory=dict)
    """The value from an exact release on, oldest first. Releases may be older than all that are modelled here."""
    tickets: tuple[str, ...] = ()
    compared: tuple[Compared, ...] = ()
    by_source: tuple[Line, ...] = ()
    """Older releases first: before the change, and after it. Without them the releases are by ticket."""
    proposed_by: str | None = None
    """A ticket of Kafka's, another system that has the change, or this project."""
    note: str = ""
    """A remark on the releases."""

    def __set_name__(self, owner: "type[Releases]", name: str) -> None:
        owner.changes = {**owner.changes, name: self}

    @overload
    def __get__(self, instance: None, owner: type) -> "KafkaChange[T]": ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> "T | KafkaChange[T]":
        return self  # of an instance, a value of the same name hides it

    def at(self, release: str | Release) -> T:
        """The value in a release.

        Raises:
            UnknownRelease: there is no such release.
        """
        then = release if isinstance(release, Release) else Release(release)
        value = self.before
        for first, changed in self.since.items():
            if numbers(first) <= then.numbers:
                value = changed
        return value

    @property
    def now(self) -> T:
        """The value in the newest release."""
        return self.at(RELEASES[-1])

    @property
    def among(self) -> tuple[T, ...] | None:
        """Its values, oldest first; None for a bool or an enumeration, or if it has one value."""
        values = tuple(dict.fromkeys((self.before, *self.since.values())))
        return None if isinstance(self.before, bool | Enum) or len(values) < 2 else values

    def first(self, value: object) -> str | None:
        """The release since which a value holds for good, in words; None if no release introduced it.

        A member of an enumeration may be given by its name.

        >>> since("2.1.0", "Writes are fenced").first(True)
        '2.1'
        """
        given = reversed(self.since.items())
        return next((since_when(first) for first, its in given if value in (its, getattr(its, "name", its))), None)

    @property
    def when(self) -> str:
        """The releases that have the change, in words; empty if it has more than two values."""
        if self.proposed_by is not None:
            own = self.proposed_by == "this project"
            return "proposed" if own else f"proposed: {self.proposed_by}"
        if not isinstance(self.before, bool):
            return ""
        match (self.before, list(self.since)):
            case (True, []):
                return "every release"
            case (False, [first]):
                return since_when(first)
            case (True, [first]):
                return f"until {_last_before(first)}"
            case (False, [first, last]):
                return f"{since_when(first)} to {_last_before(last)}"
            case (True, [first, last]) if Release(first) == Release(_last_before(last)):
                return f"not in {_last_before(last)}"
            case (True, [first, last]):
                return f"not from {since_when(first)} to {_last_before(last)}"
        return ""

    def __str__(self) -> str:
        releases = ", ".join((self.when, *self.tickets)) if self.when else ""
        said = "; ".join(filter(None, (releases, self.note)))
        return f"{self.sentence} ({said})." if said else f"{self.sentence}."


def since(
    first: str,
    sentence: str,
    *tickets: str,
    compared: tuple[Compared, ...] = (),
    by_source: tuple[Line, ...] = (),
    note: str = "",
) -> KafkaChange[bool]:
    """A change that Kafka has since an exact release; a test asks for `compared` or `by_source`."""
    return KafkaChange(
        sentence=sentence,
        before=False,
        since={first: True},
        tickets=tickets,
        compared=compared,
        by_source=by_source,
        note=note,
    )


def until(
    first: str, sentence: str, *tickets: str, compared: tuple[Compared, ...] = (), by_source: tuple[Line, ...] = ()
) -> KafkaChange[bool]:
    """A change that Kafka had until an exact release, the first without it."""
    return KafkaChange(
        sentence=sentence,
        before=True,
        since={first: False},
        tickets=tickets,
        compared=compared,
        by_source=by_source,
    )


def always(sentence: str) -> KafkaChange[bool]:
    """A rule that every release of Kafka has."""
    return KafkaChange(sentence=sentence, before=True)


def proposed(sentence: str, by: str = "this project", note: str = "") -> KafkaChange[bool]:
    """A change that no release of Kafka has."""
    return KafkaChange(sentence=sentence, before=False, proposed_by=by, note=note)


class Releases:
    """Changes as fields: the class has the changes, an instance has their values in a release. It is immutable.

    >>> class Fetches(Releases):
    ...     fenced = since("2.1.0", "A fetch carries the follower's leader epoch", "KIP-320")
    >>> Fetches("2.0").fenced, Fetches("2.0").but(fenced=True).fenced
    (False, True)
    >>> print(Fetches.fenced)
    A fetch carries the follower's leader epoch (2.1, KIP-320).

    Args:
        release: by default the newest with ZooKeeper.
        others: fields that are no changes.

    Raises:
        UnknownRelease: there is no such release.
    """

    changes: ClassVar[Mapping[str, KafkaChange[Any]]] = {}
    """The changes by field, also those of base classes."""
    values: Mapping[str, Any] = {}
    """The values by field. Nothing here asks for `vars`: rules that might are opaque to the compiled engine."""

    def __init__(self, release: str | None = None, **others: Any) -> None:
        then = Release(RELEASES[-1] if release is None else release)
        self._set({name: change.at(then) for name, change in self.changes.items()} | others)

    def _set(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "values", {**self.values, **values})

    def but(self, **values: Any) -> Self:
        """The same with other values of these fields.

        Raises:
            ValueError: there is no such field.
        """
        if strange := sorted(values.keys() - self.values.keys()):
            allowed = ", ".join(self.values)
            raise ValueError(f"{self.__class__.__name__} has no field {strange[0]!r}, allowed are {allowed}")
        changed = copy(self)
        changed._set(values)
        return changed

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{self.__class__.__name__} is immutable, .but({name}=...) returns another")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{self.__class__.__name__} is immutable")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, self.__class__) and self.values == other.values

    def __hash__(self) -> int:
        return hash(tuple(self.values.values()))

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({', '.join(f'{name}={value!r}' for name, value in self.values.items())})"


_ORDERED: Final = [release for releases in EXACT.values() for release in releases]


def _last_before(first: str) -> str:
    return str(Release(_ORDERED[_ORDERED.index(first) - 1]))
