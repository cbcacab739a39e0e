"""The properties and witnesses of a cluster under a controller."""

from __future__ import annotations

from typing_extensions import TypeVar

from election.ids import BrokerId
from spec.language import Step, invariant, sometimes, transition_invariant
from spec.parts.event_thread import Waits
from spec.parts.requests import Batch
from spec.systems.cluster.actions import ClusterActions
from spec.systems.cluster.state import C, Role, leaders_write, may_replace_live_leader
from statemachines.controller.failover import ControllerFailover
from statemachines.controller.partition_state_machine import PREFERRED, REASSIGN
from statemachines.controller.zk_requests import ZkBatch
from statemachines.messages.leader_and_isr import NO_LEADER
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.tables.partition import (
    PARTITION,
    NewPartition,
    NonExistentPartition,
    OfflinePartition,
    OnlinePartition,
)
from statemachines.tables.replica import NonExistentReplica, OfflineReplica, OnlineReplica, ReplicaDeletionIneligible
from statemachines.tables.table import Table, TableState

T = TypeVar("T", bound=TableState)

ANSWERS = ("answer_partition_state_machine", "answer_replica_state_machine")
"""The actions in which a controller continues a change of states."""
WRITES = (*ANSWERS, "answer_alter_partition", "lose_replies_of_change")
"""The actions in which ZooKeeper carries out a controller's requests."""
LEADERS = ("shrink_isr", "expand_isr")
"""The actions in which a leader writes its ISR, or asks for it."""


