"""Kafka's nodes in ZooKeeper as Kafka writes them: bytes, mostly JSON, whose form differs between releases.

Three modules, from the bottom up:

fields      JSON as Kafka's decoders read it
values      the values of nodes, and their JSON in each release
codec       the table of Kafka's paths; `encode` and `decode`
"""
