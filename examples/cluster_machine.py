"""A Hypothesis state machine written by hand: brokers start and die, topics are created, other controllers take over.

Three bundles hold what a program has by name: brokers that do not run, sessions of those that do, and partitions.
`start` consumes a broker and makes a session, and `expire` does the reverse, so no rule needs a filter. The rules run
the imported core: ZooKeeper, and a controller's event thread as a release has it. Copy it, and add your own rules.
Under pytest, `TestCluster = Cluster.TestCase` is enough.

Topics permit unclean elections. Until 1.0, the last broker then left the ISR when it died (KAFKA-5642):

    3.9: nothing breaks
    1.0: the ISR of t0-0 is empty
    state = Cluster10()
    brokers_0, brokers_1, brokers_2 = state.three_brokers()
    state.check()
    sessions_0 = state.start(broker=brokers_2)
    state.check()
    partitions_0 = state.create_topic(replicas=[sessions_0])
    state.check()
    brokers_3 = state.expire(session=sessions_0)
    state.check()
    state.teardown()
"""

from typing import Any

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from statemachines import zk_data
from statemachines.control_design import control_design_of
from statemachines.controller import registration
from statemachines.controller_calls import call
from statemachines.controller_event_processor import event_processor
from statemachines.messages.leader_and_isr import NO_LEADER
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.replica_leader_election import ElectionTrigger, ElectionType
from statemachines.state_change import carry_out
from statemachines.zookeeper.server import ZooKeeper

PHASES = (Phase.generate, Phase.shrink)
Session = tuple[int, int]
"""A broker, and how many sessions were opened before."""


class Cluster(RuleBasedStateMachine):
    """A cluster whose controller handles each event before the next one happens."""

    release = "3.9"
    brokers: Bundle[int] = Bundle("brokers")
    sessions: Bundle[Session] = Bundle("sessions")
    partitions: Bundle[TopicPartition] = Bundle("partitions")

    def __init__(self) -> None:
        super().__init__()
        self.zookeeper, self.opened = ZooKeeper(), 0
        self.epochs: dict[TopicPartition, int] = {}
        for path in ("/controller_epoch", *zk_data.PERSISTENT_PATHS):
            self.zookeeper.create(None, path)
        self.another_controller()

    def process(self, event: Any, *arguments: Any) -> None:
        """The controller handles an event to its end."""
        carry_out(self.controller, self.controller.process(call(event, *arguments)), self.zookeeper, None)

    @initialize(target=brokers)
    def three_brokers(self) -> Any:
        """None of them runs."""
        return multiple(1, 2, 3)

    @rule()
    def another_controller(self) -> None:
        """A new controller reads ZooKeeper."""
        design = control_design_of(self.release)
        self.controller = event_processor(0, lambda broker, request: None, design=design, log=None)
        self.process(self.controller.on_controller_failover)

    @rule(target=sessions, broker=consumes(brokers))
    def start(self, broker: int) -> Session:
        """A broker opens a session and registers."""
        session, self.opened = (broker, self.opened), self.opened + 1
        self.zookeeper.connect(session)
        self.zookeeper.create(session, registration(broker), ephemeral=True)
        self.process(self.controller.process_broker_change)
        return session

    @rule(target=brokers, session=consumes(sessions))
    def expire(self, session: Session) -> int:
        """A session ends, and its broker dies."""
        self.zookeeper.expire(session)
        self.process(self.controller.process_broker_change)
        return session[0]

    @rule(target=partitions, replicas=st.lists(sessions, min_size=1, unique=True))
    def create_topic(self, replicas: list[Session]) -> TopicPartition:
        """A topic with one partition is created on running brokers."""
        partition = TopicPartition(f"t{len(self.epochs)}", 0)
        assignment = ReplicaAssignment(tuple(broker for broker, _ in replicas))
        self.zookeeper.create(None, zk_data.topic_config_path(partition.topic), zk_data.TopicConfig(True))
        self.zookeeper.create(None, zk_data.topic_path(partition.topic), zk_data.TopicAssignment(((0, assignment),)))
        self.process(self.controller.process_topic_change)
        self.epochs[partition] = 0
        return partition

    @rule(partition=partitions)
    def elect_preferred(self, partition: TopicPartition) -> None:
        """An administrator asks for the preferred leader."""
        preferred = ElectionType.PREFERRED, ElectionTrigger.AdminClientTriggered
        self.process(self.controller.process_replica_leader_election, frozenset({partition}), *preferred)

    @invariant()
    def check(self) -> None:
        """Each partition is well, and the controller knows what ZooKeeper has."""
        for partition, epoch in self.epochs.items():
            known = self.controller.context.state.partition_leadership_info[partition].leader_and_isr
            state = self.zookeeper.get(None, zk_data.topic_partition_state_path(partition))[0].leader_and_isr
            assert state.isr, f"the ISR of {partition} is empty"
            assert state.leader in (*state.isr, NO_LEADER), f"the leader of {partition} is not in sync"
            assert state.leader_epoch >= epoch, f"the leader epoch of {partition} went back"
            assert known[:3] == state[:3], f"the controller is wrong about {partition}"
            self.epochs[partition] = state.leader_epoch


class Cluster10(Cluster):
    """With a controller of 1.0."""

    release = "1.0"


def main() -> None:
    """Run both; Hypothesis shrinks what fails to a program."""
    few = settings(
        max_examples=30, stateful_step_count=20, deadline=None, derandomize=True, print_blob=False, phases=PHASES
    )
    for machine in (Cluster, Cluster10):
        machine.TestCase.settings = few
        try:
            machine.TestCase().runTest()
            print(f"{machine.release}: nothing breaks")
        except AssertionError as broken:
            program = "\n".join(broken.__notes__)
            print(f"{machine.release}: {broken}", program[program.index("state = ") :], sep="\n")


if __name__ == "__main__":
    main()
