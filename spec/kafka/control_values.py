"""Convert the observed state of Kafka's state machines to our values.

The Java side of it is `java/control/.../Observation.java`, `Requests.java` and `FailureLog.java`.
"""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from election.ids import BrokerId
from statemachines.controller.context import ContextState
from statemachines.controller.design import CONTROLLER
from statemachines.controller.state_change import FailedStateChange, StateChangeCause, StateChangeFailure
from statemachines.messages.control_requests import (
    ControlRequest,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    StopReplicaPartitionState,
    StopReplicaRequest,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch, LeaderRecoveryState
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.messages.zk_data import (
    ISR_CHANGE_NOTIFICATION,
    LOG_DIR_EVENT_NOTIFICATION,
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    TopicAssignment,
    TopicConfig,
    TopicPartitionState,
)
from statemachines.tables.partition import NewPartition, OnlinePartition, PartitionState
from statemachines.tables.replica import NewReplica, ReplicaState
from statemachines.zookeeper.tree import Code, ZkPath


@cache
def parsed(name: str) -> TopicPartition:
    """The partition of this name, such as t-0."""
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))


@cache
def parsed_replica(name: str) -> PartitionAndReplica:
    """The replica of this name, such as t-0@1."""
    partition, _, broker = name.rpartition("@")
    return PartitionAndReplica(parsed(partition), int(broker))


def decoded_leader_and_isr(fields: Sequence[Any]) -> LeaderAndIsr:
    """A leader and an ISR."""
    leader, leader_epoch, isr, recovery, partition_epoch = fields
    return LeaderAndIsr(leader, leader_epoch, tuple(isr), LeaderRecoveryState(recovery), partition_epoch)


def decoded_state(kind: Callable[..., Any], fields: Sequence[Any]) -> Any:
    """A request's state of one partition."""
    topic, number, *others = fields
    lists_as_tuples = (tuple(each) if isinstance(each, list) else each for each in others)
    state = kind(TopicPartition(topic, number), *lists_as_tuples)
    if isinstance(state, LeaderAndIsrPartitionState):
        state = state._replace(leaderRecoveryState=LeaderRecoveryState(state.leaderRecoveryState))
    return state


def decoded_request(fields: Sequence[Any]) -> ControlRequest:
    """A request to a broker."""
    kind, controller, epoch, broker_epoch, *parts = fields
    match kind:
        case "LeaderAndIsrRequest":
            states = tuple(sorted(decoded_state(LeaderAndIsrPartitionState, each) for each in parts[0]))
            return LeaderAndIsrRequest(controller, epoch, broker_epoch, states, tuple(sorted(parts[1])))
        case "UpdateMetadataRequest":
            partitions = tuple(sorted(decoded_state(UpdateMetadataPartitionState, each) for each in parts[0]))
            return UpdateMetadataRequest(controller, epoch, broker_epoch, partitions, tuple(sorted(parts[1])))
    stopped = tuple(sorted(decoded_state(StopReplicaPartitionState, each) for each in parts[1]))
    return StopReplicaRequest(controller, epoch, broker_epoch, parts[0], stopped)


def decoded_requests(sent: Mapping[str, Sequence[Any]]) -> dict[BrokerId, list[ControlRequest]]:
    """The requests to each broker, in their order."""
    return {int(broker): [decoded_request(request) for request in requests] for broker, requests in sent.items()}


def stops_by_partition(sent: Mapping[BrokerId, Sequence[ControlRequest]]) -> dict[BrokerId, list[ControlRequest]]:
    """The requests to each broker in their order, except that StopReplicas of single replicas are sorted.

    Until 2.2 each replica of a batch has a StopReplica of its own, after an empty one. Their order is that in which
    the state machine received the replicas; in a whole controller that is the order of a hash set. Here those of one
    batch are sorted by partition. Since 2.3 no StopReplica is empty, and the requests are returned unchanged.
    [ControllerBrokerRequestBatch in ControllerChannelManager.scala: sendRequestsToBrokers, until 2.2;
    sendStopReplicaRequests, since 2.3]
    """
    return {broker: _stops_by_partition(requests) for broker, requests in sent.items()}


def _stops_by_partition(requests: Iterable[ControlRequest]) -> list[ControlRequest]:
    ordered: list[ControlRequest] = []
    first: int | None = None
    for request in requests:
        if not isinstance(request, StopReplicaRequest):
            first = None
        elif not request.partitionStates:
            first = len(ordered) + 1
        elif first is not None:
            insort(ordered, request, lo=first, key=lambda stop: stop.partitionStates)
            continue
        ordered.append(request)
    return ordered


