"""The properties and witnesses of control requests and of their receivers."""

from __future__ import annotations

from typing import Final

from election.ids import BrokerId
from spec.language import invariant, sometimes, transition_invariant
from spec.systems.control_requests.actions import ControlRequestsActions
from spec.systems.control_requests.state import C, Connection, isr_may_grow, may_reassign, replicas_may_stop
from statemachines.messages.control_requests import LeaderAndIsrRequest, StopReplicaRequest
from statemachines.messages.leader_and_isr import NO_EPOCH, LeaderAndIsr
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.tables.partition import OnlinePartition

HANDLED: Final = ("deliver", "lose_reply", "deliver_config_unread")
"""The actions in which a broker handles a request."""


class ControlRequestsProperties(ControlRequestsActions):
    """Properties of requests on their way, of brokers' beliefs, and of a quiet cluster."""

    # Properties of requests on their way, and of the brokers' obedience.

    @transition_invariant(of=HANDLED)
    def in_order(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """H1: a thread sends the first request of its queue, and no other meanwhile."""
        line, left = (self.line(s, connection, broker) for s in (before, after))
        return left in (line, line[1:])

    @transition_invariant(of="lose_reply")
    def retried_until_answered(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """H2: delivery is at least once: a request whose reply was lost is still the next to send."""
        return self.line(before, connection, broker) == self.line(after, connection, broker)

    @invariant
    def request_reflects_zookeeper(self, s: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """H6: a waiting LeaderAndIsr carries a state written to ZooKeeper, the current one if versions match."""
        node = s.written(partition)
        for request in (each for connection in self.connections for each in self.line(s, connection, broker)):
            for partition_state in request.partitionStates if isinstance(request, LeaderAndIsrRequest) else ():
                if partition_state.partition != partition:
                    continue
                if node is None or partition_state.partitionEpoch > node.version:
                    return False
                leader, leader_epoch, isr, *_ = node.data.leader_and_isr
                if partition_state.partitionEpoch == node.version and (
                    partition_state.leaderEpoch,
                    partition_state.isr,
                ) != (leader_epoch, isr):
                    return False
                if partition_state.leaderEpoch == leader_epoch and partition_state.leader != leader:
                    return False
        return True

    def known(self, s: C, broker: BrokerId) -> tuple[object, ...]:
        """A broker's knowledge and logs, except its sent AlterPartition."""
        replicas = [PartitionAndReplica(partition, broker) for partition in self.assignments]
        mappings = (s.receivers.all_partitions, s.receivers.fetchers, s.receivers.metadata)
        of_replicas = tuple(mapping.get(replica) for mapping in mappings for replica in replicas)
        logs = tuple(replica in s.receivers.logs for replica in replicas)
        return (s.receivers.controller_epochs[broker], s.receivers.alive_brokers[broker], *of_replicas, *logs)

    @transition_invariant(of=HANDLED)
    def ignores_requests_for_earlier_life(
        self, before: C, after: C, connection: Connection, broker: BrokerId
    ) -> bool:
        """H4: a request for an earlier life of a broker changes nothing."""
        if self.line(before, connection, broker)[0].brokerEpoch >= self.receivers.own_epoch(before.receivers, broker):
            return True
        return self.known(before, broker) == self.known(after, broker)

    @transition_invariant(of=HANDLED)
    def ignores_older_controller(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """C6: a request of an older controller than the newest that the broker knows changes nothing."""
        if self.line(before, connection, broker)[0].controllerEpoch >= before.receivers.controller_epochs[broker]:
            return True
        return self.known(before, broker) == self.known(after, broker)

    @transition_invariant(of=HANDLED, when=replicas_may_stop)
    def stop_is_fenced(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """H7: a StopReplica request of an older leader epoch than the replica's does not stop it."""
        request = self.line(before, connection, broker)[0]
        for partition_state in request.partitionStates if isinstance(request, StopReplicaRequest) else ():
            replica = PartitionAndReplica(partition_state.partition, broker)
            hosted = before.receivers.all_partitions.get(replica)
            if hosted is None or not 0 <= partition_state.leaderEpoch < hosted.leader_epoch:
                continue
            if before.receivers.fetchers.get(replica) != after.receivers.fetchers.get(replica):
                return False
        return True

    @transition_invariant(of=HANDLED)
    def role_and_epoch_together(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """P6: a replica that adopts a leader epoch adopts its role, too: it leads, or fetches from that leader."""
        for replica in (PartitionAndReplica(partition, broker) for partition in self.assignments):
            old, new = (s.receivers.all_partitions.get(replica) for s in (before, after))
            if new is None or new.leader_epoch == (NO_EPOCH if old is None else old.leader_epoch):
                continue
            fetching = after.receivers.fetchers.get(replica)
            if (fetching is None) != (new.leader == broker) or (fetching and fetching.leader != new.leader):
                return False
        return True

    @transition_invariant(of=HANDLED)
    def metadata_epoch_monotone(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """The metadata that a broker gives to clients never go back to an earlier leader epoch."""
        for replica in (PartitionAndReplica(partition, broker) for partition in self.assignments):
            old, new = (s.receivers.metadata.get(replica) for s in (before, after))
            if old is not None and (new is None or new.leaderEpoch < old.leaderEpoch):
                return False
        return True

    # Properties of brokers' beliefs.

    @invariant
    def presumed_leader_legit(self, s: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """P6: the leader that a broker obeys is the one in ZooKeeper, or one of an earlier leader epoch."""
        hosted, state = s.receivers.all_partitions.get(PartitionAndReplica(partition, broker)), s.state(partition)
        if hosted is None or hosted.leader is None:
            return True
        if state is None or hosted.leader_epoch > state.leader_epoch:
            return False
        return hosted.leader_epoch < state.leader_epoch or hosted.leader == state.leader

    # Properties of a quiet cluster.

    def quiet(self, s: C) -> bool:
        """The controller has heard of every change, and every request has been answered."""
        if (
            not s.epoch
            or s.brokers_changed
            or s.isr_change_notification
            or not self.former_channels.are_silent(s.former_channels)
        ):
            return False
        if s.receivers.unaware_of_registration:
            return False
        if any(
            s.late_requests[each] is not None or s.receivers.in_flight[each] is not None for each in self.broker_ids
        ):
            return False
        return not any(
            self.channels.queued_requests(s.channels, broker) for broker in self.broker_ids if broker in s.registered
        )

    @invariant(where=quiet)
    def live_brokers_known(self, s: C, broker: BrokerId) -> bool:
        """C10: when all is quiet, the controller knows which brokers run, and in which life."""
        known = s.context.live_broker_epochs.get(broker)
        return known == (s.receivers.broker_epochs[broker] if broker in s.registered else None)

    @invariant(where=quiet)
    def cache_fresh(self, s: C, partition: TopicPartition) -> bool:
        """C8: when all is quiet, the controller knows the partition's state in ZooKeeper."""
        known = s.context.partition_leadership_info.get(partition)
        written = s.leader_isr_and_controller_epoch(partition)
        if known is None or written is None:
            return known is None
        return known.leader_and_isr == written.leader_and_isr

    @invariant(where=quiet)
    def dead_not_in_isr(self, s: C, partition: TopicPartition) -> bool:
        """P13: when all is quiet, all members of an ISR with several members run."""
        state = s.state(partition)
        return state is None or len(state.isr) < 2 or {*state.isr} <= s.registered

    def leads_in_zookeeper(self, s: C, partition: TopicPartition) -> LeaderAndIsr | None:
        """The state of a partition that is online for the controller; None if it is not online."""
        online = s.context.partition_states.get(partition) is OnlinePartition
        return s.state(partition) if online else None

    @invariant(where=quiet, when=lambda self: not self.new_topic)
    def online_is_led(self, s: C, partition: TopicPartition) -> bool:
        """P9: when all is quiet, the leader of an online partition runs, and knows that it leads."""
        state = self.leads_in_zookeeper(s, partition)
        return state is None or self.receivers.leads(s.receivers, state.leader, partition) == state.leader_epoch

    @invariant(where=quiet)
    def no_other_leads(self, s: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """When all is quiet, only the leader in ZooKeeper believes that it leads."""
        state = s.state(partition)
        leads = self.receivers.leads(s.receivers, broker, partition)
        return leads is None or (state is not None and (broker, leads) == (state.leader, state.leader_epoch))

    @invariant(where=quiet, when=isr_may_grow)
    def leader_can_write(self, s: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """When all is quiet, a leader knows the version of its partition's state, so it can change the ISR."""
        node, hosted = s.written(partition), s.receivers.all_partitions.get(PartitionAndReplica(partition, broker))
        if node is None or hosted is None or broker not in s.registered:
            return True
        leads = self.receivers.leads(s.receivers, broker, partition)
        return leads != node.data.leader_and_isr.leader_epoch or hosted.partition_epoch == node.version

    @invariant(where=quiet, when=lambda self: self.brokers > 1 and not self.new_topic)
    def replicas_follow(self, s: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """When all is quiet, every follower on a running broker that does not shut down fetches from the leader."""
        state = self.leads_in_zookeeper(s, partition)
        if state is None or broker == state.leader or broker not in s.registered - s.shutting_down:
            return True
        if broker not in self.context.of(s.context).partition_replica_assignment(partition):
            return True
        fetching = s.receivers.fetchers.get(PartitionAndReplica(partition, broker))
        return fetching is not None and fetching.leader == state.leader

    @invariant(where=quiet, when=may_reassign)
    def no_stray_replica(self, s: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """When all is quiet, brokers keep only the replicas that are assigned to them."""
        assigned = broker in self.context.of(s.context).partition_replica_assignment(partition)
        return assigned or PartitionAndReplica(partition, broker) not in s.receivers.all_partitions

    @invariant(where=quiet)
    def metadata_fresh(self, s: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """When all is quiet, every running broker gives clients the leader in ZooKeeper."""
        state, partition_state = s.state(partition), s.receivers.metadata.get(PartitionAndReplica(partition, broker))
        if broker not in s.registered or state is None:
            return True
        return partition_state is not None and (partition_state.leader, partition_state.leaderEpoch) == (
            state.leader,
            state.leader_epoch,
        )

    # Witnesses: what must be possible.

    @sometimes(where=quiet)
    def all_is_quiet(self, s: C) -> bool:
        """All is quiet, and a partition is online."""
        return OnlinePartition in s.context.partition_states.values()

    @sometimes(where=quiet, when=lambda self: self.controller_changes > 0 and self.max_crashes > 0)
    def quiet_after_everything(self, s: C) -> bool:
        """Brokers and controllers have failed as often as they may, all brokers run, and all is quiet."""
        return (
            s.epoch == 1 + self.controller_changes
            and s.crashes == self.max_crashes
            and len(s.registered) == self.brokers
        )

    @sometimes(when=lambda self: self.max_crashes > 0 and self.design.broker_epoch, of="deliver")
    def stale_broker_epoch(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """A request for an earlier life of a broker is refused, STALE_BROKER_EPOCH."""
        own_epoch = self.receivers.own_epoch(before.receivers, broker)
        return self.line(before, connection, broker)[0].brokerEpoch < own_epoch

    @sometimes(when=lambda self: self.controller_changes > 0, of="deliver")
    def stale_controller_epoch(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """A request of the former controller is refused, STALE_CONTROLLER_EPOCH."""
        return self.line(before, connection, broker)[0].controllerEpoch < before.receivers.controller_epochs[broker]

    @sometimes(when=lambda self: self.controller_changes > 0, of="deliver")
    def obeys_former_controller(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """A broker that has not yet heard of the new controller obeys the former one."""
        return connection is Connection.FormerController and self.known(before, broker) != self.known(after, broker)

    @sometimes(when=lambda self: self.lost_replies, of="deliver")
    def handled_twice(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """A request whose reply was lost is handled again, and changes nothing."""
        _, channels = self.channel(before, connection)
        again = channels.request_send_threads[broker].request is not None
        return again and self.known(before, broker) == self.known(after, broker)

    @sometimes(when=lambda self: self.brokers > 1 and not self.design.metadata_first, of="deliver")
    def refuses_unknown_leader(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """A replica stays unchanged, since its broker does not believe that the new leader is alive."""
        request = self.line(before, connection, broker)[0]
        for partition_state in request.partitionStates if isinstance(request, LeaderAndIsrRequest) else ():
            replica = PartitionAndReplica(partition_state.partition, broker)
            hosted = after.receivers.all_partitions.get(replica)
            if hosted is not None and partition_state.leader not in before.receivers.alive_brokers[broker] | {broker}:
                return hosted.leader_epoch < partition_state.leaderEpoch
        return False

    @sometimes(when=lambda self: self.brokers > 1 and self.shutdowns)
    def two_leaders(self, s: C, partition: TopicPartition) -> bool:
        """Two brokers believe that they lead, since one has not heard of the other."""
        return sum(self.receivers.leads(s.receivers, broker, partition) is not None for broker in self.broker_ids) > 1

    @sometimes(when=isr_may_grow, of=("change_isr", "write_isr", "write_isr_lose_reply"))
    def a_follower_joins(self, before: C, after: C) -> bool:
        """A follower joins the ISR."""
        states = [(before.state(partition), after.state(partition)) for partition in self.assignments]
        return any(old is not None and new is not None and len(old.isr) < len(new.isr) for old, new in states)
