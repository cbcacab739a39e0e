"""The steps of failovers and resignations: their order in each release, and their steps in a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from spec.by_release import RELEASES
from statemachines.controller.agenda import ControllerStep
from statemachines.controller.failover import FAILOVER, RESIGNATION, Stage, failover, fused, resignation, steps_of
from statemachines.releases import Release
from tests.rows import rows

Lists = Mapping[str, tuple[Stage, ...]]

EVERY = {
    **{f"failover of {release}": stages for release, stages in FAILOVER.items()},
    **{f"resignation of {release}": stages for release, stages in RESIGNATION.items()},
}
every_list = rows("stages", EVERY)
every_release = rows("release", RELEASES)

EPOCH = ("readControllerEpoch", "incrementControllerEpoch")


def names(stages: tuple[Stage, ...]) -> list[str]:
    return [stage.name for stage in stages]


def at(release: str, name: str) -> int:
    """The position of the only step of a release's failover whose name begins so."""
    (place,) = [place for place, step in enumerate(names(failover(release))) if step.startswith(name)]
    return place


def has(release: str, name: str) -> bool:
    return any(step.startswith(name) for step in names(failover(release)))


def ordered(release: str, *steps: str) -> bool:
    """Whether the steps, as far as the release has them, are in this order."""
    places = [at(release, step) for step in steps if has(release, step)]
    return places == sorted(places)


def since(first: str, before: str | None = None) -> list[str]:
    """The releases from `first` on, up to and without `before`."""
    return list(RELEASES[RELEASES.index(first) : RELEASES.index(before) if before else None])


# The list of a release.


@rows("lists, of", {"failover": (FAILOVER, failover), "resignation": (RESIGNATION, resignation)})
@every_release
def test_a_release_has_the_newest_list_that_is_not_later(
    lists: Lists, of: Callable[[str], tuple[Stage, ...]], release: str
) -> None:
    newest = max((first for first in lists if Release(first) <= Release(release)), key=Release)
    assert of(release) == lists[newest]


@rows("lists", {"failover": FAILOVER, "resignation": RESIGNATION})
def test_lists_are_of_known_releases_oldest_first_and_each_differs_from_the_one_before(lists: Lists) -> None:
    assert list(lists) == sorted(lists, key=Release)
    assert set(lists) <= set(RELEASES)
    assert all(older != newer for older, newer in pairwise(lists.values()))


@rows(
    "release, first",
    [
        ("0.10.2.2", "0.10.2"),
        ("0.11.0.3", "0.11"),
        ("2.0.1", "1.1"),
        ("2.6.3", "2.4"),
        ("3.9.0", "2.8"),
    ],
)
def test_releases_are_compared_as_numbers(release: str, first: str) -> None:
    assert failover(release) == FAILOVER[first]


# The order of steps.


@every_release
def test_the_epoch_comes_first_up_to_2_0_and_is_absent_since(release: str) -> None:
    assert [name for name in names(failover(release)) if "ControllerEpoch" in name] == [
        *(EPOCH if release in since("0.10.1", before="2.1") else ())
    ]
    assert tuple(names(failover(release))[:2]) == EPOCH or release in since("2.1")


@rows("release", since("0.10.1", before="1.1"))
@rows(
    "listener, read",
    [
        ("registerPartitionReassignmentListener", "zkUtils.getPartitionsBeingReassigned"),
        ("registerIsrChangeNotificationListener", "updateLeaderAndIsrCache"),
        ("registerPreferredReplicaElectionListener", "zkUtils.getPartitionsUndergoingPreferredReplicaElection"),
        ("registerTopicChangeListener", "zkUtils.getAllTopics"),
        ("registerTopicDeletionListener", "zkUtils.getChildren of /admin/delete_topics"),
        ("registerBrokerChangeListener", "zkUtils.getAllBrokersInCluster"),
    ],
)
def test_listeners_are_armed_before_their_nodes_are_read(release: str, listener: str, read: str) -> None:
    assert at(release, listener) < at(release, read)
    assert "A" in failover(release)[at(release, listener)].effect


