"""The tree of a cluster in memory as Kafka has it in ZooKeeper: as bytes, in a live ZooKeeper, and read from there.

    tree = cluster.znodes()                    # the nodes that a ZooKeeper of this cluster would hold
    put_znodes(kazoo_client, tree, "/kafka")   # for tests of a tool that reads it
    Cluster.from_znodes(tree)                  # a cluster that continues from there

`Details` is what Kafka writes and a cluster in memory does not have.
"""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

from election.brokers import InvalidBrokers, in_order
from election.ids import BrokerId, ControllerEpoch
from statemachines.changes.administration import AdminDesign
from statemachines.controller.design import BROKER_IDS, CONTROLLER, CONTROLLER_EPOCH
from statemachines.messages.topic_partition import TopicName, TopicPartition
from statemachines.messages.zk_data import (
    TOPICS,
    TopicAssignment,
    TopicConfig,
    TopicPartitionState,
    topic_config_path,
)
from statemachines.releases import Release
from statemachines.znodes.codec import Znode, decode, encode, znode_at
from statemachines.znodes.fields import InvalidZnode
from statemachines.znodes.values import (
    BrokerInfo,
    Config,
    ControllerRegistration,
    EndPoint,
    Feature,
    TopicIdReplicaAssignment,
)
from statemachines.zookeeper.tree import Node, ZkPath, name_of, parent_of

NONE: Final[Mapping[Any, Any]] = MappingProxyType({})
UNCLEAN: Final = "unclean.leader.election.enable"
MIN_ISR: Final = "min.insync.replicas"
DEFAULTS: Final = "/config/brokers/<default>"
"""Dynamic configuration of all brokers."""
CLUSTER_ID: Final = "/cluster/id"
TOPIC_IDS: Final = Release("2.8.0")
"""The first release whose controllers give topics ids [KIP-516]."""
AT_START: Final = {
    **dict.fromkeys(("/brokers/seqid", "/cluster", "/config/brokers", "/config/changes", "/config/clients")),
    **dict.fromkeys(("/config/ips", "/config/users", "/consumers", "/latest_producer_id_block")),
    "/feature": Feature(),
}
"""Nodes that brokers create at startup, in addition to those of a cluster in memory. [ZkData.PersistentZkPaths]"""


class Details(NamedTuple):
    """Data of Kafka's nodes that a cluster in memory does not have, with fixed defaults."""

    brokers: Mapping[BrokerId, BrokerInfo] = NONE
    """Their registrations; by default a broker listens at `broker-<id>`, port 9092, and was registered at 0."""
    topic_ids: Mapping[TopicName, str] = NONE
    """Since 2.8; by default an id is derived from the topic's name."""
    configs: Mapping[TopicName, Config] = NONE
    """Configurations of topics, except unclean elections."""
    cluster_id: str = "kafkaspec-cluster-id-0"
    timestamp: int = 0
    """The time of the controller's election, in milliseconds."""

    @classmethod
    def of(cls, tree: Mapping[ZkPath, bytes | None]) -> Details:
        """The details of a tree.

        Raises:
            InvalidZnode: a node is not as Kafka writes it.
        """
        read = KafkaTree.read(tree)
        topics = {name_of(path): each for path, each in read.values.items() if parent_of(path) == TOPICS}
        controller: ControllerRegistration | None = read.values.get(CONTROLLER)
        return cls(
            {int(name_of(path)): each for path, each in read.values.items() if parent_of(path) == BROKER_IDS},
            {topic: each.topic_id for topic, each in topics.items() if each.topic_id is not None},
            {topic: read.values.get(topic_config_path(topic), NONE) for topic in topics},
            read.values.get(CLUSTER_ID, cls().cluster_id),
            0 if controller is None else controller.timestamp,
        )

    def broker(self, broker: BrokerId) -> BrokerInfo:
        """The registration of a broker."""
        return self.brokers.get(broker) or BrokerInfo((EndPoint(host=f"broker-{broker}"),))

    def topic_id(self, topic: TopicName) -> str:
        """The id of a topic."""
        its = uuid.uuid5(uuid.NAMESPACE_OID, topic).bytes
        return self.topic_ids.get(topic) or base64.urlsafe_b64encode(its).decode().rstrip("=")


