"""Events in any order: their worst outcome, and groups of equal partitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from election.ids import BrokerId, LeaderEpoch
from spec.atlas.instances import instances
from spec.by_release import valuation
from spec.checking import Result, check
from spec.language import Size, Total, action, constant, initial, require, sometimes, variable
from spec.language.errors import SpecificationError, UsageError
from spec.systems.cluster import TOPIC, Role
from spec.what_if.any_order import (
    ARRIVES,
    HEALTH_BY_PROPERTY,
    HEALTH_ON_THE_WAY,
    AnyOrder,
    BrokenRule,
    PlanBounds,
    in_any_order,
    system_of,
)
from spec.what_if.events import (
    AllowUnclean,
    AnotherController,
    ClusterEvent,
    Crash,
    CreateTopic,
    ElectPreferred,
    Reassign,
    Rebalance,
    Return,
    Shutdown,
)
from spec.what_if.events_in_any_order import RULES, EventsInAnyOrder
from spec.what_if.known_cluster import KnownCluster, PartitionStatus
from spec.what_if.plan import EventPlan, PlannedCluster
from spec.what_if.planned_move import MovingCluster, PlannedMove
from spec.what_if.prediction import PartitionHealth, what_if
from spec.what_if.situations import PARTITION, Situation, brokers_by_place, situations
from statemachines.controller.control_design import ControlDesign
from statemachines.messages.control_requests import ControlRequest
from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.messages.zk_data import TopicPartitionState, topic_partition_path, topic_partition_state_path
from statemachines.releases import RELEASES
from statemachines.zookeeper.tree import Node
from tests.rows import rows
from tests.tiers import in_turn

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def status(*replicas: int, isr: tuple[int, ...] | None = None) -> PartitionStatus:
    isr = replicas if isr is None else isr
    return PartitionStatus(ReplicaAssignment(replicas), isr[0], isr, 0)


def cluster(*partitions: PartitionStatus, controller: int = 9, min_isr: int = 1) -> KnownCluster:
    named = {TopicPartition("t", number): each for number, each in enumerate(partitions)}
    return KnownCluster(named, frozenset({1, 2, 3, 4, 9}), controller, {"t": min_isr}, {})


def worst(found: AnyOrder, partition: TopicPartition = T0) -> PartitionHealth:
    return next(case.health for case in found.cases if partition in case.partitions)


def test_one_order_ends_well_and_another_does_not() -> None:
    begun, events = cluster(status(1, 2)), (Crash(1), Return(1), Crash(2))
    assert what_if(begun, *events).exit_code == 0
    found = in_any_order(begun, *events)
    assert worst(found) is PartitionHealth.Offline
    assert found.exit_code == 12
    assert "broker 1 starts" in str(found)


def test_safe_events_are_safe_in_every_order() -> None:
    found = in_any_order(cluster(status(1, 2, 3)), Crash(1), Crash(3))
    assert worst(found) is PartitionHealth.Online
    assert found.exit_code == 0
    assert found.cases[0].trace is None
    assert found.cases[0].explored


def test_too_few_in_sync_replicas_are_reported() -> None:
    assert worst(in_any_order(cluster(status(1, 2), min_isr=2), Crash(1))) is PartitionHealth.UnderMinIsr


OFFLINE, FEW, ONLINE = PartitionHealth.Offline, PartitionHealth.UnderMinIsr, PartitionHealth.Online


@pytest.mark.parametrize(
    ("begun", "min_isr", "events", "on_the_way", "code"),
    [
        pytest.param(status(1), 1, (Crash(1), Return(1)), OFFLINE, 12, id="one replica"),
        pytest.param(status(1, 2), 2, (Crash(1), Return(1)), FEW, 0, id="min ISR"),
        pytest.param(
            status(1, 2), 1, (Crash(1), Return(1), Crash(2), Return(2)), OFFLINE, 12, id="restarts that overlap"
        ),
        pytest.param(status(1, 2, 3), 2, (Crash(1), Return(1)), ONLINE, 0, id="the election itself"),
        pytest.param(status(2, 3, isr=(2,)), 2, (Crash(1), Return(1)), ONLINE, 0, id="as before"),
    ],
)
def test_the_worst_on_the_way_is_reported(
    begun: PartitionStatus, min_isr: int, events: tuple[ClusterEvent, ...], on_the_way: PartitionHealth, code: int
) -> None:
    """All of these end as they begin; between a death and its election nothing counts."""
    found = in_any_order(cluster(begun, min_isr=min_isr), *events)
    [case] = found.cases
    worse = on_the_way is not ONLINE
    assert (case.on_the_way, found.exit_code) == (on_the_way if worse else case.health, code)
    assert (case.trace_on_the_way is not None, "  the shortest way to" in str(found)) == (worse, worse)
    assert found.to_json()["classes"][0]["worst_on_the_way"] == str(case.on_the_way)


def test_a_partition_that_is_offline_at_first_is_not_reported_for_that() -> None:
    dead = replace(cluster(status(1)), live=frozenset({2, 9}))
    found = in_any_order(dead, Return(1), AnotherController())
    assert (found.cases[0].on_the_way, found.exit_code) == (ONLINE, 0)


@pytest.mark.long
def test_each_moment_of_one_order_is_among_those_on_the_way() -> None:
    begun = cluster(status(1, 2), status(2, 3, 1), min_isr=2)
    for events in ((Crash(1), Return(1), Crash(2), Return(2)), (Shutdown(2), Return(2), Crash(3))):
        moments = what_if(begun, *events).moments
        for case in in_any_order(begun, *events).cases:
            for moment in moments:
                assert case.on_the_way is OFFLINE or not {*case.partitions} & {*moment.offline}
                assert case.on_the_way <= FEW or not {*case.partitions} & {*moment.under_min_isr}


@pytest.mark.parametrize("release", ["2.2", "3.9"])
def test_an_unclean_election_is_worse_than_few_in_sync(release: str) -> None:
    events = (Crash(1), AllowUnclean())
    begun = cluster(status(1, 2, isr=(1,)), min_isr=2)
    assert worst(in_any_order(begun, Crash(1), release=release)) is PartitionHealth.Offline
    assert worst(in_any_order(begun, *events, release=release)) is PartitionHealth.Unclean


def test_a_shutdown_and_a_death() -> None:
    found = in_any_order(cluster(status(1, 2, 3)), Shutdown(1), Crash(2))
    assert worst(found) is PartitionHealth.Online
    alone = in_any_order(cluster(status(1, 2)), Shutdown(1))
    assert worst(alone) is PartitionHealth.Online


def test_the_preferred_leader_is_elected_at_some_time() -> None:
    found = in_any_order(cluster(status(1, 2)), Crash(1), Return(1), ElectPreferred())
    assert worst(found) is PartitionHealth.Online


def test_the_death_of_the_controllers_broker_is_a_failover_for_all() -> None:
    found = situations(cluster(status(1, 2), status(3, 4), controller=1), [Crash(1)])
    assert {situation.events for situation in found} == {(AnotherController(), Crash(0)), (AnotherController(),)}


@pytest.mark.parametrize(("release", "by_default"), [("0.10.2", True), ("0.11", False), ("3.9", False)])
def test_unclean_elections_have_the_releases_default(release: str, by_default: bool) -> None:
    begun = cluster(status(1, 2))
    assert [each.unclean for each in situations(begun, [Crash(1)], release)] == [by_default]
    assert [each.unclean for each in situations(begun, [AllowUnclean(), Crash(1)], "3.9")] == [True]
    for said in (True, False):
        described = replace(begun, default_unclean=said)
        assert [each.unclean for each in situations(described, [Crash(1)], release)] == [said]
        topic = replace(begun, unclean={"t": said}, default_unclean=True)
        assert [each.unclean for each in situations(topic, [Crash(1)], release)] == [said]


def test_equal_partitions_are_explored_once() -> None:
    found = situations(cluster(status(1, 2), status(3, 1), status(1, 4), status(4, 2)), [Crash(1)])
    numbers = {situation.events: [each.partition for each in partitions] for situation, partitions in found.items()}
    assert numbers == {(Crash(0),): [0, 2], (Crash(1),): [1], (): [3]}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (cluster(status(1, 2)), cluster(status(1, 2, 3))),
        (cluster(status(1, 2)), cluster(status(1, 2, isr=(2, 1)))),
        (cluster(status(1, 2)), cluster(status(1, 2, isr=(1,)))),
        (cluster(status(1, 2)), cluster(status(1, 2), min_isr=2)),
        (cluster(status(1, 2)), cluster(status(1, 7, isr=(1,)))),
    ],
    ids=["replicas", "order of the ISR", "members of the ISR", "min ISR", "live brokers"],
)
def test_different_partitions_are_explored_separately(one: KnownCluster, other: KnownCluster) -> None:
    assert set(situations(one, [Crash(1)])).isdisjoint(situations(other, [Crash(1)]))


class Apart(EventsInAnyOrder):
    """The same with the brokers' own ids, in another order than that of the assignment."""

    order: tuple[int, ...] = constant((), "The ids of the brokers, by place.")

    @property
    def assignments(self) -> Mapping[TopicPartition, ReplicaAssignment]:
        """The described state."""
        return {T0: ReplicaAssignment(self.order)}


