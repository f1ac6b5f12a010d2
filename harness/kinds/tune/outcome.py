"""The outcome of a designed experiment: which runs count, the effects, the best values, the verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK
from harness.compare.comparison import INVALID
from harness.compare.same_work import other_work
from harness.experiment.counting import problem_of
from harness.experiment.record import ENDED, FINISHED, WARM_UP
from harness.judge.result import FOUND, NO_EFFECT
from harness.judge.stored_comparisons import CANNOT_TELL
from harness.kinds.tune.best import Best, Choice, best_of
from harness.kinds.tune.effects import Effect, effects_of
from harness.kinds.tune.factors import assignments
from harness.kinds.tune.model import ModelFit, Observation, fit
from harness.kinds.tune.record import TuneRecord, TuneRun
from harness.metrics.metric import CLOCK_STEP_MS, Metric
from harness.metrics.shift import as_ratio
from harness.report.run_result import RunResult

# After so many runs in a row that do not count, the experiment ends: a combination or the machine needs attention.
_FAILED_IN_A_ROW = 2


@dataclass(frozen=True)
class Counted:
    """A run of the experiment that ended: its result, and why it does not count; empty when it does."""

    run: TuneRun
    result: RunResult | None
    problem: str = ""
    is_invalid: bool = False


@dataclass(frozen=True)
class TuneOutcome:
    """The record with its runs and what they show.

    `fit` and `effects` are None and empty while the runs do not determine the model. With `is_decided` no run is left.
    `reason` is why the experiment ended early. `work` is how the work of the best values, or of any where nothing has
    an effect, differs from that of the baseline.
    """

    record: TuneRecord
    runs: tuple[Counted, ...]
    fit: ModelFit | None
    effects: tuple[Effect, ...]
    best: Best | None
    verdict: str
    reason: str = ""
    is_decided: bool = False
    work: str = ""

    @property
    def counted(self) -> tuple[Counted, ...]:
        """The runs that count, without the warm-up run."""
        return tuple(one for one in self.runs if not one.problem and one.run.block != WARM_UP)

    @property
    def steps_left(self) -> tuple[TuneRun, ...]:
        """The runs still to do, in order."""
        return self.record.steps_left(frozenset(one.run.step for one in self.counted))

    @property
    def active(self) -> frozenset[int]:
        """The indexes of the factors with a found effect, alone or in a pair."""
        return frozenset(index for effect in self.effects if effect.verdict == FOUND for index in effect.factor_indexes)

    @property
    def scatter_ratio(self) -> float | None:
        """The scatter of a run around the model, relative to its value; None while unknown."""
        return as_ratio(self.fit.scatter) if self.fit else None

    @property
    def is_coarse(self) -> bool:
        """Whether the clock's resolution exceeds half of the threshold."""
        metric = self.record.metric
        if metric.percentile is None or not self.counted:
            return False
        values = [value for one in self.counted if (value := value_of(metric, one.result))]
        return min(values, default=math.inf) * self.record.threshold_ratio / 2 < CLOCK_STEP_MS

    @property
    def exit_code(self) -> int:
        """The exit code of lth tune."""
        if self.record.state != FINISHED:
            return EXIT_INTERRUPTED
        return EXIT_INVALID if self.verdict == INVALID else EXIT_OK

    def effects_on(self, metric: Metric) -> tuple[Effect, ...]:
        """Return the effects on another metric, in the same order; empty when a run has no value of it, or 0."""
        record = self.record
        fitted = _fitted(record, self.runs, metric)
        threshold = record.thresholds.of(metric)
        return effects_of(record.factors, fitted, threshold, record.thresholds.alpha) if fitted else ()

    def mean_of(self, metric: Metric, cell: int) -> float | None:
        """Return the mean of a metric over the runs of a combination: of a share the arithmetic, else the geometric."""
        values = [value_of(metric, one.result) for one in self.counted if one.run.cell == cell]
        known = [value for value in values if value is not None]
        if not known or len(known) < len(values):
            return None
        if metric.is_share or min(known) <= 0:
            return sum(known) / len(known)
        return math.exp(sum(map(math.log, known)) / len(known))


