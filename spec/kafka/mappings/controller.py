"""What a step and a state of the system `controller` are, where Kafka's own classes run, and which edges are alike.

A step is told by its name and its parameters. A state is what can be seen of it from outside, in the words of the
harness (`java/common/kafkaspec/Observation.java`): of ZooKeeper all that is modelled; of a broker what it is about to
ask for, and of its KafkaController what a controller knows.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

from spec.checking.model import Model
from spec.kafka.divergences import Divergence, divergence_at, divergences_of
from spec.kafka.foreign_client import node_text
from spec.kafka.harness import Harness, Task, harness_releases
from spec.kafka.mapping import Difference, Observation, PathTask, SystemMapping, differences
from spec.language import Step
from spec.language.state import Values
from spec.parts.zookeeper import Session
from spec.systems.controller import ClusterAtWork, ControllerLife
from statemachines.controller.agenda import WRITES, ControllerStep
from statemachines.controller.controller_process import ControllerProcess, LiveBroker
from statemachines.controller.design import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    PARTITION_STATE,
    Threads,
    registration,
)
from statemachines.zookeeper.server import Check, Create, Delete, Node, Operation, SetData

__all__ = ["DRIVEN", "ControllerMapping", "EdgeClass", "edge_class"]

WHOLE: Final = frozenset({"registrations", "events"})
"""Where what is not there is said by no key."""
AWAY: Final = "Away"
"""What a broker does that waits for its connection, to make its request once more."""


DRIVEN: Final[Mapping[str, Any]] = {
    "registrations": 2,
    "max_queued_events": 5,
    "failed_elections": True,
    "receiving_broker": False,
}
"""The constants that are others than those of the system, unless it is said otherwise."""
WRITES_BY_HAND: Final = frozenset({"client_creates", "client_sets", "client_deletes"})
"""What a client does that is no broker: one edge is told for each way in which brokers may stand then."""


@dataclass(frozen=True, kw_only=True)
class ControllerTask(Task, PathTask):
    """A path of the system `controller`."""


class ControllerMapping(SystemMapping[ControllerTask]):
    """From the system `controller`, under its constants, to the harness."""

    system = ControllerLife
    driven = DRIVEN
    states = 150_000

    def __init__(self, model: Model, release: str = "3.9.1") -> None:
        super().__init__(model, release)
        assert isinstance(model.specification, ControllerLife)
        self.life = model.specification
        self._here, self._there = model.window(), model.window()

    @classmethod
    def releases(cls) -> Sequence[str]:
        """Those of the families."""
        return harness_releases()

    @classmethod
    def kafka(cls, release: str) -> Harness:
        """Whole KafkaControllers, one ZooKeeper request at a time."""
        return Harness(release)

    @cached_property
    def divergences(self) -> Sequence[Divergence]:
        """Where this release is known to go another way."""
        return divergences_of(self.release)

    def edge_class(self, before: ClusterAtWork, step: Step, after: ClusterAtWork) -> Hashable:
        """By what the broker does that acts, and by what of ZooKeeper decides; a known divergence is a class."""
        return edge_class(before, step, after, self.divergences)

    def task(
        self, states: Sequence[Values], choices: Sequence[tuple[int, int]], of: Hashable = None
    ) -> ControllerTask:
        """Each step as a command, each state as it is to be seen."""
        here, there = self._here, self._there
        before: Any = here.s
        after: Any = there.s
        steps, specified = [], []
        for (action, instance), state, target in zip(choices, states, states[1:], strict=False):
            here.load(state)
            there.load(target)
            steps.append(self.command(before, self.model.actions[action].step(instance), after))
            specified.append(self.observation(after))
        return ControllerTask(
            brokers=self.life.brokers,
            steps=steps,
            outliving=self.life.ephemeral_outlives_session,
            path=(states[0], choices),
            specified=specified,
            of=of,
        )

    def differences(self, specified: Observation, seen: Observation) -> Iterable[Difference]:
        """Where what was seen of each broker is put into the specification's words."""
        brokers = [_comparable(ours, its) for ours, its in zip(specified["brokers"], seen["brokers"], strict=True)]
        return differences(specified, {**seen, "brokers": brokers}, is_whole=WHOLE.__contains__)

    def command(self, before: ClusterAtWork, step: Step, after: ClusterAtWork) -> dict[str, Any]:
        """A step, as the harness is told it."""
        told = {"action": step.action.rpartition(".")[2], **step.parameters}
        match step.action:
            case "connect":  # which session it opens is for the servers to say
                told["session"] = str(after.controllers[step.parameters["broker"]].session)
            case "learn_of_expiry" if self.life.design.threads is not Threads.barrier:  # it has another at once
                told["session"] = str(after.controllers[step.parameters["broker"]].session)
            case "zk.expire":
                session = step.parameters["session"]
                told["session"] = str(session)
                orders = self.life.zk.deletion_orders(before.zk.sessions[session])
                told["order"] = list(orders[step.parameters["order"]])
            case "client_creates" | "client_sets":
                told["data"] = node_text(step.parameters["node"], step.parameters["data"])
        if told.get("reply") == "lost":
            told["away"] = self.life.disconnections
        return told

    def observation(self, s: ClusterAtWork) -> Observation:
        """What is to be seen of a state. A client that is away, or that is no more, is sent nothing."""
        nodes, away = s.zk.nodes, s.zk.disconnected
        clients = {me.session for me in s.controllers.values()}
        state, epoch = nodes[PARTITION_STATE], nodes.get(CONTROLLER_EPOCH)
        controller = nodes.get(CONTROLLER)
        registrations = {str(broker): nodes.get(registration(broker)) for broker in s.controllers}
        seen: dict[str, Any] = {
            "controller": None if controller is None else {"broker": controller.data, "owner": _owner(controller)},
            "controller_epoch": None if epoch is None else {"epoch": epoch.data, "version": epoch.version},
            "partition_state": {"controller_epoch": state.data.controller_epoch, "version": state.version},
            "registrations": {
                broker: {"owner": _owner(node), **({"number": node.czxid} if self.life.registrations else {})}
                for broker, node in registrations.items()
                if node is not None
            },
            "sessions": sorted(map(str, s.zk.sessions)),
            "watching_controller": sorted(map(str, s.zk.data_watches[CONTROLLER] - away)),
            "watching_brokers": sorted(map(str, s.zk.child_watches[BROKER_IDS] - away)),
            "away": sorted(str(me.session) for me in s.controllers.values() if me.session in away),
            "events": {
                str(session): [f"{event.type.name} {event.path}" for event in events]
                for session, events in s.zk.events.items()
                if events and session in clients and session not in away
            },
            "brokers": [self._broker(s, broker, me) for broker, me in s.controllers.items()],
        }
        if self.life.receiving_broker:
            seen["requests"] = sorted(s.receiver.requests)
        return seen

    def _broker(self, s: ClusterAtWork, broker: int, me: ControllerProcess) -> dict[str, Any]:
        next_request = (
            me.agenda[0] if me.agenda and me.agenda[0] not in (ControllerStep.Started, ControllerStep.Serve) else None
        )
        seen: dict[str, Any] = {"doing": next_request.name if next_request else "Idle"}
        if next_request is ControllerStep.Start:
            return seen
        if next_request in WRITES and next_request is not ControllerStep.RegisterBroker:
            seen["asks"] = [_written(each) for each in self.life.controller(s, broker).operations(me)]
        if me.active and next_request not in (
            ControllerStep.ReadEpoch,
            ControllerStep.RegisterController,
        ):  # before which it has none
            seen |= {"epoch": me.epoch, "epoch_zk_version": me.context.epoch_zk_version}
        if self.life.design.broker_epoch:
            seen["broker_epoch"] = me.broker_epoch
        if self.life.isr_changes and me.takes_isr_notification and s.zk.serves(me.session):
            seen["watches_isr"] = True
        if self.life.design.threads is Threads.queue:
            seen["posted"] = [posted.event.name for posted in me.posted]
            seen["listening"] = (
                me.listener_agenda[0].name
                if me.listener_agenda and me.listener_agenda[0] is not ControllerStep.Serve
                else "Idle"
            )
        return seen | {
            "active": me.active,
            "listens": me.handlers_registered,
            "queue": [queued.event.name for queued in me.queue],
            "started": me.failover_done,
            "live": sorted(_live(each) for each in me.context.live_brokers),
            "cached": me.context.partition_state_version,
        }


