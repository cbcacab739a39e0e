"""The values of Kafka's nodes, with their JSON: a release writes its own form and reads that of any release.

A field that is missing in older JSON has the default of Kafka's decoder. A timestamp, which Kafka writes and never
reads, is 0 if missing. Keys are in the order in which Kafka writes them. That is the order of Scala's hash tables,
which
changed: here it is that of Scala 2.11 until Kafka 2.4, and of 2.13 since.
[kafka.zk: ZkData.scala]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from election.ids import BrokerId
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderRecoveryState
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import TopicAssignment, TopicPartitionState
from statemachines.releases import Release
from statemachines.znodes.fields import INT, JsonValue

Json: TypeAlias = dict[str, Any]
Config: TypeAlias = Mapping[str, str]
"""A configuration, by name."""
Reassignment: TypeAlias = tuple[tuple[TopicPartition, tuple[BrokerId, ...]], ...]
"""Partitions, each with its target replicas, the preferred leader first."""
NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})

SCALA_2_13: Final = Release("2.5.0")
TARGET_REPLICAS: Final = Release("2.4.0")
"""Since this release a topic's node has adding and removing replicas [KIP-455]."""
FEATURES: Final = Release("2.7.0")
"""Since this release a broker's node has features [KIP-584]."""
TOPIC_IDS: Final = Release("2.8.0")
"""Since this release a topic's node has its id [KIP-516]."""
RECOVERY: Final = Release("3.2.0")
"""Since this release a partition's state says whether its leader is recovering [KIP-704]."""
ONE_LEVEL: Final = Release("3.3.0")
"""Since this release a finalized feature has no lowest level [KIP-778], and tokens name their requester [KIP-373]."""
KRAFT_EPOCH: Final = Release("3.4.0")
"""Since this release the controller's node has the epoch of a KRaft controller [KIP-866]."""


class ControllerRegistration(NamedTuple):
    """The data of /controller [ZKControllerRegistration]."""

    broker: BrokerId
    kraft_controller_epoch: int | None = None
    """The epoch of a KRaft controller, during a migration; -1 if there is none; None if not given."""
    timestamp: int = 0
    """In milliseconds, like all timestamps here."""

    @classmethod
    def from_json(cls, json: JsonValue) -> ControllerRegistration:
        """Read the JSON of any release."""
        epoch = json.get("kraftControllerEpoch", JsonValue.integer)
        return cls(json["brokerid"].integer(), epoch, _timestamp(json))

    def to_json(self, release: Release) -> Json:
        """Write the JSON of a release."""
        written = {"version": 1, "brokerid": self.broker, "timestamp": str(self.timestamp)}
        if release < KRAFT_EPOCH:
            return written
        epoch = -1 if self.kraft_controller_epoch is None else self.kraft_controller_epoch
        return {**written, "version": 2, "kraftControllerEpoch": epoch}


class EndPoint(NamedTuple):
    """An address of a broker [EndPoint.scala]."""

    listener: str = "PLAINTEXT"
    host: str = "localhost"
    """Empty: the default interface."""
    port: int = 9092
    security_protocol: str = "PLAINTEXT"

    def __str__(self) -> str:
        return f"{self.listener}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


_END_POINT: Final = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]{1,10})")
_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_DEFAULT_PROTOCOLS: Final = {each: each for each in _PROTOCOLS}


class SupportedVersionRange(NamedTuple):
    """The versions of a feature that a broker supports [SupportedVersionRange.java]."""

    min_version: int
    max_version: int


