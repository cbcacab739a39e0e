"""Nodes for tests: an example of each row of the table, brokers' own nodes, and how to change one thing in a node."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderRecoveryState
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import TopicAssignment, TopicPartitionState
from statemachines.znodes.codec import ZNODES, encode
from statemachines.znodes.values import (
    AclEntry,
    BrokerInfo,
    ControllerRegistration,
    DelegationToken,
    EndPoint,
    ExtendedAclChange,
    Feature,
    FinalizedVersionRange,
    Migration,
    ProducerIdsBlock,
    SupportedVersionRange,
    TopicIdReplicaAssignment,
)
from statemachines.zookeeper.tree import ZkPath
from tests.statemachines.znodes.written import RELEASES as WRITTEN
from tests.statemachines.znodes.written import Written

T0: Final = TopicPartition("t", 0)
STATE: Final = "/brokers/topics/t/partitions/0/state"
UUID: Final = "TQ0YIPfdRiyYvWc9snYV9w"
MOVING: Final = TopicAssignment(((0, ReplicaAssignment((2, 0, 1), (0,), (1,))), (11, ReplicaAssignment((1,)))))
RECOVERING: Final = LeaderAndIsr(2, 3, (2,), LeaderRecoveryState.RECOVERING)
BROKER: Final = BrokerInfo(
    (EndPoint("IN", "::1", 1, "SASL_SSL"), EndPoint("OUT", "h", 9093)),
    "dc \N{DEGREE SIGN}",
    {"f": SupportedVersionRange(1, 2)},
    9,
    5,
    5,
)
TOKEN: Final = DelegationToken("id", "User%3Aa", ("User%3Ab",), 1, 3, 2, "User%3Ac")
EXAMPLES: Final[dict[str, Any]] = {
    "/admin/preferred_replica_election": (TopicPartition("b", 1), T0),
    "/admin/reassign_partitions": ((T0, (3, 1)), (TopicPartition("t", 1), ())),
    "/brokers/ids/<broker>": BROKER,
    "/brokers/topics/<topic>": TopicIdReplicaAssignment(MOVING, UUID),
    "/brokers/topics/<topic>/partitions/<partition>/state": TopicPartitionState(RECOVERING, 7),
    "/cluster/id": UUID,
    "/config/changes/config_change_<n>": "users/u/clients/c",
    "/controller": ControllerRegistration(1, -1, 5),
    "/controller_epoch": 7,
    "/delegation_token/token_changes/token_change_<n>": "id",
    "/delegation_token/tokens/<token>": TOKEN,
    "/feature": Feature(features={"f": FinalizedVersionRange(3)}, version=2),
    "/isr_change_notification/isr_change_<n>": (T0,),
    "/kafka-acl-changes/acl_changes_<n>": "Topic:t",
    "/kafka-acl-extended-changes/acl_changes_<n>": ExtendedAclChange("TOPIC", "n"),
    "/kafka-acl-extended/<pattern>/<type>/<name>": (AclEntry("User:a", "Allow", "*", "Read"),),
    "/kafka-acl/<type>/<name>": (AclEntry("User:a", "Allow", "*", "Read"),),
    "/latest_producer_id_block": ProducerIdsBlock(1, 0, 999),
    "/log_dir_event_notification/log_dir_event_<n>": 2,
    "/migration": Migration(3000, 1, 2**40, 2),
}
"""Possible data of each node, with all fields of the newest release."""
NAMES: Final = {
    "broker": "1",
    "partition": "0",
    "n": "0000000007",
    "topic": "t",
    "name": "n",
    "type": "Topic",
    "token": "id",
    "pattern": "prefixed",
}


def named(pattern: str) -> ZkPath:
    """A path for a row."""
    return re.sub("<([a-z]+)>", lambda name: NAMES[name[1]], pattern)


def example(pattern: str) -> Any:
    return EXAMPLES.get(pattern, {"a": "1"} if pattern.startswith("/config/") and pattern.endswith(">") else None)


GOOD: Final = [(path, data) for each in WRITTEN for path, data in Written.read(each).nodes() if data] + [
    (named(row.path), encode(named(row.path), example(row.path))) for row in ZNODES
]
"""Nodes as Kafka writes them."""


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value in a piece of JSON."""
    yield at
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield from places(each, (*at, key))


def changed(value: Any, at: tuple[Any, ...], to: Any) -> Any:
    """The same JSON with another value at one place."""
    if not at:
        return to
    copy = value.copy()
    copy[at[0]] = changed(value[at[0]], at[1:], to)
    return copy
