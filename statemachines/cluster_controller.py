"""The controller on one broker of a cluster in memory: it registers, is elected, resigns, and is driven step by step.

Everything that a `Cluster` knows of electing a controller is here. The election is a simple one: where /controller
is not there, the registered broker with the lowest id creates it, unless another is to come first. How brokers race
for it, release by release, is `kafka_controller`'s. What the active controller does is `ControllerEventProcessor`'s.

A step takes the next event from the queue, or makes the next batch of requests of the event that is in process. The
watches of the broker's session put events into the queue, as do brokers and administrators (`put`). That another
broker is controller comes through the queue as well: until then this one goes on, and its writes are refused.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from election.ids import BrokerEpoch, BrokerId
from statemachines.cluster_history import Effect, Elected, Failed, Sent
from statemachines.control_design import ControlDesign
from statemachines.controller import BROKER_IDS, CONTROLLER, CONTROLLER_EPOCH, registration
from statemachines.controller_calls import Call, EventFailure, Processing, ReleaseChannels, call
from statemachines.controller_channel_manager import ControllerChannelManager
from statemachines.controller_context import ControllerContext
from statemachines.controller_event_processor import ControllerEventProcessor, event_processor
from statemachines.kafka_zk_client import GetData, ZkRequest, retry_requests_until_connected
from statemachines.messages.control_requests import ControlRequest
from statemachines.messages.topic_partition import TopicPartition
from statemachines.state_change import Processed
from statemachines.zk_data import (
    DELETE_TOPICS,
    ISR_CHANGE_NOTIFICATION,
    LOG_DIR_EVENT_NOTIFICATION,
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    TOPICS,
    topic_partition_state_path,
)
from statemachines.zookeeper.server import Event, ZooKeeper
from statemachines.zookeeper.tree import EventType, SessionId, ZkPath

__all__ = ["ClusterController", "ElectionByLowestId"]

Handlers = ControllerEventProcessor
CHILDREN: Final = {
    BROKER_IDS: Handlers.process_broker_change.__name__,
    TOPICS: Handlers.process_topic_change.__name__,
    DELETE_TOPICS: Handlers.process_topic_deletion.__name__,
    LOG_DIR_EVENT_NOTIFICATION: Handlers.process_log_dir_event_notification.__name__,
    ISR_CHANGE_NOTIFICATION: Handlers.process_isr_change_notification.__name__,
}
"""What handles that a node's children have changed."""
NODES: Final = {
    REASSIGN_PARTITIONS: Handlers.process_zk_partition_reassignment.__name__,
    PREFERRED_REPLICA_ELECTION: Handlers.process_replica_leader_election.__name__,
}
"""What handles that a node is created."""
CONTROLLER_CHANGE: Final = Call("maybe_resign")
"""/controller has changed."""


class ElectionByLowestId:
    """Who becomes controller next: the registered broker with the lowest id, unless another is to come first.

    Args:
        zookeeper: the servers.
        first: the broker that is to come first.
    """

    def __init__(self, zookeeper: ZooKeeper, first: BrokerId | None = None) -> None:
        self.zookeeper, self.first = zookeeper, first

    @property
    def candidate(self) -> BrokerId | None:
        """The next controller; None: there is a controller, or no broker."""
        if CONTROLLER in self.zookeeper.state.nodes:
            return None
        registered = set(map(int, self.zookeeper.children(None, BROKER_IDS)[0]))
        return self.first if self.first in registered else min(registered, default=None)


class Queued(NamedTuple):
    """An event in the queue, and who is told the answer."""

    event: Call
    reply: Callable[[Any], object]


