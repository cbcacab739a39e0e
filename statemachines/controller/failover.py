"""What a broker does that becomes controller, and when it is controller no longer: each release's steps, in order.

A controller that takes over knows nothing but its epoch. In its failover (onControllerFailover) it listens first, so
that it hears of what changes after it has read; then reads everything; then tells brokers of each other; and only
then elects leaders and goes on with what was left undone. A resignation (onControllerResignation) takes it all down.

The lists are Kafka's own, step by step. A release without a list has that of the release before. Where Kafka only
renamed a method, the step keeps one name. What holds for whole lists is not repeated in them:

    epoch    up to 2.0 the failover begins with it; since 2.1 it is fixed before, when the broker is elected
    watches  up to 1.0 to subscribe is to arm; since 1.1 a handler is only noted, and the read that follows arms the
             watch. (Up to 1.0, ZkClient arms again whenever it reads a path that it listens to. That is not shown:
             the callback for what came before does the same.)
    fence    since 2.1 each write checks the version of /controller_epoch, but for those to /feature  [KAFKA-6082]

A model sees those stages that have a `step`. The others are fused with their neighbours, because they touch nothing
that is modelled. So are UpdateMetadata and LeaderAndIsr, which are only queued here: they go with the request before
them. Where a step takes dead replicas out of the ISR (replicaStateMachine.startup, since 2.3), or resumes
reassignments, deletions and preferred elections, this leaves something out: it writes the states of partitions, too.

A resignation makes no request. A watch stays armed at ZooKeeper; when it fires, no handler is there to be told.

[onControllerFailover, initializeControllerContext, onControllerResignation in KafkaController.scala, and the classes
that they start and stop, 0.10.1 to 3.9]
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from statemachines.controller.agenda import Agenda, ControllerStep
from statemachines.releases import Release, line_of

__all__ = ["FAILOVER", "RESIGNATION", "Stage", "failover", "fused", "steps_of", "resignation"]


class Stage(NamedTuple):
    """One step of a failover or a resignation."""

    name: str
    """The method that Kafka calls, or what it does in its place."""
    effect: str = ""
    """Of the letters ZAWS: reads ZooKeeper, arms a watch there, writes there, sends to brokers; empty if local."""
    step: tuple[ControllerStep, ...] = ()
    """The requests that a model makes of it; none if it is fused with its neighbours."""


# The epoch, until 2.0. [KafkaController.scala, 0.10.1, 2.0]
READ_EPOCH = Stage(
    "readControllerEpoch", "Z", (ControllerStep.ReadEpoch,)
)  # the increment expects the version read here
# fences older controllers, before anything is read
INCREMENT_EPOCH = Stage("incrementControllerEpoch", "W", (ControllerStep.IncrementEpoch,))

# Finalized features. [KafkaController.scala, 2.7]
FEATURES = Stage("maybeSetupFeatureVersioning", "ZW")  # a broker that lacks them will not count as live

# Listeners of the ZkClient: armed here. [KafkaController.scala, PartitionStateMachine.scala, 0.10.1; 1.0]
LISTEN_REASSIGNMENT = Stage("registerPartitionReassignmentListener", "A")  # before the read of reassignments
LISTEN_ISR = Stage("registerIsrChangeNotificationListener", "A")  # an ISR that changes after the read of states
LISTEN_PREFERRED = Stage("registerPreferredReplicaElectionListener", "A")  # before the read of such elections
LISTEN_TOPICS = Stage("registerTopicChangeListener", "A")  # before the read of topics
LISTEN_DELETIONS = Stage("registerTopicDeletionListener", "A")  # before their read; in 0.10.1 if deletion is enabled
LISTEN_BROKERS = Stage(
    "registerBrokerChangeListener", "A", (ControllerStep.WatchBrokers,)
)  # before the read of brokers
LISTEN_LOG_DIRS = Stage("registerLogDirEventNotificationListener", "A")  # disks that fail from now on
# too late: what was added since the read of assignments goes unheard
LISTEN_PARTITIONS = Stage("registerPartitionModificationsListener", "A")

# Handlers: noted, and armed by the read that follows; two have an exists of their own. [KafkaController.scala, 1.1]
HANDLE_BROKERS = Stage("register brokerChangeHandler")  # the read of brokers arms it
HANDLE_TOPICS = Stage("register topicChangeHandler")  # the read of topics arms it
HANDLE_DELETIONS = Stage("register topicDeletionHandler")  # the read of topic deletions arms it
HANDLE_LOG_DIRS = Stage("register logDirEventNotificationHandler")  # the listing of notifications arms it
HANDLE_ISR = Stage("register isrChangeNotificationHandler")  # the listing of notifications arms it
HANDLE_PREFERRED = Stage("register preferredReplicaElectionHandler", "A")  # exists arms it; there may be no node yet
HANDLE_REASSIGNMENT = Stage("register partitionReassignmentHandler", "A")  # exists arms it; there may be no node yet
HANDLE_PARTITIONS = Stage("register partitionModificationsHandlers")  # the read of assignments arms them
# exists arms them; endpoints that changed since the read go unheard
HANDLE_BROKER_DATA = Stage("register brokerModificationsHandlers", "A")

# Notifications of earlier times. [LogDirUtils.scala, 1.0; KafkaZkClient.scala, 1.1]
# answers to LeaderAndIsr will tell of failed disks
DELETE_LOG_DIR_EVENTS = Stage("LogDirUtils.deleteLogDirEvents", "ZW")
DELETE_LOG_DIRS = Stage("deleteLogDirEventNotifications", "ZAW")  # answers to LeaderAndIsr will tell of failed disks
DELETE_ISR = Stage("deleteIsrChangeNotifications", "ZAW")  # the read of states covers them; a later one is a new node

# The context. [initializeControllerContext in KafkaController.scala, 0.10.1, 1.1, 2.2, 2.4, 2.8]
BROKERS_0_10 = Stage("zkUtils.getAllBrokersInCluster", "Z", (ControllerStep.ReadBrokers,))  # who is alive
BROKERS_1_1 = Stage("zkClient.getAllBrokersInCluster", "ZA", (ControllerStep.ReadBrokers,))  # who is alive
# who is alive, and since when [KAFKA-7235]
BROKERS_2_2 = Stage("zkClient.getAllBrokerAndEpochsInCluster", "ZA", (ControllerStep.ReadBrokers,))
TOPICS_0_10 = Stage("zkUtils.getAllTopics", "Z")  # which topics there are
TOPICS_1_1 = Stage("zkClient.getAllTopicsInCluster", "ZA")  # which topics there are
ASSIGNED_0_10 = Stage("zkUtils.getReplicaAssignmentForTopics", "Z")  # their partitions and replicas
ASSIGNED_1_1 = Stage("zkClient.getReplicaAssignmentForTopics", "ZA")  # their partitions and replicas
ASSIGNED_2_4 = Stage("zkClient.getFullReplicaAssignmentForTopics", "ZA")  # and which of these come and go [KIP-455]
ASSIGNED_2_8 = Stage("zkClient.getReplicaAssignmentAndTopicIdForTopics", "ZA")  # and the ids of topics [KIP-516]
TOPIC_IDS = Stage("processTopicIds", "W")  # topics without an id get one
CLEAR = Stage("clear partitionLeadershipInfo and shuttingDownBrokerIds")  # who is shutting down is written nowhere
STATES = Stage(
    "updateLeaderAndIsrCache", "Z", (ControllerStep.ReadStates,)
)  # every leader and ISR, but for what is new
CHANNELS = Stage("controllerChannelManager.startup")  # a thread for each live broker; nothing is sent before
PREFERRED_0_10 = Stage("zkUtils.getPartitionsUndergoingPreferredReplicaElection", "Z")  # elections asked for
PREFERRED_1_1 = Stage("zkClient.getPreferredReplicaElection", "ZA")  # elections asked for
REASSIGNED_0_10 = Stage("zkUtils.getPartitionsBeingReassigned", "ZW")  # what is done already is removed from the node
REASSIGNED_1_1 = Stage("zkClient.getPartitionReassignment", "ZA")  # what is done is removed when the rest is resumed

# Topic deletion. [TopicDeletionManager.scala, 0.10.1, 0.10.2, 0.11]
DELETIONS_0_10 = Stage("zkUtils.getChildren of /admin/delete_topics", "Z")  # which topics are to go
DELETIONS_1_1 = Stage("zkClient.getTopicDeletions", "ZA")  # which topics are to go
NEW_DELETION_MANAGER = Stage("new TopicDeletionManager")  # the state machines will ask it what is to be deleted
# the state machines will ask it; if deletion is disabled, it removes the nodes
INIT_DELETION_MANAGER = Stage("topicDeletionManager.init", "W")
TRY_DELETION = Stage("topicDeletionManager.tryTopicDeletion", "ZWS")  # goes on with what is eligible
DELETE_THREAD = Stage(
    "deleteTopicManager.start", step=(ControllerStep.Started,)
)  # its thread deletes topics; the failover is done

# What brokers are told; up to 2.1 with all partitions. [KAFKA-4443, 0.10.2; KAFKA-7537, 2.2]
# a broker follows no leader that it has not heard of; only queued
METADATA = Stage("sendUpdateMetadataRequest(all)", "S")
# to know the live brokers is enough to follow one; only queued
METADATA_2_2 = Stage("sendUpdateMetadataRequest(none)", "S")

# The state machines. [ReplicaStateMachine.scala, 0.10.1, 2.3; PartitionStateMachine.scala, 0.10.1]
RSM = Stage("replicaStateMachine.startup", "S")  # LeaderAndIsr: replicas on live brokers learn who leads; only queued
# and replicas on dead brokers leave the ISR [KAFKA-3143]
RSM_2_3 = Stage("replicaStateMachine.startup, offline ones too", "ZWS")
# elects where there is no live leader
PSM = Stage(
    "partitionStateMachine.startup", "ZWS", (ControllerStep.ReadPartitionState, ControllerStep.UpdateLeaderAndIsr)
)

# What the controller before left undone. [KafkaController.scala, 0.10.1, 2.1, 2.4]
REASSIGN = Stage("maybeTriggerPartitionReassignment", "ZAWS")  # goes on with what was read
REASSIGN_2_4 = Stage("initializePartitionReassignments", "ZAWS")  # reads the node, then goes by the assignments
PREFER = Stage("onPreferredReplicaElection", "ZWS")  # holds them, and deletes the node in any case
# that deletion is fenced, so a controller that was deposed in its failover learns of it here, at the latest
PREFER_2_1 = PREFER._replace(step=(ControllerStep.DeletePreferredElection,))

# What is done from time to time. [KafkaController.scala, 0.10.1, 0.11, 1.1]
REBALANCE = Stage("autoRebalanceScheduler.startup")  # leaders are rebalanced from 5 s on, if that is enabled
SCHEDULER = Stage("kafkaScheduler.startup")  # leaders are rebalanced from 5 s on, if that is enabled
SCHEDULER_LAST = SCHEDULER._replace(step=(ControllerStep.Started,))
TOKENS = Stage(
    "tokenCleanScheduler.startup", step=(ControllerStep.Started,)
)  # for delegation tokens; the failover is done


# A line is a phase, so that a release can be held against the one above: the epoch, listeners, the context, what is
# pending, deletions, brokers and state machines, what is resumed, schedulers.
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
    # KAFKA-4443: brokers hear of each other before they hear of leaders
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
    # KAFKA-5028: one event thread does everything, also what the deletion thread did
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
    # KIP-112: disks that fail
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
    # KAFKA-5642: another ZooKeeper client, for which to read is to arm
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
    # KAFKA-6082: the epoch was fixed together with /controller
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
    # KIP-455: the assignment itself tells what is being reassigned
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
"""What a broker does that has become controller, by the first release that does it so."""
# fmt: on


# What is taken down. [onControllerResignation in KafkaController.scala, 0.10.1, 0.11, 1.0, 1.1, 2.3]
DROP_ISR = Stage("deregister ISR change notifications")  # they are for the next controller
DROP_REASSIGNMENT = Stage("deregister partition reassignment")  # a new one is for the next controller
DROP_PREFERRED = Stage("deregister preferred replica election")  # a new one is for the next controller
DROP_LOG_DIRS = Stage("deregister log dir event notifications")  # they are for the next controller
DROP_BROKER_DATA = Stage("deregister broker modifications")  # one handler for each broker
# not listened to if leaders use AlterIsr (2.7)
DROP_REASSIGNMENT_ISR = Stage("deregister ISR changes of reassigned partitions")
DROP_TOPICS = Stage("deregister topic changes")  # the partition state machine no longer needs them
DROP_PARTITIONS = Stage("deregister partition modifications")  # one handler for each topic
DROP_DELETIONS = Stage("deregister topic deletion")  # the next controller reads them all
DROP_BROKERS = Stage("deregister broker changes")  # the replica state machine no longer needs them
STOP_DELETE_THREAD = Stage("deleteTopicManager.shutdown")  # waits for its thread: so since 0.10.2 not under the lock
STOP_REBALANCE = Stage("autoRebalanceScheduler.shutdown")  # waits for its thread: so since 0.10.2 not under the lock
RESET_DELETIONS = Stage("topicDeletionManager.reset")  # its topics are in the context since 2.3, and go with that
STOP_SCHEDULER = Stage("kafkaScheduler.shutdown")  # waits for its thread
STOP_TOKENS = Stage("tokenCleanScheduler.shutdown")  # waits for its thread
STOP_PSM = Stage("partitionStateMachine.shutdown")  # forgets its states, but not the requests in its batch
STOP_RSM = Stage("replicaStateMachine.shutdown")  # forgets its states, but not the requests in its batch
STOP_CHANNELS = Stage("controllerChannelManager.shutdown")  # what is queued goes; in 0.10 isActive ends here
# and its version; topics, leaders and brokers stay until the next failover
RESET_EPOCH = Stage("controllerContext.epoch := 0")
AS_BROKER = Stage("brokerState.newState(RunningAsBroker)")  # what its metrics say of the process
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
"""What a broker does that is controller no longer, by the first release that does it so."""
# fmt: on


def failover(release: str) -> tuple[Stage, ...]:
    """The failover of a release.

    >>> [stage.name for stage in failover("2.0") if "W" in stage.effect][:2]
    ['incrementControllerEpoch', 'deleteLogDirEventNotifications']

    Raises:
        ValueError: it is no release.
    """
    return _newest(FAILOVER, release)


def resignation(release: str) -> tuple[Stage, ...]:
    """The resignation of a release.

    Raises:
        ValueError: it is no release.
    """
    return _newest(RESIGNATION, release)


def _newest(lists: Mapping[str, tuple[Stage, ...]], release: str) -> tuple[Stage, ...]:
    line = Release(line_of(release))
    return [stages for since, stages in lists.items() if Release(since) <= line][-1]


def steps_of(stages: Iterable[Stage]) -> Agenda:
    """What a model makes of a list, in order.

    >>> list(steps_of(failover("3.9")))
    [ReadBrokers, ReadStates, ReadPartitionState, UpdateLeaderAndIsr, DeletePreferredElection, Started]
    """
    return Agenda(do for stage in stages for do in stage.step)


def fused(stages: Iterable[Stage]) -> tuple[str, ...]:
    """The names of the steps that a model does not see, in order."""
    return tuple(stage.name for stage in stages if not stage.step)
