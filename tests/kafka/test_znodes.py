"""Kafka's nodes as bytes, beside real brokers, which write them, and beside ZkData.scala, which reads them."""

from __future__ import annotations

import asyncio
import base64
import json
import random
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any, Final

import pytest

from spec.kafka.pure import PureCalls
from statemachines.releases import Release
from statemachines.znodes.codec import decode, encode, znode_at
from statemachines.znodes.fields import InvalidZnode
from statemachines.zookeeper.tree import ZkPath
from tests.kafka.conftest import RELEASE, calling
from tests.kafka.written_znodes import written_by
from tests.statemachines.znodes.nodes import GOOD, UUID, changed, places
from tests.statemachines.znodes.written import RELEASES, Written

DECODERS: Final = {
    "/admin/preferred_replica_election": ("PreferredReplicaElectionZNode", "decode", "1.1.0"),
    "/brokers/ids/<broker>": ("BrokerIdZNode", "decode", "1.1.0"),
    "/brokers/topics/<topic>": ("TopicZNode", "decode", "1.1.0"),
    "/brokers/topics/<topic>/partitions/<partition>/state": ("TopicPartitionStateZNode", "decode", "1.1.0"),
    "/cluster/id": ("ClusterIdZNode", "fromJson", "1.1.0"),
    "/controller": ("ControllerZNode", "decodeController", "3.4.0"),
    "/controller_epoch": ("ControllerEpochZNode", "decode", "1.1.0"),
    "/feature": ("FeatureZNode", "decode", "3.3.0"),
    "/isr_change_notification/isr_change_<n>": ("IsrChangeNotificationSequenceZNode", "decode", "1.1.0"),
    "/latest_producer_id_block": ("ProducerIdBlockZNode", "parseProducerIdBlockData", "3.0.0"),
    "/log_dir_event_notification/log_dir_event_<n>": ("LogDirEventNotificationSequenceZNode", "decode", "1.1.0"),
    "/migration": ("MigrationZNode", "decode", "3.4.0"),
}
"""The decoder of a node in ZkData.scala, and the first release in which it checks everything that ours does."""
LENIENT: Final = {
    "/admin/reassign_partitions": ("ReassignPartitionsZNode", "decode", "2.0.0"),
    "/config/topics/<topic>": ("ConfigEntityZNode", "decode", "1.1.0"),
    "/delegation_token/tokens/<token>": ("DelegationTokenInfoZNode", "decode", "3.3.0"),
    "/kafka-acl/<type>/<name>": ("ResourceZNode", "decode", "2.5.0"),
}
"""The same for nodes where Kafka accepts what we refuse, or refuses words that are any text to us."""
INTEGERS: Final = (0, 1, -1, 2, 3, 5, 2**31 - 1, 2**31, -(2**31) - 1, 2**63 - 1, 2**63)
TEXTS: Final = (
    "0",
    "1",
    "x",
    "PLAINTEXT",
    "A://h:1",
    "plaintext://h:1",
    "PLAINTEXT://[::1]:2",
    "PLAINTEXT://:99999999999",
)
IDS: Final = (UUID, f"{UUID[:-1]}x", f"{UUID}=")
OBJECTS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"0": [1]},
    {"f": {"max_version_level": 1, "min_version_level": 2}},
    {"f": {"max_version_level": 2, "min_version_level": 1}},
    {"f": {"max_version": 2, "min_version": 1}},
)
VALUES: Final = (
    None,
    True,
    1.0,
    1.5,
    *INTEGERS,
    *TEXTS,
    *IDS,
    [],
    [1],
    ["1"],
    [{"topic": "t", "partition": 0}],
    *OBJECTS,
)
CASES: Final = 3_000
MISSING: Final = 0.3
"""How often a field is removed, instead of changed."""


