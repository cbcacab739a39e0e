"""ZooKeeper beside a controller, and its other clients: leaders, brokers, administrators, a newer controller.

Their commands are methods of `ScriptedCluster`; on Kafka's side they are in `java/control/.../Ensemble.java` and
`ScriptedCluster.java`. A command that is impossible has no effect: a topic is created once, a node is deleted if it
exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from election.ids import BrokerEpoch, BrokerId, ControllerEpoch
from spec.kafka.control_values import parsed
from statemachines.controller.calls import Await
from statemachines.controller.design import CONTROLLER, CONTROLLER_EPOCH, registration
from statemachines.controller.zk_requests import (
    StateRequests,
    ZkRequest,
    ZkResponse,
    retry_requests_until_connected,
)
from statemachines.messages.leader_and_isr import LeaderRecoveryState
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicName
from statemachines.messages.zk_data import (
    LOG_DIR_EVENT_NOTIFICATION,
    PERSISTENT_PATHS,
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    TopicAssignment,
    TopicConfig,
    TopicPartitionState,
    delete_topics_topic_path,
    isr_change_notification_path,
    topic_config_path,
    topic_partition_state_path,
    topic_path,
)
from statemachines.zookeeper.server import Multi, ZooKeeper
from statemachines.zookeeper.tree import ZkPath

ControlCommand = Mapping[str, Any]
"""A command, as JSON."""
SESSION: Final = "controller"
"""The session of the controller's client."""
OTHER_CONTROLLER: Final = 8
"""The id of another broker that is elected."""
AGAIN: Final = -1
"""In `meanwhile`: before the requests that a lost connection left unanswered are repeated."""
NO_ARGUMENTS: Final = frozenset({"do", "handle", "meanwhile", "lost"})
"""The keys of a command besides its arguments."""


class Disagreement(NamedTuple):
    """A difference between the two sides."""

    what: str
    ours: Any
    kafkas: Any

    def __str__(self) -> str:
        return f"{self.what}\n    ours    {self.ours}\n    Kafka's {self.kafkas}"


def different(what: str, ours: Any, kafkas: Any) -> list[Disagreement]:
    """The disagreement, if there is one."""
    return [] if ours == kafkas else [Disagreement(what, ours, kafkas)]


