"""The mapping of the system `partitions` to Kafka's own classes, and the classes of its edges.

    in the specification                    in Kafka
    an event begins                         its cause happens, and it is processed up to its first batch
    `answer_...`                            the batch is answered: on to the next one, or to the end of the event
    `next_change`                           nothing: Kafka does not pause after a change, and is already there
    `lose_replies_of_change`                the connection is lost after the server has done the whole batch
    brokers, leaders, other controllers     the same happens, wherever the controller is; a leader's request for an
                                            ISR begins an event

When a change is over, only ZooKeeper is compared. The rest is compared at the `next_change` that leads to a batch, or
at the end of the event. Nothing is lost: in between the controller touches only its own state. A path that ends there
is extended to that point.

Kafka decides which requests form a batch: a batch serves a change if Kafka's state machines make it, or if it is for
a leader's ISR. Kafka's other reads and writes are served within the step, as in the specification.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

from election.ids import BrokerId
from spec.checking.model import Model
from spec.kafka.control_values import of_context
from spec.kafka.controller_beside import RELEASES
from spec.kafka.mapping import Observation, SystemMapping
from spec.kafka.path_runner import SEEN_OF_CONTEXT, PathRunner, ScriptTask, comparable_requests, is_compared
from spec.kafka.scripted_cluster import AGAIN, ControlCommand, path_of
from spec.language import Size, Step
from spec.language.state import Values
from spec.parts.event_thread import Waits
from spec.systems.cluster import ANSWERS, LEADERS, TOPIC, ClusterState
from spec.systems.partitions import Partitions
from statemachines.controller.calls import Call
from statemachines.controller.control_design import ControlDesign
from statemachines.messages.control_requests import ControlRequest
from statemachines.messages.leader_and_isr import NO_LEADER
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.releases import Release, line_of
from statemachines.zookeeper.tree import ZkPath

T = TypeVar("T")

BEGINS: Final[Mapping[str, tuple[str, ...]]] = {
    "become_controller": ("Startup", "Reelect"),
    "controller_change": ("ControllerChange", "Reelect"),
    "broker_change": ("BrokerChange",),
    "topic_change": ("TopicChange",),
    "process_isr_changes": ("IsrChangeNotification",),
    "shut_down": ("ControlledShutdown",),
    "elect_preferred": ("ReplicaLeaderElection", "PreferredReplicaLeaderElection"),
    "elect_uncleanly": ("ReplicaLeaderElection",),
    "shrink_isr": ("AlterPartitionReceived", "AlterIsrReceived"),
    "expand_isr": ("AlterPartitionReceived", "AlterIsrReceived"),
}
"""The actions in which an event begins, with Kafka's names for it. Leaders send requests since 2.7.

The event is the newest one of these names, since a failover may leave others in the queue. A controller's own
election causes a ControllerChange. If another controller is elected before that is processed, it reports the other
election; otherwise a Reelect does, from the end of the earlier one. And each failover ends with a
ReplicaLeaderElection of no partitions, to watch the node again.
"""
HIGHER: Final = 5
"""Additional leader epochs beyond the system's, for changes that run to their end."""
OLD_BROKERS: Final = (2, 4, 7, 10)
"""Brokers that a Scala hash map before 2.13 iterates by id; Kafka has Scala 2.13 since 2.5."""


class Verbatim(Partitions[Any]):
    """The system with complete requests, which reports each one sent. It explores the same states."""

    line: ClassVar[str]
    """The release's line, which decides more than the system's switches."""

    @staticmethod
    def tell(broker: BrokerId, request: ControlRequest) -> None:
        """Receives each request; see `verbatim`."""
        raise NotImplementedError

    @cached_property
    def design(self) -> ControlDesign:  # type: ignore[override]  # it is just as read-only there
        """The system's, with the release's form and grouping of StopReplica, and its number of reads of configs."""
        said = ControlDesign(self.line)
        return super().design.but(
            fence_stop=said.fence_stop,
            stop_replica_grouping=said.stop_replica_grouping,
            read_config_once=said.read_config_once,
        )

    @cached_property
    def broker_ids(self) -> Sequence[BrokerId]:
        """As many brokers, named so that Kafka iterates them in the order of their ids, as the system does."""
        return super().broker_ids if Release(self.line) >= Release("2.5.0") else OLD_BROKERS[: self.brokers]

    @property
    def request_sizes(self) -> Mapping[Any, Size]:
        """Waiting requests are complete."""
        return self.type_sizes

    def receive(self, s: Any, broker: BrokerId, request: ControlRequest) -> None:
        """Report the request as well."""
        self.tell(broker, request)
        super().receive(s, broker, request)


