"""The actions of administrators, the controller and brokers on a partition that moves."""

from __future__ import annotations

from election.ids import BrokerId
from spec.language import action, bound, require, say
from spec.systems.reassignment.state import (
    PARTITION,
    Brokers,
    R,
    ReassigningZkClient,
    ReassignmentVariables,
    by_api,
    by_node,
    may_expand,
    may_shrink,
)
from statemachines.broker.in_sync_replicas import may_expire
from statemachines.controller.calls import Call, EventFailure, EventWaiting
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.state_change import EventDone
from statemachines.messages.control_requests import ControlRequest, LeaderAndIsrRequest, StopReplicaRequest
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.messages.zk_data import REASSIGN_PARTITIONS


def log_deleted(broker: BrokerId) -> str:
    """The sentence for a step in which a broker deletes its log."""
    return f"broker {broker} deletes its log"


class ReassignmentActions(ReassignmentVariables[R]):
    """The actions on a partition that moves."""

    # The controller, over a state.

    def controller(self, s: R) -> ControllerEventProcessor:
        """The controller, with the targets that it remembers from the node.

        Until 2.6 the notification of an ISR also stands for the watch of the partition's state: on either one the
        controller checks whether the reassignment is complete.
        """
        controller = super().controller(s)
        controller.reassignment_targets = s.reassignment_targets
        controller.design = controller.design.but(alter_partition=True)
        return controller

    def advance(self, s: R, step: EventWaiting | EventDone) -> None:
        """An event waits for ZooKeeper, or is finished. An increment of the leader epoch stays within its bound."""
        step = self.answered_at_once(s, step)
        if isinstance(step, EventWaiting):
            due = step.calls[0] if step.awaits is None else None
            epoch_is_due = isinstance(due, Call) and due.method == ReassigningZkClient.EPOCH_IS_DUE
            state = s.state(PARTITION)
            bound(not epoch_is_due or state is None or state.leader_epoch < self.max_leader_epoch)
        elif step.failure is EventFailure.NewerController:
            step = step._replace(failure=None)  # Kafka only logs it
        super().advance(s, step)

    def assigned(self, s: R, partition: TopicPartition) -> tuple[BrokerId, ...]:
        """The assignment in the topic's node."""
        return s.assignment.replicas

    def receive(self, s: R, broker: BrokerId, request: ControlRequest) -> None:
        """A broker obeys a request. If it runs, it deletes the log of a replica that stops with deletion."""
        role = s.roles[PartitionAndReplica(PARTITION, broker)]
        super().receive(s, broker, request)
        if isinstance(request, LeaderAndIsrRequest) and not self.design.shrink_with_unassigned:
            (partition_state,) = request.partitionStates
            if partition_state.leader == broker and s.roles[PartitionAndReplica(PARTITION, broker)] != role:
                s.replicas_known_to_leader = frozenset(partition_state.replicas)
        if not isinstance(request, StopReplicaRequest) or broker not in s.registered:
            return
        if any(each.deletePartition or request.deletePartitions for each in request.partitionStates):
            say(log_deleted(broker))
            if broker in s.complete_logs:
                s.complete_logs -= {broker}

    # Administrators.

    def count_request(self, s: R) -> None:
        """Count an administrator's request, within its bound."""
        bound(s.reassignment_requests < self.reassignment_requests)
        s.reassignment_requests += 1

    @action(
        when=lambda self: by_api(self) and self.reassignment_requests > 1,
        actor="administrator",
        receiver="controller",
    )
    def cancel(self, s: R) -> None:
        """An administrator cancels the reassignment. [AlterPartitionReassignments]"""
        require(s.active and s.idle and s.context.epoch == s.epoch)
        require(self.context.of(s.context).partition_full_replica_assignment(PARTITION).is_being_reassigned)
        self.count_request(s)
        self.begin(s, ControllerEventProcessor.process_api_partition_reassignment, ((PARTITION, None),))

    @action(when=by_api, actor="administrator", receiver="controller")
    def reassign(self, s: R, target: Brokers) -> None:
        """An administrator requests a move to these brokers. [AlterPartitionReassignments]"""
        require(s.active and s.idle and s.context.epoch == s.epoch)
        known = self.context.of(s.context).partition_full_replica_assignment(PARTITION)
        require(frozenset(target) != frozenset(known.target_replicas))
        self.count_request(s)
        self.begin(s, ControllerEventProcessor.process_api_partition_reassignment, ((PARTITION, target),))

    @action(when=by_node, actor="administrator", receiver="ZooKeeper")
    def write_reassignment(self, s: R, target: Brokers) -> None:
        """An administrator requests a move by creating /admin/reassign_partitions, if it does not exist.

        Since 0.11 the tool refuses brokers that are not registered.
        """
        require(REASSIGN_PARTITIONS not in s.zk.nodes and frozenset(target) != frozenset(s.assignment.replicas))
        require(not self.admin.check_targets or s.registered.issuperset(target))
        self.count_request(s)
        self.zk.servers(s.zk).create(None, REASSIGN_PARTITIONS, ((PARTITION, target),))

    @action(when=by_node, actor="controller", receiver="ZooKeeper")
    def partition_reassignment(self, s: R) -> None:
        """The controller reads the requested reassignment. [PartitionReassignment]"""
        require(s.active and s.idle and s.requested_target is not None)
        require(s.requested_target != s.reassignment_targets.get(PARTITION))
        self.begin(s, ControllerEventProcessor.process_zk_partition_reassignment)

    @action(
        when=lambda self: by_node(self) and self.reassignment_requests > 1 and self.controller_changes > 0,
        actor="administrator",
        receiver="ZooKeeper",
    )
    def abort_reassignment(self, s: R) -> None:
        """An administrator deletes the node and has another controller elected, the way to give up until 2.3."""
        require(REASSIGN_PARTITIONS in s.zk.nodes and s.active and s.context.epoch == s.epoch)
        bound(s.epoch < 2 * self.controller_changes)
        self.count_request(s)
        servers = self.zk.servers(s.zk)
        servers.delete(None, REASSIGN_PARTITIONS)
        servers.set(None, CONTROLLER_EPOCH, s.epoch + 1)

    # Leaders.

    @action(when=may_expand, actor="leader")
    def acknowledge(self, s: R) -> None:
        """The leader acknowledges records that its whole ISR has; all other logs lag from now on."""
        role, state = self.leader_role(s, PARTITION), s.state(PARTITION)
        assert state is not None
        require(all(broker in s.registered for broker in state.isr))
        require(all(s.roles[PartitionAndReplica(PARTITION, broker)] == role for broker in state.isr))
        behind = s.complete_logs - frozenset(state.isr)
        require(role.leader in s.complete_logs and behind)
        s.complete_logs -= behind

    @action(when=may_expand, actor="leader", receiver="{self.isr_receiver}")
    def expand_isr(self, s: R, partition: TopicPartition, broker: BrokerId) -> None:
        """The leader adds a broker that follows it to the ISR. [Partition.maybeExpandIsr]"""
        super().expand_isr(s, partition, broker)

    @action(when=may_shrink, actor="leader", receiver="{self.isr_receiver}")
    def shrink_isr(self, s: R, partition: TopicPartition, broker: BrokerId) -> None:
        """The leader removes a broker, running or not, from the ISR. [Partition.maybeShrinkIsr]"""
        require(self.leader_can_shrink(s))
        super().shrink_isr(s, partition, broker)

    def leader_can_shrink(self, s: R) -> bool:
        """Whether the leader can check for lagging members."""
        state = s.state(PARTITION)
        if state is None or self.design.shrink_with_unassigned:
            return True
        return may_expire(state.isr, state.leader, s.replicas_known_to_leader, shrink_with_unassigned=False)

    def change_isr(self, s: R, partition: TopicPartition, isr: tuple[BrokerId, ...]) -> None:
        """The leader changes its ISR. A joining broker has as much as the leader."""
        node = s.written(partition)
        assert node is not None
        state = node.data.leader_and_isr
        joining = frozenset(isr) - frozenset(state.isr)
        if state.leader in s.complete_logs:
            s.complete_logs |= joining
        else:
            s.complete_logs -= joining
        require(not self.asks_for_isr or s.context.epoch == s.epoch)
        super().change_isr(s, partition, isr)
