"""The expected result of exploring a table, computed by listing every shortest path.

Slow and obvious: distances by repeated relaxation, all shortest paths by walking back over every row, and the choice
among them by comparing whole paths from their ends. It uses no code of the checkers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.spec.checking.toys import ACTIONS, Row, Table

OUTSIDE = -1
Walk = tuple[int, tuple[Row, ...]]
"""The start, and the rows that the walk takes."""


@dataclass(frozen=True)
class Expected:
    """The answer."""

    ended: str
    depth: int
    distinct: int
    generated: int
    enabled: dict[str, int]
    changing: dict[str, int]
    taken: dict[str, int]
    new_states: int
    discoveries: dict[str, Walk]


def distances(table: Table) -> dict[int, int]:
    """The depth of each reachable state. Initial states have depth 1."""
    found = dict.fromkeys(table.starts, 1)
    for _ in range(table.size):
        for row in table.rows:
            if row.before in found and row.after != OUTSIDE:
                found[row.after] = min(found.get(row.after, 10**6), found[row.before] + 1)
    return found


def shortest_walks(table: Table, depth: dict[int, int], end: int) -> Iterator[Walk]:
    """Every shortest path to a state."""
    if depth[end] == 1:
        yield end, ()
        return
    for row in table.rows:
        if row.after == end and depth.get(row.before) == depth[end] - 1:
            for start, rows in shortest_walks(table, depth, row.before):
                yield start, (*rows, row)


def from_the_end(walk: Walk) -> list[Any]:
    """The sort key for walks of equal length: the end, then backwards the predecessor, action and parameter."""
    start, rows = walk
    key: list[Any] = [rows[-1].after if rows else start]
    for row in reversed(rows):
        key += [row.before, ACTIONS.index(row.action), row.parameter]
    return key


def candidates(table: Table, depth: dict[int, int]) -> dict[str, list[Walk]]:
    """For each property, all shortest walks to a state or step that breaks (or witnesses) it."""
    ends: dict[str, list[int]] = {
        "good": [state for state in depth if state in table.bad],
        "not_worse": [state for state in depth if state in table.worse],
        "to_be_seen": [state for state in depth if state in table.seen],
        "deadlock": [state for state in depth if all(row.before != state for row in table.rows)],
    }
    last_rows: dict[str, list[Row]] = {
        "good_step": [row for row in table.rows if row in table.bad_rows and row.after != OUTSIDE],
        "type_ok": [row for row in table.rows if row.after == OUTSIDE],
    }
    found = {
        name: [walk for end in states for walk in shortest_walks(table, depth, end)] for name, states in ends.items()
    }
    for name, rows in last_rows.items():
        found[name] = [
            (start, (*way, row))
            for row in rows
            if row.before in depth
            for start, way in shortest_walks(table, depth, row.before)
        ]
    return found


def explored(table: Table, asked: set[str], *, keep_going: bool = False) -> Expected:
    """The expected result of checking these properties."""
    depth = distances(table)
    firsts: dict[str, Walk] = {}
    due: dict[str, int] = {}
    for name, walks in candidates(table, depth).items():
        if walks and name in asked:
            shortest = min(len(rows) for _, rows in walks)
            firsts[name] = min((walk for walk in walks if len(walk[1]) == shortest), key=from_the_end)
            # A deadlock is found when its level is expanded, so together with the next level.
            due[name] = shortest + (2 if name == "deadlock" else 1)
    deepest = max(depth.values())
    bad = [level for name, level in due.items() if name != "to_be_seen"]
    stop = deepest + 1 if keep_going or not bad else min(bad)
    expanded = [state for state, level in depth.items() if level < stop]
    rows = [row for row in table.rows if row.before in expanded]
    reached = [state for state, level in depth.items() if level <= stop]
    return Expected(
        ended="found" if bad and not keep_going else "complete",
        depth=min(stop, deepest),
        distinct=len(reached),
        generated=len(set(table.starts)) + len(rows),
        enabled={name: len({row.before for row in rows if row.action == name}) for name in ACTIONS},
        changing={
            name: sum(row.action == name and row.after not in (row.before, OUTSIDE) for row in rows)
            for name in ACTIONS
        },
        taken={name: sum(row.action == name for row in rows) for name in ACTIONS},
        new_states=len(reached) - len(set(table.starts)),
        discoveries={name: walk for name, walk in firsts.items() if due[name] <= stop},
    )
