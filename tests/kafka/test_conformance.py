"""Real KafkaControllers do what the specification says, and contradict specifications with mistakes."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from spec.atlas.anomalies import anomaly_named
from spec.checking.check import silent
from spec.checking.exploration import Options
from spec.checking.graph.edge_coverage import EdgeCoverage
from spec.checking.local import LocalEngine
from spec.checking.model import Model, Path
from spec.kafka import divergences
from spec.kafka.conformance import Conformance, conform
from spec.kafka.divergences import Divergence
from spec.kafka.foreign_client import ControllerWithForeignClient
from spec.kafka.harness import Harness, Observation
from spec.kafka.mappings.controller import DRIVEN, ControllerMapping, edge_class
from spec.kafka.path_follower import PathFollower
from spec.language import sometimes
from spec.systems.controller import ClusterAtWork, ControllerLife
from statemachines.controller.controller_process import Answer, ControllerProcess
from statemachines.controller.one_partition import OnePartitionController
from statemachines.releases import line_of
from statemachines.zookeeper.counters import ZooKeeperWithoutZxids
from statemachines.zookeeper.server import WatchTable
from statemachines.zookeeper.tree import Stat
from tests.kafka.conftest import running
from tests.spec.systems.faults import LifeOnServers

SMALL, WRONG = 1_500, 500
"""How many states of two brokers have most kinds of steps; how many states of one broker show each mistake below."""


def compared(
    kafka: Harness, system: type[ControllerLife] = ControllerLife, states: int = SMALL, **constants: Any
) -> Conformance:
    """Compare a specification with Kafka, under these constants."""
    return conform(system(**{**DRIVEN, **constants}), kafka, max_states=states)


def test_controllers_conform(kafka: Harness) -> None:
    """Every kind of step, within the first states; known divergences diverge."""
    result = compared(kafka)
    assert result.conforms, result
    assert result.exit_code == 0
    assert (result.states, result.expanded) == (SMALL, SMALL)
    assert result.classes >= 250
    assert result.runs == result.classes + len(result.known)
    assert set(result.known) == {"D2"}
    assert "D2" in str(result)
    assert result.to_json()["verdict"] == "conforms"


@pytest.mark.long
@pytest.mark.parametrize(
    "switch",
    [
        pytest.param({"fence_zk": False}, id="fence_zk", marks=pytest.mark.long),
        pytest.param({"epoch_update": "cas_checked"}, id="epoch_update"),
        pytest.param({"resign_on_move": True}, id="resign_on_move", marks=pytest.mark.long),
    ],
)
def test_a_switch_turned_the_wrong_way(kafka: Harness, switch: dict[str, Any]) -> None:
    """Kafka contradicts it, with a path."""
    result = compared(kafka, states=WRONG, brokers=1, **switch)
    assert result.exit_code == 12
    shortest, times, trace = result.deviations[0]
    assert times > 0
    assert trace.length == shortest.length + 1 <= 12
    assert shortest.differences
    assert str(shortest) in str(result)


class Unarmed(ZooKeeperWithoutZxids):
    """Reads of /controller set no watch."""

    def _arm(self, table: WatchTable, path: str, session: Any) -> None:
        if path != "/controller":
            super()._arm(table, path, session)


class HeardLate(OnePartitionController):
    """Events arrive after the reply to the request in progress."""

    def hear(self, me: ControllerProcess, listens: bool) -> ControllerProcess:
        return me if me.agenda else super().hear(me, listens)


class HandlersLate(OnePartitionController):
    """A controller registers its handlers only after it has read the brokers."""

    def register_controller(self, me: ControllerProcess) -> Answer:
        answer = OnePartitionController.register_controller(self, me)
        return answer._replace(controller=answer.controller._replace(handlers_registered=False))


class Forgiving(ZooKeeperWithoutZxids):
    """Reads of /controller succeed in an ended session."""

    def get(self, session: Any, path: str, watch: bool = False) -> tuple[Any, Stat]:
        return super().get(session, path, watch) if session in self.state.sessions else super().get(None, path)


class Unwatched(LifeOnServers):
    """A controller that does not watch /controller."""

    servers = Unarmed


class Sessionless(LifeOnServers):
    """Requests succeed without a session."""

    servers = Forgiving


class Late(ControllerLife):
    """Events overtake nothing."""

    one_partition_controller = HeardLate


class LateHandlers(ControllerLife):
    """Events arrive that are not yet for the controller."""

    one_partition_controller = HandlersLate


@pytest.mark.long
@pytest.mark.parametrize(
    "mutant",
    [
        Unwatched,
        pytest.param(Sessionless, marks=pytest.mark.long),
        pytest.param(Late, marks=pytest.mark.long),
        pytest.param(LateHandlers, marks=pytest.mark.long),
    ],
)
def test_a_wrong_specification_is_refuted(kafka: Harness, mutant: type[ControllerLife]) -> None:
    """Kafka contradicts it."""
    result = compared(kafka, mutant, WRONG, brokers=1)
    assert result.exit_code == 12, result


def test_a_divergence_that_has_vanished(kafka: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """If Kafka does not diverge where the list says so, that is a difference, with the path."""
    mended = Divergence(
        "D0", "no such thing", "nowhere", lambda step: step.action == "watch_controller", "no reason", 4
    )
    monkeypatch.setattr(divergences, "DIVERGENCES", (mended, *divergences.DIVERGENCES))
    result = compared(kafka, states=WRONG, brokers=1)
    assert result.exit_code == 12
    assert not result.deviations
    assert [step.step.action for step in result.vanished["D0"].steps][-1] == "watch_controller"
    assert "D0 has vanished: Kafka does what the specification says" in str(result)
    assert list(result.to_json()["vanished"]) == ["D0"]


DEPOSED: dict[str, Any] = {
    **dict.fromkeys(("crashes", "expiries", "lost_replies", "disconnections", "request_failures"), False),
    "failed_elections": False,
    "registrations": 1,
}
"""Only an operator who causes another broker's election."""
NAMED_AGAIN: dict[str, Any] = {
    "elections": 1,
    "state_writes": 1,
    "writes_epoch": False,
    "writes_registrations": False,
}
"""A client that writes to /controller, and one election."""


