"""A topic is deleted while brokers die and controllers follow each other: is it ever gone, and is all of it gone?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from itertools import chain
from typing import Annotated, Any, Final

from election.ids import BrokerId
from spec.language import (
    Domain,
    Grid,
    Look,
    Partial,
    Size,
    Step,
    Tag,
    action,
    bound,
    constant,
    initial,
    integers,
    invariant,
    left_out,
    picture,
    require,
    say,
    sometimes,
    subset_of,
    switches,
    transition_invariant,
    variable,
    view,
)
from spec.parts.controller_calls import in_order, stack_frames_of
from spec.parts.zk_client import ZkClientReadingVariables
from spec.parts.zookeeper import Znodes
from spec.releases import ByRelease
from spec.systems.cluster import (
    ANSWERS,
    TOPIC,
    TOPIC_PATH,
    ClusterSpec,
    ClusterState,
    isr_may_change,
)
from statemachines.broker_changes import BrokerChanges
from statemachines.control_design import ControlDesign, control_design_of
from statemachines.controller import CONTROLLER_EPOCH
from statemachines.controller_calls import Await, Calls, Frame, StackFrames, call, call_of
from statemachines.controller_event_processor import ControllerEventProcessor
from statemachines.controller_failover import ControllerFailover
from statemachines.controller_zk_client import ControllerZkClient
from statemachines.messages.control_requests import ControlRequest, LeaderAndIsrRequest, StopReplicaRequest
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import NO_LEADER, LeaderAndIsr
from statemachines.messages.replica_assignment import UNASSIGNED, ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicName, TopicPartition
from statemachines.partition_state_machine import OFFLINE
from statemachines.state_change import Handled
from statemachines.tables.partition import (
    NewPartition,
    NonExistentPartition,
    OfflinePartition,
    OnlinePartition,
)
from statemachines.tables.replica import (
    NewReplica,
    OfflineReplica,
    OnlineReplica,
    ReplicaDeletionIneligible,
    ReplicaDeletionStarted,
    ReplicaDeletionSuccessful,
)
from statemachines.topic_changes import TopicChanges
from statemachines.topic_deletion_manager import TopicDeletionManager
from statemachines.zk_data import (
    DELETE_TOPICS,
    TopicAssignment,
    TopicPartitionState,
    delete_topics_topic_path,
    topic_partition_path,
    topic_partition_state_path,
    topic_partitions_path,
)
from statemachines.zookeeper.tree import Node, ZkPath

Creations = Annotated[int, "how often the topic was created again"]
"""A number of creations."""
Refusals = Annotated[int, "how often a broker could not delete a replica"]
"""A number of errors."""

MARK: Final = delete_topics_topic_path(TOPIC)
"""The node that says that the topic is to be deleted."""


def children_first(partitions: Iterable[TopicPartition]) -> tuple[ZkPath, ...]:
    """The nodes of a topic with these partitions, in the order in which they are deleted."""
    of_partitions = ((topic_partition_state_path(each), topic_partition_path(each)) for each in partitions)
    return (*chain.from_iterable(of_partitions), topic_partitions_path(TOPIC), TOPIC_PATH)


class Deletion(Enum):
    """How far a broker is that was told to delete a replica."""

    Asked = "the request is on its way to the broker"
    Done = "the replica is deleted, and the answer is on its way to the controller"
    Failed = "it could not be deleted, and the answer is on its way to the controller"
    Refused = "it could not be deleted, as the controller has heard"

    def __str__(self) -> str:
        return self.name


class ClusterWithDeletions(ClusterState):
    """A cluster whose topic comes and goes, with the logs on its brokers."""

    creations: Creations = variable("How often an administrator created the topic again.")
    refusals: Refusals = variable("How often a broker answered with an error.")
    deletions: Partial[PartitionAndReplica, Deletion] = variable(
        "The replicas that brokers were told to delete, until the controller hears that it is done, or they are told "
        "something else."
    )
    logs: frozenset[PartitionAndReplica] = variable(
        "The replicas that have a log, on brokers that run or not. Left out: what is in it."
    )
    modified: bool = variable("The topic's node was changed since the controller read it.")

    @property
    def exists(self) -> bool:
        """The topic's node is there."""
        return TOPIC_PATH in self.zk.nodes

    @property
    def marked(self) -> bool:
        """An administrator has asked for the topic's deletion."""
        return MARK in self.zk.nodes

    @property
    def queued(self) -> bool:
        """The controller has heard so. [isTopicQueuedUpForDeletion]"""
        return TOPIC in self.context.topics_to_be_deleted

    def leader(self, partition: TopicPartition) -> int:
        """The leader of a partition that is in ZooKeeper; -1 if there is none."""
        state = self.state(partition)
        return NO_LEADER if state is None else state.leader

    @property
    def in_node(self) -> tuple[TopicPartition, ...]:
        """The partitions that stand in the topic's node."""
        node = self.zk.nodes.get(TOPIC_PATH)
        return () if node is None else tuple(node.data.decode(TOPIC))


