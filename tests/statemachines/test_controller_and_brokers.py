"""The control plane as a whole: a controller, its channels, its brokers, and leaders that change ISRs.

Brokers die, restart, fall behind and catch up; controllers follow each other; replies are lost, and requests of
closed channels arrive late. At rest, every broker must be in the state that the controller has for it.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statemachines.broker.alter_partition_manager import AlterPartitionManager
from statemachines.broker.hosted_partition import CommittedPartitionState, Fetching
from statemachines.broker.kafka_apis import KafkaApis
from statemachines.broker.metadata_cache import InMemoryMetadata, MetadataCache
from statemachines.broker.replica_manager import ReplicaManager
from statemachines.controller.channel_manager import ControllerChannelManager, Delivery
from statemachines.controller.context import ControllerContext
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.controller.event_processor import ControllerEventProcessor, event_of
from statemachines.messages.control_requests import ControlRequest
from tests.statemachines.control import T0, T1
from tests.statemachines.processing import EventCluster

BROKERS = (1, 2, 3)
PARTITIONS = (T0, T1)


class Broker:
    """A broker's process, which may be down."""

    def __init__(self, broker: int, apis: type[KafkaApis]) -> None:
        self.cache = MetadataCache()
        self.replicas = ReplicaManager(broker, self.cache)
        self.epoch = 0
        self.apis = apis(self.replicas, lambda: self.epoch)
        self.start(0)

    def start(self, epoch: int) -> None:
        """Start, registered under this epoch, with the logs as only knowledge."""
        self.epoch, self.up = epoch, True
        self.cache.state = InMemoryMetadata()
        self.replicas.restart()
        self.isr_changes = AlterPartitionManager(self.replicas, lambda: epoch)


class RememberingChannels(ControllerChannelManager):
    """Channels that remember their request in flight when they end: the network may still deliver it."""

    def __init__(self, context: ControllerContext, late: list[tuple[int, ControlRequest]]) -> None:
        super().__init__(context)
        self.late = late

    def remove_broker(self, broker: int) -> ControlRequest | None:
        request = super().remove_broker(broker)
        if request is not None:
            self.late.append((broker, request))
        return request


