"""Servers with one mistake each: the walks that the class passes distinguish each of them from the real one.

They are the mutants that the class's own scenarios catch, and some that only a real server reveals.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis.errors import Flaky

from spec.testing import Mismatch
from statemachines.zookeeper.server import MISSED, Event, EventType, Missed, SessionId, ZooKeeper
from tests.statemachines.zookeeper.test_mutants import MUTANTS, Kind, mutate
from tests.zookeeper.comparison import Tally
from tests.zookeeper.machine import Walk, run
from tests.zookeeper.server import Server


class TellsWhatWasMissed(ZooKeeper):
    """The data watch of a returning client receives both the deletion and the creation of a node."""

    def _catch_up(self, session: SessionId, seen_zxid: int, missed: Missed, paths: Sequence[str]) -> None:
        for path in paths:
            node = self.state.nodes.get(path)
            if missed is MISSED["data"] and node is not None and node.czxid > seen_zxid:
                for change in (EventType.NodeDeleted, EventType.NodeCreated):
                    self._deliver(session, Event(change, path, self.state.zxid))
            else:
                super()._catch_up(session, seen_zxid, missed, [path])


class ReturnsInATransaction(ZooKeeper):
    """A return takes a zxid, as a new session does."""

    def set_watches(self, *arguments: Any) -> None:
        super().set_watches(*arguments)
        self._next_zxid()


KINDS = [
    *(kind for kind, _ in MUTANTS),
    TellsWhatWasMissed,
    ReturnsInATransaction,
]


SOON = {
    "RemembersVersions",
    "GoesOnTelling",
    "LeavesEphemeralsBehind",
    "EndsInSteps",
    "KeepsWhatWasDone",
    "AnswersBeforeItTells",
    "FailsForFree",
    "ReturnsInATransaction",
}
"""One of each sort, for every run; `make long` checks all."""

ROUNDS = 30
"""More rounds than any of them needs."""


def mismatch(server: Server, kind: Kind) -> Mismatch:
    """The mismatch that the walks find. They are the same each time, and are not shortened.

    It may depend on a choice of the server, which may differ when Hypothesis repeats the walk. It is a mismatch
    anyway.
    """
    tally = Tally()
    once = settings(database=None, phases=[Phase.generate], report_multiple_bugs=False)
    for number in range(ROUNDS):
        with suppress(Mismatch, Flaky):
            run(Walk, server, tally, number, kind, once)
        if tally.mismatches:
            return tally.mismatches[0]
    raise AssertionError("no difference was found")


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, id=kind.__name__, marks=() if kind.__name__ in SOON else pytest.mark.long) for kind in KINDS],
)
def test_a_mutant_differs_from_the_server(kind: Kind, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a message that names the step, and the answers of the server and the class."""
    mutate(kind, monkeypatch)
    step, *answers = str(mismatch(server, kind)).splitlines()
    assert re.match(r"(client \d|onlooker), \w+", step)
    assert any("server" in line for line in (step, *answers))
    assert any("class" in line for line in (step, *answers))
