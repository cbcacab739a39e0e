"""A web page as one file: a template filled with parts.

A template has placeholders, `<!--title-->` for HTML and `/*style*/` for a style or a script. Every page has the
colours of `palette.css`, at `/*palette*/`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

PLACE: Final = re.compile(r"<!--(\w+)-->|/\*(\w+)\*/")


def fill_template(template: Traversable, parts: Mapping[str, str]) -> str:
    """The page: each placeholder is replaced by the part of that name. Text like a placeholder within a part stays.
    KeyError if the template has a placeholder without a part.
    """
    all_parts = {"palette": files("spec.reports").joinpath("palette.css").read_text(encoding="utf-8"), **parts}
    return PLACE.sub(lambda place: all_parts[place[1] or place[2]], template.read_text(encoding="utf-8"))
