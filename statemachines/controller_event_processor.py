"""ControllerEventProcessor: what an active controller does with the events of its queue, all of it together.

An event is the call of its handler, so that what is queued is a value as well:

    TopicChange                        process_topic_change                    TopicChanges
    PartitionModifications(t)          process_partition_modifications(t)
    TopicDeletion                      process_topic_deletion
    TopicDeletionStopReplicaResponse.. process_topic_deletion_stop_replica_response_received(broker, error, errors)
    BrokerChange                       process_broker_change                   BrokerChanges
    LogDirEventNotification            process_log_dir_event_notification
    LeaderAndIsrResponseReceived       process_leader_and_isr_response_received(response, broker)
    ControlledShutdown(b, epoch)       process_controlled_shutdown(b, epoch)   ControlledShutdown
    ReplicaLeaderElection(..)          process_replica_leader_election(..)     ReplicaLeaderElection
    AutoPreferredReplicaLeaderElection process_auto_preferred_replica_leader_election
    UncleanLeaderElectionEnable        process_unclean_leader_election_enable
    ZkPartitionReassignment            process_zk_partition_reassignment       PartitionReassignment
    ApiPartitionReassignment(..)       process_api_partition_reassignment(..)
    PartitionReassignmentIsrChange(p)  process_partition_reassignment_isr_change(p)
    IsrChangeNotification              process_isr_change_notification         IsrChangeNotifications
    AlterPartitionReceived(request)    process_alter_partition(request)        IsrAlterations
    (elected)                          on_controller_failover                  ControllerFailover

That a controller is not active, and what it does about elections and sessions of its own, is
`statemachines.kafka_controller`'s: events are for one that is. What a failed event means to it stands in `Processed`.

Left out: UpdateMetadataResponseReceived, which only logs; listings, features, producer ids.

[process in KafkaController.scala, 3.9]
"""

from statemachines.broker_changes import BrokerChanges
from statemachines.control_responses import (
    ControlResponseReceived,
    LeaderAndIsrResponseReceived,
    TopicDeletionStopReplicaResponseReceived,
    UpdateMetadataResponseReceived,
)
from statemachines.controlled_shutdown import ControlledShutdown
from statemachines.controller_calls import Call
from statemachines.controller_failover import ControllerFailover
from statemachines.isr_alterations import IsrAlterations
from statemachines.topic_changes import TopicChanges

__all__ = ["ControllerEventProcessor", "event_of"]


class ControllerEventProcessor(ControllerFailover, BrokerChanges, TopicChanges, ControlledShutdown, IsrAlterations):
    """A controller's event thread; see `ControllerCalls` for its arguments, and `carry_out` for how it is driven."""


def event_of(received: ControlResponseReceived) -> Call | None:
    """The event of a broker's answer, as it goes into the queue; None: of UpdateMetadata, which would only be logged.

    >>> from statemachines.control_responses import LeaderAndIsrResponse
    >>> from statemachines.errors import Errors
    >>> event_of(LeaderAndIsrResponseReceived(LeaderAndIsrResponse(Errors.NONE), 3)).method
    'process_leader_and_isr_response_received'
    """
    match received:
        case LeaderAndIsrResponseReceived():
            handler = ControllerEventProcessor.process_leader_and_isr_response_received.__name__
        case TopicDeletionStopReplicaResponseReceived():
            handler = ControllerEventProcessor.process_topic_deletion_stop_replica_response_received.__name__
        case UpdateMetadataResponseReceived():
            return None
    return Call(handler, tuple(received))
