"""How long a controller takes for its events in a whole cluster, and how long the cluster takes to settle.

`python -m benchmarks.controller_events` creates topics of 100 partitions with three replicas each, spread over the
brokers of a `Cluster`. Then a controller takes over, a broker dies and returns, another one shuts down, a partition
moves, and a topic is deleted. The cluster settles after each. For each kind of event that the controller processes, a
line shows the seconds of its handlers and of the ZooKeeper in memory, and the numbers of batches of requests, of
writes and of requests to brokers; a last line shows the seconds of everything, brokers included.

With `--kafka 3.9.1` the KafkaController of that release handles the same events (`spec.kafka.controller_beside`). Its
seconds are in the row of the event: those of its event thread, including ZooKeeper's own server, which runs within
the call. Java first handles all events three times, as a warm-up.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from unittest import mock

from election.ids import BrokerId
from spec.kafka.scripted_cluster import ControlCommand
from spec.kafka.state_machines_beside import RealController
from statemachines import Cluster
from statemachines.cluster_controller import ClusterController
from statemachines.controller.calls import Call
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.zk_requests import ZkRequest, ZkResponse
from statemachines.messages.control_requests import ControlRequest

PARTITIONS_OF_A_TOPIC: Final = 100
REPLICAS: Final = 3
CONTROLLER: Final = 0
"""The broker that is controller throughout."""
WARM: Final = 3
"""The number of warm-up rounds of Java."""
EVERY_EVENT: Final = 12
"""An upper bound on the events that a command causes."""
EVENTS: Final = {
    "takes over": ControllerEventProcessor.on_controller_failover.__name__,
    "broker dies": ControllerEventProcessor.process_broker_change.__name__,
    "broker returns": ControllerEventProcessor.process_broker_change.__name__,
    "broker shuts down": ControllerEventProcessor.process_controlled_shutdown.__name__,
    "partition moves": ControllerEventProcessor.process_api_partition_reassignment.__name__,
    "topic goes": ControllerEventProcessor.process_topic_deletion.__name__,
}
"""The external events, each with the controller's event for it."""


@dataclass
class Share:
    """The cost of a controller's events of one kind."""

    seconds: float = 0
    """Seconds of the handlers."""
    zookeeper: float = 0
    """Seconds of the ZooKeeper in memory."""
    batches: int = 0
    """Batches of requests to ZooKeeper."""
    written: int = 0
    """Writes among the requests to ZooKeeper."""
    sent: int = 0
    """Requests to brokers."""


class Rest(NamedTuple):
    """The cluster has settled after an external event."""

    seconds: float
    """Seconds of everything, brokers included."""
    events: dict[str, Share]
    """By the names of their handlers."""


