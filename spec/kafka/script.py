"""A script: what should happen to real brokers of a release, according to its specification.

If the anomaly happens in a release, the script is the shortest counterexample, step for step. If the release has the
fix, the script is the shortest counterexample without the fix, up to the point where the fix changes the outcome.

If neither exists, the script takes the interference (an operator's deletion) from the release in which the anomaly
does happen, in the same order, each as early as possible. In between, brokers run freely, and the release's
specification must allow what they do. In this case brokers are up before the script begins, and an operator's
deletion causes the election in question. The same holds until 1.0, where a starting broker registers in its main
thread; the specification assumes ZkEventThread.

A broker's step is one frame on its way to ZooKeeper. `ACTIONS` maps frames to actions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from election.ids import BrokerId
from spec.atlas.anomalies import Anomaly, anomaly_named
from spec.atlas.loading import under
from spec.by_release import release_named
from spec.checking import Result, check
from spec.checking.traces.replay import Replay
from spec.kafka.jars import releases
from spec.kafka.proxy import RequestFrame
from spec.language import Step
from spec.language.errors import UsageError
from spec.language.specification import Specification
from spec.systems.controller import ControllerLife
from statemachines.controller.design import BROKER_IDS, CONTROLLER, CONTROLLER_EPOCH, PARTITION_STATE, Threads
from statemachines.releases import Release, line_of

ON_BROKERS: Final = Release("0.11.0.0")
"""The first release whose brokers can run; the jars of 0.10 are for its controllers' state machines only."""


class ReplayedAnomaly(NamedTuple):
    """How to replay an anomaly."""

    since: Release
    """The first release in which its steps have a mapping to frames."""
    constants: Mapping[str, Any] | None = None
    """Constants of the system `controller`, if the row is of another system, or larger than the anomaly needs."""
    property: str = ""
    """The property that breaks under them, if it is not the row's."""
    while_up: tuple[Step, ...] = ()
    """Until 1.0, with brokers up before it begins: the broker steps that must differ from their usual course."""


NOTHING_ELSE: Final = {
    **dict.fromkeys(
        ("crashes", "expiries", "request_failures", "lost_replies", "disconnections", "receiving_broker"), False
    ),
    "state_writes": 1,
}
REPLAYED: Final[Mapping[str, ReplayedAnomaly]] = {
    "B4": ReplayedAnomaly(Release("1.1"), NOTHING_ELSE),
    "B20": ReplayedAnomaly(
        Release("1.0"),
        {**NOTHING_ELSE, "brokers": 1, "operator_deletes": False, "lost_replies": True},
        "fenced_writes",
        while_up=(
            Step("increment_epoch", {"broker": 0, "reply": "lost"}),
            Step("read_states", {"broker": 0, "leader": "dead"}),
        ),
    ),
    "B24": ReplayedAnomaly(Release("2.1"), {**NOTHING_ELSE, "brokers": 1, "request_failures": True}),
    "B43": ReplayedAnomaly(Release("1.1"), {**NOTHING_ELSE, "request_failures": True}),
    "K1": ReplayedAnomaly(Release("1.0")),
    "K1a": ReplayedAnomaly(Release("2.1")),
    "K1b": ReplayedAnomaly(Release("1.1")),
}
"""The anomalies whose steps have a mapping to frames."""

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
"""Operation and path -> the possible actions. Which one it is follows from the broker's next step.

A frame without a row is no step: the specification does not model it."""
SILENT: Final = ("connect", "deliver_event", "handle_event")
"""What brokers do without a request."""
OWN: Final = {*SILENT, *(action for row in ACTIONS.values() for action in row)}
"""What brokers do by themselves."""
CALL: Final = Step("operator_deletes_controller", {})
"""The operator's deletion that makes running brokers elect a controller."""
ELECTIONS: Final = 5
"""More elections than freely running brokers can reach."""


def actions_of(request: RequestFrame) -> tuple[str, ...]:
    """The actions that a request may be; empty if it is no step.

    >>> actions_of(RequestFrame(7, "multi", "/controller_epoch"))
    ('register_controller',)
    >>> actions_of(RequestFrame(8, "getChildren2", "/brokers/ids", watch=False))  # a broker that starts
    ()
    """
    if request.path == BROKER_IDS and not request.watch:
        return ()
    parent, _, name = request.path.rpartition("/")
    path = REGISTRATION if parent == BROKER_IDS and name else request.path
    return ACTIONS.get((request.operation, path), ())


def is_partial_step(request: RequestFrame, threads: Threads) -> bool:
    """Whether it is ZkEventThread's arming of a watch before a read, until 1.0; `listen` covers both."""
    return threads is not Threads.barrier and (request.operation, request.path) == ("exists", CONTROLLER)


