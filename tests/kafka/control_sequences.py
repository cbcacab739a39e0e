"""Sequences of commands to a controller's state machines, drawn choice by choice.

Four brokers, four partitions of three topics, or twelve. Commands that no controller receives are not drawn: for
partitions that it does not know, and the end of a replica whose topic is not queued for deletion (Kafka would look
for the preferred replica among none, and throw).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from spec.kafka.mappings.partitions import OLD_BROKERS
from spec.kafka.scripted_cluster import AGAIN
from spec.kafka.state_machines_beside import ControlCommand, is_sequential
from statemachines.releases import Release
from statemachines.tables.partition import (
    PARTITION,
    NewPartition,
    NonExistentPartition,
    OfflinePartition,
    OnlinePartition,
)
from statemachines.tables.replica import (
    REPLICA,
    NewReplica,
    NonExistentReplica,
    OfflineReplica,
    OnlineReplica,
    ReplicaDeletionStarted,
    ReplicaDeletionSuccessful,
)
from tests.kafka.conftest import RELEASE

BROKERS: Final = (1, 2, 3, 4)
PARTITIONS: Final = ("a-0", "a-1", "b-0", "c-0")
MANY_PARTITIONS: Final = tuple(f"{topic}-{number}" for topic in "abc" for number in range(4))
"""More than fit into Scala's small maps, which keep insertion order."""
TOPICS: Final = ("a", "b", "c")
STRATEGIES: Final = ("reassign", "offline", "preferred", "controlled-shutdown")
PARTITION_TARGETS: Final = (OnlinePartition, OnlinePartition, OnlinePartition, NewPartition, *PARTITION.states)
REPLICA_TARGETS: Final = (OnlineReplica, OnlineReplica, OfflineReplica, OfflineReplica, NewReplica, *REPLICA.states)

Pick = Callable[[int], int]
"""Draws a number below its argument."""


