"""Brokers that receive control requests, as a part: their knowledge of replicas and of the cluster.

A broker is `KafkaApis`, `ReplicaManager`, `MetadataCache` and `HostedPartition`, over the variables here. The part
has no actions: a system says when a request arrives, and which brokers run.

A broker's *life* is its time under one registration. When a broker dies, it forgets everything but its logs. Its
broker epoch here is the number of its lives before this one or, if it is not registered, before the next one. If
only its session ends, it runs on with its knowledge and its former broker epoch. Until it hears of its next
registration, it is `unaware_of_registration`.

Left out: the contents of logs; the model knows only which logs exist. Also left out: failing log directories.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, TypeVar

from election.ids import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch
from spec.language import (
    Domain,
    Part,
    Partial,
    Size,
    State,
    Step,
    Total,
    integers,
    invariant,
    one_of,
    optional,
    subset_of,
    transition_invariant,
    variable,
    view,
)
from spec.parts.requests import WaitingRequests
from statemachines.broker.alter_partition_manager import AlterPartitionManager, InFlight, ZkAlterPartitionManager
from statemachines.broker.hosted_partition import (
    CommittedPartitionState,
    Fetching,
    HostedPartition,
    IsrState,
    PendingExpandIsr,
)
from statemachines.broker.kafka_apis import KafkaApis
from statemachines.broker.metadata_cache import MetadataCache
from statemachines.broker.replica_manager import NO_FAILURES, LogFailure, ReplicaManager
from statemachines.controller.alter_partition import AlterPartitionData, AlterPartitionRequest
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.control_responses import ControlResponse
from statemachines.messages.control_requests import UNKNOWN_BROKER_EPOCH, ControlRequest, UpdateMetadataPartitionState
from statemachines.messages.leader_and_isr import NO_EPOCH, NO_LEADER, LeaderAndIsr
from statemachines.messages.replica_assignment import UNASSIGNED, ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.zookeeper.tree import ZkVersion

V = TypeVar("V")


class ReceivingBrokers(State):
    """The knowledge of each broker."""

    broker_epochs: Total[BrokerId, BrokerEpoch] = variable("The number of a broker's finished lives.")
    unaware_of_registration: frozenset[BrokerId] = variable(
        "Running brokers that know only an earlier registration, which has ended. There may be a later one.",
        of=lambda self: subset_of(tuple(self.requests.brokers) if self.expires else ()),
    )
    controller_epochs: Total[BrokerId, ControllerEpoch] = variable(
        "The newest controller epoch of a broker's requests. [ReplicaManager.controllerEpoch]"
    )
    logs: frozenset[PartitionAndReplica] = variable("The replicas that have a log, on running brokers or not.")
    all_partitions: Partial[PartitionAndReplica, HostedPartition] = variable(
        "A broker's knowledge of a replica that it keeps. [ReplicaManager.allPartitions]"
    )
    fetchers: Partial[PartitionAndReplica, Fetching] = variable(
        "The leader from which a replica fetches. [replicaFetcherManager]"
    )
    alive_brokers: Total[BrokerId, frozenset[BrokerId]] = variable("The brokers that a broker believes alive.")
    metadata: Partial[PartitionAndReplica, UpdateMetadataPartitionState] = variable(
        "The metadata of a partition that a broker gives to clients. [MetadataCache.partitionStates]"
    )
    in_flight: Total[BrokerId, InFlight | None] = variable(
        "The unanswered AlterPartition of a broker's leaders.",
        of=lambda self, broker: optional(self.in_flight_of(broker)),
    )
    unsent_isr_updates: Partial[PartitionAndReplica, PendingExpandIsr] = variable(
        "The ISRs that this AlterPartition requests.", of=lambda self, replica: one_of(*self.pending(replica.replica))
    )


class _OfBroker(MutableMapping[TopicPartition, V]):
    """The entries of a mapping for one broker."""

    def __init__(self, of_all: MutableMapping[PartitionAndReplica, V], broker: BrokerId) -> None:
        self.of_all, self.broker = of_all, broker

    def __getitem__(self, partition: TopicPartition) -> V:
        return self.of_all[PartitionAndReplica(partition, self.broker)]

    def __setitem__(self, partition: TopicPartition, value: V) -> None:
        self.of_all[PartitionAndReplica(partition, self.broker)] = value

    def __delitem__(self, partition: TopicPartition) -> None:
        del self.of_all[PartitionAndReplica(partition, self.broker)]

    def __iter__(self) -> Iterator[TopicPartition]:
        return (each.topic_partition for each in tuple(self.of_all) if each.replica == self.broker)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Replicas:
    """One broker's knowledge of its replicas, for `ReplicaManager`."""

    def __init__(self, s: ReceivingBrokers, broker: BrokerId) -> None:
        self.s, self.broker = s, broker
        self.all_partitions: MutableMapping[TopicPartition, HostedPartition] = _OfBroker(s.all_partitions, broker)
        self.fetchers: MutableMapping[TopicPartition, Fetching] = _OfBroker(s.fetchers, broker)
        self.has_offline_log_dir = False

    @property
    def controller_epoch(self) -> ControllerEpoch:
        return self.s.controller_epochs[self.broker]

    @controller_epoch.setter
    def controller_epoch(self, epoch: ControllerEpoch) -> None:
        self.s.controller_epochs[self.broker] = epoch

    @property
    def logs(self) -> frozenset[TopicPartition]:
        return frozenset(each.topic_partition for each in self.s.logs if each.replica == self.broker)

    @logs.setter
    def logs(self, logs: frozenset[TopicPartition]) -> None:
        others = frozenset(each for each in self.s.logs if each.replica != self.broker)
        self.s.logs = others | frozenset(PartitionAndReplica(each, self.broker) for each in logs)