def in_full(subject: EventPlan[Any], *more: str) -> dict[str, str]:
    """Return the verdict on each outcome; assert that an end is reached, and that no bound cuts off anything."""
    result = check(subject, properties=[*HEALTH_BY_PROPERTY, *more, "comes_to_rest", "at_a_bound"], keep_going=True)
    verdicts = {each.name: each.verdict for each in result.properties}
    assert (verdicts.pop("comes_to_rest"), verdicts.pop("at_a_bound")) == ("witnessed", "unwitnessed")
    assert verdicts.pop("type_ok") == "holds"
    return verdicts


WIDE = PlanBounds(11, 5)
"""Bounds that cut off nothing here."""


def renamed(
    situation: Situation, release: str, order: tuple[int, ...], apart: type[EventPlan[Any]]
) -> tuple[EventPlan[Any], EventPlan[Any]]:
    """Return the system, and the same with other broker ids, so that the ids have this order."""
    isr = [order[each] for each in situation.isr]
    other = situation._replace(
        leader=None if situation.leader is None else order[situation.leader],
        isr=tuple(sorted(isr) if situation.target else isr),
        live=frozenset(order[each] for each in situation.live),
        events=tuple(
            seen for each in situation.events if (seen := each.seen_by(PARTITION, dict(enumerate(order)))) is not None
        ),
        target=tuple(order[each] for each in situation.target),
    )
    one = system_of(situation, release, WIDE)
    return one, apart(**{**one.valuation, "situation": other, "order": order})


