"""`kafkaspec compile`: compile the engines' code in advance, for an image or before a demonstration."""

from __future__ import annotations

import re
import warnings
from typing import Final

import click

from spec.checking.states.limits import WORDS
from spec.cli.failures import INTERRUPTED, Failure
from spec.cli.options import TEXT, single_value
from spec.cli.streams import print_result
from spec.language.errors import EnvironmentFailed, EnvironmentWarning

USUAL: Final = "1,2,3,4,5"
"""The state widths of the shipped systems, except that control-requests has nine words by default."""


@click.command("compile", short_help="Compile the engines' code in advance.")
@single_value(
    "--words",
    type=TEXT,
    default=USUAL,
    metavar="1,2,3",
    help=f"The state widths, in words of 64 bits.  [default: {USUAL}]",
)
@click.option("--symmetry", is_flag=True, help="Compile for searches with --symmetry as well.")
def compile_kernels(words: str, symmetry: bool) -> None:
    """Compile what a later check or simulation would compile, and keep it.

    NUMBA_CACHE_DIR names the directory that keeps it; by default it is kept beside the packages. It is for the
    processor of this machine, unless NUMBA_CPU_NAME names another, now and later.
    """
    parts = [part.strip() for part in words.split(",")]
    if not all(re.fullmatch("[0-9]{1,3}", part) and 1 <= int(part) <= WORDS for part in parts):
        raise click.UsageError(f"--words {words}: write numbers from 1 to {WORDS} separated by commas, like {USUAL}")
    widths = sorted({*map(int, parts)})
    with warnings.catch_warnings():
        warnings.simplefilter("error", EnvironmentWarning)
        try:
            for width in widths:
                _compile(width, symmetry)
        except EnvironmentWarning:
            raise EnvironmentFailed(
                "compiled code cannot be kept", "set NUMBA_CACHE_DIR to a directory with room"
            ) from None
        except KeyboardInterrupt:
            raise Failure("interrupted; what is being compiled now is kept", INTERRUPTED) from None


def _compile(words: int, symmetry: bool) -> None:
    from spec.checking.local import compiled_walks
    from spec.checking.local.compiling import EXPLORING, LATER, Kernels, compile_progress, compiled
    from spec.cli.progress import Progress

    loads = (*EXPLORING, compiled_walks.load, *LATER)
    by_orbits = [Kernels(words, "listed"), Kernels(words, "related")] if symmetry else []
    with Progress() as progress:
        tell = compile_progress(progress)
        seconds = sum(compiled(loads, kernels, tell) for kernels in [Kernels(words), *by_orbits])
    print_result(f"states of {words} word{'s' if words > 1 else ''}: " + (f"{seconds:.1f} s" if seconds else "kept"))
