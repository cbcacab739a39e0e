"""The steps of a controller's life, one by one and generation by generation, against a ZooKeeper in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from statemachines.controller.controller_process import Answer, ControllerProcess, Failover
from statemachines.controller.design import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    ELECTION,
    EXPIRED,
    IDLE,
    INCREMENT,
    LEADER_AND_ISR,
    MAYBE_RESIGN,
    STARTUP,
    Agenda,
    ControllerStep,
    Design,
    Election,
    PartitionStateEpoch,
    Threads,
    agendas,
    listener_agendas,
)
from statemachines.controller.failover import failover, steps_of
from statemachines.controller.one_partition import OnePartitionController
from statemachines.controller.threads import BROKER_CHANGE, HANDLING, ControllerEvent, Queued
from statemachines.zookeeper.server import Event, EventType, ZooKeeper
from tests.statemachines.controllers import at, without_fixes_of_2_2
from tests.statemachines.electing import (
    BROKER,
    BROKERS_CHANGE,
    CHANGED,
    CHILDREN,
    CREATED,
    DELETED,
    HEALTHCHECK,
    ISR,
    LEADER_CHANGE,
    LOCK,
    OTHER,
    OWN,
    REELECT,
    RELEASE,
    SESSION_EXPIRATION,
    SESSION_EXPIRE,
    SINCE_1_1,
    STATE,
    UNTIL_1_0,
    beside,
    elected,
    every_release,
    hear,
    in_0_10,
    in_failover,
    in_office,
    never,
    next_of,
    notified,
    owner,
    run,
    set_up,
    settle,
    settled,
    short,
    since_0_11,
    since_1_1,
    until,
    until_1_0,
    until_2_0,
    whole,
)

# An undisturbed election.


@every_release
def test_the_first_controller_has_epoch_1_at_version_1(zookeeper: ZooKeeper, release: str) -> None:
    """In every design, an undisturbed election ends in the same way."""
    me = elected(zookeeper, 0, release)
    assert me == at(*LEADER_AND_ISR, active=True, epoch=1, epoch_zk_version=1, **notified(release, CREATED))
    assert owner(zookeeper) == 0
    epoch, stat = zookeeper.get(None, CONTROLLER_EPOCH)
    assert (epoch, stat.version) == (1, 1)
    assert me.acts_as_controller


# Its events.


@every_release
@pytest.mark.parametrize("kind", [CREATED, DELETED])
def test_watch_events_go_to_the_notified_thread(zookeeper: ZooKeeper, release: str, kind: EventType) -> None:
    """At the end of its queue; until 1.0 no event says whether the node was created or deleted."""
    if kind is DELETED:
        zookeeper.create(None, CONTROLLER, 1)
    controller = whole(zookeeper, release=release)
    me = controller.watch_controller(at(ControllerStep.WatchController)).controller
    if kind is DELETED:
        zookeeper.delete(None, CONTROLLER)
    else:
        zookeeper.create(None, CONTROLLER, 1)
    me = me._replace(**notified(release, CHILDREN))
    after = controller.deliver(me)
    assert after == me._replace(**notified(release, CHILDREN, kind))
    names = {CREATED: "ControllerChange", DELETED: "Reelect"}
    assert str((*after.queue, *after.posted)[-1]) == (names[kind] if release in SINCE_1_1 else "LeaderChangeListener")


@every_release
def test_no_answer_overtakes_an_event(zookeeper: ZooKeeper, release: str) -> None:
    """A watch event is queued before the reply to a later request arrives."""
    controller = short(zookeeper, release=release)
    me = controller.watch_controller(at(ControllerStep.WatchController, ControllerStep.Elect)).controller
    elected(zookeeper, 1, release)
    assert controller.elect(me).controller == at(**notified(release, CREATED))


@every_release
def test_events_without_handler_are_dropped(zookeeper: ZooKeeper, release: str) -> None:
    """A controller's handlers end with its term; the handler of /controller stays."""
    zookeeper.state.events[0] = (Event(CHILDREN, BROKER_IDS), Event(DELETED, CONTROLLER), Event(CHILDREN, BROKER_IDS))
    inbox = zookeeper.state.events[0]
    controller = whole(zookeeper, release=release)
    assert controller.deliver(at(**notified(release, CREATED))) == at(**notified(release, CREATED, DELETED))
    assert zookeeper.state.events[0] == ()
    zookeeper.state.events[0] = inbox
    assert controller.deliver(at(handlers_registered=True)) == at(
        handlers_registered=True, **notified(release, CHILDREN, DELETED, CHILDREN)
    )
    assert controller.deliver(ControllerProcess()) == ControllerProcess()


@since_0_11
def test_an_event_with_a_reply_is_queued_before_resigning(zookeeper: ZooKeeper, release: str) -> None:
    """It meets the handlers from before the reply."""
    controller = whole(zookeeper, release=release)
    me = in_office(zookeeper, release=release)._replace(queue=(), posted=())
    zookeeper.delete(None, CONTROLLER)
    zookeeper.create(None, CONTROLLER, 1)
    zookeeper.state.events[0] = (Event(CHILDREN, BROKER_IDS),)
    assert controller.maybe_resign(me.with_steps(ControllerStep.MaybeResign)).controller == at(
        **notified(release, CHILDREN)
    )


@since_1_1
def test_an_event_with_the_election_has_no_handler(zookeeper: ZooKeeper, release: str) -> None:
    """An older watch on /brokers/ids fires; the failover registers the handler later, and reads brokers anyway."""
    controller = whole(zookeeper, release=release)
    elects = ControllerStep.RegisterController if release == "2.1" else ControllerStep.IncrementEpoch
    me = until(elects, controller, at(ControllerStep.Elect))
    zookeeper.state.events[0] = (Event(CHILDREN, BROKER_IDS),)
    elected = next_of(controller, me).controller
    assert elected.handlers_registered
    assert BROKER not in elected.queue


@every_release
def test_a_changed_isr_goes_to_the_end_of_the_queue(zookeeper: ZooKeeper, release: str) -> None:
    """In every generation."""
    me = at(queue=(BROKER,))
    assert whole(zookeeper, release=release).isr_changes(me) == at(queue=(BROKER, ISR))


@pytest.mark.parametrize(("listener", "event"), [(LEADER_CHANGE, CHANGED), (SESSION_EXPIRATION, REELECT)])
def test_zk_event_thread_puts_events_at_the_end(zookeeper: ZooKeeper, listener: Queued, event: Queued) -> None:
    """And takes its oldest watch event first."""
    zookeeper.create(None, CONTROLLER, 1)
    me = at(ControllerStep.ReadStates, queue=(BROKER,), posted=(listener, BROKERS_CHANGE))
    answer = whole(zookeeper, release="1.0").listen(me)
    (put,) = answer.controller.queue[1:]
    assert put.event is event.event
    assert answer.controller == me._replace(queue=(BROKER, put), posted=(BROKERS_CHANGE,))
    assert answer.description == f"{listener} puts {put}"


@pytest.mark.parametrize(
    ("named", "event"),
    [
        (None, REELECT),
        (0, Queued(ControllerEvent.ControllerChange, 0)),
        (1, Queued(ControllerEvent.ControllerChange, 1)),
    ],
)
def test_in_0_11_an_event_carries_the_read_from_when_it_was_put(
    zookeeper: ZooKeeper, named: int | None, event: Queued
) -> None:
    """And the node is watched from then on, whether it exists or not."""
    if named is not None:
        zookeeper.create(None, CONTROLLER, named)
    answer = whole(zookeeper, release="1.0").listen(at(posted=(LEADER_CHANGE,)))
    assert answer.controller == at(queue=(event,))
    assert zookeeper.state.data_watches[CONTROLLER] == {0}


def test_in_0_11_a_change_of_brokers_is_put_without_its_read(zookeeper: ZooKeeper) -> None:
    """Its handler reads again; ZkEventThread watches, if the listener is still registered. [KAFKA-5502]"""
    for listens in (False, True):
        answer = whole(zookeeper, release="1.0").listen(at(posted=(BROKERS_CHANGE,), handlers_registered=listens))
        assert (answer.controller, answer.sends_requests) == (at(queue=(BROKER,), handlers_registered=listens), False)
        assert zookeeper.state.child_watches[BROKER_IDS] == ({0} if listens else set())


def test_in_0_11_zk_event_thread_registers_the_broker_itself(zookeeper: ZooKeeper) -> None:
    """It puts nothing, and handles its other events only when that is done."""
    controller = whole(zookeeper, release="1.0")
    me = at(ControllerStep.ReadStates, posted=(SESSION_EXPIRE, LEADER_CHANGE))
    answer = controller.listen(me)
    assert answer.controller == at(
        ControllerStep.ReadStates, listener_agenda=Agenda((ControllerStep.RegisterBroker,)), posted=(LEADER_CHANGE,)
    )
    assert beside(controller, answer.controller) == at(ControllerStep.ReadStates, posted=(LEADER_CHANGE,))


def test_in_0_11_events_during_a_read_of_zk_event_thread_are_kept(zookeeper: ZooKeeper) -> None:
    """They follow, each by itself."""
    zookeeper.exists(0, CONTROLLER, watch=True)
    zookeeper.create(None, CONTROLLER, 1)
    answer = whole(zookeeper, release="1.0").listen(at(posted=(SESSION_EXPIRATION,)))
    assert answer.controller == at(queue=(REELECT,), posted=(LEADER_CHANGE,))


@pytest.mark.parametrize(
    "doing",
    [
        IDLE,
        (ControllerStep.Elect,),
        (ControllerStep.CreateController, ControllerStep.ReadEpoch, ControllerStep.Started),
        (ControllerStep.CheckController, ControllerStep.ReadEpoch, ControllerStep.Started),
        (ControllerStep.IncrementEpoch, ControllerStep.WatchBrokers, ControllerStep.Started),
        BROKER_CHANGE,
        (ControllerStep.DeleteController,),
    ],
    ids=lambda row: str(Agenda(row)),
)
@pytest.mark.parametrize(("listener", "event"), [(LEADER_CHANGE, REELECT), (BROKERS_CHANGE, BROKER)], ids=str)
def test_in_0_11_a_read_of_zk_event_thread_waits_for_the_next_session(
    zookeeper: ZooKeeper, listener: Queued, event: Queued, doing: tuple[ControllerStep, ...]
) -> None:
    """It is still the oldest, whatever the other thread is doing, and is put in the next session."""
    controller = whole(zookeeper, release="1.0")
    known = {
        "active": True,
        "epoch": 1,
        "epoch_zk_version": 1,
        "handlers_registered": True,
        "partition_state_version": 0,
    }
    me = at(*doing, queue=(ISR,), posted=(listener, SESSION_EXPIRATION), **known)
    zookeeper.expire(0)
    before = dict(zookeeper.state.nodes)
    said = "SESSIONEXPIRED: once more, in another session"
    for _ in range(2):
        assert controller.listen(me) == (me, said, None, False)
    assert zookeeper.state.nodes == before
    renewed = controller.renew(me, 5)
    answer = controller.listen(renewed)
    assert answer.controller == renewed._replace(queue=(ISR, event), posted=renewed.posted[1:])


