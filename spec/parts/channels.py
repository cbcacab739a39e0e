"""A controller's channels to brokers, as a part: the queues and threads over which `ControllerChannelManager` works.

The rules are those of `statemachines.controller.channel_manager`. The part does nothing by itself: a system says when
requests are put into the queues, when a thread sends one, and what the broker does with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from election.ids import BrokerId
from spec.language import Domain, Part, Partial, Size, State, at_most, bound, optional, variable
from statemachines.controller.channel_manager import ControllerChannelManager, RequestSendThread
from statemachines.controller.context import ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.messages.control_requests import ControlRequest

__all__ = ["Channels", "ChannelsPart"]


class Channels(State):
    """The channels of one controller; of one that is gone, none [ControllerChannelManager.scala, 3.9]."""

    message_queues: Partial[BrokerId, tuple[ControlRequest, ...]] = variable(
        "What waits for a broker, the first to be sent first."
    )
    request_send_threads: Partial[BrokerId, RequestSendThread] = variable(
        "What the thread of a broker sends, again and again until it is answered."
    )


@dataclass(frozen=True)
class ChannelsPart(Part[Channels]):
    """The channels of one controller.

    Args:
        brokers: those to which there may be one.
        requests: those that may wait.
        waiting: bound: how many may wait for a broker.
        design: how it is done in this release.
        manager: the rules by which channels work.
    """

    brokers: Domain[BrokerId]
    requests: Domain[ControlRequest]
    max_queued_requests: int
    design: ControlDesign
    manager: type[ControllerChannelManager] = ControllerChannelManager

    def sizes(self) -> Mapping[Any, Size]:
        """As it is given."""
        return {
            BrokerId: self.brokers,
            ControlRequest: self.requests,
            tuple[ControlRequest, ...]: at_most(self.max_queued_requests),
            RequestSendThread.request: optional(self.requests),
        }

    def of(self, s: Channels, context: ControllerContext | None = None) -> ControllerChannelManager:
        """The channels, over this state. The context says what an answer is about, where that matters."""
        return self.manager(ControllerContext() if context is None else context, s, self.design)

    def send(self, s: Channels, broker: BrokerId, request: ControlRequest) -> None:
        """A request is put into a queue, if there is one."""
        bound(len(s.message_queues.get(broker, ())) < self.max_queued_requests)
        self.of(s).send_request(broker, request)

    def queued_requests(self, s: Channels, broker: BrokerId) -> tuple[ControlRequest, ...]:
        """What a broker has yet to answer, in order; the first is perhaps being sent."""
        if broker not in s.message_queues:
            return ()
        sending, queue = s.request_send_threads[broker].request, s.message_queues[broker]
        return queue if sending is None else (sending, *queue)

    def are_silent(self, s: Channels) -> bool:
        """Whether nothing waits, and nothing is being sent."""
        return not any(self.queued_requests(s, broker) for broker in self.brokers)

    def are_closed(self, s: Channels) -> bool:
        """Whether there is no channel."""
        return not any(broker in s.message_queues for broker in self.brokers)

    def hand_over(self, s: Channels, to: Channels) -> None:
        """These channels are held elsewhere from now on, and are none here; what was held there is gone."""
        for broker in self.brokers:
            for kept, others in (
                (s.message_queues, to.message_queues),
                (s.request_send_threads, to.request_send_threads),
            ):
                _move(kept, others, broker)


def _move(kept: Any, others: Any, broker: BrokerId) -> None:
    if broker in kept:
        others[broker] = kept.pop(broker)
    else:
        others.pop(broker, None)
