"""The agendas of a controller's life, and the consequences of a design."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from statemachines.controller.design import (
    BROKER_IDS,
    CONTROLLER,
    ELECTION,
    EXPIRED,
    IDLE,
    INCREMENT,
    LEADER_AND_ISR,
    MAYBE_RESIGN,
    PATHS_READ,
    STARTUP,
    STOPPED,
    Agenda,
    ControllerStep,
    Design,
    Election,
    Threads,
    accepts_controller_epoch,
    agendas,
    failover_of,
    listener_agendas,
)
from statemachines.controller.threads import HANDLING, ControllerEvent, Queued
from tests.statemachines.controllers import DESIGNS, without_fixes_of_2_2

QUEUED = Queued(ControllerEvent.BrokerChange)

every_design = pytest.mark.parametrize("design", list(DESIGNS.values()), ids=list(DESIGNS))
until_1_0 = pytest.mark.parametrize("release", ["0.10", "1.0"])


# Rows.


@pytest.mark.parametrize("threads", list(Threads), ids=[each.name for each in Threads])
def test_a_start_registers_the_broker_first_since_1_1_only(threads: Threads) -> None:
    """Earlier, the controller starts and may be elected, and then the broker registers. [KafkaServer.startup]"""
    first = (ControllerStep.RegisterBroker,) if threads is Threads.barrier else ()
    assert STARTUP[threads] == (ControllerStep.Connect, *first, ControllerStep.WatchController, ControllerStep.Elect)


def test_a_new_session_registers_asks_and_elects() -> None:
    """Since 1.1 it is one event. [RegisterBrokerAndReelect]"""
    assert (ControllerStep.Connect, ControllerStep.RegisterBroker, *MAYBE_RESIGN, ControllerStep.Elect) == EXPIRED


@pytest.mark.parametrize("election", list(Election), ids=[each.name for each in Election])
def test_only_the_multi_needs_to_know_the_epoch_before_there_is_a_controller(election: Election) -> None:
    """The other elections read and increment it in their failover."""
    assert (ControllerStep.ReadEpoch in ELECTION[election]) is (election is Election.multi)
    assert (ControllerStep.ReadEpoch, ControllerStep.IncrementEpoch) == INCREMENT


@every_design
def test_every_way_to_become_controller_increments_the_epoch_once(design: Design) -> None:
    """In the election or in the failover."""
    row = (*ELECTION[design.epoch_update], *design.failover)
    assert len([do for do in row if do in (ControllerStep.RegisterController, ControllerStep.IncrementEpoch)]) == 1
    assert row.count(ControllerStep.ReadEpoch) == 1


def test_the_default_is_the_newest_release_without_proposals() -> None:
    """Kafka's fixes are on, and our own off."""
    design = Design()
    assert (design.epoch_update, design.threads, design.fence_zk) == (Election.multi, Threads.barrier, True)
    assert (design.skip_if_self, design.listener_guard) == (True, True)
    assert (design.ghost_check, design.resign_on_move, design.elect_if_none) == (False, False, False)


def test_an_agenda_prints_its_next_step() -> None:
    """Not the whole row."""
    assert [str(each) for each in (IDLE, STOPPED, MAYBE_RESIGN, STARTUP[Threads.barrier])] == [
        "Idle",
        "Start",
        "WatchController, ...",
        "Connect, ...",
    ]


# Agendas of the controller's thread and of ZkEventThread.


def variants() -> list[Design]:
    """Each generation, with each switch that changes an agenda."""
    return [
        design.but(looks_again=looks_again, ephemeral_owner_check=ephemeral_owner_check)
        for design, looks_again, ephemeral_owner_check in product(DESIGNS.values(), (False, True), (False, True))
    ]


@pytest.mark.parametrize("design", variants(), ids=repr)
@pytest.mark.parametrize("of", [agendas, listener_agendas])
def test_agendas_are_unique_and_closed_under_their_rests(of: Any, design: Design) -> None:
    """The rest of an agenda after a request is an agenda too, down to the empty one."""
    known: tuple[Agenda, ...] = of(design)
    assert len(set(known)) == len(known)
    assert IDLE in known
    assert {Agenda(row[1:]) for row in known if row} <= set(known)


@every_design
def test_the_rows_are_agendas(design: Design) -> None:
    """Stopped, startup, handling an event, and the election with all its consequences."""
    known = agendas(design)
    assert {STOPPED, STARTUP[design.threads], (*ELECTION[design.epoch_update], *design.failover)} <= set(known)
    registers = {ControllerEvent.Healthcheck, ControllerEvent.SessionExpireListener}
    for event, row in HANDLING[design.threads].items():
        beside = design.threads is Threads.queue and event in registers
        assert (row in known) is not beside
        assert (row in listener_agendas(design)) is beside


