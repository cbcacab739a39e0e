"""The page: its template filled with its style, its script and its data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from spec.language.errors import escaped, in_markup
from spec.reports.webpage import fill_template


def page(title: str, data: Mapping[str, Any]) -> str:
    """One HTML file, which fetches only what its data requests. No text in the data can end the script."""
    here = files("spec.explorer")
    parts = {
        "title": in_markup(title),
        "style": here.joinpath("page.css").read_text(encoding="utf-8"),
        "script": here.joinpath("page.js").read_text(encoding="utf-8"),
        "data": as_json(data).replace("<", "\\u003c"),
    }
    return fill_template(here.joinpath("page.html"), parts)


def as_json(data: Any) -> str:
    """The page's data as JSON, with every text in it escaped."""
    return json.dumps(_escaped(data), separators=(",", ":"))


def _escaped(data: Any) -> Any:
    if isinstance(data, str):
        return escaped(data)
    if isinstance(data, Mapping):
        return {escaped(name): _escaped(each) for name, each in data.items()}
    return [*map(_escaped, data)] if isinstance(data, list | tuple) else data