def literal_system(
    system: Partitions[Any], release: str, tell: Callable[[BrokerId, ControlRequest], None]
) -> Verbatim:
    """The same system, even a mutant, with this release's complete requests and with higher epochs."""
    says = {"tell": staticmethod(tell), "line": line_of(release)}
    that_tells: type[Verbatim] = type(type(system).__name__, (Verbatim, type(system)), says)
    return that_tells(**{**system.valuation, "max_leader_epoch": system.max_leader_epoch + HIGHER})


class PartitionsMapping(SystemMapping[ScriptTask]):
    """The mapping of the system `partitions`, under its constants, to a whole controller's batches."""

    system = Partitions
    states = 100_000

    def __init__(self, model: Model, release: str = "3.9.1") -> None:
        super().__init__(model, release)
        self.sent: list[tuple[BrokerId, ControlRequest]] = []
        assert isinstance(model.specification, Partitions)
        self.partitions = literal_system(
            model.specification, release, lambda broker, request: self.sent.append((broker, request))
        )
        self.model = Model(self.partitions)
        self._window = self.model.window()
        self._numbers = {action.name: number for number, action in enumerate(self.model.actions)}
        [self.first] = self.model.first_states()

    @classmethod
    def releases(cls) -> Sequence[str]:
        """The releases whose whole controllers can run."""
        return RELEASES

    @classmethod
    def corrected(cls, release: str) -> Mapping[str, Any]:
        """Until 2.1 a preferred election is requested by a node, not by a request to the controller. [KIP-183]"""
        return {} if Release(release) >= Release("2.2.0") else {"preferred_elections": False}

    @classmethod
    def kafka(cls, release: str) -> PathRunner:
        """A whole controller, batch by batch."""
        return PathRunner(release)

    # Paths.

    def task(self, states: Sequence[Values], choices: Sequence[tuple[int, int]], of: Hashable = None) -> ScriptTask:
        """The commands and expected observations. A path that ends after a change is extended to the next batch."""
        path = PathScript(self)
        for choice in choices:
            path.take(choice)
        while (ahead := self.ahead(path.state)) is not None:
            path.take(ahead)
        return ScriptTask(commands=path.happens, path=(self.first, path.taken), specified=path.specified, of=of)

    def after(self, before: Values, choice: tuple[int, int]) -> Values:
        """The state after a step; `sent` receives the requests that the controller sends in it."""
        action = self.model.actions[choice[0]]
        self.sent.clear()
        self._window.load(before)
        self._window.writable(action.name)
        action.instances[choice[1]](self._window.s)
        return self._window.changed()

    def at(self, state: Values) -> ClusterState:
        """A state, valid until the next call."""
        self._window.load(state)
        here: ClusterState = self._window.s  # type: ignore[assignment]
        return here

    def ahead(self, state: Values) -> tuple[int, int] | None:
        """The step in which the controller continues without asking ZooKeeper; None if it waits or is idle."""
        s = self.at(state)
        return (self._numbers["next_change"], 0) if s.thread.waits is Waits.NextChange else None

    def begins(self, step: Step) -> tuple[str, ...]:
        """Kafka's names for the event that a step begins; empty if it begins none."""
        writes_itself = step.action in LEADERS and not self.partitions.asks_for_isr
        return () if writes_itself else BEGINS.get(step.action, ())

    def settled(self, state: Values) -> Values:
        """Where Kafka has come to by then: before a batch, or at the end of the event."""
        while (choice := self.ahead(state)) is not None:
            state = self.after(state, choice)
        return state

    def asked(self, state: Values) -> list[ZkPath]:
        """The paths of the batch that the controller waits for."""
        s = self.at(state)
        return sorted(map(path_of, self.partitions.controller(s).requests(s.thread.awaits)))

    # Steps.

    def set_up(self) -> list[ControlCommand]:
        """The initial cluster of the specification."""
        happens: list[ControlCommand] = [{"do": "register", "brokers": list(self.partitions.broker_ids)}]
        if self.partitions.unclean:  # a broker's setting in the specification, the topic's here
            happens.append({"do": "configure", "topic": TOPIC, "unclean": True})
        return happens if self.partitions.topic_creation else [*happens, self._creation()]

    def _creation(self) -> ControlCommand:
        assigned = {str(each.partition): list(it.replicas) for each, it in self.partitions.assignments.items()}
        return {"do": "create_topic", "topic": TOPIC, "partitions": assigned}

    def commands(self, s: ClusterState, step: Step) -> Iterator[ControlCommand]:
        """What others do in a step, as commands."""
        its = step.parameters
        match step.action:
            case "become_controller" if s.epoch:
                yield {"do": "vacate"}
            case "elect_another_controller":
                yield {"do": "depose"}
            case "crash" | "restart":
                yield {"do": "die" if step.action == "crash" else "register", "brokers": [its["broker"]]}
            case "create_topic":
                yield self._creation()
            case "shut_down":
                yield {"do": "shut_down", "broker": its["broker"], "epoch": "now"}
            case "elect_preferred" | "elect_uncleanly":
                kind = "PREFERRED" if step.action == "elect_preferred" else "UNCLEAN"
                yield {"do": "elect", "partitions": [str(its["partition"])], "type": kind}
            case "shrink_isr" | "expand_isr":
                partition: TopicPartition = its["partition"]
                state = s.state(partition)
                assert state is not None
                others = [member for member in state.isr if member != its["broker"]]
                isr = others if step.action == "shrink_isr" else [*others, its["broker"]]
                name = str(partition)
                if self.partitions.asks_for_isr:
                    offsets = {"epoch_off": 0, "leader_epoch_off": 0, "partition_epoch_off": 0, "recovery": 0}
                    yield {"do": "alter_partition", "broker": state.leader, "isrs": {name: isr}, **offsets}
                else:
                    yield {"do": "leader_writes", "partition": name, "isr": isr, "keeps_recovery_state": True}
                    yield {"do": "notify_isr", "partitions": [name]}

    # States.

    def of_zookeeper(self, s: ClusterState) -> Observation:
        """The observation of ZooKeeper."""
        return {"znodes": {path: (node.version, node.data) for path, node in s.zk.nodes.items() if is_compared(path)}}

    def of_controller(self, s: ClusterState) -> Observation:
        """The observation of a controller that waits, or is idle."""
        context = of_context(self.partitions.context.of(s.context).state)
        return {
            "active": s.active,
            "live_brokers": frozenset(s.context.live_broker_epochs),
            **{name: _plain(context[name]) for name in SEEN_OF_CONTEXT},
            "left": tuple(
                (_plain(batch.leader_and_isr), _plain(batch.stop_replica)) for batch in self.partitions.requests_in(s)
            ),
        }

    # Classes of edges.

    def edge_class(self, before: ClusterState, step: Step, after: ClusterState) -> Hashable:
        """The action and the broker's relations, the controller's position before and after, and the changes."""
        broker, partition = step.parameters.get("broker"), step.parameters.get("partition")
        partitions = self.partitions.assignments if partition is None else (partition,)
        return StepClass(
            step.action,
            None if broker is None else tuple(_relation(before, broker, each) for each in partitions),
            _office(before),
            _doing(before),
            _doing(after),
            frozenset(_change(before, after, each, range(self.partitions.brokers)) for each in partitions),
        )


