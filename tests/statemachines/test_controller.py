"""The steps of a broker in an election, one by one, against a ZooKeeper in memory."""

from __future__ import annotations

from typing import Any

import pytest

from statemachines.controller import (
    BROKER_CHANGE,
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
    STOPPED,
    Agenda,
    Answer,
    Controller,
    Design,
    Do,
    Election,
    KafkaController,
    PartitionState,
    agendas,
)
from statemachines.failover import failover, requests
from statemachines.zookeeper import Event, EventType, ZooKeeper

STATE = "/brokers/topics/t/partitions/0/state"


@pytest.fixture
def zookeeper() -> ZooKeeper:
    """A cluster that is set up, with two brokers' sessions 0 and 1."""
    zookeeper = ZooKeeper()
    path = ""
    for name in ("brokers", "topics", "t", "partitions", "0"):
        path = f"{path}/{name}"
        zookeeper.create(None, path)
    zookeeper.create(None, BROKER_IDS)
    zookeeper.create(None, STATE, PartitionState())
    zookeeper.create(None, CONTROLLER_EPOCH, 0)
    for session in (0, 1):
        zookeeper.connect(session)
    return zookeeper


def at(*doing: Do, session: int = 0, **known: Any) -> Controller:
    """A broker about to do this."""
    return Controller(Agenda(doing), session)._replace(**known)


def life(zookeeper: ZooKeeper, broker: int = 0, **design: Any) -> KafkaController:
    """The controller of a broker."""
    if design.get("election", Election.multi) is not Election.multi:
        design.setdefault("failover", Agenda((*INCREMENT, *LEADER_AND_ISR)))
    return KafkaController(Design(state=STATE, **design), zookeeper, broker)


def next_of(controller: KafkaController, me: Controller) -> Answer:
    """It makes its next request."""
    steps = {
        Do.RegisterBroker: controller.register_broker,
        Do.CheckRegistration: controller.check_registration,
        Do.DeleteRegistration: controller.delete_registration,
        Do.WatchController: controller.watch_controller,
        Do.MaybeResign: controller.maybe_resign,
        Do.Elect: controller.elect,
        Do.CreateController: controller.create_controller,
        Do.ReadEpoch: controller.read_epoch,
        Do.IncrementEpoch: controller.increment_epoch,
        Do.RegisterController: controller.register_controller,
        Do.CheckController: controller.check_controller,
        Do.CheckEpoch: controller.check_epoch,
        Do.ReadBrokers: controller.read_brokers,
        Do.ReadStates: controller.read_states,
        Do.ReadPartitionState: controller.read_partition_state,
        Do.UpdateLeaderAndIsr: controller.update_leader_and_isr,
        Do.MoveController: controller.move_controller,
        Do.DeleteController: controller.delete_controller,
    }
    return steps[me.doing[0]](me)


def until(do: Do, controller: KafkaController, me: Controller) -> Controller:
    """It makes its requests, until this is the next."""
    while me.doing and not me.about_to(do):
        me = next_of(controller, me).controller
    return me


def elected(zookeeper: ZooKeeper, broker: int, **design: Any) -> Controller:
    """A broker that was elected and is about to do its work."""
    me = Controller(Agenda(STARTUP[2:]), broker)
    return until(Do.ReadPartitionState, life(zookeeper, broker, **design), me)


@pytest.mark.parametrize("election", list(Election))
def test_the_first_controller_has_epoch_1_at_version_1(zookeeper: ZooKeeper, election: Election) -> None:
    """Whatever the design, an election that nobody disturbs ends the same."""
    me = elected(zookeeper, 0, election=election)
    assert me == at(*LEADER_AND_ISR, active=True, epoch=1, epoch_zk_version=1, queue=(EventType.NodeCreated,))
    assert zookeeper.get(None, CONTROLLER)[0] == 0
    epoch, stat = zookeeper.get(None, CONTROLLER_EPOCH)
    assert (epoch, stat.version) == (1, 1)
    assert me.acts


def test_a_fresh_process_starts_and_one_that_lost_its_session_elects_again(zookeeper: ZooKeeper) -> None:
    """Startup for the one, maybeResign and elect for the other; both register first."""
    controller = life(zookeeper)
    assert Controller().doing == STOPPED
    fresh = controller.connect(controller.start(), 7)
    assert fresh == at(*STARTUP[1:], session=7)
    assert controller.register_broker(fresh).controller == at(Do.WatchController, Do.Elect, session=7)
    zookeeper.expire(7)
    again = controller.connect(controller.expire(fresh), 8)
    assert again == at(*EXPIRED[1:], session=8)


def test_a_start_fails_while_the_predecessors_registration_is_there(zookeeper: ZooKeeper) -> None:
    """The process stops, and closes the session that it had opened."""
    zookeeper.create(1, f"{BROKER_IDS}/0", ephemeral=True)
    answer = life(zookeeper).register_broker(at(Do.RegisterBroker))
    assert answer.controller == Controller()
    assert 0 not in zookeeper.state.sessions


