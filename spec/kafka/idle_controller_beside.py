"""Our whole controller of 0.10, 0.11 or 1.0 beside Kafka's own, compared when idle and between two events.

    with RealController("1.0.2") as kafka:
        for sequence, answers in kafka.of("Events", [commands]):
            ours = IdleControllerBeside("1.0.2")
            for command, seen in zip(sequence, answers, strict=True):
                assert ours.disagreements(command, seen) == []

Commands are those of `spec.kafka.controller_beside`, but `meanwhile` and `lost` have no meaning. After a command both
sides run until nothing is left to do. In 0.11 and 1.0 a command may have `handle`: they stop when so many events are
handled and all listeners have run, so with 0 ZkEventThread only reads. The next command then changes what was read
(`java/control/from-0.11/.../ControllerRunner.java`):

    {"do": "ask_deletion", "topic": "c", "handle": 0}               the queue: TopicDeletion(c)
    {"do": "withdraw", "path": "/admin/delete_topics/c"}            c is deleted all the same

The events in the queue are compared, with what they hold. Not compared: handled events, requests to ZooKeeper, and
the brokers in a BrokerChange, whose handler reads them again. No event is handled while ZkEventThread has something
to do. The requests to a broker are compared without their order, and so are changes of ISRs that wait next to each
other: Kafka iterates hash maps, one partition after the other.

In 0.10 there is no queue: ZkEventThread's listeners do all the work, and a separate thread deletes topics. The test
calls both directly, the deletions after each listener (`java/control/from-0.10.2/.../ControllerRunner.java`). Gauges
are read after each command. In one case we do not follow 0.10, and nothing is compared after it: a deletion fails,
since a replica has no state, or only the request for it is left of the topic. Then the thread has ended, and no topic
is deleted before the next failover, at the earliest. Here a controller has no such thread.

A controller of 0.10 that has resigned keeps some knowledge (`KEPT`) that ours has dropped. Neither uses it again.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, Final

from election.ids import BrokerId
from spec.kafka.control_values import WHOLE, decoded_event, decoded_requests
from spec.kafka.controller_beside import EVENTS, ControllerBeside, unordered
from spec.kafka.scripted_cluster import ControlCommand, Disagreement, different, path_of
from statemachines.changes.elections import Threads
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.kafka_controller import QueuedEvent
from statemachines.controller.threads import Queued
from statemachines.controller.zk_requests import ZkRequest, ZkResponse
from statemachines.messages.control_requests import ControlRequest, UpdateMetadataRequest
from statemachines.messages.leader_and_isr import LEADER_DURING_DELETE
from statemachines.messages.topic_partition import TopicPartition
from statemachines.zookeeper.server import ZooKeeper

RELEASES: Final = ("0.10.2.2", "0.11.0.3", "1.0.2")
"""The releases whose whole controllers run in this way."""
ENDLESS: Final = 200
"""More events than any command leads to; `ControllerRunner.java` has the same number."""

ISR_CHANGE: Final = EVENTS[ControllerEventProcessor.process_partition_reassignment_isr_change.__name__]

KEPT: Final = frozenset(
    {
        "partition_assignments",
        "partition_leadership_info",
        "live_broker_epochs",
        "shutting_down_broker_ids",
        "all_topics",
    }
)
"""The state that a controller of 0.10 keeps after it resigns; its next failover reads it anew."""


class HashOrderedDict(UserDict[TopicPartition, Any]):
    """A map that iterates as Kafka's does, which matters when moving partitions fail one after the other.

    Scala's maps do so, if partitions have the names that `tests.kafka.event_sequences` gives them. Others come last.
    """

    ORDER = {name: place for place, name in enumerate(("d-21", "c-15", "h-21", "d-15", "h-15", "c-21"))}

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(sorted(self.data, key=lambda partition: self.ORDER.get(str(partition), len(self.ORDER))))


class IdleControllerBeside(ControllerBeside):
    """Our side; see `ControllerBeside` for its arguments."""

    is_endless = False
    """Whether failovers follow one another for ever, each failing. Nothing is compared after that."""
    is_stuck = False
    """Whether a controller of 0.10 did something that ours does not follow, see the header. Comparison ends there."""

    def disagreements(self, command: ControlCommand, seen: Mapping[str, Any]) -> list[Disagreement]:
        """Carry out a command and its consequences, as Kafka has, and report the differences."""
        if self.is_endless or self.is_stuck:  # the numbers of futile repetitions differ
            return []
        self.carry_out(command)
        self.is_endless, kafkas = len(self.handled) == ENDLESS, seen.get("endless", False)
        if self.is_endless or kafkas:
            return different("no end", self.is_endless, kafkas)
        self.is_stuck = seen.get("stuck", False)
        self.kafkas |= {name: SEEN[name](value) for name, value in seen.items() if name in SEEN}
        sent = decoded_requests(seen["sent"])
        self._order_unanswered(sent)
        self._order_moves(self.kafkas.get("queue", []))
        kept = frozenset() if self.design.reset_context or self.is_active else KEPT
        compared = {name: value for name, value in self.seen().items() if name in self.kafkas.keys() - kept}
        return [
            *(each for name, value in compared.items() for each in different(name, value, self.kafkas[name])),
            *different("requests to brokers", in_no_order(self.sent), in_no_order(sent)),
            *different("answers", self.answers_given, list(map(unordered, seen["answers"]))),
        ]

    def carry_out(self, command: ControlCommand) -> None:
        """Carry out a command and its consequences."""
        for of_this_command in (self.sent, self.answers_given, self.handled, self.asked):
            of_this_command.clear()
        self.perform(command)
        self.hear()
        has_queue = self.controller.design.threads is Threads.queue
        self._settle(command.get("handle", ENDLESS) if has_queue else ENDLESS)

    def _order_moves(self, kafkas: Sequence[tuple[Any, ...]]) -> None:
        """Changes of ISRs wait in the order in which Kafka wrote the states, each partition of a hash set in turn."""
        ours = list(self.queue)
        waiting = list(map(waiting_event, ours))
        if sorted(waiting, key=repr) == sorted(kafkas, key=repr) and all(
            mine == of_kafka or {mine[0], of_kafka[0]} == {ISR_CHANGE}
            for mine, of_kafka in zip(waiting, kafkas, strict=True)
        ):
            for at, event in enumerate(kafkas):
                found = waiting.index(event)
                del waiting[found]
                self.queue[at] = ours.pop(found)

    def _settle(self, events: int) -> None:
        """Run all listeners, handle an event, and so on, until nothing is left to do or so many are handled."""
        while self.controller.has_work:
            if not self._listens and not self.controller.is_busy:
                self.hear()
                if self.queue and not self._listens:
                    if len(self.handled) == events:
                        return
                    self.handled.append(self.queue[0])
            self.controller.advance()
            if not self.controller.is_busy:
                self.update_metrics()

    @property
    def _listens(self) -> bool:
        """Whether ZkEventThread has something to do, in 0.11 and 1.0."""
        return bool(self.controller.posted or self.controller.me.listener_agenda)

    def seen(self) -> dict[str, Any]:
        """Its state, by the names of Kafka's observed state."""
        queue = [waiting_event(event) for event in self.queue] if self.controller.is_running else []
        return super().seen() | {"queue": queue, "being_elected": self.processor.elections_in_progress}

    def _servers(self) -> ZooKeeper:
        return self.zookeeper

    def _of_partitions(self) -> MutableMapping[TopicPartition, Any]:
        return HashOrderedDict()

    def _ask(self, *requests: ZkRequest) -> tuple[ZkResponse, ...]:
        self.asked.append(list(map(path_of, requests)))
        return self.answers(requests, {}, 0)