class BrokerInfo(NamedTuple):
    """The data of /brokers/ids/<broker> [BrokerInfo, Broker.scala]."""

    endpoints: tuple[EndPoint, ...] = (EndPoint(),)
    rack: str | None = None
    features: Mapping[str, SupportedVersionRange] = NOTHING
    jmx_port: int = -1
    timestamp: int = 0
    version: int | None = None
    """The JSON version; None for the release's own. During an upgrade a broker still writes an older one."""

    @classmethod
    def from_json(cls, json: JsonValue) -> BrokerInfo:
        """Read the JSON of any release. Before version 2 there is one end point, a host with a port."""
        version, jmx_port = json["version"].integer(), json["jmx_port"].integer()
        if version < 1:
            json["version"].refuse("1 to 5")
        if version == 1:
            host, port = json["host"].text(), json["port"].integer()
            endpoints: tuple[EndPoint, ...] = (EndPoint(host=host, port=port),)
        else:
            protocols = json.get("listener_security_protocol_map", _texts)
            protocols = _DEFAULT_PROTOCOLS if protocols is None else protocols
            endpoints = tuple(_end_point(each, protocols) for each in json["endpoints"].elements())
        rack, features = json.get_option("rack", JsonValue.text), json.get_option("features", _supported)
        return cls(endpoints, rack, features or NOTHING, jmx_port, _timestamp(json), version)

    def to_json(self, release: Release) -> Json:
        """Write the JSON of a release, unless an older version is given."""
        version = (5 if release >= FEATURES else 4) if self.version is None else self.version
        plain = (each for each in self.endpoints if each.security_protocol == "PLAINTEXT")
        host, port = next(((each.host or None, each.port) for each in plain), (None, -1))  # for clients before 0.9
        protocols = {each.listener: each.security_protocol for each in self.endpoints}
        since: dict[int, Json] = {
            5: {"features": {name: each._asdict() for name, each in self.features.items()}},
            4: {"listener_security_protocol_map": protocols},
            1: {"endpoints": [str(each) for each in self.endpoints]},
            3: {} if self.rack is None else {"rack": self.rack},
        }
        head = {name: each for first, fields in since.items() if version >= first for name, each in fields.items()}
        head["jmx_port"], timestamp = self.jmx_port, str(self.timestamp)
        if release < SCALA_2_13:
            return {**head, "host": host, "timestamp": timestamp, "port": port, "version": version}
        return {**head, "port": port, "host": host, "version": version, "timestamp": timestamp}


class TopicIdReplicaAssignment(NamedTuple):
    """The data of /brokers/topics/<topic> [TopicIdReplicaAssignment]."""

    assignment: TopicAssignment
    topic_id: str | None = None
    """16 bytes in Base64, as Kafka prints them; None if it has none."""

    @classmethod
    def from_json(cls, json: JsonValue) -> TopicIdReplicaAssignment:
        """Read the JSON of any release. Missing partitions are an empty assignment."""
        parts = ("partitions", "adding_replicas", "removing_replicas")
        replicas, adding, removing = (json.get(name, JsonValue.fields) or {} for name in parts)
        partitions = {
            _partition(each, name): ReplicaAssignment(
                each.brokers(), *(part[name].brokers() if name in part else () for part in (adding, removing))
            )
            for name, each in replicas.items()
        }
        return cls(TopicAssignment(tuple(sorted(partitions.items()))), json.get("topic_id", _uuid))

    def to_json(self, release: Release) -> Json:
        """Write the JSON of a release: reassignments since 2.4, the id since 2.8."""
        replicas, adding, removing = (
            {str(partition): each[part] for partition, each in self.assignment.partitions if each[part] or part == 0}
            for part in range(3)
        )
        moves = {"adding_replicas": adding, "removing_replicas": removing}
        if release < TARGET_REPLICAS:
            return {"version": 1, "partitions": replicas}
        if release < TOPIC_IDS:
            return {"version": 2, "partitions": replicas, **moves}
        return {
            "partitions": replicas,
            **({} if self.topic_id is None else {"topic_id": self.topic_id}),
            **moves,
            "version": 3,
        }


class FeatureStatus(IntEnum):
    """Whether the finalized features are enabled [FeatureZNodeStatus]."""

    DISABLED = 0
    ENABLED = 1


class FinalizedVersionRange(NamedTuple):
    """Levels of a feature that all brokers must support [FinalizedVersionRange.java]."""

    max_version_level: int
    min_version_level: int | None = None
    """None if not given, as since 3.3."""


