"""Our state machines of a controller beside Kafka's own: both carry out the same commands, and are compared.

    commands = [{"do": "brokers_up", "brokers": [[1, 101]]}, ...]
    with RealController("3.9.1") as kafka:
        for sequence, answers in kafka.of("StateMachines", [commands]):
            ours = StateMachinesBeside()
            for command, seen in zip(sequence, answers, strict=True):
                assert ours.disagreements(command, seen) == []

A command is JSON, `{"do": ...}` with its arguments. Each is a method of `StateMachinesBeside` here and of
`java/control/.../StateMachineRunner.java` there. Kafka's side has its ControllerContext,
ControllerBrokerRequestBatch and both state machines, over its own ZooKeeper client and a real server that runs in the
same call. Requests to brokers are recorded, not sent.

A command that changes states may say what happens while it is carried out:

    "meanwhile": [[batch, request, command], ...]   before this request of this batch another client writes, or the
                                                    session ends; -1: before the requests that a lost connection
                                                    left unanswered are repeated
    "lost": [[batch, answered, carried_out], ...]   the connection is lost after so many answers of this batch, and so
                                                    many of its requests are carried out

Kafka goes first. The requests of a batch are in the order of a hash map, and that order decides which of them a lost
connection loses. So ours are put into Kafka's order before they are sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from election.ids import BrokerId
from spec.kafka.control_values import (
    DECODED,
    decoded_cause,
    decoded_failure,
    decoded_requests,
    decoded_results,
    of_context,
    parsed,
)
from spec.kafka.java import SOURCES, sources_for
from spec.kafka.pure import SHARED, PureCalls, protocol
from spec.kafka.scripted_cluster import (
    ControlCommand,
    Disagreement,
    OtherRequests,
    ScriptedCluster,
    different,
    in_order,
)
from spec.language.errors import UsageError
from statemachines.controller.calls import Callback, Calls, EventFailure, EventWaiting, then
from statemachines.controller.context import ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.controller.event_driver import EventDriver
from statemachines.controller.partition_state_machine import PartitionLeaderElectionStrategy, PartitionStateMachine
from statemachines.controller.replica_state_machine import ReplicaStateMachine
from statemachines.controller.request_batch import BatchNotEmpty, ControllerBrokerRequestBatch
from statemachines.controller.state_change import ElectionOutcome, FailedStateChange, StateChangeFailure
from statemachines.controller.zk_requests import StateRequests, ZkBatch
from statemachines.messages.control_requests import ControlRequest
from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicName, TopicPartition
from statemachines.messages.zk_data import topic_partition_state_path
from statemachines.releases import Release
from statemachines.tables.partition import PartitionState
from statemachines.tables.replica import ReplicaState
from statemachines.zookeeper.tree import ZkPath

__all__ = [
    "CONTROLLER",
    "RELEASES",
    "ControlCommand",
    "StateMachinesBeside",
    "Disagreement",
    "RealController",
    "StateMachineClasses",
]

CONTROLLER: Final = 9
"""The controller's broker id."""
RELEASES: Final = ("0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1", "2.2.2", "2.4.1", "2.8.2", "3.9.1")
"""The releases that can run."""
ABOVE_STATES: Final = frozenset({ZkBatch.CreateTopicPartitions, ZkBatch.CreateTopicPartition})
"""The requests that create a state's parent nodes. Until 1.0 Kafka sends them after a creation has failed."""
UNSTARTED: Final = frozenset({"ControllerChannelManager", "UnstartedChannels", "ZkEventThread"})
"""Replacements of classes of Kafka and ZkClient that are threads, or start threads, until 1.0."""


class RealController(PureCalls):
    """A controller of a release of Kafka, from `__enter__` to `__exit__`. Its calls: `StateMachines`, `Events`,
    and `Tools` for what administrators do.

    Args:
        release: one of `RELEASES`.
        patch: the name of a patch of Kafka's source (`spec.kafka.patches`); none by default.

    Raises (when it is entered; the first also when it is made):
        UsageError: the release cannot run; no Java, no compiler, or a jar cannot be downloaded.
        EnvironmentFailed: Java died, or compiled classes cannot be stored.
    """

    A_LINE = 20

    def __init__(self, release: str, patch: str = "") -> None:
        if release not in RELEASES:
            raise UsageError(
                f"the state machines of Kafka {release} cannot run here; choose from {', '.join(RELEASES)}"
            )
        own = sources_for(release, SOURCES / "control")
        others = with_zkclient(release) if is_sequential(release) else whole_controllers(release)
        super().__init__(release, "control", [*protocol(release), *others, *own], patch)


def is_sequential(release: str) -> bool:
    """Whether its controller sends ZooKeeper one request after another, by ZkClient, as until 1.0."""
    return Release(release) < Release("1.1.0")


