"""Kafka's state machines and what they talk to, as pure parts: import them, run them, draw them, check them.

In rooms:

tables     what a transition table is, and those of partitions and replicas
zookeeper  ZooKeeper in memory, over dicts or over a specification's variables, and served to any client for tests
messages   the requests to brokers, states and assignments of partitions, Kafka's error codes
broker     obeys a controller (kafka_apis, replica_manager, metadata_cache), changes its ISRs, shuts down
broker.log a replica's log with its leader epochs, and how much of it a follower gives up, by the rule of each release
changes    what releases did otherwise, one record each, and on what that rests; `releases` has Kafka's releases
drawing    pictures of the tables, and of a controller's life

And the controller:

controller               its life on a broker, request by request; kafka_controller has the steps
controller_context       what an active controller knows of the cluster
partition_state_machine  how partitions change their states: what that writes and sends; replica_state_machine,
                         replicas
state_change             what comes of it, and how it is driven
controller_calls         what is left of an event, as a value, and the driver; controller_event_processor, all events
broker_changes           brokers that come, go, come again or lose a disk; topic_changes and topic_deletion_manager,
                         topics; controlled_shutdown, brokers that ask to be let go
partition_reassignment   partitions that move, zk_reassignment until 2.3; replica_leader_election, preferred leaders
controller_failover      what a controller begins with; isr_change_notifications, what it hears of leaders until 2.6
control_design           what a release had of the changes
control_responses        what brokers answer; controller_broker_request_batch collects requests, and
                         controller_channel_manager brings them there
alter_partition          how the controller changes an ISR for its leader

All of it together: `cluster`, a cluster in memory, which is made to fail and read.

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

        return Cluster
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
