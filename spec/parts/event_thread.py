"""The event that a controller processes, as a part: the variables in which what is left of it is kept.

What is left of an event is a value, `EventWaiting`: what is awaited, and a stack of calls (decision 0024). The part
says how large it is. Each part of a controller says which stacks may be left of its events, as rows of `Frame`s, and
a system puts them together (`stack_frames_of`). A frame is of a method; of a row that may be left its end may be,
too. A call stands for itself. The arguments that a call of a frame may have follow from how the parameters of its
method are annotated:

    broker: BrokerId                        a broker
    partitions: Sequence[TopicPartition]    partitions, none twice, in their order; so it is for Iterable, tuple
    following: Call                         what the frame says
    strategy: ... = None                    not given, unless the frame says how large it is

A frame can narrow each of them, and a system those of a frame. What is missing is found by `type_ok` when an event
leaves it.

A change that is over is left as well, where the controller goes change by change.

Left out: what has been answered to who asked for the event; requests to brokers that cannot be sent, so that no event
has another controller elected.
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

__all__ = ["EventThread", "EventThreadPart", "WaitingChange", "in_order", "stack_frames_of"]

WaitingChange: TypeAlias = PartitionStateChange | ReplicaStateChange | AlteringPartitions
"""What of an event may wait for ZooKeeper."""


def stack_frames_of(*parts: type[EventDriver]) -> StackFrames:
    """What may be left of the events of these parts of a controller."""
    return tuple(row for part in parts for row in part.STACK_FRAMES)


def in_order(values: Iterable[Any]) -> Domain[tuple[Any, ...]]:
    """Every tuple of some of these values, none twice, in their order; the empty one first.

    >>> list(in_order("ab"))
    [(), ('a',), ('b',), ('a', 'b')]
    """
    all_of_them = tuple(values)
    return one_of(*(some for length in range(len(all_of_them) + 1) for some in combinations(all_of_them, length)))


class EventThread(State):
    """The event that a controller processes [ControllerEventThread]; of one that has nothing to do, nothing."""

    partition_change: PartitionStateChange | None = variable(
        "A change of partitions that waits for ZooKeeper.", of=lambda self: optional(self.partition_change_domain)
    )
    replica_change: ReplicaStateChange | None = variable(
        "A change of replicas that waits for ZooKeeper.", of=lambda self: optional(self.replica_change_domain)
    )
    isr_change: AlteringPartitions | None = variable(
        "A leader's request to change an ISR that waits for ZooKeeper.", of=lambda self: self.isr_change_or_none
    )
    change_done: ChangeDone | None = variable("A change that is over, and more is to be done.")
    next_call: Call | None = variable("The call that takes what the change comes to.", of=lambda self: self.following)
    calls: Calls = variable("What is made after it.", of=lambda self: self.following_stacks)

    @property
    def waiting(self) -> WaitingChange | None:
        """What waits for ZooKeeper."""
        return self.partition_change or self.replica_change or self.isr_change


@dataclass(frozen=True)
class EventThreadPart(Part[EventThread]):
    """What is left of a controller's event.

    Args:
        type_sizes: the sizes of the types in it, as the system has them.
        partition_change_domain: every change of partitions that may wait.
        replica_change_domain: every change of replicas that may wait.
        resume_frames: the calls that may be made with what is awaited.
        stack_frames: the stacks of calls that may be made after it. So may be the end of each, and none.
        isr_change_domain: every request of a leader that may wait; None: leaders ask for nothing that waits.
        narrowed: by method and argument, the sizes of those of its frames that are narrower in this system.
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

    # What is left.

    def event_waiting(self, s: EventThread) -> EventWaiting | None:
        """What is left of the event; None: there is none."""
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
        """So much is left of the event; what a change came to, as far as a call takes it."""
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
        """What is left of the event that the controller processes: what it waits for, then the calls that follow."""
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

    # How large it is.

    @property
    def isr_change_or_none(self) -> Domain[AlteringPartitions | None]:
        """Every request of a leader that may wait, and that there is none."""
        return one_of(None) if self.isr_change_domain is None else optional(self.isr_change_domain)

    @property
    def following(self) -> Domain[Call | None]:
        """Every call that may be made with what is awaited."""
        return optional(either(*map(self.calls_of, self.resume_frames)))

    @property
    def following_stacks(self) -> Domain[tuple[Call, ...]]:
        """Every stack of calls that may be left; a change that goes on needs to know no more than whether one is."""
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
            SpecificationError: its method has no argument that is narrowed.
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
        """How large an argument is."""
        if isinstance(narrowed, Frame):
            return self.calls_of(narrowed)
        if narrowed is not None:
            return narrowed
        if get_origin(type_) in {Sequence, Iterable, Collection} or get_args(type_)[-1:] == (...,):
            return in_order(self.domain_of(get_args(type_)[0]))
        return self.domain_of(type_)
