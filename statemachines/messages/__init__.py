"""Records that controllers and brokers exchange, and Kafka's error codes."""