def with_zkclient(release: str) -> list[Path]:
    """The files that run ZkClient, and keep a whole controller from starting threads."""
    unstarted = (each for each in sources_for(release, SOURCES / "until-1.0") if each.stem in UNSTARTED)
    return [*SHARED, *sorted((SOURCES / "common" / "org").rglob("*.java")), *unstarted]


def whole_controllers(release: str) -> list[Path]:
    """The files from which whole controllers of a release are built."""
    family = "since-2.4" if Release(release) >= Release("2.4.0") else "until-2.2"
    return sources_for(release, SOURCES / family, common=SOURCES / "common")


class MachineDriver(EventDriver):
    """Makes the calls of the two state machines."""

    def reply(self, results: tuple[tuple[TopicPartition, ElectionOutcome], ...]) -> Calls:
        """Keep the results of a change."""
        return (Callback(results),)


class StateMachineClasses(NamedTuple):
    """The classes of our side; a test can substitute a mutant."""

    partitions: type[PartitionStateMachine] = PartitionStateMachine
    replicas: type[ReplicaStateMachine] = ReplicaStateMachine
    batch: type[ControllerBrokerRequestBatch] = ControllerBrokerRequestBatch
    driver: type[MachineDriver] = MachineDriver


class Handled(NamedTuple):
    """The outcome of a command."""

    results: tuple[tuple[TopicPartition, ElectionOutcome], ...] = ()
    controller_moved: bool = False
    """Another controller has been elected: the change was cut short, and nothing has been sent [ControllerMoved]."""