class Feature(NamedTuple):
    """The data of /feature [FeatureZNode]."""

    status: FeatureStatus = FeatureStatus.ENABLED
    features: Mapping[str, FinalizedVersionRange] = NOTHING
    version: int | None = None
    """The JSON version; None for the release's own."""

    @classmethod
    def from_json(cls, json: JsonValue) -> Feature:
        """Read the JSON of any release."""
        version = json["version"]
        if version.integer() not in (1, 2):
            version.refuse("1 or 2")
        status = json["status"]
        if status.integer() not in list(FeatureStatus):
            status.refuse("0 or 1")
        features = {}
        for name, each in json["features"].fields().items():
            highest = each["max_version_level"]
            lowest = each["min_version_level"].integer() if version.value == 1 else None
            if not 1 <= (1 if lowest is None else lowest) <= highest.integer():
                highest.refuse("a level from 1 on, and from min_version_level on")
            features[name] = FinalizedVersionRange(highest.integer(), lowest)
        return cls(FeatureStatus(status.integer()), features, version.integer())

    def to_json(self, release: Release) -> Json:
        """Write the JSON of a release, unless an older version is given."""
        version = (2 if release >= ONE_LEVEL else 1) if self.version is None else self.version
        features = {name: self._levels(each, version) for name, each in self.features.items()}
        return {"features": features, "version": version, "status": int(self.status)}

    @staticmethod
    def _levels(levels: FinalizedVersionRange, version: int) -> dict[str, int]:
        highest, lowest = levels
        written = {"max_version_level": highest}
        return written if version > 1 else {**written, "min_version_level": highest if lowest is None else lowest}


class ProducerIdsBlock(NamedTuple):
    """The data of /latest_producer_id_block: the producer ids that a broker may assign [ProducerIdsBlock]."""

    broker: BrokerId
    block_start: int
    block_end: int
    """The last id."""

    @classmethod
    def from_json(cls, json: JsonValue) -> ProducerIdsBlock:
        """Read the JSON of any release."""
        block = (json[name].written_long() for name in ("block_start", "block_end"))
        return cls(json["broker"].integer(), *block)

    def to_json(self, release: Release) -> Json:
        """Write the JSON, which is the same in every release."""
        block = {"block_start": str(self.block_start), "block_end": str(self.block_end)}
        return {"version": 1, "broker": self.broker, **block}


class AclEntry(NamedTuple):
    """A permission or prohibition of a principal for a resource [AclEntry]."""

    principal: str
    permission_type: str
    host: str
    operation: str


class ExtendedAclChange(NamedTuple):
    """A change of the ACLs of all resources whose names have a prefix [ExtendedAclChangeEvent]."""

    resource_type: str
    name: str
    pattern_type: str = "PREFIXED"

    @classmethod
    def from_json(cls, json: JsonValue) -> ExtendedAclChange:
        """Read the JSON of any release."""
        if json["version"].integer() > 1:
            json["version"].refuse("1")
        return cls(json["resourceType"].text(), json["name"].text(), json["patternType"].text())

    def to_json(self, release: Release) -> Json:
        """Write the JSON, which is the same in every release."""
        resource_type, name, pattern_type = self
        return {"version": 1, "resourceType": resource_type, "name": name, "patternType": pattern_type}


