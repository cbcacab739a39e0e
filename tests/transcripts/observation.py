"""What a controller did after a command, as lines: what it handled, wrote, sent, answered and remembers.

The same lines are made of our controller and of Kafka's. They name what has changed. Left out is what follows from
other lines:
- of a request: its controller's epoch and its broker's, the replicas of a partition and the live brokers, where they
  are those that the controller knows after the command; a partition epoch that is the leader epoch; the leaders whose
  addresses LeaderAndIsr carries, where they are those of its partitions;
- the controller's knowledge of a leader and an ISR, where it is what ZooKeeper has;
- empty nodes above others; gauges and counters, which have tests of their own.

Requests to one broker are in their order. Equal ones to several brokers are one line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any, Final, NamedTuple

from spec.kafka.control_values import stops_by_partition
from statemachines.messages.control_requests import (
    ControlRequest,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    StopReplicaPartitionState,
    StopReplicaRequest,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from statemachines.messages.leader_and_isr import LEADER_DURING_DELETE, LeaderAndIsr, LeaderRecoveryState
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import (
    TopicAssignment,
    TopicConfig,
    TopicPartitionState,
    topic_partition_state_path,
)

WIDTH: Final = 110
"""The length of a line with paths."""
State = Mapping[str, Any]
"""A controller's state and ZooKeeper's nodes, by the names of `ControllerBeside.seen`."""


class Observation(NamedTuple):
    """A controller after a command."""

    handled: Sequence[Sequence[Any]]
    asked: Sequence[Sequence[str]]
    """The paths of its requests to ZooKeeper, batch by batch."""
    sent: Mapping[int, Sequence[ControlRequest]]
    answers: Sequence[Any]
    state: State
    registered: Sequence[int]
    """The epochs under which brokers have registered, in order."""


def lines_of(now: Observation, before: State, show: str = "") -> list[str]:
    """What has changed since the state before, in the order in which a reader asks for it.

    Args:
        now: the controller after a command.
        before: its state before it.
        show: what is told besides: `requests` to ZooKeeper.
    """
    return [
        *(f"handles {', '.join(map(_words, now.handled))}" for _ in now.handled[:1]),
        *(_asked(now.asked) if "requests" in show else ()),
        *_nodes(before.get("znodes", {}), now.state["znodes"], now.state["epoch"][0]),
        *_requests(now),
        *(f"answers {_answer(answer)}" for answer in now.answers),
        *_knowledge(before, now.state),
    ]


def _asked(batches: Iterable[Iterable[str]]) -> list[str]:
    """The paths, batch by batch, as lines that are not too long."""
    told = "; ".join(" ".join(sorted(batch)) for batch in batches)
    return wrap(told, WIDTH, initial_indent="asks ", subsequent_indent="asks ", break_on_hyphens=False)


def _words(event: Sequence[Any]) -> str:
    name, *rest = event
    return " ".join([name, *(_names(each) if isinstance(each, list | tuple) else str(each) for each in rest)])


def _names(of: Iterable[Any]) -> str:
    return ", ".join(map(str, of)) or "none"


def ids(brokers: Iterable[int]) -> str:
    """Brokers, such as 1+2."""
    return "+".join(map(str, brokers)) or "none"


def _answer(value: Any) -> str:
    """An answer as JSON, in words: of a shutdown what the broker still leads, of others each partition's outcome."""
    match value:
        case {"leads": leads}:
            return f"leads {_names(leads)}"
        case {"failed": failure}:
            return f"failed {failure}"
        case {"error": "NONE", "partitions": partitions}:
            return _answer(partitions)
        case {"error": error}:
            return str(error)
        case dict():
            return "; ".join(f"{name} {_answer(each)}" for name, each in sorted(value.items())) or "nothing"
        case [int(leader), int(epoch), list(isr), recovery, version]:
            known = LeaderAndIsr(leader, epoch, tuple(isr), LeaderRecoveryState(recovery), version)
            return _leader_and_isr(known, version)
        case int(leader):
            return f"led by {leader}"
    return str(value)


# What ZooKeeper has.


def _nodes(before: Mapping[str, Any], now: Mapping[str, Any], epoch: int) -> Iterator[str]:
    for path in sorted(before.keys() | now.keys()):
        if before.get(path) == now.get(path):
            continue
        below = any(other.startswith(f"{path}/") for other in now)
        if path not in now:
            parent = path.rpartition("/")[0]
            if parent in now or parent not in before:
                yield f"in ZooKeeper {path} is deleted"
        elif now[path][1] is not None or not below:
            version, data = now[path]
            yield f"in ZooKeeper {_data(path, data, version, epoch)}"


