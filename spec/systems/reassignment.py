"""A partition moves from some brokers to others: what does the controller tell whom to delete, and what is left?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Final

from typing_extensions import TypeVar

from election.ids import BrokerId
from spec.language import (
    Grid,
    Look,
    Partial,
    Size,
    Step,
    Tag,
    Tags,
    action,
    assumption,
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
    switches,
    transition_invariant,
    variable,
    view,
)
from spec.parts.controller_calls import stack_frames_of
from spec.parts.zk_client import ZkClientReadingVariables, isr_change_notification_path
from spec.parts.zookeeper import Znodes
from spec.releases import ByRelease
from spec.systems.cluster import (
    ANSWERS,
    TOPIC,
    TOPIC_PATH,
    ClusterSpec,
    ClusterState,
    Role,
    isr_may_change,
    leaders_write,
)
from statemachines.alter_partition import AlteringPartitions
from statemachines.broker.in_sync_replicas import may_expire
from statemachines.broker_changes import BrokerChanges
from statemachines.control_design import ControlDesign, control_design_of
from statemachines.controller import CONTROLLER_EPOCH
from statemachines.controller_calls import (
    Await,
    Call,
    Calls,
    EventFailure,
    Frame,
    Processing,
    StackFrames,
    ZkRequests,
    at_last,
    call_of,
    then,
    then_of,
)
from statemachines.controller_event_processor import ControllerEventProcessor
from statemachines.controller_failover import ControllerFailover
from statemachines.controller_zk_client import Assignments, ControllerZkClient
from statemachines.messages.control_requests import ControlRequest, LeaderAndIsrRequest, StopReplicaRequest
from statemachines.messages.leader_and_isr import NO_LEADER, LeaderAndIsr, LeaderRecoveryState
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicName, TopicPartition
from statemachines.partition_reassignment import PartitionReassignment
from statemachines.partition_state_machine import OFFLINE, REASSIGN
from statemachines.reassignment_steps import ReassignmentSteps
from statemachines.state_change import Handled, Processed
from statemachines.tables.replica import (
    NewReplica,
    OfflineReplica,
    OnlineReplica,
    ReplicaDeletionStarted,
    ReplicaDeletionSuccessful,
)
from statemachines.zk_data import (
    ISR_CHANGE_NOTIFICATION,
    REASSIGN_PARTITIONS,
    TopicAssignment,
    TopicPartitionState,
    topic_partition_path,
    topic_partition_state_path,
    topic_partitions_path,
)
from statemachines.zookeeper.tree import Node, ZkPath

Requests = Annotated[int, "how often administrators asked for something"]
"""A number of requests."""
Brokers = Annotated[tuple[BrokerId, ...], "the brokers that are to keep a partition, in the order of their ids"]
"""Where a partition is to move to."""

PARTITION: Final = TopicPartition(TOPIC, 0)
"""The partition that moves."""
ENDINGS: Final = (PartitionReassignment.ENDING, PartitionReassignment.ZK_ENDING)
"""The calls with which a reassignment ends, by request and by the node."""


class ReassignedCluster(ClusterState):
    """A cluster whose partition moves, with the logs on its brokers."""

    requests: Requests = variable("How often an administrator asked for a reassignment, or gave it up.")
    complete: frozenset[BrokerId] = variable(
        "The brokers that have all records in their logs which were acknowledged, running or not. Left out: the "
        "records themselves, so that another log is no more than behind."
    )
    reassignment_targets: Partial[TopicPartition, tuple[BrokerId, ...]] = variable(
        "Where partitions move to by the node, as the controller remembers it until 2.3.",
        of=lambda self, partition: () if self.design.kip_455 else self.targets,
    )
    leaders_replicas: frozenset[BrokerId] = variable(
        "The replicas that the leader was told of with its leader epoch. Left out where it does not look at them.",
        when=lambda self: not self.design.expire_unassigned,
    )

    @property
    def assignment(self) -> ReplicaAssignment:
        """Which brokers keep the partition, as ZooKeeper has it."""
        data: TopicAssignment = self.zk.nodes[TOPIC_PATH].data
        return data.partitions[0][1]

    @property
    def asked_for(self) -> tuple[BrokerId, ...] | None:
        """Where /admin/reassign_partitions has the partition move to, if it is there."""
        node = self.zk.nodes.get(REASSIGN_PARTITIONS)
        return None if node is None else node.data[0][1]


class ReassigningZkClient(ZkClientReadingVariables):
    """A client for which what a reassignment writes is a step of its own; see `Reassignment`."""

    cluster: ReassignedCluster

    def _in_a_step_of_its_own(self, following: Call) -> Calls:
        return (Await(Handled(), following),)

    # What it writes.

    def set_topic_assignment(
        self, topic: TopicName, assignments: Mapping[TopicPartition, ReplicaAssignment], following: Call
    ) -> Calls:
        """The topic's node is written, in the next step."""
        due = then(self._assignment_is_due, topic, tuple(assignments.items()), following)
        return self._in_a_step_of_its_own(due)

    def _assignment_is_due(self, _: object, topic: TopicName, assignments: Assignments, following: Call) -> Calls:
        say("it writes the topic's node")
        return super().set_topic_assignment(topic, dict(assignments), following)

    def update_leader_epoch(self, partition: TopicPartition, following: Call) -> Calls:
        """The leader epoch is incremented, in the next step, which reads it as well: a conflict is read again."""
        return self._in_a_step_of_its_own(then(self._epoch_is_due, partition, following))

    def _epoch_is_due(self, _: object, partition: TopicPartition, following: Call) -> Calls:
        say("it increments the leader epoch")
        return super().update_leader_epoch(partition, following)

    def delete_recursive(self, path: ZkPath) -> Calls:
        """/admin/reassign_partitions is deleted, in the next step."""
        return self._in_a_step_of_its_own(then(self._deletion_is_due, path))

    def _deletion_is_due(self, _: object, path: ZkPath) -> Calls:
        say(f"it deletes {path}")
        return super().delete_recursive(path)

    # What it deletes as it reads it: other notifications may come before the event ends.

    def get_children(self, path: ZkPath, following: Call, watch: bool = False) -> Calls:
        """Notifications go, if the controller may delete them."""
        children = super().get_children(path, following, watch)
        if path == ISR_CHANGE_NOTIFICATION and self.may_delete:
            self.forget_notifications()
        return children

    def delete(self, paths: Iterable[ZkPath]) -> Calls:
        """They are gone already, unless the controller may not delete them: then it finds out."""
        return () if self.may_delete else super().delete(paths)


