"""A cluster with random events in any order: brokers die and restart, leaders change ISRs, administrators create,
grow, reassign and delete topics, disks fail, brokers shut down, controllers follow each other.

Each command takes a number, and gives it a meaning in any state, so a sequence is a list of names with numbers. The
cluster remembers every written state of a partition, and whether a leader or a controller wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from statemachines.controller.control_design import ControlDesign
from statemachines.controller.control_responses import LeaderAndIsrResponse
from statemachines.controller.kafka_zk_client import READS, ZkRequest, ZkResponse, retry_requests_until_connected
from statemachines.controller.replica_leader_election import ElectionTrigger, ElectionType
from statemachines.controller.state_change import ChangeDone, EventDone
from statemachines.messages.control_requests import ControlRequest, LeaderAndIsrRequest, StopReplicaRequest
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.messages.zk_data import (
    LOG_DIR_EVENT_NOTIFICATION,
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    TopicAssignment,
    delete_topics_topic_path,
    isr_change_notification_path,
    topic_partition_state_path,
    topic_path,
)
from statemachines.tables.replica import OnlineReplica
from tests.statemachines.processing import EventCluster


class Extent(NamedTuple):
    """The size of a cluster."""

    brokers: int
    topics: Mapping[str, tuple[tuple[int, ...], ...]]
    """The initial topics: the brokers of each partition."""
    created: int
    """The number of partitions of a topic that is created later."""
    most: int
    """The largest number of partitions of a topic."""
    numbers: int
    """The exclusive upper bound of the commands' numbers."""


SMALL = Extent(4, {"t": ((1, 2, 3), (2, 3)), "u": ((3, 4),)}, created=1, most=3, numbers=128)
"""So small that any two brokers share partitions."""
LARGE = Extent(
    10,
    {
        topic: tuple((first + 1, (first + step) % 10 + 1, (first + 2 * step) % 10 + 1) for first in range(10))
        for topic, step in {"t": 1, "u": 2, "v": 3, "w": 4, "x": 6}.items()
    },
    created=10,
    most=12,
    numbers=4096,
)
"""Ten brokers, and fifty partitions with three replicas each: more than can be explored."""


class Written(NamedTuple):
    """A state of a partition that was in ZooKeeper."""

    state: LeaderAndIsr
    version: int
    by_leader: bool
    """Whether its leader wrote it; else a controller did."""


