"""A script: what is to happen to real brokers of a release, as its specification has it.

Where the anomaly happens in a release, the script is the shortest counterexample, step for step. Where it does not,
what happens to brokers there (an operator's deletion) happens here too, in the same order, each as soon as it can.
Between that brokers go their own way, which the specification of the release has to have. There brokers are up before
it begins, and an operator's deletion calls for the election in which it happens: until 1.0 a broker that starts
registers in its main thread, which the specification takes for ZkEventThread.

A step of a broker is one frame on its way to ZooKeeper, and `ACTIONS` says which frame may be which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from election.ids import BrokerId
from spec.anomalies import Anomaly, anomaly_named
from spec.checking import Result, check
from spec.checking.replay import Replay
from spec.kafka.jars import releases
from spec.kafka.wire import RequestFrame
from spec.language import Step
from spec.language.errors import UsageError
from spec.loading import system_named, under
from spec.releases import release_named
from spec.systems.controller_election import ControllerElection
from statemachines.controller import BROKER_IDS, CONTROLLER, CONTROLLER_EPOCH, PARTITION_STATE, Threads
from statemachines.releases import Release, line_of

__all__ = ["REPLAYED", "SILENT", "Script", "actions_of", "is_half_a_step", "own_steps", "script_of"]

REPLAYED: Final[Mapping[str, Release]] = {"K1": Release("1.0"), "K1a": Release("2.1")}
"""The anomalies whose steps have a mapping to frames, and since which release they have one."""

REGISTRATION: Final = f"{BROKER_IDS}/<id>"
PREFERRED_ELECTION: Final = "/admin/preferred_replica_election"
ACTIONS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("create", REGISTRATION): ("register_broker",),
    ("multi", REGISTRATION): ("register_broker",),
    ("exists", CONTROLLER): ("watch_controller",),
    ("getData", CONTROLLER): ("elect", "maybe_resign", "check_controller", "move_controller", "listen"),
    ("create", CONTROLLER): ("create_controller",),
    ("delete", CONTROLLER): ("delete_controller",),
    ("multi", CONTROLLER): ("delete_controller",),
    ("getData", CONTROLLER_EPOCH): ("read_epoch", "check_epoch"),
    ("setData", CONTROLLER_EPOCH): ("increment_epoch",),
    ("multi", CONTROLLER_EPOCH): ("register_controller",),
    ("getChildren", BROKER_IDS): ("watch_brokers", "read_brokers"),
    ("getChildren2", BROKER_IDS): ("watch_brokers", "read_brokers"),
    ("getData", PARTITION_STATE): ("read_states", "read_partition_state"),
    ("multi", PARTITION_STATE): ("update_leader_and_isr",),
    ("setData", PARTITION_STATE): ("update_leader_and_isr",),
    ("multi", PREFERRED_ELECTION): ("delete_preferred_election",),
}
"""Operation and path -> the actions that it may be. Which one it is follows from what the broker is about to do.

