"""The command `kafkaspec`: `main` starts the process; `command` collects the commands, each in a file of its own."""
