"""The process of the command: it answers Ctrl-C from the start, and exits as soon as it has answered.

Loading the command takes a tenth of a second, during which Python would answer Ctrl-C with a traceback of the module
being loaded. So this module loads hardly anything that Python has not loaded already. Only Python's own start comes
before it, some hundredths of a second, which we cannot change.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys

INTERRUPTED = 130
"""The value in `spec.cli.failures`, which is not loaded yet."""
LINE = "Error: interrupted; nothing was kept\n"
OBJECT = f'{{"error": "interrupted; nothing was kept", "exit": {INTERRUPTED}}}\n'
SEED = "0"
"""The seed of Python's hashes. Any would do; Spark gives its workers this one."""


def main() -> None:
    """Load the command and run it."""
    _pin_hash_seed()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _answer)
    codes: list[int] = []
    atexit.register(_end_at_once, codes)  # the first registered is called last
    from spec.cli import command

    try:
        command.run()
    except SystemExit as answered:
        if answered.code is None or isinstance(answered.code, int):
            codes.append(answered.code or 0)
        raise


def _pin_hash_seed() -> None:
    """Restart this program in place if its hashes differ from those of other processes.

    Python draws a new hash seed for each process. A specification that takes the first element of a set of strings
    would get another verdict in each run, and in each replay of its trace. Python reads the seed only when it starts;
    a restart takes about a hundredth of a second.

    There is no restart if Python ignores its environment or reads the program from stdin.
    """
    if os.environ.get("PYTHONHASHSEED") == SEED or sys.flags.ignore_environment or sys.argv[0] in ("", "-"):
        return
    try:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "PYTHONHASHSEED": SEED})
    except OSError:  # continue with these hashes, which hardly ever matters
        return


def _answer(number: int, frame: object) -> None:
    """Print the answer as the command would, and exit."""
    for descriptor, said in ((2, LINE), (1, OBJECT if "--json" in sys.argv else "")):
        try:
            os.write(descriptor, said.encode("ascii"))
        except OSError:  # closed or full, and there is no time to report it
            continue
    os._exit(INTERRUPTED)


def _end_at_once(codes: list[int]) -> None:
    """Exit with the code, if the command returned one.

    Otherwise Python would free every object one by one, which takes a seventh of a second or more after a search. The
    operating system frees the memory of a whole process at once.
    """
    if codes:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(codes[0])
