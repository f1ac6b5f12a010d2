"""A home whose system has a setting to bisect, and scripts/bisect with runs that take no time."""

from functools import partial

import pytest

from tests.support.fake_runs import tiny_command, with_delay


@pytest.fixture
def home(home):
    return with_delay(home)


@pytest.fixture
def bisect(home, tmp_path, monkeypatch):
    """Run scripts/bisect on the tiny plan and return its exit code; runs take no time."""
    return partial(tiny_command(home, tmp_path, monkeypatch, "bisect"), "bisect")