class Drawing:
    """Draws commands, one after another, from what exists at the time.

    Args:
        pick: draws numbers; small numbers mean simple commands.
        release: until 2.3 there are fewer strategies, brokers are not added or removed one by one, and a deleted
            topic still has partitions if their states are known. Until 2.5 a batch keeps every StopReplica put into
            it, where ours keeps the last, so none is put there twice. Until 1.1 a begun deletion is not recorded, all
            topics are triggered at once, and a deleted topic whose states are known makes a change fail. Until 1.0
            each request is a batch, and a new session follows an ended one; until 0.11 no log directory fails alone.
    """

    def __init__(self, pick: Pick, release: str = RELEASE) -> None:
        self._pick = pick
        self._is_old = Release(release) < Release("2.4.0")
        self._is_oldest = Release(release) < Release("2.0.0")
        self._is_sequential = is_sequential(release)
        self._has_directories = Release(release) >= Release("1.0.0")
        self._keeps_each = Release(release) < Release("2.6.0")
        self._brokers = BROKERS if Release(release) >= Release("2.5.0") else OLD_BROKERS
        self._partitions = MANY_PARTITIONS if pick(4) == 3 else PARTITIONS
        self._known: list[str] = []
        self._queued: list[str] = []
        self._to_come: list[ControlCommand] = []
        self._broker_epoch = 100

    def sequence(self, length: int) -> list[ControlCommand]:
        """So many commands, after those that usually start a cluster."""
        commands = list(self._cluster()) if self._pick(8) < 7 else []
        for _ in range(length):
            goes_on = self._to_come and self._pick(3)
            commands.append(self._to_come.pop(0) if goes_on else self._command())
        return commands

    # Choices.

    def _one(self, of: Sequence[Any]) -> Any:
        return of[self._pick(len(of))]

    def _some(self, of: Sequence[Any], at_least: int = 0) -> list[Any]:
        """Some of these, in any order."""
        remaining, count = list(of), max(at_least, self._pick(len(of) + 1))
        return [remaining.pop(self._pick(len(remaining))) for _ in range(count)]

    def _often(self, of: Sequence[Any]) -> list[Any]:
        """All of these, or some."""
        return self._some(of, 1) if self._pick(2) else list(of)

    # A cluster.

    def _cluster(self) -> Iterator[ControlCommand]:
        yield self._up(list(self._brokers) if self._pick(4) else self._some(self._brokers))
        assigned = [self._assign(partition) for partition in self._often(self._partitions)]
        yield {"do": "assign_all", "assigned": assigned}
        replicas = [[partition, broker] for partition in self._known for broker in self._brokers]
        yield self._partitions_to(self._known, NewPartition.name)
        yield self._replicas_to(self._often(replicas), NewReplica.name)
        yield self._partitions_to(self._known, OnlinePartition.name, "offline")
        yield self._replicas_to(self._often(replicas), OnlineReplica.name)

    def _command(self) -> ControlCommand:
        draw: Callable[[], ControlCommand] = self._one(
            (
                self._clear_batch,
                *(self._change_partitions,) * 8,
                *(self._change_replicas,) * 10,
                *(self._elsewhere,) * 4,
                *(self._move_brokers,) * 6,
                *(self._deletion,) * 4,
                self._start,
                self._fail_over,
                self._assign_anew,
                self._send_requests,
            )
        )
        return draw()

    # What the controller learns.

    def _up(self, brokers: Sequence[int]) -> ControlCommand:
        self._broker_epoch += 10
        return {"do": "brokers_up", "brokers": [[broker, self._broker_epoch + broker] for broker in brokers]}

    def _move_brokers(self) -> ControlCommand:
        match self._pick(5):
            case 0:
                return self._up(self._some(self._brokers, 1))
            case 1 | 2:
                return {"do": "brokers_down", "brokers": self._some(self._brokers[: 1 + self._pick(4)], 1)}
            case 3:
                return {"do": "shut_down", "brokers": self._some(self._brokers)}
        if not self._has_directories:
            return {"do": "shut_down", "brokers": self._some(self._brokers)}
        partitions = self._some(self._partitions)
        return {"do": "fail_directories", "broker": self._one(self._brokers), "partitions": partitions}

    def _assign(self, partition: str) -> ControlCommand:
        if partition not in self._known:
            self._known.append(partition)
        replicas = self._some(self._brokers, 1)
        moves = self._pick(4) == 3 and not self._is_old
        return {
            "do": "assign",
            "partition": partition,
            "replicas": replicas,
            "adding": self._some(replicas) if moves else [],
            "removing": self._some(replicas) if moves else [],
        }

    def _assign_anew(self) -> ControlCommand:
        return self._assign(self._one(self._partitions))

    def _deletion(self) -> ControlCommand:
        match self._pick(5):
            case 0 if self._queued:
                do = self._one(("mark_ineligible", "begin_deletion")[: 1 if self._is_oldest else 2])
                return {"do": do, "topics": self._some(self._queued, 1)}
            case 1 if self._queued and not self._is_oldest:
                topic = self._queued.pop(self._pick(len(self._queued)))
                self._to_come.clear()
                self._known = [partition for partition in self._known if partition[0] != topic]
                return {"do": "remove_topic", "topic": topic}
            case 2 if self._queued:
                self._to_come = list(self._whole_deletion(self._one(self._queued)))
                return self._to_come.pop(0)
        topic = self._one(TOPICS)
        if topic not in self._queued:
            self._queued.append(topic)
        return {"do": "queue_deletion", "topics": [topic]}

    def _whole_deletion(self, topic: str) -> Iterator[ControlCommand]:
        """The requests to the state machines that delete a topic."""
        partitions = [partition for partition in self._known if partition[0] == topic]
        replicas = [[partition, broker] for partition in partitions for broker in self._brokers]
        yield self._partitions_to(partitions, OfflinePartition.name)
        yield self._partitions_to(partitions, NonExistentPartition.name)
        for state in (OfflineReplica, ReplicaDeletionStarted, ReplicaDeletionSuccessful, NonExistentReplica):
            yield self._replicas_to(replicas, state.name)

    # Other clients.

    def _elsewhere(self) -> ControlCommand:
        match self._pick(16):
            case 0 | 1 | 2 | 3 | 4 | 5:
                isr = self._some(self._brokers, 1)
                return {"do": "leader_writes", "partition": self._one(self._partitions), "isr": isr}
            case 6 | 7 | 8:
                return {"do": "configure", "topic": self._one(TOPICS), "unclean": self._one((True, False, None))}
            case 9 | 10 | 11 | 12:
                return {"do": "delete_state", "partition": self._one(self._partitions)}
            case 13:
                return {"do": "newer_controller_writes", "partition": self._one(self._partitions)}
        expires = self._pick(4) == 3 and not self._is_sequential
        return {"do": "expire"} if expires else {"do": "newer_controller"}

    def _meanwhile(self) -> dict[str, Any]:
        """What happens during a change: usually nothing."""
        happens: dict[str, Any] = {}
        if self._pick(3) == 2:
            happens["meanwhile"] = [self._row() for _ in range(1 + self._pick(2))]
        if self._pick(5) == 4 and self._is_sequential:
            happens["lost"] = [[self._pick(12), 0, self._pick(2)]]
        elif self._pick(5) == 4:
            answered = self._pick(4)
            happens["lost"] = [[self._pick(5), answered, answered + self._pick(4)]]
        return happens

    def _row(self) -> list[Any]:
        if self._is_sequential:
            return [self._pick(12), self._one((0, 0, AGAIN)), self._elsewhere()]
        return [self._pick(6), self._pick(3) and self._pick(4), self._elsewhere()]

    # The state machines.

    def _fail_over(self) -> ControlCommand:
        return {"do": "fail_over"}

    def _clear_batch(self) -> ControlCommand:
        return {"do": "clear_batch"}

    def _send_requests(self) -> ControlCommand:
        added = []
        stopped: set[tuple[str, int]] = set()
        for _ in range(1 + self._pick(4) if self._known else 0):
            kind = self._one(("leader_and_isr", "metadata", "stop_replica"))
            flags = [] if kind == "metadata" else [self._one((False, True))]
            partition, brokers = self._one(self._known), self._some((-1, *self._brokers))
            if kind == "stop_replica" and self._keeps_each:
                brokers = [broker for broker in brokers if (partition, broker) not in stopped]
                stopped |= {(partition, broker) for broker in brokers}
            added.append([kind, partition, brokers, *flags])
        return {"do": "send_requests", "added": added}

    def _start(self) -> ControlCommand:
        match self._pick(3):
            case 0:
                return {"do": "start_partitions", **self._meanwhile()}
            case 1:
                return {"do": "start_replicas", **self._meanwhile()}
        if self._is_oldest:
            return {"do": "trigger", "topic": None, **self._meanwhile()}
        return {"do": "trigger", "topic": self._one((None, *TOPICS)), **self._meanwhile()}

    def _change_partitions(self) -> ControlCommand:
        target = self._one(PARTITION_TARGETS)
        partitions = self._some(self._known) if self._pick(2) else list(self._known)
        strategy = self._one(STRATEGIES[self._is_old and not self._is_sequential :])
        if target is not OnlinePartition:
            return self._partitions_to(partitions, target.name) | self._meanwhile()
        unclean = strategy == "offline" and self._pick(4) == 3 and not self._is_old
        return self._partitions_to(partitions, target.name, strategy, unclean) | self._meanwhile()

    def _partitions_to(
        self, partitions: Sequence[str], target: str, strategy: str | None = None, unclean: bool = False
    ) -> dict[str, Any]:
        return {
            "do": "change_partitions",
            "partitions": list(partitions),
            "target": target,
            "strategy": strategy,
            "allow_unclean": unclean,
        }

    def _change_replicas(self) -> ControlCommand:
        target = self._one(REPLICA_TARGETS)
        known = self._known
        if target is NonExistentReplica:
            known = [partition for partition in known if partition[0] in self._queued]
        partitions = self._some(known) if self._pick(2) else list(known)
        brokers = self._some(self._brokers, 1)
        replicas = [[partition, broker] for partition in partitions for broker in brokers]
        return self._replicas_to(replicas, target.name) | self._meanwhile()

    def _replicas_to(self, replicas: Sequence[Any], target: str) -> dict[str, Any]:
        return {"do": "change_replicas", "replicas": list(replicas), "target": target}
