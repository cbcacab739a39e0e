"""Our channels and Kafka's carry the same requests; their observations are compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

from election.ids import BrokerId
from statemachines.controller.channel_manager import ControllerChannelManager, Delivery, RequestNotSent
from statemachines.controller.context import ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.control_responses import (
    ControlResponse,
    LeaderAndIsrResponse,
    StopReplicaResponse,
    UpdateMetadataResponse,
)
from statemachines.messages.control_requests import (
    ControlRequest,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from statemachines.messages.errors import Errors
from tests.kafka.receiver_comparison import RELEASE, KafkaReceivers, request_written

AT_ONCE: Final = 25
"""How many sequences Kafka runs at once: a thread that sends again pauses for 100 ms first."""

Observation: TypeAlias = dict[str, Any]
"""The observation of the channels after a command."""


class Startup(NamedTuple):
    """The controller takes over, with channels to these brokers."""

    brokers: tuple[BrokerId, ...]


class Shutdown(NamedTuple):
    """It resigns."""


class AddBroker(NamedTuple):
    """Open a channel to a broker."""

    broker: BrokerId


class RemoveBroker(NamedTuple):
    """Close its channel."""

    broker: BrokerId


class Send(NamedTuple):
    """Queue a request; requests are distinguished by their `controllerEpoch`."""

    broker: BrokerId
    request: ControlRequest


class Answer(NamedTuple):
    """The broker answers the request that it holds."""

    broker: BrokerId
    error: Errors


class Break(NamedTuple):
    """The broker handles the request, and the connection breaks before it has answered."""

    broker: BrokerId
    unread: int = 0
    """How many connections after this one break before it has read anything."""


class Misanswer(NamedTuple):
    """The broker's answer belongs to another request, which also breaks the connection."""

    broker: BrokerId


class Stop(NamedTuple):
    """Its process ends: nothing listens there."""

    broker: BrokerId


class Start(NamedTuple):
    """It listens again."""

    broker: BrokerId


Command: TypeAlias = Startup | Shutdown | AddBroker | RemoveBroker | Send | Answer | Break | Misanswer | Stop | Start


def _written(command: Command) -> Any:
    """A command in the form that `Conversation.java` takes."""
    match command:
        case Startup(brokers):
            return {"do": "startup", "brokers": brokers}
        case Shutdown():
            return {"do": "shutdown"}
        case AddBroker(broker):
            return {"do": "add", "broker": broker}
        case RemoveBroker(broker):
            return {"do": "remove", "broker": broker}
        case Send(broker, request):
            return {"do": "send", "broker": broker, **request_written(request), "topic_ids": {}}
        case Answer(broker, error):
            return {"do": "answer", "broker": broker, "error": error.name}
        case Break(broker, unread):
            return {"do": "break", "broker": broker, "unread": unread}
        case Misanswer(broker) | Stop(broker) | Start(broker):
            return {"do": type(command).__name__.lower(), "broker": broker}


def all_asked(
    kafka: KafkaReceivers, sequences: Iterable[Sequence[Command]]
) -> Iterator[tuple[Sequence[Command], Sequence[Observation]]]:
    """Sequences, each with Kafka's observations."""
    for many, seen in kafka.of("Channels", _batches(sequences), _written_all, a_line=1):
        yield from zip(many, seen, strict=True)


def _batches(sequences: Iterable[Sequence[Command]]) -> Iterator[list[Sequence[Command]]]:
    remaining = iter(sequences)
    while many := list(islice(remaining, AT_ONCE)):
        yield many


def _written_all(sequences: Sequence[Sequence[Command]]) -> Any:
    return {"sequences": [list(map(_written, sequence)) for sequence in sequences]}


def compare(
    sequence: Sequence[Command],
    seen: Sequence[Observation],
    kind: type[ControllerChannelManager] = ControllerChannelManager,
    release: str = RELEASE,
) -> None:
    """Run our channels beside Kafka's observations; AssertionError names the first command where they differ."""
    channels = Channels(kind, release)
    for number, (command, kafkas) in enumerate(zip(sequence, seen, strict=False)):  # a stuck Kafka ends early
        ours = channels.carry_out(command)
        differences = [f"{key}: Kafka {kafkas[key]}, here {ours[key]}" for key in ours if kafkas[key] != ours[key]]
        assert not differences, "\n".join(["after", *map(str, sequence[: number + 1]), *differences])


