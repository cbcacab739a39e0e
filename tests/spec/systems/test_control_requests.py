"""Control requests on their way: what each fix prevents, what 3.9 does that was not said, and no guard for nothing.

A mutant is the system with one thing wrong in the controller, its channels or its brokers. Each must break the
property that is there for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from election.ids import BrokerId
from spec.by_release import RELEASES
from spec.checking import Result, check
from spec.language import AssumptionViolated, Specification, Step
from spec.parts.request_batch import RequestsWithoutMetadata
from spec.reports.sequence_diagram import messages_of
from spec.systems.control_requests import ControlledBrokers, ControlRequests
from statemachines.broker.replica_manager import ReplicaManager
from statemachines.controller.channel_manager import ControllerChannelManager, Delivery
from statemachines.controller.partition_state_machine import PartitionStateMachine
from statemachines.controller.request_batch import ControllerBrokerRequestBatch
from statemachines.controller.zk_state_machine import PartitionUpdate
from statemachines.messages.control_requests import ControlRequest
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.messages.topic_partition import TopicPartition
from tests.spec.systems.test_drawn_states import drawn_after

QUIET: dict[str, Any] = {"max_crashes": 0, "controller_changes": 0, "lost_replies": False}
"""Nothing happens but that a controller is elected, and tells its brokers."""


def broken(result: Result) -> set[str]:
    """Which properties break."""
    return {each.name for each in result.properties if each.verdict == "violated"}


def explored(**constants: Any) -> Result:
    """The smallest system, with more of it where that is said."""
    return check(ControlRequests(**{**QUIET, **constants}), engine="reference", keep_going=True)


# Each fix switched off breaks the property that it is there for.


def test_a_controller_tells_its_brokers() -> None:
    """Every request is handled once, or twice where its reply was lost, and all is as it is to be."""
    assert explored().verdict == "holds"
    assert explored(lost_replies=True).verdict == "holds"


def test_followers_refuse_a_leader_of_which_they_have_not_heard() -> None:
    """B12: metadata comes last, so no follower follows, and no controller tells it again."""
    assert broken(explored(metadata_first=False)) == {"replicas_follow"}


def test_the_story_of_a_bounce_can_be_read_aloud() -> None:
    """B5: who sends what to whom, what still waits, and in which of its lives a broker is."""
    story = explored(brokers=1, max_crashes=1, broker_epoch=False).counterexamples
    (trace,) = [each for each in story if each.broken == "online_is_led"]
    assert [str(each.step) for each in trace.steps[-3:]] == [
        "crash(broker=0)",
        "restart(broker=0)",
        "broker_change()",
    ]
    (message,) = [each for each in messages_of(trace) if each.number == 4]
    assert (message.actor, message.receiver, message.sentences) == (
        "connection of the controller",
        "broker 0",
        "LeaderAndIsr",
    )
    waits = "for broker 0, over the connection of the controller: UpdateMetadata (alive: 0; 0 leads t-0 in 0)"
    assert {waits, "broker 0 leads t-0 in leader epoch 0"} <= {*message.notes}


def test_what_waits_is_drawn_and_what_will_be_refused_is_struck_out() -> None:
    """A broker has died and is back, and what was meant for its earlier life is on its way still."""
    elect, back = Step("elect_controller", {}), [Step(name, {"broker": 0}) for name in ("crash", "restart")]
    one = ControlRequests(**{**QUIET, "brokers": 1, "max_crashes": 1})
    waits = ["UpdateMetadata (alive: 0)", "LeaderAndIsr (0 leads t-0 in 0)"]
    waits.append("UpdateMetadata (alive: 0; 0 leads t-0 in 0)")
    assert drawn_after(one, elect)["requests_in_flight"]["grid"][1:] == [["broker 0", {"queue": waits}]]
    ((_, drawn),) = drawn_after(one, elect, *back)["requests_in_flight"]["grid"][1:]
    assert [(each["tag"], each["look"]) for each in drawn["queue"]] == [(each, "gone") for each in waits]


# Every guard that matters: the system with one thing wrong, and the property that sees it.


class TakesTheLast(ControllerChannelManager):
    """A thread takes what came last."""

    def take(self, broker: BrokerId) -> ControlRequest:
        queues = self.state.message_queues
        queues[broker] = (*queues[broker][-1:], *queues[broker][:-1])
        return super().take(broker)


class GoesOnUnanswered(ControllerChannelManager):
    """A thread sends each request once: where the reply is lost, it goes on to the next."""

    def exchange(self, broker: BrokerId, handle: Any, delivery: Delivery = Delivery.Answered) -> Any:
        heard = super().exchange(broker, handle, delivery)
        self.state.request_send_threads[broker] = self._thread(broker)._replace(request=None)
        return heard


class TellsOfTheOther(ControllerBrokerRequestBatch):
    """Brokers are told of a leader that was not elected."""

    def add_leader_and_isr_request_for_brokers(
        self, brokers: Iterable[BrokerId], partition: TopicPartition, known: Any, assignment: Any, is_new: bool
    ) -> None:
        wrong = known.leader_and_isr._replace(leader=1 - known.leader_and_isr.leader)
        known = known._replace(leader_and_isr=wrong)
        super().add_leader_and_isr_request_for_brokers(brokers, partition, known, assignment, is_new)


class TellsEachThatItLeads(ControllerBrokerRequestBatch):
    """Every broker is told that it leads."""

    def add_leader_and_isr_request_for_brokers(
        self, brokers: Iterable[BrokerId], partition: TopicPartition, known: Any, assignment: Any, is_new: bool
    ) -> None:
        for broker in brokers:
            leading = known._replace(leader_and_isr=known.leader_and_isr._replace(leader=broker))
            super().add_leader_and_isr_request_for_brokers((broker,), partition, leading, assignment, is_new)


class ForgetsWhatItWrote(PartitionStateMachine):
    """What an election has written is told, and not remembered."""

    def _has_written(self, update: PartitionUpdate, written: LeaderAndIsr, is_new: bool) -> None:
        known = self.context.leadership_of(update.partition)
        super()._has_written(update, written, is_new)
        if known is not None:
            self.context.put_partition_leadership_info(update.partition, known)


class TakesAll(ReplicaManager):
    """A broker obeys whichever controller asks."""

    def _is_current_controller(self, request: ControlRequest) -> bool:
        self.state.controller_epoch = request.controllerEpoch
        return True


class TakesEveryEpoch(ReplicaManager):
    """A broker goes by whichever leader it is told of, however long ago that was: neither epoch is looked at."""

    def _leader_and_isr_error(self, partition: TopicPartition, told: Any) -> Errors:
        super()._leader_and_isr_error(partition, told)
        return Errors.NONE

    def _is_ahead(self, hosted: Any, told: Any) -> bool:
        return False


class StopsInAnyCase(ReplicaManager):
    """A replica stops, however long ago it was told to."""

    def _may_stop(self, partition: TopicPartition, told: Any, delete: bool) -> Errors:
        return Errors.NONE


class NeverFetches(ReplicaManager):
    """A replica takes the leader epoch, and no more."""

    def _make_followers(self, states: Any, handling: Any) -> tuple[TopicPartition, ...]:
        made = super()._make_followers(states, handling)
        for partition in made:
            del self.state.fetchers[partition]
        return made


class HearsOfNoBroker(ControlRequests):
    """The watch for /brokers/ids does not fire."""

    def note_broker_change(self, s: ControlledBrokers) -> None:
        pass


PLACES = {
    ControllerChannelManager: "channel_manager",
    ControllerBrokerRequestBatch: "request_batch",
    PartitionStateMachine: "partition_state_machine",
    ReplicaManager: "replica_manager",
}
"""Where a mutant of this kind stands in the system."""


def mutant(kind: type[Any], **constants: Any) -> Specification:
    """The system with this in place of its own."""
    if issubclass(kind, ControlRequests):
        return kind(**{**QUIET, **constants})
    place = next(name for base, name in PLACES.items() if issubclass(kind, base))
    made = type(kind.__name__, (ControlRequests,), {place: kind, "__doc__": kind.__doc__})
    return made(**{**QUIET, **constants})  # type: ignore[no-any-return]


BOUNCE = {"max_crashes": 1}
MOVE = {"controller_changes": 1}
MUTANTS: list[tuple[type[Any] | None, dict[str, Any], str]] = [
    (TakesTheLast, {}, "in_order"),
    (GoesOnUnanswered, {"lost_replies": True}, "retried_until_answered"),
    (TellsOfTheOther, {}, "request_reflects_zookeeper"),
    (None, {**BOUNCE, "broker_epoch": False}, "ignores_requests_for_earlier_life"),
    (TakesAll, MOVE, "ignores_older_controller"),
    (TakesAll, MOVE, "receivers.broker_sees_monotone"),
    (StopsInAnyCase, {"reassignments": 2, "late_copies": True, "max_leader_epoch": 4}, "stop_is_fenced"),
    (NeverFetches, {}, "role_and_epoch_together"),
    (None, {**BOUNCE, "late_copies": True}, "metadata_epoch_monotone"),
    (TellsOfTheOther, {}, "presumed_leader_legit"),
    (HearsOfNoBroker, BOUNCE, "live_brokers_known"),
    (ForgetsWhatItWrote, BOUNCE, "cache_fresh"),
    (
        None,
        {"max_crashes": 1, "isr_changes": 1, "initially_in_sync": False, "live_isr_check": False},
        "dead_not_in_isr",
    ),
    (
        None,
        {
            "isr_changes": 1,
            "initially_in_sync": False,
            "alter_partition": False,
            "lost_replies": True,
            "read_back_isr": False,
        },
        "leader_can_write",
    ),
    (None, {**BOUNCE, "broker_epoch": False}, "online_is_led"),
    (None, {"shutdowns": True, "notify_shutting_down": False}, "no_other_leads"),
    (None, {"metadata_first": False}, "replicas_follow"),
    (None, {"reassignments": 3, "max_leader_epoch": 6, "stop_at_same_epoch": False}, "no_stray_replica"),
    (RequestsWithoutMetadata, {}, "metadata_fresh"),
    (TakesEveryEpoch, {**BOUNCE, "late_copies": True}, "receivers.leader_epochs_increase"),
    (TellsEachThatItLeads, {}, "receivers.one_leader_in_an_epoch"),
]


LONG = {"stop_is_fenced", "metadata_epoch_monotone", "receivers.leader_epochs_increase"}
"""What is found only where copies come late, among ten thousand states and more."""


@pytest.mark.parametrize(
    ("kind", "constants", "property_"),
    [
        pytest.param(
            kind,
            constants,
            name,
            id=f"{kind.__name__ if kind else 'switch'}-{name}",
            marks=pytest.mark.long if name in LONG else (),
        )
        for kind, constants, name in MUTANTS
    ],
)
def test_a_mutant_breaks_the_property_that_is_there_for_it(
    kind: type[Any] | None, constants: dict[str, Any], property_: str
) -> None:
    """On the way to it nothing else has to hold."""
    specification = mutant(kind, **constants) if kind else ControlRequests(**{**QUIET, **constants})
    result = check(specification, properties=[property_], engine="reference")
    assert {each.name: each.verdict for each in result.properties}[property_] == "violated"


def test_every_property_is_broken_by_some_mutant() -> None:
    """None of them holds whatever the system does. Those of ZooKeeper itself have theirs elsewhere."""
    everything = ControlRequests(shutdowns=True, reassignments=1, isr_changes=1, late_copies=True)
    sought = {
        each.name
        for each in everything.properties
        if each.kind != "sometimes" and not each.name.startswith("zk.") and each.name != "type_ok"
    }
    assert {name for _, _, name in MUTANTS} == sought


def test_every_release_is_mapped() -> None:
    """Each of Kafka's releases has a valuation."""
    assert tuple(ControlRequests.releases) == RELEASES