class ScriptedCluster:
    """ZooKeeper, a controller's session, and the commands of others."""

    def __init__(self) -> None:
        self.zookeeper = ZooKeeper()
        for path in PERSISTENT_PATHS:
            self.zookeeper.create(None, path)
        self.zookeeper.create(None, CONTROLLER_EPOCH, 0)
        self.zookeeper.connect(SESSION)
        self.registered: list[BrokerEpoch] = []
        """The epochs under which brokers have registered, in order."""

    def perform(self, command: ControlCommand) -> object:
        """Carry out a command."""
        arguments = {name: value for name, value in command.items() if name not in NO_ARGUMENTS}
        method: Callable[..., object] = getattr(self, command["do"])
        return method(**arguments)

    # Requests of the controller's client.

    def answers(self, requests: Sequence[ZkRequest], command: ControlCommand, number: int) -> tuple[ZkResponse, ...]:
        """The answers to a batch, while the command's `meanwhile` happens."""
        happens = [row for row in command.get("meanwhile", ()) if row[0] == number and row[1] < len(requests)]
        lost = [row for row in command.get("lost", ()) if row[0] == number]
        answered, carried_out = (
            min(each, len(requests)) for each in (lost[-1][1:] if lost else (len(requests),) * 2)
        )
        responses: list[ZkResponse] = []
        again: list[ZkRequest] = []
        for place, request in enumerate(requests):
            for _, _, other in (row for row in happens if row[1] == place):
                self.perform(other)
            if place < answered:
                responses.append(self._answered(request))
                continue
            if place == answered:
                self.lose_connection()
            if place < carried_out:
                retry_requests_until_connected(self.zookeeper, SESSION, [request])
            again.append(request)
        if again:
            for _, _, other in (row for row in happens if row[1] == AGAIN):
                self.perform(other)
            self.reconnect()
        return (*responses, *map(self._answered, again))

    def _answered(self, request: ZkRequest) -> ZkResponse:
        [response] = retry_requests_until_connected(self.zookeeper, SESSION, [request])
        self.hear()
        self.learn(request, response)
        return response

    def hear(self) -> None:
        """Watch events arrive, before an answer."""

    def learn(self, request: ZkRequest, response: ZkResponse) -> None:
        """A request has been answered."""

    def lose_connection(self) -> None:
        """The connection is lost."""

    def reconnect(self) -> None:
        """The connection is restored."""

    # Leaders, and a newer controller.

    def configure(self, topic: TopicName, unclean: bool | None) -> None:
        """An administrator enables unclean elections of a topic, or disables them; None leaves the default."""
        path = topic_config_path(topic)
        if path in self.zookeeper.state.nodes:
            self.zookeeper.set(None, path, TopicConfig(unclean))
        else:
            self.zookeeper.create(None, path, TopicConfig(unclean))

    def leader_writes(self, partition: str, isr: Sequence[BrokerId]) -> None:
        """A leader changes its ISR, if there is a state."""
        recovered = LeaderRecoveryState.RECOVERED
        self._change(
            partition,
            lambda state: state._replace(
                leader_and_isr=state.leader_and_isr._replace(isr=tuple(isr), leader_recovery_state=recovered)
            ),
        )

    def newer_controller_writes(self, partition: str) -> None:
        """A newer controller writes a state, before this controller has any other sign of it."""
        if CONTROLLER_EPOCH in self.zookeeper.state.nodes:
            epoch, _ = self.zookeeper.get(None, CONTROLLER_EPOCH)
            self._change(partition, lambda state: state._replace(controller_epoch=epoch + 1))

    def _change(self, partition: str, how: Callable[[TopicPartitionState], TopicPartitionState]) -> None:
        path = topic_partition_state_path(parsed(partition))
        if path in self.zookeeper.state.nodes:
            self.zookeeper.set(None, path, how(self.zookeeper.get(None, path)[0]))

    def delete_state(self, partition: str) -> None:
        """Delete a partition's state, if it exists."""
        path = topic_partition_state_path(parsed(partition))
        if path in self.zookeeper.state.nodes:
            self.zookeeper.delete(None, path)

    def newer_controller(self) -> None:
        """Another controller is elected."""
        if CONTROLLER_EPOCH in self.zookeeper.state.nodes:
            epoch, _ = self.zookeeper.get(None, CONTROLLER_EPOCH)
            self.zookeeper.set(None, CONTROLLER_EPOCH, epoch + 1)

    def expire(self) -> None:
        """The controller's session ends without its knowledge."""
        if SESSION in self.zookeeper.state.sessions:
            self.zookeeper.expire(SESSION)

    # Brokers.

    def register(self, brokers: Iterable[BrokerId]) -> None:
        """Brokers register, unless they are registered already."""
        for broker in brokers:
            if registration(broker) not in self.zookeeper.state.nodes:
                created = self.zookeeper.create(None, registration(broker))
                self.registered.append(created.stat.czxid)

    def die(self, brokers: Iterable[BrokerId]) -> None:
        """Brokers end."""
        for broker in brokers:
            self._delete(registration(broker))

    def bounce(self, brokers: Iterable[BrokerId]) -> None:
        """Registered brokers restart."""
        for broker in brokers:
            if registration(broker) in self.zookeeper.state.nodes:
                self._delete(registration(broker))
                self.register((broker,))

    def notify_isr(self, partitions: Iterable[str]) -> None:
        """Leaders report that they have changed the ISRs of these partitions."""
        changed = tuple(map(parsed, partitions))
        self.zookeeper.create(None, isr_change_notification_path(), changed, sequential=True)

    def fail_log_dir(self, broker: BrokerId) -> None:
        """A broker reports that it has lost a log directory."""
        self.zookeeper.create(None, f"{LOG_DIR_EVENT_NOTIFICATION}/log_dir_event_", broker, sequential=True)

    # Administrators.

    def create_topic(self, topic: TopicName, partitions: Mapping[str, Sequence[BrokerId]]) -> None:
        """Create a topic with these partitions."""
        self._create(topic_path(topic), _assigned(partitions))

    def extend_topic(self, topic: TopicName, partitions: Mapping[str, Sequence[BrokerId]]) -> None:
        """Add to a topic those of these partitions that it does not have."""
        path = topic_path(topic)
        if path in self.zookeeper.state.nodes:
            now = dict(self.zookeeper.get(None, path)[0].partitions)
            extended = {**dict(_assigned(partitions).partitions), **now}
            self.zookeeper.set(None, path, TopicAssignment(tuple(sorted(extended.items()))))

    def ask_deletion(self, topic: TopicName) -> None:
        """Request a topic's deletion."""
        self._create(delete_topics_topic_path(topic))

    def reassign_by_node(self, targets: Mapping[str, Sequence[BrokerId]]) -> None:
        """Request a reassignment, unless one is in progress."""
        self._create(
            REASSIGN_PARTITIONS, tuple((parsed(partition), tuple(target)) for partition, target in targets.items())
        )

    def write_reassignment(self, targets: Mapping[str, Sequence[BrokerId]]) -> None:
        """Request a reassignment, and overwrite the node."""
        self._write(
            REASSIGN_PARTITIONS, tuple((parsed(partition), tuple(target)) for partition, target in targets.items())
        )

    def elect_by_node(self, partitions: Iterable[str]) -> None:
        """Request preferred elections, unless others are in progress."""
        self._create(PREFERRED_REPLICA_ELECTION, tuple(map(parsed, partitions)))

    def withdraw(self, path: ZkPath) -> None:
        """Delete the node of a request, unless it is handled already."""
        self._delete(path)

    # Controllers.

    def vacate(self) -> None:
        """Delete /controller."""
        self._delete(CONTROLLER)

    def depose(self) -> None:
        """Another broker is elected."""
        self._delete(CONTROLLER)
        self.zookeeper.create(None, CONTROLLER, OTHER_CONTROLLER)
        self.newer_controller()

    # An operator, who writes nodes by hand.

    def write_controller(self, broker: BrokerId | None) -> None:
        """Write this broker to /controller, whoever is controller; None: bytes that name no broker."""
        self._write(CONTROLLER, broker)

    def write_epoch(self, epoch: ControllerEpoch) -> None:
        """Set /controller_epoch to this epoch."""
        self._write(CONTROLLER_EPOCH, epoch)

    def delete_epoch(self) -> None:
        """Delete /controller_epoch."""
        self._delete(CONTROLLER_EPOCH)

    def wait(self) -> None:
        """Nothing."""

    def _create(self, path: ZkPath, data: Any = None) -> None:
        if path not in self.zookeeper.state.nodes:
            self.zookeeper.create(None, path, data)

    def _write(self, path: ZkPath, data: Any) -> None:
        if path in self.zookeeper.state.nodes:
            self.zookeeper.set(None, path, data)
        else:
            self.zookeeper.create(None, path, data)

    def _delete(self, path: ZkPath) -> None:
        if path in self.zookeeper.state.nodes:
            self.zookeeper.delete(None, path)


