"""Kafka's nodes by path: the data of each, and the release since which it exists.

    >>> encode("/controller", ControllerRegistration(1), "3.3")
    b'{"version":1,"brokerid":1,"timestamp":"0"}'
    >>> decode("/controller", b'{"version":2,"brokerid":1,"timestamp":"5","kraftControllerEpoch":-1}')
    ControllerRegistration(broker=1, kraft_controller_epoch=-1, timestamp=5)

This reads whatever the newest Kafka reads, except that it refuses malformed data that Kafka ignores, for example in
configurations. Left out: the nodes of old consumers below /consumers.
[kafka.zk: ZkData.scala; until 1.0 kafka.utils: ZkUtils.scala]
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from types import NoneType
from typing import Any, Final, NamedTuple

from statemachines.messages.zk_data import TopicPartitionState
from statemachines.releases import RELEASES, Release, since_when
from statemachines.znodes import values
from statemachines.znodes.fields import INT, InvalidZnode, JsonValue, written
from statemachines.znodes.values import (
    BrokerInfo,
    ControllerRegistration,
    DelegationToken,
    ExtendedAclChange,
    Feature,
    Migration,
    ProducerIdsBlock,
    TopicIdReplicaAssignment,
)
from statemachines.zookeeper.tree import ZkPath


class Codec(NamedTuple):
    """The data of one kind of node."""

    holds: str
    """In words."""
    takes: tuple[type, ...]
    """The types of its values."""
    encode: Callable[[Any, Release], bytes]
    decode: Callable[[ZkPath, bytes], Any]


def _json(
    holds: str, takes: type, from_json: Callable[[JsonValue], Any], to_json: Callable[[Any, Release], Any]
) -> Codec:
    def decode(path: ZkPath, data: bytes) -> Any:
        return from_json(JsonValue.parse(path, data))

    return Codec(holds, (takes,), lambda value, release: written(to_json(value, release)), decode)


def _value(kind: Any) -> Codec:
    """A codec for a class with its own JSON."""
    return _json(f"a {kind.__name__}", kind, kind.from_json, kind.to_json)


def _or_nothing(codec: Codec) -> Codec:
    """A codec for the same data, or none yet."""

    def encode(value: Any, release: Release) -> bytes:
        return b"" if value is None else codec.encode(value, release)

    def decode(path: ZkPath, data: bytes) -> Any:
        return codec.decode(path, data) if data else None

    return Codec(f"{codec.holds}, or None", (*codec.takes, NoneType), encode, decode)


def _decode_number(path: ZkPath, data: bytes) -> int:
    if not re.fullmatch(rb"-?[0-9]{1,10}", data) or int(data) not in INT:
        raise InvalidZnode(path, f"{data[:20]!r} is no number", "it takes an integer of 32 bits")
    return int(data)


def _decode_text(path: ZkPath, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise InvalidZnode(path, "it is no text", "it takes UTF-8") from None


NOTHING: Final = Codec("nothing", (NoneType,), lambda value, release: b"", lambda path, data: None)
NUMBER: Final = Codec("an integer", (int,), lambda value, release: b"%d" % value, _decode_number)
TEXT: Final = Codec("a string", (str,), lambda value, release: value.encode(), _decode_text)
CLUSTER_ID: Final = _json(
    "a string", str, lambda json: json["id"].text(), lambda value, release: {"version": "1", "id": value}
)
STATE: Final = _json("a TopicPartitionState", TopicPartitionState, values.state_from_json, values.state_to_json)
CONFIG: Final = _json("strings by name", dict, values.config_from_json, values.config_to_json)
CHANGE: Final = _json("a string, TYPE/NAME", str, values.change_from_json, values.change_to_json)
PARTITIONS: Final = _json("a tuple of TopicPartitions", tuple, values.partitions_from_json, values.partitions_to_json)
REASSIGNMENT: Final = _json(
    "a tuple of pairs of a TopicPartition and brokers",
    tuple,
    values.reassignment_from_json,
    values.reassignment_to_json,
)
FAILED_BROKER: Final = _json(
    "a broker's id",
    int,
    lambda json: json["broker"].integer(),
    lambda value, release: {"version": 1, "broker": value, "event": 1},
)
ACLS: Final = _json("a tuple of AclEntrys", tuple, values.acls_from_json, values.acls_to_json)


class Znode(NamedTuple):
    """A row of the table."""

    path: str
    """Variable names are in angle brackets; `<n>` is a number that ZooKeeper has appended to the path."""
    codec: Codec
    since: str = RELEASES[0]
    ephemeral: bool = False
    """Whether it disappears with the session of the broker that created it."""


ZNODES: Final = (
    Znode("/admin", NOTHING),
    Znode("/admin/delete_topics", NOTHING),
    Znode("/admin/delete_topics/<topic>", NOTHING),
    Znode("/admin/preferred_replica_election", PARTITIONS),
    Znode("/admin/reassign_partitions", REASSIGNMENT),
    Znode("/brokers", NOTHING),
    Znode("/brokers/ids", NOTHING),
    Znode("/brokers/ids/<broker>", _value(BrokerInfo), ephemeral=True),
    Znode("/brokers/seqid", NOTHING),
    Znode("/brokers/topics", NOTHING),
    Znode("/brokers/topics/<topic>", _value(TopicIdReplicaAssignment)),
    Znode("/brokers/topics/<topic>/partitions", NOTHING),
    Znode("/brokers/topics/<topic>/partitions/<partition>", NOTHING),
    Znode("/brokers/topics/<topic>/partitions/<partition>/state", STATE),
    Znode("/cluster", NOTHING),
    Znode("/cluster/id", CLUSTER_ID),
    Znode("/config", NOTHING),
    Znode("/config/brokers", NOTHING),
    Znode("/config/brokers/<name>", CONFIG),
    Znode("/config/changes", NOTHING),
    Znode("/config/changes/config_change_<n>", CHANGE),
    Znode("/config/clients", NOTHING),
    Znode("/config/clients/<name>", CONFIG),
    Znode("/config/ips", NOTHING, "2.8.0"),
    Znode("/config/ips/<name>", CONFIG, "2.8.0"),
    Znode("/config/topics", NOTHING),
    Znode("/config/topics/<topic>", CONFIG),
    Znode("/config/users", NOTHING),
    Znode("/config/users/<name>", CONFIG),
    Znode("/config/users/<name>/clients", NOTHING),
    Znode("/config/users/<name>/clients/<name>", CONFIG),
    Znode("/consumers", NOTHING),
    Znode("/controller", _value(ControllerRegistration), ephemeral=True),
    Znode("/controller_epoch", NUMBER),
    Znode("/delegation_token", NOTHING, "1.1.0"),
    Znode("/delegation_token/token_changes", NOTHING, "1.1.0"),
    Znode("/delegation_token/token_changes/token_change_<n>", TEXT, "1.1.0"),
    Znode("/delegation_token/tokens", NOTHING, "1.1.0"),
    Znode("/delegation_token/tokens/<token>", _value(DelegationToken), "1.1.0"),
    Znode("/feature", _value(Feature), "2.7.0"),
    Znode("/isr_change_notification", NOTHING),
    Znode("/isr_change_notification/isr_change_<n>", PARTITIONS),
    Znode("/kafka-acl", NOTHING),
    Znode("/kafka-acl-changes", NOTHING),
    Znode("/kafka-acl-changes/acl_changes_<n>", TEXT),
    Znode("/kafka-acl-extended", NOTHING, "2.0.0"),
    Znode("/kafka-acl-extended-changes", NOTHING, "2.0.0"),
    Znode("/kafka-acl-extended-changes/acl_changes_<n>", _value(ExtendedAclChange), "2.0.0"),
    Znode("/kafka-acl-extended/<pattern>", NOTHING, "2.0.0"),
    Znode("/kafka-acl-extended/<pattern>/<type>", NOTHING, "2.0.0"),
    Znode("/kafka-acl-extended/<pattern>/<type>/<name>", ACLS, "2.0.0"),
    Znode("/kafka-acl/<type>", NOTHING),
    Znode("/kafka-acl/<type>/<name>", ACLS),
    Znode("/latest_producer_id_block", _or_nothing(_value(ProducerIdsBlock)), "0.11.0.0"),
    Znode("/log_dir_event_notification", NOTHING, "1.0.0"),
    Znode("/log_dir_event_notification/log_dir_event_<n>", FAILED_BROKER, "1.0.0"),
    Znode("/migration", _value(Migration), "3.4.0"),
)
"""Kafka's tree in ZooKeeper, parents first."""

