"""The probe predicts from a few states whether learning pays."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import inf
from typing import Annotated, Any

import pytest

from spec.checking.local.probe import Learned, Probe
from spec.checking.local.recording import Recorder
from spec.checking.model import Model
from spec.language import Size, Specification, State, Total, action, invariant, variable

Lamp = Annotated[int, "a lamp"]
Ticket = Annotated[int, "a ticket"]


class Lamps(State):
    """Some lamps."""

    on: Total[Lamp, bool] = variable("Which of them burn.")


class FewOfMany(Specification[Lamps]):
    """Lamps are switched, each by itself; and of very many tickets only two are ever there."""

    def sizes(self) -> Mapping[Any, Size]:
        return {Lamp: range(8), Ticket: range(5000)}

    @action
    def switch(self, s: Lamps, lamp: Lamp) -> None:
        """A lamp."""
        s.on[lamp] = not s.on[lamp]

    @action(ticket=lambda self, s: (3, 4))
    def take(self, s: Lamps, ticket: Ticket) -> None:
        """A ticket."""

    @invariant(ticket=lambda self, s: (3, 4))
    def is_high(self, s: Lamps, ticket: Ticket) -> bool:
        """Each of them."""
        return ticket > 2


class DearWherePresent(FewOfMany):
    """A present instance takes a hundred times as long as an absent one."""

    @invariant(ticket=lambda self, s: (3, 4))
    def is_high(self, s: Lamps, ticket: Ticket) -> bool:
        """Each of them."""
        return ticket > 2 and sum(range(1_000_000)) > 0


STATES = [*product((False, True), repeat=8)]


def test_only_present_instances_are_learned() -> None:
    """And each path once."""
    model = Model(FewOfMany())
    probe = Probe(model, model.numbers(["is_high"]))
    assert [learned and learned.paths for learned in (probe.learn(STATES[at], inf) for at in (0, 255, 7))] == [
        12,
        8,
        0,
    ]


def test_absent_instances_must_be_affordable() -> None:
    """Tables need a path for each of them. A search that has not lasted as long is not worth it."""
    model = Model(FewOfMany())
    assert Probe(model, model.numbers(["is_high"])).pays(STATES, 10.0, inf)
    assert not Probe(model, model.numbers(["is_high"])).pays(STATES, 10.0, 0.0)


def test_absent_instances_are_not_priced_like_present_ones() -> None:
    """At that price, ten thousand of them would take half a minute."""
    model = Model(DearWherePresent())
    assert Probe(model, model.numbers(["is_high"])).pays(STATES, 10.0, 10.0)


def test_absent_instances_are_priced_without_twins(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin is made once, and must not count for each of them."""
    tried: list[object] = []
    monkeypatch.setattr(Recorder, "_is_longer", lambda *given: tried.append(given))
    monkeypatch.setattr("spec.checking.local.probe.TRIED", 1)
    monkeypatch.setattr("spec.checking.local.recording.OTHERS", 1)
    model = Model(FewOfMany())
    probe = Probe(model, model.numbers(["is_high"]))
    assert probe._absent_ones(STATES[0]) > 0
    assert not tried
    probe.learn(STATES[0], inf)
    assert tried


def test_falling_paths_promise_nothing_while_they_are_dear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few states are learned in the time that there is, so the first of them say little about the rest."""
    model = Model(FewOfMany())
    monkeypatch.setattr(Probe, "price", lambda *_: 1.0)
    for seconds, pays in ((9.0, True), (11.0, False)):
        paths = iter([100] * 64 + [1] * 192)
        monkeypatch.setattr(Probe, "learn", lambda *_, paths=paths, each=seconds: Learned(next(paths), each))
        assert Probe(model, model.numbers(["is_high"])).pays(STATES, 10.0, inf) is pays
