"""What happens to this assignment when brokers 1 and 3 die, both before the controller looks.

Partition 0 has another replica in sync, which leads now. Partition 1 had its whole ISR on the two: it has no leader,
and the last member stays in the ISR, so that it can lead again. Partition 2 was led by broker 2 all the time.

    before: t-0 on (1, 2, 3) has leader 1, epoch 0, ISR (1, 2, 3)
    before: t-1 on (1, 3) has leader 1, epoch 0, ISR (1, 3)
    before: t-2 on (2, 4, 1) has leader 2, epoch 0, ISR (2, 4, 1)
    error: t-1 did not change from OfflinePartition to OnlinePartition: NoLeaderElected
    to 2: LeaderAndIsr of t-0
    to 2, 4: UpdateMetadata of t-0
    to 2: LeaderAndIsr of t-0, t-2
    to 4: LeaderAndIsr of t-2
    to 2, 4: UpdateMetadata of t-0, t-1, t-2
    after: t-0 on (1, 2, 3) has leader 2, epoch 1, ISR (2,)
    after: t-1 on (1, 3) has leader -1, epoch 2, ISR (3,)
    after: t-2 on (2, 4, 1) has leader 2, epoch 1, ISR (2, 4)
"""

from statemachines.controller_calls import Call, call
from statemachines.controller_event_processor import event_processor
from statemachines.messages.control_requests import ControlRequest
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.state_change import carry_out
from statemachines.zk_data import TopicAssignment
from statemachines.zookeeper.server import ZooKeeper

ASSIGNMENT = TopicAssignment(
    ((0, ReplicaAssignment((1, 2, 3))), (1, ReplicaAssignment((1, 3))), (2, ReplicaAssignment((2, 4, 1))))
)


def show(sent: list[tuple[int, ControlRequest]]) -> None:
    """Requests in order; those that say the same to several brokers in one line."""
    lines: dict[str, list[int]] = {}
    for broker, request in sent:
        partitions = ", ".join(f"{state.topicName}-{state.partitionIndex}" for state in request.partitionStates)
        lines.setdefault(f"{type(request).__name__.removesuffix('Request')} of {partitions}", []).append(broker)
    for line, brokers in lines.items():
        print(f"to {', '.join(map(str, brokers))}: {line}")


def main() -> None:
    """Go through it."""
    zookeeper = ZooKeeper()
    for path in ("/controller_epoch", "/brokers", "/brokers/ids", "/brokers/topics"):
        zookeeper.create(None, path)
    for broker in (1, 2, 3, 4):
        zookeeper.create(None, f"/brokers/ids/{broker}")
    zookeeper.create(None, "/brokers/topics/t", ASSIGNMENT)

    sent: list[tuple[int, ControlRequest]] = []
    controller = event_processor(
        2, lambda broker, request: sent.append((broker, request)), log=lambda failed: print(f"error: {failed}")
    )

    def process(event: Call) -> None:
        sent.clear()
        carry_out(controller, controller.process(event), zookeeper, None)

    def show_partitions(when: str) -> None:
        for partition, known in controller.context.state.partition_leadership_info.items():
            replicas = controller.context.partition_replica_assignment(partition)
            leader, epoch, isr = known.leader_and_isr[:3]
            print(f"{when}: {partition} on {replicas} has leader {leader}, epoch {epoch}, ISR {isr}")

    process(call(controller.on_controller_failover))
    show_partitions("before")
    for broker in (1, 3):
        zookeeper.delete(None, f"/brokers/ids/{broker}")
    process(call(controller.process_broker_change))
    show(sent)
    show_partitions("after")


if __name__ == "__main__":
    main()
