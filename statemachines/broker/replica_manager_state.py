"""ReplicaManagerState: a broker's view of its replicas, as variables, or over dicts."""

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from election.ids import BrokerId, ControllerEpoch, LeaderEpoch
from statemachines.broker.hosted_partition import HostedPartition
from statemachines.messages.topic_partition import TopicPartition


class Fetching(NamedTuple):
    """The leader that a follower fetches from, and the leader epoch."""

    leader: BrokerId
    leader_epoch: LeaderEpoch


class ReplicaManagerState(Protocol):
    """A broker's view of its replicas, as variables. Values are immutable and replaced as a whole."""

    controller_epoch: ControllerEpoch
    """The newest in any request."""
    logs: frozenset[TopicPartition]
    """The partitions that have a log, in a directory that has not failed. Logs outlive the broker's process."""
    has_offline_log_dir: bool
    """One of its log directories has failed."""

    @property
    def all_partitions(self) -> MutableMapping[TopicPartition, HostedPartition]:
        """The partitions whose replicas it keeps, as named by requests since its start."""

    @property
    def fetchers(self) -> MutableMapping[TopicPartition, Fetching]:
        """The fetchers of its followers [replicaFetcherManager]."""


@dataclass
class InMemoryReplicas:
    """A broker's view of its replicas, over dicts; initially empty."""

    controller_epoch: ControllerEpoch = 0
    logs: frozenset[TopicPartition] = frozenset()
    has_offline_log_dir: bool = False
    all_partitions: MutableMapping[TopicPartition, HostedPartition] = field(default_factory=dict)
    fetchers: MutableMapping[TopicPartition, Fetching] = field(default_factory=dict)
