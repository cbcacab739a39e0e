"""The client of a specification's controller: the explored class is the imported one, and reads give the same."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from spec.checking.model import Model
from spec.parts.zk_client import ZkClientReadingVariables
from spec.systems.control_requests import ControlRequests
from spec.systems.partitions import Partitions
from spec.systems.reassignment import Reassignment
from spec.systems.topic_deletion import TopicDeletion
from statemachines.controller.calls import Call, Calls, EventFailure, then
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.event_driver import carry_out
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.state_change import EventDone
from statemachines.controller.zk_client import ControllerZkClient
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.zk_data import (
    DELETE_TOPICS,
    ISR_CHANGE_NOTIFICATION,
    TopicAssignment,
    topic_partition_state_path,
    topic_partitions_path,
)
from tests.statemachines.control import T0, T1, Cluster

ASSIGNMENTS = {T0: ReplicaAssignment((1, 2)), T1: ReplicaAssignment((2, 3))}


@pytest.mark.parametrize("system", [Partitions, Reassignment, TopicDeletion, ControlRequests])
def test_the_explored_controller_is_the_imported_one(system: type[Any]) -> None:
    """It is not defined in the system, which supplies only its client."""
    specification = system()
    window = Model(specification).window()
    s: Any = window.load(Model(specification).first_states()[0])
    controller = specification.controller(s)
    assert type(controller) is ControllerEventProcessor
    assert isinstance(controller.zk_client, ZkClientReadingVariables)


class Asking(ControllerEventProcessor):
    """A controller that makes one request."""

    def ask(self, method: str, arguments: tuple[Any, ...]) -> Calls:
        ask: Callable[..., Calls] = getattr(self.zk_client, method)
        return (*ask(*arguments), then(self.hear))

    def hear(self, answer: Any) -> None:
        self.heard = answer


@pytest.fixture
def cluster() -> Cluster:
    """Two partitions; one has a state, and their topic will be deleted."""
    cluster = Cluster()
    cluster.lead(T0, 1, (1, 2), replicas=(1, 2))
    cluster.zookeeper.set(None, "/brokers/topics/t", TopicAssignment.encode(ASSIGNMENTS))
    for path in ("/admin", DELETE_TOPICS, f"{DELETE_TOPICS}/t"):
        cluster.zookeeper.create(None, path)
    return cluster


def asking(cluster: Cluster, client: ControllerZkClient | None) -> Asking:
    """A controller with this client."""
    return Asking(cluster.partitions, cluster.replicas, cluster.batch, zk_client=client)


def at_once(cluster: Cluster, fence_zk: bool = True) -> ZkClientReadingVariables:
    """The client that reads ZooKeeper's nodes from variables; the leader of a partition has changed its ISR."""
    nodes = cluster.zookeeper.state.nodes
    variables: Any = SimpleNamespace(
        zk=cluster.zookeeper.state,
        epoch=cluster.zookeeper.get(None, "/controller_epoch")[0],
        isr_change_notification=frozenset({T1}),
        written=lambda partition: nodes.get(topic_partition_state_path(partition)),
    )
    return ZkClientReadingVariables(cluster.context, ControlDesign().but(fence_zk=fence_zk), variables, ASSIGNMENTS)


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("path_exists", (f"{DELETE_TOPICS}/t",)),
        ("path_exists", ("/admin/reassign_partitions",)),
        ("get_children", (DELETE_TOPICS,)),
        ("get_children", (topic_partitions_path("t"),)),
        ("get_children", ("/log_dir_event_notification",)),
        ("get_all_topics_in_cluster", ()),
        ("get_full_replica_assignment_for_topics", (("t",),)),
        ("get_full_replica_assignment_for_topics", (("u",),)),
        ("get_topic_partition_states", ((T0, T1),)),
    ],
)
def test_immediate_reads_equal_zookeepers_answers(cluster: Cluster, method: str, arguments: tuple[Any, ...]) -> None:
    """And it waits for no reply."""
    by_requests, reading = asking(cluster, None), asking(cluster, at_once(cluster))
    event = Call("ask", (method, arguments))
    assert reading.process(event) == EventDone()
    assert carry_out(by_requests, event, cluster.zookeeper, None) == EventDone()
    assert reading.heard == by_requests.heard


@pytest.mark.parametrize("fence_zk", [True, False])
def test_a_replaced_controller_learns_it_when_deleting_notifications(cluster: Cluster, fence_zk: bool) -> None:
    """It reads them; until 2.0 it deletes them as well."""
    cluster.elect_another_controller()
    client = at_once(cluster, fence_zk)
    controller = asking(cluster, client)
    processed = controller.process(Call("process_isr_change_notification"))
    assert processed == EventDone(failure=EventFailure.ControllerMoved if fence_zk else None)
    assert client.cluster.isr_change_notification == (frozenset({T1}) if fence_zk else frozenset())
    assert controller.process(Call("ask", ("get_children", (ISR_CHANGE_NOTIFICATION,)))) == EventDone()
    assert controller.heard == (("t-1",) if fence_zk else ())
