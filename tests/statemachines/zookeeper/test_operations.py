"""The result of each operation, the order of its checks, and the paths that it accepts."""

import re
from collections.abc import Callable

import pytest

from statemachines.zookeeper.server import (
    BadArguments,
    Check,
    Code,
    Create,
    Created,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    SessionExpired,
    ZooKeeper,
    ZooKeeperError,
)
from statemachines.zookeeper.tree import add_nodes
from tests.rows import rows
from tests.statemachines.zookeeper.test_server import C, W, all_but_zxid, code_of, server, stat

OK, NONODE, NODEEXISTS = Code.OK, Code.NONODE, Code.NODEEXISTS
BADVERSION, NOTEMPTY, BADARGUMENTS = Code.BADVERSION, Code.NOTEMPTY, Code.BADARGUMENTS
NOCHILDREN = Code.NOCHILDRENFOREPHEMERALS

Request = Callable[[ZooKeeper], object]


def furnished() -> ZooKeeper:
    """/a at version 0 with child b, /v at version 1, /e an ephemeral of W."""
    zk = server("/a", "/a/b", "/v")
    zk.set(C, "/v", b"1")
    zk.create(W, "/e", ephemeral=True)
    return zk


WRITES: list[tuple[str, Request, Code]] = [
    ("create anew", lambda zk: zk.create(C, "/n"), OK),
    ("create below a missing parent", lambda zk: zk.create(C, "/n/m"), NONODE),
    ("create an existing node", lambda zk: zk.create(C, "/a"), NODEEXISTS),
    ("create the root", lambda zk: zk.create(C, "/"), NODEEXISTS),
    ("create an ephemeral where one is", lambda zk: zk.create(C, "/e", ephemeral=True), NODEEXISTS),
    ("create one's own ephemeral again", lambda zk: zk.create(W, "/e", ephemeral=True), NODEEXISTS),
    ("create below an ephemeral", lambda zk: zk.create(C, "/e/k"), NOCHILDREN),
    ("create below one's own ephemeral", lambda zk: zk.create(W, "/e/k", ephemeral=True), NOCHILDREN),
    ("create a grandchild of an ephemeral", lambda zk: zk.create(C, "/e/k/x"), NONODE),
    ("create a sequential below an ephemeral", lambda zk: zk.create(C, "/e/k", sequential=True), NOCHILDREN),
    ("create a sequential below nothing", lambda zk: zk.create(C, "/n/s-", sequential=True), NONODE),
    ("delete", lambda zk: zk.delete(C, "/v"), OK),
    ("delete at its version", lambda zk: zk.delete(C, "/v", 1), OK),
    ("delete the root", lambda zk: zk.delete(C, "/"), BADARGUMENTS),
    ("delete a missing node", lambda zk: zk.delete(C, "/n"), NONODE),
    ("delete a missing node at a version", lambda zk: zk.delete(C, "/n", 3), NONODE),
    ("delete at another version", lambda zk: zk.delete(C, "/v", 0), BADVERSION),
    ("delete at version -2", lambda zk: zk.delete(C, "/v", -2), BADVERSION),
    ("delete a node with children", lambda zk: zk.delete(C, "/a"), NOTEMPTY),
    ("delete a node with children at its version", lambda zk: zk.delete(C, "/a", 0), NOTEMPTY),
    ("delete a node with children at another version", lambda zk: zk.delete(C, "/a", 1), BADVERSION),
    ("delete another's ephemeral", lambda zk: zk.delete(C, "/e"), OK),
    ("set", lambda zk: zk.set(C, "/v", b""), OK),
    ("set at its version", lambda zk: zk.set(C, "/v", b"", 1), OK),
    ("set at another version", lambda zk: zk.set(C, "/v", b"", 2), BADVERSION),
    ("set at version -2", lambda zk: zk.set(C, "/v", b"", -2), BADVERSION),
    ("set a missing node", lambda zk: zk.set(C, "/n", b""), NONODE),
    ("set a missing node at a version", lambda zk: zk.set(C, "/n", b"", 0), NONODE),
    ("set the root", lambda zk: zk.set(C, "/", b""), OK),
    ("set another's ephemeral", lambda zk: zk.set(C, "/e", b""), OK),
]


@rows("request_, code", {name: row for name, *row in WRITES})
def test_a_write_answers_with_its_first_reason_to_fail(request_: Request, code: Code) -> None:
    """Path before existence, existence before version, version before children."""
    assert code_of(lambda: request_(furnished())) is code


FAILURES = [row for row in WRITES if row[2] is not OK]


