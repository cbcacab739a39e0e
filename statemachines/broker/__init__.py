"""A broker: it obeys controllers, changes the ISRs of partitions that it leads, and shuts down. `log` has its log."""
