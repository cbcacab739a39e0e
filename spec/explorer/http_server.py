"""Serve the page from a process that computes one state per request, for systems too large for a file.

The server listens on loopback only. It refuses a request under another host name than its own, such as one from
another site's page whose name was made to resolve here (DNS rebinding). It serves the page and states, but no files.
A state's name is its packed form in hexadecimal digits; a name that is no state of the domains is refused.
"""

from __future__ import annotations

import json
import re
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from threading import Lock
from typing import Any, Final

from spec.checking.model import EvaluationFailed
from spec.checking.states.packed_state import PackedState
from spec.explorer.explorer_model import ExplorerModel
from spec.explorer.page import as_json, page
from spec.language.errors import OutOfDomain, UsageError, escaped
from spec.language.state import Values

LOOPBACK: Final = "127.0.0.1"
HTTP_PORT: Final = 80
REMEMBERED: Final = 1_000
"""The most states whose data is cached."""
PATIENCE: Final = 10
"""Seconds to wait for the rest of a request: browsers open connections that they may never use."""
POLICY: Final = "; ".join(
    [
        "default-src 'none'",
        "script-src 'unsafe-inline'",
        "style-src 'unsafe-inline'",
        "connect-src 'self'",
        "frame-ancestors 'none'",  # no other site may show this page below its own buttons
    ]
)
"""The page's permissions, enforced by the browser: run its own script, and send requests to this server."""


class ExplorerServer(ThreadingTCPServer):
    """Serves a model to this machine, from its creation until it is closed."""

    daemon_threads = True  # they have nothing to finish
    allow_reuse_address = True

    def __init__(self, model: ExplorerModel, port: int = 0):
        """Listen on this port, or on a free one. UsageError if the port is not available, EvaluationFailed if an
        action raised in a state of the trace.
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
        self._one_at_a_time = Lock()  # a model has a single window on its state
        try:
            super().__init__((LOOPBACK, port), _RequestHandler)
        except OSError as refused:
            raise UsageError(f"port {port} of {LOOPBACK} is not available: {refused.strerror}") from None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a browser that disconnects before its answer."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def port(self) -> int:
        """The port on which it listens."""
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{LOOPBACK}:{self.port}/"

    @property
    def names(self) -> frozenset[str]:
        """The host names that a request may use."""
        hosts = (LOOPBACK, "localhost")
        bare = hosts if self.port == HTTP_PORT else ()  # browsers leave this port out
        return frozenset([*bare, *(f"{host}:{self.port}" for host in hosts)])

    def state(self, name: str) -> bytes | None:
        """The data of a state as JSON, with the changes of each step; None if there is no such state.
        EvaluationFailed if an action raised in the state.
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
        except (LookupError, ValueError, OutOfDomain):  # a code outside its domain
            return None

    def _about(self, state: Values) -> dict[str, Any]:
        model, values = self.model, self.model.values_of(state)
        exits = []
        for step in model.steps_of(state):
            to = None if step.after is None else self._name(step.after)
            row: dict[str, Any] = model.enabled_step(state, step, to)._asdict()
            if step.after is not None:
                row["values"] = {
                    name: value for name, value in model.values_of(step.after).items() if value != values[name]
                }
                row["views"] = model.sentences_of(step.after)
            exits.append(row)
        return {
            "values": values,
            "views": model.sentences_of(state),
            "pictures": model.drawings_of(state),
            "exits": exits,
        }


class _RequestHandler(BaseHTTPRequestHandler):
    """One request."""

    server: ExplorerServer
    timeout = PATIENCE
    server_version, sys_version = "kafkaspec", ""

    def do_GET(self) -> None:
        """Answer with the page, a state, or an error."""
        if self.headers.get("Host") not in self.server.names:
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST, f"this server is {self.server.url}")
        elif self.path == "/":
            self._answer(HTTPStatus.OK, "text/html; charset=utf-8", self.server.first_page)
        elif self.path == "/favicon.ico":  # browsers request one
            self._answer(HTTPStatus.NO_CONTENT, "image/x-icon", b"")
        elif self.path.startswith("/state/"):
            self._state(self.path.removeprefix("/state/"))
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "only the page, /, and states, /state/..., exist")

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
                self._refuse(HTTPStatus.NOT_FOUND, "this system has no state of that name")
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
        """Log nothing: the person watches the page."""
