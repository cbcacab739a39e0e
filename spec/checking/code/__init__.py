"""The code of a specification: its modules, the code they may run, and what they must not depend on."""