@rows("release", since("1.1"))
@rows(
    "handler, read",
    [
        ("register brokerChangeHandler", "zkClient.getAllBroker"),
        ("register topicChangeHandler", "zkClient.getAllTopicsInCluster"),
        ("register topicDeletionHandler", "zkClient.getTopicDeletions"),
        ("register logDirEventNotificationHandler", "deleteLogDirEventNotifications"),
        ("register isrChangeNotificationHandler", "deleteIsrChangeNotifications"),
        ("register preferredReplicaElectionHandler", "zkClient.getPreferredReplicaElection"),
        ("register partitionReassignmentHandler", "zkClient.getPartitionReassignment"),
        ("register partitionReassignmentHandler", "initializePartitionReassignments"),
        ("register partitionModificationsHandlers", "zkClient.getReplicaAssignment"),
        ("register partitionModificationsHandlers", "zkClient.getFullReplicaAssignmentForTopics"),
    ],
)
def test_handlers_are_registered_before_their_nodes_are_read(release: str, handler: str, read: str) -> None:
    """A local registration leaves the watch to the read; the others set their watches themselves."""
    assert ordered(release, handler, read)
    if has(release, read):
        assert "A" in failover(release)[at(release, read)].effect


@every_release
def test_watches_on_topics_came_after_the_read_of_assignments_until_1_0(release: str) -> None:
    """The gap of 0.10 to 1.0: a partition that is added between the two goes unnoticed."""
    (read,) = [place for place, step in enumerate(names(failover(release))) if "ReplicaAssignment" in step]
    gap = has(release, "registerPartitionModificationsListener")
    assert gap == (release in since("0.10.1", before="1.1"))
    assert not gap or read < at(release, "partitionStateMachine") < at(release, "registerPartitionModificationsL")


@rows("release", since("1.1"))
def test_watches_on_the_data_of_brokers_come_after_their_read(release: str) -> None:
    """The controller does not know earlier which nodes to watch."""
    assert at(release, "zkClient.getAllBroker") < at(release, "register brokerModificationsHandlers")


@every_release
def test_notifications_are_deleted_before_their_subject_is_read(release: str) -> None:
    steps = [f"delete{what}Notifications" for what in ("LogDirEvent", "IsrChange")]
    assert ordered(release, "LogDirUtils.deleteLogDirEvents", *steps, "updateLeaderAndIsrCache")
    assert all(has(release, step) for step in steps) == (release in since("1.1"))
    assert has(release, "LogDirUtils.deleteLogDirEvents") == (release == "1.0")


@every_release
def test_the_context_is_read_from_brokers_to_states_and_then_there_are_channels(release: str) -> None:
    client = "zkUtils" if release in since("0.10.1", before="1.1") else "zkClient"
    context = (f"{client}.getAllBroker", f"{client}.getAllTopics", "clear ", "updateLeaderAndIsrCache")
    assert all(has(release, step) for step in context)
    assert ordered(release, *context, "controllerChannelManager.startup")


@every_release
@rows(
    "steps",
    [
        ("maybeSetupFeatureVersioning", "register brokerChangeHandler", "zkClient.getAllBroker"),
        ("register partitionReassignmentHandler", "deleteLogDirEventNotifications"),
        ("deleteIsrChangeNotifications", "zkClient.getAllBroker"),
        ("registerLogDirEventNotificationListener", "zkUtils.getAllBrokersInCluster"),
        ("zkUtils.getAllTopics", "zkUtils.getReplicaAssignmentForTopics", "updateLeaderAndIsrCache"),
        ("zkClient.getAllTopics", "register partitionModificationsHandlers", "zkClient.getReplicaAssignment"),
        ("zkClient.getReplicaAssignment", "processTopicIds", "updateLeaderAndIsrCache"),
        ("zkUtils.getPartitionsBeingReassigned", "zkUtils.getChildren of /admin/delete_topics"),
        ("zkClient.getPartitionReassignment", "zkClient.getTopicDeletions", "topicDeletionManager.init"),
        ("zkUtils.getChildren of /admin/delete_topics", "new TopicDeletionManager", "topicDeletionManager.init"),
        ("zkUtils.getPartitionsUndergoingPreferredReplicaElection", "onPreferredReplicaElection"),
        ("zkClient.getPreferredReplicaElection", "onPreferredReplicaElection"),
    ],
)
def test_a_step_comes_after_the_steps_it_depends_on(release: str, steps: tuple[str, ...]) -> None:
    """For example, topics that are being reassigned are ineligible for deletion."""
    assert any(has(other, steps[0]) and has(other, steps[-1]) for other in RELEASES)
    assert ordered(release, *steps)


