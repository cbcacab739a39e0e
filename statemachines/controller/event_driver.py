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
from statemachines.controller.alter_partition import AlterPartitionProcessor
from statemachines.controller.calls import (
    Await,
    Call,
    Callback,
    Calls,
    EventFailed,
    EventFailure,
    EventWaiting,
    Result,
    RunsAfter,
    call,
)
from statemachines.controller.context import ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.partition_state_machine import PartitionLeaderElectionStrategy, PartitionStateMachine
from statemachines.controller.rebalance_timer import RebalanceTimer
from statemachines.controller.replica_state_machine import ReplicaStateMachine
from statemachines.controller.request_batch import BatchNotEmpty, ControllerBrokerRequestBatch, RequestsNotSent
from statemachines.controller.state_change import ChangeDone, EventDone
from statemachines.controller.zk_client import ControllerZkClient
from statemachines.controller.zk_requests import (
    READS,
    ControllerMoved,
    RequestFailed,
    StateRequests,
    ZkRequest,
    ZkRequests,
    ZkResponse,
    fenced,
    retry_requests_until_connected,
    unwrapped,
)
from statemachines.messages.leader_and_isr import LeaderIsrAndControllerEpoch
from statemachines.messages.topic_partition import PartitionAndReplica, TopicName, TopicPartition
from statemachines.messages.zk_data import topic_partition_state_path
from statemachines.tables.partition import PartitionState
from statemachines.tables.replica import ReplicaState
from statemachines.zookeeper.server import ZooKeeper
from statemachines.zookeeper.tree import Code, SessionId, ZkPath


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


