"""Random walks through a server and the class at once.

Most requests should make sense, or there would be little to compare: there are few names, some of them taken from the
beginning, and a version is usually -1 or the right one. Draws do not depend on the server's answers, so a walk can be
replayed and shortened. A draw's meaning is decided when it is sent:

    version None                 the version that the node has
    a name that ends in a dash   the last of the nodes that begin with it; only create takes it as it is
"""

from collections.abc import Mapping, Set
from dataclasses import replace
from itertools import count
from typing import Any, ClassVar

from hypothesis import seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from spec.testing import Mismatch
from statemachines.zookeeper.frames import Children, Close, Exists, Get
from statemachines.zookeeper.server import ANY_VERSION, Check, Create, Delete, Multi, SetData, ZooKeeper
from tests.zookeeper.comparison import CLIENTS, Case, Cut, Drop, Expire, Return, Tally
from tests.zookeeper.server import WalkedServer
from tests.zookeeper.watching import Client

WALKS, STEPS = 40, 60
"""In a round. Hypothesis varies its earlier draws, so many short rounds reach more than a long one."""
FARTHEST = 40_000
"""The number of operations after which a run gives up on outcomes not seen yet."""

NAMES = ("/a/c", "/a/c", "/a/c", "/a", "/a", "/b", "/b", "/b/e", "/a/c/d", "/a/s-", "/a/s-0000000003")
"""Some names occur more often: differences show where requests meet at a node."""
ILL = ("/a/", "/a//c", "/a/./c", "/a\0", "/b\0")
"""Names that some requests refuse."""

CLIENT = st.sampled_from(CLIENTS)
NAME = st.sampled_from(NAMES * 5 + ILL)
NODE = st.sampled_from((*NAMES, "") * 5 + ILL)
LEAF = st.sampled_from(("/a/c", "/a/c", "/b", "/a/c/d", "/a/s-0000000003"))
"""A node whose name is usually not the beginning of another's."""
DATA = st.sampled_from((b"x", b"yz", b"", None))
VERSION: st.SearchStrategy[Any] = st.sampled_from((ANY_VERSION, ANY_VERSION, None, None, None, 0, 1, -2))
WATCH = st.sampled_from((True, True, True, False))

YES, NO = st.just(True), st.just(False)

CREATE = st.builds(Create, NAME, DATA, NO, NO)
CREATE_EPHEMERAL = st.builds(Create, LEAF, DATA, YES, NO)
CREATE_SEQUENTIAL = st.builds(Create, st.just("/a/s-"), DATA, st.booleans(), YES)
SET = st.builds(SetData, NODE, DATA, VERSION)
DELETE = st.builds(Delete, NAME, VERSION)
CHECK = st.builds(Check, NODE, VERSION)
WRITE = st.one_of(CREATE, CREATE_EPHEMERAL, CREATE_SEQUENTIAL, SET, DELETE)
MULTI = st.builds(Multi, st.lists(st.one_of(WRITE, CHECK), max_size=3).map(tuple))

REQUESTS: dict[st.SearchStrategy[Any], int] = {
    CREATE: 3,
    CREATE_EPHEMERAL: 2,
    CREATE_SEQUENTIAL: 2,
    SET: 3,
    DELETE: 6,
    MULTI: 4,
    st.builds(Exists, NAME, WATCH): 3,
    st.builds(Exists, LEAF, WATCH): 2,
    st.builds(Get, NODE, WATCH): 4,
    st.builds(Children, NODE, WATCH): 4,
    st.just(Close()): 1,
}
"""Requests of clients -> weights."""

LOSSES: dict[st.SearchStrategy[Any], int] = {
    st.just(Expire()): 1,
    st.just(Cut()): 2,
    st.builds(Drop, st.lists(st.one_of(WRITE, MULTI), max_size=4).map(tuple), st.integers(0, 4)): 1,
    st.just(Return()): 3,
}
"""Losses of connections and sessions -> weights."""


@st.composite
def often(draw: st.DrawFn, weights: Mapping[st.SearchStrategy[Any], int]) -> Any:
    """Draw one of these by weight. (`one_of` takes each once, however often it is listed.)"""
    return draw(draw(st.sampled_from([each for each, weight in weights.items() for _ in range(weight)])))


class Walk(RuleBasedStateMachine):
    """A walk of a few clients through one case."""

    server: ClassVar[WalkedServer]
    tally: ClassVar[Tally]
    kind: ClassVar[type[ZooKeeper]]
    client: ClassVar[type[Client]] = Client

    def __init__(self) -> None:
        super().__init__()
        with self.server.needed():
            self.case = Case(self.server, self.kind, self.tally, self.client)

    def teardown(self) -> None:
        try:
            with self.server.needed():
                self.case.end()
        finally:
            self.case.hang_up()

    @rule(client=CLIENT, step=often(REQUESTS | LOSSES))
    def go(self, client: int, step: Any) -> None:
        with self.server.needed():
            self.case.go(client, self.meant(step))

    def meant(self, step: Any) -> Any:
        """A step with its full paths and versions."""
        if isinstance(step, Multi):
            return Multi(tuple(map(self.meant, step.operations)))
        if isinstance(step, Drop):
            return Drop(tuple(map(self.meant, step.requests)), step.whole)
        if not hasattr(step, "path"):
            return step
        nodes, path = self.case.zk.state.nodes, self.case.root + step.path
        if path.endswith("-") and not isinstance(step, Create):
            path = max((each for each in nodes if each.startswith(path)), default=path)
        if isinstance(step, Exists | Get | Children):
            return replace(step, path=path)
        step = step._replace(path=path)
        if getattr(step, "version", ANY_VERSION) is None:
            step = step._replace(version=nodes[path].version if path in nodes else 0)
        return step


def run(
    walk: type[Walk],
    server: WalkedServer,
    tally: Tally,
    number: int,
    kind: type[ZooKeeper] = ZooKeeper,
    profile: settings | None = None,
    walks: int = WALKS,
) -> None:
    """Take a round of walks, which its number determines.

    Raises Mismatch, with the program that leads there, if the class and the server disagree.
    """
    machine = type(walk.__name__, (walk,), {"server": server, "tally": tally, "kind": kind})
    try:
        run_state_machine_as_test(
            seed(number)(machine), settings=settings(profile, max_examples=walks, stateful_step_count=STEPS)
        )
    except Exception:  # a walk that stops in the middle may look flaky to Hypothesis
        if server.gone is not None:
            raise server.gone from None
        raise


def run_far(walk: type[Walk], server: WalkedServer, first: int, operations: int, wanted: Set[str]) -> Tally:
    """Take rounds of walks for so many operations, and up to `FARTHEST` until everything in `wanted` was met."""
    tally = Tally()
    for number in count(first):
        try:
            run(walk, server, tally, number)
        except Mismatch as mismatch:
            mismatch.add_note(f"This is round {number}; with ZOOKEEPER_ROUND={number} the test begins with it.")
            raise
        if tally.steps.total() >= (operations if wanted <= tally.met() else max(operations, FARTHEST)):
            break
    return tally
