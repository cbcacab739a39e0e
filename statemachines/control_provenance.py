"""Provenance: what each rule of `ControlDesign` is taken from, and how it is known that Kafka has it.

    compared   Kafka's own classes run beside ours, and contradict the rule turned round (docs/kafka.md)
    by source  Kafka's source says so, in the lines that are named: none of its classes runs beside ours that has the
               rule, or none that has not got it yet, or what runs does not show it
    proposed   no release of Kafka has it

Whole controllers of 1.1.1, 2.2.2, 2.4.1, 2.8.2 and 3.9.1 run beside ours, and of 2.8.2 and 3.9.1 a broker that gets
their requests. So it is by source how a controller did what changed before 1.1, how such a broker did it in older
releases, all that a leader does about its ISR, or a broker that stops, and whether an answer to UpdateMetadata is
heard of, which no comparison gives. That what is compared came with just the release that is named, of those between
two that are run, is by its ticket.

A line is that of a file at one of Kafka's tags, the older ones first: before the rule changed, and when it had. Each
field of `ControlDesign` stands here, says a test; that what is compared is contradicted, another one.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final, NamedTuple

__all__ = ["PROVENANCE", "Compared", "Line", "Provenance"]


class Compared(Enum):
    """Beside which of Kafka's classes. The value is the file that runs them."""

    StateMachines = "spec/kafka/control_plane.py"
    """PartitionStateMachine, ReplicaStateMachine and ControllerBrokerRequestBatch."""
    WholeController = "spec/kafka/event_plane.py"
    """KafkaController, with all that is its own."""
    Receiver = "tests/kafka/receiver_comparison.py"
    """KafkaApis, ReplicaManager and MetadataCache, of 2.8.2 and 3.9.1."""


class Line(NamedTuple):
    """A place in Kafka's source."""

    tag: str
    """The release, as Kafka's repository calls it."""
    file: str
    """The file's name, without the folder."""
    method: str
    number: int

    def __str__(self) -> str:
        return f"{self.method}, {self.file} {self.number}, {self.tag}"


class Provenance(NamedTuple):
    """What a rule rests on."""

    compared: tuple[Compared, ...] = ()
    by_source: tuple[Line, ...] = ()
    """Older releases first."""
    proposed_by: str | None = None
    """A ticket of Kafka's, what has it already, or this project."""

    def __str__(self) -> str:
        compared = [f"compared with Kafka's classes by {each.value}" for each in self.compared]
        by_source = [f"by source: {'; '.join(map(str, self.by_source))}"] if self.by_source else []
        proposed = [f"proposed by {self.proposed_by}"] if self.proposed_by else []
        return ". ".join((*compared, *by_source, *proposed))


STATE_MACHINES: Final = (Compared.StateMachines,)
CONTROLLER: Final = (Compared.WholeController,)
BOTH: Final = (*STATE_MACHINES, *CONTROLLER)
RECEIVER: Final = (Compared.Receiver,)

