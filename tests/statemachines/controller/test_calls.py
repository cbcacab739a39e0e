"""How the processing of an event is driven: which call is made when, and what a failure drops."""

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
from statemachines.controller.state_change import ChangeDone, EventDone, carry_out
from statemachines.controller.zk_client import ControllerZkClient
from statemachines.messages.topic_partition import TopicPartition
from statemachines.tables.partition import OfflinePartition, OnlinePartition
from statemachines.zookeeper.server import Multi
from statemachines.zookeeper.tree import Check, Code, Create, Delete
from tests.statemachines.control import EPOCH_ZK_VERSION, T0, Cluster


class Handlers(EventDriver):
    """Handlers that only say that they were called."""

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
        """Calls are made, one after the other."""
        return self.drive(self.handlers, self.handlers.process(Call("all_of", calls)), **interference)

    @property
    def said(self) -> list[Any]:
        """What the handlers have said."""
        return self.handlers.said


@pytest.fixture
def cluster() -> Handling:
    """Brokers 1, 2 and 3."""
    return Handling()


# Order


def test_calls_are_made_before_what_was_left(cluster: Handling) -> None:
    """Those that a handler leaves come before those that follow it, as in a program."""
    cluster.process(Call("both", ("a", "b")), Call("say", ("c",)))
    assert cluster.said == ["a", "b", "c"]


def test_an_event_waits_where_zookeeper_is_asked(cluster: Handling) -> None:
    """What is left can be stored, compared and gone on with."""
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


def test_an_empty_list_of_requests_is_not_awaited(cluster: Handling) -> None:
    """In Kafka the client returns at once."""
    assert cluster.handlers.process(Call("nothing_to_read")) == EventDone()
    assert cluster.said == [((), "nothing")]


def test_a_change_of_states_is_gone_through(cluster: Handling) -> None:
    """Batch by batch; the call takes what elections came to."""
    cluster.lead(T0, 4, (4, 1))
    cluster.process(Call("elect"))
    assert [results[0][0] for (results,) in cluster.said] == [T0]
    assert cluster.state(T0).leader == 1


def test_an_event_can_stop_at_each_change_that_is_over() -> None:
    """It goes on without an answer, and comes to the same; where nothing is left it does not stop."""
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


def test_a_stop_does_not_read_later_calls() -> None:
    """An engine that learns what steps depend on would learn every continuation."""

    class Unread(tuple[Any, ...]):
        def __iter__(self) -> Iterator[Any]:
            raise AssertionError("what is left has been read")

    handlers = Handling().handlers
    handlers.change_by_change = True
    stopped = EventWaiting(Await(ChangeDone(), call(handlers.say, "a")), Unread((call(handlers.say, "b"),)))
    assert handlers.advance(stopped) is stopped


def test_a_moved_controller_stops_at_a_finished_change(cluster: Handling) -> None:
    """To stop is not to write."""
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
    """`carry_out` does."""
    processing = cluster.handlers.process(Call("read", ("/b",)))
    assert carry_out(cluster.handlers, processing, cluster.zookeeper, None) == EventDone()
    assert cluster.said == [("/b", "NONODE")]


def test_the_caller_receives_the_result(cluster: Handling) -> None:
    """The answer is part of what is left until the event is over."""
    assert cluster.process(Call("answer", ("yes",)), Call("read", ("/a",))) == EventDone("yes")


# Failures


def test_a_failure_drops_the_remaining_calls(cluster: Handling) -> None:
    """And is said at the end."""
    failed = cluster.process(Call("throw", (EventFailure.NeverLed,)), Call("say", ("never",)))
    assert failed == EventDone(failure=EventFailure.NeverLed)
    assert cluster.said == []