class StateMachinesBeside(ScriptedCluster):
    """Our side: a controller without a cluster, its state machines, a ZooKeeper, and the rest of the world.

    Args:
        release: whose rules apply.
        kinds: the classes that change states.
    """

    def __init__(self, release: str = "3.9", kinds: StateMachineClasses | None = None) -> None:
        kinds = StateMachineClasses() if kinds is None else kinds
        super().__init__()
        self.design = design = ControlDesign(release)
        self.context = ControllerContext()
        self.log: list[FailedStateChange] = []
        self.sent: dict[BrokerId, list[ControlRequest]] = {}
        self.batch = kinds.batch(CONTROLLER, self.context, self._send, design=design)
        self.partitions = kinds.partitions(self.context, self.batch, design, self.log.append)
        self.replicas = kinds.replicas(self.context, self.batch, design, self.log.append)
        self.driver = kinds.driver(self.partitions, self.replicas, self.batch)
        self.is_old = Release(release) < Release("2.4.0")
        """Then Kafka's state machine returns failures only, and does not throw for an unknown state."""
        self.tells_results = Release(release) >= Release("2.2.0")
        """Before that, it returns nothing."""
        self.is_sequential = is_sequential(release)
        self.kafkas: dict[str, Any] = {}
        """Kafka's latest observed state."""
        self._asked: list[list[ZkPath]] = []

    def _send(self, broker: BrokerId, request: ControlRequest) -> None:
        self.sent.setdefault(broker, []).append(request)

    def disagreements(self, command: ControlCommand, seen: Mapping[str, Any]) -> list[Disagreement]:
        """Carry out a command that Kafka has carried out, and report the differences.

        `seen` has the parts of Kafka's observed state that have changed.
        """
        self.kafkas |= {name: DECODED[name](value) for name, value in seen.items() if name in DECODED}
        self.log.clear()
        self.sent.clear()
        self._asked = seen["asked"]
        if self._is_known_to_throw(command):
            thrown = seen.get("thrown", {"thrown": None})["thrown"]
            return [*self._compared(), *different("exception", "NoSuchElementException", thrown)]
        handled, refused = Handled(), None
        try:
            handled = self.perform(command)
        except OtherRequests as other:
            return [Disagreement("requests to ZooKeeper", other.ours, other.kafkas)]
        except BatchNotEmpty:
            refused = StateChangeFailure.BatchNotEmpty
        thrown = seen.get("thrown")
        if thrown is not None and thrown["thrown"] == "NoSuchElementException" and self._counts_no_replicas(command):
            thrown = None
        kafkas = None if thrown is None else decoded_cause(thrown)
        return [
            *self._compared(),
            *self._disagreements(command, handled, seen),
            *different("exception", refused, kafkas),
        ]

    # Comparison.

    def _compared(self) -> list[Disagreement]:
        return [
            disagreement
            for name, value in self._seen().items()
            for disagreement in different(name, value, self.kafkas[name])
        ]

    def _seen(self) -> dict[str, Any]:
        state, batch = self.context.state, self.batch.state
        return {
            **of_context(state),
            "znodes": {
                path: (node.version, node.data)
                for path, node in self.zookeeper.state.nodes.items()
                if path == CONTROLLER_EPOCH or path.startswith(("/brokers/topics", "/config/topics"))
            },
            "left": (
                batch.leader_and_isr,
                batch.stop_replica,
                batch.update_metadata,
                batch.update_metadata_brokers,
            ),
        }

    def _disagreements(
        self, command: ControlCommand, handled: Handled, seen: Mapping[str, Any]
    ) -> list[Disagreement]:
        """The differences in what only one command shows: requests, results, failures."""
        disagreements = [
            *different("requests to brokers", self.sent, decoded_requests(seen["sent"])),
            *different("controller moved", handled.controller_moved, seen.get("moved", False)),
        ]
        if command["do"] == "change_partitions" and self.tells_results and not handled.controller_moved:
            results = {
                partition: outcome
                for partition, outcome in handled.results
                if not self.is_old or not isinstance(outcome, LeaderAndIsr)
            }
            disagreements += different("results", results, decoded_results(seen.get("results", {})))
        ours = sorted((failed for failed in self.log if failed.subject is not None), key=repr)
        kafkas = sorted(map(decoded_failure, seen["log"]), key=repr)
        if handled.controller_moved:  # then Kafka has not yet logged the failures of the same round
            kafkas = ours = kafkas if set(kafkas) <= set(ours) else ours
        return [*disagreements, *different("failures", ours, kafkas)]

    def _is_known_to_throw(self, command: ControlCommand) -> bool:
        """In Kafka an unknown state is no state, so its lookup throws; here it is NonExistentPartition."""
        known = self.context.state.partition_states
        return (
            not self.is_old
            and command["do"] == "trigger"
            and any(partition not in known for partition in self.context.partitions_for_topic(command["topic"]))
        )

    def _counts_no_replicas(self, command: ControlCommand) -> bool:
        """Whether a topic is queued a second time that has leaders but no replicas any longer.

        From 2.7 to 3.1 Kafka then looks for the first replica of each partition, to take it out of a metric; there is
        none. [ControllerContext.cleanPreferredReplicaImbalanceMetric, 2.8; `allow_requeued_deletion`]
        """
        if self.design.allow_requeued_deletion or command["do"] != "queue_deletion":
            return False
        known = self.context.state.partition_leadership_info
        queued = (each for topic in command["topics"] for each in self.context.partitions_for_topic(topic))
        return any(each in known and not self.context.partition_replica_assignment(each) for each in queued)

    # Commands in steps.

    def perform(self, command: ControlCommand) -> Handled:
        """Carry out a command, and the change of states that it begins."""
        calls = super().perform(command)
        if not isinstance(calls, tuple):
            return Handled()
        driver, number = self.driver, 0
        step = driver.go_on(EventWaiting(calls=(*calls, then(driver.reply))))
        while isinstance(step, EventWaiting):
            awaits = step.awaits
            assert awaits is not None
            assert isinstance(awaits.what, StateRequests)
            requests = driver.requests(awaits)
            if self.is_sequential and awaits.what.due in ABOVE_STATES:
                step = driver.answered(step, self.answers(requests, {}, number))
                continue
            asked = self._asked[number] if number < len(self._asked) else []
            step = step._replace(awaits=in_order(awaits, requests, asked))
            step = driver.answered(step, self.answers(driver.requests(step.awaits), command, number))
            number += 1
        if number != len(self._asked):
            raise OtherRequests([], self._asked[number:])
        return Handled(step.answer or (), step.failure is EventFailure.ControllerMoved)

    # Commands: what the controller learns.

    def assign(
        self, partition: str, replicas: Sequence[BrokerId], adding: Sequence[BrokerId], removing: Sequence[BrokerId]
    ) -> None:
        """A partition is assigned; its topic's node is created."""
        assigned = parsed(partition)
        path = f"/brokers/topics/{assigned.topic}"
        if path not in self.zookeeper.state.nodes:
            self.zookeeper.create(None, path)
        self.context.set_all_topics({*self.context.state.all_topics, assigned.topic})
        assignment = ReplicaAssignment(tuple(replicas), tuple(adding), tuple(removing))
        self.context.update_partition_full_replica_assignment(assigned, assignment)

    def assign_all(self, assigned: Iterable[ControlCommand]) -> None:
        """Several partitions are assigned, each as by an `assign` of its own."""
        for each in assigned:
            self.perform(each)

    def brokers_up(self, brokers: Iterable[tuple[BrokerId, int]]) -> None:
        """Brokers are registered, each with an epoch."""
        self.context.add_live_brokers(dict(brokers))

    def brokers_down(self, brokers: Iterable[BrokerId]) -> None:
        """Brokers are no longer registered."""
        self.context.remove_live_brokers(brokers)

    def shut_down(self, brokers: Iterable[BrokerId]) -> None:
        """These brokers, and no others, have asked for a controlled shutdown."""
        self.context.state.shutting_down_broker_ids = frozenset(brokers)

    def fail_directories(self, broker: BrokerId, partitions: Iterable[str]) -> None:
        """The log directories of these partitions fail on a broker."""
        self.context.state.replicas_on_offline_dirs[broker] = frozenset(map(parsed, partitions))

    def queue_deletion(self, topics: Iterable[TopicName]) -> None:
        """Topics are queued for deletion."""
        self.context.queue_topic_deletion(topics)

    def begin_deletion(self, topics: Iterable[TopicName]) -> None:
        """Their deletion begins."""
        self.context.begin_topic_deletion(topics)

    def mark_ineligible(self, topics: Iterable[TopicName]) -> None:
        """Their deletion must wait."""
        self.context.state.topics_ineligible_for_deletion |= frozenset(topics)

    def remove_topic(self, topic: TopicName) -> None:
        """A topic is gone, its nodes with it."""
        self.context.remove_topic(topic)
        nodes, root = self.zookeeper.state.nodes, f"/brokers/topics/{topic}"
        for path in sorted(nodes, reverse=True):
            if path == root or path.startswith(f"{root}/"):
                self.zookeeper.delete(None, path)

    def fail_over(self) -> None:
        """The controller is elected and reads the states of all partitions, not knowing their earlier states."""
        self.newer_controller()
        state = self.context.state
        state.epoch, stat = self.zookeeper.get(None, CONTROLLER_EPOCH)
        state.epoch_zk_version = stat.version
        state.partition_states.clear()
        state.replica_states.clear()
        state.partition_leadership_info.clear()
        for partition in self.context.all_partitions():
            path = topic_partition_state_path(partition)
            if path in self.zookeeper.state.nodes:
                data, stat = self.zookeeper.get(None, path)
                self.context.put_partition_leadership_info(partition, data.decode(stat.version))

    def clear_batch(self) -> None:
        """Forget what an earlier change left in the batch."""
        self.batch.clear()

    # Commands: what its batch of requests and its state machines do.

    def send_requests(self, added: Iterable[Sequence[Any]]) -> None:
        """Send a batch of rows: a kind, a partition, brokers, and, except for `metadata`, a flag."""
        self.batch.new_batch()
        for kind, name, brokers, *flag in added:
            partition = parsed(name)
            known = self.context.leadership_of(partition)
            if kind == "stop_replica":
                self.batch.add_stop_replica_request_for_brokers(brokers, partition, *flag)
            elif kind == "metadata":
                self.batch.add_update_metadata_request_for_brokers(brokers, (partition,))
            elif known is not None:
                assignment = self.context.partition_full_replica_assignment(partition)
                self.batch.add_leader_and_isr_request_for_brokers(brokers, partition, known, assignment, *flag)
        self.batch.send_requests_to_brokers(self.context.state.epoch)

    def change_partitions(self, partitions: Sequence[str], target: str, strategy: Any, allow_unclean: bool) -> Calls:
        """Move partitions to a state."""
        how = None if strategy is None else PartitionLeaderElectionStrategy(strategy, allow_unclean)
        these = [parsed(partition) for partition in partitions]
        return self.partitions.handle_state_changes(these, PartitionState[target], how)

    def change_replicas(self, replicas: Sequence[tuple[str, BrokerId]], target: str) -> Calls:
        """Move replicas to a state."""
        these = [PartitionAndReplica(parsed(partition), broker) for partition, broker in replicas]
        return self.replicas.handle_state_changes(these, ReplicaState[target])

    def start_partitions(self) -> Calls:
        """Start the partitions' state machine."""
        if self.is_sequential:
            self._go_through_as_kafka()
            for partition in self.context.all_partitions():
                self.context.state.partition_states.pop(partition, None)
        return self.partitions.startup()

    def _go_through_as_kafka(self) -> None:
        """Until 1.0 each partition has requests of its own, in the order of a hash map; put ours into that order."""
        place = {path: rank for rank, [path] in reversed(list(enumerate(self._asked)))}
        knowledge: tuple[MutableMapping[TopicPartition, Any], ...] = (
            self.context.state.partition_states,
            self.context.state.partition_assignments,
        )
        for known in knowledge:
            ordered = sorted(known.items(), key=lambda each: place.get(topic_partition_state_path(each[0]), -1))
            known.clear()
            known.update(ordered)

    def start_replicas(self) -> Calls:
        """Start the replicas' state machine."""
        return self.replicas.startup()

    def trigger(self, topic: TopicName | None) -> Calls:
        """Elect a leader for every leaderless partition, of one topic or of all."""
        if self.is_sequential:
            self._go_through_as_kafka()
        return self.partitions.trigger_online_partition_state_change(topic)