PROVENANCE: Final[Mapping[str, Provenance]] = MappingProxyType(
    {
        "fence_zk": Provenance(BOTH),
        "keep_last_isr": Provenance(
            compared=BOTH,
            by_source=(
                Line("1.0.2", "KafkaController.scala", "removeReplicaFromIsr", 1082),
                Line("1.1.0", "ReplicaStateMachine.scala", "doRemoveReplicasFromIsr", 290),
            ),
        ),
        "offline_on_failover": Provenance(BOTH),
        "fence_stop": Provenance(
            compared=(*BOTH, *RECEIVER),
            by_source=(
                Line("2.5.1", "ReplicaManager.scala", "stopReplicas", 382),
                Line("2.6.0", "ReplicaManager.scala", "stopReplicas", 414),
            ),
        ),
        "leader_recovery": Provenance(CONTROLLER),
        "metadata_first": Provenance(
            compared=CONTROLLER,
            by_source=(
                Line("0.10.1.1", "KafkaController.scala", "onControllerFailover", 343),
                Line("0.10.2.0", "KafkaController.scala", "onControllerFailover", 339),
            ),
        ),
        "broker_epoch": Provenance(BOTH),
        "log_dir_failure": Provenance(
            compared=CONTROLLER,
            by_source=(
                Line("0.11.0.2", "ControllerChannelManager.scala", "sendRequestsToBrokers", 405),
                Line("1.0.0", "ControllerChannelManager.scala", "sendRequestsToBrokers", 419),
            ),
        ),
        "hear_metadata_errors": Provenance(
            by_source=(
                Line("2.4.1", "ControllerChannelManager.scala", "sendUpdateMetadataRequests", 525),
                Line("2.5.0", "ControllerChannelManager.scala", "sendUpdateMetadataRequests", 521),
            )
        ),
        "trunc_every_epoch": Provenance(
            compared=RECEIVER,
            by_source=(
                Line("2.0.0", "Partition.scala", "makeFollower", 346),
                Line("2.0.1", "Partition.scala", "makeFollower", 366),
                Line("2.1.0", "Partition.scala", "makeFollower", 447),
            ),
        ),
        "pass_over_unread": Provenance(
            compared=RECEIVER,
            by_source=(
                Line("2.6.3", "Partition.scala", "makeFollower", 570),
                Line("2.7.0", "Partition.scala", "makeFollower", 660),
            ),
        ),
        "alter_partition": Provenance(
            compared=CONTROLLER,
            by_source=(
                Line("2.6.3", "Partition.scala", "expandIsr", 1197),
                Line("2.7.0", "Partition.scala", "expandIsr", 1318),
            ),
        ),
        "read_back": Provenance(
            by_source=(
                Line("0.8.1.1", "Partition.scala", "updateIsr", 369),
                Line("0.8.2.0", "ZkUtils.scala", "conditionalUpdatePersistentPath", 365),
            )
        ),
        "check_alter_epochs": Provenance(CONTROLLER),
        "live_isr_check": Provenance(
            compared=CONTROLLER,
            by_source=(
                Line("3.2.3", "Partition.scala", "canAddReplicaToIsr", 804),
                Line("3.3.0", "Partition.scala", "canAddReplicaToIsr", 871),
            ),
        ),
        "offline_without_log": Provenance(
            compared=RECEIVER,
            by_source=(
                Line("1.0.0", "ReplicaManager.scala", "becomeLeaderOrFollower", 1076),
                Line("3.0.2", "ReplicaManager.scala", "becomeLeaderOrFollower", 1427),
                Line("3.1.0", "ReplicaManager.scala", "makeLeaders", 1598),
            ),
        ),
        "check_partition_epoch": Provenance(
            compared=RECEIVER,
            by_source=(
                Line("3.2.3", "Partition.scala", "makeFollower", 629),
                Line("3.3.0", "Partition.scala", "makeFollower", 681),
            ),
        ),
        "stop_at_same_epoch": Provenance(
            compared=RECEIVER,
            by_source=(
                Line("3.4.0", "ReplicaManager.scala", "stopReplicas", 390),
                Line("3.4.1", "ReplicaManager.scala", "stopReplicas", 390),
                Line("3.5.0", "ReplicaManager.scala", "stopReplicas", 410),
            ),
        ),
        "epoch_after_log": Provenance(
            compared=RECEIVER,
            by_source=(
                Line("3.5.2", "Partition.scala", "makeFollower", 825),
                Line("3.6.0", "Partition.scala", "makeFollower", 810),
            ),
        ),
        "metadata_of_given": Provenance(CONTROLLER),
        "metadata_without_election": Provenance(CONTROLLER),
        "restore_assignment": Provenance(CONTROLLER),
        "retry_alone": Provenance(STATE_MACHINES),
        "config_once": Provenance(BOTH),
        "metadata_of_leaderless": Provenance(BOTH),
        "group_stop": Provenance(BOTH),
        "trigger_assigned": Provenance(
            compared=STATE_MACHINES,
            by_source=(
                Line("2.2.2", "PartitionStateMachine.scala", "triggerOnlinePartitionStateChange", 113),
                Line("2.3.1", "PartitionStateMachine.scala", "triggerOnlinePartitionStateChange", 62),
            ),
        ),
        "keep_channels": Provenance(
            compared=CONTROLLER,
            by_source=(
                Line("2.2.2", "ControllerContext.scala", "controllerChannelManager", 28),
                Line("2.3.1", "KafkaController.scala", "controllerChannelManager", 74),
            ),
        ),
        "reset_context": Provenance(
            compared=CONTROLLER,
            by_source=(
                Line("0.10.2.2", "KafkaController.scala", "onControllerResignation", 394),
                Line("0.11.0.0", "KafkaController.scala", "resetControllerContext", 701),
            ),
        ),
        "kip_455": Provenance(CONTROLLER),
        "remember_epoch": Provenance(CONTROLLER),
        "leaderless_offline": Provenance(BOTH),
        "metadata_of_deleted": Provenance(BOTH),
        "tell_leaving": Provenance(BOTH),
        "forget_failed_dirs": Provenance(CONTROLLER),
        "assign_first": Provenance(CONTROLLER),
        "reassign_unassigned": Provenance(
            compared=CONTROLLER,
            by_source=(
                Line("1.1.1", "KafkaController.scala", "onPartitionReassignment", 516),
                Line("2.0.1", "ControllerContext.scala", "partitionReplicaAssignment", 42),
            ),
        ),
        "remove_together": Provenance(CONTROLLER),
        "look_below_reassignment": Provenance(CONTROLLER),
        "delete_partitions_first": Provenance(CONTROLLER),
        "pass_over_deleted": Provenance(CONTROLLER),
        "rebalance_together": Provenance(CONTROLLER),
        "elect_where_needed": Provenance(CONTROLLER),
        "say_not_needed": Provenance(CONTROLLER),
        "leave_reassignment": Provenance(CONTROLLER),
        "rebalance_while_reassigning": Provenance(CONTROLLER),
        "delete_together": Provenance(CONTROLLER),
        "rebalance_electable": Provenance(CONTROLLER),
        "queued_to_the_end": Provenance(CONTROLLER),
        "tell_added_as_new": Provenance(CONTROLLER),
        "count_once": Provenance(CONTROLLER),
        "controller_of_cache": Provenance(
            by_source=(
                Line("2.8.2", "KafkaServer.scala", "doControlledShutdown", 560),
                Line("3.0.0", "KafkaServer.scala", "doControlledShutdown", 554),
            )
        ),
        "retry_without_controller": Provenance(
            by_source=(
                Line("1.0.2", "KafkaServer.scala", "doControlledShutdown", 427),
                Line("1.1.0", "KafkaServer.scala", "doControlledShutdown", 458),
            )
        ),
        "stop_after_last": Provenance(
            by_source=(
                Line("3.0.2", "KafkaServer.scala", "doControlledShutdown", 618),
                Line("3.1.0", "KafkaServer.scala", "doControlledShutdown", 660),
            )
        ),
        "elect_if_created": Provenance(proposed_by="this project"),
        "read_back_alteration": Provenance(proposed_by="this project"),
        "clear_batch": Provenance(proposed_by="KAFKA-12315"),
        "forget_ineligible": Provenance(proposed_by="this project"),
        "keep_in_sync": Provenance(proposed_by="KRaft, which has it"),
        "keep_leader": Provenance(proposed_by="KAFKA-14808"),
    }
)
"""What each field of `ControlDesign` rests on."""
