"""A broker's requests as actions: each action has the name of its step, and the lane of the thread that makes it.

`@action(do=each_request())` makes an action of each request in the `steps` of a system. Its actor is a lane of a
sequence diagram: a broker's process, the process's controller, and in 0.11 and 1.0 its ZkEventThread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from spec.language import each
from statemachines.controller.agenda import METHODS, REGISTERS, ControllerStep
from statemachines.controller.design import Threads
from statemachines.controller.one_partition import OnePartitionController

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
