"""The requests of a Kafka 0.10.2 controller to ZooKeeper and to brokers during its failover, in order.

It sets its watches, and then reads the brokers, the topics with their partitions, and the pending work. The one
registered broker learns of the brokers before it learns of a leader [KAFKA-4443]. `main("3.9")` shows another
release.

    Exists       /admin/reassign_partitions
    GetChildren  /isr_change_notification
    Exists       /admin/preferred_replica_election
    GetChildren  /brokers/ids
    GetData      /brokers/ids/2
    GetChildren  /brokers/topics
    GetData      /brokers/topics/old
    GetData      /brokers/topics/t
    GetData      /brokers/topics/old/partitions/0/state
    GetData      /brokers/topics/t/partitions/0/state
    GetData      /admin/preferred_replica_election
    GetData      /admin/reassign_partitions
    GetChildren  /admin/delete_topics
    to broker 2: UpdateMetadata
    to broker 2: LeaderAndIsr
    to broker 2: UpdateMetadata
    GetData      /admin/preferred_replica_election
    GetData      /brokers/topics/t/partitions/0/state
    Delete       /admin/preferred_replica_election
"""

from collections.abc import Sequence

from statemachines.controller.kafka_controller import kafka_controller
from statemachines.controller.zk_requests import ZkRequest, ZkResponse, retry_requests_until_connected
from statemachines.messages.control_requests import ControlRequest
from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import (
    PERSISTENT_PATHS,
    PREFERRED_REPLICA_ELECTION,
    TopicAssignment,
    TopicPartitionState,
    delete_topics_topic_path,
    topic_partition_path,
    topic_partition_state_path,
    topic_partitions_path,
    topic_path,
)
from statemachines.zookeeper.server import Multi, ZooKeeper

BROKERS = (1, 2)
T0 = TopicPartition("t", 0)


def left_behind() -> ZooKeeper:
    """The tree before: brokers, two topics, one of them queued for deletion, and a requested election."""
    zookeeper = ZooKeeper()
    for path in PERSISTENT_PATHS:
        zookeeper.create(None, path)
    zookeeper.create(None, "/brokers/ids/2")
    for topic in ("old", "t"):
        zookeeper.create(None, topic_path(topic), TopicAssignment(((0, ReplicaAssignment(BROKERS)),)))
    for path in (topic_partitions_path("t"), topic_partition_path(T0)):
        zookeeper.create(None, path)
    led = LeaderAndIsr(leader=2, leader_epoch=0, isr=(2,))
    zookeeper.create(None, topic_partition_state_path(T0), TopicPartitionState.encode(led, 1))
    zookeeper.create(None, delete_topics_topic_path("old"))
    zookeeper.create(None, PREFERRED_REPLICA_ELECTION, (T0,))
    return zookeeper


def main(release: str = "0.10.2") -> None:
    """A controller is elected, and takes over."""
    zookeeper = left_behind()

    def ask(requests: Sequence[ZkRequest]) -> Sequence[ZkResponse]:
        for each in requests:
            named = each.operations[-1] if isinstance(each, Multi) else each
            print(f"{type(named).__name__:12} {named.path}")
        return retry_requests_until_connected(zookeeper, controller.me.session, requests)

    def send(broker: int, request: ControlRequest) -> None:
        print(f"to broker {broker}: {type(request).__name__.removesuffix('Request')}")

    controller = kafka_controller(1, zookeeper, send, release, ask=ask)
    controller.startup()
    while controller.has_work and not controller.me.failover_done:
        controller.advance()


if __name__ == "__main__":
    main()