def _data(path: str, data: Any, version: int, epoch: int) -> str:
    match data:
        case TopicPartitionState(leader_and_isr, controller_epoch):
            *_, topic, _, number, _ = path.split("/")
            led = _leader_and_isr(leader_and_isr, version)
            return f"{topic}-{number} is {led}{_written_in(controller_epoch, epoch)}"
        case TopicAssignment(partitions):
            assigned = "; ".join(f"{number} on {_assignment(replicas)}" for number, replicas in partitions)
            return f"{path} has {assigned or 'no partitions'}"
        case TopicConfig(unclean):
            return f"{path} has unclean {unclean}"
        case None:
            return f"{path} is there" + (f", version {version}" if version else "")
        case frozenset():
            return f"{path} is {_names(sorted(map(_requested, data)))}"
    return f"{path} is {data}"


def _requested(what: Any) -> str:
    match what:
        case (TopicPartition() as partition, tuple(target)):
            return f"{partition} to {ids(target)}"
    return str(what)


def _leader_and_isr(of: LeaderAndIsr, version: int) -> str:
    leader = "without leader" if of.leader == -1 else f"led by {of.leader}"
    recovering = ", recovering" if of.leader_recovery_state is LeaderRecoveryState.RECOVERING else ""
    return f"{leader} in {of.leader_epoch}, ISR {ids(of.isr)}{_version(version, of.leader_epoch)}{recovering}"


def _version(version: int, leader_epoch: int) -> str:
    return "" if version == leader_epoch else f", version {version}"


def _written_in(controller_epoch: int, epoch: int) -> str:
    return "" if controller_epoch == epoch else f", by the controller of epoch {controller_epoch}"


def _assignment(of: ReplicaAssignment) -> str:
    changes = {"adding": of.adding_replicas, "removing": of.removing_replicas}
    return ", ".join([ids(of.replicas), *(f"{word} {ids(those)}" for word, those in changes.items() if those)])


# What it sent.


def _requests(now: Observation) -> Iterator[str]:
    said = {
        broker: [_request(each, broker, now) for each in requests]
        for broker, requests in stops_by_partition(now.sent).items()
    }
    everybody = set(now.state["live_broker_epochs"])
    for line, brokers in merged(said):
        to = "all" if len(brokers) > 1 and set(brokers) == everybody else ids(brokers)
        yield f"to {to}: {line}"


def merged(sequences: Mapping[int, Sequence[str]]) -> Iterator[tuple[str, list[int]]]:
    """Sequences of lines as one: each line with whom it belongs to, in an order that holds for each.

    >>> list(merged({1: ["a", "c"], 2: ["b", "a"]}))
    [('b', [2]), ('a', [1, 2]), ('c', [1])]
    """
    left = {broker: list(lines) for broker, lines in sorted(sequences.items()) if lines}
    while left:
        heads: defaultdict[str, list[int]] = defaultdict(list)
        for broker, lines in left.items():
            heads[lines[0]].append(broker)
        later = {line for broker, lines in left.items() for line in lines[1:] if line != lines[0]}
        line = next((head for head in heads if head not in later), next(iter(heads)))
        yield line, heads[line]
        for broker in heads[line]:
            del left[broker][0]
            if not left[broker]:
                del left[broker]


def _request(request: ControlRequest, broker: int, now: Observation) -> str:
    state, notes = now.state, []
    if request.controllerEpoch != state["epoch"][0]:
        notes.append(f"by the controller of epoch {request.controllerEpoch}")
    if request.brokerEpoch != state["live_broker_epochs"].get(broker):
        known = request.brokerEpoch in now.registered
        notes.append(f"for registration {now.registered.index(request.brokerEpoch) + 1 if known else 'unknown'}")
    match request:
        case LeaderAndIsrRequest(partitionStates=states, liveLeaders=addresses):
            name = "LeaderAndIsr"
            parts = [_led(each, state) + (", new" if each.isNew else "") for each in states]
            if set(addresses) != {each.leader for each in states if each.leader >= 0}:
                notes.append(f"with the addresses of {ids(addresses)}")
        case UpdateMetadataRequest(partitionStates=metadata, liveBrokers=alive):
            name = "UpdateMetadata"
            parts = [_led(each, state) + _offline(each.offlineReplicas) for each in metadata]
            if set(alive) != set(state["live_broker_epochs"]):
                notes.append(f"alive are {ids(sorted(alive))}")
        case StopReplicaRequest(deletePartitions=delete_all, partitionStates=stops):
            name = "StopReplica"
            parts = [_stop(each) for each in stops]
            if delete_all:
                notes.append("delete all")
    return "; ".join([" ".join([name, *parts[:1]]), *parts[1:], *notes])


def _led(each: LeaderAndIsrPartitionState | UpdateMetadataPartitionState, state: State) -> str:
    partition = each.partition
    if each.leader == LEADER_DURING_DELETE:
        return f"{partition} in deletion"
    known = state["partition_assignments"].get(partition, ReplicaAssignment(()))
    if isinstance(each, LeaderAndIsrPartitionState):
        assigned = ReplicaAssignment(each.replicas, each.addingReplicas, each.removingReplicas)
        version, recovery = each.partitionEpoch, each.leaderRecoveryState
    else:
        assigned = known._replace(replicas=each.replicas)
        version, recovery = each.zkVersion, LeaderRecoveryState.RECOVERED
    led = _leader_and_isr(LeaderAndIsr(each.leader, each.leaderEpoch, each.isr, recovery), version)
    where = "" if assigned == known else f", on {_assignment(assigned)}"
    return f"{partition} {led}{_written_in(each.controllerEpoch, state['epoch'][0])}{where}"


