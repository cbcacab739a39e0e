"""Kafka's own classes beside the specification: the same steps, one ZooKeeper request at a time, compared after each.

A path of the system `controller` is told to real KafkaControllers of a release, in a Java of our own; what is then to
be seen of them is compared with what the specification says. And an anomaly's counterexample is replayed on whole
brokers, with a proxy before ZooKeeper. Needs a Java with its compiler; Kafka's jars come into the user's cache when
they are first needed.
"""
