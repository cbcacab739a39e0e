"""Read a running cluster's ZooKeeper with kazoo: live brokers, replicas, leaders, ISRs and configuration.

Nothing is written, no watch is set and no ephemeral node is created; a read-only ZooKeeper will do. The nodes are not
read at one moment: a cluster that changes meanwhile may be described in a state that it never had. A partition that
contradicts itself is then refused.

[ZkData.scala, 3.9]
"""

from __future__ import annotations

import logging
import re
import socket
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from election.brokers import InvalidBrokers, in_order
from election.ids import BrokerId, ControllerEpoch
from spec.language.errors import EnvironmentFailed, UsageError, require, safe_repr
from spec.what_if.known_cluster import DescribedPartition, Description
from statemachines.controller.design import BROKER_IDS, CONTROLLER, CONTROLLER_EPOCH
from statemachines.messages.leader_and_isr import NO_EPOCH, NO_LEADER
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicName, TopicPartition
from statemachines.messages.zk_data import (
    DELETE_TOPICS,
    REASSIGN_PARTITIONS,
    TOPICS,
    TopicPartitionState,
    topic_config_path,
    topic_partition_state_path,
    topic_path,
)
from statemachines.znodes.codec import decode
from statemachines.znodes.fields import InvalidZnode
from statemachines.znodes.values import Config, ControllerRegistration, Reassignment, TopicIdReplicaAssignment
from statemachines.zookeeper.tree import ZkPath

PATIENCE: Final = 15.0
"""Seconds to wait for a server's answer."""
DEFAULTS: Final = "/config/brokers/<default>"
"""The dynamic configuration of all brokers, since 1.1 [ConfigEntityName.Default]."""
GLANCE: Final = 2.0
"""Seconds to wait for a machine to refuse a connection."""
UNREAD: Final = "the cluster was not read"
_HOST = re.compile(r"(?:[^\s:,/\[\]]+|\[[0-9a-fA-F:.]+\])(?::([0-9]{1,5}))?")


def read_zookeeper(hosts: str) -> Description:
    """Read the state of a cluster from its ZooKeeper.

    Args:
        hosts: in the form of zookeeper.connect, like "zk1:2181,zk2:2181/kafka".

    Raises:
        UsageError: kazoo is not installed, these are no hosts, or the nodes are not Kafka's.
        EnvironmentFailed: no server answers; at once if every host refuses the connection or has no address.
    """
    require("kazoo")
    from kazoo.client import KazooClient
    from kazoo.exceptions import KazooException

    _require_hosts(hosts)
    _require_listener(hosts)
    silent = logging.Logger("kazoo")  # failures are reported in one line
    silent.addHandler(logging.NullHandler())
    client = KazooClient(hosts, timeout=PATIENCE, read_only=True, logger=silent)
    try:
        with warnings.catch_warnings(action="ignore"):  # a missing chroot is reported below
            client.start(timeout=PATIENCE)
        return _Reader(client, hosts).description()
    except client.handler.timeout_exception:
        raise EnvironmentFailed(f"zookeeper {hosts}: no server answers within {PATIENCE:.0f} s", UNREAD) from None
    except KazooException as error:
        said = f"{type(error).__name__}{f': {error}' if str(error) else ''}"
        raise EnvironmentFailed(f"zookeeper {hosts}: {said}", UNREAD) from None
    finally:
        client.stop()
        client.close()


def _require_hosts(hosts: str) -> None:
    """Require HOST:PORT,.../CHROOT."""
    for each in hosts.partition("/")[0].split(","):
        found = _HOST.fullmatch(each.strip())
        if found is None or not 0 < int(found[1] or 2181) < 2**16:
            takes = "zookeeper:// takes HOST:PORT,HOST:PORT/CHROOT"
            raise UsageError(f"zookeeper://{hosts}: {safe_repr(each)} is no host; {takes}")


def _require_listener(hosts: str) -> None:
    """Fail at once if no host listens. kazoo would retry until its timeout."""
    from kazoo.hosts import collect_hosts

    refusals = []
    for host, port in collect_hosts(hosts)[0]:
        try:
            socket.create_connection((host.strip(), port), GLANCE).close()
        except (ConnectionRefusedError, socket.gaierror) as refusal:
            refusals.append(f"{host.strip()}:{port}: {refusal.strerror}")
        except OSError:  # silent or unreachable for now: kazoo keeps trying
            return
        else:
            return
    raise EnvironmentFailed(f"zookeeper {hosts}: no server listens ({'; '.join(refusals)})", UNREAD)