def _assigned(partitions: Mapping[str, Sequence[BrokerId]]) -> TopicAssignment:
    assigned = ((int(number), ReplicaAssignment(tuple(brokers))) for number, brokers in partitions.items())
    return TopicAssignment(tuple(sorted(assigned)))


class OtherRequests(Exception):
    """The two sides send different requests to ZooKeeper."""

    def __init__(self, ours: Sequence[Any], kafkas: Sequence[Any]) -> None:
        super().__init__(ours, kafkas)
        self.ours, self.kafkas = ours, kafkas


def in_order(awaits: Await, requests: Sequence[ZkRequest], asked: Sequence[ZkPath]) -> Await:
    """A batch about partitions, with its requests in Kafka's order.

    Raises:
        OtherRequests: the requests differ.
    """
    paths = [path_of(request) for request in requests]
    if sorted(paths) != sorted(asked):
        raise OtherRequests(sorted(paths), sorted(asked))
    what = awaits.what
    if paths == asked or not isinstance(what, StateRequests):
        return awaits
    places: dict[ZkPath, list[Any]] = {}
    for path, about in zip(paths, what.about, strict=True):
        places.setdefault(path, []).append(about)
    field = next(name for name in ("topics", "partitions", "updates") if getattr(what, name))
    ordered: dict[str, Any] = {field: tuple(places[path].pop(0) for path in asked)}
    return awaits._replace(what=what._replace(**ordered))


def path_of(request: ZkRequest) -> ZkPath:
    """The path of a request; for a multi, of its last operation."""
    return request.operations[-1].path if isinstance(request, Multi) else request.path
