"""A folder with three runs of the tiny plan, and aggregate.py compare on it."""

import shutil

import pytest

from harness.cli.verbs import main
from tests.support.spread_runs import make_run


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Three runs: an average of 100 ms, the same once more, and one of 200 ms."""
    folder = tmp_path_factory.mktemp("made")
    for name, least_ms in (("run-07_1", 50), ("run-07_2", 50), ("run-07_3", 150)):
        make_run(folder, f"tiny/{name}", least_ms)
        shutil.rmtree(folder / "tiny" / name)
    return folder


@pytest.fixture
def reports(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(made, tmp_path / "reports")


@pytest.fixture
def compare(reports, home):
    def run(*arguments):
        return main(["compare", "--reports", str(reports), "--home", str(home), *arguments], "aggregate.py")

    return run
