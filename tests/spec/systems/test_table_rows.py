"""Every row of both transition tables is taken by some system, and a witness of it says so.

A witness names the rows that it is for at the beginning of its sentence, `OnlineReplica -> OfflineReplica`. That a
system comes to it is a matter of its pinned instances: one that holds has seen all its witnesses.
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
    """The rows that its witnesses are for."""
    witnesses = (each.doc for each in specification.properties if each.kind == "sometimes")
    return {row for doc in witnesses for row in re.findall(r"\b[A-Z]\w+ -> [A-Z]\w+", doc)}


def taken() -> set[str]:
    """The rows that some system takes in an instance that holds, and is not large."""
    found = (each for each in instances() if each.system in UNDER_CONTROL and each.verdict == "holds")
    return set().union(*(named(each.specification()) for each in found if each.size in ("small", "medium")))


def test_every_row_is_taken() -> None:
    """By one of the systems; and no witness spells one otherwise than the table."""
    every = {f"{row.source.name} -> {row.dest.name}" for table in (PARTITION, REPLICA) for row in table.rows}
    assert taken() == every