@pytest.mark.long
def test_the_shortest_path_to_each_divergence_has_the_recorded_length() -> None:
    """Except D11, which needs two brokers and many states; D24 needs a client other than a broker."""
    lengths: dict[str, int] = {}
    for system, release, states, constants in (
        (ControllerLife, "2.1", 1_500, {}),
        (ControllerLife, "2.1", 1_500, {**DEPOSED, "brokers": 2}),
        (ControllerLife, "1.0", 800, {}),
        (ControllerLife, "3.9", 600, ISR_CHANGES),
        (ControllerWithForeignClient, "3.9", 6_000, NAMED_AGAIN),
    ):
        known = divergences.divergences_of(release)
        switches = ControllerLife.releases[release]
        coverage = EdgeCoverage(
            Model(system(**{**DRIVEN, **switches, "brokers": 1, **constants})),
            partial(edge_class, known=known),
            max_states=states,
            ends=lambda of: isinstance(of, Divergence),
        )
        for path in coverage:
            if isinstance(path.of, Divergence):
                found = lengths.setdefault(path.of.id, len(path.choices))
                lengths[path.of.id] = min(found, len(path.choices))
    assert lengths == {each.id: each.shortest for each in divergences.DIVERGENCES if each.id != "D11"}


def test_a_wrong_comparison_is_detected(kafka: Harness) -> None:
    """The whole observation is compared: an epoch that is one too high is noticed."""

    class OneTooHigh(ControllerMapping):
        def observation(self, s: ClusterAtWork) -> Observation:
            epoch = s.zk.nodes["/controller_epoch"].data + 1
            return {**super().observation(s), "controller_epoch": {"epoch": epoch, "version": 0}}

    model = Model(ControllerLife(**DRIVEN))
    [first] = model.first_states()
    step = model.expand(first).steps[0]
    deviation = PathFollower(model, OneTooHigh).follow(kafka, (first, [step[:2]]))
    assert deviation is not None
    assert str(deviation) == "controller_epoch.epoch is 0; the specification says 1"
    assert PathFollower(model).follow(kafka, (first, [step[:2]])) is None