_NAMES: Final = {"broker": "0|[1-9][0-9]{0,9}", "partition": "0|[1-9][0-9]{0,9}", "n": "[0-9]*"}


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Znode], ...]:
    def pattern(row: Znode) -> str:
        parts = re.split("<([a-z]+)>", row.path)
        return "".join(
            re.escape(part) if at % 2 == 0 else f"({_NAMES.get(part, '[^/]+')})" for at, part in enumerate(parts)
        )

    return tuple((re.compile(pattern(row), re.DOTALL), row) for row in ZNODES)


def znode_at(path: ZkPath) -> Znode | None:
    """The row of a path; None if it is none of Kafka's."""
    return next((row for pattern, row in _patterns() if pattern.fullmatch(path)), None)


def encode(path: ZkPath, value: Any, release: str = RELEASES[-1]) -> bytes:
    """The bytes that a release writes to a path.

    Fields that the release does not know yet, such as a topic's id, are left out.

    Raises:
        InvalidZnode: the path is none of Kafka's, or not yet, or the value does not fit it.
        UnknownRelease: there is no such release.
    """
    row, its = _row(path), Release(release)
    if its < Release(row.since):
        raise InvalidZnode(path, f"Kafka {release} has no such node", f"there is one since {since_when(row.since)}")
    if not isinstance(value, row.codec.takes):
        raise InvalidZnode(path, f"a value is a {type(value).__name__}", f"it takes {row.codec.holds}")
    return row.codec.encode(value, its)


def decode(path: ZkPath, data: bytes | None) -> Any:
    """The value of a path's data, whichever release wrote it.

    Raises:
        InvalidZnode: the path is none of Kafka's, or Kafka does not write such data there.
    """
    return _row(path).codec.decode(path, data or b"")


def _row(path: ZkPath) -> Znode:
    row = znode_at(path)
    if row is None:
        raise InvalidZnode(path, "it is no path of Kafka's", "ZNODES has them all")
    return row
