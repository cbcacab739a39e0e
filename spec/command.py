"""The beginning of the command's process: an interrupt is answered while all else of the command is still loaded.

That takes a tenth of a second, in which Python would answer Ctrl-C with a traceback of whatever is loaded just then.
Before this there is only Python's own start, some hundredths of a second, which nothing of ours can change; so this
module loads hardly anything that is not loaded already.
"""

from __future__ import annotations

import os
import signal
import sys

from spec import hash_seed

INTERRUPTED = 130
"""As `spec.failures` has it, which is not loaded yet."""
LINE = "Error: interrupted; nothing was kept\n"
OBJECT = f'{{"error": "interrupted; nothing was kept", "exit": {INTERRUPTED}}}\n'


def main() -> None:
    """Load the command, and run it."""
    hash_seed.pin()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _answer)
    from spec import cli

    cli.main()


def _answer(number: int, frame: object) -> None:
    """Say it as the command would, and end."""
    for descriptor, said in ((2, LINE), (1, OBJECT if "--json" in sys.argv else "")):
        try:
            os.write(descriptor, said.encode("ascii"))
        except OSError:  # it is closed or full, and there is no time to say so
            continue
    os._exit(INTERRUPTED)
