"""Control requests on their way: what each fix prevents, a defect of 3.9, and the need for each guard.

A mutant is the system with one fault in the controller, its channels or its brokers. Each must break the property
named beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from election.ids import BrokerId
from spec.by_release import RELEASES
from spec.checking import Result, check
from spec.language import AssumptionViolated, Specification, Step
from spec.parts.requests import RequestsWithoutMetadata
from spec.reports.sequence_diagram import messages_of
from spec.systems.control_requests import ControlledBrokers, ControlRequests
from statemachines.broker.replica_manager import ReplicaManager
from statemachines.controller.channel_manager import ControllerChannelManager, Delivery
from statemachines.controller.partition_state_machine import PartitionStateMachine
from statemachines.controller.request_batch import ControllerBrokerRequestBatch
from statemachines.controller.zk_requests import PartitionUpdate
from statemachines.messages.control_requests import ControlRequest
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.messages.topic_partition import TopicPartition
from tests.spec.systems.test_drawn_states import drawn_after
from tests.tiers import long_unless

QUIET: dict[str, Any] = {"max_crashes": 0, "controller_changes": 0, "lost_replies": False}
"""No events except the election of a controller and its requests to brokers."""


def broken(result: Result) -> set[str]:
    """Return the names of the broken properties."""
    return {each.name for each in result.properties if each.verdict == "violated"}


def explored(**constants: Any) -> Result:
    """Return the smallest system, enlarged by these constants."""
    return check(ControlRequests(**{**QUIET, **constants}), engine="reference", keep_going=True)


# Each fix, when off, breaks its property.


def test_a_controller_informs_its_brokers() -> None:
    """Every request is handled once, or twice after a lost reply, and every broker ends in the right state."""
    assert explored().verdict == "holds"
    assert explored(lost_replies=True).verdict == "holds"


def test_followers_refuse_an_unknown_leader() -> None:
    """B12: metadata arrive last, so no follower follows, and no controller repeats the request."""
    assert broken(explored(metadata_first=False)) == {"replicas_follow"}


def test_the_trace_of_a_bounce_is_readable() -> None:
    """B5: it has sender, receiver, waiting requests, and the current life of each broker."""
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


def test_waiting_requests_are_drawn_and_those_to_be_refused_struck_out() -> None:
    """A broker has died and is back, and requests to its earlier life are still on their way."""
    elect, back = Step("elect_controller", {}), [Step(name, {"broker": 0}) for name in ("crash", "restart")]
    one = ControlRequests(**{**QUIET, "brokers": 1, "max_crashes": 1})
    waits = ["UpdateMetadata (alive: 0)", "LeaderAndIsr (0 leads t-0 in 0)"]
    waits.append("UpdateMetadata (alive: 0; 0 leads t-0 in 0)")
    assert drawn_after(one, elect)["requests_in_flight"]["grid"][1:] == [["broker 0", {"queue": waits}]]
    ((_, drawn),) = drawn_after(one, elect, *back)["requests_in_flight"]["grid"][1:]
    assert [(each["tag"], each["look"]) for each in drawn["queue"]] == [(each, "gone") for each in waits]


# Every guard that matters: the system with one fault, and the property that detects it.


class TakesTheLast(ControllerChannelManager):
    """A thread takes the newest request first."""

    def take(self, broker: BrokerId) -> ControlRequest:
        queues = self.state.message_queues
        queues[broker] = (*queues[broker][-1:], *queues[broker][:-1])
        return super().take(broker)


class GoesOnUnanswered(ControllerChannelManager):
    """A thread sends each request once: after a lost reply it continues with the next."""

    def exchange(self, broker: BrokerId, handle: Any, delivery: Delivery = Delivery.Answered) -> Any:
        heard = super().exchange(broker, handle, delivery)
        self.state.request_send_threads[broker] = self._thread(broker)._replace(request=None)
        return heard


class TellsOfTheOther(ControllerBrokerRequestBatch):
    """Brokers receive a leader that was not elected."""

    def add_leader_and_isr_request_for_brokers(
        self, brokers: Iterable[BrokerId], partition: TopicPartition, known: Any, assignment: Any, is_new: bool
    ) -> None:
        wrong = known.leader_and_isr._replace(leader=1 - known.leader_and_isr.leader)
        known = known._replace(leader_and_isr=wrong)
        super().add_leader_and_isr_request_for_brokers(brokers, partition, known, assignment, is_new)


class TellsEachThatItLeads(ControllerBrokerRequestBatch):
    """Every broker receives itself as leader."""

    def add_leader_and_isr_request_for_brokers(
        self, brokers: Iterable[BrokerId], partition: TopicPartition, known: Any, assignment: Any, is_new: bool
    ) -> None:
        for broker in brokers:
            leading = known._replace(leader_and_isr=known.leader_and_isr._replace(leader=broker))
            super().add_leader_and_isr_request_for_brokers((broker,), partition, leading, assignment, is_new)


class ForgetsWhatItWrote(PartitionStateMachine):
    """An election's result is sent to brokers, but not remembered."""

    def _has_written(self, update: PartitionUpdate, written: LeaderAndIsr, is_new: bool) -> None:
        known = self.context.leadership_of(update.partition)
        super()._has_written(update, written, is_new)
        if known is not None:
            self.context.put_partition_leadership_info(update.partition, known)


