"""The JMX metrics of a controller: its gauges, and its meters and timers.

Names are Kafka's, as monitoring uses them: `kafka.controller:type=KafkaController,name=...`. A gauge is computed from
the controller's context, and is 0 on a broker that is not controller. Since 0.11 Kafka updates its gauges after each
event; in the middle of an event ours show the current values.

How partitions of topics queued for deletion count:

    gauge                            0.10.1   0.10.2 to 2.0   since 2.1
    OfflinePartitionsCount           yes      no              if they are OfflinePartition, until the deletion starts
    PreferredReplicaImbalanceCount   yes      no              no
    GlobalPartitionCount             none     since 1.0       yes

Since 2.1 a deletion that starts makes its partitions NonExistentPartition, even if it must then wait for a broker. A
controller that takes over does not start a deletion that must wait. So it counts these partitions as offline if their
leader is dead, although its predecessor did not.

Three do not show what their names suggest:

    ReplicasToDeleteCount, ReplicasIneligibleToDeleteCount   topics with equal numbers of such replicas count once
    PreferredReplicaImbalanceCount                           since 2.7 updated, not counted (see `CountingContext`)
    LeaderElectionRateAndTimeMs                              the number of broker changes, with or without elections

The counters are no part of a controller's state, and systems do not explore them: `ControllerStats` belongs to a
process, `CountingChannels` and `CountingContext` to a controller in memory.

Left out: ControllerState, ZkMigrationState, EventQueueSize, EventQueueTimeMs [KAFKA-10189], other events' timers.

[updateMetrics in KafkaController.scala, ControllerContext.scala, ControllerStats, 0.10.1 to 3.9]
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from math import exp
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

TICK: Final = 5_000
"""How often rates are updated, in milliseconds."""
ALPHA: Final = 1 - exp(-5 / 60)
"""How much the last interval counts for the rate of the last minute."""


class Meter:
    """A meter or a timer, as those of the library Metrics 2.2. Rates are numbers in a second, times in milliseconds.

    The rate of the last minute is a moving average of the rates in intervals of 5 seconds; an interval that is a
    minute older counts a third as much. [MeterMetric, EWMA, TimerMetric]

    >>> times = iter((0, 1_000, 61_000, 61_000, 61_000))
    >>> meter = Meter(lambda: next(times))
    >>> meter.mark(took=400)
    >>> meter.count, round(meter.one_minute_rate, 3), round(meter.mean_rate, 3), meter.mean, meter.max
    (1, 0.08, 0.016, 400.0, 400)

    Args:
        now: returns the time, in milliseconds.
    """

    def __init__(self, now: Callable[[], int] = lambda: 0) -> None:
        self._now, self._start = now, now()
        self._moments: list[int] = []
        self.max = 0
        """The longest time that one of them took."""
        self._total = 0

    def mark(self, took: int = 0) -> None:
        """It has happened, and took so long."""
        self._moments.append(self._now())
        self.max, self._total = max(self.max, took), self._total + took

    @property
    def count(self) -> int:
        """How often it has happened."""
        return len(self._moments)

    @property
    def mean(self) -> float:
        """How long it took on average; 0 if it has not happened."""
        return self._total / self.count if self._moments else 0.0

    @property
    def mean_rate(self) -> float:
        """The rate since the start of the process; 0 if no time has passed."""
        passed = self._now() - self._start
        return 1000 * self.count / passed if passed else 0.0

    @property
    def one_minute_rate(self) -> float:
        """The rate of the last minute; 0 in the first 5 seconds."""
        ticks = (self._now() - self._start) // TICK
        marks = Counter((moment - self._start) // TICK for moment in self._moments)
        rate = 1000 * marks[0] / TICK if ticks else 0.0
        for tick in range(1, ticks):
            rate += ALPHA * (1000 * marks[tick] / TICK - rate)
        return rate


class Gauge(NamedTuple):
    """A numeric metric of a controller."""

    name: str
    """The JMX name, after `kafka.controller:type=KafkaController,name=`."""
    field: str
    """The field of KafkaController; empty if it has none."""
    shows: Callable[[ControllerContext, ControlDesign], int]
    """Its value while the broker is controller."""
    since: Release | None = None
    """The first release that has it; None: all that are modelled here."""
    until: Release | None = None
    """The first release that no longer has it, or shows another value."""

    def is_in(self, release: Release) -> bool:
        """Whether a release has it."""
        return (self.since is None or self.since <= release) and (self.until is None or release < self.until)

    @property
    def object_name(self) -> str:
        """Its full name."""
        return f"kafka.controller:type=KafkaController,name={self.name}"


def _without_registered_leader(context: ControllerContext, design: ControlDesign) -> int:
    state = context.state
    return sum(
        known.leader_and_isr.leader not in state.live_broker_epochs
        and not (design.gauges_skip_deleted and context.is_topic_queued_up_for_deletion(partition.topic))
        for partition, known in state.partition_leadership_info.items()
    )


def _imbalanced(context: ControllerContext, design: ControlDesign) -> int:
    """The number of imbalanced partitions.

    Raises:
        LookupError: a partition has no replicas, or, in 0.10, has never had a leader.
    """
    if not design.update_gauges:
        for partition in context.all_partitions():
            context.state.partition_leadership_info[partition]
    return context.preferred_replica_imbalance_count(include_deleted=not design.gauges_skip_deleted)


def _of_topics_to_be_deleted(context: ControllerContext, counts: Callable[[ReplicaState], bool]) -> int:
    """The number of their replicas in a counted state. Kafka sums a set of numbers: equal ones count once.

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


