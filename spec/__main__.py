"""`python -m spec` runs the command `kafkaspec`."""

import os
import sys
from pathlib import Path

HERE = os.getcwd()
if sys.path[0] == HERE != str(Path(__file__).parents[1]):
    del sys.path[0]  # `-m` puts the working directory here, and a stray `numpy.py` in it would be imported

from spec.cli.main import main  # noqa: E402 - after that

main()