def znodes_of(
    nodes: Mapping[ZkPath, Node],
    release: str,
    defaults: TopicConfig,
    racks: Mapping[BrokerId, str],
    details: Details | None = None,
) -> dict[ZkPath, bytes]:
    """The tree of a cluster in memory as brokers of a release would have written it, parents first.

    Args:
        nodes: the nodes of its ZooKeeper.
        release: the release of its brokers.
        defaults: what counts unless a topic says otherwise.
        racks: the racks of brokers that have one.
        details: the data that its ZooKeeper does not have.
    """
    details = details or Details()
    in_racks = {broker: details.broker(broker)._replace(rack=rack) for broker, rack in racks.items()}
    details = details._replace(brokers={**details.brokers, **in_racks})
    values = {**AT_START, CLUSTER_ID: details.cluster_id}
    if AdminDesign.dynamic_unclean.at(release) and (said := _config(defaults)):
        values[DEFAULTS] = said
    topics = nodes[TOPICS].children
    values |= {topic_config_path(topic): dict(details.configs.get(topic, NONE)) for topic in topics}
    values |= {path: _value(path, node.data, details) for path, node in nodes.items() if path != "/"}
    its = Release(release)
    return {path: encode(path, values[path], release) for path in sorted(values) if Release(_row(path).since) <= its}


def _row(path: ZkPath) -> Znode:
    row = znode_at(path)
    assert row is not None, path
    return row


def _value(path: ZkPath, data: Any, details: Details) -> Any:
    """Kafka's data for a node of a cluster in memory."""
    if path == CONTROLLER:
        return ControllerRegistration(data, timestamp=details.timestamp)
    if parent_of(path) == BROKER_IDS and path != BROKER_IDS:
        return details.broker(int(name_of(path)))
    match data:
        case TopicAssignment():
            return TopicIdReplicaAssignment(data, details.topic_id(name_of(path)))
        case TopicConfig():
            return {**details.configs.get(name_of(path), {}), **_config(data)}
    return data


def _config(said: TopicConfig) -> Config:
    """A configuration as Kafka writes it."""
    values = {UNCLEAN: said.unclean_leader_election_enable, MIN_ISR: said.min_insync_replicas}
    return {name: str(value).lower() for name, value in values.items() if value is not None}


class ZooKeeperClient(Protocol):
    """The methods that are needed of a client of a live ZooKeeper, such as kazoo's."""

    def exists(self, path: str) -> Any:
        """None if there is no such node."""

    def create(self, path: str, value: bytes = b"", *, ephemeral: bool = False) -> Any:
        """Create a node."""

    def set(self, path: str, value: bytes) -> Any:
        """Set a node's data."""


def put_znodes(
    client: ZooKeeperClient, tree: Mapping[ZkPath, bytes], chroot: ZkPath = "", *, ephemeral: bool = True
) -> None:
    """Write a tree to a live ZooKeeper. Existing nodes get new data, and keep their kind.

    Args:
        client: a connected client.
        tree: the data of each path.
        chroot: the parent path of the tree, such as `/kafka`; created if missing.
        ephemeral: whether /controller and the registrations of brokers disappear with the client's session.

    Raises:
        ValueError: the chroot is no path; nothing has happened.
    """
    if chroot and not chroot.startswith("/"):
        raise ValueError(f"chroot {chroot!r} is no path; a path begins with a slash, as /kafka does")
    above = chroot.rstrip("/")
    parts = above.split("/")
    for at in range(2, len(parts) + 1):
        if client.exists(path := "/".join(parts[:at])) is None:
            client.create(path)
    for path in sorted(tree):
        row = znode_at(path)
        if client.exists(above + path) is None:
            client.create(above + path, tree[path], ephemeral=ephemeral and row is not None and row.ephemeral)
        else:
            client.set(above + path, tree[path])