@pytest.mark.long
@pytest.mark.parametrize(
    ("order", "events", "release", "unclean"),
    [
        pytest.param(
            *((1, 0), (Crash(0), Return(0), Crash(1), AnotherController()), "3.9", False), marks=pytest.mark.long
        ),
        ((1, 0), (Shutdown(0), Return(0), Crash(1)), "2.2", True),
        pytest.param(
            (1, 0), (Crash(0), Return(0), ElectPreferred(), AnotherController()), "3.9", False, marks=pytest.mark.long
        ),
        *(
            pytest.param((2, 0, 1), *row, marks=pytest.mark.long)
            for row in (
                ((Crash(0), Return(0), Crash(1), AnotherController()), "3.9", False),
                ((Shutdown(0), Return(0), Crash(1), Crash(2)), "3.9", True),
                ((Crash(0), Return(0), ElectPreferred(), Crash(1)), "2.2", False),
            )
        ),
    ],
)
def test_broker_ids_decide_only_the_first_event(
    order: tuple[int, ...], events: tuple[ClusterEvent, ...], release: str, unclean: bool
) -> None:
    """Replicas of several dead brokers go offline in the order of ids: a path may gain a step, but ends the same."""
    everyone = tuple(range(len(order)))
    situation = Situation(len(order), 0, everyone, frozenset(everyone), events, 2, unclean)
    one, other = map(in_full, renamed(situation, release, order, Apart))
    assert one == other


class Whole(EventsInAnyOrder):
    """A whole cluster: all of its brokers, and at least two partitions; the question is about the first."""

    kept: tuple[tuple[int, ...], ...] = constant((), "Each partition's replicas, all in sync and led by the first.")

    @property
    def assignments(self) -> Mapping[TopicPartition, ReplicaAssignment]:
        """The described state."""
        return {TopicPartition(TOPIC, at): ReplicaAssignment(replicas) for at, replicas in enumerate(self.kept)}

    @initial
    def a_cluster_set_up(self, s: PlannedCluster) -> None:
        """With the initial state of the other partitions."""
        super().a_cluster_set_up(s)
        for partition, assignment in list(self.assignments.items())[1:]:
            state = LeaderAndIsr(assignment.replicas[0], 0, assignment.replicas)
            s.zk.nodes[topic_partition_path(partition)] = Node()
            s.zk.nodes[topic_partition_state_path(partition)] = Node(data=TopicPartitionState.encode(state, 0))

    @property
    def isrs(self) -> Sequence[tuple[BrokerId, ...]]:
        """The replicas of any of its partitions."""
        return [isr for length in range(self.brokers + 1) for isr in permutations(self.broker_ids, length)]

    def lags(self, s: PlannedCluster, broker: BrokerId) -> bool:
        """A broker without a replica catches up with none."""
        return broker not in self.kept[0] or super().lags(s, broker)


