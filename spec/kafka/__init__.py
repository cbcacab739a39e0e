"""Compare Kafka's own classes with the specification, one ZooKeeper request at a time.

Real KafkaControllers of a release, in a JVM that we start, follow paths of the system `controller`. After each step
their observable state is compared with the specification's. An anomaly's counterexample can also be replayed on whole
brokers, with a proxy between them and ZooKeeper. Needs a JDK. Kafka's jars are downloaded into the user's cache on
first use.
"""
