"""The browser of the tests of the live page."""

from tests.support.browser import browser

__all__ = ["browser"]