class _Reader:
    """Reads through a connected client."""

    def __init__(self, client: Any, hosts: str) -> None:
        self.client, self.hosts = client, hosts

    def description(self) -> Description:
        if self.client.exists_async(TOPICS).get(timeout=PATIENCE) is None:
            raise UsageError(
                f"zookeeper {self.hosts}: there is no {TOPICS}; does the cluster have a chroot (/kafka)?"
            )
        topics = self._children(TOPICS)
        assigned = self._read(map(topic_path, topics))
        assignments = {
            partition: assignment
            for topic in topics
            for partition, assignment in self._assignments(topic, assigned.get(topic_path(topic))).items()
        }
        states = self._read(map(topic_partition_state_path, assignments))
        configs = self._read([*map(topic_config_path, topics), DEFAULTS])
        configured = {topic: self._config(topic_config_path(topic), configs) for topic in topics}
        of_all = self._config(DEFAULTS, configs)
        return Description(
            {
                partition: self._partition(partition, assignment, states.get(topic_partition_state_path(partition)))
                for partition, assignment in assignments.items()
            },
            live=frozenset(map(self._broker, self._children(BROKER_IDS))),
            controller=self._controller(),
            controller_epoch=self._controller_epoch(),
            min_isr={topic: said for topic, (said, _) in configured.items() if said is not None},
            unclean={topic: said for topic, (_, said) in configured.items() if said is not None},
            default_min_isr=of_all[0],
            default_unclean=of_all[1],
            deletion_queued=frozenset(self._children(DELETE_TOPICS)) & frozenset(topics),
            reassigning={
                partition: replicas for partition, replicas in self._reassigning().items() if partition in assignments
            },
        )

    def _children(self, path: str) -> list[str]:
        """The names of a node's children; none if the node does not exist."""
        from kazoo.exceptions import NoNodeError

        try:
            return sorted(self.client.get_children_async(path).get(timeout=PATIENCE))
        except NoNodeError:
            return []

    def _read(self, paths: Iterable[ZkPath]) -> dict[ZkPath, Any]:
        """The contents of those nodes that exist, read in parallel."""
        from kazoo.exceptions import NoNodeError

        asked = {path: self.client.get_async(path) for path in paths}
        found = {}
        for path, answer in asked.items():
            try:
                data, _ = answer.get(timeout=PATIENCE)
                found[path] = decode(path, data)
            except NoNodeError:
                continue
            except InvalidZnode as strange:
                raise UsageError(f"zookeeper {self.hosts}: {strange}") from None
        return found

    def _broker(self, name: str) -> BrokerId:
        if not re.fullmatch("[0-9]{1,9}", name):
            raise self._strange(f"{BROKER_IDS}/{name}", "this is no broker id")
        return int(name)

    def _controller(self) -> BrokerId | None:
        found: ControllerRegistration | None = self._read([CONTROLLER]).get(CONTROLLER)
        return None if found is None else found.broker

    def _controller_epoch(self) -> ControllerEpoch | None:
        """The epoch of the last elected controller; None: there was none."""
        epoch: ControllerEpoch | None = self._read([CONTROLLER_EPOCH]).get(CONTROLLER_EPOCH)
        if epoch is not None and epoch < 0:
            raise self._strange(CONTROLLER_EPOCH, "this is no controller epoch")
        return epoch

    def _assignments(
        self, topic: TopicName, found: TopicIdReplicaAssignment | None
    ) -> dict[TopicPartition, ReplicaAssignment]:
        if found is None:  # deleted meanwhile
            return {}
        assignments = found.assignment.decode(topic)
        if not assignments:
            raise self._strange(topic_path(topic), "it assigns no partition")
        for partition, assignment in assignments.items():
            for name, brokers in zip(assignment._fields, assignment, strict=True):
                self._check_brokers(topic_path(topic), f"{name} of {partition}", brokers, some=name == "replicas")
        return assignments

    def _reassigning(self) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        """The moves that an administrator requested and the controller has not completed."""
        asked: Reassignment = self._read([REASSIGN_PARTITIONS]).get(REASSIGN_PARTITIONS, ())
        for partition, replicas in asked:
            self._check_brokers(REASSIGN_PARTITIONS, f"replicas of {partition}", replicas, some=True)
        return dict(asked)

    def _partition(
        self, partition: TopicPartition, assignment: ReplicaAssignment, found: TopicPartitionState | None
    ) -> DescribedPartition:
        path = topic_partition_state_path(partition)
        if found is None:  # it never had a leader
            return DescribedPartition(assignment, None, (), NO_EPOCH, at=path)
        leader, epoch, isr = found.leader_and_isr[:3]
        self._check_brokers(path, "isr", isr)
        if leader < NO_LEADER or epoch < NO_EPOCH:
            raise self._strange(path, f"leader {leader} in epoch {epoch} cannot be Kafka's")
        described = DescribedPartition(assignment, None if leader == NO_LEADER else leader, isr, epoch, at=path)
        if contradiction := described.contradiction():
            raise self._strange(path, contradiction)
        return described

    def _config(self, path: ZkPath, found: Mapping[ZkPath, Config]) -> tuple[int | None, bool | None]:
        """The configured min.insync.replicas and unclean.leader.election.enable; None for each that is not set.

        Booleans may be written in any case of letters. [ConfigDef.parseType]
        """
        config = found.get(path, {})
        min_isr, unclean = config.get("min.insync.replicas"), config.get("unclean.leader.election.enable")
        if min_isr is not None and not re.fullmatch("[0-9]{1,9}", min_isr):
            raise self._strange(path, "min.insync.replicas is no number of replicas")
        if unclean is not None and unclean.lower() not in ("true", "false"):
            raise self._strange(path, "unclean.leader.election.enable is neither true nor false")
        return None if min_isr is None else int(min_isr), None if unclean is None else unclean.lower() == "true"

    def _check_brokers(self, path: ZkPath, name: str, brokers: Sequence[BrokerId], some: bool = False) -> None:
        try:
            in_order(name, brokers)
        except InvalidBrokers as wrong:
            raise self._strange(path, str(wrong)) from None
        if some and not brokers:
            raise self._strange(path, f"{name}: there are none")

    def _strange(self, path: ZkPath, what: str) -> UsageError:
        return UsageError(f"zookeeper {self.hosts}: {path}: {what}")
