"""Kafka's nodes in ZooKeeper as Kafka writes them: bytes, most of them JSON, whose form differs between releases.

In three modules, from below:

fields      JSON as Kafka's decoders read it
values      what nodes hold, as values, and their JSON in each release
codec       the table of Kafka's paths; `encode` and `decode`
"""
