"""A cluster that runs in memory: a real controller of `statemachines`, its ZooKeeper, and brokers that obey.

The controller is `ControllerEventProcessor`, which was compared with Kafka's own (docs/kafka.md): what it writes and
sends here is what Kafka writes and sends. Brokers are as a person expects them to be: they do at once what they are
told, and a replica that can catch up does. So after each event the cluster comes to rest: leaders take followers that
have caught up into their ISRs, and the controller goes on with what waited for that.

What is assumed of brokers: a replica that was not in sync at first with a leader that ran stays so until its broker
returns, or is elected; no leader shrinks its ISR by itself. Brokers delete what they are told to. The next controller
is the living broker with the lowest id. What can happen between an event and rest, or if brokers are slow, is
`any_order`'s.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from election.ids import BrokerId, ControllerEpoch
from spec.language.errors import UsageError
from spec.what_if.cluster import KnownCluster, PartitionStatus, listed
from spec.what_if.events import (
    AllowUnclean,
    AnotherController,
    ClusterEvent,
    Crash,
    ElectPreferred,
    Reassign,
    Return,
    Shutdown,
)
from statemachines.alter_partition import AlterPartitionData, AlterPartitionRequest
from statemachines.control_design import control_design_of
from statemachines.control_responses import StopReplicaResponse, response_received
from statemachines.controller import BROKER_IDS, CONTROLLER_EPOCH, registration
from statemachines.controller_calls import Call, Processing, call
from statemachines.controller_context import ControllerContext
from statemachines.controller_event_processor import ControllerEventProcessor, event_of, event_processor
from statemachines.kafka_zk_client import READS, ZkRequest, retry_requests_until_connected
from statemachines.messages.control_requests import ControlRequest, StopReplicaRequest
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import NO_EPOCH, NO_LEADER, LeaderAndIsr, LeaderRecoveryState
from statemachines.messages.topic_partition import PartitionAndReplica, TopicName, TopicPartition
from statemachines.releases import RELEASES
from statemachines.replica_leader_election import ElectionTrigger, ElectionType
from statemachines.state_change import FailedStateChange, Processed
from statemachines.zk_data import (
    PERSISTENT_PATHS,
    REASSIGN_PARTITIONS,
    TOPICS,
    TopicAssignment,
    TopicConfig,
    TopicPartitionState,
    delete_topics_topic_path,
    isr_change_notification_path,
    topic_config_path,
    topic_partition_path,
    topic_partition_state_path,
    topic_partitions_path,
    topic_path,
)
from statemachines.zookeeper.server import Multi, ZooKeeper
from statemachines.zookeeper.tree import ZkPath, add_nodes

__all__ = ["Elected", "Failed", "RunningCluster", "Sent", "Effect", "Written"]


class Elected(NamedTuple):
    """A broker is controller now."""

    controller: BrokerId
    epoch: ControllerEpoch


class Written(NamedTuple):
    """A node of ZooKeeper was written, created or deleted."""

    path: ZkPath
    data: Any
    """None: it is deleted, or has none."""


class Sent(NamedTuple):
    """A request went to a broker."""

    broker: BrokerId
    request: ControlRequest


class Failed(NamedTuple):
    """The controller could not do all of something."""

    what: str


Effect: TypeAlias = Elected | Written | Sent | Failed | FailedStateChange
"""What the controller did, logged as an error, or a leader did, one thing after the other."""


class RunningCluster:
    """A cluster, and what is done to it.

    Args:
        cluster: how it is at first.
        release: of the controller; else the newest with ZooKeeper.
    """

    def __init__(self, cluster: KnownCluster, release: str = RELEASES[-1]) -> None:
        self.design = control_design_of(release)
        self.steps: list[Effect] = []
        """What has been done since the cluster was laid out."""
        self.unclean: set[TopicPartition] = set()
        """The partitions that got a leader that was not in sync: records may be lost."""
        self.zookeeper = ZooKeeper()
        self.controller: ControllerEventProcessor | None = None
        self._controller_id: BrokerId | None = None
        self._release = release
        self._unclean_by_default = cluster.permits_unclean(release)
        self._queue: deque[Call] = deque()
        self._known, self._partitions = cluster.brokers, cluster.partitions.keys()
        self._lagging = {
            PartitionAndReplica(partition, broker)
            for partition, status in cluster.partitions.items()
            if status.leader in cluster.live
            for broker in set(status.assignment.replicas) - set(status.isr)
        }
        self._lay_out(cluster)
        if cluster.controller is not None:
            self._elect(cluster.controller)
            self._rest()
            self._put_back_epochs(cluster)

    def _lay_out(self, cluster: KnownCluster) -> None:
        """The nodes of a cluster."""
        create = self.zookeeper.create
        elected = cluster.controller is not None
        create(None, CONTROLLER_EPOCH, cluster.controller_epoch - elected)  # which it raises by one
        for path in PERSISTENT_PATHS:
            create(None, path)
        for broker in sorted(cluster.live):
            create(None, registration(broker))
        by_topic: dict[TopicName, dict[TopicPartition, PartitionStatus]] = {}
        for partition, status in cluster.partitions.items():
            by_topic.setdefault(partition.topic, {})[partition] = status
        for topic, partitions in by_topic.items():
            assignments = {partition: status.assignment for partition, status in partitions.items()}
            create(None, topic_path(topic), TopicAssignment.encode(assignments))
            create(None, topic_partitions_path(topic))
            if topic in cluster.unclean:
                create(None, topic_config_path(topic), TopicConfig(cluster.unclean[topic]))
            self._lay_out_states(partitions)
        for topic in sorted(cluster.deletion_queued):
            create(None, delete_topics_topic_path(topic))
        if cluster.reassigning:
            create(None, REASSIGN_PARTITIONS, tuple(cluster.reassigning.items()))

    def _lay_out_states(self, partitions: Mapping[TopicPartition, PartitionStatus]) -> None:
        """The nodes of partitions that have a state."""
        data: dict[ZkPath, Any] = {}
        for partition, status in partitions.items():
            if status.has_state:
                leader = NO_LEADER if status.leader is None else status.leader
                state = LeaderAndIsr(leader, status.leader_epoch, status.isr)
                data[topic_partition_path(partition)] = None
                data[topic_partition_state_path(partition)] = TopicPartitionState.encode(state, 0)
        add_nodes(self.zookeeper.state.nodes, data)

    def _put_back_epochs(self, cluster: KnownCluster) -> None:
        """What was written anew as it is, keeps its leader epoch.

        The controller that was described has been so for long, this one takes over. Since 2.3 that takes dead
        replicas out of their ISRs once more, also the last one of an ISR, which stays there in the next epoch.
        """
        assert self.controller is not None
        context = self.controller.context
        for partition, now in self.partitions().items():
            then = cluster.partitions[partition]
            leader = then.leader if then.leader in cluster.live else None
            known = context.leadership_of(partition)
            if known is None or now.leader_epoch == then.leader_epoch:
                continue
            if (now.assignment, now.leader, now.isr) == (then.assignment, leader, then.isr):
                path = topic_partition_state_path(partition)
                state = known.leader_and_isr._replace(leader_epoch=then.leader_epoch, partition_epoch=0)
                written = self.zookeeper.get(None, path)[0]._replace(leader_and_isr=state)
                version = self.zookeeper.set(None, path, written).version
                leadership = known._replace(leader_and_isr=state._replace(partition_epoch=version))
                context.put_partition_leadership_info(partition, leadership)

    # What is to be seen of it.

    @property
    def live(self) -> frozenset[BrokerId]:
        """The brokers that are registered."""
        return frozenset(map(int, self.zookeeper.children(None, BROKER_IDS)[0]))

    def partitions(self) -> dict[TopicPartition, PartitionStatus]:
        """How each partition is now, by ZooKeeper; without those whose topics have been deleted."""
        nodes, live = self.zookeeper.state.nodes, self.live
        statuses = {}
        for topic in sorted(self.zookeeper.children(None, TOPICS)[0]):
            for partition, assignment in nodes[topic_path(topic)].data.decode(topic).items():
                node = nodes.get(topic_partition_state_path(partition))
                leader, epoch, isr = (NO_LEADER, NO_EPOCH, ()) if node is None else node.data.leader_and_isr[:3]
                led_by = leader if leader in live else None
                statuses[partition] = PartitionStatus(assignment, led_by, isr, epoch)
        return statuses

    # What is done to it.

    def undergo(self, event: ClusterEvent) -> None:
        """Let an event happen, and the cluster come to rest.

        Raises:
            UsageError: it cannot happen now; nothing has changed.
        """
        match event:
            case Crash(brokers):
                self._need(event, brokers, alive=True)
                self._leave(brokers)
            case Shutdown(brokers):
                self._need(event, brokers, alive=True)
                for broker in brokers:
                    self._shut_down(broker)
            case Return(brokers):
                self._need(event, brokers, alive=False)
                self._return(brokers)
            case AllowUnclean(topic):
                event.require_release(self._release)
                self._allow_unclean(topic)
            case Reassign(targets):
                self._reassign(targets)
            case ElectPreferred():
                self._elect_preferred()
            case AnotherController():
                self._fail_over()
        self._rest()

    def _need(self, event: ClusterEvent, brokers: Sequence[BrokerId], alive: bool) -> None:
        """Refuse what cannot happen."""
        if not brokers:
            raise UsageError(f"{event}: no broker is named")
        if twice := {broker for broker in brokers if brokers.count(broker) > 1}:
            raise UsageError(f"{event}: {listed(twice)} is named twice")
        if strangers := set(brokers) - self._known:
            raise UsageError(f"{event}: there is no broker {listed(strangers)}; there are {listed(self._known)}")
        if others := [broker for broker in brokers if (broker in self.live) is not alive]:
            are = "is" if len(others) == 1 else "are"
            raise UsageError(f"{event}: {listed(others)} {are} {'not alive' if alive else 'alive'} then")

    def _leave(self, brokers: Iterable[BrokerId]) -> None:
        gone = set(brokers)
        for broker in sorted(gone):
            self.zookeeper.delete(None, registration(broker))
        if self._controller_id in gone:
            self._elect_next()
        else:
            self._process("process_broker_change")

    def _shut_down(self, broker: BrokerId) -> None:
        """The broker asks, and goes; there is no one to ask if it is the last."""
        epoch = self.zookeeper.exists(None, registration(broker))
        assert epoch is not None
        answered = self._process("process_controlled_shutdown", broker, epoch.czxid)
        if answered is not None and answered.answer:
            led = ", ".join(map(str, answered.answer))
            self.steps.append(Failed(f"broker {broker} goes, though it still leads {led}"))
        self._leave((broker,))

    def _return(self, brokers: Iterable[BrokerId]) -> None:
        back = set(brokers)
        for broker in sorted(back):
            self.zookeeper.create(None, registration(broker))
        self._lagging = {each for each in self._lagging if each.replica not in back}
        if self.controller is None:
            self._elect_next()
        else:
            self._process("process_broker_change")

    def _allow_unclean(self, topic: TopicName | None) -> None:
        if topic is None:
            self._unclean_by_default = True
            if self.controller is not None:
                self._configure(self.controller)
        else:
            if topic_path(topic) not in self.zookeeper.state.nodes:
                raise UsageError(f"there is no topic {topic} of which unclean elections could be permitted")
            path = topic_config_path(topic)
            if path in self.zookeeper.state.nodes:
                self.zookeeper.set(None, path, TopicConfig(unclean_leader_election_enable=True))
            else:
                self.zookeeper.create(None, path, TopicConfig(unclean_leader_election_enable=True))
        self._process("process_unclean_leader_election_enable", *(() if topic is None else (topic,)))

    def _reassign(self, targets: Mapping[TopicPartition, tuple[BrokerId, ...]]) -> None:
        for partition, target in targets.items():
            if partition not in self._partitions:
                raise UsageError(f"reassignment of {partition}: there is no such partition")
            if strangers := set(target) - self._known:
                there = f"there is no broker {listed(strangers)}; there are {listed(self._known)}"
                raise UsageError(f"reassignment of {partition}: {there}")
        asked = tuple((partition, tuple(target)) for partition, target in targets.items())
        if self.design.kip_455:
            answered = self._process("process_api_partition_reassignment", asked)
            for partition, error in () if answered is None or not answered.answer else answered.answer:
                if error.name != "NONE":
                    self.steps.append(Failed(f"the reassignment of {partition} is refused: {error.name}"))
        elif REASSIGN_PARTITIONS in self.zookeeper.state.nodes:  # nor does kafka-reassign-partitions.sh touch it
            self.steps.append(
                Failed(f"the reassignment is refused: another one is under way in {REASSIGN_PARTITIONS}")
            )
        else:
            self.zookeeper.create(None, REASSIGN_PARTITIONS, asked)
            self._process("process_zk_partition_reassignment")

    def _elect_preferred(self) -> None:
        if self.controller is None:
            return
        partitions = self.controller.context.all_partitions()
        trigger = ElectionTrigger.AdminClientTriggered
        self._process("process_replica_leader_election", partitions, ElectionType.PREFERRED, trigger)

    def _fail_over(self) -> None:
        others = self.live - {self._controller_id}
        if not others:
            raise UsageError("controller failover: there is no other broker that could be controller")
        self._elect(min(others))

    # Its controller.

    def _elect_next(self) -> None:
        """Another broker is controller, if one is alive."""
        if self.live:
            self._elect(min(self.live))
        else:
            self.controller = self._controller_id = None

    def _elect(self, broker: BrokerId) -> None:
        epoch = self.zookeeper.get(None, CONTROLLER_EPOCH)[0] + 1
        version = self.zookeeper.set(None, CONTROLLER_EPOCH, epoch).version
        context = ControllerContext()
        context.state.epoch, context.state.epoch_zk_version = epoch, version
        self._queue.clear()
        self._controller_id = broker
        self.controller = event_processor(
            broker, self._send, context, self.design, put=self._queue.append, log=self.steps.append
        )
        self._configure(self.controller)
        self.steps.append(Elected(broker, epoch))
        self._process("on_controller_failover")

    def _configure(self, controller: ControllerEventProcessor) -> None:
        """Both state machines go by what is configured: until 1.0 it also says whether an ISR may become empty."""
        for machine in (controller.partition_state_machine, controller.replica_state_machine):
            machine.unclean_leader_election_enable = self._unclean_by_default

    def _send(self, broker: BrokerId, request: ControlRequest) -> None:
        self.steps.append(Sent(broker, request))
        if self.controller is not None and isinstance(request, StopReplicaRequest):
            self._delete(self.controller.context, broker, request)

    def _delete(self, context: ControllerContext, broker: BrokerId, request: StopReplicaRequest) -> None:
        """The broker does so, and answers; the controller hears of it if a topic is to be deleted.

        Until 2.1 there are requests for brokers that are gone, too, which go nowhere.
        """
        if broker not in self.live:
            return
        stopped = [TopicPartition(each.topicName, each.partitionIndex) for each in request.partitionStates]
        response = StopReplicaResponse(Errors.NONE, tuple((partition, Errors.NONE) for partition in stopped))
        received = response_received(broker, request, response, context, self.design)
        event = None if received is None else event_of(received)
        if event is not None:
            self._queue.append(event)

    def _process(self, method: str, *arguments: Any) -> Processed | None:
        """An event of the controller, to its end; None: there is no controller."""
        return None if self.controller is None else self._carry_out(self.controller, Call(method, arguments))

    def _carry_out(self, controller: ControllerEventProcessor, event: Call) -> Processed:
        processing = controller.process(event)
        while isinstance(processing, Processing):
            requests = controller.requests(processing)
            before = self._data_at(requests)
            responses = retry_requests_until_connected(self.zookeeper, None, requests)
            self._note(requests, before)
            processing = controller.answered(processing, responses)
        if processing.failure is not None:
            self.steps.append(Failed(f"{event.method} was cut short: {processing.failure}"))
        return processing

    def _data_at(self, requests: Iterable[ZkRequest]) -> dict[ZkPath, Any]:
        """What stands where something is about to be written."""
        nodes = self.zookeeper.state.nodes
        paths = (each.path for request in requests for each in _writes(request))
        return {path: nodes[path].data for path in paths if path in nodes}

    def _note(self, requests: Iterable[ZkRequest], before: Mapping[ZkPath, Any]) -> None:
        """What was written, as it stands there now; and who was elected that was not in sync."""
        nodes = self.zookeeper.state.nodes
        for path in (each.path for request in requests for each in _writes(request)):
            if path not in nodes and path not in before:  # it was to be deleted, and was not there
                continue
            data, old = nodes[path].data if path in nodes else None, before.get(path)
            self.steps.append(Written(path, data))
            if isinstance(data, TopicPartitionState) and isinstance(old, TopicPartitionState):
                leader = data.leader_and_isr.leader
                if leader != NO_LEADER and leader not in old.leader_and_isr.isr:
                    self.unclean.add(_partition_of(path))

    # Its brokers.

    def _rest(self) -> None:
        """Leaders take those into their ISRs that have caught up, and the controller does what it has to."""
        refused: set[TopicPartition] = set()
        while self.controller is not None:
            if self._queue:
                self._carry_out(self.controller, self._queue.popleft())
                continue
            due = self._caught_up(self.controller.context, refused)
            if not due:
                return
            if self.design.alter_partition:
                self._ask_for_isrs(self.controller, due, refused)
            else:
                self._write_isrs(due)

    def _caught_up(
        self, context: ControllerContext, refused: set[TopicPartition]
    ) -> dict[BrokerId, list[tuple[TopicPartition, LeaderAndIsr]]]:
        """Of each leader the partitions whose ISR it wants to be another, with the ISR that is to be."""
        due: dict[BrokerId, list[tuple[TopicPartition, LeaderAndIsr]]] = {}
        live = set(context.live_broker_ids())
        for partition, known in context.state.partition_leadership_info.items():
            now = known.leader_and_isr
            if now.leader not in live or partition in refused:
                continue
            joining = tuple(
                broker
                for broker in context.partition_replica_assignment(partition)
                if broker in live
                and broker not in now.isr
                and PartitionAndReplica(partition, broker) not in self._lagging
            )
            if joining or now.leader_recovery_state is LeaderRecoveryState.RECOVERING:
                # Who recovers says so first, and takes others in by another request.
                recovering = now.leader_recovery_state is LeaderRecoveryState.RECOVERING
                wanted = now._replace(
                    isr=now.isr if recovering else (*now.isr, *joining),
                    leader_recovery_state=LeaderRecoveryState.RECOVERED,
                )
                due.setdefault(now.leader, []).append((partition, wanted))
        return due

    def _ask_for_isrs(
        self,
        controller: ControllerEventProcessor,
        due: Mapping[BrokerId, Sequence[tuple[TopicPartition, LeaderAndIsr]]],
        refused: set[TopicPartition],
    ) -> None:
        """Leaders ask for it [AlterPartition, since 2.7]."""
        for leader, changes in due.items():
            partitions = tuple(
                AlterPartitionData(
                    *partition, each.leader_epoch, each.isr, each.leader_recovery_state, each.partition_epoch
                )
                for partition, each in changes
            )
            epoch = controller.context.state.live_broker_epochs[leader]
            request = AlterPartitionRequest(leader, epoch, partitions)
            answer = self._carry_out(controller, call(controller.process_alter_partition, request)).answer
            altered = {} if answer is None else dict(answer.partitions)
            refused |= {partition for partition, _ in changes if not isinstance(altered.get(partition), LeaderAndIsr)}

    def _write_isrs(self, due: Mapping[BrokerId, Sequence[tuple[TopicPartition, LeaderAndIsr]]]) -> None:
        """Leaders write it, and leave a notification; of what moves the controller watches the state [until 2.6]."""
        for changes in due.values():
            for partition, each in changes:
                path = topic_partition_state_path(partition)
                state = self.zookeeper.get(None, path)[0]
                self.zookeeper.set(None, path, state._replace(leader_and_isr=each._replace(partition_epoch=0)))
                self.steps.append(Written(path, self.zookeeper.get(None, path)[0]))
            named = tuple(partition for partition, _ in changes)
            for partition in named:
                self._process("process_partition_reassignment_isr_change", partition)
            self.zookeeper.create(None, isr_change_notification_path(), named, sequential=True)
            self._process("process_isr_change_notification")


def _writes(request: ZkRequest) -> tuple[Any, ...]:
    """The writes of a request, without its fence."""
    if isinstance(request, READS):
        return ()
    operations = request.operations if isinstance(request, Multi) else (request,)
    return tuple(each for each in operations if hasattr(each, "path") and each.path != CONTROLLER_EPOCH)


def _partition_of(path: ZkPath) -> TopicPartition:
    """The partition whose state stands there."""
    _, _, _, topic, _, partition, _ = path.split("/")
    return TopicPartition(topic, int(partition))
