"""The type of transition tables, and the tables of partitions and replicas."""
