"""Servers and controllers with one mistake each, for mutants of both controller systems."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

from spec.language import part
from spec.parts.zookeeper import Ensemble, ZooKeeperPart
from spec.systems.controller import ControllerLife
from spec.systems.controller_election import ControllerElection
from statemachines.controller.controller_process import ControllerProcess
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.controller.one_partition import OnePartitionController
from statemachines.controller.threads import ControllerStep
from statemachines.zookeeper.counters import ZooKeeperWithoutZxids
from statemachines.zookeeper.server import WatchTable
from statemachines.zookeeper.tree import Operation, SetData, Stat, Transaction


class OutlivingUnsaid(ZooKeeperWithoutZxids):
    """An ended session's nodes stay, although the part was not configured so."""

    def __init__(self, state: Ensemble, outliving: bool, created: Any) -> None:
        super().__init__(state, True, created)


class FiringAgain(ZooKeeperWithoutZxids):
    """A watch fires and stays."""

    def _disarm(self, table: WatchTable, path: str) -> list[Any]:
        watchers = super()._disarm(table, path)
        for session in watchers:
            self._arm(table, path, session)
        return watchers


class Unversioned(ZooKeeperWithoutZxids):
    """Writes do not increment a node's version."""

    class transaction(Transaction):  # noqa: N801
        def set(self, path: str, data: Any, version: int) -> Stat:
            stat = super().set(path, data, version)
            self.nodes[path] = self.nodes[path]._replace(version=stat.version - 1)
            return stat


class Unchecked(ZooKeeperWithoutZxids):
    """A multi ignores its checks."""

    class transaction(Transaction):  # noqa: N801
        def check(self, path: str, version: int) -> None:
            """Passes for any version."""


class StartingAgain(OnePartitionController):
    """Every second controller resets the epoch to its first value."""

    def operations(self, me: ControllerProcess) -> tuple[Operation, ...]:
        asked = super().operations(me)
        if not me.about_to(ControllerStep.RegisterController):
            return asked
        return (asked[0], SetData(CONTROLLER_EPOCH, (me.epoch + 1) % 2, me.context.epoch_zk_version))


class DeletingUnfenced(OnePartitionController):
    """Writes are fenced, but the deletion of /controller is not."""

    def _fence(self, me: ControllerProcess) -> Iterator[Operation]:
        return iter(()) if me.about_to(ControllerStep.DeleteController) else super()._fence(me)


# The systems on other servers.


class ElectionOnServers(ControllerElection):
    """The election, on these servers."""

    servers: ClassVar[type[ZooKeeperWithoutZxids]]

    @part
    def zk(self) -> ZooKeeperPart:
        """Only the servers differ."""
        return replace(super().zk, implementation=self.servers)


class LifeOnServers(ControllerLife):
    """The controller's life, on these servers."""

    servers: ClassVar[type[ZooKeeperWithoutZxids]]

    @part
    def zk(self) -> ZooKeeperPart:
        """Only the servers differ."""
        return replace(super().zk, implementation=self.servers)
