"""The steps of a broker that becomes controller, and of one that ceases to be it, in order, for each release.

A controller that takes over knows nothing but its epoch. In its failover (onControllerFailover) it first registers
handlers, so that it learns of changes after its reads. Then it reads everything, informs brokers of each other, and
only then elects leaders and resumes unfinished work. A resignation (onControllerResignation) undoes all that.

The lists are Kafka's own, step by step. A release without a list has that of the release before. If Kafka only
renamed a method, the step keeps one name. Rules for whole lists are not repeated in them:

    epoch    up to 2.0 the failover begins with it; since 2.1 it is fixed earlier, in the election
    watches  up to 1.0 a subscription sets the watch; since 1.1 a handler is only registered, and the next read sets
             the watch. (Up to 1.0, ZkClient sets the watch again whenever it reads a path with a listener. That is
             not shown: the callback for the earlier watch does the same.)
    fence    since 2.1 each write checks the version of /controller_epoch, except for those to /feature  [KAFKA-6082]

`failover` carries out nearly all stages; `one_partition`, which systems explore, only those with a `step`. There the
others are fused with their neighbours, because they touch nothing that is modelled. So are UpdateMetadata and
LeaderAndIsr, which are only queued here: they go with the request before them. Two kinds of stages also write the
states of partitions, which `one_partition` leaves out: the one that removes dead replicas from the ISR
(replicaStateMachine.startup, since 2.3), and those that resume reassignments, deletions and preferred elections.

A resignation makes no request. A watch stays set in ZooKeeper; when it fires, it finds no handler.

[onControllerFailover, initializeControllerContext, onControllerResignation in KafkaController.scala, and the classes
that they start and stop, 0.10.1 to 3.9]
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from statemachines.controller.threads import Agenda, ControllerStep
from statemachines.releases import Release, line_of


class Stage(NamedTuple):
    """One step of a failover or a resignation."""

    name: str
    """Kafka's method, or a description of what it does instead."""
    effect: str = ""
    """Letters of ZAWS: reads ZooKeeper, sets a watch there, writes there, sends to brokers; empty if local."""
    step: tuple[ControllerStep, ...] = ()
    """The requests of the stage in a model; none if it is fused with its neighbours."""


# The epoch, until 2.0. [KafkaController.scala, 0.10.1, 2.0]
READ_EPOCH = Stage(
    "readControllerEpoch", "Z", (ControllerStep.ReadEpoch,)
)  # the increment expects the version read here
# fences older controllers before any other read
INCREMENT_EPOCH = Stage("incrementControllerEpoch", "W", (ControllerStep.IncrementEpoch,))

# Finalized features. [KafkaController.scala, 2.7]
FEATURES = Stage("maybeSetupFeatureVersioning", "ZW")  # a broker without them does not count as live

# Listeners of the ZkClient: the watch is set here. [KafkaController.scala, PartitionStateMachine.scala, 0.10.1; 1.0]
LISTEN_REASSIGNMENT = Stage("registerPartitionReassignmentListener", "A")  # before the read of reassignments
LISTEN_ISR = Stage("registerIsrChangeNotificationListener", "A")  # for ISRs that change after the read of states
LISTEN_PREFERRED = Stage("registerPreferredReplicaElectionListener", "A")  # before the read of such elections
LISTEN_TOPICS = Stage("registerTopicChangeListener", "A")  # before the read of topics
LISTEN_DELETIONS = Stage("registerTopicDeletionListener", "A")  # before their read; in 0.10.1 if deletion is enabled
LISTEN_BROKERS = Stage(
    "registerBrokerChangeListener", "A", (ControllerStep.WatchBrokers,)
)  # before the read of brokers
LISTEN_LOG_DIRS = Stage("registerLogDirEventNotificationListener", "A")  # for disks that fail from now on
# too late: partitions added since the read of assignments go unnoticed
LISTEN_PARTITIONS = Stage("registerPartitionModificationsListener", "A")

