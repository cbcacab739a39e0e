"""What administrators do to our clusters, beside Kafka's own tools and the class that serves requests on a broker.

    situation = Situation(live=(1, 2), topics={"t": {0: (1, 2)}})
    action = {"do": "add", "topic": "t", "count": 2}
    with RealController("3.9.1") as kafka:
        ours = AdminToolsBeside("3.9.1", situation)
        [(_, seen)] = kafka.of("Tools", [ours.case(action)])
        assert ours.disagreements(action, seen) == []

A case is a tree and one action; `ACTIONS` says which actions a release has. Afterwards the refusals are of the same
kind (`KINDS`), and the nodes below /admin, /brokers/topics and /config/topics have the same data. The actions
`..._by_tool` run the code of `kafka-topics.sh`, `kafka-reassign-partitions.sh` and
`kafka-preferred-replica-election.sh`; `place` and `permit_unclean` call AdminUtils, since 1.1 AdminZkClient; the
others are requests to AdminManager, since 2.8 ZkAdminManager.

No controller has seen the tree, and a broker has no metadata yet. So what KafkaApis and the controller check is left
out: NOT_CONTROLLER, topics that are queued for deletion, topics of the broker's metadata cache, delete.topic.enable.
Left out of the trees: /config/changes, since our brokers are told directly; the ids of new topics, which are random;
the order of a node's partitions, which Kafka takes from sets. The start index and the shift of `place` are random in
Kafka, and ours takes those that Kafka drew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from election.ids import BrokerId
from election.replica_placement import assign_replicas_to_brokers
from spec.kafka.control_values import parsed
from spec.kafka.scripted_cluster import Disagreement, different
from statemachines.changes.administration import AdminDesign
from statemachines.cluster import Cluster
from statemachines.cluster_history import Failed
from statemachines.cluster_tree import Details
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionId, TopicName
from statemachines.messages.zk_data import (
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    TopicAssignment,
    delete_topics_topic_path,
    topic_path,
)
from statemachines.releases import Release
from statemachines.zookeeper.tree import ZkPath

Action = Mapping[str, Any]
"""`{"do": ...}` with its arguments, as JSON; see `AdminToolsBeside`."""
NONE: Final[Mapping[Any, Any]] = MappingProxyType({})

ACTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "create": ("0.10.1.0", "3.9"),
    "place": ("0.10.1.0", "3.9"),
    "add_by_tool": ("0.10.1.0", "0.11"),
    "add": ("1.0.0", "3.9"),
    "delete": ("0.10.1.0", "3.9"),
    "delete_by_tool": ("0.10.1.0", "2.8"),
    "permit_unclean": ("0.10.1.0", "3.9"),
    "permit_unclean_by_tool": ("0.10.1.0", "2.8"),
    "reassign_by_tool": ("0.10.1.0", "2.3"),
    "elect_by_tool": ("0.10.1.0", "2.1"),
}
"""The first and the last release in which a cluster of ours does an action in this way.

Later releases have some of these tools, too: a cluster of ours has only requests then. Requests to reassign or elect
go to the controller, which is compared in `spec.kafka.controller_beside`.
"""

COMPARED: Final = ("/admin", "/brokers/topics", "/config/topics")
ANYTHING_RUNNING: Final = "There is an existing assignment running"
"""What `kafka-reassign-partitions.sh` prints until 2.5 when it does nothing. It does not fail."""

KAFKAS, OUR = 0, 1
RACKS, MOVING = "racks", "moving"
"""Kafka looks for these reasons before others when it adds or places partitions; ours may name another."""

KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "name": ("[Tt]opic name", "no topic is called"),
    "marked for deletion": ("is marked for deletion", "is marked for deletion"),
    "collision": ("collides with existing", "collides with"),
    "existing topic": ("already exists", "there is a topic"),
    "assignment": (
        "consecutive 0-based|same number of replicas|Duplicate replica|duplicate entries|list cannot be empty",
        "allowed are the numbers from 0|allowed is one number|broker .* occurs twice|there are none, allowed is one",
    ),
    MOVING: ("REASSIGNMENT_IN_PROGRESS", "partitions are being reassigned"),
    "number of replicas": ("eplication factor", "replication factor|replication_factor"),
    "no increase": (
        "can only be increased|Topic already has|which is higher than",
        "allowed are the integers from (?!1 on)",
    ),
    "number of partitions": ("[Nn]umber of partitions must be larger than 0", "partitions: .* integers from 1 on"),
    RACKS: ("rack information", "allowed are racks of all brokers or of none"),
    "unknown partition": ("non-existent partitions", "there is no partition"),
    "unknown broker": ("non-existent brokerIDs", "is not registered"),
    "unknown topic": ("does not exist|does not host this topic-partition", "there is no topic"),
    "a partition twice": ("duplicate partitions", "partition .* occurs twice"),
    "another election": ("election currently in progress", "another one is under way in /admin/preferred"),
    "another reassignment": (ANYTHING_RUNNING, "another one is under way in /admin/reassign"),
}
"""The kinds of refusals: patterns of Kafka's messages and of ours."""