class _Proposals:
    """The proposals of the leaders on one broker, for `AlterPartitionManager`."""

    def __init__(self, s: ReceivingBrokers, broker: BrokerId) -> None:
        self.s, self.broker = s, broker
        self.unsent_isr_updates: MutableMapping[TopicPartition, Any] = _OfBroker(s.unsent_isr_updates, broker)

    @property
    def in_flight(self) -> InFlight | None:
        return self.s.in_flight[self.broker]

    @in_flight.setter
    def in_flight(self, in_flight: InFlight | None) -> None:
        self.s.in_flight[self.broker] = in_flight


class _Metadata:
    """One broker's knowledge of the cluster, for `MetadataCache`. Left out: the controller that sent it."""

    def __init__(self, s: ReceivingBrokers, broker: BrokerId) -> None:
        self.s, self.broker = s, broker
        self.controller_id: BrokerId | None = None
        self.partition_states: MutableMapping[TopicPartition, UpdateMetadataPartitionState] = _OfBroker(
            s.metadata, broker
        )

    @property
    def alive_brokers(self) -> frozenset[BrokerId]:
        return self.s.alive_brokers[self.broker]

    @alive_brokers.setter
    def alive_brokers(self, alive: frozenset[BrokerId]) -> None:
        self.s.alive_brokers[self.broker] = alive


def altered(partition: TopicPartition, change: PendingExpandIsr) -> AlterPartitionData:
    """A change's entry in AlterPartition."""
    sent = change.sent_leader_and_isr
    return AlterPartitionData(
        partition, sent.leader_epoch, sent.isr, sent.leader_recovery_state, sent.partition_epoch
    )


