"""Whatever happens to a cluster, in whatever order: what holds of its controller after each event, and in the end.

A sequence is a list of commands, each of which means something in any state. Brokers die and come again, leaders
change ISRs, administrators create, grow, move and delete, disks fail, brokers shut down, controllers follow each
other. Leaders may write between any two batches of an event. In the end everything is mended, and nothing may be left
undone.

Left out is what is known to go wrong, in Kafka too: a topic that is deleted while it moves, a leader that writes
while its partition's move ends, and a move that takes the place of another where only replicas that go are in sync
(`test_topic_changes`, `test_partition_reassignment`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from statemachines.control_design import ControlDesign, control_design_of
from statemachines.control_requests import ControlRequest, LeaderAndIsrRequest, StopReplicaRequest
from statemachines.control_responses import LeaderAndIsrResponse
from statemachines.controller import registration
from statemachines.errors import Errors
from statemachines.kafka_zk_client import ZkRequest, ZkResponse, retry_requests_until_connected
from statemachines.leader_and_isr import NO_LEADER, LeaderAndIsr
from statemachines.partition import OfflinePartition, OnlinePartition
from statemachines.replica_leader_election import ElectionTrigger, ElectionType
from statemachines.state_change import Handled, Processed
from statemachines.topic_partition import TopicPartition
from statemachines.zk_data import (
    LOG_DIR_EVENT_NOTIFICATION,
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    TopicAssignment,
    isr_change_notification_path,
    topic_partition_state_path,
    topic_path,
)
from tests.statemachines.processing import EventCluster

BROKERS = (1, 2, 3, 4)
TOPICS = ("t", "u")


class Turbulence(EventCluster):
    """A cluster that remembers which states its partitions were in, and which replicas brokers have yet to delete."""

    def __init__(self, design: ControlDesign | None = None) -> None:
        super().__init__(BROKERS, design)
        self.history: dict[TopicPartition, list[LeaderAndIsr]] = {}
        self.to_delete: dict[int, list[tuple[TopicPartition, ...]]] = {}
        self.meddling: list[tuple[int, int]] = []
        self.create_topic("t", (1, 2, 3), (2, 3))
        self.create_topic("u", (3, 4))
        self.take_over()

    # What it remembers.

    def drive(self, machine: Any, change: Any, *how: Any, **named: Any) -> Any:
        """Batch by batch; leaders may write before any, and all that is written is remembered."""
        number = 0
        while not isinstance(change, Handled | Processed):
            for at, which in self.meddling:
                if at == number:
                    self.shrink(which)
            requests: tuple[ZkRequest, ...] = machine.requests(change)
            responses: list[ZkResponse] = []
            for request in requests:
                responses.extend(retry_requests_until_connected(self.zookeeper, None, [request]))
                self.remember()
            change = machine.answered(change, responses)
            number += 1
            assert number < 500, "an event that does not come to an end"
        return change

    def remember(self) -> None:
        """The states of all partitions."""
        for partition in self.written_partitions():
            states = self.history.setdefault(partition, [])
            state = self.state(partition)
            if not states or states[-1] != state:
                states.append(state)

    def send(self, broker: int, request: ControlRequest) -> None:
        """What a broker is to delete waits for its answer; replicas are told only what has been written."""
        super().send(broker, request)
        self.remember()
        if isinstance(request, StopReplicaRequest):
            deleted = tuple(
                TopicPartition(each.topicName, each.partitionIndex)
                for each in request.partitionStates
                if each.deletePartition or request.deletePartitions
            )
            self.to_delete.setdefault(broker, []).append(deleted)
        if isinstance(request, LeaderAndIsrRequest):
            for each in request.partitionStates:
                told = (each.leader, each.leaderEpoch, each.isr)
                written = self.history.get(TopicPartition(each.topicName, each.partitionIndex), [])
                assert told in {state[:3] for state in written}, f"broker {broker} is told {told}, not written"

    def written_partitions(self) -> list[TopicPartition]:
        """The partitions that have a state in ZooKeeper."""
        found = []
        for path in self.zookeeper.state.nodes:
            parts = path.split("/")
            if len(parts) == 7 and parts[-1] == "state":
                found.append(TopicPartition(parts[3], int(parts[5])))
        return sorted(found)

    def topics(self) -> list[str]:
        """The topics that there are."""
        return [topic for topic in TOPICS if self.exists(topic_path(topic))]

    # Commands. Each takes a number that it makes something of.

    def kill(self, which: int) -> None:
        """A broker dies."""
        broker = BROKERS[which % 4]
        if broker in self.sessions:
            self.die(broker)
            self.to_delete.pop(broker, None)
            self.process("process_broker_change")

    def revive(self, which: int) -> None:
        """A broker starts."""
        broker = BROKERS[which % 4]
        if broker not in self.sessions:
            self.register(broker)
            self.process("process_broker_change")

    def bounce(self, which: int) -> None:
        """A broker starts again, unseen."""
        broker = BROKERS[which % 4]
        if broker in self.sessions:
            self.die(broker)
            self.register(broker)
            self.to_delete.pop(broker, None)
            self.process("process_broker_change")

    def swap(self, which: int) -> None:
        """One dies, and another starts, before the controller looks."""
        gone, come = BROKERS[which % 4], BROKERS[which // 4 % 4]
        if gone in self.sessions:
            self.die(gone)
            self.to_delete.pop(gone, None)
        if come not in self.sessions:
            self.register(come)
        self.process("process_broker_change")

    def create(self, which: int) -> None:
        """A topic is created, on two or three brokers."""
        topic = TOPICS[which % 2]
        if not self.exists(topic_path(topic)) and not self.exists(f"/admin/delete_topics/{topic}"):
            first = which // 2 % 4
            self.create_topic(topic, tuple(BROKERS[(first + each) % 4] for each in range(2 + which % 2)))
            self.process("process_topic_change")

    def grow(self, which: int) -> None:
        """A topic gets another partition, at most three."""
        topic = TOPICS[which % 2]
        if self.exists(topic_path(topic)):
            there: TopicAssignment = self.data(topic_path(topic))
            if len(there.partitions) < 3:
                more = self.assignment((BROKERS[which // 2 % 4], BROKERS[(which // 2 + 1) % 4])).partitions[0][1]
                new = TopicAssignment((*there.partitions, (len(there.partitions), more)))
                self.zookeeper.set(None, topic_path(topic), new)
                self.process("process_partition_modifications", topic)

    def delete(self, which: int) -> None:
        """A topic is to be deleted, unless one of its partitions moves."""
        topic = TOPICS[which % 2]
        moving = {partition.topic for partition in self.context.state.partitions_being_reassigned}
        if self.exists(topic_path(topic)) and topic not in moving:
            if not self.exists(f"/admin/delete_topics/{topic}"):
                self.ask_to_delete(topic)
            self.process("process_topic_deletion")

    def answer(self, which: int) -> None:
        """A broker has deleted, or could not."""
        broker = BROKERS[which % 4]
        if self.to_delete.get(broker) and broker in self.sessions:
            error = Errors.KAFKA_STORAGE_ERROR if which // 4 % 3 == 0 else Errors.NONE
            self.respond(broker, error)

    def respond(self, broker: int, error: Errors) -> None:
        """The oldest answer of a broker, of topics that are being deleted."""
        waiting = self.to_delete[broker].pop(0)
        started = self.context.state.topics_with_deletion_started
        of_these = tuple(partition for partition in waiting if partition.topic in started)
        if of_these:
            self.deleted(broker, *of_these, error=error)

    def shrink(self, which: int) -> None:
        """While an event is processed, a leader takes the others out of its ISR."""
        self.leader_of(which, lambda state, live: (state.leader,), processing=True)

    def expand(self, which: int) -> None:
        """A leader takes all live replicas into its ISR, and says so."""
        partition = self.leader_of(which, lambda state, live: tuple(dict.fromkeys((*state.isr, *live))))
        if partition is not None:
            self.notify(partition)

    def notify(self, partition: TopicPartition) -> None:
        """The controller hears of an ISR."""
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
        """A leader that lives writes another ISR; which partition that is of."""
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
        if processing and partition in self.context.state.partitions_being_reassigned:  # until 2.3 only this says so
            return None
        replicas = assigned.replicas if assigned else ()
        live = [each for each in replicas if self.context.is_replica_online(each, partition)]
        new = isr(state, live)
        if new != state.isr:
            self.leader_writes(partition, new)
            self.remember()
        return partition

    def move(self, which: int) -> None:
        """A partition is to move."""
        partitions = self.context.all_partitions()
        if partitions:
            partition = partitions[which % len(partitions)]
            first = which // 8
            target = tuple(BROKERS[(first + each) % 4] for each in range(1 + which // 32 % 3))
            if not self.keeps_somebody(partition, target):
                return
            if self.batch.design.kip_455:
                self.process("process_api_partition_reassignment", ((partition, target),))
            elif not self.exists(REASSIGN_PARTITIONS):
                self.zookeeper.create(None, REASSIGN_PARTITIONS, ((partition, target),))
                self.process("process_zk_partition_reassignment")

    def keeps_somebody(self, partition: TopicPartition, target: tuple[int, ...]) -> bool:
        """Whether a replica that is in sync stays, if a partition moves there."""
        if partition not in self.written_partitions():
            return True
        then = self.context.partition_full_replica_assignment(partition).reassign_to(target)
        stay = then.replicas if then.is_being_reassigned else then.target_replicas
        return any(
            self.context.is_replica_online(each, partition) for each in self.state(partition).isr if each in stay
        )

    def cancel(self, which: int) -> None:
        """A move is cancelled."""
        moving = sorted(self.context.state.partitions_being_reassigned)
        if moving and self.batch.design.kip_455:
            partition = moving[which % len(moving)]
            origin = self.context.partition_full_replica_assignment(partition).origin_replicas
            if self.keeps_somebody(partition, origin):
                self.process("process_api_partition_reassignment", ((partition, None),))

    def leave(self, which: int) -> None:
        """A broker asks to be let go."""
        self.process("process_controlled_shutdown", BROKERS[which % 4])

    def prefer(self, which: int) -> None:
        """Preferred leaders are elected, by whichever way."""
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
        """A broker loses the disk of one of its partitions, and answers so when it is asked."""
        broker = BROKERS[which % 4]
        partitions = self.context.partitions_on_broker(broker)
        if broker in self.sessions and partitions:
            path = f"{LOG_DIR_EVENT_NOTIFICATION}/log_dir_event_"
            self.zookeeper.create(None, path, broker, sequential=True)
            self.process("process_log_dir_event_notification")
            failed = partitions[which // 4 % len(partitions)]
            response = LeaderAndIsrResponse(Errors.NONE, ((failed, Errors.KAFKA_STORAGE_ERROR),))
            self.process("process_leader_and_isr_response_received", response, broker)

    def succeed(self, which: int) -> None:
        """Another controller takes over."""
        self.elect_another(which)

    def elect_another(self, which: int) -> None:
        """It knows nothing yet but its epoch."""
        version = self.zookeeper.set(None, "/controller_epoch", self.context.state.epoch + 1).version
        self.context.state.epoch += 1
        self.context.state.epoch_zk_version = version
        self.controller = self.made()
        self.take_over()

    # The end.

    def mend(self) -> None:
        """All brokers live, with new disks; leaders catch all followers up; brokers delete what they are asked to."""
        self.meddling = []
        for broker in BROKERS:
            if broker in self.sessions:
                self.die(broker)
            self.register(broker)
            self.to_delete.pop(broker, None)
            self.process("process_broker_change")
        for _ in range(4):
            for number in range(len(self.written_partitions())):
                self.expand(number)
            for broker in BROKERS:
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
    """Something that happens, and the batches of its event before which leaders write as well."""

    name: str
    which: int
    meddling: tuple[tuple[int, int], ...] = ()


commands = st.builds(
    Command,
    st.sampled_from(sorted(COMMANDS)),
    st.integers(0, 127),
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 3)), max_size=1).map(tuple),
)


def check(cluster: Turbulence, meddled: bool) -> None:
    """What holds after each event, whatever leaders have written meanwhile.

    But until 2.6 a leader that shrinks its ISR as a reassignment ends loses the partition (K3).
    """
    for states in cluster.history.values():
        for state in states:
            assert state.isr, f"an ISR without members: {state}"  # P2
            assert state.leader == NO_LEADER or state.leader in state.isr  # P1
    for partition, states in cluster.history.items():
        if partition not in cluster.written_partitions():
            continue
        leaders: dict[int, int] = {}
        for state in states[last_birth(states) :]:
            if state.leader != NO_LEADER:
                assert leaders.setdefault(state.leader_epoch, state.leader) == state.leader  # P5
    registered = {broker: cluster.zookeeper.get(None, registration(broker))[1].czxid for broker in cluster.sessions}
    assert cluster.context.state.live_broker_epochs == registered  # C10
    for partition, known in cluster.context.state.partition_leadership_info.items():
        if cluster.exists(topic_partition_state_path(partition)):
            assert known.leader_and_isr.leader_epoch <= cluster.state(partition).leader_epoch  # C9
    led = cluster.batch.design.alter_partition or not meddled
    for partition in cluster.context.partitions_in_states({OnlinePartition}) if led else ():
        if not cluster.context.is_topic_queued_up_for_deletion(partition.topic):
            leader = cluster.known(partition).leader
            assert cluster.context.is_replica_online(leader, partition, include_shutting_down_brokers=True)  # P9
    for batch in (cluster.batch, cluster.partitions.batch, cluster.replicas.batch):
        batch.new_batch()  # H3


def check_without_meddling(cluster: Turbulence) -> None:
    """What holds if the controller has heard of all that was written."""
    for partition, known in cluster.context.state.partition_leadership_info.items():
        if cluster.context.is_topic_deletion_in_progress(partition.topic):
            continue
        if cluster.exists(topic_partition_state_path(partition)):
            state, remembered = cluster.state(partition), known.leader_and_isr
            assert (remembered.leader, remembered.isr) == (state.leader, state.isr)  # C8
            assert remembered.leader_epoch == state.leader_epoch or not cluster.batch.design.remember_epoch  # B30
            members = cluster.state(partition).isr
            assert set(members) <= set(cluster.context.partition_replica_assignment(partition))  # P3
            if len(members) > 1 and not cluster.context.is_topic_queued_up_for_deletion(partition.topic):
                assert set(members) <= set(cluster.sessions)  # P13
    for partition in cluster.context.partitions_in_states({OfflinePartition}):
        if not cluster.context.is_topic_queued_up_for_deletion(partition.topic):
            members = cluster.state(partition).isr
            assert not any(cluster.context.is_replica_online(each, partition) for each in members)  # P10


def last_birth(states: list[LeaderAndIsr]) -> int:
    """Where a partition that was deleted was created again."""
    births = [at for at, state in enumerate(states) if state.leader_epoch == 0 and at and states[at - 1].leader_epoch]
    return births[-1] if births else 0


def run(sequence: list[Command], design: ControlDesign | None = None) -> Turbulence:
    """The commands, with what holds after each; then the end."""
    cluster = Turbulence(design)
    meddled = False
    for command in sequence:
        cluster.meddling = list(command.meddling)
        COMMANDS[command.name](cluster, command.which)
        meddled = meddled or bool(command.meddling)
        check(cluster, meddled)
        if not meddled:
            check_without_meddling(cluster)
    cluster.mend()
    check(cluster, meddled)
    return cluster


@settings(max_examples=150, deadline=None)
@given(st.lists(commands, min_size=1, max_size=20))
@example([Command("create", 1), Command("move", 8), Command("succeed", 0), Command("bounce", 0)])
def test_whatever_happens_what_ought_to_hold_does(sequence: list[Command]) -> None:
    """After each event; and in the end every partition is led, moves have ended, and deleted topics are gone."""
    check_end(run(sequence))


def check_end(cluster: Turbulence) -> None:
    """What holds when everything has been mended."""
    state = cluster.context.state
    assert state.topics_to_be_deleted == frozenset()
    assert state.partitions_being_reassigned == frozenset()
    for partition in cluster.context.all_partitions():
        assert cluster.context.partition_state(partition) is OnlinePartition, partition
        assert cluster.state(partition).leader in cluster.sessions
        assert set(cluster.state(partition).isr) == set(cluster.context.partition_replica_assignment(partition))
    assert {f"{topic}" for topic in cluster.topics()} == set(state.all_topics)
    for topic in cluster.topics():
        written = cluster.data(topic_path(topic)).decode(topic)
        assert written == {each: state.partition_assignments[each] for each in written}


@pytest.mark.parametrize("release", ["2.3", "2.6", "3.0"])
def test_so_it_does_in_older_releases(release: str) -> None:
    """Those that notice a broker that comes again."""

    @example([Command("move", 107), Command("expand", 32, ((5, 2),))])
    @settings(max_examples=30, deadline=None)
    @given(st.lists(commands, max_size=15))
    def test(sequence: list[Command]) -> None:
        check_end(run(sequence, control_design_of(release)))

    test()


@pytest.mark.parametrize("release", ["1.1", "2.1"])
def test_isrs_have_members_in_older_releases_too(release: str) -> None:
    """Other than that they promise less."""

    @settings(max_examples=30, deadline=None)
    @given(st.lists(commands.filter(lambda command: command.name != "bounce"), max_size=12))
    def test(sequence: list[Command]) -> None:
        cluster = Turbulence(control_design_of(release))
        for command in sequence:
            COMMANDS[command.name](cluster, command.which)
            for states in cluster.history.values():
                assert all(state.isr for state in states)

    test()