@dataclass
class PathScript:
    """A path that is built step by step."""

    mapping: PartitionsMapping

    def __post_init__(self) -> None:
        self.state = self.mapping.first
        self.taken: list[tuple[int, int]] = []
        self.happens: list[ControlCommand] = list(self.mapping.set_up())
        self.specified: list[Observation] = []
        """The expected observation after each step."""
        self._meanwhile: list[Any] = []
        """What happens between the batches of the event."""
        self._lost: list[Any] = []
        """The batches of the event that are answered only after they are repeated."""
        self._asked: list[list[ZkPath]] = []
        """The batches of the event that the server has received."""
        self._is_lost = False
        """Whether the server has received the current batch, but the answers were lost."""
        self._sent: dict[BrokerId, list[ControlRequest]] = {}
        """The requests sent since the whole controller was last compared."""
        self._waits = False
        """Whether the controller is before a batch."""

    def take(self, choice: tuple[int, int]) -> None:
        """Take the next step."""
        mapping, before = self.mapping, self.state
        step = mapping.model.actions[choice[0]].step(choice[1])
        asked, commands = mapping.asked(before), list(mapping.commands(mapping.at(before), step))
        self.state = mapping.after(before, choice)
        for broker, request in mapping.sent:
            self._sent.setdefault(broker, []).append(request)
        for command in commands:
            self._add(command)
        if begun := mapping.begins(step):
            self._meanwhile, self._lost, self._asked = [], [], []
            self.happens.append({"process": begun, "meanwhile": self._meanwhile, "lost": self._lost})
        elif step.action == "lose_replies_of_change" and not self._is_lost:
            self._is_lost = True
            self._lost.append([len(self._asked), 0, len(asked)])
            self._asked.append(asked)
        elif step.action in (*ANSWERS, "answer_alter_partition") and asked:
            if not self._is_lost:
                self._asked.append(asked)
            self._is_lost = False
        self._waits = bool(mapping.asked(mapping.settled(self.state)))
        self._look()
        self.taken.append(choice)

    def _look(self) -> None:
        """Compare after the step."""
        mapping, is_over = self.mapping, self.mapping.ahead(self.state) is not None
        self._add({"do": "look", "step": len(self.taken), "only_zookeeper": is_over})
        s = mapping.at(self.state)
        seen = mapping.of_zookeeper(s)
        if not is_over:
            requests = {"asked": list(self._asked), "sent": comparable_requests(self._sent)}
            seen = {**seen, **mapping.of_controller(s), **requests}
            self._sent = {}
        self.specified.append(seen)

    def _add(self, command: ControlCommand) -> None:
        """Add a command at the controller's current position."""
        if self._is_lost:
            self._meanwhile.append([len(self._asked) - 1, AGAIN, command])
        elif self._waits:
            self._meanwhile.append([len(self._asked), 0, command])
        else:
            self.happens.append(command)


