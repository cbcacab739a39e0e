"""A controller's life: the transitions of a broker's threads, found by exploring the system `controller`.

A transition leads a thread from the work it is about to do to the work it is about to do next. No table lists them:
the rows of the design say what a broker intends, and the steps what an answer makes of that. So the system is
explored, and for each step the next work of the acting thread is recorded before and after.

Bounds wide enough for a whole life are too wide to be explored completely. So several sets of bounds are explored for
each generation of threads, each of which allows something else to happen. A test shows that wider bounds add no
transitions.

Not counted as transitions: the death of a process, which is possible anywhere; a lost answer, after which the same
request is repeated; and until 1.0 a request in an ended session, which waits for the next session.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from spec.by_release import RELEASES, valuation
from spec.checking.check import silent
from spec.checking.exploration import OnProgress
from spec.checking.graph.abstraction import Abstraction, Edge, edges
from spec.language import Step
from spec.systems.controller import ControllerLife
from statemachines.controller.controller_process import ControllerProcess
from statemachines.controller.design import NO_BROKER, Threads, agendas, listener_agendas
from statemachines.controller.threads import IDLE, METHODS, REGISTERS, STOPPED, Agenda
from statemachines.drawing.controller_diagram import At, Transition

CAUSES: Final = (
    "crashes",
    "expiries",
    "operator_deletes",
    "lost_replies",
    "request_failures",
    "isr_changes",
    "ephemeral_outlives_session",
)
"""The constants that say which events can happen."""


def bounds(brokers: int, *happens: str, times: int = 1, sessions: int = 1) -> dict[str, Any]:
    """The constants under which only these events can happen, with this many elections and writes.

    Disconnections and the fate of requests to brokers are left out: no thread moves because of them.
    """
    return {
        **{each: each in happens for each in CAUSES},
        "brokers": brokers,
        "sessions_per_broker": sessions,
        "elections": times,
        "state_writes": times,
        "max_queued_events": 5,
        "disconnections": False,
        "receiving_broker": False,
    }


_ALONE: Final = bounds(1, *CAUSES, sessions=2)
_COMING_AND_GOING: Final = bounds(2, "crashes", "expiries", "request_failures")
BOUNDS: Final[Mapping[Threads, tuple[Mapping[str, Any], ...]]] = {
    Threads.lock: (
        _ALONE,
        _COMING_AND_GOING,
        bounds(2, "operator_deletes", times=2),
        bounds(2, "request_failures", times=2),
    ),
    Threads.queue: (
        _ALONE,
        _COMING_AND_GOING,
        bounds(2, "operator_deletes"),
        bounds(1, "crashes", "operator_deletes", "lost_replies", "request_failures", "isr_changes", times=2),
    ),
    Threads.barrier: (
        _ALONE,
        _COMING_AND_GOING,
        bounds(2, "operator_deletes", "lost_replies", times=2),
        bounds(2, "operator_deletes", "request_failures", times=2),
    ),
}
"""The bounds explored for each generation, breadth first."""
STATES: Final = 800_000
"""The number of states explored under each set of bounds; the last level is completed."""

SHORT_ANSWERS: Final = {
    "start": "the process is started",
    "connect": "it has a session",
    "learn_of_expiry": "Expire: its session has ended",
    "fail_authentication": "AuthFailed: it starts again in the same session",
    "fail": "another error",
}
"""Labels of transitions that are not caused by an answer, by action."""
BESIDE: Final = {"listen", *(METHODS[do] for do in REGISTERS)}
"""The actions of ZkEventThread, in generations where it is not the controller's thread."""

_known: dict[str, tuple[Transition, ...]] = {}


def transitions(release: str, on_progress: OnProgress = silent) -> tuple[Transition, ...]:
    """Every transition of a release's controller. The first call takes a second or two.

    Raises:
        UsageError: there is no such release.
    """
    if release not in _known:
        _known[release] = transitions_with(valuation(ControllerLife.releases, release), on_progress=on_progress)
    return _known[release]


def transitions_with(
    switches: Mapping[str, Any], states: int = STATES, on_progress: OnProgress = silent
) -> tuple[Transition, ...]:
    """Every transition of the newest release's controller with these switches changed, agenda by agenda."""
    switches = {**ControllerLife.releases[RELEASES[-1]], **switches}
    threads, found, agendas_met = ControllerLife(**switches).design.threads, set[Transition](), dict[Agenda, None]()
    for constants in BOUNDS[threads]:
        system = ControllerLife(**{**switches, **constants})
        agendas_met |= dict.fromkeys((*agendas(system.design), *listener_agendas(system.design)))
        found |= {
            _transition(edge)
            for edge in edges(system, _place_of(threads), max_states=states, on_progress=on_progress)
            if edge.source != edge.target or edge.sentences
        }
    order = {agenda: number for number, agenda in enumerate(agendas_met)}

    def place(at: At) -> tuple[int, bool, bool]:
        return order[at.agenda], at.active, at.is_zk_event_thread

    return tuple(sorted(found, key=lambda move: (place(move.source), place(move.target), move.label)))


def _place_of(threads: Threads) -> Abstraction:
    """The abstraction of a state: the place of the thread that takes the step."""

    def place(s: Any, step: Step) -> At | None:
        broker = step.parameters.get("broker")
        if broker is None or step.action == "crash" or step.parameters.get("reply") == "lost":
            return None
        me: ControllerProcess = s.controllers[broker]
        if not me.is_running:
            return At(STOPPED)
        if threads is Threads.queue and step.action in BESIDE:
            return At(me.listener_agenda, is_zk_event_thread=True)
        return At(me.agenda, active=bool(me.agenda == IDLE and me.active))

    return place


def _transition(edge: Edge) -> Transition:
    parameters = dict(edge.parameters)
    said = SHORT_ANSWERS.get(edge.action) or _general(" ".join(edge.sentences), parameters["broker"])
    if parameters.get("leader") == "alive":
        said += "; the leader is alive"
    return Transition(edge.source, said, edge.target)


def _general(said: str, broker: int) -> str:
    """A label about one broker, made independent of the broker and of numbers."""

    def of(id: str) -> str:
        return (
            "this broker"
            if int(id) == broker
            else "a ghost of this broker"
            if int(id) == NO_BROKER
            else "another broker"
        )

    said = re.sub(r"broker (-?\d+)", lambda found: of(found[1]), said)
    said = re.sub(r"\((-?\d+)\)", lambda found: f"({of(found[1])})", said)
    return re.sub(r"it is \d+, at version \d+", "it is e, at version v", said)
