"""A controlled shutdown: broker 1 asks broker 2, the controller, for permission to stop.

For partitions that broker 1 leads, the controller elects another replica, and broker 1 leaves the ISR. For partitions
that it follows, it receives StopReplica, leaves the ISR, and receives StopReplica again. It keeps the partitions that
only it has. No other replica of u-0 is in sync: the reply names u-0 as remaining, and broker 1 waits before it asks
again. Meanwhile broker 2 catches up, and broker 1 proposes an ISR with both. Since 3.3 that is refused, because
brokers that are shutting down are not eligible, and broker 1 itself is one. So it stops uncleanly, and u-0 has no
leader. Until 3.2 broker 2 is in sync by then, and leads: `main("3.2")`.

Broker 1 obeys the controller, but starts no fetchers. It follows in t-0, and stays behind.

    broker 1 fetches t-1
    broker 1 shuts down: Begin
    broker 1 shuts down: AskController
      u-0 did not change from OnlinePartition to OnlinePartition: NoLeaderElected
      ZooKeeper: /brokers/topics/t/partitions/0/state: leader 2, epoch 1, ISR 2
      to broker 1: LeaderAndIsr of t-0
      to broker 2: LeaderAndIsr of t-0
      to broker 1: StopReplica of t-1
      ZooKeeper: /brokers/topics/t/partitions/1/state: leader 2, epoch 1, ISR 2
      to broker 2: LeaderAndIsr of t-1
      to broker 1: StopReplica of t-1
    broker 2 fetches from broker 1: u-0
    broker 1 reports ISRs to the controller
    broker 1 shuts down: Backoff
    broker 1 shuts down: AskController
      u-0 did not change from OnlinePartition to OnlinePartition: NoLeaderElected
      to broker 1: StopReplica of t-0, t-1
      to broker 2: LeaderAndIsr of t-0, t-1
      to broker 1: StopReplica of t-0, t-1
    broker 1 stops uncleanly; it fetches nothing
"""

from statemachines import Cluster
from statemachines.cluster_history import Sent
from statemachines.cluster_steps import AdvanceShutdown, ChangeIsr, SendFetch
from statemachines.messages.control_requests import UpdateMetadataRequest


def fetched(cluster: Cluster) -> str:
    """The partitions that broker 1 fetches."""
    return ", ".join(map(str, cluster.brokers[1].replica_manager.state.fetchers)) or "nothing"


def made(release: str) -> Cluster:
    """The cluster and its topics: u was created while broker 2 was down; v-0 is on broker 1 alone."""
    cluster = Cluster((1, 2), release, down=(2,))
    cluster.hold_fetches(2, ("u", 0))
    cluster.create_topic("u", {0: (1, 2)})
    cluster.settle()
    cluster.restart(2)
    cluster.create_topic("t", {0: (1, 2), 1: (2, 1)})
    cluster.create_topic("v", {0: (1,)})
    cluster.settle()
    cluster.fail_over()
    cluster.settle()
    return cluster


def main(release: str = "3.9") -> None:
    """Run it in a release, always taking the most urgent step."""
    cluster = made(release)
    print(f"broker 1 fetches {fetched(cluster)}")
    cluster.shut_down(1, attempts=2)
    done = len(cluster.history)
    while (step := cluster.steps()[0]) != AdvanceShutdown(1, "Stopped"):
        if step == AdvanceShutdown(1, "Backoff"):
            cluster.resume_fetches(2)
            step = cluster.steps()[0]
        if isinstance(step, AdvanceShutdown | SendFetch | ChangeIsr):
            print(step)
        cluster.step(step)
        for effect in cluster.history[done:]:
            if not (isinstance(effect, Sent) and isinstance(effect.request, UpdateMetadataRequest)):
                print(f"  {effect}")
        done = len(cluster.history)
    cleanly = "uncleanly" if cluster.brokers[1].remaining else "cleanly"
    print(f"broker 1 stops {cleanly}; it fetches {fetched(cluster)}")


if __name__ == "__main__":
    main()
