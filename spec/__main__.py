"""`python -m spec` is the command, too."""

import os
import sys
from pathlib import Path

HERE = os.getcwd()
if sys.path[0] == HERE != str(Path(__file__).parents[1]):
    del sys.path[0]  # where `-m` puts the working directory, in which a `numpy.py` may lie that is not meant

from spec.cli.main import main  # noqa: E402 - after that

main()
