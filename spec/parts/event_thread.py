"""A controller's current event, as a part: the variables that keep the rest of the event.

The rest of an event is a value, `EventWaiting`: the awaited result, and a stack of calls (decision 0024). The part
gives its size. Each part of a controller lists the stacks that its events may leave, as rows of `Frame`s, and a
system combines them (`stack_frames_of`). A frame stands for calls of a method, a call for itself. If a row may be
left, so may each end of the row. The possible arguments of a frame's calls follow from the annotations of its
method's parameters:

    broker: BrokerId                        a broker
    partitions: Sequence[TopicPartition]    partitions, none twice, in their order; likewise for Iterable, tuple
    following: Call                         the frame's own argument
    strategy: ... = None                    omitted, unless the frame gives its size

    A frame can narrow each of them, and a system can narrow those of a frame. `type_ok` finds a missing stack when an
    event leaves it.

    A finished change is also kept, if the controller goes change by change.

    Left out: the reply to the caller that queued the event; requests to brokers that cannot be sent, so that no event
    makes the cluster elect another controller.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, signature
from itertools import combinations
from typing import Any, TypeAlias, get_args, get_origin

from spec.language import (
    Domain,
    Look,
    Part,
    Queue,
    Size,
    SpecificationError,
    State,
    Tag,
    either,
    one_of,
    optional,
    picture,
    possibly_empty,
    record,
    tuple_of,
    variable,
)
from spec.language.sizes import types_in
from statemachines.controller.alter_partition import AlteringPartitions
from statemachines.controller.calls import Await, Call, Calls, EventWaiting, Frame, StackFrames
from statemachines.controller.event_driver import EventDriver
from statemachines.controller.partition_state_machine import PartitionStateChange
from statemachines.controller.replica_state_machine import ReplicaStateChange
from statemachines.controller.state_change import ChangeDone

WaitingChange: TypeAlias = PartitionStateChange | ReplicaStateChange | AlteringPartitions
"""The changes of an event that may wait for ZooKeeper."""


def stack_frames_of(*parts: type[EventDriver]) -> StackFrames:
    """The stacks that the events of these parts of a controller may leave."""
    return tuple(row for part in parts for row in part.STACK_FRAMES)


def in_order(values: Iterable[Any]) -> Domain[tuple[Any, ...]]:
    """Every tuple of some of these values, none twice, in their order; the empty one first.

    >>> list(in_order("ab"))
    [(), ('a',), ('b',), ('a', 'b')]
    """
    all_of_them = tuple(values)
    return one_of(*(some for length in range(len(all_of_them) + 1) for some in combinations(all_of_them, length)))


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
    next_call: Call | None = variable("The call that takes the result of the change.", of=lambda self: self.following)
    calls: Calls = variable("The calls after it.", of=lambda self: self.following_stacks)

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
        resume_frames: the calls that may take the awaited result.
        stack_frames: the stacks of calls that may follow, also by their ends or not at all.
        isr_change_domain: every request of a leader that may wait; None if no request of a leader waits.
        narrowed_arguments: by method and argument, the sizes that are narrower in this system.
    """

    type_sizes: Mapping[Any, Size]
    partition_change_domain: Domain[PartitionStateChange]
    replica_change_domain: Domain[ReplicaStateChange]
    resume_frames: Collection[Frame | Call]
    stack_frames: Collection[tuple[Frame | Call, ...]]
    isr_change_domain: Domain[AlteringPartitions] | None = None
    narrowed_arguments: Mapping[Callable[..., Any], Mapping[str, Size]] = field(default_factory=dict)

    def sizes(self) -> Mapping[Any, Size]:
        """As in the system."""
        return self.type_sizes

    # The rest of an event.

    def event_waiting(self, s: EventThread) -> EventWaiting | None:
        """The rest of the event; None if there is no event."""
        what = s.waiting or s.change_done
        return None if what is None else EventWaiting(Await(what, s.next_call), s.calls)

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
        then, calls = (None, ()) if left is None else (left.awaits.then, left.calls)
        if then != s.next_call:
            s.next_call = then
        if calls != s.calls:
            s.calls = calls

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

    # Sizes.

    @property
    def isr_change_or_none(self) -> Domain[AlteringPartitions | None]:
        """Every request of a leader that may wait, and None."""
        return one_of(None) if self.isr_change_domain is None else optional(self.isr_change_domain)

    @property
    def following(self) -> Domain[Call | None]:
        """Every call that may take the awaited result, and None."""
        return optional(either(*map(self.calls_of, self.resume_frames)))

    @property
    def following_stacks(self) -> Domain[tuple[Call, ...]]:
        """Every stack of calls that may remain. A change that goes on reads only whether one does."""
        calls: dict[tuple[Frame | Call, ...], None] = {}
        frames: list[tuple[Frame | Call, ...]] = []
        for row in self.stack_frames:
            for end in (row[at:] for at in range(len(row))):
                if all(isinstance(each, Call) for each in end):
                    calls[end] = None
                elif end not in frames:
                    frames.append(end)
        return possibly_empty(either(tuple(calls), *(tuple_of(*map(self.calls_of, end)) for end in frames)))

    def calls_of(self, frame: Frame | Call) -> Domain[Call]:
        """Every call of a frame.

        Raises:
            SpecificationError: a narrowed argument does not exist in its method.
        """
        if isinstance(frame, Call):
            return one_of(frame)
        _, *parameters = signature(frame.method).parameters.values()
        if frame.takes_answer:
            del parameters[0]
        name, narrowed = frame.method.__name__, {**frame.arguments, **self.narrowed_arguments.get(frame.method, {})}
        unknown = narrowed.keys() - {parameter.name for parameter in parameters}
        if unknown:
            raise SpecificationError(f"{name} has no argument {', '.join(sorted(unknown))}")
        types = types_in(frame.method)
        arguments = tuple_of(
            *(
                self.argument(types[parameter.name], narrowed.get(parameter.name))
                for parameter in parameters
                if parameter.default is Parameter.empty or parameter.name in narrowed
            )
        )
        return record(Call, method=(name,), arguments=arguments, runs_after=(frame.runs_after,))

    def argument(self, type_: Any, narrowed: Size | Frame | None) -> Size:
        """The size of an argument."""
        if isinstance(narrowed, Frame):
            return self.calls_of(narrowed)
        if narrowed is not None:
            return narrowed
        if get_origin(type_) in {Sequence, Iterable, Collection} or get_args(type_)[-1:] == (...,):
            return in_order(self.domain_of(get_args(type_)[0]))
        return self.domain_of(type_)