def is_contradicted(
    sequence: Sequence[Command], seen: Sequence[Observation], kind: type[ControllerChannelManager]
) -> bool:
    """Whether Kafka's channels behave differently from those of this kind."""
    try:
        compare(sequence, seen, kind)
    except AssertionError:
        return True
    return False


class Channels:
    """The channels of our controller, and the brokers at their other ends.

    Args:
        kind: the class of channels, or a mutant of it.
        release: of Kafka.
    """

    def __init__(self, kind: type[ControllerChannelManager], release: str) -> None:
        self._not_sent: list[RequestNotSent] = []
        design = ControlDesign(release)
        self._manager = kind(ControllerContext(), design=design, log=self._not_sent.append)
        self._stopped: set[BrokerId] = set()
        self._holding: set[BrokerId] = set()
        """The brokers that have read the request that their thread is sending."""
        self._received: dict[str, list[int]] = {}
        self._answered: list[list[Any]] = []

    def carry_out(self, command: Command) -> Observation:
        """Carry out a command, let each thread send what it can, and observe."""
        for noted in (self._not_sent, self._received, self._answered):
            noted.clear()
        refused = False
        try:
            self._do(command)
        except ValueError:
            refused = True
        self._settle()
        queues = self._manager.state.message_queues
        return {
            "stuck": False,
            "refused": refused,
            "received": self._received,
            "answered": self._answered,
            "queues": {str(broker): list(map(_number, queue)) for broker, queue in queues.items()},
            "not_sent": len(self._not_sent),
        }

    def _do(self, command: Command) -> None:
        match command:
            case Startup(brokers):
                self._manager.startup(brokers)
            case Shutdown():
                self._manager.shutdown()
                self._holding.clear()
            case AddBroker(broker):
                self._manager.add_broker(broker)
            case RemoveBroker(broker):
                self._manager.remove_broker(broker)
                self._holding.discard(broker)
            case Send(broker, request):
                self._manager.send_request(broker, request)
            case Answer(broker, error):
                self._exchange(broker, Delivery.Answered, error)
            case Break(broker, unread):
                self._exchange(broker, Delivery.ReplyLost)
                for _ in range(unread):
                    self._exchange(broker, Delivery.NotDelivered)
            case Misanswer(broker):
                self._exchange(broker, Delivery.ReplyLost)
            case Stop(broker):
                self._stopped.add(broker)
                if broker in self._holding:
                    self._exchange(broker, Delivery.ReplyLost)
            case Start(broker):
                self._stopped.remove(broker)

    def _exchange(self, broker: BrokerId, delivery: Delivery, error: Errors = Errors.NONE) -> None:
        """Send the thread's current request once."""

        def handle(request: ControlRequest) -> ControlResponse:
            if delivery is Delivery.Answered:
                self._answered.append([broker, _number(request), error.name])
            return _response(request, error)

        self._manager.exchange(broker, handle, delivery)
        self._holding.discard(broker)

    def _settle(self) -> None:
        """Let each thread with something to send deliver it, or find that nothing listens."""
        for broker, thread in tuple(self._manager.state.request_send_threads.items()):
            if broker in self._holding or not (thread.request or self._manager.queue_size(broker)):
                continue
            if broker in self._stopped:
                self._exchange(broker, Delivery.NotDelivered)
            else:
                request = thread.request or self._manager.take(broker)
                self._received.setdefault(str(broker), []).append(_number(request))
                self._holding.add(broker)


def _number(request: ControlRequest) -> int:
    return request.controllerEpoch


def _response(request: ControlRequest, error: Errors) -> ControlResponse:
    match request:
        case LeaderAndIsrRequest():
            return LeaderAndIsrResponse(error)
        case StopReplicaRequest():
            return StopReplicaResponse(error)
        case UpdateMetadataRequest():
            return UpdateMetadataResponse(error)
