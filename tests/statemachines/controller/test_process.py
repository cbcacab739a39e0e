"""A broker's controller as a value: what it knows, what it is about to do, and which of that a design needs."""

from __future__ import annotations

from typing import Any

import pytest

from statemachines.controller.agenda import IDLE, STOPPED, Agenda, Do
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
    listening,
)
from statemachines.controller.failover import failover, requests
from statemachines.controller.process import ControllerProcess, OnePartitionContext, unused, values_of
from statemachines.controller.threads import BROKER_CHANGE, EVENTS, ControllerEvent, Queued
from tests.statemachines.controllers import DESIGNS, at, but_for, without_fixes_of_2_2

QUEUED = Queued(ControllerEvent.BrokerChange)


def test_a_fresh_broker_knows_nothing() -> None:
    """And does nothing until it is started."""
    assert ControllerProcess().doing == STOPPED
    fresh = ControllerProcess()
    assert (fresh.acts, fresh.active, fresh.has_context) == (False, False, False)


def test_what_was_read_is_no_epoch_yet() -> None:
    """An epoch counts once its increment is answered."""
    read = at(Do.IncrementEpoch, *LEADER_AND_ISR, active=True, epoch=1)
    assert (read.acts, read.on().acts) == (False, True)


def test_without_an_epoch_nobody_acts() -> None:
    """Not even one that takes itself for the controller: a ghost."""
    assert not at(active=True).acts
    assert not at(active=True, listens=True, started=True).acts


@pytest.mark.parametrize("listens", [False, True])
@pytest.mark.parametrize(
    ("active", "cached", "acts"), [(False, None, False), (False, 0, True), (True, None, True), (True, 0, True)]
)
def test_who_has_channels_acts_without_taking_itself_for_the_controller(
    active: bool, cached: int | None, acts: bool, listens: bool
) -> None:
    """In 0.10 these are two predicates; merely to listen is neither, as each listener asks for the channels."""
    assert at(active=active, cached=cached, listens=listens, epoch=1).acts is acts


def test_who_stands_for_election_again_does_not_act_by_what_it_heard_before() -> None:
    """One thread, which is in its election."""
    zombie = at(epoch=1, listens=True, cached=0)
    standing = (*ELECTION[Election.cas_swallowed], *requests(failover("0.10.2")))
    assert (zombie.acts, zombie.to(*standing).acts) == (True, False)


def test_who_has_read_the_epoch_for_a_multi_does_not_act_by_it() -> None:
    """Though it listens still, and knows the states, from a term that it did not resign. (B24)"""
    standing = at(Do.RegisterController, *requests(failover("2.1")), epoch=1, epoch_zk_version=1)
    standing = but_for(standing, listens=True, cached=0)
    assert not standing.acts
    assert standing.on()._replace(active=True).acts


def test_what_elect_catches_ends_with_started() -> None:
    """An election and its failover, and not what comes from elsewhere."""
    assert at(Do.Started).in_elect
    assert at(*requests(failover("2.1"))).in_elect
    for row in (IDLE, BROKER_CHANGE, LEADER_AND_ISR, MAYBE_RESIGN):
        assert not at(*row).in_elect


def test_a_broker_goes_on_or_turns_to_something_else() -> None:
    """And all that it knows stays."""
    me = at(Do.WatchController, Do.Elect, epoch=3, queue=(QUEUED,))
    assert me.about_to(Do.WatchController)
    assert not me.about_to(Do.Elect)
    assert me.on() == at(Do.Elect, epoch=3, queue=(QUEUED,))
    assert me.to(Do.MoveController) == at(Do.MoveController, epoch=3, queue=(QUEUED,))
    assert not at().about_to(Do.Elect)


KNOWN: dict[str, Any] = {
    "active": True,
    "epoch": 2,
    "epoch_zk_version": 2,
    "state_version": 3,
    "queue": (QUEUED,),
    "listening": Agenda((Do.RegisterBroker,)),
    "posted": (Queued(ControllerEvent.LeaderChangeListener),),
    "registration": 0,
    "broker_epoch": 7,
    "listens": True,
    "started": True,
    "live": frozenset({"0"}),
    "found": frozenset({"1"}),
    "cached": 1,
}
"""All that a broker can know besides its session."""
OF_THE_BROKER = {"queue", "listening", "posted", "registration", "broker_epoch"}


def test_a_resignation_leaves_nothing_but_what_is_the_brokers() -> None:
    """Its session, what it is told, its other thread and the session of its registration are not the controller's."""
    fields = {*ControllerProcess._fields, *OnePartitionContext._fields}
    assert set(KNOWN) | {"doing", "session", "context"} == fields
    me = at(Do.Elect, **KNOWN)
    assert me.has_context
    assert me.resigned() == at(Do.Elect, **{field: KNOWN[field] for field in OF_THE_BROKER})
    assert not me.resigned().has_context


