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
from spec.kafka.broker_processes import AdministratorProcess, BrokerProcess, LogLine, Processes, ZooKeeperOperator
from spec.kafka.kafka_proxy import KafkaProxy
from spec.kafka.proxy import Address, Proxy, RequestFrame
from spec.language.errors import UsageError
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import TopicPartitionState, topic_partition_state_path, topic_path
from statemachines.znodes.codec import decode
from statemachines.znodes.values import BrokerInfo, TopicIdReplicaAssignment
from statemachines.zookeeper.tree import ZkPath

RELEASE: Final = "3.9.1"
SESSION: Final = 4_000
"""Milliseconds after which a killed broker's session ends."""
SOON: Final = 60.0
"""Seconds in which a cluster must do what it is asked, even on a busy machine."""


async def until(seen: Callable[[], Awaitable[object]]) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + SOON
    while not await seen():
        assert time.monotonic() < end, "the condition did not hold in time"
        await asyncio.sleep(0.2)


class Cluster:
    """A ZooKeeper server with an operator, and brokers with an administrator."""

    operator: ZooKeeperOperator
    administrator: AdministratorProcess
    clients: Processes
    """The release of the administrator."""
    zookeeper: Address
    """The address of the ZooKeeper server."""
    proxy: Proxy
    """The proxy between the controller and ZooKeeper."""

    def __init__(self, processes: Processes) -> None:
        self.processes = processes
        self.brokers: dict[BrokerId, BrokerProcess] = {}
        self.proxies: dict[BrokerId, KafkaProxy] = {}
        """The proxies before the brokers, if they have any."""
        self.log: list[LogLine] = []

    async def node(self, path: ZkPath) -> Any:
        """The content of a znode; None if it does not exist."""
        node = await self.operator.get(path)
        return None if node is None else decode(path, node.data.encode())

    async def address(self, broker: BrokerId) -> str:
        """A broker's registered address; empty if it is not registered."""
        info: BrokerInfo | None = await self.node(f"/brokers/ids/{broker}")
        return "" if info is None else f"{info.endpoints[0].host}:{info.endpoints[0].port}"

    async def registered(self, *brokers: BrokerId) -> None:
        """Wait until these brokers are registered."""
        for broker in brokers:
            await until(partial(self.address, broker))

    async def kill(self, broker: BrokerId) -> None:
        """Kill a broker, as kill -9 does."""
        await self.brokers[broker].stop()

    async def shut_down(self, broker: BrokerId) -> None:
        """Stop a broker as its script does: it asks its controller first; wait until it has ended."""
        await self.brokers[broker].terminate()

    async def described(self, broker: BrokerId) -> str:
        """The output of Kafka's own tool about all topics, from this broker."""
        return await self.clients.describe_topics(await self.address(broker))

    async def starts_again(self, broker: BrokerId) -> None:
        """Restart a broker with its old logs, and wait for it."""
        await self.processes.start_again(self.brokers[broker])
        await self.registered(broker)

    async def state(self, topic: str) -> tuple[BrokerId, list[BrokerId]] | None:
        """Leader and ISR of partition 0; None if it never had a leader."""
        state: TopicPartitionState | None = await self.node(topic_partition_state_path(TopicPartition(topic, 0)))
        return None if state is None else (state.leader_and_isr.leader, sorted(state.leader_and_isr.isr))

    async def leader_epoch(self, topic: str) -> int:
        """The leader epoch of partition 0, which must have had a leader."""
        state: TopicPartitionState = await self.node(topic_partition_state_path(TopicPartition(topic, 0)))
        return state.leader_and_isr.leader_epoch

    async def reaches(self, topic: str, leader: BrokerId, isr: list[BrokerId]) -> None:
        """Wait for this leader and ISR."""

        async def there() -> bool:
            return await self.state(topic) == (leader, isr)

        await until(there)

    async def assigned(self, topic: str, replicas: list[BrokerId]) -> None:
        """Wait until partition 0 has these replicas, by the topic's node, which is written after the partition's."""

        async def they_are() -> bool:
            topic_node: TopicIdReplicaAssignment = await self.node(topic_path(topic))
            return dict(topic_node.assignment.partitions)[0].replicas == tuple(replicas)

        await until(they_are)

    async def epoch(self) -> int:
        """The epoch in /controller_epoch."""
        epoch: int = await self.node("/controller_epoch")
        return epoch

    async def said(self, text: str) -> int:
        """How many lines of the brokers' logs contain this text."""
        return sum(text in line.text for line in self.log)

    async def gone(self, broker: BrokerId) -> bool:
        """Whether a broker is no longer registered."""
        return not await self.address(broker)

    async def deleted(self, broker: BrokerId) -> bool:
        """Whether a broker has no log of t-0 any longer, or only one marked for deletion."""
        return not (self.brokers[broker].data / "t-0").exists()

    async def lacks(self, path: str) -> bool:
        """Whether a znode does not exist."""
        return await self.operator.get(path) is None


@asynccontextmanager
async def cluster_of(
    controller: BrokerId,
    *others: BrokerId,
    release: str = RELEASE,
    patch: str = "",
    holds: Callable[[RequestFrame], bool] = lambda request: False,
    proxied: bool = False,
    everywhere: Mapping[str, Any] = MappingProxyType({}),
    **settings: object,
) -> AsyncIterator[Cluster]:
    """A cluster of these brokers; the test is skipped if it is unavailable.

    Args:
        controller: a broker that is not killed.
        others: brokers that may be killed.
        release: of the brokers.
        patch: the name of a patch of Kafka's source; none by default.
        holds: whether to hold a request of the controller to ZooKeeper.
        proxied: whether each broker has a proxy before it.
        everywhere: settings of all brokers.
        settings: settings of the others.
    """
    async with AsyncExitStack() as stack:
        try:
            cluster = Cluster(await stack.enter_async_context(Processes(release, patch)))
            cluster.clients = await stack.enter_async_context(Processes(RELEASE))
        except UsageError as missing:
            pytest.skip(str(missing))
        cluster.zookeeper = server = (await cluster.processes.zookeeper()).address
        cluster.operator = await stack.enter_async_context(ZooKeeperOperator(server))
        cluster.proxy = await stack.enter_async_context(Proxy(server, holds))
        if proxied:
            for broker in (controller, *others):
                cluster.proxies[broker] = await stack.enter_async_context(KafkaProxy())
        started, log, behind = cluster.processes.broker, cluster.log.append, cluster.proxies.get
        cluster.brokers[controller] = await started(
            controller, cluster.proxy.address, log, behind=behind(controller), **everywhere
        )
        await until(partial(cluster.operator.get, "/controller"))
        for broker in others:
            its = {**everywhere, **settings}
            cluster.brokers[broker] = await started(broker, server, log, SESSION, behind(broker), **its)
        await cluster.registered(controller, *others)
        cluster.administrator = await cluster.clients.administrator(await cluster.address(controller))
        yield cluster