@pytest.mark.parametrize(
    ("event", "doing"), [(EventType.NodeDeleted, (*MAYBE_RESIGN, Do.Elect)), (EventType.NodeCreated, MAYBE_RESIGN)]
)
def test_a_deletion_is_a_reelect_and_all_else_a_controller_change(
    zookeeper: ZooKeeper, event: EventType, doing: tuple[Do, ...]
) -> None:
    """The oldest event is taken off the queue."""
    me = at(queue=(event, EventType.NodeCreated))
    assert life(zookeeper).handle(me).controller == at(*doing, queue=(EventType.NodeCreated,))


def test_an_election_stops_where_there_is_a_controller(zookeeper: ZooKeeper) -> None:
    """The broker is idle, and watches."""
    elected(zookeeper, 1)
    assert elected(zookeeper, 0) == at(*IDLE)
    assert 0 in zookeeper.state.data_watches[CONTROLLER]


def test_who_stands_for_election_again_is_not_controller_meanwhile(zookeeper: ZooKeeper) -> None:
    """The node was deleted after it had been read to be its own; what it read before is -1 by now."""
    before = at(Do.Elect, active=True, epoch=1, epoch_zk_version=1)
    assert life(zookeeper).elect(before).controller == at(*ELECTION[Election.multi], *LEADER_AND_ISR)


def test_who_finds_another_named_resigns(zookeeper: ZooKeeper) -> None:
    """And keeps the events that have not been handled."""
    elected(zookeeper, 1)
    before = at(Do.MaybeResign, active=True, epoch=1, epoch_zk_version=1, queue=(EventType.NodeDeleted,))
    assert life(zookeeper).maybe_resign(before).controller == at(queue=(EventType.NodeDeleted,))


def test_who_finds_itself_named_stays(zookeeper: ZooKeeper) -> None:
    """The notification is its own echo."""
    me = elected(zookeeper, 0).to(Do.MaybeResign)
    assert life(zookeeper).maybe_resign(me).controller == me.to()


def test_a_lost_multi_is_controller_moved(zookeeper: ZooKeeper) -> None:
    """Neither node nor epoch is touched."""
    late = until(Do.RegisterController, life(zookeeper, 1), at(Do.Elect, session=1))
    elected(zookeeper, 0)
    zookeeper.delete(None, CONTROLLER)
    answer = life(zookeeper, 1).register_controller(late)
    assert (answer.controller, answer.failover) == (at(*MAYBE_RESIGN, session=1), False)
    assert answer.said == "BADVERSION: ControllerMoved"
    assert zookeeper.exists(None, CONTROLLER) is None


def lost_increment(zookeeper: ZooKeeper, election: Election) -> Answer:
    """Broker 1 wins between the read and the compare-and-set of broker 0."""
    controller = life(zookeeper, election=election)
    slow = until(Do.IncrementEpoch, controller, at(*ELECTION[election], *INCREMENT, *LEADER_AND_ISR))
    zookeeper.delete(None, CONTROLLER)
    elected(zookeeper, 1, election=election)
    return controller.increment_epoch(slow)


def test_a_lost_increment_fails_the_failover_since_1_1(zookeeper: ZooKeeper) -> None:
    """It resigns, and is about to delete /controller."""
    answer = lost_increment(zookeeper, Election.cas_checked)
    assert (answer.controller.doing, answer.controller.active) == ((Do.DeleteController,), False)
    assert not answer.failover


def test_a_lost_increment_was_swallowed_before(zookeeper: ZooKeeper) -> None:
    """The failover goes on with the epoch that was read."""
    me, _, failover, _ = lost_increment(zookeeper, Election.cas_swallowed)
    assert (me.doing, me.active, me.epoch) == (LEADER_AND_ISR, True, 0)
    assert failover


@pytest.mark.parametrize(("fenced", "remains"), [(True, True), (False, False)])
def test_only_a_fence_keeps_the_loser_from_deleting_the_winners_node(
    zookeeper: ZooKeeper, fenced: bool, remains: bool
) -> None:
    """B43, in four requests."""
    loser = lost_increment(zookeeper, Election.cas_checked).controller
    done = life(zookeeper, fenced=fenced).delete_controller(loser).controller
    assert (zookeeper.exists(None, CONTROLLER) is not None) is remains
    assert done == at(queue=done.queue)


def test_a_controller_reads_the_state_and_writes_it_under_its_epoch(zookeeper: ZooKeeper) -> None:
    """At the version that it read."""
    controller, me = life(zookeeper), elected(zookeeper, 0)
    while me.doing:
        me = next_of(controller, me).controller
    assert zookeeper.get(None, STATE)[0] == PartitionState(controller_epoch=1)


@pytest.mark.parametrize(("fenced", "written", "doing"), [(True, 0, MAYBE_RESIGN), (False, 1, IDLE)])
def test_only_a_fence_keeps_a_zombie_from_writing(
    zookeeper: ZooKeeper, fenced: bool, written: int, doing: Agenda
) -> None:
    """B4: the epoch has moved, the state has not been written yet."""
    controller = life(zookeeper, fenced=fenced)
    zombie = until(Do.UpdateLeaderAndIsr, controller, elected(zookeeper, 0))
    zookeeper.delete(None, CONTROLLER)
    elected(zookeeper, 1)
    after = controller.update_leader_and_isr(zombie).controller
    assert (zookeeper.get(None, STATE)[0].controller_epoch, after.doing) == (written, doing)