# Handlers: the next read sets the watch; two have an exists of their own. [KafkaController.scala, 1.1]
HANDLE_BROKERS = Stage("register brokerChangeHandler")  # the read of brokers sets the watch
HANDLE_TOPICS = Stage("register topicChangeHandler")  # the read of topics sets the watch
HANDLE_DELETIONS = Stage("register topicDeletionHandler")  # the read of topic deletions sets the watch
HANDLE_LOG_DIRS = Stage("register logDirEventNotificationHandler")  # the listing of notifications sets the watch
HANDLE_ISR = Stage("register isrChangeNotificationHandler")  # the listing of notifications sets the watch
HANDLE_PREFERRED = Stage("register preferredReplicaElectionHandler", "A")  # an exists; the node may be missing
HANDLE_REASSIGNMENT = Stage("register partitionReassignmentHandler", "A")  # an exists; the node may be missing
HANDLE_PARTITIONS = Stage("register partitionModificationsHandlers")  # the read of assignments sets the watches
# exists sets the watches; endpoints that changed since the read go unnoticed
HANDLE_BROKER_DATA = Stage("register brokerModificationsHandlers", "A")

# Old notifications. [LogDirUtils.scala, 1.0; KafkaZkClient.scala, 1.1]
# responses to LeaderAndIsr will report failed disks
DELETE_LOG_DIR_EVENTS = Stage("LogDirUtils.deleteLogDirEvents", "ZW")
DELETE_LOG_DIRS = Stage("deleteLogDirEventNotifications", "ZAW")  # responses to LeaderAndIsr report them
DELETE_ISR = Stage("deleteIsrChangeNotifications", "ZAW")  # the read of states covers them; a later one is a new node

# The context. [initializeControllerContext in KafkaController.scala, 0.10.1, 1.1, 2.2, 2.4, 2.8]
BROKERS_0_10 = Stage("zkUtils.getAllBrokersInCluster", "Z", (ControllerStep.ReadBrokers,))  # live brokers
BROKERS_1_1 = Stage("zkClient.getAllBrokersInCluster", "ZA", (ControllerStep.ReadBrokers,))  # live brokers
# live brokers with their epochs [KAFKA-7235]
BROKERS_2_2 = Stage("zkClient.getAllBrokerAndEpochsInCluster", "ZA", (ControllerStep.ReadBrokers,))
TOPICS_0_10 = Stage("zkUtils.getAllTopics", "Z")  # the topics
TOPICS_1_1 = Stage("zkClient.getAllTopicsInCluster", "ZA")  # the topics
ASSIGNED_0_10 = Stage("zkUtils.getReplicaAssignmentForTopics", "Z")  # their partitions and replicas
ASSIGNED_1_1 = Stage("zkClient.getReplicaAssignmentForTopics", "ZA")  # their partitions and replicas
ASSIGNED_2_4 = Stage("zkClient.getFullReplicaAssignmentForTopics", "ZA")  # with reassignments [KIP-455]
ASSIGNED_2_8 = Stage("zkClient.getReplicaAssignmentAndTopicIdForTopics", "ZA")  # with topic ids [KIP-516]
TOPIC_IDS = Stage("processTopicIds", "W")  # topics without an id get one
CLEAR = Stage("clear partitionLeadershipInfo and shuttingDownBrokerIds")  # the latter are stored nowhere
STATES = Stage(
    "updateLeaderAndIsrCache", "Z", (ControllerStep.ReadStates,)
)  # every leader and ISR, except of new partitions
CHANNELS = Stage("controllerChannelManager.startup")  # a thread for each live broker; nothing is sent before
PREFERRED_0_10 = Stage("zkUtils.getPartitionsUndergoingPreferredReplicaElection", "Z")  # requested elections
PREFERRED_1_1 = Stage("zkClient.getPreferredReplicaElection", "ZA")  # requested elections
REASSIGNED_0_10 = Stage("zkUtils.getPartitionsBeingReassigned", "ZW")  # finished ones are removed from the node
REASSIGNED_1_1 = Stage("zkClient.getPartitionReassignment", "ZA")  # finished ones are removed later, on resumption

