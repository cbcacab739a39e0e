"""What happens to this assignment when brokers 1 and 3 die, both before the controller reacts?

t-0 has another replica in sync, which leads now. u-0 had its whole ISR on the two: it has no leader, and the last
member stays in the ISR, so that it can lead again. Broker 2 led t-1 throughout.

    before: t-0: leader 1, epoch 0, ISR 1,2,3, on 1,2,3
    before: t-1: leader 2, epoch 0, ISR 2,4,1, on 2,4,1
    before: u-0: leader 1, epoch 0, ISR 1,3, on 1,3
    error: u-0 did not change from OfflinePartition to OnlinePartition: NoLeaderElected
    to broker 2: LeaderAndIsr of t-0
    to broker 2: UpdateMetadata of t-0
    to broker 4: UpdateMetadata of t-0
    to broker 2: LeaderAndIsr of t-0, t-1
    to broker 4: LeaderAndIsr of t-1
    to broker 2: UpdateMetadata of t-0, t-1, u-0
    to broker 4: UpdateMetadata of t-0, t-1, u-0
    after: t-0: leader 2, epoch 1, ISR 2, on 1,2,3
    after: t-1: leader 2, epoch 1, ISR 2,4, on 2,4,1
    after: u-0: leader none, epoch 2, ISR 3, on 1,3
"""

from statemachines import Cluster
from statemachines.cluster_history import Sent
from statemachines.controller.state_change import FailedStateChange


def show(cluster: Cluster, when: str) -> None:
    """Print each partition in a line."""
    for partition, status in cluster.partitions().items():
        print(f"{when}: {partition}: {status}")


def main() -> None:
    """Run it."""
    cluster = Cluster(brokers=(1, 2, 3, 4), controller=2)
    cluster.create_topic("t", {0: (1, 2, 3), 1: (2, 4, 1)})
    cluster.create_topic("u", {0: (1, 3)})
    cluster.settle()
    show(cluster, "before")
    done = len(cluster.history)
    cluster.crash(1, 3)
    cluster.settle()
    for effect in cluster.history[done:]:
        if isinstance(effect, FailedStateChange):
            print(f"error: {effect}")
        elif isinstance(effect, Sent):
            print(effect)
    show(cluster, "after")


if __name__ == "__main__":
    main()
