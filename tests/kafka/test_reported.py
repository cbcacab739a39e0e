"""Each finding that is open in the newest release with ZooKeeper: Kafka's class fails, and with the patch it holds.

A patch is a diff of `spec/kafka/patches/`, which is compiled and put before Kafka's jar. It is a switch of the
specification as well: Kafka with the patch does what the specification says with the switch on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest

from spec.atlas.anomalies import anomaly_named
from spec.atlas.loading import system_named, under
from spec.checking.model import Model, Path
from spec.checking.traces.replay import Replay
from spec.kafka.broker_replay import replay
from spec.kafka.conformance import conform
from spec.kafka.data_plane_beside import DataPlane
from spec.kafka.harness import Harness
from spec.kafka.mappings.controller import DRIVEN
from spec.kafka.patches import PATCHED_RELEASE
from spec.kafka.path_follower import PathFollower
from spec.kafka.path_runner import PathRunner
from spec.kafka.proxy import RequestFrame
from spec.kafka.script import OWN, script_of
from spec.kafka.state_machines_beside import RealController
from spec.systems.controller import ControllerLife
from statemachines.broker.replica_manager import ReplicaManager
from statemachines.changes.replicating import ReplicationDesign
from tests.kafka.conftest import of_release
from tests.kafka.data_plane_drawing import Drawing
from tests.kafka.real_cluster import cluster_of, until
from tests.kafka.receiver_comparison import KafkaReceivers, with_other
from tests.kafka.test_broker_replay import of_another_kafka
from tests.kafka.test_conformance import shortest
from tests.kafka.test_controller_beside import GOES_AND_COMES, topics
from tests.kafka.test_data_plane_beside import K11, disagreements, lead, rounds
from tests.kafka.test_findings import (
    LAG,
    missed_epoch,
    reassigned_half_way,
    topic_stays_that_is_deleted_again,
    writes_state,
)
from tests.kafka.test_partitions_conformance import FEW, of
from tests.transcripts.brokers import kafkas, ours
from tests.transcripts.transcript import files, parsed
from tests.tutorial import ROOT, blocks

pytestmark = pytest.mark.long
PAGES = ROOT / "docs" / "findings"


def into(name: str, own: Collection[str], **constants: Any) -> tuple[Model, Path]:
    """The way into an anomaly, as far as it goes with what mends it, and on by steps that come by themselves."""
    row = anomaly_named(name)
    unmended = Model(row.specification("off"))
    run = Replay(under(system_named(row.system), None, {**row.constants, row.switch: True, **constants}))
    for action, instance in shortest(unmended, row.property)[1]:
        step = unmended.actions[action].step(instance)
        if step in run.enabled:
            run.do(step)
    while following := [step for step in run.enabled if step.action in own]:
        run.do(following[0])
    return run.model, (run.reached[0], run.choices)


@pytest.mark.parametrize("name", ["K1", "K1a"])
def test_k1_who_reads_that_there_is_no_controller_stands_for_election(name: str) -> None:
    """Kafka's class does nothing more; the changed one is controller in the end."""
    model, path = into(name, OWN, elections=5)
    following = PathFollower(model)
    with of_release(Harness, PATCHED_RELEASE) as kafka:
        deviation = following.follow(kafka, path)
    assert str(deviation) == "brokers.0.doing is Idle; the specification says Elect"
    with of_release(lambda release: Harness(release, "K1"), PATCHED_RELEASE) as changed:
        assert following.follow(changed, path) is None
        assert changed.run(following.task_along(path)).seen[-1]["controller"] is not None


def test_k1_conforms() -> None:
    """The changed class does what the specification says with the switch on, whatever fails."""
    with of_release(lambda release: Harness(release, "K1"), PATCHED_RELEASE) as changed:
        result = conform(ControllerLife(**{**DRIVEN, "elect_if_none": True}), changed, max_states=5_000)
    assert result.conforms, result
    assert result.classes >= 250


