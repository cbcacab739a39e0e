"""The page itself: its template with its style, its script and what it is to show."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

from spec.webpage import filled


def page(title: str, data: Mapping[str, Any]) -> str:
    """One HTML file, which fetches nothing but what the data have it ask for. Nothing in the data ends the script."""
    here = files("spec.explorer")
    parts = {
        "title": escape(title),
        "style": here.joinpath("page.css").read_text(encoding="utf-8"),
        "script": here.joinpath("page.js").read_text(encoding="utf-8"),
        "data": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
    }
    return filled(here.joinpath("page.html"), parts)