@every_release
def test_requests_follow_the_start_of_channels(release: str) -> None:
    sends = [place for place, stage in enumerate(failover(release)) if "S" in stage.effect]
    assert at(release, "controllerChannelManager.startup") < min(sends)


@every_release
def test_the_deletion_manager_comes_before_the_state_machines(release: str) -> None:
    manager = "new TopicDeletionManager" if release == "0.10.1" else "topicDeletionManager.init"
    assert at(release, manager) < at(release, "replicaStateMachine") < at(release, "partitionStateMachine")


@every_release
def test_brokers_hear_of_each_other_before_leaders_since_0_10_2(release: str) -> None:
    metadata = at(release, "sendUpdateMetadataRequest")
    if release == "0.10.1":
        assert metadata > max(at(release, step) for step in ("partitionStateMachine", "onPreferredReplicaElection"))
        assert not any("S" in stage.effect for stage in failover(release)[metadata + 1 :])
    else:
        assert metadata + 1 == at(release, "replicaStateMachine")


@every_release
def test_running_state_machines_resume_unfinished_work(release: str) -> None:
    reassignments = ("maybeTriggerPartitionReassignment", "initializePartitionReassignments")
    deletion, elections = "topicDeletionManager.tryTopicDeletion", "onPreferredReplicaElection"
    assert has(release, reassignments[0]) != has(release, reassignments[1])
    assert ordered(release, "partitionStateMachine", *reassignments, deletion, elections)
    assert ordered(release, elections, "autoRebalanceScheduler", "kafkaScheduler", "tokenCleanScheduler")


@every_release
def test_a_resignation_ends_with_the_channels_and_the_epoch(release: str) -> None:
    *_, channels, context = (name for name in names(resignation(release)) if not name.startswith("brokerState"))
    assert channels == "controllerChannelManager.shutdown"
    assert context == f"controllerContext.{'epoch := 0' if release in ('0.10.1', '0.10.2') else 'resetContext'}"


@every_release
def test_a_resignation_drops_the_failovers_listeners(release: str) -> None:
    """Every listener or handler of the failover has its counterpart, and so has the one of running reassignments."""
    armed = [name for name in names(failover(release)) if name.startswith("register")]
    dropped = [name for name in names(resignation(release)) if name.startswith("deregister")]
    assert len(dropped) == len(armed) + 1


# The steps of a model.

TAKING_OVER = [
    ControllerStep.ReadBrokers,
    ControllerStep.ReadStates,
    ControllerStep.ReadPartitionState,
    ControllerStep.UpdateLeaderAndIsr,
]


@every_release
def test_the_requests_of_each_release(release: str) -> None:
    if release in ("0.10.1", "0.10.2", "0.11", "1.0"):
        assert list(steps_of(failover(release))) == [
            ControllerStep.ReadEpoch,
            ControllerStep.IncrementEpoch,
            ControllerStep.WatchBrokers,
            ControllerStep.ReadBrokers,
            ControllerStep.ReadStates,
            ControllerStep.ReadPartitionState,
            ControllerStep.UpdateLeaderAndIsr,
            ControllerStep.Started,
        ]
    elif release in ("1.1", "2.0"):
        assert list(steps_of(failover(release))) == [
            ControllerStep.ReadEpoch,
            ControllerStep.IncrementEpoch,
            *TAKING_OVER,
            ControllerStep.Started,
        ]
    else:
        assert list(steps_of(failover(release))) == [
            *TAKING_OVER,
            ControllerStep.DeletePreferredElection,
            ControllerStep.Started,
        ]


