"""The controller of a broker. `KafkaController` is all of it, from its start to its end; it is made of two parts.

How a broker comes to be controller, and ceases to be it:

registration      opens a session, registers, hears of events: a request to ZooKeeper a step, as an `agenda` has them
election          is elected, resigns, moves the controller
design            the agendas, and what releases did otherwise in this; threads, who hears what, in three generations
controller_process
                  what a broker is about to do, and what it knows of its session and its office
one_partition     the same with the work of one partition, for the systems that ask who may be controller

What a controller does:

event_processor   processes events, each by its handler; the event_driver makes the calls that are left of one
broker_changes    brokers that come, go, come again or lose a disk
topic_changes     topics and partitions that are created; topic_deletion_manager, topics that go
partition_reassignment, zk_reassignment (until 2.3), reassignment_steps
                  partitions that move
replica_leader_election, controlled_shutdown
                  preferred leaders, and brokers that ask to be let go
isr_alterations, isr_change_notifications (until 2.6)
                  what leaders say of their ISRs
failover          what it begins and ends with, release by release; failover_calls, what each step of that is
context           what it knows of the cluster
partition_state_machine, replica_state_machine
                  how they change their states: what that writes and sends; state_change, what comes of it
request_batch     collects requests to brokers; channel_manager brings them there, control_responses come back
zk_client         what handlers ask of ZooKeeper, by the requests of kafka_zk_client
control_design    what a release had of the changes in all this
"""
