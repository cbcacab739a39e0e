"""Transition tables: what one is, and those of partitions and replicas."""