def test_a_state_that_a_newer_controller_wrote_is_let_be(zookeeper: ZooKeeper) -> None:
    """StateChangeFailed, in every release."""
    me = elected(zookeeper, 0)
    zookeeper.set(None, STATE, PartitionState(controller_epoch=2))
    assert life(zookeeper).read_partition_state(me).controller.doing == IDLE


def test_a_state_that_changed_in_between_is_read_again(zookeeper: ZooKeeper) -> None:
    """The version of the state is not that of the epoch: the controller has not moved."""
    controller = life(zookeeper)
    me = until(Do.UpdateLeaderAndIsr, controller, elected(zookeeper, 0))
    zookeeper.set(None, STATE, PartitionState())
    assert controller.update_leader_and_isr(me).controller.doing == LEADER_AND_ISR


def test_a_request_that_finds_the_session_ended_resigns(zookeeper: ZooKeeper) -> None:
    """The broker goes for a new session, and what was queued is forgotten."""
    me = elected(zookeeper, 0)
    zookeeper.expire(0)
    assert life(zookeeper).read_partition_state(me).controller == Controller(EXPIRED)


def test_no_answer_overtakes_an_event(zookeeper: ZooKeeper) -> None:
    """What a watch has to tell is queued when the answer to a later request arrives."""
    controller = life(zookeeper)
    me = controller.watch_controller(at(Do.WatchController, Do.Elect)).controller
    elected(zookeeper, 1)
    assert controller.elect(me).controller == at(queue=(EventType.NodeCreated,))


def test_a_process_that_dies_leaves_its_session_behind(zookeeper: ZooKeeper) -> None:
    """Its connection goes, with its watches; /controller stays until the session ends."""
    assert life(zookeeper).stop(elected(zookeeper, 0)) == Controller()
    assert (zookeeper.exists(None, CONTROLLER) is not None, 0 in zookeeper.state.data_watches[CONTROLLER]) == (
        True,
        False,
    )


def test_what_was_read_is_no_epoch_yet() -> None:
    """An epoch counts once its increment is answered."""
    read = at(Do.IncrementEpoch, *LEADER_AND_ISR, active=True, epoch=1)
    assert (read.acts, read.on().acts) == (False, True)


@pytest.mark.parametrize("election", list(Election))
def test_whatever_comes_is_an_agenda(zookeeper: ZooKeeper, election: Election) -> None:
    """What is left of a row after each of its requests, what else an answer leads to, and nothing twice."""
    known = agendas(life(zookeeper, election=election).design)
    assert len(set(known)) == len(known)
    controller, me = life(zookeeper, election=election), Controller()
    me = controller.connect(controller.start(), 7)
    while me.doing:
        assert me.doing in known
        me = next_of(controller, me).controller
    assert {STOPPED, IDLE, EXPIRED} <= set(known)


FAILOVER = {election: requests(failover("2.1" if election is Election.multi else "1.1")) for election in Election}
"""A failover with all of its requests, and the end of it."""
CREATED, DELETED, CHILDREN = EventType.NodeCreated, EventType.NodeDeleted, EventType.NodeChildrenChanged
OWN = f"{BROKER_IDS}/0"


def whole(
    zookeeper: ZooKeeper, broker: int = 0, election: Election = Election.multi, **design: Any
) -> KafkaController:
    """The controller of a broker that looks again, and whose failover is a whole one."""
    return life(zookeeper, broker, election=election, failover=FAILOVER[election], looks_again=True, **design)


def in_failover(zookeeper: ZooKeeper, broker: int = 0, **design: Any) -> Controller:
    """A broker whose epoch is fixed, and which is about to read who is alive."""
    return until(Do.ReadBrokers, whole(zookeeper, broker, **design), at(*STARTUP[2:], session=broker))


def in_office(zookeeper: ZooKeeper, broker: int = 0, **design: Any) -> Controller:
    """A broker whose failover is done."""
    controller = whole(zookeeper, broker, **design)
    me = in_failover(zookeeper, broker, **design)
    while me.doing:
        me = next_of(controller, me).controller
    return me


# Lost replies: who is refused looks whether it was by what he did himself.


WRITES: list[tuple[Do, dict[str, Any]]] = [
    (Do.RegisterBroker, {}),
    (Do.DeleteRegistration, {}),
    (Do.CreateController, {}),
    (Do.RegisterController, {}),
    (Do.IncrementEpoch, {}),
    (Do.UpdateLeaderAndIsr, {"epoch": 0}),
    (Do.DeleteController, {}),
]