def _plain(value: Any) -> Any:
    return dict(value.items()) if isinstance(value, Mapping) else value


class Relation(NamedTuple):
    """A broker's relation to a partition."""

    runs: bool
    live: bool
    shuts_down: bool
    leads: bool
    in_sync: bool
    is_preferred: bool


class Office(NamedTuple):
    """The controller's relation to the cluster."""

    active: bool
    is_newest: bool
    knows_brokers: bool
    knows_isrs: bool


class Doing(NamedTuple):
    """The rest of the event."""

    due: Hashable
    target: Hashable
    calls: tuple[str, ...]


class PartitionEffect(NamedTuple):
    """The effect of a step on a partition."""

    states: tuple[Hashable, Hashable]
    replica_states: frozenset[tuple[Hashable, Hashable]]
    leads: tuple[Hashable, Hashable]
    in_sync: tuple[Hashable, Hashable]
    is_known: tuple[bool, bool]


class StepClass(NamedTuple):
    """What edges of one class have in common: no names, no epochs."""

    action: str
    broker: tuple[Relation, ...] | None
    office: Office
    before: Doing
    after: Doing
    changes: frozenset[PartitionEffect]


def _relation(s: ClusterState, broker: BrokerId, partition: TopicPartition) -> Relation:
    state = s.state(partition)
    return Relation(
        broker in s.registered,
        broker in s.context.live_broker_epochs,
        broker in s.context.shutting_down_broker_ids,
        state is not None and state.leader == broker,
        state is not None and broker in state.isr,
        partition.partition == broker,
    )


def _office(s: ClusterState) -> Office:
    return Office(
        s.active,
        s.context.epoch == s.epoch,
        frozenset(s.context.live_broker_epochs) == s.registered,
        not s.isr_change_notification,
    )


def _doing(s: ClusterState) -> Doing:
    thread = s.thread
    target: Hashable = None
    if thread.election is not None:
        target = thread.election.strategy
    elif thread.removal is not None:
        target = thread.removal.broker in s.registered
    calls = [each.method for each in thread.calls if isinstance(each, Call)]
    return Doing(thread.waits if thread.requests is None else thread.requests.due, target, tuple(calls))


def _change(
    before: ClusterState, after: ClusterState, partition: TopicPartition, brokers: Iterable[BrokerId]
) -> PartitionEffect:
    def both(seen: Callable[[ClusterState], T]) -> tuple[T, T]:
        return seen(before), seen(after)

    replicas = [PartitionAndReplica(partition, broker) for broker in brokers]
    return PartitionEffect(
        both(lambda s: s.context.partition_states.get(partition)),
        frozenset(_of_replica(before, after, each) for each in replicas),
        both(lambda s: _leads(s, partition)),
        both(lambda s: _in_sync(s, partition)),
        both(lambda s: _is_known(s, partition)),
    )


def _of_replica(before: ClusterState, after: ClusterState, replica: PartitionAndReplica) -> tuple[Hashable, Hashable]:
    return before.context.replica_states.get(replica), after.context.replica_states.get(replica)


def _leads(s: ClusterState, partition: TopicPartition) -> Hashable:
    state = s.state(partition)
    return None if state is None else state.leader == NO_LEADER or state.leader in s.registered


def _in_sync(s: ClusterState, partition: TopicPartition) -> Hashable:
    state = s.state(partition)
    return None if state is None else (len(state.isr), len(s.registered.intersection(state.isr)))


def _is_known(s: ClusterState, partition: TopicPartition) -> bool:
    known, node = s.context.partition_leadership_info.get(partition), s.written(partition)
    if known is None or node is None:
        return known is None and node is None
    return bool(known.leader_and_isr.partition_epoch == node.version)
