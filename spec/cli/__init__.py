"""The command `kafkaspec`: `main` begins the process, `command` has all commands, each in its own file."""
