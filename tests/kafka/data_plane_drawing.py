"""Random commands for stepped brokers: a controller changes leaders, producers append, brokers fetch and crash."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, Final, NamedTuple, TypeVar

from spec.kafka.data_plane_beside import Case, Command, command
from statemachines.releases import Release

T = TypeVar("T")

COMMANDS: Final = 30
"""In a case."""


class Leadership(NamedTuple):
    """What the controller has decided."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    replicas: tuple[int, ...]


class Drawing:
    """Draws the commands of one case.

    Args:
        chance: draws.
        release: the release of the brokers.
    """

    def __init__(self, chance: Random, release: str) -> None:
        self._chance, self._release = chance, Release(release)
        self._brokers = chance.choice((2, 3, 3))
        self._replicas = [*range(1, self._brokers + 1)]
        chance.shuffle(self._replicas)
        self._running: set[int] = set()
        everyone = tuple(self._replicas)
        self._decided = [Leadership(self._replicas[0], 0, everyone, 1, everyone)]
        self._values = 0

    def case(self) -> Case:
        """Brokers, their configuration, and commands for them."""
        commands = [*self._beginning()]
        while len(commands) < COMMANDS:
            commands += self._some()
        return Case(
            brokers=self._brokers,
            commands=commands,
            min_insync_replicas=self._chance.choice((1, 1, 1, 2, 3)),
            unclean=self._chance.random() < 0.7,
        )

    def _beginning(self) -> Iterator[Command]:
        for broker in self._replicas:
            yield from self._start(broker)
        for broker in self._replicas:
            yield self._leader_and_isr(broker, self._decided[0])
        for _ in range(self._chance.randrange(3)):
            yield from self._append()
            yield from self._round()

    def _some(self) -> Iterator[Command]:
        kinds: Sequence[tuple[Callable[[], Iterator[Command]], int]] = (
            (self._append, 5),
            (self._round, 8),
            (self._part_of_a_round, 8),
            (self._elect, 3),
            (self._inform, 4),
            (self._leave, 2),
            (self._return, 4),
            (self._checkpoint, 1),
            (self._consume, 1),
            (self._expire, 2),
            (self._answer_isr, 4),
            (self._run_scheduled, 1),
            (self._round_of_an_earlier_epoch, 2),
            (self._write, 1),
            (self._lose_the_log, 1),
        )
        (kind,) = self._chance.choices([each for each, _ in kinds], [weight for _, weight in kinds])
        return kind()

    def _one_that_runs(self) -> int:
        return self._chance.choice(sorted(self._running) or [1])

    def _start(self, broker: int) -> Iterator[Command]:
        self._running.add(broker)
        yield command("start", broker=broker)

    def _leave(self) -> Iterator[Command]:
        if len(self._running) > 1:
            broker = self._one_that_runs()
            self._running.discard(broker)
            match self._chance.randrange(4):
                case 0:
                    yield command("stop", broker=broker)
                case 1:
                    yield command("crash", broker=broker, keep=self._chance.randrange(4))
                case _:
                    yield command("crash", broker=broker)

    def _return(self) -> Iterator[Command]:
        for broker in self._replicas:
            if broker not in self._running:
                yield from self._start(broker)
                if self._chance.random() < 0.7:
                    yield self._leader_and_isr(broker, self._decided[-1])

    def _elect(self) -> Iterator[Command]:
        last = self._decided[-1]
        leader = self._one_that_runs()
        if self._chance.random() < 0.3 and last.leader in self._running:
            leader = last.leader
        moved = self._chance.random() < 0.15
        others = [each for each in self._replicas if each != leader and not (moved and self._chance.random() < 0.5)]
        isr = (leader, *(each for each in others if self._chance.random() < 0.6))
        epoch = last.leader_epoch + self._chance.choice((1, 1, 1, 2))
        self._decided.append(Leadership(leader, epoch, isr, last.partition_epoch + 3, (leader, *others)))
        for broker in self._replicas:
            if broker in self._running and self._chance.random() < 0.7:
                yield self._leader_and_isr(broker, self._decided[-1])

    def _inform(self) -> Iterator[Command]:
        if self._running:
            which = self._decided[-1] if self._chance.random() < 0.8 else self._chance.choice(self._decided)
            yield self._leader_and_isr(self._one_that_runs(), which)

    def _leader_and_isr(self, broker: int, which: Leadership) -> Command:
        live = self._replicas if self._chance.random() < 0.9 else sorted(self._running)
        return command(
            "leader_and_isr",
            broker=broker,
            controller_epoch=1,
            leader=which.leader,
            leader_epoch=which.leader_epoch,
            isr=[*which.isr],
            partition_epoch=which.partition_epoch,
            replicas=[*which.replicas],
            live=live,
        )

    def _append(self) -> Iterator[Command]:
        if self._running:
            leader = self._decided[-1].leader
            broker = leader if leader in self._running and self._chance.random() < 0.9 else self._one_that_runs()
            self._values += 1
            yield command("append", broker=broker, value=f"m{self._values}", acks=self._chance.choice((-1, -1, 1, 0)))

    def _pair(self) -> dict[str, int]:
        follower = self._one_that_runs()
        leader = self._decided[-1].leader
        if leader == follower or self._chance.random() < 0.1:
            leader = self._chance.choice([each for each in self._replicas if each != follower])
        return {"follower": follower, "leader": leader}

    def _round(self) -> Iterator[Command]:
        pair = self._pair()
        for do in ("send", "handle", "deliver"):
            yield command(do, **pair)

    def _part_of_a_round(self) -> Iterator[Command]:
        yield command(self._chance.choice(("send", "handle", "handle", "deliver", "deliver", "drop")), **self._pair())

    def _round_of_an_earlier_epoch(self) -> Iterator[Command]:
        """The leader leads on in a later epoch, while a request or its response is under way."""
        pair, last = self._pair(), self._decided[-1]
        if pair["leader"] not in self._running:
            return
        leader = pair["leader"]
        later = Leadership(leader, last.leader_epoch + 1, (leader,), last.partition_epoch + 3, last.replicas)
        yield command("send", **pair)
        before = self._chance.random() < 0.5
        if before:
            yield command("handle", **pair)
        self._decided.append(later)
        if self._chance.random() < 0.7:
            yield self._leader_and_isr(leader, later)
        if not before:
            yield command("handle", **pair)
        if self._chance.random() < 0.7:
            yield self._leader_and_isr(pair["follower"], later)
        yield command("deliver", **pair)

    def _lose_the_log(self) -> Iterator[Command]:
        """The leader comes back with an empty disk, and leads on."""
        last = self._decided[-1]
        leader, followers = last.leader, [each for each in self._running if each != last.leader]
        if leader not in self._running or not followers:
            return
        yield command("crash", broker=leader, keep=self._chance.randrange(2))
        yield command("start", broker=leader)
        if self._chance.random() < 0.5:
            last = last._replace(leader_epoch=last.leader_epoch + 1, partition_epoch=last.partition_epoch + 3)
            self._decided.append(last)
        yield self._leader_and_isr(leader, last)
        follower = self._chance.choice(followers)
        for do in ("send", "handle", "deliver") * self._chance.randrange(1, 4):
            yield command(do, follower=follower, leader=leader)

    def _write(self) -> Iterator[Command]:
        """Someone else writes the state in ZooKeeper."""
        if self._release < Release("2.7"):
            last = self._decided[-1]
            self._decided[-1] = last._replace(partition_epoch=last.partition_epoch + 2)
            yield command(
                "zk",
                leader=last.leader,
                leader_epoch=last.leader_epoch,
                isr=[*last.isr],
                controller_epoch=1,
                version=last.partition_epoch + 2,
            )

    def _checkpoint(self) -> Iterator[Command]:
        if self._running:
            yield command("checkpoint", broker=self._one_that_runs())

    def _run_scheduled(self) -> Iterator[Command]:
        if self._running:
            yield command("run_scheduled", broker=self._one_that_runs())

    def _consume(self) -> Iterator[Command]:
        if self._running:
            yield command("consume", broker=self._one_that_runs(), offset=self._chance.randrange(3))

    def _expire(self) -> Iterator[Command]:
        yield command("advance", milliseconds=self._chance.choice((4, 11)))
        if self._running:
            yield command("shrink", broker=self._one_that_runs())

    def _answer_isr(self) -> Iterator[Command]:
        if self._release < Release("2.7") or not self._running:
            return
        last = self._decided[-1]
        broker = last.leader if last.leader in self._running else self._one_that_runs()
        given: dict[str, Any] = {}
        match self._chance.randrange(5):
            case 0:
                given = {"error": self._chance.choice(("INVALID_UPDATE_VERSION", "FENCED_LEADER_EPOCH"))}
            case 1:
                given = {"request_error": "STALE_BROKER_EPOCH"}
            case _:
                others = [each for each in self._replicas if each != broker]
                isr = (broker, *(each for each in others if self._chance.random() < 0.7))
                self._decided[-1] = last._replace(isr=isr, partition_epoch=last.partition_epoch + 1)
                given = {
                    "isr": [*isr],
                    "leader_epoch": last.leader_epoch,
                    "partition_epoch": last.partition_epoch + 1,
                }
        yield command("answer_isr", broker=broker, **given)