def test_who_merely_reads_that_it_is_no_controller_keeps_its_context() -> None:
    """What it takes itself for, its epoch and what it was about to write are gone, and that is all."""
    me = at(**KNOWN)
    kept = me.not_controller()
    assert kept.has_context
    assert kept == but_for(me, active=False, epoch=0, epoch_zk_version=0, state_version=0)


@pytest.mark.parametrize("known", [{"listens": True}, {"started": True}, {"live": frozenset({"0"})}, {"cached": 0}])
def test_anything_that_is_left_of_a_term_is_context(known: dict[str, Any]) -> None:
    """A state that is known at version 0 is known."""
    assert at(**known).has_context
    assert not at(epoch=1, active=True, queue=(QUEUED,)).has_context


def test_beside_it_the_other_thread_is_the_one_that_does() -> None:
    """Twice beside is where it was, and nothing else is touched."""
    me = at(*BROKER_CHANGE, **KNOWN)
    other = me.beside()
    assert (other.doing, other.listening) == (KNOWN["listening"], BROKER_CHANGE)
    assert other._replace(doing=me.doing, listening=me.listening) == me
    assert other.beside() == me


@pytest.mark.parametrize(
    "known",
    [
        {"doing": MAYBE_RESIGN},
        {"listening": Agenda((Do.RegisterBroker,))},
        {"queue": (QUEUED,)},
        {"posted": (QUEUED,)},
    ],
)
def test_a_controller_is_at_rest_if_neither_thread_has_anything_to_do(known: dict[str, Any]) -> None:
    """Now or later."""
    assert at().at_rest
    assert not at()._replace(**known).at_rest


def test_a_process_runs_until_it_is_stopped() -> None:
    """One that waits runs as well."""
    assert not ControllerProcess().is_running
    assert at().is_running
    assert at(*STARTUP[Threads.barrier]).is_running


@pytest.mark.parametrize(
    ("active", "doing", "is_in"), [(True, Do.Started, True), (True, Do.Elect, False), (False, Do.Started, False)]
)
def test_a_failover_is_that_of_a_broker_in_office(active: bool, doing: Do, is_in: bool) -> None:
    """Before it has created the node, it is in its election."""
    assert at(doing, active=active).in_failover is is_in


def test_what_waits_will_be_read() -> None:
    """By either thread; an event that is handled without a look at ZooKeeper promises nothing."""
    isr, leader = Queued(ControllerEvent.IsrChangeNotification), Queued(ControllerEvent.LeaderChangeListener)
    assert at(queue=(QUEUED, isr)).will_read == {BROKER_IDS}
    assert at(queue=(QUEUED,), posted=(leader,)).will_read == {BROKER_IDS, CONTROLLER}
    assert at(queue=(isr,)).will_read == frozenset()


# What goes with a design.


EPOCHS = {"broker_epoch", "found"}
"""What goes with the epochs of brokers."""


@pytest.mark.parametrize(
    ("design", "fields"),
    [
        (
            without_fixes_of_2_2(),
            {*EPOCHS, "listening", "posted", "registration", "listens", "started", "live", "cached"},
        ),
        (DESIGNS["0.10"], {*EPOCHS, "listening", "posted", "registration"}),
        (DESIGNS["1.0"], {*EPOCHS, "registration"}),
        (DESIGNS["2.1"]._replace(ephemeral_owner_check=True, broker_epoch=True), {"listening", "posted"}),
    ],
)
def test_what_a_design_does_not_need_stays_as_it_begins(design: Design, fields: set[str]) -> None:
    """ZkEventThread's where it is no thread of its own, the fixes of 2.2, and what follows the increment."""
    assert set(unused(design)) == fields
    begin = {**ControllerProcess._field_defaults, **OnePartitionContext._field_defaults}
    of = {name: OnePartitionContext if name in OnePartitionContext._fields else ControllerProcess for name in fields}
    stays = {getattr(record, name): (begin[name],) for name, record in of.items()}
    assert stays.items() <= values_of(design, EVENTS[design.threads]).items()


def test_what_else_follows_from_a_design() -> None:
    """What its threads may be about to do, what may wait, and whether an event tells of a controller."""
    for design in (DESIGNS["1.0"], DESIGNS["2.1"]):
        told = EVENTS[design.threads]
        found = values_of(design, told)
        assert (found[ControllerProcess.doing], found[Queued.event]) == (agendas(design, told), told)
        assert set(found[ControllerProcess.listening]) == set(listening(design))
        assert (Queued.controller in found) == (design.threads is not Threads.queue)
