"""A broker's requests as actions: the lane of each in a sequence diagram."""

from __future__ import annotations

import pytest

from spec.systems.controller import ControllerLife
from statemachines.controller.threads import METHODS, ControllerStep

PROCESS, CONTROLLER, THREAD = "broker", "controller of broker {broker}", "ZkEventThread of broker {broker}"


@pytest.mark.parametrize(("release", "registers"), [("0.10.2", PROCESS), ("1.0", THREAD), ("3.9", PROCESS)])
def test_a_broker_registers_itself_and_its_controller_does_the_rest(release: str, registers: str) -> None:
    """In 0.11 and 1.0, ZkEventThread continues in parallel with the controller's thread."""
    lanes = {each.name: each.actor for each in ControllerLife.of(**ControllerLife.releases[release]).actions}
    assert (
        lanes[METHODS[ControllerStep.RegisterBroker]] == lanes[METHODS[ControllerStep.CheckRegistration]] == registers
    )
    assert {
        lanes[METHODS[do]]
        for do in (ControllerStep.Elect, ControllerStep.ReadEpoch, ControllerStep.UpdateLeaderAndIsr)
    } == {CONTROLLER}
