"""The library `transitions` makes the controller's transitions: whole runs, with the library's triggers counted."""

from __future__ import annotations

import runpy
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import transitions

from statemachines.controller.context import ControllerContext
from statemachines.controller.partition_state_machine import PartitionStateMachine
from statemachines.controller.replica_state_machine import ReplicaStateMachine
from statemachines.controller.state_change import FailedStateChange, StateChangeFailure
from statemachines.tables.partition import PARTITION, NonExistentPartition, OnlinePartition
from statemachines.tables.replica import REPLICA
from tests.statemachines.control import T0, Cluster

RUNS = ("controlled_shutdown", "reassignment", "two_brokers_die", "watched_partitions")
MACHINES = {"partition: ", "replica: "}
"""The library's names of the controller's machines, for all releases."""


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, str]]:
    """The number of each transition of the controller's machines, by its states."""
    counts = Counter[tuple[str, str]]()
    change = transitions.Transition._change_state

    def counting(transition: transitions.Transition, data: transitions.EventData) -> None:
        counts[transition.source, str(transition.dest)] += data.machine.name in MACHINES
        change(transition, data)

    monkeypatch.setattr(transitions.Transition, "_change_state", counting)
    return counts


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every call of `_become`."""
    called = []

    def record(cls: Any) -> None:
        become = cls._become

        def recording(self: Any, subject: Any, target: Any) -> None:
            called.append((subject, target))
            become(self, subject, target)

        monkeypatch.setattr(cls, "_become", recording)

    record(PartitionStateMachine)
    record(ReplicaStateMachine)
    return called


@pytest.fixture
def puts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The number of states put into a controller's context, by the calling function."""
    counts = Counter[str]()

    def count(name: str) -> None:
        put = getattr(ControllerContext, name)

        def counting(context: Any, subject: Any, state: Any) -> None:
            counts[sys._getframe(1).f_code.co_name] += 1
            put(context, subject, state)

        monkeypatch.setattr(ControllerContext, name, counting)

    count("put_partition_state")
    count("put_replica_state")
    return counts


AROUND = {"startup", "put_partition_state_if_not_exists", "put_replica_state_if_not_exists", "_has_become"}
"""The functions that put a state without a trigger: failover, first sight, and the one change that checks first."""


@pytest.mark.parametrize("run", RUNS)
def test_each_change_is_a_trigger(
    run: str, taken: Counter[tuple[str, str]], changes: list[Any], puts: Counter[str]
) -> None:
    """As many as calls of `_become`, each along a row of a table; no other code changes a state."""
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / f"{run}.py"), run_name="__main__")
    assert taken.total() == len(changes) == puts["state"] > 0
    rows = {(str(row.source), str(row.dest)) for table in (PARTITION, REPLICA) for row in table.rows}
    assert {states for states, times in taken.items() if times} <= rows
    assert set(puts) - {"state"} <= AROUND


def test_refused_changes_are_logged(taken: Counter[tuple[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """With the states in its error; nothing changes."""
    refused, valid = list[str](), transitions.Event._is_valid_source

    def seen(event: transitions.Event, state: transitions.State) -> bool:
        try:
            return valid(event, state)
        except transitions.MachineError as error:
            refused.append(str(error))
            raise

    monkeypatch.setattr(transitions.Event, "_is_valid_source", seen)
    cluster = Cluster()
    cluster.lead(T0, 1, (1, 2))
    cluster.become(NonExistentPartition, T0)
    assert refused == ['"partition: Can\'t trigger event to_NonExistentPartition from state OnlinePartition!"']
    assert cluster.log == [
        FailedStateChange(T0, OnlinePartition, NonExistentPartition, StateChangeFailure.InvalidTransition)
    ]
    assert cluster.context.partition_state(T0) is OnlinePartition
    assert not taken.total()
