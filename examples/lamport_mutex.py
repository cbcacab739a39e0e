"""Lamport's mutual exclusion: processes without a coordinator enter a critical section one at a time.

A process that wants to enter sends a request, with the time of its logical clock, to all others, and waits until all
have acknowledged it. It enters if its request goes before all others that it knows of: the lower time goes first, and
if times are equal, the lower number of a process. A process that leaves tells the others that its request is done.
Without this order, two processes whose requests are acknowledged could both enter (`--without in_order`).

Messages between two processes arrive in the order in which they were sent. Left out: crashes, lost messages.

Leslie Lamport, Time, Clocks and the Ordering of Events in a Distributed System (1978), as TLC counts it: 724,274
distinct states with three processes and clocks of at most 6, depth 61 [tlaplus/Examples,
specifications/lamport_mutex/LamportMutex.tla, model MCLamportMutex.cfg].
"""

from typing import Annotated, Any, Literal, NamedTuple

from spec.language import (
    Size,
    Specification,
    State,
    Total,
    action,
    at_most,
    bound,
    constant,
    invariant,
    require,
    sometimes,
    switch,
    variable,
)

Process = Annotated[int, "a process"]
Clock = Annotated[int, "a logical clock"]


class Request(NamedTuple):
    """A process asks to enter, at a time of its clock."""

    clock: Clock


Message = Request | Literal["acknowledge", "release"]


class Processes(State):
    """Processes, and the messages between them; a request is known by the time of its sender's clock."""

    clock: Total[Process, Clock] = variable("The clock of each process.")
    requests: Total[tuple[Process, Process], Clock | None] = variable("The second's request, known to the first.")
    acknowledged: Total[Process, frozenset[Process]] = variable("Those that acknowledged each request.")
    network: Total[tuple[Process, Process], tuple[Message, ...]] = variable("Messages from the first to the second.")
    critical: frozenset[Process] = variable("The processes in the critical section.")


class LamportMutex(Specification[Processes]):
    """Processes enter a critical section in the order of their requests."""

    leaves_out = "crashes, lost messages"

    processes: int = constant(2, "Processes.", at_least=2)
    clocks: int = constant(6, "Bound: the highest clock.", at_least=1)
    in_order: bool = switch(True, "A process enters only if its request goes before all others.")

    def sizes(self) -> dict[Any, Size]:
        """Between two processes, at most one message of each kind is on its way."""
        return {
            Process: range(1, self.processes + 1),
            Clock: range(1, self.clocks + 1),
            tuple[Message, ...]: at_most(3),
        }

    def broadcast(self, s: Processes, sender: Process, message: Message) -> None:
        """A process sends a message to all others."""
        for receiver in s.clock:
            if receiver != sender:
                s.network[sender, receiver] += (message,)

    def take(self, s: Processes, receiver: Process, sender: Process) -> Message:
        """A process takes the oldest message from another."""
        require(s.network[sender, receiver])
        message, *rest = s.network[sender, receiver]
        s.network[sender, receiver] = tuple(rest)
        return message

    def goes_first(self, s: Processes, process: Process, other: Process) -> bool:
        """Whether a process knows of no earlier request of another."""
        own, theirs = s.requests[process, process], s.requests[process, other]
        return theirs is None or (own is not None and (own, process) < (theirs, other))

    @action
    def request(self, s: Processes, process: Process) -> None:
        """A process asks all others whether it may enter."""
        require(s.requests[process, process] is None)
        s.requests[process, process] = s.clock[process]
        s.acknowledged[process] = frozenset({process})
        self.broadcast(s, process, Request(s.clock[process]))

    @action(actor="process")
    def receive_request(self, s: Processes, process: Process, sender: Process, clock: Clock) -> None:
        """A process notes a request, sets its clock past that of the request, and acknowledges."""
        require(self.take(s, process, sender) == Request(clock))
        bound(max(clock, s.clock[process]) < self.clocks)
        s.requests[process, sender] = clock
        s.clock[process] = max(clock, s.clock[process]) + 1
        s.network[process, sender] += ("acknowledge",)

    @action(actor="process")
    def receive_acknowledgement(self, s: Processes, process: Process, sender: Process) -> None:
        """A process's request is acknowledged."""
        require(self.take(s, process, sender) == "acknowledge")
        s.acknowledged[process] |= {sender}

    @action(actor="process")
    def receive_release(self, s: Processes, process: Process, sender: Process) -> None:
        """A process hears that another has left the critical section."""
        require(self.take(s, process, sender) == "release")
        s.requests[process, sender] = None

    @action
    def enter(self, s: Processes, process: Process) -> None:
        """A process enters: all have acknowledged its request, and it goes before the others that it knows."""
        require(len(s.acknowledged[process]) == self.processes)
        others = s.clock.keys() - {process}
        require(not self.in_order or all(self.goes_first(s, process, other) for other in others))
        s.critical |= {process}

    @action
    def leave(self, s: Processes, process: Process) -> None:
        """A process leaves the critical section, and releases its request."""
        require(process in s.critical)
        s.critical -= {process}
        s.requests[process, process] = None
        s.acknowledged[process] = frozenset()
        self.broadcast(s, process, "release")

    @invariant
    def mutual_exclusion(self, s: Processes) -> bool:
        """At most one process is in the critical section."""
        return len(s.critical) <= 1

    @sometimes
    def another_waits(self, s: Processes) -> bool:
        """A process is in the critical section, and all have acknowledged the request of another."""
        ready = {each for each, known in s.acknowledged.items() if len(known) == self.processes}
        return bool(s.critical and ready - s.critical)

    @sometimes
    def clocks_are_equal(self, s: Processes) -> bool:
        """Two processes ask at the same time of their clocks; their numbers decide."""
        return s.requests[1, 1] is not None and s.requests[1, 1] == s.requests[2, 2]
