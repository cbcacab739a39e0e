"""The answers of `kafkaspec what-if` about real brokers, beside Kafka's own tool and the brokers' ZooKeeper."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

import pytest

from election.ids import BrokerId
from spec.what_if.events import ClusterEvent, Crash, ElectPreferred, Return, Shutdown
from spec.what_if.known_cluster import KnownCluster, PartitionStatus, complete
from spec.what_if.prediction import what_if
from spec.what_if.reading import read_cluster
from spec.what_if.topic_description import read_description
from statemachines.messages.topic_partition import TopicPartition
from statemachines.releases import Release, line_of
from tests.kafka.real_cluster import RELEASE, Cluster, cluster_of, until

TOPICS: Final = {"a": (0, 1, 2), "b": (1, 2, 0), "c": (2, 0, 1), "d": (1, 2), "e": (2,)}
"""The replicas of the partitions. Broker 0 is the controller, and stays."""
EVENTS: Final[tuple[ClusterEvent, ...]] = (
    Crash(1),
    Return(1),
    ElectPreferred(),
    Shutdown(2),
    Return(2),
    ElectPreferred(),
)

ReadState = tuple[tuple[BrokerId, ...], BrokerId | None, tuple[BrokerId, ...]]
"""Replicas, leader, and the sorted ISR."""


def seen(status: PartitionStatus, release: str = RELEASE) -> ReadState:
    """In the form of Kafka's tool: until 2.3 brokers report no ISR of a leaderless partition. [MetadataCache]"""
    has_isr = status.leader is not None or Release(release) >= Release("2.4.0")
    return status.assignment.replicas, status.leader, status.isr if has_isr else ()


async def described(cluster: Cluster) -> dict[TopicPartition, ReadState]:
    """The output of Kafka's tool."""
    said = read_description(await cluster.described(0), "what kafka-topics.sh says").partitions
    return {
        partition: seen(PartitionStatus(each.assignment, each.leader, each.isr or (), 0))
        for partition, each in said.items()
    }


async def as_it_stands(cluster: Cluster, unclean: bool | None = None) -> KnownCluster:
    """The content of its ZooKeeper."""
    host, port = cluster.zookeeper
    return complete(await asyncio.to_thread(read_cluster, f"zookeeper://{host}:{port}"), unclean=unclean)


async def do(cluster: Cluster, event: ClusterEvent) -> None:
    """Apply the same event to real brokers."""
    match event:
        case Crash((broker,)):
            await cluster.kill(broker)
            await until(partial(cluster.gone, broker))
        case Return((broker,)):
            await cluster.starts_again(broker)
        case Shutdown((broker,)):
            asked = f"Shutting down broker {broker}"  # [doControlledShutdown]
            assert not await cluster.said(asked)
            await cluster.shut_down(broker)
            await until(partial(cluster.gone, broker))
            assert await cluster.said(asked), "the broker has not contacted its controller"
        case ElectPreferred():
            for topic in TOPICS:
                assert await cluster.administrator.ask(f"prefer {topic}") in ("done", "ElectionNotNeededException")


async def comes_true(
    cluster: Cluster, listed: KnownCluster, stood: KnownCluster, *events: ClusterEvent, release: str = RELEASE
) -> None:
    """Apply events to real brokers: after each, Kafka's tool and ZooKeeper agree with the answer.

    Args:
        cluster: the brokers.
        listed: the initial output of the tool.
        stood: the initial content of ZooKeeper, with epochs.
        events: the events.
        release: of the brokers.
    """
    for number, event in enumerate(events, 1):
        prediction = what_if(listed, *events[:number], release=release)
        said = {change.partition: seen(change.after, release) for change in prediction.changes}
        await do(cluster, event)

        async def as_said(said: dict[TopicPartition, ReadState] = said) -> bool:
            return await described(cluster) == said

        try:
            await until(as_said)
        except AssertionError:
            assert await described(cluster) == said, f"after {event}"
        stands = await as_it_stands(cluster)
        after = {
            change.partition: change.after for change in what_if(stood, *events[:number], release=release).changes
        }
        assert stands.partitions == after, f"after {event}, with leader epochs"
        assert stands.controller == 0


@pytest.mark.long
def test_predictions_come_true_on_real_brokers() -> None:
    async def happens() -> None:
        async with cluster_of(0, 1, 2) as cluster:
            for topic, replicas in TOPICS.items():
                assert await cluster.administrator.ask(f"create {topic} {','.join(map(str, replicas))}") == "done"
                await cluster.reaches(topic, replicas[0], sorted(replicas))
            text = await cluster.described(0)
            begun = complete(read_description(text, "topics.txt"))
            assert begun.live == {0, 1, 2}
            assert {partition.topic for partition in begun.partitions} == TOPICS.keys()
            stood = await as_it_stands(cluster)
            assert stood.partitions == begun.partitions, "leader epochs are 0 yet"
            assert (stood.live, stood.controller) == (begun.live, begun.controller) == (frozenset({0, 1, 2}), 0)
            assert stood.controller_epoch == begun.controller_epoch == await cluster.epoch() == 1
            assert what_if(begun, *EVENTS).changes == what_if(stood, *EVENTS).changes
            await comes_true(cluster, begun, stood, *EVENTS)

    asyncio.run(happens())


@pytest.mark.long
@pytest.mark.parametrize(("release", "unclean"), [(RELEASE, False), ("1.0.2", False), ("1.0.2", True)])
def test_the_last_broker_to_die_leads_again(release: str, unclean: bool) -> None:
    """Brokers 2 and 1 die. Until 1.0, if unclean elections are enabled, the last one also leaves the ISR."""
    topics = {"both": (1, 2), "one": (2,), "all": (0, 1, 2)}
    settings = {"unclean_leader_election_enable": str(unclean).lower()}

    async def dies() -> None:
        async with cluster_of(0, 1, 2, release=release, everywhere=settings) as cluster:
            for topic, replicas in topics.items():
                assert await cluster.administrator.ask(f"create {topic} {','.join(map(str, replicas))}") == "done"
                await cluster.reaches(topic, replicas[0], sorted(replicas))
            before = await as_it_stands(cluster, unclean)
            await comes_true(cluster, before, before, Crash(2), Crash(1), release=release)
            stood = await as_it_stands(cluster, unclean)
            # Brokers until 2.3 do not report it, so a person looks it up in ZooKeeper.
            isrs = {partition: status.isr for partition, status in stood.partitions.items() if release != RELEASE}
            described = read_description(await cluster.described(0), "topics.txt", line_of(release))
            begun = complete(described, isr=isrs, unclean=unclean)
            assert begun.live == stood.live == {0}
            assert {topic: await cluster.state(topic) for topic in topics} == {
                "both": (-1, [] if unclean else [1]),
                "one": (-1, [] if unclean else [2]),
                "all": (0, [0]),
            }
            for cluster_then in (begun, stood):
                said = what_if(cluster_then, release=release)
                assert not said.at_first
                assert all(change.is_none for change in said.changes)
            await comes_true(cluster, begun, stood, Return(2), Return(1), release=release)
            assert await cluster.state("both") == (2 if unclean else 1, [1, 2])

    asyncio.run(dies())