@pytest.mark.parametrize(
    ("listener", "does"),
    [
        (SESSION_EXPIRATION, {"queue": (REELECT,)}),
        (SESSION_EXPIRE, {"listener_agenda": Agenda((ControllerStep.RegisterBroker,))}),
        (HEALTHCHECK, {"listener_agenda": Agenda((ControllerStep.RegisterBroker, ControllerStep.Serve))}),
    ],
)
def test_in_0_11_zk_event_thread_without_a_read_waits_for_no_session(
    zookeeper: ZooKeeper, listener: Queued, does: dict[str, Any]
) -> None:
    """It does not notice that its session has ended."""
    zookeeper.expire(0)
    answer = whole(zookeeper, release="1.0").listen(at(ControllerStep.Elect, posted=(listener, LEADER_CHANGE)))
    assert answer.controller == at(ControllerStep.Elect, posted=(LEADER_CHANGE,), **does)


HANDLED = [
    ("0.10.2", SESSION_EXPIRATION, (ControllerStep.GetControllerId, ControllerStep.Elect)),
    ("0.10.2", SESSION_EXPIRE, (ControllerStep.RegisterBroker,)),
    ("0.10.2", LEADER_CHANGE, (ControllerStep.WatchController, ControllerStep.MaybeResign, ControllerStep.Elect)),
    ("0.10.2", HEALTHCHECK, (ControllerStep.RegisterBroker, ControllerStep.Serve)),
    ("1.0", REELECT, (ControllerStep.MaybeResign, ControllerStep.Elect)),
    ("2.1", CHANGED, MAYBE_RESIGN),
    ("2.1", REELECT, (*MAYBE_RESIGN, ControllerStep.Elect)),
]


@pytest.mark.parametrize(("release", "event", "doing"), HANDLED)
def test_the_oldest_event_is_taken_off_the_queue(
    zookeeper: ZooKeeper, release: str, event: Queued, doing: tuple[ControllerStep, ...]
) -> None:
    """The broker begins its row, and the description names the event."""
    answer = whole(zookeeper, release=release).handle(at(queue=(event, CHANGED)))
    assert answer == (at(*doing, queue=(CHANGED,)), f"{event}", None, False)


@pytest.mark.parametrize(
    ("release", "event", "knows"),
    [
        ("0.10.1", BROKERS_CHANGE, {"partition_state_version": 0}),
        ("0.10.2", BROKERS_CHANGE, {"partition_state_version": 0}),
        ("1.0", BROKER, {"active": True}),
        ("2.0", BROKER, {"active": True}),
        ("2.1", BROKER, {"active": True}),
    ],
)
def test_a_broker_change_is_for_the_controller(
    zookeeper: ZooKeeper, release: str, event: Queued, knows: dict[str, Any]
) -> None:
    """A broker that is no longer controller does nothing."""
    controller = whole(zookeeper, release=release)
    answer = controller.handle(at(queue=(event, CHANGED)))
    assert (answer.controller, answer.description) == (at(queue=(CHANGED,)), f"{event}: it is not controller")
    answer = controller.handle(at(queue=(event, CHANGED), **knows))
    assert answer.controller == at(*BROKER_CHANGE, queue=(CHANGED,), **knows)


@pytest.mark.parametrize(("release", "asked"), [(release, release != "0.10.1") for release in RELEASE])
def test_since_0_10_2_a_resigned_controller_ignores_isr_changes(
    zookeeper: ZooKeeper, release: str, asked: bool
) -> None:
    """In 0.10.1 its listener does not check. [KAFKA-4447]"""
    controller = whole(zookeeper, release=release)
    answer = controller.handle(at(queue=(ISR,)))
    assert answer.controller == (at() if asked else at(ControllerStep.ReadStates))
    answer = controller.handle(at(queue=(ISR,), active=True, partition_state_version=0))
    assert answer.controller == at(ControllerStep.ReadStates, active=True, partition_state_version=0)


@every_release
def test_a_changed_isr_is_read_and_sent_by_the_controller(zookeeper: ZooKeeper, release: str) -> None:
    """It writes nothing, and its failover is long over."""
    controller, me = whole(zookeeper, release=release), settled(zookeeper, release=release)
    zookeeper.set(None, STATE, PartitionStateEpoch(1))
    version = zookeeper.get(None, STATE)[1].version
    me = controller.handle(controller.isr_changes(me)).controller
    answer = next_of(controller, me)
    assert (answer.controller, answer.sends_requests) == (
        me.with_steps().with_context(partition_state_version=version),
        True,
    )
    assert zookeeper.get(None, STATE)[1].version == version


# Which of the two predicates holds: is it active, does it take itself for the controller?


@in_0_10
def test_in_0_10_a_broker_is_active_when_it_has_channels(zookeeper: ZooKeeper, release: str) -> None:
    """From the middle of its failover on, long after it began to take itself for the controller."""
    zookeeper.create(1, OTHER, ephemeral=True)
    controller, me = whole(zookeeper, release=release), at(ControllerStep.Elect)
    rows = []
    while me.agenda:
        rows.append((me.agenda[0], me.active, controller.is_active(me), me.acts_as_controller))
        me = next_of(controller, me).controller
    assert rows == [
        (ControllerStep.Elect, False, False, False),
        (ControllerStep.CreateController, False, False, False),
        (ControllerStep.ReadEpoch, True, False, False),
        (ControllerStep.IncrementEpoch, True, False, False),
        (ControllerStep.WatchBrokers, True, False, True),
        (ControllerStep.ReadBrokers, True, False, True),
        (ControllerStep.ReadStates, True, False, True),
        (ControllerStep.ReadPartitionState, True, True, True),
        (ControllerStep.UpdateLeaderAndIsr, True, True, True),
    ]
    assert controller.is_active(me)


@since_0_11
def test_since_0_11_a_broker_is_active_that_takes_itself_for_the_controller(
    zookeeper: ZooKeeper, release: str
) -> None:
    """From before its failover on."""
    controller, me = whole(zookeeper, release=release), at(ControllerStep.Elect)
    while me.agenda:
        assert controller.is_active(me) is me.active
        me = next_of(controller, me).controller
    assert controller.is_active(me)
    assert not controller.is_active(me._replace(active=False))


@pytest.mark.parametrize(("release", "acts"), [(release, release in LOCK) for release in RELEASE])
def test_in_0_10_a_broker_acts_after_it_gave_up_its_belief(zookeeper: ZooKeeper, release: str, acts: bool) -> None:
    """No broker is controller when it stands for election again, which it is about to do: its knowledge stays."""
    controller = whole(zookeeper, release=release)
    me = settled(zookeeper, release=release).with_steps(ControllerStep.Elect)
    zookeeper.delete(None, CONTROLLER)
    elected(zookeeper, 1, release)
    after = controller.elect(me).controller
    assert (after.active, after.acts_as_controller, controller.is_active(after)) == (False, acts, acts)
    assert after.epoch == (1 if acts else 0)


# The deciding fact: a fresh read, an earlier read, or the event.


@in_0_10
@pytest.mark.parametrize(("named", "doing"), [(None, (ControllerStep.Elect,)), (1, IDLE), (0, IDLE)])
def test_in_0_10_the_read_value_decides(
    zookeeper: ZooKeeper, release: str, named: int | None, doing: tuple[ControllerStep, ...]
) -> None:
    """Whatever the watch event: a missing node counts as a deletion, and the broker stands for election."""
    if named is not None:
        zookeeper.create(None, CONTROLLER, named)
    controller = whole(zookeeper, release=release)
    me = controller.handle(at(queue=(LEADER_CHANGE,))).controller
    me = controller.maybe_resign(controller.watch_controller(me).controller).controller
    assert me == at(*doing, active=named == 0)


@in_0_10
@pytest.mark.parametrize("named", [None, 1])
def test_in_0_10_a_controller_resigns_before_electing(zookeeper: ZooKeeper, release: str, named: int | None) -> None:
    """Or because there is another controller."""
    me = settled(zookeeper, release=release)
    zookeeper.delete(None, CONTROLLER)
    if named is not None:
        zookeeper.create(None, CONTROLLER, named)
    answer = whole(zookeeper, release=release).maybe_resign(
        me.with_steps(ControllerStep.MaybeResign, ControllerStep.Elect)
    )
    after = answer.controller
    assert after == at(*((ControllerStep.Elect,) if named is None else ()), **notified(release, DELETED))
    assert not after.has_context


def test_in_0_11_the_controller_is_read_when_the_event_is_queued(zookeeper: ZooKeeper) -> None:
    """It makes no request of its own: a broker resigns in favour of one that is gone by now."""
    controller = whole(zookeeper, release="1.0")
    me = settled(zookeeper, release="1.0")._replace(queue=(Queued(ControllerEvent.ControllerChange, 1), BROKER))
    before = zookeeper.state.zxid, dict(zookeeper.state.data_watches)
    answer = controller.handle(me)
    assert (answer.controller, answer.description) == (at(queue=(BROKER,)), "ControllerChange(1)")
    assert (zookeeper.state.zxid, zookeeper.state.data_watches) == before
    assert owner(zookeeper) == 0


@pytest.mark.parametrize("active", [False, True])
def test_in_0_11_a_broker_named_in_the_event_believes_it_is_controller(zookeeper: ZooKeeper, active: bool) -> None:
    """Whether it is or not; all other fields stay."""
    me = at(active=active, handlers_registered=active, queue=(Queued(ControllerEvent.ControllerChange, 0),))
    answer = whole(zookeeper, release="1.0").handle(me)
    assert answer.controller == at(active=True, handlers_registered=active)


def test_in_0_11_an_inactive_broker_has_nothing_to_resign(zookeeper: ZooKeeper) -> None:
    """Its remains of an earlier term stay. (B24)"""
    me = at(handlers_registered=True, partition_state_version=0, queue=(Queued(ControllerEvent.ControllerChange, 1),))
    assert whole(zookeeper, release="1.0").handle(me).controller == at(
        handlers_registered=True, partition_state_version=0
    )


def test_in_0_11_a_stale_event_makes_a_ghost(zookeeper: ZooKeeper) -> None:
    """B22: the first event elects it, the second makes it resign though its node stands, and the third finds it."""
    zookeeper.connect(7)
    controller = whole(zookeeper, release="1.0")
    stale = Queued(ControllerEvent.ControllerChange, 1)
    me = run(controller, controller.handle(at(queue=(REELECT, stale, REELECT))).controller)
    assert (me.active, me.failover_done, owner(zookeeper)) == (True, True, 0)
    me = controller.handle(me).controller
    assert (me.active, me.has_context, owner(zookeeper)) == (False, False, 0)
    me = settle(controller, me)
    assert (me.active, me.failover_done, me.acts_as_controller, owner(zookeeper)) == (True, False, False, 0)


@since_1_1
def test_since_1_1_the_event_type_decides_whether_to_elect(zookeeper: ZooKeeper, release: str) -> None:
    """And the read decides whether to resign: a ControllerChange that finds none waits for its Reelect."""
    controller = whole(zookeeper, release=release)
    me = settled(zookeeper, release=release)
    zookeeper.delete(None, CONTROLLER)
    after = run(controller, controller.handle(me._replace(queue=(CHANGED,))).controller)
    assert after == at(**notified(release, DELETED))
    after = run(controller, controller.handle(after).controller)
    assert (after.active, after.failover_done) == (True, True)


