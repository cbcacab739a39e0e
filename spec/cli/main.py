"""The process of the command: it answers Ctrl-C from the beginning, and ends as soon as it has answered.

To load the command takes a tenth of a second, in which Python would answer Ctrl-C with a traceback of whatever is
loaded just then. So this module loads hardly anything that is not loaded already. Before it there is only Python's
own start, some hundredths of a second, which nothing of ours can change.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys

INTERRUPTED = 130
"""As `spec.cli.failures` has it, which is not loaded yet."""
LINE = "Error: interrupted; nothing was kept\n"
OBJECT = f'{{"error": "interrupted; nothing was kept", "exit": {INTERRUPTED}}}\n'
SEED = "0"
"""The seed of Python's hashes. Which one it is does not matter. Spark gives its workers this one."""


def main() -> None:
    """Load the command, and run it."""
    _pin_hash_seed()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _answer)
    codes: list[int] = []
    atexit.register(_end_at_once, codes)  # what is registered first is called last
    from spec.cli import command

    try:
        command.run()
    except SystemExit as answered:
        if answered.code is None or isinstance(answered.code, int):
            codes.append(answered.code or 0)
        raise


def _pin_hash_seed() -> None:
    """Start this program once more in its place, if its hashes differ from those of other processes.

    Python draws their seed anew for each process. A specification that takes the first of a set of strings would
    have another verdict from run to run, and another one where its trace is replayed. Python reads the seed when it
    starts, and at no other time; to start once more takes about a hundredth of a second.

    The program stays as it is if Python is told not to look at its environment, or reads the program from stdin.
    """
    if os.environ.get("PYTHONHASHSEED") == SEED or sys.flags.ignore_environment or sys.argv[0] in ("", "-"):
        return
    try:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "PYTHONHASHSEED": SEED})
    except OSError:  # it goes on as it began, which hardly ever makes a difference
        return


def _answer(number: int, frame: object) -> None:
    """Say it as the command would, and end."""
    for descriptor, said in ((2, LINE), (1, OBJECT if "--json" in sys.argv else "")):
        try:
            os.write(descriptor, said.encode("ascii"))
        except OSError:  # it is closed or full, and there is no time to say so
            continue
    os._exit(INTERRUPTED)


def _end_at_once(codes: list[int]) -> None:
    """End with the exit code, if the command came to one.

    Python would free every object one by one first, which after a search takes a seventh of a second or more. The
    operating system takes back the memory of a whole process in one go.
    """
    if codes:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(codes[0])
