"""Events in any order: the worst that can come of them, and which partitions are alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from election.ids import BrokerId
from spec.checking import check
from spec.language import Total, action, require, variable
from spec.language.errors import UsageError
from spec.parts.controlled_cluster import Role
from spec.what_if.any_order import (
    AnyOrder,
    EventsInAnyOrder,
    PlannedCluster,
    Situation,
    in_any_order,
    situations,
    system_of,
)
from spec.what_if.cluster import KnownCluster, PartitionStatus
from spec.what_if.events import (
    AllowUnclean,
    AnotherController,
    ClusterEvent,
    Crash,
    ElectPreferred,
    Reassign,
    Return,
    Shutdown,
)
from spec.what_if.prediction import PartitionHealth, what_if
from statemachines.control_requests import ControlRequest
from statemachines.replica_assignment import ReplicaAssignment
from statemachines.topic_partition import PartitionAndReplica, TopicPartition

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


def test_what_ends_well_in_every_order() -> None:
    found = in_any_order(cluster(status(1, 2, 3)), Crash(1), Crash(3))
    assert worst(found) is PartitionHealth.Online
    assert found.exit_code == 0
    assert found.cases[0].trace is None
    assert found.cases[0].explored


def test_too_few_in_sync() -> None:
    assert worst(in_any_order(cluster(status(1, 2), min_isr=2), Crash(1))) is PartitionHealth.UnderMinIsr


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


def test_the_preferred_leader_is_elected_some_time() -> None:
    found = in_any_order(cluster(status(1, 2)), Crash(1), Return(1), ElectPreferred())
    assert worst(found) is PartitionHealth.Online


def test_the_controllers_broker_dies_which_is_a_failover_for_all() -> None:
    found = situations(cluster(status(1, 2), status(3, 4), controller=1), [Crash(1)])
    assert {situation.events for situation in found} == {("crash of 0", "failover"), ("failover",)}


def test_partitions_that_are_alike() -> None:
    found = situations(cluster(status(1, 2), status(3, 1), status(1, 4), status(4, 2)), [Crash(1)])
    numbers = {situation.events: [each.partition for each in partitions] for situation, partitions in found.items()}
    assert numbers == {("crash of 0",): [0, 2], ("crash of 1",): [1], (): [3]}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (cluster(status(1, 2)), cluster(status(1, 2, 3))),
        (cluster(status(1, 2)), cluster(status(1, 2, isr=(2, 1)))),
        (cluster(status(1, 2)), cluster(status(1, 2, isr=(1,)))),
        (cluster(status(1, 2)), cluster(status(1, 2), min_isr=2)),
        (cluster(status(1, 2)), cluster(status(1, 7, isr=(1,)))),
    ],
    ids=["replicas", "order of the ISR", "who is in sync", "min ISR", "who is alive"],
)
def test_partitions_that_are_not(one: KnownCluster, other: KnownCluster) -> None:
    assert set(situations(one, [Crash(1)])).isdisjoint(situations(other, [Crash(1)]))


class Apart(EventsInAnyOrder):
    """The same with the brokers' own ids, in another order than that of the assignment."""

    order: tuple[int, ...]

    @property
    def assignments(self) -> Mapping[TopicPartition, ReplicaAssignment]:
        """As it was described."""
        return {T0: ReplicaAssignment(self.order)}


def apart(situation: Situation, order: tuple[int, ...]) -> Any:
    """What is found if brokers are called by other ids, so that the assignment has them in this order."""
    renamed = situation._replace(
        leader=None if situation.leader is None else order[situation.leader],
        isr=tuple(order[each] for each in situation.isr),
        live=frozenset(order[each] for each in situation.live),
        events=tuple(
            f"{kind} of {order[int(broker)]}" if broker else kind
            for kind, _, broker in (event.partition(" of ") for event in situation.events)
        ),
    )
    one = system_of(situation, "3.9", max_leader_epoch=9)
    cls: Any = type("Apart", (Apart,), {"situation": renamed, "order": order})
    constants = {name: getattr(one, name) for name in ("brokers", "max_deaths", "isr_changes", "moves", "shutdowns")}
    subject = cls(partitions=1, creation=False, preferred_elections=False, max_leader_epoch=9, **constants)
    return [check(each, properties=list(WAYS), keep_going=True, engine="reference") for each in (one, subject)]


WAYS = ("keeps_a_leader", "keeps_min_isr")


