"""Kafka's own replica managers, logs and fetchers, stepped by commands: two or three brokers in one JVM.

    case = Case(brokers=2, commands=[{"do": "start", "broker": 1}, ...])
    with DataPlane("3.9.1") as kafka:
        [(_, [step, *_])] = kafka.of([case])      # step.answer, step.state

There is one partition. Nothing runs but what a command runs, so a case has one outcome. `java/` has no part in this:
`groovy/data_plane` is one source for all `RELEASES`. Commands (`command` makes them) and their answers:

    start, stop, crash      broker                    stop is a clean shutdown; crash may cut the log: keep=1 record
    leader_and_isr          broker, controller_epoch, leader, leader_epoch, isr, partition_epoch, replicas, live, and
                            optionally adding, removing, is_new: error. A newer partition epoch is ZooKeeper's too
    append                  broker, value, acks: offset and error, which are None while the producer waits
    consume                 broker, offset: error and values
    send                    follower, leader: the request that the fetcher sends now, or None
    handle                  follower, leader: what the leader responds to it
    deliver, drop           follower, leader: what the fetcher sends next before it has done its work, or None; halted
                            if that ends the process, died if it ends the fetcher
    checkpoint, flush       broker                    writes both checkpoints; the log
    shrink                  broker                    looks for followers that have been out of sync for too long
    run_scheduled           broker                    runs what waits for a thread; the state's `scheduled` names what
                            writes leader epochs (3.9) or sends a request for another ISR again
    advance                 milliseconds
    answer_isr              broker, error, isr, leader_epoch, partition_epoch, request_error: how the controller
                            responds to the oldest request, since 2.7
    zk                      leader, leader_epoch, isr, controller_epoch, version: sets ZooKeeper's node, until 2.6

A command that cannot be performed changes nothing, and its answer is `{"impossible": why}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from spec.kafka.java_process import JavaProcess

RELEASES: Final = ("3.9.1", "2.8.2", "2.6.3", "2.0.1", "1.1.1", "0.11.0.3", "0.10.2.2")
"""The releases whose brokers can be stepped."""
SOURCES: Final = Path(__file__).parent / "groovy" / "data_plane"
MEMORY: Final = Path("/dev/shm")
"""A file system in memory: Kafka forces every checkpoint to disk."""

Command: TypeAlias = Mapping[str, Any]


def command(do: str, **arguments: Any) -> Command:
    """A command by its name, as the header lists them."""
    return {"do": do, **arguments}


@dataclass(frozen=True, kw_only=True)
class Case:
    """Commands for brokers that have just been installed: none runs yet."""

    brokers: int
    commands: Sequence[Command]
    min_insync_replicas: int = 1
    unclean: bool = False
    """Whether a replica out of the ISR may be elected; until 0.10 a follower halts rather than truncate if not."""
    lag_time_max: int = 10
    """`replica.lag.time.max.ms`."""


class Step(NamedTuple):
    """What came of a command."""

    answer: Mapping[str, Any]
    state: Mapping[str, Any]
    """`brokers`: all that run, by id. `files`: every broker's checkpoints. `zookeeper`: the node, until 2.6."""


class DataPlane(JavaProcess):
    """Brokers of one of `RELEASES`, from `__enter__` to `__exit__`; raises as `JavaProcess` does.

    Args:
        release: one of them.
        patch: the name of a patch of Kafka's source (`spec.kafka.patches`); none by default.
    """

    TOOLS = "compiler/groovy"
    PLACE = str(MEMORY) if MEMORY.is_dir() else None

    def __init__(self, release: str, patch: str = "") -> None:
        super().__init__(release, "data-plane", sorted(SOURCES.glob("*.groovy")), "data_plane.Main", patch)

    def of(self, cases: Iterable[Case]) -> Iterator[tuple[Case, list[Step]]]:
        """Each case with a step for each of its commands, in order.

        Raises:
            EnvironmentFailed: Java died, or does not answer.
        """
        for case, steps in self.answers(cases, asdict):
            yield case, [Step(**step) for step in steps]
