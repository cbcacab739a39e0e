"""The class beside a real ZooKeeper server: random walks of three clients, compared at each step.

Compared unchanged:

    answers       results, error codes, each place of a multi's answer; data, with None distinct from b""
    stats         every field but the clocks
    zxids         of answers, events and stats
    events        type, path and zxid; which watches fire, for all clients; the order of events, and that all of
                  them arrive before the answer to the request that caused them
    sessions      their beginning; their end by close or expiry, connected or disconnected; the refusal of clients
                  that return later
    connections   lost by either side, with pending requests or without; the watches that a Kafka client sets
                  again, and the resulting events

The class leaves open what depends on a hash table or on a race, and receives the server's choice there (see
`comparison`): the order in which a session's end deletes its nodes, how many of its own events an expired client
still receives, how many pending requests are served.

Deliberate differences, so not compared:

    ctime, mtime                  the class has no clock
    the order of children         a hash table's; the class has sets
    None as the owner of a node   the server says 0, which is a valid id for the class
    events on return              on the wire they have no zxid; in the class, that of the answer after them
    NoNode from exists            an answer without a stat, as all clients show it
    the root, and /zookeeper      the class begins with an empty tree; a case has its own node
    timeouts, passwords, ACLs     left out; sessions end when a walk ends them
    stale reads                   neither a single server nor the class has any
"""

import os

import pytest

from statemachines.zookeeper.server import EventType, SetData, ZooKeeper
from tests.zookeeper.comparison import Case, Drop, Return, Tally
from tests.zookeeper.machine import Walk, run_far
from tests.zookeeper.server import Server

LONG = int(os.environ.get("ZOOKEEPER_OPERATIONS", 200_000))

ANSWERS = {
    "Create": ("OK", "NONODE", "NODEEXISTS", "NOCHILDRENFOREPHEMERALS", "BADARGUMENTS"),
    "SetData": ("OK", "NONODE", "BADVERSION", "BADARGUMENTS"),
    "Delete": ("OK", "NONODE", "BADVERSION", "NOTEMPTY", "BADARGUMENTS"),
    "Multi": ("OK", "NONODE", "NODEEXISTS", "BADVERSION", "NOTEMPTY", "NOCHILDRENFOREPHEMERALS", "BADARGUMENTS"),
    "Exists": ("OK", "BADARGUMENTS"),
    "Get": ("OK", "NONODE"),
    "Children": ("OK", "NONODE"),
    "Connect": ("OK",),
    "SetWatches": ("OK", "SESSIONEXPIRED"),
    "Close": ("OK",),
    "Expire": ("OK",),
    "Cut": ("OK",),
    "Drop": ("OK",),
}
"""All possible answers to each step; for a multi, the code of the failed operation."""

EVENTS = {f"{each.name} {when}" for each in EventType for when in ("at once", "on return")}

CHOICES = {
    "deleted several in some order",
    "expired while away",
    "expired while connected",
    "served all of the pending requests",
    "served none of the pending requests",
    "served some of the pending requests",
}

POSSIBLE = {f"{step} {code}" for step, codes in ANSWERS.items() for code in codes} | EVENTS | CHOICES
"""Everything that can happen, and does in each long run: proof that the walks reach everywhere."""


@pytest.mark.parametrize("operations", [100, pytest.param(LONG, marks=pytest.mark.long, id="long")])
def test_the_class_is_where_the_server_is(server: Server, first_round: int, operations: int) -> None:
    """After each of so many operations; many of them succeed, and many cause events."""
    wanted = POSSIBLE if operations == LONG else set[str]()
    tally = run_far(Walk, server, first_round, operations, wanted)
    assert wanted <= tally.met() <= POSSIBLE
    assert len(tally.met()) >= len(POSSIBLE) * 0.8
    assert tally.steps.total() >= operations
    assert sum(tally.steps[f"{write} OK"] for write in ("Create", "SetData", "Delete", "Multi")) >= operations / 10
    assert tally.events.total() >= operations / 50


def test_a_cut_spares_a_beginning_of_what_is_under_way(server: Server) -> None:
    """If the server hangs up after thousands of requests, it has served a first part of them, and no others."""
    tally = Tally()
    for _ in range(5):
        case = Case(server, ZooKeeper, tally)
        try:
            case.go(0, Return())
            case.go(0, Drop(tuple(SetData(f"{case.root}/a", b"%d" % number) for number in range(4000))))
            case.go(0, Return())
            case.end()
        finally:
            case.hang_up()
    assert tally.choices["served some of the pending requests"] > 0
