"""What an A/B test of the tiny plan left, and commits of its home."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.cli.verbs import main
from harness.experiment.sides import Side
from harness.kinds.ab.record import AbRecord
from harness.plan.thresholds import Thresholds
from tests.support.factories import closed_load

SIDES = ("--a=delay_ms=0", "--b=delay_ms=20")


def record_of(tmp_path: Path, name: str = "ab-01") -> dict:
    return json.loads((tmp_path / "ab" / "tiny" / f"{name}.json").read_text())


def page_of(tmp_path: Path, name: str = "ab-01") -> str:
    return (tmp_path / "ab" / "tiny" / f"{name}.md").read_text()


def again(tmp_path: Path, *arguments: str) -> int:
    """Run aggregate.py ab."""
    return main(["ab", *arguments, f"--reports={tmp_path / 'ab'}"], "aggregate.py")


def finished_record(**changes: Any) -> AbRecord:
    """Return the record of a finished test without runs, with some changes."""
    record = AbRecord(
        name="ab-01", plan="tiny", command="make ab", a=Side("delay_ms=0", "local"), b=Side("delay_ms=20", "local"),
        arguments=(), load=closed_load(), planned_s=100.0, limit_s=500.0, budget_s=None, thresholds=Thresholds(),
        state="finished", runs=(), started_at="2026-11-21T02:00:00Z", spent_s=60.0, git_commit=None, git_changed=None,
    )  # fmt: skip
    return replace(record, **changes)


def git(home: Path, *arguments: str) -> str:
    """Run git and return its output."""
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", str(home), *identity, *arguments], check=True, capture_output=True, text=True)
    return done.stdout


def commit(home: Path, message: str) -> None:
    git(home, "add", "-A")
    git(home, "commit", "-q", "-m", message)
