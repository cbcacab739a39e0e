"""Calls: the remaining processing of an event, as a value. `event_driver` makes them.

A controller processes an event by a sequence of calls of its methods: they change states, read and write ZooKeeper,
send requests, and depend on the context at that time. Other processes may act between any two batches of requests to
ZooKeeper, so the remaining calls have to be a value [docs/decisions/0024]:

    Call          a method of the controller, of one of its state machines or of its client, by name, with arguments
    Await         a batch of requests to ZooKeeper, and the call that takes the responses
    Result        what the calls so far return, for the next call if that takes a result
    ChangeDone    the same, of a completed change of states
    EventWaiting  the pending Await, and the calls that follow

A handler is a method that does what Kafka's does up to the point where Kafka would wait. It returns the remaining
calls, in the order of Kafka's method. They run before the calls that remained already: the calls are a stack. A call
made by `then` takes the result of the calls before it:

    def process_topic_deletion(self):
        return (*self.zk_client.get_children(DELETE_TOPICS, watch=True), then(self._deletions_changed))

    def _complete_delete_topic(self, topic):  # without what differs in older releases
        replicas = self.context.replicas_in_state(topic, ReplicaDeletionSuccessful)
        return (
            call(self.replicas_become, replicas, NonExistentReplica),
            call(self.zk_client.delete_topic_znode, topic),
            call(self.zk_client.delete_topic_configs, (topic,)),
            call(self.zk_client.delete_topic_deletions, (topic,)),
            call(self._remove_topic, topic),
        )

An exception in Kafka drops the remaining calls, down to one that handles it. Such a call is always made: after
`always` (finally) the failure continues; with `on_failure` (try and catch) it ends, and the call receives it, or None
if there is none; with `either` the call receives the result or the failure. ControllerMoved works in the same way.

If requests to brokers cannot be made, a state machine logs that, and the event goes on. Elsewhere it is a failure,
IllegalState, and at the end of the event the controller has another one elected. Kafka resigns at once: there a call
that handles the failure meets an empty context. Here it meets the old one, and its fenced writes are refused.

[process in KafkaController.scala, 3.9]
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeAlias

from statemachines.controller.state_change import ChangeDone
from statemachines.controller.zk_requests import StateRequests, ZkRequests
from statemachines.zookeeper.tree import Code

P = ParamSpec("P")


class RunsAfter(Enum):
    """The outcomes after which a call is made."""

    Success = "it is dropped if something fails before it"
    Result = "it takes the result of the calls before it, and is dropped if something fails"
    CaughtFailure = "it receives the earlier failure, or None, and ends it [try, catch]"
    Either = "it takes the result of the calls before it, or their failure, which it ends [Try]"
    AnyFailure = "it is always made, and an earlier failure continues [finally]"

    def __str__(self) -> str:
        return self.name


class Call(NamedTuple):
    """A call still to be made, of a method of a controller or of its client. Events are calls, too."""

    method: str
    arguments: tuple[Any, ...] = ()
    """Values. A result comes before them, if the method takes one."""
    runs_after: RunsAfter = RunsAfter.Success

    def __str__(self) -> str:
        return f"{self.method}({', '.join(map(str, self.arguments))})"

    def with_answer(self, answer: Any) -> "Call":
        """The same call with the result as its first argument."""
        return Call(self.method, (answer, *self.arguments))


class Await(NamedTuple):
    """A batch of requests to ZooKeeper, and the call that takes the responses, before its own arguments."""

    what: ZkRequests | StateRequests
    then: Call | None = None
    """None: the responses are the result."""


class Result(NamedTuple):
    """What the calls so far return. The next call takes it, or it is dropped."""

    value: Any


class Callback(NamedTuple):
    """The reply to the caller that queued the event [callback]."""

    answer: Any


Calls: TypeAlias = tuple[Call | Await | Result | ChangeDone | Callback, ...]
"""The remaining calls of a handler, in order."""


def call(method: Callable[P, Calls | None], *arguments: P.args, **named: P.kwargs) -> Call:
    """The call of a method of a controller, or of its client, to be made later. Arguments are positional."""
    return _call(method, arguments, named)


def then(method: Callable[Concatenate[Any, P], Calls | None], *arguments: P.args, **named: P.kwargs) -> Call:
    """The call of a method that takes a result, and then these arguments."""
    return _call(method, arguments, named)._replace(runs_after=RunsAfter.Result)


def call_of(method: Callable[Concatenate[Any, P], Calls | None], *arguments: P.args, **named: P.kwargs) -> Call:
    """Like `call`, for a method accessed on its class."""
    return _call(method, arguments, named)


def _call(method: Callable[..., Any], arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Call:
    if named:
        raise ValueError(f"{method.__name__}: arguments of a call are positional: {named}")
    return Call(method.__name__, arguments)


def on_failure(handler: Call) -> Call:
    """A call that receives the failure before it, or None, and ends it."""
    return handler._replace(runs_after=RunsAfter.CaughtFailure)


def either(handler: Call) -> Call:
    """A call that takes the result of the calls before it, or their failure, and ends it."""
    return handler._replace(runs_after=RunsAfter.Either)


def always(handler: Call) -> Call:
    """A call that is made even if something fails before it."""
    return handler._replace(runs_after=RunsAfter.AnyFailure)


class EventFailure(Enum):
    """Why the processing of an event was cut short, with Kafka's exception."""

    ControllerMoved = "another controller has been elected: uncaught, it resigns [ControllerMovedException]"
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
    """Raised by a handler: the processing of its event is cut short."""

    def __init__(self, cause: EventFailure | Code) -> None:
        super().__init__(cause)
        self.cause = cause


class EventWaiting(NamedTuple):
    """An event is being processed. It waits for ZooKeeper, or has just completed a change of states."""

    awaits: Await | None = None
    """None after a completed change, if the controller goes change by change."""
    calls: Calls = ()
    """The calls after it."""
    answer: Any = None
    """The reply so far to the caller that queued the event."""
    must_reelect: bool = False
    """It must trigger another controller election [triggerControllerMove]."""
