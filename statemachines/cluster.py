"""Cluster: a whole cluster in memory. ZooKeeper, a controller on each broker, its channels, and brokers that obey.

Each external event is a method: brokers crash, topics are created, partitions move. A method only triggers the event:
it ends a session, writes a node, or puts a request into the controller's queue. The consequences happen in steps:

    TakeRequest        a broker takes the next request from a controller's channel, and answers
    AdvanceController  a broker's controller takes its next event, or sends the next batch of requests to ZooKeeper
    AdvanceShutdown    a broker that is shutting down asks the controller, waits, or stops
    RunTask            a broker does what is due by the clock
    SendFetch          a follower's fetcher thread asks a leader for records, or where it must truncate
    TakeFetch          the leader answers; a follower that has caught up should join the ISR
    TakeFetchResponse  the thread appends what it has got, or truncates
    ChangeIsr          a leader asks the controller for ISRs; until 2.6 it notifies the controller of them

`steps()` returns the possible next steps, `step()` takes one, and `settle()` continues until none is left. The order
is fixed, and ISRs change only when all else is done; or a seed draws the order. `history` records what happened. A
fetch that would change nothing is no step. Steps take no time: only `advance` lets it pass.

No rule of Kafka is in this module. The controller on each broker is a `KafkaController`, and brokers are made of
`statemachines.broker`. Both were compared with Kafka's own classes, and systems explore both.

Left out: lost connections and lost replies, failed log directories; topic ids; brokers of several releases or with an
older inter.broker.protocol.version; consumers of followers.
"""

from __future__ import annotations

import random
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, TypeAlias, TypeVar, overload

from election.brokers import in_order
from election.ids import BrokerId
from election.replica_placement import assign_replicas_to_brokers, create_new_partitions_assignment
from statemachines.admin import admin_design_of, checked_targets, require_equal_numbers, validate_topic_create
from statemachines.broker.broker import Broker
from statemachines.broker.data_plane import Settings
from statemachines.broker.kafka_server import (
    CONTROLLED_SHUTDOWN_MAX_RETRIES,
    AskController,
    Backoff,
    FindController,
    Stopped,
)
from statemachines.broker.log.partition_logs import PartitionLogs
from statemachines.changes.administration import DYNAMIC_UNCLEAN
from statemachines.changes.replicating import ReplicationDesign
from statemachines.cluster_clock import HOUR, ClusterClock
from statemachines.cluster_controller import ClusterController
from statemachines.cluster_fetches import ClusterFetches
from statemachines.cluster_history import Effect, Elected, Failed, PartitionStatus, RecordingZooKeeper
from statemachines.cluster_steps import (
    AdvanceController,
    AdvanceShutdown,
    ChangeIsr,
    RunTask,
    SendFetch,
    Step,
    TakeFetch,
    TakeFetchResponse,
    TakeRequest,
)
from statemachines.cluster_tree import Details, KafkaTree, znodes_of
from statemachines.controller.alter_partition import AlterPartitionResponse
from statemachines.controller.calls import Call
from statemachines.controller.control_design import control_design_of
from statemachines.controller.design import BROKER_IDS, CONTROLLER, CONTROLLER_EPOCH
from statemachines.controller.event_processor import ControllerEventProcessor, event_of
from statemachines.controller.kafka_zk_client import ZkRequest, ZkResponse, retry_requests_until_connected
from statemachines.controller.meter import Meter
from statemachines.controller.replica_leader_election import ElectionTrigger, ElectionType
from statemachines.messages.control_requests import ControlRequest, UpdateMetadataRequest
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import NO_EPOCH, NO_LEADER
from statemachines.messages.produce import ACKS, Acks, Produced
from statemachines.messages.records import Offset
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import (
    PartitionId,
    TopicName,
    TopicPartition,
    checked_partition,
    named,
)
from statemachines.messages.zk_data import (
    DELETE_TOPICS,
    PERSISTENT_PATHS,
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    TOPICS,
    TopicAssignment,
    TopicConfig,
    delete_topics_topic_path,
    topic_config_path,
    topic_partition_state_path,
    topic_path,
)
from statemachines.releases import RELEASES
from statemachines.zookeeper.tree import ZkPath, add_nodes

__all__ = ["Cluster", "NotReached", "NotSettled"]

Keep: TypeAlias = int | Mapping[TopicPartition, int] | None
"""How many records of each log, or of some logs, are left when a broker dies; None for all of them."""
P = TypeVar("P", bound=tuple[TopicName, PartitionId])
"""A partition, as a `TopicPartition` or as a pair."""


HANDLERS: Final = ControllerEventProcessor
"""The handlers of the controller's events."""


DAY: Final = 86_400
"""How far `advance` goes at once, in seconds."""

MAX_ELECTIONS: Final = 100
"""After so many controller elections `settle` gives up."""


NO_CONTROLLER: Final = "there is no controller"
"""The reason of a refusal."""


class NotSettled(RuntimeError):
    """A cluster never comes to rest, as in Kafka: no controller can take over, and another one tries."""


class NotReached(RuntimeError):
    """A cluster comes to rest without having been in a situation that was waited for."""


