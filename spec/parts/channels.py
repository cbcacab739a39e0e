"""A controller's channels to brokers, as a part: the queues and threads over which `ControllerChannelManager` works.

The rules are those of `statemachines.controller.channel_manager`. The part has no actions: a system says when
requests enter the queues, when a thread sends one, and how the broker handles it.
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


class Channels(State):
    """The channels of one controller; none once the controller is gone [ControllerChannelManager.scala, 3.9]."""

    message_queues: Partial[BrokerId, tuple[ControlRequest, ...]] = variable(
        "The requests that wait for a broker, in the order of sending."
    )
    request_send_threads: Partial[BrokerId, RequestSendThread] = variable(
        "The request that a broker's thread sends repeatedly until the answer arrives."
    )


@dataclass(frozen=True)
class ChannelsPart(Part[Channels]):
    """The channels of one controller.

    Args:
        brokers: the brokers that may have a channel.
        requests: the requests that may wait.
        max_queued_requests: bound: how many may wait for a broker.
        design: the design of this release.
        manager: the rules of channels.
    """

    brokers: Domain[BrokerId]
    requests: Domain[ControlRequest]
    max_queued_requests: int
    design: ControlDesign
    manager: type[ControllerChannelManager] = ControllerChannelManager

    def sizes(self) -> Mapping[Any, Size]:
        """As the arguments say."""
        return {
            BrokerId: self.brokers,
            ControlRequest: self.requests,
            tuple[ControlRequest, ...]: at_most(self.max_queued_requests),
            RequestSendThread.request: optional(self.requests),
        }

    def of(self, s: Channels, context: ControllerContext | None = None) -> ControllerChannelManager:
        """The channels, over this state. The context is needed only where answers matter."""
        return self.manager(ControllerContext() if context is None else context, s, self.design)

    def send(self, s: Channels, broker: BrokerId, request: ControlRequest) -> None:
        """Put a request into a broker's queue, if there is one."""
        bound(len(s.message_queues.get(broker, ())) < self.max_queued_requests)
        self.of(s).send_request(broker, request)

    def queued_requests(self, s: Channels, broker: BrokerId) -> tuple[ControlRequest, ...]:
        """The requests that a broker has yet to answer, in order; the first may be in transit."""
        if broker not in s.message_queues:
            return ()
        sending, queue = s.request_send_threads[broker].request, s.message_queues[broker]
        return queue if sending is None else (sending, *queue)

    def are_silent(self, s: Channels) -> bool:
        """Whether no request waits or is in transit."""
        return not any(self.queued_requests(s, broker) for broker in self.brokers)

    def are_closed(self, s: Channels) -> bool:
        """Whether there is no channel."""
        return not any(broker in s.message_queues for broker in self.brokers)

    def hand_over(self, s: Channels, to: Channels) -> None:
        """Move these channels into another variable, whose former channels are dropped."""
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
