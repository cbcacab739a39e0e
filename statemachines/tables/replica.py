"""The replica state machine: what the controller believes of one copy of one partition.

The controller keeps one state per replica, in memory only. Four states are the ordinary life: a replica is
new, online while its broker lives, offline while it does not. Three belong to topic deletion, which
asks each broker to delete its copy and must remember which ones did, which have been asked and which are down.

A controller that takes over knows only which brokers live: it calls a replica on a live broker
OnlineReplica and any other ReplicaDeletionIneligible, the cautious guess, since it cannot tell whether a
deletion was under way [ReplicaStateMachine.scala, 3.9]. That guess goes around the table. Afterwards the
table alone rules, and a request that it refuses is logged and dropped.

Unlike a partition, a replica's state is coupled to requests: online sends it the leader and the ISR,
offline stops it and removes it from the ISR in ZooKeeper, deletion started deletes it. These
effects are not in the table. A legal transition can still fail: a replica that is itself the recorded leader
never becomes NewReplica, and one that cannot be removed from the ISR does not become OfflineReplica.

The table changed once. Deletion moves replicas on dead brokers straight to ReplicaDeletionIneligible,
but up to 2.2 no row allowed that: the controller logged an invalid transition, and the replica stayed
OfflineReplica [TopicDeletionManager.scala, 2.2]. A row was added with the rewrite of topic deletion
[KAFKA-8237, 2.3].
"""

from statemachines.releases import Release
from statemachines.tables.table import Row, Table, TableState


class ReplicaState(TableState):
    """The controller's view of a replica, with Kafka's codes."""

    NewReplica = 1
    """Just assigned, by a new partition or a reassignment: it may only follow."""

    OnlineReplica = 2
    """Assigned and on a live broker: it may lead or follow."""

    OfflineReplica = 3
    """Its broker or its disk is down, or it has received StopReplica."""

    ReplicaDeletionStarted = 4
    """Its broker has received the request to delete the copy, and has not answered."""

    ReplicaDeletionSuccessful = 5
    """Its broker deleted the copy; it waits for the other replicas of the topic."""

    ReplicaDeletionIneligible = 6
    """It cannot be deleted now: its broker is down or answered with an error."""

    NonExistentReplica = 7
    """Never assigned, or deleted. Kafka drops the entry instead of storing this state."""


NewReplica = ReplicaState.NewReplica
OnlineReplica = ReplicaState.OnlineReplica
OfflineReplica = ReplicaState.OfflineReplica
ReplicaDeletionStarted = ReplicaState.ReplicaDeletionStarted
ReplicaDeletionSuccessful = ReplicaState.ReplicaDeletionSuccessful
ReplicaDeletionIneligible = ReplicaState.ReplicaDeletionIneligible
NonExistentReplica = ReplicaState.NonExistentReplica


# [ReplicaStateMachine.scala, 3.9] The rows are the sets of valid previous states there; up to 0.10 they were
# checks inside handleStateChange. Beside each row: its cause.
REPLICA: Table[ReplicaState] = Table(
    name="replica",
    initial=NonExistentReplica,
    rows=(
        # [KafkaController.scala, 3.9] its partition is new, or a reassignment adds this replica to it
        Row(NonExistentReplica, NewReplica, "TopicChange, reassignment"),
        # [KafkaController.scala, 3.9] its partition has just held its first election, with or without success;
        # or a reassignment finds that it has caught up
        Row(NewReplica, OnlineReplica, "first election held, or caught up"),
        # [KafkaController.scala, TopicDeletionManager.scala, 3.9] its broker failed or its topic was deleted before
        # it got any further
        Row(NewReplica, OfflineReplica, "BrokerChange, TopicDeletion"),
        # [KafkaController.scala, ReplicaStateMachine.scala, 3.9] it receives the same leader again: a disk of its
        # broker failed, its broker restarted, or a controller took over
        Row(OnlineReplica, OnlineReplica, "broker restarted, failed disk, failover"),
        # [KafkaController.scala, TopicDeletionManager.scala, 3.9] its broker fails or shuts down, its disk fails, a
        # reassignment removes it, or its topic is deleted
        Row(
            OnlineReplica,
            OfflineReplica,
            "BrokerChange, ControlledShutdown, failed disk, reassignment, TopicDeletion",
        ),
        # [KafkaController.scala, 3.9] its broker is back
        Row(OfflineReplica, OnlineReplica, "BrokerChange: it is back"),
        # [TopicDeletionManager.scala, 3.9] it receives StopReplica again, before deletion starts once more
        Row(OfflineReplica, OfflineReplica, "TopicDeletion tried again"),
        # [TopicDeletionManager.scala, KafkaController.scala, 3.9] it was stopped, now its broker must delete it:
        # its topic is deleted, or a reassignment removes it
        Row(OfflineReplica, ReplicaDeletionStarted, "TopicDeletion, reassignment"),
        # [TopicDeletionManager.scala, 2.3, KAFKA-8237] its topic is deleted while its broker is down
        Row(OfflineReplica, ReplicaDeletionIneligible, "TopicDeletion, broker is down", since=Release("2.3.0")),
        # [TopicDeletionManager.scala, 3.9] its broker answered that the copy is gone; a reassignment does not wait
        # for the answer [KafkaController.scala, 3.9]
        Row(ReplicaDeletionStarted, ReplicaDeletionSuccessful, "StopReplica answered"),
        # [TopicDeletionManager.scala, 3.9] its broker answered with an error, or died
        Row(ReplicaDeletionStarted, ReplicaDeletionIneligible, "StopReplica failed, BrokerChange"),
        # [TopicDeletionManager.scala, 3.9] all copies of the topic are gone; a reassignment does not wait for
        # them either [KafkaController.scala, 3.9]
        Row(ReplicaDeletionSuccessful, NonExistentReplica, "all copies deleted, or reassignment"),
        # [KafkaController.scala, 3.9] its broker is back
        Row(ReplicaDeletionIneligible, OnlineReplica, "BrokerChange: it is back"),
        # [TopicDeletionManager.scala, 3.9] deletion is about to be tried again; or, since 2.3, a controller took
        # over and its broker is down [ReplicaStateMachine.scala, 2.3, KAFKA-3143]
        Row(ReplicaDeletionIneligible, OfflineReplica, "TopicDeletion tried again, failover"),
    ),
)
"""The legal transitions of a replica; `REPLICA.at("2.2")` has one row fewer."""
