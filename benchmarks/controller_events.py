"""How long a controller takes over an event, from the queue to the last request: what is written, and what is sent.

`python -m benchmarks.controller_events` makes topics of 100 partitions with three replicas each, spread over the
brokers as for `benchmarks.broker_failure`, and has a controller take over, lose a broker, get it back, let another
one go, move a partition and delete a topic. Told are the seconds that its handlers take, those of the ZooKeeper in
memory beside them, and how many batches of requests, writes and requests to brokers there are.

With `--kafka 3.9.1` the same happens to the KafkaController of that release (`spec.kafka.event_plane`), and its
seconds stand in a column of their own: of its event thread, with ZooKeeper's own server, run within the call. Java
goes through the day three times first, to be warm.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from benchmarks.broker_failure import PARTITIONS_OF_A_TOPIC, spread
from spec.kafka.control_plane import KafkaControlPlane
from spec.kafka.world import ControlCommand
from statemachines.controller.calls import Call, Processing, call
from statemachines.controller.design import BROKER_IDS, CONTROLLER_EPOCH, registration
from statemachines.controller.event_processor import event_processor
from statemachines.controller.kafka_zk_client import retry_requests_until_connected
from statemachines.messages.control_requests import ControlRequest
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import (
    DELETE_TOPICS,
    TOPICS,
    TopicAssignment,
    delete_topics_topic_path,
    topic_path,
)
from statemachines.zookeeper.server import ZooKeeper

WARM: Final = 3
"""How often Java goes through the day before it counts."""
EVERY_EVENT: Final = 12
"""More than there are to be processed after a command."""


class Event(NamedTuple):
    """One event, from the queue to its end."""

    name: str
    seconds: float
    """Of the handlers."""
    zookeeper: float
    """Seconds of the ZooKeeper in memory."""
    batches: int
    """How often it waited for ZooKeeper."""
    written: int
    """How many requests to ZooKeeper were writes."""
    sent: int
    """How many requests went to brokers."""


class Cluster:
    """A cluster whose controller knows nothing yet, in memory.

    Args:
        partitions: how many, in topics of 100.
        brokers: how many.
    """

    def __init__(self, partitions: int, brokers: int) -> None:
        self.zookeeper = ZooKeeper()
        for path in (CONTROLLER_EPOCH, "/brokers", BROKER_IDS, TOPICS, "/admin", DELETE_TOPICS):
            self.zookeeper.create(None, path)
        for broker in range(brokers):
            self.zookeeper.create(None, registration(broker))
        for first in range(0, partitions, PARTITIONS_OF_A_TOPIC):
            numbers = range(first, min(first + PARTITIONS_OF_A_TOPIC, partitions))
            assignments = (ReplicaAssignment(spread(number, brokers)) for number in numbers)
            path = topic_path(f"t{first // PARTITIONS_OF_A_TOPIC}")
            self.zookeeper.create(None, path, TopicAssignment(tuple(enumerate(assignments))))
        self.sent: list[ControlRequest] = []
        self.controller = event_processor(0, lambda broker, request: self.sent.append(request), log=None)

    def day(self) -> Iterator[Event]:
        """What happens, one event after the other."""
        controller = self.controller
        yield self.event("takes over", call(controller.on_controller_failover))
        self.zookeeper.delete(None, registration(3))
        yield self.event("broker dies", call(controller.process_broker_change))
        self.zookeeper.create(None, registration(3))
        yield self.event("broker returns", call(controller.process_broker_change))
        yield self.event("broker shuts down", call(controller.process_controlled_shutdown, 2))
        target = ((TopicPartition("t1", 0), (5, 4)),)
        yield self.event("partition moves", call(controller.process_api_partition_reassignment, target))
        self.zookeeper.create(None, delete_topics_topic_path("t0"))
        yield self.event("topic goes", call(controller.process_topic_deletion))

    def event(self, name: str, event: Call) -> Event:
        """Go through an event, and look at the clock."""
        seconds = zookeeper = 0.0
        batches = 0
        zxid, sent = self.zookeeper.state.zxid, len(self.sent)
        began = time.perf_counter()
        processing = self.controller.process(event)
        while isinstance(processing, Processing):
            requests = self.controller.requests(processing)
            asked = time.perf_counter()
            responses = retry_requests_until_connected(self.zookeeper, None, requests)
            answered = time.perf_counter()
            seconds, zookeeper, batches = seconds + asked - began, zookeeper + answered - asked, batches + 1
            began = answered
            processing = self.controller.answered(processing, responses)
        seconds += time.perf_counter() - began
        assert processing.failure is None
        return Event(name, seconds, zookeeper, batches, self.zookeeper.state.zxid - zxid, len(self.sent) - sent)


def day_of_kafka(partitions: int, brokers: int) -> tuple[list[ControlCommand], dict[str, int]]:
    """The same as commands to a real controller, and which of them is which event; it is broker 9."""
    commands: list[ControlCommand] = [{"do": "register", "brokers": list(range(brokers))}]
    for first in range(0, partitions, PARTITIONS_OF_A_TOPIC):
        numbers = range(first, min(first + PARTITIONS_OF_A_TOPIC, partitions))
        assigned = {str(number - first): list(spread(number, brokers)) for number in numbers}
        topic = f"t{first // PARTITIONS_OF_A_TOPIC}"
        commands.append({"do": "create_topic", "topic": topic, "partitions": assigned})
    events: dict[str, ControlCommand] = {
        "takes over": {"do": "wait"},
        "broker dies": {"do": "die", "brokers": [3]},
        "broker returns": {"do": "register", "brokers": [3]},
        "broker shuts down": {"do": "shut_down", "broker": 2, "epoch": "now"},
        "partition moves": {"do": "reassign", "targets": {"t1-0": [5, 4]}},
        "topic goes": {"do": "ask_deletion", "topic": "t0"},
    }
    places = {name: len(commands) + number for number, name in enumerate(events)}
    commands += ({**command, "handle": EVERY_EVENT} for command in events.values())
    return commands, places


def seconds_of_kafka(release: str, partitions: int, brokers: int) -> dict[str, float]:
    """How long a release's event thread takes, event by event.

    Raises:
        UsageError: the release is not run, or there is no Java.
    """
    commands, places = day_of_kafka(partitions, brokers)
    commands = [{**command, "quiet": True} for command in commands]
    seen: Sequence[Any] = ()
    with KafkaControlPlane(release) as kafka:
        for _ in range(WARM + 1):
            [(_, seen)] = kafka.of("Events", [commands])
    return {name: seen[place]["seconds"] for name, place in places.items()}


def main() -> None:
    """Make a cluster, and go through its day."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--brokers", type=int, default=20)
    parser.add_argument("--kafka", metavar="RELEASE", help="beside the KafkaController of this release")
    chosen = parser.parse_args()
    kafka = seconds_of_kafka(chosen.kafka, chosen.partitions, chosen.brokers) if chosen.kafka else {}
    print(
        f"{'':18}{'seconds':>9}{'ZooKeeper':>11}{'batches':>9}{'written':>9}{'sent':>6}" + "  Kafka's" * bool(kafka)
    )
    for each in Cluster(chosen.partitions, chosen.brokers).day():
        print(
            f"{each.name:18}{each.seconds:9.3f}{each.zookeeper:11.3f}{each.batches:9,}{each.written:9,}{each.sent:6,}"
            + (f"{kafka[each.name]:9.3f}" if kafka else "")
        )


if __name__ == "__main__":
    main()