@pytest.mark.parametrize(
    "constants",
    [
        {"brokers": 1, "max_crashes": 1, "controller_changes": 1},
        {"brokers": 1, "shutdowns": True, "isr_changes": 1},
        {"isr_changes": 1},
        {"isr_changes": 1, "initially_in_sync": False, "alter_partition": False},
        {"partitions": 2},
        {"controller_changes": 2, "brokers": 1},
        {"max_crashes": 1, "lost_replies": True, "brokers": 1},
        {"late_copies": True, "brokers": 1},
        {"new_topic": True, "epoch_after_log": True},
    ],
    ids=lambda value: ", ".join(f"{name}={each}" for name, each in value.items()),
)
def test_what_cannot_happen_is_absent_not_missing(constants: dict[str, Any]) -> None:
    """An action or witness whose bound is too low is not asked for."""
    result = explored(**constants)
    assert broken(result) <= ({"metadata_epoch_monotone", "metadata_fresh"} if "late_copies" in constants else set())
    assert not [each.name for each in result.properties if each.verdict == "missing"]
    assert not [each.name for each in result.actions if not each.taken]


def test_one_partition_changes_where_isrs_do() -> None:
    """A state that is pending is about the first."""
    with pytest.raises(AssumptionViolated, match="one_partition_changes"):
        ControlRequests(partitions=2, isr_changes=1)
