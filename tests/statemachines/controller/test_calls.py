"""How the processing of an event is driven: the order of its calls, and the calls that a failure drops."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import pytest

from statemachines.controller.calls import (
    Await,
    Call,
    Callback,
    Calls,
    EventFailed,
    EventFailure,
    EventWaiting,
    ZkRequests,
    always,
    call,
    on_failure,
    then,
)
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.controller.event_driver import EventDriver
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.kafka_zk_client import GetChildren, GetData, ZkResponse, retry_requests_until_connected
from statemachines.controller.partition_state_machine import OFFLINE
from statemachines.controller.request_batch import RequestsNotSent
from statemachines.controller.state_change import ChangeDone, EventDone, carry_out
from statemachines.controller.zk_client import ControllerZkClient
from statemachines.messages.topic_partition import TopicPartition
from statemachines.tables.partition import OfflinePartition, OnlinePartition
from statemachines.zookeeper.server import Multi
from statemachines.zookeeper.tree import Check, Code, Create, Delete
from tests.statemachines.control import EPOCH_ZK_VERSION, T0, Cluster


class Handlers(EventDriver):
    """Handlers that only record their calls."""

    said: list[Any]

    def say(self, *words: Any) -> None:
        self.said.append(words[0] if len(words) == 1 else words)

    def tell(self, answer: Any, *words: Any) -> None:
        self.said.append((answer, *words))

    def both(self, first: str, second: str) -> Calls:
        return (call(self.say, first), call(self.say, second))

    def read(self, path: str) -> Calls:
        return (Await(ZkRequests((GetData(path),)), then(self.heard, path)),)

    def heard(self, responses: Sequence[ZkResponse], path: str) -> None:
        self.said.append((path, responses[0].code.name))

    def write(self, path: str) -> Calls:
        return (Await(ZkRequests((Create(path),)), then(self.heard, path)),)

    def nothing_to_read(self) -> Calls:
        return (Await(ZkRequests(()), then(self.tell, "nothing")),)

    def answer(self, what: str) -> Calls:
        return (Callback(what),)

    def throw(self, cause: EventFailure | Code) -> None:
        raise EventFailed(cause)

    def all_of(self, *calls: Call) -> Calls:
        return calls

    def elect(self) -> Calls:
        return (
            call(self.partitions_become, (T0,), OfflinePartition),
            call(self.partitions_become, (T0,), OnlinePartition, OFFLINE, then(self.tell)),
        )

    def send_something(self) -> None:
        self.send_update_metadata_request((1,))


class Handling(Cluster):
    """A cluster whose controller has these handlers."""

    def __init__(self, design: ControlDesign | None = None, send: Any = None) -> None:
        super().__init__(design=design, send=send)
        self.handlers = Handlers(self.partitions, self.replicas, self.batch)
        self.handlers.said = []
        self.zookeeper.create(None, "/a")

    def process(self, *calls: Call, **interference: Any) -> EventDone:
        """Make these calls, one after the other."""
        return self.drive(self.handlers, self.handlers.process(Call("all_of", calls)), **interference)

    @property
    def said(self) -> list[Any]:
        """The record of the calls."""
        return self.handlers.said


@pytest.fixture
def cluster() -> Handling:
    """Brokers 1, 2 and 3."""
    return Handling()


# Order


def test_new_calls_precede_the_remaining_ones(cluster: Handling) -> None:
    """The calls of a handler run before those that follow the handler, as in a program."""
    cluster.process(Call("both", ("a", "b")), Call("say", ("c",)))
    assert cluster.said == ["a", "b", "c"]


def test_an_event_waits_for_zookeeper(cluster: Handling) -> None:
    """Its remaining calls can be stored, compared and resumed."""
    processing = cluster.handlers.process(Call("all_of", (Call("read", ("/a",)), Call("say", ("b",)))))
    assert isinstance(processing, EventWaiting)
    assert cluster.said == []
    assert processing.calls == (call(cluster.handlers.say, "b"),)
    assert cluster.handlers.requests(processing) == (GetData("/a"),)
    again = pickle.loads(pickle.dumps(processing))
    assert again == processing
    assert hash(again) == hash(processing)
    assert cluster.handlers.answered(again, [ZkResponse(Code.OK)]) == EventDone()
    assert cluster.said == [("/a", "OK"), "b"]


def test_an_empty_batch_does_not_wait(cluster: Handling) -> None:
    """In Kafka the client returns at once."""
    assert cluster.handlers.process(Call("nothing_to_read")) == EventDone()
    assert cluster.said == [((), "nothing")]


def test_a_change_of_states_runs_to_its_end(cluster: Handling) -> None:
    """Batch by batch; the call receives the results of the elections."""
    cluster.lead(T0, 4, (4, 1))
    cluster.process(Call("elect"))
    assert [results[0][0] for (results,) in cluster.said] == [T0]
    assert cluster.state(T0).leader == 1


def test_an_event_can_stop_after_each_change() -> None:
    """It resumes without a response, with the same result; it does not stop if no call remains."""
    ends = []
    for change_by_change in (False, True):
        cluster = Handling()
        cluster.lead(T0, 4, (4, 1))
        cluster.handlers.change_by_change = change_by_change
        step = cluster.handlers.process(Call("all_of", (Call("elect"), Call("say", ("b",)))))
        stops = 0
        while isinstance(step, EventWaiting):
            over = isinstance(step.awaits.what, ChangeDone)
            assert over == (cluster.handlers.requests(step) == ())
            if over:
                with pytest.raises(ValueError, match="no requests have 1 answers"):
                    cluster.handlers.answered(step, [ZkResponse(Code.OK)])
            stops += over
            step = cluster.handlers.answered(
                step, retry_requests_until_connected(cluster.zookeeper, None, cluster.handlers.requests(step))
            )
        assert stops == (2 if change_by_change else 0)
        ends.append((step, cluster.said, cluster.state(T0), cluster.sent))
    assert ends[0] == ends[1]
    cluster.said.clear()
    assert cluster.handlers.process(Call("partitions_become", ((T0,), OfflinePartition))) == EventDone()


def test_a_stop_does_not_read_the_remaining_calls() -> None:
    """An engine that records what steps read would otherwise record every continuation."""

    class Unread(tuple[Any, ...]):
        def __iter__(self) -> Iterator[Any]:
            raise AssertionError("the remaining calls have been read")

    handlers = Handling().handlers
    handlers.change_by_change = True
    stopped = EventWaiting(Await(ChangeDone(), call(handlers.say, "a")), Unread((call(handlers.say, "b"),)))
    assert handlers.advance(stopped) is stopped


def test_a_moved_controller_stops_after_a_change_too(cluster: Handling) -> None:
    """A stop does not write."""
    cluster.lead(T0, 1, (1, 2))
    cluster.handlers.change_by_change = True
    cluster.batch.add_update_metadata_request_for_brokers((1,))
    offline = always(Call("partitions_become", ((T0,), OfflinePartition)))
    step = cluster.handlers.process(Call("all_of", (Call("send_something"), offline, always(Call("say", ("b",))))))
    assert isinstance(step, EventWaiting)
    assert step.awaits.what == ChangeDone()
    assert cluster.handlers.answered(step, ()) == EventDone(failure=EventFailure.IllegalState, must_reelect=True)
    assert cluster.said == ["b"]


def test_the_driver_of_state_machines_drives_events(cluster: Handling) -> None:
    """Its name is `carry_out`."""
    processing = cluster.handlers.process(Call("read", ("/b",)))
    assert carry_out(cluster.handlers, processing, cluster.zookeeper, None) == EventDone()
    assert cluster.said == [("/b", "NONODE")]


def test_the_caller_receives_the_result(cluster: Handling) -> None:
    """The result is one of the remaining calls until the event is over."""
    assert cluster.process(Call("answer", ("yes",)), Call("read", ("/a",))) == EventDone("yes")


# Failures


def test_a_failure_drops_the_remaining_calls(cluster: Handling) -> None:
    """And is reported at the end."""
    failed = cluster.process(Call("throw", (EventFailure.NeverLed,)), Call("say", ("never",)))
    assert failed == EventDone(failure=EventFailure.NeverLed)
    assert cluster.said == []


def test_finally_calls_run_after_a_failure(cluster: Handling) -> None:
    """And the failure continues. [finally]"""
    last = always(Call("read", ("/a",)))
    failed = cluster.process(Call("throw", (Code.SESSIONEXPIRED,)), last, Call("say", ("never",)))
    assert failed == EventDone(failure=Code.SESSIONEXPIRED)
    assert cluster.said == [("/a", "OK")]
    assert cluster.process(last, Call("say", ("then",))) == EventDone()
    assert cluster.said[1:] == [("/a", "OK"), "then"]


def test_a_failure_in_finally_replaces_the_earlier_one(cluster: Handling) -> None:
    """As an exception in a `finally` does."""
    last = always(Call("throw", (EventFailure.NoTopic,)))
    assert cluster.process(Call("throw", (EventFailure.NeverLed,)), last).failure is EventFailure.NoTopic


def test_a_failure_that_is_caught_goes_no_further(cluster: Handling) -> None:
    """The handler receives it, or None if nothing fails. [try, catch]"""
    catch = on_failure(Call("tell", ("caught",)))
    processed = cluster.process(
        Call("throw", (EventFailure.NeverLed,)), Call("say", ("never",)), catch, Call("say", ("then",)), catch
    )
    assert processed == EventDone()
    assert cluster.said == [(EventFailure.NeverLed, "caught"), "then", (None, "caught")]


def test_a_moved_controller_drops_the_remaining_calls() -> None:
    """Nothing has been written; the final calls are tried, and fail in the same way."""
    cluster = Handling()
    cluster.elect_another_controller()
    failed = cluster.process(Call("write", ("/b",)), always(Call("write", ("/c",))), Call("say", ("never",)))
    assert failed == EventDone(failure=EventFailure.ControllerMoved)
    assert cluster.said == []
    assert "/b" not in cluster.zookeeper.state.nodes


def test_a_move_within_a_change_of_states_drops_the_remaining_calls(cluster: Handling) -> None:
    """For example between its reads and its writes."""
    cluster.lead(T0, 4, (4, 1))
    failed = cluster.process(Call("elect"), Call("say", ("never",)), before={1: cluster.elect_another_controller})
    assert failed.failure is EventFailure.ControllerMoved
    assert cluster.said == []


def test_a_failed_fence_is_a_failure(cluster: Handling) -> None:
    """For example because the session has ended."""
    processing = cluster.handlers.process(Call("write", ("/b",)))
    assert isinstance(processing, EventWaiting)
    ended = cluster.handlers.answered(processing, [ZkResponse(Code.SESSIONEXPIRED)])
    assert ended == EventDone(failure=Code.SESSIONEXPIRED)


def test_leftover_requests_make_the_controller_move(cluster: Handling) -> None:
    """They are dropped, and another controller must be elected. [handleIllegalState]"""
    cluster.batch.add_update_metadata_request_for_brokers((1,))
    assert cluster.process(Call("send_something")) == EventDone(failure=EventFailure.IllegalState, must_reelect=True)
    assert cluster.sent == []
    assert cluster.process(Call("send_something")) == EventDone()


def test_unsendable_requests_make_the_controller_move() -> None:
    """Even if the failure is caught: its effect on the controller remains."""

    def refuse(broker: int, request: object) -> None:
        raise RequestsNotSent(f"broker {broker} cannot be sent {request}")

    cluster = Handling(send=refuse)
    processed = cluster.process(Call("send_something"), on_failure(Call("tell")))
    assert processed == EventDone(must_reelect=True)
    assert cluster.said == [(EventFailure.IllegalState,)]
    assert not cluster.batch.state.update_metadata_brokers


def test_a_moved_controller_writes_nothing(cluster: Handling) -> None:
    """It has resigned, and so has no epoch that would pass a fence; it may read."""
    cluster.batch.add_update_metadata_request_for_brokers((1,))
    last = (always(Call("read", ("/a",))), always(Call("write", ("/b",))))
    processed = cluster.process(Call("send_something"), *last)
    assert processed == EventDone(failure=EventFailure.ControllerMoved, must_reelect=True)
    assert cluster.said == [("/a", "OK")]
    assert "/b" not in cluster.zookeeper.state.nodes


# Fences


def test_writes_are_fenced_and_reads_are_not(cluster: Handling) -> None:
    """By the current version of the controller epoch."""
    processing = cluster.handlers.process(Call("write", ("/b",)))
    assert isinstance(processing, EventWaiting)
    check = Check(CONTROLLER_EPOCH, EPOCH_ZK_VERSION)
    assert cluster.handlers.requests(processing) == (Multi((check, Create("/b"))),)


def test_until_2_0_writes_were_not_fenced() -> None:
    """It does not notice another controller. [B4]"""
    cluster = Handling(ControlDesign().but(fence_zk=False))
    cluster.elect_another_controller()
    assert cluster.process(Call("write", ("/b",))) == EventDone()
    assert cluster.said == [("/b", "OK")]


def test_until_2_1_metadata_without_partitions_meant_all_partitions() -> None:
    """Since then it means none. [KAFKA-7537]"""
    sizes = []
    for brokers_only in (False, True):
        cluster = Handling(ControlDesign().but(brokers_only_metadata=brokers_only))
        cluster.lead(T0, 1, (1, 2))
        cluster.process(Call("send_something"))
        sizes.append(len(cluster.metadata()[1].partitionStates))
    assert sizes == [1, 0]


# Refused calls


def test_an_unknown_handler_is_refused(cluster: Handling) -> None:
    """With its name; nothing changes."""
    with pytest.raises(ValueError, match="process_nothing: a controller has no such method"):
        cluster.handlers.process(Call("process_nothing"))
    assert cluster.said == []


def test_the_number_of_answers_must_match(cluster: Handling) -> None:
    """Otherwise nothing changes."""
    processing = cluster.handlers.process(Call("read", ("/a",)))
    assert isinstance(processing, EventWaiting)
    with pytest.raises(ValueError, match="1 requests have 2 answers"):
        cluster.handlers.answered(processing, [ZkResponse(Code.OK)] * 2)
    assert cluster.said == []


def test_arguments_of_calls_are_positional(cluster: Handling) -> None:
    """Calls are compared by their arguments, in order."""
    with pytest.raises(ValueError, match="read: arguments of a call are positional"):
        call(cluster.handlers.read, path="/a")
    with pytest.raises(ValueError, match="heard: arguments"):
        then(cluster.handlers.heard, path="/a")


def test_a_call_prints_as_a_call(cluster: Handling) -> None:
    """In traces."""
    assert str(call(cluster.handlers.both, "a", "b")) == "both(a, b)"
    assert str(Call("delete", (T0,))) == "delete(t-0)"


def test_a_partition_without_leader_is_a_failure(cluster: Handling) -> None:
    """Where Kafka assumes that there is a leader."""
    with pytest.raises(EventFailed) as failed:
        cluster.handlers.leadership_of(TopicPartition("t", 9))
    assert failed.value.cause is EventFailure.NeverLed


def test_a_batch_of_reads_is_one_step(cluster: Handling) -> None:
    """It may mix different reads."""
    requests = ZkRequests((GetData("/a"), GetChildren("/")))
    processing = EventWaiting(Await(requests))
    assert cluster.handlers.requests(processing) == requests.requests
    assert cluster.handlers.answered(processing, [ZkResponse(Code.OK)] * 2) == EventDone()
    assert isinstance(cluster.handlers.requests(EventWaiting(Await(ZkRequests((Delete("/a"),)))))[0], Multi)


def test_without_channels_nothing_is_sent(cluster: Handling) -> None:
    """A channel manager is optional."""
    cluster.handlers.channels.startup((1,))
    cluster.handlers.channels.shutdown()
    cluster.handlers.channels.add_broker(1)
    cluster.handlers.channels.remove_broker(1)


# The families


OVERRIDDEN = {
    "maybe_complete_reassignment",
    "process_zk_partition_reassignment",
    "reassigned_partitions",
    "reassignment_target",
    "resume_reassignment",
}
"""The methods of `ZkReassignment` that `PartitionReassignment` overrides, and falls back to."""


def test_no_two_families_share_a_method_name() -> None:
    """A controller inherits from all of them, and calls are made by name."""
    families = [
        ControllerZkClient,
        *(each for each in ControllerEventProcessor.__mro__ if issubclass(each, EventDriver)),
    ]
    twice = {
        name
        for one, other in combinations(families, 2)
        for name in vars(one).keys() & vars(other).keys()
        if not name.startswith("__") and not name.endswith("_FRAMES") and name not in OVERRIDDEN | {"machine_of"}
    }
    assert twice == set()