class DeletingZkClient(ZkClientReadingVariables):
    """A client for which each node of the topic that it deletes is a step of its own; see `TopicDeletion`."""

    cluster: ClusterWithDeletions

    def delete_topic_znode(self, topic: TopicName) -> Calls:
        """The nodes below it go first, in Kafka's order. No node comes meanwhile: only controllers make them."""
        return tuple(call(self.delete_node, path) for path in children_first(self.assignments))

    def delete_node(self, path: ZkPath) -> Calls:
        """A node goes, if it is there, and with that a step ends."""
        if path not in self.cluster.zk.nodes:
            return ()
        say(f"it deletes {path}")
        if path == TOPIC_PATH and self.cluster.modified:
            self.cluster.modified = False
        return (*ControllerZkClient.delete(self, (path,)), Await(Handled()))

    def delete_topic_configs(self, topics: Sequence[TopicName]) -> Calls:
        """Nothing is configured."""
        return ()

    def delete_topic_deletions(self, topics: Sequence[TopicName]) -> Calls:
        """The node that asked for it goes, in one step with what the controller makes of that."""
        if not topics:
            return ()
        say(f"it deletes {MARK}")
        return ControllerZkClient.delete(self, (MARK,))


def comes_again(self: TopicDeletion) -> bool:
    """The topic is created again."""
    return self.creations > 0


def may_be_leaderless(self: TopicDeletion) -> bool:
    """It may be created when no broker runs."""
    return self.creations > 0 and self.max_deaths >= self.brokers


def elects(self: TopicDeletion) -> bool:
    """Partitions are new, or lose their leaders."""
    return self.creations > 0 or self.additions or self.max_deaths > 0


def may_expand(self: TopicDeletion) -> bool:
    """A broker that keeps the topic may be out of sync."""
    return isr_may_change(self) and (self.isr_changes > 1 or self.max_deaths > 0)


def is_cut_short(self: TopicDeletion) -> bool:
    """A controller may find that another has been elected while it deletes nodes."""
    return self.moves > 0 and self.design.fence_zk


def waits(self: TopicDeletion) -> bool:
    """A deletion may have to wait."""
    return self.max_deaths > 0 or self.refusals > 0


