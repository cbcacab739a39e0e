"""Logs: what a failing leader takes with it, and the two accidents that led to leader epochs (KIP-101).

A log prints as its records with their leader epochs, then its log end offset and its high watermark.

First three replicas with 8, 4 and 6 records. Consumers read up to the least of these. The leader fails. The other
four records are gone, and none of them was committed. Broker 2 keeps what it has, and broker 3 cuts its log there.

In 0.10 a follower cuts its log at its own high watermark. Broker 2 has m1, but does not know yet that it is
committed. It restarts unnoticed, cuts m1, and is elected before it has fetched m1 again. Since 0.11 it asks its
leader where epoch 0 ends, and keeps m1.

Or both brokers lose their power, and broker 2 has lost m1 when it comes back first. It leads, and appends m2. In 0.10
broker 1 keeps m1, since its high watermark is above: the logs differ for good. Since 0.11 it cuts m1, which was
acknowledged. No rule can help here: the only disks with m1 were one, and that one came back last.

    3.9: 8, 4 and 6 records
      broker 1: [m0@0 m1@0 m2@0 m3@0 m4@0 m5@0 m6@0 m7@0] 8/4
      broker 2: [m0@0 m1@0 m2@0 m3@0] 4/4
      broker 3: [m0@0 m1@0 m2@0 m3@0 m4@0 m5@0] 6/4
      consumers read m0 m1 m2 m3
    broker 1 fails, and broker 2 leads
      broker 1, dead: [m0@0 m1@0 m2@0 m3@0 m4@0 m5@0 m6@0 m7@0] 8/0
      broker 2: [m0@0 m1@0 m2@0 m3@0] 4/4
      broker 3: [m0@0 m1@0 m2@0 m3@0] 4/4
      consumers read m0 m1 m2 m3
    0.10.2: m1 is acknowledged
      broker 1: [m0 m1] 2/2
      broker 2: [m0 m1] 2/1
      consumers read m0 m1
    broker 2 has restarted, and broker 1 has died and is back
      broker 1: [m0] 1/1
      broker 2: [m0] 1/1
      consumers read m0
    0.11: m1 is acknowledged
      broker 1: [m0@0 m1@0] 2/2
      broker 2: [m0@0 m1@0] 2/1
      consumers read m0 m1
    broker 2 has restarted, and broker 1 has died and is back
      broker 1: [m0@0 m1@0] 2/2
      broker 2: [m0@0 m1@0] 2/2
      consumers read m0 m1
    0.10.2: both have lost their power, and broker 2 has lost m1
      broker 1: [m0 m1] 2/2
      broker 2: [m0 m2] 2/2
      consumers read m0 m2
    0.11: both have lost their power, and broker 2 has lost m1
      broker 1: [m0@0 m2@1] 2/2
      broker 2: [m0@0 m2@1] 2/2
      consumers read m0 m2
"""

from statemachines import Cluster


def show(cluster: Cluster, what: str) -> None:
    """Print the logs, and what consumers read."""
    print(what)
    for broker, log in cluster.logs("t", 0).items():
        print(f"  broker {broker}{'' if broker in cluster.live else ', dead'}: {log}")
    leader = cluster.partition("t", 0).leader
    print(f"  consumers read {' '.join(map(str, cluster.consume('t', 0)))}" if leader else "  no leader")


def with_topic(release: str, brokers: int, records: int) -> Cluster:
    """A topic on all brokers, whose first records are committed and known to be."""
    cluster = Cluster(range(1, brokers + 1), release, controller=brokers, unclean=True)
    cluster.create_topic("t", {0: tuple(range(1, brokers + 1))})
    cluster.settle()
    for number in range(records):
        cluster.produce("t", 0, f"m{number}")
        cluster.settle()
    return cluster


def a_leader_fails() -> None:
    """8, 4 and 6 records."""
    cluster = with_topic("3.9", 3, 4)
    for held, more in ((2, range(4, 6)), (3, range(6, 8))):
        cluster.hold_fetches(held)
        for number in more:
            cluster.produce("t", 0, f"m{number}", acks=1)
        cluster.settle()
    show(cluster, "3.9: 8, 4 and 6 records")
    cluster.crash(1)
    cluster.settle()
    cluster.resume_fetches(3)
    cluster.settle()
    show(cluster, "broker 1 fails, and broker 2 leads")


def one_restarts(release: str) -> None:
    """An acknowledged record is lost in 0.10."""
    cluster = with_topic(release, 2, 1)
    cluster.checkpoint()
    m1 = cluster.produce("t", 0, "m1")
    cluster.settle(until=lambda _: m1.acknowledged)
    cluster.checkpoint(1)
    show(cluster, f"{release}: m1 is acknowledged")
    cluster.hold_fetches(2)
    cluster.bounce(2)
    cluster.fail_over()
    cluster.settle()
    cluster.crash(1)
    cluster.settle()
    cluster.restart(1)
    cluster.resume_fetches(2)
    cluster.settle()
    show(cluster, "broker 2 has restarted, and broker 1 has died and is back")


def both_lose_their_power(release: str) -> None:
    """Logs differ for good in 0.10."""
    cluster = with_topic(release, 2, 1)
    m1 = cluster.produce("t", 0, "m1")
    cluster.settle(until=lambda _: m1.acknowledged)
    cluster.checkpoint()
    cluster.crash(1)
    cluster.crash(2, keep=1)
    cluster.restart(2)
    cluster.settle()
    cluster.produce("t", 0, "m2")
    cluster.restart(1)
    cluster.settle()
    show(cluster, f"{release}: both have lost their power, and broker 2 has lost m1")


def main() -> None:
    """Run all of it."""
    a_leader_fails()
    for story in (one_restarts, both_lose_their_power):
        for release in ("0.10.2", "0.11"):
            story(release)


if __name__ == "__main__":
    main()
