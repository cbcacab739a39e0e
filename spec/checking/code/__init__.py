"""The code of a specification: its modules, what they may run, and what they must not depend on."""