@every_release
def test_the_last_step_and_no_other_ends_a_failover(release: str) -> None:
    *before, last = failover(release)
    assert last.step == (ControllerStep.Started,)
    assert all(ControllerStep.Started not in stage.step for stage in before)


@every_list
def test_a_step_is_seen_or_fused(stages: tuple[Stage, ...]) -> None:
    seen = [stage.name for stage in stages if stage.step]
    assert sorted([*seen, *fused(stages)]) == sorted(names(stages))
    assert list(fused(stages)) == [name for name in names(stages) if name not in seen]


@every_release
def test_sends_are_fused_steps(release: str) -> None:
    assert all(not stage.step for stage in failover(release) if stage.effect == "S")


@every_list
def test_a_request_of_a_model_is_one_of_kafkas(stages: tuple[Stage, ...]) -> None:
    """No step without a ZooKeeper request becomes a request, and each write in a model is one of Kafka's."""
    for stage in stages:
        if set(stage.step) - {ControllerStep.Started}:
            assert set(stage.effect) & set("ZAW"), stage
        if set(stage.step) & {ControllerStep.IncrementEpoch, ControllerStep.UpdateLeaderAndIsr}:
            assert "W" in stage.effect, stage
        if ControllerStep.WatchBrokers in stage.step:
            assert "A" in stage.effect, stage


@every_release
def test_the_read_of_brokers_arms_the_watch_unless_something_before_it_did(release: str) -> None:
    (read,) = [stage for stage in failover(release) if ControllerStep.ReadBrokers in stage.step]
    assert ("A" in read.effect) != (ControllerStep.WatchBrokers in steps_of(failover(release)))


# The steps themselves.

LOCAL = {
    "register brokerChangeHandler",
    "register topicChangeHandler",
    "register topicDeletionHandler",
    "register logDirEventNotificationHandler",
    "register isrChangeNotificationHandler",
    "register partitionModificationsHandlers",
    "clear partitionLeadershipInfo and shuttingDownBrokerIds",
    "controllerChannelManager.startup",
    "new TopicDeletionManager",
    "autoRebalanceScheduler.startup",
    "deleteTopicManager.start",
    "kafkaScheduler.startup",
    "tokenCleanScheduler.startup",
}
"""Steps that neither use ZooKeeper nor send a request."""


def test_local_steps_and_no_others_are_without_effect() -> None:
    assert {stage.name for stages in FAILOVER.values() for stage in stages if not stage.effect} == LOCAL


@every_release
def test_a_resignation_touches_neither_zookeeper_nor_brokers(release: str) -> None:
    assert all(stage.effect == "" for stage in resignation(release))
    assert len(steps_of(resignation(release))) == 0
    assert fused(resignation(release)) == tuple(names(resignation(release)))


@every_list
def test_a_step_has_a_name_and_effects_in_order(stages: tuple[Stage, ...]) -> None:
    for stage in stages:
        assert stage.name, stage
        assert stage.name == stage.name.strip(), stage
        assert "\n" not in stage.name, stage
        assert stage.effect == "".join(letter for letter in "ZAWS" if letter in stage.effect), stage


@every_list
def test_no_step_is_done_twice(stages: tuple[Stage, ...]) -> None:
    assert len(set(names(stages))) == len(stages)


def test_a_name_means_the_same_in_every_release() -> None:
    """A model's step also depends on its place, for the scheduler, and on its fence, for an election."""
    meant = {(stage.name, stage.effect) for stages in EVERY.values() for stage in stages}
    assert len(meant) == len({name for name, *_ in meant})
    seen = {(stage.name, stage.step) for stages in EVERY.values() for stage in stages}
    names = [name for name, *_ in seen]
    twice = {name for name in names if names.count(name) == 2}
    assert twice == {"kafkaScheduler.startup", "onPreferredReplicaElection"}
    assert len(seen) == len(meant) + len(twice)


# What changed, and when: removed names, and added names.

