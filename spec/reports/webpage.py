"""A web page as one file: a template, and what goes into it.

A template has places for what it is given, `<!--title-->` where HTML stands and `/*style*/` where a style or a script
does. Every page has the colours of `palette.css`, at `/*palette*/`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

PLACE: Final = re.compile(r"<!--(\w+)-->|/\*(\w+)\*/")


def fill_template(template: Traversable, parts: Mapping[str, str]) -> str:
    """The page: in each place the part of that name. What looks like a place within a part stays as it is.

    Raises:
        KeyError: the template has a place for which there is no part.
    """
    all_parts = {"palette": files("spec.reports").joinpath("palette.css").read_text(encoding="utf-8"), **parts}
    return PLACE.sub(lambda place: all_parts[place[1] or place[2]], template.read_text(encoding="utf-8"))
