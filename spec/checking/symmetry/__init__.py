"""Symmetry reduction: groups of renamings, one state for each orbit, and the comparison that permits it."""
