"""`python -m spec.cli` is the command, too."""

from spec import hash_seed
from spec.cli import main

hash_seed.pin()
main()
