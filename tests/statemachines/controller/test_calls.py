"""How the processing of an event is driven: the order of its calls, and the calls that a failure drops."""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from statemachines.controller.alter_partition import AlterPartitionProcessor
from statemachines.controller.calls import (
    Await,
    Call,
    Callback,
    Calls,
    EventFailed,
    EventFailure,
    EventWaiting,
    Result,
    always,
    call,
    either,
    on_failure,
    then,
)
from statemachines.controller.context import ControllerContext
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.controller.event_driver import EventDriver, carry_out
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.partition_state_machine import PartitionStateMachine
from statemachines.controller.replica_state_machine import ReplicaStateMachine
from statemachines.controller.request_batch import ControllerBrokerRequestBatch, RequestsNotSent
from statemachines.controller.state_change import ChangeDone, EventDone, StateChangeFailure
from statemachines.controller.zk_client import ControllerZkClient
from statemachines.controller.zk_requests import GetChildren, GetData, ZkRequests, ZkResponse
from statemachines.messages.topic_partition import TopicPartition
from statemachines.zookeeper.server import Multi, ZooKeeper
from statemachines.zookeeper.tree import Check, Code, Create, Delete
from tests.rows import rows


class Handlers(EventDriver):
    """Handlers that only record their calls, beside a ZooKeeper with the node /a."""

    def __init__(self, send: Callable[[int, Any], object] = lambda broker, request: None) -> None:
        context = ControllerContext()
        context.add_live_brokers({1: 101})
        batch = ControllerBrokerRequestBatch(9, context, send)
        super().__init__(PartitionStateMachine(context, batch), ReplicaStateMachine(context, batch), batch)
        self.said: list[Any] = []
        self.zookeeper = ZooKeeper()
        for path in (CONTROLLER_EPOCH, "/a"):
            self.zookeeper.create(None, path)

    def run(self, *calls: Call) -> EventDone:
        """Make these calls, one after the other."""
        return carry_out(self, Call("all_of", calls), self.zookeeper, None)

    def move(self) -> None:
        """Another controller is elected."""
        self.zookeeper.set(None, CONTROLLER_EPOCH, 1)

    def all_of(self, *calls: Call) -> Calls:
        return calls

    def say(self, *words: Any) -> None:
        self.said.append(words[0] if len(words) == 1 else words)

    def both(self, first: str, second: str) -> Calls:
        return (call(self.say, first), call(self.say, second))

    def read(self, path: str) -> Calls:
        return (Await(ZkRequests((GetData(path),)), then(self.heard, path)),)

    def heard(self, responses: Sequence[ZkResponse], path: str) -> None:
        self.said.append((path, responses[0].code.name))

    def write(self, path: str) -> Calls:
        return (Await(ZkRequests((Create(path),)), then(self.heard, path)),)

    def nothing_to_read(self) -> Calls:
        return (Await(ZkRequests(()), then(self.say, "nothing")),)

    def answer(self, what: str) -> Calls:
        return (Callback(what),)

    def give(self, value: Any) -> Calls:
        return (Result(value),)

    def tell(self, value: Any) -> None:
        self.said.append(value)

    def change(self, *following: Call) -> Calls:
        return (ChangeDone(RESULTS), *following)

    def throw(self, cause: EventFailure | Code) -> None:
        raise EventFailed(cause)

    def send_something(self) -> None:
        self.send_update_metadata_request((1,))


def say(*words: Any) -> Call:
    return Call("say", words)


def throw(cause: EventFailure | Code) -> Call:
    return Call("throw", (cause,))


READ = Call("read", ("/a",))
LED = EventFailure.NeverLed
RESULTS = ((TopicPartition("t", 0), StateChangeFailure.NoLeaderElected),)


@rows(
    "calls, done, said",
    {
        "new calls precede the remaining ones": (
            [Call("both", ("a", "b")), say("c")],
            EventDone(),
            ["a", "b", "c"],
        ),
        "an empty batch does not wait": ([Call("nothing_to_read")], EventDone(), [((), "nothing")]),
        "the caller gets the answer at the end": (
            [Call("answer", ("yes",)), READ],
            EventDone("yes"),
            [("/a", "OK")],
        ),
        "a failure drops the remaining calls": ([throw(LED), say("never")], EventDone(failure=LED), []),
        "but not those that come always": (
            [throw(Code.SESSIONEXPIRED), always(READ), say("never")],
            EventDone(failure=Code.SESSIONEXPIRED),
            [("/a", "OK")],
        ),
        "which come without a failure, too": ([always(READ), say("b")], EventDone(), [("/a", "OK"), "b"]),
        "their failure replaces the earlier one": (
            [throw(LED), always(throw(EventFailure.NoTopic))],
            EventDone(failure=EventFailure.NoTopic),
            [],
        ),
        "a failure that is caught goes no further": (
            [throw(LED), say("never"), on_failure(say("caught")), say("then"), on_failure(say("caught"))],
            EventDone(),
            [(LED, "caught"), "then", (None, "caught")],
        ),
        "leftover requests make the controller move": (
            [Call("send_something"), always(READ), always(Call("write", ("/b",)))],
            EventDone(failure=EventFailure.ControllerMoved, must_reelect=True),
            [("/a", "OK")],
        ),
    },
)
def test_calls_run_in_this_order(calls: list[Call], done: EventDone, said: list[Any]) -> None:
    handlers = Handlers()
    if any(each.method == "send_something" for each in calls):
        handlers.batch.add_update_metadata_request_for_brokers((1,))
    assert handlers.run(*calls) == done
    assert handlers.said == said
    assert "/b" not in handlers.zookeeper.state.nodes


