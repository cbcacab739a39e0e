"""What the two state machines have in common: how they ask ZooKeeper, and how they judge what it answers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from election.ids import BrokerId
from statemachines.controller.context import ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.kafka_zk_client import (
    UNFENCED,
    ZkBatch,
    ZkRequest,
    ZkResponse,
    create_topic_partition,
    create_topic_partition_states,
    create_topic_partitions,
    fenced,
    get_topic_configs,
    get_topic_partition_states,
    set_topic_partition_states,
    unwrapped,
)
from statemachines.controller.request_batch import ControllerBrokerRequestBatch, RequestsNotSent
from statemachines.controller.state_change import (
    ElectionOutcome,
    FailedStateChange,
    StateChangeCause,
    StateChangeFailure,
    log_failed_state_change,
)
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from statemachines.messages.topic_partition import PartitionAndReplica, TopicName, TopicPartition
from statemachines.messages.zk_data import TopicConfig, TopicPartitionState
from statemachines.tables.partition import PartitionState
from statemachines.tables.replica import ReplicaState
from statemachines.tables.table import HasState, IllegalTransition, Table
from statemachines.zookeeper.server import Write
from statemachines.zookeeper.tree import Code

S = TypeVar("S", PartitionState, ReplicaState)

__all__ = ["PartitionUpdate", "StateChange", "ZkStateMachine", "topics_of"]


class PartitionUpdate(NamedTuple):
    """The state of a partition, as it is to be written, or as it was read."""

    partition: TopicPartition
    leader_and_isr: LeaderAndIsr
    recipients: tuple[BrokerId, ...] = ()
    """The replicas that are told when it has been written."""


class StateChange(Protocol):
    """A change of states that waits for ZooKeeper."""

    @property
    def due(self) -> ZkBatch:
        """The batch of requests that is next."""

    @property
    def asking(self) -> tuple[TopicPartition, ...]:
        """The partitions that it is about."""

    @property
    def updates(self) -> tuple[PartitionUpdate, ...]:
        """What it writes; or what has been read, until more has been."""


def topics_of(partitions: Iterable[TopicPartition]) -> tuple[TopicName, ...]:
    """The topics of these partitions, each once."""
    return tuple(dict.fromkeys(partition.topic for partition in partitions))


class ZkStateMachine:
    """A state machine of a controller, over what the controller knows.

    Args:
        context: what it knows.
        batch: the requests to brokers.
        design: that of its release.
        log: called with each change that failed, where Kafka logs an error and goes on. The default logs it as well.
            None: nothing is logged, and nothing is looked up for it.
        unclean_leader_election_enable: what its broker is configured for topics that are configured nothing.
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

    # What is asked, and what is answered.

    def requests(self, change: StateChange) -> tuple[ZkRequest, ...]:
        """The requests of the batch that is due, fenced where that is done."""
        epoch = self.context.state.epoch
        states = ((update.partition, update.leader_and_isr) for update in change.updates)
        writes: tuple[Write, ...]
        match change.due:
            case ZkBatch.GetTopicPartitionStates | ZkBatch.GetWrittenStates:
                return get_topic_partition_states(change.asking)
            case ZkBatch.GetTopicConfigs:
                return get_topic_configs(self._configured(change))
            case ZkBatch.CreateTopicPartitions:
                writes = create_topic_partitions(topics_of(change.asking))
            case ZkBatch.CreateTopicPartition:
                writes = create_topic_partition(change.asking)
            case ZkBatch.CreateTopicPartitionStates:
                writes = create_topic_partition_states(states, epoch)
            case ZkBatch.SetTopicPartitionStates:
                writes = set_topic_partition_states(states, epoch)
        return fenced(writes, self.context.state.epoch_zk_version) if self.design.fence_zk else writes

    def responses_of(self, change: StateChange, responses: Sequence[ZkResponse]) -> tuple[ZkResponse, ...]:
        """The answers to the requests of the batch that is due, without those of their fences.

        Raises:
            ControllerMoved: a fence found that another controller has been elected.
            RequestFailed: a fence had no answer.
            ValueError: these are not as many as the requests.
        """
        match change.due:
            case ZkBatch.GetTopicConfigs:
                wanted = len(self._configured(change))
            case ZkBatch.CreateTopicPartitions:
                wanted = len(topics_of(change.asking))
            case _:
                wanted = len(change.asking)
        if len(responses) != wanted:
            raise ValueError(f"{change.due}: {wanted} requests have {len(responses)} answers")
        return unwrapped(responses) if self.design.fence_zk and change.due not in UNFENCED else tuple(responses)

    def decoded(self, response: ZkResponse) -> ElectionOutcome:
        """The leader and ISR that were read of a partition, or why nothing can be made of the answer."""
        if response.code is Code.NONODE or (response.code is Code.OK and response.data is None):
            return StateChangeFailure.NoLeaderAndIsr
        if response.code is not Code.OK:
            return response.code
        state: TopicPartitionState = response.data
        if state.controller_epoch > self.context.state.epoch:
            return StateChangeFailure.NewerController
        return state.decode(response.version).leader_and_isr

    def is_written(self, update: PartitionUpdate, response: ZkResponse) -> bool:
        """Whether a state that was read back is the one that was to be written. [checkLeaderAndIsrZkData, 1.0]"""
        data = TopicPartitionState.encode(update.leader_and_isr, self.context.state.epoch)
        return response.code is Code.OK and response.data == data

    def unclean_of(self, change: StateChange, responses: Sequence[ZkResponse]) -> Mapping[TopicName, bool | Code]:
        """Which of the topics permit unclean elections, or why that could not be read [getLogConfigs].

        Where a topic was read more than once, the latest answer counts, and a failure more than any answer.
        """
        answers = list(zip(self._configured(change), map(self._unclean, responses), strict=True))
        failed = {topic: answer for topic, answer in answers if isinstance(answer, Code)}
        return {**dict(answers), **failed}

    def _configured(self, change: StateChange) -> tuple[TopicName, ...]:
        """The topics whose configurations are read, in the order of the requests.

        Until 2.3 they are a Seq, with a topic for each partition; since then a Set.
        [PartitionStateMachine.scala 412, 2.2.2; 474, 2.4.1]
        """
        if self.design.read_config_once:
            return topics_of(change.asking)
        return tuple(partition.topic for partition in change.asking)

    def _unclean(self, response: ZkResponse) -> bool | Code:
        if response.code not in (Code.OK, Code.NONODE):
            return response.code
        config: TopicConfig = response.data or TopicConfig()
        configured = config.unclean_leader_election_enable
        return self.unclean_leader_election_enable if configured is None else configured

    # What changes.

    def known(self, leader_and_isr: LeaderAndIsr) -> LeaderIsrAndControllerEpoch:
        """What the controller remembers of what it read or wrote: always with its own epoch."""
        return LeaderIsrAndControllerEpoch(leader_and_isr, self.context.state.epoch)

    def fail(
        self,
        subject: TopicPartition | PartitionAndReplica | None,
        target: PartitionState | ReplicaState,
        cause: StateChangeCause,
    ) -> None:
        """Log that a state does not change [logFailedStateChange]. Where nothing is logged, nothing is looked up."""
        if self.log is None:
            return
        state: PartitionState | ReplicaState | None = None
        if isinstance(subject, TopicPartition):
            state = self.context.partition_state(subject)
        elif subject is not None:
            state = self.context.replica_state(subject)
        self.log(FailedStateChange(subject, state, target, cause))

    def fail_illegal(
        self, table: Table[S], subject: TopicPartition | PartitionAndReplica, model: HasState[S], target: S
    ) -> None:
        """Log what the table's machine raises for a transition that it does not have [logInvalidTransition]."""
        if self.log is None:
            return
        try:
            table.become(model, target)
        except IllegalTransition as illegal:
            cause = StateChangeFailure.InvalidTransition
            self.log(FailedStateChange(subject, illegal.source, illegal.dest, cause))

    def send(self, target: PartitionState | ReplicaState) -> bool:
        """Send what the change has added. Whether that could be done."""
        try:
            self.batch.send_requests_to_brokers(self.context.state.epoch)
        except RequestsNotSent:
            self.fail(None, target, StateChangeFailure.RequestsNotSent)
            return False
        return True

    def check_asked(self, asked: Sequence[Any], partitions: Iterable[TopicPartition]) -> None:
        """Raise ValueError for what no controller is asked: something twice, or a partition that it does not know."""
        if len(set(asked)) != len(asked):
            twice = next(each for each in asked if list(asked).count(each) > 1)
            raise ValueError(f"{twice} stands twice in what is to be changed")
        assigned, states = self.context.state.partition_assignments, self.context.state.partition_states
        for partition in partitions:
            if partition not in assigned and partition not in states:
                raise ValueError(f"the controller knows of no partition {partition}")