@pytest.mark.parametrize(("do", "known"), WRITES, ids=[do.name for do, _ in WRITES])
def test_a_request_whose_reply_is_lost_has_its_effect(zookeeper: ZooKeeper, do: Do, known: dict[str, Any]) -> None:
    """Once: the same request sent again is refused, and has no effect."""
    if do is Do.DeleteController:
        zookeeper.create(0, CONTROLLER, 0, ephemeral=True)
    if do is Do.DeleteRegistration:
        zookeeper.create(0, OWN, ephemeral=True)
    controller, me = life(zookeeper), at(do, **known)
    before = dict(zookeeper.state.nodes)
    assert controller.lose_reply(me)
    after = dict(zookeeper.state.nodes)
    assert after != before
    assert not controller.lose_reply(me)
    assert zookeeper.state.nodes == after


def test_a_request_that_is_refused_is_as_if_it_had_never_been_sent(zookeeper: ZooKeeper) -> None:
    """Of the multi neither the node nor the epoch: the fence, or whoever was faster, undoes all of it."""
    elected(zookeeper, 1)
    before = dict(zookeeper.state.nodes)
    assert not life(zookeeper).lose_reply(at(Do.RegisterController))
    assert not life(zookeeper).lose_reply(at(Do.UpdateLeaderAndIsr))
    assert not life(zookeeper).lose_reply(at(Do.DeleteController))
    assert zookeeper.state.nodes == before


def test_only_of_a_write_the_reply_is_lost(zookeeper: ZooKeeper) -> None:
    """A read has no effect that could outlive its answer."""
    with pytest.raises(ValueError, match="ReadEpoch writes nothing"):
        life(zookeeper).lose_reply(at(Do.ReadEpoch))


# The broker's own node.


@pytest.mark.parametrize("row", [STARTUP, EXPIRED])
def test_who_is_refused_its_registration_reads_whose_it_is(zookeeper: ZooKeeper, row: Agenda) -> None:
    """It was its own request, whose reply was lost: it is registered, and goes on."""
    me = at(*row[1:])
    controller = whole(zookeeper)
    assert controller.lose_reply(me)
    answer = controller.register_broker(me)
    assert answer == (at(Do.CheckRegistration, *row[2:]), "NODEEXISTS: whose is it?", False, False)
    answer = controller.check_registration(answer.controller)
    assert (answer.controller, answer.said) == (at(*row[2:]), "its own: registered")


def test_a_registration_that_is_gone_by_now_is_tried_again(zookeeper: ZooKeeper) -> None:
    """NONODE, as Kafka means to do it."""
    answer = whole(zookeeper).check_registration(at(Do.CheckRegistration, *STARTUP[2:]))
    assert (answer.controller, answer.said) == (at(*STARTUP[1:]), "NONODE: once more")


def left_by(zookeeper: ZooKeeper, session: int) -> None:
    """A registration of broker 0 whose session has ended, while the node stands. [ZOOKEEPER-2985]"""
    zookeeper.create(session, OWN, ephemeral=True)
    del zookeeper.state.sessions[session]


def test_a_broker_deletes_what_an_older_session_of_its_own_left(zookeeper: ZooKeeper) -> None:
    """And registers in its present one. [KAFKA-7165]"""
    left_by(zookeeper, 1)
    controller = whole(zookeeper, owner_check=True)
    me = at(Do.CheckRegistration, *EXPIRED[2:], registration=1)
    answer = controller.check_registration(me)
    assert answer.said == "an older session of its own left it"
    assert answer.controller == at(Do.DeleteRegistration, *EXPIRED[1:], registration=1)
    answer = controller.delete_registration(answer.controller)
    assert (answer.controller, answer.said) == (at(*EXPIRED[1:], registration=1), "deleted")
    assert controller.register_broker(answer.controller).controller == at(*EXPIRED[2:], registration=0)


def test_what_an_older_session_left_may_be_gone_before_it_is_deleted(zookeeper: ZooKeeper) -> None:
    """NONODE is as good."""
    answer = whole(zookeeper, owner_check=True).delete_registration(at(Do.DeleteRegistration, *EXPIRED[1:]))
    assert (answer.controller, answer.said) == (at(*EXPIRED[1:]), "NONODE: it is gone already")


def test_without_the_check_a_broker_does_not_know_its_older_session(zookeeper: ZooKeeper) -> None:
    """B23: the event is dropped, with the watch and the election that were to follow."""
    left_by(zookeeper, 1)
    controller = whole(zookeeper)
    assert controller.register_broker(at(*EXPIRED[1:])).controller.registration is None
    answer = controller.check_registration(at(Do.CheckRegistration, *EXPIRED[2:], registration=1))
    assert (answer.controller, answer.said) == (at(registration=1), "another session's: the event is dropped")


@pytest.mark.parametrize("owner_check", [False, True])
def test_anothers_registration_fails_a_start(zookeeper: ZooKeeper, owner_check: bool) -> None:
    """The process ends, and closes its session."""
    zookeeper.create(1, OWN, ephemeral=True)
    controller = whole(zookeeper, owner_check=owner_check)
    answer = controller.check_registration(at(Do.CheckRegistration, *STARTUP[2:]))
    assert (answer.controller, answer.said) == (Controller(), "another session's, the start fails")
    assert 0 not in zookeeper.state.sessions


