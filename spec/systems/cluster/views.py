"""Views and pictures of a cluster under a controller."""

from __future__ import annotations

from collections.abc import Iterable

from election.ids import BrokerId
from spec.language import Grid, Look, Tag, Tags, picture, view
from spec.systems.cluster.properties import ClusterProperties
from spec.systems.cluster.state import C
from statemachines.messages.control_requests import LeaderAndIsrRequest, StopReplicaRequest
from statemachines.messages.leader_and_isr import NO_LEADER
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition


class ClusterSpec(ClusterProperties[C]):
    """A controller, brokers that die and return, and their properties.

    A step is one batch of requests of a state machine and the handling of its answers, or the next change of states
    in an event; `spec.systems.partitions` has the theory. A system defines the partitions and the nodes, and adds
    events of its own.
    """

    # Views: a state in sentences, for the reader of a trace.

    @view
    def office(self, s: C) -> str:
        """Whether the controller is active, and under which epoch."""
        if not s.active:
            return f"another is controller, under epoch {s.epoch}" if s.epoch else "there is no controller yet"
        over = "" if s.context.epoch == s.epoch else f", unaware that the epoch is now {s.epoch}"
        return f"the controller acts under epoch {s.context.epoch}{over}"

    @view
    def leadership(self, s: C, partition: TopicPartition) -> str:
        """A partition's leader, and its state in the controller."""
        state, node = s.context.partition_states.get(partition), s.state(partition)
        taken = "" if state is None else f"; the controller has it as {state.name}"
        if node is None:
            return f"{partition} has no leader yet{taken}" if state is not None else ""
        leads = "no broker leads" if node.leader == NO_LEADER else f"broker {node.leader} leads"
        there = "" if node.leader in (NO_LEADER, *s.registered) else ", which does not run"
        isr = ", ".join(map(str, node.isr))
        return f"{leads} {partition} in leader epoch {node.leader_epoch}{there}; in sync: {isr}{taken}"

    @view
    def outdated(self, s: C, partition: TopicPartition) -> str:
        """The controller's outdated knowledge of a partition's leader and ISR."""
        known, state = s.context.partition_leadership_info.get(partition), s.state(partition)
        if not s.active or known is None or state is None:
            return ""
        believed = known.leader_and_isr
        if (believed.leader, believed.leader_epoch, believed.isr) == (state.leader, state.leader_epoch, state.isr):
            return ""
        isr = ", ".join(map(str, believed.isr))
        leads = "no leader" if believed.leader == NO_LEADER else f"broker {believed.leader} as leader"
        return f"the controller has {partition} with {leads} in leader epoch {believed.leader_epoch}; in sync: {isr}"

    @view
    def unsent(self, s: C, partition: TopicPartition, broker: BrokerId) -> str:
        """The requests that an interrupted change has left in a batch."""
        if not s.idle:
            return ""
        replica, batches = PartitionAndReplica(partition, broker), self.requests_in(s)
        left = {
            LeaderAndIsrRequest: any(replica in batch.leader_and_isr for batch in batches),
            StopReplicaRequest: any(replica in batch.stop_replica for batch in batches),
        }
        kinds = [kind.__name__.removesuffix("Request") for kind, is_left in left.items() if is_left]
        return f"{' and '.join(kinds)} for {partition} on broker {broker} stays in a batch, unsent" if kinds else ""

    @view
    def unheard(self, s: C, broker: BrokerId) -> str:
        """A broker whose start or death the controller has not heard of."""
        known = broker in s.context.live_broker_epochs
        if not s.active or known == (broker in s.registered):
            return ""
        return f"broker {broker} {'does not run' if known else 'runs'}, and the controller has not heard of it"

    # Pictures.

    @picture
    def topic(self, s: C) -> Grid:
        """Leader, assigned (AR) and in-sync (ISR) replicas, according to ZooKeeper; dead brokers are struck out."""
        return Grid(
            ("partition", "leader", "epoch", "AR", "ISR", "to the controller"),
            [self._of_partition(s, partition) for partition in self.assignments],
        )

    def _of_partition(self, s: C, partition: TopicPartition) -> tuple[object, ...]:
        assigned = self._replicas(s, partition, self.assigned(s, partition))
        known, state = s.context.partition_states.get(partition), s.state(partition)
        to_the_controller = "" if known is None else known.name
        if state is None:
            return partition, "", "", assigned, "", to_the_controller
        leader = Tag("none", Look.wrong)
        if state.leader != NO_LEADER:
            leader = Tag(state.leader, *self._standing(s, partition, state.leader))
        isr = self._replicas(s, partition, state.isr)
        return partition, leader, state.leader_epoch, assigned, isr, to_the_controller

    def _replicas(self, s: C, partition: TopicPartition, brokers: Iterable[BrokerId]) -> Tags:
        return Tags(Tag(broker, *self._standing(s, partition, broker)) for broker in brokers)

    def _standing(self, s: C, partition: TopicPartition, broker: BrokerId) -> tuple[Look, str]:
        """The look of a replica, and its explanation."""
        state = s.state(partition)
        if broker not in s.registered:
            return Look.gone, "its broker does not run"
        if state is None or broker not in state.isr:
            return Look.faint, "not in sync"
        return (Look.strong, "it leads") if broker == state.leader else (Look.plain, "in sync")

    @picture
    def cluster(self, s: C) -> Grid:
        """The running brokers, which of them the controller knows, and the leader that each obeys."""
        return Grid(
            ("broker", "to the controller", *(f"{partition} led by" for partition in self.assignments)),
            [
                (
                    Tag(f"broker {broker}", Look.plain if broker in s.registered else Look.gone),
                    self._known(s, broker),
                    *(self._goes_by(s, partition, broker) for partition in self.assignments),
                )
                for broker in self.broker_ids
            ],
        )

    def _known(self, s: C, broker: BrokerId) -> Tag | str:
        if not s.active:
            return ""
        known = broker in s.context.live_broker_epochs
        words = "shuts down" if broker in s.context.shutting_down_broker_ids else "alive" if known else "dead"
        return words if known == (broker in s.registered) else Tag(words, Look.wrong, "it has not heard yet")

    def _goes_by(self, s: C, partition: TopicPartition, broker: BrokerId) -> Tag | str:
        role, state = s.roles.get(PartitionAndReplica(partition, broker)), s.state(partition)
        if role is None:
            return ""
        now = state is not None and role.leader_epoch == state.leader_epoch
        words = f"{'none' if role.leader == NO_LEADER else role.leader}, epoch {role.leader_epoch}"
        return Tag(words, Look.strong if now and role.leader == broker else Look.plain if now else Look.faint)
