"""What a controller shows through JMX: its gauges, and how often its meters and timers were asked, without a clock.

Names are Kafka's, as those who watch a cluster write them: `kafka.controller:type=KafkaController,name=...`. A gauge
is read off the controller's context, and is 0 on a broker that is not controller. Kafka sets its gauges when an event
is over; in the midst of an event ours are those of this moment.

Three do not show what they are called:

    ReplicasToDeleteCount, ReplicasIneligibleToDeleteCount   of topics with equally many such replicas one counts
    PreferredReplicaImbalanceCount                           since 2.7 kept, not counted, see `CountingContext`
    LeaderElectionRateAndTimeMs                              how often brokers have come or gone, whoever was elected

What is counted is no part of a controller's state, and systems do not explore it: `ControllerStats` belongs to a
process, `CountingChannels` and `CountingContext` to a controller in memory.

Left out: rates, times, and what stands for a state (ControllerState, ZkMigrationState).

[updateMetrics in KafkaController.scala, ControllerContext.scala, ControllerStats, 0.10.2 to 3.9]
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

from election.ids import BrokerId
from statemachines.controller.channel_manager import ControllerChannelManager
from statemachines.controller.context import ContextState, ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.messages.control_requests import ControlRequest
from statemachines.messages.leader_and_isr import LeaderIsrAndControllerEpoch
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicName, TopicPartition
from statemachines.releases import Release
from statemachines.tables.replica import ReplicaDeletionIneligible, ReplicaDeletionSuccessful, ReplicaState

__all__ = [
    "GAUGES",
    "ControllerStats",
    "CountingChannels",
    "CountingContext",
    "Gauge",
    "context_of",
    "gauges_of",
    "update_metrics",
]


class Gauge(NamedTuple):
    """A number that a controller shows."""

    name: str
    """As in JMX, behind `kafka.controller:type=KafkaController,name=`."""
    field: str
    """What KafkaController calls it; empty: it keeps none."""
    shows: Callable[[ControllerContext], int]
    """What it is while the broker is controller."""
    since: Release | None = None
    """The first release that has it; None: all that are followed here do."""
    until: Release | None = None
    """The first that has it no more, or shows something else."""

    def is_in(self, release: Release) -> bool:
        """Whether a release has it."""
        return (self.since is None or self.since <= release) and (self.until is None or release < self.until)

    @property
    def object_name(self) -> str:
        """All of its name."""
        return f"kafka.controller:type=KafkaController,name={self.name}"


def _without_registered_leader(context: ControllerContext) -> int:
    state = context.state
    return sum(
        known.leader_and_isr.leader not in state.live_broker_epochs
        and not context.is_topic_queued_up_for_deletion(partition.topic)
        for partition, known in state.partition_leadership_info.items()
    )


def _of_topics_to_be_deleted(context: ControllerContext, counts: Callable[[ReplicaState], bool]) -> int:
    """How many of their replicas are in a state that counts. Kafka adds up a set of numbers: equal ones are one.

    Raises:
        KeyError: a replica has no state.
    """
    states = context.state.replica_states
    return sum(
        {
            sum(counts(states[replica]) for replica in context.replicas_for_topic(topic))
            for topic in context.state.topics_to_be_deleted
        }
    )


def _replicas_to_delete(context: ControllerContext) -> int:
    return _of_topics_to_be_deleted(context, lambda state: state is not ReplicaDeletionSuccessful)


def _ineligible_replicas(context: ControllerContext) -> int:
    return _of_topics_to_be_deleted(context, lambda state: state is ReplicaDeletionIneligible)


QUEUE_SIZES, REQUEST_RATES = Release("0.11.0.0"), Release("2.0.0")
"""The first releases in which channels show how much waits, and how often something was taken."""
KEEPS_IMBALANCE: Final = Release("2.7.0")
"""Since then the number of imbalanced partitions is not counted after each event, see `CountingContext`."""
V1_0, V2_1, V2_4, V3_1 = (Release(each) for each in ("1.0.0", "2.1.0", "2.4.0", "3.1.0"))
GAUGES: Final = (
    Gauge("ActiveControllerCount", "", lambda context: 1),
    Gauge("OfflinePartitionsCount", "offlinePartitionCount", _without_registered_leader, until=V2_1),
    Gauge("OfflinePartitionsCount", "offlinePartitionCount", ControllerContext.offline_partition_count, V2_1),
    Gauge(
        "PreferredReplicaImbalanceCount",
        "preferredReplicaImbalanceCount",
        lambda context: context.preferred_replica_imbalance_count(),
    ),
    Gauge("GlobalTopicCount", "globalTopicCount", lambda context: len(context.state.all_topics), V1_0),
    Gauge(
        "GlobalPartitionCount",
        "globalPartitionCount",
        lambda context: len(context.state.partition_leadership_info),
        V1_0,
    ),
    Gauge(
        "TopicsToDeleteCount", "topicsToDeleteCount", lambda context: len(context.state.topics_to_be_deleted), V2_4
    ),
    Gauge("ReplicasToDeleteCount", "replicasToDeleteCount", _replicas_to_delete, V2_4),
    Gauge(
        "TopicsIneligibleToDeleteCount",
        "ineligibleTopicsToDeleteCount",
        lambda context: len(context.state.topics_ineligible_for_deletion),
        V2_4,
    ),
    Gauge("ReplicasIneligibleToDeleteCount", "ineligibleReplicasToDeleteCount", _ineligible_replicas, V2_4),
    Gauge("ActiveBrokerCount", "activeBrokerCount", lambda context: len(context.state.live_broker_epochs), V3_1),
    Gauge("FencedBrokerCount", "", lambda context: 0, V3_1),
)
"""The gauges of KafkaController, in the order in which they are set. With ZooKeeper no broker is ever fenced."""


def gauges_of(release: str) -> tuple[Gauge, ...]:
    """The gauges that a release has.

    >>> [each.name for each in gauges_of("0.11")]
    ['ActiveControllerCount', 'OfflinePartitionsCount', 'PreferredReplicaImbalanceCount']

    Raises:
        UnknownRelease: there is none.
    """
    which = Release(release)
    return tuple(each for each in GAUGES if each.is_in(which))


def update_metrics(shown: MutableMapping[str, int], context: ControllerContext, active: bool, release: str) -> None:
    """Set the gauges, by all of their names, as Kafka does when an event is over.

    If one cannot be counted, because a replica has no state or a partition no replicas, it and those after it stay as
    they are: the exception is only logged.

    Args:
        shown: the gauges; those that have not been set yet are 0.
        context: what the controller knows.
        active: whether the broker is controller.
        release: that of the broker.
    """
    gauges = gauges_of(release)
    for gauge in gauges:
        shown.setdefault(gauge.object_name, 0)
    with suppress(LookupError):
        for gauge in gauges:
            shown[gauge.object_name] = gauge.shows(context) if active else 0


class CountingContext(ControllerContext):
    """What a controller since 2.7 knows: it keeps the number of imbalanced partitions, and adds what changes.

    The number can get wrong. From 2.7.0 to 3.2.0 a topic that waits for its deletion is taken off again whenever
    another one is to be deleted [KAFKA-13572]. A controller that is elected again without having resigned counts on
    from the number that it had, by the source.

    Args:
        state: what it knows; else a fresh one in memory.
        design: that of its release.
    """

    def __init__(self, state: ContextState | None, design: ControlDesign) -> None:
        super().__init__(state)
        self._design, self._imbalanced = design, 0

    def preferred_replica_imbalance_count(self) -> int:
        """The number that it keeps."""
        return self._imbalanced

    def is_imbalanced(self, partition: TopicPartition) -> bool:
        """Whether a partition has a leader that is not its preferred one; without a leader no replicas are needed."""
        return self.leadership_of(partition) is not None and super().is_imbalanced(partition)

    def put_partition_leadership_info(self, partition: TopicPartition, known: LeaderIsrAndControllerEpoch) -> None:
        """A leader and an ISR were read, or written."""
        with self._counting(partition):
            super().put_partition_leadership_info(partition, known)

    def update_partition_full_replica_assignment(
        self, partition: TopicPartition, assignment: ReplicaAssignment
    ) -> None:
        """A partition is assigned to these brokers."""
        with self._counting(partition):
            super().update_partition_full_replica_assignment(partition, assignment)

    def queue_topic_deletion(self, topics: Iterable[TopicName]) -> None:
        """These topics are to be deleted."""
        topics = frozenset(topics)
        newly = topics - self.state.topics_to_be_deleted if self._design.allow_requeued_deletion else topics
        super().queue_topic_deletion(topics)
        self._take_off(sorted(newly))

    def remove_topic(self, topic: TopicName) -> None:
        """A topic is gone."""
        if not self.is_topic_queued_up_for_deletion(topic):
            self._take_off((topic,))
        super().remove_topic(topic)

    def reset_context(self) -> None:
        """Nothing is known any more: the controller resigns."""
        super().reset_context()
        self._imbalanced = 0

    @contextmanager
    def _counting(self, partition: TopicPartition) -> Iterator[None]:
        """A partition changes; one that is to be deleted does not count."""
        before = self._counts(partition)
        yield
        if not self.is_topic_queued_up_for_deletion(partition.topic):
            self._imbalanced += self._counts(partition) - before

    def _counts(self, partition: TopicPartition) -> bool:
        """Whether it is imbalanced; not if it has no replicas, where Kafka throws."""
        return bool(self.partition_replica_assignment(partition)) and self.is_imbalanced(partition)

    def _take_off(self, topics: Iterable[TopicName]) -> None:
        with suppress(
            LookupError
        ):  # Kafka gets no further either, and its event fails, see `allow_requeued_deletion`
            for topic in topics:
                for partition in self.partitions_for_topic(topic):
                    self._imbalanced -= self.is_imbalanced(partition)


def context_of(design: ControlDesign, release: str, state: ContextState | None = None) -> ControllerContext:
    """The context of a release's controller, with what its gauges need.

    Args:
        design: that of the release.
        release: which.
        state: what the controller knows; else a fresh one in memory.

    Raises:
        UnknownRelease: there is no such release.
    """
    return CountingContext(state, design) if Release(release) >= KEEPS_IMBALANCE else ControllerContext(state)


class CountingChannels(ControllerChannelManager):
    """The channels of a controller, which count the requests that their threads have taken."""

    def __init__(self, context: ControllerContext, design: ControlDesign) -> None:
        super().__init__(context, design=design)
        self.taken: Counter[BrokerId] = Counter()
        """How many requests were taken for a broker, as long as its channel lasts [RequestRateAndQueueTimeMs]."""

    def take(self, broker: BrokerId) -> ControlRequest:
        """The thread takes the first request of its queue, to send it."""
        request = super().take(broker)
        self.taken[broker] += 1
        return request

    def remove_broker(self, broker: BrokerId) -> ControlRequest | None:
        """A broker's channel ends, and its metrics with it."""
        sending = super().remove_broker(broker)
        self.taken.pop(broker, None)
        return sending

    def metrics(self, release: str) -> dict[str, int]:
        """What they show, by all of their names."""
        prefix, which = "kafka.controller:type=ControllerChannelManager,name=", Release(release)
        shown = {}
        if which >= QUEUE_SIZES:
            shown[f"{prefix}TotalQueueSize"] = self.total_queue_size()
        for broker in self.state.message_queues:
            if which >= QUEUE_SIZES:
                shown[f"{prefix}QueueSize,broker-id={broker}"] = self.queue_size(broker)
            if which >= REQUEST_RATES:
                shown[f"{prefix}RequestRateAndQueueTimeMs,broker-id={broker}"] = self.taken[broker]
        return shown


@dataclass
class ControllerStats:
    """What a broker's process has counted as controller since it began."""

    leader_election_timer: int = 0
    """How many changes of brokers it has processed [LeaderElectionRateAndTimeMs]."""
    unclean_leader_election_rate: int = 0
    """How often it chose a leader that was not in sync, each time that it elected [UncleanLeaderElectionsPerSec]."""

    def metrics(self) -> dict[str, int]:
        """The same, by all of their names."""
        prefix = "kafka.controller:type=ControllerStats,name="
        return {
            prefix + "LeaderElectionRateAndTimeMs": self.leader_election_timer,
            prefix + "UncleanLeaderElectionsPerSec": self.unclean_leader_election_rate,
        }
