"""The two state machines over the state of a specification, which holds a change between two batches of requests."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import permutations
from typing import Any

import pytest

from election.ids import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch
from spec.checking import check
from spec.language import (
    Partial,
    Size,
    Specification,
    State,
    Step,
    action,
    at_most,
    bound,
    constant,
    initial,
    integers,
    invariant,
    part,
    require,
    sometimes,
    switches,
    transition_invariant,
    variable,
)
from spec.parts.zookeeper import Ensemble, Session, Znodes, ZooKeeperPart
from statemachines.controller.context import ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.controller.kafka_zk_client import ZkBatch, ZkRequest, ZkResponse, retry_requests_until_connected
from statemachines.controller.partition_state_machine import (
    OFFLINE,
    PartitionLeaderElectionStrategy,
    PartitionStateChange,
    PartitionStateMachine,
    PartitionStep,
)
from statemachines.controller.replica_state_machine import ReplicaStateChange, ReplicaStateMachine, ReplicaStep
from statemachines.controller.request_batch import ControllerBrokerRequestBatch
from statemachines.controller.state_change import ChangeDone
from statemachines.controller.zk_state_machine import PartitionUpdate
from statemachines.messages.control_requests import (
    LeaderAndIsrPartitionState,
    StopReplicaPartitionState,
    UpdateMetadataPartitionState,
)
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicName, TopicPartition
from statemachines.messages.zk_data import TopicPartitionState, topic_partition_state_path
from statemachines.releases import RELEASES
from statemachines.tables.partition import OfflinePartition, OnlinePartition, PartitionState
from statemachines.tables.replica import OfflineReplica, OnlineReplica, ReplicaState
from statemachines.zookeeper.tree import Node, SessionId, ZkVersion

P = TopicPartition("t", 0)
PATH = topic_partition_state_path(P)
BROKERS = (0, 1)


class Controlled(State):
    """A controller's context and batch, the ZooKeeper that it writes to, and a change in progress."""

    zk: Ensemble
    epoch: ControllerEpoch = variable("Its own.")
    epoch_zk_version: ZkVersion = variable("The version of its node.", of=lambda self: (0,))
    shutting_down_broker_ids: frozenset[BrokerId] = variable(
        "Brokers that shut down.", of=lambda self: (frozenset(),)
    )
    all_topics: frozenset[TopicName] = variable("The topics.", of=lambda self: (frozenset(),))
    partitions_being_reassigned: frozenset[TopicPartition] = variable("None.", of=lambda self: (frozenset(),))
    topics_to_be_deleted: frozenset[TopicName] = variable("None.", of=lambda self: (frozenset(),))
    topics_with_deletion_started: frozenset[TopicName] = variable("None.", of=lambda self: (frozenset(),))
    topics_ineligible_for_deletion: frozenset[TopicName] = variable("None.", of=lambda self: (frozenset(),))
    partition_assignments: Partial[TopicPartition, ReplicaAssignment] = variable("Its replicas.")
    partition_leadership_info: Partial[TopicPartition, LeaderIsrAndControllerEpoch] = variable(
        "Its last leader and ISR."
    )
    live_broker_epochs: Partial[BrokerId, BrokerEpoch] = variable("The registered brokers.")
    replicas_on_offline_dirs: Partial[BrokerId, frozenset[TopicPartition]] = variable("None.")
    partition_states: Partial[TopicPartition, PartitionState] = variable("The state of the partition.")
    replica_states: Partial[PartitionAndReplica, ReplicaState] = variable("The states of its replicas.")
    update_metadata_brokers: frozenset[BrokerId] = variable("The receivers of metadata.")
    leader_and_isr: Partial[PartitionAndReplica, LeaderAndIsrPartitionState] = variable("States for replicas.")
    stop_replica: Partial[PartitionAndReplica, StopReplicaPartitionState] = variable("Replicas to stop.")
    update_metadata: Partial[TopicPartition, UpdateMetadataPartitionState] = variable("States for all brokers.")
    electing: PartitionStateChange | None = variable("An election that waits for ZooKeeper.")
    removing: ReplicaStateChange | None = variable("A removal from the ISR that waits for ZooKeeper.")

    @property
    def state(self) -> LeaderAndIsr:
        """The partition's leader and ISR in ZooKeeper."""
        state: TopicPartitionState = self.zk.nodes[PATH].data
        return state.leader_and_isr

    @property
    def idle(self) -> bool:
        """No change is in progress."""
        return self.electing is None and self.removing is None