# Topic deletion. [TopicDeletionManager.scala, 0.10.1, 0.10.2, 0.11]
DELETIONS_0_10 = Stage("zkUtils.getChildren of /admin/delete_topics", "Z")  # topics to delete
DELETIONS_1_1 = Stage("zkClient.getTopicDeletions", "ZA")  # topics to delete
NEW_DELETION_MANAGER = Stage("new TopicDeletionManager")  # the state machines query it for deletions
# the state machines query it; if deletion is disabled, it removes the nodes
INIT_DELETION_MANAGER = Stage("topicDeletionManager.init", "W")
TRY_DELETION = Stage("topicDeletionManager.tryTopicDeletion", "ZWS")  # resumes eligible deletions
DELETE_THREAD = Stage(
    "deleteTopicManager.start", step=(ControllerStep.Started,)
)  # its thread deletes topics; the failover is done

# Information for brokers; up to 2.1 with all partitions. [KAFKA-4443, 0.10.2; KAFKA-7537, 2.2]
# a broker follows no leader that it does not know to be alive; only queued
METADATA = Stage("sendUpdateMetadataRequest(all)", "S")
# the list of live brokers is enough to follow a leader; only queued
METADATA_2_2 = Stage("sendUpdateMetadataRequest(none)", "S")

# The state machines. [ReplicaStateMachine.scala, 0.10.1, 2.3; PartitionStateMachine.scala, 0.10.1]
RSM = Stage("replicaStateMachine.startup", "S")  # LeaderAndIsr to replicas on live brokers; only queued
# and replicas on dead brokers leave the ISR [KAFKA-3143]
RSM_2_3 = Stage("replicaStateMachine.startup, offline ones too", "ZWS")
# elects where there is no live leader
PSM = Stage(
    "partitionStateMachine.startup", "ZWS", (ControllerStep.ReadPartitionState, ControllerStep.UpdateLeaderAndIsr)
)

# Unfinished work of the previous controller. [KafkaController.scala, 0.10.1, 2.1, 2.4]
REASSIGN = Stage("maybeTriggerPartitionReassignment", "ZAWS")  # resumes the reassignments read
REASSIGN_2_4 = Stage("initializePartitionReassignments", "ZAWS")  # reads the node, then uses the assignments
PREFER = Stage("onPreferredReplicaElection", "ZWS")  # holds elections, and deletes the node in any case
# that deletion is fenced, so a controller that was deposed in its failover learns of it here at the latest
PREFER_2_1 = PREFER._replace(step=(ControllerStep.DeletePreferredElection,))

# Periodic tasks. [KafkaController.scala, 0.10.1, 0.11, 1.1]
REBALANCE = Stage("autoRebalanceScheduler.startup")  # leaders are rebalanced from 5 s on, if that is enabled
SCHEDULER = Stage("kafkaScheduler.startup")  # leaders are rebalanced from 5 s on, if that is enabled
SCHEDULER_LAST = SCHEDULER._replace(step=(ControllerStep.Started,))
TOKENS = Stage(
    "tokenCleanScheduler.startup", step=(ControllerStep.Started,)
)  # for delegation tokens; the failover is done