def decoded_unsent(left: Mapping[str, Any]) -> tuple[Any, ...]:
    """The requests that stayed in the batch."""
    return (
        {
            parsed_replica(replica): decoded_state(LeaderAndIsrPartitionState, state)
            for replica, state in left["leader_and_isr"].items()
        },
        {
            parsed_replica(replica): decoded_state(StopReplicaPartitionState, state)
            for replica, state in left["stop_replica"].items()
        },
        {
            parsed(partition): decoded_state(UpdateMetadataPartitionState, state)
            for partition, state in left["update_metadata"].items()
        },
        frozenset(left["update_metadata_brokers"]),
    )


def decoded_partition(seen: Mapping[str, Any]) -> TopicPartition:
    """A partition in the data of a node."""
    return TopicPartition(seen["topic"], seen["partition"])


def decoded_topic(data: Mapping[str, Any]) -> TopicAssignment:
    """The content of a topic's node, without its topic id."""
    adding, removing = data.get("adding_replicas", {}), data.get("removing_replicas", {})
    assigned = (
        (int(number), ReplicaAssignment(*map(tuple, (brokers, adding.get(number, ()), removing.get(number, ())))))
        for number, brokers in data["partitions"].items()
    )
    return TopicAssignment(tuple(sorted(assigned)))


ZNODES: Final[Mapping[ZkPath, Callable[[Any], Any]]] = {
    CONTROLLER: lambda data: data["brokerid"],
    REASSIGN_PARTITIONS: lambda data: frozenset(
        (decoded_partition(each), tuple(each["replicas"])) for each in data["partitions"]
    ),
    PREFERRED_REPLICA_ELECTION: lambda data: frozenset(map(decoded_partition, data["partitions"])),
}
"""Nodes with a fixed path. Data without an order is a set."""


def decoded_znode(path: ZkPath, data: Any) -> Any:
    """The content of a node."""
    if path.endswith("/state"):
        recovery = LeaderRecoveryState(data.get("leader_recovery_state", 0))
        leader_and_isr = LeaderAndIsr(data["leader"], data["leader_epoch"], tuple(data["isr"]), recovery)
        return TopicPartitionState(leader_and_isr, data["controller_epoch"])
    if data is not None and path in ZNODES:
        return ZNODES[path](data)
    if data is not None and path.startswith(ISR_CHANGE_NOTIFICATION):
        return frozenset(map(decoded_partition, data["partitions"]))
    if data is not None and path.startswith(LOG_DIR_EVENT_NOTIFICATION):
        return data["broker"]
    if data is not None and path.startswith("/brokers/topics/"):
        return decoded_topic(data)
    if data is not None and path.startswith("/config/topics/"):
        unclean = data["config"].get("unclean.leader.election.enable")
        return TopicConfig(None if unclean is None else unclean == "true")
    return data


FAILED_PARTITION: Final = re.compile(r"(?:change state|state change) for partition (\S+) from (\w+) to (\w+)")
FAILED_REPLICA: Final = re.compile(r"state change of replica (\d+) for partition (\S+) from (\w+) to (\w+) failed")
CAUSES: Final[Mapping[str, StateChangeCause]] = {
    "should be in": StateChangeFailure.InvalidTransition,
    "No assigned replica is alive": StateChangeFailure.NoLiveReplica,
    "LeaderAndIsr information doesn't exist": StateChangeFailure.NoLeaderAndIsr,
    "path in zookeeper is empty": StateChangeFailure.NoLeaderAndIsr,
    "written by another controller": StateChangeFailure.NewerController,
    "Failed to elect leader": StateChangeFailure.NoLeaderElected,
    "No replica in ISR": StateChangeFailure.NoLeaderElected,
    "No broker in ISR": StateChangeFailure.NoLeaderElected,
    "No replica for partition": StateChangeFailure.NoLeaderElected,
    "either not alive or not in the isr": StateChangeFailure.NoLeaderElected,
    "No other replicas in ISR": StateChangeFailure.NoLeaderElected,
    "reassigned replicas for partition": StateChangeFailure.NoLeaderElected,
    "empty list": StateChangeFailure.NoLeaderElected,
    "key not found": StateChangeFailure.NoLeaderElected,
    "path already exists": Code.NODEEXISTS,
    "requested to become leader": StateChangeFailure.ReplicaLeads,
    "batch is not empty": StateChangeFailure.BatchNotEmpty,
}
"""Why a state did not change, by the text of Kafka's exception."""


def decoded_cause(seen: Mapping[str, Any]) -> StateChangeCause | str:
    """Why a state did not change; an exception that is none of these, as it is."""
    if "code" in seen:
        return Code[seen["code"]]
    found = (cause for text, cause in CAUSES.items() if text in seen["message"])
    return next(found, f"{seen['thrown']}: {seen['message']}")


