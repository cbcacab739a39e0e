"""The lists of steps of failovers and resignations, and their steps in a model.

The transcripts show what they read and write, in the releases that run.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from spec.by_release import RELEASES
from statemachines.controller.failover import ELSEWHERE, LEFT_OUT, STARTED_BY, STOPPED_BY
from statemachines.controller.failover_stages import (
    FAILOVER,
    RESIGNATION,
    Stage,
    failover,
    fused,
    resignation,
    steps_of,
)
from statemachines.controller.threads import ControllerStep
from statemachines.releases import Release
from tests.rows import rows

Lists = Mapping[str, tuple[Stage, ...]]

EVERY = {
    **{f"failover of {release}": stages for release, stages in FAILOVER.items()},
    **{f"resignation of {release}": stages for release, stages in RESIGNATION.items()},
}
every_list = rows("stages", EVERY)
every_release = rows("release", RELEASES)


def names(stages: tuple[Stage, ...]) -> list[str]:
    return [stage.name for stage in stages]


def before(release: str, first: str) -> bool:
    return Release(release) < Release(first)


# The list of a release.


@rows(
    "release, first",
    [
        *(("0.10.2.2", "0.10.2"), ("0.11.0.3", "0.11"), ("2.0.1", "1.1"), ("2.6.3", "2.4"), ("3.9.0", "2.8")),
        *((first, first) for first in FAILOVER),
    ],
)
def test_a_release_has_the_newest_list_that_is_not_later(release: str, first: str) -> None:
    """Releases are compared as numbers."""
    assert failover(release) == FAILOVER[first]
    latest = max((each for each in RESIGNATION if Release(each) <= Release(release)), key=Release)
    assert resignation(release) == RESIGNATION[latest]


@rows("lists, steps", {"failover": (FAILOVER, STARTED_BY), "resignation": (RESIGNATION, STOPPED_BY)})
def test_lists_differ_from_the_one_before_and_their_steps_are_implemented(
    lists: Lists, steps: Mapping[Stage, Any]
) -> None:
    """Or there is a reason why not; and every implemented step is in some list."""
    assert list(lists) == sorted(lists, key=Release)
    assert set(lists) <= set(RELEASES)
    assert all(set(older) != set(newer) for older, newer in pairwise(lists.values()))
    listed = {stage for stages in lists.values() for stage in stages}
    assert steps.keys() == listed - LEFT_OUT.keys() - ELSEWHERE.keys()


@every_list
def test_a_step_is_done_once_and_is_seen_or_fused(stages: tuple[Stage, ...]) -> None:
    """No step without a request to ZooKeeper is a request of a model; a model's write is one of Kafka's."""
    seen = [stage.name for stage in stages if stage.step]
    assert sorted([*seen, *fused(stages)]) == sorted(set(names(stages)))
    assert list(fused(stages)) == [name for name in names(stages) if name not in seen]
    for stage in stages:
        assert stage.effect == "".join(letter for letter in "ZAWS" if letter in stage.effect), stage
        assert not stage.step or stage.effect != "S"
        assert not set(stage.step) - {ControllerStep.Started} or set(stage.effect) & set("ZAW"), stage
        if set(stage.step) & {ControllerStep.IncrementEpoch, ControllerStep.UpdateLeaderAndIsr}:
            assert "W" in stage.effect, stage


# What only a controller itself notices.


@every_release
def test_no_request_comes_before_the_channels(release: str) -> None:
    """The brokers hear of each other before the state machines start, except in 0.10.1 [KAFKA-4443]."""
    order = names(failover(release))
    places = {
        name: next(place for place, step in enumerate(order) if step.startswith(name))
        for name in (
            *("controllerChannelManager.startup", "sendUpdateMetadataRequest"),
            *("replicaStateMachine", "partitionStateMachine"),
        )
    }
    channels, metadata, replicas, partitions = places.values()
    assert channels < min(place for place, stage in enumerate(failover(release)) if "S" in stage.effect)
    assert replicas < partitions
    assert (metadata < replicas) is not before(release, "0.10.2")


@every_release
def test_a_resignation_drops_what_a_failover_registers(release: str) -> None:
    """And the handlers of running reassignments; it ends with the channels and the epoch, and writes nothing."""
    armed = [name for name in names(failover(release)) if name.startswith("register")]
    dropped = [name for name in names(resignation(release)) if name.startswith("deregister")]
    assert len(dropped) == len(armed) + 1
    *_, channels, context = (name for name in names(resignation(release)) if not name.startswith("brokerState"))
    assert channels == "controllerChannelManager.shutdown"
    assert context == f"controllerContext.{'epoch := 0' if before(release, '0.11') else 'resetContext'}"
    assert all(stage.effect == "" for stage in resignation(release))
    assert len(steps_of(resignation(release))) == 0


# The steps of a model.

TAKING_OVER = [
    ControllerStep.ReadBrokers,
    ControllerStep.ReadStates,
    ControllerStep.ReadPartitionState,
    ControllerStep.UpdateLeaderAndIsr,
]


@every_release
def test_the_requests_of_each_release(release: str) -> None:
    """The epoch until 2.0, a watch of its own until 1.0, the election's node since 2.1."""
    assert list(steps_of(failover(release))) == [
        *([ControllerStep.ReadEpoch, ControllerStep.IncrementEpoch] if before(release, "2.1") else []),
        *([ControllerStep.WatchBrokers] if before(release, "1.1") else []),
        *TAKING_OVER,
        *([] if before(release, "2.1") else [ControllerStep.DeletePreferredElection]),
        ControllerStep.Started,
    ]
    (read,) = [stage for stage in failover(release) if ControllerStep.ReadBrokers in stage.step]
    assert ("A" in read.effect) is not before(release, "1.1")
    assert failover(release)[-1].step == (ControllerStep.Started,)
