"""The requests that a controlled shutdown sends: broker 1 asks to be let go.

Where it leads another replica is elected, and it leaves the ISR with that. Where it follows it is told to stop,
leaves the ISR, and is told once more. What only it has it keeps. It asks until nothing is left that another could
lead: t-2 has no other replica in sync at first.

    broker 1 asks, and is answered: it still leads t-2
    to 1: LeaderAndIsr: t-0 has leader 2, epoch 1, ISR (2,)
    to 2: LeaderAndIsr: t-0 has leader 2, epoch 1, ISR (2,)
    to 1: UpdateMetadata: t-0
    to 2: UpdateMetadata: t-0
    to 1: StopReplica: t-1
    to 2: LeaderAndIsr: t-1 has leader 2, epoch 1, ISR (2,)
    to 1: UpdateMetadata: t-1
    to 2: UpdateMetadata: t-1
    to 1: StopReplica: t-1
    broker 2 catches up with t-2
    broker 1 asks, and is answered: it still leads nothing
    to 1: LeaderAndIsr: t-2 has leader 2, epoch 1, ISR (2,)
    to 2: LeaderAndIsr: t-2 has leader 2, epoch 1, ISR (2,)
    to 1: UpdateMetadata: t-2
    to 2: UpdateMetadata: t-2
    to 1: StopReplica: t-0, t-1
    to 2: LeaderAndIsr: t-0 has leader 2, epoch 1, ISR (2,); t-1 has leader 2, epoch 1, ISR (2,)
    to 1: UpdateMetadata: t-0, t-1
    to 2: UpdateMetadata: t-0, t-1
    to 1: StopReplica: t-0, t-1
"""

from statemachines.control_requests import ControlRequest, LeaderAndIsrRequest
from statemachines.controller_calls import call
from statemachines.controller_event_processor import event_processor
from statemachines.replica_assignment import ReplicaAssignment
from statemachines.state_change import carry_out
from statemachines.topic_partition import TopicPartition
from statemachines.zk_data import TopicAssignment, topic_partition_state_path
from statemachines.zookeeper import ZooKeeper

ASSIGNMENT = TopicAssignment(
    tuple(enumerate(map(ReplicaAssignment, ((1, 2), (2, 1), (1, 2), (1,)))))  # the last is on broker 1 alone
)


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


def main() -> None:
    """Go through it."""
    zookeeper = ZooKeeper()
    for path in ("/controller_epoch", "/brokers", "/brokers/ids", "/brokers/topics"):
        zookeeper.create(None, path)
    for broker in (1, 2):
        zookeeper.create(None, f"/brokers/ids/{broker}")
    zookeeper.create(None, "/brokers/topics/t", ASSIGNMENT)

    sent: list[tuple[int, ControlRequest]] = []
    controller = event_processor(2, lambda broker, request: sent.append((broker, request)))
    carry_out(controller, controller.process(call(controller.on_controller_failover)), zookeeper, None)

    def write_isr(*isr: int) -> None:
        path = topic_partition_state_path(TopicPartition("t", 2))
        state = zookeeper.get(None, path)[0]
        zookeeper.set(None, path, state._replace(leader_and_isr=state.leader_and_isr._replace(isr=isr)))

    def ask() -> None:
        sent.clear()
        event = call(controller.process_controlled_shutdown, 1)
        answer = carry_out(controller, controller.process(event), zookeeper, None).answer
        print(f"broker 1 asks, and is answered: it still leads {', '.join(map(str, answer)) or 'nothing'}")
        for broker, request in sent:
            show(broker, request)

    write_isr(1)
    ask()
    write_isr(1, 2)
    print("broker 2 catches up with t-2")
    ask()


if __name__ == "__main__":
    main()
