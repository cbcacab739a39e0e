"""The replica table against the valid previous states that Kafka's sources give for each state."""

from itertools import product
from types import SimpleNamespace

import pytest
from transitions import MachineError

from statemachines.tables.replica import (
    REPLICA,
    NewReplica,
    NonExistentReplica,
    OfflineReplica,
    OnlineReplica,
    ReplicaDeletionIneligible,
    ReplicaDeletionStarted,
    ReplicaDeletionSuccessful,
    ReplicaState,
)
from statemachines.tables.table import IllegalTransition, Table, trigger
from tests.rows import rows

ValidPreviousStates = dict[ReplicaState, set[ReplicaState]]

# [ReplicaStateMachine.scala, 2.3 to 3.9]
SINCE_2_3: ValidPreviousStates = {
    NewReplica: {NonExistentReplica},
    OnlineReplica: {NewReplica, OnlineReplica, OfflineReplica, ReplicaDeletionIneligible},
    OfflineReplica: {NewReplica, OnlineReplica, OfflineReplica, ReplicaDeletionIneligible},
    ReplicaDeletionStarted: {OfflineReplica},
    ReplicaDeletionSuccessful: {ReplicaDeletionStarted},
    ReplicaDeletionIneligible: {OfflineReplica, ReplicaDeletionStarted},
    NonExistentReplica: {ReplicaDeletionSuccessful},
}
# [ReplicaStateMachine.scala, 0.11.0 to 2.2]; 0.10 checks the same inside handleStateChange
UP_TO_2_2: ValidPreviousStates = SINCE_2_3 | {ReplicaDeletionIneligible: {ReplicaDeletionStarted}}

each_pair = rows("source, target", product(ReplicaState, repeat=2))
each_release = pytest.mark.parametrize(
    ("table", "valid"),
    [
        (REPLICA, SINCE_2_3),
        *((REPLICA.at(release), UP_TO_2_2) for release in ("0.10.1", "2.2", "2.2.2")),
        *((REPLICA.at(release), SINCE_2_3) for release in ("2.3", "3.9")),
    ],
    ids=lambda value: str(value) if isinstance(value, Table) else "",
)


def test_states_have_kafkas_names_and_codes() -> None:
    assert {str(state): state.value for state in ReplicaState} == {
        "NewReplica": 1,
        "OnlineReplica": 2,
        "OfflineReplica": 3,
        "ReplicaDeletionStarted": 4,
        "ReplicaDeletionSuccessful": 5,
        "ReplicaDeletionIneligible": 6,
        "NonExistentReplica": 7,
    }


@each_release
def test_each_state_has_kafkas_valid_previous_states(table: Table[ReplicaState], valid: ValidPreviousStates) -> None:
    assert {state: {each for each in ReplicaState if table.allows(each, state)} for state in ReplicaState} == valid


@each_release
@each_pair
def test_each_pair_is_a_row_or_a_refusal(
    table: Table[ReplicaState], valid: ValidPreviousStates, source: ReplicaState, target: ReplicaState
) -> None:
    replica = SimpleNamespace(state=source)
    if source in valid[target]:
        assert table.allows(source, target)
        table.become(replica, target)
        assert replica.state is target
    else:
        assert not table.allows(source, target)
        with pytest.raises(IllegalTransition, match=f"{source} cannot become {target}"):
            table.become(replica, target)
        assert replica.state is source


@each_release
@each_pair
def test_the_librarys_own_triggers_agree(
    table: Table[ReplicaState], valid: ValidPreviousStates, source: ReplicaState, target: ReplicaState
) -> None:
    machine = table.machine()
    machine.set_state(source)
    if source in valid[target]:
        assert machine.trigger(trigger(target))
        assert machine.state is target
    else:
        with pytest.raises(MachineError, match=f"Can't trigger event to_{target} from state {source}!"):
            machine.trigger(trigger(target))
        assert machine.state is source


def test_one_row_came_with_2_3() -> None:
    assert {(row.source, row.dest): row.releases for row in REPLICA.rows if row.releases} == {
        (OfflineReplica, ReplicaDeletionIneligible): "2.3+"
    }


def test_a_replica_lives_and_is_deleted_with_its_topic() -> None:
    replica = REPLICA.machine()
    assert replica.state is NonExistentReplica
    for state in (
        NewReplica,
        OnlineReplica,
        OfflineReplica,
        ReplicaDeletionStarted,
        ReplicaDeletionIneligible,
        OfflineReplica,
        ReplicaDeletionStarted,
        ReplicaDeletionSuccessful,
        NonExistentReplica,
    ):
        assert replica.trigger(trigger(state))
    assert all(REPLICA.targets(state) for state in ReplicaState)


def test_deleting_a_topic_with_a_dead_broker_was_refused_up_to_2_2() -> None:
    with pytest.raises(IllegalTransition) as caught:
        REPLICA.at("2.2").become(SimpleNamespace(state=OfflineReplica), ReplicaDeletionIneligible)
    assert str(caught.value) == (
        "replica of 2.2: OfflineReplica cannot become ReplicaDeletionIneligible; "
        "it may become OnlineReplica, OfflineReplica, ReplicaDeletionStarted"
    )
