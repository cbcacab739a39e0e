"""The partition state machine: whether a partition exists and whether it has a leader.

The controller keeps one state per partition, in memory only. ZooKeeper stores no such state: it stores
an assignment (the partition exists) and a leader with its ISR (a broker leads it), and a controller that
takes over derives the states from these two: no leader ever written is NewPartition, a live leader is
OnlinePartition, a dead one OfflinePartition [PartitionStateMachine.scala, 3.9]. That derivation goes
around the table. Afterwards the table alone rules, and a request that it refuses is logged and dropped.

A row says that a transition is legal, not that it succeeds. Three of them lead to OnlinePartition and
need a leader: an election without an eligible replica, or a ZooKeeper write that fails, leaves the
partition where it was. The other rows only change the controller's memory: no write, no request to a
broker. How a leader is chosen is in `election`.

Partitions and replicas have a machine each (`statemachines.tables.replica`). No row of one depends on the
state of the other; the controller drives both in a fixed order.

The table never changed: the checks of 0.10 and the sets of valid previous states that replaced them
in 0.11 agree, release by release, up to 3.9 [PartitionStateMachine.scala, 0.10.0, 0.11.0, 3.9].
"""

from statemachines.tables.table import Row, Table, TableState


class PartitionState(TableState):
    """The controller's view of a partition, with Kafka's codes."""

    NewPartition = 0
    """The assignment is known, a leader was never elected: there is no ISR yet."""

    OnlinePartition = 1
    """A leader was elected and, as far as the controller knows, is alive."""

    OfflinePartition = 2
    """The leader died or the topic is about to go: no broker serves the partition."""

    NonExistentPartition = 3
    """Never created, or deleted."""


NewPartition = PartitionState.NewPartition
OnlinePartition = PartitionState.OnlinePartition
OfflinePartition = PartitionState.OfflinePartition
NonExistentPartition = PartitionState.NonExistentPartition


# [PartitionStateMachine.scala, 3.9] The rows are the sets of valid previous states there; up to 0.10 they
# were checks inside handleStateChange. Beside each row: its cause.
PARTITION: Table[PartitionState] = Table(
    name="partition",
    initial=NonExistentPartition,
    rows=(
        # [KafkaController.scala, 3.9] a topic was created, or got more partitions
        Row(NonExistentPartition, NewPartition, "TopicChange, PartitionModifications"),
        # [PartitionStateMachine.scala, 3.9] the first live replica becomes leader and all live ones the ISR; tried
        # at creation, and again whenever a broker starts or fails or a controller takes over
        Row(NewPartition, OnlinePartition, "first election: TopicChange, BrokerChange, failover"),
        # [TopicDeletionManager.scala, 3.9] the topic was deleted before a leader was found
        Row(NewPartition, OfflinePartition, "TopicDeletion"),
        # [KafkaController.scala, 3.9] another leader, though this one may be alive: preferred election, reassignment,
        # controlled shutdown
        Row(OnlinePartition, OnlinePartition, "preferred election, reassignment, ControlledShutdown"),
        # [KafkaController.scala, TopicDeletionManager.scala, 3.9] the leader's broker or disk failed, or the topic
        # is deleted
        Row(OnlinePartition, OfflinePartition, "BrokerChange, failed disk, TopicDeletion"),
        # [PartitionStateMachine.scala, 3.9] an eligible replica is alive, or an unclean election was permitted
        Row(OfflinePartition, OnlinePartition, "election: BrokerChange, failover"),
        # [KafkaController.scala, TopicDeletionManager.scala, 3.9] another broker failed, or the topic is deleted,
        # while the leader is dead
        Row(OfflinePartition, OfflinePartition, "BrokerChange, TopicDeletion"),
        # [TopicDeletionManager.scala, 3.9] the topic is deleted; its files go later, replica by replica
        Row(OfflinePartition, NonExistentPartition, "TopicDeletion"),
    ),
)
"""The legal transitions of a partition, the same in all releases."""
