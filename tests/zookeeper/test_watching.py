"""A client's memory: its requests when it returns depend on it."""

from collections.abc import Iterator

import pytest

from statemachines.zookeeper.frames import Children, Exists, Get, Ping, Request
from statemachines.zookeeper.server import Code, Create, Delete, SessionExpired, SetData
from tests.zookeeper.server import Server
from tests.zookeeper.watching import Client
from tests.zookeeper.wire import Reply


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    """A client with nodes of its own, which it deletes at the end."""
    client = Client(server)
    client.connect()
    yield client
    if client.connection is None:
        client.connect()
    client.close()


def ask(client: Client, *requests: Request) -> Reply:
    """Send requests one by one; the last answer."""
    for request in requests:
        *_, reply = client.ask(request)
    assert isinstance(reply, Reply)
    return reply


def armed(client: Client) -> dict[str, set[str]]:
    """Its armed watches, by the kinds that have any."""
    return {kind: paths for kind, paths in client.watches.items() if paths}


NODE = Create("/watched", b"", ephemeral=True)


@pytest.mark.parametrize(
    ("request_", "kind"),
    [(Exists("/watched", True), "data"), (Get("/watched", True), "data"), (Children("/watched", True), "child")],
)
def test_a_read_of_a_node_leaves_a_watch(client: Client, request_: Request, kind: str) -> None:
    """On its data, or on its children."""
    ask(client, NODE, request_)
    assert armed(client) == {kind: {"/watched"}}


def test_only_exists_watches_a_missing_node(client: Client) -> None:
    """Only exists waits; other reads fail, and leave no watch."""
    assert ask(client, Get("/watched", True)).code is Code.NONODE
    assert ask(client, Children("/watched", True)).code is Code.NONODE
    assert armed(client) == {}
    ask(client, Exists("/watched", True))
    assert armed(client) == {"exist": {"/watched"}}
    ask(client, NODE)
    assert armed(client) == {}


def test_a_read_without_watch_sets_none(client: Client) -> None:
    """A read is just a read."""
    ask(client, NODE, Exists("/watched"), Get("/watched"), Children("/watched"))
    assert armed(client) == {}


def test_an_event_takes_the_watches_that_it_is_about(client: Client) -> None:
    """A change of data leaves the children's watch, a deletion nothing."""
    ask(client, NODE, Get("/watched", True), Children("/watched", True), SetData("/watched", b"x"))
    assert armed(client) == {"child": {"/watched"}}
    ask(client, Get("/watched", True), Delete("/watched"))
    assert armed(client) == {}


def test_the_last_reply_is_the_last_seen_state(client: Client) -> None:
    """A ping is no answer, though it carries a zxid."""
    seen = ask(client, NODE).zxid
    other = Client(client.server)
    other.connect()
    ask(other, SetData("/watched", b"x"))
    other.close()
    ask(client, Ping())
    assert client.seen == seen
    assert ask(client, Get("/watched")).zxid == client.seen > seen


def test_a_reconnecting_client_keeps_session_and_watches(client: Client) -> None:
    """And receives the events that it missed."""
    ask(client, NODE, Get("/watched", True))
    session = client.session
    client.hang_up()
    [reply] = client.come_back()
    assert isinstance(reply, Reply)
    assert (client.session, armed(client)) == (session, {"data": {"/watched"}})


def test_an_ended_session_forgets_its_watches(client: Client) -> None:
    """It has neither a session nor watches."""
    ask(client, NODE, Get("/watched", True))
    client.server.expire(client.session)
    client.lose()
    with pytest.raises(SessionExpired):
        client.come_back()
    assert (client.session, client.seen, armed(client)) == (0, 0, {})