def in_no_order(sent: Mapping[BrokerId, Sequence[ControlRequest]]) -> dict[BrokerId, list[ControlRequest]]:
    """The requests to each broker in a canonical order.

    UpdateMetadata also carries the topics in deletion as known at that moment; these are left out.
    """
    return {broker: sorted(map(_without_deleted, requests), key=repr) for broker, requests in sent.items()}


def waiting_event(event: QueuedEvent) -> tuple[Any, ...]:
    """An event by Kafka's name, with what it holds."""
    if isinstance(event, Queued):
        return event.event.name, *([] if event.controller is None else [str(event.controller)])
    name, arguments = EVENTS[event.method], event.arguments
    match name:
        case "LeaderAndIsrResponseReceived":
            arguments = arguments[1:]
        case "ControlledShutdown" | "TopicDeletionStopReplicaResponseReceived":
            arguments = arguments[:1]
        case "ZkPartitionReassignment" if arguments:
            arguments = (tuple(partition for partition, _ in arguments[0]),)
    return name, *map(_held, arguments)


def _held(value: Any) -> Any:
    """A topic, partition or broker; or several, in a canonical order."""
    is_one = isinstance(value, str | int | TopicPartition)
    return str(value) if is_one else sorted(map(str, value))


def decoded_waiting_event(seen: Sequence[Any]) -> tuple[Any, ...]:
    """One of Kafka's events, like `waiting_event`."""
    name, *parts = decoded_event(seen)
    if name == "BrokerChange":
        parts = []
    return name, *(sorted(each) if isinstance(each, list) else each for each in parts)


SEEN: Final[Mapping[str, Callable[[Any], Any]]] = {
    **WHOLE,
    "being_elected": WHOLE["being_reassigned"],
    "queue": lambda seen: list(map(decoded_waiting_event, seen)),
}
"""Decoders for the observed state."""


def _without_deleted(request: ControlRequest) -> ControlRequest:
    if not isinstance(request, UpdateMetadataRequest):
        return request
    return request._replace(
        partitionStates=tuple(each for each in request.partitionStates if each.leader != LEADER_DURING_DELETE)
    )
