"""A broker's controller as a value: its knowledge, its remaining steps, and the fields that a design needs."""

from __future__ import annotations

from typing import Any

import pytest

from statemachines.controller.agenda import IDLE, STOPPED, Agenda, ControllerStep
from statemachines.controller.controller_process import (
    ControllerProcess,
    OnePartitionContext,
    process_values,
    unused_fields,
)
from statemachines.controller.design import (
    BROKER_IDS,
    CONTROLLER,
    ELECTION,
    LEADER_AND_ISR,
    MAYBE_RESIGN,
    STARTUP,
    Design,
    Election,
    Threads,
    agendas,
    listener_agendas,
)
from statemachines.controller.failover import failover, steps_of
from statemachines.controller.threads import BROKER_CHANGE, EVENTS, ControllerEvent, Queued
from tests.statemachines.controllers import DESIGNS, at, but_for, without_fixes_of_2_2

QUEUED = Queued(ControllerEvent.BrokerChange)


def test_a_fresh_broker_knows_nothing() -> None:
    """And does nothing before it starts."""
    assert ControllerProcess().agenda == STOPPED
    fresh = ControllerProcess()
    assert (fresh.acts_as_controller, fresh.active, fresh.has_context) == (False, False, False)


def test_a_read_epoch_is_not_yet_an_own_epoch() -> None:
    """An epoch counts once the increment has its reply."""
    read = at(ControllerStep.IncrementEpoch, *LEADER_AND_ISR, active=True, epoch=1)
    assert (read.acts_as_controller, read.next_step().acts_as_controller) == (False, True)


def test_without_an_epoch_no_controller_acts() -> None:
    """Not even one that takes itself for the controller: a ghost."""
    assert not at(active=True).acts_as_controller
    assert not at(active=True, handlers_registered=True, failover_done=True).acts_as_controller


@pytest.mark.parametrize("listens", [False, True])
@pytest.mark.parametrize(
    ("active", "cached", "acts"), [(False, None, False), (False, 0, True), (True, None, True), (True, 0, True)]
)
def test_a_controller_with_channels_acts_though_not_active(
    active: bool, cached: int | None, acts: bool, listens: bool
) -> None:
    """In 0.10 these are two predicates; listening alone is neither, as each listener asks for the channels."""
    assert (
        at(active=active, partition_state_version=cached, handlers_registered=listens, epoch=1).acts_as_controller
        is acts
    )


def test_an_electing_broker_ignores_earlier_events() -> None:
    """It has one thread, which is in its election."""
    zombie = at(epoch=1, handlers_registered=True, partition_state_version=0)
    standing = (*ELECTION[Election.cas_swallowed], *steps_of(failover("0.10.2")))
    assert (zombie.acts_as_controller, zombie.with_steps(*standing).acts_as_controller) == (True, False)


def test_the_epoch_read_for_a_multi_is_not_used() -> None:
    """Even though it still listens, and knows the states, from a term that it did not resign. (B24)"""
    standing = at(ControllerStep.RegisterController, *steps_of(failover("2.1")), epoch=1, epoch_zk_version=1)
    standing = but_for(standing, handlers_registered=True, partition_state_version=0)
    assert not standing.acts_as_controller
    assert standing.next_step()._replace(active=True).acts_as_controller


def test_elect_catches_until_started() -> None:
    """In an election and its failover, but not outside of them."""
    assert at(ControllerStep.Started).in_elect
    assert at(*steps_of(failover("2.1"))).in_elect
    for row in (IDLE, BROKER_CHANGE, LEADER_AND_ISR, MAYBE_RESIGN):
        assert not at(*row).in_elect


def test_a_broker_continues_or_begins_other_steps() -> None:
    """And all its knowledge stays."""
    me = at(ControllerStep.WatchController, ControllerStep.Elect, epoch=3, queue=(QUEUED,))
    assert me.about_to(ControllerStep.WatchController)
    assert not me.about_to(ControllerStep.Elect)
    assert me.next_step() == at(ControllerStep.Elect, epoch=3, queue=(QUEUED,))
    assert me.with_steps(ControllerStep.MoveController) == at(ControllerStep.MoveController, epoch=3, queue=(QUEUED,))
    assert not at().about_to(ControllerStep.Elect)


KNOWN: dict[str, Any] = {
    "active": True,
    "epoch": 2,
    "epoch_zk_version": 2,
    "state_version": 3,
    "queue": (QUEUED,),
    "listener_agenda": Agenda((ControllerStep.RegisterBroker,)),
    "posted": (Queued(ControllerEvent.LeaderChangeListener),),
    "registration": 0,
    "broker_epoch": 7,
    "handlers_registered": True,
    "failover_done": True,
    "live_brokers": frozenset({"0"}),
    "brokers_read": frozenset({"1"}),
    "partition_state_version": 1,
}
"""Everything that a broker can know besides its session."""
OF_THE_BROKER = {"queue", "listener_agenda", "posted", "registration", "broker_epoch"}


