"""Runs that are kept: the run directory, its checkpoints, and what was found so far."""
