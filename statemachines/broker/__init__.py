"""A broker: it obeys controllers, changes the ISRs that it leads, and shuts down. Its log is in `log`."""
