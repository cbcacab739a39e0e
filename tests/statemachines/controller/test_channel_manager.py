"""Requests reach each broker in order and at least once, independently of the other brokers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from election.brokers import InvalidBrokers
from statemachines.controller.channel_manager import (
    ControllerChannelManager,
    Delivery,
    InMemoryChannels,
    RequestNotSent,
    RequestSendThread,
)
from statemachines.controller.context import ControllerContext
from statemachines.controller.control_responses import (
    ControlResponse,
    LeaderAndIsrResponse,
    LeaderAndIsrResponseReceived,
    UpdateMetadataResponse,
)
from statemachines.messages.control_requests import (
    ControlRequest,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from statemachines.messages.errors import Errors
from tests.mutants import mutant_tests
from tests.rows import rows

Kind = type[ControllerChannelManager]
DONE = UpdateMetadataResponse(Errors.NONE)


def numbered(number: int) -> UpdateMetadataRequest:
    """A request with a number of its own."""
    return UpdateMetadataRequest(9, number, 101, (), ())


class Channels:
    """A controller's channels, brokers that record the requests they handle, and the log."""

    def __init__(self, *brokers: int, kind: Kind = ControllerChannelManager) -> None:
        self.log: list[RequestNotSent] = []
        self.manager = kind(ControllerContext(), log=self.log.append)
        self.manager.startup(brokers)
        self.handled: dict[int, list[int]] = {}

    def send(self, broker: int, *numbers: int) -> None:
        """Put requests into a broker's queue."""
        for number in numbers:
            self.manager.send_request(broker, numbered(number))

    def exchange(self, broker: int, *deliveries: Delivery) -> None:
        """Send to a broker; `deliveries` says what happens to each attempt."""

        def handle(request: ControlRequest) -> ControlResponse:
            self.handled.setdefault(broker, []).append(request.controllerEpoch)
            return DONE

        for delivery in deliveries or (Delivery.Answered,):
            self.manager.exchange(broker, handle, delivery)

    def waiting(self, broker: int) -> bool:
        """Whether a request waits for a broker."""
        sending = self.manager.state.request_send_threads[broker].request is not None
        return sending or self.manager.queue_size(broker) > 0

    def drain(self, broker: int) -> None:
        """Send all waiting requests."""
        while self.waiting(broker):
            self.exchange(broker)


def goes_in_order(kind: Kind) -> None:
    """A queue is first in, first out."""
    channels = Channels(1, kind=kind)
    channels.send(1, 1, 2, 3)
    channels.drain(1)
    assert channels.handled == {1: [1, 2, 3]}


def sends_again(kind: Kind) -> None:
    """A request whose reply was lost is sent again before the next one, and the broker handles it twice."""
    channels = Channels(1, kind=kind)
    channels.send(1, 1, 2)
    channels.exchange(1, Delivery.NotDelivered, Delivery.ReplyLost)
    channels.drain(1)
    assert channels.handled == {1: [1, 1, 2]}


def does_not_wait_for_others(kind: Kind) -> None:
    """A broker that does not reply delays no other."""
    channels = Channels(1, 2, kind=kind)
    for broker in (1, 2):
        channels.send(broker, 1, 2)
    channels.exchange(1, Delivery.NotDelivered)
    channels.drain(2)
    assert channels.handled == {2: [1, 2]}
    assert channels.manager.total_queue_size() == channels.manager.queue_size(1) == 1


def forgets_with_the_channel(kind: Kind) -> None:
    """A broker that returns receives none of its old requests."""
    channels = Channels(1, kind=kind)
    channels.send(1, 1, 2)
    channels.exchange(1, Delivery.ReplyLost)
    assert channels.manager.remove_broker(1) == numbered(1)
    channels.manager.add_broker(1)
    channels.send(1, 3)
    channels.drain(1)
    assert channels.handled == {1: [1, 3]}


def keeps_the_channel_that_is_there(kind: Kind) -> None:
    """A broker that is added again keeps its queue."""
    channels = Channels(1, kind=kind)
    channels.send(1, 1)
    channels.manager.add_broker(1)
    channels.drain(1)
    assert channels.handled == {1: [1]}


