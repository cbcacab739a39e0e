"""A controlled shutdown: broker 1 is told to stop, and broker 2, the controller, lets it go.

Where broker 1 leads another replica is elected, and it leaves the ISR with that. Where it follows it is told to stop,
leaves the ISR, and is told once more. What only it has it keeps. u-0 has no other replica in sync: that it remains is
the answer, and broker 1 waits, to ask again. Meanwhile broker 2 catches up, and broker 1 asks for an ISR with it.
Since 3.3 it is refused, for a broker that shuts down is not eligible, itself for one; so it stops uncleanly, and u-0
has no leader. Until 3.2 broker 2 is in sync by then, and leads: `main("3.2")`.

Broker 1 does what the controller says, but begins to fetch nothing. It follows in t-0, and stays behind.

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
    u-0 on 2 catches up with broker 1
    broker 1 tells the controller of ISRs
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
from statemachines.cluster_steps import AdvanceShutdown, CatchUp, ChangeIsr
from statemachines.messages.control_requests import UpdateMetadataRequest
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition


class Logs:
    """Broker 2 is behind in u-0, for a while."""

    behind = frozenset({PartitionAndReplica(TopicPartition("u", 0), 2)})

    def is_caught_up(self, replica: PartitionAndReplica, leader: int) -> bool:
        """Whether a replica is not."""
        return replica not in self.behind


def fetched(cluster: Cluster) -> str:
    """What broker 1 fetches."""
    return ", ".join(map(str, cluster.brokers[1].replica_manager.state.fetchers)) or "nothing"


def made(release: str, logs: Logs) -> Cluster:
    """The cluster, and its topics: u while broker 2 was down, and t, of which t-2 is on broker 1 alone."""
    cluster = Cluster((1, 2), release, down=(2,), logs=logs)
    cluster.create_topic("u", {0: (1, 2)})
    cluster.settle()
    cluster.restart(2)
    cluster.create_topic("t", {0: (1, 2), 1: (2, 1), 2: (1,)})
    cluster.settle()
    cluster.fail_over()
    cluster.settle()
    return cluster


def main(release: str = "3.9") -> None:
    """Go through it, as a release does it: the most urgent step first."""
    logs = Logs()
    cluster = made(release, logs)
    print(f"broker 1 fetches {fetched(cluster)}")
    cluster.shut_down(1, attempts=2)
    done = len(cluster.history)
    while (step := cluster.steps()[0]) != AdvanceShutdown(1, "Stopped"):
        if step == AdvanceShutdown(1, "Backoff"):
            logs.behind = frozenset()
            step = cluster.steps()[0]
        if isinstance(step, AdvanceShutdown | CatchUp | ChangeIsr):
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