@pytest.mark.parametrize("owner_check", [False, True])
def test_anothers_registration_leaves_a_running_broker_idle(zookeeper: ZooKeeper, owner_check: bool) -> None:
    """It lives on in its session, unregistered."""
    zookeeper.create(1, OWN, ephemeral=True)
    controller = whole(zookeeper, owner_check=owner_check)
    answer = controller.check_registration(at(Do.CheckRegistration, *EXPIRED[2:], registration=2))
    assert answer.controller == at(registration=2)
    assert 0 in zookeeper.state.sessions


# Was it its own request that made it controller?


def test_a_multi_whose_reply_was_lost_is_its_own(zookeeper: ZooKeeper) -> None:
    """/controller names the broker, and the epoch is the one that it meant to set."""
    controller = whole(zookeeper)
    me = until(Do.RegisterController, controller, at(Do.Elect))
    assert controller.lose_reply(me)
    refused = controller.register_controller(me)
    assert refused.controller == me.to(Do.CheckController, Do.CheckEpoch, *FAILOVER[Election.multi])
    assert (refused.said, refused.failover) == ("NODEEXISTS: was it its own?", False)
    named = controller.check_controller(refused.controller)
    assert (named.said, named.controller.active, named.failover) == ("it is this broker", False, False)
    sure = controller.check_epoch(named.controller)
    known = {"active": True, "epoch": 1, "epoch_zk_version": 1, "listens": True}
    assert sure == (at(*FAILOVER[Election.multi], **known), "its own: its failover runs", True, False)


def test_a_multi_that_another_was_faster_with_is_controller_moved(zookeeper: ZooKeeper) -> None:
    """What it read of the epoch is put back."""
    controller = whole(zookeeper)
    me = until(Do.RegisterController, controller, at(Do.Elect))
    in_failover(zookeeper, 1)
    answer = controller.check_controller(controller.register_controller(me).controller)
    assert (answer.controller, answer.said) == (at(*MAYBE_RESIGN), "it is broker 1: ControllerMoved")


def test_a_multi_that_finds_no_controller_any_more_is_controller_moved(zookeeper: ZooKeeper) -> None:
    """Whoever was faster is gone by now: BADVERSION, then NONODE."""
    controller = whole(zookeeper)
    me = until(Do.RegisterController, controller, at(Do.Elect))
    zookeeper.set(None, CONTROLLER_EPOCH, 1)
    refused = controller.register_controller(me)
    assert refused.said == "BADVERSION: was it its own?"
    answer = controller.check_controller(refused.controller)
    assert (answer.controller, answer.said) == (at(*MAYBE_RESIGN), "NONODE: ControllerMoved")


@pytest.mark.parametrize("epoch", [0, 2])
def test_an_epoch_that_is_not_the_next_is_not_its_own(zookeeper: ZooKeeper, epoch: int) -> None:
    """Whatever /controller said a moment ago."""
    zookeeper.set(None, CONTROLLER_EPOCH, epoch)
    me = at(Do.CheckEpoch, *FAILOVER[Election.multi])
    answer = whole(zookeeper).check_epoch(me)
    assert (answer.controller, answer.failover) == (at(*MAYBE_RESIGN), False)
    assert answer.said == f"it is {epoch}, at version 1: ControllerMoved"


OLDER = [Election.cas_checked, Election.cas_swallowed]


@pytest.mark.parametrize("election", OLDER)
def test_a_node_of_its_own_session_was_created_by_its_own_request(zookeeper: ZooKeeper, election: Election) -> None:
    """Until 2.0: it is controller, and its failover begins with the epoch."""
    controller = whole(zookeeper, election=election)
    me = until(Do.CreateController, controller, at(Do.Elect))
    assert controller.lose_reply(me)
    refused = controller.create_controller(me)
    assert (refused.controller, refused.said) == (
        at(Do.CheckController, *FAILOVER[election]),
        "NODEEXISTS: whose is it?",
    )
    answer = controller.check_controller(refused.controller)
    assert answer.controller == at(*FAILOVER[election], active=True, listens=True)
    assert answer.controller.doing[:2] == INCREMENT


@pytest.mark.parametrize("election", OLDER)
def test_a_node_of_another_session_was_not(zookeeper: ZooKeeper, election: Election) -> None:
    """Until 2.0 even one that names this broker; somebody was faster."""
    zookeeper.create(1, CONTROLLER, 0, ephemeral=True)
    answer = whole(zookeeper, election=election).check_controller(at(Do.CheckController, *FAILOVER[election]))
    assert (answer.controller, answer.said) == (at(Do.MaybeResign), "it is broker 0: somebody was faster")


@pytest.mark.parametrize("election", OLDER)
def test_a_node_that_is_gone_is_created_once_more(zookeeper: ZooKeeper, election: Election) -> None:
    """NONODE."""
    answer = whole(zookeeper, election=election).check_controller(at(Do.CheckController, *FAILOVER[election]))
    assert (answer.controller, answer.said) == (at(Do.CreateController, *FAILOVER[election]), "NONODE: once more")


