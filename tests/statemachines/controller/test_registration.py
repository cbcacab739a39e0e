"""How a broker registers, and the life of its process and session, against a ZooKeeper in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from statemachines.controller.agenda import CREATES, REGISTERS
from statemachines.controller.controller_process import Answer, ControllerProcess, of_thread
from statemachines.controller.design import (
    BROKER_IDS,
    CONTROLLER,
    ELECTION,
    EXPIRED,
    IDLE,
    LEADER_AND_ISR,
    STARTUP,
    STOPPED,
    Agenda,
    ControllerStep,
    Design,
    Election,
    Threads,
    agendas,
    is_repeated,
    listener_agendas,
)
from statemachines.controller.one_partition import OnePartitionController
from statemachines.controller.threads import BROKER_CHANGE, HANDLING, ControllerEvent
from statemachines.releases import RELEASES
from statemachines.zookeeper.server import Event, ZooKeeper
from tests.statemachines.controllers import at
from tests.statemachines.electing import (
    BROKER,
    BROKERS_CHANGE,
    CHANGED,
    CHILDREN,
    DELETED,
    HEALTHCHECK,
    ISR,
    LEADER_CHANGE,
    OWN,
    SESSION_EXPIRATION,
    SESSION_EXPIRE,
    STEPS,
    beside,
    elected,
    every_release,
    heard,
    in_0_10,
    in_failover,
    in_office,
    never,
    next_of,
    notified,
    owner,
    run,
    settle,
    settled,
    short,
    since_1_1,
    until,
    until_1_0,
    whole,
)

# The process and its session.


@since_1_1
def test_a_fresh_process_starts_and_one_that_lost_its_session_elects_again(
    zookeeper: ZooKeeper, release: str
) -> None:
    """Startup for the first, maybeResign and elect for the second; both register first."""
    controller = short(zookeeper, release=release)
    assert ControllerProcess().agenda == STOPPED
    fresh = controller.connect(controller.start(), 7)
    assert fresh == at(*STARTUP[Threads.barrier][1:], session=7)
    assert controller.register_broker(fresh).controller == at(
        ControllerStep.WatchController, ControllerStep.Elect, session=7
    )
    zookeeper.expire(7)
    again = controller.connect(controller.expire(fresh), 8)
    assert again == at(*EXPIRED[1:], session=8)


@pytest.mark.parametrize(
    ("release", "to_do"), [("0.10.1", "queue"), ("0.10.2", "queue"), ("1.0", "posted"), ("2.0", ""), ("2.1", "")]
)
def test_a_process_starts_with_its_controller_until_1_0(zookeeper: ZooKeeper, release: str, to_do: str) -> None:
    """The health check, which registers it, comes later, or in another thread."""
    controller = whole(zookeeper, release=release)
    first = () if to_do else (ControllerStep.RegisterBroker,)
    waits: dict[str, Any] = {to_do: (HEALTHCHECK,)} if to_do else {}
    begins = ControllerProcess(
        Agenda((ControllerStep.Connect, *first, ControllerStep.WatchController, ControllerStep.Elect))
    )
    assert controller.start() == begins._replace(**waits)
    assert 7 not in zookeeper.state.sessions
    started = controller.connect(controller.start(), 7)
    assert started == at(*first, ControllerStep.WatchController, ControllerStep.Elect, session=7, **waits)
    assert 7 in zookeeper.state.sessions


@in_0_10
def test_in_0_10_a_broker_registers_when_its_controller_has_started(zookeeper: ZooKeeper, release: str) -> None:
    """Its failover does not see the broker itself, which it notices later like any other."""
    controller = whole(zookeeper, release=release)
    me = run(controller, controller.connect(controller.start(), 7))
    assert (me.failover_done, me.context.live_brokers, zookeeper.exists(None, OWN)) == (True, frozenset(), None)
    me = controller.handle(me).controller
    assert me.agenda == (ControllerStep.RegisterBroker, ControllerStep.Serve)
    me = controller.register_broker(me).controller
    assert me.agenda == IDLE
    assert zookeeper.get(None, OWN)[1].ephemeralOwner == 7
    assert settle(controller, me).context.live_brokers == frozenset({"0"})


def test_in_0_11_a_broker_registers_during_its_controllers_start(zookeeper: ZooKeeper) -> None:
    """At any time, without affecting the other thread."""
    controller = whole(zookeeper, release="1.0")
    me = controller.connect(controller.start(), 7)
    me = until(ControllerStep.IncrementEpoch, controller, me)
    assert zookeeper.exists(None, OWN) is None
    listens = controller.listen(me)
    assert (listens.controller.listener_agenda, listens.description) == (
        (ControllerStep.RegisterBroker, ControllerStep.Serve),
        "Healthcheck",
    )
    assert listens.controller.agenda == me.agenda
    after = beside(controller, listens.controller)
    assert (after.agenda, after.listener_agenda) == (me.agenda, IDLE)
    assert zookeeper.get(None, OWN)[1].ephemeralOwner == 7
    assert run(controller, after).failover_done


@since_1_1
def test_since_1_1_a_broker_is_registered_before_it_is_elected(zookeeper: ZooKeeper, release: str) -> None:
    """Its failover sees the broker itself."""
    controller = whole(zookeeper, release=release)
    me = until(ControllerStep.WatchController, controller, controller.connect(controller.start(), 7))
    assert (owner(zookeeper), zookeeper.get(None, OWN)[1].ephemeralOwner) == (None, 7)
    assert run(controller, me).context.live_brokers == frozenset({"0"})


@every_release
@pytest.mark.parametrize("make", [short, whole])
def test_a_start_fails_while_the_predecessors_registration_is_there(
    zookeeper: ZooKeeper, release: str, make: Callable[..., OnePartitionController]
) -> None:
    """The process stops, and closes the session that it had opened, with /controller if it was elected by then."""
    zookeeper.create(1, OWN, ephemeral=True)
    controller = make(zookeeper, release=release)
    me = settle(controller, controller.connect(controller.start(), 7))
    assert me == ControllerProcess()
    assert 7 not in zookeeper.state.sessions
    assert owner(zookeeper) is None


@every_release
def test_the_session_of_a_dead_process_remains(zookeeper: ZooKeeper, release: str) -> None:
    """Its connection and watches are gone; /controller stays until the session ends."""
    me = settled(zookeeper, release=release)
    assert 0 in zookeeper.state.data_watches[CONTROLLER]
    assert short(zookeeper, release=release).stop(me) == ControllerProcess()
    assert owner(zookeeper) == 0
    assert 0 not in zookeeper.state.data_watches[CONTROLLER]


def test_a_process_that_dies_before_it_has_a_session_leaves_nothing(zookeeper: ZooKeeper) -> None:
    """It has no connection."""
    controller = short(zookeeper)
    assert controller.stop(controller.start()) == ControllerProcess()


@since_1_1
def test_a_request_that_finds_the_session_ended_resigns(zookeeper: ZooKeeper, release: str) -> None:
    """The broker asks for a new session, and drops its queued events."""
    me = elected(zookeeper, 0, release)
    assert me.queue == (CHANGED,)
    zookeeper.expire(0)
    answer = short(zookeeper, release=release).read_partition_state(me)
    assert (answer.controller, answer.description) == (ControllerProcess(EXPIRED), "SESSIONEXPIRED: it resigns")


def test_the_end_of_a_session_is_a_resignation(zookeeper: ZooKeeper) -> None:
    """Only the session of its registration is remembered, to recognize the leftover node."""
    me = in_office(zookeeper)._replace(registration=0)
    zookeeper.expire(0)
    assert whole(zookeeper).read_brokers(me.with_steps(*BROKER_CHANGE)).controller == ControllerProcess(
        EXPIRED, registration=0
    )


def test_a_restarted_client_keeps_its_old_session(zookeeper: ZooKeeper) -> None:
    """It resigns, and its queue is dropped, as if the session had ended. [KAFKA-13461]"""
    me = in_office(zookeeper)._replace(registration=0, queue=(BROKER, CHANGED))
    assert whole(zookeeper).begin_anew(me) == at(*EXPIRED[1:], registration=0)
    assert 0 in zookeeper.state.sessions


@until_1_0
@pytest.mark.parametrize("listens", [False, True])
def test_a_new_sessions_events_follow_the_earlier_ones(zookeeper: ZooKeeper, release: str, listens: bool) -> None:
    """Controller, registration, children, data: in this order; changes of brokers only if it listens to them.

    [ZkClient.fireNewSessionEvents, then fireAllEvents, which fires the listeners of children first]
    """
    controller = whole(zookeeper, release=release)
    me = at(
        ControllerStep.ReadEpoch,
        active=True,
        epoch=1,
        handlers_registered=listens,
        partition_state_version=0,
        **heard(release, ISR),
    )
    zookeeper.expire(0)
    after = controller.renew(me, 5)
    children = (BROKERS_CHANGE,) if listens else ()
    events = (SESSION_EXPIRATION, SESSION_EXPIRE, *children, LEADER_CHANGE)
    assert after == me._replace(session=5, **heard(release, ISR, *events))
    assert 5 in zookeeper.state.sessions


@until_1_0
def test_the_connection_of_an_old_session_delivers_no_events(zookeeper: ZooKeeper, release: str) -> None:
    """Events in flight are lost, and so are its watches."""
    zookeeper.exists(0, CONTROLLER, watch=True)
    zookeeper.state.events[0] = (Event(CHILDREN, BROKER_IDS),)
    del zookeeper.state.sessions[0]
    controller = whole(zookeeper, release=release)
    after = controller.renew(at(), 5)
    assert (zookeeper.state.events[0], zookeeper.state.data_watches[CONTROLLER]) == ((), frozenset())
    assert controller.deliver(after) == after


AGAIN = [
    (ControllerStep.WatchController,),
    (ControllerStep.MaybeResign,),
    (ControllerStep.GetControllerId, ControllerStep.Elect),
    (ControllerStep.Elect,),
    (ControllerStep.ReadEpoch, ControllerStep.IncrementEpoch),
    (ControllerStep.IncrementEpoch, ControllerStep.WatchBrokers),
    (ControllerStep.WatchBrokers, ControllerStep.ReadBrokers),
    BROKER_CHANGE,
    (ControllerStep.ReadStates,),
    LEADER_AND_ISR,
    (ControllerStep.UpdateLeaderAndIsr,),
    (ControllerStep.DeleteController,),
]


@until_1_0
@pytest.mark.parametrize("row", AGAIN, ids=[row[0].name for row in AGAIN])
def test_until_1_0_a_request_begins_in_one_session_and_is_served_in_another(
    zookeeper: ZooKeeper, release: str, row: tuple[ControllerStep, ...]
) -> None:
    """The broker forgets nothing meanwhile. [ZkClient.retryUntilConnected]"""
    controller = whole(zookeeper, release=release)
    me = at(*row, active=True, handlers_registered=True, partition_state_version=0, live_brokers=frozenset({"9"}))
    zookeeper.expire(0)
    before = dict(zookeeper.state.nodes)
    answer = next_of(controller, me)
    assert (answer.controller, answer.description) == (me, "SESSIONEXPIRED: once more, in another session")
    assert zookeeper.state.nodes == before
    renewed = controller.renew(me, 5)
    answer = next_of(controller, renewed)
    assert "SESSIONEXPIRED" not in answer.description
    assert answer.controller.agenda != row


@pytest.mark.parametrize("row", [*AGAIN, ELECTION[Election.cas_checked]], ids=lambda row: row[0].name)
def test_since_1_1_no_request_spans_two_sessions(zookeeper: ZooKeeper, row: tuple[ControllerStep, ...]) -> None:
    """Every request fails, and the events queued after it are gone."""
    me = at(*row, active=True, handlers_registered=True, partition_state_version=0, queue=(BROKER,))
    zookeeper.expire(0)
    assert next_of(whole(zookeeper, release="2.0"), me).controller == ControllerProcess(EXPIRED)


@in_0_10
@pytest.mark.parametrize("step", [ControllerStep.CreateController, ControllerStep.CheckController])
def test_in_0_10_an_election_whose_session_ends_fails_and_resigns_nothing(
    zookeeper: ZooKeeper, release: str, step: ControllerStep
) -> None:
    """Neither the create nor the read of its owner waits for another session; leftovers of an earlier term stay."""
    me = at(
        step,
        ControllerStep.ReadEpoch,
        ControllerStep.Started,
        handlers_registered=True,
        partition_state_version=0,
        epoch=1,
        epoch_zk_version=1,
    )
    zookeeper.expire(0)
    answer = next_of(whole(zookeeper, release=release), me)
    assert (answer.controller, answer.description) == (
        me.with_steps(ControllerStep.DeleteController),
        "SESSIONEXPIRED: its election fails",
    )


@pytest.mark.parametrize("step", [ControllerStep.CreateController, ControllerStep.CheckController])
def test_in_0_11_an_election_whose_session_ends_fails_and_resigns(zookeeper: ZooKeeper, step: ControllerStep) -> None:
    """[triggerControllerMove]"""
    me = at(
        step, ControllerStep.ReadEpoch, ControllerStep.Started, handlers_registered=True, partition_state_version=0
    )
    zookeeper.expire(0)
    answer = next_of(whole(zookeeper, release="1.0"), me)
    assert (answer.controller, answer.description) == (
        at(ControllerStep.DeleteController),
        "SESSIONEXPIRED: its election fails",
    )


FAILS = {
    ControllerStep.RegisterBroker,
    ControllerStep.CheckRegistration,
    ControllerStep.CreateController,
    ControllerStep.CheckController,
}
"""The steps of ZKCheckedEphemeral, which stays with its session."""


@until_1_0
def test_until_1_0_every_request_waits_for_the_next_session_or_fails(zookeeper: ZooKeeper, release: str) -> None:
    """Every possible step is one or the other."""
    design = whole(zookeeper, release=release).design
    rows = (set(agendas(design)) | set(listener_agendas(design))) - never(design)
    waits = {row[0] for row in AGAIN}
    asked = {row[0] for row in rows if row} & set(STEPS)
    assert asked - waits == FAILS
    assert waits - asked == (set() if release == "0.10.2" else {ControllerStep.GetControllerId})


@until_1_0
def test_an_election_that_lost_its_reply_and_its_session_deletes_the_node_in_the_next(
    zookeeper: ZooKeeper, release: str
) -> None:
    """It was elected for a moment; by now another broker is, and the node belongs to that one. (B43)"""
    controller = whole(zookeeper, release=release)
    me = until(ControllerStep.CreateController, controller, at(ControllerStep.Elect))
    assert controller.lose_reply(me)
    me = controller.create_controller(me).controller
    assert me.about_to(ControllerStep.CheckController)
    zookeeper.expire(0)
    in_failover(zookeeper, 1, release)
    me = controller.renew(controller.check_controller(me).controller, 5)
    assert (me.agenda, me.active, owner(zookeeper)) == ((ControllerStep.DeleteController,), False, 1)
    assert controller.delete_controller(me).description == "deleted"
    assert owner(zookeeper) is None


@until_1_0
@pytest.mark.parametrize("step", [ControllerStep.RegisterBroker, ControllerStep.CheckRegistration])
def test_until_1_0_a_registration_whose_session_ends_fails(
    zookeeper: ZooKeeper, release: str, step: ControllerStep
) -> None:
    """A start stops with it; a running broker is notified of its next session, and tries then."""
    zookeeper.expire(0)
    controller = whole(zookeeper, release=release)
    started = next_of(controller, at(step, ControllerStep.Serve))
    assert (started.controller, started.description) == (ControllerProcess(), "SESSIONEXPIRED, the start fails")
    running = next_of(controller, at(step, active=True, queue=(ISR,)))
    assert running.controller == at(active=True, queue=(ISR,))
    assert running.description == "SESSIONEXPIRED: the event is dropped"


@pytest.mark.parametrize(("release", "kept"), [("0.10.1", True), ("0.10.2", True), ("1.0", True), ("2.0", False)])
def test_until_1_0_events_of_an_ended_session_are_kept(zookeeper: ZooKeeper, release: str, kept: bool) -> None:
    """Since then it is dropped with the whole queue."""
    me = settled(zookeeper, release=release).with_steps(ControllerStep.ReadStates)
    zookeeper.expire(0, seen=1)
    after = whole(zookeeper, release=release).read_states(me).controller
    assert after == (me._replace(**notified(release, DELETED)) if kept else ControllerProcess(EXPIRED))


# The broker's own node.


REGISTRATION = [
    ("0.10.2", HANDLING[Threads.lock][ControllerEvent.Healthcheck]),
    ("0.10.2", HANDLING[Threads.lock][ControllerEvent.SessionExpireListener]),
    ("1.0", HANDLING[Threads.queue][ControllerEvent.Healthcheck]),
    ("1.0", HANDLING[Threads.queue][ControllerEvent.SessionExpireListener]),
    ("2.1", Agenda(STARTUP[Threads.barrier][1:])),
    ("2.1", Agenda(EXPIRED[1:])),
]


@pytest.mark.parametrize(("release", "is_beside"), [("0.10.2", False), ("1.0", True), ("2.1", False)])
def test_zk_event_thread_registers_if_it_is_another_thread(
    zookeeper: ZooKeeper, release: str, is_beside: bool
) -> None:
    """The controller's thread has the same next steps before and after."""
    controller = whole(zookeeper, release=release)
    waits, registers = Agenda((ControllerStep.MaybeResign,)), Agenda((ControllerStep.RegisterBroker,))
    me = at(*waits, listener_agenda=registers) if is_beside else at(*registers)
    assert of_thread(controller.design, ControllerStep.RegisterBroker, me).about_to(ControllerStep.RegisterBroker)
    assert of_thread(controller.design, ControllerStep.MaybeResign, me) == me
    after = controller.step(ControllerStep.RegisterBroker)(me).controller
    assert (after.agenda, after.listener_agenda) == (waits if is_beside else (), ())