class DelegationToken(NamedTuple):
    """The data of /delegation_token/tokens/<token> [TokenInformation]. Principals are percent-encoded, as written."""

    token_id: str
    owner: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    expiry_timestamp: int
    max_timestamp: int
    token_requester: str | None = None
    """The principal that requested it; None if its owner did."""

    @classmethod
    def from_json(cls, json: JsonValue) -> DelegationToken:
        """Read the JSON of any release."""
        version = json["version"]
        if not 1 <= version.integer() <= 3:
            version.refuse("1 to 3")
        return cls(
            json["tokenId"].text(),
            json["owner"].text(),
            tuple(each.text() for each in json["renewers"].elements()),
            json["issueTimestamp"].long(),
            json["expiryTimestamp"].long(),
            json["maxTimestamp"].long(),
            json["tokenRequester"].text() if version.integer() == 3 else None,
        )

    def to_json(self, release: Release) -> Json:
        """Write the JSON of a release."""
        requester = self.owner if self.token_requester is None else self.token_requester
        return {
            "issueTimestamp": self.issue_timestamp,
            "renewers": self.renewers,
            **({} if release < ONE_LEVEL else {"tokenRequester": requester}),
            "tokenId": self.token_id,
            "owner": self.owner,
            "expiryTimestamp": self.expiry_timestamp,
            "maxTimestamp": self.max_timestamp,
            "version": 1 if release < ONE_LEVEL else 3,
        }


class Migration(NamedTuple):
    """The data of /migration: the progress of a migration to KRaft [ZkMigrationLeadershipState]."""

    kraft_controller_id: BrokerId
    kraft_controller_epoch: int
    kraft_metadata_offset: int
    kraft_metadata_epoch: int

    @classmethod
    def from_json(cls, json: JsonValue) -> Migration:
        """Read the JSON of any release."""
        if json["version"].integer() != 0:
            json["version"].refuse("0")
        controller, epoch = (json[f"kraft_controller_{name}"].integer() for name in ("id", "epoch"))
        offset = json["kraft_metadata_offset"].long()
        return cls(controller, epoch, offset, json["kraft_metadata_epoch"].integer())

    def to_json(self, release: Release) -> Json:
        """Write the JSON, which is the same in every release."""
        return {
            "version": 0,
            "kraft_metadata_offset": self.kraft_metadata_offset,
            "kraft_controller_id": self.kraft_controller_id,
            "kraft_metadata_epoch": self.kraft_metadata_epoch,
            "kraft_controller_epoch": self.kraft_controller_epoch,
        }


# Values of the state machines, and plain lists and strings.


def state_from_json(json: JsonValue) -> TopicPartitionState:
    """The state of a partition."""
    leader_and_isr = LeaderAndIsr(
        json["leader"].integer(),
        json["leader_epoch"].integer(),
        json["isr"].brokers(),
        json.get("leader_recovery_state", _recovery) or LeaderRecoveryState.RECOVERED,
    )
    return TopicPartitionState(leader_and_isr, json["controller_epoch"].integer())


def state_to_json(state: TopicPartitionState, release: Release) -> Json:
    """The state of a partition. RECOVERED is the default, and not written."""
    its = state.leader_and_isr
    recovers = release >= RECOVERY and its.leader_recovery_state is not LeaderRecoveryState.RECOVERED
    return {
        "controller_epoch": state.controller_epoch,
        "leader": its.leader,
        "version": 1,
        **({"leader_recovery_state": int(its.leader_recovery_state)} if recovers else {}),
        "leader_epoch": its.leader_epoch,
        "isr": its.isr,
    }


def config_from_json(json: JsonValue) -> Config:
    """A configuration; empty if there is none."""
    return json.get("config", _texts) or {}


def config_to_json(config: Config, release: Release) -> Json:
    """A configuration."""
    return {"version": 1, "config": dict(config)}


def change_from_json(json: JsonValue) -> str:
    """The entity of a configuration change: `topics/t`. Before 0.10.1 in two parts [version 1]."""
    if json["version"].integer() == 1:
        return "/".join(json[f"entity_{part}"].text() for part in ("type", "name"))
    return json["entity_path"].text()


def change_to_json(entity_path: str, release: Release) -> Json:
    """A change of configuration."""
    return {"version": 2, "entity_path": entity_path}


def partitions_from_json(json: JsonValue) -> tuple[TopicPartition, ...]:
    """Partitions, in their order in the JSON."""
    return tuple(map(_topic_partition, json["partitions"].elements()))


