"""A channel with a slow broker: broker 2 dies, and broker 1 does not answer.

The controller elects leaders and removes the dead broker from the ISRs. It never waits for a broker: broker 3 has
handled everything while broker 1 still has the first request, which the controller sends again and again. In the end
the controller finds broker 1 dead, and drops the requests that waited for it.

    waiting: 3 for broker 1, 3 for broker 3
    broker 3 handles LeaderAndIsr: t-0 has leader 1, epoch 1, ISR (1, 3)
    broker 3 handles UpdateMetadata
    broker 3 handles UpdateMetadata
    broker 1 handles LeaderAndIsr: t-0 has leader 1, epoch 1, ISR (1, 3)
    its reply is lost, and the request is sent again
    broker 1 handles LeaderAndIsr: t-0 has leader 1, epoch 1, ISR (1, 3)
    its reply is lost, and the request is sent again
    waiting: 2 for broker 1, 0 for broker 3
    broker 1 is removed; the controller does not know whether it handled LeaderAndIsr
    waiting: nothing for broker 1, 0 for broker 3
"""

from statemachines.controller.channel_manager import ControllerChannelManager, Delivery
from statemachines.controller.context import ControllerContext
from statemachines.controller.control_responses import (
    ControlResponse,
    LeaderAndIsrResponse,
    StopReplicaResponse,
    UpdateMetadataResponse,
)
from statemachines.controller.request_batch import ControllerBrokerRequestBatch
from statemachines.messages.control_requests import ControlRequest, LeaderAndIsrRequest, StopReplicaRequest
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition


def name(request: ControlRequest) -> str:
    """The kind of a request."""
    return type(request).__name__.removesuffix("Request")


class Broker:
    """A broker that prints the requests that it handles."""

    def __init__(self, broker: int) -> None:
        self.broker = broker

    def handle(self, request: ControlRequest) -> ControlResponse:
        """Handle a request of any kind."""
        states = request.partitionStates if isinstance(request, LeaderAndIsrRequest) else ()
        said = "; ".join(
            f"{state.topicName}-{state.partitionIndex} has leader {state.leader}, epoch {state.leaderEpoch}, "
            f"ISR {state.isr}"
            for state in states
        )
        print(f"broker {self.broker} handles {name(request)}{': ' + said if said else ''}")
        if isinstance(request, LeaderAndIsrRequest):
            return LeaderAndIsrResponse(Errors.NONE)
        if isinstance(request, StopReplicaRequest):
            return StopReplicaResponse(Errors.NONE)
        return UpdateMetadataResponse(Errors.NONE)


def show_what_waits(channels: ControllerChannelManager) -> None:
    """The gauges of the queues of brokers 1 and 3."""
    there = channels.state.message_queues
    sizes = (f"{channels.queue_size(each) if each in there else 'nothing'} for broker {each}" for each in (1, 3))
    print(f"waiting: {', '.join(sizes)}")


def main() -> None:
    """Run it."""
    context = ControllerContext()
    context.add_live_brokers({1: 101, 3: 103})
    partition = TopicPartition("t", 0)
    context.update_partition_full_replica_assignment(partition, ReplicaAssignment((1, 2, 3)))
    channels = ControllerChannelManager(context)
    channels.startup(context.live_broker_ids())
    batch = ControllerBrokerRequestBatch(1, context, channels.send_request)

    known = LeaderIsrAndControllerEpoch(LeaderAndIsr(1, 1, (1, 3)), 5)
    context.put_partition_leadership_info(partition, known)
    batch.new_batch()
    assignment = context.partition_full_replica_assignment(partition)
    batch.add_leader_and_isr_request_for_brokers((1, 3), partition, known, assignment, is_new=False)
    batch.send_requests_to_brokers(5)
    batch.new_batch()
    batch.add_update_metadata_request_for_brokers((1, 3), (partition,))
    batch.send_requests_to_brokers(5)
    show_what_waits(channels)

    quick, slow = Broker(3), Broker(1)
    while channels.queue_size(3):
        channels.exchange(3, quick.handle)
    for _ in range(2):
        channels.exchange(1, slow.handle, Delivery.ReplyLost)
        print("its reply is lost, and the request is sent again")
    show_what_waits(channels)

    context.remove_live_brokers([1])
    under_way = channels.remove_broker(1)
    assert under_way is not None
    print(f"broker 1 is removed; the controller does not know whether it handled {name(under_way)}")
    show_what_waits(channels)


if __name__ == "__main__":
    main()