@since_1_1
def test_since_1_1_a_reelect_that_finds_a_controller_elects_none(zookeeper: ZooKeeper, release: str) -> None:
    """There is another by now."""
    in_office(zookeeper, 1, release)
    controller = whole(zookeeper, release=release)
    assert run(controller, controller.handle(at(queue=(REELECT,))).controller) == at()


@pytest.mark.parametrize("elects", [False, True])
@pytest.mark.parametrize("active", [False, True])
def test_with_the_proposal_a_missing_controller_triggers_an_election(
    zookeeper: ZooKeeper, elects: bool, active: bool
) -> None:
    """Not only on a deletion event; a former controller resigns first."""
    me = at(ControllerStep.MaybeResign, active=active, handlers_registered=active)
    after = whole(zookeeper, elect_if_none=elects).maybe_resign(me).controller
    assert after == (at(ControllerStep.Elect) if elects else at())
    zookeeper.create(None, CONTROLLER, 1)
    assert whole(zookeeper, elect_if_none=elects).maybe_resign(me).controller == at()


@pytest.mark.parametrize("elects", [False, True])
@every_release
def test_with_the_proposal_every_generation_elects_when_none_is_read(
    zookeeper: ZooKeeper, release: str, elects: bool
) -> None:
    """Even after a refused create that nothing was to follow."""
    controller = whole(zookeeper, release=release, elect_if_none=elects)
    assert controller.maybe_resign(at(ControllerStep.MaybeResign)).controller == (
        at(ControllerStep.Elect) if elects else at()
    )


@pytest.mark.parametrize(("release", "elects"), [(release, release not in LOCK) for release in RELEASE])
def test_only_in_0_10_reading_the_controller_ends_the_row(zookeeper: ZooKeeper, release: str, elects: bool) -> None:
    """There it was no deletion; a Reelect continues with the election, which finds the controller itself."""
    zookeeper.create(None, CONTROLLER, 1)
    me = at(ControllerStep.MaybeResign, ControllerStep.Elect)
    assert whole(zookeeper, release=release).maybe_resign(me).controller == (
        at(ControllerStep.Elect) if elects else at()
    )


# A new session, in 0.10.


@pytest.mark.parametrize("named", [None, 0, 1])
def test_in_0_10_1_a_new_session_resigns_and_elects(zookeeper: ZooKeeper, named: int | None) -> None:
    """Whether /controller names this broker, another, or none."""
    me = settled(zookeeper, release="0.10.1")._replace(queue=(SESSION_EXPIRATION, BROKERS_CHANGE))
    zookeeper.delete(None, CONTROLLER)
    if named is not None:
        zookeeper.create(None, CONTROLLER, named)
    answer = whole(zookeeper, release="0.10.1").handle(me)
    assert answer.controller == at(ControllerStep.Elect, queue=(BROKERS_CHANGE,))
    assert answer.description == "SessionExpirationListener: it resigns"


@pytest.mark.parametrize(
    ("named", "said"),
    [
        (None, "there is none: it resigns"),
        (0, "it is this broker: the new session changes nothing"),
        (1, "it is broker 1: it resigns"),
    ],
)
def test_in_0_10_2_a_new_session_resigns_and_elects_unless_it_is_named(
    zookeeper: ZooKeeper, named: int | None, said: str
) -> None:
    """If it is named, its context is untouched. [KAFKA-4229]"""
    controller = whole(zookeeper, release="0.10.2")
    me = settled(zookeeper, release="0.10.2")
    zookeeper.delete(None, CONTROLLER)
    if named is not None:
        zookeeper.create(None, CONTROLLER, named)
    me = controller.handle(controller.deliver(me)._replace(queue=(SESSION_EXPIRATION,))).controller
    answer = controller.get_controller_id(me)
    assert answer.controller == (me.with_steps() if named == 0 else at(ControllerStep.Elect))
    assert answer.description == said


@pytest.mark.parametrize(("release", "started"), [("0.10.1", False), ("0.10.2", True), ("1.0", True)])
def test_two_new_sessions_in_a_row_make_a_ghost_in_0_10_1(zookeeper: ZooKeeper, release: str, started: bool) -> None:
    """B22: the second one resigns the office that the first has won, and then finds its own node."""
    controller, me = whole(zookeeper, release=release), settled(zookeeper, release=release)
    for old, new in ((0, 5), (5, 6)):
        zookeeper.expire(old)
        me = controller.renew(me, new)
    me = settle(controller, me)
    assert (me.active, me.failover_done, me.acts_as_controller) == (True, started, started)
    assert zookeeper.get(None, CONTROLLER) == (0, zookeeper.exists(None, CONTROLLER))
    assert zookeeper.get(None, CONTROLLER)[1].ephemeralOwner == 6
    assert zookeeper.get(None, OWN)[1].ephemeralOwner == 6


# Lost replies: after a refused write, a broker checks whether it was refused because of its own earlier one.


WRITES: list[tuple[ControllerStep, dict[str, Any]]] = [
    (ControllerStep.RegisterBroker, {}),
    (ControllerStep.DeleteRegistration, {}),
    (ControllerStep.CreateController, {}),
    (ControllerStep.RegisterController, {}),
    (ControllerStep.IncrementEpoch, {}),
    (ControllerStep.UpdateLeaderAndIsr, {"epoch": 0}),
    (ControllerStep.DeleteController, {}),
]


@pytest.mark.parametrize(("do", "known"), WRITES, ids=[do.name for do, _ in WRITES])
def test_a_request_whose_reply_is_lost_has_its_effect(
    zookeeper: ZooKeeper, do: ControllerStep, known: dict[str, Any]
) -> None:
    """Once: the same request sent again is refused, and has no effect."""
    if do is ControllerStep.DeleteController:
        zookeeper.create(0, CONTROLLER, 0, ephemeral=True)
    if do is ControllerStep.DeleteRegistration:
        zookeeper.create(0, OWN, ephemeral=True)
    controller, me = short(zookeeper), at(do, **known)
    before = dict(zookeeper.state.nodes)
    assert controller.lose_reply(me)
    after = dict(zookeeper.state.nodes)
    assert after != before
    assert not controller.lose_reply(me)
    assert zookeeper.state.nodes == after


def test_a_refused_request_has_no_effect(zookeeper: ZooKeeper) -> None:
    """A refused multi changes neither node nor epoch: the fence, or a faster broker, undoes all of it."""
    elected(zookeeper, 1)
    before = dict(zookeeper.state.nodes)
    assert not short(zookeeper).lose_reply(at(ControllerStep.RegisterController))
    assert not short(zookeeper).lose_reply(at(ControllerStep.UpdateLeaderAndIsr))
    assert not short(zookeeper).lose_reply(at(ControllerStep.DeleteController))
    assert zookeeper.state.nodes == before


def test_only_a_write_can_lose_its_reply(zookeeper: ZooKeeper) -> None:
    """A read has no effect that could outlive its reply."""
    with pytest.raises(ValueError, match="ReadEpoch writes nothing"):
        short(zookeeper).lose_reply(at(ControllerStep.ReadEpoch))


@pytest.mark.parametrize("release", [*UNTIL_1_0, "2.0"])
def test_a_lost_reply_to_its_own_increment_is_a_lost_increment(zookeeper: ZooKeeper, release: str) -> None:
    """B20, with one broker: until 1.0 it continues under the previous epoch, and 1.1 resigns."""
    zookeeper.set(None, CONTROLLER_EPOCH, 4)
    controller = whole(zookeeper, release=release)
    me = until(ControllerStep.IncrementEpoch, controller, at(ControllerStep.Elect))
    assert controller.lose_reply(me)
    answer = controller.increment_epoch(me)
    assert zookeeper.get(None, CONTROLLER_EPOCH)[0] == 5
    if release == "2.0":
        assert (answer.controller.agenda, answer.failover) == ((ControllerStep.DeleteController,), None)
    else:
        assert (answer.controller.epoch, answer.controller.acts_as_controller, answer.failover) == (
            4,
            True,
            Failover(0, 4),
        )


# Who is controller?


@every_release
def test_an_election_stops_where_there_is_a_controller(zookeeper: ZooKeeper, release: str) -> None:
    """The broker is idle, and watches."""
    elected(zookeeper, 1, release)
    assert elected(zookeeper, 0, release) == at(*IDLE)
    assert 0 in zookeeper.state.data_watches[CONTROLLER]


READS: list[tuple[ControllerStep, str]] = [
    (ControllerStep.MaybeResign, "2.1"),
    (ControllerStep.MaybeResign, "1.0"),
    (ControllerStep.MaybeResign, "0.10.2"),
    (ControllerStep.Elect, "2.1"),
    (ControllerStep.Elect, "1.0"),
    (ControllerStep.Elect, "0.10.2"),
    (ControllerStep.GetControllerId, "0.10.2"),
    (ControllerStep.CheckController, "2.1"),
    (ControllerStep.CheckController, "2.0"),
    (ControllerStep.MoveController, "2.1"),
]


@pytest.mark.parametrize(("do", "release"), READS)
def test_a_read_of_the_controller_sets_a_watch(zookeeper: ZooKeeper, do: ControllerStep, release: str) -> None:
    """If there is one; if there is none, only an exists watches."""
    controller = whole(zookeeper, release=release)
    next_of(controller, at(do))
    assert zookeeper.state.data_watches[CONTROLLER] == set()
    zookeeper.create(None, CONTROLLER, 1)
    next_of(controller, at(do))
    assert zookeeper.state.data_watches[CONTROLLER] == {0}


@pytest.mark.parametrize(("release", "hears"), [(release, release in SINCE_1_1) for release in RELEASE])
def test_only_since_1_1_reading_the_owner_sets_a_watch(zookeeper: ZooKeeper, release: str, hears: bool) -> None:
    """Until 1.0 its read bypasses ZkClient. [ZKCheckedEphemeral]"""
    zookeeper.create(1, CONTROLLER, 1, ephemeral=True)
    controller = whole(zookeeper, release=release)
    me = controller.check_controller(at(ControllerStep.CheckController, *FAILOVER[release])).controller
    assert zookeeper.state.data_watches[CONTROLLER] == ({0} if hears else set())
    zookeeper.delete(None, CONTROLLER)
    assert controller.deliver(me) == me._replace(**(notified(release, DELETED) if hears else {}))


@pytest.mark.parametrize("there", [False, True])
def test_an_exists_of_the_controller_watches_either_way(zookeeper: ZooKeeper, there: bool) -> None:
    """It continues either way."""
    if there:
        zookeeper.create(None, CONTROLLER, 1)
    answer = whole(zookeeper).watch_controller(at(*MAYBE_RESIGN))
    assert answer.controller == at(ControllerStep.MaybeResign)
    assert answer.description == f"/controller is {'there' if there else 'not there'}"
    assert zookeeper.state.data_watches[CONTROLLER] == {0}


@since_0_11
def test_a_broker_electing_again_is_not_controller(zookeeper: ZooKeeper, release: str) -> None:
    """The node was deleted after the broker had read it as its own; its earlier read is -1 by now."""
    before = at(ControllerStep.Elect, active=True, epoch=1, epoch_zk_version=1)
    controller = whole(zookeeper, release=release)
    standing = (*ELECTION[controller.design.epoch_update], *controller.design.failover)
    assert controller.elect(before).controller == at(*standing)


