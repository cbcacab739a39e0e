"""The atlas: Kafka's anomalies, the pinned instances of systems, and how a system is found by its name."""
