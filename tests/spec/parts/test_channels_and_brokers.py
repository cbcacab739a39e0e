"""A channel and a broker over a specification's state: the same code as over dicts, in every order of steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import pytest

from election.ids import BrokerId, ControllerEpoch, LeaderEpoch
from spec.checking import check
from spec.language import (
    Partial,
    Size,
    Specification,
    State,
    Step,
    action,
    at_most,
    initial,
    require,
    sometimes,
    transition_invariant,
    variable,
)
from statemachines.broker.hosted_partition import CommittedPartitionState, Fetching, HostedPartition, IsrState
from statemachines.broker.kafka_apis import KafkaApis
from statemachines.broker.metadata_cache import InMemoryMetadata, MetadataCache
from statemachines.broker.replica_manager import ReplicaManager
from statemachines.controller.channel_manager import ControllerChannelManager, RequestSendThread
from statemachines.controller.context import ControllerContext
from statemachines.messages.control_requests import (
    UNKNOWN_BROKER_EPOCH,
    ControlRequest,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
)
from statemachines.messages.replica_assignment import UNASSIGNED, ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.zookeeper.tree import ZkVersion

T0 = TopicPartition("t", 0)
BROKER, LEADERS = 1, (2, 1, 1)
Sent = Annotated[int, "number of requests put into the queue"]


def request_of(epoch: int) -> LeaderAndIsrRequest:
    """Return the leader in this leader epoch."""
    state = LeaderAndIsrPartitionState(TopicPartition("t", 0), 1, LEADERS[epoch], epoch, (1, 2), epoch, (1, 2))
    return LeaderAndIsrRequest(9, 1, UNKNOWN_BROKER_EPOCH, (state,), (1, 2))


REQUESTS = [request_of(epoch) for epoch in range(len(LEADERS))]


class Delivery(State):
    """A channel to broker 1, and that broker's knowledge."""

    message_queues: Partial[BrokerId, tuple[ControlRequest, ...]] = variable("The waiting requests.")
    request_send_threads: Partial[BrokerId, RequestSendThread] = variable("The requests being sent.")
    sent: Sent = variable("Number of requests that the controller has put into the queue.")
    controller_epoch: ControllerEpoch = variable("The newest that the broker has seen.")
    logs: frozenset[TopicPartition] = variable("The logs on the broker.")
    has_offline_log_dir: bool = variable("Whether one of its log directories has failed.")
    all_partitions: Partial[TopicPartition, HostedPartition] = variable("Its knowledge of the partition.")
    fetchers: Partial[TopicPartition, Fetching] = variable("The leader that it fetches from.")


class Delivering(Specification[Delivery]):
    """A controller sends a broker the leader, epoch after epoch; replies are lost, and the channel may end."""

    def sizes(self) -> Mapping[Any, Size]:
        """Three requests, one for each leader epoch."""
        return {
            BrokerId: (BROKER, 2),
            ControlRequest: REQUESTS,
            tuple[ControlRequest, ...]: at_most(len(REQUESTS)),
            RequestSendThread.request: (None, *REQUESTS),
            Sent: range(len(REQUESTS) + 1),
            ControllerEpoch: (0, 1),
            TopicPartition: (T0,),
            HostedPartition.leader: (None, 1, 2),
            LeaderEpoch: range(-1, len(REQUESTS)),
            ZkVersion: range(len(REQUESTS)),
            ReplicaAssignment: (UNASSIGNED, ReplicaAssignment((1, 2))),
            IsrState: (CommittedPartitionState(()), CommittedPartitionState((1, 2))),
        }

    def channels(self, s: Delivery) -> ControllerChannelManager:
        """The controller's channels, over the state."""
        return ControllerChannelManager(ControllerContext(), s)

    def broker(self, s: Delivery) -> KafkaApis:
        """The broker, over the state."""
        cache = MetadataCache(InMemoryMetadata(alive_brokers=frozenset({1, 2})))
        return KafkaApis(ReplicaManager(BROKER, cache, s), lambda: 0)

    @initial
    def start(self, s: Delivery) -> None:
        """There is a channel, and the broker knows nothing."""
        s.sent = s.controller_epoch = 0
        s.logs, s.has_offline_log_dir = frozenset(), False
        self.channels(s).startup([BROKER])

    @action
    def put(self, s: Delivery) -> None:
        """The controller puts the next request into the queue."""
        require(s.sent < len(REQUESTS))
        self.channels(s).send_request(BROKER, REQUESTS[s.sent])
        s.sent += 1

    @action
    def exchange(self, s: Delivery, lost: bool) -> None:
        """A request is sent and handled, and its reply arrives or is lost."""
        require(BROKER in s.message_queues)
        thread = s.request_send_threads[BROKER]
        require(thread.request is not None or s.message_queues[BROKER])
        channels = self.channels(s)
        request = thread.request or channels.take(BROKER)
        response = self.broker(s).handle(request)
        if not lost:
            channels.answered(BROKER, response)

    @action
    def bounce(self, s: Delivery) -> None:
        """The channel ends, and another begins: waiting requests are lost."""
        require(BROKER in s.message_queues)
        self.channels(s).remove_broker(BROKER)
        self.channels(s).add_broker(BROKER)

    @transition_invariant
    def forwards(self, before: Delivery, step: Step, after: Delivery) -> bool:
        """The broker's leader epoch rises, or its partition is unchanged."""
        if T0 not in before.all_partitions:
            return True
        old, new = before.all_partitions[T0], after.all_partitions[T0]
        return new == old or new.leader_epoch > old.leader_epoch

    @transition_invariant
    def one_role(self, before: Delivery, step: Step, after: Delivery) -> bool:
        """The broker fetches if and only if it follows."""
        if T0 not in after.all_partitions:
            return True
        return (T0 in after.fetchers) == (after.all_partitions[T0].leader == 2)

    @sometimes
    def last_epoch(self, s: Delivery) -> bool:
        """The broker is in the last leader epoch."""
        return T0 in s.all_partitions and s.all_partitions[T0].leader_epoch == len(REQUESTS) - 1


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_channels_and_brokers_run_over_a_specifications_state(engine: str) -> None:
    """They behave step by step as over dicts."""
    result = check(Delivering(), engine=engine)
    assert result.verdict == "holds"
    assert {each.name: each.verdict for each in result.properties}["last_epoch"] == "witnessed"
    assert (result.distinct_states, result.depth) == (26, 7)
