"""Headless Chromium for tests of HTML pages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.programs import program

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Of its own accord the browser would ask for updates, which has nothing to do with the pages.
FLAGS = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium."""
    from playwright.sync_api import sync_playwright

    found = os.environ.get("CHROME") or program(*BROWSERS, package="chromium")
    flags = [*FLAGS, "--no-sandbox"] if os.geteuid() == 0 else FLAGS
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=flags)
        yield opened
        opened.close()
