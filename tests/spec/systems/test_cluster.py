"""Systems with a controller's state machines log nothing, because exploration repeats each step many times."""

from __future__ import annotations

from typing import Any

import pytest

from spec.atlas.loading import system_named
from spec.checking import check
from statemachines.controller.zk_state_machine import ZkStateMachine

SYSTEMS = ("partitions", "reassignment", "topic-deletion", "control-requests")


@pytest.mark.parametrize("system", SYSTEMS)
def test_an_exploration_has_no_log(
    system: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """So no time is spent on messages that nothing reads."""
    init = ZkStateMachine.__init__

    def noted(self: ZkStateMachine, *arguments: Any, **named: Any) -> None:
        init(self, *arguments, **named)
        print(self.log)  # the language refuses whatever would keep it

    monkeypatch.setattr(ZkStateMachine, "__init__", noted)
    check(system_named(system), engine="reference", max_states=50)
    assert {*capsys.readouterr().out.splitlines()} == {"None"}
