"""A described cluster running in memory: a `Cluster`, laid out as described.

Its behaviour is Kafka's, see `statemachines.cluster`. This module adds what a description leaves open. A replica that
was out of sync at first although its leader ran stays behind until its broker returns or is elected; and the
described controller took over long ago. Events between an event and rest, and slow brokers, are left to `any_order`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from election.ids import BrokerId
from spec.language.errors import UsageError
from spec.what_if.events import ClusterEvent
from spec.what_if.known_cluster import KnownCluster, PartitionStatus
from statemachines.cluster import Cluster, NotSettled
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.messages.leader_and_isr import NO_LEADER, LeaderAndIsr
from statemachines.messages.topic_partition import TopicName, TopicPartition
from statemachines.messages.zk_data import (
    REASSIGN_PARTITIONS,
    TopicAssignment,
    TopicConfig,
    TopicPartitionState,
    delete_topics_topic_path,
    topic_config_path,
    topic_partition_path,
    topic_partition_state_path,
    topic_partitions_path,
    topic_path,
)
from statemachines.releases import RELEASES
from statemachines.zookeeper.tree import ZkPath, add_nodes


class RunningCluster(Cluster):
    """A cluster in memory that undergoes events.

    Args:
        cluster: its initial state.
        release: the controller's release; by default the newest with ZooKeeper.
    """

    def __init__(self, cluster: KnownCluster, release: str = RELEASES[-1]) -> None:
        super().__init__(
            cluster.brokers,
            release,
            down=cluster.brokers - cluster.live,
            controller=cluster.controller,
            unclean=cluster.permits_unclean(release),
            delete_topic_enable=True if cluster.deletion_queued else None,  # else a controller would not queue it
        )
        lagging: dict[BrokerId, list[TopicPartition]] = {}
        for partition, status in cluster.partitions.items():
            if status.leader in cluster.live:
                for broker in {*status.assignment.replicas} - {*status.isr}:
                    lagging.setdefault(broker, []).append(partition)
        for broker, partitions in lagging.items():
            self.hold_fetches(broker, *partitions)
        self._lay_out(cluster)
        self.settle()

    def undergo(self, event: ClusterEvent) -> None:
        """Let an event happen, and the cluster come to rest.

        Raises:
            UsageError: the event cannot happen now; nothing has changed.
        """
        try:
            event.apply(self)
        except ValueError as refused:
            raise UsageError(f"{event}: {refused}") from None
        self.settle()

    def settle(self, *args: Any, **named: Any) -> None:
        """Run until nothing is left to do.

        Raises:
            UsageError: the cluster does not come to rest.
        """
        try:
            super().settle(*args, **named)
        except NotSettled as endless:
            raise UsageError(str(endless)) from None

    def restart(self, *brokers: BrokerId) -> None:
        """Brokers start, and their replicas catch up."""
        super().restart(*brokers)
        for broker in brokers:
            self.resume_fetches(broker)

    # The layout.

    def _lay_out(self, cluster: KnownCluster) -> None:
        """Create the nodes of a cluster."""
        create, elected = self.zookeeper.create, cluster.controller is not None
        self.zookeeper.set(
            None, CONTROLLER_EPOCH, cluster.controller_epoch - elected
        )  # the election raises it by one
        by_topic: dict[TopicName, dict[TopicPartition, PartitionStatus]] = {}
        for partition, status in cluster.partitions.items():
            by_topic.setdefault(partition.topic, {})[partition] = status
        for topic, partitions in by_topic.items():
            assignments = {partition: status.assignment for partition, status in partitions.items()}
            create(None, topic_path(topic), TopicAssignment.encode(assignments))
            create(None, topic_partitions_path(topic))
            if topic in cluster.unclean:
                create(None, topic_config_path(topic), TopicConfig(cluster.unclean[topic]))
            self._lay_out_states(partitions, cluster)
        for topic in sorted(cluster.deletion_queued):
            create(None, delete_topics_topic_path(topic))
        if cluster.reassigning:
            create(None, REASSIGN_PARTITIONS, tuple(cluster.reassigning.items()))

    def _lay_out_states(self, partitions: Mapping[TopicPartition, PartitionStatus], cluster: KnownCluster) -> None:
        """Create the nodes of partitions that have a state.

        The described controller was elected long ago, this one takes over now. Since 2.3 a takeover takes dead
        replicas out of ISRs once more, even the last one of an ISR, which stays there, in the next leader epoch. So
        such a partition begins in the epoch before.
        """
        removes = len(cluster.live) > 0 and ControlDesign(self.release).offline_on_failover
        data: dict[ZkPath, Any] = {}
        for partition, status in partitions.items():
            if status.has_state:
                leader = NO_LEADER if status.leader is None else status.leader
                is_rewritten = removes and len(status.isr) == 1 and cluster.live.isdisjoint(status.isr)
                state = LeaderAndIsr(leader, status.leader_epoch - is_rewritten, status.isr)
                data[topic_partition_path(partition)] = None
                data[topic_partition_state_path(partition)] = TopicPartitionState.encode(state, 0)
        add_nodes(self.zookeeper.state.nodes, data)
