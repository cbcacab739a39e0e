"""The proxy before a broker: what it reads in requests, and the fates of those that it holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, TypeAlias

import pytest

from spec.kafka.kafka_proxy import Api, KafkaProxy, KafkaRequest
from spec.kafka.proxy import next_frame
from statemachines.zookeeper.frames import framed

PATIENCE = 60.0

# What is read: frames as the classes of Kafka 3.9.1 write them.

FETCHER: Final = b"broker-3-fetcher-0".hex()
SEEN: Final = {
    # Fetch: of releases that name the thread otherwise, of fetcher threads, of consumers.
    f"00010003000000010018{b'ReplicaFetcherThread-0-1'.hex()}00000003000001f4000000017fffffff00000000": 3,
    f"000100030000002b0012{FETCHER}00000003000001f4000000017fffffff0000000100017400000001000000000000000000000007"
    "00000064": 3,
    f"0001000b000000330012{FETCHER}00000003000001f4000000017fffffff0000000000ffffffff00000001000174000000010000000000"
    "0000020000000000000007000000000000000000000064000000000000": 3,
    f"0001000c000000340012{FETCHER}0000000003000001f4000000017fffffff0000000000ffffffff0202740200000000000000020000"
    "000000000007000000010000000000000000000000640000010100": 3,
    f"00010011000000390012{FETCHER}00000001f4000000017fffffff0000000000ffffffff0200000000000000010000000000000002020000"
    "000000000002000000000000000700000001000000000000000000000064010010000000000000000500000000000000060002000000000000"
    "000100000000000000020200000001000101010d00000003000000000000000900": 3,
    "0001000b000000330008636f6e73756d6572ffffffff000001f4000000017fffffff0000000000ffffffff000000010001740000000100"
    "000000000000020000000000000007000000000000000000000064000000000000": -1,
    "0001000f000000370008636f6e73756d657200000001f4000000017fffffff0000000000ffffffff02000000000000000100000000000000"
    "02020000000000000002000000000000000700000001000000000000000000000064000002000000000000000100000000000000020200000001"
    "000100": None,
    # LeaderAndIsr, StopReplica and UpdateMetadata of controller 2; ControlledShutdown and AlterPartition of broker 1.
    "0004000000000000000132000000020000000500000000000000010000000200016800000001": 2,
    "00040002000000020001320000000200000005000000000000000800000000000000010000000200016800000001": 2,
    "000400040000000400013200000000020000000500000000000000080102000000020268000000010000": 2,
    "0004000700000007000132000000000200000000050000000000000008000102000000020268000000010000": 2,
    "000500030000000100013200000000020000000500000000000000080100": 2,
    "000600000000000000013200000002000000050000000000000000": 2,
    "0006000800000008000132000000000200000000050000000000000008010100": 2,
    "00070003000000010001310000000001000000000000000400": 1,
    "0038000300000001000131000000000100000000000000040100": 1,
    # OffsetForLeaderEpoch of fetcher threads; ApiVersions.
    f"00170000000000000012{FETCHER}00000000": 3,
    f"00170003000000030012{FETCHER}0000000300000000": 3,
    f"00170004000000040012{FETCHER}00000000030100": 3,
    "0012000000000000000163": None,
    "001200030000000300016300126170616368652d6b61666b612d6a61766106332e392e3100": None,
}
"""Requests, each with its sender."""


@pytest.mark.parametrize("frame", SEEN, ids=lambda frame: str(KafkaRequest.parse(bytes.fromhex(frame))))
def test_who_sends_a_request(frame: str) -> None:
    """In each place where a version of Kafka's protocol has it."""
    content = bytes.fromhex(frame)
    request = KafkaRequest.parse(content)
    head = content[:2], content[2:4], content[4:8], content[10 : 10 + int.from_bytes(content[8:10])]
    numbers = request.api.to_bytes(2), request.version.to_bytes(2), request.correlation.to_bytes(4)
    assert (*numbers, request.client.encode(), request.sender) == (*head, SEEN[frame])


@pytest.mark.parametrize("frame", SEEN, ids=lambda frame: str(KafkaRequest.parse(bytes.fromhex(frame))))
def test_a_frame_that_ends_too_early(frame: str) -> None:
    """The beginning of a request is refused, or has the same sender or none."""
    content = bytes.fromhex(frame)
    for size in range(len(content)):
        with suppress(ValueError):
            assert KafkaRequest.parse(content[:size]).sender in (SEEN[frame], None)


def test_a_header_with_tagged_fields_is_refused() -> None:
    """No broker writes one; what follows would be taken for the sender."""
    with pytest.raises(ValueError, match="tagged fields in the header"):
        KafkaRequest.parse(bytes.fromhex("00040007000000070001320100010000000002"))


def test_a_request_prints_as_its_name_version_and_client() -> None:
    assert str(KafkaRequest(Api.LeaderAndIsr, 7, 1, "2", 2)) == "LeaderAndIsr v7 from 2"
    assert str(KafkaRequest(18, 3, 1)) == "request 18 v3"


# What becomes of requests: the broker answers each with its correlation id, and keeps it.

Received: TypeAlias = "list[KafkaRequest]"
Client: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def fetch(sender: int, correlation: int) -> bytes:
    """The frame of a Fetch v0, as short as possible."""
    head = Api.Fetch.to_bytes(2) + bytes(2) + correlation.to_bytes(4) + (-1).to_bytes(2, signed=True)
    return framed(head + sender.to_bytes(4))


