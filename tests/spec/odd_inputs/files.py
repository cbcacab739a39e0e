"""Odd files that a user may name as a specification, and the exit code that each must have."""

from __future__ import annotations

import codecs
from typing import NamedTuple

LEASE = '''
"""A specification with a constant of each kind."""

import os
from spec.language import *

VALUE = 3


class Leases(State):
    owner: int = variable("How often it was taken.", of=lambda self: integers(0, self.most + 1))


class Lease(Specification[Leases]):
    """A lease that is taken and given back."""

    most = constant(3, "How often it is taken.", at_least=1, at_most=99)
    eager = switch(True, "It is taken at once.")
    form = switch("old", "How it is done.", among=["old", "new"])
    names = constant(("a", "b"), "Names.")
    widths = constant(frozenset({1, 2}), "Widths.")
    label = constant("", "What it is called.")

    @assumption
    def seven(self):
        """The number is not seven."""
        return self.most != 7

    @action
    def take(self, s):
        """It is taken."""
        require(s.owner < self.most)
        s.owner += 1

    @action
    def free(self, s):
        """It is given back."""
        require(s.owner)
        s.owner = 0

    @invariant
    def never_above(self, s):
        """Not more often than it may be."""
        return s.owner <= self.most
'''


class File(NamedTuple):
    """A file `odd.py`, given as `odd.py:Lease`."""

    what: str
    exit: int
    says: str
    content: bytes


FILES: list[File] = [
    File("empty", 2, "has no specification Lease; it has none", b""),
    File("nothing but space", 2, "it has none", b" \n\t\n"),
    File("a syntax error", 2, "line 1", b"class Lease(:\n"),
    File("a tab among spaces", 2, "line 3", b"if True:\n        x = 1\n\ty = 1\n"),
    File("an indentation too few", 2, "line 2", b"class Lease:\npass\n"),
    File("an open bracket", 2, "line 1", b"x = (" * 50),
    File("too many brackets", 2, "odd.py", b"x = " + b"(" * 5000),
    File("an expression too deep", 2, "odd.py", b"x = " + b"-" * 100_000 + b"1\n"),
    File("a very long line", 2, "it has none", b"x = '" + b"y" * 10**6 + b"'\n"),
    File("bytes that are not text", 2, "odd.py", bytes(range(128, 256)) * 10),
    File("null bytes", 2, "odd.py", b"x = 1\0\n"),
    File("an executable", 2, "odd.py", b"\x7fELF" + bytes(1000)),
    File("Latin-1 without a word", 2, "odd.py", "x = 'grün'\n".encode("latin-1")),
    File("Latin-1 with a word", 0, "", ("# -*- coding: latin-1 -*-\n# grün\n" + LEASE).encode("latin-1")),
    File("an unknown encoding", 2, "odd.py", b"# -*- coding: klingon -*-\n"),
    File("UTF-16", 2, "odd.py", LEASE.encode("utf-16")),
    File("a byte order mark", 0, "", codecs.BOM_UTF8 + LEASE.encode()),
    File("lines that end as on Windows", 0, "", LEASE.replace("\n", "\r\n").encode()),
    File("lines that end as on an old Macintosh", 0, "", LEASE.replace("\n", "\r").encode()),
    File("JSON", 2, "", b'{"a": null}'),
    File("TLA+", 2, "line 1", b"---- MODULE Lease ----\nVARIABLE x\n====\n"),
    File("a shell script", 2, "line 2", b"#!/bin/sh\necho $HOME\n"),
    File("Python 2", 2, "line 1", b"print 'hello'\n"),
    File("a class that is no specification", 2, "no specification Lease", b"class Lease:\n    pass\n"),
    File("a function", 2, "no specification Lease", b"def Lease():\n    pass\n"),
    File("an instance", 2, "no specification Lease", LEASE.encode() + b"\nLease = Lease()\n"),
    File("a number", 2, "no specification Lease", b"Lease = 3\n"),
    File("the base itself", 2, "no specification Lease", b"from spec.language import Specification as Lease\n"),
    File("another class", 2, "it has Other", LEASE.replace("class Lease(", "class Other(").encode()),
    File("a circular import", 2, "", b"from odd import Lease\n"),
    File("a relative import", 2, "ImportError", b"from . import lease\n"),
    File("a star import of an unknown module", 2, "ModuleNotFoundError", b"from nosuchmodule import *\n"),
    File("it exits", 2, "SystemExit", b"raise SystemExit(0)\n"),
    File("it exits with a message", 2, "SystemExit", b"raise SystemExit('bye')\n"),
    File("it raises EOFError", 2, "EOFError", b"raise EOFError\n"),
    File("it is interrupted", 130, "interrupted", b"raise KeyboardInterrupt\n"),
    File("it prints", 0, "", b"print('hello')\n" + LEASE.encode()),
    File(
        "it prints undecodable bytes",
        0,
        "",
        b"import sys\nsys.stdout.buffer.write(bytes(range(256)))\n" + LEASE.encode(),
    ),
    File("it prints on stderr", 0, "", b"import sys\nprint('hello', file=sys.stderr)\n" + LEASE.encode()),
    File("it warns", 0, "", b"import warnings\nwarnings.warn('odd')\n" + LEASE.encode()),
    File("an invalid escape", 0, "", b"x = '\\d'\n" + LEASE.encode()),
    File("it changes its class afterwards", 0, "", LEASE.encode() + b"\nLease.__doc__ = None\n"),
    File("it prints in an action", 0, "", LEASE.replace("s.owner += 1", "s.owner += 1; print('taken')").encode()),
    File("it exits in an action", 2, "sys.exit", LEASE.replace("s.owner += 1", "raise SystemExit(0)").encode()),
    File(
        "it exits in a variable",
        2,
        "SystemExit",
        LEASE.replace("integers(0, self.most + 1)", "exec('raise SystemExit(0)')").encode(),
    ),
    File("it closes stdout", 0, "", b"import sys\nsys.stdout = None\n" + LEASE.encode()),
]
"""Rows named `it ...` write to the streams or exit; `test_streams` tests the streams themselves."""

