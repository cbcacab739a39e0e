"""The steps of a broker in an election, one by one, against a ZooKeeper in memory."""

from __future__ import annotations

from typing import Any

import pytest

from statemachines import controller
from statemachines.controller import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    Controller,
    Doing,
    Election,
    PartitionState,
    Step,
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


def at(doing: Doing, session: int = 0, **known: Any) -> Controller:
    """A broker about to do this."""
    return Controller(doing, session, fresh=False)._replace(**known)


def take(zookeeper: ZooKeeper, steps: list[Step], me: Controller, broker: int = 0) -> Controller:
    """Do these steps in a row."""
    for step in steps:
        me = step(zookeeper, broker, me).controller
    return me


def elected(zookeeper: ZooKeeper, broker: int, election: Election = Election.multi) -> Controller:
    """A broker that was elected and is about to write."""
    steps = [controller.register_handler, controller.get_controller_id(election)]
    if election is Election.multi:
        steps += [controller.read_epoch(election), controller.register_controller]
    else:
        steps += [
            controller.create_controller,
            controller.read_epoch(election),
            controller.increment_epoch(election),
        ]
    return take(zookeeper, steps, at(Doing.Startup, broker), broker)


@pytest.mark.parametrize("election", list(Election))
def test_the_first_controller_has_epoch_1_at_version_1(zookeeper: ZooKeeper, election: Election) -> None:
    """Whatever the design, an election that nobody disturbs ends the same."""
    me = elected(zookeeper, 0, election)
    assert me == at(
        Doing.ReadPartitionState, active=True, epoch=1, epoch_zk_version=1, queue=(EventType.NodeCreated,)
    )
    assert zookeeper.get(None, CONTROLLER)[0] == 0
    epoch, stat = zookeeper.get(None, CONTROLLER_EPOCH)
    assert (epoch, stat.version) == (1, 1)
    assert me.acts


def test_a_fresh_process_starts_and_one_that_lost_its_session_elects_again(zookeeper: ZooKeeper) -> None:
    """Startup for the one, maybeResign and elect for the other; both register first."""
    fresh = controller.connect(zookeeper, controller.start(), 7)
    assert fresh.doing is Doing.RegisterBroker
    assert controller.register_broker(zookeeper, 0, fresh).controller.doing is Doing.Startup
    zookeeper.expire(7)
    again = controller.connect(zookeeper, controller.expire(zookeeper, fresh), 8)
    assert controller.register_broker(zookeeper, 0, again).controller.doing is Doing.RearmToElect


def test_a_start_fails_while_the_predecessors_registration_is_there(zookeeper: ZooKeeper) -> None:
    """The process stops, and closes the session that it had opened."""
    zookeeper.create(1, f"{BROKER_IDS}/0", ephemeral=True)
    answer = controller.register_broker(zookeeper, 0, at(Doing.RegisterBroker))
    assert answer.controller == Controller()
    assert 0 not in zookeeper.state.sessions


@pytest.mark.parametrize(
    ("event", "doing"), [(EventType.NodeDeleted, Doing.RearmToElect), (EventType.NodeCreated, Doing.Rearm)]
)
def test_a_deletion_is_a_reelect_and_all_else_a_controller_change(event: EventType, doing: Doing) -> None:
    """The oldest event is taken off the queue."""
    me = at(Doing.Idle, queue=(event, EventType.NodeCreated))
    assert controller.handle(me) == at(doing, queue=(EventType.NodeCreated,))


def test_an_election_stops_where_there_is_a_controller(zookeeper: ZooKeeper) -> None:
    """The broker is idle, and watches."""
    elected(zookeeper, 1)
    me = take(
        zookeeper, [controller.register_handler, controller.get_controller_id(Election.multi)], at(Doing.Startup)
    )
    assert me == at(Doing.Idle)
    assert 0 in zookeeper.state.data_watches[CONTROLLER]


def test_who_stands_for_election_again_is_not_controller_meanwhile(zookeeper: ZooKeeper) -> None:
    """The node was deleted after it had been read to be its own; what it read before is -1 by now."""
    before = at(Doing.Elect, active=True, epoch=1, epoch_zk_version=1)
    assert controller.get_controller_id(Election.multi)(zookeeper, 0, before).controller == at(Doing.ReadEpoch)


def test_who_finds_another_named_resigns(zookeeper: ZooKeeper) -> None:
    """And keeps the events that have not been handled."""
    elected(zookeeper, 1)
    before = at(Doing.Reread, active=True, epoch=1, epoch_zk_version=1, queue=(EventType.NodeDeleted,))
    assert controller.maybe_resign(zookeeper, 0, before).controller == at(Doing.Idle, queue=(EventType.NodeDeleted,))


def test_who_finds_itself_named_stays(zookeeper: ZooKeeper) -> None:
    """The notification is its own echo."""
    me = elected(zookeeper, 0)._replace(doing=Doing.Reread)
    assert controller.maybe_resign(zookeeper, 0, me).controller == me._replace(doing=Doing.Idle)


def test_a_lost_multi_is_controller_moved(zookeeper: ZooKeeper) -> None:
    """Neither node nor epoch is touched."""
    late = take(
        zookeeper,
        [controller.get_controller_id(Election.multi), controller.read_epoch(Election.multi)],
        at(Doing.Elect, 1),
        1,
    )
    elected(zookeeper, 0)
    zookeeper.delete(None, CONTROLLER)
    answer = controller.register_controller(zookeeper, 1, late)
    assert (answer.controller, answer.failover) == (at(Doing.Rearm, 1), False)
    assert answer.said == "BADVERSION: ControllerMoved"
    assert zookeeper.exists(None, CONTROLLER) is None