# Being controller: a failover with all of its requests.


@pytest.mark.parametrize("election", list(Election))
def test_a_failover_ends_with_started(zookeeper: ZooKeeper, election: Election) -> None:
    """The broker knows who is alive and what it wrote, has sent as much, and is in nothing that elect catches."""
    zookeeper.create(0, OWN, ephemeral=True)
    me = in_office(zookeeper, election=election)
    known = {"active": True, "epoch": 1, "epoch_zk_version": 1, "listens": True, "started": True}
    assert me == at(**known, live=frozenset({"0"}), cached=1, queue=(CREATED,))
    assert (me.in_elect, me.has_context) == (False, True)


@pytest.mark.parametrize("election", list(Election))
def test_what_elect_catches_goes_from_the_epoch_to_the_end(zookeeper: ZooKeeper, election: Election) -> None:
    """And not from the read of /controller on, nor in what comes from elsewhere."""
    controller = whole(zookeeper, election=election)
    me, rows = at(Do.Elect), []
    while me.doing:
        rows.append((me.doing[0], me.in_elect))
        me = next_of(controller, me).controller
    assert rows == [(Do.Elect, False)] + [(do, True) for do, _ in rows[1:]]
    assert not at(*BROKER_CHANGE).in_elect
    assert not at(*LEADER_AND_ISR).in_elect


def test_a_failover_reads_who_is_alive_and_watches(zookeeper: ZooKeeper) -> None:
    """In the context; and it goes on even if these are those that it knew."""
    zookeeper.create(1, f"{BROKER_IDS}/1", ephemeral=True)
    me = in_failover(zookeeper)
    for live in (frozenset[str](), frozenset({"1"})):
        answer = whole(zookeeper).read_brokers(me._replace(live=live))
        assert answer.controller == me.on()._replace(live=frozenset({"1"}))
        assert not answer.sends
    assert zookeeper.state.child_watches[BROKER_IDS] == {0}


def test_a_broker_change_that_changed_nothing_is_done(zookeeper: ZooKeeper) -> None:
    """The broker watches again, and that is all."""
    me = in_office(zookeeper).to(*BROKER_CHANGE)
    answer = whole(zookeeper).read_brokers(me)
    assert (answer.controller, answer.said) == (me.to(), "the same ones")


def test_a_broker_that_came_leads_to_a_write(zookeeper: ZooKeeper) -> None:
    """At the version that the state has, which the cache then knows."""
    controller, me = whole(zookeeper), in_office(zookeeper)
    zookeeper.create(1, f"{BROKER_IDS}/1", ephemeral=True)
    me = controller.deliver(me)
    assert me.queue == (CREATED, CHILDREN)
    me = controller.handle(me._replace(queue=(CHILDREN,))).controller
    assert me.doing == BROKER_CHANGE
    while me.doing:
        me = next_of(controller, me).controller
    assert (me.live, me.cached, me.started) == (frozenset({"1"}), 2, True)
    assert zookeeper.get(None, STATE)[1].version == 2


def test_a_failover_reads_the_states_and_tells_the_brokers(zookeeper: ZooKeeper) -> None:
    """The version goes into the cache; UpdateMetadata goes out."""
    zookeeper.set(None, STATE, PartitionState())
    me = until(Do.ReadStates, whole(zookeeper), in_failover(zookeeper))
    answer = whole(zookeeper).read_states(me)
    assert answer.controller == me.on()._replace(cached=1)
    assert (answer.sends, answer.failover) == (True, False)


def test_a_partition_whose_leader_is_alive_is_let_be(zookeeper: ZooKeeper) -> None:
    """Nothing is written, and with the last partition the failover is done."""
    me = until(Do.ReadPartitionState, whole(zookeeper), in_failover(zookeeper))
    done = whole(zookeeper).let_be(me)
    assert (done.started, done.cached, zookeeper.get(None, STATE)[1].version) == (True, 0, 0)
    assert done == me.to()._replace(started=True)


def test_a_state_that_a_newer_controller_wrote_ends_a_failover_too(zookeeper: ZooKeeper) -> None:
    """StateChangeFailed is caught for each partition: the failover is done."""
    me = until(Do.ReadPartitionState, whole(zookeeper), in_failover(zookeeper))
    zookeeper.set(None, STATE, PartitionState(controller_epoch=2))
    assert whole(zookeeper).read_partition_state(me).controller == me.to()._replace(started=True)


def test_what_is_written_is_cached_and_sent(zookeeper: ZooKeeper) -> None:
    """Only then: before the answer the cache has what was read."""
    controller = whole(zookeeper)
    me = until(Do.UpdateLeaderAndIsr, controller, in_failover(zookeeper))
    assert (me.cached, me.started) == (0, False)
    answer = controller.update_leader_and_isr(me)
    assert (answer.controller.cached, answer.controller.started, answer.sends) == (1, True, True)