# A line is a phase, so that releases can be compared: the epoch, listeners, the context, pending requests, deletions,
# brokers and state machines, resumed work, schedulers.
# fmt: off
FAILOVER: Final[Mapping[str, tuple[Stage, ...]]] = {
    "0.10.1": (
        READ_EPOCH, INCREMENT_EPOCH,
        LISTEN_REASSIGNMENT, LISTEN_ISR, LISTEN_PREFERRED, LISTEN_TOPICS, LISTEN_DELETIONS, LISTEN_BROKERS,
        BROKERS_0_10, TOPICS_0_10, ASSIGNED_0_10, CLEAR, STATES, CHANNELS,
        PREFERRED_0_10, REASSIGNED_0_10,
        DELETIONS_0_10, NEW_DELETION_MANAGER,
        RSM, PSM, LISTEN_PARTITIONS,
        REASSIGN, PREFER, METADATA,
        REBALANCE, DELETE_THREAD,
    ),
    # KAFKA-4443: brokers learn of each other before they learn of leaders
    "0.10.2": (
        READ_EPOCH, INCREMENT_EPOCH,
        LISTEN_REASSIGNMENT, LISTEN_ISR, LISTEN_PREFERRED, LISTEN_TOPICS, LISTEN_DELETIONS, LISTEN_BROKERS,
        BROKERS_0_10, TOPICS_0_10, ASSIGNED_0_10, CLEAR, STATES, CHANNELS,
        PREFERRED_0_10, REASSIGNED_0_10,
        DELETIONS_0_10, INIT_DELETION_MANAGER,
        METADATA, RSM, PSM, LISTEN_PARTITIONS,
        REASSIGN, PREFER,
        REBALANCE, DELETE_THREAD,
    ),
    # KAFKA-5028: one event thread does everything, including the work of the deletion thread
    "0.11": (
        READ_EPOCH, INCREMENT_EPOCH,
        LISTEN_REASSIGNMENT, LISTEN_ISR, LISTEN_PREFERRED, LISTEN_TOPICS, LISTEN_DELETIONS, LISTEN_BROKERS,
        BROKERS_0_10, TOPICS_0_10, ASSIGNED_0_10, CLEAR, STATES, CHANNELS,
        REASSIGNED_0_10,
        DELETIONS_0_10, INIT_DELETION_MANAGER,
        METADATA, RSM, PSM, LISTEN_PARTITIONS,
        REASSIGN, TRY_DELETION, PREFERRED_0_10, PREFER,
        SCHEDULER_LAST,
    ),
    # KIP-112: failed disks
    "1.0": (
        READ_EPOCH, INCREMENT_EPOCH, DELETE_LOG_DIR_EVENTS,
        LISTEN_REASSIGNMENT, LISTEN_ISR, LISTEN_PREFERRED, LISTEN_TOPICS, LISTEN_DELETIONS, LISTEN_BROKERS,
        LISTEN_LOG_DIRS,
        BROKERS_0_10, TOPICS_0_10, ASSIGNED_0_10, CLEAR, STATES, CHANNELS,
        REASSIGNED_0_10,
        DELETIONS_0_10, INIT_DELETION_MANAGER,
        METADATA, RSM, PSM, LISTEN_PARTITIONS,
        REASSIGN, TRY_DELETION, PREFERRED_0_10, PREFER,
        SCHEDULER_LAST,
    ),
    # KAFKA-5642: another ZooKeeper client, whose reads set watches
    "1.1": (
        READ_EPOCH, INCREMENT_EPOCH,
        HANDLE_BROKERS, HANDLE_TOPICS, HANDLE_DELETIONS, HANDLE_LOG_DIRS, HANDLE_ISR,
        HANDLE_PREFERRED, HANDLE_REASSIGNMENT, DELETE_LOG_DIRS, DELETE_ISR,
        BROKERS_1_1, TOPICS_1_1, HANDLE_PARTITIONS, ASSIGNED_1_1, CLEAR, HANDLE_BROKER_DATA, STATES, CHANNELS,
        REASSIGNED_1_1,
        DELETIONS_1_1, INIT_DELETION_MANAGER,
        METADATA, RSM, PSM,
        REASSIGN, TRY_DELETION, PREFERRED_1_1, PREFER,
        SCHEDULER, TOKENS,
    ),
    # KAFKA-6082: the epoch is fixed together with /controller
    "2.1": (
        HANDLE_BROKERS, HANDLE_TOPICS, HANDLE_DELETIONS, HANDLE_LOG_DIRS, HANDLE_ISR,
        HANDLE_PREFERRED, HANDLE_REASSIGNMENT, DELETE_LOG_DIRS, DELETE_ISR,
        BROKERS_1_1, TOPICS_1_1, HANDLE_PARTITIONS, ASSIGNED_1_1, CLEAR, HANDLE_BROKER_DATA, STATES, CHANNELS,
        REASSIGNED_1_1,
        DELETIONS_1_1, INIT_DELETION_MANAGER,
        METADATA, RSM, PSM,
        REASSIGN, TRY_DELETION, PREFERRED_1_1, PREFER_2_1,
        SCHEDULER, TOKENS,
    ),
    # KAFKA-7235: broker epochs; KAFKA-7537: less metadata
    "2.2": (
        HANDLE_BROKERS, HANDLE_TOPICS, HANDLE_DELETIONS, HANDLE_LOG_DIRS, HANDLE_ISR,
        HANDLE_PREFERRED, HANDLE_REASSIGNMENT, DELETE_LOG_DIRS, DELETE_ISR,
        BROKERS_2_2, TOPICS_1_1, HANDLE_PARTITIONS, ASSIGNED_1_1, CLEAR, HANDLE_BROKER_DATA, STATES, CHANNELS,
        REASSIGNED_1_1,
        DELETIONS_1_1, INIT_DELETION_MANAGER,
        METADATA_2_2, RSM, PSM,
        REASSIGN, TRY_DELETION, PREFERRED_1_1, PREFER_2_1,
        SCHEDULER, TOKENS,
    ),
    # KAFKA-3143: dead replicas leave the ISR
    "2.3": (
        HANDLE_BROKERS, HANDLE_TOPICS, HANDLE_DELETIONS, HANDLE_LOG_DIRS, HANDLE_ISR,
        HANDLE_PREFERRED, HANDLE_REASSIGNMENT, DELETE_LOG_DIRS, DELETE_ISR,
        BROKERS_2_2, TOPICS_1_1, HANDLE_PARTITIONS, ASSIGNED_1_1, CLEAR, HANDLE_BROKER_DATA, STATES, CHANNELS,
        REASSIGNED_1_1,
        DELETIONS_1_1, INIT_DELETION_MANAGER,
        METADATA_2_2, RSM_2_3, PSM,
        REASSIGN, TRY_DELETION, PREFERRED_1_1, PREFER_2_1,
        SCHEDULER, TOKENS,
    ),
    # KIP-455: the assignment itself contains the reassignment
    "2.4": (
        HANDLE_BROKERS, HANDLE_TOPICS, HANDLE_DELETIONS, HANDLE_LOG_DIRS, HANDLE_ISR,
        HANDLE_PREFERRED, HANDLE_REASSIGNMENT, DELETE_LOG_DIRS, DELETE_ISR,
        BROKERS_2_2, TOPICS_1_1, HANDLE_PARTITIONS, ASSIGNED_2_4, CLEAR, HANDLE_BROKER_DATA, STATES, CHANNELS,
        DELETIONS_1_1, INIT_DELETION_MANAGER,
        METADATA_2_2, RSM_2_3, PSM,
        REASSIGN_2_4, TRY_DELETION, PREFERRED_1_1, PREFER_2_1,
        SCHEDULER, TOKENS,
    ),
    # KIP-584: finalized features
    "2.7": (
        FEATURES,
        HANDLE_BROKERS, HANDLE_TOPICS, HANDLE_DELETIONS, HANDLE_LOG_DIRS, HANDLE_ISR,
        HANDLE_PREFERRED, HANDLE_REASSIGNMENT, DELETE_LOG_DIRS, DELETE_ISR,
        BROKERS_2_2, TOPICS_1_1, HANDLE_PARTITIONS, ASSIGNED_2_4, CLEAR, HANDLE_BROKER_DATA, STATES, CHANNELS,
        DELETIONS_1_1, INIT_DELETION_MANAGER,
        METADATA_2_2, RSM_2_3, PSM,
        REASSIGN_2_4, TRY_DELETION, PREFERRED_1_1, PREFER_2_1,
        SCHEDULER, TOKENS,
    ),
    # KIP-516: ids of topics
    "2.8": (
        FEATURES,
        HANDLE_BROKERS, HANDLE_TOPICS, HANDLE_DELETIONS, HANDLE_LOG_DIRS, HANDLE_ISR,
        HANDLE_PREFERRED, HANDLE_REASSIGNMENT, DELETE_LOG_DIRS, DELETE_ISR,
        BROKERS_2_2, TOPICS_1_1, HANDLE_PARTITIONS, ASSIGNED_2_8, TOPIC_IDS,
        CLEAR, HANDLE_BROKER_DATA, STATES, CHANNELS,
        DELETIONS_1_1, INIT_DELETION_MANAGER,
        METADATA_2_2, RSM_2_3, PSM,
        REASSIGN_2_4, TRY_DELETION, PREFERRED_1_1, PREFER_2_1,
        SCHEDULER, TOKENS,
    ),
}
"""The steps of a broker that has become controller, by the first release that has them."""
# fmt: on


