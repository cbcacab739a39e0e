"""Runs that are kept: the run directory, its checkpoints, and the discoveries so far."""
