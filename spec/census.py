"""How often each row of a table, and each move of a controller's life, is taken where the specification is explored.

Pictures are drawn with it: the wider an arrow, the more often it was taken, and dashed is what was not taken at all.
To count takes minutes, and every step by itself, so the figures are pinned, in `taken.toml`. `python -m spec.census`
counts anew and writes them; a test does so too, and compares.

Counted are the first states of each system, breadth first, as many as is said here. So an event that a controller
meets early counts more than one that takes a long way: these are counts of an exploration, and no frequencies.
"""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from spec.atlas.instances import instances
from spec.checking.graph.abstraction import tally
from spec.language import Specification, Step, say
from spec.life import counted_systems
from spec.systems.partitions import Partitions
from spec.systems.reassignment import Reassignment
from spec.systems.topic_deletion import TopicDeletion
from statemachines.controller_diagram import Move, names_of_moves
from statemachines.partition import PartitionState
from statemachines.partition_state_machine import PartitionStateMachine
from statemachines.replica import ReplicaState
from statemachines.replica_state_machine import ReplicaStateMachine
from statemachines.topic_partition import PartitionAndReplica, TopicPartition

STATES_OF_CLUSTERS: Final = 20_000
STATES_OF_LIVES: Final = 4_000
"""The steps of so many states are counted in each system."""
COUNTED: Final = ("0.10.2", "1.0", "2.0", "3.9")
"""The releases whose moves are counted: the last one of each generation."""
FILE: Final = "taken.toml"


def rows_taken(table: str) -> Mapping[tuple[str, str], int]:
    """How often each row of a table was taken, by the names of its states; one that never was is not among them."""
    return {pair(key): times for key, times in _pinned()[table].items()}


def moves_taken(release: str, moves: Iterable[Move]) -> Mapping[Move, int] | None:
    """How often each of these moves was taken, in a release; None if it was not counted there."""
    pinned = _pinned()["controller"].get(release)
    if pinned is None:
        return None
    return {move: pinned[name] for move, name in names_of_moves(release, moves).items() if name in pinned}


def pair(key: str) -> tuple[str, str]:
    """The states of a row.

    >>> pair("NewPartition to OnlinePartition")
    ('NewPartition', 'OnlinePartition')
    """
    source, _, target = key.partition(" to ")
    return source, target


@cache
def _pinned() -> dict[str, Any]:
    return tomllib.loads(files("spec").joinpath(FILE).read_text(encoding="utf-8"))


# Counting.


def counted_rows() -> dict[str, dict[str, int]]:
    """Count the rows that are taken, table by table. It takes a minute."""
    taken = Counter[Hashable]()
    for instance in instances():
        if instance.name in CONTROLLED:
            told = CONTROLLED[instance.name](**instance.specification().valuation)
            taken += tally(told, _rows, max_states=STATES_OF_CLUSTERS)
    counts = dict[str, dict[str, int]](partition={}, replica={})
    for row in sorted(map(str, taken)):
        table, _, states = row.partition(": ")
        counts[table][states] = taken[row]
    return counts


class _Partitions(PartitionStateMachine):
    """It says which rows it takes; of one that leads back, the states before and after would not."""

    def _become(self, partition: TopicPartition, target: PartitionState) -> None:
        say(f"partition: {self.context.partition_state(partition)} to {target}")
        super()._become(partition, target)


class _Replicas(ReplicaStateMachine):
    """It says which rows it takes."""

    def _become(self, replica: PartitionAndReplica, target: ReplicaState) -> None:
        say(f"replica: {self.context.replica_state(replica)} to {target}")
        super()._become(replica, target)

    def _has_become(self, replica: PartitionAndReplica, target: ReplicaState) -> None:
        say(f"replica: {self.context.replica_state(replica)} to {target}")
        super()._has_become(replica, target)


class _ToldPartitions(Partitions[Any]):
    partition_state_machine = _Partitions
    replica_state_machine = _Replicas


class _ToldReassignment(Reassignment):
    partition_state_machine = _Partitions
    replica_state_machine = _Replicas


class _ToldTopicDeletion(TopicDeletion):
    partition_state_machine = _Partitions
    replica_state_machine = _Replicas


CONTROLLED: Final[Mapping[str, type[Specification[Any]]]] = {
    "partitions, another controller": _ToldPartitions,
    "reassignment, one request": _ToldReassignment,
    "topic-deletion, one broker": _ToldTopicDeletion,
}
"""The pinned instances in which rows of tables are counted, and the same systems that say which they take."""


def _rows(before: Any, step: Step, said: tuple[str, ...], after: Any) -> Iterable[str]:
    return (each for each in said if " to " in each and each.startswith(("partition: ", "replica: ")))


def counted_moves(release: str) -> dict[str, int]:
    """Count the moves that are taken in a release's controller, system by system. It takes minutes."""
    taken = Counter[Hashable]()
    for system, moves_of in counted_systems(release):
        taken += tally(system, moves_of, max_states=STATES_OF_LIVES)
    names = names_of_moves(release, (each for each in taken if isinstance(each, Move)))
    return dict(sorted((name, taken[move]) for move, name in names.items()))


def _main(arguments: list[str]) -> None:
    lines = ["# How often each row and each move was taken; written by `python -m spec.census`, see its head."]
    sections = counted_rows() | {f'controller."{release}"': counted_moves(release) for release in COUNTED}
    for section, counts in sections.items():
        lines += ["", f"[{section}]", *(f'"{key}" = {times}' for key, times in counts.items())]
    Path(str(files("spec").joinpath(FILE))).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _main(sys.argv[1:])