# Steps of a resignation. [onControllerResignation in KafkaController.scala, 0.10.1, 0.11, 1.0, 1.1, 2.3]
DROP_ISR = Stage("deregister ISR change notifications")  # left to the next controller
DROP_REASSIGNMENT = Stage("deregister partition reassignment")  # left to the next controller
DROP_PREFERRED = Stage("deregister preferred replica election")  # left to the next controller
DROP_LOG_DIRS = Stage("deregister log dir event notifications")  # left to the next controller
DROP_BROKER_DATA = Stage("deregister broker modifications")  # one handler for each broker
# absent if leaders use AlterIsr (2.7)
DROP_REASSIGNMENT_ISR = Stage("deregister ISR changes of reassigned partitions")
DROP_TOPICS = Stage("deregister topic changes")  # the partition state machine no longer needs them
DROP_PARTITIONS = Stage("deregister partition modifications")  # one handler for each topic
DROP_DELETIONS = Stage("deregister topic deletion")  # the next controller reads them all
DROP_BROKERS = Stage("deregister broker changes")  # the replica state machine no longer needs them
STOP_DELETE_THREAD = Stage("deleteTopicManager.shutdown")  # waits for its thread, so not under the lock since 0.10.2
STOP_REBALANCE = Stage("autoRebalanceScheduler.shutdown")  # waits for its thread, so not under the lock since 0.10.2
RESET_DELETIONS = Stage("topicDeletionManager.reset")  # its topics are in the context since 2.3, and go with that
STOP_SCHEDULER = Stage("kafkaScheduler.shutdown")  # waits for its thread
STOP_TOKENS = Stage("tokenCleanScheduler.shutdown")  # waits for its thread
STOP_PSM = Stage("partitionStateMachine.shutdown")  # forgets its states, but not the requests in its batch
STOP_RSM = Stage("replicaStateMachine.shutdown")  # forgets its states, but not the requests in its batch
STOP_CHANNELS = Stage("controllerChannelManager.shutdown")  # queued requests are dropped; in 0.10 isActive ends here
# and its version; topics, leaders and brokers stay until the next failover
RESET_EPOCH = Stage("controllerContext.epoch := 0")
AS_BROKER = Stage("brokerState.newState(RunningAsBroker)")  # the state in its metrics
RESET_CONTEXT = Stage("controllerContext.resetContext")  # the epoch, topics, leaders and live brokers are forgotten