def test_a_start_that_fails_ends_both_threads(zookeeper: ZooKeeper) -> None:
    """The process has no fields left."""
    zookeeper.create(1, OWN, ephemeral=True)
    row = HANDLING[Threads.queue][ControllerEvent.Healthcheck]
    answer = short(zookeeper, release="1.0").step(ControllerStep.RegisterBroker)(
        at(ControllerStep.MaybeResign, listener_agenda=row)
    )
    assert answer.controller == ControllerProcess()


@pytest.mark.parametrize(("release", "repeated"), [("0.10.2", True), ("1.0", True), ("2.1", False)])
def test_until_1_0_a_request_is_repeated_in_the_next_session(
    zookeeper: ZooKeeper, release: str, repeated: bool
) -> None:
    """Except those that create an ephemeral node, and read its owner."""
    controller = whole(zookeeper, release=release)
    again = {*STEPS} - CREATES - REGISTERS if repeated else set()
    assert {do for do in STEPS if is_repeated(controller.design, do)} == again


@pytest.mark.parametrize(("release", "row"), REGISTRATION)
def test_a_refused_registration_reads_the_owner(zookeeper: ZooKeeper, release: str, row: Agenda) -> None:
    """Its own earlier request created the node, with a lost reply: it is registered, and continues."""
    me = at(*row)
    controller = whole(zookeeper, release=release)
    assert controller.lose_reply(me)
    answer = controller.register_broker(me)
    assert answer == Answer(at(ControllerStep.CheckRegistration, *row[1:]), "NODEEXISTS: whose is it?")
    answer = controller.check_registration(answer.controller)
    left = () if row[1:] == (ControllerStep.Serve,) else row[1:]
    assert (answer.controller, answer.description) == (at(*left), "its own: registered")