def test_an_election_of_leaders_elsewhere_closes_no_failover(zookeeper: ZooKeeper) -> None:
    """Without `Do.Started` behind it, a write starts nothing and caches nothing."""
    controller = life(zookeeper)
    me = until(Do.UpdateLeaderAndIsr, controller, elected(zookeeper, 0))
    assert not controller.update_leader_and_isr(me).controller.has_context


# triggerControllerMove.


def test_a_failover_that_fails_moves_the_controller(zookeeper: ZooKeeper) -> None:
    """Since 2.1 it reads first whether there is one to be moved."""
    me = until(Do.UpdateLeaderAndIsr, whole(zookeeper), in_failover(zookeeper))._replace(state_version=3)
    answer = whole(zookeeper).fail(me)
    assert answer.controller == me.to(Do.MoveController)._replace(state_version=0)
    assert answer.controller.has_context


@pytest.mark.parametrize("election", OLDER)
def test_until_2_0_it_resigns_at_once(zookeeper: ZooKeeper, election: Election) -> None:
    """And deletes /controller, whoever is named there."""
    me = in_failover(zookeeper, election=election)
    answer = whole(zookeeper, election=election).fail(me)
    assert answer.controller == at(Do.DeleteController, epoch_zk_version=1, queue=me.queue)
    assert not answer.controller.has_context


def test_who_is_still_controller_resigns_and_deletes_its_node(zookeeper: ZooKeeper) -> None:
    """At the version of the epoch that it knew: that outlives the resignation by one request."""
    controller = whole(zookeeper)
    me = controller.fail(in_failover(zookeeper)).controller
    answer = controller.move_controller(me)
    assert answer.controller == at(Do.DeleteController, epoch_zk_version=1, queue=me.queue)
    assert answer.said == "it is this broker: it resigns"
    answer = controller.delete_controller(answer.controller)
    assert (answer.controller, answer.said) == (at(queue=me.queue), "deleted")
    assert zookeeper.exists(None, CONTROLLER) is None


def test_the_deletion_of_anothers_node_is_fenced(zookeeper: ZooKeeper) -> None:
    """Another broker was elected after the read: the version has moved."""
    controller = whole(zookeeper)
    me = controller.move_controller(controller.fail(in_failover(zookeeper)).controller).controller
    zookeeper.delete(None, CONTROLLER)
    in_failover(zookeeper, 1)
    assert controller.delete_controller(me).said == "BADVERSION of the epoch: ControllerMoved, it stays"
    assert zookeeper.get(None, CONTROLLER)[0] == 1


def test_a_node_that_is_gone_cannot_be_deleted(zookeeper: ZooKeeper) -> None:
    """NONODE: nothing is left to do."""
    controller = whole(zookeeper)
    me = controller.move_controller(controller.fail(in_failover(zookeeper)).controller).controller
    zookeeper.delete(None, CONTROLLER)
    answer = controller.delete_controller(me)
    assert (answer.controller, answer.said) == (at(queue=me.queue), "NONODE: it is gone already")


@pytest.mark.parametrize("resigns", [False, True])
@pytest.mark.parametrize(("by", "said"), [(None, "there is none"), (1, "it is broker 1")])
def test_who_is_controller_no_longer_leaves_it_at_that(
    zookeeper: ZooKeeper, resigns: bool, by: int | None, said: str
) -> None:
    """B24: its context stays, unless it resigns on that."""
    controller = whole(zookeeper, resign_on_move=resigns)
    me = until(Do.ReadPartitionState, controller, in_failover(zookeeper))
    zookeeper.delete(None, CONTROLLER)
    if by is not None:
        in_failover(zookeeper, by)
    answer = controller.move_controller(controller.fail(me).controller)
    kept = {} if resigns else {"listens": True, "cached": 0}
    assert answer.controller == at(queue=me.queue, **kept)
    assert answer.said == f"{said}: it leaves it at that"
    assert answer.controller.has_context is not resigns


@pytest.mark.parametrize("resigns", [False, True])
@pytest.mark.parametrize("by", [None, 1])
def test_elect_too_only_notes_that_it_is_controller_no_longer(
    zookeeper: ZooKeeper, resigns: bool, by: int | None
) -> None:
    """The other form of B24: the node vanished between maybeResign and elect."""
    controller = whole(zookeeper, resign_on_move=resigns)
    me = in_office(zookeeper).to(Do.Elect)
    zookeeper.delete(None, CONTROLLER)
    if by is not None:
        in_failover(zookeeper, by)
    after = controller.elect(me).controller
    assert (after.active, after.epoch, after.epoch_zk_version, after.has_context) == (False, 0, 0, not resigns)
    assert after.doing == (IDLE if by is not None else (*ELECTION[Election.multi], *FAILOVER[Election.multi]))


# Ghosts.


@pytest.mark.parametrize("checked", [False, True])
def test_only_its_session_tells_a_ghost_from_a_controller(zookeeper: ZooKeeper, checked: bool) -> None:
    """B22: /controller names the broker, and an older session of its owns it."""
    zookeeper.create(1, CONTROLLER, 0, ephemeral=True)
    controller = whole(zookeeper, ghost_check=checked, resign_on_move=True)
    for step in (controller.maybe_resign, controller.elect):
        assert step(at(Do.MaybeResign)).controller == at(active=not checked)
    moved = controller.move_controller(at(Do.MoveController)).controller
    assert moved == (at() if checked else at(Do.DeleteController))


