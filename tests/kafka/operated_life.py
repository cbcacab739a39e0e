"""The system `controller` with an operator who writes by hand what brokers write by themselves, at any time.

It is explored beside Kafka's classes only: an operator who sets the epoch back breaks properties by that alone.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

from election.ids import BrokerId, ControllerEpoch
from spec.language import action, bound, constant, integers, left_out, optional, part, require
from spec.parts.zookeeper import Znodes, ZooKeeperPart
from spec.systems.controller import ClusterAtWork, ControllerLife
from statemachines.agenda import Do
from statemachines.controller import CONTROLLER, CONTROLLER_EPOCH, Design, registration
from statemachines.kafka_controller import Answer

MORE_VERSIONS = 3
"""Bound: how often the operator sets the epoch."""


class OperatedLife(ControllerLife):
    """An operator creates, sets and deletes /controller, /controller_epoch and the nodes of brokers."""

    unreadable: bool = constant(True, "The operator writes into /controller what names no broker.")
    epoch_is_deleted: bool = constant(True, "The operator deletes and creates /controller_epoch.")

    @cached_property
    def design(self) -> Design:
        """What an older session left may be told from what the operator made."""
        return super().design._replace(ephemeral_owner_check=self.chosen.ephemeral_owner_check)

    @part
    def zk(self) -> ZooKeeperPart:
        """What brokers own may be the operator's."""
        return replace(super().zk, znodes=tuple(map(self.by_hand, super().zk.znodes)))

    def by_hand(self, znodes: Znodes) -> Znodes:
        """What there may be if the operator writes it."""
        if CONTROLLER_EPOCH in znodes.domain:
            return replace(znodes, version=integers(0, self.elections + MORE_VERSIONS))
        if CONTROLLER in znodes.domain:
            return replace(znodes, data=optional(self.domain_of(BrokerId)), version=left_out(), persistent=True)
        return replace(znodes, persistent=True) if znodes.owned else znodes

    def ask(self, s: ClusterAtWork, broker: BrokerId, do: Do) -> Answer:
        """No controller reads that its own broker is not registered.

        The only replica of the partition is there. Without it Kafka's replica state machine writes the partition's
        state, which is compared elsewhere (docs/kafka.md).
        """
        bound(do is not Do.ReadBrokers or registration(broker) in s.zk.nodes)
        return super().ask(s, broker, do)

    @property
    def named(self) -> list[BrokerId | None]:
        """What the operator writes into /controller."""
        return [*self.domain_of(BrokerId), *([None] if self.unreadable else [])]

    @action(names=lambda self: self.named)
    def operator_creates_controller(self, s: ClusterAtWork, names: Any) -> None:
        """The operator creates /controller, which stays when a session ends."""
        require(CONTROLLER not in s.zk.nodes)
        self.zk.servers(s.zk).create(None, CONTROLLER, names)

    @action(names=lambda self: self.named)
    def operator_sets_controller(self, s: ClusterAtWork, names: Any) -> None:
        """The operator sets /controller."""
        require(CONTROLLER in s.zk.nodes)
        self.zk.servers(s.zk).set(None, CONTROLLER, names)

    @action
    def operator_creates_registration(self, s: ClusterAtWork, broker: BrokerId) -> None:
        """The operator creates the node of a broker."""
        path = registration(broker)
        require(path not in s.zk.nodes)
        require(not self.registrations or s.zk.created[path] < self.registrations)
        self.zk.servers(s.zk).create(None, path)

    @action
    def operator_sets_registration(self, s: ClusterAtWork, broker: BrokerId) -> None:
        """The operator sets the node of a broker, which says what it said before."""
        require(registration(broker) in s.zk.nodes)

    @action
    def operator_deletes_registration(self, s: ClusterAtWork, broker: BrokerId) -> None:
        """The operator deletes the node of a broker."""
        require(registration(broker) in s.zk.nodes)
        self.zk.servers(s.zk).delete(None, registration(broker))

    @action
    def operator_sets_epoch(self, s: ClusterAtWork, epoch: ControllerEpoch) -> None:
        """The operator sets the epoch, back or forth."""
        require(CONTROLLER_EPOCH in s.zk.nodes)
        self.zk.servers(s.zk).set(None, CONTROLLER_EPOCH, epoch)

    @action(when=lambda self: self.epoch_is_deleted)
    def operator_creates_epoch(self, s: ClusterAtWork, epoch: ControllerEpoch) -> None:
        """The operator creates the epoch."""
        require(CONTROLLER_EPOCH not in s.zk.nodes)
        self.zk.servers(s.zk).create(None, CONTROLLER_EPOCH, epoch)

    @action(when=lambda self: self.epoch_is_deleted)
    def operator_deletes_epoch(self, s: ClusterAtWork) -> None:
        """The operator deletes the epoch."""
        require(CONTROLLER_EPOCH in s.zk.nodes)
        self.zk.servers(s.zk).delete(None, CONTROLLER_EPOCH)