# fmt: off
RESIGNATION: Final[Mapping[str, tuple[Stage, ...]]] = {
    "0.10.1": (
        DROP_ISR, DROP_REASSIGNMENT, DROP_PREFERRED,
        STOP_DELETE_THREAD, STOP_REBALANCE, DROP_REASSIGNMENT_ISR,
        STOP_PSM, DROP_TOPICS, DROP_PARTITIONS, DROP_DELETIONS, STOP_RSM, DROP_BROKERS,
        STOP_CHANNELS, RESET_EPOCH, AS_BROKER,
    ),
    "0.11": (
        DROP_ISR, DROP_REASSIGNMENT, DROP_PREFERRED,
        RESET_DELETIONS, STOP_SCHEDULER, DROP_REASSIGNMENT_ISR,
        STOP_PSM, DROP_TOPICS, DROP_PARTITIONS, DROP_DELETIONS, STOP_RSM, DROP_BROKERS,
        STOP_CHANNELS, RESET_CONTEXT,
    ),
    "1.0": (
        DROP_ISR, DROP_REASSIGNMENT, DROP_PREFERRED, DROP_LOG_DIRS,
        RESET_DELETIONS, STOP_SCHEDULER, DROP_REASSIGNMENT_ISR,
        STOP_PSM, DROP_TOPICS, DROP_PARTITIONS, DROP_DELETIONS, STOP_RSM, DROP_BROKERS,
        STOP_CHANNELS, RESET_CONTEXT,
    ),
    "1.1": (
        DROP_ISR, DROP_REASSIGNMENT, DROP_PREFERRED, DROP_LOG_DIRS, DROP_BROKER_DATA,
        RESET_DELETIONS, STOP_SCHEDULER, STOP_TOKENS, DROP_REASSIGNMENT_ISR,
        STOP_PSM, DROP_TOPICS, DROP_PARTITIONS, DROP_DELETIONS, STOP_RSM, DROP_BROKERS,
        STOP_CHANNELS, RESET_CONTEXT,
    ),
    "2.3": (
        DROP_ISR, DROP_REASSIGNMENT, DROP_PREFERRED, DROP_LOG_DIRS, DROP_BROKER_DATA,
        STOP_SCHEDULER, STOP_TOKENS, DROP_REASSIGNMENT_ISR,
        STOP_PSM, DROP_TOPICS, DROP_PARTITIONS, DROP_DELETIONS, STOP_RSM, DROP_BROKERS,
        STOP_CHANNELS, RESET_CONTEXT,
    ),
}
"""The steps of a broker that ceases to be controller, by the first release that has them."""
# fmt: on