class TakesAll(ReplicaManager):
    """A broker obeys any controller."""

    def _is_current_controller(self, request: ControlRequest) -> bool:
        self.state.controller_epoch = request.controllerEpoch
        return True


class TakesEveryEpoch(ReplicaManager):
    """A broker accepts any leader, however old: it compares neither epoch."""

    def _leader_and_isr_error(self, partition: TopicPartition, state: Any) -> Errors:
        super()._leader_and_isr_error(partition, state)
        return Errors.NONE

    def _is_ahead(self, hosted: Any, state: Any) -> bool:
        return False


class StopsInAnyCase(ReplicaManager):
    """A replica stops, however old the request."""

    def _may_stop(self, partition: TopicPartition, state: Any, delete: bool) -> Errors:
        return Errors.NONE


class NeverFetches(ReplicaManager):
    """A replica accepts the leader epoch, but does not fetch."""

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
"""The place of each kind of mutant in the system."""


def mutant(kind: type[Any], **constants: Any) -> Specification:
    """Return the system with this mutant in place of its own class."""
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


@pytest.mark.parametrize(
    ("kind", "constants", "property_"),
    long_unless(lambda case: case[0] is None and "late_copies" not in case[1], MUTANTS),
    ids=[f"{kind.__name__ if kind else 'switch'}-{name}" for kind, _, name in MUTANTS],
)
def test_a_mutant_breaks_its_property(kind: type[Any] | None, constants: dict[str, Any], property_: str) -> None:
    """On the way to it, other properties may break."""
    specification = mutant(kind, **constants) if kind else ControlRequests(**{**QUIET, **constants})
    result = check(specification, properties=[property_], engine="reference")
    assert {each.name: each.verdict for each in result.properties}[property_] == "violated"


def test_every_property_is_broken_by_some_mutant() -> None:
    """None of them holds in every system. Other tests break those of ZooKeeper itself."""
    everything = ControlRequests(shutdowns=True, reassignments=1, isr_changes=1, late_copies=True)
    sought = {
        each.name
        for each in everything.properties
        if each.kind != "sometimes" and not each.name.startswith("zk.") and each.name != "type_ok"
    }
    assert {name for _, _, name in MUTANTS} == sought


def test_every_release_is_mapped() -> None:
    """Each of Kafka's releases has its values."""
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
def test_impossible_actions_and_witnesses_are_absent(constants: dict[str, Any]) -> None:
    """An action or witness whose bound is too low does not exist, so the run is not vacuous."""
    result = explored(**constants)
    assert broken(result) <= ({"metadata_epoch_monotone", "metadata_fresh"} if "late_copies" in constants else set())
    assert not [each.name for each in result.properties if each.verdict == "missing"]
    assert not [each.name for each in result.actions if not each.taken]


def test_one_partition_changes_where_isrs_do() -> None:
    """The pending state belongs to the first partition."""
    with pytest.raises(AssumptionViolated, match="one_partition_changes"):
        ControlRequests(partitions=2, isr_changes=1)
