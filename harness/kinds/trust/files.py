"""Reads what a trust test needs of earlier runs."""

from __future__ import annotations

from harness.experiment.files import ExperimentFiles
from harness.history.catalogue import Entry
from harness.history.files import entries_of
from harness.kinds.trust.record import TrustRecord
from harness.run import kinds


def earlier_runs(files: ExperimentFiles, record: TrustRecord) -> list[Entry]:
    """Return the runs of the plan before the test: single runs and those of nightly runs."""
    reports = files.folder.parent.parent.parent
    folders = (reports / record.plan, kinds.NIGHTLY.folder_in(reports) / record.plan)
    entries = [entry for folder in folders if folder.is_dir() for entry in entries_of(folder)]
    return [entry for entry in entries if entry.started_at < record.started_at]
