"""Java files: which of them a release has; none is duplicated, and no line is too long."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from spec.kafka.harness import FAMILIES
from spec.kafka.jars import releases
from spec.kafka.java import SOURCES, sources_for
from spec.kafka.state_machines_beside import RELEASES
from tests.kafka.receiver_comparison import OLDER, RELEASE

LONGEST_LINE = 118
"""The line length of Python files here."""
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def written(*paths: Path) -> None:
    """Write files, each with its folder."""
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def test_the_newest_folder_that_is_not_newer(tmp_path: Path) -> None:
    """File by file: a file without a later version stays; releases are ordered by number."""
    oldest, changed, beside, newest = (
        tmp_path / "from-0.10.2" / "A.java",
        tmp_path / "from-2.1" / "A.java",
        tmp_path / "from-0.11" / "in" / "B.java",
        tmp_path / "from-3.9" / "A.java",
    )
    written(oldest, changed, beside, newest)
    assert sources_for("0.10.1", tmp_path) == []
    assert sources_for("0.10.2.1", tmp_path) == [oldest]
    assert sources_for("2.0.1", tmp_path) == [oldest, beside]
    assert sources_for("2.1.1", tmp_path) == [beside, changed]
    assert sources_for("3.8", tmp_path) == [beside, changed]
    assert sources_for("3.9.1", tmp_path) == [beside, newest]


def test_common_files_belong_to_every_release(tmp_path: Path) -> None:
    """A release's own file of the same name replaces it."""
    common, family = tmp_path / "common", tmp_path / "family"
    of_all, replaced, own = common / "A.java", common / "in" / "B.java", family / "from-1.0" / "in" / "B.java"
    written(of_all, replaced, own)
    assert sources_for("1.0.2", family, common) == [of_all, own]
    assert sources_for("0.11", family, common) == [of_all, replaced]


def test_only_java_in_such_folders(tmp_path: Path) -> None:
    """Other files and other folders are not compiled."""
    source = tmp_path / "from-2.1" / "A.java"
    written(source, tmp_path / "from-2.1" / "A.class", tmp_path / "common" / "B.java", tmp_path / "C.java")
    assert sources_for("2.1", tmp_path) == [source]


def test_each_file_is_meant_for_a_release() -> None:
    """A release that runs, or whose functions are called; no file is hidden by newer ones in all releases."""
    of_whole_controllers = {"since-2.4": (*FAMILIES["since-2.4"], "2.4.1")}
    compiled = {
        **FAMILIES,
        **of_whole_controllers,
        "pure": releases(),
        "control": RELEASES,
        "receiver": (RELEASE, *OLDER),
    }
    for folder, meant in compiled.items():
        files = {source for release in meant for source in sources_for(release, SOURCES / folder)}
        assert files == set((SOURCES / folder).rglob("*.java"))
    others = {source.relative_to(SOURCES).parts[0] for source in SOURCES.rglob("*.java")} - compiled.keys()
    assert others == {"common", "replay", "administrator"}, "folders for all releases"


def test_no_file_is_written_twice() -> None:
    """No two files are equal apart from comments: a release without differences has the older file."""
    equal = defaultdict(list)
    for source in sorted(SOURCES.rglob("*.java")):
        equal[COMMENT.sub("", source.read_text(encoding="utf-8"))].append(str(source.relative_to(SOURCES)))
    assert [paths for paths in equal.values() if len(paths) > 1] == []


def test_no_line_is_too_long() -> None:
    """Java and Groovy have no formatter here."""
    too_long = [
        f"{source.relative_to(SOURCES.parent)}:{number} has {len(line)} characters"
        for source in sorted([*SOURCES.rglob("*.java"), *SOURCES.parent.rglob("*.groovy")])
        for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > LONGEST_LINE
    ]
    assert too_long == []
