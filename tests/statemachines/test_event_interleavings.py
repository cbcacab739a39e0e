"""Every step that may come between two batches of an event, for two brokers and one partition, explored to the end.

The rest of an event is stored with everything else, and another controller over the same parts continues it. So each
state is a value, and its successors are found by rebuilding a cluster from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from statemachines.controller.calls import Call, EventFailure, EventWaiting
from statemachines.controller.context import ControllerContext, InMemoryContext
from statemachines.controller.design import registration
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.kafka_zk_client import retry_requests_until_connected
from statemachines.controller.partition_state_machine import PartitionStateMachine
from statemachines.controller.replica_state_machine import ReplicaStateMachine
from statemachines.controller.request_batch import ControllerBrokerRequestBatch, InMemoryBatch
from statemachines.messages.leader_and_isr import NO_LEADER, LeaderAndIsr
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import TopicAssignment, topic_partition_state_path
from statemachines.zookeeper.counters import ZooKeeperWithoutZxids
from statemachines.zookeeper.server import InMemoryState

P = TopicPartition("t", 0)
PATH = topic_partition_state_path(P)
BROKERS = (1, 2)


class Frozen(NamedTuple):
    """A cluster as a value."""

    nodes: frozenset[Any]
    created: frozenset[Any]
    """The number of registrations, which gives brokers their epochs."""
    context: tuple[Any, ...]
    batches: tuple[Any, ...]
    processing: EventWaiting | None = None
    """The event in progress."""
    queued: bool = False
    """/brokers/ids has changed since it was read."""
    changes: int = 0
    """The number of deaths and starts of brokers."""
    shrinks: int = 0
    """How often the leader has removed the other replica from its ISR."""
    moved: bool = False
    """Another controller has been elected."""


def frozen(value: Any) -> Any:
    """A mapping as a value; other values stay."""
    return frozenset(value.items()) if isinstance(value, dict) else value


class Thawed:
    """A mutable cluster, made from a value."""

    def __init__(self, value: Frozen) -> None:
        self.value = value
        self.zookeeper = ZooKeeperWithoutZxids(InMemoryState(dict(value.nodes)), created=dict(value.created))
        names = tuple(vars(InMemoryContext()))
        parts = zip(names, value.context, strict=True)
        state = InMemoryContext(**{name: self.thawed(name, part) for name, part in parts})
        self.context = ControllerContext(state)
        self.batches = []
        for parts_of_batch in value.batches:
            brokers, *maps = parts_of_batch
            held = InMemoryBatch(brokers, *map(dict, maps))
            self.batches.append(ControllerBrokerRequestBatch(9, self.context, lambda broker, request: None, held))
        partitions = PartitionStateMachine(self.context, self.batches[0])
        replicas = ReplicaStateMachine(self.context, self.batches[1])
        self.controller = ControllerEventProcessor(partitions, replicas, self.batches[2])

    def thawed(self, name: str, part: Any) -> Any:
        """The mapping, if this part was one."""
        return dict(part) if isinstance(getattr(InMemoryContext(), name), dict) else part

    def freeze(self, **changed: Any) -> Frozen:
        """The cluster as a value."""
        batches = tuple(tuple(frozen(part) for part in vars(batch.state).values()) for batch in self.batches)
        context = tuple(frozen(part) for part in vars(self.context.state).values())
        nodes = frozenset(self.zookeeper.state.nodes.items())
        created = frozen(dict(self.zookeeper.created))
        return self.value._replace(nodes=nodes, created=created, context=context, batches=batches, **changed)

    @property
    def state(self) -> LeaderAndIsr:
        """Leader and ISR in ZooKeeper."""
        leader_and_isr: LeaderAndIsr = self.zookeeper.get(None, PATH)[0].leader_and_isr
        return leader_and_isr

    def registered(self) -> dict[int, int]:
        """The live brokers, with their epochs."""
        names = self.zookeeper.children(None, "/brokers/ids")[0]
        return {int(name): self.zookeeper.get(None, registration(int(name)))[1].czxid for name in names}

    def after(self, step: Any) -> Frozen:
        """Continue the event; if the controller has moved, drop it."""
        if isinstance(step, EventWaiting):
            return self.freeze(processing=step)
        assert step.failure in (None, EventFailure.ControllerMoved)
        assert self.value.moved or step.failure is None
        return self.freeze(processing=None)


def beginning() -> Frozen:
    """Broker 1 leads; the controller has taken over."""
    empty = tuple(frozen(part) for part in vars(InMemoryBatch()).values())
    context = tuple(frozen(part) for part in vars(InMemoryContext(epoch=1)).values())
    created = frozenset((registration(broker), 0) for broker in BROKERS)
    cluster = Thawed(Frozen(frozen(InMemoryState().nodes), created, context, (empty,) * 3))
    for path in ("/controller_epoch", "/brokers", "/brokers/ids", "/brokers/topics"):
        cluster.zookeeper.create(None, path)
    for broker in BROKERS:
        cluster.zookeeper.create(None, registration(broker))
    cluster.zookeeper.create(None, "/brokers/topics/t", TopicAssignment(((0, ReplicaAssignment(BROKERS)),)))
    step: Any = cluster.controller.process(Call("on_controller_failover"))
    while isinstance(step, EventWaiting):
        requests = cluster.controller.requests(step)
        step = cluster.controller.answered(step, retry_requests_until_connected(cluster.zookeeper, None, requests))
    assert step.failure is None
    return cluster.freeze()


def following(value: Frozen) -> Iterator[tuple[str, Frozen]]:
    """The possible next steps, and their results."""
    for broker in BROKERS:
        cluster = Thawed(value)
        if value.changes < 4:
            if broker in cluster.registered():
                cluster.zookeeper.delete(None, registration(broker))
                yield f"{broker} dies", cluster.freeze(queued=True, changes=value.changes + 1)
            else:
                cluster.zookeeper.create(None, registration(broker))
                yield f"{broker} starts", cluster.freeze(queued=True, changes=value.changes + 1)
    cluster = Thawed(value)
    if value.shrinks < 1 and cluster.state.leader in cluster.registered() and len(cluster.state.isr) > 1:
        data = cluster.zookeeper.get(None, PATH)[0]
        shrunk = data.leader_and_isr._replace(isr=(data.leader_and_isr.leader,))
        cluster.zookeeper.set(None, PATH, data._replace(leader_and_isr=shrunk))
        yield "shrink", cluster.freeze(shrinks=1)
    if not value.moved:
        cluster = Thawed(value)
        cluster.zookeeper.set(None, "/controller_epoch", 2)
        yield "another controller", cluster.freeze(moved=True)
    cluster = Thawed(value)
    if value.processing is not None:
        requests = cluster.controller.requests(value.processing)
        responses = retry_requests_until_connected(cluster.zookeeper, None, requests)
        yield "answer", cluster.after(cluster.controller.answered(value.processing, responses))
    elif value.queued and not value.moved:
        step = cluster.controller.process(Call("process_broker_change"))
        yield "process", cluster.after(step)._replace(queued=False)


def explore(first: Frozen) -> tuple[dict[Frozen, tuple[Frozen, str] | None], int]:
    """All reachable states, each with its predecessor and step; and the number of steps."""
    reached: dict[Frozen, tuple[Frozen, str] | None] = {first: None}
    level, steps = [first], 0
    while level:
        found = []
        for value in level:
            before = Thawed(value).state
            for name, after in following(value):
                steps += 1
                state = Thawed(after).state
                assert state.leader_epoch >= before.leader_epoch, name
                assert state[:3] == before[:3] or name in ("answer", "shrink"), name
                if after not in reached:
                    reached[after] = (value, name)
                    found.append(after)
        level = found
    return reached, steps


@pytest.mark.long
def test_every_interleaving_of_two_brokers() -> None:
    """In each state the ISR has members and its leader is one; at rest, the controller has handled every change."""
    reached, steps = explore(beginning())
    at_rest = 0
    for value in reached:
        cluster = Thawed(value)
        state, live = cluster.state, cluster.registered()
        assert state.isr
        assert state.leader == NO_LEADER or state.leader in state.isr
        if value.processing is None and not value.queued and not value.moved:
            at_rest += 1
            assert cluster.context.state.live_broker_epochs == live
            assert state.leader in live or not set(state.isr) & set(live)
            assert len(state.isr) == 1 or set(state.isr) <= set(live)
            assert cluster.context.leadership_of(P) is not None
    left = {value.processing for value in reached} - {None}
    assert (len(reached), steps, at_rest, len(left)) == (3382, 7660, 41, 94)
