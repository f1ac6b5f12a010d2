"""Folders and files of the checkout that tests use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FAKE_JMETER = ROOT / "tests" / "support" / "fakes" / "jmeter"
# The suite of the nightly is beside the profiles.
PROFILES = sorted(path for path in (ROOT / "env").glob("*.toml") if path.stem != "nightly")


def jmeter_home() -> Path:
    """JMETER_HOME, else what make builds."""
    home = Path(os.environ.get("JMETER_HOME") or ROOT / "build" / "jmeter")
    if not (home / "bin" / "jmeter").is_file():
        pytest.fail(f"no JMeter in {home}: set JMETER_HOME to one with its plugins, or run make setup")
    return home
