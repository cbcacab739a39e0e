"""What leads to what is found by the steps themselves, all of it, and changes as they do."""

from collections.abc import Iterable
from typing import Any

import pytest

from spec.releases import RELEASES
from spec.systems.controller import ControllerLife
from statemachines.agenda import IDLE, STOPPED, Agenda, Do
from statemachines.controller import STARTUP, Controller, Design, Threads, agendas, design_of, listening
from statemachines.controller_event import HANDLING, MAYBE_RESIGN, ControllerEvent
from statemachines.controller_life import At, Move, moves, moves_of
from statemachines.kafka_controller import NEW_SESSION, Answer, KafkaController

GENERATIONS = ("0.10.1", "0.10.2", "1.0", "2.0", "3.9")
each_generation = pytest.mark.parametrize("release", GENERATIONS)

NEVER: dict[str, set[Agenda]] = {
    "0.10.1": {MAYBE_RESIGN, Agenda((Do.Serve,))},
    "0.10.2": {MAYBE_RESIGN, Agenda((Do.Serve,))},
    "1.0": {MAYBE_RESIGN, Agenda((Do.Serve,))},
    "2.0": set(),
    "3.9": {Agenda((Do.DeleteRegistration, *STARTUP[Threads.barrier][1:]))},
}
"""Agendas that a domain has room for, and nobody ever has: what the step before passes over, and other designs'.

A broker deletes what an older session of its own left, which a process that starts does not know.
"""


def places(found: Iterable[Move]) -> set[Agenda]:
    """All agendas that these moves lead from or to."""
    return {at.doing for move in found for at in (move.source, move.target)}


@pytest.mark.parametrize("release", RELEASES)
def test_a_design_is_that_of_the_system(release: str) -> None:
    """What is drawn of a release is what is explored of it."""
    system: Any = ControllerLife(**ControllerLife.releases[release], ephemeral_outlives_session=True, registrations=1)
    assert design_of(release) == system.design


@each_generation
def test_every_agenda_is_reached(release: str) -> None:
    """All that a thread can be about to do, but for what nobody ever is, and nothing else."""
    its = design_of(release)
    possible = {*agendas(its), *listening(its)}
    assert possible - places(moves_of(release)) == {Agenda((Do.Started,))} | NEVER[release]
    assert places(moves_of(release)) <= possible


@each_generation
def test_every_way_leads_on(release: str) -> None:
    """Nobody stays where he is: each request has an answer that leads elsewhere, and waiting ends with an event."""
    found = moves_of(release)
    for at in {move.source for move in found} | {move.target for move in found}:
        assert any(move.source == at and (move.target != at or at.beside) for move in found), at


def test_each_request_has_a_step() -> None:
    """The steps are found by their names: those without one are no requests."""
    waits = {Do.Start, Do.Connect, Do.Started, Do.Serve}
    for do in set(Do) - waits:
        name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in do.name)[1:]
        assert callable(getattr(KafkaController, name)), do


def test_what_is_known_of_the_newest() -> None:
    """The moves that make the bugs are among them: B22 takes office without a failover, B24 leaves it at that."""
    its = design_of("3.9")
    found = moves_of("3.9")
    idle, controller = At(IDLE), At(IDLE, active=True)
    election = Agenda((Do.ReadEpoch, Do.RegisterController, *its.failover))
    for move in (
        Move(At(Agenda((Do.Elect,))), "it is this broker", controller),
        Move(At(Agenda((Do.Elect,))), "it is another broker", idle),
        Move(At(Agenda((Do.Elect,))), "there is none: it stands for election", At(election)),
        Move(At(Agenda((Do.MoveController,))), "it is another broker: it leaves it at that", idle),
        Move(At(STOPPED), "the process is started", At(STARTUP[Threads.barrier])),
        Move(controller, "Expire", At(Agenda((Do.Connect, Do.RegisterBroker, *MAYBE_RESIGN, Do.Elect)))),
    ):
        assert move in found


@each_generation
def test_no_number_is_left_in_what_is_said(release: str) -> None:
    """A broker is this one or another, whatever its id."""
    assert not [move for move in moves_of(release) if any(letter.isdigit() for letter in move.said)]


@pytest.mark.parametrize(
    ("release", "changed"),
    [
        ("3.9", {"fence_zk": False}),
        ("3.9", {"ephemeral_owner_check": False}),
        ("3.9", {"looks_again": False}),
        ("3.9", {"elect_if_none": True}),
        ("3.9", {"ghost_check": True}),
        ("3.9", {"failover": design_of("3.9").failover[1:]}),
        ("2.0", {"epoch_update": design_of("1.0").epoch_update}),
        pytest.param("0.10.2", {"skip_if_self": False}, marks=pytest.mark.long),
        pytest.param("0.10.2", {"listener_guard": False}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_another_design_has_other_moves(release: str, changed: dict[str, Any]) -> None:
    """What a release has or has not is seen."""
    other: Design = design_of(release)._replace(**changed)
    if "failover" in changed:
        other = other._replace(failover=Agenda(changed["failover"]))
    assert set(moves(other)) != set(moves_of(release))


def test_another_table_has_other_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that is changed changes what leads to what."""
    before = set(moves_of("3.9"))
    monkeypatch.setitem(HANDLING[Threads.barrier], ControllerEvent.Reelect, MAYBE_RESIGN)
    assert set(moves(design_of("3.9"))) != before


def test_what_a_new_session_brings_is_heard_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until 1.0 listeners are called, those that are told and no others."""
    before = set(moves_of("1.0"))
    left = [queued for queued in NEW_SESSION if queued.event is not ControllerEvent.SessionExpirationListener]
    monkeypatch.setattr("statemachines.kafka_controller.NEW_SESSION", tuple(left))
    missing = before - set(moves(design_of("1.0")))
    assert {move.said for move in missing} == {"SessionExpirationListener puts Reelect"}


def test_another_step_has_other_moves() -> None:
    """A step that is changed changes what leads to what, and nothing else."""

    class Stubborn(KafkaController):
        def move_controller(self, me: Controller) -> Answer:
            return Answer(me.to(Do.DeleteController), "whoever it is")

    its = design_of("3.9")
    before, after = set(moves_of("3.9")), set(moves(its, Stubborn))
    move = At(Agenda((Do.MoveController,)))
    assert {each.said for each in after - before} == {"whoever it is"}
    assert all(each.source == move for each in before - after)
