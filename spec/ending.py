"""The end of the command's process: at once, when its answer is told and what is registered for the end is done.

Python would free every object one by one first, which after a search takes a seventh of a second or more. The
operating system takes back the memory of a whole process in one go.
"""

from __future__ import annotations

import atexit
import os
import sys


class Ending:
    """Ends the process with an exit code, as soon as there is one; without one it ends as any other.

    To be made when the process begins: what is registered first is called last.
    """

    code: int | None = None

    def __init__(self) -> None:
        atexit.register(self._end)

    def _end(self) -> None:
        if self.code is not None:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self.code)
