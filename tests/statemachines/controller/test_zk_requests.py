"""A controller's requests to ZooKeeper: fenced, in batches, and repeated after a lost connection."""

from __future__ import annotations

import pytest

from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.controller.zk_requests import (
    ControllerMoved,
    GetData,
    RequestFailed,
    ZkRequest,
    ZkResponse,
    fenced,
    retry_requests_until_connected,
    unwrapped,
)
from statemachines.zookeeper.server import Multi, Write, ZooKeeper
from statemachines.zookeeper.tree import Code, Create, Delete, SetData


@pytest.fixture
def zookeeper() -> ZooKeeper:
    """A controller's session, and an epoch at version 0."""
    zookeeper = ZooKeeper()
    zookeeper.connect("s")
    zookeeper.create(None, CONTROLLER_EPOCH, 1)
    zookeeper.create(None, "/a", "old")
    return zookeeper


def test_each_request_has_its_answer(zookeeper: ZooKeeper) -> None:
    """In their order, each after those before it."""
    requests: list[ZkRequest] = [
        GetData("/a"),
        SetData("/a", "new", 0),
        GetData("/a"),
        SetData("/a", "no", 0),
        Create("/a"),
        Delete("/a"),
        GetData("/a"),
    ]
    responses = retry_requests_until_connected(zookeeper, "s", requests)
    ok = Code.OK
    assert [response.code for response in responses] == [
        ok,
        ok,
        ok,
        Code.BADVERSION,
        Code.NODEEXISTS,
        ok,
        Code.NONODE,
    ]
    assert [(response.data, response.version) for response in responses[:3]] == [("old", 0), (None, 1), ("new", 1)]


def test_a_fenced_write_has_the_replies_of_a_plain_one(zookeeper: ZooKeeper) -> None:
    """The fence adds no reply."""
    writes: list[Write] = [SetData("/a", "new", 0), SetData("/a", "no", 0), Create("/b"), Create("/b"), Delete("/b")]
    responses = unwrapped(retry_requests_until_connected(zookeeper, "s", fenced(writes, 0)))
    codes = [Code.OK, Code.BADVERSION, Code.OK, Code.NODEEXISTS, Code.OK]
    assert [response.code for response in responses] == codes
    assert responses[0].version == 1


def test_a_fence_refuses_its_write(zookeeper: ZooKeeper) -> None:
    """The controller has moved, whatever the write alone would give; earlier requests of the batch are done."""
    requests = [*fenced([Create("/b")], 0), *fenced([Create("/c"), Create("/b")], 1)]
    responses = retry_requests_until_connected(zookeeper, "s", requests)
    with pytest.raises(ControllerMoved):
        unwrapped(responses)
    assert "/b" in zookeeper.state.nodes
    assert "/c" not in zookeeper.state.nodes


def test_a_fence_without_epoch_is_a_failure(zookeeper: ZooKeeper) -> None:
    """It does not count as another controller."""
    zookeeper.delete(None, CONTROLLER_EPOCH)
    with pytest.raises(RequestFailed) as failed:
        unwrapped(retry_requests_until_connected(zookeeper, "s", fenced([Create("/b")], 0)))
    assert failed.value.code is Code.NONODE


def test_an_ended_session_answers_every_request(zookeeper: ZooKeeper) -> None:
    """A read with its code, a fenced write with a failure."""
    zookeeper.expire("s")
    requests = [GetData("/a"), *fenced([Create("/b")], 0)]
    responses = retry_requests_until_connected(zookeeper, "s", requests)
    assert responses == (ZkResponse(Code.SESSIONEXPIRED),) * 2
    with pytest.raises(RequestFailed):
        unwrapped(responses[1:])


def test_a_lost_connection_repeats_requests_without_reply(zookeeper: ZooKeeper) -> None:
    """Executed ones turn out to be done already; the others are done now."""
    requests = fenced([Create("/b"), SetData("/a", "new", 0), Create("/c")], 0)
    responses = retry_requests_until_connected(zookeeper, "s", requests, answered=1, carried_out=2)
    assert [response.code for response in unwrapped(responses)] == [Code.OK, Code.BADVERSION, Code.OK]
    assert zookeeper.get(None, "/a")[0] == "new"


@pytest.mark.parametrize(("answered", "carried_out"), [(2, 1), (-1, 0), (0, 4)])
def test_requests_that_cannot_lose_their_reply(zookeeper: ZooKeeper, answered: int, carried_out: int) -> None:
    """More replies than executed requests, or more than all requests; nothing is done."""
    with pytest.raises(ValueError, match="of 3 requests"):
        retry_requests_until_connected(zookeeper, "s", [Create("/b")] * 3, answered, carried_out)
    assert "/b" not in zookeeper.state.nodes


def test_a_multi_is_fenced_as_a_whole() -> None:
    """The check comes before its operations."""
    ((check, *operations),) = (
        multi.operations for multi in fenced([Multi((Create("/b"), Create("/c")))], 4) if isinstance(multi, Multi)
    )
    assert check == (CONTROLLER_EPOCH, 4)
    assert operations == [Create("/b"), Create("/c")]