FAILOVERS_CHANGED = {
    "0.10.2": ({"new TopicDeletionManager"}, {"topicDeletionManager.init"}),
    "0.11": (
        {"autoRebalanceScheduler.startup", "deleteTopicManager.start"},
        {"kafkaScheduler.startup", "topicDeletionManager.tryTopicDeletion"},
    ),
    "1.0": (set[str](), {"LogDirUtils.deleteLogDirEvents", "registerLogDirEventNotificationListener"}),
    "1.1": (
        {
            "LogDirUtils.deleteLogDirEvents",
            "registerBrokerChangeListener",
            "registerIsrChangeNotificationListener",
            "registerLogDirEventNotificationListener",
            "registerPartitionModificationsListener",
            "registerPartitionReassignmentListener",
            "registerPreferredReplicaElectionListener",
            "registerTopicChangeListener",
            "registerTopicDeletionListener",
            "zkUtils.getAllBrokersInCluster",
            "zkUtils.getAllTopics",
            "zkUtils.getChildren of /admin/delete_topics",
            "zkUtils.getPartitionsBeingReassigned",
            "zkUtils.getPartitionsUndergoingPreferredReplicaElection",
            "zkUtils.getReplicaAssignmentForTopics",
        },
        {
            "deleteIsrChangeNotifications",
            "deleteLogDirEventNotifications",
            "register brokerChangeHandler",
            "register brokerModificationsHandlers",
            "register isrChangeNotificationHandler",
            "register logDirEventNotificationHandler",
            "register partitionModificationsHandlers",
            "register partitionReassignmentHandler",
            "register preferredReplicaElectionHandler",
            "register topicChangeHandler",
            "register topicDeletionHandler",
            "tokenCleanScheduler.startup",
            "zkClient.getAllBrokersInCluster",
            "zkClient.getAllTopicsInCluster",
            "zkClient.getPartitionReassignment",
            "zkClient.getPreferredReplicaElection",
            "zkClient.getReplicaAssignmentForTopics",
            "zkClient.getTopicDeletions",
        },
    ),
    "2.1": (set(EPOCH), set[str]()),
    "2.2": (
        {"zkClient.getAllBrokersInCluster", "sendUpdateMetadataRequest(all)"},
        {"zkClient.getAllBrokerAndEpochsInCluster", "sendUpdateMetadataRequest(none)"},
    ),
    "2.3": ({"replicaStateMachine.startup"}, {"replicaStateMachine.startup, offline ones too"}),
    "2.4": (
        {
            "maybeTriggerPartitionReassignment",
            "zkClient.getPartitionReassignment",
            "zkClient.getReplicaAssignmentForTopics",
        },
        {"initializePartitionReassignments", "zkClient.getFullReplicaAssignmentForTopics"},
    ),
    "2.7": (set[str](), {"maybeSetupFeatureVersioning"}),
    "2.8": (
        {"zkClient.getFullReplicaAssignmentForTopics"},
        {"processTopicIds", "zkClient.getReplicaAssignmentAndTopicIdForTopics"},
    ),
}

RESIGNATIONS_CHANGED = {
    "0.11": (
        {
            *("autoRebalanceScheduler.shutdown", "controllerContext.epoch := 0", "deleteTopicManager.shutdown"),
            "brokerState.newState(RunningAsBroker)",
        },
        {"controllerContext.resetContext", "kafkaScheduler.shutdown", "topicDeletionManager.reset"},
    ),
    "1.0": (set[str](), {"deregister log dir event notifications"}),
    "1.1": (set[str](), {"deregister broker modifications", "tokenCleanScheduler.shutdown"}),
    "2.3": ({"topicDeletionManager.reset"}, set[str]()),
}


@rows(
    "of, changed",
    {"failover": (failover, FAILOVERS_CHANGED), "resignation": (resignation, RESIGNATIONS_CHANGED)},
)
@rows("older, newer", pairwise(RELEASES))
def test_changes_between_releases(
    of: Callable[[str], tuple[Stage, ...]],
    changed: Mapping[str, tuple[set[str], set[str]]],
    older: str,
    newer: str,
) -> None:
    before, after = set(names(of(older))), set(names(of(newer)))
    assert (before - after, after - before) == changed.get(newer, (set(), set()))
