"""Brokers that register and are elected, release by release: setup for the tests of their steps."""

from __future__ import annotations

from typing import Any

import pytest

from statemachines.controller.controller_process import Answer, ControllerProcess
from statemachines.controller.design import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    MAYBE_RESIGN,
    STARTUP,
    ControllerStep,
    Design,
    Election,
    PartitionStateEpoch,
    Threads,
    least_failover,
)
from statemachines.controller.failover import failover, steps_of
from statemachines.controller.one_partition import OnePartitionController
from statemachines.controller.registration import Request
from statemachines.controller.threads import WATCH_EVENTS, ControllerEvent, Queued
from statemachines.zookeeper.server import EventType, ZooKeeper
from tests.statemachines.controllers import at, without_fixes_of_2_2

STATE = "/brokers/topics/t/partitions/0/state"
OWN, OTHER = f"{BROKER_IDS}/0", f"{BROKER_IDS}/1"

RELEASE = {
    "0.10.1": without_fixes_of_2_2(
        Election.cas_swallowed, Threads.lock, fence_zk=False, listener_guard=False, skip_if_self=False, state=STATE
    ),
    "0.10.2": without_fixes_of_2_2(Election.cas_swallowed, Threads.lock, fence_zk=False, state=STATE),
    "1.0": without_fixes_of_2_2(Election.cas_swallowed, Threads.queue, fence_zk=False, state=STATE),
    "2.0": without_fixes_of_2_2(Election.cas_checked, fence_zk=False, state=STATE),
    "2.1": without_fixes_of_2_2(state=STATE),
}
"""The designs of the releases."""
LOCK, UNTIL_1_0, SINCE_1_1 = ["0.10.1", "0.10.2"], ["0.10.1", "0.10.2", "1.0"], ["2.0", "2.1"]
every_release = pytest.mark.parametrize("release", list(RELEASE))
in_0_10 = pytest.mark.parametrize("release", LOCK)
until_1_0 = pytest.mark.parametrize("release", UNTIL_1_0)
until_2_0 = pytest.mark.parametrize("release", [*UNTIL_1_0, "2.0"])
since_0_11 = pytest.mark.parametrize("release", ["1.0", *SINCE_1_1])
since_1_1 = pytest.mark.parametrize("release", SINCE_1_1)

HEALTHCHECK, SESSION_EXPIRATION, SESSION_EXPIRE, LEADER_CHANGE, BROKERS_CHANGE = (
    Queued(ControllerEvent.Healthcheck),
    Queued(ControllerEvent.SessionExpirationListener),
    Queued(ControllerEvent.SessionExpireListener),
    Queued(ControllerEvent.LeaderChangeListener),
    Queued(ControllerEvent.BrokerChangeListener),
)
CHANGED, REELECT, BROKER, ISR = (
    Queued(ControllerEvent.ControllerChange),
    Queued(ControllerEvent.Reelect),
    Queued(ControllerEvent.BrokerChange),
    Queued(ControllerEvent.IsrChangeNotification),
)


def set_up() -> ZooKeeper:
    """A cluster without brokers."""
    zookeeper = ZooKeeper()
    path = ""
    for name in ("brokers", "topics", "t", "partitions", "0"):
        path = f"{path}/{name}"
        zookeeper.create(None, path)
    zookeeper.create(None, BROKER_IDS)
    zookeeper.create(None, STATE, PartitionStateEpoch())
    zookeeper.create(None, CONTROLLER_EPOCH, 0)
    return zookeeper


def whole(zookeeper: ZooKeeper, broker: int = 0, release: str = "2.1", **changes: Any) -> OnePartitionController:
    """The controller of a broker that looks again, with a whole failover."""
    design = RELEASE[release].but(failover=steps_of(failover(release)), looks_again=True)
    return OnePartitionController(design.but(**changes), zookeeper, broker)


def short(zookeeper: ZooKeeper, broker: int = 0, release: str = "2.1", **changes: Any) -> OnePartitionController:
    """The controller of a broker that never doubts a reply, with a single write as failover."""
    design = RELEASE[release].but(failover=least_failover(RELEASE[release]))
    return OnePartitionController(design.but(**changes), zookeeper, broker)


def heard(release: str, *events: Queued) -> dict[str, Any]:
    """The fields of a broker with these events queued: for ZkEventThread, if that is another thread."""
    return {"posted" if RELEASE[release].threads is Threads.queue else "queue": events}


def notified(release: str, *kinds: EventType) -> dict[str, Any]:
    """The fields of a broker with watch events of these kinds, not handled yet."""
    return heard(release, *(Queued(WATCH_EVENTS[RELEASE[release].threads][kind]) for kind in kinds))


CREATED, DELETED, CHILDREN = EventType.NodeCreated, EventType.NodeDeleted, EventType.NodeChildrenChanged