class Cluster:
    r"""A cluster whose brokers are up and registered, and have done nothing yet.

    >>> cluster = Cluster(brokers=(1, 2, 3))
    >>> cluster.create_topic("t", {0: (1, 2, 3)})
    >>> cluster.settle()
    >>> cluster.crash(1)
    >>> print(*cluster.steps(), sep="\n")
    the controller on broker 2 goes on: NodeDeleted /controller
    the controller on broker 3 goes on: NodeDeleted /controller
    >>> done = len(cluster.history)
    >>> cluster.settle()
    >>> print(*cluster.history[done:][:2], sep="\n")
    broker 2 is controller, epoch 2
    to broker 2: UpdateMetadata
    >>> print(cluster.partition("t", 0))
    leader 2, epoch 2, ISR 2,3, on 1,2,3

    Args:
        brokers: their ids.
        release: the release of all brokers; by default the newest with ZooKeeper.
        down: the brokers that do not run.
        controller: the broker that is elected first; by default the one with the lowest id.
        unclean: whether replicas that are not in sync may be elected, unless a topic's configuration says otherwise;
            by default true until 0.10.2, false since 0.11 [unclean.leader.election.enable].
        delete_topic_enable: whether topics can be deleted; by default false until 0.11, true since 1.0
            [delete.topic.enable].
        min_insync_replicas: how many replicas must be in sync for acks=all, unless a topic's configuration says
            otherwise [min.insync.replicas].
        auto_leader_rebalance: whether controllers check on each `rebalance` whether preferred replicas lead
            [auto.leader.rebalance.enable].
        racks: the racks of brokers, for the placement of replicas; brokers without one are left out [broker.rack].

    Raises:
        ValueError: the release is unknown; a broker is named twice, or is no broker id; `down` or `racks` names an
            unknown broker; `controller` is down or unknown; an argument has the wrong type.
    """

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
        _check_min_insync_replicas(min_insync_replicas)
        self.release, self.design, self._admin = release, control_design_of(release), admin_design_of(release)
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

    def _need_topic(self, name: object) -> None:
        """Refuse an unknown topic."""
        topics = sorted(self._topics())
        if name not in topics:
            raise ValueError(f"there is no topic {reprlib.repr(name)}; there are {reprlib.repr(topics)}")

    def _assignments(self, topic: TopicName) -> dict[TopicPartition, ReplicaAssignment]:
        assignment: TopicAssignment = self.zookeeper.state.nodes[topic_path(topic)].data
        return assignment.decode(topic)

    def _status(
        self, partition: TopicPartition, assignment: ReplicaAssignment, live: frozenset[BrokerId]
    ) -> PartitionStatus:
        node = self.zookeeper.state.nodes.get(topic_partition_state_path(partition))
        leader, epoch, isr = (NO_LEADER, NO_EPOCH, ()) if node is None else node.data.leader_and_isr[:3]
        return PartitionStatus(assignment, leader if leader in live else None, isr, epoch)

    # External events.

    def crash(self, *brokers: BrokerId, keep: int | Mapping[P, int] | None = None) -> None:
        """Brokers die, and their sessions end, before any other step.

        If a broker's process dies, its logs keep all records. If its machine dies, the last ones may be lost, and
        a new disk has none.

        Args:
            brokers: their ids.
            keep: how many records each of their logs keeps, or those of some partitions; None means all.

        Raises:
            ValueError: one of them does not run, or `keep` is no number of records; nothing has happened.
        """
        self._need(brokers, running=True)
        kept = _checked_keep(keep)
        self._something_happens()
        for broker in brokers:
            self._stop(broker, keep=kept)

    def bounce(self, broker: BrokerId, keep: int | Mapping[P, int] | None = None) -> None:
        """A broker dies, starts and registers again, before any other step.

        Args:
            broker: its id.
            keep: how many records its logs keep, as in `crash`.

        Raises:
            ValueError: it does not run, or `keep` is no number of records; nothing has happened.
        """
        self.crash(broker, keep=keep)
        self.restart(broker)
        its = self.controllers[broker]
        while self.brokers[broker].is_running and broker not in self._registered():
            its.advance()
            self._end_if_refused(broker)

    def restart(self, *brokers: BrokerId) -> None:
        """Brokers start, with their old logs.

        Raises:
            ValueError: one of them runs; nothing has happened.
        """
        self._need(brokers, running=False)
        self._something_happens()
        for broker in brokers:
            self._start(broker)
            self.controllers[broker].startup()
            while self.controllers[broker].registers_first:
                self.controllers[broker].advance()
            self._end_if_refused(broker)

    def shut_down(self, broker: BrokerId, attempts: int = CONTROLLED_SHUTDOWN_MAX_RETRIES) -> None:
        """A broker begins to shut down: it asks the controller for permission, and stops in any case.

        Args:
            broker: its id.
            attempts: how often it asks.

        Raises:
            ValueError: it does not run, is already shutting down, or `attempts` is invalid; nothing has happened.
        """
        self._need((broker,), running=True)
        if broker in self._stopping:
            raise ValueError(f"broker {broker} is already shutting down")
        if type(attempts) is not int or attempts < 0:
            raise ValueError(f"attempts: {reprlib.repr(attempts)}, allowed are the integers from 0 on")
        self._something_happens()
        self._stopping[broker] = attempts

    def expire_session(self, broker: BrokerId) -> None:
        """A broker keeps running, but its session ends: it is neither registered nor controller until it is back.

        Raises:
            ValueError: it does not run, or has no session; nothing has happened.
        """
        self._need((broker,), running=True)
        if not self.controllers[broker].has_session:
            raise ValueError(f"broker {broker} has no session that could end")
        self._something_happens()
        self.zookeeper.expire(self.controllers[broker].me.session)

    @overload
    def create_topic(self, name: TopicName, replicas: Mapping[PartitionId, Sequence[BrokerId]]) -> None: ...

    @overload
    def create_topic(
        self, name: TopicName, *, partitions: int, replication_factor: int, start_index: int = ..., shift: int = ...
    ) -> None: ...

    def create_topic(
        self,
        name: TopicName,
        replicas: Mapping[PartitionId, Sequence[BrokerId]] | None = None,
        *,
        partitions: int | None = None,
        replication_factor: int | None = None,
        start_index: int = 0,
        shift: int = 0,
    ) -> None:
        """An administrator creates a topic, with given replicas or with a number of them.

        With numbers, the replicas are placed as Kafka does (`election.assign_replicas_to_brokers`), on the brokers
        that the controller's broker knows from UpdateMetadata. While it knows none, Kafka refuses; here they are
        placed on the registered brokers. Kafka draws start index and shift at random; here they are 0, so that the
        first of the brokers leads partition 0.

        Args:
            name: its name.
            replicas: for each partition, from 0 on, its brokers, the preferred leader first. A broker outside this
                cluster counts as down.
            partitions: the number of partitions.
            replication_factor: the number of replicas of each partition.
            start_index: the position of the first replica among the brokers, ordered by id or by rack.
            shift: the number of brokers between the first replica of a partition and the second.

        Raises:
            ValueError: the topic exists, or one that differs in "." and "_" only; since 2.3.1, the controller's
                broker still knows it, though it is deleted; since 3.1, its deletion is requested; Kafka does not
                allow the name; since 2.3, partitions are not numbered from 0 on; they have unequal numbers of
                replicas; a broker occurs twice, or is no broker id; there are no partitions, no replicas, or more
                replicas than such brokers; some of these brokers have racks, and others have none; both
                replicas and numbers are given. Nothing has happened.
        """
        _require_integers(
            partitions=partitions, replication_factor=replication_factor, start_index=start_index, shift=shift
        )
        if self._admin.refuse_cached_topic and name in sorted(self._cached_topics()):
            raise ValueError(f"there is a topic {name} already")
        if replicas is None and partitions is not None and replication_factor is not None:
            replicas = assign_replicas_to_brokers(
                sorted(self._alive_brokers()),
                partitions,
                replication_factor,
                racks=self._racks,
                start_index=start_index,
                shift=shift,
            )
        elif replicas is None or partitions is not None or replication_factor is not None:
            raise ValueError(f"topic {name}: name its replicas, or partitions and a replication factor")
        marked = self.zookeeper.children(None, DELETE_TOPICS)[0]
        assignments = validate_topic_create(name, replicas, self._topics(), marked, self._admin)
        if (path := topic_config_path(name)) in self.zookeeper.state.nodes:
            self.zookeeper.set(None, path, TopicConfig())
        self.zookeeper.create(None, topic_path(name), TopicAssignment.encode(assignments))
        self._something_happens()

    def create_partitions(self, name: TopicName, count: int) -> None:
        """An administrator adds partitions to a topic.

        Their replicas are placed as Kafka does, on the registered brokers, starting with the first replica of
        partition 0 (`election.create_new_partitions_assignment`). Nothing is random.

        Args:
            name: its name.
            count: the new total number of partitions.

        Raises:
            ValueError: there is no such topic; it has that many partitions already; its partition 0 has more replicas
                than brokers are registered, or none; some of these have racks, and others have none. Until 2.1: its
                partitions have unequal numbers of replicas, as they may while one moves. Since 1.0: the topic is
                queued for deletion, or partitions are being reassigned (since 2.4, partitions of this topic). Nothing
                has happened.
        """
        self._need_topic(name)
        _require_integers(count=count)
        data: TopicAssignment = self.zookeeper.get(None, topic_path(name))[0]
        assignments = data.decode(name)
        if self._admin.add_by_request:
            self._need_no_changes_of(name, assignments)
        added = create_new_partitions_assignment(
            {partition.partition: assignment.replicas for partition, assignment in assignments.items()},
            count,
            sorted(self._registered()),
            racks=self._racks,
        )
        new = {TopicPartition(name, number): ReplicaAssignment(brokers) for number, brokers in added.items()}
        afterwards = {**assignments, **new}
        if not self._admin.add_to_unequal:
            require_equal_numbers(name, afterwards.values())
        self.zookeeper.set(None, topic_path(name), TopicAssignment.encode(afterwards))
        self._something_happens()

    def _need_no_changes_of(self, topic: TopicName, assignments: Mapping[TopicPartition, ReplicaAssignment]) -> None:
        """Refuse to add partitions to a topic [AdminManager.scala, createPartitions; KafkaApis.scala]."""
        controller = self.controller
        if controller is not None and self.controllers[controller].context.is_topic_queued_up_for_deletion(topic):
            raise ValueError(f"topic {topic} is queued for deletion, so no partitions are added")
        moving = (
            any(assignment.is_being_reassigned for assignment in assignments.values())
            if self.design.kip_455
            else REASSIGN_PARTITIONS in self.zookeeper.state.nodes
        )
        if moving:
            raise ValueError(f"partitions are being reassigned, so none are added to topic {topic}")

    def delete_topic(self, name: TopicName) -> None:
        """An administrator asks for a topic to be deleted; if that is requested already, nothing changes.

        Where topics cannot be deleted, the request is written until 2.0; the controller removes it since 0.10.2.

        Raises:
            ValueError: there is no such topic; since 2.1, topics cannot be deleted; since 3.0, the controller's
                broker does not know the topic from UpdateMetadata, as before its first leader and during its
                deletion. Nothing has happened.
        """
        self._need_topic(name)
        is_asked = self._admin.refuse_uncached_deletion and self.controller in self.live
        if is_asked and name not in self._cached_topics():
            raise ValueError(f"topic {name} cannot be deleted: the controller's broker does not know it")
        if self._admin.refuse_disabled_deletion and not self._deletes:
            raise ValueError(f"topic {name} cannot be deleted: delete.topic.enable is false")
        if (path := delete_topics_topic_path(name)) not in self.zookeeper.state.nodes:
            self.zookeeper.create(None, path)
        self._something_happens()

    def reassign(self, targets: Mapping[P, Sequence[BrokerId] | None]) -> None:
        """An administrator moves partitions to other brokers; since 2.4, None cancels a partition's reassignment.

        Since 2.4 the request goes to the controller, and refusals are in the history. Until 2.3 a node makes the
        request. `kafka-reassign-partitions.sh` writes it if there is none, the partitions exist and, since 0.11, all
        brokers are registered; otherwise its refusal is in the history.

        Raises:
            ValueError: no partition is named; a broker is no integer; until 2.3, a reassignment is cancelled, or a
                broker occurs twice; from 0.11 to 2.3, a partition has no replica. Nothing has happened.
        """
        asked = checked_targets(targets, self.design.kip_455, self._admin.check_targets)
        reassigned = [(partition, target) for partition, target in asked if target is not None]
        self._something_happens()
        if self.design.kip_455:
            event = Call(HANDLERS.process_api_partition_reassignment.__name__, (asked,))
            self._ask(event, self._noting_refusals("reassignment"))
        elif refused := self._refused_by_tool(reassigned):
            self._note(Failed(f"the reassignment is refused: {refused}"))
        else:
            self.zookeeper.create(None, REASSIGN_PARTITIONS, asked)

    def elect(
        self,
        partitions: Iterable[tuple[TopicName, PartitionId]],
        election_type: ElectionType = ElectionType.PREFERRED,
    ) -> None:
        """An administrator asks for elections of leaders; refusals are in the history.

        Since 2.2 the request goes to the controller. Until 2.1 a node makes the request;
        `kafka-preferred-replica-election.sh` writes it if there is none, with the partitions that exist.

        Raises:
            ValueError: the arguments are no partitions, or no election type; until 2.3, it is unclean; until 2.1, a
                partition occurs twice. Nothing has happened.
        """
        if not isinstance(partitions, Iterable):
            raise ValueError(f"partitions: {reprlib.repr(partitions)}, allowed are pairs of a topic and a number")
        if not isinstance(election_type, ElectionType):
            raise ValueError(f"election_type: {reprlib.repr(election_type)}, allowed are {[*ElectionType]}")
        asked = tuple(map(checked_partition, partitions))
        if election_type is ElectionType.UNCLEAN and not self._admin.unclean_on_request:
            raise ValueError("until 2.3 no unclean election can be requested")
        if not self._admin.elect_by_request:
            self._elect_by_node(asked)
            return
        self._something_happens()
        arguments = (asked, election_type, ElectionTrigger.AdminClientTriggered)
        event = Call(HANDLERS.process_replica_leader_election.__name__, arguments)
        self._ask(event, self._noting_refusals("election"))

    def _elect_by_node(self, asked: tuple[TopicPartition, ...]) -> None:
        """Write the node of an election of preferred leaders [PreferredReplicaLeaderElectionCommand]."""
        if twice := sorted({each for each in asked if asked.count(each) > 1}):
            raise ValueError(f"partition {twice[0]} occurs twice, allowed is once")
        self._something_happens()
        there = self.partitions()
        for partition in asked:
            if partition not in there:
                self._note(Failed(f"the election of {partition} is refused: there is no such partition"))
        if PREFERRED_REPLICA_ELECTION in self.zookeeper.state.nodes:
            self._note(Failed(f"the election is refused: another one is under way in {PREFERRED_REPLICA_ELECTION}"))
        else:
            self.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, tuple(each for each in asked if each in there))

    def rebalance(self) -> None:
        """Let the controller check now whether preferred replicas lead.

        By the clock (`advance`) it does so 5 seconds after a failover, and then every 300 seconds
        [leader.imbalance.check.interval.seconds]. If others lead more than a tenth of the partitions that prefer a
        broker, it is elected for those that it can lead.

        Raises:
            ValueError: there is no controller, or it has no check scheduled; nothing has happened.
        """
        controller = self.controller
        if controller is None or not self.controllers[controller].rebalance_timer.due_in:
            raise ValueError("no controller has a check of preferred leaders scheduled")
        self._something_happens()
        self.controllers[controller].rebalance()

    def allow_unclean(self, topic: TopicName | None = None, allowed: bool = True) -> None:
        """An administrator permits unclean elections, or forbids them.

        A permission for a topic counts from its next election, and since 2.1 it causes one at once. The default until
        1.0 is read by brokers that start; since 1.1 it counts from the next election, and since 2.0 a permission
        causes one at once. From 1.1 to 2.4.0 its second change makes running brokers forget the min.insync.replicas
        of topics (KAFKA-9254), until the topic's configuration changes or the broker starts again.

        Args:
            topic: the topic; None means all topics that do not say otherwise.
            allowed: whether they are permitted.

        Raises:
            ValueError: there is no such topic, or `allowed` is no bool; nothing has happened.
        """
        if not isinstance(allowed, bool):
            raise ValueError(f"allowed: {reprlib.repr(allowed)}, allowed are True and False")
        if topic is not None:
            self._need_topic(topic)
        self._something_happens()
        if topic is None:
            self._unclean, before = allowed, self._unclean
            at_once = self._admin.unclean_at_once and allowed and not before
            for controller in self.controllers.values() if self._admin.dynamic_unclean else ():
                controller.configure_unclean(allowed, at_once)
            if self._admin.dynamic_unclean and allowed is not self._written_unclean:
                self._reconfigure_logs(None)
            self._written_unclean = allowed
            return
        self._configure(topic, unclean_leader_election_enable=allowed)
        if self._admin.unclean_at_once_of_topic and allowed:
            self._ask(Call(HANDLERS.process_unclean_leader_election_enable.__name__, (topic,)))

    def set_min_insync_replicas(self, topic: TopicName, number: int) -> None:
        """An administrator says how many replicas must be in sync for acks=all; leaders obey at once.

        Args:
            topic: the topic; the default of all others is an argument of `Cluster`.
            number: how many [min.insync.replicas].

        Raises:
            ValueError: there is no such topic, or the number is invalid; nothing has happened.
        """
        _check_min_insync_replicas(number)
        self._need_topic(topic)
        self._something_happens()
        self._configure(topic, min_insync_replicas=number)

    def _configure(self, topic: TopicName, **changes: Any) -> None:
        """Write a topic's configuration; what does not change stays."""
        path = topic_config_path(topic)
        if (node := self.zookeeper.state.nodes.get(path)) is not None:
            self.zookeeper.set(None, path, node.data._replace(**changes))
        else:
            self.zookeeper.create(None, path, TopicConfig(**changes))
        self._reconfigure_logs(topic)

    def _reconfigure_logs(self, topic: TopicName | None) -> None:
        for broker in self.brokers.values():
            broker.data_plane.reconfigure(topic)

    def fail_over(self) -> None:
        """The controller's node is deleted; another broker is elected, because the old controller learns of it last.

        A controller that is still taking over may never learn of it: then no broker is controller [K1].

        Raises:
            ValueError: no other broker is registered; nothing has happened.
        """
        if not self._registered() - {self.controller}:
            raise ValueError("there is no other broker that could be controller")
        self._something_happens()
        if self.controller is not None:
            self._late = frozenset({self.controller})
            self.zookeeper.delete(None, CONTROLLER)

    def advance(
        self,
        seconds: float,
        seed: int | None = None,
        *,
        until: Callable[[Cluster], bool] | None = None,
        without: Callable[[Step], bool] | type[Step] | None = None,
    ) -> None:
        """Time passes. What Kafka does by the clock is done when it is due, and the cluster settles each time.

        Whatever steps are possible now or later, they take no time. Followers fetch again and again, unless their
        fetches are held. Only here, a broker that shuts down waits between its attempts, and until 2.6 a leader waits
        before it notifies the controller of ISRs.

        >>> cluster = Cluster(brokers=(1, 2))
        >>> cluster.create_topic("t", {0: (1, 2)}); cluster.settle()
        >>> cluster.hold_fetches(2)
        >>> cluster.advance(15); print(cluster.partition("t", 0))
        leader 1, epoch 0, ISR 1,2, on 1,2
        >>> _ = cluster.produce("t", 0, "m")
        >>> cluster.advance(45); print(cluster.partition("t", 0))
        leader 1, epoch 0, ISR 1, on 1,2

        Args:
            seconds: how long, to the millisecond.
            seed: as in `settle`.
            until: as in `settle`; time then stops.
            without: as in `settle`; a task that is not run stays due.

        Raises:
            ValueError: the time is no number from 0 to a day, or another argument is invalid; nothing has happened.
            NotReached: the time has passed, and `until` was never true.
            NotSettled: controllers are elected without end.
        """
        if type(seconds) not in (int, float) or not 0 <= seconds <= DAY:
            raise ValueError(f"seconds: {reprlib.repr(seconds)}, allowed are numbers from 0 to {DAY}, a day")
        _check_settling(seed, until, without)

        def waits(step: Step) -> bool:
            if isinstance(step, ChangeIsr):
                return not self.design.alter_partition
            return isinstance(step, AdvanceShutdown) and self._clock.is_backing_off(step.broker)

        end = self._clock.now + round(seconds * 1000)
        while not self._settles(seed, until, lambda step: waits(step) or _is_among(step, without)):
            if self._clock.now == end:
                if until is not None:
                    raise NotReached(f"{seconds} seconds have passed, and `until` was never true")
                return
            self._clock.advance(end)
            self._something_happens()
            self._fetches.look_at_all()

    # Logs and clients.

    def produce(
        self,
        topic: TopicName,
        partition: PartitionId,
        value: object,
        acks: Acks = "all",
        to: BrokerId | None = None,
    ) -> Produced:
        """A producer sends a record to a partition's leader, which appends it at once, or refuses it.

        With acks=all the producer waits until the record is committed; what it knows then is in the result.

        Args:
            topic: the topic.
            partition: the number of the partition.
            value: the record's value; anything.
            acks: 0, 1, or "all".
            to: the broker that the producer takes for the leader; by default the leader in ZooKeeper.

        Returns what the producer knows. Kafka's refusals are its `error`.

        Raises:
            ValueError: there is no such partition, or no broker `to`; or `acks` is none of these.
        """
        which = self._need_partition(topic, partition)
        if type(acks) not in (int, str) or acks not in ACKS:
            raise ValueError(f"acks: {reprlib.repr(acks)}, allowed are 0, 1 and 'all'")
        produced = Produced(value, acks)
        broker = self._asked(which, to)
        if broker is None:
            produced.error = Errors.LEADER_NOT_AVAILABLE
        elif not self.brokers[broker].is_running:
            produced.error = None if acks == 0 else Errors.NETWORK_EXCEPTION
        else:
            self._something_happens()
            self.brokers[broker].produce(which, produced)
        return produced

    def consume(
        self, topic: TopicName, partition: PartitionId, offset: Offset = 0, at: BrokerId | None = None
    ) -> list[object]:
        """What a consumer reads from a partition's leader: the values of committed records.

        Args:
            topic: the topic.
            partition: the number of the partition.
            offset: where it begins.
            at: the broker that the consumer takes for the leader; by default the leader in ZooKeeper.

        Raises:
            ValueError: there is no such partition, no broker `at`, or no leader; the broker does not run, or refuses.
        """
        which = self._need_partition(topic, partition)
        if type(offset) is not int:
            raise ValueError(f"offset: {reprlib.repr(offset)}, allowed are integers")
        broker = self._asked(which, at)
        if broker is None or not self.brokers[broker].is_running:
            raise ValueError(f"{which} has no leader that runs")
        found = self.brokers[broker].consume(which, offset)
        if isinstance(found, Errors):
            raise ValueError(f"broker {broker} refuses to read {which} from {offset}: {found}")
        return [*found]

    def logs(self, topic: TopicName, partition: PartitionId) -> PartitionLogs:
        """The logs of a partition, by broker; of a broker that does not run, what it finds when it starts.

        They print as rows of cells.

        Raises:
            ValueError: there is no such partition.
        """
        which = checked_partition((topic, partition))
        found = {
            broker: each.data_plane.partitions[which].log
            if each.is_running
            else each.disks[which].loaded().with_high_watermark(each.disks[which].high_watermark)
            for broker, each in self.brokers.items()
            if which in each.disks
        }
        if not found:
            self._need_partition(topic, partition)
        live = self.live
        return PartitionLogs(found, self._status(which, ReplicaAssignment(()), live).leader, live)

    def checkpoint(self, *brokers: BrokerId) -> None:
        """Brokers write their high watermarks to their disks now, by default all; by the clock every 5 seconds.

        Raises:
            ValueError: one of them does not run; nothing has happened.
        """
        self._need(brokers, running=True)
        for broker in brokers or sorted(self.live):
            self.brokers[broker].data_plane.checkpoint()

    def expire_isrs(self) -> None:
        """replica.lag.time.max.ms passes, and leaders remove members that have not caught up from their ISRs.

        Followers fetch meanwhile, unless their fetches are held. Nothing else happens: whatever is due by the clock
        is put off. `advance` lets the same time pass with everything.
        """
        self._something_happens()
        self._clock.put_off(self._replication.replica_lag_time_max_ms + 1)
        self._fetches.look_at_all()
        while fetches := (self._fetches.responses() or self._fetches.requests() or self._fetches.sends()):
            self._do(fetches[0])
        for broker in sorted(self.live):
            if self._may_write_isr(broker):
                self.brokers[broker].shrink_isrs()

    def hold_fetches(self, broker: BrokerId, *partitions: tuple[TopicName, PartitionId]) -> None:
        """A broker sends no fetches, for these partitions or for any, until `resume_fetches`.

        Raises:
            ValueError: there is no such broker, or one of these is no partition; nothing has happened.
        """
        self._hold(self._fetches.hold, broker, partitions)

    def resume_fetches(self, broker: BrokerId, *partitions: tuple[TopicName, PartitionId]) -> None:
        """A broker sends fetches again, for these partitions or for all.

        Raises:
            ValueError: there is no such broker, or one of these is no partition; nothing has happened.
        """
        self._hold(self._fetches.resume, broker, partitions)

    def _hold(
        self,
        do: Callable[[BrokerId, Iterable[TopicPartition] | None], None],
        broker: BrokerId,
        partitions: Iterable[tuple[TopicName, PartitionId]],
    ) -> None:
        self._need_known(broker)
        do(broker, [checked_partition(each) for each in partitions] or None)

    def _need_partition(self, topic: TopicName, number: PartitionId) -> TopicPartition:
        """Refuse an unknown partition."""
        self._need_topic(topic)
        partition = checked_partition((topic, number))
        if partition not in (numbers := self._assignments(topic)):
            raise ValueError(f"there is no partition {partition}; there are {named(tuple(numbers))}")
        return partition

    def _asked(self, partition: TopicPartition, broker: BrokerId | None) -> BrokerId | None:
        """The broker that a client asks; None if it knows of no leader."""
        if broker is None:
            return self.partition(*partition).leader
        self._need_known(broker)
        return broker

    # Steps.

    def steps(self) -> tuple[Step, ...]:
        """All possible next steps, the most urgent first; none if the cluster is at rest."""
        return tuple(chain.from_iterable(self._by_urgency()))

    def step(self, which: Step) -> None:
        """Take one step.

        Raises:
            ValueError: the step is not possible now; nothing has happened.
        """
        steps = self.steps()
        for each in steps:
            if type(each) is type(which) and each == which:  # tuples of other types compare equal to it, too
                self._do(each)
                return
        can = "; ".join(map(str, steps)) or "nothing"
        raise ValueError(f"{which!r} is not possible now; possible: {can}")

    def settle(
        self,
        seed: int | None = None,
        *,
        until: Callable[[Cluster], bool] | None = None,
        without: Callable[[Step], bool] | type[Step] | None = None,
    ) -> None:
        """Take steps until none is left.

        A broker dies after it has caught up, and before its leader reports it to the controller:

        >>> cluster = Cluster(brokers=(1, 2))
        >>> cluster.create_topic("t", {0: (1, 2)})
        >>> cluster.crash(2); cluster.settle()
        >>> cluster.restart(2); cluster.settle(without=ChangeIsr)
        >>> cluster.steps()
        (ChangeIsr(leader=1),)
        >>> cluster.crash(2)

        Args:
            seed: draws each step from all possible ones. None takes the most urgent step first, and changes ISRs
                last.
            until: it is called before each step, and once this is true, no other step is taken.
            without: the steps that are not taken, as a type or a function.

        Raises:
            ValueError: the seed is no integer, or another argument is no function; nothing has happened.
            NotReached: no step is left, and `until` was never true.
            NotSettled: controllers are elected without end.
        """
        _check_settling(seed, until, without)
        if not self._settles(seed, until, without) and until is not None:
            raise NotReached("the cluster is at rest, and `until` was never true")

    def _settles(
        self,
        seed: int | None,
        until: Callable[[Cluster], bool] | None,
        without: Callable[[Step], bool] | type[Step] | None,
    ) -> bool:
        """Take steps until none is left. Returns whether `until` became true before."""
        last = self._elections + MAX_ELECTIONS
        for each in self._chosen(seed, without):
            if until is not None and until(self):
                return True
            self._do(each)
            if self._elections > last:
                raise NotSettled(f"the cluster does not settle: {MAX_ELECTIONS} controllers were elected in a row")
        return until is not None and until(self)

    def _chosen(self, seed: int | None, without: Callable[[Step], bool] | type[Step] | None) -> Iterator[Step]:
        """The steps to take, each when the one before has been taken, until none is left."""

        def are_left() -> Iterator[list[Step]]:
            for group in self._by_urgency():
                yield [each for each in group if not _is_among(each, without)]

        if seed is not None:
            chance = random.Random(seed)
            while steps := [*chain.from_iterable(are_left())]:
                yield chance.choice(steps)
        while most_urgent := next(filter(None, are_left()), ()):
            yield from most_urgent

    def _by_urgency(self) -> Iterator[Sequence[Step]]:
        """The possible next steps, by kind; a step that another of its kind has made unnecessary does nothing."""
        yield [
            TakeRequest(controller, broker, type(queue[0]).__name__.removesuffix("Request"))
            for controller, each in self.controllers.items()
            for broker, queue in each.channels.state.message_queues.items()
            if queue and self.brokers[broker].is_running and self._may_take(broker, queue[0])
        ]
        working = [
            self.controllers[broker] for broker in self.live if self._is_still_controller(self.controllers[broker])
        ]
        working.sort(key=lambda each: (not each.has_session, each.broker))  # a broker without session registers last
        yield [AdvanceController(each.broker, each.next_step) for each in working]
        yield from self._stopping_steps(waiting=False)
        yield self._fetches.responses()
        yield self._fetches.requests()
        yield self._fetches.sends()
        yield [task for task in self._clock.due() if self._may_run(task)]
        leaders = {
            broker: each.isr_changes_to_send
            for broker, each in self.brokers.items()
            if self._reaches_controller(broker)
        }
        yield [ChangeIsr(each) for each in sorted(filter(leaders.get, leaders), key=lambda each: leaders[each][0])]
        yield from self._stopping_steps(waiting=True)

    def _may_take(self, broker: BrokerId, request: ControlRequest) -> bool:
        """Whether a broker can take a request: LeaderAndIsr waits while a thread asks where its leader's log ends."""
        exchanges = self.brokers[broker].data_plane.exchanges
        return isinstance(request, UpdateMetadataRequest) or not any(
            each.holds_partitions for each in exchanges.values()
        )

    def _is_still_controller(self, controller: ClusterController) -> bool:
        """Whether a controller has a step. One that learns late has none until another is elected, if others run."""
        late = controller.broker in self._late and not (controller.is_busy and controller.active)
        waits = late and self.controller is None and bool(self.live - self._late)
        return controller.has_work and not waits

    def _stopping_steps(self, waiting: bool) -> Iterator[Sequence[AdvanceShutdown]]:
        """Steps of brokers that shut down, one by one: of those that wait for another attempt, or of the others."""
        for broker in tuple(self._stopping):
            due, awaits = self.brokers[broker].shutdown, self.brokers[broker].awaits_controller
            waits = isinstance(due, Backoff) and due.remaining_retries > 0
            ends = isinstance(due, Stopped) and not self.controllers[broker].is_running
            awaits = awaits or (ends and self.controllers[broker].is_busy)
            if waits is waiting and not awaits:
                yield [AdvanceShutdown(broker, "Begin" if due is None else type(due).__name__)]

    def _may_write_isr(self, leader: BrokerId) -> bool:
        """Whether a leader could change an ISR now: until 2.6 it writes to ZooKeeper, and waits for a session."""
        return self.design.alter_partition or self.controllers[leader].has_session

    def _may_run(self, task: RunTask) -> bool:
        """Whether a task can run now: the others of a broker's scheduler wait until 2.6 for its session."""
        return self._may_write_isr(task.broker) or task.name == "highwatermark-checkpoint"

    def _reaches_controller(self, broker: BrokerId) -> bool:
        """Whether a broker can report ISRs: since 2.7 to an active controller, until 2.6 in its session."""
        if not self.brokers[broker].is_running:
            return False
        if not self.design.alter_partition:
            return self.controllers[broker].has_session
        return self.controller is not None and self.controllers[self.controller].active

    def _do(self, which: Step) -> None:
        match which:
            case TakeRequest(controller, broker):
                its = self.controllers[controller]
                received = its.channels.exchange(broker, self.brokers[broker].handle)
                event = None if received is None else event_of(received)
                if event is not None:
                    its.put(event)
            case AdvanceController(broker):
                self.controllers[broker].advance()
                self._end_if_refused(broker)
            case AdvanceShutdown(broker):
                self._go_on_stopping(broker)
            case SendFetch():
                self._fetches.send(which)
            case TakeFetch():
                self._fetches.take(which)
            case TakeFetchResponse():
                if self._fetches.receive(which):
                    self._stop(which.follower)
            case RunTask():
                self._clock.run(which)
            case ChangeIsr(leader):
                self._change_isrs(self.brokers[leader])

    # Parts of steps.

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

    def _something_happens(self) -> None:
        for broker in self.brokers.values():
            broker.retry_refused_isrs()

    def _end_if_refused(self, broker: BrokerId) -> None:
        """Stop a broker whose registration was refused, because its node exists already."""
        if self.brokers[broker].is_running and not self.controllers[broker].me.is_running:
            self._note(Failed(f"broker {broker} stops: its node exists already"))
            self._stop(broker)

    def _stop(self, broker: BrokerId, cleanly: bool = False, keep: Keep = None) -> None:
        self._stopping.pop(broker, None)
        self._clock.stop(broker)
        self.controllers[broker].stop_with_session()
        self.brokers[broker].stop(cleanly, keep.get if isinstance(keep, Mapping) else lambda _: keep)
        self._fetches.forget(broker)

    def _min_isr_of(self, topic: TopicName | None) -> int:
        node = None if topic is None else self.zookeeper.state.nodes.get(topic_config_path(topic))
        least = None if node is None else node.data.min_insync_replicas
        return self._min_insync_replicas if least is None else least

    def _permits_unclean(self, broker: BrokerId, topic: TopicName) -> bool:
        """Whether a broker permits unclean elections of a topic, by its own configuration."""
        node = self.zookeeper.state.nodes.get(topic_config_path(topic))
        permits = None if node is None else node.data.unclean_leader_election_enable
        return self._unclean_at_start[broker] if permits is None else permits

    def _ask(self, event: Any, reply: Callable[[Any], object] = lambda answer: None) -> None:
        """Ask the controller, if there is one."""
        controller = self.controller
        if controller is None:
            reply(None)
        else:
            self.controllers[controller].ask(event, reply)

    def _refused_by_tool(self, reassigned: Sequence[tuple[TopicPartition, tuple[BrokerId, ...]]]) -> str:
        """Why `kafka-reassign-partitions.sh` does not write the node; empty if it does."""
        partitions = self.partitions()
        for partition, _ in reassigned:
            if partition not in partitions:
                return f"there is no partition {partition}"
        if self._admin.check_targets:
            strangers = {*chain.from_iterable(target for _, target in reassigned)} - self._registered()
            if strangers:
                return f"broker {min(strangers)} is not registered"
        if REASSIGN_PARTITIONS in self.zookeeper.state.nodes:
            return f"another one is under way in {REASSIGN_PARTITIONS}"
        return ""

    def _noting_refusals(self, what: str) -> Callable[[Sequence[tuple[TopicPartition, Any]] | None], None]:
        """A callback for the controller's reply that notes refusals in the history."""
        if self.controller is None:
            self._note(Failed(f"the {what} is refused: {NO_CONTROLLER}"))

        def answered(answer: Sequence[tuple[TopicPartition, Any]] | None) -> None:
            for partition, result in answer or ():
                if isinstance(result, Errors) and result not in (Errors.NONE, Errors.ELECTION_NOT_NEEDED):
                    self._note(Failed(f"the {what} of {partition} is refused: {result.name}"))

        return answered

    def _registered(self) -> frozenset[BrokerId]:
        return frozenset(map(int, self.zookeeper.children(None, BROKER_IDS)[0]))

    def _change_isrs(self, leader: Broker) -> None:
        if not self.design.alter_partition:
            leader.notify_isr_changes()
            return
        request, process = leader.alter_partition_request(), leader.isr_changes

        def answered(response: AlterPartitionResponse | None) -> None:
            if leader.isr_changes is process:  # unless it has stopped meanwhile
                leader.alter_partition_answered(response)

        self._ask(Call(HANDLERS.process_alter_partition.__name__, (request,)), answered)

    def _go_on_stopping(self, broker: BrokerId) -> None:
        stopping = self.brokers[broker]
        server = stopping.server
        match stopping.shutdown:
            case None:
                stopping.shut_down(self._stopping[broker])
            case FindController() as step:
                responses = stopping.ask_zookeeper(server.requests(step))
                stopping.shutdown = server.controller_found(step, responses)
            case AskController(_, controller, request):
                if not self.brokers[controller].is_running:
                    stopping.shutdown_answered(None)
                    return
                stopping.awaits_controller = True

                def answered(answer: Any) -> None:
                    if stopping.server is server:  # unless it has crashed meanwhile
                        stopping.shutdown_answered(answer)

                event = Call(HANDLERS.process_controlled_shutdown.__name__, tuple(request))
                self.controllers[controller].ask(event, answered)
            case Backoff() as step:
                stopping.shutdown = server.backed_off(step)
            case Stopped():
                its = self.controllers[broker]
                if its.is_running:
                    its.shutdown()
                if its.is_busy:  # the event under way must end first
                    return
                if stopping.remaining:
                    led = ", ".join(map(str, stopping.remaining))
                    self._note(Failed(f"broker {broker} stops, though it still leads {led}"))
                self._stop(broker, cleanly=True)

    # The tree in ZooKeeper, as Kafka writes it.

    def znodes(self, details: Details | None = None) -> dict[ZkPath, bytes]:
        """The nodes that a ZooKeeper of this cluster would hold now, by path, parents first.

        Args:
            details: what Kafka writes and a cluster in memory does not have.
        """
        return znodes_of(self.zookeeper.state.nodes, self.release, self._unclean, self._racks, details)

    @staticmethod
    def from_znodes(
        tree: Mapping[ZkPath, bytes | None],
        release: str = RELEASES[-1],
        *,
        unclean: bool | None = None,
        delete_topic_enable: bool | None = None,
        min_insync_replicas: int = 1,
    ) -> Cluster:
        """A cluster whose ZooKeeper holds this tree, and whose brokers have done nothing yet.

        Registered brokers run. The controller, if it is one of them, will take over, in the epoch of the tree. Like
        Kafka's, it handles what it finds: dead leaders, topics to be deleted, reassignments. The history begins with
        what tools have damaged: a /controller without data, or a topic that has lost its id. Left out: nodes that are
        not Kafka's, brokers' own configurations, and `Details`.

        Args:
            tree: the data of each path.
            release: the release of all brokers.
            unclean: as in `Cluster`; the default in the tree counts more, which exists since 1.1.
            delete_topic_enable: as in `Cluster`.
            min_insync_replicas: as in `Cluster`.

        Raises:
            ValueError: the tree is no mapping from paths to bytes, or another argument is invalid.
            InvalidZnode: a node is not as Kafka writes it; a ValueError.
            UnknownRelease: there is no such release.
        """
        if not isinstance(tree, Mapping) or not all(isinstance(path, str) for path in tree):
            raise ValueError(f"tree: {reprlib.repr(tree)}, allowed are mappings from paths to bytes")
        if strange := [path for path, data in tree.items() if not isinstance(data, bytes | None)]:
            raise ValueError(f"tree: the data of {strange[0]} are no bytes")
        read = KafkaTree.read(tree)
        down, controller = read.brokers - read.live, read.controller
        cluster = Cluster(
            sorted(read.brokers),
            release,
            down=down,
            controller=controller,
            unclean=unclean if read.unclean is None or not DYNAMIC_UNCLEAN.at(release) else read.unclean,
            delete_topic_enable=delete_topic_enable,
            min_insync_replicas=min_insync_replicas,
            racks=read.racks,
        )
        nodes = cluster.zookeeper.state.nodes
        before = max(0, read.controller_epoch - (controller is not None))  # the election increments it
        cluster.zookeeper.set(None, CONTROLLER_EPOCH, before)
        add_nodes(nodes, {path: data for path, data in read.nodes().items() if path not in nodes})
        if CONTROLLER in read.values and read.values[CONTROLLER] is None:
            cluster.zookeeper.create(None, CONTROLLER)
        cluster.history = [Failed(each) for each in read.damage(release)]
        for broker in read.live:
            cluster.brokers[broker].metadata_cache.state.alive_brokers = read.live
        return cluster