def test_a_controller_that_reads_another_resigns(zookeeper: ZooKeeper) -> None:
    """And keeps its pending events."""
    elected(zookeeper, 1)
    before = at(ControllerStep.MaybeResign, active=True, epoch=1, epoch_zk_version=1, queue=(REELECT,))
    assert short(zookeeper).maybe_resign(before).controller == at(queue=(REELECT,))


@every_release
def test_a_controller_that_reads_itself_stays(zookeeper: ZooKeeper, release: str) -> None:
    """The notification was caused by its own write."""
    me = elected(zookeeper, 0, release).with_steps(ControllerStep.MaybeResign)
    assert short(zookeeper, release=release).maybe_resign(me).controller == me.with_steps()


# Did its own request make it the controller?


FAILOVER = {release: steps_of(failover(release)) for release in RELEASE}
"""A failover with all of its requests, and the end of it."""


def test_a_lost_multi_is_controller_moved(zookeeper: ZooKeeper) -> None:
    """Neither node nor epoch is touched."""
    late = until(ControllerStep.RegisterController, short(zookeeper, 1), at(ControllerStep.Elect, session=1))
    elected(zookeeper, 0)
    zookeeper.delete(None, CONTROLLER)
    answer = short(zookeeper, 1).register_controller(late)
    assert (answer.controller, answer.failover) == (at(*MAYBE_RESIGN, session=1), None)
    assert answer.description == "BADVERSION: ControllerMoved"
    assert zookeeper.exists(None, CONTROLLER) is None


def test_a_multi_whose_reply_was_lost_is_its_own(zookeeper: ZooKeeper) -> None:
    """/controller names the broker, and the epoch is the one that it tried to set."""
    controller = whole(zookeeper)
    me = until(ControllerStep.RegisterController, controller, at(ControllerStep.Elect))
    assert controller.lose_reply(me)
    refused = controller.register_controller(me)
    assert refused.controller == me.with_steps(
        ControllerStep.CheckController, ControllerStep.CheckEpoch, *FAILOVER["2.1"]
    )
    assert (refused.description, refused.failover) == ("NODEEXISTS: was it its own?", None)
    named = controller.check_controller(refused.controller)
    assert (named.description, named.controller.active, named.failover) == ("it is this broker", False, None)
    sure = controller.check_epoch(named.controller)
    known = {"active": True, "epoch": 1, "epoch_zk_version": 1, "handlers_registered": True}
    assert sure == (at(*FAILOVER["2.1"], **known), "its own: its failover runs", Failover(0, 1), False)


def test_a_multi_after_a_faster_one_is_controller_moved(zookeeper: ZooKeeper) -> None:
    """Its read of the epoch is dropped."""
    controller = whole(zookeeper)
    me = until(ControllerStep.RegisterController, controller, at(ControllerStep.Elect))
    in_failover(zookeeper, 1)
    answer = controller.check_controller(controller.register_controller(me).controller)
    assert (answer.controller, answer.description) == (at(*MAYBE_RESIGN), "it is broker 1: ControllerMoved")


def test_a_multi_that_finds_no_controller_is_controller_moved(zookeeper: ZooKeeper) -> None:
    """The faster broker is gone by now: BADVERSION, then NONODE."""
    controller = whole(zookeeper)
    me = until(ControllerStep.RegisterController, controller, at(ControllerStep.Elect))
    zookeeper.set(None, CONTROLLER_EPOCH, 1)
    refused = controller.register_controller(me)
    assert refused.description == "BADVERSION: was it its own?"
    answer = controller.check_controller(refused.controller)
    assert (answer.controller, answer.description) == (at(*MAYBE_RESIGN), "NONODE: ControllerMoved")


@pytest.mark.parametrize("epoch", [0, 2])
def test_an_epoch_that_is_not_the_next_is_not_its_own(zookeeper: ZooKeeper, epoch: int) -> None:
    """Whatever /controller said a moment ago."""
    zookeeper.set(None, CONTROLLER_EPOCH, epoch)
    me = at(ControllerStep.CheckEpoch, *FAILOVER["2.1"])
    answer = whole(zookeeper).check_epoch(me)
    assert (answer.controller, answer.failover) == (at(*MAYBE_RESIGN), None)
    assert answer.description == f"it is {epoch}, at version 1: ControllerMoved"


@until_2_0
def test_a_node_of_its_own_session_was_created_by_its_own_request(zookeeper: ZooKeeper, release: str) -> None:
    """Until 2.0: it is controller, and its failover begins with the epoch, before it has any handlers."""
    controller = whole(zookeeper, release=release)
    me = until(ControllerStep.CreateController, controller, at(ControllerStep.Elect))
    assert controller.lose_reply(me)
    refused = controller.create_controller(me)
    assert (refused.controller, refused.description) == (
        at(ControllerStep.CheckController, *FAILOVER[release]),
        "NODEEXISTS: whose is it?",
    )
    answer = controller.check_controller(refused.controller)
    assert answer.controller == at(*FAILOVER[release], active=True)
    assert answer.controller.agenda[:2] == INCREMENT


@pytest.mark.parametrize("by", [0, 1])
@until_2_0
def test_a_node_of_another_session_was_not_created_by_itself(zookeeper: ZooKeeper, release: str, by: int) -> None:
    """Until 2.0 even a node that names this broker: another session was faster."""
    zookeeper.create(1, CONTROLLER, by, ephemeral=True)
    controller = whole(zookeeper, release=release)
    answer = controller.check_controller(at(ControllerStep.CheckController, *FAILOVER[release]))
    assert (answer.controller, answer.description) == (
        at(ControllerStep.MaybeResign),
        f"it is broker {by}: another session was faster",
    )
    assert run(controller, answer.controller) == at(active=by == 0)


@until_2_0
def test_without_read_back_a_refused_broker_reads_the_winner(zookeeper: ZooKeeper, release: str) -> None:
    """And does no more."""
    controller = short(zookeeper, release=release)
    me = until(ControllerStep.CreateController, controller, at(ControllerStep.Elect))
    zookeeper.create(1, CONTROLLER, 1, ephemeral=True)
    answer = controller.create_controller(me)
    assert (answer.controller, answer.description) == (
        at(ControllerStep.MaybeResign),
        "NODEEXISTS: another session was faster",
    )
    assert run(controller, answer.controller) == at()


@until_2_0
def test_the_winner_may_be_gone(zookeeper: ZooKeeper, release: str) -> None:
    """No broker is then controller until the deletion is handled. [elect, which only warns, until 1.0]"""
    controller = short(zookeeper, release=release)
    me = until(ControllerStep.CreateController, controller, at(ControllerStep.Elect))
    zookeeper.create(1, CONTROLLER, 1, ephemeral=True)
    me = controller.create_controller(me).controller
    zookeeper.delete(None, CONTROLLER)
    assert controller.maybe_resign(me).controller == at()


@pytest.mark.parametrize(
    ("release", "kinds"), [*((release, (CREATED,)) for release in UNTIL_1_0), ("2.0", (CREATED, DELETED))]
)
def test_a_vanished_winner_is_noticed(zookeeper: ZooKeeper, release: str, kinds: tuple[EventType, ...]) -> None:
    """So another election follows: until 1.0 the callback of the creation finds no controller."""
    controller = whole(zookeeper, release=release)
    me = until(ControllerStep.CreateController, controller, at(ControllerStep.WatchController, ControllerStep.Elect))
    zookeeper.create(1, CONTROLLER, 1, ephemeral=True)
    me = controller.check_controller(controller.create_controller(me).controller).controller
    zookeeper.delete(None, CONTROLLER)
    me = controller.maybe_resign(me).controller
    assert me == at(**notified(release, *kinds))
    assert (settle(controller, me).failover_done, owner(zookeeper)) == (True, 0)


@until_2_0
def test_a_node_that_is_gone_is_created_once_more(zookeeper: ZooKeeper, release: str) -> None:
    """NONODE."""
    answer = whole(zookeeper, release=release).check_controller(
        at(ControllerStep.CheckController, *FAILOVER[release])
    )
    assert (answer.controller, answer.description) == (
        at(ControllerStep.CreateController, *FAILOVER[release]),
        "NONODE: once more",
    )


# The increment, as a step of its own.


def lost_increment(zookeeper: ZooKeeper, release: str) -> Answer:
    """Broker 1 wins between the read and the compare-and-set of broker 0."""
    controller = short(zookeeper, release=release)
    row = (*ELECTION[RELEASE[release].epoch_update], *INCREMENT, *LEADER_AND_ISR)
    slow = until(ControllerStep.IncrementEpoch, controller, at(*row))
    zookeeper.delete(None, CONTROLLER)
    elected(zookeeper, 1, release)
    return controller.increment_epoch(slow)


def test_a_lost_increment_fails_the_failover_since_1_1(zookeeper: ZooKeeper) -> None:
    """It resigns, and is about to delete /controller."""
    answer = lost_increment(zookeeper, "2.0")
    assert (answer.controller.agenda, answer.controller.active) == ((ControllerStep.DeleteController,), False)
    assert not answer.failover


@until_1_0
def test_a_lost_increment_was_swallowed_before(zookeeper: ZooKeeper, release: str) -> None:
    """The failover continues with the epoch that was read."""
    me, _, goes_on, _ = lost_increment(zookeeper, release)
    assert (me.agenda, me.active, me.epoch) == (LEADER_AND_ISR, True, 0)
    assert goes_on


@until_1_0
def test_a_compare_and_set_waits_for_the_next_session_and_is_lost_there(zookeeper: ZooKeeper, release: str) -> None:
    """B20, with two brokers: another is elected meanwhile."""
    zookeeper.set(None, CONTROLLER_EPOCH, 4)
    controller = whole(zookeeper, release=release)
    me = until(ControllerStep.IncrementEpoch, controller, at(ControllerStep.Elect))
    zookeeper.expire(0)
    other = in_failover(zookeeper, 1, release)
    me = controller.renew(controller.increment_epoch(me).controller, 5)
    answer = controller.increment_epoch(me)
    assert (answer.controller.epoch, answer.controller.acts_as_controller, answer.failover) == (
        4,
        True,
        Failover(0, 4),
    )
    assert (other.epoch, zookeeper.get(None, CONTROLLER_EPOCH)[0]) == (5, 5)


@pytest.mark.parametrize(("fenced", "remains"), [(True, True), (False, False)])
def test_only_a_fence_keeps_the_loser_from_deleting_the_winners_node(
    zookeeper: ZooKeeper, fenced: bool, remains: bool
) -> None:
    """B43, in four requests."""
    loser = lost_increment(zookeeper, "2.0").controller
    done = short(zookeeper, release="2.0", fence_zk=fenced).delete_controller(loser).controller
    assert (zookeeper.exists(None, CONTROLLER) is not None) is remains
    assert done == at(queue=done.queue)


@pytest.mark.parametrize(("release", "remains"), [*((release, False) for release in UNTIL_1_0), ("2.0", True)])
def test_a_deletion_waits_for_the_next_session_until_1_0(zookeeper: ZooKeeper, release: str, remains: bool) -> None:
    """B43 by an expiry: it deletes the node of the broker elected meanwhile. In 1.1 it uses a dead handle."""
    controller = whole(zookeeper, release=release)
    me = controller.fail(in_failover(zookeeper, release=release)).controller
    assert me.agenda == (ControllerStep.DeleteController,)
    zookeeper.expire(0)
    in_failover(zookeeper, 1, release)
    me = controller.delete_controller(me).controller
    if not remains:
        assert owner(zookeeper) == 1
        answer = controller.delete_controller(controller.renew(me, 5))
        assert (answer.description, answer.controller.agenda) == ("deleted", IDLE)
    assert owner(zookeeper) == (1 if remains else None)