def _replicas_to_delete(context: ControllerContext, design: ControlDesign) -> int:
    return _of_topics_to_be_deleted(context, lambda state: state is not ReplicaDeletionSuccessful)


def _ineligible_replicas(context: ControllerContext, design: ControlDesign) -> int:
    return _of_topics_to_be_deleted(context, lambda state: state is ReplicaDeletionIneligible)


QUEUE_SIZES, REQUEST_RATES = Release("0.11.0.0"), Release("2.0.0")
"""The first releases whose channels show queue sizes, and request rates."""
KEEPS_IMBALANCE: Final = Release("2.7.0")
"""Since this release the number of imbalanced partitions is not counted after each event (see `CountingContext`)."""
V1_0, V2_1, V2_4, V3_1 = (Release(each) for each in ("1.0.0", "2.1.0", "2.4.0", "3.1.0"))
GAUGES: Final = (
    Gauge("ActiveControllerCount", "", lambda context, _: 1),
    Gauge("OfflinePartitionsCount", "offlinePartitionCount", _without_registered_leader, until=V2_1),
    Gauge(
        "OfflinePartitionsCount", "offlinePartitionCount", lambda context, _: context.offline_partition_count(), V2_1
    ),
    Gauge("PreferredReplicaImbalanceCount", "preferredReplicaImbalanceCount", _imbalanced),
    Gauge("GlobalTopicCount", "globalTopicCount", lambda context, _: len(context.state.all_topics), V1_0),
    Gauge(
        "GlobalPartitionCount",
        "globalPartitionCount",
        lambda context, _: len(context.state.partition_leadership_info),
        V1_0,
    ),
    Gauge(
        "TopicsToDeleteCount", "topicsToDeleteCount", lambda context, _: len(context.state.topics_to_be_deleted), V2_4
    ),
    Gauge("ReplicasToDeleteCount", "replicasToDeleteCount", _replicas_to_delete, V2_4),
    Gauge(
        "TopicsIneligibleToDeleteCount",
        "ineligibleTopicsToDeleteCount",
        lambda context, _: len(context.state.topics_ineligible_for_deletion),
        V2_4,
    ),
    Gauge("ReplicasIneligibleToDeleteCount", "ineligibleReplicasToDeleteCount", _ineligible_replicas, V2_4),
    Gauge("ActiveBrokerCount", "activeBrokerCount", lambda context, _: len(context.state.live_broker_epochs), V3_1),
    Gauge("FencedBrokerCount", "", lambda context, _: 0, V3_1),
)
"""The gauges of KafkaController, in the order of their updates. With ZooKeeper no broker is ever fenced."""


