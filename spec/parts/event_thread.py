"""A controller's current event, as a part: the variables that keep the rest of the event.

The rest of an event is a value, `EventWaiting`: the awaited result, and a stack of calls (decision 0024). The part
has the sizes of the changes that may wait. The calls are interned: nobody lists the stacks that may remain.

A finished change is also kept, if the controller goes change by change.

    Left out: the reply to the caller that queued the event; requests to brokers that cannot be sent, so that no event
    makes the cluster elect another controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from spec.language import (
    Domain,
    Look,
    Part,
    Queue,
    Size,
    State,
    Tag,
    interned,
    one_of,
    optional,
    picture,
    variable,
)
from statemachines.controller.alter_partition import AlteringPartitions
from statemachines.controller.calls import Await, Call, Calls, EventWaiting
from statemachines.controller.partition_state_machine import PartitionStateChange
from statemachines.controller.replica_state_machine import ReplicaStateChange
from statemachines.controller.state_change import ChangeDone

WaitingChange: TypeAlias = PartitionStateChange | ReplicaStateChange | AlteringPartitions
"""The changes of an event that may wait for ZooKeeper."""


class Following(NamedTuple):
    """What an event does after its change."""

    then: Call | None = None
    """The call that takes the result of the change."""
    calls: Calls = ()
    """The calls after it."""


class EventThread(State):
    """A controller's current event [ControllerEventThread]; empty if the controller is idle."""

    partition_change: PartitionStateChange | None = variable(
        "A change of partitions that waits for ZooKeeper.", of=lambda self: optional(self.partition_change_domain)
    )
    replica_change: ReplicaStateChange | None = variable(
        "A change of replicas that waits for ZooKeeper.", of=lambda self: optional(self.replica_change_domain)
    )
    isr_change: AlteringPartitions | None = variable(
        "A leader's request to change an ISR that waits for ZooKeeper.", of=lambda self: self.isr_change_or_none
    )
    change_done: ChangeDone | None = variable("A finished change, after which the event goes on.")
    following: Following = variable("The calls after the change.", of=lambda self: interned(Following()))

    @property
    def waiting(self) -> WaitingChange | None:
        """The change that waits for ZooKeeper."""
        return self.partition_change or self.replica_change or self.isr_change


@dataclass(frozen=True)
class EventThreadPart(Part[EventThread]):
    """The rest of a controller's event.

    Args:
        type_sizes: the sizes of the types in it, as the system has them.
        partition_change_domain: every change of partitions that may wait.
        replica_change_domain: every change of replicas that may wait.
        isr_change_domain: every request of a leader that may wait; None if no request of a leader waits.
    """

    type_sizes: Mapping[Any, Size]
    partition_change_domain: Domain[PartitionStateChange]
    replica_change_domain: Domain[ReplicaStateChange]
    isr_change_domain: Domain[AlteringPartitions] | None = None

    def sizes(self) -> Mapping[Any, Size]:
        """As in the system."""
        return self.type_sizes

    # The rest of an event.

    def event_waiting(self, s: EventThread) -> EventWaiting | None:
        """The rest of the event; None if there is no event."""
        what = s.waiting or s.change_done
        return None if what is None else EventWaiting(Await(what, s.following.then), s.following.calls)

    def wait(self, s: EventThread, change: WaitingChange) -> None:
        """A change goes on, and waits again."""
        match change:
            case PartitionStateChange():
                s.partition_change = change
            case ReplicaStateChange():
                s.replica_change = change
            case AlteringPartitions():
                s.isr_change = change

    def leave(self, s: EventThread, left: EventWaiting | None) -> None:
        """Keep the rest of the event, with the result of a change only if a call takes it."""
        assert left is None or not left.must_reelect
        what = None if left is None else left.awaits.what
        electing = what if isinstance(what, PartitionStateChange) else None
        removing = what if isinstance(what, ReplicaStateChange) else None
        altering = what if isinstance(what, AlteringPartitions) else None
        over = None
        if left is not None and isinstance(what, ChangeDone):
            over = ChangeDone() if left.awaits.then is None else what
        if electing is not None or s.partition_change is not None:
            s.partition_change = electing
        if removing is not None or s.replica_change is not None:
            s.replica_change = removing
        if altering is not None or s.isr_change is not None:
            s.isr_change = altering
        if over is not None or s.change_done is not None:
            s.change_done = over
        s.following = Following() if left is None else Following(left.awaits.then, left.calls)

    @picture
    def event(self, s: EventThread) -> Queue:
        """The rest of the controller's event: its wait, then the calls that follow."""
        left = self.event_waiting(s)
        if left is None:
            return Queue(())
        change = left.awaits.what
        if isinstance(change, ChangeDone):
            waits = Tag("goes on", Look.faint, "a change of states is over")
        else:
            waits = Tag(change.due, Look.strong, f"it waits for ZooKeeper to {change.due.value}")
        calls = left.calls if left.awaits.then is None else (left.awaits.then, *left.calls)
        named = [Tag(each.method.lstrip("_"), note=str(each)) for each in calls if isinstance(each, Call)]
        return Queue([waits, *named])

    @property
    def isr_change_or_none(self) -> Domain[AlteringPartitions | None]:
        """Every request of a leader that may wait, and None."""
        return one_of(None) if self.isr_change_domain is None else optional(self.isr_change_domain)
