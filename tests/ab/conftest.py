"""A home whose system has a setting to compare, and scripts/ab with runs that take no time."""

import json
import shutil

import pytest

from harness.cli import main
from harness.run import child
from tests.support.ab_tests import FAKE_RUN, SIDES
from tests.support.paths import FAKE_JMETER
from tests.support.report_folder import add_run


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """The JSON of a run of 2,000 samples of 100 ms."""
    reports = tmp_path_factory.mktemp("template")
    add_run(reports, "tiny/run-01_1", samples=2000, seconds=100)
    return (reports / "tiny" / "run-01_1.json").read_text()


@pytest.fixture
def home(home):
    """The home with the tiny plan, whose system has the setting delay_ms."""
    system = home / "systems" / "tiny" / "system.toml"
    system.write_text(system.read_text() + "delay_ms = 0\n")
    return home


@pytest.fixture
def ab(home, tmp_path, template, monkeypatch):
    """Run scripts/ab on the tiny plan and return its exit code; runs take no time."""
    fakes = tmp_path / "fakes"
    fakes.mkdir()
    (fakes / "template.json").write_text(template)
    monkeypatch.setattr(child, "_RUN", FAKE_RUN)
    monkeypatch.setenv("FAKE_RUN", str(fakes))
    monkeypatch.setenv("JMETER_HOME", str(FAKE_JMETER))

    def run(*arguments, behaviour=None):
        (fakes / "behaviour").write_text(json.dumps(behaviour or {}))
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