def partitions_to_json(partitions: Iterable[TopicPartition], release: Release) -> Json:
    """Partitions, in the given order."""
    return {"version": 1, "partitions": [dict(zip(("topic", "partition"), each, strict=True)) for each in partitions]}


def reassignment_from_json(json: JsonValue) -> Reassignment:
    """Partitions and their replicas, in their order in the JSON."""
    return tuple((_topic_partition(each), each["replicas"].brokers()) for each in json["partitions"].elements())


def reassignment_to_json(reassignment: Reassignment, release: Release) -> Json:
    """Partitions and their replicas, in the given order."""
    partitions = [
        {"topic": topic, "partition": partition, "replicas": replicas}
        for (topic, partition), replicas in reassignment
    ]
    return {"version": 1, "partitions": partitions}


def acls_from_json(json: JsonValue) -> tuple[AclEntry, ...]:
    """The ACLs of a resource."""
    if json["version"].integer() != 1:
        json["version"].refuse("1")
    names = ("principal", "permissionType", "host", "operation")
    return tuple(AclEntry(*(each[name].text() for name in names)) for each in json["acls"].elements())


def acls_to_json(acls: Iterable[AclEntry], release: Release) -> Json:
    """The ACLs of a resource."""
    names = ("principal", "permissionType", "host", "operation")
    return {"acls": [dict(zip(names, each, strict=True)) for each in acls], "version": 1}


def _topic_partition(json: JsonValue) -> TopicPartition:
    return TopicPartition(json["topic"].text(), json["partition"].integer())


def _partition(json: JsonValue, name: str) -> int:
    """The number of a partition, in digits."""
    if not re.fullmatch("0|[1-9][0-9]{0,9}", name) or int(name) >= 2**31:
        JsonValue(json.path, name, "the name of a partition").refuse("a number")
    return int(name)


def _uuid(json: JsonValue) -> str:
    """An id as Kafka prints it: 16 bytes in URL-safe Base64, without padding. [Uuid.java]"""
    if not re.fullmatch("[A-Za-z0-9_-]{22}", json.text()):
        json.refuse("16 bytes in Base64")
    return json.text()


def _short(json: JsonValue) -> int:
    """An integer's lower 16 bits, with their sign, as Kafka reads versions. [BrokerIdZNode.decode, 3.9.1 195]"""
    return (json.integer() + 2**15) % 2**16 - 2**15


def _supported(json: JsonValue) -> dict[str, SupportedVersionRange]:
    features = {}
    for name, each in json.fields().items():
        features[name] = its = SupportedVersionRange(_short(each["min_version"]), _short(each["max_version"]))
        if not 0 <= its.min_version <= its.max_version:
            each["max_version"].refuse("a version from 0 on, and from min_version on")
    return features


def _texts(json: JsonValue) -> dict[str, str]:
    return {name: each.text() for name, each in json.fields().items()}


def _recovery(json: JsonValue) -> LeaderRecoveryState:
    if json.integer() not in list(LeaderRecoveryState):
        json.refuse("0 or 1")
    return LeaderRecoveryState(json.integer())


def _timestamp(json: JsonValue) -> int:
    """A time that Kafka never reads: any value is accepted."""
    digits = json.get("timestamp", lambda said: said.value if isinstance(said.value, str) else None) or ""
    return int(digits) if re.fullmatch("0|[1-9][0-9]{0,18}", digits) else 0


def _end_point(json: JsonValue, protocols: Mapping[str, str]) -> EndPoint:
    """LISTENER://HOST:PORT. [EndPoint.createEndPoint]"""
    found = _END_POINT.fullmatch(json.text())
    if found is None or int(found[3]) not in INT:
        json.refuse("LISTENER://HOST:PORT")
    listener = found[1].upper()
    if protocols.get(listener) not in _PROTOCOLS:
        json.refuse(f"a listener to which listener_security_protocol_map gives one of {', '.join(_PROTOCOLS)}")
    return EndPoint(listener, found[2], int(found[3]), protocols[listener])