@rows("request_", {name: request for name, request, _ in FAILURES})
def test_a_write_that_fails_changes_nothing(request_: Request) -> None:
    """It fires no watch and changes no node; it only takes a zxid."""
    zk = furnished()
    for path in ("/", "/a", "/v", "/e", "/n"):
        zk.exists(W, path, watch=True)
    zk.children(W, "/", watch=True)
    before, zxid = all_but_zxid(zk), zk.state.zxid
    with pytest.raises(ZooKeeperError):
        request_(zk)
    assert (all_but_zxid(zk), zk.state.zxid) == (before, zxid + 1)


@rows(
    "path, version, code",
    [
        ("/v", 1, OK),
        ("/v", -1, OK),
        ("/v", 0, BADVERSION),
        ("/v", -2, BADVERSION),
        ("/n", 0, NONODE),
        ("/n", -1, NONODE),
        ("v", -1, BADARGUMENTS),
    ],
)
def test_a_check_is_a_separate_guard(path: str, version: int, code: Code) -> None:
    """A check returns like a set at that version, and changes nothing."""
    zk = furnished()
    before = all_but_zxid(zk)
    (result,) = zk.multi(C, [Check(path, version)])
    assert result is (None if code is OK else code)
    assert all_but_zxid(zk) == before


def test_reads_of_a_missing_node() -> None:
    """Get and children raise NoNode; exists returns None."""
    zk = furnished()
    assert code_of(lambda: zk.get(C, "/n")) is NONODE
    assert code_of(lambda: zk.children(C, "/n")) is NONODE
    assert zk.exists(C, "/n") is None


def test_reads_of_an_existing_node() -> None:
    """All three return the stat; get also the data, children also the names without the path."""
    zk = furnished()
    assert zk.exists(C, "/a") == zk.get(C, "/a")[1] == zk.children(C, "/a")[1] == stat(zk, "/a")
    assert zk.get(C, "/v")[0] == b"1"
    assert zk.children(C, "/a")[0] == {"b"}
    assert zk.children(C, "/")[0] == {"a", "v", "e"}
    assert zk.children(C, "/v")[0] == frozenset()


def test_an_ephemeral_keeps_its_owner() -> None:
    """Others may set an ephemeral; its creator stays its owner, and a NodeExists shows that."""
    zk = furnished()
    zk.set(C, "/e", b"from another")
    assert zk.get(C, "/e")[0] == b"from another"
    assert stat(zk, "/e").ephemeralOwner == W
    with pytest.raises(NodeExists):
        zk.create(C, "/e", ephemeral=True)
    assert stat(zk, "/e").ephemeralOwner == W


def test_ephemeral_and_sequential_combine() -> None:
    """A node can be both: numbered, and deleted with its session."""
    zk = furnished()
    path, created = zk.create(W, "/a/member-", b"w", ephemeral=True, sequential=True)
    assert (path, created.ephemeralOwner) == ("/a/member-0000000001", W)
    zk.expire(W)
    assert zk.exists(C, path) is None


@rows(
    "data",
    {
        "None": None,
        "empty": b"",
        "bytes": b"\0\xff",
        "as much as there may be": b"x" * 1_048_400,
        "a number": 7,
        "a tuple": ("a", frozenset({1})),
    },
)
def test_data_are_read_back_as_they_were_written(data: object) -> None:
    """None, no bytes, and bytes are three different values; values other than bytes are kept as they are."""
    zk = server()
    zk.create(C, "/a", data)
    zk.create(C, "/b", b"other")
    zk.set(C, "/b", data)
    assert zk.get(C, "/a")[0] == zk.get(C, "/b")[0] == data
    assert type(zk.get(C, "/a")[0]) is type(data)


# sequential names


def names(zk: ZooKeeper, *prefixes: str) -> list[str]:
    """The names of sequential nodes with these prefixes, created below /a."""
    return [zk.create(C, f"/a/{prefix}", sequential=True).path.removeprefix("/a/") for prefix in prefixes]


def test_added_nodes_equal_created_ones() -> None:
    """Except for their zxids; below a parent that had children, and below added nodes."""
    data = {"/t/0": None, "/t/0/state": "a", "/t/1": "b"}
    created, added = ZooKeeper(), ZooKeeper()
    for zk in (created, added):
        zk.create(None, "/t")
        zk.create(None, "/t/before")
    for path, value in data.items():
        created.create(None, path, value)
    add_nodes(added.state.nodes, data)
    alike = [
        {path: node._replace(czxid=0, mzxid=0, pzxid=0) for path, node in zk.state.nodes.items()}
        for zk in (created, added)
    ]
    assert alike[0] == alike[1]


