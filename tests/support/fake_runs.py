"""Runs that take no time, for tests of what starts scripts/run: the setting delay_ms of the tiny system slows them."""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from harness.run import child
from tests.support.paths import FAKE_JMETER, ROOT
from tests.support.report_folder import add_run


@functools.cache
def _run_json() -> str:
    """Return the JSON of a run of 2,000 samples of 100 ms."""
    with tempfile.TemporaryDirectory() as reports:
        return add_run(Path(reports), "tiny/run-01_1", samples=2000, seconds=100).summary_json.read_text()


def with_delay(home: Path) -> Path:
    """Give the tiny system of a home the setting delay_ms; return the home."""
    system = home / "systems" / "tiny" / "system.toml"
    system.write_text(system.read_text() + "delay_ms = 0\n")
    return home


def use_fake_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let scripts/ab and scripts/tune in this process start the stand-in for scripts/run."""
    folder = tmp_path / "fakes"
    folder.mkdir()
    (folder / "template.json").write_text(_run_json())
    monkeypatch.setattr(child, "_RUN", ROOT / "tests" / "support" / "fakes" / "scripts_run.py")
    monkeypatch.setenv("FAKE_RUN", str(folder))
    monkeypatch.setenv("JMETER_HOME", str(FAKE_JMETER))


def behave(tmp_path: Path, behaviour: dict[str, str] | None) -> None:
    """Set what the stand-in does in the call of each number; nothing special without."""
    (tmp_path / "fakes" / "behaviour").write_text(json.dumps(behaviour or {}))


def calls(tmp_path: Path) -> list[dict[str, Any]]:
    """Return the options of each run that was started."""
    path = tmp_path / "fakes" / "calls"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
