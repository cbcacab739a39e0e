"""What leads to what in a controller's life is found by exploring, all of it, and changes as the steps do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from spec.by_release import RELEASES
from spec.controller_life import transitions, transitions_with
from spec.systems.controller import ControllerLife
from statemachines.controller.agenda import IDLE, STOPPED, Agenda, ControllerStep
from statemachines.controller.controller_process import Answer, ControllerProcess
from statemachines.controller.design import STARTUP, Threads, agendas, design_of, listener_agendas
from statemachines.controller.one_partition import OnePartitionController
from statemachines.controller.threads import HANDLING, MAYBE_RESIGN, ControllerEvent
from statemachines.drawing.controller_diagram import At, Transition
from tests.generations import each_generation
from tests.rows import rows

MOVES = {"0.10.1": 95, "0.10.2": 99, "1.0": 83, "2.0": 95, "3.0.0": 110, "3.9": 108}
"""How many there are. In 3.0.0 a client may begin anew, with the office or without. [KAFKA-13461]"""

NEVER: dict[str, set[Agenda]] = {
    "0.10.2": {MAYBE_RESIGN, Agenda((ControllerStep.Serve,))},
    "1.0": {MAYBE_RESIGN, Agenda((ControllerStep.Serve,))},
    "2.0": set(),
    "3.9": {Agenda((ControllerStep.DeleteRegistration, *STARTUP[Threads.barrier][1:]))},
}
"""Agendas that a domain has room for, and no thread ever has: what the step before passes over, and other designs'.

A broker deletes what an older session of its own left, which a process that starts does not know.
"""


def places(found: Iterable[Transition]) -> set[Agenda]:
    """All agendas that these moves lead from or to."""
    return {at.agenda for move in found for at in (move.source, move.target)}


@rows("release", RELEASES)
def test_a_design_is_that_of_the_system(release: str) -> None:
    """What is drawn of a release, its rows and its moves, is of one design."""
    system: Any = ControllerLife(**ControllerLife.releases[release], ephemeral_outlives_session=True, registrations=1)
    assert design_of(release) == system.design


@each_generation
def test_the_number_of_changes_is_pinned(release: str) -> None:
    assert len(transitions(release)) == MOVES[release]


@pytest.mark.long
@pytest.mark.parametrize("release", MOVES)
def test_larger_bounds_add_no_changes(release: str) -> None:
    """So the bounds are wide: nearly twice as many states show nothing new. (In 1.0 four times as many show one.)"""
    assert len(transitions(release)) == MOVES[release]
    assert transitions_with(ControllerLife.releases[release], states=1_500_000) == transitions(release)


@each_generation
def test_every_agenda_is_reached(release: str) -> None:
    """All that a thread can be about to do, but for what none ever is, and nothing else."""
    its = design_of(release)
    possible = {*agendas(its), *listener_agendas(its)}
    assert possible - places(transitions(release)) == {Agenda((ControllerStep.Started,))} | NEVER[release]
    assert places(transitions(release)) <= possible


@each_generation
def test_every_path_continues(release: str) -> None:
    """No thread stays where it is: some answer to each request leads elsewhere, and waiting ends with an event."""
    found = transitions(release)
    for at in {move.source for move in found} | {move.target for move in found}:
        assert any(move.source == at and (move.target != at or at.is_zk_event_thread) for move in found), at


def test_facts_of_the_newest_release() -> None:
    """The moves that make the bugs are among them: B22 takes office without a failover, B24 leaves it at that."""
    its = design_of("3.9")
    found = transitions("3.9")
    idle, controller = At(IDLE), At(IDLE, active=True)
    election = Agenda((ControllerStep.ReadEpoch, ControllerStep.RegisterController, *its.failover))
    ending = At(Agenda(its.failover[4:]))
    for move in (
        Transition(At(Agenda((ControllerStep.Elect,))), "it is this broker", controller),
        Transition(At(Agenda((ControllerStep.Elect,))), "it is another broker", idle),
        Transition(At(Agenda((ControllerStep.Elect,))), "there is none: it stands for election", At(election)),
        Transition(At(Agenda((ControllerStep.MoveController,))), "it is another broker: it leaves it at that", idle),
        Transition(At(Agenda(its.failover[1:])), "cached; UpdateMetadata is sent; the leader is alive", ending),
        Transition(ending, "the failover is done", controller),
        Transition(ending, "BADVERSION of the epoch: ControllerMoved", At(MAYBE_RESIGN)),
        Transition(At(STOPPED), "the process is started", At(STARTUP[Threads.barrier])),
        Transition(
            controller,
            "Expire: its session has ended",
            At(Agenda((ControllerStep.Connect, ControllerStep.RegisterBroker, *MAYBE_RESIGN, ControllerStep.Elect))),
        ),
    ):
        assert move in found


@pytest.mark.long
def test_the_second_thread_has_changes_of_its_own() -> None:
    """In 1.0 ZkEventThread registers the broker, while the controller's thread waits or works."""
    beside = [move for move in transitions("1.0") if move.source.is_zk_event_thread]
    assert {do for move in beside for do in move.source.agenda} == {
        ControllerStep.RegisterBroker,
        ControllerStep.CheckRegistration,
        ControllerStep.Serve,
    }
    assert all(move.target.is_zk_event_thread or move.target.agenda == STOPPED for move in beside)
    assert not [
        move for release in ("0.10.2", "2.0") for move in transitions(release) if move.source.is_zk_event_thread
    ]


@each_generation
def test_no_number_is_left_in_what_is_said(release: str) -> None:
    """A broker is this one or another, whatever its id."""
    assert not [move for move in transitions(release) if any(letter.isdigit() for letter in move.label)]


@pytest.mark.parametrize(
    ("release", "changed"),
    [
        pytest.param("3.9", {"fence_zk": False}, marks=pytest.mark.long),
        pytest.param("3.9", {"ghost_check": True}, marks=pytest.mark.long),
        pytest.param("3.9", {"ephemeral_owner_check": False}, marks=pytest.mark.long),
        pytest.param("3.9", {"elect_if_none": True}, marks=pytest.mark.long),
        pytest.param("2.0", {"epoch_update": "cas_swallowed"}, marks=pytest.mark.long),
        pytest.param("0.10.2", {"skip_if_self": False}, marks=pytest.mark.long),
        pytest.param("0.10.2", {"listener_guard": False}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_another_design_has_other_changes(release: str, changed: dict[str, Any]) -> None:
    """What a release has or has not is seen."""
    assert set(transitions_with({**ControllerLife.releases[release], **changed})) != set(transitions(release))


def test_another_table_has_other_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that is changed changes what leads to what."""
    before = set(transitions("3.9"))
    monkeypatch.setitem(HANDLING[Threads.barrier], ControllerEvent.Reelect, MAYBE_RESIGN)
    assert set(transitions_with({})) != before


@pytest.mark.long
def test_another_step_has_other_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that is changed changes what leads to what, and nothing else."""

    def whoever_it_is(self: OnePartitionController, me: ControllerProcess) -> Answer:
        return Answer(me.with_steps(ControllerStep.DeleteController), "whoever it is")

    before = set(transitions("3.9"))
    monkeypatch.setattr(OnePartitionController, "move_controller", whoever_it_is)
    after, move = set(transitions_with({})), At(Agenda((ControllerStep.MoveController,)))
    assert {each.label for each in after - before} == {"whoever it is"}
    assert before - after
    assert all(each.source == move for each in before - after)
