"""Calls: what is left of the processing of an event, as a value, and the driver that makes them.

A controller processes an event by a sequence of calls of its methods: states are changed, ZooKeeper is read and
written, requests go out, and what a later call does depends on what the context is by then. Between any two batches
of requests to ZooKeeper other things happen elsewhere, so that what is left has to be a value [docs/decisions/0024]:

    Call        one of the controller's methods, by its name, with its arguments
    Await       a batch of requests to ZooKeeper, or a change of states that waits for one, and the call that is made
                with what comes of it
    Processing  the one that is waited for, and the calls that follow

A handler is a method that does what Kafka's does up to the point where Kafka would wait, and returns the calls that
are left, as they stand in Kafka's method one below the other. They are made before those that were left already: the
calls are a stack.

    def _complete_delete_topic(self, topic):
        replicas = self.context.replicas_in_state(topic, ReplicaDeletionSuccessful)
        return (
            call(self.replicas_become, replicas, NonExistentReplica),
            call(self.delete_topic_znode, topic),
            call(self.delete_topic_configs, (topic,)),
            call(self.delete_topic_deletions, (topic,)),
            call(self._remove_topic, topic),
        )

What Kafka throws drops the calls that are left, down to one that was put there for it. Such a call is made in any
case: after `at_last` (finally) a failure goes on, with `caught` (try and catch) it ends, and is told, or None if
there is none. So it is with ControllerMoved. A controller whose requests to brokers fail has another one elected on
the spot; what of its event is left then may read, and is refused what it writes.

[process in KafkaController.scala, 3.9]
"""

from collections.abc import Callable, MutableMapping, Sequence
from enum import Enum
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeAlias

from election.ids import BrokerId
from statemachines.control_design import ControlDesign
from statemachines.controller_broker_request_batch import BatchNotEmpty, ControllerBrokerRequestBatch, RequestsNotSent
from statemachines.controller_context import ControllerContext
from statemachines.kafka_zk_client import (
    READS,
    ControllerMoved,
    RequestFailed,
    ZkRequest,
    ZkResponse,
    fenced,
    unwrapped,
)
from statemachines.messages.leader_and_isr import LeaderIsrAndControllerEpoch
from statemachines.messages.topic_partition import PartitionAndReplica, TopicName, TopicPartition
from statemachines.partition_state_machine import (
    PartitionLeaderElectionStrategy,
    PartitionStateChange,
    PartitionStateMachine,
)
from statemachines.replica_state_machine import ReplicaStateChange, ReplicaStateMachine
from statemachines.state_change import Handled, Processed, StateMachine
from statemachines.tables.partition import PartitionState
from statemachines.tables.replica import ReplicaState
from statemachines.zookeeper.tree import Code, ZkPath

__all__ = [
    "Await",
    "BrokerChannels",
    "Call",
    "Callback",
    "ChangeHandlers",
    "Calls",
    "ControllerCalls",
    "EventFailed",
    "EventFailure",
    "InCase",
    "Processing",
    "ReleaseChannels",
    "ZkRequests",
    "at_last",
    "call",
    "caught",
    "then",
]

P = ParamSpec("P")


class InCase(Enum):
    """What a call is made in spite of."""

    Success = "it is dropped if something fails before it"
    CaughtFailure = "it is told what failed before it, or None, and no failure goes on [try, catch]"
    AnyFailure = "it is made, and what failed before it goes on [finally]"

    def __str__(self) -> str:
        return self.name


class Call(NamedTuple):
    """A call that is still to be made, of a controller's method. An event that is queued is one as well."""

    method: str
    arguments: tuple[Any, ...] = ()
    """Values. Where it takes what was answered, that comes before them."""
    made: InCase = InCase.Success

    def __str__(self) -> str:
        return f"{self.method}({', '.join(map(str, self.arguments))})"

    def given(self, answer: Any) -> "Call":
        """The same with what was answered."""
        return Call(self.method, (answer, *self.arguments))


class ZkRequests(NamedTuple):
    """A batch of requests to ZooKeeper: reads, or writes, which are fenced when they are made."""

    requests: tuple[ZkRequest, ...]


class Await(NamedTuple):
    """What is waited for, and the call that is made with what comes of it.

    That takes, before its arguments, the answers to requests, or the results of a change.
    """

    what: Any
    """`ZkRequests`; or a step of a machine's: a change that waits, `Handled`, or what else it has come to."""
    then: Call | None = None


