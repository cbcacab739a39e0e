"""Changes of states, driven from outside."""

from __future__ import annotations

import doctest

from statemachines.controller import state_change
from statemachines.messages import leader_and_isr, zk_data


def test_the_examples_in_the_docstrings() -> None:
    """Their output is correct; a change is driven to its end in three lines."""
    for module in (state_change, leader_and_isr, zk_data):
        assert doctest.testmod(module) == (0, doctest.testmod(module).attempted)
        assert doctest.testmod(module).attempted > 0