def _owner(node: Node) -> str | None:
    """The session that a node ends with; None of one that is persistent."""
    return None if node.owner is None else str(node.owner)


def _written(operation: Operation) -> list[Any]:
    match operation:
        case Create() | Delete():
            return [type(operation).__name__, operation.path]
        case Check():
            return ["Check", operation.path, operation.version]
        case SetData():
            data = operation.data if operation.path == CONTROLLER_EPOCH else operation.data.controller_epoch
            return ["SetData", operation.path, operation.version, data]


def _live(broker: LiveBroker | str) -> list[int]:
    """A broker that a controller takes for alive, with its epoch where there are any."""
    return [int(broker.name), broker.epoch] if isinstance(broker, LiveBroker) else [int(broker)]


def _comparable(specified: Mapping[str, Any], seen: Mapping[str, Any]) -> dict[str, Any]:
    """What was seen of a broker, where it can be seen and in the specification's words."""
    its = dict(seen)
    if its["doing"] == AWAY and specified["doing"] != "Idle":  # it makes this request once more, when it is back
        its |= {key: specified[key] for key in ("doing", "asks") if key in specified}
    if "live" in its and not any(len(each) > 1 for each in specified.get("live", ())):
        its["live"] = [each[:1] for each in its["live"]]
    if "active" not in its:  # it has no KafkaController yet
        its |= {key: value for key, value in specified.items() if key not in its}
    return its


