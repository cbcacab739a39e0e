"""A reassignment, step by step: t-0 moves from brokers 1 and 2 to 3 and 2.

While the partition moves, the topic's node records from where and to where, so that any controller can continue. The
leader epoch grows three times: with the new replica, with the new leader, and without the old one. Steps that only
read, and UpdateMetadata, are left out.

    ZooKeeper: /brokers/topics/t: on (3, 2, 1), adding (3,), removing (1,)
    ZooKeeper: /brokers/topics/t/partitions/0/state: leader 1, epoch 1, ISR 1,2
    to broker 1: LeaderAndIsr of t-0
    to broker 2: LeaderAndIsr of t-0
    to broker 3: LeaderAndIsr of t-0
    to broker 3: LeaderAndIsr of t-0
    broker 3 fetches from broker 1: t-0
    broker 2 fetches from broker 1: t-0
    broker 1 reports ISRs to the controller
    ZooKeeper: /brokers/topics/t/partitions/0/state: leader 1, epoch 1, ISR 1,2,3
    ZooKeeper: /brokers/topics/t/partitions/0/state: leader 3, epoch 2, ISR 1,2,3
    to broker 2: LeaderAndIsr of t-0
    to broker 3: LeaderAndIsr of t-0
    ZooKeeper: /brokers/topics/t/partitions/0/state: leader 3, epoch 3, ISR 2,3
    to broker 2: LeaderAndIsr of t-0
    to broker 3: LeaderAndIsr of t-0
    to broker 1: StopReplica of t-0
    to broker 1: StopReplica, with the log, of t-0
    ZooKeeper: /brokers/topics/t: on (3, 2)
    broker 2 fetches from broker 3: t-0
"""

from statemachines import Cluster
from statemachines.cluster_history import Effect, Sent, Written
from statemachines.cluster_steps import ChangeIsr, SendFetch
from statemachines.messages.control_requests import UpdateMetadataRequest
from statemachines.messages.zk_data import TopicAssignment


def show(effect: Effect) -> None:
    """Print an effect in a line; for the topic's node, its entry of the partition."""
    match effect:
        case Sent(_, UpdateMetadataRequest()):
            pass
        case Written(path, TopicAssignment(((_, (replicas, adding, removing)),))):
            print(f"ZooKeeper: {path}: on {replicas}" + (f", adding {adding}, removing {removing}" if adding else ""))
        case _:
            print(effect)


def main() -> None:
    """Run it, always taking the most urgent step."""
    cluster = Cluster(brokers=(1, 2, 3))
    cluster.create_topic("t", {0: (1, 2)})
    cluster.settle()
    done = len(cluster.history)
    cluster.reassign({("t", 0): (3, 2)})
    while steps := cluster.steps():
        if isinstance(steps[0], SendFetch | ChangeIsr):
            print(steps[0])
        cluster.step(steps[0])
        for effect in cluster.history[done:]:
            show(effect)
        done = len(cluster.history)


if __name__ == "__main__":
    main()
