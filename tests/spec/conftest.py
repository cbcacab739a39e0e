"""Fixtures for tests of pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.spec.browsing import BROWSER


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real browser, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield started
        started.close()
