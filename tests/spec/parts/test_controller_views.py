"""Views and pictures of competing brokers in a trace."""

from __future__ import annotations

from typing import Any

from spec.language import Look
from spec.parts.controller_views import belief, draw_controllers, intent
from statemachines.controller.controller_process import ControllerProcess
from statemachines.controller.threads import ControllerStep
from tests.rows import rows
from tests.statemachines.controllers import at


@rows(
    "known, named, said",
    [
        ({}, 1, "does not believe it is controller"),
        (
            {"epoch": 1, "partition_state_version": 0},
            1,
            "does not believe it is controller, but acts as one under epoch 1",
        ),
        ({"active": True}, 0, "believes it is controller, without an epoch yet"),
        ({"active": True, "epoch": 2}, 0, "is controller, under epoch 2"),
        ({"active": True, "epoch": 1}, 0, "believes it is controller, under epoch 1, which is over"),
        ({"active": True, "epoch": 1}, 1, "still believes it is controller, under epoch 1, which is over"),
        ({"active": True, "epoch": 2}, 1, "still believes it is controller beside broker 1, under epoch 2"),
        ({"active": True, "epoch": 2}, None, "still believes it is controller, under epoch 2"),
    ],
)
def test_a_brokers_belief_is_compared_with_zookeeper(known: dict[str, Any], named: int, said: str) -> None:
    """With the epoch in ZooKeeper, which is 2, and the broker in /controller."""
    assert belief(0, at(**known), named, 2) == f"broker 0 {said}"


def test_a_broker_that_is_not_running_believes_nothing() -> None:
    """For any broker in /controller."""
    assert belief(0, ControllerProcess(), 0, 2) == "broker 0 is not running"


@rows(
    "do, known, said",
    [
        (ControllerStep.Elect, {}, ""),
        (ControllerStep.CreateController, {}, "create /controller"),
        (ControllerStep.RegisterController, {"epoch": 2}, "create /controller and increment the epoch from 2"),
        (
            ControllerStep.IncrementEpoch,
            {"epoch": 1},
            "increment the epoch from 1, unaware that the epoch is now 2",
        ),
        (
            ControllerStep.UpdateLeaderAndIsr,
            {"epoch": 2, "state_version": 3},
            "write the partition's state under epoch 2",
        ),
        (
            ControllerStep.UpdateLeaderAndIsr,
            {"epoch": 2, "state_version": 1},
            "write the partition's state under epoch 2, unaware that it has been written since",
        ),
        (ControllerStep.DeleteController, {}, "delete /controller, which names broker 1"),
    ],
)
def test_a_brokers_next_write_is_compared_to_zookeeper(do: ControllerStep, known: dict[str, Any], said: str) -> None:
    """The epoch is 2, the partition's state was written three times, and /controller names broker 1."""
    assert intent(0, at(do, **known), 1, 2, 3) == (f"broker 0 is about to {said}" if said else "")


def test_a_controller_with_an_old_epoch_is_drawn_as_an_error() -> None:
    """Next to the valid controller, and a broker that is not running."""
    brokers = {0: at(active=True, epoch=1), 1: at(active=True, epoch=2), 2: ControllerProcess()}
    old, new, gone = (tuple(row) for row in draw_controllers(brokers, 2).rows)
    assert (old[1].look, new[1].look, gone[0].look, gone[1]) == (Look.wrong, Look.strong, Look.gone, "")