# Edges that are alike.


class Position(NamedTuple):
    """How a broker stands to what it does: all but names, numbers and the rest of the world."""

    doing: Hashable
    active: bool
    started: bool
    listens: bool
    listening: Hashable
    """What ZkEventThread does, until 1.0."""


@dataclass(frozen=True)
class EdgeClass:
    """What is done, how the broker stands before and after that does it, and what of ZooKeeper decides."""

    action: str
    parameters: tuple[Hashable, ...]
    before: Position | None = None
    after: Position | None = None
    decisive: tuple[Hashable, ...] = ()


def edge_class(
    before: ClusterAtWork, step: Step, after: ClusterAtWork, known: Sequence[Divergence]
) -> EdgeClass | Divergence:
    """The class of an edge; a divergence that is known is a class of its own."""
    divergence = divergence_at(before, step, after, known)
    if divergence is not None:
        return divergence
    broker = _broker_of(before, step)
    others = tuple(
        value if name != "path" or value == CONTROLLER else "a registration"
        for name, value in sorted(step.parameters.items())
        if name not in ("broker", "session")
    )
    if broker is None:
        beside = tuple(map(_position, before.controllers.values())) if step.action in WRITES_BY_HAND else ()
        return EdgeClass(step.action, others, decisive=beside)
    me, node, epoch = before.controllers[broker], *map(before.zk.nodes.get, (CONTROLLER, CONTROLLER_EPOCH))
    decisive = (
        me.session in before.zk.sessions,
        tuple(queued.event for queued in (*me.queue[:1], *me.posted[:1])),
        None if node is None else (_if_any(node.data, broker), _if_any(node.owner, me.session)),
        None if epoch is None else (epoch.data == me.epoch, epoch.data is None, epoch.data == epoch.version),
        me.epoch in before.receiver.requests,  # if so, whether another one is sent is not to be seen
    )
    return EdgeClass(step.action, others, _position(me), _position(after.controllers[broker]), decisive)


def _if_any(found: Any, own: Any) -> bool | None:
    """Whether what is found is its own; None: nothing is found that is anybody's."""
    return None if found is None else bool(found == own)


def _broker_of(before: ClusterAtWork, step: Step) -> int | None:
    """Which broker a step is about: that makes it, or that had the session which ends, or left a node."""
    its = step.parameters
    session: Session | None = before.zk.nodes[its["path"]].owner if "path" in its else its.get("session")
    broker: int | None = its.get("broker") if session is None else session.client
    return broker


def _position(me: Any) -> Position:
    return Position(me.doing, me.active, me.started, me.listens, me.listening)