class ClusterController:
    """The controller on one broker, which is active or not.

    Args:
        broker: its id.
        zookeeper: the servers.
        election: says whose turn it is.
        design: that of the release.
        note: what becomes of what it does.
        unclean: asked whether unclean elections are permitted where a topic does not say.
    """

    def __init__(
        self,
        broker: BrokerId,
        zookeeper: ZooKeeper,
        election: ElectionByLowestId,
        design: ControlDesign,
        note: Callable[[Effect], object],
        unclean: Callable[[], bool],
    ) -> None:
        self.broker, self.zookeeper, self.design = broker, zookeeper, design
        self.session: SessionId = (broker, 0)
        self.broker_epoch: BrokerEpoch = 0
        """That of its registration, as far as the broker knows."""
        self.is_active = False
        """Whether the broker takes itself for the controller."""
        self._election, self._note, self._unclean = election, note, unclean
        self._queue: deque[Queued] = deque()
        self._current: Queued | None = None
        self._processing: Processing | None = None
        self._isrs: dict[ZkPath, TopicPartition] = {}
        """The states of partitions of which a change is an event [until 2.6]."""
        self._become(ControllerContext())

    def _become(self, context: ControllerContext) -> None:
        """A controller that knows this, and has no channel."""
        self.context = context
        self.channels = ControllerChannelManager(context, design=self.design)
        self._processor = event_processor(
            self.broker,
            self._send,
            context,
            self.design,
            ReleaseChannels(self.channels, self.design),
            self.put,
            self._note,
        )
        vars(self._processor).update(watch_isr=self._watch_isr, unwatch_isr=self._unwatch_isr)

    # The broker starts and ends.

    def startup(self) -> None:
        """The broker opens a session and registers."""
        _, number = self.session
        self.session = (self.broker, number + 1)
        self.zookeeper.connect(self.session)
        created = self.zookeeper.create(self.session, registration(self.broker), self.broker, ephemeral=True)
        self.broker_epoch = created.stat.czxid

    def shutdown(self) -> None:
        """The broker ends, and with it its session."""
        self._resign()
        if self.has_session:
            self.zookeeper.close(self.session)

    @property
    def has_session(self) -> bool:
        """Whether its session is live."""
        return self.session in self.zookeeper.state.sessions

    # Its steps.

    def put(self, event: Call, reply: Callable[[Any], object] = lambda answer: None) -> None:
        """Put an event into the queue.

        Args:
            event: the call of its handler.
            reply: told the answer, once; None: there is none, for the broker is not controller, or not any more.
        """
        if self.is_active:
            self._queue.append(Queued(event, reply))
        else:
            reply(None)

    @property
    def next_event(self) -> str:
        """What its next step is about; empty: there is none."""
        if not self.has_session:
            return "register anew"
        if self._current is not None:
            return self._current.event.method
        told = self.zookeeper.state.events[self.session]
        if told:
            return f"{told[0].type.name} {told[0].path}"
        if self._queue:
            return self._queue[0].event.method
        return "elect" if self._election.candidate == self.broker else ""

    @property
    def has_work(self) -> bool:
        """Whether there is a step."""
        return bool(self.next_event)

    def step(self) -> None:
        """Do one step: go on with the event in process, take the next one, or be elected."""
        if not self.has_session:
            self._resign()
            self.startup()
            return
        self._hear()
        if self._processing is not None:
            requests = tuple(map(self._watched, self._processor.requests(self._processing)))
            responses = retry_requests_until_connected(self.zookeeper, self.session, requests)
            self._went_on(self._processor.answered(self._processing, responses))
        elif self._queue:
            self._process(self._queue.popleft())
        elif self._election.candidate == self.broker:
            self._elect()

    def _process(self, queued: Queued) -> None:
        if queued.event != CONTROLLER_CHANGE:
            self._current = queued
            self._went_on(self._processor.process(queued.event))
        elif not self._is_elected:
            self._resign()

    def _went_on(self, outcome: Processing | Processed) -> None:
        assert self._current is not None
        event, reply = self._current
        if outcome.answer is not None:  # it goes out first, even if there is more to be done
            reply(outcome.answer)
            self._current = Queued(event, lambda answer: None)
        if isinstance(outcome, Processing):
            self._processing = outcome
            return
        self._current.reply(None)
        self._current = self._processing = None
        if outcome.failure is not None:
            self._note(Failed(f"{event.method} was cut short: {outcome.failure}"))
        took_over = event.method == Handlers.on_controller_failover.__name__
        if outcome.failure is EventFailure.ControllerMoved:
            self._resign()
        elif outcome.moves or (took_over and outcome.failure is not None):
            self._trigger_controller_move()

    # Who is controller.

    def _elect(self) -> None:
        epoch = self.zookeeper.get(None, CONTROLLER_EPOCH)[0] + 1
        self.zookeeper.create(self.session, CONTROLLER, self.broker, ephemeral=True)
        version = self.zookeeper.set(self.session, CONTROLLER_EPOCH, epoch).version
        self.zookeeper.exists(self.session, CONTROLLER, watch=True)
        context = ControllerContext()
        context.state.epoch, context.state.epoch_zk_version = epoch, version
        self._become(context)
        for machine in (self._processor.partition_state_machine, self._processor.replica_state_machine):
            machine.unclean_leader_election_enable = self._unclean()
        self.is_active, self._election.first = True, None
        self._note(Elected(self.broker, epoch))
        self._process(Queued(call(self._processor.on_controller_failover), lambda answer: None))

    def _resign(self) -> None:
        """What it knows, and what waits, is gone; who asked gets no answer."""
        waiting = (*([self._current] if self._current else ()), *self._queue)
        self.is_active, self._current, self._processing = False, None, None
        self._queue.clear()
        self._isrs.clear()
        self.channels.shutdown()
        self._become(ControllerContext())
        for each in waiting:
            each.reply(None)

    def _trigger_controller_move(self) -> None:
        self._resign()
        if self._is_elected:
            self.zookeeper.delete(self.session, CONTROLLER)

    @property
    def _is_elected(self) -> bool:
        node = self.zookeeper.state.nodes.get(CONTROLLER)
        return node is not None and node.owner == self.session

    # What it is told.

    def enable_unclean_leader_election(self) -> None:
        """The default has changed: unclean elections are permitted where a topic does not say."""
        for machine in (self._processor.partition_state_machine, self._processor.replica_state_machine):
            machine.unclean_leader_election_enable = True
        self.put(call(self._processor.process_unclean_leader_election_enable))

    def _hear(self) -> None:
        """Watches have told something."""
        while (told := self.zookeeper.take(self.session)) is not None:
            event = self._event_of(told)
            if event is not None:
                self.put(event)

    def _event_of(self, told: Event) -> Call | None:
        changed = told.type is EventType.NodeDataChanged
        if told.path == CONTROLLER:
            return CONTROLLER_CHANGE
        if told.type is EventType.NodeChildrenChanged and told.path in CHILDREN:
            return Call(CHILDREN[told.path])
        if told.path in NODES and (
            told.type is EventType.NodeCreated or (changed and self.design.reread_reassignment)
        ):
            return Call(NODES[told.path])
        if changed and told.path in self._isrs:
            return call(self._processor.process_partition_reassignment_isr_change, self._isrs[told.path])
        topic = told.path.removeprefix(f"{TOPICS}/")
        if changed and topic in self.context.state.all_topics:
            return call(self._processor.process_partition_modifications, topic)
        return None

    def _watch_isr(self, partition: TopicPartition) -> None:
        if not self.design.alter_partition:
            self._isrs[topic_partition_state_path(partition)] = partition

    def _watched(self, request: ZkRequest) -> ZkRequest:
        """The request with a watch, if a change of what it reads is an event [shouldWatch]."""
        if isinstance(request, GetData) and request.path in self._isrs:
            return request._replace(watch=True)
        return request

    def _unwatch_isr(self, partition: TopicPartition) -> None:
        self._isrs.pop(topic_partition_state_path(partition), None)

    def _send(self, broker: BrokerId, request: ControlRequest) -> None:
        self._note(Sent(broker, request))
        self.channels.send_request(broker, request)