A frame that is in no row has no step, because the specification sees nothing of it."""
SILENT: Final = ("connect", "deliver_event", "handle_event")
"""What brokers do without a request."""
OWN: Final = {*SILENT, *(action for row in ACTIONS.values() for action in row)}
"""What brokers do by themselves."""
CALL: Final = Step("operator_deletes_controller", {})
"""What makes brokers that are up elect a controller."""
ELECTIONS: Final = 5
"""As many as brokers that go their own way can come to, and more."""


def actions_of(request: RequestFrame) -> tuple[str, ...]:
    """The actions that a request may be; none if it has no step.

    >>> actions_of(RequestFrame(7, "multi", "/controller_epoch"))
    ('register_controller',)
    >>> actions_of(RequestFrame(8, "getChildren2", "/brokers/ids", watch=False))  # the broker, as it starts
    ()
    """
    if request.path == BROKER_IDS and not request.watch:
        return ()
    parent, _, name = request.path.rpartition("/")
    path = REGISTRATION if parent == BROKER_IDS and name else request.path
    return ACTIONS.get((request.operation, path), ())


def is_half_a_step(request: RequestFrame, threads: Threads) -> bool:
    """Whether ZkEventThread, until 1.0, arms a watch before it reads: the specification has both as `listen`."""
    return threads is not Threads.barrier and (request.operation, request.path) == ("exists", CONTROLLER)


def own_steps(replay: Replay, broker: BrokerId, actions: tuple[str, ...]) -> list[Step]:
    """What a broker can do here of some actions, in the order in which these are named."""
    enabled = [step for step in replay.enabled if step.parameters.get("broker") == broker]
    return [step for action in actions for step in enabled if step.action == action]


@dataclass(frozen=True)
class Script:
    """What is to happen.

    Args:
        anomaly: its row in the atlas.
        release: the release whose processes run, such as 3.9.1.
        specification: of that release.
        result: whether the anomaly's property holds there.
        prelude: the brokers that are started, and left alone until all is quiet, before it begins.
        interference: what happens to brokers, in order; they do the rest.
    """

    anomaly: Anomaly
    release: str
    specification: ControllerElection[Any]
    result: Result
    prelude: tuple[Step, ...]
    interference: tuple[Step, ...]

    @property
    def happens(self) -> bool:
        """Whether the anomaly happens in this release, by its specification."""
        return self.result.counterexample is not None

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps, where it happens; else none, because the brokers go their own way."""
        trace = self.result.counterexample
        return () if trace is None else tuple(each.step for each in trace.steps)

    def following(self, replay: Replay, interfered: int) -> Step | None:
        """The step to be done next; None where it is for the brokers to say, or the script is at its end.

        Args:
            replay: the specification, as far as it has come.
            interfered: how much of the interference is done.
        """
        if self.happens:
            return self.steps[replay.number - 1] if replay.number <= len(self.steps) else None
        pending = self.interference[interfered : interfered + 1]
        return next((step for step in pending if step in replay.enabled), None)

    def is_over(self, replay: Replay, interfered: int) -> bool:
        """Whether nothing more is to come: all steps are done, or all interference, and brokers are at rest."""
        if self.happens:
            return replay.number > len(self.steps)
        return interfered == len(self.interference) and not any(step.action in OWN for step in replay.enabled)


def script_of(name: str, release: str, ask: Callable[..., Result] = check) -> Script:
    """The script of an anomaly on a release.

    Args:
        name: the anomaly's id.
        release: its line is what counts, and that there are jars of it.
        ask: the function that explores, called as `spec.checking.check` is.

    Raises:
        UsageError: there is no such anomaly, it has no mapping to frames or none for this release, or the release is
            not run here.
    """
    anomaly = anomaly_named(name)
    if name not in REPLAYED:
        raise UsageError(f"{name} has no mapping to frames; {', '.join(REPLAYED)} have")
    lines = {line_of(each): each for each in releases()}
    system = system_named(anomaly.system)
    line = release_named(release, system.releases)
    if line not in lines:
        raise UsageError(f"Kafka {release} is not run here; {', '.join(lines.values())} are")
    if Release(line) < REPLAYED[name]:
        raise UsageError(f"{name} has a mapping to frames since Kafka {REPLAYED[name]}")
    specification = under(system, line, anomaly.constants)
    found = ask(specification, properties=[anomaly.property], release=line)
    prelude, interference = tuple[Step, ...](), _interference(found)
    if found.counterexample is None:
        recorded = ask(anomaly.specification("off"), properties=[anomaly.property])
        prelude = tuple(step for step in _interference(recorded) if step.action == "start")
        interference = (CALL, *(step for step in _interference(recorded) if step.action != "start"))
        specification = under(system, line, {**anomaly.constants, "elections": ELECTIONS})
    assert isinstance(specification, ControllerElection)
    return Script(anomaly, lines[line], specification, found, prelude, interference)


def _interference(result: Result) -> tuple[Step, ...]:
    """What happens to brokers in a counterexample; nothing where there is none."""
    steps = () if result.counterexample is None else result.counterexample.steps
    return tuple(each.step for each in steps if each.step.action not in OWN)
