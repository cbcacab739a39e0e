"""A proxy before one broker, which holds requests of other brokers and of clients back until they are released.

    async with KafkaProxy() as proxy:
        broker = await processes.broker(1, zookeeper, behind=proxy)     # it advertises the proxy's address
        proxy.holds = lambda request: request.api == Api.Fetch and request.sender == 3
        held = await proxy.next_held()      # broker 3's next fetch has got as far as this
        response = await held.release()     # broker 1 has answered it
        (await proxy.next_held()).drop()    # broker 1 never hears of it, and broker 3 has no connection

Everybody sends requests to the advertised address, also the broker itself. The requests of a connection keep their
order: all that follow a held one wait. As on a network, a held request outlives its sender. Responses pass at once.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import IntEnum
from typing import Final, NamedTuple

from election.ids import BrokerId
from spec.kafka.proxy import Address, AnyConnection, AnyProxy, Fate, Held, next_frame
from statemachines.zookeeper.frames import Jute, framed


class Api(IntEnum):
    """The requests of brokers to brokers [ApiKeys.java]."""

    Fetch = 1
    LeaderAndIsr = 4
    StopReplica = 5
    UpdateMetadata = 6
    ControlledShutdown = 7
    OffsetForLeaderEpoch = 23
    AlterPartition = 56


TAGGED: Final[Mapping[int, int]] = {
    Api.Fetch: 12,
    Api.LeaderAndIsr: 4,
    Api.StopReplica: 2,
    Api.UpdateMetadata: 6,
    Api.ControlledShutdown: 3,
    Api.AlterPartition: 0,
}
"""The requests that begin with the broker that sends them, and the version since which a header has tagged fields."""
FETCHER: Final = re.compile(r"broker-(\d+)-fetcher-\d+")
"""The client id of a fetcher thread, since 0.11. Since version 15 a Fetch does not begin with its sender."""


class KafkaRequest(NamedTuple):
    """The inspected parts of a request."""

    api: int
    """One of Kafka's keys, as in `Api`."""
    version: int
    correlation: int
    client: str = ""
    sender: BrokerId | None = None
    """The broker that sends it, such as a follower or the controller; -1 or None if no broker does."""

    @classmethod
    def parse(cls, content: bytes) -> KafkaRequest:
        """The request in a frame.

        Raises:
            ValueError: it is too short, or has tagged fields in its header, of which Kafka knows none.
        """
        frame = Jute(content)
        api, version, correlation, length = frame.integer(2), frame.integer(2), frame.integer(), frame.integer(2)
        begin, frame.place = frame.place, frame.place + max(length, 0)
        client = content[begin : frame.place].decode(errors="replace")
        sender = None
        if fetcher := FETCHER.fullmatch(client):
            sender = int(fetcher[1])
        elif api in TAGGED and (api != Api.Fetch or version < TAGGED[api]):
            if version >= TAGGED[api] and frame.integer(1):
                raise ValueError("tagged fields in the header of a request")
            sender = frame.integer()
        return cls(api, version, correlation, client, sender)

    def __str__(self) -> str:
        name = Api(self.api).name if self.api in list(Api) else f"request {self.api}"
        return f"{name} v{self.version}" + (f" from {self.client}" if self.client else "")


class HeldKafkaRequest(Held[KafkaRequest, bytes]):
    """A held request to a broker. Its reply is the response without its length."""

    def drop(self) -> None:
        """Close its connection instead of passing it on."""
        self.fate.set_result(Fate.dropped)


class KafkaProxy(AnyProxy[HeldKafkaRequest]):
    """A proxy before a broker. It accepts connections, and closes them at once while the broker does not listen."""

    broker: Address = ("127.0.0.1", 0)
    """Where the broker listens: on a port that it chooses whenever it starts."""
    holds: Callable[[KafkaRequest], bool] = staticmethod(lambda request: False)
    """Whether to hold a request. It may be replaced at any time."""

    def drop_held(self) -> None:
        """Drop all held requests that `next_held` has not given away. Who still wants an answer sends them again."""
        while not self._held.empty():
            self._held.get_nowait().drop()

    def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> _Connection:
        return _Connection(self, reader, writer)


class _Connection(AnyConnection[HeldKafkaRequest]):
    """One of the connections to the broker."""

    def __init__(self, proxy: KafkaProxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        super().__init__(proxy.broker, reader, writer)
        self.proxy = proxy

    async def _requests(self, server: asyncio.StreamWriter) -> None:
        while (content := await next_frame(self.reader)) is not None:
            request = KafkaRequest.parse(content)
            if self.proxy.holds(request):
                held = self.holding = HeldKafkaRequest(request)
                self.proxy._held.put_nowait(held)
                if await asyncio.shield(held.fate) is Fate.dropped:
                    return
                self.unanswered[request.correlation] = held
            server.write(framed(content))
            await server.drain()
        replies = [held.reply for held in self.unanswered.values() if held is not None]
        await asyncio.gather(*replies, return_exceptions=True)  # of a request that has outlived its sender

    async def _replies(self, server: asyncio.StreamReader) -> None:
        while (content := await next_frame(server)) is not None:
            held = self.unanswered.pop(Jute(content).integer(), None)
            if held is not None and held.fate.result() is Fate.lost:
                held.reply.set_result(content)
                return
            with suppress(ConnectionError):
                await self._pass_on(content)
            if held is not None:
                held.reply.set_result(content)
