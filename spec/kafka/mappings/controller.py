"""The mapping of the system `controller` to Kafka's own classes, and the classes of its edges.

A step becomes a command: its name and its parameters. A state becomes its part that is observable from outside, in
the words of the harness (`java/common/kafkaspec/Observation.java`): everything modelled of ZooKeeper; of a broker,
its next request and its KafkaController's knowledge.
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
from statemachines.controller.controller_process import ControllerProcess, LiveBroker
from statemachines.controller.design import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    PARTITION_STATE,
    Threads,
    registration,
)
from statemachines.controller.threads import WRITES, ControllerStep
from statemachines.zookeeper.server import Check, Create, Delete, Node, Operation, SetData

WHOLE: Final = frozenset({"registrations", "events"})
"""Places of an observation where a missing key means that nothing is there."""
AWAY: Final = "Away"
"""What a broker does while it waits for its connection, to repeat its request."""


DRIVEN: Final[Mapping[str, Any]] = {
    "registrations": 2,
    "max_queued_events": 5,
    "failed_elections": True,
    "receiving_broker": False,
}
"""The constants that differ by default from the system's own defaults."""
WRITES_BY_HAND: Final = frozenset({"client_creates", "client_sets", "client_deletes"})
"""Actions of a foreign client. An edge of these is run for each combination of the brokers' positions."""


@dataclass(frozen=True, kw_only=True)
class ControllerTask(Task, PathTask):
    """A path of the system `controller`."""


class ControllerMapping(SystemMapping[ControllerTask]):
    """The mapping of the system `controller`, under its constants, to the harness."""

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
        """The releases of the families."""
        return harness_releases()

    @classmethod
    def kafka(cls, release: str) -> Harness:
        """Whole KafkaControllers, one ZooKeeper request at a time."""
        return Harness(release)

    @cached_property
    def divergences(self) -> Sequence[Divergence]:
        """The known divergences of this release."""
        return divergences_of(self.release)

    def edge_class(self, before: ClusterAtWork, step: Step, after: ClusterAtWork) -> Hashable:
        """The acting broker's position and what decides in ZooKeeper; or the known divergence."""
        return edge_class(before, step, after, self.divergences)

    def task(
        self, states: Sequence[Values], choices: Sequence[tuple[int, int]], of: Hashable = None
    ) -> ControllerTask:
        """Each step as a command, each state as an observation."""
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
        """The differences, after each broker's observation is put into the specification's words."""
        brokers = [_comparable(ours, its) for ours, its in zip(specified["brokers"], seen["brokers"], strict=True)]
        return differences(specified, {**seen, "brokers": brokers}, is_whole=WHOLE.__contains__)

    def command(self, before: ClusterAtWork, step: Step, after: ClusterAtWork) -> dict[str, Any]:
        """A step as a command for the harness."""
        written = {"action": step.action.rpartition(".")[2], **step.parameters}
        match step.action:
            case "connect":  # the servers decide which session it opens
                written["session"] = str(after.controllers[step.parameters["broker"]].session)
            case "learn_of_expiry" if self.life.design.threads is not Threads.barrier:  # it opens another at once
                written["session"] = str(after.controllers[step.parameters["broker"]].session)
            case "zk.expire":
                session = step.parameters["session"]
                written["session"] = str(session)
                orders = self.life.zk.deletion_orders(before.zk.sessions[session])
                written["order"] = list(orders[step.parameters["order"]])
            case "client_creates" | "client_sets":
                written["data"] = node_text(step.parameters["node"], step.parameters["data"])
        if written.get("reply") == "lost":
            written["away"] = self.life.disconnections
        return written

    def observation(self, s: ClusterAtWork) -> Observation:
        """The observation of a state. A client that is disconnected, or has ended, receives nothing."""
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
        ):  # before these it has none
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
            "live": sorted(
                [int(each.name), each.epoch]
                if isinstance(each, LiveBroker)
                else [int(each)]  # releases have epochs or not
                for each in me.context.live_brokers
            ),
            "cached": me.context.partition_state_version,
        }


def _owner(node: Node) -> str | None:
    """The session that owns a node; None if the node is persistent."""
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


def _comparable(specified: Mapping[str, Any], seen: Mapping[str, Any]) -> dict[str, Any]:
    """The observation of a broker in the specification's words, without what cannot be observed."""
    its = dict(seen)
    if its["doing"] == AWAY and specified["doing"] != "Idle":  # it repeats this request when it is connected again
        its |= {key: specified[key] for key in ("doing", "asks") if key in specified}
    if "live" in its and not any(len(each) > 1 for each in specified.get("live", ())):
        its["live"] = [each[:1] for each in its["live"]]
    if "active" not in its:  # it has no KafkaController yet
        its |= {key: value for key, value in specified.items() if key not in its}
    return its


# Classes of edges.


class Position(NamedTuple):
    """A broker's place in its own work, without names, numbers and the rest of the world."""

    doing: Hashable
    active: bool
    started: bool
    listens: bool
    listening: Hashable
    """The current step of ZkEventThread, until 1.0."""


@dataclass(frozen=True)
class EdgeClass:
    """An action, the acting broker's position before and after it, and what decides in ZooKeeper."""

    action: str
    parameters: tuple[Hashable, ...]
    before: Position | None = None
    after: Position | None = None
    decisive: tuple[Hashable, ...] = ()


def edge_class(
    before: ClusterAtWork, step: Step, after: ClusterAtWork, known: Sequence[Divergence]
) -> EdgeClass | Divergence:
    """The class of an edge; a known divergence is a class of its own."""
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
        me.epoch in before.receiver.requests,  # if so, sending another one cannot be observed
    )
    return EdgeClass(step.action, others, _position(me), _position(after.controllers[broker]), decisive)


def _if_any(found: Any, own: Any) -> bool | None:
    """Whether a found value is its own; None if there is no value."""
    return None if found is None else bool(found == own)


def _broker_of(before: ClusterAtWork, step: Step) -> int | None:
    """The broker that takes a step, or that owned the session or the node which ends."""
    its = step.parameters
    session: Session | None = before.zk.nodes[its["path"]].owner if "path" in its else its.get("session")
    broker: int | None = its.get("broker") if session is None else session.client
    return broker


def _position(me: ControllerProcess) -> Position:
    return Position(me.agenda, me.active, me.failover_done, me.handlers_registered, me.listener_agenda)