class OnePartition(Specification[Controlled]):
    """Two brokers fail and return; the controller elects and removes, batch by batch; the leader shrinks its ISR."""

    writes: int = constant(3, "Bound: number of writes of the partition's state.")

    design: ControlDesign = switches(
        ControlDesign, {release: ControlDesign(release) for release in RELEASES}, only=[ControlDesign.keep_last_isr]
    )

    def sizes(self) -> Mapping[Any, Size]:
        """As large as the writes need, and not reordered."""
        isrs = [members for size in range(3) for members in permutations(BROKERS, size)]
        epochs = integers(0, self.writes)
        return {
            BrokerId: BROKERS,
            SessionId: [Session("c", 0)],
            TopicName: ("t",),
            TopicPartition: (P,),
            PartitionAndReplica: [PartitionAndReplica(P, broker) for broker in BROKERS],
            ReplicaAssignment: (ReplicaAssignment(BROKERS),),
            PartitionLeaderElectionStrategy: (OFFLINE,),
            ControllerEpoch: (1,),
            BrokerEpoch: (0,),
            LeaderEpoch: epochs,
            ZkVersion: epochs,
            tuple[BrokerId, ...]: isrs,
            **{getattr(of, name): (value,) for of, name, value in FIXED},
            LeaderAndIsrPartitionState.leader: (-1, *BROKERS),
            UpdateMetadataPartitionState.leader: (-1, *BROKERS),
            StopReplicaPartitionState.leaderEpoch: epochs,
            ReplicaStateChange.due: (
                ZkBatch.GetTopicPartitionStates,
                ZkBatch.GetTopicConfigs,
                ZkBatch.SetTopicPartitionStates,
            ),
            PartitionStateChange.results: ((),),
            PartitionStateChange.to_elect: ((),),
            ReplicaStateChange.leaderless: ((),),
            ReplicaStateChange.to_come: ((),),
            tuple[TopicPartition, ...]: [(), (P,)],
            tuple[PartitionUpdate, ...]: at_most(1),
        }

    @part
    def zk(self) -> ZooKeeperPart:
        """Nodes without watches, and no session that ends."""
        state = self.domain_of(TopicPartitionState)
        znodes: Collection[Znodes] = (
            Znodes("/"),
            Znodes(CONTROLLER_EPOCH, data=(1,)),
            Znodes(PATH, data=state, version=integers(0, self.writes)),
        )
        return ZooKeeperPart(sessions=self.domain_of(SessionId), znodes=znodes, max_events=0, expiries=False)

    def context(self, s: Controlled) -> ControllerContext:
        """The controller's context, over this state."""
        return ControllerContext(s)

    def machines(self, s: Controlled) -> tuple[PartitionStateMachine, ReplicaStateMachine]:
        """Its state machines, over this state."""
        context = self.context(s)
        batch = ControllerBrokerRequestBatch(0, context, lambda broker, request: None, s)
        unclean = not self.design.keep_last_isr
        return (
            PartitionStateMachine(context, batch, self.design, unclean_leader_election_enable=unclean),
            ReplicaStateMachine(context, batch, self.design, unclean_leader_election_enable=unclean),
        )

    @initial
    def led(self, s: Controlled) -> None:
        """Broker 0 leads."""
        s.zk.nodes[CONTROLLER_EPOCH] = Node(data=1)
        s.zk.nodes[PATH] = Node(data=TopicPartitionState(LeaderAndIsr(0, 0, BROKERS), 1))
        s.partition_assignments[P] = ReplicaAssignment(BROKERS)
        s.partition_leadership_info[P] = LeaderIsrAndControllerEpoch(LeaderAndIsr(0, 0, BROKERS), 1)
        s.partition_states[P] = OnlinePartition
        for broker in BROKERS:
            s.live_broker_epochs[broker] = 0
            s.replica_states[PartitionAndReplica(P, broker)] = OnlineReplica

    @action
    def dies(self, s: Controlled, broker: BrokerId) -> None:
        """A broker is gone, and the controller has noticed."""
        require(s.idle and broker in s.live_broker_epochs)
        self.context(s).remove_live_brokers([broker])

    @action
    def returns(self, s: Controlled, broker: BrokerId) -> None:
        """A broker is back, and receives its leader."""
        require(s.idle and broker not in s.live_broker_epochs)
        self.context(s).add_live_brokers({broker: 0})
        self.follow(
            s, None, self.machines(s)[1].handle_state_changes([PartitionAndReplica(P, broker)], OnlineReplica)
        )

    @action
    def elect(self, s: Controlled) -> None:
        """The leader is not online: another is elected."""
        offline = self.context(s).partitions_with_offline_leader()
        require(s.idle and offline)
        machine, _ = self.machines(s)
        assert machine.handle_state_changes(offline, OfflinePartition) == ChangeDone()
        self.follow(s, machine.trigger_online_partition_state_change(), None)

    @action
    def remove(self, s: Controlled, broker: BrokerId) -> None:
        """A dead replica leaves the ISR."""
        require(s.idle and broker not in s.live_broker_epochs)
        self.follow(
            s, None, self.machines(s)[1].handle_state_changes([PartitionAndReplica(P, broker)], OfflineReplica)
        )

    @action(lost=(False, True))
    def answer(self, s: Controlled, lost: bool) -> None:
        """ZooKeeper answers the due batch, perhaps after a first answer was lost."""
        partitions, replicas = self.machines(s)
        bound(s.zk.nodes[PATH].version < self.writes)
        if s.electing is not None:
            responses = self.responses(s, partitions.requests(s.electing), lost)
            self.follow(s, partitions.answered(s.electing, responses), None)
        elif s.removing is not None:
            responses = self.responses(s, replicas.requests(s.removing), lost)
            self.follow(s, None, replicas.answered(s.removing, responses))
        else:
            require(False)

    def responses(self, s: Controlled, requests: Sequence[ZkRequest], lost: bool) -> tuple[ZkResponse, ...]:
        """ZooKeeper's responses; if the first ones are lost, all requests are sent twice."""
        answered = 0 if lost else len(requests)
        return retry_requests_until_connected(self.zk.servers(s.zk), None, requests, answered, len(requests))

    @action
    def shrink(self, s: Controlled) -> None:
        """The leader removes the others from its ISR, whatever the controller is doing."""
        require(s.state.leader in s.live_broker_epochs and len(s.state.isr) > 1)
        bound(s.zk.nodes[PATH].version < self.writes)
        shrunk = s.state._replace(isr=(s.state.leader,))
        self.zk.servers(s.zk).set(None, PATH, s.zk.nodes[PATH].data._replace(leader_and_isr=shrunk))

    def follow(self, s: Controlled, electing: PartitionStep | None, removing: ReplicaStep | None) -> None:
        """Store the change that is now in progress."""
        s.electing = electing if isinstance(electing, PartitionStateChange) else None
        s.removing = removing if isinstance(removing, ReplicaStateChange) else None

    @invariant
    def isr_not_empty(self, s: Controlled) -> bool:
        """There is always a replica that can lead."""
        return len(s.state.isr) > 0

    @invariant
    def cache_not_ahead(self, s: Controlled) -> bool:
        """C9: every state in the controller's cache has been written."""
        return s.partition_leadership_info[P].leader_and_isr.partition_epoch <= s.zk.nodes[PATH].version

    @invariant
    def batch_empty_at_rest(self, s: Controlled) -> bool:
        """A finished change has sent its requests."""
        return not s.idle or not (s.leader_and_isr or s.stop_replica or s.update_metadata_brokers)

    @transition_invariant
    def epochs_grow(self, before: Controlled, step: Step, after: Controlled) -> bool:
        """Each write of the controller has the next leader epoch; a leader's own write keeps it."""
        grown = after.state.leader_epoch - before.state.leader_epoch
        written = after.zk.nodes[PATH].version - before.zk.nodes[PATH].version
        return grown == (written if step.action == "answer" else 0)

    @sometimes
    def led_by_the_other(self, s: Controlled) -> bool:
        """The other broker is elected."""
        return s.state.leader == 1 and s.partition_states[P] is OnlinePartition

    @sometimes
    def conflict(self, s: Controlled) -> bool:
        """A change waits to write a state that another has written since it was read."""
        change = s.electing or s.removing
        return bool(
            change
            and change.due is ZkBatch.SetTopicPartitionStates
            and change.updates[0].leader_and_isr.partition_epoch < s.zk.nodes[PATH].version
        )


