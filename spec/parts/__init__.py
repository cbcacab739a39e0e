"""The parts that systems are made of, one file each: variables and rules, which a system holds under a name."""
