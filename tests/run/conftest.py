"""Fixtures of tests that start scripts in processes of their own, with the fake JMeter."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.paths import FAKE_JMETER, ROOT
from tests.support.tiny import arguments_of_run


@pytest.fixture
def command(home: Path, tmp_path: Path) -> Callable[..., list[str]]:
    """Return the command of a script on the tiny plan, as a list for the shell or for Popen."""

    def of(script: str, *arguments: str) -> list[str]:
        options = arguments_of_run(home, tmp_path, arguments)
        return [sys.executable, str(ROOT / "scripts" / script), *options]

    return of


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a script: the fake JMeter, and a TMPDIR of the test's own."""
    (tmp_path / "tmp").mkdir()
    # Without git: a change of the code would keep a test from resuming what it began.
    own = {"JMETER_HOME": str(FAKE_JMETER), "FAKE_JMETER": "works", "TMPDIR": str(tmp_path / "tmp")}
    return {**os.environ, **own, "GIT_DIR": str(tmp_path / "no-git")}
