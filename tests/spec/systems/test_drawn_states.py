"""Pictures of states in Kafka's usual form: logs with marks, AR and ISR, znodes and sessions."""

from __future__ import annotations

from typing import Any

from spec.checking import Replay
from spec.checking.traces.views import captions, drawings_in
from spec.language import Specification, Step
from spec.systems.controller_election import ControllerElection
from spec.systems.replication import Replication


def drawn_after(specification: Specification, *steps: Step) -> dict[str, Any]:
    """Return the pictures after these steps, by their names."""
    replay = Replay(specification)
    for step in steps:
        replay.do(step)
    names = [each.name for each in captions(replay.model)]
    return dict(zip(names, drawings_in(replay.model, replay.reached[-1]), strict=True))


def strong(words: str) -> dict[str, str]:
    """Return a highlighted item."""
    return {"tag": words, "look": "strong", "note": ""}


def test_logs_have_their_high_watermarks_and_ends() -> None:
    """A leader has written an uncommitted record; the picture shows each broker's view of the ISR."""
    pictures = drawn_after(
        Replication.of(brokers=2),
        Step("controller_elect_leader", {"broker": 0}),
        Step("become_leader", {"broker": 0, "epoch": 0}),
        Step("leader_write", {"leader": 0}),
    )
    assert pictures["logs"]["grid"][1:] == [
        ["broker 0", {"cells": ["m0@0"], "marks": [["HW", 0], ["LEO", 1]], "room": 2}, strong("leader")],
        ["broker 1", {"cells": [], "marks": [["HW", 0], ["LEO", 0]], "room": 2}, "nothing yet"],
    ]
    isr = {"tags": [strong("0"), "1"]}
    assert pictures["leaderships"]["grid"][1:] == [
        ["ZooKeeper", "0", "0", isr],
        ["broker 0", "0", "0", isr],
        ["broker 1", "", "", {"tags": []}],
        ["LeaderAndIsr 0", "0", "0", isr],
    ]


def test_znodes_are_a_tree_and_sessions_have_their_watches() -> None:
    """A broker that has registered, and looks for a controller."""
    pictures = drawn_after(
        ControllerElection.of(brokers=2, elections=1),
        *(Step(name, {"broker": 1}) for name in ("start", "connect", "register_broker", "watch_controller")),
    )
    tree = {path: there for path, _, _, there in pictures["zk.tree"]["tree"]}
    owned = {"tag": "of session-1.0", "look": "faint", "note": "ephemeral: it ends with its session"}
    assert tree["/brokers/ids/1"] == {"tags": [owned]}
    assert tree["/controller_epoch"] == {"tags": ["0"]}
    assert pictures["zk.clients"]["grid"][1:] == [["session-1.0", {"tags": ["/controller"]}, {"queue": []}]]
    assert [row[:2] for row in pictures["brokers_at_work"]["grid"][1:]] == [
        [{"tag": "broker 0", "look": "gone", "note": ""}, ""],
        ["broker 1", ""],
    ]
