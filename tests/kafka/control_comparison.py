"""Compare both sides of a sequence, and tally many sequences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Any, Final

from spec.kafka.control_values import parsed
from spec.kafka.state_machines_beside import ControlCommand, Disagreement, StateMachineClasses, StateMachinesBeside
from statemachines.controller.state_change import StateChangeFailure
from statemachines.messages.topic_partition import PartitionAndReplica
from statemachines.tables.partition import PARTITION, PartitionState
from statemachines.tables.replica import REPLICA, ReplicaState
from statemachines.tables.table import Row as TableRow
from statemachines.tables.table import Table, TableState
from statemachines.zookeeper.tree import Code
from tests.kafka.conftest import RELEASE

Observation = Mapping[str, Any]
"""The observation of Kafka after a command."""
Row = tuple[TableState, TableState]
"""A state, and a target state."""

UNCLEANLY: Final = "a leader was elected uncleanly"
OUTCOMES: Final = {
    UNCLEANLY,
    "another client wrote in between",
    "the connection was lost",
    "the controller moved",
    *(cause.name for cause in StateChangeFailure if cause is not StateChangeFailure.RequestsNotSent),
    *(code.name for code in (Code.NODEEXISTS, Code.NONODE, Code.SESSIONEXPIRED)),
}
"""Events that enough sequences produce: proof that they reach everywhere."""


EVERY_PAIR: Final[set[Row]] = {pair for states in (PartitionState, ReplicaState) for pair in product(states, states)}
"""All pairs of states: rows of the tables, and pairs that are refused."""


def rows(*tables: Table[Any]) -> set[Row]:
    """The transitions in these tables."""
    return {(row.source, row.dest) for table in tables for row in table.in_force}


def compare(
    sequence: Sequence[ControlCommand],
    seen: Sequence[Observation],
    release: str = RELEASE,
    kinds: StateMachineClasses | None = None,
    tally: Tally | None = None,
) -> StateMachinesBeside:
    """Run our side beside Kafka's observations; AssertionError names the differences after the first such command."""
    ours = StateMachinesBeside(release, kinds)
    for number, (command, now) in enumerate(zip(sequence, seen, strict=True)):
        before = {} if tally is None else states(ours)
        disagreements = ours.disagreements(command, now)
        assert not disagreements, _message(sequence[: number + 1], disagreements)
        if tally is not None:
            tally.add(command, before, ours, now)
    return ours


def _message(sequence: Sequence[ControlCommand], disagreements: Sequence[Disagreement]) -> str:
    return "\n".join(["after", *map(str, sequence), *map(str, disagreements)])


class Tally:
    """The results of sequences on which both sides agree."""

    def __init__(self) -> None:
        self.taken: Counter[Row] = Counter()
        """Transitions that were requested and made, and how often."""
        self.refused: Counter[Row] = Counter()
        """Transitions that were requested and refused, with the state unchanged."""
        self.happened: Counter[str] = Counter()

    def add(
        self, command: ControlCommand, before: Mapping[Any, TableState], ours: StateMachinesBeside, seen: Observation
    ) -> None:
        """Count a command that was carried out."""
        causes = {failed.subject: failed.cause for failed in ours.log}
        self.happened.update(cause.name for cause in causes.values())
        self.happened.update(_happened(command, ours, seen))
        after = states(ours)
        for subject, target in _asked(command):
            source, now = (each.get(subject, _first(target)) for each in (before, after))
            if causes.get(subject) is StateChangeFailure.InvalidTransition:
                assert now is source
                self.refused[source, target] += 1
            elif now is target and not causes.keys() & {subject, None} and not seen.get("moved"):
                self.taken[source, target] += 1


def missing(tallies: Mapping[str, Tally]) -> list[str]:
    """What a release's sequences did not produce: rows not taken, other pairs not refused, events."""
    return [
        f"{release}: {source} -> {target} is not {what}"
        for release, tally in tallies.items()
        for what, wanted, found in (
            ("taken", rows(PARTITION, REPLICA.at(release)), tally.taken),
            ("refused", EVERY_PAIR - rows(PARTITION, REPLICA.at(release)), tally.refused),
        )
        for source, target in sorted(wanted - found.keys(), key=str)
    ]


def report(tallies: Mapping[str, Tally]) -> str:
    """How often each row of both tables was taken, by release, and everything that is missing."""
    lines = [("", "", "", *tallies)]
    for table in (PARTITION, REPLICA):
        lines += ((table.name, str(row.source), str(row.dest), *_cells(table, row, tallies)) for row in table.rows)
    refused = (f"{len(tally.refused)} pairs" for tally in tallies.values())
    lines.append(("", "any other pair", "refused, state unchanged", *refused))
    columns = "".join(
        f"{name:11}{source:27}{target:26}" + "".join(f"{cell:>10}" for cell in cells) + "\n"
        for name, source, target, *cells in lines
    )
    return columns + "\n".join(missing(tallies) or ["not taken, or not refused: none"])


def _cells(table: Table[Any], row: TableRow[Any], tallies: Mapping[str, Tally]) -> Iterator[str]:
    for release, tally in tallies.items():
        is_in_force = table.at(release).allows(row.source, row.dest)
        yield f"{tally.taken[row.source, row.dest]:,}" if is_in_force else "no row"


def states(ours: StateMachinesBeside) -> dict[Any, TableState]:
    """The states of all partitions and replicas."""
    return {**ours.context.state.partition_states, **ours.context.state.replica_states}


def _first(target: TableState) -> TableState:
    return PARTITION.initial if isinstance(target, PartitionState) else REPLICA.initial


def _asked(command: ControlCommand) -> Iterator[tuple[Any, TableState]]:
    """The partitions or replicas whose state a command should change, with the target."""
    for name in command.get("partitions", ()) if command["do"] == "change_partitions" else ():
        yield parsed(name), PartitionState[command["target"]]
    for name, broker in command.get("replicas", ()) if command["do"] == "change_replicas" else ():
        yield PartitionAndReplica(parsed(name), broker), ReplicaState[command["target"]]


def _happened(command: ControlCommand, ours: StateMachinesBeside, seen: Observation) -> Iterator[str]:
    """The notable events of a command, besides failures."""
    batches = seen["asked"]
    if any(again and set(again) <= set(written) for written, again in pairwise(batches[1:])):
        yield "another client wrote in between"
    if seen.get("moved"):
        yield "the controller moved"
    if any(number < len(batches) for number, _, _ in command.get("lost", ())):
        yield "the connection was lost"
    if any(known.leader_and_isr.leader_recovery_state for known in ours.kafkas["partition_leadership_info"].values()):
        yield UNCLEANLY
