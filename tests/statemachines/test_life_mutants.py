"""Controllers with one mistake each in their election or resignation, and the scenario that detects each of them.

The mutants of `test_event_mutants` have their mistakes in the handling of events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from statemachines.controller.agenda import ControllerStep
from statemachines.controller.calls import EventFailure, EventWaiting
from statemachines.controller.controller_process import Answer, ControllerProcess
from statemachines.controller.design import CONTROLLER, CONTROLLER_EPOCH
from statemachines.controller.kafka_controller import KafkaController
from statemachines.controller.state_change import EventDone
from statemachines.controller.threads import ControllerEvent, Queued
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.zk_data import TopicAssignment, topic_path
from tests.mutants import mutant_tests
from tests.statemachines.controller.test_kafka_controller import Brokers

Controller = type[KafkaController]

# The battery


def forgets_its_term(controller: Controller) -> None:
    """A former controller knows nothing of the cluster."""
    brokers = Brokers(controller=controller)
    [first] = brokers.active
    brokers.zookeeper.set(None, CONTROLLER, 7)
    brokers.settle()
    assert not brokers.active
    assert not brokers.its[first].context.state.all_topics


def refuses_no_election_that_is_its_own(controller: Controller) -> None:
    """The reply was lost: it reads the elected controller, and finds itself."""
    brokers = Brokers(brokers=1, controller=controller)
    its = brokers.its[0]
    brokers.zookeeper.delete(None, CONTROLLER)
    while not its.me.about_to(ControllerStep.RegisterController):
        its.advance()
    assert its.lose_reply(its.me)
    brokers.settle()
    assert its.context.state.epoch == brokers.epoch == 2


def asks_who_is_controller_when_it_is_refused(controller: Controller) -> None:
    """A write that the epoch refuses means that there is another controller."""
    brokers = Brokers(controller=controller)
    brokers.zookeeper.set(None, CONTROLLER_EPOCH, 9)
    brokers.zookeeper.set(None, CONTROLLER, 7)
    for its in brokers.its.values():
        while brokers.zookeeper.take(its.me.session):
            pass  # watch events are still in flight
    brokers.zookeeper.create(None, topic_path("u"), TopicAssignment(((0, ReplicaAssignment((0,))),)))
    brokers.settle()
    assert not brokers.active


def has_another_elected_when_its_failover_fails(controller: Controller) -> None:
    """It resigns and deletes /controller, so another election follows."""
    brokers = Brokers(brokers=1, controller=controller)
    its = brokers.its[0]
    brokers.zookeeper.delete(None, CONTROLLER)
    while its.processing is None:
        its.advance()
    its.processing = None
    its._failed_over(EventDone(None, EventFailure.NeverLed, False))
    brokers.settle()
    assert brokers.epoch == 3


def looks_again_and_again(controller: Controller) -> None:
    """Five seconds after its failover, and then every 300 seconds, until it resigns."""
    brokers = Brokers(controller=controller)
    its = brokers.its[brokers.active[0]]
    assert [*its.rebalance_timer.due_in] == [5]
    for _ in range(2):
        its.rebalance()
        brokers.settle()
        assert [*its.rebalance_timer.due_in] == [300]
    brokers.zookeeper.set(None, CONTROLLER, 7)
    brokers.settle()
    assert not its.rebalance_timer.due_in


def ends_in_order(controller: Controller) -> None:
    """It finishes its current event, drops the queue, resigns, and is named by its session until that is closed."""
    brokers = Brokers(controller=controller)
    its = brokers.its[brokers.active[0]]
    brokers.zookeeper.create(None, topic_path("u"), TopicAssignment(((0, ReplicaAssignment((0,))),)))
    while its.processing is None:
        its.advance()
    its.put(Queued(ControllerEvent.Reelect))
    its.shutdown()
    brokers.settle()
    assert brokers.zookeeper.exists(None, f"{topic_path('u')}/partitions/0/state") is not None
    assert (its.is_running, its.has_work, list(its.queue)) == (False, False, [])
    assert not its.context.state.all_topics
    assert brokers.named == its.broker


# The mutants


class RemembersItsTerm(KafkaController):
    """It only stops being active."""

    def resign(self, me: ControllerProcess) -> ControllerProcess:
        return me.resigned()


class TakesItsOwnForAnothers(KafkaController):
    """It takes every existing node for another broker's."""

    def check_controller(self, me: ControllerProcess) -> Answer:
        answer = super().check_controller(me)
        return answer._replace(
            controller=self.lose_office(me.with_steps(ControllerStep.WatchController, ControllerStep.MaybeResign))
        )


class TakesNoNotice(KafkaController):
    """Its event fails, and it continues with the next."""

    def _processed(self, processed: EventDone) -> None:
        """Nothing."""


class StaysWhenItsFailoverFails(KafkaController):
    """It only logs the failure."""

    def _failed_over(self, processed: EventDone) -> None:
        self.me = self.me.with_steps()._replace(failover_done=True)


class LooksOnce(KafkaController):
    """It does not schedule the next check."""

    def _went_on(self, step: EventWaiting | EventDone) -> None:
        due = self.rebalance_timer.due_in
        super()._went_on(step)
        if due != self.rebalance_timer.due_in and isinstance(step, EventDone) and self.active:
            self.rebalance_timer.due_in = tuple(each for each in self.rebalance_timer.due_in if each == 5)


class LooksOnInRetirement(KafkaController):
    """Its scheduler continues after the resignation."""

    def resign(self, me: ControllerProcess) -> ControllerProcess:
        due = self.rebalance_timer.due_in
        resigned = super().resign(me)
        self.rebalance_timer.due_in = due
        return resigned


class EndsAtOnce(KafkaController):
    """It does not finish its current event."""

    def shutdown(self) -> None:
        self.processing = None
        super().shutdown()


class KnowsToTheEnd(KafkaController):
    """It does not resign."""

    def _resign_if_done(self) -> None:
        """Nothing."""


MUTANTS: Sequence[tuple[Controller, Callable[[Controller], None]]] = [
    (RemembersItsTerm, forgets_its_term),
    (TakesItsOwnForAnothers, refuses_no_election_that_is_its_own),
    (TakesNoNotice, asks_who_is_controller_when_it_is_refused),
    (StaysWhenItsFailoverFails, has_another_elected_when_its_failover_fails),
    (EndsAtOnce, ends_in_order),
    (KnowsToTheEnd, ends_in_order),
    (LooksOnce, looks_again_and_again),
    (LooksOnInRetirement, looks_again_and_again),
]


test_the_class_passes, test_each_mutant_is_caught = mutant_tests(KafkaController, MUTANTS)
