"""The proxy before a real ZooKeeper server: a held request waits, with all that follow; and the operator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from typing import Any

import pytest

from spec.kafka.broker_processes import ZnodeRead, ZooKeeperOperator, watchers
from spec.kafka.proxy import Notification, Proxy, RequestFrame
from spec.language.errors import EnvironmentFailed
from statemachines.zookeeper.frames import Exists, Get, Ping
from statemachines.zookeeper.server import Code, Create, Delete, Event, Multi
from tests.zookeeper.server import Server, missing
from tests.zookeeper.wire import Connection, Frame, Reply

PATIENCE = 60.0


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One server for all; each test has paths of its own."""
    if why := missing():
        pytest.skip(why)
    with Server() as running:
        yield running


def test_unheld_frames_pass(server: Server) -> None:
    """Requests, replies and events are the same as on a direct connection."""

    async def story(proxy: Proxy, client: Connection) -> None:
        frames = await asyncio.to_thread(client.ask, Exists("/passes", watch=True), Create("/passes", b"x"))
        assert [type(frame) for frame in frames[1]] == [Event, Reply]
        assert answers(await asyncio.to_thread(client.ask, Get("/passes"), Delete("/passes"))) == [Code.OK, Code.OK]

    through(server, lambda request: False, story)


def test_a_held_frame_delays_all_after_it(server: Server) -> None:
    """The server receives nothing until the request is released, and then everything in order."""

    async def story(proxy: Proxy, client: Connection) -> None:
        async with ZooKeeperOperator(server.address) as operator:
            asked = asyncio.create_task(
                asyncio.to_thread(client.ask, Create("/held", b"1"), Create("/behind", b"2"), Ping())
            )
            held = await proxy.next_held()
            assert str(held) == "create2 /held"
            await operator.create("/seen-by-all")  # a round trip: earlier requests have arrived
            assert await operator.get("/held") is None
            assert await operator.get("/behind") is None
            assert (await held.release()).error == 0
            assert answers(await asyncio.wait_for(asked, PATIENCE)) == [Code.OK] * 3
            assert await operator.get("/behind") == ZnodeRead("2", 0, 0)

    through(server, lambda request: request.path == "/held", story)


def test_requests_are_held_one_by_one(server: Server) -> None:
    """Each has its own reply, with the code that the client receives; a failed multi has its operation's code."""

    async def story(proxy: Proxy, client: Connection) -> None:
        asked = asyncio.create_task(
            asyncio.to_thread(client.ask, Create("/one", b""), Create("/one", b""), Multi((Delete("/one", 7),)))
        )
        answers = []
        for _ in range(3):
            held = await proxy.next_held()
            answers.append((str(held), (await held.release()).error))
        assert answers == [
            ("create2 /one", 0),
            ("create2 /one", Code.NODEEXISTS),
            ("multi: delete /one", Code.BADVERSION),
        ]
        await asyncio.wait_for(asked, PATIENCE)

    through(server, lambda request: request.path == "/one", story)


def test_refused_frames_are_answered_by_the_proxy(server: Server) -> None:
    """After the replies to earlier requests, and before those to later ones; the server never receives it."""

    async def story(proxy: Proxy, client: Connection) -> None:
        async with ZooKeeperOperator(server.address) as operator:
            asked = asyncio.create_task(
                asyncio.to_thread(
                    client.ask, Create("/before", b""), Create("/refused", b""), Create("/after", b""), Ping()
                )
            )
            held = await proxy.next_held()
            assert (await held.refuse(Code.NODEEXISTS)).error == Code.NODEEXISTS
            assert answers(await asyncio.wait_for(asked, PATIENCE)) == [Code.OK, Code.NODEEXISTS, Code.OK, Code.OK]
            assert [await operator.get(path) is None for path in ("/before", "/refused", "/after")] == [
                False,
                True,
                False,
            ]

    through(server, lambda request: request.path == "/refused", story)


def test_a_lost_reply_leaves_its_effect(server: Server) -> None:
    """The connection ends instead of the reply; the client continues in the session's next connection."""

    async def story(proxy: Proxy, client: Connection) -> None:
        asked = asyncio.create_task(asyncio.to_thread(client.ask, Create("/lost", b"")))
        assert (await (await proxy.next_held()).lose()).error == 0
        with pytest.raises(ConnectionError):
            await asyncio.wait_for(asked, PATIENCE)
        again = await asyncio.to_thread(Connection, proxy.address, PATIENCE, client.session, client.password)
        asked = asyncio.create_task(asyncio.to_thread(again.ask, Create("/lost", b"")))
        assert (await (await proxy.next_held()).release()).error == Code.NODEEXISTS
        await asyncio.wait_for(asked, PATIENCE)
        again.hang_up()

    through(server, lambda request: request.path == "/lost", story)


