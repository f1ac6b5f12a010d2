"""The browser of the tests of the live page."""

from contextlib import contextmanager

import pytest

from tests.support.browser import browser

__all__ = ["browser", "opened"]


@contextmanager
def viewers(browser):
    """Give what opens the page of an address; it fails on any error and on any request to another address."""
    wrong, contexts = [], []

    def page_of(url):
        context = browser.new_context(viewport={"width": 1300, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda sent: None if sent.url.startswith((url, "data:")) else wrong.append(sent.url))
        page.goto(url)
        return page

    yield page_of
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture(scope="module")
def opened(browser):
    """Open the live page of an address."""
    with viewers(browser) as page_of:
        yield page_of