def failover(release: str) -> tuple[Stage, ...]:
    """The failover of a release.

    >>> [stage.name for stage in failover("2.0") if "W" in stage.effect][:2]
    ['incrementControllerEpoch', 'deleteLogDirEventNotifications']

    Raises:
        ValueError: there is no such release.
    """
    return _newest(FAILOVER, release)


def resignation(release: str) -> tuple[Stage, ...]:
    """The resignation of a release.

    Raises:
        ValueError: there is no such release.
    """
    return _newest(RESIGNATION, release)


def _newest(lists: Mapping[str, tuple[Stage, ...]], release: str) -> tuple[Stage, ...]:
    line = Release(line_of(release))
    return [stages for since, stages in lists.items() if Release(since) <= line][-1]


def steps_of(stages: Iterable[Stage]) -> Agenda:
    """A model's steps for a list of stages, in order.

    >>> list(steps_of(failover("3.9")))
    [ReadBrokers, ReadStates, ReadPartitionState, UpdateLeaderAndIsr, DeletePreferredElection, Started]
    """
    return Agenda(do for stage in stages for do in stage.step)


def fused(stages: Iterable[Stage]) -> tuple[str, ...]:
    """The names of the stages that a model does not have, in order."""
    return tuple(stage.name for stage in stages if not stage.step)
