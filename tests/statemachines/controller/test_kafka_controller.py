"""KafkaController: how a controller stops and starts again, in each generation. The rest is in the transcripts."""

from __future__ import annotations

from typing import Any

import pytest

from statemachines.controller.design import CONTROLLER, CONTROLLER_EPOCH
from statemachines.controller.kafka_controller import KafkaController, kafka_controller
from statemachines.controller.request_batch import RequestsNotSent
from statemachines.controller.threads import ControllerEvent, Queued
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import PERSISTENT_PATHS, TopicAssignment, topic_partition_state_path, topic_path
from statemachines.zookeeper.server import ZooKeeper

T0 = TopicPartition("t", 0)
GENERATIONS = ["0.10.2", "0.11", "1.0", "1.1", "2.0", "2.1", "2.2", "3.9"]
every_generation = pytest.mark.parametrize("release", GENERATIONS)


class Brokers:
    """Brokers of a release, each with its controller, and one topic with replicas on all of them."""

    def __init__(self, release: str = "3.9", brokers: int = 2) -> None:
        self.zookeeper = ZooKeeper()
        for path in PERSISTENT_PATHS:
            self.zookeeper.create(None, path)
        self.its = {broker: self.controller_of(broker, release) for broker in range(brokers)}
        for its in self.its.values():
            its.startup()
        self.settle()
        assigned = TopicAssignment(((0, ReplicaAssignment(tuple(self.its))),))
        self.zookeeper.create(None, topic_path("t"), assigned)
        self.settle()

    def controller_of(self, broker: int, release: str) -> KafkaController:
        return kafka_controller(
            broker,
            self.zookeeper,
            lambda to, request: None,
            release,
            log=None,
        )

    def settle(self) -> None:
        """Run all of them, one step each in turn, until none has a step left."""
        while busy := [its for its in self.its.values() if its.has_work]:
            for controller in busy:
                controller.advance()

    @property
    def named(self) -> int | None:
        """The broker that /controller names."""
        there = self.zookeeper.exists(None, CONTROLLER) is not None
        return self.zookeeper.get(None, CONTROLLER)[0] if there else None

    @property
    def active(self) -> list[int]:
        """The brokers that take themselves for the controller."""
        return [broker for broker, its in self.its.items() if its.active]

    @property
    def epoch(self) -> int:
        epoch: int = self.zookeeper.get(None, CONTROLLER_EPOCH)[0]
        return epoch

    @property
    def leader(self) -> int:
        leader: int = self.zookeeper.get(None, topic_partition_state_path(T0))[0].leader_and_isr.leader
        return leader


@every_generation
def test_a_controller_restarted_after_an_orderly_stop_is_elected_again(release: str) -> None:
    """A lone broker is notified of its own registration, and leads: until 1.0 it is controller before that."""
    brokers = Brokers(release, brokers=1)
    assert brokers.leader == 0
    its = brokers.its[0]
    session = its.me.session
    its.shutdown()
    assert not its.context.state.all_topics
    assert (its.is_running, its.has_work, brokers.named) == (False, False, 0)
    its.crash()
    brokers.zookeeper.expire(session)
    its.startup()
    brokers.settle()
    assert (brokers.active, brokers.epoch) == ([0], 2)


def test_a_controller_that_stops_finishes_its_event() -> None:
    """And drops its queue."""
    brokers = Brokers()
    its = brokers.its[brokers.active[0]]
    brokers.zookeeper.create(None, topic_path("u"), TopicAssignment(((0, ReplicaAssignment((0,))),)))
    while its.processing is None:
        its.advance()
    its.put(Queued(ControllerEvent.Reelect))
    its.shutdown()
    brokers.settle()
    assert brokers.zookeeper.exists(None, f"{topic_path('u')}/partitions/0/state") is not None
    assert (its.is_running, its.has_work, list(its.queue)) == (False, False, [])
    assert brokers.named == its.broker


def test_a_controller_after_shutdown_may_be_elected_but_does_not_fail_over() -> None:
    """Until its session is closed. In releases up to 0.10.2, where ZkEventThread still runs. [isRunning]"""
    brokers = Brokers("0.10.2")
    its = brokers.its[0]
    its.shutdown()
    brokers.its[1].crash()
    brokers.zookeeper.delete(None, CONTROLLER)
    while its.has_work:
        its.advance()
    assert (brokers.named, brokers.epoch, its.active) == (0, 1, False)


def test_a_failover_whose_requests_cannot_be_sent_causes_an_election() -> None:
    """Each new controller fails in the same way, until the last does not."""
    brokers = Brokers(brokers=1)
    its, send = brokers.its[0], brokers.its[0].events.batch.send
    failing = iter([True, True, False])

    def fails(broker: int, request: Any) -> Any:
        if next(failing, False):
            raise RequestsNotSent("no channel")
        return send(broker, request)

    for batch in (its.events.batch, its.events.partition_state_machine.batch, its.events.replica_state_machine.batch):
        vars(batch)["send"] = fails
    brokers.zookeeper.delete(None, CONTROLLER)
    brokers.settle()
    assert (brokers.active, brokers.epoch) == ([0], 4)