@dataclass(frozen=True)
class ReceivingBrokersPart(Part[ReceivingBrokers]):
    """Brokers that obey.

    Args:
        requests: the requests that they may receive.
        design: the design of their release.
        leaders_propose_isrs: their leaders ask the controller for ISRs; then there is a single partition.
        replica_manager_class: the rules by which a broker manages its replicas.
        expires: the session of a running broker may end.
    """

    requests: WaitingRequests
    design: ControlDesign
    leaders_propose_isrs: bool = False
    replica_manager_class: type[ReplicaManager] = ReplicaManager
    expires: bool = False

    # Rules of a broker.

    def replica_manager(self, s: ReceivingBrokers, broker: BrokerId) -> ReplicaManager:
        """The replicas of a broker, over this state."""
        return self.replica_manager_class(
            broker, MetadataCache(_Metadata(s, broker)), _Replicas(s, broker), self.design
        )

    def alter_partition_manager(self, s: ReceivingBrokers, broker: BrokerId) -> AlterPartitionManager:
        """The proposals of a broker's leaders, over this state."""
        replicas = self.replica_manager(s, broker)
        return AlterPartitionManager(replicas, lambda: self.own_epoch(s, broker), _Proposals(s, broker))

    def zk_alter_partition_manager(self, s: ReceivingBrokers, broker: BrokerId) -> ZkAlterPartitionManager:
        """The ISR writes of a broker's leaders, over this state. The caller notifies the controller of changes."""
        return ZkAlterPartitionManager(self.replica_manager(s, broker))

    def handle(
        self,
        s: ReceivingBrokers,
        broker: BrokerId,
        request: ControlRequest,
        failures: Mapping[TopicPartition, LogFailure] = NO_FAILURES,
    ) -> ControlResponse:
        """A broker handles a request, and answers it.

        Requests here always name the life of their receiver. Before 2.2 Kafka's requests did not, so it is removed.
        """
        if not self.design.broker_epoch:
            request = request._replace(brokerEpoch=UNKNOWN_BROKER_EPOCH)
        apis = KafkaApis(self.replica_manager(s, broker), lambda: self.own_epoch(s, broker))
        return apis.handle(request, failures)

    def own_epoch(self, s: ReceivingBrokers, broker: BrokerId) -> BrokerEpoch:
        """The broker epoch that a broker knows. [KafkaController.brokerEpoch]"""
        return s.broker_epochs[broker] - (broker in s.unaware_of_registration)

    def expire(self, s: ReceivingBrokers, broker: BrokerId) -> None:
        """A broker's registration ends, and the broker goes on without knowing it."""
        s.broker_epochs[broker] += 1
        s.unaware_of_registration |= {broker}

    def learn_broker_epoch(self, s: ReceivingBrokers, broker: BrokerId) -> None:
        """A broker hears of its registration."""
        s.unaware_of_registration -= {broker}

    def stop(self, s: ReceivingBrokers, broker: BrokerId) -> None:
        """A broker's life ends. Its next life has its logs, and no other knowledge."""
        s.broker_epochs[broker] += 1
        if broker in s.unaware_of_registration:
            s.unaware_of_registration -= {broker}
        s.alive_brokers[broker] = frozenset()
        _OfBroker(s.metadata, broker).clear()
        _OfBroker(s.unsent_isr_updates, broker).clear()
        if s.in_flight[broker] is not None:
            s.in_flight[broker] = None
        self.replica_manager(s, broker).restart()

    def leads(self, s: ReceivingBrokers, broker: BrokerId, partition: TopicPartition) -> LeaderEpoch | None:
        """The leader epoch in which a broker believes that it leads; None if it does not."""
        hosted = s.all_partitions.get(PartitionAndReplica(partition, broker))
        return hosted.leader_epoch if hosted is not None and hosted.leader == broker else None

    # Sizes.

    @property
    def replicas(self) -> Collection[PartitionAndReplica]:
        """A replica of every partition on every broker."""
        return [
            PartitionAndReplica(each, broker)
            for each in self.requests.assignments
            for broker in self.requests.brokers
        ]

    def sizes(self) -> Mapping[Any, Size]:
        """The values that the requests can carry."""
        brokers, epochs = tuple(self.requests.brokers), tuple(self.requests.leader_epochs)
        metadata = [each for partition in self.requests.assignments for each in self.requests.metadata_of(partition)]
        ways = [way for some in self.requests.assignments.values() for way in some]
        return {
            BrokerId: brokers,
            BrokerEpoch: tuple(self.requests.broker_epochs),
            ControllerEpoch: (0, *self.requests.controller_epochs),
            LeaderEpoch: (NO_EPOCH, *epochs),
            Fetching.leader_epoch: epochs,
            ZkVersion: integers(0, epochs[-1] + self.requests.isr_changes),
            TopicPartition: tuple(self.requests.assignments),
            PartitionAndReplica: self.replicas,
            UpdateMetadataPartitionState: metadata,
            HostedPartition.online: (True,),
            HostedPartition.leader: (None, NO_LEADER, *brokers),
            HostedPartition.controller_epoch: (0,),
            ReplicaAssignment: tuple(dict.fromkeys((UNASSIGNED, *ways))),
            HostedPartition.state: self.isr_states,
        }

    @property
    def isr_states(self) -> Domain[IsrState]:
        """The ISRs that leaders and followers know; since 2.7 also those that leaders request."""
        isrs = dict.fromkeys(isr for each in self.requests.assignments for isr in self.requests.isrs(each))
        committed = [CommittedPartitionState(), *map(CommittedPartitionState, isrs)]
        return one_of(*committed, *(each for broker in self.requests.brokers for each in self.pending(broker)))

    def pending(self, leader: BrokerId) -> Iterator[PendingExpandIsr]:
        """The ISRs that the leader on a broker may request."""
        (partition, *_) = self.requests.assignments
        for isr in self.requests.isrs(partition) if self.leaders_propose_isrs else ():
            for replica in (each for each in self.requests.brokers if leader in isr and each not in isr):
                for epoch, version in self.requests.epochs():
                    sent = LeaderAndIsr(leader, epoch, (*isr, replica), partition_epoch=version)
                    yield PendingExpandIsr(replica, sent, CommittedPartitionState(isr))

    def in_flight_of(self, leader: BrokerId) -> Domain[InFlight]:
        """The unanswered AlterPartition requests that a broker may have."""
        (partition, *_) = self.requests.assignments
        return one_of(
            *(
                InFlight(AlterPartitionRequest(leader, life, (altered(partition, each),)), ((partition, each),))
                for each in self.pending(leader)
                for life in self.requests.broker_epochs
            )
        )

    # Properties of single brokers.

    def lives_on(self, before: ReceivingBrokers, after: ReceivingBrokers, broker: BrokerId) -> bool:
        """Whether a broker is in the same life before and after."""
        return before.broker_epochs[broker] == after.broker_epochs[broker]

    @transition_invariant
    def broker_sees_monotone(
        self, before: ReceivingBrokers, step: Step, after: ReceivingBrokers, broker: BrokerId
    ) -> bool:
        """C6: the controller epoch that a broker knows never decreases in one life."""
        if not self.lives_on(before, after, broker):
            return True
        return before.controller_epochs[broker] <= after.controller_epochs[broker]

    @transition_invariant
    def leader_epochs_increase(
        self, before: ReceivingBrokers, step: Step, after: ReceivingBrokers, replica: PartitionAndReplica
    ) -> bool:
        """H5: in one life of its broker a replica accepts another leader only in a higher leader epoch."""
        old, new = (s.all_partitions.get(replica) for s in (before, after))
        if old is None or new is None or not self.lives_on(before, after, replica.replica):
            return True
        return old.leader_epoch < new.leader_epoch or (old.leader, old.leader_epoch) == (new.leader, new.leader_epoch)

    @invariant
    def one_leader_in_an_epoch(self, s: ReceivingBrokers, partition: TopicPartition) -> bool:
        """P5: in a leader epoch of a partition at most one broker believes that it leads."""
        epochs = [self.leads(s, broker, partition) for broker in self.requests.brokers]
        leading = [epoch for epoch in epochs if epoch is not None]
        return len(leading) == len({*leading})

    # Views: a state in sentences, for the reader of a trace.

    @view
    def roles(self, s: ReceivingBrokers, replica: PartitionAndReplica) -> str:
        """A broker's role for a partition, as it believes."""
        hosted, fetching = s.all_partitions.get(replica), s.fetchers.get(replica)
        if hosted is None:
            return ""
        broker, partition = replica.replica, replica.topic_partition
        if hosted.leader is None:
            return f"broker {broker} keeps {partition} and has no leader to follow"
        if hosted.leader == broker:
            return f"broker {broker} leads {partition} in leader epoch {hosted.leader_epoch}"
        if fetching is None:
            return f"broker {broker} fetches {partition} from no broker"
        from_leader = f"from broker {fetching.leader} in leader epoch {fetching.leader_epoch}"
        return f"broker {broker} fetches {partition} {from_leader}"