# In office.


def test_a_controller_reads_the_state_and_writes_it_under_its_epoch(zookeeper: ZooKeeper) -> None:
    """At the version that it read."""
    run(short(zookeeper), elected(zookeeper, 0))
    assert zookeeper.get(None, STATE)[0] == PartitionStateEpoch(controller_epoch=1)


@pytest.mark.parametrize(("fenced", "written", "doing"), [(True, 0, MAYBE_RESIGN), (False, 1, IDLE)])
def test_only_a_fence_keeps_a_zombie_from_writing(
    zookeeper: ZooKeeper, fenced: bool, written: int, doing: Agenda
) -> None:
    """B4: the epoch has changed, and the state is not written yet."""
    controller = short(zookeeper, fence_zk=fenced)
    zombie = until(ControllerStep.UpdateLeaderAndIsr, controller, elected(zookeeper, 0))
    zookeeper.delete(None, CONTROLLER)
    elected(zookeeper, 1)
    after = controller.update_leader_and_isr(zombie).controller
    assert (zookeeper.get(None, STATE)[0].controller_epoch, after.agenda) == (written, doing)


@every_release
def test_a_state_of_a_newer_controller_is_left_alone(zookeeper: ZooKeeper, release: str) -> None:
    """StateChangeFailed, in every release."""
    me = elected(zookeeper, 0, release)
    zookeeper.set(None, STATE, PartitionStateEpoch(controller_epoch=2))
    assert short(zookeeper, release=release).read_partition_state(me).controller.agenda == IDLE


def test_a_state_that_changed_in_between_is_read_again(zookeeper: ZooKeeper) -> None:
    """The version belongs to the state, not to the epoch: the controller has not moved."""
    controller = short(zookeeper)
    me = until(ControllerStep.UpdateLeaderAndIsr, controller, elected(zookeeper, 0))
    zookeeper.set(None, STATE, PartitionStateEpoch())
    assert controller.update_leader_and_isr(me).controller.agenda == LEADER_AND_ISR


@every_release
def test_a_failover_ends_with_started(zookeeper: ZooKeeper, release: str) -> None:
    """The broker knows the live brokers and its writes, has sent them, and is outside of every catch of elect."""
    zookeeper.create(0, OWN, ephemeral=True)
    me = in_office(zookeeper, release=release)
    known = {"active": True, "epoch": 1, "epoch_zk_version": 1, "handlers_registered": True, "failover_done": True}
    assert me == at(**known, live_brokers=frozenset({"0"}), partition_state_version=1, **notified(release, CREATED))
    assert (me.in_elect, me.has_context) == (False, True)


@every_release
def test_elect_catches_from_the_epoch_to_the_end(zookeeper: ZooKeeper, release: str) -> None:
    """But not after the read of /controller, nor outside of the election."""
    controller = whole(zookeeper, release=release)
    me, rows = at(ControllerStep.Elect), []
    while me.agenda:
        rows.append((me.agenda[0], me.in_elect))
        me = next_of(controller, me).controller
    assert rows == [(ControllerStep.Elect, False)] + [(do, True) for do, _ in rows[1:]]


@pytest.mark.parametrize(
    ("release", "from_then_on"),
    [
        *((release, ControllerStep.WatchBrokers) for release in UNTIL_1_0),
        *((release, ControllerStep.ReadBrokers) for release in ("2.0", "2.1")),
    ],
)
def test_a_controller_listens_when_it_has_its_epoch_until_1_0_before_it_watches(
    zookeeper: ZooKeeper, release: str, from_then_on: ControllerStep
) -> None:
    """Earlier, no event of a broker reaches it."""
    controller, me = whole(zookeeper, release=release), at(ControllerStep.Elect)
    rows = []
    while me.agenda:
        rows.append((me.agenda[0], me.handlers_registered))
        me = next_of(controller, me).controller
    places = [do for do, _ in rows]
    assert [do for do, listens in rows if listens] == places[places.index(from_then_on) :]


@in_0_10
def test_in_0_10_a_controller_that_never_resigned_keeps_listening(zookeeper: ZooKeeper, release: str) -> None:
    """When it is elected again, it keeps the subscriptions of its earlier term."""
    controller = whole(zookeeper, release=release)
    me = controller.delete_controller(
        controller.fail(until(ControllerStep.ReadStates, controller, at(ControllerStep.Elect))).controller
    )
    again = until(ControllerStep.CreateController, controller, me.controller.with_steps(ControllerStep.Elect))
    assert controller.create_controller(again).controller.handlers_registered


@until_1_0
def test_until_1_0_a_subscription_sets_the_watch(zookeeper: ZooKeeper, release: str) -> None:
    """It is notified of changes before the read of brokers."""
    controller = whole(zookeeper, release=release)
    me = until(ControllerStep.WatchBrokers, controller, at(ControllerStep.Elect))
    assert zookeeper.state.child_watches[BROKER_IDS] == set()
    answer = controller.watch_brokers(me)
    assert answer.controller == me.next_step()
    assert zookeeper.state.child_watches[BROKER_IDS] == {0}
    zookeeper.create(1, OTHER, ephemeral=True)
    after = controller.read_brokers(answer.controller).controller
    assert (after.context.live_brokers, controller.deliver(after)) == (
        frozenset({"1"}),
        after._replace(**notified(release, CHILDREN)),
    )


def test_a_failover_reads_and_watches_the_live_brokers(zookeeper: ZooKeeper) -> None:
    """In the context; it continues even if it knew these brokers already."""
    zookeeper.create(1, OTHER, ephemeral=True)
    me = in_failover(zookeeper)
    for live in (frozenset[str](), frozenset({"1"})):
        answer = whole(zookeeper).read_brokers(me.with_context(live_brokers=live))
        assert answer.controller == me.next_step().with_context(live_brokers=frozenset({"1"}))
        assert not answer.sends_requests
    assert zookeeper.state.child_watches[BROKER_IDS] == {0}


@every_release
def test_a_broker_change_that_changed_nothing_is_done(zookeeper: ZooKeeper, release: str) -> None:
    """The broker watches again, and does no more."""
    me = in_office(zookeeper, release=release).with_steps(*BROKER_CHANGE)
    zookeeper.state.child_watches[BROKER_IDS] = frozenset()
    answer = whole(zookeeper, release=release).read_brokers(me)
    assert (answer.controller, answer.description) == (me.with_steps(), "the same ones")
    assert zookeeper.state.child_watches[BROKER_IDS] == {0}


@every_release
def test_a_broker_that_came_leads_to_a_write(zookeeper: ZooKeeper, release: str) -> None:
    """At the current version of the state, and the cache then has the next one."""
    zookeeper.create(0, f"{BROKER_IDS}/0", ephemeral=True)
    controller, me = whole(zookeeper, release=release), in_office(zookeeper, release=release)
    zookeeper.create(1, OTHER, ephemeral=True)
    me = controller.deliver(me)
    assert me == me._replace(**notified(release, CREATED, CHILDREN))
    me = settle(controller, me)
    assert (me.context.live_brokers, me.context.partition_state_version, me.failover_done) == (
        frozenset({"0", "1"}),
        2,
        True,
    )
    assert zookeeper.get(None, STATE)[1].version == 2


def test_a_failover_reads_the_states_and_tells_the_brokers(zookeeper: ZooKeeper) -> None:
    """The version goes into the cache; UpdateMetadata is sent."""
    zookeeper.set(None, STATE, PartitionStateEpoch())
    me = until(ControllerStep.ReadStates, whole(zookeeper), in_failover(zookeeper))
    answer = whole(zookeeper).read_states(me)
    assert answer.controller == me.next_step().with_context(partition_state_version=1)
    assert (answer.sends_requests, answer.failover) == (True, None)


def test_a_partition_with_a_live_leader_is_left_alone(zookeeper: ZooKeeper) -> None:
    """Nothing is written, and the failover ends with the last partition."""
    me = until(ControllerStep.ReadPartitionState, whole(zookeeper), in_failover(zookeeper))
    left = whole(zookeeper).skip_election(me)
    assert left == me.with_steps(ControllerStep.DeletePreferredElection, ControllerStep.Started)
    done = run(whole(zookeeper), left)
    assert (done.failover_done, done.context.partition_state_version, zookeeper.get(None, STATE)[1].version) == (
        True,
        0,
        0,
    )
    assert done == me.with_steps()._replace(failover_done=True)


def test_until_2_0_a_failover_is_done_with_its_last_partition(zookeeper: ZooKeeper) -> None:
    """The later deletion of /admin/preferred_replica_election is not fenced, and tells a controller nothing."""
    controller = whole(zookeeper, release="2.0")
    me = until(ControllerStep.ReadPartitionState, controller, in_failover(zookeeper, release="2.0"))
    assert controller.skip_election(me) == me.with_steps()._replace(failover_done=True)


def test_since_2_1_a_failover_ends_with_a_fenced_deletion(zookeeper: ZooKeeper) -> None:
    """A controller that was deposed during its failover learns that here, and resigns."""
    controller = whole(zookeeper)
    me = until(ControllerStep.DeletePreferredElection, controller, in_failover(zookeeper))
    zookeeper.set(None, CONTROLLER_EPOCH, 2)
    answer = controller.delete_preferred_election(me)
    assert (answer.controller, answer.description) == (
        me.with_steps(*MAYBE_RESIGN),
        "BADVERSION of the epoch: ControllerMoved",
    )
    zookeeper.delete(None, CONTROLLER)
    assert not run(controller, answer.controller).has_context


def test_a_state_that_a_newer_controller_wrote_ends_a_failover_too(zookeeper: ZooKeeper) -> None:
    """StateChangeFailed is caught for each partition: the failover is over."""
    me = until(ControllerStep.ReadPartitionState, whole(zookeeper), in_failover(zookeeper))
    zookeeper.set(None, STATE, PartitionStateEpoch(controller_epoch=2))
    left = me.with_steps(ControllerStep.DeletePreferredElection, ControllerStep.Started)
    assert whole(zookeeper).read_partition_state(me).controller == left


def test_written_states_are_cached_and_sent(zookeeper: ZooKeeper) -> None:
    """Not earlier: before the reply the cache has the state that was read."""
    zookeeper.create(1, OTHER, ephemeral=True)
    controller = whole(zookeeper)
    me = until(ControllerStep.UpdateLeaderAndIsr, controller, in_failover(zookeeper))
    assert (me.context.partition_state_version, me.failover_done) == (0, False)
    answer = controller.update_leader_and_isr(me)
    assert (
        answer.controller.context.partition_state_version,
        answer.controller.agenda[0],
        answer.sends_requests,
    ) == (
        1,
        ControllerStep.DeletePreferredElection,
        True,
    )


def test_an_election_of_leaders_elsewhere_closes_no_failover(zookeeper: ZooKeeper) -> None:
    """Unless `ControllerStep.Started` follows, a write starts nothing and caches nothing."""
    controller = short(zookeeper)
    me = until(ControllerStep.UpdateLeaderAndIsr, controller, elected(zookeeper, 0))
    assert not controller.update_leader_and_isr(me).controller.has_context