def test_the_number_counts_all_children_ever_created() -> None:
    """Plain or sequential, ephemeral or not, with any prefix: each child takes a number, so names have gaps."""
    zk = server("/a")
    zk.create(C, "/a/eph", ephemeral=True)
    assert names(zk, "s-", "t-", "") == ["s-0000000001", "t-0000000002", "0000000003"]


def test_numbers_start_at_zero_below_each_parent() -> None:
    """The first child is number 0, whatever happened elsewhere."""
    zk = server("/a", "/a/b")
    assert zk.create(C, "/a/b/s", sequential=True).path == "/a/b/s0000000000"
    assert zk.create(C, "/s", sequential=True).path == "/s0000000001"


def test_deletes_do_not_give_numbers_back() -> None:
    """A number is not used again while the parent lives."""
    zk = server("/a")
    assert names(zk, "s") == ["s0000000000"]
    zk.delete(C, "/a/s0000000000")
    assert names(zk, "s") == ["s0000000001"]


def test_failed_creates_take_no_number() -> None:
    """A failed create does not count as a child."""
    zk = server("/a", "/a/b")
    assert code_of(lambda: zk.create(C, "/a/b")) is NODEEXISTS
    assert names(zk, "s") == ["s0000000001"]


def test_a_recreated_parent_starts_at_zero_again() -> None:
    """The number belongs to the node, not to the path."""
    zk = server("/a", "/a/b")
    zk.delete(C, "/a/b")
    zk.delete(C, "/a")
    zk.create(C, "/a")
    assert names(zk, "s") == ["s0000000000"]


def test_an_existing_name_blocks_the_number() -> None:
    """NodeExists each time, until another child takes the number."""
    zk = server("/a", "/a/s0000000001")
    for _ in range(2):
        with pytest.raises(NodeExists):
            zk.create(C, "/a/s", sequential=True)
    zk.create(C, "/a/other")
    assert names(zk, "s") == ["s0000000002"]


def test_the_number_is_not_the_cversion() -> None:
    """The cversion counts deletions as well, the number does not."""
    zk = server("/a", "/a/b")
    zk.delete(C, "/a/b")
    assert stat(zk, "/a").cversion == 2
    assert names(zk, "s") == ["s0000000001"]


# paths

PATHS = """
path        create        delete        set           get     children  exists
""          BADARGUMENTS  BADARGUMENTS  BADARGUMENTS  OK      OK        OK
a           BADARGUMENTS  BADARGUMENTS  BADARGUMENTS  NONODE  NONODE    None
/a/         BADARGUMENTS  NONODE        BADARGUMENTS  NONODE  NONODE    None
/n/         NONODE        NONODE        BADARGUMENTS  NONODE  NONODE    None
//          BADARGUMENTS  -             -             -       -         -
/a//b       NONODE        NONODE        BADARGUMENTS  NONODE  NONODE    None
/a/./b      NONODE        NONODE        BADARGUMENTS  NONODE  NONODE    None
/a/../b     NONODE        NONODE        BADARGUMENTS  NONODE  NONODE    None
/.          BADARGUMENTS  -             -             -       -         -
/..         BADARGUMENTS  -             -             -       -         -
/a\\0b       BADARGUMENTS  BADARGUMENTS  BADARGUMENTS  NONODE  NONODE    BADARGUMENTS
/a\\x01b     BADARGUMENTS  -             -             -       -         -
/a\\x1fb     BADARGUMENTS  -             -             -       -         -
/a\\x7fb     BADARGUMENTS  -             -             -       -         -
/\\ue000     BADARGUMENTS  -             -             -       -         -
/\\ufff0     BADARGUMENTS  -             -             -       -         -
/\\n         BADARGUMENTS  -             -             -       -         -
/a\\x20b     OK            -             -             -       -         -
/ä          OK            -             -             -       -         -
/a/b.       OK            -             -             -       -         -
/x\\ud7ffy   OK            -             -             -       -         -
/           NODEEXISTS    BADARGUMENTS  OK            OK      OK        OK
"""
"""The result of each operation for each path while /a exists and has no child; a dash: not tested."""


def path_rows() -> list[tuple[str, str, str]]:
    """(operation, path, result) for each cell of the table."""
    header, *rows = (line.split() for line in PATHS.strip().splitlines())
    return [
        (operation, "" if path == '""' else path.encode("latin1").decode("unicode_escape"), answer)
        for path, *answers in rows
        for operation, answer in zip(header[1:], answers, strict=True)
        if answer != "-"
    ]


