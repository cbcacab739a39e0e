"""EventDriver: how a controller processes an event, call by call, and what its handlers have in common.

What is left of an event is a value of `calls`. A controller is given what it works with, as Kafka's is: its two
state machines, a batch of requests to brokers, and a `zk_client`, through which its handlers ask ZooKeeper. The
requests of the default client are waited for. Another may answer at once, from a dict or from the variables of a
specification.

[process in KafkaController.scala, 3.9]
"""

from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, ClassVar, Protocol

from election.ids import BrokerId
from statemachines.controller.calls import (
    Await,
    Call,
    Callback,
    Calls,
    EventFailed,
    EventFailure,
    EventWaiting,
    Frame,
    RunsAfter,
    StackFrames,
    ZkRequests,
    call,
)
from statemachines.controller.context import ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.kafka_zk_client import (
    READS,
    ControllerMoved,
    RequestFailed,
    ZkRequest,
    ZkResponse,
    fenced,
    unwrapped,
)
from statemachines.controller.partition_state_machine import (
    PartitionLeaderElectionStrategy,
    PartitionStateChange,
    PartitionStateMachine,
)
from statemachines.controller.rebalance_timer import RebalanceTimer
from statemachines.controller.replica_state_machine import ReplicaStateChange, ReplicaStateMachine
from statemachines.controller.request_batch import BatchNotEmpty, ControllerBrokerRequestBatch, RequestsNotSent
from statemachines.controller.state_change import ChangeDone, EventDone, StateMachine
from statemachines.controller.zk_client import ControllerZkClient
from statemachines.messages.leader_and_isr import LeaderIsrAndControllerEpoch
from statemachines.messages.topic_partition import PartitionAndReplica, TopicName, TopicPartition
from statemachines.tables.partition import PartitionState
from statemachines.tables.replica import ReplicaState
from statemachines.zookeeper.tree import Code, ZkPath

__all__ = ["BrokerChannels", "ChangeHandlers", "EventDriver", "ReleaseChannels"]


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


