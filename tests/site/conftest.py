"""The browser of the tests of HTML pages."""

from tests.support.browser import browser

__all__ = ["browser"]