class KafkaTree(NamedTuple):
    """A tree of Kafka's that was read from ZooKeeper."""

    values: Mapping[ZkPath, Any]
    """The value of each of Kafka's nodes."""

    @classmethod
    def read(cls, tree: Mapping[ZkPath, bytes | None]) -> KafkaTree:
        """Read Kafka's nodes; others are skipped.

        Raises:
            InvalidZnode: a node is not as Kafka writes it.
        """
        values = {
            path: None if path == CONTROLLER and not data else decode(path, data)
            for path, data in tree.items()
            if znode_at(path) is not None
        }
        for path, value in values.items():
            for name, brokers in _brokers_in(value):
                try:
                    in_order(name, brokers)
                except InvalidBrokers as wrong:
                    raise InvalidZnode(path, "Kafka writes no such brokers", str(wrong)) from None
        return cls(values)

    @property
    def live(self) -> frozenset[BrokerId]:
        """The registered brokers."""
        return frozenset(int(name_of(path)) for path in self.values if parent_of(path) == BROKER_IDS)

    @property
    def brokers(self) -> frozenset[BrokerId]:
        """The registered brokers, and all that partitions are assigned to."""
        assigned = [each for each in self.values.values() if isinstance(each, TopicIdReplicaAssignment)]
        return self.live.union(*(brokers for each in assigned for _, brokers in _brokers_in(each)))

    @property
    def controller(self) -> BrokerId | None:
        """The controller, if it is registered."""
        found: ControllerRegistration | None = self.values.get(CONTROLLER)
        return found.broker if found is not None and found.broker in self.live else None

    def damage(self, release: str) -> Iterator[str]:
        """What tools have damaged, and what becomes of it, in sentences."""
        if CONTROLLER in self.values and self.values[CONTROLLER] is None:
            yield f"{CONTROLLER} has no data, so no broker is controller until it is deleted [KAFKA-9267]"
        for path, value in self.values.items() if Release(release) >= TOPIC_IDS else ():
            if isinstance(value, TopicIdReplicaAssignment) and value.topic_id is None:
                yield f"{path} has no topic_id, so a new controller gives the topic another one [KAFKA-14190]"

    @property
    def controller_epoch(self) -> ControllerEpoch:
        """The epoch of the last controller; 0 if there was none."""
        return int(self.values.get(CONTROLLER_EPOCH, 0))

    @property
    def racks(self) -> dict[BrokerId, str]:
        """The racks of registered brokers that have one."""
        its = ((path, self.values[path].rack) for path in self.values if parent_of(path) == BROKER_IDS)
        return {int(name_of(path)): rack for path, rack in its if rack is not None}

    def defaults(self, release: str) -> TopicConfig:
        """What counts unless a topic says otherwise; until 1.0 the tree does not say [KIP-226]."""
        return _topic_config(self.values.get(DEFAULTS, NONE) if AdminDesign.dynamic_unclean.at(release) else NONE)

    def nodes(self) -> dict[ZkPath, Any]:
        """The nodes for a cluster in memory, without sessions and the controller's epoch, parents first.

        Left out: notifications, which a new controller deletes unread, and data of topics that do not exist: to
        delete such a topic, controllers of 0.11 or 1.0 would take over without end.
        """
        topics = {name_of(path) for path in self.values if parent_of(path) == TOPICS}
        found: dict[ZkPath, Any] = {}
        for path in sorted(self.values):
            value, row = self.values[path], _row(path)
            match row.path.split("/")[1:]:
                case ["brokers", "topics", "<topic>"]:
                    found[path] = value.assignment
                case ["brokers", "topics", "<topic>", *_] if parent_of(path) in found:
                    found[path] = value
                case ["admin", "delete_topics", "<topic>"] if name_of(path) in topics:
                    found[path] = value
                case ["admin", "reassign_partitions" | "preferred_replica_election"]:
                    found[path] = value
                case ["config", "topics", "<topic>"] if (config := _topic_config(value)) != TopicConfig():
                    found[path] = config
        return found


def _brokers_in(value: Any) -> Iterator[tuple[str, tuple[BrokerId, ...]]]:
    """The lists of brokers in a node's value, each with its name."""
    match value:
        case TopicIdReplicaAssignment(assignment):
            for partition, its in assignment.partitions:
                yield from ((f"{name} of {partition}", part) for name, part in its._asdict().items())
        case TopicPartitionState(leader_and_isr):
            yield "isr", leader_and_isr.isr
        case ((TopicPartition(), tuple()), *_):
            yield from ((f"replicas of {partition}", replicas) for partition, replicas in value)


def _topic_config(config: Config) -> TopicConfig:
    """What counts here of a configuration; invalid values are ignored [ConfigDef.parseType]."""
    number = re.fullmatch("0*([1-9][0-9]{0,8})", config.get(MIN_ISR, "").strip())
    unclean = {"true": True, "false": False}.get(config.get(UNCLEAN, "").strip().lower())
    return TopicConfig(unclean, int(number[1]) if number else None)
