"""`python -m spec.cli` is the command, too."""

from spec.cli import main

main()