def actions_of(release: str) -> tuple[str, ...]:
    """The actions that are compared in a release."""
    its = Release(release)
    return tuple(each for each, (first, last) in ACTIONS.items() if Release(first) <= its <= Release(last))


class Situation(NamedTuple):
    """A cluster before an action, which no controller has seen yet."""

    live: Sequence[BrokerId] = (1, 2, 3)
    """The registered brokers."""
    down: Sequence[BrokerId] = ()
    racks: Mapping[BrokerId, str] = NONE
    topics: Mapping[TopicName, Mapping[PartitionId, Sequence[BrokerId]]] = NONE
    adding: Mapping[str, Sequence[BrokerId]] = NONE
    """Since 2.4: the replicas that are added to a partition; its topic's node names them."""
    marked: Sequence[TopicName] = ()
    """The topics whose deletion is requested."""
    moving: Mapping[str, Sequence[BrokerId]] | None = None
    """The targets in /admin/reassign_partitions, if it exists."""
    electing: Sequence[str] | None = None
    """The partitions in /admin/preferred_replica_election, if it exists."""
    unclean: Sequence[TopicName] = ()
    """The topics that permit unclean elections already."""
    configs: Mapping[TopicName, Mapping[str, str]] = NONE
    """Other settings of topics."""

    def cluster(self, release: str) -> Cluster:
        """A cluster of ours in this situation."""
        cluster = Cluster((*self.live, *self.down), release, down=self.down, racks=self.racks)
        create = cluster.zookeeper.create
        for topic, partitions in self.topics.items():
            create(None, topic_path(topic), TopicAssignment(tuple(self._assigned(topic, partitions))))
        for topic in self.unclean:
            cluster.allow_unclean(topic)
        for topic in self.marked:
            create(None, delete_topics_topic_path(topic))
        if self.moving is not None:
            targets = tuple((parsed(partition), tuple(brokers)) for partition, brokers in self.moving.items())
            create(None, REASSIGN_PARTITIONS, targets)
        if self.electing is not None:
            create(None, PREFERRED_REPLICA_ELECTION, tuple(map(parsed, self.electing)))
        return cluster

    def _assigned(
        self, topic: TopicName, partitions: Mapping[PartitionId, Sequence[BrokerId]]
    ) -> list[tuple[PartitionId, ReplicaAssignment]]:
        return [
            (number, ReplicaAssignment((*brokers, *(adding := self.adding.get(f"{topic}-{number}", ()))), (*adding,)))
            for number, brokers in sorted(partitions.items())
        ]


