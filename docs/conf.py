"""Sphinx's configuration of the documentation site (`make docs`). Each page has the path of its file."""

import logging
import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

logging.getLogger("transitions").setLevel(logging.WARNING)  # the theme makes every logger print

project = "kafkaspec"
version = release = version_of(project)
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md", "benchmarks/README.md"]
exclude_patterns = [".*", "build"]
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_click",
    "docs._ext.docstrings",
    "docs._ext.reference_pages",
    "docs._ext.source_pages",
]

myst_heading_anchors = 4

smartquotes = False  # it turns the two hyphens of an option into a dash
highlight_language = "text"

default_role = "py:obj"  # a name in backticks links to its entry, if it has one
autodoc_default_options = {"members": True, "undoc-members": True}
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
suppress_warnings = ["ref.python"]  # a short name, such as `type`, is an attribute of several classes

html_theme = "furo"
html_title = project
html_copy_source = False
html_show_copyright = False
toc_object_entries = False  # otherwise every page would list thousands of names
