"""Sequences of commands to a broker that keeps replicas, drawn choice by choice.

Broker 1 of four, four partitions of three topics. The epochs of controllers and leaders usually increase; some
requests are late. Topics have ids; in some sequences none has, and then every configuration can be read. A partition
that fails is alone in its request: in Kafka a hash map's order decides which others are done before the failure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from statemachines.messages.control_requests import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    StopReplicaPartitionState,
    StopReplicaRequest,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from statemachines.messages.leader_and_isr import (
    EPOCH_DURING_DELETE,
    LEADER_DURING_DELETE,
    NO_EPOCH,
    LeaderRecoveryState,
)
from statemachines.messages.topic_partition import TopicPartition
from statemachines.releases import Release
from tests.kafka.receiver_comparison import (
    BROKER,
    BROKER_EPOCH,
    RELEASE,
    Command,
    FailDirectory,
    Receive,
    Register,
    Restart,
    ShutDown,
)

TELLS_RECOVERY: Final = Release("3.2.0")
"""The first release whose LeaderAndIsr marks a recovering leader, in its versions with topic ids."""
BROKERS: Final = (1, 2, 3, 4)
PARTITIONS: Final = (
    TopicPartition("a", 0),
    TopicPartition("a", 1),
    TopicPartition("b", 0),
    TopicPartition("c", 0),
)
LEADERS: Final = (BROKER, BROKER, 2, 2, 3, 4, -1)
LATE_OR_NOT: Final = (0, 0, 0, 0, 0, 1, 1, -1)
"""The difference of an epoch from that of the previous request."""

Pick = Callable[[int], int]
"""Draws a number below its argument."""


class Drawing:
    """Draws commands, one after another.

    Args:
        pick: draws numbers; small numbers mean simple commands.
        release: of the requests.
    """

    def __init__(self, pick: Pick, release: str = RELEASE) -> None:
        self._pick = pick
        self._topic_ids = {"a": 1, "b": 1, "c": 1} if pick(3) else {}
        self._tells_recovery = bool(self._topic_ids) and Release(release) >= TELLS_RECOVERY
        self._controller_epoch, self._broker_epoch = 1, BROKER_EPOCH
        self._leader_epochs: Counter[TopicPartition] = Counter()
        self._partition_epochs: Counter[TopicPartition] = Counter()
        self._half_read: list[TopicPartition] = []

    def sequence(self, length: int) -> list[Command]:
        """So many commands; usually the broker first learns which brokers are alive."""
        commands = [self._metadata(BROKERS)] if self._pick(8) < 7 else []
        while len(commands) < length:
            commands.append(self._command())
        return commands

    # Choices.

    def _one(self, of: Sequence[Any]) -> Any:
        return of[self._pick(len(of))]

    def _some(self, of: Sequence[Any], at_least: int = 0) -> tuple[Any, ...]:
        """Some of these, in any order."""
        remaining, count = list(of), max(at_least, self._pick(len(of) + 1))
        return tuple(remaining.pop(self._pick(len(remaining))) for _ in range(count))

    def _partitions(self, at_least: int = 0) -> tuple[TopicPartition, ...]:
        """Some of the partitions."""
        return self._some(PARTITIONS, at_least)

    def _rarely(self) -> bool:
        return self._pick(8) == 7

    # Commands.

    def _command(self) -> Command:
        draw: Callable[[], Command] = self._one(
            (
                *(self._leader_and_isr,) * 12,
                *(self._stop,) * 5,
                *(lambda: self._metadata(self._some(BROKERS)),) * 3,
                lambda: self._metadata(BROKERS),
                self._fail_directory,
                self._restart,
                self._register,
                self._shut_down,
            )
        )
        return draw()

    def _fail_directory(self) -> Command:
        """Not the last one, since the broker would halt."""
        return FailDirectory(self._pick(2))

    def _restart(self) -> Command:
        """Not while there may be a directory without a log."""
        return self._leader_and_isr() if self._half_read else Restart()

    def _register(self) -> Command:
        self._broker_epoch += 10
        return Register(self._broker_epoch)

    def _shut_down(self) -> Command:
        return ShutDown()

    def _leader_and_isr(self) -> Command:
        failing, unread = self._failures()
        partitions = self._partitions(1)
        if self._half_read and self._pick(2):
            partitions = (self._one(self._half_read),)
        if failing or unread or not set(partitions).isdisjoint(self._half_read):
            partitions = partitions[:1]
        self._half_read += (each for each in partitions if each.topic in unread)
        states = tuple(map(self._partition_state, partitions))
        leaders = tuple({state.leader for state in states if state.leader >= 0})
        return self._request(LeaderAndIsrRequest, states, leaders, failing=failing, unread=unread)

    def _partition_state(self, partition: TopicPartition) -> LeaderAndIsrPartitionState:
        again = partition in self._half_read and self._pick(2) == 1
        self._leader_epochs[partition] += 0 if again else self._one((1, 1, 1, 1, 0, 0, 2))
        self._partition_epochs[partition] += self._one((1, 1, 1, 0, 2))
        late = self._rarely()
        moves = self._rarely()
        replicas = self._some(BROKERS, 1)
        if BROKER not in replicas and not self._rarely():
            replicas = (BROKER, *replicas)
        recovering = self._tells_recovery and self._rarely()
        return LeaderAndIsrPartitionState(
            partition,
            controllerEpoch=self._controller_epoch,
            leader=self._one(LEADERS),
            leaderEpoch=max(0, self._leader_epochs[partition] - late),
            isr=self._some(replicas, 1),
            partitionEpoch=max(0, self._partition_epochs[partition] - (3 if self._rarely() else 0)),
            replicas=replicas,
            addingReplicas=self._some(replicas) if moves else (),
            removingReplicas=self._some(replicas) if moves else (),
            isNew=self._pick(4) == 3,
            leaderRecoveryState=LeaderRecoveryState(int(recovering)),
        )

    def _stop(self) -> Command:
        failing, _ = self._failures()
        partitions = self._partitions(1)
        states = (StopReplicaPartitionState(each, self._stopped(each), self._pick(2) == 1) for each in partitions)
        return self._request(StopReplicaRequest, False, tuple(states), failing=failing)

    def _stopped(self, partition: TopicPartition) -> int:
        known = self._leader_epochs[partition]
        epoch: int = self._one((known, known, known + 1, known - 1, known - 2, NO_EPOCH, EPOCH_DURING_DELETE))
        return epoch

    def _metadata(self, alive: Sequence[int]) -> Command:
        states = (
            UpdateMetadataPartitionState(
                each,
                controllerEpoch=self._controller_epoch,
                leader=self._one((*LEADERS, LEADER_DURING_DELETE, LEADER_DURING_DELETE)),
                leaderEpoch=self._leader_epochs[each],
                isr=self._some(BROKERS),
                zkVersion=self._partition_epochs[each],
                replicas=self._some(BROKERS),
                offlineReplicas=self._some(BROKERS) if self._rarely() else (),
            )
            for each in self._partitions()
        )
        return self._request(UpdateMetadataRequest, tuple(states), tuple(alive))

    def _failures(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Partitions whose logs fail, and topics that cannot be read: usually none."""
        match self._pick(12):
            case 11:
                return tuple(map(str, self._partitions())), ()
            case 8 | 9 | 10 if self._topic_ids:
                return (), self._some(("a", "b", "c"))
        return (), ()

    def _request(self, kind: Callable[..., Any], *content: Any, **failures: Any) -> Command:
        """A request of the controller or an older one, to this registration of the broker or another."""
        epoch = self._controller_epoch + self._one(LATE_OR_NOT)
        self._controller_epoch = max(epoch, self._controller_epoch)
        broker_epoch = self._broker_epoch + self._one(LATE_OR_NOT)
        if self._rarely():
            broker_epoch = -1
        request = kind(self._one((9, 9, 3)), max(epoch, 0), broker_epoch, *content)
        return Receive(request, self._topic_ids, **failures)
