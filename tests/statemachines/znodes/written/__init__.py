"""What real brokers of a release wrote, kept in a file: a line for each node, its path and what stood there.

The tree in the end comes first, then a blank line, then what had stood there before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Self

from statemachines.zookeeper.tree import ZkPath

RELEASES: Final = ("0.11.0.3", "1.1.1", "2.4.1", "2.6.3", "2.8.2", "3.5.2", "3.9.1")


class Written(NamedTuple):
    """What was written."""

    tree: Mapping[ZkPath, bytes | None]
    """What stood there in the end."""
    before: Sequence[tuple[ZkPath, bytes]]
    """All that was written, in order."""

    @classmethod
    def read(cls, release: str) -> Self:
        """What is kept of a release."""
        tree, _, before = file_of(release).read_text(encoding="utf-8").partition("\n\n")
        written = ((path, data) for path, data in map(_parsed, before.splitlines()) if data)
        return cls(dict(map(_parsed, tree.splitlines())), tuple(written))

    def nodes(self) -> Iterator[tuple[ZkPath, bytes | None]]:
        """All of it."""
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