@pytest.mark.parametrize(("release", "written"), [*((release, True) for release in UNTIL_1_0), ("2.0", False)])
def test_until_1_0_queued_events_run_in_the_new_session(zookeeper: ZooKeeper, release: str, written: bool) -> None:
    """B3: under the old epoch, without its own registration, before it is notified of the new session."""
    zookeeper.create(0, OWN, ephemeral=True)
    controller, me = whole(zookeeper, release=release), settled(zookeeper, release=release)
    zookeeper.set(None, STATE, PartitionStateEpoch())
    zookeeper.create(1, OTHER, ephemeral=True)
    me = hear(controller, controller.deliver(me))
    assert len(me.queue) == 1
    zookeeper.expire(0)
    in_failover(zookeeper, 1, release)
    if written:
        me = run(controller, controller.handle(controller.renew(me, 5)).controller)
        assert (me.session, me.epoch, me.context.live_brokers) == (5, 1, frozenset({"1"}))
    else:
        me = controller.connect(controller.expire(me), 5)
        assert me == at(*EXPIRED[1:], session=5)
    assert zookeeper.get(None, CONTROLLER_EPOCH)[0] == 2
    assert zookeeper.get(None, STATE)[0].controller_epoch == (1 if written else 0)


# An error in the failover: triggerControllerMove, and resign() in 0.10.


def test_a_failover_that_fails_moves_the_controller(zookeeper: ZooKeeper) -> None:
    """Since 2.1 it reads first whether there is a controller to move."""
    me = until(ControllerStep.ReadPartitionState, whole(zookeeper), in_failover(zookeeper))
    answer = whole(zookeeper).fail(me)
    assert answer.controller == me.with_steps(ControllerStep.MoveController)
    assert answer.controller.has_context


CONFLICTS = {(release, ControllerStep.UpdateLeaderAndIsr) for release in UNTIL_1_0}
"""The failures that count as a conflict."""


@pytest.mark.parametrize(
    ("release", "do"),
    [(release, do) for release in RELEASE for do in LEADER_AND_ISR if (release, do) not in CONFLICTS],
)
def test_a_failed_election_of_leaders_does_not_move_the_controller(
    zookeeper: ZooKeeper, release: str, do: ControllerStep
) -> None:
    """It is logged; the failover continues, and nothing has been written."""
    zookeeper.create(1, OTHER, ephemeral=True)
    controller = whole(zookeeper, release=release)
    me = until(do, controller, in_failover(zookeeper, release=release))
    assert me.about_to(do)
    answer = controller.fail_to_elect(me)
    done = run(controller, answer.controller)
    assert (done.active, done.failover_done, done.state_version, done.context.partition_state_version) == (
        True,
        True,
        0,
        0,
    )
    assert not answer.sends_requests
    assert zookeeper.get(None, STATE)[1].version == 0


@until_1_0
def test_until_1_0_a_write_that_fails_is_a_conflict(zookeeper: ZooKeeper, release: str) -> None:
    """Whatever the failure, the state is read again, and written."""
    zookeeper.create(1, OTHER, ephemeral=True)
    controller = whole(zookeeper, release=release)
    me = until(ControllerStep.UpdateLeaderAndIsr, controller, in_failover(zookeeper, release=release))
    answer = controller.fail_to_elect(me)
    assert answer.controller == me._replace(
        agenda=Agenda((ControllerStep.ReadPartitionState, *me.agenda)), state_version=0
    )
    assert run(controller, answer.controller).failover_done
    assert zookeeper.get(None, STATE)[1].version == 1


@until_1_0
def test_until_1_0_an_increment_that_fails_is_swallowed(zookeeper: ZooKeeper, release: str) -> None:
    """The failover continues under the epoch that it read, and handles the events that come with its next reply."""
    zookeeper.create(1, OTHER, ephemeral=True)
    controller = whole(zookeeper, release=release)
    me = until(ControllerStep.IncrementEpoch, controller, at(ControllerStep.Elect))
    zookeeper.delete(None, CONTROLLER)
    answer = controller.fail(me)
    assert answer.controller == controller.deliver(me.next_step())._replace(handlers_registered=True)
    assert not answer.failover
    assert run(controller, answer.controller).failover_done
    assert zookeeper.get(None, STATE)[0] == PartitionStateEpoch(controller_epoch=0)
    assert zookeeper.get(None, CONTROLLER_EPOCH)[1].version == 0


@every_release
def test_without_live_brokers_there_is_no_leader(zookeeper: ZooKeeper, release: str) -> None:
    """A controller may read the brokers before its own has registered: until BrokerChange it writes nothing."""
    controller = whole(zookeeper, release=release)
    me = until(ControllerStep.ReadPartitionState, controller, in_failover(zookeeper, release=release))
    answer = controller.read_partition_state(me)
    assert answer.description == "no broker is alive: NoReplicaOnline"
    me = run(controller, answer.controller)
    assert (me.failover_done, me.context.partition_state_version, zookeeper.get(None, STATE)[1].version) == (
        True,
        0,
        0,
    )
    zookeeper.create(0, f"{BROKER_IDS}/0", ephemeral=True)
    assert settle(controller, me).context.partition_state_version == 1


def test_in_1_0_a_controller_by_a_stale_event_has_no_channels(zookeeper: ZooKeeper) -> None:
    """Its handling of a new broker ends there, but it knows the broker."""
    zookeeper.create(1, OTHER, ephemeral=True)
    me = at(*BROKER_CHANGE, active=True)
    for release, doing in (("1.0", IDLE), ("2.0", LEADER_AND_ISR)):
        answer = whole(zookeeper, release=release).read_brokers(me)
        assert (answer.controller.context.live_brokers, answer.controller.agenda) == (frozenset({"1"}), doing)
    assert zookeeper.state.child_watches[BROKER_IDS] == set()


@until_1_0
def test_a_broker_that_has_yet_to_register_registers_for_no_new_session(zookeeper: ZooKeeper, release: str) -> None:
    """KafkaHealthcheck listens for sessions only from its registration on."""
    controller = whole(zookeeper, release=release)
    me = controller.start()
    after = controller.renew(me._replace(session=0), 5)
    assert [each for each in after.queue + after.posted if each in (HEALTHCHECK, SESSION_EXPIRE)] == [HEALTHCHECK]


@pytest.mark.parametrize("release", ["1.0", "2.0"])
def test_from_0_11_to_2_0_it_resigns_at_once(zookeeper: ZooKeeper, release: str) -> None:
    """And deletes /controller, whichever broker it names."""
    controller = whole(zookeeper, release=release)
    me = in_failover(zookeeper, release=release)
    answer = controller.fail(me)
    assert answer.controller == at(ControllerStep.DeleteController, epoch_zk_version=1, **notified(release, CREATED))
    assert answer.description == "it resigns and moves the controller"
    assert not answer.controller.has_context
    zookeeper.delete(None, CONTROLLER)
    zookeeper.create(None, CONTROLLER, 1)
    assert controller.delete_controller(answer.controller).description == "deleted"
    assert owner(zookeeper) is None


@in_0_10
def test_in_0_10_it_only_deletes_the_node(zookeeper: ZooKeeper, release: str) -> None:
    """It no longer takes itself for the controller, and keeps all its knowledge."""
    controller = whole(zookeeper, release=release)
    me = until(ControllerStep.ReadPartitionState, controller, in_failover(zookeeper, release=release))
    answer = controller.fail(me)
    assert answer.controller == me.with_steps(ControllerStep.DeleteController)._replace(active=False)
    assert answer.description == "it moves the controller"
    zookeeper.delete(None, CONTROLLER)
    zookeeper.create(None, CONTROLLER, 1)
    done = controller.delete_controller(answer.controller)
    assert (done.controller.has_context, controller.is_active(done.controller), done.description) == (
        True,
        True,
        "deleted",
    )
    assert owner(zookeeper) is None


@pytest.mark.parametrize(("release", "written"), [(release, release in LOCK) for release in UNTIL_1_0])
def test_in_0_10_a_failed_failover_keeps_acting_after_another_election(
    zookeeper: ZooKeeper, release: str, written: bool
) -> None:
    """A worse form of B24: the callback sees no leader to resign. Its successor has not written yet."""
    controller = whole(zookeeper, release=release)
    me = until(ControllerStep.ReadPartitionState, controller, in_failover(zookeeper, release=release))
    me = controller.delete_controller(controller.fail(me).controller).controller
    in_failover(zookeeper, 1, release)
    me = settle(controller, me)
    assert (me.active, me.acts_as_controller) == (False, written)
    zookeeper.create(1, OTHER, ephemeral=True)
    me = settle(controller, controller.deliver(me))
    assert (me.active, me.acts_as_controller, owner(zookeeper)) == (False, written, 1)
    assert zookeeper.get(None, STATE)[0].controller_epoch == (1 if written else 0)
    assert zookeeper.get(None, CONTROLLER_EPOCH)[0] == 2


@in_0_10
@pytest.mark.parametrize("fails", [ControllerStep.ReadBrokers, ControllerStep.ReadStates])
def test_in_0_10_a_failover_failed_before_channels_stops_acting(
    zookeeper: ZooKeeper, release: str, fails: ControllerStep
) -> None:
    """It listens, but in no case acts: each listener needs the channels, or a later step of the failover."""
    controller = whole(zookeeper, release=release)
    me = until(fails, controller, at(ControllerStep.WatchController, ControllerStep.Elect))
    assert (me.handlers_registered, me.acts_as_controller) == (True, True)
    me = controller.fail(me).controller
    assert (me.handlers_registered, me.epoch, me.acts_as_controller) == (True, 1, False)
    me = controller.delete_controller(me).controller
    in_failover(zookeeper, 1, release)
    zookeeper.create(1, OTHER, ephemeral=True)
    me = controller.deliver(me)
    assert BROKERS_CHANGE in me.queue
    me = settle(controller, me)
    assert (me.active, me.acts_as_controller, owner(zookeeper)) == (False, False, 1)
    assert zookeeper.get(None, STATE)[0].controller_epoch == 0


def test_a_listener_without_a_check_moves_the_next_controller(zookeeper: ZooKeeper) -> None:
    """B27, 0.10.1: it no longer has channels, fails, and deletes its successor's node. [KAFKA-4447]"""
    controller, me = whole(zookeeper, release="0.10.1"), settled(zookeeper, release="0.10.1")
    zookeeper.delete(None, CONTROLLER)
    in_office(zookeeper, 1, "0.10.1")
    me = controller.isr_changes(controller.deliver(me))
    me = run(controller, controller.handle(me).controller)
    assert (me, owner(zookeeper)) == (at(queue=(ISR, *me.queue[1:])), 1)
    answer = controller.read_states(controller.handle(me).controller)
    assert answer.controller == me.with_steps(ControllerStep.DeleteController)._replace(queue=me.queue[1:])
    assert (answer.description, answer.sends_requests) == ("there are no channels: it moves the controller", False)
    assert controller.delete_controller(answer.controller).description == "deleted"
    assert owner(zookeeper) is None


