"""The partition table against the valid previous states that Kafka's sources give for each state."""

from itertools import product
from types import SimpleNamespace

import pytest
from transitions import MachineError

from statemachines.tables.partition import (
    PARTITION,
    NewPartition,
    NonExistentPartition,
    OfflinePartition,
    OnlinePartition,
    PartitionState,
)
from statemachines.tables.table import IllegalTransition, Table, trigger
from tests.rows import rows

# [PartitionStateMachine.scala, 0.11.0 to 3.9]; 0.10 checks the same inside handleStateChange
VALID_PREVIOUS_STATES = {
    NewPartition: {NonExistentPartition},
    OnlinePartition: {NewPartition, OnlinePartition, OfflinePartition},
    OfflinePartition: {NewPartition, OnlinePartition, OfflinePartition},
    NonExistentPartition: {OfflinePartition},
}

each_pair = rows("source, target", product(PartitionState, repeat=2))
each_release = pytest.mark.parametrize(
    "table", [PARTITION, *map(PARTITION.at, ("0.10.1", "2.2", "2.3", "3.9"))], ids=str
)


def test_states_have_kafkas_names_and_codes() -> None:
    assert {str(state): state.value for state in PartitionState} == {
        "NewPartition": 0,
        "OnlinePartition": 1,
        "OfflinePartition": 2,
        "NonExistentPartition": 3,
    }


@each_release
def test_each_state_has_kafkas_valid_previous_states(table: Table[PartitionState]) -> None:
    before = {state: {each for each in PartitionState if table.allows(each, state)} for state in PartitionState}
    assert before == VALID_PREVIOUS_STATES


@each_release
@each_pair
def test_each_pair_is_a_row_or_a_refusal(
    table: Table[PartitionState], source: PartitionState, target: PartitionState
) -> None:
    partition = SimpleNamespace(state=source)
    if source in VALID_PREVIOUS_STATES[target]:
        assert table.allows(source, target)
        table.become(partition, target)
        assert partition.state is target
    else:
        assert not table.allows(source, target)
        with pytest.raises(IllegalTransition, match=f"{source} cannot become {target}"):
            table.become(partition, target)
        assert partition.state is source


@each_pair
def test_the_librarys_own_triggers_agree(source: PartitionState, target: PartitionState) -> None:
    machine = PARTITION.machine()
    machine.set_state(source)
    if source in VALID_PREVIOUS_STATES[target]:
        assert machine.trigger(trigger(target))
        assert machine.state is target
    else:
        with pytest.raises(MachineError, match=f"Can't trigger event to_{target} from state {source}!"):
            machine.trigger(trigger(target))
        assert machine.state is source


def test_no_release_differs() -> None:
    assert all(row.releases == "" for row in PARTITION.rows)


def test_a_partition_begins_as_one_that_does_not_exist_and_can_end_as_one() -> None:
    partition = PARTITION.machine()
    assert partition.state is NonExistentPartition
    for state in (NewPartition, OnlinePartition, OfflinePartition, NonExistentPartition, NewPartition):
        assert partition.trigger(trigger(state))
    assert all(PARTITION.targets(state) for state in PartitionState)


def test_an_online_partition_is_not_deleted_before_it_is_offline() -> None:
    with pytest.raises(IllegalTransition) as caught:
        PARTITION.become(SimpleNamespace(state=OnlinePartition), NonExistentPartition)
    assert str(caught.value) == (
        "partition: OnlinePartition cannot become NonExistentPartition; "
        "it may become OnlinePartition, OfflinePartition"
    )
