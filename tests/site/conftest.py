"""The browser of the tests of HTML pages."""

import os
import shutil

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Of its own accord the browser would ask for updates, which has nothing to do with the site.
FLAGS = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium."""
    from playwright.sync_api import sync_playwright

    found = os.environ.get("CHROME") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser: install chromium, or set CHROME to one of {', '.join(BROWSERS)}")
    flags = [*FLAGS, "--no-sandbox"] if os.geteuid() == 0 else FLAGS
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=flags)
        yield opened
        opened.close()


@pytest.fixture
def charts(tmp_path):
    """What the chart library leaves, in small."""
    for library in ("chart.js", "chartjs-plugin-zoom"):
        folder = tmp_path / "charts" / library / "1.0"
        (folder / "dist").mkdir(parents=True)
        (folder / "dist" / f"{library}.min.js").write_text("// nothing")
        (folder / "LICENSE.md").write_text("MIT")
    return tmp_path / "charts"
