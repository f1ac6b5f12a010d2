"""The outcome of an A/B test: its pairs, the change of each metric, the verdict and its headline."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.base import units
from harness.base.command import Command, changed_command
from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK, EXIT_REGRESSED
from harness.base.records import to_plain
from harness.compare.answer import AnswerRow, changes_text, seen_text
from harness.compare.causes import GrownCost, causes
from harness.compare.change_text import change_of, interval_of, with_unit
from harness.compare.comparison import BETTER, CANNOT_TELL, INVALID, OK, REGRESSED, MetricComparison
from harness.compare.render import change_figures, grown_step
from harness.compare.same_work import other_work
from harness.experiment.counting import problem_of
from harness.experiment.record import ENDED, FINISHED, WARM_UP
from harness.judge.result import NextStep, Result
from harness.judge.verdict import INTERRUPTED
from harness.kinds.ab.pairs import Pair, series_of
from harness.kinds.ab.record import A, AbRecord, AbRun, B
from harness.kinds.ab.rule import LOOKS, PAIRS_LEAST, PAIRS_MOST, is_sure, judge, verdict_of, worst_of
from harness.metrics.figures import TOTAL
from harness.report.first_screen import brief
from harness.report.run_result import RunResult

# After so many pairs in a row that do not count, the test ends: the sides or the machine need attention.
_FAILED_IN_A_ROW = 2
# Fewer DOUBTFUL runs of one side alone are chance.
_DOUBTFUL_BY_CHANCE = 3
CHART = "intervals.svg"


@dataclass(frozen=True)
class AbOutcome:
    """The record with its pairs in order, the `metrics` of TOTAL over the pairs that count, and the verdict.

    With `is_decided` no further pair is needed. `reason` is the reason of the verdict beside the metrics. `work` is how
    the work of the sides differs, of which TOTAL is no comparison. `failures` is which runs of B alone failed.
    """

    record: AbRecord
    pairs: tuple[Pair, ...]
    metrics: tuple[MetricComparison, ...]
    verdict: str
    reason: str = ""
    is_decided: bool = False
    work: str = ""
    failures: str = ""

    @property
    def counted(self) -> tuple[Pair, ...]:
        """The pairs that count."""
        return tuple(pair for pair in self.pairs if not pair.problem)

    @property
    def rows(self) -> list[AnswerRow]:
        """The metrics of TOTAL that either side has."""
        return [AnswerRow(TOTAL, metric) for metric in self.metrics if metric.is_known]

    @property
    def causes(self) -> tuple[GrownCost, ...]:
        """What grew inside the system, when B regressed and both sides were profiled."""
        if self.verdict != REGRESSED:
            return ()
        a, b = [pair.a for pair in self.counted if pair.a], [pair.b for pair in self.counted if pair.b]
        return causes(a, b)

    @property
    def result(self) -> Result:
        """What the report found, for those who show it."""
        record = self.record
        verdict = self.verdict if record.state == FINISHED else INTERRUPTED
        title = f"{record.plan}: A against B ({record.name})"
        has_chart = any(metric.low_ratio is not None for metric in self.metrics)
        return Result(
            kind="ab",
            title=title,
            verdict=verdict,
            headline=headline(self),
            key_figures=change_figures(self.metrics),
            first_chart=f"{record.name}/{CHART}" if has_chart else "",
            next_steps=tuple(_next_steps(self)),
        )

    def exit_code_if(self, *, sure: bool) -> int:
        """Return the exit code; with `sure` CANNOT TELL counts as REGRESSED."""
        if self.record.state != FINISHED:
            return EXIT_INTERRUPTED
        if self.verdict == INVALID:
            return EXIT_INVALID
        is_bad = self.verdict == REGRESSED or (sure and self.verdict == CANNOT_TELL)
        return EXIT_REGRESSED if is_bad else EXIT_OK

    def to_plain(self) -> dict[str, Any]:
        """Return the record as plain data, with the results."""
        pairs = [
            {"number": one.number, "a": one.a and one.a.name, "b": one.b and one.b.name, "problem": one.problem}
            for one in self.pairs
        ]
        return {
            **to_plain(self.record),
            "verdict": self.verdict,
            "headline": headline(self),
            "result": to_plain(self.result),
            "pairs": pairs,
            "metrics": to_plain(self.metrics),
            "causes": to_plain(self.causes),
        }


def outcome_of(record: AbRecord, results: Mapping[str, RunResult]) -> AbOutcome:
    """Return the outcome of the runs so far; `results` are theirs by name."""
    pairs = tuple(_pairs(record.runs, results))
    counted = [(pair.a.total, pair.b.total) for pair in pairs if not pair.problem and pair.a and pair.b]
    series = series_of([(a, b) for a, b in counted if a and b], record.thresholds)
    metrics = judge(series, record.thresholds, is_random=record.seed is not None)
    failed = pairs[-_FAILED_IN_A_ROW:]
    if warm_up := _failed_warm_up(record.runs, results):
        return AbOutcome(record, pairs, metrics, INVALID, warm_up, is_decided=True)
    if len(failed) == _FAILED_IN_A_ROW and all(pair.problem for pair in failed):
        verdict = INVALID if any(pair.is_invalid for pair in failed) else CANNOT_TELL
        return AbOutcome(record, pairs, metrics, verdict, failed[-1].problem, is_decided=True)
    sides = [[run for pair in pairs if not pair.problem and (run := getattr(pair, side))] for side in ("a", "b")]
    work = other_work(*sides)
    if work.texts and len(counted) >= PAIRS_LEAST:
        verdict = REGRESSED if work.lost else CANNOT_TELL
        why = f"TOTAL is of other work: {work.texts[0]}"
        metrics = tuple(replace(one, verdict=CANNOT_TELL, reason=why) for one in metrics)
        return AbOutcome(record, pairs, metrics, verdict, work.texts[0], is_decided=True, work=work.texts[0])
    verdict = verdict_of(metrics) if len(counted) in LOOKS else CANNOT_TELL
    is_decided = (len(counted) in LOOKS and is_sure(metrics)) or len(counted) >= PAIRS_MOST
    if verdict in (OK, BETTER) and (failures := _failures_of_b(pairs)):
        return AbOutcome(record, pairs, metrics, CANNOT_TELL, failures, is_decided=is_decided, failures=failures)
    return AbOutcome(record, pairs, metrics, verdict, record.stop_reason, is_decided)


def headline(outcome: AbOutcome) -> str:
    """Return the verdict, the number of pairs, and what changed most or what is missing, in at most 20 words."""
    record, count, verdict = outcome.record, len(outcome.counted), outcome.verdict
    before = "" if record.state == FINISHED else "INTERRUPTED, so far "
    after = f" after {units.plural(count, 'pair')}" if count else ""
    if verdict == INVALID:
        return brief(f"{before}{verdict}: {outcome.reason.rstrip('.')}.")
    if why := outcome.work or outcome.failures:
        return brief(f"{before}{verdict}{after}: {why.rstrip('.')}.")
    if verdict in (REGRESSED, BETTER):
        return brief(f"{before}{verdict}{after}: {changes_text(outcome.rows, verdict)}.")
    if verdict == OK:
        return brief(f"{before}{OK} within {_within_text(outcome.metrics)}{after}: no metric of B regressed.")
    missing = min((look for look in LOOKS if look > count), default=count) - count
    needed = f"{units.plural(missing, 'more pair')} {'is' if missing == 1 else 'are'} needed"
    failed = sum(bool(pair.problem) for pair in outcome.pairs)
    if failed and count < PAIRS_LEAST:
        needed = f"{units.plural(failed, 'pair')} {'does' if failed == 1 else 'do'} not count"
    seen = seen_text(outcome.metrics, verdict) if count >= PAIRS_LEAST else ""
    return brief(f"{before}{verdict}{after}: {needed if missing else 'the runs differ too much'}.", seen)


def _next_steps(outcome: AbOutcome) -> Iterator[NextStep]:
    """Yield what to do next; nothing after OK and IMPROVED."""
    record = outcome.record
    if record.state != FINISHED:
        yield NextStep("Continue the test", record.resume_command)
    elif outcome.verdict == INVALID or (outcome.verdict == CANNOT_TELL and len(outcome.counted) < len(outcome.pairs)):
        yield NextStep("Remove the cause, then repeat the test", record.command)
    elif outcome.verdict == CANNOT_TELL and record.proposal:
        yield NextStep(f"Let the runs be as long as needed, with --pairs=auto instead of --duration: {record.proposal}")
    elif outcome.verdict == CANNOT_TELL and len(outcome.counted) < PAIRS_MOST:
        yield NextStep("Continue the test with more time", changed_command(record.resume_command, max="2h"))
    elif outcome.verdict == CANNOT_TELL:
        yield NextStep("Repeat it with longer runs", changed_command(record.command, duration="10m"))
        yield NextStep("Or measure first how long they must be", str(Command.of("trust", plan=record.plan)))
    elif outcome.verdict == REGRESSED and outcome.causes:
        yield grown_step(outcome.causes)
    elif outcome.verdict == REGRESSED and "profile" not in record.command.lower():
        yield NextStep("Find the cause: profile both sides", changed_command(record.command, profile=None))


def _pairs(runs: Sequence[AbRun], results: Mapping[str, RunResult]) -> Iterator[Pair]:
    """Yield the pairs of which both runs ended, in order."""
    for number in dict.fromkeys(run.pair for run in runs if run.pair != WARM_UP):
        sides = {run.side: run for run in runs if run.pair == number and run.state == ENDED}
        if set(sides) == {A, B}:
            yield _pair(number, sides, results)


def _pair(number: int, sides: Mapping[str, AbRun], results: Mapping[str, RunResult]) -> Pair:
    problems, is_invalid, bad_sides = [], False, []
    for name in (A, B):
        run = sides[name]
        problem = problem_of(results.get(run.run or ""), run.problem)
        if problem.text:
            bad_sides.append(name)
            problems.append(f"{name}, {run.run}: {problem.text}" if run.run else f"{name}: {problem.text}")
        is_invalid = is_invalid or problem.is_invalid
    a, b = (results.get(sides[name].run or "") for name in (A, B))
    is_first = next(iter(sides)) == B
    return Pair(number, a, b, "; ".join(problems), is_invalid, b_is_first=is_first, bad_sides=tuple(bad_sides))


def _failures_of_b(pairs: Sequence[Pair]) -> str:
    """Return that runs of B alone do not count; empty when that may be chance: then the others speak for B.

    No run is INVALID by chance. One may be DOUBTFUL because of the machine, which is that of A, too.
    """
    own = [pair for pair in pairs if pair.bad_sides == (B,)]
    invalid = [pair for pair in own if pair.is_invalid]
    if any(A in pair.bad_sides for pair in pairs) or not (invalid or len(own) >= _DOUBTFUL_BY_CHANCE):
        return ""
    first = (invalid or own)[0]
    return f"{len(own)} of {units.plural(len(pairs), 'run')} of B do not count: {first.problem.removeprefix(f'{B}, ')}"


def _failed_warm_up(runs: Sequence[AbRun], results: Mapping[str, RunResult]) -> str:
    """Return why the warm-up run measured nothing; empty when it did, or has not ended."""
    ended = [run for run in runs if run.pair == WARM_UP and run.state == ENDED]
    problems = ((run.side, problem_of(results.get(run.run or ""), run.problem)) for run in ended)
    failed = (f"the warm-up run of {side} failed: {problem.text}" for side, problem in problems if problem.is_invalid)
    return next(failed, "")


def change_text(metric: MetricComparison) -> str:
    """Return a metric with its change and interval, p90 +12.3 % (+8.1 to +16.7); of CANNOT TELL p90 within ±4 %."""
    if metric.delta_ratio is None or metric.low_ratio is None or metric.high_ratio is None:
        return f"{metric.metric.short_title} ({metric.reason})"
    change, interval = with_unit(change_of(metric), metric), interval_of(metric)
    text = f"{change} ({interval})" if change else with_unit(interval, metric) or metric.reason
    return f"{metric.metric.short_title} {text}"


def _within_text(metrics: Sequence[MetricComparison]) -> str:
    """Return the largest change for the worse that the deciding times and rates may have, and that of the errors."""
    worst = [(one.metric.is_share, worst_of(one) or 0.0) for one in metrics if one.decides and one.verdict == OK]
    relative = max((value for is_share, value in worst if not is_share), default=None)
    points = max((value for is_share, value in worst if is_share), default=0.0)
    texts = [] if relative is None else [f"{units.percent_text(_up(relative), 1)} %"]
    if points > 0 or relative is None:
        texts.append(f"{units.percent_text(_up(points), 1)} points of errors")
    return " and ".join(texts)


def _up(ratio: float) -> float:
    """Return a bound rounded up to a tenth of a percent: a claim must not be larger than what was found."""
    return max(0.0, math.ceil(ratio * 1000 - 1e-9) / 1000)
