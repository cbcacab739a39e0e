"""The controller's life beside a client that is not a broker, which writes to the nodes of brokers and controllers.

The client creates, sets and deletes /controller, /controller_epoch and the registrations of brokers, between any two
of their steps, as often as the system's bounds allow. Its nodes are persistent, so they have no owner. It writes what
Kafka would have written, for any broker and any epoch, or meaningless bytes (`None`).

The system exists for the comparison with Kafka's classes. Beside such a client, which may set the epoch back, the
properties of the system `controller` do not hold.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

from election.ids import BrokerId, ControllerEpoch
from spec.language import Domain, Size, action, bound, constant, integers, left_out, optional, part, require
from spec.parts.zookeeper import Znodes, ZooKeeperPart
from spec.systems.controller import ClusterAtWork, ControllerLife
from statemachines.controller.controller_process import OnePartitionContext
from statemachines.controller.design import CONTROLLER, CONTROLLER_EPOCH, Design, registration, requests_of
from statemachines.controller.threads import ControllerStep
from statemachines.znodes.codec import encode
from statemachines.znodes.values import BrokerInfo, ControllerRegistration
from statemachines.zookeeper.tree import ZkPath, ZkVersion

MEANINGLESS: Final = "?"
"""Bytes that mean nothing to Kafka."""


class ControllerWithForeignClient(ControllerLife):
    """The system `controller` with a client beside its brokers.

    Left out: ephemeral nodes of the client, since a broker sees them as another session's, like those of other
    brokers; and meaningless bytes in a registration.
    """

    writes_controller: bool = constant(True, "The client writes to /controller.")
    writes_epoch: bool = constant(True, "The client writes to /controller_epoch.")
    writes_registrations: bool = constant(True, "The client writes to the registrations of brokers.")

    leaves_out = f"{ControllerLife.leaves_out}; that nodes of the client end with its session"

    @cached_property
    def design(self) -> Design:
        """As usual, but a broker may find its registration without an owner, and reads whose it is."""
        return super().design.but(ephemeral_owner_check=self.release_design.ephemeral_owner_check)

    @property
    def steps(self) -> list[ControllerStep]:
        """All requests on brokers' agendas: the client's writes cause them."""
        return requests_of(self.design, self.events)

    # Sizes and bounds.

    def sizes(self) -> Mapping[Any, Size]:
        """The version of /controller_epoch no longer follows from the epoch."""
        versions = integers(0, max(*self.versions, self.state_writes))
        return {**super().sizes(), ZkVersion: versions, OnePartitionContext.epoch_zk_version: self.versions}

    @property
    def versions(self) -> Domain[int]:
        """Versions of /controller_epoch: as many as brokers need, and one more."""
        return integers(0, self.elections + 1)

    @part
    def zk(self) -> ZooKeeperPart:
        """The nodes that the client writes may be without owner, hold anything, and be overwritten."""
        its = super().zk
        return replace(its, znodes=[self._by_hand(each) for each in its.znodes])

    def _by_hand(self, znodes: Znodes) -> Znodes:
        match znodes.paths:
            case str() as path if path == CONTROLLER:
                broker = self.domain_of(BrokerId)
                return replace(znodes, data=optional(broker), version=left_out(), made_by_others=True)
            case str() as path if path == CONTROLLER_EPOCH:
                return replace(znodes, data=optional(self.domain_of(ControllerEpoch)), version=self.versions)
            case str():
                return znodes
        return replace(znodes, version=left_out(), made_by_others=True)

    def within_bounds(self, s: ClusterAtWork, broker: BrokerId, do: ControllerStep) -> bool:
        """Nor may /controller_epoch be set more often than versions are counted."""
        increments = do in (ControllerStep.RegisterController, ControllerStep.IncrementEpoch)
        return super().within_bounds(s, broker, do) and not (increments and not self._may_be_set(s, CONTROLLER_EPOCH))

    def _may_be_set(self, s: ClusterAtWork, path: ZkPath) -> bool:
        return path != CONTROLLER_EPOCH or path not in s.zk.nodes or s.zk.nodes[path].version < max(self.versions)

    # The actions of the client.

    @property
    def written(self) -> Mapping[ZkPath, Collection[Any]]:
        """The nodes that the client writes, with the data that it writes."""
        brokers = range(self.brokers)
        return {
            **({CONTROLLER: (*brokers, None)} if self.writes_controller else {}),
            **({CONTROLLER_EPOCH: (*range(self.elections + 1), None)} if self.writes_epoch else {}),
            **(dict.fromkeys(map(registration, brokers), (None,)) if self.writes_registrations else {}),
        }

    @action(node=lambda self: list(self.written), data=lambda self: self.data, actor="a client", receiver="ZooKeeper")
    def client_creates(self, s: ClusterAtWork, node: ZkPath, data: int | None) -> None:
        """The client creates a node that does not exist."""
        require(node not in s.zk.nodes and data in self.written[node])
        if node in s.zk.creations:
            bound(s.zk.creations[node] < self.registrations)
        self.zk.servers(s.zk).create(None, node, data)

    @action(node=lambda self: list(self.written), data=lambda self: self.data, actor="a client", receiver="ZooKeeper")
    def client_sets(self, s: ClusterAtWork, node: ZkPath, data: int | None) -> None:
        """The client sets a node's data, whoever owns the node."""
        require(node in s.zk.nodes and data in self.written[node])
        bound(self._may_be_set(s, node))
        self.zk.servers(s.zk).set(None, node, data)

    @action(node=lambda self: list(self.written), actor="a client", receiver="ZooKeeper")
    def client_deletes(self, s: ClusterAtWork, node: ZkPath) -> None:
        """The client deletes a node, whoever owns it."""
        require(node in s.zk.nodes)
        self.zk.servers(s.zk).delete(None, node)

    @property
    def data(self) -> Collection[int | None]:
        """Everything that the client writes, anywhere."""
        return (*range(max(self.brokers, self.elections + 1)), None)


def node_text(path: ZkPath, data: Any) -> str:
    """The data of one of the client's nodes, as the newest Kafka writes it."""
    if path not in (CONTROLLER, CONTROLLER_EPOCH):
        return encode(path, BrokerInfo()).decode()
    if data is None:
        return MEANINGLESS
    return encode(path, ControllerRegistration(data) if path == CONTROLLER else data).decode()
