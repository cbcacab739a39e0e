"""The page itself: its template with its style, its script and what it is to show."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from spec.language.escapes import escaped, in_markup
from spec.reports.webpage import fill_template


def page(title: str, data: Mapping[str, Any]) -> str:
    """One HTML file, which fetches nothing but what the data have it ask for. Nothing in the data ends the script."""
    here = files("spec.explorer")
    parts = {
        "title": in_markup(title),
        "style": here.joinpath("page.css").read_text(encoding="utf-8"),
        "script": here.joinpath("page.js").read_text(encoding="utf-8"),
        "data": as_json(data).replace("<", "\\u003c"),
    }
    return fill_template(here.joinpath("page.html"), parts)


def as_json(data: Any) -> str:
    """What the page is to show, every text in it escaped."""
    return json.dumps(_escaped(data), separators=(",", ":"))


def _escaped(data: Any) -> Any:
    if isinstance(data, str):
        return escaped(data)
    if isinstance(data, Mapping):
        return {escaped(name): _escaped(each) for name, each in data.items()}
    return [*map(_escaped, data)] if isinstance(data, list | tuple) else data