def test_k1_on_brokers() -> None:
    """A real broker with the changed class comes back as controller when an operator deletes /controller."""
    outcome = replay(of_another_kafka(script_of("K1", PATCHED_RELEASE)), afterwards=1, patience=15, patch="K1")
    assert outcome.as_specified, outcome
    assert {each.what: each.seen for each in outcome.compared}["/controller"] == "broker 0"


@pytest.mark.parametrize("patch", ["", "K1"])
def test_k1_program_of_the_page(patch: str) -> None:
    """The program of the page, with no proxy: soon there is no controller; with the patch there always is."""
    [program] = [block.parsed for block in blocks(PAGES / "k1.md") if block.region.lexemes["language"] == "python"]

    async def provoked() -> None:
        async with cluster_of(0, patch=patch) as cluster:
            address = "{}:{}".format(*cluster.zookeeper)
            for _ in range(5):
                await until(partial(cluster.operator.get, "/controller"))
                await asyncio.sleep(3)  # its failover is over, and it watches /controller
                await asyncio.to_thread(exec, program.replace("127.0.0.1:2181", address), {})
                await asyncio.sleep(3)
                if await cluster.lacks("/controller"):
                    break
            assert await cluster.lacks("/controller") is not bool(patch)

    asyncio.run(provoked())


def test_k10_the_changed_controller_reads_its_writes_back() -> None:
    """Kafka's does not look what it was that ZooKeeper refused; the changed one does, and tells the leader."""
    model, path = into("K10", ["answer_alter_partition"])
    following = PathFollower(model)
    with of_release(PathRunner, PATCHED_RELEASE) as kafka:
        assert str(following.follow(kafka, path)) == "Kafka does not reach the point where this step can be seen"
    mended = of(PATCHED_RELEASE, **FEW, lost_replies=True, read_back_alteration=True)
    with of_release(lambda release: PathRunner(release, "K10"), PATCHED_RELEASE) as changed:
        assert following.follow(changed, path) is None
        assert conform(mended, changed, max_states=80).conforms


@pytest.mark.parametrize(("patch", "left"), [("", {"e"}), ("K8", set())])
def test_k8_a_topic_that_had_to_wait_in_an_earlier_life_is_deleted(patch: str, left: set[str]) -> None:
    """Kafka's controller waits for nothing; the changed one deletes it, and does all else as before."""
    with of_release(lambda release: RealController(release, patch), PATCHED_RELEASE) as kafka:
        [(_, seen)] = kafka.of("Events", [GOES_AND_COMES])
    assert topics(seen) == left


@pytest.mark.parametrize(("patch", "error"), [("", "NOT_LEADER_OR_FOLLOWER"), ("K5", "NONE")])
def test_k5_a_repeated_request_makes_a_failed_follower_follow(patch: str, error: str) -> None:
    """Kafka's broker refuses the repeated request. The changed one obeys, and keeps every other rule as well."""
    kind = with_other("epoch_after_log") if patch else ReplicaManager
    every = [each for path in files("broker") for each in parsed(path.read_text())]
    kept = [each for each in every if "[K5]" in each.head[0] or "is not read" not in str(each)]
    its = [each for each in kept if PATCHED_RELEASE in each.releases]
    with of_release(lambda release: KafkaReceivers(release, patch), PATCHED_RELEASE) as kafka:
        for transcript, recorded in zip(its, kafkas(its, PATCHED_RELEASE, kafka), strict=True):
            assert str(recorded) == str(ours(transcript, PATCHED_RELEASE, kind))
            if "[K5]" in transcript.head[0]:
                assert f"t-0 {error}" in recorded.steps[0].told[0]


