"""What a controller knows, as a value, and the agendas that its life is made of."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from statemachines.controller import (
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
    Controller,
    Design,
    Do,
    Election,
    Threads,
    accepts,
    agendas,
    failover_of,
    listening,
    unused,
    values_of,
)
from statemachines.controller_event import BROKER_CHANGE, EVENTS, HANDLING, ControllerEvent, Queued
from statemachines.failover import failover, requests

QUEUED = Queued(ControllerEvent.BrokerChange)

DESIGNS = {
    "0.10": Design(Election.cas_swallowed, Threads.lock, fence_zk=False, failover=requests(failover("0.10.2"))),
    "1.0": Design(Election.cas_swallowed, Threads.queue, fence_zk=False, failover=requests(failover("1.0"))),
    "2.0": Design(Election.cas_checked, fence_zk=False, failover=requests(failover("2.0"))),
    "2.1": Design(failover=requests(failover("2.1"))),
}
"""How generations do it, as long as no reply is lost."""
every_design = pytest.mark.parametrize("design", list(DESIGNS.values()), ids=list(DESIGNS))
until_1_0 = pytest.mark.parametrize("release", ["0.10", "1.0"])


def at(*doing: Do, session: int = 0, **known: Any) -> Controller:
    """A broker about to do this."""
    return Controller(Agenda(doing), session)._replace(**known)


# Rows.


@pytest.mark.parametrize("threads", list(Threads), ids=[each.name for each in Threads])
def test_a_start_registers_the_broker_first_since_1_1_only(threads: Threads) -> None:
    """Before, the controller starts and may be elected, and then the broker registers. [KafkaServer.startup]"""
    first = (Do.RegisterBroker,) if threads is Threads.barrier else ()
    assert STARTUP[threads] == (Do.Connect, *first, Do.WatchController, Do.Elect)


def test_a_new_session_registers_asks_and_elects() -> None:
    """Since 1.1 it is one event. [RegisterBrokerAndReelect]"""
    assert (Do.Connect, Do.RegisterBroker, *MAYBE_RESIGN, Do.Elect) == EXPIRED


@pytest.mark.parametrize("election", list(Election), ids=[each.name for each in Election])
def test_only_the_multi_needs_to_know_the_epoch_before_there_is_a_controller(election: Election) -> None:
    """The others read and increment it in their failover."""
    assert (Do.ReadEpoch in ELECTION[election]) is (election is Election.multi)
    assert (Do.ReadEpoch, Do.IncrementEpoch) == INCREMENT


@every_design
def test_every_way_to_become_controller_increments_the_epoch_once(design: Design) -> None:
    """In the election or in the failover."""
    row = (*ELECTION[design.epoch_update], *design.failover)
    assert len([do for do in row if do in (Do.RegisterController, Do.IncrementEpoch)]) == 1
    assert row.count(Do.ReadEpoch) == 1


def test_the_default_is_the_newest_release_without_what_is_proposed() -> None:
    """Fixes of Kafka are on, and fixes of ours off."""
    design = Design()
    assert (design.epoch_update, design.threads, design.fence_zk) == (Election.multi, Threads.barrier, True)
    assert (design.skip_if_self, design.listener_guard) == (True, True)
    assert (design.ghost_check, design.resign_on_move, design.elect_if_none) == (False, False, False)


def test_an_agenda_shows_what_comes_next() -> None:
    """And not the whole row."""
    assert [str(each) for each in (IDLE, STOPPED, MAYBE_RESIGN, STARTUP[Threads.barrier])] == [
        "Idle",
        "Start",
        "WatchController, ...",
        "Connect, ...",
    ]


# Agendas: those of the controller's thread, and those of ZkEventThread.


def variants() -> list[Design]:
    """Each generation, with each switch that makes another agenda."""
    return [
        design._replace(looks_again=looks_again, ephemeral_owner_check=ephemeral_owner_check)
        for design, looks_again, ephemeral_owner_check in product(DESIGNS.values(), (False, True), (False, True))
    ]


@pytest.mark.parametrize("design", variants(), ids=repr)
@pytest.mark.parametrize("of", [agendas, listening])
def test_agendas_stand_once_with_all_that_is_left_of_them(of: Any, design: Design) -> None:
    """What is left of an agenda when a request is done is an agenda, down to nothing."""
    known: tuple[Agenda, ...] = of(design)
    assert len(set(known)) == len(known)
    assert IDLE in known
    assert {Agenda(row[1:]) for row in known if row} <= set(known)


@every_design
def test_the_rows_themselves_are_agendas(design: Design) -> None:
    """To be stopped, to start, to handle what is told, and to stand for election with all that follows."""
    known = agendas(design)
    assert {STOPPED, STARTUP[design.threads], (*ELECTION[design.epoch_update], *design.failover)} <= set(known)
    registers = {ControllerEvent.Healthcheck, ControllerEvent.SessionExpireListener}
    for event, row in HANDLING[design.threads].items():
        beside = design.threads is Threads.queue and event in registers
        assert (row in known) is not beside
        assert (row in listening(design)) is beside


@until_1_0
def test_a_new_session_is_an_agenda_since_1_1(release: str) -> None:
    """Before, it is an event like others."""
    assert EXPIRED not in agendas(DESIGNS[release])
    assert EXPIRED in agendas(DESIGNS["2.0"])
    assert EXPIRED in agendas(DESIGNS["2.1"])


@every_design
@pytest.mark.parametrize("looks_again", [False, True])
def test_the_controllers_thread_registers_the_broker_but_in_0_11_and_1_0(design: Design, looks_again: bool) -> None:
    """There ZkEventThread does it, which in all others does nothing of its own."""
    design = design._replace(looks_again=looks_again)
    registers = {Do.RegisterBroker, Do.CheckRegistration, Do.DeleteRegistration}
    beside = design.threads is Threads.queue
    assert any(registers & set(row) for row in agendas(design)) is not beside
    assert any(registers & set(row) for row in listening(design)) is beside
    assert (listening(design) == (IDLE,)) is not beside


@every_design
def test_who_never_doubts_an_answer_looks_at_nothing_again(design: Design) -> None:
    """And who does looks at the epoch only if it came with the node."""
    looks = {Do.CheckRegistration, Do.CheckController, Do.CheckEpoch}

    def looked_at(design: Design) -> set[Do]:
        return {do for row in (*agendas(design), *listening(design)) for do in row} & looks

    assert looked_at(design) == set()
    again = looked_at(design._replace(looks_again=True))
    assert looks - again == ({Do.CheckEpoch} if design.epoch_update is not Election.multi else set())


@every_design
def test_only_who_asks_for_its_older_session_deletes_a_registration(design: Design) -> None:
    """[KAFKA-7165]"""

    def deletes(design: Design) -> bool:
        return any(Do.DeleteRegistration in row for row in (*agendas(design), *listening(design)))

    assert (deletes(design), deletes(design._replace(ephemeral_owner_check=True))) == (False, True)


def test_without_a_failover_that_can_fail_nobody_moves_the_controller() -> None:
    """With the multi; before that the increment can fail."""
    moves = {(Do.MoveController,), (Do.DeleteController,)}
    assert moves & set(agendas(Design())) == set()
    assert moves <= set(agendas(DESIGNS["2.1"]))
    bare = Design(Election.cas_checked, failover=Agenda((*INCREMENT, *LEADER_AND_ISR)))
    assert moves & set(agendas(bare)) == {(Do.DeleteController,)}


@every_design
def test_only_since_the_multi_it_is_asked_who_is_to_be_moved(design: Design) -> None:
    """Before, whoever moves the controller deletes the node at once. [triggerControllerMove, 2.1]"""
    assert ((Do.MoveController,) in agendas(design)) is (design.epoch_update is Election.multi)
    assert (Do.DeleteController,) in agendas(design)


# The value.


def test_a_fresh_broker_knows_nothing() -> None:
    """And does nothing until it is started."""
    assert Controller().doing == STOPPED
    assert (Controller().acts, Controller().active, Controller().has_context) == (False, False, False)


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
    standing = standing._replace(listens=True, cached=0)
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
    assert set(KNOWN) | {"doing", "session"} == set(Controller._fields)
    me = at(Do.Elect, **KNOWN)
    assert me.has_context
    assert me.resigned() == at(Do.Elect, **{field: KNOWN[field] for field in OF_THE_BROKER})
    assert not me.resigned().has_context


def test_who_merely_reads_that_it_is_no_controller_keeps_its_context() -> None:
    """What it takes itself for, its epoch and what it was about to write are gone, and that is all."""
    me = at(**KNOWN)
    kept = me.not_controller()
    assert kept.has_context
    assert kept == me._replace(active=False, epoch=0, epoch_zk_version=0, state_version=0)


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


# Who is listened to.


@pytest.mark.parametrize(("known", "epoch", "taken"), [(1, 0, False), (1, 1, True), (1, 2, True), (0, 0, True)])
def test_a_broker_refuses_only_an_older_epoch(known: int, epoch: int, taken: bool) -> None:
    """An equal one it takes, whoever sends it: nothing ties an epoch to a controller."""
    assert accepts(known, epoch) is taken


# What goes with a design.


@pytest.mark.parametrize("design", list(DESIGNS.values()), ids=list(DESIGNS))
def test_the_failover_goes_with_how_a_design_elects_and_is_told(design: Design) -> None:
    """It is that of the release."""
    assert failover_of(design) == design.failover


EPOCHS = {"broker_epoch", "found"}
"""What goes with the epochs of brokers."""


@pytest.mark.parametrize(
    ("design", "fields"),
    [
        (Design(), {*EPOCHS, "listening", "posted", "registration", "listens", "started", "live", "cached"}),
        (DESIGNS["0.10"], {*EPOCHS, "listening", "posted", "registration"}),
        (DESIGNS["1.0"], {*EPOCHS, "registration"}),
        (DESIGNS["2.1"]._replace(ephemeral_owner_check=True, broker_epoch=True), {"listening", "posted"}),
    ],
)
def test_what_a_design_does_not_need_stays_as_it_begins(design: Design, fields: set[str]) -> None:
    """ZkEventThread's where it is no thread of its own, the fixes of 2.2, and what follows the increment."""
    assert set(unused(design)) == fields
    stays = {getattr(Controller, name): (getattr(Controller(), name),) for name in fields}
    assert stays.items() <= values_of(design, EVENTS[design.threads]).items()


def test_what_else_follows_from_a_design() -> None:
    """What its threads may be about to do, what may wait, and whether an event tells of a controller."""
    for design in (DESIGNS["1.0"], DESIGNS["2.1"]):
        told = EVENTS[design.threads]
        found = values_of(design, told)
        assert (found[Controller.doing], found[Queued.event]) == (agendas(design, told), told)
        assert set(found[Controller.listening]) == set(listening(design))
        assert (Queued.controller in found) == (design.threads is not Threads.queue)


@pytest.mark.parametrize("threads", [Threads.lock, Threads.barrier])
def test_what_waits_is_news_of_what_its_handling_reads(threads: Threads) -> None:
    """And of nothing else: that an ISR has changed does not tell a broker to look at /controller."""
    asks = {Do.WatchController, Do.MaybeResign, Do.GetControllerId}
    for event, row in HANDLING[threads].items():
        read = [path for path, dos in ((CONTROLLER, asks), (BROKER_IDS, {Do.ReadBrokers})) if dos & set(row)]
        assert PATHS_READ.get(event, ()) == tuple(read), event


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