class Callback(NamedTuple):
    """What is answered to who asked for the event [callback]."""

    answer: Any


Calls: TypeAlias = tuple[Call | Await | Callback, ...]
"""What is left of a handler, first things first."""


def call(method: Callable[P, Calls | None], *arguments: P.args, **named: P.kwargs) -> Call:
    """The call of a controller's method, to be made later. Arguments are given by place."""
    if named:
        raise ValueError(f"{method.__name__}: arguments of a call are given by place, not by name: {named}")
    return Call(method.__name__, arguments)


def then(method: Callable[Concatenate[Any, P], Calls | None], *arguments: P.args, **named: P.kwargs) -> Call:
    """The call of a method that takes what was answered, and then these arguments."""
    if named:
        raise ValueError(f"{method.__name__}: arguments of a call are given by place, not by name: {named}")
    return Call(method.__name__, arguments)


def caught(handler: Call) -> Call:
    """A call that is told what failed before it, or None; no failure goes on."""
    return handler._replace(made=InCase.CaughtFailure)


def at_last(handler: Call) -> Call:
    """A call that is made whether or not something fails before it."""
    return handler._replace(made=InCase.AnyFailure)


class EventFailure(Enum):
    """Why the processing of an event was cut short, with the exception that Kafka has for it."""

    ControllerMoved = "another controller has been elected: it resigns [ControllerMovedException]"
    IllegalState = "requests to brokers could not be made: it has another elected [IllegalStateException]"
    NoLeaderAndIsr = "ZooKeeper has no leader and ISR of the partition [IllegalStateException]"
    NewerController = "a newer controller has written the state [StateChangeFailedException]"
    NoTopic = "the topic has no assignment [IllegalStateException]"
    NeverLed = "the partition never had a leader [NoSuchElementException]"
    NotAssigned = "the partition has no replica [NoSuchElementException]"
    NotReassigned = "the partition is not being reassigned any more [NoSuchElementException]"
    NoReplicaState = "a replica's state is not known [NoSuchElementException]"
    UnknownBroker = "there is no epoch of the broker [NoSuchElementException]"
    StaleBrokerEpoch = "the broker has been registered anew [StaleBrokerEpochException]"
    NoChannelManager = "there is no manager of channels to brokers, until 2.2 [NullPointerException]"
    BrokerNotAvailable = "the broker is not registered [BrokerNotAvailableException]"

    def __str__(self) -> str:
        return self.name


class EventFailed(Exception):
    """Thrown by a handler: what it was part of is cut short."""

    def __init__(self, cause: EventFailure | Code) -> None:
        super().__init__(cause)
        self.cause = cause


class Processing(NamedTuple):
    """An event is being processed, and waits for ZooKeeper."""

    awaits: Await
    calls: Calls = ()
    """What is made after it."""
    answer: Any = None
    """What has been answered to who asked for the event."""
    moves: bool = False
    """It is to have another controller elected [triggerControllerMove]."""


class BrokerChannels(Protocol):
    """The connections to brokers, as far as events open and close them [ControllerChannelManager]."""

    def startup(self, brokers: Sequence[BrokerId]) -> object:
        """A controller takes over: these are the brokers."""

    def shutdown(self) -> object:
        """It resigns: what is queued is gone."""

    def add_broker(self, broker: BrokerId) -> object:
        """A broker can be sent requests."""

    def remove_broker(self, broker: BrokerId) -> object:
        """A broker is gone, and with it what was queued for it."""


class NoChannels:
    """Requests go where the batch sends them, whichever brokers there are."""

    def startup(self, brokers: Sequence[BrokerId]) -> None:
        """Nothing."""

    def shutdown(self) -> None:
        """Nothing."""

    def add_broker(self, broker: BrokerId) -> None:
        """Nothing."""

    def remove_broker(self, broker: BrokerId) -> None:
        """Nothing."""


class ChangeHandlers(Protocol):
    """What of ZooKeeper is an event to a controller, as far as it says so itself [ZNodeChangeHandler]."""

    def register(self, path: ZkPath) -> object:
        """Changes of the children of this node are events."""

    def unregister(self, path: ZkPath) -> object:
        """Neither these are, nor is the creation of the node."""

    def unregister_partition_modifications(self) -> object:
        """Changes of topics' nodes are no events."""

    def unregister_isrs(self) -> object:
        """Changes of partitions' states are no events."""

    def mute_partition_modifications(self, topic: TopicName) -> object:
        """Changes of this topic's node are no events any more: the topic is about to be deleted."""

    def watch_isr(self, partition: TopicPartition) -> object:
        """Until 2.6 changes of a partition's state are events while it moves."""

    def unwatch_isr(self, partition: TopicPartition) -> object:
        """They are no events any more."""


