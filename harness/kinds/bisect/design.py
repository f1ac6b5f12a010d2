"""The steps of a bisection: a warm-up run, both ends, then always the run that is expected to show most per minute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from harness.base import units
from harness.base.records import to_plain
from harness.experiment.execute import Step
from harness.experiment.files import ExperimentFiles
from harness.experiment.record import ENDED
from harness.experiment.runner import WARM_UP_RUN, Design, Purpose, equal_step
from harness.kinds.bisect.decision import OPENING, RUNS_MOST, most_informative, opening
from harness.kinds.bisect.outcome import BisectOutcome, outcome_of
from harness.kinds.bisect.record import BisectRecord, BisectRun
from harness.kinds.bisect.text import headline, result_of
from harness.report.charts.chart import write_charts
from harness.report.pages import write_page
from harness.report.run_result import RunResult
from harness.run.child import ChildRun

# The folders home and build of the runs of a candidate.
Folders = Callable[[int], Mapping[str, Path]]


@dataclass(frozen=True)
class Bisection(Design[BisectRecord, BisectOutcome]):
    """A bisection with its files in the folder `reports`; `folders` are those of a candidate's runs."""

    files: ExperimentFiles
    reports: Path
    folders: Folders

    def judge(self, record: BisectRecord, results: Mapping[str, RunResult]) -> BisectOutcome:
        """Return the outcome of the runs so far."""
        return outcome_of(record, results)

    def store(self, outcome: BisectOutcome) -> None:
        """Write the record with its results."""
        posterior = outcome.found
        self.files.write(
            {
                **to_plain(outcome.record),
                "verdict": outcome.verdict,
                "headline": headline(outcome),
                "result": to_plain(result_of(outcome)),
                "probabilities": posterior.commits if posterior else [],
                "several": posterior.several if posterior else None,
                "none": posterior.none if posterior else None,
            }
        )

    def write_page(self, outcome: BisectOutcome) -> None:
        """Write chart and report; its notes block is preserved."""
        # Deferred: bad input needs no templates, which are slow to import.
        from harness.kinds.bisect.render import FILE_NAME, bisect_charts, bisect_report

        charts = bisect_charts(outcome)
        write_charts(self.files.folder, charts, FILE_NAME)
        write_page(self.files.report, lambda notes: bisect_report(outcome, charts, notes))

    def next_step(self, outcome: BisectOutcome) -> Step | None:
        """Return the next run."""
        if outcome.is_decided:
            return None
        record, run = outcome.record, next_run(outcome)
        candidate, count = record.candidates[run.candidate], len(outcome.counted)
        of_candidate = Purpose(f"run {count + 1} of at most {RUNS_MOST}", f"a run of {candidate.text}")
        purpose = WARM_UP_RUN if run.is_warm_up else of_candidate
        arguments = (f"--set={candidate.settings}",) if candidate.settings else ()
        folders = {"reports": self.reports, **self.folders(run.candidate)}
        own = ChildRun(candidate.text, arguments, folders, self.files.next_log(record))
        return replace(equal_step(self.files, record, run, purpose, own, RUNS_MOST - count), left_phrase="at most")

    def look(self, outcome: BisectOutcome) -> str:
        """Return the best suspect so far."""
        suspects = outcome.decision.suspects
        if not suspects or outcome.is_decided:
            return ""
        best = outcome.record.candidates[suspects[0].positions[-1]].title
        return f"  so far {units.percent_text(suspects[0].probability, 0)} %: {best}"


def next_run(outcome: BisectOutcome) -> BisectRun:
    """Return the next run: the warm-up run, both ends, then the one that is expected to show most per minute."""
    record, last = outcome.record, len(outcome.record.candidates) - 1
    ended = [run for run in record.runs if run.state == ENDED]
    if not any(run.is_warm_up for run in ended):
        return BisectRun(0, is_warm_up=True)
    count = len(outcome.counted)
    posterior = outcome.found
    if posterior is None or count < OPENING:
        return BisectRun(opening(count, last))
    built_s = [run.build_s for run in ended if run.build_s]
    taken_s = [run.took_s for run in ended if run.took_s]
    run_s = max(1e-3, sum(taken_s) / len(taken_s)) if taken_s else record.planned_s
    build_s = sum(built_s) / len(built_s) if built_s else 0.0
    built = {run.candidate for run in ended}
    cost_s = [run_s + (0.0 if position in built else build_s) for position in range(last + 1)]
    return BisectRun(most_informative(posterior, outcome.decision, outcome.testable, ended[-1].candidate, cost_s))