def decoded_results(seen: Mapping[str, Any]) -> dict[TopicPartition, Any]:
    """The results of elections."""
    return {
        parsed(partition): decoded_cause(result) if isinstance(result, dict) else decoded_leader_and_isr(result)
        for partition, result in seen.items()
    }


def decoded_failure(seen: Mapping[str, Any]) -> FailedStateChange:
    """A failed state change that Kafka logged. Two of its texts name another target than the one requested."""
    cause: Any = decoded_cause(seen)
    if found := FAILED_PARTITION.search(seen["text"]):
        partition, source, target = found.groups()
        state, asked = PartitionState[source], PartitionState[target]
        if asked is state is NewPartition and cause is not StateChangeFailure.InvalidTransition:
            asked = OnlinePartition
        return FailedStateChange(parsed(partition), state, asked, cause)
    found = FAILED_REPLICA.search(seen["text"])
    assert found is not None, seen["text"]
    broker, partition, source, target = found.groups()
    replica_target = NewReplica if cause is StateChangeFailure.ReplicaLeads else ReplicaState[target]
    replica = PartitionAndReplica(parsed(partition), int(broker))
    return FailedStateChange(replica, ReplicaState[source], replica_target, cause)


EARLIER_NAMES: Final = {
    "PartitionReassignment": "ZkPartitionReassignment",  # until 2.3
    "PreferredReplicaLeaderElection": "ReplicaLeaderElection",  # until 2.3
    "TopicDeletionStopReplicaResult": "TopicDeletionStopReplicaResponseReceived",  # in 0.11
}
"""Earlier names of the events of 3.9."""


def decoded_event(seen: Sequence[Any]) -> tuple[Any, ...]:
    """An event of the controller's queue, by its 3.9 name, with its topics, partitions and brokers."""
    name, *rest = seen
    if name == "AlterIsrReceived":  # from 2.7 to 3.0; besides what it requests it carries the broker
        return ("AlterPartitionReceived",)
    return (EARLIER_NAMES.get(name, name), *rest)


def of_context(state: ContextState) -> dict[str, Any]:
    """What our controller knows, by the names of Kafka's observed state, see `DECODED`."""
    return {
        "epoch": (state.epoch, state.epoch_zk_version),
        "partition_assignments": state.partition_assignments,
        "partition_leadership_info": state.partition_leadership_info,
        "partition_states": state.partition_states,
        "replica_states": state.replica_states,
        "live_broker_epochs": state.live_broker_epochs,
        "shutting_down_broker_ids": state.shutting_down_broker_ids,
        "replicas_on_offline_dirs": state.replicas_on_offline_dirs,
        "all_topics": state.all_topics,
        "topics_to_be_deleted": state.topics_to_be_deleted,
        "topics_with_deletion_started": state.topics_with_deletion_started,
        "topics_ineligible_for_deletion": state.topics_ineligible_for_deletion,
    }


DECODED: Final[Mapping[str, Callable[[Any], Any]]] = {
    "epoch": tuple,
    "partition_assignments": lambda seen: {
        parsed(name): ReplicaAssignment(*map(tuple, parts)) for name, parts in seen.items()
    },
    "partition_leadership_info": lambda seen: {
        parsed(name): LeaderIsrAndControllerEpoch(decoded_leader_and_isr(fields), epoch)
        for name, (fields, epoch) in seen.items()
    },
    "partition_states": lambda seen: {parsed(name): PartitionState[state] for name, state in seen.items()},
    "replica_states": lambda seen: {parsed_replica(name): ReplicaState[state] for name, state in seen.items()},
    "live_broker_epochs": lambda seen: {int(broker): epoch for broker, epoch in seen.items()},
    "shutting_down_broker_ids": frozenset,
    "replicas_on_offline_dirs": lambda seen: {
        int(broker): frozenset(map(parsed, partitions)) for broker, partitions in seen.items()
    },
    "all_topics": frozenset,
    "topics_to_be_deleted": frozenset,
    "topics_with_deletion_started": frozenset,
    "topics_ineligible_for_deletion": frozenset,
    "znodes": lambda seen: {path: (version, decoded_znode(path, data)) for path, (version, data) in seen.items()},
    "left": decoded_unsent,
}
"""Decoders from the observed state of Kafka's state machines to our values."""

WHOLE: Final[Mapping[str, Callable[[Any], Any]]] = {
    **{name: decoded for name, decoded in DECODED.items() if name != "left"},
    "left_in_batches": lambda seen: [decoded_unsent(seen[number]) for number in sorted(seen)],
    "being_reassigned": lambda seen: frozenset(map(parsed, seen)),
    "queue": lambda seen: list(map(decoded_event, seen)),
    "active": tuple,
    "gauges": dict,
    "stats": tuple,
    "checks": list,
}
"""Decoders for the observed state of a whole controller."""