class NoHandlers:
    """Whoever drives the controller knows what is an event."""

    def register(self, path: ZkPath) -> None:
        """Nothing."""

    def unregister(self, path: ZkPath) -> None:
        """Nothing."""

    def unregister_partition_modifications(self) -> None:
        """Nothing."""

    def unregister_isrs(self) -> None:
        """Nothing."""

    def mute_partition_modifications(self, topic: TopicName) -> None:
        """Nothing."""

    def watch_isr(self, partition: TopicPartition) -> None:
        """Nothing."""

    def unwatch_isr(self, partition: TopicPartition) -> None:
        """Nothing."""


class ReleaseChannels:
    """Channels to brokers as long as a release has them: since 2.3 always.

    Until 2.2 each failover made a manager of channels, which the next resignation took away: a controller that takes
    itself for one without having been set up has none. [ControllerContext.controllerChannelManager, 2.2]

    Args:
        channels: where there are any.
        design: that of the release.
    """

    def __init__(self, channels: BrokerChannels, design: ControlDesign) -> None:
        self._channels, self._keeps = channels, design.keep_channels
        self._are_there = design.keep_channels

    def require(self) -> None:
        """Before a request is sent, or a broker comes or goes.

        Raises:
            EventFailed: there are none.
        """
        if not self._are_there:
            raise EventFailed(EventFailure.NoChannelManager)

    def startup(self, brokers: Sequence[BrokerId]) -> None:
        """A controller takes over: there are channels to these brokers."""
        self._are_there = True
        self._channels.startup(brokers)

    def shutdown(self) -> None:
        """It resigns."""
        self._are_there = self._keeps
        self._channels.shutdown()

    def add_broker(self, broker: BrokerId) -> None:
        """A broker can be sent requests."""
        self.require()
        self._channels.add_broker(broker)

    def remove_broker(self, broker: BrokerId) -> None:
        """A broker is gone."""
        self.require()
        self._channels.remove_broker(broker)


