"""The steps of a broker in an election, one by one, against a ZooKeeper in memory."""

from __future__ import annotations

from typing import Any

import pytest

from statemachines.controller import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    ELECTION,
    EXPIRED,
    FAILOVER,
    IDLE,
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
from statemachines.zookeeper import EventType, ZooKeeper

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
    return KafkaController(Design(state=STATE, **design), zookeeper, broker)


def next_of(controller: KafkaController, me: Controller) -> Answer:
    """It makes its next request."""
    steps = {
        Do.RegisterBroker: controller.register_broker,
        Do.WatchController: controller.watch_controller,
        Do.MaybeResign: controller.maybe_resign,
        Do.Elect: controller.elect,
        Do.CreateController: controller.create_controller,
        Do.ReadEpoch: controller.read_epoch,
        Do.IncrementEpoch: controller.increment_epoch,
        Do.RegisterController: controller.register_controller,
        Do.ReadPartitionState: controller.read_partition_state,
        Do.UpdateLeaderAndIsr: controller.update_leader_and_isr,
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
    assert me == at(*FAILOVER, active=True, epoch=1, epoch_zk_version=1, queue=(EventType.NodeCreated,))
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
    assert life(zookeeper).handle(me) == at(*doing, queue=(EventType.NodeCreated,))


def test_an_election_stops_where_there_is_a_controller(zookeeper: ZooKeeper) -> None:
    """The broker is idle, and watches."""
    elected(zookeeper, 1)
    assert elected(zookeeper, 0) == at(*IDLE)
    assert 0 in zookeeper.state.data_watches[CONTROLLER]


def test_who_stands_for_election_again_is_not_controller_meanwhile(zookeeper: ZooKeeper) -> None:
    """The node was deleted after it had been read to be its own; what it read before is -1 by now."""
    before = at(Do.Elect, active=True, epoch=1, epoch_zk_version=1)
    assert life(zookeeper).elect(before).controller == at(*ELECTION[Election.multi], *FAILOVER)


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
    slow = until(Do.IncrementEpoch, controller, at(*ELECTION[election], *FAILOVER))
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
    me, _, failover = lost_increment(zookeeper, Election.cas_swallowed)
    assert (me.doing, me.active, me.epoch) == (FAILOVER, True, 0)
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
    assert controller.update_leader_and_isr(me).controller.doing == FAILOVER


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
    read = at(Do.IncrementEpoch, *FAILOVER, active=True, epoch=1)
    assert (read.acts, read.on().acts) == (False, True)


@pytest.mark.parametrize("election", list(Election))
def test_whatever_comes_is_an_agenda(zookeeper: ZooKeeper, election: Election) -> None:
    """What is left of a row after each of its requests, what else an answer leads to, and nothing twice."""
    known = agendas(Design(election))
    assert len(set(known)) == len(known)
    controller, me = life(zookeeper, election=election), Controller()
    me = controller.connect(controller.start(), 7)
    while me.doing:
        assert me.doing in known
        me = next_of(controller, me).controller
    assert {STOPPED, IDLE, EXPIRED} <= set(known)


def test_an_agenda_shows_what_comes_next() -> None:
    """And not the whole row."""
    assert [str(each) for each in (IDLE, STOPPED, MAYBE_RESIGN, STARTUP)] == [
        "Idle",
        "Start",
        "WatchController, ...",
        "Connect, ...",
    ]