R = TypeVar("R", bound=ReassignedCluster, default=ReassignedCluster)


def by_node(self: Reassignment[Any]) -> bool:
    """Reassignments are asked for by /admin/reassign_partitions."""
    return not self.design.kip_455 and self.requests > 0


def by_api(self: Reassignment[Any]) -> bool:
    """They are asked for by AlterPartitionReassignments."""
    return self.design.kip_455 and self.requests > 0


def may_add(self: Reassignment[Any]) -> bool:
    """A broker may be asked to keep the partition that does not keep it yet."""
    first = self.assignments[PARTITION].replicas
    return self.requests > 0 and any(not {*target} <= {*first} for target in self.targets)


def may_arrive(self: Reassignment[Any]) -> bool:
    """Brokers may get in sync that are to keep the partition alone."""
    first = self.assignments[PARTITION].replicas
    new = [len(target) for target in self.targets if frozenset(target).isdisjoint(first)]
    return self.requests > 0 and isr_may_change(self) and min(new, default=self.isr_changes + 1) <= self.isr_changes


def may_expand(self: Reassignment[Any]) -> bool:
    """A broker that keeps the partition may not be in sync."""
    return isr_may_change(self) and (self.first_replicas > 1 or may_add(self))


def may_shrink(self: Reassignment[Any]) -> bool:
    """An ISR may have several members, and is not that of a single replica as soon as it has them."""
    several = self.first_replicas > 1 or (self.isr_changes > 1 and (self.most_replicas > 1 or not self.asks_for_isr))
    return several and isr_may_change(self)


def may_be_in_sync_from_outside(self: Reassignment[Any]) -> bool:
    """A controller may fail as it takes away a replica that another reassignment has brought in sync."""
    several = self.requests > 1 and self.most_replicas > 1 and self.brokers > 2
    return by_api(self) and several and isr_may_change(self) and self.moves > 0