@pytest.mark.parametrize(("release", "row"), REGISTRATION)
def test_a_vanished_registration_is_tried_again(zookeeper: ZooKeeper, release: str, row: Agenda) -> None:
    """NONODE, as Kafka intends, and did until 2.1."""
    controller = whole(zookeeper, release=release, registers_again=True)
    answer = controller.check_registration(at(ControllerStep.CheckRegistration, *row[1:]))
    assert (answer.controller, answer.description) == (at(*row), "NONODE: once more")


def test_since_2_2_a_vanished_registration_is_an_error(zookeeper: ZooKeeper) -> None:
    """In a new session the event is dropped, and with it the election; a start fails, and ends the process."""
    controller = whole(zookeeper)
    answer = controller.check_registration(at(ControllerStep.CheckRegistration, *EXPIRED[2:]))
    assert (answer.controller, answer.description) == (at(), "NONODE, a NullPointerException: the event is dropped")
    answer = controller.check_registration(at(ControllerStep.CheckRegistration, *STARTUP[Threads.barrier][2:]))
    assert (answer.controller, answer.description) == (
        ControllerProcess(),
        "NONODE, a NullPointerException, the start fails",
    )
    assert 0 not in zookeeper.state.sessions


@since_1_1
@pytest.mark.parametrize("do", [ControllerStep.RegisterBroker, ControllerStep.CheckRegistration])
def test_since_1_1_a_first_registration_whose_session_has_ended_ends_the_process(
    zookeeper: ZooKeeper, release: str, do: ControllerStep
) -> None:
    """Its main thread registers then. Later it is the controller's thread, which continues in the next session."""
    controller = whole(zookeeper, release=release)
    zookeeper.expire(0)
    answer = next_of(controller, at(do, *STARTUP[Threads.barrier][2:]))
    assert (answer.controller, answer.description) == (ControllerProcess(), "SESSIONEXPIRED, the start fails")
    assert next_of(controller, at(do, *EXPIRED[2:])).controller == ControllerProcess(EXPIRED)


