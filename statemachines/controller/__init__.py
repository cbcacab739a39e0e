"""The controller of a broker. `KafkaController` is all of it, from startup to shutdown; it has two parts.

How a broker becomes controller, and ceases to be it:

registration      opens a session, registers, receives events: one request to ZooKeeper a step
election          is elected, resigns, moves the controller
design            the order of the requests, and how releases differ in it; threads, the requests, and the three
                  generations of event delivery
controller_process
                  a broker's pending requests, its session and its controller state
one_partition     the same with the work of one partition, for the systems that explore elections

What a controller does:

event_processor   processes events, each by its handler; event_driver makes the remaining calls of an event
broker_changes    brokers that start, die, restart or lose a disk
topic_changes     new topics and partitions; topic_deletion_manager, deleted topics
partition_reassignment, zk_reassignment (until 2.3)
                  reassignments of partitions
replica_leader_election, controlled_shutdown
                  preferred leaders, and brokers that ask for permission to stop
isr_changes       ISRs that leaders change; alter_partition, what they ask for
failover          its failover and resignation; failover_stages, their steps in each release
context           its knowledge of the cluster
partition_state_machine, replica_state_machine
                  changes of states, with their writes and requests; state_change, their results
request_batch     collects requests to brokers; channel_manager delivers them, control_responses handles responses
zk_client         requests of handlers to ZooKeeper, in batches of zk_requests
control_design    how releases differ in all this
"""
