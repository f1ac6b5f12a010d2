"""The report of a run that left everything: made once, and copied for each test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.report.files import write_report
from harness.run.directory import RunDirectory
from tests.support.full_run import run_directory


@pytest.fixture(scope="session")
def reported(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """The run directory with its report, which no test changes."""
    made = run_directory(tmp_path_factory.mktemp("full"))
    write_report(made)
    return made


@pytest.fixture
def directory(reported: RunDirectory, tmp_path: Path) -> RunDirectory:
    """The run directory with its report, for one test to change."""
    name = reported.path.relative_to(reported.path.parents[2])
    shutil.copytree(reported.path.parents[1], tmp_path / name.parts[0])
    return RunDirectory(tmp_path / name)


@pytest.fixture
def text(reported: RunDirectory) -> str:
    return reported.report.read_text(encoding="utf-8")
