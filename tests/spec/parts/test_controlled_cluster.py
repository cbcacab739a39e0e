"""Systems that have a controller's state machines: these log nothing, since exploration does each step many times."""

from __future__ import annotations

from typing import Any

import pytest

from spec.checking import check
from spec.loading import system_named
from statemachines.zk_state_machine import ZkStateMachine

SYSTEMS = ("partitions", "reassignment", "topic-deletion", "control-requests")


@pytest.mark.parametrize("system", SYSTEMS)
def test_an_exploration_has_no_log(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So nothing is looked up for a message that nobody reads."""
    logs: set[Any] = set()
    init = ZkStateMachine.__init__

    def noted(self: ZkStateMachine, *arguments: Any, **named: Any) -> None:
        init(self, *arguments, **named)
        logs.add(self.log)

    monkeypatch.setattr(ZkStateMachine, "__init__", noted)
    check(system_named(system), engine="reference", max_states=50)
    assert logs == {None}
