"""AdministeredCluster: what administrators do to a cluster in memory, by the release of its brokers.

`admin` has the rules of Kafka's tools, and of the class that serves their requests on a broker.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final, TypeVar, overload

from election.ids import BrokerId
from election.replica_placement import assign_replicas_to_brokers, create_new_partitions_assignment
from statemachines.admin import checked_targets, require_equal_numbers, validate_topic_create
from statemachines.cluster_history import Failed
from statemachines.cluster_state import ClusterState, check_min_insync_replicas
from statemachines.controller.calls import Call
from statemachines.controller.design import CONTROLLER
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.replica_leader_election import ElectionTrigger, ElectionType
from statemachines.messages.errors import Errors
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionId, TopicName, TopicPartition, checked_partition
from statemachines.messages.zk_data import (
    DELETE_TOPICS,
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    TopicAssignment,
    TopicConfig,
    delete_topics_topic_path,
    topic_config_path,
    topic_path,
)

P = TypeVar("P", bound=tuple[TopicName, PartitionId])
"""A partition, as a `TopicPartition` or as a pair."""
NO_CONTROLLER: Final = "there is no controller"
"""The reason of a refusal."""


class AdministeredCluster(ClusterState):
    """A cluster with the requests of administrators."""

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
            event = Call(ControllerEventProcessor.process_api_partition_reassignment.__name__, (asked,))
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
        event = Call(ControllerEventProcessor.process_replica_leader_election.__name__, arguments)
        self._ask(event, self._noting_refusals("election"))

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
            self._ask(Call(ControllerEventProcessor.process_unclean_leader_election_enable.__name__, (topic,)))

    def set_min_insync_replicas(self, topic: TopicName, number: int) -> None:
        """An administrator says how many replicas must be in sync for acks=all; leaders obey at once.

        Args:
            topic: the topic; the default of all others is an argument of `Cluster`.
            number: how many [min.insync.replicas].

        Raises:
            ValueError: there is no such topic, or the number is invalid; nothing has happened.
        """
        check_min_insync_replicas(number)
        self._need_topic(topic)
        self._something_happens()
        self._configure(topic, min_insync_replicas=number)

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

    # Parts.

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


def _require_integers(**given: object) -> None:
    """Refuse values that are neither None nor integers of four bytes."""
    for name, value in given.items():
        if not (value is None or (type(value) is int and abs(value) < 2**31)):
            raise ValueError(f"{name}: {reprlib.repr(value)}, allowed are integers below {2**31}")