def test_events_are_reported(server: Server) -> None:
    """After they have been passed on, and before the reply that follows them."""
    heard: list[Notification] = []

    async def story(proxy: Proxy, client: Connection) -> None:
        await asyncio.to_thread(client.ask, Exists("/told", watch=True), Create("/told", b""))
        assert [str(event) for event in heard] == ["NodeCreated /told"]

    through(server, lambda request: False, story, heard.append)


def test_a_connection_that_ends(server: Server) -> None:
    """A request held then is never answered, and the proxy accepts the next connection."""

    async def story(proxy: Proxy, client: Connection) -> None:
        asked = asyncio.create_task(asyncio.to_thread(client.ask, Get("/ends")))
        held = await proxy.next_held()
        server.cut(client.session)
        with pytest.raises(ConnectionError, match="ended before getData /ends was answered"):
            await asyncio.wait_for(held.release(), PATIENCE)
        with pytest.raises(ConnectionError):
            await asked
        again = await asyncio.to_thread(Connection, proxy.address, PATIENCE, client.session, client.password)
        assert again.session == client.session == proxy.greeting.session
        again.hang_up()

    through(server, lambda request: request.path == "/ends", story)


def test_a_server_that_is_not_there() -> None:
    """The connection is closed, as the server's port would do."""

    async def story() -> None:
        async with Proxy(("127.0.0.1", 1), lambda request: False) as proxy:
            reader, writer = await asyncio.open_connection(*proxy.address)
            assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
            writer.close()

    asyncio.run(story())


def test_an_impossible_frame_length_ends_the_connection(server: Server) -> None:
    """A length that no frame has."""

    async def story() -> None:
        async with Proxy(server.address, lambda request: False) as proxy:
            reader, writer = await asyncio.open_connection(*proxy.address)
            writer.write(b"GET / HTTP/1.1")
            assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
            writer.close()

    asyncio.run(story())


def test_the_operator(server: Server) -> None:
    """It creates, reads, lists and deletes, and reports missing nodes."""

    async def story() -> None:
        async with ZooKeeperOperator(server.address) as operator:
            await operator.create("/operated", "x")
            await operator.create("/operated/below")
            assert await operator.get("/operated") == ZnodeRead("x", 0, 0)
            assert await operator.children("/operated") == ["below"]
            assert await operator.children("/nowhere") == []
            assert [await operator.delete("/operated/below") for _ in range(2)] == [True, False]
            with pytest.raises(EnvironmentFailed, match="refused the operator's create: NODEEXISTS"):
                await operator.create("/operated")

    asyncio.run(story())


def test_an_operator_that_loses_its_server(server: Server) -> None:
    """The error is one line."""

    async def story() -> None:
        async with ZooKeeperOperator(server.address) as operator:
            server.cut(operator.greeting.session)
            with pytest.raises(EnvironmentFailed, match="ZooKeeper has ended the operator's connection"):
                await operator.get("/")

    asyncio.run(story())


def test_watchers() -> None:
    """For each path the sessions whose watch is armed, as the server lists them."""
    listed = b"/controller\n\t0x10a\n\t0xffffffffffffff00\n/controller_epoch\n\t0x1\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readexactly(4) == b"wchp"
        writer.write(listed)
        writer.close()

    async def story() -> list[set[int]]:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as fake:
            address = fake.sockets[0].getsockname()[:2]
            return [await watchers(address, path) for path in ("/controller", "/controller_epoch", "/")]

    assert asyncio.run(story()) == [{0x10A, -256}, {1}, set()]


def through(
    server: Server,
    holds: Callable[[RequestFrame], bool],
    story: Callable[[Proxy, Connection], Coroutine[Any, Any, None]],
    on_event: Callable[[Notification], None] = lambda event: None,
) -> None:
    """Run a client that is connected through a proxy."""

    async def run_story() -> None:
        async with Proxy(server.address, holds, on_event) as proxy:
            client = await asyncio.to_thread(Connection, proxy.address, PATIENCE)
            try:
                await story(proxy, client)
            finally:
                with suppress(OSError):
                    client.hang_up()

    asyncio.run(run_story())


def answers(asked: list[tuple[Frame, ...]]) -> list[Code]:
    """The codes of the replies."""
    return [frame.code for frames in asked for frame in frames if isinstance(frame, Reply)]
