"""KafkaController: brokers that are elected, act, lose their sessions and are elected again, in each generation."""

from __future__ import annotations

from typing import Any

import pytest

from statemachines.controller.alter_partition import AlterPartitionRequest
from statemachines.controller.calls import Call, EventFailure, call
from statemachines.controller.design import BROKER_IDS, CONTROLLER, CONTROLLER_EPOCH, NO_BROKER
from statemachines.controller.kafka_controller import KafkaController, kafka_controller
from statemachines.controller.replica_leader_election import ElectionTrigger, ElectionType
from statemachines.controller.request_batch import RequestsNotSent
from statemachines.messages.errors import Errors
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import PERSISTENT_PATHS, TopicAssignment, topic_partition_state_path, topic_path
from statemachines.zookeeper.server import ZooKeeper

T0 = TopicPartition("t", 0)
GENERATIONS = ["0.10.2", "0.11", "1.0", "1.1", "2.0", "2.1", "2.2", "3.9"]
every_generation = pytest.mark.parametrize("release", GENERATIONS)


class Brokers:
    """Two or more brokers of a release, each with its controller, and one topic with replicas on both."""

    def __init__(
        self, release: str = "3.9", brokers: int = 2, controller: type[KafkaController] = KafkaController
    ) -> None:
        self._controller = controller
        self.zookeeper = ZooKeeper()
        for path in PERSISTENT_PATHS:
            self.zookeeper.create(None, path)
        self.answers: list[Any] = []
        self.sent: list[tuple[int, str]] = []
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
            lambda to, request: self.sent.append((to, type(request).__name__)),
            release,
            answer=lambda event, answer: None if answer is None else self.answers.append(answer),
            log=None,
            controller=self._controller,
        )

    def settle(self) -> None:
        """Run all of them, one step each in turn, until none has a step left."""
        while busy := [its for its in self.its.values() if its.has_work]:
            for controller in busy:
                controller.advance()

    def expire(self, broker: int) -> None:
        """The servers end a broker's session."""
        self.zookeeper.expire(self.its[broker].me.session)

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
def test_a_controller_is_elected_and_creates_a_topic(release: str) -> None:
    """It fails over, is notified of a new topic, and elects its leader."""
    brokers = Brokers(release)
    assert brokers.active == [brokers.named]
    assert brokers.its[brokers.active[0]].context.state.epoch == brokers.epoch == 1
    assert brokers.leader == 0
    assert {"LeaderAndIsrRequest", "UpdateMetadataRequest"} <= {name for _, name in brokers.sent}


@every_generation
def test_a_lone_broker_is_notified_of_its_own_registration(release: str) -> None:
    """Until 1.0 it is controller before it has registered, and at first knows no broker."""
    assert Brokers(release, brokers=1).leader == 0


@every_generation
def test_another_is_elected_when_the_session_of_the_controller_ends(release: str) -> None:
    """Under the next epoch; the former controller registers anew, and knows nothing of its term."""
    brokers = Brokers(release)
    [first] = brokers.active
    brokers.expire(first)
    others = {broker: its for broker, its in brokers.its.items() if broker != first}
    while any(its.has_work for its in others.values()):
        for its in others.values():
            its.advance()
    assert brokers.named not in (None, first)
    brokers.settle()
    assert brokers.active == [brokers.named]
    assert brokers.named != first
    assert brokers.epoch == 2
    assert brokers.its[first].context.state.epoch == 0
    assert not brokers.its[first].context.state.all_topics
    assert brokers.zookeeper.children(None, BROKER_IDS)[0] == {"0", "1"}


@every_generation
def test_the_next_controller_elects_after_a_crash(release: str) -> None:
    """The crashed broker was leader and controller; the other one replaces it in both roles."""
    brokers = Brokers(release)
    [first] = brokers.active
    session = brokers.its[first].me.session
    brokers.its[first].crash()
    brokers.zookeeper.expire(session)
    brokers.settle()
    assert brokers.active == [brokers.named]
    assert brokers.named != first
    assert brokers.leader == brokers.named


@pytest.mark.parametrize("release", ["2.1", "3.9"])
def test_a_controller_whose_write_is_refused_resigns(release: str) -> None:
    """/controller_epoch was incremented: its own refused write shows it that there is another controller."""
    brokers = Brokers(release)
    [first] = brokers.active
    brokers.zookeeper.delete(None, CONTROLLER)
    brokers.zookeeper.create(None, CONTROLLER, 7)
    brokers.zookeeper.set(None, CONTROLLER_EPOCH, 9)
    while brokers.zookeeper.take(brokers.its[first].me.session):
        pass  # its watch events are still in flight
    brokers.zookeeper.create(None, topic_path("u"), TopicAssignment(((0, ReplicaAssignment((0,))),)))
    brokers.settle()
    assert brokers.active == []
    assert brokers.its[first].active_controller_id == 7
    assert brokers.zookeeper.exists(None, topic_partition_state_path(TopicPartition("u", 0))) is None