def left_by(zookeeper: ZooKeeper, session: int) -> None:
    """A registration of broker 0 whose session has ended, but whose node still exists. [ZOOKEEPER-2985]"""
    zookeeper.create(session, OWN, ephemeral=True)
    del zookeeper.state.sessions[session]


def test_a_broker_deletes_the_node_of_its_own_older_session(zookeeper: ZooKeeper) -> None:
    """And registers in its current one. [KAFKA-7165]"""
    left_by(zookeeper, 1)
    controller = whole(zookeeper, ephemeral_owner_check=True)
    me = at(ControllerStep.CheckRegistration, *EXPIRED[2:], registration=1)
    answer = controller.check_registration(me)
    assert answer.description == "an older session of its own left it"
    assert answer.controller == at(ControllerStep.DeleteRegistration, *EXPIRED[1:], registration=1)
    answer = controller.delete_registration(answer.controller)
    assert (answer.controller, answer.description) == (at(*EXPIRED[1:], registration=1), "deleted")
    assert controller.register_broker(answer.controller).controller == at(*EXPIRED[2:], registration=0)


def test_the_node_of_an_older_session_may_vanish_earlier(zookeeper: ZooKeeper) -> None:
    """NONODE counts as success."""
    answer = whole(zookeeper, ephemeral_owner_check=True).delete_registration(
        at(ControllerStep.DeleteRegistration, *EXPIRED[1:])
    )
    assert (answer.controller, answer.description) == (at(*EXPIRED[1:]), "NONODE: it is gone already")


