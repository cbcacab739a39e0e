"""Sequences of commands to a controller's channels, drawn choice by choice.

Three brokers, mostly with channels, and requests of each kind, numbered one after another. Impossible commands are
not drawn: a broker that holds nothing answers nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from election.ids import BrokerId
from statemachines.messages.control_requests import (
    ControlRequest,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from statemachines.messages.errors import Errors
from tests.kafka.channel_comparison import (
    AddBroker,
    Answer,
    Break,
    Command,
    Misanswer,
    RemoveBroker,
    Send,
    Shutdown,
    Start,
    Startup,
    Stop,
)

BROKERS: Final = (1, 2, 3)
REQUESTS: Final[Sequence[Callable[[int], ControlRequest]]] = (
    lambda number: LeaderAndIsrRequest(9, number, 101, (), ()),
    lambda number: StopReplicaRequest(9, number, 101, False, ()),
    lambda number: UpdateMetadataRequest(9, number, 101, (), ()),
)
"""The kinds of requests, by number."""
ERRORS: Final = (Errors.NONE, Errors.NONE, Errors.STALE_CONTROLLER_EPOCH, Errors.STALE_BROKER_EPOCH)

Pick = Callable[[int], int]
"""Draws a number below its argument."""


class Drawing:
    """Draws commands, one after another.

    Args:
        pick: draws numbers; small numbers mean simple commands.
    """

    def __init__(self, pick: Pick) -> None:
        self._pick = pick
        self._sent = 0
        self._outstanding: Counter[BrokerId] = Counter()
        """For each broker with a channel, the number of its unanswered requests."""
        self._stopped: set[BrokerId] = set()

    def sequence(self, length: int) -> list[Command]:
        """So many commands. The controller takes over first and resigns last, so that all sent requests are read."""
        commands = [self._startup()]
        while len(commands) < length - 1:
            commands.append(self._command())
        return [*commands, self._shutdown()]

    def _one(self, of: Sequence[Any]) -> Any:
        return of[self._pick(len(of))]

    def _command(self) -> Command:
        """Without any channel, the controller takes over again, or a broker is added."""
        if not self._outstanding:
            return self._startup() if self._pick(2) else self._add()
        holding = [each for each, count in self._outstanding.items() if count and each not in self._stopped]
        draw: Callable[[], Command] = self._one(
            (
                *(self._send,) * 6,
                *(lambda: self._answer(self._one(holding)),) * (8 if holding else 0),
                *(lambda: Break(self._one(holding), self._one((0, 0, 0, 1, 2))),) * (3 if holding else 0),
                *(lambda: Misanswer(self._one(holding)),) * (1 if holding else 0),
                self._stop_or_start,
                self._add,
                self._remove,
                *(self._shutdown,) * (self._pick(4) == 3),
            )
        )
        return draw()

    def _startup(self) -> Command:
        count = self._pick(4)
        brokers = BROKERS[len(BROKERS) - count :]
        self._outstanding.update(dict.fromkeys(brokers, 0))
        return Startup(brokers)

    def _shutdown(self) -> Command:
        self._outstanding.clear()
        return Shutdown()

    def _add(self) -> Command:
        broker = self._one(BROKERS)
        self._outstanding[broker] += 0
        return AddBroker(broker)

    def _remove(self) -> Command:
        """Even a broker without a channel."""
        broker = self._one(BROKERS)
        self._outstanding.pop(broker, None)
        return RemoveBroker(broker)

    def _send(self) -> Command:
        """Even to a broker without a channel."""
        broker = self._one(BROKERS)
        self._sent += 1
        if broker in self._outstanding:
            self._outstanding[broker] += 1
        return Send(broker, self._one(REQUESTS)(self._sent))

    def _answer(self, broker: BrokerId) -> Command:
        self._outstanding[broker] -= 1
        return Answer(broker, self._one(ERRORS))

    def _stop_or_start(self) -> Command:
        broker = self._one(BROKERS)
        self._stopped ^= {broker}
        return Stop(broker) if broker in self._stopped else Start(broker)
