"""The page as a process serves it, which is asked for one state after the other: for what no file has room.

The server listens on the loopback only, and refuses a request that calls it by another name than its own, as one from
a page elsewhere does whose name was made to lead here (DNS rebinding). It serves the page and states, no files. A
state is called by its packed form, as hexadecimal digits; what is no state of the domains is refused.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from threading import Lock
from typing import Any, Final

from spec.checking.model import EvaluationFailed
from spec.checking.states.packed_state import PackedState
from spec.explorer.explorer_model import ExplorerModel
from spec.explorer.page import as_json, page
from spec.language.errors import OutOfDomain, UsageError
from spec.language.escapes import escaped
from spec.language.state import Values

__all__ = ["ExplorerServer"]

LOOPBACK: Final = "127.0.0.1"
HTTP_PORT: Final = 80
REMEMBERED: Final = 1_000
"""States of which it is remembered what was told of them."""
PATIENCE: Final = 10
"""Seconds for which it waits for the rest of a request: browsers open connections that they may never use."""
POLICY: Final = "; ".join(
    [
        "default-src 'none'",
        "script-src 'unsafe-inline'",
        "style-src 'unsafe-inline'",
        "connect-src 'self'",
        "frame-ancestors 'none'",  # nor may a page of another site show it under a button of its own
    ]
)
"""What the page may do, as a browser enforces it: run its own script, and ask this server."""


class ExplorerServer(ThreadingTCPServer):
    """Serves a model to those on this machine, from when it is made until it is closed."""

    daemon_threads = True  # none of them has anything to finish
    allow_reuse_address = True

    def __init__(self, model: ExplorerModel, port: int = 0):
        """Listen on this port, or on one that is free.

        Raises:
            UsageError: it cannot be had.
            EvaluationFailed: an action raised in a state of the trace.
        """
        self.model = model
        self.first_page = page(
            model.title,
            {
                **model.head,
                "served": True,
                "begins": [self._name(each) for each in model.begins],
                "trace": model.taken,
            },
        ).encode()
        self._answers: dict[str, bytes] = {}
        self._one_at_a_time = Lock()  # a model has one window on the state that it looks at
        try:
            super().__init__((LOOPBACK, port), _RequestHandler)
        except OSError as refused:
            raise UsageError(f"port {port} of {LOOPBACK} cannot be had: {refused.strerror}") from None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away before it has its answer is no mistake."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def port(self) -> int:
        """On which it listens."""
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{LOOPBACK}:{self.port}/"

    @property
    def names(self) -> frozenset[str]:
        """How a request may call it."""
        hosts = (LOOPBACK, "localhost")
        bare = hosts if self.port == HTTP_PORT else ()  # browsers leave it out
        return frozenset([*bare, *(f"{host}:{self.port}" for host in hosts)])

    def state(self, name: str) -> bytes | None:
        """What is told of a state, as JSON, with what each step there would change; None if no state is called so.

        Raises:
            EvaluationFailed: an action raised there.
        """
        with self._one_at_a_time:
            if name not in self._answers:
                if (state := self._named(name)) is None:
                    return None
                if len(self._answers) >= REMEMBERED:
                    self._answers.pop(next(iter(self._answers)))
                self._answers[name] = as_json(self._about(state)).encode()
            return self._answers[name]

    def _name(self, state: Values) -> str:
        return PackedState.of_values(self.model.model.layout, state).bytes.hex()

    def _named(self, name: str) -> Values | None:
        layout = self.model.model.layout
        if not re.fullmatch(r"(?:[0-9a-f]{16})+", name):
            return None
        try:
            values = PackedState.of_bytes(layout, bytes.fromhex(name)).values
            return values if self._name(values) == name else None
        except (LookupError, ValueError, OutOfDomain):  # a code that its domain does not have
            return None

    def _about(self, state: Values) -> dict[str, Any]:
        model, values = self.model, self.model.values_of(state)
        exits = []
        for step in model.steps_of(state):
            to = None if step.after is None else self._name(step.after)
            row: dict[str, Any] = model.enabled_step(state, step, to)._asdict()
            if step.after is not None:
                row["values"] = _changed(values, model.values_of(step.after))
                row["views"] = model.sentences_of(step.after)
            exits.append(row)
        return {
            "values": values,
            "views": model.sentences_of(state),
            "pictures": model.drawings_of(state),
            "exits": exits,
        }


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in after.items() if value != before[name]}


class _RequestHandler(BaseHTTPRequestHandler):
    """One request."""

    server: ExplorerServer
    timeout = PATIENCE
    server_version, sys_version = "kafkaspec", ""

    def do_GET(self) -> None:
        """Answer it: the page, a state, or that there is no such thing."""
        if self.headers.get("Host") not in self.server.names:
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST, f"this is {self.server.url}")
        elif self.path == "/":
            self._answer(HTTPStatus.OK, "text/html; charset=utf-8", self.server.first_page)
        elif self.path == "/favicon.ico":  # browsers ask for one
            self._answer(HTTPStatus.NO_CONTENT, "image/x-icon", b"")
        elif self.path.startswith("/state/"):
            self._state(self.path.removeprefix("/state/"))
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "there is the page, /, and there are states, /state/...")

    def _state(self, name: str) -> None:
        try:
            row = self.server.state(name)
        except EvaluationFailed as failed:
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, str(failed))
        except Exception as fault:
            why = f"a fault of kafkaspec: {type(fault).__name__}: {fault}"
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, why)
        else:
            if row is None:
                self._refuse(HTTPStatus.NOT_FOUND, "no state of this system is called so")
            else:
                self._answer(HTTPStatus.OK, "application/json", row)

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self._answer(status, "application/json", json.dumps({"error": escaped(why)}).encode())

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Content-Security-Policy": POLICY,
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a person sees the page."""