def drops_without_channel(kind: Kind) -> None:
    """A request to an absent broker is logged and dropped."""
    channels = Channels(1, kind=kind)
    channels.send(2, 1)
    assert channels.log == [RequestNotSent(2, numbered(1))]
    channels.manager.add_broker(2)
    assert not channels.waiting(2)


def ends_with_the_controller(kind: Kind) -> None:
    """A controller that resigns has no channels; a new one begins with empty queues."""
    channels = Channels(1, 2, kind=kind)
    channels.send(1, 1)
    channels.exchange(1, Delivery.NotDelivered)
    channels.manager.shutdown()
    assert channels.manager.state == InMemoryChannels()
    channels.manager.startup([1])
    assert channels.manager.state == InMemoryChannels({1: ()}, {1: RequestSendThread(started=True)})


class QueueIsNotFifo(ControllerChannelManager):
    """The last request goes first."""

    def send_request(self, broker: int, request: ControlRequest) -> None:
        queues = self.state.message_queues
        super().send_request(broker, request)
        if broker in queues:
            queues[broker] = (queues[broker][-1], *queues[broker][:-1])


class SendsOnce(ControllerChannelManager):
    """A request whose reply was lost is not sent again."""

    def exchange(
        self,
        broker: int,
        handle: Callable[[ControlRequest], ControlResponse],
        delivery: Delivery = Delivery.Answered,
    ) -> None:
        super().exchange(broker, handle, delivery)
        self.state.request_send_threads[broker] = RequestSendThread(started=True)


class PutsItBack(ControllerChannelManager):
    """A request whose connection broke goes to the end of the queue."""

    def exchange(
        self,
        broker: int,
        handle: Callable[[ControlRequest], ControlResponse],
        delivery: Delivery = Delivery.Answered,
    ) -> None:
        super().exchange(broker, handle, delivery)
        request = self.state.request_send_threads[broker].request
        if request is not None:
            self.state.message_queues[broker] += (request,)
            self.state.request_send_threads[broker] = RequestSendThread(started=True)


class OneQueueForAll(ControllerChannelManager):
    """While one broker does not reply, it sends nothing to another."""

    def take(self, broker: int) -> ControlRequest:
        busy = [each for each, thread in self.state.request_send_threads.items() if thread.request is not None]
        assert busy in ([], [broker]), "another broker has not replied"
        return super().take(broker)


class KeepsTheQueue(ControllerChannelManager):
    """Requests to a removed broker are sent after its return."""

    def remove_broker(self, broker: int) -> ControlRequest | None:
        self.kept = self.state.message_queues[broker]
        return super().remove_broker(broker)

    def add_broker(self, broker: int) -> None:
        super().add_broker(broker)
        self.state.message_queues[broker] = self.kept


class ReplacesTheChannel(ControllerChannelManager):
    """A broker that is added again has a new channel."""

    def add_broker(self, broker: int) -> None:
        self._add_new_broker(broker)
        self._start_request_send_thread(broker)


class QueuesForTheAbsent(ControllerChannelManager):
    """A request to a broker without channel waits for one."""

    def send_request(self, broker: int, request: ControlRequest) -> None:
        self.add_broker(broker)
        super().send_request(broker, request)


class KeepsChannelsWhenItResigns(ControllerChannelManager):
    """Requests of a controller that has resigned are still sent."""

    def shutdown(self) -> None:
        pass


MUTANTS: list[tuple[Kind, Callable[[Kind], None]]] = [
    (QueueIsNotFifo, goes_in_order),
    (SendsOnce, sends_again),
    (PutsItBack, sends_again),
    (OneQueueForAll, does_not_wait_for_others),
    (KeepsTheQueue, forgets_with_the_channel),
    (ReplacesTheChannel, keeps_the_channel_that_is_there),
    (QueuesForTheAbsent, drops_without_channel),
    (KeepsChannelsWhenItResigns, ends_with_the_controller),
]


test_the_channels_pass, test_each_mutant_is_caught = mutant_tests(ControllerChannelManager, MUTANTS)