def shortest(model: Model, name: str) -> Path:
    """The shortest path that decides a property."""
    [number] = model.numbers([name])
    options = Options((*model.numbers(["type_ok"]), number))
    return LocalEngine(1).explore(model, options, silent).discoveries[number].path


def test_k1_is_reproduced(kafka: Harness) -> None:
    """No broker is controller, and none will ask again: the shortest trace, on the real KafkaController."""
    row = anomaly_named("K1")
    model = Model(row.specification("off"))
    path = shortest(model, row.property)
    following = PathFollower(model)
    assert following.follow(kafka, path) is None
    assert len(path[1]) == row.length - 1
    end = kafka.run(following.task_along(path)).seen[-1]
    assert end["controller"] is None
    assert not end["events"]
    [broker] = end["brokers"]
    assert (broker["doing"], broker["active"], broker["queue"]) == ("Idle", False, [])
    assert end["watching_controller"] == ["session-0.0"]


OUTLIVING: dict[str, Any] = {"brokers": 1, "ephemeral_outlives_session": True, "sessions_per_broker": 2}
"""A session's nodes may disappear later than the session ends. [ZOOKEEPER-2985]"""


@pytest.mark.long
def test_ephemerals_that_outlive_their_session(kafka: Harness) -> None:
    """A broker finds a node of its own older session and deletes it, or the node is gone by then."""
    result = compared(
        kafka, states=300, **OUTLIVING, disconnections=False, request_failures=False, lost_replies=False
    )
    assert result.conforms, result
    assert result.classes >= 100
    assert not result.known


def outliving(name: str, **switches: Any) -> tuple[PathFollower, Path]:
    """The shortest trace of an anomaly of these servers with one broker, and the object that follows it."""
    row = anomaly_named(name)
    constants = {**row.constants, **OUTLIVING, **switches, row.switch: row.off}
    model = Model(ControllerLife(**constants))
    path = shortest(model, row.property)
    assert len(path[1]) == row.length - 1
    return PathFollower(model), path


def test_b22_is_reproduced(kafka: Harness) -> None:
    """A broker finds /controller naming itself, from an older session, and runs no failover."""
    following, path = outliving("B22")
    assert following.follow(kafka, path) is None
    end = kafka.run(following.task_along(path)).seen[-1]
    assert end["controller"] == {"broker": 0, "owner": "session-0.0"}
    assert end["sessions"] == ["session-0.1"]
    [broker] = end["brokers"]
    assert (broker["doing"], broker["active"], broker["started"], broker["epoch"]) == ("Idle", True, False, 0)


def test_b23_does_not_happen(kafka: Harness) -> None:
    """Since 2.2 a broker deletes the registration of its own older session."""
    following, path = outliving("B23")
    deviation = following.follow(kafka, path)
    assert str(deviation) == "brokers.0.doing is DeleteRegistration; the specification says Idle"


def test_b23a_is_reproduced(kafka: Harness) -> None:
    """But if the old registration is gone by the time it looks, its registration still fails."""
    following, path = outliving("B23a")
    assert following.follow(kafka, path) is None
    end = kafka.run(following.task_along(path)).seen[-1]
    assert (end["registrations"], end["sessions"]) == ({}, ["session-0.1"])
    assert end["brokers"][0]["doing"] == "Idle"


@pytest.mark.long
@pytest.mark.parametrize("release", ["1.1.1", "2.1.1"])
def test_b23_is_reproduced(release: str) -> None:
    """In earlier releases its registration fails, and it stays unregistered."""
    following, path = outliving("B23", **ControllerLife.releases[line_of(release)])
    with running(release) as kafka:
        assert following.follow(kafka, path) is None
        end = kafka.run(following.task_along(path)).seen[-1]
        assert end["registrations"] == {}
        assert end["brokers"][0]["doing"] == "Idle"


REQUESTS: dict[str, Any] = {
    **dict.fromkeys(
        ("crashes", "operator_deletes", "expiries", "lost_replies", "disconnections", "request_failures"), False
    ),
    "receiving_broker": True,
    "elections": 1,
    "registrations": 1,
}
"""Controllers' requests, and little else."""


