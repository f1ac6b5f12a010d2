"""A home whose system has a setting to bisect, and scripts/bisect with runs that take no time."""

import pytest

from harness.cli import main
from tests.support.fake_runs import behave, use_fake_children, with_delay


@pytest.fixture
def home(home):
    return with_delay(home)


@pytest.fixture
def bisect(home, tmp_path, monkeypatch):
    """Run scripts/bisect on the tiny plan and return its exit code; runs take no time."""
    use_fake_children(tmp_path, monkeypatch)

    def run(*arguments, behaviour=None):
        behave(tmp_path, behaviour)
        folders = [f"--home={home}", f"--reports={tmp_path / 'bisect'}", f"--build={tmp_path / 'build'}"]
        return main(["--plan=tiny", *arguments, *folders], "scripts/bisect")

    return run
