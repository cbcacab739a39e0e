"""A controller's changes are found by complete exploration, and depend on its steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from spec.by_release import RELEASES
from spec.controller_life import transitions, transitions_with
from spec.systems.controller import ControllerLife
from statemachines.controller.controller_process import Answer, ControllerProcess
from statemachines.controller.design import STARTUP, Design, Threads, agendas, listener_agendas
from statemachines.controller.one_partition import OnePartitionController
from statemachines.controller.threads import (
    HANDLING,
    IDLE,
    MAYBE_RESIGN,
    STOPPED,
    Agenda,
    ControllerEvent,
    ControllerStep,
)
from statemachines.drawing.controller_diagram import At, Transition
from tests.generations import each_generation
from tests.rows import rows

MOVES = {"0.10.1": 95, "0.10.2": 99, "1.0": 83, "2.0": 95, "3.0.0": 110, "3.9": 108}
"""The number of changes. In 3.0.0 a client may reconnect with the office or without. [KAFKA-13461]"""

NEVER: dict[str, set[Agenda]] = {
    "0.10.2": {MAYBE_RESIGN, Agenda((ControllerStep.Serve,))},
    "1.0": {MAYBE_RESIGN, Agenda((ControllerStep.Serve,))},
    "2.0": set(),
    "3.9": {Agenda((ControllerStep.DeleteRegistration, *STARTUP[Threads.barrier][1:]))},
}
"""Agendas in the domain that no thread reaches: the step before skips them, or they belong to other designs.

A broker deletes the nodes of its own older session, which a starting process does not know.
"""


def places(found: Iterable[Transition]) -> set[Agenda]:
    """Return all agendas at either end of these transitions."""
    return {at.agenda for move in found for at in (move.source, move.target)}


@rows("release", RELEASES)
def test_a_design_is_that_of_the_system(release: str) -> None:
    """The picture, the rows and the moves of a release belong to one design."""
    system: Any = ControllerLife(**ControllerLife.releases[release], ephemeral_outlives_session=True, registrations=1)
    assert Design(release) == system.design


@each_generation
def test_the_number_of_changes_is_pinned(release: str) -> None:
    assert len(transitions(release)) == MOVES[release]


@pytest.mark.long
@pytest.mark.parametrize("release", MOVES)
def test_larger_bounds_add_no_changes(release: str) -> None:
    """So the bounds suffice: nearly twice as many states add nothing. (In 1.0 four times as many add one change.)"""
    assert len(transitions(release)) == MOVES[release]
    assert transitions_with(ControllerLife.releases[release], states=1_500_000) == transitions(release)


@each_generation
def test_every_agenda_is_reached(release: str) -> None:
    """A thread reaches exactly the agendas in the domain, except the listed ones."""
    its = Design(release)
    possible = {*agendas(its), *listener_agendas(its)}
    assert possible - places(transitions(release)) == {Agenda((ControllerStep.Started,))} | NEVER[release]
    assert places(transitions(release)) <= possible


@each_generation
def test_every_path_continues(release: str) -> None:
    """No thread is stuck: each request has an answer that leads on, and waiting ends with an event."""
    found = transitions(release)
    for at in {move.source for move in found} | {move.target for move in found}:
        assert any(move.source == at and (move.target != at or at.is_zk_event_thread) for move in found), at


@pytest.mark.long
def test_facts_of_the_newest_release() -> None:
    """The moves of known bugs are present: in B22 it takes office without a failover, in B24 it does nothing."""
    its = Design("3.9")
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
def test_the_second_thread_has_its_own_changes() -> None:
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
def test_the_words_contain_no_broker_ids(release: str) -> None:
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
    """A difference between releases is visible."""
    assert set(transitions_with({**ControllerLife.releases[release], **changed})) != set(transitions(release))


@pytest.mark.long
def test_another_table_has_other_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed row changes the result."""
    before = set(transitions("3.9"))
    monkeypatch.setitem(HANDLING[Threads.barrier], ControllerEvent.Reelect, MAYBE_RESIGN)
    assert set(transitions_with({})) != before


@pytest.mark.long
def test_another_step_has_other_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed step changes only its own transitions."""

    def whoever_it_is(self: OnePartitionController, me: ControllerProcess) -> Answer:
        return Answer(me.with_steps(ControllerStep.DeleteController), "whoever it is")

    before = set(transitions("3.9"))
    monkeypatch.setattr(OnePartitionController, "move_controller", whoever_it_is)
    after, move = set(transitions_with({})), At(Agenda((ControllerStep.MoveController,)))
    assert {each.label for each in after - before} == {"whoever it is"}
    assert before - after
    assert all(each.source == move for each in before - after)