def test_finally_calls_run_after_a_failure(cluster: Handling) -> None:
    """And the failure goes on. [finally]"""
    last = always(Call("read", ("/a",)))
    failed = cluster.process(Call("throw", (Code.SESSIONEXPIRED,)), last, Call("say", ("never",)))
    assert failed == EventDone(failure=Code.SESSIONEXPIRED)
    assert cluster.said == [("/a", "OK")]
    assert cluster.process(last, Call("say", ("then",))) == EventDone()
    assert cluster.said[1:] == [("/a", "OK"), "then"]


def test_a_failure_in_finally_replaces_the_earlier_one(cluster: Handling) -> None:
    """As an exception of a finally does."""
    last = always(Call("throw", (EventFailure.NoTopic,)))
    assert cluster.process(Call("throw", (EventFailure.NeverLed,)), last).failure is EventFailure.NoTopic


def test_a_failure_that_is_caught_goes_no_further(cluster: Handling) -> None:
    """It is told; where nothing fails, None is. [try, catch]"""
    catch = on_failure(Call("tell", ("caught",)))
    processed = cluster.process(
        Call("throw", (EventFailure.NeverLed,)), Call("say", ("never",)), catch, Call("say", ("then",)), catch
    )
    assert processed == EventDone()
    assert cluster.said == [(EventFailure.NeverLed, "caught"), "then", (None, "caught")]


def test_a_moved_controller_drops_the_remaining_calls() -> None:
    """Nothing has been written; what comes at last is tried, and finds the same."""
    cluster = Handling()
    cluster.elect_another_controller()
    failed = cluster.process(Call("write", ("/b",)), always(Call("write", ("/c",))), Call("say", ("never",)))
    assert failed == EventDone(failure=EventFailure.ControllerMoved)
    assert cluster.said == []
    assert "/b" not in cluster.zookeeper.state.nodes


def test_a_controller_moved_within_a_state_change_ends_the_event(cluster: Handling) -> None:
    """Between its reads and its writes, say."""
    cluster.lead(T0, 4, (4, 1))
    failed = cluster.process(Call("elect"), Call("say", ("never",)), before={1: cluster.elect_another_controller})
    assert failed.failure is EventFailure.ControllerMoved
    assert cluster.said == []


def test_an_error_for_a_fence_is_a_failure(cluster: Handling) -> None:
    """The session has ended, say."""
    processing = cluster.handlers.process(Call("write", ("/b",)))
    assert isinstance(processing, EventWaiting)
    ended = cluster.handlers.answered(processing, [ZkResponse(Code.SESSIONEXPIRED)])
    assert ended == EventDone(failure=Code.SESSIONEXPIRED)


def test_leftover_requests_cause_an_election(cluster: Handling) -> None:
    """They are forgotten, and another controller is to be elected. [handleIllegalState]"""
    cluster.batch.add_update_metadata_request_for_brokers((1,))
    assert cluster.process(Call("send_something")) == EventDone(failure=EventFailure.IllegalState, must_reelect=True)
    assert cluster.sent == []
    assert cluster.process(Call("send_something")) == EventDone()


def test_requests_that_cannot_be_sent_cause_an_election() -> None:
    """Also where the failure is caught: what it does to the controller is done."""

    def refuse(broker: int, request: object) -> None:
        raise OSError(f"broker {broker} cannot be sent {request}")

    cluster = Handling(send=refuse)
    processed = cluster.process(Call("send_something"), on_failure(Call("tell")))
    assert processed == EventDone(must_reelect=True)
    assert cluster.said == [(EventFailure.IllegalState,)]
    assert not cluster.batch.state.update_metadata_brokers


def test_a_moved_controller_writes_nothing(cluster: Handling) -> None:
    """It has resigned, and so has no epoch that a fence would let pass; it may read."""
    cluster.batch.add_update_metadata_request_for_brokers((1,))
    last = (always(Call("read", ("/a",))), always(Call("write", ("/b",))))
    processed = cluster.process(Call("send_something"), *last)
    assert processed == EventDone(failure=EventFailure.ControllerMoved, must_reelect=True)
    assert cluster.said == [("/a", "OK")]
    assert "/b" not in cluster.zookeeper.state.nodes