def steps_of_broker(replay: Replay, broker: BrokerId, actions: tuple[str, ...]) -> list[Step]:
    """The steps that a broker can take here, of some actions, in the order of these."""
    enabled = [step for step in replay.enabled if step.parameters.get("broker") == broker]
    return [step for action in actions for step in enabled if step.action == action]


@dataclass(frozen=True)
class Script:
    """The script of an anomaly on a release.

    Args:
        anomaly: its row in the atlas.
        release: the release whose processes run, such as 3.9.1.
        specification: of that release.
        result: whether the anomaly's property holds there.
        steps: all steps, if the anomaly happens; if a fix prevents it, the steps without the fix, as far as they are
            possible; otherwise empty, because brokers run freely.
        prelude: in that case, the starts of brokers, which then run undisturbed until all is quiet.
        interference: in that case, the operations on brokers, and where they must leave their usual course, in order.
    """

    anomaly: Anomaly
    release: str
    specification: ControllerLife
    result: Result
    steps: tuple[Step, ...]
    prelude: tuple[Step, ...]
    interference: tuple[Step, ...]

    @property
    def happens(self) -> bool:
        """Whether the anomaly happens in this release, by its specification."""
        return self.result.counterexample is not None

    def following(self, replay: Replay, done: int) -> Step | None:
        """The next step; None if brokers decide it, or the script has ended.

        Args:
            replay: the specification in its current state.
            done: how many of the steps are done; of the interference, if there are no steps.
        """
        if self.steps:
            return self.steps[done] if done < len(self.steps) else None
        pending = self.interference[done : done + 1]
        return next((step for step in pending if step in replay.enabled), None)

    def is_over(self, replay: Replay, done: int) -> bool:
        """Whether the script has ended: all steps are done, or all interference, and brokers are at rest."""
        if self.steps:
            return done == len(self.steps)
        return done == len(self.interference) and not any(step.action in OWN for step in replay.enabled)


def script_of(name: str, release: str, ask: Callable[..., Result] = check) -> Script:
    """The script of an anomaly on a release.

    Args:
        name: the anomaly's id or ticket.
        release: its line decides; there must be jars of that line.
        ask: the function that explores, called as `spec.checking.check` is.

    Raises:
        UsageError: no such anomaly, no mapping to frames at all or for this release, or the release cannot run.
    """
    anomaly = anomaly_named(name)
    name = anomaly.id
    if name not in REPLAYED:
        raise UsageError(f"{name} cannot be replayed; choose from {', '.join(REPLAYED)}")
    its = REPLAYED[name]
    lines = {line_of(each): each for each in releases() if Release(each) >= ON_BROKERS}
    line = release_named(release, ControllerLife.releases)
    if line not in lines:
        raise UsageError(f"Kafka {release} cannot run here; choose from {', '.join(lines.values())}")
    if Release(line) < its.since:
        raise UsageError(f"{name} can be replayed since Kafka {its.since}")
    constants = anomaly.constants if its.constants is None else its.constants
    broken = its.property or anomaly.property

    def asked(of: str | None, **changed: Any) -> tuple[ControllerLife, Result]:
        specification = _under(of, constants, **changed)
        return specification, ask(specification, properties=[broken], release=of)

    specification, found = asked(line)
    steps = _steps_of(found)
    if not steps:
        unmended, found_there = asked(line, **{anomaly.switch: anomaly.off})
        if unmended.valuation != specification.valuation:
            steps = _possible(specification, _steps_of(found_there))
    prelude, interference = tuple[Step, ...](), _interference(steps)
    if not steps:
        _, recorded = asked(anomaly.release, **{anomaly.switch: anomaly.off})
        interference = _interference(_steps_of(recorded))
    if not steps or specification.design.threads is not Threads.barrier:
        prelude = tuple(step for step in interference if step.action == "start")
        interference = (CALL, *(step for step in interference if step.action != "start"), *its.while_up)
        steps, specification = (), _under(line, constants, elections=ELECTIONS, operator_deletes=True)
    return Script(anomaly, lines[line], specification, found, steps, prelude, interference)


def _steps_of(result: Result) -> tuple[Step, ...]:
    """The steps of the counterexample; empty if there is none."""
    trace = result.counterexample
    return () if trace is None else tuple(each.step for each in trace.steps)


def _interference(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Those of the steps that are done to brokers."""
    return tuple(step for step in steps if step.action not in OWN)


def _under(line: str | None, constants: Mapping[str, Any], **changed: Any) -> ControllerLife:
    specification = under(ControllerLife, line, {**constants, **changed})
    assert isinstance(specification, ControllerLife)
    return specification


def _possible(specification: Specification, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The longest possible beginning of the steps; empty if interference would follow it."""
    replay = Replay(specification)
    for number, step in enumerate(steps):
        if step not in replay.enabled:
            return () if _interference(steps[number:]) else steps[:number]
        replay.do(step)
    return steps