def test_a_current_controller_resigns_and_deletes_its_node(zookeeper: ZooKeeper) -> None:
    """At the version of the epoch that it knew, which outlives the resignation by one request."""
    controller = whole(zookeeper)
    me = controller.fail(in_failover(zookeeper)).controller
    answer = controller.move_controller(me)
    assert answer.controller == at(ControllerStep.DeleteController, epoch_zk_version=1, queue=me.queue)
    assert answer.description == "it is this broker: it resigns"
    answer = controller.delete_controller(answer.controller)
    assert (answer.controller, answer.description) == (at(queue=(*me.queue, REELECT)), "deleted")
    assert zookeeper.exists(None, CONTROLLER) is None


def test_the_deletion_of_anothers_node_is_fenced(zookeeper: ZooKeeper) -> None:
    """Another broker was elected after the read: the version has changed."""
    controller = whole(zookeeper)
    me = controller.move_controller(controller.fail(in_failover(zookeeper)).controller).controller
    zookeeper.delete(None, CONTROLLER)
    in_failover(zookeeper, 1)
    answer = controller.delete_controller(me)
    assert answer.description == "BADVERSION of the epoch: ControllerMoved, it stays"
    assert answer.controller.context.epoch_zk_version == 0
    assert zookeeper.get(None, CONTROLLER)[0] == 1


def test_a_node_that_is_gone_cannot_be_deleted(zookeeper: ZooKeeper) -> None:
    """NONODE: it is done."""
    controller = whole(zookeeper)
    me = controller.move_controller(controller.fail(in_failover(zookeeper)).controller).controller
    zookeeper.delete(None, CONTROLLER)
    answer = controller.delete_controller(me)
    assert (answer.controller, answer.description) == (at(queue=(*me.queue, REELECT)), "NONODE: it is gone already")


@pytest.mark.parametrize("resigns", [False, True])
@pytest.mark.parametrize(("by", "said"), [(None, "there is none"), (1, "it is broker 1")])
def test_a_former_controller_deletes_nothing(zookeeper: ZooKeeper, resigns: bool, by: int | None, said: str) -> None:
    """B24: its context stays, unless it resigns then."""
    controller = whole(zookeeper, resign_on_move=resigns)
    me = until(ControllerStep.ReadPartitionState, controller, in_failover(zookeeper))
    zookeeper.delete(None, CONTROLLER)
    if by is not None:
        in_failover(zookeeper, by)
    answer = controller.move_controller(controller.fail(me).controller)
    kept = {} if resigns else {"handlers_registered": True, "partition_state_version": 0}
    assert answer.controller == at(queue=me.queue, **kept)
    assert answer.description == f"{said}: it leaves it at that"
    assert answer.controller.has_context is not resigns


@pytest.mark.parametrize("resigns", [False, True])
@pytest.mark.parametrize("by", [None, 1])
@since_0_11
def test_elect_only_clears_the_belief_to_be_controller(
    zookeeper: ZooKeeper, release: str, resigns: bool, by: int | None
) -> None:
    """The other form of B24: the node vanished between maybeResign and elect."""
    controller = whole(zookeeper, release=release, resign_on_move=resigns)
    me = in_office(zookeeper, release=release).with_steps(ControllerStep.Elect)
    zookeeper.delete(None, CONTROLLER)
    if by is not None:
        in_failover(zookeeper, by, release)
    after = controller.elect(me).controller
    assert (after.active, after.epoch, after.context.epoch_zk_version, after.has_context) == (
        False,
        0,
        0,
        not resigns,
    )
    row = (*ELECTION[controller.design.epoch_update], *FAILOVER[release])
    assert after.agenda == (IDLE if by is not None else row)


# Ghosts.


@pytest.mark.parametrize("checked", [False, True])
def test_only_its_session_distinguishes_a_ghost_from_a_controller(zookeeper: ZooKeeper, checked: bool) -> None:
    """B22: /controller names the broker, but one of its older sessions owns the node."""
    zookeeper.create(1, CONTROLLER, 0, ephemeral=True)
    controller = whole(zookeeper, ghost_check=checked, resign_on_move=True)
    for step in (controller.maybe_resign, controller.elect):
        assert step(at(ControllerStep.MaybeResign)).controller == at(active=not checked)
    moved = controller.move_controller(at(ControllerStep.MoveController)).controller
    assert moved == (at() if checked else at(ControllerStep.DeleteController))


def test_a_ghost_is_reported(zookeeper: ZooKeeper) -> None:
    """By each step that reads it; broker -1 is reported as no broker."""
    zookeeper.create(1, CONTROLLER, 0, ephemeral=True)
    controller = whole(zookeeper, ghost_check=True)
    ghost = "an older session of this broker left it"
    assert controller.elect(at(ControllerStep.Elect)).description == ghost
    assert controller.maybe_resign(at(ControllerStep.MaybeResign)).description == ghost
    assert controller.maybe_resign(at(ControllerStep.MaybeResign, active=True)).description == f"{ghost}: it resigns"
    assert (
        controller.move_controller(at(ControllerStep.MoveController)).description == f"{ghost}: it leaves it at that"
    )


@pytest.mark.parametrize("checked", [False, True])
def test_a_controller_with_its_own_node_is_no_ghost(zookeeper: ZooKeeper, checked: bool) -> None:
    """Checked or not."""
    zookeeper.create(0, CONTROLLER, 0, ephemeral=True)
    assert whole(zookeeper, ghost_check=checked).elect(at(ControllerStep.Elect)).controller == at(active=True)


@pytest.mark.parametrize("checked", [False, True])
def test_restarting_in_a_live_session_makes_a_ghost(zookeeper: ZooKeeper, checked: bool) -> None:
    """B22: its node is there, with its current session; a check of the session does not help. [KAFKA-13461]"""
    zookeeper.create(0, OWN, ephemeral=True)
    controller, me = whole(zookeeper, ghost_check=checked), settled(zookeeper)
    assert me.failover_done
    me = settle(controller, controller.begin_anew(me))
    assert me == at(active=True)
    assert not me.acts_as_controller


@since_1_1
def test_restarting_after_the_session_is_elected(zookeeper: ZooKeeper, release: str) -> None:
    """Its node has gone with the session."""
    zookeeper.create(0, OWN, ephemeral=True)
    controller, me = whole(zookeeper, release=release), settled(zookeeper, release=release)
    zookeeper.expire(0)
    me = settle(controller, controller.connect(controller.expire(me), 5))
    assert (me.active, me.failover_done, me.epoch, me.context.live_brokers) == (True, True, 2, frozenset({"0"}))


# Whole lives.


class Cluster:
    """Two brokers, with any event at any time."""

    def __init__(self, design: Design, chance: Random) -> None:
        self.design, self.chance, self.zookeeper = design, chance, set_up()
        self.brokers = {0: ControllerProcess(), 1: ControllerProcess()}
        self.opened = 0

    def session(self) -> int:
        self.opened += 1
        return self.opened

    def step(self) -> None:
        """A broker takes a step, or sometimes an event happens to it."""
        broker = self.chance.choice([0, 1])
        happens = self.happens(broker) if self.chance.random() < 0.06 else self.does(broker)
        moves = list(happens)
        if moves:
            self.brokers[broker] = self.chance.choice(moves)()

    def does(self, broker: int) -> Iterator[Callable[[], ControllerProcess]]:
        me, its = self.brokers[broker], OnePartitionController(self.design, self.zookeeper, broker)
        lives, barrier = me.session in self.zookeeper.state.sessions, self.design.threads is Threads.barrier
        if me.about_to(ControllerStep.Start):
            yield its.start
        elif me.about_to(ControllerStep.Connect):
            yield lambda: its.connect(me, self.session())
        elif me.agenda:
            yield lambda: next_of(its, me).controller
        elif me.queue:
            yield lambda: its.handle(me).controller
        elif barrier and not lives:
            yield lambda: its.expire(me)
        if me.session is None:
            return
        yield lambda: its.deliver(me)
        if not barrier and not lives:
            yield lambda: its.renew(me, self.session())
        if me.listener_agenda:
            yield lambda: beside(its, me)
        elif me.posted and lives:
            yield lambda: its.listen(me).controller

    def happens(self, broker: int) -> Iterator[Callable[[], ControllerProcess]]:
        me, its = self.brokers[broker], OnePartitionController(self.design, self.zookeeper, broker)
        if me.session is None:
            return
        yield lambda: its.stop(me)
        if me.handlers_registered and ISR not in me.queue:
            yield lambda: its.isr_changes(me)
        if me.active and me.in_elect:
            yield lambda: its.fail(me).controller
        ended = [session for session in self.zookeeper.state.sessions if session != self.brokers[1 - broker].session]
        if ended:
            yield lambda: self.end(self.chance.choice(ended), me)
        if me.session not in self.zookeeper.state.sessions:
            return
        for each, swap in ((me, False), (me.as_zk_event_thread(), True)):
            if self.design.looks_again and each.agenda and each.agenda[0] in {do for do, _ in WRITES}:
                yield lambda each=each, swap=swap: self.lose(its, each, swap)  # type: ignore[misc]
        if self.design.threads is Threads.barrier and me.agenda == IDLE:
            yield lambda: its.begin_anew(me)
        if owner(self.zookeeper) is not None:
            yield lambda: self.removed(me)

    def end(self, session: int, me: ControllerProcess) -> ControllerProcess:
        """The servers end a session; its ephemeral nodes may outlive it."""
        if self.design.ephemeral_owner_check and self.chance.random() < 0.1:
            self.zookeeper.disconnect(session)
            del self.zookeeper.state.sessions[session]
        else:
            self.zookeeper.expire(session, seen=self.chance.choice([0, 1]))
        return me

    def lose(self, its: OnePartitionController, me: ControllerProcess, swap: bool) -> ControllerProcess:
        its.lose_reply(me)
        return me.as_zk_event_thread() if swap else me

    def removed(self, me: ControllerProcess) -> ControllerProcess:
        """An operator deletes /controller."""
        self.zookeeper.delete(None, CONTROLLER)
        return me


def lives() -> Iterator[Any]:
    """Each generation with its whole failover, and each switch that changes a step; and bare elections."""
    for release, design in RELEASE.items():
        switches: list[dict[str, Any]] = [{}, {"elect_if_none": True}]
        if design.threads is Threads.barrier:
            switches += [{"ephemeral_owner_check": True}, {"resign_on_move": True, "ghost_check": True}]
        for switch in switches:
            followed = design.but(failover=FAILOVER[release], looks_again=True, **switch)
            yield pytest.param(followed, id="-".join((release, *switch)))
    for election in Election:
        row = LEADER_AND_ISR if election is Election.multi else Agenda((*INCREMENT, *LEADER_AND_ISR))
        yield pytest.param(without_fixes_of_2_2(election, failover=row, state=STATE), id=election.name)


@pytest.mark.parametrize("design", list(lives()))
def test_every_reachable_continuation_is_an_agenda(design: Design) -> None:
    """Of one of the two threads, and each of them occurs; there is also a row for each event."""
    known, known_beside = set(agendas(design)), set(listener_agendas(design))
    handled = set(HANDLING[design.threads]) | {ControllerEvent.ControllerChange}
    met: set[Agenda] = set()
    met_beside: set[Agenda] = set()
    chance = Random(7)
    for _ in range(60):
        cluster = Cluster(design, chance)
        for _ in range(150):
            cluster.step()
            for me in cluster.brokers.values():
                met.add(me.agenda)
                met_beside.add(me.listener_agenda)
                assert {queued.event for queued in me.queue} <= handled
                assert design.threads is Threads.queue or not me.posted
    assert (met - known, met_beside - known_beside) == (set(), set())
    if design.looks_again:  # a bare election does not reach all of its agendas
        assert known - met <= never(design)
    assert known_beside - met_beside <= never(design)


