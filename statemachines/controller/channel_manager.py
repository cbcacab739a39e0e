"""ControllerChannelManager: how a controller's requests reach brokers, with one channel for each.

A channel is a queue and a thread. The controller puts requests into the queues, and never waits. A broker's thread
takes the first request, sends it until it gets a response, and only then takes the next. So requests arrive

    in order        a broker handles requests in the order in which they were queued
    at least once   a request whose response was lost, or whose connection broke, is sent again: the broker may handle
                    it twice
    isolated        a broker that is slow, or down, delays no other broker

Removing a broker ends its channel, and a resignation ends all channels. Queued requests are dropped, and the one in
flight is not sent again; the controller does not know whether the broker has handled it, or still will. A request to
a broker without channel is logged and dropped. Requests of two controllers to one broker are unordered.

Each step of a thread is a method: `take`, then `broken` any number of times, then `answered`. Without a network,
`exchange` performs all of them.

Of Kafka's ControllerBrokerStateInfo, this keeps the queue, the thread and the values read from them. The network
client, the node's address, the request's configuration and its logger are left out.

Left out: connections, timeouts (`controller.socket.timeout.ms`), the pause before a request is sent again
(`RETRY_BACKOFF_MS`), and metrics of time. A request over a connection that broke is handled before it is sent again,
or not at all; on a real broker two threads may handle the two in any order.

Not modelled: until 0.10.2.0 the client was closed before the thread had stopped, which could then fail in any way
[KAFKA-4959, 0.10.2.1]. The metrics of queues exist since 0.11 [KAFKA-5135] (`statemachines.controller.metrics`).

[ControllerChannelManager.scala, 3.9]
"""

from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple, Protocol

from election.brokers import in_order
from election.ids import BrokerId
from statemachines.controller.context import ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.control_responses import ControlResponse, ControlResponseReceived, response_received
from statemachines.messages.control_requests import (
    ControlRequest,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)

RETRY_BACKOFF_MS: Final = 100
"""The pause before a thread sends a request again, or checks again whether its broker can be reached."""
API_KEYS: Final = {
    LeaderAndIsrRequest: "LEADER_AND_ISR",
    StopReplicaRequest: "STOP_REPLICA",
    UpdateMetadataRequest: "UPDATE_METADATA",
}


def send_thread_name(controller: BrokerId, broker: BrokerId) -> str:
    """The name of the thread that sends a controller's requests to a broker, in logs and thread dumps.

    >>> send_thread_name(1, 2)
    'Controller-1-to-broker-2-send-thread'
    """
    return f"Controller-{controller}-to-broker-{broker}-send-thread"


class RequestSendThread(NamedTuple):
    """The state of a channel's thread."""

    started: bool = False
    request: ControlRequest | None = None
    """The request that it sends until there is a response; None: it waits for its queue."""


class QueueItem(NamedTuple):
    """An entry of a queue, as in Kafka, without its callback and the time."""

    api_key: str
    request: ControlRequest


class RequestNotSent(NamedTuple):
    """A request to a broker without channel, which Kafka logs and drops."""

    broker: BrokerId
    request: ControlRequest


class Delivery(Enum):
    """The fate of a request that is sent once."""

    Answered = "the broker handles it, and the reply arrives"
    ReplyLost = "the broker handles it, and the connection breaks before the reply arrives"
    NotDelivered = "there is no connection, or it breaks before the broker has the request"

    def __str__(self) -> str:
        return self.name


class ChannelState(Protocol):
    """The channels, as variables. Values are immutable and replaced as a whole."""

    @property
    def message_queues(self) -> MutableMapping[BrokerId, tuple[ControlRequest, ...]]:
        """The queued requests of each broker that has a channel, in order."""

    @property
    def request_send_threads(self) -> MutableMapping[BrokerId, RequestSendThread]:
        """The thread of each of these brokers."""


@dataclass
class InMemoryChannels:
    """The channels, over dicts; initially none."""

    message_queues: MutableMapping[BrokerId, tuple[ControlRequest, ...]] = field(default_factory=dict)
    request_send_threads: MutableMapping[BrokerId, RequestSendThread] = field(default_factory=dict)


