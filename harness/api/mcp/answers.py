"""Answers about the results of a project: each has a verdict and warnings, and each number its interval."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.api import compare
from harness.base.config import did_you_mean
from harness.base.errors import HarnessError, UsageError
from harness.base.project import names_in
from harness.base.regular import regular
from harness.cli.doubtful_page import TOPIC, topic_text
from harness.compare.sources import read_result
from harness.history.files import read_catalogue
from harness.jtl.tools.summary import NO_SAMPLES
from harness.judge.warnings import warning_kinds
from harness.metrics.batch_means import estimate
from harness.metrics.distributions import student_t_quantile
from harness.metrics.metric import Metric, compared_metrics
from harness.metrics.shift import CONFIDENCE
from harness.plan.plan import load_plan
from harness.report.run_result import LabelResult, RunResult
from harness.run.directory import RunDirectory
from harness.run.names import find_paths, is_run

_RUNS_MOST = 200
_TEXT_MOST = 100_000

Answer = dict[str, Any]


@dataclass(frozen=True)
class Answers:
    """Reads the results and plans in the folder of a project, and nothing outside of it."""

    folder: Path
    reports: Path

    def list_runs(self, plan: str = "", limit: int = 20) -> Answer:
        """List the runs of a plan, or of all plans, newest first: name, verdict and its reasons. No numbers."""
        entries = [one for one in read_catalogue(self.reports).entries if plan in ("", one.plan)]
        newest = sorted(entries, key=lambda run: run.order_key, reverse=True)
        runs = [
            {"run": run.id, "started_at": run.started_at, **_judged(run.result)}
            if run.result
            else {"run": run.id, "verdict": f"unknown: {run.problem}"}
            for run in newest[: max(1, min(limit, _RUNS_MOST))]
        ]
        return {"runs": runs, "left_out_count": len(entries) - len(runs)}

    def run_result(self, run: str) -> Answer:
        """Return the verdict, warnings and metrics of a run or of a file of samples; intervals cover 95 %."""
        result = read_result(self._path(run))
        labels = [one for one in (result.total, *result.labels) if one]
        return {"run": result.name, **_judged(result), "metrics": [row for one in labels for row in _metrics(one)]}

    def report(self, run: str) -> Answer:
        """Return the report of a run as Markdown, with the verdict, the warnings and the metrics of TOTAL."""
        path = self._path(run)
        markdown = RunDirectory(path).report if is_run(path) else path
        if markdown.suffix != ".md" or not self._is_inside(markdown) or not markdown.is_file():
            raise UsageError(f"{run}: has no report", "lth report writes it")
        result = read_result(path)
        text = markdown.read_text(encoding="utf-8", errors="replace")[:_TEXT_MOST]
        metrics = _metrics(result.total) if result.total else []
        return {"run": result.name, **_judged(result), "metrics": metrics, "markdown": text}

    def compare(self, baseline: str, contender: str) -> Answer:
        """Return whether the contender is slower: REGRESSED, IMPROVED, OK or CANNOT TELL, with intervals per metric.

        Each side is a run, a pattern of runs such as shop/run-03_*, or a sweep.
        """
        sides = [self._paths(side) for side in (baseline, contender)]
        found = compare(*sides, reports=self.reports, project=self.folder)
        rows = json.loads(found.table().to_json(orient="records"))
        answer = {"verdict": found.verdict, "headline": found.headline, "warnings": list(found.warnings)}
        return {**answer, "metrics": rows}

    def plans(self) -> Answer:
        """List the plans of the project with the verdict of the newest run of each; a broken one has its problem."""
        entries = read_catalogue(self.reports).entries if self.reports.is_dir() else ()
        newest = {one.plan: one for one in sorted(entries, key=lambda one: one.order_key)}
        plans = []
        for path in names_in(self.folder, "plans", "*.toml"):
            last = newest.get(path.stem)
            judged = {"run": last.id, **_judged(last.result)} if last and last.result else None
            plans.append({"plan": path.stem, **_titled(path), "newest_run": judged})
        return {"plans": plans}

    def explain_doubt(self, code: str = TOPIC) -> Answer:
        """Explain what a code of a warning such as too-short means and what to do; without one, what DOUBTFUL means."""
        if text := topic_text(code):
            return {"code": code, "explanation": text}
        raise UsageError(f"{code}: no explanation", f"{did_you_mean(code, warning_kinds())}lth help {TOPIC} lists them")

    def _path(self, name: str) -> Path:
        path, *others = self._paths(name)
        if others:
            raise UsageError(f"{name}: {1 + len(others)} runs", "name one")
        return path

    def _paths(self, name: str) -> list[Path]:
        """Return the paths of a name. UsageError when one is outside of the project, whether it exists or not."""
        given = Path(name)
        is_lexically_inside = not given.is_absolute() and ".." not in given.parts and "://" not in name
        paths = find_paths([name], self.reports) if name and is_lexically_inside else []
        if not paths or not all(map(self._is_inside, paths)):
            raise UsageError(f"{name or 'no name'}: outside of the project", "name a run of list_runs: shop/run-01_1")
        for path in paths:
            _refuse_other_than_file(path)
        return [path.resolve() for path in paths]

    def _is_inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self.folder.resolve())


def _refuse_other_than_file(path: Path) -> None:
    """Raise UsageError for a pipe, a device or a socket, which would block, and for what cannot be read."""
    try:
        if path.exists() and not path.is_dir():  # of a run in git only the report may exist
            regular(path, math.inf).open("rb").close()
    except OSError as error:
        raise UsageError(f"{path.name}: cannot be read ({error.strerror})", "name a run of list_runs") from None


def _titled(path: Path) -> Answer:
    """Return the title of a plan, or why it cannot run."""
    try:
        plan = load_plan(path.parent, path.stem)
    except HarnessError as error:
        return {"title": "", "problem": str(error)}
    return {"title": plan.title}


def _judged(result: RunResult | None) -> Answer:
    """Return the verdict of a run with its reasons, goals and warnings."""
    if result is None or result.verdict is None:
        remarks = list(result.remarks) if result else []
        return {"verdict": NO_SAMPLES if remarks else "unknown", "reasons": remarks, "warnings": remarks}
    verdict = result.verdict
    return {
        "verdict": verdict.state,
        "reasons": list(verdict.reasons),
        "goals_missed": list(verdict.goals_missed),
        "warnings": [{"code": one.code, "text": one.text} for one in result.warnings],
    }


def _metrics(label: LabelResult) -> list[Answer]:
    """Return the metrics of a label, each with its interval or the reason why there is none."""
    return [row for metric in compared_metrics() if (row := _metric(label, metric))]


def _metric(label: LabelResult, metric: Metric) -> Answer | None:
    if (value := metric.of(label)) is None:
        return None
    row = {"label": label.label, "metric": metric.key, "value": value, "sample_count": label.sample_count}
    interval = estimate(label.batches, label.histogram_of(metric), metric)
    if isinstance(interval, str):
        return {**row, "interval": None, "no_interval_because": interval}
    reach = student_t_quantile(interval.freedom, (1 + CONFIDENCE) / 2) * interval.error
    return {**row, "interval": [max(0.0, interval.value - reach), interval.value + reach]}
