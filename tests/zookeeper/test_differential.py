"""The class beside a real ZooKeeper server: random walks of three clients, compared at each step.

Compared, each as it is:

    answers       results, error codes, each place of a multi's answer; data, None apart from b""
    stats         every field but the clocks
    zxids         of answers, events and stats
    events        type, path and zxid; which watches fire, for all clients; in which order they come, and that
                  all of them come before the answer to the request which caused them
    sessions      their beginning; their end by close or expiry, connected or away; and that who comes back
                  later is refused
    connections   lost by either side, with requests under way or none; the watches that a Kafka client asks
                  for again, and what it is told then

The class leaves open what depends on a hash table or on a race, and is told there what the server did (see
`comparison`): the order in which the nodes of a session's end go, how many of its own events an expired client
still hears, how many requests under way are served.

Deliberate differences, so not compared:

    ctime, mtime                  the class has no clock
    the order of children         a hash table's; the class has sets
    None as the owner of a node   the server says 0, which is a fine id for the class
    events on coming back         on the wire they have no zxid; in the class, that of the answer behind them
    NoNode from exists            an answer without a stat, as all clients show it
    the root, and /zookeeper      the class begins with an empty tree; a case has its own node
    timeouts, passwords, ACLs     left out; sessions are ended when a walk wants it
    stale reads                   a server that is alone has none, nor has the class
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
"""All that may be answered to each step; to a multi, the code of the operation that fails."""

EVENTS = {f"{each.name} {when}" for each in EventType for when in ("at once", "on return")}

CHOICES = {
    "deleted several in some order",
    "expired while away",
    "expired while connected",
    "served all of what was under way",
    "served none of what was under way",
    "served some of what was under way",
}

POSSIBLE = {f"{step} {code}" for step, codes in ANSWERS.items() for code in codes} | EVENTS | CHOICES
"""All that can happen, and happens in each long run: that it is met shows that the walks go everywhere."""


@pytest.mark.parametrize("operations", [500, pytest.param(LONG, marks=pytest.mark.long, id="long")])
def test_the_class_is_where_the_server_is(server: Server, first_round: int, operations: int) -> None:
    """After each of so many operations; many of them succeed, and many are heard of."""
    wanted = POSSIBLE if operations == LONG else set[str]()
    tally = run_far(Walk, server, first_round, operations, wanted)
    assert wanted <= tally.met() <= POSSIBLE
    assert len(tally.met()) >= len(POSSIBLE) * 0.8
    assert tally.steps.total() >= operations
    assert sum(tally.steps[f"{write} OK"] for write in ("Create", "SetData", "Delete", "Multi")) >= operations / 10
    assert tally.events.total() >= operations / 50


def test_a_cut_spares_a_beginning_of_what_is_under_way(server: Server) -> None:
    """Of thousands of requests sent at once the server has served a first part, and no other, when it hangs up."""
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
    assert tally.choices["served some of what was under way"] > 0
