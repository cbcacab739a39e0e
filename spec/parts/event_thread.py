"""A controller's current event, as a part: the variables that keep the rest of the event.

The rest of an event is a value, `EventWaiting`: the pending batch of requests, and a stack of calls (decision 0024).
The calls are interned: nobody lists the stacks that may remain. The requests to brokers that the event has collected
are in batches of their own (`spec.parts.requests`).

A controller that goes change by change also stops after a completed change: then no batch is pending.

    Left out: the reply to the caller that queued the event; requests to brokers that cannot be sent, so that no event
    makes the cluster elect another controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from spec.language import Look, Part, Queue, Size, State, Tag, interned, picture, variable
from statemachines.controller.alter_partition import AlterPartitionProcessor
from statemachines.controller.calls import Await, Call, Calls, EventWaiting
from statemachines.controller.partition_state_machine import Election
from statemachines.controller.replica_state_machine import Removal
from statemachines.controller.zk_requests import StateRequests

T = TypeVar("T")


class Waits(Enum):
    """Which part of the controller waits, and for what."""

    Nothing = "it has no event"
    PartitionStateMachine = "for ZooKeeper, to change the states of partitions"
    ReplicaStateMachine = "for ZooKeeper, to change the states of replicas"
    AlterPartition = "for ZooKeeper, to change the ISR of a leader"
    NextChange = "for its turn: a change of states is over, and the event goes on"

    def __str__(self) -> str:
        return self.name


class EventThread(State):
    """A controller's current event [ControllerEventThread]; empty if the controller is idle."""

    waits: Waits = variable("What waits. That follows from the other variables, and is read more often.")
    requests: StateRequests | None = variable("The batch of requests that ZooKeeper has yet to answer.")
    then: Call | None = variable("The call that takes the answers.", of=lambda self: interned(None))
    calls: Calls = variable("The calls after it.", of=lambda self: interned(()))

    @property
    def idle(self) -> bool:
        """Whether no event is under way."""
        return self.waits is Waits.Nothing

    @property
    def awaits(self) -> Await | None:
        """The batch that waits for ZooKeeper, and the call that takes the answers."""
        return None if self.requests is None else Await(self.requests, self.then)

    @property
    def election(self) -> Election | None:
        """The election that waits for ZooKeeper."""
        return self._kept(Election) if self.waits is Waits.PartitionStateMachine else None

    @property
    def removal(self) -> Removal | None:
        """The removal from ISRs that waits for ZooKeeper."""
        return self._kept(Removal) if self.waits is Waits.ReplicaStateMachine else None

    def _kept(self, kind: type[T]) -> T | None:
        arguments = () if self.then is None else self.then.arguments
        return next((each for each in arguments if isinstance(each, kind)), None)


def waits_for(awaits: Await) -> Waits:
    """Which part of the controller waits for a batch."""
    assert awaits.then is not None
    if awaits.then.method in AlterPartitionProcessor.WAITS:
        return Waits.AlterPartition
    elects = any(isinstance(each, Election) for each in awaits.then.arguments)
    return Waits.PartitionStateMachine if elects else Waits.ReplicaStateMachine


@dataclass(frozen=True)
class EventThreadPart(Part[EventThread]):
    """The rest of a controller's event; `type_sizes` has the sizes of the types in a batch."""

    type_sizes: Mapping[Any, Size]

    def sizes(self) -> Mapping[Any, Size]:
        """As in the system."""
        return self.type_sizes

    def keep(self, s: EventThread, rest: EventWaiting | None) -> None:
        """Keep the rest of the event; None if it is over."""
        if rest is None:
            s.waits, s.requests, s.then, s.calls = Waits.Nothing, None, None, ()
            return
        assert not rest.must_reelect
        self.wait(s, rest.awaits)
        s.calls = rest.calls

    def wait(self, s: EventThread, awaits: Await | None) -> None:
        """Wait for this batch; None after a completed change."""
        if awaits is None:
            s.waits, s.requests, s.then = Waits.NextChange, None, None
            return
        assert isinstance(awaits.what, StateRequests)
        s.waits, s.requests, s.then = waits_for(awaits), awaits.what, awaits.then

    @picture
    def event(self, s: EventThread) -> Queue:
        """The rest of the controller's event: its wait, then the calls that follow."""
        if s.idle:
            return Queue(())
        waits, calls = Tag("goes on", Look.faint, "a change of states is over"), s.calls
        if s.requests is not None:
            due = s.requests.due
            waits = Tag(due, Look.strong, f"it waits for ZooKeeper to {due.value}")
            calls = calls if s.then is None else (s.then, *calls)
        named = [Tag(each.method.lstrip("_"), note=str(each)) for each in calls if isinstance(each, Call)]
        return Queue([waits, *named])
