"""What the two state machines share: their requests to ZooKeeper, and their interpretation of the responses.

A change of states is carried out by calls (see `calls`): it waits for ZooKeeper, and continues with the responses.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from statemachines.controller.calls import Await, Call, Calls
from statemachines.controller.context import ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.request_batch import ControllerBrokerRequestBatch, RequestsNotSent
from statemachines.controller.state_change import (
    ElectionOutcome,
    FailedStateChange,
    StateChangeCause,
    StateChangeFailure,
    log_failed_state_change,
)
from statemachines.controller.zk_requests import PartitionUpdate, StateRequests, ZkBatch, ZkResponse
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from statemachines.messages.topic_partition import PartitionAndReplica, TopicName, TopicPartition
from statemachines.messages.zk_data import TopicConfig, TopicPartitionState
from statemachines.tables.partition import PartitionState
from statemachines.tables.replica import ReplicaState
from statemachines.tables.table import HasState, IllegalTransition, Table
from statemachines.zookeeper.tree import Code

S = TypeVar("S", PartitionState, ReplicaState)
T = TypeVar("T")

Answers: TypeAlias = Sequence[tuple[T, ZkResponse]]
"""What each request of a batch is about, and its response."""


class ZkStateMachine:
    """A state machine of a controller.

    Args:
        context: the controller's context.
        batch: the requests to brokers.
        design: the design of its release.
        log: called with each failed change, where Kafka logs an error and continues. The default logs it, too; None
            logs nothing, and looks nothing up for it.
        unclean_leader_election_enable: the broker's default for topics without a setting of their own.
    """

    def __init__(
        self,
        context: ControllerContext,
        batch: ControllerBrokerRequestBatch,
        design: ControlDesign | None = None,
        log: Callable[[FailedStateChange], object] | None = log_failed_state_change,
        unclean_leader_election_enable: bool = False,
    ) -> None:
        self.context, self.batch, self.log = context, batch, log
        self.design = ControlDesign() if design is None else design
        self.unclean_leader_election_enable = unclean_leader_election_enable

    # Requests and responses.

    def get_topic_partition_states_raw(self, partitions: Iterable[TopicPartition], following: Call) -> Calls:
        """Read the states of partitions; the call takes pairs of partition and response."""
        return (Await(StateRequests(ZkBatch.GetTopicPartitionStates, partitions=tuple(partitions)), following),)

    def get_log_configs(self, partitions: Iterable[TopicPartition], following: Call) -> Calls:
        """Read the configurations of partitions' topics; the call takes pairs of topic and response.

        Until 2.3 the topics are a Seq, with a topic for each partition; since then a Set.
        [PartitionStateMachine.scala 412, 2.2.2; 474, 2.4.1]
        """
        topics = tuple(partition.topic for partition in partitions)
        if self.design.read_config_once:
            topics = tuple(dict.fromkeys(topics))
        return (Await(StateRequests(ZkBatch.GetTopicConfigs, topics), following),)

    def set_topic_partition_states_raw(self, updates: Iterable[PartitionUpdate], following: Call) -> Calls:
        """Set states, if they still have these versions; the call takes pairs of update and response."""
        return (Await(StateRequests(ZkBatch.SetTopicPartitionStates, updates=tuple(updates)), following),)

    def get_written_states(self, updates: Iterable[PartitionUpdate], following: Call) -> Calls:
        """Read states back that had other versions; the call takes pairs of update and response."""
        return (Await(StateRequests(ZkBatch.GetWrittenStates, updates=tuple(updates)), following),)

    def decoded(self, response: ZkResponse) -> ElectionOutcome:
        """The leader and ISR in a response to a read, or the reason for none."""
        if response.code is Code.NONODE or (response.code is Code.OK and response.data is None):
            return StateChangeFailure.NoLeaderAndIsr
        if response.code is not Code.OK:
            return response.code
        state: TopicPartitionState = response.data
        if state.controller_epoch > self.context.state.epoch:
            return StateChangeFailure.NewerController
        return state.decode(response.version).leader_and_isr

    def is_written(self, update: PartitionUpdate, response: ZkResponse) -> bool:
        """Whether a state that was read back equals the write. [checkLeaderAndIsrZkData, 1.0]"""
        data = TopicPartitionState.encode(update.leader_and_isr, self.context.state.epoch)
        return response.code is Code.OK and response.data == data

    def unclean_of(self, answers: Answers[TopicName]) -> Mapping[TopicName, bool | Code]:
        """Whether the topics permit unclean elections, or the error of the read [getLogConfigs].

        If a topic was read more than once, its last response wins, and any failure overrides it.
        """
        unclean = [(topic, self._unclean(response)) for topic, response in answers]
        failed = {topic: each for topic, each in unclean if isinstance(each, Code)}
        return {**dict(unclean), **failed}

    def _unclean(self, response: ZkResponse) -> bool | Code:
        if response.code not in (Code.OK, Code.NONODE):
            return response.code
        config: TopicConfig = response.data or TopicConfig()
        configured = config.unclean_leader_election_enable
        return self.unclean_leader_election_enable if configured is None else configured

    # Changes of state.

    def known(self, leader_and_isr: LeaderAndIsr) -> LeaderIsrAndControllerEpoch:
        """The context's value for a state that was read or written: always with the controller's own epoch."""
        return LeaderIsrAndControllerEpoch(leader_and_isr, self.context.state.epoch)

    def log_failure(
        self,
        subject: TopicPartition | PartitionAndReplica | None,
        target: PartitionState | ReplicaState,
        cause: StateChangeCause,
    ) -> None:
        """Log that a state does not change [logFailedStateChange]. Without a log, look nothing up."""
        if self.log is None:
            return
        state: PartitionState | ReplicaState | None = None
        if isinstance(subject, TopicPartition):
            state = self.context.partition_state(subject)
        elif subject is not None:
            state = self.context.replica_state(subject)
        self.log(FailedStateChange(subject, state, target, cause))

    def log_illegal(
        self, table: Table[S], subject: TopicPartition | PartitionAndReplica, model: HasState[S], target: S
    ) -> None:
        """Log the error of the table's machine for a missing transition [logInvalidTransition]."""
        if self.log is None:
            return
        try:
            table.become(model, target)
        except IllegalTransition as illegal:
            cause = StateChangeFailure.InvalidTransition
            self.log(FailedStateChange(subject, illegal.source, illegal.dest, cause))

    def send(self, target: PartitionState | ReplicaState) -> bool:
        """Send the requests of the change; return whether that succeeded."""
        try:
            self.batch.send_requests_to_brokers(self.context.state.epoch)
        except RequestsNotSent:
            self.log_failure(None, target, StateChangeFailure.RequestsNotSent)
            return False
        return True

    def check_asked(self, asked: Sequence[Any], partitions: Iterable[TopicPartition]) -> None:
        """Raise ValueError if something occurs twice, or for a partition that the controller does not know."""
        if len(set(asked)) != len(asked):
            twice = next(each for each in asked if list(asked).count(each) > 1)
            raise ValueError(f"{twice} occurs twice in one change")
        assigned, states = self.context.state.partition_assignments, self.context.state.partition_states
        for partition in partitions:
            if partition not in assigned and partition not in states:
                raise ValueError(f"the controller knows of no partition {partition}")
