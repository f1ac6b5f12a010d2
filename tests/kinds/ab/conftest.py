"""A home whose system has a setting to compare, and scripts/ab with runs that take no time."""

import shutil
from functools import partial

import pytest

from tests.support.ab_tests import SIDES
from tests.support.fake_runs import tiny_command, with_delay


@pytest.fixture
def home(home):
    return with_delay(home)


@pytest.fixture
def ab(home, tmp_path, monkeypatch):
    """Run scripts/ab on the tiny plan and return its exit code; runs take no time."""
    return partial(tiny_command(home, tmp_path, monkeypatch, "ab"), "ab")


@pytest.fixture(scope="session")
def finished_test(tmp_path_factory):
    """The folder for the reports of one finished test, which `regressed` fills."""
    return tmp_path_factory.mktemp("finished") / "ab"


@pytest.fixture
def regressed(ab, finished_test, tmp_path):
    """The reports of a finished test in which B is slower: the first test that needs them runs it."""
    if finished_test.exists():
        shutil.copytree(finished_test, tmp_path / "ab")
    else:
        assert ab(*SIDES) == 1
        shutil.copytree(tmp_path / "ab", finished_test)