@pytest.mark.parametrize("order", [(1, 0), pytest.param((2, 0, 1), marks=pytest.mark.long)])
def test_what_brokers_are_called_decides_nothing_but_what_is_done_first(order: tuple[int, ...]) -> None:
    """Replicas of several dead brokers go offline in the order of ids: a way may be a step longer, its end is not."""
    replicas = len(order)
    events = ("crash of 0", "return of 0", "crash of 1", "failover")
    everyone = frozenset(range(replicas))
    one, other = apart(Situation(replicas, 0, tuple(range(replicas)), everyone, events, 2, False), order)
    assert {each.broken for each in one.counterexamples} == {each.broken for each in other.counterexamples}


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ((Reassign({T0: (1,)}),), "does not explore reassignments"),
        ((Crash(1), Crash(1)), "a thing can happen to a broker once"),
        ((Crash(8),), "there is no broker 8"),
    ],
)
def test_what_is_not_explored_is_refused(events: tuple[ClusterEvent, ...], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        in_any_order(cluster(status(1, 2)), *events)


def test_too_many_replicas() -> None:
    with pytest.raises(UsageError, match="t-0 has 5 replicas; --any-order explores up to 4"):
        in_any_order(cluster(status(1, 2, 3, 4, 9)), Crash(1))


def test_a_bound_is_told() -> None:
    found = in_any_order(cluster(status(1, 2, 3)), Crash(1), Crash(2), AnotherController(), max_states=50)
    assert not found.cases[0].explored
    assert found.exit_code == 20
    assert "of the orders that were explored" in str(found)


def test_as_json() -> None:
    found = in_any_order(cluster(status(1, 2), status(3, 4)), Crash(1, 2)).to_json()
    assert found["exit"] == 12
    assert [each["worst"] for each in found["classes"]] == ["offline", "online"]
    assert found["classes"][0]["counterexample"]["property"] == "keeps_a_leader"


@pytest.mark.parametrize("events", [(Return(1),), (Crash(1), Shutdown(1))], ids=["alive already", "dead by then"])
def test_events_that_cannot_all_happen_are_refused(events: tuple[ClusterEvent, ...]) -> None:
    """Else nothing would ever be at rest, and so everything fine."""
    with pytest.raises(UsageError, match="these events cannot all happen to t-0"):
        in_any_order(cluster(status(1, 2)), *events)


def test_who_lags_stays_behind_while_others_return() -> None:
    found = in_any_order(cluster(status(1, 2, 3, isr=(1, 2)), min_isr=3), Crash(2), Return(2))
    assert worst(found) is PartitionHealth.UnderMinIsr
    back = in_any_order(cluster(status(1, 2, 3, isr=(1, 2)), min_isr=3), Crash(3), Return(3))
    assert worst(back) is PartitionHealth.Online


def test_an_election_that_is_not_needed_happens_too() -> None:
    assert worst(in_any_order(cluster(status(1, 2), min_isr=3), ElectPreferred())) is PartitionHealth.UnderMinIsr


def test_the_first_thing_happens_to_a_cluster_at_rest() -> None:
    [case] = in_any_order(cluster(status(1, 2)), Crash(1, 2)).cases
    assert case.trace is not None
    steps = [each.step.action for each in case.trace.steps]
    assert steps.index("become_controller") < steps.index("die")


def test_a_bound_that_cuts_something_off_is_seen() -> None:
    situation = Situation(2, 0, (0, 1), frozenset({0, 1}), ("crash of 0", "crash of 1"), 1, False)
    cut = check(system_of(situation, "3.9", max_leader_epoch=1), properties=["at_a_bound"], engine="reference")
    assert cut.verdict == "holds"
    wide = check(system_of(situation, "3.9", max_leader_epoch=9), properties=["at_a_bound"], engine="reference")
    assert wide.verdict == "vacuous"


class SlowCluster(PlannedCluster):
    """A cluster whose brokers are told later what they are told."""

    sent: Total[PartitionAndReplica, Role | None] = variable("The last that was sent to each replica.")
    waits: frozenset[BrokerId] = variable("The brokers for which requests wait.")


class WithSlowQueues(EventsInAnyOrder[SlowCluster]):
    """The same; of the requests that wait for a broker the last is all that counts, as it goes by that in the end."""

    def receive(self, s: SlowCluster, broker: BrokerId, request: ControlRequest) -> None:
        """It waits."""
        replica = PartitionAndReplica(T0, broker)
        before = s.roles[replica]
        super().receive(s, broker, request)
        s.sent[replica], s.roles[replica] = s.roles[replica], before
        s.waits |= {broker}

    def forget_roles(self, s: SlowCluster, broker: BrokerId) -> None:
        """A queue goes with its broker."""
        super().forget_roles(s, broker)
        s.sent[PartitionAndReplica(T0, broker)] = None
        s.waits -= {broker}

    @action
    def be_told(self, s: SlowCluster, broker: BrokerId) -> None:
        """A broker gets what waits for it."""
        require(broker in s.waits)
        s.roles[PartitionAndReplica(T0, broker)] = s.sent[PartitionAndReplica(T0, broker)]
        s.waits -= {broker}


@pytest.mark.parametrize(
    "events",
    [
        (Crash(1), Return(1), Crash(2)),
        (Crash(1), Return(1), Crash(2), AnotherController()),
        (Shutdown(1), Crash(2)),
        (Crash(1), Return(1), ElectPreferred()),
    ],
    ids=str,
)
def test_a_slow_queue_brings_nothing_else(events: tuple[ClusterEvent, ...]) -> None:
    """What breaks is the same; a way to it may be longer, as brokers are told on it."""
    [situation] = situations(cluster(status(1, 2)), events)
    system = system_of(situation, "3.9", max_leader_epoch=9)
    cls: Any = type("WithSlowQueues", (WithSlowQueues,), {"situation": situation})
    at_once, later = (
        check(each, properties=list(WAYS), keep_going=True) for each in (system, cls(**system.valuation))
    )
    assert later.distinct_states > at_once.distinct_states
    verdicts = [[(each.name, each.verdict) for each in result.properties] for result in (at_once, later)]
    assert verdicts[0] == verdicts[1]