def outcome_of(record: TuneRecord, results: Mapping[str, RunResult]) -> TuneOutcome:
    """Return the outcome of the runs so far; `results` are theirs by name."""
    runs = tuple(_counted(record.runs, results, record.metric))
    fitted = _fitted(record, runs, record.metric)
    effects = effects_of(record.factors, fitted, record.threshold_ratio, record.thresholds.alpha) if fitted else ()
    best = best_of(record.factors, fitted, effects, record.metric) if fitted else None
    verdict = _verdict(effects)
    work = _other_work(record, runs, None if verdict == NO_EFFECT else best.choice if best else ())
    verdict = CANNOT_TELL if verdict == NO_EFFECT and work else verdict
    recent = tuple(_counted(record.runs[record.resumed_at :], results, record.metric))
    if failed := _failed(recent):
        verdict = INVALID if any(one.is_invalid for one in failed) else verdict
        return TuneOutcome(record, runs, fitted, effects, best, verdict, _reason(record, failed), is_decided=True)
    left = record.steps_left(frozenset(one.run.step for one in runs if not one.problem))
    reason = record.stop_reason
    return TuneOutcome(record, runs, fitted, effects, best, verdict, reason, is_decided=not left, work=work)


def _other_work(record: TuneRecord, runs: Sequence[Counted], choice: Choice | None) -> str:
    """Return how the work of a combination with these values differs from the baseline's; of any without a choice."""
    by_cell: dict[int, list[RunResult]] = {}
    for one in runs:
        if one.result and not one.problem and one.run.block != WARM_UP:
            by_cell.setdefault(one.run.cell, []).append(one.result)
    baseline = by_cell.pop(0, [])
    for index, results in by_cell.items():
        cell = record.cells[index]
        is_chosen = choice is None or (choice and all(a in (None, b) for a, b in zip(choice, cell, strict=True)))
        if baseline and is_chosen and (texts := other_work(baseline, results).texts):
            return f"with {' '.join(assignments(record.factors, cell))} {texts[0]}"
    return ""


def _counted(runs: Sequence[TuneRun], results: Mapping[str, RunResult], metric: Metric) -> Iterator[Counted]:
    for run in runs:
        if run.state != ENDED:
            continue
        result = results.get(run.run or "")
        problem = problem_of(result, run.problem)
        text = problem.text
        if not text and not value_of(metric, result):
            text = f"its {metric.phrase} is 0 or unknown, so it has no relative change"
        yield Counted(run, result, text, problem.is_invalid)


def _fitted(record: TuneRecord, runs: Sequence[Counted], metric: Metric) -> ModelFit | None:
    """Return the model of a metric, fitted to the runs that count; None while they do not determine it."""
    values = [(one.run, value_of(metric, one.result)) for one in runs if not one.problem and one.run.block != WARM_UP]
    observations = [Observation(record.cells[run.cell], run.block, math.log(value)) for run, value in values if value]
    return fit(record.factors, observations) if len(observations) == len(values) else None


def value_of(metric: Metric, result: RunResult | None) -> float | None:
    """Return a metric of a run's main load; None when unknown."""
    return metric.of(result.total) if result and result.total else None


def _failed(runs: Sequence[Counted]) -> Sequence[Counted]:
    """Return the runs that end the experiment: a failed warm-up run, or the last ones; empty when there are none."""
    warm_up = [one for one in runs if one.run.block == WARM_UP and one.is_invalid]
    last = [one for one in runs if one.run.block != WARM_UP][-_FAILED_IN_A_ROW:]
    return warm_up or (last if len(last) == _FAILED_IN_A_ROW and all(one.problem for one in last) else [])


def _reason(record: TuneRecord, failed: Sequence[Counted]) -> str:
    last = failed[-1]
    if last.run.block == WARM_UP:
        return f"the warm-up run failed: {last.problem}"
    cell = " ".join(assignments(record.factors, record.cells[last.run.cell]))
    return f"{len(failed)} runs in a row do not count, the last one with {cell}: {last.problem}"


def _verdict(effects: Sequence[Effect]) -> str:
    """Return FOUND with any found effect; NO EFFECT when that is the verdict on every value of every factor."""
    if any(effect.verdict == FOUND for effect in effects):
        return FOUND
    mains = [effect.verdict for effect in effects if not effect.is_pair]
    return NO_EFFECT if mains and set(mains) == {NO_EFFECT} else CANNOT_TELL