class StateMachinesBeside(EventCluster):
    """Three brokers, two partitions of three replicas, and a controller on none of these brokers."""

    def __init__(self, apis: type[KafkaApis] = KafkaApis) -> None:
        self.late: list[tuple[int, ControlRequest]] = []
        self.brokers = {broker: Broker(broker, apis) for broker in BROKERS}
        super().__init__(BROKERS)
        self.create_topic("t", (1, 2, 3), (2, 3, 1))
        assert self.take_over().failure is None

    def made(self) -> ControllerEventProcessor:
        controller = super().made()
        self.manager = controller.channels = RememberingChannels(self.context, self.late)
        return controller

    def send(self, broker: int, request: ControlRequest) -> None:
        self.manager.send_request(broker, request)

    def register(self, broker: int) -> None:
        super().register(broker)
        self.brokers[broker].start(self.zookeeper.state.zxid)

    # Events.

    def kill(self, broker: int) -> None:
        """A broker dies, if it is up; no controller has noticed yet."""
        if self.brokers[broker].up:
            self.brokers[broker].up = False
            self.die(broker)

    def start(self, broker: int) -> None:
        """A broker starts, if it is down."""
        if not self.brokers[broker].up:
            self.register(broker)

    def notice(self, _: int = 0) -> None:
        """The controller reads the brokers."""
        assert self.process("process_broker_change").failure is None

    def fail_over(self, _: int = 0) -> None:
        """Another controller is elected, and this one resigns."""
        self.manager.shutdown()
        epoch = self.context.state.epoch + 1
        self.zookeeper.set(None, CONTROLLER_EPOCH, epoch)
        self.controller = self.made()
        state = self.context.state
        state.epoch, state.epoch_zk_version = epoch, state.epoch_zk_version + 1
        assert self.take_over().failure is None

    def send_to(self, broker: int, delivery: Delivery = Delivery.Answered) -> None:
        """The broker's thread sends its next request, if any."""
        thread = self.manager.state.request_send_threads.get(broker)
        if thread is None or (thread.request is None and not self.manager.queue_size(broker)):
            return
        if not self.brokers[broker].up:
            delivery = Delivery.NotDelivered
        received = self.manager.exchange(broker, self.brokers[broker].apis.handle, delivery)
        event = None if received is None else event_of(received)
        if event is not None:
            assert self.process(event.method, *event.arguments).failure is None

    def lose_the_reply_of(self, broker: int) -> None:
        """The broker handles a request, but its reply is lost."""
        self.send_to(broker, Delivery.ReplyLost)

    def deliver_what_is_late(self, broker: int) -> None:
        """A request of a closed channel arrives."""
        for late in [each for each in self.late if each[0] == broker and self.brokers[broker].up]:
            self.late.remove(late)
            self.brokers[broker].apis.handle(late[1])

    def change_isrs(self, leader: int, change: Callable[[AlterPartitionManager, Any, int], bool]) -> None:
        """A live broker changes the ISRs of the partitions that it believes to lead, and gets its response."""
        broker = self.brokers[leader]
        if not broker.up:
            return
        for partition, hosted in list(broker.replicas.state.all_partitions.items()):
            if hosted.is_led_by(leader):
                change(broker.isr_changes, partition, leader % 3 + 1)
        request = broker.isr_changes.maybe_propagate_isr_changes()
        if request is not None:
            over = self.process("process_alter_partition", request)
            assert over.failure is None
            broker.isr_changes.answered(over.answer)

    def shrink_isrs(self, leader: int) -> None:
        """A follower has fallen behind."""
        self.change_isrs(leader, lambda manager, partition, other: manager.maybe_shrink_isr(partition, [other]))

    def expand_isrs(self, leader: int) -> None:
        """A follower has caught up."""
        self.change_isrs(leader, lambda manager, partition, other: manager.maybe_expand_isr(partition, other))

    def come_to_rest(self) -> None:
        """Every broker starts, and every request in flight arrives, the late ones last."""
        for broker in BROKERS:
            self.start(broker)
        self.notice()
        for broker in BROKERS:
            while self.manager.queue_size(broker) or self.manager.state.request_send_threads[broker].request:
                self.send_to(broker)
        for broker in BROKERS:
            self.deliver_what_is_late(broker)

    # Invariants at rest.

    def brokers_are_where_they_should_be(self) -> None:
        """Leaders lead, followers fetch, and all know ZooKeeper's state."""
        for partition in PARTITIONS:
            state, version = self.state(partition), self.version(partition)
            assert self.known(partition)[:3] == state[:3]
            for number, broker in self.brokers.items():
                hosted = broker.replicas.state.all_partitions[partition]
                assert (hosted.leader, hosted.leader_epoch) == (state.leader, state.leader_epoch), (partition, number)
                fetching = None if number == state.leader else Fetching(state.leader, state.leader_epoch)
                assert broker.replicas.state.fetchers.get(partition) == fetching
                metadata = broker.cache.partition_info(partition)
                assert metadata is not None
                assert (metadata.leader, metadata.leaderEpoch, metadata.isr) == state[:3]
                if number == state.leader and isinstance(hosted.state, CommittedPartitionState):
                    assert (hosted.state.isr, hosted.partition_epoch) == (state.isr, version)


class Happens(Enum):
    """The events of a broker or of the controller."""

    dies = "kill"
    starts = "start"
    noticed = "notice"
    fails_over = "fail_over"
    sent = "send_to"
    reply_lost = "lose_the_reply_of"
    late = "deliver_what_is_late"
    shrinks = "shrink_isrs"
    expands = "expand_isrs"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(Happens), st.sampled_from(BROKERS)), max_size=25))
def test_settled_brokers_agree_with_the_controller(happens: list[tuple[Happens, int]]) -> None:
    """After any events."""
    plane = StateMachinesBeside()
    for what, broker in happens:
        getattr(plane, what.value)(broker)
    plane.come_to_rest()
    plane.brokers_are_where_they_should_be()


def test_a_request_for_an_earlier_registration_is_refused() -> None:
    """It was in flight when the broker stopped, and arrives after its restart. Without the check it is obeyed."""

    class ForAnyRegistration(KafkaApis):
        def is_broker_epoch_stale(self, broker_epoch: int) -> bool:
            return False

    def accepts_a_late_request(apis: type[KafkaApis]) -> bool:
        plane = StateMachinesBeside(apis)
        plane.send_to(2, Delivery.NotDelivered)
        plane.kill(2)
        plane.start(2)
        plane.notice()
        plane.deliver_what_is_late(2)
        return bool(plane.brokers[2].cache.state.alive_brokers)

    assert (accepts_a_late_request(KafkaApis), accepts_a_late_request(ForAnyRegistration)) == (False, True)


def test_the_invariants_at_rest_can_fail_before_rest() -> None:
    """So the checks at the end are not vacuous."""
    plane = StateMachinesBeside()
    with pytest.raises((AssertionError, KeyError)):
        plane.brokers_are_where_they_should_be()
    plane.come_to_rest()
    plane.brokers_are_where_they_should_be()
    plane.kill(1)
    plane.notice()
    with pytest.raises(AssertionError):
        plane.brokers_are_where_they_should_be()
