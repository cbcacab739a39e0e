"""Controllers for tests: designs of the generations, and brokers about to take a given step."""

from __future__ import annotations

from typing import Any, Final

from statemachines.controller.agenda import Agenda, ControllerStep
from statemachines.controller.controller_process import ControllerProcess, OnePartitionContext
from statemachines.controller.design import Design, Election, Threads
from statemachines.controller.failover import failover, steps_of


def without_fixes_of_2_2(
    epoch_update: Election = Election.multi, threads: Threads = Threads.barrier, **fields: Any
) -> Design:
    """A design that does not check registrations, unless a field says so."""
    plain: dict[str, Any] = {"ephemeral_owner_check": False, "broker_epoch": False, **fields}
    return Design().but(epoch_update=epoch_update, threads=threads, **plain)


DESIGNS: Final = {
    "0.10": without_fixes_of_2_2(
        Election.cas_swallowed, Threads.lock, fence_zk=False, failover=steps_of(failover("0.10.2"))
    ),
    "1.0": without_fixes_of_2_2(
        Election.cas_swallowed, Threads.queue, fence_zk=False, failover=steps_of(failover("1.0"))
    ),
    "2.0": without_fixes_of_2_2(Election.cas_checked, fence_zk=False, failover=steps_of(failover("2.0"))),
    "2.1": without_fixes_of_2_2(failover=steps_of(failover("2.1"))),
}
"""The generations' elections, as long as no reply is lost."""


def at(*doing: ControllerStep, session: int = 0, **known: Any) -> ControllerProcess:
    """A broker about to take these steps, with these fields of its process or context."""
    return but_for(ControllerProcess(Agenda(doing), session), **known)


def but_for(me: ControllerProcess, **known: Any) -> ControllerProcess:
    """The same broker, with other values for these fields of its process or context."""
    of_context = {name: known.pop(name) for name in OnePartitionContext._fields if name in known}
    return me._replace(**known).with_context(**of_context)
