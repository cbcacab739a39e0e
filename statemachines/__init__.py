"""Kafka's state machines and what they talk to, as pure parts: import them, run them, draw them, check them.

In rooms:

tables      what a transition table is, and those of partitions and replicas
zookeeper   ZooKeeper in memory, over dicts or over a specification's variables, and served to any client for tests
messages    the requests to brokers, states and assignments of partitions, what stands in ZooKeeper, error codes
znodes      Kafka's nodes in ZooKeeper as bytes, read and written as each release does
changes     what releases did otherwise, one record each, and on what that rests; `releases` has Kafka's releases
controller  is elected, fails over, and does what events ask for: KafkaController
broker      obeys a controller (kafka_apis, replica_manager, metadata_cache), changes its ISRs, shuts down
broker.log  a replica's log with its leader epochs, and how much of it a follower gives up, as each release has it
cluster     all of it together, in memory; it is made to fail, and read
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
    """`Cluster`, which brings the whole controller with it: who imports a table need not wait for that."""
    if name == "Cluster":
        from statemachines.cluster import Cluster

        globals()[name] = Cluster
        return Cluster
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
