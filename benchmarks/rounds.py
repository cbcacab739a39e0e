"""Whether the working tree is slower than another revision: pinned instances, explored in both by turns.

`python -m benchmarks.rounds [REVISION]` puts the revision, else the last commit, into a worktree of its own. In each
round every instance is explored in both, one right after the other, now this one first and now that one, so that a
busy machine is as busy for both; a round before the others, in which kernels are compiled, does not count. A line
tells the median seconds of both, and the median of the rounds' ratios: above 1 the working tree is slower. Both must
find the same states.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from spec.instances import PinnedInstance, instances

ROOT: Final = Path(__file__).parents[1]
NAMES: Final = (
    "controller-election, two brokers",
    "controller-election, three brokers",
    "controller, connections are lost",
    "controller, brokers have epochs",
    "replication, kip-320, 3-2-2-2",
)
EXITS: Final = (0, 12)
"""It holds, or a property is violated."""


class Compared(NamedTuple):
    """What the rounds came to: medians."""

    before: float
    """Seconds at the revision."""
    now: float
    """Seconds in the working tree."""
    ratio: float
    """Of the second to the first, round by round."""


def compared(rounds: Sequence[tuple[float, float]]) -> Compared:
    """The medians of what the rounds took, at the revision and now.

    >>> compared([(1.0, 1.5), (4.0, 4.0), (2.0, 2.2)])
    Compared(before=2.0, now=2.2, ratio=1.1)
    """
    before, now = zip(*rounds, strict=True)
    return Compared(*map(statistics.median, (before, now, [after / first for first, after in rounds])))


def command(instance: PinnedInstance) -> list[str]:
    """How the command is asked for an instance."""
    asked = ["check", instance.system, "--json"]
    asked += ["--release", instance.release] if instance.release else []
    for name, value in instance.constants.items():
        asked += ["--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
    for name in instance.properties:
        asked += ["--property", name]
    return asked + (["--continue"] if instance.keep_going else [])


def explored(instance: PinnedInstance, tree: Path, options: Sequence[str]) -> Mapping[str, Any]:
    """What the packages in this tree find.

    Raises:
        RuntimeError: they found no verdict.
    """
    run = subprocess.run(
        [sys.executable, "-m", "spec.cli", *command(instance), *options], cwd=tree, capture_output=True, text=True
    )
    if run.returncode not in EXITS:
        raise RuntimeError(f"{tree}: {instance.name}: {run.stderr.strip() or run.stdout.strip()}")
    found: Mapping[str, Any] = json.loads(run.stdout)
    return found


@contextmanager
def worktree(revision: str) -> Iterator[Path]:
    """The files of a revision, as long as it is open."""
    with tempfile.TemporaryDirectory(prefix="kafkaspec-") as folder:
        place = Path(folder) / "tree"
        git = ("git", "-C", str(ROOT), "worktree")
        subprocess.run([*git, "add", "--quiet", "--detach", str(place), revision], check=True)
        try:
            yield place
        finally:
            subprocess.run([*git, "remove", "--force", str(place)], check=True)


def main() -> None:
    """Print a line for each instance."""
    known = {each.name: each for each in instances()}
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("revision", nargs="?", default="HEAD", metavar="REVISION", help="of git")
    asked.add_argument("--only", action="append", choices=known, metavar="NAME", help="an instance; may be repeated")
    asked.add_argument("--rounds", type=int, default=5, metavar="N", help="how many")
    asked.add_argument("--engine", default="local", help="which engine explores")
    given = asked.parse_args()
    options = ["--engine", given.engine]
    print(f"{'instance':40} {'before':>8} {'now':>8} {'ratio':>6}", flush=True)
    with worktree(given.revision) as there:
        for instance in (known[name] for name in given.only or NAMES):
            rounds = []
            for number in range(given.rounds + 1):
                turns = (there, ROOT) if number % 2 else (ROOT, there)
                found = {tree: explored(instance, tree, options) for tree in turns}
                before, now = found[there], found[ROOT]
                if before["distinct_states"] != now["distinct_states"]:
                    raise SystemExit(f"{instance.name}: {before['distinct_states']} states, {now['distinct_states']}")
                if number:
                    rounds.append((before["seconds"], now["seconds"]))
            took = compared(rounds)
            print(f"{instance.name:40} {took.before:8.2f} {took.now:8.2f} {took.ratio:6.2f}", flush=True)


if __name__ == "__main__":
    main()
