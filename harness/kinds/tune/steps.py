"""The steps of a designed experiment: a warm-up run, then its blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.base.records import to_plain
from harness.experiment.execute import Step
from harness.experiment.files import ExperimentFiles
from harness.experiment.record import WARM_UP
from harness.experiment.runner import WARM_UP_RUN, Design, Purpose, equal_step
from harness.kinds.tune.advice import next_steps
from harness.kinds.tune.factors import assignments, set_text
from harness.kinds.tune.outcome import TuneOutcome, outcome_of
from harness.kinds.tune.record import TuneRecord
from harness.kinds.tune.text import effect_name, headline, result_of
from harness.metrics.metric import ERRORS
from harness.report.charts.chart import write_charts
from harness.report.pages import write_page
from harness.report.run_result import RunResult
from harness.run.child import ChildRun


@dataclass(frozen=True)
class TuneExperiment(Design[TuneRecord, TuneOutcome]):
    """A designed experiment with its files; `folders` are the options reports, home and build of its runs."""

    files: ExperimentFiles
    folders: Mapping[str, Path]

    def judge(self, record: TuneRecord, results: Mapping[str, RunResult]) -> TuneOutcome:
        """Return the outcome of the runs so far."""
        return outcome_of(record, results)

    def store(self, outcome: TuneOutcome) -> None:
        """Write the record with its results."""
        self.files.write(to_json(outcome))

    def write_page(self, outcome: TuneOutcome) -> None:
        """Write charts and report; its notes block is preserved."""
        # Deferred: bad input needs no templates, which are slow to import.
        from harness.kinds.tune.charts import FILE_NAME, tune_charts
        from harness.kinds.tune.render import tune_report

        charts = tune_charts(outcome)
        write_charts(self.files.folder, charts, FILE_NAME)
        write_page(self.files.report, lambda notes: tune_report(outcome, charts, notes))

    def next_step(self, outcome: TuneOutcome) -> Step | None:
        """Return the next run of the design."""
        record, left = outcome.record, outcome.steps_left
        if outcome.is_decided:
            return None
        next_one = left[0]
        values = set_text(record.factors, record.cells[next_one.cell])
        heading = f"run {record.run_count - len(left) + 1} of {record.run_count}, block {next_one.block}"
        of_block = Purpose(heading, f"block {next_one.block}, {values}")
        purpose = WARM_UP_RUN if next_one.block == WARM_UP else of_block
        own = ChildRun(values, (f"--set={values}",), self.folders, self.files.next_log(record))
        return equal_step(self.files, record, next_one, purpose, own, len(left))


def to_json(outcome: TuneOutcome) -> dict[str, Any]:
    """Return the record as plain data, with the results."""
    record = outcome.record
    combinations = [
        {
            "values": assignments(record.factors, cell),
            "run_count": sum(one.run.cell == index for one in outcome.counted),
            "mean": outcome.mean_of(record.metric, index),
            "error_ratio": outcome.mean_of(ERRORS, index),
        }
        for index, cell in enumerate(record.cells)
    ]
    return {
        **to_plain(record),
        "verdict": outcome.verdict,
        "headline": headline(outcome),
        "result": to_plain(result_of(outcome)),
        "scatter_ratio": outcome.scatter_ratio,
        "effects": [{**to_plain(effect), "text": effect_name(record.factors, effect)} for effect in outcome.effects],
        "combinations": combinations,
        "best": to_plain(outcome.best),
        "next": [": ".join(filter(None, (one.text, one.command))) for one in next_steps(outcome)],
    }
