"""What the machine gives: memory, signals, the versions of what is installed."""