@pytest.mark.parametrize(
    ("others", "events"),
    [
        pytest.param((), (Crash(0), Return(0), Crash(1), Crash(2)), id="a broker", marks=pytest.mark.long),
        pytest.param((), (Shutdown(0), Shutdown(2), Return(2)), id="a broker that shuts down"),
        pytest.param(((1, 2),), (Crash(0), Return(0), Crash(2)), id="a partition", marks=pytest.mark.long),
        pytest.param(((2, 0),), (Crash(0), Crash(2), Return(2)), id="another partition", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("release", ["3.9", pytest.param("2.2", marks=pytest.mark.long)])
def test_other_partitions_do_not_matter(
    others: tuple[tuple[int, ...], ...], events: tuple[ClusterEvent, ...], release: str
) -> None:
    """A partition on brokers 0 and 1 is explored alone, and together with broker 2 and its partitions."""
    own = tuple(event for event in events if event.seen_by(PARTITION, {0: 0, 1: 1}) is not None)
    alone = Situation(2, 0, (0, 1), frozenset({0, 1}), own, 2, False)
    beside = alone._replace(live=frozenset({0, 1, 2}), events=events)
    within = system_of(beside._replace(replicas=3), release, WIDE)
    kept = ((0, 1), *others)
    whole = Whole(**{**within.valuation, "situation": beside, "partitions": len(kept), "kept": kept})
    assert in_full(system_of(alone, release, WIDE)) == in_full(whole)


@rows(
    "events, says",
    [
        ((Reassign({T0: (2,)}), Shutdown(1)), "t-0 moves; --any-order explores that with --crash, --return,"),
        ((Reassign({T0: (2,)}), Reassign({T0: (1,)})), "t-0 has two moves"),
        ((Reassign({T0: (2, 3, 4, 9)}), *[Return(2)] * 7), "t-0 has 10 returns and new replicas; .* up to 8"),
        ((Reassign({T1: (2,)}),), "reassignment of t-1: there is no such partition"),
        ((Reassign({T0: (7,)}),), "reassignment of t-0: there is no broker 7; there are 1, 2, 3, 4, 9"),
        ((AnotherController(),) * 4, "t-0 has 4 controller failovers; --any-order explores up to 3"),
        ((Crash(1), Return(1)) * 10, "t-0 has 10 deaths of its brokers; --any-order explores up to 9"),
        ((Crash(8),), "there is no broker 8"),
        ((AllowUnclean("u"), Crash(1)), "there is no topic u; there are t"),
        ((Rebalance(), Crash(1)), "explores elections with --prefer"),
        ((CreateTopic("u", 1, 1), Crash(1)), "it explores existing partitions only"),
    ],
)
def test_unexplored_events_are_refused(events: tuple[ClusterEvent, ...], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        in_any_order(cluster(status(1, 2)), *events)


def test_too_many_replicas() -> None:
    most = EventsInAnyOrder.constants()["brokers"].at_most
    assert most is not None
    begun = KnownCluster({T0: status(*range(most + 1))}, frozenset(range(most + 1)), 0, {"t": 1}, {})
    with pytest.raises(UsageError, match=f"t-0 has {most + 1} replicas; --any-order explores up to {most}"):
        in_any_order(begun, Crash(1))


def test_a_broker_dies_returns_and_dies_again() -> None:
    """Each event may come before the controller has noticed the broker's return, or after."""
    again = (Crash(1), Return(1), Crash(1))
    assert worst(in_any_order(cluster(status(1, 2)), *again)) is PartitionHealth.Online
    found = in_any_order(cluster(status(1, 2)), *again, Return(1), Crash(2))
    assert worst(found) is PartitionHealth.Offline
    [case] = found.cases
    assert case.trace is not None
    happened = [each.step.parameters.get("event") for each in case.trace.steps]
    assert [happened.count(each) for each in (Crash(0), Return(0), Crash(1))] == [2, 2, 1]
    with pytest.raises(UsageError, match="these events cannot all happen"):
        in_any_order(cluster(status(1, 2)), Crash(1), Crash(1))


def test_a_reached_bound_is_reported() -> None:
    found = in_any_order(cluster(status(1, 2, 3)), Crash(1), Crash(2), AnotherController(), max_states=50)
    assert not found.cases[0].explored
    assert found.exit_code == 20
    assert "of the orders explored" in str(found)


def test_as_json() -> None:
    found = in_any_order(cluster(status(1, 2), status(3, 4)), Crash(1, 2)).to_json()
    assert found["exit"] == 12
    assert [each["worst"] for each in found["classes"]] == ["offline", "online"]
    assert found["classes"][0]["counterexample"]["property"] == "keeps_a_leader"


@pytest.mark.parametrize("events", [(Return(1),), (Crash(1), Shutdown(1))], ids=["alive already", "dead by then"])
def test_events_that_cannot_all_happen_are_refused(events: tuple[ClusterEvent, ...]) -> None:
    """Otherwise the cluster would never be at rest, and everything would look fine."""
    with pytest.raises(UsageError, match="these events cannot all happen to t-0"):
        in_any_order(cluster(status(1, 2)), *events)


def test_a_lagging_broker_stays_behind_while_others_return() -> None:
    found = in_any_order(cluster(status(1, 2, 3, isr=(1, 2)), min_isr=3), Crash(2), Return(2))
    assert worst(found) is PartitionHealth.UnderMinIsr
    back = in_any_order(cluster(status(1, 2, 3, isr=(1, 2)), min_isr=3), Crash(3), Return(3))
    assert worst(back) is PartitionHealth.Online


def test_an_unnecessary_election_is_explored_too() -> None:
    assert worst(in_any_order(cluster(status(1, 2), min_isr=3), ElectPreferred())) is PartitionHealth.UnderMinIsr


@pytest.mark.parametrize("release", ["2.3", "3.9"])
def test_the_preferred_leader_of_a_single_replica(release: str) -> None:
    """It leads already, or is gone; the requested election changes nothing."""
    assert worst(in_any_order(cluster(status(1)), ElectPreferred(), release=release)) is PartitionHealth.Online
    assert worst(in_any_order(cluster(status(1)), ElectPreferred(), Crash(1))) is PartitionHealth.Offline


def test_the_path_to_the_worst_outcome_has_the_clusters_own_brokers() -> None:
    found = str(in_any_order(cluster(status(4, 2)), Crash(4), Return(4), Crash(2)))
    way = [line.partition(". ")[2] for line in found.splitlines() if line.startswith("     ")]
    assert way == [
        "broker 2 dies",
        "broker 4 dies",
        "the controller reads the live brokers",
        "the controller writes the ISR: no broker leads; in sync: 2",
        "broker 4 starts",
        "the controller reads the live brokers",
    ]


def test_the_first_event_meets_a_cluster_at_rest() -> None:
    [case] = in_any_order(cluster(status(1, 2)), Crash(1, 2)).cases
    assert case.trace is not None
    steps = [each.step.action for each in case.trace.steps]
    assert steps.index("become_controller") < steps.index("happen")


def test_a_bound_that_cuts_something_off_is_noticed() -> None:
    situation = Situation(2, 0, (0, 1), frozenset({0, 1}), (Crash(0), Crash(1)), 1, False)
    cut = check(system_of(situation, "3.9", PlanBounds(1, 0)), properties=["at_a_bound"], engine="reference")
    assert cut.verdict == "holds"
    wide = check(system_of(situation, "3.9", PlanBounds(9, 0)), properties=["at_a_bound"], engine="reference")
    assert wide.verdict == "vacuous"


def test_bounds_are_raised_until_none_cuts_something_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PlanBounds, "of", classmethod(lambda cls, situation: cls(1, 1)))
    tried: list[tuple[int, int]] = []

    def explore(subject: Any, **options: Any) -> Result:
        tried.append((subject.max_leader_epoch, subject.isr_changes))
        return check(subject, **options)

    found = in_any_order(cluster(status(1, 2)), Crash(1), Return(1), Crash(2), explore=explore)
    assert worst(found) is PartitionHealth.Offline
    assert tried == [(1 + 2 * times, 1 + times) for times in range(len(tried))]
    assert len(tried) > 1


def test_a_broker_in_shutdown_that_still_follows_rejoins_the_isr() -> None:
    """It received the new leader in a LeaderAndIsr: the former leader receives no StopReplica."""
    found = in_any_order(cluster(status(1, 2)), Shutdown(1), Return(1), release="2.2")
    assert worst(found) is PartitionHealth.Online
    assert found.exit_code == 0


@pytest.mark.parametrize("failovers", [2, 3])
def test_controllers_that_follow_each_other(failovers: int) -> None:
    """Another broker's death is only a failover here, too."""
    found = in_any_order(cluster(status(1, 2), controller=9), *[AnotherController()] * failovers)
    assert worst(found) is PartitionHealth.Online
    dies = in_any_order(cluster(status(1, 2), controller=9), Crash(9), *[AnotherController()] * (failovers - 1))
    assert found.cases[0].situation == dies.cases[0].situation


def test_too_many_events_are_a_one_line_error() -> None:
    def explore(subject: EventsInAnyOrder, **options: Any) -> Result:
        raise SpecificationError("so many values, and at most 100,000 are listed")

    says = "t-0, with 3 replicas and 2 events, cannot be explored: so many values, and at most 100,000 are listed"
    with pytest.raises(UsageError, match=says):
        in_any_order(cluster(status(1, 2, 3)), Crash(1), Crash(2), explore=explore)


def test_five_replicas_behave_like_three_with_the_same_deaths() -> None:
    three, five = (
        in_any_order(cluster(status(*brokers), min_isr=len(brokers) - 1), Crash(1, 2)).cases[0]
        for brokers in ((1, 2, 3), (1, 2, 3, 4, 9))
    )
    assert (three.health, three.explored, three.states) == (five.health, five.explored, five.states)
    assert five.health is PartitionHealth.UnderMinIsr


class Narrow(EventsInAnyOrder):
    """A bound is too small for the events."""

    @property
    def type_sizes(self) -> Mapping[Any, Size]:
        """There is only one leader epoch."""
        return {**super().type_sizes, LeaderEpoch: (0,)}


class Presumptuous(EventsInAnyOrder):
    """A broker that starts believes that it leads."""

    def forget_roles(self, s: PlannedCluster, broker: BrokerId) -> None:
        """In a future epoch."""
        s.roles[PartitionAndReplica(T0, broker)] = Role(broker, 3)


def explored_as(faulty: type[EventPlan[Any]]) -> Callable[..., Result]:
    """Return the result of a faulty system in the same situation."""

    def explore(subject: EventPlan[Any], **options: Any) -> Result:
        return check(faulty(**subject.valuation), engine="reference", **options)

    return explore


@pytest.mark.parametrize(("faulty", "broken"), [(Narrow, "type_ok"), (Presumptuous, "role_as_in_zookeeper")])
def test_a_broken_rule_is_an_internal_error_and_no_outcome(faulty: type[EventsInAnyOrder], broken: str) -> None:
    """Otherwise steps outside a domain would be skipped, and the partition reported online in every order."""
    with pytest.raises(BrokenRule, match=f"{broken}, in the system that stands for t-0"):
        in_any_order(cluster(status(1, 2)), Crash(1), Return(1), explore=explored_as(faulty))


def test_each_invariant_is_an_outcome_or_a_rule_or_breaks_in_some_release() -> None:
    situation = Situation(2, 0, (0, 1), frozenset({0, 1}), (Crash(0),), 1, False)
    invariants = {each.name for each in system_of(situation, "3.9").properties if each.kind != "sometimes"}
    broken = {
        name
        for instance in instances()
        if instance.system == "partitions" and instance.release and not instance.constants.get("lost_replies")
        for name in instance.broken
    }
    assert invariants == {*HEALTH_BY_PROPERTY, *HEALTH_ON_THE_WAY, *RULES} | broken
    assert not broken & {*RULES}


DIFFERENT = {str(valuation(EventsInAnyOrder.releases, release)): release for release in RELEASES}
"""A release for each generation of controllers."""


@pytest.mark.long
@pytest.mark.parametrize("release", DIFFERENT.values())
def test_rules_hold_in_every_release(release: str) -> None:
    """Otherwise an outcome would count as an internal error."""
    events = (Crash(1), Return(1), Crash(2), AnotherController(), ElectPreferred())
    for begun in (cluster(status(1, 2)), cluster(status(1, 2, isr=(1,)))):
        assert all(case.explored for case in in_any_order(begun, *events, release=release).cases)
        permitted = replace(begun, default_unclean=True)
        assert all(case.explored for case in in_any_order(permitted, *events, release=release).cases)


class SlowCluster(PlannedCluster):
    """A cluster whose brokers receive their requests late."""

    sent: Total[PartitionAndReplica, Role | None] = variable("The last request sent to each replica.")
    waits: frozenset[BrokerId] = variable("The brokers with waiting requests.")


class WithSlowQueues(EventsInAnyOrder[SlowCluster]):
    """The same; only the last waiting request of a broker counts, since it determines the broker's final role."""

    def receive(self, s: SlowCluster, broker: BrokerId, request: ControlRequest) -> None:
        """The request waits."""
        replica = PartitionAndReplica(T0, broker)
        before = s.roles[replica]
        super().receive(s, broker, request)
        s.sent[replica], s.roles[replica] = s.roles[replica], before
        s.waits |= {broker}

    def forget_roles(self, s: SlowCluster, broker: BrokerId) -> None:
        """A broker's queue is lost with the broker."""
        super().forget_roles(s, broker)
        s.sent[PartitionAndReplica(T0, broker)] = None
        s.waits -= {broker}

    @action
    def receive_leader(self, s: SlowCluster, broker: BrokerId) -> None:
        """A broker receives its waiting requests."""
        require(broker in s.waits)
        s.roles[PartitionAndReplica(T0, broker)] = s.sent[PartitionAndReplica(T0, broker)]
        s.waits -= {broker}


@pytest.mark.long
@pytest.mark.parametrize(
    ("begun", "events", "release"),
    [
        (status(1, 2), (Crash(1), Return(1), Crash(2)), "3.9"),
        pytest.param(
            *(status(1, 2), (Crash(1), Return(1), Crash(2), AnotherController()), "3.9"), marks=pytest.mark.long
        ),
        (status(1, 2), (Shutdown(1), Crash(2)), "3.9"),
        (status(1, 2), (Crash(1), Return(1), ElectPreferred()), "3.9"),
        (status(1, 2, isr=(1,)), (AllowUnclean(), Crash(1), Return(1), Crash(2)), "2.2"),
        *(
            pytest.param(*row, marks=pytest.mark.long)
            for row in (
                (status(1, 2, 3), (Crash(1), Return(1), Crash(2), AnotherController()), "2.2"),
                (status(1, 2, 3, isr=(1, 2)), (AllowUnclean(), Crash(1), Crash(2), Return(2)), "3.9"),
                (status(1, 2, 3, isr=(1, 2)), (AllowUnclean(), Shutdown(1), Crash(2), Return(1)), "2.2"),
            )
        ),
    ],
    ids=str,
)
def test_slow_queues_add_no_outcomes(begun: PartitionStatus, events: tuple[ClusterEvent, ...], release: str) -> None:
    """The same properties break; a path to them may be longer by the deliveries."""
    [situation] = situations(cluster(begun, min_isr=2), events, release)
    system = system_of(situation, release, PlanBounds(9, 3))
    at_once, later = (
        check(each, properties=list(HEALTH_BY_PROPERTY), keep_going=True)
        for each in (system, WithSlowQueues(**system.valuation))
    )
    assert later.distinct_states > at_once.distinct_states
    verdicts = [[(each.name, each.verdict) for each in result.properties] for result in (at_once, later)]
    assert verdicts[0] == verdicts[1]


# Reassigned partitions.


def move(*target: int) -> Reassign:
    return Reassign({T0: target})


@pytest.mark.parametrize(("release", "others"), in_turn(["2.3", "2.6", "3.9"], [(), (Crash(1),)]), ids=str)
def test_a_partition_moves_whether_its_leader_dies_or_not(others: tuple[ClusterEvent, ...], release: str) -> None:
    [case] = in_any_order(cluster(status(1, 2)), move(2, 3), *others, release=release).cases
    assert (case.health, case.arrives, case.explored) == (PartitionHealth.Online, True, True)


def test_a_partition_does_not_move_to_a_dead_broker() -> None:
    found = in_any_order(cluster(status(1, 2)), move(2, 3), Crash(3))
    [case] = found.cases
    assert (case.health, case.arrives, found.exit_code) == (PartitionHealth.Online, False, 0)
    assert "online in every order, and may not have moved" in str(found)
    assert found.to_json()["classes"][0]["counterexample"]["property"] == "arrives"
    for release, arrives in {"0.10.2": True, "2.3": False}.items():  # since 0.11 the tool refuses it while 3 is dead
        back = in_any_order(cluster(status(1, 2)), move(2, 3), Crash(3), Return(3), release=release)
        assert back.cases[0].arrives is arrives


@pytest.mark.parametrize(("release", "refused"), [("2.3", False), ("3.9", True)])
def test_a_move_to_a_broker_that_is_dead_in_every_order(release: str, refused: bool) -> None:
    dead = replace(cluster(status(1, 2)), others=frozenset({5}))
    found = in_any_order(dead, move(2, 5), release=release)
    assert (found.cases[0].arrives, found.cases[0].is_refused, found.exit_code) == (False, refused, 12 * refused)
    assert "t-0 needs broker 5, which is dead" in str(found)
    back = in_any_order(dead, move(2, 5), Return(5), release=release)
    assert (back.cases[0].is_refused, back.exit_code) == (False, 0)


def test_a_request_is_lost_with_its_controller() -> None:
    [case] = in_any_order(cluster(status(1, 2)), move(2, 3), AnotherController()).cases
    assert (case.health, case.arrives) == (PartitionHealth.Online, False)
    [case] = in_any_order(cluster(status(1, 2)), move(2, 3), AnotherController(), release="2.3").cases
    assert case.arrives is False


def test_the_only_replica_dies_during_its_move() -> None:
    """The path has the brokers' own ids, each write, and the owner of the deleted log."""
    text = str(in_any_order(cluster(status(4)), move(2), Crash(2)))
    assert "at worst offline, and may not have moved" in text
    for line in (
        "an administrator asks for the move to 2",
        "the controller continues: replicas: 2, 4",
        "the leader adds broker 2 to the ISR: in sync: 4, 2",
        "the controller continues: broker 4 deletes its log",
    ):
        assert line in text


def test_replicas_in_another_order() -> None:
    [case] = in_any_order(cluster(status(1, 2)), move(2, 1), Crash(1), Return(1)).cases
    assert (case.health, case.arrives) == (PartitionHealth.Online, True)


UNDER_WAY = PartitionStatus(ReplicaAssignment((2, 3, 1), (3,), (1,)), 1, (1, 2), 0)
"""From 1 and 2 to 2 and 3."""


@pytest.mark.parametrize(
    ("events", "arrives"),
    [((AnotherController(),), True), ((Crash(1),), True), ((Crash(3),), False), ((Crash(3), Return(3)), True)],
    ids=str,
)
def test_a_move_under_way(events: tuple[ClusterEvent, ...], arrives: bool) -> None:
    """The controller continues it through all events, without another request."""
    found = in_any_order(cluster(UNDER_WAY), *events)
    [case] = found.cases
    assert (case.health, case.arrives, case.explored) == (PartitionHealth.Online, arrives, True)
    assert "asks for the move" not in str(found)


def test_a_move_under_way_is_described() -> None:
    """From its beginning, not only after the first event."""
    alone = PartitionStatus(ReplicaAssignment((3, 1), (3,), (1,)), 1, (1,), 0)
    lines = iter(str(in_any_order(cluster(alone), Crash(3))).splitlines())
    for words in ("at worst offline", "adds broker 3 to the ISR", "broker 1 deletes its log", "broker 3 dies"):
        assert any(words in line for line in lines), words


@pytest.mark.parametrize(
    ("begun", "events", "release", "said"),
    [
        (
            UNDER_WAY,
            (move(1, 2), Crash(1)),
            "3.9",
            "t-0 is being reassigned; --any-order explores no other move of it",
        ),
        (UNDER_WAY, (Shutdown(1),), "3.9", "t-0 is being reassigned; --any-order explores that with --crash"),
        (UNDER_WAY, (Crash(1),), "2.3", "which exist only since Kafka 2.4"),
        (
            PartitionStatus(ReplicaAssignment((1, 2, 3), (3,), (1,)), 1, (1, 2), 0),
            (Crash(1),),
            "3.9",
            "t-0 moves to 2, 3, which a controller puts first among its replicas: 1, 2, 3",
        ),
    ],
    ids=["another move", "a shutdown", "2.3", "another order"],
)
def test_another_move_during_a_move_is_refused(
    begun: PartitionStatus, events: tuple[ClusterEvent, ...], release: str, said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        in_any_order(cluster(begun), *events, release=release)
    assert said in str(refused.value)


@pytest.mark.long
@pytest.mark.parametrize("release", [each for each in RELEASES if ControlDesign(each).kip_455])
def test_a_move_under_way_breaks_no_rule(release: str) -> None:
    """With any ISR and any events: a broken rule would be an internal error."""
    for isr in ((1,), (1, 2), (1, 2, 3)):
        begun = cluster(PartitionStatus(UNDER_WAY.assignment, 1, isr, 0))
        for events in (
            (Crash(1), AnotherController()),
            (Crash(3), Return(3), AnotherController()),
            (AllowUnclean(), Crash(1), Crash(2)),
        ):
            assert in_any_order(begun, *events, release=release).cases[0].explored


def test_partitions_that_move_in_the_same_way_share_a_situation() -> None:
    begun = cluster(status(1, 2), status(3, 4, isr=(4, 3)), status(1, 2))
    moves = Reassign({T0: (2, 9), T1: (4, 1)})
    found = situations(replace(begun, partitions={**begun.partitions, T1: status(3, 4)}), [moves, Crash(2, 4)])
    assert [len(partitions) for partitions in found.values()] == [2, 1]
    assert {situation.target for situation in found} == {(1, 2), ()}
    assert {situation.brokers for situation in found} == {2, 3}


class MoveApart(PlannedMove):
    """The same with the brokers' own ids, in another order than that of their places."""

    order: tuple[int, ...] = constant((), "The ids of the brokers, by place.")

    @property
    def assignments(self) -> Mapping[TopicPartition, ReplicaAssignment]:
        """The described state."""
        return {T0: ReplicaAssignment(self.order[: self.situation.replicas])}


@pytest.mark.parametrize(
    ("order", "events", "release"),
    [
        ((2, 0, 1), (Crash(0), Reassign({PARTITION: (1, 2)})), "3.9"),
        *(
            pytest.param((2, 0, 1), (Crash(0), Crash(2), Reassign({PARTITION: (1, 2)})), each, marks=pytest.mark.long)
            for each in ("2.3", "3.9")
        ),
    ],
)
def test_broker_ids_do_not_matter_for_a_move(
    order: tuple[int, ...], events: tuple[ClusterEvent, ...], release: str
) -> None:
    situation = Situation(2, 0, (0, 1), frozenset(order), events, 2, False, (1, 2))
    one, other = (in_full(each, ARRIVES) for each in renamed(situation, release, order, MoveApart))
    assert one == other


class Ends(PlannedMove):
    """A cluster with a given final state."""

    end: tuple[Any, ...] = constant((), "The assignment, the leader and the ISR.")

    @sometimes(where=PlannedMove.at_rest)
    def ends_so(self, s: MovingCluster) -> bool:
        """All events have happened, and replicas, leader and ISR are these."""
        state = s.state(T0)
        if state is None:
            return False
        leader = state.leader if state.leader in s.registered else None
        return (s.assignment, leader, frozenset(state.isr)) == self.end


@pytest.mark.parametrize(
    ("begun", "events", "release"),
    [
        (status(1, 2), (move(2, 3), Crash(1)), "3.9"),
        (status(1, 2), (move(2, 3), Crash(3)), "2.3"),
        *(
            pytest.param(*row, release, marks=pytest.mark.long)
            for release in ("2.2", "2.4", "3.9")
            for row in (
                (status(1, 2), (move(3, 4), Crash(1), Return(1))),
                (status(1, 2, isr=(1,)), (move(2, 3), Crash(3), AnotherController())),
                (status(1), (move(3, 1), Crash(1), Crash(3))),
            )
        ),
    ],
    ids=str,
)
def test_one_order_is_among_any_order(begun: PartitionStatus, events: tuple[ClusterEvent, ...], release: str) -> None:
    whole = cluster(begun)
    [situation] = situations(whole, events, release)
    [target] = [event.targets[T0] for event in events if isinstance(event, Reassign)]
    place = {broker: number for number, broker in enumerate(brokers_by_place(begun, target))}
    system = system_of(situation, release, WIDE)
    for order in permutations(events):
        if Return(1) in order and order.index(Return(1)) < order.index(Crash(1)):
            continue
        after = what_if(whole, *order, release=release).changes[0].after
        end = (
            ReplicaAssignment(*(tuple(place[broker] for broker in part) for part in after.assignment)),
            None if after.leader is None else place[after.leader],
            frozenset(place[broker] for broker in after.isr),
        )
        result = check(Ends(**system.valuation, end=end), properties=["ends_so"])
        assert {"ends_so": "witnessed"}.items() <= {each.name: each.verdict for each in result.properties}.items(), (
            order
        )


class Stale(PlannedMove):
    """A broker without the partition stays in the ISR."""

    leaving = EventPlan.leaving


class Restless(PlannedMove):
    """A broker without the partition is expected to join the ISR."""

    followers = EventPlan.followers


class Lame(PlannedMove):
    """An added broker catches up only after a restart."""

    lags = EventPlan.lags


def test_an_incomplete_move_is_an_internal_error() -> None:
    with pytest.raises(BrokenRule, match="type_ok, in the system that stands for t-0"):
        in_any_order(cluster(status(3, 1)), move(1, 2), explore=explored_as(Stale))


def test_a_move_that_never_ends_or_ends_too_early_is_noticed() -> None:
    with pytest.raises(UsageError, match="these events cannot all happen to t-0"):
        in_any_order(cluster(status(1, 2)), move(3), explore=explored_as(Restless))
    assert in_any_order(cluster(status(1, 2)), move(3)).cases[0].arrives
    assert in_any_order(cluster(status(1, 2)), move(3), explore=explored_as(Lame)).cases[0].arrives is False


class Hollow(PlannedMove):
    """A broker joins the ISR before it has all records."""

    def change_isr(self, s: MovingCluster, partition: TopicPartition, isr: tuple[BrokerId, ...]) -> None:
        """It has none of them."""
        before = s.complete_logs
        super().change_isr(s, partition, isr)
        s.complete_logs = before


def test_a_leader_without_all_records_is_noticed() -> None:
    assert worst(in_any_order(cluster(status(1)), move(2))) is PartitionHealth.Online
    assert worst(in_any_order(cluster(status(1)), move(2), explore=explored_as(Hollow))) is PartitionHealth.Unclean


@pytest.mark.long
def test_move_properties_hold_in_every_release() -> None:
    """Every other property breaks in some release, or is an outcome."""
    broken: set[str] = set()
    invariants: set[str] = set()
    for release in {str(valuation(PlannedMove.releases, each)): each for each in RELEASES}.values():
        for replicas, target, unclean, events in (
            (1, (1,), True, (Crash(0), Crash(1), AnotherController(), Return(0))),
            (2, (2,), False, (Crash(1), AnotherController(), AnotherController())),
            (2, (1, 0), False, (Crash(1), AnotherController(), Return(1))),
            (2, (1, 2), False, (Crash(0), AnotherController(), Return(0))),
        ):
            live = frozenset(range(3 if 2 in target else 2))
            planned = (*events, Reassign({PARTITION: target}))
            situation = Situation(replicas, 0, tuple(range(replicas)), live, planned, 2, unclean, target)
            system = system_of(situation, release)
            invariants = {each.name for each in system.properties if each.kind != "sometimes"}
            result = check(system, properties=[*sorted(invariants), "at_a_bound"], keep_going=True)
            broken |= {trace.broken for trace in result.counterexamples}
    assert broken.isdisjoint(PlannedMove.rules)
    assert invariants == {*PlannedMove.rules} | broken