class ChangeHandlers:
    """The nodes whose changes are events to a controller [ZNodeChangeHandler]. `RegisteredHandlers` has the events.

    Args:
        are_listeners: whether listeners of ZkClient take the place of handlers.
    """

    def __init__(self, are_listeners: bool = False) -> None:
        self.are_listeners = are_listeners
        self.registered: set[ZkPath] = set()
        """The nodes with a handler of changes of their children, or of their creation."""
        self.muted: set[TopicName] = set()
        """The topics about to be deleted, changes of whose nodes are ignored; other known topics have a handler."""
        self.isrs: dict[ZkPath, tuple[TopicPartition, tuple[BrokerId, ...]]] = {}
        """Until 2.6, the states with a handler: those of partitions that move. Until 1.0 an event holds the brokers
        to which its partition moves. [PartitionReassignmentIsrChangeListener]"""

    def watch_isr(self, partition: TopicPartition, target: tuple[BrokerId, ...] = ()) -> None:
        """Watch the state of a partition that moves, whose leader writes its ISR itself."""
        self.isrs[topic_partition_state_path(partition)] = (partition, target)

    def unwatch_isr(self, partition: TopicPartition) -> None:
        """Stop watching: the partition no longer moves."""
        self.isrs.pop(topic_partition_state_path(partition), None)


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

    `process` an event, and answer its `requests`; `carry_out` does both.

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
        self.handlers = ChangeHandlers() if handlers is None else handlers
        self.delete_topic_enable = delete_topic_enable
        self.reassignment_targets: MutableMapping[TopicPartition, tuple[BrokerId, ...]] = (
            {} if reassignment_targets is None else reassignment_targets
        )
        self.zk_client = ControllerZkClient(self.context) if zk_client is None else zk_client
        self.change_by_change = change_by_change
        self.alter_partition_processor = AlterPartitionProcessor(
            self.context, batch, self.design, partition_state_machine.log
        )
        self._callees = (
            self,
            self.zk_client,
            partition_state_machine,
            replica_state_machine,
            self.alter_partition_processor,
        )
        """The objects whose methods are called by name; the first that has one. They stay the same objects."""
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
        return self.go_on(EventWaiting(calls=(event,)))

    def requests(self, awaits: Await | None) -> tuple[ZkRequest, ...]:
        """The pending batch of requests, fenced where necessary; empty after a completed change."""
        if awaits is None:
            return ()
        requests = awaits.what.requests_of(self.context.state.epoch)
        if not self._is_fenced(awaits):
            return requests
        writes = (request for request in requests if not isinstance(request, READS))
        return fenced(writes, self.context.state.epoch_zk_version)

    def answered(self, processing: EventWaiting, responses: Sequence[ZkResponse]) -> EventWaiting | EventDone:
        """Process the responses, one for each request and in their order.

        Raises:
            ValueError: the number of responses differs from that of the requests.
        """
        requests = self.requests(processing.awaits)
        if len(responses) != len(requests):
            raise ValueError(f"{len(requests)} requests have {len(responses)} answers")
        following = () if processing.awaits is None else self.follow(processing.awaits, responses)
        return self.go_on(processing._replace(awaits=None, calls=(*following, *processing.calls)))

    def follow(self, awaits: Await, responses: Sequence[ZkResponse]) -> Calls:
        """Make the call that takes the responses to a batch; the calls that it returns come before all others."""
        answers: tuple[Any, ...] = tuple(responses)
        try:
            if self._is_fenced(awaits):
                answers = unwrapped(responses)
        except ControllerMoved:
            return (call(self.fail, EventFailure.ControllerMoved),)
        except RequestFailed as failed:
            if isinstance(awaits.what, ZkRequests):
                return (call(self.fail, failed.code),)
            answers = (ZkResponse(failed.code, results=(failed.code,)),) * len(responses)
        if isinstance(awaits.what, StateRequests):
            answers = tuple(zip(awaits.what.about, answers, strict=True))
        if awaits.then is None:
            return (Result(answers),)
        try:
            return self._make(awaits.then.with_answer(answers))
        except EventFailed as failed:
            return (call(self.fail, failed.cause),)

    def go_on(self, processing: EventWaiting) -> EventWaiting | EventDone:
        """Make the calls of an event, in order, up to the first that waits. What it has waited for is over."""
        calls, answer, must_reelect = processing.calls, processing.answer, processing.must_reelect
        while calls:
            first, rest = calls[0], calls[1:]
            try:
                if isinstance(first, Call):
                    calls = (*self._make(first), *rest)
                elif isinstance(first, Callback):
                    answer, calls = first.answer, rest
                elif isinstance(first, Result):
                    calls = _handed_on(first.value, rest)
                elif isinstance(first, ChangeDone):
                    calls = _handed_on(first.results, rest)
                    if self.change_by_change and calls:
                        return EventWaiting(None, calls, answer, must_reelect)
                elif first.what == ZkRequests(()):
                    calls = (*self.follow(first, ()), *rest)
                elif must_reelect and self._is_fenced(first):
                    raise EventFailed(EventFailure.ControllerMoved)
                else:
                    return EventWaiting(first, rest, answer, must_reelect)
            except EventFailed as failed:
                must_reelect = must_reelect or failed.cause is EventFailure.IllegalState
                calls = self._unwound(rest, failed.cause)
                if not calls:
                    return EventDone(answer, failed.cause, must_reelect)
        return EventDone(answer, None, must_reelect)

    def fail(self, cause: EventFailure | Code) -> None:
        """Raise a failure again."""
        raise EventFailed(cause)

    def _make(self, made: Call) -> Calls:
        if made.runs_after is RunsAfter.CaughtFailure:  # and there is none
            made = made.with_answer(None)
        assert made.runs_after not in (RunsAfter.Result, RunsAfter.Either), f"{made} follows nothing with a result"
        of = next(each for each in self._callees if hasattr(each, made.method))
        return getattr(of, made.method)(*made.arguments) or ()

    def _is_fenced(self, awaits: Await) -> bool:
        """Whether these are writes that check the controller's epoch, as all do since 2.1."""
        return self.design.fence_zk and awaits.what.writes

    def _unwound(self, calls: Calls, cause: EventFailure | Code) -> Calls:
        """The calls after a failure: the first one that handles it, and those that follow."""
        for at, each in enumerate(calls):
            if isinstance(each, Call) and each.runs_after in (RunsAfter.CaughtFailure, RunsAfter.Either):
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
    ) -> Calls:
        """Change the states of partitions, if there are any [partitionStateMachine.handleStateChanges].

        The results are those of elections, for which OnlinePartition needs a strategy.
        """
        return self.partition_state_machine.handle_state_changes(partitions, target, strategy) if partitions else ()

    def replicas_become(self, replicas: Sequence[PartitionAndReplica], target: ReplicaState) -> Calls:
        """Change the states of replicas, if there are any [replicaStateMachine.handleStateChanges]."""
        return self.replica_state_machine.handle_state_changes(replicas, target) if replicas else ()

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


def _handed_on(result: Any, calls: Calls) -> Calls:
    """The calls, of which the first takes this result if it takes any."""
    first = calls[0] if calls else None
    if isinstance(first, Call) and first.runs_after in (RunsAfter.Result, RunsAfter.Either):
        return (first.with_answer(result), *calls[1:])
    return calls


def carry_out(controller: EventDriver, event: Call, zookeeper: ZooKeeper, session: SessionId) -> EventDone:
    """Process an event to its end, against these servers."""
    step = controller.process(event)
    while isinstance(step, EventWaiting):
        responses = retry_requests_until_connected(zookeeper, session, controller.requests(step.awaits))
        step = controller.answered(step, responses)
    return step
