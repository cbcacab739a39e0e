"""Cluster: a whole cluster in memory. ZooKeeper, a controller on each broker, its channels, and brokers that obey.

Each external event is a method: brokers crash, topics are created, partitions move. A method only triggers the event:
it ends a session, writes a node, or puts a request into the controller's queue. The consequences happen in steps:

    TakeRequest        a broker takes the next request from a controller's channel, and answers
    AdvanceController  a broker's controller takes its next event, or sends the next batch of requests to ZooKeeper
    AdvanceShutdown    a broker that is shutting down asks the controller, waits, or stops
    RunTask            a broker runs a task that is due by the clock
    SendFetch          a follower's fetcher thread asks a leader for records, or where it must truncate
    TakeFetch          the leader answers; a follower that has caught up should join the ISR
    TakeFetchResponse  the thread appends what it has got, or truncates
    ChangeIsr          a leader asks the controller for ISRs; until 2.6 it notifies the controller of them

`steps()` returns the possible next steps, `step()` takes one, and `settle()` continues until none is left. The order
is fixed, and ISRs change only when all else is done; or a seed draws the order. `history` records what happened. A
fetch that would change nothing is no step. Steps take no time: only `advance` lets it pass.

Here are the events of brokers and clients; `cluster_administration` has those of administrators, `cluster_settling`
the steps and time, `cluster_state` the parts and the queries. No rule of Kafka is in these modules. The controller
on each broker is a `KafkaController`, and brokers are made of `statemachines.broker`. Both were compared with Kafka's
own classes, and systems explore both.

Left out: lost connections and lost replies, failed log directories; topic ids; brokers of several releases or with an
older inter.broker.protocol.version; consumers of followers.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from election.ids import BrokerId
from statemachines.broker.kafka_server import CONTROLLED_SHUTDOWN_MAX_RETRIES
from statemachines.broker.log.unified_log import PartitionLogs
from statemachines.cluster_administration import AdministeredCluster
from statemachines.cluster_history import Failed
from statemachines.cluster_settling import NotReached, NotSettled, SettlingCluster
from statemachines.cluster_state import Keep
from statemachines.cluster_tree import KafkaTree
from statemachines.controller.design import CONTROLLER, CONTROLLER_EPOCH
from statemachines.messages.errors import Errors
from statemachines.messages.records import ACKS, Acks, Offset, Produced
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionId, TopicName, TopicPartition, checked_partition
from statemachines.releases import RELEASES
from statemachines.zookeeper.tree import ZkPath, add_nodes

__all__ = ["Cluster", "NotReached", "NotSettled"]

P = TypeVar("P", bound=tuple[TopicName, PartitionId])
"""A partition, as a `TopicPartition` or as a pair."""


class Cluster(AdministeredCluster, SettlingCluster):
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
            acks: 0, 1, or "all"; the default of Kafka's own producers is 1 until 2.8 [KIP-679].
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

        It leaves an ISR when it lacks a record and the lag time has passed (`advance`, `expire_isrs`).

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

    def _asked(self, partition: TopicPartition, broker: BrokerId | None) -> BrokerId | None:
        """The broker that a client asks; None if it knows of no leader."""
        if broker is None:
            return self.partition(*partition).leader
        self._need_known(broker)
        return broker

    # The tree in ZooKeeper, as Kafka writes it.

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
            unclean: as in `Cluster`; the default in the tree counts more, which exists since 1.1 [KIP-226].
            delete_topic_enable: as in `Cluster`.
            min_insync_replicas: the same.

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
        permits, least = read.defaults(release)
        cluster = Cluster(
            sorted(read.brokers),
            release,
            down=down,
            controller=controller,
            unclean=unclean if permits is None else permits,
            delete_topic_enable=delete_topic_enable,
            min_insync_replicas=min_insync_replicas if least is None else least,
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


def _checked_keep(keep: int | Mapping[P, int] | None) -> Keep:
    """How many records are left, if that is a number."""
    given = keep.items() if isinstance(keep, Mapping) else [(("t", 0), 0 if keep is None else keep)]
    for partition, number in given:
        checked_partition(partition)
        if type(number) is not int or number < 0:
            raise ValueError(f"keep: {reprlib.repr(number)}, allowed are the integers from 0 on")
    return {checked_partition(each): number for each, number in given} if isinstance(keep, Mapping) else keep
