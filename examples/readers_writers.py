"""Readers and writers: many may read at a time, but a writer is alone; a queue serves them in turn.

An actor that wants to read or write joins the queue. The first in the queue is let in if no actor writes; a writer
must also wait until no actor reads. Otherwise it would change what others are reading (`--without wait_for_readers`).

An actor may wait to read and to write at once, and may ask again while it reads or writes. Left out: what is read and
written, and actors that give up.

Readers and writers, as TLC counts it: 21,527 distinct states with three actors, 59,674 generated, depth 13
[tlaplus/Examples, specifications/ReadersWriters/ReadersWriters.tla, model MC.cfg].
"""

from typing import Annotated, Any, Literal, NamedTuple

from spec.language import (
    Size,
    Specification,
    State,
    action,
    at_most,
    constant,
    interchangeable,
    invariant,
    require,
    sometimes,
    switch,
    variable,
)

Actor = Annotated[int, "an actor"]


class Request(NamedTuple):
    """An actor waits for its turn to read or write."""

    kind: Literal["read", "write"]
    actor: Actor


class Access(State):
    """Actors inside, and actors that wait."""

    readers: frozenset[Actor] = variable("The actors that read.")
    writers: frozenset[Actor] = variable("The actors that write.")
    waiting: tuple[Request, ...] = variable("The queue, oldest request first.")


class ReadersWriters(Specification[Access]):
    """A queue lets readers and writers in."""

    leaves_out = "the data that is read and written, actors that give up"

    actors: int = constant(3, "Actors.", at_least=2)
    wait_for_readers: bool = switch(True, "A writer waits until no one reads.")

    def sizes(self) -> dict[Any, Size]:
        """Actors are interchangeable; each has at most one request of each kind in the queue."""
        return {
            Actor: interchangeable("actor", range(1, self.actors + 1)),
            tuple[Request, ...]: at_most(2 * self.actors),
        }

    @action
    def ask(self, s: Access, request: Request) -> None:
        """An actor joins the queue."""
        require(request not in s.waiting)
        s.waiting += (request,)

    @action
    def let_in(self, s: Access) -> None:
        """The first in the queue begins to read or write."""
        require(s.waiting and not s.writers)
        (kind, actor), *rest = s.waiting
        if kind == "read":
            s.readers |= {actor}
        else:
            require(not s.readers or not self.wait_for_readers)
            s.writers |= {actor}
        s.waiting = tuple(rest)

    @action
    def stop(self, s: Access, actor: Actor) -> None:
        """An actor has read or written."""
        require(actor in s.readers | s.writers)
        s.readers -= {actor}
        s.writers -= {actor}

    @invariant
    def writers_are_alone(self, s: Access) -> bool:
        """While an actor writes, no other writes, and none reads."""
        return not s.writers or (len(s.writers) == 1 and not s.readers)

    @sometimes
    def all_read(self, s: Access) -> bool:
        """All read at the same time."""
        return len(s.readers) == self.actors

    @sometimes
    def a_writer_waits(self, s: Access) -> bool:
        """A writer is the first in the queue, and waits for readers."""
        return bool(s.readers and s.waiting) and s.waiting[0].kind == "write"