class ControllerChannelManager:
    """The channels of one controller.

    >>> from statemachines.messages.control_requests import UpdateMetadataRequest
    >>> channels = ControllerChannelManager(ControllerContext())
    >>> channels.startup([1, 2])
    >>> for epoch in (1, 2):
    ...     channels.send_request(1, UpdateMetadataRequest(9, epoch, 101, (), (1, 2)))
    >>> channels.take(1).controllerEpoch
    1
    >>> channels.queue_size(1), channels.total_queue_size()
    (1, 1)

    Args:
        context: the controller's context; it shows which responses concern a deletion.
        state: the channels; by default in memory.
        design: the design of its release.
        log: called with each dropped request.
    """

    def __init__(
        self,
        context: ControllerContext,
        state: ChannelState | None = None,
        design: ControlDesign | None = None,
        log: Callable[[RequestNotSent], object] = lambda dropped: None,
    ) -> None:
        self.context, self.log = context, log
        self.state: ChannelState = InMemoryChannels() if state is None else state
        self.design = ControlDesign() if design is None else design

    # Operations of the controller.

    def startup(self, brokers: Iterable[BrokerId]) -> None:
        """Open a channel to each of these brokers, when the controller takes over.

        Raises:
            InvalidBrokers: one is no broker id, or occurs twice; nothing has changed.
        """
        for broker in in_order("brokers", tuple(brokers)):
            self._add_new_broker(broker)
        for broker in tuple(self.state.request_send_threads):
            self._start_request_send_thread(broker)

    def shutdown(self) -> None:
        """Close all channels and drop their queues, when the controller resigns."""
        for broker in tuple(self.state.message_queues):
            self.remove_broker(broker)

    def add_broker(self, broker: BrokerId) -> None:
        """Open a channel to a broker, if there is none.

        Raises:
            InvalidBrokers: it is no broker id; nothing has changed.
        """
        in_order("brokers", (broker,))
        if broker not in self.state.message_queues:
            self._add_new_broker(broker)
            self._start_request_send_thread(broker)

    def remove_broker(self, broker: BrokerId) -> ControlRequest | None:
        """Close a broker's channel, and drop its queue.

        Returns the request in flight, which the broker may have handled, or may still handle; None if there is none.

        Raises:
            ValueError: it has no channel; nothing has changed.
        """
        thread = self._thread(broker)
        self.state.message_queues.pop(broker)
        self.state.request_send_threads.pop(broker)
        return thread.request

    def send_request(self, broker: BrokerId, request: ControlRequest) -> None:
        """Put a request into a broker's queue. If the broker has no channel, log it."""
        queues = self.state.message_queues
        if broker in queues:
            queues[broker] = (*queues[broker], request)
        else:
            self.log(RequestNotSent(broker, request))

    # Steps of a broker's thread [RequestSendThread.doWork].

    def take(self, broker: BrokerId) -> ControlRequest:
        """The thread takes the first request of its queue, to send it.

        Raises:
            ValueError: it has not been started, is already sending one, or its queue is empty. Nothing has changed.
        """
        thread, queue = self._thread(broker), self.state.message_queues[broker]
        reasons = {
            "it has not been started": not thread.started,
            "it is sending one": thread.request is not None,
            "nothing waits": not queue,
        }
        for reason, holds in reasons.items():
            if holds:
                raise ValueError(f"the thread of broker {broker} takes no request: {reason}")
        self.state.message_queues[broker] = queue[1:]
        self.state.request_send_threads[broker] = thread._replace(request=queue[0])
        return queue[0]

    def broken(self, broker: BrokerId) -> ControlRequest:
        """The connection fails before the response arrives: this request is sent again.

        Raises:
            ValueError: no request is being sent.
        """
        return self._sending(broker)

    def answered(self, broker: BrokerId, response: ControlResponse) -> ControlResponseReceived | None:
        """The response arrives, and the thread is free for the next request.

        Returns the event for the controller's queue; None if the controller ignores this response.

        Raises:
            ValueError: no request is being sent, or the response does not fit it. Nothing has changed.
        """
        request = self._sending(broker)
        event = response_received(broker, request, response, self.context, self.design)
        self.state.request_send_threads[broker] = self._thread(broker)._replace(request=None)
        return event

    def exchange(
        self,
        broker: BrokerId,
        handle: Callable[[ControlRequest], ControlResponse],
        delivery: Delivery = Delivery.Answered,
    ) -> ControlResponseReceived | None:
        """The thread sends one request once: the one without a response yet, or else the next.

        Args:
            broker: the broker.
            handle: the broker's handler.
            delivery: the fate of the request.

        Returns the event for the controller's queue, if there is one.

        Raises:
            ValueError: there is nothing to send.
        """
        request = self._thread(broker).request or self.take(broker)
        if delivery is Delivery.NotDelivered:
            return None
        response = handle(request)
        return self.answered(broker, response) if delivery is Delivery.Answered else None

    # Queries.

    def queue(self, broker: BrokerId) -> tuple[QueueItem, ...]:
        """The queued requests of a broker, in order.

        Raises:
            ValueError: it has no channel.
        """
        self._thread(broker)
        return tuple(QueueItem(API_KEYS[type(each)], each) for each in self.state.message_queues[broker])

    def queue_size(self, broker: BrokerId) -> int:
        """The number of queued requests of a broker, without the one in flight [QueueSize].

        Raises:
            ValueError: it has no channel.
        """
        self._thread(broker)
        return len(self.state.message_queues[broker])

    def total_queue_size(self) -> int:
        """The number of queued requests of all brokers [TotalQueueSize]."""
        return sum(map(len, self.state.message_queues.values()))

    # Parts of a channel.

    def _add_new_broker(self, broker: BrokerId) -> None:
        self.state.message_queues[broker] = ()
        self.state.request_send_threads[broker] = RequestSendThread()

    def _start_request_send_thread(self, broker: BrokerId) -> None:
        thread = self._thread(broker)
        if not thread.started:
            self.state.request_send_threads[broker] = thread._replace(started=True)

    def _thread(self, broker: BrokerId) -> RequestSendThread:
        if broker not in self.state.request_send_threads:
            raise ValueError(f"the controller has no channel to broker {broker}")
        return self.state.request_send_threads[broker]

    def _sending(self, broker: BrokerId) -> ControlRequest:
        request = self._thread(broker).request
        if request is None:
            raise ValueError(f"the thread of broker {broker} is sending nothing")
        return request
