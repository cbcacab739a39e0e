"""What a step and a state of the system `controller` are, where Kafka's own classes run.

A step is told by its name and its parameters. A state is what can be seen of it from outside, in the words of the
harness (`java/common/kafkaspec/Observation.java`): of ZooKeeper all that is modelled; of a broker what it is about to
ask for, and of its KafkaController what a controller knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from spec.kafka.harness import Observation
from spec.language import Step
from spec.systems.controller import ClusterAtWork, ControllerLife
from statemachines.agenda import Do
from statemachines.controller import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    PARTITION_STATE,
    Controller,
    LiveBroker,
    Threads,
    registration,
)
from statemachines.controller_event import ControllerEvent
from statemachines.kafka_controller import WRITES
from statemachines.zookeeper import Check, Create, Delete, Operation, SetData

__all__ = ["ControllerMapping", "Difference", "differences"]

AWAY: Final = "Away"
"""What a broker does that waits for its connection, to make its request once more."""


@dataclass(frozen=True)
class ControllerMapping:
    """From the system `controller`, under its constants, to the harness."""

    system: ControllerLife

    def command(self, before: ClusterAtWork, step: Step, after: ClusterAtWork) -> dict[str, Any]:
        """A step, as the harness is told it."""
        told = {"action": step.action.rpartition(".")[2], **step.parameters}
        match step.action:
            case "connect":  # which session it opens is for the servers to say
                told["session"] = str(after.controllers[step.parameters["broker"]].session)
            case "learn_of_expiry" if self.system.design.threads is not Threads.barrier:  # it has another at once
                told["session"] = str(after.controllers[step.parameters["broker"]].session)
            case "zk.expire":
                session = step.parameters["session"]
                told["session"] = str(session)
                orders = self.system.zk.orders(before.zk.sessions[session])
                told["order"] = list(orders[step.parameters["order"]])
        if told.get("reply") == "lost":
            told["away"] = self.system.disconnections
        return told

    def observation(self, s: ClusterAtWork) -> Observation:
        """What is to be seen of a state. Of a client that is away the servers know nothing, and send it nothing."""
        nodes, away = s.zk.nodes, s.zk.away
        state, epoch = nodes[PARTITION_STATE], nodes[CONTROLLER_EPOCH]
        controller = nodes.get(CONTROLLER)
        registrations = {str(broker): nodes.get(registration(broker)) for broker in s.controllers}
        seen: dict[str, Any] = {
            "controller": None if controller is None else {"broker": controller.data, "owner": str(controller.owner)},
            "controller_epoch": {"epoch": epoch.data, "version": epoch.version},
            "partition_state": {"controller_epoch": state.data.controller_epoch, "version": state.version},
            "registrations": {
                broker: {"owner": str(node.owner), **({"number": node.czxid} if self.system.registrations else {})}
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
                if events and session not in away
            },
            "brokers": [self._broker(s, broker, me) for broker, me in s.controllers.items()],
        }
        if self.system.receives:
            seen["requests"] = sorted(s.receiver.requests)
        return seen

    def hears_of_isr(self, s: ClusterAtWork, me: Controller) -> bool:
        """Whether a leader's notification could reach a broker now: the premise of `announce_isr`."""
        told = any(each.event is ControllerEvent.IsrChangeNotification for each in me.queue)
        connected = me.session in s.zk.sessions and me.session not in s.zk.away
        return self.system.isr_changes and me.listens and connected and not told

    def _broker(self, s: ClusterAtWork, broker: int, me: Controller) -> dict[str, Any]:
        next_request = me.doing[0] if me.doing and me.doing[0] not in (Do.Started, Do.Serve) else None
        seen: dict[str, Any] = {"doing": next_request.name if next_request else "Idle"}
        if next_request is Do.Start:
            return seen
        if next_request in WRITES and next_request is not Do.RegisterBroker:
            seen["asks"] = [_written(each) for each in self.system.controller(s, broker).asks(me)]
        if me.active and next_request not in (Do.ReadEpoch, Do.RegisterController):  # before which it has none
            seen |= {"epoch": me.epoch, "epoch_zk_version": me.epoch_zk_version}
        if self.system.design.broker_epoch:
            seen["broker_epoch"] = me.broker_epoch
        if self.hears_of_isr(s, me):
            seen["watches_isr"] = True
        if self.system.design.threads is Threads.queue:
            seen["posted"] = [posted.event.name for posted in me.posted]
            seen["listening"] = me.listening[0].name if me.listening and me.listening[0] is not Do.Serve else "Idle"
        return seen | {
            "active": me.active,
            "listens": me.listens,
            "queue": [queued.event.name for queued in me.queue],
            "started": me.started,
            "live": sorted(_live(each) for each in me.live),
            "cached": me.cached,
        }


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


class Difference(NamedTuple):
    """Something that is not as the specification says."""

    where: str
    """In an observation: `controller.owner`, `brokers.0.doing`."""
    specified: Any
    seen: Any

    def __str__(self) -> str:
        return f"{self.where} is {self.seen}, and by the specification {self.specified}"


def differences(specified: Observation, seen: Observation) -> list[Difference]:
    """What was seen, and is not as the specification says."""
    found: list[Difference] = []
    brokers = [_comparable(ours, its) for ours, its in zip(specified["brokers"], seen["brokers"], strict=True)]
    _compare("", specified, {**seen, "brokers": brokers}, found)
    return found


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


def _compare(where: str, specified: Any, seen: Any, found: list[Difference]) -> None:
    if isinstance(specified, Mapping) and isinstance(seen, Mapping):
        for key, value in specified.items():
            _compare(f"{where}.{key}" if where else key, value, seen.get(key), found)
        if where in ("registrations", "events"):  # where what is not there is said by no key
            found += [Difference(f"{where}.{key}", None, seen[key]) for key in seen if key not in specified]
    elif where == "brokers":
        for broker, (ours, theirs) in enumerate(zip(specified, seen, strict=True)):
            _compare(f"{where}.{broker}", ours, theirs, found)
    elif specified != seen:
        found.append(Difference(where, specified, seen))
