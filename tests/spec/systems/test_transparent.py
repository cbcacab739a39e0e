"""Every shipped system is explored at full speed: none of its rules is opaque, whatever code it calls."""

from __future__ import annotations

from functools import partial

import pytest

from spec.atlas.instances import PinnedInstance, instances
from spec.atlas.loading import system_named
from spec.checking import check
from spec.checking import model as model_module
from spec.checking.code.hidden_state import HiddenState
from spec.checking.local import plain_comparison
from spec.checking.local.transparency import Executed, opaque
from spec.checking.model import Model
from tests.tiers import long_unless

EACH = {instance.system: instance for instance in instances()}
"""One of each system."""
MORE = [each for each in instances() if each.constants.get("rebalances")][:1]
"""Instances whose rules call more code."""


@pytest.mark.parametrize("instance", [*EACH.values(), *MORE], ids=lambda instance: instance.name)
def test_no_rule_is_opaque(instance: PinnedInstance) -> None:
    """An opaque rule is always evaluated on plain values, which takes several times as long."""
    assert opaque(Model(instance.specification()), inspects=True) == {}


@pytest.mark.parametrize(
    "instance",
    long_unless(lambda instance: instance.system in {"replication", "controller-election"}, EACH.values()),
    ids=lambda instance: instance.name,
)
def test_it_keeps_nothing_and_runs_no_other_code(instance: PinnedInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    """So a check need neither inspect nor watch our own code, nor compare what our modules hold."""
    monkeypatch.setattr(model_module, "HiddenState", partial(HiddenState, inspects=True))
    monkeypatch.setattr(plain_comparison, "Executed", lambda model: Executed(model, watches=True))
    assert check(instance.specification(), engine="local", max_states=2_000).opaque_rules == ()


def test_our_own_code_can_be_inspected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above would notice what a module keeps."""
    hidden_state = HiddenState(system_named("topic-deletion")(), inspects=True)
    assert hidden_state.changed() == ""
    monkeypatch.setattr("spec.systems.topic_deletion.state.CONTROLLER_EPOCH", "elsewhere")
    assert "CONTROLLER_EPOCH" in hidden_state.changed()
