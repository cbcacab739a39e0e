"""ClusterState: what a cluster in memory consists of, and how it stands. `cluster.Cluster` explains it."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from election.brokers import in_order
from election.ids import BrokerId
from statemachines.broker.broker import Broker
from statemachines.broker.data_plane import Settings
from statemachines.changes.administration import AdminDesign
from statemachines.changes.replicating import ReplicationDesign
from statemachines.cluster_clock import HOUR, ClusterClock
from statemachines.cluster_controller import ClusterController
from statemachines.cluster_fetches import ClusterFetches
from statemachines.cluster_history import Effect, Elected, Failed, PartitionStatus, RecordingZooKeeper
from statemachines.cluster_tree import Details, znodes_of
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.design import BROKER_IDS, CONTROLLER, CONTROLLER_EPOCH
from statemachines.controller.metrics import Meter
from statemachines.controller.zk_requests import ZkRequest, ZkResponse, retry_requests_until_connected
from statemachines.messages.leader_and_isr import NO_EPOCH, NO_LEADER
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionId, TopicName, TopicPartition, checked_partition, named
from statemachines.messages.zk_data import (
    PERSISTENT_PATHS,
    TOPICS,
    TopicAssignment,
    TopicConfig,
    topic_config_path,
    topic_partition_state_path,
    topic_path,
)
from statemachines.releases import RELEASES
from statemachines.zookeeper.tree import ZkPath

Keep: TypeAlias = int | Mapping[TopicPartition, int] | None
"""How many records of each log, or of some logs, are left when a broker dies; None for all of them."""


class ClusterState:
    """ZooKeeper, the brokers and their controllers. The arguments are those of `Cluster`."""

    def __init__(
        self,
        brokers: Iterable[BrokerId],
        release: str = RELEASES[-1],
        *,
        down: Iterable[BrokerId] = (),
        controller: BrokerId | None = None,
        unclean: bool | None = None,
        delete_topic_enable: bool | None = None,
        min_insync_replicas: int = 1,
        auto_leader_rebalance: bool = True,
        racks: Mapping[BrokerId, str] | None = None,
    ) -> None:
        ids, down = _each_once("brokers", brokers), _each_once("down", down)
        first = () if controller is None else in_order("controller", (controller,))
        self._racks = dict(racks or {})
        if strangers := {*down, *first, *self._racks} - {*ids}:
            raise ValueError(f"there is no broker {min(strangers)}; there are {', '.join(map(str, ids))}")
        if controller in down:
            raise ValueError(f"broker {controller} cannot be the first controller: it is down")
        for name, given in {"unclean": unclean, "delete_topic_enable": delete_topic_enable}.items():
            if not (given is None or isinstance(given, bool)):
                raise ValueError(f"{name}: {reprlib.repr(given)}, allowed are True, False and None")
        if not isinstance(auto_leader_rebalance, bool):
            raise ValueError(
                f"auto_leader_rebalance: {reprlib.repr(auto_leader_rebalance)}, allowed are True and False"
            )
        check_min_insync_replicas(min_insync_replicas)
        self.release, self.design, self._admin = release, ControlDesign(release), AdminDesign(release)
        self._replication = ReplicationDesign(release)
        self._elections = 0
        self.history: list[Effect] = []
        """Writes of brokers, requests of controllers, elections and failures, in order."""
        self.zookeeper = RecordingZooKeeper(self._note)
        for path in PERSISTENT_PATHS:
            self.zookeeper.create(None, path)
        self.zookeeper.create(None, CONTROLLER_EPOCH, 0)
        self._late: frozenset[BrokerId] = frozenset()
        """The brokers that learn only later that there is no controller, as long as others run."""
        self._unclean = self._admin.unclean_by_default if unclean is None else unclean
        self._written_unclean = unclean
        """The setting as it is written; None where the release's default counts."""
        self._unclean_at_start: dict[BrokerId, bool] = {}
        """By broker, the setting when it started."""
        self._deletes = self._admin.delete_topic_enable if delete_topic_enable is None else delete_topic_enable
        self._min_insync_replicas = min_insync_replicas
        self._auto_leader_rebalance = auto_leader_rebalance
        self._stopping: dict[BrokerId, int] = {}
        """The brokers that are shutting down, in this order, with the number of times each asks the controller."""
        self.controllers: dict[BrokerId, ClusterController] = {}
        """The controller on each broker, active or not."""
        self.brokers: dict[BrokerId, Broker] = {}
        self._clock = ClusterClock(self.brokers, self.controllers)
        for broker in sorted(ids):
            self._add(broker)
        self._fetches = ClusterFetches(self.brokers, self._may_write_isr)
        for broker in sorted(set(self.brokers) - set(down)):
            self._start(broker)
            self.controllers[broker].begin()
        if controller is not None:
            self._late = self.live - {controller}

    def _add(self, broker: BrokerId) -> None:
        controller = ClusterController(
            broker,
            self.zookeeper,
            self.release,
            self._note,
            lambda: self._unclean if self._admin.dynamic_unclean else self._unclean_at_start[broker],
            self._auto_leader_rebalance,
            self._deletes,
            lambda: self._clock.now,
        )

        def ask_zookeeper(requests: tuple[ZkRequest, ...]) -> tuple[ZkResponse, ...]:
            return retry_requests_until_connected(self.zookeeper, controller.me.session, requests)

        self.controllers[broker] = controller
        settings = Settings(
            self._replication,
            lambda: self._clock.now,
            self._min_isr_of,
            lambda topic: self._permits_unclean(broker, topic),
            self._note,
        )
        self.brokers[broker] = Broker(
            broker, self.design, lambda: controller.me.broker_epoch, ask_zookeeper, settings
        )

    def _start(self, broker: BrokerId) -> None:
        self._unclean_at_start[broker] = self._unclean
        self.brokers[broker].start()
        self._clock.start(broker)

    def _note(self, effect: Effect) -> None:
        self.history.append(effect)
        if isinstance(effect, Elected):
            self._elections += 1
            self._late = frozenset()

    # Queries.

    @property
    def live(self) -> frozenset[BrokerId]:
        """The running brokers."""
        return frozenset(broker for broker, each in self.brokers.items() if each.is_running)

    @property
    def controller(self) -> BrokerId | None:
        """The controller, by ZooKeeper; None if there is none."""
        node = self.zookeeper.state.nodes.get(CONTROLLER)
        return None if node is None else node.data

    @property
    def seconds(self) -> float:
        """The time that has passed since the cluster began."""
        return (self._clock.now - HOUR) / 1000

    def partitions(self) -> dict[TopicPartition, PartitionStatus]:
        """The status of each partition, by ZooKeeper, without those of deleted topics."""
        live = self.live
        return {
            partition: self._status(partition, assignment, live)
            for topic in sorted(self._topics())
            for partition, assignment in self._assignments(topic).items()
        }

    def partition(self, topic: TopicName, number: PartitionId) -> PartitionStatus:
        """The status of one partition, by ZooKeeper.

        Raises:
            KeyError: it does not exist.
            ValueError: its name or number is invalid.
        """
        partition = checked_partition((topic, number))
        if topic not in self._topics():
            raise KeyError(partition)
        return self._status(partition, self._assignments(topic)[partition], self.live)

    def metrics(self, broker: BrokerId) -> dict[str, int]:
        """The JMX metrics of a broker's controller, by Kafka's names: gauges, and the counts of meters.

        >>> from statemachines import Cluster
        >>> cluster = Cluster(brokers=(1, 2))
        >>> cluster.settle()
        >>> cluster.metrics(1)["kafka.controller:type=KafkaController,name=ActiveControllerCount"]
        1

        Raises:
            ValueError: the broker does not run, or does not exist.
        """
        self._need((broker,), running=True)
        shown = self.controllers[broker].metrics
        return {name: each.count if isinstance(each, Meter) else each for name, each in shown.items()}

    def meters(self, broker: BrokerId) -> dict[str, Meter]:
        """The meters and timers of a broker's controller, by Kafka's names, with rates and times.

        Raises:
            ValueError: the broker does not run, or does not exist.
        """
        self._need((broker,), running=True)
        shown = self.controllers[broker].metrics
        return {name: each for name, each in shown.items() if isinstance(each, Meter)}

    def znodes(self, details: Details | None = None) -> dict[ZkPath, bytes]:
        """The nodes that a ZooKeeper of this cluster would hold now, by path, parents first.

        Args:
            details: what Kafka writes and a cluster in memory does not have.
        """
        defaults = TopicConfig(
            self._unclean or None, self._min_insync_replicas if self._min_insync_replicas > 1 else None
        )
        return znodes_of(self.zookeeper.state.nodes, self.release, defaults, self._racks, details)

    # Parts.

    def _topics(self) -> frozenset[TopicName]:
        return self.zookeeper.children(None, TOPICS)[0]

    def _cached_topics(self) -> frozenset[TopicName]:
        """The topics in the metadata cache of the controller's broker."""
        if self.controller not in self.live:
            return frozenset()
        return frozenset(each.topic for each in self.brokers[self.controller].metadata_cache.state.partition_states)

    def _alive_brokers(self) -> frozenset[BrokerId]:
        """The brokers in the metadata cache of the controller's broker; while there are none, the registered ones."""
        if self.controller not in self.live:
            return self._registered()
        return self.brokers[self.controller].metadata_cache.state.alive_brokers or self._registered()

    def _registered(self) -> frozenset[BrokerId]:
        return frozenset(map(int, self.zookeeper.children(None, BROKER_IDS)[0]))

    def _assignments(self, topic: TopicName) -> dict[TopicPartition, ReplicaAssignment]:
        assignment: TopicAssignment = self.zookeeper.state.nodes[topic_path(topic)].data
        return assignment.decode(topic)

    def _status(
        self, partition: TopicPartition, assignment: ReplicaAssignment, live: frozenset[BrokerId]
    ) -> PartitionStatus:
        node = self.zookeeper.state.nodes.get(topic_partition_state_path(partition))
        leader, epoch, isr = (NO_LEADER, NO_EPOCH, ()) if node is None else node.data.leader_and_isr[:3]
        return PartitionStatus(assignment, leader if leader in live else None, isr, epoch)

    def _need(self, brokers: Sequence[BrokerId], running: bool) -> None:
        """Refuse brokers that are unknown, or not in this state."""
        self._need_known(*brokers)
        for broker in brokers:
            if self.brokers[broker].is_running is not running:
                raise ValueError(f"broker {broker} {'does not run' if running else 'runs already'}")

    def _need_known(self, *brokers: BrokerId) -> None:
        """Refuse unknown brokers."""
        for broker in in_order("brokers", brokers):
            if broker not in self.brokers:
                raise ValueError(f"there is no broker {broker}; there are {', '.join(map(str, self.brokers))}")

    def _need_topic(self, name: object) -> None:
        """Refuse an unknown topic."""
        topics = sorted(self._topics())
        if name not in topics:
            raise ValueError(f"there is no topic {reprlib.repr(name)}; there are {reprlib.repr(topics)}")

    def _need_partition(self, topic: TopicName, number: PartitionId) -> TopicPartition:
        """Refuse an unknown partition."""
        self._need_topic(topic)
        partition = checked_partition((topic, number))
        if partition not in (numbers := self._assignments(topic)):
            raise ValueError(f"there is no partition {partition}; there are {named(tuple(numbers))}")
        return partition

    def _min_isr_of(self, topic: TopicName | None) -> int:
        node = None if topic is None else self.zookeeper.state.nodes.get(topic_config_path(topic))
        least = None if node is None else node.data.min_insync_replicas
        return self._min_insync_replicas if least is None else least

    def _permits_unclean(self, broker: BrokerId, topic: TopicName) -> bool:
        """Whether a broker permits unclean elections of a topic, by its own configuration."""
        node = self.zookeeper.state.nodes.get(topic_config_path(topic))
        permits = None if node is None else node.data.unclean_leader_election_enable
        return self._unclean_at_start[broker] if permits is None else permits

    def _may_write_isr(self, leader: BrokerId) -> bool:
        """Whether a leader could change an ISR now: until 2.6 it writes to ZooKeeper, and waits for a session."""
        return self.design.alter_partition or self.controllers[leader].has_session

    def _something_happens(self) -> None:
        for broker in self.brokers.values():
            broker.retry_refused_isrs()

    def _ask(self, event: Any, reply: Callable[[Any], object] = lambda answer: None) -> None:
        """Ask the controller, if there is one."""
        controller = self.controller
        if controller is None:
            reply(None)
        else:
            self.controllers[controller].ask(event, reply)

    def _stop(self, broker: BrokerId, cleanly: bool = False, keep: Keep = None) -> None:
        self._stopping.pop(broker, None)
        self._clock.stop(broker)
        self.controllers[broker].stop_with_session()
        self.brokers[broker].stop(cleanly, keep.get if isinstance(keep, Mapping) else lambda _: keep)
        self._fetches.forget(broker)

    def _end_if_refused(self, broker: BrokerId) -> None:
        """Stop a broker whose registration was refused, because its node exists already."""
        if self.brokers[broker].is_running and not self.controllers[broker].me.is_running:
            self._note(Failed(f"broker {broker} stops: its node exists already"))
            self._stop(broker)


def check_min_insync_replicas(number: int) -> None:
    """Refuse anything but an integer from 1 on."""
    if type(number) is not int or number < 1:
        raise ValueError(f"min_insync_replicas: {reprlib.repr(number)}, allowed are integers from 1 on")


def _each_once(name: str, brokers: Iterable[BrokerId]) -> tuple[BrokerId, ...]:
    """Brokers in any order, each once."""
    return in_order(name, tuple(brokers) if isinstance(brokers, Iterable) else brokers)
