"""The documentation site: its links work, and it builds without a warning."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs._ext.reference_pages import PACKAGES
from spec.atlas.anomalies import anomalies
from spec.cli.command import kafkaspec
from spec.systems import SYSTEMS

ROOT = Path(__file__).parents[1]


def build(source: Path, site: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Build a site in a separate process, with warnings as errors."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", *options, str(source), str(site)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


PAGES = {
    "index.md": "# Begin\n\n[rule](rules/one.py) [drawn](one.svg) [all](rules) [notes](notes)\n",
    "notes/README.md": "# Notes\n",
    "one.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>",
    "rules/one.py": "SAID = 1\n",
    "rules/two.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>",
}


@pytest.mark.long
def test_links_have_the_same_targets_as_in_the_repository(tmp_path: Path) -> None:
    """A source has a page, a picture is copied, a folder is listed or has a page. A missing target is an error."""
    for name, text in PAGES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    settings = "-C -D extensions=myst_parser,docs._ext.source_pages -D html_theme=basic -D suppress_warnings=toc"
    done = build(tmp_path, tmp_path / "site", *settings.split())
    assert done.returncode == 0, done.stderr
    links = re.findall(r'<a class="reference[^"]*" href="([^#"]+)">', (tmp_path / "site" / "index.html").read_text())
    for link, shown in {
        "rules/one.py.html": "SAID",
        "one.svg": "<svg",
        "rules.html": 'href="rules/two.svg"',
        "notes/README.html": "Notes",
    }.items():
        assert link in links
        assert shown in (tmp_path / "site" / link).read_text()
    assert (tmp_path / "site" / "rules" / "two.svg").exists()
    (tmp_path / "index.md").write_text("# Begin\n\n[rule](rules/none.py)\n")
    assert "rules/none.py" in build(tmp_path, tmp_path / "site", *settings.split()).stderr


@pytest.mark.long
def test_the_site_has_everything(tmp_path: Path) -> None:
    """It builds without a warning, and has an entry for each public word, command, system and anomaly."""
    done = build(ROOT, tmp_path, "-c", "docs")
    assert done.returncode == 0, done.stderr
    reference = tmp_path / "docs" / "reference"
    pages = {
        page.relative_to(reference).as_posix(): page.read_text(encoding="utf-8") for page in reference.rglob("*.html")
    }
    for package in PACKAGES:
        entries = set(re.findall(r'id="([\w.]+)"', pages[f"api/{package}.html"]))
        assert {f"{package}.{word}" for word in importlib.import_module(package).__all__} <= entries
    assert [name for name in kafkaspec.commands if f'id="kafkaspec-{name}"' not in pages["commands.html"]] == []
    assert {f"systems/{name}.html" for name in SYSTEMS} <= set(pages)
    for row in anomalies():
        assert f"{row.property} breaks here" in pages[f"anomalies/{row.id}.html"]
        assert (reference / "anomalies" / f"{row.id}.svg").exists()
