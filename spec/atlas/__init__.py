"""The atlas: Kafka's anomalies, pinned instances of systems, and the lookup of a system by its name."""
