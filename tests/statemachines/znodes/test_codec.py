"""Kafka's nodes as bytes: nodes of real brokers, the tolerance of Kafka's decoders, and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.zk_data import TopicAssignment
from statemachines.releases import RELEASES, Release
from statemachines.znodes.codec import NOTHING, ZNODES, decode, encode, znode_at
from statemachines.znodes.fields import InvalidZnode
from statemachines.znodes.values import (
    BrokerInfo,
    ControllerRegistration,
    EndPoint,
    Feature,
    FinalizedVersionRange,
    Migration,
    ProducerIdsBlock,
    TopicIdReplicaAssignment,
)
from statemachines.zookeeper.tree import ZkPath
from tests.rows import rows
from tests.statemachines.znodes.nodes import BROKER, EXAMPLES, GOOD, STATE, UUID, changed, example, named, places
from tests.statemachines.znodes.written import RELEASES as WRITTEN
from tests.statemachines.znodes.written import Written


@rows("release", WRITTEN)
def test_nodes_written_by_brokers_round_trip(release: str) -> None:
    """Every node that brokers of this release have made is known."""
    for path, data in Written.read(release).nodes():
        assert encode(path, decode(path, data), release) == (data or b"")


@rows("path, data", Written.read("zkdata-3.9.1").tree.items())
def test_nodes_are_written_as_zkdata_writes_them(path: ZkPath, data: bytes) -> None:
    """By calls of its encoders, including rare nodes."""
    row = znode_at(path)
    assert row is not None
    assert encode(path, EXAMPLES[row.path]) == data


@rows("row", ZNODES)
def test_written_nodes_are_read_back(row: Any) -> None:
    path, value = named(row.path), example(row.path)
    assert decode(path, encode(path, value)) == value


def test_each_node_with_data_has_a_row_among_the_concepts() -> None:
    concepts = (Path(__file__).parents[3] / "docs" / "concepts.md").read_text(encoding="utf-8")
    assert [row.path for row in ZNODES if row.codec is not NOTHING and f"`{row.path}`" not in concepts] == []


def test_the_parent_of_each_node_has_a_row() -> None:
    paths = ["", *(row.path for row in ZNODES)]
    assert [path for path in paths[1:] if path.rpartition("/")[0] not in paths[: paths.index(path)]] == []


@rows("number", (-(2**63), 2**63 - 1))
def test_number_ranges_are_kafkas(number: int) -> None:
    """With 64 bits; and with 32, at the place of the high half."""
    for value in Migration(1, number >> 32, number, 3), ProducerIdsBlock(1, number, number):
        path = "/migration" if isinstance(value, Migration) else "/latest_producer_id_block"
        assert decode(path, encode(path, value)) == value
        with pytest.raises(InvalidZnode, match="64 bits"):
            decode(path, encode(path, value).replace(str(number).encode(), str(2 * number + 1).encode(), 1))


def test_a_broker_without_a_listener_for_clear_text() -> None:
    written = json.loads(encode("/brokers/ids/1", BrokerInfo((EndPoint("IN", "h", 1, "SSL"),))))
    assert (written["host"], written["port"]) == (None, -1)


def test_each_path_has_one_row() -> None:
    assert [znode_at(named(row.path)) for row in ZNODES] == list(ZNODES)


@rows(
    "path, written, value",
    [
        ("/controller", {"brokerid": 1, "unknown": [1]}, ControllerRegistration(1)),
        ("/controller", {"brokerid": 1, "timestamp": [], "version": "?"}, ControllerRegistration(1)),
        ("/brokers/topics/t", {}, TopicIdReplicaAssignment(TopicAssignment())),
        (
            "/brokers/topics/t",
            {"partitions": {"1": [2], "0": [1]}, "adding_replicas": {"7": [7]}},
            TopicIdReplicaAssignment(TopicAssignment(((0, ReplicaAssignment((1,))), (1, ReplicaAssignment((2,)))))),
        ),
        (
            "/brokers/ids/1",
            {"version": 1, "jmx_port": -1, "host": "h", "port": 1, "timestamp": "2"},
            BrokerInfo((EndPoint(host="h", port=1),), timestamp=2, version=1),
        ),
        (
            "/brokers/ids/1",
            {"version": 2, "jmx_port": -1, "endpoints": ["ssl://[::1]:1"], "rack": None, "features": None},
            BrokerInfo((EndPoint("SSL", "::1", 1, "SSL"),), version=2),
        ),
        ("/config/topics/t", {}, {}),
        ("/config/changes/config_change_1", {"version": 1, "entity_type": "topics", "entity_name": "t"}, "topics/t"),
        (
            "/feature",
            {"version": 1, "status": 0, "features": {"f": {"min_version_level": 1, "max_version_level": 2}}},
            Feature(status=0, features={"f": FinalizedVersionRange(2, 1)}, version=1),  # type: ignore[arg-type]
        ),
    ],
)
def test_missing_and_unknown_fields_are_handled_as_by_kafka(path: ZkPath, written: object, value: object) -> None:
    assert decode(path, json.dumps(written).encode()) == value


@rows(
    "path, release, fields",
    [
        ("/controller", "3.3", {"version": 1, "brokerid": 1, "timestamp": "5"}),
        ("/controller", "3.4", {"version": 2, "brokerid": 1, "timestamp": "5", "kraftControllerEpoch": -1}),
        ("/brokers/topics/t", "2.3", {"version": 1, "partitions": {"0": [2, 0, 1], "11": [1]}}),
        (
            "/brokers/topics/t",
            "2.7",
            {
                "version": 2,
                "partitions": {"0": [2, 0, 1], "11": [1]},
                "adding_replicas": {"0": [0]},
                "removing_replicas": {"0": [1]},
            },
        ),
        (STATE, "3.1", {"version": 1, "leader": 2, "leader_epoch": 3, "isr": [2], "controller_epoch": 7}),
    ],
)
def test_a_release_leaves_out_unknown_fields(path: ZkPath, release: str, fields: dict[str, object]) -> None:
    row = znode_at(path)
    assert row is not None
    assert json.loads(encode(path, EXAMPLES[row.path], release)) == fields


@rows(
    "version, without",
    [
        (4, {"features"}),
        (3, {"features", "listener_security_protocol_map"}),
        (2, {"features", "listener_security_protocol_map", "rack"}),
    ],
)
def test_a_broker_that_is_being_upgraded_writes_an_older_version(version: int, without: set[str]) -> None:
    """The first clear-text end point gives the host for old clients."""
    newest, older = (json.loads(encode("/brokers/ids/1", BROKER._replace(version=each))) for each in (5, version))
    assert older == {name: each for name, each in newest.items() if name not in without} | {"version": version}
    assert (newest["host"], newest["port"]) == ("h", 9093)


@rows(
    "path, data, says",
    [
        ("/controller", b"", "/controller: it is no JSON; Kafka writes JSON here"),
        ("/controller", b"[" * 100_000, "/controller: it is no JSON; Kafka writes JSON here"),
        ("/controller", b"NaN", "/controller: it is no JSON; Kafka writes JSON here"),
        ("/controller", b"[1]", "/controller: it is a list; it takes an object"),
        ("/controller", b"{}", "/controller: it has no brokerid; Kafka does not read it without brokerid"),
        ("/controller", b'{"brokerid":true}', "/controller: brokerid is true; it takes an integer of 32 bits"),
        ("/controller", b'{"brokerid":2147483648}', "brokerid is 2147483648; it takes an integer of 32 bits"),
        ("/controller_epoch", b"1.5", "/controller_epoch: b'1.5' is no number; it takes an integer of 32 bits"),
        ("/brokers/topics/t", b'{"partitions":{"00":[1]}}', "the name of a partition is '00'; it takes a number"),
        ("/brokers/topics/t", b'{"partitions":{"0":[1,"2"]}}', "partitions.0[1] is '2'; it takes an integer"),
        ("/brokers/topics/t", b'{"topic_id":"t"}', "topic_id is 't'; it takes 16 bytes in Base64"),
        ("/brokers/ids/1", b'{"version":2,"jmx_port":1,"endpoints":["h:1"]}', "it takes LISTENER://HOST:PORT"),
        ("/brokers/ids/1", b'{"version":2,"jmx_port":1,"endpoints":["X://h:1"]}', "a listener to which"),
        ("/config/users/u", b'{"config":{"a\\n":1}}', "config.'a\\n' is 1; it takes a string"),
        ("/config/users/u", b'{"config":{"a":"\\ud800"}}', "config.a has half of a surrogate pair"),
        ("/config/users/u", b'{"config":{"\\ud800":"1"}}', "config has half of a surrogate pair"),
        ("/controller", b'{"brokerid":-2147483649}', "brokerid is -2147483649; it takes an integer of 32 bits"),
        ("/brokers/ids/1", b'{"version":0,"jmx_port":1}', "version is 0; it takes 1 to 5"),
        (
            "/brokers/ids/1",
            b'{"version":5,"jmx_port":-1,"host":"h","port":1,"timestamp":"0","endpoints":["PLAINTEXT://h:1"],'
            b'"features":{"f":{"min_version":1,"max_version":2147483647}}}',
            "it takes a version from 0 on",  # the lower 16 bits are -1
        ),
        ("/feature", b'{"version":3,"status":1,"features":{}}', "version is 3; it takes 1 or 2"),
        ("/feature", b'{"version":2,"status":2,"features":{}}', "status is 2; it takes 0 or 1"),
        ("/feature", b'{"version":2,"status":1,"features":{"f":{"max_version_level":0}}}', "takes a level from 1 on"),
        ("/migration", b'{"version":1}', "version is 1; it takes 0"),
        ("/delegation_token/tokens/t", b'{"version":4}', "version is 4; it takes 1 to 3"),
        ("/kafka-acl/Topic/t", b'{"version":2}', "version is 2; it takes 1"),
        ("/kafka-acl-extended-changes/acl_changes_1", b'{"version":2}', "version is 2; it takes 1"),
        (STATE, b'{"leader":1,"leader_epoch":1,"isr":[1],"leader_recovery_state":2}', "state is 2; it takes 0 or 1"),
        ("/latest_producer_id_block", b'{"broker":1,"block_start":"x","block_end":"1"}', "64 bits in a string"),
        ("/kafka-acl-changes/acl_changes_1", b"\xff", "it is no text; it takes UTF-8"),
        ("/nowhere\n", b"", "'/nowhere\\n': it is no path of Kafka's; ZNODES has them all"),
    ],
)
def test_a_malformed_node_is_a_one_line_error(path: ZkPath, data: bytes, says: str) -> None:
    with pytest.raises(InvalidZnode) as refused:
        decode(path, data)
    assert says in str(refused.value)


@rows(
    "path, value, release, says",
    [
        ("/feature", Feature(), "2.6", "/feature: Kafka 2.6 has no such node; there is one since 2.7"),
        ("/controller", 1, "3.9", "/controller: a value is a int; it takes a ControllerRegistration"),
        ("/brokers/ids/one", BrokerInfo(), "3.9", "/brokers/ids/one: it is no path of Kafka's"),
        ("/controller", ControllerRegistration(1), "4.0", "no release is called 4.0"),
    ],
)
def test_unwritable_values_are_refused(path: ZkPath, value: object, release: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        encode(path, value, release)


def decoded_or_none(path: ZkPath, data: bytes) -> Any:
    """The value that is read, or None after a refusal in one line that begins with the path."""
    try:
        return decode(path, data)
    except InvalidZnode as refused:
        said = str(refused)
    assert said.startswith(f"{path}: ")
    assert len(said.splitlines()) == 1
    return None


@given(st.sampled_from([named(row.path) for row in ZNODES]), st.binary() | st.text().map(str.encode))
def test_any_bytes_are_read_or_refused(path: ZkPath, data: bytes) -> None:
    decoded_or_none(path, data)


VALUES: Final = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["0", "-1", "A://:1", UUID]),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(), each, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from([each for each in GOOD if each[1].startswith(b"{")]), st.data())
def test_a_good_node_with_one_thing_changed_is_read_or_refused(
    node: tuple[ZkPath, bytes], data: st.DataObject
) -> None:
    """If it is read, it can be written, and read again."""
    path, written = node
    good = json.loads(written)
    at = data.draw(st.sampled_from(list(places(good))), "at")
    mutated = json.dumps(changed(good, at, data.draw(VALUES, "to"))).encode()
    if (value := decoded_or_none(path, mutated)) is not None:
        assert decode(path, encode(path, value)) == decode(path, encode(path, decode(path, encode(path, value))))


@given(st.sampled_from([row for row in ZNODES if example(row.path) is not None]), st.sampled_from(RELEASES))
def test_every_release_reads_every_releases_nodes(row: Any, release: str) -> None:
    path = named(row.path)
    if Release(release) < Release(row.since):
        return
    written = encode(path, example(row.path), release)
    assert encode(path, decode(path, written), release) == written
