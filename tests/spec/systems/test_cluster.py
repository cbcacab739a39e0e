"""Systems that have a controller's state machines: these log nothing, since exploration does each step many times."""

from __future__ import annotations

from typing import Any

import pytest

from spec.atlas.loading import system_named
from spec.checking import check
from statemachines.controller.zk_state_machine import ZkStateMachine

LOGS: set[Any] = set()
SYSTEMS = ("partitions", "reassignment", "topic-deletion", "control-requests")


@pytest.mark.parametrize("system", SYSTEMS)
def test_an_exploration_has_no_log(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So nothing is looked up for a message that nobody reads."""
    init = ZkStateMachine.__init__

    def noted(self: ZkStateMachine, *arguments: Any, **named: Any) -> None:
        init(self, *arguments, **named)
        globals()["LOGS"].add(self.log)  # where it is not taken for what a system keeps

    LOGS.clear()
    monkeypatch.setattr(ZkStateMachine, "__init__", noted)
    check(system_named(system), engine="reference", max_states=50)
    assert {None} == LOGS
