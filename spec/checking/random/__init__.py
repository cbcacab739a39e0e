"""Random runs: chance, the walks that it decides, how they are shrunk, and how many states they saw."""
