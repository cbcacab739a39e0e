"""Real brokers' writes to ZooKeeper in an hour of life, in one minute; ZooKeeper is our own, in memory.

    python -m tests.kafka.written_znodes 3.9.1

writes the file of a release in `tests/statemachines/znodes/written`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest

from spec.kafka.broker_processes import AdministratorProcess, BrokerProcess, Processes
from spec.language.errors import UsageError
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import (
    ISR_CHANGE_NOTIFICATION,
    delete_topics_topic_path,
    topic_partition_state_path,
    topic_path,
)
from statemachines.releases import Release
from statemachines.zookeeper.server import Create, Multi, SetData
from statemachines.zookeeper.serving import ServedZooKeeper
from statemachines.zookeeper.tree import ZkPath
from tests.kafka.real_cluster import RELEASE, until
from tests.statemachines.znodes.written import Written, file_of

SHORTLY: Final = 6_000
"""A session timeout in milliseconds, which never expires: the test ends sessions itself."""
SETTINGS: Final[dict[str, Any]] = {"replica_lag_time_max_ms": 1_000, "delete_topic_enable": "true"}
TARGET: Final = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [2, 0]}]}


class _Life:
    """Three brokers, with the first as controller, and the operations on them."""

    administrator: AdministratorProcess

    def __init__(self, release: str, zookeeper: ServedZooKeeper, processes: Processes) -> None:
        self.release, self.zookeeper, self.processes = Release(release), zookeeper, processes
        self.brokers: dict[int, BrokerProcess] = {}

    async def is_lived(self, administration: Processes) -> None:
        """All operations in order."""
        for broker in range(3):
            self.brokers[broker] = await self.processes.broker(
                broker, self.zookeeper.address, session=SHORTLY, broker_rack=f"rack {broker}", **SETTINGS
            )
            await self._registered(broker)
        self.address = str(self._json("/brokers/ids/0")["endpoints"][0]).rpartition("/")[2]
        self.administrator = await administration.administrator(self.address)
        for request in ("create t 1,2", "create gone 0,2", "produce t 3"):
            await self.administrator.ask(request)
        await self._configures()
        await self._is_led_uncleanly()
        await self._deletes_a_topic()
        await self._reassigns()

    async def _configures(self) -> None:
        of_node = self.release < Release("2.8.0")
        names = [
            ("topics", "t", "min.insync.replicas=1,unclean.leader.election.enable=true", of_node),
            ("clients", "c", "producer_byte_rate=1024", of_node),
            ("users", "u", "producer_byte_rate=1024", of_node),
            ("brokers", "0", "leader.replication.throttled.rate=1000000", of_node),
        ]
        if self.release >= Release("1.1.0"):
            names += [("brokers", "", "log.cleaner.threads=2", False)]
        for kind, name, config, by_node in names:
            named = ("--entity-name", name) if name else ("--entity-default",)
            await self._config_command(by_node, "--entity-type", kind, *named, "--add-config", config)
        both = ("--entity-type", "users", "--entity-name", "u", "--entity-type", "clients", "--entity-name", "c")
        await self._config_command(of_node, *both, "--add-config", "consumer_byte_rate=2048")

    async def _config_command(self, by_node: bool, *arguments: str) -> None:
        where = ("--zookeeper", self.zookeeper.hosts) if by_node else ("--bootstrap-server", self.address)
        await self.processes.tool("kafka.admin.ConfigCommand", *where, "--alter", *arguments)

    async def _is_led_uncleanly(self) -> None:
        """Both replicas of t die, one after the other, and the one that died first returns first."""
        for broker, isr in ((2, [1]), (1, [1])):
            await self.brokers[broker].stop()
            session = self.zookeeper.tree()[f"/brokers/ids/{broker}"].owner
            assert session is not None
            self.zookeeper.expire(session)
            await self._until(lambda isr=isr: self._state()["isr"] == isr)  # type: ignore[misc]
        await self._until(lambda: self._state()["leader"] == -1)
        for broker in (2, 1):
            await self.processes.start_again(self.brokers[broker])
            await self._registered(broker)
            await self._until(lambda: self._state()["leader"] == 2)
        await self._until(lambda: self._state()["isr"] == [2, 1])
        if self.release < Release("2.7.0"):
            await self._until(
                lambda: any(path.startswith(ISR_CHANGE_NOTIFICATION + "/") for path, _ in self.written())
            )

    async def _deletes_a_topic(self) -> None:
        tool, where = "kafka.admin.TopicCommand", ("--bootstrap-server", self.address)
        if self.release < Release("2.2.0"):
            where = ("--zookeeper", self.zookeeper.hosts)
        if self.release >= Release("3.7.0"):
            tool = "org.apache.kafka.tools.TopicCommand"
        await self.processes.tool(tool, *where, "--delete", "--topic", "gone")
        await self._until(lambda: topic_path("gone") not in self.zookeeper.tree())
        await self._until(lambda: delete_topics_topic_path("gone") not in self.zookeeper.tree())

    async def _reassigns(self) -> None:
        zookeeper = ("--zookeeper", self.zookeeper.hosts)
        if self.release < Release("3.0.0"):
            with TemporaryDirectory() as folder:
                file = Path(folder) / "moves.json"
                file.write_text(json.dumps(TARGET))
                moves = ("--execute", "--reassignment-json-file", str(file))
                await self.processes.tool("kafka.admin.ReassignPartitionsCommand", *zookeeper, *moves)
        else:
            await self.administrator.ask("reassign t 2,0")
        await self._until(lambda: self._json(topic_path("t"))["partitions"] == {"0": [2, 0]})
        if self.release < Release("2.4.0"):
            await self.processes.tool("kafka.admin.PreferredReplicaLeaderElectionCommand", *zookeeper)
        await self._until(lambda: "/admin/reassign_partitions" not in self.zookeeper.tree())

    async def _registered(self, broker: int) -> None:
        await self._until(lambda: f"/brokers/ids/{broker}" in self.zookeeper.tree())

    async def _until(self, seen: Callable[[], bool]) -> None:
        async def is_seen() -> bool:
            return seen()

        await until(is_seen)

    def _json(self, path: ZkPath) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.zookeeper.tree()[path].data)
        return found

    def _state(self) -> dict[str, Any]:
        return self._json(topic_partition_state_path(TopicPartition("t", 0)))

    def written(self) -> Iterator[tuple[ZkPath, bytes]]:
        """All requested writes to ZooKeeper, in order. Some clients create an empty node, and then set it."""
        for request in self.zookeeper.requests():
            for each in request.operations if isinstance(request, Multi) else (request,):
                if isinstance(each, Create | SetData) and each.data:
                    yield each.path, each.data


async def written_by(release: str) -> Written:
    """The writes of a release's brokers, and the final nodes; a test is skipped if brokers are unavailable."""
    async with AsyncExitStack() as stack:
        zookeeper = stack.enter_context(ServedZooKeeper())
        try:
            processes, administration = [
                await stack.enter_async_context(Processes(each)) for each in (release, RELEASE)
            ]
        except UsageError as missing:
            pytest.skip(str(missing))
        life = _Life(release, zookeeper, processes)
        await life.is_lived(administration)
        tree = {path: node.data for path, node in zookeeper.tree().items() if not path.startswith("/zookeeper")}
        return Written(tree, tuple(life.written()))


if __name__ == "__main__":
    for of in sys.argv[1:]:
        file_of(of).write_text(str(asyncio.run(written_by(of))), encoding="utf-8")
