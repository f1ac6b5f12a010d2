"""Simulates bisections, designed experiments, trust and overload tests, and capacity searches as real runs scatter."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from functools import cache

import numpy as np

from bench.statistics.answer_pages import Answers
from bench.statistics.bisect import NOTHING, ONE, History, bisected
from bench.statistics.scatter import Kind, RunFactors, run_of
from harness.compare.comparison import REGRESSED, MetricComparison
from harness.judge.result import FOUND
from harness.kinds.ab.rule import LOOKS, PairSeries, is_sure, judge
from harness.kinds.bisect.posterior import Observation as Measured
from harness.kinds.overload import verdict as overload
from harness.kinds.overload.result import LevelResult
from harness.kinds.trust.design import RUNS_PER_START, STARTS
from harness.kinds.trust.power import least_change
from harness.kinds.trust.variance import parts_of
from harness.kinds.tune.design import designs
from harness.kinds.tune.effects import effects_of
from harness.kinds.tune.factors import Factor
from harness.kinds.tune.model import Observation, fit
from harness.metrics.batch_means import mean as mean_of_batches
from harness.metrics.metric import compared_metrics
from harness.plan.goal import Goal
from harness.plan.thresholds import Thresholds
from harness.sweep.analysis import outcome
from harness.sweep.levels import LevelRun, level_run, levels_of
from harness.sweep.search import Capacity, Probe, capacity, next_users

_COMMITS, _RUNS_MOST = 40, 60
_SETTINGS, _ALPHA, _EFFECT_LEAST = 3, 0.05, 0.10
# The scatter of a run beside that of its start.
_WITHIN = 0.005
_PAIRS = 8
# The metrics of a run have as much of their noise in common.
_ALIKE = 0.8
_OFFERED = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
_LEVEL_S, _RATE_PER_S, _SECOND_SD = 60, 100.0, 0.1
_LIMIT_MS = 1000.0
# Samples of a label in each batch of a level of a search.
_PER_BATCH = 20
_MOST_USERS = 1000


@dataclass(frozen=True)
class _Scattering:
    """Measures commits of a history with the scatter of a kind."""

    history: History
    factors: RunFactors

    def run(self, position: int) -> Measured:
        """Return one run."""
        return Measured(position, float(self.history.levels[position]) + self.factors.next())


def bisections(random_: np.random.Generator, kind: Kind, pages: int, change: float) -> Answers:
    """Return the share of bisections that name a commit, of a change the right one."""
    named = 0
    for _ in range(pages):
        levels, step = np.zeros(_COMMITS + 1), int(random_.integers(1, _COMMITS + 1))
        levels[step:] += math.log1p(change)
        history = History(ONE if change else NOTHING, levels, step if change else None, frozenset(), kind.between)
        end = bisected(history, _Scattering(history, RunFactors(random_, kind)), _RUNS_MOST)
        named += end.is_named and (end.is_right or not change)
    return Answers(named / pages)


def tuned(random_: np.random.Generator, kind: Kind, pages: int, change: float) -> Answers:
    """Return the share of experiments with three settings that find an effect; of a change, that of the first one."""
    factors = [Factor(f"setting_{index}", ("0", "1")) for index in range(_SETTINGS)]
    found = 0
    for _ in range(pages):
        scatter, design = (
            RunFactors(random_, kind),
            next(designs(factors, 2, random.Random(int(random_.integers(1_000_000))))),
        )
        runs = [(block, index) for block, cells in enumerate(design.blocks, start=1) for index in cells]
        observations = [
            Observation(design.cells[index], block, math.log1p(change) * (design.cells[index][0] == 1) + scatter.next())
            for block, index in runs
        ]
        fitted = fit(factors, observations)
        assert fitted
        effects = [one for one in effects_of(factors, fitted, _EFFECT_LEAST, _ALPHA) if one.verdict == FOUND]
        found += any(one.factor_indexes == (0,) for one in effects) if change else bool(effects)
    return Answers(found / pages)


@cache
def _deviation(kind: Kind) -> float:
    """Return the true standard deviation of the logarithm of a run."""
    factors = RunFactors(np.random.default_rng(1), kind)
    return float(np.std([factors.next() for _ in range(100_000)]))


def trusted(random_: np.random.Generator, kind: Kind, pages: int, change: float) -> Answers:
    """Return the answers of trust tests: of 8 pairs with the change that the page says they see, or without one.

    Covered is the true standard deviation of a run.
    """
    regressed = covered = 0
    for _ in range(pages):
        factors = RunFactors(random_, kind)
        rows = []
        for _ in range(STARTS):
            start = factors.next()
            rows.append([start + float(random_.normal(0.0, _WITHIN)) for _ in range(RUNS_PER_START)])
        parts = parts_of(rows, None)
        covered += parts.total.low_ratio <= math.hypot(_deviation(kind), _WITHIN) <= parts.total.high_ratio
        stated = least_change(parts.caution * parts.total.variance, _PAIRS)
        assert stated is not None
        regressed += _pairs_find(random_, factors, kind, stated, math.log1p(stated) if change else 0.0)
    return Answers(regressed / pages, covered / pages)


def _pairs_find(random_: np.random.Generator, factors: RunFactors, kind: Kind, threshold: float, shift: float) -> bool:
    """Return whether an A/B test is REGRESSED; all metrics have this threshold, and the first one is shifted."""
    metrics = [metric for metric in compared_metrics() if not metric.is_share]
    thresholds = Thresholds().changed({metric.name: threshold for metric in compared_metrics()})
    common = np.array([factors.next() - factors.next() for _ in range(_PAIRS)])
    own = random_.normal(0.0, kind.between * math.sqrt(2 * (1 - _ALIKE)), (len(metrics), _PAIRS))
    noise = common * math.sqrt(_ALIKE) + own
    noise[0] += shift
    judged: tuple[MetricComparison, ...] = ()
    for look in (look for look in LOOKS if look <= _PAIRS):
        series = [
            PairSeries(metric, tuple(map(float, row[:look])), 100.0, 100.0)
            for metric, row in zip(metrics, noise, strict=True)
        ]
        judged = judge(series, thresholds)
        if judged[0].verdict == REGRESSED or is_sure(judged):
            break
    return any(one.verdict == REGRESSED for one in judged)


def overloaded(random_: np.random.Generator, kind: Kind, pages: int, change: float) -> Answers:
    """Return the share of overload tests that collapse; `change` is that of the goodput at the highest level."""
    collapsed = covered = known = 0
    for _ in range(pages):
        levels = []
        for offered in _OFFERED:
            good = min(offered, 1.0) * (1 + change * (offered == _OFFERED[-1]))
            levels.append(_level(offered, _seconds(random_, kind, good * _RATE_PER_S)))
        found = overload.judge(levels, _LIMIT_MS)
        collapsed += found.state == overload.COLLAPSE
        if found.kept:
            known += 1
            covered += found.kept.low_ratio <= 1 + change <= found.kept.high_ratio
    return Answers(collapsed / pages, covered / known if known else None)


def _seconds(random_: np.random.Generator, kind: Kind, per_s: float) -> list[float]:
    """Return the good answers in each second of a level."""
    noise, last = [], 0.0
    for new in random_.standard_t(3, _LEVEL_S) / math.sqrt(3) if kind.is_heavy else random_.standard_normal(_LEVEL_S):
        last = kind.rho * last + math.sqrt(1 - kind.rho**2) * float(new)
        noise.append(last)
    return [max(0.0, per_s * (1 + _SECOND_SD * one)) for one in noise]


def _level(offered: float, goodput: list[float]) -> LevelResult:
    users = round(offered * _RATE_PER_S * _LEVEL_S)
    good = min(users, round(sum(goodput)))
    return LevelResult(
        offered_ratio=offered,
        length_s=_LEVEL_S,
        offered_per_s=offered * _RATE_PER_S,
        scheduled_user_count=users,
        started_user_count=users,
        missing_user_count=0,
        sample_count=users,
        good_count=good,
        late_count=users - good,
        rejected_fast_count=0,
        rejected_slowly_count=0,
        timed_out_count=0,
        goodput=mean_of_batches(goodput),
        p90_ms=100.0,
    )


def searched(random_: np.random.Generator, kind: Kind, pages: int, change: float) -> Answers:
    """Return the share of searches whose answer is above the true capacity by more than `change`.

    Covered is the true capacity by the bracket of the last level within the goal and the first one that missed.
    """
    above = covered = 0
    labels = 1 + np.arange(kind.label_count) / kind.label_count
    base_ms = kind.base_ms * float(labels.mean()) * math.exp(0.125)
    for _ in range(pages):
        truth = math.exp(random_.uniform(math.log(20), math.log(300)))
        found = _search(random_, kind, truth, 2 * base_ms)
        # Of a level that is not sure the page says nothing.
        users, missed = found.users or 0, math.inf if found.is_unsure else found.missed_users or math.inf
        above += users > truth * (1 + change)
        covered += users <= truth <= missed
    return Answers(above / pages, covered / pages)


def _search(random_: np.random.Generator, kind: Kind, truth: float, limit_ms: float) -> Capacity:
    """Return the result of a search in a system whose average grows in line with the users, to the goal at `truth`."""
    factors, goal = RunFactors(random_, kind), Goal(average_ms=limit_ms)
    probes: list[Probe] = []
    runs: list[tuple[int, LevelRun]] = []
    unsure: set[int] = set()
    while (users := next_users(probes, 5, _MOST_USERS, unsure)) is not None:
        slower = [math.log1p(users / truth)] * kind.label_count
        run = run_of(random_, kind, f"run-{len(probes)}", factors.next(), _PER_BATCH, slower)
        assert run.total and run.total.average_ms
        probes.append(Probe(users, run.total.average_ms <= limit_ms))
        runs.append((users, level_run(run)))
        unsure = {level.users for level in levels_of(runs) if outcome(level, goal).is_within is None}
    return capacity(probes, unsure)