ODDLY_NAMED: list[tuple[int, str, str]] = [
    (0, "with space.py", "Lease"),
    (0, "with-hyphen.py", "Lease"),
    (0, "with.dots.py", "Lease"),
    (0, "[brackets].py", "Lease"),
    (0, "größe.py", "Lease"),
    (0, "🤷.py", "Lease"),
    (0, "a:b.py", "Lease"),
    (0, "1.py", "Lease"),
    (0, "class.py", "Lease"),
    (0, "json.py", "Lease"),
    (0, "random.py", "Lease"),
    (0, "spec.py", "Lease"),
    (0, "%s {0}.py", "Lease"),
    (2, "-.py", "Lease"),
    (0, "./-.py", "Lease"),
    (0, "line\nbreak.py", "Lease"),
    (0, "deep/er/lease.py", "Lease"),
    (0, "wi[th]/br{ack}ets/lease.py", "Lease"),
    (0, "__init__.py", "Lease"),
    (0, "__main__.py", "Lease"),
    (0, ".hidden.py", "Lease"),
    (0, ".py", "Lease"),
    (0, "x" * 200 + ".py", "Lease"),
    (2, "lease.txt", "Lease"),
    (2, "lease", "Lease"),
    (2, "lease.PY", "Lease"),
    (0, "lease.py", "lease"),
    (2, "lease.py", "Lease "),
    (2, "lease.py", "Le[a]se"),
    (2, "lease.py", "*"),
    (2, "lease.py", "Lease()"),
    (2, "lease.py", "Lease.most"),
    (2, "lease.py", "self"),
    (2, "lease.py", "x" * 5000),
]
"""The exit code, the file name of a good specification, and the requested class name."""
