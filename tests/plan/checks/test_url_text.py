"""Characters that no URL can have, in the path of a request."""

from __future__ import annotations

import pytest

from harness.plan.checks.lint import encoded


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ('/items?query=(title=="x" AND a<1)', "/items?query=(title==%22x%22 AND a%3C1)"),
        ("/a|b\\c^d`", "/a%7Cb%5Cc%5Ed%60"),
        ('/items/${__groovy("a" + "${b}")}/"x"', '/items/${__groovy("a" + "${b}")}/%22x%22'),
        ("/items?q=a%20b&c=d+e", "/items?q=a%20b&c=d+e"),
        ("${open", "${open"),
        ("", ""),
    ],
)
def test_only_what_no_url_can_have_is_encoded_and_references_stay(raw: str, expected: str) -> None:
    assert encoded(raw) == expected
    assert encoded(expected) == expected
