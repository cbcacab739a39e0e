"""What systems of brokers that compete to be controller share: requests as actions, lanes, views and pictures.

`@action(do=each_request())` makes an action of each request in the `steps` of a system. The action has the name of
its step. Its actor is a lane of a sequence diagram: a broker's process, the process's controller, and in 0.11 and 1.0
its ZkEventThread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from election.ids import BrokerId, ControllerEpoch
from spec.language import Grid, Look, Queue, Tag, each
from statemachines.controller.controller_process import ControllerProcess
from statemachines.controller.design import Threads
from statemachines.controller.one_partition import OnePartitionController
from statemachines.controller.threads import METHODS, REGISTERS, ControllerStep
from statemachines.zookeeper.tree import ZkVersion

THE_PROCESS: Final = "broker"
THE_CONTROLLER: Final = "controller of broker {broker}"
"""The lane of a broker's KafkaController, beside that of its process."""
ZK_EVENT_THREAD: Final = "ZkEventThread of broker {broker}"
"""The lane of the thread that reads for listeners, in releases where another thread does the controller's work."""

OF_THE_PROCESS: Final = REGISTERS | {ControllerStep.Connect, ControllerStep.DeleteRegistration}
"""The requests of a broker's process, which need no controller."""


def each_request(among: Callable[[ControllerStep], bool] = lambda do: True) -> Any:
    """The range of a parameter `do` that makes an action for each of a system's requests.

    Args:
        among: selects requests; by default all.
    """
    return each(
        lambda self: [do for do in self.steps if among(do)],
        like=lambda do: getattr(OnePartitionController, METHODS[do]),
        actor=lambda self, do: lane_of(do, self.design.threads),
    )


def lane_of(do: ControllerStep, threads: Threads) -> str:
    """The lane of the thread or process that makes a request."""
    if do in REGISTERS and threads is Threads.queue:
        return ZK_EVENT_THREAD
    return THE_PROCESS if do in OF_THE_PROCESS else THE_CONTROLLER


# Views.


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
    """Each broker's belief about itself under this epoch in ZooKeeper, its next requests, and its waiting events."""
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