def _require_integers(**given: object) -> None:
    """Refuse values that are neither None nor integers of four bytes."""
    for name, value in given.items():
        if not (value is None or (type(value) is int and abs(value) < 2**31)):
            raise ValueError(f"{name}: {reprlib.repr(value)}, allowed are integers below {2**31}")


def _check_min_insync_replicas(number: int) -> None:
    """Refuse what is no number of replicas."""
    if type(number) is not int or number < 1:
        raise ValueError(f"min_insync_replicas: {reprlib.repr(number)}, allowed are integers from 1 on")


def _checked_keep(keep: int | Mapping[P, int] | None) -> Keep:
    """How many records are left, if that is a number."""
    given = keep.items() if isinstance(keep, Mapping) else [(("t", 0), 0 if keep is None else keep)]
    for partition, number in given:
        checked_partition(partition)
        if type(number) is not int or number < 0:
            raise ValueError(f"keep: {reprlib.repr(number)}, allowed are the integers from 0 on")
    return {checked_partition(each): number for each, number in given} if isinstance(keep, Mapping) else keep


def _check_settling(
    seed: int | None,
    until: Callable[[Cluster], bool] | None,
    without: Callable[[Step], bool] | type[Step] | None,
) -> None:
    """Refuse arguments of `settle` that have the wrong type."""
    if not (seed is None or isinstance(seed, int)):
        raise ValueError(f"seed: {reprlib.repr(seed)}, allowed are integers, or None")
    for name, given in {"until": until, "without": without}.items():
        if not (given is None or callable(given)):
            raise ValueError(f"{name}: {reprlib.repr(given)}, allowed are functions, or None")


def _is_among(step: Step, some: Callable[[Step], bool] | type[Step] | None) -> bool:
    if isinstance(some, type):
        return isinstance(step, some)
    return some is not None and some(step)


def _each_once(name: str, brokers: Iterable[BrokerId]) -> tuple[BrokerId, ...]:
    """Brokers in any order, each once."""
    return in_order(name, tuple(brokers) if isinstance(brokers, Iterable) else brokers)
