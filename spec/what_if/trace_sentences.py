"""A trace in sentences: the steps that an operator would see, with the brokers of one of the cluster's partitions."""

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

PLANNED_ACTION: Final = "happen"
"""The action of a planned event, and its parameter."""
STEP_TEXT: Final[Mapping[str, str]] = {
    "become_controller": "the new controller reads the cluster's state",
    "exit": "broker {broker} stops",
    "broker_change": "the controller reads the live brokers",
    "partition_reassignment": "the controller reads the target of the move",
    "expand_isr": "the leader adds broker {broker} to the ISR",
    "acknowledge": "the leader acknowledges records that only its ISR has",
    "process_isr_changes": "the controller reads the new ISR",
    "answer_partition_state_machine": "the controller writes the leader",
    "answer_replica_state_machine": "the controller writes the ISR",
    "answer_alter_partition": "the controller writes the leader's ISR",
    "next_change": "the controller continues",
}
"""The sentence of each action that is no event; other actions are internal to the controller."""
SILENT_ACTIONS: Final = frozenset(
    {"answer_partition_state_machine", "answer_replica_state_machine", "answer_alter_partition", "next_change"}
)
"""The actions that have a sentence only if they have a visible effect."""


def sentences_of(trace: Trace, brokers: Sequence[BrokerId], *, moving: bool = False) -> Iterator[str]:
    """The steps that are visible from outside, from the first event on.

    Args:
        trace: the steps.
        brokers: the brokers of the partition, by their places.
        moving: whether it moves from the start; then the controller's steps for that before the first event are
            included.
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
    """The leader, ISR and replicas that a step wrote to ZooKeeper, and the logs it deleted."""
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
    """The leader and ISR in ZooKeeper."""
    node = state["zk.nodes"].get(topic_partition_state_path(PARTITION))
    return None if node is None else node.data.leader_and_isr


def _replicas(state: Mapping[str, Any]) -> tuple[BrokerId, ...]:
    """The replicas in the topic's node, if they can change; otherwise none."""
    data = state["zk.nodes"][topic_path(PARTITION.topic)].data
    return () if data is None else data.decode(PARTITION.topic)[PARTITION].replicas


def _named(places: Sequence[BrokerId], brokers: Sequence[BrokerId]) -> str:
    return ", ".join(str(brokers[place]) for place in places) or "none"