def test_k11_a_leader_that_missed_an_epoch_waits_for_its_followers_to_fetch() -> None:
    """The changed leader acknowledges the record only when the follower has it again, and keeps every other rule."""
    fetches_again = [*lead(1, 2, (3,), (1, 3), (1, 3)), *rounds(3, 1, 3)]
    story = replace(K11, commands=[*K11.commands[:-3], *fetches_again])
    drawn = [Drawing(Random(f"k11 {number}"), PATCHED_RELEASE).case() for number in range(300)]
    design = ReplicationDesign(PATCHED_RELEASE).but(forget_after_missed_epoch=True)
    with of_release(lambda release: DataPlane(release, "K11"), PATCHED_RELEASE) as changed:
        cases = [*changed.of([K11, story, *drawn])]
    for case, steps in cases:
        assert disagreements(case, steps, PATCHED_RELEASE, design) == ([], [])
    (_, lost), (_, kept), *_ = cases
    assert [step.state["brokers"]["1"]["completed"] for step in (lost[-4], kept[-1])] == [[], [["m0", 0, "NONE"]]]
    assert kept[-1].state["brokers"]["3"]["log"] != []
    assert any(disagreements(case, steps, PATCHED_RELEASE)[1] for case, steps in cases[2:]), "Kafka's rule"


# On real brokers; what happens to them as they are, `test_findings` has.


def test_k2_a_cancellation_that_keeps_nothing_in_sync_is_refused() -> None:
    """Nothing is deleted; and once an original replica is in sync again, it is cancelled without loss."""

    async def refused() -> None:
        async with cluster_of(0, 1, 2, 3, patch="K2") as cluster:
            ask = cluster.administrator.ask
            await reassigned_half_way(cluster)
            assert await ask("cancel t") == "InvalidReplicaAssignmentException"
            assert await ask("reassign t 0") == "InvalidReplicaAssignmentException"
            await cluster.starts_again(1)
            await cluster.reaches("t", 2, [1, 2])
            assert await ask("cancel t") == "done"
            await cluster.reaches("t", 1, [1])
            assert await ask("end t") == "10", "all that were acknowledged"

    asyncio.run(refused())


def test_k4_a_reassignment_that_takes_the_leader_away_is_refused() -> None:
    """The leader leads on. A cancellation elects another one at once, and after that the partition can move."""

    async def refused() -> None:
        async with cluster_of(0, 1, 2, 3, patch="K4") as cluster:
            ask = cluster.administrator.ask
            await reassigned_half_way(cluster)
            await cluster.starts_again(1)
            await cluster.reaches("t", 2, [1, 2])
            assert await ask("reassign t 0") == "InvalidReplicaAssignmentException"
            assert await cluster.state("t") == (2, [1, 2])
            assert await ask("cancel t") == "done"
            await cluster.reaches("t", 1, [1])
            assert await ask("reassign t 0") == "done"
            await cluster.reaches("t", 0, [0])
            assert await ask("end t") == "10", "all that were acknowledged"

    asyncio.run(refused())


def test_k8_on_brokers() -> None:
    """The topic is deleted, as its predecessor was."""
    assert not asyncio.run(topic_stays_that_is_deleted_again(patch="K8"))


def test_k10_a_leader_whose_isr_is_written_unheard_goes_on() -> None:
    """It receives what was written: records are acknowledged, and its follower is taken back."""

    async def acknowledged() -> None:
        holding = True

        def holds(request: RequestFrame) -> bool:
            return holding and writes_state(request)

        async with cluster_of(0, 1, 2, patch="K10", holds=holds, replica_lag_time_max_ms=LAG) as cluster:
            ask = cluster.administrator.ask
            assert await ask("create t 1,2") == "done"
            await cluster.reaches("t", 1, [1, 2])
            assert await ask("produce t 5") == "5"
            await cluster.kill(2)
            produced = asyncio.create_task(ask("produce t 5"))
            held = await cluster.proxy.next_held()
            holding = False
            await held.lose()
            assert await produced == "10"
            await cluster.starts_again(2)
            await cluster.reaches("t", 1, [1, 2])

    asyncio.run(acknowledged())


def test_k11_on_brokers() -> None:
    """The record is not acknowledged until broker 3 has it again, and broker 3 keeps it."""
    assert asyncio.run(missed_epoch("K11")) == ["TimeoutException", "1"]
