"""EventDriver: how a controller processes an event, call by call, and helpers that its handlers share.

The remaining processing of an event is a value of `calls`. Like Kafka's, a controller receives its collaborators: its
two state machines, a batch of requests to brokers, and a `zk_client` for its handlers' requests to ZooKeeper. The
driver waits for the requests of the default client. Another client may reply at once, from a dict or from the
variables of a specification.

[process in KafkaController.scala, 3.9]
"""

from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, Protocol

from election.ids import BrokerId
from statemachines.controller.calls import (
    Await,
    Call,
    Callback,
    Calls,
    EventFailed,
    EventFailure,
    EventWaiting,
    RunsAfter,
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


class BrokerChannels(Protocol):
    """The connections to brokers that events open and close [ControllerChannelManager]."""

    def startup(self, brokers: Sequence[BrokerId]) -> object:
        """Open channels to these brokers, when a controller takes over."""

    def shutdown(self) -> object:
        """Close all channels and drop their queues, when it resigns."""

    def add_broker(self, broker: BrokerId) -> object:
        """Open a channel to a broker."""

    def remove_broker(self, broker: BrokerId) -> object:
        """Close a broker's channel and drop its queue."""


class NoChannels:
    """No channels: requests go wherever the batch sends them."""

    def startup(self, brokers: Sequence[BrokerId]) -> None:
        """Do nothing."""

    def shutdown(self) -> None:
        """Do nothing."""

    def add_broker(self, broker: BrokerId) -> None:
        """Do nothing."""

    def remove_broker(self, broker: BrokerId) -> None:
        """Do nothing."""


class ChangeHandlers(Protocol):
    """The changes in ZooKeeper that are events to a controller, as it registers them [ZNodeChangeHandler]."""

    are_listeners: bool
    """Whether listeners of ZkClient take their place, which sets watches again by itself."""

    def register(self, path: ZkPath) -> object:
        """Make changes of the children of this node events."""

    def unregister(self, path: ZkPath) -> object:
        """Ignore these changes, and the creation of the node."""

    def unregister_partition_modifications(self) -> object:
        """Ignore changes of topics' nodes."""

    def unregister_isrs(self) -> object:
        """Ignore changes of partitions' states."""

    def mute_partition_modifications(self, topic: TopicName) -> object:
        """Ignore changes of this topic's node, because the topic is about to be deleted."""

    def watch_isr(self, partition: TopicPartition, target: tuple[BrokerId, ...] = ()) -> object:
        """Until 2.6, make changes of a partition's state events while it moves, until 1.0 to these replicas."""

    def unwatch_isr(self, partition: TopicPartition) -> object:
        """Ignore them again."""


class NoHandlers:
    """No handlers: the driver of the controller decides which changes are events."""

    are_listeners = False

    def register(self, path: ZkPath) -> None:
        """Do nothing."""

    def unregister(self, path: ZkPath) -> None:
        """Do nothing."""

    def unregister_partition_modifications(self) -> None:
        """Do nothing."""

    def unregister_isrs(self) -> None:
        """Do nothing."""

    def mute_partition_modifications(self, topic: TopicName) -> None:
        """Do nothing."""

    def watch_isr(self, partition: TopicPartition, target: tuple[BrokerId, ...] = ()) -> None:
        """Do nothing."""

    def unwatch_isr(self, partition: TopicPartition) -> None:
        """Do nothing."""


class ReleaseChannels:
    """Channels to brokers for as long as a release keeps them: since 2.3 always.

    Until 2.2 each failover created a channel manager, and the next resignation removed it: a controller that
    considers itself active without a failover has none. [ControllerContext.controllerChannelManager, 2.2]

    Args:
        channels: the channels, when they exist.
        design: the design of the release.
    """

    def __init__(self, channels: BrokerChannels, design: ControlDesign) -> None:
        self._channels, self._keeps = channels, design.keep_channels
        self._are_there = design.keep_channels

    def require(self) -> None:
        """Require channels, before a request is sent, or a broker starts or dies.

        Raises:
            EventFailed: there are none.
        """
        if not self._are_there:
            raise EventFailed(EventFailure.NoChannelManager)

    def startup(self, brokers: Sequence[BrokerId]) -> None:
        """Open channels to these brokers, when a controller takes over."""
        self._are_there = True
        self._channels.startup(brokers)

    def shutdown(self) -> None:
        """Close all channels, when it resigns."""
        self._are_there = self._keeps
        self._channels.shutdown()

    def add_broker(self, broker: BrokerId) -> None:
        """Open a channel to a broker."""
        self.require()
        self._channels.add_broker(broker)

    def remove_broker(self, broker: BrokerId) -> None:
        """Close a broker's channel."""
        self.require()
        self._channels.remove_broker(broker)


class EventDriver:
    """A controller that processes events, with the helpers that its handlers share.

    `carry_out` drives it like a state machine: `process` an event, answer its `requests`.

    Args:
        partition_state_machine: the machine of its partitions, whose context and design this uses.
        replica_state_machine: the machine of their replicas, with the same context.
        batch: for requests to brokers without a change of states. Kafka has separate batches for these, for
            partitions and for replicas; here one may serve all, as long as none leaves requests in it.
        channels: the channels to brokers.
        put: puts an event, a `Call` of its handler, into the queue [eventManager.put].
        delete_topic_enable: whether topics can be deleted [delete.topic.enable].
        reassignment_targets: the targets of reassignments, until 2.3; by default a dict. Kafka's are in the context.
        zk_client: the client of its handlers, with the same context; by default one whose requests the driver waits
            for.
        change_by_change: whether an event also stops after each completed change, if more calls remain. It then waits
            for no request.
        handlers: the registry of changes that are events.
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
        """Whether a failover has opened channels since construction or the last resignation."""
        self.elections_in_progress: frozenset[TopicPartition] = frozenset()
        """Until 0.10.2, the partitions of preferred elections that have begun and are not over. No system explores
        them, so they are not in the context, as Kafka's are. [partitionsUndergoingPreferredReplicaElection]"""
        self.put = put
        self.handlers: ChangeHandlers = NoHandlers() if handlers is None else handlers
        self.delete_topic_enable = delete_topic_enable
        self.reassignment_targets: MutableMapping[TopicPartition, tuple[BrokerId, ...]] = (
            {} if reassignment_targets is None else reassignment_targets
        )
        self.zk_client = ControllerZkClient(self.context) if zk_client is None else zk_client
        self.change_by_change = change_by_change
        self.rebalance_timer = RebalanceTimer(enabled=False)
        """The timer of its own checks whether preferred replicas lead."""

    # The driver.

    def process(self, event: Call) -> EventWaiting | EventDone:
        """Process an event: call its handler, and make the calls that follow, up to the first that waits.

        Raises:
            ValueError: there is no such handler, or its arguments are invalid. Nothing has changed.
        """
        if not callable(getattr(self, event.method, None)):
            raise ValueError(f"{event.method}: a controller has no such method")
        return self._go_on((event,), None, must_reelect=False)

    def requests(self, processing: EventWaiting) -> tuple[ZkRequest, ...]:
        """The pending batch of requests, fenced where necessary; empty after a completed change."""
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
        """Process the responses, one for each request and in their order.

        Raises:
            ValueError: the number of responses differs from that of the requests.
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
        """Continue an event whose pending change is complete by now."""
        if self._is_stop(processing.awaits, processing.calls):
            return processing  # unchanged: the remaining calls make no difference
        return self._go_on((processing.awaits, *processing.calls), processing.answer, processing.must_reelect)

    def machine_of(self, what: Any) -> StateMachine[Any, Any] | None:
        """The machine of a pending change; None if this is no change, or no longer pending."""
        if isinstance(what, PartitionStateChange):
            return self.partition_state_machine
        if isinstance(what, ReplicaStateChange):
            return self.replica_state_machine
        return None

    def fail(self, cause: EventFailure | Code) -> None:
        """Raise a failure again."""
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
        """Make these calls, in order, up to the first that waits."""
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
        # No name is a method of both classes.
        of = self if hasattr(self, made.method) else self.zk_client
        return getattr(of, made.method)(*made.arguments) or ()

    def _is_over(self, awaits: Await) -> bool:
        """Whether there is nothing to wait for: the change is complete, or the batch is empty."""
        if isinstance(awaits.what, ZkRequests):
            return not awaits.what.requests
        return self.machine_of(awaits.what) is None

    def _is_stop(self, awaits: Await, rest: Calls) -> bool:
        """Whether the event stops after a completed change, because more calls remain."""
        if not self.change_by_change or not isinstance(awaits.what, ChangeDone) or awaits.what.controller_moved:
            return False
        return awaits.then is not None or bool(rest)

    def _is_refused(self, awaits: Await) -> bool:
        """Whether the writes of a controller that has triggered another election are refused: it has no epoch."""
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
        """The calls after a failure: the first one that handles it, and those that follow."""
        for at, each in enumerate(calls):
            if isinstance(each, Call) and each.runs_after is RunsAfter.CaughtFailure:
                return (each.with_answer(cause), *calls[at + 1 :])
            if isinstance(each, Call) and each.runs_after is RunsAfter.AnyFailure:
                return (each._replace(runs_after=RunsAfter.Success), call(self.fail, cause), *calls[at + 1 :])
        return ()

    # Helpers of handlers.

    def partitions_become(
        self,
        partitions: Sequence[TopicPartition],
        target: PartitionState,
        strategy: PartitionLeaderElectionStrategy | None = None,
        following: Call | None = None,
    ) -> Calls:
        """Change the states of partitions, if there are any [partitionStateMachine.handleStateChanges].

        Args:
            partitions: the partitions.
            target: the new state.
            strategy: the election strategy, if the new state is OnlinePartition.
            following: the call that receives the results of elections.
        """
        if not partitions and following is None:
            return ()
        change = self.partition_state_machine.handle_state_changes(partitions, target, strategy)
        return (Await(change, following),)

    def replicas_become(self, replicas: Sequence[PartitionAndReplica], target: ReplicaState) -> Calls:
        """Change the states of replicas, if there are any [replicaStateMachine.handleStateChanges]."""
        return (Await(self.replica_state_machine.handle_state_changes(replicas, target)),) if replicas else ()

    def trigger_online_partition_state_change(self, topic: str | None = None, following: Call | None = None) -> Calls:
        """Bring every new or offline partition online, of one topic or of all."""
        return (Await(self.partition_state_machine.trigger_online_partition_state_change(topic), following),)

    def send_update_metadata_request(
        self, brokers: Sequence[BrokerId], partitions: Sequence[TopicPartition] = ()
    ) -> None:
        """Send brokers the list of brokers, and the states of these partitions.

        Until 2.1 no partitions meant all that have had a leader [KAFKA-7537].
        """
        if not partitions and not self.design.brokers_only_metadata:
            partitions = tuple(self.context.state.partition_leadership_info)
        with_partitions = partitions
        self.in_a_batch(lambda: self.batch.add_update_metadata_request_for_brokers(brokers, with_partitions))

    def in_a_batch(self, add: Callable[[], object]) -> None:
        """Add requests to an own batch, and send them.

        Raises:
            EventFailed: the batch was not empty, or a request could not be sent. The batch is cleared, and another
                controller must be elected [handleIllegalState].
        """
        try:
            self.batch.new_batch()
            add()
            self.batch.send_requests_to_brokers(self.context.state.epoch)
        except (BatchNotEmpty, RequestsNotSent) as error:
            self.batch.clear()
            raise EventFailed(EventFailure.IllegalState) from error

    def all_brokers(self) -> tuple[BrokerId, ...]:
        """The receivers of all requests: registered brokers, even if shutting down [liveOrShuttingDownBrokerIds]."""
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
