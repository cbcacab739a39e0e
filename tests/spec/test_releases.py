"""What a system knows of releases is asked for by name."""

import doctest

import pytest

from spec import releases
from spec.language.errors import UsageError
from spec.releases import release_named


def test_a_system_may_know_others() -> None:
    """Its own names are taken as they are, and what it lacks is not there for it."""
    own: dict[str, object] = {"2.0": {}, "draft": {}}
    assert release_named("draft", own) == "draft"
    assert release_named("2.0.0", own) == "2.0"
    with pytest.raises(UsageError, match=r"^no release is called 2\.1; there are 2\.0, draft$"):
        release_named("2.1", own)
    with pytest.raises(UsageError, match=r"^no release is called 2\.1; there are none$"):
        release_named("2.1", {})


def test_examples_run() -> None:
    """The examples in the docstrings show what happens."""
    assert doctest.testmod(releases).failed == 0
