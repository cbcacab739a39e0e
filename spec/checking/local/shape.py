"""Shape: tells compiled code the number of words of a state, for which it is compiled."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

UNROLLED: Final = 16
"""Up to so many words, code is compiled for each number of them, with all loops over words unrolled. That is a fifth
to a third faster, and takes 4 seconds of compiling for each, once per machine. Beyond, unrolling gains nothing and
takes ever longer to compile, so one form serves all."""


def shape_of(words: int) -> Any:
    """An argument for kernels in place of the number of words: its length is that number.

    The length of a tuple is a part of its type, and known to the compiler; that of an array is not.
    """
    return (0,) * words if words <= UNROLLED else np.zeros(words, np.int64)