def through(story: Callable[[KafkaProxy, Client, Received], Coroutine[Any, Any, None]]) -> None:
    """Run a story of a client that is connected through a proxy; requests of broker 3 are held."""
    received: Received = []

    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (content := await next_frame(reader)) is not None:
            received.append(KafkaRequest.parse(content))
            if received[-1].sender == 9:
                break  # the broker ends this connection
            writer.write(framed(content[4:8]))
        writer.close()

    async def run_story() -> None:
        async with await asyncio.start_server(broker, "127.0.0.1", 0) as listening, KafkaProxy() as proxy:
            proxy.broker = listening.sockets[0].getsockname()[:2]
            proxy.holds = lambda request: request.sender == 3
            client = await asyncio.open_connection(*proxy.address)
            await asyncio.wait_for(story(proxy, client, received), PATIENCE)
            client[1].close()

    asyncio.run(run_story())


async def answered(client: Client) -> int:
    """The correlation id of the next response; -1 at the end of the connection."""
    content = await next_frame(client[0])
    return -1 if content is None else int.from_bytes(content)


def test_a_held_request_delays_what_follows_it() -> None:
    """What came before it has been answered; the response is passed back, and handed over."""

    async def story(proxy: KafkaProxy, client: Client, received: Received) -> None:
        client[1].write(fetch(1, 10) + fetch(3, 11) + fetch(1, 12))
        held = await proxy.next_held()
        assert str(held) == "Fetch v0"
        assert await answered(client) == 10
        other = await asyncio.open_connection(*proxy.address)
        other[1].write(fetch(1, 20))
        assert await answered(other) == 20, "other connections go on"
        other[1].close()
        assert [request.correlation for request in received] == [10, 20]
        assert await held.release() == (11).to_bytes(4)
        assert [await answered(client), await answered(client)] == [11, 12]

    through(story)


def test_a_dropped_request_ends_its_connection() -> None:
    """The broker receives neither it nor what follows; the next connection works."""

    async def story(proxy: KafkaProxy, client: Client, received: Received) -> None:
        client[1].write(fetch(3, 11) + fetch(1, 12))
        (await proxy.next_held()).drop()
        assert await answered(client) == -1
        assert received == []
        proxy.holds = lambda request: False
        again = await asyncio.open_connection(*proxy.address)
        again[1].write(fetch(3, 13))
        assert await answered(again) == 13
        again[1].close()

    through(story)


def test_all_held_requests_are_dropped() -> None:
    """Those of other connections as well."""

    async def story(proxy: KafkaProxy, client: Client, received: Received) -> None:
        asked = asyncio.Semaphore(0)

        def holds(request: KafkaRequest) -> bool:
            asked.release()
            return True

        proxy.holds = holds
        other = await asyncio.open_connection(*proxy.address)
        for each, number in ((client, 11), (other, 21)):
            each[1].write(fetch(3, number))
            await asked.acquire()
        proxy.drop_held()
        assert [await answered(client), await answered(other)] == [-1, -1]
        other[1].close()
        assert received == []

    through(story)


def test_a_response_that_is_lost() -> None:
    """The broker has the request, and the sender no connection."""

    async def story(proxy: KafkaProxy, client: Client, received: Received) -> None:
        client[1].write(fetch(3, 11))
        assert await (await proxy.next_held()).lose() == (11).to_bytes(4)
        assert await answered(client) == -1
        assert [request.correlation for request in received] == [11]

    through(story)


def test_a_held_request_outlives_its_sender() -> None:
    """The broker answers it, and nobody is there to hear."""

    async def story(proxy: KafkaProxy, client: Client, received: Received) -> None:
        client[1].write(fetch(3, 11))
        held = await proxy.next_held()
        client[1].close()
        await client[1].wait_closed()
        assert await held.release() == (11).to_bytes(4)
        assert [request.correlation for request in received] == [11]

    through(story)


def test_a_broker_that_ends_while_it_is_asked() -> None:
    """The request is not answered, and its sender has no connection."""

    async def story(proxy: KafkaProxy, client: Client, received: Received) -> None:
        proxy.holds = lambda request: True
        client[1].write(fetch(9, 11))
        with pytest.raises(ConnectionError, match="ended before Fetch v0 was answered"):
            await (await proxy.next_held()).release()
        assert await answered(client) == -1

    through(story)


def test_a_broker_that_does_not_listen_yet() -> None:
    """The connection is accepted, and ends."""

    async def story(proxy: KafkaProxy, client: Client, received: Received) -> None:
        proxy.broker = KafkaProxy.broker
        again = await asyncio.open_connection(*proxy.address)
        assert await answered(again) == -1
        again[1].close()

    through(story)


@pytest.mark.parametrize(
    "sent", [b"GET / HTTP/1.1", b"\x80\x00\x00\x00", b"\x7f\xff\xff\xff", b"\x00\x00\x00\x03abc"]
)
def test_bytes_that_are_no_request_end_the_connection(sent: bytes) -> None:
    """A length that is negative or huge, and a request without a header. The broker receives nothing."""

    async def story(proxy: KafkaProxy, client: Client, received: Received) -> None:
        client[1].write(sent)
        assert await answered(client) == -1
        assert received == []

    through(story)