@pytest.mark.parametrize("checked", [False, True])
def test_its_own_present_node_is_no_ghost(zookeeper: ZooKeeper, checked: bool) -> None:
    """Checked or not."""
    zookeeper.create(0, CONTROLLER, 0, ephemeral=True)
    assert whole(zookeeper, ghost_check=checked).elect(at(Do.Elect)).controller == at(active=True)


# Events.


def test_what_has_no_handler_is_dropped(zookeeper: ZooKeeper) -> None:
    """A controller's handlers are gone with its office; that of /controller is there for good."""
    zookeeper.state.events[0] = (Event(CHILDREN, BROKER_IDS), Event(DELETED, CONTROLLER), Event(CHILDREN, BROKER_IDS))
    inbox = zookeeper.state.events[0]
    controller = whole(zookeeper)
    assert controller.deliver(at(queue=(CREATED,))) == at(queue=(CREATED, DELETED))
    assert zookeeper.state.events[0] == ()
    zookeeper.state.events[0] = inbox
    assert controller.deliver(at(listens=True)).queue == (CHILDREN, DELETED, CHILDREN)
    assert controller.deliver(Controller()) == Controller()


def test_a_broker_change_is_for_the_controller(zookeeper: ZooKeeper) -> None:
    """Handled by whoever is controller no longer, it is nothing."""
    controller = whole(zookeeper)
    answer = controller.handle(at(queue=(CHILDREN, CREATED)))
    assert (answer.controller, answer.said) == (at(queue=(CREATED,)), "BrokerChange: it is not controller")
    answer = controller.handle(at(queue=(CHILDREN, CREATED), active=True))
    assert answer.controller == at(*BROKER_CHANGE, queue=(CREATED,), active=True)


@pytest.mark.parametrize(("event", "said"), [(DELETED, "Reelect"), (CREATED, "ControllerChange")])
def test_what_is_handled_has_a_name(zookeeper: ZooKeeper, event: EventType, said: str) -> None:
    """That of Kafka's event."""
    assert whole(zookeeper).handle(at(queue=(event,))).said == said


# Resignation.


def test_a_resignation_leaves_nothing_but_what_is_the_brokers(zookeeper: ZooKeeper) -> None:
    """Its session, its queue, and the session in which it registered, are not the controller's."""
    me = in_office(zookeeper)._replace(registration=0, state_version=3)
    assert me.has_context
    assert me.resigned() == at(queue=me.queue, registration=0)
    assert not me.resigned().has_context


def test_who_merely_reads_that_it_is_no_controller_keeps_its_context(zookeeper: ZooKeeper) -> None:
    """What it takes itself for, its epoch and what it was about to write are gone, and that is all."""
    me = in_office(zookeeper)._replace(registration=0, state_version=3)
    kept = me.not_controller()
    assert kept.has_context
    assert kept == me._replace(active=False, epoch=0, epoch_zk_version=0, state_version=0)


def test_the_end_of_a_session_is_a_resignation(zookeeper: ZooKeeper) -> None:
    """Only the session in which it registered is remembered, to know what that left."""
    me = in_office(zookeeper)._replace(registration=0)
    zookeeper.expire(0)
    assert whole(zookeeper).read_brokers(me.to(*BROKER_CHANGE)).controller == Controller(EXPIRED, registration=0)


# Agendas.


@pytest.mark.parametrize("owner_check", [False, True])
@pytest.mark.parametrize("election", list(Election))
@pytest.mark.parametrize("loses", [False, True])
def test_whatever_comes_of_a_whole_life_is_an_agenda(
    zookeeper: ZooKeeper, election: Election, owner_check: bool, loses: bool
) -> None:
    """From a start to a failover that fails and a session that ends, with each first reply to a write lost or not."""
    controller = whole(zookeeper, election=election, owner_check=owner_check)
    known = agendas(controller.design)
    assert len(set(known)) == len(known)
    to_lose = {do for do, _ in WRITES} if loses else set()

    def run(me: Controller) -> Controller:
        while me.doing:
            assert me.doing in known
            if me.doing[0] in to_lose:
                to_lose.remove(me.doing[0])
                controller.lose_reply(me)
            me = next_of(controller, me).controller
        return me

    me = run(controller.connect(controller.start(), 7))
    assert me.doing in known
    run(me.to(*BROKER_CHANGE))
    failing = controller.fail(me.to(*FAILOVER[election]))
    run(failing.controller)
    del zookeeper.state.sessions[7]  # what it owned outlives it
    me = controller.connect(controller.expire(me), 8)
    run(me)


def test_an_agenda_shows_what_comes_next() -> None:
    """And not the whole row."""
    assert [str(each) for each in (IDLE, STOPPED, MAYBE_RESIGN, STARTUP)] == [
        "Idle",
        "Start",
        "WatchController, ...",
        "Connect, ...",
    ]
