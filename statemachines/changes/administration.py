"""What administrators can do, and what tools and brokers refuse."""

from statemachines.changes.change import TOOLS, Line, Releases, since, until


class AdminDesign(Releases):
    """What administrators can do in a release.

    >>> AdminDesign("0.10.2").unclean_by_default, AdminDesign("0.11").unclean_by_default
    (True, False)
    """

    number_from_zero = since(
        "2.3.0",
        "A topic is refused if its partitions are not numbered from 0 on without gaps",
        "KAFKA-7864",
        compared=TOOLS,
        by_source=(
            Line("2.2.2", "AdminZkClient.scala", "validateTopicCreate", 101),
            Line("2.3.0", "AdminZkClient.scala", "validateTopicCreate", 132),
        ),
    )
    refuse_marked_topic = since(
        "3.1.0",
        "A topic is not created while the node that requests its deletion is still there",
        "KAFKA-6098",
        "KAFKA-13175",
        compared=TOOLS,
        by_source=(
            Line("3.0.2", "AdminZkClient.scala", "validateTopicCreate", 125),
            Line("3.1.0", "AdminZkClient.scala", "validateTopicCreate", 129),
        ),
    )
    refuse_cached_topic = since(
        "2.3.1",
        "A topic is not created while the controller's broker still knows one of this name from UpdateMetadata",
        "KAFKA-8875",
        by_source=(
            Line("2.3.0", "AdminManager.scala", "createTopics", 78),
            Line("2.3.1", "AdminManager.scala", "createTopics", 87),
        ),
    )
    add_by_request = since(
        "1.0.0",
        "A broker adds partitions, on request, and refuses to while the topic is queued for deletion or partitions "
        "are reassigned; before, a tool writes the topic's node",
        "KIP-195",
        compared=TOOLS,
        by_source=(
            Line("0.11.0.3", "AdminUtils.scala", "addPartitions", 276),
            Line("1.0.0", "AdminManager.scala", "createPartitions", 200),
        ),
    )
    add_to_unequal = since(
        "2.2.0",
        "Partitions are added to a topic even if its partitions have unequal numbers of replicas",
        compared=TOOLS,
        by_source=(
            Line("2.1.1", "AdminZkClient.scala", "addPartitions", 229),
            Line("2.2.0", "AdminZkClient.scala", "addPartitions", 210),
        ),
    )
    delete_topic_enable = since(
        "1.0.0",
        "Topics can be deleted unless the configuration forbids it [delete.topic.enable]",
        "KIP-162",
        "KAFKA-5384",
        by_source=(
            Line("0.11.0.3", "KafkaConfig.scala", "DeleteTopicEnable", 182),
            Line("1.0.0", "KafkaConfig.scala", "DeleteTopicEnable", 185),
        ),
    )
    refuse_disabled_deletion = since(
        "2.1.0",
        "A request to delete a topic is refused if topics cannot be deleted; before, its node is written all the "
        "same",
        by_source=(
            Line("2.0.1", "KafkaApis.scala", "handleDeleteTopicsRequest", 1518),
            Line("2.1.0", "KafkaApis.scala", "handleDeleteTopicsRequest", 1470),
        ),
    )
    refuse_uncached_deletion = since(
        "3.0.0",
        "A topic is not deleted while the controller's broker does not know it from UpdateMetadata; before, the "
        "tool can write its node in ZooKeeper",
        "KAFKA-12596",
        by_source=(
            Line("2.8.2", "TopicCommand.scala", "deleteTopic", 498),
            Line("3.0.0", "KafkaApis.scala", "handleDeleteTopicsRequest", 2025),
        ),
    )
    check_targets = since(
        "0.11.0.0",
        "The tool for reassignments refuses brokers that are not registered, and empty lists",
        "KAFKA-5161",
        "KAFKA-5091",
        compared=TOOLS,
        by_source=(
            Line("0.10.2.2", "ReassignPartitionsCommand.scala", "parseAndValidate", 179),
            Line("0.11.0.0", "ReassignPartitionsCommand.scala", "parseAndValidate", 184),
        ),
    )
    elect_by_request = since(
        "2.2.0",
        "The controller is asked to elect preferred leaders; before, by a node, which outlives the controller",
        "KIP-183",
        "KAFKA-5692",
        compared=TOOLS,
        by_source=(
            Line("2.1.1", "PreferredReplicaLeaderElectionCommand.scala", "writePreferredReplicaElectionData", 100),
            Line("2.2.0", "KafkaApis.scala", "handleElectPreferredReplicaLeader", 2240),
        ),
    )
    unclean_on_request = since(
        "2.4.0",
        "An administrator can request unclean elections",
        "KIP-460",
        "KAFKA-8286",
        by_source=(
            Line("2.3.1", "KafkaApis.scala", "handleElectPreferredReplicaLeader", 2438),
            Line("2.4.0", "KafkaApis.scala", "handleElectReplicaLeader", 2615),
        ),
    )
    unclean_by_default = until(
        "0.11.0.0",
        "Unclean elections are permitted unless the configuration forbids them [unclean.leader.election.enable]",
        "KIP-106",
        by_source=(
            Line("0.10.2.2", "KafkaConfig.scala", "UncleanLeaderElectionEnable", 132),
            Line("0.11.0.0", "KafkaConfig.scala", "UncleanLeaderElectionEnable", 134),
        ),
    )
    dynamic_unclean = since(
        "1.1.0",
        "The default for unclean elections can change while brokers run, and counts from the next election of a "
        "leader; before, a broker reads it when it starts",
        "KIP-226",
        by_source=(
            Line("1.0.2", "PartitionLeaderSelector.scala", "selectLeader", 65),
            Line("1.1.0", "DynamicBrokerConfig.scala", "updateCurrentConfig", 398),
        ),
    )
    unclean_at_once = since(
        "2.0.0",
        "A controller elects leaders at once when unclean elections become the default",
        "KAFKA-6526",
        by_source=(
            Line("1.1.1", "DynamicBrokerConfig.scala", "reconfigure", 513),
            Line("2.0.0", "DynamicBrokerConfig.scala", "reconfigure", 524),
        ),
    )
    unclean_at_once_of_topic = since(
        "2.1.0",
        "A controller elects leaders at once when unclean elections are permitted for a topic",
        "KAFKA-6835",
        by_source=(
            Line("2.0.1", "ConfigHandler.scala", "processConfigChanges", 50),
            Line("2.1.0", "ConfigHandler.scala", "processConfigChanges", 81),
        ),
    )
