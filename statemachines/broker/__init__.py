"""A broker: how it obeys controllers, keeps its ISRs and stops; its log is in `log`."""
