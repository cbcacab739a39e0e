"""The machine: its memory, signals, and the versions of installed packages."""
