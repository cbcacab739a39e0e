"""A broker that receives controllers' requests, as a part: it knows the highest epoch, and refuses lower ones.

A request is reduced to its controller epoch. Requests may be reordered. A system says when one is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from election.ids import ControllerEpoch
from spec.language import (
    Domain,
    Grid,
    Look,
    Part,
    Size,
    State,
    Step,
    Tag,
    Tags,
    action,
    picture,
    require,
    say,
    transition_invariant,
    variable,
    view,
)
from statemachines.controller.design import accepts_controller_epoch


class Receiver(State):
    """The knowledge of such a broker, and the requests on their way to it."""

    requests: frozenset[ControllerEpoch] = variable(
        "The controller epochs of the requests on their way to the broker, in no order."
    )
    known_epoch: ControllerEpoch = variable(
        "The highest controller epoch that the broker has seen. [ReplicaManager.controllerEpoch]"
    )


@dataclass(frozen=True)
class ReceiverPart(Part[Receiver]):
    """A broker that receives the requests of every controller.

    Args:
        epochs: every possible controller epoch.
        exists: whether there is such a broker; if not, requests are dropped.
    """

    epochs: Domain[ControllerEpoch]
    exists: bool = True

    def sizes(self) -> Mapping[Any, Size]:
        """The epochs; only the first one if there is no such broker."""
        return {ControllerEpoch: self.epochs if self.exists else (0,)}

    def send(self, s: Receiver, epoch: ControllerEpoch) -> None:
        """A controller sends a request under this epoch."""
        if self.exists:
            s.requests |= {epoch}

    def accepts(self, s: Receiver, epoch: ControllerEpoch) -> bool:
        """Whether the broker accepts a request of this epoch."""
        return accepts_controller_epoch(s.known_epoch, epoch)

    @action(when=lambda self: self.exists, actor="a broker")
    def deliver_request(self, s: Receiver, epoch: ControllerEpoch) -> None:
        """A broker receives a controller's request, and refuses it if it knows of a newer controller."""
        require(epoch in s.requests)
        s.requests -= {epoch}
        if self.accepts(s, epoch):
            say("accepted")
            s.known_epoch = epoch
        else:
            say("STALE_CONTROLLER_EPOCH")

    @transition_invariant(when=lambda self: self.exists)
    def broker_sees_monotone(self, before: Receiver, step: Step, after: Receiver) -> bool:
        """C6: the controller epoch that a broker knows never decreases."""
        return before.known_epoch <= after.known_epoch

    @view
    def requests_under_way(self, s: Receiver) -> str:
        """The controllers' requests on their way to the receiving broker."""
        epochs = " and ".join(map(str, s.requests))
        return f"requests under epoch {epochs} are on their way to a broker" if epochs else ""

    @view
    def fenced_requests(self, s: Receiver) -> str:
        """The requests that the receiving broker refuses."""
        return f"the receiving broker refuses requests below epoch {s.known_epoch}" if s.known_epoch else ""

    @picture(when=lambda self: self.exists)
    def channel(self, s: Receiver) -> Grid:
        """The controllers' requests on their way to a broker; those that it would refuse are struck out."""
        requests = [
            Tag(
                f"epoch {epoch}",
                Look.plain if self.accepts(s, epoch) else Look.gone,
                "as the broker would decide now",
            )
            for epoch in sorted(s.requests)
        ]
        return Grid(("to", "on their way", "epoch it knows"), [("a broker", Tags(requests), s.known_epoch)])
