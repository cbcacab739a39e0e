"""A Hypothesis state machine written by hand: brokers start and die, topics are created, other controllers take over.

Three bundles name the objects of a program: stopped brokers, running brokers, and partitions. `start` consumes a
stopped broker and makes a running one, and `crash` does the reverse, so no rule needs a filter. The rules only
trigger events in a `Cluster`; a seed draws the order of the steps that follow. Copy it, and add your own rules. Under
pytest, `TestCluster = ClusterMachine.TestCase` is enough. Broker 0 always runs.

Topics permit unclean elections. Until 1.0, the last broker then left the ISR when it died (KAFKA-5642):

    3.9: nothing breaks
    1.0: the ISR of t0-0 is empty
    state = ClusterMachine10()
    brokers_0, brokers_1, brokers_2 = state.three_brokers()
    state.check()
    running_0 = state.start(broker=brokers_2, seed=0)
    state.check()
    partitions_0 = state.create_topic(replicas=[3], seed=0)
    state.check()
    brokers_3 = state.crash(broker=running_0, seed=0)
    state.check()
    state.teardown()
"""

from typing import Any

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from statemachines import Cluster
from statemachines.messages.topic_partition import TopicPartition

PHASES = (Phase.generate, Phase.shrink)
SEEDS = st.integers(0, 7)


class ClusterMachine(RuleBasedStateMachine):
    """A cluster that comes to rest before the next event."""

    release = "3.9"
    brokers: Bundle[int] = Bundle("brokers")
    running: Bundle[int] = Bundle("running")
    partitions: Bundle[TopicPartition] = Bundle("partitions")

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster((0, 1, 2, 3), self.release, down=(1, 2, 3))
        self.cluster.settle()
        self.epochs: dict[TopicPartition, int] = {}

    @initialize(target=brokers)
    def three_brokers(self) -> Any:
        """None of them runs."""
        return multiple(1, 2, 3)

    @rule(target=running, broker=consumes(brokers), seed=SEEDS)
    def start(self, broker: int, seed: int) -> int:
        """A broker starts."""
        self.cluster.restart(broker)
        self.cluster.settle(seed)
        return broker

    @rule(target=brokers, broker=consumes(running), seed=SEEDS)
    def crash(self, broker: int, seed: int) -> int:
        """A broker dies."""
        self.cluster.crash(broker)
        self.cluster.settle(seed)
        return broker

    @rule(seed=SEEDS)
    def another_controller(self, seed: int) -> None:
        """The controller loses its session, and an election follows; the same broker may win in a new session."""
        assert self.cluster.controller is not None
        self.cluster.expire_session(self.cluster.controller)
        self.cluster.settle(seed)

    @rule(target=partitions, replicas=st.lists(running, min_size=1, unique=True), seed=SEEDS)
    def create_topic(self, replicas: list[int], seed: int) -> TopicPartition:
        """A topic with one partition is created on running brokers."""
        partition = TopicPartition(f"t{len(self.epochs)}", 0)
        self.cluster.create_topic(partition.topic, {0: replicas})
        self.cluster.allow_unclean(partition.topic)
        self.cluster.settle(seed)
        self.epochs[partition] = 0
        return partition

    @rule(partition=partitions, seed=SEEDS)
    def elect_preferred(self, partition: TopicPartition, seed: int) -> None:
        """An administrator asks for the preferred leader."""
        self.cluster.elect([partition])
        self.cluster.settle(seed)

    @invariant()
    def check(self) -> None:
        """Each partition is healthy."""
        for partition, now in self.cluster.partitions().items():
            assert now.isr, f"the ISR of {partition} is empty"
            assert now.leader in (*now.isr, None), f"the leader of {partition} is not in sync"
            assert now.leader_epoch >= self.epochs[partition], f"the leader epoch of {partition} went back"
            self.epochs[partition] = now.leader_epoch


class ClusterMachine10(ClusterMachine):
    """With a controller of 1.0."""

    release = "1.0"


def main() -> None:
    """Run both; Hypothesis shrinks a failure to a program."""
    few = settings(
        max_examples=30, stateful_step_count=20, deadline=None, derandomize=True, print_blob=False, phases=PHASES
    )
    for machine in (ClusterMachine, ClusterMachine10):
        machine.TestCase.settings = few
        try:
            machine.TestCase().runTest()
            print(f"{machine.release}: nothing breaks")
        except AssertionError as broken:
            program = "\n".join(broken.__notes__)
            print(f"{machine.release}: {broken}", program[program.index("state = ") :], sep="\n")


if __name__ == "__main__":
    main()
