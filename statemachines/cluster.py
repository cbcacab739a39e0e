"""Cluster: a whole cluster in memory. ZooKeeper, a controller on each broker, its channels, and brokers that obey.

What befalls it is a method: brokers crash, topics are created, partitions move. A method only makes it happen: it
ends a session, writes a node, or puts a request into the controller's queue. What follows is a number of steps:

    TakeRequest        a broker takes the next request from a controller's channel, and answers
    AdvanceController  a broker's controller takes its next event, or makes the next batch of requests to ZooKeeper
    AdvanceShutdown    a broker that was told to stop goes on: it asks the controller, waits, or stops
    CatchUp            a follower catches up with its leader, which is to take it into the ISR
    ChangeIsr          a leader asks the controller for ISRs; until 2.6 it tells the controller of them

`steps()` says which can happen next, `step()` does one, and `settle()` goes on until nothing is left: in a fixed
order, in which all is quiet before ISRs change, or in an order that is drawn by a seed. What happened is `history`.

Nothing here is a rule of Kafka's. The controller on each broker is a `KafkaController`, brokers are made of
`statemachines.broker`; both were compared with Kafka's own classes, and are what systems explore.

Left out: lost connections and lost replies, failed log directories, leaders that shrink ISRs, and time.
"""

from __future__ import annotations

import random
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, TypeVar, overload

from election.brokers import in_order
from election.ids import BrokerId
from election.replica_placement import assign_replicas_to_brokers, create_new_partitions_assignment
from statemachines.admin import checked_targets, validate_topic_create
from statemachines.broker.broker import AlwaysCaughtUp, Broker, Logs
from statemachines.broker.kafka_server import (
    CONTROLLED_SHUTDOWN_MAX_RETRIES,
    AskController,
    Backoff,
    FindController,
    Stopped,
)
from statemachines.cluster_controller import ClusterController
from statemachines.cluster_history import Effect, Elected, Failed, PartitionStatus, RecordingZooKeeper
from statemachines.cluster_steps import AdvanceController, AdvanceShutdown, CatchUp, ChangeIsr, Step, TakeRequest
from statemachines.cluster_tree import Details, KafkaTree, znodes_of
from statemachines.controller.alter_partition import AlterPartitionResponse
from statemachines.controller.calls import Call
from statemachines.controller.control_design import control_design_of
from statemachines.controller.design import BROKER_IDS, CONTROLLER, CONTROLLER_EPOCH
from statemachines.controller.event_processor import ControllerEventProcessor, event_of
from statemachines.controller.kafka_zk_client import ZkRequest, ZkResponse, retry_requests_until_connected
from statemachines.controller.replica_leader_election import ElectionTrigger, ElectionType
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import NO_EPOCH, NO_LEADER
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import (
    PartitionAndReplica,
    PartitionId,
    TopicName,
    TopicPartition,
    checked_partition,
)
from statemachines.messages.zk_data import (
    PERSISTENT_PATHS,
    REASSIGN_PARTITIONS,
    TOPICS,
    TopicAssignment,
    TopicConfig,
    delete_topics_topic_path,
    topic_config_path,
    topic_partition_state_path,
    topic_path,
)
from statemachines.releases import RELEASES, Release
from statemachines.zookeeper.tree import ZkPath, add_nodes

__all__ = ["Cluster", "NotSettled"]

P = TypeVar("P", bound=tuple[TopicName, PartitionId])
"""A partition, as a `TopicPartition` or as a pair."""


UNCLEAN_AT_ONCE: Final = Release("2.0.0")
"""Since then a controller hears that unclean elections are permitted by default [KAFKA-6526]."""
UNCLEAN_AT_ONCE_OF_TOPIC: Final = Release("2.1.0")
"""Since then it hears that a topic permits them [TopicUncleanLeaderElectionEnable, KAFKA-6835]."""
CREATE_PARTITIONS: Final = Release("1.0.0")
"""Since then a broker adds partitions, and may refuse to; before, a tool wrote the topic's node [KIP-195]."""
HANDLERS: Final = ControllerEventProcessor
"""The handlers of the controller's events."""


MAX_ELECTIONS: Final = 100
"""After so many elections of controllers a cluster is taken to come to no rest."""


