"""Kafka's state machines and their environment, as pure parts: import them, run them, draw them, check them.

Packages:

tables      transition tables, and those of partitions and replicas
zookeeper   ZooKeeper in memory, over dicts or over a specification's variables, and served to any client for tests
messages    requests to brokers, states and assignments of partitions, data of ZooKeeper nodes, error codes
znodes      Kafka's nodes in ZooKeeper as bytes, read and written as each release does
changes     one record for each change between releases, with its evidence; `releases` lists Kafka's releases
controller  KafkaController: its election, its failover and its events
broker      a broker obeys a controller (kafka_apis, replica_manager, metadata_cache), changes its ISRs, appends and
            fetches (data_plane, partition, replica_fetcher_thread), shuts down
broker.log  a replica's log with its leader epochs, and each release's rule of how much a follower truncates
cluster     all of it together, in memory: trigger failures and read the result
drawing     pictures of the tables, and of a controller's life

from statemachines import PARTITION, REPLICA, Cluster, ZooKeeper
"""

from typing import TYPE_CHECKING, Any

from statemachines.tables.partition import PARTITION, PartitionState
from statemachines.tables.replica import REPLICA, ReplicaState
from statemachines.zookeeper.server import ZooKeeper

if TYPE_CHECKING:
    from statemachines.cluster import Cluster

__all__ = ["PARTITION", "REPLICA", "Cluster", "PartitionState", "ReplicaState", "ZooKeeper"]


def __getattr__(name: str) -> Any:
    """Import `Cluster` lazily: it loads the whole controller, which users of the tables do not need."""
    if name == "Cluster":
        from statemachines.cluster import Cluster

        globals()[name] = Cluster
        return Cluster
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