FIXED: list[tuple[Any, str, Any]] = [
    *(
        (kind, "partition", P)
        for kind in (LeaderAndIsrPartitionState, StopReplicaPartitionState, UpdateMetadataPartitionState)
    ),
    *((LeaderAndIsrPartitionState, name, ()) for name in ("addingReplicas", "removingReplicas")),
    (LeaderAndIsrPartitionState, "replicas", BROKERS),
    (UpdateMetadataPartitionState, "replicas", BROKERS),
]
"""Fields that never change."""


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_a_specification_explores_every_interleaving(engine: str) -> None:
    """Leaders write between any two batches, replies are lost, and the properties hold; on every engine."""
    result = check(OnePartition(), engine=engine)
    assert (result.verdict, result.distinct_states) == ("holds", 824), str(result)


def test_a_specification_finds_the_empty_isr() -> None:
    """If the last member leaves, no replica can lead: until 1.0, and with the switch of that name. [B14]"""
    of_1_0 = check(OnePartition, release="1.0", engine="reference", properties=["isr_not_empty"])
    result = check(OnePartition(keep_last_isr=False), engine="reference", properties=["isr_not_empty"])
    assert of_1_0.verdict == result.verdict
    assert result.counterexample is not None
    assert (result.verdict, result.counterexample.broken) == ("violated", "isr_not_empty")
