"""Reference pages generated from the product's own data: systems, anomalies and the API.

They are Markdown, written into `docs/reference/` before Sphinx lists its pages. Each anomaly is explored without its
fix. A result that differs from the record is a warning, and a warning fails the build.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from inspect import isclass, isroutine
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util import logging
from sphinx.util.display import status_iterator

from spec.atlas.anomalies import Anomaly, anomalies
from spec.atlas.catalogue import by_valuation, described
from spec.atlas.loading import specification, system_named
from spec.checking.values.text import show
from spec.reports.content import has_lanes
from spec.reports.markdown import plain
from spec.reports.sequence_diagram import svg
from spec.systems import SYSTEMS
from statemachines.changes.change import KafkaChange

PACKAGES: Final = ("election", "spec.language", "spec.checking", "spec.testing", "spec.reports", "spec.scenarios")
"""Packages whose public names are imported from the package itself."""
MODULE_BY_MODULE: Final = ("statemachines", "spec.what_if")
"""Packages whose public names are imported from their modules."""

_log = logging.getLogger(__name__)


def modules() -> Iterator[str]:
    """Yield the names of all modules that have a page."""
    yield from PACKAGES
    for package in MODULE_BY_MODULE:
        yield package
        for each in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            yield each.name


def public(module: ModuleType) -> list[str]:
    """Return the names that a door lists or, of another module, those that it defines and explains."""
    if hasattr(module, "__all__"):
        return [*module.__all__]
    explained = {word for (parent, word) in ModuleAnalyzer.for_module(module.__name__).find_attr_docs() if not parent}
    return [
        word
        for word, it in vars(module).items()
        if not word.startswith("_")
        and (
            word in explained
            or isinstance(it, KafkaChange)
            or (getattr(it, "__module__", "") == module.__name__ and it.__doc__)
        )
    ]


def constants(module: ModuleType) -> list[str]:
    """Return a module's public names that are neither classes nor functions; autodoc omits some of these.

    A change, which is a descriptor, would pass for a function.
    """
    words = {word: getattr(module, word) for word in public(module)}
    return [
        word
        for word, it in words.items()
        if isinstance(it, KafkaChange) or not (isclass(it) or isroutine(it) or hasattr(it, "__wrapped__"))
    ]


class Pages:
    """Writes pages from templates into a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.written: set[Path] = set()
        self.templates = Environment(
            loader=FileSystemLoader(Path(__file__).parent / "templates"),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.templates.filters.update(plain=plain, value=show)

    def write(self, page: str, template: str, /, **given: Any) -> None:
        """Write a page from a template."""
        self.put(page, self.templates.get_template(template).render(given))

    def put(self, name: str, text: str) -> None:
        """Write a file, unless it already has this text: Sphinx then need not read it again."""
        file = self.directory / name
        self.written.add(file)
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")

    def remove_others(self) -> None:
        """Remove files of an earlier build that this build has not written."""
        for file in {*self.directory.glob("*/*")} - self.written:
            file.unlink()


def write_all(app: Sphinx) -> None:
    """Write all pages."""
    pages = Pages(Path(app.srcdir, "docs", "reference"))
    for name in modules():
        module = importlib.import_module(name)
        file = Path(module.__file__ or "").relative_to(app.srcdir)
        words, others = public(module), constants(module)
        pages.write(f"api/{name}.md", "module.md.jinja", name=name, file=file, words=words, constants=others)
    systems = [described(system_named(name)) for name in SYSTEMS]
    pages.write("systems/index.md", "systems.md.jinja", systems=systems)
    for system in systems:
        write_system(pages, system)
    pages.write("anomalies/index.md", "anomalies.md.jinja", anomalies=anomalies())
    rows = anomalies()
    for row in status_iterator(rows, "exploring... ", length=len(rows), stringify_func=lambda row: row.id):
        write_anomaly(pages, row)
    pages.remove_others()


def write_system(pages: Pages, system: Mapping[str, Any]) -> None:
    """Write the page of a system."""
    name = system["name"]
    declared = specification(system_named(name)).variables
    pages.write(
        f"systems/{name}.md",
        "system.md.jinja",
        system=system,
        variables={variable: sentence for variable, (sentence, _) in declared.items()},
        releases=[*by_valuation(system["releases"])],
        anomalies=[row for row in anomalies() if row.system == name],
    )


def write_anomaly(pages: Pages, row: Anomaly) -> None:
    """Write the page of an anomaly, with its shortest trace."""
    _, result = next(row.sides())
    if result.headline != row.recorded("off"):
        _log.warning("%s: recorded %s, found %s", row.id, row.recorded("off"), result.headline)
    trace = result.counterexample
    pictured = trace is not None and has_lanes(trace)
    if trace is not None and pictured:
        pages.put(f"anomalies/{row.id}.svg", svg(trace))
    sentence = result.documentation.get(row.property, "")
    pages.write(
        f"anomalies/{row.id}.md", "anomaly.md.jinja", row=row, sentence=sentence, trace=trace, pictured=pictured
    )


def setup(app: Sphinx) -> None:
    """Register the generator with Sphinx."""
    app.connect("builder-inited", write_all)