# Fences


def test_writes_are_fenced_and_reads_are_not(cluster: Handling) -> None:
    """By the version of the controller's epoch at the time."""
    processing = cluster.handlers.process(Call("write", ("/b",)))
    assert isinstance(processing, EventWaiting)
    check = Check(CONTROLLER_EPOCH, EPOCH_ZK_VERSION)
    assert cluster.handlers.requests(processing) == (Multi((check, Create("/b"))),)


def test_until_2_0_writes_were_not_fenced() -> None:
    """What another controller does is not noticed. [B4]"""
    cluster = Handling(ControlDesign(fence_zk=False))
    cluster.elect_another_controller()
    assert cluster.process(Call("write", ("/b",))) == EventDone()
    assert cluster.said == [("/b", "OK")]


def test_until_2_1_metadata_without_partitions_was_of_all() -> None:
    """Since then it is of none. [KAFKA-7537]"""
    counts = []
    for brokers_only in (False, True):
        cluster = Handling(ControlDesign(brokers_only_metadata=brokers_only))
        cluster.lead(T0, 1, (1, 2))
        cluster.process(Call("send_something"))
        counts.append(len(cluster.metadata()[1].partitionStates))
    assert counts == [1, 0]


# What is refused


def test_a_handler_that_there_is_not_is_refused(cluster: Handling) -> None:
    """By its name, and nothing changes."""
    with pytest.raises(ValueError, match="process_nothing: a controller has no such method"):
        cluster.handlers.process(Call("process_nothing"))
    assert cluster.said == []


def test_answers_must_match_requests(cluster: Handling) -> None:
    """Else nothing changes."""
    processing = cluster.handlers.process(Call("read", ("/a",)))
    assert isinstance(processing, EventWaiting)
    with pytest.raises(ValueError, match="1 requests have 2 answers"):
        cluster.handlers.answered(processing, [ZkResponse(Code.OK)] * 2)
    assert cluster.said == []


def test_arguments_of_calls_have_no_names(cluster: Handling) -> None:
    """A call is compared by them, in their order."""
    with pytest.raises(ValueError, match="read: arguments of a call are positional"):
        call(cluster.handlers.read, path="/a")
    with pytest.raises(ValueError, match="heard: arguments"):
        then(cluster.handlers.heard, path="/a")


def test_a_call_reads_as_one(cluster: Handling) -> None:
    """In traces."""
    assert str(call(cluster.handlers.both, "a", "b")) == "both(a, b)"
    assert str(Call("delete", (T0,))) == "delete(t-0)"


def test_a_partition_without_leader_is_a_failure(cluster: Handling) -> None:
    """Where Kafka takes it for granted that there is one."""
    with pytest.raises(EventFailed) as failed:
        cluster.handlers.leadership_of(TopicPartition("t", 9))
    assert failed.value.cause is EventFailure.NeverLed


def test_a_batch_of_reads_is_one_step(cluster: Handling) -> None:
    """Different reads may stand in one."""
    requests = ZkRequests((GetData("/a"), GetChildren("/")))
    processing = EventWaiting(Await(requests))
    assert cluster.handlers.requests(processing) == requests.requests
    assert cluster.handlers.answered(processing, [ZkResponse(Code.OK)] * 2) == EventDone()
    assert isinstance(cluster.handlers.requests(EventWaiting(Await(ZkRequests((Delete("/a"),)))))[0], Multi)


def test_without_channels_nothing_is_sent(cluster: Handling) -> None:
    """They are for who has some."""
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
"""What `PartitionReassignment` does otherwise than `ZkReassignment`, which it falls back to."""


def test_no_two_families_have_a_method_of_one_name() -> None:
    """A controller inherits from all of them, and a call of it or of its client goes by name."""
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
