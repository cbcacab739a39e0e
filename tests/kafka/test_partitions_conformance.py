"""The system `partitions` beside whole controllers of Kafka, batch by batch; they contradict a wrong one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from spec.checking.check import silent
from spec.checking.exploration import Options
from spec.checking.local import LocalEngine
from spec.checking.model import Model, Path
from spec.kafka.conformance import conform
from spec.kafka.controller_beside import RELEASES
from spec.kafka.mappings.partitions import PartitionsMapping
from spec.kafka.path_follower import PathFollower, deviation_in
from spec.kafka.path_runner import PathRunner, ScriptTask
from spec.kafka.scripted_cluster import ControlCommand
from spec.systems.partitions import Partitions
from statemachines.messages.zk_data import TopicPartitionState
from statemachines.releases import Release, line_of
from tests.kafka.conftest import RELEASE, RealControllers
from tests.spec.systems.test_partitions import CountsAhead, mutant

FEW: Mapping[str, Any] = {"topic_creation": False, "max_crashes": 1}
"""A topic exists from the beginning, and one broker dies."""


def of(release: str, **constants: Any) -> Partitions[Any]:
    """The specification of a release, under these constants."""
    line = Partitions.releases[line_of(release)]
    return Partitions(**{**line, **PartitionsMapping.corrected(release), **constants})


def test_partitions_conform(real_controller: PathRunner) -> None:
    """Every class of edges within the first states."""
    result = conform(of(RELEASE, **FEW), real_controller, max_states=80)
    assert result.conforms, result
    assert result.runs == result.classes > 40
    assert result.steps > 5 * result.runs
    assert str(result).startswith("Conforms: partitions beside Kafka 3.9.1 (ZooKeeper 3.8.4, Java ")


@pytest.mark.long
def test_partitions_conform_with_lost_replies(real_controller: PathRunner) -> None:
    """Others write between an unacknowledged write and its repetition."""
    result = conform(of(RELEASE, **FEW, lost_replies=True), real_controller, max_states=80)
    assert result.conforms, result
    assert result.runs == result.classes > 60


@pytest.mark.long
def test_a_specification_that_is_wrong(real_controller: PathRunner) -> None:
    """Kafka contradicts it, with a path and the observed value."""
    wrong = mutant(CountsAhead, **{**Partitions.releases["3.9"], **FEW})
    result = conform(wrong, real_controller, max_states=40)
    assert result.exit_code == 12, result
    shortest, times, trace = result.deviations[0]
    assert times > 0
    assert trace.length == shortest.length + 1
    assert "partition_leadership_info" in str(shortest)


def less(specified: Any) -> Any:
    """The specified value with one element removed; unchanged if there is none."""
    match specified:
        case bool():
            return not specified
        case dict():
            return dict(list(specified.items())[1:])
        case list() | tuple():
            return specified[1:]
        case frozenset():
            return frozenset(list(specified)[1:])
    return specified


@pytest.mark.long
def test_each_compared_field_is_detected(real_controller: PathRunner) -> None:
    """Along a path with every kind of observation, removing one element from any of them is a deviation."""
    model = Model(of(RELEASE, **FEW))
    following = PathFollower(model)
    task = following.task_along(along(model, "controller_moved_and_goes_on"))
    [(_, answer)] = real_controller.runs([task])
    assert deviation_in(following.mapping, task, answer) is None
    names = {name for specified in task.specified for name in specified}
    assert names >= {"znodes", "partition_states", "replica_states", "partition_leadership_info", "live_brokers"}
    for name in names - {"all_topics"}:
        lessened = [
            {**specified, name: less(specified[name])} if name in specified else specified
            for specified in task.specified
        ]
        deviation = deviation_in(following.mapping, replace(task, specified=lessened), answer)
        assert deviation is not None, name
        assert {each.where.partition(".")[0] for each in deviation.differences} == {name}


def along(model: Model, shown: str) -> Path:
    """The shortest path to a witness, or to the violation of a property."""
    [number] = model.numbers([shown])
    options = Options((*model.numbers(["type_ok"]), number))
    return LocalEngine(1).explore(model, options, silent).discoveries[number].path


@pytest.mark.parametrize("release", [RELEASE, "2.8.2"])
def test_a_lost_answer_to_a_leader(real_controllers: RealControllers, release: str) -> None:
    """K10: Kafka's controller does not know the ISR that it wrote, and refuses the leader's request."""
    constants = {
        "topic_creation": False,
        "max_crashes": 0,
        "controller_changes": 0,
        "shutdowns": False,
        "preferred_elections": False,
    }
    model = Model(of(release, **constants, lost_replies=True))
    following = PathFollower(model)
    task = following.task_along(along(model, "cache_fresh"))
    [(_, answer)] = real_controllers(release).runs([task])
    assert deviation_in(following.mapping, task, answer) is None
    last = answer.seen[-1]
    [written] = [data for _, data in last["znodes"].values() if isinstance(data, TopicPartitionState)]
    [known] = last["partition_leadership_info"].values()
    assert (written.leader_and_isr.isr, known.leader_and_isr.isr) == ((0,), (0, 1))


def test_a_leader_that_shuts_down_is_not_eligible(real_controller: PathRunner) -> None:
    """INELIGIBLE_REPLICA, since 3.3: nothing is written, and no follower joins its ISR."""
    model = Model(
        of(
            RELEASE,
            topic_creation=False,
            max_crashes=0,
            controller_changes=0,
            preferred_elections=False,
            isr_changes=2,
        )
    )
    following = PathFollower(model)
    task = following.task_along(along(model, "leader_ineligible"))
    [(_, answer)] = real_controller.runs([task])
    assert deviation_in(following.mapping, task, answer) is None


def test_missing_events_and_batches_are_reported(real_controller: PathRunner) -> None:
    """The error of the step reports an event missing from Kafka's queue, and a batch that Kafka does not make."""
    empty: Any = (), ()
    cases: list[list[ControlCommand]] = [
        [{"process": ["TopicChange"]}, {"do": "look", "step": 0}],
        [{"process": ["Startup"], "meanwhile": [[0, 0, {"do": "look", "step": 0}]]}],
    ]
    for happens in cases:
        task = ScriptTask(commands=happens, path=empty, specified=[{}])
        [(_, answer)] = real_controller.runs([task])
        assert answer.error == "Kafka does not reach the point where this step can be seen"


# Longer comparisons.


@pytest.mark.long
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    "constants",
    [
        {},
        {"unclean": True},
        {"lost_replies": True},
        {"unclean_elections": True},
        {"partitions": 2, "topic_creation": False},
    ],
    ids=["clean", "unclean", "answers are lost", "administrators elect uncleanly", "two partitions"],
)
def test_each_release(real_controllers: RealControllers, release: str, constants: dict[str, Any]) -> None:
    """Every class of edges of its first 2,000 states."""
    if constants.get("unclean_elections") and Release(release) < Release("2.4.0"):
        pytest.skip("administrators cannot request them there")
    kafka = real_controllers(release)
    result = conform(of(release, **constants), kafka, max_states=2_000)
    assert result.conforms, result
    assert result.classes > 1_000
