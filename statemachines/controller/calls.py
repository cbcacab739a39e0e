"""Calls: what is left of the processing of an event, as a value. `event_driver` makes them.

A controller processes an event by a sequence of calls of its methods: states are changed, ZooKeeper is read and
written, requests go out, and what a later call does depends on what the context is by then. Between any two batches
of requests to ZooKeeper other things happen elsewhere, so that what is left has to be a value [docs/decisions/0024]:

    Call          one of the methods of the controller, or of its client, by its name, with its arguments
    Await         a batch of requests to ZooKeeper, or a change of states that waits for one, and the call that is
                  made with what comes of it
    EventWaiting  the one that is waited for, and the calls that follow

A handler is a method that does what Kafka's does up to the point where Kafka would wait, and returns the calls that
are left, as they stand in Kafka's method one below the other. They are made before those that were left already: the
calls are a stack.

    def _complete_delete_topic(self, topic):
        replicas = self.context.replicas_in_state(topic, ReplicaDeletionSuccessful)
        return (
            call(self.replicas_become, replicas, NonExistentReplica),
            call(self.zk_client.delete_topic_znode, topic),
            call(self.zk_client.delete_topic_configs, (topic,)),
            call(self.zk_client.delete_topic_deletions, (topic,)),
            call(self._remove_topic, topic),
        )

What Kafka throws drops the calls that are left, down to one that was put there for it. Such a call is made in any
case: after `always` (finally) a failure goes on, with `on_failure` (try and catch) it ends, and is told, or None if
there is none. So it is with ControllerMoved. A controller whose requests to brokers fail has another one elected on
the spot; what of its event is left then may read, and is refused what it writes.

[process in KafkaController.scala, 3.9]
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeAlias

from statemachines.controller.kafka_zk_client import ZkRequest
from statemachines.zookeeper.tree import Code

__all__ = [
    "Await",
    "Call",
    "Callback",
    "Calls",
    "EventFailed",
    "EventFailure",
    "Frame",
    "RunsAfter",
    "EventWaiting",
    "StackFrames",
    "ZkRequests",
    "always",
    "call",
    "call_of",
    "on_failure",
    "then",
    "then_of",
]

P = ParamSpec("P")


class RunsAfter(Enum):
    """What a call is made in spite of."""

    Success = "it is dropped if something fails before it"
    CaughtFailure = "it is told what failed before it, or None, and no failure goes on [try, catch]"
    AnyFailure = "it is made, and what failed before it goes on [finally]"

    def __str__(self) -> str:
        return self.name


class Call(NamedTuple):
    """A call that is still to be made, of a method of a controller or of its client. An event is one as well."""

    method: str
    arguments: tuple[Any, ...] = ()
    """Values. Where it takes what was answered, that comes before them."""
    runs_after: RunsAfter = RunsAfter.Success

    def __str__(self) -> str:
        return f"{self.method}({', '.join(map(str, self.arguments))})"

    def with_answer(self, answer: Any) -> "Call":
        """The same with what was answered."""
        return Call(self.method, (answer, *self.arguments))


class ZkRequests(NamedTuple):
    """A batch of requests to ZooKeeper: reads, or writes, which are fenced when they are made."""

    requests: tuple[ZkRequest, ...]


class Await(NamedTuple):
    """What is waited for, and the call that is made with what comes of it.

    That takes, before its arguments, the answers to requests, or the results of a change.
    """

    what: Any
    """`ZkRequests`; or a step of a machine's: a change that waits, `ChangeDone`, or what else it has come to."""
    then: Call | None = None


class Callback(NamedTuple):
    """What is answered to who asked for the event [callback]."""

    answer: Any


Calls: TypeAlias = tuple[Call | Await | Callback, ...]
"""What is left of a handler, first things first."""


def call(method: Callable[P, Calls | None], *arguments: P.args, **named: P.kwargs) -> Call:
    """The call of a method of a controller, or of its client, to be made later. Arguments are given by place."""
    return _call(method, arguments, named)


def then(method: Callable[Concatenate[Any, P], Calls | None], *arguments: P.args, **named: P.kwargs) -> Call:
    """The call of a method that takes what was answered, and then these arguments."""
    return _call(method, arguments, named)


def call_of(method: Callable[Concatenate[Any, P], Calls | None], *arguments: P.args, **named: P.kwargs) -> Call:
    """As `call`, of a method as its class has it."""
    return _call(method, arguments, named)


def then_of(method: Callable[Concatenate[Any, Any, P], Calls | None], *arguments: P.args, **named: P.kwargs) -> Call:
    """As `then`, of a method as its class has it."""
    return _call(method, arguments, named)


def _call(method: Callable[..., Any], arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Call:
    if named:
        raise ValueError(f"{method.__name__}: arguments of a call are given by place, not by name: {named}")
    return Call(method.__name__, arguments)


def on_failure(handler: Call) -> Call:
    """A call that is told what failed before it, or None; no failure goes on."""
    return handler._replace(runs_after=RunsAfter.CaughtFailure)


def always(handler: Call) -> Call:
    """A call that is made whether or not something fails before it."""
    return handler._replace(runs_after=RunsAfter.AnyFailure)


@dataclass(frozen=True)
class Frame:
    """Calls of a method that may be left of an event: how large its arguments are, whoever explores it says.

    Args:
        method: as its class has it.
        arguments: by name, what those may be that are not all that their types have; or the frame of a call.
        takes_answer: it takes what was answered before its arguments, see `then`.
        made: what it is made in spite of.
    """

    method: Callable[..., Calls | None]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    takes_answer: bool = False
    runs_after: RunsAfter = RunsAfter.Success


StackFrames: TypeAlias = tuple[tuple[Frame | Call, ...], ...]
"""The stacks that may be left of events, each as its calls from the first to the last."""


class EventFailure(Enum):
    """Why the processing of an event was cut short, with the exception that Kafka has for it."""

    ControllerMoved = "another controller has been elected: it resigns [ControllerMovedException]"
    IllegalState = "requests to brokers could not be made: it has another elected [IllegalStateException]"
    NoLeaderAndIsr = "ZooKeeper has no leader and ISR of the partition [IllegalStateException]"
    NewerController = "a newer controller has written the state [StateChangeFailedException]"
    NoTopic = "the topic has no assignment [IllegalStateException]"
    NeverLed = "the partition never had a leader [NoSuchElementException]"
    NotAssigned = "the partition has no replica [NoSuchElementException]"
    NotReassigned = "the partition is not being reassigned any more [NoSuchElementException]"
    NoReplicaState = "a replica's state is not known [NoSuchElementException]"
    UnknownBroker = "there is no epoch of the broker [NoSuchElementException]"
    StaleBrokerEpoch = "the broker has been registered anew [StaleBrokerEpochException]"
    NoChannelManager = "there is no manager of channels to brokers, until 2.2 [NullPointerException]"
    BrokerNotAvailable = "the broker is not registered [BrokerNotAvailableException]"

    def __str__(self) -> str:
        return self.name


class EventFailed(Exception):
    """Thrown by a handler: what it was part of is cut short."""

    def __init__(self, cause: EventFailure | Code) -> None:
        super().__init__(cause)
        self.cause = cause


class EventWaiting(NamedTuple):
    """An event is being processed, and waits for ZooKeeper."""

    awaits: Await
    calls: Calls = ()
    """What is made after it."""
    answer: Any = None
    """What has been answered to who asked for the event."""
    must_reelect: bool = False
    """It is to have another controller elected [triggerControllerMove]."""
