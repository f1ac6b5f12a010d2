"""The files of sweeps: writes record and report, and finds the sweeps of runs."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from harness.base.errors import UsageError
from harness.experiment.execute import Step
from harness.experiment.files import ExperimentFiles, recorded_in
from harness.experiment.runner import Design
from harness.experiment.warm import SoFar
from harness.report.run_result import RunResult
from harness.run import kinds
from harness.run.directory import RunDirectory, load_record
from harness.sweep.record import SweepRecord


def sweeps_with(runs: Sequence[RunDirectory]) -> list[ExperimentFiles]:
    """Return the sweeps that have one of these runs; unreadable ones are left out."""
    sweeps = []
    for folder in dict.fromkeys(run.path.parent for run in runs):
        names = {run.name for run in runs if run.path.parent == folder}
        for files in recorded_in(folder, kinds.SWEEP.numbered):
            with contextlib.suppress(UsageError):
                if names & {run.run for run in load_record(SweepRecord, files.record).measured}:
                    sweeps.append(files)
    return sweeps


SweepSoFar = SoFar[SweepRecord]


@dataclass
class StoredSweep(Design[SweepRecord, SweepSoFar]):
    """A sweep with its files; `answer` is the first screen of its last page, for a terminal. It has no further step."""

    files: ExperimentFiles
    answer: str = field(default="", init=False)

    def judge(self, record: SweepRecord, results: Mapping[str, RunResult]) -> SweepSoFar:
        """Return the sweep so far."""
        return SweepSoFar(record, tuple(results[run.name] for run in record.measured if run.name in results))

    def store(self, outcome: SweepSoFar) -> None:
        """Write the record as soon as a run began."""
        if outcome.record.runs:
            self.files.write(outcome.record)

    def write_page(self, outcome: SweepSoFar) -> None:
        """Write report and charts of the completed runs."""
        if outcome.record.measured:
            # Imported here, because NumPy loads slowly and no run needs it.
            from harness.sweep.sources import write_sweep_report

            self.answer = write_sweep_report(self.files.record)

    def next_step(self, outcome: SweepSoFar) -> Step | None:  # noqa: ARG002
        """Return no step."""
        return None
