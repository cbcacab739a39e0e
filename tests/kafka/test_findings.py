"""The claims of `docs/findings.md` says of controllers, on real brokers with a real ZooKeeper."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import AsyncExitStack
from functools import partial
from typing import Final

import pytest

from election.ids import BrokerId
from spec.kafka.broker_processes import Processes, ZooKeeperOperator
from spec.kafka.kafka_proxy import Api, KafkaRequest
from spec.kafka.proxy import RequestFrame
from spec.language.errors import UsageError
from statemachines.messages.zk_data import DELETE_TOPICS, PREFERRED_REPLICA_ELECTION, delete_topics_topic_path
from statemachines.zookeeper.frames import Opcode
from statemachines.zookeeper.serving import ServedZooKeeper
from tests.kafka.real_cluster import RELEASE, SESSION, Cluster, cluster_of, until

LEADERS_WRITE_ISRS: Final = "2.4.1"
"""A release with these findings where a reassignment can be cancelled."""
SEEN: Final = {
    "K2": ("2.4.1", "2.8.2", RELEASE),
    "K3": (LEADERS_WRITE_ISRS,),
    "K4": ("2.4.1", "2.8.2", RELEASE),
    "K8": ("2.4.1", "2.8.2", RELEASE),
    "K10": ("2.8.2", RELEASE),
    "K11": (RELEASE,),
}
"""The releases on which rows of the atlas are reproduced here."""
LAG: Final = 1_000
"""Milliseconds after which a leader removes a lagging follower from the ISR."""
PATIENCE: Final = 300_000
"""Milliseconds in which nothing must time out."""
STATE: Final = "/brokers/topics/t/partitions/0/state"
ACTIVE: Final = "kafka.controller:type=KafkaController,name=ActiveControllerCount"


def writes_state(request: RequestFrame) -> bool:
    """Whether the controller writes the state of partition 0 of topic t."""
    return request.operation == Opcode.multi.name and f"setData {STATE}" in request.parts


async def reassigned_half_way(cluster: Cluster) -> None:
    """Topic t, with ten records, moves from broker 1 to 2 and 3. 3 is dead; 1 dies when five are copied."""
    ask = cluster.administrator.ask
    assert await ask("create t 1") == "done"
    assert await ask("produce t 5") == "5"
    await cluster.kill(3)  # but is still registered
    assert await ask("reassign t 2,3") == "done"
    await cluster.reaches("t", 1, [1, 2])
    await cluster.kill(1)
    await cluster.reaches("t", 2, [2])
    assert await ask("produce t 5") == "10"
    assert not await cluster.deleted(2)


@pytest.mark.long
@pytest.mark.parametrize(
    ("release", "request_", "assigned"),
    [
        *((release, "cancel t", [1]) for release in SEEN["K2"]),
        (RELEASE, "reassign t 0", [0, 1]),
    ],
)
def test_a_second_reassignment_deletes_what_alone_is_in_sync(
    release: str, request_: str, assigned: list[BrokerId]
) -> None:
    """The log of the only replica with all acknowledged records is deleted, and no remaining replica may lead."""

    async def lost() -> None:
        async with cluster_of(0, 1, 2, 3, release=release) as cluster:
            await reassigned_half_way(cluster)
            assert await cluster.administrator.ask(request_) == "done"
            await cluster.reaches("t", -1, [2])
            await cluster.assigned("t", assigned)
            await until(partial(cluster.deleted, 2))
            await cluster.starts_again(1)
            # A member of the ISR runs, but is no replica: not even an unclean election finds a leader.
            assert await cluster.administrator.ask("elect t") == "EligibleLeadersNotAvailableException"
            assert await cluster.state("t") == (-1, [2])

    asyncio.run(lost())


@pytest.mark.long
def test_moving_it_there_again_deletes_the_rest() -> None:
    """After a cancelled and repeated reassignment, a replica without a log is in the ISR and leads; both logs go."""

    async def lost() -> None:
        async with cluster_of(0, 1, 2, 3) as cluster:
            await reassigned_half_way(cluster)
            assert await cluster.administrator.ask("cancel t") == "done"
            await cluster.reaches("t", -1, [2])
            await cluster.starts_again(1)
            assert not await cluster.deleted(1)
            assert await cluster.administrator.ask("reassign t 2") == "done"
            await cluster.reaches("t", 2, [2])
            await until(partial(cluster.deleted, 1))
            await cluster.assigned("t", [2])
            assert await cluster.administrator.ask("end t") == "0", "ten were acknowledged"

    asyncio.run(lost())


@pytest.mark.long
@pytest.mark.parametrize("release", SEEN["K4"])
def test_a_second_reassignment_takes_the_leader_away(release: str) -> None:
    """A replica in sync, assigned and running does not lead, until an administrator allows an unclean election."""

    async def leaderless() -> None:
        async with cluster_of(0, 1, 2, 3, release=release) as cluster:
            ask = cluster.administrator.ask
            await reassigned_half_way(cluster)
            await cluster.starts_again(1)
            await cluster.reaches("t", 2, [1, 2])
            assert await ask("reassign t 0") == "done"
            await cluster.reaches("t", -1, [1])
            await until(partial(cluster.deleted, 2))
            await cluster.assigned("t", [0, 1])
            await asyncio.sleep(2)
            assert await cluster.state("t") == (-1, [1])
            assert await ask("prefer t") != "done", "the first replica is not in sync"
            assert await ask("elect t") == "done"
            await cluster.reaches("t", 0, [0])
            await cluster.assigned("t", [0])
            assert await ask("end t") == "10", "all acknowledged records"

    asyncio.run(leaderless())


@pytest.mark.long
def test_a_leader_that_shrinks_its_isr_meanwhile_loses_the_partition() -> None:
    """Between the read of the ISR and the election: no leader is found, and the last log is deleted."""

    async def lost() -> None:
        holding = False

        def holds(request: RequestFrame) -> bool:
            return holding and request.path == STATE

        release, lag = LEADERS_WRITE_ISRS, LAG
        async with cluster_of(0, 1, 2, release=release, holds=holds, replica_lag_time_max_ms=lag) as cluster:
            ask = cluster.administrator.ask
            assert await ask("create t 1") == "done"
            assert await ask("produce t 5") == "5"
            holding = True
            reassigned = asyncio.create_task(ask("reassign t 2"))
            held = await cluster.proxy.next_held()
            while not await cluster.said("is not in the new list of replicas 2. Re-electing leader"):
                await held.release()
                held = await cluster.proxy.next_held()
            holding = False
            assert await reassigned == "done"
            assert await cluster.state("t") == (1, [1, 2])
            await cluster.kill(2)
            assert await ask("produce t 5") == "10", "acknowledged by the whole ISR"
            assert await cluster.state("t") == (1, [1])
            await held.release()
            await cluster.reaches("t", -1, [1])
            await until(partial(cluster.deleted, 1))
            await cluster.assigned("t", [2])
            await cluster.starts_again(2)
            await asyncio.sleep(2)
            assert await cluster.state("t") == (-1, [1])

    asyncio.run(lost())


@pytest.mark.long
@pytest.mark.parametrize("release", SEEN["K10"])
@pytest.mark.parametrize("lost", [True, False], ids=["the answer is lost", "it comes late"])
def test_a_leader_whose_isr_change_is_unheard_is_stuck(release: str, lost: bool) -> None:
    """Its follower is dead, so nothing is acknowledged; a restarted follower does not rejoin the ISR."""

    async def stuck() -> None:
        holding = True

        def holds(request: RequestFrame) -> bool:
            return holding and writes_state(request)

        async with cluster_of(0, 1, 2, release=release, holds=holds, replica_lag_time_max_ms=LAG) as cluster:
            ask = cluster.administrator.ask
            assert await ask("create t 1,2") == "done"
            await cluster.reaches("t", 1, [1, 2])
            assert await ask("produce t 5") == "5"
            await cluster.kill(2)
            produced = asyncio.create_task(ask("produce t 5"))  # a dead follower does not receive these
            held = await cluster.proxy.next_held()
            holding = False
            await (held.lose() if lost else held.release())
            await cluster.reaches("t", 1, [1])
            assert await produced == ("TimeoutException" if lost else "10")
            await until(partial(cluster.gone, 2))
            await cluster.starts_again(2)
            if not lost:
                await cluster.reaches("t", 1, [1, 2])
                return
            assert await ask("produce t 5") == "11", "one unacknowledged record, and five acknowledged"
            await asyncio.sleep(5 * LAG / 1_000)
            assert await cluster.state("t") == (1, [1])
            assert await cluster.leader_epoch("t") == 0

    asyncio.run(stuck())


@pytest.mark.long
def test_an_election_of_a_partition_that_never_had_a_leader_keeps_controllers_failing() -> None:
    """Each fails at the end of its failover. Leaders are elected; nothing is deleted or moved, and no ISR grows."""

    async def fails() -> None:
        async with cluster_of(0, 1, 2) as cluster:
            ask, operator = cluster.administrator.ask, cluster.operator
            for topic, replicas in (("led", "1,0"), ("moves", "1"), ("goes", "0")):
                assert await ask(f"create {topic} {replicas}") == "done"
            await cluster.reaches("led", 1, [0, 1])
            await cluster.kill(2)
            await until(partial(cluster.gone, 2))
            await ask("create never 2")  # it never gets a leader
            await operator.create(
                PREFERRED_REPLICA_ELECTION, '{"version":1,"partitions":[{"topic":"never","partition":0}]}'
            )
            await until(partial(cluster.said, "Error processing event ReplicaLeaderElection"))
            assert await cluster.brokers[0].value(ACTIVE) == "1"
            assert await cluster.epoch() == 1, "the event failed, the controller did not"

            await operator.delete("/controller")
            await asyncio.sleep(5)
            assert await cluster.epoch() > 20
            assert await cluster.said("Error while electing or becoming controller on broker") > 20
            await operator.create("/admin/delete_topics/goes")
            await operator.create("/brokers/topics/comes", '{"version":1,"partitions":{"0":[0]}}')
            await cluster.reaches("comes", 0, [0])
            assert await ask("reassign moves 0") != "done"
            await cluster.kill(1)
            await cluster.reaches("led", 0, [0])
            await cluster.starts_again(1)
            await asyncio.sleep(10)
            assert await cluster.state("led") == (0, [0]), "1 does not rejoin the ISR"
            assert await operator.get("/brokers/topics/goes") is not None
            assert await operator.get(PREFERRED_REPLICA_ELECTION) is not None

            assert await operator.delete(PREFERRED_REPLICA_ELECTION)
            await cluster.reaches("led", 0, [0, 1])
            await until(partial(cluster.lacks, "/brokers/topics/goes"))
            epoch = await cluster.epoch()
            await asyncio.sleep(2)
            assert await cluster.epoch() == epoch

    asyncio.run(fails())


@pytest.mark.long
@pytest.mark.parametrize(("release", "takes_over"), [("0.11.0.3", False), ("1.0.2", False), ("1.1.1", True)])
def test_a_node_left_of_a_deletion_prevents_failover(release: str, takes_over: bool) -> None:
    """A node of a topic that is already deleted; ZooKeeper is our own, in memory."""
    leftover = delete_topics_topic_path("t")

    async def elected() -> None:
        async with AsyncExitStack() as stack:
            zookeeper = stack.enter_context(ServedZooKeeper())
            try:
                processes = await stack.enter_async_context(Processes(release))
            except UsageError as missing:
                pytest.skip(str(missing))
            operator = await stack.enter_async_context(ZooKeeperOperator(zookeeper.address))
            for path in ("/admin", DELETE_TOPICS, leftover):
                await operator.create(path)
            await processes.broker(0, zookeeper.address, delete_topic_enable="true")

            async def epoch() -> int:
                node = await operator.get("/controller_epoch")
                return 0 if node is None else int(node.data)

            async def decided() -> bool:
                return await epoch() >= 20 or await operator.get(leftover) is None

            await until(decided)
            assert (await epoch() == 1, await operator.get(leftover) is None) == (takes_over, takes_over)

    asyncio.run(elected())


async def topic_stays_that_is_deleted_again(release: str = RELEASE, patch: str = "") -> bool:
    """Broker 1 dies behind its answer that it has deleted topic t, and before 2 answers; then all of it once more."""
    async with cluster_of(0, 1, release=release, patch=patch) as cluster:
        ask, operator = cluster.administrator.ask, cluster.operator
        slow = await cluster.processes.broker(2, cluster.zookeeper, cluster.log.append, 40_000)
        await cluster.registered(2)
        assert await ask("create t 1,2") == "done"
        await cluster.reaches("t", 1, [1, 2])
        os.kill(slow.pid, signal.SIGSTOP)
        await operator.create(delete_topics_topic_path("t"))
        await until(partial(cluster.said, "Deletion successfully completed for replicas"))
        await cluster.kill(1)
        await until(partial(cluster.said, "Halted deletion of topics t due to replica deletion failure"))
        os.kill(slow.pid, signal.SIGCONT)
        await until(partial(cluster.lacks, "/brokers/topics/t"))
        await cluster.starts_again(1)
        assert await ask("create t 1,2") == "done"
        await cluster.reaches("t", 1, [1, 2])
        await operator.create(delete_topics_topic_path("t"))
        await asyncio.sleep(3)
        return not await cluster.lacks("/brokers/topics/t")


@pytest.mark.long
@pytest.mark.parametrize("release", SEEN["K8"])
def test_a_topic_cannot_be_deleted_whose_predecessor_had_to_wait(release: str) -> None:
    """All brokers run, and none has failed."""
    assert asyncio.run(topic_stays_that_is_deleted_again(release))


def is_fetch(request: KafkaRequest, replica: BrokerId) -> bool:
    """Whether a follower fetches."""
    return (request.api, request.sender) == (Api.Fetch, replica)


async def missed_epoch(patch: str = "") -> list[str]:
    """Broker 1 misses the epoch in which 3 truncates to the log of 2, and leads again; then it dies, and 3 leads.

    Each broker has a proxy before it. Broker 2 is controller, and has fetched nothing since the record was produced.

    Returns:
        How many records consumers may read: first from broker 1, which leads again, before broker 3 fetches from it;
        then from broker 3, once broker 1 follows.
    """
    everywhere = {
        "min_insync_replicas": 2,
        "replica_lag_time_max_ms": PATIENCE,
        "replica_socket_timeout_ms": PATIENCE,
        "zookeeper_session_timeout_ms": SESSION,
    }
    async with cluster_of(2, 1, 3, patch=patch, proxied=True, everywhere=everywhere) as cluster:
        before_1 = cluster.proxies[1]
        producer, administrator = [
            await cluster.clients.administrator(await cluster.address(broker)) for broker in (1, 3)
        ]
        ask = administrator.ask

        async def begun(brokers: int) -> bool:
            """Whether so many brokers have heard of the leader epoch that ZooKeeper has."""
            return await cluster.said(f"starts at leader epoch {await cluster.leader_epoch('t')} ") == brokers

        async def bytes_of_3(there: bool) -> bool:
            return bool((cluster.brokers[3].data / "t-0" / f"{0:020}.log").stat().st_size) is there

        assert await ask("create t 1,2,3") == "done"
        await cluster.reaches("t", 1, [1, 2, 3])
        assert await ask("reassign t 2,1,3") == "done"
        await cluster.assigned("t", [2, 1, 3])
        await until(partial(begun, 3))

        before_1.holds = lambda request: is_fetch(request, 2)
        await before_1.next_held()
        produced = asyncio.create_task(producer.ask(f"produce t 1 {PATIENCE}"))
        await until(partial(bytes_of_3, True))
        before_1.holds = lambda request: is_fetch(request, 2) or is_fetch(request, 3)
        await (await before_1.next_held()).release()  # now broker 1 knows that 3 has the record

        before_1.holds = lambda request: request.sender == 2 or is_fetch(request, 3)
        assert await ask("prefer t") == "done"
        await cluster.reaches("t", 2, [1, 2, 3])
        await until(partial(bytes_of_3, False))
        assert not produced.done()
        await cluster.kill(2)
        await cluster.reaches("t", 1, [1, 3])
        await until(partial(begun, 2))
        ends = [await ask("end t")]
        if ends != ["1"]:
            assert not produced.done()
            before_1.holds = lambda request: False
            before_1.drop_held()
        assert await produced == "1", "acknowledged"
        await cluster.kill(1)
        await cluster.reaches("t", 3, [3])
        await cluster.starts_again(1)
        await cluster.reaches("t", 3, [1, 3])
        return [*ends, await ask("end t")]


@pytest.mark.long
def test_a_leader_that_missed_an_epoch_acknowledges_what_is_lost() -> None:
    """The record is on two of three brokers when it is acknowledged, as far as the leader knows."""
    assert asyncio.run(missed_epoch()) == ["1", "0"]