@until_1_0
def test_a_new_session_is_an_agenda_since_1_1(release: str) -> None:
    """Earlier, it is an event like any other."""
    assert EXPIRED not in agendas(DESIGNS[release])
    assert EXPIRED in agendas(DESIGNS["2.0"])
    assert EXPIRED in agendas(DESIGNS["2.1"])


@every_design
@pytest.mark.parametrize("looks_again", [False, True])
def test_the_controllers_thread_registers_the_broker_except_in_0_11_1_0(design: Design, looks_again: bool) -> None:
    """In these two, ZkEventThread does it; in all others it has no steps of its own."""
    design = design.but(looks_again=looks_again)
    registers = {ControllerStep.RegisterBroker, ControllerStep.CheckRegistration, ControllerStep.DeleteRegistration}
    beside = design.threads is Threads.queue
    assert any(registers & set(row) for row in agendas(design)) is not beside
    assert any(registers & set(row) for row in listener_agendas(design)) is beside
    assert (listener_agendas(design) == (IDLE,)) is not beside


@every_design
def test_without_read_back_nothing_is_read_again(design: Design) -> None:
    """A design that reads back checks the epoch only if it came with the node."""
    looks = {ControllerStep.CheckRegistration, ControllerStep.CheckController, ControllerStep.CheckEpoch}

    def looked_at(design: Design) -> set[ControllerStep]:
        return {do for row in (*agendas(design), *listener_agendas(design)) for do in row} & looks

    assert looked_at(design) == set()
    again = looked_at(design.but(looks_again=True))
    assert looks - again == ({ControllerStep.CheckEpoch} if design.epoch_update is not Election.multi else set())


@every_design
def test_only_a_session_check_deletes_a_registration(design: Design) -> None:
    """[KAFKA-7165]"""

    def deletes(design: Design) -> bool:
        return any(ControllerStep.DeleteRegistration in row for row in (*agendas(design), *listener_agendas(design)))

    assert (deletes(design), deletes(design.but(ephemeral_owner_check=True))) == (False, True)


def test_without_a_failover_that_can_fail_no_broker_moves_the_controller() -> None:
    """With the multi; in earlier elections the increment can fail."""
    moves = {(ControllerStep.MoveController,), (ControllerStep.DeleteController,)}
    assert moves & set(agendas(without_fixes_of_2_2())) == set()
    assert moves <= set(agendas(DESIGNS["2.1"]))
    bare = without_fixes_of_2_2(Election.cas_checked, failover=Agenda((*INCREMENT, *LEADER_AND_ISR)))
    assert moves & set(agendas(bare)) == {(ControllerStep.DeleteController,)}


@every_design
def test_only_since_the_multi_a_move_reads_the_controller_first(design: Design) -> None:
    """Earlier, a broker that moves the controller deletes the node at once. [triggerControllerMove, 2.1]"""
    assert ((ControllerStep.MoveController,) in agendas(design)) is (design.epoch_update is Election.multi)
    assert (ControllerStep.DeleteController,) in agendas(design)


# The controllers that a broker obeys.


@pytest.mark.parametrize(("known", "epoch", "taken"), [(1, 0, False), (1, 1, True), (1, 2, True), (0, 0, True)])
def test_a_broker_refuses_only_an_older_epoch(known: int, epoch: int, taken: bool) -> None:
    """It accepts an equal one from any sender: nothing ties an epoch to a controller."""
    assert accepts_controller_epoch(known, epoch) is taken


# Consequences of a design.


@pytest.mark.parametrize("design", list(DESIGNS.values()), ids=list(DESIGNS))
def test_the_failover_follows_from_election_and_threads(design: Design) -> None:
    """It is the failover of the release."""
    assert failover_of(design) == design.failover


@pytest.mark.parametrize("threads", [Threads.lock, Threads.barrier])
def test_queued_events_announce_their_read(threads: Threads) -> None:
    """And nothing else: a changed ISR does not make a broker read /controller."""
    asks = {ControllerStep.WatchController, ControllerStep.MaybeResign, ControllerStep.GetControllerId}
    for event, row in HANDLING[threads].items():
        read = [
            path for path, dos in ((CONTROLLER, asks), (BROKER_IDS, {ControllerStep.ReadBrokers})) if dos & set(row)
        ]
        assert PATHS_READ.get(event, ()) == tuple(read), event
