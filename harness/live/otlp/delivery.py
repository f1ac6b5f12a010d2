"""Stores in run.json what a receiver of OpenTelemetry data got of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.base.errors import HarnessError
from harness.base.log import Log
from harness.jtl.sample import Sample
from harness.plan.spec import RunSpec
from harness.report.summary import RunSummary
from harness.run.directory import RunDirectory, load_record
from harness.run.record import DeliveryRecord, RunRecord


def record_delivery(directory: RunDirectory, delivery: DeliveryRecord, log: Log) -> None:
    """Write into run.json what the receiver got; `log` gets a line when that fails."""
    try:
        record = load_record(RunRecord, directory.run_json)
        directory.write_run(replace(record, otlp=delivery))
    except HarnessError as error:
        log(f"OTLP: the report has no delivery counts: {error}")


class NothingSent:
    """A watcher in place of a receiver whose address or headers cannot be used; `problem` is why."""

    def __init__(self, problem: str, log: Log) -> None:
        self._problem, self._log = problem, log
        self._directory: RunDirectory | None = None

    def begin(self, directory: RunDirectory, spec: RunSpec) -> None:  # noqa: ARG002 - of Watcher
        """Remember the directory of the run."""
        self._directory = directory

    def add(self, samples: Sequence[Sample], passed_s: float, active_users: int | None = None) -> None:
        """Count nothing."""

    def finish(self) -> None:
        """Write into run.json why nothing was sent."""
        directory, self._directory = self._directory, None
        if directory is not None:
            record_delivery(directory, DeliveryRecord(0, 0, 0, 0, self._problem), self._log)

    def end(self, summary: RunSummary, report: str) -> None:
        """Send nothing."""
