"""Some system takes every row of both transition tables, and has a witness of it.

A witness names its rows at the beginning of its sentence, `OnlineReplica -> OfflineReplica`. The pinned instances
show that a system takes them: an instance that holds has seen all its witnesses.
"""

from __future__ import annotations

import re
from typing import Final

from spec.atlas.instances import instances
from spec.language import Specification
from statemachines.tables.partition import PARTITION
from statemachines.tables.replica import REPLICA

UNDER_CONTROL: Final = ("partitions", "reassignment", "topic-deletion")


def named(specification: Specification) -> set[str]:
    """Return the rows in the sentences of its witnesses."""
    witnesses = (each.doc for each in specification.properties if each.kind == "sometimes")
    return {row for doc in witnesses for row in re.findall(r"\b[A-Z]\w+ -> [A-Z]\w+", doc)}


def taken() -> set[str]:
    """Return the rows of systems with an instance that holds and is not large."""
    found = (each for each in instances() if each.system in UNDER_CONTROL and each.verdict == "holds")
    return set().union(*(named(each.specification()) for each in found if each.size in ("small", "medium")))


def test_every_row_is_taken() -> None:
    """And every witness spells its rows as the table does."""
    every = {f"{row.source.name} -> {row.dest.name}" for table in (PARTITION, REPLICA) for row in table.rows}
    assert taken() == every