class ClusterProperties(ClusterActions[C]):
    """Properties of leaders and ISRs, of the controller's knowledge, and of a quiet cluster."""

    # Properties of the state in ZooKeeper.

    @invariant
    def leader_in_isr(self, s: C, partition: TopicPartition) -> bool:
        """P1: the leader is in the ISR, if there is a leader."""
        state = s.state(partition)
        return state is None or state.leader in (NO_LEADER, *state.isr)

    @invariant
    def isr_not_empty(self, s: C, partition: TopicPartition) -> bool:
        """P2: the ISR is never empty."""
        state = s.state(partition)
        return state is None or len(state.isr) > 0

    @invariant
    def isr_within_assigned(self, s: C, partition: TopicPartition) -> bool:
        """P3: every ISR member is assigned to the partition, and is listed once."""
        state = s.state(partition)
        if state is None:
            return True
        members = {*state.isr}
        return len(members) == len(state.isr) and members <= {*self.assigned(s, partition)}

    @transition_invariant
    def leader_epoch_monotone(self, before: C, step: Step, after: C, partition: TopicPartition) -> bool:
        """P4: each write of the controller raises the leader epoch by one; an ISR written for the leader keeps it."""
        old, new = before.written(partition), after.written(partition)
        if old is None or new is None:
            return new is None or new.data.leader_and_isr.leader_epoch == 0
        writes: int = new.version - old.version
        raised: int = new.data.leader_and_isr.leader_epoch - old.data.leader_and_isr.leader_epoch
        keeps = writes == 0 or step.action in LEADERS or before.thread.waits is Waits.AlterPartition
        return raised == (0 if keeps else writes)

    @transition_invariant
    def one_leader_per_epoch(self, before: C, step: Step, after: C, partition: TopicPartition) -> bool:
        """P5: in a leader epoch at most one broker leads."""
        old, new = before.state(partition), after.state(partition)
        if old is None or new is None or old.leader_epoch != new.leader_epoch:
            return True
        return old.leader == new.leader

    @invariant
    def presumed_leader_legit(self, s: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """P6: the leader that a running broker obeys is the one in ZooKeeper, or one of an earlier leader epoch."""
        role, state = s.roles[PartitionAndReplica(partition, broker)], s.state(partition)
        if role is None or broker not in s.registered:
            return True
        if state is None or role.leader_epoch > state.leader_epoch:
            return False
        return role.leader_epoch < state.leader_epoch or role.leader == state.leader

    @transition_invariant
    def role_as_in_zookeeper(
        self, before: C, step: Step, after: C, partition: TopicPartition, broker: BrokerId
    ) -> bool:
        """P6, H6: a broker that obeys a request takes the leader and leader epoch that are in ZooKeeper."""
        old, new = (s.roles[PartitionAndReplica(partition, broker)] for s in (before, after))
        if new is None or new == old:
            return True
        state = after.state(partition)
        return state is not None and new == Role(state.leader, state.leader_epoch)

    @transition_invariant(of=("answer_partition_state_machine", "lose_replies_of_change"))
    def election_from_current_state(self, before: C, after: C) -> bool:
        """P12: an election's result overwrites exactly the state that the election read."""
        requests = before.thread.requests
        if requests is None or requests.due is not ZkBatch.SetTopicPartitionStates:
            return True
        if before.thread.waits is not Waits.PartitionStateMachine:
            return True
        for partition, elected, _ in requests.updates:
            node = before.written(partition)
            if node is not None and node.version != elected.partition_epoch and node != after.written(partition):
                return False
        return True

    @transition_invariant(
        of=("answer_partition_state_machine", "lose_replies_of_change"), when=may_replace_live_leader
    )
    def isr_survives_election(self, before: C, after: C) -> bool:
        """A5: a preferred election, or a reassignment's election, leaves the ISR unchanged."""
        election = before.thread.election
        if election is None or election.strategy not in (PREFERRED, REASSIGN):
            return True
        states = ((before.state(partition), after.state(partition)) for partition in self.assignments)
        return all(old is None or new is None or old.isr == new.isr for old, new in states)

    @transition_invariant
    def clean_election(self, before: C, step: Step, after: C, partition: TopicPartition) -> bool:
        """P11: a new leader was in the ISR, unless configuration or an administrator permits an unclean election."""
        old, new = before.state(partition), after.state(partition)
        if old is None or new is None or new.leader in (NO_LEADER, old.leader):
            return True
        election = before.thread.election
        return self.unclean or new.leader in old.isr or (election is not None and election.strategy.allow_unclean)

    @transition_invariant(of=WRITES)
    def fenced_writes(self, before: C, after: C) -> bool:
        """C4: a controller that writes has the epoch in ZooKeeper at that moment."""
        if before.context.epoch == before.epoch:
            return True
        return all(before.written(partition) == after.written(partition) for partition in self.assignments)

    # Properties of the controller's knowledge.

    def is_allowed_transition(self, table: Table[T], before: T, after: T) -> bool:
        """Whether nothing changes, or a row of the table permits the change."""
        return before == after or table.allows(before, after)

    @transition_invariant
    def legal_psm(self, before: C, step: Step, after: C, partition: TopicPartition) -> bool:
        """P7: partitions change their states as the table permits, but where a controller begins or resigns."""
        if not before.active or not after.active or ControllerFailover.STARTS_PARTITIONS in before.thread.calls:
            return True
        states = (s.context.partition_states.get(partition, NonExistentPartition) for s in (before, after))
        return self.is_allowed_transition(PARTITION, *states)

    @transition_invariant
    def legal_rsm(
        self,
        before: C,
        step: Step,
        after: C,
        partition: TopicPartition,
        broker: BrokerId,
    ) -> bool:
        """P7: replicas change their states as the table permits, but where a controller begins or resigns."""
        if not before.active or not after.active:
            return True
        replica = PartitionAndReplica(partition, broker)
        states = (s.context.replica_states.get(replica, NonExistentReplica) for s in (before, after))
        return self.is_allowed_transition(self.design.replica_table, *states)

    @invariant
    def new_has_no_state(self, s: C, partition: TopicPartition) -> bool:
        """P8: the controller knows no leader of a new partition."""
        new = s.context.partition_states.get(partition) is NewPartition
        return not new or partition not in s.context.partition_leadership_info

    @invariant
    def cache_not_ahead(self, s: C, partition: TopicPartition) -> bool:
        """C9: the controller knows no partition state that is not yet in ZooKeeper."""
        known, node = s.context.partition_leadership_info.get(partition), s.written(partition)
        if known is None or node is None:
            return known is None or self.is_to_be_deleted(s, partition)
        return known.leader_and_isr.partition_epoch <= node.version

    def is_about_to_change_states(self, s: C) -> bool:
        """Whether the controller is active, idle and not replaced: its next change finds the batches as they are."""
        return s.active and s.idle and s.context.epoch == s.epoch

    @invariant(where=is_about_to_change_states)
    def batch_empty(self, s: C) -> bool:
        """H3: a change of states begins with empty batches."""
        return not any(requests.leader_and_isr or requests.stop_replica for requests in self.requests_in(s))

    def requests_in(self, s: C) -> tuple[Batch, Batch]:
        """The batches of both state machines."""
        return s.partition_requests, s.replica_requests

    # Properties of a quiet cluster. Leaders and ISRs of a topic marked for deletion are no longer maintained.

    def quiet(self, s: C) -> bool:
        """The controller is idle, no other one has replaced it, and it has heard of every change."""
        if not (s.active and s.idle) or s.context.epoch != s.epoch or s.isr_change_notification:
            return False
        return all((broker in s.registered) == (broker in s.context.live_broker_epochs) for broker in self.broker_ids)

    @invariant(where=quiet)
    def cache_fresh(self, s: C, partition: TopicPartition) -> bool:
        """C8: when all is quiet, the controller knows the partition's state in ZooKeeper."""
        known = s.context.partition_leadership_info.get(partition)
        written = s.leader_isr_and_controller_epoch(partition)
        if known is None or written is None:
            return known is None
        return known.leader_and_isr == written.leader_and_isr

    @invariant(where=quiet)
    def online_has_live_leader(self, s: C, partition: TopicPartition) -> bool:
        """P9: when all is quiet, the leader of an online partition runs."""
        state = s.state(partition)
        if s.context.partition_states.get(partition) is not OnlinePartition or self.is_to_be_deleted(s, partition):
            return True
        return state is not None and state.leader in s.registered

    @invariant(where=quiet)
    def offline_only_if_stuck(self, s: C, partition: TopicPartition) -> bool:
        """P10: when all is quiet, no running broker might lead an offline partition, or its leader shuts down."""
        state, context = s.state(partition), self.context.of(s.context)
        if s.context.partition_states.get(partition) is not OfflinePartition or state is None:
            return True
        if self.is_to_be_deleted(s, partition):
            return True
        candidates = (broker for broker in self.assigned(s, partition) if self.unclean or broker in state.isr)
        return state.leader in s.registered or not any(map(context.is_live_broker, candidates))

    @invariant(where=quiet)
    def dead_not_in_isr(self, s: C, partition: TopicPartition) -> bool:
        """P13: when all is quiet, all assigned members of an ISR with several members run."""
        state = s.state(partition)
        if state is None or len(state.isr) < 2 or self.is_to_be_deleted(s, partition):
            return True
        return {*state.isr} & {*self.assigned(s, partition)} <= s.registered

    @invariant(where=quiet)
    def offline_replica_is_dead(self, s: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """P14: when all is quiet, the broker of an offline replica does not run, or shuts down."""
        state = s.context.replica_states.get(PartitionAndReplica(partition, broker))
        if state not in (OfflineReplica, ReplicaDeletionIneligible) or self.is_to_be_deleted(s, partition):
            return True
        return not self.context.of(s.context).is_live_broker(broker)

    @invariant(where=quiet)
    def psm_domain(self, s: C, partition: TopicPartition) -> bool:
        """P15: when all is quiet, the controller has a state for every partition with a state in ZooKeeper."""
        return s.written(partition) is None or partition in s.context.partition_states

    @invariant(where=quiet)
    def rsm_domain(self, s: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """P15: when all is quiet, the controller has a state for exactly the assigned replicas."""
        assigned = broker in self.context.of(s.context).partition_replica_assignment(partition)
        return assigned == (PartitionAndReplica(partition, broker) in s.context.replica_states)

    # Witnesses: every row of both tables that can be taken.

    def partition_changes(
        self,
        before: C,
        after: C,
        partition: TopicPartition,
        source: object,
        target: object,
    ) -> bool:
        """Whether the controller moves a partition from one state to the other in this step."""
        old, new = (s.context.partition_states.get(partition) for s in (before, after))
        return old == source and new == target

    def replica_changes(
        self,
        before: C,
        after: C,
        replica: PartitionAndReplica,
        source: object,
        target: object,
    ) -> bool:
        """Whether the controller moves a replica from one state to the other in this step."""
        old, new = (s.context.replica_states.get(replica) for s in (before, after))
        return old == source and new == target

    @sometimes(when=lambda self: self.max_crashes > 0)
    def partition_goes_offline(self, before: C, step: Step, after: C, partition: TopicPartition) -> bool:
        """OnlinePartition -> OfflinePartition."""
        return self.partition_changes(before, after, partition, OnlinePartition, OfflinePartition)

    @sometimes(when=lambda self: self.max_crashes > 0)
    def partition_comes_online(self, before: C, step: Step, after: C, partition: TopicPartition) -> bool:
        """OfflinePartition -> OnlinePartition."""
        return self.partition_changes(before, after, partition, OfflinePartition, OnlinePartition)

    @sometimes(when=lambda self: self.max_crashes > 0)
    def replica_comes_back_online(
        self,
        before: C,
        step: Step,
        after: C,
        partition: TopicPartition,
        broker: BrokerId,
    ) -> bool:
        """OfflineReplica -> OnlineReplica."""
        return self.replica_changes(
            before, after, PartitionAndReplica(partition, broker), OfflineReplica, OnlineReplica
        )

    # Other witnesses.

    @sometimes(where=quiet)
    def all_is_quiet(self, s: C) -> bool:
        """All is quiet, and a partition is online."""
        return OnlinePartition in s.context.partition_states.values()

    @sometimes(when=lambda self: self.controller_changes > 0 and self.design.fence_zk, of=ANSWERS)
    def controller_moved_during_change(self, before: C, after: C) -> bool:
        """A controller finds during a change of states that another one has been elected."""
        return not after.active

    @sometimes(when=leaders_write, of=ANSWERS)
    def a_conflict(self, before: C, after: C) -> bool:
        """A leader has written a state since the controller read it, and the controller reads it again."""
        old, new = before.thread.requests, after.thread.requests
        if old is None or new is None or old.due is not ZkBatch.SetTopicPartitionStates:
            return False
        asking = tuple(update.partition for update in old.updates)
        return new.due is ZkBatch.GetTopicPartitionStates and new.partitions == asking
