"""A broker that receives controllers' requests, as a part: alone, with a world that sends arbitrary requests."""

from __future__ import annotations

from spec.checking import check
from spec.language import Specification, State, action, bound, constant, integers, invariant, part
from spec.parts.receiver import Receiver, ReceiverPart


class World(State):
    """A system with one such broker."""

    receiver: Receiver


class Sending(Specification[World]):
    """Controllers of three epochs send requests."""

    exists: bool = constant(True, "Whether there is a broker to receive them.")

    @part
    def receiver(self) -> ReceiverPart:
        """It receives all of them."""
        return ReceiverPart(epochs=integers(0, 3), exists=self.exists)

    @action(epoch=range(1, 4))
    def send(self, s: World, epoch: int) -> None:
        """A controller sends a request."""
        bound(not s.receiver.requests)
        self.receiver.send(s.receiver, epoch)

    @invariant
    def epoch_unknown(self, s: World) -> bool:
        """The broker has not heard of the newest controller."""
        return s.receiver.known_epoch < 3


def test_older_requests_are_refused() -> None:
    """The broker answers with the error; it accepts the same request again."""
    result = check(Sending(), engine="reference", keep_going=True)
    assert {each.name: each.verdict for each in result.properties} == {
        "type_ok": "holds",
        "epoch_unknown": "violated",
        "receiver.broker_sees_monotone": "holds",
    }
    assert result.distinct_states == 4 * 4  # a known epoch, and none or one of three on its way
    assert result.counterexample is not None
    assert result.counterexample.steps[-1].sentences == ("accepted",)
    assert result.counterexample.steps[-1].views == ("the receiving broker refuses requests below epoch 3",)


def test_without_a_broker_nothing_is_sent() -> None:
    """No request is on its way, and none arrives."""
    system = Sending(exists=False)
    assert [each.name for each in system.actions] == ["send"]
    result = check(system, engine="reference", properties=["epoch_unknown"])
    assert (result.verdict, result.distinct_states) == ("holds", 1)
