"""Every shipped system is explored at full speed: none of its rules is opaque, whatever code it calls."""

from __future__ import annotations

import pytest

from spec.atlas.instances import PinnedInstance, instances
from spec.checking import check
from spec.checking.local import plain_comparison
from spec.checking.local.transparency import Executed, opaque
from spec.checking.model import Model

EACH = {instance.system: instance for instance in instances()}
"""One of each system."""
MORE = [each for each in instances() if each.constants.get("rebalances")][:1]
"""Instances whose rules call more code."""


@pytest.mark.parametrize("instance", [*EACH.values(), *MORE], ids=lambda instance: instance.name)
def test_no_rule_is_opaque(instance: PinnedInstance) -> None:
    """An opaque rule is always evaluated on plain values, which takes several times as long."""
    assert opaque(Model(instance.specification()), inspects=True) == {}


@pytest.mark.parametrize("instance", EACH.values(), ids=lambda instance: instance.name)
def test_no_code_is_found_only_when_it_runs(instance: PinnedInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    """So our own code need not be watched: what reading finds of it is all that matters."""
    monkeypatch.setattr(plain_comparison, "Executed", lambda model: Executed(model, watches=True))
    assert check(instance.specification(), engine="local", max_states=2_000).opaque_rules == ()
