"""Makes a run directory of a generated JTL, of which `aggregate.py report` writes the full report."""

from __future__ import annotations

import json
from pathlib import Path

from bench.readers.generate import USERS
from harness.base.records import to_plain
from harness.jtl.sample import SAMPLES_NAME
from harness.plan.goal import Goal
from harness.plan.load import CLOSED
from harness.plan.load.model import LoadRecord
from harness.run.prepare import host_facts
from harness.run.record import FINISHED, FORMAT_VERSION, RunRecord

NAME = "run-01_1"
_PLAN = "bench"


def run_directory(jtl: Path, folder: Path) -> Path:
    """Write the directory of a run with these samples below `folder`, and return it."""
    path = folder / _PLAN / NAME
    path.mkdir(parents=True)
    (path / SAMPLES_NAME).symlink_to(jtl)
    (path / "run.json").write_text(json.dumps(to_plain(_record())), encoding="utf-8")
    return path


def _record() -> RunRecord:
    return RunRecord(
        format_version=FORMAT_VERSION,
        name=NAME,
        plan=_PLAN,
        plan_title="A generated run",
        profile="local",
        profile_title="This machine",
        command="scripts/bench aggregate",
        state=FINISHED,
        load=LoadRecord(CLOSED, USERS, None, ramp_s=0.0, duration_s=None, loops=None, think_time_s=0.0),
        goal=Goal(p90_ms=1000, error_ratio=0.05),
        once_labels=(),
        plan_notes=(),
        note="",
        target="http://127.0.0.1:8080",
        system="",
        system_settings={},
        system_facts=(),
        properties={},
        generator_heap_mb=1024,
        versions={"java": "17", "jmeter": "5.6.3"},
        host=host_facts(),
        git_commit=None,
        git_changed=None,
        started_at="2023-11-14T22:13:20Z",
    )
