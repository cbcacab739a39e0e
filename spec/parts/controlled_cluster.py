"""A cluster under a controller: brokers that die and return, what its controller does, and what has to hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Concatenate, NamedTuple, ParamSpec

from typing_extensions import TypeVar

from election.ids import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch
from spec.language import (
    Domain,
    Grid,
    Look,
    Size,
    Specification,
    Step,
    Tag,
    Tags,
    Total,
    action,
    at_most,
    bound,
    constant,
    integers,
    invariant,
    left_out,
    one_of,
    part,
    picture,
    require,
    say,
    sequence_of,
    sometimes,
    subset_of,
    transition_invariant,
    tuple_of,
    variable,
    view,
)
from spec.parts.controller_calls import EventThread, EventThreadPart, WaitingChange, in_order
from spec.parts.controller_context import Context, ContextPart
from spec.parts.partition_states import PartitionStates
from spec.parts.request_batch import Batch, BatchPart, RequestsWithoutMetadata
from spec.parts.zk_client import ZkClientReadingVariables
from spec.parts.zookeeper import Session, Znodes, ZooKeeperPart
from statemachines.alter_partition import (
    AlteredPartitions,
    AlteringPartitions,
    AlterPartitionData,
    AlterPartitionRequest,
)
from statemachines.broker.hosted_partition import goes_by
from statemachines.broker_changes import BrokerChanges
from statemachines.control_design import ControlDesign
from statemachines.controller import CONTROLLER_EPOCH
from statemachines.controller_broker_request_batch import ControllerBrokerRequestBatch, InMemoryBatch
from statemachines.controller_calls import (
    Await,
    Call,
    Calls,
    EventFailure,
    Frame,
    Processing,
    StackFrames,
    ZkRequests,
    call_of,
)
from statemachines.controller_event_processor import ControllerEventProcessor
from statemachines.controller_failover import ControllerFailover
from statemachines.isr_alterations import IsrAlterations
from statemachines.kafka_zk_client import UNFENCED, ZkBatch, retry_requests_until_connected
from statemachines.messages.control_requests import (
    ControlRequest,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    StopReplicaPartitionState,
    StopReplicaRequest,
)
from statemachines.messages.leader_and_isr import NO_LEADER, LeaderAndIsr, LeaderRecoveryState
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, PartitionId, TopicName, TopicPartition
from statemachines.partition_state_machine import (
    OFFLINE,
    PREFERRED,
    REASSIGN,
    PartitionLeaderElectionStrategy,
    PartitionStateChange,
    PartitionStateMachine,
)
from statemachines.replica_state_machine import OfBroker, ReplicaStateChange, ReplicaStateMachine
from statemachines.state_change import ElectionOutcome, Handled, Processed, StateChangeCause
from statemachines.tables.partition import (
    PARTITION,
    NewPartition,
    NonExistentPartition,
    OfflinePartition,
    OnlinePartition,
)
from statemachines.tables.replica import (
    NewReplica,
    NonExistentReplica,
    OfflineReplica,
    OnlineReplica,
    ReplicaDeletionIneligible,
)
from statemachines.tables.table import Table, TableState
from statemachines.zk_data import (
    TopicPartitionState,
    topic_partition_path,
    topic_partition_state_path,
    topic_partitions_path,
)
from statemachines.zk_state_machine import PartitionUpdate
from statemachines.zookeeper.tree import Code, SessionId, ZkVersion

P = ParamSpec("P")
T = TypeVar("T", bound=TableState)

Deaths = Annotated[int, "how often brokers died"]
"""A number of deaths."""

CONTROLLER: BrokerId = 9
"""Where the controller runs; it keeps no replica."""
TOPIC: TopicName = "t"
TOPIC_PATH = f"/brokers/topics/{TOPIC}"
ANSWERS = ("answer_partitions", "answer_replicas")
"""The actions in which a controller goes on with a change of states."""
WRITES = (*ANSWERS, "answer_alteration", "lose_answers")
"""Those in which ZooKeeper does what a controller asks for."""
LEADERS = ("shrink_isr", "expand_isr")
"""Those in which a leader writes its ISR, or asks for it."""


class Role(NamedTuple):
    """Which leader a broker goes by, for one of its replicas."""

    leader: int
    """-1 if there is none."""
    leader_epoch: LeaderEpoch


class ControlledCluster(PartitionStates):
    """A controller, the ZooKeeper that it writes to, and the brokers that it tells."""

    context: Context
    partition_requests: Batch
    replica_requests: Batch
    thread: EventThread
    registered: frozenset[BrokerId] = variable(
        "The brokers that run and are registered. Left out: their sessions, and their nodes below /brokers/ids."
    )
    deaths: Deaths = variable("How often a broker died.")
    roles: Total[PartitionAndReplica, Role | None] = variable(
        "The LeaderAndIsr of the newest leader epoch that was sent to a replica; None if that was before its broker "
        "started, or if it was to stop since. Left out: queues of requests, so that a broker obeys at once."
    )
    active: bool = variable("The controller takes itself for controller. [isActive]")
    isr_change_notification: frozenset[TopicPartition] = variable(
        "The partitions whose leaders have changed their ISRs, and told the controller, which has not read them yet."
    )

    @property
    def broker_epochs(self) -> Mapping[BrokerId, BrokerEpoch]:
        """All brokers have the same epoch, as long as none is bounced."""
        return dict.fromkeys(self.registered, 0)

    @property
    def idle(self) -> bool:
        """It has no event under way."""
        return self.thread.waiting is None and self.thread.over is None


C = TypeVar("C", bound=ControlledCluster, default=ControlledCluster)


def leaders_write(self: ClusterUnderControl[Any]) -> bool:
    """Leaders write their ISRs to ZooKeeper themselves."""
    return isr_may_change(self) and not self.asks_for_isr


def leaders_wait(self: ClusterUnderControl[Any]) -> bool:
    """Leaders ask the controller for an ISR, which writes it in steps of its own."""
    return isr_may_change(self) and self.asks_for_isr and AlteringPartitions not in self.at_once


def elects_the_living(self: ClusterUnderControl[Any]) -> bool:
    """A leader may be elected in place of one that runs."""
    return not {PREFERRED, REASSIGN}.isdisjoint(self.strategies)


def isr_may_change(self: ClusterUnderControl[Any]) -> bool:
    """Leaders change the ISR by themselves."""
    return self.isr_changes > 0 and self.brokers > 1


class ClusterUnderControl(Specification[C]):
    """What a controller does about brokers that die and return, and what has to hold of that.

    A step is one batch of requests to ZooKeeper with what the controller makes of the answers, or the next change of
    states in an event; `spec.systems.partitions` has the theory. A system says which partitions there are, which
    nodes, and what is left of events, and adds events of its own.
    """

    brokers: int = constant(2, "Brokers that keep replicas.", at_least=1, at_most=6)
    max_deaths: int = constant(2, "Bound: how often brokers die.", at_least=0, at_most=9)
    isr_changes: int = constant(1, "Bound: how often the ISR of a partition is changed.", at_least=0, at_most=9)
    moves: int = constant(1, "Bound: how often another controller is elected.", at_least=0, at_most=3)
    max_leader_epoch: int = constant(4, "Bound: the highest leader epoch; the first is 0.", at_least=0, at_most=30)
    unclean: bool = constant(False, "Brokers are configured to elect leaders from outside the ISR.")

    partition_state_machine: ClassVar[type[PartitionStateMachine]] = PartitionStateMachine
    replica_state_machine: ClassVar[type[ReplicaStateMachine]] = ReplicaStateMachine
    request_batch: ClassVar[type[ControllerBrokerRequestBatch]] = RequestsWithoutMetadata
    event_processor: ClassVar[type[ControllerEventProcessor]] = ControllerEventProcessor
    zk_client: ClassVar[type[ZkClientReadingVariables]] = ZkClientReadingVariables

    # What a system says.

    deletable: ClassVar[tuple[TopicName, ...]] = ()
    """The topics that may be deleted there; of their nodes it is known then what stands below them."""
    at_once: ClassVar[tuple[type, ...]] = (ZkRequests,)
    """What an event may wait for that needs no step of its own."""

    @cached_property
    def design(self) -> ControlDesign:
        """How the controller of this release does it."""
        raise NotImplementedError

    @property
    def strategies(self) -> tuple[PartitionLeaderElectionStrategy, ...]:
        """How leaders are elected there."""
        return (OFFLINE,)

    @property
    def asks_for_isr(self) -> bool:
        """Whether a leader asks the controller to change an ISR. [AlterPartition]"""
        return False

    @property
    def isr_receiver(self) -> str:
        """To whom a leader says which ISR it wants."""
        return "controller" if self.asks_for_isr else "ZooKeeper"

    @property
    def loses_answers(self) -> bool:
        """Whether a connection may be lost before what ZooKeeper has done is answered."""
        return False

    @property
    def assignments(self) -> Mapping[TopicPartition, ReplicaAssignment]:
        """Which brokers keep each partition, at first."""
        raise NotImplementedError

    @property
    def all_assignments(self) -> Mapping[TopicPartition, Collection[ReplicaAssignment]]:
        """How each partition may be assigned, in ZooKeeper or in the controller's context."""
        return {partition: (assignment,) for partition, assignment in self.assignments.items()}

    def assigned(self, s: C, partition: TopicPartition) -> tuple[BrokerId, ...]:
        """Which brokers keep a partition now, as ZooKeeper has it."""
        return self.assignments[partition].replicas

    def is_to_be_deleted(self, s: C, partition: TopicPartition) -> bool:
        """Whether its topic is to be deleted, so that it need not have a leader any more."""
        return False

    @property
    def resume_frames(self) -> tuple[Frame | Call, ...]:
        """The calls that may be made with what a change has come to."""
        return BrokerChanges.RESUME_FRAMES

    @property
    def stack_frames(self) -> StackFrames:
        """The calls that may be left of an event while a change waits, or is over."""
        raise NotImplementedError

    @property
    def narrowed(self) -> Mapping[Callable[..., Any], Mapping[str, Size]]:
        """The arguments of calls that are narrower here: no topic is deleted, and brokers go in order."""
        of_brokers = sorted(self.domain_of(PartitionAndReplica), key=lambda each: each.replica)
        return {
            BrokerChanges.ELECTED.method: {"for_deletion": ((),), "not_for_deletion": in_order(of_brokers)},
            BrokerChanges.fail_replica_deletion: {"replicas": ((),)},
        }

    @property
    def more_nodes(self) -> Collection[Znodes]:
        """What else there may be in ZooKeeper, the topic's node among them."""
        return (Znodes(TOPIC_PATH),)

    # How large it is.

    @property
    def broker_ids(self) -> Sequence[BrokerId]:
        """The brokers, in the order in which a controller goes through them."""
        return range(self.brokers)

    @property
    def replicas(self) -> Sequence[PartitionAndReplica]:
        """A replica of every partition on every broker."""
        return [PartitionAndReplica(each, broker) for each in self.assignments for broker in self.broker_ids]

    @property
    def given(self) -> Mapping[Any, Size]:
        """How large the types are that the controller's parts have as well."""
        brokers, partitions = self.broker_ids, tuple(self.assignments)
        return {
            BrokerId: brokers,
            TopicName: (TOPIC,),
            PartitionId: range(len(partitions)),
            TopicPartition: partitions,
            PartitionAndReplica: self.replicas,
            ControllerEpoch: integers(0, 1 + 2 * self.moves),
            BrokerEpoch: (0,),
            LeaderEpoch: integers(0, self.max_leader_epoch),
            ZkVersion: integers(0, self.max_leader_epoch + self.isr_changes),
            tuple[BrokerId, ...]: at_most(self.brokers),
            LeaderAndIsrPartitionState.leader: (NO_LEADER, *brokers),
        }

    @property
    def requested(self) -> Mapping[Any, Size]:
        """The same in requests that wait; without what brokers do not look at here."""
        unseen = (
            LeaderAndIsrPartitionState.controllerEpoch,
            LeaderAndIsrPartitionState.isr,
            LeaderAndIsrPartitionState.partitionEpoch,
            LeaderAndIsrPartitionState.leaderRecoveryState,
            StopReplicaPartitionState.leaderEpoch,
        )
        return {**self.given, **dict.fromkeys(unseen, left_out())}

    def sizes(self) -> Mapping[Any, Size]:
        """A change is about partitions that are there, each at most once."""
        some = at_most(len(self.assignments))
        outcomes = (len(self.assignments) - 1) * (1 if self.design.retry_alone else 2)
        together = self.design.change_together
        reads_and_sets = (*UNFENCED, ZkBatch.SetTopicPartitionStates)
        return {
            **self.given,
            SessionId: [Session("controller", 0)],
            Deaths: integers(0, self.max_deaths),
            Role.leader: (NO_LEADER, *self.broker_ids),
            PartitionLeaderElectionStrategy: self.strategies,
            tuple[TopicPartition, ...]: some,
            tuple[PartitionUpdate, ...]: some,
            tuple[tuple[TopicPartition, StateChangeCause | None], ...]: at_most(outcomes),
            ReplicaStateChange.due: [each for each in ZkBatch if each in reads_and_sets],
            tuple[tuple[TopicPartition, ElectionOutcome], ...]: some,
            Handled.controller_moved: (False,),
            tuple[OfBroker, ...]: at_most((self.brokers if together else len(self.replicas)) - 1),
            PartitionStateChange.to_come: ((),) if together else some,
            ReplicaStateChange.target: (OfflineReplica, NewReplica)
            if self.design.read_for_new
            else (OfflineReplica,),
        }

    @property
    def replica_change_domain(self) -> Domain[ReplicaStateChange]:
        """Every change of replicas: who is told of it is not settled before it is over."""
        untold = sequence_of(self.domain_of(PartitionUpdate, recipients=((),)), longest=len(self.assignments))
        tried = untold if self.design.tell_unwritten else ((),)
        return self.domain_of(ReplicaStateChange, updates=untold, without=untold, tried=tried)

    @property
    def isr_change_domain(self) -> Domain[AlteringPartitions]:
        """Every request of a leader: of one partition, whose state is written, and then read."""
        update = self.domain_of(PartitionUpdate, recipients=((),))
        outcome = tuple_of(self.domain_of(TopicPartition), self.domain_of(LeaderAndIsr))
        return self.domain_of(
            AlteringPartitions,
            due=(ZkBatch.SetTopicPartitionStates, ZkBatch.GetTopicPartitionStates),
            updates=sequence_of(update, longest=1),
            outcomes=sequence_of(outcome, longest=1),
        )

    @part
    def zk(self) -> ZooKeeperPart:
        """The controller's epoch and the nodes of the topic; nothing is watched, and no session ends."""
        partitions, epochs = tuple(self.assignments), self.domain_of(ControllerEpoch)
        leader_and_isr = self.domain_of(LeaderAndIsr, partition_epoch=(0,))
        state = self.domain_of(TopicPartitionState, leader_and_isr=leader_and_isr)
        below_partitions = below_partition = None
        if TOPIC in self.deletable:
            below_partitions = subset_of(tuple(str(each.partition) for each in partitions))
            below_partition = subset_of(("state",))
        znodes: Collection[Znodes] = (
            Znodes(one_of("/brokers", "/brokers/topics")),
            Znodes(topic_partitions_path(TOPIC), children=below_partitions),
            *self.more_nodes,
            Znodes(one_of(*map(topic_partition_path, partitions)), children=below_partition),
            Znodes(
                one_of(*map(topic_partition_state_path, partitions)), data=state, version=self.domain_of(ZkVersion)
            ),
            Znodes(CONTROLLER_EPOCH, data=epochs, version=epochs),
        )
        return ZooKeeperPart(sessions=self.domain_of(SessionId), znodes=znodes, inbox=0, expiries=False)

    @part
    def context(self) -> ContextPart:
        """What the controller knows."""
        return ContextPart(self.given, self.all_assignments, self.deletable)

    @part
    def partition_requests(self) -> BatchPart:
        """The batch of the partition state machine: who leads the one partition, while another is elected for."""
        several = len(self.assignments) > 1
        return BatchPart(self.requested, self.all_assignments, told=self.replicas if several else (), stopped=())

    @part
    def replica_requests(self) -> BatchPart:
        """The batch of the replica state machine: what came of one broker, while another is taken out of ISRs."""
        told = [replica for replica in self.replicas if replica.replica != self.broker_ids[0] or self.brokers > 2]
        sizes = {**self.requested, LeaderAndIsrPartitionState.isNew: (False,)}
        return BatchPart(sizes, self.all_assignments, told, stopped=self.replicas)

    @part
    def thread(self) -> EventThreadPart:
        """What is left of the event that the controller processes."""
        waits = leaders_wait(self)
        return EventThreadPart(
            self.sizes(),
            self.domain_of(PartitionStateChange),
            self.replica_change_domain,
            resume_frames=(*self.resume_frames, *(IsrAlterations.RESUME_FRAMES if waits else ())),
            stack_frames=self.stack_frames,
            isr_change_domain=self.isr_change_domain if waits else None,
            narrowed=self.narrowed,
        )

    # The controller, over a state.

    def receive(self, s: C, broker: BrokerId, request: ControlRequest) -> None:
        """A broker goes by a request from now on; what was sent to one that does not run is gone when it starts."""
        match request:
            case LeaderAndIsrRequest(partitionStates=states):
                for told in states:
                    replica = PartitionAndReplica(TopicPartition(told.topicName, told.partitionIndex), broker)
                    role = s.roles[replica]
                    if role is None or goes_by(role.leader_epoch, told.leaderEpoch):
                        s.roles[replica] = Role(told.leader, told.leaderEpoch)
            case StopReplicaRequest(partitionStates=stopped):
                for each in stopped:
                    replica = PartitionAndReplica(TopicPartition(each.topicName, each.partitionIndex), broker)
                    s.roles[replica] = None

    def controller(self, s: C) -> ControllerEventProcessor:
        """The controller that processes events, change by change.

        It goes on after a change that is over in a step of its own. What such a step touches is the controller's
        alone, so that it makes no difference when it is made; and no step looks at what two changes look at. Of the
        requests that are sent for no change nothing stays in a batch.
        """
        context = self.context.of(s.context)
        kept = (s.partition_requests, s.replica_requests, InMemoryBatch())
        of_partitions, of_replicas, of_others = (
            self.request_batch(
                CONTROLLER, context, lambda broker, request: self.receive(s, broker, request), requests, self.design
            )
            for requests in kept
        )
        partitions = self.partition_state_machine(context, of_partitions, self.design, None, self.unclean)
        replicas = self.replica_state_machine(context, of_replicas, self.design, None, self.unclean)
        client = self.zk_client(context, self.design, s, self.assignments)
        return self.event_processor(partitions, replicas, of_others, zk_client=client, change_by_change=True)

    def begin(self, s: C, handler: Callable[Concatenate[Any, P], Calls], *given: P.args, **named: P.kwargs) -> None:
        """The controller begins to process an event."""
        self.go_on(s, self.controller(s).process(call_of(handler, *given, **named)))

    def go_on(self, s: C, step: Processing | Processed) -> None:
        """An event waits for ZooKeeper, or is over."""
        step = self.answered_at_once(s, step)
        if isinstance(step, Processing):
            self.within_bounds(step.awaits.what)
            self.thread.leave(s.thread, step)
            return
        self.thread.leave(s.thread, None)
        assert not step.moves
        assert step.failure in (None, EventFailure.ControllerMoved)
        if step.failure is not None:
            self.resign(s)

    def answered_at_once(self, s: C, step: Processing | Processed) -> Processing | Processed:
        """How an event goes on where what it waits for needs no step of its own."""
        while isinstance(step, Processing) and isinstance(step.awaits.what, self.at_once):
            controller = self.controller(s)
            responses = retry_requests_until_connected(self.zk.servers(s.zk), None, controller.requests(step))
            step = controller.answered(step, responses)
        return step

    def within_bounds(self, what: WaitingChange | Handled) -> None:
        """What a change is about to write has no leader epoch that is too high."""
        if not isinstance(what, Handled) and what.due is ZkBatch.SetTopicPartitionStates:
            bound(all(each.leader_and_isr.leader_epoch <= self.max_leader_epoch for each in what.updates))

    def resign(self, s: C) -> None:
        """The controller knows nothing any more; requests that it has not sent it forgets only by design."""
        say("it resigns")
        s.active = False
        self.controller(s).on_controller_resignation()

    # Controllers.

    @action(actor="controller", receiver="ZooKeeper")
    def become_controller(self, s: C) -> None:
        """The controller is elected, reads what there is, and starts its state machines. [onControllerFailover]"""
        require(not s.active)
        bound(s.epoch < 1 + 2 * self.moves)
        stat = self.zk.servers(s.zk).set(None, CONTROLLER_EPOCH, s.epoch + 1)
        s.active = True
        s.context.epoch, s.context.epoch_zk_version = s.epoch, stat.version
        self.begin(s, ControllerEventProcessor.on_controller_failover)

    @action(when=lambda self: self.moves > 0, actor="another controller", receiver="ZooKeeper")
    def elect_another_controller(self, s: C) -> None:
        """Another controller is elected, which the one here does not know yet."""
        require(s.active and s.context.epoch == s.epoch)
        bound(s.epoch < 2 * self.moves)
        self.zk.servers(s.zk).set(None, CONTROLLER_EPOCH, s.epoch + 1)

    @action(when=lambda self: self.moves > 0, actor="controller")
    def hear_of_another_controller(self, s: C) -> None:
        """The controller hears that another has been elected, when it has nothing to do. [ControllerChange]"""
        require(s.active and s.idle and s.context.epoch < s.epoch)
        self.resign(s)

    # Brokers.

    @action(when=lambda self: self.max_deaths > 0, actor="broker")
    def die(self, s: C, broker: BrokerId) -> None:
        """A broker dies, and its registration goes."""
        require(broker in s.registered)
        bound(s.deaths < self.max_deaths)
        s.deaths += 1
        s.registered -= {broker}
        self.forget_roles(s, broker)

    @action(when=lambda self: self.max_deaths > 0, actor="broker")
    def come_back(self, s: C, broker: BrokerId) -> None:
        """A broker is started again, when the controller knows that it was gone."""
        require(broker not in s.registered and broker not in s.context.live_broker_epochs)
        s.registered |= {broker}
        self.forget_roles(s, broker)

    def forget_roles(self, s: C, broker: BrokerId) -> None:
        """A broker that starts waits to be told which leaders to go by."""
        for partition in self.assignments:
            s.roles[PartitionAndReplica(partition, broker)] = None

    @action(when=lambda self: self.max_deaths > 0, actor="controller", receiver="ZooKeeper")
    def broker_change(self, s: C) -> None:
        """The controller reads which brokers are registered. [BrokerChange, onBrokerStartup]"""
        require(s.active and s.idle)
        require(s.registered != frozenset(s.context.live_broker_epochs))
        self.begin(s, ControllerEventProcessor.process_broker_change)

    # Leaders.

    def role_of_leader(self, s: C, partition: TopicPartition) -> Role:
        """What a broker goes by that leads a partition, and knows."""
        state = s.state(partition)
        require(state is not None and state.leader in s.registered)
        assert state is not None
        role = Role(state.leader, state.leader_epoch)
        require(s.roles[PartitionAndReplica(partition, state.leader)] == role)
        return role

    def led(self, s: C, partition: TopicPartition) -> LeaderAndIsr:
        """The state of a partition whose leader runs, if whom it asks for another ISR has nothing else to do."""
        require(not self.asks_for_isr or (s.active and s.idle))
        state = s.state(partition)
        require(state is not None and state.leader in s.registered)
        assert state is not None
        return state

    def change_isr(self, s: C, partition: TopicPartition, isr: tuple[BrokerId, ...]) -> None:
        """The leader asks the controller for it, since 2.7; before, it writes it, and has the controller told."""
        node = s.written(partition)
        assert node is not None
        state = node.data.leader_and_isr
        self.role_of_leader(s, partition)
        require(not self.asks_for_isr or self.may_be_asked(s, partition))
        bound(node.version - state.leader_epoch < self.isr_changes)
        if self.asks_for_isr:
            recovered = LeaderRecoveryState.RECOVERED  # a leader is, as soon as it knows that it leads [makeLeader]
            wanted = AlterPartitionData(*partition, state.leader_epoch, isr, recovered, node.version)
            request = AlterPartitionRequest(state.leader, 0, (wanted,))
            self.begin(s, ControllerEventProcessor.process_alter_partition, request)
            return
        data = node.data._replace(leader_and_isr=state._replace(isr=isr))
        self.zk.servers(s.zk).set(None, topic_partition_state_path(partition), data, node.version)
        s.isr_change_notification |= {partition}

    def may_be_asked(self, s: C, partition: TopicPartition) -> bool:
        """Whether the leader has no request that was written unheard.

        Such a leader is refused, and waits for another leader epoch.
        [INVALID_UPDATE_VERSION in Partition.handleAlterPartitionError, 3.9]
        """
        known, node = self.context.of(s.context).leadership_of(partition), s.written(partition)
        return known is not None and node is not None and known.leader_and_isr.partition_epoch == node.version

    @action(when=isr_may_change, actor="leader", receiver="{self.isr_receiver}")
    def shrink_isr(self, s: C, partition: TopicPartition, broker: BrokerId) -> None:
        """The leader takes a broker out of the ISR, running or not. [Partition.maybeShrinkIsr]"""
        state = self.led(s, partition)
        require(broker != state.leader and broker in state.isr)
        self.change_isr(s, partition, tuple(member for member in state.isr if member != broker))

    @action(when=isr_may_change, actor="leader", receiver="{self.isr_receiver}")
    def expand_isr(self, s: C, partition: TopicPartition, broker: BrokerId) -> None:
        """The leader takes a broker into the ISR that follows it. [Partition.maybeExpandIsr]"""
        state = self.led(s, partition)
        require(broker not in state.isr and broker in s.registered)
        require(s.roles[PartitionAndReplica(partition, broker)] == Role(state.leader, state.leader_epoch))
        self.change_isr(s, partition, (*state.isr, broker))

    @action(when=leaders_write, actor="controller", receiver="ZooKeeper")
    def hear_of_isr_changes(self, s: C) -> None:
        """The controller reads the states that leaders have changed. [IsrChangeNotification]"""
        require(s.active and s.idle and s.isr_change_notification)
        self.begin(s, ControllerEventProcessor.process_isr_change_notification)

    # ZooKeeper answers.

    def answer(self, s: C, change: WaitingChange) -> None:
        """ZooKeeper answers what a change waits for; what is left of the event counts only if the change is over."""
        controller = self.controller(s)
        machine = controller.machine_of(change)
        assert machine is not None
        responses = retry_requests_until_connected(self.zk.servers(s.zk), None, machine.requests(change))
        say(change.due.value)
        for refused in dict.fromkeys(each.code for each in responses if each.code is not Code.OK):
            say(refused.name)
        step = machine.answered(change, responses)
        if isinstance(step, Handled | AlteredPartitions):
            self.go_on(s, controller.go_on(Processing(Await(step, s.thread.then), s.thread.calls)))
        else:
            self.within_bounds(step)
            self.thread.wait(s.thread, step)

    @action(actor="controller", receiver="ZooKeeper")
    def answer_partitions(self, s: C) -> None:
        """ZooKeeper answers the requests of the partition state machine."""
        change = s.thread.electing
        require(change is not None)
        assert change is not None
        self.answer(s, change)

    @action(actor="controller", receiver="ZooKeeper")
    def answer_replicas(self, s: C) -> None:
        """ZooKeeper answers the requests of the replica state machine."""
        change = s.thread.removing
        require(change is not None)
        assert change is not None
        self.answer(s, change)

    @action(when=leaders_wait, actor="controller", receiver="ZooKeeper")
    def answer_alteration(self, s: C) -> None:
        """ZooKeeper answers the requests of the controller for a leader. [AlterPartition]"""
        change = s.thread.altering
        require(change is not None)
        assert change is not None
        self.answer(s, change)

    @action(when=lambda self: self.loses_answers, actor="ZooKeeper", receiver="controller")
    def lose_answers(self, s: C) -> None:
        """ZooKeeper does what a change asks for, all of it, and will be asked again, as its answers are lost."""
        change = s.thread.waiting
        require(change is not None and change.due not in UNFENCED)
        assert change is not None
        machine = self.controller(s).machine_of(change)
        assert machine is not None
        retry_requests_until_connected(self.zk.servers(s.zk), None, machine.requests(change))
        say(change.due.value)
        say("the connection is lost with the answers")

    @action(actor="controller")
    def next_change(self, s: C) -> None:
        """A change is over: the controller goes on with the next one of the event."""
        require(s.thread.over is not None)
        processing = self.thread.processing(s.thread)
        assert processing is not None
        self.go_on(s, self.controller(s).answered(processing, ()))

    # Properties of what is in ZooKeeper.

    @invariant
    def leader_in_isr(self, s: C, partition: TopicPartition) -> bool:
        """P1: the leader is in the ISR, if there is one."""
        state = s.state(partition)
        return state is None or state.leader in (NO_LEADER, *state.isr)

    @invariant
    def isr_not_empty(self, s: C, partition: TopicPartition) -> bool:
        """P2: the ISR is never empty."""
        state = s.state(partition)
        return state is None or len(state.isr) > 0

    @invariant
    def isr_within_assigned(self, s: C, partition: TopicPartition) -> bool:
        """P3: the ISR is of brokers that keep the partition, each of which stands there once."""
        state = s.state(partition)
        if state is None:
            return True
        members = {*state.isr}
        return len(members) == len(state.isr) and members <= {*self.assigned(s, partition)}

    @transition_invariant
    def leader_epoch_monotone(self, before: C, step: Step, after: C, partition: TopicPartition) -> bool:
        """P4: each write of the controller raises the leader epoch by one; an ISR for the leader keeps it."""
        old, new = before.written(partition), after.written(partition)
        if old is None or new is None:
            return new is None or new.data.leader_and_isr.leader_epoch == 0
        writes: int = new.version - old.version
        raised: int = new.data.leader_and_isr.leader_epoch - old.data.leader_and_isr.leader_epoch
        keeps = writes == 0 or step.action in LEADERS or before.thread.altering is not None
        return raised == (0 if keeps else writes)

    @transition_invariant
    def one_leader_per_epoch(self, before: C, step: Step, after: C, partition: TopicPartition) -> bool:
        """P5: in a leader epoch one broker leads, or none."""
        old, new = before.state(partition), after.state(partition)
        if old is None or new is None or old.leader_epoch != new.leader_epoch:
            return True
        return old.leader == new.leader

    @invariant
    def presumed_leader_legit(self, s: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """P6: a broker that runs goes by the leader in ZooKeeper, or by one of an earlier leader epoch."""
        role, state = s.roles[PartitionAndReplica(partition, broker)], s.state(partition)
        if role is None or broker not in s.registered:
            return True
        if state is None or role.leader_epoch > state.leader_epoch:
            return False
        return role.leader_epoch < state.leader_epoch or role.leader == state.leader

    @transition_invariant
    def told_as_written(self, before: C, step: Step, after: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """P6, H6: who goes by what it is told goes by the leader that is in ZooKeeper, in its leader epoch."""
        old, new = (s.roles[PartitionAndReplica(partition, broker)] for s in (before, after))
        if new is None or new == old:
            return True
        state = after.state(partition)
        return state is not None and new == Role(state.leader, state.leader_epoch)

    @transition_invariant(of=("answer_partitions", "lose_answers"))
    def elected_from_what_is_there(self, before: C, after: C) -> bool:
        """P12: an election is written over the very state that it was made of."""
        change = before.thread.electing
        if change is None or change.due is not ZkBatch.SetTopicPartitionStates:
            return True
        for partition, elected, _ in change.updates:
            node = before.written(partition)
            if node is not None and node.version != elected.partition_epoch and node != after.written(partition):
                return False
        return True

    @transition_invariant(of=("answer_partitions", "lose_answers"), when=elects_the_living)
    def isr_survives_election(self, before: C, after: C) -> bool:
        """A5: a preferred election, or a reassignment's, leaves the ISR as it was."""
        change = before.thread.electing
        if change is None or change.strategy not in (PREFERRED, REASSIGN):
            return True
        states = ((before.state(partition), after.state(partition)) for partition in self.assignments)
        return all(old is None or new is None or old.isr == new.isr for old, new in states)

    @transition_invariant
    def clean_election(self, before: C, step: Step, after: C, partition: TopicPartition) -> bool:
        """P11: a new leader was in the ISR, unless one from outside is permitted, or an administrator asks."""
        old, new = before.state(partition), after.state(partition)
        if old is None or new is None or new.leader in (NO_LEADER, old.leader):
            return True
        change = before.thread.electing
        return self.unclean or new.leader in old.isr or (change is not None and change.strategy.allow_unclean)

    @transition_invariant(of=WRITES)
    def fenced_writes(self, before: C, after: C) -> bool:
        """C4: a controller that writes has the epoch that is in ZooKeeper at that moment."""
        if before.context.epoch == before.epoch:
            return True
        return all(before.written(partition) == after.written(partition) for partition in self.assignments)

    # Properties of what the controller knows.

    def takes(self, table: Table[T], before: T, after: T) -> bool:
        """Whether nothing changes, or by a row of the table."""
        return before is after or table.allows(before, after)

    @transition_invariant
    def legal_psm(self, before: C, step: Step, after: C, partition: TopicPartition) -> bool:
        """P7: partitions change their states as the table has it, but where a controller begins or resigns."""
        if not before.active or not after.active or ControllerFailover.STARTS_PARTITIONS in before.thread.calls:
            return True
        states = (s.context.partition_states.get(partition, NonExistentPartition) for s in (before, after))
        return self.takes(PARTITION, *states)

    @transition_invariant
    def legal_rsm(
        self,
        before: C,
        step: Step,
        after: C,
        partition: TopicPartition,
        broker: BrokerId,
    ) -> bool:
        """P7: replicas change their states as the table has it, but where a controller begins or resigns."""
        if not before.active or not after.active:
            return True
        replica = PartitionAndReplica(partition, broker)
        states = (s.context.replica_states.get(replica, NonExistentReplica) for s in (before, after))
        return self.takes(self.design.replica_table, *states)

    @invariant
    def new_has_no_state(self, s: C, partition: TopicPartition) -> bool:
        """P8: of a partition that is new the controller knows no leader."""
        new = s.context.partition_states.get(partition) is NewPartition
        return not new or partition not in s.context.partition_leadership_info

    @invariant
    def cache_not_ahead(self, s: C, partition: TopicPartition) -> bool:
        """C9: the controller knows no state of a partition that is not in ZooKeeper yet."""
        known, node = s.context.partition_leadership_info.get(partition), s.written(partition)
        if known is None or node is None:
            return known is None or self.is_to_be_deleted(s, partition)
        return known.leader_and_isr.partition_epoch <= node.version

    def is_about_to_change_states(self, s: C) -> bool:
        """Whatever happens next, the one controller that there is finds its batches as they are."""
        return s.active and s.idle and s.context.epoch == s.epoch

    @invariant(where=is_about_to_change_states)
    def batch_empty(self, s: C) -> bool:
        """H3: a controller that begins to change states finds nothing in its batches."""
        return not any(requests.leader_and_isr or requests.stop_replica for requests in self.requests_in(s))

    def requests_in(self, s: C) -> tuple[Batch, Batch]:
        """The batches of both state machines."""
        return s.partition_requests, s.replica_requests

    # Properties of what is quiet. Of a topic that is to be deleted leaders and ISRs are not kept up any more.

    def quiet(self, s: C) -> bool:
        """The one controller that there is has nothing to do, and has heard of all that there was to hear of."""
        if not (s.active and s.idle) or s.context.epoch != s.epoch or s.isr_change_notification:
            return False
        return all((broker in s.registered) == (broker in s.context.live_broker_epochs) for broker in self.broker_ids)

    @invariant(where=quiet)
    def cache_fresh(self, s: C, partition: TopicPartition) -> bool:
        """C8: when all is quiet, the controller knows the partition's state as it is in ZooKeeper."""
        known = s.context.partition_leadership_info.get(partition)
        written = s.leader_isr_and_controller_epoch(partition)
        if known is None or written is None:
            return known is None
        return known.leader_and_isr == written.leader_and_isr

    @invariant(where=quiet)
    def online_has_live_leader(self, s: C, partition: TopicPartition) -> bool:
        """P9: when all is quiet, the leader of a partition that is online runs."""
        state = s.state(partition)
        if s.context.partition_states.get(partition) is not OnlinePartition or self.is_to_be_deleted(s, partition):
            return True
        return state is not None and state.leader in s.registered

    @invariant(where=quiet)
    def offline_only_if_stuck(self, s: C, partition: TopicPartition) -> bool:
        """P10: when all is quiet, no broker runs that might lead an offline partition, or a leader yet shuts down."""
        state, context = s.state(partition), self.context.of(s.context)
        if s.context.partition_states.get(partition) is not OfflinePartition or state is None:
            return True
        if self.is_to_be_deleted(s, partition):
            return True
        candidates = (broker for broker in self.assigned(s, partition) if self.unclean or broker in state.isr)
        return state.leader in s.registered or not any(map(context.is_live_broker, candidates))

    @invariant(where=quiet)
    def dead_not_in_isr(self, s: C, partition: TopicPartition) -> bool:
        """P13: when all is quiet, the members of an ISR of several run, those that keep the partition."""
        state = s.state(partition)
        if state is None or len(state.isr) < 2 or self.is_to_be_deleted(s, partition):
            return True
        return {*state.isr} & {*self.assigned(s, partition)} <= s.registered

    @invariant(where=quiet)
    def offline_replica_is_dead(self, s: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """P14: when all is quiet, the broker of a replica that is offline does not run, or shuts down."""
        state = s.context.replica_states.get(PartitionAndReplica(partition, broker))
        if state not in (OfflineReplica, ReplicaDeletionIneligible) or self.is_to_be_deleted(s, partition):
            return True
        return not self.context.of(s.context).is_live_broker(broker)

    @invariant(where=quiet)
    def rsm_domain(self, s: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """P15: when all is quiet, those replicas have states that are assigned."""
        assigned = broker in self.context.of(s.context).partition_replica_assignment(partition)
        return assigned == (PartitionAndReplica(partition, broker) in s.context.replica_states)

    # Every row of both tables that can be taken must be.

    def partition_changes(
        self,
        before: C,
        after: C,
        partition: TopicPartition,
        source: object,
        target: object,
    ) -> bool:
        """Whether the controller has a partition in the one state before, and in the other after it."""
        old, new = (s.context.partition_states.get(partition) for s in (before, after))
        return old is source and new is target

    def replica_changes(
        self,
        before: C,
        after: C,
        replica: PartitionAndReplica,
        source: object,
        target: object,
    ) -> bool:
        """Whether the controller has a replica in the one state before, and in the other after it."""
        old, new = (s.context.replica_states.get(replica) for s in (before, after))
        return old is source and new is target

    @sometimes(when=lambda self: self.max_deaths > 0)
    def a_dead_leader(self, before: C, step: Step, after: C, partition: TopicPartition) -> bool:
        """OnlinePartition -> OfflinePartition."""
        return self.partition_changes(before, after, partition, OnlinePartition, OfflinePartition)

    @sometimes(when=lambda self: self.max_deaths > 0)
    def a_leader_again(self, before: C, step: Step, after: C, partition: TopicPartition) -> bool:
        """OfflinePartition -> OnlinePartition."""
        return self.partition_changes(before, after, partition, OfflinePartition, OnlinePartition)

    @sometimes(when=lambda self: self.max_deaths > 0)
    def a_replica_is_back(
        self,
        before: C,
        step: Step,
        after: C,
        partition: TopicPartition,
        broker: BrokerId,
    ) -> bool:
        """OfflineReplica -> OnlineReplica."""
        return self.replica_changes(
            before, after, PartitionAndReplica(partition, broker), OfflineReplica, OnlineReplica
        )

    # What else must be able to happen.

    @sometimes(where=quiet)
    def all_is_quiet(self, s: C) -> bool:
        """All is quiet, and a partition is online."""
        return OnlinePartition in s.context.partition_states.values()

    @sometimes(when=lambda self: self.moves > 0 and self.design.fence_zk, of=ANSWERS)
    def moved_half_way(self, before: C, after: C) -> bool:
        """A controller finds that another has been elected, while it changes states."""
        return not after.active

    @sometimes(when=leaders_write, of=ANSWERS)
    def a_conflict(self, before: C, after: C) -> bool:
        """A state has been written by its leader since the controller read it, and is read again."""
        for old, new in (
            (before.thread.electing, after.thread.electing),
            (before.thread.removing, after.thread.removing),
        ):
            if old is not None and new is not None and old.due is ZkBatch.SetTopicPartitionStates:
                return new.due is ZkBatch.GetTopicPartitionStates and new.asking == old.asking
        return False

    # What a state means, to the reader of a trace.

    @view
    def office(self, s: C) -> str:
        """Whether the controller is one."""
        if not s.active:
            return f"another is controller, under epoch {s.epoch}" if s.epoch else "there is no controller yet"
        over = "" if s.context.epoch == s.epoch else f", not knowing that the epoch is {s.epoch} by now"
        return f"the controller acts under epoch {s.context.epoch}{over}"

    @view
    def leadership(self, s: C, partition: TopicPartition) -> str:
        """Who leads a partition, and what the controller takes it for."""
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
        """What the controller takes a partition's state for, where ZooKeeper has another."""
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
        """What a change that was cut short has left in a batch."""
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
        """A broker of which the controller does not know that it runs, or that it does not."""
        known = broker in s.context.live_broker_epochs
        if not s.active or known == (broker in s.registered):
            return ""
        return f"broker {broker} {'does not run' if known else 'runs'}, and the controller has not heard of it"

    # As it is drawn.

    @picture
    def topic(self, s: C) -> Grid:
        """Who leads, who is assigned (AR) and who in sync (ISR), as ZooKeeper has it; struck out: a dead broker."""
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
        """How a replica is drawn."""
        state = s.state(partition)
        if broker not in s.registered:
            return Look.gone, "its broker does not run"
        if state is None or broker not in state.isr:
            return Look.faint, "not in sync"
        return (Look.strong, "it leads") if broker == state.leader else (Look.plain, "in sync")

    @picture
    def cluster(self, s: C) -> Grid:
        """The brokers that run; which of them the controller has heard of; which leader each goes by."""
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
