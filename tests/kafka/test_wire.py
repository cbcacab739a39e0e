"""The parts of ZooKeeper's frames that a proxy inspects."""

from __future__ import annotations

import pytest

from spec.kafka.proxy import Notification, ReplyFrame, RequestFrame
from statemachines.zookeeper.frames import (
    Children,
    Close,
    Exists,
    Get,
    Jute,
    Ping,
    Request,
    SetWatches,
    asked_open,
    event_frame,
    granted,
    request_frame,
)
from statemachines.zookeeper.server import Check, Create, Delete, Event, EventType, Multi, SetData


def long(value: int) -> bytes:
    return value.to_bytes(8, signed=True)


def integer(value: int) -> bytes:
    return value.to_bytes(4, signed=True)


@pytest.mark.parametrize(
    ("request_made", "expected"),
    [
        (Exists("/a", watch=True), RequestFrame(7, "exists", "/a", watch=True)),
        (Get("/a"), RequestFrame(7, "getData", "/a")),
        (Children("/a", watch=True), RequestFrame(7, "getChildren2", "/a", watch=True)),
        (Create("/a", b"x", ephemeral=True), RequestFrame(7, "create2", "/a")),
        (SetData("/a", b"x", 3), RequestFrame(7, "setData", "/a")),
        (Delete("/a", 3), RequestFrame(7, "delete", "/a")),
        (SetWatches(5, ("/a",)), RequestFrame(7, "setWatches")),
        (Ping(), RequestFrame(7, "ping")),
        (Close(), RequestFrame(7, "closeSession")),
        (
            Multi((Check("/epoch", 1), Create("/a", b"x"), SetData("/b", b"y", 2), Delete("/c", 0))),
            RequestFrame(7, "multi", "/c", parts=("check /epoch", "create2 /a", "setData /b", "delete /c")),
        ),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, RequestFrame) else "",
)
def test_requests(request_made: Request, expected: RequestFrame) -> None:
    """Operation, path, watch; for a multi all operations, and the path of the last."""
    assert RequestFrame.parse(request_frame(7, request_made)) == expected


def test_a_request_that_is_not_known() -> None:
    """It is identified by its number, and not parsed."""
    assert str(RequestFrame.parse(integer(7) + integer(999) + b"anything")) == "request 999"


def test_a_request_that_is_cut_off() -> None:
    """It is refused; the error says how many bytes are missing."""
    with pytest.raises(ValueError, match="a frame of 11 bytes should have 12"):
        RequestFrame.parse(request_frame(7, Get("/controller"))[:11])


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (RequestFrame(1, "exists", "/a", watch=True), "exists /a with a watch"),
        (RequestFrame(1, "ping"), "ping"),
        (RequestFrame(1, "multi", "/b", parts=("create /a", "setData /b")), "multi: create /a, setData /b"),
    ],
    ids=["watch", "no path", "multi"],
)
def test_requests_as_text(frame: RequestFrame, text: str) -> None:
    """On one line, readable for a person."""
    assert str(frame) == text


def test_a_multi_that_failed() -> None:
    """The reply's own code is 0: the code is in the operation that failed."""
    head = integer(7) + long(40) + integer(0)
    codes = (0, -103, -2)
    body = b"".join(integer(-1) + b"\0" + integer(code) + integer(code) for code in codes)
    end = integer(-1) + b"\1" + integer(-1)
    assert ReplyFrame.parse(head + body + end, multi=True).error == -103
    assert ReplyFrame.parse(head + body + end).error == 0


def test_a_notification() -> None:
    """The event, and its path."""
    frame = event_frame(Event(EventType.NodeDeleted, "/controller"))
    assert str(Notification.parse(frame)) == "NodeDeleted /controller"


def test_greetings() -> None:
    """A client requests a session of so many milliseconds; the server's answer has number and password."""
    asked = Jute(asked_open(6000))
    assert [asked.integer(), asked.integer(8), asked.integer(), asked.integer(8), asked.buffer()] == [
        *(0, 0, 6000, 0),
        bytes(16),
    ]
    answer = granted(integer(0) + integer(6000) + long(0x10A) + integer(6) + b"secret")
    assert (str(answer), answer.password) == ("0x10a", b"secret")