@every_generation
def test_deleting_the_controller_node_causes_an_election(release: str) -> None:
    """There is one winner, under the next epoch."""
    brokers = Brokers(release)
    brokers.zookeeper.delete(None, CONTROLLER)
    brokers.settle()
    assert brokers.active == [brokers.named]
    assert brokers.epoch == 2


def test_a_failed_failover_causes_an_election() -> None:
    """Its requests to brokers cannot be sent; each new controller fails in the same way, until the last does not."""
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
    assert brokers.active == [0]
    assert brokers.epoch == 4


def test_a_broker_that_is_not_controller_refuses_requests() -> None:
    """Each with the error of its request."""
    brokers = Brokers()
    [other] = [broker for broker in brokers.its if broker not in brokers.active]
    its, events = brokers.its[other], brokers.its[other].events
    asked: list[Call] = [
        call(events.process_controlled_shutdown, 0, 1),
        call(
            events.process_replica_leader_election,
            (T0,),
            ElectionType.PREFERRED,
            ElectionTrigger.AdminClientTriggered,
        ),
        call(events.process_api_partition_reassignment, ((T0, (1,)),)),
        call(events.process_topic_change),
    ]
    for event in asked:
        its.put(event)
    brokers.settle()
    assert brokers.answers == [EventFailure.ControllerMoved, ((T0, Errors.NOT_CONTROLLER),), ()]


def test_a_controlled_shutdown_request_is_answered() -> None:
    """The broker receives the partitions that it still leads."""
    brokers = Brokers()
    [its] = [its for its in brokers.its.values() if its.active]
    epochs = dict(its.context.state.live_broker_epochs)
    its.put(call(its.events.process_controlled_shutdown, 0, epochs[0]))
    brokers.settle()
    assert brokers.answers == [()]
    assert brokers.leader == 1


def test_another_broker_may_create_the_epoch_first() -> None:
    """Between the read that finds none and the creation: the broker then reads again."""
    zookeeper = ZooKeeper()
    for path in PERSISTENT_PATHS:
        zookeeper.create(None, path)

    class Slow(ZooKeeper):
        def create(self, session: Any, path: str, data: Any = None, **how: Any) -> Any:
            if path == CONTROLLER_EPOCH and session is not None:
                super().create(None, path, 5)
            return super().create(session, path, data, **how)

    controller = kafka_controller(1, Slow(zookeeper.state), lambda broker, request: None, log=None)
    controller.startup()
    while controller.has_work:
        controller.advance()
    assert controller.active
    assert controller.context.state.epoch == zookeeper.get(None, CONTROLLER_EPOCH)[0] == 6


def test_a_new_controller_knows_no_brokers() -> None:
    """Nor does a crashed one after its restart."""
    controller = kafka_controller(1, ZooKeeper(), lambda broker, request: None)
    assert controller.active_controller_id == NO_BROKER
    assert not controller.has_work


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


@every_generation
def test_a_controller_restarted_after_an_orderly_stop_is_elected_again(release: str) -> None:
    brokers = Brokers(release, brokers=1)
    its = brokers.its[0]
    session = its.me.session
    its.shutdown()
    its.crash()
    brokers.zookeeper.expire(session)
    its.startup()
    brokers.settle()
    assert (brokers.active, brokers.epoch) == ([0], 2)


@every_generation
def test_an_unregistered_broker_is_no_controller(release: str) -> None:
    """An operator created its node by hand: it ends, though until 0.10.2 it was controller before registering."""
    brokers = Brokers(release)
    brokers.its[0].crash()
    brokers.settle()
    session = brokers.its[1].me.session
    brokers.its[1].crash()
    brokers.zookeeper.expire(session)
    if brokers.zookeeper.exists(None, f"{BROKER_IDS}/1") is None:
        brokers.zookeeper.create(None, f"{BROKER_IDS}/1")
    brokers.its[1].startup()
    brokers.settle()
    assert (brokers.its[1].is_running, brokers.its[1].active) == (False, False)


@pytest.mark.parametrize(
    ("release", "refused"),
    [("2.1", set()), ("2.2", {"election"}), ("2.6", {"election"}), ("2.7", {"election", "move"})],
)
def test_pending_callers_are_refused_when_a_controller_shuts_down(release: str, refused: set[str]) -> None:
    """Of an election since 2.2, of a reassignment since 2.7; a leader that asks for an ISR never."""
    brokers = Brokers(release)
    its, work = brokers.its[brokers.active[0]], brokers.its[brokers.active[0]].events
    brokers.answers.clear()
    by_admin = (ElectionType.PREFERRED, ElectionTrigger.AdminClientTriggered)
    its.put(call(work.process_replica_leader_election, (T0,), *by_admin))
    its.put(call(work.process_api_partition_reassignment, ((T0, (1,)),)))
    its.put(call(work.process_alter_partition, AlterPartitionRequest(0, 0, ())))
    its.shutdown()
    answered = {((T0, Errors.NOT_CONTROLLER),): "election", (): "move"}
    assert {answered[each] for each in brokers.answers} == refused
