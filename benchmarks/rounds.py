"""Whether the working tree is slower than another revision: pinned instances, explored in both by turns.

`python -m benchmarks.rounds [REVISION]` checks out the revision, by default the last commit, in a worktree of its
own. In each round every instance is explored in both, one right after the other, in alternating order, so that other
load on the machine affects both. A first round, which compiles kernels, does not count. A line shows the median rate
of both, in states per second, and the median of the rounds' ratios: below 1 the working tree is slower. Instances
take seconds each, because shorter ones vary by a tenth between rounds. If a specification has changed in between, the
two find different states: another line says so, and only the rates can be compared.
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

from spec.atlas.instances import PinnedInstance, instances

ROOT: Final = Path(__file__).parents[1]
NAMES: Final = (
    "controller-election, 0.10.1 to the end",
    "controller, requests are received",
    "controller, 3.9 to the end",
    "replication, kip-320, 3-3-3-2",
)
EXITS: Final = (0, 12)
"""The property holds, or is violated."""


class Comparison(NamedTuple):
    """The medians of the rounds."""

    before: float
    """States per second at the revision."""
    now: float
    """States per second in the working tree."""
    ratio: float
    """The second rate divided by the first, round by round."""


def compared(rounds: Sequence[tuple[float, float]]) -> Comparison:
    """The medians of the rounds' rates, at the revision and now.

    >>> compared([(1.0, 1.5), (4.0, 4.0), (2.0, 2.2)])
    Comparison(before=2.0, now=2.2, ratio=1.1)
    """
    before, now = zip(*rounds, strict=True)
    return Comparison(*map(statistics.median, (before, now, [after / first for first, after in rounds])))


def command(instance: PinnedInstance) -> list[str]:
    """The command's arguments for an instance."""
    asked = ["check", instance.system, "--json"]
    asked += ["--release", instance.release] if instance.release else []
    for name, value in instance.constants.items():
        asked += ["--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
    for name in instance.properties:
        asked += ["--property", name]
    return asked + (["--continue"] if instance.keep_going else [])


def explored(instance: PinnedInstance, tree: Path, options: Sequence[str]) -> Mapping[str, Any]:
    """The result of the packages in this tree.

    Raises:
        RuntimeError: there is no verdict.
    """
    program = [sys.executable, "-m", "spec"]
    run = subprocess.run([*program, *command(instance), *options], cwd=tree, capture_output=True, text=True)
    if run.returncode not in EXITS:
        raise RuntimeError(f"{tree}: {instance.name}: {run.stderr.strip() or run.stdout.strip()}")
    found: Mapping[str, Any] = json.loads(run.stdout)
    return found


def rate(found: Mapping[str, Any]) -> float:
    """Distinct states per second of a search, by its JSON output."""
    return float(found["distinct_states"] / found["seconds"])


@contextmanager
def worktree(revision: str) -> Iterator[Path]:
    """A worktree with the files of a revision, removed at the end."""
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
    asked.add_argument("revision", nargs="?", default="HEAD", metavar="REVISION", help="a git revision")
    asked.add_argument("--only", action="append", choices=known, metavar="NAME", help="an instance; may be repeated")
    asked.add_argument("--rounds", type=int, default=5, metavar="N", help="number of rounds")
    asked.add_argument("--engine", default="local", help="the engine that explores")
    arguments = asked.parse_args()
    options = ["--engine", arguments.engine]
    print(f"{'instance':40} {'states':>11} {'before':>10} {'now':>10} {'ratio':>6}", flush=True)
    with worktree(arguments.revision) as there:
        for instance in (known[name] for name in arguments.only or NAMES):
            rounds = []
            for number in range(arguments.rounds + 1):
                turns = (there, ROOT) if number % 2 else (ROOT, there)
                found = {tree: explored(instance, tree, options) for tree in turns}
                if number:
                    rounds.append((rate(found[there]), rate(found[ROOT])))
            before, now, ratio = compared(rounds)
            states, at_first = found[ROOT]["distinct_states"], found[there]["distinct_states"]
            print(f"{instance.name:40} {states:11,} {before:10,.0f} {now:10,.0f} {ratio:6.2f}", flush=True)
            if states != at_first:
                print(f"  {at_first:,} states at {arguments.revision}: another specification", flush=True)


if __name__ == "__main__":
    main()