class TimedController(ClusterController):
    """The controller on one broker, with a clock around each step."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.events_taken: defaultdict[str, Share] = defaultdict(Share)
        self._share = Share()

    def advance(self) -> None:
        """Take the next step; time outside events counts for none."""
        if self.event is None:
            self._share = Share()
        began = time.perf_counter()
        super().advance()
        self._share.seconds += time.perf_counter() - began

    def _begin(self, event: Call) -> None:
        self._share = self.events_taken[event.method]
        super()._begin(event)

    def _ask_servers(self, requests: Sequence[ZkRequest]) -> Sequence[ZkResponse]:
        zxid, began = self.zookeeper.state.zxid, time.perf_counter()
        responses = super()._ask_servers(requests)
        took = time.perf_counter() - began
        self._share.zookeeper += took
        self._share.seconds -= took
        self._share.batches += 1
        self._share.written += self.zookeeper.state.zxid - zxid
        return responses

    def _send(self, broker: BrokerId, request: ControlRequest) -> None:
        self._share.sent += 1
        super()._send(broker, request)


def spread(number: int, brokers: int) -> tuple[int, ...]:
    """The brokers of a partition, the others shifted with each round. [AdminUtils.assignReplicasToBrokers, 3.9]"""
    first, shift = number % brokers, number // brokers
    others = ((first + 1 + (shift + place) % (brokers - 1)) % brokers for place in range(REPLICAS - 1))
    return first, *others


def topics(partitions: int, brokers: int) -> dict[str, dict[int, tuple[int, ...]]]:
    """The brokers of each partition, in topics of 100 partitions."""
    return {
        f"t{first // PARTITIONS_OF_A_TOPIC}": {
            number - first: spread(number, brokers)
            for number in range(first, min(first + PARTITIONS_OF_A_TOPIC, partitions))
        }
        for first in range(0, partitions, PARTITIONS_OF_A_TOPIC)
    }


def day(partitions: int, brokers: int) -> Iterator[Rest]:
    """Trigger the external events, in the order of `EVENTS`."""
    with mock.patch("statemachines.cluster_state.ClusterController", TimedController):
        cluster = Cluster(range(brokers))
    for topic, replicas in topics(partitions, brokers).items():
        cluster.create_topic(topic, replicas)
    triggers: tuple[Callable[[], object], ...] = (
        lambda: None,
        lambda: cluster.crash(3),
        lambda: cluster.restart(3),
        lambda: cluster.shut_down(2),
        lambda: cluster.reassign({("t1", 0): (5, 4)}),
        lambda: cluster.delete_topic("t0"),
    )
    controller = cluster.controllers[CONTROLLER]
    assert isinstance(controller, TimedController)
    for trigger in triggers:
        controller.events_taken.clear()
        began = time.perf_counter()
        trigger()
        cluster.settle()
        yield Rest(time.perf_counter() - began, dict(controller.events_taken))


def day_of_kafka(partitions: int, brokers: int) -> tuple[list[ControlCommand], dict[str, int]]:
    """The same as commands to a real controller, and the command of each event; the controller is broker 9."""
    commands: list[ControlCommand] = [{"do": "register", "brokers": list(range(brokers))}]
    for topic, replicas in topics(partitions, brokers).items():
        assigned = {str(partition): list(kept) for partition, kept in replicas.items()}
        commands.append({"do": "create_topic", "topic": topic, "partitions": assigned})
    triggers: tuple[ControlCommand, ...] = (
        {"do": "wait"},
        {"do": "die", "brokers": [3]},
        {"do": "register", "brokers": [3]},
        {"do": "shut_down", "broker": 2, "epoch": "now"},
        {"do": "reassign", "targets": {"t1-0": [5, 4]}},
        {"do": "ask_deletion", "topic": "t0"},
    )
    places = {name: len(commands) + number for number, name in enumerate(EVENTS)}
    commands += ({**command, "handle": EVERY_EVENT} for command in triggers)
    return commands, places


def seconds_of_kafka(release: str, partitions: int, brokers: int) -> dict[str, float]:
    """The seconds of a release's event thread, event by event.

    Raises:
        UsageError: the release cannot be run, or there is no Java.
    """
    commands, places = day_of_kafka(partitions, brokers)
    commands = [{**command, "quiet": True} for command in commands]
    seen: Sequence[Any] = ()
    with RealController(release) as kafka:
        for _ in range(WARM + 1):
            [(_, seen)] = kafka.of("Events", [commands])
    return {name: seen[place]["seconds"] for name, place in places.items()}


def main() -> None:
    """Create a cluster, and measure its events."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--brokers", type=int, default=20)
    parser.add_argument("--kafka", metavar="RELEASE", help="also measure the KafkaController of this release")
    arguments = parser.parse_args()
    kafka = seconds_of_kafka(arguments.kafka, arguments.partitions, arguments.brokers) if arguments.kafka else {}
    print(
        f"{'':72}{'seconds':>9}{'ZooKeeper':>11}{'batches':>9}{'written':>9}{'sent':>6}" + "  Kafka's" * bool(kafka)
    )
    for (name, its), rest in zip(EVENTS.items(), day(arguments.partitions, arguments.brokers), strict=True):
        for event, share in rest.events.items():
            print(
                f"{name:18}{event:54}{share.seconds:9.3f}{share.zookeeper:11.3f}"
                f"{share.batches:9,}{share.written:9,}{share.sent:6,}"
                + (f"{kafka[name]:9.3f}" if kafka and event == its else "")
            )
        print(f"{name:18}{'until all is at rest':54}{rest.seconds:9.3f}", flush=True)


if __name__ == "__main__":
    main()
