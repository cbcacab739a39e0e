"""A reassignment, step by step: t-0 moves from brokers 1 and 2 to 3 and 2, one batch of ZooKeeper requests at a time.

The topic's node says where it moves from and to as long as it does, so that any controller can go on. The leader
epoch grows three times: with the new replica, with the new leader, and without the old one.

    it is asked for
    ZooKeeper: Exists /admin/reassign_partitions
    ZooKeeper: SetData /brokers/topics/t, on (3, 2, 1), adding (3,), removing (1,)
    ZooKeeper: GetData /brokers/topics/t/partitions/0/state
    ZooKeeper: GetData /brokers/topics/t/partitions/0/state
    ZooKeeper: SetData /brokers/topics/t/partitions/0/state, leader 1, epoch 1, ISR (1, 2)
    brokers: LeaderAndIsr to 1, 2, 3; UpdateMetadata to 1, 2, 3; LeaderAndIsr to 3; UpdateMetadata to 1, 2, 3
    broker 3 has caught up
    ZooKeeper: GetData /brokers/topics/t/partitions/0/state
    ZooKeeper: GetData /brokers/topics/t/partitions/0/state
    ZooKeeper: GetData /brokers/topics/t/partitions/0/state
    ZooKeeper: SetData /brokers/topics/t/partitions/0/state, leader 3, epoch 2, ISR (1, 2, 3)
    brokers: LeaderAndIsr to 2, 3; UpdateMetadata to 1, 2, 3
    ZooKeeper: GetData /brokers/topics/t/partitions/0/state
    ZooKeeper: SetData /brokers/topics/t/partitions/0/state, leader 3, epoch 3, ISR (2, 3)
    brokers: LeaderAndIsr to 2, 3; UpdateMetadata to 1, 2, 3; StopReplica to 1; StopReplica with the log to 1
    ZooKeeper: SetData /brokers/topics/t, on (3, 2)
    ZooKeeper: Exists /admin/reassign_partitions
    brokers: UpdateMetadata to 1, 2, 3
"""

from itertools import groupby

from statemachines.controller_calls import Call, Processing, call
from statemachines.controller_event_processor import event_processor
from statemachines.kafka_zk_client import ZkRequest, retry_requests_until_connected
from statemachines.messages.control_requests import ControlRequest, StopReplicaRequest
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.state_change import carry_out
from statemachines.zk_data import TopicAssignment, TopicPartitionState, topic_partition_state_path
from statemachines.zookeeper.server import Multi, ZooKeeper
from statemachines.zookeeper.tree import SetData

T0 = TopicPartition("t", 0)


def in_short(request: ZkRequest) -> str:
    """A request to ZooKeeper, without its fence."""
    operation = request.operations[-1] if isinstance(request, Multi) else request
    said = f"{type(operation).__name__} {getattr(operation, 'path', '')}"
    if isinstance(operation, SetData) and isinstance(operation.data, TopicAssignment):
        replicas, adding, removing = operation.data.partitions[0][1]
        said += f", on {replicas}" + (f", adding {adding}, removing {removing}" if adding else "")
    if isinstance(operation, SetData) and isinstance(operation.data, TopicPartitionState):
        leader, epoch, isr = operation.data.leader_and_isr[:3]
        said += f", leader {leader}, epoch {epoch}, ISR {isr}"
    return said


def main() -> None:
    """Go through it."""
    zookeeper = ZooKeeper()
    for path in ("/controller_epoch", "/brokers", "/brokers/ids", "/brokers/topics"):
        zookeeper.create(None, path)
    for broker in (1, 2, 3):
        zookeeper.create(None, f"/brokers/ids/{broker}")
    zookeeper.create(None, "/brokers/topics/t", TopicAssignment(((0, ReplicaAssignment((1, 2))),)))

    sent: list[tuple[str, int]] = []

    def send(broker: int, request: ControlRequest) -> None:
        deletes = isinstance(request, StopReplicaRequest) and request.partitionStates[0].deletePartition
        name = type(request).__name__.removesuffix("Request")
        sent.append((f"{name} with the log" if deletes else name, broker))

    def show_sent() -> None:
        groups = [(name, [broker for _, broker in each]) for name, each in groupby(sent, lambda pair: pair[0])]
        if groups:
            print("brokers: " + "; ".join(f"{name} to {', '.join(map(str, to))}" for name, to in groups))
        sent.clear()

    controller = event_processor(1, send)
    carry_out(controller, controller.process(call(controller.on_controller_failover)), zookeeper, None)
    sent.clear()

    def step_through(event: Call) -> None:
        processing = controller.process(event)
        while isinstance(processing, Processing):
            show_sent()
            requests = controller.requests(processing)
            print(f"ZooKeeper: {'; '.join(map(in_short, requests))}")
            processing = controller.answered(processing, retry_requests_until_connected(zookeeper, None, requests))
        show_sent()

    print("it is asked for")
    step_through(call(controller.process_api_partition_reassignment, ((T0, (3, 2)),)))
    print("broker 3 has caught up")
    path = topic_partition_state_path(T0)
    state = zookeeper.get(None, path)[0]
    zookeeper.set(None, path, state._replace(leader_and_isr=state.leader_and_isr._replace(isr=(1, 2, 3))))
    step_through(call(controller.maybe_complete_reassignment, T0))


if __name__ == "__main__":
    main()
