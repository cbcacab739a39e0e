"""A bounded queue between threads, and the notification that wakes the wrong thread.

Producers wait while the queue is full, consumers while it is empty, all on one condition variable. A thread changes
the queue under a lock, so in one step, and then notifies. `--set notify=one` wakes any one thread. A consumer that
has made room may then wake a consumer, which finds the queue empty and waits again while the producers sleep on; in
the end every thread waits. `all` wakes all, `other` one of the other kind, as if there were two condition variables.
Left
out: interrupts, spurious wake-ups, and competition for the lock by a thread that was woken.

BlockingQueue of Markus Kuppe, after Michel Charpentier, as TLC counts it (github.com/lemmy/BlockingQueue). With
`one`, all threads wait after 8 steps at the earliest (2 producers, 1 consumer, 1 place), after 46 (4, 3 and 3), or
never, if twice the places are at least as many as the threads. With `other`, 4, 3 and 3 make 1,600 distinct states,
12,313 generated.
"""

from typing import Annotated, Any

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

Producer = Annotated[str, "a producer"]
Consumer = Annotated[str, "a consumer"]


class Queue(State):
    """A queue and the threads that wait for it."""

    elements: tuple[Producer, ...] = variable("Elements in the queue, oldest first; each is its producer.")
    waiting: frozenset[Producer | Consumer] = variable("The threads that wait on the condition variable.")


class BoundedQueue(Specification[Queue]):
    """Threads put elements into a queue that holds few, and take them out."""

    leaves_out = "interrupts, spurious wake-ups, the competition for the lock"

    producers: int = constant(2, "Threads that put elements into the queue.", at_least=1)
    consumers: int = constant(1, "Threads that take elements out of it.", at_least=1)
    places: int = constant(1, "Elements that the queue holds.", at_least=1)
    notify: str = switch("other", "Which threads are woken.", among=["one", "all", "other"])

    def sizes(self) -> dict[Any, Size]:
        """Producers are p1, p2, consumers c1, c2."""
        return {
            Producer: interchangeable("producer", [f"p{number + 1}" for number in range(self.producers)]),
            Consumer: interchangeable("consumer", [f"c{number + 1}" for number in range(self.consumers)]),
            tuple[Producer, ...]: at_most(self.places),
        }

    @action
    def put(self, s: Queue, producer: Producer, woken: Producer | Consumer | None) -> None:
        """A producer puts an element into the queue, and notifies."""
        require(producer not in s.waiting and len(s.elements) < self.places)
        s.elements += (producer,)
        self.wake(s, woken, {*self.domain_of(Consumer)})

    @action
    def wait_for_a_place(self, s: Queue, producer: Producer) -> None:
        """A producer finds the queue full, and waits."""
        require(producer not in s.waiting and len(s.elements) == self.places)
        s.waiting |= {producer}

    @action
    def take(self, s: Queue, consumer: Consumer, woken: Producer | Consumer | None) -> None:
        """A consumer takes the oldest element, and notifies."""
        require(consumer not in s.waiting and s.elements)
        s.elements = s.elements[1:]
        self.wake(s, woken, {*self.domain_of(Producer)})

    @action
    def wait_for_an_element(self, s: Queue, consumer: Consumer) -> None:
        """A consumer finds the queue empty, and waits."""
        require(consumer not in s.waiting and not s.elements)
        s.waiting |= {consumer}

    def wake(self, s: Queue, woken: str | None, others: set[str]) -> None:
        """All waiting threads wake, or one of the candidates, if any waits."""
        if self.notify == "all":
            require(woken is None)
            s.waiting = frozenset()
        else:
            asleep = s.waiting & others if self.notify == "other" else s.waiting
            require(woken in asleep if asleep else woken is None)
            s.waiting -= {woken}

    @invariant
    def a_thread_runs(self, s: Queue) -> bool:
        """Not every thread waits."""
        return len(s.waiting) < self.producers + self.consumers

    @sometimes
    def no_producer_runs(self, s: Queue) -> bool:
        """All producers wait."""
        return s.waiting >= {*self.domain_of(Producer)}

    @sometimes
    def no_consumer_runs(self, s: Queue) -> bool:
        """All consumers wait."""
        return s.waiting >= {*self.domain_of(Consumer)}
