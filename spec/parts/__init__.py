"""The parts of systems, one file each: variables and rules, which a system holds under a name."""