def test_requests_of_controllers_equal_kafkas(kafka: Harness) -> None:
    """The controller epochs in flight are as specified, and controllers inform brokers of a new broker at once."""
    result = compared(kafka, states=2_500, **REQUESTS)
    assert result.conforms, result
    assert not result.known


class Silent(OnePartitionController):
    """It informs no broker of the leader that it has elected."""

    def update_leader_and_isr(self, me: ControllerProcess) -> Answer:
        return OnePartitionController.update_leader_and_isr(self, me)._replace(sends_requests=False)


class SilentControllers(ControllerLife):
    """Controllers that inform no broker of the leaders that they have elected."""

    one_partition_controller = Silent


def test_a_missing_request_is_detected(kafka: Harness) -> None:
    """Kafka contradicts it, if the earlier requests have arrived."""
    result = compared(kafka, SilentControllers, 200, **{**REQUESTS, "brokers": 1})
    assert result.exit_code == 12
    assert "requests is [1]; the specification says []" in str(result)


ISR_CHANGES: dict[str, Any] = {
    **dict.fromkeys(("crashes", "lost_replies", "disconnections"), False),
    "brokers": 1,
    "elections": 1,
    "isr_changes": True,
}
"""Leaders' notifications to the controller, and little else."""


@pytest.mark.long
def test_isr_changes(kafka: Harness) -> None:
    """A controller reads notifications; their deletion is notified too (D12), and other brokers drop them (D13)."""
    result = compared(kafka, states=500, **ISR_CHANGES)
    assert result.conforms, result
    assert result.known.keys() >= {"D12", "D13", "D14"}


@pytest.mark.long
def test_everything_that_can_fail(kafka: Harness) -> None:
    """Two brokers: every class of edges of the first 150,000 states."""
    result = compared(kafka, states=150_000)
    assert result.conforms, result
    assert result.steps >= 20_000
    assert set(result.known) == {"D2"}


@pytest.mark.long
def test_one_broker_alone(kafka: Harness) -> None:
    """The whole graph, every edge; only the failures of D2 cannot be provoked."""
    result = conform(ControllerLife(**{**DRIVEN, "brokers": 1}), kafka, max_states=10**6, every_edge=True)
    assert result.conforms, result
    assert (result.states, result.edges, set(result.known)) == (11_711, 41_503, {"D2"})


@pytest.mark.long
def test_tours_along_every_edge(kafka: Harness) -> None:
    """They give the same results as a path to each class, in fewer steps."""
    few = ControllerLife(
        **{**DRIVEN, "brokers": 1, "elections": 1, "state_writes": 1, "registrations": 1, "operator_deletes": False}
    )
    result = conform(few, kafka, max_states=500, every_edge=True)
    assert result.conforms, result
    assert result.runs < result.edges < result.steps
    assert result.to_json()["every_edge"] is True
    assert "paths along every edge run" in str(result)


@pytest.mark.long
def test_one_broker_that_comes_again(kafka: Harness) -> None:
    """It returns in a new session while its old one lives."""
    result = compared(
        kafka, states=6_000, brokers=1, sessions_per_broker=2, elections=1, state_writes=1, registrations=3
    )
    assert result.conforms, result
    assert set(result.known) == {"D2"}


class Bouncing(ControllerLife):
    """The consequences of a broker that restarts, which lie too deep for breadth-first paths."""

    def turn_ends(self, before: ClusterAtWork, after: ClusterAtWork, broker: int) -> bool:
        """A controller that handles brokers one by one has finished the last of them, and goes on."""
        me = after.controllers[broker]
        return me.active and bool(before.controllers[broker].brokers_read) and not me.brokers_read

    @sometimes(of="update_leader_and_isr")
    def elected_in_between(self, before: ClusterAtWork, after: ClusterAtWork, broker: int) -> bool:
        """The broker is registered again after a leader has been elected without it."""
        return self.turn_ends(before, after, broker) and after.times_state_written > before.times_state_written

    @sometimes(of="update_leader_and_isr")
    def moved_in_between(self, before: ClusterAtWork, after: ClusterAtWork, broker: int) -> bool:
        """A controller that learns between the two elections that it is deposed has gone on without that broker."""
        return self.turn_ends(before, after, broker) and after.times_state_written == before.times_state_written

    @sometimes(of="read_partition_state")
    def looked_twice(self, before: ClusterAtWork, after: ClusterAtWork, broker: int) -> bool:
        """A newer controller wrote the state, which is read once without that broker and once with it."""
        return self.turn_ends(before, after, broker)


