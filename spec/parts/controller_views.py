"""Views and pictures of brokers that compete to be controller."""

from __future__ import annotations

from collections.abc import Mapping

from election.ids import BrokerId, ControllerEpoch
from spec.language import Grid, Look, Queue, Tag
from statemachines.controller.agenda import ControllerStep
from statemachines.controller.controller_process import ControllerProcess
from statemachines.zookeeper.tree import ZkVersion


def is_superseded(me: ControllerProcess, epoch: ControllerEpoch) -> bool:
    """Whether it acts as controller though another one was elected since, under the epoch in ZooKeeper."""
    return me.acts_as_controller and me.epoch < epoch


def belief(broker: BrokerId, me: ControllerProcess, named: BrokerId | None, epoch: ControllerEpoch) -> str:
    """Whether a broker believes it is controller, and whether it is.

    Args:
        broker: its id.
        me: its controller.
        named: the broker that /controller names; None if the node does not exist.
        epoch: the controller epoch in ZooKeeper.
    """
    if not me.is_running:
        return f"broker {broker} is not running"
    if not me.active:
        but = f", but acts as one under epoch {me.epoch}" if me.acts_as_controller else ""
        return f"broker {broker} does not believe it is controller{but}"
    over = is_superseded(me, epoch)
    under = (
        f"under epoch {me.epoch}{', which is over' if over else ''}"
        if me.acts_as_controller
        else "without an epoch yet"
    )
    if named == broker:
        acts = me.acts_as_controller and not over
        return f"broker {broker} {'is' if acts else 'believes it is'} controller, {under}"
    beside = "" if named is None or over else f" beside broker {named}"
    return f"broker {broker} still believes it is controller{beside}, {under}"


def intent(
    broker: BrokerId, me: ControllerProcess, named: BrokerId | None, epoch: ControllerEpoch, writes: ZkVersion
) -> str:
    """A broker's next write as controller, and the changes that it does not know of; empty if it writes nothing.

    Args:
        broker: its id.
        me: its controller.
        named: the broker that /controller names; None if the node does not exist.
        epoch: the controller epoch in ZooKeeper.
        writes: how often the partition's state was written.
    """
    but = f", unaware that the epoch is now {epoch}" if me.epoch != epoch else ""
    later = "" if me.state_version == writes else ", unaware that it has been written since"
    another = "" if named in (None, broker) else f", which names broker {named}"
    increment = f"increment the epoch from {me.epoch}{but}"
    does = {
        ControllerStep.CreateController: "create /controller",
        ControllerStep.RegisterController: f"create /controller and {increment}",
        ControllerStep.IncrementEpoch: increment,
        ControllerStep.UpdateLeaderAndIsr: f"write the partition's state under epoch {me.epoch}{but or later}",
        ControllerStep.DeleteController: f"delete /controller{another}",
    }
    return "".join(f"broker {broker} is about to {does[do]}" for do in me.agenda[:1] if do in does)


def draw_controllers(controllers: Mapping[BrokerId, ControllerProcess], epoch: ControllerEpoch) -> Grid:
    """Each broker's belief about itself, its next requests to ZooKeeper, and its waiting events.

    Args:
        controllers: the controllers, by broker.
        epoch: the controller epoch in ZooKeeper.
    """
    return Grid(
        ("broker", "is", "epoch", "about to", "events"),
        [
            (
                Tag(f"broker {broker}", Look.plain if me.is_running else Look.gone),
                _office(me, epoch),
                me.epoch or "",
                Queue(Tag(do, note=do.value) for do in me.agenda),
                Queue([*me.queue, *(Tag(each, Look.faint, "not in its queue yet") for each in me.posted)]),
            )
            for broker, me in sorted(controllers.items())
        ],
    )


def _office(me: ControllerProcess, epoch: ControllerEpoch) -> Tag | str:
    if is_superseded(me, epoch):
        return Tag("controller", Look.wrong, "its epoch is over")
    if me.acts_as_controller:
        return Tag("controller", Look.strong)
    return Tag("controller", Look.faint, "it has no epoch yet") if me.active else ""
