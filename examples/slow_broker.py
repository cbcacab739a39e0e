"""A slow broker: six requests of the controller wait for broker 1, and the others have handled theirs.

The controller never waits for a broker, so the cluster goes on without broker 1. Broker 1 does not know the two new
topics, and believes that it still leads the old one. It accepts records for it, and even acknowledges one with
acks=1. When it handles LeaderAndIsr at last, the producer that waits is refused, and so is everyone who still asks
broker 1. As a follower it cuts what it has accepted.

    broker 2 leads old-0, by ZooKeeper
    waiting: 6 for broker 1, 0 for broker 2, 0 for broker 3
    broker 1 knows old; broker 2 knows new, newer, old
    broker 1 is asked: m0 is acknowledged at offset 0
    broker 1 is asked: m1 is not acknowledged
    broker 1       | m0@1   m1@1    LEO 2, HW 0
    broker 2 leads |                LEO 0, HW 0
    broker 1 takes LeaderAndIsr of controller 3
    m1 is not acknowledged: NOT_LEADER_OR_FOLLOWER
    broker 1 is asked: m2 is not acknowledged: NOT_LEADER_OR_FOLLOWER
    waiting: 5 for broker 1, 0 for broker 2, 0 for broker 3
    broker 1 knows new, newer, old; broker 2 knows new, newer, old
    broker 1 truncates old-0 to 0, its leader's end of epoch 1: m0@1 m1@1 is gone
    broker 1       |  LEO 0, HW 0
    broker 2 leads |  LEO 0, HW 0
"""

from statemachines import Cluster
from statemachines.broker.data_plane import Truncated
from statemachines.cluster_steps import Step, TakeRequest


def is_slow(step: Step) -> bool:
    """A step for which broker 1 is too slow."""
    return isinstance(step, TakeRequest) and step.broker == 1


def waiting(cluster: Cluster) -> str:
    """The lengths of the queues of the controller, which is on broker 3."""
    channels = cluster.controllers[3].channels
    return "waiting: " + ", ".join(f"{channels.queue_size(each)} for broker {each}" for each in (1, 2, 3))


def known(cluster: Cluster) -> str:
    """The topics that brokers 1 and 2 know."""
    caches = {each: cluster.brokers[each].metadata_cache.state.partition_states for each in (1, 2)}
    return "; ".join(
        f"broker {each} knows {', '.join(sorted(topic for topic, _ in caches[each]))}" for each in caches
    )


def main() -> None:
    """Run it."""
    cluster = Cluster(brokers=(1, 2, 3), controller=3)
    cluster.create_topic("old", {0: (2, 1)})
    cluster.settle()
    cluster.crash(2)
    cluster.settle()
    cluster.restart(2)
    cluster.settle()

    cluster.elect([("old", 0)])
    for topic in ("new", "newer"):
        cluster.settle(without=is_slow)
        cluster.create_topic(topic, {0: (1, 2)})
    cluster.settle(without=is_slow)
    print(f"broker {cluster.partition('old', 0).leader} leads old-0, by ZooKeeper")
    print(waiting(cluster))
    print(known(cluster))
    print("broker 1 is asked:", cluster.produce("old", 0, "m0", acks=1, to=1))
    print("broker 1 is asked:", m1 := cluster.produce("old", 0, "m1", to=1))
    print(cluster.logs("old", 0))
    [step] = filter(is_slow, cluster.steps())
    cluster.step(step)
    print(step, m1, sep="\n")
    print("broker 1 is asked:", cluster.produce("old", 0, "m2", to=1))
    print(waiting(cluster))
    cluster.settle()
    print(known(cluster))
    print(*(each for each in cluster.history if isinstance(each, Truncated)), sep="\n")
    print(cluster.logs("old", 0))


if __name__ == "__main__":
    main()
