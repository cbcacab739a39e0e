"""The command `kafkaspec`: `main` starts the process; `command` collects the commands."""