def gauges_of(release: str) -> tuple[Gauge, ...]:
    """The gauges of a release.

    >>> [each.name for each in gauges_of("0.11")]
    ['ActiveControllerCount', 'OfflinePartitionsCount', 'PreferredReplicaImbalanceCount']

    Raises:
        UnknownRelease: there is no such release.
    """
    which = Release(release)
    return tuple(each for each in GAUGES if each.is_in(which))


def update_metrics(
    shown: MutableMapping[str, int], context: ControllerContext, active: bool, design: ControlDesign, release: str
) -> None:
    """Update the gauges, by their full names, as Kafka does after an event.

    If one cannot be counted, because a replica has no state or a partition no replicas, it and those after it keep
    their values: the exception is only logged. In 0.10 whoever reads that one gets the exception: it has no value.

    Args:
        shown: the gauges; missing ones become 0.
        context: the controller's context.
        active: whether the broker is controller.
        design: the design of its release.
        release: the release of the broker.
    """
    gauges = gauges_of(release)
    for gauge in gauges:
        shown.setdefault(gauge.object_name, 0)
    for gauge in gauges:
        try:
            shown[gauge.object_name] = gauge.shows(context, design) if active else 0
        except LookupError:
            if design.update_gauges:
                return
            del shown[gauge.object_name]


class CountingContext(ControllerContext):
    """The context of a controller since 2.7: it keeps the number of imbalanced partitions, and updates it by changes.

    The number can become wrong. From 2.7.0 to 3.2.0 a topic that waits for its deletion is subtracted again whenever
    another topic is queued for deletion [KAFKA-13572]. By the source, a controller that is elected again without
    having resigned continues from its old number.

    Args:
        state: its storage; by default a fresh one in memory.
        design: the design of its release.
    """

    def __init__(self, state: ContextState | None, design: ControlDesign) -> None:
        super().__init__(state)
        self._design, self._imbalanced = design, 0

    def preferred_replica_imbalance_count(self, include_deleted: bool = False) -> int:
        """The number as kept: without partitions to be deleted."""
        return self._imbalanced

    def is_imbalanced(self, partition: TopicPartition) -> bool:
        """Whether a partition has a leader that is not its preferred one; without a leader it needs no replicas."""
        return self.leadership_of(partition) is not None and super().is_imbalanced(partition)

    def put_partition_leadership_info(self, partition: TopicPartition, known: LeaderIsrAndControllerEpoch) -> None:
        """Record a leader and an ISR that were read or written."""
        with self._counting(partition):
            super().put_partition_leadership_info(partition, known)

    def update_partition_full_replica_assignment(
        self, partition: TopicPartition, assignment: ReplicaAssignment
    ) -> None:
        """Assign a partition to these brokers."""
        with self._counting(partition):
            super().update_partition_full_replica_assignment(partition, assignment)

    def queue_topic_deletion(self, topics: Iterable[TopicName]) -> None:
        """Queue these topics for deletion."""
        topics = frozenset(topics)
        newly = topics - self.state.topics_to_be_deleted if self._design.allow_requeued_deletion else topics
        super().queue_topic_deletion(topics)
        self._take_off(sorted(newly))

    def remove_topic(self, topic: TopicName) -> None:
        """Forget a topic."""
        if not self.is_topic_queued_up_for_deletion(topic):
            self._take_off((topic,))
        super().remove_topic(topic)

    def reset_context(self) -> None:
        """Forget everything: the controller resigns."""
        super().reset_context()
        self._imbalanced = 0

    @contextmanager
    def _counting(self, partition: TopicPartition) -> Iterator[None]:
        """Adjust the number after a partition changes; partitions to be deleted do not count."""
        before = self._counts(partition)
        yield
        if not self.is_topic_queued_up_for_deletion(partition.topic):
            self._imbalanced += self._counts(partition) - before

    def _counts(self, partition: TopicPartition) -> bool:
        """Whether a partition counts as imbalanced; without replicas, where Kafka throws, it does not."""
        return bool(self.partition_replica_assignment(partition)) and self.is_imbalanced(partition)

    def _take_off(self, topics: Iterable[TopicName]) -> None:
        with suppress(LookupError):  # here Kafka's event fails, too (see `allow_requeued_deletion`)
            for topic in topics:
                for partition in self.partitions_for_topic(topic):
                    self._imbalanced -= self.is_imbalanced(partition)