@pytest.mark.long
@pytest.mark.parametrize("release", RELEASES)
def test_nodes_of_brokers_round_trip(release: str) -> None:
    """Real brokers, in a minute of life. The nodes are those in the stored file."""
    written, kept = asyncio.run(written_by(release)), Written.read(release)
    for path, data in written.nodes():
        assert encode(path, decode(path, data), release) == (data or b"")
    assert written.tree.keys() == kept.tree.keys()
    assert {path for path, _ in written.before} == {path for path, data in kept.nodes() if data}


def decoders(release: str, of: Mapping[str, tuple[str, str, str]]) -> dict[str, tuple[str, str]]:
    return {path: each[:2] for path, each in of.items() if Release(each[2]) <= Release(release)}


def read_by_kafka(kafka: PureCalls, nodes: list[tuple[ZkPath, bytes]]) -> list[str | None]:
    """Kafka's value of each node, as it prints itself; None if Kafka refuses it."""

    def asked(node: tuple[ZkPath, bytes]) -> dict[str, str]:
        row = znode_at(node[0])
        assert row is not None
        by, method, _ = (DECODERS | LENIENT)[row.path]
        return {"object": by, "method": method, "data": base64.b64encode(node[1]).decode()}

    return [answer for _, answer in kafka.of("ZnodeDecoders", nodes, asked)]


def read(path: ZkPath, data: bytes) -> Any:
    """Our value of a node; None if we refuse it."""
    try:
        return decode(path, data)
    except InvalidZnode:
        return None


def own_nodes(release: str, of: Mapping[str, tuple[str, str, str]]) -> list[tuple[ZkPath, bytes]]:
    """Nodes that a release writes; for the newest also rare ones."""
    nodes = GOOD if release == RELEASE else [(path, data) for path, data in Written.read(release).nodes() if data]
    return [(path, data) for path, data in nodes if (row := znode_at(path)) and row.path in decoders(release, of)]


def mutated(nodes: list[tuple[ZkPath, bytes]], seed: int) -> Iterator[tuple[ZkPath, bytes]]:
    """Such nodes, each with one part changed or removed."""
    chance = random.Random(seed)
    for _ in range(CASES):
        path, data = chance.choice(nodes)
        good = json.loads(data)
        at = chance.choice(list(places(good)))
        if at and isinstance(at[-1], str) and chance.random() < MISSING:
            parent = reduce(lambda each, key: each[key], at[:-1], good)
            to = {name: each for name, each in parent.items() if name != at[-1]}
            yield path, json.dumps(changed(good, at[:-1], to)).encode()
        else:
            yield path, json.dumps(changed(good, at, chance.choice(VALUES))).encode()


def compare(kafka: PureCalls, release: str, seed: int) -> None:
    """We refuse what Kafka refuses; if both read a node, Kafka reads the same from our writing of it."""
    nodes = list(mutated(own_nodes(release, DECODERS), seed))
    ours, kafkas = [read(*node) for node in nodes], read_by_kafka(kafka, nodes)
    differing = [node for node, our, its in zip(nodes, ours, kafkas, strict=True) if (our is None) != (its is None)]
    assert differing == []
    nodes += own_nodes(release, DECODERS | LENIENT)
    both = [(path, data, our) for path, data in nodes if is_written_again(our := read(path, data))]
    written = [(path, encode(path, our)) for path, _, our in both]
    assert read_by_kafka(kafka, written) == read_by_kafka(kafka, [(path, data) for path, data, _ in both])


def is_written_again(value: Any) -> bool:
    """Whether all of a value is written: no field unknown to older versions, and no absent epoch."""
    return (
        value is not None
        and getattr(value, "version", None) in (None, 4, 5)
        and getattr(value, "kraft_controller_epoch", 0) is not None
    )


def test_kafka_reads_our_nodes(pure: PureCalls, first_seed: int) -> None:
    """The newest release, which checks most."""
    compare(pure, RELEASE, first_seed)


@pytest.mark.long
@pytest.mark.parametrize("release", [each for each in RELEASES[1:] if each != RELEASE])
def test_older_releases_read_our_nodes(release: str, first_seed: int) -> None:
    """What they wrote themselves, and mutations of it."""
    with calling(release) as kafka:
        compare(kafka, release, first_seed)
