"""What workers and parts of the tests are told by path is there: a file that moves would silently go elsewhere."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

from tests import sharing

ROOT = Path(__file__).parents[1]


def test_paths_are_there() -> None:
    """Of servers, of what comes first, and of what goes one by one."""
    named = [*sharing.LONGEST, *sharing.ONE_BY_ONE, *(file for files in sharing.TOGETHER.values() for file in files)]
    missing = []
    for name in named:
        path, _, test = name.partition("::")
        if not (ROOT / path).exists() or (test and f"def {test}(" not in (ROOT / path).read_text()):
            missing.append(name)
    assert missing == []


def test_a_scope_is_a_server_a_file_or_a_test() -> None:
    """As the examples show."""
    tried = doctest.testmod(sharing)
    assert (tried.attempted > 0, tried.failed) == (True, 0)
    apart = f"{sharing.ONE_BY_ONE[0]}::test_it[an instance]"
    assert sharing.scope(apart) == apart
    assert sharing.turn(apart) < sharing.turn("tests/test_readme.py::test_it")


def test_the_tiers_name_files_that_are_there() -> None:
    """`make quick` and the parts of `make long` would otherwise fail, or have nothing to do."""
    makefile = (ROOT / "Makefile").read_text()
    quick = makefile.partition("QUICK :=")[2].partition("PARTS :=")[0]
    prefixed = re.findall(r"\$\(addprefix ([\w/]+),([^)]*)\)", quick)
    named = [*re.findall(r"tests/[\w/.*]*\*[\w.]*|tests/[\w/]+(?:\.py)?(?=[\s)])", makefile)]
    named += [prefix + name for prefix, names in prefixed for name in names.split()]
    assert len(named) > 20
    assert [path for path in named if not any(ROOT.glob(path.removesuffix("/")))] == []
