from __future__ import annotations

import pytest

from tests.support.tool_files import text_of


@pytest.fixture
def put(tmp_path):
    """Return a function that puts a file under a name that says nothing about its content, and returns its path."""

    def put(name, change=lambda text: text, to="results.txt"):
        (tmp_path / to).write_bytes(change(text_of(name)))
        return str(tmp_path / to)

    return put