@rows("operation, path, answer", path_rows())
def test_each_operation_has_its_own_check_of_paths(operation: str, path: str, answer: str) -> None:
    """Paths are refused, missed or found as in the table."""
    zk = server("/a")
    request: Callable[[], object] = {
        "create": lambda: zk.create(C, path),
        "delete": lambda: zk.delete(C, path),
        "set": lambda: zk.set(C, path, b""),
        "get": lambda: zk.get(C, path),
        "children": lambda: zk.children(C, path),
        "exists": lambda: zk.exists(C, path),
    }[operation]
    if answer == "None":
        assert request() is None
    else:
        assert code_of(request) is Code[answer]


@pytest.mark.parametrize("path", ["/a/", "/"])
def test_a_number_can_be_the_whole_name(path: str) -> None:
    """A sequential path may end in a slash: the number completes it."""
    zk = server("/a")
    assert re.fullmatch(rf"{path}\d{{10}}", zk.create(C, path, sequential=True).path)


def test_reads_take_the_empty_path_for_the_root() -> None:
    """The empty path reads and watches the root."""
    zk = server()
    zk.children(W, "", watch=True)
    assert zk.state.child_watches == {"/": {W}}
    assert zk.get(C, "") == zk.get(C, "/")


# sessions, and clients without one


REQUESTS: list[tuple[str, Request]] = [
    ("exists", lambda zk: zk.exists("gone", "/a")),
    ("get", lambda zk: zk.get("gone", "/a")),
    ("children", lambda zk: zk.children("gone", "/a")),
    ("create", lambda zk: zk.create("gone", "/n")),
    ("set", lambda zk: zk.set("gone", "/a", b"")),
    ("delete", lambda zk: zk.delete("gone", "/v")),
    ("multi", lambda zk: zk.multi("gone", [])),
    ("close", lambda zk: zk.close("gone")),
    ("expire", lambda zk: zk.expire("gone")),
    ("set_watches", lambda zk: zk.set_watches("gone", 0, ["/a"])),
    ("drop", lambda zk: zk.drop("gone", [], 0)),
]


@rows("request_", dict(REQUESTS))
def test_an_ended_session_can_do_nothing(request_: Request) -> None:
    """A request of a session that is not live is refused without any effect, not even on the zxid."""
    zk = furnished()
    zk.connect("gone")
    zk.close("gone")
    before, zxid = all_but_zxid(zk), zk.state.zxid
    with pytest.raises(SessionExpired):
        request_(zk)
    assert (all_but_zxid(zk), zk.state.zxid) == (before, zxid)


def test_a_client_without_session_may_read_and_write() -> None:
    """It may do everything that creates nothing for a session to own."""
    zk = furnished()
    zk.exists(W, "/n", watch=True)
    assert zk.create(None, "/n") == Created("/n", stat(zk, "/n"))
    assert stat(zk, "/n").ephemeralOwner is None
    zk.set(None, "/n", b"x")
    zk.delete(None, "/e")
    assert zk.multi(None, [Check("/n", 1)]) == (None,)
    assert zk.state.sessions[W] == frozenset()
    assert zk.take(W) is not None


@rows(
    "request_",
    [
        lambda zk: zk.create(None, "/n", ephemeral=True),
        lambda zk: zk.multi(None, [Create("/n", ephemeral=True)]),
        lambda zk: zk.exists(None, "/a", watch=True),
        lambda zk: zk.get(None, "/a", watch=True),
        lambda zk: zk.children(None, "/a", watch=True),
        lambda zk: zk.close(None),
        lambda zk: zk.expire(None),
        lambda zk: zk.connect(None),
        lambda zk: zk.set_watches(None, 0),
        lambda zk: zk.drop(None, [], 0),
    ],
)
def test_a_client_without_session_owns_nothing(request_: Request) -> None:
    """Without a session there is no ephemeral, no watch, and no end."""
    zk = furnished()
    before, zxid = all_but_zxid(zk), zk.state.zxid
    with pytest.raises(ValueError, match="session"):
        request_(zk)
    assert (all_but_zxid(zk), zk.state.zxid) == (before, zxid)


def test_errors_have_zookeepers_codes() -> None:
    """Each error has the code that the server would send."""
    codes = {error.code.value: error.__name__ for error in ZooKeeperError.__subclasses__()}
    assert codes == {
        -8: BadArguments.__name__,
        -101: NoNode.__name__,
        -103: "BadVersion",
        -108: NoChildrenForEphemerals.__name__,
        -110: NodeExists.__name__,
        -111: "NotEmpty",
        -112: SessionExpired.__name__,
    }
