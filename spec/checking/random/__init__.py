"""Random runs: chance, the walks that it chooses, how they are shrunk, and how many states they saw."""