def test_without_the_check_a_broker_does_not_recognize_its_older_session(zookeeper: ZooKeeper) -> None:
    """B23: the event is dropped, with the watch and the election that should follow."""
    left_by(zookeeper, 1)
    controller = whole(zookeeper)
    assert controller.register_broker(at(*EXPIRED[1:])).controller.registration is None
    answer = controller.check_registration(at(ControllerStep.CheckRegistration, *EXPIRED[2:], registration=1))
    assert (answer.controller, answer.description) == (at(registration=1), "another session's: the event is dropped")


@pytest.mark.parametrize("ephemeral_owner_check", [False, True])
def test_anothers_registration_fails_a_start(zookeeper: ZooKeeper, ephemeral_owner_check: bool) -> None:
    """The process ends, and closes its session."""
    zookeeper.create(1, OWN, ephemeral=True)
    controller = whole(zookeeper, ephemeral_owner_check=ephemeral_owner_check)
    answer = controller.check_registration(at(ControllerStep.CheckRegistration, *STARTUP[Threads.barrier][2:]))
    assert (answer.controller, answer.description) == (ControllerProcess(), "another session's, the start fails")
    assert 0 not in zookeeper.state.sessions


@pytest.mark.parametrize("release", list(RELEASES))
def test_a_registration_made_by_hand_fails_a_start(zookeeper: ZooKeeper, release: str) -> None:
    """In every release: a persistent node has no owner, so it is not left by an older session of the process."""
    zookeeper.create(None, OWN)
    design = Design(release)
    controller = OnePartitionController(design, zookeeper, 0)
    registers: tuple[ControllerStep, ...] = STARTUP[Threads.barrier][1:]
    if design.threads is not Threads.barrier:
        registers = HANDLING[design.threads][HEALTHCHECK.event]
    answer = controller.register_broker(at(*registers))
    assert answer == Answer(at(ControllerStep.CheckRegistration, *registers[1:]), "NODEEXISTS: whose is it?")
    answer = controller.check_registration(answer.controller)
    assert answer == Answer(ControllerProcess(), "another session's, the start fails")
    assert 0 not in zookeeper.state.sessions
    assert OWN in zookeeper.state.nodes


@pytest.mark.parametrize("ephemeral_owner_check", [False, True])
def test_anothers_registration_leaves_a_running_broker_idle(
    zookeeper: ZooKeeper, ephemeral_owner_check: bool
) -> None:
    """It continues in its session, unregistered."""
    zookeeper.create(1, OWN, ephemeral=True)
    controller = whole(zookeeper, ephemeral_owner_check=ephemeral_owner_check)
    answer = controller.check_registration(at(ControllerStep.CheckRegistration, *EXPIRED[2:], registration=2))
    assert answer.controller == at(registration=2)
    assert 0 in zookeeper.state.sessions


@until_1_0
def test_until_1_0_a_broker_that_cannot_register_is_still_elected(zookeeper: ZooKeeper, release: str) -> None:
    """B23: its controller gets an event of its own."""
    zookeeper.create(1, OWN, ephemeral=True)
    zookeeper.connect(5)
    me = at(session=5, **heard(release, SESSION_EXPIRATION, SESSION_EXPIRE))
    me = settle(whole(zookeeper, release=release), me)
    assert (me.failover_done, zookeeper.get(None, OWN)[1].ephemeralOwner) == (True, 1)
