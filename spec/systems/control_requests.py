"""Control requests wait, are sent twice, come late, and come from two controllers: what do brokers make of them?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import Annotated, Any, ClassVar, Final

from election.ids import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch
from spec.language import (
    Grid,
    Look,
    Queue,
    Size,
    Specification,
    Tag,
    Total,
    action,
    assumption,
    at_most,
    bound,
    constant,
    initial,
    integers,
    invariant,
    left_out,
    one_of,
    optional,
    part,
    picture,
    require,
    say,
    sometimes,
    subset_of,
    switches,
    transition_invariant,
    variable,
    view,
)
from spec.parts.channels import Channels, ChannelsPart
from spec.parts.controller_context import Context, ContextPart
from spec.parts.partition_states import PartitionStates
from spec.parts.receiving_brokers import ReceivingBrokers, ReceivingBrokersPart
from spec.parts.waiting_requests import WaitingRequests
from spec.parts.zk_client import ZkClientReadingVariables
from spec.parts.zookeeper import Session, Znodes, ZooKeeperPart
from spec.releases import ByRelease
from spec.systems.cluster import CONTROLLER, TOPIC, TOPIC_PATH, Deaths
from statemachines.broker.replica_manager import NO_FAILURES, LogFailure, ReplicaManager
from statemachines.control_design import ControlDesign, control_design_of
from statemachines.control_responses import ControlResponse
from statemachines.controller import CONTROLLER_EPOCH
from statemachines.controller_broker_request_batch import ControllerBrokerRequestBatch, InMemoryBatch
from statemachines.controller_calls import Call, Processing
from statemachines.controller_channel_manager import ControllerChannelManager, Delivery
from statemachines.controller_event_processor import ControllerEventProcessor
from statemachines.kafka_zk_client import ZkBatch, retry_requests_until_connected
from statemachines.messages.control_requests import (
    ControlRequest,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import NO_EPOCH, NO_LEADER, LeaderAndIsr
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, PartitionId, TopicName, TopicPartition
from statemachines.partition_state_machine import PartitionStateMachine
from statemachines.replica_state_machine import ReplicaStateMachine
from statemachines.state_change import Processed
from statemachines.tables.partition import OnlinePartition
from statemachines.zk_data import (
    TopicAssignment,
    TopicPartitionState,
    topic_partition_path,
    topic_partition_state_path,
    topic_partitions_path,
)
from statemachines.zookeeper.tree import Node, SessionId, ZkVersion

Reassignments = Annotated[int, "how often a partition was reassigned"]
"""A number of reassignments."""
Expiries = Annotated[int, "how often the session of a broker that runs has ended"]
"""A number of sessions that ended."""

FIRST: Final = TopicPartition(TOPIC, 0)
"""The first partition."""
PARTITIONS: Final = frozenset({"partitions"})
"""What is below the node of a topic, once it has leaders."""


class Connection(Enum):
    """Over which connection a broker gets a request."""

    Controller = "of the controller"
    FormerController = "of the former controller"
    Broken = "that broke"

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return self.name


class ControlledBrokers(PartitionStates):
    """A controller and the one before, their channels, and the brokers that get their requests."""

    context: Context
    channels: Channels
    former: Channels
    receivers: ReceivingBrokers
    registered: frozenset[BrokerId] = variable(
        "The brokers that run and are registered. Left out: that one is registered for a while after it has died, "
        "which is as if it lived and were slow."
    )
    expiries: Expiries = variable("How often a broker that runs lost its session.")
    leaving: frozenset[BrokerId] = variable(
        "Those of them that have asked to be shut down, and will stop.",
        of=lambda self: subset_of(self.broker_ids if self.shutdowns else ()),
    )
    deaths: Deaths = variable("How often a broker died.")
    brokers_changed: bool = variable(
        "The watch for /brokers/ids has fired, and the controller has not read it since. [BrokerChange is queued]"
    )
    reassignments: Reassignments = variable("How often the partition was reassigned.")
    isr_change_notification: frozenset[TopicPartition] = variable(
        "The partitions whose leaders have written their ISRs, and notified the controller, which has not read them.",
        of=lambda self: subset_of(tuple(self.assignments) if writes(self) else ()),
    )
    copies: Total[BrokerId, ControlRequest | None] = variable(
        "A request that a broker has got, and handles later than what its controller sends over the next connection."
    )

    @property
    def broker_epochs(self) -> Mapping[BrokerId, BrokerEpoch]:
        """How many lives each broker had before."""
        return self.receivers.broker_epochs

    @property
    def running(self) -> frozenset[BrokerId]:
        """The brokers that run, registered or not."""
        return self.registered | self.receivers.behind

    @property
    def assignments(self) -> Mapping[TopicPartition, ReplicaAssignment]:
        """Which brokers keep each partition, as ZooKeeper has it."""
        data: TopicAssignment = self.zk.nodes[TOPIC_PATH].data
        return data.decode(TOPIC)


C = ControlledBrokers


EPOCHS_OF_REASSIGNMENT: Final = 2
"""Leader epochs that begin in the event of a reassignment: when it is asked for, and when a replica goes."""


def reassigns(self: ControlRequests) -> bool:
    """Whether a partition is reassigned."""
    return self.reassignments > 0


def stops(self: ControlRequests) -> bool:
    """Whether replicas are told to stop."""
    return self.brokers > 1 and (self.shutdowns or self.reassignments > 0)


def joins(self: ControlRequests) -> bool:
    """Whether followers join the ISR; one that left it, or was never in it."""
    out_of_sync = not self.in_sync or registers_anew(self)
    return self.isr_changes > 0 and self.brokers > 1 and out_of_sync


def asks(self: ControlRequests) -> bool:
    """Whether leaders ask the controller for that."""
    return joins(self) and self.design.alter_partition


def writes(self: ControlRequests) -> bool:
    """Whether leaders write it themselves."""
    return joins(self) and not self.design.alter_partition


def registers_anew(self: ControlRequests) -> bool:
    """Whether registrations come and go: brokers die, or lose their sessions."""
    return self.max_deaths > 0 or self.expiries > 0


KINDS: Final = {
    LeaderAndIsrRequest: "LeaderAndIsr",
    UpdateMetadataRequest: "UpdateMetadata",
    StopReplicaRequest: "StopReplica",
}
"""How requests are called."""
HANDLED: Final = ("deliver", "lose_reply", "deliver_unread")
"""The actions in which a broker handles a request."""


class ControlRequests(Specification[C]):
    """One effective controller, event by event, the channels to its brokers, and what these obey.

    An event of the controller is one step: it reads, writes to ZooKeeper, and puts requests into queues. From there
    each broker gets them at its own pace: a step is one request that a broker handles, whose reply arrives, or is
    lost, and then it is sent again. Any number of events may happen while a broker has handled nothing, as far as
    queues hold them. Brokers die and return at any time, and another controller is elected: from then on two send,
    until the former one resigns. What each party does is what `statemachines` has for it: `ControllerEventProcessor`,
    `ControllerChannelManager`, `KafkaApis`, `ReplicaManager`, `MetadataCache`, over the variables here.

    Fused: an event with all that ZooKeeper answers. Nothing that it reads is changed by a broker that handles a
    request, so a request that is handled in the midst of an event might as well be handled behind it. What else may
    happen in its midst, a leader that changes its ISR or another controller that is elected, is explored by
    `partitions`, where requests do not wait. A broker's death with the end of its session: until that end it is like
    a slow one. A reply with what the controller makes of it, which is nothing: it matters where disks fail and where
    topics are deleted. The broker's thread that takes a request from its queue and the sending of it.

    Of two controllers only the later one has events. What the former one does with events before it resigns is left
    out: since 2.1 ZooKeeper refuses its writes, and what it would send without a write is not modelled. Where there
    is a third, the first has resigned. What waits is `kept`: a request without what no broker looks at here.

    A follower that has caught up joins the ISR: its leader asks the controller by AlterPartition, which is answered
    in the step in which the controller has it; until then anything may happen. Before 2.7 the leader writes it to
    ZooKeeper in a step, with the reading back, if its answer was lost or another has written, and tells the
    controller; the event waits as long as one likes, so when the notification is created makes no difference.

    A reassignment takes the last broker of a partition away, or gives it back, by AlterPartitionReassignments; a
    replica that is taken away is deleted. So brokers are told to stop, with deletion and, in a controlled shutdown,
    without.

    A broker that shuts down obeys as any other: it is not told so (`ReplicaManager.is_shutting_down`). In Kafka it
    does not begin to fetch any more, and so cannot catch up with a new leader. That it may here adds steps and takes
    none away: what holds here holds there, but for P6, which asks that it fetches.

    A broker whose session ends runs on, and registers anew (`expiries`). Until it has ZooKeeper's answer it goes by
    its former broker epoch. One that is started knows its registration before it takes requests.

    Left out: disks that fail, leaders that shrink ISRs, reassignments of other kinds, deletion of topics, other
    topics; a broker that dies between two registrations; a batch that a change has left half full (H3), for no change
    is cut short here.
    """

    name = "control-requests"
    leaves_out = "batches of requests to ZooKeeper, ISRs that leaders shrink, deletion of topics, log directories"

    brokers: int = constant(2, "Brokers, each of which keeps every partition.", at_least=1, at_most=3)
    partitions: int = constant(1, "Partitions, all of which prefer the first broker.", at_least=1, at_most=2)
    max_deaths: int = constant(1, "Bound: how often brokers die.", at_least=0, at_most=5)
    moves: int = constant(1, "Bound: how often another controller is elected.", at_least=0, at_most=3)
    isr_changes: int = constant(0, "Bound: how often followers join the ISR of the partition.", at_least=0, at_most=3)
    in_sync: bool = constant(True, "All replicas are in sync at first; else only the leader is.")
    waiting: int = constant(10, "Bound: requests that wait for a broker in one queue.", at_least=1, at_most=20)
    max_leader_epoch: int = constant(3, "Bound: the highest leader epoch; the first is 0.", at_least=0, at_most=9)
    shutdowns: bool = constant(False, "Brokers ask for a controlled shutdown.")
    lost_replies: bool = constant(True, "Replies are lost, so that requests are sent again.")
    late_copies: bool = constant(
        False, "Of a request that is sent again, what arrived first may be handled later than what follows it."
    )
    expiries: int = constant(
        0,
        "Bound: how often a broker that runs loses its session, and registers anew.",
        at_least=0,
        at_most=3,
    )
    reassignments: int = constant(
        0,
        "Bound: how often the last replica of the first partition is taken away, or given back.",
        at_least=0,
        at_most=3,
    )
    new_topic: bool = constant(
        False, "The topic is new, brokers have no logs, and cannot always read how it is configured."
    )

    design: ControlDesign = switches(
        ControlDesign,
        ByRelease(control_design_of),
        only=[
            "metadata_first",
            "broker_epoch",
            "newer_broker_epoch",
            "offline_on_failover",
            "metadata_of_given",
            "metadata_without_election",
            "trunc_every_epoch",
            "trunc_missed_epoch",
            "tell_leaving",
            "fence_stop",
            "stop_at_same_epoch",
            "pass_over_unread",
            "epoch_after_log",
            "read_back",
            "alter_partition",
            "check_alter_epochs",
            "live_isr_check",
        ],
    )

    @assumption
    def one_partition_changes(self) -> bool:
        """ISRs change and replicas move where there is one partition."""
        return self.partitions == 1 or not (self.isr_changes or self.reassignments)

    @assumption
    def some_replica_stays(self) -> bool:
        """A reassignment leaves the partition some replica."""
        return not self.reassignments or self.brokers > 1

    partition_state_machine: ClassVar[type[PartitionStateMachine]] = PartitionStateMachine
    replica_state_machine: ClassVar[type[ReplicaStateMachine]] = ReplicaStateMachine
    request_batch: ClassVar[type[ControllerBrokerRequestBatch]] = ControllerBrokerRequestBatch
    channel_manager: ClassVar[type[ControllerChannelManager]] = ControllerChannelManager
    replica_manager: ClassVar[type[ReplicaManager]] = ReplicaManager

    # How large it is.

    @cached_property
    def broker_ids(self) -> tuple[BrokerId, ...]:
        """The brokers."""
        return tuple(range(self.brokers))

    @cached_property
    def assignments(self) -> Mapping[TopicPartition, ReplicaAssignment]:
        """Every broker keeps every partition, and all prefer the first one."""
        everywhere = ReplicaAssignment(self.broker_ids)
        return {TopicPartition(TOPIC, number): everywhere for number in range(self.partitions)}

    @cached_property
    def ways(self) -> Mapping[TopicPartition, tuple[ReplicaAssignment, ...]]:
        """How each partition may be assigned: the first one by what reassignments lead to."""
        ways: dict[TopicPartition, tuple[ReplicaAssignment, ...]] = {
            partition: (assignment,) for partition, assignment in self.assignments.items()
        }
        if self.reassignments:
            whole, less = map(ReplicaAssignment, self.targets)
            more = less.reassign_to(whole.replicas)
            leaving = whole.reassign_to(less.replicas)
            ways[FIRST] = (whole, leaving, less, more)
        return ways

    @property
    def targets(self) -> tuple[tuple[BrokerId, ...], tuple[BrokerId, ...]]:
        """Where the first partition is to be: on all brokers, and on all but the last."""
        whole = self.assignments[FIRST].replicas
        return whole, whole[:-1]

    @cached_property
    def requests(self) -> WaitingRequests:
        """Those that may wait."""
        return WaitingRequests(
            CONTROLLER,
            self.broker_ids,
            self.ways,
            controller_epochs=range(1, 2 + self.moves),
            broker_epochs=range(self.max_deaths + self.expiries + 1),
            leader_epochs=range(self.max_leader_epoch + 1),
            isr_changes=self.isr_changes,
            stops=stops(self),
        )

    @property
    def connections(self) -> tuple[Connection, ...]:
        """Those that there may be."""
        there = {
            Connection.Controller: True,
            Connection.FormerController: self.moves > 0,
            Connection.Broken: self.late_copies,
        }
        return tuple(each for each, may_be in there.items() if may_be)

    @property
    def type_sizes(self) -> Mapping[Any, Size]:
        """How large the types are that parts have as well."""
        return {
            BrokerId: self.broker_ids,
            TopicName: (TOPIC,),
            PartitionId: range(self.partitions),
            TopicPartition: tuple(self.assignments),
            PartitionAndReplica: [
                PartitionAndReplica(each, broker) for each in self.assignments for broker in self.broker_ids
            ],
            ControllerEpoch: integers(0, 1 + self.moves),
            BrokerEpoch: integers(0, self.max_deaths + self.expiries),
            LeaderEpoch: integers(0, self.max_leader_epoch),
            ZkVersion: integers(0, self.max_leader_epoch + self.isr_changes),
            tuple[BrokerId, ...]: at_most(self.brokers),
        }

    def sizes(self) -> Mapping[Any, Size]:
        """There is one session, of the controllers."""
        return {
            **self.type_sizes,
            SessionId: [Session("controller", 0)],
            Deaths: integers(0, self.max_deaths),
            Expiries: integers(0, self.expiries),
            Reassignments: integers(0, self.reassignments),
            Connection: self.connections,
            (ControlRequest | None): optional(self.requests.domain) if self.late_copies else (None,),
        }

    @property
    def topic_data(self) -> Sequence[TopicAssignment]:
        """What the topic's node may have."""
        return [TopicAssignment.encode({**self.assignments, FIRST: way}) for way in self.ways[FIRST]]

    @part
    def zk(self) -> ZooKeeperPart:
        """The controller's epoch and the nodes of the topic; nothing is watched, and no session ends."""
        partitions, epochs = tuple(self.assignments), self.domain_of(ControllerEpoch)
        leader_and_isr = self.domain_of(LeaderAndIsr, partition_epoch=(0,))
        state = self.domain_of(TopicPartitionState, leader_and_isr=leader_and_isr)
        znodes: Collection[Znodes] = (
            Znodes(one_of("/brokers", "/brokers/topics", topic_partitions_path(TOPIC))),
            Znodes(TOPIC_PATH, data=self.topic_data, version=left_out(), children=(frozenset(), PARTITIONS)),
            Znodes(one_of(*map(topic_partition_path, partitions))),
            Znodes(
                one_of(*map(topic_partition_state_path, partitions)), data=state, version=self.domain_of(ZkVersion)
            ),
            Znodes(CONTROLLER_EPOCH, data=epochs, version=epochs),
        )
        sessions = self.domain_of(SessionId)
        return ZooKeeperPart(sessions=sessions, znodes=znodes, inbox=0, expiries=False, one_write=False)

    @part
    def context(self) -> ContextPart:
        """What the controller knows."""
        return ContextPart(self.type_sizes, self.ways)

    @part
    def channels(self) -> ChannelsPart:
        """Those of the controller."""
        return self.channels_to(self.broker_ids)

    @part
    def former(self) -> ChannelsPart:
        """Those of the one before; without another controller none."""
        return self.channels_to(self.broker_ids if self.moves else ())

    def channels_to(self, brokers: tuple[BrokerId, ...]) -> ChannelsPart:
        """One to each of these brokers."""
        return ChannelsPart(one_of(*brokers), self.requests.domain, self.waiting, self.design, self.channel_manager)

    @part
    def receivers(self) -> ReceivingBrokersPart:
        """What brokers know."""
        return ReceivingBrokersPart(
            self.requests, self.design, asks(self), self.replica_manager, expires=self.expiries > 0
        )

    @initial
    def a_cluster_set_up(self, s: C) -> None:
        """All brokers run, and have been told nothing; there is no controller yet."""
        for path in ("/brokers", "/brokers/topics"):
            s.zk.nodes[path] = Node()
        below = frozenset() if self.new_topic else PARTITIONS
        s.zk.nodes[TOPIC_PATH] = Node(data=TopicAssignment.encode(self.assignments), children=below)
        s.zk.nodes[CONTROLLER_EPOCH] = Node(data=0)
        s.registered = frozenset(self.broker_ids)
        if self.new_topic:
            return
        for path in (topic_partitions_path(TOPIC), *map(topic_partition_path, self.assignments)):
            s.zk.nodes[path] = Node()
        for partition, assignment in self.assignments.items():
            leader = assignment.replicas[0]
            first = TopicPartitionState(
                LeaderAndIsr(leader, 0, assignment.replicas if self.in_sync else (leader,)), 0
            )
            s.zk.nodes[topic_partition_state_path(partition)] = Node(data=first)
        s.receivers.logs = frozenset(
            PartitionAndReplica(each, broker) for each in self.assignments for broker in self.broker_ids
        )

    # The controller, over a state.

    def controller(self, s: C) -> ControllerEventProcessor:
        """The controller that processes events. Its requests name a life of a broker, see `ReceivingBrokersPart`."""
        context = self.context.of(s.context)
        naming = self.design._replace(broker_epoch=True)
        of_partitions, of_replicas, of_others = (
            self.request_batch(
                CONTROLLER,
                context,
                lambda broker, request: self.channels.send(s.channels, broker, self.requests.kept(request)),
                InMemoryBatch(),
                naming,
            )
            for _ in range(3)
        )
        return ControllerEventProcessor(
            self.partition_state_machine(context, of_partitions, self.design, log=None),
            self.replica_state_machine(context, of_replicas, self.design, log=None),
            of_others,
            self.channels.of(s.channels, context),
            zk_client=ZkClientReadingVariables(context, self.design, s, self.assignments),
        )

    def process(self, s: C, handler: Callable[..., Any], *arguments: Any) -> Processed:
        """The controller processes an event, whatever ZooKeeper answers."""
        controller = self.controller(s)
        step = controller.process(Call(handler.__name__, arguments))
        while isinstance(step, Processing):
            what = step.awaits.what
            if getattr(what, "due", None) is ZkBatch.SetTopicPartitionStates:
                bound(all(each.leader_and_isr.leader_epoch <= self.max_leader_epoch for each in what.updates))
            responses = retry_requests_until_connected(self.zk.servers(s.zk), None, controller.requests(step))
            step = controller.answered(step, responses)
        assert step.failure is None
        return step

    @action(actor="controller", receiver="ZooKeeper")
    def elect_controller(self, s: C) -> None:
        """A controller is elected, and reads what there is; the one before goes on sending. [onControllerFailover]"""
        bound(s.epoch < 1 + self.moves)
        if s.epoch:
            self.channels.move(s.channels, to=s.former)
            self.context.of(s.context).reset_context()
        stat = self.zk.servers(s.zk).set(None, CONTROLLER_EPOCH, s.epoch + 1)
        s.context.epoch, s.context.epoch_zk_version = s.epoch, stat.version
        s.brokers_changed = False
        self.process(s, ControllerEventProcessor.on_controller_failover)

    @action(when=lambda self: self.moves > 0, actor="former controller")
    def resign(self, s: C) -> None:
        """The former controller hears of the other one, and sends no more. [onControllerResignation]"""
        require(not self.former.are_closed(s.former))
        self.former.of(s.former).shutdown()

    @action(when=registers_anew, actor="controller", receiver="ZooKeeper")
    def broker_change(self, s: C) -> None:
        """The controller reads which brokers are registered. [BrokerChange]"""
        require(s.epoch and s.brokers_changed)
        s.brokers_changed = False
        self.process(s, ControllerEventProcessor.process_broker_change)

    @action(when=lambda self: self.shutdowns and self.brokers > 1, actor="broker", receiver="controller")
    def shut_down(self, s: C, broker: BrokerId) -> None:
        """A broker asks to be shut down: others get what it leads, and it leaves the ISRs. [doControlledShutdown]"""
        require(s.epoch and broker in s.registered and self.context.of(s.context).is_live_broker(broker))
        epoch = self.receivers.own_epoch(s.receivers, broker)
        require(s.context.live_broker_epochs[broker] == epoch)
        self.process(s, ControllerEventProcessor.process_controlled_shutdown, broker, epoch)
        s.leaving |= {broker}

    # Brokers.

    @action(when=lambda self: self.max_deaths > 0, actor="broker")
    def die(self, s: C, broker: BrokerId) -> None:
        """A broker dies, and its registration goes. The controller cannot tell that from a slow one."""
        require(broker in s.registered)
        bound(s.deaths < self.max_deaths)
        s.deaths += 1
        s.registered -= {broker}
        if broker in s.leaving:
            s.leaving -= {broker}
        self.receivers.die(s.receivers, broker)
        if s.copies[broker] is not None:
            s.copies[broker] = None
        self.changed(s)

    @action(when=lambda self: self.max_deaths > 0, actor="broker", receiver="ZooKeeper")
    def come_back(self, s: C, broker: BrokerId) -> None:
        """A broker is started again, perhaps before the controller knows that it was gone."""
        require(broker not in s.running)
        s.registered |= {broker}
        self.changed(s)

    @action(when=lambda self: self.expiries > 0, actor="ZooKeeper", receiver="broker")
    def expire(self, s: C, broker: BrokerId) -> None:
        """The session of a broker that runs ends, and its registration goes."""
        require(broker in s.registered and broker not in s.receivers.behind)
        bound(s.expiries < self.expiries)
        s.expiries += 1
        s.registered -= {broker}
        self.receivers.expire(s.receivers, broker)
        self.changed(s)

    @action(when=lambda self: self.expiries > 0, actor="broker", receiver="ZooKeeper")
    def register_anew(self, s: C, broker: BrokerId) -> None:
        """It registers in its next session; ZooKeeper's answer is on its way. [RegisterBrokerAndReelect]"""
        require(broker in s.receivers.behind and broker not in s.registered)
        s.registered |= {broker}
        self.changed(s)

    @action(when=lambda self: self.expiries > 0, actor="ZooKeeper", receiver="broker")
    def learn_registration(self, s: C, broker: BrokerId) -> None:
        """It has the answer, and knows its broker epoch, which requests may have named before. [KAFKA-9839]"""
        require(broker in s.receivers.behind & s.registered)
        self.receivers.learn_registration(s.receivers, broker)

    def changed(self, s: C) -> None:
        """The children of /brokers/ids have changed, which a controller hears."""
        if s.epoch and not s.brokers_changed:
            s.brokers_changed = True

    # A partition is reassigned.

    @action(when=reassigns, actor="administrator", receiver="controller")
    def reassign(self, s: C) -> None:
        """An administrator takes the last replica away, or gives it back. [AlterPartitionReassignments]"""
        require(s.epoch)
        bound(s.reassignments < self.reassignments)
        state = s.state(FIRST)
        bound(state is not None and state.leader_epoch + EPOCHS_OF_REASSIGNMENT <= self.max_leader_epoch)
        s.reassignments += 1
        whole, less = self.targets
        known = self.context.of(s.context).partition_full_replica_assignment(FIRST)
        target = less if {*known.target_replicas} == {*whole} else whole
        self.process(s, ControllerEventProcessor.process_api_partition_reassignment, ((FIRST, target),))

    # Followers join the ISR.

    def catch_up(self, s: C, leader: BrokerId, follower: BrokerId) -> None:
        """A follower has all that its leader has."""
        require({leader, follower} <= s.running)
        (partition,) = self.assignments
        epoch = self.receivers.leads(s.receivers, leader, partition)
        fetching = s.receivers.fetchers.get(PartitionAndReplica(partition, follower))
        require(epoch is not None and fetching == (leader, epoch))
        node = s.written(partition)
        assert node is not None
        bound(node.version - node.data.leader_and_isr.leader_epoch < self.isr_changes)

    @action(when=asks, actor="broker")
    def propose(self, s: C, broker: BrokerId, follower: BrokerId) -> None:
        """A follower has caught up, and its leader asks the controller to have it in the ISR. [maybeExpandIsr]"""
        self.catch_up(s, broker, follower)
        manager = self.receivers.alter_partition_manager(s.receivers, broker)
        require(manager.maybe_expand_isr(FIRST, follower))
        manager.maybe_propagate_isr_changes()

    @action(when=writes, actor="broker", receiver="ZooKeeper")
    def write_isr(self, s: C, broker: BrokerId, follower: BrokerId) -> None:
        """A follower has caught up, and its leader writes the ISR with it. [maybeExpandIsr, 2.6]"""
        self.expand_isr(s, broker, follower)

    @action(when=lambda self: writes(self) and self.lost_replies, actor="broker", receiver="ZooKeeper")
    def write_isr_unheard(self, s: C, broker: BrokerId, follower: BrokerId) -> None:
        """The leader writes the ISR, and asks again, as the answer is lost."""
        self.expand_isr(s, broker, follower, answered=0, carried_out=1)

    def expand_isr(self, s: C, broker: BrokerId, follower: BrokerId, **lost: int) -> None:
        """A leader has a follower in the ISR, if ZooKeeper has the version of its state that it knows."""
        self.catch_up(s, broker, follower)
        servers, manager = self.zk.servers(s.zk), self.receivers.zk_alter_partition_manager(s.receivers, broker)
        update = manager.maybe_expand_isr(FIRST, follower)
        require(update)
        while update is not None:
            update = manager.answered(
                update, retry_requests_until_connected(servers, None, manager.requests(update), **lost)
            )
            lost = {}
        say("written" if manager.state.isr_change_set else "refused: it keeps the ISR and the version that it knows")
        s.isr_change_notification |= manager.state.isr_change_set

    @action(when=writes, actor="controller", receiver="ZooKeeper")
    def hear_of_isr_changes(self, s: C) -> None:
        """The controller reads the states that leaders have changed. [IsrChangeNotification]"""
        require(s.epoch and s.isr_change_notification)
        self.process(s, ControllerEventProcessor.process_isr_change_notification)

    @action(when=asks, actor="broker", receiver="controller")
    def change_isr(self, s: C, broker: BrokerId) -> None:
        """The controller changes the ISR, if that can be, and answers. [AlterPartitionReceived]"""
        in_flight = s.receivers.in_flight[broker]
        require(s.epoch and in_flight is not None)
        assert in_flight is not None
        answer = self.process(s, ControllerEventProcessor.process_alter_partition, in_flight.request).answer
        say(", ".join(str(outcome) for _, outcome in answer.partitions if isinstance(outcome, Errors)) or "done")
        manager = self.receivers.alter_partition_manager(s.receivers, broker)
        manager.answered(answer)
        manager.maybe_propagate_isr_changes()

    # Requests are sent.

    def channel(self, s: C, connection: Connection) -> tuple[ChannelsPart, Channels]:
        """The channels of one of the two controllers."""
        return (self.former, s.former) if connection is Connection.FormerController else (self.channels, s.channels)

    def line(self, s: C, connection: Connection, broker: BrokerId) -> tuple[ControlRequest, ...]:
        """What a broker has yet to get from there, in order."""
        if connection is Connection.Broken:
            copy = s.copies[broker]
            return () if copy is None else (copy,)
        part_, channels = self.channel(s, connection)
        return part_.line(channels, broker)

    def exchange(
        self,
        s: C,
        connection: Connection,
        broker: BrokerId,
        delivery: Delivery,
        failures: Mapping[TopicPartition, LogFailure] = NO_FAILURES,
    ) -> None:
        """A broker handles the next request from there."""
        require(broker in s.running)
        line = self.line(s, connection, broker)
        require(line)
        if connection is Connection.Broken:
            s.copies[broker] = None
            self.handle(s, broker, line[0], failures)
            return
        part_, channels = self.channel(s, connection)
        part_.of(channels).exchange(broker, lambda request: self.handle(s, broker, request, failures), delivery)

    def handle(
        self, s: C, broker: BrokerId, request: ControlRequest, failures: Mapping[TopicPartition, LogFailure]
    ) -> ControlResponse:
        """A broker handles a request."""
        say(KINDS[request.__class__])
        response = self.receivers.handle(s.receivers, broker, request, failures)
        if response.errorCode is not Errors.NONE:
            say(str(response.errorCode))
        return response

    @action(actor="connection", receiver="broker")
    def deliver(self, s: C, connection: Connection, broker: BrokerId) -> None:
        """A broker handles the next request, and its reply arrives."""
        self.exchange(s, connection, broker, Delivery.Answered)

    @action(when=lambda self: self.lost_replies, actor="connection", receiver="broker")
    def lose_reply(self, s: C, connection: Connection, broker: BrokerId) -> None:
        """A broker handles the next request, and the reply is lost: it will be sent again."""
        require(connection is not Connection.Broken)
        self.exchange(s, connection, broker, Delivery.ReplyLost)

    @action(when=lambda self: self.new_topic, actor="connection", receiver="broker")
    def deliver_unread(self, s: C, connection: Connection, broker: BrokerId, partition: TopicPartition) -> None:
        """A broker handles LeaderAndIsr, and cannot read how the topic is configured of which it is to make a log."""
        require(isinstance(next(iter(self.line(s, connection, broker)), None), LeaderAndIsrRequest))
        require(PartitionAndReplica(partition, broker) not in s.receivers.logs)
        self.exchange(s, connection, broker, Delivery.Answered, {partition: LogFailure.ConfigNotRead})

    @action(when=lambda self: self.late_copies, actor="connection", receiver="broker")
    def break_connection(self, s: C, connection: Connection, broker: BrokerId) -> None:
        """A broker gets a request, and the connection breaks: it will be sent again, and be handled twice."""
        require(connection is not Connection.Broken)
        require(broker in s.running and s.copies[broker] is None and self.line(s, connection, broker))
        part_, channels = self.channel(s, connection)
        s.copies[broker] = channels.request_send_threads[broker].request or part_.of(channels).take(broker)

    # Properties of requests on their way, and of how they are obeyed.

    @transition_invariant(of=HANDLED)
    def in_order(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """H1: a thread sends what is first, and nothing else meanwhile."""
        line, left = (self.line(s, connection, broker) for s in (before, after))
        return left in (line, line[1:])

    @transition_invariant(of="lose_reply")
    def sent_again(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """H2: at least once: a request whose reply was lost is still the first to be sent."""
        return self.line(before, connection, broker) == self.line(after, connection, broker)

    @invariant
    def request_reflects_zookeeper(self, s: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """H6: LeaderAndIsr that waits has been written, and is what stands there if it is of that version."""
        node = s.written(partition)
        for request in (each for connection in self.connections for each in self.line(s, connection, broker)):
            for told in request.partitionStates if isinstance(request, LeaderAndIsrRequest) else ():
                if told.partitionIndex != partition.partition:
                    continue
                if node is None or told.partitionEpoch > node.version:
                    return False
                leader, leader_epoch, isr, *_ = node.data.leader_and_isr
                if told.partitionEpoch == node.version and (told.leaderEpoch, told.isr) != (leader_epoch, isr):
                    return False
                if told.leaderEpoch == leader_epoch and told.leader != leader:
                    return False
        return True

    def known(self, s: C, broker: BrokerId) -> tuple[object, ...]:
        """All that a broker knows and keeps, but for the AlterPartition that it has sent."""
        replicas = [PartitionAndReplica(partition, broker) for partition in self.assignments]
        mappings = (s.receivers.all_partitions, s.receivers.fetchers, s.receivers.metadata)
        of_replicas = tuple(mapping.get(replica) for mapping in mappings for replica in replicas)
        logs = tuple(replica in s.receivers.logs for replica in replicas)
        return (s.receivers.controller_epochs[broker], s.receivers.alive_brokers[broker], *of_replicas, *logs)

    @transition_invariant(of=HANDLED)
    def meant_for_this_life(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """H4: a request that is meant for an earlier life of a broker changes nothing."""
        if self.line(before, connection, broker)[0].brokerEpoch >= self.receivers.own_epoch(before.receivers, broker):
            return True
        return self.known(before, broker) == self.known(after, broker)

    @transition_invariant(of=HANDLED)
    def from_no_older_controller(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """C6: a request of an older controller than the broker knows changes nothing."""
        if self.line(before, connection, broker)[0].controllerEpoch >= before.receivers.controller_epochs[broker]:
            return True
        return self.known(before, broker) == self.known(after, broker)

    @transition_invariant(of=HANDLED, when=stops)
    def stop_is_fenced(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """H7: StopReplica of an older leader epoch than a replica's does not stop it."""
        request = self.line(before, connection, broker)[0]
        for told in request.partitionStates if isinstance(request, StopReplicaRequest) else ():
            replica = PartitionAndReplica(TopicPartition(told.topicName, told.partitionIndex), broker)
            hosted = before.receivers.all_partitions.get(replica)
            if hosted is None or not 0 <= told.leaderEpoch < hosted.leader_epoch:
                continue
            if before.receivers.fetchers.get(replica) != after.receivers.fetchers.get(replica):
                return False
        return True

    @transition_invariant(of=HANDLED)
    def role_with_its_epoch(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """P6: a replica that takes a leader epoch takes the role that goes with it: it leads, or fetches."""
        for replica in (PartitionAndReplica(partition, broker) for partition in self.assignments):
            old, new = (s.receivers.all_partitions.get(replica) for s in (before, after))
            if new is None or new.leader_epoch == (NO_EPOCH if old is None else old.leader_epoch):
                continue
            fetching = after.receivers.fetchers.get(replica)
            if (fetching is None) != (new.leader == broker) or (fetching and fetching.leader != new.leader):
                return False
        return True

    @transition_invariant(of=HANDLED)
    def metadata_goes_forward(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """What a broker tells clients of a leader is never of an earlier leader epoch than what it told them."""
        for replica in (PartitionAndReplica(partition, broker) for partition in self.assignments):
            old, new = (s.receivers.metadata.get(replica) for s in (before, after))
            if old is not None and (new is None or new.leaderEpoch < old.leaderEpoch):
                return False
        return True

    # Properties of what brokers believe.

    @invariant
    def presumed_leader_legit(self, s: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """P6: a broker goes by the leader in ZooKeeper, or by one of an earlier leader epoch."""
        hosted, state = s.receivers.all_partitions.get(PartitionAndReplica(partition, broker)), s.state(partition)
        if hosted is None or hosted.leader is None:
            return True
        if state is None or hosted.leader_epoch > state.leader_epoch:
            return False
        return hosted.leader_epoch < state.leader_epoch or hosted.leader == state.leader

    # Properties of what is quiet.

    def quiet(self, s: C) -> bool:
        """The controller has heard of all that there was to hear of, and every request has been answered."""
        if not s.epoch or s.brokers_changed or s.isr_change_notification or not self.former.are_silent(s.former):
            return False
        if s.receivers.behind:
            return False
        if any(s.copies[each] is not None or s.receivers.in_flight[each] is not None for each in self.broker_ids):
            return False
        return not any(self.channels.line(s.channels, broker) for broker in self.broker_ids if broker in s.registered)

    @invariant(where=quiet)
    def live_brokers_known(self, s: C, broker: BrokerId) -> bool:
        """C10: when all is quiet, the controller knows which brokers run, and in which of their lives."""
        known = s.context.live_broker_epochs.get(broker)
        return known == (s.receivers.broker_epochs[broker] if broker in s.registered else None)

    @invariant(where=quiet)
    def cache_fresh(self, s: C, partition: TopicPartition) -> bool:
        """C8: when all is quiet, the controller knows the partition's state as it is in ZooKeeper."""
        known = s.context.partition_leadership_info.get(partition)
        written = s.leader_isr_and_controller_epoch(partition)
        if known is None or written is None:
            return known is None
        return known.leader_and_isr == written.leader_and_isr

    @invariant(where=quiet)
    def dead_not_in_isr(self, s: C, partition: TopicPartition) -> bool:
        """P13: when all is quiet, the members of an ISR of several run."""
        state = s.state(partition)
        return state is None or len(state.isr) < 2 or {*state.isr} <= s.registered

    def leads_in_zookeeper(self, s: C, partition: TopicPartition) -> LeaderAndIsr | None:
        """The state of a partition that the controller has for online; None: it is not online."""
        online = s.context.partition_states.get(partition) is OnlinePartition
        return s.state(partition) if online else None

    @invariant(where=quiet, when=lambda self: not self.new_topic)
    def online_is_led(self, s: C, partition: TopicPartition) -> bool:
        """P9: when all is quiet, the leader of a partition that is online runs, and knows that it leads."""
        state = self.leads_in_zookeeper(s, partition)
        return state is None or self.receivers.leads(s.receivers, state.leader, partition) == state.leader_epoch

    @invariant(where=quiet)
    def no_other_leads(self, s: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """When all is quiet, no broker takes itself for leader that ZooKeeper does not name."""
        state = s.state(partition)
        leads = self.receivers.leads(s.receivers, broker, partition)
        return leads is None or (state is not None and (broker, leads) == (state.leader, state.leader_epoch))

    @invariant(where=quiet, when=joins)
    def leader_can_write(self, s: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """When all is quiet, a leader knows the version of its partition's state, and so can change the ISR."""
        node, hosted = s.written(partition), s.receivers.all_partitions.get(PartitionAndReplica(partition, broker))
        if node is None or hosted is None or broker not in s.registered:
            return True
        leads = self.receivers.leads(s.receivers, broker, partition)
        return leads != node.data.leader_and_isr.leader_epoch or hosted.partition_epoch == node.version

    @invariant(where=quiet, when=lambda self: self.brokers > 1 and not self.new_topic)
    def replicas_follow(self, s: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """When all is quiet, every replica on a broker that runs, and does not shut down, fetches from the leader."""
        state = self.leads_in_zookeeper(s, partition)
        if state is None or broker == state.leader or broker not in s.registered - s.leaving:
            return True
        if broker not in self.context.of(s.context).partition_replica_assignment(partition):
            return True
        fetching = s.receivers.fetchers.get(PartitionAndReplica(partition, broker))
        return fetching is not None and fetching.leader == state.leader

    @invariant(where=quiet, when=reassigns)
    def none_is_stray(self, s: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """When all is quiet, no broker keeps a replica that is not assigned to it."""
        assigned = broker in self.context.of(s.context).partition_replica_assignment(partition)
        return assigned or PartitionAndReplica(partition, broker) not in s.receivers.all_partitions

    @invariant(where=quiet)
    def metadata_fresh(self, s: C, partition: TopicPartition, broker: BrokerId) -> bool:
        """When all is quiet, a broker that runs tells clients the leader that ZooKeeper has."""
        state, told = s.state(partition), s.receivers.metadata.get(PartitionAndReplica(partition, broker))
        if broker not in s.registered or state is None:
            return True
        return told is not None and (told.leader, told.leaderEpoch) == (state.leader, state.leader_epoch)

    # What must be able to happen.

    @sometimes(where=quiet)
    def all_is_quiet(self, s: C) -> bool:
        """All is quiet, and a partition is online."""
        return OnlinePartition in s.context.partition_states.values()

    @sometimes(where=quiet, when=lambda self: self.moves > 0 and self.max_deaths > 0)
    def quiet_at_last(self, s: C) -> bool:
        """All that may happen has happened, all brokers run, and all is quiet."""
        return s.epoch == 1 + self.moves and s.deaths == self.max_deaths and len(s.registered) == self.brokers

    @sometimes(when=lambda self: self.max_deaths > 0 and self.design.broker_epoch, of="deliver")
    def refused_for_its_life(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """A request for an earlier life of a broker is refused, STALE_BROKER_EPOCH."""
        own_epoch = self.receivers.own_epoch(before.receivers, broker)
        return self.line(before, connection, broker)[0].brokerEpoch < own_epoch

    @sometimes(when=lambda self: self.moves > 0, of="deliver")
    def refused_for_its_controller(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """A request of the former controller is refused, STALE_CONTROLLER_EPOCH."""
        return self.line(before, connection, broker)[0].controllerEpoch < before.receivers.controller_epochs[broker]

    @sometimes(when=lambda self: self.moves > 0, of="deliver")
    def obeys_the_former(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """A broker that has not heard of the controller yet obeys the former one."""
        return connection is Connection.FormerController and self.known(before, broker) != self.known(after, broker)

    @sometimes(when=lambda self: self.lost_replies, of="deliver")
    def handled_twice(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """A request whose reply was lost is handled again, and changes nothing."""
        _, channels = self.channel(before, connection)
        again = channels.request_send_threads[broker].request is not None
        return again and self.known(before, broker) == self.known(after, broker)

    @sometimes(when=lambda self: self.brokers > 1 and not self.design.metadata_first, of="deliver")
    def refuses_an_unknown_leader(self, before: C, after: C, connection: Connection, broker: BrokerId) -> bool:
        """A replica is told of a leader that its broker does not take to be alive, and stays as it was."""
        request = self.line(before, connection, broker)[0]
        for told in request.partitionStates if isinstance(request, LeaderAndIsrRequest) else ():
            replica = PartitionAndReplica(TopicPartition(told.topicName, told.partitionIndex), broker)
            hosted = after.receivers.all_partitions.get(replica)
            if hosted is not None and told.leader not in before.receivers.alive_brokers[broker] | {broker}:
                return hosted.leader_epoch < told.leaderEpoch
        return False

    @sometimes(when=lambda self: self.brokers > 1 and self.shutdowns)
    def two_lead(self, s: C, partition: TopicPartition) -> bool:
        """Two brokers take themselves for leader, for one has not heard of the other."""
        return sum(self.receivers.leads(s.receivers, broker, partition) is not None for broker in self.broker_ids) > 1

    @sometimes(when=joins, of=("change_isr", "write_isr", "write_isr_unheard"))
    def a_follower_joins(self, before: C, after: C) -> bool:
        """A follower is in the ISR that was not."""
        states = [(before.state(partition), after.state(partition)) for partition in self.assignments]
        return any(old is not None and new is not None and len(old.isr) < len(new.isr) for old, new in states)

    # What a state means, to the reader of a trace.

    @view
    def office(self, s: C) -> str:
        """Who is controller."""
        if not s.epoch:
            return "there is no controller"
        former = "" if self.former.are_closed(s.former) else "; the one before has not resigned"
        return f"the controller acts under epoch {s.epoch}{former}"

    @view
    def leadership(self, s: C, partition: TopicPartition) -> str:
        """Who leads a partition by ZooKeeper."""
        state, known = s.state(partition), s.context.partition_states.get(partition)
        if state is None:
            return ""
        leads = "no broker leads" if state.leader == NO_LEADER else f"broker {state.leader} leads"
        isr = ", ".join(map(str, state.isr))
        taken = "" if known is None else f"; the controller has it as {known.name}"
        return f"by ZooKeeper {leads} {partition} in leader epoch {state.leader_epoch}; in sync: {isr}{taken}"

    @view
    def queue(self, s: C, connection: Connection, broker: BrokerId) -> str:
        """What a controller has yet to send to a broker."""
        line = self.line(s, connection, broker)
        waits = ", then ".join(map(told_briefly, line))
        return f"for broker {broker}, over the connection {connection}: {waits}" if line else ""

    @view
    def life(self, s: C, broker: BrokerId) -> str:
        """A broker that is dead, or has come back."""
        lives = s.receivers.broker_epochs[broker]
        if broker not in s.running:
            return f"broker {broker} is dead"
        if broker in s.receivers.behind:
            registered = "knows nothing of its new registration" if broker in s.registered else "is not registered"
            return f"broker {broker} runs, and {registered}"
        known = s.context.live_broker_epochs.get(broker)
        unknown = s.epoch and known != lives
        return f"broker {broker} is in life {lives + 1}, of which the controller does not know" if unknown else ""

    # How a state is drawn.

    @picture
    def on_their_way(self, s: C) -> Grid:
        """The requests on their way; struck out: brokers that are dead, requests that would be refused as a whole."""
        return Grid(
            ("broker", *(f"over the connection {connection}" for connection in self.connections)),
            [
                (
                    Tag(f"broker {broker}", Look.plain if broker in s.running else Look.gone),
                    *(self._queue(s, connection, broker) for connection in self.connections),
                )
                for broker in self.broker_ids
            ],
        )

    def _queue(self, s: C, connection: Connection, broker: BrokerId) -> Queue:
        life, epoch = self.receivers.own_epoch(s.receivers, broker), s.receivers.controller_epochs[broker]
        line = self.line(s, connection, broker)
        refused = (each.brokerEpoch < life or each.controllerEpoch < epoch for each in line)
        return Queue(
            [Tag(told_briefly(each), Look.gone if no else Look.plain) for each, no in zip(line, refused, strict=True)]
        )


def told_briefly(request: ControlRequest) -> str:
    """A request in a few words, as it waits.

    >>> told_briefly(UpdateMetadataRequest(9, 1, 0, (), (0, 1)))
    'UpdateMetadata (alive: 0, 1)'
    """
    match request:
        case LeaderAndIsrRequest(partitionStates=states):
            return f"LeaderAndIsr ({'; '.join(map(leader_told, states))})"
        case StopReplicaRequest(partitionStates=stopped):
            return f"StopReplica ({', '.join(f'{each.topicName}-{each.partitionIndex}' for each in stopped)})"
        case UpdateMetadataRequest(partitionStates=known, liveBrokers=live):
            led = "".join(f"; {leader_told(each)}" for each in known)
            return f"UpdateMetadata (alive: {', '.join(map(str, live))}{led})"


def leader_told(told: LeaderAndIsrPartitionState | UpdateMetadataPartitionState) -> str:
    """Who leads a partition, as a request says."""
    leads = "no broker leads" if told.leader == NO_LEADER else f"{told.leader} leads"
    return f"{leads} {told.topicName}-{told.partitionIndex} in {told.leaderEpoch}"
