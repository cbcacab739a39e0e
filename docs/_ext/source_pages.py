"""Links to files that are no pages: a source has a page that shows it, a picture is copied, a folder is listed.

So a link leads to the same on the site as where the repository is browsed, and its page has the same path.
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
    """Lead the links of a page that has been read to the pages of files."""
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
    """Whether MyST would offer it to be saved, or knows no page of that name, as of a folder."""
    if isinstance(node, addnodes.pending_xref):
        return bool(node["reftype"] == "myst" and not node.get("refdomain"))
    return isinstance(node, addnodes.download_reference)


def _address(app: Sphinx, path: str) -> str:
    if path.endswith(".svg"):
        return path
    has_page = Path(app.srcdir, path, "README.md").exists()
    return app.builder.get_target_uri(f"{path}/README" if has_page else path)


def _linked(env: BuildEnvironment) -> dict[str, set[str]]:
    """The files to which each page links."""
    linked: dict[str, set[str]] = vars(env).setdefault("linked_files", {})
    return linked


def forget(app: Sphinx, env: BuildEnvironment, page: str) -> None:
    """Forget the links of a page that will be read again."""
    _linked(env).pop(page, None)


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Make the pages of all files to which a page links."""
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
    builder: Any = app.builder  # only that of HTML makes pages
    language = "python" if file.suffix == ".py" else "text"
    return str(builder.highlighter.highlight_block(file.read_text(encoding="utf-8"), language))


def setup(app: Sphinx) -> None:
    """Connect all of it."""
    app.connect("doctree-read", resolve)
    app.connect("env-purge-doc", forget)
    app.connect("html-collect-pages", pages)
