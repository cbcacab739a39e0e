"""How long a controller takes over what it does when a broker dies: what is written, and what is sent.

`python -m benchmarks.broker_failure` makes topics of 100 partitions with three replicas each, spread over the
brokers, and lets one broker die: partitions that it led go offline, others are elected, and its replicas leave the
ISRs [onReplicasBecomeOffline in KafkaController.scala, 3.9]. Told are the seconds that the state machines take, those
of the ZooKeeper in memory beside them, and how many writes and requests to brokers there are.

The last lines are of a whole `Cluster` with the same topics, with brokers that obey: it is made, a broker dies, and
it returns. They tell how many requests to brokers there are, and the seconds until the cluster is at rest.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from statemachines import Cluster
from statemachines.cluster_history import Sent
from statemachines.controller.context import ControllerContext
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.controller.kafka_zk_client import retry_requests_until_connected
from statemachines.controller.partition_state_machine import OFFLINE, PartitionStateMachine
from statemachines.controller.replica_state_machine import ReplicaStateMachine
from statemachines.controller.request_batch import ControllerBrokerRequestBatch
from statemachines.controller.state_change import Handled
from statemachines.messages.control_requests import ControlRequest
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.tables.partition import NewPartition, OfflinePartition, OnlinePartition
from statemachines.tables.replica import NewReplica, OfflineReplica, OnlineReplica
from statemachines.zookeeper.server import ZooKeeper

PARTITIONS_OF_A_TOPIC: Final = 100
REPLICAS: Final = 3


class Stage(NamedTuple):
    """One change of states."""

    name: str
    changed: int
    """How many partitions or replicas were to change."""
    seconds: float
    """Of the state machine."""
    zookeeper: float
    """Seconds of the ZooKeeper in memory."""
    written: int
    """How many requests to ZooKeeper were writes."""
    sent: int
    """How many requests went to brokers."""


def spread(number: int, brokers: int) -> tuple[int, ...]:
    """The brokers of a partition, the others shifted with each round. [AdminUtils.assignReplicasToBrokers, 3.9]"""
    first, shift = number % brokers, number // brokers
    others = ((first + 1 + (shift + place) % (brokers - 1)) % brokers for place in range(REPLICAS - 1))
    return first, *others


class Controlled:
    """A cluster with a controller, in memory.

    Args:
        partitions: how many, in topics of 100.
        brokers: how many.
    """

    def __init__(self, partitions: int, brokers: int) -> None:
        self.zookeeper = ZooKeeper()
        for path in ("/brokers", "/brokers/topics", CONTROLLER_EPOCH):
            self.zookeeper.create(None, path)
        self.context = ControllerContext()
        self.context.add_live_brokers({broker: broker for broker in range(brokers)})
        for number in range(partitions):
            topic, index = divmod(number, PARTITIONS_OF_A_TOPIC)
            if index == 0:
                self.zookeeper.create(None, f"/brokers/topics/t{topic}")
            assignment = ReplicaAssignment(spread(number, brokers))
            self.context.update_partition_full_replica_assignment(TopicPartition(f"t{topic}", index), assignment)
        self.sent: list[ControlRequest] = []
        batch = ControllerBrokerRequestBatch(0, self.context, lambda broker, request: self.sent.append(request))
        self.partitions = PartitionStateMachine(self.context, batch)
        self.replicas = ReplicaStateMachine(self.context, batch)

    def create(self) -> Iterator[Stage]:
        """All topics are new, and go online. [onNewPartitionCreation]"""
        partitions = self.context.all_partitions()
        replicas = self.context.replicas_for_partition(partitions)
        yield self.stage("new partitions", self.partitions, partitions, NewPartition)
        yield self.stage("new replicas", self.replicas, replicas, NewReplica)
        yield self.stage("first leaders", self.partitions, partitions, OnlinePartition, OFFLINE)
        yield self.stage("online replicas", self.replicas, replicas, OnlineReplica)

    def broker_dies(self, broker: int) -> Iterator[Stage]:
        """A broker is gone. [onBrokerFailure, onReplicasBecomeOffline]"""
        self.context.remove_live_brokers([broker])
        offline = self.context.partitions_with_offline_leader()
        yield self.stage("leaderless", self.partitions, offline, OfflinePartition)
        yield self.stage("elections", self.partitions, offline, OnlinePartition, OFFLINE)
        replicas = self.context.replicas_on_brokers([broker])
        yield self.stage("dead replicas", self.replicas, replicas, OfflineReplica)

    def stage(self, name: str, machine: Any, subjects: tuple[Any, ...], *target: Any) -> Stage:
        """Go through a change of states, and look at the clock."""
        seconds = zookeeper = 0.0
        zxid, sent = self.zookeeper.state.zxid, len(self.sent)
        began = time.perf_counter()
        change = machine.handle_state_changes(subjects, *target)
        while not isinstance(change, Handled):
            requests = machine.requests(change)
            asked = time.perf_counter()
            responses = retry_requests_until_connected(self.zookeeper, None, requests)
            answered = time.perf_counter()
            seconds, zookeeper = seconds + asked - began, zookeeper + answered - asked
            began = answered
            change = machine.answered(change, responses)
        seconds += time.perf_counter() - began
        return Stage(name, len(subjects), seconds, zookeeper, self.zookeeper.state.zxid - zxid, len(self.sent) - sent)


class Rest(NamedTuple):
    """A whole cluster has come to rest."""

    name: str
    seconds: float
    sent: int
    """How many requests went to brokers."""


def whole_cluster(partitions: int, brokers: int, broker: int) -> Iterator[Rest]:
    """All topics are made, a broker dies, and it returns."""
    cluster = Cluster(range(brokers))
    for first in range(0, partitions, PARTITIONS_OF_A_TOPIC):
        numbers = range(first, min(first + PARTITIONS_OF_A_TOPIC, partitions))
        topic = f"t{first // PARTITIONS_OF_A_TOPIC}"
        cluster.create_topic(topic, {number - first: spread(number, brokers) for number in numbers})
    for name, happens in (("made", None), ("broker dies", cluster.crash), ("broker returns", cluster.restart)):
        began, done = time.perf_counter(), len(cluster.history)
        if happens is not None:
            happens(broker)
        cluster.settle()
        sent = sum(isinstance(effect, Sent) for effect in cluster.history[done:])
        yield Rest(name, time.perf_counter() - began, sent)


def main() -> None:
    """Make a cluster, and let broker 3 die."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--brokers", type=int, default=20)
    chosen = parser.parse_args()
    cluster = Controlled(chosen.partitions, chosen.brokers)
    print(f"{'':16}{'changed':>9}{'seconds':>9}{'ZooKeeper':>11}{'written':>9}{'sent':>6}")
    for stages in (cluster.create(), cluster.broker_dies(3)):
        for each in stages:
            print(
                f"{each.name:16}{each.changed:9,}{each.seconds:9.3f}{each.zookeeper:11.3f}"
                f"{each.written:9,}{each.sent:6,}"
            )
    for rest in whole_cluster(chosen.partitions, chosen.brokers, 3):
        print(f"{rest.name:25}{rest.seconds:9.3f}{rest.sent:26,}")


if __name__ == "__main__":
    main()