@given(st.lists(st.tuples(st.sampled_from([1, 2]), st.sampled_from([None, *Delivery])), max_size=40))
def test_every_request_is_handled_in_order_and_at_least_once(steps: Sequence[tuple[int, Delivery | None]]) -> None:
    """Whatever breaks in between: without repetitions, each broker handles its requests in order."""
    channels = Channels(1, 2)
    put: dict[int, list[int]] = {1: [], 2: []}
    for number, (broker, delivery) in enumerate(steps):
        if delivery is None:
            channels.send(broker, number)
            put[broker].append(number)
        elif channels.waiting(broker):
            channels.exchange(broker, delivery)
    for broker in (1, 2):
        channels.drain(broker)
        handled = channels.handled.get(broker, [])
        assert handled == sorted(handled), "a request overtakes another, or is repeated after it"
        assert list(dict.fromkeys(handled)) == put[broker]


def test_an_answer_becomes_an_event_and_frees_the_thread() -> None:
    """Step by step, as in a specification."""
    manager = Channels(1).manager
    request = LeaderAndIsrRequest(9, 5, 101, (), ())
    manager.send_request(1, request)
    manager.send_request(1, numbered(2))
    assert manager.take(1) is manager.broken(1) is manager.broken(1) is request
    response = LeaderAndIsrResponse(Errors.NONE)
    assert manager.answered(1, response) == LeaderAndIsrResponseReceived(response, 1)
    assert manager.take(1) == numbered(2)


def test_the_request_in_flight_is_not_queued() -> None:
    """The queue's gauge does not count it."""
    channels = Channels(1)
    channels.send(1, 1, 2)
    assert channels.manager.queue_size(1) == 2
    channels.manager.take(1)
    assert channels.manager.queue_size(1) == 1


@rows(
    "step, message",
    [
        (lambda manager: manager.remove_broker(7), "no channel to broker 7"),
        (lambda manager: manager.take(7), "no channel to broker 7"),
        (lambda manager: manager.queue_size(7), "no channel to broker 7"),
        (lambda manager: manager.take(2), "broker 2 takes no request: nothing waits"),
        (lambda manager: manager.take(1), "broker 1 takes no request: it is sending one"),
        (lambda manager: manager.answered(2, DONE), "broker 2 is sending nothing"),
        (lambda manager: manager.broken(2), "broker 2 is sending nothing"),
        (lambda manager: manager.answered(1, LeaderAndIsrResponse(Errors.NONE)), "not answered by LeaderAndIsr"),
        (lambda manager: manager.add_broker(-1), "-1 is no broker id"),
        (lambda manager: manager.startup([3, 3]), "broker 3 occurs twice"),
    ],
)
def test_impossible_calls_are_refused(step: Callable[[ControllerChannelManager], object], message: str) -> None:
    """With the value; nothing changes."""
    channels = Channels(1, 2)
    channels.send(1, 1, 2)
    channels.manager.take(1)
    state = channels.manager.state
    before = dict(state.message_queues), dict(state.request_send_threads)
    with pytest.raises((ValueError, InvalidBrokers), match=message):
        step(channels.manager)
    assert (state.message_queues, state.request_send_threads) == before


def test_a_thread_that_has_not_been_started_takes_nothing() -> None:
    """A new controller starts all threads last."""
    manager = ControllerChannelManager(
        ControllerContext(), InMemoryChannels({1: (numbered(1),)}, {1: RequestSendThread()})
    )
    with pytest.raises(ValueError, match="broker 1 takes no request: it has not been started"):
        manager.take(1)
    manager.startup([])
    assert manager.take(1) == numbered(1)


def test_a_queue_can_be_read() -> None:
    """With Kafka's names of the requests; reading removes nothing."""
    channels = Channels(1)
    stop = StopReplicaRequest(9, 2, 101, False, ())
    channels.send(1, 1)
    channels.manager.send_request(1, stop)
    items = channels.manager.queue(1)
    assert items == (("UPDATE_METADATA", numbered(1)), ("STOP_REPLICA", stop))
    assert channels.manager.queue(1) == items
    with pytest.raises(ValueError, match="no channel to broker 2"):
        channels.manager.queue(2)