class ControllerCalls:
    """A controller that processes events, over what it knows, and what its handlers have in common.

    `carry_out` drives it as it drives a state machine: `process` an event, answer its `requests`.

    Args:
        partition_state_machine: its partitions; the context and the design are those of this.
        replica_state_machine: their replicas, over the same context.
        batch: requests to brokers that are sent for no change of states; Kafka has a batch each for these, for
            partitions and for replicas, which may be one and the same here as long as none leaves anything behind.
        channels: what is told which brokers there are.
        put: what becomes of an event that is put into the queue: a `Call` of its handler [eventManager.put].
        delete_topic_enable: whether topics can be deleted [delete.topic.enable].
        reassignment_targets: what holds where partitions move to, until 2.3; else a dict. Kafka's is in the context.
        handlers: what is told which nodes' changes are events.
    """

    change_by_change: bool = False
    """An event stops at each change that is over, too, if more is to be done. It waits for no request then."""

    def __init__(
        self,
        partition_state_machine: PartitionStateMachine,
        replica_state_machine: ReplicaStateMachine,
        batch: ControllerBrokerRequestBatch,
        channels: BrokerChannels | None = None,
        put: Callable[[Call], object] = lambda event: None,
        delete_topic_enable: bool = True,
        reassignment_targets: MutableMapping[TopicPartition, tuple[BrokerId, ...]] | None = None,
        handlers: ChangeHandlers | None = None,
    ) -> None:
        self.partition_state_machine = partition_state_machine
        self.replica_state_machine = replica_state_machine
        self.context: ControllerContext = partition_state_machine.context
        self.design: ControlDesign = partition_state_machine.design
        self.batch = batch
        self.channels: BrokerChannels = NoChannels() if channels is None else channels
        self.put = put
        self.handlers: ChangeHandlers = NoHandlers() if handlers is None else handlers
        self.delete_topic_enable = delete_topic_enable
        self.reassignment_targets: MutableMapping[TopicPartition, tuple[BrokerId, ...]] = (
            {} if reassignment_targets is None else reassignment_targets
        )

    # The driver.

    def process(self, event: Call) -> Processing | Processed:
        """Process an event: make the call of its handler, and those that follow, up to the first that waits.

        Raises:
            ValueError: there is no such handler; or it is one of what no controller is asked. Nothing has changed.
        """
        if not callable(getattr(self, event.method, None)):
            raise ValueError(f"{event.method}: a controller has no such method")
        return self._go_on((event,), None, moves=False)

    def requests(self, processing: Processing) -> tuple[ZkRequest, ...]:
        """The batch of requests that is waited for, fenced where that is done; none if a change is over."""
        what = processing.awaits.what
        if isinstance(what, Handled):
            return ()
        machine = self.machine_of(what)
        if machine is not None:
            return machine.requests(what)
        assert isinstance(what, ZkRequests)
        if not self._is_fenced(what):
            return what.requests
        writes = (request for request in what.requests if not isinstance(request, READS))
        return fenced(writes, self.context.state.epoch_zk_version)

    def answered(self, processing: Processing, responses: Sequence[ZkResponse]) -> Processing | Processed:
        """What the answers lead to, one for each request and in their order.

        Raises:
            ValueError: these are not as many as the requests.
        """
        what, rest = processing.awaits.what, processing.calls
        machine = self.machine_of(what)
        step: Calls
        if isinstance(what, Handled):
            if responses:
                raise ValueError(f"no requests have {len(responses)} answers")
            step = self._what_follows(processing.awaits)
        elif machine is not None:
            step = (Await(machine.answered(what, responses), processing.awaits.then),)
        else:
            assert isinstance(what, ZkRequests)
            if len(responses) != len(what.requests):
                raise ValueError(f"{len(what.requests)} requests have {len(responses)} answers")
            step = self._of_zookeeper(what, processing.awaits.then, responses)
        return self._go_on((*step, *rest), processing.answer, processing.moves)

    def go_on(self, processing: Processing) -> Processing | Processed:
        """Go on with what is left of an event, where the change that was waited for is over by now."""
        if self._is_stop(processing.awaits, processing.calls):
            return processing  # as it is: which calls are left makes no difference
        return self._go_on((processing.awaits, *processing.calls), processing.answer, processing.moves)

    def machine_of(self, what: Any) -> StateMachine[Any, Any] | None:
        """The machine whose change waits; None: it is no change, or waits no more."""
        if isinstance(what, PartitionStateChange):
            return self.partition_state_machine
        if isinstance(what, ReplicaStateChange):
            return self.replica_state_machine
        return None

    def fail(self, cause: EventFailure | Code) -> None:
        """A failure goes on."""
        raise EventFailed(cause)

    def _of_zookeeper(self, asked: ZkRequests, following: Call | None, responses: Sequence[ZkResponse]) -> Calls:
        try:
            answers = unwrapped(responses) if self._is_fenced(asked) else tuple(responses)
        except ControllerMoved:
            return (call(self.fail, EventFailure.ControllerMoved),)
        except RequestFailed as failed:
            return (call(self.fail, failed.code),)
        return () if following is None else (following.given(answers),)

    def _is_fenced(self, asked: ZkRequests) -> bool:
        return self.design.fence_zk and not isinstance(asked.requests[0], READS)

    def _go_on(self, calls: Calls, answer: Any, moves: bool) -> Processing | Processed:
        """Make these calls, one after the other, up to the first that waits."""
        while calls:
            first, rest = calls[0], calls[1:]
            step: Calls = ()
            try:
                if isinstance(first, Callback):
                    answer = first.answer
                elif isinstance(first, Call):
                    step = self._make(first)
                elif self._is_stop(first, rest):
                    return Processing(first, rest, answer, moves)
                elif self._is_over(first):
                    step = self._what_follows(first)
                elif moves and self._is_refused(first):
                    raise EventFailed(EventFailure.ControllerMoved)
                else:
                    return Processing(first, rest, answer, moves)
                calls = (*step, *rest)
            except EventFailed as failed:
                moves = moves or failed.cause is EventFailure.IllegalState
                calls = self._unwound(rest, failed.cause)
                if not calls:
                    return Processed(answer, failed.cause, moves)
        return Processed(answer, None, moves)

    def _make(self, made: Call) -> Calls:
        if made.made is InCase.CaughtFailure:
            made = made.given(None)
        return getattr(self, made.method)(*made.arguments) or ()

    def _is_over(self, awaits: Await) -> bool:
        """Whether there is nothing to wait for: a change is over, or no request is to be made."""
        if isinstance(awaits.what, ZkRequests):
            return not awaits.what.requests
        return self.machine_of(awaits.what) is None

    def _is_stop(self, awaits: Await, rest: Calls) -> bool:
        """Whether the event stops at a change that is over, since more is to be done."""
        if not self.change_by_change or not isinstance(awaits.what, Handled) or awaits.what.controller_moved:
            return False
        return awaits.then is not None or bool(rest)

    def _is_refused(self, awaits: Await) -> bool:
        """Whether a controller that has had another one elected would be refused: it has no epoch for its fences."""
        is_read = isinstance(awaits.what, ZkRequests) and isinstance(awaits.what.requests[0], READS)
        return self.design.fence_zk and not is_read

    def _what_follows(self, awaits: Await) -> Calls:
        results: Any = awaits.what
        if isinstance(awaits.what, ZkRequests):
            results = ()
        elif isinstance(awaits.what, Handled):
            results = awaits.what.results
            if awaits.what.controller_moved:
                raise EventFailed(EventFailure.ControllerMoved)
        return () if awaits.then is None else (awaits.then.given(results),)

    def _unwound(self, calls: Calls, cause: EventFailure | Code) -> Calls:
        """What is made after a failure: the first call that is there for it, and what follows."""
        for at, each in enumerate(calls):
            if isinstance(each, Call) and each.made is InCase.CaughtFailure:
                return (each.given(cause), *calls[at + 1 :])
            if isinstance(each, Call) and each.made is InCase.AnyFailure:
                return (each._replace(made=InCase.Success), call(self.fail, cause), *calls[at + 1 :])
        return ()

    # What handlers have in common.

    def partitions_become(
        self,
        partitions: Sequence[TopicPartition],
        target: PartitionState,
        strategy: PartitionLeaderElectionStrategy | None = None,
        following: Call | None = None,
    ) -> Calls:
        """Partitions change their states [partitionStateMachine.handleStateChanges].

        Args:
            partitions: which.
            target: the state that they are to be in.
            strategy: how leaders are elected, if that is OnlinePartition.
            following: made with what elections come to.
        """
        change = self.partition_state_machine.handle_state_changes(partitions, target, strategy)
        return (Await(change, following),)

    def replicas_become(self, replicas: Sequence[PartitionAndReplica], target: ReplicaState) -> Calls:
        """Replicas change their states [replicaStateMachine.handleStateChanges]."""
        return (Await(self.replica_state_machine.handle_state_changes(replicas, target)),)

    def trigger_online_partition_state_change(self, topic: str | None = None, following: Call | None = None) -> Calls:
        """Every partition that is new or offline is to be online, of one topic or of all."""
        return (Await(self.partition_state_machine.trigger_online_partition_state_change(topic), following),)

    def send_update_metadata_request(
        self, brokers: Sequence[BrokerId], partitions: Sequence[TopicPartition] = ()
    ) -> None:
        """Brokers are told which brokers there are, and of these partitions.

        Until 2.1 no partitions meant all that have had a leader [KAFKA-7537].
        """
        if not partitions and not self.design.metadata_of_given:
            partitions = tuple(self.context.state.partition_leadership_info)
        with_partitions = partitions
        self.in_a_batch(lambda: self.batch.add_update_metadata_request_for_brokers(brokers, with_partitions))

    def in_a_batch(self, add: Callable[[], object]) -> None:
        """Requests to brokers are added to a batch of their own, and sent.

        Raises:
            EventFailed: the batch was not empty, or a request could not be sent. What is in it is forgotten, and
                another controller is to be elected [handleIllegalState].
        """
        try:
            self.batch.new_batch()
            add()
            self.batch.send_requests_to_brokers(self.context.state.epoch)
        except (BatchNotEmpty, RequestsNotSent) as error:
            self.batch.clear()
            raise EventFailed(EventFailure.IllegalState) from error

    def all_brokers(self) -> tuple[BrokerId, ...]:
        """Those that are told everything: registered, and perhaps shutting down [liveOrShuttingDownBrokerIds]."""
        return self.context.live_or_shutting_down_broker_ids()

    def leadership_of(self, partition: TopicPartition) -> LeaderIsrAndControllerEpoch:
        """The leader and ISR of a partition [partitionLeadershipInfo(partition).get].

        Raises:
            EventFailed: it never had one.
        """
        known = self.context.leadership_of(partition)
        if known is None:
            raise EventFailed(EventFailure.NeverLed)
        return known
