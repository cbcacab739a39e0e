"""Each finding that is open in the newest release with ZooKeeper: Kafka's class fails, and with the change it holds.

A change is a diff of `spec/kafka/changes/`, which is compiled and put before Kafka's jar. It is a switch of the
specification as well: Kafka with the change does what the specification says with the switch on.
"""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from spec.atlas.anomalies import anomaly_named
from spec.checking.model import Model, Path
from spec.checking.traces.replay import Replay
from spec.kafka.changes import CHANGED
from spec.kafka.conformance import conform
from spec.kafka.following import Following
from spec.kafka.harness import Harness
from spec.kafka.mappings.controller import DRIVEN
from spec.kafka.replaying import replay
from spec.kafka.script import OWN, script_of
from spec.systems.controller import ControllerLife
from tests.kafka.conftest import of_release
from tests.kafka.real_cluster import cluster_of, until
from tests.kafka.test_conformance import shortest
from tests.kafka.test_replay import of_another_kafka
from tests.tutorial import ROOT, blocks

pytestmark = pytest.mark.long
PAGES = ROOT / "docs" / "findings"


def until_quiet(name: str, **switch: bool) -> tuple[Model, Path]:
    """The steps into an anomaly of `controller`, as far as they go with what mends it, and on until all is quiet."""
    row = anomaly_named(name)
    unmended = Model(row.specification("off"))
    run = Replay(ControllerLife.of_release("3.9", **{**row.constants, **switch, "elections": 5}))
    for action, instance in shortest(unmended, row.property)[1]:
        step = unmended.actions[action].step(instance)
        if step in run.enabled:
            run.do(step)
    while own := [step for step in run.enabled if step.action in OWN]:
        run.do(own[0])
    return run.model, (run.reached[0], run.choices)


@pytest.mark.parametrize("name", ["K1", "K1a"])
def test_k1_who_reads_that_there_is_no_controller_stands_for_election(name: str) -> None:
    """Kafka's class does nothing more; the changed one is controller in the end."""
    model, path = until_quiet(name, elect_if_none=True)
    following = Following(model)
    with of_release(Harness, CHANGED) as kafka:
        deviation = following.follow(kafka, path)
    assert str(deviation) == "brokers.0.doing is Idle, and by the specification Elect"
    with of_release(lambda release: Harness(release, "K1"), CHANGED) as changed:
        assert following.follow(changed, path) is None
        assert changed.run(following.task_along(path)).seen[-1]["controller"] is not None


def test_k1_conforms() -> None:
    """The changed class does what the specification says with the switch on, whatever fails."""
    with of_release(lambda release: Harness(release, "K1"), CHANGED) as changed:
        result = conform(ControllerLife(**{**DRIVEN, "elect_if_none": True}), changed, max_states=5_000)
    assert result.conforms, result
    assert result.classes >= 250


def test_k1_on_brokers() -> None:
    """A real broker with the changed class comes back as controller when an operator deletes /controller."""
    outcome = replay(of_another_kafka(script_of("K1", CHANGED)), afterwards=1, patience=15, change="K1")
    assert outcome.as_specified, outcome
    assert {each.what: each.seen for each in outcome.compared}["/controller"] == "broker 0"


@pytest.mark.parametrize("change", ["", "K1"])
def test_k1_as_its_page_says(change: str) -> None:
    """The program of the page, with no proxy: soon there is no controller; with the change there always is."""
    [program] = [block.parsed for block in blocks(PAGES / "k1.md") if block.region.lexemes["language"] == "python"]

    async def provoked() -> None:
        async with cluster_of(0, change=change) as cluster:
            address = "{}:{}".format(*cluster.zookeeper)
            for _ in range(5):
                await until(partial(cluster.operator.get, "/controller"))
                await asyncio.sleep(3)  # its failover is over, and it watches /controller
                await asyncio.to_thread(exec, program.replace("127.0.0.1:2181", address), {})
                await asyncio.sleep(3)
                if await cluster.lacks("/controller"):
                    break
            assert await cluster.lacks("/controller") is not bool(change)

    asyncio.run(provoked())
