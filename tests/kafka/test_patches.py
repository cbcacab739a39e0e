"""A patch of Kafka's source applies exactly, or one line says why not."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from spec.kafka.patches import PATCHED_RELEASE, SCALA, applied, class_path_with, patches
from spec.language.errors import UsageError
from tests.tutorial import ROOT

DIFF = f"""--- a/{SCALA}/kafka/A.scala
+++ b/{SCALA}/kafka/A.scala
@@ -1,2 +1,2 @@
 object A {{
-}}
+  val b = 1 }}
"""


@pytest.fixture
def patch(tmp_path: Path) -> Path:
    diff = tmp_path / "K0.diff"
    diff.write_text(DIFF)
    return diff


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Kafka's sources, as their jar has them."""
    place = tmp_path / "kafka-9.9-sources.jar"
    with zipfile.ZipFile(place, "w") as jar:
        jar.writestr("kafka/A.scala", "object A {\n}\n")
        jar.writestr("kafka/B.scala", "object B\n")
    return place


def test_a_change_that_applies(patch: Path, sources: Path, tmp_path: Path) -> None:
    """Only the file that it is about is taken out of the jar."""
    [changed] = applied(patch, sources, tmp_path / "into")
    assert changed.read_text() == "object A {\n  val b = 1 }\n"
    assert [each.name for each in changed.parent.iterdir()] == ["A.scala"]


def test_a_change_that_does_not_apply(patch: Path, sources: Path, tmp_path: Path) -> None:
    """Not even nearly: another line in its place is another source."""
    patch.write_text(DIFF.replace("object A", "class A"))
    with pytest.raises(UsageError, match=r"^K0\.diff does not apply to kafka-9\.9-sources\.jar: .*FAILED at 1"):
        applied(patch, sources, tmp_path / "into")


def test_a_machine_without_patch(patch: Path, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is said."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="needs the program `patch`, and the PATH has none"):
        applied(patch, sources, tmp_path / "into")


@pytest.mark.parametrize(("patch", "release"), [("K0", PATCHED_RELEASE), ("K1", "2.8.2")])
def test_a_missing_patch_is_refused(patch: str, release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are, are named."""
    monkeypatch.setattr("spec.kafka.patches.class_path", lambda release: [])
    with pytest.raises(UsageError, match=rf"^Kafka {release} has no patch {patch}; {PATCHED_RELEASE} has K1"):
        class_path_with(patch, release)
    assert "K1" in patches()


def test_each_open_finding_has_a_page_and_a_patch() -> None:
    """Those that the table of findings calls open; the page links the patch."""
    table = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    pages = dict(re.findall(r"^\| \[(K\d+)\]\((findings/k\d+\.md)\), open", table, re.MULTILINE))
    assert sorted(pages) == sorted(patches())
    for name, page in pages.items():
        assert f"(../../spec/kafka/patches/{name}.diff)" in (ROOT / "docs" / page).read_text(encoding="utf-8")
