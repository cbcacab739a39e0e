"""A broker's requests as actions: each is called as the step that makes it, and is done by the thread that does.

`@action(do=each_request())` makes an action of each request in the `steps` of a system. Who does it is a lane of a
sequence diagram: a broker's process, the controller in it, and in 0.11 and 1.0 its ZkEventThread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from spec.language import each
from statemachines.controller.agenda import METHODS, REGISTERS, ControllerStep
from statemachines.controller.design import Threads
from statemachines.controller.one_partition import OnePartitionController

__all__ = ["THE_CONTROLLER", "ZK_EVENT_THREAD", "each_request"]

THE_PROCESS: Final = "broker"
THE_CONTROLLER: Final = "controller of broker {broker}"
"""The lane of a broker's KafkaController, beside that of its process."""
ZK_EVENT_THREAD: Final = "ZkEventThread of broker {broker}"
"""The lane of the thread that reads for listeners, where it does not do the controller's work itself."""

OF_THE_PROCESS: Final = REGISTERS | {ControllerStep.Connect, ControllerStep.DeleteRegistration}
"""What a broker asks for that is there without a controller."""


def each_request(among: Callable[[ControllerStep], bool] = lambda do: True) -> Any:
    """What a parameter `do` ranges over, so that there is an action for each of a system's requests.

    Args:
        among: which of them; else all.
    """
    return each(
        lambda self: [do for do in self.steps if among(do)],
        like=lambda do: getattr(OnePartitionController, METHODS[do]),
        actor=lambda self, do: lane_of(do, self.design.threads),
    )


def lane_of(do: ControllerStep, threads: Threads) -> str:
    """The lane of what makes a request."""
    if do in REGISTERS and threads is Threads.queue:
        return ZK_EVENT_THREAD
    return THE_PROCESS if do in OF_THE_PROCESS else THE_CONTROLLER
