"""A controlled shutdown, both sides of it: broker 1 is told to stop, and broker 2, the controller, lets it go.

Where broker 1 leads another replica is elected, and it leaves the ISR with that. Where it follows it is told to stop,
leaves the ISR, and is told once more. What only it has it keeps. t-2 has no other replica in sync: that it remains is
the answer, and broker 1 waits, to ask again. Meanwhile broker 2 catches up, and broker 1 asks for an ISR with it.
Since 3.3 it is refused, for a broker that shuts down is not eligible, itself for one; so it stops uncleanly, and t-2
has no leader. Until 3.2 broker 2 is in sync by then, and leads: `main("3.2")`.

Broker 1 does what the controller says, but begins to fetch nothing. It follows in t-0, and stays behind.

    broker 1 fetches t-1
    broker 1 asks broker 2 to let it go
    error: t-2 did not change from OnlinePartition to OnlinePartition: NoLeaderElected
    to 1: LeaderAndIsr: t-0 has leader 2, epoch 1, ISR (2,)
    to 2: LeaderAndIsr: t-0 has leader 2, epoch 1, ISR (2,)
    to 1: UpdateMetadata: t-0
    to 2: UpdateMetadata: t-0
    to 1: StopReplica: t-1
    to 2: LeaderAndIsr: t-1 has leader 2, epoch 1, ISR (2,)
    to 1: UpdateMetadata: t-1
    to 2: UpdateMetadata: t-1
    to 1: StopReplica: t-1
    broker 2 answers NONE, t-2 remains
    broker 1 waits for 5000 ms; broker 2 catches up with t-2
    to 1: UpdateMetadata: t-2
    to 2: UpdateMetadata: t-2
    broker 1 asks for ISR (1, 2) of t-2: INELIGIBLE_REPLICA
    broker 1 asks broker 2 to let it go
    error: t-2 did not change from OnlinePartition to OnlinePartition: NoLeaderElected
    to 1: StopReplica: t-0, t-1
    to 2: LeaderAndIsr: t-0 has leader 2, epoch 1, ISR (2,); t-1 has leader 2, epoch 1, ISR (2,)
    to 1: UpdateMetadata: t-0, t-1
    to 2: UpdateMetadata: t-0, t-1
    to 1: StopReplica: t-0, t-1
    broker 2 answers NONE, t-2 remains
    broker 1 stops uncleanly; it fetches nothing
"""

from typing import Any

from statemachines.alter_partition import AlterPartitionData, AlterPartitionRequest
from statemachines.broker.kafka_apis import KafkaApis
from statemachines.broker.kafka_server import AskController, Backoff, KafkaServer, ShutdownStep, Stopped
from statemachines.broker.metadata_cache import MetadataCache
from statemachines.broker.replica_manager import ReplicaManager
from statemachines.control_design import ControlDesign, control_design_of
from statemachines.controlled_shutdown import controlled_shutdown_response
from statemachines.controller import registration
from statemachines.controller_calls import call
from statemachines.controller_event_processor import event_processor
from statemachines.messages.control_requests import ControlRequest, LeaderAndIsrRequest
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import LeaderRecoveryState
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.state_change import carry_out
from statemachines.zk_data import TopicAssignment, topic_partition_state_path
from statemachines.zookeeper.server import ZooKeeper

ASSIGNMENT = TopicAssignment(
    tuple(enumerate(map(ReplicaAssignment, ((1, 2), (2, 1), (1, 2), (1,)))))  # the last is on broker 1 alone
)


class Broker:
    """A broker that obeys a controller, and may be told to stop."""

    def __init__(self, broker: int, epoch: int, design: ControlDesign) -> None:
        self.epoch = epoch
        self.step: ShutdownStep | None = None
        cache = MetadataCache()
        self.replicas = ReplicaManager(broker, cache, None, design, lambda: self.step is not None)
        self.apis = KafkaApis(self.replicas, lambda: epoch)
        self.server = KafkaServer(broker, cache, lambda: epoch, design, max_retries=2)

    def fetched(self) -> str:
        """What it fetches."""
        return ", ".join(map(str, self.replicas.state.fetchers)) or "nothing"


def show(broker: int, request: ControlRequest) -> None:
    """A request, in short."""
    told = ", ".join(f"{state.topicName}-{state.partitionIndex}" for state in request.partitionStates)
    if isinstance(request, LeaderAndIsrRequest):
        told = "; ".join(
            f"{state.topicName}-{state.partitionIndex} has leader {state.leader}, epoch {state.leaderEpoch}, "
            f"ISR {state.isr}"
            for state in request.partitionStates
        )
    print(f"to {broker}: {type(request).__name__.removesuffix('Request')}: {told}")


def main(release: str = "3.9") -> None:
    """Go through it, as a release does it."""
    zookeeper, design = ZooKeeper(), control_design_of(release)
    for path in ("/controller_epoch", "/brokers", "/brokers/ids", "/brokers/topics"):
        zookeeper.create(None, path)
    brokers = {each: Broker(each, zookeeper.create(None, registration(each)).stat.czxid, design) for each in (1, 2)}
    zookeeper.create(None, "/brokers/topics/t", ASSIGNMENT)
    leaving = brokers[1]

    def send(broker: int, request: ControlRequest) -> None:
        if leaving.step is not None:
            show(broker, request)
        brokers[broker].apis.handle(request)

    controller = event_processor(2, send, design=design, log=lambda failed: print(f"error: {failed}"))
    carry_out(controller, controller.process(call(controller.on_controller_failover)), zookeeper, None)

    def alter_partition(*isr: int) -> Any:
        """Broker 1 asks for an ISR of t-2."""
        state, stat = zookeeper.get(None, topic_partition_state_path(TopicPartition("t", 2)))
        epoch = state.leader_and_isr.leader_epoch
        wanted = AlterPartitionData("t", 2, epoch, isr, LeaderRecoveryState.RECOVERED, stat.version)
        event = call(controller.process_alter_partition, AlterPartitionRequest(1, leaving.epoch, (wanted,)))
        answer = carry_out(controller, controller.process(event), zookeeper, None).answer
        return answer.partitions[0][1]

    alter_partition(1)
    print(f"broker 1 fetches {leaving.fetched()}")
    leaving.step = leaving.server.controlled_shutdown()
    while not isinstance(leaving.step, Stopped):
        match leaving.step:
            case AskController(_, asked, request):
                print(f"broker 1 asks broker {asked} to let it go")
                event = call(controller.process_controlled_shutdown, *request)
                answer = carry_out(controller, controller.process(event), zookeeper, None).answer
                response = controlled_shutdown_response(answer)
                remaining = ", ".join(map(str, response.remainingPartitions)) or "nothing"
                print(f"broker {asked} answers {response.errorCode}, {remaining} remains")
                leaving.step = leaving.server.answered(leaving.step, response)
            case Backoff(_, _, milliseconds):
                print(f"broker 1 waits for {milliseconds} ms; broker 2 catches up with t-2")
                outcome = alter_partition(1, 2)
                print(f"broker 1 asks for ISR (1, 2) of t-2: {outcome if isinstance(outcome, Errors) else 'written'}")
                leaving.step = leaving.server.waited(leaving.step)
    print(f"broker 1 stops {'cleanly' if leaving.step.cleanly else 'uncleanly'}; it fetches {leaving.fetched()}")


if __name__ == "__main__":
    main()