class Turbulence(EventCluster):
    """A cluster that remembers its partitions' written states, and the replicas that brokers have yet to delete.

    Args:
        design: that of the release.
        extent: its size.
        kinds: the controller's classes, as in `EventCluster`; they may be mutants.
    """

    def __init__(self, design: ControlDesign | None = None, extent: Extent = SMALL, **kinds: Any) -> None:
        self.extent = extent
        self.brokers = tuple(range(1, extent.brokers + 1))
        self.names = tuple(extent.topics)
        self.lives: dict[TopicPartition, list[list[Written]]] = {}
        """The written states of a partition; a deletion and a new creation begin another life."""
        self.to_delete: dict[int, list[tuple[TopicPartition, ...]]] = {}
        self.unwritten: list[tuple[int, tuple[Any, ...]]] = []
        """States that brokers received and that were never in ZooKeeper."""
        self.online_on_dead: set[PartitionAndReplica] = set()
        """Replicas created while their brokers were down. They stay online until these brokers restart and stop."""
        self.meddling: tuple[tuple[int, int], ...] = ()
        """The batches of an event before which leaders write, each with its partition."""
        self.meddled = False
        """Leaders have written without a notification to a controller."""
        super().__init__(self.brokers, design, **kinds)
        for topic, assignments in extent.topics.items():
            self.create_topic(topic, *assignments)
        self.take_over()

    def broker(self, which: int) -> int:
        """A broker."""
        return self.brokers[which % len(self.brokers)]

    def brokers_from(self, which: int, many: int) -> tuple[int, ...]:
        """`many` brokers, one after the other."""
        return tuple(self.broker(which + each) for each in range(many))

    # Its memory.

    def drive(self, machine: Any, change: Any, *how: Any, **named: Any) -> Any:
        """Batch by batch; leaders may write before any of them, and all writes are remembered."""
        number = 0
        while not isinstance(change, ChangeDone | EventDone):
            for at, which in self.meddling:
                if at == number:
                    self.shrink(which)
            requests: tuple[ZkRequest, ...] = machine.requests(change)
            responses: list[ZkResponse] = []
            for request in requests:
                responses.extend(retry_requests_until_connected(self.zookeeper, None, [request]))
                if not isinstance(request, READS):
                    self.remember()
            change = machine.answered(change, responses)
            number += 1
            assert number < 500, "an event that does not come to an end"
        return change

    def remember(self, by_leader: bool = False) -> None:
        """Remember new states of partitions."""
        written = self.written_partitions()
        for partition in self.lives.keys() - {*written}:
            if self.lives[partition][-1]:
                self.lives[partition].append([])
        for partition in written:
            life = self.lives.setdefault(partition, [[]])[-1]
            version = self.version(partition)
            if not life or life[-1].version != version:
                life.append(Written(self.state(partition), version, by_leader))

    def each_life(self) -> Iterator[list[Written]]:
        """The written states of each partition, from its creation on."""
        return (life for lives in self.lives.values() for life in lives if life)

    def send(self, broker: int, request: ControlRequest) -> None:
        """Deletions of a broker wait for its reply; states that were not written are remembered."""
        super().send(broker, request)
        if isinstance(request, StopReplicaRequest):
            deleted = tuple(
                each.partition for each in request.partitionStates if each.deletePartition or request.deletePartitions
            )
            self.to_delete.setdefault(broker, []).append(deleted)
        if isinstance(request, LeaderAndIsrRequest):
            for each in request.partitionStates:
                sent = (each.leader, each.leaderEpoch, each.isr)
                lives = self.lives.get(each.partition, [])
                written = {written.state[:3] for life in lives for written in life}
                if sent not in written:
                    self.unwritten.append((broker, sent))

    def register(self, broker: int) -> None:
        """A broker starts, with its logs."""
        super().register(broker)
        self.online_on_dead = {each for each in self.online_on_dead if each.replica != broker}

    def created_on_dead(self, topic: str) -> None:
        """A topic has new partitions, perhaps on dead brokers."""
        self.online_on_dead |= {
            replica
            for replica in self.context.replicas_for_topic(topic)
            if replica.replica not in self.sessions and self.context.replica_state(replica) is OnlineReplica
        }

    def written_partitions(self) -> list[TopicPartition]:
        """The partitions that have a state in ZooKeeper."""
        found = []
        for path in self.zookeeper.state.nodes:
            if path.endswith("/state"):
                _, _, _, topic, _, partition, _ = path.split("/")
                found.append(TopicPartition(topic, int(partition)))
        return sorted(found)

    def topics(self) -> list[str]:
        """All topics."""
        return [topic for topic in self.names if self.exists(topic_path(topic))]

    # Commands. Each gives its number a meaning.

    def kill(self, which: int) -> None:
        """A broker dies."""
        broker = self.broker(which)
        if broker in self.sessions:
            self.die(broker)
            self.to_delete.pop(broker, None)
            self.process("process_broker_change")

    def revive(self, which: int) -> None:
        """A broker starts."""
        broker = self.broker(which)
        if broker not in self.sessions:
            self.register(broker)
            self.process("process_broker_change")

    def bounce(self, which: int) -> None:
        """A broker restarts, unnoticed."""
        broker = self.broker(which)
        if broker in self.sessions:
            self.die(broker)
            self.register(broker)
            self.to_delete.pop(broker, None)
            self.process("process_broker_change")

    def swap(self, which: int) -> None:
        """One dies, and another starts, before the controller reads the brokers."""
        gone, come = self.broker(which), self.broker(which // len(self.brokers))
        if gone in self.sessions:
            self.die(gone)
            self.to_delete.pop(gone, None)
        if come not in self.sessions:
            self.register(come)
        self.process("process_broker_change")

    def create(self, which: int) -> None:
        """A topic is created, on two or three brokers."""
        first, topic = self.topic(which)
        if not self.exists(topic_path(topic)) and not self.exists(delete_topics_topic_path(topic)):
            many = 2 + which % 2
            self.create_topic(topic, *(self.brokers_from(first + each, many) for each in range(self.extent.created)))
            self.process("process_topic_change")
            self.created_on_dead(topic)

    def topic(self, which: int) -> tuple[int, str]:
        """A topic, and the rest of the number."""
        rest, number = divmod(which, len(self.names))
        return rest, self.names[number]

    def grow(self, which: int) -> None:
        """A topic gets another partition."""
        first, topic = self.topic(which)
        if self.exists(topic_path(topic)):
            there: TopicAssignment = self.data(topic_path(topic))
            if len(there.partitions) < self.extent.most:
                more = self.assignment(self.brokers_from(first, 2)).partitions[0][1]
                new = TopicAssignment((*there.partitions, (len(there.partitions), more)))
                self.zookeeper.set(None, topic_path(topic), new)
                self.process("process_partition_modifications", topic)
                self.created_on_dead(topic)

    def delete(self, which: int) -> None:
        """A topic's deletion is requested, unless one of its partitions moves."""
        _, topic = self.topic(which)
        moving = {partition.topic for partition in self.context.state.partitions_being_reassigned}
        if self.exists(topic_path(topic)) and topic not in moving:
            if not self.exists(delete_topics_topic_path(topic)):
                self.ask_to_delete(topic)
            self.process("process_topic_deletion")

    def answer(self, which: int) -> None:
        """A broker replies to a deletion, with success or an error."""
        broker = self.broker(which)
        if self.to_delete.get(broker) and broker in self.sessions:
            fails = which // len(self.brokers) % 3 == 0
            self.respond(broker, Errors.KAFKA_STORAGE_ERROR if fails else Errors.NONE)

    def respond(self, broker: int, error: Errors) -> None:
        """The oldest pending reply of a broker, for topics in deletion."""
        waiting = self.to_delete[broker].pop(0)
        started = self.context.state.topics_with_deletion_started
        of_these = tuple(partition for partition in waiting if partition.topic in started)
        if of_these:
            self.deleted(broker, *of_these, error=error)

    def shrink(self, which: int) -> None:
        """While an event is processed, a leader removes the others from its ISR."""
        self.leader_of(which, lambda state, live: (state.leader,), processing=True)

    def expand(self, which: int) -> None:
        """A leader adds all live replicas to its ISR, and notifies the controller."""
        partition = self.leader_of(which, lambda state, live: tuple(dict.fromkeys((*state.isr, *live))))
        if partition is not None:
            self.notify(partition)

    def notify(self, partition: TopicPartition) -> None:
        """The controller is notified of an ISR."""
        self.zookeeper.create(None, isr_change_notification_path(), (partition,), sequential=True)
        self.process("process_isr_change_notification")
        if not self.batch.design.alter_partition:
            self.process("process_partition_reassignment_isr_change", partition)

    def leader_of(
        self,
        which: int,
        isr: Callable[[LeaderAndIsr, list[int]], tuple[int, ...]],
        processing: bool = False,
    ) -> TopicPartition | None:
        """A live leader writes another ISR; returns its partition."""
        partitions = self.written_partitions()
        if not partitions:
            return None
        partition = partitions[which % len(partitions)]
        state = self.state(partition)
        if state.leader not in self.sessions:
            return None
        assigned = self.data(topic_path(partition.topic)).decode(partition.topic).get(partition)
        if processing and assigned is not None and assigned.is_being_reassigned:
            return None
        if processing and partition in self.context.state.partitions_being_reassigned:  # the only record until 2.3
            return None
        replicas = assigned.replicas if assigned else ()
        live = [each for each in replicas if self.context.is_replica_online(each, partition)]
        new = isr(state, live)
        if new != state.isr:
            self.leader_writes(partition, new)
            self.remember(by_leader=True)
        return partition

    def move(self, which: int) -> None:
        """A reassignment is requested."""
        partitions = self.context.all_partitions()
        if partitions:
            partition = partitions[which % len(partitions)]
            target = self.brokers_from(which // 8, 1 + which // 32 % 3)
            if not self.keeps_an_in_sync_replica(partition, target):
                return
            if self.batch.design.kip_455:
                self.process("process_api_partition_reassignment", ((partition, target),))
            elif not self.exists(REASSIGN_PARTITIONS):
                self.zookeeper.create(None, REASSIGN_PARTITIONS, ((partition, target),))
                self.process("process_zk_partition_reassignment")

    def keeps_an_in_sync_replica(self, partition: TopicPartition, target: tuple[int, ...]) -> bool:
        """Whether an in-sync replica stays if the partition moves to `target`.

        If there never was a leader, a requested reassignment fails after its assignment is written, and leaves
        replicas without a state (tests/kafka/test_controller_beside.py).
        """
        if not self.exists(topic_partition_state_path(partition)):
            return not self.batch.design.kip_455
        then = self.context.partition_full_replica_assignment(partition).reassign_to(target)
        stay = then.replicas if then.is_being_reassigned else then.target_replicas
        return any(
            self.context.is_replica_online(each, partition) for each in self.state(partition).isr if each in stay
        )

    def cancel(self, which: int) -> None:
        """A reassignment is cancelled."""
        moving = sorted(self.context.state.partitions_being_reassigned)
        if moving and self.batch.design.kip_455:
            partition = moving[which % len(moving)]
            origin = self.context.partition_full_replica_assignment(partition).origin_replicas
            if self.keeps_an_in_sync_replica(partition, origin):
                self.process("process_api_partition_reassignment", ((partition, None),))

    def leave(self, which: int) -> None:
        """A broker requests a controlled shutdown."""
        self.process("process_controlled_shutdown", self.broker(which))

    def prefer(self, which: int) -> None:
        """Preferred leaders are elected, by any of the ways."""
        if which % 3 == 0:
            self.process("process_auto_preferred_replica_leader_election")
        elif which % 3 == 1 and not self.exists(PREFERRED_REPLICA_ELECTION):
            led = tuple(partition for partition in self.context.partitions_with_leaders())
            self.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, led)
            self.process("process_replica_leader_election")
        else:
            kind = ElectionType.PREFERRED
            led = self.context.partitions_with_leaders()
            self.process("process_replica_leader_election", led, kind, ElectionTrigger.AdminClientTriggered)

    def lose_disk(self, which: int) -> None:
        """A broker loses the disk of one of its partitions, and reports it when asked."""
        broker = self.broker(which)
        partitions = self.context.partitions_on_broker(broker)
        if broker in self.sessions and partitions:
            path = f"{LOG_DIR_EVENT_NOTIFICATION}/log_dir_event_"
            self.zookeeper.create(None, path, broker, sequential=True)
            self.process("process_log_dir_event_notification")
            failed = partitions[which // len(self.brokers) % len(partitions)]
            response = LeaderAndIsrResponse(Errors.NONE, ((failed, Errors.KAFKA_STORAGE_ERROR),))
            self.process("process_leader_and_isr_response_received", response, broker)

    def succeed(self, which: int) -> None:
        """Another controller takes over, and at first knows only its epoch."""
        version = self.zookeeper.set(None, "/controller_epoch", self.context.state.epoch + 1).version
        self.context.state.epoch += 1
        self.context.state.epoch_zk_version = version
        self.controller = self.made()
        self.online_on_dead.clear()
        self.take_over()

    # The repair.

    def mend(self) -> None:
        """All brokers are alive, with new disks; leaders add all followers; brokers do all pending deletions."""
        self.meddling = ()
        for broker in self.brokers:
            if broker in self.sessions:
                self.die(broker)
            self.register(broker)
            self.to_delete.pop(broker, None)
            self.process("process_broker_change")
        for _ in range(4):
            for number in range(len(self.written_partitions())):
                self.expand(number)
            for broker in self.brokers:
                while self.to_delete.get(broker):
                    self.respond(broker, Errors.NONE)
            for topic in self.topics():
                self.process("process_partition_modifications", topic)
            self.process("process_topic_change")


COMMANDS: Mapping[str, Callable[[Turbulence, int], None]] = {
    command.__name__: command
    for command in (
        Turbulence.kill,
        Turbulence.revive,
        Turbulence.bounce,
        Turbulence.swap,
        Turbulence.create,
        Turbulence.grow,
        Turbulence.delete,
        Turbulence.answer,
        Turbulence.expand,
        Turbulence.move,
        Turbulence.cancel,
        Turbulence.leave,
        Turbulence.prefer,
        Turbulence.lose_disk,
        Turbulence.succeed,
    )
}


class Command(NamedTuple):
    """An event, and the batches of it before which leaders write as well."""

    name: str
    which: int = 0
    meddling: tuple[tuple[int, int], ...] = ()

    def happen(self, cluster: Turbulence) -> None:
        """Run it."""
        cluster.meddling = self.meddling
        COMMANDS[self.name](cluster, self.which)
        cluster.meddled = cluster.meddled or bool(self.meddling)
