"""The transition tables beside the valid previous states of Kafka's states, by release."""

from __future__ import annotations

from typing import Any

import pytest

from spec.kafka.pure import PureCalls
from statemachines.releases import Release
from statemachines.tables.partition import PARTITION
from statemachines.tables.replica import REPLICA
from statemachines.tables.table import Table
from tests.kafka.conftest import RELEASE, WITH_FUNCTIONS, calling


def in_kafkas_form(table: Table[Any]) -> dict[str, dict[str, Any]]:
    """A table in Kafka's form: each state's code, and the states from which it can be reached."""
    return {
        state.name: {
            "code": state.value,
            "previous": {row.source.name for row in table.in_force if row.dest is state},
        }
        for state in table.states
    }


def of_kafka(pure: PureCalls, machine: str) -> dict[str, dict[str, Any]]:
    """A table of a release's Kafka."""
    [(_, states)] = pure.of("StateTables", [machine])
    return {name: {**state, "previous": set(state["previous"])} for name, state in states.items()}


def test_state_tables_of_the_newest_release(pure: PureCalls) -> None:
    """Both tables, row by row; the replica's table up to 2.2 differs."""
    assert of_kafka(pure, "partition") == in_kafkas_form(PARTITION.at(RELEASE))
    assert of_kafka(pure, "replica") == in_kafkas_form(REPLICA.at(RELEASE))
    assert of_kafka(pure, "replica") != in_kafkas_form(REPLICA.at("2.2"))


@pytest.mark.long
@pytest.mark.parametrize("release", WITH_FUNCTIONS)
def test_state_tables_of_each_release(release: str) -> None:
    """Both tables, row by row."""
    with calling(release) as calls:
        assert of_kafka(calls, "partition") == in_kafkas_form(PARTITION.at(str(Release(release))))
        assert of_kafka(calls, "replica") == in_kafkas_form(REPLICA.at(str(Release(release))))