class AdminToolsBeside:
    """Our side: a cluster, and one action. Each method `_<action>` says what its arguments are.

    Args:
        release: whose rules apply.
        situation: the cluster before the action.
        design: what administrators can do, if it is not that of the release; a test can turn a rule round.
    """

    def __init__(self, release: str, situation: Situation, design: AdminDesign | None = None) -> None:
        self._cluster = situation.cluster(release)
        if design is not None:
            self._cluster._admin = design
        self._details = Details(configs=situation.configs)
        self._before = self._tree()

    def _tree(self) -> dict[ZkPath, str]:
        return {path: data.decode() for path, data in self._cluster.znodes(self._details).items()}

    def case(self, action: Action) -> dict[str, Any]:
        """The action and its tree, for Kafka."""
        return {"tree": self._before, **action}

    def disagreements(self, action: Action, seen: Mapping[str, Any]) -> list[Disagreement]:
        """Carry out an action that Kafka has carried out and answered, and report the differences."""
        already = len(self._cluster.history)
        tree = {path: node[1] for path, node in seen["tree"].items()}
        try:
            getattr(self, f"_{action['do']}")(tree, **{name: it for name, it in action.items() if name != "do"})
            said = [str(each) for each in self._cluster.history[already:] if isinstance(each, Failed)]
            refused = next((each for each in said if re.search(r"the (reassignment|election) is refused", each)), "")
        except ValueError as refusal:
            refused = str(refusal)
        printed = seen["printed"] if ANYTHING_RUNNING in seen["printed"] else ""
        kafkas = " ".join([*(": ".join(each) for each in seen["refused"]), printed])
        kind, kafkas_kind = _kind(refused, OUR), _kind(kafkas.strip(), KAFKAS)
        if refused and kafkas_kind in (RACKS, MOVING):
            kind = kafkas_kind
        ours = {
            path: json.loads(data) if data else None
            for path, data in self._tree().items()
            if path.startswith(COMPARED)
        }
        return [
            *different("refusal", kind, kafkas_kind),
            *different("tree", self._comparable(ours), self._comparable(tree)),
        ]

    def _comparable(self, tree: Mapping[ZkPath, Any]) -> dict[ZkPath, Any]:
        return {path: self._without_new_id(path, value) for path, value in tree.items() if path.startswith(COMPARED)}

    def _without_new_id(self, path: ZkPath, value: Any) -> Any:
        match value:
            case {"topic_id": _} if path not in self._before:
                return {name: its for name, its in value.items() if name != "topic_id"}
            case {"partitions": [*partitions]}:
                return {**value, "partitions": sorted(partitions, key=repr)}
        return value

    # Actions.

    def _create(self, _: Any, topic: TopicName, partitions: Mapping[str, Sequence[BrokerId]]) -> None:
        """Create a topic with these partitions."""
        self._cluster.create_topic(topic, {int(number): tuple(brokers) for number, brokers in partitions.items()})

    def _place(self, tree: Mapping[ZkPath, Any], topic: TopicName, count: int, replicas: int) -> None:
        """Create a topic with so many partitions and replicas."""
        start, shift = self._drawn(tree.get(topic_path(topic)), count, replicas)
        self._cluster.create_topic(
            topic, partitions=count, replication_factor=replicas, start_index=start, shift=shift
        )

    def _drawn(self, kafkas: Any, count: int, replicas: int) -> tuple[int, int]:
        """The start index and the shift that Kafka drew."""
        live = sorted(self._cluster.live)
        for start, shift in product(range(len(live)), repeat=2) if kafkas else ():
            placed = assign_replicas_to_brokers(
                live, count, replicas, racks=self._cluster._racks, start_index=start, shift=shift
            )
            if kafkas["partitions"] == {str(number): list(brokers) for number, brokers in placed.items()}:
                return start, shift
        return 0, 0

    def _add(self, _: Any, topic: TopicName, count: int) -> None:
        """Add partitions to a topic, until it has so many."""
        self._cluster.create_partitions(topic, count)

    def _delete(self, _: Any, topic: TopicName) -> None:
        """Request a topic's deletion."""
        self._cluster.delete_topic(topic)

    def _permit_unclean(self, _: Any, topic: TopicName) -> None:
        """Permit unclean elections of a topic."""
        self._cluster.allow_unclean(topic)

    def _reassign_by_tool(self, _: Any, plan: Mapping[str, Any]) -> None:
        """Reassign the partitions of a plan, which is JSON as the tool reads it."""
        targets = {(each["topic"], each["partition"]): each["replicas"] for each in plan["partitions"]}
        self._cluster.reassign(targets)

    def _elect_by_tool(self, _: Any, plan: Mapping[str, Any]) -> None:
        """Elect preferred leaders of the partitions of a plan."""
        self._cluster.elect((each["topic"], each["partition"]) for each in plan["partitions"])

    _add_by_tool, _delete_by_tool, _permit_unclean_by_tool = _add, _delete, _permit_unclean


def _kind(refusal: str, side: int) -> str:
    """The kind of a refusal; its text if it is of none."""
    return next((kind for kind, patterns in KINDS.items() if re.search(patterns[side], refusal)), refusal)
