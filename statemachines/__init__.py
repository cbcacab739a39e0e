"""Kafka's state machines and what they talk to, as pure parts: import them, run them, draw them, check them.

partition                the four states of a partition, and the table of its transitions
replica                  the seven states of a replica, and the table of its transitions
table                    what a transition table is, and a machine that keeps to it
releases                 Kafka's releases, in order
zookeeper                ZooKeeper in memory, over dicts or over a specification's variables
znode                    its tree, and the operations of a transaction
controller               the controller's life on a broker, request by request
controller_context       what an active controller knows of the cluster
partition_state_machine  how partitions change their states: what that writes and sends
replica_state_machine    how replicas do
state_change             what comes of it, and how it is driven
controller_calls         what is left of an event, as a value, and the driver; controller_event_processor, all events
broker_changes           brokers that come, go, come again or lose a disk; topic_changes and topic_deletion_manager,
                         topics; controlled_shutdown, brokers that ask to be let go
partition_reassignment   partitions that move, zk_reassignment until 2.3; replica_leader_election, preferred leaders
controller_failover      what a controller begins with; isr_change_notifications, what it hears of leaders until 2.6
changes                  what releases did otherwise, one record each, and on what that rests; control_design,
                         what a release had of it
control_requests         the three requests to brokers, and controller_broker_request_batch, which collects them
control_responses        what brokers answer; and controller_channel_manager, by which requests get there
kafka_apis               a broker that gets them: for whom is this?
replica_manager          how it obeys, and hosted_partition, what it then knows of a partition
metadata_cache           what it knows of the cluster
kafka_server             how it stops: it asks the controller to be let go, again and again, though not for ever
alter_partition          how the controller changes an ISR for its leader, who asks by alter_partition_manager;
                         until 2.6 leaders did it themselves, zk_alter_partition_manager
errors                   why not, by Kafka's codes
replica_log              a replica's log: records with leader epochs, and the high watermark
leader_epochs            its leader-epoch cache: at which offset each epoch began
leader_epoch_checkpoint  the file that keeps the cache, as brokers read and write it
truncation               how much of its log a follower gives up, by the rule of each release
in_sync_replicas         a leader's high watermark, which replica may join its ISR and which must leave
diagrams                 pictures of the tables

from statemachines.partition import PARTITION, PartitionState
from statemachines.zookeeper import ZooKeeper
"""