class TopicDeletion(ClusterSpec[ClusterWithDeletions]):
    """One effective controller, and a topic that is deleted, and created again by the same name.

    What the controller does is `ControllerEventProcessor`'s, its deletions those of `TopicDeletionManager`; how an
    event is cut into steps, who is the controller and when brokers die and return stands in
    `spec.systems.partitions`, with which this has its rules in common. Here a deletion is cut where it writes, too:
    each node of the topic goes in a step of its own, children first, between which anything may happen, a failover as
    well. The node that asked for the deletion goes in one step with what the controller then forgets: it looks at
    nothing in between, and an administrator who sees that node gone earlier can do no more than create the topic, of
    which the controller hears later.

    A broker that is told to delete a replica does so when it likes, or answers with an error, or dies before; the
    controller hears of it when it has nothing to do, and hears several answers of one broker at once. To all else
    brokers obey at once. What was on its way when a controller resigns is lost: a broker that obeys all the same has
    a log less, of which the next controller has it told who leads, and then to delete it. That a request of the old
    controller overtakes one of the next is left out: the broker refuses it.

    An administrator deletes a topic that there is and creates one that there is not, and that is not still to be
    deleted, as Kafka's tools see to. So a controller hears of a topic before it hears that it is to go. With
    `additions` an administrator adds a partition, at any time; what the controller then reads and writes is one step,
    so that no administrator writes in between.

    As there, a controller does not die: it is cut short by a fence, which only those since 2.1 have. Before, an event
    goes on to its end.

    Left out: what `partitions` leaves out, but for deletion; several topics; reassignment, for which a deletion ought
    to wait, controlled shutdown, elections that are asked for, what is configured; that topics cannot be deleted
    (delete.topic.enable); administrators who do not look first; failures of ZooKeeper but for fences.
    """

    name = "topic-deletion"
    leaves_out = "queues of requests, bounced brokers, several topics, reassignment, controlled shutdown"

    max_deaths: int = constant(1, "Bound: how often brokers die.", at_least=0, at_most=9)
    isr_changes: int = constant(0, "Bound: how often the ISR of a partition is changed.", at_least=0, at_most=9)
    max_leader_epoch: int = constant(9, "Bound: the highest leader epoch; the first is 0.", at_least=0, at_most=30)
    partitions: int = constant(1, "Partitions of the topic; each prefers another broker.", at_least=1, at_most=2)
    creations: int = constant(1, "Bound: how often the topic is created again.", at_least=0, at_most=3)
    refusals: int = constant(1, "Bound: how often brokers answer with errors.", at_least=0, at_most=5)
    additions: bool = constant(False, "An administrator adds one more partition.")

    design: ControlDesign = switches(
        ControlDesign,
        ByRelease(control_design_of),
        only=[
            "fence_zk",
            "offline_on_failover",
            "leaderless_offline",
            "restore_assignment",
            "clear_batch",
            "forget_ineligible",
        ],
    )

    strategies = (OFFLINE,)
    deletable = (TOPIC,)
    zk_client = DeletingZkClient

    # How large it is.

    @property
    def assignments(self) -> Mapping[TopicPartition, ReplicaAssignment]:
        """Every broker keeps every partition, that which is added as well; they differ in which one they prefer."""
        ids = tuple(self.broker_ids)
        return {
            TopicPartition(TOPIC, number): ReplicaAssignment((*ids[number:], *ids[:number]))
            for number in range(self.partitions + self.additions)
        }

    @property
    def replicas(self) -> Sequence[PartitionAndReplica]:
        """In the order in which the controller comes to them that goes through partitions."""
        return [
            PartitionAndReplica(each, broker) for each, keep in self.assignments.items() for broker in keep.replicas
        ]

    @property
    def broker_by_broker(self) -> Domain[tuple[PartitionAndReplica, ...]]:
        """Some of them, in the order in which it comes to them that goes through brokers."""
        return in_order(sorted(self.replicas, key=lambda each: (each.replica, each.topic_partition)))

    @property
    def first(self) -> Mapping[TopicPartition, ReplicaAssignment]:
        """Those that the topic has when it is created."""
        return dict(list(self.assignments.items())[: self.partitions])

    @property
    def all_assignments(self) -> Mapping[TopicPartition, Collection[ReplicaAssignment]]:
        """When its replicas are deleted, no broker keeps a partition."""
        return {partition: (assignment, UNASSIGNED) for partition, assignment in self.assignments.items()}

    def is_to_be_deleted(self, s: ClusterWithDeletions, partition: TopicPartition) -> bool:
        """As an administrator has asked for."""
        return s.marked

    def sizes(self) -> Mapping[Any, Size]:
        """With what administrators and brokers do."""
        return {
            **super().sizes(),
            Creations: integers(0, self.creations),
            Refusals: integers(0, self.refusals),
            Deletion: [each for each in Deletion if self.refusals or each in (Deletion.Asked, Deletion.Done)],
        }

    @property
    def more_nodes(self) -> Collection[Znodes]:
        """The topic's node, and that which asks for its deletion."""
        some = in_order(self.assignments) if self.additions else (tuple(self.assignments),)
        data = [TopicAssignment.encode({each: self.assignments[each] for each in partitions}) for partitions in some]
        return (
            Znodes(TOPIC_PATH, data=data, version=left_out(), children=subset_of(("partitions",))),
            Znodes("/admin"),
            Znodes(DELETE_TOPICS),
            Znodes(MARK),
        )

    # What is left of an event.

    @property
    def narrowed(self) -> Mapping[Callable[..., Any], Mapping[str, Size]]:
        """Those that are gone may be of a topic that is to be deleted, which there is one of."""
        some: Size = self.broker_by_broker
        the_topic: Mapping[str, Size] = {"topics": ((TOPIC,),)}
        return {
            BrokerChanges.ELECTED.method: {"for_deletion": some, "not_for_deletion": some},
            BrokerChanges.fail_replica_deletion: {"replicas": some},
            ControllerZkClient.delete_topic_configs: the_topic,
            ControllerZkClient.delete_topic_deletions: the_topic,
        }

    @property
    def stack_frames(self) -> StackFrames:
        """Those of a failover, of what is created, of brokers that come and go; and a deletion in each of them."""
        failing = Frame(BrokerChanges.fail_replica_deletion)
        within: StackFrames = (
            (),
            (Frame(TopicChanges.complete_replica_deletion),),
            ControllerFailover.GOES_ON[1:],
            (BrokerChanges.GOING,),
            (BrokerChanges.TELLS_ALL,),
        )
        nodes = (call_of(DeletingZkClient.delete_node, path) for path in children_first(self.assignments))
        deleting: StackFrames = (*TopicDeletionManager.STACK_FRAMES, (*nodes, *TopicDeletionManager.FORGETS))
        return (
            *stack_frames_of(ControllerFailover, TopicChanges, BrokerChanges),
            (failing, BrokerChanges.TELLS_ALL),
            *((*body, *rest) for body in deleting for rest in within),
        )

    @initial
    def a_cluster_set_up(self, s: ClusterWithDeletions) -> None:
        """All brokers run, the topic is there, all its replicas are in sync; there is no controller."""
        for path in ("/brokers", "/brokers/topics", "/admin", DELETE_TOPICS):
            s.zk.nodes[path] = Node()
        s.zk.nodes[TOPIC_PATH] = Node(data=TopicAssignment.encode(self.first), children=frozenset({"partitions"}))
        numbers = frozenset(str(partition.partition) for partition in self.first)
        s.zk.nodes[topic_partitions_path(TOPIC)] = Node(children=numbers)
        for partition, assignment in self.first.items():
            state = TopicPartitionState(LeaderAndIsr(assignment.replicas[0], 0, assignment.replicas), 0)
            s.zk.nodes[topic_partition_path(partition)] = Node(children=frozenset({"state"}))
            s.zk.nodes[topic_partition_state_path(partition)] = Node(data=state)
        s.zk.nodes[CONTROLLER_EPOCH] = Node(data=0)
        s.registered = frozenset(self.broker_ids)
        s.logs = frozenset(replica for replica in self.replicas if replica.topic_partition in self.first)

    # The controller, over a state.

    def receive(self, s: ClusterWithDeletions, broker: BrokerId, request: ControlRequest) -> None:
        """A broker that runs makes a log for a replica that it is told of; to delete one takes its time."""
        super().receive(s, broker, request)
        if broker not in s.registered:
            return
        match request:
            case LeaderAndIsrRequest(partitionStates=states):
                for told in states:
                    replica = PartitionAndReplica(TopicPartition(told.topicName, told.partitionIndex), broker)
                    s.logs |= {replica}
                    s.deletions.pop(replica, None)
            case StopReplicaRequest(partitionStates=stopped):
                for each in stopped:
                    if each.deletePartition or request.deletePartitions:
                        replica = PartitionAndReplica(TopicPartition(each.topicName, each.partitionIndex), broker)
                        s.deletions[replica] = Deletion.Asked

    def resign(self, s: ClusterWithDeletions) -> None:
        """What was on its way is lost."""
        super().resign(s)
        s.deletions.clear()

    def forget_roles(self, s: ClusterWithDeletions, broker: BrokerId) -> None:
        """What a broker has not answered yet it never will; and its return resumes what it could not delete."""
        super().forget_roles(s, broker)
        for partition in self.assignments:
            replica = PartitionAndReplica(partition, broker)
            if s.deletions.get(replica) in (Deletion.Asked, Deletion.Refused):
                del s.deletions[replica]

    @action(actor="controller", receiver="ZooKeeper")
    def become_controller(self, s: ClusterWithDeletions) -> None:
        """The controller is elected, reads what there is, and starts its state machines. [onControllerFailover]"""
        super().become_controller(s)
        s.modified = False

    @action(when=elects, actor="controller", receiver="ZooKeeper")
    def answer_partitions(self, s: ClusterWithDeletions) -> None:
        """ZooKeeper answers the requests of the partition state machine."""
        super().answer_partitions(s)

    # Topics.

    @action(actor="administrator", receiver="ZooKeeper")
    def delete_topic(self, s: ClusterWithDeletions) -> None:
        """An administrator asks for the topic's deletion."""
        require(s.exists and not s.marked)
        self.zk.servers(s.zk).create(None, MARK)

    @action(actor="controller", receiver="ZooKeeper")
    def topic_deletion(self, s: ClusterWithDeletions) -> None:
        """The controller hears that the topic is to be deleted. [TopicDeletion]"""
        require(s.active and s.idle and s.marked and not s.queued and TOPIC in s.context.all_topics)
        self.begin(s, ControllerEventProcessor.process_topic_deletion)

    @action(when=comes_again, actor="administrator", receiver="ZooKeeper")
    def create_topic(self, s: ClusterWithDeletions) -> None:
        """An administrator creates the topic again, when it is gone."""
        require(not s.exists and not s.marked)
        bound(s.creations < self.creations)
        s.creations += 1
        self.zk.servers(s.zk).create(None, TOPIC_PATH, TopicAssignment.encode(self.first))

    @action(when=comes_again, actor="controller", receiver="ZooKeeper")
    def topic_change(self, s: ClusterWithDeletions) -> None:
        """The controller hears of the topic. [TopicChange, onNewPartitionCreation]"""
        require(s.active and s.idle and s.exists and TOPIC not in s.context.all_topics)
        s.modified = False
        self.begin(s, ControllerEventProcessor.process_topic_change)

    @action(when=lambda self: self.additions, actor="administrator", receiver="ZooKeeper")
    def add_partition(self, s: ClusterWithDeletions) -> None:
        """An administrator adds a partition to the topic, though it may be to be deleted."""
        require(s.exists and s.in_node == tuple(self.first))
        self.zk.servers(s.zk).set(None, TOPIC_PATH, TopicAssignment.encode(self.assignments))
        s.modified = True

    @action(when=lambda self: self.additions, actor="controller", receiver="ZooKeeper")
    def partition_modifications(self, s: ClusterWithDeletions) -> None:
        """The controller hears that the topic's node has changed. [PartitionModifications]"""
        require(s.active and s.idle and s.modified and TOPIC in s.context.all_topics)
        s.modified = False
        self.begin(s, ControllerEventProcessor.process_partition_modifications, TOPIC)

    # Brokers that delete.

    @action(actor="broker")
    def delete_log(self, s: ClusterWithDeletions, partition: TopicPartition, broker: BrokerId) -> None:
        """A broker deletes a replica, as it was told. [StopReplica]"""
        replica = PartitionAndReplica(partition, broker)
        require(s.deletions.get(replica) is Deletion.Asked)
        s.deletions[replica] = Deletion.Done
        s.logs -= {replica}

    @action(when=lambda self: self.refusals > 0, actor="broker")
    def fail_to_delete(self, s: ClusterWithDeletions, partition: TopicPartition, broker: BrokerId) -> None:
        """A broker cannot delete a replica. [KAFKA_STORAGE_ERROR]"""
        replica = PartitionAndReplica(partition, broker)
        require(s.deletions.get(replica) is Deletion.Asked)
        bound(s.refusals < self.refusals)
        s.refusals += 1
        s.deletions[replica] = Deletion.Failed

    @action(actor="broker", receiver="controller")
    def answer_deletion(self, s: ClusterWithDeletions, broker: BrokerId) -> None:
        """The controller hears which replicas a broker has deleted. [TopicDeletionStopReplicaResponseReceived]"""
        require(s.active and s.idle)
        replicas = [PartitionAndReplica(partition, broker) for partition in self.assignments]
        require(not any(s.deletions.get(replica) is Deletion.Asked for replica in replicas))
        errors: list[tuple[TopicPartition, Errors]] = []
        for replica in replicas:
            deletion = s.deletions.get(replica)
            if deletion is Deletion.Done:
                del s.deletions[replica]
                errors.append((replica.topic_partition, Errors.NONE))
            elif deletion is Deletion.Failed:
                self.refused(s, replica)
                errors.append((replica.topic_partition, Errors.KAFKA_STORAGE_ERROR))
        require(errors)
        handler = ControllerEventProcessor.process_topic_deletion_stop_replica_response_received
        self.begin(s, handler, broker, Errors.NONE, tuple(errors))

    def refused(self, s: ClusterWithDeletions, replica: PartitionAndReplica) -> None:
        """The deletion waits for this broker, unless it has died since: then its return resumes it."""
        if replica.replica in s.registered & frozenset(s.context.live_broker_epochs):
            s.deletions[replica] = Deletion.Refused
        else:
            del s.deletions[replica]

    @action(when=lambda self: self.max_deaths > 0, actor="controller", receiver="ZooKeeper")
    def broker_change(self, s: ClusterWithDeletions) -> None:
        """The controller reads which brokers are registered. [BrokerChange, onBrokerStartup]

        What one has answered before it died, it hears before it hears that the broker is back.
        """
        new = s.registered - frozenset(s.context.live_broker_epochs)
        answered = (replica.replica for replica, deletion in s.deletions.items() if deletion is not Deletion.Refused)
        require(not any(broker in new for broker in answered))
        super().broker_change(s)

    # Leaders.

    @action(when=may_expand, actor="leader", receiver="ZooKeeper")
    def expand_isr(self, s: ClusterWithDeletions, partition: TopicPartition, broker: BrokerId) -> None:
        """The leader takes a broker into the ISR that follows it. [Partition.maybeExpandIsr, 2.6]"""
        super().expand_isr(s, partition, broker)

    # Properties of deletions.

    @transition_invariant(of=(*ANSWERS, "next_change", "partition_modifications"))
    def fenced_writes(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """C4: a controller that writes, or deletes, has the epoch that is in ZooKeeper at that moment."""
        if before.context.epoch == before.epoch:
            return True
        if any(before.written(partition) != after.written(partition) for partition in self.assignments):
            return False
        return (before.in_node, before.exists, before.marked) == (after.in_node, after.exists, after.marked)

    @transition_invariant
    def only_what_is_marked_goes(self, before: ClusterWithDeletions, step: Step, after: ClusterWithDeletions) -> bool:
        """The topic's node goes only where that was asked for, and what asked for it goes last."""
        if before.exists and not after.exists:
            return before.marked and after.marked
        return after.marked or not before.marked or not after.exists

    @transition_invariant
    def deleted_as_it_was_known(self, before: ClusterWithDeletions, step: Step, after: ClusterWithDeletions) -> bool:
        """P16: a topic's node goes with partitions that are deleted, or of which the controller has not heard."""
        if after.exists or not before.exists or before.modified:
            return True
        return all(partition in before.context.partition_assignments for partition in before.in_node)

    @invariant
    def no_log_stays(self, s: ClusterWithDeletions, partition: TopicPartition, broker: BrokerId) -> bool:
        """P16: of a topic that is gone no broker has a log, running or not."""
        return s.exists or PartitionAndReplica(partition, broker) not in s.logs

    def knows_no_topic(self, s: ClusterWithDeletions) -> bool:
        """The controller has nothing to do, and knows of no topic."""
        return s.active and s.idle and TOPIC not in s.context.all_topics and not s.queued

    @invariant(where=knows_no_topic)
    def nothing_stays_known(self, s: ClusterWithDeletions) -> bool:
        """C14: of a topic that is gone the controller knows nothing, but that its partitions do not exist."""
        context = s.context
        if context.topics_with_deletion_started or context.topics_ineligible_for_deletion:
            return False
        if context.partition_assignments or context.partition_leadership_info or context.replica_states:
            return False
        return all(state is NonExistentPartition for state in context.partition_states.values())

    @transition_invariant(of=ANSWERS)
    def not_elected_for(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """Of a topic that is to be deleted no leader is elected, once the controller knows."""
        if not before.queued:
            return True
        leaders = ((before.leader(partition), after.leader(partition)) for partition in self.assignments)
        return all(new in (NO_LEADER, old) for old, new in leaders)

    @invariant(where=ClusterSpec.quiet)
    def waits_for_something(self, s: ClusterWithDeletions) -> bool:
        """When all is quiet, a deletion waits for a broker that does not run, or for one that could not delete."""
        if not s.queued:
            return True
        if Deletion.Refused in s.deletions.values():
            return True
        replicas = self.context.of(s.context).replicas_for_topic(TOPIC)
        return any(replica.replica not in s.registered for replica in replicas)

    def quiet(self, s: ClusterWithDeletions) -> bool:
        """And no answer is to come."""
        if not super().quiet(s) or s.exists != (TOPIC in s.context.all_topics) or s.marked != s.queued or s.modified:
            return False
        return all(deletion is Deletion.Refused for deletion in s.deletions.values())

    # What must be able to happen: every row of the tables that a deletion takes.

    def a_partition_becomes(
        self, before: ClusterWithDeletions, after: ClusterWithDeletions, source: object, target: object
    ) -> bool:
        """Whether some partition was in the one state before, and is in the other after it."""
        return any(self.partition_changes(before, after, each, source, target) for each in self.assignments)

    def a_replica_becomes(
        self, before: ClusterWithDeletions, after: ClusterWithDeletions, source: object, target: object
    ) -> bool:
        """Whether some replica was in the one state before, and is in the other after it."""
        return any(self.replica_changes(before, after, each, source, target) for each in self.replicas)

    @sometimes(when=comes_again, of="next_change")
    def a_topic_comes_again(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """NonExistentReplica -> NewReplica, of a topic that was deleted: NonExistentPartition -> NewPartition."""
        new = NewPartition in after.context.partition_states.values()
        return new and self.a_replica_becomes(before, after, None, NewReplica)

    @sometimes(when=may_be_leaderless)
    def deleted_before_it_was_led(
        self, before: ClusterWithDeletions, step: Step, after: ClusterWithDeletions
    ) -> bool:
        """NewPartition -> OfflinePartition."""
        return self.a_partition_becomes(before, after, NewPartition, OfflinePartition)

    @sometimes(of="next_change")
    def a_partition_goes(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """OfflinePartition -> NonExistentPartition."""
        return self.a_partition_becomes(before, after, OfflinePartition, NonExistentPartition)

    @sometimes(of="next_change")
    def a_deletion_starts(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """OfflineReplica -> ReplicaDeletionStarted."""
        return self.a_replica_becomes(before, after, OfflineReplica, ReplicaDeletionStarted)

    @sometimes(when=lambda self: self.max_deaths > 0)
    def a_dead_replica_is_not_deleted(
        self, before: ClusterWithDeletions, step: Step, after: ClusterWithDeletions
    ) -> bool:
        """OfflineReplica -> ReplicaDeletionIneligible."""
        return self.a_replica_becomes(before, after, OfflineReplica, ReplicaDeletionIneligible)

    @sometimes(of="answer_deletion")
    def a_replica_is_deleted(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """ReplicaDeletionStarted -> ReplicaDeletionSuccessful."""
        return self.a_replica_becomes(before, after, ReplicaDeletionStarted, ReplicaDeletionSuccessful)

    @sometimes(when=waits)
    def a_replica_cannot_be_deleted(
        self, before: ClusterWithDeletions, step: Step, after: ClusterWithDeletions
    ) -> bool:
        """ReplicaDeletionStarted -> ReplicaDeletionIneligible."""
        return self.a_replica_becomes(before, after, ReplicaDeletionStarted, ReplicaDeletionIneligible)

    @sometimes(of="next_change")
    def a_replica_is_forgotten(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """ReplicaDeletionSuccessful -> NonExistentReplica."""
        return self.a_replica_becomes(before, after, ReplicaDeletionSuccessful, None)

    @sometimes(when=waits)
    def it_is_tried_again(self, before: ClusterWithDeletions, step: Step, after: ClusterWithDeletions) -> bool:
        """ReplicaDeletionIneligible -> OfflineReplica."""
        return self.a_replica_becomes(before, after, ReplicaDeletionIneligible, OfflineReplica)

    @sometimes(when=lambda self: self.max_deaths > 0)
    def back_to_be_deleted(self, before: ClusterWithDeletions, step: Step, after: ClusterWithDeletions) -> bool:
        """ReplicaDeletionIneligible -> OnlineReplica."""
        return self.a_replica_becomes(before, after, ReplicaDeletionIneligible, OnlineReplica)

    # What else must be able to happen.

    @sometimes(where=ClusterSpec.quiet)
    def the_topic_is_gone(self, s: ClusterWithDeletions) -> bool:
        """All is quiet, and there is no topic."""
        return not s.exists

    @sometimes(where=ClusterSpec.quiet, when=comes_again)
    def the_topic_is_back(self, s: ClusterWithDeletions) -> bool:
        """All is quiet, and a partition is online of a topic that was created again."""
        return s.creations > 0 and OnlinePartition in s.context.partition_states.values()

    @sometimes(where=ClusterSpec.quiet, when=lambda self: self.max_deaths > 0)
    def waits_for_a_broker(self, s: ClusterWithDeletions) -> bool:
        """All is quiet, and a deletion waits for a broker that does not run."""
        return s.queued and len(s.registered) < self.brokers

    @sometimes(where=ClusterSpec.quiet, when=lambda self: self.refusals > 0)
    def waits_though_all_run(self, s: ClusterWithDeletions) -> bool:
        """All is quiet, and a deletion waits that no broker that returns will resume: one could not delete."""
        return s.queued and len(s.registered) == self.brokers

    @sometimes(when=is_cut_short, of="become_controller")
    def taken_over(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """A controller begins with a topic of which nodes are gone already."""
        return after.marked and after.exists and not any(map(after.written, self.assignments))

    @sometimes(when=is_cut_short, of="become_controller")
    def only_the_mark_is_left(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """A controller begins, and only what asked for the deletion is left."""
        return after.marked and not after.exists

    @sometimes(when=lambda self: self.moves > 0, of="become_controller")
    def a_log_comes_again(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """A controller begins, and a broker that had deleted its log is told to follow or lead once more."""
        return before.logs < after.logs

    @sometimes(when=lambda self: self.additions, of="partition_modifications")
    def hears_of_an_addition(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """The controller hears of a partition that was added to a topic that it is to delete."""
        return before.queued

    # What a state means, to the reader of a trace.

    @view
    def existence(self, s: ClusterWithDeletions) -> str:
        """Whether there is a topic, and what is to become of it."""
        if not s.exists:
            return f"there is no {TOPIC}" + (f", and {MARK} asks still for its deletion" if s.marked else "")
        asked = f"{TOPIC} is there" if not s.marked else f"{TOPIC} is to be deleted"
        if not s.active or (not s.marked and not s.queued):
            return asked
        if not s.queued:
            return f"{asked}, of which the controller has not heard"
        return asked + (", and has to wait" if TOPIC in s.context.topics_ineligible_for_deletion else "")

    @view
    def replica(self, s: ClusterWithDeletions, partition: TopicPartition, broker: BrokerId) -> str:
        """What the controller takes a replica for, and whether it has a log."""
        at = PartitionAndReplica(partition, broker)
        state, deletion = s.context.replica_states.get(at), s.deletions.get(at)
        told = [f"is {state.name} to the controller"] if state is not None else []
        told += ["has a log"] if at in s.logs else []
        told += [f"was told to delete it: {deletion.value}"] if deletion is not None else []
        return f"the replica of {partition} on broker {broker} {', '.join(told)}" if told else ""

    # As it is drawn.

    @picture
    def copies(self, s: ClusterWithDeletions) -> Grid:
        """What the controller takes each replica for, which have logs, and which are to delete them."""
        rows = []
        for at in self.replicas:
            state, deletion = s.context.replica_states.get(at), s.deletions.get(at)
            log = Tag("log", Look.plain if at.replica in s.registered else Look.gone) if at in s.logs else ""
            told = "" if deletion is None else Tag(deletion.name, Look.strong, deletion.value)
            rows.append((f"{at.topic_partition} on {at.replica}", "" if state is None else state.name, log, told))
        return Grid(("replica", "to the controller", "log", "told to delete it"), rows)