def _offline(replicas: Sequence[int]) -> str:
    return f", {ids(replicas)} offline" if replicas else ""


def _stop(each: StopReplicaPartitionState) -> str:
    epochs = {-1: "", -2: " in deletion"}
    epoch = epochs.get(each.leaderEpoch, f" in {each.leaderEpoch}")
    return f"{each.partition}{epoch}{', delete' if each.deletePartition else ''}"


# What it remembers.


def _knowledge(before: State, state: State) -> Iterator[str]:
    if before.get("active") != state["active"]:
        active, controller = state["active"]
        yield "is controller" if active else f"is not controller, {controller or 'nobody'} is"
    if before.get("epoch") != state["epoch"]:
        epoch, version = state["epoch"]
        yield f"controller epoch {epoch}{_version(version, epoch)}"
    if before.get("live_broker_epochs") != state["live_broker_epochs"]:
        yield f"alive: {ids(sorted(state['live_broker_epochs']))}"
    was, assigned = before.get("partition_assignments", {}), state["partition_assignments"]
    yield from (f"{each} is assigned to {_assignment(assigned[each])}" for each in _changed(was, assigned))
    if gone := was.keys() - assigned.keys():
        yield f"forgets {_sorted(gone)}"
    yield from _leadership(before, state)
    for kind in ("partition_states", "replica_states"):
        by_state: defaultdict[str, list[Any]] = defaultdict(list)
        for each in _changed(before.get(kind, {}), state[kind]):
            by_state[str(state[kind][each])].append(each)
        for name in sorted(by_state):
            yield f"{name}: {_names(by_state[name])}"
        if gone := before.get(kind, {}).keys() - state[kind].keys():
            yield f"without state: {_sorted(gone)}"
    for name, (label, text) in OTHERS.items():
        other, now = (text(of[name]) if name in of else "none" for of in (before, state))
        if other != now:
            yield f"{label}: {now}"


def _changed(before: Mapping[Any, Any], now: Mapping[Any, Any]) -> list[Any]:
    return sorted(each for each in now if before.get(each) != now[each])


def _leadership(before: State, state: State) -> Iterator[str]:
    """Where the controller's knowledge of leaders and ISRs begins or ceases to differ from ZooKeeper."""
    was, now = _other_than_written(before), _other_than_written(state)
    yield from (f"believes {each} is {now[each]}" for each in _changed(was, now))
    known = state["partition_leadership_info"]
    if caught_up := [each for each in was if each not in now and each in known]:
        yield f"believes of {_sorted(caught_up)} what ZooKeeper has"
    lost = [each for each in before.get("partition_leadership_info", {}) if each not in known]
    if still := [each for each in lost if each in state["partition_assignments"]]:
        yield f"no longer knows the leader of {_sorted(still)}"


def _other_than_written(state: State) -> dict[TopicPartition, str]:
    beliefs = {}
    for partition, (known, controller_epoch) in state.get("partition_leadership_info", {}).items():
        version, written = state["znodes"].get(topic_partition_state_path(partition), (None, None))
        if (
            written != TopicPartitionState(known._replace(partition_epoch=0), controller_epoch)
            or version != known.partition_epoch
        ):
            led = _leader_and_isr(known, known.partition_epoch)
            beliefs[partition] = f"{led}{_written_in(controller_epoch, state['epoch'][0])}"
    return beliefs


def _sorted(of: Iterable[Any]) -> str:
    return _names(sorted(of))


OTHERS: Final[Mapping[str, tuple[str, Callable[[Any], str]]]] = {
    "shutting_down_broker_ids": ("shutting down", _sorted),
    "replicas_on_offline_dirs": (
        "in failed directories",
        lambda by: "; ".join(f"{_sorted(of)} on {broker}" for broker, of in sorted(by.items()) if of) or "none",
    ),
    "all_topics": ("topics", _sorted),
    "topics_to_be_deleted": ("to be deleted", _sorted),
    "topics_with_deletion_started": ("deletion has started", _sorted),
    "topics_ineligible_for_deletion": ("ineligible for deletion", _sorted),
    "being_reassigned": ("being reassigned", _sorted),
    "being_elected": ("being elected", _sorted),
    "queue": ("waiting events", lambda events: _names(map(_words, events))),
    "checks": ("preferred leaders are checked", lambda due: _names(f"in {seconds} s" for seconds in due)),
    "left_in_batches": (
        "left in a batch",
        lambda batches: _names(
            f"{kind} for {_sorted(map(str, what))}"
            for batch in batches
            for kind, what in zip(("LeaderAndIsr", "StopReplica", "metadata", "UpdateMetadata"), batch, strict=True)
            if what
        ),
    ),
}
"""The rest of what it remembers: its label, and how it is written."""