class EventDriver:
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
        zk_client: what its handlers ask ZooKeeper through, over the same context; else one whose requests are waited
            for.
        change_by_change: an event stops at each change that is over, too, if more is to be done. It waits for no
            request then.
        handlers: what is told which nodes' changes are events.
    """

    def __init__(
        self,
        partition_state_machine: PartitionStateMachine,
        replica_state_machine: ReplicaStateMachine,
        batch: ControllerBrokerRequestBatch,
        channels: BrokerChannels | None = None,
        put: Callable[[Call], object] = lambda event: None,
        delete_topic_enable: bool = True,
        reassignment_targets: MutableMapping[TopicPartition, tuple[BrokerId, ...]] | None = None,
        zk_client: ControllerZkClient | None = None,
        handlers: ChangeHandlers | None = None,
        change_by_change: bool = False,
    ) -> None:
        self.partition_state_machine = partition_state_machine
        self.replica_state_machine = replica_state_machine
        self.context: ControllerContext = partition_state_machine.context
        self.design: ControlDesign = partition_state_machine.design
        self.batch = batch
        self.channels: BrokerChannels = NoChannels() if channels is None else channels
        self.has_channels = False
        """Whether a failover has opened them since it was made, or resigned."""
        self.put = put
        self.handlers: ChangeHandlers = NoHandlers() if handlers is None else handlers
        self.delete_topic_enable = delete_topic_enable
        self.reassignment_targets: MutableMapping[TopicPartition, tuple[BrokerId, ...]] = (
            {} if reassignment_targets is None else reassignment_targets
        )
        self.zk_client = ControllerZkClient(self.context) if zk_client is None else zk_client
        self.change_by_change = change_by_change
        self.rebalance_timer = RebalanceTimer(enabled=False)
        """When it looks by itself whether preferred replicas lead."""

    STACK_FRAMES: ClassVar[StackFrames] = ()
    """What may be left of the events of this part of a controller, where a change waits, or is over."""
    RESUME_FRAMES: ClassVar[tuple[Frame, ...]] = ()
    """What may be made with what the change comes to."""

    # The driver.

    def process(self, event: Call) -> EventWaiting | EventDone:
        """Process an event: make the call of its handler, and those that follow, up to the first that waits.

        Raises:
            ValueError: there is no such handler; or it is one of what no controller is asked. Nothing has changed.
        """
        if not callable(getattr(self, event.method, None)):
            raise ValueError(f"{event.method}: a controller has no such method")
        return self._go_on((event,), None, must_reelect=False)

    def requests(self, processing: EventWaiting) -> tuple[ZkRequest, ...]:
        """The batch of requests that is waited for, fenced where that is done; none if a change is over."""
        what = processing.awaits.what
        if isinstance(what, ChangeDone):
            return ()
        machine = self.machine_of(what)
        if machine is not None:
            return machine.requests(what)
        assert isinstance(what, ZkRequests)
        if not self._is_fenced(what):
            return what.requests
        writes = (request for request in what.requests if not isinstance(request, READS))
        return fenced(writes, self.context.state.epoch_zk_version)

    def answered(self, processing: EventWaiting, responses: Sequence[ZkResponse]) -> EventWaiting | EventDone:
        """What the answers lead to, one for each request and in their order.

        Raises:
            ValueError: these are not as many as the requests.
        """
        what, rest = processing.awaits.what, processing.calls
        machine = self.machine_of(what)
        step: Calls
        if isinstance(what, ChangeDone):
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
        return self._go_on((*step, *rest), processing.answer, processing.must_reelect)

    def advance(self, processing: EventWaiting) -> EventWaiting | EventDone:
        """Go on with what is left of an event, where the change that was waited for is over by now."""
        if self._is_stop(processing.awaits, processing.calls):
            return processing  # as it is: which calls are left makes no difference
        return self._go_on((processing.awaits, *processing.calls), processing.answer, processing.must_reelect)

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
        return () if following is None else (following.with_answer(answers),)

    def _is_fenced(self, asked: ZkRequests) -> bool:
        return self.design.fence_zk and not isinstance(asked.requests[0], READS)

    def _go_on(self, calls: Calls, answer: Any, must_reelect: bool) -> EventWaiting | EventDone:
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
                    return EventWaiting(first, rest, answer, must_reelect)
                elif self._is_over(first):
                    step = self._what_follows(first)
                elif must_reelect and self._is_refused(first):
                    raise EventFailed(EventFailure.ControllerMoved)
                else:
                    return EventWaiting(first, rest, answer, must_reelect)
                calls = (*step, *rest)
            except EventFailed as failed:
                must_reelect = must_reelect or failed.cause is EventFailure.IllegalState
                calls = self._unwound(rest, failed.cause)
                if not calls:
                    return EventDone(answer, failed.cause, must_reelect)
        return EventDone(answer, None, must_reelect)

    def _make(self, made: Call) -> Calls:
        if made.runs_after is RunsAfter.CaughtFailure:
            made = made.with_answer(None)
        # No name is a method of both.
        of = self if hasattr(self, made.method) else self.zk_client
        return getattr(of, made.method)(*made.arguments) or ()

    def _is_over(self, awaits: Await) -> bool:
        """Whether there is nothing to wait for: a change is over, or no request is to be made."""
        if isinstance(awaits.what, ZkRequests):
            return not awaits.what.requests
        return self.machine_of(awaits.what) is None

    def _is_stop(self, awaits: Await, rest: Calls) -> bool:
        """Whether the event stops at a change that is over, since more is to be done."""
        if not self.change_by_change or not isinstance(awaits.what, ChangeDone) or awaits.what.controller_moved:
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
        elif isinstance(awaits.what, ChangeDone):
            results = awaits.what.results
            if awaits.what.controller_moved:
                raise EventFailed(EventFailure.ControllerMoved)
        return () if awaits.then is None else (awaits.then.with_answer(results),)

    def _unwound(self, calls: Calls, cause: EventFailure | Code) -> Calls:
        """What is made after a failure: the first call that is there for it, and what follows."""
        for at, each in enumerate(calls):
            if isinstance(each, Call) and each.runs_after is RunsAfter.CaughtFailure:
                return (each.with_answer(cause), *calls[at + 1 :])
            if isinstance(each, Call) and each.runs_after is RunsAfter.AnyFailure:
                return (each._replace(runs_after=RunsAfter.Success), call(self.fail, cause), *calls[at + 1 :])
        return ()

    # What handlers have in common.

    def partitions_become(
        self,
        partitions: Sequence[TopicPartition],
        target: PartitionState,
        strategy: PartitionLeaderElectionStrategy | None = None,
        following: Call | None = None,
    ) -> Calls:
        """Partitions change their states, if there are any [partitionStateMachine.handleStateChanges].

        Args:
            partitions: which.
            target: the state that they are to be in.
            strategy: how leaders are elected, if that is OnlinePartition.
            following: made with what elections come to.
        """
        if not partitions and following is None:
            return ()
        change = self.partition_state_machine.handle_state_changes(partitions, target, strategy)
        return (Await(change, following),)

    def replicas_become(self, replicas: Sequence[PartitionAndReplica], target: ReplicaState) -> Calls:
        """Replicas change their states, if there are any [replicaStateMachine.handleStateChanges]."""
        return (Await(self.replica_state_machine.handle_state_changes(replicas, target)),) if replicas else ()

    def trigger_online_partition_state_change(self, topic: str | None = None, following: Call | None = None) -> Calls:
        """Every partition that is new or offline is to be online, of one topic or of all."""
        return (Await(self.partition_state_machine.trigger_online_partition_state_change(topic), following),)

    def send_update_metadata_request(
        self, brokers: Sequence[BrokerId], partitions: Sequence[TopicPartition] = ()
    ) -> None:
        """Brokers are told which brokers there are, and of these partitions.

        Until 2.1 no partitions meant all that have had a leader [KAFKA-7537].
        """
        if not partitions and not self.design.brokers_only_metadata:
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