def test_an_event_waits_for_zookeeper() -> None:
    """Its remaining calls can be stored, compared and resumed."""
    handlers = Handlers()
    processing = handlers.process(Call("all_of", (READ, say("b"))))
    assert isinstance(processing, EventWaiting)
    assert (handlers.said, processing.calls) == ([], (call(handlers.say, "b"),))
    assert handlers.requests(processing.awaits) == (GetData("/a"),)
    again = pickle.loads(pickle.dumps(processing))
    assert (again, hash(again)) == (processing, hash(processing))
    with pytest.raises(ValueError, match="1 requests have 2 answers"):
        handlers.answered(again, [ZkResponse(Code.OK)] * 2)
    assert handlers.answered(again, [ZkResponse(Code.OK)]) == EventDone()
    assert handlers.said == [("/a", "OK"), "b"]


def test_a_result_goes_to_the_next_call_if_that_takes_one() -> None:
    """Otherwise it is dropped, as is a result after a failure; `either` takes one of them."""
    handlers = Handlers()
    assert handlers.run(Call("give", (1,)), then(handlers.tell), Call("give", (2,)), say("no taker")) == EventDone()
    assert handlers.said == [1, "no taker"]
    handlers.said.clear()
    caught = either(then(handlers.tell))
    handlers.run(Call("give", (3,)), caught, throw(LED), then(handlers.tell), caught, throw(LED), on_failure(say()))
    assert handlers.said == [3, LED, LED]


def test_an_event_may_stop_after_a_completed_change() -> None:
    """The next call has its results; at the end of an event there is nothing to stop for."""
    handlers = Handlers()
    handlers.change_by_change = True
    stopped = handlers.process(Call("change", (then(handlers.tell), say("b"))))
    assert isinstance(stopped, EventWaiting)
    assert (stopped.awaits, handlers.said, handlers.requests(stopped.awaits)) == (None, [], ())
    with pytest.raises(ValueError, match="0 requests have 1 answers"):
        handlers.answered(stopped, [ZkResponse(Code.OK)])
    assert handlers.answered(stopped, []) == EventDone()
    assert handlers.said == [RESULTS, "b"]
    assert handlers.process(Call("change")) == EventDone()


def test_writes_are_fenced_and_a_controller_that_moved_drops_the_rest() -> None:
    """Final calls are tried, and fail in the same way; reads are not fenced."""
    handlers = Handlers()
    processing = handlers.process(Call("write", ("/b",)))
    assert isinstance(processing, EventWaiting)
    assert handlers.requests(processing.awaits) == (Multi((Check(CONTROLLER_EPOCH, 0), Create("/b"))),)
    ended = handlers.answered(processing, [ZkResponse(Code.SESSIONEXPIRED)])
    assert ended == EventDone(failure=Code.SESSIONEXPIRED)
    handlers.move()
    failed = handlers.run(READ, Call("write", ("/b",)), always(Call("write", ("/c",))), say("never"))
    assert failed == EventDone(failure=EventFailure.ControllerMoved)
    assert handlers.said == [("/a", "OK")]


def test_requests_that_cannot_be_sent_make_the_controller_move() -> None:
    """Even if the failure is caught: its effect on the controller remains."""

    def refuse(broker: int, request: object) -> None:
        raise RequestsNotSent(f"broker {broker} cannot be sent {request}")

    handlers = Handlers(refuse)
    assert handlers.run(Call("send_something"), on_failure(say())) == EventDone(must_reelect=True)
    assert handlers.said == [EventFailure.IllegalState]
    assert not handlers.batch.state.update_metadata_brokers


def test_a_batch_may_mix_reads() -> None:
    """They are sent as they are."""
    handlers = Handlers()
    requests = ZkRequests((GetData("/a"), GetChildren("/")))
    assert handlers.requests(Await(requests)) == requests.requests
    assert isinstance(handlers.requests(Await(ZkRequests((Delete("/a"),))))[0], Multi)


def test_invalid_calls_are_refused() -> None:
    """Calls are made by name, and compared by their arguments, in order."""
    handlers = Handlers()
    with pytest.raises(ValueError, match="process_nothing: a controller has no such method"):
        handlers.process(Call("process_nothing"))
    with pytest.raises(ValueError, match="read: arguments of a call are positional"):
        call(handlers.read, path="/a")
    with pytest.raises(ValueError, match="heard: arguments"):
        then(handlers.heard, path="/a")
    with pytest.raises(EventFailed) as failed:
        handlers.leadership_of(TopicPartition("t", 9))
    assert failed.value.cause is EventFailure.NeverLed


def test_a_call_prints_as_a_call() -> None:
    """In traces."""
    assert str(call(Handlers().both, "a", "b")) == "both(a, b)"
    assert str(Call("delete", (TopicPartition("t", 0),))) == "delete(t-0)"


OVERRIDDEN = {
    "maybe_complete_reassignment",
    "process_zk_partition_reassignment",
    "reassigned_partitions",
    "reassignment_target",
    "resume_reassignment",
}
"""The methods of `ZkReassignment` that `PartitionReassignment` overrides, and falls back to."""


def test_no_two_families_share_the_name_of_a_call() -> None:
    """A controller inherits from most of them, and calls are made by name."""
    families = [
        *(ControllerZkClient, PartitionStateMachine, ReplicaStateMachine, AlterPartitionProcessor),
        *(each for each in ControllerEventProcessor.__mro__ if issubclass(each, EventDriver)),
    ]
    sources = "".join(inspect.getsource(each) for each in families)
    called = set(re.findall(r"\b(?:call|then)\(\s*(?:self|its)(?:\.\w+)?\.(\w+)", sources))
    assert len(called) > 60
    of = {name: [each for each in families if name in vars(each)] for name in called}
    assert {name for name, found in of.items() if len(found) != 1} - OVERRIDDEN == set()