class NotSettled(RuntimeError):
    """A cluster comes to no rest, as in Kafka: no controller can take over, and another one tries."""


class Cluster:
    r"""A cluster, whose brokers are up and registered, and have done nothing yet.

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
        release: whose rules they go by; else the newest with ZooKeeper.
        down: those of them that do not run.
        controller: the broker that is elected first; else the one with the lowest id.
        unclean: whether replicas that are not in sync may be elected where a topic does not say
            [unclean.leader.election.enable].
        logs: the logs of replicas; else a replica that can catch up does.
        auto_leader_rebalance: whether controllers look by themselves, when `rebalance` says that it is time, whether
            preferred replicas lead [auto.leader.rebalance.enable].
        racks: those of brokers that have one, by which the replicas of topics are placed [broker.rack].

    Raises:
        ValueError: there is no such release; a broker is named twice, or has no id of one; a broker that is down,
            or has a rack, is none of them; who is to be controller is down, or none of them; something is of another
            type.
    """

    def __init__(
        self,
        brokers: Iterable[BrokerId],
        release: str = RELEASES[-1],
        *,
        down: Iterable[BrokerId] = (),
        controller: BrokerId | None = None,
        unclean: bool = False,
        logs: Logs | None = None,
        auto_leader_rebalance: bool = True,
        racks: Mapping[BrokerId, str] | None = None,
    ) -> None:
        ids, down = _each_once("brokers", brokers), _each_once("down", down)
        first = () if controller is None else in_order("controller", (controller,))
        self._racks = dict(racks or {})
        if strangers := {*down, *first, *self._racks} - {*ids}:
            raise ValueError(f"there is no broker {min(strangers)}; there are {', '.join(map(str, ids))}")
        if controller in down:
            raise ValueError(f"broker {controller} is to be controller, and is down")
        if not isinstance(unclean, bool):
            raise ValueError(f"unclean: {reprlib.repr(unclean)}, allowed are True and False")
        if not (logs is None or isinstance(logs, Logs)):
            raise ValueError(f"logs: {reprlib.repr(logs)}, allowed is what has is_caught_up, or None")
        self._release = Release(release)
        self.release, self.design = release, control_design_of(release)
        self._elections = 0
        self.history: list[Effect] = []
        """What brokers wrote and controllers sent, who was elected, and what failed, in order."""
        self.zookeeper = RecordingZooKeeper(self._note)
        for path in PERSISTENT_PATHS:
            self.zookeeper.create(None, path)
        self.zookeeper.create(None, CONTROLLER_EPOCH, 0)
        self._late: frozenset[BrokerId] = frozenset()
        """The brokers that hear only later that there is no controller, as long as others run."""
        self._unclean, self._auto_leader_rebalance = unclean, auto_leader_rebalance
        self._stopping: dict[BrokerId, int] = {}
        """The brokers that have been told to stop, in this order, with how often each asks the controller."""
        self.controllers: dict[BrokerId, ClusterController] = {}
        """What each broker is as a controller, active or not."""
        self.brokers: dict[BrokerId, Broker] = {}
        for broker in sorted(ids):
            self._add(broker, AlwaysCaughtUp() if logs is None else logs)
        for broker in sorted(set(self.brokers) - set(down)):
            self.brokers[broker].start()
            self.controllers[broker].begin()
        if controller is not None:
            self._late = self.live - {controller}

    def _add(self, broker: BrokerId, logs: Logs) -> None:
        controller = ClusterController(
            broker,
            self.zookeeper,
            self.release,
            self._note,
            lambda: self._unclean,
            self._auto_leader_rebalance,
        )

        def ask_zookeeper(requests: tuple[ZkRequest, ...]) -> tuple[ZkResponse, ...]:
            return retry_requests_until_connected(self.zookeeper, controller.me.session, requests)

        self.controllers[broker] = controller
        self.brokers[broker] = Broker(broker, self.design, lambda: controller.me.broker_epoch, ask_zookeeper, logs)

    def _note(self, effect: Effect) -> None:
        self.history.append(effect)
        if isinstance(effect, Elected):
            self._elections += 1
            self._late = frozenset()

    # What is to be seen of it.

    @property
    def live(self) -> frozenset[BrokerId]:
        """The brokers that run."""
        return frozenset(broker for broker, each in self.brokers.items() if each.is_running)

    @property
    def controller(self) -> BrokerId | None:
        """The controller, by ZooKeeper; None: there is none, as yet."""
        node = self.zookeeper.state.nodes.get(CONTROLLER)
        return None if node is None else node.data

    def partitions(self) -> dict[TopicPartition, PartitionStatus]:
        """How each partition is, by ZooKeeper; without those whose topics have been deleted."""
        live = self.live
        return {
            partition: self._status(partition, assignment, live)
            for topic in sorted(self._topics())
            for partition, assignment in self._assignments(topic).items()
        }

    def partition(self, topic: TopicName, number: PartitionId) -> PartitionStatus:
        """How one partition is, by ZooKeeper.

        Raises:
            KeyError: there is none.
            ValueError: there cannot be one.
        """
        partition = checked_partition((topic, number))
        if topic not in self._topics():
            raise KeyError(partition)
        return self._status(partition, self._assignments(topic)[partition], self.live)

    def metrics(self, broker: BrokerId) -> dict[str, int]:
        """What a broker's controller shows through JMX, by Kafka's names: gauges, and what needs no clock to count.

        >>> cluster = Cluster(brokers=(1, 2))
        >>> cluster.settle()
        >>> cluster.metrics(1)["kafka.controller:type=KafkaController,name=ActiveControllerCount"]
        1

        Raises:
            ValueError: it does not run, or there is none.
        """
        self._need((broker,), running=True)
        return self.controllers[broker].metrics

    def _topics(self) -> frozenset[TopicName]:
        return self.zookeeper.children(None, TOPICS)[0]

    def _need_topic(self, name: object) -> None:
        """Refuse what is no topic."""
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

    # What befalls it.

    def crash(self, *brokers: BrokerId) -> None:
        """Brokers die, and their sessions end, before anything else happens.

        Raises:
            ValueError: one of them does not run; nothing has happened.
        """
        self._need(brokers, running=True)
        self._something_happens()
        for broker in brokers:
            self._stop(broker)

    def restart(self, *brokers: BrokerId) -> None:
        """Brokers start, with the logs that they had.

        Raises:
            ValueError: one of them runs; nothing has happened.
        """
        self._need(brokers, running=False)
        self._something_happens()
        for broker in brokers:
            self.brokers[broker].start()
            self.controllers[broker].startup()
            while self.controllers[broker].registers_first:
                self.controllers[broker].advance()
            self._end_if_refused(broker)

    def shut_down(self, broker: BrokerId, attempts: int = CONTROLLED_SHUTDOWN_MAX_RETRIES) -> None:
        """A broker is told to stop: it asks the controller to be let go, and stops in any case.

        Args:
            broker: its id.
            attempts: how often it asks.

        Raises:
            ValueError: it does not run, or stops already, or cannot ask so often; nothing has happened.
        """
        self._need((broker,), running=True)
        if broker in self._stopping:
            raise ValueError(f"broker {broker} stops already")
        if type(attempts) is not int or attempts < 0:
            raise ValueError(f"attempts: {reprlib.repr(attempts)}, allowed are the integers from 0 on")
        self._something_happens()
        self._stopping[broker] = attempts

    def expire_session(self, broker: BrokerId) -> None:
        """A broker runs on, but its session ends: it is neither registered nor controller until it registers anew.

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
        """An administrator creates a topic, and names its replicas, or how many there are to be.

        If these are numbers the replicas are placed as Kafka does, on the brokers that are registered
        (`election.assign_replicas_to_brokers`). Kafka draws start index and shift by chance, here they are 0, so that
        the first of the brokers leads partition 0.

        Args:
            name: its name.
            replicas: of each partition, from 0 on, the brokers that are to keep it, the preferred leader first.
                One that is none of this cluster's does not run.
            partitions: how many there are to be.
            replication_factor: how many replicas each of them is to have.
            start_index: the place among the brokers, by their ids or by their racks, of the first one.
            shift: how many brokers lie between the first replica of a partition and the second.

        Raises:
            ValueError: there is such a topic, or one that differs in "." and "_" only; Kafka allows no such name;
                partitions are not those from 0 on; a broker stands there twice, or is no broker's id; there are to be
                no partitions, no replicas, or more of them than brokers are registered; some of these have racks, and
                others have none; replicas are named, and how many. Nothing has happened.
        """
        if replicas is None and partitions is not None and replication_factor is not None:
            replicas = assign_replicas_to_brokers(
                sorted(self._registered()),
                partitions,
                replication_factor,
                racks=self._racks,
                start_index=start_index,
                shift=shift,
            )
        elif replicas is None or partitions is not None or replication_factor is not None:
            raise ValueError(f"topic {name}: name its replicas, or partitions and a replication factor")
        assignments = validate_topic_create(name, replicas, self._topics())
        self.zookeeper.create(None, topic_path(name), TopicAssignment.encode(assignments))
        self._something_happens()

    def create_partitions(self, name: TopicName, count: int) -> None:
        """An administrator asks for a topic to have more partitions.

        Their replicas are placed as Kafka does, on the brokers that are registered, from the first replica of
        partition 0 on (`election.create_new_partitions_assignment`). Nothing of it is drawn.

        Args:
            name: its name.
            count: how many partitions it is to have, with those that it has.

        Raises:
            ValueError: there is no such topic; it has as many partitions already; its partition 0 has more replicas
                than brokers are registered, or none; some of these have racks, and others have none; since 1.0, the
                controller is about to delete the topic, or partitions move, since 2.4 those of the topic. Nothing has
                happened.
        """
        self._need_topic(name)
        data: TopicAssignment = self.zookeeper.get(None, topic_path(name))[0]
        assignments = data.decode(name)
        if Release(self.release) >= CREATE_PARTITIONS:
            self._need_no_changes_of(name, assignments)
        added = create_new_partitions_assignment(
            {partition.partition: assignment.replicas for partition, assignment in assignments.items()},
            count,
            sorted(self._registered()),
            racks=self._racks,
        )
        new = {TopicPartition(name, number): ReplicaAssignment(brokers) for number, brokers in added.items()}
        self.zookeeper.set(None, topic_path(name), TopicAssignment.encode({**assignments, **new}))
        self._something_happens()

    def _need_no_changes_of(self, topic: TopicName, assignments: Mapping[TopicPartition, ReplicaAssignment]) -> None:
        """Refuse to add partitions to a topic [AdminManager.scala, createPartitions; KafkaApis.scala]."""
        controller = self.controller
        if controller is not None and self.controllers[controller].context.is_topic_queued_up_for_deletion(topic):
            raise ValueError(f"topic {topic} is to be deleted, so no partitions are added")
        moving = (
            any(assignment.is_being_reassigned for assignment in assignments.values())
            if self.design.kip_455
            else REASSIGN_PARTITIONS in self.zookeeper.state.nodes
        )
        if moving:
            raise ValueError(f"partitions move, so none are added to topic {topic}")

    def delete_topic(self, name: TopicName) -> None:
        """An administrator asks for a topic to be deleted.

        Raises:
            ValueError: there is no such topic, or that is asked for already; nothing has happened.
        """
        self._need_topic(name)
        if (path := delete_topics_topic_path(name)) in self.zookeeper.state.nodes:
            raise ValueError(f"the deletion of topic {name} is asked for already")
        self.zookeeper.create(None, path)
        self._something_happens()

    def reassign(self, targets: Mapping[P, Sequence[BrokerId] | None]) -> None:
        """An administrator asks for partitions to be kept by other brokers; since 2.4 None: not to move any more.

        Since 2.4 the controller is asked; what it refuses is in the history. Until 2.3 it is asked by a node, which
        `kafka-reassign-partitions.sh` writes if there is none, and partitions and brokers are there.

        Raises:
            ValueError: no partition is named; one is to have no replica; a broker stands there twice, or is no
                broker's id; until 2.3 a partition is not to move any more. Nothing has happened.
        """
        asked = checked_targets(targets)
        reassigned = [(partition, target) for partition, target in asked if target is not None]
        if not self.design.kip_455 and len(reassigned) < len(asked):
            raise ValueError("until 2.3 a reassignment cannot be cancelled")
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
        """An administrator asks the controller to elect leaders; what it refuses is in the history.

        Raises:
            ValueError: what is named are no partitions, or is no election; nothing has happened.
        """
        if not isinstance(partitions, Iterable):
            raise ValueError(f"partitions: {reprlib.repr(partitions)}, allowed are pairs of a topic and a number")
        if not isinstance(election_type, ElectionType):
            raise ValueError(f"election_type: {reprlib.repr(election_type)}, allowed are {[*ElectionType]}")
        asked = tuple(map(checked_partition, partitions))
        self._something_happens()
        arguments = (asked, election_type, ElectionTrigger.AdminClientTriggered)
        event = Call(HANDLERS.process_replica_leader_election.__name__, arguments)
        self._ask(event, self._noting_refusals("election"))

    def rebalance(self) -> None:
        """It is time: the controller looks whether preferred replicas lead.

        Time does not pass in a cluster in memory. In Kafka that is 5 seconds after a failover, and every 300 seconds
        from then on [leader.imbalance.check.interval.seconds]. Where others lead more than a tenth of the partitions
        that prefer a broker, it is elected for those that it can lead.

        Raises:
            ValueError: there is no controller, or it is not going to look; nothing has happened.
        """
        controller = self.controller
        if controller is None or not self.controllers[controller].rebalance_timer.due_in:
            raise ValueError("no controller is going to look whether preferred replicas lead")
        self._something_happens()
        self.controllers[controller].rebalance()

    def allow_unclean(self, topic: TopicName | None = None) -> None:
        """An administrator permits that replicas lead that are not in sync.

        The controller acts on it at once: of a topic since 2.1, of all since 2.0. Before, a topic's permission counts
        at its next election, and that of all for the next controller.

        Args:
            topic: of which topic; None: of all that do not say otherwise.

        Raises:
            ValueError: there is no such topic; nothing has happened.
        """
        if topic is not None:
            self._need_topic(topic)
        self._something_happens()
        if topic is None:
            self._unclean = True
            if self._release >= UNCLEAN_AT_ONCE:
                for controller in self.controllers.values():
                    controller.enable_unclean_leader_election()
            return
        path, config = topic_config_path(topic), TopicConfig(unclean_leader_election_enable=True)
        if path in self.zookeeper.state.nodes:
            self.zookeeper.set(None, path, config)
        else:
            self.zookeeper.create(None, path, config)
        if self._release >= UNCLEAN_AT_ONCE_OF_TOPIC:
            self._ask(Call(HANDLERS.process_unclean_leader_election_enable.__name__, (topic,)))

    def fail_over(self) -> None:
        """The controller's node is deleted: another broker is elected, since who was controller hears of it last.

        Who is still taking over may not hear of it at all: then no broker is controller any more [K1].

        Raises:
            ValueError: no other broker is registered; nothing has happened.
        """
        if not self._registered() - {self.controller}:
            raise ValueError("there is no other broker that could be controller")
        self._something_happens()
        if self.controller is not None:
            self._late = frozenset({self.controller})
            self.zookeeper.delete(None, CONTROLLER)

    # What can happen next.

    def steps(self) -> tuple[Step, ...]:
        """All that can happen next, the most urgent first; none: the cluster is at rest."""
        return tuple(chain.from_iterable(self._by_urgency()))

    def step(self, which: Step) -> None:
        """Do one step.

        Raises:
            ValueError: it cannot happen now; nothing has happened.
        """
        steps = self.steps()
        for each in steps:
            if type(each) is type(which) and each == which:  # tuples of other kinds are equal to it, too
                self._do(each)
                return
        can = "; ".join(map(str, steps)) or "nothing"
        raise ValueError(f"{which!r}: that cannot happen now, but {can} can")

    def settle(self, seed: int | None = None) -> None:
        """Go on until nothing is left.

        Args:
            seed: draws what happens next out of all that can. None: what is most urgent happens first, and ISRs
                change when nothing else is left.

        Raises:
            ValueError: the seed is no integer; nothing has happened.
            NotSettled: one controller after the other is elected, without end.
        """
        if not (seed is None or isinstance(seed, int)):
            raise ValueError(f"seed: {reprlib.repr(seed)}, allowed are integers, or None")
        last = self._elections + MAX_ELECTIONS
        if seed is not None:
            chance = random.Random(seed)
            while steps := self.steps():
                self._do(chance.choice(steps))
                self._require_rest(last)
        while most_urgent := next(filter(None, self._by_urgency()), ()):
            for each in most_urgent:
                self._do(each)
            self._require_rest(last)

    def _require_rest(self, last: int) -> None:
        if self._elections > last:
            raise NotSettled(f"the cluster comes to no rest: {MAX_ELECTIONS} controllers followed each other by now")

    def _by_urgency(self) -> Iterator[Sequence[Step]]:
        """What can happen next, by kinds; a step that another of its kind has made needless does nothing."""
        yield [
            TakeRequest(controller, broker, type(queue[0]).__name__.removesuffix("Request"))
            for controller, each in self.controllers.items()
            for broker, queue in each.channels.state.message_queues.items()
            if queue and self.brokers[broker].is_running
        ]
        working = [
            self.controllers[broker] for broker in self.live if self._is_still_controller(self.controllers[broker])
        ]
        working.sort(key=lambda each: (not each.has_session, each.broker))  # without a session it registers last
        yield [AdvanceController(each.broker, each.next_step) for each in working]
        yield from self._stopping_steps(waiting=False)
        yield self._catching_up()
        leaders = {
            broker: each.isr_changes_to_send
            for broker, each in self.brokers.items()
            if self._reaches_controller(broker)
        }
        yield [ChangeIsr(each) for each in sorted(filter(leaders.get, leaders), key=lambda each: leaders[each][0])]
        yield from self._stopping_steps(waiting=True)

    def _is_still_controller(self, controller: ClusterController) -> bool:
        """Whether a controller has a step. One that hears late has none until another is elected, if others run."""
        late = controller.broker in self._late and not (controller.is_busy and controller.active)
        waits = late and self.controller is None and bool(self.live - self._late)
        return controller.has_work and not waits

    def _stopping_steps(self, waiting: bool) -> Iterator[Sequence[AdvanceShutdown]]:
        """Of brokers that stop, one by one: those that wait for another attempt, or the others."""
        for broker in tuple(self._stopping):
            due, awaits = self.brokers[broker].shutdown, self.brokers[broker].awaits_controller
            waits = isinstance(due, Backoff) and due.remaining_retries > 0
            ends = isinstance(due, Stopped) and not self.controllers[broker].is_running
            awaits = awaits or (ends and self.controllers[broker].is_busy)
            if waits is waiting and not awaits:
                yield [AdvanceShutdown(broker, "Begin" if due is None else type(due).__name__)]

    def _catching_up(self) -> list[CatchUp]:
        """By partitions, the preferred replicas first."""
        found = [
            CatchUp(replica, leader)
            for leader in sorted(self.live)
            if self.design.alter_partition or self.controllers[leader].has_session  # until 2.6 it writes the ISR
            for replica in self.brokers[leader].replicas_that_may_join()
            if self._may_join(replica, leader)
        ]
        return sorted(found, key=lambda each: each.replica.topic_partition)

    def _may_join(self, replica: PartitionAndReplica, leader: BrokerId) -> bool:
        """Whether a replica that its leader would take in fetches, and catches up."""
        follower = self.brokers.get(replica.replica)
        if follower is None or not follower.is_running:
            return False
        led_by = self.brokers[leader]
        return follower.follows(replica.topic_partition, led_by) and led_by.logs.is_caught_up(replica, leader)

    def _reaches_controller(self, broker: BrokerId) -> bool:
        """Whether a broker can tell the controller of ISRs: since 2.7 there is one, until 2.6 by its session."""
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
            case CatchUp(replica, leader):
                self.brokers[leader].has_caught_up(replica)
            case ChangeIsr(leader):
                self._change_isrs(self.brokers[leader])

    # What steps are made of.

    def _need(self, brokers: Sequence[BrokerId], running: bool) -> None:
        """Refuse what cannot happen."""
        for broker in in_order("brokers", brokers):
            if broker not in self.brokers:
                raise ValueError(f"there is no broker {broker}; there are {', '.join(map(str, self.brokers))}")
            if self.brokers[broker].is_running is not running:
                raise ValueError(f"broker {broker} {'does not run' if running else 'runs already'}")

    def _something_happens(self) -> None:
        for broker in self.brokers.values():
            broker.retry_refused_isrs()

    def _end_if_refused(self, broker: BrokerId) -> None:
        """A broker whose registration was refused ends: another one has its node, or somebody made it by hand."""
        if self.brokers[broker].is_running and not self.controllers[broker].me.is_running:
            self._note(Failed(f"broker {broker} ends, for its node is there already"))
            self._stop(broker)

    def _stop(self, broker: BrokerId) -> None:
        self._stopping.pop(broker, None)
        self.controllers[broker].stop_with_session()
        self.brokers[broker].stop()

    def _ask(self, event: Any, reply: Callable[[Any], object] = lambda answer: None) -> None:
        """Ask the controller, if there is one."""
        controller = self.controller
        if controller is None:
            reply(None)
        else:
            self.controllers[controller].ask(event, reply)

    def _refused_by_tool(self, reassigned: Sequence[tuple[TopicPartition, tuple[BrokerId, ...]]]) -> str:
        """Why `kafka-reassign-partitions.sh` does not write a node; empty: it does."""
        partitions = self.partitions()
        for partition, target in reassigned:
            if partition not in partitions:
                return f"there is no partition {partition}"
            if strangers := {*target} - self.brokers.keys():
                return f"there is no broker {min(strangers)}"
        if REASSIGN_PARTITIONS in self.zookeeper.state.nodes:
            return f"another one is under way in {REASSIGN_PARTITIONS}"
        return ""

    def _noting_refusals(self, what: str) -> Callable[[Sequence[tuple[TopicPartition, Any]] | None], None]:
        """What an administrator does with an answer."""

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
            if leader.isr_changes is process:  # it has not stopped meanwhile
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
                    if stopping.server is server:  # it has not crashed meanwhile
                        stopping.shutdown_answered(answer)

                event = Call(HANDLERS.process_controlled_shutdown.__name__, tuple(request))
                self.controllers[controller].ask(event, answered)
            case Backoff() as step:
                stopping.shutdown = server.backed_off(step)
            case Stopped():
                its = self.controllers[broker]
                if its.is_running:
                    its.shutdown()
                if its.is_busy:  # that goes to its end first
                    return
                if stopping.remaining:
                    led = ", ".join(map(str, stopping.remaining))
                    self._note(Failed(f"broker {broker} goes, though it still leads {led}"))
                self._stop(broker)

    # Its tree in ZooKeeper, as Kafka writes it.

    def znodes(self, details: Details | None = None) -> dict[ZkPath, bytes]:
        """What a ZooKeeper of this cluster would hold now, by path, parents first.

        Args:
            details: what Kafka writes and a cluster in memory does not keep.
        """
        return znodes_of(self.zookeeper.state.nodes, self.release, self._unclean, self._racks, details)

    @staticmethod
    def from_znodes(
        tree: Mapping[ZkPath, bytes | None], release: str = RELEASES[-1], *, logs: Logs | None = None
    ) -> Cluster:
        """A cluster whose ZooKeeper holds this tree, and whose brokers have done nothing yet.

        Those that are registered run. The controller, if it is one of them, is to take over, in the epoch that is
        there. As Kafka's does, it looks after what it finds: leaders that are dead, topics to be deleted,
        reassignments. Left out: what is no node of Kafka's, and `Details`.

        Raises:
            InvalidZnode: something there is not as Kafka writes it; it is a ValueError.
            UnknownRelease: there is no such release.
        """
        read = KafkaTree.read(tree)
        down, controller = read.brokers - read.live, read.controller
        cluster = Cluster(
            sorted(read.brokers),
            release,
            down=down,
            controller=controller,
            unclean=read.unclean,
            logs=logs,
            racks=read.racks,
        )
        nodes = cluster.zookeeper.state.nodes
        before = max(0, read.controller_epoch - (controller is not None))  # who is elected raises it by one
        cluster.zookeeper.set(None, CONTROLLER_EPOCH, before)
        add_nodes(nodes, {path: data for path, data in read.nodes().items() if path not in nodes})
        for broker in read.live:
            cluster.brokers[broker].metadata_cache.state.alive_brokers = read.live
        return cluster


def _each_once(name: str, brokers: Iterable[BrokerId]) -> tuple[BrokerId, ...]:
    """Brokers in any order."""
    return in_order(name, tuple(brokers) if isinstance(brokers, Iterable) else brokers)
