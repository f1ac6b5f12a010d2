"""A home whose system has a setting to compare, and scripts/ab with runs that take no time."""

import shutil

import pytest

from harness.cli import main
from tests.support.ab_tests import SIDES
from tests.support.fake_runs import behave, use_fake_children, with_delay


@pytest.fixture
def home(home):
    return with_delay(home)


@pytest.fixture
def ab(home, tmp_path, monkeypatch):
    """Run scripts/ab on the tiny plan and return its exit code; runs take no time."""
    use_fake_children(tmp_path, monkeypatch)

    def run(*arguments, behaviour=None):
        behave(tmp_path, behaviour)
        folders = [f"--home={home}", f"--reports={tmp_path / 'ab'}", f"--build={tmp_path / 'build'}"]
        return main(["--plan=tiny", *arguments, *folders], "scripts/ab")

    return run


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
