"""A cluster of real brokers for a test: a real ZooKeeper with an operator, brokers with an administrator."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import pytest

from election.ids import BrokerId
from spec.kafka.broker_processes import AdministratorProcess, BrokerProcess, LogLine, Processes
from spec.kafka.proxy import Address, Proxy
from spec.kafka.wire import RequestFrame
from spec.kafka.zookeeper_operator import ZooKeeperOperator
from spec.language.errors import UsageError
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import TopicPartitionState, topic_partition_state_path, topic_path
from statemachines.znodes.codec import decode
from statemachines.znodes.values import BrokerInfo, TopicIdReplicaAssignment
from statemachines.zookeeper.tree import ZkPath

RELEASE: Final = "3.9.1"
SESSION: Final = 4_000
"""Milliseconds after which a broker that was killed is gone."""
SOON: Final = 60.0
"""Seconds within which a cluster does what it is asked for, with other work beside it."""


async def until(seen: Callable[[], Awaitable[object]]) -> None:
    """Wait until it is so."""
    end = time.monotonic() + SOON
    while not await seen():
        assert time.monotonic() < end, "that has not come"
        await asyncio.sleep(0.2)


class Cluster:
    """A ZooKeeper server, brokers, an operator of the one and an administrator of the others."""

    operator: ZooKeeperOperator
    administrator: AdministratorProcess
    clients: Processes
    """Of the administrator."""
    zookeeper: Address
    """Of the ZooKeeper server."""
    proxy: Proxy
    """Between the controller and ZooKeeper."""

    def __init__(self, processes: Processes) -> None:
        self.processes = processes
        self.brokers: dict[BrokerId, BrokerProcess] = {}
        self.log: list[LogLine] = []

    async def node(self, path: ZkPath) -> Any:
        """What stands in a znode; None: there is none."""
        node = await self.operator.get(path)
        return None if node is None else decode(path, node.data.encode())

    async def address(self, broker: BrokerId) -> str:
        """Where a broker listens, as it is registered; empty while it is not."""
        info: BrokerInfo | None = await self.node(f"/brokers/ids/{broker}")
        return "" if info is None else f"{info.endpoints[0].host}:{info.endpoints[0].port}"

    async def registered(self, *brokers: BrokerId) -> None:
        """Wait for these brokers."""
        for broker in brokers:
            await until(partial(self.address, broker))

    async def kill(self, broker: BrokerId) -> None:
        """As kill -9 does."""
        await self.brokers[broker].stop()

    async def shut_down(self, broker: BrokerId) -> None:
        """As its script does: it asks its controller first; wait until it has ended."""
        await self.brokers[broker].terminate()

    async def described(self, broker: BrokerId) -> str:
        """What Kafka's own tool says of all topics, told by this broker."""
        return await self.clients.describe_topics(await self.address(broker))

    async def starts_again(self, broker: BrokerId) -> None:
        """With the logs that it had; wait for it."""
        await self.processes.start_again(self.brokers[broker])
        await self.registered(broker)

    async def state(self, topic: str) -> tuple[BrokerId, list[BrokerId]] | None:
        """Leader and ISR of partition 0; None if it never had a leader."""
        state: TopicPartitionState | None = await self.node(topic_partition_state_path(TopicPartition(topic, 0)))
        return None if state is None else (state.leader_and_isr.leader, sorted(state.leader_and_isr.isr))

    async def leader_epoch(self, topic: str) -> int:
        """Of partition 0, which has been led."""
        state: TopicPartitionState = await self.node(topic_partition_state_path(TopicPartition(topic, 0)))
        return state.leader_and_isr.leader_epoch

    async def reaches(self, topic: str, leader: BrokerId, isr: list[BrokerId]) -> None:
        """Wait for this state."""

        async def there() -> bool:
            return await self.state(topic) == (leader, isr)

        await until(there)

    async def assigned(self, topic: str, replicas: list[BrokerId]) -> None:
        """Wait until these are the replicas of partition 0, which the topic's node says behind the partition's."""

        async def they_are() -> bool:
            topic_node: TopicIdReplicaAssignment = await self.node(topic_path(topic))
            return dict(topic_node.assignment.partitions)[0].replicas == tuple(replicas)

        await until(they_are)

    async def epoch(self) -> int:
        """In /controller_epoch."""
        epoch: int = await self.node("/controller_epoch")
        return epoch

    async def said(self, text: str) -> int:
        """How many lines that brokers have logged have this in them."""
        return sum(text in line.text for line in self.log)

    async def gone(self, broker: BrokerId) -> bool:
        """Whether a broker is not registered any more."""
        return not await self.address(broker)

    async def deleted(self, broker: BrokerId) -> bool:
        """Whether a broker has no log of t-0 any more, or only one that is to be deleted."""
        return not (self.brokers[broker].data / "t-0").exists()

    async def lacks(self, path: str) -> bool:
        """Whether there is no such znode."""
        return await self.operator.get(path) is None


@asynccontextmanager
async def cluster_of(
    controller: BrokerId,
    *others: BrokerId,
    release: str = RELEASE,
    holds: Callable[[RequestFrame], bool] = lambda request: False,
    everywhere: Mapping[str, Any] = MappingProxyType({}),
    **settings: object,
) -> AsyncIterator[Cluster]:
    """A cluster of these brokers; the test is skipped where it cannot be had.

    Args:
        controller: which is not killed.
        others: which may be.
        release: of the brokers.
        holds: whether a request of the controller to ZooKeeper is held.
        everywhere: settings of all brokers.
        settings: of the others.
    """
    async with AsyncExitStack() as stack:
        try:
            cluster = Cluster(await stack.enter_async_context(Processes(release)))
            cluster.clients = await stack.enter_async_context(Processes(RELEASE))
        except UsageError as missing:
            pytest.skip(str(missing))
        cluster.zookeeper = server = (await cluster.processes.zookeeper()).address
        cluster.operator = await stack.enter_async_context(ZooKeeperOperator(server))
        cluster.proxy = await stack.enter_async_context(Proxy(server, holds))
        started, log = cluster.processes.broker, cluster.log.append
        cluster.brokers[controller] = await started(controller, cluster.proxy.address, log, **everywhere)
        await until(partial(cluster.operator.get, "/controller"))
        for broker in others:
            cluster.brokers[broker] = await started(broker, server, log, SESSION, **everywhere, **settings)
        await cluster.registered(controller, *others)
        cluster.administrator = await cluster.clients.administrator(await cluster.address(controller))
        yield cluster