STEPS: dict[ControllerStep, Request[OnePartitionController]] = {
    ControllerStep.RegisterBroker: OnePartitionController.register_broker,
    ControllerStep.CheckRegistration: OnePartitionController.check_registration,
    ControllerStep.DeleteRegistration: OnePartitionController.delete_registration,
    ControllerStep.WatchController: OnePartitionController.watch_controller,
    ControllerStep.MaybeResign: OnePartitionController.maybe_resign,
    ControllerStep.GetControllerId: OnePartitionController.get_controller_id,
    ControllerStep.Elect: OnePartitionController.elect,
    ControllerStep.CreateController: OnePartitionController.create_controller,
    ControllerStep.ReadEpoch: OnePartitionController.read_epoch,
    ControllerStep.IncrementEpoch: OnePartitionController.increment_epoch,
    ControllerStep.RegisterController: OnePartitionController.register_controller,
    ControllerStep.CheckController: OnePartitionController.check_controller,
    ControllerStep.CheckEpoch: OnePartitionController.check_epoch,
    ControllerStep.WatchBrokers: OnePartitionController.watch_brokers,
    ControllerStep.ReadBrokers: OnePartitionController.read_brokers,
    ControllerStep.ReadStates: OnePartitionController.read_states,
    ControllerStep.ReadPartitionState: OnePartitionController.read_partition_state,
    ControllerStep.UpdateLeaderAndIsr: OnePartitionController.update_leader_and_isr,
    ControllerStep.DeletePreferredElection: OnePartitionController.delete_preferred_election,
    ControllerStep.MoveController: OnePartitionController.move_controller,
    ControllerStep.DeleteController: OnePartitionController.delete_controller,
}


def next_of(controller: OnePartitionController, me: ControllerProcess) -> Answer:
    """Make its next request."""
    return STEPS[me.agenda[0]](controller, me)


def beside(controller: OnePartitionController, me: ControllerProcess) -> ControllerProcess:
    """Make ZkEventThread's next request."""
    after = next_of(controller, me.as_zk_event_thread()).controller
    return after if after.session is None else after.as_zk_event_thread()


def until(do: ControllerStep, controller: OnePartitionController, me: ControllerProcess) -> ControllerProcess:
    """Make its requests until this step is next."""
    while me.agenda and not me.about_to(do):
        me = next_of(controller, me).controller
    return me


def run(controller: OnePartitionController, me: ControllerProcess) -> ControllerProcess:
    """Make its requests until there are none."""
    while me.agenda and me.agenda[0] in STEPS:
        me = next_of(controller, me).controller
    return me


def hear(controller: OnePartitionController, me: ControllerProcess) -> ControllerProcess:
    """Run ZkEventThread until it has nothing left to do."""
    while me.posted or me.listener_agenda:
        me = beside(controller, me) if me.listener_agenda else controller.listen(me).controller
    return me


def settle(controller: OnePartitionController, me: ControllerProcess) -> ControllerProcess:
    """Run both threads until neither has work left, the controller's thread first."""
    me = run(controller, me)
    while me.queue or me.posted or me.listener_agenda:
        me = controller.handle(me).controller if me.queue else hear(controller, me)
        me = run(controller, me)
    return me


def elected(zookeeper: ZooKeeper, broker: int, release: str = "2.1", **changes: Any) -> ControllerProcess:
    """A broker that was elected and is about to begin its work."""
    me = at(ControllerStep.WatchController, ControllerStep.Elect, session=broker)
    return until(ControllerStep.ReadPartitionState, short(zookeeper, broker, release, **changes), me)


def in_failover(zookeeper: ZooKeeper, broker: int = 0, release: str = "2.1", **changes: Any) -> ControllerProcess:
    """A broker with its epoch, about to read the live brokers."""
    me = at(ControllerStep.WatchController, ControllerStep.Elect, session=broker)
    return until(ControllerStep.ReadBrokers, whole(zookeeper, broker, release, **changes), me)


def in_office(zookeeper: ZooKeeper, broker: int = 0, release: str = "2.1", **changes: Any) -> ControllerProcess:
    """A broker whose failover is over."""
    return run(whole(zookeeper, broker, release, **changes), in_failover(zookeeper, broker, release, **changes))


def settled(zookeeper: ZooKeeper, broker: int = 0, release: str = "2.1", **changes: Any) -> ControllerProcess:
    """A broker in office that has handled the notification of its own election."""
    return settle(whole(zookeeper, broker, release, **changes), in_office(zookeeper, broker, release, **changes))


def owner(zookeeper: ZooKeeper) -> Any:
    """The broker that /controller names."""
    return zookeeper.get(None, CONTROLLER)[0] if zookeeper.exists(None, CONTROLLER) is not None else None


def never(design: Design) -> set[tuple[ControllerStep, ...]]:
    """Rests of rows that never occur: no step is left, or only another generation has them."""
    rows: set[tuple[ControllerStep, ...]] = {(ControllerStep.Started,), (ControllerStep.Serve,)}
    if design.threads is not Threads.barrier:
        rows.add(MAYBE_RESIGN)
    if not design.skip_if_self:
        rows.add((ControllerStep.GetControllerId, ControllerStep.Elect))
    if design.ephemeral_owner_check:
        rows.add((ControllerStep.DeleteRegistration, *STARTUP[Threads.barrier][1:]))
    return rows
