"""ControllerEventProcessor: all handlers of an active controller's events.

An event is the call of its handler, so queued events are values as well:

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

Events are for an active controller; `kafka_controller` handles inactivity, elections and sessions. `EventDone` says
what a failed event means to it.

Left out: UpdateMetadataResponseReceived, which only logs; listings, features, producer ids.

[process in KafkaController.scala, 3.9]
"""

from collections.abc import Callable

from election.ids import BrokerId
from statemachines.controller.broker_changes import BrokerChanges
from statemachines.controller.calls import Call
from statemachines.controller.context import ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.control_responses import (
    ControlResponseReceived,
    LeaderAndIsrResponseReceived,
    TopicDeletionStopReplicaResponseReceived,
    UpdateMetadataResponseReceived,
)
from statemachines.controller.controlled_shutdown import ControlledShutdown
from statemachines.controller.event_driver import BrokerChannels
from statemachines.controller.failover_calls import ControllerFailover
from statemachines.controller.isr_alterations import IsrAlterations
from statemachines.controller.partition_state_machine import PartitionStateMachine
from statemachines.controller.replica_state_machine import ReplicaStateMachine
from statemachines.controller.request_batch import ControllerBrokerRequestBatch
from statemachines.controller.state_change import FailedStateChange, log_failed_state_change
from statemachines.controller.topic_changes import TopicChanges
from statemachines.messages.control_requests import ControlRequest


class ControllerEventProcessor(ControllerFailover, BrokerChanges, TopicChanges, ControlledShutdown, IsrAlterations):
    """A controller's event thread; `EventDriver` explains its arguments."""


def event_processor(
    controller: BrokerId,
    send: Callable[[BrokerId, ControlRequest], object],
    context: ControllerContext | None = None,
    design: ControlDesign | None = None,
    channels: BrokerChannels | None = None,
    put: Callable[[Call], object] = lambda event: None,
    log: Callable[[FailedStateChange], object] | None = log_failed_state_change,
) -> ControllerEventProcessor:
    """A controller's event thread over dicts, with three batches, like Kafka's.

    >>> from statemachines.controller.calls import call
    >>> from statemachines.controller.event_driver import carry_out
    >>> from statemachines.messages.zk_data import TopicAssignment
    >>> from statemachines.messages.replica_assignment import ReplicaAssignment
    >>> from statemachines.zookeeper.server import ZooKeeper
    >>> zookeeper, sent = ZooKeeper(), []
    >>> for path in ("/controller_epoch", "/brokers", "/brokers/ids", "/brokers/ids/1", "/brokers/topics"):
    ...     _ = zookeeper.create(None, path)
    >>> _ = zookeeper.create(None, "/brokers/topics/t", TopicAssignment(((0, ReplicaAssignment((1,))),)))
    >>> controller = event_processor(1, lambda broker, request: sent.append((broker, type(request).__name__)))
    >>> carry_out(controller, call(controller.on_controller_failover), zookeeper, None)
    EventDone(answer=None, failure=None, must_reelect=False)
    >>> sent
    [(1, 'UpdateMetadataRequest'), (1, 'LeaderAndIsrRequest'), (1, 'UpdateMetadataRequest')]

    Args:
        controller: the controller's id.
        send: sends a request to a broker.
        context: its context; by default empty.
        design: the design of its release.
        channels: the channels to brokers.
        put: puts an event into the queue.
        log: called with each failed change of a state, which Kafka logs as an error. The default logs an error with
            Python's `logging`, by the logger `state_change`; None does nothing. The failure of a whole event is not
            logged: it is the `failure` of the result of `carry_out`.
    """
    context = ControllerContext() if context is None else context
    batches = [ControllerBrokerRequestBatch(controller, context, send, design=design) for _ in range(3)]
    partitions = PartitionStateMachine(context, batches[0], design, log)
    replicas = ReplicaStateMachine(context, batches[1], design, log)
    return ControllerEventProcessor(partitions, replicas, batches[2], channels, put)


def event_of(received: ControlResponseReceived) -> Call | None:
    """The controller's event for a broker's response; None for UpdateMetadata, which Kafka would only log.

    >>> from statemachines.controller.control_responses import LeaderAndIsrResponse
    >>> from statemachines.messages.errors import Errors
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
