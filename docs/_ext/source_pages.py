"""Links to files that are not pages: a source file is shown on a page, a picture is copied, a folder is listed.

So a link works on the site as it does in the repository, and its page has the same path.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.osutil import relative_uri


def resolve(app: Sphinx, document: nodes.document) -> None:
    """Point a page's links to files at the pages of these files."""
    page = app.env.docname
    for node in list(document.findall(_may_be_a_file)):
        target = Path(app.srcdir, page).parent.joinpath(node["reftarget"]).resolve()
        if target.exists():
            path = target.relative_to(app.srcdir).as_posix()
            here, there = (app.builder.get_target_uri(page), _address(app, path))
            node.replace_self(nodes.reference("", "", *node.children, refuri=relative_uri(here, there)))
            _linked(app.env).setdefault(page, set()).update([path, *_pictures_in(target, path)])


def _pictures_in(folder: Path, path: str) -> list[str]:
    return [f"{path}/{file.name}" for file in folder.glob("*.svg")]


def _may_be_a_file(node: nodes.Node) -> bool:
    """Return whether MyST treats the link as a download, or finds no page for it, as for a folder."""
    if isinstance(node, addnodes.pending_xref):
        return bool(node["reftype"] == "myst" and not node.get("refdomain"))
    return isinstance(node, addnodes.download_reference)


def _address(app: Sphinx, path: str) -> str:
    if path.endswith(".svg"):
        return path
    has_page = Path(app.srcdir, path, "README.md").exists()
    return app.builder.get_target_uri(f"{path}/README" if has_page else path)


def _linked(env: BuildEnvironment) -> dict[str, set[str]]:
    """Return the files to which each page links."""
    linked: dict[str, set[str]] = vars(env).setdefault("linked_files", {})
    return linked


def forget(app: Sphinx, env: BuildEnvironment, page: str) -> None:
    """Forget the links of a page that Sphinx will read again."""
    _linked(env).pop(page, None)


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for each linked source file and folder; copy linked pictures."""
    for path in sorted(set().union(*_linked(app.env).values())):
        file = Path(app.srcdir, path)
        if file.suffix == ".svg":
            copy = Path(app.outdir, path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
        elif not (file / "README.md").exists():
            body = _listing(file) if file.is_dir() else _highlighted(app, file)
            yield path, {"title": path, "body": f"<h1>{escape(path)}</h1>{body}"}, "page.html"


def _listing(folder: Path) -> str:
    names = [escape(file.name) for file in sorted(folder.iterdir())]
    links = [f'<a href="{folder.name}/{name}">{name}</a>' if name.endswith(".svg") else name for name in names]
    return f"<ul>{''.join(f'<li>{each}</li>' for each in links)}</ul>"


def _highlighted(app: Sphinx, file: Path) -> str:
    builder: Any = app.builder  # always the HTML builder, since no other collects pages
    language = "python" if file.suffix == ".py" else "text"
    return str(builder.highlighter.highlight_block(file.read_text(encoding="utf-8"), language))


def setup(app: Sphinx) -> None:
    """Register the handlers with Sphinx."""
    app.connect("doctree-read", resolve)
    app.connect("env-purge-doc", forget)
    app.connect("html-collect-pages", pages)
