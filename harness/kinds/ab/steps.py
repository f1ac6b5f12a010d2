"""The steps of an A/B test: a warm-up run, then pairs until the rule is sure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from harness.base import units
from harness.experiment.execute import Step
from harness.experiment.files import ExperimentFiles
from harness.experiment.record import ENDED, WARM_UP
from harness.experiment.runner import WARM_UP_RUN, BudgetLeft, Design, Purpose, equal_step
from harness.experiment.sides import ReadySide
from harness.kinds.ab.outcome import CHART, AbOutcome, change_text, outcome_of
from harness.kinds.ab.record import AbRecord
from harness.kinds.ab.rule import LOOKS, PAIRS_LEAST, PAIRS_MOST
from harness.report.charts.chart import write_charts
from harness.report.pages import write_page
from harness.report.run_result import RunResult
from harness.run.child import ChildRun

_CHARTS = re.compile(re.escape(CHART))


@dataclass(frozen=True)
class AbTest(Design[AbRecord, AbOutcome]):
    """An A/B test with its files in the folder `reports`; `sides` are ready to run."""

    files: ExperimentFiles
    reports: Path
    sides: Mapping[str, ReadySide]

    def judge(self, record: AbRecord, results: Mapping[str, RunResult]) -> AbOutcome:
        """Return the outcome of the runs so far."""
        return outcome_of(record, results)

    def store(self, outcome: AbOutcome) -> None:
        """Write the record with its results."""
        self.files.write(outcome)

    def write_page(self, outcome: AbOutcome) -> None:
        """Write chart and report; its notes block is preserved."""
        # Deferred: bad input needs no templates, which are slow to import.
        from harness.kinds.ab.render import ab_charts, ab_report

        charts = ab_charts(outcome)
        write_charts(self.files.folder, charts, _CHARTS)
        write_page(self.files.report, lambda notes: ab_report(outcome, charts, notes))

    def next_step(self, outcome: AbOutcome) -> Step | None:
        """Return the next run: the warm-up run, the second one of a pair, or the first of a new pair."""
        record = outcome.record
        if outcome.is_decided:
            return None
        run = record.next_run
        is_warm_up, side = run.pair == WARM_UP, self.sides[run.side]
        done = sum(one.pair == run.pair and one.state == ENDED for one in record.runs)
        heading, what = f"pair {run.pair} of {PAIRS_LEAST} to {PAIRS_MOST}", f"side {run.side} ({side.side.text})"
        purpose = WARM_UP_RUN if is_warm_up else Purpose(heading, f"pair {run.pair}, {what}")
        folders = {"reports": self.reports, "home": side.files.home, "build": side.files.build}
        own = ChildRun(side.title, side.side.arguments, folders, self.files.next_log(record))
        runs_left = 2 * (PAIRS_MOST - len(outcome.counted)) + (1 if is_warm_up else -done)
        step = equal_step(self.files, record, run, purpose, own, runs_left)
        # A pair must fit as a whole, with the warm-up run before it.
        together = 3 if is_warm_up else 0 if done else 2
        return replace(step, planned_s=[record.planned_s] * together, left_phrase="at most")

    def without_time(self, record: AbRecord, step: Step, budget: BudgetLeft) -> AbRecord:  # noqa: ARG002
        """Return the record that ends for lack of time."""
        assert record.budget_s is not None
        whole, needed = units.duration_text(record.budget_s), units.duration_text(budget.needed_s)
        what = "the next pair takes" if record.has_warmed_up else "the next runs, warm-up and pair, take"
        return replace(record, stop_reason=f"the budget of {whole} is used up: {what} about {needed}")

    def look(self, outcome: AbOutcome) -> str:
        """Return the changes so far after a pair at which the rule looks."""
        counted = len(outcome.counted)
        pairs = [run.pair for run in outcome.record.runs]
        if counted not in LOOKS or outcome.is_decided or pairs.count(pairs[-1]) == 1:  # of the last pair one run only
            return ""
        changes = ", ".join(change_text(one) for one in outcome.metrics if one.delta_ratio is not None)
        return f"  after {units.plural(counted, 'pair')}: {changes}: not sure yet"
