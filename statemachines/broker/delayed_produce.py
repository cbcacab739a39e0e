"""DelayedProduces: the producers with acks=all that wait for their records to be committed.

[DelayedProduce.scala, DelayedOperationPurgatory, 0.10.1 to 3.9]
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Final, NamedTuple

from statemachines.broker.partition import Milliseconds
from statemachines.messages.errors import Errors
from statemachines.messages.produce import Produced
from statemachines.messages.records import Offset
from statemachines.messages.topic_partition import TopicPartition

TIMEOUT_MS: Final[Milliseconds] = 30_000
"""How long a producer waits, by default [request.timeout.ms of Kafka's producer]."""


class DelayedProduce(NamedTuple):
    """A producer that waits."""

    required: Offset
    """The high watermark that it waits for."""
    produced: Produced
    expires: Milliseconds


class DelayedProduces:
    """The producers that wait at one broker."""

    def __init__(self) -> None:
        self._waiting: dict[TopicPartition, list[DelayedProduce]] = {}

    def watch(self, partition: TopicPartition, required: Offset, produced: Produced, now: Milliseconds) -> None:
        """A producer begins to wait until the high watermark is at this offset."""
        self._waiting.setdefault(partition, []).append(DelayedProduce(required, produced, now + TIMEOUT_MS))

    def complete(
        self, partition: TopicPartition, outcome: Callable[[TopicPartition, DelayedProduce], Errors | None]
    ) -> None:
        """Answer the producers of a partition [checkAndComplete]; one without an outcome waits on."""
        for each in self._waiting.pop(partition, ()):
            error = outcome(partition, each)
            if error is None:
                self._waiting.setdefault(partition, []).append(each)
            elif error is Errors.NONE:
                each.produced.offset = each.required - 1
            else:
                each.produced.error = error

    def forget(self) -> None:
        """The process ends without an answer."""
        for each in chain.from_iterable(self._waiting.values()):
            each.produced.error = Errors.NETWORK_EXCEPTION

    # Time.

    @property
    def next_expiration(self) -> Milliseconds | None:
        """When the first of them hears that its time is over; None if none waits."""
        return min((each.expires for each in chain.from_iterable(self._waiting.values())), default=None)

    def expire(self, now: Milliseconds) -> None:
        """Answer those whose time is over. Their records stay in the log."""
        for partition in tuple(self._waiting):
            self.complete(partition, lambda _, each: Errors.REQUEST_TIMED_OUT if each.expires <= now else None)

    def put_off(self, time: Milliseconds) -> None:
        """They wait so much longer."""
        for partition, waiting in self._waiting.items():
            self._waiting[partition] = [each._replace(expires=each.expires + time) for each in waiting]
