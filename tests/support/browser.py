"""Headless Chromium for tests of HTML pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Of its own accord the browser would ask for updates, which has nothing to do with the pages.
FLAGS = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium."""
    from playwright.sync_api import sync_playwright

    found = os.environ.get("CHROME") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        why = f"no browser: install chromium, or set CHROME to one of {', '.join(BROWSERS)}"
        if os.environ.get("HARNESS_CI"):
            pytest.fail(why)
        pytest.skip(why)
    flags = [*FLAGS, "--no-sandbox"] if os.geteuid() == 0 else FLAGS
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=flags)
        yield opened
        opened.close()
