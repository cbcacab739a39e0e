"""A missing library is reported in one line, which names the extra that installs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spec.language.extras import EXTRAS
from tests.tiers import long_unless

COMMAND = """
import sys
sys.modules[{library!r}] = None
from spec.cli.main import main
main()
"""


@pytest.mark.parametrize(
    ("library", "words"),
    long_unless(
        lambda case: case[0] in {"kazoo", "pyspark"},
        [
            ("kazoo", "what-if zookeeper://localhost:1 --crash 1"),
            ("pyarrow", "check tests.spec.toys:Jugs --engine local --run-dir run"),
            ("pyarrow", "check tests.spec.toys:Jugs --engine spark"),
            ("pygraphviz", "diagram partition --format svg"),
            ("pyspark", "check tests.spec.toys:Jugs --engine spark"),
        ],
    ),
)
def test_a_command_that_lacks_a_library_names_its_extra(library: str, words: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COMMAND.format(library=library), *words.split()],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"Error: {library} is not installed: pip install '.[{EXTRAS[library]}]' in the checkout brings it\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_missing_hypothesis_is_reported() -> None:
    program = "import sys; sys.modules['hypothesis'] = None; import spec.testing"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.endswith(
        "UsageError: hypothesis is not installed: pip install '.[test]' in the checkout brings it\n"
    )