class Reassignment(ClusterSpec[R]):
    """One effective controller, and a partition that administrators have moved from brokers to others.

    What the controller does is `ControllerEventProcessor`'s; how it is cut into steps, who is the controller and what
    brokers do stands in `spec.systems.partitions`, with which this has its rules in common. Here an event of a
    reassignment is cut where it writes, too: the topic's node, a leader epoch, the end of the node
    /admin/reassign_partitions are written in a step each, between which anything may happen, a failover as well. What
    is read for such a write, and what is looked at between two, is read in the same step as what follows; ZooKeeper
    refuses none of these writes but by its fence.

    A broker obeys at once. A replica that stops with deletion loses its log. Of logs it is known which of them have
    all that was acknowledged: whoever joins the ISR has as much as its leader, and `acknowledge` is any number of
    records that a leader and its whole ISR take, so that all other logs are behind. A log on a dead broker stays.

    Since 2.7 a leader asks the controller to change its ISR (AlterPartition), when the controller has nothing else to
    do; that it asks, what is written and what is read again is one step. Until 2.6 it writes the ISR itself, and
    tells the controller, which hears of it later. Until 2.3 reassignments are asked for by the node, one at a time;
    an administrator gives one up by deleting that node and having another controller elected. Since 2.4 they are
    asked for by AlterPartitionReassignments, which may come while another one is under way.

    Left out: what `partitions` leaves out, but for these; more than one partition; controlled shutdown, elections
    that are asked for, the creation of topics; reassignments by the node since 2.4; the watch of a partition's state
    until 2.6, which tells the controller of an ISR a little sooner than the notification does.
    """

    name = "reassignment"
    leaves_out = "queues of requests, bounced brokers, several partitions, records, controlled shutdown, deletion"

    brokers: int = constant(3, "Brokers that may keep the partition.", at_least=2, at_most=4)
    isr_changes: int = constant(2, "Bound: how often the ISR of the partition is changed.", at_least=0, at_most=9)
    max_deaths: int = constant(1, "Bound: how often brokers die.", at_least=0, at_most=9)
    moves: int = constant(0, "Bound: how often another controller is elected.", at_least=0, at_most=3)
    max_leader_epoch: int = constant(9, "Bound: the highest leader epoch; the first is 0.", at_least=0, at_most=30)
    first_replicas: int = constant(1, "Replicas at first: on the first brokers.", at_least=1, at_most=3)
    least_replicas: int = constant(1, "Replicas that an administrator asks for, at least.", at_least=1, at_most=3)
    most_replicas: int = constant(2, "Replicas that an administrator asks for, at most.", at_least=1, at_most=3)
    away: bool = constant(False, "An administrator asks only for brokers that did not keep the partition at first.")
    requests: int = constant(2, "Bound: how often a reassignment is asked for, or given up.", at_least=0, at_most=5)

    design: ControlDesign = switches(
        ControlDesign,
        ByRelease(control_design_of),
        only=[
            "fence_zk",
            "keep_last_isr",
            "offline_on_failover",
            "reset_context",
            "kip_455",
            "remember_epoch",
            "leave_reassignment",
            "alter_partition",
            "expire_unassigned",
            "clear_batch",
            "keep_in_sync",
            "keep_leader",
        ],
    )

    @property
    def asks_for_isr(self) -> bool:
        """Since 2.7."""
        return self.design.alter_partition

    @assumption
    def enough_brokers(self) -> bool:
        """There are brokers for what is asked for."""
        free = self.brokers - self.first_replicas * self.away
        return self.first_replicas <= self.brokers and self.least_replicas <= min(free, self.most_replicas)

    strategies = (OFFLINE, REASSIGN)
    at_once = (ZkRequests, AlteringPartitions)
    zk_client = ReassigningZkClient

    # How large it is.

    @property
    def assignments(self) -> Mapping[TopicPartition, ReplicaAssignment]:
        """The first brokers keep the partition."""
        return {PARTITION: ReplicaAssignment(tuple(range(self.first_replicas)))}

    @cached_property
    def targets(self) -> tuple[tuple[BrokerId, ...], ...]:
        """Where a partition may be moved to."""
        every = (1 + number for number in range(2**self.brokers - 1))
        sets = (tuple(each for each in range(self.brokers) if number & 1 << each) for number in every)
        first = frozenset(range(self.first_replicas)) if self.away else frozenset()
        lengths = range(self.least_replicas, self.most_replicas + 1)
        return tuple(brokers for brokers in sets if len(brokers) in lengths and first.isdisjoint(brokers))

    @property
    def all_assignments(self) -> Mapping[TopicPartition, Collection[ReplicaAssignment]]:
        """Every one that reassignments lead to."""
        return {PARTITION: self.reachable}

    @cached_property
    def reachable(self) -> tuple[ReplicaAssignment, ...]:
        """From the first one, by what the controller makes of targets."""
        found = dict.fromkeys(self.assignments.values())
        for now in (left := list(found)):
            for each in self.next_to(now):
                if each not in found:
                    found[each] = None
                    left.append(each)
        return tuple(found)

    def next_to(self, now: ReplicaAssignment) -> Iterator[ReplicaAssignment]:
        """What an assignment may become."""
        if self.design.kip_455:
            yield ReplicaAssignment(now.target_replicas)
            yield from (now.reassign_to(target) for target in (now.origin_replicas, *self.targets))
            return
        for target in self.targets:
            yield ReplicaAssignment(target)
            yield ReplicaAssignment(tuple(dict.fromkeys((*target, *now.replicas))))

    @property
    def type_sizes(self) -> Mapping[Any, Size]:
        """With the assignments. Only who is elected uncleanly has to recover."""
        recovery = tuple(LeaderRecoveryState) if self.unclean else (LeaderRecoveryState.RECOVERED,)
        more = {ReplicaAssignment: self.reachable, Brokers: self.targets, LeaderRecoveryState: recovery}
        return {**super().type_sizes, **more}

    def sizes(self) -> Mapping[Any, Size]:
        """With what administrators ask for."""
        return {**super().sizes(), Requests: integers(0, self.requests)}

    @property
    def more_nodes(self) -> Collection[Znodes]:
        """The topic's node, and that which asks for reassignments."""
        assignments = [TopicAssignment.encode({PARTITION: each}) for each in self.reachable]
        asked = [((PARTITION, target),) for target in self.targets]
        return (
            Znodes(TOPIC_PATH, data=assignments, version=left_out(), children=(frozenset({"partitions"}),)),
            Znodes("/admin"),
            *(() if self.design.kip_455 else (Znodes(REASSIGN_PARTITIONS, asked, version=left_out()),)),
        )

    # What is left of an event.

    @property
    def resume_frames(self) -> tuple[Frame | Call, ...]:
        """What is written in a step of its own, beside what elections come to."""
        due = [then_of(ReassigningZkClient._deletion_is_due, REASSIGN_PARTITIONS)]
        updated = ReassignmentSteps.assignment_updated()
        for assignment in self.reachable:
            written = ((PARTITION, assignment),)
            due.append(then_of(ReassigningZkClient._assignment_is_due, TOPIC, written, updated))
            for to, to_new in self.told_of(assignment):
                tell = ReassignmentSteps.leader_epoch_updated(PARTITION, assignment, to, to_new)
                due.append(then_of(ReassigningZkClient._epoch_is_due, PARTITION, tell))
        return (*super().resume_frames, *due)

    def told_of(self, assignment: ReplicaAssignment) -> Iterable[tuple[tuple[BrokerId, ...], tuple[BrokerId, ...]]]:
        """Who may be told of the leader epoch of this assignment, and who as new."""
        if self.design.kip_455:
            told = (assignment.origin_replicas, assignment.adding_replicas)
            return [told if self.design.tell_added_as_new else (assignment.replicas, ())]
        return [(each.replicas, ()) for each in self.reachable]

    @property
    def stack_frames(self) -> StackFrames:
        """Those of brokers that come and go, of a failover, and of a reassignment in whatever it is part of."""
        groups = tuple(self.groups_of_brokers)
        kip_455, of = self.design.kip_455, PartitionReassignment
        triggered = of.triggered(PARTITION) if kip_455 else of.zk_triggered(PARTITION)
        notified = at_last(call_of(ControllerZkClient.delete, (isr_change_notification_path(PARTITION),)))
        gone = ((), *((BrokerChanges.going(some),) for some in groups))
        coming = [BrokerChanges.coming(some, topics) for some in groups for topics in ((), (TOPIC,))]
        taking_over = ControllerFailover.GOES_ON
        within = dict.fromkeys(
            (
                (),
                (triggered,),
                taking_over,
                (triggered, *taking_over),
                (notified,),
                *((come[-1], *rest) for come in coming for rest in gone),
            )
        )
        return (
            *stack_frames_of(ControllerFailover),
            *((*come, *rest) for come in coming for rest in gone),
            *BrokerChanges.STACK_FRAMES[2:],
            *((*body, *rest) for body in (self.moving() if kip_455 else self.moving_by_node()) for rest in within),
        )

    @property
    def groups_of_brokers(self) -> Iterator[tuple[BrokerId, ...]]:
        """Every set of them."""
        numbers = range(2**self.brokers)
        return (tuple(each for each in range(self.brokers) if number & 1 << each) for number in numbers)

    def moving(self) -> Iterator[tuple[Call, ...]]:
        """What is left of a reassignment, since 2.4."""
        for assignment in self.reachable:
            unneeded = (some for some in self.groups_of_brokers if {*some}.isdisjoint(assignment.replicas))
            yield from PartitionReassignment.reassigning(PARTITION, assignment, unneeded)

    def moving_by_node(self) -> Iterator[tuple[Call, ...]]:
        """The same until 2.3."""
        for now in self.reachable:
            for target in self.targets:
                yield from PartitionReassignment.zk_reassigning(PARTITION, now.replicas, target)
        yield from PartitionReassignment.zk_forgetting(PARTITION)

    @initial
    def a_cluster_set_up(self, s: R) -> None:
        """All brokers run, the first replica leads, all are in sync; there is no controller."""
        keep = self.assignments[PARTITION]
        for path in ("/brokers", "/brokers/topics", "/admin"):
            s.zk.nodes[path] = Node()
        s.zk.nodes[TOPIC_PATH] = Node(
            data=TopicAssignment.encode(self.assignments), children=frozenset({"partitions"})
        )
        for path in (topic_partitions_path(TOPIC), topic_partition_path(PARTITION)):
            s.zk.nodes[path] = Node()
        first = TopicPartitionState(LeaderAndIsr(keep.replicas[0], 0, keep.replicas), 0)
        s.zk.nodes[topic_partition_state_path(PARTITION)] = Node(data=first)
        s.zk.nodes[CONTROLLER_EPOCH] = Node(data=0)
        s.registered = frozenset(range(self.brokers))
        s.complete = frozenset(keep.replicas)

    # The controller, over a state.

    def controller(self, s: R) -> ControllerEventProcessor:
        """With what it remembers of the node.

        The notification of an ISR stands for the watch of the partition's state, too, until 2.6: with both the
        controller looks whether the reassignment has ended.
        """
        controller = super().controller(s)
        controller.reassignment_targets = s.reassignment_targets
        controller.design = controller.design._replace(alter_partition=True)
        return controller

    def go_on(self, s: R, step: Processing | Processed) -> None:
        """An increment of the leader epoch is within bounds, too, and that it failed is logged."""
        step = self.answered_at_once(s, step)
        if isinstance(step, Processing):
            following = step.awaits.then
            epoch_is_due = following is not None and following.method == ReassigningZkClient._epoch_is_due.__name__
            state = s.state(PARTITION)
            bound(not epoch_is_due or state is None or state.leader_epoch < self.max_leader_epoch)
        elif step.failure is EventFailure.NewerController:
            step = step._replace(failure=None)  # it is logged
        super().go_on(s, step)

    def assigned(self, s: R, partition: TopicPartition) -> tuple[BrokerId, ...]:
        """As the topic's node has it."""
        return s.assignment.replicas

    def receive(self, s: R, broker: BrokerId, request: ControlRequest) -> None:
        """A replica that is to be deleted has no log any more, if its broker runs."""
        role = s.roles[PartitionAndReplica(PARTITION, broker)]
        super().receive(s, broker, request)
        if isinstance(request, LeaderAndIsrRequest) and not self.design.expire_unassigned:
            (told,) = request.partitionStates
            if told.leader == broker and s.roles[PartitionAndReplica(PARTITION, broker)] != role:
                s.leaders_replicas = frozenset(told.replicas)
        if not isinstance(request, StopReplicaRequest) or broker not in s.registered:
            return
        if any(each.deletePartition or request.deletePartitions for each in request.partitionStates):
            say(f"broker {broker} deletes its log")
            if broker in s.complete:
                s.complete -= {broker}

    # Administrators.

    def asks(self, s: R) -> None:
        """An administrator asks for something."""
        bound(s.requests < self.requests)
        s.requests += 1

    @action(when=lambda self: by_api(self) and self.requests > 1, actor="administrator", receiver="controller")
    def cancel(self, s: R) -> None:
        """An administrator has the partition stay where it was. [AlterPartitionReassignments]"""
        require(s.active and s.idle and s.context.epoch == s.epoch)
        require(self.context.of(s.context).partition_full_replica_assignment(PARTITION).is_being_reassigned)
        self.asks(s)
        self.begin(s, ControllerEventProcessor.process_api_partition_reassignment, ((PARTITION, None),))

    @action(when=by_api, actor="administrator", receiver="controller")
    def reassign(self, s: R, target: Brokers) -> None:
        """An administrator has the partition move to these brokers. [AlterPartitionReassignments]"""
        require(s.active and s.idle and s.context.epoch == s.epoch)
        known = self.context.of(s.context).partition_full_replica_assignment(PARTITION)
        require(frozenset(target) != frozenset(known.target_replicas))
        self.asks(s)
        self.begin(s, ControllerEventProcessor.process_api_partition_reassignment, ((PARTITION, target),))

    @action(when=by_node, actor="administrator", receiver="ZooKeeper")
    def write_reassignment(self, s: R, target: Brokers) -> None:
        """An administrator asks for it by /admin/reassign_partitions, if that is not there."""
        require(REASSIGN_PARTITIONS not in s.zk.nodes and frozenset(target) != frozenset(s.assignment.replicas))
        self.asks(s)
        self.zk.servers(s.zk).create(None, REASSIGN_PARTITIONS, ((PARTITION, target),))

    @action(when=by_node, actor="controller", receiver="ZooKeeper")
    def hear_of_reassignment(self, s: R) -> None:
        """The controller reads what is asked for. [PartitionReassignment]"""
        require(s.active and s.idle and s.asked_for is not None)
        require(s.asked_for != s.reassignment_targets.get(PARTITION))
        self.begin(s, ControllerEventProcessor.process_zk_partition_reassignment)

    @action(
        when=lambda self: by_node(self) and self.requests > 1 and self.moves > 0,
        actor="administrator",
        receiver="ZooKeeper",
    )
    def give_up(self, s: R) -> None:
        """An administrator deletes the node, and has another controller elected, as was done until 2.3."""
        require(REASSIGN_PARTITIONS in s.zk.nodes and s.active and s.context.epoch == s.epoch)
        bound(s.epoch < 2 * self.moves)
        self.asks(s)
        servers = self.zk.servers(s.zk)
        servers.delete(None, REASSIGN_PARTITIONS)
        servers.set(None, CONTROLLER_EPOCH, s.epoch + 1)

    # Leaders.

    @action(when=may_expand, actor="leader")
    def acknowledge(self, s: R) -> None:
        """The leader acknowledges records, which its whole ISR has; other logs are behind from now on."""
        role, state = self.role_of_leader(s, PARTITION), s.state(PARTITION)
        assert state is not None
        require(all(broker in s.registered for broker in state.isr))
        require(all(s.roles[PartitionAndReplica(PARTITION, broker)] == role for broker in state.isr))
        behind = s.complete - frozenset(state.isr)
        require(role.leader in s.complete and behind)
        s.complete -= behind

    @action(when=may_expand, actor="leader", receiver="{self.isr_receiver}")
    def expand_isr(self, s: R, partition: TopicPartition, broker: BrokerId) -> None:
        """The leader takes a broker into the ISR that follows it. [Partition.maybeExpandIsr]"""
        super().expand_isr(s, partition, broker)

    @action(when=may_shrink, actor="leader", receiver="{self.isr_receiver}")
    def shrink_isr(self, s: R, partition: TopicPartition, broker: BrokerId) -> None:
        """The leader takes a broker out of the ISR, running or not. [Partition.maybeShrinkIsr]"""
        require(self.leader_may_expire(s))
        super().shrink_isr(s, partition, broker)

    def leader_may_expire(self, s: R) -> bool:
        """Whether the leader can look for members that have fallen behind."""
        state = s.state(PARTITION)
        if state is None or self.design.expire_unassigned:
            return True
        return may_expire(state.isr, state.leader, s.leaders_replicas, expire_unassigned=False)

    def change_isr(self, s: R, partition: TopicPartition, isr: tuple[BrokerId, ...]) -> None:
        """Who joins has as much as the leader."""
        node = s.written(partition)
        assert node is not None
        state = node.data.leader_and_isr
        joining = frozenset(isr) - frozenset(state.isr)
        if state.leader in s.complete:
            s.complete |= joining
        else:
            s.complete -= joining
        require(not self.asks_for_isr or s.context.epoch == s.epoch)
        super().change_isr(s, partition, isr)

    # Properties of reassignments.

    @transition_invariant(of=(*ANSWERS, "next_change"))
    def fenced_writes(self, before: R, after: R) -> bool:
        """C4: a controller that writes has the epoch that is in ZooKeeper at that moment."""
        if before.context.epoch == before.epoch:
            return True
        written = before.written(PARTITION) != after.written(PARTITION)
        return not written and (before.assignment, before.asked_for) == (after.assignment, after.asked_for)

    @invariant
    def assignment_shape(self, s: R) -> bool:
        """A1: what is added and what is removed is assigned, nothing is both, and the target stands first."""
        replicas, adding, removing = s.assignment
        target = s.assignment.target_replicas
        if not {*adding, *removing} <= {*replicas} or {*adding} & {*removing} or not target:
            return False
        return replicas[: len(target)] == target

    @invariant(where=ClusterSpec.quiet, when=lambda self: self.moves == 0)
    def isr_within_assigned(self, s: R, partition: TopicPartition) -> bool:
        """P3: when all is quiet, the ISR is of brokers that keep the partition; but see in_sync_from_outside."""
        return super().isr_within_assigned(s, partition)

    def is_ending(self, s: R) -> bool:
        """The event under way ends a reassignment. [B1 to B8]"""
        return any(isinstance(each, Call) and each.method in ENDINGS for each in s.thread.calls)

    @transition_invariant(when=lambda self: self.requests > 0)
    def ends_once_in_sync(self, before: R, step: Step, after: R) -> bool:
        """A2: a reassignment begins to end where ZooKeeper has its target in sync; a cancellation does not look."""
        if self.is_ending(before) or not self.is_ending(after):
            return True
        target: Collection[BrokerId] = after.reassignment_targets.get(PARTITION, ())
        if self.design.kip_455:
            target = after.assignment.target_replicas if after.assignment.is_being_reassigned else ()
        state = after.state(PARTITION)
        return state is not None and {*target} <= {*state.isr}

    @transition_invariant(of="next_change", when=lambda self: self.requests > 0)
    def ends_in_sync(self, before: R, after: R) -> bool:
        """A3: where a reassignment ends the ISR is of replicas that stay, and so is the leader, if there is one."""
        now = after.assignment
        if before.assignment == now or before.context.partition_assignments.get(PARTITION) != now:
            return True  # it is not the end of one, by B6, but the beginning of another, by U1
        state = after.state(PARTITION)
        return state is not None and {*state.isr} <= {*now.replicas}

    @invariant(where=ClusterSpec.quiet)
    def assignment_known(self, s: R) -> bool:
        """A4: when all is quiet, the controller knows of the assignment that is in ZooKeeper."""
        return s.context.partition_assignments.get(PARTITION) == s.assignment

    @invariant(where=ClusterSpec.quiet)
    def moves_what_is_asked_for(self, s: R) -> bool:
        """A4: when all is quiet, the controller moves the partition where ZooKeeper has that it is to move."""
        moving = s.assignment.is_being_reassigned if self.design.kip_455 else s.asked_for is not None
        return moving == (PARTITION in s.context.partitions_being_reassigned)

    @transition_invariant(when=by_node)
    def only_administrators_ask(self, before: R, step: Step, after: R) -> bool:
        """A4: what has been given up, or has ended, is not asked for again but by an administrator."""
        return before.asked_for is not None or after.asked_for is None or step.action == "write_reassignment"

    @invariant
    def in_sync_is_complete(self, s: R, broker: BrokerId) -> bool:
        """R3: a member of the ISR has all that was acknowledged, so that it may lead."""
        state = s.state(PARTITION)
        return state is None or broker not in state.isr or broker in s.complete

    @invariant
    def acknowledged_is_kept(self, s: R) -> bool:
        """R7: some broker has all that was acknowledged, running or not."""
        return bool(s.complete)

    def quiet(self, s: R) -> bool:
        """And it has read what it is asked for."""
        return super().quiet(s) and (s.asked_for is None or PARTITION in s.context.partitions_being_reassigned)

    @invariant(where=ClusterSpec.quiet, when=isr_may_change)
    def behind_may_leave(self, s: R) -> bool:
        """P17: when all is quiet, a leader that knows that it leads can take out whoever is dead or behind."""
        state = s.state(PARTITION)
        if state is None or state.leader not in s.registered:
            return True
        role = s.roles[PartitionAndReplica(PARTITION, state.leader)]
        return role != Role(state.leader, state.leader_epoch) or self.leader_may_expire(s)

    # What must be able to happen: every row of the tables by which replicas come and are deleted.

    def a_replica_becomes(self, before: R, after: R, source: object, target: object) -> bool:
        """Whether some replica was in the one state before, and is in the other after it."""
        replicas = (PartitionAndReplica(PARTITION, broker) for broker in range(self.brokers))
        return any(self.replica_changes(before, after, each, source, target) for each in replicas)

    @sometimes(when=may_add, of="next_change")
    def a_replica_is_added(self, before: R, after: R) -> bool:
        """NonExistentReplica -> NewReplica."""
        return self.a_replica_becomes(before, after, None, NewReplica)

    @sometimes(when=may_arrive)
    def an_added_replica_comes_online(self, before: R, step: Step, after: R) -> bool:
        """NewReplica -> OnlineReplica."""
        return self.a_replica_becomes(before, after, NewReplica, OnlineReplica)

    @sometimes(when=lambda self: may_add(self) and self.max_deaths > 0)
    def an_added_replica_dies(self, before: R, step: Step, after: R) -> bool:
        """NewReplica -> OfflineReplica."""
        return self.a_replica_becomes(before, after, NewReplica, OfflineReplica)

    @sometimes(when=may_arrive, of="next_change")
    def a_deletion_starts(self, before: R, after: R) -> bool:
        """OfflineReplica -> ReplicaDeletionStarted."""
        return self.a_replica_becomes(before, after, OfflineReplica, ReplicaDeletionStarted)

    @sometimes(when=may_arrive, of="next_change")
    def a_deletion_is_taken_for_done(self, before: R, after: R) -> bool:
        """ReplicaDeletionStarted -> ReplicaDeletionSuccessful, whatever its broker does."""
        return self.a_replica_becomes(before, after, ReplicaDeletionStarted, ReplicaDeletionSuccessful)

    @sometimes(when=may_arrive, of="next_change")
    def a_replica_is_forgotten(self, before: R, after: R) -> bool:
        """ReplicaDeletionSuccessful -> NonExistentReplica."""
        return self.a_replica_becomes(before, after, ReplicaDeletionSuccessful, None)

    # What else must be able to happen.

    @sometimes(where=ClusterSpec.quiet, when=may_add)
    def quiet_while_moving(self, s: R) -> bool:
        """All is quiet, and the partition is still to arrive."""
        return PARTITION in s.context.partitions_being_reassigned

    @sometimes(where=ClusterSpec.quiet, when=may_arrive)
    def moved(self, s: R) -> bool:
        """All is quiet, and the partition has arrived where it was not at first."""
        arrived = not s.context.partitions_being_reassigned
        return arrived and s.assignment.replicas != self.assignments[PARTITION].replicas

    @sometimes(when=may_arrive, of=ANSWERS)
    def the_leader_moves(self, before: R, after: R) -> bool:
        """A replica that was added leads, in place of one that runs."""
        old, new = before.state(PARTITION), after.state(PARTITION)
        assert old is not None
        assert new is not None
        return old.leader != new.leader != NO_LEADER and old.leader in before.registered

    @sometimes(when=lambda self: leaders_write(self) and self.isr_changes > 1, of=ANSWERS)
    def a_conflict(self, before: R, after: R) -> bool:
        """A state has been written by its leader since the controller read it, and is read again."""
        return super().a_conflict(before, after)

    @sometimes(when=lambda self: by_api(self) and self.requests > 1, of="next_change")
    def cancelled(self, before: R, after: R) -> bool:
        """A reassignment that is under way is given up."""
        under_way = before.assignment.is_being_reassigned and not after.assignment.is_being_reassigned
        return under_way and frozenset(after.assignment.replicas) == frozenset(before.assignment.origin_replicas)

    @sometimes(when=lambda self: by_api(self) and self.requests > 1 and len(self.targets) > 2, of="next_change")
    def replaced(self, before: R, after: R) -> bool:
        """Another takes its place."""
        under_way = before.assignment.is_being_reassigned and after.assignment.is_being_reassigned
        return under_way and before.assignment != after.assignment

    @sometimes(when=lambda self: may_add(self) and self.moves > 0, of="become_controller")
    def taken_over(self, before: R, after: R) -> bool:
        """A controller begins and finds a reassignment under way, of which it knew nothing."""
        return PARTITION in after.context.partitions_being_reassigned

    @sometimes(where=ClusterSpec.quiet, when=may_be_in_sync_from_outside)
    def in_sync_from_outside(self, s: R) -> bool:
        """A replica is in the ISR, or leads, that is assigned no more: a controller ended between U1 and U3. [3.9]

        The next controller does not know of it: it neither stops it nor deletes its log, and does not take it out of
        the ISR when its broker dies. So P3 is no rule there, and P13 only of replicas that are assigned. Its leader
        takes it out after a while; from 2.4 to 2.8 it may not be able to, see behind_may_leave.
        """
        state = s.state(PARTITION)
        return state is not None and not {*state.isr} <= {*s.assignment.replicas}

    # What a state means, to the reader of a trace.

    @view
    def assignment(self, s: R) -> str:
        """Who keeps the partition, and where it moves to."""
        now, state = s.assignment, s.state(PARTITION)
        keep = f"{PARTITION} is assigned to {_told(now.replicas)}"
        if now.is_being_reassigned:
            leader = NO_LEADER if state is None else state.leader
            without = "" if leader in (NO_LEADER, *now.replicas) else f", without {_told([leader])}, which leads it"
            return f"{PARTITION} moves from {_told(now.origin_replicas)} to {_told(now.target_replicas)}{without}"
        return keep if s.asked_for is None else f"{keep}; it is asked to move to {_told(s.asked_for)}"

    @view
    def replica(self, s: R, broker: BrokerId) -> str:
        """What the controller takes a replica for; of one that it does not know, nothing."""
        state = s.context.replica_states.get(PartitionAndReplica(PARTITION, broker))
        return "" if state is None else f"the controller has the replica on broker {broker} as {state.name}"

    @view
    def due(self, s: R) -> str:
        """What the event under way does next, by itself or when ZooKeeper has answered."""
        if s.thread.electing is not None:
            return "the controller waits for ZooKeeper, to elect a leader"
        if s.thread.removing is not None:
            return "the controller waits for ZooKeeper, to take a replica out of the ISR"
        if s.thread.over is None:
            return "the controller has nothing to do" if s.active else ""
        upcoming = s.thread.then or next(iter(s.thread.calls), None)
        return f"the controller is about to {_words(upcoming)}" if isinstance(upcoming, Call) else ""

    @view
    def logs(self, s: R) -> str:
        """Who has all that was acknowledged."""
        if not s.complete:
            return "no broker has all records that were acknowledged"
        have = "has" if len(s.complete) == 1 else "have"
        return f"{_told(sorted(s.complete))} {have} all records that were acknowledged"

    # As it is drawn.

    @picture
    def move(self, s: R) -> Grid:
        """From where the partition moves to where, and which brokers, dead ones struck out, have every record."""
        now, asked = s.assignment, s.asked_for
        brokers = sorted(s.complete)
        have = Tags(Tag(each, Look.plain if each in s.registered else Look.gone) for each in brokers)
        return Grid(
            ("partition", "from", "to", "adding", "removing", "asked for", "all records"),
            [
                (
                    PARTITION,
                    Tags(now.origin_replicas),
                    Tags(now.target_replicas),
                    Tags(now.adding_replicas),
                    Tags(now.removing_replicas),
                    "" if asked is None else Tags(asked),
                    have if brokers else Tag("none", Look.wrong, "what was acknowledged is lost"),
                )
            ],
        )


WRITES: Final[Mapping[str, str]] = {
    ReassigningZkClient._assignment_is_due.__name__: "write the topic's node",
    ReassigningZkClient._epoch_is_due.__name__: "increment the leader epoch",
    ReassigningZkClient._deletion_is_due.__name__: f"delete {REASSIGN_PARTITIONS}",
}
"""What a call writes in a step of its own, by its method."""


def _words(upcoming: Call) -> str:
    """What a call does, in words, for those that a step begins with; else its name in Kafka."""
    if upcoming.method == ControllerEventProcessor.replicas_become.__name__:
        replicas, target = upcoming.arguments[:2]
        whose = _told(each.replica for each in replicas)
        return f"make the state of the replica on {whose} {target.name}" if replicas else "go on"
    return WRITES.get(upcoming.method, f"go on with {upcoming.method.strip('_')}")


def _told(brokers: Iterable[BrokerId]) -> str:
    """Brokers, in words."""
    ids = tuple(map(str, brokers))
    return f"broker{'s' if len(ids) > 1 else ''} {', '.join(ids)}"
