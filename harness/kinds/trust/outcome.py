"""The outcome of a trust test: the parts of each metric's variance, what an A/B test sees of it, and the answer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import stdev
from typing import Any, ClassVar

from harness.base import units
from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK
from harness.base.records import to_plain
from harness.compare.comparison import CANNOT_TELL, INVALID
from harness.compare.conditions import Conditions
from harness.experiment.counting import problem_of
from harness.experiment.record import FINISHED
from harness.experiment.warm import SoFar
from harness.history.catalogue import Entry
from harness.judge.result import FOUND, KeyFigure, NextStep, Result
from harness.judge.verdict import INTERRUPTED
from harness.kinds.trust.design import RUNS_PER_START, STARTS_LEAST
from harness.kinds.trust.power import Costs, Way, change_text, false_alarms, least_change, slow_power, ways
from harness.kinds.trust.record import TrustRecord
from harness.kinds.trust.variance import VariancePart, VarianceParts, between_days, outlier, parts_of, within_runs
from harness.metrics.figures import TOTAL
from harness.metrics.metric import AVERAGE, CLOCK_STEP_MS, MEDIAN, P90, P95, P99, THROUGHPUT, Metric
from harness.report.first_screen import brief, shortest
from harness.report.run_result import RunResult, samples_least

METRICS = (AVERAGE, MEDIAN, P90, P95, P99, THROUGHPUT)
# The metric of the answer is the first that may gate. The throughput is none: think times can decide it alone.
_ANSWERS = (P95, MEDIAN, AVERAGE)
PAIRS = (1, 4, 6, 8, 10)
_PAIRS_OF_GATE = 8
# A gate on a metric that sees only a change this many times as large is no gate for it.
_TOO_COARSE = 2.0


@dataclass(frozen=True)
class Seen:
    """The smallest change that so many pairs find in 80 % of tests, with its interval; None when they find none."""

    pairs: int
    ratio: float | None = None
    low_ratio: float | None = None
    high_ratio: float | None = None


@dataclass(frozen=True)
class MetricTrust:
    """What is known of a metric; `mean` is geometric, `sample_count` the fewest of a run.

    `reason` is why nothing more is known, `gate_problem` why it must not gate; empty when it may. `alarm_ratio` is how
    often one run compared with another equal one is REGRESSED (0-1). `job` is the job whose duration it is; empty for
    the metrics of TOTAL.
    """

    metric: Metric
    mean: float | None
    sample_count: int
    parts: VarianceParts | None = None
    day: VariancePart | None = None
    seen: tuple[Seen, ...] = ()
    ways: tuple[Way, ...] = ()
    gate_problem: str = ""
    alarm_ratio: float | None = None
    reason: str = ""
    job: str = ""
    outlier: str = ""
    optional: ClassVar = ("outlier",)

    @property
    def name(self) -> str:
        """What tables call it: p95, or the duration of a job."""
        return f"{self.job} duration" if self.job else self.metric.name

    def seen_at(self, pairs: int) -> Seen:
        """Return what so many pairs see."""
        return next((one for one in self.seen if one.pairs == pairs), Seen(pairs))


@dataclass(frozen=True)
class TrustOutcome(SoFar[TrustRecord]):
    """The record with the results of its runs in order, and of each metric what they show."""

    starts: tuple[tuple[RunResult, ...], ...] = ()
    metrics: tuple[MetricTrust, ...] = ()
    costs: Costs | None = None
    problems: tuple[str, ...] = ()
    by_name: Mapping[str, RunResult] = field(default_factory=dict)

    @property
    def answer(self) -> MetricTrust | None:
        """The metric of the answer: the first that may gate and sees the change; None without one."""
        found = {one.metric: one for one in self.metrics if one.ways and not (one.gate_problem or one.job)}
        return next((found[metric] for metric in _ANSWERS if metric in found), None)

    @property
    def verdict(self) -> str:
        """FOUND, CANNOT TELL, or INVALID when no run counts."""
        if self.answer:
            return FOUND
        return INVALID if self.problems and not self.starts else CANNOT_TELL

    @property
    def exit_code(self) -> int:
        """The exit code of lth trust."""
        if self.record.state != FINISHED and not self.record.stop_reason:
            return EXIT_INTERRUPTED
        return EXIT_INVALID if self.verdict == INVALID else EXIT_OK

    @property
    def result(self) -> Result:
        """What the report found, for those who show it."""
        record, one = self.record, self.answer
        least = one.seen_at(_PAIRS_OF_GATE).ratio if one else None
        figures = [KeyFigure(f"8 pairs see in {one.metric.name}", units.percent_text(least, 1), "%")] if one else []
        return Result(
            kind="trust",
            title=f"{record.plan}: what this benchmark sees ({record.name})",
            verdict=self.verdict if record.state == FINISHED else INTERRUPTED,
            headline=headline(self),
            key_figures=tuple(figures),
            next_steps=tuple(_next_steps(self)),
        )

    def to_plain(self) -> dict[str, Any]:
        """Return the record as plain data, with the results."""
        return {
            **to_plain(self.record),
            "verdict": self.verdict,
            "answer": self.answer.metric.id if self.answer else None,
            "headline": headline(self),
            "result": to_plain(self.result),
            # Only the duration of a job names one.
            "metrics": [
                {key: value for key, value in to_plain(one).items() if value or key != "job"} for one in self.metrics
            ],
            "costs": to_plain(self.costs),
        }


def outcome_of(record: TrustRecord, results: Mapping[str, RunResult], entries: Sequence[Entry] = ()) -> TrustOutcome:
    """Return the outcome of the runs so far; `results` are theirs by name, `entries` earlier runs of the plan."""
    ended = [(run, results.get(run.name)) for run in record.measured]
    known = tuple(result for _, result in ended if result)
    problems = tuple(
        f"{run.name} does not count: {problem.text.rstrip('.')}."
        for run, result in ended
        if (problem := problem_of(result, run.problem)).text
    )
    starts = tuple(tuple(runs) for runs in record.complete_starts(results))
    if len(starts) < STARTS_LEAST:
        return TrustOutcome(record, known, starts, problems=problems, by_name=results)
    costs = _costs(record, starts)
    days = _days(entries, starts[0][0])
    metrics = tuple(_metric(metric, record, starts, costs, days) for metric in METRICS)
    jobs = dict.fromkeys(label.label for runs in starts for run in runs for label in run.labels if label.is_job)
    metrics += tuple(_metric(AVERAGE, record, starts, costs, days, job) for job in jobs)
    return TrustOutcome(record, known, starts, metrics, costs, problems, results)


def headline(outcome: TrustOutcome) -> str:
    """Return the answer: what this benchmark sees, and with which test, in at most 20 words."""
    record = outcome.record
    before = "" if record.state == FINISHED else "INTERRUPTED, so far "
    change, verdict = change_text(record.detect_ratio), outcome.verdict
    if one := outcome.answer:
        seen, metric, way = f"{change}{may_be(one, record.detect_ratio)}", one.metric.name, one.ways[0].text
        texts = (f"this benchmark sees {seen} in {metric} with {way}.", f"{way} see {seen} in {metric}.")
        return shortest(*(f"{before}{verdict}: {text}" for text in texts))
    if verdict == INVALID:
        return brief(f"{before}{verdict}: {outcome.problems[-1]}")
    if len(outcome.starts) < STARTS_LEAST:
        count = f"{len(outcome.starts)} of {units.plural(record.starts, 'start')}"
        return brief(f"{before}{verdict}: {count} {'is' if len(outcome.starts) == 1 else 'are'} complete.")
    answers = [one for one in outcome.metrics if one.metric in _ANSWERS and not one.job]
    answers.sort(key=lambda one: _ANSWERS.index(one.metric))
    coarse = next((one for one in answers if one.parts and not one.ways), None)
    if coarse is None:
        return brief(f"{before}{verdict} {change}: {answers[0].metric.name} must not gate: {answers[0].gate_problem}.")
    sees = f"ten pairs of these runs see {sees_text(coarse.seen_at(max(PAIRS)).ratio)}"
    return brief(f"{before}{verdict} {change} in {coarse.metric.name}: {sees}.")


def may_be(one: MetricTrust, detect_ratio: float) -> str:
    """Return between which changes the one that the test finds in 80 % may be, in brackets: (3-8 %); empty if known."""
    assert one.parts
    cautious = one.parts.total.ratio * math.sqrt(one.parts.caution)
    if not cautious:
        return ""
    ends = (one.parts.total.low_ratio, one.parts.total.high_ratio)
    low, high = (math.expm1(math.log1p(detect_ratio) * end / cautious) for end in ends)
    return f" ({units.percent_text(low, 0)}-{units.percent_text(high, 0)} %)"


def sees_text(ratio: float | None) -> str:
    """Return a smallest change in words, such as 9.1 %."""
    return "over 100 %" if ratio and ratio > 1 else f"{units.percent_text(ratio, 1)} %"


def _next_steps(outcome: TrustOutcome) -> Iterator[NextStep]:
    record, answer = outcome.record, outcome.answer
    if record.state != FINISHED:
        yield NextStep("Continue the test", record.resume_command)
    elif outcome.verdict == INVALID:
        yield NextStep("Remove the cause, then repeat the test", record.command)
    elif answer is None:
        yield NextStep("Quiet the machine or the system: see below which part is the largest")
    elif record.thresholds.of(answer.metric) > record.detect_ratio:
        what = f"{answer.metric.name} = {record.detect_ratio:g}"
        yield NextStep(f"Set {what} in the plan's [compare]: smaller changes than its threshold are no regression")
    if record.state == FINISHED and answer:
        yield NextStep("Give A/B tests of this plan --pairs=auto: their runs get this length")


def _costs(record: TrustRecord, starts: Sequence[Sequence[RunResult]]) -> Costs:
    """Return what a run takes that has a start of its own."""
    counted = {result.name.rpartition("/")[2] for runs in starts for result in runs}
    windows = [(result.window.run_s, result.window.length_s) for runs in starts for result in runs if result.window]
    runs = [run for run in record.measured if run.name in counted]
    if not windows:
        return Costs(0.0, 0.0, 0.0)
    length_s, window_s = (sum(lengths) / len(windows) for lengths in zip(*windows, strict=True))
    first = [run.took_s for run in runs if run.took_s is not None and run.index == 0]
    return Costs(length_s, window_s, max(0.0, sum(first) / len(first) - length_s) if first else 0.0)


def _days(entries: Sequence[Entry], first: RunResult) -> list[list[RunResult]]:
    """Return the valid earlier runs under the conditions of the test, by day."""
    days: dict[str, list[RunResult]] = {}
    for entry in entries:
        is_alike = entry.run and first.run and Conditions.of(entry.run) == Conditions.of(first.run)
        if is_alike and entry.result and entry.result.is_valid:
            days.setdefault(entry.started_at[:10], []).append(entry.result)
    return list(days.values())


def _metric(
    metric: Metric,
    record: TrustRecord,
    starts: Sequence[Sequence[RunResult]],
    costs: Costs,
    days: Sequence[Sequence[RunResult]],
    job: str = "",
) -> MetricTrust:
    """Return what is known of a metric of TOTAL, or of the duration of a job."""
    label = job or TOTAL
    totals = [[result.of_label(label) for result in runs] for runs in starts]
    flat = [total for runs in totals for total in runs if total]
    values = [value for total in flat if (value := metric.of(total))]
    count = min((total.sample_count or 0 for total in flat), default=0)
    if len(values) < len(starts) * RUNS_PER_START:
        why = "unknown or 0 in at least one run"
        return MetricTrust(metric, None, count, gate_problem="unknown", reason=why, job=job)
    levels = [math.log(value) for value in values]
    names = {result.name.rpartition("/")[2] for runs in starts for result in runs}
    measured = [run for run in record.measured if run.name in names and not job]
    known = [run.estimates[metric.id] for run in measured if metric.id in run.estimates]
    rows = [levels[index : index + RUNS_PER_START] for index in range(0, len(levels), RUNS_PER_START)]
    parts = parts_of(rows, within_runs(known) if 2 * len(known) >= len(levels) else None)
    mean = math.exp(sum(levels) / len(levels))
    of_days = [
        [math.log(value) for one in day if (own := one.of_label(label)) and (value := metric.of(own))] for day in days
    ]
    per_s = count / costs.window_s if costs.window_s else 0.0
    needed_s = samples_least(metric, flat) / per_s if per_s else 0.0
    step = CLOCK_STEP_MS / mean if metric.percentile is not None else 0.0
    # The proposed test sees the change also if the variance is as large as in one of five tests.
    larger = (parts.caution * parts.between, parts.caution * parts.shrinking)
    tests = ways(*larger, costs, record.detect_ratio, needed_s, step)
    total = parts.total
    seen = tuple(
        Seen(pairs, *(least_change(one**2, pairs, step) for one in (total.ratio, total.low_ratio, total.high_ratio)))
        for pairs in PAIRS
    )
    trust = MetricTrust(
        metric,
        mean,
        count,
        parts,
        between_days([day for day in of_days if day], parts),
        seen,
        tests,
        alarm_ratio=false_alarms(
            parts.total.variance, parts.caution * parts.total.variance, record.thresholds.of(metric)
        ),
        job=job,
    )
    return replace(
        trust,
        gate_problem=_gate_problem(trust, record.detect_ratio),
        outlier=_outlier(rows, trust.seen_at(_PAIRS_OF_GATE)),
    )


def _outlier(rows: Sequence[Sequence[float]], seen: Seen) -> str:
    """Return the start, or else the run, that does not belong to the others, and what that does to the power.

    `rows` are the logarithms of the runs of each start, `seen` is what the page states of A/B tests. Empty without one.
    """
    of_starts = [sum(row) / len(row) for row in rows]
    index, others, name = outlier(of_starts), of_starts, "start"
    if index is None:
        later = [sum(column) / len(column) for column in zip(*rows, strict=True)]
        others = [level - later[index] for row in rows for index, level in enumerate(row)]
        index, name = outlier(others), "run"
    if index is None:
        return ""
    rest = [level for at, level in enumerate(others) if at != index]
    slow = others[index] - sum(rest) / len(rest)
    text = f"{name} {index + 1} differs from the others by {units.percent_text(abs(math.expm1(slow)), 1)} %"
    if not seen.ratio:
        return text
    power = slow_power(math.log1p(seen.ratio), stdev(rest), slow, 1 / len(others), seen.pairs)
    change, tests = units.percent_text(seen.ratio, 1), units.percent_text(power, 0)
    return f"{text}; with one such {name} in {len(others)}, {seen.pairs} pairs find {change} % in {tests} % of tests"


def _gate_problem(trust: MetricTrust, detect_ratio: float) -> str:
    """Return why a metric must not gate; empty when it may."""
    metric, mean = trust.metric, trust.mean or 0.0
    if trust.sample_count < metric.samples_least and not trust.job:
        return f"{trust.sample_count:,} samples, {metric.samples_least:,} needed"
    if metric.percentile is not None and mean * detect_ratio / 2 < CLOCK_STEP_MS:
        return "near the 1 ms clock resolution"
    least = trust.seen_at(_PAIRS_OF_GATE).ratio
    if least is not None and least > _TOO_COARSE * detect_ratio:
        return f"{_PAIRS_OF_GATE} pairs see only {sees_text(least)}"
    return ""