# Broker epochs.


def test_the_epoch_of_a_broker_is_the_zxid_of_its_registration(zookeeper: ZooKeeper) -> None:
    """KAFKA-7235: a later registration has a greater one, whether it comes from the reply or from a read."""
    controller = whole(zookeeper, broker_epoch=True)
    me = controller.register_broker(at(*STARTUP[Threads.barrier][1:])).controller
    stat = zookeeper.exists(None, f"{BROKER_IDS}/0")
    assert stat is not None
    assert me.broker_epoch == stat.czxid == zookeeper.state.zxid
    assert (
        controller.check_registration(at(ControllerStep.CheckRegistration)).controller.broker_epoch == me.broker_epoch
    )
    zookeeper.delete(None, f"{BROKER_IDS}/0")
    again = controller.register_broker(at(ControllerStep.RegisterBroker)).controller
    assert again.broker_epoch > me.broker_epoch


def test_without_epochs_a_broker_has_none(zookeeper: ZooKeeper) -> None:
    """Until 2.1."""
    assert whole(zookeeper).register_broker(at(ControllerStep.RegisterBroker)).controller.broker_epoch == 0


@pytest.mark.parametrize("epochs", [True, False])
def test_only_its_epoch_reveals_a_restarted_broker(zookeeper: ZooKeeper, epochs: bool) -> None:
    """The controller reads the same names, but since 2.2 another broker."""
    controller = whole(zookeeper, broker_epoch=epochs)
    zookeeper.create(1, f"{BROKER_IDS}/1", ephemeral=True)
    before = controller.read_brokers(at(*BROKER_CHANGE, active=True)).controller
    zookeeper.delete(None, f"{BROKER_IDS}/1")
    zookeeper.create(1, f"{BROKER_IDS}/1", ephemeral=True)
    answer = controller.read_brokers(before.with_steps(*BROKER_CHANGE))
    first = "one is another one by now, and goes first"
    assert (answer.description, answer.sends_requests) == (first if epochs else "the same ones", False)
    if epochs:
        (old,), (new,) = before.context.live_brokers, answer.controller.brokers_read
        assert (old.name, new.name) == ("1", "1")
        assert old.epoch < new.epoch == zookeeper.state.zxid
        assert answer.controller.context.live_brokers == frozenset()


def with_turns(zookeeper: ZooKeeper) -> tuple[OnePartitionController, ControllerProcess]:
    """A controller of 2.2 that knows brokers 0, 1 and 2, after 1 has restarted, 2 has stopped and 3 has started."""
    for broker in range(3):
        zookeeper.create(1, f"{BROKER_IDS}/{broker}", ephemeral=True)
    me = in_office(zookeeper, broker_epoch=True)
    for broker in (1, 2):
        zookeeper.delete(None, f"{BROKER_IDS}/{broker}")
    for broker in (1, 3):
        zookeeper.create(1, f"{BROKER_IDS}/{broker}", ephemeral=True)
    return whole(zookeeper, broker_epoch=True), me


def test_restarted_brokers_fail_and_return_before_an_election_ends(zookeeper: ZooKeeper) -> None:
    """New brokers count first. Then the electing write leaves nothing for the other turns to elect."""
    controller, me = with_turns(zookeeper)
    read = controller.read_brokers(me.with_steps(*BROKER_CHANGE))
    assert (names(read.controller.context.live_brokers), names(read.controller.brokers_read)) == ("0123", "013")
    assert read.sends_requests
    assert me.context.live_brokers < read.controller.context.live_brokers
    after = run(controller, read.controller)
    assert (after.context.live_brokers, after.brokers_read) == (read.controller.brokers_read, frozenset())


def test_each_turn_of_brokers_tries_an_election_until_there_is_a_leader(zookeeper: ZooKeeper) -> None:
    """With the new ones, then without the restarted ones, then with them, and at last without the stopped ones."""
    controller, me = with_turns(zookeeper)
    zookeeper.set(None, STATE, PartitionStateEpoch(me.epoch + 1))
    me = controller.read_brokers(me.with_steps(*BROKER_CHANGE)).controller
    turns = []
    while me.agenda != IDLE:
        answer = controller.read_partition_state(me)
        turns.append((names(me.context.live_brokers), answer.sends_requests))
        me = answer.controller
    assert turns == [("0123", False), ("023", True), ("0123", False), ("013", False)]
    assert (names(me.context.live_brokers), me.brokers_read) == ("013", frozenset())


def test_a_controller_that_moves_between_two_turns_skips_the_others(zookeeper: ZooKeeper) -> None:
    """If it is still controller, the restarted brokers are not alive for it until the next failover."""
    controller, me = with_turns(zookeeper)
    zookeeper.delete(None, f"{BROKER_IDS}/3")
    me = until(ControllerStep.UpdateLeaderAndIsr, controller, me.with_steps(*BROKER_CHANGE))
    epoch, stat = zookeeper.get(None, CONTROLLER_EPOCH)
    zookeeper.set(None, CONTROLLER_EPOCH, epoch, stat.version)
    after = run(controller, controller.update_leader_and_isr(me).controller)
    assert (after.active, names(after.context.live_brokers), after.brokers_read) == (True, "02", frozenset())


def names(live: frozenset[Any]) -> str:
    """The brokers, one letter each."""
    return "".join(sorted(each.name for each in live))


# Beside a client that is not a broker.


def test_since_2_1_a_read_creates_a_missing_epoch(zookeeper: ZooKeeper) -> None:
    """As 0; it is then incremented."""
    zookeeper.delete(None, CONTROLLER_EPOCH)
    answer = whole(zookeeper).read_epoch(at(*ELECTION[Election.multi], *FAILOVER["2.1"]))
    assert answer.controller.agenda[0] is ControllerStep.RegisterController
    assert (answer.controller.epoch, answer.controller.context.epoch_zk_version) == (0, 0)
    assert zookeeper.get(None, CONTROLLER_EPOCH)[0] == 0


@until_2_0
def test_until_2_0_a_missing_epoch_is_created_as_1(zookeeper: ZooKeeper, release: str) -> None:
    """By the increment, as if for a first controller, but the node does not have the version that it assumes."""
    zookeeper.delete(None, CONTROLLER_EPOCH)
    controller = whole(zookeeper, release=release)
    answer = controller.read_epoch(at(*INCREMENT, *FAILOVER[release], active=True))
    assert answer.controller.about_to(ControllerStep.IncrementEpoch)
    answer = controller.increment_epoch(answer.controller)
    assert answer.failover == Failover(0, 1)
    epoch, stat = zookeeper.get(None, CONTROLLER_EPOCH)
    assert (epoch, stat.version) == (1, 0)
    assert (answer.controller.epoch, answer.controller.context.epoch_zk_version) == (1, 1)


@pytest.mark.parametrize(
    "do", [ControllerStep.RegisterController, ControllerStep.CheckEpoch, ControllerStep.DeletePreferredElection]
)
def test_a_missing_epoch_fails_the_steps_that_elect_catches(zookeeper: ZooKeeper, do: ControllerStep) -> None:
    """It does not mean another controller."""
    zookeeper.delete(None, CONTROLLER_EPOCH)
    answer = next_of(whole(zookeeper), at(do, ControllerStep.Started, active=True, epoch=1, epoch_zk_version=1))
    assert answer.controller == at(ControllerStep.MoveController, active=True, epoch=1, epoch_zk_version=1)
    assert answer.failover is None


def test_a_missing_epoch_leaves_a_partition_without_leader(zookeeper: ZooKeeper) -> None:
    """The error is logged, and the failover continues; nothing is written."""
    zookeeper.delete(None, CONTROLLER_EPOCH)
    rest = (ControllerStep.DeletePreferredElection, ControllerStep.Started)
    answer = whole(zookeeper).update_leader_and_isr(
        at(ControllerStep.UpdateLeaderAndIsr, *rest, active=True, epoch=1)
    )
    assert answer.controller == at(*rest, active=True, epoch=1)
    assert not answer.sends_requests
    assert zookeeper.get(None, STATE)[1].version == 0


def test_a_missing_epoch_keeps_the_node_of_a_moved_controller(zookeeper: ZooKeeper) -> None:
    """The deletion is fenced: there is no active controller, and /controller stays."""
    zookeeper.create(0, CONTROLLER, 0, ephemeral=True)
    zookeeper.delete(None, CONTROLLER_EPOCH)
    answer = whole(zookeeper).delete_controller(at(ControllerStep.DeleteController))
    assert (answer.controller, owner(zookeeper)) == (at(), 0)


@pytest.mark.parametrize("do", [ControllerStep.ReadEpoch, ControllerStep.CheckEpoch])
def test_an_epoch_that_is_no_number_fails_the_election(zookeeper: ZooKeeper, do: ControllerStep) -> None:
    """In every step that reads it."""
    zookeeper.set(None, CONTROLLER_EPOCH, None)
    answer = next_of(whole(zookeeper), at(do, ControllerStep.RegisterController, ControllerStep.Started))
    assert answer.controller == at(ControllerStep.MoveController)


def test_the_version_of_its_own_epoch_comes_from_the_read(zookeeper: ZooKeeper) -> None:
    """Another client may have created the node anew, with the same number."""
    zookeeper.create(0, CONTROLLER, 0, ephemeral=True)
    zookeeper.delete(None, CONTROLLER_EPOCH)
    zookeeper.create(None, CONTROLLER_EPOCH, 5)
    me = at(ControllerStep.CheckEpoch, *FAILOVER["2.1"], epoch=4, epoch_zk_version=4)
    answer = whole(zookeeper).check_epoch(me)
    assert (answer.controller.epoch, answer.controller.context.epoch_zk_version) == (5, 0)


@since_1_1
def test_since_1_1_a_controller_that_names_no_broker_is_none(zookeeper: ZooKeeper, release: str) -> None:
    """A broker that reads it stands for election, and is refused, since the node exists."""
    zookeeper.create(None, CONTROLLER)
    controller = whole(zookeeper, release=release)
    me = controller.elect(at(ControllerStep.Elect)).controller
    assert me.agenda[: len(ELECTION[controller.design.epoch_update])] == ELECTION[controller.design.epoch_update]
    while me.agenda:
        me = next_of(controller, me).controller
    assert not me.active
    assert owner(zookeeper) is None


@until_1_0
@pytest.mark.parametrize("do", [ControllerStep.Elect, ControllerStep.MaybeResign])
def test_until_1_0_a_controller_that_names_no_broker_ends_its_reader(
    zookeeper: ZooKeeper, release: str, do: ControllerStep
) -> None:
    """By an exception; nothing else changes."""
    zookeeper.create(None, CONTROLLER)
    answer = next_of(whole(zookeeper, release=release), at(do, ControllerStep.Elect, active=True))
    assert answer.controller == at(active=True)


def test_until_1_0_a_listener_puts_nothing_if_no_broker_is_named(zookeeper: ZooKeeper) -> None:
    """Its thread has an exception."""
    zookeeper.create(None, CONTROLLER)
    answer = whole(zookeeper, release="1.0").listen(at(**notified("1.0", CREATED)))
    assert answer.controller == at()
