"""Controllers for tests: brokers about to take a given step."""

from __future__ import annotations

from typing import Any

from statemachines.controller.controller_process import ControllerProcess, OnePartitionContext
from statemachines.controller.threads import Agenda, ControllerStep


def at(*doing: ControllerStep, session: int = 0, **known: Any) -> ControllerProcess:
    """A broker about to take these steps, with these fields of its process or context."""
    return but_for(ControllerProcess(Agenda(doing), session), **known)


def but_for(me: ControllerProcess, **known: Any) -> ControllerProcess:
    """The same broker, with other values for these fields of its process or context."""
    of_context = {name: known.pop(name) for name in OnePartitionContext._fields if name in known}
    return me._replace(**known).with_context(**of_context)
