"""The environment selects the Hypothesis profile of the tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiers import long_unless


@pytest.mark.parametrize(
    ("environment", "profile"),
    long_unless(
        lambda case: len(case[0]) != 1,
        [
            ({}, "dev"),
            ({"CI": "true"}, "ci"),
            ({"CI": "false"}, "dev"),
            ({"HYPOTHESIS_PROFILE": "nightly"}, "nightly"),
            ({"HYPOTHESIS_PROFILE": "nightly", "CI": "true"}, "nightly"),
        ],
    ),
)
def test_the_environment_chooses_the_profile(environment: dict[str, str], profile: str) -> None:
    """A name takes precedence over CI, and CI over the default."""
    program = "import tests.conftest, hypothesis; print(hypothesis.settings.get_current_profile_name())"
    around = {name: value for name, value in os.environ.items() if name not in {"CI", "HYPOTHESIS_PROFILE"}}
    printed = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
        env={**around, **environment},
    )
    assert printed.stdout.strip() == profile