def test_a_resignation_leaves_only_the_brokers_own_fields() -> None:
    """Its session, its events, its other thread and its registration's session are not the controller's."""
    fields = {*ControllerProcess._fields, *OnePartitionContext._fields}
    assert set(KNOWN) | {"agenda", "session", "context"} == fields
    me = at(ControllerStep.Elect, **KNOWN)
    assert me.has_context
    assert me.resigned() == at(ControllerStep.Elect, **{field: KNOWN[field] for field in OF_THE_BROKER})
    assert not me.resigned().has_context


def test_reading_another_controller_keeps_the_context() -> None:
    """Only its belief to be controller, its epoch and its pending write are gone."""
    me = at(**KNOWN)
    kept = me.not_controller()
    assert kept.has_context
    assert kept == but_for(me, active=False, epoch=0, epoch_zk_version=0, state_version=0)


@pytest.mark.parametrize(
    "known",
    [
        {"handlers_registered": True},
        {"failover_done": True},
        {"live_brokers": frozenset({"0"})},
        {"partition_state_version": 0},
    ],
)
def test_anything_left_from_a_term_is_context(known: dict[str, Any]) -> None:
    """A state that is known at version 0 counts."""
    assert at(**known).has_context
    assert not at(epoch=1, active=True, queue=(QUEUED,)).has_context


def test_as_zk_event_thread_swaps_the_threads() -> None:
    """Twice gives the same process again, and the other fields stay."""
    me = at(*BROKER_CHANGE, **KNOWN)
    other = me.as_zk_event_thread()
    assert (other.agenda, other.listener_agenda) == (KNOWN["listener_agenda"], BROKER_CHANGE)
    assert other._replace(agenda=me.agenda, listener_agenda=me.listener_agenda) == me
    assert other.as_zk_event_thread() == me


@pytest.mark.parametrize(
    "known",
    [
        {"agenda": MAYBE_RESIGN},
        {"listener_agenda": Agenda((ControllerStep.RegisterBroker,))},
        {"queue": (QUEUED,)},
        {"posted": (QUEUED,)},
    ],
)
def test_a_controller_is_at_rest_if_both_threads_are_idle(known: dict[str, Any]) -> None:
    """Now and later."""
    assert at().is_idle
    assert not at()._replace(**known).is_idle


def test_a_process_runs_until_it_is_stopped() -> None:
    """A waiting one runs as well."""
    assert not ControllerProcess().is_running
    assert at().is_running
    assert at(*STARTUP[Threads.barrier]).is_running


@pytest.mark.parametrize(
    ("active", "doing", "is_in"),
    [
        (True, ControllerStep.Started, True),
        (True, ControllerStep.Elect, False),
        (False, ControllerStep.Started, False),
    ],
)
def test_only_an_active_controller_is_in_failover(active: bool, doing: ControllerStep, is_in: bool) -> None:
    """Before it has created the node, it is in its election."""
    assert at(doing, active=active).in_failover is is_in


def test_queued_events_will_be_read() -> None:
    """By either thread; an event whose handler does not read ZooKeeper guarantees nothing."""
    isr, leader = Queued(ControllerEvent.IsrChangeNotification), Queued(ControllerEvent.LeaderChangeListener)
    assert at(queue=(QUEUED, isr)).paths_to_read == {BROKER_IDS}
    assert at(queue=(QUEUED,), posted=(leader,)).paths_to_read == {BROKER_IDS, CONTROLLER}
    assert at(queue=(isr,)).paths_to_read == frozenset()


# Consequences of a design.


EPOCHS = {"broker_epoch", "brokers_read"}
"""The consequences of broker epochs."""


@pytest.mark.parametrize(
    ("design", "fields"),
    [
        (
            without_fixes_of_2_2(),
            {
                *EPOCHS,
                "listener_agenda",
                "posted",
                "registration",
                "handlers_registered",
                "failover_done",
                "live_brokers",
                "partition_state_version",
            },
        ),
        (DESIGNS["0.10"], {*EPOCHS, "listener_agenda", "posted", "registration"}),
        (DESIGNS["1.0"], {*EPOCHS, "registration"}),
        (DESIGNS["2.1"].but(ephemeral_owner_check=True, broker_epoch=True), {"listener_agenda", "posted"}),
    ],
)
def test_unused_fields_of_a_design_stay_initial(design: Design, fields: set[str]) -> None:
    """ZkEventThread's fields if it has no thread of its own, the fixes of 2.2, and the steps after the increment."""
    assert set(unused_fields(design)) == fields
    begin = {**ControllerProcess._field_defaults, **OnePartitionContext._field_defaults}
    of = {name: OnePartitionContext if name in OnePartitionContext._fields else ControllerProcess for name in fields}
    stays = {getattr(record, name): (begin[name],) for name, record in of.items()}
    assert stays.items() <= process_values(design, EVENTS[design.threads]).items()


def test_further_consequences_of_a_design() -> None:
    """The possible steps of its threads, the possible events, and whether an event announces a controller."""
    for design in (DESIGNS["1.0"], DESIGNS["2.1"]):
        events = EVENTS[design.threads]
        found = process_values(design, events)
        assert (found[ControllerProcess.agenda], found[Queued.event]) == (agendas(design, events), events)
        assert set(found[ControllerProcess.listener_agenda]) == set(listener_agendas(design))
        assert (Queued.controller in found) == (design.threads is not Threads.queue)