def context_of(design: ControlDesign, release: str, state: ContextState | None = None) -> ControllerContext:
    """The context of a release's controller, with the counts that its gauges need.

    Args:
        design: the design of the release.
        release: the release.
        state: its storage; by default a fresh one in memory.

    Raises:
        UnknownRelease: there is no such release.
    """
    return CountingContext(state, design) if Release(release) >= KEEPS_IMBALANCE else ControllerContext(state)


class CountingChannels(ControllerChannelManager):
    """The channels of a controller, with counts of the requests that their threads have taken."""

    def __init__(self, context: ControllerContext, design: ControlDesign, now: Callable[[], int]) -> None:
        super().__init__(context, design=design)
        self._now = now
        self._put: defaultdict[BrokerId, deque[int]] = defaultdict(deque)
        """When each queued request was put into its queue."""
        self.taken: defaultdict[BrokerId, Meter] = defaultdict(lambda: Meter(now))
        """The requests taken for each broker while its channel exists, and their time in the queue."""

    def send_request(self, broker: BrokerId, request: ControlRequest) -> None:
        """Put a request into a broker's queue."""
        super().send_request(broker, request)
        if broker in self.state.message_queues:
            self._put[broker].append(self._now())

    def take(self, broker: BrokerId) -> ControlRequest:
        """The thread takes the first request of its queue, to send it."""
        request = super().take(broker)
        self.taken[broker].mark(self._now() - self._put[broker].popleft())
        return request

    def remove_broker(self, broker: BrokerId) -> ControlRequest | None:
        """Close a broker's channel, and drop its metrics."""
        sending = super().remove_broker(broker)
        self.taken.pop(broker, None)
        self._put.pop(broker, None)
        return sending

    def metrics(self, release: str) -> dict[str, int | Meter]:
        """The metrics of the channels, by their full names."""
        prefix, which = "kafka.controller:type=ControllerChannelManager,name=", Release(release)
        shown: dict[str, int | Meter] = {}
        if which >= QUEUE_SIZES:
            shown[f"{prefix}TotalQueueSize"] = self.total_queue_size()
        for broker in self.state.message_queues:
            if which >= QUEUE_SIZES:
                shown[f"{prefix}QueueSize,broker-id={broker}"] = self.queue_size(broker)
            if which >= REQUEST_RATES:
                shown[f"{prefix}RequestRateAndQueueTimeMs,broker-id={broker}"] = self.taken[broker]
        return shown


class ControllerStats:
    """The meters of a broker's process as controller.

    Args:
        now: returns the time, in milliseconds.
    """

    def __init__(self, now: Callable[[], int] = lambda: 0) -> None:
        self.leader_election_timer = Meter(now)
        """Processed changes of brokers [LeaderElectionRateAndTimeMs]."""
        self.unclean_leader_election_rate = Meter(now)
        """Elections of leaders that were not in sync, each time they were chosen [UncleanLeaderElectionsPerSec]."""

    def metrics(self) -> dict[str, Meter]:
        """The meters, by their full names."""
        prefix = "kafka.controller:type=ControllerStats,name="
        return {
            prefix + "LeaderElectionRateAndTimeMs": self.leader_election_timer,
            prefix + "UncleanLeaderElectionsPerSec": self.unclean_leader_election_rate,
        }