def lost_increment(zookeeper: ZooKeeper, election: Election) -> controller.Answer:
    """Broker 1 wins between the read and the compare-and-set of broker 0."""
    slow = take(
        zookeeper, [controller.create_controller, controller.read_epoch(election)], at(Doing.CreateController)
    )
    zookeeper.delete(None, CONTROLLER)
    elected(zookeeper, 1, election)
    return controller.increment_epoch(election)(zookeeper, 0, slow)


def test_a_lost_increment_fails_the_failover_since_1_1(zookeeper: ZooKeeper) -> None:
    """It resigns, and is about to delete /controller."""
    answer = lost_increment(zookeeper, Election.cas_checked)
    assert (answer.controller.doing, answer.controller.active) == (Doing.DeleteController, False)
    assert not answer.failover


def test_a_lost_increment_was_swallowed_before(zookeeper: ZooKeeper) -> None:
    """The failover goes on with the epoch that was read."""
    answer = lost_increment(zookeeper, Election.cas_swallowed)
    assert (answer.controller.doing, answer.controller.active, answer.controller.epoch) == (
        Doing.ReadPartitionState,
        True,
        0,
    )
    assert answer.failover


@pytest.mark.parametrize(("fenced", "remains"), [(True, True), (False, False)])
def test_only_a_fence_keeps_the_loser_from_deleting_the_winners_node(
    zookeeper: ZooKeeper, fenced: bool, remains: bool
) -> None:
    """B43, in four requests."""
    loser = lost_increment(zookeeper, Election.cas_checked).controller
    done = controller.delete_controller(fenced)(zookeeper, 0, loser).controller
    assert (zookeeper.exists(None, CONTROLLER) is not None) is remains
    assert done == at(Doing.Idle, queue=done.queue)


def test_a_controller_reads_the_state_and_writes_it_under_its_epoch(zookeeper: ZooKeeper) -> None:
    """At the version that it read."""
    me = elected(zookeeper, 0)
    me = take(zookeeper, [controller.read_partition_state(STATE), controller.update_leader_and_isr(STATE, True)], me)
    assert zookeeper.get(None, STATE)[0] == PartitionState(controller_epoch=1)
    assert me.doing is Doing.Idle


@pytest.mark.parametrize(("fenced", "written", "doing"), [(True, 0, Doing.Rearm), (False, 1, Doing.Idle)])
def test_only_a_fence_keeps_a_zombie_from_writing(
    zookeeper: ZooKeeper, fenced: bool, written: int, doing: Doing
) -> None:
    """B4: the epoch has moved, the state has not been written yet."""
    zombie = take(zookeeper, [controller.read_partition_state(STATE)], elected(zookeeper, 0))
    zookeeper.delete(None, CONTROLLER)
    elected(zookeeper, 1)
    after = controller.update_leader_and_isr(STATE, fenced)(zookeeper, 0, zombie).controller
    assert (zookeeper.get(None, STATE)[0].controller_epoch, after.doing) == (written, doing)


def test_a_state_that_a_newer_controller_wrote_is_let_be(zookeeper: ZooKeeper) -> None:
    """StateChangeFailed, in every release."""
    me = elected(zookeeper, 0)
    zookeeper.set(None, STATE, PartitionState(controller_epoch=2))
    assert controller.read_partition_state(STATE)(zookeeper, 0, me).controller.doing is Doing.Idle


def test_a_state_that_changed_in_between_is_read_again(zookeeper: ZooKeeper) -> None:
    """The version of the state is not that of the epoch: the controller has not moved."""
    me = take(zookeeper, [controller.read_partition_state(STATE)], elected(zookeeper, 0))
    zookeeper.set(None, STATE, PartitionState())
    after = controller.update_leader_and_isr(STATE, True)(zookeeper, 0, me).controller
    assert after.doing is Doing.ReadPartitionState


def test_a_request_that_finds_the_session_ended_resigns(zookeeper: ZooKeeper) -> None:
    """The broker goes for a new session, and what was queued is forgotten."""
    me = elected(zookeeper, 0)
    zookeeper.expire(0)
    answer = controller.read_partition_state(STATE)(zookeeper, 0, me)
    assert answer.controller == Controller(Doing.Connect, fresh=False)


def test_no_answer_overtakes_an_event(zookeeper: ZooKeeper) -> None:
    """What a watch has to tell is queued when the answer to a later request arrives."""
    me = take(zookeeper, [controller.register_handler], at(Doing.Startup))
    elected(zookeeper, 1)
    me = take(zookeeper, [controller.get_controller_id(Election.multi)], me)
    assert me == at(Doing.Idle, queue=(EventType.NodeCreated,))


def test_a_process_that_dies_leaves_its_session_behind(zookeeper: ZooKeeper) -> None:
    """Its connection goes, with its watches; /controller stays until the session ends."""
    me = elected(zookeeper, 0)
    assert controller.stop(zookeeper, me) == Controller()
    assert (zookeeper.exists(None, CONTROLLER) is not None, 0 in zookeeper.state.data_watches[CONTROLLER]) == (
        True,
        False,
    )


def test_what_was_read_is_no_epoch_yet() -> None:
    """An epoch counts once its increment is answered."""
    read = Controller(Doing.IncrementEpoch, 0, active=True, epoch=1)
    assert (read.acts, read._replace(doing=Doing.ReadPartitionState).acts) == (False, True)
