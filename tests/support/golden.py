"""Real runs of 2014-2015 with the figures that jmeter-plugins printed for them; they are no part of the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.paths import ROOT


def golden_run(name: str) -> Path:
    """Return the folder of a run. Without it the test is skipped, or fails where HARNESS_GOLDEN is set."""
    named = os.environ.get("HARNESS_GOLDEN")
    folder = (Path(named) if named else ROOT.parent / "shared" / "golden") / name
    if not all((folder / file).is_file() for file in ("samples.jtl", "aggregate.csv")):
        if named:
            pytest.fail(f"HARNESS_GOLDEN={named}: {name} has no samples.jtl or no aggregate.csv")
        pytest.skip(f"{name}: NOT CHECKED, the real runs are not on this machine; HARNESS_GOLDEN names their folder")
    return folder
