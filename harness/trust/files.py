"""Reads what a trust test needs of earlier runs, and the newest trust test of a plan for A/B tests and comparisons."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from harness.base.errors import UsageError
from harness.base.records import build
from harness.experiment.files import ExperimentFiles, experiments_of
from harness.history.catalogue import Entry
from harness.history.files import entries_of, read_entry
from harness.metrics.metric import metric_of
from harness.plan.load import LoadRecord
from harness.run import kinds
from harness.run.directory import read_object
from harness.trust.power import Way, change_text
from harness.trust.record import TrustRecord


def earlier_runs(files: ExperimentFiles, record: TrustRecord) -> list[Entry]:
    """Return the runs of the plan before the test: single runs and those of nightly runs."""
    reports = files.folder.parent.parent.parent
    folders = (reports / record.plan, kinds.NIGHTLY.folder_in(reports) / record.plan)
    entries = [entry for folder in folders if folder.is_dir() for entry in entries_of(folder)]
    return [entry for entry in entries if entry.started_at < record.started_at]


class Proposal(NamedTuple):
    """The cheapest A/B test that a trust test found, and what it sees."""

    test: str
    way: Way
    metric: str
    detect_ratio: float

    @property
    def text(self) -> str:
        """The proposal in words: 8 pairs of 3 min (52 min) see 5 % in p95 (lb-nginx/trust-01)."""
        return f"{self.way.text} see {change_text(self.detect_ratio)} in {self.metric} ({self.test})"


def proposed(reports: Path, plan: str, load: LoadRecord, profile: str) -> Proposal | None:
    """Return the cheapest A/B test that the plan's newest trust test found; None without one for this load.

    The lengths of the runs may differ. `reports` is the folder of all results, or that of a kind.
    """
    reports = reports.parent if reports.name in {kind.folder for kind in kinds.EXPERIMENTS if kind.folder} else reports
    for files in reversed(experiments_of(kinds.TRUST, reports, plan)):
        with contextlib.suppress(UsageError, KeyError, IndexError, TypeError, ValueError):
            data = read_object(files.record)
            run = read_entry(files.run(next(one["run"] for one in data["runs"] if one["state"] == "ended"))).run
            if run and run.profile == profile and _model(run.load) == _model(load) and data["verdict"] == "FOUND":
                metric = next(one for one in data["metrics"] if one["metric"] == data["answer"])
                way: Way = build(Way, metric["ways"][0], files.name)
                test = f"{plan}/{files.name}"
                return Proposal(test, way, metric_of(metric["metric"]).name, float(data["detect_ratio"]))
    return None


def _model(load: LoadRecord) -> LoadRecord:
    """Return a load without its length."""
    return replace(load, ramp_s=0.0, duration_s=None, loops=None, requests=None, is_auto=None, loads=None)
