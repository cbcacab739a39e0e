"""The nodes that real brokers of a release wrote, in a file with a line for each: its path and its data.

The final tree comes first, then a blank line, then the earlier data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Self

from statemachines.zookeeper.tree import ZkPath

RELEASES: Final = ("0.11.0.3", "1.1.1", "2.4.1", "2.6.3", "2.8.2", "3.5.2", "3.9.1")


class Written(NamedTuple):
    """The nodes of a release."""

    tree: Mapping[ZkPath, bytes | None]
    """The final nodes."""
    before: Sequence[tuple[ZkPath, bytes]]
    """All writes, in order."""

    @classmethod
    def read(cls, release: str) -> Self:
        """Read a release's file."""
        tree, _, before = file_of(release).read_text(encoding="utf-8").partition("\n\n")
        written = ((path, data) for path, data in map(_parsed, before.splitlines()) if data)
        return cls(dict(map(_parsed, tree.splitlines())), tuple(written))

    def nodes(self) -> Iterator[tuple[ZkPath, bytes | None]]:
        """All of them."""
        yield from self.tree.items()
        yield from self.before

    def __str__(self) -> str:
        tree = [_line(path, self.tree[path]) for path in sorted(self.tree)]
        before = dict.fromkeys(_line(*each) for each in self.before)
        return "\n".join([*tree, "", *(each for each in before if each not in tree)]) + "\n"


def file_of(release: str) -> Path:
    """The file of a release."""
    return Path(__file__).parent / f"{release}.txt"


def _line(path: ZkPath, data: bytes | None) -> str:
    return f"{path} {data.decode()}" if data else path


def _parsed(line: str) -> tuple[ZkPath, bytes | None]:
    path, _, data = line.partition(" ")
    return path, data.encode() or None
