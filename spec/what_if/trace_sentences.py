"""A trace in sentences: what an operator would see of it, with the brokers of a partition of the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from election.ids import BrokerId
from spec.checking import Trace
from spec.checking.traces.trace import TraceStep
from spec.systems.reassignment import log_deleted
from spec.what_if.situations import PARTITION
from statemachines.messages.leader_and_isr import NO_LEADER, LeaderAndIsr
from statemachines.messages.zk_data import topic_partition_state_path, topic_path

__all__ = ["sentences_of"]

PLANNED_ACTION: Final = "happen"
"""The action that an event happens, its parameter."""
STEP_TEXT: Final[Mapping[str, str]] = {
    "become_controller": "the new controller reads what there is",
    "exit": "broker {broker} is gone",
    "broker_change": "the controller sees which brokers there are",
    "partition_reassignment": "the controller reads where the partition is to move",
    "expand_isr": "the leader takes broker {broker} into the ISR",
    "acknowledge": "the leader acknowledges records, which its ISR has, and no other log",
    "process_isr_changes": "the controller hears of the ISR",
    "answer_partition_state_machine": "the controller writes who leads",
    "answer_replica_state_machine": "the controller writes who is in sync",
    "answer_alter_partition": "the controller writes that",
    "next_change": "the controller goes on",
}
"""What each action means that is no event; others are the controller's own business."""
SILENT_ACTIONS: Final = frozenset(
    {"answer_partition_state_machine", "answer_replica_state_machine", "answer_alter_partition", "next_change"}
)
"""Those that have a sentence only if something comes of them that is to be seen."""


def sentences_of(trace: Trace, brokers: Sequence[BrokerId], *, moving: bool = False) -> Iterator[str]:
    """The steps that are to be seen from outside, from the first event on.

    Args:
        trace: the steps.
        brokers: those of the partition, by their places.
        moving: it moves from the beginning; then also what the controller does about that before the first event.
    """
    begun = False
    for step, (before, after) in zip(trace.steps, pairwise(trace.states), strict=True):
        action, parameters = step.step.action, step.step.parameters
        begun = begun or action == PLANNED_ACTION or (moving and action != "become_controller")
        outcome = "; ".join(_outcome(step, before, after, brokers))
        if not begun or (action in SILENT_ACTIONS and not outcome):
            continue
        if action == PLANNED_ACTION:
            happened = parameters["event"].seen_by(PARTITION, dict(enumerate(brokers)))
            text = happened.sentence
        elif action in STEP_TEXT:
            text = STEP_TEXT[action].format(broker=brokers[parameters["broker"]] if "broker" in parameters else "")
        else:
            continue
        yield text + (f": {outcome}" if outcome else "")


def _outcome(
    step: TraceStep, before: Mapping[str, Any], after: Mapping[str, Any], brokers: Sequence[BrokerId]
) -> Iterator[str]:
    """What a step has written of leader, ISR and replicas in ZooKeeper, and whose log it has deleted."""
    old, new = _written(before), _written(after)
    if new is not None and (old is None or old.leader != new.leader):
        yield "no broker leads" if new.leader == NO_LEADER else f"broker {brokers[new.leader]} leads"
    if new is not None and (old is None or old.isr != new.isr):
        yield f"in sync: {_named(new.isr, brokers)}"
    if (replicas := _replicas(after)) != _replicas(before):
        yield f"replicas: {_named(replicas, brokers)}"
    for place, broker in enumerate(brokers):
        if log_deleted(place) in step.sentences:
            yield f"broker {broker} deletes its log"


def _written(state: Mapping[str, Any]) -> LeaderAndIsr | None:
    """What ZooKeeper has of who leads, and who is in sync."""
    node = state["zk.nodes"].get(topic_partition_state_path(PARTITION))
    return None if node is None else node.data.leader_and_isr


def _replicas(state: Mapping[str, Any]) -> tuple[BrokerId, ...]:
    """What the topic's node has of who keeps the partition, if that may change; else nobody."""
    data = state["zk.nodes"][topic_path(PARTITION.topic)].data
    return () if data is None else data.decode(PARTITION.topic)[PARTITION].replicas


def _named(places: Sequence[BrokerId], brokers: Sequence[BrokerId]) -> str:
    return ", ".join(str(brokers[place]) for place in places) or "none"