@pytest.mark.long
@pytest.mark.parametrize(
    ("end", "length", "happens"),
    [
        ("a_bounced_broker", 22, {"elections": 1, "state_writes": 3}),
        ("elected_in_between", 24, {"elections": 1, "state_writes": 3}),
        pytest.param("moved_in_between", 30, {"operator_deletes": True, "crashes": False}, marks=pytest.mark.long),
        pytest.param("looked_twice", 33, {"operator_deletes": True, "crashes": False}, marks=pytest.mark.long),
    ],
)
def test_a_bounced_broker_leaves_first(kafka: Harness, end: str, length: int, happens: dict[str, Any]) -> None:
    """An election runs without it before it counts as live again: the shortest path to each possible end."""
    rarely = dict.fromkeys(("operator_deletes", "request_failures", "lost_replies", "disconnections"), False)
    model = Model(Bouncing(**{**DRIVEN, **rarely, **happens}))
    path = shortest(model, end)
    assert len(path[1]) == length
    assert PathFollower(model).follow(kafka, path) is None


@pytest.mark.long
@pytest.mark.parametrize(("release", "known"), [("2.0.1", set()), ("2.1.1", {"D23"}), ("2.2.2", set())])
def test_a_controller_deposed_in_its_failover(release: str, known: set[str]) -> None:
    """In 2.1 alone it learns of it from a deletion before the last one of its failover (D23)."""
    with running(release) as kafka:
        result = compared(kafka, **{**ControllerLife.releases[line_of(release)], **DEPOSED})
        assert result.conforms, result
        assert set(result.known) == known


@pytest.mark.long
def test_two_brokers_receive_isr_changes(kafka: Harness) -> None:
    """A deposed controller learns of it by the fence (D11)."""
    constants = {
        **ISR_CHANGES,
        "brokers": 2,
        "elections": 2,
        "expiries": False,
        "request_failures": False,
        "registrations": 1,
    }
    result = compared(kafka, states=120_000, **constants, state_writes=1)
    assert result.conforms, result
    assert set(result.known) == {"D11", "D12"}


@pytest.mark.long
@pytest.mark.parametrize("release", ["0.11.0.3", "1.0.2"])
def test_two_threads_of_a_broker(release: str) -> None:
    """Until 1.0: brokers whose listeners have a thread of their own, with everything that can fail."""
    one: dict[str, Any] = {**ControllerLife.releases[line_of(release)], "brokers": 1}
    with running(release) as kafka:
        result = compared(kafka, states=3_000, **one)
        assert result.conforms, result
        assert result.classes >= 2_000
        assert set(result.known) == {"D2", "D21", "D25"}
        two = compared(kafka, states=6_000, **{**one, "brokers": 2})
        assert two.conforms, two
        faults = ("expiries", "lost_replies", "disconnections", "request_failures", "failed_elections")
        whole = compared(kafka, states=10_000, **{**one, **dict.fromkeys(faults, False)})
        assert whole.conforms, whole
        assert (whole.states, set(whole.known)) == (725, set())


@pytest.mark.long
@pytest.mark.parametrize("release", ["1.1.1", "2.0.1", "2.1.1", "2.2.2", "2.8.2", "3.0.2", "3.5.2"])
def test_other_releases(release: str) -> None:
    """Each by its own row of switches."""
    switches = ControllerLife.releases[release]
    with running(release) as kafka:
        result = compared(kafka, states=5_000, **switches)
        assert result.conforms, result
        assert result.classes >= 500
        assert ("D9" in result.known) == (release == "2.1.1")
        left = compared(kafka, states=1_000, **{**switches, **OUTLIVING})
        assert left.conforms, left
        outcome = compared(kafka, states=1_000, **{**switches, **ISR_CHANGES, "receiving_broker": True})
        assert outcome.conforms, outcome
        assert {"D12", "D14"} <= set(outcome.known)
